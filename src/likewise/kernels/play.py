"""Weights, classes of thresholds, auditing, and a whole play made of them.

A class of thresholds is laid out as ``first[j] … first[j + 1]``: the cuts of column j, counted through all columns. Of
its N = 2 + 2M hypotheses, 0 and 1 are the constants, 2 + c says 1 to who passed cut c, 2 + M + c to who did not.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from likewise.kernels import elementary, lanes
from likewise.kernels import lots as lots_of_a_round
from likewise.kernels.caching import cached
from likewise.kernels.elementary import exp, expm1, log, log1p, power
from likewise.kernels.lanes import minimum, total_of
from likewise.kernels.lots import (
    ALL,
    LABELS,
    accumulate_floored,
    draw,
    estimate_at,
    label_part,
    penalised,
    with_floor,
)
from likewise.kernels.metrics import CHEBYSHEV, CITYBLOCK, EUCLIDEAN, MAHALANOBIS
from likewise.theory import LOG_CEILING, ROUNDING

# How a learner turns losses into weights, and how much a report weighs.
EXPONENTIAL_WEIGHTS, HEDGE, ADAHEDGE_FIXED, ADAHEDGE_SCHEDULED, ADAHEDGE_TILTED = range(5)
WORST, FIRST = range(2)
UNIFORM = np.empty(0)
"""The offset of a uniform prior: there is none."""
PERSON_BITS, PERSON = 6, 63
"""A batch that is sorted has at most 64 people: a place, times 64, and a person fit into one number."""
LONG = 16_384
"""From this many cuts on, the weight of a column is added up between the people alone, in another order."""
NONE, ONE = np.uint64(0), np.uint64(1)


# Weights ----------------------------------------------------------------------------------------------------


@njit
def _maximum(values):
    """The largest."""
    high = values[0]
    for i in range(1, len(values)):
        high = max(high, values[i])
    return high


@cached(elementary, lanes)
def gibbs(losses, eta, weights):
    """p_f ∝ exp(−η L_f), shifted by the smallest η L_f so that nothing overflows; log weights are losses at η = −1."""
    low = minimum(losses) if eta >= 0 else _maximum(losses)
    for i in range(len(losses)):
        exponent = -eta * (losses[i] - low)
        # Hopeless hypotheses get no weight at all: numbers near 1e-308 would slow every later pass down.
        weight = power(max(exponent, -680.0))
        weights[i] = weight if exponent > -680.0 else 0.0
    share = 1.0 / total_of(weights)
    for i in range(len(losses)):
        weights[i] *= share


@njit(cache=True)
def accumulate(total, weights):
    """total += weights."""
    for i in range(len(total)):
        total[i] += weights[i]


@cached(elementary, lanes)
def free_energy(losses, eta):
    """−(1/η) ln mean exp(−η L)."""
    low = minimum(losses)
    total = 0.0
    for i in range(len(losses)):
        total += power(max(-eta * (losses[i] - low), -680.0))
    return low - log(total / len(losses)) / eta


@cached(lanes)
def leaders(losses, weights):
    """Equal weight on every minimiser."""
    low = minimum(losses)
    count = 0
    for i in range(len(losses)):
        if losses[i] == low:
            count += 1
    for i in range(len(losses)):
        weights[i] = 1.0 / count if losses[i] == low else 0.0


@cached(elementary, lanes)
def prior_gibbs(losses, prior, eta, weights):
    """p_f = w_f exp(−η (L_f − φ)), into ``weights``; returns φ, for which they add up to 1."""
    low = minimum(losses)
    for i in range(len(losses)):
        exponent = -eta * (losses[i] - low)
        mass = prior[i] * power(max(exponent, -680.0))
        weights[i] = mass if exponent > -680.0 else 0.0
    total = total_of(weights)
    share = 1.0 / total
    for i in range(len(weights)):
        weights[i] *= share
    return low - log(total) / eta


@cached(elementary)
def shared(losses, weights, prior, inverse, eta, ground, share):
    """p ← (1 − σ) p + σ w, and the losses that these are the exponential weights of; in place.

    ``weights`` are w_f exp(−η (L_f − ground)), which add up to 1 before and after; ``inverse`` is 1/w.
    """
    kept, scale = 1.0 - share, 1.0 / eta
    for i in range(len(weights)):
        mixed = kept * (weights[i] * inverse[i]) + share
        weights[i] = prior[i] * mixed
        losses[i] = ground - log(mixed) * scale


@cached(lanes)
def prior_leaders(losses, prior, weights):
    """The prior, restricted to the minimisers."""
    low = minimum(losses)
    total = 0.0
    for i in range(len(losses)):
        weights[i] = prior[i] if losses[i] == low else 0.0
        total += weights[i]
    for i in range(len(losses)):
        weights[i] /= total


# Thresholds -------------------------------------------------------------------------------------------------


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
def _total(s):
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
    out[1] = losses[1] + _total(s)
    for j in range(len(first) - 1):
        up, down, cuts = np.uint64(2 + first[j]), np.uint64(2 + M + first[j]), first[j + 1] - first[j]
        _add_four(losses, up, down, cuts, _four(rows, s, j, 0), out)
        for four in range(1, (len(s) + 3) // 4):
            _add_four_to(out, up, down, cuts, _four(rows, s, j, 4 * four))


@njit(cache=True)
def threshold_add(losses, rows, s, first):
    """The same in place."""
    M = first[-1]
    losses[1] += _total(s)
    for j in range(len(first) - 1):
        up, down, cuts = np.uint64(2 + first[j]), np.uint64(2 + M + first[j]), first[j + 1] - first[j]
        for four in range((len(s) + 3) // 4):
            _add_four_to(losses, up, down, cuts, _four(rows, s, j, 4 * four))


@cached(elementary, lanes)
def threshold_shrunk(log_weights, rows, s, base, rate, first, out):
    """log w_f + ln(1 − rate (base + Σ_i s_i f(x_i))): one logarithm per step, not per hypothesis.

    ``out`` may be ``log_weights``.
    """
    M = first[-1]
    total = _total(s)
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
def _before(weights, first, j, over, under, at):
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
def _before_people(weights, first, j, keys, over, under):
    """As ``_before``, at the places of the people alone: sums in lanes, for columns with very many cuts.

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


