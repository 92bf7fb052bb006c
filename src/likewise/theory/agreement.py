"""Do two reviewers who don't know of each other agree? Counts, the share of reports confirmed, and Gwet's AC1.

Second reviews are blind, and drawn by lot among *all* reviewed rounds, whatever the first reviewer said. The headline
is positive agreement, the share of reports that the other confirms: if reports are true and each finds a share r of
what is there, independently, that is what it estimates. AC1 stands beside it and never alone. Reports are rare, so it
is close to 1 even for reviewers who miss half of what is there.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from likewise.errors import require, require_whole
from likewise.theory.generalisation import holdout
from likewise.theory.ranges import within

LEAST_DOUBLE = 100
"""Double reviews from which on an interval of AC1 is worth showing."""


class Interval(NamedTuple):
    """An estimate with limits from below and above; no estimate (None) where nothing was counted.

    Examples
    --------
    >>> "{1:.2f} to {2:.2f}, about {0:.2f}".format(*Interval(0.82, 0.71, 0.9))
    '0.71 to 0.90, about 0.82'
    """

    estimate: float | None
    low: float
    high: float


class Overlap(NamedTuple):
    """Rounds judged by two reviewers who didn't know of each other.

    Attributes
    ----------
    both, first, second, neither
        How often both reported, only the first, only the second, and neither.
    same_pair
        How often both named the same pair.
    """

    both: int = 0
    first: int = 0
    second: int = 0
    neither: int = 0
    same_pair: int = 0

    @property
    def rounds(self) -> int:
        """Rounds judged twice."""
        return self.both + self.first + self.second + self.neither

    @property
    def reported(self) -> int:
        """Rounds that anybody reported."""
        return self.both + self.first + self.second

    def add(self, first: Hashable | None, second: Hashable | None) -> Overlap:
        """One more round: the pairs that the two named, None for "no pair".

        Examples
        --------
        >>> Overlap().add((0, 1), None).add((0, 1), (0, 1)).add(None, None)
        Overlap(both=1, first=1, second=0, neither=1, same_pair=1)
        """
        if first is not None and second is not None:
            return self._replace(both=self.both + 1, same_pair=self.same_pair + (first == second))
        if first is not None:
            return self._replace(first=self.first + 1)
        return self._replace(second=self.second + 1) if second is not None else self._replace(neither=self.neither + 1)


def binomial_limits(count: int, n: int, delta: float = 0.05) -> Interval:
    """Clopper and Pearson's exact limits of a probability, from ``count`` of n: each fails w.p. at most δ/2.

    Examples
    --------
    >>> "{1:.3f} to {2:.3f}".format(*binomial_limits(8, 10))
    '0.444 to 0.975'
    """
    require_whole(n, "n", 0)
    within(delta=delta)
    require_whole(count, "count", 0)
    require(count <= n, "count", f"be in 0 … n = {n}", count)
    if n == 0:
        return Interval(None, 0.0, 1.0)
    return Interval(count / n, 1 - holdout(n - count, n, delta / 2), holdout(count, n, delta / 2))


def positive_agreement(overlap: Overlap, delta: float = 0.05) -> Interval:
    """The share of reports that the other reviewer confirms, 2a/(2a + b + c), with exact limits.

    Of the s = a + b + c rounds that anybody reported, a is Binomial(s, φ) given s; the share is 2φ/(1 + φ) at φ = a/s.

    Examples
    --------
    >>> "{0:.2f}, from {1:.2f} to {2:.2f}".format(*positive_agreement(Overlap(17, 3, 3, 117)))
    '0.85, from 0.68 to 0.95'
    """
    return Interval(*(None if phi is None else 2 * phi / (1 + phi) for phi in _confirmed(overlap, delta)))  # type: ignore[arg-type]


def _confirmed(overlap: Overlap, delta: float) -> Interval:
    return binomial_limits(overlap.both, overlap.reported, delta)


def same_pair_share(overlap: Overlap, delta: float = 0.05) -> Interval:
    """Where both reported: how often they named the same pair, with exact limits.

    There is no agreement on pairs beyond that: who names one pair doesn't say that the others are fine.
    """
    return binomial_limits(overlap.same_pair, overlap.both, delta)


def ac1(overlap: Overlap, delta: float = 0.05) -> Interval:
    """Gwet's AC1 for "report or none": (p_a − p_e)/(1 − p_e), p_e = 2π(1 − π), π the mean share of reports.

    The interval is that of ln(1 − AC1) with ½ added to each cell, by the delta method: it covers 89–95 % where 95 % is
    asked for. From 100 double reviews on; (estimate, −1, 1) below.

    Examples
    --------
    >>> "{0:.2f}, from {1:.2f} to {2:.2f}".format(*ac1(Overlap(17, 3, 3, 117)))
    '0.94, from 0.86 to 0.97'
    """
    within(delta=delta)
    if overlap.rounds == 0:
        return Interval(None, -1.0, 1.0)
    estimate = 1 - disagreement(*np.array(overlap[:4]) / overlap.rounds)
    if overlap.rounds < LEAST_DOUBLE:
        return Interval(estimate, -1.0, 1.0)
    n = overlap.rounds + 2
    cells = (np.array(overlap[:4]) + 0.5) / n
    centre = disagreement(*cells)
    slopes = _slopes(*cells)
    variance = float(cells @ slopes**2 - (cells @ slopes) ** 2) / n  # multinomial, delta method
    spread = math.exp(NormalDist().inv_cdf(1 - delta / 2) * math.sqrt(variance) / centre)
    return Interval(estimate, max(-1.0, 1 - centre * spread), 1 - centre / spread)


def disagreement(both: float, first: float, second: float, neither: float) -> float:
    """1 − AC1 = (b + c)/(1 − 2π(1 − π)) from the shares of the four cells."""
    share = both + (first + second) / 2
    return (first + second) / (1 - 2 * share * (1 - share))


def _slopes(both: float, first: float, second: float, neither: float) -> np.ndarray:
    """The derivatives of ``disagreement`` by its four cells, ``neither`` among them (where it has none)."""
    apart, share = first + second, both + (first + second) / 2
    rest = 1 - 2 * share * (1 - share)
    by_share = apart * 2 * (1 - 2 * share) / rest**2
    return np.array([by_share, 1 / rest + by_share / 2, 1 / rest + by_share / 2, 0.0])
