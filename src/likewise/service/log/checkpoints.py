"""Files of facts, one JSON object per line: among them the signed checkpoints, which are thinned as they grow old.

A checkpoint that is copied away shows that a log was recomputed from its start; see ``likewise.service.log.signing``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from likewise.errors import InvalidParameter
from likewise.service.canonical import dumps
from likewise.service.stream.events import seconds
from likewise.storage import append_lines, json_line, json_lines, write_whole
from likewise.transparency.notes import Note, read_note

try:
    import fcntl
except ImportError:  # no such locks there, and no several workers either
    fcntl = None  # type: ignore[assignment]

LAST = 10_000
"""Bytes at the end of the file in which its newest checkpoint stands."""
SMALL = 64_000
"""Bytes up to which a file is not worth thinning."""
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
AGES = ((MINUTE, 0.0), (HOUR, MINUTE), (DAY, HOUR), (30 * DAY, DAY))
"""Up to an age, the seconds of which one checkpoint is kept; beyond that, one in thirty days."""


class LineFile:
    """Facts about streams, one JSON object per line, only ever added to."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def write(self, facts: Iterable[dict[str, Any]]) -> None:
        """Add facts; they are on disk when this returns."""
        append_lines(self.path, map(dumps, facts))

    def read(self, stream: str | None = None, last: int | None = None) -> Iterator[dict[str, Any]]:
        """The facts written so far, of one stream if wanted; or those in the ``last`` bytes. Half a line is none."""
        for _, fact in json_lines(self.path, last=last):
            if fact is not None and "stream" in fact and stream in (None, fact["stream"]):
                yield fact


def point(stream: str, at: str, key: str, note: Note) -> dict[str, Any]:
    """A checkpoint as its file holds it. Only the note is signed; the rest is there to find and to thin it."""
    return {"stream": stream, "at": at, "key": key, "note": str(note)}


class CheckpointFile(LineFile):
    """Signed checkpoints. The file doesn't grow without bound: of old ones only some are kept."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self._thinned = 0

    def write(self, facts: Iterable[dict[str, Any]]) -> None:
        """Add checkpoints; they are on disk when this returns. If the file has become long, thin it."""
        lines = list(facts)
        if not lines:
            return
        with self._alone():
            super().write(lines)
            if self.path.stat().st_size > max(SMALL, 2 * self._thinned):
                self._thin(max(seconds(fact["at"]) for fact in lines))

    def last_key(self) -> str | None:
        """The public key of the newest checkpoint; None if there is none."""
        self._refuse_other_formats()
        keys = [str(fact["key"]) for fact in self.read(last=LAST) if "note" in fact]
        return keys[-1] if keys else None

    def newest(self, key: str) -> dict[str, Note]:
        """The newest checkpoint of every stream that this key ever signed, by name.

        The file may be long, so lines are told apart by their ends, which hold the stream, and only the last one of
        each is read.
        """
        lines: dict[bytes, tuple[int, bytes]] = {}
        if self.path.exists():
            with self.path.open("rb") as file:
                for number, line in enumerate(file):
                    if key.encode() in line:
                        lines[line[line.rfind(b'"stream":') :].strip()] = number, line
        facts = (json_line(line) for _, line in sorted(lines.values()))
        return {fact["stream"]: read_note(fact["note"]) for fact in facts if fact is not None and "note" in fact}

    def _refuse_other_formats(self) -> None:
        first = next(self.read(), {})
        if "signature" in first:
            raise InvalidParameter(
                f"{self.path} holds checkpoints in a format that this release can't read: "
                "keep it with the database and the release that wrote it, and begin with new files."
            )

    def _thin(self, now: float) -> None:
        """Keep fewer checkpoints the older they are: the newest of each stretch of time, stream, and who signed it.

        One with a timestamp is not given up for one without.
        """
        kept: dict[tuple[str, float, float, tuple[str, ...]], dict[str, Any]] = {}
        for fact in self.read():
            width = next((width for age, width in AGES if now - seconds(fact["at"]) < age), 30 * DAY)
            place = seconds(fact["at"]) // width if width else len(kept)
            signers = tuple(sorted(name for name, _ in read_note(fact["note"]).signatures))
            signers += ("timestamp",) if "timestamp" in fact else ()
            kept.pop((fact["stream"], width, place, signers), None)  # so that it stands where it was written
            kept[fact["stream"], width, place, signers] = fact
        write_whole(self.path, "".join(dumps(fact) + "\n" for fact in kept.values()))
        self._thinned = self.path.stat().st_size

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process writes to the file meanwhile."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if fcntl is None:
            yield
            return
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)
