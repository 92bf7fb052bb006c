"""What each learner is promised before the first round, and what none can do. Pure formulas.

One function per theorem; each gives non-asymptotic numbers. Letters: T rounds, k people per round, N hypotheses
(an exact integer, however large), C the penalty of a report, n the size of the separator, E draws a round.
``k`` is measured in costs: with unequal costs of errors it is k times the larger one. ``kappa`` bounds what the
best constant policy loses in a round: k/2 if the class holds both constants, k if it holds one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from likewise.errors import require


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
"""Mix gaps below this share of a round's weight are rounding, not learning."""
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
    require(N >= 1, "N", "be at least 1", N)
    return math.log(N)


def stretched_log(N: int) -> float:
    """Λ = max(ln N, 9/2), the constant of Lemma 1."""
    return max(log_size(N), 4.5)


def lagrangian_theorem(lagrangian_regret: float, penalties_paid: float, epsilon: float) -> float:
    """Theorem fair-misclass-lagr: error regret against Q_{α−ε} ≤ LagrangianRegret − ε Σ_{reports} C_t.

    For truthful reports at level α, every ε ∈ [0, α] at once, any learner, any penalties. At ε = 0 it says that the
    error regret against every α-fair policy is at most the Lagrangian regret.
    """
    require(epsilon >= 0, "epsilon", "be at least 0", epsilon)
    require(penalties_paid >= 0, "penalties_paid", "be at least 0", penalties_paid)
    return lagrangian_regret - epsilon * penalties_paid


def reduction_lemma(reduced_regret: float) -> float:
    """Lemma reduction_regret: the regret on the reduced batches R_C(z) *is* the Lagrangian regret.

    Err(π, R_C(z)) = L_C(π, z) + C for every π, so the constant C cancels in every difference.
    """
    return reduced_regret


def violations_from_regret(lagrangian_regret: float, T: int, C: float, alpha: float, kappa: float) -> float:
    """V ≤ (LagrangianRegret + κT) / (C α), for any learner with a fixed C (the paper's Theorem fair-misclass-lagr).

    Take ε = α and a constant policy, which is 0-fair and errs at most κ a round. Holds for any auditor whose
    reports all have a gap above α. No play has more violations than rounds.
    """
    require(0 < alpha <= 1, "alpha", "be in (0, 1]", alpha)
    if C <= 0:
        return float(T)
    return min(float(T), (lagrangian_regret + kappa * T) / (C * alpha))


def _from_regret(name: str, regret: float, T: int, C: float, alpha: float, kappa: float, *more: str) -> Bound:
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
    return math.ceil(max(math.pow(T, 0.25), k))


def exponential_weights_rate(T: int, N: int) -> float:
    """γ = √(ln N / T); the theorem needs γ ≤ 1/2."""
    require(4 * log_size(N) <= T, "T", f"be at least 4 ln N = {4 * log_size(N):.0f} for this learning rate", T)
    return math.sqrt(log_size(N) / T)


def exponential_weights_regret(T: int, k: float, C: float, N: int) -> float:
    """LagrangianRegret ≤ 2 (k + 2C) √(T ln N) (Theorem exp-weights, Arora et al. 2012).

    Examples
    --------
    >>> round(exponential_weights_regret(2000, 6, 7, 146))
    3993
    """
    exponential_weights_rate(T, N)
    return 2 * (k + 2 * C) * math.sqrt(T * log_size(N))


def exponential_weights(T: int, k: float, C: float, N: int, alpha: float, kappa: float) -> Bound:
    """Both consequences (Theorem exp-guarantee): V ≤ (R + κT)/(Cα), error regret against Q_α ≤ R."""
    regret = exponential_weights_regret(T, k, C, N)
    return _from_regret("exponential weights, the paper's Theorem exp-guarantee", regret, T, C, alpha, kappa)


def exponential_weights_printed(T: int, k: float, N: int, alpha: float) -> tuple[float, float]:
    """Theorem exp-guarantee as printed: V ≤ (6/α)√(T ln N) + (k/α) T^¾ and error regret ≤ 6 √(ln N) T^¾.

    The second holds only where k + 2C ≤ 3T^¼, that is k ≤ T^¼ (and C = T^¼); elsewhere this refuses.
    """
    require(0 < alpha <= 1, "alpha", "be in (0, 1]", alpha)
    exponential_weights_rate(T, N)
    require(k <= math.pow(T, 0.25), "k", f"be at most T^¼ = {math.pow(T, 0.25):.3g} for the printed error bound", k)
    violations = 6 / alpha * math.sqrt(T * log_size(N)) + k / alpha * math.pow(T, 0.75)
    return violations, 6 * math.sqrt(log_size(N)) * math.pow(T, 0.75)


