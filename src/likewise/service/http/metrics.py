"""What operators watch, in Prometheus' format. Counts and times only: no stream, no person."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Metrics:
    """The counters of one application; a registry of its own, so that two can live in one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        names = ("method", "route", "status")
        self.requests = Counter("likewise_requests", "Requests answered.", names, registry=self._registry)
        self.seconds = Histogram("likewise_request_seconds", "Seconds to an answer.", names[:2],
                                 registry=self._registry,
                                 buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5))  # fmt: skip
        self.clock_failures = Counter("likewise_clock_failures", "Failed looks at what is due.",
                                      registry=self._registry)  # fmt: skip
        self.streams = Gauge("likewise_streams", "Streams there are.", registry=self._registry)
        self.outstanding = Gauge("likewise_outstanding_rounds", "Rounds opened and not learned.",
                                 registry=self._registry)  # fmt: skip

        self.ready = Gauge("likewise_ready", "Whether every log was read up to its head.", registry=self._registry)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)


class Measured:
    """Counts and times every request, by the route's own pattern, so that no id becomes a label."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and look at the watch."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path", "unknown")
            method = scope["method"] if route != "unknown" else "any"
            self._metrics.requests.labels(method, route, str(status)).inc()
            self._metrics.seconds.labels(method, route).observe(time.perf_counter() - began)
