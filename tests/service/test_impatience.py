"""Connections that say nothing, or half of a request, keep nobody out."""

from __future__ import annotations

import contextlib
import socket
import threading

import httpx
import pytest
import uvicorn
from serving import Process, Server, until

from likewise.service.run.impatience import Impatient


async def hello(scope, receive, send):
    """An application that answers everybody."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setattr(Impatient, "seconds", 0.3)
    monkeypatch.setattr(Impatient, "most", 20)
    settings = uvicorn.Config(hello, port=0, http=Impatient, log_config=None, lifespan="off", timeout_keep_alive=60)
    bound = settings.bind_socket()
    server = Server(settings)
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    until(lambda: server.started)
    yield bound.getsockname()
    server.should_exit = True
    thread.join()
    bound.close()


def ended(connection):
    """Whether the other side let go."""
    connection.settimeout(30)
    with contextlib.suppress(ConnectionResetError):
        return connection.recv(1) == b""
    return True


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: a\r\nX-Half: "])
def test_half_a_head_is_not_waited_for(address, said):
    with socket.create_connection(address) as connection:
        connection.sendall(said)
        assert ended(connection)


def test_the_second_request_of_a_connection_is_waited_for_no_longer(address):
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = b""
        while not answer.endswith(b"hi"):
            answer += connection.recv(4096)
        connection.sendall(b"GET / HT")
        assert ended(connection)


def test_more_than_some_do_not_wait_at_once_and_others_are_answered(address, monkeypatch):
    monkeypatch.setattr(Impatient, "seconds", 300.0)
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(address)) for _ in range(60)]
        for _ in range(20):
            assert httpx.get(f"http://{address[0]}:{address[1]}", timeout=300).text == "hi"
        assert ended(silent[0]), "the oldest was let go"
        until(lambda: len(Impatient.waiting) <= 20)


@pytest.mark.slow
def test_eleven_hundred_half_sent_requests_are_no_outage(tmp_path):
    server = Process(tmp_path / "log.db")
    host, port = server.url.removeprefix("http://").split(":")
    try:
        server.wait()
        with contextlib.ExitStack() as stack:
            for _ in range(1100):
                half = stack.enter_context(socket.create_connection((host, int(port))))
                half.sendall(b"POST /v1/streams HTTP/1.1\r\nHost: a\r\n")
            for _ in range(50):
                assert httpx.get(f"{server.url}/livez", timeout=300).status_code == 200
    finally:
        server.end("kill")
