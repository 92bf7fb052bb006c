"""Losses and probabilities of a class of thresholds.

A class of thresholds is laid out as ``first[j] … first[j + 1]``: the cuts of column j, counted through all columns. Of
its N = 2 + 2M hypotheses, 0 and 1 are the constants, 2 + c says 1 to those who passed cut c, 2 + M + c to the others.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from likewise.kernels.caching import cached
from likewise.kernels.elementary import log1p
from likewise.kernels.lanes import total_of

NONE, ONE = np.uint64(0), np.uint64(1)
PERSON_BITS, PERSON = 6, 63
"""A batch that is sorted has at most 64 people: a place, times 64, and a person fit into one number."""
LONG = 16_384
"""From this many cuts on, the weight of a column is added up between the people alone, in another order."""


@njit(cache=True)
def _steps(rows, s, j, bins, sums):
    """The people of column j by the cuts they passed, highest first, with Σ s of those who passed at least as many.

    Between two of these steps all hypotheses of the column have the same loss. Returns how many steps there are.
    """
    count = 0
    for i in range(len(s)):
        b = rows[i, j]
        at = count
        while at > 0 and bins[at - 1] < b:
            at -= 1
        if at > 0 and bins[at - 1] == b:
            sums[at - 1] += s[i]
        else:
            for move in range(count, at, -1):
                bins[move] = bins[move - 1]
                sums[move] = sums[move - 1]
            bins[at] = b
            sums[at] = s[i]
            count += 1
    for at in range(1, count):
        sums[at] += sums[at - 1]
    return count


@njit(cache=True)
def in_order_sum(s):
    """Σ s, from the first to the last."""
    total = 0.0
    for i in range(len(s)):
        total += s[i]
    return total


@njit
def _shift(out, values, start, stop, amount):
    """out = values + amount from ``start`` to ``stop``; the slices let the loop vectorise."""
    to, of = out[start:stop], values[start:stop]
    for i in range(len(to)):
        to[i] = of[i] + amount


@njit
def _missed(c, place, weight):
    """The weight of a person who has not passed cut c."""
    return weight if c >= place else 0.0


@njit
def _add_four(losses, up, down, cuts, four, out):
    """Along one column, Σ s f of four people, given by their weights and places: no chain of sums, so it vectorises."""
    (a, b, c, d), (first, second, third, fourth) = four
    total = (a + b) + (c + d)
    for i in range(cuts):
        missed = (_missed(i, first, a) + _missed(i, second, b)) + (_missed(i, third, c) + _missed(i, fourth, d))
        over, under = up + np.uint64(i), down + np.uint64(i)
        out[over] = losses[over] + (total - missed)
        out[under] = losses[under] + missed


@njit
def _add_four_to(losses, up, down, cuts, four):
    """The same in place: LLVM vectorises what changes one array, and not what may change another."""
    (a, b, c, d), (first, second, third, fourth) = four
    total = (a + b) + (c + d)
    for i in range(cuts):
        missed = (_missed(i, first, a) + _missed(i, second, b)) + (_missed(i, third, c) + _missed(i, fourth, d))
        losses[up + np.uint64(i)] += total - missed
        losses[down + np.uint64(i)] += missed


@njit
def _four(rows, s, j, i):
    """Weights and places of four people in column j, from person i on; who isn't there weighs nothing."""
    k = len(s)
    b, second = (s[i + 1], rows[i + 1, j]) if i + 1 < k else (0.0, rows[i, j])
    c, third = (s[i + 2], rows[i + 2, j]) if i + 2 < k else (0.0, rows[i, j])
    d, fourth = (s[i + 3], rows[i + 3, j]) if i + 3 < k else (0.0, rows[i, j])
    return (s[i], b, c, d), (rows[i, j], second, third, fourth)


