"""Reads that lead to a claim, a screen or a decision: each is held against what the service knows by itself.

Whoever has the database could change an event or a person for a moment and put it back. So every event is hashed again
when it is read (``store``), must be the one in the Merkle tree in memory, and every person must be the one that their
event committed to. What doesn't agree is refused, and nothing is shown, decided or certified from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement

from likewise.service.live.stream import LiveStream
from likewise.service.live.streams import Streams
from likewise.service.log import Store
from likewise.service.log.append import STRETCH, chunks
from likewise.service.log.chain import Sealed
from likewise.service.log.places import TOGETHER, places_of
from likewise.service.log.visits import Kept, Visit
from likewise.service.refusals import BrokenLog, Unknown
from likewise.service.stream.events import Aside, Event, PersonErased, RoundOpened, Stopped, StreamCreated
from likewise.service.stream.events.event import RoundEvent
from likewise.service.stream.readers import past_round
from likewise.service.stream.state import OpenRound, State


class Remarks(NamedTuple):
    """What auditors said about some rounds and is still there, as the events up to number ``seq`` promise it."""

    seq: int = 0
    by_round: Mapping[int, Sequence[Aside]] = {}

    @property
    def asides(self) -> list[Aside]:
        """All of them, round by round."""
        return [aside for t in sorted(self.by_round) for aside in self.by_round[t]]


UNREAD = Remarks()


class VerifiedReads:
    """What the engine reads of its streams.

    Parameters
    ----------
    store, streams
        Where the logs are, and what is known of them.
    """

    def __init__(self, store: Store, streams: Streams) -> None:
        self._store = store
        self._streams = streams
        self.secrets: dict[str, bytes] = {}

    def require(self, stream: str, sealed: Sequence[Sealed]) -> None:
        """Refuse events that are not those that were written."""
        self._streams.get(stream).require(sealed)

    def require_whole(self, stream: str, sealed: Sequence[Sealed], of: type[Event] = RoundEvent) -> None:
        """The same of events that were read with their people: whoever is missing must have been erased."""
        self.require(stream, sealed)
        missing = {ref for each in sealed if isinstance(each.event, of) for ref in each.event.refs}
        missing -= {aside.ref for each in sealed for aside in each.event.asides}
        self.require_erased(stream, missing - _erased(sealed))

    def require_erased(self, stream: str, missing: Collection[str]) -> None:
        """Refuse to go on without what was kept under some references, unless events have erased it."""
        if not missing:
            return
        erasures = self._store.erasures_of(stream, missing)
        self.require(stream, erasures)
        if gone := set(missing) - _erased(erasures):
            raise BrokenLog(f"What was kept under {min(gone)} in {stream!r} is gone, but no event has erased it.")

    def events_of(self, stream: str, t: int) -> list[RoundEvent]:
        """Everything that happened to a round, with its people as far as they are still there."""
        seq = self.place(stream)
        sealed = self._store.events(stream, round=t, asides=True)
        self._require_all(stream, [t], sealed, seq)
        self.require_whole(stream, sealed)
        return self._whole(stream, t, sealed) if sealed else []

    def _require_all(self, stream: str, rounds: Sequence[int], sealed: Sequence[Sealed], seq: int) -> None:
        """Refuse to go on if an event up to ``seq`` about some rounds is filed elsewhere."""
        opened = [each.seq for each in sealed if isinstance(each.event, RoundOpened)]
        after = min(opened) - 1 if len(opened) == len(rounds) else 0  # nothing is about a round before it is opened
        if missing := self._about(stream, rounds, after, seq).difference(each.seq for each in sealed):
            raise BrokenLog(
                f"Event {min(missing)} of {stream!r} is not filed under its round: somebody changed the database."
            )

    def last_events(self, stream: str, rounds: Collection[int]) -> dict[int, int]:
        """The number of the last event about each of some rounds."""
        seq = self.place(stream)
        while (last := self._streams.get(stream).places.last(rounds, seq)) is None:
            self.place(stream)
        return last

    def _about(self, stream: str, rounds: Collection[int], after: int, seq: int) -> set[int]:
        """The numbers of all events after ``after`` up to ``seq`` that are about some rounds."""
        places = self._streams.get(stream).places
        while (about := places.about(rounds, after, seq)) is None:  # the clock has just put some aside
            self.place(stream)
        return about

    def place(self, stream: str) -> int:
        """Know which round every event is about that is durable now, and return the number of the last one."""
        live = self._streams.get(stream)
        seq = live.durable.seq
        if not live.places.loaded:
            kept = live.places.table.load() if seq >= TOGETHER else []
            hashes = self._hashes(stream, [each.last for each in kept])
            live.places.take(each for each in kept if hashes.get(each.last) == each.hash)
        for span in live.places.unknown(seq):
            live.places.learn(span, places_of(self.in_a_row(stream, span.start - 1, len(span))))
        return seq

    def _whole(self, stream: str, t: int, sealed: Sequence[Sealed]) -> list[RoundEvent]:
        """The events of a round, which begin with the one that opened it."""
        if not sealed or not isinstance(sealed[0].event, RoundOpened):
            raise BrokenLog(f"The event that opened round {t} of {stream!r} is not where it was filed.")
        return [each.event for each in sealed if isinstance(each.event, RoundEvent)]

    def by_round(self, stream: str, numbers: Sequence[int]) -> Iterator[list[RoundEvent]]:
        """The same of several rounds, one after another."""
        for some in chunks(numbers):
            seq = self.place(stream)
            rounds = dict(self._store.by_round(stream, some))
            every = [each for sealed in rounds.values() for each in sealed]
            self._require_all(stream, some, every, seq)
            self.require_whole(stream, every)
            yield from [self._whole(stream, t, sealed) for t, sealed in rounds.items()]

    def in_a_row(self, stream: str, after: int, limit: int, *, asides: bool = False) -> list[Sealed]:
        """Up to ``limit`` events after number ``after``, none left out; with those people who are there if asked."""
        last = min(after + limit, self._streams.get(stream).durable.seq)
        sealed = self._store.events(stream, after, limit, asides=asides)
        self.require(stream, sealed)
        if [each.seq for each in sealed[: max(0, last - after)]] != list(range(after + 1, last + 1)):
            raise BrokenLog(f"An event of {stream!r} after number {after} is gone.")
        return sealed

    def read_on(self, stream: str, after: int, limit: int) -> list[Sealed]:
        """The same for whoever reads along: what this process wrote itself need not be read from the database."""
        return self._streams.get(stream).positions.take(after, limit) or self.in_a_row(stream, after, limit)

    def newest(self, stream: str, limit: int, *conditions: ColumnElement[bool]) -> list[Sealed]:
        """The last events that meet all of some conditions, the newest first."""
        sealed = self._store.newest(stream, limit, *conditions)
        self.require(stream, sealed)
        return sealed

    def opened(self, stream: str, numbers: Sequence[int]) -> dict[int, RoundOpened]:
        """What opened some rounds, by their numbers, with the people who are still there."""
        sealed = self._store.opened(stream, numbers)
        self.require_whole(stream, sealed)
        opened = {each.event.t: each.event for each in sealed if isinstance(each.event, RoundOpened)}
        if len(opened) != len(set(numbers)):
            gone = min(set(numbers) - set(opened))
            raise BrokenLog(f"The event that opened round {gone} of {stream!r} is not where it was filed.")
        return opened

    def people_of(self, stream: str, t: int) -> list[Aside]:
        """The people of a round who are still there."""
        sealed = self._store.events(stream, round=t, kind=RoundOpened.kind, asides=True)
        self.require_whole(stream, sealed)
        self._whole(stream, t, sealed)
        return [aside for each in sealed for aside in each.event.asides]

    def contents_of(self, stream: str, t: int) -> dict[str, Any]:
        """Id and features of the people of a round, by their references."""
        return {aside.ref: aside.content for aside in self.people_of(stream, t)}

    def past(self, live: LiveStream, state: State, t: int) -> OpenRound | None:
        """A round that has left the state, as its events tell it; None if it is there, or never was."""
        if t in state.rounds or not 1 <= t <= state.opened:
            return None
        live.positions.settle()
        return past_round(self.events_of(live.name, t), state)

    def remarks(self, live: LiveStream, rounds: Collection[int], known: Remarks = UNREAD) -> Remarks:
        """What auditors said about some rounds; what is ``known`` is read again only where it has changed."""
        stream, seq = live.name, self.place(live.name)
        same = {t for t in rounds if t in known.by_round}
        if self._about(stream, same, known.seq, seq):
            same = {t for t in same if not self._about(stream, [t], known.seq, seq)}
        there = {aside.ref for aside in self._store.remarks(stream, sorted(same))}
        same = {t for t in same if all(aside.ref in there for aside in known.by_round[t])}  # else it was erased since
        again = sorted(set(rounds) - same)
        said = {
            t: [aside for event in events for aside in event.asides if aside.kind == "remark"]
            for t, events in zip(again, self.by_round(stream, again), strict=True)
        }
        return Remarks(seq, said | {t: known.by_round[t] for t in same})

    def reasons(self, live: LiveStream) -> list[Aside]:
        """Why a stream was stopped, each time, as far as that is still there."""
        sealed = self._store.events(live.name, kind=Stopped.kind, asides=True)
        self.require_whole(live.name, sealed, Stopped)
        return [aside for each in sealed for aside in each.event.asides]

    def require_filed(self, live: LiveStream, asides: Sequence[Aside]) -> None:
        """Refuse what no event about the round under which it is filed promises."""
        events = [
            each for some in self.by_round(live.name, sorted({aside.t for aside in asides} - {0})) for each in some
        ]
        promised = {(each.t, ref) for each in events for ref in each.promised}
        promised |= {(0, aside.ref) for aside in self.reasons(live)} if any(aside.t == 0 for aside in asides) else set()
        for aside in asides:
            if (aside.t, aside.ref) not in promised:
                raise BrokenLog(f"What is kept under {aside.ref} in {live.name!r} is filed under another round.")

    def asides_of(self, live: LiveStream, people: Sequence[str]) -> list[Aside]:
        """Everything that is kept about some people, the oldest first: nothing left out, nothing filed elsewhere."""
        opened = self.know(live)
        for _ in range(2):  # somebody may have been erased between two looks
            asides = self._store.asides_of_people(live.name, people)
            if self._are_all(live, people, asides, live.people.visits(people, opened)):
                return asides
        raise BrokenLog(f"Somebody in {live.name!r} is filed under another id: somebody changed the database.")

    def _are_all(
        self, live: LiveStream, people: Sequence[str], asides: Sequence[Aside], visits: Collection[Visit]
    ) -> bool:
        """Whether these asides are those of the index; where they aren't, the log says who was in a round."""
        filed = {(aside.t, aside.ref) for aside in asides}
        odd = filed ^ {(visit.round, visit.ref.hex()) for visit in visits}
        if not odd:
            return True
        read = self._read(live, sorted({t for t, _ in odd}))
        true = {(t, each.ref) for t, event in read.items() for each in event.asides if each.person in people}
        return true == {(t, ref) for t, ref in filed if t in read}

    def know(self, live: LiveStream) -> int:
        """Know who was in which round of a stream, and of how many rounds; what isn't kept is read from the log."""
        opened = live.durable.state.opened
        if not live.people.loaded:
            live.people.take(self._genuine(live, live.people.table.load() if opened >= STRETCH else []))
        for some in chunks(live.people.unknown(opened)):
            self._read(live, some)
        return opened

    def prepare_places(self, live: LiveStream) -> None:
        """Keep the first thousand events of the other index that are not kept yet."""
        places, whole = live.places, live.durable.seq // TOGETHER
        if whole <= places.filled:
            return
        kept = places.table.numbers()
        number = next((number for number in range(places.filled, whole) if number not in kept), whole)
        if number < whole:
            places.table.save(number, places_of(self.in_a_row(live.name, number * TOGETHER, TOGETHER)))
        places.filled = min(whole, number + 1)

    def prepare(self, live: LiveStream) -> None:
        """Keep the first thousand rounds of the index that are not kept yet, so that nobody has to wait for them."""
        opened, (seq, hash) = live.durable.state.opened, live.durable[1:3]
        whole = opened // STRETCH
        if whole <= live.people.filled:
            return
        kept = live.people.table.numbers()
        number = next((number for number in range(live.people.filled, whole) if number not in kept), whole)
        for some in chunks(live.people.unknown_of(number) if number < whole else []):
            self._read(live, some)
        live.people.keep(opened, seq, hash)
        live.people.filled = min(whole, number + 1)

    def _read(self, live: LiveStream, rounds: Sequence[int]) -> dict[int, RoundOpened]:
        since = live.durable.seq
        opened = self.opened(live.name, rounds)
        live.people.learn(opened, since)
        return opened

    def _genuine(self, live: LiveStream, kept: Sequence[Kept]) -> list[Kept]:
        """What was kept of this very log, and not of one that was put aside for a backup."""
        hashes = self._hashes(live.name, [each.seq for each in kept])
        return [each for each in kept if hashes.get(each.seq) == each.hash]

    def _hashes(self, stream: str, numbers: Sequence[int]) -> dict[int, str]:
        """The hashes of some events of the log."""
        sealed = self._store.numbered(stream, numbers)
        self.require(stream, sealed)
        return {each.seq: each.hash for each in sealed}

    def record(self, live: LiveStream, ids: Sequence[str]) -> dict[str, tuple[float, int]]:
        """The first decision of people who already had one, by id."""
        live.positions.settle()  # somebody may be on their way to the disk
        record: dict[str, tuple[float, int]] = {}
        for aside in self.asides_of(live, ids):
            if aside.person is not None and aside.person not in record:
                record[aside.person] = self._first(live.name, aside)
        return record

    def _first(self, stream: str, aside: Aside) -> tuple[float, int]:
        sealed = self._store.events(stream, round=aside.t, kind=RoundOpened.kind)
        self.require(stream, sealed)
        for event in (each.event for each in sealed):
            for person in event.people if isinstance(event, RoundOpened) else ():
                if person.ref == aside.ref and person.commitment == aside.commitment:
                    return person.probability, person.decision
        raise BrokenLog(f"What is kept under {aside.ref} in {stream!r} is not what its round committed to.")

    def secret(self, stream: str) -> bytes:
        """What the decisions of a stream are derived from, and its first event commits to."""
        if stream not in self.secrets:
            secret = self._store.secret(stream)
            if secret is None:
                raise Unknown(f"There is no stream named {stream!r}.")
            sealed = self._store.events(stream, 0, 1)
            self.require(stream, sealed)
            created = sealed[0].event
            assert isinstance(created, StreamCreated), "the first event of a log creates its stream"
            if hashlib.sha256(secret).hexdigest() != created.secret:
                raise BrokenLog(f"The secret behind the decisions of {stream!r} is not the one its log commits to.")
            self.secrets[stream] = secret
        return self.secrets[stream]


def _erased(sealed: Sequence[Sealed]) -> set[str]:
    """What some events have erased."""
    return {ref for each in sealed if isinstance(each.event, PersonErased) for ref in each.event.erased}
