"""Certificates: on random plays none claims more than the simulator knows; what they rest on; how they read."""

from __future__ import annotations

import io
import json
import math
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from rich.console import Console
from scipy import stats
from sklearn.linear_model import LogisticRegression

import likewise as lw
from games import EveryPair, Town, alike, best_fair_error, count, two_people, two_people_class
from likewise import theory
from likewise.certificates import Claim, brackets
from likewise.certificates.shown import ShownPeople
from likewise.errors import InvalidParameter

TOWN = Town(k=3)
ALPHA = 0.3


class Forgetful:
    """Another auditor who does not look at every fifth round."""

    marks_false = True

    def __init__(self, auditor):
        self.auditor, self.alpha, self.margin = auditor, auditor.alpha, auditor.margin

    def audit(self, batch, probabilities, key):
        return lw.SKIPPED if key.t % 5 == 0 else self.auditor.audit(batch, probabilities, key)

    def facts(self):
        return self.auditor.facts()


# Two hundred plays: the certificate of the regret against exact programs with the true distance ----------------------

CUTS = lw.Thresholds.quantiles(TOWN.X, cuts=3)
GRID = lw.Cells.grid(TOWN.X, bins=2)
LEARNERS = {
    "exponential weights": lambda T: lw.ExponentialWeights(CUTS, T=T, k=3),
    "hedge": lambda T: lw.Hedge(CUTS, T=T, k=3, costs=(0.7, 1.3)),
    "hedge over cells": lambda T: lw.Hedge(GRID, T=T, k=3),
    "adahedge, fixed": lambda T: lw.AdaHedge(CUTS, T=T, k=3, penalty=2.0),
    "adahedge, scheduled": lambda T: lw.AdaHedge(CUTS, T=T, k=3, alpha=ALPHA, penalty=lw.Scheduled(2.0, 0.05)),
    "adahedge, tilted": lambda T: lw.AdaHedge(GRID, k=3, penalty=lw.Tilted(0.1, floor=0.5)),
    "follow the leader": lambda T: lw.FollowTheLeader(CUTS, penalty=3.0),
    "ftpl over cells": lambda T: lw.ContextFTPL(GRID, T=T, k=3, noise_scale=0.05, penalty=2.0),
}
AUDITORS = {
    "worst": lambda: lw.MetricAuditor(TOWN.near, ALPHA),
    "first, with a margin": lambda: lw.MetricAuditor(TOWN.near, ALPHA, choose="first", margin=0.2),
    "random, with a margin": lambda: lw.MetricAuditor(TOWN.near, ALPHA, choose="random", margin=0.1),
    "drifting": lambda: lw.DriftingAuditor(TOWN.drifting, ALPHA),
    "false reports": lambda: lw.NoisyAuditor(lw.MetricAuditor(TOWN.near, ALPHA), misses=0.2, false_reports=0.4),
    "every pair, with a margin": lambda: EveryPair(TOWN.near, ALPHA, margin=0.15),
    "every pair, and false ones": lambda: EveryPair(TOWN.near, ALPHA, lies=0.5),
}


def claims(name, seed):
    """For one random play: (true regret, by_reports, by_lagrangian) for every ε of the certificate."""
    kind = list(AUDITORS)[seed % len(AUDITORS)]
    auditor = AUDITORS[kind]()
    auditor = Forgetful(auditor) if seed % 2 else auditor
    T = 30 + seed
    people = TOWN.gappy() if seed % 3 == 0 else TOWN.iid()
    t = lw.play(LEARNERS[name](T), people, auditor, T, seed=seed)
    alpha = (ALPHA, 0.1, 0.5)[seed % 3]
    found = lw.certify(t, alpha).regret
    # One program for all levels; α − ε may be −1e-17 in floating point.
    levels = [max(0.0, alpha - r.epsilon) for r in found]
    distance = TOWN.drifting if kind == "drifting" else TOWN.near
    exact = lw.frontier(t, distance, levels, drifting=True).errors[::-1]
    return t, np.array([(t.errors.sum() - e, r.by_reports, r.by_lagrangian) for e, r in zip(exact, found, strict=True)])


