"""How much people count: one who counts twice is two people, one who counts nothing is nobody, for every learner."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import likewise as lw
from games import Town, alike
from likewise.errors import InvalidParameter
from likewise.figures.regret import course
from likewise.reduction import base_error, error, label_weights, signed_weights

TOWN = Town(k=4)
F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
CELLS = lw.Cells.grid(TOWN.X, bins=2)
TREES = lw.EstimatorClass(DecisionTreeClassifier(max_depth=2, random_state=0), pool=TOWN.X)


def rounds(T, how, classes=F, least=0.0):
    """The same people: as often as they count, or once with a weight."""
    rng, batches = np.random.default_rng(3), []
    for _ in range(T):
        chosen = rng.integers(40, size=3)
        weight = np.array([1.0, *np.maximum(least, rng.choice([0.0, 1.0, 2.0], size=2))])
        y = np.where(rng.random(3) < 0.1, np.nan, TOWN.y[chosen])
        if how == "copies":
            each = np.repeat(np.arange(3), weight.astype(int))
            chosen, y, weight = chosen[each], y[each], None
        batches.append(lw.Batch(classes.encode(TOWN.X[chosen]), y, TOWN.X[chosen], None, weight))
    return lw.Stream(batches, k=5)


LEARNERS = {
    "ExponentialWeights": lambda: lw.ExponentialWeights(F, T=60, k=5),
    "Hedge": lambda: lw.Hedge(F, T=60, k=5, costs=(1.0, 2.0)),
    "AnytimeHedge": lambda: lw.AnytimeHedge(F, k=5, penalty=4.0),
    "AdaHedge": lambda: lw.AdaHedge(F, T=60, k=5, alpha=0.12, costs=(0.5, 2.0)),
    "any time": lambda: lw.AdaHedge(F, k=5, alpha=0.12),
    "growing": lambda: lw.AdaHedge(F, T=60, k=5, alpha=0.12, penalty="growing"),
    "Unconstrained": lambda: lw.Unconstrained(F),
    "cells": lambda: lw.AdaHedge(CELLS, T=60, k=5, alpha=0.12),
    "FollowTheLeader": lambda: lw.FollowTheLeader(F, penalty=3.0),
    "FTPL": lambda: lw.ContextFTPL(F, T=60, k=5, alpha=0.12, draws=20),
    "one-sided": lambda: lw.OneSided(lw.AdaHedge(F, T=60, k=5, alpha=0.12)),
    "one-sided cells": lambda: lw.OneSided(lw.AdaHedge(CELLS, k=5, alpha=0.12)),
    "safe": lambda: lw.OneSided(lw.Hedge(F, T=60, k=5), safe=True),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_weight_of_two_is_the_person_twice_and_of_nothing_is_nobody(name):
    learner = LEARNERS[name]()
    everybody, auditor = learner.hypotheses.encode(TOWN.X), lw.MetricAuditor(lambda view: alike(view) + 1, 0.12)
    weighed, copied = (
        lw.play(learner, rounds(60, how, learner.hypotheses), auditor, 60, seed=1) for how in ("weight", "copies")
    )
    states = [t.state for t in (weighed, copied)]
    first, second = (learner.act(state, lw.Key(1, lw.Role.LEARNER, 61)).at(everybody) for state in states)
    assert first == pytest.approx(second, abs=1e-9)
    assert np.ptp(first) > 0.05
    assert weighed.errors == pytest.approx(copied.errors, abs=1e-9)
    for measure in ("base_error", "unconstrained_error", "lagrangian_regret"):
        assert getattr(weighed, measure) == pytest.approx(getattr(copied, measure), abs=1e-7)
    assert weighed.constant_errors == pytest.approx(copied.constant_errors)
    assert weighed.error_per_person == pytest.approx(copied.error_per_person)


def test_a_committee_learns_from_weights_too():
    learner = lw.SmoothedFTPL(TREES, k=5, draws=3, perturbations=20)
    auditor = lw.MetricAuditor(lambda view: alike(view) + 1, 0.12)
    weighed, copied = (
        lw.play(learner, rounds(12, how, TREES, least=1.0), auditor, 12).average_policy for how in ("weight", "copies")
    )
    assert weighed.probability(TOWN.X) == pytest.approx(copied.probability(TOWN.X))


def test_hindsight_certificates_and_pictures_count_weights():
    learner, auditor = LEARNERS["growing"](), lw.MetricAuditor(lambda view: alike(view) + 1, 0.12)
    weighed, copied = (lw.play(learner, rounds(60, how, least=1.0), auditor, 60) for how in ("weight", "copies"))
    best = [lw.best_in_hindsight(t, TOWN.near, 0.12).error for t in (weighed, copied)]
    assert best[0] == pytest.approx(best[1])
    first, second = lw.certify(weighed), lw.certify(copied)
    for name in ("error", "constant_error", "behind_constant"):
        assert getattr(first, name) == pytest.approx(getattr(second, name))
    assert [r.by_reports for r in first.regret] == pytest.approx([r.by_reports for r in second.regret])
    courses = [course(t, learner, points=5) for t in (weighed, copied)]
    assert courses[0].regret == pytest.approx(courses[1].regret)
    assert courses[0].regret[-1] == pytest.approx(weighed.lagrangian_regret)


@pytest.mark.parametrize("compiled", [False, True])
def test_people_of_a_file_may_be_weighed(compiled):
    weight = np.where(np.arange(40) % 2, 1.0, 0.0)
    people = lw.IID(TOWN.X, TOWN.y, k=4, weight=weight)
    learner, auditor = lw.AdaHedge(F, T=50, k=4, alpha=0.12), lw.MetricAuditor("cityblock", 0.12, w=[0.0, 0.5])
    t = lw.play(learner, people, auditor, compiled=compiled)
    np.testing.assert_array_equal(t.weight, weight[t.person])
    plain = lw.play(learner, TOWN.iid(), auditor, compiled=compiled)
    once = lw.IID(TOWN.X, TOWN.y, k=4, weight=np.ones(40))
    same = lw.play(learner, once, auditor, compiled=compiled)
    assert plain.weight is None
    np.testing.assert_array_equal(same.shown, plain.shown)
    np.testing.assert_array_equal(same.person, plain.person)  # a weight draws nothing
    assert same.errors == pytest.approx(plain.errors)


def test_errors_are_counted_per_weight():
    batch = lw.Batch(F.encode(TOWN.X[:3]), np.array([1.0, 0.0, np.nan]), TOWN.X[:3], None, np.array([0.2, 0.1, 0.5]))
    t = lw.play(lw.Unconstrained(F), lw.Stream([batch], k=3), lw.MetricAuditor(TOWN.near, 0.12), 1)
    p = t.shown
    assert t.errors == pytest.approx([0.2 * (1 - p[0]) + 0.1 * p[1]])
    assert t.error_per_person == pytest.approx(t.errors[0] / 0.3)
    nobody = lw.play(lw.Unconstrained(F), lw.Stream([batch._replace(weight=np.zeros(3))], k=3),
                     lw.MetricAuditor(TOWN.near, 0.12), 1)  # fmt: skip
    assert nobody.error_per_person == 0.0


@pytest.mark.parametrize("people", [3, 40])
def test_weights_scale_the_label_part_and_leave_penalties_alone(people):
    """Few people and many take different ways to the same numbers."""
    rng = np.random.default_rng(people)
    y, weight = rng.choice([0.0, 1.0, np.nan], size=people), rng.random(people)
    plain, reports = label_weights(y, (2.0, 3.0)), [lw.Report(0, 1)]
    np.testing.assert_allclose(label_weights(y, (2.0, 3.0), weight), plain * weight)
    penalty = signed_weights(y, reports, 5.0, (2.0, 3.0)) - plain
    np.testing.assert_allclose(signed_weights(y, reports, 5.0, (2.0, 3.0), weight), plain * weight + penalty)
    p = rng.random(people)
    by_hand = sum(w * (3.0 * (1 - a) if label == 1 else 2.0 * a) for a, label, w in zip(p, y, weight, strict=True)
                  if label == label)  # fmt: skip
    assert error(p, y, (2.0, 3.0), weight) == pytest.approx(by_hand)
    assert base_error(y, (2.0, 3.0), weight) == pytest.approx(error(np.zeros(people), y, (2.0, 3.0), weight))


WRONG = {
    r"`weight` must hold a number for each of 3 people, got \(2,\)": [1.0, 2.0],
    r"`weight` must hold a number for each of 3 people, got \(1, 3\)": [[1.0] * 3],
    r"`weight` must hold numbers of at least 0, got \[-1.0\]": [1.0, -1.0, -2.0],
    r"`weight` must hold numbers of at least 0, got \[nan\]": [1.0, np.nan, 1.0],
    r"`weight` must hold numbers of at least 0, got \[inf\]": [np.inf, 1.0, 1.0],
}


@pytest.mark.parametrize("sentence", WRONG)
def test_weights_that_are_none_are_refused_in_one_sentence(sentence):
    weight = WRONG[sentence]
    with pytest.raises(InvalidParameter, match=sentence):
        lw.IID(TOWN.X[:3], TOWN.y[:3], k=2, weight=weight)
    stream = lw.Stream([lw.Batch(F.encode(TOWN.X[:3]), TOWN.y[:3], TOWN.X[:3], None, np.array(weight))])
    with pytest.raises(InvalidParameter, match=sentence):
        lw.play(lw.Unconstrained(F), stream, lw.MetricAuditor(TOWN.near, 0.12), 1)


def test_a_learner_whose_rate_is_tuned_for_k_people_refuses_more_weight():
    heavy = lw.Batch(F.encode(TOWN.X[:2]), TOWN.y[:2], TOWN.X[:2], None, np.array([3.0, 2.5]))
    with pytest.raises(InvalidParameter, match=r"`weight` must add up to at most k = 5, got \[3.0, 2.5\]"):
        lw.play(LEARNERS["ExponentialWeights"](), lw.Stream([heavy]), lw.MetricAuditor(TOWN.near, 0.12), 1)
