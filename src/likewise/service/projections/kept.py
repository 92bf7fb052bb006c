"""What is kept of a stream for its pictures, in one sealed row: the bins, and hashes of everything else.

Somebody with the database but without the key could change a picture: no hash of the log covers the rows that it is
drawn from. So each row is checked when it is read. The bins are in the sealed row itself; the summaries of rounds are
under the root of a tree of hashes that is in it, and each of the small tables under one hash. Whoever puts all of it
back to what it was earlier only makes the service read on from there.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, delete, insert, select, update

from likewise.service.log import Store, tables
from likewise.service.projections.sheets import EMPTY, altered, hash_of
from likewise.service.refusals import SequenceConflict

ROWS = (tables.summaries, tables.sheets, tables.followed, tables.samples, tables.gaps, tables.helped)
"""Whatever is kept of a stream for its pictures."""
NOTHING = hash_of(tables.samples, [])


class Kept(NamedTuple):
    """What is kept of a stream up to an event.

    Attributes
    ----------
    seq, learned
        The last event that was read, and the last policy that reported pairs were held against.
    root
        Of the tree over the summaries.
    width, bins
        Rounds in a bin, and what each adds up to (``likewise.service.projections.bins``).
    reported
        The newest rounds with a reported pair.
    samples, gaps, helped
        Hashes of the rows in these tables.
    seal
        As it was read; empty if nothing is kept yet.
    """

    seq: int = 0
    learned: int = 0
    root: str = EMPTY
    width: int = 1
    bins: Sequence[Sequence[Any]] = ()
    reported: Sequence[int] = ()
    samples: str = NOTHING
    gaps: str = NOTHING
    helped: str = NOTHING
    seal: str = ""

    @property
    def content(self) -> str:
        """All of it but the seal, as text."""
        return json.dumps(self[2:-1])


@contextmanager
def reading(store: Store, stream: str) -> Iterator[tuple[Connection, Kept]]:
    """A connection that sees one moment, and what is kept of a stream then."""
    with store.read() as connection:
        if connection.dialect.name == "postgresql":  # else each query would see a moment of its own
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        row = connection.execute(select(tables.followed).where(tables.followed.c.stream == stream)).first()
        if row is None:
            yield connection, Kept()
            return
        if not hmac.compare_digest(row.seal, _seal(store, stream, row.seq, row.learned, row.content)):
            raise altered(stream)
        yield connection, Kept._make([row.seq, row.learned, *json.loads(row.content), row.seal])


def replace(connection: Connection, store: Store, stream: str, before: Kept, after: Kept) -> None:
    """Keep ``after`` in place of ``before``, unless another process was faster."""
    seal = _seal(store, stream, after.seq, after.learned, after.content)
    row = {"stream": stream, "seq": after.seq, "learned": after.learned, "content": after.content, "seal": seal}
    kept = tables.followed
    if not before.seal:
        connection.execute(insert(kept), [row])
    elif connection.execute(update(kept).where(kept.c.stream == stream, kept.c.seal == before.seal), row).rowcount != 1:
        raise SequenceConflict("Another process was faster.")


def rows_of(connection: Connection, table: Table, stream: str, hash: str) -> list[dict[str, Any]]:
    """All rows that a small table holds of a stream, in the order of their key, if they have the hash that they had."""
    query = select(table).where(table.c.stream == stream).order_by(*table.primary_key.columns)
    rows = [dict(row._mapping) for row in connection.execute(query)]
    if hash_of(table, rows) != hash:
        raise altered(stream)
    return rows


def hash_of_rows(table: Table, rows: Sequence[dict[str, Any]]) -> str:
    """The hash of all rows that a small table will hold of a stream."""
    key = [column.name for column in table.primary_key.columns if column.name != "stream"]
    return hash_of(table, sorted(rows, key=lambda row: [row[name] for name in key]))


def forget(store: Store, stream: str) -> None:
    """Drop everything that is kept of a stream for its pictures: it is computed again from the log."""

    def write(connection: Connection) -> None:
        for table in ROWS:
            connection.execute(delete(table).where(table.c.stream == stream))
        jobs = tables.jobs.c
        connection.execute(delete(tables.jobs).where(jobs.stream == stream, jobs.kind == "history"))

    store.write(write)


def _seal(store: Store, stream: str, seq: int, learned: int, content: str) -> str:
    return store.keyed_hash(json.dumps(["pictures", stream, seq, learned, content]).encode())
