"""Who was in which round of a stream, a thousand rounds at a time, kept so that nobody reads a long log to know it.

People are found by a column of the database, which no hash of the log covers. So whoever looks somebody up compares
what that column says with this index (``likewise.service.live.people``), which is made of what the log commits to. It
holds hashes of ids, keyed with the service's key, beside rounds and references, and is sealed like every cache.
"""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from likewise.service.log import tables
from likewise.service.log.append import STRETCH
from likewise.service.log.store import Store
from likewise.service.refusals import Unavailable
from likewise.service.stream.events import Aside, PersonErased

VISIT = np.dtype([("tag", "<u8"), ("round", "<u4"), ("ref", "V16")])
Visits = NDArray[np.void]


class Visit(NamedTuple):
    """Somebody was in a round: the keyed hash of their id, the round, and the reference as bytes."""

    tag: int
    round: int
    ref: bytes


class Kept(NamedTuple):
    """The visits of a thousand rounds, in the order of their tags, as they were after an event with this hash."""

    number: int
    seq: int
    hash: str
    visits: Visits


def as_array(packed: Iterable[bytes]) -> Visits:
    """Visits as they were packed (``VisitTable.packed``) as an array, in the order of their tags."""
    return together([np.frombuffer(b"".join(packed), dtype=VISIT)])


def listed(visits: Visits) -> list[Visit]:
    """An array of visits as a list."""
    return [Visit(*visit) for visit in visits.tolist()]


def together(parts: Iterable[Visits]) -> Visits:
    """Several arrays as one, in the order of their tags."""
    visits = np.concatenate([np.empty(0, VISIT), *parts])
    return visits[visits["tag"].argsort(kind="stable")]


def tagged(visits: Visits, tags: Sequence[int]) -> list[Visit]:
    """The visits with some tags."""
    wanted = np.array(tags, dtype=np.uint64)
    first, last = (visits["tag"].searchsorted(wanted, side) for side in ("left", "right"))
    return [visit for i, j in zip(first, last, strict=True) for visit in listed(visits[i:j])]


class VisitTable:
    """The table of visits of one stream.

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

    @cached_property
    def _key(self) -> bytes:
        """Of the hashes of ids: a hash that takes a key by itself costs a third of one made of two."""
        return bytes.fromhex(self._store.keyed_hash(f"visitors of {self._stream}".encode()))

    def tag(self, person: str) -> int:
        """The keyed hash of an id."""
        id = person.encode(errors="surrogatepass")  # somebody may ask for what no id can be
        return int.from_bytes(blake2b(id, key=self._key, digest_size=8).digest(), "little")

    def packed(self, t: int, asides: Iterable[Aside]) -> bytes:
        """The people of a round as they are in an array."""
        key, number = self._key, t.to_bytes(4, "little")
        people = [(each.content["id"].encode(), each.ref) for each in asides if each.kind == "person"]
        return b"".join(
            [blake2b(id, key=key, digest_size=8).digest() + number + bytes.fromhex(ref) for id, ref in people]
        )

    def numbers(self) -> set[int]:
        """Which thousands are kept."""
        kept = tables.visits.c
        with self._store.read() as connection:
            return set(connection.scalars(select(kept.number).where(kept.stream == self._stream)))

    def load(self) -> list[Kept]:
        """Everything that is kept, and is what this service wrote."""
        query = select(tables.visits).where(tables.visits.c.stream == self._stream)
        with self._store.read() as connection:
            rows = connection.execute(query).all()
        return [
            Kept(row.number, row.seq, row.hash, np.frombuffer(base64.b64decode(row.content), dtype=VISIT))
            for row in rows
            if hmac.compare_digest(row.seal, self._seal(row.number, row.seq, row.hash, row.content))
        ]

    def save(self, kept: Kept, since: int) -> bool:
        """Keep some visits, unless somebody in them was erased after event ``since``; whether that was done."""
        content = base64.b64encode(kept.visits.tobytes()).decode()
        seal = self._seal(kept.number, kept.seq, kept.hash, content)
        row = {"stream": self._stream, **kept._asdict(), "seal": seal, "content": content}
        del row["visits"]

        def write(connection: Connection) -> bool:
            if self._erased_since(connection, kept.number, since):
                return False
            there = tables.visits.c.stream == self._stream, tables.visits.c.number == kept.number
            connection.execute(delete(tables.visits).where(*there))
            connection.execute(insert(tables.visits), [row])
            return True

        try:
            return self._store.write(write)
        except IntegrityError:  # another process has just written the same
            return True
        except Unavailable:  # it is a cache
            return False

    def _erased_since(self, connection: Connection, number: int, since: int) -> bool:
        log = tables.events.c
        query = select(log.data).where(log.stream == self._stream, log.seq > since, log.kind == PersonErased.kind)
        erasures = [json.loads(data)["rounds"] for data in connection.scalars(query)]
        return any((t - 1) // STRETCH == number for rounds in erasures for t in rounds)

    def _seal(self, number: int, seq: int, hash: str, content: str) -> str:
        return self._store.keyed_hash(json.dumps(["visits", self._stream, number, seq, hash, content]).encode())
