"""Prices of reports that are kept: each is set exactly, given the others, until none is far off.

A kept report has D_f = f(x1) − f(x2) ∈ {−1, 0, 1}, a price μ that may be changed in every round, and a penalty that
starts at a gap of a with slope C and gets steeper at b, up to the cap C̄. With weights p ∝ w exp(−η(L + Σ μ D)), the
best price alone puts p·D at a if μ ≤ C, at b if C ≤ μ ≤ C̄: a quadratic equation in exp(−η · change).

A class keeps D in its own form: listed hypotheses as a row of −1, 0, 1; cells as the two cells; thresholds as the cuts
that either person passed, in each column. Loops here call none of another file.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

PRICE, SLOPE, CAP, START, STEEP = range(5)
"""The columns of a table of terms: μ, C, C̄, a and b."""
FAR = 300.0
"""A change of η μ beyond this is made from the losses again: masses would leave the range of floats."""
FAINT = 1e-9
"""A mass below this, as a difference of sums, has lost its digits and is summed again."""


@njit(error_model="numpy")
def best_price(price, P, Z, M, slope, cap, start, steep, eta):
    """The exact price of a row, from the masses where D is 1, 0 and −1 at its present price."""
    if P <= 0.0:
        return 0.0
    if Z + M <= 0.0:
        return cap
    low = price - math.log(_factor(start, P, Z, M)) / eta
    if low <= slope:
        return max(0.0, low)
    return min(max(price - math.log(_factor(steep, P, Z, M)) / eta, slope), cap)


@njit(error_model="numpy")
def _factor(v, P, Z, M):
    """What the mass where D = 1 must be multiplied by, and that where D = −1 divided by, so that p·D = v."""
    return (v * Z + math.sqrt(v * v * Z * Z + 4.0 * (1.0 - v * v) * P * M)) / (2.0 * (1.0 - v) * P)


@njit(error_model="numpy")
def _off(gap, term, tolerance):
    """Whether a row's gap p·D is further than the tolerance from where its price should have put it."""
    price, slope, cap = term[PRICE], term[SLOPE], term[CAP]
    rise = gap > (term[START] if price < slope else term[STEEP]) + tolerance and price < cap
    fall = gap < (term[START] if price <= slope else term[STEEP]) - tolerance and price > 0.0
    return rise or fall


@njit(error_model="numpy")
def _refilled(losses, prior, eta, masses):
    """w exp(−η (L − low)) from the losses; returns low."""
    low = losses[0]
    for i in range(1, len(losses)):
        low = min(low, losses[i])
    for i in range(len(losses)):
        masses[i] = prior[i] * math.exp(max(-eta * (losses[i] - low), -680.0))
    return low


@njit(error_model="numpy")
def _usable(change, total):
    """Whether masses can be multiplied through: neither they nor their sum leave the range of floats."""
    return abs(change) <= FAR and 1e-100 < total < 1e100


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
def _listed_step(row, term, losses, masses, prior, eta, low, P, Z, M):
    """Set the price of one row; returns low and whether it changed."""
    total = P + Z + M
    price = best_price(term[PRICE], P / total, Z / total, M / total, term[SLOPE], term[CAP], term[START],
                       term[STEEP], eta)  # fmt: skip
    change = price - term[PRICE]
    if change == 0.0:
        return low, False
    term[PRICE] = price
    usable = _usable(eta * change, total)
    down = math.exp(-eta * change) if usable else 1.0
    up = 1.0 / down
    for i in range(len(row)):
        if row[i] > 0:
            losses[i] += change
            masses[i] *= down
        elif row[i] < 0:
            losses[i] -= change
            masses[i] *= up
    return (low if usable else _refilled(losses, prior, eta, masses)), True


