"""The averages that a play keeps: over all of its rounds, over a first pass, and over what follows the half.

Sums are kept apart where a first pass ends and where the second half begins, and added up at the end. Subtracting one
sum from another would leave weights a little below 0.
"""

from __future__ import annotations

from functools import reduce

from likewise.policies import AveragePolicy
from likewise.protocol import Policy


class Averages:
    """Sums of policies between some rounds.

    Parameters
    ----------
    played
        The rounds before the first one that is included.
    first_pass
        The last round of a first pass over the people, if there is one.
    half
        The last round of the first half.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.hypotheses import Thresholds
    >>> from likewise.policies import Mixture
    >>> averages = Averages(played=0, first_pass=None, half=2)
    >>> for share in (0.0, 0.2, 0.4, 0.8):
    ...     averages.include(Mixture(Thresholds([[0.5]]), np.array([1 - share, share, 0.0, 0.0])))
    >>> [float(policy.probability([[0.0]])[0].round(3)) for policy in (averages.all_rounds, averages.late)]
    [0.35, 0.6]
    """

    def __init__(self, played: int, first_pass: int | None, half: int) -> None:
        self._played, self._first_pass, self._half = played, first_pass, half
        self.cuts = sorted({end for end in (first_pass, half) if end is not None and end > played})
        """The rounds after which a new sum begins."""
        self._parts: dict[int, AveragePolicy] = {}
        """Sums by the round after which they begin."""
        self._open = AveragePolicy()
        self._last = played

    def include(self, policy: Policy) -> None:
        """One more round's policy."""
        if self._last in self.cuts or not self._parts:
            self._parts[self._last] = self._open = AveragePolicy()
        self._open.include(policy)
        self._last += 1

    def add(self, average: AveragePolicy) -> None:
        """The rounds up to the next cut, or some of them, at once."""
        self._parts[self._last] = average
        self._last += average.rounds

    @property
    def all_rounds(self) -> AveragePolicy:
        """The average over all rounds."""
        return reduce(AveragePolicy.joined, self._parts.values(), AveragePolicy())

    @property
    def first_pass(self) -> AveragePolicy | None:
        """The average over a first pass that ended within these rounds."""
        ends = self._first_pass
        return None if ends is None or not self._played < ends <= self._last else self._between(self._played, ends)

    @property
    def late(self) -> AveragePolicy | None:
        """The average over the rounds after the half, if it was passed within these rounds."""
        return self._between(self._half, self._last) if self._played < self._half < self._last else None

    def _between(self, first: int, last: int) -> AveragePolicy:
        parts = [part for start, part in self._parts.items() if first <= start < last]
        return reduce(AveragePolicy.joined, parts, AveragePolicy())
