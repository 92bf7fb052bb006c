"""Perturbed leaders: against direct simulations of the paper's algorithm, closed forms, and their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.tree import DecisionTreeClassifier

import likewise as lw
from games import Town, alike, best_fair_error
from likewise.errors import InvalidParameter, NotSupported
from likewise.learners.ftpl import sum_of_laplaces_cdf
from likewise.reduction import literal

FALSE_ALARM = 1e-3
"""Chance with which one comparison of samples would fail though nothing is wrong; seeds are fixed, so it doesn't."""

TOWN = Town()
AUDITOR = lw.MetricAuditor(TOWN.near, 0.2)
NOISES = ["scalar", "paper", "growing"]

# The paper's algorithm, simulated directly --------------------------------------------------------------------

CONTEXTS = np.array([[0.1, 0.9], [0.9, 0.1], [0.6, 0.7]])
BY_HAND = [lambda X: X[:, 0] > 0.5, lambda X: X[:, 1] > 0.5]
LISTED = lw.FiniteClass(BY_HAND)
DRAWS = 50_000


def answers_by_hand(X):
    """(people, 4): both constants and the two hypotheses, without the library."""
    return np.array([np.zeros(len(X)), np.ones(len(X)), *(f(X) for f in BY_HAND)], dtype=float).T


def history(learner):
    """A state with a few rounds behind it, with reports and without, and those rounds."""
    t = lw.play(learner, TOWN.iid(), lw.MetricAuditor(TOWN.near, 0.1), 12)
    assert 0 < t.reported.sum() < 12
    return t.state, list(t)


def leaders_drawn_by_library(learner, state, seed=1):
    weights = learner.act(state, lw.Key(seed, lw.Role.LEARNER, state.rounds + 1)).weights
    return np.rint(weights * DRAWS)


def leaders_drawn_literally(rounds, C, omega, padded=True, seed=2):
    """argmin_f Σ_t Σ_i w_i f(x'_i) + Σ_contexts Σ_coordinates ξ f(coordinate), over literal copies, draw by draw."""
    v, wide = CONTEXTS[0], 3 + 2 * C
    losses = np.zeros(4)
    for seen in rounds:
        X, y = literal(seen.batch.view, seen.batch.y, seen.reports, C, filler=v)
        losses += (1 - 2 * y) / (2 * wide) @ answers_by_hand(X)
    rng = np.random.default_rng(seed)
    noise = np.zeros((DRAWS, 4))
    for x in CONTEXTS:
        coordinates = np.array([x, *([v] * (wide - 1))]) if padded else x[None]
        noise += rng.laplace(scale=1 / omega, size=(DRAWS, len(coordinates))) @ answers_by_hand(coordinates)
    return np.bincount((losses + noise).argmin(axis=1), minlength=4)


def chance_of_one_law(first, second):
    """The p-value of the χ² test that two samples come from one law."""
    table = np.array([first, second])
    return stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue


def corrected(wide):
    return math.sqrt(10) * 3**-0.25 * wide**0.25 * math.sqrt(math.log(4) / 100)


def printed(wide):
    return 3**-0.25 * wide**-0.75 * math.sqrt(math.log(4) / 100)


@pytest.mark.parametrize(
    ("omega", "by_hand"), [("corrected", corrected), ("printed", printed), (8.0, lambda wide: 8.0)]
)
def test_paper_noise_draws_leaders_as_the_papers_algorithm_on_literal_copies_does(omega, by_hand):
    learner = lw.ContextFTPL(LISTED, T=100, k=3, noise="paper", omega=omega, draws=DRAWS, separator=CONTEXTS)
    assert learner.C == 3  # max(k, T^{2/9}), rounded up
    state, rounds = history(learner)
    drawn = leaders_drawn_by_library(learner, state)
    assert chance_of_one_law(drawn, leaders_drawn_literally(rounds, 3, by_hand(9))) > FALSE_ALARM
    # The comparison has teeth: without the padding of the contexts the law is another one.
    assert chance_of_one_law(drawn, leaders_drawn_literally(rounds, 3, by_hand(9), padded=False)) < 1e-6


