"""What operators watch, in Prometheus' format. Counts and times only: no person, and streams
only where that is set.

Several workers answer at one address, and each scrape reaches one of them. They share their counts through files in the
folder that the variable ``PROMETHEUS_MULTIPROC_DIR`` names, so each of them gives the counts of all.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.service.redaction import REQUEST_ID

log = logging.getLogger(__name__)
ID = b"x-request-id"
IDS = re.compile(r"[A-Za-z0-9._-]{1,64}")
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Where workers share their counts; the library itself looks for this name when it is imported."""

BY_STREAM = {
    "outstanding_rounds": "Rounds of the stream that are opened and not yet learned.",
    "oldest_open_round_seconds": "Age of the stream's oldest open round.",
    "oldest_unsigned_seconds": "Seconds for which an event of the stream may have waited for a signed checkpoint.",
    "broken": "Whether the stream can't go on, in the worker that answers.",
}
"""Told only where `metrics_by_stream` is set: the names of streams are nobody else's business."""


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
        self.clock_lag = self._gauge(
            "likewise_clock_lag_seconds", "Seconds since the last check for what is due, in the worker that answers."
        )
        self.oldest_round = self._gauge("likewise_oldest_open_round_seconds", "Age of the oldest open round of all.")
        self.unsigned = self._gauge(
            "likewise_oldest_unsigned_seconds", "Seconds for which an event may have waited for a signed checkpoint."
        )
        self.by_stream = {
            what: self._gauge(f"likewise_stream_{what}", description, ("stream",))
            for what, description in BY_STREAM.items()
        }
        self.ready = self._gauge("likewise_ready", "Whether the worker that answers has read every log to its head.")

    def _gauge(self, name: str, description: str, labels: tuple[str, ...] = ()) -> Gauge:
        # Set by whoever answers, at that moment: of several workers the newest word is their own.
        return Gauge(name, description, labels, registry=self._registry, multiprocess_mode="mostrecent")

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        if SHARED not in os.environ:
            return generate_latest(self._registry)
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]  # of prometheus_client, untyped there
        return generate_latest(shared)


class Measured:
    """Counts and times every request, by the route's own pattern, so that no id becomes a label."""

    def __init__(self, app: ASGIApp, metrics: Metrics, *, logs: bool = False) -> None:
        self._app = app
        self._metrics = metrics
        self._logs = logs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and look at the watch."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 499  # as if the caller had gone, until there is an answer
        id = _request_id(scope)
        REQUEST_ID.set(id)

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), (ID, id.encode())]}
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path", "unknown")
            method = scope["method"] if route != "unknown" else "any"
            self._metrics.requests.labels(method, route, str(status)).inc()
            took = time.perf_counter() - began
            self._metrics.seconds.labels(method, route).observe(took)
            if self._logs:
                # The route's pattern, as the address itself names people.
                fields = {"method": method, "route": route, "status": status, "ms": round(1000 * took, 1)}
                log.info("A request was answered.", extra={"fields": fields})


def _request_id(scope: Scope) -> str:
    """The id that the caller gave the request, if it is one; else a new one."""
    given = next((value for name, value in scope["headers"] if name == ID), b"").decode("latin-1")
    return given if IDS.fullmatch(given) else secrets.token_hex(8)