@pytest.mark.parametrize("name", LEARNERS)
def test_no_certificate_claims_more_than_the_truth_about_the_regret(name):
    """25 plays for each of 8 learners; every auditor, smaller batches, missing labels, rounds that nobody reviewed."""
    close, apart, reports = 0, 0, 0
    for seed in range(25):
        t, found = claims(name, seed)
        truth, by_reports, by_lagrangian = found.T
        assert (truth <= by_reports + 1e-6).all(), seed
        assert (by_reports <= by_lagrangian + 1e-6).all(), seed
        assert (np.diff(found, axis=0) <= 1e-6).all()  # stricter policies are easier to match
        reports += int(t.reported.sum())
        close += bool((by_reports - truth < 0.2 * len(t.y)).any())
        apart += bool((by_lagrangian - by_reports > 1.0).any())
    # The claims are close enough to the truth that a wrong one would be seen.
    assert reports > 90
    assert close > 5
    assert apart > 5


def test_the_regrets_truth_is_also_that_of_scipy_with_every_row():
    t = lw.play(LEARNERS["adahedge, fixed"](50), TOWN.iid(), AUDITORS["worst"](), 50)
    answers = CUTS.predict_rows(t.rows)
    for r in lw.certify(t).regret[::5]:
        exact = best_fair_error(t, answers, TOWN.near, max(0.0, ALPHA - r.epsilon))
        assert count(t, answers).error - exact <= r.by_reports + 1e-6
        assert r.by_reports <= count(t, answers).regret - r.epsilon * t.penalty_paid + 1e-6
        assert r.by_lagrangian == pytest.approx(count(t, answers).regret - r.epsilon * t.penalty_paid)
        assert r.best == r.by_reports


def test_each_row_of_the_reports_program_is_what_a_report_proves():
    """Two people, d = 0: a report with gap g proves that a policy of Q_{α−ε} keeps them within g − ε."""
    F = two_people_class()
    t = lw.play(lw.AdaHedge(F, k=2, penalty=1.0), two_people(F), lw.MetricAuditor(alike, 0.2), 40)
    smallest = t.gaps[t.reported].min()
    for r in lw.certify(t).regret:
        assert r.by_reports == pytest.approx(t.errors.sum() - 40 * (1 - (smallest - r.epsilon)), abs=1e-6)


def test_false_reports_cost_what_they_can_have_done_at_most():
    """C(1 − gap) for each; without it the claim of the Lagrangian would be wrong on this play."""
    F = two_people_class()
    far = lw.MetricAuditor(lambda view: 1.0 - np.eye(len(view)), 0.1)
    t = lw.play(lw.AdaHedge(F, k=2, penalty=20.0), two_people(F), lw.NoisyAuditor(far, false_reports=1.0), 60)
    assert t.false.all()
    truth = t.errors.sum() - lw.best_in_hindsight(t, lambda view: 1.0 - np.eye(len(view)), 0.1).error
    (first, *_, last) = lw.certify(t).regret
    assert t.lagrangian_regret < truth <= first.by_reports <= first.by_lagrangian
    assert (
        last.by_lagrangian == first.by_lagrangian == pytest.approx(t.lagrangian_regret + 20 * (1 - t.pair_gaps).sum())
    )


def test_a_class_that_is_only_reached_by_fitting_gets_no_claim_about_regret():
    F = lw.EstimatorClass(LogisticRegression(), pool=TOWN.X)
    t = lw.play(lw.SmoothedFTPL(F, k=3, draws=2), TOWN.iid(), lw.MetricAuditor(TOWN.near, ALPHA), 8)
    certificate = lw.certify(t)
    assert {(r.by_reports, r.by_lagrangian) for r in certificate.regret} == {(None, None)}
    assert "Nothing is proved" in certificate.appendix()
    assert "mixture" not in str(certificate)
    json.dumps(certificate.to_dict(), allow_nan=False)
    assert isinstance(certificate.plot(), Figure)


def test_a_class_without_constants_is_certified_by_its_lagrangian_regret():
    F = lw.FiniteClass([lambda X: X[:, 0] > 0.5, lambda X: X[:, 0] <= 0.5], constants=())
    t = lw.play(lw.AdaHedge(F, k=3, penalty=2.0), TOWN.iid(), lw.MetricAuditor(TOWN.near, ALPHA), 50)
    for r in lw.certify(t).regret:
        best = lw.best_in_hindsight(t, TOWN.near, max(0.0, ALPHA - r.epsilon)).error
        assert r.by_reports is None
        assert t.errors.sum() - best <= r.best == r.by_lagrangian


