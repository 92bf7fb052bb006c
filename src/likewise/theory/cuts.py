"""A fair start, and reports that are kept with prices that may be revised. Pure formulas.

A learner weighs hypotheses by p ∝ w exp(−η (L + Σ_j μ_j D_j)), η = ρ/Δ, with a prior w, ρ = ln(1/min w), and a row D_j
with a price μ_j for each report. A row charges the gap p·D_j beyond a_j with slope C_j, and beyond b_j = gap − ε with a
slope of up to the cap C̄_j. Λ = max(ρ, 9/2). Forgetting mixes a share σ_t of the prior into the weights of each round,
σ_t = forget/T, or forget/t without T.
"""

from __future__ import annotations

import math

from likewise.errors import require, require_number
from likewise.theory.ranges import within
from likewise.theory.regret import ANY_AUDITOR, TRUTHFUL, Bound

LEAST_ALPHA = 1e-9
"""The smallest level of a learner: probabilities, sums of many weights, are not much more exact."""


def fair_start(alpha: float, N: int) -> tuple[float, float]:
    """Theorem F: the prior weight of each of the two constants, and that of each of the other N − 2 hypotheses.

    α′ = α/(2 − α); (1 − α′)/2 and α′/(N − 2). If a gap exceeds α before any report, some other hypothesis has a smaller
    loss than both constants: nothing can be reported before a hypothesis has beaten them. (A gap is at most the mass m
    off the constants, and m > α means that the mean of exp(η (L* − L(f))) over the others exceeds 1.) A constant's
    relative entropy is ln(2/(1 − α′)) ≤ ln 4. For α ≤ ⅔ and N ≥ 3.

    Examples
    --------
    >>> constant, other = fair_start(0.1, 102)
    >>> round(2 * constant + 100 * other, 12), round(100 * other, 4)
    (1.0, 0.0526)
    """
    _within_fair_start(alpha, N)
    share = alpha / (2 - alpha)
    return (1 - share) / 2, share / (N - 2)


def _within_fair_start(alpha: float, N: int) -> None:
    within(alpha=alpha, N=N)
    require(alpha <= 2 / 3, "alpha", "be at most 2/3 for a fair start", alpha)
    require(N >= 3, "N", "be at least 3 for a fair start", N)


def leaning_start(alpha: float, N: int, less: float) -> tuple[float, float, float]:
    """Theorem F with unequal constants: the weights of one, of the other, and of each of the other N − 2 hypotheses.

    Of what the constants have, the second one has the part ``less`` ≤ ½; α′ = α·less/(1 − α + α·less). Then
    (α/(1 − α)) (1 − α′) less = α′, so the proof holds whichever constant is better; ½ is the theorem itself. The first
    policy is nearly the first constant, which pays where that is the better one. If it is the other one, its relative
    entropy is ln(1/((1 − α′) less)).

    Examples
    --------
    >>> [round(weight, 4) for weight in leaning_start(0.1, 3, less=0.1)]
    [0.8901, 0.0989, 0.011]
    """
    _within_fair_start(alpha, N)
    require_number(less, "less", 0, 0.5, open_at="low")
    share = alpha * less / (1 - alpha + alpha * less)
    return (1 - share) * (1 - less), (1 - share) * less, share / (N - 2)


def stretched(rho: float) -> float:
    """Λ = max(ρ, 9/2), the constant of Lemma 1′."""
    within(rho=rho)
    return max(rho, 4.5)


def prior_regret(sum_of_squared_ranges: float, rho: float, entropy: float | None = None, start: float = 0.0) -> float:
    """Lemma 1′: regret against a mixture q ≤ (1 + KL(q)/ρ) Δ_T − Δ_0, Δ_T ≤ ½√(4Δ_0² + Λ Σ_t s_t²).

    AdaHedge from any prior w, η_t = ρ/Δ_{t−1}; s_t is the range of round t's losses, which may be chosen with p^t in
    view. ``entropy`` is KL(q‖w), by default its largest value ρ.

    Examples
    --------
    >>> prior_regret(100.0, rho=9.0)
    30.0
    """
    within(sum_of_squared_ranges=sum_of_squared_ranges, rho=rho, start=start)
    entropy = rho if entropy is None else entropy
    within(entropy=entropy)
    delta = math.sqrt(4 * start**2 + stretched(rho) * sum_of_squared_ranges) / 2
    return (1 + entropy / rho) * delta - start


