"""Seals for answers under idempotency keys; who was in which round, and which round events are about, sealed too.

Answers that were kept without a seal are not given again.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r2_0006"
down_revision = "r2_0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and the tables; PostgreSQL takes no samples of people, in which the erased would live on."""
    op.add_column("responses", sa.Column("seal", sa.Text()))
    op.create_table(
        "visits",
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("hash", "seal", "content")),
    )
    op.create_table(
        "places",
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("hash", "seal", "content")),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE visits ALTER COLUMN content SET STATISTICS 0")
