"""Theorems 6, 7 and 8: learners that see labels only of the accepted. Pure formulas; ours, not refereed.

The letters are those of ``likewise.theory.estimates``; Λ = max(ρ, 9/2). The class holds the constant 0. Every bound on
V holds surely, for any auditor whose reports have a gap above α. The error regret is that of π̃, the probabilities
deployed; each function says how it holds.
"""

from __future__ import annotations

import math

from likewise.errors import require, require_number
from likewise.theory.cuts import stretched
from likewise.theory.estimates import EQUAL, Costs, LabelLimits, delta_by_variance, label_estimate, require_round
from likewise.theory.lots import Decisions, decisions_only
from likewise.theory.ranges import within
from likewise.theory.regret import ANY_AUDITOR, TRUTHFUL, Bound

SEES = ("anything", "probabilities", "decisions")
"""What an auditor's choice may depend on: the lot too; what was known before it; decisions, with persistence."""
EXPECTED = "labels of the accepted only: the error regret in expectation, against a policy fixed before the play"


# Theorem 6 -------------------------------------------------------------------------------------------------


def one_sided_scheduled(
    T: int,
    labels: LabelLimits,
    first: float,
    growth: float,
    rho: float,
    alpha: float,
    *,
    explored: float = 0.0,
    sees: str = "anything",
    epsilon: float | None = None,
    forgotten: float = 0.0,
) -> Bound:
    """Theorem 6 (S): AdaHedge, labels of the accepted only, C_j = C_1 exp(g (j − 1)), c = √(2Λg), Δ_0 = 0.

    **In expectation**, for every fixed π* ∈ Q_{α−ε}, truthful reports:
    error regret + (ε − c) S ≤ 2A + 2Y + 2ΛC_1/c + Γ, A = √(ρT E v) + (2ρ/3 + 1) M, Γ = c⁺k Σγ_t (``explored``).
    **Surely**, any auditor: V ≤ (2Λ/c²) ln(1 + (e^g − 1) S_max/C_1), S_max = (c⁻kT + 2TM + 2ΛC_1/c)/(α − c).
    Y ≤ M·V if reports may depend on the lot (``sees="anything"``); in expectation E m·V if an auditor of probabilities
    settles before it whether to report, and E m·V/α for a persistent auditor of decisions. ε is c unless given; beyond
    that S ≥ C_1V absorbs Y. With kept reports (Theorem C1) put their ε for ``alpha``, and ``forgotten`` as there.

    Examples
    --------
    >>> first, growth = 6 / 3 * math.sqrt(20_000 / math.log(146)), 0.25**2 / (2 * math.log(146))
    >>> round(one_sided_scheduled(20_000, label_estimate(6, 1.0), first, growth, math.log(146), alpha=0.5).violations)
    765
    """
    within(T=T, first=first, growth=growth, rho=rho, alpha=alpha, forgotten=forgotten)
    require(growth > 0, "growth", "be positive", growth)
    wide, more = stretched(rho), 1 + forgotten / (2 * rho)
    c = math.sqrt(2 * wide * growth)
    theorem = f"AdaHedge with scheduled penalties, Theorem 6; {EXPECTED}; {ANY_AUDITOR}; {TRUTHFUL}"
    if more * c >= alpha:
        return Bound(math.inf, float(T), math.inf, alpha, f"{theorem}; growth too fast for this α")
    absorbed = 2 * more * wide * first / c
    paid = (labels.lowest * T + 2 * more * T * labels.largest + absorbed) / (alpha - more * c)
    violations = min(float(T), math.log1p(math.expm1(growth) * paid / first) / growth)
    quiet = _quiet(T, labels, rho)
    epsilon = _slack(epsilon, more * c, alpha)
    reports = max(0.0, 2 * more * report_charge(labels, sees, alpha) - (epsilon - more * c) * first) * violations
    return Bound(math.inf, violations, 2 * more * quiet + absorbed + explored + reports, epsilon, theorem)


