"""Columns of the file and their units: from the encoded numbers that a class sees back to what people wrote down.

An encoder scales a number, (x − centre) / spread, and makes one 0/1 column of every level of a category. Both steps are
monotone in floating point, so each cut of an encoded column has an exact boundary in the units of the file: the
smallest number that passes it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from likewise.protocol import Floats
from likewise.reading.decimals import as_decimal, digits, shortest, written

ROUNDINGS = 8
"""The stated cut is the shortest decimal within this many roundings of the exact boundary."""
FIGURES, ROUNDED = 9, 4
"""A cut with more figures than the first is not a number that people wrote down; it is rounded to the second."""
NEAR = 0.01
"""A number that stands for "just above" or "just below" a cut is within this many spreads of it."""


class EncoderPart(Protocol):
    """A column of the file, as an encoder knows it: scaled (centre, spread, median), or with levels."""

    @property
    def name(self) -> str:
        """The column's name in the file."""

    @property
    def missing(self) -> bool:
        """Whether there is an encoded column for what is missing."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its encoded columns."""


class Encoder(Protocol):
    """From a table of people to encoded columns; ``likewise.datasets.Encoder`` is one."""

    @property
    def parts(self) -> Sequence[EncoderPart]:
        """The columns of the file, in the order of encoding."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the encoded columns."""

    def transform(self, frame: Any) -> Floats:
        """People as encoded columns."""

    def shown(self, frame: Any) -> list[list[str]]:
        """The people's own values in words, column by column."""


class Split(NamedTuple):
    """A cut of an encoded column.

    Attributes
    ----------
    cut
        x passes if x >= cut; if ``single``, if x in single precision is > cut, as in scikit-learn's trees.
    """

    cut: float
    single: bool = False

    def passes(self, value: float) -> bool:
        """Whether an encoded value is on the upper side."""
        return float(np.float32(value)) > self.cut if self.single else value >= self.cut


class Interval(NamedTuple):
    """Encoded values that pass ``low`` and don't pass ``high``; None is no limit."""

    low: Split | None = None
    high: Split | None = None

    def holds(self, value: float) -> bool:
        """Whether an encoded value is inside."""
        above = self.low is None or self.low.passes(value)
        return above and not (self.high is not None and self.high.passes(value))