def forgotten_share(T: int, forget: float, *, known: bool, every: int = 10) -> float:
    """Σ_t ln(1/(1 − σ_t)) over T rounds: what forgetting adds to KL(q) in every bound (Proposition S).

    ``every`` · forget/T is mixed in every so many rounds if T is known, ``every`` · forget/t if not: about ``forget``,
    or forget · (1 + ln(T/every)), in all. After a share the weights add up to 1 as before, so the dual value stays; and
    no weight has shrunk by more than 1 − σ_t.

    Examples
    --------
    >>> round(forgotten_share(1000, 0.01, known=True), 6), round(forgotten_share(1000, 0.01, known=False), 4)
    (0.010001, 0.0566)
    """
    within(T=T, forget=forget)
    times = T // every
    if times == 0:
        return 0.0
    if known:
        return -times * math.log1p(-every * forget / T)
    return -math.log1p(-forget) + forget / (1 - forget) * math.log(times)


def interval_regret(
    costs: float,
    delta: float,
    rho: float,
    share: float,
    forgotten: float,
    entropy: float | None = None,
    prices: float = 0.0,
) -> float:
    """Proposition S: the regret on rounds r + 1 … s alone, against every mixture q, surely, if a share is mixed in.

    Σ p^t·ℓ_t − q·L ≤ Σ cost_t + (Δ_s/ρ)[ln(1/σ_r) + KL(q) + Σ ln(1/(1 − σ_t))] + B_s(q) − B_r(q), all sums over these
    rounds. ``costs`` is Σ cost_t, which is Δ_s − Δ_r where no report is kept; ``delta`` is Δ_s; ``share`` is σ_r, mixed
    in after round r (1 if r = 0); ``forgotten`` is Σ ln(1/(1 − σ_t)); ``entropy`` is KL(q), by default ρ; ``prices`` is
    B_s(q) − B_r(q), the change of Σ_j [μ_j q·D_j − h_j*(μ_j)] over the kept reports. After a share p ≥ σw, so q starts
    at most ln(1/σ)/η behind.

    Examples
    --------
    >>> round(interval_regret(costs=20.0, delta=40.0, rho=5.0, share=1e-5, forgotten=0.005), 2)
    152.14
    """
    within(rho=rho, forgotten=forgotten)
    require_number(share, "share", 0, 1, open_at="low")
    entropy = rho if entropy is None else entropy
    within(entropy=entropy)
    return costs + delta / rho * (math.log(1 / share) + entropy + forgotten) + prices


def behind_constant(delta: float, start: float, rho: float, entropy: float, shared: float = 0.0) -> float:
    """Safety: whatever the auditor reports, Σ Err ≤ min over constants + (1 + KL(const)/ρ) Δ_T − Δ_0 + what was shared.

    A constant treats everybody alike, so no row charges it. ``shared`` is Σ_t ln(1/(1 − σ_t))/η_{t+1}.

    Examples
    --------
    >>> behind_constant(delta=50.0, start=0.0, rho=8.0, entropy=0.8)
    55.00000000000001
    """
    within(rho=rho, entropy=entropy, start=start)
    return (1 + entropy / rho) * delta - start + shared


def price_of_slack(epsilon: float, alpha: float, best_constant: float, best_fair: float) -> float:
    """What comparing with Q_{α−ε} leaves out: (ε/α)(min_const Err − Err(π*))₊ for the best π* of Q_α.

    (1 − ε/α) π* + (ε/α) · const is in Q_{α−ε}, so the error regret against Q_α is at most this more.

    Examples
    --------
    >>> price_of_slack(0.025, 0.1, best_constant=240.0, best_fair=200.0)
    10.0
    """
    within(epsilon=epsilon, alpha=alpha)
    require(epsilon <= alpha, "epsilon", f"be at most alpha = {alpha}", epsilon)
    return epsilon / alpha * max(0.0, best_constant - best_fair)


