"""Boxes in words: the people whom a cut-off or a cell means, said with the columns of the file.

A box limits some encoded columns. Its words go column by column: the encoded columns of one category are one statement,
and what is missing belongs to its column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from likewise.protocol import Floats
from likewise.reading.columns import CategoryColumn, Column, Interval, NumberColumn
from likewise.wording import joined

Box: TypeAlias = Mapping[int, Interval]
"""Limits by position of the encoded column."""


def in_words(columns: Sequence[Column], box: Box, features: Floats | None = None) -> str | None:
    """Whom a box means: "" for everybody, None for nobody.

    With the encoded columns of some people, cuts are the shortest decimals that separate the same people.

    Examples
    --------
    >>> from likewise.reading.columns import NumberColumn, Split
    >>> in_words([NumberColumn("age", 0, centre=40.0, spread=10.0)], {0: Interval(Split(-0.5), Split(1.0))})
    '35 ≤ age < 50'
    """
    statements = []
    for column in columns:
        if not any(position in box for position in column.positions):
            continue
        statement = _number(column, box, features) if isinstance(column, NumberColumn) else _category(column, box)
        if statement is None:
            return None
        statements.append(statement)
    return " and ".join(statement for statement in statements if statement)


def _number(column: NumberColumn, box: Box, features: Floats | None) -> str | None:
    interval = box.get(column.first, Interval())
    states = _states(box.get(column.first + 1)) if column.missing else {False, True}
    at_median = column.median is not None and interval.holds(column.encoded(column.median))
    if column.missing and states == {True}:
        return f"{column.name} is missing" if at_median else None
    if not states:
        return None
    inside = _between(column, interval, None if features is None else features[:, column.first])
    if not inside:
        return f"{column.name} is not missing" if states == {False} else ""
    return f"{inside}, or missing" if column.missing and at_median and True in states else inside


def _between(column: NumberColumn, interval: Interval, values: Floats | None) -> str:
    low = None if interval.low is None else column.cut(interval.low, values)
    high = None if interval.high is None else column.cut(interval.high, values)
    if low is not None and high is not None:
        return f"{low.number} {'≤' if low.inclusive else '<'} {column.name} {high.below}"
    if low is not None:
        return f"{column.name} {low.above}"
    return "" if high is None else f"{column.name} {high.below}"


def _category(column: CategoryColumn, box: Box) -> str | None:
    states = [_states(box.get(position)) for position in column.positions]
    chosen = [option for option, state in zip(column.options, states, strict=True) if state == {True}]
    excluded = [option for option, state in zip(column.options, states, strict=True) if state == {False}]
    if len(chosen) > 1 or set() in states:
        return None
    if chosen:
        return f"{column.name} is {chosen[0]}"
    return f"{column.name} is not {joined(excluded, 'or')}" if excluded else ""


def _states(interval: Interval | None) -> set[bool]:
    """Which of off and on an indicator may be."""
    return {False, True} if interval is None else {on for on in (False, True) if interval.holds(float(on))}
