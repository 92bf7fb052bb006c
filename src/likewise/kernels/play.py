"""Weights, classes of thresholds, auditing, and a whole play made of them.

A class of thresholds is laid out as ``first[j] … first[j + 1]``: the cuts of column j, counted through all columns. Of
its N = 2 + 2M hypotheses, 0 and 1 are the constants, 2 + c says 1 to who passed cut c, 2 + M + c to who did not.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from likewise.kernels.metrics import CHEBYSHEV, CITYBLOCK, EUCLIDEAN, MAHALANOBIS
from likewise.theory import LOG_CEILING, ROUNDING

# How a learner turns losses into weights, and how much a report weighs.
EXPONENTIAL_WEIGHTS, HEDGE, ADAHEDGE_FIXED, ADAHEDGE_SCHEDULED, ADAHEDGE_TILTED = range(5)
WORST, FIRST = range(2)
UNIFORM = np.empty(0)
"""The offset of a uniform prior: there is none."""


# Weights ----------------------------------------------------------------------------------------------------


@njit(error_model="numpy", fastmath={"contract"})
def _power(x):
    """(q, 2^n) with e^x = 2^n (1 + q), for −680 ≤ x ≤ 680, written so that loops over it vectorise.

    x = n ln 2 + r with |r| ≤ ½ ln 2, and q = e^r − 1 by its Taylor polynomial of degree 13: the rest is below 2^−57.
    """
    # Adding 1.5 · 2^52 rounds to a whole number and leaves it in the lowest bits, here as the exponent of 2^n.
    shifted = x * 1.4426950408889634 + (6755399441055744.0 + 1023.0)
    n = shifted - (6755399441055744.0 + 1023.0)
    r = x - n * 0.693147180369123816490
    r = r - n * 1.90821492927058770002e-10
    # In pairs, by Estrin, as a chain of thirteen products would leave the processor waiting.
    r2 = r * r
    r4 = r2 * r2
    low = (0.5 + 0.16666666666666666 * r) + (0.041666666666666664 + 0.008333333333333333 * r) * r2
    mid = (0.001388888888888889 + 0.0001984126984126984 * r) + (2.48015873015873e-05 + 2.7557319223985893e-06 * r) * r2
    high = (2.755731922398589e-07 + 2.505210838544172e-08 * r) + (
        2.08767569878681e-09 + 1.6059043836821613e-10 * r
    ) * r2
    q = r + (low + (mid + high * r4) * r4) * r2
    bits = np.float64(shifted).view(np.int64) << np.int64(52)
    return q, np.int64(bits).view(np.float64)


@njit(error_model="numpy", fastmath={"contract"})
def exp(x):
    """e^x for −680 ≤ x ≤ 680, within a unit in the last place."""
    q, scale = _power(x)
    return (q + 1.0) * scale


@njit(error_model="numpy", fastmath={"contract"})
def expm1(x):
    """e^x − 1 for −680 ≤ x ≤ 680, with all its digits also where it is close to 0."""
    q, scale = _power(x)
    return q * scale + (scale - 1.0)


@njit(error_model="numpy")  # no products and sums in one step: the same bits on every machine
def log(x):
    """ln x of a positive normal number, within a unit in the last place, written so that loops over it vectorise.

    x = 2^n (1 + f) with √½ ≤ 1 + f < √2; ln(1 + f) by an odd polynomial in f/(2 + f), as in fdlibm.
    """
    bits = np.float64(x).view(np.int64) - np.int64(0x3FE6A09E00000000)
    whole = bits >> np.int64(52)
    mantissa = (bits & np.int64(0x000FFFFFFFFFFFFF)) + np.int64(0x3FE6A09E00000000)
    f = np.int64(mantissa).view(np.float64) - 1.0
    # A whole number in the lowest bits of 1.5 · 2^52, as processors are slow to turn integers into floats.
    n = np.int64(whole + np.int64(0x4338000000000000)).view(np.float64) - 6755399441055744.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = z * (
        0.6666666666666735130 + w * (0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591))
    )
    even = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332))
    half = 0.5 * f * f
    return n * 6.93147180369123816490e-01 - ((half - (s * (half + (odd + even)) + n * 1.90821492927058770002e-10)) - f)


@njit
def minimum(values):
    """The smallest, by four interleaved parts."""
    a, b, c, d = values[0], values[0], values[0], values[0]
    whole = len(values) // 4 * 4
    for i in range(0, whole, 4):
        a = min(a, values[i])
        b = min(b, values[i + 1])
        c = min(c, values[i + 2])
        d = min(d, values[i + 3])
    for i in range(whole, len(values)):
        a = min(a, values[i])
    return min(min(a, b), min(c, d))


@njit
def _maximum(values):
    """The largest."""
    high = values[0]
    for i in range(1, len(values)):
        high = max(high, values[i])
    return high


@njit
def _sum(values):
    """Σ in four interleaved parts: an order of its own, but always the same, and four times faster."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = len(values) // 4 * 4
    for i in range(0, whole, 4):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
    for i in range(whole, len(values)):
        a += values[i]
    return (a + b) + (c + d)


