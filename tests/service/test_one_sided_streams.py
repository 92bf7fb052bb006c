"""Streams that see labels of accepted people only, draw one lot for each round, or show reviewers decisions only."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from loans import BANK, SECRET, Fold, bank_life, fingerprint, loans

from likewise.errors import InvalidParameter, ReportRefused
from likewise.learners import OneSided
from likewise.protocol import Batch, Estimate, Round
from likewise.reduction import estimated_weights
from likewise.service.proof import drawn
from likewise.service.stream import commands
from likewise.service.stream.events import Audited, LabelsBooked, Learned, RoundClosed, RoundOpened
from likewise.service.stream.events.sums import sums
from likewise.service.stream.lots import Lot, commitment
from likewise.service.stream.objections import Rules
from likewise.service.stream.plain_state import dump_state, load_state
from likewise.service.stream.settings import Waits
from likewise.service.stream.state import State
from likewise.service.stream.status import status
from likewise.service.stream.transcript import transcript

KINDS = (
    {},
    {"audits": "decisions"},
    {"lot": "person"},
    {"safe": True},
    {"penalty": "growing"},
    {"learner": "hedge", "penalty": 3.0},
    {"hypotheses": "cells"},
    {"labels": "all", "audits": "decisions"},
    {"labels": "all", "lot": "person", "audits": "decisions"},
)


def beside(fold):
    """The events of a fold with what a reader of the log finds beside them."""
    asides = {aside.ref: aside for event in fold.events for aside in event.asides}
    for event in fold.events:
        yield replace(event, asides=tuple(asides[ref] for ref in event.refs if ref in asides))


def objections(events):
    """What an outsider says of each event, up to the first that is wrong."""
    state, rules = State(), Rules()
    for event in events:
        wrong = rules.objection(state, event)
        if wrong:
            return wrong
        state = event.evolve(state)
    return ""


@pytest.fixture(scope="module")
def bank():
    return bank_life(audits="decisions")


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_event_follows_from_those_before_it_and_leads_to_the_same_state(kind):
    fold = bank_life(rounds=25, **kind)
    assert objections(beside(fold)) == ""
    state = State()
    for event in beside(fold):
        state = (replace(event, rows=None) if hasattr(event, "rows") else event).evolve(state)
    assert fingerprint(state) == fingerprint(fold.state)
    assert fingerprint(load_state(dump_state(fold.state))) == fingerprint(fold.state)


def test_the_numbers_of_many_rounds_are_spread_evenly_and_follow_from_the_nonce_alone():
    numbers = np.array([Lot.of(SECRET, "loans", t).number("loans", t, [0.2, 0.7]) for t in range(1, 4001)])
    ranks = np.sort(numbers)
    assert np.abs(ranks - np.arange(4000) / 4000).max() < 1.63 / np.sqrt(4000)  # Kolmogorov and Smirnov, 1 %
    lot = Lot.of(SECRET, "loans", 7)
    assert lot.committed == commitment(SECRET, "loans", 7) == Lot.of(SECRET, "loans", 6).next
    assert lot.number("loans", 7, [0.2, 0.7]) == lot.number("loans", 7, [0.7, 0.2])
    others = {lot.number(*other) for other in (("loans", 7, [0.2]), ("loans", 8, [0.2, 0.7]), ("cars", 7, [0.2, 0.7]))}
    assert lot.number("loans", 7, [0.2, 0.7]) not in others
    assert len(others) == 3


def test_a_checker_written_from_the_docs_draws_the_same_number():
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    hash, number = re.search(r"begins\s+with `(\w+)` and U is ([\d.]+)\.", page).groups()
    probabilities = [0.5, 0.25, 1.0]
    assert hashlib.sha256(b"[0.25,0.5,1]").hexdigest().startswith(hash)
    assert drawn.lot(bytes(32), "loans", 7, probabilities) == float(number)
    assert Lot("00" * 32, "").number("loans", 7, probabilities) == float(number)
    derived = hmac.digest(SECRET, b'likewise nonce 1\n["loans",7]', "sha256")
    assert Lot.of(SECRET, "loans", 7).nonce == derived.hex()


def test_equal_people_of_a_round_get_equal_answers_and_a_higher_probability_is_never_refused_alone(bank):
    for event in bank.events:
        if isinstance(event, RoundOpened):
            new = [(p.probability, p.decision) for i, p in enumerate(event.people) if i not in event.returning]
            assert sorted(new) == sorted(new, key=lambda each: (each[1], each[0]))


def test_a_person_who_comes_again_gets_the_first_answer_and_teaches_nothing():
    fold = Fold(loans(**BANK))
    t, p = fold.open([[0.1, 0.2], [0.9, 0.8]])
    first = {str(i): (p[i], person.decision) for i, person in enumerate(fold.opened(t).people)}
    again, shown = fold.open([[0.9, 0.8], [0.1, 0.2]], record=first)
    assert [(q, person.decision) for q, person in zip(shown, fold.opened(again).people, strict=True)] == [
        *first.values()
    ]
    assert fold.opened(again).returning == (0, 1)
    assert fold.past(again).verdict.outcome == "cleared", "there is nobody to compare"
    assert fold.past(again).with_lots(np.full(2, np.nan)).batch.weight.tolist() == [0, 0]
    before, after = (event.version for event in fold.events if isinstance(event, RoundOpened)), fold.state
    assert list(before) == [0, 0]
    assert after.totals.returned == 2
    assert after.totals.people == 0
    assert not after.learner.losses.any()
    with pytest.raises(InvalidParameter, match="already had a decision"):
        fold.do(replace(fold.late(again, {0: 1})))


def test_nobody_waits_for_labels_of_refused_people_and_one_that_is_sent_is_refused_with_the_reason(bank):
    closed = {event.t for event in bank.events if isinstance(event, RoundClosed) and event.labels == "complete"}
    refused = [t for t in closed if not all(person.decision for person in bank.opened(t).people)]
    assert refused
    t = refused[0]
    position = next(i for i, person in enumerate(bank.opened(t).people) if not person.decision)
    with pytest.raises(InvalidParameter, match=f"was refused in round {t}, so their label can't be known"):
        bank.do(bank.late(t, {position: 1}))


@pytest.mark.parametrize(
    "kind", [{"learner": "hedge", "penalty": 3.0}, {"learner": "hedge", "penalty": 0.0, "safe": True}]
)
def test_labels_that_come_late_are_booked_so_that_the_losses_are_those_of_labels_in_time(kind):
    """Σ ŝ f(x) is linear: what came late ends where it would have been, with the estimate fixed at the opening."""
    fold = bank_life(rounds=30, **kind)
    assert sum(isinstance(event, LabelsBooked) for event in fold.events) > 3
    model = fold.state.stream
    losses = np.zeros_like(fold.state.learner.losses)
    for event in fold.events:
        if isinstance(event, Learned):
            round_ = fold.past(event.t)
            seen = replace(round_, labels=round_.known).seen()
            s = estimated_weights(
                seen.batch.y, seen.decisions, seen.probabilities, seen.estimate, (1.0, 1.0), seen.batch.weight
            )
            for report in seen.reports:
                s[report.favoured] += event.penalty
                s[report.disfavoured] -= event.penalty
            losses = model.hypotheses.added(losses, seen.batch.rows, s)
    assert np.allclose(fold.state.learner.losses, losses, atol=1e-9)


@pytest.mark.parametrize("kind", [{}, {"audits": "decisions"}, {"safe": True}, {"lot": "person"}], ids=str)
def test_the_limit_that_is_proved_holds_of_estimated_errors_however_late_labels_are_booked(kind):
    """Against both constants, and every hypothesis that keeps what the reports prove."""
    fold = bank_life(rounds=40, **kind)
    assert sum(isinstance(event, LabelsBooked) for event in fold.events) > 3
    learned = [event.t for event in fold.events if isinstance(event, Learned)]
    F, limit = fold.state.stream.hypotheses, status(fold.state)["regret"]["proved"]
    losses, paid, kept = np.zeros(F.geometry.dim), 0.0, np.ones(F.geometry.dim, dtype=bool)
    for t in learned:
        round_ = fold.past(t)
        seen = replace(round_, labels=round_.known).seen()
        y, decisions, p, weight = seen.batch.y, seen.decisions, seen.probabilities, seen.batch.weight
        s = estimated_weights(y, decisions, p, seen.estimate, fold.state.stream.settings.costs, weight)
        losses, paid = F.added(losses, seen.batch.rows, s), paid + float(s @ seen.own)
        answers = F.predict_rows(seen.batch.rows).astype(float)
        for report in seen.reports:
            kept &= answers[:, report.favoured] <= answers[:, report.disfavoured]  # a gap of 1 is never within g − ε
    assert paid - losses[kept].min() <= limit + 1e-9
    assert kept[:2].all(), "both constants"


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_stream_learns_what_the_library_learns_from_the_same_rounds(kind):
    """The learner of the library over the rounds as the log tells them; late labels apart, which it has no word for."""
    fold = bank_life(rounds=25, **kind)
    learner = fold.state.stream.learner
    assert isinstance(learner, OneSided) == (kind.get("labels") != "all")
    state, booked = learner.init(), 0
    for event in fold.events:
        if isinstance(event, Learned):
            round_, seen = fold.past(event.t), fold.past(event.t).seen()
            state = learner.update(state, round_.with_people(seen) if fold.state.stream.knows_people else seen)
        elif isinstance(event, LabelsBooked):
            booked += 1
            y, p = (
                np.array([getattr(each, name) for each in event.booked], float) for name in ("label", "probability")
            )
            state = fold.state.stream.booked(state, event.rows, y, p, event.estimate)
    assert booked > 0 or not isinstance(learner, OneSided)
    for mine, theirs in zip(state, fold.state.learner, strict=True):
        assert np.array_equal(mine, theirs)


def test_a_late_label_moves_the_policy_at_once_and_a_booking_of_nobody_would_not(bank):
    model, learner = bank.state.stream, bank.state.learner
    nobody = model.booked(learner, model.neutral(0), np.empty(0), np.empty(0), bank.state.policy.estimate)
    assert np.allclose(nobody.weights, learner.weights, atol=1e-12)
    late = [event for event in bank.events if isinstance(event, LabelsBooked)]
    assert late
    before = State()
    for event in bank.events:
        after = event.evolve(before)
        if isinstance(event, LabelsBooked):
            assert after.policy.hash != before.policy.hash
            assert after.policy.version == before.policy.version
            assert after.totals.missing == before.totals.missing - len(event.booked)
        before = after


def test_reviewers_of_decisions_are_asked_only_where_a_report_could_be_accepted(bank):
    level = bank.state.stream.settings.level
    asked = 0
    for event in bank.events:
        if isinstance(event, Audited):
            possible = bool(bank.past(event.t).reportable(level))
            assert possible == (event.by != "clock" or event.verdict == "expired")
            asked += possible
    assert 0 < asked < bank.state.opened


def test_a_report_by_decisions_is_refused_without_a_number():
    fold = Fold(loans(**BANK | {"audits": "decisions", "alpha": 0.9}))
    for _ in range(40):
        t, _ = fold.open([[0.1, 0.2], [0.9, 0.8], [0.5, 0.5]])
        decisions = [person.decision for person in fold.opened(t).people]
        assert fold.past(t).verdict is not None
        if len(set(decisions)) == 2 or t in fold.state.rounds:
            break
    yes = [str(i) for i in range(3) if decisions[i] == decisions[0]]
    command = commands.CorrectAudit(t, "pair", "ann", past=fold.past(t))
    other = next((str(i) for i in range(3) if decisions[i] != decisions[0]), None)
    pairs = [(yes[:2], "same answer")] + ([((yes[0], other), "the gap is within the tolerance")] if other else [])
    for pair, sentence in pairs:
        with pytest.raises(ReportRefused, match=sentence) as refusal:
            fold.do(replace(command, pair=pair))
        assert not any(letter.isdigit() for letter in str(refusal.value))


def test_status_counts_the_refused_the_unknown_and_what_nobody_saw(bank):
    counts, events = status(bank.state), bank.events
    learned = {event.t for event in events if isinstance(event, Learned)}
    people = [bank.past(t) for t in learned]
    new = [(round_, i) for round_ in people for i in round_.fresh]
    accepted = [(round_, i) for round_, i in new if round_.decisions[i]]
    assert counts["people"] == len(new)
    assert counts["refused"] == len(new) - len(accepted)
    assert counts["outcome_unknown"] == sum(np.isnan(round_.known[i]) for round_, i in accepted)
    gaps = [
        event.reports[0].gap for event in events if isinstance(event, Audited) and event.reports and event.t in learned
    ]
    assert counts["audits"]["reported"] == len(gaps) > 0
    assert counts["unseen_violations"] == pytest.approx(sum(1 / gap for gap in gaps))
    weighed = [(round_.known[i], round_.probabilities[i]) for round_, i in accepted if not np.isnan(round_.known[i])]
    assert counts["errors"] == pytest.approx(sum(abs(y - p) / p for y, p in weighed))
    constants = [sum((y != answer) / p for y, p in weighed) for answer in (0, 1)]
    assert counts["better_constant"] == pytest.approx(min(constants))
    assert counts["estimated"]
    assert status(bank_life(rounds=3, labels="all").state)["outcome_unknown"] is None


def test_estimated_errors_are_right_on_average_over_the_lot():
    """E Σ 1[accepted] cost/π̃ = Σ cost, by enumeration of one lot."""
    p, y = np.array([0.2, 0.5, 0.9]), np.array([1.0, 0.0, 1.0])
    cuts = [0.0, *sorted(p), 1.0]
    mean = {"errors": 0.0, "zeros_weighed": 0.0, "ones_weighed": 0.0}
    for low, high in itertools.pairwise(cuts):
        yes = (low + high) / 2 < p
        seen = Round(
            Batch(np.zeros((3, 1)), np.where(yes, y, np.nan), None), p, decisions=yes, unseen=~yes, estimate=Estimate()
        )
        found = sums(seen, 0.0, (1.0, 3.0))
        mean = {name: value + (high - low) * found[name] for name, value in mean.items()}
    assert mean["errors"] == pytest.approx(3 * 0.8 + 0.5 + 3 * 0.1)
    assert (mean["zeros_weighed"], mean["ones_weighed"]) == pytest.approx((1, 2))


def test_the_transcript_says_what_was_drawn_what_was_unseen_and_who_came_again(bank):
    record = transcript(beside(bank), bank.state)
    opened = [event for event in bank.events if isinstance(event, RoundOpened)]
    decisions = [bool(person.decision) for event in opened for person in event.people]
    assert record.decisions.tolist() == decisions
    assert record.unseen.tolist() == [not decision for decision in decisions]
    weights = [float(i not in event.returning) for event in opened for i in range(len(event.people))]
    assert record.weight.tolist() == weights
    assert 0 in weights
    assert np.array_equal(record.estimates, [event.estimate for event in opened])
    known = np.concatenate([bank.past(event.t).known for event in opened])
    assert np.array_equal(record.y, known, equal_nan=True), "late labels are those that the learner heard of"
    facts = record.facts
    assert (facts.lot, facts.labels, facts.returning, facts.auditor.sees) == (
        "round",
        "accepted",
        "record",
        "decisions",
    )


FORGERIES = {
    "opens a nonce": lambda event: replace(event, lot=event.lot._replace(nonce="ab" * 32)),
    "does not follow from its lot": lambda event: replace(
        event, people=tuple(replace(person, decision=1 - person.decision) for person in event.people)
    ),
    "estimates labels with": lambda event: replace(event, estimate=event.estimate._replace(doubt=-0.77)),
    "against the settings": lambda event: replace(event, lot=None),
    "takes a new person for a known one": lambda event: replace(event, returning=(0,)),
}


@pytest.mark.parametrize("wrong", FORGERIES)
def test_a_forged_opening_is_found_when_the_log_is_run_again(bank, wrong):
    events = list(beside(bank))
    place = next(i for i, event in enumerate(events) if isinstance(event, RoundOpened) and not event.returning)
    events[place] = FORGERIES[wrong](events[place])
    assert wrong in objections(events)


def test_somebody_who_came_before_can_be_neither_new_nor_decided_differently(bank):
    events = list(beside(bank))
    place = next(i for i, event in enumerate(events) if isinstance(event, RoundOpened) and event.returning)
    changed = [replace(person, decision=1 - person.decision) for person in events[place].people]
    for forged in ({"returning": ()}, {"people": tuple(changed)}):
        tried = [*events[:place], replace(events[place], **forged)]
        assert "came before" in objections(tried) or "follow from its lot" in objections(tried)


@pytest.mark.parametrize("change", ["label", "probability", "ref", "estimate"])
def test_a_forged_booking_is_found(bank, change):
    events = list(beside(bank))
    place = next(i for i, event in enumerate(events) if isinstance(event, LabelsBooked))
    event = events[place]
    first = event.booked[0]
    if change == "estimate":
        forged = replace(event, estimate=event.estimate._replace(doubt=-0.9))
    else:
        other = {"label": 2, "probability": first.probability / 2, "ref": "1.0"}[change]
        forged = replace(event, booked=(replace(first, **{change: other}), *event.booked[1:]))
    assert objections([*events[:place], forged])
    assert objections([*events[: place + 1], event]), "no label is booked twice"


def test_a_verdict_by_nobody_on_a_round_that_needs_somebody_is_found(bank):
    events = list(beside(bank))
    place = next(
        i for i, e in enumerate(events) if isinstance(e, Audited) and e.by == "ann" and e.verdict == "reported"
    )
    assert "by nobody" in objections(
        [*events[:place], replace(events[place], by="clock", verdict="cleared", reports=())]
    )


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"safe": True}, "`safe` must be false unless labels are"),
        ({"audits": "decisions", "margin": 0.05}, "`audits` must be .probabilities. with a margin"),
        ({"labels": "some"}, "`labels` must be"),
        ({"lot": "none"}, "`lot` must be"),
    ],
)
def test_settings_that_make_no_sense_together_are_refused(changes, wrong):
    with pytest.raises(InvalidParameter, match=wrong):
        loans(**changes)


def test_a_round_whose_labels_do_not_come_in_time_counts_the_accepted_as_unseen():
    fold = Fold(loans(waits=Waits(label=10, grace=0), **BANK))
    while True:
        t, _ = fold.open([[0.9, 0.8], [0.1, 0.1]], prefix=f"{fold.state.opened}.")
        if any(person.decision for person in fold.opened(t).people):
            break
        fold.audit(t)
    fold.audit(t)
    fold.clock.forward(10)
    fold.advance(t)
    assert fold.state.totals.missing == sum(person.decision for person in fold.opened(t).people)
    seen = fold.past(t).seen()
    u = fold.opened(t).estimate.doubt
    s = estimated_weights(seen.batch.y, seen.decisions, seen.probabilities, seen.estimate)
    assert s.tolist() == [u, u]