# Five hundred i.i.d. plays over twelve people: every claim about new people is a number that can be counted ----------

PLAYS, ROUNDS, STRICT, DELTA = 500, 30, 0.1, 0.2
TWELVE = np.random.default_rng(12).random((12, 2))
LABELS = (TWELVE[:, 0] + 0.2 * np.random.default_rng(13).standard_normal(12) > 0.5).astype(float)
AT_MOST = stats.binom.ppf(0.999, PLAYS, DELTA)


class Watched(lw.IID):
    """Independent people; remembers what every deployed policy gave to the whole population."""

    sees_policy = True

    def __init__(self, *people, **options):
        super().__init__(*people, **options)
        self.seen = []

    def batch(self, key, previous, policy):
        self.seen.append(policy.at(self._rows))
        return super().batch(key, previous, None)


def near(view):
    return np.abs(view[:, 1, None] - view[:, 1]) / 5


def beyond(chances, alpha):
    """The exact chance that two independent people are treated more than α beyond their distance."""
    gaps = np.abs(chances[..., :, None] - chances[..., None, :])
    return (gaps - near(TWELVE) > np.asarray(alpha)[..., None, None] + 1e-12).mean(axis=(-1, -2))


@cache
def iid_plays():
    """(certificate, Σβ by round, reports by round, π^avg on the population) of each play."""
    F = lw.Thresholds.quantiles(TWELVE, cuts=3)
    found = []
    for seed in range(PLAYS):
        learner = [
            lw.AdaHedge(F, k=2, T=ROUNDS, penalty=2.0),
            lw.FollowTheLeader(F, T=ROUNDS, penalty=1.0),
            lw.FollowTheLeader(F, T=ROUNDS),
        ][seed % 3]
        people = Watched(TWELVE, LABELS, k=2)
        t = lw.play(learner, people, lw.MetricAuditor(near, STRICT), seed=seed)
        average = t.average_policy.probability(TWELVE)
        policies = np.array(people.seen)
        assert policies.mean(axis=0) == pytest.approx(average)
        betas = beyond(policies, np.full(ROUNDS, STRICT))
        found.append((lw.certify(t, delta=DELTA), np.cumsum(betas), np.cumsum(t.reported), average))
    return found


@pytest.mark.parametrize("theorem", ["T fixed in advance, sharpened", "at any time", "T fixed in advance, the paper's"])
def test_the_average_policy_is_as_fair_to_new_people_as_certified_for_all_q_at_once(theorem):
    failures, telling = 0, 0
    for certificate, _, _, average in iid_plays():
        (claim,) = [f for f in certificate.redraw.fairness if f.theorem == theorem]
        alphas, betas = certificate.curve(claim)
        true = beyond(np.broadcast_to(average, (ROUNDS, 12)), alphas)
        failures += bool((true > betas + 1e-12).any())
        telling += bool(((betas < 0.9) & (true > 0)).any())
        assert (claim.alpha, claim.beta) == (alphas[claim.q - 1], betas[claim.q - 1])
        assert certificate.fairness == (), "twelve people came many times"
    assert failures <= AT_MOST
    # The claim says something where there is something to say, or it could not fail.
    assert telling > (0 if "paper" in theorem else PLAYS / 25)


def test_the_sum_of_betas_is_within_its_limits_as_often_as_claimed():
    limit = np.array([theory.sum_of_betas_anytime(v, DELTA) for v in range(ROUNDS + 1)])
    fixed = np.array([theory.sum_of_betas(v, ROUNDS, DELTA) for v in range(ROUNDS + 1)])
    above_fixed, ever_above, above_reports = 0, 0, 0
    for certificate, betas, reports, _ in iid_plays():
        above_fixed += bool(betas[-1] > fixed[reports[-1]])
        ever_above += bool((betas > limit[reports]).any())
        above_reports += bool(betas[-1] > reports[-1])
        assert certificate.reports == reports[-1]
    assert above_fixed <= AT_MOST
    assert ever_above <= AT_MOST
    assert above_reports > AT_MOST  # the number of reports alone is no limit


