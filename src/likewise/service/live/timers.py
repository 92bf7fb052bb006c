"""Timers: when will time alone change a round? An audit or a label expires, or a verdict becomes final."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable

from likewise.service.stream.events import Event, SettingsChanged
from likewise.service.stream.state import State


class Timers:
    """The open rounds of one stream, the one that is due next in front.

    Guarded by the stream's lock, which the caller holds.

    Every open round has an entry at the time at which it is due, and may have older ones from before it changed; so
    whoever takes an entry out looks at the round. To look again is to go through all rounds at the next question.
    """

    def __init__(self) -> None:
        self._entries: list[tuple[float, int]] = []
        self._look_again = True

    def look_again(self) -> None:
        """Forget every entry: something that was due, or taken for done, did not become durable.

        A conflict with another process is no reason: the command is decided again, and that is noted.
        """
        self._look_again = True
        self._entries = []

    def changed(self, state: State, events: Iterable[Event]) -> None:
        """``events`` have led to ``state``: note when the rounds that they are about are due now."""
        if self._look_again:
            return
        touched: set[int] = set()
        for event in events:
            if isinstance(event, SettingsChanged):  # how long every round waits
                self.look_again()
                return
            touched.update(event.touches)
        for t in touched:
            self._note(state, t)

    def next(self) -> float:
        """When something may be due: seconds, the past if that has to be looked up first. Takes no lock."""
        entries = self._entries
        if self._look_again:
            return -math.inf
        return entries[0][0] if entries else math.inf

    def overdue(self, state: State, now: float) -> float:
        """For how many seconds the round that is due first has been due; 0 if none is. Takes no lock."""
        # After a write that failed the entries are gone until the next look, and just then somebody asks.
        first = self.next() if not self._look_again else min((_due(state, t) for t in state.rounds), default=math.inf)
        return max(0.0, now - first)

    def due(self, state: State, now: float) -> list[int]:
        """Take out the rounds that time has changed something about, those due first in front."""
        if self._look_again:
            self._look_again = False
            for t in state.rounds:
                self._note(state, t)
        rounds: dict[int, None] = {}
        while self._entries and self._entries[0][0] <= now:
            _, t = heapq.heappop(self._entries)
            if _due(state, t) <= now:
                rounds[t] = None
        return list(rounds)

    def _note(self, state: State, t: int) -> None:
        if math.isfinite(due := _due(state, t)):
            heapq.heappush(self._entries, (due, t))


def _due(state: State, t: int) -> float:
    """When time alone changes a round; never if it is closed."""
    round_ = state.rounds.get(t)
    return math.inf if round_ is None else round_.due(state.waits)
