"""Snapshots: states along the log, so that it need not be read from its beginning. A cache, nothing more.

No hash of the log covers them, so each is sealed with the service's key: somebody who only has the database can't give
a stream another past. Nobody else reads them, so they are JSON as Python spells it, which keeps every float bit by bit.
"""

from __future__ import annotations

import hmac
import json
import logging
from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from likewise.service.log import tables
from likewise.service.log.append import references
from likewise.service.log.store import Store
from likewise.service.redaction import error_kind
from likewise.service.refusals import Unavailable
from likewise.service.stream.events import PersonErased
from likewise.service.stream.plain_state import SNAPSHOT_FORMAT, dump_state, load_state
from likewise.service.stream.state import State

log = logging.getLogger(__name__)
EVERY = 2000
"""Events between two snapshots, at least."""


class StreamSnapshots:
    """The snapshots of one stream: its state again from the latest, and when to take the next.

    No lock guards it: it is read once, before anybody has the stream, and only the clock's thread saves. Whoever erases
    somebody may take one too; what is remembered here then only says when the next one is due.
    """

    def __init__(self, store: Store, stream: str) -> None:
        self._snapshots = Snapshots(store)
        self._stream = stream
        self.seq = 0
        """The event at which the latest one was taken, as far as this process knows."""
        self._named: set[str] = set()

    def latest(self) -> tuple[State, int, str] | None:
        """(state, seq, hash) of the latest snapshot; None if there is none that can be read."""
        kept = self._snapshots.latest(self._stream, SNAPSHOT_FORMAT)
        if kept is None:
            return None
        seq, hash, data = kept
        try:
            state = load_state(data)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            log.warning(
                "The snapshot of %r is unreadable (%s): its log is read again.", self._stream, error_kind(error)
            )
            return None
        self.seq, self._named = seq, _named(state)
        return state, seq, hash

    def due(self, state: State, seq: int) -> bool:
        """Whether the latest one is far behind."""
        return seq - self.seq >= max(EVERY, 2 * state.outstanding)  # it holds every open round

    def save(self, state: State, seq: int, hash: str, *, always: bool = False) -> bool:
        """Take a snapshot if the latest one is far behind, or ``always``; whether one was taken."""
        if state.learner is None or seq == self.seq or not (always or self.due(state, seq)):
            return False
        try:
            self._snapshots.save(self._stream, seq, hash, SNAPSHOT_FORMAT, dump_state(state))
        except (IntegrityError, Unavailable) as error:  # it is a cache, and another process may be saving its own
            log.warning("No snapshot of %r was taken: %s", self._stream, error_kind(error))
            return False
        self.seq, self._named = seq, _named(state)
        return True

    def without(self, gone: Collection[str], state: State, seq: int, hash: str) -> dict[str, Any] | None:
        """The row of a snapshot to be taken together with an erasure; None if the latest one names nobody erased."""
        if self._named.isdisjoint(gone) or state.learner is None:
            return None
        self.seq, self._named = seq, _named(state)
        return self._snapshots.row(self._stream, seq, hash, SNAPSHOT_FORMAT, dump_state(state))


class Snapshots:
    """The table of snapshots, with the latest one of every stream."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def save(self, stream: str, seq: int, hash: str, format: int, state: Any) -> None:
        """Keep a state in place of an older one; it counts only on the chain that it was taken from."""
        row = self.row(stream, seq, hash, format, state)
        self._store.write(lambda connection: _replace(connection, stream, seq, row))

    def row(self, stream: str, seq: int, hash: str, format: int, state: Any) -> dict[str, Any]:
        """A state as a row of the table, sealed."""
        text = json.dumps(state, allow_nan=False)
        kept = json.dumps({"seal": self._seal(stream, seq, hash, text), "state": text})
        return {"stream": stream, "seq": seq, "hash": hash, "format": format, "state": kept}

    def latest(self, stream: str, format: int) -> tuple[int, str, Any] | None:
        """(seq, hash, state) of the newest snapshot that fits the log; None if there is none."""
        kept, log = tables.snapshots.c, tables.events.c
        same = (kept.stream == log.stream) & (kept.seq == log.seq) & (kept.hash == log.hash)
        query = (
            select(kept.seq, kept.hash, kept.state)
            .join(tables.events, same)
            .where(kept.stream == stream, kept.format == format)
        )
        with self._store.read() as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        try:
            content = json.loads(row.state)
            genuine = hmac.compare_digest(content["seal"], self._seal(stream, row.seq, row.hash, content["state"]))
            return (row.seq, row.hash, json.loads(content["state"])) if genuine else None
        except (ValueError, TypeError, KeyError):  # another layout, or somebody's own
            return None

    def _seal(self, stream: str, seq: int, hash: str, state: str) -> str:
        return self._store.keyed_hash(json.dumps(["snapshot", stream, seq, hash, state]).encode())


def _named(state: State) -> set[str]:
    """Whatever a state knows that can be erased: people of open rounds and of kept reports, and why it is stopped."""
    open_ = {ref for round_ in state.rounds.values() for ref in round_.refs}
    open_ |= {ref for ref in (state.stop_ref,) if ref is not None}
    return open_ | {ref for pair in state.pairs for ref in pair.refs}


def _replace(connection: Connection, stream: str, seq: int, row: dict[str, Any]) -> None:
    kept, log = tables.snapshots.c, tables.events.c
    erasures = select(log.data).where(log.stream == stream, log.seq > seq, log.kind == PersonErased.kind)
    erased = {ref for data in connection.scalars(erasures) for ref in references(data)}
    if erased and not erased.isdisjoint(references(row["state"])):  # a state is long: read only if it has to be
        return  # it was taken before somebody was erased whom it names
    newest = connection.scalar(select(kept.seq).where(kept.stream == stream, kept.format == row["format"]))
    if newest is not None and newest > seq:
        return  # one that was taken later is there already
    connection.execute(delete(tables.snapshots).where(kept.stream == stream))
    connection.execute(insert(tables.snapshots), [row])
