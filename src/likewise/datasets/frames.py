"""Your own people: a dataframe, the column that holds the label, and the columns that a reviewer compares by."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.datasets.columns import Column, arrow, codes, inspect, levels, opened
from likewise.datasets.comparison import Codes, Comparison
from likewise.datasets.dataset import Dataset, Datasheet
from likewise.datasets.encoder import Encoder
from likewise.datasets.roles import EACH_ROW, decided_today, persons
from likewise.errors import InvalidParameter, require
from likewise.protocol import Floats
from likewise.wording import columns_for, plural

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)


def from_frame(
    frame: Any,
    *,
    label: str,
    compare_by: Sequence[str],
    sensitive: Sequence[str] = (),
    positive: Any = None,
    distance: Callable[[Floats], Floats] | None = None,
    units: Mapping[str, float] | None = None,
    categories: Sequence[str] = (),
    drop: Sequence[str] = (),
    ids: str | None = None,
    today: str | None = None,
    name: str = "Your data",
) -> Dataset:
    """A data set of your own people.

    Rows without a label are left out, and so are columns that can't be encoded (free text, ids, dates); the log and the
    datasheet say which. Other missing values stay; the encoder handles them.

    Parameters
    ----------
    frame
        A pandas or polars dataframe, or a pyarrow table.
    label
        The column of labels: 0 and 1, true and false, or any two values.
    compare_by
        The columns that may justify a difference.
    sensitive
        The columns that must not; none of them may be compared by. One that is dropped as well stays in ``people``, so
        that groups can be compared, and is not encoded.
    positive
        The value of the label that counts as 1, where 0 and 1 or true and false don't say it; all others count as 0.
    distance
        A distance of your own, from a view to (k, k) distances; the view then has one column per column to compare by,
        categories as codes (``Codes``). By default a ``Comparison``, which is described in words.
    units
        How far apart in a number counts fully, for the default distance.
    categories
        Columns that are categories although they look like numbers.
    drop
        Columns to leave out of everything.
    ids
        The column that says who each row is, never a feature; ``"each-row"`` if every row is a person of its own.
        Without it, rows that are the same in every column may be one person: the log says how many.
    today
        The column of what is decided today, yes or no or a probability; no feature, unless it is
        also one to compare by.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"income": [30, 50, 40], "home": ["own", "rent", "own"], "approved": ["no", "yes", None]})
    >>> data = from_frame(people, label="approved", positive="yes", compare_by=["income"])
    >>> data.y.tolist(), list(data.people.columns)
    ([0.0, 1.0], ['income', 'home'])
    >>> data.row_numbers.tolist()
    [1, 2]
    """
    table = opened(frame)
    _check_roles(table.columns, label, compare_by, sensitive, drop)
    _check_asides(table.columns, label, compare_by, ids, today)
    y, meaning = labels(arrow(table, label), label, positive)
    labelled = ~np.isnan(y)
    unlabelled = int((~labelled).sum())
    if unlabelled:
        log.warning("%d rows have no label in %r and are left out.", unlabelled, label)
    rows = table.filter(labelled.tolist())
    person, named = persons(rows.to_pandas(), ids)
    same = "" if named else _same(person)
    if same:
        log.warning("%s", same)
    by = {compare_by} if isinstance(compare_by, str) else {*compare_by}
    aside = {label, *drop, ids, today} - by - set(sensitive)
    unused = [column for column in table.columns if column in aside]
    people: pd.DataFrame = rows.drop(unused).to_pandas().reset_index(drop=True)
    encoder = Encoder.fit(
        people,
        categories=[column for column in categories if column not in (label, *drop)],
        drop=[column for column in drop if column in sensitive],
    )
    compared = [column for column in categories if column in compare_by]
    viewer: Comparison | Codes
    if distance is None:
        distance = viewer = Comparison.fit(people, compare_by, units=units, categories=compared)
        in_words = viewer.described
    else:
        require(callable(distance), "distance", "be a callable, from a view to (k, k) distances", distance)
        require(units is None, "units", "be left out with a distance of your own", units)
        viewer = Codes.fit(people, compare_by, categories=compared)
        in_words = f"A distance of your own: {getattr(distance, '__name__', type(distance).__name__)}."
    return Dataset(
        name=name,
        people=people,
        y=y[labelled],
        compare_by=viewer.columns,
        sensitive=tuple(sensitive),
        distance=distance,
        described=f"{_counted(person, named)}; {meaning}.",
        distance_described=in_words,
        datasheet=_datasheet(name, _counted(person, named), unlabelled, meaning, encoder, same),
        encoder=encoder,
        viewer=viewer,
        person=person,
        named=named,
        today=None if today is None else decided_today(arrow(rows, today), today, positive),
        file_rows=np.flatnonzero(labelled) + 1,
    )


def _counted(person: NDArray[np.intp], named: bool) -> str:
    """How many people there are, as far as anybody knows."""
    rows, people = len(person), len(np.unique(person))
    if rows == people:
        return plural(people, "person", "people")
    return f"{rows:,} rows of {plural(people, 'person', 'people')}" if named else f"{rows:,} rows of people"


def _same(person: NDArray[np.intp]) -> str:
    same = len(person) - len(np.unique(person))
    return (
        f"{plural(same, 'row is', 'rows are')} the same as another in every column and may be one person; name the "
        f"column that says who each row is (--id, in Python ids), or say that each is a person of its own ({EACH_ROW})."
    )


def inspected(frame: Any, categories: Sequence[str] = ()) -> list[Column]:
    """What each column of a dataframe would be taken for: number, category, or unusable and why.

    Examples
    --------
    >>> import pandas as pd
    >>> [column.kind for column in inspected(pd.DataFrame({"income": [30, 50], "home": ["own", "rent"]}))]
    ['number', 'category']
    """
    table = opened(frame)
    require(len(table) > 0, "frame", "have at least one row", 0)
    return [inspect(table, name, category=name in categories) for name in table.columns]


def _check_roles(
    columns: Sequence[str], label: str, compare_by: Sequence[str], sensitive: Sequence[str], drop: Sequence[str]
) -> None:
    """Every column that is named exists, and no two roles contradict each other."""
    require(label in columns, "label", f"be one of the {columns_for([label], list(columns))}", label)
    by = {compare_by} if isinstance(compare_by, str) else set(compare_by)
    for role, named in (("sensitive", sensitive), ("drop", drop)):
        require(not isinstance(named, str), role, "be a list of columns", named)
        absent = [name for name in named if name not in columns]
        require(not absent, role, f"be among the {columns_for(absent, list(columns))}", absent)
        require(label not in named, role, "not hold the label", label)
        both = sorted(by & set(named))
        require(not both, role, "not hold columns to compare by", both)
    require(label not in by, "compare_by", "not hold the label", label)


def _check_asides(
    columns: Sequence[str], label: str, compare_by: Sequence[str], ids: str | None, today: str | None
) -> None:
    """A column of ids is nothing but that; what is decided today is not the label."""
    require(ids is None or ids != label, "id", "not be the label", ids)
    require(ids is None or ids not in compare_by, "compare_by", "not hold the column of ids", ids)
    require(today is None or today in columns, "today", f"be one of the {columns_for([today], list(columns))}", today)
    require(today is None or today not in (label, ids), "today", "be neither the label nor the column of ids", today)


# Labels ----------------------------------------------------------------------------------------------------------


def labels(values: Any, name: str, positive: Any = None) -> tuple[Floats, str]:
    """A column of labels as 0, 1 and NaN, and what 1 means in words."""
    distinct = levels(values, name)
    chosen = _positive(distinct, name, positive)
    places = codes(values, distinct)
    y = np.where(places < 0, np.nan, places == distinct.index(chosen))
    return y, f"1 means that {name} is {chosen}"


def _positive(distinct: tuple[str, ...], name: str, positive: Any) -> str:
    """Which of the label's values counts as 1."""
    if len(distinct) < 2:
        raise InvalidParameter(f"`label` must have two values, got only {list(distinct)} in the column {name!r}.")
    if positive is not None:
        text = positive if isinstance(positive, str) else _word(positive)
        matches = [level for level in distinct if level == text] or [x for x in distinct if x.lower() == text.lower()]
        require(len(matches) == 1, "positive", f"be one of the values {list(distinct[:10])} of {name!r}", positive)
        _refuse_spellings(distinct, name, matches[0])
        return matches[0]
    for zero, one in (("0", "1"), ("false", "true")):
        if tuple(level.lower() for level in distinct) == (zero, one):
            return distinct[1]
    if len(distinct) == 2:
        raise InvalidParameter(
            f"`positive` must say which value of {name!r} counts as 1, {distinct[0]!r} or {distinct[1]!r}, got None."
        )
    raise InvalidParameter(
        f"`label` must be a column with two values, got {name!r} with {len(distinct):,}: "
        f"{', '.join(distinct[:5])}, …; say with `positive` which one counts as 1."
    )


