"""A database that is away for a moment: what was due stays due, and no answer rests on what never became durable."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import contextmanager

import numpy as np
import pytest
from loans import drawn, loans
from serving import until

from likewise.service.live.stream import TOGETHER, Task
from likewise.service.refusals import Unavailable
from likewise.service.stream import commands
from likewise.service.stream.settings import Waits

LABELS = {str(i): 1 for i in range(4)}


@contextmanager
def writes(engine, monkeypatch, *, fail):
    """Writes that fail at once, or hang until the test ends them; the futures of those that hang."""
    held = []

    def submit(write, *, wake=True):
        held.append(Future())
        if fail:
            held[-1].set_exception(Unavailable("The database is away."))
        return held[-1]

    with monkeypatch.context() as patch:
        patch.setattr(engine.store, "submit", submit)
        patch.setattr(engine.store, "hand_in", submit)
        yield held


def opened(engine, rounds=1, **waits):
    engine.create(loans(waits=Waits(**{"grace": 10} | waits)), "root")
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        engine.decide("loans", drawn(rng), "decider")


def test_rounds_that_fall_due_while_the_database_is_away_close_when_it_is_back(engine, clock, monkeypatch):
    opened(engine, rounds=3)
    for t in (1, 2, 3):
        engine.label("loans", t, LABELS, "decider")
        engine.audit("loans", t, "none", "ann")
    clock.forward(11)
    with writes(engine, monkeypatch, fail=True), pytest.raises(Unavailable):
        engine.tick()
    engine.tick()
    assert engine.stream("loans")["learned"] == 3


def test_an_audit_that_expires_meanwhile_does_so_too(engine, clock, monkeypatch):
    opened(engine, audit=60)
    clock.forward(61)
    with writes(engine, monkeypatch, fail=True), pytest.raises(Unavailable):
        engine.tick()
    engine.tick()
    assert engine.round("loans", 1)["audit"] is not None


def test_a_look_at_the_clock_just_before_a_lost_verdict_is_noticed_takes_nothing_for_done(engine, clock, monkeypatch):
    opened(engine, audit=60)
    positions = engine.streams.get("loans").positions
    undo = positions.undo

    def audit():
        with pytest.raises(Unavailable):
            engine.audit("loans", 1, "none", "ann")

    def look_first(generation):
        engine.tick()
        undo(generation)

    with writes(engine, monkeypatch, fail=False) as held:
        lost = threading.Thread(target=audit)
        lost.start()
        until(lambda: held)
    clock.forward(61)
    monkeypatch.setattr(positions, "undo", look_first)
    held[0].set_exception(Unavailable("The database is away."))
    lost.join()
    assert engine.tick() == 1
    assert engine.round("loans", 1)["audit"]["verdict"] == "expired"


def test_many_rounds_that_are_due_share_the_syncs_of_few_transactions(engine, clock, monkeypatch):
    opened(engine, rounds=120)
    for t in range(1, 121):
        engine.label("loans", t, LABELS, "decider")
        engine.audit("loans", t, "none", "ann")
    clock.forward(11)
    writer, commits = engine.store._writer, []
    write = writer._transaction

    def slow(works):
        """The first commit takes until all that the clock moves on in one go is handed in."""
        if not commits:
            until(lambda: len(works) + sum(len(group.jobs) for group in writer._groups) >= TOGETHER)
        commits.append(len(works))
        return write(works)

    monkeypatch.setattr(writer, "_transaction", slow)
    assert engine.tick() == 120
    assert engine.stream("loans")["learned"] == 120
    assert sum(commits[:2]) >= TOGETHER, "whatever waited for the first commit shared the second"


def refused(engine):
    with pytest.raises(Unavailable):
        engine.label("loans", 1, {"0": 1}, "decider")


def test_labels_are_no_duplicates_of_labels_that_may_still_be_lost(engine, monkeypatch):
    opened(engine)
    said = []
    with writes(engine, monkeypatch, fail=False) as held:
        lost = threading.Thread(target=refused, args=(engine,))
        lost.start()
        until(lambda: held)
    again = threading.Thread(target=lambda: said.append(engine.label("loans", 1, {"0": 1}, "decider")))
    again.start()
    again.join(0.2)
    assert said == [], "an answer that rests on a write that hangs"
    held[0].set_exception(Unavailable("The database is away."))
    lost.join()
    again.join()
    assert said[0]["disposition"] == "pending"
    assert engine.round("loans", 1)["people"][0]["label"] == 1


def test_no_refusal_rests_on_a_verdict_that_was_lost_with_its_sender(engine, monkeypatch):
    opened(engine)
    with writes(engine, monkeypatch, fail=False) as held:
        task = Task(lambda state: commands.Audit(1, "none", "ann"), lambda outcome: {})
        engine.streams.get("loans")._begun(task, engine.clock())
    held[0].set_exception(Unavailable("The database is away."))
    assert engine.audit("loans", 1, "none", "bob")["verdict"] == "cleared"
    assert engine.round("loans", 1)["audit"]["by"] == "bob"
