"""SQLite's INSERT OR REPLACE takes a row away without asking the trigger that refuses that: refused here as well."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ONCE = """
    CREATE TRIGGER events_once BEFORE INSERT ON events
    WHEN EXISTS (SELECT 1 FROM events WHERE stream = NEW.stream AND seq = NEW.seq)
    BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END
"""


def upgrade() -> None:
    """Refuse an event in a place that is taken before anything is done to the one that is there."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute(ONCE)