@njit(cache=True, error_model="numpy")
def gibbs(losses, eta, weights):
    """p_f ∝ exp(−η L_f), shifted by the smallest η L_f so that nothing overflows; log weights are losses at η = −1."""
    low = minimum(losses) if eta >= 0 else _maximum(losses)
    for i in range(len(losses)):
        exponent = -eta * (losses[i] - low)
        # Hopeless hypotheses get no weight at all: numbers near 1e-308 would slow every later pass down.
        weight = exp(max(exponent, -680.0))
        weights[i] = weight if exponent > -680.0 else 0.0
    share = 1.0 / _sum(weights)
    for i in range(len(losses)):
        weights[i] *= share


@njit(cache=True)
def accumulate(total, weights):
    """total += weights."""
    for i in range(len(total)):
        total[i] += weights[i]


@njit(cache=True)
def free_energy(losses, eta):
    """−(1/η) ln mean exp(−η L)."""
    low = minimum(losses)
    total = 0.0
    for i in range(len(losses)):
        total += math.exp(-eta * (losses[i] - low))
    return low - math.log(total / len(losses)) / eta


@njit(cache=True)
def leaders(losses, weights):
    """Equal weight on every minimiser."""
    low = minimum(losses)
    count = 0
    for i in range(len(losses)):
        if losses[i] == low:
            count += 1
    for i in range(len(losses)):
        weights[i] = 1.0 / count if losses[i] == low else 0.0


@njit(cache=True, error_model="numpy")
def prior_masses(losses, prior, eta, masses):
    """w_f exp(−η (L_f − low)), not normalised; returns low, the smallest loss."""
    low = minimum(losses)
    for i in range(len(losses)):
        exponent = -eta * (losses[i] - low)
        mass = prior[i] * exp(max(exponent, -680.0))
        masses[i] = mass if exponent > -680.0 else 0.0
    return low


@njit(cache=True, error_model="numpy")
def shared(losses, masses, prior, eta, low, share):
    """From masses to weights p ← (1 − σ) p + σ w, and the losses that these are the exponential weights of; in place.

    ``masses`` are w_f exp(−η (L_f − low)). With σ = 0 they are divided by their sum, and losses stay as they are.
    """
    total = _sum(masses)
    each = 1.0 / total
    if share == 0.0:
        for i in range(len(masses)):
            masses[i] *= each
        return
    kept, given = 1.0 - share, share * total
    for i in range(len(masses)):
        mixed = kept * (masses[i] / prior[i]) + given
        masses[i] = prior[i] * (mixed * each)
        losses[i] = low - log(mixed) / eta


@njit(cache=True)
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
def signed_weights(y, favoured, disfavoured, C, false_positive, false_negative):
    """s_i = c_fp (1 − y_i) − c_fn y_i + C (1[i = favoured] − 1[i = disfavoured]); a missing label adds nothing."""
    s = np.empty(len(y))
    for i in range(len(y)):
        s[i] = false_positive - (false_positive + false_negative) * y[i]
        if s[i] != s[i]:
            s[i] = 0.0
    if favoured >= 0:
        s[favoured] += C
        s[disfavoured] -= C
    return s


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


