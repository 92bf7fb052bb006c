"""Who was in which round of a stream, as this process knows it from the log and not from the index of the database.

It hears of every round that is opened and of every erasure, at the cost of a note; what the notes mean is worked out
when somebody is looked up, or by the clock. A thousand rounds at a time are kept in a table (``log.visits``). Rounds
that are in neither are ``unknown``: whoever looks somebody up reads them from the log first.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from likewise.service.log import Store
from likewise.service.log.append import STRETCH
from likewise.service.log.chain import Sealed
from likewise.service.log.visits import Kept, Visit, Visits, VisitTable, as_array, listed, tagged, together
from likewise.service.stream.events import Aside, PersonErased, RoundOpened

Asides = Sequence[Aside] | None
"""The people of a round; None if they have to be read."""


class PeopleIndex:
    """The index of one stream. Any thread may ask; its lock is held for a moment, and nothing is read meanwhile.

    Parameters
    ----------
    store
        Where thousands of rounds are kept.
    stream
        The name of the stream.
    """

    def __init__(self, store: Store, stream: str) -> None:
        self.table = VisitTable(store, stream)
        self.loaded = False
        """Whether what is kept in the table was read."""
        self.filled = 0
        """So many thousands of rounds are in the table."""
        self._lock = threading.Lock()
        self._heard: deque[tuple[int, Asides]] = deque()
        self._recent: dict[int, bytes] = {}
        """The visits of rounds that are in no thousand, or have changed since."""
        self._by_tag: dict[int, set[Visit]] = {}
        """The same by tag, once somebody was looked up."""
        self._thousands: dict[int, Visits] = {}
        self._together: Visits | None = None
        """All thousands as one array; None if that has to be made again."""
        self._changed: set[int] = set()
        """Rounds that count no more as they are in a thousand."""
        self._changes = 0
        self._known_to = 0
        self._read_since: dict[int, int] = {}
        """The event that was the last one when the first of the rounds of a thousand was read."""

    def hear(self, sealed: Sequence[Sealed]) -> None:
        """Some events were added. Called where nobody may wait, so it only takes notes."""
        for event in (each.event for each in sealed):
            if isinstance(event, RoundOpened):
                self._heard.append((event.t, event.asides if len(event.asides) == len(event.people) else None))
            elif isinstance(event, PersonErased):
                self._heard.extend((t, None) for t in event.rounds if t > 0)

    def forget(self) -> None:
        """Drop the notes: what was heard is heard again, as the log could not be read to its end."""
        self._heard.clear()

    def take(self, kept: Iterable[Kept]) -> None:
        """Know what the table holds."""
        with self._lock:
            for each in kept:
                self._thousands.setdefault(each.number, each.visits)
            self.loaded, self._together = True, None
            self._by_tag = {}
            for t in self._recent:
                self._note(t)

    def unknown(self, opened: int) -> list[int]:
        """The rounds among the first ``opened`` that have to be read."""
        with self._lock:
            self._take_in()
            missing = [t for t in range(self._known_to + 1, opened + 1) if not self._knows(t)]
            self._known_to = max(self._known_to, missing[0] - 1 if missing else opened)
            return missing

    def unknown_of(self, number: int) -> list[int]:
        """The rounds of one thousand that have to be read."""
        with self._lock:
            self._take_in()
            return [t for t in _rounds(number) if not self._knows(t)]

    def learn(self, rounds: Mapping[int, RoundOpened], since: int) -> None:
        """Know some rounds that were read once event ``since`` was there."""
        with self._lock:
            self._take_in()
            for t, event in rounds.items():
                self._forget(t)
                self._put(t, event.asides)
                number = (t - 1) // STRETCH
                self._read_since[number] = min(since, self._read_since.get(number, since))

    def visits(self, people: Iterable[str], opened: int) -> set[Visit]:
        """The visits of some people in the first ``opened`` rounds; later ones may never become durable.

        Somebody who was erased meanwhile may be among them.
        """
        tags = [self.table.tag(person) for person in people]
        with self._lock:
            self._take_in()
            if self._together is None:
                self._together = together(self._thousands.values())
            kept = {visit for visit in tagged(self._together, tags) if visit.round not in self._changed}
            kept.update(*(self._by_tag.get(tag, ()) for tag in tags))
        return {visit for visit in kept if visit.round <= opened}

    def keep(self, opened: int, seq: int, hash: str) -> None:
        """Write down thousands of rounds that are known, of a log that has opened so many rounds up to an event."""
        with self._lock:
            self._take_in()
            numbers = {(t - 1) // STRETCH for t in self._recent if t <= opened // STRETCH * STRETCH}
            ready = [(number, *self._made(number)) for number in sorted(numbers) if self._is_known(number)]
            changes = self._changes
        for number, visits, since in ready:
            saved = self.table.save(Kept(number, seq, hash, visits), min(seq, since))
            with self._lock:
                if not saved:
                    self._drop(number)
                elif changes == self._changes:
                    self._settle(number, visits)

    # With the lock held -------------------------------------------------------------------------------------------

    def _take_in(self) -> None:
        while self._heard:
            t, asides = self._heard.popleft()
            self._forget(t)
            if asides is None:
                self._changed.add(t)
                self._changes += 1
                self.filled = min(self.filled, (t - 1) // STRETCH)
            else:
                self._put(t, asides)

    def _forget(self, t: int) -> None:
        packed = self._recent.pop(t, b"")
        for visit in listed(as_array([packed])) if self.loaded else ():
            self._by_tag[visit.tag].discard(visit)
            if not self._by_tag[visit.tag]:
                del self._by_tag[visit.tag]
        self._known_to = min(self._known_to, max(0, t - 1))

    def _put(self, t: int, asides: Sequence[Aside]) -> None:
        self._recent[t] = self.table.packed(t, asides)
        if self.loaded:
            self._note(t)

    def _note(self, t: int) -> None:
        for visit in listed(as_array([self._recent[t]])):
            self._by_tag.setdefault(visit.tag, set()).add(visit)

    def _knows(self, t: int) -> bool:
        return t in self._recent or ((t - 1) // STRETCH in self._thousands and t not in self._changed)

    def _is_known(self, number: int) -> bool:
        return all(map(self._knows, _rounds(number)))

    def _made(self, number: int) -> tuple[Visits, int]:
        """The visits of a thousand rounds, and the event that was the last one when the first of them was read."""
        recent = as_array([self._recent[t] for t in _rounds(number) if t in self._recent])
        kept = self._thousands.get(number, as_array(()))
        stale = [t for t in _rounds(number) if t in self._recent or t in self._changed]
        kept = kept[~np.isin(kept["round"], stale)]
        return together([recent, kept]), self._read_since.get(number, 2**62)

    def _settle(self, number: int, visits: Visits) -> None:
        """A thousand rounds are in the table; they are held in memory only where somebody was looked up."""
        self._drop(number)
        self._changed.difference_update(_rounds(number))
        if self.loaded:
            self._thousands[number], self._together = visits, None

    def _drop(self, number: int) -> None:
        for t in _rounds(number):
            self._forget(t)
        self._read_since.pop(number, None)


def _rounds(number: int) -> range:
    return range(number * STRETCH + 1, (number + 1) * STRETCH + 1)
