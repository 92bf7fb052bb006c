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

from likewise.service.http.access import ACCESS

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
QUICK, LONG = 60, 1500
"""Requests for each operation: about a minute, and about twenty, in all."""


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


def likely(case):
    """Half of the time a stream, a round and people that exist: most refusals lie behind them."""
    turn = hash(str(case.body)) ^ hash(str(case.query))
    if turn % 2:
        known = {"stream": "loans", "t": 1 + turn // 2 % 4, "person": "1-0" if turn % 8 == 1 else "2-1"}
        case.path_parameters |= {name: known[name] for name in case.path_parameters or {}}
    if turn % 3 and isinstance(case.body, dict) and isinstance(case.body.get("people"), list):
        for i, person in enumerate(case.body["people"]):
            if isinstance(person, dict):
                person["features"] = {"score": (turn + i) % 7 / 7, "age": 40}


def trace(service):
    """How many events there are."""
    with service.engine.store.read() as connection:
        return connection.exec_driver_sql("SELECT COUNT(*) FROM events").scalar()


def holds(case, service):
    likely(case)
    before = trace(service)
    answer = case.call(base_url=service.url, headers={"Authorization": f"Bearer {service.tokens['admin']}"})
    case.validate_response(answer, checks=CHECKS)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == ["application/problem+json"], case.as_curl_command()
        assert trace(service) == before, f"{answer.status_code} left an event: {case.as_curl_command()}"
    elif case.path.endswith("/stop"):
        service.engine.resume(case.path_parameters["stream"], "the test")  # decisions are refused with 503 until then


def hold(api, service, method, path, examples):
    """Ask for an operation so often, half of the time against its own document; what fails is shown as it was."""
    operation = api[path.replace(":path", "")][method]
    cases = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]

    @settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @seed(0)
    @given(st.one_of(cases))
    def asked(case):
        holds(case, service)

    asked()


OPERATIONS = pytest.mark.parametrize(("method", "path"), sorted(ACCESS), ids=lambda part: part)


@OPERATIONS
def test_no_request_makes_the_service_fail_and_no_refusal_leaves_an_event(api, service, method, path):
    hold(api, service, method, path, QUICK)


@pytest.mark.slow
@OPERATIONS
def test_the_same_for_twenty_minutes(api, service, method, path):
    hold(api, service, method, path, LONG)
