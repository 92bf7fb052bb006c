"""People with a score that somebody gave them: as it stands in a file, and what they may be compared by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.auditors import named_metric
from likewise.datasets import Comparison
from likewise.datasets.columns import arrow, numbers, opened, texts
from likewise.datasets.roles import decided_today, persons
from likewise.errors import InvalidParameter, require
from likewise.protocol import Floats
from likewise.wording import columns_for, plural, written

if TYPE_CHECKING:
    import pandas as pd

SCALES = ("as-is", "rank")
"""A score as it is, or the share of people with a lower one."""
DIGITS = 6


@dataclass(frozen=True, eq=False, repr=False)
class ScoredPeople:
    """People, their scores in [0, 1], and how far apart they are by the columns that may justify a difference.

    Attributes
    ----------
    people
        One row per person, all columns of the file.
    scores
        In [0, 1]: as given, or on the scale that ``described`` tells.
    given
        The score of the file, as it was written.
    view, comparison
        What people are compared by, and the distance on it.
    shown
        The columns that a reviewer sees.
    rows
        Everybody's row in the file, counted from 1.
    described
        What a score is, in a sentence.
    notes
        Who was left out, and what is unclear.
    ids, distinct
        Who each row is, and whether anybody knows that.
    decisions
        Whether scores can only be 0 and 1.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"income": [30, 31, 60], "score": [0.2, 0.9, None]})
    >>> found = scored_people(people, "score", ["income"])
    >>> found.scores.tolist(), found.rows.tolist(), found.notes
    ([0.2, 0.9], [1, 2], ('1 row has no score and is left out.',))
    """

    people: pd.DataFrame
    scores: Floats
    given: tuple[str, ...]
    view: Floats
    comparison: Comparison
    shown: tuple[str, ...]
    rows: NDArray[np.intp]
    described: str
    notes: tuple[str, ...]
    ids: NDArray[np.intp]
    distinct: bool
    decisions: bool

    def __repr__(self) -> str:
        return f"ScoredPeople({len(self.people):,} people)"

    def __len__(self) -> int:
        return len(self.scores)

    def person(self, i: int) -> tuple[str, ...]:
        """What a reviewer sees of somebody, in the units of the file."""
        return tuple(written(value, DIGITS) for value in self.people.iloc[i][list(self.shown)])

    def distance(self, i: int, others: Any) -> Floats:
        """How far apart one person is from others."""
        return np.asarray(np.abs(self.view[others] - self.view[i]).sum(axis=1))

    def distances(self, places: NDArray[np.intp]) -> Floats:
        """How far apart some people are."""
        return named_metric(self.comparison.metric)(self.view[places])


def scored_people(
    frame: Any,
    score: str,
    compare_by: Sequence[str],
    *,
    show: Sequence[str] = (),
    scale: str = "as-is",
    between: tuple[float, float] | None = None,
    positive: Any = None,
    units: Mapping[str, float] | None = None,
    categories: Sequence[str] = (),
    ids: str | None = None,
) -> ScoredPeople:
    """People with a score from a dataframe; rows without one are left out, and of a person with several the first.

    Parameters
    ----------
    frame
        A pandas or polars dataframe, or a pyarrow table.
    score
        The column of scores: numbers, or yes and no.
    compare_by
        The columns that may justify a difference.
    show
        Columns that reviewers see beside them.
    scale
        ``"as-is"``: the score is a probability in [0, 1] (or is put there by ``between``). ``"rank"``: the share of
        people with a lower score.
    between
        The least and the largest score there can be, which become 0 and 1.
    positive
        The value that counts as a yes, where the score is a decision in words.
    units, categories
        As ``likewise.datasets.Comparison.fit`` takes them.
    ids
        The column that says who each row is.
    """
    table = opened(frame)
    require(score in table.columns, "score", f"be one of the {columns_for([score], list(table.columns))}", score)
    by = [compare_by] if isinstance(compare_by, str) else list(compare_by)
    require(score not in by, "compare_by", "not hold the score", score)
    absent = [name for name in show if name not in table.columns]
    require(not absent, "show", f"be among the {columns_for(absent, list(table.columns))}", absent)
    column = arrow(table, score)
    known = ~np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    notes = _left_out(int((~known).sum()), "has no score", "have no score")
    rows = table.filter(known.tolist())
    person, named = persons(rows.to_pandas(), ids)
    first = np.sort(np.unique(person, return_index=True)[1]) if named else np.arange(len(person))
    notes += _left_out(len(person) - len(first), "is of a person already there", "are of people already there")
    people: pd.DataFrame = rows.to_pandas().iloc[first].reset_index(drop=True)
    require(len(people) >= 2, "frame", "hold at least two people with a score", len(people))
    values = column.filter(known).take(first)
    scores, described = _scaled(values, score, scale, between, positive)
    comparison = Comparison.fit(people, by, units=units, categories=[name for name in categories if name in by])
    return ScoredPeople(
        people, scores, tuple("–" if text is None else text for text in texts(values).to_pylist()),
        comparison.transform(people), comparison, tuple(dict.fromkeys([*comparison.columns, *show])),
        np.flatnonzero(known)[first] + 1, described, notes, person[first], named,
        between is None and scale == "as-is" and not _is_float(values),
    )  # fmt: skip


def _is_float(values: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(values.type))


def _left_out(count: int, one: str, several: str) -> tuple[str, ...]:
    if not count:
        return ()
    return (f"{plural(count, f'row {one} and is', f'rows {several} and are')} left out.",)


def _scaled(
    values: Any, name: str, scale: str, between: tuple[float, float] | None, positive: Any
) -> tuple[Floats, str]:
    import pyarrow as pa

    require(scale in SCALES, "scale", f"be one of {SCALES}", scale)
    if pa.types.is_large_string(values.type) or pa.types.is_string(values.type):
        require(between is None and scale == "as-is", "between", "be left out where the score is yes or no", between)
        try:
            return decided_today(values, name, positive), f"{name} is a decision: 1 is a yes, 0 a no."
        except InvalidParameter as error:
            raise InvalidParameter(str(error).replace("`today`", "`score`")) from None
    raw = numbers(values, name)
    if scale == "rank":
        require(between is None, "between", "be left out with the scale rank", between)
        below = np.searchsorted(np.sort(raw), raw, side="left")
        return below / len(raw), f"A score is the share of these {len(raw):,} people whose {name} is lower."
    low, high = (0.0, 1.0) if between is None else (float(between[0]), float(between[1]))
    require(low < high, "between", "be the least and the largest score, in this order", between)
    inside = bool(((raw >= low) & (raw <= high)).all())
    if not inside:
        raise InvalidParameter(
            f"`score` must hold numbers from {low:g} to {high:g}, got {name!r} with {raw.min():g} to {raw.max():g}; "
            "say between which numbers a score lies (`between`), or compare ranks (`scale`: rank)."
        )
    scaled = "as it is in the file" if between is None else f"from {low:g} (0) to {high:g} (1)"
    return (raw - low) / (high - low), f"A score is {name}, {scaled}."
