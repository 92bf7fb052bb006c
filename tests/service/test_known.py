"""Known rounds: who may be shown which, what counts, and that nothing of it is learned, claimed or given away."""

from __future__ import annotations

from dataclasses import replace

import pytest
from forging import SIGNER, write
from loans import Clock, Fold, fingerprint, loans
from test_panel import THREE, whole
from test_reviews import APART, first_objection, lived

from likewise import theory
from likewise.errors import InvalidParameter
from likewise.service.engine import Engine
from likewise.service.proof import standalone
from likewise.service.proof.replay import verify
from likewise.service.refusals import Conflict
from likewise.service.stream import commands
from likewise.service.stream.claims import claim, counted
from likewise.service.stream.events import KnownAnswered, KnownMarked, KnownRetracted, KnownShown, ReviewDrawn
from likewise.service.stream.known import Known, KnownRound
from likewise.service.stream.settings import Review, Waits
from likewise.service.stream.transcript import certificate, transcript
from likewise.theory import Gold, Overlap


def judged(grace=0.0, gold=1.0, rounds=16):
    """A stream in which every round is judged by ann and ben, who find no violation, and gold rounds are due."""
    fold = Fold(loans(review=Review(second=1.0, gold=gold), waits=Waits(grace=grace)))
    for _ in range(rounds):
        t, _ = fold.open(APART)
        fold.label(t, [0, 1])
        for by in ("ann", "ben"):
            if t in fold.state.rounds and fold.state.rounds[t].verdict is None:
                fold.audit(t, None, by)
        fold.clock.forward(grace + 1)
        fold.advance(t)
    return fold


def reported(fold, by=("ann", "ben")):
    """One more round, in which everybody names the same pair; its number and the pair."""
    t, p = fold.open(THREE)
    fold.label(t, [0, 1, 1])
    pair = next((i, j) for i in range(3) for j in range(3) if p[i] - p[j] > 0.1)
    for name in by:
        fold.audit(t, pair, name)
    fold.clock.forward(fold.state.waits.grace + 1)
    fold.advance(t)
    assert t not in fold.state.rounds
    return t, pair


def mark(fold, t, use="gold", **more):
    return fold.do(commands.MarkKnown(t, use, "lead", fold.past(t), **more))


def due(fold):
    """One more drawn round, whose lot asks for a gold one; it is over."""
    t, _ = fold.open(APART)
    assert fold.state.rounds[t].verdict is None
    fold.label(t, [0, 1])
    for by in ("ann", "ben"):
        fold.audit(t, None, by)
    fold.clock.forward(fold.state.waits.grace + 1)
    fold.advance(t)
    return t


def answer(fold, t, number, verdict, by="cyd", pair=(), use="gold"):
    return fold.do(commands.AnswerKnown(t, number, use, verdict, by, fold.past(t), pair))


def is_whole(path):
    """Whether both checkers find nothing wrong with an export."""
    alone = standalone.check(standalone.read_lines(str(path)), None, SIGNER.public_key)
    return (verify(path, key=SIGNER.public_key).first, alone.first) == (None, None)


class TestMarks:
    def test_only_what_two_people_agreed_on_is_known(self):
        fold = judged()
        t, pair = reported(fold)
        assert fold.past(t).agreed == (pair,)
        (marked,) = mark(fold, t)
        assert (marked.pairs, marked.judged) == ((pair,), ("ann", "ben"))
        assert mark(fold, t) == [], "the same again is nothing"
        alone = Fold()
        number, _ = alone.open(APART)
        alone.label(number, [0, 1])
        alone.audit(number)
        with pytest.raises(Conflict, match="at least two people"):
            alone.do(commands.MarkKnown(number, "gold", "lead", alone.past(number)))
        whole(fold)

    def test_an_open_round_and_one_that_was_overturned_are_refused(self):
        fold = judged()
        t, _ = reported(fold)
        with pytest.raises(Conflict, match="spoken against"):
            mark(fold, t, overturned=True)
        number, _ = fold.open(APART)
        with pytest.raises(Conflict, match="still open"):
            fold.do(commands.MarkKnown(number, "gold", "lead"))
        with pytest.raises(InvalidParameter, match="`use` must be one of"):
            mark(fold, t, "silver")
        with pytest.raises(Conflict, match="not a known round"):
            mark(fold, t, None)

    def test_a_correction_or_an_erasure_ends_it_and_voids_what_was_held_against_it(self):
        fold = judged()
        t, _ = reported(fold)
        mark(fold, t)
        number = due(fold)
        fold.do(commands.ShowKnown(t, number, "cyd"))
        answer(fold, t, number, "none")
        assert fold.state.known.gold("cyd") == Gold(missed=1)
        counted = commands.CorrectAudit(t, "none", "lead", past=fold.past(t), counts_as="reported")
        fold.do(counted)
        assert fold.state.known.mark(t) is None
        assert fold.state.known.gold("cyd") == Gold(), "nobody is held against an answer that was wrong"
        whole(fold)
        assert "not known" in first_objection(
            [*fold.events, next(e for e in fold.events if isinstance(e, KnownMarked))]
        )

    def test_a_forged_answer_is_seen(self):
        fold = judged()
        t, _ = reported(fold)
        (marked,) = mark(fold, t)
        forged = [replace(each, pairs=()) if each is marked else each for each in fold.events]
        assert "should know" in first_objection(forged)


