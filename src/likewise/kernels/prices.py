"""Prices of reports that are kept: each is set exactly, given the others, until none is far off.

A kept report has D_f = f(x1) − f(x2) ∈ {−1, 0, 1}, a price μ that may be changed in every round, and a penalty that
starts at a gap of a with slope C and gets steeper at b, up to the cap C̄. With weights p ∝ w exp(−η(L + Σ μ D)), the
best price alone puts p·D at a if μ ≤ C, at b if C ≤ μ ≤ C̄: a quadratic equation in exp(−η · change).

A class keeps D in its own form: listed hypotheses as a row of −1, 0, 1; cells as the two cells; thresholds as the cuts
that either person passed, in each column.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from likewise.kernels.caching import cached
from likewise.kernels.elementary import exp, log
from likewise.kernels.lanes import total_of
from likewise.kernels.terms import CAP, PRICE, SLOPE, START, STEEP
from likewise.kernels.thresholds import NONE, ONE, all_before
from likewise.kernels.weights import prior_gibbs

FAR = 300.0
"""A change of η μ beyond this is made from the losses again: masses would leave the range of floats."""
NEAR, RARE = 2.0, 1e-4
"""Sums along cuts are changed in place if η μ changes by at most the first and a row's mass is at least the second part
of all: they are differences, and have few digits of what is small or grows."""


@njit(error_model="numpy")
def best_price(price, P, Z, M, slope, cap, start, steep, eta):
    """The exact price of a row, from the masses where D is 1, 0 and −1 at its present price."""
    return _best(price, P, Z, M, slope, cap, start, steep, eta)[0]


@njit(error_model="numpy", forceinline=True)
def _best(price, P, Z, M, slope, cap, start, steep, eta):
    """The exact price, and exp(−η · change) where that is known without an exponential; or else 0.

    The price that puts p·D at a is no lower than that at b, so above C one of the two is enough to look at.
    """
    if P <= 0.0:
        return 0.0, 0.0
    if Z + M <= 0.0:
        return cap, 0.0
    if price > slope:
        factor = _factor(steep, P, Z, M)
        high = price - log(factor) / eta
        if high > slope:
            return (high, factor) if high < cap else (cap, 0.0)
    factor = _factor(start, P, Z, M)
    low = price - log(factor) / eta
    if low <= slope:
        return (low, factor) if low > 0.0 else (0.0, 0.0)
    factor = _factor(steep, P, Z, M)
    high = price - log(factor) / eta
    return (high, factor) if slope < high < cap else (min(max(high, slope), cap), 0.0)


@njit(error_model="numpy", forceinline=True)
def _factor(v, P, Z, M):
    """What the mass where D = 1 must be multiplied by, and that where D = −1 divided by, so that p·D = v."""
    return (v * Z + math.sqrt(v * v * Z * Z + 4.0 * (1.0 - v * v) * P * M)) / (2.0 * (1.0 - v) * P)


@njit(error_model="numpy", forceinline=True)
def _off(gap, terms, j, tolerance):
    """Whether the gap p·D of row j is further than the tolerance from where its price should have put it."""
    price, slope, cap = terms[j, PRICE], terms[j, SLOPE], terms[j, CAP]
    rise = gap > (terms[j, START] if price < slope else terms[j, STEEP]) + tolerance and price < cap
    fall = gap < (terms[j, START] if price <= slope else terms[j, STEEP]) - tolerance and price > 0.0
    return rise or fall


@njit(error_model="numpy", forceinline=True)
def _usable(change, total):
    """Whether masses can be multiplied through: neither they nor their sum leave the range of floats."""
    return abs(change) <= FAR and 1e-100 < total < 1e100


@njit(error_model="numpy", forceinline=True)
def _ends(person):
    """A bit for the last six digits of each person's number: most rows are of people whose bit is not set."""
    some = NONE
    for i in range(len(person)):
        some |= ONE << np.uint64(person[i] & 63)
    return some


@njit(cache=True, error_model="numpy")
def met(person, people):
    """Whether the first person of some row is among these people."""
    some = _ends(person)
    for j in range(len(people)):
        if (some >> np.uint64(people[j, 0] & 63)) & ONE:
            for i in range(len(person)):
                if person[i] == people[j, 0]:
                    return True
    return False


