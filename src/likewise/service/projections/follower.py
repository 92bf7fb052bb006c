"""Following the logs: summaries, samples of the live state, and reported pairs are kept up while the service runs.

Asked often, it costs only what is new. A log that is long and was never read, restored from a backup say, is read a
little at a time: neither the clock nor a page waits for all of it.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Connection, insert
from sqlalchemy.exc import IntegrityError

from likewise.protocol import Floats
from likewise.service.engine import Engine
from likewise.service.live.broken import BrokenStreams
from likewise.service.log.tables import samples
from likewise.service.projections import pairs, summaries
from likewise.service.projections.kept import forget, hash_of_rows, reading, replace, rows_of
from likewise.service.projections.pairs import Pairs, Standing
from likewise.service.refusals import AlteredRows, SequenceConflict
from likewise.service.stream.state import State
from likewise.service.stream.status import regret, violations_limit

log = logging.getLogger(__name__)
Result = TypeVar("Result")
A_TICK = 0.25
"""Seconds of a tick that reading on may take."""


class Follower:
    """Follows every stream of an engine.

    Parameters
    ----------
    engine
        Its streams are followed.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._seen: dict[str, int] | None = None
        self._pairs: dict[str, Pairs] = {}
        self._broken = BrokenStreams(away=engine.away)
        self._lock = threading.Lock()

    def __call__(self) -> None:
        """What the clock does every time it looks: read on, for a moment."""
        if self._seen is None:  # what was read before the service was started need not be looked at again
            self._seen = summaries.read_so_far(self._engine.store)
        for live in self._engine.streams.loaded():
            if live.durable.seq > self._seen.get(live.name, 0) and not live.elsewhere:
                self._broken.guard(live.name, lambda: self.follow(live.name, A_TICK))  # noqa: B023

    def follow(self, stream: str, seconds: float = math.inf) -> int:
        """Bring what is kept of a stream up to the head of its log; how many events are left when time is up."""
        until = time.monotonic() + seconds
        if not self._lock.acquire(timeout=seconds if math.isfinite(seconds) else -1):
            return summaries.behind(self._engine.store, stream)
        try:
            return self._follow(stream, until)
        except AlteredRows as error:
            self._begin_again(stream, error)
            return self._follow(stream, until)
        finally:
            self._lock.release()

    def checked(self, stream: str, look: Callable[[], Result]) -> Result:
        """What a look at what is kept of a stream finds; if somebody was at it, it is computed again from the log."""
        try:
            return look()
        except AlteredRows as error:
            with self._lock:
                self._begin_again(stream, error)
            self.follow(stream, A_TICK)
            return look()

    def _begin_again(self, stream: str, error: AlteredRows) -> None:
        log.error("%s", error)
        forget(self._engine.store, stream)
        self._pairs.pop(stream, None)
        if self._seen is not None:
            self._seen.pop(stream, None)

    def _follow(self, stream: str, until: float) -> int:
        # The state first: what is read then reaches at least as far.
        live = self._engine.streams.get(stream)
        live.current()
        state, head = live.durable[:2]
        if not summaries.read_on(self._engine, stream, until):
            return summaries.behind(self._engine.store, stream)
        while not (done := self._look(stream, state)) and time.monotonic() < until:
            pass
        if done and self._seen is not None:
            self._seen[stream] = head
        return 0

    def standing(self, stream: str) -> Standing | None:
        """How all reported pairs that were read stand today; None before anybody has looked."""
        reported, state = self._pairs.get(stream), self._engine.streams.get(stream).durable.state
        if reported is None or state.policy is None or not len(reported):
            return None
        with self._lock:
            return reported.standing(state)

    def _look(self, stream: str, state: State) -> bool:
        """Whether every reported pair was held against the current policy."""
        if state.learner is None:
            return True
        store = self._engine.store
        reported = self._pairs.setdefault(stream, Pairs(store, self._engine.reads, stream))
        if not reported.read_on(state):
            return False
        try:
            pairs.look(store, stream, reported, state)
            self._sample(stream, reported, state)
        except (SequenceConflict, IntegrityError):
            pass  # another process was faster
        return True

    def _sample(self, stream: str, reported: Pairs, state: State) -> None:
        """How things stand now, if it is time: after every round at first, then after every hundredth part of them."""
        store, learned = self._engine.store, state.totals.learned
        with reading(store, stream) as (connection, kept):
            before = rows_of(connection, samples, stream, kept.samples)
        if not due(learned, before[-1]["learned"] if before else 0):
            return
        row = {"stream": stream, "learned": learned} | sample(
            state, reported.under(state, np.arange(len(reported))), reported.then
        )
        after = kept._replace(samples=hash_of_rows(samples, [*before, row]))

        def write(connection: Connection) -> None:
            replace(connection, store, stream, kept, after)
            connection.execute(insert(samples), [row])

        store.write(write)


def due(learned: int, last: int) -> bool:
    """Whether it is time for a sample, so many rounds after the start, if the last one was taken then."""
    return learned >= last + max(1, learned // 100)


def sample(state: State, now: Floats, then: Floats) -> dict[str, Any]:
    """Regret and its limits, and all reported pairs: how far apart they are now, and were then."""
    limits = regret(state)
    promised, kept = limits["promised"], limits["observed"] is None
    stand = Standing.of(now, then, state.stream.settings.alpha)
    return {
        "regret": limits["observed"],
        "proved": limits["proved"],
        "promised": None if promised is None else promised["error_regret" if kept else "lagrangian_regret"],
        "violations": violations_limit(state),
        "pairs": stand.pairs,
        "closer": int(((now < then) & (now >= -state.stream.settings.alpha)).sum()),
        "within": stand.within,
    }
