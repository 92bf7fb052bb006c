"""Requests are read strictly: JSON as RFC 8259 has it, of bounded length; and answered once under a key."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Header, HTTPException, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.service.http.access import admitted
from likewise.service.http.problems import problem
from likewise.service.http.service import Service
from likewise.service.store import Idempotency
from likewise.service.tokens import Identity

BEARER = HTTPBearer(auto_error=False, description="A token from `likewise user add`.")
MOST_DIGITS = 400
"""Of an integer: more would be slow to read, and no float holds it anyway."""


def strict_json(text: bytes) -> Any:
    """JSON without NaN, infinities, repeated names, endless integers and halves of characters.

    Examples
    --------
    >>> strict_json(b'{"a": 1}')
    {'a': 1}
    >>> strict_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
      ...
    ValueError: the name 'a' is there twice
    """
    found = json.loads(
        text.decode(), parse_constant=_constant, parse_float=_float, parse_int=_integer, object_pairs_hook=_object
    )
    if b"\\u" in text:  # only an escape can hold half a character
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("a text has half a surrogate pair") from None
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:40]} is too large a number")
    return number


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the name {twice[:60]!r} is there twice")
    return found


class StrictRequest(Request):
    """A request whose body is JSON in the strict sense."""

    async def json(self) -> Any:
        """The body, read once; a sentence where it isn't JSON."""
        if not hasattr(self, "_json"):
            self._json = await self._strict()
        return self._json

    async def _strict(self) -> Any:
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, "The body must be JSON, with Content-Type: application/json.")
        try:
            return strict_json(await self.body())
        except UnicodeDecodeError:
            raise HTTPException(400, "The body must be UTF-8.") from None
        except RecursionError:
            raise HTTPException(400, "The body must not be nested that deeply.") from None
        except ValueError as error:
            raise HTTPException(400, f"The body must be JSON: {error}.") from None


class StrictRoute(APIRoute):
    """A route that first asks who is there, and then reads their request strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler, behind the table of roles and strict reading."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            request.scope["likewise.identity"] = await admitted(request, self.path)
            strict = StrictRequest(request.scope, request.receive)
            if self.body_field is not None:
                await strict.json()
            return await handler(strict)

        return handle


class Call(NamedTuple):
    """What a route needs to know of a request besides its parameters."""

    service: Service
    identity: Identity
    key: Idempotency | None = None

    @property
    def by(self) -> str:
        """The name that the log will show."""
        return self.identity.name


async def read(request: Request, _: Annotated[Any, Depends(BEARER)]) -> Call:
    """A call that changes nothing."""
    return Call(request.app.state.service, request.scope["likewise.identity"])


async def changed(
    request: Request,
    _: Annotated[Any, Depends(BEARER)],
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            min_length=1,
            max_length=200,
            pattern=r"^[\x21-\x7e]+$",
            description="Any text of your choice. The same key with the same request is answered once, and then again.",
        ),
    ] = None,
) -> Call:
    """A call that changes something, once under its key, which is bound to who asks and to what is asked."""
    call = await read(request, None)
    if key is None:
        return call
    # Keyed: what is asked names people, and from a plain hash a guessed id could be confirmed.
    asked = f"{request.method} {request.url.path}\n".encode() + await request.body()
    return call._replace(key=Idempotency(call.by, key, call.service.engine.signer.keyed_hash(asked)))


Reading = Annotated[Call, Depends(read)]
Changing = Annotated[Call, Depends(changed)]


class Limits:
    """Refuses bodies that are too long, also those that don't say so."""

    def __init__(self, app: ASGIApp, *, max_body: int) -> None:
        self._app = app
        self._max_body = max_body
        self._sentence = f"The body must have at most {max_body:,} bytes."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on while it is short enough."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said = Headers(scope=scope).get("content-length", "0")
        if said.isdecimal() and (len(said) > 18 or int(said) > self._max_body):
            await problem(scope, 413, self._sentence)(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._max_body:
                raise HTTPException(413, self._sentence)
            return message

        await self._app(scope, counted, send)
