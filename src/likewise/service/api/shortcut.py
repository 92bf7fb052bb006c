"""A shortcut for requests that come all the time: to their endpoint without FastAPI's way there.

FastAPI looks through its routes and for dependencies, queries, headers and forms, and stands ready to clean up after
them. All of that takes as long as deciding about a person does. What is documented, checked and refused stays the same:
whatever isn't plain takes the long way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.service.api.requests import Call


class Way(NamedTuple):
    """A route whose endpoint takes ``body``, ``call`` and texts of the path, and what reads its body."""

    route: APIRoute
    read: Callable[[Any], Any]

    @classmethod
    def to(cls, route: APIRoute) -> Way:
        """The way to a route."""
        assert route.body_field is not None, "only routes with a body have a shortcut"
        body: Any = route.body_field.field_info.annotation
        return cls(route, TypeAdapter(body).validate_python)


class Shortcut:
    """Calls the endpoints of some routes directly.

    Parameters
    ----------
    app
        Answers everything else.
    routes
        Those that are asked for often.
    handlers
        What is said of errors, by their class.
    """

    def __init__(self, app: ASGIApp, *, routes: Sequence[BaseRoute], handlers: Mapping[Any, Any]) -> None:
        self._app = app
        self._ways = [Way.to(route) for route in routes if isinstance(route, APIRoute)]
        self._direct = ExceptionMiddleware(self._answer, handlers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, by the shorter way if there is one."""
        way = self._find(scope) if scope["type"] == "http" and not scope.get("root_path") else None
        if way is None:
            await self._app(scope, receive, send)
        else:
            scope["route"], scope["likewise.way"] = way.route, way
            await self._direct(scope, receive, send)

    def _find(self, scope: Scope) -> Way | None:
        """The way to what is asked for, if it is one of ours, with the texts of its path in the scope."""
        for way in self._ways:
            found = way.route.path_regex.match(scope["path"])
            if found is not None and scope["method"] in (way.route.methods or ()):
                scope["path_params"] = found.groupdict()
                return way
        return None

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        call, way = Call(scope, receive), scope["likewise.way"]
        await call.identify(way.route.path)
        try:
            body = way.read(await call.json())
        except ValidationError:  # FastAPI says what is wrong with it
            content = await call.body()

            async def again() -> Message:
                return {"type": "http.request", "body": content, "more_body": False}

            await self._app(scope, again, send)
            return
        response: Response = await way.route.endpoint(body=body, call=call, **scope["path_params"])
        await response(scope, receive, send)
