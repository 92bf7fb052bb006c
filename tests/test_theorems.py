"""The theorems, measured: every inequality on plays that try to break it, against exact linear programs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import likewise as lw
from games import (
    Town,
    alike,
    best_fair_error,
    count,
    drive,
    hostile_losses,
    random_losses,
    shifting_losses,
    two_people,
    two_people_class,
)
from likewise import theory

SLACK = 1e-6
"""What floating point may add to either side of an inequality."""

# Every learner with a bound, on every play ------------------------------------------------------------------

TOWN = Town(k=2)
CUTS = lw.Thresholds.quantiles(TOWN.X, cuts=1)
HALVES = lw.Cells.grid(TOWN.X, bins=2, features=[0])
SHORT = {"T": 700, "k": 2}


def Timed(F, T, k, alpha, penalty=None):
    """A learner with a horizon that its penalties don't know: those of one without."""
    rule = lw.AdaHedge(F, k=k, alpha=alpha).rule if penalty is None else penalty
    return lw.AdaHedge(F, T=T, k=k, alpha=alpha, penalty=rule)


LONG = {"T": 2500, "k": 2}

# name: (learner, α); chosen so that the theorem's numbers say something where it can at such a T.
BOUNDED = {
    "exponential weights": (lw.ExponentialWeights(CUTS, **SHORT), 0.5),
    "exponential weights, unequal costs": (lw.ExponentialWeights(CUTS, costs=(0.5, 2.0), **SHORT), 0.5),
    "hedge": (lw.Hedge(CUTS, **SHORT), 0.5),
    "hedge over cells": (lw.Hedge(HALVES, **SHORT), 0.5),
    "hedge, anytime": (lw.AnytimeHedge(CUTS, penalty=6.0, **SHORT), 0.5),
    "hedge over cells, anytime": (lw.AnytimeHedge(HALVES, penalty=6.0, **SHORT), 0.5),
    "adahedge, fixed": (lw.AdaHedge(CUTS, penalty=10.0, **SHORT), 0.5),
    "adahedge, default": (lw.AdaHedge(CUTS, alpha=0.5, **SHORT), 0.5),
    "adahedge, no horizon": (Timed(CUTS, alpha=0.5, **SHORT), 0.5),
    "adahedge, cuts alone": (Timed(CUTS, alpha=0.5, penalty=lw.Cuts(0.4), **SHORT), 0.5),
    "adahedge, kept over cells": (lw.AdaHedge(HALVES, alpha=0.5, **SHORT), 0.5),
    "adahedge, growing": (lw.AdaHedge(CUTS, alpha=0.5, penalty="growing", **SHORT), 0.5),
    "adahedge, unequal costs": (lw.AdaHedge(CUTS, alpha=0.5, costs=(0.5, 2.0), penalty="growing", **SHORT), 0.5),
    "adahedge, scheduled": (lw.AdaHedge(CUTS, penalty=lw.Scheduled(8.0, 0.01), **SHORT), 0.5),
    "adahedge, tilted": (lw.AdaHedge(CUTS, penalty=lw.Tilted(0.25), **SHORT), 0.5),
    "adahedge, tilted over cells": (lw.AdaHedge(HALVES, penalty=lw.Tilted(0.25), **SHORT), 0.5),
    "adahedge, floor": (lw.AdaHedge(CUTS, penalty=lw.Tilted(0.25, floor=0.5), **SHORT), 0.5),
    "unconstrained": (lw.Unconstrained(CUTS, **SHORT), 0.5),
    "ftpl, scalar": (lw.ContextFTPL(CUTS, alpha=0.9, **LONG), 0.9),
    "ftpl, paper": (lw.ContextFTPL(CUTS, noise="paper", draws=200, **SHORT), 0.5),
    "ftpl, growing": (lw.ContextFTPL(CUTS, noise="growing", alpha=0.9, draws=800, **LONG), 0.9),
    "ftpl, scalar over cells": (lw.ContextFTPL(HALVES, alpha=0.8, **SHORT), 0.8),
    "ftpl, growing over cells": (lw.ContextFTPL(HALVES, noise="growing", alpha=0.9, **LONG), 0.9),
    "ftpl, paper over cells": (lw.ContextFTPL(HALVES, noise="paper", **SHORT), 0.5),
}
PLAYS = ["iid", "drifting", "gappy", "contrarian", "tempter"]
SILENT_ON_VIOLATIONS = {
    "adahedge, default",
    "adahedge, no horizon",
    "adahedge, kept over cells",
    "unconstrained",
    "ftpl, paper",
    "ftpl, paper over cells",
}


