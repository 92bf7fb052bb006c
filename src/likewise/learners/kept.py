"""Reports that a learner keeps: a row each, with the gap that was shown, its price and its terms.

A report of a gap g proves d + α < g, so every policy of Q_{α−ε} keeps the pair within g − ε. The row's price μ may be
changed in every later round; with X = L + Σ_j μ_j D_j and any policy q that keeps the rows,

    Σ Err(π^t) − q·L ≤ Σ Err(π^t) − min_f X(f) + Σ_j μ_j (g_j − ε)

whatever was done with the prices: weak duality, all of it observed (``regret_limit``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise import kernels
from likewise.hypotheses import EnumerableClass
from likewise.protocol import Floats, Report, Round

NOBODY = -1
"""The number of a person of whom nobody keeps count."""
MIRRORED = -1
"""Repeats of a row that says of the other order what was reported of one: it was not reported itself."""


class KeptReports(NamedTuple):
    """One row per report that is kept, the oldest first.

    Attributes
    ----------
    contrasts
        D(f) = f(x1) − f(x2) in the form that the class keeps.
    people
        (J, 2): who the two are; −1 where nobody keeps count.
    gaps
        π(x1) − π(x2) as it was shown.
    terms
        (J, 5): the price μ, the slope C, its cap C̄, and where the slope starts (a) and may get steeper (b).
    passed
        The largest gap of the same two people that was reviewed later and found fine.
    repeats
        How often the same row was reported before.
    made
        In which round.
    """

    contrasts: NDArray[np.integer]
    people: NDArray[np.int64]
    gaps: Floats
    terms: Floats
    passed: Floats
    repeats: NDArray[np.int64]
    made: NDArray[np.int64]

    @classmethod
    def none(cls, F: EnumerableClass) -> KeptReports:
        """No rows yet."""
        numbers, counts = np.empty(0), np.empty(0, dtype=np.int64)
        people = np.empty((0, 2), dtype=np.int64)
        return cls(F.no_contrasts, people, numbers, np.empty((0, 5)), numbers, counts, counts)

    @property
    def prices(self) -> Floats:
        """μ of each row."""
        return self.terms[:, kernels.PRICE]

    def without(self, j: int) -> KeptReports:
        """All rows but one."""
        return KeptReports(*(np.delete(part, j, axis=0) for part in self))

    def seen_fine(self, round_: Round, *, both_ways: bool = False) -> KeptReports:
        """After a round that was reviewed and found fine: its gaps have passed, on the rows of the same two people.

        Where a gap of at least g passes, the answers contradict each other, and the price may rise no further. With
        ``both_ways`` that holds in whichever order the two stand.
        """
        person, p = round_.batch.person, round_.probabilities
        if len(self.gaps) == 0 or person is None or not round_.reviewed or round_.reports:
            return self
        if round_.compared is not None:
            person, p = person[round_.compared], p[round_.compared]
        if not kernels.met(person, self.people):
            return self
        terms, passed = self.terms.copy(), self.passed.copy()
        kernels.seen_fine(len(passed), person, p, self.people, self.gaps, terms, passed)
        if both_ways:
            other = np.ascontiguousarray(self.people[:, ::-1])
            kernels.seen_fine(len(passed), person, p, other, self.gaps, terms, passed)
        return self._replace(terms=terms, passed=passed)

    def repeated(self, contrast: NDArray[np.integer]) -> int:
        """One more than the most repeats among rows of the same contrast; 0 if there is none."""
        same = (self.contrasts == contrast).all(axis=1)
        return int(self.repeats[same].max()) + 1 if same.any() else 0

    def contradicted(self, people: Sequence[int], gap: float, *, both_ways: bool = False) -> bool:
        """Whether a gap at least as large of the same two people has passed since one of their rows was made."""
        same = (self.people == np.asarray(people)).all(axis=1)
        if both_ways:
            same |= (self.people == np.asarray(people)[::-1]).all(axis=1)
        same &= self.people[:, 0] != NOBODY
        return bool((self.passed[same] >= gap).any())

    def joined(
        self,
        contrast: NDArray[np.integer],
        people: Sequence[int],
        gap: float,
        terms: Sequence[float],
        t: int,
        repeats: int | None = None,
    ) -> KeptReports:
        """One row more, the newest, at price 0."""
        repeats = self.repeated(contrast) if repeats is None else repeats
        row: tuple[Any, ...] = (contrast, np.array(people), gap, np.array(terms), -np.inf, repeats, t)
        return KeptReports(
            *(np.concatenate([part, np.asarray(new, part.dtype)[None]]) for part, new in zip(self, row, strict=True))
        )

    def shortened(self, most: int, fresh: int) -> tuple[KeptReports, Floats]:
        """At most ``most`` rows besides none of the fresh: the oldest idle one is dropped, or else the oldest frozen.

        Also Σ μ and Σ μ g of the rows that were frozen.
        """
        kept, frozen = self, np.zeros(2)
        while len(kept.gaps) > max(most, fresh):
            idle = np.flatnonzero(kept.prices[: len(kept.gaps) - fresh] == 0.0)
            j = int(idle[0]) if len(idle) else 0
            frozen += kept.prices[j] * np.array([1.0, kept.gaps[j]])
            kept = kept.without(j)
        return kept, frozen


class KeptState(NamedTuple):
    """What the next round needs: losses with prices in them, Δ, the weights they give, and the rows.

    ``losses`` are X = L + Σ μ_j D_j, after forgetting; ``ground`` belongs to all of them. ``shared`` is what forgetting
    has cost a comparator, Σ_t ln(1/(1 − σ_t))/η_{t+1}. ``frozen`` holds Σ μ and Σ μ g of the rows that were frozen.
    ``reports`` counts the rounds with a report that was kept.
    """

    rounds: int
    reports: int
    losses: Floats
    delta: float
    weights: Floats
    ground: float
    shared: float
    frozen: Floats
    contrasts: NDArray[np.integer]
    people: NDArray[np.int64]
    gaps: Floats
    terms: Floats
    passed: Floats
    repeats: NDArray[np.int64]
    made: NDArray[np.int64]

    @property
    def kept(self) -> KeptReports:
        """The rows."""
        return KeptReports(*self[8:])

    def frozen_rows(self, which: NDArray[np.bool_]) -> KeptState:
        """The same policy and the same limits with some rows frozen: nothing tells any more whom they were about."""
        kept, frozen = self.kept, np.zeros(2)
        for j in np.flatnonzero(which).tolist():
            frozen += kept.prices[j] * np.array([1.0, kept.gaps[j]])
        rest: dict[str, Any] = {name: part[~which] for name, part in kept._asdict().items()}
        return self._replace(frozen=self.frozen + frozen, **rest)


def in_order(F: EnumerableClass, round_: Round, reports: Sequence[Report]) -> list[tuple[NDArray[np.integer], Report]]:
    """The contrasts of some reports of a round, the largest gap first: an order that doesn't depend on theirs."""
    rows, p = round_.batch.rows, round_.probabilities

    def place(pair: tuple[NDArray[np.integer], Report]) -> tuple[float, list[int]]:
        contrast, (favoured, disfavoured, *_) = pair
        return -round(float(p[favoured] - p[disfavoured]), 9), contrast.tolist()

    return sorted(((F.contrast(rows[list(report[:2])]), report) for report in reports), key=place)


def who(round_: Round, report: Report) -> tuple[int, int]:
    """The two people of a report."""
    person = round_.batch.person
    if person is None:
        return NOBODY, NOBODY
    return int(person[report.favoured]), int(person[report.disfavoured])


def regret_limit(F: EnumerableClass, state: Any, error: float, epsilon: float) -> float:
    """The most by which an error exceeds that of any policy whose gap is at most g_j − ε on every kept or frozen pair.

    ``error`` is Σ_t Σ_i s_i π^t(x_i) over all rounds that the state has learned, whoever chose π^t.
    """
    prices, gaps = state.terms[:, kernels.PRICE], state.gaps
    paid, weighed = np.asarray(state.frozen) + np.array([prices.sum(), prices @ gaps])
    least = float(state.ground) + F.geometry.minimum(state.losses)
    return float(error - least + weighed - epsilon * paid + state.shared)
