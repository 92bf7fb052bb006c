"""Stretches of a stream's rounds as arrays, kept so that a certificate reads only what is new. A cache, nothing more.

A stretch holds a thousand rounds. It counts as long as no event about one of them was added since, and nobody in them
was erased. Like a snapshot it is sealed with the service's key, and what it holds of people goes when they are erased.
"""

from __future__ import annotations

import base64
import hmac
import io
import json
import logging
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from likewise.game.recorder import Drawn, Part
from likewise.service.log import tables
from likewise.service.log.append import STRETCH
from likewise.service.log.chain import Sealed
from likewise.service.log.store import Store
from likewise.service.redaction import error_kind
from likewise.service.refusals import Unavailable
from likewise.service.stream.events import PersonErased
from likewise.service.stream.state import State
from likewise.service.stream.transcript import Stretch, stretch

log = logging.getLogger(__name__)
FORMAT = 1
"""Of the content; stretches in another one are made again."""


class Wanted(NamedTuple):
    """A stretch by its number, its rounds, and the last event that changed something about them."""

    number: int
    rounds: range
    seq: int


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
        self._require(stream, self._store.unfiled(stream, 0, seq))
        erasures = self._erasures(stream, seq)
        wanted = self._wanted(stream, state.opened, seq, erasures)
        stretches = []
        for each in wanted:
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
        erasures = self._erasures(stream, seq)
        (one,) = self._wanted(stream, state.opened, seq, erasures, missing)
        self._made(stream, state, one, erasures)
        return True

    def _wanted(
        self, stream: str, opened: int, seq: int, erasures: list[tuple[int, PersonErased]], only: int | None = None
    ) -> list[Wanted]:
        log = tables.events.c
        number = ((log.round - 1) // STRETCH).label("number")
        query = select(number, func.max(log.seq)).where(log.stream == stream, log.round.is_not(None), log.seq <= seq)
        if only is not None:
            query = query.where(log.round.between(only * STRETCH + 1, (only + 1) * STRETCH))
        with self._store.read() as connection:
            newest = {int(number): int(last) for number, last in connection.execute(query.group_by(number))}
        for last, event in erasures:
            for touched in {(t - 1) // STRETCH for t in event.rounds} & newest.keys():
                newest[touched] = max(newest[touched], last)
        spans = {number: (number * STRETCH + 1, min(opened, (number + 1) * STRETCH)) for number in newest}
        return [Wanted(number, range(a, b + 1), newest[number]) for number, (a, b) in sorted(spans.items())]

    def _erasures(self, stream: str, seq: int) -> list[tuple[int, PersonErased]]:
        sealed = self._store.events(stream, kind=PersonErased.kind)
        self._require(stream, sealed)
        return [(each.seq, each.event) for each in sealed if isinstance(each.event, PersonErased) and each.seq <= seq]

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

    def _made(self, stream: str, state: State, wanted: Wanted, erasures: list[tuple[int, PersonErased]]) -> Stretch:
        """A stretch from the log, kept for the next time."""
        sealed = self._store.rounds(stream, wanted.rounds, wanted.seq)
        self._require(stream, sealed)
        about = [(each.seq, each.event) for each in sealed]
        touching = [(seq, event) for seq, event in erasures if any(t in wanted.rounds for t in event.rounds)]
        made = stretch((event for _, event in sorted([*about, *touching], key=_first)), state, wanted.rounds)
        if state.opened >= (wanted.number + 1) * STRETCH:
            self._keep(stream, wanted, _written(made))
        return made

    def _keep(self, stream: str, wanted: Wanted, content: str) -> None:
        row = {"stream": stream, "number": wanted.number, "seq": wanted.seq, "format": FORMAT, "content": content}
        row["seal"] = self._seal(stream, wanted, content)
        try:
            self._store.write(lambda connection: _replace(connection, wanted, row))
        except (IntegrityError, Unavailable) as error:  # it is a cache, and another process may be keeping its own
            log.warning("A stretch of %r was not kept: %s", stream, error_kind(error))

    def _seal(self, stream: str, wanted: Wanted, content: str) -> str:
        what = ["stretch", stream, wanted.number, len(wanted.rounds), wanted.seq, content]
        return self._store.keyed_hash(json.dumps(what).encode())


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _replace(connection: Connection, wanted: Wanted, row: dict[str, Any]) -> None:
    kept, log = tables.stretches.c, tables.events.c
    later = log.seq > wanted.seq
    erasures = select(log.data).where(log.stream == row["stream"], later, log.kind == PersonErased.kind)
    if any(t in wanted.rounds for data in connection.scalars(erasures) for t in json.loads(data)["rounds"]):
        return  # it was made before somebody in it was erased
    connection.execute(delete(tables.stretches).where(kept.stream == row["stream"], kept.number == wanted.number))
    connection.execute(insert(tables.stretches), [row])


def _written(made: Stretch) -> str:
    """A stretch as text: arrays as NumPy writes them, without pickle, and packed."""
    arrays = {name: value for name, value in _columns(made.part) if value is not None}
    file = io.BytesIO()
    np.savez(file, **arrays)
    text = base64.b64encode(zlib.compress(file.getvalue(), 1)).decode()
    return json.dumps({"arrays": text, "refuted": dict(made.refuted)})


def _columns(part: Part) -> Iterator[tuple[str, Any]]:
    for name, value in part._asdict().items():
        if name != "drawn":
            yield name, value
    if part.drawn is not None:
        yield from ((f"drawn_{name}", value) for name, value in part.drawn._asdict().items())


def _read(content: str) -> Stretch:
    data = json.loads(content)
    with np.load(io.BytesIO(zlib.decompress(base64.b64decode(data["arrays"]))), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    drawn = {name: arrays.pop(f"drawn_{name}") for name in Drawn._fields if f"drawn_{name}" in arrays}
    parts: dict[str, Any] = dict.fromkeys(Part._fields) | arrays | {"drawn": Drawn(**drawn) if drawn else None}
    return Stretch(Part(**parts), Counter(data["refuted"]))
