"""Whatever fits the OpenAPI document, and much that doesn't: no answer is a failure, no refusal leaves a trace."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serving import STREAM, people, running

from likewise.service.accounts.access import ACCESS

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
QUICK, LONG = 20, 2700
"""Requests for each operation: some seconds, and about twenty minutes, in all."""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schemathesis")
    with running(database=str(folder / "log.db"), tick=3600, max_size=300, max_body=100_000) as found:
        found.admin.post("/v1/streams", json=STREAM)
        for t in range(1, 4):
            found.admin.post("/v1/streams/loans/rounds", json={"people": people(t)})
        yield found


@pytest.fixture(scope="module")
def api(service):
    return schemathesis.openapi.from_dict(service.app.openapi())


PEOPLE = people(7)
VALID = {
    ("POST", "/v1/streams"): STREAM,
    ("PATCH", "/v1/streams/{stream}"): {"waits": {"grace": 0}},
    ("POST", "/v1/streams/{stream}/stop"): {"reason": "lunch"},
    ("POST", "/v1/streams/{stream}/rounds"): {"people": PEOPLE},
    ("PUT", "/v1/streams/{stream}/rounds/{t}/labels"): {"labels": {"1-0": 1}},
    ("PUT", "/v1/streams/{stream}/rounds/{t}/audit"): {"verdict": "none"},
    ("POST", "/v1/streams/{stream}/rounds/{t}/audit/correct"): {"verdict": "none"},
}


def likely(case, turn):
    """Often a stream, a round and people that exist, and a body that is wrong in one place at most."""
    if turn % 4:
        known = {"stream": "loans", "t": 1 + turn % 5, "seq": turn % 5 + 1, "person": f"{1 + turn % 3}-{turn % 5}"}
        case.path_parameters |= {name: known[name] for name in case.path_parameters}
    valid = VALID.get((case.method, case.path))
    if turn % 3 and valid is not None and isinstance(case.body, dict):
        place = list(case.body)[turn % (1 + len(case.body)) :][:1]
        named = {"name": f"s{turn}"} if case.path == "/v1/streams" else {}
        case.body = {**valid, **named, **{name: case.body[name] for name in place}}


def trace(service):
    """How many events there are."""
    with service.engine.store.read() as connection:
        return connection.exec_driver_sql("SELECT COUNT(*) FROM events").scalar()


def holds(case, turn, service):
    likely(case, turn)
    before = trace(service)
    headers = {"Authorization": f"Bearer {service.tokens['admin']}"}
    answer = case.call(base_url=service.url, headers=headers, timeout=300)
    case.validate_response(answer, checks=CHECKS)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == ["application/problem+json"], case.as_curl_command()
        assert trace(service) == before, f"{answer.status_code} left an event: {case.as_curl_command()}"
    elif case.path.endswith("/stop") and trace(service) > before:  # a key sent again only repeats its answer
        service.engine.resume(case.path_parameters["stream"], "the test")  # decisions are refused with 503 until then


def hold(api, service, method, path, examples):
    """Ask for an operation so often, half of the time against its own document; what fails is shown as it was."""
    operation = api[path.replace(":path", "")][method]
    cases = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]

    @settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @seed(0)
    @given(st.one_of(cases), st.integers(0, 59))
    def asked(case, turn):
        holds(case, turn, service)

    asked()


OPERATIONS = pytest.mark.parametrize(
    ("method", "path"), sorted(row for row in ACCESS if row[1].startswith("/v1")), ids=lambda part: part
)


@OPERATIONS
def test_no_request_makes_the_service_fail_and_no_refusal_leaves_an_event(api, service, method, path):
    hold(api, service, method, path, QUICK)


@pytest.mark.slow
@OPERATIONS
def test_the_same_for_twenty_minutes(api, service, method, path):
    hold(api, service, method, path, LONG)
