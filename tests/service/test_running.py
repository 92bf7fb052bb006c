"""The clock's thread: it goes on whatever fails, sweeps now and then, and ends when it is told to."""

from __future__ import annotations

import math
import threading

import pytest

from likewise.service import running
from likewise.service.running import ClockThread


class Engine:
    """Counts what the clock asks; ``enough`` is set after some ticks."""

    def __init__(self, ticks=5):
        self.asked, self.ready, self.enough = [], False, threading.Event()
        self._ticks = ticks

    def start(self):
        self.asked.append("start")
        if self.asked.count("start") == 1:
            raise OSError("The database is away.")
        self.ready = True

    def tick(self):
        self.asked.append("tick")
        if self.asked.count("tick") >= self._ticks:
            self.enough.set()

    def sweep(self):
        self.asked.append("sweep")


def looked(engine, each_tick=()):
    """Let the clock look until it is enough; how often a look failed."""
    failed = []
    clock = ClockThread(engine, 0.0, each_tick, lambda: failed.append(1))
    clock.start()
    assert engine.enough.wait(300)
    clock.stop()
    return len(failed)


def test_it_begins_again_until_the_logs_are_read_and_sweeps_once_in_a_while():
    engine = Engine()
    assert looked(engine) == 1
    assert engine.asked[:5] == ["start", "start", "tick", "sweep", "tick"]
    assert engine.asked.count("sweep") == 1


def test_it_sweeps_at_once_on_a_machine_that_has_just_started(monkeypatch):
    monkeypatch.setattr(running.time, "monotonic", lambda: 0.5)
    engine = Engine()
    looked(engine)
    assert engine.asked[:4] == ["start", "start", "tick", "sweep"]


def test_it_sweeps_again_when_it_is_time(monkeypatch):
    monkeypatch.setattr(running, "SWEEP_EVERY", -1.0)
    engine = Engine()
    looked(engine)
    assert engine.asked.count("sweep") >= 4


def test_what_else_is_done_every_time_may_fail_without_ending_it(caplog):
    engine, done = Engine(), []
    failures = looked(engine, [lambda: done.append(1), lambda: 1 / 0])
    assert failures == 1 + len(done)
    assert len(done) == engine.asked.count("tick")
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("again", [math.inf, 0.0])
def test_what_stays_the_matter_is_logged_once_and_again_when_it_is_time(caplog, monkeypatch, again):
    monkeypatch.setattr(running, "AGAIN", again)
    failures = looked(Engine(), [lambda: 1 / 0])
    assert failures >= 6  # the start that failed, and every look since
    logged = [record for record in caplog.records if "ZeroDivisionError" in record.message]
    assert len(logged) == (1 if again else failures - 1)


@pytest.mark.parametrize("started", [False, True])
def test_it_ends_whether_it_has_begun_or_not(started):
    engine = Engine(ticks=1)
    engine.ready = True
    clock = ClockThread(engine, 3600.0, (), lambda: None)
    if started:
        clock.start()
        assert engine.enough.wait(300)
    clock.stop()
    assert engine.asked.count("tick") == started
