"""Which role sees which page: one table that is the code, the documentation and the test.

A page that isn't in the table can't be reached. Nobody learns whether a stream exists that isn't theirs.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from fastapi import Depends, HTTPException, Request
from starlette.datastructures import UploadFile

from likewise.service.accounts.tokens import Identity

if TYPE_CHECKING:
    from likewise.service.accounts.sessions import Sessions
    from likewise.service.running import Service

COOKIE = "likewise"
STREAM = "/streams/{stream}"
REVIEW = STREAM + "/review"
ADMIN, DECIDER, AUDITOR, VIEWER = "admin", "decider", "auditor", "viewer"
ALL = (ADMIN, DECIDER, AUDITOR, VIEWER)
TEAM = (ADMIN, DECIDER, VIEWER)

PAGES: dict[tuple[str, str], tuple[str, ...]] = {
    ("GET", "/"): ALL,
    ("POST", "/logout"): ALL,
    ("POST", "/logout/everywhere"): ALL,
    ("GET", REVIEW): (ADMIN, AUDITOR),
    ("POST", REVIEW + "/claim"): (ADMIN, AUDITOR),
    ("POST", REVIEW + "/renew"): (ADMIN, AUDITOR),
    ("POST", REVIEW + "/release"): (ADMIN, AUDITOR),
    ("POST", REVIEW + "/verdict"): (ADMIN, AUDITOR),
    ("POST", REVIEW + "/retract"): (ADMIN, AUDITOR),
    ("GET", STREAM): TEAM,
    ("GET", STREAM + "/certificate"): TEAM,
    ("GET", STREAM + "/rounds"): TEAM,
    ("GET", STREAM + "/rounds/{t}"): TEAM,
    ("GET", STREAM + "/rounds/{t}/people/{position}"): (ADMIN, DECIDER),
    ("GET", STREAM + "/people"): (ADMIN, DECIDER),
    ("POST", STREAM + "/people"): (ADMIN, DECIDER),
    ("POST", STREAM + "/people/erase"): (ADMIN,),
    ("GET", STREAM + "/log"): (ADMIN, VIEWER),
    ("GET", STREAM + "/settings"): TEAM,
    ("POST", STREAM + "/settings"): (ADMIN,),
    ("POST", STREAM + "/stop"): (ADMIN, DECIDER),
    ("POST", STREAM + "/resume"): (ADMIN,),
    ("GET", STREAM + "/export"): (ADMIN,),
    ("GET", STREAM + "/export/{name}"): (ADMIN,),
    ("POST", STREAM + "/verify"): (ADMIN,),
    ("GET", "/users"): (ADMIN,),
    ("POST", "/users"): (ADMIN,),
    ("POST", "/users/link"): (ADMIN,),
    ("POST", "/users/revoke"): (ADMIN,),
    ("POST", "/users/logout"): (ADMIN,),
}
"""Which roles see which page. Auditors review, and see nothing else: no labels, decisions or votes of others."""

PUBLIC_PAGES = frozenset({"/login", "/login/{code}", "/static/{name}", "/favicon.ico"})
"""Open to everybody: they say nothing about a stream or a person."""


class Visit(NamedTuple):
    """Somebody at a page: who, what their forms must bring along, and what they sent."""

    service: Service
    identity: Identity
    csrf: str
    sent: dict[str, Any]

    def sees(self, method: str, path: str) -> bool:
        """Whether they may see another page."""
        return self.identity.role in PAGES[method, path]


class NotLoggedIn(Exception):
    """Nobody is logged in, or not any more."""


async def _sent(request: Request) -> dict[str, Any]:
    """The fields of a form, or of a JSON object."""
    if request.method == "GET":
        return {}
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            found = await request.json()
        except (ValueError, RecursionError):
            raise HTTPException(400, "The body must be JSON.") from None
        if not isinstance(found, dict):
            raise HTTPException(400, "The body must be a JSON object.")
        return found
    form = await request.form()
    return {name: value for name, value in form.items() if not isinstance(value, UploadFile)}


def visiting(request: Request, sent: Annotated[dict[str, Any], Depends(_sent)]) -> Visit:
    """Who is at the page, if they may be; a refusal otherwise."""
    service: Service = request.app.state.service
    sessions: Sessions = request.app.state.sessions
    session = sessions.find(request.cookies.get(COOKIE, ""))
    if session is None:
        raise NotLoggedIn
    if service.wait(session.identity, "") > 0:
        raise HTTPException(429, "Too many requests; come back in a minute.")
    csrf, route = sessions.csrf(session), request.scope["route"].path
    if request.method != "GET":
        brought = request.headers.get("x-csrf-token") or str(sent.get("csrf", ""))
        if not hmac.compare_digest(csrf.encode(), brought.encode(errors="replace")):
            raise HTTPException(403, "This form is of another session; go back, load the page again, and repeat it.")
    if session.identity.role not in PAGES.get((request.method, route), ()):
        raise HTTPException(403, f"This page is not for the role {session.identity.role}.")
    stream = request.path_params.get("stream")
    if stream is not None and not session.identity.reaches(stream):
        raise HTTPException(403, "You have no access to that stream.")
    return Visit(service, session.identity, csrf, sent)


Visitor = Annotated[Visit, Depends(visiting)]
