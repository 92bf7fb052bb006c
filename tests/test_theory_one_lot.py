"""Labels of the accepted only: estimates by enumeration of the lot, lemmas on hostile losses, bounds as in print."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest

from likewise import theory
from likewise.errors import InvalidParameter

SLACK = 1e-9

# AdaHedge once more, in a few lines: what the lemmas speak of ------------------------------------------------


def gibbs(losses, eta, prior):
    """p ∝ w exp(−η L); at an infinite rate the prior among the leaders."""
    ahead = losses - losses.min()
    weights = prior * ((ahead == 0) if math.isinf(eta) else np.exp(-eta * ahead))
    return weights / weights.sum()


def mix_gap(p, losses, eta):
    """p·ℓ + (1/η) ln Σ p exp(−ηℓ)."""
    least = losses.min()
    return float(p @ losses - least + math.log(p @ np.exp(-eta * (losses - least))) / eta)


class Played(NamedTuple):
    delta: float
    start: float
    rho: float
    gaps: np.ndarray
    variances: np.ndarray
    largest: np.ndarray
    regret: float


def adahedge(choose, N, T, seed, start=0.0):
    """Play losses that are chosen with p in view."""
    rng, prior = np.random.default_rng(seed), np.full(N, 1 / N)
    total, delta, rho, rows, loss = np.zeros(N), start, math.log(N), [], 0.0
    for t in range(T):
        eta = rho / delta if delta > 0 else math.inf
        p = gibbs(total, eta, prior)
        losses = choose(rng, p, t)
        mean = float(p @ losses)
        least = (total + losses).min() - total.min()  # the mix loss at an infinite rate
        gap = mix_gap(p, losses, eta) if delta > 0 else mean - least
        rows.append((gap, float(p @ (losses - mean) ** 2), mean - losses.min()))
        total, delta, loss = total + losses, delta + gap, loss + mean
    return Played(delta, start, rho, *np.array(rows).T, loss - total.min())


def noise(rng, p, t):
    return rng.normal(size=len(p)) * rng.choice([0.1, 1.0, 5.0])


def spikes(rng, p, t):
    """Single hypotheses leap up, the lightest of them most."""
    losses = rng.random(len(p))
    losses[rng.integers(len(p))] += rng.choice([0.0, 50.0])
    losses[p.argmin()] += 1e4
    return losses


def leader_falls(rng, p, t):
    return (np.arange(len(p)) == p.argmax()) * rng.choice([1.0, 3.0])


def dives(rng, p, t):
    """An unlikely hypothesis gains: where one-sided bounds are worst."""
    losses = np.zeros(len(p))
    losses[np.argsort(p)[rng.integers(len(p) // 2)]] = -rng.choice([1.0, 4.0])
    return losses


@pytest.mark.parametrize("choose", [noise, spikes, leader_falls, dives])
@pytest.mark.parametrize("start", [0.0, 2.0])
@pytest.mark.parametrize("N", [2, 9, 60])
def test_the_sum_of_mix_gaps_is_at_most_what_the_variances_say(choose, start, N):
    for seed in range(3):
        met = adahedge(choose, N, 300, seed, start)
        limit = theory.delta_by_variance(met.variances.sum(), met.largest.max(), met.rho, start)
        assert met.delta <= limit + SLACK
        assert met.regret <= 2 * met.delta - start + SLACK
        assert (met.gaps <= met.largest + SLACK).all()


def test_leaps_of_a_hypothesis_without_weight_cost_nothing():
    def leaps(rng, p, t):
        losses = np.eye(6)[t % 5]
        losses[5] = 5.0 if t < 50 else 1e4
        return losses

    met = adahedge(leaps, 6, 300, 0)
    limit = theory.delta_by_variance(met.variances.sum(), met.largest.max(), met.rho)
    by_range = theory.prior_regret(250 * 1e8, met.rho) / 2
    assert met.delta <= limit < by_range / 1000


def test_a_round_obeys_the_inequality_behind_the_lemma_and_its_constant_is_sharp():
    """2δ/η ≤ v + (2/3) m δ, for any law and losses; with a smaller number than 2/3 it fails."""
    rng = np.random.default_rng(0)
    sharper = []
    for _ in range(3000):
        N = int(rng.integers(2, 6))
        p, losses, eta = rng.dirichlet(np.full(N, 0.3)), rng.normal(size=N) * rng.choice([0.1, 3]), rng.exponential()
        gap, largest = mix_gap(p, losses, eta), p @ losses - losses.min()
        variance = p @ (losses - p @ losses) ** 2
        assert 2 * gap / eta <= variance + 2 / 3 * largest * gap + SLACK
    for q in (1e-3, 1e-5):
        p, losses = np.array([q, 1 - q]), np.array([-1.0, 0.0])
        gap = mix_gap(p, losses, 0.1)
        sharper.append(2 * gap / 0.1 > p @ (losses + q) ** 2 + 0.6 * (1 - q) * gap)
    assert any(sharper)


def test_labels_and_penalties_part_company():
    rng = np.random.default_rng(1)
    closest = math.inf
    for _ in range(3000):
        N = int(rng.integers(2, 7))
        p, eta, C = rng.dirichlet(np.full(N, 0.5)), rng.exponential() + 1e-3, rng.exponential(3.0)
        losses, D = rng.normal(size=N) * rng.choice([0.0, 1.0, 9.0]), rng.integers(-1, 2, size=N).astype(float)
        largest = float(p @ losses - losses.min())
        together = mix_gap(p, losses + C * D, eta)
        assert together <= largest + mix_gap(p, C * D, eta) + 1e-8
        assert mix_gap(p, C * D, eta) <= eta * C**2 / 2 + 1e-8
        closest = min(closest, theory.parted_gap(largest, C, eta) - together)
    assert -1e-8 <= closest < 0.02


# One round: the estimate, by enumeration of the lot ----------------------------------------------------------


def outcomes(deployed, lot):
    """Every vector of decisions with its probability: one lot between its breakpoints, own lots one by one."""
    if lot == "round":
        cuts = np.unique([0.0, *deployed, 1.0])
        return [((low < deployed).astype(float), high - low) for low, high in itertools.pairwise(cuts)]
    patterns = map(np.array, itertools.product([0.0, 1.0], repeat=len(deployed)))
    return [(d, float(np.prod(np.where(d == 1, deployed, 1 - deployed)))) for d in patterns]


class Facts(NamedTuple):
    """What was seen in a round, over all lots: means, largest numbers, and the distance from unbiased."""

    bias: float
    largest: float
    mean: float
    variance: float
    lowest: float


def enumerate_round(answers, p, y, u, floor, costs, lot):
    """ŝ = u + 1[d](s − u)/π̃ for every lot, and the loss of every hypothesis."""
    s = costs[0] * (1 - y) - costs[1] * y
    deployed = floor + (1 - floor) * (p @ answers)
    found = []
    for d, probability in outcomes(deployed, lot):
        guess = u + np.where(d == 1, (s - u) / np.where(d == 1, deployed, 1.0), 0.0)
        losses = answers @ guess
        mean = p @ losses
        found.append((probability, guess, mean - losses.min(), p @ (losses - mean) ** 2, mean))
    probabilities = np.array([row[0] for row in found])
    assert probabilities.sum() == pytest.approx(1)
    happens = [row for row in found if row[0] > 1e-15]
    estimate = sum(row[0] * row[1] for row in found)
    return Facts(
        bias=float(np.abs(estimate - s)[deployed > 0].max(initial=0.0)),
        largest=max(row[2] for row in happens),
        mean=sum(row[0] * row[2] for row in happens),
        variance=sum(row[0] * row[3] for row in happens),
        lowest=-min(row[4] for row in happens),
    )


def random_round(rng, k):
    """All 2^k answers with a spiky law, or a few hypotheses that answer alike; labels mixed or all the same."""
    if rng.random() < 0.5:
        answers = np.array(list(itertools.product([0.0, 1.0], repeat=k)))
    else:
        answers = np.vstack([np.zeros(k), np.ones(k), rng.integers(0, 2, (2, k)).astype(float)])
    p = rng.dirichlet(np.full(len(answers), rng.choice([0.05, 0.5, 3.0])))
    p = (p + 1e-9) / (p + 1e-9).sum()
    y = rng.choice([rng.integers(0, 2, k), np.zeros(k), np.ones(k)]).astype(float)
    return answers, p, y


@pytest.mark.parametrize("lot", ["round", "person"])
@pytest.mark.parametrize("costs", [(1.0, 1.0), (3.0, 0.5), (0.4, 2.0)])
@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 1.0])
def test_the_estimate_is_unbiased_and_within_its_limits_whatever_the_lot(lot, costs, beta):
    rng = np.random.default_rng([int(10 * beta), int(10 * costs[0])])
    for _ in range(60):
        k = int(rng.integers(1, 5))
        answers, p, y = random_round(rng, k)
        floor = float(rng.choice([0.01, 0.1, 0.5])) if beta < 1 or rng.random() < 0.5 else 0.0
        met = enumerate_round(answers, p, y, -beta * costs[1], floor, costs, lot)
        limit = theory.label_estimate(k, beta, floor, costs, lot)
        assert met.bias < 1e-6
        for name in ("largest", "mean", "variance", "lowest"):
            assert getattr(met, name) <= getattr(limit, name) * (1 + 1e-6), name


@pytest.mark.parametrize("lot", ["round", "person"])
def test_a_doubt_that_changes_keeps_all_four_facts(lot):
    rng = np.random.default_rng(7)
    for _ in range(200):
        k, costs = int(rng.integers(1, 5)), (float(rng.uniform(0.2, 3)), float(rng.uniform(0.2, 3)))
        answers, p, y = random_round(rng, k)
        floor, u = float(rng.choice([0.02, 0.2])), -costs[1] * float(rng.choice([0.0, rng.random(), 1.0]))
        met = enumerate_round(answers, p, y, u, floor, costs, lot)
        limit = theory.changing_estimate(k, floor, costs, lot)
        assert met.bias < 1e-6
        for name in ("largest", "mean", "variance", "lowest"):
            assert getattr(met, name) <= getattr(limit, name) * (1 + 1e-6), name


def test_the_four_limits_are_nearly_met():
    """Everybody alike, seldom or always accepted: no smaller number would do."""
    both, k = np.array([[0.0] * 3, [1.0] * 3]), 3
    seldom, surely = np.array([1 - 1e-5, 1e-5]), np.array([1e-9, 1 - 1e-9])
    bad, good = np.zeros(k), np.ones(k)
    limit = theory.label_estimate(k, 1.0)
    met = enumerate_round(both, seldom, bad, -1.0, 0.0, (1.0, 1.0), "round")
    assert met.variance == pytest.approx(limit.variance, rel=1e-4)
    assert met.largest == pytest.approx(limit.largest, rel=1e-4)
    assert met.mean == pytest.approx(limit.mean, rel=1e-4)
    assert enumerate_round(both, surely, good, -1.0, 0.0, (1.0, 1.0), "round").lowest == pytest.approx(limit.lowest)
    rare = enumerate_round(both, seldom, good, -0.5, 0.05, (1.0, 1.0), "round")
    assert rare.largest == pytest.approx(theory.label_estimate(k, 0.5, 0.05).largest, rel=1e-3)
    own = enumerate_round(both, seldom, bad, -1.0, 0.0, (1.0, 1.0), "person")
    assert theory.label_estimate(k, 1.0, lot="person").variance * 0.8 < own.variance < met.variance


def test_at_full_doubt_the_range_is_b_times_k_whatever_the_floor_and_without_one_only_there():
    for floor in (0.0, 1e-6, 0.5):
        assert theory.label_estimate(6, 1.0, floor, (2.0, 0.5)).largest == 6 * 2.5
    assert theory.label_estimate(6, 0.999).largest == math.inf
    with pytest.raises(InvalidParameter, match="`labels` must have a finite range: a floor, or a doubt of 1"):
        theory.one_sided_tilted(100, theory.label_estimate(6, 0.9), 0.1, 6.0, 5.0, 0.5)
    assert theory.label_estimate(6, 0.5, 1e-9).largest == pytest.approx(6 * 0.5e9)
    with pytest.raises(InvalidParameter, match="`floor` must be positive where the doubt may change, got 0"):
        theory.changing_estimate(6, 0.0)


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_late_labels_keep_the_sure_facts_with_larger_numbers_only(beta):
    """u booked under one policy, (s − u)/π̃ under another; the limits of labels in time would be wrong."""
    rng = np.random.default_rng(8)
    beyond = False
    for _ in range(300):
        k, floor, costs = 3, float(rng.choice([0.02, 0.2])), (float(rng.uniform(0.2, 3)), float(rng.uniform(0.2, 3)))
        answers, p, y = random_round(rng, k)
        later = rng.dirichlet(np.full(len(answers), 0.05))
        deployed, s, u = floor + (1 - floor) * (p @ answers), costs[0] * (1 - y) - costs[1] * y, -beta * costs[1]
        limit, changing = theory.late_estimate(k, floor, costs, beta), theory.late_estimate(k, floor, costs)
        for d, _ in outcomes(deployed, "round"):
            booked, added = answers @ np.full(k, u), answers @ np.where(d == 1, (s - u) / deployed, 0.0)
            largest = p @ booked - booked.min() + later @ added - added.min()
            lowest = -(p @ booked + later @ added)
            assert largest <= limit.largest + SLACK
            assert lowest <= limit.lowest + SLACK
            beyond |= largest > theory.label_estimate(k, beta, floor, costs).largest + SLACK
        assert limit.largest <= changing.largest + SLACK
        assert limit.lowest <= changing.lowest + SLACK
    assert beyond
    bound = theory.one_sided_tilted(10**7, theory.late_estimate(2, 0.05, doubt=beta), 0.25, 2.0, 1.1, 0.5)
    assert (bound.violations < 1000, bound.error_regret) == (True, math.inf)


def test_what_theorem_7_rests_on_holds_for_every_lot():
    """E exp(λf(Z − b(1 − y))) ≤ 1 at λ = 2γ'/b, E πZ ≥ bπ(1 − y) − bγ', and v ≤ 2bk ΣZ + ½c⁻²k²."""
    rng = np.random.default_rng(3)
    stronger = 0
    for _ in range(300):
        k, (c_fp, c_fn) = 3, rng.uniform(0.2, 3, 2)
        b, ix = c_fp + c_fn, float(rng.choice([1e-3, 0.05, 0.25]))
        answers, p, y = random_round(rng, k)
        shown = p @ answers
        moments, weighed = np.zeros(k), np.zeros(k)
        for d, probability in outcomes(shown, "round"):
            Z = b * d * (1 - y) / (shown + ix)
            losses = answers @ (Z - c_fn)
            assert p @ (losses - p @ losses) ** 2 <= 2 * b * k * Z.sum() + c_fn**2 * k**2 / 2 + SLACK
            assert p @ losses - losses.min() <= b * k + SLACK
            moments += probability * np.exp(2 * ix / b * (Z - b * (1 - y)))
            weighed += probability * shown * Z
        assert (moments <= 1 + SLACK).all()
        assert (weighed >= b * shown * (1 - y) - b * ix - SLACK).all()
        stronger += bool((moments > 1 - 1e-3).any())
    assert stronger


# The bounds, as in print -------------------------------------------------------------------------------------


@pytest.mark.parametrize("T", [10, 2000, 10**6])
@pytest.mark.parametrize(("k", "N", "alpha"), [(6, 146, 0.1), (2, 3, 0.5)])
def test_benefit_of_the_doubt_has_the_bounds_in_print(T, k, N, alpha):
    rho = math.log(N)
    bound = theory.one_sided_tilted(T, theory.label_estimate(k, 1.0), alpha / 2, float(k), rho, alpha)
    printed = (8 * rho / alpha**2 + 0.5) * math.log(4.5 * T + 1.5)
    assert bound.violations == pytest.approx(min(T, printed))
    assert bound.epsilon == alpha / 2
    regret = 4 * k * math.sqrt(T * rho) + k + (8 * rho / 3 + 4) * k + 4 * k * bound.violations
    rounded_up = 2 * k + 4 * k * math.sqrt(rho * T) - 2 * math.sqrt(k**2 + 4 * k**2 * rho * T)
    assert bound.error_regret == pytest.approx(regret - rounded_up)
    assert 0 < rounded_up < 2 * k
    both = theory.both_at_once(T, k, rho, alpha, 0.05)
    assert (both.violations, both.error_regret) == (bound.violations, bound.error_regret)
    assert both.expected == pytest.approx(bound.violations / alpha)
    ell, V = math.log(20), bound.violations
    assert both.likely == pytest.approx((V + math.sqrt(2 * V * ell) + 2 * ell) / alpha)


def scheduled_as_by_default(T, alpha, k=6, N=146):
    """C_1 = (k/3)√(T/ln N) and c = α/2, with the benefit of the doubt."""
    first, growth = theory.scheduled_first(T, k, N), theory.scheduled_growth(alpha / 2, N)
    return theory.one_sided_scheduled(T, theory.label_estimate(k, 1.0), first, growth, math.log(N), alpha)


def test_the_honest_scale_of_the_sure_bound():
    found = [round(scheduled_as_by_default(T, 0.5).violations) for T in (2000, 20_000, 10**6)]
    assert found == [587, 765, 1075]
    assert scheduled_as_by_default(12_000, 0.1).violations == 12_000
    assert scheduled_as_by_default(12_100, 0.1).violations < 12_100


def test_scheduled_penalties_have_the_formula_of_theorem_6():
    T, k, rho, alpha, c, first, costs = 5000, 4, 6.0, 0.4, 0.15, 30.0, (2.0, 0.5)
    labels = theory.label_estimate(k, 0.5, 0.02, costs)
    M, kappa, b = k * (0.25 + 0.25 / 0.02), 2.25, 2.5
    assert labels.largest == pytest.approx(M)
    growth = c**2 / (2 * rho)
    bound = theory.one_sided_scheduled(T, labels, first, growth, rho, alpha, explored=7.0, sees="probabilities")
    most = (0.5 * k * T + 2 * T * M + 2 * rho * first / c) / (alpha - c)
    V = 2 * rho / c**2 * math.log(1 + (math.exp(growth) - 1) * most / first)
    A = kappa * k * math.sqrt(rho * T) + (2 * rho / 3 + 1) * M
    assert bound.violations == pytest.approx(V)
    assert bound.error_regret == pytest.approx(2 * A + 2 * max(costs) * k * V + 2 * rho * first / c + 7)
    assert bound.error_regret < 2 * A + 2 * b * k * V + 2 * rho * first / c + 7  # E m ≤ k max(c) is below bk


@pytest.mark.parametrize("kind", ["scheduled", "tilted"])
def test_slack_beyond_c_absorbs_what_reports_cost_the_labels(kind):
    labels, rho, alpha = theory.label_estimate(6, 1.0), 5.0, 0.5

    def regret(epsilon):
        if kind == "tilted":
            return theory.one_sided_tilted(10**6, labels, 0.25, 400.0, rho, alpha, epsilon=epsilon)
        return theory.one_sided_scheduled(10**6, labels, 900.0, 0.25**2 / 10, rho, alpha, epsilon=epsilon)

    least, wide = regret(None), regret(0.5)
    per_report = 900.0 if kind == "scheduled" else 0.25 * 400 / rho
    assert least.epsilon == pytest.approx(0.25)
    saved = min(24.0, 0.25 * per_report) * least.violations
    assert least.error_regret - wide.error_regret == pytest.approx(saved)
    with pytest.raises(InvalidParameter, match=r"`epsilon` must be in \[0.25, 0.5\], got 0.1"):
        regret(0.1)


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_what_stands_before_the_root_of_t(beta):
    """Times k√(T ln N), at equal costs: 4 with the benefit of the doubt, more with a floor."""
    T, k, rho = 10**20, 6, math.log(146)
    floor = {0.0: math.sqrt((4 * rho / 3 + 2) / T), 0.5: math.sqrt(rho / T) / 4, 1.0: 0.0}[beta]
    labels = theory.label_estimate(k, beta, floor)
    bound = theory.one_sided_tilted(T, labels, 0.25, 6.0, rho, 0.5, explored=k * T * floor, sees="probabilities")
    factor = bound.error_regret / (k * math.sqrt(rho * T))
    ips, half = 2 + 2 * math.sqrt(4 / 3 + 2 / rho), 3 + 8 / 3 + 1 / 4 + 4 / rho
    assert factor == pytest.approx({0.0: ips, 0.5: half, 1.0: 4.0}[beta], rel=1e-6)


def test_a_fixed_penalty_solves_its_two_inequalities():
    T, k, C, rho, alpha = 10**6, 4, 100.0, 5.0, 0.3
    bound = theory.one_sided_fixed(T, theory.label_estimate(k, 1.0), C, rho, alpha)
    V = bound.violations
    assert C * alpha * V == pytest.approx(k * T + 4 * T * k + 2 * C * math.sqrt(rho * V))
    A = 2 * k * math.sqrt(rho * T) + (2 * rho / 3 + 1) * 2 * k
    assert bound.error_regret == pytest.approx(2 * A + 4 * k * V + 2 * C * math.sqrt(rho * V))


def test_bounds_only_grow_with_what_makes_the_play_harder():
    labels, tilt = theory.label_estimate(6, 0.5, 0.01), (0.05, 6.0, 5.0, 0.1)
    plain = theory.one_sided_tilted(10**7, labels, *tilt)
    for harder in ({"highest": 50.0}, {"forgotten": 0.01}, {"explored": 9.0}):
        bound = theory.one_sided_tilted(10**7, labels, *tilt, **harder)
        assert bound.error_regret > plain.error_regret
        assert bound.violations >= plain.violations
    assert theory.one_sided_tilted(10**7, labels, *tilt, sees="decisions").error_regret < plain.error_regret
    assert theory.one_sided_tilted(100, labels, 0.1, 6.0, 5.0, 0.1).violations == 100
    assert theory.one_sided_scheduled(100, labels, 1.0, 0.1, 5.0, 0.1).error_regret == math.inf
    with pytest.raises(InvalidParameter, match="`sees` must be one of"):
        theory.one_sided_tilted(100, labels, *tilt, sees="nothing")


def test_theorem_7_has_its_best_rate_and_its_terms_in_print():
    T, k, rho, delta, V, b = 10**6, 6, 5.0, 0.05, 12, 2.0
    everything = rho + math.log(3 / delta)
    best = math.sqrt(everything / (2 * T))
    fixed = theory.safe_regret(T, k, V, rho, best, delta, start=6.0)
    variance = k**2 * ((2 * b**2 + 0.5) * T + b**2 / best * math.log(3 / delta))
    learned = 2 * math.sqrt(36 + rho * variance) + (4 * rho / 3 + 2) * b * k + 2 * b * k * V - 6
    deviations = b * k * math.sqrt(2 * T * everything) + b * k * math.sqrt(T * math.log(3 / delta) / 2)
    assert fixed == pytest.approx(learned + deviations)
    own = theory.safe_regret(T, k, V, rho, best, delta, start=6.0, lot="person")
    assert own < fixed
    falling = theory.sum_of_floors(T, rho, known=False, scale=0.1)
    anytime = theory.safe_regret(T, k, V, rho, theory.ix_rate(T, rho), delta, sum_of_ix=falling)
    assert anytime > theory.safe_regret(T, k, V, rho, theory.ix_rate(T, rho), delta)


@pytest.mark.parametrize("T", [1, 30, 5000])
@pytest.mark.parametrize(("rate", "scale"), [(theory.label_floor, 0.3), (theory.ix_rate, 0.1)])
def test_floors_fall_and_their_sum_is_at_most_what_is_said(T, rate, scale):
    rho = 7.0
    rates = [rate(t, rho) for t in range(1, T + 1)]
    assert all(late <= early <= 0.25 for early, late in itertools.pairwise(rates))
    assert rate(T, rho) == min(0.25, scale * math.sqrt(rho / T))
    limit = theory.sum_of_floors(T, rho, known=False, scale=scale)
    assert sum(rates) <= limit + SLACK
    assert limit <= 1.2 * sum(rates) or T < 1000
    assert theory.sum_of_floors(T, rho, known=True, scale=scale) == pytest.approx(T * rate(T, rho))


# Plays -------------------------------------------------------------------------------------------------------

ANSWERS = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
"""Refuse both, accept both, accept the first."""


class Game(NamedTuple):
    """Two people, the first good and the second bad; one lot, and a report that may depend on it."""

    T: int
    alpha: float
    beta: float
    floor: float
    hostile: bool
    first: float = 0.0  # of scheduled penalties; without it they are tilted

    @property
    def growth(self):
        return theory.scheduled_growth(self.alpha / 2, 3)

    def labels(self, rng, p):
        """Known before the lot; a hostile world often labels against the policy."""
        against = self.hostile and rng.random() < 0.3
        return (p @ ANSWERS < 0.5).astype(float) if against else np.array([1.0, 0.0])

    def reports(self, rng, deployed, largest):
        """Wherever it may, or where it hurts most."""
        return deployed[0] - deployed[1] > self.alpha and (not self.hostile or largest > 1 or rng.random() < 0.5)

    def play(self, seed):
        """V and the error regret against α/2 of the third hypothesis."""
        rng, rho, c, start = np.random.default_rng(seed), math.log(3), self.alpha / 2, 0.0 if self.first else 2.0
        total, delta, loss, penalties, error, quiet, reported = np.zeros(3), start, 0.0, [], 0.0, start, 0.0
        for _ in range(self.T):
            eta = rho / delta if delta > 0 else math.inf
            p = gibbs(total, eta, np.full(3, 1 / 3))
            deployed = self.floor + (1 - self.floor) * (p @ ANSWERS)
            s = 1 - 2 * self.labels(rng, p)
            seen = rng.random() < deployed
            fed = ANSWERS @ (-self.beta + np.where(seen, (s + self.beta) / np.where(seen, deployed, 1.0), 0.0))
            largest, C = p @ fed - fed.min(), 0.0
            if self.reports(rng, deployed, largest):
                C = self.first * math.exp(self.growth * len(penalties)) if self.first else c / eta
                penalties.append(C)
            losses = fed + C * (ANSWERS[:, 0] - ANSWERS[:, 1])
            gap = mix_gap(p, losses, eta) if delta > 0 else p @ losses - (total + losses).min() + total.min()
            gap = gap if self.first else max(gap, c * C / 2)
            quiet, reported = (quiet, reported + largest) if C else (quiet + gap, reported)
            total, delta, loss = total + losses, delta + gap, loss + p @ losses
            error += float(s @ deployed - s @ (self.alpha / 2 * ANSWERS[2]))
        paid = math.sqrt(4.5 * np.square(penalties).sum()) if self.first else c / 2 * sum(penalties)
        assert delta <= quiet + reported + paid + 1e-6  # Lemma 4, for the play
        assert loss - total.min() <= 2 * delta - start + 1e-6
        return len(penalties), error


@pytest.mark.parametrize("first", [0.0, 5.0])
@pytest.mark.parametrize("hostile", [False, True])
@pytest.mark.parametrize(("beta", "floor"), [(1.0, 0.0), (0.5, 0.02), (0.0, 0.05)])
def test_sure_bounds_hold_in_every_play_and_the_regret_bound_on_average(beta, floor, hostile, first):
    T, alpha, rho = 1500, 0.5, math.log(3)
    game, labels = Game(T, alpha, beta, floor, hostile, first), theory.label_estimate(2, beta, floor)
    if first:
        bound = theory.one_sided_scheduled(T, labels, first, game.growth, rho, alpha, explored=2 * T * floor)
    else:
        bound = theory.one_sided_tilted(T, labels, alpha / 2, 2.0, rho, alpha, explored=2 * T * floor)
    plays = [game.play(seed) for seed in range(3)]
    assert all(V <= bound.violations < T for V, _ in plays)
    assert max(V for V, _ in plays) > 40
    assert np.mean([error for _, error in plays]) <= bound.error_regret


# Forgetting, stretch by stretch ------------------------------------------------------------------------------


@pytest.mark.parametrize("choose", [noise, leader_falls, dives])
@pytest.mark.parametrize("share", [1e-4, 0.02])
def test_every_stretch_of_a_play_with_a_share_obeys_proposition_s(choose, share):
    rng = np.random.default_rng(5)
    N, T = 5, 60
    prior = rng.dirichlet(np.ones(N)) * 0.9 + 0.02
    rho, delta, deltas, rows = math.log(1 / prior.min()), 1.0, [1.0], []
    p = prior
    for t in range(T):
        losses = choose(rng, p, t) * (1 if t < T / 2 else -1)
        eta = rho / delta
        rows.append((float(p @ losses), losses))
        delta += mix_gap(p, losses, eta)
        energy = (-np.log(p / prior) / eta + losses) * rho / delta  # the same X at the lower rate
        p = (1 - share) * gibbs(energy, 1.0, prior) + share * prior
        deltas.append(delta)
    mixtures = [*np.eye(N), *rng.dirichlet(np.ones(N), 3)]
    slacks = []
    for (r, s), q in itertools.product(itertools.combinations(range(0, T + 1, 4), 2), mixtures):
        regret = sum(mean - q @ losses for mean, losses in rows[r:s])
        entropy = float(sum(x * math.log(x / w) for x, w in zip(q, prior, strict=True) if x > 0))
        limit = theory.interval_regret(
            deltas[s] - deltas[r], deltas[s], rho, share if r else 1.0, -(s - r) * math.log1p(-share), entropy
        )
        slacks.append(limit - regret)
    assert min(slacks) >= -1e-8