def _refuse_spellings(distinct: tuple[str, ...], name: str, yes: str) -> None:
    """Raise if the yes is written in several ways: all but one of them would be a no."""
    spellings = [level for level in distinct if " ".join(level.casefold().split()) == " ".join(yes.casefold().split())]
    if len(spellings) > 1:
        raise InvalidParameter(
            f"`label` must have one spelling of its yes, got {' and '.join(map(repr, spellings))} in the column "
            f"{name!r}; likewise data with --fix writes a copy with one."
        )


def _word(value: Any) -> str:
    """A value as its level is written."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    value = float(str(value)) if isinstance(value, np.float32) else value
    return f"{value:.15g}" if isinstance(value, (int, float, np.number)) else str(value)


def _datasheet(name: str, people: str, unlabelled: int, meaning: str, encoder: Encoder, same: str) -> Datasheet:
    problems = [f"The column {column} is not used: {reason}." for column, reason in encoder.left_out.items()]
    if unlabelled:
        count = plural(unlabelled, "row has no label and is", "rows have no label and are")
        why = "if labels are missing for a reason, the people who remain are not typical"
        problems.append(f"{count} left out; {why}.")
    problems += [same] if same else []
    return Datasheet(
        name=name,
        origin="Given as a dataframe; Likewise knows nothing else about it.",
        rows=f"{people} with a label.",
        positive=f"{meaning}.",
        licence="Not known to Likewise: ask whoever gave you the data.",
        problems=tuple(problems),
        source="Memory.",
    )
