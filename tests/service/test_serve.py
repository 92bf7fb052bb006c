"""The commands of the service, as an operator uses them, and its configuration."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time

import httpx
import pytest
import typer
from serving import STREAM, Process, free_port, people
from typer.testing import CliRunner

from likewise.cli import app
from likewise.cli.serve import check
from likewise.client import Client, ServiceRefused
from likewise.errors import InvalidParameter
from likewise.service import demo
from likewise.service.configuration import Configuration, configured


def commands(group, path="likewise"):
    """Every command of a group and of the groups within it, by its full name."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


COMMANDS = dict(commands(typer.main.get_command(app)))


def likewise(*words):
    """The output of a command that must work."""
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == 0, found.output
    return found.output


def test_from_the_first_start_to_a_backup(tmp_path):
    database = ["--database", tmp_path / "loans.db"]
    server = Process(tmp_path / "loans.db", tick=0.05)
    server.wait()
    assert server.token is not None
    made = json.loads(likewise("user", "add", "bank", "--role", "decider", "--stream", "loans", "--json", *database))
    with Client(server.url, server.token) as admin, Client(server.url, made["token"]) as bank:
        admin.create_stream(**STREAM)
        assert bank.decide("loans", people(1))["round"] == 1
        assert made["token"] not in likewise("user", "list", *database)
        assert "1 stream" in likewise("backup", tmp_path / "backup", *database)
        assert "Revoked 1 token" in likewise("user", "revoke", "bank", *database)
        time.sleep(1.1)  # for a second a token is taken for what it was
        with pytest.raises(ServiceRefused, match="token") as refused:
            bank.decide("loans", people(1))
        assert refused.value.status == 401
    assert server.end() in (0, -15)
    again = Process(tmp_path / "loans.db")
    assert again.token is None, "the administrator's token is shown once"
    again.end()
    assert "1 stream" in likewise("restore", tmp_path / "backup", "--database", tmp_path / "other.db")


def test_what_serve_prints_has_a_shape_that_a_program_can_wait_for(tmp_path):
    for first in (r"This is the first start\. The administrator's token, shown only now:\nlw_[0-9a-f]{64}\n", ""):
        server = Process(tmp_path / "loans.db")
        said = first + r"Checkpoints are signed with the key [0-9a-f]{64}\nServing at http://127\.0\.0\.1:\d+\n"
        assert re.fullmatch(said, server.said), server.said
        server.end()


def test_every_command_of_the_service_has_json(tmp_path):
    database = ["--database", tmp_path / "loans.db"]
    assert json.loads(likewise("user", "add", "ann", "--role", "auditor", "--json", *database))["role"] == "auditor"
    assert [one["name"] for one in json.loads(likewise("user", "list", "--json", *database))["tokens"]] == ["ann"]
    told = json.loads(likewise("backup", tmp_path / "backup", "--json", *database))
    assert (told["file"], told["streams"], told["rows"]["tokens"]) == (str(tmp_path / "backup"), 0, 1)
    other = ["--database", tmp_path / "other.db"]
    told = json.loads(likewise("restore", tmp_path / "backup", "--json", *other))
    assert (told["events"], told["newest_event"], told["erased_again"]) == (0, None, 0)
    assert json.loads(likewise("user", "revoke", "ann", "--json", *other)) == {"who": "ann", "revoked": 1}
    missing = [
        name
        for name, command in COMMANDS.items()
        if name.split()[1] in ("user", "backup", "restore", "verify")
        and not any("--json" in one.opts for one in command.params)
    ]
    assert missing == []


@pytest.mark.slow
def test_several_workers_share_a_postgresql_log(new_database, tmp_path):
    beside = {"key": tmp_path / "k", "checkpoints": tmp_path / "c", "workers": 2, "max_rate": 1e9}
    server = Process(new_database("postgresql"), port=free_port(), **beside)
    try:
        server.wait()
        rounds = []
        with Client(server.url, server.token) as client:
            client.create_stream(**STREAM)
        for t in range(20):  # a connection each, so that both workers get some
            with Client(server.url, server.token) as client:
                rounds.append(client.decide("loans", people(t))["round"])
        assert rounds == list(range(1, 21))
        counted = 'route="/v1/streams/{stream}/rounds",status="201"} 20.0'
        assert all(counted in httpx.get(f"{server.url}/metrics").text for _ in range(10)), "whoever answers"
    finally:
        server.end()


