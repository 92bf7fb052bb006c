"""Who may do what: every route × every role × another stream × nobody, from the application's own route table."""

from __future__ import annotations

import json

import pytest
from fastapi.routing import APIRoute
from serving import STREAM, people, running

from likewise.service.accounts.access import ACCESS, PUBLIC
from likewise.service.accounts.tokens import ROLES
from likewise.service.api.requests import StrictRoute

API = {row: roles for row, roles in ACCESS.items() if row[1].startswith("/v1")}
"""The rows of the table for programs; test_pages has those for people."""

BODIES = {
    ("POST", "/v1/streams"): {**STREAM, "name": "new"},
    ("PATCH", "/v1/streams/{stream}"): {"waits": {"grace": 1}},
    ("POST", "/v1/streams/{stream}/stop"): {"reason": "lunch"},
    ("POST", "/v1/streams/{stream}/rounds"): {"people": people(5)},
    ("PUT", "/v1/streams/{stream}/rounds/{t}/labels"): {"labels": {"1-0": 1}},
    ("PUT", "/v1/streams/{stream}/rounds/{t}/audit"): {"verdict": "none"},
    ("POST", "/v1/streams/{stream}/rounds/{t}/audit/correct"): {"verdict": "none"},
}
"""What to send where a body is needed; the rest needs none."""


def routes_of(router):
    """Every route of an application, whichever way its routers were included."""
    for route in router.routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from routes_of(inner)
        elif isinstance(route, APIRoute):
            yield from ((method, route) for method in route.methods)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running(database=str(tmp_path_factory.mktemp("roles") / "log.db"), tick=60) as found:
        for name in ("loans", "other"):
            found.admin.post("/v1/streams", json={**STREAM, "name": name})
        found.decider.post("/v1/streams/loans/rounds", json={"people": people(1)})
        tokens = found.service.tokens
        found.scoped = {role: tokens.add(f"{role} of other", role, ["other"])[0] for role in ROLES if role != "admin"}
        found.revoked = tokens.add("gone", "admin")[0]
        tokens.revoke("gone")
        yield found


def table(service):
    """The routes of version 1, as the application has them."""
    return {(method, route.path) for method, route in routes_of(service.app.router) if route.path.startswith("/v1")}


def test_the_table_of_roles_has_a_row_for_every_route_and_no_other(service):
    assert table(service) == set(API)
    others = {r.path for _, r in routes_of(service.app.router) if ".pages." not in r.endpoint.__module__}
    assert others == {path for _, path in API} | (PUBLIC - {"/openapi.json"})
    guarded = {(m, r.path) for m, r in routes_of(service.app.router) if isinstance(r, StrictRoute)}
    assert guarded == set(API), "a route in the table must be one that asks who is there"


def test_what_is_open_to_everybody_is_in_the_list_of_that(service):
    document = service.app.openapi()
    open_to_all = {
        path for path, methods in document["paths"].items() for one in methods.values() if not one.get("security")
    }
    assert open_to_all | {"/openapi.json"} == PUBLIC


def ask(service, method, path, who, stream="loans"):
    """The status that somebody gets for a route."""
    address = path.replace("{stream}", stream).replace("{t}", "1").replace("{person:path}", "nobody")
    headers = {"Content-Type": "application/json"}
    if who is not None:
        headers["Authorization"] = f"Bearer {who}"
    body = json.dumps(BODIES[method, path]) if (method, path) in BODIES else None
    return service.anybody.request(method, address, content=body, headers=headers).status_code


@pytest.mark.parametrize(("method", "path"), sorted(API), ids=lambda part: part)
def test_a_route_lets_in_its_roles_and_nobody_else(service, method, path):
    for role in ROLES:
        may = role in API[method, path]
        status = ask(service, method, path, service.tokens[role])
        assert (status < 500 and status not in (401, 403, 429)) if may else status == 403, (role, status)
        if role in service.scoped and "{stream}" in path:
            scoped = service.scoped[role]
            assert ask(service, method, path, scoped) == 403, f"{role} reached a stream of somebody else"
            assert ask(service, method, path, scoped, "missing") == 403, "a scope must not tell which streams exist"
            assert (ask(service, method, path, scoped, "other") != 403) == may
    for who in (service.revoked, "lw_" + "0" * 64, None):
        assert ask(service, method, path, who) == 401


def test_a_scoped_token_lists_only_its_streams(service):
    mine = service.connect(service.service.tokens.add("one", "viewer", ["other"])[0])
    assert mine.get("/v1/streams").json()["streams"] == ["other"]


def test_neither_deciders_nor_auditors_ever_see_weights_and_auditors_see_no_labels_decisions_or_votes(service):
    service.decider.put("/v1/streams/loans/rounds/1/labels", json={"labels": {"1-0": 1, "1-1": 1, "1-2": 0}})
    claimed = service.auditor.post("/v1/streams/loans/audits/claim")
    read = service.auditor.get("/v1/streams/loans").json()
    del read["settings"]  # which say what auditors see, and whose labels come
    seen = json.dumps([claimed.json() if claimed.content else None, read])
    for word in ('"label', '"decision', '"audits"', '"errors"', '"learned"', '"weights"'):
        assert word not in seen
    for role in ("decider", "auditor"):
        reached = [path for (method, path), roles in API.items() if method == "GET" and role in roles]
        assert reached, role
        for path in reached:
            address = path.replace("{stream}", "loans").replace("{t}", "1").replace("{seq}", "1")
            address = address.replace("{person:path}", "1-0")
            answer = getattr(service, role).get(address)
            assert answer.is_success, (role, path)
            assert '"weights"' not in answer.text
            assert '"learner":{' not in answer.text
