"""Snapshots: states along the log, so that it need not be read from its beginning. A cache, nothing more.

No hash of the log covers them, so each is sealed with the service's key: somebody who only has the database can't give
a stream another past. Nobody else reads them, so they are JSON as Python spells it, which keeps every float bit by bit.
"""

from __future__ import annotations

import hmac
import json
import logging
from typing import Any

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from likewise.service.log import tables
from likewise.service.log.store import Store
from likewise.service.redaction import error_kind
from likewise.service.refusals import Unavailable
from likewise.service.stream.events import PersonErased
from likewise.service.stream.state import SNAPSHOT_FORMAT, State, dump_state, load_state

log = logging.getLogger(__name__)
EVERY = 2000
"""Events between two snapshots, at least."""


class StreamSnapshots:
    """The snapshots of one stream: its state again from the latest, and when to take the next.

    No lock guards it: it is read once, before anybody has the stream, and only the clock's thread saves.
    """

    def __init__(self, store: Store, stream: str) -> None:
        self._snapshots = Snapshots(store)
        self._stream = stream
        self.seq = 0
        """The event at which the latest one was taken, as far as this process knows."""

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
        self.seq = seq
        return state, seq, hash

    def save(self, state: State, seq: int, hash: str, *, always: bool = False) -> bool:
        """Take a snapshot if the latest one is far behind, or ``always``; whether one was taken."""
        far = seq - self.seq >= max(EVERY, 2 * state.outstanding)  # it holds every open round
        if state.learner is None or seq == self.seq or not (always or far):
            return False
        try:
            self._snapshots.save(self._stream, seq, hash, SNAPSHOT_FORMAT, dump_state(state))
        except (IntegrityError, Unavailable) as error:  # it is a cache, and another process may be saving its own
            log.warning("No snapshot of %r was taken: %s", self._stream, error_kind(error))
            return False
        self.seq = seq
        return True


class Snapshots:
    """The table of snapshots, with the latest one of every stream."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def save(self, stream: str, seq: int, hash: str, format: int, state: Any) -> None:
        """Keep a state in place of an older one; it counts only on the chain that it was taken from."""
        text = json.dumps(state, allow_nan=False)
        kept = json.dumps({"seal": self._seal(stream, seq, hash, text), "state": text})
        row = {"stream": stream, "seq": seq, "hash": hash, "format": format, "state": kept}
        self._store.write(lambda connection: _replace(connection, stream, seq, row))

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


def _replace(connection: Connection, stream: str, seq: int, row: dict[str, Any]) -> None:
    kept, log = tables.snapshots.c, tables.events.c
    erased = select(log.seq).where(log.stream == stream, log.seq > seq, log.kind == PersonErased.kind).limit(1)
    if connection.execute(erased).first() is not None:
        return  # it was taken before somebody was erased, and may still know them
    connection.execute(delete(tables.snapshots).where(kept.stream == stream))
    connection.execute(insert(tables.snapshots), [row])
