"""Several verdicts: what is learned, what is asked and of whom, and that it always ends."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from likewise import errors
from likewise.protocol import Report
from likewise.reduction import signed_weights
from likewise.theory import Overlap
from likewise.verdicts import Opinion, Outcome, Verdict, close, overlap, settle

A, B, C = (0, 3), (1, 3), (0, 2)
ANN, BEN, CID, DOT = "ann", "ben", "cid", "dot"


def said(**pairs):
    return [Verdict(by, pair) for by, pair in pairs.items()]


def test_one_verdict_is_taken_as_it_is():
    assert settle(said(ann=A)) == Outcome(True, (A,))
    assert settle(said(ann=None)) == Outcome(True)


def test_a_skip_goes_to_a_colleague():
    outcome = settle([Verdict(ANN, skipped=True)])
    (question,) = outcome.questions
    assert not outcome.settled
    assert (question.what, question.of, question.but) == ("verdict", None, {ANN})
    assert settle([Verdict(ANN, skipped=True), Verdict(BEN, A)]).accepted == (A,)


def test_a_round_drawn_for_two_waits_for_both():
    assert len(settle([], wanted=2).questions) == 2
    (question,) = settle(said(ann=A), wanted=2).questions
    assert (question.what, question.but) == ("verdict", {ANN})


@pytest.mark.parametrize("rule", ["any", "adjudicated"])
def test_two_who_agree_settle_it(rule):
    assert settle(said(ann=A, ben=A), wanted=2, rule=rule) == Outcome(True, (A,))
    assert settle(said(ann=None, ben=None), wanted=2, rule=rule) == Outcome(True)


def test_any_learns_every_pair_that_was_named():
    assert settle(said(ann=A, ben=B), wanted=2, rule="any").accepted == (A, B)
    assert settle(said(ann=A, ben=None), wanted=2, rule="any").accepted == (A,)


def test_each_is_asked_about_the_others_pair():
    two = said(ann=A, ben=B)
    questions = settle(two, wanted=2).questions
    assert {(q.what, q.of, q.pair) for q in questions} == {("opinion", BEN, A), ("opinion", ANN, B)}
    half = settle(two, [Opinion(BEN, A, True)], wanted=2)
    assert not half.settled
    assert [(q.of, q.pair) for q in half.questions] == [(ANN, B)]
    for a, b in itertools.product([True, False], repeat=2):
        outcome = settle(two, [Opinion(BEN, A, a), Opinion(ANN, B, b)], wanted=2)
        assert outcome.settled is (a or b)
        assert outcome.accepted == tuple(pair for pair, yes in ((A, a), (B, b)) if yes)


def test_where_neither_is_upheld_a_third_decides_about_both():
    two, noes = said(ann=A, ben=B), [Opinion(BEN, A, False), Opinion(ANN, B, False)]
    questions = settle(two, noes, wanted=2).questions
    assert [(q.what, q.pair, q.of, q.but) for q in questions] == [
        ("opinion", A, None, {ANN, BEN}),
        ("opinion", B, None, {ANN, BEN}),
    ]
    third = [Opinion(CID, A, False), Opinion(CID, B, True)]
    assert settle(two, noes + third, wanted=2).accepted == (B,)
    assert settle(two, [*noes, Opinion(CID, A, False), Opinion(CID, B, False)], wanted=2) == Outcome(True)


def test_a_report_against_none_goes_to_a_third():
    two = said(ann=A, ben=None)
    (question,) = settle(two, wanted=2).questions
    assert (question.what, question.pair, question.of, question.but) == ("opinion", A, None, {ANN, BEN})
    assert settle(two, [Opinion(CID, A, True)], wanted=2).accepted == (A,)
    assert settle(two, [Opinion(CID, A, False)], wanted=2) == Outcome(True)


def test_a_third_who_looks_at_the_whole_round_counts_too():
    assert settle([*said(ann=A, ben=None), Verdict(CID, A)], wanted=2).accepted == (A,)
    assert settle([*said(ann=A, ben=None), Verdict(CID, None)], wanted=2) == Outcome(True)
    other = settle([*said(ann=A, ben=None), Verdict(CID, B)], wanted=2)
    assert {(q.of, q.pair) for q in other.questions} == {(CID, A), (ANN, B)}


def test_who_said_none_may_be_convinced_but_not_by_skipping():
    two = said(ann=A, ben=None)
    assert settle(two, [Opinion(BEN, A, True)], wanted=2).accepted == (A,)
    assert settle(two, [Opinion(BEN, A, None)], wanted=2).questions == settle(two, wanted=2).questions


def test_a_skipped_question_goes_on_to_somebody_else():
    two = said(ann=A, ben=None)
    (question,) = settle(two, [Opinion(CID, A, None)], wanted=2).questions
    assert question.but == {ANN, BEN, CID}
    assert settle(two, [Opinion(CID, A, None), Opinion(DOT, A, True)], wanted=2).accepted == (A,)


def test_who_skipped_the_round_is_not_asked_about_its_pairs():
    verdicts = [*said(ann=A, ben=None), Verdict(DOT, skipped=True)]
    (question,) = settle(verdicts, wanted=2).questions
    assert DOT in question.but


def test_a_late_second_verdict_is_not_lost():
    """Only one was wanted and it said none; the report that comes late makes it a round that two judged."""
    assert settle(said(ann=None)).settled
    (question,) = settle(said(ann=None, ben=A)).questions
    assert question.pair == A


def test_the_last_word_of_a_reviewer_counts():
    assert settle([Verdict(ANN, A), Verdict(ANN, None)]) == Outcome(True)
    assert settle([Verdict(ANN, skipped=True), Verdict(ANN, A)]).accepted == (A,)


def test_a_round_that_must_close_learns_what_was_named_and_not_dropped():
    assert close(said(ann=A, ben=B)) == (A, B)
    noes = [Opinion(BEN, A, False), Opinion(CID, A, False)]
    assert close(said(ann=A, ben=B), noes) == (B,)
    assert close([Verdict(ANN, skipped=True)]) == ()


def test_bad_rules_are_refused():
    with pytest.raises(errors.InvalidParameter, match="`rule`"):
        settle([], rule="majority")
    with pytest.raises(errors.InvalidParameter, match="`wanted`"):
        settle([], wanted=3)


def play_out(minds, rng, wanted=2, skip=0.2):
    """Answer every question by ``minds[reviewer][pair]`` until the round is settled; who is asked is drawn."""
    verdicts, opinions = [], []
    for steps in range(100):
        outcome = settle(verdicts, opinions, wanted=wanted)
        if outcome.settled:
            return outcome, verdicts, opinions, steps
        question = outcome.questions[rng.integers(len(outcome.questions))]
        able = [question.of] if question.of else sorted(set(minds) - question.but)
        who = able[rng.integers(len(able))]
        assert who not in question.but
        skips = len(able) > 3 and rng.random() < skip
        if question.what == "verdict":
            objected = [pair for pair, yes in minds[who].items() if yes]
            pair = objected[rng.integers(len(objected))] if objected else None
            verdicts.append(Verdict(who, None if skips else pair, skips))
        else:
            opinions.append(Opinion(who, question.pair, None if skips else minds[who][question.pair]))
    raise AssertionError("it didn't end")


def test_it_always_ends_and_accepts_only_what_two_people_find_too_different():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        minds = {name: {pair: bool(rng.random() < 0.5) for pair in (A, B, C)} for name in "abcdefghij"}
        outcome, verdicts, opinions, steps = play_out(minds, rng)
        assert steps <= 25
        for pair in outcome.accepted:
            backing = {v.by for v in verdicts if v.pair == pair} | {
                o.by for o in opinions if o.pair == pair and o.objects
            }
            assert len(backing) >= 2
            assert all(minds[name][pair] for name in backing)
        judged = [v for v in verdicts if not v.skipped]
        assert len(judged) == 2 == len({v.by for v in judged})


def test_three_minds_decide_by_their_majority_where_one_pair_is_in_question():
    for minds in itertools.product([True, False], repeat=3):
        verdicts = [Verdict(name, A if mind else None) for name, mind in zip((ANN, BEN), minds, strict=False)]
        outcome = settle(verdicts, wanted=2)
        if not outcome.settled:
            outcome = settle(verdicts, [Opinion(CID, A, minds[2])], wanted=2)
        assert outcome.settled
        assert (outcome.accepted == (A,)) is (sum(minds) >= 2)


def test_accepted_pairs_share_the_penalty_and_the_range_is_that_of_one():
    """Theorem P, split: Σ|s| ≤ k + 2C, and the penalty of a policy is C times the mean of its gaps."""
    rng, penalty = np.random.default_rng(1), 7.0
    for _ in range(200):
        k, y = 5, rng.integers(0, 2, size=5).astype(float)
        pairs = list({tuple(rng.choice(k, size=2, replace=False).tolist()) for _ in range(3)})
        reports, none = [Report(*pair) for pair in pairs], signed_weights(y, [], penalty)
        s, p = signed_weights(y, reports, penalty), rng.random(k)
        gaps = [p[high] - p[low] for high, low in pairs]
        assert (s - none) @ p == pytest.approx(penalty * np.mean(gaps))
        assert np.abs(s).sum() <= k + 2 * penalty + 1e-9


def test_overlap_counts_blind_verdicts_and_upheld_ones():
    rounds = [
        (said(ann=A, ben=A), []),
        (said(ann=A, ben=B), [Opinion(BEN, A, True), Opinion(ANN, B, True)]),
        (said(ann=A, ben=B), [Opinion(BEN, A, False), Opinion(ANN, B, True)]),
        (said(ann=A, ben=None), [Opinion(CID, A, False)]),
        (said(ann=None, ben=A), [Opinion(CID, A, True)]),
        (said(ann=None, ben=A), []),
        (said(ann=None, ben=None), []),
        (said(ann=A), []),
    ]
    assert overlap(rounds) == Overlap(both=3, first=1, second=2, neither=1, same_pair=1)
    assert overlap(rounds, upheld=True) == Overlap(both=2, first=0, second=2, neither=2, same_pair=1)