ON_PLAYS = [
    (name, kind)
    for name, (learner, _) in BOUNDED.items()
    for kind in PLAYS
    if not (kind == "tempter" and learner.needs_blind)  # the tempter sees π^t
]


@pytest.mark.parametrize(("name", "kind"), ON_PLAYS)
def test_measured_regrets_and_violations_stay_under_the_bound(name, kind):
    learner, alpha = BOUNDED[name]
    distance = TOWN.drifting if kind == "drifting" else TOWN.near
    people = TOWN.iid() if kind == "drifting" else getattr(TOWN, kind)()
    t = lw.play(learner, people, lw.DriftingAuditor(distance, alpha))
    bound, answers = learner.bound(alpha), learner.hypotheses.predict_rows(t.rows)
    counted = count(t, answers)
    fair = best_fair_error(t, answers, distance, max(0.0, alpha - bound.epsilon))

    assert t.lagrangian_regret == pytest.approx(counted.regret, rel=1e-9, abs=SLACK)
    assert counted.regret <= bound.lagrangian_regret + SLACK
    assert t.violations.sum() <= bound.violations + SLACK
    assert counted.error - fair <= bound.error_regret + SLACK
    observed = learner.observed_bound(t.state)
    assert observed is None or counted.regret <= observed + SLACK <= bound.lagrangian_regret + 2 * SLACK


@pytest.mark.parametrize("name", sorted(set(BOUNDED) - SILENT_ON_VIOLATIONS))
def test_the_bounds_under_test_promise_fewer_violations_than_rounds(name):
    learner, alpha = BOUNDED[name]
    assert learner.bound(alpha).violations < 0.95 * learner.T


def test_growing_noise_leaves_the_theorem_room_with_its_own_number_of_draws():
    learner = lw.ContextFTPL(CUTS, noise="growing", alpha=0.8, T=1000, k=2)
    assert learner.absorbs + 2 * learner.u <= 0.9 * learner.alpha


# Lemma 1 -----------------------------------------------------------------------------------------------------

ANY_CLASS = [lw.FiniteClass([lambda X: X[:, 0]] * (N - 2)) for N in (2, 3, 150)]


@pytest.mark.parametrize("F", ANY_CLASS, ids=lambda F: f"N={F.size}")
@pytest.mark.parametrize("losses", [random_losses, hostile_losses, shifting_losses])
@pytest.mark.parametrize("rule", [0.0, 50.0, lw.Scheduled(1.0, 0.02)], ids=["no penalty", "fixed", "growing"])
def test_adahedge_regret_is_at_most_2_delta_which_is_at_most_the_root_of_squared_ranges(F, losses, rule):
    learner = lw.AdaHedge(F, k=2, penalty=rule)
    met = drive(learner, losses, rounds=700)
    assert met.regret <= 2 * met.state.delta + SLACK
    assert 2 * met.state.delta <= theory.adahedge_regret(met.squared_ranges, F.size) + SLACK


@pytest.mark.parametrize("losses", [random_losses, hostile_losses, shifting_losses])
def test_regret_is_at_most_2_delta_less_its_start_when_delta_is_enlarged(losses):
    learner = lw.AdaHedge(ANY_CLASS[1], k=2, penalty=lw.Tilted(0.08, floor=0.5))
    met = drive(learner, losses, rounds=1000)
    assert met.state.reports > 10 or losses is random_losses
    assert met.regret <= 2 * met.state.delta - 2 + SLACK


@pytest.mark.parametrize("N", [2, 60, 80, 91, 10**4, 2**64])
def test_the_constant_of_lemma_1_covers_every_step_of_its_proof(N):
    """Δ_t² − Δ_{t−1}² ≤ s² (2 ln N g/u + g²) must be ≤ s² Λ/4, for g the largest mix gap of a unit range."""
    u = np.geomspace(1e-2, 1e4, 4000)
    g = largest_mix_gap(u)
    assert (2 * math.log(N) * g / u + g**2 <= theory.stretched_log(N) / 4 + 1e-9).all()


def test_the_largest_mix_gap_obeys_the_inequality_behind_the_constant_9_halves():
    u = np.geomspace(1e-2, 1e6, 20_000)
    g = largest_mix_gap(u)
    assert (g**2 + 9 * g / u <= 9 / 8 + 1e-9).all()


def test_the_largest_mix_gap_is_what_a_search_over_two_point_losses_finds():
    q = np.linspace(0, 1, 200_001)[1:-1]
    for u in (0.1, 1.0, 5.0, 40.0):
        found = (q + np.log1p(q * np.expm1(-u)) / u).max()
        assert largest_mix_gap(np.array([u]))[0] == pytest.approx(found, rel=1e-6)


