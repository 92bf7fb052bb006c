"""Which rounds are reviewed: cleared by arithmetic, drawn by lot, and what is then proved of all of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from forging import SIGNER, rechained, renumbered, write
from loans import BANK, SECRET, Clock, Fold, far_apart, fingerprint, loans

from likewise import theory
from likewise.errors import InvalidParameter
from likewise.service.engine import Engine
from likewise.service.proof import standalone
from likewise.service.proof.drawn import lot
from likewise.service.proof.replay import verify
from likewise.service.proof.reviews import Reviews
from likewise.service.refusals import Conflict
from likewise.service.stream import commands
from likewise.service.stream.claims import claim, prospect
from likewise.service.stream.drawing import Drawing
from likewise.service.stream.events import Audited, BriefChanged, ClearedByArithmetic, Learned, ReviewDrawn, RoundClosed
from likewise.service.stream.lots import Lot, review_secret
from likewise.service.stream.objections import Rules
from likewise.service.stream.plain_state import dump_state, load_state
from likewise.service.stream.settings import Review, Waits
from likewise.service.stream.state import State
from likewise.service.stream.status import status
from likewise.service.stream.transcript import certificate, transcript

ALIKE = [[0.05, 0.05], [0.06, 0.06]]
APART = [[0.05, 0.05], [0.95, 0.95]]


def fold_with(**review):
    return Fold(loans(review=Review(**review)))


def taught(fold, rounds=12):
    """Labels that tell people apart, so that later rounds hold gaps."""
    for _ in range(rounds):
        t, _ = fold.open(APART)
        fold.label(t, [0, 1])
        if t in fold.state.rounds and fold.state.rounds[t].verdict is None:
            fold.audit(t, None)
    return fold


def lived(rounds=60, seed=0, audit=50.0, **review):
    """A stream with skips, expiries, reports, late corrections and rounds that close in any order."""
    fold = Fold(loans(review=Review(**review), waits=Waits(audit=audit, grace=5)))
    taught(fold)
    rng, waiting = np.random.default_rng(seed), []
    for i in range(rounds):
        t, p = fold.open(rng.random((4, 2)), prefix=f"{i}.")
        fold.do(commands.ReceiveLabels(t, {f"{i}.{j}": int(rng.random() < 0.5) for j in range(4)}, "decider"))
        if t in fold.state.rounds and fold.state.rounds[t].verdict is None:
            waiting.append((t, i, p))
        while waiting and rng.random() < 0.6:
            t, i, p = waiting.pop(int(rng.integers(len(waiting))))
            high, low = far_apart(p)
            said = rng.choice(["pair", "none", "none", "skip"])
            pair = [f"{i}.{high}", f"{i}.{low}"] if said == "pair" else ()
            if t in fold.state.rounds and fold.state.rounds[t].verdict is None:
                fold.do(commands.Audit(t, said, "ann", pair))
        fold.clock.forward(float(rng.integers(1, 12)))
        for t in list(fold.state.rounds):
            fold.advance(t)
    return fold


class TestClearedByArithmetic:
    def test_a_round_in_which_nobody_can_be_reported_needs_nobody(self):
        fold = fold_with()
        t, p = fold.open(APART)
        assert np.ptp(p) == 0
        assert [event.kind for event in fold.events[1:]] == ["round_opened", "cleared_by_arithmetic"]
        assert [event.kind for event in fold.audit(t)] == ["verdict_late"]
        fold.label(t, [0, 1])
        assert fold.state.totals.cleared == 1

    def test_from_the_first_gap_above_the_level_on_somebody_is_asked(self):
        fold = taught(fold_with())
        t, p = fold.open(APART)
        assert np.ptp(p) > fold.state.stream.settings.level
        assert fold.state.rounds[t].verdict is None
        t, p = fold.open([[0.95, 0.95], [0.94, 0.94]])
        assert np.ptp(p) <= fold.state.stream.settings.level
        assert isinstance(fold.events[-1], ClearedByArithmetic)

    def test_whoever_wants_to_be_asked_about_every_round_is(self):
        fold = fold_with(ask_all=True)
        t, _ = fold.open(APART)
        fold.audit(t)
        assert isinstance(fold.events[-1], Audited)
        with pytest.raises(InvalidParameter, match="`ask_all` must be false where rounds are drawn by lot"):
            Review(ask_all=True, share=0.5)

    def test_the_rules_miss_it_and_refuse_it_elsewhere(self):
        fold = taught(fold_with())
        fold.open(APART)
        cleared = next(event for event in fold.events if isinstance(event, ClearedByArithmetic))
        without = [event for event in fold.events if event is not cleared]
        assert "cleared_by_arithmetic must directly follow" in first_objection(without)
        twice = [*fold.events, replace(cleared, t=fold.state.opened)]
        assert "does not announce it" in first_objection(twice)


def first_objection(events):
    state, rules = State(), Rules()
    for event in events:
        wrong = rules.objection(state, event)
        if wrong:
            return wrong
        state = event.evolve(state)
    return ""


class TestLots:
    def test_every_draw_follows_from_its_nonce_and_every_probability_from_the_gaps(self):
        fold = taught(fold_with(share=0.4))
        rng = np.random.default_rng(0)
        gaps = []
        for i in range(40):
            t, p = fold.open(rng.random((4, 2)), prefix=f"{i}.")
            if np.ptp(p) <= 0.1:
                continue
            drawn = fold.events[-1]
            assert isinstance(drawn, ReviewDrawn)
            earlier = [event for event in fold.events if isinstance(event, ReviewDrawn)][:-1]
            gaps = list(fold.state.drawing.gaps)
            assert drawn.probability == theory.review_probability(float(np.ptp(p)), gaps[:-1], 0.4)
            nonce = bytes.fromhex(drawn.lot.nonce)
            assert drawn.drawn == (lot(nonce, "loans", t, p.tolist(), "review") < drawn.probability)
            assert drawn.lot == Lot.of(review_secret(SECRET), "loans", len(earlier) + 1)
        assert len(gaps) > 20
        assert first_objection(fold.events) == ""

    def test_the_share_is_kept_on_average(self):
        fold = taught(fold_with(share=0.3))
        rng = np.random.default_rng(1)
        for i in range(400):
            fold.open(rng.random((4, 2)), prefix=f"{i}.")
        drawn = [event for event in fold.events if isinstance(event, ReviewDrawn)][-300:]
        expected = sum(event.probability for event in drawn)
        spread = math.sqrt(sum(event.probability * (1 - event.probability) for event in drawn))
        assert abs(sum(event.drawn for event in drawn) - expected) < 4 * spread
        assert expected / len(drawn) == pytest.approx(0.3, abs=0.03)

    def test_a_budget_affords_a_share_of_the_past_day(self):
        a_day = Drawing()
        for i in range(200):
            a_day = a_day.opened(0.5, 432.0 * i)  # 200 a day
        assert a_day.share(Review(budget=20)) == pytest.approx(0.1, rel=0.05)
        back = Drawing()  # a clock may go back, and a log says so
        for hour in (40, 10, 40, 40):
            back = back.opened(0.5, 3600.0 * hour)
        assert back.hours == ((40, 3),)
        assert Drawing().opened(0.5, 0.0).share(Review(budget=20)) == 1.0
        assert sum(rounds for _, rounds in a_day.opened(0.5, 86_400.0 * 3).hours) == 1

    def test_nobody_is_asked_about_a_round_that_was_not_drawn_and_labels_alone_are_learned(self):
        fold = taught(fold_with(share=0.01, choose="equal"), 30)
        undrawn = [event for event in fold.events if isinstance(event, ReviewDrawn) and not event.drawn]
        assert undrawn
        t = undrawn[-1].t
        assert t not in fold.state.rounds
        assert any(isinstance(event, Learned) and event.t == t for event in fold.events)
        assert fold.state.totals.undrawn == len(undrawn)
        assert not fold.past(t).seen().reviewed
        t, _ = fold.open(APART)
        if t in fold.state.rounds and fold.state.rounds[t].verdict is not None:
            assert [event.kind for event in fold.audit(t)] == ["verdict_late"]

    def test_a_plan_changes_from_the_next_round_on(self):
        fold = taught(fold_with())
        before, _ = fold.open(APART)
        fold.do(commands.ChangePlan({"share": 0.5}, "root"))
        after, _ = fold.open(APART)
        assert [event.t for event in fold.events if isinstance(event, ReviewDrawn)] == [after]
        assert fold.state.rounds[before].q == 1.0
        fold.do(commands.ChangePlan({"share": 1.0}, "root"))
        fold.open(APART)
        assert first_objection(fold.events) == ""

    def test_a_stream_without_a_commitment_draws_no_lots(self):
        fold = Fold.__new__(Fold)
        fold.state, fold.events, fold.clock = State(), [], Clock()
        fold.do(commands.CreateStream(loans(), "root", "00"))
        with pytest.raises(Conflict, match="can't draw lots"):
            fold.do(commands.ChangePlan({"ask_all": False, "share": 0.5}, "root"))

    @pytest.mark.parametrize(
        ("given", "sentence"),
        [
            ({"share": 0}, "`share` must be in \\(0, 1\\]"),
            ({"share": 0.5, "budget": 3}, "`budget` must be left out where a share is given"),
            ({"second": 1.5}, "`second` must be in \\[0, 1\\]"),
        ],
    )
    def test_a_plan_that_makes_no_sense_is_refused_in_a_sentence(self, given, sentence):
        with pytest.raises(InvalidParameter, match=sentence):
            Review(**given)


class TestWhatIsProvedOfAllRounds:
    @pytest.mark.parametrize("seed", range(6))
    def test_parts_that_join_in_any_order_are_the_counts_of_the_rounds_in_order(self, seed):
        fold = lived(seed=seed, share=0.5)
        said = claim(fold.state)
        probabilities = {event.t: event.probability for event in fold.events if isinstance(event, ReviewDrawn)}
        closed = {event.t: event.counts for event in fold.events if isinstance(event, RoundClosed)}
        open_ = {t: round_.answer for t, round_ in fold.state.rounds.items()}
        outcomes = closed | open_
        assert all(outcomes[t] is not None for t in range(1, said["up_to"] + 1))
        assert said["up_to"] == fold.state.opened or outcomes[said["up_to"] + 1] is None
        rounds = [(probabilities.get(t, 1.0), outcomes[t]) for t in range(1, said["up_to"] + 1)]
        count = theory.count_rounds(fold.state.drawing.floor, rounds)
        assert {"reported", "clean", "undrawn", "cleared"} <= {outcome for _, outcome in rounds}
        assert said["at_most"] == theory.review_limit(count)
        assert said["at_least"] == theory.review_lower_limit(count)
        assert said["estimate"] == pytest.approx(count.estimate)
        assert (said["cleared"], said["drawn"], said["undrawn"]) == (count.cleared, count.drawn, count.undrawn)

    def test_live_and_replayed_states_are_the_same_to_the_bit(self):
        fold = lived(share=0.5)
        again = State()
        for event in fold.events:
            again = event.evolve(again)
        assert fingerprint(again) == fingerprint(fold.state)
        assert fingerprint(load_state(dump_state(fold.state))) == fingerprint(fold.state)
        assert first_objection(fold.events) == ""

    def test_today_s_queue_does_not_count_as_found(self):
        fold = taught(fold_with(share=0.9))
        before = claim(fold.state)
        opened = fold.state.opened
        for i in range(30):
            fold.open(APART, prefix=f"{i}.")
        after = claim(fold.state)
        assert after["waiting"] > 10
        assert after["at_most"] <= before["at_most"] + after["up_to"] - opened
        assert after["unanswered"] == before["unanswered"]

    def test_expired_and_skipped_rounds_count_as_found(self):
        fold = Fold(loans(review=Review(), waits=Waits(audit=10, grace=0)))
        taught(fold)
        for how in ("skip", "expire"):
            t, _ = fold.open(APART)
            fold.label(t, [0, 1])
            if how == "skip":
                fold.do(commands.Audit(t, "skip", "ann"))
            else:
                fold.clock.forward(11)
                fold.advance(t)
        said = claim(fold.state)
        assert (said["unanswered"], said["reported"], said["at_most"]) == (2, 0, 2)

    def test_where_every_round_is_reviewed_the_limit_is_what_was_found(self):
        fold = taught(fold_with())
        t, p = fold.open(APART)
        fold.label(t, [0, 1])
        fold.audit(t, far_apart(p))
        said = claim(fold.state)
        assert said["at_most"] == said["reported"] == said["at_least"] == 1
        assert status(fold.state)["reviews"] == said

    def test_a_clean_round_that_is_reported_later_counts_as_found_and_a_report_taken_back_stays(self):
        fold = taught(fold_with())
        t, p = fold.open(APART)
        fold.label(t, [0, 1])
        fold.audit(t)
        assert claim(fold.state)["at_most"] == 0
        pair = [fold.past(t).ids[i] for i in far_apart(p)]
        fold.do(commands.CorrectAudit(t, "pair", "lead", pair, None, fold.past(t), "cleared", 1.0))
        assert claim(fold.state)["at_most"] == 1
        fold.do(commands.CorrectAudit(t, "none", "lead", (), None, fold.past(t), "reported", None))
        assert claim(fold.state)["at_most"] == 1
        assert first_objection(fold.events) == ""

    def test_a_round_that_lost_somebody_before_anybody_looked_counts_as_found(self):
        fold = taught(fold_with())
        t, _ = fold.open([[0.05, 0.05], [0.95, 0.95], [0.5, 0.5]])
        fold.do(commands.Erase([f"{t}.2"], [t], "root"))
        fold.audit(t)
        assert claim(fold.state)["unanswered"] == 1

    def test_with_decisions_alone_the_claim_is_of_what_was_felt(self):
        fold = Fold(loans(**BANK, audits="decisions", review=Review(share=0.5)))
        fold.open(APART)
        assert claim(fold.state)["felt"]

    def test_the_certificate_and_its_letter_say_it(self):
        fold = lived(share=0.5)
        said = certificate(transcript(fold.events, fold.state), fold.state, 0.1)
        assert said["reviews"] == claim(fold.state, 0.1)
        assert f"at most {said['reviews']['at_most']} of" in " ".join(said["letter"].split())

    def test_a_plan_says_in_advance_what_it_buys(self):
        by_gap = prospect(loans(review=Review(share=0.1)), 200, 30)["prospects"]
        assert by_gap[0]["at_most"] == theory.review_plan(6000, 600, by="gap").prospects[0].limit > 31
        bought = prospect(loans(review=Review(share=0.1, choose="equal")), 200, 30)
        assert bought["prospects"][0]["at_most"] == 31
        assert (bought["rounds"], bought["reviews"]) == (6000, 600)
        assert "140 reviews a week" in bought["sentence"]
        budget = prospect(loans(review=Review(budget=20, second=0.1, choose="equal")), 200, 30)
        assert budget["prospects"] == bought["prospects"]
        assert budget["looks"] > bought["looks"] == 600


class TestForgedLots:
    """Somebody who has the service's key changes what a lot said, and signs the log again."""

    @pytest.fixture
    def exported(self, open_store, tmp_path):
        engine = Engine(open_store(str(tmp_path / "lots.db")), SIGNER, None, Clock())
        engine.create(loans(review=Review(share=0.5, second=0.5)), "root")
        rng = np.random.default_rng(0)
        for i in range(40):
            people = [
                {"id": f"{i}.{j}", "features": dict(zip(("score", "age"), map(float, row), strict=True))}
                for j, row in enumerate([[0.02, 0.02], [0.98, 0.98], rng.random(2)])
            ]
            t = engine.decide("loans", people, "decider")["t"]
            engine.label("loans", t, {f"{i}.0": 0, f"{i}.1": 1, f"{i}.2": 1}, "decider")
        lines = list(engine.export("loans"))
        assert sum(line.get("kind") == "review_drawn" for line in lines) > 5
        return lines

    @pytest.mark.parametrize("what", ["drawn", "second", "gold", "probability", "nonce"])
    def test_both_checkers_notice(self, exported, what, tmp_path):
        path = write(tmp_path / "right.jsonl", rechained(exported))
        assert verify(path, key=SIGNER.public_key).first is None
        line = next(line for line in exported if line.get("kind") == "review_drawn" and line["data"]["drawn"])
        forge(line["data"], what)
        path = write(tmp_path / "wrong.jsonl", rechained(exported))
        first = verify(path, key=SIGNER.public_key).first
        assert first is not None
        assert first[0] == line["seq"]
        found = standalone.check(standalone.read_lines(str(path)), None, SIGNER.public_key)
        assert found.first is not None
        assert found.first[0] == line["seq"]

    @pytest.mark.parametrize("kind", ["review_drawn", "cleared_by_arithmetic"])
    def test_both_notice_a_draw_that_was_left_out_and_one_too_many(self, exported, kind, tmp_path):
        place = next(i for i, line in enumerate(exported) if line.get("kind") == kind)
        for lines in (exported[:place] + exported[place + 1 :], exported[: place + 1] + exported[place:]):
            path = write(tmp_path / "wrong.jsonl", renumbered(lines))
            assert verify(path, key=SIGNER.public_key).first is not None
            found = standalone.check(standalone.read_lines(str(path)), None, SIGNER.public_key)
            assert found.first is not None
            assert found.first[0] in (exported[place]["seq"], exported[place]["seq"] + 1)