@njit(cache=True, error_model="numpy")
def seen_fine(count, person, p, people, gaps, terms, passed):
    """Note gaps that were reviewed and found fine, on the first ``count`` rows, where they are of the same two people.

    Where a gap passes that is at least the one reported, the price may rise no further.
    """
    some = _ends(person)
    for j in range(count):
        if not (some >> np.uint64(people[j, 0] & 63)) & ONE:
            continue
        for i in range(len(p)):
            if person[i] != people[j, 0]:
                continue
            for other in range(len(p)):
                if person[other] == people[j, 1]:
                    passed[j] = max(passed[j], p[i] - p[other])
                    if p[i] - p[other] >= gaps[j]:
                        terms[j, CAP] = min(terms[j, CAP], max(terms[j, SLOPE], terms[j, PRICE]))


# Listed hypotheses ------------------------------------------------------------------------------------------


@njit(error_model="numpy")
def _listed_masses(row, masses):
    """The masses where D is 1, 0 and −1."""
    P, Z, M = 0.0, 0.0, 0.0
    for i in range(len(row)):
        if row[i] > 0:
            P += masses[i]
        elif row[i] < 0:
            M += masses[i]
        else:
            Z += masses[i]
    return P, Z, M


@njit(error_model="numpy")
def _listed_step(row, term, losses, masses, prior, eta, P, Z, M):
    """Set the price of one row; returns whether it changed, and φ where masses had to be made from the losses again."""
    total = P + Z + M
    price = best_price(term[PRICE], P / total, Z / total, M / total, term[SLOPE], term[CAP], term[START],
                       term[STEEP], eta)  # fmt: skip
    change = price - term[PRICE]
    if change == 0.0:
        return False, math.inf
    term[PRICE] = price
    usable = _usable(eta * change, total)
    down = exp(-eta * change) if usable else 1.0
    up = 1.0 / down
    for i in range(len(row)):
        if row[i] > 0:
            losses[i] += change
            masses[i] *= down
        elif row[i] < 0:
            losses[i] -= change
            masses[i] *= up
    return True, (math.inf if usable else prior_gibbs(losses, prior, eta, masses))


@cached
def listed_prices(losses, weights, prior, eta, ground, rows, terms, fresh, sweeps, tolerance):
    """Set the prices of (J, N) rows: the ``fresh`` newest first, then sweeps from the oldest on. All in place.

    ``weights`` are w_f exp(−η (L_f − ground)), and add up to 1 before and after; returns ground.
    """
    ever = False
    for sweep in range(sweeps + 1):  # the first one is over the fresh rows, whatever their gaps
        moved = sweep == 0
        for j in range(len(rows) - fresh if sweep == 0 else 0, len(rows)):
            P, Z, M = _listed_masses(rows[j], weights)
            if sweep == 0 or _off((P - M) / (P + Z + M), terms, j, tolerance):
                changed, again = _listed_step(rows[j], terms[j], losses, weights, prior, eta, P, Z, M)
                moved, ever = moved or changed, ever or changed
                ground = ground if math.isinf(again) else again
        if not moved:
            break
    if not ever:
        return ground
    total = total_of(weights)
    for i in range(len(weights)):
        weights[i] /= total
    return ground - log(total) / eta


# Cells ------------------------------------------------------------------------------------------------------


@njit(error_model="numpy")
def _says_one(loss, offset, eta):
    """σ(offset − η loss): the probability of a cell."""
    x = eta * loss - offset
    less = exp(max(-abs(x), -680.0))
    return less / (1.0 + less) if x > 0 else 1.0 / (1.0 + less)


@njit(error_model="numpy")
def _cell_step(row, term, losses, offset, eta):
    """Set the price of one row; returns whether it changed."""
    one, other = (_says_one(losses[row[0]], offset[row[0]], eta), _says_one(losses[row[1]], offset[row[1]], eta))
    P, M = one * (1.0 - other), (1.0 - one) * other
    price = best_price(term[PRICE], P, 1.0 - P - M, M, term[SLOPE], term[CAP], term[START], term[STEEP], eta)
    change = price - term[PRICE]
    term[PRICE] = price
    losses[row[0]] += change
    losses[row[1]] -= change
    return change != 0.0


@cached
def cell_prices(losses, offset, eta, rows, terms, fresh, sweeps, tolerance):
    """As ``listed_prices`` for (J, 2) rows of cells; ``offset`` is the log odds of the prior."""
    for j in range(len(rows) - fresh, len(rows)):
        _cell_step(rows[j], terms[j], losses, offset, eta)
    for _ in range(sweeps):
        moved = False
        for j in range(len(rows)):
            one, other = rows[j]
            gap = _says_one(losses[one], offset[one], eta) - _says_one(losses[other], offset[other], eta)
            if _off(gap, terms, j, tolerance):
                moved = _cell_step(rows[j], terms[j], losses, offset, eta) or moved
        if not moved:
            break


