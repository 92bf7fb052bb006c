"""Which limits stand beside a stream's counts; under delay the one that is proved from what happened."""

from __future__ import annotations

import numpy as np
import pytest
from loans import Fold, loans

import likewise as lw
from likewise.service.stream.status import constant_error, fair_at, regret, violations_limit
from likewise.service.stream.transcript import transcript

CUTS = dict.fromkeys(("score", "age"), (0.25, 0.5, 0.75))
ROUNDS = 150


def near(view):
    """People are as far apart as in their second feature, halved."""
    return np.abs(view[:, 1, None] - view[:, 1]) / 2


def worst(X, shown, level):
    """The pair that is furthest above its distance and the level, if one is."""
    excess = shown[:, None] - shown - near(X) - level
    pair = np.unravel_index(excess.argmax(), excess.shape)
    return (int(pair[0]), int(pair[1])) if excess[pair] > 0 else None


def played(tau, seed=0, **changes):
    """A stream whose rounds are all learned ``tau`` rounds late; its labels follow scores, and turn round now and then.

    The environment knows when nobody is learning: it repeats its people until somebody does.
    """
    rng = np.random.default_rng([tau, seed])
    fold, waiting = Fold(loans(cuts=CUTS, **changes)), []
    for i in range(ROUNDS):
        if i % (tau + 1) == 0:
            X = rng.random((4, 2))
            y = ((X[:, 0] > 0.5) ^ (rng.random(4) < 0.1) ^ (i // 60 % 2 == 1)).astype(float)
        waiting.append((fold.open(X), X, y))
        if len(waiting) > tau:
            (t, shown), X_then, y_then = waiting.pop(0)
            fold.label(t, y_then)
            fold.audit(t, worst(X_then, shown, 0.1))
    return fold


@pytest.mark.parametrize("tau", [0, 1, 7, 40])
@pytest.mark.parametrize("changes", [{}, {"hypotheses": "cells"}, {"T": ROUNDS}, {"costs": (1.0, 3.0)}], ids=str)
def test_no_fair_policy_errs_less_by_more_than_the_limit_however_late_rounds_are_learned(tau, changes):
    """Against the exact best policy that is fair at the level less ε, by linear programming over the log."""
    fold = played(tau, **changes)
    found = regret(fold.state)
    assert fold.state.totals.delay_max == tau
    assert fold.state.totals.reported > 0
    assert len(fold.state.learner.gaps) > 0
    t = transcript(fold.events, fold.state)
    assert found["fair_at"] == pytest.approx(0.05)
    best = lw.best_in_hindsight(t, near, alpha=found["fair_at"])
    assert t.errors.sum() - best.error <= found["proved"] + 1e-6
    assert found["proved"] <= t.errors.sum() - best.unconstrained + 15  # so it says something


@pytest.mark.parametrize("tau", [0, 7])
def test_the_limit_of_the_status_is_the_one_that_the_certificate_proves_by_prices(tau):
    fold = played(tau)
    for t in list(fold.state.rounds):
        fold.label(t, [0, 1, 0, 1])
        fold.audit(t)
    by_prices = {round(r.epsilon, 9): r.by_prices for r in lw.certify(transcript(fold.events, fold.state)).regret}
    assert regret(fold.state)["proved"] == pytest.approx(by_prices[0.05])


def test_a_learner_that_keeps_reports_has_a_limit_of_errors_and_no_lagrangian_regret():
    early, late = regret(played(0).state), regret(played(3).state)
    for found in (early, late):
        assert found["observed"] is None
        assert found["proved"] is not None
    assert early["promised"]["error_regret"] >= early["proved"]
    assert early["promised"]["epsilon"] == pytest.approx(0.1 - early["fair_at"])
    assert late["promised"] is None
    assert "Look at the limit that is proved from what happened instead." in late["sentence"]
    assert regret(Fold().state)["proved"] is None
    growing = regret(played(0, penalty="growing").state)
    assert growing["fair_at"] is None
    assert growing["observed"] is not None


def test_no_limit_of_violations_follows_from_prices_that_change():
    assert violations_limit(played(0).state) is None
    growing = played(0, penalty="growing").state
    assert violations_limit(growing) >= growing.totals.reported


@pytest.mark.parametrize("costs", [(1.0, 1.0), (2.0, 1.0)])
def test_one_answer_for_everybody_is_counted_and_not_read_off_a_learner_that_forgets(costs):
    fold = played(2, costs=costs)
    y = transcript(fold.events, fold.state).y
    assert np.isnan(y).any()
    assert constant_error(fold.state) == min(costs[1] * (y == 1).sum(), costs[0] * (y == 0).sum())


def test_policies_are_compared_with_those_that_are_fair_at_half_of_the_level():
    assert fair_at(Fold(loans(alpha=0.2, margin=0.1)).state) == pytest.approx(0.05)
