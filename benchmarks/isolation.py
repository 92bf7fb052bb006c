"""What one user of the service feels of another: certificates beside decisions, and streams that wait for nothing.

The figures before are those that a hostile engineer measured on the first release of the service.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from long_log import STREAM, Author, write
from measure import Row

from likewise.service.log import Store
from service import Asker, Served, served

CROWD = 45
"""Requests for a certificate that are always under way."""
SLOWER = 3.0
"""How many times slower the slowest hundredth of decisions may be beside them."""
SHARE, START = 0.03, 3.0
"""Of a core, that idle streams may take; seconds until a service with them is ready."""
ASK = """
import sys, threading
from http.client import HTTPConnection
host, token, path = sys.argv[1:]
def ask():
    connection = HTTPConnection(host)
    while True:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        assert answer.status == 200 and answer.read()
        print(flush=True)
threads = [threading.Thread(target=ask, daemon=True) for _ in range(%d)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
"""Asks for certificates without pause, in a process of its own, and writes a line for each that came."""


def isolation(quick: bool) -> list[Row]:
    """One row for certificates of a short and of a long log, and two for idle streams."""
    short, long = (300, 3000) if quick else (800, 20_000)
    return [_beside_certificates(short, quick), _beside_certificates(long, quick), *_idle(quick)]


def _beside_certificates(rounds: int, quick: bool) -> Row:
    """Decisions alone and beside a crowd, in turns, by one client."""
    seconds, alone, beside, answered = 2.0 if quick else 6.0, [], [], 0
    with tempfile.TemporaryDirectory(prefix="lw") as folder:
        database = Path(folder) / "log.db"
        write(database, rounds)
        with served(str(database), Path(folder)) as service:
            _p99(service, 1.0)  # until everything is warm
            for _ in range(1 if quick else 3):
                alone.append(_p99(service, seconds))
                with subprocess.Popen(
                    [sys.executable, "-c", ASK % CROWD, *service[:2], f"/v1/streams/{STREAM}/certificate"],
                    stdout=subprocess.PIPE,
                    text=True,
                ) as crowd:
                    assert crowd.stdout is not None
                    crowd.stdout.readline()  # all of them are under way
                    beside.append(_p99(service, seconds))
                    crowd.terminate()
                    answered += len(crowd.stdout.readlines())
    ratio = median(one / other for one, other in zip(beside, alone, strict=True))
    return Row(
        f"a decision beside {CROWD} requests for a certificate of {rounds:,} rounds, without pause",
        "decisions alone; before: 3 ms and 162 ms",
        f"p99 {median(beside) * 1e3:.1f} ms, {answered} certificates meanwhile",
        f"p99 {median(alone) * 1e3:.1f} ms",
        ratio,
        f"≤ {SLOWER:.0f} ×",
        ratio <= SLOWER,
    )


def _p99(service: Served, seconds: float) -> float:
    client = Asker(service.host, service.token, int(time.time() * 1e6))
    client.start()
    time.sleep(seconds)
    client.stopping = True
    client.join()
    assert client.errors == 0, "every request is answered"
    return float(np.percentile(client.took, 99))


def _idle(quick: bool) -> list[Row]:
    """Many streams with open and closed rounds, about which nobody asks anything."""
    streams, watched = (100, 3.0) if quick else (1000, 20.0)
    with tempfile.TemporaryDirectory(prefix="lw") as folder:
        database = Path(folder) / "log.db"
        with Store(database) as store:
            store.migrate()
            for number in range(streams):
                author = Author(store, f"{STREAM}-{number}")
                for _ in range(3):
                    author.round()
                author.end()
        for _ in range(2):  # the first start of a new log takes snapshots
            start = time.perf_counter()
            with served(str(database), Path(folder)) as service:
                ready = time.perf_counter() - start
                time.sleep(3.0)
                before, start = service.cpu(), time.perf_counter()
                time.sleep(watched)
                share = (service.cpu() - before) / (time.perf_counter() - start)
    return [
        Row(f"{streams:,} idle streams, share of a core", "before", f"{share:.2%}", "33 %", 0.33 / max(share, 1e-6),
            f"≤ {SHARE:.0%}", share <= SHARE),
        Row(f"start of a service with {streams:,} streams", "before", f"{ready:.2f} s", "7.5 s", 7.5 / ready,
            f"≤ {START:.0f} s", ready <= START),
    ]  # fmt: skip