def one_sided_tilted(
    T: int,
    labels: LabelLimits,
    c: float,
    start: float,
    rho: float,
    alpha: float,
    *,
    highest: float = 0.0,
    explored: float = 0.0,
    sees: str = "anything",
    epsilon: float | None = None,
    forgotten: float = 0.0,
) -> Bound:
    """Theorem 6 (T): C_t = cΔ_{t−1}/ρ, Δ_0 > 0 (``start``), labels of the accepted only, at every T at once.

    **In expectation**, for every fixed π* ∈ Q_{α−ε}, truthful reports:
    error regret + (ε − c) S ≤ 2√(Δ_0² + ρT E v) + (4ρ/3 + 2) M + 2Y + Γ − Δ_0.
    **Surely**, any auditor: V ≤ (2ρ/c² + ½) ln(Δ̄/Δ_0), Δ̄ = Δ_0 + TM + (c/2)(c⁻kT + 2TM + Δ_0)/(α − c).
    Y, Γ, ε, kept reports and ``forgotten`` as in ``one_sided_scheduled``. ``highest`` is F_T if penalties have floors
    F_t: it adds 2ρF_T/c + 2M + 4F_T.

    Examples
    --------
    >>> bound = one_sided_tilted(10**6, label_estimate(2, 1.0), 0.25, 2.0, math.log(3), alpha=0.5)
    >>> math.isclose(bound.violations, (8 * math.log(3) / 0.5**2 + 0.5) * math.log(4.5 * 10**6 + 1.5))
    True
    """
    within(T=T, c=c, rho=rho, alpha=alpha, forgotten=forgotten, C=highest)
    require_number(start, "start", 0, open_at="low")
    more = 1 + forgotten / (2 * rho)
    theorem = f"AdaHedge with tilted penalties, Theorem 6; {EXPECTED}; {ANY_AUDITOR}; {TRUTHFUL}"
    if more * c >= alpha:
        return Bound(math.inf, float(T), math.inf, alpha, f"{theorem}; c too large for this α")
    extra = 2 * rho * highest / c + 2 * labels.largest + 4 * highest if highest > 0 else 0.0
    surely = start + T * labels.largest + extra / 2
    paid = (labels.lowest * T + 2 * more * surely - start) / (alpha - more * c)
    violations = min(float(T), (2 * rho / c**2 + 0.5) * math.log((surely + c / 2 * paid) / start))
    quiet = 2 * _quiet(T, labels, rho, start) + extra
    epsilon = _slack(epsilon, more * c, alpha)
    per_report = 2 * more * report_charge(labels, sees, alpha) - (epsilon - more * c) * c * start / rho
    error_regret = more * quiet - start + explored + max(0.0, per_report) * violations
    return Bound(math.inf, violations, error_regret, epsilon, theorem)


def one_sided_fixed(
    T: int, labels: LabelLimits, C: float, rho: float, alpha: float, *, explored: float = 0.0, sees: str = "anything"
) -> Bound:
    """Theorem 6 with a fixed C, against Q_α itself: C = T^⅓ gives T^⅔ for both regrets at β = 1.

    **In expectation**, for a fixed π* ∈ Q_α, truthful reports: error regret ≤ 2A + 2Y + 2C√(ΛV) + Γ.
    **Surely**, any auditor: CαV ≤ c⁻kT + 2TM + 2C√(ΛV). A, Y and Γ as in ``one_sided_scheduled``.

    Examples
    --------
    >>> small, large = (one_sided_fixed(T, label_estimate(4, 1.0), T ** (1 / 3), 3.0, 0.5) for T in (10**12, 10**15))
    >>> round(large.violations / small.violations), round(large.error_regret / small.error_regret)
    (100, 100)
    """
    within(T=T, rho=rho, alpha=alpha)
    require_number(C, "C", 0, open_at="low")
    half = math.sqrt(stretched(rho)) / alpha
    most = (labels.lowest * T + 2 * T * labels.largest) / (C * alpha)
    violations = min(float(T), (half + math.sqrt(half**2 + most)) ** 2)
    quiet = _quiet(T, labels, rho)
    reports = 2 * report_charge(labels, sees, alpha) * violations + 2 * C * math.sqrt(stretched(rho) * violations)
    theorem = f"AdaHedge with a fixed penalty, Theorem 6; {EXPECTED}; {ANY_AUDITOR}; {TRUTHFUL}"
    return Bound(math.inf, violations, 2 * quiet + reports + explored, 0.0, theorem)


def report_charge(labels: LabelLimits, sees: str, tolerance: float) -> float:
    """What a report adds to Δ for the labels of its round: M surely, E m if settled before the lot, E m/τ if not.

    The last is for a persistent auditor of decisions: E Y ≤ E m · E W, as only violating rounds have reports, and
    E W ≤ E V/τ. Never more than M.

    Examples
    --------
    >>> [report_charge(label_estimate(6, 0.5, 0.05), sees, tolerance=0.5) for sees in SEES]
    [63.0, 6.0, 12.0]
    """
    require(sees in SEES, "sees", f"be one of {', '.join(map(repr, SEES))}", sees)
    rounds = {"anything": math.inf, "probabilities": 1.0, "decisions": 1 / tolerance}[sees]
    return min(labels.largest, labels.mean * rounds)


# Theorems 7 and 8 ------------------------------------------------------------------------------------------


