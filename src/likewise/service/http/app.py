"""The application: routes, errors in one shape, limits, metrics, and the running service behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from fastapi import FastAPI

from likewise import __version__
from likewise.service import pages
from likewise.service.configuration import Configuration
from likewise.service.http import problems
from likewise.service.http.metrics import Measured
from likewise.service.http.requests import Limits
from likewise.service.http.routes import health, router
from likewise.service.http.service import Service


def create_app(configuration: Configuration | None = None) -> FastAPI:
    """The application of a service; it opens its database here, and begins to read the logs when it is started."""
    service = Service(configuration or Configuration())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = service.configuration.threads
        service.start()
        try:
            yield
        finally:
            await anyio.to_thread.run_sync(service.stop)

    app = FastAPI(
        title="Likewise",
        version=__version__,
        summary="Decisions, labels and audits, on a log that loses nothing and can be checked by an outsider.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
    )
    app.state.service = service
    problems.install(app)
    app.include_router(router)
    app.include_router(health)
    pages.install(app)
    app.add_middleware(Limits, max_body=service.configuration.max_body)
    app.add_middleware(Measured, metrics=service.metrics)
    _document(app)
    return app


def _document(app: FastAPI) -> None:
    """Put the shape of problems into the OpenAPI document, in place of the framework's own."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            parts = schema["components"]["schemas"]
            reference = "#/components/schemas/{model}"
            found = problems.Problem.model_json_schema(ref_template=reference)
            parts |= found.pop("$defs", {}) | {"Problem": found}
            for name in ("HTTPValidationError", "ValidationError"):
                parts.pop(name, None)
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]