def largest_mix_gap(u):
    """g(u) = max_q q + (1/u) ln(1 − q + q e^−u), at the q where the derivative vanishes."""
    q = 1 / -np.expm1(-u) - 1 / u
    return q + np.log1p(q * np.expm1(-u)) / u


# Penalties that grow: every inequality of Theorems 1 and 2 ----------------------------------------------------

STREET = Town(k=3)
MANY_CUTS = lw.Thresholds.quantiles(STREET.X, cuts=4)
SIGHTED = ["two people", "tempter", "brink", "contrarian"]


def sighted_play(rule, kind, alpha, T=800):
    """A play of AdaHedge with this rule, against an adversary; with its answers and distance."""
    if kind == "two people":
        F, distance = two_people_class(), alike
        learner, people = lw.AdaHedge(F, k=2, penalty=rule), two_people(F)
    else:
        learner, distance = lw.AdaHedge(MANY_CUTS, k=3, penalty=rule), STREET.near
        people = STREET.brink(alpha) if kind == "brink" else getattr(STREET, kind)()
    t = lw.play(learner, people, lw.MetricAuditor(distance, alpha), T)
    return learner, t, distance


class Measured:
    """The letters of §3b, measured on a play."""

    def __init__(self, learner, t, distance, alpha):
        self.t, self.distance, self.alpha = t, distance, alpha
        self.answers = learner.hypotheses.predict_rows(t.rows)
        self.counted = count(t, self.answers)
        self.T, self.k, self.N = t.rounds, learner.k, learner.hypotheses.size
        self.kappa = self.k / 2
        self.n, self.stretched = math.log(self.N), theory.stretched_log(self.N)
        self.V, self.S, self.delta = int(t.violations.sum()), t.penalty_paid, t.state.delta

    def error_regret(self, epsilon):
        return self.counted.error - best_fair_error(self.t, self.answers, self.distance, self.alpha - epsilon)

    def epsilons(self):
        return [0.0, self.alpha / 4, self.alpha / 2, self.alpha]


@pytest.mark.parametrize("alpha", [0.1, 0.5])
@pytest.mark.parametrize("kind", SIGHTED)
def test_scheduled_penalties_obey_both_inequalities_of_theorem_1(kind, alpha):
    N = 3 if kind == "two people" else MANY_CUTS.size
    c = alpha / 2
    rule = lw.Scheduled(3.0, theory.scheduled_growth(c, N))
    play = sighted_play(rule, kind, alpha)
    m = Measured(*play, alpha)
    regrets = {e: m.error_regret(e) for e in m.epsilons()}
    for z in (alpha / 16, alpha / 4, 0.45 * alpha):
        right = m.k * math.sqrt(m.stretched * m.T) + 2 * m.stretched * rule.first / c + m.stretched * m.k / z
        largest = (m.kappa * m.T + right) / (alpha - c - z)
        growth = math.expm1(rule.growth) * largest / rule.first
        assert all(regret + (e - c - z) * m.S <= right + SLACK for e, regret in regrets.items())
        assert largest + SLACK >= m.S
        assert largest / rule.first + SLACK >= m.V
        assert 2 * m.stretched / c**2 * math.log1p(growth) + SLACK >= m.V


@pytest.mark.parametrize("floor", [0.0, 0.5])
@pytest.mark.parametrize("alpha", [0.1, 0.5])
@pytest.mark.parametrize("kind", SIGHTED)
def test_tilted_penalties_obey_both_inequalities_of_theorem_2(kind, alpha, floor):
    c = alpha / 2
    m = Measured(*sighted_play(lw.Tilted(c, floor), kind, alpha), alpha)
    root = math.sqrt(4 * m.k**2 + m.stretched * m.k**2 * m.T)
    highest = floor * m.k * math.sqrt(m.T / m.n)
    extra = 2 * m.n * highest / c + 2 * m.k + 4 * highest if floor else 0.0
    right = root - m.k + c * m.k * m.V + extra
    assert all(m.error_regret(e) + (e - c) * m.S <= right + SLACK for e in m.epsilons())
    assert (2 * m.n / c**2 + 0.5) * math.log(m.delta / m.k) + SLACK >= m.V
    assert m.delta <= root / 2 + c / 2 * (m.S + m.k * m.V) + extra / 2 + SLACK
    assert (alpha - c) * m.S <= m.kappa * m.T + right + SLACK


