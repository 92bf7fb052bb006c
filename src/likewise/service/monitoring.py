"""What operators watch, in Prometheus' format: counts and times, of no person, and of no stream by name unless wanted.

Several workers answer at one address, and each scrape reaches one of them. They share their counts through files in the
folder that the variable ``PROMETHEUS_MULTIPROC_DIR`` names, so each of them gives the counts of all.
"""

from __future__ import annotations

import logging
import os
import random
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.service.redaction import REQUEST_ID

log = logging.getLogger(__name__)
ID = b"x-request-id"
IDS = re.compile(rb"[A-Za-z0-9._-]{1,64}")
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Where workers share their counts; the library itself looks for this name when it is imported."""

MOST_NAMED = 100
"""Streams that have gauges of their own, so that nobody's monitoring drowns in a service of thousands."""
GAUGES = {
    "oldest_unsigned": "the oldest event without a signed checkpoint has waited",
    "oldest_open_round": "the oldest open round has been open",
    "overdue": "something has been due that the clock has not done",
}
"""What is measured of each stream: seconds for which …"""


class StreamHealth(NamedTuple):
    """How a stream is doing; the numbers are seconds, and only for a stream that isn't broken.

    Attributes
    ----------
    name
        Of the stream.
    oldest_unsigned, oldest_open_round, overdue
        For how long its oldest event has waited for a checkpoint, its oldest round has been open, and something has
        been due.
    broken
        Whether it can't go on.
    outstanding
        Rounds that are opened and not yet learned.
    """

    name: str
    oldest_unsigned: float = 0.0
    oldest_open_round: float = 0.0
    overdue: float = 0.0
    broken: bool = False
    outstanding: int = 0


class StreamGauges(Collector):
    """Gauges of the streams as they are when somebody looks: the worst of all, and each by its name if ``named``.

    They aren't shared between workers: each worker knows every stream by itself, and a stream that is gone leaves
    nothing behind.

    Examples
    --------
    >>> gauges = StreamGauges(named=False)
    >>> gauges.streams = [StreamHealth("loans", overdue=3.0), StreamHealth("jobs", overdue=40.0)]
    >>> [(each.name, each.samples[0].value) for each in gauges.collect()][-1]
    ('likewise_overdue_seconds', 40.0)
    """

    def __init__(self, *, named: bool) -> None:
        self.streams: Sequence[StreamHealth] = ()
        self._named = named

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges, for the registry."""
        for kind, what in GAUGES.items():
            worst = max((getattr(each, kind) for each in self.streams), default=0.0)
            yield GaugeMetricFamily(f"likewise_{kind}_seconds", f"Seconds for which {what}, of all streams.", worst)
        if self._named:
            yield from self._by_name()

    def _by_name(self) -> Iterator[GaugeMetricFamily]:
        # Broken ones first, then by name: those that are left out are the same each time.
        named = sorted(self.streams, key=lambda each: (not each.broken, each.name))[:MOST_NAMED]
        broken = GaugeMetricFamily("likewise_stream_broken", "Whether a stream can't go on.", labels=["stream"])
        for each in named:
            broken.add_metric([each.name], each.broken)
        yield broken
        text = "Rounds that are opened and not yet learned, by stream."
        rounds = GaugeMetricFamily("likewise_stream_outstanding_rounds", text, labels=["stream"])
        for each in (each for each in named if not each.broken):
            rounds.add_metric([each.name], each.outstanding)
        yield rounds
        for kind, what in GAUGES.items():
            name = f"likewise_stream_{kind}_seconds"
            gauge = GaugeMetricFamily(name, f"Seconds for which {what}, by stream.", labels=["stream"])
            for each in (each for each in named if not each.broken):
                gauge.add_metric([each.name], getattr(each, kind))
            yield gauge


class Metrics:
    """The counters of one application; a registry of its own, so that two can live in one process.

    Parameters
    ----------
    named
        Whether streams are told apart by their names, which everybody can read then.
    """

    def __init__(self, *, named: bool = False) -> None:
        self._registry = CollectorRegistry()
        self._stream_gauges = StreamGauges(named=named)
        self._registry.register(self._stream_gauges)
        self._counted: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
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
            "likewise_clock_lag_seconds", "Seconds since a check for what is due succeeded, in the worker that answers."
        )
        self.ready = self._gauge("likewise_ready", "Whether the worker that answers has read every log to its head.")

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """One more request was answered."""
        # Found once: the library would look for each name, under a lock, for every request.
        found = self._counted.get((method, route, status))
        if found is None:
            found = self.requests.labels(method, route, str(status)), self.seconds.labels(method, route)
            self._counted[method, route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def _gauge(self, name: str, description: str) -> Gauge:
        # Set by whoever answers, at that moment: of several workers the newest word is their own.
        return Gauge(name, description, registry=self._registry, multiprocess_mode="mostrecent")

    def text(self, streams: Iterable[StreamHealth] = ()) -> bytes:
        """All of them, as Prometheus reads them."""
        self._stream_gauges.streams = list(streams)
        if SHARED not in os.environ:
            return generate_latest(self._registry)
        shared = CollectorRegistry()
        shared.register(self._stream_gauges)
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
            took = time.perf_counter() - began
            self._metrics.count(method, route, status, took)
            if self._logs:
                # The route's pattern, as the address itself names people.
                fields = {"method": method, "route": route, "status": status, "ms": round(1000 * took, 1)}
                log.info("A request was answered.", extra={"fields": fields})


def _request_id(scope: Scope) -> str:
    """The id that the caller gave the request, if it is one; else a new one."""
    for name, value in scope["headers"]:
        if name == ID and IDS.fullmatch(value):
            return str(value, "ascii")
    # No secret: the system's random numbers are a call that other threads may come between.
    return f"{random.getrandbits(64):016x}"
