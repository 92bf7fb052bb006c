"""What every event has: a kind, a time, fields that stand in the log, and what it says of itself.

    event.evolve(state)              → state    what is the case after it; never refuses
    event.objection(state, memory)   → text     why it can't follow those before it; "" if it can

and, of an event about a round,

    event.tell(view)                            what it adds to the view of its round
    event.hear(panel)                → panel    what it adds to what reviewers said
    event.sum_up(row)                           what it changes about the row that pictures are drawn from

A kind is one frozen dataclass, so that everything about it stands in one place. What may have to be erased one day (who
a person is, their features, an auditor's free words) never enters the log: it is an ``Aside``, kept beside it under a
reference, and the event holds a salted commitment to it.
"""

from __future__ import annotations

import dataclasses
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, TypeVar

from likewise.errors import InvalidParameter
from likewise.service.canonical import commitment, dumps
from likewise.service.stream.answers import RoundRecord
from likewise.service.stream.memory import Memory
from likewise.service.stream.panel import Panel
from likewise.service.stream.state import OpenRound, State

VERSION = 3
"""Of the layout of events; the log carries the one that an event was written in."""
Kind = TypeVar("Kind", bound="type[Event]")


class WrittenBefore(InvalidParameter):
    """An event of an earlier release, and what to do with its log. The sentence quotes nothing of the event."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What an event says of something that is kept beside the log: where it is, and a commitment to it."""

    ref: str
    commitment: str


@dataclass(frozen=True)
class Aside:
    """What is kept beside the log, so that it can be erased.

    Attributes
    ----------
    ref
        A reference, a time and 80 random bits; the only name that the log knows.
    kind
        "person" (content: id and features) or "remark" (content: an auditor's reason and note; or why a stream was
        stopped).
    t
        The round that it belongs to; 0 for the stream itself.
    salt
        32 random bytes, in hexadecimal digits.
    content
        Plain JSON values.
    """

    ref: str
    kind: str
    t: int
    salt: str
    content: dict[str, Any]

    @classmethod
    def read(cls, ref: str, kind: str, t: int, salt: str, text: str, content: dict[str, Any]) -> Aside:
        """What was kept, with its content as it was spelt."""
        aside = object.__new__(cls)  # its `__init__` would set field by field
        aside.__dict__.update(ref=ref, kind=kind, t=t, salt=salt, content=content, text=text)
        return aside

    @functools.cached_property
    def text(self) -> str:
        """The content as canonical JSON."""
        return dumps(self.content)

    @property
    def commitment(self) -> str:
        """What the log holds of it: binding, and silent once the salt is gone."""
        return commitment(self.salt, self.text)

    @property
    def person(self) -> str | None:
        """The id of the person, where it is about one."""
        return str(self.content["id"]) if self.kind == "person" else None

    def promise(self) -> Promise:
        """The part of an event that stands for it."""
        return Promise(self.ref, self.commitment)


PLAIN = frozenset({str, int, float, bool, type(None)})
IN_MEMORY = {"logged": False}
"""Marks a field that never enters the log: it is known only while the event is in memory."""
NUMBER = {"read": float}
"""Marks a field that is a float, also where the log spells it as a whole number."""
NO_PAIR = dict.fromkeys(("favoured", "disfavoured", "gap"))
"""In the row of a round without a report."""
TUPLE = {"read": tuple}
"""Marks a field that is a tuple of plain values."""
REMARK = {"read": lambda value: None if value is None else Promise(**value)}
"""Marks a field that promises somebody's words, if there are some."""
PAIRS = {"read": lambda values: tuple((first, second) for first, second in values)}
"""Marks a field that is a tuple of pairs of plain values."""


