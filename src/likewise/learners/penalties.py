"""Penalties that grow with the reports: how √T error regret meets O(log T) violations.

A fixed penalty is just a number. ``Scheduled`` grows by a factor at each report and needs the horizon;
``Tilted`` follows the learner's own Δ and needs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from likewise.errors import require_number
from likewise.theory import LOG_CEILING


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
        return math.exp(min(self.growth * reports + math.log(self.first), LOG_CEILING))


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
        return min(delta * (1 + self.c**2 / (2 * log_size)), math.exp(LOG_CEILING))
