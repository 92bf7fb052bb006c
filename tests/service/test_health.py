"""What waits too long is measured as long as it waits, also while the clock or the database is what fails."""

from __future__ import annotations

import numpy as np
import pytest
from loans import drawn, loans
from serving import STREAM, people, running, until
from sqlalchemy import event

from likewise.service.monitoring import MOST_NAMED, Metrics, StreamHealth
from likewise.service.refusals import Unavailable
from likewise.service.stream.settings import Waits


@pytest.fixture
def engine(start, new_database):
    return start(new_database("sqlite"))


def health(engine, name="loans"):
    (found,) = [each for each in engine.health() if each.name == name]
    return found


class TestUnsigned:
    def test_an_event_waits_for_its_checkpoint_from_the_look_before_it_on(self, engine, clock):
        engine.create(loans(), "root")
        engine.tick()
        assert health(engine).oldest_unsigned == 0
        clock.forward(0.5)
        engine.decide("loans", drawn(np.random.default_rng(0)), "decider")
        assert health(engine).oldest_unsigned == 0.5, "at most since the last look, at which there was nothing"
        engine.tick()
        assert health(engine).oldest_unsigned == 0.5, "a checkpoint is not due before two seconds"
        clock.forward(1.5)
        assert health(engine).oldest_unsigned == 2
        engine.tick()
        assert health(engine).oldest_unsigned == 0

    def test_it_goes_on_waiting_while_the_clock_stands_still(self, engine, clock):
        engine.create(loans(), "root")
        engine.tick()
        engine.decide("loans", drawn(np.random.default_rng(0)), "decider")
        clock.forward(1000)
        assert health(engine).oldest_unsigned == 1000
        clock.forward(-5000)
        assert health(engine).oldest_unsigned == 0, "the time of day was set back"

    def test_events_signed_before_a_restart_have_not_waited(self, engine, clock, start):
        engine.create(loans(), "root")
        engine.tick()
        clock.forward(1000)
        again = start(engine.store.url)
        assert health(again).oldest_unsigned == 0
        again.tick()
        clock.forward(1000)
        assert health(again).oldest_unsigned == 0
        again.decide("loans", drawn(np.random.default_rng(0)), "decider")
        assert health(again).oldest_unsigned == 1000

    def test_a_key_that_was_changed_leaves_everything_unsigned(self, engine, clock, monkeypatch):
        engine.create(loans(), "root")
        engine.tick()
        engine.decide("loans", drawn(np.random.default_rng(0)), "decider")
        monkeypatch.setattr(engine._heads, "owns", lambda key: False)
        for _ in range(3):
            clock.forward(10)
            engine.sign_heads()
        assert health(engine).oldest_unsigned == 30


class TestOpenAndOverdue:
    def test_the_oldest_open_round_counts_until_it_is_learned(self, engine, clock):
        engine.create(loans(waits=Waits(audit=50, label=50, grace=0)), "root")
        assert health(engine).oldest_open_round == 0
        for _ in range(2):
            engine.decide("loans", drawn(np.random.default_rng(0)), "decider")
            clock.forward(30)
        assert health(engine).oldest_open_round == 60
        assert health(engine).overdue == 10, "the first was due after 50 seconds"
        engine.tick()
        assert (health(engine).oldest_open_round, health(engine).overdue) == (30, 0)
        clock.forward(30)
        engine.tick()
        assert health(engine) == StreamHealth("loans")

    def test_what_is_due_stays_overdue_while_writes_fail(self, engine, clock, monkeypatch):
        engine.create(loans(waits=Waits(audit=50, label=50, grace=0)), "root")
        engine.decide("loans", drawn(np.random.default_rng(0)), "decider")
        engine.tick()
        clock.forward(60)

        def full(*_, **__):
            raise Unavailable("The database did not accept the write.")

        monkeypatch.setattr(engine.store, "submit", full)
        monkeypatch.setattr(engine.store, "hand_in", full)
        for _ in range(2):
            with pytest.raises(Unavailable):
                engine.tick()
        assert health(engine).overdue == 10
        monkeypatch.undo()
        engine.tick()
        assert health(engine).overdue == 0


def test_a_broken_stream_is_broken_and_the_others_are_measured(engine):
    for name in ("a-broken", "whole"):
        engine.create(loans(name=name), "root")
    engine.broken.guard("a-broken", lambda: 1 / 0)
    assert list(engine.health()) == [StreamHealth("a-broken", broken=True), health(engine, "whole")]
    assert not health(engine, "whole").broken


class TestMetrics:
    def test_the_worst_stream_speaks_for_all_and_none_is_named(self):
        said = Metrics().text([StreamHealth("loans", 1, 20, 3), StreamHealth("jobs", 10, 2, 30)]).decode()
        for line in ("oldest_unsigned_seconds 10.0", "oldest_open_round_seconds 20.0", "overdue_seconds 30.0"):
            assert f"\nlikewise_{line}\n" in said
        assert "loans" not in said
        assert "jobs" not in said

    def test_streams_are_named_if_that_is_wanted_and_broken_ones_have_no_ages(self):
        said = Metrics(named=True).text([StreamHealth("loans", 1, 20, 3), StreamHealth("jobs", broken=True)]).decode()
        assert 'likewise_stream_oldest_open_round_seconds{stream="loans"} 20.0' in said
        assert 'likewise_stream_broken{stream="jobs"} 1.0' in said
        assert 'likewise_stream_broken{stream="loans"} 0.0' in said
        assert 'seconds{stream="jobs"}' not in said

    def test_of_thousands_the_broken_ones_are_named_and_the_same_others_each_time(self):
        streams = [StreamHealth(f"s{i:04}", oldest_unsigned=i, broken=i == 4000) for i in range(5000)]
        said = Metrics(named=True).text(streams).decode()
        assert said.count("likewise_stream_broken{") == MOST_NAMED
        assert 'likewise_stream_broken{stream="s4000"} 1.0' in said
        assert 'likewise_stream_oldest_unsigned_seconds{stream="s0098"} 98.0' in said
        assert "s0099" not in said
        assert "\nlikewise_oldest_unsigned_seconds 4999.0\n" in said, "whoever is not named still counts"

    @pytest.mark.parametrize("named", [False, True])
    def test_a_running_service_answers_with_them(self, tmp_path, named):
        with running(database=str(tmp_path / "log.db"), metrics_by_stream=named) as service:
            service.admin.post("/v1/streams", json=STREAM)
            service.admin.post("/v1/streams/loans/rounds", json={"people": people(1)})
            until(lambda: "likewise_ready 1.0" in service.anybody.get("/metrics").text)
            said = service.anybody.get("/metrics").text
        assert "likewise_clock_lag_seconds " in said
        assert ('likewise_stream_oldest_unsigned_seconds{stream="loans"}' in said) == named
        assert ("loans" in said) == named


def test_streams_that_wait_for_nothing_cost_nothing_but_one_look_for_all(engine):
    asked = []
    for database in (engine.store._readers, engine.store._writers):
        event.listen(database, "before_cursor_execute", lambda *given: asked.append(given[2]))

    def cost(streams):
        for i in range(len(engine.streams.names()), streams):
            engine.create(loans(name=f"s{i}"), "root")
        for _ in range(3):  # what is new is looked at and signed
            engine.tick()
        asked.clear()
        engine.tick()
        return [statement.partition(" ")[0] for statement in asked if statement != "BEGIN"]

    assert cost(2) == cost(30) == ["SELECT", "PRAGMA"], "where the logs end, and what tidies up"