# Hedge and AdaHedge ----------------------------------------------------------------------------------------


def hedge_rate(T: int, k: float, C: float, N: int) -> float:
    """η = √(8 ln N / T) / (k + 2C)."""
    return math.sqrt(8 * log_size(N) / T) / (k + 2 * C)


def hedge_regret(T: int, k: float, C: float, N: int) -> float:
    """LagrangianRegret ≤ (k + 2C) √(T ln N / 2): 2.8 times below the paper's constant."""
    return (k + 2 * C) * math.sqrt(T * log_size(N) / 2)


def hedge_observed_regret(eta: float, rounds: int, reports: int, k: float, C: float, N: int) -> float:
    """Second order, for any fixed η, from the number of reports: ln N/η + (η/8)(k²(T − V) + V(k + 2C)²)."""
    return log_size(N) / eta + eta / 8 * (k**2 * (rounds - reports) + reports * (k + 2 * C) ** 2)


def hedge(T: int, k: float, C: float, N: int, alpha: float, kappa: float) -> Bound:
    """V ≤ (R + κT)/(Cα) and error regret against Q_α ≤ R, for Hedge."""
    return _from_regret("Hedge", hedge_regret(T, k, C, N), T, C, alpha, kappa)


def adahedge_regret(sum_of_squared_ranges: float, N: int) -> float:
    """Lemma 1: LagrangianRegret ≤ 2Δ_T ≤ √(Λ Σ_t s_t²), s_t the range of round t's losses.

    For every sequence of losses, chosen with p^t in view; the ranges need not be known. (de Rooij et al. 2014
    have an extra term in the largest range.)
    """
    return math.sqrt(stretched_log(N) * sum_of_squared_ranges)


def adahedge_fixed(T: int, k: float, C: float, N: int, alpha: float, kappa: float) -> Bound:
    """Theorem A: AdaHedge with a fixed C, against Q_α. C = max(k, T^⅓) gives T^⅔ for both regrets.

    LagrangianRegret ≤ D = min(B + √(B² + 4A), (k+2C)√(ΛT)), A = ΛT(k²/4 + κ(k+C)/α), B = 2Λ(k+C)/α.
    Any environment, any auditor; every accepted report has a gap above α.
    """
    require(0 < alpha <= 1, "alpha", "be in (0, 1]", alpha)
    stretched = stretched_log(N)
    A = stretched * T * (k**2 / 4 + kappa * (k + C) / alpha)
    B = 2 * stretched * (k + C) / alpha
    regret = min(B + math.sqrt(B**2 + 4 * A), (k + 2 * C) * math.sqrt(stretched * T))
    return _from_regret("AdaHedge with a fixed penalty, Theorem A", regret, T, C, alpha, kappa)


def scheduled_growth(c: float, N: int) -> float:
    """g = c² / (2Λ): the fastest growth of penalties that the theorem lets error c absorb."""
    return c**2 / (2 * stretched_log(N))


def scheduled_first(T: int, k: float, N: int) -> float:
    """C_1 = (k/3) √(T / ln N), our default's first penalty.

    The factor ⅓ was chosen on Adult and COMPAS; the theorem holds for any.
    """
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
    stretched = stretched_log(N)
    c = math.sqrt(2 * stretched * growth) if growth > 0 else alpha / 2
    theorem = f"AdaHedge with scheduled penalties, Theorem 1; {ANY_AUDITOR}; {TRUTHFUL}"
    if c >= alpha:
        return Bound(math.inf, float(T), math.inf, alpha, f"{theorem}; growth too fast for this α")
    absorbed = (2 if growth > 0 else 1) * stretched * first / c
    tried = [(alpha - c) * step / 50 for step in range(1, 50)] if z is None else [z]
    z = min(alpha / 4, (alpha - c) / 2) if z is None else z
    require(0 < z < alpha - c, "z", f"be in (0, α − c) = (0, {alpha - c:.3g})", z)

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
    fewest = min(violations, *(limits(other)[2] for other in tried))
    return Bound(right + (c + z) * largest, fewest, right, c + z, theorem)


def tilted(T: int, k: float, c: float, floor: float, N: int, alpha: float, kappa: float) -> Bound:
    """Theorem 2: C_t = max(F_t, cΔ_{t−1}/ln N), Δ_0 = k, at every T at once; F_t = floor · k √(t / ln N).

    error regret against Q_{α−ε} + (ε − c) S ≤ √(4k² + Λk²T) − k + ckV (+ 2 ln N·F_T/c + 2k + 4F_T with a floor),
    stated at ε = c.  V ≤ (2 ln N/c² + ½) ln(Δ_T/k) for c < α, no truthful auditor needed.
    """
    require(c > 0, "c", "be positive", c)
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


