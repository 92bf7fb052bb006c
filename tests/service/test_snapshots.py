"""When a snapshot of a stream is taken, and its state again from one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loans import fingerprint, loans, people
from sqlalchemy import text

from likewise.service.log import snapshots
from likewise.service.log.snapshots import StreamSnapshots
from likewise.service.refusals import Unavailable

X = np.array([[0.05, 0.5], [0.95, 0.5]])


@pytest.fixture
def live(new_database, start):
    """A stream with three open rounds."""
    engine = start(new_database("sqlite"))
    engine.create(loans(), "root")
    for _ in range(3):
        engine.decide("loans", people(X), "decider")
    return engine.streams.get("loans")


@pytest.fixture
def kept(live):
    return StreamSnapshots(live._store, "loans")


def test_a_state_comes_back_as_it_was_saved(live, kept):
    assert kept.latest() is None
    assert kept.save(*live.durable[:3], always=True)
    state, seq, hash = StreamSnapshots(live._store, "loans").latest()
    assert (seq, hash) == live.durable[1:3]
    assert fingerprint(state) == fingerprint(live.durable.state)


@pytest.mark.parametrize(("every", "taken"), [(4, False), (3, False), (2, True)])
def test_the_next_one_is_taken_after_enough_events(live, kept, monkeypatch, every, taken):
    """Of a stream whose rounds are closed; there are four events, and the last snapshot was taken at the second."""
    monkeypatch.setattr(snapshots, "EVERY", every)
    state, seq, hash = live.durable[:3]
    kept.seq = 2
    assert kept.save(replace(state, rounds=type(state.rounds)()), seq, hash) is taken
    assert kept.seq == (seq if taken else 2)


def test_many_open_rounds_make_it_wait_longer(live, kept, monkeypatch):
    """It holds every one of them, so it would be the more work the more there are."""
    monkeypatch.setattr(snapshots, "EVERY", 1)
    assert live.durable.state.outstanding == 3
    assert not kept.save(*live.durable[:3])  # four events are less than twice three
    kept.seq = live.durable.seq - 6
    assert kept.save(*live.durable[:3])


def test_nothing_is_saved_twice_or_without_its_learner(live, kept):
    assert not kept.save(replace(live.durable.state, learner=None), *live.durable[1:3], always=True)
    assert kept.save(*live.durable[:3], always=True)
    assert not kept.save(*live.durable[:3], always=True)


def test_one_in_another_layout_is_as_good_as_none(live, kept, monkeypatch, caplog):
    """It is sealed, so it is ours: only a mistake of our own could have made it."""
    monkeypatch.setattr(snapshots, "dump_state", lambda state: {"settings": {}})
    assert kept.save(*live.durable[:3], always=True)
    again = StreamSnapshots(live._store, "loans")
    assert again.latest() is None
    assert again.seq == 0
    assert "unreadable" in caplog.text


def test_a_database_that_is_away_costs_a_snapshot_and_nothing_else(live, kept, monkeypatch, caplog):
    def away(write):
        raise Unavailable("The database is away.")

    with monkeypatch.context() as patch:
        patch.setattr(live._store, "write", away)
        assert not kept.save(*live.durable[:3], always=True)
    assert kept.seq == 0
    assert "No snapshot of 'loans' was taken" in caplog.text
    assert kept.save(*live.durable[:3], always=True)
    with live._store.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM snapshots")) == 1
