"""The pages over a long log: build one of 100,000 rounds, and time every page of it.

    python benchmarks/pages.py long.db
    python benchmarks/pages.py long.db --rounds 20000

The log is made by the same two pure functions as a live one, and written a thousand rounds at a time; its learner
learns, its auditor compares. A file that is there already is only measured. The first request comes right after the
start, while pictures are still being caught up with.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvicorn
from rich.console import Console

from likewise.service.configuration import Configuration
from likewise.service.log import Append, Store
from likewise.service.log.chain import seal
from likewise.service.projections.bins import BINS
from likewise.service.run import create_app
from likewise.service.stream import commands
from likewise.service.stream.decide import decide
from likewise.service.stream.events import Aside, Event
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import State

console = Console()
NAME, K, AT_ONCE = "long", 4, 1000
CUTS = np.linspace(0.05, 0.95, 19).tolist()
SETTINGS = {
    "name": NAME,
    "features": [{"name": "score", "compare": True}, {"name": "age"}],
    "cuts": {"score": CUTS, "age": CUTS},
    "alpha": 0.1,
    "k": K,
    "waits": {"grace": 0},
}
PAGES = ("", "/rounds", "/rounds?before=50000", "/rounds/40000", "/rounds/40000/people/0", "/log", "/log?kind=audited",
         "/log?round=40000", "/log?kind=learned&round=3", "/people", "/settings", "/review", "/export",
         "/certificate")  # fmt: skip
"""Every page that the overview leads to, after ``/streams/long``."""


def build(database: str, rounds: int) -> None:
    """A log of so many rounds, all learned but the last few."""
    with Store(database) as store:
        store.migrate()
        state, secret, (seq, hash) = State(), secrets.token_bytes(32), store.head(NAME)
        settings = Settings.from_dict(SETTINGS)
        created = commands.CreateStream(settings, "root", hashlib.sha256(secret).hexdigest())
        decision = decide(state, created, _clock(0))
        waiting = decision.events
        told = iter(_rounds(decision.after, rounds))
        for number in itertools.count():
            waiting += [event for _, events in zip(range(AT_ONCE), told, strict=False) for event in events]
            if not waiting:
                return
            sealed = seal(NAME, seq, hash, waiting)
            store.append(Append(sealed, secret=secret.hex() if number == 0 else None))
            seq, hash, waiting = sealed[-1].seq, sealed[-1].hash, []


def _rounds(state: State, rounds: int) -> Iterator[list[Event]]:
    """The events of one round after another."""
    rng = np.random.default_rng(0)
    for t in range(1, rounds + 1):
        events: list[Event] = []
        for command in _told(rng, t, last=t > rounds - 20):
            decision = decide(state, command(state) if callable(command) else command, _clock(t))
            state = decision.after
            events += decision.events
        yield events


def _told(rng: np.random.Generator, t: int, last: bool) -> Iterator[Any]:
    """What deciders and an auditor with a hidden distance say in a round; the last rounds wait for them."""
    X = rng.random((K, 2))
    ids = [f"{t}-{i}" for i in range(K)]
    people = [
        Aside(secrets.token_hex(16), "person", t, secrets.token_hex(32), {"id": name, "features": features})
        for name, features in zip(ids, ({"score": s, "age": a} for s, a in X.tolist()), strict=True)
    ]
    yield commands.RequestDecisions(people, rng.random(K), "decider")
    y = (X[:, 0] + 0.2 * rng.normal(size=K) > 0.5).astype(int)
    yield commands.ReceiveLabels(t, dict(zip(ids, y.tolist(), strict=True)), "decider")
    if not last:
        yield lambda state: _verdict(state, t, ids, X)


def _verdict(state: State, t: int, ids: list[str], X: np.ndarray) -> commands.Audit:
    """The worst pair that is further apart than its distance and α, if there is one."""
    chances = state.rounds[t].probabilities
    excess = chances[:, None] - chances - 2 * np.abs(X[:, None, 0] - X[:, 0]) - 0.1
    a, b = np.unravel_index(excess.argmax(), excess.shape)
    if excess[a, b] <= 0:
        return commands.Audit(t, "none", "ann")
    return commands.Audit(t, "pair", "ann", (ids[a], ids[b]))


def _clock(t: int) -> float:
    return 1_700_000_000.0 + 60 * t


@contextmanager
def served(database: str) -> Iterator[tuple[httpx.Client, Any]]:
    """The service on a database, and somebody who is logged in as its administrator."""
    app = create_app(Configuration(database=database, max_rate=1e9))
    settings = uvicorn.Config(app, port=0, log_config=None, access_log=False)
    socket = settings.bind_socket()
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, args=([socket],))
    thread.start()
    try:
        token, _ = app.state.service.tokens.add("root", "admin")
        with httpx.Client(base_url=f"http://127.0.0.1:{socket.getsockname()[1]}", timeout=600) as client:
            client.cookies.set("likewise", app.state.service.sessions.login(token))
            yield client, app
    finally:
        server.should_exit = True
        thread.join()
        socket.close()


def measure(database: str) -> None:
    """Time every page: while pictures are caught up with, and after."""
    with served(database) as (client, app):
        while not app.state.service.engine.ready:
            time.sleep(0.05)
        began = time.perf_counter()
        slowest, asked = 0.0, 0
        while True:
            took, text = _asked(client, "")
            slowest, asked = max(slowest, took), asked + 1
            if "catching up" not in text:
                break
            time.sleep(1.0)
        console.print(f"caught up after {time.perf_counter() - began:.1f} s; the overview answered {asked} times")
        console.print(f"meanwhile, in {slowest:.2f} s at most")
        for path in PAGES:
            times = sorted(_asked(client, path)[0] for _ in range(3))
            console.print(f"{times[1]:7.3f} s  at most {times[-1]:.3f} s  {path or 'overview'}")
        _waited(client, "certificate", "/certificate", 'letter">')
        csrf = re.search(r'name="csrf" value="(\w+)"', _asked(client, "/export")[1])
        assert csrf is not None
        client.post(f"/streams/{NAME}/verify", data={"csrf": csrf[1]})
        _waited(client, "verify", "/export", "Nothing wrong was found")
        state = app.state.service.engine.streams.get(NAME).current()
        console.print(f"{state.opened:,} rounds, {state.totals.reported:,} reports, {BINS} bins")


def _waited(client: httpx.Client, what: str, path: str, wanted: str) -> None:
    """Wait for work in the background, and see what that does to the overview."""
    began, slowest = time.perf_counter(), 0.0
    while wanted not in _asked(client, path)[1]:
        slowest = max(slowest, _asked(client, "")[0])
        time.sleep(0.5)
    took = time.perf_counter() - began
    console.print(f"{what} done after {took:.1f} s; the overview meanwhile in {slowest:.2f} s at most")


def _asked(client: httpx.Client, path: str) -> tuple[float, str]:
    began = time.perf_counter()
    answer = client.get(f"/streams/{NAME}{path}")
    took = time.perf_counter() - began
    assert answer.status_code == 200, (path, answer.status_code)
    return took, answer.text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database")
    parser.add_argument("--rounds", type=int, default=100_000)
    chosen = parser.parse_args()
    if not Path(chosen.database).exists():
        started = time.perf_counter()
        build(chosen.database, chosen.rounds)
        console.print(f"{chosen.rounds:,} rounds built in {time.perf_counter() - started:.0f} s")
    measure(chosen.database)
