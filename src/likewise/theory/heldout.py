"""Limits for people who took no part in learning: unfair pairs, errors, and what the first pass over a file proves.

Each holds with probability 1 − δ if the people are independent draws from one population, if the policy was fixed
before they were looked at (in a first pass: before each batch), and at a number of people fixed in advance. One-sided:
each says "at most".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import require
from likewise.theory.generalisation import holdout
from likewise.theory.ranges import within

Floats = NDArray[np.float64]
ORDERS = 16
"""Random orders in which the bettor meets the people: the average over them depends little on any one."""
PRECISION = 1e-13
"""Of itself: to which a limit for pairs is computed."""
LARGEST_BET = 0.75
"""The share of the wealth that a bettor risks at most."""
HALVINGS = 60
"""Each halves the interval in which a limit lies: after sixty it is a limit to the last digit."""


# Unfair pairs ----------------------------------------------------------------------------------------------


def all_pairs_limit(violating_share: float, n: int, delta: float) -> float:
    """Proposition U: the probability β that two random people are treated too differently, from all pairs of n people.

    Pr[Û ≤ u] ≤ min over whole j from ⌊mu⌋ + 1 to m of E(j − X)₊/(j − mu), with X ~ Binomial(m, β) and m = ⌊n/2⌋; the
    limit is the largest β where this exceeds δ. Hoeffding (1963): Û is an average over orders of means of m independent
    pairs. Bentkus (2004): (t − x)₊ in place of an exponential, so it is never above the Kullback–Leibler limit.

    Parameters
    ----------
    violating_share
        The share of violating pairs among all pairs of these people.
    n
        How many people they are.
    delta
        One minus the confidence.

    Examples
    --------
    >>> round(all_pairs_limit(0.0, 300, 0.05), 6) == round(1 - 0.05 ** (1 / 150), 6)
    True
    """
    within(violating_share=violating_share, n=n, delta=delta)
    require(n >= 2, "n", "be at least 2, as one person is no pair", n)
    u, m = min(1.0, max(0.0, float(violating_share))), n // 2
    if u == 1:
        return 1.0
    from scipy import optimize

    # At β = u the least ratio is at least 1, as E(j − X)₊ ≥ j − mu; at β = 1 it is 0. Rounding goes to the safe side.
    root = optimize.brentq(lambda beta: _tail(m, u, beta) - delta, u, 1.0, xtol=1e-300, rtol=PRECISION)
    return min(1.0, float(root) * (1 + PRECISION))


def _tail(m: int, u: float, beta: float) -> float:
    """The least E(j − X)₊/(j − mu). It falls and then rises with j, so its least value is found by halving."""
    first, last = math.floor(m * u) + 1, m

    def ratio(j: int) -> float:
        return _shortfall(j, m, beta) / (j - m * u)

    while first < last:
        middle = (first + last) // 2
        if ratio(middle) <= ratio(middle + 1):
            last = middle
        else:
            first = middle + 1
    return ratio(first)


def _shortfall(j: int, m: int, beta: float) -> float:
    """E(j − X)₊ for X ~ Binomial(m, β): j Pr[X < j] − mβ Pr[Y < j − 1], Y ~ Binomial(m − 1, β)."""
    from scipy import special  # half of our import time, and hardly ever needed

    below = float(special.betaincc(j, m - j + 1, beta))
    return j * below - (m * beta * float(special.betaincc(j - 1, m - j + 1, beta)) if j > 1 else 0.0)


# Errors ----------------------------------------------------------------------------------------------------


def error_limit(losses: Any, delta: float) -> float:
    """The expected loss of a new person, from the losses in [0, 1] of people who took no part in learning.

    A bettor against the mean m has wealth Π(1 − λ_i(x_i − m)), λ_i = min(√(2 ln(1/δ)/(n σ̂²_{i−1})), ¾/(1 − m)) from the
    people before (Waudby-Smith & Ramdas 2024), averaged over sixteen random orders with a fixed seed. The limit is the
    largest m at which it stays below 1/δ. Losses that can only be 0 or 1 come as whole numbers or booleans, and get
    the exact limit of Clopper and Pearson. (What they can be decides, not what they happen to be: choosing
    between two limits after seeing the losses would void both.)

    Examples
    --------
    >>> round(error_limit([0.2, 0.3] * 50, 0.05), 3)
    0.281
    >>> error_limit(np.zeros(100, dtype=int), 0.05) == holdout(0, 100, 0.05)
    True
    """
    within(delta=delta)
    array = _losses(losses, "losses")
    if np.asarray(losses).dtype.kind in "bui":
        return holdout(int(array.sum()), len(array), delta)
    orders = np.random.default_rng(0).permuted(np.tile(array, (ORDERS, 1)), axis=1)
    bets = np.sqrt(2 * math.log(1 / delta) / (len(array) * _variances_before(orders)))
    low, high = float(array.mean()), 1.0
    for _ in range(HALVINGS):
        mean = (low + high) / 2
        if mean < 1 and _log_wealth(orders, bets, mean) < math.log(1 / delta):
            low = mean
        else:
            high = mean
    return high


def _losses(values: Any, name: str) -> Floats:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    fine = array.ndim == 1 and len(array) > 0 and bool(((array >= -1e-9) & (array <= 1 + 1e-9)).all())
    require(fine, name, "be a list of numbers in [0, 1], one at least", values)
    return np.asarray(np.clip(array, 0.0, 1.0))


def _means_before(x: Floats) -> Floats:
    """(½ + Σ_{s<t} x_s)/t for every t: a guess at x_t from what came before it."""
    before = np.cumsum(x, axis=-1) - x
    return np.asarray((0.5 + before) / np.arange(1, x.shape[-1] + 1))


def _variances_before(x: Floats) -> Floats:
    """σ̂²_{t−1} = (¼ + Σ_{s<t} (x_s − x̂_s)²)/t, where x̂_s = (½ + Σ_{r≤s} x_r)/(s + 1) knows x_s too."""
    count = np.arange(1, x.shape[-1] + 1)
    squares = (x - (0.5 + np.cumsum(x, axis=-1)) / (count + 1)) ** 2
    return np.asarray((0.25 + np.cumsum(squares, axis=-1) - squares) / count)


def _log_wealth(orders: Floats, bets: Floats, mean: float) -> float:
    """ln of the wealth, averaged over the orders."""
    each = np.log1p(np.minimum(bets, LARGEST_BET / (1 - mean)) * (mean - orders)).sum(axis=1)
    top = float(each.max())
    return top + math.log(float(np.exp(each - top).mean()))


def first_pass_error(means: Any, k: float, delta: float) -> float:
    """The expected loss of a new person under the average policy of a pass in which everybody came once.

    E ℓ(π^avg) ≤ x̄ + (L + (−ln(1 − λ) − λ) Σ (x_t − x̂_{t−1})²)/(λT), with L = ln(1/δ), λ = min(½, √(8kL/T)) and
    x̂_{t−1} = (½ + Σ_{s<t} x_s)/t (Waudby-Smith & Ramdas 2024). Assumes batches drawn independently, π^t fixed before
    batch t, and hypotheses made without these people.

    Parameters
    ----------
    means
        x_t: the mean loss of the people of each round, in [0, 1].
    k
        People in a batch. It only places λ, so it may be any number fixed in advance.
    delta
        One minus the confidence.

    Examples
    --------
    >>> round(first_pass_error([0.2, 0.3] * 100, 6, 0.05), 3)
    0.281
    """
    within(k=k, delta=delta)
    x = _losses(means, "means")
    rounds, evidence = len(x), math.log(1 / delta)
    rate = min(0.5, math.sqrt(8 * k * evidence / rounds))
    squares = float(((x - _means_before(x)) ** 2).sum())
    return min(1.0, float(x.mean()) + (evidence + (-math.log1p(-rate) - rate) * squares) / (rate * rounds))
