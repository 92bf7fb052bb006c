"""A data set: people with labels, what may and may not be compared, where they come from, and how to encode them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.datasets.comparison import Codes, Comparison
from likewise.datasets.encoder import Encoder
from likewise.datasets.splits import SHARES, Split, split_people
from likewise.displays import facts_html, short
from likewise.errors import require
from likewise.protocol import Floats
from likewise.wording import joined, plural

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Datasheet:
    """What to know about a data set before using it.

    Attributes
    ----------
    origin
        Who collected the data, when, where and for what.
    rows
        How many people, and who was left out.
    positive
        What a label of 1 means.
    licence
        As far as it is known.
    problems
        What is known to be wrong with the data, or with using it.
    source
        Where this copy came from, and how it was verified.
    """

    name: str
    origin: str
    rows: str
    positive: str
    licence: str
    problems: tuple[str, ...]
    source: str

    def to_dict(self) -> dict[str, Any]:
        """The sheet as plain JSON values."""
        return asdict(self) | {"problems": list(self.problems)}

    def text(self, width: int = 80) -> str:
        """The sheet to read, in lines of at most ``width`` characters."""
        lines = [self.name, "=" * len(self.name)]
        for heading in ("origin", "rows", "positive", "licence", "source"):
            lines += _paragraph(f"{heading.capitalize() + ':':<10}", getattr(self, heading), width)
        lines += ["Problems:"] if self.problems else ["Problems: none that we know of, which says little."]
        for problem in self.problems:
            lines += _paragraph("  - ", problem, width)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def _paragraph(start: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=start, subsequent_indent=" " * len(start))


@dataclass(frozen=True, repr=False)
class Dataset:
    """People with labels, and what may and may not be compared.

    Attributes
    ----------
    people
        One row per person.
    y
        Labels 0 or 1.
    compare_by
        The columns that a reviewer should compare people by.
    sensitive
        The columns that must not justify a difference.
    distance
        A hidden distance for a simulated auditor, on ``view``.
    described
        What the data are, in words.
    distance_described
        What the distance says, in words.
    datasheet
        Origin, meaning of the label, licence, known problems.
    encoder
        Fitted on these people; turns them, and others, into the numbers that models need.
    viewer
        Turns these people, and others, into the view that the distance needs.
    person, named
        A number for each row, the same for the same person (None: every row is a person of its own); and False if
        nobody knows that: rows with the same number are the same in everything, and may be one person.
    today
        What today's rule or model gives everybody, probabilities; None if it is not known.
    file_rows
        The row of the file that each row of ``people`` was, counted from 1; None if no row was left out.
    """

    name: str
    people: pd.DataFrame
    y: Floats
    compare_by: tuple[str, ...]
    sensitive: tuple[str, ...]
    distance: Callable[[Floats], Floats]
    described: str
    distance_described: str
    datasheet: Datasheet
    encoder: Encoder
    viewer: Comparison | Codes
    person: NDArray[np.intp] | None = None
    named: bool = True
    today: Floats | None = None
    file_rows: NDArray[np.intp] | None = None

    @classmethod
    def ready(
        cls,
        datasheet: Datasheet,
        people: pd.DataFrame,
        y: Floats,
        *,
        compare_by: tuple[str, ...],
        sensitive: tuple[str, ...],
        described: str,
        distance_described: str,
        units: Mapping[str, float],
        weights: Mapping[str, float] | None = None,
    ) -> Dataset:
        """A data set whose distance is a ``Comparison`` in these units, and whose encoder is fitted on it."""
        viewer = Comparison.fit(people, compare_by, units=units, weights=weights)
        return cls(
            name=datasheet.name,
            people=people,
            y=y,
            compare_by=compare_by,
            sensitive=sensitive,
            distance=viewer,
            described=described,
            distance_described=distance_described,
            datasheet=datasheet,
            encoder=Encoder.fit(people),
            viewer=viewer,
        )

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        by = f"compared by {joined(self.compare_by)}"
        return short("Dataset", self.name, plural(len(self), "row"), f"{len(self.people.columns)} columns", by)

    def _repr_html_(self) -> str:
        facts = [
            ("people", self.described),
            ("compared by", joined(self.compare_by)),
            ("distance", self.distance_described),
        ]
        sensitive = [("sensitive", joined(self.sensitive))] if self.sensitive else []
        return facts_html(self.name, [*facts, *sensitive])

    @property
    def row_numbers(self) -> NDArray[np.intp]:
        """The row of everybody in their file, from 1: the first below the names of the columns."""
        return np.arange(1, len(self) + 1) if self.file_rows is None else self.file_rows

    def ids(self, rows: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Who these rows are; None if some are the same in everything and nobody knows whether they are one person."""
        person = rows if self.person is None else self.person[rows]
        return person if self.named or len(np.unique(person)) == len(person) else None

    def parted(self, shares: Sequence[float] = SHARES, seed: int = 0) -> tuple[Dataset, Split]:
        """The same people split by person, with an encoder that was fitted on the first part alone.

        Examples
        --------
        >>> from likewise import datasets
        >>> data, split = datasets.synthetic(1000).parted()
        >>> print(split)
        1,000 people: 250 to fit, 250 to play, 500 held out
        """
        split = split_people(len(self) if self.person is None else self.person, shares, seed)
        require(len(split.fit) > 0, "split", "leave somebody to fit cut-offs and scales on", str(split))
        return replace(self, encoder=self.encoder.refitted(self.people.iloc[split.fit])), split

    @property
    def view(self) -> Floats:
        """The columns to compare by, as numbers: what the distance takes."""
        return self.viewer.transform(self.people)

    @property
    def features(self) -> Floats:
        """All columns as numbers: numbers scaled, categories one column per level."""
        return self.encoder.transform(self.people)

    @property
    def metric(self) -> str | Callable[[Floats], Floats]:
        """The distance, by name if it has one: what lets a simulated auditor take part in a compiled play."""
        return self.viewer.metric if isinstance(self.viewer, Comparison) else self.distance


def split(data: Dataset, first: int, seed: int = 0) -> tuple[Any, Any]:
    """Positions of a random warm-up split of ``first`` people, and of everybody else."""
    require(0 < first < len(data), "first", f"be in (0, {len(data)})", first)
    order = np.random.default_rng(seed).permutation(len(data))
    return order[:first], order[first:]