def test_errors_on_another_draw_are_exact_or_within_their_limit_as_often_as_claimed():
    wrong, naive, exact = 0, 0, 0
    for certificate, _, _, average in iid_plays():
        chance = np.abs(average - LABELS).mean()
        assert certificate.redraw.rows == 12
        assert certificate.error_on_new_people is None
        exact += certificate.redraw.exact
        assert not certificate.redraw.exact or certificate.redraw.error == pytest.approx(chance)
        wrong += bool(chance > certificate.redraw.error + 1e-12)
        naive += bool(chance > certificate.error / certificate.draws)
        assert certificate.redraw.error < 0.7
    assert wrong <= AT_MOST < naive
    assert exact > 0


def test_unequal_costs_enter_the_limit_of_errors_on_new_people():
    """All costs doubled: all errors, and the limit, are doubled."""
    F = lw.Thresholds.quantiles(TWELVE, cuts=3)
    limits = []
    for costs in [(1.0, 1.0), (2.0, 2.0)]:
        learner = lw.FollowTheLeader(F, T=ROUNDS, costs=costs)
        t = lw.play(learner, TOWN.newcomers(0), lw.MetricAuditor(TOWN.near, ALPHA))
        limits.append(lw.certify(t).error_on_new_people)
    assert limits[1] == pytest.approx(2 * limits[0])


def test_rounds_that_showed_nothing_count_as_violations():
    t = play_of("skipped")
    certificate = lw.certify(t)
    assert certificate.unseen == 10
    assert certificate.reports == t.reported.sum()
    (sharp,) = [f for f in certificate.fairness if f.theorem.endswith("sharpened")]
    assert sharp.sum_of_betas == theory.sum_of_betas(certificate.reports + 10, 50, 0.05 / 3)


# What the auditor's answers say about the distance -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["array", "dataframe"])
@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_brackets_hold_the_true_distance_of_a_truthful_auditor(margin, kind):
    view = TWELVE if kind == "array" else pd.DataFrame(TWELVE, columns=["a", "b"]).assign(town=list("xyz") * 4)

    def distance(view):
        return near(np.asarray(view)[:, :2].astype(float))

    F = lw.Thresholds.quantiles(TWELVE, cuts=3)
    auditor = lw.MetricAuditor(distance, ALPHA, margin=margin)
    people = lw.IID(TWELVE, LABELS, k=3, view=view)
    t = lw.play(lw.AdaHedge(F, k=3, penalty=2.0), people, auditor, 300)
    found = brackets(t)
    pairs = {}
    for i, reports in enumerate(t.reports):
        for report in reports:
            seen = np.asarray(t.view_of(i))
            pairs.setdefault((seen[report.favoured, 0], seen[report.disfavoured, 0]), []).append(t.gaps[i])
    assert len(found) == len(pairs) >= 5
    assert sum(b.lower > 0 for b in found) >= 3
    for b in found:
        seen = t.view_of(b.round - 1)
        d = distance(seen)[b.favoured, b.disfavoured]
        assert b.lower <= d + 1e-12 < b.upper
        both = tuple(np.asarray(seen)[[b.favoured, b.disfavoured], 0])
        assert b.upper == pytest.approx(min(pairs[both]) - (ALPHA - margin))
        assert (b.cleared is None) == (b.lower == 0)
        assert b.cleared is None or t.reviewed[b.cleared - 1]
        assert b.cleared is None or not t.reported[b.cleared - 1]
        assert not b.contradicts


def changing_mind(turn):
    """Two people, alike in some rounds and not at all in the others, and a policy that sets them apart in all."""
    F = two_people_class()
    auditor = lw.DriftingAuditor(lambda view, t: alike(view) + turn(t), 0.1)
    return lw.play(lw.FollowTheLeader(F, T=20), two_people(F), auditor)