@njit(cache=True, error_model="numpy")
def listed_prices(losses, masses, prior, eta, low, rows, terms, fresh, sweeps, tolerance):
    """Set the prices of (J, N) rows: the ``fresh`` newest first, then sweeps from the oldest on. All in place."""
    for j in range(len(rows) - fresh, len(rows)):
        low, _ = _listed_step(rows[j], terms[j], losses, masses, prior, eta, low, *_listed_masses(rows[j], masses))
    for _ in range(sweeps):
        moved = False
        for j in range(len(rows)):
            P, Z, M = _listed_masses(rows[j], masses)
            if _off((P - M) / (P + Z + M), terms[j], tolerance):
                low, changed = _listed_step(rows[j], terms[j], losses, masses, prior, eta, low, P, Z, M)
                moved = moved or changed
        if not moved:
            break
    return low


# Cells ------------------------------------------------------------------------------------------------------


@njit(error_model="numpy")
def _says_one(loss, offset, eta):
    """σ(offset − η loss): the probability of a cell."""
    x = eta * loss - offset
    return math.exp(-x) / (1.0 + math.exp(-x)) if x > 0 else 1.0 / (1.0 + math.exp(x))


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


@njit(cache=True, error_model="numpy")
def cell_prices(losses, offset, eta, rows, terms, fresh, sweeps, tolerance):
    """As ``listed_prices`` for (J, 2) rows of cells; ``offset`` is the log odds of the prior."""
    for j in range(len(rows) - fresh, len(rows)):
        _cell_step(rows[j], terms[j], losses, offset, eta)
    for _ in range(sweeps):
        moved = False
        for j in range(len(rows)):
            one, other = rows[j]
            gap = _says_one(losses[one], offset[one], eta) - _says_one(losses[other], offset[other], eta)
            if _off(gap, terms[j], tolerance):
                moved = _cell_step(rows[j], terms[j], losses, offset, eta) or moved
        if not moved:
            break


# Thresholds -------------------------------------------------------------------------------------------------


@njit(error_model="numpy")
def _spread_out(masses, first, table):
    """Masses by (cut, column), columns of 1[x >= c] before those of 1[x < c]: sums along cuts then vectorise."""
    columns, M = len(first) - 1, first[-1]
    for j in range(columns):
        for c in range(first[j + 1] - first[j]):
            table[c, j] = masses[2 + first[j] + c]
            table[c, columns + j] = masses[2 + M + first[j] + c]


@njit(error_model="numpy")
def _gathered(masses, first, table):
    """The other way round."""
    columns, M = len(first) - 1, first[-1]
    for j in range(columns):
        for c in range(first[j + 1] - first[j]):
            masses[2 + first[j] + c] = table[c, j]
            masses[2 + M + first[j] + c] = table[c, columns + j]


@njit(error_model="numpy")
def _summed(table, sums, net):
    """Sums of the masses before each cut, and the net gain of passing them; returns the sum of all."""
    columns = net.shape[1]
    for c in range(len(table)):
        now, before, mass = sums[c + 1], sums[c], table[c]
        for j in range(2 * columns):
            now[j] = before[j] + mass[j]
        gain = net[c + 1]
        for j in range(columns):
            gain[j] = now[j] - now[columns + j]
    total, last = 0.0, sums[-1]
    for j in range(2 * columns):
        total += last[j]
    return total


@njit(error_model="numpy")
def _threshold_gap(row, net):
    """Σ_f mass_f D_f: passing more cuts in a column gains what is between."""
    columns = net.shape[1]
    gap = 0.0
    for j in range(columns):
        gap += net[row[j], j] - net[row[columns + j], j]
    return gap


@njit(error_model="numpy")
def _threshold_masses(row, sums):
    """The masses where D is 1 and −1, as differences of sums."""
    columns = len(row) // 2
    P, M = 0.0, 0.0
    for j in range(columns):
        high, low = row[j], row[columns + j]
        over, under = sums[high, j] - sums[low, j], sums[high, columns + j] - sums[low, columns + j]
        if high > low:
            P += over
            M += under
        elif high < low:
            P -= under
            M -= over
    return P, M


