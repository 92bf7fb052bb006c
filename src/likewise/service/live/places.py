"""Which round each event of a stream is about, as this process knows it from the events and not from the database.

It hears of every event, at the cost of a note. The clock writes the notes down, a thousand at a time (``log.places``);
whoever looks at a round first reads from the log what is neither heard nor kept.
"""

from __future__ import annotations

import threading
from array import array
from collections import deque
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from likewise.service.log import Store
from likewise.service.log.chain import Sealed
from likewise.service.log.places import TOGETHER, Kept, Places, PlaceTable


class PlaceIndex:
    """The index of one stream. Any thread may ask; its lock is held for a moment, and nothing is read meanwhile.

    Parameters
    ----------
    store
        Where thousands of events are kept.
    stream
        The name of the stream.
    """

    def __init__(self, store: Store, stream: str) -> None:
        self.table = PlaceTable(store, stream)
        self.loaded = False
        """Whether what is kept in the table was read."""
        self.filled = 0
        """So many thousands of events are in the table."""
        self._lock = threading.Lock()
        self._heard: deque[tuple[int, int]] = deque()
        self._base: int | None = None
        self._recent = array("I")
        """What the events after number ``_base`` are about."""
        self._thousands: dict[int, Places] = {}
        self._together: Places | None = None

    def hear(self, sealed: Sequence[Sealed]) -> None:
        """Some events were added. Called where nobody may wait, so it only takes notes."""
        self._heard.extend([(each.seq, each.event.about or 0) for each in sealed])

    def forget(self) -> None:
        """Drop the notes: what was heard is heard again, as the log could not be read to its end."""
        self._heard.clear()

    def take(self, kept: Iterable[Kept]) -> None:
        """Know what the table holds."""
        with self._lock:
            for each in kept:
                self._thousands.setdefault(each.number, each.places)
            self.loaded, self._together = True, None

    def unknown(self, seq: int) -> list[range]:
        """The events up to ``seq`` that have to be read, those that belong together in one range each."""
        with self._lock:
            return self._unknown(self._take_in(seq))

    def learn(self, span: range, places: Places) -> None:
        """Know what the events of a range are about, which were read."""
        with self._lock:
            if len(span) == TOGETHER:
                self._thousands[span.start // TOGETHER], self._together = places, None
            elif self._base == span.stop - 1:
                self._base, self._recent = span.start - 1, array("I", places.tolist()) + self._recent

    def about(self, rounds: Collection[int], after: int, seq: int) -> set[int] | None:
        """The numbers of all events after ``after`` up to ``seq`` that are about some rounds.

        None if something has to be read first.
        """
        places = self._between(after, seq)
        return None if places is None else {after + 1 + int(place) for place in _where(places, rounds)}

    def last(self, rounds: Collection[int], seq: int) -> dict[int, int] | None:
        """The number of the last event up to ``seq`` about each of some rounds; None if something has to be read."""
        places = self._between(0, seq)
        return None if places is None else {int(places[place]): int(place) + 1 for place in _where(places, rounds)}

    def _between(self, after: int, seq: int) -> Places | None:
        """What the events after ``after`` up to ``seq`` are about."""
        with self._lock:
            base = self._take_in(seq)
            if self._unknown(base):
                return None
            if self._together is None:
                kept = [self._thousands[number] for number in range(base // TOGETHER)]
                self._together = np.concatenate([np.empty(0, np.uint32), *kept])
            recent = self._recent[max(0, after - base) : max(0, seq - base)]
            return np.concatenate([self._together[after:seq], np.array(recent, dtype=np.uint32)])

    def keep(self, seq: int) -> None:
        """Write down thousands of events, of those up to ``seq``, which are durable."""
        with self._lock:
            base = self._take_in(seq)
            start = -(-base // TOGETHER) * TOGETHER
            whole = (seq - start) // TOGETHER
            ready = [
                (start // TOGETHER + i, np.array(self._recent[at : at + TOGETHER], dtype=np.uint32))
                for i, at in enumerate(range(start - base, start - base + whole * TOGETHER, TOGETHER))
            ]
        for number, places in ready:
            self.table.save(number, places)
        with self._lock:
            if whole > 0 and self._base == base:
                self._base, self._recent = start + whole * TOGETHER, self._recent[start - base + whole * TOGETHER :]
                self._together = None
                if self.loaded:
                    self._thousands.update(ready)

    def _unknown(self, base: int) -> list[range]:
        missing = [number for number in range(base // TOGETHER) if number not in self._thousands]
        spans = [range(number * TOGETHER + 1, (number + 1) * TOGETHER + 1) for number in missing]
        return [*spans, range(base // TOGETHER * TOGETHER + 1, base + 1)] if base % TOGETHER else spans

    def _take_in(self, seq: int) -> int:
        """Work out the notes, with the lock held; after which event they begin."""
        while self._heard:
            place, t = self._heard.popleft()
            if self._base is None or not 0 <= place - 1 - self._base <= len(self._recent):
                self._base, self._recent = place - 1, array("I")
            del self._recent[place - 1 - self._base :]  # what was there did not become durable
            self._recent.append(t)
        if self._base is None:
            self._base = seq
        return self._base


def _where(places: Places, rounds: Collection[int]) -> NDArray[np.intp]:
    return np.flatnonzero(np.isin(places, list(rounds)))
