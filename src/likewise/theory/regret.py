"""What each learner is promised before the first round: exponential weights, Hedge, AdaHedge. Pure formulas.

One function per theorem; each gives non-asymptotic numbers. Letters: T rounds, k people per round, N hypotheses
(an exact integer, however large), C the penalty of a report, n the size of the separator, E draws a round.
``k`` is measured in costs: with unequal costs of errors it is k times the larger one. ``kappa`` bounds what the
best constant policy loses in a round: k/2 if the class holds both constants, k if it holds one. What is out of a
theorem's range is refused in a sentence.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from likewise.errors import require, require_number
from likewise.theory.elementary import log_of_whole
from likewise.theory.ranges import two_hypotheses, within


class Bound(NamedTuple):
    """What a theorem promises before the first round, in numbers.

    Attributes
    ----------
    lagrangian_regret, violations, error_regret
        Upper limits over T rounds; infinite where the theorem is silent.
    epsilon
        The error regret is against the best policy of Q_{α−ε}.
    theorem
        Which theorem, and what it assumes.
    """

    lagrangian_regret: float
    violations: float
    error_regret: float
    epsilon: float
    theorem: str


ROUNDING = 1e-12
"""Mix gaps below this fraction of a round's weight are rounding, not learning."""
LOG_CEILING = 200.0
"""Penalties stop growing at e^200: only false reports, or a growth far beyond the theorem, ever get there."""
ANY_AUDITOR = "the bound on V holds for any auditor whose reports have a gap above α"
TRUTHFUL = "the error regret needs truthful reports"
BLIND = "the batch is chosen without the round's draws"


def one_hypothesis() -> Bound:
    """With one hypothesis there is nothing to learn; if it is a constant, as it must be, nothing to violate."""
    return Bound(0.0, 0.0, 0.0, 0.0, "the class holds one hypothesis, a constant")


def log_size(N: int) -> float:
    """ln N, for integers of any size."""
    within(N=N)
    return log_of_whole(N)


def stretched_log(N: int) -> float:
    """Λ = max(ln N, 9/2), the constant of Lemma 1."""
    return max(log_size(N), 4.5)


def lagrangian_theorem(lagrangian_regret: float, penalties_paid: float, epsilon: float) -> float:
    """Theorem fair-misclass-lagr: error regret against Q_{α−ε} ≤ LagrangianRegret − ε Σ_{reports} C_t.

    For truthful reports at level α, every ε ∈ [0, α] at once, any learner, any penalties. At ε = 0 it says that the
    error regret against every α-fair policy is at most the Lagrangian regret.
    """
    within(lagrangian_regret=lagrangian_regret, penalties_paid=penalties_paid, epsilon=epsilon)
    return lagrangian_regret - epsilon * penalties_paid


def reduction_lemma(reduced_regret: float) -> float:
    """Lemma reduction_regret: the regret on the reduced batches R_C(z) *is* the Lagrangian regret.

    Err(π, R_C(z)) = L_C(π, z) + C for every π, so the constant C cancels in every difference, and this function is the
    identity: it is here so that every lemma has its name, and so that code that measures the regret of a classifier on
    reduced batches says where its number goes. Assumes nothing of the auditor or the people.
    """
    within(reduced_regret=reduced_regret)
    return reduced_regret


def violations_from_regret(lagrangian_regret: float, T: int, C: float, alpha: float, kappa: float) -> float:
    """V ≤ (LagrangianRegret + κT) / (C α), for any learner with a fixed C (the paper's Theorem fair-misclass-lagr).

    Take ε = α and a constant policy, which is 0-fair and errs at most κ a round. Holds for any auditor whose
    reports all have a gap above α. No play has more violations than rounds.
    """
    within(lagrangian_regret=lagrangian_regret, T=T, C=C, alpha=alpha, kappa=kappa)
    if C == 0:
        return float(T)
    return min(float(T), max(0.0, lagrangian_regret + kappa * T) / (C * alpha))


def from_regret(name: str, regret: float, T: int, C: float, alpha: float, kappa: float, *more: str) -> Bound:
    """A bound on the Lagrangian regret and both of its consequences for a fixed C."""
    violations = violations_from_regret(regret, T, C, alpha, kappa)
    return Bound(regret, violations, regret, 0.0, "; ".join([name, ANY_AUDITOR, TRUTHFUL, *more]))


# The paper's exponential weights ---------------------------------------------------------------------------


