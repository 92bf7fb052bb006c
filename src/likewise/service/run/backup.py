"""Backups: everything a service knows, at one moment, in one file; taken and put back while services run.

The file is a SQLite database with the same tables, whichever database they came from, and the signing key and the
checkpoints beside them. Reading happens in one transaction (SQLite's WAL, or REPEATABLE READ on PostgreSQL), so writers
neither wait nor show through. Rows go in through the log's own triggers: a chain that is broken can't be put back.

A backup holds everybody who was erased after it was taken. Before it is put back, they are erased from it again, by the
references that the service has listed in a file of its own (``likewise.service.log.erasure.ErasureFile``).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, LargeBinary, MetaData, Table, Text, delete, func, insert, inspect, select
from sqlalchemy.exc import DBAPIError

from likewise.errors import InvalidParameter, require
from likewise.service.accounts.staff import LISTED
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.log import Store, tables
from likewise.service.log.connections import require_there
from likewise.service.log.erasure import ErasureFile
from likewise.service.log.migrations import OtherVersion
from likewise.service.log.signing import Signer
from likewise.service.run.temporary import private_folder
from likewise.storage import write_whole

ROWS = 1000
"""Copied at once."""
BY = "restore"
"""Who erases, in the log of a backup that is put back."""

files = Table("files", MetaData(), Column("name", Text, primary_key=True), Column("content", LargeBinary))
"""In a backup only: the signing key and the checkpoints."""


def backup(configuration: Configuration, path: str | Path) -> dict[str, int]:
    """Write everything to a new file, for its owner's eyes only; how many rows of each table.

    It holds what people are like, and the key that signs for the service: keep it as you keep those.
    """
    path = Path(path)
    require(not path.exists(), "file", "be a file that does not exist yet", str(path))
    require(path.parent.is_dir(), "file", "be in a folder that exists", str(path))
    require_there(configuration.database)
    # Checkpoints are read before the log: it holds every event that they speak of.
    beside = {"key": _content(configuration.key_file), "checkpoints": _whole_lines(configuration.checkpoint_file)}
    with private_folder(path.parent) as folder:
        written = folder / "backup"
        with _store(configuration.database) as source, _store(written) as target:
            counts = target.write(lambda connection: _filled(source, connection, beside))
        written.chmod(0o600)
        os.link(written, path)  # refuses, unlike a rename, if somebody else was faster
    return counts


class Restored(NamedTuple):
    """What was put back.

    Attributes
    ----------
    rows
        How many of each table.
    newest
        When the backup's newest event happened; None if it has none.
    listed
        Whether there was a list of erasures; without one, whoever was erased after ``newest`` is back.
    erased
        Of the backup's rows about people: how many were erased again.
    """

    rows: dict[str, int]
    newest: str | None
    listed: bool
    erased: int


def restore(configuration: Configuration, path: str | Path) -> Restored:
    """Put a backup into a database without streams; all of it, or nothing, but for people who were erased since.

    The key comes first and the database last, in one transaction: a restore that was killed can be run again, and a
    database that has streams has its key. A service may run on the database meanwhile, with the key of the backup: it
    finds the streams at its next look.
    """
    erasures = ErasureFile(configuration.erasure_file)
    given = configuration.erasures is None or erasures.path.is_file()
    require(given, "erasures", "be the file that lists what was erased", str(erasures.path))
    path = Path(path)
    require(path.is_file(), "file", "be a backup made by `likewise backup`", str(path))
    with private_folder() as folder:
        copied = folder / "backup"  # a backup of an older version gets today's tables, and stays as it is
        shutil.copyfile(path, copied)
        try:
            with _store(copied) as source:
                beside, newest = _beside(source), _newest(source)
        except OtherVersion:
            raise
        except (InvalidParameter, DBAPIError):
            raise InvalidParameter(f"{path} is not a backup made by `likewise backup`.") from None
        erased = _erased(copied, beside["key"], erasures, folder / "key")
        with _store(copied) as source, _store(configuration.database) as target:
            places = {"key": configuration.key_file, "checkpoints": configuration.checkpoint_file}
            for name, place in places.items():
                same = not place.exists() or place.read_bytes() in (b"", beside[name])
                require(same, name, "be a file that does not exist yet, or the one in the backup", str(place))
            target.write(_require_empty)
            for name, place in places.items():
                _write(place, beside[name])
            counts = target.write(lambda connection: _restored(source, connection))
    return Restored(counts, newest, erasures.path.exists(), erased)


def _newest(source: Store) -> str | None:
    with source.read() as connection:
        newest: str | None = connection.scalar(select(func.max(tables.events.c.at)))
    return newest


def _erased(database: Path, key: bytes, erasures: ErasureFile, place: Path) -> int:
    """Erase from a copy of a backup what was erased since it was taken, as events of its log; how many rows."""
    with _store(database) as source:
        if aliases := erasures.refs(LISTED):
            gone = delete(tables.staff).where(tables.staff.c.alias.in_(aliases))
            source.write(lambda connection: connection.execute(gone) and None)
        streams = source.streams()
        known = {name: [aside.ref for aside in source.asides_of(erasures.refs(name), name)] for name in streams}
    known = {name: refs for name, refs in known.items() if refs}
    if not known:
        return 0  # a log is not read for nothing
    _write(place, key)
    engine = Engine(Store(database), Signer.at(place))
    try:
        return sum(engine.erase_again(name, refs, BY) for name, refs in known.items())
    finally:
        engine.close()


@contextmanager
def _store(database: str | Path) -> Iterator[Store]:
    with Store(database) as store:
        store.migrate()
        yield store


def _filled(source: Store, connection: Connection, beside: dict[str, bytes]) -> dict[str, int]:
    counts = _copied(source, connection)
    files.create(connection)
    connection.execute(insert(files), [{"name": name, "content": content} for name, content in beside.items()])
    return counts


def _restored(source: Store, connection: Connection) -> dict[str, int]:
    _require_empty(connection)
    return _copied(source, connection)


def _require_empty(connection: Connection) -> None:
    streams = connection.scalar(select(func.count()).select_from(tables.streams))
    require(streams == 0, "database", "have no streams", streams)


def _copied(source: Store, target: Connection) -> dict[str, int]:
    """Copy every table as it is at one moment; tokens that are known stay as they are."""
    known = set(target.scalars(select(tables.tokens.c.digest)))
    counts = {}
    with source.read() as reading:
        if reading.dialect.name == "postgresql":
            reading.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for table in tables.metadata.sorted_tables:
            counts[table.name] = 0
            # In the order of their keys: an event follows the one before it.
            query = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=ROWS)
            for rows in reading.execute(query).mappings().partitions():
                new = [dict(row) for row in rows if table is not tables.tokens or row["digest"] not in known]
                if new:
                    target.execute(insert(table), new)
                counts[table.name] += len(new)
    return counts


def _beside(source: Store) -> dict[str, bytes]:
    with source.read() as connection:
        require(inspect(connection).has_table(files.name), "file", "have the files of a backup", "none")
        contents: dict[str, Any] = {row.name: row.content for row in connection.execute(select(files))}
    return {name: bytes(content) for name, content in contents.items()}


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _whole_lines(path: Path) -> bytes:
    """A file of lines without one that is just being written."""
    return b"".join(line for line in _content(path).splitlines(keepends=True) if line.endswith(b"\n"))


def _write(path: Path, content: bytes) -> None:
    """A new file for its owner only, on disk when this returns."""
    if content and _content(path) != content:
        write_whole(path, content, private=True)