def test_scalar_noise_draws_leaders_as_a_direct_simulation_does():
    learner = lw.ContextFTPL(LISTED, T=100, k=3, draws=DRAWS, separator=CONTEXTS)
    state, rounds = history(learner)
    n, log_N, k, C = 3, math.log(4), 3, 100 ** (1 / 3)
    M = 2 * math.sqrt(n * log_N) + log_N
    epsilon = math.sqrt(2 * M / (n * (k**2 * 100 + 4 * C * (k + C) * 100)))
    losses = np.zeros(4)
    for seen in rounds:
        said = answers_by_hand(seen.batch.view)
        losses += np.abs(said - seen.batch.y[:, None]).sum(axis=0)
        for report in seen.reports:
            losses += C * (said[report.favoured] - said[report.disfavoured])
    noise = np.random.default_rng(3).laplace(scale=1 / epsilon, size=(DRAWS, 3)) @ answers_by_hand(CONTEXTS)
    direct = np.bincount((losses + noise).argmin(axis=1), minlength=4)
    drawn = leaders_drawn_by_library(learner, state)
    assert chance_of_one_law(drawn, direct) > FALSE_ALARM
    assert chance_of_one_law(drawn, np.bincount(noise.argmin(axis=1), minlength=4)) < 1e-6


# Limits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["scalar", "paper"])
@pytest.mark.parametrize(
    "F", [lw.Thresholds.quantiles(TOWN.X, cuts=3), lw.Cells.grid(TOWN.X, bins=2)], ids=["thresholds", "cells"]
)
def test_without_noise_the_perturbed_leader_is_the_leader(F, noise):
    quiet = lw.ContextFTPL(F, T=150, k=3, noise=noise, noise_scale=0.0)
    leader = lw.FollowTheLeader(F, k=3, penalty=quiet.C)
    a, b = (lw.play(learner, TOWN.iid(), AUDITOR, 150) for learner in (quiet, leader))
    assert b.reported.any()
    assert (a.shown == b.shown).all()
    assert (a.state.losses == b.state.losses).all()
    assert quiet.bound(0.2) is None


def test_less_noise_is_nearer_to_the_leader():
    F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
    leader = lw.FollowTheLeader(F, k=3, penalty=0.0)
    state = lw.play(leader, TOWN.iid(), AUDITOR, 100).state
    key = lw.Key(0, lw.Role.LEARNER, 101)
    best = leader.act(state, key).weights.argmax()
    kept = [
        lw.ContextFTPL(F, T=200, k=3, penalty=0.0, noise_scale=scale, draws=2000).act(state, key).weights[best]
        for scale in (1.0, 0.3, 0.1, 0.01)
    ]
    assert kept == sorted(kept)
    assert kept[0] < 0.9 < kept[-1]


def test_growing_noise_multiplies_its_scale_and_its_penalty_at_each_report():
    learner = lw.ContextFTPL(LISTED, T=100, k=3, noise="growing", alpha=0.4, separator=CONTEXTS)
    t = lw.play(learner, TOWN.iid(), lw.MetricAuditor(TOWN.near, 0.1), 60)
    M = 2 * math.sqrt(3 * math.log(4)) + math.log(4)
    c = (0.4 - 2 * learner.u) / 2
    first = c * 3 * math.sqrt(3 * 100 / (2 * M)) / (4 * 3)
    before = t.reported.cumsum() - t.reported
    assert t.reported.any()
    assert t.penalties == pytest.approx(first * (1 + c**2 / (8 * 3 * M)) ** before)


# Bounds that say something ------------------------------------------------------------------------------------

ONE_CUT = lw.Thresholds([[0.5]])
CONSTANTS = lw.Thresholds([[]])
LONG = {"T": 5000, "draws": 5000}

# noise: (learner, the labels of a round), small enough for √T to be less than T
LEARNING = {
    "scalar": (lw.ContextFTPL(ONE_CUT, k=4, alpha=0.9, **LONG), [1, 0, 1, 0]),
    "growing": (lw.ContextFTPL(ONE_CUT, k=4, alpha=0.9, noise="growing", **LONG), [1, 0, 1, 0]),
    "paper": (lw.ContextFTPL(CONSTANTS, k=10, penalty=1, noise="paper", **LONG), [1] * 10),
}


@pytest.mark.parametrize("noise", LEARNING)
def test_error_regret_stays_under_a_bound_that_a_tossed_coin_would_break(noise):
    learner, labels = LEARNING[noise]
    X = np.arange(1, learner.k + 1)[:, None] % 2.0  # two kinds of people, who should be treated the same
    people = lw.Adversary(lambda moment: (X, np.array(labels, dtype=float)), k=learner.k, sees_policy=False)
    t = lw.play(learner, people, lw.MetricAuditor(alike, 0.9))
    bound, answers = learner.bound(0.9), learner.hypotheses.predict_rows(t.rows)
    fair = best_fair_error(t, answers, alike, 0.9 - bound.epsilon)
    assert t.reported.any() or learner.F is CONSTANTS
    assert t.errors.sum() - fair <= bound.error_regret
    assert bound.error_regret < learner.k * learner.T / 2 - fair


# Cells play the law of a draw itself --------------------------------------------------------------------------


