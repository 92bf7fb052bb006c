"""Seals for what the pictures are drawn from. What was kept without them is computed again from the log."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "r2_0005"
down_revision = "r2_0004"
branch_labels = None
depends_on = None
ROUND = ("people", "probabilities", "labels", "status", "verdict", "favoured", "disfavoured", "gap", "labelled",
         "by_lot", "error", "learned", "delay", "waited", "events", "seq")  # fmt: skip
"""Columns of a summary after those that every row has."""
TEXTS = {"probabilities", "labels", "status", "verdict"}
NUMBERS = {"gap", "by_lot", "error", "waited"}
EMPTY = {"verdict", "favoured", "disfavoured", "gap", "error", "learned", "delay", "waited"}


def upgrade() -> None:
    """Make the tables that get seals again, and forget what was counted beside them."""
    for table in ("summaries", "followed"):
        op.drop_table(table)
    for table in ("samples", "gaps", "helped"):
        op.execute(f"DELETE FROM {table}")
    op.execute("DELETE FROM jobs WHERE kind = 'history'")
    op.create_table(
        "summaries",
        _column("stream", sa.Text(), key=True),
        _column("round", sa.BigInteger(), key=True),
        _column("opened_at", sa.Double()),
        *(_column(name, _kind(name), null=name in EMPTY) for name in ROUND),
    )
    op.create_index("summaries_of_learned", "summaries", ["stream", "learned"])
    op.create_table(
        "followed",
        _column("stream", sa.Text(), key=True),
        *(_column(name, sa.BigInteger()) for name in ("seq", "learned")),
        *(_column(name, sa.Text()) for name in ("content", "seal")),
    )
    op.create_table(
        "sheets",
        _column("stream", sa.Text(), key=True),
        *(_column(name, sa.BigInteger(), key=True) for name in ("level", "number")),
        _column("content", sa.Text()),
    )


def _kind(name: str) -> sa.types.TypeEngine[Any]:
    return sa.Text() if name in TEXTS else sa.Double() if name in NUMBERS else sa.BigInteger()


def _column(name: str, kind: sa.types.TypeEngine[Any], *, key: bool = False, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, primary_key=key, nullable=null, autoincrement=False)
