"""What follows from commands: the life of a round, with no clock, disk or threads."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from loans import Fold, far_apart, fingerprint, loans

import likewise as lw
from likewise.errors import InvalidParameter, ReportRefused
from likewise.service.asides import reason_aside
from likewise.service.refusals import Conflict, StreamStopped, Unknown
from likewise.service.stream import commands
from likewise.service.stream.commands import Audit, ChangeWaits, CorrectAudit, Erase, ReceiveLabels, RetractAudit
from likewise.service.stream.events import Aside, Learned, LearnerCheckpointed, RoundOpened
from likewise.service.stream.judging import RETRACTIONS
from likewise.service.stream.plain_state import dump_state, load_state
from likewise.service.stream.settings import Waits
from likewise.service.stream.state import State
from likewise.service.stream.status import observed_regret, regret, status

APART = np.array([[0.05, 0.5], [0.95, 0.5], [0.5, 0.05]])
"""Three people whom a stream that has learned treats differently."""


def learned_stream(**changes):
    """A stream that has learned to prefer a high score, so that some gaps are wide."""
    fold = Fold(loans(**changes))
    for _ in range(40):
        t, _ = fold.open(APART)
        fold.label(t, [0, 1, 0])
        fold.audit(t)
        fold.clock.forward(fold.state.waits.grace)
        fold.advance(t)
    return fold


def reported(fold, rounds):
    """More rounds, each with a report if a gap is wide enough."""
    before = fold.state.totals.reported
    for _ in range(rounds):
        t, chances = fold.open(APART)
        pair = far_apart(chances)
        fold.label(t, [0, 1, 0])
        fold.audit(t, pair if chances[pair[0]] - chances[pair[1]] > 0.1 else None)
    assert fold.state.totals.reported > before


def read_from_log(event, fold, gone=()):
    """An event as it is read again: with the people who are still there, and nothing that only memory knows."""
    asides = {aside.ref: aside for each in fold.events for aside in each.asides if aside.ref not in gone}
    unread = {"rows": None} if isinstance(event, RoundOpened) else {}
    unread |= {"state": None} if isinstance(event, LearnerCheckpointed) else {}
    return replace(event, asides=tuple(asides[ref] for ref in event.refs if ref in asides), **unread)


class TestLife:
    def test_a_round_closes_once_it_is_audited_and_labelled_in_either_order(self):
        for order in itertools.permutations(["audit", "label"]):
            fold = Fold()
            t, _ = fold.open(APART)
            steps = {"audit": Audit(t, "none", "ann"), "label": ReceiveLabels(t, {"0": 0, "1": 1, "2": 0}, "d")}
            first, second = (fold.kinds(steps[step]) for step in order)
            assert len(first) == 1
            assert second[1:] == ["round_closed", "learned"]
            assert fold.state.outstanding == 0
            assert fold.state.totals.learned == 1

    def test_labels_may_come_one_by_one(self):
        fold = Fold()
        t, _ = fold.open(APART)
        fold.audit(t)
        assert fold.kinds(ReceiveLabels(t, {"0": 0}, "d")) == ["labels_received"]
        assert fold.kinds(ReceiveLabels(t, {"0": 0}, "d")) == []
        assert fold.kinds(ReceiveLabels(t, {"1": 1, "2": 1}, "d"))[-1] == "learned"

    def test_a_different_value_for_a_known_label_is_a_conflict(self):
        fold = Fold()
        t, _ = fold.open(APART)
        fold.label(t, [1, np.nan, np.nan])
        with pytest.raises(Conflict, match="already 1 and can't be changed to 0"):
            fold.label(t, [0, np.nan, np.nan])

    @pytest.mark.parametrize("label", [2, -1, 0.5, True, None, "1"])
    def test_a_label_is_0_or_1(self, label):
        fold = Fold()
        t, _ = fold.open(APART)
        with pytest.raises(InvalidParameter, match="labels"):
            fold.do(ReceiveLabels(t, {"0": label}, "d"))

    def test_the_log_records_what_was_shown_and_decided_and_which_policy_did_it(self):
        fold = learned_stream()
        policy = fold.state.policy
        t, chances = fold.open(APART)
        event = fold.events[-1]
        assert event.policy == policy.hash
        assert event.version == policy.version == 40
        assert chances.tolist() == [person.probability for person in event.people]
        assert [person.decision for person in event.people] == (chances > 0.5).astype(int).tolist()
        fold.audit(t, by="ann")
        assert fold.events[-1].by == "ann"
        assert fold.events[-1].time == pytest.approx(fold.clock.now)

    def test_the_log_names_nobody(self):
        fold = Fold()
        fold.open(APART)
        assert set(fold.events[-1].data()["people"][0]) == {"ref", "commitment", "probability", "decision"}

    def test_what_is_unknown_is_said(self):
        fold = Fold()
        t, _ = fold.open(APART)
        for command in (ReceiveLabels(9, {"0": 1}, "d"), Audit(9, "none", "ann"), Audit(0, "none", "ann")):
            with pytest.raises(Unknown, match="There is no round"):
                fold.do(command)
        with pytest.raises(InvalidParameter, match="be for people of round 1"):
            fold.do(ReceiveLabels(t, {"zoe": 1}, "d"))

    def test_a_batch_has_one_to_k_different_people(self):
        fold = Fold()
        for X in (np.empty((0, 2)), np.zeros((5, 2))):
            with pytest.raises(InvalidParameter, match="`people` must be 1 to 4, got"):
                fold.open(X)
        asides = [Aside(ref, "person", 1, "00", {"id": "same", "features": {}}) for ref in ("a", "b")]
        with pytest.raises(InvalidParameter, match="each person only once"):
            fold.do(commands.RequestDecisions(asides, np.zeros(2), "d"))

    def test_a_stopped_stream_decides_nothing_but_still_hears_labels_and_audits(self):
        fold = Fold()
        t, _ = fold.open(APART)
        fold.do(commands.Stop(reason_aside("a bug upstream"), "root"))
        with pytest.raises(StreamStopped, match="a bug upstream"):
            fold.open(APART)
        fold.label(t, [0, 1, 0])
        assert fold.audit(t)[-1].kind == "learned"
        fold.do(commands.Resume("root"))
        fold.open(APART)


class TestAudits:
    def test_the_server_orders_the_pair_by_the_probabilities_shown(self):
        fold = learned_stream()
        t, chances = fold.open(APART)
        high, low = far_apart(chances)
        assert chances[high] - chances[low] > 0.1
        for pair in ((high, low), (low, high)):
            again = Fold(loans())
            again.state = fold.state
            (event,) = again.audit(t, pair)
            (pair,) = event.reports
            assert pair.positions == (high, low)
            assert pair.gap == chances[high] - chances[low]

    @pytest.mark.parametrize(("margin", "refused"), [(0.0, True), (1e-9, False)])
    def test_a_gap_up_to_alpha_less_the_margin_is_refused_with_the_reason(self, margin, refused):
        def after_three_rounds(alpha, margin=0.0):
            fold = Fold(loans(learner="hedge", penalty=1.0, alpha=alpha, margin=margin))
            for _ in range(3):
                t, _ = fold.open(APART)
                fold.label(t, [0, 1, 0])
                fold.audit(t)
            return fold, *fold.open(APART)

        _, _, chances = after_three_rounds(alpha=0.5)
        high, low = far_apart(chances)
        gap = float(chances[high] - chances[low])
        fold, t, again = after_three_rounds(alpha=gap, margin=margin)
        assert again.tolist() == chances.tolist()
        if refused:
            before = fold.state
            with pytest.raises(ReportRefused, match=re.escape(f"α − margin = {gap:g} is allowed")):
                fold.audit(t, (high, low))
            assert fold.state is before
        else:
            assert fold.audit(t, (high, low))[0].verdict == "reported"

    def test_equal_treatment_is_never_a_violation(self):
        fold = Fold()
        t, chances = fold.open(APART)
        assert chances[0] == chances[1]
        with pytest.raises(ReportRefused):
            fold.audit(t, (0, 1))

    @pytest.mark.parametrize("pair", [("0",), ("0", "0"), ("0", "zoe"), ()])
    def test_a_report_names_two_people_of_the_round(self, pair):
        fold = learned_stream()
        t, _ = fold.open(APART)
        with pytest.raises(InvalidParameter, match="pair"):
            fold.do(Audit(t, "pair", "ann", pair))

    def test_one_verdict_settles_a_round_and_a_second_is_recorded_as_late(self):
        fold = Fold()
        t, _ = fold.open(APART)
        fold.audit(t)
        assert [event.kind for event in fold.audit(t, by="bob")] == ["verdict_late"]
        assert fold.state.rounds[t].verdict.by == "ann"

    def test_a_round_that_nobody_looked_at_is_not_a_round_without_violation(self):
        reviewed = {}
        for verdict in ("none", "skip", None):
            fold = Fold(loans(waits=Waits(audit=60, grace=0)))
            t, _ = fold.open(APART)
            if verdict is None:
                fold.clock.forward(61)
                fold.advance(t)
            else:
                fold.do(Audit(t, verdict, "ann"))
            reviewed[verdict] = fold.state.rounds[t].seen().reviewed
            fold.label(t, [0, 1, 0])
            assert fold.state.totals.learned == 1
            assert (fold.state.totals.cleared == 1) is (verdict == "none")
        assert reviewed == {"none": True, "skip": False, None: False}

    def test_a_verdict_taken_back_leaves_the_learner_as_if_it_had_never_been(self):
        slip, straight = learned_stream(waits=Waits(grace=10)), learned_stream(waits=Waits(grace=10))
        assert fingerprint(slip.state) == fingerprint(straight.state)
        for fold in (slip, straight):
            t, chances = fold.open(APART)
            fold.label(t, [0, 1, 0])
            if fold is slip:
                fold.audit(t, far_apart(chances))
                fold.clock.forward(9.9)
                assert fold.advance(t) == []
                fold.do(RetractAudit(t, "ann"))
            fold.audit(t)
            fold.clock.forward(10)
            assert [event.kind for event in fold.advance(t)] == ["round_closed", "learned"]
        for a, b in zip(slip.state.learner, straight.state.learner, strict=True):
            np.testing.assert_array_equal(a, b)
        assert slip.state.totals == straight.state.totals

    def test_a_report_would_have_changed_the_learner(self):
        """So the test above can fail."""
        report, clear = learned_stream(), learned_stream()
        for fold in (report, clear):
            t, chances = fold.open(APART)
            fold.label(t, [0, 1, 0])
            fold.audit(t, far_apart(chances) if fold is report else None)
        assert report.state.policy.hash != clear.state.policy.hash

    def test_the_grace_time_passes_before_a_round_closes(self):
        fold = Fold(loans(waits=Waits()))
        assert fold.state.waits.grace == 10
        t, _ = fold.open(APART)
        fold.audit(t)
        fold.clock.forward(4)
        assert [event.kind for event in fold.label(t, [0, 1, 0])] == ["labels_received"]
        assert fold.state.rounds[t].due(fold.state.waits) == pytest.approx(fold.clock.now + 6)
        fold.clock.forward(6)
        assert fold.advance(t)[-1].kind == "learned"

    def test_a_correction_is_recorded_and_nothing_is_unlearned(self):
        fold = learned_stream()
        t, chances = fold.open(APART)
        fold.label(t, [0, 1, 0])
        fold.audit(t)
        before = fold.state
        with pytest.raises(Conflict, match="is closed"):
            fold.do(RetractAudit(t, "ann"))
        pair = [str(position) for position in far_apart(chances)]
        said = CorrectAudit(t, "pair", "ann", pair, past=fold.past(t))
        assert fold.kinds(said) == ["audit_corrected"]
        assert fold.state.learner is before.learner
        assert fold.state.totals.corrected == 1

    def test_an_open_round_is_audited_not_corrected(self):
        fold = Fold()
        t, _ = fold.open(APART)
        with pytest.raises(Conflict, match="still open"):
            fold.do(CorrectAudit(t, "none", "ann"))


class TestWaits:
    def test_what_never_comes_expires_and_is_learned_from_without(self):
        fold = Fold(loans(waits=Waits(audit=60, label=120, grace=10)))
        t, _ = fold.open(APART)
        fold.label(t, [1, np.nan, np.nan])
        assert fold.state.rounds[t].due(fold.state.waits) == pytest.approx(fold.clock.now + 60)
        fold.clock.forward(60)
        (expired,) = fold.advance(t)
        assert (expired.kind, expired.verdict, expired.by) == ("audited", "expired", "clock")
        fold.clock.forward(60)
        events = fold.advance(t)
        assert [event.kind for event in events] == ["labels_expired", "round_closed", "learned"]
        assert events[0].outcome == "partial"
        assert fold.state.totals.missing == 2

    def test_labels_that_never_came_at_all_are_expired_not_partial(self):
        fold = Fold(loans(waits=Waits(label=120, grace=0)))
        t, _ = fold.open(APART)
        fold.audit(t)
        fold.clock.forward(120)
        events = fold.advance(t)
        assert events[0].outcome == events[1].labels == "expired"

    def test_a_round_may_be_discarded_at_the_end_of_its_waits(self):
        for waits in (Waits(audit=60, audit_end="discard", grace=0), Waits(label=60, label_end="discard", grace=0)):
            fold = Fold(loans(waits=waits))
            t, _ = fold.open(APART)
            if waits.audit is None:
                fold.audit(t)
            else:
                fold.label(t, [0, 1, 0])
            learner = fold.state.learner
            fold.clock.forward(60)
            closed = fold.advance(t)[-1]
            assert (closed.kind, closed.learns) == ("round_closed", False)
            assert fold.state.learner is learner
            assert (fold.state.totals.learned, fold.state.totals.discarded, fold.state.outstanding) == (0, 1, 0)

    def test_without_waits_time_changes_nothing(self):
        fold = Fold()
        t, _ = fold.open(APART)
        fold.clock.forward(1e9)
        assert fold.advance(t) == []
        assert fold.state.rounds[t].due(fold.state.waits) == np.inf

    def test_waits_change_by_an_event_for_open_rounds_too(self):
        fold = Fold()
        t, _ = fold.open(APART)
        (event,) = fold.do(ChangeWaits({"audit": 5.0, "label": 5.0, "grace": 1.0}, "root"))
        assert event.kind == "settings_changed"
        fold.clock.forward(5)
        assert fold.advance(t)[-1].kind == "learned"
        assert fold.state.stream.settings.waits == Waits(audit=5.0, label=5.0, grace=1.0)

    @pytest.mark.parametrize("changes", [{}, {"alpha": 0.5}, {"audit": -1.0}, {"audit_end": "clear"}, {"grace": None}])
    def test_other_settings_never_change(self, changes):
        with pytest.raises(InvalidParameter):
            Fold().do(ChangeWaits(changes, "root"))

    def test_labels_after_the_end_are_late_recorded_and_not_learned(self):
        fold = Fold(loans(waits=Waits(label=60, grace=0)))
        t, _ = fold.open(APART)
        fold.clock.forward(60)
        fold.advance(t)
        assert [event.kind for event in fold.label(t, [0, 1, 0])] == ["labels_late"]
        fold.audit(t)
        learner = fold.state.learner
        again, _ = fold.open(APART)
        fold.clock.forward(60)
        fold.advance(again)
        fold.audit(again)
        learner = fold.state.learner
        assert fold.kinds(fold.late(again, {0: 1})) == ["labels_late"]
        assert fold.state.learner is learner
        assert fold.state.totals.late == 4
        assert fold.state.totals.missing == 6

    def test_a_verdict_taken_back_after_the_wait_can_still_be_given_again(self):
        fold = Fold(loans(waits=Waits(audit=60, grace=10)))
        t, _ = fold.open(APART)
        fold.clock.forward(59)
        fold.audit(t)
        fold.clock.forward(5)
        fold.do(RetractAudit(t, "ann"))
        assert fold.advance(t) == []
        fold.clock.forward(9)
        assert fold.audit(t)[0].kind == "audited"


class TestOverlap:
    def play(self, settings, order):
        """Open three rounds, then settle them in an order; what is settled first is learned first."""
        fold = Fold(settings)
        for _ in range(3):
            fold.open(APART)
        for t in order:
            fold.label(t, [0, 1, t % 2])
            fold.audit(t)
        return fold

    def test_learning_happens_on_close_in_the_order_of_the_log(self):
        fold = self.play(loans(), (2, 3, 1))
        learned = [event for event in fold.events if isinstance(event, Learned)]
        assert [event.t for event in learned] == [2, 3, 1]
        assert [event.version for event in learned] == [1, 2, 3]

    def test_delay_and_outstanding_rounds_are_recorded(self):
        fold = self.play(loans(), (2, 3, 1))
        learned = [event for event in fold.events if isinstance(event, Learned)]
        opened = [event for event in fold.events if isinstance(event, RoundOpened)]
        assert [event.outstanding for event in opened] == [0, 1, 2]
        assert [event.delay for event in learned] == [0, 1, 2]
        assert [event.outstanding for event in learned] == [2, 1, 0]
        assert status(fold.state)["delay"] == {"largest": 2, "mean": 1.0}

    @pytest.mark.parametrize("learner", [{"penalty": "growing"}, {"learner": "hedge", "penalty": 5.0}])
    @pytest.mark.parametrize("kind", ["thresholds", "cells"])
    def test_a_loss_is_charged_to_the_weights_that_were_deployed(self, learner, kind):
        """The observed regret, counted again from the probabilities shown, hypothesis by hypothesis."""
        rng = np.random.default_rng(3)
        cuts = {"score": (0.3, 0.6), "age": (0.5,)}
        fold = Fold(loans(hypotheses=kind, cuts=cuts, **learner))
        model, shown, total, losses = fold.state.stream, {}, 0.0, 0.0
        for i in range(60):
            X = rng.random((3, 2))
            t, chances = fold.open(X)
            shown[t] = (X, chances)
            if i % 5 == 4:  # five rounds are out at a time, and come back in any order
                for t in rng.permutation(sorted(shown)).tolist():
                    X, chances = shown.pop(t)
                    y, pair = (X[:, 0] > 0.5).astype(float), far_apart(chances)
                    report = pair if chances[pair[0]] - chances[pair[1]] > 0.1 else None
                    C = model.learner.penalty_at(fold.state.learner)
                    s = lw.reduction.signed_weights(y, [] if report is None else [lw.Report(*report)], C)
                    total += s @ chances
                    losses = losses + model.hypotheses.predict(X).astype(float) @ s
                    fold.label(t, y)
                    fold.audit(t, report)
        assert fold.state.totals.delay_max == 4
        assert fold.state.totals.reported > 0
        assert observed_regret(fold.state) == pytest.approx(total - losses.min(), abs=1e-9)

    def test_delay_voids_what_is_promised_and_the_observed_regret_stands_in_its_place(self):
        grows = {"penalty": "growing"}
        early, late = self.play(loans(**grows), ()), self.play(loans(**grows), (1, 2, 3))
        assert regret(early.state)["sentence"] == "No round has been learned yet."
        found = regret(late.state)
        assert found["promised"] is None
        assert "up to 2 rounds late" in found["sentence"]
        assert "Look at the observed regret instead" in found["sentence"]
        on_time = regret(learned_stream(**grows).state)
        assert on_time["promised"]["lagrangian_regret"] >= on_time["proved"] >= on_time["observed"]
        hedge = self.play(loans(learner="hedge", penalty=5.0), (1, 2, 3))
        assert regret(hedge.state)["proved"] is None

    @pytest.mark.parametrize("tau", [0, 1, 7, 40])
    @pytest.mark.parametrize("kind", ["thresholds", "cells"])
    @pytest.mark.parametrize("penalty", ["growing", 7.0])
    def test_adahedge_proves_its_limit_from_what_was_observed_under_any_delay(self, tau, kind, penalty):
        """The environment knows when nobody is learning: it repeats what the last policy got wrong."""
        rng = np.random.default_rng(tau)
        cuts = dict.fromkeys(("score", "age"), (0.25, 0.5, 0.75))
        fold = Fold(loans(hypotheses=kind, cuts=cuts, penalty=penalty))
        waiting = []
        for i in range(150):
            X = rng.random((3, 2)) if i % (tau + 1) == 0 else X  # noqa: F821
            t, chances = fold.open(X)
            waiting.append((t, chances))
            if len(waiting) > tau:
                t, chances = waiting.pop(0)
                pair = far_apart(chances)
                wide = chances[pair[0]] - chances[pair[1]] > 0.1
                fold.label(t, (chances < 0.5).astype(int) if i // (tau + 1) % 2 else [1, 1, 0])
                fold.audit(t, pair if wide and rng.random() < 0.5 else None)
        found = regret(fold.state)
        assert 0 < found["observed"] <= found["proved"]
        assert fold.state.totals.delay_max == tau


def test_no_round_is_kept_open_for_ever_by_retracting():
    fold = Fold(loans(waits=Waits(audit=100, label=50, grace=10)))
    t, _ = fold.open(APART)
    for seconds in (0, 50, 105):
        fold.clock.now = 1_700_000_000.0 + seconds
        fold.audit(t)
        fold.do(RetractAudit(t, "ann"))
    fold.clock.forward(9)
    fold.audit(t)
    with pytest.raises(Conflict, match="the time for its audit is over"):
        fold.do(RetractAudit(t, "ann"))
    fold.clock.forward(10)
    assert "round_closed" in fold.kinds(commands.Advance(t))


def test_not_even_where_rounds_wait_for_ever():
    fold = Fold(loans(waits=Waits(label=0, grace=10)))
    t, _ = fold.open(APART)
    for _ in range(RETRACTIONS):
        fold.audit(t)
        fold.do(RetractAudit(t, "ann"))
    again = load_state(dump_state(fold.state))
    assert again.rounds[t].retractions == RETRACTIONS
    fold.audit(t)
    with pytest.raises(Conflict, match=r"verdicts on it were retracted 10 times\. Correct it once the round is closed"):
        fold.do(RetractAudit(t, "ann"))
    fold.clock.forward(10)
    assert "round_closed" in fold.kinds(commands.Advance(t))


class TestErasure:
    @pytest.mark.parametrize("changes", [{}, {"penalty": "growing"}])
    def test_the_learner_is_written_down_before_somebody_is_erased_whom_it_has_met_since(self, changes):
        fold = learned_stream(**changes)
        checkpoint, erased = fold.do(Erase(["30.1"], [30], "root"))
        assert (checkpoint.kind, erased.kind) == ("learner_checkpointed", "person_erased")
        again = read_from_log(checkpoint, fold).evolve(fold.state)
        for a, b in zip(again.learner, fold.state.learner, strict=True):
            np.testing.assert_array_equal(a, b)
        assert [event.kind for event in fold.do(Erase(["31.1"], [31], "root"))] == ["person_erased"], "nothing is new"

    def test_whoever_was_met_before_it_was_written_down_costs_no_more_than_their_erasure(self):
        fold = learned_stream()
        assert [event.kind for event in fold.events].count("learner_checkpointed") == 1, "after 25 of 40 rounds"
        assert [event.kind for event in fold.do(Erase(["3.1"], [3], "root"))] == ["person_erased"]

    @pytest.mark.parametrize("kind", ["thresholds", "cells"])
    def test_neither_the_log_nor_the_learner_knows_afterwards_where_reported_people_lay_between_the_cuts(self, kind):
        fold = learned_stream(hypotheses=kind)
        reported(fold, 3)
        before, limit = fold.state, regret(fold.state)["proved"]
        assert before.learner.kept.prices.max() > 0
        gone = [ref for pair in before.pairs for ref in pair.refs]
        checkpoint, _ = fold.do(Erase(gone, sorted({int(ref.partition(".")[0]) for ref in gone}), "root"))
        assert sum(part.size for part in fold.state.learner.kept) == 0
        assert checkpoint.pairs == () == fold.state.pairs
        assert fold.state.policy.hash == before.policy.hash
        assert regret(fold.state)["proved"] == pytest.approx(limit, abs=1e-9)

    def test_reports_about_others_are_kept_when_somebody_is_erased(self):
        fold = learned_stream()
        reported(fold, 3)
        kept = fold.state.learner
        assert len(kept.made) > 1
        fold.do(Erase([fold.state.pairs[0].refs[0]], [41], "root"))
        assert fold.state.learner.made.tolist() == kept.made.tolist()[1:]
        np.testing.assert_array_equal(fold.state.learner.terms, kept.terms[1:])

    def test_old_reports_are_frozen_when_the_learner_is_written_down(self, monkeypatch):
        monkeypatch.setattr("likewise.service.stream.learner_checkpoint.ROWS_LAST", 20)
        fold = learned_stream()
        reported(fold, 3)
        assert len(fold.state.learner.made) > 1
        for _ in range(40):
            t, _ = fold.open(APART)
            fold.label(t, [0, 1, 0])
            fold.audit(t)
        assert fold.state.learner.made.size == 0
        assert fold.state.learner.frozen[0] > 0

    def test_nothing_is_learned_of_a_person_erased_from_an_open_round(self):
        """Neither their label nor a report about them; the others' labels are."""
        fold, without = learned_stream(), learned_stream()
        for one in (fold, without):
            t, chances = one.open(APART)
            high, low = far_apart(chances)
            one.label(t, [0, 1, 0] if one is fold else [0 if i != high else np.nan for i in range(3)])
        assert (high, low) == (1, 0)
        fold.do(Erase([f"{t}.{high}"], [t], "root"))
        assert fold.state.rounds[t].ids == ("0", None, "2")
        assert not fold.state.rounds[t].rows[high].any()
        without.do(ChangeWaits({"label": 0.0}, "root"))
        without.advance(t)
        without.do(Audit(t, "skip", "ann"))
        with pytest.raises(InvalidParameter, match="name two people"):
            fold.audit(t, (high, low))
        fold.do(Audit(t, "skip", "ann"))
        np.testing.assert_array_equal(fold.state.learner.losses, without.state.learner.losses)

    def test_a_report_about_somebody_erased_since_is_dropped_and_the_event_says_so(self):
        fold = learned_stream(waits=Waits(grace=10))
        t, chances = fold.open(APART)
        fold.label(t, [0, 1, 0])
        fold.audit(t, far_apart(chances))
        fold.do(Erase([f"{t}.{far_apart(chances)[0]}"], [t], "root"))
        fold.clock.forward(10)
        learned = fold.advance(t)[-1]
        assert learned.kind == "learned"
        assert learned.dropped is True
        assert fold.state.totals.reported == 0

    @pytest.mark.parametrize("changes", [{}, {"hypotheses": "cells"}, {"penalty": "growing"}])
    def test_a_log_without_the_erased_features_leads_to_the_same_state(self, changes):
        fold = learned_stream(**changes)
        reported(fold, 3)
        t, _ = fold.open(APART)
        fold.do(Erase(["3.1", f"{t}.0"], [3, t], "root"))
        fold.label(t, [np.nan, 1, 0])
        fold.audit(t)
        for _ in range(30):  # until it is written down again
            t2, _ = fold.open(APART)
            fold.label(t2, [0, 1, 0])
            fold.audit(t2)
        state, unknown = State(), 0
        for event in fold.events:
            state = read_from_log(event, fold, gone=("3.1", f"{t}.0")).evolve(state)
            unknown += state.learner is None
        assert fingerprint(state) == fingerprint(fold.state)
        assert unknown > 0

    def test_nobody_is_not_erased(self):
        with pytest.raises(Unknown, match="no such person"):
            Fold().do(Erase([], [], "root"))


