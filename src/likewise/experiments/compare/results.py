"""Results on disk, one line each, written as they come: what a killed sweep goes on from.

A line is appended in one write and flushed to the disk before the next trial is counted as done. A line that was cut
short by a kill is no JSON, so it is passed over and its trial is played again.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)


class Results:
    """The lines of ``results.jsonl``, by key.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "results.jsonl"
    ...     Results(path).add({"key": "a", "error": 0.25})
    ...     _ = path.write_text(path.read_text() + '{"key": "b", "err')
    ...     Results(path).add({"key": "c", "error": 0.5})
    ...     sorted(Results(path).read())
    ['a', 'c']
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, dict[str, Any]]:
        """Every whole line; of two with one key the later."""
        if not self.path.exists():
            return {}
        found = {}
        for number, line in enumerate(self.path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            try:
                result = json.loads(line)
                found[str(result["key"])] = result
            except (ValueError, KeyError, TypeError):
                log.warning("Line %d of %s is not a whole result; it is passed over.", number, self.path)
        return found

    def add(self, result: dict[str, Any]) -> None:
        """One more line, on the disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab+") as file:
            line = json.dumps(result, ensure_ascii=False, allow_nan=False).encode() + b"\n"
            file.write(line if self._ends_whole(file) else b"\n" + line)
            file.flush()
            os.fsync(file.fileno())

    @staticmethod
    def _ends_whole(file: Any) -> bool:
        """Whether the file is empty or ends with a line's end; if not, somebody was killed while writing."""
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return bool(file.read(1) == b"\n")
