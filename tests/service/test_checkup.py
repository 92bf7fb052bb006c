"""The check-up of a service: what is well, and each thing that can be wrong."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing

import pytest
from loans import loans, people
from numpy.random import default_rng
from serving import free_port
from typer.testing import CliRunner

from likewise.cli import app
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.signing import Signer
from likewise.service.run import checkup
from likewise.service.run.checkup import check_up

X = default_rng(0).random((3, 2))


@pytest.fixture(autouse=True)
def time_server(monkeypatch):
    """What the system says of its clock, whatever machine this is."""
    monkeypatch.setattr(checkup, "synchronised", lambda: True)


@pytest.fixture
def configuration(tmp_path):
    return written(Configuration(database=str(tmp_path / "log.db")))


def written(configuration, ahead=0.0):
    """A service that has decided once, so many seconds ahead of time."""
    store = Store(configuration.database)
    store.migrate()
    files = Signer.at(configuration.key_file), CheckpointFile(configuration.checkpoint_file)
    engine = Engine(store, *files, clock=lambda: time.time() + ahead)
    engine.start()
    engine.create(loans(), "root")
    engine.decide("loans", people(X), "decider")
    engine.close()
    return configuration


def unwell(configuration, **more):
    return {finding.check: finding.sentence for finding in check_up(configuration, **more) if not finding.well}


def test_a_service_that_is_well_is_said_to_be(configuration, tmp_path):
    found = check_up(configuration)
    assert [(one.check, one.well) for one in found] == [
        (name, True) for name in ("key", "clock", "disk", "checkpoints", "hosts", "restore")
    ], found
    assert found[-1].sentence == "A backup was taken and restored: 1 streams, 2 events."
    assert not [path for path in tmp_path.iterdir() if path.is_dir()], "the drill leaves nothing behind"


def test_the_command_says_so_and_leaves_with_an_exit_code(configuration):
    run = lambda *more: CliRunner().invoke(app, ["doctor", "--database", configuration.database, *more])  # noqa: E731
    well = run("--no-drill")
    assert (well.exit_code, "restore" in well.output, "key: well." in well.output) == (0, False, True)
    configuration.key_file.chmod(0o644)
    ill = run("--no-drill", "--json")
    assert ill.exit_code == 1
    assert "chmod 600" in json.loads(ill.output)["key"]["sentence"]


def test_a_clock_that_no_time_server_sets_is_found(configuration, monkeypatch):
    monkeypatch.setattr(checkup, "synchronised", lambda: False)
    assert "not set by a time server" in unwell(configuration, drill=False)["clock"]
    monkeypatch.setattr(checkup, "synchronised", lambda: None)
    assert "clock" not in unwell(configuration, drill=False)


@pytest.mark.parametrize(("said", "known"), [("yes", True), ("no", False), ("", None)])
def test_the_system_is_asked_about_its_clock(said, known, tmp_path, monkeypatch):
    monkeypatch.undo()
    command = tmp_path / "timedatectl"
    command.write_text(f"#!/bin/sh\necho {said}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checkup.synchronised() is known
    command.unlink()
    assert checkup.synchronised() is None


def test_a_service_behind_a_proxy_that_answers_for_any_host_is_found(configuration):
    behind = configuration.model_copy(update={"behind_proxy": True})
    assert "set `hosts`" in unwell(behind, drill=False)["hosts"]
    assert "hosts" not in unwell(behind.model_copy(update={"hosts": "loans.example"}), drill=False)


def test_a_lost_key_is_found(configuration):
    configuration.key_file.unlink()
    assert "There is no key at" in unwell(configuration, drill=False)["key"]


def test_a_clock_that_was_ahead_is_found(tmp_path):
    configuration = written(Configuration(database=str(tmp_path / "log.db")), ahead=7200.0)
    assert "ahead of this machine's clock" in unwell(configuration, drill=False)["clock"]


def test_a_disk_without_room_is_found(configuration, monkeypatch):
    monkeypatch.setattr("likewise.service.run.checkup.FREE", 2**80)
    assert "make room before the disk is full" in unwell(configuration, drill=False)["disk"]


def test_a_log_that_is_not_what_was_signed_is_found(configuration, tmp_path):
    os.remove(configuration.database)
    fresh = Configuration(database=configuration.database, key=tmp_path / "other", checkpoints=tmp_path / "none")
    written(fresh)
    assert "checkpoints" in unwell(configuration, drill=False)


def test_a_backup_that_can_not_be_restored_is_found(configuration):
    """An event is missing in the middle: the tables of the restored log refuse what follows it."""
    with closing(sqlite3.connect(configuration.database)) as database, database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {name}")
        database.execute("DELETE FROM events WHERE seq = 1")
    found = unwell(configuration)
    assert "restore" in found
    assert found["restore"].endswith(".")
    assert "checkpoints" in found, "and the log is not what was signed"


@pytest.mark.parametrize("drill", [True, False])
def test_a_database_that_does_not_answer_is_found_in_sentences(drill):
    away = Configuration(database=f"postgresql://nobody:hidden@127.0.0.1:{free_port()}/none")
    found = unwell(away, drill=drill)
    assert {"clock", "checkpoints", *(["restore"] if drill else [])} <= set(found)
    assert "hidden" not in " ".join(found.values())