@njit(cache=True)
def threshold_added(losses, rows, s, first, out):
    """losses + Σ_i s_i f(x_i) for every f, in one pass along the cuts of each column; ``out`` may be ``losses``."""
    M = first[-1]
    total = _total(s)
    out[0] = losses[0]
    out[1] = losses[1] + total
    stopped = np.empty(_longest(first) + 1)  # Σ s of those who passed exactly this many cuts
    for j in range(len(first) - 1):
        cuts = first[j + 1] - first[j]
        up, down = slice(2 + first[j], 2 + first[j + 1]), slice(2 + M + first[j], 2 + M + first[j + 1])
        over, under, new_over, new_under = losses[up], losses[down], out[up], out[down]
        for c in range(cuts + 1):
            stopped[c] = 0.0
        for i in range(len(s)):
            stopped[rows[i, j]] += s[i]
        missed = 0.0
        for c in range(cuts):
            missed += stopped[c]
            new_over[c] = over[c] + (total - missed)
            new_under[c] = under[c] + missed


@njit(cache=True)
def threshold_shrunk(log_weights, rows, s, base, rate, first, out):
    """log w_f + ln(1 − rate (base + Σ_i s_i f(x_i))): one logarithm per step, not per hypothesis.

    ``out`` may be ``log_weights``.
    """
    M = first[-1]
    total = _total(s)
    bins, sums = np.empty(len(s), np.int64), np.empty(len(s))
    out[0] = log_weights[0] + math.log1p(-rate * base)
    out[1] = log_weights[1] + math.log1p(-rate * (base + total))
    for j in range(len(first) - 1):
        start, stop = first[j], first[j + 1]
        steps = _steps(rows, s, j, bins, sums)
        high = stop
        above = 0.0
        for at in range(steps + 1):
            low = start + (bins[at] if at < steps else 0)
            up = math.log1p(-rate * (base + above))
            down = math.log1p(-rate * (base + total - above))
            _shift(out, log_weights, 2 + low, 2 + high, up)
            _shift(out, log_weights, 2 + M + low, 2 + M + high, down)
            if at < steps:
                above = sums[at]
            high = low


@njit(cache=True)
def threshold_probability(weights, rows, first, out):
    """π(x): passing a cut gains the weight of 1[x >= c] and loses that of 1[x < c]."""
    M = first[-1]
    out[:] = weights[1] + _sum(weights[2 + M :])
    gained = np.empty(_longest(first) + 1)
    gained[0] = 0.0
    for j in range(len(first) - 1):
        over, under = weights[2 + first[j] : 2 + first[j + 1]], weights[2 + M + first[j] : 2 + M + first[j + 1]]
        total = 0.0
        for c in range(len(over)):
            total += over[c] - under[c]
            gained[c + 1] = total
        for i in range(len(rows)):
            out[i] += gained[rows[i, j]]
    for i in range(len(rows)):
        out[i] = min(1.0, max(0.0, out[i]))


@njit(cache=True)
def _longest(first):
    """The most cuts that a column has."""
    longest = 0
    for j in range(len(first) - 1):
        longest = max(longest, first[j + 1] - first[j])
    return longest


@njit
def _masses(weights, rows, s, first, mass, lost):
    """The losses that hypotheses have in a round, and the weight of those that have each; returns how many there are.

    Along a column the loss changes only at the people's steps, so there are few.
    """
    M, total = first[-1], _total(s)
    bins, sums = np.empty(len(s), np.int64), np.empty(len(s))
    before = np.empty((2, _longest(first) + 1))  # weight before each cut of a column
    over, under = before[0], before[1]
    over[0], under[0] = 0.0, 0.0
    mass[0], lost[0], mass[1], lost[1] = weights[0], 0.0, weights[1], total
    count = 2
    for j in range(len(first) - 1):
        up, down = weights[2 + first[j] : 2 + first[j + 1]], weights[2 + M + first[j] : 2 + M + first[j + 1]]
        passed, missed = 0.0, 0.0
        for c in range(len(up)):
            passed += up[c]
            missed += down[c]
            over[c + 1] = passed
            under[c + 1] = missed
        steps = _steps(rows, s, j, bins, sums)
        high, above = len(up), 0.0
        for at in range(steps + 1):
            low = bins[at] if at < steps else 0
            mass[count], lost[count] = over[high] - over[low], above
            mass[count + 1], lost[count + 1] = under[high] - under[low], total - above
            count += 2
            if at < steps:
                high, above = low, sums[at]
    return count


