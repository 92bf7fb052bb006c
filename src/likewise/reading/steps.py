"""A mixture of cut-offs is a sum of step functions, one for each column: π(x) = base + Σ_j g_j(x_j), exactly.

1[x_j >= c] and 1[x_j < c] depend on one column each, so the weights of those that say yes add up column by column. In
the *scorecard* form every g_j is at least 0 and is 0 somewhere, so that ``base`` is the least probability that anybody
can have. The encoded columns of one column of the file are one function of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from likewise.errors import NotSupported
from likewise.hypotheses import Thresholds
from likewise.protocol import Floats
from likewise.reading.columns import CategoryColumn, Column, Cut, NumberColumn, Split
from likewise.reading.reading import Reading

ANOTHER = "another"
"""A level that nobody had when the encoder was fitted."""


@dataclass(frozen=True)
class Steps:
    """g_j: what one column of the file adds to the probability.

    Attributes
    ----------
    column
        The column's name.
    cuts
        Where a number's steps are, in the units of the file; empty for a category.
    levels
        The levels of a category; empty for a number.
    amounts
        What each interval between cuts, or each level, adds.
    missing
        What a missing value adds; None where it is not told apart.
    lowest, highest
        The least and the most that the column adds to anybody.
    """

    column: str
    cuts: tuple[Cut, ...]
    levels: tuple[str, ...]
    amounts: Floats
    missing: float | None
    lowest: float
    highest: float

    def from_zero(self) -> Steps:
        """The same function, shifted so that its least amount is 0."""
        missing = None if self.missing is None else self.missing - self.lowest
        highest = self.highest - self.lowest
        return replace(self, amounts=self.amounts - self.lowest, missing=missing, lowest=0.0, highest=highest)


@dataclass(frozen=True)
class Scorecard:
    """base + Σ_j g_j(x_j), with every g_j at least 0.

    Examples
    --------
    >>> from likewise.reading.reading import reading_of
    >>> card = scorecard_of(reading_of(Thresholds([[18, 65]], names=["age"]), np.array([0.1, 0.2, 0.4, 0, 0, 0.3])))
    >>> round(card.base, 3), [cut.above for cut in card.columns[0].cuts], card.columns[0].amounts.round(3).tolist()
    (0.5, ['≥ 18', '≥ 65'], [0.0, 0.4, 0.1])
    """

    base: float
    columns: tuple[Steps, ...]


def class_steps(hypotheses: Thresholds, weights: Floats) -> list[Floats]:
    """For every column of the class, what each interval between its cuts adds."""
    first, half = hypotheses.first, int(hypotheses.first[-1])
    above, below = weights[2 : 2 + half], weights[2 + half :]
    steps = []
    for start, end in pairwise(first):
        gained = np.concatenate([[0.0], np.cumsum(above[start:end])])
        # Summed from the far end: a function that falls to nothing falls to 0 exactly.
        kept = np.concatenate([np.cumsum(below[start:end][::-1])[::-1], [0.0]])
        steps.append(gained + kept)
    return steps


def thresholds_on_columns(reading: Reading, wanted: str) -> Thresholds:
    """The reading's class, if it has cut-offs on columns."""
    F = reading.hypotheses
    if not isinstance(F, Thresholds) or reading.on_scores:
        raise NotSupported(f"{wanted} needs a policy of cut-offs on columns (Thresholds), not on cells or models.")
    return F


def column_steps(reading: Reading) -> tuple[Steps, ...]:
    """g_j of every column of the file, as the weights add up: π(x) = p_1 + Σ_j g_j(x_j)."""
    F = thresholds_on_columns(reading, "A scorecard")
    added = class_steps(F, reading.weights)
    return tuple(_steps(column, F, added) for column in reading.columns)


def scorecard_of(reading: Reading) -> Scorecard:
    """The policy as a scorecard."""
    columns = column_steps(reading)
    base = float(reading.weights[1]) + sum(steps.lowest for steps in columns)
    return Scorecard(base, tuple(steps.from_zero() for steps in columns))


def _steps(column: Column, F: Thresholds, added: list[Floats]) -> Steps:
    if isinstance(column, NumberColumn):
        return _number_steps(column, F, added)
    return _category_steps(column, F, added)


def _at(F: Thresholds, added: list[Floats], position: int, value: float) -> float:
    """What an encoded column adds at a value."""
    return float(added[position][np.searchsorted(F.cuts[position], value, side="right")])


def _number_steps(column: NumberColumn, F: Thresholds, added: list[Floats]) -> Steps:
    present = _at(F, added, column.first + 1, 0.0) if column.missing else 0.0
    amounts, missing = added[column.first] + present, None
    if column.missing and column.median is not None:
        absent = _at(F, added, column.first + 1, 1.0)
        missing = _at(F, added, column.first, column.encoded(column.median)) + absent
    # Cuts without weight are no steps.
    steps = np.flatnonzero(np.diff(amounts) != 0.0)
    cuts = tuple(column.cut(Split(float(F.cuts[column.first][i]))) for i in steps)
    amounts = amounts[np.concatenate([[0], steps + 1])]
    return _whole(column.name, cuts, (), amounts, missing)


def _category_steps(column: CategoryColumn, F: Thresholds, added: list[Floats]) -> Steps:
    off = sum(_at(F, added, position, 0.0) for position in column.positions)
    switched = [
        off + _at(F, added, place, 1.0) - _at(F, added, place, 0.0) for place in column.positions
    ]  # what each option adds: its own indicator on, the others off
    known = switched[1:] if column.missing else switched
    missing = switched[0] if column.missing else None
    return _whole(column.name, (), (*column.levels, ANOTHER), np.array([*known, off]), missing)


def _whole(name: str, cuts: tuple[Cut, ...], levels: tuple[str, ...], amounts: Floats, missing: float | None) -> Steps:
    every = [*amounts.tolist(), *([] if missing is None else [missing])]
    return Steps(name, cuts, levels, amounts, missing, min(every), max(every))


def amounts_by_column(reading: Reading, features: Floats) -> Floats:
    """(people, columns of the file): what each column adds to each person's probability, the base apart."""
    F = thresholds_on_columns(reading, "A split by column")
    rows, added = reading.rows(features), class_steps(F, reading.weights)
    amounts = np.zeros((len(rows), len(reading.columns)))
    for position, steps in enumerate(added):
        amounts[:, reading.owner[position]] += steps[rows[:, position]]
    return amounts
