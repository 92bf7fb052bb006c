"""Who is at a page: their session, what their forms must bring along, and what they sent.

Which role reaches which page stands in ``likewise.service.accounts.access``.
"""

from __future__ import annotations

import hmac
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, HTTPException, Request
from starlette.datastructures import UploadFile

from likewise.service.accounts.access import ACCESS
from likewise.service.accounts.tokens import Identity
from likewise.service.running import Service

COOKIE = "likewise"


class Visit(NamedTuple):
    """Somebody at a page: who, what their forms must bring along, and what they sent."""

    service: Service
    identity: Identity
    csrf: str
    sent: dict[str, Any]

    def sees(self, method: str, path: str) -> bool:
        """Whether they may see another page."""
        return self.identity.role in ACCESS[method, path]


class NotLoggedIn(Exception):
    """Nobody is logged in, or the session has ended."""


async def _sent(request: Request) -> dict[str, Any]:
    """The fields of a form, or of a JSON object."""
    if request.method == "GET":
        return {}
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            content = await request.json()
        except (ValueError, RecursionError):
            raise HTTPException(400, "The body must be JSON.") from None
        if not isinstance(content, dict):
            raise HTTPException(400, "The body must be a JSON object.")
        return content
    async with request.form() as form:
        return {name: await _text(value) if isinstance(value, UploadFile) else value for name, value in form.items()}


async def _text(file: UploadFile) -> str:
    """What a file holds; a file that was not written in UTF-8 is read as Western European."""
    content = await file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def visiting(request: Request, sent: Annotated[dict[str, Any], Depends(_sent)]) -> Visit:
    """Who is at the page, if they may be; a refusal otherwise."""
    service: Service = request.app.state.service
    session = service.gate.by_cookie(request, request.cookies.get(COOKIE, ""))
    if session is None:
        raise NotLoggedIn
    csrf = service.sessions.csrf(session)
    if request.method != "GET":
        brought = request.headers.get("x-csrf-token") or str(sent.get("csrf", ""))
        if not hmac.compare_digest(csrf.encode(), brought.encode(errors="replace")):
            raise HTTPException(403, "This form belongs to another session. Reload the page, then enter it again.")
    return Visit(service, session.identity, csrf, sent)


Visitor = Annotated[Visit, Depends(visiting)]
