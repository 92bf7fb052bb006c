"""Every error has one shape: RFC 9457 problem details, ``application/problem+json``."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.errors import LikewiseError
from likewise.service.redaction import error_kind, redacted
from likewise.service.refusals import Unavailable, status_of
from likewise.service.stream.declared import sentence

log = logging.getLogger(__name__)
MEDIA = "application/problem+json"
MOST_ERRORS = 20
"""Named in one answer; more would not help anybody."""


class Wrong(BaseModel):
    """One thing that is wrong with a request, and where."""

    where: str = Field(description="As a JSON pointer into the body, or the name of a parameter.")
    detail: str = Field(description="What it must be.")


class Problem(BaseModel):
    """Why a request was refused; nothing of it was done."""

    type: str = Field(
        default="about:blank", description="Always about:blank; the status says what kind of problem it is."
    )
    title: str
    status: int
    detail: str = Field(description="What to fix, in a sentence.")
    instance: str = Field(description="The address that was requested.")
    errors: list[Wrong] = Field(default=[], description="What is wrong with the request, and where.")


def problem(
    scope: Scope,
    status: int,
    detail: str,
    *,
    title: str = "",
    errors: Sequence[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A response in the one shape, to the request of ``scope``."""
    content: dict[str, Any] = {
        "type": "about:blank",
        "title": title or HTTPStatus(status).phrase.capitalize(),
        "status": status,
        "detail": detail,
        "instance": quote(scope["path"]),
    }
    if errors:
        content["errors"] = list(errors)
    return JSONResponse(content, status, headers=headers, media_type=MEDIA)


def install(app: FastAPI) -> None:
    """Give every error of an application the one shape."""
    app.add_exception_handler(LikewiseError, _refused)
    app.add_exception_handler(HTTPException, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    for away in (OperationalError, InterfaceError, PoolTimeout):
        app.add_exception_handler(away, _away)
    app.add_middleware(Caught)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, LikewiseError)
    status, title = status_of(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return failed(request.scope, error)
    headers = {"Retry-After": "1"} if isinstance(error, Unavailable) else None  # who knows when a stop will end
    return problem(request.scope, status, str(error), title=title, headers=headers)


async def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_allowed(request))
    return problem(request.scope, error.status_code, _sentence(error), headers=headers)


def _allowed(request: Request) -> list[str]:
    """Every method that an address takes; Starlette names those of the first of its routes alone."""
    leaves = _leaves(request.app.router.routes)
    routes = [route for route in leaves if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in routes for method in getattr(route, "methods", None) or ()})


def _leaves(routes: Iterable[Any]) -> Iterator[Any]:
    """All routes, those of routers that were included too: a router itself has no methods."""
    for route in routes:
        inside = getattr(route, "original_router", None)
        yield from [route] if inside is None else _leaves(inside.routes)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [_located(wrong, error.body) for wrong in error.errors()[:MOST_ERRORS]]
    detail = f"{errors[0]['where']}: {errors[0]['detail']}"
    return problem(request.scope, 422, detail, title="Invalid request", errors=errors)


async def _away(request: Request, error: Exception) -> Response:
    """The database can't be read at the moment."""
    log.error("%s failed: %s", asked(request.scope), error_kind(error))
    return await _refused(request, Unavailable("The database does not answer; try again."))


def asked(scope: Scope) -> str:
    """What was asked, by the route's own pattern: the address itself may hold somebody's id, or a login code."""
    return f"{scope['method']} {getattr(scope.get('route'), 'path', 'of no route')}"


def failed(scope: Scope, error: Exception) -> Response:
    """Our own fault; the service's log says where."""
    log.error("%s failed: %s", asked(scope), redacted(error))
    detail = "The service failed; its log says how. You can safely send this again with the same Idempotency-Key."
    return problem(scope, 500, detail)


class Caught:
    """Answers whatever nobody else caught. The server would log its words, which may name people."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; a failure is a 500, or the end of the connection if the answer had begun."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = False

        async def noted(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except ClientDisconnect:
            return  # nobody is there to be answered, and nothing of ours failed
        except Exception as error:
            answer = failed(scope, error)
            if not began:
                await answer(scope, receive, send)


def _sentence(error: HTTPException) -> str:
    if error.status_code == HTTPStatus.NOT_FOUND and error.detail == HTTPStatus.NOT_FOUND.phrase:
        return "There is nothing at this address; /openapi.json lists all addresses."
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return "This address does not accept that method; the Allow header lists those that it accepts."
    return str(error.detail)


def _located(wrong: Mapping[str, Any], body: Any) -> dict[str, str]:
    """What is wrong in a sentence, and where: a JSON pointer for the body, a plain name for a parameter."""
    source, *rest = wrong["loc"]
    if source != "body":
        return {"where": ".".join(str(part) for part in rest) or str(source), "detail": sentence(wrong)}
    place = _within(body, rest)
    if wrong["type"] == "missing" and rest:
        place.append(rest[-1])
    pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)
    return {"where": pointer or "the body", "detail": sentence({**wrong, "loc": place or ["body"]})}


def _within(value: Any, parts: Sequence[Any]) -> list[Any]:
    """The parts of a place that are in the body; between them stand names of types that were tried there."""
    path = []
    for part in parts:
        inside = isinstance(value, dict) or (isinstance(value, list) and isinstance(part, int))
        if inside and (part in value if isinstance(value, dict) else part < len(value)):
            path.append(part)
            value = value[part]
    return path


DOCUMENTED: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, text in {
        400: "The request can't be read.",
        401: "There is no token, or it is unknown, revoked or expired.",
        403: "The token's role or streams don't allow this.",
        404: "There is no such stream, round or person.",
        408: "The body took too long to arrive.",
        409: "The request contradicts something that is already recorded.",
        413: "The request is too long.",
        415: "The body must be JSON.",
        422: "The request was understood but is not valid; the detail says what to fix.",
        429: "Too many requests; Retry-After says when to try again.",
        500: "The service failed; its log says how.",
        503: "The stream is stopped, or the service isn't ready.",
    }.items()
}
"""What every route may answer, for the OpenAPI document."""