def exponential_weights_penalty(T: int, k: float) -> int:
    """C = ⌈max(T^¼, k)⌉, the paper's tuning.

    Examples
    --------
    >>> exponential_weights_penalty(2000, 6)
    7
    """
    within(T=T, k=k)
    return math.ceil(max(math.pow(T, 0.25), k))


def exponential_weights_rate(T: int, N: int) -> float:
    """γ = √(ln N / T); the theorem needs γ ≤ 1/2."""
    within(T=T)
    require(4 * log_size(N) <= T, "T", f"be at least 4 ln N = {4 * log_size(N):.0f} for this learning rate", T)
    return math.sqrt(log_size(N) / T)


def exponential_weights_regret(T: int, k: float, C: float, N: int) -> float:
    """LagrangianRegret ≤ 2 (k + 2C) √(T ln N) (Theorem exp-weights, Arora et al. 2012).

    Examples
    --------
    >>> round(exponential_weights_regret(2000, 6, 7, 146))
    3993
    """
    within(k=k, C=C)
    exponential_weights_rate(T, N)
    return 2 * (k + 2 * C) * math.sqrt(T * log_size(N))


def exponential_weights(T: int, k: float, C: float, N: int, alpha: float, kappa: float) -> Bound:
    """Both consequences (Theorem exp-guarantee): V ≤ (R + κT)/(Cα), error regret against Q_α ≤ R.

    R is ``exponential_weights_regret``. The environment may see π^t; V holds for any auditor whose reports have a
    gap above α, the error regret for truthful reports; T is fixed in advance.
    """
    regret = exponential_weights_regret(T, k, C, N)
    return from_regret("exponential weights, the paper's Theorem exp-guarantee", regret, T, C, alpha, kappa)


def exponential_weights_printed(T: int, k: float, N: int, alpha: float) -> tuple[float, float]:
    """Theorem exp-guarantee as printed: V ≤ (6/α)√(T ln N) + (k/α) T^¾ and error regret ≤ 6 √(ln N) T^¾.

    For the paper's C = ⌈max(T^¼, k)⌉ the second needs k + 2C ≤ 3T^¼, that is k ≤ 3T^¼ − 2⌈T^¼⌉: all k ≤ T^¼ where T^¼
    is whole, fewer elsewhere. Where it fails this refuses; ``exponential_weights`` has no such gap.
    """
    within(alpha=alpha)
    exponential_weights_rate(T, N)
    C, root = exponential_weights_penalty(T, k), math.pow(T, 0.25)
    most = 3 * root - 2 * math.ceil(root)
    require(k + 2 * C <= 3 * root, "k", f"be at most 3T^¼ − 2⌈T^¼⌉ = {most:.3g} for the printed error bound", k)
    violations = 6 / alpha * math.sqrt(T * log_size(N)) + k / alpha * math.pow(T, 0.75)
    return violations, 6 * math.sqrt(log_size(N)) * math.pow(T, 0.75)


# Hedge and AdaHedge ----------------------------------------------------------------------------------------


def hedge_rate(T: int, k: float, C: float, N: int) -> float:
    """η = √(8 ln N / T) / (k + 2C), for a T fixed in advance; 0 for one hypothesis."""
    within(T=T, k=k, C=C)
    return math.sqrt(8 * log_size(N) / T) / (k + 2 * C)


def hedge_regret(T: int, k: float, C: float, N: int) -> float:
    """LagrangianRegret ≤ (k + 2C) √(T ln N / 2): 2.8 times below the paper's constant.

    At η = ``hedge_rate``, for losses with a range of at most k + 2C, chosen with p^t in view; T fixed in advance.
    """
    within(T=T, k=k, C=C)
    return (k + 2 * C) * math.sqrt(T * log_size(N) / 2)


def hedge_observed_regret(eta: float, rounds: int, reports: int, k: float, C: float, N: int) -> float:
    """Second order, for any fixed η, from the number of reports: ln N/η + (η/8)(k²(T − V) + V(k + 2C)²).

    For every sequence, after any number of rounds: a round's losses have a range of at most k, and k + 2C with a
    report. With one hypothesis the regret is 0, whatever η.
    """
    within(eta=eta, rounds=rounds, reports=reports, k=k, C=C, N=N)
    require(reports <= rounds, "reports", f"be at most rounds = {rounds}", reports)
    if N == 1:
        return 0.0
    require(eta > 0, "eta", "be positive", eta)
    return log_size(N) / eta + eta / 8 * (k**2 * (rounds - reports) + reports * (k + 2 * C) ** 2)


