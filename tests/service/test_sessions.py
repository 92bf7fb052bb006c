"""Sessions: what a cookie and a login link are good for, and until when."""

from __future__ import annotations

import re

import httpx
import pytest
from serving import running

from likewise.errors import InvalidParameter
from likewise.service.accounts.sessions import SESSION, Sessions
from likewise.service.accounts.tokens import Tokens
from likewise.service.log.signing import Signer
from likewise.service.pages.visits import COOKIE

NOW = 1_000_000.0


@pytest.fixture
def store(new_database, open_store):
    return open_store(new_database("sqlite"))


@pytest.fixture
def now():
    """The time, in a list that a test may change."""
    return [NOW]


@pytest.fixture
def token(store):
    return Tokens(store).add("ann", "viewer", ["loans"])[0]


@pytest.fixture
def sessions(store, signer, now):
    return Sessions(store, signer, lambda: now[0])


def test_a_cookie_stands_for_its_token_until_the_session_ends(sessions, token, now):
    cookie = sessions.login(token)
    session = sessions.find(cookie)
    assert (session.identity.name, session.identity.role, session.identity.streams) == ("ann", "viewer", ("loans",))
    assert session.until == NOW + SESSION
    now[0] = session.until - 0.001
    assert sessions.find(cookie) == session
    now[0] = session.until
    assert sessions.find(cookie) is None


def test_nobody_logs_in_with_what_is_no_token(sessions, token):
    assert sessions.login(token + "x") is None
    assert sessions.login("\ud800") is None


def test_a_cookie_that_was_changed_anywhere_is_nobody_s(sessions, token):
    cookie = sessions.login(token)
    # The last character also holds two bits that say nothing: changing only those changes nothing.
    for place in range(len(cookie) - 1):
        other = cookie[:place] + ("A" if cookie[place] != "A" else "B") + cookie[place + 1 :]
        assert sessions.find(other) is None, place
    last = "Q" if cookie[-1] != "Q" else "g"
    for forged in ("", ".", "a.b", "..", cookie.rpartition(".")[0], "é.é", "\ud800", cookie + "0", cookie[:-1] + last):
        assert sessions.find(forged) is None


def test_a_cookie_of_another_service_and_a_form_s_proof_are_no_cookies(store, sessions, token, now):
    cookie = Sessions(store, Signer.generate(), lambda: now[0]).login(token)
    assert sessions.find(cookie) is None
    body = sessions.login(token).rpartition(".")[0]
    forged = sessions._forms.get_signature(body).decode()
    assert sessions.find(f"{body}.{forged}") is None


def test_workers_with_the_same_key_know_each_other_s_cookies_and_forms(store, signer, sessions, token, now):
    other, cookie = Sessions(store, signer, lambda: now[0]), sessions.login(token)
    session = other.find(cookie)
    assert session == sessions.find(cookie)
    assert other.csrf(session) == sessions.csrf(session)


def test_each_session_has_its_own_proof_for_forms(sessions, token):
    one, two = (sessions.find(sessions.login(token)) for _ in range(2))
    assert sessions.csrf(one) == sessions.csrf(one) != sessions.csrf(two)


def test_revoking_a_token_and_logging_out_everywhere_end_sessions(store, sessions, token):
    cookie = sessions.login(token)
    sessions.end_all("bob")
    assert sessions.find(cookie) is not None
    sessions.end_all("ann")
    assert sessions.find(cookie) is None
    again = sessions.login(token)
    assert sessions.find(again) is not None
    Tokens(store).revoke("ann")
    assert sessions.find(again) is None


def test_a_login_link_works_once_and_ends(sessions, token, now):
    code, late = sessions.link("ann", seconds=60), sessions.link("ann", seconds=60)
    assert sessions.known(code) == "ann"
    assert sessions.find(sessions.redeem(code)).identity.name == "ann"
    assert sessions.known(code) is None
    assert sessions.redeem(code) is None
    now[0] += 61
    assert sessions.known(late) is None
    assert sessions.redeem(late) is None


def test_a_link_is_made_only_for_somebody_with_a_valid_token(sessions, token):
    with pytest.raises(InvalidParameter, match="`who` must be the name of somebody with a valid token, got 'bob'"):
        sessions.link("bob")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://loans.example"}, 303),
        ({"Sec-Fetch-Site": "none"}, 303),
        ({}, 303),
    ],
)
def test_a_form_of_another_site_logs_nobody_in(tmp_path, headers, status):
    with running(database=str(tmp_path / "log.db")) as service:
        answer = httpx.post(
            f"{service.url}/login", data={"token": service.tokens["admin"]}, headers=headers, timeout=300
        )
        assert answer.status_code == status, answer.text
        assert ("set-cookie" in answer.headers) == (status == 303)
        form = {"data": {"token": service.tokens["admin"]}, "headers": {"Origin": service.url}}
        assert httpx.post(f"{service.url}/login", timeout=300, **form).status_code == 303


@pytest.mark.parametrize(
    ("settings", "host", "address"),
    [
        ({}, None, True),
        ({}, "evil.example", ""),
        ({"address": "https://loans.example/"}, "evil.example", "https://loans.example"),
        ({"hosts": "loans.example"}, "loans.example:80", "http://loans.example:80"),
    ],
)
def test_a_link_that_logs_in_names_no_host_that_only_the_request_names(tmp_path, settings, host, address):
    with running(database=str(tmp_path / "log.db"), **settings) as service:
        token = service.tokens["admin"]
        own = {"Host": host or service.url.removeprefix("http://")}
        sessions = service.service.sessions
        cookie = sessions.login(token)
        form = {"csrf": sessions.csrf(sessions.find(cookie)), "token": service.service.tokens.list()[0]["token"]}
        answer = httpx.post(
            f"{service.url}/users/link", data=form, headers=own, cookies={COOKIE: cookie}, timeout=300
        ).text
        found = re.search(r"(\S*)/login/[\w-]{20,}", re.sub(r'[<>"]', " ", answer))[1]
        assert found == (service.url if address is True else address)
