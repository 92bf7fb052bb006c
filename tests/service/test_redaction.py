"""What the service writes into its own log: where something failed, never about whom."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys

import httpx
import pytest
from serving import STREAM, Process, until
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.export import export
from likewise.service.redaction import redacted
from likewise.service.refusals import Unavailable

LOANS = "/v1/streams/loans"
SECRET = "zebulon-41"
ONE = {"people": [{"id": SECRET, "features": {"score": 0.5, "age": 41.4142}}]}


@pytest.fixture
def service(serve, tmp_path):
    found = serve(tmp_path / "log.db")
    found.admin.post("/v1/streams", json=STREAM)
    found.decider.post(f"{LOANS}/rounds", json=ONE)
    return found


def stumble(*_, **__):
    raise KeyError(SECRET)


def away(*_, **__):
    raise OperationalError(
        "SELECT 1", {}, RuntimeError(f"the disk is full\nDETAIL: row ({SECRET})"), hide_parameters=True
    )


@pytest.mark.parametrize(("fails", "status"), [(stumble, 500), (away, 503)])
def test_a_failure_is_told_by_the_routes_pattern_and_names_nobody(service, monkeypatch, caplog, fails, status):
    monkeypatch.setattr(Engine, "erase", fails)
    answer = service.admin.delete(f"{LOANS}/people/{SECRET}", headers={"Idempotency-Key": "one"})
    assert answer.status_code == status
    said = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(said) == 1, "told once, and not by the server again"
    assert "DELETE /v1/streams/{stream}/people/{person:path} failed: " in caplog.text
    assert ("KeyError" if status == 500 else "the disk is full") in caplog.text
    assert SECRET not in caplog.text


def test_where_it_failed_is_told(service, monkeypatch, caplog):
    monkeypatch.setattr(Engine, "stream", stumble)
    service.viewer.get(LOANS)
    assert "in stumble" in caplog.text
    assert "routes.py" in caplog.text


def test_a_failure_in_the_middle_of_an_answer_ends_it_and_names_nobody(service, monkeypatch, caplog):
    def cut(*given, **more):
        yield next(iter(export(*given, **more)))
        stumble()

    monkeypatch.setattr("likewise.service.engine.for_readers.export", cut)
    with pytest.raises(Exception, match=r"incomplete|closed"), service.admin.stream("GET", f"{LOANS}/export") as answer:
        list(answer.iter_lines())
    until(lambda: "/export failed" in caplog.text)
    assert SECRET not in caplog.text


def test_the_clock_names_nobody_either(service, monkeypatch, caplog):
    monkeypatch.setattr(Engine, "tick", stumble)
    until(lambda: "Checking for what is due failed" in caplog.text)
    monkeypatch.undo()
    assert SECRET not in caplog.text


def test_no_error_of_a_database_quotes_what_was_written(database):
    with Store(database) as store:
        store.migrate()
        row = {"ref": "r", "content": SECRET}
        wrong = text("INSERT INTO asides (ref, content) VALUES (:ref, :content)")
        with pytest.raises(IntegrityError) as refused:
            store.write(lambda connection: connection.execute(wrong, row) and None)
        assert SECRET not in redacted(refused.value)
        with pytest.raises(DBAPIError) as missing, store.read() as connection:
            connection.execute(text("SELECT :content FROM nowhere"), row)
        assert SECRET not in str(missing.value)


def test_a_write_that_the_database_could_not_take_names_nobody(database, caplog):
    with Store(database) as store:
        store.migrate()
        with pytest.raises(Unavailable):
            store.write(away)
    assert "A write failed: OperationalError (RuntimeError): the disk is full" in caplog.text
    assert SECRET not in caplog.text


WORKER = """
import logging, sys
from likewise.service.configuration import Configuration
from likewise.service.run import server_app
server_app(Configuration(database=sys.argv[1]))
logging.getLogger("likewise.service").warning("something is the matter")
"""


def test_every_worker_says_when_and_how_bad(tmp_path):
    """Each is a process of its own, in which the command has set up nothing."""
    command = [sys.executable, "-c", WORKER, str(tmp_path / "log.db")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \S+ likewise.service WARNING something is the matter\n", said), said


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
            answer = httpx.get(f"{server.url}/v1/streams/none/people/ada", headers=headers, timeout=300)
            assert answer.headers["x-request-id"] == "mine-1"
            other = httpx.get(f"{server.url}/livez", headers={"X-Request-ID": "a b"}, timeout=300).headers[
                "x-request-id"
            ]
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