def cuts_scheduled(
    T: int, k: float, first: float, growth: float, rho: float, epsilon: float, kappa: float, forgotten: float = 0.0
) -> Bound:
    """Theorem C1: kept reports with hinges and cuts, C_j = C_1 exp(g (j − 1)), c = √(2Λg), Δ_0 = 0.

    For every z > 0:  error regret against Q_{α−ε} + (ε − c − z) S ≤ B = k√(ΛT) + 2ΛC_1/c + Λk/z, for truthful reports;
    against the constants for any auditor. So V ≤ min(S_max/C_1, (2Λ/c²) ln(1 + (e^g − 1) S_max/C_1)) with
    S_max = (κT + B)/(ε − c − z). ``forgotten`` is Σ_t ln(1/(1 − σ_t)): c + z and B are
    multiplied by 1 + forgotten/(2ρ). z is ε/4, or half of what c leaves of ε; V takes the best of a grid.

    Examples
    --------
    >>> bound = cuts_scheduled(T=10**5, k=6, first=223.6, growth=9.766e-6, rho=8.0, epsilon=0.025, kappa=3.0)
    >>> round(bound.error_regret, -3)
    299000.0
    """
    within(T=T, k=k, first=first, growth=growth, rho=rho, epsilon=epsilon, kappa=kappa, forgotten=forgotten)
    require(growth > 0, "growth", "be positive", growth)
    wide = stretched(rho)
    c, more = math.sqrt(2 * wide * growth), 1 + forgotten / (2 * rho)
    room = epsilon / more - c
    theorem = f"AdaHedge with kept reports, Theorem C1; {ANY_AUDITOR}; {TRUTHFUL}"
    if room <= 0:
        return Bound(math.inf, float(T), math.inf, epsilon, f"{theorem}; growth too fast for this ε")

    def limits(z: float) -> tuple[float, float]:
        """B, and the limit of V."""
        right = more * (k * math.sqrt(wide * T) + 2 * wide * first / c + wide * k / z)
        largest = (kappa * T + right) / (epsilon - more * (c + z))
        logarithm = math.log1p(math.expm1(growth) * largest / first)
        return right, min(float(T), largest / first, 2 * wide / c**2 * logarithm)

    z = min(epsilon / 4, room / 2)
    fewest = min(limits(room * step / 50)[1] for step in range(1, 50))
    return Bound(math.inf, min(fewest, limits(z)[1]), limits(z)[0], epsilon, theorem)


def cuts_tilted(
    T: int, k: float, c: float, floor: float, rho: float, epsilon: float, kappa: float, forgotten: float = 0.0
) -> Bound:
    """Theorem C1 with Theorem 2's floor: C_t = max(F_t, cΔ_{t−1}/ρ), F_t = floor · k√(t/ρ), Δ_0 = k.

    At every T at once, error regret against Q_{α−ε} + (ε − c) S ≤ √(4k² + Λk²T) − k + ckV, with a floor
    2ρF_T/c + 2k + 4F_T more, for truthful reports; against the constants for any auditor. V ≤ (2ρ/c² + ½) ln(Δ_T/k).
    Forgetting as in ``cuts_scheduled``.

    Examples
    --------
    >>> bound = cuts_tilted(T=10**7, k=6, c=0.0125, floor=0.7, rho=8.0, epsilon=0.025, kappa=3.0)
    >>> round(bound.violations)
    1543964
    """
    within(T=T, k=k, c=c, floor=floor, rho=rho, epsilon=epsilon, kappa=kappa, forgotten=forgotten)
    more = 1 + forgotten / (2 * rho)
    root = math.sqrt(4 * k**2 + stretched(rho) * k**2 * T)
    highest = floor * k * math.sqrt(T / rho)
    extra = 2 * rho * highest / c + 2 * k + 4 * highest if floor > 0 else 0.0
    theorem = f"AdaHedge with kept reports, Theorem C1 with a floor; {ANY_AUDITOR}; {TRUTHFUL}"
    if more * c >= epsilon:
        return Bound(math.inf, float(T), math.inf, epsilon, f"{theorem}; c too large for this ε")
    violations = float(T)
    for _ in range(50):  # V is on both sides; each substitution of a valid bound gives a valid one
        right = more * (root + c * k * violations + extra) - k
        paid = (kappa * T + right) / (epsilon - more * c)
        delta = (root + c * (paid + k * violations) + extra) / 2
        violations = min(violations, (2 * rho / c**2 + 0.5) * math.log(delta / k))
    return Bound(math.inf, violations, more * (root + c * k * violations + extra) - k, epsilon, theorem)


def cuts_alone(
    T: int, k: float, start: float, rho: float, epsilon: float, kappa: float, forgotten: float = 0.0
) -> Bound:
    """Theorem C2: cuts without a penalty, Δ enlarged by c²Δ/(2ρ) on a report, c = ε/√2, at every T at once.

    With A = ½√(4Δ_0² + Λk²T):  error regret against Q_{α−ε} ≤ 2A − Δ_0 + εkV/2, and
    V ≤ (4ρ/ε² + ½) ln((3A − Δ_0 + κT + εkV/2)/Δ_0), for any auditor. Caps must be at least εΔ_{t−1}/ρ.

    Examples
    --------
    >>> round(cuts_alone(T=10**6, k=2, start=2.0, rho=2.0, epsilon=0.25, kappa=1.0).violations)
    1687
    """
    within(T=T, k=k, rho=rho, epsilon=epsilon, kappa=kappa, forgotten=forgotten)
    require_number(start, "start", 0, open_at="low")
    more = 1 + forgotten / rho
    require(more < 2, "forgotten", f"be below rho = {rho:g}", forgotten)
    A = math.sqrt(4 * start**2 + stretched(rho) * k**2 * T) / 2
    violations = float(T)
    for _ in range(50):
        paid = (1 + more) * A - start + epsilon * k * violations / 2
        delta = A + (paid + kappa * T) / (2 - more)
        violations = min(violations, (4 * rho / epsilon**2 + 0.5) * math.log(delta / start))
    regret = (1 + more) * A - start + epsilon * k * violations / 2
    theorem = f"AdaHedge with cuts alone, Theorem C2; {ANY_AUDITOR}; {TRUTHFUL}"
    return Bound(math.inf, violations, regret, epsilon, theorem)


