"""Reasons: a probability as a sum, one amount for each column of the file.

cut-offs on columns    base + Σ_j g_j(x_j): exact
cells                  one term, the cell in words: exact
cut-offs on scores     exact by model; by column exact or estimated (``likewise.reading.scores``)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.errors import InvalidParameter, require
from likewise.hypotheses import Cells
from likewise.protocol import Floats
from likewise.reading.reading import Reading
from likewise.reading.scores import ModelPart, compared, model_part, models_of
from likewise.reading.steps import amounts_by_column, column_steps
from likewise.wording import plural

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 3


@dataclass(frozen=True)
class Reasons:
    """Why some people have their probabilities: ``base`` + Σ ``amounts`` = probability, for each of them.

    Attributes
    ----------
    base
        What everybody starts with: the least that anybody can have, or the mean of the people compared with.
    columns
        The columns of the file; "cell" alone for a policy of cells.
    amounts
        (people, columns): what each column adds.
    values
        (people, columns): their own values in words; for a cell, who is in it.
    most
        (columns,): the most that each column can add, if ``base`` is the least; otherwise None.
    compared_with
        How many people ``base`` is the mean of; 0 if it is the least that anybody can have.
    estimated
        Whether the split by column is estimated; its sum never is.
    models
        Each model's part, for a policy on models' scores.
    """

    base: float
    columns: tuple[str, ...]
    amounts: Floats
    values: tuple[tuple[str, ...], ...]
    most: Floats | None = None
    compared_with: int = 0
    estimated: bool = False
    models: tuple[ModelPart, ...] = ()

    @property
    def probability(self) -> Floats:
        """(people,): base + Σ amounts."""
        return np.asarray(self.base + self.amounts.sum(axis=1))

    def order(self, person: int = 0) -> list[int]:
        """The columns, the one that matters most first."""
        return [int(j) for j in np.argsort(-np.abs(self.amounts[person]), kind="stable")]

    def listed(self, person: int = 0, top: int = 3) -> list[str]:
        """A person's largest amounts in words, such as "age 42: +0.210"; columns that add nothing are left out."""
        mark = " (estimated)" if self.estimated else ""
        largest = [j for j in self.order(person)[:top] if self.amounts[person, j] != 0.0]
        return [f"{self.term(person, j)}: {_signed(self.amounts[person, j], '')}{mark}" for j in largest]

    def text(self, person: int = 0, top: int = 3) -> str:
        """A person's probability as a sum in words; the numbers printed add up."""
        shown = [j for j in self.order(person)[:top] if self.amounts[person, j] != 0.0]
        rest = len([j for j in range(len(self.columns)) if j not in shown and self.amounts[person, j] != 0.0])
        amounts = self.amounts[person]
        if self.columns == ("cell",) and not self.compared_with:
            return f"{self.probability[person]:.{DIGITS}f} for everybody with {self.values[person][0]}"
        total, parts = float(self.probability[person]), [self.base, *amounts[shown]]
        start, *added, others = rounded_to_sum([*parts, total - sum(parts)], total, DIGITS)
        words = [f"{start:.{DIGITS}f} {self._start}"]
        words += [f"{_signed(amount)} for {self.term(person, j)}" for amount, j in zip(added, shown, strict=True)]
        words += [f"{_signed(others)} for {plural(rest, 'other column')}"] if rest else []
        return f"{total:.{DIGITS}f} = {' '.join(words)}{' (estimated)' if self.estimated else ''}"

    @property
    def _start(self) -> str:
        return (
            f"(the mean of {plural(self.compared_with, 'person', 'people')})" if self.compared_with else "for everybody"
        )

    def term(self, person: int, column: int) -> str:
        """A column with the person's own value; for a cell, who is in it."""
        value = self.values[person][column]
        return value if self.columns == ("cell",) else f"{self.columns[column]} {value}"

    def frame(self) -> pd.DataFrame:
        """One row a person: base, every column's amount, probability; estimated columns say so in their names."""
        import pandas as pd

        mark = " (estimated)" if self.estimated else ""
        table = {f"{name}{mark}": self.amounts[:, j] for j, name in enumerate(self.columns)}
        return pd.DataFrame({"base": self.base} | table | {"probability": self.probability})


def reasons_of(reading: Reading, X: Any, compared_with: Any = None) -> Reasons:
    """Why people have their probabilities; see ``Mixture.reasons``."""
    others = None if compared_with is None else reading.features(compared_with)
    require(others is None or len(others) > 0, "compared_with", "hold at least one person", 0)
    features = reading.features(X)
    if isinstance(reading.hypotheses, Cells):
        return _by_cell(reading, features, others)
    values = tuple(zip(*reading.shown(X), strict=True))
    if reading.on_scores:
        return _by_model(reading, features, values, others)
    return _by_column(reading, features, values, others)


def _names(reading: Reading) -> tuple[str, ...]:
    return tuple(column.name for column in reading.columns)


def _by_column(reading: Reading, features: Floats, values: Any, others: Floats | None) -> Reasons:
    amounts, always = amounts_by_column(reading, features), float(reading.weights[1])
    if others is None:
        steps = column_steps(reading)
        least, most = np.array([g.lowest for g in steps]), np.array([g.highest for g in steps])
        above = np.maximum(amounts - least, 0.0)  # rounding can leave −1e-17
        return Reasons(always + float(least.sum()), _names(reading), above, values, most - least)
    means = amounts_by_column(reading, others).mean(axis=0)
    return Reasons(always + float(means.sum()), _names(reading), amounts - means, values, None, len(others))


def _by_cell(reading: Reading, features: Floats, others: Floats | None) -> Reasons:
    cells = np.asarray(reading.rows(features))
    words = {cell: reading.cell_in_words(cell) or "nobody" for cell in np.unique(cells).tolist()}
    base = 0.0 if others is None else float(reading.probability(others).mean())
    amounts = (reading.probability(features) - base)[:, None]
    values = tuple((words[cell],) for cell in cells.tolist())
    return Reasons(base, ("cell",), amounts, values, None, 0 if others is None else len(others))


def _by_model(reading: Reading, features: Floats, values: Any, others: Floats | None) -> Reasons:
    if others is None:
        raise InvalidParameter(
            "`compared_with` must be people, better held-out ones, to split models' scores by column, got None."
        )
    others = compared(others)
    models = models_of(reading)
    parts = tuple(model_part(model, features, others) for model in models if model.matters)
    # A model whose cut-offs cancel out adds the same for everybody.
    constant = float(reading.weights[1]) + sum(float(model.steps[0]) for model in models if not model.matters)
    base = constant + sum(part.base for part in parts)
    amounts = sum((part.by_column for part in parts), np.zeros((len(features), len(reading.columns))))
    estimated = any(part.estimated for part in parts)
    return Reasons(base, _names(reading), amounts, values, None, len(others), estimated, parts)


def rounded_to_sum(parts: Sequence[float], total: float, digits: int) -> list[float]:
    """Parts rounded so that they add up to the rounded total: the largest remainders are rounded up.

    Examples
    --------
    >>> rounded_to_sum([0.3333, 0.3333, 0.3334], 1.0, 2)
    [0.33, 0.33, 0.34]
    """
    scaled = np.asarray(parts) * 10**digits
    floors = np.floor(scaled)
    short = int(round(total * 10**digits) - floors.sum())
    floors[np.argsort(floors - scaled, kind="stable")[:short]] += 1
    return [float(value) / 10**digits for value in floors]


def _signed(amount: float, space: str = " ") -> str:
    return f"{'−' if amount < 0 else '+'}{space}{abs(amount):.{DIGITS}f}"
