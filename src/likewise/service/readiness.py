"""Whether the service can do its work now: its logs were read, and its database takes a write.

It is found out by writing, as a disk that is full, a file that is locked and a database that is away all look well to
whoever only reads.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import anyio

from likewise.service.engine import Engine
from likewise.service.live.landing import done
from likewise.service.log.leases import LARGE
from likewise.service.refusals import Unavailable

PATIENCE = 2.0
"""Seconds that a write may take until the service counts as not ready."""
FRESH = 1.0
"""Seconds for which a write that succeeded speaks for the next question, too."""
LEAST = 2**22
"""Bytes that must be free on the disk of the database."""


class Readiness:
    """Looks whether an engine can work. Asked on the event loop only, so no lock guards it.

    Parameters
    ----------
    engine
        Whose logs and database are looked at.
    monotonic
        Seconds.
    """

    def __init__(self, engine: Engine, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._monotonic = monotonic
        self._writing: Future[Any] | None = None
        self._large = False
        self._wrote_at = -FRESH

    async def problem(self) -> str:
        """Why the service is not ready, in a sentence; "" if it is."""
        if not self._engine.ready:
            return "The service is still reading its logs; try again in a moment."
        loaded = len(self._engine.streams.loaded())
        if len(self._engine.broken) > 0 and loaded == 0:
            return "No log can be continued; see the service's own log."
        if self._engine.store.room() < LEAST:
            return "The disk of the database is full."
        if self._monotonic() < self._wrote_at + FRESH and not self._engine.store.failing:
            return ""
        return await self._written()

    async def _written(self) -> str:
        """Write something, or wait for the write that is still on its way."""
        try:
            if self._writing is None:
                self._large = self._engine.store.failing
                self._writing = self._engine.leases.probe(self._engine.clock(), LARGE if self._large else 0)
        except Unavailable as error:
            return str(error)
        writing = self._writing
        with anyio.move_on_after(PATIENCE):
            await done(writing)
        if not writing.done():
            return "The database does not answer."
        self._writing = None
        if writing.exception() is not None:
            return "The database does not accept a write."
        if self._large:
            self._engine.store.failing = False
        self._wrote_at = self._monotonic()
        return ""