def cuts_violations_needed(T: int, N: int, eta: float, epsilon: float, alpha: float) -> float:
    """What cuts alone can't do: Hedge at a fixed rate η with hard cuts has V ≥ Tη/(ln(2N) + η) − 1 in some play.

    The adversary (k = 3, sees reports only) brings two people who are alike, and a third, in each round of a block.
    One hypothesis is right about all of them and favours one of the two. It gains weight until it is reported; then the
    next block begins, with another one. A block lasts at most ln(2N)/η + 1 rounds: of order √(T/ln N) violations at
    Hedge's rate, so a logarithm takes a penalty or a rate that falls. For a uniform prior, (e^{2η} − 1)α < ε ≤ α ≤ ¼,
    η ≤ 0.1, N ≥ 25/α, and N − 2 at least twice the number of blocks.

    Examples
    --------
    >>> round(cuts_violations_needed(4000, N=602, eta=0.0377, epsilon=0.05, alpha=0.1), 1)
    20.1
    """
    within(T=T, N=N)
    require_number(alpha, "alpha", 0, 0.25, open_at="low")
    require_number(eta, "eta", 0, 0.1, open_at="low")
    require_number(epsilon, "epsilon", math.expm1(2 * eta) * alpha, alpha, open_at="low")
    blocks = T / (math.log(2 * N) / eta + 1)
    require(N * alpha >= 25, "N", f"be at least 25/alpha = {25 / alpha:g}", N)
    require(2 * blocks + 2 <= N, "N", f"be at least {2 * blocks + 2:.0f}, so that half is left at the end", N)
    return max(0.0, blocks - 1)


def row_repeats(epsilon: float, alpha: float, tolerance: float = 0.0) -> float:
    """How often hard cuts let the same row be reported: at most 1 + (1 − α)/(ε − τ) times, whatever T is.

    Cuts that are kept within τ < ε: each report of a row has a gap at least ε − τ below the one before, and above α.
    So m people whom the class tells apart are reported at most m(m − 1) times as often.

    Examples
    --------
    >>> round(row_repeats(0.05, 0.1), 6)
    19.0
    """
    within(epsilon=epsilon, alpha=alpha)
    require_number(tolerance, "tolerance", 0, epsilon, open_at="high")
    return 1 + (1 - alpha) / (epsilon - tolerance)


def prices_limit(T: int, rho: float, eta: float, epsilon: float, alpha: float, kappa: float) -> float:
    """P = (κT + ρ/η)/(α − ε): what all prices add up to at most, where they are the exact optimum (weak duality).

    Their h_j*(μ_j) ≥ (α − ε) μ_j add up to what the better constant is behind, and KL(const)/η, at most.

    Examples
    --------
    >>> round(prices_limit(1000, rho=2.0, eta=0.02, epsilon=0.05, alpha=0.1, kappa=1.0))
    22000
    """
    within(T=T, rho=rho, epsilon=epsilon, alpha=alpha, kappa=kappa)
    require_number(eta, "eta", 0, open_at="low")
    require(epsilon < alpha, "epsilon", f"be below alpha = {alpha:g}", epsilon)
    return (kappa * T + rho / eta) / (alpha - epsilon)


def row_repeats_doubling(
    epsilon: float, alpha: float, first_cap: float, highest: float, tolerance: float = 0.0
) -> float:
    """How often caps that double let the same row be reported: at most 2 + log₂⁺(P/C̄_1) + (1 − α)/(ε − τ) times.

    ``first_cap`` is C̄_1, and ``highest`` is P, as ``prices_limit`` gives it. A row whose cap exceeds P can't be
    overrun, so ``row_repeats`` holds from then on. With a cap that stays it could be P/C̄_1 times, of order √T.

    Examples
    --------
    >>> round(row_repeats_doubling(0.05, 0.1, first_cap=22.0, highest=22_000.0), 2)
    29.97
    """
    require_number(first_cap, "first_cap", 0, open_at="low")
    require_number(highest, "highest", 0, open_at="low")
    return 1 + max(0.0, math.log2(highest / first_cap)) + row_repeats(epsilon, alpha, tolerance)
