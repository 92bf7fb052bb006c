"""What the pages follow: every reported pair under later policies, limits along the way, and work that takes long."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables; what was sampled of gaps so far was of some pairs only, and is dropped."""
    text, whole = sa.Text(), sa.BigInteger()
    number: sa.Double[float] = sa.Double()
    op.add_column("followed", sa.Column("learned", whole, nullable=False, server_default="0"))
    for name, kind in (("violations", number), ("pairs", whole), ("closer", whole), ("within", whole)):
        op.add_column("samples", sa.Column(name, kind))
    op.execute(sa.text("DELETE FROM gaps"))
    op.create_index("summaries_of_verdict", "summaries", ["stream", "verdict", "learned"])
    op.create_table(
        "helped",
        sa.Column("stream", text, primary_key=True),
        sa.Column("age", whole, primary_key=True, autoincrement=False),
        sa.Column("bin", whole, primary_key=True, autoincrement=False),
        sa.Column("pairs", whole, nullable=False),
    )
    op.create_table(
        "jobs",
        sa.Column("stream", text, primary_key=True),
        sa.Column("kind", text, primary_key=True),
        sa.Column("id", text, nullable=False),
        sa.Column("seq", whole, nullable=False),
        sa.Column("begun_at", number, nullable=False),
        sa.Column("heard_at", number, nullable=False),
        sa.Column("share", number, nullable=False),
        sa.Column("result", text),
        sa.Column("result_seq", whole),
        sa.Column("result_at", number),
        sa.Column("took", number),
        sa.Column("failed", text),
    )
