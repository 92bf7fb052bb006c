"""Work in the background: one of a kind at a time, progress that is noted, and an end that is clean."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from serving import people, running
from visitors import Browser

from likewise.errors import InvalidParameter
from likewise.service.jobs import process
from likewise.service.jobs import runner as jobs
from likewise.service.jobs.runner import Jobs
from likewise.service.stream.settings import Settings

LOANS = {
    "name": "loans",
    "features": [{"name": "score"}, {"name": "age", "shown": False}],
    "cuts": {"score": [0.2, 0.4, 0.6, 0.8]},
    "alpha": 0.1,
    "review": {"ask_all": True},
    "k": 8,
    "waits": {"grace": 0},
}


CHILD = """
import sys
from likewise.service.jobs.process import main
main("likewise.service.engine:Engine.certificate", "loans", "{}")
print([name for name in ("numba", "scipy", "pandas") if name in sys.modules])
"""
"""The child that makes a certificate, and what it has imported for that."""


def until(ask, wanted):
    """What is asked for again until it fits."""
    deadline = time.monotonic() + 300
    while not wanted(found := ask()):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


@pytest.fixture
def made(store, monkeypatch):
    monkeypatch.setattr(jobs, "AT_ONCE", 60.0)  # however slow this machine is, a quick job is done by then
    found = Jobs(store)
    yield found
    found.stop()


def test_a_job_that_is_quick_is_done_when_it_was_begun(made):
    found = made.begin("loans", "verify", 7, lambda progress: {"said": ["fine"]})
    assert (found.runs, found.result, found.seq, found.failed) == (False, {"said": ["fine"]}, 7, None)
    assert made.find("loans", "certificate") == jobs.NONE


def test_a_long_one_tells_how_far_it_is_and_another_of_its_kind_has_to_wait(made, store, monkeypatch):
    monkeypatch.setattr(jobs, "AT_ONCE", 0.0)
    monkeypatch.setattr(jobs, "NOTE_EVERY", 0.0)
    go_on = threading.Event()

    def slowly(progress):
        progress(0.25)
        go_on.wait(300)
        return "done"

    made.begin("loans", "verify", 3, slowly)
    found = until(lambda: made.find("loans", "verify"), lambda job: job.share > 0)
    assert (found.runs, found.share) == (True, 0.25)
    other = Jobs(store)  # of another process
    assert other.begin("loans", "verify", 4, lambda progress: "too soon").runs
    assert other.begin("loans", "certificate", 4, lambda progress: "another kind") is not None
    go_on.set()
    assert until(lambda: other.find("loans", "verify"), lambda job: not job.runs).result == "done"
    other.stop()


def test_one_that_fails_says_why_and_keeps_what_was_found_before(made, caplog):
    made.begin("loans", "verify", 3, lambda progress: "fine")

    def refuse(progress):
        raise InvalidParameter("`stream` must have opened a round, got 0.")

    found = made.begin("loans", "verify", 9, refuse)
    assert (found.runs, found.result, found.seq) == (False, "fine", 3)
    assert found.failed == "`stream` must have opened a round, got 0."
    assert "own log says what" in made.begin("loans", "verify", 9, lambda progress: 1 / 0).failed
    assert "ZeroDivisionError" in caplog.text
    assert made.begin("loans", "verify", 9, lambda progress: "better").failed is None


def test_one_whose_process_is_gone_can_be_begun_anew_and_can_t_speak_for_the_new_one(store, monkeypatch):
    monkeypatch.setattr(jobs, "AT_ONCE", 0.0)
    now, go_on = [1000.0], threading.Event()
    made = Jobs(store, lambda: now[0])
    made.begin("loans", "verify", 3, lambda progress: go_on.wait(300) and "old")
    now[0] += jobs.SILENT + 1
    assert not made.find("loans", "verify").runs
    made.begin("loans", "verify", 5, lambda progress: "new")
    until(lambda: made.find("loans", "verify"), lambda job: job.result == "new")
    go_on.set()
    made.stop()
    assert made.find("loans", "verify").result == "new"


def test_stopping_ends_what_runs(store, monkeypatch):
    monkeypatch.setattr(jobs, "AT_ONCE", 0.0)
    made, begun = Jobs(store), threading.Event()

    def endless(progress):
        while True:
            progress(0.5)
            begun.set()
            time.sleep(0.01)

    made.begin("loans", "verify", 3, endless)
    assert begun.wait(300)
    made.stop()
    assert made.find("loans", "verify").failed == "The service was stopped before this was done; try again."


@pytest.mark.parametrize("kind", ["postgresql", pytest.param("sqlite", marks=pytest.mark.slow)])
def test_a_long_log_is_worked_on_in_another_process_and_pages_say_how_far_it_is(
    kind, new_database, tmp_path, monkeypatch
):
    monkeypatch.setattr(process, "SHORT", 0)
    beside = {"key": tmp_path / "service.key", "checkpoints": tmp_path / "service.checkpoints"}
    with running(database=new_database(kind), **beside) as service:
        service.engine.create(Settings.from_dict(LOANS), "root")
        for t in range(1, 4):
            service.engine.decide("loans", people(t), "decider")
            service.engine.label("loans", t, {p["id"]: 1 for p in people(t)}, "decider")
            service.engine.audit("loans", t, "none", "ann")
        sessions = service.app.state.service.sessions
        cookie = sessions.login(service.tokens["admin"])
        with closing(Browser(service, cookie, sessions.csrf(sessions.find(cookie)))) as admin:
            first = admin.get("/streams/loans/certificate").text
            assert "data-busy" in first
            assert "<progress" in first
            assert admin.post("/streams/loans/verify").status_code == 303
            letter = until(lambda: admin.get("/streams/loans/certificate").text, lambda text: "data-busy" not in text)
            assert "Over 9 people" in letter
            assert "from the first" in letter
            checked = until(lambda: admin.get("/streams/loans/export").text, lambda text: "data-busy" not in text)
            assert "Nothing wrong was found." in checked
            assert "Rounds that were learned again: 3." in checked


def test_a_service_that_is_stopped_ends_the_process_that_works_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "SHORT", 0)
    children = []
    popen = process.subprocess.Popen
    monkeypatch.setattr(process.subprocess, "Popen", lambda *a, **k: children.append(popen(*a, **k)) or children[-1])
    with running(database=str(tmp_path / "log.db")) as service:
        service.engine.create(Settings.from_dict(LOANS), "root")
        service.engine.decide("loans", people(1), "decider")
        cookie = service.app.state.service.sessions.login(service.tokens["viewer"])
        with closing(Browser(service, cookie)) as viewer:
            assert "data-busy" in viewer.get("/streams/loans/certificate").text
    assert len(children) == 1
    assert children[0].returncode is not None


def test_the_certificate_over_http_is_the_same_from_another_process_and_so_is_a_refusal(tmp_path, monkeypatch):
    with running(database=str(tmp_path / "log.db")) as service:
        service.engine.create(Settings.from_dict(LOANS), "root")
        asked = "/v1/streams/loans/certificate?delta=0.2"
        refused = service.viewer.get(asked)
        service.engine.decide("loans", people(1), "decider")
        service.engine.label("loans", 1, {p["id"]: 1 for p in people(1)}, "decider")
        here = service.viewer.get(asked)
        monkeypatch.setattr(process, "SHORT", 0)
        elsewhere = service.viewer.get(asked)
        assert (here.status_code, elsewhere.status_code) == (200, 200)
        assert elsewhere.json() == here.json()
        assert elsewhere.json()["delta"] == 0.2
        service.engine.create(Settings.from_dict(LOANS | {"name": "new"}), "root")
        again = service.viewer.get(asked.replace("loans", "new"))
        assert (again.status_code, again.json()["detail"]) == (refused.status_code, refused.json()["detail"])
        assert again.status_code == 422


def test_a_certificate_after_an_erasure_needs_neither_a_compiler_nor_scipy(tmp_path):
    """Somebody waits for it, and they take longer to start than the certificate of a long log takes to compute."""
    with running(database=str(tmp_path / "log.db")) as service:
        service.engine.create(Settings.from_dict(LOANS), "root")
        for t in range(1, 26):  # of up to 64 people, probabilities are left to a kernel
            service.engine.decide("loans", people(t), "decider")
            service.engine.label("loans", t, {p["id"]: 1 for p in people(t)}, "decider")
            service.engine.audit("loans", t, "none", "ann")
        service.engine.streams.get("loans").save(always=True)
        service.engine.erase("loans", people(1)[0]["id"], "root")
        environment = os.environ | service.app.state.service.subprocesses._configuration.environment()
        command = [sys.executable, "-c", CHILD]
        said = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.splitlines()
    assert said[-1] == "[]"
    assert '"rounds": 25' in said[-2]


def test_a_certificate_is_computed_anew_when_the_log_has_grown_and_before_the_first_round_refused(tmp_path):
    with running(database=str(tmp_path / "log.db")) as service:
        service.engine.create(Settings.from_dict(LOANS), "root")
        cookie = service.app.state.service.sessions.login(service.tokens["viewer"])
        with closing(Browser(service, cookie)) as viewer:
            assert viewer.get("/streams/loans/certificate").status_code == 422
            for t in (1, 2):
                service.engine.decide("loans", people(t), "decider")
                service.engine.label("loans", t, {p["id"]: 1 for p in people(t)}, "decider")
                service.engine.audit("loans", t, "none", "ann")
                wanted = f"Over {3 * t} people"
                until(lambda: viewer.get("/streams/loans/certificate").text, lambda text, w=wanted: w in text)


def test_certificates_that_many_ask_for_at_once_are_made_in_another_process(tmp_path, monkeypatch):
    """One is made here; whoever asks meanwhile shares the next one, and decisions don't have to wait for it."""
    popen, children, gate, begun = process.subprocess.Popen, [], threading.Event(), threading.Event()
    monkeypatch.setattr(process.subprocess, "Popen", lambda *a, **k: children.append(1) or popen(*a, **k))
    made = process.Engine.certificate

    def held(engine, stream, **arguments):
        begun.set()
        assert gate.wait(300)
        return made(engine, stream, **arguments)

    held.__module__, held.__qualname__ = made.__module__, made.__qualname__  # a child finds the real one
    with running(database=str(tmp_path / "log.db")) as service, ThreadPoolExecutor(4) as pool:
        service.engine.create(Settings.from_dict(LOANS), "root")
        service.engine.decide("loans", people(1), "decider")
        service.engine.label("loans", 1, {p["id"]: 1 for p in people(1)}, "decider")
        monkeypatch.setattr(process.Engine, "certificate", held)
        shared = service.app.state.service.shared_work
        first = pool.submit(service.viewer.get, "/v1/streams/loans/certificate")
        assert begun.wait(300)
        later = [pool.submit(service.viewer.get, "/v1/streams/loans/certificate") for _ in range(3)]
        until(lambda: ("loans", 0.05) in shared._next, bool)
        gate.set()
        answers = [each.result() for each in (first, *later)]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert all(answer.json() == answers[0].json() for answer in answers)
    assert len(children) >= 1
