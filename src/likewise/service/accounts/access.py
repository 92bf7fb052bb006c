"""Who may do what: one table of routes and roles, which is the code, the documentation and the test.

A route that isn't in the table can't be reached, and a test fails until it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import HTTPException, Request
from starlette.concurrency import run_in_threadpool

from likewise.service.accounts.tokens import Identity
from likewise.service.refusals import Unknown
from likewise.service.stream.settings import NAME

if TYPE_CHECKING:
    from likewise.service.running import Service

ADMIN, DECIDER, AUDITOR, VIEWER = "admin", "decider", "auditor", "viewer"
STREAM = "/v1/streams/{stream}"
ROUND = STREAM + "/rounds/{t}"
PERSON = STREAM + "/people/{person:path}"

ACCESS: dict[tuple[str, str], tuple[str, ...]] = {
    ("POST", "/v1/streams"): (ADMIN,),
    ("GET", "/v1/streams"): (ADMIN, DECIDER, AUDITOR, VIEWER),
    ("GET", STREAM): (ADMIN, DECIDER, AUDITOR, VIEWER),
    ("PATCH", STREAM): (ADMIN,),
    ("POST", STREAM + "/stop"): (ADMIN, DECIDER),
    ("POST", STREAM + "/resume"): (ADMIN,),
    ("POST", STREAM + "/rounds"): (ADMIN, DECIDER),
    ("PUT", ROUND + "/labels"): (ADMIN, DECIDER),
    ("POST", STREAM + "/audits/claim"): (ADMIN, AUDITOR),
    ("POST", ROUND + "/audit/renew"): (ADMIN, AUDITOR),
    ("POST", ROUND + "/audit/release"): (ADMIN, AUDITOR),
    ("PUT", ROUND + "/audit"): (ADMIN, AUDITOR),
    ("POST", ROUND + "/audit/retract"): (ADMIN, AUDITOR),
    ("POST", ROUND + "/audit/correct"): (ADMIN, AUDITOR),
    ("GET", ROUND): (ADMIN, DECIDER, VIEWER),
    ("GET", STREAM + "/events"): (ADMIN, VIEWER),
    ("GET", STREAM + "/certificate"): (ADMIN, DECIDER, VIEWER),
    ("GET", STREAM + "/export"): (ADMIN,),
    ("GET", PERSON): (ADMIN, DECIDER),
    ("DELETE", PERSON): (ADMIN,),
}
"""Which roles reach which route.

Auditors see a round only as they claim it: shown features and probabilities, without labels, decisions and the votes of
others; of a stream they see no counts that would tell. Events hold the learner's weights wherever somebody was erased,
so deciders don't read them. An export holds everybody's features: it is the administrator's.
"""

PUBLIC = frozenset({"/livez", "/readyz", "/metrics", "/openapi.json"})
"""Open to everybody: they hold counts, and nothing about a stream or a person."""


async def admitted(request: Request, path: str) -> Identity:
    """Who is asking for a route, if they may; a refusal otherwise. Asked before anything of the body is read.

    A stream outside a token's scope is refused in the same words whether it exists or not.
    """
    service: Service = request.app.state.service
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    identity = None
    if scheme.lower() == "bearer":
        identity = service.known(token) or await run_in_threadpool(service.identity, token)
    address = request.client.host if request.client is not None else "somewhere"
    wait = service.wait(identity, address)
    if wait > 0:
        raise HTTPException(429, "Too many requests; come back later.", headers={"Retry-After": str(int(wait) + 1)})
    if identity is None:
        detail = "This needs a token that is valid: Authorization: Bearer lw_…"
        raise HTTPException(401, detail, headers={"WWW-Authenticate": "Bearer"})
    roles = ACCESS.get((request.method, path), ())
    if identity.role not in roles:
        detail = f"The role {identity.role} may not do this; it takes a token of {' or '.join(roles)}."
        raise HTTPException(403, detail)
    stream = request.path_params.get("stream")
    if stream is not None:
        _reached(identity, stream)
    return identity


def _reached(identity: Identity, stream: str) -> None:
    if not identity.reaches(stream):
        raise HTTPException(403, "This token is not for that stream.")
    if NAME.fullmatch(stream) is None:  # no database is asked for what can't be a name
        raise Unknown(f"There is no stream named {stream!r}.")
