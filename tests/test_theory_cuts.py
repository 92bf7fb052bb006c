"""Any prior, a fair start, kept reports: the formulas, against sums, programs and plays."""

from __future__ import annotations

import math

import numpy as np
import pytest

import likewise as lw
from games import Town, best_fair_error, drive, hostile_losses, random_losses, shifting_losses
from likewise import theory
from likewise.errors import InvalidParameter

SLACK = 1e-6
TOWN = Town(k=3)
CUTS = lw.Thresholds.quantiles(TOWN.X, cuts=3)


@pytest.mark.parametrize("losses", [random_losses, hostile_losses, shifting_losses])
@pytest.mark.parametrize("seed", range(3))
def test_regret_from_any_prior_is_at_most_what_lemma_1_prime_says(losses, seed):
    w = np.random.default_rng(seed).dirichlet(np.full(12, 0.5)) * 0.99 + 0.01 / 12
    F = lw.FiniteClass([lambda X: X[:, 0]] * 10)
    learner = lw.AdaHedge(F, k=2, penalty=20.0, prior=w)
    met = drive(learner, losses, rounds=300, seed=seed)
    rho = learner.start.rho
    assert rho == pytest.approx(math.log(1 / w.min()))
    assert met.regret <= learner.observed_bound(met.state) + SLACK
    assert 2 * met.state.delta <= theory.prior_regret(met.squared_ranges, rho) + SLACK


def test_a_comparator_near_the_prior_costs_less():
    assert theory.prior_regret(400.0, 9.0, entropy=0.0) == pytest.approx(theory.prior_regret(400.0, 9.0) / 2)
    assert theory.prior_regret(0.0, 9.0, start=3.0) == pytest.approx(3.0)


@pytest.mark.parametrize("T", [500, 10**5])
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_the_defaults_guarantee_is_the_one_in_print(T, alpha):
    k, rho = 6, 8.0
    epsilon = alpha / 4
    first, growth = k / 3 * math.sqrt(T / rho), (epsilon / 2) ** 2 / (2 * rho)
    bound = theory.cuts_scheduled(T, k, first, growth, rho, epsilon, kappa=k / 2)
    printed = (1 + 16 / (3 * alpha)) * k * math.sqrt(rho * T) + 16 * k * rho / alpha
    assert bound.error_regret == pytest.approx(printed)
    shared = theory.cuts_scheduled(
        T, k, first, growth, rho, epsilon, k / 2, theory.forgotten_share(T, 0.01, known=True)
    )
    assert printed < shared.error_regret < 1.003 * printed


@pytest.mark.parametrize("T", [1, 10, 37, 2000])
def test_the_share_of_a_play_is_at_least_the_sum_of_its_rounds(T):
    F, forget = lw.Thresholds([[0.5]]), 0.2
    learners = (lw.AdaHedge(F, k=2, alpha=0.1, T=horizon, forget=forget) for horizon in (T, None))
    known, anytime = (sum(-math.log1p(-learner.share(t)) for t in range(1, T + 1)) for learner in learners)
    assert theory.forgotten_share(T, forget, known=True) == pytest.approx(known)
    assert anytime <= theory.forgotten_share(T, forget, known=False) <= 1.4 * anytime
    assert (known > 0) == (T >= 10)


def test_cuts_alone_is_a_fixed_point_of_its_two_inequalities():
    T, k, start, rho, epsilon, kappa = 10**6, 2, 2.0, 2.0, 0.25, 1.0
    A = math.sqrt(4 * start**2 + 4.5 * k**2 * T) / 2
    bound = theory.cuts_alone(T, k, start, rho, epsilon, kappa)
    inside = 3 * A - start + kappa * T + epsilon * k * bound.violations / 2
    assert bound.violations == pytest.approx((4 * rho / epsilon**2 + 0.5) * math.log(inside / start))
    assert bound.error_regret == pytest.approx(2 * A - start + epsilon * k * bound.violations / 2)


@pytest.mark.parametrize("kind", ["scheduled", "tilted", "alone"])
def test_violations_grow_like_the_logarithm_and_regret_like_the_root(kind):
    def bound(T):
        if kind == "alone":
            return theory.cuts_alone(T, 4, 4.0, 5.0, 0.2, 2.0)
        if kind == "tilted":
            return theory.cuts_tilted(T, 4, 0.05, 0.7, 5.0, 0.2, 2.0)
        return theory.cuts_scheduled(T, 4, 4 / 3 * math.sqrt(T / 5), 0.1**2 / 10, 5.0, 0.2, 2.0)

    small, large = bound(10**24), bound(10**26)
    assert large.violations < 1.15 * small.violations
    assert large.error_regret == pytest.approx(10 * small.error_regret, rel=0.05)


def test_where_c_leaves_no_room_only_the_rounds_are_promised():
    assert theory.cuts_scheduled(100, 2, 1.0, 0.1, 5.0, 0.1, 1.0).violations == 100
    assert theory.cuts_tilted(100, 2, 0.2, 0.5, 5.0, 0.1, 1.0).error_regret == math.inf


@pytest.mark.parametrize("epsilon", [0.0, 0.03, 0.1])
def test_the_price_of_slack_covers_the_distance_of_the_two_programs(epsilon):
    alpha = 0.1
    t = lw.play(lw.Unconstrained(CUTS, k=3), TOWN.iid(), lw.MetricAuditor(TOWN.near, alpha), 60)
    answers = CUTS.predict_rows(t.rows).astype(float)
    fair, strict = (best_fair_error(t, answers, TOWN.near, level) for level in (alpha, alpha - epsilon))
    price = theory.price_of_slack(epsilon, alpha, float(t.constant_errors[-1]), fair)
    assert strict <= fair + price + SLACK
    assert fair < t.constant_errors[-1]


def test_a_fair_start_adds_up_and_refuses_what_it_does_not_cover():
    for alpha in (0.01, 0.1, 2 / 3):
        constant, other = theory.fair_start(alpha, 50)
        assert 2 * constant + 48 * other == pytest.approx(1)
        assert -math.log(constant) <= math.log(4) + 1e-12
    with pytest.raises(InvalidParameter, match=r"`alpha` must be at most 2/3 for a fair start, got 0\.7"):
        theory.fair_start(0.7, 50)
    with pytest.raises(InvalidParameter, match="`N` must be at least 3 for a fair start, got 2"):
        theory.fair_start(0.1, 2)
