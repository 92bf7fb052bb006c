"""Connections that wait: whoever begins a request and doesn't finish its head is let go, the oldest first.

Uvicorn waits for a head for ever, so a thousand connections that say nothing would keep everybody else out.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from likewise.service.run.joined_writes import JoinedWrites

Base: Any = AutoHTTPProtocol


class Impatient(Base):  # type: ignore[misc]
    """Uvicorn's protocol, which lets connections go that don't say what they want.

    Uvicorn makes one for each connection, and may have found the class by its name in another process. So the limits,
    and who waits, belong to the class: a process serves one service.
    """

    seconds: ClassVar[float] = 10.0
    """Within which the head of a request must arrive."""
    most: ClassVar[int] = 500
    """Connections that may wait at the same time."""
    waiting: ClassVar[dict[Any, None]] = {}
    """Those that do, the oldest first."""

    _timer: asyncio.TimerHandle | None = None

    @classmethod
    def limit(cls, seconds: float, most: int) -> None:
        """Set the limits of this process."""
        cls.seconds, cls.most = seconds, most

    def connection_made(self, transport: Any) -> None:
        """Somebody is there: the head of their first request must come."""
        super().connection_made(JoinedWrites(transport))
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Some of a request: if it is not yet under way, its head must come."""
        super().data_received(data)
        if not self._idle():
            self._wait_no_longer()
        elif self._timer is None:
            self._wait()

    def connection_lost(self, error: Exception | None) -> None:
        """Nobody is there any more."""
        self._wait_no_longer()
        super().connection_lost(error)

    def _idle(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self.seconds, self._let_go)
        self.waiting[self] = None
        while len(self.waiting) > self.most:
            next(iter(self.waiting))._let_go()

    def _wait_no_longer(self) -> None:
        self.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _let_go(self) -> None:
        self._wait_no_longer()
        self.transport.abort()