RULES = [5.0, lw.Scheduled(3.0, 0.01), lw.Tilted(0.1), lw.Tilted(0.1, floor=0.5)]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("kind", SIGHTED)
def test_error_regret_and_epsilon_times_the_penalties_paid_stay_under_the_observed_regret(kind, rule):
    learner, t, distance = sighted_play(rule, kind, 0.3)
    m = Measured(learner, t, distance, 0.3)
    assert m.V > 0
    assert all(m.error_regret(e) + e * m.S <= m.counted.regret + SLACK for e in [*m.epsilons(), 0.01, 0.29])
    assert m.counted.regret <= learner.observed_bound(t.state) + SLACK


def test_without_a_truthful_auditor_constants_still_bound_the_penalties_paid():
    """Reports any pair whose gap is above α, whatever the distance: αS ≤ R̂ + Err(best constant) − Err."""
    learner = lw.AdaHedge(MANY_CUTS, k=3, alpha=0.2, T=800, penalty="growing")
    t = lw.play(learner, STREET.tempter(), lw.MetricAuditor(alike, 0.2, choose="random"))
    counted = count(t, MANY_CUTS.predict_rows(t.rows))
    assert t.reported.sum() > 30
    assert 0.2 * t.penalty_paid <= counted.regret + counted.errors.sum(axis=0)[:2].min() - counted.error + SLACK


# The two-person game -----------------------------------------------------------------------------------------


def violations_of_two_people(rule, alpha, T):
    F = two_people_class()
    t = lw.play(lw.AdaHedge(F, k=2, penalty=rule), two_people(F), lw.MetricAuditor(alike, alpha), T)
    return t.violations.cumsum()


def test_violations_grow_like_the_two_thirds_power_at_a_penalty_of_the_cube_root():
    ratios = [violations_of_two_people(T ** (1 / 3), 0.1, T)[-1] / T ** (2 / 3) for T in (1000, 4000, 16_000)]
    assert ratios == pytest.approx([1.04, 1.03, 1.02], abs=0.01)


def test_violations_under_tilted_penalties_are_a_straight_line_in_the_logarithm_of_time():
    V = violations_of_two_people(lw.Tilted(0.25), 0.5, 30_000)
    at = np.unique(np.geomspace(1000, 30_000, 40).astype(int))
    fit = np.polynomial.Polynomial.fit(np.log(at), V[at - 1], 1).convert()
    assert fit.coef[1] == pytest.approx(2 * math.log(3) / 0.25**2, rel=0.02)
    assert np.abs(V[at - 1] - fit(np.log(at))).max() <= 3
    assert V[9_999] == pytest.approx(221, abs=2)


def test_scheduled_penalties_too_add_violations_only_with_the_logarithm():
    """First penalty (c/2)k√(T/Λ) at c = .25: 276 violations at T = 10⁴, about Λ/ε² more for each factor e."""
    growth = theory.scheduled_growth(0.25, 3)
    V = {
        T: violations_of_two_people(lw.Scheduled(0.25 * math.sqrt(T / 4.5), growth), 0.5, T)[-1] for T in (10**3, 10**4)
    }
    assert V[10**4] == pytest.approx(276, abs=2)
    assert (V[10**4] - V[10**3]) / math.log(10) < 4.5 / 0.25**2


# The formulas, evaluated a second way ------------------------------------------------------------------------

GRID = [
    (T, k, C, N, alpha)
    for T in (500, 10**5)
    for k, C in ((2, 9.0), (6, 40.0))
    for N in (3, 146, 2**64)
    for alpha in (0.1, 0.7)
]


@pytest.mark.parametrize(("T", "k", "C", "N", "alpha"), GRID)
def test_theorem_a_is_the_fixed_point_of_the_two_inequalities_it_is_made_of(T, k, C, N, alpha):
    """V ≤ (2Δ + κT)/(Cα) and Δ² ≤ (Λ/4)(k²T + 4C(k+C)V), substituted into each other until nothing moves."""
    kappa, stretched = k / 2, max(math.log(N), 4.5)
    delta = 1.0
    for _ in range(5000):
        V = (2 * delta + kappa * T) / (C * alpha)
        delta = math.sqrt(stretched / 4 * (k**2 * T + 4 * C * (k + C) * V))
    everywhere = (k + 2 * C) * math.sqrt(stretched * T)
    bound = theory.adahedge_fixed(T, k, C, N, alpha, kappa)
    assert bound.lagrangian_regret == pytest.approx(min(2 * delta, everywhere), rel=1e-6)
    assert bound.violations == pytest.approx(min(T, (bound.lagrangian_regret + kappa * T) / (C * alpha)))