@cached(lanes)
def threshold_probability(weights, rows, first, out):
    """π(x), column by column."""
    out[:] = weights[1]
    over, under = np.empty(_longest(first) + 1), np.empty(_longest(first) + 1)
    keys = np.empty(len(rows), np.int64)
    for j in range(len(first) - 1):
        if first[j + 1] - first[j] > LONG:
            _sorted(rows, j, keys)
            _before_people(weights, first, j, keys, over, under)
        else:
            _before(weights, first, j, over, under, NONE)
        _says_one(over, under, rows, j, NONE, first[j + 1] - first[j], out)
    _within(out)


@njit
def _within(out):
    """Probabilities, whatever rounding has left over."""
    for i in range(len(out)):
        out[i] = min(1.0, max(0.0, out[i]))


@njit(cache=True)
def _longest(first):
    """The most cuts that a column has."""
    longest = 0
    for j in range(len(first) - 1):
        longest = max(longest, first[j + 1] - first[j])
    return longest


@njit
def _sorted(rows, j, keys):
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


@cached(elementary, lanes)
def threshold_mix_gap(weights, losses, rows, s, probabilities, eta, first, offset):
    """δ = p·ℓ + (1/η) ln Σ_f p_f exp(−η ℓ_f), with one exponential per step and none per hypothesis.

    ``losses`` are the cumulative ones before the round; ``offset`` is ln(N w_f), or empty for a uniform prior w.
    """
    mean, size = _mean_and_size(s, probabilities)
    columns, total, keys = len(first) - 1, _total(s), np.empty(len(s), np.int64)
    mass, lost = np.empty(2 + 2 * columns * (len(s) + 1)), np.empty(2 + 2 * columns * (len(s) + 1))
    over, under = np.empty(_longest(first) + 1), np.empty(_longest(first) + 1)
    mass[0], lost[0], mass[1], lost[1] = weights[0], 0.0, weights[1], total
    count = 2
    for j in range(columns):
        _sorted(rows, j, keys)
        if first[j + 1] - first[j] > LONG:
            _before_people(weights, first, j, keys, over, under)
        else:
            _before(weights, first, j, over, under, NONE)
        count = _column_masses(over, under, NONE, first[j + 1] - first[j], keys, s, total, count, mass, lost)
    gap, exact = _gap_of_masses(mass, lost, mean, eta)
    if not exact:
        gap = _gap_of_losses(losses, rows, s, mean, eta, first, offset)
    return gap if gap > ROUNDING * size else 0.0


