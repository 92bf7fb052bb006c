"""What operators watch, in Prometheus' format. Counts and times only: no stream, no person.

Several workers answer at one address, and each scrape reaches one of them. They share their counts through files in the
folder that the variable ``PROMETHEUS_MULTIPROC_DIR`` names, so each of them gives the counts of all.
"""

from __future__ import annotations

import os
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Where workers share their counts; the library itself looks for this name when it is imported."""


class Metrics:
    """The counters of one application; a registry of its own, so that two can live in one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        names, whose = ("method", "route", "status"), "all workers" if SHARED in os.environ else "this process"
        self.requests = Counter("likewise_requests", f"Requests answered, by {whose}.", names, registry=self._registry)
        self.seconds = Histogram("likewise_request_seconds", f"Seconds to an answer, by {whose}.", names[:2],
                                 registry=self._registry,
                                 buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5))  # fmt: skip
        self.clock_failures = Counter("likewise_clock_failures", f"Failed checks for what is due, by {whose}.",
                                      registry=self._registry)  # fmt: skip
        self.streams = self._gauge("likewise_streams", "Streams of the whole service.")
        self.outstanding = self._gauge(
            "likewise_outstanding_rounds", "Rounds opened and not yet learned, of the whole service."
        )
        self.broken = self._gauge("likewise_broken_streams", "Streams that can't go on, in the worker that answers.")
        self.ready = self._gauge("likewise_ready", "Whether the worker that answers has read every log to its head.")

    def _gauge(self, name: str, description: str) -> Gauge:
        # Set by whoever answers, at that moment: of several workers the newest word is their own.
        return Gauge(name, description, registry=self._registry, multiprocess_mode="mostrecent")

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        if SHARED not in os.environ:
            return generate_latest(self._registry)
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]  # of prometheus_client, untyped there
        return generate_latest(shared)


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
        began, status = time.perf_counter(), 499  # as if the caller had gone, until there is an answer

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
