"""What every part of the engine has: the streams behind the store, and how a command becomes a durable answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from sqlalchemy.exc import DBAPIError

from likewise.service.live.broken import BrokenStreams
from likewise.service.live.heads import Heads
from likewise.service.live.proofs import Proofs
from likewise.service.live.stream import LiveStream, Outcome, Task
from likewise.service.live.streams import Streams
from likewise.service.live.verified import VerifiedReads
from likewise.service.log import Idempotency, Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.erasure import ErasureCleanup, ErasureFile
from likewise.service.log.leases import LARGE, Leases
from likewise.service.log.signing import Signer
from likewise.service.log.stretches import Stretches
from likewise.service.refusals import Unavailable
from likewise.service.stream import commands
from likewise.service.stream.state import State

A = TypeVar("A", bound=Mapping[str, Any])
"""An answer: one of ``likewise.service.stream.answers``."""
Reply = Callable[[Outcome], A]
"""From what a command led to, to its answer, in which there is a place for the receipt."""


class EngineCore:
    """The streams behind a store; ``likewise.service.engine.Engine`` says what is asked of them."""

    def __init__(
        self,
        store: Store,
        signer: Signer,
        checkpoints: CheckpointFile | None = None,
        clock: Callable[[], float] = time.time,
        erasures: ErasureFile | None = None,
    ) -> None:
        self.store = store
        self.signer = signer
        store.keyed_hash, store.receipts = signer.keyed_hash, signer.receipts
        self.checkpoints = checkpoints
        self.clock = clock
        self.ready = False
        """Whether every log was read up to its head."""
        self._heads = Heads(signer, checkpoints)
        self.streams = Streams(store, self._heads.require_signed)
        self.reads = VerifiedReads(store, self.streams)
        self.proofs = Proofs(store, self.streams, signer, self._heads, self.reads)
        self.leases = Leases(store)
        self.broken = BrokenStreams(away=self.away)
        self.erasure_cleanup = ErasureCleanup(store, erasures, clock, self.reads.require, self.broken.guard)
        self._retained: dict[str, int] = {}
        """The last round of each stream from which people were erased because their time was over."""
        self._stretches = Stretches(store, lambda stream, sealed: self.reads.require_whole(stream, sealed))

    def owns(self, live: LiveStream) -> bool:
        """Whether the log of a stream is signed with the key of this service, and was not changed to another one."""
        return self._heads.owns(live.durable.state.key)

    def away(self) -> bool:
        """Whether the database takes no write now: whatever fails then is no stream's own fault."""
        try:
            self.leases.probe(self.clock(), LARGE).result()
        except (DBAPIError, OSError, Unavailable):
            return True
        return False

    def _do(
        self,
        live: LiveStream,
        command: Callable[[State], commands.Command],
        reply: Reply[A],
        key: Idempotency | None = None,
        secret: str | None = None,
    ) -> A:
        # A request sent again gets what was stored: JSON values of the same form.
        return cast(A, live.do(Task(command, self._with_own_key(reply), key, secret), self.clock()))

    def _with_own_key(self, reply: Reply[A]) -> Callable[[Outcome], dict[str, Any]]:
        """The same, refused where the receipt would have to be signed with another key."""

        def answer(outcome: Outcome) -> dict[str, Any]:
            self._heads.require_own_key(outcome.after.key)
            return cast(dict[str, Any], reply(outcome))

        return answer