def hedge(T: int, k: float, C: float, N: int, alpha: float, kappa: float) -> Bound:
    """V ≤ (R + κT)/(Cα) and error regret against Q_α ≤ R, R = (k + 2C) √(T ln N / 2), for Hedge.

    The environment may see π^t; V holds for any auditor whose reports have a gap above α, the error regret for
    truthful reports; T is fixed in advance.
    """
    return from_regret("Hedge", hedge_regret(T, k, C, N), T, C, alpha, kappa)


def anytime_hedge_regret(T: int, k: float, C: float, N: int) -> float:
    """LagrangianRegret ≤ (3/2)(k + 2C) √(T ln N / 2) after T rounds of Hedge at η_t = √(8 ln N / t)/(k + 2C).

    For losses with a range of at most B = k + 2C, chosen with p^t in view, at every T at once. The regret is
    Σ_t (m_t + δ_t) − min L, m_t the mix loss of round t at η_t and δ_t its mix gap. Rates never rise, so
    Σ_t m_t ≤ min L + ln N/η_T = min L + ½ B √(T ln N / 2). By Hoeffding's lemma δ_t ≤ η_t B²/8, and Σ_t 1/√t ≤ 2√T
    gives Σ_t δ_t ≤ B √(T ln N / 2). Together 1.5 times ``hedge_regret``, the price of not knowing T.

    Examples
    --------
    >>> anytime_hedge_regret(1000, 4, 6, 4) / hedge_regret(1000, 4, 6, 4)
    1.5
    """
    return 1.5 * hedge_regret(T, k, C, N)


def anytime_hedge(T: int, k: float, C: float, N: int, alpha: float, kappa: float) -> Bound:
    """V ≤ (R + κT)/(Cα) and error regret against Q_α ≤ R, R = ``anytime_hedge_regret``, for AnytimeHedge.

    At every T at once. The environment may see π^t; V holds for any auditor whose reports have a gap above α, the error
    regret for truthful reports.
    """
    return from_regret("Hedge at any time", anytime_hedge_regret(T, k, C, N), T, C, alpha, kappa)


def adahedge_regret(sum_of_squared_ranges: float, N: int) -> float:
    """Lemma 1: LagrangianRegret ≤ 2Δ_T ≤ √(Λ Σ_t s_t²), s_t the range of round t's losses.

    For every sequence of losses, chosen with p^t in view; the ranges need not be known. (de Rooij et al. 2014
    have an extra term in the largest range.)
    """
    within(sum_of_squared_ranges=sum_of_squared_ranges)
    return math.sqrt(stretched_log(N) * sum_of_squared_ranges)


def adahedge_fixed(T: int, k: float, C: float, N: int, alpha: float, kappa: float) -> Bound:
    """Theorem A: AdaHedge with a fixed C, against Q_α. C = max(k, T^⅓) gives T^⅔ for both regrets.

    LagrangianRegret ≤ D = min(B + √(B² + 4A), (k+2C)√(ΛT)), A = ΛT(k²/4 + κ(k+C)/α), B = 2Λ(k+C)/α.
    Any environment, any auditor; every accepted report has a gap above α; N ≥ 2.
    """
    within(T=T, k=k, C=C, alpha=alpha, kappa=kappa)
    two_hypotheses(N)
    stretched = stretched_log(N)
    A = stretched * T * (k**2 / 4 + kappa * (k + C) / alpha)
    B = 2 * stretched * (k + C) / alpha
    regret = min(B + math.sqrt(B * B + 4 * A), (k + 2 * C) * math.sqrt(stretched * T))
    return from_regret("AdaHedge with a fixed penalty, Theorem A", regret, T, C, alpha, kappa)


def scheduled_growth(c: float, N: int) -> float:
    """g = c² / (2Λ): the fastest growth of penalties that the theorem lets error c absorb."""
    within(c=c)
    return c**2 / (2 * stretched_log(N))


def scheduled_first(T: int, k: float, N: int) -> float:
    """C_1 = (k/3) √(T / ln N), our default's first penalty.

    The factor ⅓ was chosen on Adult and COMPAS; the theorem holds for any.
    """
    within(T=T, k=k)
    two_hypotheses(N)
    return k / 3 * math.sqrt(T / log_size(N))


