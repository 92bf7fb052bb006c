"""The best fair policy of any kind: equal to the program with every row, and a limit for every fair policy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import likewise as lw
from likewise.errors import InvalidParameter
from likewise.hindsight import best_of_any, compare_with_any, cross_fitted, share_of_possible_gain
from likewise.hindsight.linear_program import PeopleProgram


def brute_force(q, D, alpha, costs=(1.0, 1.0)):
    """Every ordered pair's row, by SciPy."""
    n = len(q)
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    rows = np.zeros((len(i), n))
    rows[np.arange(len(i)), i], rows[np.arange(len(i)), j] = 1.0, -1.0
    c = costs[0] * (1 - q) - costs[1] * q
    found = linprog(c, A_ub=rows, b_ub=D[i, j] + alpha, bounds=(0, 1), method="highs")
    return (costs[1] * q.sum() + found.fun) / n


def by_number(D):
    """A distance of people who are known by their number alone."""
    return lambda view: D[np.ix_(np.asarray(view)[:, 0].astype(int), np.asarray(view)[:, 0].astype(int))]


def numbered(n):
    return np.arange(n, dtype=float)[:, None]


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("kind", ["metric", "lopsided", "no triangle"])
@pytest.mark.parametrize("seed", range(4))
def test_generated_rows_reach_the_optimum_of_all_rows(seed, kind, alpha):
    rng = np.random.default_rng(seed)
    n, q = 25, rng.random(25)
    D = np.abs(np.subtract.outer(x := rng.random(n), x)) if kind == "metric" else rng.random((n, n)) ** 2
    if kind == "no triangle":
        D = np.minimum(D, D.T)
    costs = (1.0, 1.0) if seed % 2 else (1.0, 2.5)
    limit = best_of_any(numbered(n), q, by_number(D), alpha, costs=costs)
    assert limit.error == pytest.approx(brute_force(q, D, alpha, costs), abs=1e-9)
    assert limit.lower == pytest.approx(limit.error, abs=1e-9)
    assert limit.violation <= 1e-9
    p = limit.probabilities
    off = ~np.eye(n, dtype=bool)
    assert (np.subtract.outer(p, p) - D - alpha)[off].max() <= 2e-9
    assert limit.unconstrained - 1e-12 <= limit.error <= limit.constant + 1e-12


def test_people_who_look_the_same_share_a_variable_and_nothing_is_lost():
    rng = np.random.default_rng(0)
    view, q = rng.integers(0, 4, size=(40, 2)).astype(float), rng.random(40)
    D = 0.1 * np.abs(view[:, None] - view).sum(axis=2)
    limit = best_of_any(0.1 * view, q, "cityblock", 0.05)
    assert limit.error == pytest.approx(brute_force(q, D, 0.05), abs=1e-9)
    assert limit.people == len(limit.probabilities) == 40


def test_pairs_far_apart_in_the_list_are_compared_in_both_directions(monkeypatch):
    monkeypatch.setattr("likewise.hindsight.compared.BLOCK", 7)
    rng = np.random.default_rng(1)
    D, q = rng.random((30, 30)), rng.random(30)
    limit = best_of_any(numbered(30), q, by_number(D), 0.02)
    assert limit.error == pytest.approx(brute_force(q, D, 0.02), abs=1e-9)


@pytest.mark.parametrize("kind", ["metric", "no triangle"])
def test_a_first_guess_from_some_people_changes_no_optimum(monkeypatch, kind):
    monkeypatch.setattr("likewise.hindsight.linear_program.FEW", 5)
    monkeypatch.setattr("likewise.hindsight.linear_program.BLOCK", 7)
    rng = np.random.default_rng(2)
    x, q = rng.normal(size=60), rng.random(60)
    D = 0.1 * np.abs(np.subtract.outer(x, x)) ** (1 if kind == "metric" else 2)
    for seed in range(3):
        for alpha in (0.0, 0.05):
            limit = best_of_any(numbered(60), q, by_number(D), alpha, seed=seed)
            assert limit.error == pytest.approx(brute_force(q, D, alpha), abs=1e-9)
            assert limit.gap <= 1e-9


