"""A stream on a sample over HTTP: fitted in a process of its own, once, while others are answered."""

from __future__ import annotations

import html
import threading
from contextlib import closing

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sampled import CHOICES, FEATURES, asked, sample, scores
from serving import STREAM, running
from visitors import Browser

import likewise as lw
from likewise.client import ServiceRefused, _sample
from likewise.errors import InvalidParameter
from likewise.service.canonical import digest
from likewise.service.jobs import process
from likewise.service.proof.replay import verify
from likewise.service.refusals import Unavailable

BODY = CHOICES | {"features": [feature.model_dump() for feature in FEATURES]}
BODY |= {"waits": {"grace": 0}, "review": {"ask_all": True}}
FITTED = BODY | {"sample": sample(), "label": "repaid"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running(database=str(tmp_path_factory.mktemp("sample") / "log.db"), max_body=60_000, max_sample=400) as found:
        found.admin.post("/v1/streams", json=STREAM | {"name": "other"})
        yield found


@pytest.fixture
def at_once(service, monkeypatch):
    """No process: the scores are there at once. How often they were asked for."""
    fits = []
    monkeypatch.setattr(service.service.subprocesses, "fit", lambda *given: fits.append(given) or scores())
    return fits


def test_a_team_with_the_client_creates_decides_and_verifies(service, tmp_path):
    """With a frame that also holds an id and somebody without a label; the process fits what this one would."""
    frame = pd.DataFrame([*sample(), sample()[0] | {"repaid": None}]).assign(id="nobody's business")
    with lw.Client(service.url, service.tokens["admin"]) as client:
        created = client.create_stream(**BODY | {"name": "team"}, sample=frame, label="repaid", compare_by=["income"])
        assert created["settings"]["scores"] == digest(scores())
        assert created["made_of"]["people"] == len(sample())
        opened = client.decide("team", asked(sample(4, seed=1)))
        client.audit("team", client.claim("team")["t"], "none")
        client.label("team", opened["t"], {str(i): p["repaid"] for i, p in enumerate(sample(4, seed=1))})
        assert client.stream("team")["learned"] == 1
        client.export("team", tmp_path / "team.jsonl")
    found = verify(tmp_path / "team.jsonl")
    assert found.first is None
    assert (found.replay.rounds, found.replay.inexact) == (1, 0)


def test_the_same_request_again_is_answered_without_fitting_again(service, at_once):
    key = {"Idempotency-Key": "once"}
    first, again = (
        service.admin.post("/v1/streams", json=FITTED | {"name": "again"}, headers=key) for _ in range(2)
    )  # fmt: skip
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert len(at_once) == 1
    taken = service.admin.post("/v1/streams", json=FITTED | {"name": "again"})
    assert (taken.status_code, len(at_once)) == (409, 1)


def test_others_are_answered_while_scores_are_fitted(service, monkeypatch):
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def slowly(*given):
        begun.release()
        go_on.wait(300)
        return scores()

    monkeypatch.setattr(service.service.subprocesses, "fit", slowly)
    codes = []

    def create(name):
        with service.connect(service.tokens["admin"]) as connection:
            codes.append(connection.post("/v1/streams", json=FITTED | {"name": name}).status_code)

    waiting = [threading.Thread(target=create, args=(f"slow-{i}",)) for i in range(5)]
    for thread in waiting:
        thread.start()
    assert begun.acquire(timeout=300)
    people = [{"id": "a", "features": {"score": 0.4, "age": 30}}]
    assert service.admin.post("/v1/streams/other/rounds", json={"people": people}).status_code == 201
    assert service.admin.get("/v1/streams/other").json()["rounds"] >= 1
    assert codes == []
    go_on.set()
    for thread in waiting:
        thread.join()
    assert codes == [201] * 5


def test_too_large_a_sample_is_refused(service, at_once):
    short = [{"score": i / 500, "age": 30, "y": i % 2} for i in range(401)]
    many = service.admin.post(
        "/v1/streams", json=STREAM | {"name": "many", "sample": short, "cuts": None, "label": "y"}
    )
    assert (many.status_code, many.json()["detail"]) == (422, "`sample` must be at most 400, got 401.")
    long = service.admin.post("/v1/streams", json=FITTED | {"name": "long", "sample": sample(1000)})
    assert (long.status_code, long.json()["detail"]) == (413, "The body must have at most 60,000 bytes.")
    assert at_once == []


def test_what_a_process_refuses_is_the_sentence_of_the_answer(service, monkeypatch):
    monkeypatch.setattr("likewise.service.api.bodies.labelled", lambda *given: None)
    few = service.admin.post("/v1/streams", json=FITTED | {"name": "few", "sample": sample(10)})
    assert (few.status_code, few.json()["detail"][:40]) == (422, "`sample` must hold at least 50 people, a")


def test_a_process_is_ended_with_the_service(service, monkeypatch):
    monkeypatch.setattr(process, "FITTING", "likewise.errors")  # which says nothing
    subprocesses = process.Subprocesses(service.engine, service.service.configuration)
    with pytest.raises(Unavailable, match="process that worked on this ended"):
        subprocesses.fit(FEATURES, sample(), "repaid")
    subprocesses.stop()
    with pytest.raises(Unavailable, match="stopping"):
        subprocesses.fit(FEATURES, sample(), "repaid")


def test_the_page_of_settings_has_a_table_of_the_class(service, at_once):
    service.admin.post("/v1/streams", json=FITTED | {"name": "shown"})
    with closing(Browser(service, service.service.sessions.login(service.tokens["viewer"]))) as visitor:
        page = html.unescape(visitor.get("/streams/shown/settings").text)
    assert "fitted to a sample of 120 people" in page
    assert "The best policies of what reviewers compare by that change slowly." in page
    assert digest(scores()) in page
    assert "use it in scores" in page


@pytest.mark.parametrize("table", [list, pd.DataFrame, pl.DataFrame, lambda rows: pl.DataFrame(rows).to_arrow()])
def test_a_sample_may_be_rows_or_any_table(table):
    rows = [{"score": 0.5, "id": "a", "y": 1}, {"score": 0.25, "id": "b", "y": 0}]
    assert _sample(table(rows), ["score"], "y") == [{"score": 0.5, "y": 1}, {"score": 0.25, "y": 0}]
    assert _sample(table(rows), ["score"], None) == [{"score": 0.5}, {"score": 0.25}]
    known = [{"score": 0.5, "y": True}, {"score": 0.25, "y": None}]
    assert [type(person["y"]) for person in _sample(table(known), ["score"], "y")] == [int]


def test_a_label_that_nobody_has_is_refused_by_the_service(service):
    with lw.Client(service.url, service.tokens["admin"]) as client, pytest.raises(ServiceRefused, match="give 'paid'"):
        client.create_stream(**BODY, sample=sample(), label="paid")
    with lw.Client(service.url, service.tokens["admin"]) as client, pytest.raises(InvalidParameter, match="finite"):
        client.create_stream(**BODY, sample=[sample()[0] | {"debt": np.nan}], label="repaid")
