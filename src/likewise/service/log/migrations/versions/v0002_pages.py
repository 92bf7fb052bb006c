"""What the pages need: login links, sessions, and what pictures are drawn from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables of the pages, and find events by their kind and round."""
    text, whole = sa.Text(), sa.BigInteger()
    number: sa.Double[float] = sa.Double()
    # With the number in it, SQLite reads a round's events from the index alone instead of walking the whole log.
    op.drop_index("events_of_round", "events")
    op.create_index("events_of_round", "events", ["stream", "round", "seq"])
    op.create_index("events_of_kind", "events", ["stream", "kind", "seq"])
    op.create_table(
        "logins",
        sa.Column("digest", text, primary_key=True),
        sa.Column("token", text, nullable=False),
        sa.Column("expires_at", number, nullable=False),
        sa.Column("used_at", number),
    )
    op.create_table(
        "sessions",
        sa.Column("name", text, primary_key=True),
        sa.Column("version", whole, nullable=False),
    )
    op.create_table(
        "summaries",
        sa.Column("stream", text, primary_key=True),
        sa.Column("round", whole, primary_key=True, autoincrement=False),
        sa.Column("opened_at", number, nullable=False),
        sa.Column("people", whole, nullable=False),
        sa.Column("chances", text, nullable=False),
        sa.Column("labels", text, nullable=False),
        sa.Column("status", text, nullable=False),
        sa.Column("verdict", text),
        sa.Column("favoured", whole),
        sa.Column("disfavoured", whole),
        sa.Column("gap", number),
        sa.Column("labelled", whole, nullable=False),
        sa.Column("error", number),
        sa.Column("learned", whole),
        sa.Column("delay", whole),
        sa.Column("waited", number),
    )
    op.create_table(
        "followed",
        sa.Column("stream", text, primary_key=True),
        sa.Column("seq", whole, nullable=False),
    )
    op.create_table(
        "samples",
        sa.Column("stream", text, primary_key=True),
        sa.Column("learned", whole, primary_key=True, autoincrement=False),
        sa.Column("regret", number, nullable=False),
        sa.Column("proved", number),
        sa.Column("promised", number),
    )
    op.create_table(
        "gaps",
        sa.Column("stream", text, primary_key=True),
        sa.Column("learned", whole, primary_key=True, autoincrement=False),
        sa.Column("round", whole, primary_key=True, autoincrement=False),
        sa.Column("gap", number, nullable=False),
    )
