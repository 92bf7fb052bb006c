"""Certificates of plays whose learner saw the labels of accepted people only, or whose auditor saw decisions only."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import likewise as lw
from likewise.certificates.accounts import Accounts, hidden
from likewise.certificates.assumptions import NAMES, Claim, Status

T, K = 250, 4


@pytest.fixture(scope="module")
def people():
    return lw.datasets.synthetic(1500)


@pytest.fixture(scope="module")
def F(people):
    return lw.Thresholds.quantiles(people.features, cuts=6)


def played(people, F, *, wrap=True, auditor=None, seed=0, costs=(1.0, 1.0), order="draws", **options):
    alpha = 0.1 if auditor is None else auditor.alpha
    learner = lw.AdaHedge(F, k=K, alpha=alpha, T=T, costs=costs)
    learner = lw.OneSided(learner, **options) if wrap else learner
    environment = lw.IID(people.features, people.y, k=K, view=people.view, order=order)
    auditor = lw.MetricAuditor(people.distance, alpha=0.1) if auditor is None else auditor
    return lw.play(learner, environment, auditor, seed=seed, labels="accepted")


@pytest.fixture(scope="module")
def t(people, F):
    return played(people, F)


def forgetful(t):
    """The same play by somebody who never learns the labels of refused people."""
    return dataclasses.replace(t, y=np.where(t.unseen, np.nan, t.y))


def test_labels_that_nobody_saw_change_nothing(t):
    known, unknown = lw.certify(t).to_dict(), lw.certify(forgetful(t)).to_dict()
    assert t.unseen.any()
    assert known == unknown


def test_the_weights_are_what_the_learner_was_fed(people, F):
    t = played(people, F, costs=(2.0, 1.0))
    learner = lw.OneSided(lw.AdaHedge(F, k=K, alpha=0.1, T=T, costs=(2.0, 1.0)))
    state, fed = learner.init(), []
    for seen in t:
        estimate = learner.estimate(state)
        assert estimate == seen.estimate
        fed.append(
            lw.reduction.estimated_weights(seen.batch.y, seen.decisions, seen.probabilities, estimate, (2.0, 1.0))
        )
        state = learner.update(state, seen)
    assert np.array_equal(Accounts(t).weights, np.concatenate(fed))
    assert np.array_equal(state.losses, t.state.losses)


@pytest.mark.parametrize("options", [{}, {"doubt": 0.5}, {"doubt": 0.0}, {"safe": True}], ids=str)
def test_no_fair_policy_has_an_estimated_error_lower_by_more_than_the_limit(people, F, options):
    """Against the exact best policy of Q_{α−ε} on the estimated losses, which knows the distance."""
    t = played(people, F, seed=3, **options)
    accounts, certificate = Accounts(t), lw.certify(t)
    for limit in (certificate.regret[0], certificate.regret[5], certificate.regret[-1]):
        best = _best_fair(F, t, accounts.weights, people.distance, 0.1 - limit.epsilon)
        for value in (limit.by_reports, limit.by_lagrangian, limit.by_prices):
            assert accounts.paid - best <= value + 1e-6


def _best_fair(F, t, weights, distance, alpha):
    """min Σ ŝ q over mixtures q that keep every pair of every batch within d + α, by SciPy's linear program."""
    from scipy.optimize import linprog

    predictions = F.predict_rows(t.rows).astype(float)
    rows, limits = [], []
    for i in range(t.rounds):
        d = np.asarray(distance(t.view_of(i)))
        for a in range(len(d)):
            for b in range(len(d)):
                if a != b and d[a, b] + alpha < 1:
                    at = int(t.starts[i])
                    rows.append(predictions[:, at + a] - predictions[:, at + b])
                    limits.append(d[a, b] + alpha)
    keep = np.unique(np.column_stack([rows, limits]), axis=0)
    found = linprog(
        predictions @ weights, A_ub=keep[:, :-1], b_ub=keep[:, -1], A_eq=np.ones((1, len(predictions))), b_eq=[1.0]
    )
    assert found.success
    return found.fun


def test_the_lead_of_a_constant_is_that_of_a_second_count(t):
    accounts = Accounts(t)
    ours = ones = 0.0
    most = -np.inf
    for i in range(t.rounds):
        people = slice(int(t.starts[i]), int(t.starts[i + 1]))
        ours += float(accounts.weights[people] @ accounts.own[people])
        ones += float(accounts.weights[people].sum())
        most = max(most, ours - min(0.0, ones))
    assert accounts.behind_constant == pytest.approx(most)


def test_the_safety_corollary_holds_of_the_estimates(people, F):
    for seed in range(5):
        t = played(people, F, seed=seed, wrap=True)
        learner = lw.OneSided(lw.AdaHedge(F, k=K, alpha=0.1, T=T))
        accounts = Accounts(t)
        assert accounts.paid - min(0.0, float(accounts.weights.sum())) <= learner.behind_constant(t.state) + 1e-9


def test_errors_are_estimated_well_and_stay_rates(people, F):
    """The ratio estimate is not unbiased, but close: over some plays within three standard errors of the truth."""
    differences = []
    for seed in range(30):
        t = played(people, F, seed=seed)
        certificate = lw.certify(t)
        assert 0 <= certificate.error / certificate.draws <= 1
        assert 0 <= certificate.constant_error / certificate.draws <= 0.5 + 1e-9
        differences.append(certificate.error / certificate.draws - t.error_per_person)
    assert abs(np.mean(differences)) <= 3 * np.std(differences) / np.sqrt(len(differences)) + 0.005


