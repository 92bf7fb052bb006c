"""Groups of people beside individual fairness: selection rates, impact ratios, error rates and calibration.

Treating similar people alike doesn't make groups equal. So whoever deploys a policy is told how groups fare under it,
for every sensitive column, on people who took no part in learning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.certificates.advice import unclear
from likewise.certificates.held_out_people import FEWEST, HeldOut, checked_probabilities
from likewise.displays import short, table_html
from likewise.errors import require, require_number
from likewise.hindsight.compared import taken
from likewise.protocol import Floats
from likewise.scoreboard.group_rates import FEWEST_SHOWN, Rate, impact_ratios, members, rate
from likewise.wording import at_least, at_most, number, plural

BANDS = 5
"""Of equal width, by probability, in which labels are compared with probabilities."""
MEANS = {
    True: "means of probabilities: the share of yeses that lots give on average",
    False: "means of scores from 0 to 1: the share of yeses, if a yes were drawn with the score as its probability",
}
"""What a rate is where people get probabilities, by whether decisions are drawn with them."""
HEADER = ("people", "selection rate", "impact ratio", "wrong yes", "wrong no", "label 1 if yes", "label 1")


@dataclass(frozen=True)
class Band:
    """People of a group whose probabilities are in [low, high): their mean probability, and how many have label 1."""

    low: float
    high: float
    people: int
    probability: float
    label: float


@dataclass(frozen=True)
class Group:
    """A group's numbers.

    Attributes
    ----------
    name, people
        The value of the column, and how many people have it.
    selected
        The mean probability of a yes: the selection rate.
    impact
        That over the largest selection rate of the column's groups that are shown; None where nobody gets a yes, or
        where there is one group only.
    wrong_yes, wrong_no
        The mean probability of a yes for those with label 0 (false positive rate), and of a no for those with label 1
        (false negative rate); None below 30 of them.
    label_if_yes, label_if_no
        The share of label 1 among the yeses and among the noes that the lots give on average: Σ πy / Σ π and
        Σ (1 − π)y / Σ (1 − π).
    label
        The share of label 1.
    bands
        Labels beside probabilities, for bands with at least 30 people: calibration.
    """

    name: str
    people: int
    selected: Rate
    impact: Rate
    wrong_yes: Rate
    wrong_no: Rate
    label_if_yes: float | None
    label_if_no: float | None
    label: float | None
    bands: tuple[Band, ...] = ()

    def cells(self) -> tuple[str, ...]:
        """What stands in its row."""
        rates = (self.selected, self.impact, self.wrong_yes, self.wrong_no, Rate(self.label_if_yes), Rate(self.label))
        return self.name, f"{self.people:,}", *map(str, rates)


@dataclass(frozen=True)
class GroupTable:
    """The groups of one column.

    Attributes
    ----------
    column
        The sensitive column.
    groups
        Those with at least 30 people.
    left_out, people_left_out
        How many groups are smaller, and how many people they have together.
    others
        Other policies' smallest impact ratio, by name; None where it can't be computed.
    """

    column: str
    groups: tuple[Group, ...]
    left_out: int
    people_left_out: int
    others: Mapping[str, float | None]

    @property
    def smallest(self) -> Group | None:
        """The group with the smallest impact ratio; None where there is none."""
        known = [group for group in self.groups if group.impact.value is not None]
        return min(known, key=lambda group: group.impact.value or 0.0, default=None)

    @property
    def impact_ratio(self) -> float | None:
        """The smallest selection rate over the largest."""
        return None if self.smallest is None else self.smallest.impact.value

    def header(self) -> tuple[str, ...]:
        """Titles of the columns."""
        return (self.column, *HEADER)

    def cells(self) -> tuple[tuple[str, ...], ...]:
        """What stands in each row."""
        return tuple(group.cells() for group in self.groups)

    @property
    def sentence(self) -> str:
        """The smallest impact ratio, in words, and what it is under other policies."""
        worst = self.smallest
        if worst is None:
            why = "nobody gets a yes" if len(self.groups) > 1 else f"one group only has {FEWEST_SHOWN} people or more"
            return f"By {self.column}: no impact ratio, as {why}.{self._small}"
        beside = "; ".join(f"{name}: {value:.2f}" for name, value in self.others.items() if value is not None)
        return f"By {self.column}: the smallest impact ratio is {self._ratio(worst)}.{_if(beside)}{self._small}"

    def _ratio(self, worst: Group) -> str:
        impact = worst.impact
        between = ""
        if impact.low is not None and impact.high is not None:
            between = f", between {at_least(impact.low, 2)} and {at_most(impact.high, 2)}"
        # A group called 0 would read as a number.
        name = f"{self.column} {worst.name}" if worst.name.isdecimal() else worst.name
        return f"{impact.value:.2f} ({name}{between})"

    @property
    def _small(self) -> str:
        if not self.left_out:
            return ""
        who = f"{plural(self.left_out, 'group')} with fewer than {FEWEST_SHOWN} people"
        return f" {who} ({plural(self.people_left_out, 'person', 'people')} in all) not shown."


def _if(beside: str) -> str:
    return f" For comparison, {beside}." if beside else ""


@dataclass(frozen=True, repr=False)
class Groups:
    """How groups fare under a policy, column by column, and what is said below the tables."""

    tables: tuple[GroupTable, ...]
    notes: tuple[str, ...]
    delta: float

    def table(self, column: str) -> GroupTable:
        """The groups of a column."""
        return {table.column: table for table in self.tables}[column]

    def __repr__(self) -> str:
        return short("Groups", *(f"{table.column}: {len(table.groups)}" for table in self.tables))

    def _repr_html_(self) -> str:
        tables = [
            table_html(table.header(), [(cells, False) for cells in table.cells()], [table.sentence])
            for table in self.tables
        ]
        return "".join([*tables, *(f"<p>{escape(note)}</p>" for note in self.notes)])

    def __str__(self) -> str:
        return "\n\n".join([*(_text(table) for table in self.tables), "\n".join(self.notes)])

    def markdown(self) -> str:
        """The tables and notes in Markdown."""
        parts = [part for table in self.tables for part in (_markdown(table), table.sentence)]
        return "\n\n".join([*parts, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """The numbers and the sentences, as plain JSON values."""
        tables = [
            {**asdict(table), "impact_ratio": table.impact_ratio, "sentence": table.sentence, **_shown(table)}
            for table in self.tables
        ]
        return {"tables": tables, "notes": list(self.notes), "delta": self.delta}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Groups:
        """The tables of ``to_dict``."""
        return cls(tuple(map(_stored_table, data["tables"])), tuple(data["notes"]), data["delta"])


def _stored_table(data: Mapping[str, Any]) -> GroupTable:
    known = {each.name: data[each.name] for each in fields(GroupTable)}
    return GroupTable(**known | {"groups": tuple(map(_stored_group, data["groups"]))})


def _stored_group(data: Mapping[str, Any]) -> Group:
    rates = {name: Rate(**data[name]) for name in ("selected", "impact", "wrong_yes", "wrong_no")}
    return Group(**{**data, **rates, "bands": tuple(Band(**band) for band in data["bands"])})


def _shown(table: GroupTable) -> dict[str, Any]:
    return {"header": list(table.header()), "cells": [list(row) for row in table.cells()]}


def _text(table: GroupTable) -> str:
    lines = [table.header(), *table.cells()]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rows = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    return "\n".join([*(row.rstrip() for row in rows), table.sentence])


def _markdown(table: GroupTable) -> str:
    lines = [table.header(), ("---",) * len(table.header()), *table.cells()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def groups(
    policy: Any,
    people: Any,
    y: Any,
    sensitive: Any,
    *,
    others: Mapping[str, Any] | None = None,
    delta: float = 0.05,
    chosen_from: int = 1,
    ids: Any | None = None,
    held_out: bool = True,
    drawn: bool = True,
) -> Groups:
    """How groups fare under a policy, beside individual fairness and never instead of it.

    Parameters
    ----------
    policy
        Anything with ``probability(people)``, or a list with one probability per person; whole numbers 0 and 1 where
        it only decides.
    people, y
        People who took no part in learning, and their labels 0, 1 or NaN.
    sensitive
        Columns of ``people`` by name; or a dataframe or mapping with a value per person for each column. Numbers with
        more than eight different values are compared in quarters.
    others
        Other policies by name, of which only the smallest impact ratio is shown.
    delta
        One minus the confidence of each interval by itself.
    chosen_from
        From how many policies this one was chosen by looking at these people: its intervals allow for that.
    ids
        Who each row is; of rows with the same id the first one counts.
    held_out
        False if these people took part in learning: then nothing is claimed about others.
    drawn
        False if no decision is drawn with these probabilities: then they are called scores.

    Examples
    --------
    >>> import numpy as np
    >>> sex = np.repeat(["women", "men"], 100)
    >>> given = np.where(sex == "women", 0.25, 0.5)
    >>> table = groups(given, np.arange(200.0)[:, None], np.zeros(200), {"sex": sex}).table("sex")
    >>> table.impact_ratio, [(group.name, group.selected.value) for group in table.groups]
    (0.5, [('men', 0.5), ('women', 0.25)])
    """
    require_number(delta, "delta", 0, 1, open_at="low high")
    require(hasattr(people, "__len__"), "people", "have a row per person, also beside a list of probabilities", people)
    named = _columns(sensitive, people)
    held = HeldOut.of(people, y, ids=ids)
    p, rows = _given(policy, held, len(people)), held.rows
    speak = held_out and not held.same_rows and len(held) >= FEWEST
    level = delta / chosen_from if speak else None
    beside = {name: _given(other, held, len(people)) for name, other in (others or {}).items()}
    tables = tuple(_table(name, taken(np.asarray(values, dtype=object), rows), p, held.y, level, beside)
                   for name, values in named.items())  # fmt: skip
    rates = "shares of yeses" if p.dtype.kind in "bui" else MEANS[drawn]
    return Groups(tables, _notes(held, delta, held_out, chosen_from, rates), delta)


def _columns(sensitive: Any, people: Any) -> dict[str, Any]:
    if hasattr(sensitive, "columns") or isinstance(sensitive, Mapping):
        named = {str(name): np.asarray(sensitive[name]) for name in getattr(sensitive, "columns", sensitive)}
    else:
        names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
        absent = [name for name in names if name not in getattr(people, "columns", ())]
        require(not absent, "sensitive", "be columns of `people`, or a value per person for each", absent)
        named = {str(name): np.asarray(people[name]) for name in names}
    for name, values in named.items():
        require(len(values) == len(people), "sensitive", f"have {len(people)} values in {name!r}", len(values))
    return named


def _given(policy: Any, held: HeldOut, rows: int) -> Any:
    """What a policy gives each person; whole numbers stay so, as their limits are exact."""
    if hasattr(policy, "probability"):
        return held.probabilities(policy)
    array = np.asarray(policy)
    p = checked_probabilities(array, rows)
    return (p.astype(int) if array.dtype.kind in "bui" else p)[held.rows]


def _table(
    column: str, values: Any, p: Any, y: Floats, delta: float | None, others: Mapping[str, Floats]
) -> GroupTable:
    sizes = members(_typed(values))
    shown = {name: rows for name, rows in sizes.items() if len(rows) >= FEWEST_SHOWN}
    impacts = impact_ratios([p[rows] for rows in shown.values()], delta)
    groups = [_group(name, p[rows], y[rows], impact, delta)
             for (name, rows), impact in zip(shown.items(), impacts, strict=True)]  # fmt: skip
    small = [len(rows) for rows in sizes.values() if len(rows) < FEWEST_SHOWN]
    beside = {name: _smallest([q[rows] for rows in shown.values()]) for name, q in others.items()}
    return GroupTable(column, tuple(groups), len(small), sum(small), beside)


def _typed(values: Any) -> Any:
    import pandas as pd

    return pd.Series(values).infer_objects()


def _smallest(by_group: Sequence[Floats]) -> float | None:
    known = [ratio.value for ratio in impact_ratios(by_group, None) if ratio.value is not None]
    return min(known, default=None)


def _group(name: str, p: Any, y: Floats, impact: Rate, delta: float | None) -> Group:
    known = np.isfinite(y)
    q, label = p[known], y[known]
    enough = len(label) >= FEWEST_SHOWN
    return Group(
        name, len(p), rate(p, delta), impact, rate(q[label == 0], delta), rate(1 - q[label == 1], delta),
        _share(q, label) if enough else None, _share(1 - q, label) if enough else None,
        float(label.mean()) if enough else None, _bands(q, label),
    )  # fmt: skip


def _share(weight: Any, label: Floats) -> float | None:
    total = float(np.sum(weight))
    return float(np.sum(weight * label)) / total if total > 0 else None


def _bands(p: Any, y: Floats) -> tuple[Band, ...]:
    place: NDArray[np.intp] = np.minimum((np.asarray(p) * BANDS).astype(np.intp), BANDS - 1)
    inside = [(band, place == band) for band in range(BANDS)]
    return tuple(
        Band(band / BANDS, (band + 1) / BANDS, int(rows.sum()), float(p[rows].mean()), float(y[rows].mean()))
        for band, rows in inside
        if rows.sum() >= FEWEST_SHOWN
    )


def _notes(held: HeldOut, delta: float, held_out: bool, chosen_from: int, rates: str) -> tuple[str, ...]:
    notes = [f"Rates are {rates}. Impact ratio: a group's "
            "selection rate over the largest one. Wrong yes: of those with label 0; wrong no: of those with label 1."
            ]  # fmt: skip
    if not held_out:
        notes.append("These people took part in learning: nothing is claimed about others.")
    elif held.same_rows:
        notes.append(f"Nothing is claimed about new people: {unclear(held.same_rows)}.")
    elif len(held) < FEWEST:
        notes.append(f"Nothing is claimed about new people: that takes at least {FEWEST} people.")
    else:
        sure = f"In brackets: {number(100 * (1 - delta))}% intervals, each by itself and outside any joint claim, "
        notes.append(f"{sure}provided that new people come as these {number(len(held))} did.")
    if chosen_from > 1 and held_out and not held.same_rows and len(held) >= FEWEST:
        notes.append(f"The policy was chosen from {number(chosen_from)} on these people; its intervals allow for that.")
    notes.append("Treating similar people alike doesn't make groups equal, and equal groups don't make it fair.")
    return tuple(notes)
