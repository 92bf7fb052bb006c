"""The examples are what users read first, so each must run without a warning and show what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def first_play(lines: list[str]) -> None:
    """The learner that hears the auditor has far fewer violations; the other one has the smaller error."""
    found = [re.search(r"error (0\.\d+) per person, +(\d+) rounds", line) for line in lines]
    (deaf_error, deaf), (hearing_error, hearing) = [(float(m[1]), int(m[2])) for m in found if m]
    assert deaf_error < hearing_error < 0.5
    assert hearing < deaf / 5


def own_classifier(lines: list[str]) -> None:
    """More copies of a report, fewer violations in the last quarter; nothing is worse than a coin."""
    table = [line.split()[-4:] for line in lines[-3:]]
    assert max(float(row[1]) for row in table) < 0.5
    violations = [int(row[3]) for row in table]
    assert violations == sorted(violations, reverse=True)
    assert violations[-1] < violations[0] / 2


def side_by_side(lines: list[str]) -> None:
    """Every method has a row with a number in every column, and nobody errs more than half of the time."""
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    assert [row[0] for row in rows[1:]][-2:] == ["paper's weights", "AdaHedge"]
    assert len(rows) == 1 + 8
    for _, *cells in rows[1:]:
        assert len(cells) == 5
        assert 0 <= float(cells[0]) <= 0.55


SENSE: dict[str, Callable[[list[str]], None]] = {
    "first_play.py": first_play,
    "own_classifier.py": own_classifier,
    "side_by_side.py": side_by_side,
}
SMALLER = {"own_classifier.py": ["300"], "side_by_side.py": ["--small"]}
"""How those that take long are asked for less; as they are printed, they run in ``make test-all``."""
CASES = [
    *(pytest.param(path, SMALLER.get(path.name, []), id=path.name) for path in sorted(EXAMPLES.glob("*.py"))),
    *(pytest.param(EXAMPLES / name, [], id=f"{name}, in full", marks=pytest.mark.slow) for name in SMALLER),
]


@pytest.mark.parametrize(("path", "words"), CASES)
def test_an_example_runs_without_warnings_and_prints_what_it_is_about(
    path: Path, words: list[str], tmp_path: Path
) -> None:
    command = [sys.executable, "-W", "error", str(path), *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) >= 2, "an example prints something to look at"
    SENSE.get(path.name, lambda _: None)(lines)
