"""What the service itself asks of the engine: to start, to do what time has made due, to close."""

from __future__ import annotations

from collections.abc import Iterator

from likewise.service.engine.core import EngineCore
from likewise.service.live.health import health
from likewise.service.log.chain import Head
from likewise.service.monitoring import StreamHealth

KEPT = 86_400.0
"""Seconds for which an idempotency key, and a lease that ran out, is remembered, at least."""


class Upkeep(EngineCore):
    """Starts, ticks, tidies up and closes."""

    def start(self) -> None:
        """Read every log up to its head, and refuse one that is not what was signed; the others go on without it."""
        self._heads.require_all(self.streams.names)
        names = self.streams.names()
        for name in names:
            self.broken.guard(name, lambda: self.streams.get(name))  # noqa: B023
        self.erasure_cleanup.begin(name for name in names if name not in self.broken)
        self.ready = True

    def close(self) -> None:
        """Sign and save where every stream stands, and let go of the store."""
        try:
            self.sign_heads(always=True)
            for live in self.streams.loaded():
                live.save(always=True)
        finally:
            self.store.close()

    def tick(self) -> int:
        """Do what time has made due in every stream, take snapshots, sign heads, tidy up; how many rounds it moved."""
        now, moved = self.clock(), 0
        self.store.require_same_file()
        self.erasure_cleanup.retry()
        for name, head in self.streams.heads().items():
            self.streams.watch(name, head, now)
            if not self.streams.idle(name, head, now):
                moved += self.broken.guard(name, lambda: self._advance(name, head, now)) or 0  # noqa: B023
            elif moved == 0:
                moved += self.broken.guard(name, lambda: self._prepare(name)) or 0  # noqa: B023
        self.sign_heads()
        self.store.tidy()
        return moved

    def _advance(self, name: str, head: Head, now: float) -> int:
        live = self.streams.get(name)
        live.look(head)
        if not self._heads.owns(live.current().key):
            return 0
        moved = live.advance(now)
        if not live.elsewhere:
            live.save()
            live.tree.keep(live.durable.seq)
        state, seq, hash = live.durable[:3]
        live.people.keep(state.opened, seq, hash)
        live.places.keep(seq)
        return moved

    def _prepare(self, name: str) -> int:
        """Make the next stretch of a quiet stream for its certificate, and of its index, so that nobody has to wait."""
        live = self.streams.get(name)
        state, seq = live.durable[:2]
        if not self._stretches.catch_up(name, state, seq):
            self.reads.prepare(live)
            self.reads.prepare_places(live)
        return 0

    def sweep(self) -> None:
        """Forget leases and idempotency keys that are too old to matter."""
        before = self.clock() - KEPT
        self.leases.sweep(before)
        self.store.forget_responses(before)

    def sign_heads(self, *, always: bool = False) -> None:
        """Write a signed checkpoint of every stream that has moved since the last one, now and then or ``always``."""
        self._heads.sign(self.streams.loaded(), self.clock(), always=always)

    def health(self) -> Iterator[StreamHealth]:
        """How each stream is doing, for those who watch."""
        return health(self.streams, self._heads, self.broken, self.clock())