def test_with_the_triangle_inequality_only_pairs_of_opposite_wishes_have_rows():
    """Detours never pay, so the smaller program is exact; the extension makes its solution fair to all pairs."""
    rng = np.random.default_rng(9)
    X, costs = rng.normal(size=(80, 2)), rng.normal(size=80)
    D = 0.05 * np.abs(X[:, None] - X).sum(axis=2)
    for alpha in (0.0, 0.1):
        program = PeopleProgram(costs, D + alpha)
        p, violation = program.solve(np.random.default_rng(0))
        assert (costs[program.rows // 80] <= 0).all()
        assert (costs[program.rows % 80] > 0).all()
        assert violation <= 1e-9
        assert costs @ p == pytest.approx(program.lower(), abs=1e-8)


@pytest.mark.parametrize("q", [0.0, 0.5, 1.0])
def test_people_who_all_want_the_same_need_no_rows(q):
    limit = best_of_any(numbered(4), np.full(4, q), "cityblock", 0.0)
    assert limit.error == pytest.approx(min(q, 1 - q), abs=1e-12)
    assert (limit.rows, limit.violation) == (0, 0.0)


def test_only_the_favoured_direction_of_a_distance_counts():
    D = np.array([[0.0, 1.0], [0.0, 0.0]])  # the first may be favoured at will, the second not at all
    assert best_of_any(numbered(2), [1.0, 0.0], by_number(D), 0.0).error == pytest.approx(0.0, abs=1e-9)
    assert best_of_any(numbered(2), [0.0, 1.0], by_number(D), 0.0).error == pytest.approx(0.5, abs=1e-9)


def test_a_looser_level_never_costs_more_and_the_loosest_costs_nothing():
    rng = np.random.default_rng(3)
    view, q = rng.normal(size=(50, 2)), rng.random(50)
    limits = [best_of_any(view, q, "euclidean", alpha) for alpha in (0.0, 0.05, 0.1, 0.3, 1.0)]
    assert (np.diff([limit.error for limit in limits]) <= 1e-9).all()
    assert limits[-1].error == pytest.approx(limits[-1].unconstrained, abs=1e-12)
    assert limits[-1].rows == 0


def test_no_fair_mixture_errs_less_than_the_best_of_any_kind():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.normal(size=40) > 0).astype(float)
    stream = lw.Stream([(X, y)], k=40)  # one round: every pair of all people counts
    auditor = lw.MetricAuditor("cityblock", 0.1, w=[0.3, 0.3])
    t = lw.play(lw.Unconstrained(lw.Thresholds.quantiles(X, cuts=6)), stream, auditor, 1)
    best = lw.best_in_hindsight(t, auditor.distance, 0.1)
    limit = best_of_any(X, y, auditor.distance, 0.1)
    assert limit.error <= best.error / 40 + 1e-9
    assert limit.error < limit.constant


def test_cross_fitting_judges_people_by_models_that_did_not_see_them():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(float)
    q = cross_fitted(X, y)
    assert np.array_equal(q, cross_fitted(X, y))
    flipped = y.copy()
    flipped[0] = 1 - y[0]
    assert cross_fitted(X, flipped)[0] == q[0]  # their own label has no part in it
    assert not np.array_equal(cross_fitted(X, flipped), q)
    unknown = y.copy()
    unknown[0] = np.nan
    assert cross_fitted(X, unknown)[0] == q[0]


def test_rows_of_the_same_person_stay_together():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(60, 1)), (rng.random(60) < 0.5).astype(float)
    person = np.repeat(np.arange(20), 3)
    q = cross_fitted(X, y, groups=person)
    flipped = np.where(person == 7, 1 - y, y)
    assert np.array_equal(cross_fitted(X, flipped, groups=person)[person == 7], q[person == 7])


def test_the_share_is_0_for_a_constant_and_1_for_the_limit_and_none_where_there_is_too_little():
    assert share_of_possible_gain(0.4, 0.4, 0.3) == 0
    assert share_of_possible_gain(0.4, 0.3, 0.3) == 1
    assert share_of_possible_gain(0.4, 0.5, 0.3) < 0
    assert share_of_possible_gain(0.4, 0.4, 0.391) is None


class Table:
    """A policy given person by person: the last column says whose probability it is."""

    def __init__(self, probabilities):
        self.probabilities = probabilities

    def probability(self, X):
        return self.probabilities[X[:, -1].astype(int)]


@pytest.fixture
def town():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 2))
    return X, (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(float), np.column_stack([X, np.arange(300)])


def test_a_policy_is_placed_between_the_constant_and_the_limit(town):
    X, y, with_number = town
    limit = best_of_any(X, cross_fitted(X, y), "cityblock", 0.1)
    best = compare_with_any(Table(limit.probabilities), X, X, y, "cityblock", 0.1, X=with_number)
    assert best.share == pytest.approx(1.0, abs=1e-6)
    assert best.limit == pytest.approx(limit.error, abs=1e-9)
    assert best.violation <= 1e-8
    q = cross_fitted(X, y)
    constant = compare_with_any(Table(np.full(300, float(q.mean() > 0.5))), X, X, y, "cityblock", 0.1, X=with_number)
    assert constant.share == pytest.approx(0.0, abs=1e-9)
    half = compare_with_any(Table(limit.probabilities), X, X, y, "cityblock", 0.1, X=with_number, people=100)
    assert half.people == 100
    assert "gains 100% of what any fair policy could gain" in str(best)
    assert "fitted without the person" in str(best)


def test_an_unfair_policy_is_said_to_be_unfair_and_too_little_to_win_is_said(town):
    X, y, with_number = town
    greedy = compare_with_any(Table(y), X, X, y, "cityblock", 0.1, X=with_number)
    assert greedy.violation > 0.1
    assert "treats some pairs too differently" in str(greedy)
    alike = compare_with_any(Table(y), X, 0 * X, y, "cityblock", 0.0, X=with_number)
    assert alike.share is None
    assert "too little to win" in str(alike)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"alpha": 1.7}, "`alpha` must be in"),
        ({"label_probabilities": [0.5]}, "`label_probabilities` must hold one number"),
        ({"label_probabilities": [0.5, 1.5]}, "`label_probabilities` must be in"),
        ({"label_probabilities": [0.5, np.nan]}, "`label_probabilities` must be in"),
        ({"distance": lambda view: -np.ones((2, 2))}, "`distance` must give"),
        ({"distance": 3}, "`distance` must be a callable"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, says):
    given = {"view": [[0.0], [1.0]], "label_probabilities": [0.2, 0.8], "distance": "cityblock", "alpha": 0.1}
    with pytest.raises(InvalidParameter, match=says):
        best_of_any(**given | change)
