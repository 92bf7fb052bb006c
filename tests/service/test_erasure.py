"""Somebody who was erased stays erased: while others read, on the disk, and when an old backup is put back."""

from __future__ import annotations

import pytest
from loans import drawn, loans, people
from numpy.random import default_rng

from likewise.service.problems import Unknown

X = default_rng(1).random((2, 2))


def test_a_record_that_is_read_while_its_person_is_erased_is_there_or_not_there(engine, monkeypatch):
    """The reader has seen in which rounds they were, and finds them gone when it looks there."""
    engine.create(loans(), "root")
    for _ in range(3):
        engine.decide("loans", people(X), "decider")
    events = engine.store.events

    def erased_meanwhile(stream, *given, round=None, **more):
        if round == 2:
            monkeypatch.undo()
            engine.erase("loans", "1", "root")
        return events(stream, *given, round=round, **more)

    monkeypatch.setattr(engine.store, "events", erased_meanwhile)
    assert [one["round"] for one in engine.person("loans", "1")["rounds"]] == [1]
    with pytest.raises(Unknown):
        engine.person("loans", "1")


def test_a_record_whose_person_is_erased_before_its_first_round_is_read_is_not_there(engine, monkeypatch):
    engine.create(loans(), "root")
    engine.decide("loans", drawn(default_rng(0)), "decider")
    asides = engine.store.asides

    def found_just_before(stream, **more):
        found = asides(stream, **more)
        monkeypatch.undo()
        engine.erase("loans", "1", "root")
        return found

    monkeypatch.setattr(engine.store, "asides", found_just_before)
    with pytest.raises(Unknown):
        engine.person("loans", "1")
