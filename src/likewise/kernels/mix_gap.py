"""The mix gap of a class of thresholds: what its weights lose in a round beyond their mix loss.

Thresholds are laid out as in ``likewise.kernels.thresholds``. Their losses in a round change at the people only, so the
weight that has each loss is enough.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from likewise.kernels.caching import cached
from likewise.kernels.elementary import expm1, log1p
from likewise.kernels.lanes import minimum, total_of
from likewise.kernels.thresholds import (
    LONG,
    NONE,
    ONE,
    PERSON,
    PERSON_BITS,
    in_order_sum,
    most_cuts,
    sort_people,
    threshold_added,
    weight_before,
    weight_before_people,
)
from likewise.kernels.weights import free_energy
from likewise.theory import ROUNDING


@njit
def _column_masses(over, under, start, cuts, keys, s, total, count, mass, lost):
    """The losses in a round along a column, which change at the people only, and the weight that has each.

    Where nobody's loss it is, as two people stand at the same place, it counts as 0. Returns how many there are so far.
    """
    high, above = start + np.uint64(cuts), 0.0
    for at in range(len(s) + 1):
        low = start + np.uint64(keys[at] >> PERSON_BITS) if at < len(s) else start
        some, place = high > low, np.uint64(count)
        mass[place], lost[place] = over[high] - over[low], above if some else 0.0
        mass[place + ONE], lost[place + ONE] = under[high] - under[low], total - above if some else 0.0
        count += 2
        if at < len(s):
            high = low
            above += s[np.uint64(keys[at] & PERSON)]
    return count


@njit
def _gap_of_masses(mass, lost, mean, eta):
    """(δ, whether it has its digits), from the weights that have each loss."""
    least = minimum(lost)
    if math.isinf(eta):
        return mean - least, True
    for i in range(len(mass)):
        mass[i] *= expm1(max(-eta * (lost[i] - least), -680.0))
    shrunk = total_of(mass)
    if shrunk > -1.0 + 1e-6:  # the masses are differences, good to 1e-15
        return mean - least + log1p(shrunk) / eta, True
    return 0.0, False


@njit
def _gap_of_losses(losses, rows, s, mean, eta, first, offset):
    """δ from the cumulative losses before the round, for the rare case that all of Σ p exp(−ηℓ) underflows."""
    before, after = losses.copy(), np.empty(len(losses))
    for i in range(len(offset)):
        before[i] -= offset[i] / eta
    threshold_added(before, rows, s, first, after)
    return mean - (free_energy(after, eta) - free_energy(before, eta))


@njit
def _mean_and_size(s, probabilities):
    """p·ℓ = Σ s π(x), and Σ |s|."""
    mean, size = 0.0, 0.0
    for i in range(len(s)):
        mean += s[i] * probabilities[i]
        size += abs(s[i])
    return mean, size


@cached
def threshold_mix_gap(weights, losses, rows, s, probabilities, eta, first, offset):
    """δ = p·ℓ + (1/η) ln Σ_f p_f exp(−η ℓ_f), with one exponential per step and none per hypothesis.

    ``losses`` are the cumulative ones before the round; ``offset`` is ln(N w_f), or empty for a uniform prior w.
    """
    mean, size = _mean_and_size(s, probabilities)
    columns, total, keys = len(first) - 1, in_order_sum(s), np.empty(len(s), np.int64)
    mass, lost = np.empty(2 + 2 * columns * (len(s) + 1)), np.empty(2 + 2 * columns * (len(s) + 1))
    over, under = np.empty(most_cuts(first) + 1), np.empty(most_cuts(first) + 1)
    mass[0], lost[0], mass[1], lost[1] = weights[0], 0.0, weights[1], total
    count = 2
    for j in range(columns):
        sort_people(rows, j, keys)
        if first[j + 1] - first[j] > LONG:
            weight_before_people(weights, first, j, keys, over, under)
        else:
            weight_before(weights, first, j, over, under, NONE)
        count = _column_masses(over, under, NONE, first[j + 1] - first[j], keys, s, total, count, mass, lost)
    gap, exact = _gap_of_masses(mass, lost, mean, eta)
    if not exact:
        gap = _gap_of_losses(losses, rows, s, mean, eta, first, offset)
    return gap if gap > ROUNDING * size else 0.0


# The same from the weight before every cut of every column (``all_before``).


@njit(error_model="numpy")
def masses_of_losses(over, under, weights, rows, s, first, keys, mass, lost):
    """The losses of a round and the weight that has each, into ``mass`` and ``lost``; ``keys`` is room to work in."""
    total, count = in_order_sum(s), 2
    mass[0], lost[0], mass[1], lost[1] = weights[0], 0.0, weights[1], total
    for j in range(len(first) - 1):
        at, cuts = np.uint64(first[j] + j), first[j + 1] - first[j]
        sort_people(rows, j, keys)
        count = _column_masses(over, under, at, cuts, keys, s, total, count, mass, lost)


@njit(error_model="numpy")
def mix_gap_from(mass, lost, losses, rows, s, probabilities, eta, first, offset):
    """As ``threshold_mix_gap``, from ``masses_of_losses``.

    Something else should be done between the two: numbers that were just stored one by one are slow to read at once.
    """
    mean, size = _mean_and_size(s, probabilities)
    gap, exact = _gap_of_masses(mass, lost, mean, eta)
    if not exact:
        gap = _gap_of_losses(losses, rows, s, mean, eta, first, offset)
    return gap if gap > ROUNDING * size else 0.0
