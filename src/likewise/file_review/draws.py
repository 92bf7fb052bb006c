"""Pairs that could be treated too differently, random ones of them, and how many have to be judged for a claim.

Two people whose scores differ by at most α can't be treated too differently, as no distance is negative: nobody needs
to look at such a pair. How many pairs remain is counted exactly. They are numbered without being listed: with scores
sorted, the person at place i can be favoured over the first c_i people only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise import theory
from likewise.errors import require, require_whole
from likewise.protocol import Floats

ABOUT = ("file", "new")
"""What a claim is about: all pairs of the people in the file, or two new people like them."""
TARGETS = (0.2, 0.1, 0.05, 0.02, 0.01)


@dataclass(frozen=True)
class OpenPairs:
    """The pairs of a file whose scores differ by more than α.

    Examples
    --------
    >>> pairs = OpenPairs.of(np.array([0.1, 0.9, 0.3]), alpha=0.25)
    >>> pairs.count, pairs.every, [pairs.pair(number) for number in range(pairs.count)]
    (2, 3, [(1, 0), (1, 2)])
    """

    order: NDArray[np.intp]
    ends: NDArray[np.int64]
    people: int

    @classmethod
    def of(cls, scores: Floats, alpha: float) -> OpenPairs:
        """The pairs of these people."""
        order = np.argsort(scores, kind="stable")
        ranked = scores[order]
        return cls(order, np.cumsum(_below(ranked, alpha)), len(scores))

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.ends[-1]) if len(self.ends) else 0

    @property
    def every(self) -> int:
        """How many pairs there are at all."""
        return self.people * (self.people - 1) // 2

    @property
    def share(self) -> float:
        """Of all pairs."""
        return self.count / self.every

    def pair(self, number: int) -> tuple[int, int]:
        """A pair by its number: the favoured person first."""
        place = int(np.searchsorted(self.ends, number, side="right"))
        before = int(self.ends[place - 1]) if place else 0
        return int(self.order[place]), int(self.order[number - before])


def _below(ranked: Floats, alpha: float) -> NDArray[np.int64]:
    """For each sorted score, how many are more than α below it, in floating point as anybody would compute it.

    s − α is rounded, so scores a rounding away from it may be on the wrong side; they are looked at again.
    """
    below = np.searchsorted(ranked, ranked - alpha, side="left").astype(np.int64)
    for _ in range(
        4
    ):  # α is rounded once and a difference once, so that a few neighbouring scores are all there can be
        too_many = (below > 0) & (ranked - ranked[np.maximum(below - 1, 0)] <= alpha)
        below[too_many] = np.searchsorted(ranked, ranked[below[too_many] - 1], side="left")
        too_few = (below < len(ranked)) & (ranked - ranked[np.minimum(below, len(ranked) - 1)] > alpha)
        below[too_few] = np.searchsorted(ranked, ranked[below[too_few]], side="right")
    return below


@dataclass(frozen=True)
class Drawn:
    """Pairs that were drawn at random, to be judged by people.

    Attributes
    ----------
    about
        ``"file"``: each draw is one of the open pairs of the file, all equally likely, independently of the others (so
        a pair may come twice). ``"new"``: disjoint pairs of the file's people in a random order; those that are not
        open need not be judged.
    pairs
        The different pairs to judge, the favoured person first, in the order in which they were drawn.
    times
        How often each was drawn.
    draws
        How many draws there were.
    share
        What one draw stands for: the share of open pairs, or 1.
    """

    about: str
    pairs: tuple[tuple[int, int], ...]
    times: tuple[int, ...]
    draws: int
    share: float


def draw(scores: Floats, open_pairs: OpenPairs, alpha: float, draws: int, about: str, seed: int) -> Drawn:
    """Random pairs."""
    require(about in ABOUT, "about", f"be one of {ABOUT}", about)
    require_whole(draws, "pairs", 1)
    rng = np.random.default_rng([seed, draws])
    if about == "new":
        most = len(scores) // 2
        require(draws <= most, "pairs", f"be at most {most}, disjoint pairs of {len(scores)} people", draws)
        order = rng.permutation(len(scores))[: 2 * draws].reshape(draws, 2).tolist()
        ranked = [(i, j) if scores[i] >= scores[j] else (j, i) for i, j in order]
        too_far = [(i, j) for i, j in ranked if scores[i] - scores[j] > alpha]
        return Drawn(about, tuple(too_far), (1,) * len(too_far), draws, 1.0)
    if open_pairs.count == 0:
        return Drawn(about, (), (), 0, 0.0)
    numbers, places, times = np.unique(
        rng.integers(open_pairs.count, size=draws), return_index=True, return_counts=True
    )
    in_order = np.argsort(places)
    pairs = tuple(open_pairs.pair(int(numbers[k])) for k in in_order)
    return Drawn(about, pairs, tuple(int(times[k]) for k in in_order), draws, open_pairs.share)


def needed(share: float, delta: float, found: int = 0) -> dict[float, int]:
    """How many draws support the claim "at most β of pairs", for some β, if so many of them are found too different.

    Examples
    --------
    >>> needed(1.0, 0.05)[0.01], needed(0.1, 0.05)[0.01]
    (299, 29)
    """
    return {
        beta: 0 if share <= beta else theory.pairs_needed(beta / share, delta, found) for beta in TARGETS
    }  # fmt: skip