# Context-FTPL ----------------------------------------------------------------------------------------------


def ftpl_paper_penalty(T: int, k: float) -> int:
    """C = ⌈max(k, T^{2/9})⌉, the paper's tuning."""
    return math.ceil(max(k, math.pow(T, 2 / 9)))


def ftpl_paper_omega(T: int, k: float, C: float, N: int, n: int, form: str = "corrected") -> float:
    """ω of Context-FTPL: as printed, n^−¼ k'^−¾ √(ln N/T), or corrected, √10 n^−¼ k'^¼ √(ln N/T); k' = k + 2C.

    With the printed ω the error bound is linear in T: the proof drops its second term.
    """
    require(form in ("printed", "corrected"), "omega", "be 'printed', 'corrected' or a number", form)
    wide = k + 2 * C
    common = math.pow(n, -0.25) * math.sqrt(log_size(N) / T)
    return common * (math.pow(wide, -0.75) if form == "printed" else math.sqrt(10) * math.pow(wide, 0.25))


def ftpl_paper(
    T: int, k: float, C: float, N: int, n: int, omega: float, E: float, delta: float, alpha: float, kappa: float
) -> Bound:
    """Theorem online-batch-regret-ftpl with explicit constants, w.p. 1 − δ, for any ω.

    LagrangianRegret ≤ 2k' (ωnT + 10√(nk') ln N/ω + T√(ln(2T(k²+1)/δ)/(2E))): stability over the n separator
    points, size of the noise, and the sampling lemma. The stability term is sharper than the paper's ωk'nT: a draw
    changes only where one of its n labels on the separator does. The batch must be chosen without the draws.
    """
    wide = k + 2 * C
    sampling = 0.0 if math.isinf(E) else math.sqrt(math.log(2 * T * (k**2 + 1) / delta) / (2 * E))
    regret = 2 * wide * (omega * n * T + 10 * math.sqrt(n * wide) * log_size(N) / omega + T * sampling)
    name = "Context-FTPL, the paper's Theorem online-batch-regret-ftpl with explicit constants"
    chance = () if math.isinf(E) else (f"w.p. {1 - delta:g}", BLIND)
    return _from_regret(name, regret, T, C, alpha, kappa, *chance)


def ftpl_sampling(T: int, k: int, E: int, delta: float) -> float:
    """The paper's sampling lemma: the sampled mixture's normalised loss is within √(ln(2T(k²+1)/δ)/(2E)) of its law's.

    In every round at once, w.p. 1 − δ, if the batch ignores the round's draws: the auditor has k² + 1 answers.
    """
    require(0 < delta < 1, "delta", "be in (0, 1)", delta)
    require(E >= 1, "E", "be at least 1", E)
    return math.sqrt(math.log(2 * T * (k**2 + 1) / delta) / (2 * E))


def noise_mean(N: int, n: int) -> float:
    """M = 2√(n ln N) + ln N ≥ E max_f of n standard Laplace variables summed over f's points."""
    return 2 * math.sqrt(n * log_size(N)) + log_size(N)


def sampling_error(T: int, k: int, E: float, delta: float) -> float:
    """u = √(ln(2kT/δ)/(2E)): all kT sampled probabilities are within u of their law, w.p. 1 − δ."""
    return math.sqrt(math.log(2 * k * T / delta) / (2 * E))


def draws_needed(T: int, k: int, delta: float, alpha: float) -> int:
    """E = ⌈(8/α²) ln(2kT/δ)⌉, which makes 2u = α/2."""
    return math.ceil(8 / alpha**2 * math.log(2 * k * T / delta))


def ftpl_scalar_rate(
    T: int, k: float, C: float, N: int, n: int, kappa: float, alpha: float | None = None, u: float = 0.0
) -> float:
    """ε = √(2M/(nΞ)), Ξ = k²T + 4C(k+C)·min(T, 2κT/(C(α−2u))); without α, min(…) = T."""
    reports = float(T)
    if alpha is not None and C > 0 and alpha > 2 * u:
        reports = min(reports, 2 * kappa * T / (C * (alpha - 2 * u)))
    spread = k**2 * T + 4 * C * (k + C) * reports
    return math.sqrt(2 * noise_mean(N, n) / (n * spread))


