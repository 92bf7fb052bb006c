"""Backups: taken from a service that runs and is written to, put into either database, and served from there."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading

import pytest
from loans import BANK
from serving import STREAM, people, running, until

from likewise.client import Client
from likewise.errors import InvalidParameter
from likewise.service.configuration import Configuration
from likewise.service.log import Store
from likewise.service.proof.replay import verify
from likewise.service.run.backup import _copied, _write, backup, restore


def there(tmp_path, database, name):
    """Where a restored service lives."""
    return Configuration(database=str(database), key=tmp_path / f"{name}.key", checkpoints=tmp_path / f"{name}.points")


@pytest.mark.parametrize(("source", "target", "world"), [("sqlite", "postgresql", BANK), ("postgresql", "sqlite", {})])
def test_a_backup_of_a_running_service_is_one_moment_of_it_and_runs_elsewhere(
    source, target, world, serve, new_database, tmp_path
):
    """With one lot for each round, too: the next one is drawn from the nonce that the log has committed to."""
    running = serve(new_database(source))
    stopping, receipts = threading.Event(), []

    def load():
        with Client(running.url, running.tokens["decider"]) as client:
            for t in itertools.count():
                if stopping.is_set():
                    return
                receipts.append(client.decide("loans", people(t))["receipt"])

    with Client(running.url, running.tokens["admin"]) as client:
        key = client.create_stream(**STREAM | world)["receipt"]["key"]
        thread = threading.Thread(target=load)
        thread.start()
        until(lambda: len(receipts) >= 5)
        before = list(receipts)
        counts = backup(running.service.configuration, tmp_path / "backup")
        elsewhere = there(tmp_path, new_database(target), "other")
        assert restore(elsewhere, tmp_path / "backup").rows == counts
        more = len(receipts) + 2
        until(lambda: len(receipts) >= more)
        stopping.set()
        thread.join()
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o600
    other = serve(elsewhere.database, key=elsewhere.key, checkpoints=elsewhere.checkpoints)
    with Client(other.url, running.tokens["admin"]) as client:  # tokens came along
        events = {one["seq"]: one["hash"] for one in client.events("loans")}
        assert len(events) == counts["events"]
        assert all(events[one["seq"]] == one["hash"] for one in before)
        client.decide("loans", people(999))
        client.export("loans", tmp_path / "export.jsonl")
    assert verify(tmp_path / "export.jsonl", key=key).first is None, "the key came along too"


def begun(service):
    """A service with a stream whose first event is signed: its file of checkpoints stays as it is from then on."""
    service.admin.post("/v1/streams", json=STREAM)
    until(lambda: list(service.engine.checkpoints.read("loans")))
    return service


def test_neither_a_file_nor_a_stream_is_ever_overwritten(serve, tmp_path):
    service = begun(serve(tmp_path / "log.db"))
    here = service.service.configuration
    backup(here, tmp_path / "backup")
    with pytest.raises(InvalidParameter, match="does not exist yet"):
        backup(here, tmp_path / "backup")
    with pytest.raises(InvalidParameter, match="have no streams"):
        restore(here, tmp_path / "backup")
    with pytest.raises(InvalidParameter, match="likewise backup"):
        restore(there(tmp_path, tmp_path / "new.db", "new"), tmp_path / "log.db")
    (tmp_path / "new.key").write_text("another key")
    with pytest.raises(InvalidParameter, match="key"):
        restore(there(tmp_path, tmp_path / "new.db", "new"), tmp_path / "backup")


def test_a_service_that_runs_on_an_empty_database_finds_what_is_restored_into_it(serve, tmp_path):
    first = begun(serve(tmp_path / "first.db"))
    backup(first.service.configuration, tmp_path / "backup")
    second = serve(tmp_path / "second.db")  # with the same key
    restore(second.service.configuration, tmp_path / "backup")
    with Client(second.url, second.tokens["admin"]) as client:
        assert list(client.streams()) == ["loans"]
        assert client.decide("loans", people(1))["t"] == 1


class Killed(Exception):
    """What ends a restore in the middle."""


@pytest.fixture
def taken(tmp_path):
    """The backup of a service with a stream, and where to put it."""
    with running(database=str(tmp_path / "log.db")) as service:
        backup(begun(service).service.configuration, tmp_path / "backup")
    return tmp_path / "backup", there(tmp_path, tmp_path / "new.db", "new")


@pytest.mark.parametrize("step", range(6))
def test_a_restore_that_is_killed_at_any_step_leaves_no_log_without_its_key_and_can_be_run_again(
    taken, step, monkeypatch
):
    file, elsewhere = taken
    steps = itertools.count()

    def counted(work):
        def run(*arguments, **named):
            if next(steps) == step:
                raise Killed
            return work(*arguments, **named)

        return run

    with monkeypatch.context() as patched:
        patched.setattr("likewise.service.run.backup._write", counted(_write))
        patched.setattr(Store, "write", counted(Store.write))
        patched.setattr("likewise.service.run.backup._copied", counted(_copied))
        if step < 5:
            with pytest.raises(Killed):
                restore(elsewhere, file)
            with Store(elsewhere.database) as store:
                store.migrate()
                assert store.streams() == []
        else:
            restore(elsewhere, file)
    if step < 5:
        assert restore(elsewhere, file).rows["streams"] == 1
    with Store(elsewhere.database) as store:
        assert store.streams() == ["loans"]
    assert elsewhere.key.exists()
    assert elsewhere.checkpoints.exists()


def test_what_a_killed_restore_leaves_behind_is_removed(taken, tmp_path):
    file, elsewhere = taken
    place = tmp_path / "temporary"
    place.mkdir()
    code = (
        "import os, sys; from likewise.service.configuration import Configuration; "
        "from likewise.service.run import backup; "
        "backup._erased = lambda *_: print(os.listdir(os.environ['TMPDIR'])) or os.kill(os.getpid(), 9); "
        "backup.restore(Configuration(database=sys.argv[1]), sys.argv[2])"
    )
    variables = os.environ | {"TMPDIR": str(place)}
    done = subprocess.run(
        [sys.executable, "-c", code, elsewhere.database, str(file)], env=variables, capture_output=True, text=True
    )
    assert done.returncode == -9
    assert ".likewise-" in done.stdout
    until(lambda: list(place.iterdir()) == [])
