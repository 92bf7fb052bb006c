"""The live streams of a store, by name."""

from __future__ import annotations

import threading
from collections.abc import Callable

from likewise.service.live.stream import LiveStream
from likewise.service.log import Store
from likewise.service.log.chain import NOTHING, Head
from likewise.service.refusals import Unknown


class Streams:
    """The live streams of a store, each read when it is first asked for.

    A lock of its own guards the names; nobody takes another one, or waits, while holding it.
    """

    def __init__(self, store: Store, check: Callable[[LiveStream], None] = lambda live: None) -> None:
        self._store = store
        self._check = check
        self._lock = threading.Lock()
        self._live: dict[str, LiveStream] = {}

    def names(self) -> list[str]:
        """The streams there are."""
        return self._store.streams()

    def loaded(self) -> list[LiveStream]:
        """The streams that were asked for so far."""
        with self._lock:
            return [live for live in self._live.values() if live.loaded]

    def heads(self) -> dict[str, Head]:
        """The last event of every stream, as the log has it; no event of a stream that it has lost altogether."""
        heads = self._store.heads()
        lost = [live.name for live in self.loaded() if live.name not in heads and live.durable.seq > 0]
        return heads | dict.fromkeys(lost, NOTHING)

    def idle(self, name: str, head: Head, now: float) -> bool:
        """Whether a stream, whose last event is ``head``, waits for nothing."""
        live = self._live.get(name)
        return live is not None and live.idle(head, now)

    def watch(self, name: str, head: Head, now: float) -> None:
        """Note who moves a stream on, whose last event is ``head``."""
        live = self._live.get(name)
        if live is not None:
            live.watch(head.seq, now)

    def known(self, name: str) -> LiveStream | None:
        """A stream that was read before; None says nothing about whether there is one."""
        live = self._live.get(name)
        return live if live is not None and live.loaded and live.latest.seq > 0 else None

    def get(self, name: str, *, create: bool = False) -> LiveStream:
        """A stream, read up to the head of its log; a new one only if ``create``."""
        with self._lock:
            live = self._live.get(name)
            if live is None:
                live = self._live[name] = LiveStream(name, self._store, self._check)
        live.load()
        if not create and live.latest.seq == 0 and not live.positions.catch_up():
            with self._lock:
                self._live.pop(name, None)
            raise Unknown(f"There is no stream named {name!r}.")
        return live
