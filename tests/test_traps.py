"""The traps of one-sided labels: who ignores unseen labels falls into them, who estimates them doesn't."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import likewise as lw
from likewise.experiments import demo, games
from likewise.experiments.reproduce import accepted

TRAPS = {"first": games.TRAP, "second": games.SECOND_TRAP, "mostly good": games.MOSTLY_GOOD}
KINDS = {"default": {}, "safe": {"safe": True}}


@cache
def errors(trap, kind, T, seed, bad=0):
    """The error per person of one play, and that of its last quarter beyond the better constant's."""
    game = TRAPS[trap]
    learner = lw.AdaHedge(game.hypotheses, k=game.k, alpha=0.1, T=T)
    learner = lw.OneSided(learner, **KINDS[kind]) if kind in KINDS else learner
    people = game.bad_at_first(seed, bad) if bad else game.iid(seed)
    labels = "all" if kind == "full" else "accepted"
    t = lw.play(learner, people, lw.MetricAuditor("cityblock", 0.1), seed=seed, labels=labels)
    assert not t.reported.any()
    late = t.y[t.starts[3 * T // 4] :]
    last = t.errors[3 * T // 4 :].sum() / len(late)
    return t.error_per_person, last - min(late.mean(), 1 - late.mean())


def played(trap, kind, T, seeds, bad=0):
    return np.array([errors(trap, kind, T, seed, bad) for seed in range(seeds)])[:, 0]


def beyond_constant(trap, kind, T, seeds, bad):
    return np.array([errors(trap, kind, T, seed, bad) for seed in range(seeds)])[:, 1]


def test_a_trap_has_the_rules_and_people_that_it_says():
    for trap, size, accepting in ((games.TRAP, 145, 0.5), (games.SECOND_TRAP, 146, 1.0)):
        F, (X, y) = trap.hypotheses, trap.population(0)
        answers = F.predict_rows(F.encode(X)).astype(bool)
        assert F.size == size == len(answers)
        assert answers.mean(axis=1).max() == pytest.approx(accepting, abs=0.02)
        group = X[:, 0] == 1
        rules = answers[len(F.constants) :]
        assert (rules[:, group].any(axis=1) ^ rules[:, ~group].any(axis=1)).all()
        assert (~group).mean() == pytest.approx(trap.share, abs=0.02)
        for people, good in ((~group, trap.good[0]), (group, trap.good[1])):
            assert y[people].mean() == pytest.approx(good, abs=0.03)
        shares = rules[:24][:, ~group].mean(axis=1)
        assert shares == pytest.approx(1 - np.linspace(0, 0.9, 24), abs=0.02)


def test_the_labels_of_a_bad_start_are_all_bad_and_then_as_they_are():
    game = games.MOSTLY_GOOD
    t = lw.play(lw.Unconstrained(game.hypotheses), game.bad_at_first(1, 30), lw.MetricAuditor("cityblock", 0.1), 90)
    assert (t.y[: t.starts[30]] == 0).all()
    assert t.y[t.starts[30] :].mean() > 0.8


def test_a_short_play_shows_the_trap():
    full, default, naive = (played("first", kind, 300, 3) for kind in ("full", "default", "naive"))
    assert default.max() <= full.max() + 0.12
    assert naive.mean() > full.mean() + 0.07
    assert naive.mean() > default.mean() + 0.03


@pytest.mark.slow
def test_on_the_trap_the_default_and_safe_stay_near_full_labels_and_naive_does_not():
    full, default, safe, naive = (played("first", kind, 2000, 20) for kind in ("full", "default", "safe", "naive"))
    assert default.max() <= full.max() + 0.05
    assert safe.max() <= full.max() + 0.03
    assert naive.max() > 0.53


@pytest.mark.slow
def test_on_the_second_trap_the_default_is_near_full_labels_on_the_mean():
    full, default = (played("second", kind, 2000, 20) for kind in ("full", "default"))
    assert default.mean() <= full.mean() + 0.02


STUCK = 0.05


def test_a_short_play_recovers_from_a_bad_start():
    default = beyond_constant("mostly good", "default", 400, 2, bad=160)
    assert (default <= STUCK).all()
    assert (beyond_constant("mostly good", "naive", 400, 2, bad=160) > 0.5).all()  # refuses everybody to the end


@pytest.mark.slow
@pytest.mark.parametrize("trap", ["second", "mostly good"])
def test_where_everybody_is_bad_at_first_the_default_is_never_stuck(trap):
    assert (beyond_constant(trap, "default", 2000, 20, bad=800) <= STUCK).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adult", "compas"])
def test_on_real_people_the_default_is_near_full_labels_with_few_more_violations(name):
    setting = demo.prepare(lw.datasets.load(name), T=2000, k=6, alpha=0.1)
    full, default, naive = (
        [accepted.real_play(kind, setting, seed)[3:5] for seed in range(3)]
        for kind in (accepted.FULL, accepted.RUNNING, accepted.NAIVE)
    )
    (error, violations), (near, about), (far, _) = (np.mean(plays, axis=0) for plays in (full, default, naive))
    assert near <= error + 0.015 < far
    assert about <= 1.25 * violations
