"""kill -9 of the server under load: whatever was acknowledged is there, nothing is there twice, the chain verifies."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from itertools import count
from pathlib import Path

import pytest
from loans import BANK
from serving import STREAM, Process, free_port, people

from likewise.client import Client, ServiceUnreachable
from likewise.service.proof.replay import verify

CLIENTS = 4


class Load:
    """Clients that decide and label without pause, and remember every answer they got."""

    def __init__(self, url, token, *, one_sided):
        self.url, self.token, self.one_sided = url, token, one_sided
        self.receipts, self.labelled, self.asked = [], [], []
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True) for i in range(CLIENTS)]

    def run(self, i):
        with Client(self.url, self.token, retries=1000) as client:
            for t in count():
                if self.stopping.is_set():
                    return
                batch = people(t)
                for j, person in enumerate(batch):
                    person["id"] = f"{i}.{t}.{j}"
                self.asked += [person["id"] for person in batch]
                try:
                    opened = client.decide("loans", batch)
                    self.receipts.append(opened["receipt"])
                    seen = self.seen(opened["decisions"])
                    if not seen:
                        continue
                    taken = client.label("loans", opened["t"], {seen[0]: 1})
                except ServiceUnreachable:
                    return  # the test is over, or has failed elsewhere
                self.receipts.append(taken["receipt"])
                self.labelled.append((opened["t"], seen[0]))

    def seen(self, decisions):
        """The people whose labels come to light."""
        return [person["id"] for person in decisions if person["decision"] or not self.one_sided]


@pytest.mark.parametrize(
    ("kind", "kills", "world"),
    [
        ("sqlite", 1, {}),
        ("sqlite", 2, BANK | {"audits": "decisions"}),
        pytest.param("sqlite", 300, {}, marks=pytest.mark.slow),
        pytest.param("postgresql", 60, BANK, marks=pytest.mark.slow),
    ],
)
def test_whatever_was_acknowledged_survives_kill_9_and_nothing_happens_twice(
    kind, kills, world, new_database, tmp_path, monkeypatch
):
    """A few kills on every change; three hundred, and sixty on PostgreSQL, in ``make test-all``.

    With one lot for each round, the log is verified to draw it from the nonce that it had committed to: whoever was
    killed between the two drew the same one again.
    """
    monkeypatch.setattr("likewise.client.LONGEST_BACKOFF", 0.2)  # so that the next load comes at once
    rng, database = random.Random(0), new_database(kind)
    beside = {"key": tmp_path / "service.key", "checkpoints": tmp_path / "service.checkpoints", "max_rate": 1e9}
    settings = {"port": free_port(), **beside}
    server = Process(database, **settings)
    token = server.token
    with Client(server.url, token) as client:
        key = client.create_stream(**STREAM | world)["receipt"]["key"]
    load = Load(server.url, token, one_sided="labels" in world)
    for thread in load.threads:
        thread.start()
    try:
        for _ in range(kills):
            enough = len(load.receipts) + 10
            while len(load.receipts) < enough:
                assert any(thread.is_alive() for thread in load.threads), "the load has ended"
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.05))
            assert server.end("kill") == -9
            server = Process(database, **settings)
            assert server.token is None, "a token is shown on the first start only"
            server.wait()
        load.stopping.set()
        for thread in load.threads:
            thread.join()
        with Client(server.url, token) as client:
            client.export("loans", tmp_path / "export.jsonl")
            events = {one["seq"]: one for one in client.events("loans")}
            assert all(events[one["seq"]]["hash"] == one["hash"] for one in load.receipts)
            rounds = [client.round("loans", t) for t in range(1, client.stream("loans")["rounds"] + 1)]
    finally:
        load.stopping.set()
        server.end("kill")
    seen = Counter(person["id"] for one in rounds for person in one["people"])
    assert seen == Counter(load.asked)
    labels = {(one["t"], person["id"]): person["label"] for one in rounds for person in one["people"]}
    assert all(labels[one] == 1 for one in load.labelled)
    assert verify(tmp_path / "export.jsonl", key=key).first is None


@pytest.mark.parametrize(
    ("kind", "trials", "seed"),
    [
        ("sqlite", 3, 1),
        pytest.param("sqlite", 300, 2, marks=pytest.mark.slow),
        pytest.param("postgresql", 60, 3, marks=pytest.mark.slow),
    ],
)
def test_a_service_killed_at_any_point_of_its_life_lives_on_without_losing_or_doubling_anything(
    kind, trials, seed, new_database, tmp_path, record_property
):
    """Before or after a commit, an fsync, a link or a rename.

    Also of an erasure, retention, an archive, a change of the key, a backup and a restore. Every one of these points on
    SQLite in ``make test-all``: see ``killing.py``.
    """
    databases = [new_database(kind), new_database(kind)] if kind == "postgresql" else []
    script = Path(__file__).with_name("killing.py")
    command = [sys.executable, script, tmp_path, str(trials), str(seed), *databases]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-4000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    record_property("told", f"kills on {kind}: {told}")
    assert (told["kills"], told["failed"]) == (trials, 0)
    assert told["points"] > 100