@pytest.mark.parametrize("turn", [lambda t: t > 10, lambda t: t <= 10])
def test_an_auditor_who_changes_their_mind_contradicts_themselves(turn):
    t = changing_mind(turn)
    certificate = lw.certify(t)
    (bracket,) = certificate.contradictions
    assert bracket.lower >= bracket.upper
    assert not turn(bracket.round)
    assert turn(bracket.cleared)
    assert t.gaps[bracket.round - 1] - 0.1 == pytest.approx(bracket.upper)
    assert "contradict each other: the pair reported" in certificate.appendix()
    assert f"round {bracket.round} was let pass in round {bracket.cleared}" in " ".join(certificate.appendix().split())


def test_an_auditor_who_keeps_their_mind_never_contradicts_themselves():
    brackets = 0
    for seed in range(20):
        t = lw.play(LEARNERS["adahedge, fixed"](60), TOWN.iid(), AUDITORS["worst"](), 60, seed=seed)
        certificate = lw.certify(t)
        assert certificate.contradictions == ()
        brackets += len(certificate.brackets)
    assert brackets > 0, "or nothing was compared"


VIEWS = {
    "numbers": np.array([[1.0], [0.0]]),
    "text": np.array([["a"], ["b"]]),
    "objects": np.array([["a", 1.5], ["b", 1.5]], dtype=object),
    "dataframe": pd.DataFrame({"name": ["a", "b"], "age": [1.5, 1.5]}),
}


@pytest.mark.parametrize("kind", VIEWS)
def test_people_whom_the_auditor_can_not_tell_apart_are_one_person(kind):
    """Four people, two by two alike in the view: whoever of them was reported, it is one pair."""
    X, y = np.array([[1.0], [2.0], [0.0], [-1.0]]), np.array([1, 1, 0, 0])
    view = VIEWS[kind]
    view = view.iloc[[0, 0, 1, 1]] if kind == "dataframe" else view[[0, 0, 1, 1]]
    t = lw.play(lw.AdaHedge(lw.Thresholds([[0.5]]), k=4, penalty=1.0), lw.IID(X, y, k=4, view=view),
                lw.MetricAuditor(alike, 0.1, choose="random"), 40)  # fmt: skip
    assert t.reported.sum() > 5
    assert len(np.unique(t.rows[t.pair_people[:, 0]], axis=0)) == 1
    (bracket,) = lw.certify(t).brackets
    assert bracket.upper == pytest.approx(t.gaps[t.reported].min() - 0.1)


# Assumptions --------------------------------------------------------------------------------------------------------

TRUTH, LABELLED, DRAWN, EXHAUSTIVE, FIXED, REVIEWED, HORIZON, ONCE, MADE = range(9)


def play_of(case):
    """Fifty rounds of Hedge, with one thing changed."""
    F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
    metric = lw.MetricAuditor(TOWN.near, ALPHA)
    quiet = Console(file=io.StringIO())
    rounds = [(TOWN.X[i : i + 3], TOWN.y[i : i + 3]) for i in range(30)] * 2
    fresh = [(X, y) for (X, y), _ in zip(TOWN.newcomers(1).source, range(50), strict=False)]
    missing = [(X, np.where(np.arange(3) < 1, np.nan, y)) for X, y in fresh]
    environment = {
        "stream": lw.Stream(rounds, k=3),
        "stream said to be i.i.d.": lw.Stream(rounds, k=3, iid=True),
        "adversary": lw.Adversary(lambda moment: rounds[moment.t], k=3, sees_policy=False),
        "missing labels": lw.Stream(missing, k=3, iid=True),
        "one person": lw.Stream([(X[:1], y[:1]) for X, y in fresh], k=1, iid=True),
        "drawn again": TOWN.iid(),
    }.get(case, lw.Stream(fresh, k=3, iid=True))
    auditor = {
        "script": lw.ScriptedAuditor([None] * 50, ALPHA),
        "person": lw.AskAuditor(ALPHA, ask=lambda prompt: "", console=quiet),
        "drifting": lw.DriftingAuditor(TOWN.drifting, ALPHA),
        "misses": lw.NoisyAuditor(metric, misses=0.5),
        "false reports": lw.NoisyAuditor(metric, false_reports=0.5),
        "skipped": Forgetful(metric),
    }.get(case, metric)
    if case == "changed mind":
        return changing_mind(lambda t: t > 10)
    learner = lw.AdaHedge(F, k=3, alpha=ALPHA) if case == "no horizon" else lw.Hedge(F, T=50, k=3, penalty=1.0)
    return lw.play(learner, environment, auditor, 30 if case == "stopped early" else 50)