class Cut(NamedTuple):
    """A cut in the units of the file: values from ``value`` on pass it, or only those above it.

    Attributes
    ----------
    about
        Whether ``value`` is rounded, since the cut itself has more figures than anybody writes.
    """

    value: Decimal
    inclusive: bool = True
    about: bool = False

    @property
    def number(self) -> str:
        """The number in words."""
        return f"about {written(self.value)}" if self.about else written(self.value)

    @property
    def above(self) -> str:
        """The upper side in signs."""
        return f"{'≥' if self.inclusive else '>'} {self.number}"

    @property
    def below(self) -> str:
        """The lower side in signs."""
        return f"{'<' if self.inclusive else '≤'} {self.number}"


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers, encoded at position ``first``; an indicator of what is missing may follow it."""

    name: str
    first: int
    centre: float = 0.0
    spread: float = 1.0
    median: float | None = None
    missing: bool = False

    @property
    def positions(self) -> range:
        """Its encoded columns."""
        return range(self.first, self.first + 1 + self.missing)

    def encoded(self, value: float) -> float:
        """A number of the file as the class sees it: the encoder's own two operations."""
        return (value - self.centre) / self.spread

    def encode(self, value: float) -> list[float]:
        """All encoded columns of a number that is not missing."""
        return [self.encoded(value)] + [0.0] * self.missing

    def boundary(self, split: Split) -> float:
        """The smallest number of the file that passes, exactly: bisection down to neighbouring floats."""
        guess = split.cut * self.spread + self.centre
        width = self._rounding(split, guess)
        low, high = guess - width, guess + width
        while split.passes(self.encoded(low)):
            low, width = low - width, 2 * width
        while not split.passes(self.encoded(high)):
            high, width = high + width, 2 * width
        while low < (middle := low + (high - low) / 2) < high:
            low, high = (low, middle) if split.passes(self.encoded(middle)) else (middle, high)
        return high

    def cut(self, split: Split, values: Floats | None = None) -> Cut:
        """The cut as people write it.

        Without ``values``: the shortest decimal within ``ROUNDINGS`` roundings of the boundary, or "about" where that
        has more than ``FIGURES`` figures. With the encoded values of some people: the shortest decimal that separates
        the same people.
        """
        boundary = self.boundary(split)
        between = None if values is None else self._between(split, values)
        if between is not None:
            return Cut(shortest(*between, boundary))
        width = ROUNDINGS * self._rounding(split, boundary)
        single = float(np.float32(boundary))
        if abs(single - boundary) <= width:  # a file of single precision holds 34.8 as 34.79999924
            return Cut(as_decimal(single), split.passes(self.encoded(single)))
        value = shortest(boundary - width, boundary + width, boundary)
        if digits(value) > FIGURES:
            return Cut(Decimal(f"{boundary:.{ROUNDED}g}"), about=True)
        return Cut(value, split.passes(self.encoded(float(value))))

    def _between(self, split: Split, values: Floats) -> tuple[float, float] | None:
        """Numbers that separate the people as the split does; None where all are on one side."""
        distinct = np.unique(values).tolist()
        first = bisect_left(distinct, True, key=split.passes)
        if first in (0, len(distinct)):
            return None
        below, above = distinct[first - 1], distinct[first]
        return self.boundary(Split(float(np.nextafter(below, np.inf)))), self.boundary(Split(above))

    def _rounding(self, split: Split, value: float) -> float:
        """By how much rounding moves a boundary near ``value``."""
        rounding = float(np.spacing(abs(value) + abs(self.centre)))
        return rounding + self.spread * float(np.spacing(np.float32(abs(split.cut)))) if split.single else rounding

    def just_above(self, cut: Cut, low: float, high: float) -> float:
        """A short number from the boundary ``low`` on but under ``high``, next to ``low``."""
        if not cut.about and low <= float(cut.value) < high:
            return float(cut.value)
        return float(shortest(low, min(float(np.nextafter(high, -np.inf)), low + NEAR * self.spread), low))

    def just_below(self, cut: Cut, low: float, high: float) -> float:
        """A short number under the boundary ``high`` but not under ``low``, next to ``high``."""
        places = max(0, -int(cast("int", cut.value.as_tuple().exponent)))
        near = float(cut.value - Decimal(1).scaleb(-places)) if cut.inclusive else float(cut.value)
        if not cut.about and low <= near < high:
            return near
        under = float(np.nextafter(high, -np.inf))
        return float(shortest(max(low, under - NEAR * self.spread), under, under))


@dataclass(frozen=True)
class CategoryColumn:
    """A column of categories: a 0/1 column for what is missing, if it ever was, and then one per level."""

    name: str
    first: int
    levels: tuple[str, ...]
    missing: bool = False

    @property
    def positions(self) -> range:
        """Its encoded columns."""
        return range(self.first, self.first + len(self.levels) + self.missing)

    @property
    def options(self) -> tuple[str, ...]:
        """In words, what each of its encoded columns stands for."""
        return ("missing",) * self.missing + self.levels

    def encode(self, option: str) -> list[float]:
        """Its encoded columns for an option; all are zero for a level that nobody had."""
        return [float(option == known) for known in self.options]


Column = NumberColumn | CategoryColumn


def columns_of_encoder(encoder: Encoder) -> tuple[Column, ...]:
    """The columns of the file that an encoder reads."""
    columns: list[Column] = []
    first = 0
    for part in encoder.parts:
        columns.append(_column(part, first))
        first += len(part.names)
    return tuple(columns)


def _column(part: Any, first: int) -> Column:
    if hasattr(part, "levels"):
        return CategoryColumn(part.name, first, tuple(part.levels), part.missing)
    return NumberColumn(part.name, first, part.centre, part.spread, part.median, part.missing)


def plain_columns(names: Sequence[Any]) -> tuple[Column, ...]:
    """Columns that are numbers as they stand; a position is called "column 3"."""
    return tuple(
        NumberColumn(name if isinstance(name, str) else f"column {name}", place) for place, name in enumerate(names)
    )
