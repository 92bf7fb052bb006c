"""Which round each event of a stream is about, a thousand at a time, kept so that nobody reads a long log to know it.

Events are found by a column of the database, which no hash of the log covers. What is kept here was read from the
events themselves, is sealed with the service's key, and names the hash of the last of its events: it counts only in the
log that it was made from.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from likewise.service.log import tables
from likewise.service.log.chain import Sealed
from likewise.service.log.store import Store
from likewise.service.refusals import Unavailable

TOGETHER = 1000
"""Events that are kept together."""
Places = NDArray[np.uint32]


class Kept(NamedTuple):
    """The rounds that a thousand events are about, 0 for none, and the hash of the last of these events."""

    number: int
    hash: str
    places: Places

    @property
    def last(self) -> int:
        """The number of the last event."""
        return (self.number + 1) * TOGETHER


def as_places(rounds: Iterable[int | None]) -> Places:
    """The rounds that some events are about as an array."""
    return np.array([t or 0 for t in rounds], dtype=np.uint32)


def places_of(sealed: Iterable[Sealed]) -> Places:
    """What some events are about."""
    return as_places(each.event.about for each in sealed)


class PlaceTable:
    """The table of one stream.

    Parameters
    ----------
    store
        Where it is.
    stream
        The name of the stream.
    """

    def __init__(self, store: Store, stream: str) -> None:
        self._store = store
        self._stream = stream

    def numbers(self) -> set[int]:
        """Which thousands are kept."""
        kept = tables.places.c
        with self._store.read() as connection:
            return set(connection.scalars(select(kept.number).where(kept.stream == self._stream)))

    def load(self) -> list[Kept]:
        """Everything that is kept, and is what this service wrote."""
        query = select(tables.places).where(tables.places.c.stream == self._stream)
        with self._store.read() as connection:
            rows = connection.execute(query).all()
        return [
            Kept(row.number, row.hash, np.frombuffer(base64.b64decode(row.content), dtype="<u4"))
            for row in rows
            if hmac.compare_digest(row.seal, self._seal(row.number, row.hash, row.content))
        ]

    def save(self, number: int, places: Places) -> None:
        """Keep what a thousand events are about; it is a cache, so nothing is lost if that fails."""
        last = (number + 1) * TOGETHER
        hash = "".join(self._store.hashes(self._stream, last - 1, last))
        content = base64.b64encode(places.astype("<u4").tobytes()).decode()
        row = {"stream": self._stream, "number": number, "hash": hash, "content": content}
        row["seal"] = self._seal(number, hash, content)

        def write(connection: Connection) -> None:
            there = tables.places.c.stream == self._stream, tables.places.c.number == number
            connection.execute(delete(tables.places).where(*there))
            connection.execute(insert(tables.places), [row])

        with suppress(IntegrityError, Unavailable):  # another process may be keeping the same
            self._store.write(write)

    def _seal(self, number: int, hash: str, content: str) -> str:
        return self._store.keyed_hash(json.dumps(["places", self._stream, number, hash, content]).encode())