@njit(cache=True)
def threshold_added(losses, rows, s, first, out):
    """losses + Σ_i s_i f(x_i) for every f, four people at a time."""
    M = first[-1]
    out[0] = losses[0]
    out[1] = losses[1] + in_order_sum(s)
    for j in range(len(first) - 1):
        up, down, cuts = np.uint64(2 + first[j]), np.uint64(2 + M + first[j]), first[j + 1] - first[j]
        _add_four(losses, up, down, cuts, _four(rows, s, j, 0), out)
        for four in range(1, (len(s) + 3) // 4):
            _add_four_to(out, up, down, cuts, _four(rows, s, j, 4 * four))


@njit(cache=True)
def threshold_add(losses, rows, s, first):
    """The same in place."""
    M = first[-1]
    losses[1] += in_order_sum(s)
    for j in range(len(first) - 1):
        up, down, cuts = np.uint64(2 + first[j]), np.uint64(2 + M + first[j]), first[j + 1] - first[j]
        for four in range((len(s) + 3) // 4):
            _add_four_to(losses, up, down, cuts, _four(rows, s, j, 4 * four))


@cached
def threshold_shrunk(log_weights, rows, s, base, rate, first, out):
    """log w_f + ln(1 − rate (base + Σ_i s_i f(x_i))): one logarithm per step, not per hypothesis.

    ``out`` may be ``log_weights``.
    """
    M = first[-1]
    total = in_order_sum(s)
    bins, sums = np.empty(len(s), np.int64), np.empty(len(s))
    out[0] = log_weights[0] + log1p(-rate * base)
    out[1] = log_weights[1] + log1p(-rate * (base + total))
    for j in range(len(first) - 1):
        start, stop = first[j], first[j + 1]
        steps = _steps(rows, s, j, bins, sums)
        high = stop
        above = 0.0
        for at in range(steps + 1):
            low = start + (bins[at] if at < steps else 0)
            up = log1p(-rate * (base + above))
            down = log1p(-rate * (base + total - above))
            _shift(out, log_weights, 2 + low, 2 + high, up)
            _shift(out, log_weights, 2 + M + low, 2 + M + high, down)
            if at < steps:
                above = sums[at]
            high = low


# Places are unsigned below, as numba asks of every signed index whether it counts from the end, and makes a view of an
# array more slowly than a round can wait.


@njit
def weight_before(weights, first, j, over, under, at):
    """Along column j, the weight before each cut, from ``at`` on: of hypotheses 1[x >= c], and of 1[x < c]."""
    up, down = np.uint64(2 + first[j]), np.uint64(2 + first[-1] + first[j])
    passed, missed = 0.0, 0.0
    over[at], under[at] = 0.0, 0.0
    for c in range(first[j + 1] - first[j]):
        cut = np.uint64(c)
        passed += weights[up + cut]
        missed += weights[down + cut]
        over[at + cut + ONE] = passed
        under[at + cut + ONE] = missed


@njit
def sort_people(rows, j, keys):
    """The people of column j by the cuts they passed, most first: places and people, in one number each.

    Every pair is compared, whatever the outcome: a processor is slower to guess wrong than to do so.
    """
    for i in range(len(rows)):
        key = (np.int64(rows[i, j]) << PERSON_BITS) + i
        for at in range(i):
            other = keys[at]
            keys[at] = max(other, key)
            key = min(other, key)
        keys[i] = key


@njit
def weight_before_people(weights, first, j, keys, over, under):
    """As ``weight_before``, at the places of the people alone: sums in lanes, for columns with very many cuts.

    ``keys`` are the people by the cuts they passed, most first.
    """
    cuts, up, down = first[j + 1] - first[j], 2 + first[j], 2 + first[-1] + first[j]
    passed, missed, low = 0.0, 0.0, 0
    over[0], under[0] = 0.0, 0.0
    for at in range(len(keys), -1, -1):
        high = (keys[at - 1] >> PERSON_BITS) if at > 0 else cuts
        passed += total_of(weights[up + low : up + high])
        missed += total_of(weights[down + low : down + high])
        over[high], under[high] = passed, missed
        low = high


@njit
def _says_one(over, under, rows, j, at, cuts, out):
    """Add the weight in column j that says 1 to each person: of the cuts passed, and of the other kind of those not."""
    everything = under[at + np.uint64(cuts)]
    for i in range(len(rows)):
        passed = at + np.uint64(rows[i, j])
        out[i] += over[passed] + (everything - under[passed])


@cached
def threshold_probability(weights, rows, first, out):
    """π(x), column by column."""
    out[:] = weights[1]
    over, under = np.empty(most_cuts(first) + 1), np.empty(most_cuts(first) + 1)
    keys = np.empty(len(rows), np.int64)
    for j in range(len(first) - 1):
        if first[j + 1] - first[j] > LONG:
            sort_people(rows, j, keys)
            weight_before_people(weights, first, j, keys, over, under)
        else:
            weight_before(weights, first, j, over, under, NONE)
        _says_one(over, under, rows, j, NONE, first[j + 1] - first[j], out)
    _within(out)


@njit
def _within(out):
    """Probabilities, whatever rounding has left over."""
    for i in range(len(out)):
        out[i] = min(1.0, max(0.0, out[i]))


@njit(cache=True)
def most_cuts(first):
    """The most cuts that a column has."""
    longest = 0
    for j in range(len(first) - 1):
        longest = max(longest, first[j + 1] - first[j])
    return longest


# From the weight before every cut of every column, which a play sums up once for each round. Column j starts at
# first[j] + j, as it has one place more than cuts.


@njit
def places(first):
    """How many places all columns have."""
    return first[-1] + len(first) - 1


@njit
def all_before(weights, first, over, under):
    """The weight before each cut, of all columns."""
    for j in range(len(first) - 1):
        weight_before(weights, first, j, over, under, np.uint64(first[j] + j))


@njit
def probability_from(weights, over, under, rows, first, out):
    """As ``threshold_probability``, person by person: the same sums, which need not be stored in between."""
    for i in range(len(rows)):
        total = weights[1]
        for j in range(len(first) - 1):
            passed, end = np.uint64(first[j] + j + rows[i, j]), np.uint64(first[j + 1] + j)
            total += over[passed] + (under[end] - under[passed])
        out[i] = total
    _within(out)
