"""Comparisons: a distance between people, put in words, from the columns that a reviewer compares by.

Each number counts weight · |a − b| / unit, each category its weight if the two differ, and the distance is the sum:

    d(a, b) = Σ_numbers w_j |a_j − b_j| / u_j + Σ_categories w_j 1[a_j ≠ b_j]

With weights 1/columns it is an average and lies roughly in [0, 1]. The view is scaled so that d is the plain cityblock
metric of its rows, which the compiled play knows by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from likewise.datasets.columns import MISSING, UNSEEN, arrow, codes, inspect, levels, numbers, opened, require_columns
from likewise.errors import InvalidParameter, require, require_number
from likewise.protocol import Floats
from likewise.wording import columns_for, joined


@dataclass(frozen=True)
class ByNumber:
    """A number: a difference of ``unit`` counts ``weight``. What is missing is ``weight`` away from the median."""

    name: str
    weight: float
    unit: float
    median: float
    missing: bool

    @property
    def width(self) -> int:
        """Columns of the view."""
        return 2 if self.missing else 1

    def write(self, values: Any, out: Floats) -> None:
        """Fill the view's columns of some people."""
        floats = numbers(values, self.name)
        absent = np.isnan(floats)
        out[:, 0] = np.where(absent, self.median, floats) * (self.weight / self.unit)
        if self.missing:
            out[:, 1] = self.weight * absent

    def __str__(self) -> str:
        return f"{self.unit:{',.0f' if self.unit >= 1000 else '.4g'}} of {self.name}"


