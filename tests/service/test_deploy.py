"""The files for operators: what they call, set and ask for is there."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import socket
import time
from pathlib import Path

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from serving import STREAM, Process, people, running, until
from typer.main import get_command

from likewise.cli import app
from likewise.service.configuration import Configuration
from likewise.service.supervision import Notifier, tell

DEPLOY = Path(__file__).parents[2] / "deploy"
VARIABLES = {f"LIKEWISE_{name.upper()}" for name in Configuration.model_fields}


def container():
    """The instructions of the Containerfile, with lines that go on joined."""
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    return [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]


def require_command(words):
    """A command line that `likewise` understands."""
    assert words[0].endswith("likewise")
    command = get_command(app).commands[words[1]]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words[2:] if word.startswith("--")} <= known


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What /metrics tells."""
    folder = tmp_path_factory.mktemp("metrics")
    with running(database=str(folder / "log.db"), metrics_by_stream=True) as service:
        service.admin.post("/v1/streams", json=STREAM)
        service.admin.post("/v1/streams/loans/rounds", json={"people": people(1)})
        service.engine.tick()
        time.sleep(0.01)
        text = service.anybody.get("/metrics").text
    return {sample.name: sample for family in text_string_to_metric_families(text) for sample in family.samples}


def names_in(expression):
    return set(re.findall(r"likewise_\w+", expression))


def test_the_container_runs_as_nobody_in_particular_and_calls_what_there_is():
    steps = container()
    assert [words for name, words in steps if name == "USER"] == ["10001"]
    assert json.loads(next(words for name, words in steps if name == "CMD")) == ["likewise", "serve"]
    settings = set(re.findall(r"(LIKEWISE_\w+)=", " ".join(words for name, words in steps if name == "ENV")))
    assert settings
    assert settings <= VARIABLES
    probe = next(words for name, words in steps if name == "HEALTHCHECK")
    code = json.loads(probe[probe.index("[") :])[2]
    assert "/readyz" in code
    compile(code, "probe", "exec")
    copied = [word for name, words in steps if name == "COPY" and "--from" not in words for word in words.split()[:-1]]
    assert all((DEPLOY.parent / path).exists() for path in copied)


def test_the_probe_of_the_container_tells_a_ready_service_from_none(tmp_path):
    probe = next(words for name, words in container() if name == "HEALTHCHECK")
    code = json.loads(probe[probe.index("[") :])[2]
    with running(database=str(tmp_path / "log.db")) as service:
        until(lambda: service.anybody.get("/readyz").status_code == 200)
        exec(code.replace("http://127.0.0.1:8321", service.url))
    with pytest.raises(OSError):
        exec(code.replace("http://127.0.0.1:8321", service.url))


def test_compose_sets_what_there_is():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    require_command(services["likewise"]["command"])
    assert set(services["likewise"]["environment"]) <= VARIABLES
    assert services["likewise"]["read_only"] is True
    assert (DEPLOY / services["likewise"]["build"]["context"] / services["likewise"]["build"]["dockerfile"]).is_file()


def test_the_unit_calls_what_there_is_and_waits_for_word():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string((DEPLOY / "likewise.service").read_text())
    require_command(shlex.split(unit["Service"]["ExecStart"]))
    assert unit["Service"]["Type"] == "notify"
    assert set(re.findall(r"LIKEWISE_\w+", unit["Service"]["Environment"])) <= VARIABLES


def test_alerts_ask_for_what_is_told(told):
    rules = [
        rule for group in yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"] for rule in group["rules"]
    ]
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 6
    documented = (DEPLOY.parent / "docs" / "operations.md").read_text()
    for rule in rules:
        assert names_in(rule["expr"]), rule["alert"]
        assert names_in(rule["expr"]) <= told.keys(), rule["alert"]
        assert rule["annotations"]["summary"]
        assert rule["alert"] in documented, "what to do about it"


def test_the_dashboard_asks_for_what_is_told(told):
    panels = json.loads((DEPLOY / "grafana.json").read_text())["panels"]
    asked = {name for panel in panels for target in panel["targets"] for name in names_in(target["expr"])}
    assert len(panels) > 6
    assert asked <= told.keys()


def test_what_is_told_of_a_stream_is_right_and_only_told_if_that_is_wanted(told, tmp_path):
    assert told["likewise_stream_outstanding_rounds"].labels == {"stream": "loans"}
    assert told["likewise_stream_outstanding_rounds"].value == 1
    assert 0 < told["likewise_oldest_open_round_seconds"].value < 300
    assert told["likewise_stream_broken"].value == 0
    assert 0 <= told["likewise_clock_lag_seconds"].value < 300
    with running(database=str(tmp_path / "log.db")) as service:
        service.admin.post("/v1/streams", json=STREAM)
        assert "loans" not in service.anybody.get("/metrics").text


def test_systemd_is_told_when_the_service_is_ready_and_when_it_stops(tmp_path, monkeypatch):
    heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    heard.bind(str(tmp_path / "notify"))
    heard.settimeout(300)
    server = Process(tmp_path / "log.db", before=("env", f"NOTIFY_SOCKET={tmp_path / 'notify'}"))
    try:
        assert heard.recv(100) == b"READY=1"
        assert httpx.get(f"{server.url}/readyz").status_code == 200
        assert heard.recv(100) == b"WATCHDOG=1"
    finally:
        server.end()
    words = {b"WATCHDOG=1"}
    while b"STOPPING=1" not in words:
        words.add(heard.recv(100))
    heard.close()
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    assert not tell("READY=1")
    Notifier()()  # a supervisor that doesn't listen is no reason to stop


def test_json_logs_have_the_id_of_their_request_and_name_nobody(tmp_path):
    with (tmp_path / "log").open("w+") as log:
        stderr = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            server = Process(tmp_path / "log.db", log_format="json")
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        try:
            headers = {"Authorization": f"Bearer {server.token}", "X-Request-ID": "mine-1"}
            answer = httpx.get(f"{server.url}/v1/streams/none/people/ada", headers=headers)
            assert answer.headers["x-request-id"] == "mine-1"
            other = httpx.get(f"{server.url}/livez", headers={"X-Request-ID": "a b"}).headers["x-request-id"]
            assert re.fullmatch("[0-9a-f]{16}", other)
        finally:
            server.end()
        log.seek(0)
        lines = [json.loads(line) for line in log if line.startswith("{")]
    found = {line.get("request_id"): line for line in lines}
    assert found["mine-1"]["route"] == "/v1/streams/{stream}/people/{person:path}"
    assert found["mine-1"]["status"] == 404
    assert other in found
    assert "ada" not in json.dumps(lines)
