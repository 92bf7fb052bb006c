"""A reviewer who contradicts an earlier answer about the same two people: their report gets no cut."""

from __future__ import annotations

import json

import numpy as np
import pytest
from forging import often_written_down
from loans import BANK, Fold, fingerprint, from_class, loans

import likewise as lw
from likewise import kernels
from likewise.learners.kept import NOBODY
from likewise.service.canonical import dumps
from likewise.service.stream import commands
from likewise.service.stream.events import LearnerCheckpointed, read_event
from likewise.service.stream.learner import person_number
from likewise.service.stream.state import State

X = np.array([[0.9, 0.5], [0.15, 0.5]])
Y = (1.0, 0.0)
ANSWERS = [None, "report", *[None] * 8, "report", "report", None, None]
"""A pair is reported, passes while it is treated more differently than before, and is reported again."""


def asked(fold, answer, people=X, y=Y, prefix=""):
    """A round of two people who come again and again; how far apart they were treated."""
    t, shown = fold.open(people, prefix=prefix)
    ids = [f"{prefix}{i}" for i in range(len(people))]
    fold.do(commands.ReceiveLabels(t, {id: int(label) for id, label in zip(ids, y, strict=True)}, "decider"))
    gap = shown[0] - shown[1]
    if answer == "report" and gap > fold.state.stream.settings.level:
        fold.do(commands.Audit(t, "pair", "ann", ids[:2]))
    else:
        fold.do(commands.Audit(t, "none", "ann"))
    return gap


def lived(answers=ANSWERS, prefixes=("",), **settings):
    fold = Fold(loans(k=2, **settings))
    for answer in answers:
        for prefix in prefixes:
            asked(fold, answer, prefix=prefix)
    return fold


def without_cut(learner):
    """Which rows have a cap that is no higher than their slope."""
    return learner.terms[:, kernels.CAP] == learner.terms[:, kernels.SLOPE]


def test_a_report_that_contradicts_an_earlier_answer_gets_no_cut():
    learner = lived().state.learner
    assert learner.passed[0] > learner.gaps.max()
    assert without_cut(learner).tolist() == [False, True, True]
    agreed = lived(["report"] * 5).state.learner
    assert agreed.reports > 1
    assert not without_cut(agreed).any()


def test_a_stream_of_before_does_not_know_who_its_people_are(monkeypatch):
    monkeypatch.setattr("likewise.service.stream.decide.LEARNER_VERSION", 3)
    learner = lived().state.learner
    assert learner.reports == 3
    assert (learner.people == NOBODY).all()
    assert not without_cut(learner).any()


@pytest.mark.parametrize("horizon", [None, 50])
@pytest.mark.parametrize("kind", ["thresholds", "cells"])
def test_the_service_learns_what_the_library_learns_bit_by_bit(kind, horizon):
    F = lw.Thresholds.quantiles(np.random.default_rng(3).random((50, 2)), cuts=6)
    if kind == "cells":
        F = lw.Cells.grid(np.random.default_rng(3).random((50, 2)), bins=3)
    fold = Fold(from_class(F, ("score", "age"), k=2, T=horizon))
    learner = lw.AdaHedge(F, k=2, alpha=0.1, T=horizon)
    numbers, state = np.array([person_number("0"), person_number("1")]), learner.init()
    contradicted = 0
    for answer in ANSWERS:
        shown = fold.state.stream.probabilities(fold.state.policy, F.encode(X))
        gap = asked(fold, answer)
        reports = (lw.Report(0, 1),) if answer == "report" and gap > 0.1 else ()
        state = learner.update(state, lw.Round(lw.Batch(F.encode(X), np.array(Y), X, numbers), shown, reports))
        for part, ours in fold.state.learner._asdict().items():
            np.testing.assert_array_equal(ours, getattr(state, part), strict=True)
        contradicted += without_cut(state).any()
    assert contradicted


def read_again(fold):
    """The state after everything was written down and read."""
    asides = {aside.ref: aside for event in fold.events for aside in event.asides}
    state = State()
    for event in fold.events:
        beside = tuple(asides[ref] for ref in event.refs if ref in asides)
        state = read_event(event.kind, json.loads(dumps(event.data())), event.at, beside).evolve(state)
    return state


def test_a_learner_that_was_written_down_still_hears_contradictions():
    """It is read from the log in the middle of the contradiction; the numbers are made from ids beside the log."""
    with often_written_down(3):
        fold = lived()
    written = [event for event in fold.events if isinstance(event, LearnerCheckpointed)]
    assert any(event.pairs for event in written)
    assert without_cut(fold.state.learner).any()
    assert fingerprint(read_again(fold)) == fingerprint(fold.state)


def test_the_log_holds_no_number_of_a_person():
    with often_written_down(3):
        fold = lived()
    (*_, last) = [event for event in fold.events if isinstance(event, LearnerCheckpointed)]
    assert last.pairs
    assert "people" not in last.learner
    assert "contrasts" not in last.learner


def test_of_two_pairs_who_lay_alike_only_the_one_with_an_erased_person_is_frozen():
    """By their rows alone nobody could say which of the two is which."""
    fold = lived(ANSWERS[:7], prefixes=("a", "b"))
    before = fold.state
    assert len(before.learner.made) == 2
    assert np.array_equal(*before.learner.contrasts)
    frozen = LearnerCheckpointed.of(before, 0, [before.pairs[0].refs[1]]).evolve(before)
    assert frozen.learner.people.tolist() == before.learner.people.tolist()[1:]
    assert frozen.learner.people.tolist() == [[person_number("b0"), person_number("b1")]]
    assert [pair.refs for pair in frozen.pairs] == [before.pairs[1].refs]


def test_people_who_keep_their_first_answer_say_nothing_about_the_gap_of_today():
    fold = Fold(loans(k=3, **BANK))
    t, shown = fold.open(np.vstack([X, [0.5, 0.5]]), prefix="a")
    fold.do(commands.Audit(t, "none", "ann"))
    record = {f"a{i}": (shown[i], 1) for i in range(2)}
    t, _ = fold.open(np.vstack([X, [0.5, 0.5]]), prefix="a", record=record)
    round_ = fold.state.rounds[t]
    seen = round_.with_people(round_.seen())
    assert seen.compared.tolist() == [i in round_.fresh for i in range(3)]
    assert not seen.compared[:2].any()
    assert seen.batch.person.tolist() == [person_number(f"a{i}") for i in range(3)]