@njit(cache=True, error_model="numpy")
def threshold_mix_gap(weights, losses, rows, s, probabilities, eta, first, offset):
    """δ = p·ℓ + (1/η) ln Σ_f p_f exp(−η ℓ_f), with one exponential per step and none per hypothesis.

    ``losses`` are the cumulative ones before the round, for the rare case that all of Σ p exp(−ηℓ) underflows;
    ``offset`` is ln(N w_f) then, or empty for a uniform prior w.
    """
    mean = 0.0
    size = 0.0
    for i in range(len(s)):
        mean += s[i] * probabilities[i]
        size += abs(s[i])
    most = 2 + 2 * (len(first) - 1) * (len(s) + 1)
    both = np.empty((2, most))
    count = _masses(weights, rows, s, first, both[0], both[1])
    mass, lost = both[0, :count], both[1, :count]
    least = minimum(lost)
    if math.isinf(eta):
        gap = mean - least
        return gap if gap > ROUNDING * size else 0.0
    for i in range(count):
        mass[i] *= expm1(max(-eta * (lost[i] - least), -680.0))
    shrunk = _sum(mass)
    if shrunk > -1.0 + 1e-6:  # the masses are differences, good to 1e-15
        gap = mean - least + math.log1p(shrunk) / eta
    else:
        before, after = losses.copy(), np.empty(len(losses))
        for i in range(len(offset)):
            before[i] -= offset[i] / eta
        threshold_added(before, rows, s, first, after)
        gap = mean - (free_energy(after, eta) - free_energy(before, eta))
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
        return math.exp(min(knobs[1] * reports + math.log(knobs[0]), LOG_CEILING))
    if kind == ADAHEDGE_TILTED:
        return max(knobs[1] * knobs[2] * math.sqrt(t / log_size), knobs[0] * delta / log_size)
    return knobs[0] if kind == ADAHEDGE_FIXED else knobs[1]


@njit
def raised(kind, knobs, delta, log_size):
    """The least that Δ becomes on a report."""
    if kind != ADAHEDGE_TILTED:
        return 0.0
    return min(delta * (1 + knobs[0] ** 2 / (2 * log_size)), math.exp(LOG_CEILING))


@njit
def _ones(y):
    """How many labels are 1."""
    count = 0.0
    for i in range(len(y)):
        if y[i] == 1.0:
            count += 1.0
    return count


@njit(cache=True)
def play_rounds(
    kind, knobs, costs, log_size, first, rows, y, view, draws, metric, metric_weights, inverse, alpha, level, choose,
    losses, weights, delta, reports, done, average, shown, pairs, violates, penalties,
):  # fmt: skip
    """Play ``len(draws)`` rounds of a threshold class on a stored population, into the arrays that are given.

    ``losses`` are the learner's numbers (log-weights for exponential weights), ``knobs`` its parameters: (γ/B, C),
    (η, C), (C), (first, growth) or (c, floor, k). ``losses`` and ``weights`` are changed in place; returns Δ, the
    number of reports and that of rounds after the last round.
    """
    k = draws.shape[1]
    batch = np.empty((k, rows.shape[1]), rows.dtype)
    seen = np.empty((k, view.shape[1]))
    labels, p = np.empty(k), np.empty(k)
    for r in range(len(draws)):
        for i in range(k):
            batch[i] = rows[draws[r, i]]
            seen[i] = view[draws[r, i]]
            labels[i] = y[draws[r, i]]
        threshold_probability(weights, batch, first, p)
        high, low, excess = audit(seen, p, metric, metric_weights, inverse, level, choose)
        C = penalty(kind, knobs, reports, done + 1, delta, log_size)
        shown[r] = p
        pairs[r, 0], pairs[r, 1] = high, low
        violates[r] = -1 if high < 0 else (1 if excess > alpha else 0)
        penalties[r] = C
        accumulate(average, weights)
        s = signed_weights(labels, high, low, C, costs[0], costs[1])
        if kind == EXPONENTIAL_WEIGHTS:
            threshold_shrunk(losses, batch, s, costs[1] * _ones(labels) + C, knobs[0], first, losses)
            gibbs(losses, -1.0, weights)
        elif kind == HEDGE:
            threshold_added(losses, batch, s, first, losses)
            gibbs(losses, knobs[0], weights)
        else:
            eta = log_size / delta if delta > 0 else math.inf
            least = raised(kind, knobs, delta, log_size) if high >= 0 else 0.0
            delta = max(delta + threshold_mix_gap(weights, losses, batch, s, p, eta, first, UNIFORM), least)
            threshold_added(losses, batch, s, first, losses)
            if delta > 0:
                gibbs(losses, log_size / delta, weights)
            else:
                leaders(losses, weights)
        reports += high >= 0
        done += 1
    return delta, reports, done
