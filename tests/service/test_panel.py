"""Several verdicts on a round: second ones by lot, questions across, skips that go to a colleague, and late ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from forging import write
from loans import Clock, Fold, far_apart, fingerprint, loans
from test_reviews import APART, first_objection, taught

from likewise import theory
from likewise.errors import InvalidParameter
from likewise.service.engine import Engine
from likewise.service.log import Idempotency
from likewise.service.log.signing import Signer
from likewise.service.proof.replay import verify
from likewise.service.refusals import Conflict
from likewise.service.stream import commands
from likewise.service.stream.claims import claim, counted
from likewise.service.stream.events import AuditRetracted, Learned, PairJudged, RoundClosed, VerdictLate
from likewise.service.stream.plain_state import dump_state, load_state
from likewise.service.stream.readers import round_view
from likewise.service.stream.settings import Review, Waits
from likewise.service.stream.state import State

THREE = [[0.05, 0.05], [0.95, 0.95], [0.02, 0.9]]


def team(waits=None, **review):
    """A stream whose rounds are all judged twice, with an open round of three people."""
    fold = Fold(loans(review=Review(second=1.0, **review), waits=waits or Waits(grace=0)))
    for _ in range(12):
        t, _ = fold.open(APART)
        fold.label(t, [0, 1])
        for by in ("ann", "ben"):
            if t in fold.state.rounds and fold.state.rounds[t].verdict is None:
                fold.audit(t, None, by)
    t, p = fold.open(THREE)
    fold.label(t, [0, 1, 1])
    assert fold.state.rounds[t].panel.wanted == 2
    pairs = [(i, j) for i in range(3) for j in range(3) if p[i] - p[j] > 0.1]
    return fold, t, pairs


def view(fold, t):
    return round_view([event for event in fold.events if event.about == t])


def whole(fold):
    """Live is replay, snapshots keep everything, and the rules have no objection."""
    again = State()
    for event in fold.events:
        again = event.evolve(again)
    assert fingerprint(again) == fingerprint(fold.state) == fingerprint(load_state(dump_state(fold.state)))
    assert first_objection(fold.events) == ""


class TestTwoVerdicts:
    def test_a_round_waits_for_its_second_verdict_and_never_asks_the_same_person(self):
        fold, t, _ = team()
        fold.audit(t, None, "ann")
        assert fold.state.rounds[t].verdict is None
        assert fold.state.rounds[t].panel.asks("ann") is None
        assert fold.state.rounds[t].panel.asks("ben").what == "verdict"
        fold.audit(t, None, "ben")
        assert view(fold, t)["audit"]["verdict"] == "cleared"
        assert view(fold, t)["audit"]["by"] == "ann, ben"
        assert t not in fold.state.rounds
        whole(fold)

    def test_a_pair_that_both_name_is_learned(self):
        fold, t, pairs = team()
        fold.audit(t, pairs[0], "ann")
        fold.audit(t, pairs[0], "ben")
        assert view(fold, t)["audit"]["verdict"] == "reported"
        assert len(view(fold, t)["verdicts"]) == 2
        whole(fold)

    def test_a_third_decides_where_one_reports_and_one_does_not(self):
        fold, t, pairs = team()
        fold.audit(t, pairs[0], "ann")
        fold.audit(t, None, "ben")
        question = fold.state.rounds[t].panel.asks("cyd")
        assert (question.what, question.pair) == ("opinion", pairs[0])
        assert fold.state.rounds[t].panel.asks("ann") is None
        with pytest.raises(Conflict, match="Nobody asks you"):
            fold.do(commands.JudgePair(t, [str(i) for i in pairs[0]], True, "ben"))
        shown = fold.state.rounds[t].shown(fold.state.stream.settings)
        judged, *rest = fold.do(commands.JudgePair(t, [str(i) for i in pairs[0]], True, "cyd"))
        assert judged.shown == shown == next(e.shown for e in fold.events if e.about == t and e.kind == "audited")
        assert view(fold, t)["audit"]["verdict"] == "reported"
        assert view(fold, t)["opinions"][0]["by"] == "cyd"
        whole(fold)
        before = fold.events[: -1 - len(rest)]
        assert "was not shown so" in first_objection([*before, replace(judged, shown="ab" * 32)])
        assert first_objection([*before, replace(judged, shown=None), *rest]) == "", "as earlier releases wrote it"

    def test_who_name_different_pairs_are_asked_about_each_other_s(self):
        fold, t, pairs = team()
        assert len(pairs) >= 2
        fold.audit(t, pairs[0], "ann")
        fold.audit(t, pairs[1], "ben")
        assert fold.state.rounds[t].panel.asks("ann").pair == pairs[1]
        fold.do(commands.JudgePair(t, [str(i) for i in pairs[1]], True, "ann"))
        fold.do(commands.JudgePair(t, [str(i) for i in pairs[0]], True, "ben"))
        closed = next(event for event in fold.events if isinstance(event, RoundClosed) and event.t == t)
        assert closed.audit == "reported"
        assert len(fold.past(t).seen().reports) == 2, "two accepted pairs share the penalty"
        whole(fold)

    def test_with_the_rule_any_every_pair_counts_at_once(self):
        fold, t, pairs = team(rule="any")
        fold.audit(t, pairs[0], "ann")
        fold.audit(t, None, "ben")
        assert fold.past(t).verdict.outcome == "reported"
        whole(fold)

    def test_a_skip_goes_to_one_colleague(self):
        fold, t, _ = team()
        fold.do(commands.Audit(t, "skip", "ann"))
        assert fold.state.rounds[t].verdict is None
        fold.audit(t, None, "ben")
        assert view(fold, t)["audit"]["verdict"] == "cleared"
        fold, t, _ = team()
        fold.do(commands.Audit(t, "skip", "ann"))
        fold.do(commands.Audit(t, "skip", "ben"))
        assert view(fold, t)["audit"]["verdict"] == "skipped"
        assert claim(fold.state)["unanswered"] == 1
        whole(fold)

    def test_when_the_wait_ends_what_was_named_is_learned(self):
        fold, t, pairs = team(Waits(audit=50, grace=0))
        fold.audit(t, pairs[0], "ann")
        fold.clock.forward(60)
        fold.advance(t)
        assert any(isinstance(event, Learned) and event.t == t for event in fold.events)
        assert view(fold, t)["audit"]["verdict"] == "reported"
        whole(fold)

    def test_each_takes_back_only_their_own_and_an_administrator_anybody_s(self):
        fold, t, pairs = team(Waits(grace=50))
        fold.audit(t, pairs[0], "ann")
        with pytest.raises(Conflict, match="Somebody else"):
            fold.do(commands.RetractAudit(t, "ben"))
        fold.do(commands.RetractAudit(t, "root", anybodys=True))
        assert isinstance(fold.events[-1], AuditRetracted)
        assert fold.events[-1].of == "ann"
        assert view(fold, t)["verdicts"] == []
        whole(fold)

    def test_an_opinion_says_how_it_came_about(self):
        fold, t, pairs = team()
        fold.audit(t, pairs[0], "ann")
        fold.audit(t, None, "ben")
        about = [str(i) for i in pairs[0]]
        with pytest.raises(InvalidParameter, match="`seconds` must be in"):
            fold.do(commands.JudgePair(t, about, True, "cyd", hints=True, seconds=-1.0))
        judged, *_ = fold.do(commands.JudgePair(t, about, True, "cyd", hints=True, seconds=3.5))
        opinion = view(fold, t)["opinions"][0]
        assert (opinion["hints"], opinion["seconds"]) == (True, 3.5)
        forged = [replace(event, seconds=-1.0) if event is judged else event for event in fold.events]
        assert "took -1.0 seconds" in first_objection(forged)
        whole(fold)

    def test_an_opinion_that_nobody_asked_for_is_forged(self):
        fold, t, pairs = team()
        fold.audit(t, pairs[0], "ann")
        fold.audit(t, None, "ben")
        forged = PairJudged(at=fold.events[-1].at, t=t, pair=pairs[0], objects=True, by="ben")
        assert "nobody was to be asked" in first_objection([*fold.events, forged])


class TestHowGood:
    def lived(self):
        """A team in which two agree often, and a third decides where they don't."""
        fold, t, pairs = team()
        said = [pairs[0] if t in fold.state.rounds else None]
        rng = np.random.default_rng(0)
        named = []
        for i in range(40):
            if t in fold.state.rounds:
                ids = fold.state.rounds[t].ids
                both = [said[0] if rng.random() < 0.8 else None for _ in range(2)]
                named.append(both)
                for by, pair in zip(("ann", "ben"), both, strict=True):
                    ask = ("none", ()) if pair is None else ("pair", [ids[j] for j in pair])
                    fold.do(commands.Audit(t, ask[0], by, ask[1]))
                if t in fold.state.rounds:
                    fold.do(commands.JudgePair(t, [ids[j] for j in said[0]], True, "cyd"))
            t, p = fold.open(THREE, prefix=f"{i}.")
            fold.do(commands.ReceiveLabels(t, {f"{i}.{j}": int(j > 0) for j in range(3)}, "decider"))
            high, low = far_apart(p)
            said = [(high, low)]
        return fold, named

    def test_two_blind_verdicts_are_compared_and_the_limit_is_corrected_by_what_they_find(self):
        fold, named = self.lived()
        said = claim(fold.state)["agreement"]
        assert said["both"] == sum(None not in both for both in named) > 2
        assert said["one"] == sum((first is None) != (second is None) for first, second in named) > 0
        upheld = fold.state.upheld
        assert (upheld.both, upheld.reported) == (said["both"], said["both"] + said["one"]), "a third upheld all"
        r = theory.detection_by_overlap(upheld, 0.05)
        assert (said["finds"], said["finds_from"]) == (r.estimate, r.low)
        count = counted(fold.state).rounds
        assert said["at_most"] == theory.review_limit(count, 0.025, r.low) >= claim(fold.state)["at_most"]
        assert "Reviewers find about" in said["sentence"]
        whole(fold)

    def test_agreement_is_counted_with_hints_and_without(self):
        fold, t, pairs = team()
        ids, before = fold.state.rounds[t].ids, claim(fold.state)["agreement"]
        assert before["with_hints"]["judged_twice"] == 0
        assert before["without_hints"] == {name: before[name] for name in before["without_hints"]}
        pair = [ids[i] for i in pairs[0]]
        fold.do(commands.Audit(t, "pair", "ann", pair, hints=True, seconds=12.5))
        whole(fold)  # while the round is open, and somebody is known to have asked why
        fold.do(commands.Audit(t, "pair", "ben", pair, hints=False, seconds=3))
        after = claim(fold.state)["agreement"]
        assert after["with_hints"] == {"judged_twice": 1, "both": 1, "one": 0, "same_pair": 1}
        assert after["without_hints"] == before["without_hints"]
        said = [(one["by"], one["hints"], one["seconds"]) for one in view(fold, t)["verdicts"]]
        assert said == [("ann", True, 12.5), ("ben", False, 3.0)]
        assert view(fold, t)["audit"]["seconds"] is None, "two verdicts have no common time"
        whole(fold)

    def test_nothing_is_said_of_reviewers_where_nobody_judged_twice(self):
        assert claim(taught(Fold(loans(review=Review()))).state)["agreement"] is None


