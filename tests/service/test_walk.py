"""The walk through the service in docs/design.md is the way that a round really takes."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path

from serving import STREAM, people, running

import likewise.service
from likewise.service.proof.replay import verify

ROOT = Path(likewise.service.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "design.md"
HOP = re.compile(r"^\| (\d+) \| `([\w/.]+)` \| `([\w.]+)` \|", re.MULTILINE)


def walk():
    """(file, function) of each hop on the page."""
    return [(file, function) for _, file, function in HOP.findall(PAGE.read_text(encoding="utf-8"))]


class Calls:
    """Every call of some functions of the service, in any thread that begins from now on."""

    def __init__(self, hops):
        self.made = []
        self._hops = set(hops)
        self._names = {}

    def __call__(self, frame, event, argument):
        if event == "call" and (name := self._name(frame.f_code)) in self._hops:
            self.made.append(name)

    def _name(self, code):
        if code not in self._names:
            path = Path(code.co_filename)
            inside = path.is_relative_to(ROOT)
            self._names[code] = (path.relative_to(ROOT).as_posix(), code.co_qualname) if inside else None
        return self._names[code]


def whole_round(service, t):
    """Decisions, labels and a verdict over HTTP."""
    where = "/v1/streams/loans/rounds"
    opened = service.decider.post(where, json={"people": people(t)}).json()
    labels = {person["id"]: i % 2 for i, person in enumerate(opened["decisions"])}
    assert service.decider.put(f"{where}/{t}/labels", json={"labels": labels}).is_success
    assert service.auditor.post("/v1/streams/loans/audits/claim").json()["t"] == t
    assert service.auditor.put(f"{where}/{t}/audit", json={"verdict": "none"}).is_success


def test_a_round_takes_the_way_that_the_page_describes(tmp_path):
    hops = walk()
    assert 1 <= len(hops) <= 12
    calls = Calls(hops)
    threading.setprofile(calls)
    try:
        with running(database=str(tmp_path / "log.db")) as service:
            assert service.admin.post("/v1/streams", json=STREAM).is_success
            whole_round(service, 1)  # the first one finds a stream that nobody has read yet
            calls.made.clear()
            whole_round(service, 2)
            (tmp_path / "export.jsonl").write_text(service.admin.get("/v1/streams/loans/export").text, encoding="utf-8")
        sys.setprofile(calls)
        assert verify(tmp_path / "export.jsonl").first is None
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    missed = [hop for hop in hops if hop not in calls.made]
    assert missed == []
    # In order: each hop is made after the one before it.
    places = [0]
    for hop in hops:
        later = [i for i, name in enumerate(calls.made) if name == hop and i >= places[-1]]
        assert later, f"{hop} is not called after {hops[len(places) - 2]}"
        places.append(later[0] + 1)