class TestReviewsAgain:
    """The standalone checker computes probabilities in its own code: both must agree to the last bit."""

    @pytest.mark.parametrize(
        ("review", "settings"),
        [
            ({"share": 0.3}, {}),
            ({"share": 0.4, "choose": "largest", "second": 0.3}, {}),
            ({"share": 0.2, "choose": "equal"}, {"margin": 0.03}),
            ({"budget": 20.0}, {}),
            ({"second": 0.5}, {}),
            ({"ask_all": True}, {}),
            ({"ask_all": True}, BANK),
            ({"share": 0.5}, BANK | {"audits": "decisions"}),
        ],
        ids=str,
    )
    def test_nothing_is_wrong_with_any_plan_over_days_and_its_change(self, review, settings):
        fold = Fold(loans(review=Review(**review), **settings))
        rng, drawn = np.random.default_rng(3), 0
        for i in range(420):
            rows = np.repeat(rng.random((1, 2)), 4, axis=0) if i % 25 == 0 else rng.random((4, 2))
            t, _ = fold.open(rows, prefix=f"{i}.")
            allowed = [j for j in range(4) if j not in fold.past(t).unlabelled]
            if allowed and (i < 60 or settings):
                labels = {f"{i}.{j}": int(rows[j, 0] > 0.5) for j in allowed}
                fold.do(commands.ReceiveLabels(t, labels, "decider"))
            if t in fold.state.rounds and fold.state.rounds[t].verdict is None:
                fold.do(commands.Audit(t, "none", "ann"))
            fold.clock.forward(float(rng.integers(0, 1200)))
            if i == 390:
                fold.do(commands.ChangePlan({"share": 0.25, "budget": None, "ask_all": False}, "root"))
        assert (fold.clock.now - 1_700_000_000) / 86_400 > 2
        again = Reviews(fold.events[0].data())
        for event in fold.events:
            drawn += event.kind == "review_drawn"
            assert again.wrong(event.kind, event.at, event.data()) == ""
        assert drawn > (20 if not settings or "margin" in settings else 3)
        assert len(fold.state.drawing.gaps) == 300 or "labels" in settings


