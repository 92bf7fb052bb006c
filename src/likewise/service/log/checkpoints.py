"""Files of facts, one JSON object per line, only ever added to: among them the signed checkpoints.

A checkpoint that is copied away shows that a log was recomputed from its start; see ``likewise.service.log.signing``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from likewise.service.canonical import dumps
from likewise.storage import append_lines, json_lines


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


class CheckpointFile(LineFile):
    """Signed checkpoints."""