# Thresholds -------------------------------------------------------------------------------------------------

# ``over``, ``under`` and ``pending`` have one number more per column than cuts: column j starts at
# first[j] + j. A row holds, for each column, where in these either person stands; where both passed the same cuts of
# column j, first[j] + j twice. Loops are forced into each other, as a call that hands over ten arrays costs as much as
# the work of a step.


@njit(error_model="numpy")
def _net(over, under, net):
    """What passing the cuts up to each place gains: their mass, less that of the other kind."""
    for i in range(len(net)):
        net[i] = over[i] - under[i]


@njit(error_model="numpy", forceinline=True)
def _threshold_gap(rows, r, net):
    """Σ_f mass_f D_f of row r: passing more cuts in a column gains what is between."""
    columns, gap = rows.shape[1] // 2, 0.0
    for j in range(columns):
        gap += net[rows[r, j]] - net[rows[r, columns + j]]
    return gap


@njit(error_model="numpy", forceinline=True)
def _quick_masses(rows, r, over, under):
    """The masses where D is 1 and −1, as differences of sums."""
    columns = rows.shape[1] // 2
    gained, spared, lost, given = 0.0, 0.0, 0.0, 0.0
    for j in range(columns):
        high, low = rows[r, j], rows[r, columns + j]
        passed, missed = over[high] - over[low], under[high] - under[low]  # both negative where low passed more
        gained += max(passed, 0.0)
        spared += max(-missed, 0.0)
        lost += max(missed, 0.0)
        given += max(-passed, 0.0)
    return gained + spared, lost + given


@njit(error_model="numpy")
def _exact_masses(rows, r, first, masses):
    """The masses where D is 1 and −1, added up one by one."""
    columns, M = rows.shape[1] // 2, first[-1]
    P, N = 0.0, 0.0
    for j in range(columns):
        high, low = np.int64(rows[r, j]), np.int64(rows[r, columns + j])
        passed, missed = 0.0, 0.0
        for c in range(2 - j + min(high, low), 2 - j + max(high, low)):
            passed += masses[c]
            missed += masses[c + M]
        P += passed if high > low else missed
        N += missed if high > low else passed
    return P, N


@njit(error_model="numpy", forceinline=True)
def _rescale(over, under, net, begin, end, count, of_over, of_under):
    """Sums from a place on when masses between two places grow by a factor, of which 1 is taken off.

    Sums rise along a column, so that a sum itself tells on which side of the end it stands.
    """
    least, most, lower, upper = over[begin], over[end], under[begin], under[end]
    for i in range(count):
        at = np.uint64(begin) + np.uint64(i)
        passed, missed = over[at], under[at]
        passed += of_over * (min(passed, most) - least)
        missed += of_under * (min(missed, upper) - lower)
        over[at], under[at], net[at] = passed, missed, passed - missed


@njit(error_model="numpy", forceinline=True)
def _threshold_scaled(rows, r, first, over, under, net, down):
    """Masses where D = 1 times ``down``, where D = −1 divided by it: the sums that follow."""
    columns, less, more = rows.shape[1] // 2, down - 1.0, 1.0 / down - 1.0
    for j in range(columns):
        high, low = rows[r, j], rows[r, columns + j]
        if high == low:
            continue
        of_over, of_under = (less, more) if high > low else (more, less)
        begin, end = min(high, low), max(high, low)
        _rescale(over, under, net, begin, end, first[j + 1] + j + 1 - np.int64(begin), of_over, of_under)


@njit(error_model="numpy")
def _settle_pending(losses, first, pending):
    """Add what price changes ask for, each noted at the two ends of its cuts, and forget it."""
    M = first[-1]
    for j in range(len(first) - 1):
        at, up, down = np.uint64(first[j] + j), np.uint64(2 + first[j]), np.uint64(2 + M + first[j])
        cuts, change = first[j + 1] - first[j], 0.0
        for i in range(cuts):
            change += pending[at + np.uint64(i)]
            pending[at + np.uint64(i)] = change
        for i in range(cuts):
            cut = np.uint64(i)
            losses[up + cut] += pending[at + cut]
            losses[down + cut] -= pending[at + cut]
    for i in range(len(pending)):
        pending[i] = 0.0


@njit(cache=True, error_model="numpy")
def threshold_tilted(rows, r, first, losses, change):
    """losses + change · D of row r, in place."""
    pending = np.zeros(first[-1] + len(first) - 1)
    _noted(rows, r, pending, change)
    _settle_pending(losses, first, pending)


