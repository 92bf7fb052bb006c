"""Snapshots: states along the log, so that it need not be read from its beginning. A cache, nothing more.

No hash of the log covers them, so each is sealed with the service's key: somebody who only has the database can't give
a stream another past. Nobody else reads them, so they are JSON as Python spells it, which keeps every float bit by bit.
"""

from __future__ import annotations

import hmac
import json
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from likewise.service.log import tables
from likewise.service.log.store import Store


class Snapshots:
    """The latest snapshot of every stream."""

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
        wanted = (
            select(kept.seq, kept.hash, kept.state)
            .join(tables.events, same)
            .where(kept.stream == stream, kept.format == format)
        )
        with self._store.read() as connection:
            found = connection.execute(wanted).first()
        if found is None:
            return None
        try:
            kept = json.loads(found.state)
            genuine = hmac.compare_digest(kept["seal"], self._seal(stream, found.seq, found.hash, kept["state"]))
            return (found.seq, found.hash, json.loads(kept["state"])) if genuine else None
        except (ValueError, TypeError, KeyError):  # another layout, or somebody's own
            return None

    def _seal(self, stream: str, seq: int, hash: str, state: str) -> str:
        return self._store.keyed_hash(json.dumps(["snapshot", stream, seq, hash, state]).encode())


def _replace(connection: Connection, stream: str, seq: int, row: dict[str, Any]) -> None:
    kept, log = tables.snapshots.c, tables.events.c
    erased = select(log.seq).where(log.stream == stream, log.seq > seq, log.kind == "person_erased").limit(1)
    if connection.execute(erased).first() is not None:
        return  # it was taken before somebody was erased, and may still know them
    connection.execute(delete(tables.snapshots).where(kept.stream == stream))
    connection.execute(insert(tables.snapshots), [row])
