"""Who may do what: one table of roles, and one way in, for the API's routes and for pages.

A route or page that isn't in the table can't be reached, and a test fails until it is.
"""

from __future__ import annotations

import time

from fastapi import HTTPException, Request
from starlette.concurrency import run_in_threadpool

from likewise.service.accounts.rates import Rates
from likewise.service.accounts.sessions import Session, Sessions
from likewise.service.accounts.tokens import ADMIN, AUDITOR, DECIDER, ROLES, VIEWER, Identity, Tokens
from likewise.service.refusals import Unknown
from likewise.service.stream.settings import NAME

STREAM = "/v1/streams/{stream}"
ROUND = STREAM + "/rounds/{t}"
PERSON = STREAM + "/people/{person:path}"
NOTICE = STREAM + "/notices/{person:path}"
RECEIPT = STREAM + "/receipts/{person:path}"
STREAM_PAGE = "/streams/{stream}"
REVIEW_PAGE = STREAM_PAGE + "/review"
TEAM = (ADMIN, DECIDER, VIEWER)
TRUSTED_FOR = 1.0
"""Seconds for which a token need not be looked up again."""

ACCESS: dict[tuple[str, str], tuple[str, ...]] = {
    # The API.
    ("POST", "/v1/streams"): (ADMIN,),
    ("GET", "/v1/streams"): ROLES,
    ("GET", STREAM): ROLES,
    ("PATCH", STREAM): (ADMIN,),
    ("PATCH", STREAM + "/plan"): (ADMIN,),
    ("GET", STREAM + "/plan"): TEAM,
    ("GET", STREAM + "/reviewers"): (ADMIN, VIEWER),
    ("PUT", ROUND + "/known"): (ADMIN,),
    ("GET", STREAM + "/practice"): (ADMIN, AUDITOR),
    ("PUT", ROUND + "/practice"): (ADMIN, AUDITOR),
    ("GET", STREAM + "/brief"): ROLES,
    ("PUT", STREAM + "/brief"): (ADMIN,),
    ("POST", STREAM + "/stop"): (ADMIN, DECIDER),
    ("DELETE", STREAM + "/reasons"): (ADMIN,),
    ("POST", STREAM + "/resume"): (ADMIN,),
    ("POST", STREAM + "/rounds"): (ADMIN, DECIDER),
    ("PUT", ROUND + "/labels"): (ADMIN, DECIDER),
    ("POST", STREAM + "/audits/claim"): (ADMIN, AUDITOR),
    ("POST", ROUND + "/audit/renew"): (ADMIN, AUDITOR),
    ("POST", ROUND + "/audit/release"): (ADMIN, AUDITOR),
    ("PUT", ROUND + "/audit"): (ADMIN, AUDITOR),
    ("PUT", ROUND + "/opinion"): (ADMIN, AUDITOR),
    ("POST", ROUND + "/audit/retract"): (ADMIN, AUDITOR),
    ("POST", ROUND + "/audit/correct"): (ADMIN, AUDITOR),
    ("GET", ROUND): TEAM,
    ("GET", STREAM + "/events"): (ADMIN, VIEWER),
    ("GET", STREAM + "/checkpoint"): ROLES,
    ("GET", STREAM + "/consistency"): ROLES,
    ("GET", STREAM + "/events/{seq}/proof"): ROLES,
    ("GET", STREAM + "/certificate"): TEAM,
    ("GET", STREAM + "/export"): (ADMIN,),
    ("GET", PERSON): (ADMIN, DECIDER),
    ("DELETE", PERSON): (ADMIN,),
    ("GET", NOTICE): (ADMIN, DECIDER),
    ("GET", RECEIPT): (ADMIN, DECIDER),
    # Pages.
    ("GET", "/"): ROLES,
    ("POST", "/logout"): ROLES,
    ("POST", "/logout/everywhere"): ROLES,
    ("GET", REVIEW_PAGE): (ADMIN, AUDITOR),
    ("POST", REVIEW_PAGE + "/claim"): (ADMIN, AUDITOR),
    ("POST", REVIEW_PAGE + "/renew"): (ADMIN, AUDITOR),
    ("POST", REVIEW_PAGE + "/why"): (ADMIN, AUDITOR),
    ("POST", REVIEW_PAGE + "/opinion"): (ADMIN, AUDITOR),
    ("POST", REVIEW_PAGE + "/release"): (ADMIN, AUDITOR),
    ("POST", REVIEW_PAGE + "/verdict"): (ADMIN, AUDITOR),
    ("POST", REVIEW_PAGE + "/retract"): (ADMIN, AUDITOR),
    ("GET", STREAM_PAGE): TEAM,
    ("GET", STREAM_PAGE + "/certificate"): TEAM,
    ("GET", STREAM_PAGE + "/reviewers"): (ADMIN, VIEWER),
    ("POST", STREAM_PAGE + "/reviewers"): (ADMIN,),
    ("GET", REVIEW_PAGE + "/practice"): (ADMIN, AUDITOR),
    ("POST", REVIEW_PAGE + "/practice"): (ADMIN, AUDITOR),
    ("GET", REVIEW_PAGE + "/mine"): (ADMIN, AUDITOR),
    ("POST", REVIEW_PAGE + "/mine"): (ADMIN, AUDITOR),
    ("GET", REVIEW_PAGE + "/mine/{t}"): (ADMIN, AUDITOR),
    ("POST", REVIEW_PAGE + "/mine/{t}"): (ADMIN, AUDITOR),
    ("POST", STREAM_PAGE + "/rounds"): TEAM,
    ("GET", STREAM_PAGE + "/rounds/{t}/correct"): (ADMIN,),
    ("POST", STREAM_PAGE + "/rounds/{t}/correct"): (ADMIN,),
    ("POST", STREAM_PAGE + "/log"): (ADMIN, VIEWER),
    ("GET", STREAM_PAGE + "/plan"): TEAM,
    ("POST", STREAM_PAGE + "/plan"): (ADMIN,),
    ("GET", STREAM_PAGE + "/rounds"): TEAM,
    ("GET", STREAM_PAGE + "/rounds/{t}"): TEAM,
    ("GET", STREAM_PAGE + "/rounds/{t}/people/{position}"): (ADMIN, DECIDER),
    ("GET", STREAM_PAGE + "/rounds/{t}/people/{position}/notice"): (ADMIN, DECIDER),
    ("GET", STREAM_PAGE + "/people"): (ADMIN, DECIDER),
    ("POST", STREAM_PAGE + "/people"): (ADMIN, DECIDER),
    ("POST", STREAM_PAGE + "/people/erase"): (ADMIN,),
    ("GET", STREAM_PAGE + "/log"): (ADMIN, VIEWER),
    ("GET", STREAM_PAGE + "/settings"): TEAM,
    ("POST", STREAM_PAGE + "/settings"): (ADMIN,),
    ("POST", STREAM_PAGE + "/brief"): (ADMIN,),
    ("POST", STREAM_PAGE + "/stop"): (ADMIN, DECIDER),
    ("POST", STREAM_PAGE + "/resume"): (ADMIN,),
    ("GET", STREAM_PAGE + "/export"): (ADMIN,),
    ("GET", STREAM_PAGE + "/export/{name}"): (ADMIN,),
    ("POST", STREAM_PAGE + "/verify"): (ADMIN,),
    ("GET", "/streams/new"): (ADMIN,),
    ("POST", "/streams/new"): (ADMIN,),
    ("GET", "/users"): (ADMIN,),
    ("POST", "/users"): (ADMIN,),
    ("POST", "/users/link"): (ADMIN,),
    ("POST", "/users/revoke"): (ADMIN,),
    ("POST", "/users/logout"): (ADMIN,),
}
"""Which roles reach which route and page.

Auditors see a round only as they claim it: shown features and probabilities, without labels, decisions and the verdicts
of others; of a stream they see no counts that would reveal them. Events hold the learner's weights wherever somebody
was erased, so deciders don't read them. An export holds everybody's features: it is the administrator's.
"""

