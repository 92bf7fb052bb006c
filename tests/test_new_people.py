"""Claims about new people: none from people who came again, and none that fresh people refute more often than said."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from games import Town
from likewise.certificates import Claim
from likewise.errors import InvalidParameter
from likewise.experiments import runs
from likewise.experiments.runs import Run, Settings
from likewise.facts import AuditorFacts

ALPHA, DELTA = 0.1, 0.05
TOWN = Town(k=3)
CLAIM = re.compile(
    r"(errs on a new person with|cost of errors per person of at most|treats two random people more than)"
)


def noise(rng, n):
    """Three numbers, and a coin for a label."""
    return rng.random((n, 3)), rng.integers(0, 2, n).astype(float)


def forty(order="draws"):
    return lw.IID(*noise(np.random.default_rng(1), 40), k=6, order=order)


def noise_play(order="draws", seed=0, T=2000):
    F = lw.Thresholds.quantiles(forty().X, cuts=8)
    learner = lw.AdaHedge(F, k=6, alpha=ALPHA, T=T)
    return lw.play(learner, forty(order), lw.MetricAuditor("cityblock", ALPHA), seed=seed)


# Forty rows of noise -----------------------------------------------------------------------------------------------


ORDERS = pytest.mark.parametrize("order", ["draws", "passes"])


def claims_nothing(text):
    words = " ".join(text.split())
    return not CLAIM.search(words) and "12,000 people" not in words


@ORDERS
@pytest.mark.parametrize("seed", range(3))
def test_forty_rows_of_noise_make_no_claim_about_new_people(order, seed):
    c = lw.certify(noise_play(order, seed))
    assert (c.fairness, c.error_on_new_people) == ((), None)
    assert (c.draws, c.people) == (12_000, 40)
    assert claims_nothing(str(c))
    assert claims_nothing(c.appendix())
    assert claims_nothing(json.dumps(c.to_dict()))
    assert "Nothing is claimed about new people. This does not hold: " in " ".join(str(c).split())
    letter = " ".join(c.appendix().split())
    why = {"draws": "the same 40 people were drawn 12,000 times", "passes": "at least 100 people came once (only 36)"}
    for start in ("Fairness to new people.", "Errors on new people."):
        assert f"{start} Nothing can be claimed, because this does not hold:" in letter
    assert letter.count(why[order]) >= 2
    assert "12,000 draws of 40 people" in letter
    assert ("Another draw from these 40 rows." in letter) == (order == "draws")


@ORDERS
def test_neither_a_report_nor_a_caption_claims_what_the_letter_does_not(order, tmp_path):
    t = noise_play(order)
    assert claims_nothing(lw.report.write_report(tmp_path / "report.html", t).read_text())
    figure = lw.figures.certificate_curve(lw.certify(t))
    assert claims_nothing(lw.figures.caption(figure))


def test_what_was_claimed_of_the_noise_before_was_false():
    """So that the test above is about something: the old limit at these forty rows, against the coin's .5."""
    t = noise_play()
    assert lw.theory.accuracy_observed(t.error_per_person, t.rounds, DELTA) < 0.45


def test_a_run_over_a_file_of_noise_writes_no_claim_about_new_people(tmp_path):
    X, y = noise(np.random.default_rng(2), 40)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y.astype(int))
    table.to_csv(tmp_path / "noise.csv", index=False)
    settings = Settings(
        **runs.located(str(tmp_path / "noise.csv")), label="label", compare_by=("a",), k=4, T=500, cuts=6, alpha=ALPHA
    )
    run = Run.start(settings, tmp_path / "run")
    assert run.play()
    result = runs.write_outputs(run, run.transcript())
    assert result["fair_to_new_people"] is None
    assert result["error_on_new_people"] is None
    written = [p for p in (tmp_path / "run").iterdir() if p.suffix in (".txt", ".json", ".html", ".md")]
    assert written
    for path in written:
        assert not CLAIM.search(" ".join(path.read_text().split())), path.name


def test_another_draw_from_the_rows_is_computed_exactly_once_everybody_was_drawn():
    t = noise_play()
    c = lw.certify(t)
    people = forty()
    assert c.redraw.exact
    assert c.redraw.error == pytest.approx(np.abs(t.average_policy.probability(people.X) - people.y).mean())
    some = lw.certify(noise_play(T=5))
    assert 20 < some.people < 30
    assert not some.redraw.exact
    assert some.redraw.error > some.error / some.draws
    few = lw.certify(noise_play(T=1, seed=3))
    assert few.people == few.draws == 6
    assert (few.fairness, few.error_on_new_people, few.redraw) == ((), None, None), "six people are too few"


