"""A log that is lost, replaced or broken: it is noticed, nothing more is acknowledged, and other streams go on."""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import time
from contextlib import closing

import numpy as np
import pytest
from loans import drawn, loans
from serving import STREAM, people, running, until
from sqlalchemy.exc import OperationalError

from likewise.cli import main
from likewise.service import readiness
from likewise.service import running as service_running
from likewise.service.engine import Engine
from likewise.service.live.broken import AGAIN, BrokenStreams
from likewise.service.live.heads import Heads
from likewise.service.log import Idempotency, leases
from likewise.service.log.append import Append
from likewise.service.log.checkpoints import LineFile, point
from likewise.service.log.signing import Signer
from likewise.service.log.store import Store
from likewise.service.refusals import BrokenLog, Unavailable
from likewise.service.stream.events import stamp
from likewise.service.stream.settings import Waits
from likewise.transparency.notes import checkpoint_of, read_note


@pytest.fixture
def beside(tmp_path):
    return {"database": str(tmp_path / "log.db"), "key": tmp_path / "key", "checkpoints": tmp_path / "checkpoints"}


def signed(service, *names):
    """Create streams, and wait until each has a checkpoint."""
    for name in names:
        service.admin.post("/v1/streams", json=STREAM | {"name": name})
        until(lambda: list(service.engine.checkpoints.read(name)))  # noqa: B023


def decided(service, stream, t=0):
    return service.admin.post(f"/v1/streams/{stream}/rounds", json={"people": people(t)}).status_code


class TestAFileThatGoes:
    @pytest.mark.parametrize("replaced", [False, True])
    def test_no_decision_is_acknowledged_once_the_file_is_gone_or_another(self, beside, tmp_path, replaced):
        with running(**beside) as service:
            signed(service, "loans")
            assert decided(service, "loans") == 201
            until(lambda: service.anybody.get("/readyz").status_code == 200)
            os.replace(beside["database"], tmp_path / "away.db")
            if replaced:
                shutil.copy(tmp_path / "away.db", beside["database"])
            assert {decided(service, "loans", t) for t in range(1, 6)} == {503}
            until(lambda: service.anybody.get("/readyz").status_code == 503)
            os.replace(tmp_path / "away.db", beside["database"])
            assert decided(service, "loans", 9) == 201

    @pytest.mark.parametrize("replaced", [False, True])
    def test_no_connection_is_opened_to_another_file_or_makes_one(self, tmp_path, replaced):
        path, away = tmp_path / "log.db", tmp_path / "away.db"
        with Store(path) as store:
            store.migrate()
            os.replace(path, away)
            if replaced:
                path.touch()
            with pytest.raises(Unavailable, match="removed or replaced"):
                store.streams()
            assert path.exists() == replaced
            os.replace(away, path)
            assert store.streams() == []

    def test_a_start_beside_checkpoints_of_a_lost_log_does_not_greet_as_new(self, beside, tmp_path, capsys):
        with running(**beside) as service:
            signed(service, "loans")
        for file in tmp_path.glob("log.db*"):
            file.unlink()
        os.environ |= {"LIKEWISE_KEY": str(beside["key"]), "LIKEWISE_CHECKPOINTS": str(beside["checkpoints"])}
        try:
            with pytest.raises(SystemExit) as stopped:
                main(["serve", "--port", "0", "--database", beside["database"]])
        finally:
            del os.environ["LIKEWISE_KEY"], os.environ["LIKEWISE_CHECKPOINTS"]
        told = capsys.readouterr()
        assert (stopped.value.code, told.out) == (2, "")
        assert "holds checkpoints of 'loans', which the database doesn't have" in told.err

    def test_an_engine_is_not_ready_while_one_of_the_signed_streams_is_missing(self, start, new_database):
        first = start(new_database("sqlite"))
        first.create(loans(), "root")
        first.sign_heads()
        with pytest.raises(BrokenLog, match="'loans', which the database doesn't have"):
            start(new_database("sqlite"))

    def test_a_checkpoint_that_another_process_signs_while_a_log_is_read_is_no_broken_log(
        self, start, new_database, monkeypatch
    ):
        database = new_database("sqlite")
        engine = start(database)
        engine.create(loans(), "root")
        engine.sign_heads(always=True)
        newest, rng = Heads._newest, np.random.default_rng(0)

        def meanwhile(heads):
            """Whoever asks what was signed hears of a stream and an event that came since they read the log."""
            name = f"begun-{engine.store.head('loans')[0]}"
            engine.create(loans(name=name), "root")
            engine.decide("loans", drawn(rng), "decider")
            engine.sign_heads(always=True)
            return newest(heads)

        monkeypatch.setattr(Heads, "_newest", meanwhile)
        again = start(database)
        assert len(again.broken) == 0
        assert again.streams.get("loans").durable.seq >= 3  # both looks were overtaken

    def test_the_newest_checkpoint_of_a_quiet_stream_is_found_behind_those_of_a_busy_one(
        self, start, new_database, checkpoints, signer
    ):
        database = new_database("sqlite")
        engine = start(database)
        for name in ("quiet", "busy"):
            engine.create(loans(name=name), "root")
        for _ in range(3):
            engine.decide("quiet", drawn(np.random.default_rng(0)), "decider")
        engine.tick()
        note = signer.checkpoint("busy", engine.streams.get("busy").durable.tree)
        LineFile.write(checkpoints, (point("busy", stamp(0), signer.public_key, note) for _ in range(4000)))
        assert checkpoints.path.stat().st_size > 1_000_000
        with closing(sqlite3.connect(database)) as connection, connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute("DELETE FROM events WHERE stream = 'quiet' AND seq = 4")
        again = start(database)
        assert "quiet" in again.broken
        with pytest.raises(BrokenLog, match="Event 4 of 'quiet' is not the one that was signed"):
            again.decide("quiet", drawn(np.random.default_rng(0)), "decider")


