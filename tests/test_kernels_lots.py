"""Compiled loops with lots and one-sided labels: the numbers of the reduction, and the bits of the readable loop."""

from __future__ import annotations

import numpy as np
import pytest

import likewise as lw
from likewise import kernels
from likewise.protocol import Estimate
from likewise.reduction import estimated_weights, label_weights, penalised

T, K = 160, 5


def sides(labels, doubt=-1.0):
    return np.array([labels, doubt, 0.25, 0.0, 3.0, 100.0])


@pytest.mark.parametrize("seed", range(5))
def test_the_label_part_is_that_of_the_reduction(seed):
    rng = np.random.default_rng(seed)
    y = rng.choice([0.0, 1.0, np.nan], K)
    weight, shown, decisions = rng.random(K), rng.uniform(0.1, 1, K), rng.random(K) < 0.6
    costs, estimate = (0.5, 2.0), np.array([0.1, -0.7, 0.02])
    hidden = np.where(decisions, y, np.nan)
    for labels, twin in (
        (kernels.ALL, label_weights(y, costs, weight)),
        (kernels.ACCEPTED, label_weights(hidden, costs, weight)),
        (kernels.ESTIMATED, estimated_weights(hidden, decisions, shown, Estimate(*estimate), costs, weight)),
    ):
        s, sums = np.empty(K), np.array([1.0, -2.0])
        kernels.label_part(y, weight, *costs, sides(labels), estimate, shown, decisions, sums, s)
        assert np.array_equal(s, twin)
        known = decisions & (y == y)
        each = weight[known] / shown[known] if labels == kernels.ESTIMATED else np.zeros(0)
        worth = (costs[0] - sum(costs) * y[known]) * each if len(each) else np.zeros(0)
        assert sums == pytest.approx([1.0 + each.sum(), -2.0 + worth.sum()])


def test_a_penalty_goes_to_the_pair():
    labels = np.array([1.0, -1.0, 0.5])
    assert np.array_equal(kernels.penalised(labels, 2, 0, 3.0), penalised(labels, [lw.Report(2, 0)], 3.0))
    assert np.array_equal(kernels.penalised(labels, -1, -1, 3.0), labels)


@pytest.mark.parametrize(("doubt", "expected"), [(0.5, -1.0), (-1.0, -2.0 / 6.0), (1.0, -2.0)])
def test_an_estimate_is_that_of_the_learner(doubt, expected):
    out = np.empty(3)
    kernels.estimate_at(sides(kernels.ESTIMATED, doubt), 1, 2.0, np.array([4.0, -2.0]), out)
    assert out.tolist() == [lw.theory.label_floor(100, 3.0, 0.25), expected, 0.0]
    kernels.estimate_at(sides(kernels.ALL, doubt), 1, 2.0, np.array([4.0, -2.0]), out)
    assert out.tolist() == [0.0, 0.0, 0.0]


def test_a_floor_is_put_on_and_taken_off():
    own, shown = np.array([0.0, 0.3, 1.0]), np.empty(3)
    kernels.with_floor(own, 0.25, shown)
    assert shown == pytest.approx([0.25, 0.475, 1.0])
    assert own == pytest.approx([0.0, 0.3, 1.0])


# Whole plays --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    X = rng.random((800, 3))
    y = (rng.random(800) < X[:, 0]).astype(float)
    y[::17] = np.nan
    return X, y, rng.integers(1, 3, 800) / 2


@pytest.fixture(scope="module")
def F(people):
    return lw.Thresholds.quantiles(people[0], cuts=8)


INSIDE = {
    "kept reports": {"alpha": 0.1, "T": T},
    "kept reports, no horizon": {"alpha": 0.1},
    "kept reports, costs": {"alpha": 0.1, "T": T, "costs": (2.0, 1.0)},
    "scheduled": {"alpha": 0.1, "T": T, "penalty": "growing"},
    "tilted": {"alpha": 0.1, "penalty": "growing"},
    "fixed": {"alpha": 0.1, "penalty": 20.0, "T": T},
    "hedge": {"T": T},
    "paper": {"T": T},
}
WORLDS = {
    "decisions": (None, {"lot": "round"}),
    "own lots": (None, {"lot": "person"}),
    "naive": (None, {"labels": "accepted"}),
    "running doubt": ({}, {}),
    "half doubt, own lots": ({"doubt": 0.5}, {"lot": "person"}),
    "safe": ({"safe": True}, {}),
}


def learner_of(F, name):
    kind = {"hedge": lw.Hedge, "paper": lw.ExponentialWeights}.get(name, lw.AdaHedge)
    return kind(F, k=K, **INSIDE[name])


def both_loops(learner, environment, **options):
    auditor = lw.MetricAuditor("cityblock", alpha=0.1, w=[0.3, 0.3, 0.0])
    return [lw.play(learner, environment, auditor, T, seed=3, compiled=how, **options) for how in (True, False)]


@pytest.mark.parametrize("weighted", [False, True], ids=["everybody once", "weights"])
@pytest.mark.parametrize(
    ("inside", "world"),
    # The paper's update has no place for estimated losses: OneSided refuses it.
    [(inside, world) for inside in INSIDE for world in WORLDS if inside != "paper" or WORLDS[world][0] is None],
)
def test_the_compiled_loop_gives_the_bits_of_the_readable_one(people, F, inside, world, weighted):
    wrap, options = WORLDS[world]
    X, y, weight = people
    learner = learner_of(F, inside) if wrap is None else lw.OneSided(learner_of(F, inside), **wrap)
    fast, plain = both_loops(learner, lw.IID(X, y, k=K, weight=weight if weighted else None), **options)
    for name in ("shown", "pairs", "penalties", "decisions", "unseen", "estimates", "weight", "y"):
        assert _same(getattr(fast, name), getattr(plain, name)), name
    assert type(fast.state) is type(plain.state)
    assert all(np.array_equal(a, b) for a, b in zip(fast.state, plain.state, strict=True))
    assert fast.average_policy.floors == plain.average_policy.floors
    assert np.array_equal(fast.average_policy.probability(X[:9]), plain.average_policy.probability(X[:9]))


def _same(a, b):
    return (a is None and b is None) or np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")


def test_a_one_sided_play_is_compiled_and_continues_as_one(people, F, monkeypatch):
    X, y, _ = people
    learner, environment = lw.OneSided(learner_of(F, "kept reports")), lw.IID(X, y, k=K)
    auditor = lw.MetricAuditor("cityblock", alpha=0.1, w=[0.3, 0.3, 0.0])
    whole = lw.play(learner, environment, auditor, T, seed=3)
    monkeypatch.setattr("likewise.game.rounds.World.played", None)  # the readable loop would fail
    first = lw.play(learner, environment, auditor, 70, seed=3)
    both = first + lw.play(learner, environment, auditor, T - 70, seed=3, state=first)
    for name in ("shown", "decisions", "estimates"):
        assert np.array_equal(getattr(both, name), getattr(whole, name))
    assert all(np.array_equal(a, b) for a, b in zip(both.state, whole.state, strict=True))
    assert both.average_policy.probability(X[:9]) == pytest.approx(whole.average_policy.probability(X[:9]))
