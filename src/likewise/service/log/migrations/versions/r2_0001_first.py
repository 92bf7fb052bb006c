"""The log, what is kept beside it, who may do what, and what the pages remember."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r2_0001"
down_revision = None
branch_labels = None
depends_on = None

GENESIS = "0" * 64
SQLITE_TRIGGERS = (
    f"""
    CREATE TRIGGER events_follow BEFORE INSERT ON events
    WHEN NEW.prev IS NOT COALESCE(
        (SELECT hash FROM events WHERE stream = NEW.stream AND seq = NEW.seq - 1),
        CASE NEW.seq WHEN 1 THEN '{GENESIS}' END)
    BEGIN SELECT RAISE(ABORT, 'an event must follow the one before it'); END
    """,
    # INSERT OR REPLACE takes a row away without asking the trigger that refuses that: refused here as well.
    """
    CREATE TRIGGER events_once BEFORE INSERT ON events
    WHEN EXISTS (SELECT 1 FROM events WHERE stream = NEW.stream AND seq = NEW.seq)
    BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END
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
    f"""
    CREATE FUNCTION events_follow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.prev IS DISTINCT FROM COALESCE(
            (SELECT hash FROM events WHERE stream = NEW.stream AND seq = NEW.seq - 1),
            CASE NEW.seq WHEN 1 THEN '{GENESIS}' END)
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
PEOPLE = {"asides": ("person", "salt", "content"), "responses": ("request", "response"), "snapshots": ("state",)}
"""Columns that hold people. PostgreSQL samples every column for its planner, and the erased would live on there."""


def upgrade() -> None:
    """Make the tables, and the triggers that keep the log append-only, gapless and chained."""
    _log()
    _beside_the_log()
    _accounts()
    _pages()
    sqlite = op.get_bind().dialect.name == "sqlite"
    for statement in SQLITE_TRIGGERS if sqlite else POSTGRESQL_TRIGGERS:
        op.execute(statement)
    if not sqlite:
        for table, columns in PEOPLE.items():
            for column in columns:
                op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS 0")


def _text(name: str, *, key: bool = False, null: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), primary_key=key, nullable=null)


def _whole(name: str, *, key: bool = False, null: bool = False, default: str | None = None) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), primary_key=key, nullable=null, autoincrement=False, server_default=default)


def _number(name: str, *, null: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Double(), nullable=null)


def _log() -> None:
    op.create_table(
        "events",
        _text("stream", key=True),
        _whole("seq", key=True),
        _text("prev"),
        _text("hash"),
        _text("kind"),
        _whole("version"),
        _text("at"),
        _whole("round", null=True),
        _text("data"),
    )
    # With the number in it, SQLite reads a round's events from the index alone instead of walking the whole log.
    op.create_index("events_of_round", "events", ["stream", "round", "seq"])
    op.create_index("events_of_kind", "events", ["stream", "kind", "seq"])
    op.create_table("streams", _text("stream", key=True), _text("secret"))
    op.create_table("blocks", _text("stream", key=True), _whole("number", key=True), _text("root"), _text("seal"))


def _beside_the_log() -> None:
    op.create_table(
        "asides",
        _text("ref", key=True),
        _text("stream"),
        _whole("round"),
        _text("kind"),
        _text("person", null=True),
        _text("salt"),
        _text("content"),
    )
    op.create_index("asides_of_person", "asides", ["stream", "person"])
    op.create_index("asides_of_round", "asides", ["stream", "round"])
    op.create_table(
        "responses",
        _text("scope", key=True),
        _text("key", key=True),
        _text("request"),
        _text("response", null=True),
        _text("stream"),
        _whole("round", null=True),
        _number("at"),
    )
    op.create_index("responses_of_round", "responses", ["stream", "round"])
    op.create_index("responses_by_age", "responses", ["at"])
    op.create_table("leases", _text("stream", key=True), _whole("round", key=True), _text("holder"), _number("until"))
    op.create_table(
        "snapshots", _text("stream", key=True), _whole("seq"), _text("hash"), _whole("format"), _text("state")
    )


def _accounts() -> None:
    op.create_table(
        "tokens",
        _text("digest", key=True),
        _text("name"),
        _text("role"),
        _text("streams", null=True),
        _number("created_at"),
        _number("expires_at", null=True),
        _number("revoked_at", null=True),
    )
    op.create_table(
        "logins", _text("digest", key=True), _text("token"), _number("expires_at"), _number("used_at", null=True)
    )
    op.create_table("sessions", _text("name", key=True), _whole("version"))


def _pages() -> None:
    """What pictures are drawn from, and work that takes long."""
    op.create_table(
        "summaries",
        _text("stream", key=True),
        _whole("round", key=True),
        _number("opened_at"),
        _whole("people"),
        _text("probabilities"),
        _text("labels"),
        _text("status"),
        _text("verdict", null=True),
        _whole("favoured", null=True),
        _whole("disfavoured", null=True),
        _number("gap", null=True),
        _whole("labelled"),
        _number("by_lot"),
        _number("error", null=True),
        _whole("learned", null=True),
        _whole("delay", null=True),
        _number("waited", null=True),
    )
    op.create_index("summaries_of_verdict", "summaries", ["stream", "verdict", "learned"])
    op.create_table("followed", _text("stream", key=True), _whole("seq"), _whole("learned", default="0"))
    op.create_table(
        "samples",
        _text("stream", key=True),
        _whole("learned", key=True),
        _number("regret", null=True),
        _number("proved", null=True),
        _number("promised", null=True),
        _number("violations", null=True),
        _whole("pairs", null=True),
        _whole("closer", null=True),
        _whole("within", null=True),
    )
    op.create_table(
        "gaps", _text("stream", key=True), _whole("learned", key=True), _whole("round", key=True), _number("gap")
    )
    op.create_table(
        "helped", _text("stream", key=True), _whole("age", key=True), _whole("bin", key=True), _whole("pairs")
    )
    op.create_table(
        "jobs",
        _text("stream", key=True),
        _text("kind", key=True),
        _text("id"),
        _whole("seq"),
        _number("begun_at"),
        _number("heard_at"),
        _number("share"),
        _text("result", null=True),
        _whole("result_seq", null=True),
        _number("result_at", null=True),
        _number("took", null=True),
        _text("failed", null=True),
    )
