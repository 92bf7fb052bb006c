"""Pages from templates: everything is escaped, nothing comes from elsewhere, and no script stands in a page."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException as StarletteException
from starlette.responses import Response

from likewise.certificates.letter import paragraphs
from likewise.errors import LikewiseError
from likewise.service.pages.forms import plainly
from likewise.service.pages.visits import NotLoggedIn, Visit
from likewise.service.refusals import status_of
from likewise.wording import number, plural

log = logging.getLogger(__name__)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
TITLES = {
    400: "Not understood",
    403: "No access",
    404: "Not found",
    409: "Not now",
    422: "Not possible",
    429: "Too often",
}
"""What a page says of a refusal, above the sentence; browsers' own words are for programmers."""
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@cache
def static(name: str) -> tuple[bytes, str] | None:
    """A file of the pages and its type; None if there is no such file."""
    known = {path.name: path for path in files("likewise.service.pages").joinpath("static").iterdir()}
    kind = TYPES.get(name.rpartition(".")[2])
    return None if name not in known or kind is None else (known[name].read_bytes(), kind)


def _address(name: str) -> str:
    """Where a file is, with its hash, so that browsers may keep it until it changes."""
    content = static(name)
    assert content is not None, f"there is no file {name}"
    return f"/static/{name}?{hashlib.sha256(content[0]).hexdigest()[:12]}"


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("likewise.service.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"static": _address}
    made.filters |= {"number": number, "when": when, "share": share, "plural": plural, "words": words}
    made.filters |= {"moment": moment, "plain": "{:g}".format, "letter": paragraphs}
    return made


def share(part: float, whole: float) -> str:
    """A share in per cent.

    Examples
    --------
    >>> share(1, 3), share(0, 0)
    ('33 %', '–')
    """
    return f"{100 * part / whole:.0f} %" if whole else "–"


def when(at: str | float | None) -> str:
    """A time, to the minute.

    Examples
    --------
    >>> when(0.0), when("2026-01-31T09:05:59+00:00"), when(None)
    ('1 January 1970, 00:00 UTC', '31 January 2026, 09:05 UTC', '–')
    """
    if at is None:
        return "–"
    time = _time(at)
    return f"{time.day} {time:%B %Y, %H:%M} UTC"


def moment(at: str | float | None) -> str:
    """The same, short, for tables whose head says UTC.

    Examples
    --------
    >>> moment(0.0), moment(None)
    ('1 Jan 1970, 00:00', '–')
    """
    if at is None:
        return "–"
    time = _time(at)
    return f"{time.day} {time:%b %Y, %H:%M}"


def _time(at: str | float) -> datetime:
    return datetime.fromisoformat(at) if isinstance(at, str) else datetime.fromtimestamp(at, UTC)


def words(name: str) -> str:
    """The name of a column, as people write it.

    Examples
    --------
    >>> words("education_years")
    'education years'
    """
    return name.replace("_", " ")


def render(template: str, visit: Visit | None = None, status: int = 200, **values: Any) -> HTMLResponse:
    """A page, or a part of one."""
    text = _templates().get_template(template).render(visit=visit, **{"stream": None, "tab": ""} | values)
    if visit is not None:  # the log, and so the template, may know staff by their aliases
        text = visit.service.tokens.staff.told(text)
    return HTMLResponse(text, status)


class PageRoute(APIRoute):
    """A route whose errors are pages, or sentences where a script asks; and that says what browsers may do with it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler, with errors as pages."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                response = await handler(request)
            except NotLoggedIn:
                response = _to_login(request)
            except (LikewiseError, HTTPException, RequestValidationError) as error:
                response = _problem(request, error)
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            response.headers.setdefault("Cache-Control", "no-store")
            return response

        return handle


def install_not_found(app: FastAPI) -> None:
    """Answer browsers that ask for an address where nothing is with a page; everybody else as before."""
    before: Any = app.exception_handlers[StarletteException]

    async def answer(request: Request, error: Exception) -> Response:
        lost = isinstance(error, StarletteException) and error.status_code == 404 and "route" not in request.scope
        if not lost or "text/html" not in request.headers.get("accept", ""):
            answered: Response = await before(request, error)
            return answered
        response = _refusal(404, "There is nothing at this address.")
        response.headers.update(HEADERS | {"Cache-Control": "no-store"})
        return response

    app.add_exception_handler(StarletteException, answer)


def router() -> APIRouter:
    """A router of pages; they are not part of the API's document."""
    return APIRouter(route_class=PageRoute, include_in_schema=False, default_response_class=HTMLResponse)


def _scripted(request: Request) -> bool:
    return "x-csrf-token" in request.headers


def _to_login(request: Request) -> Response:
    if _scripted(request):
        return JSONResponse({"detail": "Your session has ended. Log in again in another tab."}, 401)
    return RedirectResponse("/login", 303)


def _problem(request: Request, error: Exception) -> Response:
    if isinstance(error, LikewiseError):
        status, detail = status_of(error)[0], plainly(str(error))
        if status == HTTPStatus.INTERNAL_SERVER_ERROR:
            raise error
    elif isinstance(error, HTTPException):
        status, detail = error.status_code, str(error.detail)
    else:
        status, detail = 422, "This address is not valid."
    if _scripted(request):
        return JSONResponse({"detail": detail}, status)
    return _refusal(status, detail)


def _refusal(status: int, detail: str) -> HTMLResponse:
    return render("problem.html", status=status, title=TITLES.get(status, "Not possible now"), detail=detail)
