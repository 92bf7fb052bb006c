"""Lipschitz scores: what the best policy of the view gives some people, the anchors, extended to everybody else.

    lower extension   max_a p_a − slope · d(v, a)        upper extension   min_a p_a + slope · d(v, a)

Both agree with p at the anchors and change by at most ``slope`` per unit of distance everywhere. A mixture of equally
spaced cut-offs on such a score *is* the score, in small steps, so the class holds fair policies of the view.

A score holds the anchors' view and p. It holds no label: p is the solution of a program over everybody at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from likewise.classes.reads import Reads
from likewise.classes.scores import Score, distances
from likewise.protocol import Floats

MOST_ANCHORS = 2000
CENTRES, FEWEST = 300, 5
"""Of k-means centres: how many at most, and how many people each stands for at least."""
CENTRED_PEOPLE = 5000
"""People from whom centres are found; the others count at the nearest one."""


@dataclass(frozen=True, eq=False)
class Anchors:
    """Points of the view that stand for people.

    Attributes
    ----------
    points
        One row per anchor.
    reads
        How the view follows from ``X``.
    """

    points: Floats = field(repr=False)
    reads: Reads

    def __len__(self) -> int:
        return len(self.points)

    def nearest(self, V: Floats) -> Any:
        """The position of each person's nearest anchor."""
        return np.concatenate([apart.argmin(axis=1) for _, apart in distances(V, self.points)])

    def scores(self, members: Sequence[Lipschitz], X: Any) -> Floats:
        """(people, members): scores that share these anchors, with distances computed once."""
        V = self.reads.of(np.asarray(X, dtype=float))
        table = np.empty((len(V), len(members)))
        for block, apart in distances(V, self.points):
            for j, member in enumerate(members):
                table[block, j] = member.extended(apart)
        return table


@dataclass(frozen=True, eq=False)
class Lipschitz(Score):
    """A policy of the view, known at anchors, that changes by at most ``slope`` per unit of distance.

    Attributes
    ----------
    family
        The anchors, shared with other scores.
    values
        What the policy gives each anchor.
    upper
        The upper extension to other people, or the lower one.

    Examples
    --------
    >>> reads = Reads((1,))
    >>> anchors = Anchors(np.array([[0.0], [1.0]]), reads)
    >>> for upper in (False, True):
    ...     policy = Lipschitz("policy", "policy", reads, anchors, np.array([0.2, 0.6]), 1.0, upper)
    ...     print(policy([[7.0, 0.0], [7.0, 0.5], [7.0, 1.0], [7.0, 1.5]]).round(6).tolist())
    [0.2, 0.1, 0.6, 0.1]
    [0.2, 0.7, 0.6, 1.0]
    """

    name: str
    described: str
    reads: Reads
    family: Anchors = field(repr=False)
    values: Floats = field(repr=False)
    slope: float
    upper: bool

    def of(self, V: Floats) -> Floats:
        """The extension to some people."""
        return np.concatenate([self.extended(apart) for _, apart in distances(V, self.family.points)])

    def extended(self, apart: Floats) -> Floats:
        """The extension to people at these distances from the anchors."""
        if self.upper:
            return np.asarray(np.clip((self.values + self.slope * apart).min(axis=1), 0.0, 1.0))
        return np.asarray(np.clip((self.values - self.slope * apart).max(axis=1), 0.0, 1.0))


def people_as_anchors(V: Floats, reads: Reads, seed: int) -> Anchors:
    """Up to 2,000 of the people, each look once."""
    chosen = np.random.default_rng(seed).permutation(len(V))[:MOST_ANCHORS]
    looks = np.unique(V, axis=0)
    return Anchors(looks if len(looks) <= MOST_ANCHORS else np.unique(V[chosen], axis=0), reads)


def centres_as_anchors(V: Floats, reads: Reads, seed: int) -> Anchors:
    """Up to 300 k-means centres, each of at least five people: nobody's own row."""
    from sklearn.cluster import KMeans

    some = V[np.random.default_rng(seed).permutation(len(V))[:CENTRED_PEOPLE]]
    count = max(1, min(CENTRES, len(some) // (2 * FEWEST), len(np.unique(some, axis=0))))
    means = KMeans(count, n_init=1, max_iter=50, random_state=seed).fit(some)
    large = np.bincount(means.labels_, minlength=count) >= min(FEWEST, len(some))
    return Anchors(np.asarray(means.cluster_centers_[large]), reads)
