"""Stretches of a stream's rounds as arrays, kept so that a certificate reads only what is new. A cache, nothing more.

A stretch holds a thousand rounds. It counts as long as no event about one of them was added since, and nobody in them
was erased. Like a snapshot it is sealed with the service's key, and what it holds of people goes when they are erased.
Beside them it is kept up to where the log was checked, and how many events each has: only what came since is checked.
"""

from __future__ import annotations

import base64
import hmac
import json
import logging
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, case, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from likewise.game.recorder import Drawn, Part
from likewise.service.log import tables
from likewise.service.log.append import STRETCH
from likewise.service.log.chain import Sealed
from likewise.service.log.store import Store
from likewise.service.redaction import error_kind
from likewise.service.refusals import BrokenLog, Unavailable
from likewise.service.stream.events import PersonErased
from likewise.service.stream.state import State
from likewise.service.stream.transcript import Stretch, stretch

log = logging.getLogger(__name__)
FORMAT = 3
"""Of the content; stretches in another one are made again."""
BOOK = -1
"""The number under which it is kept what was checked."""


class Wanted(NamedTuple):
    """A stretch by its number, its rounds, and the last event that changed something about them.

    ``events`` counts those that are filed under its rounds.
    """

    number: int
    rounds: range
    seq: int
    events: int


class Book(NamedTuple):
    """What was checked of a log up to an event, so that nobody reads all of it for the next certificate.

    ``unfiled`` counts the events that are about no round, ``filed`` those about the rounds of each stretch. Whoever
    files an event elsewhere later changes a count. ``erasures`` are the events that erased people, by stretch.
    """

    seq: int = 0
    unfiled: int = 0
    filed: Mapping[int, int] = MappingProxyType({})
    erasures: Mapping[int, Sequence[int]] = MappingProxyType({})


