"""Seals for answers under idempotency keys. Those that were kept without one are not given again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r2_0006"
down_revision = "r2_0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("responses", sa.Column("seal", sa.Text()))
