"""Who had which round in front of them, so that a verdict is recorded after its lease went to somebody else."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r2_0003"
down_revision = "r2_0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "looks",
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("round", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("holder", sa.Text, primary_key=True),
        sa.Column("until", sa.Double, nullable=False),
    )
