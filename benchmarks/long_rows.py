"""Long logs: how soon a certificate, an export, a check and a restart are there, beside what they took before.

The figures before are those of the code before certificates were kept in stretches and exports and checks streamed,
measured once in processor seconds on a shared machine of two cores, on logs of the same kind (2,000 rounds, and 100,000
for certificates).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

from long_log import STREAM, write
from measure import Row

from likewise.service.log import Store
from service import ask, served

CHECK = """
import json, re, sys, time
from likewise.cli import main
start = time.perf_counter()
try:
    main()
except SystemExit as end:
    code = end.code
took = time.perf_counter() - start
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024 / 1e6
print(json.dumps({"code": code, "seconds": took, "megabytes": peak}), file=sys.stderr)
"""
"""Runs a command in a process of its own; its peak is read from /proc, as rusage would tell that of its parent."""
OPTION = {"plain": "--no-replay", "replay": "--replay"}
MOST = {"plain": 200, "replay": 200}
"""Megabytes (10⁶ bytes) of a check, without the learner and with it."""
BEFORE = {"certificate": 31.0, "plain": 3228.0, "replay": 1534.0, "export": 19_657.0}
"""Seconds of a certificate of 100,000 rounds; rounds a second of a check; events a second of an export."""


def long_logs(quick: bool) -> list[Row]:
    """Four kinds of work on one log."""
    rounds = 3000 if quick else 100_000
    with tempfile.TemporaryDirectory(prefix="lw") as folder:
        database = Path(folder) / "log.db"
        write(database, rounds)
        with Store(database) as store:
            events = store.head(STREAM)[0]
        with served(str(database), Path(folder)) as (host, token, process):
            connection = HTTPConnection(host)
            ask(connection, token, "GET", f"/v1/streams/{STREAM}/certificate")  # the first one of a log that is new
            ask(connection, token, "DELETE", f"/v1/streams/{STREAM}/people/{rounds // 2}.1")
            certificate = _seconds(connection, token, "certificate", None)
            export = _seconds(connection, token, "export", Path(folder) / "export.jsonl")
            os.kill(process, signal.SIGKILL)
        start = time.perf_counter()
        with served(str(database), Path(folder)):
            restart = time.perf_counter() - start
        checks = {kind: _checked(Path(folder) / "export.jsonl", kind) for kind in ("plain", "replay")}
    return [
        _certificate(rounds, certificate),
        _rate(f"export of {events:,} events over HTTP", events / export, "events", BEFORE["export"], 30_000),
        _check(rounds, "plain", 5000, checks["plain"]),
        _check(rounds, "replay", 2000, checks["replay"]),
        _start(rounds, restart),
    ]


def _seconds(connection: HTTPConnection, token: str, what: str, to: Path | None) -> float:
    start = time.perf_counter()
    connection.request("GET", f"/v1/streams/{STREAM}/{what}", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    content = answer.read()
    took = time.perf_counter() - start
    assert answer.status == 200, content[:200]
    if to is not None:
        to.write_bytes(content)
    return took


def _checked(export: Path, kind: str) -> dict[str, float]:
    command = [sys.executable, "-c", CHECK, "verify", str(export), OPTION[kind], "--json"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(run.stderr.splitlines()[-1])
    assert json.loads(run.stdout)["first_difference"] is None, "nothing is wrong with the export"
    return found


def _certificate(rounds: int, took: float) -> Row:
    before = BEFORE["certificate"] * rounds / 100_000
    work = f"certificate of {rounds:,} rounds over HTTP, with an erasure since the last one"
    return Row(work, "before", f"{took:.2f} s", f"{before:.1f} s", before / took, "≤ 2 s", took <= 2.0)


def _start(rounds: int, took: float) -> Row:
    work = f"start of a service with {rounds:,} rounds, after an erasure and a kill"
    return Row(work, "the goal", f"{took:.2f} s", "3 s", 3.0 / took, "≤ 3 s", took <= 3.0)


def _rate(work: str, rate: float, what: str, before: float, goal: float) -> Row:
    return Row(
        work, "before", f"{rate:,.0f} {what}/s", f"{before:,.0f}/s", rate / before, f"≥ {goal:,.0f}/s", rate >= goal
    )


def _check(rounds: int, kind: str, goal: float, found: dict[str, float]) -> Row:
    rate, megabytes = rounds / found["seconds"], found["megabytes"]
    row = _rate(f"verify, {kind}, {rounds:,} rounds", rate, "rounds", BEFORE[kind], goal)
    most = MOST[kind]
    enough = row.reached and megabytes <= most
    return replace(row, ours=f"{row.ours}, {megabytes:.0f} MB", goal=f"{row.goal}, ≤ {most} MB", reached=enough)
