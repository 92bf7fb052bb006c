"""Connections to the two databases, set up so that a commit is on disk and nobody is told "database is locked"."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError

from likewise.errors import InvalidParameter

BUSY = 60_000
"""Milliseconds that a process waits for another one's write transaction on SQLite."""
WAL_PAGES = 20_000
"""Pages in SQLite's side file after which the writer itself moves them over; long before, ``Store.tidy`` does."""
MIGRATION_LOCK = 0x6C696B6577697365
"""PostgreSQL's advisory lock that lets one process migrate at a time: "likewise" in ASCII."""
PRAGMAS = (
    f"busy_timeout = {BUSY}",
    "journal_mode = WAL",
    "synchronous = FULL",
    "secure_delete = ON",
    f"wal_autocheckpoint = {WAL_PAGES}",
)


def address(database: str | Path) -> URL:
    """The address of a database: a path or ``sqlite:///…`` for SQLite, ``postgresql://…`` for PostgreSQL.

    Examples
    --------
    >>> address("log.db").drivername, address("postgresql://localhost/log").drivername
    ('sqlite', 'postgresql+psycopg')
    """
    text = str(database)
    try:
        url = make_url(text) if "://" in text else URL.create("sqlite", database=text)
    except (ArgumentError, ValueError):  # what was given isn't quoted: it may hold a password
        raise InvalidParameter(
            "`database` must be a file, or an address like postgresql://localhost/loans, got something else."
        ) from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise InvalidParameter(f"`database` must be SQLite or PostgreSQL, got {url.get_backend_name()!r}.")
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        raise InvalidParameter("`database` must be a file: a log in memory is lost with the process, got ':memory:'.")
    return url


def require_there(database: str | Path) -> None:
    """Refuse a SQLite file that isn't there: whoever only reads shouldn't make one."""
    file = _file(address(database))
    if file is not None and not file.exists():
        raise InvalidParameter(f"There is no database {file}; name the one that the service uses.")


def make_private(url: URL) -> None:
    """Make the file of a new SQLite database for its owner only; the files beside it get the same mode."""
    file = _file(url)
    if file is None:
        return
    if not file.parent.is_dir():
        raise InvalidParameter(f"`database` must be in a folder that exists, got {str(file)!r}; make the folder first.")
    if file.is_dir():
        raise InvalidParameter(f"`database` must be a file, got {str(file)!r}, which is a folder.")
    # Never one that is there: closing it would drop the locks that SQLite holds in this process.
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def file_identity(url: URL) -> tuple[int, int] | None:
    """Which file a SQLite database is, whatever its name; (0, 0) if it is gone, None for other databases."""
    file = _file(url)
    if file is None:
        return None
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def room(url: URL) -> float:
    """Bytes that are free on the disk of a SQLite file; infinite for other databases, whose server knows it."""
    file = _file(url)
    return math.inf if file is None else float(shutil.disk_usage(file.absolute().parent).free)


@contextmanager
def explained(url: URL) -> Iterator[None]:
    """Around the first use of a database: what it says becomes one sentence, never with a password."""
    try:
        yield
    except DBAPIError as error:
        raise InvalidParameter(_sentence(url, str(error.orig))) from None


def _sentence(url: URL, message: str) -> str:
    if url.get_backend_name() == "sqlite":
        if "not a database" in message:
            return f"`database` must be a SQLite file or an address of PostgreSQL, got {url.database!r}."
        return f"SQLite can't use {url.database}: {message.splitlines()[0]}."
    where = url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
    if "connection" in message and "FATAL" not in message and "invalid connection option" not in message:
        return f"PostgreSQL does not answer at {where}; start it, or correct --database."
    why = message.strip().splitlines()[0].rpartition("FATAL: ")[2].strip()
    return f"PostgreSQL at {where} refuses: {why}."


def _file(url: URL) -> Path | None:
    """Where a SQLite database is; None for PostgreSQL, and for SQLite's own form of addresses."""
    if url.get_backend_name() != "sqlite" or url.database is None or url.database.startswith("file:"):
        return None
    return Path(url.database)


def readers(url: URL, require: Callable[[], None] = lambda: None) -> Engine:
    """A pool of connections for reading, each at one moment of the log; on SQLite they never wait for the writer.

    ``require`` raises if the file isn't the one that it was: then no connection is opened.
    """
    again = url.get_backend_name() == "postgresql"
    # Parameters are people: no error may quote them.
    # Two questions to PostgreSQL would else be answered from two moments: an event, say, without its people.
    moment = {"isolation_level": "REPEATABLE READ"} if again else {}
    engine = create_engine(url, pool_size=8, max_overflow=24, pool_pre_ping=again, hide_parameters=True, **moment)
    return _prepared(engine, "BEGIN", require)


def writers(url: URL, require: Callable[[], None] = lambda: None) -> Engine:
    """Connections for writing, one per use: a SQLite transaction takes the write lock when it begins."""
    return _prepared(create_engine(url, poolclass=NullPool, hide_parameters=True), "BEGIN IMMEDIATE", require)


def lock_migrations(connection: Connection) -> None:
    """Let one process migrate at a time; on SQLite the write transaction itself does that."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))


def _prepared(engine: Engine, begin: str, require: Callable[[], None]) -> Engine:
    if engine.dialect.name == "sqlite":
        # If the file is gone, SQLite makes an empty one. If another file is there, its connection stays in the pool.
        event.listen(engine, "do_connect", lambda *_: require())

        @event.listens_for(engine, "connect")
        def connected(connection: Any, record: Any) -> None:
            connection.isolation_level = None  # transactions begin where we say so, and nowhere else
            try:
                for pragma in PRAGMAS:
                    connection.execute(f"PRAGMA {pragma}")
                require()
            except BaseException:
                connection.close()
                raise

        @event.listens_for(engine, "begin")
        def began(connection: Connection) -> None:
            connection.exec_driver_sql(begin)

    else:

        @event.listens_for(engine, "connect")
        def opened(connection: Any, record: Any) -> None:
            # A server may be set up to answer before the disk does; our log must not.
            connection.execute("SET synchronous_commit = on")
            connection.commit()

    return engine
