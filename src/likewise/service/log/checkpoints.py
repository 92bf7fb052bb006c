"""Files of facts, one JSON object per line, only ever added to: among them the signed checkpoints.

A checkpoint that is copied away shows that a log was recomputed from its start; see ``likewise.service.log.signing``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from likewise.service.canonical import dumps
from likewise.storage import append_lines, json_line, json_lines

LAST = 10_000
"""Bytes at the end of the file in which its newest checkpoint stands."""


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

    def last_key(self) -> str | None:
        """The public key of the newest checkpoint; None if there is none."""
        keys = [str(fact["key"]) for fact in self.read(last=LAST) if "key" in fact]
        return keys[-1] if keys else None

    def newest(self, key: str) -> dict[str, dict[str, Any]]:
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
        return {fact["stream"]: fact for fact in facts if fact is not None and {"stream", "seq", "hash"} <= fact.keys()}