def stripe(X):
    return np.minimum((np.asarray(X)[:, 0] * 4).astype(int), 3)


ONE_IN_EACH = np.array([[0.1, 0.0], [0.3, 0.0], [0.6, 0.0], [0.9, 0.0]])


@pytest.mark.parametrize("noise", NOISES)
def test_over_cells_the_law_is_what_many_draws_over_the_listed_labellings_approach(noise):
    labellings = [lambda X, h=h: (h >> stripe(X)) & 1 for h in range(1, 15)]
    options = {"T": 100, "k": 3, "noise": noise, "alpha": 0.4 if noise == "growing" else None, "c": 0.2}
    exact = lw.ContextFTPL(lw.Cells(stripe, 4), **options)
    sampled = lw.ContextFTPL(lw.FiniteClass(labellings), draws=20_000, separator=ONE_IN_EACH, **options)
    t = lw.play(exact, TOWN.iid(), AUDITOR, 100)
    state, other, checked = exact.init(), sampled.init(), range(9, 100, 10)
    # Hoeffding over every comparison: 4 cells in each of the rounds that are checked.
    error = math.sqrt(math.log(2 * 4 * len(checked) / FALSE_ALARM) / (2 * sampled.E))
    for i, seen in enumerate(t):
        if i in checked:
            key = lw.Key(7, lw.Role.LEARNER, i + 1)
            law, drawn = (
                learner.act(s, key).probability(ONE_IN_EACH) for learner, s in ((exact, state), (sampled, other))
            )
            assert np.abs(law - drawn).max() <= error
        state = exact.update(state, seen)
        rows = sampled.hypotheses.encode(seen.batch.view)
        other = sampled.update(other, seen._replace(batch=seen.batch._replace(rows=rows)))
    assert t.reported.any()
    assert exact.penalty_at(state) == pytest.approx(sampled.penalty_at(other))
    assert np.abs(law - 0.5).max() > 5 * error


@pytest.mark.parametrize("noise", ["scalar", "paper"])
def test_over_cells_the_law_is_that_of_a_laplace_variable_and_of_a_sum_of_them_where_contexts_are_padded(noise):
    learner = lw.ContextFTPL(lw.Cells(stripe, 4), T=100, k=3, noise=noise)
    t = lw.play(learner, TOWN.iid(), AUDITOR, 100)
    sums = np.bincount(stripe(t.view), t.signed_weights, 4) / learner.scale
    law = learner.act(t.state, lw.Key(0, lw.Role.LEARNER, 101)).probability(ONE_IN_EACH)
    assert law[1:] == pytest.approx(stats.laplace.cdf(-sums[1:]), abs=1e-12)
    # v is the first cell: its own variable, and k' − 1 more from each of the 4 padded contexts.
    variables = 1 + (4 * (3 + 2 * 3 - 1) if noise == "paper" else 0)
    assert law[0] == pytest.approx(cdf_by_inversion(-sums[0], variables), abs=1e-6)


@pytest.mark.parametrize("noise", NOISES)
def test_over_cells_there_is_nothing_to_hide_so_the_environment_may_see_the_policy(noise):
    learner = lw.ContextFTPL(lw.Cells(stripe, 4), T=50, k=3, noise=noise, alpha=0.4)
    assert lw.play(learner, TOWN.tempter(), AUDITOR, seed=0).shown == pytest.approx(
        lw.play(learner, TOWN.tempter(), AUDITOR, seed=0).shown, abs=0
    )
    assert not learner.needs_blind


@pytest.mark.parametrize("noise", NOISES)
def test_64_cells_are_a_class_like_any_other(noise):
    F = lw.Cells(lambda X: np.minimum((np.asarray(X)[:, 0] * 64).astype(int), 63), 64)
    t = lw.play(lw.ContextFTPL(F, T=80, k=3, noise=noise, alpha=0.4), TOWN.iid(), AUDITOR)
    assert F.size == 2**64
    assert ((t.shown > 0) & (t.shown < 1)).all()


def cdf_by_inversion(x, count):
    """Gil-Pelaez: F(x) = 1/2 + (1/π) ∫ sin(tx) / (t (1 + t²)^count) dt, for a sum of Laplace variables."""
    value, _ = integrate.quad(lambda t: x * np.sinc(t * x / np.pi) / (1 + t**2) ** count, 0, 400, limit=20_000)
    return 0.5 + value / np.pi


@pytest.mark.parametrize("count", [1, 2, 5, 40])
@pytest.mark.parametrize("x", [-30.0, -3.0, -0.2, 0.0, 1.5, 12.0])
def test_the_closed_form_for_sums_of_laplaces_is_the_inverse_of_their_characteristic_function(x, count):
    assert sum_of_laplaces_cdf(x, count) == pytest.approx(cdf_by_inversion(x, count), abs=1e-6)


