"""Files of facts, one JSON object per line, only ever added to: among them the signed checkpoints.

A checkpoint that is copied away shows that a log was recomputed from its start; see ``likewise.service.log.signing``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from likewise.service.canonical import dumps, loads


class LineFile:
    """Facts about streams, one JSON object per line, only ever added to."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def write(self, facts: Iterable[dict[str, Any]]) -> None:
        """Add facts; they are on disk when this returns."""
        lines = "".join(dumps(fact) + "\n" for fact in facts)
        if lines:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab+") as file:
                file.write((b"\n" if self._torn(file) else b"") + lines.encode())
                file.flush()
                os.fsync(file.fileno())

    @staticmethod
    def _torn(file: IO[bytes]) -> bool:
        """Whether a power cut left half a line at the end."""
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        return end > 0 and file.read(1) != b"\n"

    def read(self, stream: str | None = None, last: int | None = None) -> Iterator[dict[str, Any]]:
        """The facts written so far, of one stream if wanted; or those in the ``last`` bytes. Half a line is none."""
        if not self.path.exists():
            return
        with open(self.path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0 if last is None else max(0, size - last))
            for line in file:
                try:
                    fact = loads(line)
                    mine = stream in (None, fact["stream"])
                except (ValueError, TypeError, KeyError):
                    continue
                if mine:
                    yield fact


class CheckpointFile(LineFile):
    """Signed checkpoints."""
