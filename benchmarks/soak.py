"""A service that is killed again and again, with clock jumps, under load: do its memory and its files stay flat?

``python benchmarks/soak.py 60`` runs it for sixty minutes on SQLite, with ``--on postgresql`` on a server that is made
for it. The service lives for a while, is killed with
``kill -9`` and started again. In each life, clients open, label and review rounds and erase people, and once the clock
is 25 hours ahead for some seconds. Clients check every receipt, and that the log only grew, through all kills.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from likewise.client import Client, ServiceRefused, ServiceUnreachable
from likewise.service.log.checkpoints import SMALL
from likewise.service.log.connections import WAL_PAGES
from service import STREAM, K, postgresql

CLIENTS = 2
PAUSE = 0.03
"""Seconds that a client waits after a round: an hour is about growth, and leaves the machine to others."""
AHEAD = 25 * 3600.0
JUMP = 3.0
"""Seconds for which the clock is ahead."""
WAL_LIMIT = WAL_PAGES * (4096 + 24)
"""Bytes of SQLite's write-ahead file up to which it is left alone, as is a file of checkpoints up to ``SMALL``."""
ALLOWED = 1.10
"""What is called flat: the last third of lives has at most so many times what the third before had."""
SERVE = """
import os, sys, time
real, path = time.time, os.environ["SOAK_CLOCK"]
time.time = lambda: real() + os.stat(path).st_size  # seconds ahead
from likewise.cli import main
main(sys.argv[1:])
"""
"""``likewise serve`` with a clock that can be moved: a file's size says how far, and a file can have holes."""


class Life(NamedTuple):
    """What there was when the service was killed."""

    minute: float
    events: int
    memory: int
    database: int
    wal: int
    checkpoints: int
    erased: int
    erasures: int


class Load(threading.Thread):
    """A client that opens, labels and reviews rounds and erases people, until it is told to stop."""

    def __init__(self, url: str, token: str, folder: Path, number: int) -> None:
        super().__init__(daemon=True)
        self.rounds = self.erased = self.refused = 0
        self.newest = 0
        self.stopping = False
        self.failure: Exception | None = None
        self._rng, self._number = random.Random(number), number
        self._client = Client(url, token, retries=2, check_every=1, kept=folder / f"kept-{number}.json")

    def run(self) -> None:
        """Go on whatever is refused; anything that a client must not accept ends it."""
        while not self.stopping:
            try:
                self._round()
                time.sleep(PAUSE)
            except ServiceUnreachable:
                time.sleep(0.1)
            except ServiceRefused as error:
                self.refused += 1
                if error.status >= 500 and error.status != 503:
                    self.failure = error
                    return
            except Exception as error:  # handed to whoever watches
                self.failure = error
                return

    def _round(self) -> None:
        client, ids = self._client, [f"{self._number}-{self._rng.randrange(10**12)}" for _ in range(K)]
        features = [{"score": self._rng.random(), "age": self._rng.random()} for _ in ids]
        people = [{"id": id, "features": each} for id, each in zip(ids, features, strict=True)]
        opened = client.decide("loans", people)
        client.label("loans", opened["t"], {id: self._rng.randrange(2) for id in ids})
        self._seen(client.audit("loans", opened["t"], "none", note="nothing to see"))
        self.rounds += 1
        if self._rng.random() < 0.02:
            self._seen(client.erase("loans", ids[0]))
            self.erased += 1

    def _seen(self, answer: dict[str, Any]) -> None:
        if answer["receipt"] is not None:
            self.newest = max(self.newest, answer["receipt"]["seq"])