def safe_regret(
    T: int,
    k: int,
    violations: float,
    rho: float,
    ix: float,
    delta: float,
    *,
    sum_of_ix: float | None = None,
    start: float = 0.0,
    absorbed: float = 0.0,
    explored: float = 0.0,
    forgotten: float = 0.0,
    costs: Costs = EQUAL,
    lot: str = "round",
) -> float:
    """Theorem 7: error regret + (ε − c) S, **w.p. 1 − δ** for **every** π* ∈ Q_{α−ε} at once; β = 1 and IX; T fixed.

    The estimate is b·1[accepted and bad]/(π̃ + γ') − c⁻, γ' non-increasing; ``ix`` is the last γ', ``sum_of_ix`` their
    sum (T times ``ix`` unless given). With tilted penalties from Δ_0 = ``start``:
    2√(Δ_0² + ρk²[(2b² + ½c⁻²)T + (b²/γ') ln(3/δ)]) + (4ρ/3 + 2)bk + 2bkV − Δ_0
    + (bk/2γ')(ρ + ln(3/δ)) + bk Σγ'_t + bk√(½T ln(3/δ)) + Γ, for truthful reports. Scheduled: start = 0 and
    ``absorbed`` = 2ΛC_1/c. V may be observed, or Theorem 6's at β = 1, which holds surely. With own lots the two terms
    with 1/γ' are divided by k. ``forgotten`` as in ``cuts_scheduled``.

    Examples
    --------
    >>> long, short = (safe_regret(T, 6, 0, rho=5.0, ix=T**-0.5, delta=0.05) for T in (10**8, 10**6))
    >>> round(long / short, 1)
    10.0
    """
    within(T=T, violations=violations, rho=rho, delta=delta, start=start, C=absorbed, forgotten=forgotten)
    require_round(k, 0.0, costs, lot)
    require_number(ix, "ix", 0, open_at="low")
    b, good = sum(costs), costs[1]
    shared = k if lot == "round" else 1
    certain = math.log(3 / delta)
    variances = k**2 * (2 * b**2 + good**2 / 2) * T + k * shared * b**2 / ix * certain
    twice = 2 * delta_by_variance(variances, b * k, rho, start) + 2 * b * k * violations + absorbed
    learned = (1 + forgotten / (2 * rho)) * twice - start
    comparator = b * shared / (2 * ix) * (rho + certain)
    bias = b * k * (T * ix if sum_of_ix is None else sum_of_ix)
    return learned + comparator + bias + b * k * math.sqrt(T * certain / 2) + explored


def safe_deviation(
    T: int,
    k: int,
    rho: float,
    ix: float,
    delta: float,
    *,
    sum_of_ix: float | None = None,
    costs: Costs = EQUAL,
    lot: str = "round",
) -> float:
    """Theorem 7's deviations alone: true error regret − estimated error regret, **w.p. 1 − δ** for every π* at once.

    (bk/2γ')(ρ + ln(2/δ)) + bk Σγ'_t + bk√(½T ln(2/δ)): the comparator's side and the learner's, δ/2 each; β = 1, no
    floor, T fixed. Added to a limit of the *estimated* regret that was observed, it gives one of the true regret.

    Examples
    --------
    >>> round(safe_deviation(10**6, 6, rho=5.0, ix=0.001, delta=0.05))
    80430
    """
    within(T=T, rho=rho, delta=delta)
    require_round(k, 0.0, costs, lot)
    require_number(ix, "ix", 0, open_at="low")
    b, shared, certain = sum(costs), k if lot == "round" else 1, math.log(2 / delta)
    bias = b * k * (T * ix if sum_of_ix is None else sum_of_ix)
    return b * shared / (2 * ix) * (rho + certain) + bias + b * k * math.sqrt(T * certain / 2)


def both_at_once(T: int, k: int, rho: float, tolerance: float, delta: float, costs: Costs = EQUAL) -> Decisions:
    """Theorem 8: decisions only *and* labels of the accepted only: one lot, tilted, β = 1, no floor, c = τ/2, Δ_0 = k.

    **Surely** V ≤ V̄ = (8ρ/τ² + ½) ln(4.5T + 1.5) at equal costs; for a persistent auditor E W ≤ V̄/τ, and w.p. 1 − δ
    ``hidden_bound``; **in expectation** error regret ≤ 4k√(ρT) + (8ρ/3 + 5)k + 4kV̄ for a fixed π* ∈ Q_{τ/2}. The same
    lot serves both: the estimate is unbiased whatever is reported, and penalties need not be. With IX, and w.p. 1 − 2δ,
    ``safe_regret`` holds for all π* at once.

    Examples
    --------
    >>> both = both_at_once(10**6, 2, math.log(3), tolerance=0.5, delta=0.05)
    >>> round(both.violations), round(both.expected)
    (546, 1092)
    """
    within(k=k)
    bound = one_sided_tilted(T, label_estimate(k, 1.0, 0.0, costs), tolerance / 2, float(k), rho, tolerance)
    both = decisions_only(bound, tolerance, delta)
    return both._replace(theorem=both.theorem.replace("Theorem 5", "Theorems 5 and 8"))


def _quiet(T: int, labels: LabelLimits, rho: float, start: float = 0.0) -> float:
    """A: Δ_0 and the mix gaps of the rounds without a report, in expectation; infinite where labels may come late."""
    require(math.isfinite(labels.largest), "labels", "have a finite range: a floor, or a doubt of 1", labels)
    if labels.variance == math.inf:
        return math.inf
    return delta_by_variance(T * labels.variance, labels.largest, rho, start)


def _slack(epsilon: float | None, least: float, alpha: float) -> float:
    """ε as given, or as small as the penalties allow."""
    if epsilon is None:
        return least
    require(least <= epsilon <= alpha, "epsilon", f"be in [{least:g}, {alpha:g}]", epsilon)
    return epsilon
