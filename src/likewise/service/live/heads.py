"""Heads: signed checkpoints of the live streams, written as they move on and held against a log that is read."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.service.live.stream import LiveStream
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.signing import Signer
from likewise.service.refusals import BrokenLog

CHECKPOINTS_READ = 1_000_000
"""Bytes at the end of the file of checkpoints that a log is held against when it is read."""


class Heads:
    """Signs how far each log has come; without a file there is nothing to sign or to check.

    No lock guards it: only the clock's thread signs.
    """

    def __init__(self, store: Store, signer: Signer, file: CheckpointFile | None) -> None:
        self._store = store
        self._signer = signer
        self._file = file
        self._signed: dict[str, int] = {}

    def require_signed(self, name: str) -> None:
        """Hold a log against its newest checkpoint: from now on we sign what follows from it."""
        if self._file is None:
            return
        points = [point for point in self._file.read(name, last=CHECKPOINTS_READ) if self._ours(point["key"])]
        if not points:
            return
        seq, hash = points[-1]["seq"], points[-1]["hash"]
        if [sealed.hash for sealed in self._store.events(name, seq - 1, 1)] != [hash]:
            raise BrokenLog(
                f"Event {seq} of {name!r} is not the one that was signed: the log was changed, cut off or restored "
                f"from an old copy. If that was intended, move {self._file.path} away."
            )

    def sign(self, streams: Sequence[LiveStream], at: str) -> None:
        """Write a checkpoint of every stream that has moved since its last one."""
        if self._file is None:
            return
        heads = [(live.name, live.durable) for live in streams]
        moved = [(name, head) for name, head in heads if head.seq > self._signed.get(name, 0)]
        self._file.write(self._signer.sign(name, head.seq, head.hash, at) for name, head in moved)
        self._signed |= {name: head.seq for name, head in moved}

    def _ours(self, key: str) -> bool:
        return key == self._signer.public_key