PUBLIC = frozenset({"/livez", "/readyz", "/metrics", "/openapi.json"})
PUBLIC_PAGES = frozenset({"/login", "/login/{code}", "/static/{name}", "/favicon.ico"})
"""Both open to everybody: they hold counts, nothing about a person, and about a stream only if that is set."""


class Gate:
    """The way in: who is asking (by a token or a session), how often they ask, and what their role may reach.

    Parameters
    ----------
    tokens, sessions
        Where identities are looked up.
    max_rate, max_anonymous_rate
        Requests a minute: of each user, and from each address without a token.
    """

    def __init__(self, tokens: Tokens, sessions: Sessions, max_rate: float, max_anonymous_rate: float) -> None:
        self._tokens, self._sessions = tokens, sessions
        self._max_rate, self._max_anonymous_rate = max_rate, max_anonymous_rate
        self._known: dict[str, tuple[Identity, float]] = {}
        self.rates = Rates()

    async def by_token(self, request: Request, path: str) -> Identity:
        """Who asks for a route with a token, if they may. Asked before anything of the body is read."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        identity = None
        if scheme.lower() == "bearer":
            identity = self._recent(token) or await run_in_threadpool(self._find, token)
        if identity is None:
            self._count(f"address {address(request)}", self._max_anonymous_rate)
            detail = "This needs a valid token: Authorization: Bearer lw_…"
            raise HTTPException(401, detail, headers={"WWW-Authenticate": "Bearer"})
        self.admit(identity, request, path)
        return identity

    def by_cookie(self, request: Request, cookie: str) -> Session | None:
        """Who asks for a page with the cookie of a session, if they may; None if nobody is logged in."""
        session = self._sessions.find(cookie)
        if session is not None:
            self.admit(session.identity, request, request.scope["route"].path)
        return session

    def admit(self, identity: Identity, request: Request, path: str) -> None:
        """Refuse whoever asks too often, has another role, or has no access to the stream.

        A stream out of reach is refused in the same words whether it exists or not.
        """
        self._count(f"{identity.role} {identity.name}", self._max_rate)
        roles = ACCESS.get((request.method, path), ())
        if identity.role not in roles:
            raise HTTPException(403, f"This needs the role {' or '.join(roles)}; yours is {identity.role}.")
        stream = request.path_params.get("stream")
        if stream is None:
            return
        if not identity.reaches(stream):
            raise HTTPException(403, "You have no access to that stream.")
        if NAME.fullmatch(stream) is None:  # no database is asked for what can't be a name
            raise Unknown(f"There is no stream named {stream!r}.")

    def _recent(self, token: str) -> Identity | None:
        """Whose token it is, if that was looked up a moment ago."""
        identity, asked = self._known.get(token, (None, 0.0))
        return identity if 0 <= time.monotonic() - asked < TRUSTED_FOR else None

    def _find(self, token: str) -> Identity | None:
        """Whose token it is, looked up; a revoked one can be used for a second more at most."""
        identity = self._tokens.find(token, time.time())
        if identity is None:
            self._known.pop(token, None)
        else:
            self._known[token] = identity, time.monotonic()
        return identity

    def _count(self, who: str, a_minute: float) -> None:
        wait = self.rates.wait(who, a_minute)
        if wait > 0:
            seconds = int(wait) + 1
            detail = f"Too many requests; try again in {seconds} seconds."
            raise HTTPException(429, detail, headers={"Retry-After": str(seconds)})


def address(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client is not None else "somewhere"
