"""Labels that are seen only of the accepted: their estimate, round by round. Pure formulas; ours, not refereed.

Deployed is π̃ = γ + (1 − γ)π, and d_i = 1[U < π̃_i]. With s = c⁺(1 − y) − c⁻y and a doubt β, u = −βc⁻, the learner is fed
ŝ_i = u + 1[d_i = 1](s_i − u)/π̃_i, so unseen people count as u. β = 0 is inverse propensity, β = 1 the benefit of the
doubt. ``costs`` are (c⁺, c⁻), false positive first, and b is their sum; **k counts people here**. ρ is ln(1/min w) for
a prior w, ln N if it is uniform. The batch, its labels and its distances may depend on the past and on p^t, never on
the round's lot.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from likewise.errors import require, require_number
from likewise.theory.lots import LOTS
from likewise.theory.ranges import within

Costs = tuple[float, float]
EQUAL: Costs = (1.0, 1.0)


# Lemmas ----------------------------------------------------------------------------------------------------


def delta_by_variance(sum_of_variances: float, largest: float, rho: float, start: float = 0.0) -> float:
    """Lemma 1″: Δ_T ≤ √(Δ_0² + ρ Σ v_t) + (2ρ/3 + 1) M for AdaHedge, so the regret is at most 2Δ_T − Δ_0.

    v_t is the variance of round t's losses under p^t, and M the largest m_t = p^t·ℓ_t − min_f ℓ_t(f). Surely, for every
    sequence of losses chosen with p^t in view. De Rooij et al. (2014) have the full range in the place of M: here a
    hypothesis whose loss leaps up costs nothing more. It also holds for the mix gaps of some of the rounds alone.

    Examples
    --------
    >>> delta_by_variance(100.0, largest=2.0, rho=9.0)
    44.0
    """
    within(sum_of_squares=sum_of_variances, largest=largest, rho=rho, start=start)
    return math.sqrt(start**2 + rho * sum_of_variances) + (2 * rho / 3 + 1) * largest


def parted_gap(largest: float, C: float, eta: float) -> float:
    """Lemma 4: the mix gap of ℓ + C·D is at most m(ℓ) + ηC²/2, m(ℓ) = p·ℓ − min_f ℓ(f), D = f(x) − f(x').

    Surely, whatever ℓ and D: labels and penalties part company. So Δ_T ≤ A + Y + √(Λ ΣC_j²) with scheduled penalties
    and A + Y + (c/2) S with tilted ones; A is Δ_0 and the mix gaps of rounds without a report, Y = Σ m_t of the others.

    Examples
    --------
    >>> parted_gap(largest=2.0, C=3.0, eta=0.5)
    4.25
    """
    within(largest=largest, C=C, eta=eta)
    return largest + eta * C**2 / 2


# The estimate of a round -----------------------------------------------------------------------------------


class LabelLimits(NamedTuple):
    """What the estimated losses of a round can be, whatever the policy.

    Attributes
    ----------
    largest
        m_t = p·ℓ̂ − min_f ℓ̂(f) is at most this, surely.
    mean
        E m_t, given all before the lot.
    variance
        E v_t, the variance of ℓ̂ under p^t, given all before the lot.
    lowest
        p·ℓ̂ is at least minus this, surely.
    """

    largest: float
    mean: float
    variance: float
    lowest: float


def label_estimate(k: int, doubt: float, floor: float = 0.0, costs: Costs = EQUAL, lot: str = "round") -> LabelLimits:
    """Facts (a) to (d): ŝ is unbiased, and its losses are within these limits, for a fixed doubt β.

    m_t ≤ M = k max(c⁺ + βc⁻, βc⁻ + (1 − β)c⁻/γ), which is bk at β = 1 **whatever π**; E m_t ≤ k max(c⁺, c⁻);
    E v_t ≤ κ²k² with κ = max(c⁺ + βc⁻, c⁻), or max(c⁺, c⁻)²k²/4 + κ²k with own lots; p·ℓ̂ ≥ −c⁻k. ``floor`` is γ, the
    smallest of the play. Without a floor M is finite at β = 1 alone.

    Examples
    --------
    >>> label_estimate(6, doubt=1.0)
    LabelLimits(largest=12.0, mean=6.0, variance=144.0, lowest=6.0)
    >>> label_estimate(6, doubt=0.5, floor=0.0625).largest
    51.0
    """
    require_round(k, floor, costs, lot)
    within(beta=doubt)
    bad, good = costs
    kappa = max(bad + doubt * good, good)
    unlikely = (1 - doubt) * good / floor if floor > 0 else (0.0 if doubt == 1 else math.inf)
    variance = (kappa * k) ** 2 if lot == "round" else (max(costs) * k) ** 2 / 4 + kappa**2 * k
    return LabelLimits(k * max(bad + doubt * good, doubt * good + unlikely), k * max(costs), variance, k * good)


def changing_estimate(k: int, floor: float, costs: Costs = EQUAL, lot: str = "round") -> LabelLimits:
    """Proposition D: the same for a doubt that may change from round to round, u_t ∈ [−c⁻, 0] known before the lot.

    M = k max(b, c⁻/γ) and κ = b. The running doubt is one: unseen people count as the average person seen so far.
    Theorems 6 and 8 hold with these numbers, Theorem 7 doesn't. The floor must be positive.

    Examples
    --------
    >>> changing_estimate(6, floor=0.0625)
    LabelLimits(largest=96.0, mean=6.0, variance=144.0, lowest=6.0)
    """
    require_round(k, floor, costs, lot)
    require(floor > 0, "floor", "be positive where the doubt may change", floor)
    surest = label_estimate(k, 1.0, floor, costs, lot)
    return surest._replace(largest=k * max(sum(costs), costs[1] / floor))


def late_estimate(k: int, least: float, costs: Costs = EQUAL, doubt: float | None = None) -> LabelLimits:
    """The same where labels may come late: u is booked at closing, and (s − u)/π̃ of its own round when the label comes.

    The policy is another one by then, so only the sure facts are left, and they are weaker: m_t adds up to at most
    M = k(βc⁻ + max(c⁺ + βc⁻, (1 − β)c⁻)/γ) a round, and p·ℓ̂ ≥ −k(βc⁻ + (1 − β)c⁻/γ), which is −c⁻k at β = 1. So V has
    Theorem 6's sure bound with these numbers; nothing is said of the error regret. ``least`` is the smallest divisor,
    the floor γ plus the IX γ'; without ``doubt`` it may change from round to round.

    Examples
    --------
    >>> late_estimate(6, least=0.05, doubt=1.0)
    LabelLimits(largest=246.0, mean=inf, variance=inf, lowest=6.0)
    """
    require_round(k, least, costs, "round")
    require(least > 0, "least", "be positive where labels may come late", least)
    bad, good = costs
    if doubt is None:
        return LabelLimits(k * (good + (bad + good) / least), math.inf, math.inf, k * good / least)
    within(beta=doubt)
    missing = (1 - doubt) * good
    largest = k * (doubt * good + max(bad + doubt * good, missing) / least)
    return LabelLimits(largest, math.inf, math.inf, k * (doubt * good + missing / least))


def label_floor(T: int, rho: float, scale: float = 0.3) -> float:
    """γ = min(¼, 0.3√(ρ/T)), the least probability that our default gives to anybody; t for T where T is unknown.

    ``scale`` is the 0.3.

    Examples
    --------
    >>> label_floor(2000, rho=5.0), label_floor(3, rho=5.0)
    (0.015, 0.25)
    """
    return _falling(T, rho, scale)


def ix_rate(T: int, rho: float) -> float:
    """γ' = min(¼, √(ρ/T)/10), what ``safe`` adds to every probability it divides by; t for T where T is unknown.

    Examples
    --------
    >>> round(ix_rate(1600, rho=4.0), 9)
    0.005
    """
    return _falling(T, rho, 0.1)


def sum_of_floors(T: int, rho: float, *, known: bool, scale: float = 0.3) -> float:
    """Σ_t min(¼, scale · √(ρ/T)), or a limit of Σ_t min(¼, scale · √(ρ/t)) where T is unknown: twice that at most.

    With scale 0.3 for ``label_floor`` and 0.1 for ``ix_rate``. A floor costs c⁺k times the sum in error.

    Examples
    --------
    >>> sum_of_floors(2000, 5.0, known=True), sum_of_floors(2000, 5.0, known=False)
    (30.0, 60.0)
    """
    require_number(scale, "scale", 0)
    return T * _falling(T, rho, scale) if known else min(T / 4, 2 * scale * math.sqrt(rho * T))


def _falling(T: int, rho: float, scale: float) -> float:
    within(T=T, rho=rho)
    return min(0.25, scale * math.sqrt(rho / T))


def require_round(k: int, floor: float, costs: Costs, lot: str) -> None:
    """What every formula of a round asks of its arguments."""
    require_number(k, "k", 0, open_at="low")
    require_number(floor, "floor", 0, 1)
    for cost in costs:
        require_number(cost, "costs", 0, open_at="low")
    require(lot in LOTS, "lot", f"be one of {', '.join(map(repr, LOTS))}", lot)
