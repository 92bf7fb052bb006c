"""A stream that another process moves on all the time is left to it; whoever asks here is told how it stands now."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from loans import loans, people

from likewise.service.live.stream import ALONE, BOOKS
from likewise.service.live.streams import AWAY, LET_GO, MISSED
from likewise.service.refusals import BrokenLog
from likewise.service.stream.settings import Waits

X = np.array([[0.05, 0.5], [0.95, 0.5]])


@pytest.fixture
def two(database, start, clock):
    """Two processes on one log: the first creates and moves a stream on, the second has read it."""
    busy = start(database)
    busy.create(loans(waits=Waits(audit=60, label=60, grace=0)), "root")
    idle = start(database)
    clock.now += 1.0
    idle.tick()
    return busy, idle


def moves(busy, idle, clock, looks):
    """The busy process opens a round before each of some looks of both."""
    for _ in range(looks):
        busy.decide("loans", people(X), "decider")
        clock.now += 0.5
        busy.tick()
        idle.tick()


def read_so_far(engine):
    live = engine.streams._live.get("loans")
    return None if live is None else live.durable.seq


def test_it_is_not_read_along_and_later_let_go_of(two, clock):
    busy, idle = two
    moves(busy, idle, clock, ALONE - 1)
    so_far = read_so_far(idle)
    assert so_far == read_so_far(busy)
    moves(busy, idle, clock, LET_GO - ALONE)
    assert read_so_far(idle) == so_far < read_so_far(busy), "nobody asked, and the other process does the work"
    moves(busy, idle, clock, 2)
    assert read_so_far(idle) is None
    moves(busy, idle, clock, int(2 * BOOKS))
    assert read_so_far(idle) is None
    assert read_so_far(busy) is not None, "whoever moves it on keeps it"


@pytest.mark.parametrize("looks", [ALONE + 2, LET_GO + 5])
def test_whoever_asks_is_told_how_it_stands_now(two, clock, looks):
    busy, idle = two
    moves(busy, idle, clock, looks)
    assert idle.stream("loans") == busy.stream("loans")
    moves(busy, idle, clock, 1)
    assert read_so_far(idle) == read_so_far(busy), "where somebody asks, it is read along again"


@pytest.mark.parametrize("looks", [ALONE + 2, LET_GO + 5])
def test_both_may_decide_and_no_round_is_lost_or_doubled(two, clock, looks):
    busy, idle = two
    moves(busy, idle, clock, looks)
    here = asyncio.run(idle.decide_soon("loans", people(X), "decider"))
    there = busy.decide("loans", people(X), "decider")
    assert (here["t"], there["t"]) == (looks + 1, looks + 2)
    assert idle.round("loans", looks + 2)["people"] == busy.round("loans", looks + 2)["people"]


def test_while_somebody_asks_it_is_kept(two, clock):
    busy, idle = two
    for _ in range(LET_GO):
        moves(busy, idle, clock, 2)
        idle.stream("loans")
    assert read_so_far(idle) is not None


@pytest.mark.parametrize("looks", [ALONE + 2, LET_GO + 5])
def test_once_its_process_is_gone_this_one_does_what_is_due(two, clock, looks):
    busy, idle = two
    moves(busy, idle, clock, looks)
    clock.now += MISSED + 60.0  # every audit and label has expired
    assert idle.tick() == looks
    assert busy.stream("loans")["rounds"] == idle.stream("loans")["rounds"]


def test_it_is_read_again_now_and_then_in_case_the_other_process_does_nothing_but_decide(two, clock):
    busy, idle = two
    moves(busy, idle, clock, LET_GO + 5)
    assert read_so_far(idle) is None
    for _ in range(int(2 * AWAY)):  # its clock stands still
        busy.decide("loans", people(X), "decider")
        clock.now += 0.5
        idle.tick()
        if read_so_far(idle) is not None:
            break
    assert read_so_far(idle) is not None


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_log_that_is_gone_is_noticed_by_a_process_that_had_let_go_of_it(two, clock, database):
    busy, idle = two
    moves(busy, idle, clock, LET_GO + 5)
    with closing(sqlite3.connect(database)) as log:
        for (trigger,) in log.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            log.execute(f"DROP TRIGGER {trigger}")
        for table in ("asides", "events"):
            log.execute(f"DELETE FROM {table}")
        log.commit()
    clock.now += 0.5
    idle.tick()
    assert "loans" in idle.broken
    with pytest.raises(BrokenLog):
        idle.streams.get("loans")
