"""The scoreboard: how good a policy is, beside what anybody could do with no skill and with all of it.

One table, the same everywhere. ``scoreboard`` fills it in; whoever draws it needs ``header`` and ``cells``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from likewise.displays import short, table_html
from likewise.wording import percent, plural


@dataclass(frozen=True)
class Row:
    """A policy's numbers.

    Attributes
    ----------
    name
        What it is called.
    error
        Mean loss under the labels that happened; None for an exact row, which is on fewer people.
    error_low, error_high
        An interval for a new person's expected loss; None where nothing is claimed about new people.
    expected_error
        Mean loss expected under the cross-fitted label probabilities, on ``Scoreboard.limit_people`` people; None where
        no such probabilities could be fitted.
    unfair
        The share of pairs apart by more than their distance + α; None where no distance is known.
    unfair_low, unfair_high
        An interval for two new people; None where nothing is claimed about new people.
    lot
        Mean 2π(1 − π): the probability that two draws for the same person differ.
    told
        What it was told: "labels", "pairs" (and the share of labels), "everything", or "" where nobody knows.
    bold
        Whether this is the policy that the table is about.
    exact
        Whether it is a limit, computed on these very people, and no policy for new ones.
    """

    name: str
    error: float | None
    error_low: float | None
    error_high: float | None
    expected_error: float | None
    unfair: float | None
    unfair_low: float | None
    unfair_high: float | None
    lot: float
    told: str
    bold: bool = False
    exact: bool = False


@dataclass(frozen=True, repr=False)
class Scoreboard:
    """The table, and what is said below it.

    Attributes
    ----------
    rows
        Policies, in the order in which they are shown.
    people
        How many distinct people the errors, unfair pairs and lots are on.
    of_whom
        A sentence about them.
    alpha, delta
        The level, and one minus the confidence of each interval by itself.
    share_of_gain
        (constant − this policy) / (constant − best of any kind), all three expected errors on the same people; None
        where ``no_share`` says why.
    no_share
        Why there is no share: "too little to win", or what is missing; "" where there is one.
    limit_people
        How many people the exact rows and the expected errors are on; 0 where there are none.
    notes
        Sentences that belong below the table.
    unit
        What errors are called: "error", or "cost" where two kinds of error cost differently.
    """

    rows: tuple[Row, ...]
    people: int
    of_whom: str
    alpha: float
    delta: float
    share_of_gain: float | None
    no_share: str
    limit_people: int
    notes: tuple[str, ...] = ()
    unit: str = "error"

    def header(self) -> tuple[str, ...]:
        """Titles of the columns, as plain text."""
        expected = (f"expected {self.unit}",) if self.limit_people else ()
        return ("", self.unit, *expected, "unfair pairs", "differs by lot", "told")

    def cells(self) -> tuple[tuple[str, ...], ...]:
        """What stands in each row, as plain text, in the order of ``header``."""
        return tuple(self._cells(row) for row in self.rows)

    def _cells(self, row: Row) -> tuple[str, ...]:
        expected = (_number(row.expected_error),) if self.limit_people else ()
        error = _number(row.error) + _between(row.error_low, row.error_high, _number)
        unfair = _percent(row.unfair) + _between(row.unfair_low, row.unfair_high, _percent)
        return row.name, error, *expected, unfair, f"{row.lot:.2f}", row.told

    @property
    def gain(self) -> str:
        """The share of the possible gain, in a sentence."""
        if self.share_of_gain is None:
            return f"Share of the possible gain: {self.no_share}."
        whose = next((f", by {row.name}" for row in self.rows if row.bold), "")
        if self.share_of_gain < 0:
            return f"Share of the possible gain: less than none{whose}."
        return f"Share of the possible gain: {self.share_of_gain:.0%}{whose}."

    def row(self, name: str) -> Row:
        """The row of this name."""
        return {row.name: row for row in self.rows}[name]

    def markdown(self) -> str:
        """The table and its notes in Markdown; this policy's row is bold."""
        lines = [self.header(), ("---",) * len(self.header())]
        for row, cells in zip(self.rows, self.cells(), strict=True):
            lines.append(tuple(f"**{cell}**" if cell else "" for cell in cells) if row.bold else cells)
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join([table, self.gain, *self.notes])

    def __str__(self) -> str:
        table = [self.header(), *self.cells()]
        widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in table]
        return "\n".join([*(line.rstrip() for line in lines), self.gain, *self.notes])

    def __repr__(self) -> str:
        return short("Scoreboard", f"{len(self.rows)} policies on {plural(self.people, 'person', 'people')}")

    def _repr_html_(self) -> str:
        rows = [(cells, row.bold) for cells, row in zip(self.cells(), self.rows, strict=True)]
        return table_html(self.header(), rows, [self.gain, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """The numbers and the sentences, as plain JSON values."""
        return {**asdict(self), "rows": [asdict(row) for row in self.rows], "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scoreboard:
        """The table of ``to_dict``."""
        known = {each.name: data[each.name] for each in fields(cls)}
        return cls(**known | {"rows": tuple(Row(**row) for row in data["rows"]), "notes": tuple(data["notes"])})


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _between(low: float | None, high: float | None, written: Callable[[float | None], str]) -> str:
    return "" if low is None or high is None or low == high else f" ({written(low)}–{written(high)})"
