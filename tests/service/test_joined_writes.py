"""What is written in one turn of the event loop goes out together, in its order, and nothing is held back."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn
from uvicorn.server import ServerState

from likewise.service.run.impatience import Impatient
from likewise.service.run.joined_writes import MOST, JoinedWrites


class Transport:
    """Notes what is done with it."""

    def __init__(self):
        self.done = []

    def write(self, data):
        self.done.append(data)

    def close(self):
        self.done.append("closed")

    def abort(self):
        self.done.append("aborted")

    def write_eof(self):
        self.done.append("eof")

    def get_extra_info(self, name):
        return f"the {name}"


def done(write):
    """What reaches the transport until the end of the turn after that in which ``write`` is called."""

    async def main():
        transport = Transport()
        write(JoinedWrites(transport))
        now = list(transport.done)
        await asyncio.sleep(0)
        return now, transport.done

    return asyncio.run(main())


def test_writes_of_one_turn_are_one():
    assert done(lambda joined: [joined.write(part) for part in (b"a", b"", b"b")]) == ([], [b"ab"])


def test_those_of_the_next_turn_are_another():
    async def main():
        transport = Transport()
        joined = JoinedWrites(transport)
        for part in (b"a", b"b"):
            joined.write(part)
            await asyncio.sleep(0)
        return transport.done

    assert asyncio.run(main()) == [b"a", b"b"]


def test_what_is_long_is_not_held_back_and_keeps_its_place():
    long = bytes(MOST)
    now, later = done(lambda joined: [joined.write(part) for part in (b"a", long, b"b")])
    assert now == [b"a" + long]
    assert later == [b"a" + long, b"b"]


def test_closing_sends_first():
    assert done(lambda joined: (joined.write(b"a"), joined.close())) == ([b"a", "closed"], [b"a", "closed"])


def test_aborting_sends_nothing_more():
    assert done(lambda joined: (joined.write(b"a"), joined.abort())) == (["aborted"], ["aborted"])


def test_every_way_to_write_keeps_the_order():
    def write(joined):
        joined.write(b"a")
        joined.writelines([b"b", b"c"])
        joined.write_eof()

    assert done(write) == ([b"abc", "eof"], [b"abc", "eof"])


def test_everything_else_is_the_transports():
    async def main():
        return JoinedWrites(Transport()).get_extra_info("peername")

    assert asyncio.run(main()) == "the peername"


@pytest.mark.parametrize("size", [2, 3 * MOST])
def test_an_answer_of_the_server_is_whole(size):
    """Uvicorn writes head and body apart, and a long body is sent in a turn of its own."""
    body = bytes(size)

    async def hello(scope, receive, send):
        length = str(size).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": body})

    async def main():
        settings = uvicorn.Config(hello, http=Impatient, log_config=None, lifespan="off")
        settings.load()
        server = await asyncio.get_running_loop().create_server(
            lambda: Impatient(config=settings, server_state=ServerState(), app_state={}), "127.0.0.1", 0
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            answer = await reader.read()
            writer.close()
        return answer

    head, _, rest = asyncio.run(main()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert rest == body
