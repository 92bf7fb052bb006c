"""The service manager hears that the service is ready, and that it lives, on a real socket."""

from __future__ import annotations

import contextlib
import socket
import tempfile
from pathlib import Path

import anyio
import pytest
from serving import Process, free_port, running

from likewise.service.engine import Engine
from likewise.service.supervision import keep_notified, notify


@pytest.fixture
def manager():
    """A socket as systemd makes one, and its address; short, as addresses of sockets must be."""
    with (
        tempfile.TemporaryDirectory(prefix="lw") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound,
    ):
        bound.bind(str(Path(folder) / "notify"))
        bound.settimeout(300)
        yield bound


def environment(manager, **more):
    return {"NOTIFY_SOCKET": manager.getsockname()} | more


def told(seconds, *given):
    """Let it tell for a while."""

    async def main():
        with anyio.move_on_after(seconds):
            await keep_notified(*given)

    anyio.run(main)


def messages(manager):
    """Everything that was sent so far."""
    manager.setblocking(False)
    found = []
    with contextlib.suppress(BlockingIOError):
        while True:
            found.append(manager.recv(1000))
    return found


def test_a_socket_without_a_file_works_too():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(f"\0likewise-{id(bound)}")
        notify(f"@likewise-{id(bound)}", "READY=1")
        assert bound.recv(100) == b"READY=1"


def test_nothing_is_sent_before_the_logs_are_read(manager):
    told(0.5, lambda: False, lambda: 0.0, environment(manager))
    assert messages(manager) == []


def test_ready_is_said_once_and_nobody_who_does_not_watch_hears_more(manager):
    told(60, lambda: True, lambda: 0.0, environment(manager))
    assert messages(manager) == [b"READY=1"]


def test_a_clock_that_hangs_is_silent_until_it_moves_again(manager):
    ages = iter([0.0, 0.02, 9.0, 9.0, 9.0, 0.0])
    with pytest.raises((StopIteration, RuntimeError)):
        told(60, lambda: True, lambda: next(ages), environment(manager, WATCHDOG_USEC="60000"))
    assert messages(manager) == [b"READY=1"] + 3 * [b"WATCHDOG=1"]


def test_a_manager_that_is_gone_stops_nothing(tmp_path, caplog):
    told(60, lambda: True, lambda: 0.0, {"NOTIFY_SOCKET": str(tmp_path / "gone")})
    assert "could not be told READY=1: No such file or directory" in caplog.text


def test_without_a_manager_nothing_is_awaited():
    told(60, lambda: pytest.fail("nobody asked"), lambda: 0.0, {})


def test_serve_says_that_it_is_ready_when_it_is(tmp_path, manager, monkeypatch):
    for name, value in environment(manager, WATCHDOG_USEC="300000").items():
        monkeypatch.setenv(name, value)
    server = Process(tmp_path / "loans.db")
    try:
        assert manager.recv(1000) == b"READY=1"
        assert manager.recv(1000) == b"WATCHDOG=1"
        assert server.wait() < 60
    finally:
        server.end()


def test_a_database_that_is_away_does_not_make_the_manager_start_us_again(tmp_path, manager, monkeypatch):
    """Every look of the clock fails, and yet it turns."""
    monkeypatch.setattr(Engine, "tick", lambda self: 1 / 0)
    with running(database=str(tmp_path / "loans.db")) as service:
        service.service.engine.ready = True
        ages = service.service._clock
        assert ages.succeeded.age() >= ages.turned.age()
        for name, value in environment(manager, WATCHDOG_USEC="100000").items():
            monkeypatch.setenv(name, value)
        anyio.run(lambda: _for(0.5, service.service.keep_notified))
        assert ages.succeeded.age() > 0.5 > ages.turned.age()
    assert b"WATCHDOG=1" in messages(manager)


async def _for(seconds, work):
    with anyio.move_on_after(seconds):
        await work()


@pytest.mark.slow
def test_of_several_workers_each_says_that_it_is_ready(tmp_path, manager, monkeypatch, new_database):
    """They are children of the process that systemd started: the unit lets it listen to them."""
    for name, value in environment(manager).items():
        monkeypatch.setenv(name, value)
    beside = {"key": tmp_path / "k", "checkpoints": tmp_path / "c", "workers": 2}
    server = Process(new_database("postgresql"), port=free_port(), **beside)
    try:
        assert [manager.recv(1000) for _ in range(2)] == 2 * [b"READY=1"]
        assert server.wait() < 60
    finally:
        server.end()
