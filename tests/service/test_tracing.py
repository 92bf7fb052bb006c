"""Traces tell how requests went, and never about whom: in memory, and over the wire to a collector."""

from __future__ import annotations

import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from serving import STREAM, running

from likewise.errors import NotSupported
from likewise.service import tracing
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.run import create_app

SECRET = "zebulon-41"
PERSON = "/v1/streams/{stream}/people/{person:path}"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def traced(tmp_path, monkeypatch):
    """A service, and a function that gives its spans so far."""
    exporter = InMemorySpanExporter()
    provider = tracing.tracer_provider(exporter)
    monkeypatch.setattr("likewise.service.run.app.tracer_provider", lambda: provider)
    with running(database=str(tmp_path / "log.db"), traces=True) as service:
        service.admin.post("/v1/streams", json=STREAM)

        def spans():
            provider.force_flush()
            return exporter.get_finished_spans()

        yield service, spans


def test_a_span_tells_method_route_and_status_and_nothing_else(traced):
    service, spans = traced
    service.admin.get(f"/v1/streams/loans/people/{SECRET}")
    (made, asked) = spans()
    assert made.name == "POST /v1/streams"
    assert asked.name == f"GET {PERSON}"
    assert dict(asked.attributes) == {
        "http.request.method": "GET",
        "http.route": PERSON,
        "http.response.status_code": 404,
    }
    assert asked.status.is_unset, "nothing of ours failed"


def test_a_failure_is_marked_without_its_words(traced, monkeypatch):
    service, spans = traced

    def stumble(*_, **__):
        raise KeyError(SECRET)

    monkeypatch.setattr(Engine, "erase", stumble)
    service.admin.delete(f"/v1/streams/loans/people/{SECRET}")
    failed = spans()[-1]
    assert failed.attributes["http.response.status_code"] == 500
    assert not failed.status.is_ok
    assert failed.status.description is None
    assert len(failed.events) == 0
    assert SECRET not in failed.to_json()


def test_the_callers_trace_goes_on_and_what_else_they_send_is_left_behind(traced):
    service, spans = traced
    headers = {
        "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01",
        "tracestate": f"them={SECRET}",
        "baggage": f"person={SECRET}",
        "X-Request-ID": SECRET,
        "User-Agent": SECRET,
    }
    service.admin.get("/v1/streams/loans", params={"person": SECRET}, headers=headers)
    service.admin.get("/v1/streams/loans", headers={"traceparent": SECRET})
    followed, own = spans()[-2:]
    assert f"{followed.context.trace_id:032x}" == TRACE
    assert f"{followed.parent.span_id:016x}" == "00f067aa0ba902b7"
    assert own.parent is None, "what isn't a trace is none"
    assert SECRET not in followed.to_json() + own.to_json()


def test_addresses_that_do_not_exist_are_not_told(traced):
    service, spans = traced
    service.anybody.patch(f"/{SECRET}")
    assert spans()[-1].name == "_OTHER unknown"
    assert "zebulon" not in spans()[-1].to_json().lower()


def test_probes_leave_no_spans(traced):
    service, spans = traced
    before = len(spans())
    for path in ("/livez", "/readyz", "/metrics"):
        service.anybody.get(path)
    assert len(spans()) == before


def test_a_collector_gets_them_when_the_service_ends_at_the_latest(tmp_path, monkeypatch):
    bodies = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        try:
            with running(database=str(tmp_path / "log.db"), traces=True) as service:
                service.admin.get("/v1/streams/none")
        finally:
            collector.shutdown()
            thread.join()
    assert {path for path, _ in bodies} == {"/v1/traces"}
    sent = [ExportTraceServiceRequest.FromString(body) for _, body in bodies]
    resources = [each for request in sent for each in request.resource_spans]
    assert "GET /v1/streams/{stream}" in {s.name for r in resources for scope in r.scope_spans for s in scope.spans}
    names = {a.value.string_value for r in resources for a in r.resource.attributes if a.key == "service.name"}
    assert names == {"likewise"}


def test_without_the_extra_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(NotSupported, match=r"`traces` needs opentelemetry.sdk.trace, .*\[service,telemetry\]"):
        tracing.tracer_provider()


def test_nothing_is_traced_unless_that_is_wanted(tmp_path, monkeypatch):
    monkeypatch.setattr("likewise.service.run.app.tracer_provider", lambda: pytest.fail("nobody asked"))
    create_app(Configuration(database=str(tmp_path / "log.db"))).state.service.engine.store.close()
