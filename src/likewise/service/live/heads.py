"""Heads: signed checkpoints of the live streams, written as they move on and held against a log that is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from likewise.service.live.stream import LiveStream
from likewise.service.log.checkpoints import CheckpointFile, point
from likewise.service.log.signing import Signer
from likewise.service.refusals import BrokenLog, Unavailable
from likewise.service.stream.events import stamp
from likewise.transparency.notes import Note, checkpoint_of

EVERY_SECONDS = 2.0
"""Between two checkpoints of a stream that moves on, at least;"""
EVERY_EVENTS = 1000
"""unless so many events came meanwhile."""


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

    def __init__(self, signer: Signer, file: CheckpointFile | None) -> None:
        self._signer = signer
        self._file = file
        self._signed: dict[str, tuple[int, float]] = {}
        self._sizes: dict[str, int] = {}
        self._unsigned: dict[str, float] = {}
        self._looked = -math.inf
        self._read: tuple[int, dict[str, Note]] = (0, {})

    def require_all(self, streams: Callable[[], Collection[str]]) -> None:
        """Hold the names of all streams against everything that was ever signed."""
        if self._file is not None:
            signed = self._newest()  # first: another process may begin a stream, and sign it, at any time
            require_all_there(streams(), signed, self._file)

    def owns(self, key: str | None) -> bool:
        """Whether a log is still signed with this key: it was never changed, or to this one."""
        return key in (None, self._signer.public_key)

    def require_own_key(self, key: str | None) -> None:
        """Refuse to go on with a log whose key was changed to another one."""
        if not self.owns(key):
            raise Unavailable(f"The key was changed to {key}: start the service again, with that key.")

    def require_signed(self, live: LiveStream) -> None:
        """Hold a log against its newest checkpoint: from now on we sign what follows from it."""
        if not self.owns(live.latest.state.key):
            return  # nothing is signed until the service has that key
        note = self._newest().get(live.name)
        if self._file is None or note is None:
            return
        origin, size, root = checkpoint_of(note)
        if origin != self._signer.origin(live.name):
            raise BrokenLog(
                f"The log of {live.name!r} was signed under the name {origin!r}; `origin` must be what it was then."
            )
        if size > live.latest.tree.size:  # another process may have written and signed since the log was read
            live.positions.catch_up()
        known = live.latest.tree
        if size > known.size or (known if size == known.size else live.tree.frontier(size)).root != root:
            raise BrokenLog(
                f"Event {size} of {live.name!r} is not the one that was signed: the log was changed, cut off or "
                f"restored from an old copy. If that was intended, move {self._file.path} away."
            )
        self._sizes[live.name] = size

    def sign(self, streams: Sequence[LiveStream], now: float, *, always: bool = False) -> None:
        """Write a checkpoint of every stream that has moved since its last one, if that is long ago, or ``always``."""
        if self._file is None:
            return
        own = [live for live in streams if self.owns(live.durable.state.key)]
        moved = [(live.name, live.durable.tree) for live in own if self._due(live, now, always=always)]
        at, key = stamp(now), self._signer.public_key
        self._file.write([point(name, at, key, self._signer.checkpoint(name, tree)) for name, tree in moved])
        self._signed |= {name: (tree.size, now) for name, tree in moved}
        self._sizes |= {name: tree.size for name, tree in moved}
        self._note_unsigned(streams, now)

    def signed(self, live: LiveStream) -> int:
        """The newest event of a stream that a checkpoint covers; all of them where nothing is signed."""
        return live.durable.seq if self._file is None else self._sizes.get(live.name, 0)

    def unsigned_for(self, live: LiveStream, now: float) -> float:
        """Seconds that the oldest event of a stream has waited to be signed; up to one look of the clock too many.

        The time of the event itself would have to be read from the database, which may be what is the matter.
        """
        if self._file is None or live.durable.seq <= self._sizes.get(live.name, 0):
            return 0.0
        since = self._unsigned.get(live.name, self._looked)
        return max(0.0, now - since) if math.isfinite(since) else 0.0

    def _note_unsigned(self, streams: Sequence[LiveStream], now: float) -> None:
        """Remember since when a stream has events without a checkpoint: at the last look it had none."""
        before = self._looked if math.isfinite(self._looked) else now
        waiting = (live.name for live in streams if live.durable.seq > self._sizes.get(live.name, 0))
        self._unsigned = {name: self._unsigned.get(name, before) for name in waiting}
        self._looked = now

    def _due(self, live: LiveStream, now: float, *, always: bool) -> bool:
        seq, at = self._signed.get(live.name, (0, -EVERY_SECONDS))
        new = live.durable.seq - seq
        long_ago = abs(now - at) >= EVERY_SECONDS  # a clock may have been set back
        return new > 0 and (always or long_ago or new >= EVERY_EVENTS)

    def _newest(self) -> dict[str, Note]:
        """The newest checkpoint of every stream; the file is read again only if it has changed."""
        if self._file is None or not self._file.path.exists():
            return {}
        size = self._file.path.stat().st_size
        if size != self._read[0]:
            self._read = size, self._file.newest(self._signer.public_key)
        return self._read[1]
