"""Decisions drawn by lot, and an auditor who sees nothing but them. Pure formulas; ours, not refereed.

A round decides d_i = 1[U < π̃_i], by one number U for everybody ("round") or one for each person ("person"). The auditor
names pairs with d_i = 1 and d_j = 0; a report is accepted if the gap π̃_i − π̃_j exceeds the pair's tolerance, which is
``tolerance`` at least. V counts accepted reports. W counts violating rounds, seen or not: a pair that the auditor would
name, were it decided differently, has a gap above its tolerance. *Persistent*: whenever such a pair is decided
differently, the auditor ends up naming one; with probability r at least, whatever the lot: r-persistent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from likewise.errors import require, require_number
from likewise.theory.generalisation import ANYTIME_RATES
from likewise.theory.ranges import within
from likewise.theory.regret import Bound
from likewise.theory.review import BETS, mixture_limit

LOTS = ("round", "person")
"""One number for the whole round, or one for each person."""


class Decisions(NamedTuple):
    """What is promised where the auditor sees decisions only.

    Attributes
    ----------
    violations
        V, surely.
    expected, likely
        W in expectation, and with probability 1 − δ; a persistent auditor is assumed.
    error_regret, epsilon
        On the probabilities, against the best policy of Q_{α−ε}.
    theorem
        Which theorem, and what it assumes.
    """

    violations: float
    expected: float
    likely: float
    error_regret: float
    epsilon: float
    theorem: str


# Two people, one round -------------------------------------------------------------------------------------


def difference_range(favoured: float, disfavoured: float) -> tuple[float, float]:
    """Lemma 5: Pr[d_i = 1, d_j = 0] lies in [(π_i − π_j)₊, min(π_i, 1 − π_j)], however decisions are drawn.

    For every joint law with these two means (Fréchet and Hoeffding). At π_j = 0 or π_i = 1 both ends are equal.

    Examples
    --------
    >>> difference_range(0.5, 0.25)
    (0.25, 0.5)
    """
    _probabilities(favoured=favoured, disfavoured=disfavoured)
    return max(0.0, favoured - disfavoured), min(favoured, 1 - disfavoured)


def difference_probability(favoured: float, disfavoured: float, lot: str = "round") -> float:
    """Lemma 5: one lot attains the lower end, the gap; own lots have π_i (1 − π_j) = gap + π_j (1 − π_i).

    One lot attains the lower end for all pairs of a round at once, so equal people always get the same answer.

    Examples
    --------
    >>> difference_probability(0.5, 0.5), difference_probability(0.5, 0.5, lot="person")
    (0.0, 0.25)
    """
    _lot(lot)
    low, _ = difference_range(favoured, disfavoured)
    return low if lot == "round" else favoured * (1 - disfavoured)


def split_policy(favoured: float, disfavoured: float, tolerance: float) -> tuple[float, tuple[float, float]]:
    """Proposition 7, two people: deploy (1, 0) with probability q = (g − τ)/(1 − τ), else the second pair; g > τ.

    The mean is the policy itself, and the second pair has a gap of exactly τ. So whenever a policy is deployed that
    violates, the two are decided differently, and a persistent auditor has **W ≤ V surely**. For more than two people
    it fails: whoever is third may be far from one of the two.

    Examples
    --------
    >>> split_policy(0.75, 0.0, tolerance=0.5)
    (0.5, (0.5, 0.0))
    """
    _probabilities(favoured=favoured, disfavoured=disfavoured, tolerance=tolerance)
    gap = favoured - disfavoured
    require(gap > tolerance, "favoured", "exceed disfavoured by more than the tolerance", favoured)
    q = (gap - tolerance) / (1 - tolerance)
    if q == 1:
        return 1.0, (1.0, 0.0)
    return q, ((favoured - q) / (1 - q), disfavoured / (1 - q))


# Counting the unseen ---------------------------------------------------------------------------------------


def hidden_rate(violations: float, delta: float) -> float:
    """Lemma 6: the λ for which (λV̄ + ln(1/δ))/(1 − e^−λ) is least; infinite at V̄ = 0.

    It is ln(m/V̄), where the least value m solves m − V̄ − V̄ ln(m/V̄) = ln(1/δ). To be fixed before the first round.

    Examples
    --------
    >>> round(hidden_rate(100, 0.05), 4)
    0.2352
    """
    within(violations=violations, delta=delta)
    if violations == 0:
        return math.inf
    excess = math.log(1 / delta) / violations
    low, high = 0.0, math.sqrt(2 * excess)  # e^λ − 1 − λ = excess, and the left side is at least λ²/2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if math.expm1(min(middle, 700.0)) - middle < excess else (low, middle)
    return high


def hidden_gaps(violations: float, delta: float, rate: float | None = None) -> float:
    """Lemma 6: the largest gaps of all violating rounds add up to at most (λV + ln(1/δ))/(1 − e^−λ), w.p. 1 − δ.

    For all rounds at once, any λ > 0 fixed beforehand; a persistent auditor; any draws by which two people are decided
    differently with at least the probability of their gap. Without ``rate``: V̄ + √(2V̄ ln(1/δ)) + 2 ln(1/δ), for a V̄
    that V surely doesn't exceed. In expectation V is enough.

    Examples
    --------
    >>> round(hidden_gaps(100, 0.05), 2), round(hidden_gaps(100, 0.05, rate=hidden_rate(100, 0.05)), 2)
    (130.47, 126.51)
    """
    within(violations=violations, delta=delta)
    logarithm = math.log(1 / delta)
    if rate is None:
        return violations + math.sqrt(2 * violations * logarithm) + 2 * logarithm
    require(rate > 0, "rate", "be positive", rate)
    return logarithm if violations == 0 and rate == math.inf else (rate * violations + logarithm) / -math.expm1(-rate)


def hidden_bound(violations: float, tolerance: float, delta: float, persistence: float = 1.0) -> float:
    """Lemma 6: W ≤ (V̄ + √(2V̄ ln(1/δ)) + 2 ln(1/δ))/(τr) with probability 1 − δ, if V ≤ V̄ surely.

    In expectation E W ≤ E V/(τr). The auditor is r-persistent; every violating round has a gap above τ.

    Examples
    --------
    >>> round(hidden_bound(100, tolerance=0.5, delta=0.05), 1)
    260.9
    """
    _counting(tolerance, persistence)
    return hidden_gaps(violations, delta) / (tolerance * persistence)


def hidden_estimate(gaps: Sequence[float]) -> float:
    """Lemma 6: Ŵ = Σ 1/gap over the accepted reports, and E W ≤ E Ŵ for a persistent auditor.

    A violating round is seen with at least the probability of its largest gap, and the gap seen is no larger.

    Examples
    --------
    >>> hidden_estimate([0.5, 0.25])
    6.0
    """
    for gap in gaps:
        require_number(gap, "gaps", 0, 1, open_at="low")
    return math.fsum(1 / gap for gap in gaps)


def hidden_limit(
    estimate: float, tolerance: float, delta: float, persistence: float = 1.0, rate: float | None = None
) -> float:
    """Lemma 6: W ≤ (λτŴ + ln(1/δ))/(τr(1 − e^−λ)) with probability 1 − δ, for all rounds at once.

    Ŵ is ``hidden_estimate`` of the accepted gaps, each above τ; the auditor is r-persistent. One λ must be fixed
    beforehand; without ``rate``, twenty share δ (ln(20/δ) for ln(1/δ)) and the best is taken.

    Examples
    --------
    >>> round(hidden_limit(hidden_estimate([0.5] * 50), tolerance=0.4, delta=0.05), 1)
    165.8
    """
    within(violations=estimate, delta=delta)
    _counting(tolerance, persistence)
    rates = ANYTIME_RATES if rate is None else np.array([rate])
    require(bool((rates > 0).all()), "rate", "be positive", rate)
    candidates = (rates * tolerance * estimate + math.log(len(rates) / delta)) / -np.expm1(-rates)
    return float(candidates.min()) / (tolerance * persistence)


def hidden_by_review(found: Sequence[float], least: float, delta: float) -> int:
    """Proposition W: the most violating rounds, if rounds are reviewed by lot and decisions are all that is seen.

    ``found`` holds q_s · gap_s of each accepted report, q_s the probability of that round's review; ``least`` is at
    most every q_t · τ. For a bet μ < least, exp(λW − Σ_found θ(q_s · gap_s)), λ = −ln(1 − μ), θ(x) = −ln(1 − μ/x), is a
    supermartingale: a violating round with largest gap g is found with probability qg at least. So W is at most the
    largest whole number for which the mean over sixteen fixed bets is below 1/δ, with probability 1 − δ for all rounds
    at once. Any draws of Lemma 5, a persistent auditor, and a review lot of its own. It is loose: state it only where
    all rounds are reviewed, and otherwise the limit for rounds that were felt, which has q_s for q_s · gap_s.

    Examples
    --------
    >>> hidden_by_review([], least=0.1, delta=0.05), hidden_by_review([0.25] * 10, least=0.1, delta=0.05)
    (31, 79)
    """
    require_number(least, "least", 0, 1, open_at="low")
    within(delta=delta)
    for product in found:
        require(least <= product <= 1, "found", f"hold numbers in [{least:g}, 1]", product)
    bets = least * BETS
    spent = -np.log1p(-bets[:, None] / np.asarray(found, dtype=float).reshape(1, -1)).sum(axis=1)
    return mixture_limit(-np.log1p(-bets), spent, delta=delta)


# Theorem 5 -------------------------------------------------------------------------------------------------


def decisions_only(bound: Bound, tolerance: float, delta: float, persistence: float = 1.0) -> Decisions:
    """Theorem 5: a learner's bound carries over, **surely**, to an auditor who sees decisions only.

    ``bound`` is that of Theorems A, 1, 2, C1 or C2 with α = the least tolerance. It holds for the accepted reports, any
    draws and any auditor: the proofs are about the losses that were fed in, not about how they came about. The error
    regret is that of the probabilities, against policies that keep every pair that the auditor finds similar
    within its tolerance less ε. If the auditor is r-persistent, E W ≤ V̄/(τr), and w.p. 1 − δ ``hidden_bound`` holds.

    Examples
    --------
    >>> from likewise.theory.regret import tilted
    >>> both = decisions_only(tilted(10**6, 2, 0.25, 0.0, 3, 0.5, 1.0), tolerance=0.5, delta=0.05)
    >>> round(both.violations), round(both.expected), round(both.likely)
    (443, 887, 1002)
    """
    _counting(tolerance, persistence)
    expected = bound.violations / (tolerance * persistence)
    likely = hidden_bound(bound.violations, tolerance, delta, persistence)
    theorem = f"decisions only, Theorem 5: V surely, W for a persistent auditor; {bound.theorem}"
    return Decisions(bound.violations, expected, likely, bound.error_regret, bound.epsilon, theorem)


def realised_errors(T: int, k: float, delta: float, lot: str = "round") -> float:
    """How far the errors of the decisions may exceed those of the probabilities, w.p. 1 − δ at a fixed T.

    k√(T ln(1/δ)/2) with one lot, √(kT ln(1/δ)/2) with own lots, at equal costs (Azuma and Hoeffding).

    Examples
    --------
    >>> round(realised_errors(2000, 6, 0.05)), round(realised_errors(2000, 6, 0.05, lot="person"))
    (328, 134)
    """
    within(T=T, k=k, delta=delta)
    _lot(lot)
    return (k if lot == "round" else math.sqrt(k)) * math.sqrt(T * math.log(1 / delta) / 2)


def _lot(lot: str) -> None:
    require(lot in LOTS, "lot", f"be one of {', '.join(map(repr, LOTS))}", lot)


def _probabilities(**values: float) -> None:
    for name, value in values.items():
        require_number(value, name, 0, 1)


def _counting(tolerance: float, persistence: float) -> None:
    require_number(tolerance, "tolerance", 0, 1, open_at="low")
    require_number(persistence, "persistence", 0, 1, open_at="low")