def ftpl_scalar(
    T: int, k: float, C: float, N: int, n: int, rate: float, alpha: float, kappa: float, u: float = 0.0,
    E: float = math.inf, delta: float = 0.05,
) -> Bound:  # fmt: skip
    """Theorem B: noise Laplace(1/ε) on the separator. T^⅔ for both regrets at C = max(k, T^⅓).

    a = εnk²T/2 + M/ε, b = 2εnC(k+C). W.p. 1 − δ: V ≤ min(T, (a + κT)/(C(α − 2u) − b)). W.p. 1 − 2δ: error
    regret of π against Q_α ≤ a + bV + k√(T ln(1/δ)/(2E)) + 2CuV. With u = 0 and E infinite (the law itself is
    played, as over cells) both hold surely. The batch must be chosen without the round's draws.
    """
    M = noise_mean(N, n)
    a = rate * n * k**2 * T / 2 + M / rate
    b = 2 * rate * n * C * (k + C)
    room = C * (alpha - 2 * u) - b
    violations = min(float(T), (a + kappa * T) / room) if room > 0 else float(T)
    sampled = k * math.sqrt(T * math.log(1 / delta) / (2 * E)) + 2 * C * u * violations
    theorem = _sampled("Context-FTPL with scalar noise, Theorem B", E, delta)
    regret = a + b * violations + sampled
    return Bound(regret, violations, regret, 0.0, theorem)


def _sampled(name: str, E: float, delta: float) -> str:
    """The theorem's name and assumptions: a law that is played itself needs neither luck nor a blind batch."""
    if math.isinf(E):
        return "; ".join([name, ANY_AUDITOR, TRUTHFUL])
    return "; ".join([f"{name}, w.p. {1 - 2 * delta:g}", ANY_AUDITOR, TRUTHFUL, BLIND])


def ftpl_growing_start(T: int, k: float, N: int, n: int) -> float:
    """W_1 = k √(nT/(2M)), the first scale of the noise."""
    return k * math.sqrt(n * T / (2 * noise_mean(N, n)))


def ftpl_growing_growth(c: float, N: int, n: int) -> float:
    """g = c²/(8nM): W ← W(1 + g) after each report."""
    return c**2 / (8 * n * noise_mean(N, n))


def ftpl_growing(
    T: int, k: float, c: float, N: int, n: int, alpha: float, kappa: float, u: float = 0.0,
    E: float = math.inf, delta: float = 0.05,
) -> Bound:  # fmt: skip
    """Growing noise: C_t = cW_t/(4n). √T error regret against Q_{α−ε} and O(log T) violations with an oracle.

    error regret + (ε − 2u − c) S ≤ k√(2nMT) + ckV/2 + k√(2T ln(1/δ)/E), stated at ε = c + 2u; and
    V ≤ (8nM/c² + ½) ln(1 + gS/C_1).
    """
    M = noise_mean(N, n)
    first = c * ftpl_growing_start(T, k, N, n) / (4 * n)
    base = k * math.sqrt(2 * n * M * T) + k * math.sqrt(2 * T * math.log(1 / delta) / E)
    theorem = _sampled("Context-FTPL with growing noise", E, delta)
    if c + 2 * u >= alpha:
        return Bound(math.inf, float(T), math.inf, alpha, f"{theorem}; too few draws for this α")
    violations, S = float(T), math.inf
    for _ in range(50):
        S = (kappa * T + base + c * k * violations / 2) / (alpha - 2 * u - c)
        logarithm = math.log1p(ftpl_growing_growth(c, N, n) * S / first)
        violations = min(violations, (8 * n * M / c**2 + 0.5) * logarithm)
    right = base + c * k * violations / 2
    return Bound(right + (c + 2 * u) * S, violations, right, c + 2 * u, theorem)


# What no learner can do -----------------------------------------------------------------------------------


def violations_needed(N: int, epsilon: float, alpha: float) -> float:
    """Theorem 4: any learner with o(T) error regret against Q_{α−ε} suffers V ≥ ⌊ln N/(67ε²)⌋/17 violations.

    For every learner there is an adversary (k = 4, sees p^t, the distance changes by round) with error regret
    ≥ (ε/2)(T − n), n = ⌊ln N/(67ε²)⌋, or at least n/17 violations. Needs α ≤ ¼, ε ≤ α/3 and N ≥ ε^−12.
    """
    require(0 < alpha <= 0.25, "alpha", "be in (0, 1/4]", alpha)
    require(0 < epsilon <= alpha / 3, "epsilon", f"be in (0, alpha/3] = (0, {alpha / 3:.3g}]", epsilon)
    require(log_size(N) >= -12 * math.log(epsilon), "N", "be at least epsilon^-12", N)
    return math.floor(log_size(N) / (67 * epsilon**2)) / 17