class TestGold:
    def test_it_waits_for_a_lot_and_goes_to_somebody_who_never_judged_it(self):
        fold = judged()
        t, pair = reported(fold)
        mark(fold, t)
        assert fold.state.known.due == 0, "only lots after the mark ask for it"
        number = due(fold)
        assert fold.state.known.due == 1
        for by in ("ann", "ben", "lead"):
            with pytest.raises(Conflict):
                fold.do(commands.ShowKnown(t, number, by))
        fold.do(commands.ShowKnown(t, number, "cyd"))
        with pytest.raises(Conflict):
            fold.do(commands.ShowKnown(t, number, "dan"))
        assert fold.state.known.due == 0
        answer(fold, t, number, "pair", pair=[str(i) for i in pair])
        assert fold.state.known.gold() == Gold(found=1)
        whole(fold)

    def test_every_draw_follows_from_its_nonce_for_every_checker(self):
        fold = judged(gold=0.5, rounds=30)
        drawn = [event for event in fold.events if isinstance(event, ReviewDrawn)]
        assert {event.gold for event in drawn} == {True, None}
        told = drawn[-1]
        forged = [replace(each, gold=None if told.gold else True) if each is told else each for each in fold.events]
        assert "should have the probability" in first_objection(forged)

    def test_nothing_is_learned_counted_or_claimed(self):
        fold = judged()
        t, pair = reported(fold)
        mark(fold, t)
        number = due(fold)
        before, claimed = fold.state, claim(fold.state)
        fold.do(commands.ShowKnown(t, number, "cyd"))
        answer(fold, t, number, "pair", pair=[str(i) for i in pair])
        after = fold.state
        assert replace(after, known=Known()) == replace(before, known=Known()) or fingerprint(
            replace(after, known=Known())
        ) == fingerprint(replace(before, known=Known()))
        same = {name: value for name, value in claim(after).items() if name not in ("known", "agreement")}
        assert same == {name: value for name, value in claimed.items() if name not in ("known", "agreement")}
        assert transcript(fold.events, after).rounds == after.opened

    def test_what_nobody_can_be_shown_does_not_pile_up(self):
        known = Known()
        for t in range(1, 9):
            known = known.marked(KnownRound(t, "gold", (), ("ann",))).drawn()
        assert known.due == 2
        assert known.unmarked(1).due == 2
        assert Known().drawn().due == 0

    def test_another_pair_than_an_upheld_one_is_a_miss_and_a_skip_is_nothing(self):
        known = Known().marked(KnownRound(3, "gold", ((0, 1),), ())).marked(KnownRound(4, "gold", (), ()))
        known = known.drawn().drawn().shown(3, 9, "cyd").shown(4, 8, "cyd")
        assert known.answered(3, "cyd", "reported", ((0, 2),), 0.0).gold("cyd") == Gold(missed=1)
        assert known.answered(3, "cyd", "reported", ((0, 2), (0, 1)), 0.0).gold("cyd") == Gold(found=1)
        assert known.answered(4, "cyd", "reported", ((0, 2),), 0.0).gold("cyd") == Gold(false=1)
        assert known.answered(4, "cyd", "skipped", (), 0.0).gold("cyd") == Gold()
        assert known.answered(4, "cyd", "cleared", (), 0.0).misses("cyd") == []

    def test_the_first_answer_counts_unless_it_is_taken_back_in_time(self):
        fold = judged(grace=50.0)
        t, pair = reported(fold)
        mark(fold, t)
        number = due(fold)
        fold.do(commands.ShowKnown(t, number, "cyd"))
        answer(fold, t, number, "none")
        assert answer(fold, t, number, "none") == []
        fold.do(commands.RetractKnown(t, number, "cyd"))
        assert fold.state.known.gold("cyd") == Gold()
        answer(fold, t, number, "pair", pair=[str(i) for i in pair])
        answer(fold, t, number, "none")
        assert [event.verdict for event in fold.events if isinstance(event, KnownAnswered)][-1] == "cleared"
        assert fold.state.known.gold("cyd") == Gold(found=1)
        fold.clock.forward(51)
        with pytest.raises(Conflict, match=f"Round {number} is closed"):
            fold.do(commands.RetractKnown(t, number, "cyd"))
        whole(fold)
        last = fold.events[-1]
        forged = KnownRetracted(at=last.at, t=t, by="dan")
        assert "not there" in first_objection([*fold.events, forged])
        unasked = KnownShown(at=last.at, t=t, number=number, by="dan")
        assert "nobody was to be shown" in first_objection([*fold.events, unasked])

    def test_words_about_it_name_the_number_that_was_shown(self):
        fold = judged()
        t, _ = reported(fold)
        mark(fold, t)
        number = due(fold)
        fold.do(commands.ShowKnown(t, number, "cyd"))
        with pytest.raises(InvalidParameter, match=f"name two people of round {number}"):
            answer(fold, t, number, "pair", pair=["nobody", "0"])