# The same from the weight before every cut of every column, which a play sums up once for each round. Column j starts
# at first[j] + j, as it has one place more than cuts.


@njit
def places(first):
    """How many places all columns have."""
    return first[-1] + len(first) - 1


@njit
def all_before(weights, first, over, under):
    """The weight before each cut, of all columns."""
    for j in range(len(first) - 1):
        _before(weights, first, j, over, under, np.uint64(first[j] + j))


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


@njit(error_model="numpy")
def masses_of_losses(over, under, weights, rows, s, first, keys, mass, lost):
    """The losses of a round and the weight that has each, into ``mass`` and ``lost``; ``keys`` is room to work in."""
    total, count = _total(s), 2
    mass[0], lost[0], mass[1], lost[1] = weights[0], 0.0, weights[1], total
    for j in range(len(first) - 1):
        at, cuts = np.uint64(first[j] + j), first[j + 1] - first[j]
        _sorted(rows, j, keys)
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


# Auditing ---------------------------------------------------------------------------------------------------


@njit(cache=True)
def distance(a, b, metric, weights, inverse):
    """The named metric between two people; ``weights`` and ``inverse`` (VI) where the metric takes them."""
    total = 0.0
    if metric == MAHALANOBIS:
        for u in range(len(a)):
            part = 0.0
            for v in range(len(a)):
                part += inverse[u, v] * (a[v] - b[v])
            total += (a[u] - b[u]) * part
        return math.sqrt(max(0.0, total))
    for u in range(len(a)):
        apart = abs(a[u] - b[u])
        if metric == CITYBLOCK:
            total += weights[u] * apart
        elif metric == CHEBYSHEV:
            if weights[u] > 0:
                total = max(total, weights[u] * apart)
        else:
            total += weights[u] * apart * apart
    return math.sqrt(total) if metric == EUCLIDEAN else total


@njit(cache=True)
def distances(view, metric, weights, inverse):
    """(k, k) distances of the people of a view."""
    k = len(view)
    out = np.zeros((k, k))
    for i in range(k):
        for j in range(i + 1, k):
            out[i, j] = distance(view[i], view[j], metric, weights, inverse)
            out[j, i] = out[i, j]
    return out


@njit(cache=True)
def chosen_pair(apart, probabilities, level, choose):
    """As ``audit``, for distances that are given; (−2, −2, 0) if one of them is negative or not a number."""
    k = len(probabilities)
    best, high, low = level, -1, -1
    for i in range(k):
        for j in range(k):
            if not apart[i, j] >= 0.0:
                return -2, -2, 0.0
            excess = probabilities[i] - probabilities[j] - apart[i, j]
            if excess > best and (choose == WORST or high < 0):
                best, high, low = excess, i, j
    return high, low, (best if high >= 0 else 0.0)


@njit(cache=True)
def spread(probabilities):
    """The largest gap of any pair."""
    low, high = probabilities[0], probabilities[0]
    for i in range(1, len(probabilities)):
        low, high = min(low, probabilities[i]), max(high, probabilities[i])
    return high - low


@njit(cache=True)
def audit(view, probabilities, metric, weights, inverse, level, choose):
    """The pair to report, favoured first, and its excess; (−1, −1, 0) for none. Pairs within the level need no look."""
    k = len(probabilities)
    best, high, low = level, -1, -1
    for i in range(k):
        for j in range(k):
            gap = probabilities[i] - probabilities[j]
            if gap <= best:
                continue
            excess = gap - distance(view[i], view[j], metric, weights, inverse)
            if excess != excess:
                return -2, -2, 0.0  # a missing value can't be compared
            if excess > best:
                if choose == FIRST:
                    return i, j, excess
                best, high, low = excess, i, j
    return high, low, (best if high >= 0 else 0.0)


# A whole play -----------------------------------------------------------------------------------------------


