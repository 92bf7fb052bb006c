"""The way in: by a token or a cookie, not too often, with the right role, to the right stream."""

from __future__ import annotations

import asyncio

import pytest
from fastapi import HTTPException, Request

from likewise.service.accounts.access import ACCESS, ROUND, STREAM, STREAM_PAGE, Gate
from likewise.service.accounts.rates import Rates
from likewise.service.accounts.sessions import Sessions
from likewise.service.accounts.tokens import ROLES, Identity, Tokens
from likewise.service.log import Store
from likewise.service.log.signing import Signer
from likewise.service.refusals import Unknown


class Route:
    def __init__(self, path):
        self.path = path


def request(path, method="GET", token=None, **parameters):
    headers = [] if token is None else [(b"authorization", token.encode())]
    scope = {"type": "http", "method": method, "path": "/", "headers": headers, "client": ("10.0.0.1", 5),
             "path_params": parameters, "route": Route(path)}  # fmt: skip
    return Request(scope)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "log.db") as store:
        store.migrate()
        yield store


@pytest.fixture
def gate(store):
    gate = Gate(Tokens(store), Sessions(store, Signer.generate()), max_rate=60, max_anonymous_rate=6)
    gate.rates = Rates(lambda: 0.0)
    return gate


def enter(gate, path, **asked):
    return asyncio.run(gate.by_token(request(path, **asked), path))


def refused(call):
    with pytest.raises(HTTPException) as error:
        call()
    return error.value


def test_every_row_of_the_table_names_roles_and_an_admin_reaches_all():
    for row, roles in ACCESS.items():
        assert set(roles) <= set(ROLES), row
        assert "admin" in roles, row


def test_a_token_and_a_cookie_of_it_lead_through_the_same_gate(store, gate):
    token, _ = Tokens(store).add("ann", "viewer", ["loans"])
    cookie = gate._sessions.login(token)
    assert enter(gate, STREAM, token=f"Bearer {token}", stream="loans") == Identity("ann", "viewer", ("loans",))
    assert gate.by_cookie(request(STREAM_PAGE, stream="loans"), cookie).identity.name == "ann"
    other = [
        refused(lambda: enter(gate, STREAM, token=f"Bearer {token}", stream="mortgages")),
        refused(lambda: gate.by_cookie(request(STREAM_PAGE, stream="mortgages"), cookie)),
    ]
    assert [error.status_code for error in other] == [403, 403]
    assert other[0].detail == other[1].detail


@pytest.mark.parametrize("token", [None, "Bearer lw_0", "Basic lw_0", "lw_0"])
def test_without_a_valid_token_nobody_enters_and_the_answer_says_what_is_needed(gate, token):
    error = refused(lambda: enter(gate, STREAM, token=token, stream="loans"))
    assert (error.status_code, error.headers) == (401, {"WWW-Authenticate": "Bearer"})


def test_without_a_session_there_is_nobody(gate):
    assert gate.by_cookie(request(STREAM_PAGE, stream="loans"), "forged") is None


def test_a_refused_role_is_told_which_it_takes(store, gate):
    token, _ = Tokens(store).add("ann", "auditor")
    error = refused(lambda: enter(gate, ROUND, token=f"Bearer {token}", stream="loans"))
    assert (error.status_code, error.detail) == (
        403,
        "This needs the role admin or decider or viewer; yours is auditor.",
    )


def test_what_is_not_in_the_table_is_nobodys(store, gate):
    token, _ = Tokens(store).add("root", "admin")
    assert refused(lambda: enter(gate, "/v1/secret", token=f"Bearer {token}")).status_code == 403


def test_a_name_that_no_stream_can_have_is_not_looked_for(store, gate):
    token, _ = Tokens(store).add("root", "admin")
    with pytest.raises(Unknown):
        enter(gate, STREAM, token=f"Bearer {token}", stream="Big Loans")


def test_whoever_asks_too_often_waits_by_name_or_else_by_address(store, gate):
    token, _ = Tokens(store).add("root", "admin")
    for _ in range(10):  # ten seconds' worth at once
        enter(gate, "/v1/streams", token=f"Bearer {token}")
    error = refused(lambda: enter(gate, "/v1/streams", token=f"Bearer {token}"))
    assert (error.status_code, error.headers) == (429, {"Retry-After": "2"})
    assert [refused(lambda: enter(gate, "/v1/streams")).status_code for _ in range(2)] == [401, 429]


def test_a_revoked_token_is_known_for_a_second_at_most(store, gate, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("likewise.service.accounts.access.time.monotonic", lambda: now[0])
    token, _ = Tokens(store).add("ann", "viewer")
    enter(gate, "/v1/streams", token=f"Bearer {token}")
    Tokens(store).revoke("ann")
    now[0] += 1.01
    assert refused(lambda: enter(gate, "/v1/streams", token=f"Bearer {token}")).status_code == 401
