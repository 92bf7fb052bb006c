"""Context-FTPL: the paper's theorem, Theorem B (scalar noise) and the theorem of growing noise.

Letters as in ``likewise.theory.regret``; k' = k + 2C is the size of a reduced batch, n the size of the separator,
E the number of draws a round (infinite where the law itself is played).
"""

from __future__ import annotations

import math

from likewise.errors import require, require_whole
from likewise.theory.ranges import two_hypotheses, within
from likewise.theory.regret import ANY_AUDITOR, BLIND, TRUTHFUL, Bound, from_regret, log_size

# The paper's noise -----------------------------------------------------------------------------------------


def context_ftpl_regret(omega: float, k: float, n: int, N: int, sum_of_squared_norms: float) -> float:
    """Theorem context-ftpl-regret (Syrgkanis et al. 2016): regret ≤ 4ωkn Σ_t E‖L^t‖² + (10/ω) √(nk) ln N.

    In expectation over the noise, for contexts and losses chosen adaptively, but without the round's draw. A context
    holds k people, n contexts separate the N hypotheses, ω is the rate of the Laplace noise, and ‖L^t‖ the largest
    absolute loss of a hypothesis in round t: with the paper's weights (1 − 2y)/(2k) it is at most ½. For the reduced
    batches of the game read k' = k + 2C for k. ``ftpl_paper`` has a sharper first term.
    """
    within(omega=omega, k=k, n=n, sum_of_squared_norms=sum_of_squared_norms)
    return 4 * omega * k * n * sum_of_squared_norms + 10 / omega * math.sqrt(n * k) * log_size(N)


def ftpl_reduction_lemma(normalised_regret: float, k: float, C: float) -> float:
    """Lemma fptl-reduction-loss: the Lagrangian regret is 2k' times the regret in Context-FTPL's loss, k' = k + 2C.

    That loss is ⟨ψ_f(x'), w⟩ with w_i = (1 − 2y'_i)/(2k') on the reduced batch (x', y') of k' people, so 2k' times a
    difference of it is the same difference of errors on the reduced batch. An identity; it assumes nothing.
    """
    within(normalised_regret=normalised_regret, k=k, C=C)
    return 2 * (k + 2 * C) * normalised_regret


def ftpl_paper_penalty(T: int, k: float) -> int:
    """C = ⌈max(k, T^{2/9})⌉, the paper's tuning."""
    within(T=T, k=k)
    return math.ceil(max(k, math.pow(T, 2 / 9)))


def ftpl_paper_omega(T: int, k: float, C: float, N: int, n: int, form: str = "corrected") -> float:
    """ω of Context-FTPL: as printed, n^−¼ k'^−¾ √(ln N/T), or corrected, √10 n^−¼ k'^¼ √(ln N/T); k' = k + 2C.

    With the printed ω the error bound is linear in T: the proof drops its second term.
    """
    require(form in ("printed", "corrected"), "omega", "be 'printed', 'corrected' or a number", form)
    within(T=T, k=k, C=C, n=n)
    two_hypotheses(N)
    wide = k + 2 * C
    common = math.pow(n, -0.25) * math.sqrt(log_size(N) / T)
    return common * (math.pow(wide, -0.75) if form == "printed" else math.sqrt(10) * math.pow(wide, 0.25))


def ftpl_paper(
    T: int, k: float, C: float, N: int, n: int, omega: float, E: float, delta: float, alpha: float, kappa: float,
    people: int | None = None,
) -> Bound:  # fmt: skip
    """Theorem online-batch-regret-ftpl with explicit constants, w.p. 1 − δ, for any ω.

    LagrangianRegret ≤ 2k' (ωnT + 10√(nk') ln N/ω + T√(ln(2T(k²+1)/δ)/(2E))): stability over the n separator
    points, size of the noise, and the sampling lemma. The stability term is sharper than the paper's ωk'nT: a draw
    changes only where one of its n labels on the separator does. The batch must be chosen without the draws.
    ``people`` are those of a batch, where k is not their number because errors have costs.
    """
    within(T=T, k=k, C=C, n=n, omega=omega, E=E, delta=delta, alpha=alpha, kappa=kappa)
    two_hypotheses(N)
    wide = k + 2 * C
    sampling = ftpl_sampling(T, people or math.ceil(k), E, delta)
    regret = 2 * wide * (omega * n * T + 10 * math.sqrt(n * wide) * log_size(N) / omega + T * sampling)
    name = "Context-FTPL, the paper's Theorem online-batch-regret-ftpl with explicit constants"
    assumes = () if math.isinf(E) else (f"w.p. {1 - delta:g}", BLIND)
    return from_regret(name, regret, T, C, alpha, kappa, *assumes)


