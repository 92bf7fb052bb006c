"""The encoder: people as they are written down, turned into the numbers that models need.

Numbers are centred and scaled; what is missing becomes the median, with an indicator column beside it if any were
missing when the encoder was fitted. Each category is one column per level, 0 or 1; what is missing is a level of its
own, and a level that nobody had at fitting is zero in all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from likewise.datasets.columns import (
    MISSING,
    Column,
    arrow,
    codes,
    inspect,
    levels,
    numbers,
    opened,
    require_columns,
)
from likewise.errors import InvalidParameter, require
from likewise.protocol import Floats

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Number:
    """A column of numbers: (x − centre) / spread, with the median in place of what is missing."""

    name: str
    centre: float
    spread: float
    median: float
    missing: bool

    @classmethod
    def fit(cls, name: str, values: Any) -> Number:
        """Centre, spread and median of a column."""
        floats = numbers(values, name)
        absent = np.isnan(floats)
        median = float(np.median(floats[~absent]))
        floats = np.where(absent, median, floats)
        spread = float(floats.std())
        return cls(name, float(floats.mean()), spread if spread > 0 else 1.0, median, bool(absent.any()))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return (self.name, f"{self.name} is missing") if self.missing else (self.name,)

    def write(self, values: Any, out: Floats) -> None:
        """Fill the encoded columns of some people."""
        floats = numbers(values, self.name)
        absent = np.isnan(floats)
        out[:, 0] = (np.where(absent, self.median, floats) - self.centre) / self.spread
        if self.missing:
            out[:, 1] = absent


@dataclass(frozen=True)
class Category:
    """A column of categories: one column per level, the one for what is missing first."""

    name: str
    levels: tuple[str, ...]
    missing: bool

    @classmethod
    def fit(cls, name: str, values: Any) -> Category:
        """The levels of a column."""
        distinct = levels(values)
        return cls(name, distinct, bool((codes(values, distinct) == MISSING).any()))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        absent = (f"{self.name} is missing",) if self.missing else ()
        return absent + tuple(f"{self.name} = {level}" for level in self.levels)

    def write(self, values: Any, out: Floats) -> None:
        """Fill the encoded columns of some people; they start as zeros."""
        place = codes(values, self.levels) + (1 if self.missing else 0)
        encoded = np.flatnonzero(place >= 0)
        out[encoded, place[encoded]] = 1.0


@dataclass(frozen=True)
class Encoder:
    """Turns people into numbers, always in the same way.

    Attributes
    ----------
    numbers, categories
        The columns that are used; encoded in this order.
    left_out
        The columns that are not, and why.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"income": [30.0, 50.0, None], "home": ["rent", "own", "rent"]})
    >>> encoder = Encoder.fit(people)
    >>> encoder.names
    ('income', 'income is missing', 'home = own', 'home = rent')
    >>> encoder.transform(pd.DataFrame({"home": ["boat"], "income": [40.0]})).tolist()
    [[0.0, 0.0, 0.0, 0.0]]
    """

    numbers: tuple[Number, ...]
    categories: tuple[Category, ...]
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def fit(cls, frame: Any, *, categories: Sequence[str] = (), drop: Sequence[str] = ()) -> Encoder:
        """Learn scales and levels from people.

        Parameters
        ----------
        frame
            A pandas or polars dataframe, or a pyarrow table.
        categories
            Columns that are categories although they look like numbers or have very many levels.
        drop
            Columns to leave out.
        """
        table = opened(frame)
        require_columns(table, [*categories, *drop])
        require(len(table) > 0, "frame", "have at least one row", 0)
        names = [name for name in table.columns if name not in drop]
        columns = [inspect(table, name, category=name in categories) for name in names]
        left_out = {column.name: column.reason for column in columns if column.kind == "unusable"}
        for name, reason in left_out.items():
            log.warning("Column %r is left out: %s.", name, reason)
        kinds: dict[str, Any] = {"number": Number, "category": Category}
        used = {kind: tuple(part.fit(c.name, arrow(table, c.name)) for c in columns if c.kind == kind)
                for kind, part in kinds.items()}  # fmt: skip
        if not any(used.values()):
            raise InvalidParameter(f"`frame` must have a column of numbers or categories, got {_reasons(columns)}.")
        return cls(used["number"], used["category"], left_out)

    def refitted(self, frame: Any) -> Encoder:
        """The same columns, with scales and levels learned from these people alone.

        A number that all of them lack has no scale and is left out.

        Examples
        --------
        >>> import pandas as pd
        >>> people = pd.DataFrame({"income": [30.0, 50.0, 90.0], "home": ["rent", "own", "boat"]})
        >>> encoder = Encoder.fit(people).refitted(people[:2])
        >>> encoder.names, encoder.numbers[0].centre
        (('income', 'home = own', 'home = rent'), 40.0)
        """
        table = opened(frame)
        require_columns(table, self.columns)
        require(len(table) > 0, "frame", "have at least one row", 0)
        values = {part.name: arrow(table, part.name) for part in self.parts}
        lacking = [part.name for part in self.numbers if np.isnan(numbers(values[part.name], part.name)).all()]
        scaled = tuple(Number.fit(part.name, values[part.name]) for part in self.numbers if part.name not in lacking)
        listed = tuple(Category.fit(part.name, values[part.name]) for part in self.categories)
        left_out = dict.fromkeys(lacking, "it is missing for everybody that it could be fitted on")
        return Encoder(scaled, listed, self.left_out | left_out)

    @property
    def parts(self) -> tuple[Number | Category, ...]:
        """The columns that are used, in the order of encoding."""
        return (*self.numbers, *self.categories)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that people must have."""
        return tuple(part.name for part in self.parts)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return tuple(name for part in self.parts for name in part.names)

    def transform(self, frame: Any) -> Floats:
        """People as numbers, one row each; the frame may have more columns, in any order."""
        table = opened(frame)
        require_columns(table, self.columns)
        out = np.zeros((len(table), len(self.names)))
        first = 0
        for part in self.parts:
            last = first + len(part.names)
            part.write(arrow(table, part.name), out[:, first:last])
            first = last
        return out

    def to_dict(self) -> dict[str, Any]:
        """The encoder as plain JSON values."""
        listed = [asdict(part) | {"levels": list(part.levels)} for part in self.categories]
        scaled = [asdict(part) for part in self.numbers]
        return {"kind": "Encoder", "numbers": scaled, "categories": listed, "left_out": dict(self.left_out)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Encoder:
        """The encoder from ``to_dict``, the same to the last bit."""
        try:
            require(data["kind"] == "Encoder", "data", "be an encoder", data["kind"])
            scaled = tuple(Number(**part) for part in data["numbers"])
            listed = tuple(
                Category(part["name"], tuple(part["levels"]), part["missing"]) for part in data["categories"]
            )
            return cls(scaled, listed, dict(data["left_out"]))
        except (KeyError, TypeError):
            raise InvalidParameter("`data` must be what `Encoder.to_dict` gave, got something else.") from None


def _reasons(columns: list[Column]) -> str:
    return "; ".join(f"{column.name!r}: {column.reason}" for column in columns) or "no column"
