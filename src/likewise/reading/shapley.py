"""Shapley values: one number a column that add up to what a function of many columns says of a person.

v(S) is the mean, over the people compared with, of the function at somebody who has the person's own values in the
columns S and the other's values elsewhere. φ_j averages v(S ∪ j) − v(S) over all orders in which columns can be
exchanged, so Σ_j φ_j = v(all) − v(none): the person's own value less the mean of the others', whatever the function.

    exact           all 2^d subsets: exact, for any function of two people
    over_subsets    all 2^d subsets: exact, for sums over columns
    over_orders     some orders, each with its reverse, everybody compared with equally often: estimated
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from likewise.protocol import Floats

MOST_COLUMNS = 14
"""Up to this many columns all subsets are gone through: 16,384 of them."""
ORDERS = 100
"""About this many orders are drawn, and each is walked in both directions."""
BLOCK = 1 << 21
"""Sums held at once."""


@cache
def _subsets(d: int) -> Floats:
    """(2^d, d): which columns each subset has."""
    return ((np.arange(2**d)[:, None] >> np.arange(d)) & 1).astype(float)


@cache
def _weights(d: int) -> Floats:
    """(2^d, d): φ = v @ weights.

    A subset of size s counts (s − 1)! (d − s)! / d! for its members and −s! (d − s − 1)! / d! for the others.
    """
    members = _subsets(d)
    sizes = members.sum(axis=1).astype(int)
    inside = np.array([math.factorial(max(s - 1, 0)) * math.factorial(d - s) for s in range(d + 1)], dtype=float)
    outside = np.array([math.factorial(s) * math.factorial(max(d - s - 1, 0)) for s in range(d + 1)], dtype=float)
    signed = np.where(members == 1.0, inside[sizes][:, None], -outside[sizes][:, None])
    return np.asarray(signed / math.factorial(d))


def exact(part: Callable[[Floats], Floats], d: int) -> Floats:
    """Exact Shapley values of any function between two people who differ in d columns: (d,).

    ``part`` gets (2^d, d) zeros and ones, which say whose value each column has: the other's, or the person's own.

    Examples
    --------
    >>> exact(lambda own: own.prod(axis=1), 2).tolist()
    [0.5, 0.5]
    """
    return np.asarray(part(_subsets(d)) @ _weights(d))


def over_subsets(
    part: Callable[[Floats], Floats], start: float, person: Floats, others: Floats, own: float, theirs: Floats
) -> Floats:
    """Exact Shapley values of part(start + Σ_j addend_j), for one person.

    Parameters
    ----------
    part
        The function of the sum.
    start
        What the sum starts with.
    person, others
        (columns,) and (people, columns): addends of the person and of those compared with.
    own, theirs
        What the function says of them; taken as it is, so that rounding of the sums can't change the total.

    Examples
    --------
    >>> over_subsets(lambda s: (s >= 2).astype(float), 0.0, np.ones(3), np.zeros((1, 3)), 1.0, np.zeros(1)).round(3)
    array([0.333, 0.333, 0.333])
    """
    moving = np.flatnonzero((others != person).any(axis=0))  # columns that never change anything have no part
    values = np.zeros(len(person))
    if len(moving) == 0:
        return values
    fixed = start + np.delete(person, moving).sum()
    members = _subsets(len(moving))
    means = np.zeros(len(members))
    block = max(1, BLOCK // len(members))
    for first in range(0, len(others), block):
        those = others[first : first + block, moving]
        sums = fixed + those @ (1.0 - members).T + members @ person[moving]
        means += part(sums).sum(axis=0)
    means /= len(others)
    means[0], means[-1] = float(theirs.mean()), own
    values[moving] = means @ _weights(len(moving))
    return values


def orders(d: int, people: int, seed: int = 0) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Orders of d columns, each beside its reverse, and whom each is walked against: everybody equally often."""
    times = max(1, round(ORDERS / people))
    rng = np.random.default_rng(seed)
    drawn = rng.permuted(np.tile(np.arange(d), (times * people, 1)), axis=1)
    return np.concatenate([drawn, drawn[:, ::-1]]), np.tile(np.arange(people), 2 * times)


def over_orders(
    part: Callable[[Floats], Floats],
    owner: NDArray[np.intp],
    person: Floats,
    others: Floats,
    own: float,
    theirs: Floats,
) -> Floats:
    """Estimated Shapley values of any function, for one person: (columns,).

    Parameters
    ----------
    part
        The function of people (encoded columns).
    owner
        (encoded columns,): the column that each belongs to, which is exchanged as a whole; −1 if it is never exchanged.
    person, others
        Encoded columns of the person and of those compared with.
    own, theirs
        What the function says of them. A model may round differently in another batch, and a score on a cut would then
        fall on its other side: the ends of every walk are taken as they are.

    Examples
    --------
    >>> one, none = np.ones(2), np.zeros((1, 2))
    >>> over_orders(lambda X: X.prod(axis=1), np.arange(2), one, none, 1.0, np.zeros(1)).tolist()
    [0.5, 0.5]
    """
    d = int(owner.max()) + 1
    walks, whom = orders(d, len(others))
    place = np.argsort(walks, axis=1)  # when each column is exchanged
    # (walks, d − 1, columns): at step i the first i columns of the order are the person's own.
    exchanged = place[:, None, :] < np.arange(1, d)[None, :, None]
    exchanged = np.concatenate([exchanged, np.ones((len(walks), d - 1, 1), dtype=bool)], axis=2)  # −1 is the last
    people = np.where(exchanged[:, :, owner], person, others[whom][:, None, :])
    between = part(people.reshape(-1, people.shape[2])).reshape(len(walks), d - 1)
    gained = np.diff(np.column_stack([theirs[whom], between, np.full(len(walks), own)]), axis=1)
    # Each walk's gains, put back from the order of the walk to the order of columns.
    return np.asarray(np.take_along_axis(gained, place, axis=1).mean(axis=0))