class Stretches:
    """The stretches of streams, from the cache where they are still good, from the log where they aren't.

    Parameters
    ----------
    store
        Where the logs are.
    require
        Hears of a stream and events of it that were read, and refuses what was never written.
    """

    def __init__(self, store: Store, require: Callable[[str, Sequence[Sealed]], None]) -> None:
        self._store = store
        self._require = require
        self._filled: dict[str, int] = {}

    def all(self, stream: str, state: State, seq: int, progress: Callable[[float], None]) -> list[Stretch]:
        """Every round of a stream that has ``state`` after event ``seq``."""
        book, wanted = self._looked(stream, state.opened, seq)
        stretches = []
        for each in wanted:
            erasures = book.erasures.get(each.number, ())
            stretches.append(self._kept(stream, each) or self._made(stream, state, each, erasures))
            progress((each.number + 1) / len(wanted))
        return stretches

    def catch_up(self, stream: str, state: State, seq: int) -> bool:
        """Make the first stretch that is missing, of those that no round will be added to; whether there was one."""
        whole, kept = state.opened // STRETCH, tables.stretches.c
        if whole <= self._filled.get(stream, 0):
            return False
        with self._store.read() as connection:
            there = set(connection.scalars(select(kept.number).where(kept.stream == stream, kept.format == FORMAT)))
        missing = next((number for number in range(whole) if number not in there), None)
        if missing is None:
            self._filled[stream] = whole
            return False
        book, wanted = self._looked(stream, state.opened, seq)
        self._made(stream, state, wanted[missing], book.erasures.get(missing, ()))
        return True

    def _looked(self, stream: str, opened: int, seq: int) -> tuple[Book, list[Wanted]]:
        """Every stretch of a log up to an event, each of whose events is filed where it belongs."""
        before = self._book(stream, seq)
        fresh = self._store.unfiled(stream, before.seq, seq)
        self._require(stream, fresh)
        rows = self._counted(stream, seq, before.seq)
        unfiled, filed = before.unfiled + len(fresh), {row.number: int(row.events) for row in rows}
        known = {row.number: int(row.known) for row in rows if row.known}
        if known != before.filed or unfiled + sum(filed.values()) != seq:
            raise BrokenLog(f"An event of {stream!r} is not filed where it was written: somebody changed the database.")
        book = Book(seq, unfiled, filed, _with_erasures(before.erasures, fresh))
        if seq - before.seq >= STRETCH:
            self._keep_book(stream, book)
        newest = {row.number: max(int(row.last), *book.erasures.get(row.number, ()), 0) for row in rows}
        spans = {number: (number * STRETCH + 1, min(opened, (number + 1) * STRETCH)) for number in newest}
        return book, [Wanted(n, range(a, b + 1), newest[n], filed[n]) for n, (a, b) in sorted(spans.items())]

    def _counted(self, stream: str, seq: int, known: int) -> Sequence[Row[Any]]:
        """For each stretch its events up to ``seq``, how many of them are not after ``known``, and the last one."""
        log = tables.events.c
        number = ((log.round - 1) // STRETCH).label("number")
        old = func.sum(case((log.seq <= known, 1), else_=0)).label("known")
        query = select(number, func.count().label("events"), old, func.max(log.seq).label("last"))
        query = query.where(log.stream == stream, log.round.is_not(None), log.seq <= seq).group_by(number)
        with self._store.read() as connection:
            return connection.execute(query).all()

    def _book(self, stream: str, seq: int) -> Book:
        """What was checked up to some event before ``seq``; nothing, if that isn't kept or isn't what we wrote."""
        kept = tables.stretches.c
        query = select(kept.content, kept.seal, kept.seq).where(
            kept.stream == stream, kept.number == BOOK, kept.seq <= seq, kept.format == FORMAT
        )
        with self._store.read() as connection:
            row = connection.execute(query).first()
        if row is None or not hmac.compare_digest(row.seal, self._book_seal(stream, row.seq, row.content)):
            return Book()
        data = json.loads(row.content)
        filed, erasures = ({int(n): value for n, value in data[name].items()} for name in ("filed", "erasures"))
        return Book(row.seq, data["unfiled"], filed, erasures)

    def _keep_book(self, stream: str, book: Book) -> None:
        plain = {"unfiled": book.unfiled, "filed": dict(book.filed), "erasures": dict(book.erasures)}
        content, kept = json.dumps(plain), tables.stretches.c
        row = {"stream": stream, "number": BOOK, "seq": book.seq, "format": FORMAT, "content": content}
        row["seal"] = self._book_seal(stream, book.seq, content)

        def write(connection: Connection) -> None:
            connection.execute(delete(tables.stretches).where(kept.stream == stream, kept.number == BOOK))
            connection.execute(insert(tables.stretches), [row])

        self._try(stream, write)

    def _book_seal(self, stream: str, seq: int, content: str) -> str:
        return self._store.keyed_hash(json.dumps(["stretches checked", stream, seq, content]).encode())

    def _kept(self, stream: str, wanted: Wanted) -> Stretch | None:
        """A stretch from the cache; None if there is none, or if it isn't what we wrote or isn't new enough."""
        kept = tables.stretches.c
        query = select(kept.content, kept.seal).where(
            kept.stream == stream, kept.number == wanted.number, kept.seq == wanted.seq, kept.format == FORMAT
        )
        with self._store.read() as connection:
            row = connection.execute(query).first()
        if row is None or not hmac.compare_digest(row.seal, self._seal(stream, wanted, row.content)):
            return None
        return _read(row.content)

    def _made(self, stream: str, state: State, wanted: Wanted, erasures: Sequence[int]) -> Stretch:
        """A stretch from the log, kept for the next time; ``erasures`` are the events that erased somebody in it."""
        sealed = self._store.rounds(stream, wanted.rounds, wanted.seq)
        if len(sealed) != wanted.events:
            raise BrokenLog(f"An event of {stream!r} is not filed where it was written: somebody changed the database.")
        whole = sorted([*sealed, *self._store.numbered(stream, erasures)], key=lambda each: each.seq)
        self._require(stream, whole)
        made = stretch((each.event for each in whole), state, wanted.rounds)
        if state.opened >= (wanted.number + 1) * STRETCH:
            self._keep(stream, wanted, _written(made))
        return made

    def _keep(self, stream: str, wanted: Wanted, content: str) -> None:
        row = {"stream": stream, "number": wanted.number, "seq": wanted.seq, "format": FORMAT, "content": content}
        row["seal"] = self._seal(stream, wanted, content)
        self._try(stream, lambda connection: _replace(connection, wanted, row))

    def _try(self, stream: str, write: Callable[[Connection], None]) -> None:
        try:
            self._store.write(write)
        except (IntegrityError, Unavailable) as error:  # it is a cache, and another process may be keeping its own
            log.warning("A stretch of %r was not kept: %s", stream, error_kind(error))

    def _seal(self, stream: str, wanted: Wanted, content: str) -> str:
        what = ["stretch", stream, wanted.number, len(wanted.rounds), wanted.seq, wanted.events, content]
        return self._store.keyed_hash(json.dumps(what).encode())


def _with_erasures(before: Mapping[int, Sequence[int]], fresh: Sequence[Sealed]) -> dict[int, Sequence[int]]:
    """The erasures of each stretch, with those among some more events."""
    erasures = {number: list(events) for number, events in before.items()}
    for each in fresh:
        if isinstance(each.event, PersonErased):
            for number in sorted({(t - 1) // STRETCH for t in each.event.rounds}):
                erasures.setdefault(number, []).append(each.seq)
    return dict(erasures)


def _replace(connection: Connection, wanted: Wanted, row: dict[str, Any]) -> None:
    kept, log = tables.stretches.c, tables.events.c
    later = log.seq > wanted.seq
    erasures = select(log.data).where(log.stream == row["stream"], later, log.kind == PersonErased.kind)
    if any(t in wanted.rounds for data in connection.scalars(erasures) for t in json.loads(data)["rounds"]):
        return  # it was made before somebody in it was erased
    connection.execute(delete(tables.stretches).where(kept.stream == row["stream"], kept.number == wanted.number))
    connection.execute(insert(tables.stretches), [row])


def _written(made: Stretch) -> str:
    """A stretch as text: what its arrays are, and their bytes one after another, packed."""
    arrays = {name: np.asarray(value) for name, value in _columns(made.part) if value is not None}
    forms = [[name, value.dtype.str, value.shape] for name, value in arrays.items()]
    packed = zlib.compress(b"".join(value.tobytes() for value in arrays.values()), 1)
    return json.dumps({"arrays": forms, "bytes": base64.b64encode(packed).decode(), "refuted": dict(made.refuted)})


def _columns(part: Part) -> Iterator[tuple[str, Any]]:
    for name, value in part._asdict().items():
        if name != "drawn":
            yield name, value
    if part.drawn is not None:
        yield from ((f"drawn_{name}", value) for name, value in part.drawn._asdict().items())


def _read(content: str) -> Stretch:
    data = json.loads(content)
    packed, at = bytearray(zlib.decompress(base64.b64decode(data["bytes"]))), 0
    arrays: dict[str, NDArray[Any]] = {}
    for name, kind, shape in data["arrays"]:
        arrays[name] = np.frombuffer(packed, dtype=kind, count=math.prod(shape), offset=at).reshape(shape)
        at += arrays[name].nbytes
    drawn = {name: arrays.pop(f"drawn_{name}") for name in Drawn._fields if f"drawn_{name}" in arrays}
    parts: dict[str, Any] = dict.fromkeys(Part._fields) | arrays | {"drawn": Drawn(**drawn) if drawn else None}
    return Stretch(Part(**parts), Counter(data["refuted"]))
