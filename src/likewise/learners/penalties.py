"""Penalties: how much a report weighs, and for how long; how √T error regret meets O(log T) violations.

A fixed penalty is just a number. ``Scheduled`` grows by a factor at each report and needs the horizon;
``Tilted`` follows the learner's own Δ and needs nothing. ``Cuts`` keeps every report, with a price that may be revised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from likewise.errors import require, require_number, require_whole
from likewise.theory import LOG_CEILING
from likewise.theory.elementary import exp, log


@dataclass(frozen=True)
class Scheduled:
    """The j-th report weighs C_j = first · exp(growth · (j − 1)) (Theorem 1).

    Growing faster than α²/(8Λ) is not harmless: it can make the error regret linear.

    Examples
    --------
    >>> round(Scheduled(first=10.0, growth=0.1).at(reports=2), 3)
    12.214
    """

    first: float
    growth: float

    def __post_init__(self) -> None:
        require_number(self.first, "first", 0, open_at="low")
        require_number(self.growth, "growth", 0)

    def at(self, reports: int) -> float:
        """The penalty of the next report, after this many."""
        return exp(min(self.growth * reports + log(self.first), LOG_CEILING))


@dataclass(frozen=True)
class Tilted:
    """C_t = max(floor · k√(t/ln N), cΔ_{t−1}/ln N), and Δ grows by at least c²/(2 ln N) of itself on a report.

    Without a floor every report multiplies the weights by exp(−c (f(x1) − f(x2))). Theorem 2; c < α.

    Examples
    --------
    >>> Tilted(c=0.05, floor=0.5)
    Tilted(c=0.05, floor=0.5)
    """

    c: float
    floor: float = 0.0

    def __post_init__(self) -> None:
        require_number(self.c, "c", 0, 1, open_at="low high")
        require_number(self.floor, "floor", 0)

    def at(self, t: int, delta: float, k: float, log_size: float) -> float:
        """The penalty of a report in round t."""
        return max(self.floor * k * math.sqrt(t / log_size), self.c * delta / log_size)

    def raised(self, delta: float, log_size: float) -> float:
        """The least that Δ becomes on a report."""
        return min(delta * (1 + self.c**2 / (2 * log_size)), exp(LOG_CEILING))


@dataclass(frozen=True)
class Cuts:
    """Reports are kept, and their prices may be revised in every later round (Theorems C1 and C2). Our default.

    A report of a gap g proves that no policy of Q_{α−ε} has a larger gap than g − ε on this pair. It stays as a row:
    a penalty C on the gap beyond a = min(α, g − ε), and a cut at b = g − ε, whose price may rise up to a cap. A pair
    that has been repaired charges nothing any more.

    Parameters
    ----------
    epsilon
        ε: policies are compared with those that are fair at α − ε. Below α.
    penalty
        How C grows: ``Scheduled`` or ``Tilted``; None for cuts alone (Theorem C2).
    cap
        The cap is ``cap`` times C, twice as much for each time that the same row was reported before; for cuts alone,
        ``cap`` times εΔ/ρ.
    rows
        How many rows are kept. Beyond that the oldest without a price is dropped, or else the oldest is frozen: its
        price is never revised again.
    both_ways
        Whether a report of (x, x') also proves that x' may not be favoured by more than g − ε. True of distances that
        are the same both ways; a learner that is told no distance can't know. It costs a second row per report.

    Examples
    --------
    >>> Cuts(0.05, Tilted(0.025, floor=0.7)).cap
    3.0
    """

    epsilon: float
    penalty: Scheduled | Tilted | None = None
    cap: float = 3.0
    rows: int = 200
    both_ways: bool = False

    def __post_init__(self) -> None:
        require_number(self.epsilon, "epsilon", 0, 1, open_at="low high")
        known = self.penalty is None or isinstance(self.penalty, (Scheduled, Tilted))
        require(known, "penalty", "be Scheduled, Tilted or None", self.penalty)
        require_number(self.cap, "cap", 1)
        require_whole(self.rows, "rows")
        require(isinstance(self.both_ways, bool), "both_ways", "be True or False", self.both_ways)

    @property
    def horizonless(self) -> bool:
        """Whether Δ starts from k and grows with every report, so that no horizon is needed."""
        return not isinstance(self.penalty, Scheduled)

    def at(self, reports: int, t: int, delta: float, k: float, rho: float) -> float:
        """C of a report in round t, after this many rounds with one."""
        if isinstance(self.penalty, Scheduled):
            return self.penalty.at(reports)
        return 0.0 if self.penalty is None else self.penalty.at(t, delta, k, rho)

    def ceiling(self, C: float, delta: float, rho: float, repeats: int) -> float:
        """C̄ of a row with slope C that was reported so many times before."""
        # As C, doubled caps stop growing somewhere: far beyond any price that could help.
        base = self.cap * C if self.penalty is not None else self.cap * self.epsilon * delta / rho
        return base * 2.0 ** min(repeats, 60)

    def raised(self, delta: float, rho: float) -> float:
        """The least that Δ becomes on a report."""
        if isinstance(self.penalty, Scheduled):
            return 0.0
        tilt = Tilted(self.epsilon / math.sqrt(2)) if self.penalty is None else self.penalty
        return tilt.raised(delta, rho)
