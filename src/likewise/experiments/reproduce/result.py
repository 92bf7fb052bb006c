"""What an experiment hands back: pictures with captions, tables, bounds with assumptions, and checks of theorems."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.drawing import save
from likewise.theory import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDING = 1e-7
"""A theorem may be missed by this fraction of its own size: sums of many floats, never more."""


@dataclass(frozen=True)
class Picture:
    """A figure and the one sentence that says what it shows."""

    name: str
    figure: Figure
    caption: str


@dataclass(frozen=True)
class Table:
    """Measured numbers: one row per line, in the order of ``columns``."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of plain JSON values; numbers that are not finite become None."""
        return [{name: _plain(value) for name, value in zip(self.columns, row, strict=True)} for row in self.rows]


class Assumed(NamedTuple):
    """A bound on the page, and what it assumes."""

    bound: str
    theorem: str
    assumptions: str


class Check(NamedTuple):
    """A theorem put to the test.

    Attributes
    ----------
    claim
        What must hold.
    checked, failures
        How often it was checked, and how often it did not hold.
    slack
        The smallest room that was left (negative: by how much it failed at worst).
    assumes
        Under which assumptions it must hold.
    """

    claim: str
    checked: int
    failures: int
    slack: float
    assumes: str

    @property
    def holds(self) -> bool:
        """Whether nothing failed."""
        return self.failures == 0


@dataclass
class Experiment:
    """One numbered experiment of the page."""

    number: int
    title: str
    question: str
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    bounds: list[Assumed] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def save(self, folder: Path) -> None:
        """Write every table as CSV and JSON and every figure as PNG and SVG."""
        folder.mkdir(parents=True, exist_ok=True)
        for table in self.tables:
            stem = folder / f"{self.number}-{table.name}"
            with open(stem.with_suffix(".csv"), "w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([table.columns, *table.rows])
            stem.with_suffix(".json").write_text(json.dumps(table.records(), indent=1), encoding="utf-8")
        for picture in self.pictures:
            for ending in (".png", ".svg"):
                save(picture.figure, folder / f"{self.number}-{picture.name}{ending}")

    def to_dict(self) -> dict[str, Any]:
        """The numbers of the experiment as plain JSON values."""
        return {
            "number": self.number,
            "title": self.title,
            "seconds": round(self.seconds, 1),
            "checks": [{name: _plain(value) for name, value in c._asdict().items()} for c in self.checks],
            "captions": {picture.name: picture.caption for picture in self.pictures},
            "tables": {table.name: table.records() for table in self.tables},
            "notes": self.notes,
        }


def check(claim: str, pairs: Sequence[tuple[float, float]], assumes: str) -> Check:
    """Check that the first of every pair is at most the second, but for rounding.

    Examples
    --------
    >>> check("1 ≤ 2", [(1.0, 2.0), (1.0, 1.0)], "nothing")
    Check(claim='1 ≤ 2', checked=2, failures=0, slack=0.0, assumes='nothing')
    """
    slack = [limit - value for value, limit in pairs]
    allowed = [ROUNDING * max(1.0, abs(value), abs(limit)) for value, limit in pairs if math.isfinite(limit)]
    finite = [room for room, (_, limit) in zip(slack, pairs, strict=True) if math.isfinite(limit)]
    failures = sum(not room >= -tiny for room, tiny in zip(finite, allowed, strict=True))
    return Check(claim, len(finite), failures, min(finite, default=math.inf), assumes)


def assumed(bound: Bound | None, names: str) -> Assumed:
    """A learner's bound with its theorem's name and assumptions apart."""
    if bound is None:
        return Assumed(names, "none", "no theorem covers it")
    theorem, *assumptions = bound.theorem.split("; ")
    epsilon = "Q_α" if bound.epsilon == 0 else f"Q_{{α−ε}}, ε = {bound.epsilon:.3g}"
    return Assumed(names, theorem, "; ".join([*assumptions, f"error regret is against {epsilon}"]))


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