class TestOneBrokenStream:
    @pytest.fixture
    def broken(self, beside):
        """Two streams, of which the first was cut behind the service's back."""
        with running(**beside) as service:
            signed(service, "a-broken", "whole")
            decided(service, "a-broken")
            until(lambda: [p for p in service.engine.checkpoints.read("a-broken") if "\n2\n" in p["note"]])
        with closing(sqlite3.connect(beside["database"])) as database, database:
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                database.execute(f"DROP TRIGGER {name}")
            database.execute("DELETE FROM snapshots")
            database.execute("DELETE FROM events WHERE stream = 'a-broken' AND seq = 2")
        return beside

    def test_the_others_are_ready_decided_about_moved_on_by_the_clock_and_signed(self, broken):
        with running(**broken) as service:
            until(lambda: service.anybody.get("/readyz").status_code == 200)
            service.engine.change_waits("whole", {"audit": 0.2, "label": 0.2, "grace": 0}, "root")
            assert decided(service, "whole") == 201
            assert decided(service, "a-broken") == 500
            until(lambda: service.engine.stream("whole")["learned"] == 1)
            head = service.engine.store.head("whole")[0]
            until(
                lambda: [
                    p
                    for p in service.engine.checkpoints.read("whole")
                    if checkpoint_of(read_note(p["note"])).size >= head
                ]
            )
            assert "likewise_broken_streams 1.0" in service.admin.get("/metrics").text

    def test_it_is_tried_again_after_a_while_and_a_database_that_is_away_is_nobody_s_fault(self):
        now = [0.0]
        broken, tried = BrokenStreams(lambda: now[0]), []

        def work(error=None):
            tried.append(now[0])
            if error is not None:
                raise error
            return 7

        assert broken.guard("loans", lambda: work(BrokenLog("It is cut."))) is None
        assert broken.guard("loans", work) is None
        assert ("loans" in broken, len(broken), tried) == (True, 1, [0.0])
        now[0] = AGAIN
        assert broken.guard("loans", work) == 7
        assert "loans" not in broken
        for error in (Unavailable("It is away."), OSError("The disk is full.")):
            with pytest.raises(type(error)):
                broken.guard("loans", lambda: work(error))  # noqa: B023
        assert len(broken) == 0


class TestReadiness:
    def test_a_locked_file_is_told_within_seconds_and_ready_again_afterwards(self, beside, monkeypatch):
        monkeypatch.setattr(readiness, "PATIENCE", 0.2)
        monkeypatch.setattr(readiness, "FRESH", 0.0)
        with running(**beside) as service:
            until(lambda: service.anybody.get("/readyz").status_code == 200)
            with closing(sqlite3.connect(beside["database"], isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                answer = service.anybody.get("/readyz")
                assert (answer.status_code, answer.json()["detail"]) == (503, "The database does not answer.")
                assert service.anybody.get("/readyz").status_code == 503
                other.execute("ROLLBACK")
            until(lambda: service.anybody.get("/readyz").status_code == 200)

    def test_a_database_that_takes_no_write_is_told(self, beside, monkeypatch):
        monkeypatch.setattr(readiness, "FRESH", 0.0)
        with running(**beside) as service:
            until(lambda: service.anybody.get("/readyz").status_code == 200)

            def full(connection, works):
                raise OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))

            monkeypatch.setattr(service.engine.store._writer, "_carry_out", full)
            answer = service.anybody.get("/readyz")
            assert (answer.status_code, answer.json()["detail"]) == (503, "The database does not accept a write.")

    def test_a_disk_that_takes_a_small_write_but_no_events_is_told_until_it_has_room(self, beside, monkeypatch):
        with running(**beside) as service:
            signed(service, "loans")
            until(lambda: service.anybody.get("/readyz").status_code == 200)
            writer, full = service.engine.store._writer, [True]
            carry_out, probe = writer._carry_out, leases._probe

            def refused(*_):
                raise OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))

            def no_events(connection, works):
                events = full[0] and any(isinstance(work, Append) for work in works)
                return (refused if events else carry_out)(connection, works)

            def nothing_large(connection, holder, now):
                return (refused if full[0] and len(holder) > 1000 else probe)(connection, holder, now)

            monkeypatch.setattr(writer, "_carry_out", no_events)
            monkeypatch.setattr(leases, "_probe", nothing_large)
            assert decided(service, "loans") == 503
            assert [service.anybody.get("/readyz").status_code for _ in range(3)] == [503] * 3
            full[0] = False
            assert service.anybody.get("/readyz").status_code == 200
            assert decided(service, "loans") == 201
            monkeypatch.setattr(service.engine.store, "room", lambda: 2.0**20)
            answer = service.anybody.get("/readyz")
            assert (answer.status_code, answer.json()["detail"]) == (503, "The disk of the database is full.")


