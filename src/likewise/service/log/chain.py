"""The chain: an event in its place in the log, numbered, with the hash of the one before it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from likewise.service.canonical import GENESIS
from likewise.service.refusals import BrokenLog
from likewise.service.stream.events import Aside, Event, read_event
from likewise.service.stream.events.event import VERSION


class Head(NamedTuple):
    """The number and hash of the last event of a log; ``NOTHING`` if there is none."""

    seq: int
    hash: str


NOTHING = Head(0, GENESIS)


class Sealed(NamedTuple):
    """An event in its place in the log: numbered, and chained to the one before."""

    stream: str
    seq: int
    prev: str
    hash: str
    event: Event

    def line(self) -> dict[str, Any]:
        """Its place, kind and time, and its hash: all but what it says."""
        return _line(self.stream, self.seq, self.prev, self.event) | {"hash": self.hash}

    def to_dict(self) -> dict[str, Any]:
        """The event as it is hashed and exported."""
        return self.line() | {"data": self.event.data()}

    def beside(self, asides: Mapping[str, Aside], promised: Mapping[str, str] | None = None) -> Sealed:
        """The same with what it commits to, as far as that is still there; ``promised`` if others committed to it.

        What isn't that, or is filed as something else or under another round, is refused.
        """
        shown = tuple(asides[ref] for ref in self.event.refs if ref in asides)
        own, named, t = self.event.promised, self.event.names, self.event.about or 0
        known = own if promised is None else promised
        for aside in shown:
            if (known or promised is not None) and known.get(aside.ref) != aside.commitment:
                raise BrokenLog(
                    f"What is kept under {aside.ref} in {self.stream!r} is not what event {self.seq} committed to."
                )
            if aside.kind != named or (aside.ref in own and aside.t != t):
                raise BrokenLog(
                    f"What is kept under {aside.ref} in {self.stream!r} is filed as a {aside.kind} of round {aside.t}, "
                    f"but it belongs to event {self.seq}: somebody changed the database."
                )
        return self._replace(event=self.event.knowing({"asides": shown})) if shown else self


def seal(stream: str, seq: int, prev: str, events: Sequence[Event]) -> list[Sealed]:
    """Put events into the log after event ``seq``, whose hash is ``prev``.

    Examples
    --------
    >>> from likewise.service.canonical import GENESIS
    >>> from likewise.service.stream.events import Resumed, Stopped, stamp
    >>> events = [Stopped(at=stamp(0), reason="lunch", by="ann"), Resumed(at=stamp(1), by="ann")]
    >>> one, two = seal("loans", 0, GENESIS, events)
    >>> (one.seq, two.seq, two.prev == one.hash)
    (1, 2, True)
    """
    chained = []
    for event in events:
        seq += 1
        sealed = Sealed(stream, seq, prev, hash_of(stream, seq, prev, event.kind, event.at, event.hashed_text), event)
        chained.append(sealed)
        prev = sealed.hash
    return chained


def unsealed(line: Mapping[str, Any]) -> Sealed:
    """An exported event again, without its asides."""
    event = read_event(line["kind"], line["data"], line["at"])
    return Sealed(line["stream"], line["seq"], line["prev"], line["hash"], event)


def _line(stream: str, seq: int, prev: str, event: Event) -> dict[str, Any]:
    return {
        "stream": stream,
        "seq": seq,
        "prev": prev,
        "kind": event.kind,
        "version": VERSION,
        "at": event.at,
    }


def hash_of(stream: str, seq: int, prev: str, kind: str, at: str, hashed: str, version: int = VERSION) -> str:
    """``event_hash`` of an event whose data are spelt already, as they are hashed.

    The other texts are the service's own and need no escapes; one that does is refused, as it could stand for another.
    """
    texts = stream + prev + kind + at
    if '"' in texts or "\\" in texts:
        raise BrokenLog(f"Event {seq} of a log holds a text that no event has.")
    line = f'"kind":"{kind}","prev":"{prev}","seq":{seq},"stream":"{stream}","version":{version}'
    return hashlib.sha256(f'{{"at":"{at}","data":{hashed},{line}}}'.encode()).hexdigest()