def test_the_state_does_not_grow_with_the_rounds_that_were_learned():
    sizes = []  # after the last 300 gaps are known, by which reviews are drawn
    fold = Fold()
    for i in range(600):
        t, _ = fold.open(APART)
        fold.label(t, [0, 1, 0])
        fold.audit(t)
        if i in (309, 599):
            sizes.append(len(fingerprint(fold.state)))
    assert sizes[1] < sizes[0] * 1.2


def test_any_arrival_order_that_closes_rounds_in_the_same_order_gives_the_same_policy():
    """Labels and audits of three overlapping rounds, shuffled; the last step of each round closes it, in turn."""
    rng = np.random.default_rng(0)
    batches = [rng.random((3, 2)) for _ in range(3)]
    hashes, orders = set(), set()
    for _ in range(60):
        steps = [(t, step) for t in (1, 2, 3) for step in ("audit", 0, 1, 2)]
        rng.shuffle(steps)
        order = [(int(t), step) for t, step in steps]
        closing = sorted((max(i for i, (u, _) in enumerate(order) if u == t), t) for t in (1, 2, 3))
        if [t for _, t in closing] != [1, 2, 3]:
            continue
        fold = Fold()
        for X in batches:
            fold.open(X)
        for t, step in order:
            if step == "audit":
                fold.audit(t)
            else:
                fold.label(t, [t % 2 if i == int(step) else np.nan for i in range(3)])
        assert fold.state.outstanding == 0
        hashes.add(fold.state.policy.hash)
        orders.add(str(order))
    assert len(orders) >= 5
    assert len(hashes) == 1
