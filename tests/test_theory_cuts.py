"""Any prior, a fair start, kept reports: the formulas, against sums, programs and plays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import likewise as lw
from games import (
    EveryPair,
    Town,
    alike,
    best_fair_error,
    drive,
    hostile_losses,
    random_losses,
    shifting_losses,
    two_people,
    two_people_class,
)
from likewise import theory
from likewise.errors import InvalidParameter
from likewise.learners.adahedge import TOLERANCE

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


# What cuts can't do ------------------------------------------------------------------------------------------


class HardCuts:
    """Hedge at a fixed rate with hard cuts, where each report is about one hypothesis and limits its weight."""

    def __init__(self, N, eta):
        self.eta, self.losses, self.limits = eta, np.zeros(N), np.full(N, np.inf)

    @property
    def weights(self):
        """The KL-projection: weights above their limit are put there, and the others share what is left."""
        w = np.exp(-self.eta * (self.losses - self.losses.min()))
        p, held = w / w.sum(), np.zeros(len(w), dtype=bool)
        while (over := ~held & (p > self.limits)).any():
            held |= over
            p = np.where(held, self.limits, w * (1 - self.limits[held].sum()) / w[~held].sum())
        return p


def violations_in_blocks(N, eta, epsilon, alpha, T):
    """Violations of the learner above on people a, b, z with labels 1, 0, 0, where a and b are alike.

    F = {0, 1, f_1, …}. In block i only f_i says 1 of a, and those of earlier blocks say 1 of z. A report ends a block.
    """
    learner, block = HardCuts(N, eta), 0
    for _ in range(T):
        gap, right = learner.weights[2 + block], 2 + block
        learner.losses[0] += 1
        learner.losses[1:right] += 2
        learner.losses[right + 1 :] += 1
        if gap > alpha:
            learner.limits[right] = min(learner.limits[right], gap - epsilon)
            block += 1
    return block


@pytest.mark.parametrize("T", [1000, 4000, 16_000])
def test_cuts_at_a_fixed_rate_without_a_penalty_are_reported_as_often_as_the_bound_says(T):
    N, epsilon, alpha = 602, 0.05, 0.1
    eta = math.sqrt(8 * math.log(N) / T) / 3
    needed = theory.cuts_violations_needed(T, N, eta, epsilon, alpha)
    assert needed >= 0.25 * math.sqrt(T / math.log(N))
    assert violations_in_blocks(N, eta, epsilon, alpha, T) >= needed


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"alpha": 0.3}, r"`alpha` must be in \(0, 0\.25\], got 0\.3"),
        ({"eta": 0.2}, r"`eta` must be in \(0, 0\.1\], got 0\.2"),
        ({"epsilon": 0.005}, r"`epsilon` must be in \(0\.0083.*, 0\.1\], got 0\.005"),
        ({"N": 200}, r"`N` must be at least 25/alpha = 250, got 200"),
        ({"T": 10**6}, r"`N` must be at least 1\d{4}, so that half is left at the end, got 602"),
    ],
)
def test_the_bound_on_cuts_is_silent_where_its_proof_is(changed, sentence):
    fine = {"T": 1000, "N": 602, "eta": 0.04, "epsilon": 0.05, "alpha": 0.1}
    assert theory.cuts_violations_needed(**fine) > 0
    with pytest.raises(InvalidParameter, match=sentence):
        theory.cuts_violations_needed(**fine | changed)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.4])
@pytest.mark.parametrize("looks_from", [0, 60])
def test_a_hard_cut_is_reported_again_at_most_once_for_each_epsilon_between_one_and_alpha(alpha, looks_from):
    """Two people, y = (1, 0), and F = {0, 1, 1[x = a]}. Who looks late finds gaps from 1 down."""
    learner, reports = HardCuts(3, eta=0.3), 0
    for t in range(160):
        gap = learner.weights[2]
        learner.losses[:2] += 1
        if t >= looks_from and gap > alpha:
            reports += 1
            learner.limits[2] = gap - alpha / 2
    most = theory.row_repeats(alpha / 2, alpha)
    assert 1 <= reports <= most
    assert looks_from == 0 or reports >= most - 2


@pytest.mark.parametrize("T", [1000, 4000])
def test_the_learner_whose_caps_double_is_reported_less_often_than_the_bound_says(T):
    F, alpha = two_people_class(), 0.1
    learner = lw.AdaHedge(F, k=2, alpha=alpha, T=T)
    t = lw.play(learner, two_people(F), lw.MetricAuditor(alike, alpha))
    epsilon, rho = learner.rule.epsilon, learner.start.rho
    highest = theory.prices_limit(T, rho, rho / t.state.delta, epsilon, alpha, kappa=1.0)
    prices, caps = t.state.terms[:, 0], t.state.terms[:, 2]
    assert prices.sum() <= highest
    assert 2 <= t.violations.sum() <= theory.row_repeats_doubling(epsilon, alpha, caps[0], highest, TOLERANCE * epsilon)


@pytest.mark.parametrize("seed", range(5))
def test_a_cut_to_the_gap_less_epsilon_is_all_that_reports_prove(seed):
    """Any policy within all rows is fair at α − ε by a distance that agrees with every report and every null."""
    alpha, epsilon, rng = 0.12, 0.06, np.random.default_rng(seed)
    t = lw.play(lw.AdaHedge(CUTS, k=3, alpha=alpha), TOWN.tempter(), EveryPair(TOWN.near, alpha), 60, seed=seed)
    who = np.array([np.flatnonzero((x == TOWN.X).all(axis=1))[0] for x in t.view])
    least = np.full((40, 40), np.inf)
    for (a, b), gap in zip(who[t.pair_people], t.pair_gaps, strict=True):
        least[a, b] = least[b, a] = min(least[a, b], gap)
    answers = CUTS.predict_rows(CUTS.encode(TOWN.X)).astype(float)
    shown = 0.999 * within_rows(answers, least - epsilon, rng) @ answers + 0.001 * rng.integers(2)
    d = np.where(np.isfinite(least), least - alpha - 1e-6, 1.0) * (1 - np.eye(40))
    assert d.min() >= 0
    for i, reports in enumerate(t.reports):
        people = slice(t.starts[i], t.starts[i + 1])
        excess = t.shown[people][:, None] - t.shown[people] - d[np.ix_(who[people], who[people])]
        assert all(excess[r.favoured, r.disfavoured] > alpha for r in reports)
        assert reports or excess.max() <= alpha
    assert (np.abs(shown[:, None] - shown) <= d + alpha - epsilon + 1e-12).all()
    assert np.isfinite(least).sum() > 4


def within_rows(answers, limits, rng):
    """A corner of the policies whose gaps stay within these limits: the best for some random gains of people."""
    pairs = np.argwhere(np.isfinite(limits))
    rows = (answers[:, pairs[:, 0]] - answers[:, pairs[:, 1]]).T
    gains, N = answers @ rng.standard_normal(40), len(answers)
    solved = linprog(-gains, rows, limits[tuple(pairs.T)], np.ones((1, N)), [1.0], method="highs")
    assert solved.status == 0
    return solved.x
