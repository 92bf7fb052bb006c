"""Where a stream stands: ahead of the disk, back again, and after what other processes wrote."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import numpy as np
import pytest
from loans import Fold, fingerprint, loans

from likewise.service.asides import reason_aside
from likewise.service.canonical import GENESIS
from likewise.service.live import position
from likewise.service.live.position import START, Positions
from likewise.service.live.timers import Timers
from likewise.service.log.chain import seal
from likewise.service.refusals import BrokenLog, SequenceConflict, Unavailable
from likewise.service.stream import commands
from likewise.service.stream.settings import Waits

X = np.array([[0.05, 0.5], [0.95, 0.5]])


class Log:
    """The log of a stream in a list, as a store reads it; it counts how often it is read."""

    def __init__(self, sealed=()):
        self.sealed = list(sealed)
        self.reads = 0

    def events(self, stream, after, limit, *, asides):
        assert asides, "without them no round could be opened"
        self.reads += 1
        return [each for each in self.sealed if each.seq > after][:limit]

    def hashes(self, stream, after, until):
        return [each.hash for each in self.sealed if after < each.seq <= until]


def rounds(count):
    """A stream with some rounds, all of them audited."""
    fold = Fold(loans(waits=Waits(audit=60, grace=0)))
    for _ in range(count):
        fold.audit(fold.open(X)[0])
    return fold


def stopped_instead():
    """What another process wrote after the first three events."""
    fold = rounds(1)
    before = len(fold.events)
    fold.do(commands.Stop(reason_aside("lunch"), "root"))
    fold.do(commands.Resume("root"))
    return seal("loans", 3, log_of(fold)[2].hash, fold.events[before:])


def log_of(fold):
    return seal("loans", 0, GENESIS, fold.events)


class Around:
    """Positions with a log of some events, of which this process decided the later ones itself."""

    def __init__(self, sealed, own):
        self.sealed, self.log = sealed, Log(sealed[:own])
        self.positions = Positions("loans", self.log, threading.RLock(), Timers())
        self.positions.begin(START)

    def decide(self, events):
        """As if this process had decided these, which are not yet on disk."""
        after, writing = self.positions.latest.follow(events), Future()
        self.positions.advance(after, events, writing)
        return after, writing


def numbers(events):
    return [each.seq for each in events]


class TestReadingAlong:
    def test_events_of_this_process_are_taken_from_memory_once_and_when_they_are_durable(self, sealed):
        around = Around(sealed, 3)
        after, _ = around.decide(sealed[3:6])
        assert around.positions.take(3, 100) == []
        around.positions.landed(after)
        assert numbers(around.positions.take(3, 2)) == [4, 5]
        assert numbers(around.positions.take(5, 2)) == [6]
        assert around.positions.take(5, 2) == [], "they were taken"

    def test_what_is_not_the_next_event_is_left_to_the_log(self, sealed):
        around = Around(sealed, 3)
        after, _ = around.decide(sealed[3:6])
        around.positions.landed(after)
        assert around.positions.take(2, 100) == []
        assert numbers(around.positions.take(4, 100)) == [5, 6]

    def test_events_that_were_refused_are_never_taken(self, sealed):
        around = Around(sealed, 3)
        generation = around.positions.generation
        around.decide(sealed[3:6])
        around.positions.undo(generation)
        around.log.sealed = sealed[:6]
        assert around.positions.catch_up()
        assert around.positions.take(3, 100) == []

    def test_no_events_of_others_are_skipped(self, sealed):
        around = Around(sealed, 3)
        after, _ = around.decide(sealed[3:4])
        around.positions.landed(after)
        around.log.sealed = sealed[:6]
        around.positions.catch_up()
        assert around.positions.take(3, 100) == []

    def test_only_so_many_are_kept(self, sealed, monkeypatch):
        monkeypatch.setattr(position, "RECENT", 2)
        around = Around(sealed, 1)
        after, _ = around.decide(sealed[1:6])
        around.positions.landed(after)
        assert around.positions.take(1, 100) == []
        assert numbers(around.positions.take(4, 100)) == [5, 6]


@pytest.fixture
def sealed():
    return log_of(rounds(3))


@pytest.fixture
def log(sealed):
    """The first three events; others follow."""
    return Log(sealed[:3])


@pytest.fixture
def timers():
    return Timers()


@pytest.fixture
def positions(log, timers):
    positions = Positions("loans", log, threading.RLock(), timers)
    positions.begin(START)
    return positions


def go_on(positions, sealed):
    """Move on by the next events, with the future that stands for the disk."""
    next_ = sealed[positions.latest.seq : positions.latest.seq + 1]
    writing, after = Future(), positions.latest.follow(next_)
    positions.advance(after, next_, writing)
    return after, writing


def test_following_events_is_evolving_through_them():
    fold = rounds(3)
    sealed, after = log_of(fold), START.follow(log_of(fold))
    assert (after.seq, after.hash) == (sealed[-1].seq, sealed[-1].hash)
    assert fingerprint(after.state) == fingerprint(fold.state)
    assert after.follow([]) is after


@pytest.mark.parametrize("page", [1, 2, 1000])
@pytest.mark.parametrize("start", [0, 4])
def test_a_log_is_read_page_by_page_from_any_position_to_its_end(monkeypatch, timers, page, start):
    monkeypatch.setattr(position, "PAGE", page)
    fold = rounds(3)
    sealed = log_of(fold)
    log = Log(sealed)
    positions = Positions("loans", log, threading.RLock(), timers)
    positions.begin(START.follow(sealed[:start]))
    assert positions.latest is positions.durable
    assert positions.latest.seq == len(sealed)
    assert fingerprint(positions.latest.state) == fingerprint(fold.state)
    assert log.reads == (len(sealed) - start) // page + 1, "a page that is not full is the last"


def test_the_latest_is_ahead_until_it_has_landed_and_nothing_lands_backwards(positions, sealed):
    first, _ = go_on(positions, sealed)
    second, _ = go_on(positions, sealed)
    assert (positions.latest, positions.durable.seq) == (second, 3)
    positions.landed(second)
    positions.landed(first)
    assert positions.durable is second


def test_the_disk_says_so_without_the_stream_s_lock(positions, sealed):
    """Whoever holds it may be waiting for the writer."""
    after, _ = go_on(positions, sealed)
    with positions._lock:
        writer = threading.Thread(target=positions.landed, args=(after,), daemon=True)
        writer.start()
        writer.join(10)
        assert positions.durable is after


def test_a_generation_goes_back_once(positions, sealed):
    generation = positions.generation
    go_on(positions, sealed)
    go_on(positions, sealed)
    positions.undo(generation)
    assert (positions.latest.seq, positions.generation) == (3, generation + 1)
    again, _ = go_on(positions, sealed)
    positions.undo(generation)  # whoever waited for the second of the two
    assert positions.latest is again


def test_going_back_reads_on_what_another_process_wrote(positions, log, sealed):
    go_on(positions, sealed)
    log.sealed += stopped_instead()
    positions.undo(positions.generation)
    assert positions.latest is positions.durable
    assert positions.latest.hash == log.sealed[-1].hash


def test_what_is_ahead_in_vain_is_left_as_soon_as_the_log_shows_it(positions, log, sealed):
    """Another process has taken the place of an event that is on its way, and added one."""
    generation = positions.generation
    go_on(positions, sealed)
    log.sealed += stopped_instead()
    assert positions.catch_up()
    assert positions.latest.hash == positions.durable.hash == log.sealed[-1].hash
    assert positions.generation == generation + 1
    assert not positions.catch_up()


def test_a_log_that_does_not_follow_what_is_durable_is_broken(positions, log, sealed):
    log.sealed.append(sealed[4])
    with pytest.raises(BrokenLog, match="broken before event 5"):
        positions.catch_up()
    assert positions.latest.seq == 3


def test_the_current_state_holds_what_others_wrote_and_nothing_that_is_on_its_way(positions, log, sealed):
    log.sealed.append(sealed[3])
    assert positions.current().opened == 2
    go_on(positions, sealed)
    reads = log.reads
    assert positions.current() is positions.durable.state
    assert positions.durable.seq == 4
    assert log.reads == reads


@pytest.mark.parametrize("error", [SequenceConflict("Others were faster."), Unavailable("The database is away.")])
def test_settling_goes_back_for_whoever_left_without_noticing(positions, sealed, error):
    positions.settle()
    assert positions.latest.seq == 3
    _, writing = go_on(positions, sealed)
    writing.set_exception(error)
    positions.settle()
    assert positions.latest is positions.durable
    assert positions.latest.seq == 3


def test_settling_waits_for_the_last_of_those_on_their_way(positions, sealed):
    go_on(positions, sealed)
    last, writing = go_on(positions, sealed)
    waiting = threading.Event()

    def exception():
        waiting.set()
        return Future.exception(writing)

    writing.exception = exception
    settling = threading.Thread(target=positions.settle)
    settling.start()
    assert waiting.wait(300)
    assert settling.is_alive()
    with positions._lock:  # nobody is held up meanwhile
        assert positions.latest is last
    writing.set_result(None)
    settling.join()
    assert positions.latest is last


def test_timers_hear_of_what_is_read_and_of_what_is_decided(positions, log, timers, sealed):
    now = positions.latest.state.rounds[1].opened_at + 61
    assert timers.due(positions.latest.state, now) == []  # the only round was audited
    log.sealed.append(sealed[3])
    positions.catch_up()
    assert timers.due(positions.latest.state, now) == [2]
    go_on(positions, sealed)
    go_on(positions, sealed)
    assert timers.due(positions.latest.state, now) == [3]


def test_a_position_is_a_place_in_the_log_even_if_nothing_changes_its_state():
    fold = Fold()
    before = fold.state
    fold.do(commands.Stop(reason_aside("lunch"), "root"))
    fold.do(commands.Resume("root"))
    sealed = seal("loans", 0, GENESIS, fold.events)
    after = START.follow(sealed)
    assert after[:3] == (after.state, 3, sealed[-1].hash)
    assert fingerprint(after.state) == fingerprint(before)