class TestNothingIsDropped:
    def alone(self, grace=0):
        """A round that one person judges."""
        fold = taught(Fold(loans(review=Review(), waits=Waits(grace=grace))))
        t, p = fold.open(APART)
        return fold, t, far_apart(p)

    def test_a_report_against_a_none_is_in_the_log_in_the_view_and_in_the_claim(self):
        fold, t, pair = self.alone()
        fold.audit(t, None, "ann")
        fold.audit(t, pair, "ben")
        assert isinstance(fold.events[-1], VerdictLate)
        assert [said["by"] for said in view(fold, t)["late_verdicts"]] == ["ben"]
        fold.label(t, [0, 1])
        assert fold.past(t).verdict.outcome == "cleared", "learned as it was"
        assert claim(fold.state)["reported"] == claim(fold.state)["at_most"] == 1
        whole(fold)

    def test_so_is_one_that_comes_after_the_round_was_closed_once(self):
        fold, t, pair = self.alone()
        fold.audit(t, None, "ann")
        fold.label(t, [0, 1])
        assert claim(fold.state)["at_most"] == 0
        for by, clean in (("ben", 1.0), ("cyd", None)):
            ids = [str(i) for i in pair]
            fold.do(commands.Audit(t, "pair", by, ids, None, fold.past(t), clean))
            assert claim(fold.state)["at_most"] == 1
        assert len(view(fold, t)["late_verdicts"]) == 2
        whole(fold)

    def test_two_tabs_of_one_person_are_two_verdicts_and_one_sent_twice_is_one(self):
        fold, t, pair = self.alone(grace=50)
        fold.audit(t, None, "ann")
        assert fold.audit(t, None, "ann") == []
        assert [event.kind for event in fold.audit(t, pair, "ann")] == ["verdict_late"]
        assert fold.audit(t, pair, "ann") == []
        whole(fold)

    def test_a_late_verdict_says_how_it_came_about_and_no_log_can_say_nonsense_of_that(self):
        fold, t, _ = self.alone()
        fold.audit(t, None, "ann")
        fold.do(commands.Audit(t, "skip", "ben", hints=True, seconds=0))
        (late,) = view(fold, t)["late_verdicts"]
        assert (late["hints"], late["seconds"]) == (True, 0.0)
        assert {"hints", "seconds"}.isdisjoint(fold.events[-2].data()), "ann's says nothing of it"
        for wrong, why in (({"seconds": -1.0}, "took -1.0 seconds"), ({"hints": 1}, "neither yes nor no of hints")):
            assert why in first_objection([*fold.events[:-1], replace(fold.events[-1], **wrong)])
        whole(fold)

    @pytest.mark.parametrize("wrong", [{"hints": 1}, {"seconds": -0.1}, {"seconds": float("inf")}, {"seconds": "3"}])
    def test_a_verdict_that_came_about_in_no_possible_way_is_refused(self, wrong):
        fold, t, _ = self.alone()
        with pytest.raises(InvalidParameter, match=f"`{next(iter(wrong))}` must be"):
            fold.do(commands.Audit(t, "none", "ann", **wrong))

    def test_a_verdict_that_is_waited_for_can_not_be_called_late(self):
        fold, t, _ = self.alone()
        late = VerdictLate(at=fold.events[-1].at, t=t, verdict="cleared", reports=(), remark=None, by="ann")
        assert "calls a verdict late for which its round waits" in first_objection([*fold.events, late])


