"""The shortcut to decisions says and counts the same as the long way."""

from __future__ import annotations

import pytest
from serving import people

from likewise.service.accounts.rates import Rates
from likewise.service.api.shortcut import Shortcut

STREAM = {"name": "loans", "features": [{"name": "score"}, {"name": "age"}], "cuts": {"score": [0.5]}, "alpha": 0.1}
ROUNDS = "/v1/streams/loans/rounds"
ODD = {
    "no body": b"",
    "no JSON": b"{",
    "no people": b"{}",
    "people of another kind": b'{"people": 7}',
    "a person of another kind": b'{"people": [{"id": 7, "features": {}}]}',
    "more than there is": b'{"people": [], "more": 1}',
    "nobody": b'{"people": []}',
}


@pytest.fixture
def service(serve, tmp_path):
    service = serve(tmp_path / "log.db")
    service.admin.post("/v1/streams", json=STREAM).raise_for_status()
    return service


@pytest.mark.parametrize("body", ODD.values(), ids=ODD.keys())
def test_what_is_wrong_is_said_in_the_same_words_by_either_way(service, monkeypatch, body):
    def ask():
        answer = service.decider.post(ROUNDS, content=body, headers={"Content-Type": "application/json"})
        return answer.status_code, answer.headers["content-type"], answer.json()

    short = ask()
    assert 400 <= short[0] < 500
    monkeypatch.setattr(Shortcut, "_find", lambda self, scope: None)
    assert ask() == short


def test_who_may_not_and_what_is_not_there_is_refused_by_the_shortcut_too(service):
    answers = [
        service.anybody.post(ROUNDS, json={"people": people(1)}),
        service.viewer.post(ROUNDS, json={"people": people(1)}),
        service.decider.post(ROUNDS.replace("loans", "nothing"), json={"people": people(1)}),
        service.decider.put(ROUNDS, json={"people": people(1)}),
    ]
    assert [answer.status_code for answer in answers] == [401, 403, 404, 405]
    assert answers[-1].headers["Allow"] == "POST"


def test_a_request_counts_once_also_if_it_takes_the_long_way_after_all(service):
    service.service.gate._max_rate, service.service.gate.rates = 60, Rates(lambda: 0.0)
    answers = [service.decider.post(ROUNDS, json={"people": 7}).status_code for _ in range(12)]
    assert answers == [422] * 10 + [429] * 2


def test_requests_by_the_shortcut_are_measured_under_their_route(service):
    assert service.decider.post(ROUNDS, json={"people": people(1)}).status_code == 201
    assert 'route="/v1/streams/{stream}/rounds",status="201"} 1.0' in service.anybody.get("/metrics").text
