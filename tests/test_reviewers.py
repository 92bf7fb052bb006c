"""A team of reviewers: who is asked, what is learned, and how good they are by their own double verdicts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import likewise as lw
from likewise import errors, theory
from likewise.checks import check_auditor
from likewise.verdicts import settle

DATA = lw.datasets.synthetic(800)
F = lw.Thresholds.quantiles(DATA.people, cuts=8)
PEOPLE = lw.IID(DATA.people, DATA.y, k=4, view=DATA.view)


def sharp(scale: float = 1.0) -> lw.MetricAuditor:
    return lw.MetricAuditor(lambda view: scale * DATA.distance(view), alpha=0.1)


def team(misses, second=1.0, **options) -> lw.Reviewers:
    return lw.Reviewers([lw.NoisyAuditor(sharp(), misses=miss) for miss in misses], second, **options)


def played(auditor, T=150, seed=1) -> lw.Transcript:
    return lw.play(lw.AdaHedge(F, k=4, alpha=0.1, T=400), PEOPLE, auditor, T=T, seed=seed)


def test_one_reviewer_is_that_reviewer():
    assert np.array_equal(played(lw.Reviewers([sharp()], second=0)).shown, played(sharp()).shown)


@pytest.mark.parametrize("rule", ["any", "adjudicated"])
def test_reviewers_who_agree_in_everything_are_one(rule):
    together, alone = played(lw.Reviewers([sharp()] * 3, second=0.5, rule=rule)), played(sharp())
    assert np.array_equal(together.shown, alone.shown)
    assert np.array_equal(together.pairs, alone.pairs)


def test_what_was_said_is_kept_and_settles_to_what_was_learned():
    reviewers = lw.Reviewers([sharp(0.5), sharp(1.0), sharp(2.0), sharp(3.0)], second=0.5)
    t = played(reviewers)
    assert sorted(reviewers.rounds) == list(range(1, t.rounds + 1))
    assert 0.3 < np.mean([judged.wanted == 2 for judged in reviewers.rounds.values()]) < 0.7
    asked = 0
    for i, reports in enumerate(t.reports):
        judged = reviewers.rounds[i + 1]
        outcome = settle(judged.verdicts, judged.opinions, wanted=judged.wanted)
        assert outcome.settled
        assert {report[:2] for report in reports} == set(outcome.accepted)
        asked += len(judged.opinions)
    assert asked > 0


def test_an_adjudicated_pair_is_one_that_two_of_them_mind():
    members = [sharp(scale) for scale in (0.5, 1.0, 2.0, 3.0)]
    reviewers = lw.Reviewers(members, second=1.0)
    t = played(reviewers)
    for seen in t:
        for high, low, *_ in seen.reports:
            excesses = [member.excess(seen.batch, seen.probabilities, 1)[high, low] for member in members]
            assert sum(excess > 0.1 for excess in excesses) >= 2
    assert t.reported.any()


def test_any_learns_more_rounds_than_adjudication():
    members = [sharp(scale) for scale in (0.3, 1.0, 3.0)]
    frozen = lw.Unconstrained(F, k=4)
    plays = {
        rule: lw.play(frozen, PEOPLE, lw.Reviewers(members, second=1.0, rule=rule), T=200, seed=2)
        for rule in ("any", "adjudicated")
    }
    assert plays["adjudicated"].reported.sum() < plays["any"].reported.sum()


def test_who_skips_is_replaced_and_nobody_left_means_not_reviewed():
    asleep = lw.ScriptedAuditor({}, alpha=0.1)
    assert np.array_equal(played(lw.Reviewers([asleep, sharp()], second=0)).shown, played(sharp()).shown)
    nobody = played(lw.Reviewers([asleep, asleep], second=0.5), T=20)
    assert not nobody.reviewed.any()


def test_where_no_third_is_left_the_named_pair_is_learned():
    """One minds a pair, the other doesn't, and there is nobody else to ask."""
    pair = lw.Reviewers([sharp(0.3), sharp(5.0)], second=1.0)
    t = played(pair)
    assert t.reported.sum() > 0
    open_rounds = [not settle(judged.verdicts, judged.opinions, wanted=2).settled for judged in pair.rounds.values()]
    assert any(open_rounds)


def test_members_draw_apart():
    """Two who miss half each must not miss the same rounds."""
    reviewers = team([0.5, 0.5])
    lw.play(lw.Unconstrained(F, k=4), PEOPLE, reviewers, T=400, seed=5)
    both = reviewers.overlap()
    assert both.first > 10
    assert both.second > 10
    assert both.both > 10


def test_detection_is_found_from_their_double_verdicts():
    inside = 0
    for seed in range(20):
        reviewers = team([0.3, 0.3, 0.3])
        lw.play(lw.Unconstrained(F, k=4), PEOPLE, reviewers, T=250, seed=seed)
        _, low, high = theory.detection_by_overlap(reviewers.overlap(upheld=True))
        inside += low <= 0.7 <= high
    assert inside / 20 >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 20)


def test_each_has_a_detection_of_their_own():
    reviewers = team([0.1, 0.6, 0.3])
    lw.play(lw.Unconstrained(F, k=4), PEOPLE, reviewers, T=600, seed=4)
    found = [theory.detection_of_first(reviewers.overlap(upheld=True, of=name)) for name in reviewers.members]
    for (_, low, high), truth in zip(found, (0.9, 0.4, 0.7), strict=True):
        assert low - 0.02 <= truth <= high + 0.02


def test_a_team_by_lot_is_certified_with_its_own_overlap():
    reviewers = team([0.2, 0.2, 0.2])
    t = played(lw.ByLot(reviewers, share=0.6), T=300)
    certificate = lw.certify(t, overlap=reviewers.overlap(upheld=True))
    detection = certificate.reviews.detection
    assert detection.twice == reviewers.overlap(upheld=True).rounds > 0
    assert 0 < detection.least < 0.9
    assert certificate.reviews.corrected > certificate.reviews.limit


def test_another_play_starts_with_a_clean_desk():
    reviewers = team([0.2, 0.2])
    played(reviewers, T=30)
    played(reviewers, T=10)
    assert sorted(reviewers.rounds) == list(range(1, 11))


def test_it_passes_the_checks_of_auditors():
    view = np.asarray(DATA.view)
    assert "repeatable" in check_auditor(lw.Reviewers([sharp()] * 3, second=0.5), view)
    assert "levels" in check_auditor(team([0.3, 0.3, 0.3], second=0.5), view)


@pytest.mark.parametrize(
    ("members", "options", "match"),
    [
        ([], {}, "`members`"),
        ([sharp(), lw.MetricAuditor("cityblock", 0.3)], {}, "same alpha"),
        ([lw.DecisionAuditor("cityblock", 0.1)], {}, "see probabilities"),
        ([sharp()], {"second": 0.5}, "single reviewer"),
        ([sharp(), sharp()], {"second": 1.5}, "`second`"),
        ([sharp(), sharp()], {"rule": "majority"}, "`rule`"),
    ],
)
def test_teams_that_cannot_work_are_refused(members, options, match):
    with pytest.raises(errors.InvalidParameter, match=match):
        lw.Reviewers(members, **options)