@pytest.mark.parametrize(("T", "violations"), [(10**4, 7615), (10**5, 10_976), (10**6, 15_120)])
def test_the_defaults_guarantee_is_the_one_in_print(T, violations):
    alpha, N, k = 0.1, 146, 6
    first, growth = theory.scheduled_first(T, k, N), theory.scheduled_growth(alpha / 2, N)
    printed = theory.scheduled(T, k, first, growth, N, alpha, kappa=k, z=alpha / 10)
    assert printed.violations == pytest.approx(violations, abs=1)
    bound = theory.scheduled(T, k, first, growth, N, alpha, kappa=k)
    regret = (1 + 4 / (3 * alpha)) * k * math.sqrt(T * math.log(N)) + 4 * k * math.log(N) / alpha
    assert bound.error_regret == pytest.approx(regret)
    assert bound.epsilon == pytest.approx(0.75 * alpha)


@pytest.mark.parametrize("T", [10**3, 10**5, 10**7])
@pytest.mark.parametrize("N", [3, 146, 2**64])
@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_tilted_bounds_are_at_least_as_good_as_the_display_of_theorem_2(T, N, alpha):
    k, stretched = 4, theory.stretched_log(N)
    bound = theory.tilted(T, k, alpha / 2, 0.0, N, alpha, kappa=k)
    displayed = (8 * math.log(N) / alpha**2 + 0.5) * math.log(T + math.sqrt(stretched * T) + 2)
    assert bound.violations <= displayed
    assert bound.error_regret <= k * math.sqrt(stretched * T) + k + alpha * k * min(T, displayed) / 2
    assert bound.violations >= 0.5 * min(T, displayed)


def test_the_corrected_omega_gives_the_papers_rate_and_the_printed_one_a_linear_bound():
    k, N, n = 4, 50, 9

    def regret(T, form):
        C = theory.ftpl_paper_penalty(T, k)
        omega = theory.ftpl_paper_omega(T, k, C, N, n, form)
        return theory.ftpl_paper(T, k, C, N, n, omega, math.inf, 0.05, 0.5, k / 2).lagrangian_regret

    wide = k + 2 * theory.ftpl_paper_penalty(10**6, k)
    stated = 4 * math.sqrt(10) * n**0.75 * wide**1.25 * math.sqrt(10**6 * math.log(N))
    assert regret(10**6, "corrected") == pytest.approx(stated)
    assert order(lambda T: regret(T, "corrected"), 10**27) == pytest.approx(7 / 9, abs=0.01)
    assert order(lambda T: regret(T, "printed"), 10**27) == pytest.approx(1, abs=0.01)


def order(bound, T):
    """The exponent with which a bound grows around T."""
    return math.log(bound(8 * T) / bound(T)) / math.log(8)


def cube_root(T):
    return T ** (1 / 3)


ORDERS = {
    "exponential weights": (lambda T: theory.exponential_weights(T, 4, T**0.25, 50, 0.5, 2.0), 3 / 4, 3 / 4),
    "theorem A": (lambda T: theory.adahedge_fixed(T, 4, cube_root(T), 50, 0.5, 2.0), 2 / 3, 2 / 3),
    "theorem B": (
        lambda T: theory.ftpl_scalar(
            T, 4, cube_root(T), 50, 9, theory.ftpl_scalar_rate(T, 4, cube_root(T), 50, 9, 2.0, 0.5), 0.5, 2.0
        ),
        2 / 3,
        2 / 3,
    ),
    "theorem 1": (
        lambda T: theory.scheduled(T, 4, theory.scheduled_first(T, 4, 50), 0.001, 50, 0.5, 2.0),
        1 / 2,
        0,
    ),
    "theorem 2": (lambda T: theory.tilted(T, 4, 0.2, 0.5, 50, 0.5, 2.0), 1 / 2, 0),
    "growing noise": (lambda T: theory.ftpl_growing(T, 4, 0.2, 50, 9, 0.5, 2.0), 1 / 2, 0),
}


@pytest.mark.parametrize("name", ORDERS)
def test_bounds_grow_with_the_power_of_time_that_the_theorem_is_named_for(name):
    bound, of_regret, of_violations = ORDERS[name]
    assert order(lambda T: bound(T).error_regret, 10**27) == pytest.approx(of_regret, abs=0.02)
    assert order(lambda T: bound(T).violations, 10**27) == pytest.approx(of_violations, abs=0.03)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_the_draws_needed_keep_twice_the_sampling_error_within_half_of_alpha(alpha):
    E = theory.draws_needed(1000, 4, 0.05, alpha)
    assert 2 * theory.sampling_error(1000, 4, E, 0.05) <= alpha / 2
    assert 2 * theory.sampling_error(1000, 4, E - 1, 0.05) > alpha / 2
