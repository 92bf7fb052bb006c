"""Waiting on an event loop for what another thread does, whatever comes of it."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, ref


class Landings:
    """Those who wait on one event loop, and whose wait is over. Writes that land together wake the loop once.

    Parameters
    ----------
    loop
        Where they wait.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)
        self._over: deque[asyncio.Future[None]] = deque()
        self._told = False

    def landed(self, waiting: asyncio.Future[None]) -> None:
        """Somebody need not wait any longer; said by any thread."""
        self._over.append(waiting)  # first: whoever was told before this looks after it
        loop = self._loop()
        if not self._told and loop is not None:
            self._told = True
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                # What the loop itself had written needs no call of the system to wake it.
                (loop.call_soon if _here() is loop else loop.call_soon_threadsafe)(self._wake)

    def _wake(self) -> None:
        self._told = False  # first: whoever lands from here on tells again
        while self._over:
            waiting = self._over.popleft()
            if not waiting.done():
                waiting.set_result(None)


def _here() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs in this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


_LANDINGS: WeakKeyDictionary[asyncio.AbstractEventLoop, Landings] = WeakKeyDictionary()


async def done(writing: Future[Any]) -> None:
    """Wait for the writer, whatever comes of it.

    Not ``asyncio.wrap_future``: leaving would cancel what the writer is about to do, and an error that nobody waits for
    any more would be logged with its words, which may name somebody.
    """
    loop = asyncio.get_running_loop()
    landings = _LANDINGS.get(loop)
    if landings is None:
        landings = _LANDINGS[loop] = Landings(loop)
    waiting = loop.create_future()
    writing.add_done_callback(lambda _: landings.landed(waiting))
    await waiting