@njit(error_model="numpy")
def _threshold_masses_again(row, table):
    """The same, summed one by one."""
    columns = len(row) // 2
    P, M = 0.0, 0.0
    for j in range(columns):
        high, low = row[j], row[columns + j]
        for c in range(low, high):
            P += table[c, j]
            M += table[c, columns + j]
        for c in range(high, low):
            P += table[c, columns + j]
            M += table[c, j]
    return P, M


@njit(error_model="numpy")
def threshold_tilted(row, first, losses, change):
    """losses + change · D, in place."""
    columns, M = len(row) // 2, first[-1]
    for j in range(columns):
        high, low = row[j], row[columns + j]
        start, stop, sign = min(high, low), max(high, low), change if high > low else -change
        over = losses[2 + first[j] + start : 2 + first[j] + stop]
        under = losses[2 + M + first[j] + start : 2 + M + first[j] + stop]
        for c in range(stop - start):
            over[c] += sign
            under[c] -= sign


@njit(error_model="numpy")
def _threshold_scaled(row, table, down):
    """Masses where D = 1 times ``down``, where D = −1 divided by it, in place."""
    columns, up = len(row) // 2, 1.0 / down
    for j in range(columns):
        high, low = row[j], row[columns + j]
        for c in range(low, high):
            table[c, j] *= down
            table[c, columns + j] *= up
        for c in range(high, low):
            table[c, j] *= up
            table[c, columns + j] *= down


@njit(error_model="numpy")
def _threshold_step(row, term, losses, masses, prior, eta, low, first, table, sums, net, total):
    """Set the price of one row; returns low, the sum of all masses, and whether the price changed."""
    P, M = _threshold_masses(row, sums)
    if min(P, M) < FAINT * total:
        P, M = _threshold_masses_again(row, table)
    price = best_price(term[PRICE], P / total, max(0.0, total - P - M) / total, M / total, term[SLOPE], term[CAP],
                       term[START], term[STEEP], eta)  # fmt: skip
    change = price - term[PRICE]
    if change == 0.0:
        return low, total, False
    term[PRICE] = price
    threshold_tilted(row, first, losses, change)
    if _usable(eta * change, total):
        _threshold_scaled(row, table, math.exp(-eta * change))
    else:
        low = _refilled(losses, prior, eta, masses)
        _spread_out(masses, first, table)
    return low, masses[0] + masses[1] + _summed(table, sums, net), True


@njit(cache=True, error_model="numpy")
def threshold_prices(losses, masses, prior, eta, low, rows, terms, fresh, sweeps, tolerance, first):
    """As ``listed_prices`` for (J, 2 columns) rows: the cuts that the first person passed, then the second."""
    if len(rows) == 0:
        return low
    columns, longest = len(first) - 1, 0
    for j in range(columns):
        longest = max(longest, first[j + 1] - first[j])
    table, sums = np.zeros((longest, 2 * columns)), np.zeros((longest + 1, 2 * columns))
    net, any_moved = np.zeros((longest + 1, columns)), False
    _spread_out(masses, first, table)
    total = masses[0] + masses[1] + _summed(table, sums, net)
    for j in range(len(rows) - fresh, len(rows)):
        low, total, changed = _threshold_step(
            rows[j], terms[j], losses, masses, prior, eta, low, first, table, sums, net, total
        )
        any_moved = any_moved or changed
    for _ in range(sweeps):
        moved = False
        for j in range(len(rows)):
            if _off(_threshold_gap(rows[j], net) / total, terms[j], tolerance):
                low, total, changed = _threshold_step(
                    rows[j], terms[j], losses, masses, prior, eta, low, first, table, sums, net, total
                )
                moved = moved or changed
        any_moved = any_moved or moved
        if not moved:
            break
    if any_moved:
        _gathered(masses, first, table)
    return low
