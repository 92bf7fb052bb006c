"""What if: for each column, the nearest value at which the policy would give this person another probability.

Of a category, whose levels have no order, it is the level that does most. One column changes and the others stay. It
is what the policy would answer for such a person: whether anybody can change so, and what else would change with it, a
policy doesn't know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from likewise.errors import InvalidParameter, require, require_number
from likewise.protocol import Floats
from likewise.reading.columns import CategoryColumn, Column, Cut, NumberColumn, Split
from likewise.reading.decimals import brief, shortest
from likewise.reading.reading import Reading

MOST_VALUES = 64
"""At most this many values of a column are tried where its cuts are not known."""


class Change(NamedTuple):
    """A change of one column, and what it would do.

    Attributes
    ----------
    column
        The column of the file.
    was, becomes
        The person's value and the changed one, in words.
    value
        The changed value itself: a number or a level.
    probability
        What the policy would give then.
    difference
        That less the person's probability now.
    nearest
        Whether all values were gone through, as for cut-offs on columns and for cells; on models' scores only the
        values of the people compared with were tried. Then no nearer number moves it enough, and no other level more.
    """

    column: str
    was: str
    becomes: str
    value: float | str
    probability: float
    difference: float
    nearest: bool

    def __str__(self) -> str:
        """The change in a sentence."""
        sign = "−" if self.difference < 0 else "+"
        moved = f"{self.probability:.3f} ({sign}{abs(self.difference):.3f})"
        return f"{self.column} {self.becomes} instead of {self.was}: {moved}"


class _Option(NamedTuple):
    """A value that a column could have."""

    value: float | str
    words: str
    encoded: list[float]


def changes_of(reading: Reading, person: Any, by: float = 0.05, compared_with: Any = None) -> list[Change]:
    """The nearest change of each column that moves the probability by at least ``by``, up or down."""
    require_number(by, "by", 0, 1, open_at="low")
    features = reading.features(person)
    require(len(features) == 1, "person", "be one row", len(features))
    others = None if compared_with is None else reading.features(compared_with)
    if reading.on_scores and others is None:
        raise InvalidParameter(
            "`compared_with` must be people, whose values are tried, for a policy on models' scores, got None."
        )
    now, was = float(reading.probability(features)[0]), reading.shown(person)
    changes: list[Change] = []
    for column, (shown,) in zip(reading.columns, was, strict=True):
        options = list(_options(reading, column, features[0], others))
        changes += _nearest(reading, column, features[0], options, now, shown, by)
    return sorted(changes, key=lambda change: -abs(change.difference))


def _nearest(
    reading: Reading, column: Column, person: Floats, options: list[_Option], now: float, was: str, by: float
) -> Iterator[Change]:
    """The option that raises the probability enough, and the one that lowers it enough."""
    if not options:
        return
    people = np.tile(person, (len(options), 1))
    people[:, list(column.positions)] = [option.encoded for option in options]
    probabilities = reading.probability(people)
    for sign in (1, -1):
        # The probability itself is rounded: a step of exactly `by` counts.
        enough = np.flatnonzero(sign * (probabilities - now) >= by - 1e-12)
        if len(enough):
            # Levels have no order, so of a category it is the one that does most.
            moved = sign * probabilities[enough]
            first = enough[0] if isinstance(column, NumberColumn) else enough[int(moved.argmax())]
            value, words, _ = options[first]
            then = float(probabilities[first])
            yield Change(column.name, was, words, value, then, then - now, not reading.on_scores)


def _options(reading: Reading, column: Column, person: Floats, others: Floats | None) -> Iterator[_Option]:
    """Values of a column that the policy may treat differently, the nearest first."""
    if isinstance(column, CategoryColumn):
        return (_Option(level, level, column.encode(level)) for level in column.levels)
    if reading.on_scores and others is not None:
        return _observed(column, person, others)
    return _intervals(column, person, [split for place, split in reading.splits() if place == column.first])


def _intervals(column: NumberColumn, person: Floats, splits: list[Split]) -> Iterator[_Option]:
    """One value in each interval between cuts, next to the person's side of it."""
    current = float(person[column.first])
    splits = sorted(set(splits))
    bounds = [column.boundary(split) for split in splits]
    inside = sum(split.passes(current) for split in splits)
    if column.missing and person[column.first + 1]:  # from missing to a number in the same interval
        yield _number(column, current * column.spread + column.centre)
    above = list(range(inside, len(splits)))
    below = list(range(inside - 1, -1, -1))
    for i in sorted(above + below, key=lambda i: abs(splits[i].cut - current)):
        cut = column.cut(splits[i])
        if i >= inside:
            value = column.just_above(cut, bounds[i], bounds[i + 1] if i + 1 < len(bounds) else np.inf)
            yield _Option(value, _side(cut.above, value, cut), column.encode(value))
        else:
            value = column.just_below(cut, bounds[i - 1] if i else -np.inf, bounds[i])
            yield _Option(value, _side(cut.below, value, cut), column.encode(value))


def _side(words: str, value: float, cut: Cut) -> str:
    """The side of a cut; the number itself where the cut is only known as "about"."""
    return brief(value) if cut.about else words


def _number(column: NumberColumn, raw: float) -> _Option:
    """A number near ``raw``, as people write it."""
    width = 8 * float(np.spacing(abs(raw) + abs(column.centre)))
    value = shortest(raw - width, raw + width, raw)
    return _Option(float(value), brief(float(value)), column.encode(float(value)))


def _observed(column: NumberColumn, person: Floats, others: Floats) -> Iterator[_Option]:
    """Values that the people compared with have, the nearest to the person's first."""
    present = others[others[:, column.first + 1] == 0] if column.missing else others
    values = np.unique(present[:, column.first])
    if len(values) > MOST_VALUES:
        values = values[np.linspace(0, len(values) - 1, MOST_VALUES).round().astype(np.intp)]
    for value in sorted(values.tolist(), key=lambda value: abs(value - float(person[column.first]))):
        yield _number(column, value * column.spread + column.centre)