class TestAClockThatJumps:
    def test_a_jump_of_a_day_for_some_ticks_expires_nothing_and_one_that_lasts_does(
        self, start, new_database, clock, monkeypatch
    ):
        monkeypatch.setattr(service_running, "SWEEP_EVERY", -1.0)  # with every look
        engine, key = start(new_database("sqlite")), Idempotency("decider", "a key", "a request")
        engine.create(loans(waits=Waits(audit=3600, label=3600, grace=0)), "root")
        engine.decide("loans", drawn(np.random.default_rng(0)), "decider", key)
        real = [0.0]
        looks = service_running.ClockThread(engine, 0.0, (), lambda: None, clock)
        looks._monotonic = lambda: real[0]

        def look(seconds=1.0, jump=0.0):
            real[0] += seconds
            clock.forward(seconds + jump)
            looks._look()
            return engine.stream("loans")["outstanding"]

        assert [look(), look(jump=90_000), look(), look(jump=-90_000), look()] == [1] * 5
        assert [look(jump=90_000), look(30.0)] == [1, 1]
        assert engine.store.response(key.scope, key.key) is not None, "an answer may still be asked for again"
        assert look(31.0) == 0
        assert engine.store.response(key.scope, key.key) is None

    def test_a_service_that_starts_on_a_wrong_clock_expires_nothing_and_one_that_was_off_waits_a_minute(
        self, start, new_database, clock, monkeypatch
    ):
        monkeypatch.setattr(service_running, "SWEEP_EVERY", -1.0)
        engine, key = start(new_database("sqlite")), Idempotency("decider", "a key", "a request")
        engine.create(loans(waits=Waits(audit=3600, label=3600, grace=0)), "root")
        engine.decide("loans", drawn(np.random.default_rng(0)), "decider", key)
        newest, real = engine.store.newest_at(), [0.0]
        assert newest == clock.now

        def started(jump):
            clock.forward(jump)
            looks = service_running.ClockThread(engine, 0.0, (), lambda: None, clock, newest=newest)
            looks._monotonic = lambda: real[0]
            return looks

        def look(looks, seconds):
            real[0] += seconds
            clock.forward(seconds)
            looks._look()
            return engine.stream("loans")["outstanding"]

        wrong = started(90_000)
        assert [look(wrong, 1.0), look(wrong, 50.0)] == [1, 1]
        engine.decide("loans", drawn(np.random.default_rng(1)), "decider")  # at a time that vouches for nothing
        assert [look(wrong, 1.0), look(started(0), 1.0)] == [2, 2]
        clock.forward(-90_000)
        assert look(wrong, 1.0) == 2
        assert engine.store.response(key.scope, key.key) is not None
        off = started(3 * 86_400)
        assert [look(off, seconds) for seconds in (1.0, 30.0, 29.0, 1.0)] == [2, 2, 2, 0]

    def test_a_service_asks_its_logs_how_old_they_are_and_a_new_one_goes_on_at_once(self, beside, tmp_path):
        with running(**beside) as service:
            assert service.service._clock._steady._newest == math.inf
        with Store(beside["database"]) as store:
            engine = Engine(store, Signer.at(beside["key"]), clock=lambda: time.time() - 2 * 86_400)
            engine.create(loans(waits=Waits(audit=1, label=1, grace=0)), "root")
            engine.decide("loans", drawn(np.random.default_rng(0)), "decider")
        with running(**beside) as service:
            until(lambda: service.service._clock._steady._jumped is not None)
            assert service.engine.stream("loans")["outstanding"] == 1
