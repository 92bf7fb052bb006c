"""From the people of a play to people not yet seen: what its average policy is promised.

Σβ is the sum over rounds of the chance that π^t treats two random people too differently. A round's chance of a report
is at least that chance if the auditor always reports when it can and the batch has two people, so reports bound Σβ;
the interpolation lemma turns Σβ into fairness of π^avg = (1/T) Σ π^t. All of it assumes people drawn independently from
one population, and one fixed distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from likewise.errors import require
from likewise.theory.regret import (
    Bound,
    exponential_weights,
    exponential_weights_penalty,
    ftpl_paper,
    ftpl_paper_omega,
    ftpl_paper_penalty,
)


class Fairness(NamedTuple):
    """(α', β)-fair: two random people are treated more than α' beyond their distance with chance at most β."""

    alpha: float
    beta: float


def _chance(delta: float) -> None:
    require(0 < delta < 1, "delta", "be in (0, 1)", delta)


def naive_sum(betas: Sequence[float], alpha: float) -> Fairness:
    """Observation obs:basic: if π^t is (α, β^t)-fair for all t, then π^avg is (α, Σ β^t)-fair.

    Tight: on three points with d(x1,x2) = d(x2,x3) = 0, d(x3,x1) = 1, alternating h1 = (1,0,0) and h2 = (1,1,0) have
    β = 2/9 each, and their average has 4/9 (the paper prints 1/8 and 1/4).

    Examples
    --------
    >>> naive_sum([2 / 9, 2 / 9], alpha=0.1).beta == 4 / 9
    True
    """
    return Fairness(alpha, min(1.0, float(sum(betas))))


def interpolated(sum_of_betas: float, alpha: float, q: int, T: int, *, sharp: bool = True) -> Fairness:
    """Lemma gen: for every integer q ≤ T, π^avg is (α + q/T, Σβ/q)-fair.

    ``sharp``: fewer than q violating policies leave the average within α + (q − 1)(1 − α)/T of the distance, so that
    threshold already forces q of them.
    """
    require(1 <= q <= T, "q", f"be in 1 … T = {T}", q)
    beyond = (q - 1) * (1 - alpha) / T if sharp else q / T
    return Fairness(min(1.0, alpha + beyond), min(1.0, sum_of_betas / q))


def interpolation_curve(
    sum_of_betas: float, alpha: float, T: int, *, sharp: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """All points of the interpolation lemma at once: (α', β) for q = 1 … T."""
    q = np.arange(1, T + 1)
    beyond = (q - 1) * (1 - alpha) / T if sharp else q / T
    return np.minimum(1.0, alpha + beyond), np.minimum(1.0, sum_of_betas / q)


def sum_of_betas_paper(violations: float, T: int, delta: float) -> float:
    """Lemma boundedsum as the paper's theorem uses it: Σβ ≤ V + √(2T ln(4/δ)) w.p. 1 − δ, T fixed in advance."""
    _chance(delta)
    return min(float(T), violations + math.sqrt(2 * T * math.log(4 / delta)))


def sum_of_betas(violations: float, T: int, delta: float) -> float:
    """Σβ ≤ V + √(T ln(1/δ)/2) w.p. 1 − δ: Azuma–Hoeffding, one-sided, increments in an interval of length 1."""
    _chance(delta)
    return min(float(T), violations + math.sqrt(T * math.log(1 / delta) / 2))


ANYTIME_RATES = 8 * 2.0 ** (-0.6 * np.arange(20))


def sum_of_betas_anytime(violations: float, delta: float) -> float:
    """Σβ ≤ (λV + ln(20/δ))/(1 − e^−λ) for twenty λ, w.p. 1 − δ for all t at once: T need not be fixed.

    exp((1 − e^−λ) Σp_t − λV_t) is a supermartingale, p_t the chance of a report given the past; Ville's inequality.

    Examples
    --------
    >>> [round(sum_of_betas_anytime(v, 0.05), 2) for v in (0, 10, 100, 1000)]
    [5.99, 25.3, 139.05, 1114.79]
    """
    _chance(delta)
    candidates = (ANYTIME_RATES * violations + math.log(len(ANYTIME_RATES) / delta)) / -np.expm1(-ANYTIME_RATES)
    return float(candidates.min())


def fairness_generalisation(violations: float, alpha: float, q: int, T: int, delta: float) -> Fairness:
    """Theorem gen: w.p. 1 − δ, π^avg is (α + q/T, (V + √(2T ln(4/δ)))/q)-fair."""
    return interpolated(sum_of_betas_paper(violations, T, delta), alpha, q, T, sharp=False)


def accuracy_generalisation(best: float, regret: float, k: float, T: int, delta: float) -> float:
    """Theorem avgloss: E ℓ(π^avg) ≤ min over α-fair π of E ℓ(π) + Regret/(kT) + √(8 ln(4/δ)/T), w.p. 1 − δ.

    For a regret that holds surely. (The paper's proof gives 1 − 2δ where the regret itself holds w.p. 1 − δ.)
    """
    _chance(delta)
    return min(1.0, best + regret / (k * T) + math.sqrt(8 * math.log(4 / delta) / T))


def accuracy_observed(error_per_person: float, T: int, delta: float, *, anytime: bool = False) -> float:
    """E ℓ(π^avg) ≤ observed error per person + √(ln(1/δ)/(2T)), w.p. 1 − δ at a T fixed in advance.

    ``anytime``: ln(T(T + 1)/δ) in place of ln(1/δ), for all T at once.
    """
    _chance(delta)
    chances = math.log((T * (T + 1) if anytime else 1) / delta)
    return min(1.0, error_per_person + math.sqrt(chances / (2 * T)))


def holdout(flagged: int, shown: int, delta: float) -> float:
    """Clopper–Pearson: β ≤ Beta(1 − δ; c + 1, m − c) from m independent random pairs, c of them flagged.

    Examples
    --------
    >>> holdout(0, 299, 0.05) <= 0.01 < holdout(0, 298, 0.05)
    True
    """
    _chance(delta)
    require(shown >= 1, "shown", "be at least 1", shown)
    require(0 <= flagged <= shown, "flagged", f"be in 0 … shown = {shown}", flagged)
    return 1.0 if flagged == shown else float(special.betaincinv(flagged + 1, shown - flagged, 1 - delta))


class Corollary(NamedTuple):
    """What a corollary of the paper promises of π^avg before the first round.

    Attributes
    ----------
    accuracy
        By how much E ℓ(π^avg) may exceed that of the best α-fair policy.
    fairness
        π^avg is (α + λ, λ)-fair for this λ.
    q
        The integer that gives λ.
    """

    accuracy: float
    fairness: float
    q: int


def _corollary(bound: Bound, T: int, k: float, delta: float, more: float) -> Corollary:
    """Plug a learner's limits into both generalisation theorems; ``more`` is the learner's own chance to fail."""
    share = (delta - more) / 2  # one half for accuracy, one for fairness
    accuracy = accuracy_generalisation(0.0, bound.error_regret, k, T, share)
    alphas, betas = interpolation_curve(sum_of_betas_paper(bound.violations, T, share), 0.0, T, sharp=False)
    q = int(np.maximum(alphas, betas).argmin()) + 1
    return Corollary(accuracy, float(max(alphas[q - 1], betas[q - 1])), q)


def exponential_weights_corollary(T: int, k: float, N: int, alpha: float, delta: float) -> Corollary:
    """Corollary exp-weight with explicit constants, w.p. 1 − δ: exponential weights with the paper's tuning.

    The paper writes λ = O((k/α)^½ (ln(N/δ))^¼ T^−⅛) at q = (ln(N/δ))^¼ T^⅞; here q is the best integer. (Its accuracy
    statement has a spurious 1/α.)
    """
    _chance(delta)
    C = exponential_weights_penalty(T, k)
    return _corollary(exponential_weights(T, k, C, N, alpha, kappa=k), T, k, delta, more=0.0)


def ftpl_corollary(T: int, k: float, N: int, n: int, alpha: float, delta: float) -> Corollary:
    """Corollary ftpl with explicit constants, w.p. 1 − δ: Context-FTPL with the corrected ω and E = T draws.

    The paper swaps the two regrets and keeps its printed ω, with which the accuracy term would not vanish.
    """
    _chance(delta)
    C = ftpl_paper_penalty(T, k)
    omega = ftpl_paper_omega(T, k, C, N, n, "corrected")
    bound = ftpl_paper(T, k, C, N, n, omega, T, delta / 3, alpha, kappa=k)
    return _corollary(bound, T, k, delta, more=delta / 3)
