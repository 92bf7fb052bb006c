"""Alarms: they begin when something is wrong, are silent otherwise, and reach the address that was configured."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from serving import until

from likewise.service.projections.alarms import EVERY, LONG, Webhook, alarms
from likewise.service.projections.bins import Bin
from likewise.service.stream.settings import Settings

LOANS = {"name": "loans", "features": [{"name": "score"}], "cuts": {"score": [0.5]}, "alpha": 0.1, "k": 2}


def bins(reports, reviewed=20):
    none = dict.fromkeys(Bin._fields, 0)
    return [Bin(**none | {"last": i + 1, "reports": r, "reviewed": reviewed}) for i, r in enumerate(reports)]


@pytest.fixture
def waiting(engine):
    """A stream with a round that waits for its review."""
    engine.create(Settings.from_dict(LOANS | {"review": {"ask_all": True}}), "root")
    engine.decide("loans", [{"id": "a", "features": {"score": 0.1}}], "root")
    return engine


def test_a_round_that_waits_for_more_than_a_day_is_an_alarm_until_it_is_reviewed(waiting, clock):
    state = waiting.streams.get("loans").current
    assert alarms(state(), [], clock.now + LONG) == []
    (alarm,) = alarms(state(), [], clock.now + 1.5 * LONG)
    assert alarm == ("backlog", "1 round waits for review, the oldest for 1.5 days.")
    waiting.audit("loans", 1, "none", "ann")
    assert alarms(state(), [], clock.now + 2 * LONG) == []


def test_reports_that_become_more_or_fewer_are_an_alarm_and_steady_ones_hardly_ever(waiting, clock):
    state = waiting.streams.get("loans").current()

    def drift(counts):
        return [alarm.sentence for alarm in alarms(state, bins(counts), clock.now)]

    assert (
        "reported more often than before: 5.0 per 100 reviewed rounds before, 40.0 lately"
        in drift([1] * 12 + [8] * 4)[0]
    )
    assert "reported less often than before" in drift([8] * 12 + [0] * 4)[0]
    rng = np.random.default_rng(0)
    false = sum(bool(drift(rng.binomial(20, 0.1, size=16).tolist())) for _ in range(2000))
    assert false / 2000 < 0.02  # two intervals that each fail in one of a hundred


def test_the_webhook_hears_once_that_an_alarm_began_and_once_that_it_ended(waiting, clock):
    heard, seconds = [], [0.0]

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self):
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Listener)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        hook = Webhook(waiting, f"http://127.0.0.1:{server.server_port}/", lambda: seconds[0])

        def look():
            seconds[0] += EVERY
            hook()

        look()
        clock.now += 2 * LONG
        look()
        until(lambda: len(heard) == 1, 60)
        until(lambda: hook._told == {"loans": ("backlog",)}, 60)
        look()  # nothing new
        waiting.audit("loans", 1, "none", "ann")
        look()
        until(lambda: len(heard) == 2, 60)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert [[alarm["kind"] for alarm in told["alarms"]] for told in heard] == [["backlog"], []]
    assert {told["stream"] for told in heard} == {"loans"}
