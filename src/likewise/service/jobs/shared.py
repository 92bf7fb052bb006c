"""Work that several ask for at the same time is done once, for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

Task = asyncio.Task[Any]


class SharedWork:
    """At most one run at a time of each work, and one more for everybody who asks meanwhile.

    Nobody gets an answer that was begun before they asked. Used on one event loop, so no lock guards it.

    Examples
    --------
    >>> async def twenty_ask() -> tuple[set[int], int]:
    ...     shared, runs = SharedWork(), []
    ...     async def work() -> int:
    ...         runs.append(1)
    ...         return len(runs)
    ...     return set(await asyncio.gather(*(shared.result("letter", work) for _ in range(20)))), len(runs)
    >>> asyncio.run(twenty_ask())
    ({1}, 1)
    """

    def __init__(self) -> None:
        self._running: dict[Hashable, Task] = {}
        self._next: dict[Hashable, Task] = {}

    def running(self, key: Hashable) -> bool:
        """Whether the work under a key is being done for somebody."""
        return key in self._running

    async def result(self, key: Hashable, work: Callable[[], Awaitable[Any]]) -> Any:
        """What ``work`` gives, run for everybody who asks under this key now; whoever leaves stops nobody else's."""
        if key not in self._next:
            self._next[key] = asyncio.create_task(self._run(key, self._running.get(key), work))
        return await asyncio.shield(self._next[key])

    async def _run(self, key: Hashable, before: Task | None, work: Callable[[], Awaitable[Any]]) -> Any:
        if before is not None:
            await asyncio.wait([before])
        else:
            await asyncio.sleep(0)  # whoever asks at the same moment joins
        task = self._running[key] = self._next.pop(key)
        try:
            return await work()
        finally:
            if self._running.get(key) is task:
                del self._running[key]