@dataclass(frozen=True)
class ByCategory:
    """A category: two different levels count ``weight``; what is missing, or new, is a level like any other."""

    name: str
    weight: float
    levels: tuple[str, ...]

    @property
    def width(self) -> int:
        """Columns of the view: half as many as levels, counting the missing and the new one."""
        return (len(self.levels) + 3) // 2

    def write(self, values: Any, out: Floats) -> None:
        """Fill the view's columns of some people; they start as zeros."""
        place = codes(values, self.levels)
        place[place == MISSING] = len(self.levels)
        place[place == UNSEEN] = len(self.levels) + 1
        # The corners ±e_j of the cross-polytope are all at cityblock distance 2 from each other: two levels a column.
        out[np.arange(len(out)), place // 2] = np.where(place % 2 == 0, 0.5, -0.5) * self.weight

    def __str__(self) -> str:
        return f"another {self.name}"


@dataclass(frozen=True)
class Comparison:
    """How far apart two people are, column by column; a view of people, and the distance on it.

    A comparison is itself a distance on its view, for ``likewise.MetricAuditor``. Its ``metric``, a name,
    is the same distance for the compiled play.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"income": [30, 40, 50, 60], "home": ["rent", "own", "own", "rent"]})
    >>> comparison = Comparison.fit(people, ["income", "home"], units={"income": 20})
    >>> view = comparison.transform(people)
    >>> comparison(view)[0].tolist()
    [0.0, 0.75, 1.0, 0.75]
    >>> print(comparison.described)
    Two people are alike if they have about the same income and the same home; 20 of income or another home each count
    1/2, and two people who are 1 apart may be treated entirely differently.
    """

    parts: tuple[ByNumber | ByCategory, ...]

    metric: ClassVar[str] = "cityblock"
    """The distance on the view, by its SciPy name."""

    @classmethod
    def fit(
        cls,
        frame: Any,
        compare_by: Sequence[str],
        *,
        units: Mapping[str, float] | None = None,
        weights: Mapping[str, float] | None = None,
        categories: Sequence[str] = (),
    ) -> Comparison:
        """A comparison by some columns.

        Parameters
        ----------
        frame
            People: a pandas or polars dataframe, or a pyarrow table.
        compare_by
            The columns that may justify a difference.
        units
            How far apart in a number counts the whole of its weight; by default its interquartile range (or, where that
            is zero, the range from the 5 % to the 95 % quantile, or the whole range).
        weights
            What each column counts; 1/columns by default.
        categories
            Columns that are categories although they look like numbers.
        """
        table = opened(frame)
        names = _chosen(compare_by, table.columns)
        require(len(table) > 0, "frame", "have at least one row", 0)
        units, weights = dict(units or {}), dict(weights or {})
        for mapping, argument in ((units, "units"), (weights, "weights")):
            stray = sorted(set(mapping) - set(names))
            require(not stray, argument, f"be for columns of `compare_by`, {names}", stray)
        parts = []
        for name in names:
            column = inspect(table, name, category=name in categories)
            flat = column.reason == "it is the same for everybody"
            if column.kind == "unusable" and not flat:
                raise InvalidParameter(
                    f"`compare_by` must name columns of numbers or categories, got {name!r}: {column.reason}."
                )
            weight = weights.get(name, 1 / len(names))
            require_number(weight, f"weights[{name}]", 0, open_at="low")
            parts.append(_part(arrow(table, name), name, weight, units.get(name), name in categories))
        return cls(tuple(parts))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that people must have."""
        return tuple(part.name for part in self.parts)

    @property
    def described(self) -> str:
        """The distance, in words."""
        near = [part.name for part in self.parts if isinstance(part, ByNumber)]
        same = [part.name for part in self.parts if isinstance(part, ByCategory)]
        alike = " and ".join(
            [*([f"about the same {joined(near)}"] if near else []), *([f"the same {joined(same)}"] if same else [])]
        )
        return (
            f"Two people are alike if they have {alike}; {self._counts()}, and two people who are 1 apart may be "
            "treated entirely differently."
        )

    def _counts(self) -> str:
        weights = {part.weight for part in self.parts}
        if len(weights) > 1:
            return joined([f"{part} counts {part.weight:.4g}" for part in self.parts])
        (weight,) = weights
        amount = f"1/{len(self.parts)}" if weight * len(self.parts) == 1 < len(self.parts) else f"{weight:.4g}"
        each = "each count" if len(self.parts) > 1 else "counts"
        return f"{joined([str(part) for part in self.parts], 'or')} {each} {amount}"

    def transform(self, frame: Any) -> Floats:
        """The view of people: one row each, whose cityblock distances are the distances of the people."""
        table = opened(frame)
        require_columns(table, self.columns)
        out = np.zeros((len(table), sum(part.width for part in self.parts)))
        first = 0
        for part in self.parts:
            last = first + part.width
            part.write(arrow(table, part.name), out[:, first:last])
            first = last
        return out

    def __call__(self, view: Any) -> Floats:
        """(k, k): how far apart the people of a view are, which ``transform`` made."""
        width = sum(part.width for part in self.parts)
        if hasattr(view, "columns") or np.ndim(view) != 2 or np.shape(view)[1] != width:
            got = f"the columns {list(view.columns)}" if hasattr(view, "columns") else f"shape {np.shape(view)}"
            raise InvalidParameter(
                f"`view` must have the {width} columns that this distance was made for, `transform` of "
                f"{', '.join(self.columns)}, got {got}; give it to the environment: IID(X, y, k, view=...)."
            )
        return cityblock(view)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain JSON values."""
        return {"kind": "Comparison", "parts": [_plain(part) for part in self.parts]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Comparison:
        """The comparison from ``to_dict``, the same to the last bit."""
        try:
            require(data["kind"] == "Comparison", "data", "be a comparison", data["kind"])
            return cls(tuple(_part_from(part) for part in data["parts"]))
        except (KeyError, TypeError):
            raise InvalidParameter("`data` must be what `Comparison.to_dict` gave, got something else.") from None


def cityblock(view: Any) -> Floats:
    """(k, k): Σ_j |a_j − b_j| between the rows of a view."""
    from scipy.spatial.distance import cdist

    points = np.asarray(view, dtype=float)
    return np.asarray(cdist(points, points, "cityblock"))


def _chosen(compare_by: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The names of ``compare_by``, checked."""
    names = [compare_by] if isinstance(compare_by, str) else list(compare_by)
    require(len(names) > 0, "compare_by", "name at least one column", names)
    require(len(set(names)) == len(names), "compare_by", "name each column once", names)
    absent = [name for name in names if name not in columns]
    require(not absent, "compare_by", f"be among the {columns_for(absent, list(columns))}", absent)
    return names


def _part(values: Any, name: str, weight: float, unit: float | None, category: bool) -> ByNumber | ByCategory:
    import pyarrow as pa

    distinct = levels(values) if category or pa.types.is_large_string(values.type) else None
    if distinct is not None:
        require(unit is None, "units", "be for numbers", {name: unit})
        return ByCategory(name, weight, distinct)
    floats = numbers(values, name)
    absent = np.isnan(floats)
    if unit is None:
        unit = middle_range(floats[~absent])
    require_number(unit, f"units[{name}]", 0, open_at="low")
    return ByNumber(name, weight, float(unit), float(np.median(floats[~absent])), bool(absent.any()))


def middle_range(values: Floats) -> float:
    """The middle half of the values, or the first wider part of them that is not a single point."""
    for low in (0.25, 0.05, 0.0):
        below, above = np.quantile(values, [low, 1 - low])
        if above > below:
            return float(above - below)
    return 1.0


def _plain(part: ByNumber | ByCategory) -> dict[str, Any]:
    return asdict(part) | ({"levels": list(part.levels)} if isinstance(part, ByCategory) else {})


def _part_from(part: dict[str, Any]) -> ByNumber | ByCategory:
    return ByCategory(**part | {"levels": tuple(part["levels"])}) if "levels" in part else ByNumber(**part)


@dataclass(frozen=True)
class Codes:
    """A view for a distance of your own: the columns as they are, categories as 0, 1, 2, … in order of their text.

    Missing numbers are NaN, missing categories -1 and new ones -2.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"income": [30, 40], "home": ["rent", "own"]})
    >>> Codes.fit(people, ["home", "income"]).transform(people).tolist()
    [[1.0, 30.0], [0.0, 40.0]]
    """

    levels: dict[str, tuple[str, ...] | None]

    @classmethod
    def fit(cls, frame: Any, compare_by: Sequence[str], *, categories: Sequence[str] = ()) -> Codes:
        """Learn the levels of the columns to compare by."""
        by = Comparison.fit(frame, compare_by, categories=categories)
        return cls({part.name: part.levels if isinstance(part, ByCategory) else None for part in by.parts})

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that people must have."""
        return tuple(self.levels)

    def transform(self, frame: Any) -> Floats:
        """The columns as numbers, one row per person."""
        table = opened(frame)
        require_columns(table, self.columns)
        columns = [
            numbers(arrow(table, name), name) if distinct is None else codes(arrow(table, name), distinct)
            for name, distinct in self.levels.items()
        ]
        return np.column_stack(columns).astype(float)

    def to_dict(self) -> dict[str, Any]:
        """The view's levels as plain JSON values."""
        return {
            "kind": "Codes",
            "levels": {name: distinct and list(distinct) for name, distinct in self.levels.items()},
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Codes:
        """The view from ``to_dict``."""
        try:
            require(data["kind"] == "Codes", "data", "be the codes of a view", data["kind"])
            return cls({name: distinct and tuple(distinct) for name, distinct in data["levels"].items()})
        except (KeyError, TypeError, AttributeError):
            raise InvalidParameter("`data` must be what `Codes.to_dict` gave, got something else.") from None