# Who came ----------------------------------------------------------------------------------------------------------


def of_passes(n, T, k=4, seed=0, **options):
    rng = np.random.default_rng([3, n])
    X = rng.random((n, 2))
    people = lw.IID(X, X[:, 0] > 0.5, k=k, order="passes", **options)
    learner = lw.AdaHedge(lw.Thresholds([[0.2, 0.5, 0.8], [0.4]]), k=k, T=T, penalty=1.0)
    return lw.play(learner, people, lw.MetricAuditor("cityblock", ALPHA), seed=seed)


def test_only_the_first_pass_speaks_for_new_people():
    """The certificate of a play of many passes claims what a play of the first pass alone does."""
    long, once = lw.certify(of_passes(801, 1000)), lw.certify(of_passes(801, 200))
    assert long.rounds_once == once.rounds_once == 200
    assert [f.rounds for f in long.fairness] == [200] * 3
    assert long.fairness == once.fairness
    assert long.error_on_new_people == once.error_on_new_people
    assert long.redraw is None
    letter = " ".join(long.appendix().split())
    assert letter.count("The average policy of the first 200 rounds, in which everybody came for the first time,") == 2
    assert "everybody came for the first time" not in once.appendix()
    assert "The average policy of the first 200 rounds, when everybody was new, errs" in " ".join(str(long).split())
    assert "everybody was new" not in str(once)
    means = of_passes(801, 200).errors / 4
    assert once.error_on_new_people == lw.theory.first_pass_error(means, 4, DELTA)
    alphas, betas = long.curve(long.fairness[0])
    assert len(alphas) == len(betas) == 200


def test_a_part_of_a_play_after_the_first_pass_says_nothing_of_new_people():
    rng = np.random.default_rng(3)
    X = rng.random((400, 2))
    people = lw.IID(X, X[:, 0] > 0.5, k=4, order="passes")
    learner = lw.AdaHedge(lw.Thresholds([[0.2, 0.5], [0.4]]), k=4, alpha=ALPHA, T=300)
    auditor = lw.MetricAuditor("cityblock", ALPHA)
    first = lw.play(learner, people, auditor, 120)
    second = lw.play(learner, people, auditor, 100, state=first)
    assert lw.certify(first).fairness
    assert lw.certify(second).fairness == ()
    assert "was over before these rounds" in str(lw.certify(second))
    assert lw.certify(first + second).fairness == lw.certify(first).fairness


def test_rows_that_are_the_same_make_no_claim_until_ids_tell_people_apart():
    X = np.repeat(np.random.default_rng(4).random((60, 2)), 10, axis=0)
    learner = lw.AdaHedge(lw.Thresholds([[0.2, 0.5], [0.4]]), k=4, alpha=ALPHA, T=150)
    auditor = lw.MetricAuditor("cityblock", ALPHA)
    claims = {}
    for name, ids in [("none", None), ("sixty", np.repeat(np.arange(60), 10)), ("all", np.arange(600))]:
        people = lw.IID(X, X[:, 0] > 0.5, k=4, order="passes", ids=ids)
        claims[name] = lw.certify(lw.play(learner, people, auditor))
    assert claims["none"].fairness == claims["sixty"].fairness == ()
    assert "no ids tell whether they are different people" in " ".join(str(claims["none"]).split())
    assert "at least 100 people came once (only 60)" in " ".join(str(claims["sixty"]).split())
    assert claims["all"].fairness, "as whoever gave the ids vouches for them"


def test_draws_in_which_nobody_happened_to_come_again_are_as_good_as_a_pass():
    X = np.random.default_rng(5).random((10**6, 1))
    learner = lw.AdaHedge(lw.Thresholds([[0.2, 0.5]]), k=4, alpha=ALPHA, T=50)
    t = lw.play(learner, lw.IID(X, X[:, 0] > 0.5, k=4), lw.MetricAuditor("cityblock", ALPHA))
    assert len(np.unique(t.person)) == 200
    c = lw.certify(t)
    assert c.fairness
    assert c.redraw is None
    names = [a.name for a in c.rests_on(Claim.FAIRNESS, "not checkable")]
    assert "people are independent draws from one population" in names


