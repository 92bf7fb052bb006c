"""A log that is cut off or changed at its end while the service runs: its stream stops, and no other one does."""

from __future__ import annotations

import numpy as np
import pytest
from loans import drawn, loans
from serving import STREAM, people, running, until
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from likewise.service.live.broken import AGAIN
from likewise.service.log.store import HEADS
from likewise.service.projections.follower import Follower
from likewise.service.refusals import BrokenLog, Unavailable
from likewise.service.stream.settings import Waits
from likewise.transparency.notes import checkpoint_of, read_note

CUT = "DELETE FROM events WHERE stream = 'aaa' AND seq = (SELECT max(seq) FROM events WHERE stream = 'aaa')"
CHANGED = CUT.replace("DELETE FROM events", f"UPDATE events SET hash = '{'ab' * 32}'")
GONE = ("DELETE FROM events WHERE stream = 'aaa'", "DELETE FROM streams WHERE stream = 'aaa'")
ASKED = drawn(np.random.default_rng(0))


def tampered(engine, *statements, put_back=True):
    """What somebody does who has the database: they take the triggers away, for a moment or for good."""
    other = create_engine(engine.store.url)
    with other.begin() as connection:
        off, on = _triggers(connection)
        for statement in [*off, *statements, *(on if put_back else ())]:
            connection.execute(text(statement))
    other.dispose()


def _triggers(connection):
    """Statements that take the triggers away, and those that put them back."""
    if connection.dialect.name == "sqlite":
        triggers = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")).all()
        return [f"DROP TRIGGER {name}" for name, _ in triggers], [sql for _, sql in triggers]
    return tuple([f"ALTER TABLE events {what} TRIGGER USER"] for what in ("DISABLE", "ENABLE"))


@pytest.fixture
def two(engine):
    """Two streams with a round in each that expires after a minute."""
    for name in ("aaa", "zzz"):
        engine.create(loans(name=name, waits=Waits(audit=60, label=60, grace=0)), "root")
        engine.decide(name, ASKED, "decider")
    engine.tick()
    return engine


def signed(engine, stream):
    return max(checkpoint_of(read_note(each["note"])).size for each in engine.checkpoints.read(stream))


class TestTheOthersGoOn:
    @pytest.mark.parametrize("statements", [(CUT,), (CHANGED,), GONE], ids=["cut", "changed", "gone"])
    def test_what_is_due_is_done_and_signed_whatever_became_of_one_log(self, two, clock, statements):
        tampered(two, *statements)
        clock.forward(1000)
        for _ in range(3):
            two.tick()
        assert list(two.broken) == ["aaa"]
        assert two.stream("zzz")["outstanding"] == 0
        assert signed(two, "zzz") == two.store.head("zzz").seq > 2
        assert two.decide("zzz", ASKED, "decider")["t"] == 2
        with pytest.raises(BrokenLog, match="of 'aaa' was on disk and is not there any more"):
            two.decide("aaa", ASKED, "decider")

    def test_a_command_that_can_follow_nothing_is_told_why_at_once(self, two, monkeypatch):
        reads, hashes = [], two.store.hashes
        monkeypatch.setattr(two.store, "hashes", lambda *place: reads.append(place) or hashes(*place))
        tampered(two, CUT)
        with pytest.raises(BrokenLog, match="Event 2 of 'aaa' was on disk and is not there any more"):
            two.decide("aaa", ASKED, "decider")
        assert reads == [("aaa", 1, 2)]
        assert two.decide("zzz", ASKED, "decider")["t"] == 2

    def test_a_stream_that_the_database_refuses_alone_is_put_off_and_not_broken(self, two, clock, monkeypatch, caplog):
        advance, tried = two._advance, []

        def refused(name, *rest):
            tried.append(name)
            if name == "aaa":
                raise Unavailable("Too many others are writing.")
            return advance(name, *rest)

        monkeypatch.setattr(two, "_advance", refused)
        clock.forward(1000)
        for _ in range(3):
            two.tick()
        assert tried.count("aaa") == 3
        assert len(two.broken) == 0
        assert two.stream("zzz")["outstanding"] == 0
        assert caplog.text.count("Work for the stream 'aaa' failed and is tried again, the others go on") == 1

    def test_whoever_follows_the_logs_goes_on_too(self, two, monkeypatch):
        follower, followed = Follower(two), []

        def follow(stream, seconds):
            followed.append(stream)
            if stream == "aaa":
                raise Unavailable("Too many others are writing.")

        monkeypatch.setattr(follower, "follow", follow)
        follower()
        assert followed == ["aaa", "zzz"]

    def test_a_database_that_is_away_still_counts_as_away(self, two, clock, monkeypatch):
        def away(connection, works):
            raise OperationalError("INSERT", {}, Exception("the server closed the connection"))

        monkeypatch.setattr(two.store._writer, "_carry_out", away)
        clock.forward(1000)
        with pytest.raises(Unavailable):
            two.tick()
        assert len(two.broken) == 0
        monkeypatch.undo()
        assert two.tick() == 2


