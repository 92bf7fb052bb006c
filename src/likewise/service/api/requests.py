"""Requests are read strictly: JSON as RFC 8259 has it, of bounded length; and answered once under a key."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import Any

from fastapi import HTTPException, Request
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.service.accounts.tokens import Identity
from likewise.service.api.problems import problem
from likewise.service.log import Idempotency
from likewise.service.running import Service

KEY = re.compile(r"[\x21-\x7e]{1,200}")
KEYED: dict[str, Any] = {
    "parameters": [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "description": "A text of your choice. A request sent again with the same key is carried out only once.",
            "schema": {"type": "string", "pattern": f"^{KEY.pattern}$"},
        }
    ]
}
"""What the document says of a route whose answer is kept under a key."""
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
    ValueError: the name 'a' appears twice
    """
    value = _DECODER.decode(text.decode())
    if b"\\u" in text:  # only an escape can hold half a character
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("a text holds half of a surrogate pair") from None
    return value


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
    members = dict(pairs)
    if len(members) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the name {twice[:60]!r} appears twice")
    return members


_DECODER = json.JSONDecoder(parse_constant=_constant, parse_float=_float, parse_int=_integer, object_pairs_hook=_object)
"""Made once: ``json.loads`` makes it again for every text."""


class Call(Request):
    """A request by somebody who is known, whose body is JSON in the strict sense.

    Routes take it as it is: dependencies that FastAPI would resolve for each request cost more than the rest of one.
    """

    @cached_property
    def service(self) -> Service:
        """What answers it."""
        service: Service = self.app.state.service
        return service

    @property
    def identity(self) -> Identity:
        """Who is asking."""
        identity: Identity = self.scope["likewise.identity"]
        return identity

    async def identify(self, path: str) -> None:
        """Find out who is asking for a route, once; an error if they may not."""
        if "likewise.identity" not in self.scope:
            self.scope["likewise.identity"] = await self.service.gate.by_token(self, path)

    @property
    def by(self) -> str:
        """The name that the log will show."""
        return self.identity.name

    @property
    def key(self) -> Idempotency | None:
        """The key under which it is answered once, bound to who asks and to what is asked."""
        key = self.headers.get("idempotency-key")
        if key is None:
            return None
        if KEY.fullmatch(key) is None:
            raise HTTPException(422, "Idempotency-Key: must be 1 to 200 visible ASCII characters.")
        # Keyed: what is asked names people, and from a plain hash a guessed id could be confirmed.
        asked = f"{self.method} {self.scope['path']}\n".encode() + self._body
        return Idempotency(self.by, key, self.service.engine.signer.request_hash(asked))

    async def body(self) -> bytes:
        """The body, read once. Starlette has two generators for it, which take longer than the rest."""
        if not hasattr(self, "_body"):
            parts, more = [], True
            while more:
                message = await self.receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                parts.append(message.get("body", b""))
                more = message.get("more_body", False)
            self._body = b"".join(parts)
        return self._body

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


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictRoute(APIRoute):
    """A route that first asks who is there, and then reads their request strictly."""

    def get_route_handler(self) -> Handler:
        """The route's handler, behind the table of roles and strict reading."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            call = Call(request.scope, request.receive)
            await call.identify(self.path)
            await (call.body() if self.body_field is None else call.json())
            return await handler(call)

        return handle


class Limits:
    """Refuses bodies that are too long, also those that don't say so, and those that never end."""

    def __init__(self, app: ASGIApp, *, max_body: int, max_seconds: float) -> None:
        self._app = app
        self._max_body, self._max_seconds = max_body, max_seconds
        self._sentence = f"The body must have at most {max_body:,} bytes."
        self._late = f"The body must arrive within {max_seconds:g} seconds."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on while it is short enough, and comes soon enough."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if length.isdigit() and (len(length) > 18 or int(length) > self._max_body):
            await problem(scope, 413, self._sentence)(scope, receive, send)
            return
        seen, whole = 0, False
        deadline = asyncio.get_running_loop().time() + self._max_seconds

        async def counted() -> Message:
            nonlocal seen, whole
            if whole:  # from here on it is only asked whether the caller is still there
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                # The rest may still come: nothing else can be understood on this connection.
                raise HTTPException(408, self._late, headers={"Connection": "close"}) from None
            whole = not message.get("more_body", False)
            seen += len(message.get("body", b""))
            if seen > self._max_body:
                raise HTTPException(413, self._sentence)
            return message

        await self._app(scope, counted, send)