STATUSES = {
    "all kept": {},
    "stream": {DRAWN: "not checkable", ONCE: "not checkable"},
    "drawn again": {ONCE: "broken"},
    "stream said to be i.i.d.": {},
    "adversary": {DRAWN: "broken", ONCE: "not checkable"},
    "script": {TRUTH: "not checkable", EXHAUSTIVE: "not checkable", FIXED: "not checkable"},
    "person": {TRUTH: "not checkable", EXHAUSTIVE: "not checkable", FIXED: "not checkable"},
    "drifting": {FIXED: "broken"},
    "changed mind": {DRAWN: "broken", FIXED: "broken", ONCE: "not checkable"},
    "misses": {EXHAUSTIVE: "broken"},
    "false reports": {TRUTH: "broken"},
    "missing labels": {LABELLED: "broken"},
    "stopped early": {HORIZON: "broken"},
    "no horizon": {HORIZON: "not checkable"},
}


@pytest.mark.parametrize("case", STATUSES)
def test_assumptions_are_kept_broken_or_not_checkable_as_the_play_was(case):
    certificate = lw.certify(play_of(case))
    expected = [(STATUSES[case] | {MADE: "not checkable"}).get(i, "kept") for i in range(9)]
    assert [a.status for a in certificate.assumptions] == expected
    needed = [Claim.REGRET, Claim.REGRET, *[Claim.FAIRNESS] * 4]
    assert all(claim in a.needed_for for claim, a in zip(needed, certificate.assumptions, strict=False))
    needed = [Claim.ERRORS in a.needed_for for a in certificate.assumptions]
    assert needed == [False, True, True, *[False] * 4, True, True]
    for status in ("kept", "broken", "not checkable"):
        assert (f"[{status}]" in certificate.appendix()) == (status in expected)


def test_a_play_that_goes_on_to_its_horizon_keeps_it():
    F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
    learner, auditor = lw.Hedge(F, T=50, k=3), lw.MetricAuditor(TOWN.near, ALPHA)
    first = lw.play(learner, TOWN.iid(), auditor, 20)
    second = lw.play(learner, TOWN.iid(), auditor, state=first.state)
    assert lw.certify(first).assumptions[HORIZON].status == "broken"
    assert lw.certify(first + second).assumptions[HORIZON].status == "kept"


def test_rounds_that_nobody_reviewed_are_counted_and_said_and_never_called_reviewed():
    certificate = lw.certify(play_of("skipped"))
    said = " ".join(certificate.appendix().split())
    assert "10" in certificate.assumptions[REVIEWED].detail
    assert "10 rounds showed nothing" in said
    assert "10 rounds showed nothing" in " ".join(str(certificate).split())
    assert "[kept] every round was reviewed" not in said


def test_batches_of_one_person_prove_nothing_about_pairs():
    certificate = lw.certify(play_of("one person"))
    assert certificate.unseen == 50
    assert all(f.beta == 1.0 for f in certificate.fairness)
    assert "too short, or had too many violations, to claim anything" in " ".join(certificate.appendix().split())
    assert "Nothing is claimed about unfair pairs of new people." in " ".join(str(certificate).split())


