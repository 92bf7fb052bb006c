"""The application: routes, errors in one shape, limits, metrics, and the running service behind them."""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from fastapi import FastAPI
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from likewise import __version__
from likewise.service import pages
from likewise.service.accounts.access import PUBLIC
from likewise.service.api import problems
from likewise.service.api.doors import Doors
from likewise.service.api.requests import Limits
from likewise.service.api.routes import health, often, router
from likewise.service.api.shortcut import Shortcut
from likewise.service.configuration import Configuration
from likewise.service.monitoring import Measured
from likewise.service.redaction import begin_log
from likewise.service.run.impatience import Impatient
from likewise.service.running import Service
from likewise.service.tracing import Traced, tracer_provider

TURN = 0.001
"""Seconds that a thread computes while another one waits; Python's 5 ms are longer than most requests take."""
GARBAGE = (20_000, 20, 20)
"""Objects made before garbage is looked for: Python's 700 are those of a few requests, which leave next to none."""
TOKEN = {"type": "http", "scheme": "bearer", "description": "A token from `likewise user add`."}


class Application(FastAPI):
    """FastAPI, whose document also describes tokens, and our problems in place of its own.

    A request passes what we put in front of it first. FastAPI would first look at it for errors, which ``Caught``
    answers, and for telemetry, which is off.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; everything else is FastAPI's."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        if self.middleware_stack is None:
            self.middleware_stack = self.build_middleware_stack()
        scope["app"] = self
        await self.middleware_stack(scope, receive, send)

    def build_middleware_stack(self) -> ASGIApp:
        """Ours around FastAPI's, without that which answers errors in its own words."""
        ours, self.user_middleware = self.user_middleware, []
        try:
            guarded = super().build_middleware_stack()
        finally:
            self.user_middleware = ours
        assert isinstance(guarded, ServerErrorMiddleware), "FastAPI's outermost part answers errors"
        answers = guarded.app
        for factory, arguments, named in reversed(ours):
            answers = factory(answers, *arguments, **named)
        return answers

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, made once."""
        if self.openapi_schema is None:
            schema = super().openapi()
            parts = schema["components"]["schemas"]
            problem = problems.Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            parts |= problem.pop("$defs", {}) | {"Problem": problem}
            for name in ("HTTPValidationError", "ValidationError"):
                parts.pop(name, None)
            schema["components"]["securitySchemes"] = {"Token": TOKEN}
            guarded = (operations for path, operations in schema["paths"].items() if path not in PUBLIC)
            for operation in (operation for operations in guarded for operation in operations.values()):
                operation["security"] = [{"Token": []}]
        return self.openapi_schema or {}


def create_app(configuration: Configuration | None = None) -> FastAPI:
    """The application of a service; it opens its database here, and begins to read the logs when it is started."""
    service = Service(configuration or Configuration())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = service.configuration.threads
        service.start()
        notified = asyncio.create_task(service.keep_notified())
        try:
            yield
        finally:
            notified.cancel()
            await anyio.to_thread.run_sync(service.stop)

    app = Application(
        title="Likewise",
        version=__version__,
        summary="Decisions, labels and audits, on a log that loses nothing and that an outsider can check.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # it would be looked for at every request
    )
    app.state.service = service
    app.add_middleware(Shortcut, routes=often.routes, handlers=app.exception_handlers)
    problems.install(app)
    # Not `include_router`, which looks through the routes twice for every request.
    app.router.routes += [*router.routes, *health.routes]
    pages.install(app)
    limits = service.configuration
    app.add_middleware(Limits, max_body=limits.max_body, max_seconds=limits.max_seconds)
    if limits.traces:
        provider = tracer_provider()
        service.before_stop.append(provider.shutdown)  # what was not sent yet is sent
        app.add_middleware(Traced, provider=provider)
    app.add_middleware(Measured, metrics=service.metrics, logs=limits.log_format == "json")
    app.add_middleware(Doors, hosts=limits.allowed_hosts, behind_proxy=limits.behind_proxy)
    return app


def _allow_many_files() -> None:
    """Let the process hold as many connections as it may: by default most systems stop at a thousand."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def server_app(configuration: Configuration | None = None) -> FastAPI:
    """The application of a process that does nothing else, set up for many short requests."""
    configuration = configuration or Configuration()
    begin_log(configuration.log_format)  # of several workers each is a process that nobody else has set up
    app = create_app(configuration)
    limits = app.state.service.configuration
    Impatient.limit(limits.max_head_seconds, limits.max_waiting)
    _allow_many_files()
    sys.setswitchinterval(TURN)
    gc.collect()
    gc.freeze()  # what is there now stays, so that no request waits while it is looked through for garbage
    gc.set_threshold(*GARBAGE)
    return app
