"""Hindsight against brute force: grids over all mixtures, SciPy with every row, prices against finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

import likewise as lw
from games import Town, alike, count, two_people, two_people_class
from likewise.errors import InvalidParameter, NotSupported

TOWN = Town(k=4)


def lopsided(view, t=0):
    """Not symmetric: it is worse to be favoured over a person with more of the second feature."""
    difference = view[:, 1] - view[:, 1, None]
    return 0.6 * np.maximum(difference, 0.0) + 0.1 * np.maximum(-difference, 0.0)


def above(w):
    return lambda X: np.asarray(X) @ w > np.sum(w) / 2


CLASSES = {
    "finite": lw.FiniteClass([above(w) for w in [(1.0, 0.1), *np.random.default_rng(3).normal(size=(8, 2))]]),
    "thresholds": lw.Thresholds.quantiles(TOWN.X, cuts=5),
    "cells": lw.Cells.grid(TOWN.X, bins=3),
}
KINDS = {
    "one distance": (TOWN.iid, TOWN.near, (1.0, 1.0)),
    "a distance that changes by round": (TOWN.iid, TOWN.drifting, (1.0, 1.0)),
    "a distance that is not symmetric": (TOWN.iid, lopsided, (1.0, 1.0)),
    "smaller batches and missing labels": (TOWN.gappy, TOWN.near, (1.0, 1.0)),
    "unequal costs": (TOWN.iid, TOWN.near, (0.8, 1.4)),
}


def leader_play(F, environment, T=40, seed=0, costs=(1.0, 1.0)):
    """Hindsight only looks at who came, so the quickest learner will do."""
    return lw.play(lw.FollowTheLeader(F, costs=costs), environment, lw.MetricAuditor(alike, 1.0), T, seed=seed)


def every_row(t, answers, distance):
    """One row for each ordered pair of each batch: (f(x) − f(x')) for all f, and d(x, x')."""
    rows, distances = [], []
    for i in range(t.rounds):
        people = slice(t.starts[i], t.starts[i + 1])
        said, d = answers[:, people].T.astype(float), distance(t.view[people], t.first + i)
        for a, b in itertools.permutations(range(len(said)), 2):
            rows.append(said[a] - said[b])
            distances.append(d[a, b])
    return np.array(rows).reshape(-1, len(answers)), np.array(distances)


def solved_by_scipy(total, rows, allowed):
    N = len(total)
    found = linprog(total, rows, allowed, np.ones((1, N)), [1.0], method="highs")
    assert found.status == 0, found.message
    return found.fun


def excesses(t, policy, distance):
    """π(x) − π(x') − d(x, x') for all ordered pairs, and the distances."""
    found = []
    for i in range(t.rounds):
        people = slice(t.starts[i], t.starts[i + 1])
        chances, d = policy.at(t.rows[people]), distance(t.view[people], t.first + i)
        found += [(chances[a] - chances[b] - d[a, b], d[a, b]) for a, b in itertools.permutations(range(len(d)), 2)]
    return np.array(found).T


# The optimum ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.07, 0.4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CLASSES)
def test_the_optimum_is_that_of_scipy_with_a_row_for_every_pair(name, kind, alpha):
    people, distance, costs = KINDS[kind]
    t = leader_play(CLASSES[name], people(), costs=costs)
    answers = CLASSES[name].predict_rows(t.rows)
    total = count(t, answers).errors.sum(axis=0)
    rows, distances = every_row(t, answers, distance)
    expected = solved_by_scipy(total, rows, distances + alpha)

    best = lw.best_in_hindsight(t, distance, alpha, drifting=True)
    assert best.error == pytest.approx(expected, rel=1e-7)
    assert best.lower <= min(best.error, expected) + 1e-9
    assert best.gap <= 1e-7
    assert best.gap == pytest.approx((best.error - best.lower) / max(1.0, best.error))
    assert best.unconstrained == pytest.approx(total.min())
    assert best.error > best.unconstrained + 0.1 or alpha == 0.4


@pytest.mark.parametrize("alpha", [0.0, 0.07])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CLASSES)
def test_the_policy_is_fair_on_every_pair_and_makes_the_error_it_claims(name, kind, alpha):
    people, distance, costs = KINDS[kind]
    t = leader_play(CLASSES[name], people(), costs=costs)
    best = lw.best_in_hindsight(t, distance, alpha, drifting=True)
    excess, d = excesses(t, best.policy, distance)
    assert (excess <= alpha + np.where(d + alpha > 1e-3, 1e-12, 2e-9)).all()
    assert best.violation <= 2e-9
    assert best.violation == pytest.approx(max(0.0, excess.max() - alpha), abs=1e-12)
    chances = best.policy.at(t.rows)
    cost = np.where(t.y == 1, costs[1] * (1 - chances), np.where(t.y == 0, costs[0] * chances, 0.0))
    assert best.error == pytest.approx(cost.sum())


def simplex_grid(N, steps):
    """All distributions over N with weights in multiples of 1/steps."""
    bars = np.array(list(itertools.combinations(range(steps + N - 1), N - 1)))
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), steps + N - 1)])
    return (np.diff(edges, axis=1) - 1) / steps


TINY = {
    "finite": (lw.FiniteClass([above(np.array([1.0, -0.2]))]), simplex_grid(3, 300)),
    "thresholds": (lw.Thresholds([[0.5], []]), simplex_grid(4, 60)),
    "cells": (
        lw.Cells.grid(TOWN.X, bins=2, features=[0]),
        np.array(list(itertools.product(np.linspace(0, 1, 201), repeat=2))),
    ),
}


@pytest.mark.parametrize("alpha", [0.02, 0.2])
@pytest.mark.parametrize("name", TINY)
def test_no_mixture_of_a_fine_grid_is_fair_and_errs_less(name, alpha):
    F, grid = TINY[name]
    t = leader_play(F, TOWN.iid(), T=40)
    # On the simplex weights are over hypotheses; a labelling's chances are linear in the cells' weights.
    chances = np.array([F.probability(unit, t.rows) for unit in np.eye(F.geometry.dim)])
    errors = np.abs(grid @ chances - t.y).sum(axis=1)
    rows, distances = every_row(t, chances, TOWN.near)
    excess = (rows @ grid.T - distances[:, None]).max(axis=0)
    best = lw.best_in_hindsight(t, TOWN.near, alpha)
    # Fair grid points can't beat it; rounding the optimum to the grid moves each probability by 2 % at most.
    assert best.error <= errors[excess <= alpha].min() + 1e-9
    assert best.error >= errors[excess <= alpha + 0.04].min() - 0.02 * len(t.y)
    assert best.error > errors.min() + 1


def test_two_people_cost_one_less_alpha_a_round_and_the_price_is_one_error_a_round():
    t = leader_play(two_people_class(), two_people(two_people_class()), T=50)
    for alpha in (0.0, 0.1, 0.25, 1.0):
        best = lw.best_in_hindsight(t, alike, alpha)
        assert best.error == pytest.approx(50 * (1 - alpha))
        assert best.unconstrained == 0.0
        assert sum(pair.price for pair in best.pairs) == pytest.approx(50.0 if alpha < 1 else 0.0)
    said = str(lw.best_in_hindsight(t, alike, 0.1))
    assert "0.1-fair" in said
    assert "45.0 errors, 45.0 more" in said
    assert "1 pairs bind" in said
    assert "people 0 and 1) costs 0.5 errors per 0.01 of allowance" in said


# Directions, rounds and views -----------------------------------------------------------------------------------


def one_way(view, t=0):
    """Person 1 may be favoured over person 0 as one likes, but not the other way round."""
    return np.array([[0.0, 0.0], [1.0, 0.0]])


def test_a_distance_that_is_not_symmetric_binds_only_the_person_it_names_as_favoured():
    F = two_people_class()
    first, second = F.encode([[1.0], [0.0]])
    view = np.zeros((2, 1))
    merit_first = lw.Stream([lw.Batch(np.array([first, second]), np.array([1.0, 0.0]), view)] * 5, k=2)
    merit_second = lw.Stream([lw.Batch(np.array([second, first]), np.array([0.0, 1.0]), view)] * 5, k=2)
    bound = lw.best_in_hindsight(leader_play(F, merit_first, T=5), one_way, 0.1)
    free = lw.best_in_hindsight(leader_play(F, merit_second, T=5), one_way, 0.1)
    assert bound.error == pytest.approx(4.5)
    assert [(pair.favoured, pair.disfavoured) for pair in bound.pairs] == [(0, 1)]
    assert free.error == pytest.approx(0.0)
    assert free.pairs == ()


def test_hindsight_and_the_auditor_read_a_distance_that_is_not_symmetric_in_the_same_direction():
    """The best policy of Q_α, deployed, is never reported; with the distance turned round it is."""
    t = leader_play(CLASSES["cells"], TOWN.iid(), T=100)
    policy = lw.best_in_hindsight(t, lopsided, 0.05).policy

    def reports(distance):
        auditor = lw.MetricAuditor(distance, 0.05 + 1e-6)
        keys = [lw.Key(0, lw.Role.AUDITOR, i + 1) for i in range(t.rounds)]
        answers = [auditor.audit(r.batch, policy.at(r.batch.rows), key) for r, key in zip(t, keys, strict=True)]
        return sum(answer is not None for answer in answers)

    assert reports(lopsided) == 0
    assert reports(lambda view: lopsided(view).T) > 2


def test_rounds_are_counted_as_in_the_play_when_it_goes_on_from_an_earlier_one():
    F = two_people_class()
    learner, auditor = lw.FollowTheLeader(F), lw.MetricAuditor(alike, 1.0)
    before = lw.play(learner, two_people(F), auditor, 7)
    after = lw.play(learner, two_people(F), auditor, 5, state=before.state)

    def only_in_round_10(view, t):
        return alike(view) + (t != 10)

    best = lw.best_in_hindsight(after, only_in_round_10, 0.0, drifting=True)
    assert [pair.round for pair in best.pairs] == [10]
    assert best.error == pytest.approx(5.0)


@pytest.mark.parametrize("view", [TOWN.X, pd.DataFrame(TOWN.X, columns=["income", "age"])])
def test_a_named_metric_is_the_same_as_its_formula_for_arrays_and_dataframes(view):
    def cityblock(view):
        values = np.asarray(view)
        return np.abs(values[:, None] - values).sum(axis=-1)

    t = leader_play(CLASSES["thresholds"], lw.IID(TOWN.X, TOWN.y, k=4, view=view))
    named = lw.best_in_hindsight(t, "cityblock", 0.05)
    assert named.error == pytest.approx(lw.best_in_hindsight(t, cityblock, 0.05).error)
    assert named.error > named.unconstrained + 0.5


# Prices ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSES)
def test_a_pair_with_a_price_is_tight_and_the_prices_alone_prove_the_error(name):
    F, alpha = CLASSES[name], 0.07
    t = leader_play(F, TOWN.iid())
    best = lw.best_in_hindsight(t, TOWN.near, alpha)
    chances, answers = best.policy.at(t.rows), F.predict_rows(t.rows)
    priced = count(t, answers).errors.sum(axis=0)
    allowed = 0.0
    assert len(best.pairs) >= 2
    assert [pair.price for pair in best.pairs] == sorted((pair.price for pair in best.pairs), reverse=True)
    for pair in best.pairs:
        start = t.starts[pair.round - 1]
        high, low = start + pair.favoured, start + pair.disfavoured
        allowance = alpha + TOWN.near(t.view[[high, low]])[0, 1]
        assert chances[high] - chances[low] == pytest.approx(allowance, abs=1e-8)
        priced = priced + pair.price * answers[:, high]
        priced -= pair.price * answers[:, low]
        allowed += pair.price * allowance
    # Complementary slackness and strong duality in one: the Lagrangian's minimum is the optimum.
    assert priced.min() - allowed == pytest.approx(best.error, rel=1e-7)


@pytest.mark.parametrize("name", CLASSES)
def test_prices_are_the_rate_at_which_the_optimum_moves_with_a_pairs_allowance(name):
    F, alpha, step = CLASSES[name], 0.07, 1e-5
    t = leader_play(F, TOWN.iid())
    answers = F.predict_rows(t.rows)
    total = count(t, answers).errors.sum(axis=0)
    rows, distances = every_row(t, answers, TOWN.near)
    best = lw.best_in_hindsight(t, TOWN.near, alpha)
    exact = solved_by_scipy(total, rows, distances + alpha)
    assert best.pairs
    for pair in best.pairs[:4]:
        start = t.starts[pair.round - 1]
        row = answers[:, start + pair.favoured].astype(float) - answers[:, start + pair.disfavoured]
        d = TOWN.near(t.view[start : start + 4])[pair.favoured, pair.disfavoured]
        # The same two people may have come in other rounds: all their rows are one pair to the class.
        same = (rows == row).all(axis=1) & (np.abs(distances - d) < 1e-12)
        assert same.any()
        looser = solved_by_scipy(total, rows, distances + alpha + step * same)
        tighter = solved_by_scipy(total, rows, distances + alpha - step * same)
        assert (exact - looser) / step == pytest.approx(pair.price, rel=1e-3)
        assert (tighter - exact) / step == pytest.approx(pair.price, rel=1e-3)


# Classes -----------------------------------------------------------------------------------------------------------


def test_hypotheses_that_agree_on_everybody_change_nothing():
    single = [above(w) for w in np.random.default_rng(3).normal(size=(5, 2))]
    twins = [*single, *single[::-1], lambda X: np.zeros(len(X)), lambda X: np.ones(len(X)), *single]
    errors, prices = [], []
    for hypotheses in (single, twins):
        best = lw.best_in_hindsight(leader_play(lw.FiniteClass(hypotheses), TOWN.iid()), TOWN.near, 0.05)
        errors.append(best.error)
        prices.append(sorted(pair.price for pair in best.pairs))
        assert len(best.policy.weights) == len(hypotheses) + 2
    assert errors[0] == pytest.approx(errors[1], rel=1e-9)
    assert prices[0] == pytest.approx(prices[1], rel=1e-6)


def test_a_class_without_constants_is_solved_where_some_mixture_is_fair():
    """h and 1 − h: half of each is fair, and (1 + α)/2 of h is the best that is."""
    F = lw.FiniteClass([lambda X: X[:, 0] == 1.0, lambda X: X[:, 0] != 1.0], constants=())
    t = leader_play(F, two_people(F), T=20)
    best = lw.best_in_hindsight(t, alike, 0.3)
    assert best.error == pytest.approx(20 * (1 - 0.3))
    assert best.policy.weights == pytest.approx([0.65, 0.35])
    assert best.gap <= 1e-7


def test_a_class_without_constants_and_without_a_fair_mixture_is_refused_by_name():
    F = lw.FiniteClass([lambda X: X[:, 0] == 1.0], constants=())
    t = leader_play(F, two_people(F), T=5)
    with pytest.raises(InvalidParameter, match=r"`hypotheses` must hold a constant.*FiniteClass"):
        lw.best_in_hindsight(t, alike, 0.3)


def test_a_class_that_is_only_reached_by_fitting_is_refused_by_name():
    F = lw.EstimatorClass(LogisticRegression(), pool=TOWN.X)
    t = lw.play(lw.SmoothedFTPL(F, k=4, draws=1), TOWN.iid(), lw.MetricAuditor(TOWN.near, 0.1), 3)
    with pytest.raises(NotSupported, match="EstimatorClass"):
        lw.best_in_hindsight(t, TOWN.near, 0.1)
    with pytest.raises(NotSupported, match="EstimatorClass"):
        lw.frontier(t, TOWN.near, [0.1, 0.2])


@pytest.mark.parametrize(
    ("name", "distance", "alphas"),
    [
        ("alpha", alike, [1.2]),
        ("alpha", alike, [0.1, -0.1]),
        ("alphas", alike, []),
        ("distance", "no such metric", [0.1]),
        ("distance", 3.0, [0.1]),
        ("distance", lambda view: alike(view) - 0.1, [0.1]),
        ("distance", lambda view: alike(view) * np.nan, [0.1]),
        ("distance", lambda view: np.zeros((2, 2)), [0.1]),
    ],
)
def test_bad_input_is_refused_by_the_name_of_the_argument(name, distance, alphas):
    t = leader_play(CLASSES["thresholds"], TOWN.iid(), T=3)
    with pytest.raises(InvalidParameter, match=f"`{name}` must"):
        lw.frontier(t, distance, alphas)


# The frontier and size --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSES)
def test_the_frontier_is_what_separate_programs_give_and_falls_in_a_convex_curve(name):
    t = leader_play(CLASSES[name], TOWN.iid())
    levels = np.linspace(0, 1, 21)
    found = lw.frontier(t, TOWN.near, np.random.default_rng(0).permutation(levels).tolist())
    assert found.alphas.tolist() == levels.tolist()
    assert found.people == len(t.y)
    alone = [lw.best_in_hindsight(t, TOWN.near, alpha) for alpha in levels]
    assert found.errors == pytest.approx([best.error for best in alone], rel=1e-7)
    assert [p.error - p.lower for p in found.points] == pytest.approx(np.zeros(21), abs=1e-6)
    assert (np.diff(found.errors) <= 1e-7).all()
    assert (np.diff(found.errors, 2) >= -1e-6).all()
    assert found.errors[-1] == pytest.approx(found.points[0].unconstrained)
    assert found.errors[0] > found.errors[-1] + 2


def test_the_frontiers_picture_shows_error_per_labelled_person_and_what_is_possible_without_fairness():
    t = leader_play(CLASSES["thresholds"], TOWN.gappy())
    found = lw.frontier(t, TOWN.near, [0.0, 0.1, 0.3])
    known = np.isfinite(t.y).sum()
    (axes,) = found.plot().axes
    fair, free = axes.get_lines()
    assert fair.get_xdata().tolist() == [0.0, 0.1, 0.3]
    assert fair.get_ydata() == pytest.approx(found.errors / known)
    assert set(free.get_ydata()) == {found.points[0].unconstrained / known}
    assert "α" in axes.get_xlabel()
    assert "error" in axes.get_title(loc="left").lower()


def test_a_long_play_needs_few_of_its_pairs():
    rng = np.random.default_rng(0)
    X = rng.random((2000, 5))
    y = (X[:, 0] + X[:, 1] + 0.4 * rng.standard_normal(2000) > 1).astype(float)

    def near(view):
        return np.abs(view[:, 2, None] - view[:, 2]) / 2

    F = lw.Thresholds.quantiles(X, cuts=30)
    t = leader_play(F, lw.IID(X, y, k=6), T=3000)
    best = lw.best_in_hindsight(t, near, 0.1)
    assert F.size > 300
    assert best.rows < 0.05 * 3000 * 15
    assert best.gap <= 1e-7
    assert best.violation <= 1e-12
    assert best.unconstrained + 100 < best.error < 0.5 * len(t.y)
    chances = best.policy.at(t.rows).reshape(3000, 6)
    gaps = np.abs(chances[:, :, None] - chances[:, None])
    d = np.abs(t.view[:, 2].reshape(3000, 6, 1) - t.view[:, 2].reshape(3000, 1, 6)) / 2
    assert (gaps <= d + 0.1 + 1e-9).all()


# These people, all pairs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("costs", [(1.0, 1.0), (0.5, 2.0)])
@pytest.mark.parametrize("distance", [TOWN.near, lopsided])
@pytest.mark.parametrize("name", CLASSES)
def test_the_best_mixture_on_people_equals_the_program_with_every_row(name, distance, costs):
    """SciPy with a row for each ordered pair, the answers asked of each hypothesis one by one."""
    F, X, alpha = CLASSES[name], TOWN.X[:30], 0.05
    q = np.random.default_rng(4).random(30)
    weights = np.eye(F.geometry.dim)
    answers = np.array([lw.Mixture(F, w).probability(X) for w in weights])
    d, (i, j) = distance(X), np.nonzero(~np.eye(30, dtype=bool))
    s = costs[0] * (1 - q) - costs[1] * q
    whole = None if name == "cells" else np.ones((1, len(weights)))
    brute = linprog(
        answers @ s, A_ub=(answers[:, i] - answers[:, j]).T, b_ub=d[i, j] + alpha, bounds=(0, 1),
        A_eq=whole, b_eq=None if whole is None else [1.0],
    )  # fmt: skip
    best = lw.hindsight.best_mixture(F, X, q, distance, alpha, costs=costs)
    assert best.error == pytest.approx(costs[1] * q.sum() + brute.fun, abs=1e-7)
    assert best.gap < 1e-7
    p = best.policy.probability(X)
    assert (np.subtract.outer(p, p) - d)[i, j].max() <= alpha + 1e-8
    assert best.error == pytest.approx((costs[0] * p * (1 - q) + costs[1] * (1 - p) * q).sum())


def test_labels_will_do_as_label_probabilities_and_a_round_of_everybody_is_the_same_program():
    X, y = TOWN.X[:30], TOWN.y[:30].astype(float)
    t = lw.play(lw.FollowTheLeader(CLASSES["thresholds"]), lw.Stream([(X, y)], k=30), lw.MetricAuditor(alike, 1.0), 1)
    whole = lw.best_in_hindsight(t, TOWN.near, 0.05)
    best = lw.hindsight.best_mixture(CLASSES["thresholds"], X, y, TOWN.near, 0.05)
    assert best.error == pytest.approx(whole.error, abs=1e-7)
    with pytest.raises(NotSupported, match="can be searched exactly"):
        lw.hindsight.best_mixture(object(), X, y, TOWN.near, 0.05)
    with pytest.raises(InvalidParameter, match="`view` must have a row"):
        lw.hindsight.best_mixture(CLASSES["thresholds"], X, y, TOWN.near, 0.05, view=X[:3])
