"""From results to a table and a picture: means over seeds with their standard errors."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple


class Mean(NamedTuple):
    """A mean over seeds and its standard error, None for a single seed."""

    value: float
    error: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """The mean and s/√n.

        Examples
        --------
        >>> Mean.of([1.0, 3.0]), Mean.of([2.0])
        (Mean(value=2.0, error=1.0), Mean(value=2.0, error=None))
        """
        return cls(fmean(values), stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None)

    @classmethod
    def of_known(cls, values: Sequence[float | None]) -> Mean | None:
        """The same; None where one of them isn't known."""
        known = [value for value in values if value is not None]
        return cls.of(known) if len(known) == len(values) else None

    def text(self, digits: int) -> str:
        """As in a table."""
        return f"{self.value:,.{digits}f}" + ("" if self.error is None else f" ± {self.error:,.{digits}f}")


@dataclass(frozen=True)
class Line:
    """One line of the table: everything that was tried with different seeds only.

    Attributes
    ----------
    error
        Expected errors per person.
    violations
        Rounds in which some pair differs by more than its distance + α, reported or not.
    told
        What the learner is given besides people and labels; a share of labels is that of the people on whom the class
        was fitted.
    late_violations
        Those of the last quarter of the rounds.
    unfair_across
        Of two random people of different rounds of the last quarter, the share whose probabilities differ by more than
        their distance + α.
    lottery
        Mean of 2π(1 − π) in the last quarter: how likely two equal people get different answers.
    share_of_gain
        Of what any fair policy could gain over a constant, on people of the last quarter; None if that is too little.
    answers
        Verdicts or distances that people gave; None where the learner holds the distance itself.
    reports
        Rounds in which the auditor reported.
    regret
        Lagrangian regret.
    seconds
        Of one play.
    """

    learner: str
    C: float | None
    margin: float
    alpha: float
    auditor: str
    told: str
    seeds: int
    rounds: int
    error: Mean
    violations: Mean
    late_violations: Mean
    unfair_across: Mean | None
    lottery: Mean
    share_of_gain: Mean | None
    answers: Mean | None
    reports: Mean
    regret: Mean
    seconds: Mean

    def record(self) -> dict[str, Any]:
        """Plain values, each mean beside its standard error."""
        plain: dict[str, Any] = {}
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if value is None and name in MEASURED:
                plain |= {name: None, f"{name}_standard_error": None}
            elif isinstance(value, Mean):
                plain |= {name: value.value, f"{name}_standard_error": value.error}
            else:
                plain[name] = value
        return plain


TRIED = ("learner", "C", "margin", "alpha", "auditor")
MEASURED = (
    "error", "violations", "late_violations", "unfair_across", "lottery", "share_of_gain", "answers", "reports",
    "regret", "seconds",
)  # fmt: skip


def summarise(results: Sequence[dict[str, Any]]) -> list[Line]:
    """One line for each combination, in the order in which the combinations first come."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for result in results:
        groups.setdefault(tuple(result[name] for name in TRIED), []).append(result)
    return [_line(same) for same in groups.values()]


def _line(same: Sequence[dict[str, Any]]) -> Line:
    tried = {name: same[0][name] for name in (*TRIED, "told", "rounds")}
    means: dict[str, Any] = {name: Mean.of_known([result[name] for result in same]) for name in MEASURED}
    return Line(seeds=len(same), **tried, **means)


def write_table(lines: Sequence[Line], path: Path) -> Path:
    """The table as CSV."""
    records = [line.record() for line in lines]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return path