SMALL_DEMO = """
import functools
from likewise import cli, datasets
from likewise.service import demo
demo.prepare = functools.partial(demo.prepare, rounds=3, waiting=2, data=datasets.synthetic(500))
cli.main(["serve", "--demo", "--port", "0", *{options}])
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("given", [False, True])
def test_a_demo_prints_links_that_work_and_leaves_nothing_behind_unless_it_was_given_a_database(tmp_path, how, given):
    options = ["--database", str(tmp_path / "mine.db")] if given else []
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", SMALL_DEMO.format(options=options)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        said = ""
        while "Serving at" not in said:
            line = server.stdout.readline()
            assert line, said
            said += line
        assert bool(list(scratch.glob("likewise-*/demo.db"))) == (not given)
        links = re.findall(r"http://\S+/login/\S+", said)
        pages = [httpx.get(link, timeout=60).text for link in links]
        assert [part in page for part, page in zip(("reviewer", "administrator"), pages, strict=True)] == [True, True]
        server.send_signal(how)
        server.communicate(timeout=60)
    finally:
        server.kill()
        server.wait()
    assert list(scratch.glob("likewise-*")) == []
    assert (tmp_path / "mine.db").exists() == given
    assert ("removed when the service ends" in said) == (not given)


def test_the_demo_has_a_few_hundred_rounds_and_twenty_that_wait():
    assert {name: one.default for name, one in inspect.signature(demo.prepare).parameters.items()} == {
        "configuration": inspect.Parameter.empty, "rounds": 300, "waiting": 20, "data": None
    }  # fmt: skip


def test_what_would_lose_or_leak_is_refused():
    with pytest.raises(InvalidParameter, match="workers"):
        check(Configuration(workers=2))
    with pytest.raises(InvalidParameter, match="port"):
        check(Configuration(workers=2, database="postgresql://here", port=0))
    with pytest.raises(InvalidParameter, match="host"):
        check(Configuration(host="0.0.0.0"))
    with pytest.raises(InvalidParameter, match="together"):
        check(Configuration(tls_key="key.pem"))
    for fine in ({"host": "::1"}, {"host": "localhost"}, {"host": "0.0.0.0", "behind_proxy": True},
                 {"host": "0.0.0.0", "tls_certificate": "c", "tls_key": "k"}):  # fmt: skip
        check(Configuration(**fine))


def test_the_command_comes_before_the_environment_before_the_file(tmp_path, monkeypatch):
    file = tmp_path / "likewise.toml"
    file.write_text("max_batch = 10\nmax_page = 20\nport = 30\n")
    monkeypatch.setenv("LIKEWISE_MAX_PAGE", "21")
    monkeypatch.setenv("LIKEWISE_PORT", "31")
    found = configured(file, port=32)
    assert (found.max_batch, found.max_page, found.port) == (10, 21, 32)
    file.write_text("max_bach = 10\n")
    with pytest.raises(InvalidParameter, match="max_bach"):
        configured(file)
    with pytest.raises(InvalidParameter, match="isn't there"):
        configured(tmp_path / "none.toml")
    monkeypatch.setenv("LIKEWISE_PORT", "many")
    with pytest.raises(InvalidParameter, match="port"):
        configured()


def test_another_process_gets_the_same_configuration_from_its_environment(tmp_path, monkeypatch):
    wanted = Configuration(database="postgresql://localhost/log", max_batch=7, behind_proxy=True, key=tmp_path / "key")
    for name, value in wanted.environment().items():
        monkeypatch.setenv(name, value)
    assert Configuration() == wanted


def test_the_files_are_beside_the_database_unless_said_otherwise(tmp_path):
    found = Configuration(database=str(tmp_path / "loans.db"))
    assert (found.key_file, found.checkpoint_file) == (tmp_path / "loans.key", tmp_path / "loans.checkpoints")
    assert Configuration(database="postgresql://localhost/log").key_file.name == "likewise.key"