def forge(data, what):
    if what == "nonce":
        data["lot"]["nonce"] = "00" * 32
    elif what == "gold":
        data["gold"] = True
    elif what == "probability":
        data["probability"] = math.nextafter(data["probability"], 0)  # by the least that a number can say
    else:
        data[what] = not data[what]


class TestBrief:
    def test_a_brief_is_counted_and_one_that_says_the_same_is_no_event(self):
        fold = Fold()
        assert fold.kinds(commands.ChangeBrief({"decided": "Loans."}, "root")) == ["brief_changed"]
        assert fold.kinds(commands.ChangeBrief({"decided": "Loans."}, "root")) == []
        assert fold.kinds(commands.ChangeBrief({}, "root")) == ["brief_changed"]
        assert (fold.state.brief_version, fold.state.brief.said) == (2, False)
        assert first_objection(fold.events) == ""

    @pytest.mark.parametrize(
        ("wrong", "why"),
        [
            ({"version": 3}, "should have version 1, not 3"),
            ({"brief": {"decided": "Loans."}}, "only a part of a brief"),
            ({"brief": {"decided": 3}}, "holds no brief: `decided` must be at most 2000 printable characters"),
            ({"brief": {"reasons": ["a", "b", "c", "d", "e"]}}, "`reasons` must be at most 4 and all different"),
        ],
    )
    def test_a_forged_brief_is_objected_to(self, wrong, why):
        fold = Fold()
        fold.do(commands.ChangeBrief({"decided": "Loans."}, "root"))
        forged = replace(fold.events[-1], **wrong)
        assert isinstance(forged, BriefChanged)
        assert why in first_objection([*fold.events[:-1], forged])
