"""The log, what is kept beside it, and what the service remembers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SQLITE_TRIGGERS = (
    """
    CREATE TRIGGER events_follow BEFORE INSERT ON events
    WHEN NEW.prev IS NOT COALESCE(
        (SELECT hash FROM events WHERE stream = NEW.stream AND seq = NEW.seq - 1),
        CASE NEW.seq WHEN 1 THEN '{genesis}' END)
    BEGIN SELECT RAISE(ABORT, 'an event must follow the one before it'); END
    """,
    """
    CREATE TRIGGER events_stay BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END
    """,
    """
    CREATE TRIGGER events_last BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'nothing is deleted from the log'); END
    """,
)
POSTGRESQL_TRIGGERS = (
    """
    CREATE FUNCTION events_follow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.prev IS DISTINCT FROM COALESCE(
            (SELECT hash FROM events WHERE stream = NEW.stream AND seq = NEW.seq - 1),
            CASE NEW.seq WHEN 1 THEN '{genesis}' END)
        THEN
            RAISE EXCEPTION 'an event must follow the one before it' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    END $$
    """,
    "CREATE TRIGGER events_follow BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION events_follow()",
    """
    CREATE FUNCTION events_stay() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'the log is never changed' USING ERRCODE = 'integrity_constraint_violation';
    END $$
    """,
    "CREATE TRIGGER events_stay BEFORE UPDATE OR DELETE ON events FOR EACH ROW EXECUTE FUNCTION events_stay()",
    "CREATE TRIGGER events_whole BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION events_stay()",
)
GENESIS = "0" * 64


def upgrade() -> None:
    """Make the tables, and the triggers that keep the log append-only, gapless and chained."""
    text, whole = sa.Text(), sa.BigInteger()
    number: sa.Double[float] = sa.Double()
    op.create_table(
        "events",
        sa.Column("stream", text, primary_key=True),
        sa.Column("seq", whole, primary_key=True, autoincrement=False),
        sa.Column("prev", text, nullable=False),
        sa.Column("hash", text, nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("version", whole, nullable=False),
        sa.Column("at", text, nullable=False),
        sa.Column("round", whole),
        sa.Column("data", text, nullable=False),
    )
    op.create_index("events_of_round", "events", ["stream", "round"])
    op.create_table(
        "streams",
        sa.Column("stream", text, primary_key=True),
        sa.Column("secret", text, nullable=False),
    )
    op.create_table(
        "asides",
        sa.Column("ref", text, primary_key=True),
        sa.Column("stream", text, nullable=False),
        sa.Column("round", whole, nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("person", text),
        sa.Column("salt", text, nullable=False),
        sa.Column("content", text, nullable=False),
    )
    op.create_index("asides_of_person", "asides", ["stream", "person"])
    op.create_index("asides_of_round", "asides", ["stream", "round"])
    op.create_table(
        "responses",
        sa.Column("scope", text, primary_key=True),
        sa.Column("key", text, primary_key=True),
        sa.Column("request", text, nullable=False),
        sa.Column("response", text),
        sa.Column("stream", text, nullable=False),
        sa.Column("round", whole),
        sa.Column("at", number, nullable=False),
    )
    op.create_index("responses_of_round", "responses", ["stream", "round"])
    op.create_index("responses_by_age", "responses", ["at"])
    op.create_table(
        "leases",
        sa.Column("stream", text, primary_key=True),
        sa.Column("round", whole, primary_key=True, autoincrement=False),
        sa.Column("holder", text, nullable=False),
        sa.Column("until", number, nullable=False),
    )
    op.create_table(
        "snapshots",
        sa.Column("stream", text, primary_key=True),
        sa.Column("seq", whole, nullable=False),
        sa.Column("hash", text, nullable=False),
        sa.Column("format", whole, nullable=False),
        sa.Column("state", text, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("digest", text, primary_key=True),
        sa.Column("name", text, nullable=False),
        sa.Column("role", text, nullable=False),
        sa.Column("streams", text),
        sa.Column("created_at", number, nullable=False),
        sa.Column("expires_at", number),
        sa.Column("revoked_at", number),
    )
    triggers = SQLITE_TRIGGERS if op.get_bind().dialect.name == "sqlite" else POSTGRESQL_TRIGGERS
    for statement in triggers:
        op.execute(statement.replace("{genesis}", GENESIS))
