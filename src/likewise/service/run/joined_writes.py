"""Writes of one turn of the event loop, sent together: the head and the body of an answer as one packet.

Uvicorn writes them one after the other. Each write is a call of the system, and wakes whoever reads the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

MOST = 65_536
"""Bytes that wait for the end of a turn; whoever writes more should notice how fast the other side reads."""


class JoinedWrites:
    """A transport for a protocol, which writes to another one.

    Parameters
    ----------
    transport
        Sends what is written, and knows everything else.

    Examples
    --------
    >>> class Printed:
    ...     def write(self, data):
    ...         print(data)
    >>> async def two_writes():
    ...     transport = JoinedWrites(Printed())
    ...     transport.write(b"head, ")
    ...     transport.write(b"body")
    ...     await asyncio.sleep(0)
    >>> asyncio.run(two_writes())
    b'head, body'
    """

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Send this, with whatever else is written in this turn."""
        if not self._waiting:
            self._loop.call_soon(self._send)
        self._waiting.append(data)
        self._size += len(data)
        if self._size > MOST:
            self._send()

    def writelines(self, parts: Iterable[bytes]) -> None:
        """The same for several."""
        self.write(b"".join(parts))

    def write_eof(self) -> None:
        """Say that nothing more comes, once everything is sent."""
        self._send()
        self._transport.write_eof()

    def close(self) -> None:
        """Close the connection, once everything is sent."""
        self._send()
        self._transport.close()

    def abort(self) -> None:
        """Close the connection at once, whatever was not sent."""
        self._waiting, self._size = [], 0
        self._transport.abort()

    def _send(self) -> None:
        waiting, self._waiting, self._size = self._waiting, [], 0
        if waiting:
            self._transport.write(b"".join(waiting))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
