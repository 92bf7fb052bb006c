"""Events as types: what stands in the log comes back as it was, and everything about a kind is in its class."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from loans import Fold, bank_life, far_apart, fingerprint, loans
from test_known import answer, due, judged, mark, reported
from test_panel import team

from likewise.errors import InvalidParameter
from likewise.service.asides import reason_aside
from likewise.service.canonical import dumps
from likewise.service.stream import commands
from likewise.service.stream.events import KINDS, Decided, Event, RoundOpened, Stopped, read_event, seconds, stamp
from likewise.service.stream.events.event import RoundEvent
from likewise.service.stream.learner import LEARNER_VERSION
from likewise.service.stream.settings import Review, Waits
from likewise.service.stream.state import State

APART = np.array([[0.05, 0.5], [0.95, 0.5], [0.5, 0.05]])


@pytest.fixture(scope="module")
def lived():
    """The events of a stream in which every kind happens."""
    fold = Fold(loans(waits=Waits(audit=60, label=90, grace=5)))
    for i in range(30):
        t, probabilities = fold.open(APART)
        fold.label(t, [0, 1, 0] if i % 3 else [0, np.nan, np.nan])
        high, low = far_apart(probabilities)
        if i % 4 == 3:
            pass  # nobody looks
        elif probabilities[high] - probabilities[low] > 0.1:
            fold.audit(t, (high, low))
        else:
            fold.audit(t)
        if i == 5:
            fold.do(commands.RetractAudit(t, "ann"))
        fold.clock.forward(100)
        fold.advance(t)
        if i == 6:
            fold.do(fold.late(t, {1: 1, 2: 0}))
    fold.do(commands.CorrectAudit(2, "skip", "bob", past=fold.past(2)))
    fold.do(commands.ChangeWaits({"grace": 0}, "root"))
    fold.do(commands.Audit(3, "skip", "eve", past=fold.past(3)))
    fold.do(commands.ChangePlan({"ask_all": False, "second": 1.0}, "root"))
    fold.open(APART)
    fold.do(commands.ChangeBrief({"alike": "Same income.\nSame debts.", "reasons": ["the same debts"]}, "root"))
    fold.do(commands.Stop(reason_aside("lunch"), "root"))
    fold.do(commands.Resume("root"))
    fold.do(commands.RotateKey("ab" * 32, "cd" * 32, "a note", "root"))
    fold.do(commands.Erase(["3.1"], [3], "root"))
    return fold


def everything(lived, bank):
    """The events of all streams here, and of one on which two people disagree and a third decides."""
    fold, t, pairs = team()
    fold.audit(t, pairs[0], "ann")
    fold.audit(t, None, "ben")
    fold.do(commands.JudgePair(t, [str(i) for i in pairs[0]], True, "cyd"))
    return lived.events + bank.events + fold.events + known_rounds()


def known_rounds():
    """The events of a stream on which a gold round is shown, answered, taken back, and answered again."""
    fold = judged(grace=50.0)
    t, _ = reported(fold)
    mark(fold, t)
    number = due(fold)
    fold.do(commands.ShowKnown(t, number, "cyd"))
    answer(fold, t, number, "none")
    fold.do(commands.RetractKnown(t, number, "cyd"))
    answer(fold, t, number, "none")
    mark(fold, t, None)
    return fold.events


@pytest.fixture(scope="module")
def bank():
    """The events of a stream that sees labels of accepted people only, and whose auditors see decisions."""
    return bank_life(audits="decisions", review=Review(share=0.5))


def test_every_kind_happened(lived, bank):
    assert {event.kind for event in everything(lived, bank)} == set(KINDS)


def test_what_stands_in_the_log_comes_back_as_it_was(lived, bank):
    for event in everything(lived, bank):
        written = json.loads(dumps(event.data()))
        again = read_event(event.kind, written, event.at, event.asides)
        assert type(again) is type(event)
        assert again == event
        assert dumps(again.data()) == dumps(event.data())


def test_a_stream_says_with_which_learner_it_began_and_one_that_does_not_is_refused_in_a_sentence(lived):
    created = lived.events[0].data()
    assert created["learner_version"] == LEARNER_VERSION == 4
    before = {name: value for name, value in created.items() if name != "learner_version"}
    with pytest.raises(InvalidParameter, match="does not say which version of the learner it began with"):
        read_event("stream_created", before, lived.events[0].at)


@pytest.mark.parametrize("stream", ["lived", "bank"])
def test_a_log_that_was_read_leads_to_the_same_state(stream, request):
    fold = request.getfixturevalue(stream)
    asides = {aside.ref: aside for event in fold.events for aside in event.asides}
    state = State()
    for event in fold.events:
        beside = tuple(asides[ref] for ref in event.refs if ref in asides)
        state = read_event(event.kind, json.loads(dumps(event.data())), event.at, beside).evolve(state)
    assert fingerprint(state) == fingerprint(fold.state)


def test_what_an_event_does_not_say_is_left_out_of_the_log(lived, bank):
    new = {"returning", "estimate", "lot"}
    assert not any(new & event.data().keys() for event in lived.events)
    opened = [event.data() for event in bank.events if isinstance(event, RoundOpened)]
    assert all({"estimate", "lot"} <= data.keys() for data in opened)
    assert 0 < sum("returning" in data for data in opened) < len(opened)


def test_nobody_is_encoded_again_who_was_encoded_when_deciding(lived, monkeypatch):
    kind = type(lived.state.stream)
    calls, encode = [], kind.encode
    monkeypatch.setattr(kind, "encode", lambda self, people: calls.append(people) or encode(self, people))
    fold = Fold()
    fold.open(APART)
    assert len(calls) == 1
    (opened,) = (event for event in fold.events if isinstance(event, RoundOpened))
    encoded = replace(opened, rows=None).evolve(Fold().state).rounds[1].rows
    assert np.array_equal(encoded, fold.state.rounds[1].rows)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_event_with_other_fields_is_refused(lived, bank, kind):
    event = next(event for event in everything(lived, bank) if event.kind == kind)
    data = event.data()
    with pytest.raises(InvalidParameter, match=f"An event of the kind {kind} must hold"):
        read_event(kind, data | {"more": 1}, event.at)
    name = sorted(data)[0]
    with pytest.raises(InvalidParameter, match="must hold"):
        read_event(kind, {other: data[other] for other in data if other != name}, event.at)


def test_an_unknown_kind_is_refused_by_name():
    with pytest.raises(InvalidParameter, match=r"`kind` must be one of .* got 'noted'"):
        read_event("noted", {}, stamp(0))


def test_every_kind_is_a_frozen_class_that_says_what_it_does():
    for kind, cls in KINDS.items():
        assert cls.kind == kind
        assert cls.__doc__
        assert "evolve" in vars(cls), "what it does to the state"
        if issubclass(cls, RoundEvent):
            assert "tell" in vars(cls), "what it adds to the view of a round"
    event: Event = Stopped(at=stamp(0), reason="lunch", by="ann")
    with pytest.raises(AttributeError):
        event.reason = "dinner"


def test_a_time_of_the_log_is_that_of_the_clock_to_the_microsecond():
    rng = np.random.default_rng(0)
    for now in [0.0, 0.25, 1_700_000_000.0000005, *(1.7e9 + 1e9 * rng.random(200))]:
        assert abs(seconds(stamp(now)) - now) <= 1e-6
        assert stamp(seconds(stamp(now))) == stamp(now)


@pytest.mark.parametrize("probability", [0.5, 1 / 3, 0.0, 1.0, 1, 1e-4, 9.9e-5, 1e-7, 0.1 + 0.2, True])
@pytest.mark.parametrize("decision", [0, 1, True, 1.0])
@pytest.mark.parametrize("ref", ["0f" * 16, "", 'a"b', "a\\b", "é" * 32, "²", 5, None])
def test_a_person_of_a_round_is_spelt_as_anything_else_is(ref, decision, probability):
    """Also one that somebody put into a log."""
    person = Decided(ref, "ab" * 32, probability, decision)
    assert person.text == dumps(asdict(person))