def ftpl_sampling(T: int, k: int, E: float, delta: float) -> float:
    """The paper's sampling lemma: the sampled mixture's normalised loss is within √(ln(2T(k²+1)/δ)/(2E)) of its law's.

    In every round at once, w.p. 1 − δ, if the batch ignores the round's draws: the auditor has k² + 1 answers, k the
    people in the batch.
    """
    within(T=T, E=E, delta=delta)
    require_whole(k, "k")
    return math.sqrt(math.log(2 * T * (k**2 + 1) / delta) / (2 * E))


# Our noise -------------------------------------------------------------------------------------------------


def noise_mean(N: int, n: int) -> float:
    """M = 2√(n ln N) + ln N ≥ E max_f of n standard Laplace variables summed over f's points."""
    within(n=n)
    return 2 * math.sqrt(n * log_size(N)) + log_size(N)


def sampling_error(T: int, k: int, E: float, delta: float) -> float:
    """u = √(ln(2kT/δ)/(2E)): all kT sampled probabilities are within u of their law, w.p. 1 − δ.

    k counts people; the batch must be chosen without the round's draws.
    """
    within(T=T, E=E, delta=delta)
    require_whole(k, "k")
    return math.sqrt(math.log(2 * k * T / delta) / (2 * E))


def draws_needed(T: int, k: int, delta: float, alpha: float) -> int:
    """E = ⌈(8/α²) ln(2kT/δ)⌉, which makes 2u = α/2; k counts people."""
    within(T=T, delta=delta, alpha=alpha)
    require_whole(k, "k")
    return math.ceil(8 / alpha**2 * math.log(2 * k * T / delta))


def ftpl_scalar_rate(
    T: int, k: float, C: float, N: int, n: int, kappa: float, alpha: float | None = None, u: float = 0.0
) -> float:
    """ε = √(2M/(nΞ)), Ξ = k²T + 4C(k+C)·min(T, 2κT/(C(α−2u))); without α, min(…) = T."""
    within(T=T, k=k, C=C, n=n, kappa=kappa, u=u)
    two_hypotheses(N)
    reports = float(T)
    if alpha is not None:
        within(alpha=alpha)
        if C > 0 and alpha > 2 * u:
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
    within(T=T, k=k, C=C, n=n, rate=rate, alpha=alpha, kappa=kappa, u=u, E=E, delta=delta)
    two_hypotheses(N)
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
    within(T=T, k=k, n=n)
    two_hypotheses(N)
    return k * math.sqrt(n * T / (2 * noise_mean(N, n)))


def ftpl_growing_growth(c: float, N: int, n: int) -> float:
    """g = c²/(8nM): W ← W(1 + g) after each report."""
    within(c=c, n=n)
    two_hypotheses(N)
    return c**2 / (8 * n * noise_mean(N, n))


def ftpl_growing(
    T: int, k: float, c: float, N: int, n: int, alpha: float, kappa: float, u: float = 0.0,
    E: float = math.inf, delta: float = 0.05,
) -> Bound:  # fmt: skip
    """Theorem "growing noise" : C_t = cW_t/(4n), and W_t grows by c²/(8nM) of itself at each report.

    √T error regret against Q_{α−ε} and O(log T) violations with an oracle:
    error regret + (ε − 2u − c) S ≤ k√(2nMT) + ckV/2 + k√(2T ln(1/δ)/E), stated at ε = c + 2u; and
    V ≤ (8nM/c² + ½) ln(1 + gS/C_1). Surely where the law itself is played (u = 0, E infinite), else w.p. 1 − 2δ with
    the batch chosen without the round's draws. Where c + 2u ≥ α only the number of rounds is promised.
    """
    within(T=T, k=k, c=c, n=n, alpha=alpha, kappa=kappa, u=u, E=E, delta=delta)
    two_hypotheses(N)
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