@njit(error_model="numpy", forceinline=True)
def _noted(rows, r, pending, change):
    """Note a change of price at the two ends of its cuts: twice the same place, and so nothing, where D = 0."""
    columns = rows.shape[1] // 2
    for j in range(columns):
        pending[rows[r, columns + j]] += change
        pending[rows[r, j]] -= change


@njit(error_model="numpy")
def _from_losses(losses, weights, prior, eta, first, work):
    """Weights and their sums from the losses again; returns ground."""
    over, under, net, pending = work
    _settle_pending(losses, first, pending)
    ground = prior_gibbs(losses, prior, eta, weights)
    all_before(weights, first, over, under)
    _net(over, under, net)
    return ground


@njit(error_model="numpy")
def _exact_step(rows, r, terms, losses, weights, prior, eta, first, work):
    """Set the price of row r from the losses; returns whether it changed."""
    _from_losses(losses, weights, prior, eta, first, work)
    P, N = _exact_masses(rows, r, first, weights)
    Z = max(0.0, 1.0 - P - N)
    price, _ = _best(terms[r, PRICE], P, Z, N, terms[r, SLOPE], terms[r, CAP], terms[r, START], terms[r, STEEP], eta)
    change = price - terms[r, PRICE]
    if change == 0.0:
        return False
    terms[r, PRICE] = price
    _noted(rows, r, work[3], change)
    _from_losses(losses, weights, prior, eta, first, work)
    return True


@njit(error_model="numpy", forceinline=True)
def _threshold_step(rows, r, terms, losses, weights, prior, eta, first, work, total):
    """As ``_exact_step``, from the sums along the cuts where these have enough digits, as is nearly always so.

    Returns the sum of all masses, and whether the price changed.
    """
    over, under, net, pending = work
    P, N = _quick_masses(rows, r, over, under)
    if P / total > RARE:
        Z = max(0.0, total - P - N)
        price, down = _best(
            terms[r, PRICE], P, Z, N, terms[r, SLOPE], terms[r, CAP], terms[r, START], terms[r, STEEP], eta
        )
        change = price - terms[r, PRICE]
        if abs(eta * change) <= NEAR:
            if down == 0.0:
                down = exp(-eta * change)
            terms[r, PRICE] = price
            _noted(rows, r, pending, change)
            _threshold_scaled(rows, r, first, over, under, net, down)
            return P * down + Z + N / down, change != 0.0
    return 1.0, _exact_step(rows, r, terms, losses, weights, prior, eta, first, work)


@njit(error_model="numpy")
def _next_off(rows, start, count, net, total, terms, tolerance):
    """The first row from ``start`` on that is off; ``count`` if none is. A loop of its own: most find nothing."""
    for r in range(start, count):
        if _off(_threshold_gap(rows, r, net) / total, terms, r, tolerance):
            return r
    return count


@njit(error_model="numpy")
def settle_thresholds(losses, weights, prior, eta, ground, rows, terms, count, fresh, sweeps, tolerance, first, work):
    """As ``threshold_prices`` for the first ``count`` rows, with room to work in.

    That is four arrays with a number for each place, the last one of zeros. The first two hold the sums of the weights
    along the cuts when it is done.
    """
    over, under, net, _ = work
    total, ever, rows_of = 1.0, False, np.uint64(count)
    all_before(weights, first, over, under)
    _net(over, under, net)
    for r in range(np.uint64(count - fresh), rows_of):  # the newest, whatever their gaps
        total, changed = _threshold_step(rows, r, terms, losses, weights, prior, eta, first, work, total)
        ever = ever or changed
    for _ in range(sweeps):
        moved, r = False, _next_off(rows, NONE, rows_of, net, total, terms, tolerance)
        while r < rows_of:
            total, changed = _threshold_step(rows, r, terms, losses, weights, prior, eta, first, work, total)
            moved = moved or changed
            r = _next_off(rows, r + ONE, rows_of, net, total, terms, tolerance)
        ever = ever or moved
        if not moved:
            break
    return _from_losses(losses, weights, prior, eta, first, work) if ever else ground


@cached
def threshold_prices(losses, weights, prior, eta, ground, rows, terms, fresh, sweeps, tolerance, first):
    """As ``listed_prices`` for (J, 2 columns) rows: the cuts that the first person passed, then the second."""
    size = first[-1] + len(first) - 1
    work = (np.empty(size), np.empty(size), np.empty(size), np.zeros(size))
    return settle_thresholds(
        losses, weights, prior, eta, ground, rows, terms, len(rows), fresh, sweeps, tolerance, first, work
    )