# Refusals ----------------------------------------------------------------------------------------------------

OPTIONS = {"T": 50, "k": 3}
NO_SEPARATOR = lw.FiniteClass(BY_HAND)
REFUSED = {
    "`separator` must be given": lambda: lw.ContextFTPL(NO_SEPARATOR, **OPTIONS),
    "`separator` must tell any two hypotheses apart": lambda: lw.ContextFTPL(
        NO_SEPARATOR, separator=CONTEXTS[1:], **OPTIONS
    ),
    "`separator` must have a person in each of 4 cells": lambda: lw.ContextFTPL(
        lw.Cells(stripe, 4), separator=ONE_IN_EACH[:3], **OPTIONS
    ),
    "`noise` must be one of": lambda: lw.ContextFTPL(LISTED, noise="gaussian", separator=CONTEXTS, **OPTIONS),
    "`noise_scale` must be at least 0": lambda: lw.ContextFTPL(LISTED, noise_scale=-1, separator=CONTEXTS, **OPTIONS),
    "`omega` must be": lambda: lw.ContextFTPL(LISTED, noise="paper", omega="right", separator=CONTEXTS, **OPTIONS),
    "`draws` must be a whole number, at least 1": lambda: lw.ContextFTPL(
        LISTED, draws=0, separator=CONTEXTS, **OPTIONS
    ),
    "`alpha` must be in (0, 1]": lambda: lw.ContextFTPL(LISTED, alpha=1.5, separator=CONTEXTS, **OPTIONS),
    "`alpha` must be given for growing": lambda: lw.ContextFTPL(LISTED, noise="growing", separator=CONTEXTS, **OPTIONS),
    "`delta` must be in (0, 1)": lambda: lw.ContextFTPL(LISTED, delta=1.0, separator=CONTEXTS, **OPTIONS),
    "`T` must be given": lambda: lw.ContextFTPL(LISTED, k=3, separator=CONTEXTS),
}


@pytest.mark.parametrize("beginning", REFUSED)
def test_a_bad_parameter_gets_one_sentence_that_names_it(beginning):
    with pytest.raises(InvalidParameter) as refusal:
        REFUSED[beginning]()
    assert str(refusal.value).startswith(beginning)
    assert ", got " in str(refusal.value)


def test_an_environment_that_sees_the_policy_is_refused_before_the_first_round():
    asked = []
    spy = lw.Adversary(asked.append, k=3, sees_policy=True)
    for learner in (lw.ContextFTPL(LISTED, separator=CONTEXTS, **OPTIONS), lw.SmoothedFTPL(ESTIMATORS, k=3)):
        with pytest.raises(NotSupported, match=f"{type(learner).__name__} must not face an environment that sees"):
            lw.play(learner, spy, AUDITOR, 10)
    assert asked == []


# Smoothed FTPL, through nothing but fit -----------------------------------------------------------------------

ESTIMATORS = lw.EstimatorClass(DecisionTreeClassifier(max_depth=1, random_state=0), pool=TOWN.X)


def smoothed_play(T, seed=0, **options):
    learner = lw.SmoothedFTPL(ESTIMATORS, k=4, draws=4, perturbations=30, **options)
    people = lw.IID(TOWN.X, TOWN.X[:, 0] > 0.5, k=4)
    return lw.play(learner, people, lw.MetricAuditor("cityblock", 0.5), T, seed=seed)


def test_smoothed_ftpl_learns_a_learnable_problem():
    t = smoothed_play(100)
    assert t.errors[70:].mean() < 0.5 * t.errors[:10].mean()
    assert t.average_policy.probability([[0.95, 0.5]]) > t.average_policy.probability([[0.05, 0.5]]) + 0.5


def test_smoothed_ftpl_is_named_by_its_seed():
    first, again, other = smoothed_play(15), smoothed_play(15), smoothed_play(15, seed=1)
    assert (first.shown == again.shown).all()
    assert (first.rows == again.rows).all()
    assert not (first.shown == other.shown).all()


def test_smoothed_ftpl_draws_the_same_on_two_processes_as_on_one():
    assert (smoothed_play(3, n_jobs=2).shown == smoothed_play(3).shown).all()


def test_smoothed_ftpl_weighs_a_report_by_its_penalty():
    learner = lw.SmoothedFTPL(ESTIMATORS, k=2, penalty=7.0)
    batch = lw.Batch(TOWN.X[:2], np.array([0.0, np.nan]), None)
    state = learner.update(learner.init(), lw.Round(batch, np.array([0.9, 0.1]), (lw.Report(0, 1),)))
    assert state.s.tolist() == [8.0, -7.0]
