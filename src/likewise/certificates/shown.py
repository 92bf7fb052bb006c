"""The people of a play as a reader may see them: the columns that the reviewer saw, in the units of the file, and the
row of each person in it.

Whoever makes one chooses the columns. Nothing here looks for more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import require
from likewise.game import Transcript
from likewise.protocol import Floats
from likewise.wording import written

Positions = NDArray[np.intp]

DIGITS = 6
"""Of a number: enough to tell people apart, few enough to read."""


class ShownPerson(NamedTuple):
    """Somebody: their row in the file, from 1 (None if it is not known), and their columns as text."""

    row: int | None
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ShownPeople:
    """The people of a file, and which of them came in which round of a play.

    Attributes
    ----------
    columns
        The names of what is shown.
    values
        (people, columns): in the units of the file.
    rows
        The row of each of them in the file, counted from 1, the first below the names of the columns; None if it is
        not known.
    source
        What the file is called.
    came
        Who came in the play: for each entry of ``transcript.y``, where they are in ``values``.
    starts, first
        Of the play: where its rounds begin, and the number of the first one.

    Examples
    --------
    >>> import likewise as lw, numpy as np
    >>> learner = lw.AdaHedge(lw.Thresholds([[0.5]]), k=2, alpha=0.1, T=3)
    >>> people = lw.IID(np.array([[0.0], [1.0]]), np.array([0, 1]), k=2)
    >>> t = lw.play(learner, people, lw.MetricAuditor("cityblock", alpha=0.1))
    >>> shown = ShownPeople.of(t, ["age"], [[31], [64]], t.person, rows=[7, 9], source="people.csv")
    >>> shown.person(1), shown.where
    (ShownPerson(row=9, values=('64',)), 'Rows are those of people.csv; row 1 is the first person.')
    """

    columns: tuple[str, ...]
    values: NDArray[Any]
    rows: Positions | None
    source: str
    came: Positions
    starts: Positions
    first: int

    @classmethod
    def of(
        cls,
        transcript: Transcript,
        columns: Sequence[Any],
        values: Any,
        came: Any = None,
        *,
        rows: Any = None,
        source: str = "",
    ) -> ShownPeople:
        """From these columns of a file; without ``came``, ``values`` has a row for everybody in each round."""
        t, table = transcript, np.asarray(values, dtype=object)
        names = tuple(map(str, columns))
        came = np.arange(len(t.y)) if came is None else np.asarray(came, dtype=np.intp)
        require(table.ndim == 2 and table.shape[1] == len(names), "values", f"have {len(names)} columns", table.shape)
        require(len(came) == len(t.y), "came", f"name each of the {len(t.y)} people of the rounds", len(came))
        require(rows is None or len(rows) == len(table), "rows", f"be {len(table)}, one per person", rows)
        return cls(names, table, None if rows is None else np.asarray(rows), source, came, t.starts, t.first)

    @classmethod
    def seen(cls, transcript: Transcript, names: Sequence[Any] = ()) -> ShownPeople:
        """What the auditor saw, where nothing better is known; ``names`` of its columns, if they fit."""
        view = transcript.view
        if hasattr(view, "columns"):
            return cls.of(transcript, list(view.columns), view)
        table = np.asarray(view).reshape(len(transcript.y), -1)
        fits = len(names) == table.shape[1]
        return cls.of(transcript, names if fits else [f"column {j + 1}" for j in range(table.shape[1])], table)

    @property
    def where(self) -> str:
        """What row numbers mean, in a sentence; empty without them."""
        of = f" of {self.source}" if self.source else ""
        return "" if self.rows is None else f"Rows are those{of}; row 1 is the first person."

    def person(self, position: int) -> ShownPerson:
        """Somebody by their place in ``values``."""
        row = None if self.rows is None else int(self.rows[position])
        return ShownPerson(row, tuple(written(value, DIGITS) for value in self.values[position]))

    def of_round(self, round_: int, place: int) -> ShownPerson:
        """Somebody by their round, counted as in the play, and their position in its batch."""
        return self.person(int(self.came[self.starts[round_ - self.first] + place]))


class UnfairPair(NamedTuple):
    """Two people whose probabilities are further apart than their distance, by their places in what was given."""

    favoured: int
    disfavoured: int
    probabilities: tuple[float, float]
    distance: float

    @property
    def excess(self) -> float:
        """By how much the gap exceeds the distance."""
        return self.probabilities[0] - self.probabilities[1] - self.distance


class UnfairlyTreated(NamedTuple):
    """Somebody, and to how many others they lose by more than their distance and the tolerance."""

    person: int
    probability: float
    behind: int


class MostUnfair(NamedTuple):
    """The pairs and the people whom a policy treats most unfairly.

    Attributes
    ----------
    pairs
        The largest excess first; nobody is in two of them, or one person would fill the list.
    people
        Who is behind the most others, beyond distance and tolerance.
    compared
        How many people were compared with each other.
    """

    pairs: tuple[UnfairPair, ...]
    people: tuple[UnfairlyTreated, ...]
    compared: int


def most_unfair(
    probabilities: Floats, distances: Floats, alpha: float, top: int = 5, *, places: Positions | None = None
) -> MostUnfair:
    """The pairs and people of some whose probabilities are most too far apart.

    Parameters
    ----------
    probabilities
        (n,): what a policy gives each of them.
    distances
        (n, n): how far apart they are; the first index is the favoured person, where that matters.
    alpha
        How much more than their distance two people may differ.
    top
        How many of each are listed, at most.
    places
        Where each of them is in a longer list: what they are called in the answer; 0, 1, 2, … by default.

    Examples
    --------
    >>> found = most_unfair(np.array([0.9, 0.2, 0.8]), np.zeros((3, 3)), alpha=0.15)
    >>> found.pairs[0].favoured, found.pairs[0].disfavoured, found.people[0].person, found.people[0].behind
    (0, 1, 1, 2)
    """
    p = np.asarray(probabilities, dtype=float)
    names = np.arange(len(p)) if places is None else np.asarray(places)
    excess = p[:, None] - p - np.asarray(distances, dtype=float)
    unfair = excess > alpha
    behind = unfair.sum(axis=0)
    lowest_first = np.lexsort((np.arange(len(p)), p, -behind))[:top]
    people = [UnfairlyTreated(int(names[i]), float(p[i]), int(behind[i])) for i in lowest_first if behind[i]]
    pairs = _apart(p, np.where(unfair, excess, -np.inf), top)
    named = [pair._replace(favoured=int(names[pair[0]]), disfavoured=int(names[pair[1]])) for pair in pairs]
    return MostUnfair(tuple(named), tuple(people), len(p))


def _apart(p: Floats, excess: Floats, top: int) -> list[UnfairPair]:
    """The largest excesses, each person in one pair; ``excess`` is used up."""
    pairs: list[UnfairPair] = []
    while len(pairs) < top and excess.size and np.isfinite(excess.max()):
        high, low = (int(i) for i in np.unravel_index(int(excess.argmax()), excess.shape))
        given = float(p[high]), float(p[low])
        pairs.append(UnfairPair(high, low, given, given[0] - given[1] - float(excess[high, low])))
        excess[[high, low], :] = excess[:, [high, low]] = -np.inf
    return pairs
