"""What follows from what was observed: the error of the best constant, and the limit of violations."""

import numpy as np
import pytest

import likewise as lw
from games import EveryPair, Town
from likewise import theory

ALPHA = 0.1
TOWN = Town()
CUTS = lw.Thresholds.quantiles(TOWN.X, cuts=3)


def error_of(value, y, costs):
    """Σ Err of a constant, person by person."""
    return sum(costs[0] * (value == 1) if label == 0 else costs[1] * (value == 0) for label in y if label == label)


@pytest.mark.parametrize("costs", [(1.0, 1.0), (0.5, 3.0), (3.0, 0.5)])
@pytest.mark.parametrize("constants", [(0, 1), (0,), (1,)])
def test_the_best_constant_is_found_among_those_of_the_class(constants, costs):
    F = lw.FiniteClass([lambda X: np.asarray(X)[:, 0] > 0.5], constants=constants)
    t = lw.play(lw.AdaHedge(F, k=3, penalty=1.0, costs=costs), TOWN.gappy(), lw.MetricAuditor(TOWN.near, ALPHA), 40)
    for rounds in (1, 7, 40):
        y = t.y[: t.starts[rounds]]
        expected = min(error_of(value, y, costs) for value in constants)
        assert t.constant_errors[rounds - 1] == pytest.approx(expected)


def test_a_class_without_constants_has_no_best_one():
    F = lw.FiniteClass([lambda X: np.asarray(X)[:, 0] > 0.5], constants=())
    t = lw.play(lw.FollowTheLeader(F), TOWN.iid(), lw.MetricAuditor(TOWN.near, ALPHA), 5)
    assert t.constant_errors is None


@pytest.mark.parametrize(
    "auditor", [lw.MetricAuditor(TOWN.near, ALPHA), EveryPair(TOWN.near, ALPHA)], ids=["one", "several"]
)
@pytest.mark.parametrize("people", ["iid", "tempter", "contrarian"])
def test_no_play_has_more_rounds_with_a_report_than_its_regret_leaves_room_for(people, auditor):
    t = lw.play(lw.AdaHedge(CUTS, k=3, penalty=2.0), getattr(TOWN, people)(), auditor, 150)
    most = theory.violations_limit(t.lagrangian_regret, t.constant_errors[-1], t.errors.sum(), ALPHA, weight=2.0)
    assert 0 < t.reported.sum() <= most + 1e-9


def test_the_limit_of_violations_is_that_of_its_inequality():
    """A play whose gaps are all just above α reaches the limit."""
    gap = np.nextafter(ALPHA, 1)
    assert theory.violations_limit(5 * 2.0 * gap, 3.0, 3.0, ALPHA, 2.0) == pytest.approx(5)
    assert theory.violations_limit(1.0, 3.0, 9.0, ALPHA, 2.0) == 0


def test_arrays_after_each_round_are_taken_one_by_one():
    zeros, ones = np.array([1.0, 4.0]), np.array([2.0, 3.0])
    np.testing.assert_array_equal(theory.constant_error(zeros, ones, (1.0, 1.0), (0, 1)), [1.0, 3.0])
    limits = theory.violations_limit(np.array([1.0, 2.0]), zeros, ones, 0.5, np.array([2.0, 4.0]))
    np.testing.assert_array_equal(limits, [0.0, 1.5])