class TestDetection:
    """What is found of what is known goes into the limit, in the place of what two reviewers tell of each other."""

    def answered(self, found, missed):
        known = Known()
        for t in range(1, found + missed + 1):
            known = known.marked(KnownRound(t, "gold", ((0, 1),), ())).drawn().shown(t, t + 100, "cyd")
            known = known.answered(t, "cyd", "reported" if t <= found else "cleared", ((0, 1),) * (t <= found), 0.0)
        return replace(lived(rounds=10, share=0.5).state, known=known)

    def test_too_few_say_nothing_and_enough_correct_the_limit(self):
        few = claim(self.answered(12, 1))
        assert few["known"]["at_most"] is None
        assert "too few" in few["known"]["sentence"]
        state = self.answered(45, 1)
        said, count = claim(state)["known"], counted(state).rounds
        assert said["finds_from"] == theory.detection_by_gold(1, 46, 0.025)
        assert said["at_most"] == theory.review_limit(count, 0.025, said["finds_from"]) > claim(state)["at_most"]
        assert "97.5 % confidence they find at least 88 %" in said["sentence"].replace("%", " %")

    def test_where_both_are_known_one_limit_is_told(self):
        state = replace(self.answered(45, 1), overlap=Overlap(20, 2, 2, 300), upheld=Overlap(20, 2, 2, 300))
        assert "Taking that into account" not in claim(state)["agreement"]["sentence"]
        assert "Taking that into account" in claim(replace(state, known=Known()))["agreement"]["sentence"]
        letter = certificate(transcript(lived(rounds=10, share=0.5).events, state), state)["letter"]
        assert letter.count("Taking that into") == 1


class TestPractice:
    def test_it_is_answered_once_and_counts_nowhere(self):
        fold = judged()
        t, pair = reported(fold)
        mark(fold, t, "practice")
        assert [each.t for each in fold.state.known.for_("cyd", "practice")] == [t]
        answer(fold, t, t, "pair", pair=[str(i) for i in pair], use="practice")
        look = fold.state.known.look(t, "cyd")
        assert look.right
        assert fold.state.known.gold() == Gold()
        assert fold.state.known.for_("cyd", "practice") == []
        whole(fold)
        with pytest.raises(Conflict, match="not claimed"):
            answer(fold, t, t, "none", by="dan")


