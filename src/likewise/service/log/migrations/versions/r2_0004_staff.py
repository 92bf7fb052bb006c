"""Names of staff that can be erased: the log holds commitments in their place."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r2_0004"
down_revision = "r2_0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "staff",
        sa.Column("alias", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("salt", sa.Text, nullable=False),
    )
