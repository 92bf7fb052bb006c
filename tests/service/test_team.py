"""Figures of reviewers: what is counted of each, when nothing is told, and what rings an alarm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loans import Clock, Fold, loans
from test_panel import team, whole
from test_reviews import first_objection, lived

from likewise import theory
from likewise.service.engine import Engine
from likewise.service.log.signing import Signer
from likewise.service.projections.alarms import alarms
from likewise.service.projections.reviewers import LEAST, by_feature, drifted, figures
from likewise.service.refusals import Conflict
from likewise.service.stream import commands
from likewise.service.stream.claims import coverage
from likewise.service.stream.known import Known, KnownRound
from likewise.service.stream.panel import Panel
from likewise.service.stream.settings import Feature, Review, Waits
from likewise.service.stream.team import NEWEST, Reviewer, Team
from likewise.service.stream.verdict import Pair, Verdict
from likewise.theory import Overlap
from likewise.theory.detection import BASELINE, SECONDS_ALARM


def verdict(by, reported=False, hints=False, seconds=None, pair=(0, 1)):
    pairs = (Pair(*pair, 0.5),) if reported else ()
    return Verdict("reported" if reported else "cleared", 0.0, by, pairs, hints, seconds)


def twice(first, second):
    return Panel(said=(first, second), wanted=2, rule="any")


class TestCounts:
    def test_each_comes_first_in_their_own_overlap(self):
        both = Team().with_round(twice(verdict("ann", reported=True), verdict("ben")), 1)
        assert both.reviewers["ann"].overlap == Overlap(first=1)
        assert both.reviewers["ben"].overlap == Overlap(second=1)
        assert both.lately == (False,)

    def test_rounds_that_one_person_judged_are_no_overlap(self):
        alone = Team().with_round(Panel(said=(verdict("ann"),)), 1)
        assert alone.reviewers["ann"] == Reviewer(cleared=1)
        skipped = Verdict("skipped", 0.0, "ben")
        assert Team().with_round(twice(verdict("ann"), skipped), 1).reviewers["ben"] == Reviewer(skipped=1)

    def test_with_and_without_hints_are_apart(self):
        both = Team().with_round(twice(verdict("ann", reported=True, hints=True), verdict("ben", reported=True)), 1)
        both = both.with_round(twice(verdict("ann", reported=True), verdict("ben")), 1)
        assert both.reviewers["ann"].hinted == Overlap(both=1, same_pair=1)
        assert both.reviewers["ann"].overlap == Overlap(both=1, first=1, same_pair=1)

    def test_they_are_counted_when_a_round_is_over_and_survive_a_snapshot(self):
        fold, t, pairs = team(Waits(grace=50))
        before = fold.state.team
        fold.do(commands.Audit(t, "pair", "ann", [str(i) for i in pairs[0]], hints=True, seconds=12.0))
        fold.do(commands.RetractAudit(t, "ann"))
        fold.audit(t, pairs[0], "ann")
        fold.do(commands.Audit(t, "pair", "ben", [str(i) for i in pairs[0]], seconds=4.0))
        assert fold.state.team == before, "what can be taken back is nobody's yet"
        fold.clock.forward(51)
        fold.advance(t)
        after = fold.state.team.reviewers
        assert after["ann"].reported == 1
        assert after["ben"].seconds == (4.0,)
        assert after["ben"].upheld.both == 1
        whole(fold)

    def test_a_reviewer_who_becomes_much_faster_is_noticed_and_a_steady_one_is_not(self):
        rng = np.random.default_rng(0)
        steady = fast = Reviewer()
        for i in range(BASELINE + 60):
            looks = float(rng.lognormal(3, 0.4))
            steady = steady.with_verdict(verdict("ann", seconds=looks), 3)
            fast = fast.with_verdict(verdict("ann", seconds=looks / (1 if i < BASELINE else 6)), 3)
        assert steady.level < SECONDS_ALARM <= fast.level
        assert len(fast.seconds) == NEWEST


class TestFigures:
    def test_few_rounds_tell_no_share(self):
        state = lived(rounds=5, share=0.5).state
        own = Reviewer(reported=4, overlap=Overlap(3, 1, 1, 90), upheld=Overlap(3, 1, 1, 90))
        few = figures(replace(state, team=Team({"ann": own})), "ann")
        assert few["confirmed"]["rounds"] == 5 < LEAST
        assert few["confirmed"]["share"] is None
        assert few["seconds"] is None
        enough = own._replace(overlap=Overlap(30, 4, 3, 90), upheld=Overlap(28, 2, 3, 94), seconds=(3.0,) * 9 + (9.0,))
        told = figures(replace(state, team=Team({"ann": enough})), "ann")
        assert told["confirmed"]["share"] == theory.positive_agreement(enough.overlap).estimate
        assert told["finds"]["share"] == pytest.approx(28 / 31)
        assert told["upheld"]["share"] == pytest.approx(30 / 34)
        assert told["seconds"] == 3.0

    def test_drift_is_told_by_known_rounds(self):
        known = Known()
        for t in range(1, 7):
            known = known.marked(KnownRound(t, "gold", ((0, 1),), ())).drawn().shown(t, t + 50, "ann")
            known = known.answered(t, "ann", "cleared", (), 0.0)
        state = replace(lived(rounds=5, share=0.5).state, known=known)
        assert drifted(state, "ann")
        assert not drifted(state, "ben")
        (alarm,) = alarms(state, [], state.drawing.hours[-1][0] * 3600.0)
        assert alarm.kind == "known rounds"
        assert "ann" not in alarm.sentence

    def test_a_number_counts_where_two_are_a_third_of_its_range_apart(self):
        near, far = ({"age": 20.0}, {"age": 25.0}), ({"age": 20.0}, {"age": 60.0})
        (told,) = by_feature([(True, [near]), (False, [far])], [Feature(name="age")])
        assert told["confirmed"]["rounds"] == 1


class TestAlarm:
    def state(self, lately):
        return replace(lived(rounds=5, share=0.5).state, team=Team({}, tuple(lately)))

    def rung(self, lately):
        state = self.state(lately)
        return [alarm.kind for alarm in alarms(state, [], state.drawing.hours[-1][0] * 3600.0)]

    def test_reviewers_who_confirm_less_than_half_ring_and_few_rounds_do_not(self):
        assert self.rung([False] * 50 + [True] * 3) == ["disagreement"]
        assert self.rung([False] * 3) == []
        assert self.rung([True] * 40 + [False] * 10) == []

    def test_reviewers_at_the_border_ring_once_in_a_hundred_at_most(self):
        rng = np.random.default_rng(1)
        state = self.state([])
        share = 1 / 3  # both report in a third of the rounds that one reported: half of reports are confirmed
        rings = 0
        for _ in range(400):
            lately = tuple((rng.random(100) < share).tolist())
            found = alarms(replace(state, team=Team({}, lately)), [], state.drawing.hours[-1][0] * 3600.0)
            rings += bool(found)
        assert rings / 400 < 0.03


class TestDisputes:
    """A round that was closed with a pair in dispute: what a third says later is a correction if it says otherwise."""

    def closed(self):
        fold, t, pairs = team(Waits(audit=50, grace=0))
        fold.audit(t, pairs[0], "ann")
        fold.audit(t, None, "ben")
        fold.clock.forward(60)
        fold.advance(t)
        assert t not in fold.state.rounds
        assert fold.state.dispute(t).learned == (pairs[0],)
        return fold, t, pairs[0]

    def judge(self, fold, t, pair, objects, by="cyd"):
        about = [str(i) for i in pair]
        return fold.kinds(commands.JudgePair(t, about, objects, by, past=fold.past(t), counts_as="reported"))

    def test_a_later_no_is_logged_as_a_correction_by_itself(self):
        fold, t, pair = self.closed()
        assert self.judge(fold, t, pair, False) == ["pair_judged", "audit_corrected"]
        assert fold.state.dispute(t) is None
        assert (fold.state.totals.withdrawn, fold.state.totals.corrected) == (1, 1)
        assert fold.events[-1].by == "clock"
        whole(fold)

    def test_a_later_yes_changes_nothing(self):
        fold, t, pair = self.closed()
        assert self.judge(fold, t, pair, True) == ["pair_judged"]
        assert fold.state.dispute(t) is None
        assert fold.state.totals.corrected == 0
        whole(fold)

    def test_a_skip_leaves_the_question(self):
        fold, t, pair = self.closed()
        assert self.judge(fold, t, pair, None) == ["pair_judged"]
        assert fold.state.dispute(t).panel.asks("cyd") is None
        assert fold.state.dispute(t).panel.asks("dan") is not None
        whole(fold)

    def test_the_correction_must_follow_and_can_be_no_other(self):
        fold, t, pair = self.closed()
        self.judge(fold, t, pair, False)
        assert "out of order" in first_objection([*fold.events[:-1], *fold.events[1:2]])
        forged = [*fold.events[:-1], replace(fold.events[-1], verdict="skipped")]
        assert "in nobody's name" in first_objection(forged)
        alone = [*fold.events, replace(fold.events[-1], replaces="cleared")]
        assert "in nobody's name" in first_objection(alone)


def test_a_reviewer_is_asked_about_a_dispute_once_nothing_else_waits(store):
    clock = Clock()
    engine = Engine(store, Signer.generate(), None, clock)
    engine.create(loans(review=Review(second=1.0), waits=Waits(audit=50, grace=0)), "root")
    for i in range(14):
        t, pair = opened(engine, i)
        round_ = engine.streams.get("loans").current().rounds.get(t)
        for by in ("ann", "ben") if i < 13 and round_ is not None and round_.verdict is None else ():
            engine.audit("loans", t, "none", by)
    engine.audit("loans", t, "pair", "ann", pair=pair)
    engine.audit("loans", t, "none", "ben")
    clock.forward(60)
    engine.tick()
    assert engine.round("loans", t)["audit"]["verdict"] == "reported"
    assert engine.claim("loans", "ann") is None
    asked = engine.claim("loans", "cyd")
    assert (asked["t"], asked["asks"], asked["pair"]) == (t, "opinion", pair)
    assert engine.renew("loans", t, "cyd")["t"] == t
    engine.judge_pair("loans", t, pair, False, "cyd", hints=False, seconds=2.0)
    record = engine.round("loans", t)
    assert record["audit"]["verdict"] == "reported", "what was learned"
    assert [(each["verdict"], each["by"]) for each in record["corrections"]] == [("cleared", "clock")]
    assert engine.claim("loans", "cyd") is None
    certificate = engine.certificate("loans")
    assert certificate["corrected"] == 1
    with pytest.raises(Conflict):
        engine.judge_pair("loans", t, pair, True, "dan")


def opened(engine, i):
    """A round of two very different people; its number, and the pair, whoever is ahead first."""
    sent = [{"id": f"{i}.{j}", "features": {"score": s, "age": s}} for j, s in enumerate((0.05, 0.95))]
    done = engine.decide("loans", sent, "decider")
    engine.label("loans", done["t"], {f"{i}.0": 0, f"{i}.1": 1}, "decider")
    ahead = sorted(done["decisions"], key=lambda person: -person["probability"])
    return done["t"], [person["id"] for person in ahead]


def test_coverage_by_the_plan_adds_up():
    fold = lived(rounds=40, share=0.4)
    found, counted = coverage(fold.state), fold.state
    assert found.cleared + found.undrawn + found.drawn == counted.opened
    assert found.due == sum(round_.verdict is None for round_ in counted.rounds.values())
    assert min(found) >= 0
    assert coverage(Fold(loans(review=Review())).state).drawn == 0