class TestEngine:
    @pytest.fixture
    def engine(self, store):
        clock = Clock()
        return Engine(store, SIGNER, None, clock), clock

    def played(self, engine, clock, share=1.0):
        """Rounds that ann and ben judge; the number of one in which both name a pair, and the pair."""
        settings = loans(review=Review(second=1.0, gold=share), waits=Waits(grace=5.0), k=3)
        engine.create(settings, "root")
        for i in range(16):
            self.round(engine, clock, i)
        return self.round(engine, clock, "x", report=True)

    def round(self, engine, clock, i, report=False, people=APART):
        sent = [{"id": f"{i}.{j}", "features": {"score": a, "age": b}} for j, (a, b) in enumerate(people)]
        opened = engine.decide("loans", sent, "decider")
        t, p = opened["t"], [each["probability"] for each in opened["decisions"]]
        engine.label("loans", t, {each["id"]: j for j, each in enumerate(sent)}, "decider")
        pair = [sent[j]["id"] for j in sorted(range(len(p)), key=lambda j: -p[j])][:: len(p) - 1]
        round_ = engine.streams.get("loans").current().rounds.get(t)
        for by in ("ann", "ben") if round_ is not None and round_.verdict is None else ():
            engine.audit("loans", t, "pair" if report else "none", by, pair=pair if report else ())
        clock.forward(6)
        engine.tick()
        return t, pair

    def test_a_reviewer_cannot_tell_it_from_others(self, engine, tmp_path):
        engine, clock = engine
        t, pair = self.played(engine, clock)
        engine.mark_known("loans", t, "gold", "lead")
        self.round(engine, clock, "y")
        sent = [{"id": f"z.{j}", "features": {"score": a, "age": b}} for j, (a, b) in enumerate(APART)]
        waiting = engine.decide("loans", sent, "decider")["t"]
        shown = engine.claim("loans", "cyd")
        assert shown.keys() == {*engine.claim("loans", "ann")}
        assert shown["t"] not in (t, waiting)
        assert shown["opened_at"] == engine.round("loans", shown["t"])["opened_at"]
        assert {person["id"] for person in shown["people"]} == set(pair)
        assert engine.claim("loans", "cyd")["t"] == shown["t"], "until it is answered"
        assert engine.renew("loans", shown["t"], "cyd")["t"] == shown["t"]
        assert engine.explain("loans", shown["t"], "cyd", pair)
        taken = engine.audit("loans", shown["t"], "pair", "cyd", pair=pair, reason="alike", seconds=4.0)
        assert taken["disposition"] == "taken"
        assert taken["t"] == shown["t"]
        assert taken["receipt"] is not None
        assert engine.retract("loans", shown["t"], "cyd")["t"] == shown["t"]
        engine.audit("loans", shown["t"], "pair", "cyd", pair=pair)
        clock.forward(6)
        assert engine.correct("loans", shown["t"], "none", "cyd")["t"] == shown["t"]
        assert engine.streams.get("loans").current().known.gold("cyd") == Gold(found=1)
        engine.leases.release("loans", waiting, "ann")
        assert engine.claim("loans", "cyd")["t"] == waiting
        assert [each["by"] for each in engine.round("loans", t)["known_answers"]] == ["cyd", "cyd"]
        assert engine.round("loans", shown["t"])["late_verdicts"] == []
        path = write(tmp_path / "export.jsonl", list(engine.export("loans")))
        assert is_whole(path)

    def test_nobody_is_shown_one_where_no_round_waits(self, engine):
        engine, clock = engine
        t, _ = self.played(engine, clock)
        engine.mark_known("loans", t, "gold", "lead")
        self.round(engine, clock, "y")
        assert engine.streams.get("loans").current().known.due == 1
        assert engine.claim("loans", "cyd") is None

    def test_erasing_somebody_leaves_the_reviewer_unharmed_and_the_log_whole(self, engine, tmp_path):
        engine, clock = engine
        t, pair = self.played(engine, clock)
        engine.mark_known("loans", t, "gold", "lead")
        self.round(engine, clock, "y")
        sent = [{"id": f"z.{j}", "features": {"score": a, "age": b}} for j, (a, b) in enumerate(APART)]
        engine.decide("loans", sent, "decider")
        number = engine.claim("loans", "cyd")["t"]
        engine.audit("loans", number, "skip", "cyd", note="somebody I know")
        engine.retract("loans", number, "cyd")
        engine.erase("loans", pair[0], "root")
        engine.audit("loans", number, "none", "cyd")
        assert engine.streams.get("loans").current().known.gold("cyd") == Gold()
        assert engine.round("loans", t)["known_answers"][0]["note"] == ""
        with pytest.raises(Conflict, match="can't be a known round"):
            engine.mark_known("loans", t, "gold", "lead")
        path = write(tmp_path / "export.jsonl", list(engine.export("loans")))
        assert is_whole(path)

    def test_practice_tells_the_answer_afterwards(self, engine):
        engine, clock = engine
        t, pair = self.played(engine, clock)
        assert engine.practice("loans", "cyd") is None
        engine.mark_known("loans", t, "practice", "lead")
        shown = engine.practice("loans", "cyd")
        assert (shown["t"], shown["left"]) == (t, 1)
        told = engine.practise("loans", t, "none", "cyd")
        assert (told["right"], told["known"]) == (False, [pair])
        assert engine.practice("loans", "cyd") is None
        assert engine.practice("loans", "ann") is None, "who judged it learns nothing"


def test_a_log_of_long_ago_still_follows():
    """Events without the new name are read as before."""
    fold = lived(rounds=10, share=0.5)
    assert all("gold" not in event.data() for event in fold.events if isinstance(event, ReviewDrawn))
    assert certificate(transcript(fold.events, fold.state), fold.state)["reviews"]["up_to"] >= 0
