"""Results on disk, one line each, written as they come: what a killed sweep continues from.

A line is appended in one write and flushed to the disk before the next trial is counted as done. A line that was cut
short by a kill is not JSON, so it is skipped and its trial is played again.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from likewise.storage import append_lines, json_lines

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
        """Every whole line; of two with the same key, the later."""
        results = {}
        for number, result in json_lines(self.path):
            if result is None or "key" not in result:
                log.warning("Line %d of %s is not a whole result; it is skipped.", number, self.path)
            else:
                results[str(result["key"])] = result
        return results

    def add(self, result: dict[str, Any]) -> None:
        """One more line, on the disk when this returns."""
        append_lines(self.path, [json.dumps(result, ensure_ascii=False, allow_nan=False)])
