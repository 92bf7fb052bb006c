"""Heads: signed checkpoints of the live streams, written as they move on and held against a log that is read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from likewise.service.live.stream import LiveStream
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.signing import Signer
from likewise.service.refusals import BrokenLog


def require_all_there(streams: Collection[str], signed: Collection[str], file: CheckpointFile) -> None:
    """Refuse a database without a stream that was ever signed: a lost log is not a first start."""
    gone = sorted(set(signed) - set(streams))
    if gone:
        raise BrokenLog(
            f"{file.path} holds checkpoints of {', '.join(map(repr, gone))}, which the database doesn't have: put the "
            f"database back, or restore a backup. If the log is gone on purpose, move {file.path} away."
        )


class Heads:
    """Signs how far each log has come; without a file there is nothing to sign or to check.

    No lock guards it: only the clock's thread signs.
    """

    def __init__(self, store: Store, signer: Signer, file: CheckpointFile | None) -> None:
        self._store = store
        self._signer = signer
        self._file = file
        self._signed: dict[str, int] = {}
        self._read: tuple[int, dict[str, dict[str, Any]]] = (0, {})

    def require_all(self, streams: Collection[str]) -> None:
        """Hold the names of all streams against everything that was ever signed."""
        if self._file is not None:
            require_all_there(streams, self._newest(), self._file)

    def require_signed(self, name: str) -> None:
        """Hold a log against its newest checkpoint: from now on we sign what follows from it."""
        point = self._newest().get(name)
        if self._file is None or point is None:
            return
        seq, hash = point["seq"], point["hash"]
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

    def _newest(self) -> dict[str, dict[str, Any]]:
        """The newest checkpoint of every stream; the file is read again only if it has grown."""
        if self._file is None or not self._file.path.exists():
            return {}
        size = self._file.path.stat().st_size
        if size != self._read[0]:
            self._read = size, self._file.newest(self._signer.public_key)
        return self._read[1]
