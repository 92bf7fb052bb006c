"""Getting what was erased out of the database's own files, where deleted rows otherwise stay for a while."""

from __future__ import annotations

import logging

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

log = logging.getLogger(__name__)
PATIENCE = 200
"""Milliseconds that this may hold up other writes while it waits for its turn."""
TABLES = ("asides", "responses", "snapshots", "stretches", "visits", "staff")
"""Where people are."""
REWRITTEN = 64 * 2**20
"""Bytes of a table, with its indexes, that is rewritten as a whole while others wait for it."""

HELD = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND greatest(age(backend_xmin), age(backend_xid)) > age(CAST(:since AS xid))"
)
"""Transactions that began before a row was deleted, and so may still see it."""


def sqlite(engine: Engine) -> bool:
    """Overwrite it in the side file too; False if somebody still reads the old pages."""
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {PATIENCE}")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (busy, *_), *_ = cursor.fetchall()
    finally:
        connection.close()
    return not busy


def now(engine: Engine) -> str:
    """The moment of PostgreSQL that everything erased so far lies before."""
    with engine.connect() as connection:
        return str(connection.scalar(text("SELECT CAST(CAST(pg_current_xact_id() AS xid) AS text)")))


def postgresql(engine: Engine, since: str) -> bool:
    """Rewrite the tables without what was deleted before ``since``; False if somebody could still see it.

    A plain VACUUM only lets the space be used again. Tables that are too large to be rewritten while others wait get
    that alone, and the log says what to do.
    """
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if connection.scalar(HELD, {"since": since}):
            return False
        connection.execute(text(f"SET lock_timeout = {PATIENCE}"))
        try:
            for table in TABLES:
                _rewrite(connection, table)
        except OperationalError:  # somebody reads or writes for longer than we wait
            return False
    return True


def _rewrite(connection: Connection, table: str) -> None:
    size = connection.scalar(text("SELECT pg_total_relation_size(CAST(:name AS regclass))"), {"name": table})
    if size <= REWRITTEN:
        connection.execute(text(f"VACUUM (FULL) {table}"))
        return
    connection.execute(text(f"VACUUM {table}"))
    log.warning(
        "The table %s is too large to be rewritten while the service runs. What was erased can't be read any more, but "
        "it leaves the file only after VACUUM FULL %s: run that at a quiet time.", table, table,
    )  # fmt: skip