def test_a_learner_that_ignores_unseen_labels_gets_no_comparison(people, F):
    t = played(people, F, wrap=False)
    certificate = lw.certify(t)
    assert certificate.regret[0].best == np.inf
    assert certificate.behind_constant is None
    assert not certificate.estimated
    broken = certificate.rests_on(Claim.REGRET, Status.BROKEN)
    assert "took no account of it" in broken[0].detail
    assert certificate.refused == t.unseen.sum() > 0


def test_accepted_people_without_an_outcome_are_counted_and_void_what_they_may_hide(people, F):
    y = people.y.copy()
    y[::3] = np.nan
    t = played(dataclasses.replace(people, y=y), F)
    certificate = lw.certify(t)
    assert certificate.unknown == (t.decisions & np.isnan(t.y)).sum() > 0
    assert f"up to {2 * certificate.unknown}" in certificate.rests_on(Claim.REGRET, Status.BROKEN)[0].detail


def test_only_a_safe_learner_has_a_limit_with_confidence(people, F, t):
    assert lw.certify(t).regret_likely is None
    safe = lw.certify(played(people, F, safe=True))
    slack = lw.OneSided(lw.AdaHedge(F, k=K, alpha=0.1, T=T), safe=True)
    ix = slack.estimate(slack.init()).slack
    deviation = lw.theory.safe_deviation(T, K, F.log_size, ix, 0.05)
    assert safe.regret_likely == pytest.approx(safe.regret[0].best + deviation)


# An auditor who sees decisions --------------------------------------------------------------------------------


def test_hidden_rounds_are_estimated_and_limited_by_the_accepted_gaps(people, F):
    auditor = lw.DecisionAuditor(people.distance, alpha=0.05, theta=0.05)
    t = played(people, F, auditor=auditor, seed=1, order="passes")
    certificate = lw.certify(t)
    gaps = t.pair_gaps
    assert certificate.hidden.estimate == pytest.approx((1 / gaps).sum())
    assert certificate.hidden.limit == min(T, lw.theory.hidden_limit((1 / gaps).sum(), t.level, 0.05))
    assert certificate.hidden.limit >= (t.violating > 0).sum()
    assert [a.status for a in certificate.assumptions if a.name == NAMES] == [Status.KEPT]
    assert not any(bracket.cleared for bracket in certificate.brackets), "silence proves nothing here"


def test_hidden_rounds_of_a_person_are_taken_as_persistent_and_say_so(people, F):
    auditor = lw.DecisionAuditor(people.distance, alpha=0.05, theta=0.05)
    t = played(people, F, auditor=auditor)
    person = dataclasses.replace(t.facts, auditor=lw.AuditorFacts("a person", sees="decisions"))
    of_a_person = dataclasses.replace(t, facts=person)
    assert hidden(of_a_person, 0.05) == hidden(t, 0.05)
    assert [a.status for a in lw.certify(of_a_person).assumptions if a.name == NAMES] == [Status.UNCHECKED]


def test_rounds_that_nobody_reviewed_may_all_hold_a_pair(people, F):
    auditor = lw.DecisionAuditor(people.distance, alpha=0.05, theta=0.05)
    t = played(people, F, auditor=auditor)
    unlooked = np.ones(T, dtype=bool)
    unlooked[:7] = t.reported[:7]
    fewer = dataclasses.replace(t, reviewed=unlooked)
    lost = int((~unlooked).sum())
    assert lost > 0
    assert hidden(fewer, 0.05).limit == pytest.approx(min(T, hidden(t, 0.05).limit + lost))


@pytest.mark.parametrize("decisions", [False, True])
@pytest.mark.parametrize("safe", [False, True])
def test_the_letter_is_short_and_says_what_is_an_estimate(people, F, decisions, safe):
    auditor = lw.DecisionAuditor(people.distance, alpha=0.05, theta=0.05) if decisions else None
    certificate = lw.certify(played(people, F, auditor=auditor, safe=safe, order="passes"))
    letter, appendix = " ".join(str(certificate).split()), " ".join(certificate.appendix().split())
    assert len(letter.split()) <= 200
    assert "were refused and their labels are unseen; by estimate from the others" in letter
    assert ("only who got a yes and who a no" in letter) is decisions
    assert ("They saw decisions only" in appendix) is decisions
    assert ("even chosen in hindsight, would truly have saved" in appendix) is safe
    assert "by estimates that are right on average for a mixture named before the play" in appendix


def test_a_play_with_all_labels_is_certified_as_before(people, F):
    learner = lw.AdaHedge(F, k=K, alpha=0.1, T=T)
    environment = lw.IID(people.features, people.y, k=K, view=people.view)
    auditor = lw.MetricAuditor(people.distance, alpha=0.1)
    plain, drawn = (lw.play(learner, environment, auditor, seed=2, lot=lot) for lot in (None, "round"))
    assert np.array_equal(plain.shown, drawn.shown)
    assert lw.certify(plain).to_dict() == lw.certify(drawn).to_dict()