class TestTheClockNotices:
    @pytest.mark.parametrize("statements", [(CUT,), (CHANGED,), GONE], ids=["cut", "changed", "gone"])
    def test_a_quiet_stream_is_stopped_by_the_next_look_even_if_nothing_guards_its_table(self, two, statements):
        assert two.streams.idle("aaa", two.store.heads()["aaa"], two.clock())
        tampered(two, *statements, put_back=False)
        two.tick()
        assert list(two.broken) == ["aaa"]
        for _ in range(2):
            with pytest.raises(BrokenLog):
                two.decide("aaa", ASKED, "decider")
        assert two.store.head("aaa").seq <= 2

    def test_a_gap_is_found_even_if_others_wrote_after_it(self, two):
        live = two.streams.get("aaa")
        tampered(two, CUT, _row(two.store.head("aaa"), 3))
        with pytest.raises(BrokenLog, match="Event 2 of 'aaa'"):
            live.positions.require_there()

    def test_once_the_event_is_back_the_stream_goes_on(self, two, monkeypatch):
        now = [0.0]
        monkeypatch.setattr(two.broken, "_monotonic", lambda: now[0])
        tampered(two, "CREATE TABLE aside_events AS SELECT * FROM events WHERE stream = 'aaa' AND seq = 2", CUT)
        two.tick()
        assert "aaa" in two.broken
        tampered(two, "INSERT INTO events SELECT * FROM aside_events")
        now[0] = AGAIN
        two.tick()
        assert len(two.broken) == 0
        assert two.decide("aaa", ASKED, "decider")["t"] == 2

    def test_a_head_that_was_read_too_early_and_another_worker_who_is_ahead_are_no_cut(self, two, start, monkeypatch):
        heads = two.store.heads
        early = heads()
        two.decide("aaa", ASKED, "decider")
        monkeypatch.setattr(two.store, "heads", lambda: early)
        two.tick()
        monkeypatch.setattr(two.store, "heads", dict)  # of a stream that was begun since
        two.tick()
        monkeypatch.undo()
        other = start(two.store.url)
        other.decide("aaa", ASKED, "decider")
        two.tick()
        assert len(two.broken) == len(other.broken) == 0
        assert two.streams.get("aaa").durable.seq == two.store.head("aaa").seq == 4

    def test_the_heads_of_all_streams_are_one_query_that_reads_no_log(self, two):
        plain = {name: two.store.head(name) for name in ("aaa", "zzz")}
        assert two.store.heads() == plain
        if two.store.dialect == "sqlite":
            asked = f"EXPLAIN QUERY PLAN {HEADS.compile(compile_kwargs={'literal_binds': True})}"
            with two.store.read() as connection:
                plan = [row.detail for row in connection.execute(text(asked))]
            assert not [step for step in plan if step.startswith("SCAN events")]
            assert len([step for step in plan if step.startswith("SEARCH events")]) == 2


def _row(head, seq):
    """An event that follows one that is gone."""
    values = f"'aaa', {seq}, '{head.hash}', '{'cd' * 32}', 'resumed', 1, '2026-01-01T00:00:00Z', '{{}}'"
    return f"INSERT INTO events (stream, seq, prev, hash, kind, version, at, data) VALUES ({values})"


def test_a_running_service_refuses_the_stream_that_was_cut_and_serves_the_others(tmp_path):
    with running(database=str(tmp_path / "log.db"), tick=0.05) as service:
        for name in ("aaa", "zzz"):
            service.admin.post("/v1/streams", json=STREAM | {"name": name})

        def decided(stream, t):
            return service.admin.post(f"/v1/streams/{stream}/rounds", json={"people": people(t)}).status_code

        assert [decided(name, 1) for name in ("aaa", "zzz")] == [201, 201]
        tampered(service.engine, CUT, put_back=False)
        until(lambda: "aaa" in service.engine.broken)
        assert [decided(name, t) for t in (2, 3) for name in ("aaa", "zzz")] == [500, 201, 500, 201]
        until(lambda: signed(service.engine, "zzz") == service.engine.store.head("zzz").seq == 4)
        assert "likewise_broken_streams 1.0" in service.admin.get("/metrics").text