class Soak:
    """The service's process, its clients, and the files that are watched."""

    def __init__(self, folder: Path, server: str = "") -> None:
        self.folder, self.clock = folder, folder / "clock"
        self.database = server or str(folder / "log.db")
        self.clock.touch()
        self.token = ""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = self._start()
        self.url = f"http://127.0.0.1:{self.port}"
        with Client(self.url, self.token, retries=20) as client:
            client.create_stream(**STREAM | {"waits": {"grace": 0}, "review": {"ask_all": True}})
        self.load = [Load(self.url, self.token, folder, number) for number in range(CLIENTS)]
        for one in self.load:
            one.start()

    def _start(self) -> subprocess.Popen[str]:
        names = ("key", "checkpoints", "erasures")
        beside = {f"LIKEWISE_{name.upper()}": str(self.folder / name) for name in names}
        limits = {"LIKEWISE_MAX_RATE": "1e9", "PYTHONUNBUFFERED": "1", "SOAK_CLOCK": str(self.clock)}
        command = [sys.executable, "-c", SERVE, "serve", "--database", self.database, "--port", str(self.port)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **beside, **limits})
        assert process.stdout is not None
        said = ""
        while "Serving at" not in said:
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"The service did not start again: {said}")
            said += line
        if shown := re.search(r"lw_\w+", said):  # on the first start only
            self.token = shown[0]
        return process

    def live(self, seconds: float, began: float) -> Life:
        """One life, to its end by ``kill -9``."""
        self._sleep(seconds / 2)
        os.truncate(self.clock, int(AHEAD))
        self._sleep(JUMP)
        os.truncate(self.clock, 0)
        self._sleep(seconds / 2 - JUMP)
        life = self._measured(began)
        self.process.kill()
        self.process.wait()
        self.process = self._start()
        return life

    def _sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))
        for one in self.load:
            if one.failure is not None:
                raise SystemExit(f"A client failed: {one.failure!r}")

    def _measured(self, began: float) -> Life:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        memory = int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024  # type: ignore[index]
        sizes = [self._in_database(), _size(self.folder / "log.db-wal"), _size(self.folder / "checkpoints")]
        newest, erased = max(one.newest for one in self.load), sum(one.erased for one in self.load)
        return Life((time.monotonic() - began) / 60, newest, memory, *sizes, erased, _size(self.folder / "erasures"))

    def _in_database(self) -> int:
        if not self.database.startswith("postgresql"):
            return _size(Path(self.database))
        import psycopg

        with psycopg.connect(self.database) as connection:
            return int(connection.execute("SELECT pg_database_size(current_database())").fetchone()[0])

    def end(self) -> None:
        """Stop the clients, see that the log went on from all that they kept, and stop the service."""
        for one in self.load:
            one.stopping = True
        for one in self.load:
            one.join(60)
        self._sleep(0)
        for number in range(CLIENTS):
            with Client(self.url, self.token, kept=self.folder / f"kept-{number}.json", retries=20) as client:
                client.check("loans")
        self.process.terminate()
        self.process.wait()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def growth(values: Sequence[float], of: Callable[[Sequence[float]], float] = median) -> float:
    """What the last third of lives had, as a multiple of what the third before had."""
    third = max(1, len(values) // 3)
    before = of(values[-2 * third : -third] or values)
    return of(values[-third:]) / before if before else 1.0


def report(lives: Sequence[Life]) -> bool:
    """Say for each thing that should not grow whether it did; files that are cut back at times count by their peaks."""
    grown = {
        "memory": growth([life.memory for life in lives]),
        "bytes an event in the database": growth([life.database / life.events for life in lives]),
        "bytes of the list of erasures for each": growth([life.erasures / max(1, life.erased) for life in lives]),
        "the largest write-ahead file, or its limit": growth([max(WAL_LIMIT, life.wal) for life in lives], max),
        "the largest file of checkpoints, or its limit": growth([max(SMALL, life.checkpoints) for life in lives], max),
    }
    for name, times in grown.items():
        say(f"{name}: {times:.2f} times what it was, {'flat' if times <= ALLOWED else 'NOT FLAT'}")
    return max(grown.values()) <= ALLOWED


def row(life: Life) -> str:
    """A line of the table."""
    memory, database, wal = (size / 2**20 for size in (life.memory, life.database, life.wal))
    return (
        f"{life.minute:6.1f} {life.events:7d} {memory:11.1f} {database:13.2f} {wal:8.2f} "
        f"{life.checkpoints / 2**10:16.1f} {life.erased:7d} {life.erasures / 2**10:13.1f}"
    )


def say(line: str) -> None:
    """Print at once, also into a file."""
    print(line, flush=True)  # noqa: T201


def main(minutes: float, life: float, on: str) -> bool:
    """Soak for so long, print a line for each life, and say what is flat."""
    lives: list[Life] = []
    with tempfile.TemporaryDirectory(prefix="lw") as name, ExitStack() as ends:
        folder = Path(name)
        soak = Soak(folder, ends.enter_context(postgresql(folder)) if on == "postgresql" else "")
        began = time.monotonic()
        try:
            say("minute  events  memory MiB  database MiB  WAL MiB  checkpoints KiB  erased  erasures KiB")
            while time.monotonic() - began < minutes * 60:
                lives.append(now := soak.live(life, began))
                say(row(now))
            soak.end()
        finally:
            soak.process.kill()
    rounds, refused = (sum(getattr(one, what) for one in soak.load) for what in ("rounds", "refused"))
    say(f"{len(lives)} lives, each ended by kill -9 and with the clock 25 h ahead for {JUMP:.0f} s; {rounds} rounds,")
    say(f"{lives[-1].erased} people erased, {refused} requests refused; every receipt and checkpoint was consistent.")
    return report(lives)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", type=float, help="how long")
    parser.add_argument("--life", type=float, default=60, help="seconds between two kills (60)")
    parser.add_argument("--on", choices=["sqlite", "postgresql"], default="sqlite", help="the database (sqlite)")
    chosen = parser.parse_args()
    sys.exit(0 if main(chosen.minutes, chosen.life, chosen.on) else 1)
