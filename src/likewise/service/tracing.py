"""Traces of requests, sent over OpenTelemetry's protocol (OTLP) where the extra ``telemetry`` is installed.

A span tells the method, the route's pattern and the status, and nothing else: an address may hold somebody's id, the
words of an error may name people, and whatever callers choose themselves may hold anything. The variables
``OTEL_EXPORTER_OTLP_ENDPOINT``, ``OTEL_SERVICE_NAME`` and their like say where spans go.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.errors import NotSupported

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

UNTRACED = frozenset({"/livez", "/readyz", "/metrics"})
"""Probes, which come all the time and tell nothing."""


def tracer_provider(exporter: SpanExporter | None = None) -> TracerProvider:
    """What makes spans and sends them in the background: to the exporter, else over OTLP. Shut it down at the end."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        extra = 'the extra "telemetry" of likewise brings it (in a clone: pip install ".[service,telemetry]")'
        raise NotSupported(f"`traces` needs {error.name}, which is not installed; {extra}.") from None
    name = os.environ.get("OTEL_SERVICE_NAME", "likewise")
    provider = TracerProvider(resource=Resource.create({"service.name": name}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
    return provider


class Traced:
    """Makes a span of every request, as part of the caller's trace if it names one.

    Parameters
    ----------
    app
        What answers.
    provider
        Makes spans.
    """

    def __init__(self, app: ASGIApp, provider: TracerProvider) -> None:
        self._app = app
        self._tracer = provider.get_tracer("likewise.service")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, inside its span."""
        if scope["type"] != "http" or scope["path"] in UNTRACED:
            await self._app(scope, receive, send)
            return
        from opentelemetry.trace import SpanKind, StatusCode

        status = 499  # as if the caller had gone, until there is an answer

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._tracer.start_as_current_span(
            "request",  # until its route is known
            context=_callers_trace(scope),
            kind=SpanKind.SERVER,
            record_exception=False,  # its words may name people
            set_status_on_exception=False,
        ) as span:
            try:
                await self._app(scope, receive, noted)
            finally:
                route = getattr(scope.get("route"), "path", "unknown")
                method = scope["method"] if route != "unknown" else "_OTHER"
                span.update_name(f"{method} {route}")
                span.set_attribute("http.request.method", method)
                span.set_attribute("http.route", route)
                span.set_attribute("http.response.status_code", status)
                if status >= 500:
                    span.set_status(StatusCode.ERROR)


def _callers_trace(scope: Scope) -> Context:
    """The trace that a request says it is part of, by W3C's header; its baggage and its state may hold anything."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    parent = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"traceparent"), "")
    return TraceContextTextMapPropagator().extract({"traceparent": parent})