def test_a_transcript_that_does_not_say_how_people_came_again_is_not_believed_to_have_met_them_once():
    """As transcripts of an earlier version are read: rows that were drawn from, and nothing about who came."""
    t = noise_play()
    environment = replace(t.facts.environment, people=None, drawn=None)
    old = replace(t, person=None, facts=replace(t.facts, environment=environment))
    c = lw.certify(old)
    assert (c.fairness, c.error_on_new_people) == ((), None)
    assert "12,000 draws with replacement from 40 rows" in " ".join(str(c).split())
    assert not CLAIM.search(" ".join(str(c).split()))


@pytest.mark.parametrize("turned", [False, True])
def test_a_stream_and_a_file_are_not_one_population(turned):
    F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
    learner, auditor = lw.Hedge(F, T=40, k=3), lw.MetricAuditor(TOWN.near, 0.3)
    first, second = (TOWN.newcomers(), TOWN.iid())[:: -1 if turned else 1]
    t = lw.play(learner, first, auditor, 20)
    both = lw.certify(t + lw.play(learner, second, auditor, 20, state=t))
    assert (both.fairness, both.error_on_new_people, both.redraw) == ((), None, None)


# What else was found in `certify` ----------------------------------------------------------------------------------


class Liar(lw.MetricAuditor):
    """Reports pairs that are fine, and admits that it does, but not which."""

    def facts(self):
        return AuditorFacts("liar", truthful=False, exhaustive=True, fixed=True)


def test_an_auditor_known_to_lie_is_not_called_unchecked_and_its_regret_is_left_out():
    F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
    t = lw.play(lw.Hedge(F, T=60, k=3), TOWN.iid(), Liar(lambda view: np.zeros((len(view),) * 2), 0.1))
    assert t.reported.any()
    c = lw.certify(t)
    assert c.assumptions[0].status == "broken"
    assert {(r.by_reports, r.by_lagrangian) for r in c.regret} == {(None, None)}
    assert "Compared with fair policies. Nothing can be claimed" in " ".join(c.appendix().split())
    assert "fixed mixture" not in str(c)
    json.dumps(c.to_dict(), allow_nan=False)
    c.plot()


@pytest.mark.parametrize("lies", [0.4, 1e-9])
def test_marked_lies_are_mended_however_many_there_are(lies):
    F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
    auditor = lw.NoisyAuditor(lw.MetricAuditor(TOWN.near, 0.3), false_reports=lies)
    c = lw.certify(lw.play(lw.Hedge(F, T=60, k=3), TOWN.iid(), auditor))
    assert c.assumptions[0].status == ("broken" if lies > 0.1 else "kept")
    assert math.isfinite(c.regret[0].best)


def test_noise_around_a_liar_marks_only_its_own_lies():
    auditor = lw.NoisyAuditor(Liar("cityblock", 0.1), false_reports=0.2)
    assert auditor.facts().marks_false is False


def test_a_distance_that_depends_on_the_direction_is_no_contradiction():
    """d(x, x') ≠ d(x', x): a gap one way that is let pass says nothing of the same gap the other way."""
    rng = np.random.default_rng(6)
    X = rng.random((6, 2))
    y = (X[:, 0] > 0.5).astype(float)

    def uphill(view):
        return np.where(view[:, 1, None] > view[:, 1], 0.05, 0.9)

    F, found, cleared = lw.Thresholds.quantiles(X, cuts=3), 0, 0
    for seed in range(10):
        people = lw.Stream(flipping(X, y, seed), k=2)
        t = lw.play(lw.FollowTheLeader(F, T=200), people, lw.MetricAuditor(uphill, ALPHA), seed=seed)
        c = lw.certify(t)
        assert c.contradictions == ()
        found += len(c.brackets)
        cleared += sum(b.lower > 0 for b in c.brackets)
        for b in c.brackets:
            d = uphill(t.view_of(b.round - 1))[b.favoured, b.disfavoured]
            assert b.lower <= d < b.upper
    assert found > 20


