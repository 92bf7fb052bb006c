"""Did the report help? Every reported pair, held against the policies that came after it.

A pair is looked at when its report is learned and then ever more rarely: after 1, 2, 3 … 10, 13, 16 … rounds, ten times
for each tenfold (:data:`AGES`). What is kept of all pairs together are counts, how many had which gap at which age,
to which a look adds; so neither a look nor a picture costs more the longer a stream runs, but for the pairs themselves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, insert, select, update

from likewise.protocol import Floats, Rows
from likewise.service.live.verified import VerifiedReads
from likewise.service.log import Store
from likewise.service.log.tables import events, gaps, helped, summaries
from likewise.service.projections.kept import hash_of_rows, reading, replace, rows_of
from likewise.service.projections.sheets import altered
from likewise.service.projections.summaries import checked, of_rounds
from likewise.service.stream.state import State

AGES = np.array([0, *sorted({round(10 ** (i / 10)) for i in range(81)})])
"""Rounds learned since the report at which a pair is looked at, 0 for the report itself."""
BINS = 200
"""Gaps from -1 to 1 are counted in so many bins."""
AT_ONCE = 150
"""Pairs read at once."""
LINES = 60
"""Pairs that are drawn one by one; where there are more, all of them together."""
Whole = NDArray[np.int64]


class Standing(NamedTuple):
    """How all reported pairs stand under a policy: within α, closer than when reported, no closer, or the other way.

    A pair whose sign has flipped, so that the other person is ahead by more than α, is a new gap and not closer.

    Examples
    --------
    >>> Standing.of(np.array([0.05, 0.2, 0.5, -0.3, -0.05]), np.full(5, 0.4), 0.1)
    Standing(pairs=5, within=2, closer=1, wider=1, flipped=1)
    """

    pairs: int
    within: int
    closer: int
    wider: int
    flipped: int

    @classmethod
    def of(cls, now: Floats, then: Floats, alpha: float) -> Standing:
        """From the gaps of now and of then, the favoured person first."""
        within, flipped = np.abs(now) <= alpha, now < -alpha
        closer = ~within & ~flipped & (now < then)
        counts = (int(each.sum()) for each in (within, closer, ~within & ~flipped & ~closer, flipped))
        return cls(len(now), *counts)


class Pairs:
    """The reported pairs of a stream as its class sees people, read from the store as they come.

    Attributes
    ----------
    rounds, learned
        The round of each, and the number of the first policy that knew of its report.
    then
        How far apart the two were when they were reported.
    """

    def __init__(self, store: Store, reads: VerifiedReads, stream: str) -> None:
        self._store, self._reads, self._stream = store, reads, stream
        self._forget(0)

    def _forget(self, erased: int) -> None:
        self.rounds = self.learned = np.empty(0, dtype=np.int64)
        self.then: Floats = np.empty(0)
        self._rows: Rows | None = None
        self._read, self._erased = 0, erased

    def __len__(self) -> int:
        return len(self.rounds)

    def read_on(self, state: State) -> bool:
        """Take up some of the pairs that were learned meanwhile; whether those were all.

        If somebody was erased, all are read again, without them.
        """
        if state.totals.erased != self._erased:
            self._forget(state.totals.erased)
        last = min(self._read + AT_ONCE, state.totals.learned)
        rows = self._learned(last)
        reported = [row for row in rows if row.verdict == "reported"]
        if reported:
            corrected = _corrected(self._store, self._stream, [row.round for row in reported])
            self._take(state, [row for row in reported if row.round not in corrected])
        self._read = last
        return last == state.totals.learned

    def _learned(self, last: int) -> list[Any]:
        """The rounds that were learned since, up to that one, in this order; none of them is left out."""
        kept = summaries.c
        query = select(summaries).where(kept.stream == self._stream, kept.learned > self._read, kept.learned <= last)
        with reading(self._store, self._stream) as (connection, known):
            rows = checked(connection, self._stream, known, query.order_by(kept.learned))
        if [row.learned for row in rows] != list(range(self._read + 1, last + 1)):
            raise altered(self._stream)
        return rows

    def _take(self, state: State, learned: Sequence[Any]) -> None:
        opened = self._reads.opened(self._stream, [row.round for row in learned])
        refs = {row.round: [opened[row.round].refs[i] for i in (row.favoured, row.disfavoured)] for row in learned}
        features = {aside.ref: aside.content["features"] for event in opened.values() for aside in event.asides}
        # Where one is missing, somebody was erased.
        whole = [row for row in learned if all(ref in features for ref in refs[row.round])]
        if not whole:
            return
        rows = state.stream.encode([features[ref] for row in whole for ref in refs[row.round]])
        self._rows = rows if self._rows is None else np.concatenate([self._rows, rows])
        self.rounds = np.append(self.rounds, [row.round for row in whole])
        self.learned = np.append(self.learned, [row.learned for row in whole])
        self.then = np.append(self.then, [row.gap for row in whole])

    def under(self, state: State, which: Whole) -> Floats:
        """How far apart some of the pairs are under the policy that is deployed now."""
        if self._rows is None or state.policy is None or not len(which):
            return np.empty(0)
        both = np.stack([2 * which, 2 * which + 1], axis=1).ravel()
        probabilities = state.stream.probabilities(state.policy, self._rows[both])
        gaps: Floats = probabilities[::2] - probabilities[1::2]
        return gaps

    def standing(self, state: State) -> Standing:
        """How all of them stand under the policy that is deployed now."""
        return Standing.of(self.under(state, np.arange(len(self))), self.then, state.stream.settings.alpha)


def _corrected(store: Store, stream: str, rounds: Sequence[int]) -> set[int]:
    """Of some rounds those whose audits were corrected: what they report now was never learned."""
    log = events.c
    query = select(log.round).where(log.stream == stream, log.kind == "audit_corrected", log.round.in_(rounds))
    with store.read() as connection:
        return set(connection.scalars(query))


def look(store: Store, stream: str, pairs: Pairs, state: State) -> None:
    """Hold the pairs whose time has come against the current policy, and count them."""
    now = state.totals.learned
    with reading(store, stream) as (connection, kept):
        counted = rows_of(connection, helped, stream, kept.helped)
        drawn_before = rows_of(connection, gaps, stream, kept.gaps)
    before = kept.learned
    due = np.flatnonzero(step(now - pairs.learned + 1) > step(before - pairs.learned + 1))
    if not len(due) or state.policy is None:
        return
    gaps_now = pairs.under(state, due)
    ages = AGES[step(now - pairs.learned[due] + 1)]
    new = due[pairs.learned[due] > before]
    counts = Counter([*zip(ages.tolist(), bins(gaps_now), strict=True), *((0, bin) for bin in bins(pairs.then[new]))])
    newest = due >= len(pairs) - LINES
    lines = [
        {"stream": stream, "learned": now, "round": t, "gap": gap}
        for t, gap in zip(pairs.rounds[due[newest]].tolist(), gaps_now[newest].tolist(), strict=True)
    ]
    drawn = pairs.rounds[-LINES:].tolist()
    later = [*(row for row in drawn_before if row["round"] in drawn), *lines]
    after = kept._replace(learned=now, helped=counted_hash(counted, counts), gaps=hash_of_rows(gaps, later))

    def write(connection: Connection) -> None:
        replace(connection, store, stream, kept, after)
        add(connection, stream, counts)
        connection.execute(delete(gaps).where(gaps.c.stream == stream, gaps.c.round.not_in(drawn)))
        if lines:
            connection.execute(insert(gaps), lines)

    store.write(write)


def counted_hash(rows: Sequence[Mapping[str, Any]], counts: Mapping[tuple[int, int], int]) -> str:
    """The hash of what was counted, once more pairs are added by (age, bin)."""
    every = Counter({(row["age"], row["bin"]): row["pairs"] for row in rows}) + Counter(counts)
    return hash_of_rows(helped, [{"age": age, "bin": bin, "pairs": pairs} for (age, bin), pairs in every.items()])


def add(connection: Connection, stream: str, counts: Mapping[tuple[int, int], int]) -> None:
    """Add to how many pairs were seen, by (age, bin)."""
    for (age, bin), more in counts.items():
        cell = (helped.c.stream == stream, helped.c.age == age, helped.c.bin == bin)
        if connection.execute(update(helped).where(*cell).values(pairs=helped.c.pairs + more)).rowcount == 0:
            connection.execute(insert(helped), [{"stream": stream, "age": age, "bin": bin, "pairs": more}])


def step(ages: Any) -> Any:
    """The place among the ages of the last one that was reached; 0 before the report was learned."""
    return np.searchsorted(AGES[1:], ages, side="right")


def bins(values: Floats) -> list[int]:
    """The bin of each gap."""
    return np.clip(np.floor((values + 1.0) * BINS / 2), 0, BINS - 1).astype(int).tolist()  # type: ignore[no-any-return]


# What the figure asks ---------------------------------------------------------------------------------------------


class Spread(NamedTuple):
    """All pairs that were looked at so many rounds after their report: how many, and five of their quantiles."""

    age: int
    pairs: int
    gaps: tuple[float, float, float, float, float]


QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def spreads(store: Store, stream: str) -> list[Spread]:
    """How far apart all reported pairs were, by their age."""
    counts: dict[int, Any] = {}
    with reading(store, stream) as (connection, kept):
        for row in rows_of(connection, helped, stream, kept.helped):
            counts.setdefault(row["age"], np.zeros(BINS, dtype=np.int64))[row["bin"]] = row["pairs"]
    return [_spread(age, counts[age]) for age in sorted(counts)]


def _spread(age: int, counts: Whole) -> Spread:
    """Quantiles from counts: the middle of the bin in which each of them lies.

    Examples
    --------
    >>> counts = np.zeros(BINS, dtype=np.int64)
    >>> counts[110], counts[150] = 3, 1
    >>> _spread(4, counts).gaps[2:]
    (0.105, 0.105, 0.505)
    """
    total = np.cumsum(counts)
    places = [int(np.searchsorted(total, max(1, math.ceil(q * total[-1])))) for q in QUANTILES]
    low, quarter, middle, most, high = (round((place + 0.5) * 2 / BINS - 1.0, 6) for place in places)
    return Spread(age, int(total[-1]), (low, quarter, middle, most, high))


def paths(store: Store, stream: str, most: int = LINES) -> dict[int, list[tuple[int, float]]]:
    """For the newest reported pairs: (rounds learned since the report was, gap then), from the report on."""
    with reading(store, stream) as (connection, kept):
        reports = [row for row in of_rounds(connection, stream, kept, kept.reported) if row.learned is not None]
        later = sorted(rows_of(connection, gaps, stream, kept.gaps), key=lambda row: int(row["learned"]))
    start = {row.round: row for row in sorted(reports, key=lambda row: -row.learned)[:most]}
    points = {t: [(0, float(row.gap))] for t, row in start.items()}
    for row in later:
        if (t := row["round"]) in points:
            points[t].append((row["learned"] - start[t].learned + 1, row["gap"]))
    return points