def each(part: type) -> dict[str, Any]:
    """Marks a field that holds some parts, each an object in the log."""
    return {"read": lambda values: tuple([part(**value) for value in values])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(ABC):
    """A fact of a stream, in the past tense, as it was. The log of them is the only truth.

    Attributes
    ----------
    at
        When: UTC, ISO 8601, to the microsecond.
    asides
        What the event commits to, as far as it is still there.
    """

    kind: ClassVar[str]
    """Its name in the log."""
    alone: ClassVar[bool] = True
    """Whether it may stand alone; otherwise another event must have announced it (``announces``)."""
    may_lack: ClassVar[tuple[str, ...]] = ()
    """Fields that stand in the log only where they say something: where they are neither None nor empty."""
    names: ClassVar[Literal["person", "remark"]] = "remark"
    """The kind of everything that it commits to, or rests on."""
    why_missing: ClassVar[Mapping[str, str]] = {}
    """What to say of an event in the log that lacks a field, where it is known why."""
    at: str = field(metadata=IN_MEMORY)
    asides: tuple[Aside, ...] = field(default=(), compare=False, metadata=IN_MEMORY)
    _text: list[str] = field(default_factory=list, init=False, repr=False, compare=False, metadata=IN_MEMORY)

    @property
    def about(self) -> int | None:
        """The round that it is about, if it is about one."""
        return None

    @property
    def touches(self) -> Sequence[int]:
        """The rounds that it changes something about."""
        return () if self.about is None else (self.about,)

    @property
    def refs(self) -> list[str]:
        """The references of everything that the event commits to, or rests on."""
        return []

    @property
    def promised(self) -> Mapping[str, str]:
        """The commitments that it holds, by reference."""
        return {}

    @property
    def announces(self) -> tuple[str, int | None] | None:
        """Kind and round of the event that must directly follow, where two are written together."""
        return None

    @property
    def time(self) -> float:
        """Seconds since 1970."""
        return seconds(self.at)

    @abstractmethod
    def evolve(self, state: State) -> State:
        """The state after it."""

    def objection(self, state: State, memory: Memory) -> str:
        """Why it can't follow, as an outsider can tell from the log alone; "" if it can."""
        return ""

    def data(self) -> dict[str, Any]:
        """What stands in the log: plain JSON values."""
        return self._data_without()

    def _data_without(self, left_out: str = "") -> dict[str, Any]:
        values = {name: _plain(getattr(self, name)) for name in _logged(type(self)) if name != left_out}
        for name in self.may_lack:
            if values[name] in (None, []):
                del values[name]
        return values

    def knowing(self, known: Mapping[str, Any]) -> Event:
        """The same event with fields that never enter the log, and so with the same text."""
        copied = object.__new__(type(self))
        for name in _names(type(self)):  # that of `dataclasses` looks at every field again, each time
            object.__setattr__(copied, name, known[name] if name in known else getattr(self, name))
        return copied

    @property
    def text(self) -> str:
        """The same as canonical JSON; spelt once, as an event is hashed and written."""
        return self._spelt()[0]

    @property
    def hashed_text(self) -> str:
        """The same as it is hashed: with the root of a tree in place of people, so that one of them can be shown."""
        return self._spelt()[1]

    def _spelt(self) -> list[str]:
        if not self._text:
            self._text.extend(self._spell())
        return self._text

    def _spell(self) -> Sequence[str]:
        """Its text, and the text that is hashed."""
        return [dumps(self.data())] * 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEvent(Event):
    """An event about one round."""

    t: int

    @property
    def about(self) -> int:
        """The round that it is about."""
        return self.t

    def round(self, state: State) -> OpenRound:
        """The round that it is about, which is open."""
        return state.rounds[self.t]

    @abstractmethod
    def tell(self, view: RoundRecord) -> None:
        """Add what it says to the view of its round."""

    def hear(self, panel: Panel) -> Panel:
        """What reviewers said of its round, after it; most kinds add nothing."""
        return panel

    def sum_up(self, row: dict[str, Any]) -> None:
        """Change the row of its round (``likewise.service.projections.summaries``); most kinds change nothing."""


KINDS: dict[str, type[Event]] = {}
"""Every kind of event, by its name in the log."""


def kind(cls: Kind) -> Kind:
    """Make a class known as a kind of event."""
    KINDS[cls.kind] = cls
    return cls


def read_event(kind: str, data: Mapping[str, Any], at: str, asides: tuple[Aside, ...] = ()) -> Event:
    """An event from what stands in the log; a sentence if it is no event.

    Examples
    --------
    >>> read_event("resumed", {"by": "ann"}, stamp(0)).data()
    {'by': 'ann'}
    """
    cls = KINDS.get(kind)
    if cls is None:
        raise InvalidParameter(f"`kind` must be one of {sorted(KINDS)}, got {kind!r}.")
    if not _whole(cls, tuple(data)):
        for name in cls.why_missing.keys() - data.keys():
            raise WrittenBefore(cls.why_missing[name])
        raise InvalidParameter(f"An event of the kind {kind} must hold {sorted(_logged(cls))}, got {sorted(data)}.")
    values = dict(data)
    for name, read in _reads(cls):
        if name in values:
            values[name] = read(values[name])
    return cls(at=at, asides=asides, **values)


_FIELDS: dict[type, dict[str, Callable[[Any], Any] | None]] = {}


def _logged(cls: type[Event]) -> dict[str, Callable[[Any], Any] | None]:
    """The fields of a kind that stand in the log, and how each is read."""
    if cls not in _FIELDS:
        fields = [item for item in dataclasses.fields(cls) if item.metadata.get("logged", True)]
        _FIELDS[cls] = {item.name: item.metadata.get("read") for item in fields}
    return _FIELDS[cls]


@functools.lru_cache(maxsize=1024)
def _whole(cls: type[Event], names: tuple[str, ...]) -> bool:
    """Whether an event of a kind has the fields with these names: all but those that it may lack, and no others."""
    fields = _logged(cls).keys()
    return fields - set(cls.may_lack) <= set(names) <= fields


@functools.cache
def _reads(cls: type[Event]) -> list[tuple[str, Callable[[Any], Any]]]:
    """The fields that are not read as they stand in the log, in the order of canonical JSON."""
    return sorted((name, read) for name, read in _logged(cls).items() if read is not None)


@functools.cache
def _names(cls: type[Event]) -> tuple[str, ...]:
    return tuple(item.name for item in dataclasses.fields(cls))


def _plain(value: Any) -> Any:
    cls = type(value)
    if cls in PLAIN:
        return value
    if cls is tuple:
        return [_plain(part) for part in value]
    if isinstance(value, tuple):  # a part with names
        return value._asdict()  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(cls):  # a part of an event, which is flat
        return {name: getattr(value, name) for name in cls.__dataclass_fields__}
    return value


def stamp(now: float) -> str:
    """A time of the clock as it stands in the log.

    Examples
    --------
    >>> stamp(0.25)
    '1970-01-01T00:00:00.250000+00:00'
    """
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds")


@functools.lru_cache(maxsize=1024)
def seconds(at: str) -> float:
    """A time of the log in seconds since 1970."""
    return datetime.fromisoformat(at).timestamp()
