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
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, by the shorter way if there is one."""
        way = self._find(scope) if scope["type"] == "http" and not scope.get("root_path") else None
        if way is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = way.route
        try:
            answer = await self._answer(way, Call(scope, receive))
        except Exception as error:
            await ExceptionMiddleware(_failing(error), self._handlers)(scope, receive, send)
        else:
            await answer(scope, receive, send)

    def _find(self, scope: Scope) -> Way | None:
        """The way to what is asked for, if it is one of ours, with the texts of its path in the scope."""
        for way in self._ways:
            found = way.route.path_regex.match(scope["path"])
            if found is not None and scope["method"] in (way.route.methods or ()):
                scope["path_params"] = found.groupdict()
                return way
        return None

    async def _answer(self, way: Way, call: Call) -> ASGIApp:
        """What the endpoint answers; the long way for a body that FastAPI has to say something about."""
        await call.identify(way.route.path)
        try:
            body = way.read(await call.json())
        except ValidationError:
            return self._again(await call.body())
        response: Response = await way.route.endpoint(body=body, call=call, **call.path_params)
        return response

    def _again(self, content: bytes) -> ASGIApp:
        """The long way of a request whose body was read."""

        async def received() -> Message:
            return {"type": "http.request", "body": content, "more_body": False}

        async def long_way(scope: Scope, receive: Receive, send: Send) -> None:
            await self._app(scope, received, send)

        return long_way


def _failing(error: Exception) -> ASGIApp:
    """An application that fails."""

    async def fail(scope: Scope, receive: Receive, send: Send) -> None:
        raise error

    return fail