class TestThroughAnEngine:
    @pytest.fixture
    def bank(self, open_store, tmp_path):
        engine = Engine(open_store(str(tmp_path / "team.db")), Signer.generate(), None, Clock())
        engine.create(loans(review=Review(second=1.0)), "root")
        rng = np.random.default_rng(0)
        for i in range(40):
            rows = [[0.02, 0.02], [0.98, 0.98], rng.random(2)]
            people = [
                {"id": f"{i}.{j}", "features": dict(zip(("score", "age"), map(float, row), strict=True))}
                for j, row in enumerate(rows)
            ]
            t = engine.decide("loans", people, "decider")["t"]
            engine.label("loans", t, {f"{i}.0": 0, f"{i}.1": 1, f"{i}.2": 1}, "decider")
        return engine

    def test_a_round_is_handed_on_to_a_colleague_as_soon_as_one_has_answered(self, bank):
        first = bank.claim("loans", "ann")
        assert first["asks"] == "verdict"
        assert bank.claim("loans", "ben")["t"] != first["t"]
        bank.leases.release("loans", bank.claim("loans", "ben")["t"], "ben")
        bank.audit("loans", first["t"], "none", "ann")
        assert bank.claim("loans", "ben")["t"] == first["t"]
        assert bank.claim("loans", "ann")["t"] != first["t"]

    def test_a_lapsed_lease_loses_no_verdict(self, bank):
        t = bank.claim("loans", "ann", 10)["t"]
        bank.clock.forward(11)
        assert bank.claim("loans", "ben")["t"] == t
        bank.require_claimed("loans", t, "ann")
        assert bank.audit("loans", t, "none", "ann")["disposition"] == "taken"
        assert bank.audit("loans", t, "none", "ben")["disposition"] == "taken"
        assert bank.audit("loans", t, "skip", "ann")["disposition"] == "late"
        assert bank.audit("loans", t, "skip", "ann")["disposition"] == "duplicate"
        seen = bank.round("loans", t)
        assert [said["by"] for said in seen["verdicts"] + seen["late_verdicts"]] == ["ann", "ben", "ann"]

    def test_who_is_asked_about_a_pair_is_shown_it(self, bank):
        t = bank.claim("loans", "ann")["t"]
        people = bank.round("loans", t)["people"]
        high, low = far_apart([person["probability"] for person in people])
        pair = [people[high]["id"], people[low]["id"]]
        bank.audit("loans", t, "pair", "ann", pair=pair)
        bank.audit("loans", t, "none", "ben")
        asked = bank.claim("loans", "cyd")
        assert (asked["t"], asked["asks"], asked["pair"]) == (t, "opinion", pair)
        bank.judge_pair("loans", t, pair, True, "cyd")
        assert bank.round("loans", t)["audit"]["pair"] == pair

    def disagree(self, bank):
        """A round in which ann and ben named different pairs, each of which the other is now asked about."""
        t = bank.claim("loans", "ann")["t"]
        ranked = sorted(bank.round("loans", t)["people"], key=lambda person: -person["probability"])
        high, low, other = ranked[0], ranked[-1], ranked[1]
        third = [other["id"], low["id"]]
        if other["probability"] - low["probability"] <= 0.1:
            third = [high["id"], other["id"]]
        pairs = {"ann": [high["id"], low["id"]], "ben": third}
        bank.audit("loans", t, "pair", "ann", pair=pairs["ann"])
        assert bank.claim("loans", "ben")["t"] == t
        bank.audit("loans", t, "pair", "ben", pair=pairs["ben"])
        return t, pairs

    def test_what_only_one_person_is_asked_stays_theirs_whatever_becomes_of_leases(self, bank):
        t, pairs = self.disagree(bank)
        for by, other in (("ann", "ben"), ("ben", "ann")):
            asked = bank.claim("loans", by, 6)
            assert (asked["t"], asked["pair"], asked["yours"]) == (t, pairs[other], True)
        bank.clock.forward(3600)
        assert bank.claim("loans", "cyd")["t"] != t
        for by, other in (("ann", "ben"), ("ben", "ann")):
            assert bank.renew("loans", t, by, 6)["t"] == t
            bank.judge_pair("loans", t, pairs[other], True, by)
        assert bank.round("loans", t)["audit"]["verdict"] == "reported"

    def test_nobody_is_asked_about_a_pair_of_which_one_was_erased(self, bank):
        t, pairs = self.disagree(bank)
        (gone,) = set(pairs["ben"]) - set(pairs["ann"])
        bank.erase("loans", gone, "root")
        assert bank.claim("loans", "ann")["t"] != t
        asked = bank.claim("loans", "ben")
        assert (asked["t"], asked["pair"]) == (t, pairs["ann"])
        assert gone not in str(asked)

    def test_a_round_whose_last_questions_are_about_somebody_erased_waits_no_longer(self, bank, tmp_path):
        t, pairs = self.disagree(bank)
        (both,) = set(pairs["ben"]) & set(pairs["ann"])
        assert bank.stream("loans")["settings"]["waits"]["audit"] is None, "it would wait for ever"
        bank.erase("loans", both, "root")
        assert bank.claim("loans", "ann")["t"] != t
        bank.tick()
        assert bank.round("loans", t)["learned"] is not None
        assert t not in bank.streams.get("loans").latest.state.rounds
        assert verify(write(tmp_path / "export.jsonl", bank.export("loans"))).first is None

    def test_who_takes_a_verdict_back_may_go_on_with_the_round_unless_a_colleague_has_it(self, bank):
        bank.change_waits("loans", {"grace": 60}, "root")
        t = bank.claim("loans", "ann")["t"]
        bank.audit("loans", t, "none", "ann")  # from here on a colleague may have it
        bank.retract("loans", t, "ann")
        assert bank.renew("loans", t, "ann")["t"] == t
        assert bank.claim("loans", "ben")["t"] != t
        bank.audit("loans", t, "none", "ann")
        assert bank.claim("loans", "cyd")["t"] == t
        bank.retract("loans", t, "ann")
        with pytest.raises(Conflict, match="Somebody else"):
            bank.renew("loans", t, "ann")

    @pytest.mark.parametrize("after", [False, True], ids=["before it is on disk", "before anybody hears of it"])
    @pytest.mark.parametrize("what", ["verdict", "late verdict", "opinion", "retraction"])
    def test_an_answer_sent_again_to_another_process_after_a_kill_is_in_the_log_once(self, bank, what, after):
        bank.change_waits("loans", {"grace": 60}, "root")
        if what == "opinion":
            t, pairs = self.disagree(bank)
        else:
            t = bank.claim("loans", "ann")["t"]
        if what in ("late verdict", "retraction"):
            bank.audit("loans", t, "none", "ann")
        if what == "late verdict":
            bank.audit("loans", t, "none", "ben")
        send = {
            "verdict": lambda engine, key: engine.audit("loans", t, "none", "ann", key=key),
            "late verdict": lambda engine, key: engine.audit("loans", t, "skip", "ann", key=key),
            "opinion": lambda engine, key: engine.judge_pair("loans", t, pairs["ben"], True, "ann", key),
            "retraction": lambda engine, key: engine.retract("loans", t, "ann", key),
        }[what]
        before, key = bank.store.head("loans")[0], Idempotency("page ann", "a key of some length", "request")
        with pytest.raises(Killed):
            send(doomed(bank, after), key)
        assert bank.store.head("loans")[0] == before + after
        other = Engine(bank.store, bank.signer, None, bank.clock)
        answers = [send(other, key) for _ in range(2)]
        assert answers[0] == answers[1]
        assert answers[0]["receipt"]["seq"] == before + 1 == bank.store.head("loans")[0]
        view = other.round("loans", t)
        given = {"verdict": (1, 0, 0), "late verdict": (2, 1, 0), "opinion": (2, 0, 1), "retraction": (0, 0, 0)}
        assert tuple(len(view[name]) for name in ("verdicts", "late_verdicts", "opinions")) == given[what]


class Killed(BaseException):
    """The process is gone."""


def doomed(engine, after):
    """Another process on the same log, whose next append is its last act: before it is on disk, or after."""

    class Doomed(type(engine.store)):
        def submit(self, append, *, wake=None):
            if after:
                super().submit(append).result()
            raise Killed

    store = object.__new__(Doomed)
    store.__dict__.update(vars(engine.store))
    return Engine(store, engine.signer, None, engine.clock)