def scheduled(
    T: int, k: float, first: float, growth: float, N: int, alpha: float, kappa: float, z: float | None = None
) -> Bound:
    """Theorem 1: plain AdaHedge, the j-th report weighs C_j = C_1 exp(g (j − 1)); c = √(2Λg).

    For every ε and z > 0:  error regret against Q_{α−ε} + (ε − c − z) S ≤ k√(ΛT) + 2ΛC_1/c + Λk/z.
    The error regret is stated at ε = c + z; z defaults to α/4, or to half of what c leaves of α.
    V ≤ min(S_max/C_1, (2Λ/c²) ln(1 + (e^g − 1) S_max/C_1)) with S_max = (κT + right-hand side)/(α − c − z); it needs no
    truthful auditor, and unless z is given takes the best of a grid, as each is proved. Without growth (g = 0) a part
    c = α/2 absorbs the penalties: ΛC_1/c in place of 2ΛC_1/c. Where c ≥ α only the number of rounds is promised.
    """
    within(T=T, k=k, first=first, growth=growth, alpha=alpha, kappa=kappa)
    two_hypotheses(N)
    stretched = stretched_log(N)
    c = math.sqrt(2 * stretched * growth) if growth > 0 else alpha / 2
    theorem = f"AdaHedge with scheduled penalties, Theorem 1; {ANY_AUDITOR}; {TRUTHFUL}"
    if c >= alpha:
        return Bound(math.inf, float(T), math.inf, alpha, f"{theorem}; growth too fast for this α")
    absorbed = (2 if growth > 0 else 1) * stretched * first / c
    tried = [(alpha - c) * step / 50 for step in range(1, 50)] if z is None else [z]
    z = min(alpha / 4, (alpha - c) / 2) if z is None else z
    require_number(z, "z", 0, alpha - c, open_at="low high")

    def limits(z: float) -> tuple[float, float, float]:
        """The right-hand side, S_max and the limit of V."""
        right = k * math.sqrt(stretched * T) + absorbed + stretched * k / z
        largest = (kappa * T + right) / (alpha - c - z)
        violations = min(largest / first, float(T))
        if growth > 0:
            logarithm = math.log1p(math.expm1(growth) * largest / first)
            violations = min(violations, 2 * stretched / c**2 * logarithm)
        return right, largest, violations

    right, largest, violations = limits(z)
    fewest = min(violations, *(limits(candidate)[2] for candidate in tried))
    return Bound(right + (c + z) * largest, fewest, right, c + z, theorem)


def tilted(T: int, k: float, c: float, floor: float, N: int, alpha: float, kappa: float) -> Bound:
    """Theorem 2: C_t = max(F_t, cΔ_{t−1}/ln N), Δ_0 = k, at every T at once; F_t = floor · k √(t / ln N).

    error regret against Q_{α−ε} + (ε − c) S ≤ √(4k² + Λk²T) − k + ckV (+ 2 ln N·F_T/c + 2k + 4F_T with a floor),
    stated at ε = c.  V ≤ (2 ln N/c² + ½) ln(Δ_T/k) for c < α, no truthful auditor needed.
    """
    within(T=T, k=k, c=c, floor=floor, alpha=alpha, kappa=kappa)
    two_hypotheses(N)
    n, stretched = log_size(N), stretched_log(N)
    root = math.sqrt(4 * k**2 + stretched * k**2 * T)
    highest = floor * k * math.sqrt(T / n)
    extra = 2 * n * highest / c + 2 * k + 4 * highest if floor > 0 else 0.0

    def delta(violations: float) -> tuple[float, float]:
        """S and Δ_T for a play with at most this many violations."""
        S = (kappa * T + root - k + c * k * violations + extra) / (alpha - c)
        return S, root / 2 + c / 2 * (S + k * violations) + extra / 2

    theorem = f"AdaHedge with tilted penalties, Theorem 2; {ANY_AUDITOR}; {TRUTHFUL}"
    if c >= alpha:
        return Bound(math.inf, float(T), math.inf, alpha, f"{theorem}; c too large for this α")
    # V appears on both sides; starting from V ≤ T, each substitution of a valid bound gives a valid one.
    violations = float(T)
    for _ in range(50):
        violations = min(violations, (2 * n / c**2 + 0.5) * math.log(delta(violations)[1] / k))
    error_regret = root - k + c * k * violations + extra
    return Bound(2 * delta(violations)[1] - k, violations, error_regret, c, theorem)
