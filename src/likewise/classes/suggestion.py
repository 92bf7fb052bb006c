"""A suggested class: its parts in words, what it was fitted on, and what its files hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from likewise.classes.anchors import Lipschitz
from likewise.classes.scores import Score
from likewise.datasets import Encoder
from likewise.displays import short
from likewise.errors import require
from likewise.hypotheses import Thresholds
from likewise.hypotheses.base import quantile_cuts
from likewise.protocol import Floats
from likewise.wording import plural

TOGETHER = 1e-9
"""Scores closer than this are the same but for rounding."""


class Part(NamedTuple):
    """Some scores of a class that have the same purpose.

    Attributes
    ----------
    name
        A short name, for tables.
    described
        What these scores are for, in one sentence.
    scores
        Their positions among the columns of the class.
    """

    name: str
    described: str
    scores: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Suggestion:
    """A class of hypotheses for some people, with what there is to know about it.

    Attributes
    ----------
    hypotheses
        The class: cut-offs on scores of encoded people.
    parts
        Its scores, by purpose.
    encoder
        From a table of people to what the class takes; None if it was suggested for arrays.
    people
        How many people it was fitted on.
    notes
        What was left out or done differently, and why.
    holds
        What its files hold of the people it was fitted on.
    """

    hypotheses: Thresholds
    parts: tuple[Part, ...]
    encoder: Encoder | None
    people: int
    notes: tuple[str, ...]
    holds: tuple[str, ...] = field(repr=False)

    def encode(self, people: Any) -> Any:
        """A table of people, encoded for the class."""
        require(self.encoder is not None, "people", "be encoded by whoever suggested a class for arrays", "a table")
        return self.hypotheses.encode(self.encoder.transform(people) if self.encoder is not None else people)

    def without(self, *names: str) -> Thresholds:
        """The class less some of its parts."""
        known = [part.name for part in self.parts]
        unknown = [name for name in names if name not in known]
        require(not unknown, "names", f"be among the parts {known}", unknown)
        kept = [j for part in self.parts if part.name not in names for j in part.scores]
        return columns_only(self.hypotheses, kept)

    @property
    def datasheet(self) -> str:
        """What the class is made of and what its files hold, to read."""
        lines = [
            f"A class of {self.hypotheses.size:,} hypotheses: cut-offs on "
            f"{plural(len(self.hypotheses.cuts), 'score')}, fitted on {plural(self.people, 'person', 'people')}."
        ]
        lines += [f"  {part.name} ({plural(len(part.scores), 'score')}): {part.described}" for part in self.parts]
        lines += [*self.notes, "What its files hold of these people:", *(f"  - {held}" for held in self.holds)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        parts = plural(len(self.parts), "part")
        return short("Suggestion", repr(self.hypotheses), parts, f"fitted on {plural(self.people, 'person', 'people')}")

    def __str__(self) -> str:
        return self.datasheet


def columns_only(F: Thresholds, kept: list[int]) -> Thresholds:
    """The cut-offs on some columns of a class."""
    require(len(kept) > 0, "names", "leave at least one part", "none")
    models = None if F.models is None else [F.models[j] for j in kept]
    return Thresholds([F.cuts[j] for j in kept], names=[F.names[j] for j in kept], models=models)


def with_cuts(scores: list[Score], X: Floats, held_out: dict[int, Floats], cuts: int) -> Thresholds:
    """Cut-offs on some scores of these people; ``held_out`` has better values for some of them."""
    draft = Thresholds([np.empty(0) for _ in scores], names=[score.name for score in scores], models=scores)
    table = draft.score_columns(X)
    for j, values in held_out.items():
        table[:, j] = values
    columns = [_even(v, cuts) if isinstance(s, Lipschitz) else _quantiles(v, cuts)
               for s, v in zip(scores, table.T, strict=True)]  # fmt: skip
    return Thresholds(columns, names=draft.names, models=scores)


def _even(values: Floats, cuts: int) -> Floats:
    """Equally spaced: a mixture of all of them is the score itself, in steps of range/cuts."""
    low, high = float(values.min()), float(values.max())
    return low + (high - low) * (np.arange(cuts) + 0.5) / cuts if high - low > TOGETHER else np.empty(0)


def _quantiles(values: Floats, cuts: int) -> Floats:
    """Quantiles, each half way down to the next smaller score, so that rounding moves nobody across a cut."""
    picked = quantile_cuts(values, cuts) if len(np.unique(values)) > 2 else np.unique(values)[1:]
    ordered = np.sort(values)
    below = np.searchsorted(ordered, picked - TOGETHER) - 1
    return np.unique(((picked + ordered[below]) / 2)[below >= 0])
