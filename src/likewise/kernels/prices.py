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
def _off(gap, terms, j, tolerance):
    """Whether the gap p·D of row j is further than the tolerance from where its price should have put it."""
    price, slope, cap = terms[j, PRICE], terms[j, SLOPE], terms[j, CAP]
    rise = gap > (terms[j, START] if price < slope else terms[j, STEEP]) + tolerance and price < cap
    fall = gap < (terms[j, START] if price <= slope else terms[j, STEEP]) - tolerance and price > 0.0
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


@njit(cache=True, error_model="numpy")
def seen_fine(count, person, p, people, gaps, terms, passed):
    """Note gaps that were reviewed and found fine, on the first ``count`` rows, where they are of the same two people.

    Where a gap passes that is at least the one reported, the price may rise no further.
    """
    for j in range(count):
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
            if _off((P - M) / (P + Z + M), terms, j, tolerance):
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
            if _off(gap, terms, j, tolerance):
                moved = _cell_step(rows[j], terms[j], losses, offset, eta) or moved
        if not moved:
            break


# Thresholds -------------------------------------------------------------------------------------------------

# ``net`` and ``pending`` have one number more per column than cuts: column j starts at first[j] + j. A row holds, for
# each column, where in these either person stands; where both passed the same cuts of column j, first[j] + j twice.


@njit(error_model="numpy")
def _net_gains(masses, first, net):
    """In every column, the mass that a person gains by passing each cut, less the mass lost; lowest cut first."""
    M = first[-1]
    for j in range(len(first) - 1):
        at, total = first[j] + j, 0.0
        net[at] = 0.0
        for c in range(first[j], first[j + 1]):
            total += masses[2 + c] - masses[2 + M + c]
            net[c + j + 1] = total


@njit(error_model="numpy")
def _threshold_gap(rows, r, net):
    """Σ_f mass_f D_f of row r: passing more cuts in a column gains what is between."""
    columns = rows.shape[1] // 2
    odd, even = 0.0, 0.0
    for j in range(0, columns - 1, 2):
        even += net[rows[r, j]] - net[rows[r, columns + j]]
        odd += net[rows[r, j + 1]] - net[rows[r, columns + j + 1]]
    if columns % 2:
        even += net[rows[r, columns - 1]] - net[rows[r, 2 * columns - 1]]
    return even + odd


@njit(error_model="numpy")
def _threshold_masses(rows, r, M, masses):
    """The masses where D is 1 and −1."""
    columns, under = rows.shape[1] // 2, np.uint64(M)
    P, N = 0.0, 0.0
    for j in range(columns):
        high, low = rows[r, j], rows[r, columns + j]
        passed, missed = 0.0, 0.0
        # Unsigned, as numba asks of every signed index whether it counts from the end.
        start = np.uint64(2 - j + min(high, low))
        for c in range(start, start + np.uint64(max(high, low) - min(high, low))):
            passed += masses[c]
            missed += masses[c + under]
        P += passed if high > low else missed
        N += missed if high > low else passed
    return P, N


@njit(error_model="numpy")
def _threshold_scaled(rows, r, first, masses, net, down):
    """Masses where D = 1 times ``down``, where D = −1 divided by it, and the net gains that follow."""
    columns, M, up = rows.shape[1] // 2, first[-1], 1.0 / down
    for j in range(columns):
        high, low = rows[r, j], rows[r, columns + j]
        if high == low:
            continue
        of_over, of_under = (down, up) if high > low else (up, down)
        gained = 0.0
        i, after = np.uint64(2 - j + min(high, low)), np.uint64(M)
        for c in range(np.uint64(min(high, low) + 1), np.uint64(max(high, low) + 1)):
            over, under = masses[i], masses[i + after]
            masses[i], masses[i + after] = over * of_over, under * of_under
            gained += over * (of_over - 1.0) - under * (of_under - 1.0)
            net[c] += gained
            i += np.uint64(1)
        for c in range(np.uint64(max(high, low) + 1), np.uint64(first[j + 1] + j + 1)):
            net[c] += gained


@njit(error_model="numpy")
def _settle_pending(losses, first, pending):
    """Add what price changes ask for, each noted at the two ends of its cuts, and forget it."""
    M = first[-1]
    for j in range(len(first) - 1):
        at, change = first[j] + j, 0.0
        over, under = losses[2 + first[j] : 2 + first[j + 1]], losses[2 + M + first[j] : 2 + M + first[j + 1]]
        for c in range(len(over)):
            change += pending[at + c]
            over[c] += change
            under[c] -= change
            pending[at + c] = 0.0
        pending[at + len(over)] = 0.0


@njit(error_model="numpy")
def threshold_tilted(rows, r, first, losses, change):
    """losses + change · D of row r, in place."""
    pending = np.zeros(first[-1] + len(first) - 1)
    _noted(rows, r, pending, change)
    _settle_pending(losses, first, pending)


@njit(error_model="numpy")
def _noted(rows, r, pending, change):
    """Note a change of price at the two ends of its cuts: twice the same place, and so nothing, where D = 0."""
    columns = rows.shape[1] // 2
    for j in range(columns):
        pending[rows[r, columns + j]] += change
        pending[rows[r, j]] -= change


@njit(error_model="numpy")
def _threshold_step(rows, r, terms, losses, masses, prior, eta, low, first, net, pending, total):
    """Set the price of row r; returns low, the sum of all masses, and whether the price changed."""
    P, N = _threshold_masses(rows, r, first[-1], masses)
    Z = max(0.0, total - P - N)
    price = best_price(terms[r, PRICE], P / total, Z / total, N / total, terms[r, SLOPE], terms[r, CAP],
                       terms[r, START], terms[r, STEEP], eta)  # fmt: skip
    change = price - terms[r, PRICE]
    if change == 0.0:
        return low, total, False
    terms[r, PRICE] = price
    _noted(rows, r, pending, change)
    if _usable(eta * change, total):
        down = math.exp(-eta * change)
        _threshold_scaled(rows, r, first, masses, net, down)
        return low, P * down + Z + N / down, True
    _settle_pending(losses, first, pending)
    low = _refilled(losses, prior, eta, masses)
    _net_gains(masses, first, net)
    return low, _all(masses), True


@njit(error_model="numpy")
def _all(values):
    """Σ in four interleaved parts."""
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
def threshold_prices(losses, masses, prior, eta, low, rows, terms, fresh, sweeps, tolerance, first):
    """As ``listed_prices`` for (J, 2 columns) rows: the cuts that the first person passed, then the second."""
    if len(rows) == 0:
        return low
    size = first[-1] + len(first) - 1
    net, pending, total = np.empty(size), np.zeros(size), _all(masses)
    _net_gains(masses, first, net)
    for j in range(len(rows) - fresh, len(rows)):
        low, total, _ = _threshold_step(rows, j, terms, losses, masses, prior, eta, low, first, net, pending, total)
    for _ in range(sweeps):
        moved = False
        for j in range(len(rows)):
            if _off(_threshold_gap(rows, j, net) / total, terms, j, tolerance):
                low, total, changed = _threshold_step(
                    rows, j, terms, losses, masses, prior, eta, low, first, net, pending, total
                )
                moved = moved or changed
        if not moved:
            break
    _settle_pending(losses, first, pending)
    return low