def flipping(X, y, seed):
    """Pairs of a few people whose labels turn round halfway, so that who was favoured no longer is."""
    rng = np.random.default_rng(seed)
    for t in itertools.count():
        pair = rng.choice(len(X), 2, replace=False)
        yield X[pair], y[pair] if t < 60 else 1 - y[pair]


def test_a_limit_for_a_fixed_number_of_rounds_says_so_where_nobody_fixed_it():
    F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
    claims, said, assumed = {}, {}, "the number of rounds was fixed in advance"
    for T in (None, 400):
        learner = lw.FollowTheLeader(F, T=T)
        claims[T] = lw.certify(lw.play(learner, TOWN.newcomers(), lw.MetricAuditor(TOWN.near, ALPHA), 400))
        said[T] = " ".join(claims[T].appendix().split()).split("Fairness to new people.")[1].split("Errors on")[0]
        assert (assumed in " ".join(str(claims[T]).split())) == (T is None)
    fixed = {T: not c.fairness[0].anytime for T, c in claims.items()}
    assert fixed[None], "or the sentence rests on nothing"
    assert assumed in said[None]
    assert assumed not in said[400]


def test_a_distance_refuses_columns_that_it_was_not_made_for():
    data = lw.datasets.synthetic(300)
    F = lw.Thresholds.quantiles(data.features, cuts=4)
    learner = lw.AdaHedge(F, k=4, alpha=ALPHA, T=50)
    auditor = lw.MetricAuditor(data.distance, ALPHA)
    names = ", ".join(data.compare_by)
    with pytest.raises(InvalidParameter, match=f"`view` must have the .* columns .*{names}, got shape"):
        lw.play(learner, lw.IID(data.features, data.y, k=4), auditor)
    F = lw.Thresholds.quantiles(data.people, cuts=4)
    with pytest.raises(InvalidParameter, match="got the columns"):
        lw.play(lw.AdaHedge(F, k=4, alpha=ALPHA, T=50), lw.IID(data.people, data.y, k=4), auditor)
    lw.play(learner, lw.IID(data.features, data.y, k=4, view=data.view), auditor)


# Made-up files: each kind of claim against fresh people --------------------------------------------------------------

CUTS = lw.Thresholds([np.linspace(0.1, 0.9, 9)] * 3)
"""Made without any file."""


def weak(rng, n):
    X = rng.random((n, 3))
    return X, (rng.random(n) < 0.35 + 0.3 * X[:, 0]).astype(float)


def strong(rng, n):
    X = rng.random((n, 3))
    return X, (X[:, 0] + 0.2 * rng.standard_normal(n) > 0.5).astype(float)


def groups(rng, n):
    """Two groups, in different places and with different shares of yes."""
    second = rng.random(n) < 0.3
    X = np.where(second[:, None], 0.5 + rng.random((n, 3)) / 2, rng.random((n, 3)) ** 2)
    return X, (rng.random(n) < np.where(second, 0.7, 0.2)).astype(float)


