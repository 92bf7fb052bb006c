"""The way in and out: a link that works once, a token, and logging out here or everywhere."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, HTTPException, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from likewise.service.accounts.access import address
from likewise.service.accounts.rates import Rates
from likewise.service.accounts.sessions import SESSION, Sessions
from likewise.service.accounts.tokens import AUDITOR
from likewise.service.pages.rendering import render, router, static
from likewise.service.pages.visits import COOKIE, Visitor

pages = router()
LOGINS = 60.0
"""Attempts a minute from one address."""
KEPT = "public, max-age=31536000, immutable"


@pages.get("/static/{name}")
def file(name: str) -> Response:
    """A style sheet or script; its address changes with it."""
    content = static(name)
    if content is None:
        raise HTTPException(404, "There is no such file.")
    return Response(content[0], media_type=content[1], headers={"Cache-Control": KEPT})


@pages.get("/favicon.ico")
def favicon() -> Response:
    """The sign of the pages."""
    return file("likewise.svg")


@pages.get("/")
def home(visit: Visitor) -> Response:
    """Where to go: the only stream there is, or a list of them."""
    names = [name for name in visit.service.engine.streams.names() if visit.identity.reaches(name)]
    if len(names) == 1:
        page = f"/streams/{names[0]}"
        return RedirectResponse(page + "/review" if visit.identity.role == AUDITOR else page, 303)
    return render("home.html", visit, tab="home", streams=names)


@pages.get("/login")
def login_page(request: Request) -> Response:
    """A form for a token."""
    return render("login.html", code="", name="", wrong="")


@pages.get("/login/{code}")
def link_page(code: str, request: Request) -> Response:
    """What a one-time link shows: a button. Only pressing it uses the link up; a preview of the link doesn't."""
    _counted(request)
    name = _sessions(request).known(code)
    wrong = (
        "" if name is not None else "This link has been used already, or is too old. Ask for a new one, or use a token."
    )
    shown = request.app.state.service.tokens.staff.told(name or "", str)
    return render("login.html", code=code if name is not None else "", name=shown, wrong=wrong)


@pages.post("/login")
def login(
    request: Request, token: Annotated[str, Form()] = "", code: Annotated[str, Form()] = ""
) -> Response:  # fmt: skip
    """Begin a session with a token or a link's code."""
    _counted(request)
    _require_own_form(request)
    sessions = _sessions(request)
    cookie = sessions.redeem(code) if code else sessions.login(token.strip())
    if cookie is None:
        wrong = (
            "This link has been used already."
            if code
            else "This token is not valid: it is unknown, revoked or expired."
        )
        return render("login.html", status=403, code="", name="", wrong=wrong)
    response = RedirectResponse("/", 303)
    # A proxy that does TLS need not say so in a header.
    secure = request.url.scheme == "https" or request.app.state.service.configuration.behind_proxy
    response.set_cookie(COOKIE, cookie, max_age=int(SESSION), httponly=True, samesite="lax", secure=secure)
    return response


@pages.post("/logout")
def logout(visit: Visitor, request: Request) -> Response:
    """End this browser's session."""
    _sessions(request).end(request.cookies.get(COOKIE, ""))
    return _out()


@pages.post("/logout/everywhere")
def logout_everywhere(visit: Visitor, request: Request) -> Response:
    """End every session of the visitor's name."""
    _sessions(request).end_all(visit.identity.name)
    return _out()


def _out() -> Response:
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE)
    return response


def _require_own_form(request: Request) -> None:
    """Refuse a form of another site: it could log somebody in as another person, who would read what they do next.

    Browsers say where a form comes from, by one header or the other; whoever is no browser has no session to lose.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    foreign = origin is not None and origin.partition("://")[2] != request.headers.get("host")
    if site not in (None, "same-origin", "none") or (site is None and foreign):
        raise HTTPException(403, "This form was sent from another site. Open the page to log in, and use its form.")


def _sessions(request: Request) -> Sessions:
    sessions: Sessions = request.app.state.service.sessions
    return sessions


def _counted(request: Request) -> None:
    """Refuse whoever tries too often."""
    rates: Rates = request.app.state.login_rates
    wait = rates.wait(address(request), LOGINS)
    if wait > 0:
        raise HTTPException(429, f"Too many attempts; try again in {int(wait) + 1} seconds.")
