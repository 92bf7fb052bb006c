"""Stretches of rounds as arrays, for certificates: a cache."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r2_0002"
down_revision = "r2_0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "stretches",
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("format", sa.BigInteger, nullable=False),
        sa.Column("seal", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
    )