def doubled(people):
    """Each person one to eight times: the ids tell."""

    def file(rng, n):
        X, y = people(rng, n // 3)
        ids = rng.permutation(np.repeat(np.arange(n // 3), rng.integers(1, 9, n // 3)))
        return X[ids], y[ids], ids

    return file


def once(people):
    def file(rng, n):
        X, y = people(rng, n)
        return X, y, np.arange(n)

    return file


FILES = [
    (noise, once(noise), 120),
    (noise, once(noise), 40),
    (weak, once(weak), 1200),
    (weak, once(weak), 200),
    (strong, once(strong), 800),
    (strong, doubled(strong), 900),
    (noise, doubled(noise), 600),
    (groups, once(groups), 500),
]


def beyond(policy, X, alpha):
    """The share of disjoint pairs that are further apart than their distance + α."""
    given, half = policy.probability(X), len(X) // 2
    apart = np.abs(X[:half] - X[half:]).sum(axis=1)
    return float((np.abs(given[:half] - given[half:]) - apart > alpha + 1e-12).mean())


def judged(seed):
    """{kind of claim: whether fresh people refute it} of one made-up file."""
    people, file, n = FILES[seed % len(FILES)]
    rng = np.random.default_rng([7, seed])
    X, y, ids = file(rng, n)
    fresh, labels = people(rng, 40_000)
    held = ids % 2 == 1 if seed % 3 else np.zeros(len(ids), dtype=bool)
    order = "draws" if seed % 5 == 4 else "passes"
    environment = lw.IID(X[~held], y[~held], k=4, ids=ids[~held], order=order)
    learner = lw.AdaHedge(CUTS, k=4, alpha=ALPHA, T=400, penalty=1.0)
    t = lw.play(learner, environment, lw.MetricAuditor("cityblock", ALPHA), seed=seed)
    c, found = lw.certify(t, delta=DELTA), {}
    about = t.first_pass_policy or t.average_policy
    if c.error_on_new_people is not None:
        found["error, first pass"] = np.abs(about.probability(fresh) - labels).mean() > c.error_on_new_people
    if c.fairness:
        best = c.fairness[0]
        found["fairness, first pass"] = beyond(about, fresh, best.alpha) > best.beta
    if c.redraw is not None:
        again = rng.integers(len(environment.y), size=40_000)
        redrawn = environment.X[again], environment.y[again]
        error = np.abs(t.average_policy.probability(redrawn[0]) - redrawn[1]).mean()
        found["error, another draw"] = error > c.redraw.error + 0.01 * c.redraw.exact
        best = c.redraw.fairness[0]
        found["fairness, another draw"] = beyond(t.average_policy, redrawn[0], best.alpha) > best.beta
    firsts = np.flatnonzero(held)[np.unique(ids[held], return_index=True)[1]]
    if len(firsts) >= 100:
        policy = t.average_policy
        losses = np.abs(policy.probability(X[firsts]) - y[firsts])
        truth = np.abs(policy.probability(fresh) - labels).mean()
        found["error, held out"] = truth > lw.theory.error_limit(losses, DELTA)
        pairs = lw.evaluate_fairness(policy, X[firsts], "cityblock", ALPHA, delta=2 * DELTA)
        found["fairness, held out"] = beyond(policy, fresh, ALPHA) > pairs.upper
    if held.any():
        found |= chosen(t, X[held], y[held], ids[held], fresh, labels)
    return found


def chosen(t, X, y, ids, fresh, labels):
    """The three kinds of claim that choosing among several policies makes, each about every candidate."""
    early = lw.Mixture(CUTS, np.eye(CUTS.geometry.dim)[3])
    candidates = {"average": t.average_policy, "one cut": early}
    choice = lw.choose(candidates, X, y, distance="cityblock", alpha=ALPHA, delta=DELTA, ids=ids)
    if not choice.claims_made:
        assert choice.people < 100
        assert choice.recommended in ("always no", "always yes")
        assert not CLAIM.search(str(choice))
        return {}
    errors = {name: np.abs(policy.probability(fresh) - labels).mean() for name, policy in candidates.items()}
    constant = min(labels.mean(), 1 - labels.mean())
    each, found = choice.candidates, {}
    found["error, chosen"] = any(errors[c.name] > c.error_limit for c in each)
    found["fairness, chosen"] = any(beyond(c.policy, fresh, ALPHA) > c.unfair_limit for c in each)
    answered = abs(choice.constant - labels).mean()
    found["constant's error, chosen"] = answered > choice.constant_error_limit
    if any(c.beats_constants for c in each):
        found["better than a constant, chosen"] = any(c.beats_constants and errors[c.name] > constant for c in each)
    return found


KINDS = {"error, first pass", "fairness, first pass", "error, another draw", "fairness, another draw"}
KINDS |= {"error, held out", "fairness, held out"}
KINDS |= {"error, chosen", "fairness, chosen", "constant's error, chosen", "better than a constant, chosen"}


def refuted(files):
    """{kind: (refuted, made)}."""
    every = [judged(seed) for seed in range(files)]
    return {kind: (sum(f.get(kind, False) for f in every), sum(kind in f for f in every)) for kind in KINDS}


def few(wrong, made):
    return wrong <= DELTA * made + 2 * math.sqrt(DELTA * (1 - DELTA) * made)


def test_of_forty_made_up_files_fresh_people_refute_no_kind_of_claim_more_often_than_said():
    for kind, (wrong, made) in refuted(40).items():
        assert made > 0, kind
        assert few(wrong, made), (kind, wrong, made)


@pytest.mark.slow
def test_of_four_hundred_made_up_files_fresh_people_refute_no_kind_of_claim_more_often_than_said():
    for kind, (wrong, made) in refuted(400).items():
        assert few(wrong, made), (kind, wrong, made)
