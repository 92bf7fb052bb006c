"""Penalties that grow with the reports: how √T error regret meets O(log T) violations.

A fixed penalty is just a number. :class:`Scheduled` grows by a factor at each report and needs the horizon;
:class:`Tilted` follows the learner's own Δ and needs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from likewise.errors import require

LOG_CEILING = 200.0
"""Penalties stop growing at e^200: only false reports, or a growth far beyond the theorem, ever get there."""


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
        require(np.isfinite(self.first) and self.first > 0, "first", "be positive", self.first)
        require(np.isfinite(self.growth) and self.growth >= 0, "growth", "be at least 0", self.growth)

    def at(self, reports: int) -> float:
        """The penalty of the next report after so many."""
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
        require(np.isfinite(self.c) and 0 < self.c < 1, "c", "be in (0, 1)", self.c)
        require(np.isfinite(self.floor) and self.floor >= 0, "floor", "be at least 0", self.floor)

    def at(self, t: int, delta: float, k: float, log_size: float) -> float:
        """The penalty of a report in round t."""
        return max(self.floor * k * math.sqrt(t / log_size), self.c * delta / log_size)

    def raised(self, delta: float, log_size: float) -> float:
        """The least that Δ becomes on a report."""
        return min(delta * (1 + self.c**2 / (2 * log_size)), math.exp(LOG_CEILING))
