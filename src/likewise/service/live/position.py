"""Position: a state and its place in the log. A stream has two: the latest, and the last one known to be on disk."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

from likewise.service.canonical import GENESIS
from likewise.service.live.timers import Timers
from likewise.service.log import Store
from likewise.service.log.chain import Sealed
from likewise.service.log.tree import grown
from likewise.service.refusals import BrokenLog
from likewise.service.stream.events import PersonErased
from likewise.service.stream.state import State
from likewise.transparency.merkle import Frontier

PAGE = 1000
"""Events read at once."""
RECENT = 6000
"""Events of this process that are kept for whoever reads along, until they were read: two seconds of a busy stream.

Whoever falls further behind has to read them from the database, and falls behind even more."""


class Position(NamedTuple):
    """A state, the number and hash of the event that led to it, and the Merkle tree up to there."""

    state: State
    seq: int
    hash: str
    tree: Frontier = Frontier()

    def then(self, sealed: Sequence[Sealed], state: State, tree: Frontier) -> Position:
        """The position after some events, which lead to ``state`` and ``tree``; the same one if there are none."""
        if not sealed:
            return self
        return Position(state, sealed[-1].seq, sealed[-1].hash, tree)

    def follow(self, sealed: Sequence[Sealed]) -> Position:
        """The position after some events, by evolving its state through them."""
        state = self.state
        for each in sealed:
            state = each.event.evolve(state)
        return self.then(sealed, state, grown(self.tree, sealed))


class Index(Protocol):
    """What hears of every event as it is added, perhaps before it is durable."""

    def hear(self, sealed: Sequence[Sealed]) -> None:
        """Take notes; nothing may be waited for."""

    def forget(self) -> None:
        """Drop the notes: nothing of what was heard counts."""


START = Position(State(), 0, GENESIS)


class Positions:
    """Where one stream stands.

    ``latest`` may be ahead of the disk by what is on its way there; ``durable`` never is. ``generation`` counts how
    often ``latest`` went back: whatever was decided in an earlier generation may rest on events that were lost.

    Guarded by the stream's lock, which the methods take themselves. The writer's thread must not wait for that one, so
    ``durable`` is set under a lock of its own. Reading any of the three takes no lock: each is replaced as a whole.
    """

    def __init__(
        self, name: str, store: Store, lock: threading.RLock, timers: Timers, indexes: Sequence[Index] = ()
    ) -> None:  # fmt: skip
        self.latest = START
        self.durable = START
        self.generation = 0
        self.written = 0
        """How often this process has moved it on."""
        self.cut = 0
        """The event that was on disk and is not any more; 0 as a rule."""
        self._name = name
        self._store = store
        self._lock = lock
        self._timers = timers
        self._indexes = indexes
        self._marking = threading.Lock()
        self._last: Future[Any] | None = None
        self._recent: deque[Sealed] = deque(maxlen=RECENT)

    def begin(self, position: Position) -> None:
        """Read the log from this position on; nobody sees the stream before that is done."""
        with self._lock:
            self.latest = position
            self._mark(position)
            for index in self._indexes:
                index.forget()  # what was heard at a start that failed
            try:
                self._read_on(seen=False)
            except BaseException:
                self.latest = position
                self._mark(position)
                raise

    def advance(self, after: Position, sealed: Sequence[Sealed], writing: Future[Any]) -> None:
        """Move on by events that were decided just now and are on disk once ``writing`` is done."""
        with self._lock:
            self._move(after, sealed)
            self._recent.extend(sealed)
            self.written += 1
            self._last = writing

    def landed(self, position: Position) -> None:
        """The events up to here are on disk. Saying so twice changes nothing."""
        with self._marking:
            if position.seq > self.durable.seq:
                self.durable = position

    def catch_up(self) -> bool:
        """Read what other processes wrote; whether there was anything."""
        with self._lock:
            before = self.latest.hash
            self._read_on()
            return self.latest.hash != before

    def take(self, after: int, limit: int) -> list[Sealed]:
        """Up to ``limit`` durable events after number ``after`` from memory, once; none if it doesn't hold the next."""
        with self._lock:
            recent, last = self._recent, min(after + limit, self.durable.seq)
            while recent and recent[0].seq <= after:
                recent.popleft()
            if not recent or recent[0].seq != after + 1:
                return []
            return [recent.popleft() for _ in range(min(len(recent), last - after))]

    def current(self) -> State:
        """The durable state, with what other processes wrote."""
        with self._lock:
            if self.latest.seq == self.durable.seq:
                self.catch_up()
            return self.durable.state

    def settle(self) -> None:
        """Wait until everything on its way is durable, or has failed."""
        with self._lock:
            last = self._last
        if last is not None and last.exception() is not None:
            with self._lock:
                # Whoever waited for it may not have noticed yet, or be gone.
                if self._last is last and self.latest.hash != self.durable.hash:
                    self._go_back()
                    self.catch_up()

    def undo(self, generation: int) -> None:
        """Go back, once, for everything in a generation that builds on events that were refused; then read on.

        If there is nothing to read, nobody else was faster, and the log itself may have been changed or cut off.
        """
        with self._lock:
            if generation == self.generation:
                self._go_back()
                if not self.catch_up():
                    self.require_there()

    def require_there(self) -> None:
        """Look whether the newest event that was durable is still in the log, and refuse to go on without it.

        It is looked up by its number: others may be ahead, and may have written after a gap.
        """
        known = self.durable
        there = known.seq == 0 or self._store.hashes(self._name, known.seq - 1, known.seq) == [known.hash]
        self.cut = 0 if there else known.seq
        self.require_uncut()

    def require_uncut(self) -> None:
        """Refuse to go on from a log that was found to be cut off, until somebody puts back what it had."""
        if self.cut:
            raise BrokenLog(
                f"Event {self.cut} of {self._name!r} was on disk and is not there any more: the log was changed or cut "
                "off while the service ran. Export it and run `likewise verify` for the details."
            )

    def _read_on(self, *, seen: bool = True) -> None:
        """Read to the end of the log, or nothing: who isn't there any more must have been erased by a later event.

        A stream that can be ``seen`` moves on only once that is known.
        """
        position, held, missing = self.latest, list[Sealed](), set[str]()
        while page := self._store.events(self._name, position.seq, PAGE, asides=True):
            ahead = position is self.latest and position.hash != self.durable.hash
            if ahead and page[0].prev != position.hash:
                self._go_back()
                position = self.latest
                continue
            _require_chain(position, page)
            position = position.follow(page)
            held += page
            _note_missing(missing, page)
            if not (missing and seen):
                self._move(position, held)
                self._recent.clear()  # between them stand events of others
                self._mark(position)
                held = []
            if len(page) < PAGE:
                break  # what others wrote meanwhile is for the next time: one would run after them for ever
        if missing:
            raise BrokenLog(
                f"What was kept under {min(missing)} in {self._name!r} is gone, but no event has erased it."
            )

    def _move(self, after: Position, sealed: Sequence[Sealed]) -> None:
        self.latest = after
        for index in self._indexes:
            index.hear(sealed)
        self._timers.changed(after.state, (each.event for each in sealed))

    def _go_back(self) -> None:
        """Forget what did not become durable."""
        self.generation += 1
        self.latest = self.durable
        self._recent.clear()

    def _mark(self, position: Position) -> None:
        with self._marking:
            self.durable = position


def _note_missing(missing: set[str], page: Sequence[Sealed]) -> None:
    """Note what events name that isn't there, until one of them erases it."""
    for event in (each.event for each in page):
        if len(refs := event.refs) > len(event.asides):
            missing.update(set(refs).difference([aside.ref for aside in event.asides]))
        if isinstance(event, PersonErased):
            missing.difference_update(event.erased)


def _require_chain(position: Position, page: Sequence[Sealed]) -> None:
    """Refuse to go on from a log that somebody has been at."""
    hash = position.hash
    for sealed in page:
        if sealed.prev != hash:
            raise BrokenLog(
                f"The log of {sealed.stream!r} is broken before event {sealed.seq}: it is not what was written. "
                "Export it and run `likewise verify` for the details."
            )
        hash = sealed.hash
