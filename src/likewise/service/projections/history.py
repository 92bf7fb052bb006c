"""What happened before anybody looked: the learner is run again over a log that was not followed from its start.

The log of a restored database, say, tells every round but neither the regret along the way nor the gaps of reported
pairs under the policies of then. Running the learner again gives both, up to the first look of
:mod:`likewise.service.projections.follower`, to whose counts these are added.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, insert, select

from likewise.protocol import Floats, Rows
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.tables import gaps, helped, samples
from likewise.service.projections import pairs
from likewise.service.projections.follower import due, sample
from likewise.service.projections.kept import hash_of_rows, reading, replace, rows_of
from likewise.service.refusals import SequenceConflict
from likewise.service.stream.events import Event, Learned
from likewise.service.stream.state import OpenRound, Pair, State

PAGE = 1000
"""Events read at once."""


def first_look(store: Store, stream: str) -> int:
    """After how many rounds the stream was first looked at; 0 if it was not yet."""
    with store.read() as connection:
        return int(connection.scalar(select(func.min(samples.c.learned)).where(samples.c.stream == stream)) or 0)


def fill_in(engine: Engine, stream: str, progress: Callable[[float], None]) -> int:
    """Fill in the rounds before the first look; how many there were."""
    store, reads = engine.store, engine.reads
    first = first_look(store, stream)
    past = Past(stream, first)
    state, after, missing = State(), 0, set[str]()
    while state.totals.learned < first - 1:
        page = reads.in_a_row(stream, after, PAGE, asides=True)
        for event in (sealed.event for sealed in page):
            missing.update(set(event.refs).difference([aside.ref for aside in event.asides]))
            if state.totals.learned >= first - 1:
                break
            learned = past.before(state, event)
            state = event.evolve(state)
            if learned:
                past.look(state)
        after = page[-1].seq
        progress(state.totals.learned / first)
    reads.require_erased(stream, missing)
    while not past.keep(store):
        pass  # somebody looked at that very moment
    return max(0, first - 1)


class Past:
    """Samples and looks at policies before the first one.

    Parameters
    ----------
    stream, first
        The stream, and after how many rounds it was first looked at.
    """

    def __init__(self, stream: str, first: int) -> None:
        self._stream, self._first = stream, first
        self._rounds: list[int] = []
        self._learned: list[int] = []
        self._rows: list[Rows] = []
        self._then: list[float] = []
        self._due: defaultdict[int, list[int]] = defaultdict(list)
        self._counts: Counter[tuple[int, int]] = Counter()
        self._samples: list[dict[str, Any]] = []
        self._lines: list[dict[str, Any]] = []

    def before(self, state: State, event: Event) -> bool:
        """Take up the pair of a round that is about to be learned; whether one is."""
        if not isinstance(event, Learned):
            return False
        round_ = event.round(state)
        for pair in round_.verdict.pairs[:1] if round_.verdict is not None else ():
            if round_.lost.isdisjoint(pair.positions) and round_.erased.isdisjoint(pair.positions):
                self._take(round_, pair, event.version)
        return True

    def _take(self, round_: OpenRound, pair: Pair, version: int) -> None:
        number = len(self._rounds)
        self._rounds.append(round_.t)
        self._learned.append(version)
        self._rows.append(round_.rows[list(pair.positions)])
        self._then.append(pair.gap)
        # The last age that it had reached at the first look was counted there.
        reached = int(pairs.step(self._first - version + 1))
        for age in pairs.AGES[1:reached].tolist():
            self._due[version + age - 1].append(number)

    def look(self, state: State) -> None:
        """Hold pairs whose time has come against a policy, and take a sample if it is time for one."""
        now = state.totals.learned
        numbers = self._due.pop(now, [])
        if state.learner is None or state.policy is None:
            return  # somebody was erased since, and the log can't tell what the learner knew here
        for number, gap in zip(numbers, self._under(state, numbers).tolist(), strict=True):
            self._counts[now - self._learned[number] + 1, pairs.bins(np.array([gap]))[0]] += 1
            self._lines.append({"stream": self._stream, "learned": now, "round": self._rounds[number], "gap": gap})
        if len(self._rounds) > pairs.LINES:
            self._lines.clear()  # so many are drawn together
        if due(now, self._samples[-1]["learned"] if self._samples else 0):
            everybody = self._under(state, list(range(len(self._rounds))))
            row = sample(state, everybody, np.array(self._then))
            self._samples.append({"stream": self._stream, "learned": now} | row)

    def _under(self, state: State, numbers: list[int]) -> Floats:
        if not numbers:
            return np.empty(0)
        assert state.policy is not None
        probabilities = state.stream.probabilities(
            state.policy, np.concatenate([self._rows[number] for number in numbers])
        )
        gaps_now: Floats = probabilities[::2] - probabilities[1::2]
        return gaps_now

    def keep(self, store: Store) -> bool:
        """Add everything to what is kept, unless another process did; whether nobody else wrote meanwhile."""
        with reading(store, self._stream) as (connection, kept):
            rows = {table: rows_of(connection, table, self._stream, hash) for table, hash in (
                (samples, kept.samples), (gaps, kept.gaps), (helped, kept.helped))}  # fmt: skip
        if self._first <= 1 or min((row["learned"] for row in rows[samples]), default=0) != self._first:
            return True
        after = kept._replace(
            samples=hash_of_rows(samples, rows[samples] + self._samples),
            gaps=hash_of_rows(gaps, rows[gaps] + self._lines),
            helped=pairs.counted_hash(rows[helped], self._counts),
        )

        def write(connection: Connection) -> None:
            replace(connection, store, self._stream, kept, after)
            pairs.add(connection, self._stream, self._counts)
            for table, more in ((samples, self._samples), (gaps, self._lines)):
                if more:
                    connection.execute(insert(table), more)

        try:
            store.write(write)
        except SequenceConflict:
            return False
        return True
