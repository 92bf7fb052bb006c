"""The live streams of a store, by name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from likewise.service.live.stream import LiveStream
from likewise.service.log import Store
from likewise.service.log.chain import NOTHING, Head
from likewise.service.refusals import BrokenLog, Unknown

LET_GO = 20
"""After so many looks at which another process had moved a stream on, and nobody asked here, it is let go of."""
MISSED = 10.0
"""Seconds for which a stream that was let go of may stand still until it is read again: its process may be gone."""
AWAY = 300.0
"""Seconds after which it is read again in any case: its process may not do what time makes due."""


class Away(NamedTuple):
    """A stream that was let go of: the last event that was seen, when that was new, and when it was let go of."""

    seq: int
    moved: float
    since: float


class Streams:
    """The live streams of a store, each read when it is first asked for.

    A lock of its own guards the names; nobody takes another one, or waits, while holding it.
    """

    def __init__(self, store: Store, check: Callable[[LiveStream], None] = lambda live: None) -> None:
        self._store = store
        self._check = check
        self._lock = threading.Lock()
        self._live: dict[str, LiveStream] = {}
        self._away: dict[str, Away] = {}

    def names(self) -> list[str]:
        """The streams there are."""
        return self._store.streams()

    def loaded(self) -> list[LiveStream]:
        """The streams that were asked for so far."""
        with self._lock:
            return [live for live in self._live.values() if live.loaded]

    def heads(self) -> dict[str, Head]:
        """The last event of every stream, as the log has it; no event of a stream that it has lost altogether."""
        heads = self._store.heads()
        lost = [live.name for live in self.loaded() if live.name not in heads and live.durable.seq > 0]
        lost += [name for name in self._away if name not in heads]
        return heads | dict.fromkeys(lost, NOTHING)

    def idle(self, name: str, head: Head, now: float) -> bool:
        """Whether a stream, whose last event is ``head``, waits for nothing."""
        live = self._live.get(name)
        return live is not None and live.idle(head, now)

    def watch(self, name: str, head: Head, now: float) -> bool:
        """Note who moves a stream on, whose last event is ``head``; whether that can be left to another process.

        A stream that another one moves on all the time, and that nobody asks this process about, is not read along:
        with many workers, each would spend its time on the streams of the others. Later it is let go of, and read
        again, from its newest snapshot, as soon as somebody asks, or if it stands still.
        """
        live = self._live.get(name)
        if live is None:
            return self._is_away(name, head, now)
        live.watch(head.seq, now)
        if live.alone >= LET_GO:
            with self._lock:
                if live.behind:  # nobody has asked meanwhile
                    self._away[name] = Away(head.seq, now, now)
                    self._live.pop(name, None)
        return live.behind

    def _is_away(self, name: str, head: Head, now: float) -> bool:
        with self._lock:
            away = self._away.get(name)
            if away is None:
                return False
            moves = head.seq > away.seq or (head.seq == away.seq and 0 <= now - away.moved < MISSED)
            if not moves or not 0 <= now - away.since < AWAY:
                return False
            if head.seq > away.seq:
                self._away[name] = away._replace(seq=head.seq, moved=now)
            return True

    def known(self, name: str) -> LiveStream | None:
        """A stream that was read before; None says nothing about whether there is one."""
        live = self._live.get(name)
        if live is None or not live.loaded or live.latest.seq == 0 or live.behind:
            return None
        live.asked()
        return live

    def get(self, name: str, *, create: bool = False) -> LiveStream:
        """A stream that somebody asks about, read up to the head of its log; a new one only if ``create``."""
        live = self.read(name, create=create)
        live.asked()
        return live

    def read(self, name: str, *, create: bool = False) -> LiveStream:
        """The same for the clock, which looks at every stream, whether or not somebody asks."""
        with self._lock:
            away, live = self._away.get(name), self._live.get(name)
            if live is None:
                live = self._live[name] = LiveStream(name, self._store, self._check)
        live.load()
        if away is not None:
            self._come_back(live, away)
        if not create and live.latest.seq == 0 and not live.positions.catch_up():
            with self._lock:
                self._live.pop(name, None)
            raise Unknown(f"There is no stream named {name!r}.")
        return live

    def _come_back(self, live: LiveStream, away: Away) -> None:
        """Refuse a stream whose log was longer when this process let go of it."""
        if live.latest.seq < away.seq:
            live.positions.cut = away.seq
        try:
            live.positions.require_uncut()
        except BrokenLog:
            with self._lock:
                self._live.pop(live.name, None)
            raise
        with self._lock:
            self._away.pop(live.name, None)