# How it reads -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [*STATUSES, "skipped", "one person"])
def test_letter_and_appendix_fit_88_columns_and_hold_the_numbers(case):
    t = play_of(case)
    certificate = lw.certify(t)
    for text in (str(certificate), certificate.appendix(), certificate.appendix(ShownPeople.seen(t))):
        assert max(len(line) for line in text.splitlines()) <= 88
    said = " ".join(certificate.appendix().split())
    known = np.isfinite(t.y)
    errors = np.abs(t.shown - t.y)[known]
    assert f"Appendix: a play of {t.rounds} rounds." in said
    assert f"here α = {t.alpha:g}. Each claim from the play about people who were not in it holds with 95%" in said
    draws = f"{known.sum()} draws of {certificate.people} people" if case == "drawn again" else f"{known.sum()} people"
    assert f"Over {draws} with a known label the policies made {errors.mean():.3f} errors" in said
    late = int(t.violations[3 * t.rounds // 4 :].sum())
    assert f"reported a pair in {t.reported.sum()} rounds; {t.violations.sum()} count as violations, " in said
    assert f"violations, {late} of them in the last quarter" in said
    for regret in (certificate.regret[0].best, certificate.regret[-1].best):
        # A limit is rounded away from what it claims.
        limit = f"saved at most {math.ceil(regret)} errors" if regret >= 0 else f"at least {math.floor(-regret)} more"
        assert limit in said
    for assumption in certificate.assumptions:
        assert f"[{assumption.status}] {assumption.name}" in said


NOTHING_FAIR = {"drawn again", "adversary", "drifting", "changed mind", "misses"}
NOTHING_ERRORS = {"drawn again", "adversary", "changed mind", "missing labels"}


@pytest.mark.parametrize("case", STATUSES)
def test_the_appendix_claims_nothing_where_an_assumption_is_broken(case):
    certificate = lw.certify(play_of(case))
    paragraphs = {p.split(".")[0]: " ".join(p.split()) for p in certificate.appendix().split("\n\n")}
    fair, errors = paragraphs["Fairness to new people"], paragraphs["Errors on new people"]
    assert ("Nothing can be claimed" in fair) == (case in NOTHING_FAIR)
    assert ("Nothing can be claimed" in errors) == (case in NOTHING_ERRORS)
    for claim, text, silent in [(Claim.FAIRNESS, fair, NOTHING_FAIR), (Claim.ERRORS, errors, NOTHING_ERRORS)]:
        if case in silent:
            assert any(a.name in text for a in certificate.rests_on(claim, "broken"))
        else:
            assert all(a.name in text for a in certificate.rests_on(claim, "not checkable"))


def test_a_play_that_stopped_early_is_judged_by_the_limit_that_holds_at_any_time():
    """200 of 400 quiet rounds: the anytime limit is claimed although another theorem's would be the first."""
    F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
    far = lw.MetricAuditor(lambda view: 1.0 - np.eye(len(view)), ALPHA)
    t = lw.play(lw.Hedge(F, T=400, k=3), TOWN.newcomers(0), far, 200)
    certificate = lw.certify(t)
    (anytime,) = certificate.fairness
    said = " ".join(certificate.appendix().split())
    assert f"more than {math.ceil(1000 * anytime.alpha) / 1000:.3f} beyond their distance" in said
    assert "“at any time”" in said
    assert anytime.sum_of_betas == theory.sum_of_betas_anytime(0, 0.05 / 3)


def test_the_best_theorem_comes_first_at_its_best_q():
    certificate = lw.certify(play_of("all kept"), delta=0.1)
    assert sorted(f.theorem[:3] for f in certificate.fairness) == ["T f", "T f", "at "]
    scores = []
    for f in certificate.fairness:
        alphas, betas = certificate.curve(f)
        scores.append(max(f.alpha - ALPHA, f.beta))
        assert scores[-1] == pytest.approx(np.maximum(alphas - ALPHA, betas).min())
        assert (alphas[f.q - 1], betas[f.q - 1]) == pytest.approx((f.alpha, f.beta))
    assert scores == sorted(scores)


@pytest.mark.parametrize("case", ["all kept", "person", "missing labels", "changed mind", "one person"])
def test_a_certificate_is_plain_json(case):
    certificate = lw.certify(play_of(case))
    data = certificate.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    for name in ("alpha", "delta", "rounds", "draws", "people", "error", "reports", "violations", "unseen"):
        assert data[name] == getattr(certificate, name)
    assert data["error_on_new_people"] == certificate.error_on_new_people
    assert [r["by_reports"] for r in data["regret"]] == [r.by_reports for r in certificate.regret]
    assert [a["status"] for a in data["assumptions"]] == [a.status for a in certificate.assumptions]
    assert [b["contradicts"] for b in data["brackets"]] == [b.contradicts for b in certificate.brackets]
    assert len(data["brackets"]) == len(certificate.brackets)
    assert [f["theorem"] for f in data["fairness"]] == [f.theorem for f in certificate.fairness]


def test_a_saved_play_has_the_same_certificate(tmp_path):
    t = play_of("skipped")
    t.save(tmp_path / "play.npz")
    again = lw.certify(lw.Transcript.load(tmp_path / "play.npz"))
    assert again.to_dict() == lw.certify(t).to_dict()
    assert str(again) == str(lw.certify(t))


def test_the_picture_shows_both_claims_with_labels():
    certificate = lw.certify(play_of("all kept"))
    figure = certificate.plot()
    assert isinstance(figure, Figure)
    left, right = figure.axes
    assert left.get_xlabel().startswith("ε")
    assert right.get_xlabel().startswith("α'")
    assert all(axes.get_title(loc="left") for axes in figure.axes)
    lines = {line.get_label(): line for line in left.get_lines()}
    assert lines["by the reports"].get_ydata().tolist() == [r.by_reports for r in certificate.regret]
    assert lines["by the Lagrangian regret"].get_xdata().tolist() == [r.epsilon for r in certificate.regret]
    curves = {line.get_label(): line for line in right.get_lines()}
    for f in certificate.fairness:
        alphas, betas = certificate.curve(f)
        assert curves[f.theorem].get_xdata().tolist() == alphas.tolist()
        assert curves[f.theorem].get_ydata().tolist() == betas.tolist()


def test_epsilon_runs_from_0_to_the_level_that_is_asked_for():
    t = play_of("all kept")
    assert [r.epsilon for r in lw.certify(t).regret] == pytest.approx(np.linspace(0, ALPHA, 11))
    assert [r.epsilon for r in lw.certify(t, alpha=0.1).regret] == pytest.approx(np.linspace(0, 0.1, 11))


@pytest.mark.parametrize(("name", "options"), [("alpha", {"alpha": 1.2}), ("delta", {"delta": 1.0})])
def test_bad_input_is_refused_by_the_name_of_the_argument(name, options):
    with pytest.raises(InvalidParameter, match=f"`{name}` must"):
        lw.certify(play_of("all kept"), **options)


# What a claim must not hide ---------------------------------------------------------------------------------------


def test_joining_plays_keeps_only_what_is_known_of_both():
    """An i.i.d. start with a written distance must not vouch for what a person saw of an adversary's people later."""
    F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
    learner = lw.Hedge(F, T=20, k=3)
    first = lw.play(learner, TOWN.iid(), lw.MetricAuditor(TOWN.near, ALPHA), 10)
    people = lw.Adversary(lambda moment: (TOWN.X[:3], [0, 1, 0]), k=3, sees_policy=True)
    second = lw.play(learner, people, lw.ScriptedAuditor({}, ALPHA), 10, state=first)
    statuses = [a.status for a in lw.certify(first + second).assumptions]
    assert statuses[DRAWN] == "broken"
    assert statuses[TRUTH] == statuses[EXHAUSTIVE] == statuses[FIXED] == "not checkable"


def test_costs_are_not_called_errors_or_chances():
    F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
    t = lw.play(lw.Hedge(F, T=40, k=3, costs=(0.1, 0.1)), TOWN.newcomers(), lw.MetricAuditor(TOWN.near, ALPHA))
    certificate = lw.certify(t)
    said, short = " ".join(certificate.appendix().split()), " ".join(str(certificate).split())
    for text in (said, short):
        assert re.search(r"the policies\s+cost\s+\d", text)
        assert "errs on a new person" not in text
    assert "an expected cost of errors per person of at most" in said
    assert "an expected cost per new person of at most" in short


def test_the_comparison_is_with_mixtures_of_the_class_and_says_so():
    assert "any fixed mixture of the class's" in " ".join(lw.certify(play_of("all kept")).appendix().split())


def test_noise_around_a_person_does_not_make_them_a_written_distance():
    script = lw.ScriptedAuditor([None] * 20, ALPHA)
    F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
    t = lw.play(lw.Hedge(F, T=20, k=3), TOWN.iid(), lw.NoisyAuditor(script, misses=0.1))
    assert lw.certify(t).assumptions[TRUTH].status == "not checkable"


def test_a_broken_claim_is_nowhere_in_the_certificate():
    certificate = lw.certify(play_of("drifting"))
    assert certificate.to_dict()["fairness"] == []
    left, right = certificate.plot().axes
    assert len(left.lines) > 1
    assert [text.get_text() for text in right.texts] == ["nothing can be claimed"]
