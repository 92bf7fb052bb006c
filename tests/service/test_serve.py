"""The commands of the service, as an operator uses them, and its configuration."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest
import typer
from serving import STREAM, Process, free_port, people, running, until
from sqlalchemy import make_url
from typer.testing import CliRunner

from likewise.cli import app, main
from likewise.cli.serve import check
from likewise.client import Client, ServiceRefused
from likewise.errors import InvalidParameter
from likewise.service.configuration import Configuration, configured
from likewise.service.run import demo


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


def test_from_the_first_start_to_a_backup_with_files_for_their_owner_and_words_for_a_program(tmp_path):
    database = ["--database", tmp_path / "loans.db"]
    server = Process(tmp_path / "loans.db", tick=0.05)
    server.wait()
    assert server.token is not None
    made = json.loads(likewise("user", "add", "bank", "--role", "decider", "--stream", "loans", "--json", *database))
    with Client(server.url, server.token) as admin, Client(server.url, made["token"]) as bank:
        admin.create_stream(**STREAM)
        assert bank.decide("loans", people(1))["t"] == 1
        assert made["token"] not in likewise("user", "list", *database)
        assert "streams 1, events 2" in likewise("backup", tmp_path / "backup", *database)
        assert "Revoked 1 token" in likewise("user", "revoke", "bank", *database)
        until(lambda: refusal(bank)[0] == 401)  # for a second a token is taken for what it was
        assert "token" in refusal(bank)[1]
        admin.export("loans", tmp_path / "loans.jsonl")
        for_its_owner_only(tmp_path)
    assert server.end() in (0, -15)
    again = Process(tmp_path / "loans.db")
    assert again.token is None, "the administrator's token is shown once"
    again.end()
    assert "streams 1, events 2" in likewise("restore", tmp_path / "backup", "--database", tmp_path / "other.db")
    # What serve prints has a shape that a program can wait for.
    key = r"Checkpoints are signed; the public key that checks them: [0-9a-f]{64}\n"
    shape = key + r"Serving at http://127\.0\.0\.1:\d+\n"
    first = (
        r"This is the first start\. The administrator's token, shown only now:\nlw_[0-9a-f]{64}\n"
        r"Log in with it at http://127\.0\.0\.1:\d+\n"
    )
    assert re.fullmatch(first + shape, server.said), server.said
    assert re.fullmatch(shape, again.said), again.said


def refusal(client):
    """The status and the words with which decisions are refused; none if they are not."""
    try:
        client.decide("loans", people(1))
    except ServiceRefused as error:
        return error.status, str(error)
    return None, ""


def for_its_owner_only(folder):
    """Nobody else on the machine can read what holds people."""
    secret = ("loans.db", "loans.db-wal", "loans.db-shm", "loans.key", "loans.jsonl")
    modes = {name: oct((folder / name).stat().st_mode & 0o777) for name in secret}
    assert modes == dict.fromkeys(secret, "0o600")


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


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Run a command that must fail: its one sentence. Nothing else may be said, and no file made."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age,income\n30,20000\n")

    def command(*words):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(SystemExit) as stopped:
            main([str(word) for word in words])
        said = capsys.readouterr()
        assert stopped.value.code == 2
        assert (said.out, said.err.count("\n"), said.err[-2:]) == ("", 1, ".\n"), said
        assert sorted(tmp_path.rglob("*")) == before
        return said.err.strip()

    return command


@pytest.mark.parametrize("demo", [[], ["--demo"]])
def test_a_database_in_no_folder_is_one_sentence(refused, demo):
    said = "`--database` must be in a folder that exists, got 'no/folder/x.db'; make the folder first."
    assert refused("serve", "--port", "0", "--database", "no/folder/x.db", *demo) == said


@pytest.mark.parametrize(
    "words", [["serve", "--port", "0"], ["backup", "to"], ["user", "list"], ["user", "add", "ann", "--role", "auditor"]]
)
def test_a_server_that_is_away_is_one_sentence_without_the_password(refused, words):
    where = f"127.0.0.1:{free_port()}/none"
    said = refused(*words, "--database", f"postgresql://me:hush@{where}?password=hush")
    assert said == f"PostgreSQL does not answer at postgresql://me:***@{where}; start it, or correct --database."
    said = refused(*words, "--database", "postgresql://me:hush@localhost:port/none")
    assert "an address like postgresql://localhost/loans" in said
    assert "hush" not in said


def test_a_server_that_refuses_is_one_sentence_with_its_reason(refused, new_database):
    other = make_url(new_database("postgresql")).set(database="nowhere", drivername="postgresql")
    said = refused("user", "list", "--database", other.render_as_string(hide_password=False))
    assert said.startswith("PostgreSQL at postgresql://")
    assert said.endswith(': database "nowhere" does not exist.')


@pytest.mark.parametrize("words", [["serve", "--port", "0"], ["backup", "to"], ["user", "list"]])
def test_a_table_of_people_is_no_database(refused, words):
    said = "`--database` must be a SQLite file or an address of PostgreSQL, got 'people.csv'."
    assert refused(*words, "--database", "people.csv") == said


@pytest.mark.parametrize("words", [["backup", "to"], ["user", "list"], ["user", "revoke", "ann"]])
def test_a_database_that_is_not_there_is_not_made_by_who_only_reads(refused, words):
    said = "There is no database nope.db; name the one that the service uses."
    assert refused(*words, "--database", "nope.db") == said


def test_what_is_no_backup_is_not_restored(refused, tmp_path):
    said = "people.csv is not a backup made by `likewise backup`."
    assert refused("restore", "people.csv", "--database", "new.db") == said
    likewise("user", "add", "ann", "--role", "auditor", "--database", "loans.db")
    whole = (tmp_path / "loans.db").read_bytes()
    (tmp_path / "torn").write_bytes(whole[: len(whole) // 2])
    for name in ("loans.db", "torn"):
        said = f"{name} is not a backup made by `likewise backup`."
        assert refused("restore", name, "--database", "new.db") == said


@pytest.mark.parametrize("content", [b"age,income\n30,20000\n", b"SQLite format 3\0", b"", b'{"age": 30}\n'])
def test_what_is_no_export_is_not_checked(refused, tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    said = "other is not an export of a stream; make one on the page Export, or with client.export."
    assert refused("verify", "other") == said
    assert refused("verify", "README.md") == "There is no file README.md here."
    assert refused("verify") == "Give the export to check: likewise verify export.jsonl."


def test_a_file_of_settings_that_cannot_be_read_is_one_sentence(refused, tmp_path):
    for content in (b"max_batch = = 3\n", b"\xff\xfe\n"):
        (tmp_path / "likewise.toml").write_bytes(content)
        said = refused("serve", "--config", "likewise.toml")
        assert said.startswith("`--config` must be a TOML file, got 'likewise.toml', which is not one: ")
    (tmp_path / "likewise.toml").write_text("max_bach = 3\n")
    said = refused("serve", "--config", "likewise.toml")
    assert said == "There is no setting `max_bach`; the nearest is `max_batch`."


def test_a_folder_is_no_database_and_no_folder_takes_no_backup(refused, tmp_path):
    (tmp_path / "folder").mkdir()
    said = "`--database` must be a file, got 'folder', which is a folder."
    assert refused("serve", "--port", "0", "--database", "folder") == said
    likewise("user", "add", "ann", "--role", "auditor", "--database", "loans.db")
    said = "The file must be in a folder that exists, got 'none/backup'."
    assert refused("backup", "none/backup", "--database", "loans.db") == said


def test_an_address_with_an_option_that_postgresql_does_not_know_is_told_so(refused):
    said = refused("user", "list", "--database", "postgresql://127.0.0.1/loans?colour=red")
    assert 'invalid connection option "colour"' in said


def test_what_is_no_key_and_no_certificate_is_said_before_a_token_is_told(refused, tmp_path):
    (tmp_path / "loans.key").write_text("garbage")
    likewise("user", "add", "ann", "--role", "auditor", "--database", "loans.db")
    said = refused("serve", "--port", "0", "--database", "loans.db")
    assert said == "`key` must be the file of an Ed25519 private key without password, got loans.key."
    for certificate in ("loans.key", "none.pem"):
        said = refused("serve", "--port", "0", "--tls-certificate", certificate, "--tls-key", "loans.key")
        assert said.startswith("`--tls-certificate` and `--tls-key` must be PEM files")


def test_a_token_lasts_no_longer_than_dates_can_say(refused):
    likewise("user", "add", "bob", "--role", "auditor", "--database", "loans.db")
    said = refused("user", "add", "ann", "--role", "auditor", "--days", "1e7", "--database", "loans.db")
    assert said == "`--days` must be in (0, 36500], got 10000000.0."
    assert "until 2" in likewise("user", "add", "ann", "--role", "auditor", "--days", 36500, "--database", "loans.db")


@pytest.mark.parametrize("demo", [[], ["--demo"]])
def test_a_port_in_use_is_said_before_anything_is_made_or_told(refused, demo):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused("serve", "--database", "loans.db", "--port", port, *demo)
        assert said.startswith(f"Port {port} is in use; stop what uses it, or give another: --port ")
        many = ["--database", f"postgresql://127.0.0.1:{free_port()}/none", "--workers", "2"]
        assert f"Port {port} is in use" in refused("serve", *many, "--port", port, *demo)


def test_a_token_for_a_stream_to_come_says_so(tmp_path):
    database = ["--database", tmp_path / "loans.db"]
    said = likewise("user", "add", "ann", "--role", "auditor", "--stream", "nope", *database)
    assert said.endswith("There is no stream 'nope' yet; the token will work once there is.\n")
    said = json.loads(likewise("user", "add", "ann", "--role", "auditor", "--stream", "nope", "--json", *database))
    assert said["streams_to_come"] == ["nope"]
    with running(database=str(tmp_path / "loans.db")) as service:
        service.admin.post("/v1/streams", json=STREAM)
    assert "There is no stream" not in likewise("user", "add", "b", "--role", "viewer", "--stream", "loans", *database)


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
                rounds.append(client.decide("loans", people(t))["t"])
        assert rounds == list(range(1, 21))
        counted = 'route="/v1/streams/{stream}/rounds",status="201"} 20.0'
        assert all(counted in httpx.get(f"{server.url}/metrics", timeout=300).text for _ in range(10)), (
            "whoever answers"
        )
    finally:
        server.end()


SMALL_DEMO = """
import functools
from likewise import cli, datasets
from likewise.service.run import demo
demo.prepare = functools.partial(demo.prepare, rounds=3, waiting=2, data=datasets.synthetic(500))
cli.main(["serve", "--demo", "--port", "0", *{options}])
"""


@pytest.mark.parametrize(
    ("how", "given"),
    [
        (signal.SIGTERM, False),
        (signal.SIGINT, True),
        pytest.param(signal.SIGINT, False, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, True, marks=pytest.mark.slow),
    ],
)
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
        pages = [httpx.get(link, timeout=300).text for link in links]
        assert [part in page for part, page in zip(("reviewer", "administrator"), pages, strict=True)] == [True, True]
        server.send_signal(how)
        server.communicate(timeout=300)
    finally:
        server.kill()
        server.wait()
    assert list(scratch.glob("likewise-*")) == []
    assert (tmp_path / "mine.db").exists() == given
    assert ("removed when the service ends" in said) == (not given)


def test_the_demo_has_a_few_hundred_rounds_and_twenty_that_wait():
    assert {name: one.default for name, one in inspect.signature(demo.prepare).parameters.items()} == {
        "configuration": inspect.Parameter.empty, "rounds": 300, "waiting": 20, "data": None, "before": None
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
    with pytest.raises(InvalidParameter, match="does not exist"):
        configured(tmp_path / "none.toml")
    monkeypatch.setenv("LIKEWISE_PORT", "many")
    with pytest.raises(InvalidParameter, match="port"):
        configured()


@pytest.mark.parametrize("name", ["lease", "tick", "max_seconds", "max_rate", "max_anonymous_rate"])
@pytest.mark.parametrize("value", ["inf", "nan", "1e300", "0"])
def test_a_number_that_no_clock_can_work_with_is_refused_by_name(tmp_path, name, value):
    (tmp_path / "likewise.toml").write_text(f"{name} = {value}\n")
    with pytest.raises(InvalidParameter, match=f"`{name}` is not valid"):
        configured(tmp_path / "likewise.toml")


def test_another_process_gets_the_same_configuration_from_its_environment(tmp_path, monkeypatch):
    wanted = Configuration(database="postgresql://localhost/log", max_batch=7, behind_proxy=True, key=tmp_path / "key")
    for name, value in wanted.environment().items():
        monkeypatch.setenv(name, value)
    assert Configuration() == wanted


def test_the_files_are_beside_the_database_unless_said_otherwise(tmp_path):
    found = Configuration(database=str(tmp_path / "loans.db"))
    assert (found.key_file, found.checkpoint_file) == (tmp_path / "loans.key", tmp_path / "loans.checkpoints")
    assert Configuration(database="postgresql://localhost/log").key_file.name == "likewise.key"
