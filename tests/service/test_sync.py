"""What a power cut would leave: the log is synced to disk before the answer goes out, seen in the system calls."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from serving import STREAM, Process, people, until

from likewise.client import Client

CALLS = "pwrite64,write,writev,fsync,fdatasync,sendto,sendmsg,recvfrom,read"
STRACE = shutil.which("strace")


def traceable():
    """Whether system calls can be traced here."""
    if STRACE is None:
        return False
    return (
        subprocess.run([STRACE, "-f", "--seccomp-bpf", "-o", "/dev/null", "true"], capture_output=True).returncode == 0
    )


def happenings(trace):
    """("asked" | "written" | "synced" | "answered") in the order in which they happened."""
    syncing = set()
    for line in trace.splitlines():
        process, _, call = line.partition(" ")
        call = call.strip()
        if re.match(r"(recvfrom|read)\(.*POST /v1/streams/loans/rounds", call) or (
            "resumed" in call and '"POST /v1/streams/loans/rounds' in call
        ):
            yield "asked"
        elif re.match(r"pwrite64\(\d+<[^>]*-wal>", call):
            yield "written"
        elif re.match(r"(fsync|fdatasync)\(\d+<[^>]*-wal>", call):
            if "unfinished" in call:
                syncing.add(process)
            elif call.endswith("= 0"):
                yield "synced"
        elif re.match(r"<\.\.\. (fsync|fdatasync) resumed", call) and process in syncing:
            syncing.discard(process)
            if call.endswith("= 0"):
                yield "synced"
        elif re.match(r"(sendto|sendmsg|write|writev)\(.*HTTP/1\.1 201", call):
            yield "answered"


@pytest.mark.skipif(not traceable(), reason="strace is not here, or may not trace: the order of syncs is NOT checked")
def test_the_log_is_on_disk_before_the_answer_is_sent(tmp_path):
    trace = tmp_path / "trace"
    options = ["-D", "-f", "--seccomp-bpf", "-y", "-s", "60", "-e", f"trace={CALLS}", "-o", str(trace)]
    server = Process(tmp_path / "log.db", before=[STRACE, *options], tick=3600)
    try:
        with Client(server.url, server.token) as client:
            client.create_stream(**STREAM)
            for t in range(10):
                client.decide("loans", people(t))
    finally:
        server.end()
    # The tracer writes its last lines after its process has ended.
    until(lambda: re.search(rf"^{server.process.pid} +\+\+\+ ", trace.read_text(errors="replace"), re.MULTILINE))
    found = list(happenings(trace.read_text(errors="replace")))
    turns = " ".join(found).split("asked")[1:]
    assert len(turns) == 10
    for turn in turns:
        before, answered, _ = turn.partition("answered")
        assert answered
        assert re.search(r"written( written)* synced $", before), f"answered after: {before}"
