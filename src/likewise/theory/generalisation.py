"""From the people of a play to people not yet seen: what its average policy is promised.

Σβ is the sum over rounds of the probability that π^t treats two random people too differently. A round brings a report
with at least that probability if the auditor always reports when it can and the batch has two people, so reports bound
Σβ; the interpolation lemma turns Σβ into fairness of π^avg = (1/T) Σ π^t. Each function says what it assumes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from likewise.errors import require, require_number, require_whole
from likewise.theory.ftpl import ftpl_paper, ftpl_paper_omega, ftpl_paper_penalty
from likewise.theory.ranges import within
from likewise.theory.regret import Bound, exponential_weights, exponential_weights_penalty


class Fairness(NamedTuple):
    """(α', β)-fair: two random people are treated more than α' beyond their distance w.p. at most β."""

    alpha: float
    beta: float


def _level(alpha: float) -> None:
    require_number(alpha, "alpha", 0, 1)


# Averages of policies --------------------------------------------------------------------------------------


def naive_sum(betas: Sequence[float], alpha: float) -> Fairness:
    """Observation obs:basic: if π^t is (α, β^t)-fair for all t, then π^avg is (α, Σ β^t)-fair.

    Tight: on three points with d(x1,x2) = d(x2,x3) = 0, d(x3,x1) = 1, alternating h1 = (1,0,0) and h2 = (1,1,0) have
    β = 2/9 each, and their average has 4/9 (the paper prints 1/8 and 1/4).

    Examples
    --------
    >>> naive_sum([2 / 9, 2 / 9], alpha=0.1).beta == 4 / 9
    True
    """
    _level(alpha)
    for beta in betas:
        require_number(beta, "betas", 0, 1)
    return Fairness(alpha, min(1.0, float(sum(betas))))


def interpolated(sum_of_betas: float, alpha: float, q: int, T: int, *, sharp: bool = True) -> Fairness:
    """Lemma gen: for every integer q ≤ T, π^avg is (α + q/T, Σβ/q)-fair.

    For any T policies whose probabilities of treating two random people more than α beyond their distance add up to
    Σβ; one population, one fixed distance. ``sharp``: fewer than q violating policies leave the average within
    α + (q − 1)(1 − α)/T of the distance, so that threshold already forces q of them.
    """
    within(sum_of_betas=sum_of_betas, T=T)
    _level(alpha)
    require_whole(q, "q")
    require(q <= T, "q", f"be in 1 … T = {T}", q)
    beyond = (q - 1) * (1 - alpha) / T if sharp else q / T
    return Fairness(min(1.0, alpha + beyond), min(1.0, sum_of_betas / q))


def best_interpolation(sum_of_betas: float, alpha: float, T: int, *, sharp: bool = True) -> tuple[int, Fairness]:
    """The q of the interpolation lemma with the least max(α' − α, β), and what it promises, in O(1).

    α' grows with q and β falls, so they meet at the root of q(q − 1)(1 − α) = TΣβ, or of q² = TΣβ if not ``sharp``
    (there α' stops at 1, and β falls on to 1 − α at q = Σβ/(1 − α)). The best integer is next to it.

    Examples
    --------
    >>> q, (level, beta) = best_interpolation(1e6, 0.1, 10**9)
    >>> q, round(level, 6), round(beta, 6)
    (33333334, 0.13, 0.03)
    """
    within(sum_of_betas=sum_of_betas, T=T)
    _level(alpha)
    room = 1 - alpha
    if room == 0:
        root = float(T)  # α' = 1 whatever q
    elif sharp:
        root = (1 + math.sqrt(1 + 4 * sum_of_betas * T / room)) / 2
    else:
        root = max(math.sqrt(sum_of_betas * T), sum_of_betas / room)
    near = math.floor(min(root, T))
    tried = sorted({1, T, *(min(T, max(1, near + step)) for step in (-1, 0, 1, 2))})
    points = [(q, interpolated(sum_of_betas, alpha, q, T, sharp=sharp)) for q in tried]
    return min(points, key=lambda point: max(point[1].alpha - alpha, point[1].beta))


def _all_or_some(T: int, points: int | None) -> np.ndarray:
    if points is not None:
        require_whole(points, "points", 2)
        if points < T:
            return np.unique(np.rint(np.geomspace(1.0, float(T), points)))
    return np.arange(1.0, T + 1.0)


def interpolation_curve(
    sum_of_betas: float, alpha: float, T: int, *, sharp: bool = True, points: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Many points of the interpolation lemma at once: (α', β) for q = 1 … T.

    ``points``: at most this many values of q, evenly spaced in ln q, with 1 and T among them: enough to draw.
    ``best_interpolation`` finds the best q without a curve.
    """
    within(sum_of_betas=sum_of_betas, T=T)
    _level(alpha)
    q = _all_or_some(T, points)
    beyond = (q - 1) * (1 - alpha) / T if sharp else q / T
    return np.minimum(1.0, alpha + beyond), np.minimum(1.0, sum_of_betas / q)


# From reports to Σβ ----------------------------------------------------------------------------------------


def azuma_probability(gamma: float, T: int) -> float:
    """Lemma azuma_fairnes: reports and their expected number differ by γ or more w.p. at most 2 exp(−γ²/(2T)).

    The expected number is Σ_t Pr[report in round t | past]. Assumes batches drawn independently across rounds, π^t
    fixed before batch t, and T fixed in advance; ``azuma_deviation`` is the inverse.
    """
    within(gamma=gamma, T=T)
    return min(1.0, 2 * math.exp(-(gamma**2) / (2 * T)))


def azuma_deviation(T: int, delta: float) -> float:
    """Lemma azuma_fairnes solved for γ: √(2T ln(2/δ)) is exceeded w.p. at most δ, T fixed in advance."""
    within(T=T, delta=delta)
    return math.sqrt(2 * T * math.log(2 / delta))


def report_probability(beta: float, k: int) -> float:
    """Lemma sum_beta_lowerbound: a round brings a report w.p. at least 1 − (1 − β)^⌊k/2⌋ ≥ β.

    β is the probability that π^t treats two random people more than α beyond their distance: a batch holds ⌊k/2⌋
    disjoint and so independent pairs. Assumes people i.i.d. within and across batches, k ≥ 2, an auditor who reports
    whenever they can, and one fixed distance.

    Examples
    --------
    >>> [round(report_probability(0.1, k), 3) for k in (2, 3, 4, 20)]
    [0.1, 0.1, 0.19, 0.651]
    """
    within(beta=beta)
    require_whole(k, "k", 2)
    return 1.0 if beta == 1 else -math.expm1(k // 2 * math.log1p(-beta))


def sum_of_betas_lemma(violations: float, T: int, delta: float) -> float:
    """Lemma boundedsum as stated: Σβ ≤ V + √(2T ln(2/δ)) w.p. 1 − δ.

    Assumes people i.i.d. within and across batches, k ≥ 2, an auditor who reports whenever they can, one fixed
    distance, and T fixed in advance; V, observed or a limit that holds surely, counts the rounds with a report.
    """
    within(violations=violations, T=T, delta=delta)
    return min(float(T), violations + azuma_deviation(T, delta))


def sum_of_betas_paper(violations: float, T: int, delta: float) -> float:
    """Lemma boundedsum as Theorem gen uses it: Σβ ≤ V + √(2T ln(4/δ)) w.p. 1 − δ.

    That is ``sum_of_betas_lemma`` at δ/2: the other half is left for a V that itself holds w.p. 1 − δ/2. Assumes
    people i.i.d. within and across batches, k ≥ 2, an auditor who reports whenever they can, one fixed distance, and T
    fixed in advance.
    """
    within(delta=delta)
    return sum_of_betas_lemma(violations, T, delta / 2)


def sum_of_betas(violations: float, T: int, delta: float) -> float:
    """Σβ ≤ V + √(T ln(1/δ)/2) w.p. 1 − δ: Azuma–Hoeffding, one-sided, increments in an interval of length 1.

    Assumes people i.i.d. within and across batches, k ≥ 2, an auditor who reports whenever they can, one fixed
    distance, and T fixed in advance.
    """
    within(violations=violations, T=T, delta=delta)
    return min(float(T), violations + math.sqrt(T * math.log(1 / delta) / 2))


ANYTIME_RATES = 8 * 2.0 ** (-0.6 * np.arange(20))


def sum_of_betas_anytime(violations: float, delta: float) -> float:
    """Σβ ≤ (λV + ln(20/δ))/(1 − e^−λ) for twenty λ, w.p. 1 − δ for all t at once: T need not be fixed.

    exp((1 − e^−λ) Σp_t − λV_t) is a supermartingale, p_t the probability of a report given the past (Ville).
    Assumes people i.i.d. within and across batches, k ≥ 2, an auditor who reports whenever they can, and one fixed
    distance.

    Examples
    --------
    >>> [round(sum_of_betas_anytime(v, 0.05), 2) for v in (0, 10, 100, 1000)]
    [5.99, 25.3, 139.05, 1114.79]
    """
    within(violations=violations, delta=delta)
    candidates = (ANYTIME_RATES * violations + math.log(len(ANYTIME_RATES) / delta)) / -np.expm1(-ANYTIME_RATES)
    return float(candidates.min())


# The two theorems ------------------------------------------------------------------------------------------


def fairness_generalisation(violations: float, alpha: float, q: int, T: int, delta: float) -> Fairness:
    """Theorem gen: w.p. 1 − δ, for every integer q ≤ T at once, π^avg is (α + q/T, (V + √(2T ln(4/δ)))/q)-fair.

    Assumes people i.i.d. within and across batches, k ≥ 2, an auditor who reports whenever they can, one fixed
    distance, and T fixed in advance. V is observed, or a limit that holds w.p. 1 − δ/2 at least.
    """
    return interpolated(sum_of_betas_paper(violations, T, delta), alpha, q, T, sharp=False)


def accuracy_generalisation(best: float, regret: float, k: float, T: int, delta: float) -> float:
    """Theorem avgloss: E ℓ(π^avg) ≤ min over α-fair π of E ℓ(π) + Regret/(kT) + √(8 ln(4/δ)/T), w.p. 1 − δ.

    Assumes people and labels i.i.d. within and across batches, π^t fixed before batch t, truthful reports against one
    fixed distance, T fixed in advance, unit costs, and an error regret against Q_α that holds surely. (The paper's
    proof gives 1 − 2δ where the regret itself holds w.p. 1 − δ.) The auditor need not report all they could.
    """
    within(best=best, regret=regret, k=k, T=T, delta=delta)
    return min(1.0, best + regret / (k * T) + math.sqrt(8 * math.log(4 / delta) / T))


def accuracy_observed(error_per_person: float, T: int, delta: float, *, anytime: bool = False) -> float:
    """E ℓ(π^avg) ≤ observed error per person + √(ln(1/δ)/(2T)), w.p. 1 − δ at a T fixed in advance.

    ``anytime``: ln(T(T + 1)/δ) in place of ln(1/δ), for all T at once. Assumes people and labels i.i.d. within and
    across batches, π^t fixed before batch t, and errors of at most 1 a person; nothing of the auditor or the distance.
    """
    within(error_per_person=error_per_person, T=T, delta=delta)
    logarithm = math.log((T * (T + 1) if anytime else 1) / delta)
    return min(1.0, error_per_person + math.sqrt(logarithm / (2 * T)))


def holdout(flagged: int, shown: int, delta: float) -> float:
    """Clopper–Pearson: β ≤ Beta(1 − δ; c + 1, m − c) from m independent random pairs, c of them flagged, w.p. 1 − δ.

    Examples
    --------
    >>> holdout(0, 299, 0.05) <= 0.01 < holdout(0, 298, 0.05)
    True
    """
    from scipy import special  # half of our import time, and hardly ever needed

    within(flagged=flagged, shown=shown, delta=delta)
    require(flagged <= shown, "flagged", f"be in 0 … shown = {shown}", flagged)
    return 1.0 if flagged == shown else float(special.betaincinv(flagged + 1, shown - flagged, 1 - delta))


# The corollaries -------------------------------------------------------------------------------------------


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
    """Plug a learner's limits into both generalisation theorems; the learner's own fail w.p. ``more``."""
    half = (delta - more) / 2  # one half for accuracy, one for fairness
    accuracy = accuracy_generalisation(0.0, bound.error_regret, k, T, half)
    q, fairness = best_interpolation(sum_of_betas_paper(bound.violations, T, half), 0.0, T, sharp=False)
    return Corollary(accuracy, max(fairness), q)


def exponential_weights_corollary(T: int, k: int, N: int, alpha: float, delta: float) -> Corollary:
    """Corollary exp-weight with explicit constants, w.p. 1 − δ: exponential weights with the paper's tuning.

    accuracy = R/(kT) + √(8 ln(8/δ)/T) and λ = max(q/T, (V + √(2T ln(8/δ)))/q), with R and V of
    ``exponential_weights`` at C = ⌈max(T^¼, k)⌉ and κ = k. The paper writes λ = O((k/α)^½ (ln(N/δ))^¼ T^−⅛) at
    q = (ln(N/δ))^¼ T^⅞; here q is the best integer. (Its accuracy statement has a spurious 1/α.)

    Assumes people and labels i.i.d. within and across batches, k ≥ 2, an auditor who reports truthfully and whenever
    they can, one fixed distance, unit costs, and T fixed in advance.
    """
    within(delta=delta)
    require_whole(k, "k", 2)
    C = exponential_weights_penalty(T, k)
    return _corollary(exponential_weights(T, k, C, N, alpha, kappa=k), T, k, delta, more=0.0)


def ftpl_corollary(T: int, k: int, N: int, n: int, alpha: float, delta: float) -> Corollary:
    """Corollary ftpl with explicit constants, w.p. 1 − δ: Context-FTPL with the corrected ω and E = T draws.

    accuracy = R/(kT) + √(8 ln(12/δ)/T) and λ = max(q/T, (V + √(2T ln(12/δ)))/q) at the best integer q, with R and V of
    ``ftpl_paper`` at C = ⌈max(k, T^{2/9})⌉, κ = k and a third of δ. The paper writes
    λ = O(k^½ n^⅜ (ln(NTk/δ))^¼ T^−1/9), swaps the two regrets and keeps its printed ω, with which the accuracy term
    would not vanish.

    Assumes people and labels i.i.d. within and across batches, k ≥ 2, an auditor who reports truthfully and whenever
    they can, one fixed distance, unit costs, T fixed in advance, and batches chosen without the round's draws.
    """
    within(delta=delta)
    require_whole(k, "k", 2)
    C = ftpl_paper_penalty(T, k)
    omega = ftpl_paper_omega(T, k, C, N, n, "corrected")
    bound = ftpl_paper(T, k, C, N, n, omega, T, delta / 3, alpha, kappa=k)
    return _corollary(bound, T, k, delta, more=delta / 3)