@njit
def penalty(kind, knobs, reports, t, delta, log_size):
    """C_t, by the learner's rule."""
    if kind == ADAHEDGE_SCHEDULED:
        return exp(min(knobs[1] * reports + log(knobs[0]), LOG_CEILING))
    if kind == ADAHEDGE_TILTED:
        return max(knobs[1] * knobs[2] * math.sqrt(t / log_size), knobs[0] * delta / log_size)
    return knobs[0] if kind == ADAHEDGE_FIXED else knobs[1]


@njit
def raised(kind, knobs, delta, log_size):
    """The least that Δ becomes on a report."""
    if kind != ADAHEDGE_TILTED:
        return 0.0
    return min(delta * (1 + knobs[0] ** 2 / (2 * log_size)), exp(LOG_CEILING))


@njit
def _ones(y, decisions, side):
    """How many of the labels that are seen are 1."""
    count = 0.0
    for i in range(len(y)):
        if y[i] == 1.0 and (side[LABELS] == ALL or decisions[i]):
            count += 1.0
    return count


@cached(elementary, lanes, lots_of_a_round)
def play_rounds(
    kind, knobs, costs, side, log_size, first, k, rows, y, view, weight, metric, metric_weights, inverse, alpha, level,
    choose, losses, weights, delta, reports, done, sums, average, lots, shown, pairs, violates, penalties, decisions,
    estimates,
):  # fmt: skip
    """Play rounds of a threshold class on people who come k by k, into the arrays that are given.

    ``losses`` are the learner's numbers (log-weights for exponential weights), ``knobs`` its parameters: (γ/B, C),
    (η, C), (C), (first, growth) or (c, floor, k). ``losses`` and ``weights`` are changed in place; returns Δ, the
    number of reports and that of rounds after the last round. ``side`` says whose labels are seen
    (``likewise.kernels.lots``), ``sums`` belong to its running doubt and are changed in place.
    """
    columns, own, keys, part = len(first) - 1, np.empty(k), np.empty(k, np.int64), np.empty(k)
    over, under = np.empty(places(first)), np.empty(places(first))
    mass, lost = np.empty(2 + 2 * columns * (k + 1)), np.empty(2 + 2 * columns * (k + 1))
    for r in range(len(y) // k):
        batch, labels, seen = rows[r * k : (r + 1) * k], y[r * k : (r + 1) * k], view[r * k : (r + 1) * k]
        estimate, p = estimates[r], shown[r]
        estimate_at(side, done + 1, costs[1], sums, estimate)
        all_before(weights, first, over, under)
        probability_from(weights, over, under, batch, first, own)
        with_floor(own, estimate[0], p)
        draw(lots[r], p, decisions[r])
        high, low, excess = audit(seen, p, metric, metric_weights, inverse, level, choose)
        C = penalty(kind, knobs, reports, done + 1, delta, log_size)
        pairs[r, 0], pairs[r, 1] = high, low
        violates[r] = -1 if high < 0 else (1 if excess > alpha else 0)
        penalties[r] = C
        label_part(labels, weight[r * k : (r + 1) * k], costs[0], costs[1], side, estimate, p, decisions[r], sums, part)
        s = penalised(part, high, low, C)
        if kind != EXPONENTIAL_WEIGHTS and kind != HEDGE:
            masses_of_losses(over, under, weights, batch, s, first, keys, mass, lost)
        accumulate_floored(average, weights, estimate[0])
        if kind == EXPONENTIAL_WEIGHTS:
            base = costs[1] * _ones(labels, decisions[r], side) + C
            threshold_shrunk(losses, batch, s, base, knobs[0], first, losses)
            gibbs(losses, -1.0, weights)
        elif kind == HEDGE:
            threshold_add(losses, batch, s, first)
            gibbs(losses, knobs[0], weights)
        else:
            eta = log_size / delta if delta > 0 else math.inf
            least = raised(kind, knobs, delta, log_size) if high >= 0 else 0.0
            gap = mix_gap_from(mass, lost, losses, batch, s, own, eta, first, UNIFORM)
            delta = max(delta + gap, least)
            threshold_add(losses, batch, s, first)
            if delta > 0:
                gibbs(losses, log_size / delta, weights)
            else:
                leaders(losses, weights)
        reports += high >= 0
        done += 1
    return delta, reports, done
