"""The split of a mixture of cut-offs on models' scores: by model exactly, and each model's part further by column.

π(x) = p_1 + Σ_m g_m(s_m(x)), g_m a step function of model m's score, so the split by model is exact. A step function of
a score is no sum over columns, not even of a linear score, so the split by column has to be defined: it is the Shapley
value of g_m(s_m(x)) against some people (``likewise.reading.shapley``). What is *exact* is then a matter of computing:

* a model that reads one column: that column has the whole part;
* a score that is an increasing function of a sum over columns (linear and spline models, naive Bayes): all subsets of
  up to ``MOST_COLUMNS`` columns are gone through, so the numbers are the Shapley values themselves;
* any other model, and more columns: some orders are drawn, and the numbers are marked as estimated. They still add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.hypotheses import Thresholds
from likewise.hypotheses.thresholds import score
from likewise.protocol import Floats
from likewise.reading.models import names_of, reads, terms_of
from likewise.reading.reading import Reading
from likewise.reading.shapley import MOST_COLUMNS, over_orders, over_subsets
from likewise.reading.steps import class_steps

MOST_PEOPLE = 100
"""At most this many people are compared with, spread evenly over those given."""
TIE = 1e-9
"""A sum this close under a cut is on it: cuts are scores that somebody had."""


@dataclass(frozen=True)
class ModelPart:
    """One model's part in the probabilities of some people.

    Attributes
    ----------
    name
        What people call the model.
    columns
        The columns of the file that it may read.
    base
        The mean of its part over the people compared with.
    amounts
        (people,): its part, less ``base``; exact.
    by_column
        (people, columns): the same, split by column.
    estimated
        Whether the split by column is estimated.
    """

    name: str
    columns: tuple[str, ...]
    base: float
    amounts: Floats
    by_column: Floats
    estimated: bool


@dataclass(frozen=True)
class WeighedModel:
    """A model with its cuts, and what each interval of its score adds to the probability."""

    reading: Reading
    model: Any
    name: str
    cuts: Floats
    steps: Floats

    @property
    def matters(self) -> bool:
        """Whether its score changes the probability."""
        return bool(np.ptp(self.steps) > 0)

    def part(self, features: Floats) -> Floats:
        """What the model adds for some people."""
        scores = score(self.model, self.reading.named(features))
        return np.asarray(self.steps[np.searchsorted(self.cuts, scores, side="right")])

    @cached_property
    def read(self) -> NDArray[np.intp]:
        """The columns of the file that the model may read."""
        return np.flatnonzero(reads(self.model, self.reading.columns, self.reading.encoded))

    @property
    def owner(self) -> NDArray[np.intp]:
        """(encoded columns,): which of the columns that it reads each belongs to; −1 for none."""
        place = np.full(len(self.reading.columns), -1)
        place[self.read] = np.arange(len(self.read))
        return np.asarray(place[self.reading.owner])


def models_of(reading: Reading) -> list[WeighedModel]:
    """The models of the class, in its order."""
    F = reading.hypotheses
    assert isinstance(F, Thresholds)
    models = F.models or ()
    parts = zip(models, names_of(models), F.cuts, class_steps(F, reading.weights), strict=True)
    return [WeighedModel(reading, *part) for part in parts]


def compared(features: Floats) -> Floats:
    """At most ``MOST_PEOPLE`` of some people, spread evenly."""
    if len(features) <= MOST_PEOPLE:
        return features
    return features[np.linspace(0, len(features) - 1, MOST_PEOPLE).round().astype(np.intp)]


def model_part(model: WeighedModel, features: Floats, others: Floats) -> ModelPart:
    """A model's part in some people's probabilities, compared with others."""
    own, theirs = model.part(features), model.part(others)
    exact = _exactly(model, features, others, own, theirs)
    split = exact
    if split is None:
        walks = zip(features, own, strict=True)
        split = np.array([over_orders(model.part, model.owner, x, others, part, theirs) for x, part in walks])
    by_column = np.zeros((len(features), len(model.reading.columns)))
    by_column[:, model.read] = split
    names = tuple(model.reading.columns[i].name for i in model.read)
    base = float(theirs.mean())
    return ModelPart(model.name, names, base, own - base, by_column, exact is None)


def _exactly(model: WeighedModel, features: Floats, others: Floats, own: Floats, theirs: Floats) -> Floats | None:
    """Exact Shapley values by the columns that the model reads; None where they can't be computed."""
    if len(model.read) == 1:
        return np.asarray(own - theirs.mean())[:, None]
    people = np.concatenate([others, features])
    if len(model.read) > MOST_COLUMNS:
        return None
    terms = terms_of(model.model, people, model.cuts, model.owner, model.reading.named)
    if terms is None:
        return None
    cuts = terms.cuts - TIE * (1 + np.abs(terms.cuts))

    def part(sums: Floats) -> Floats:
        return np.asarray(model.steps[np.searchsorted(cuts, sums, side="right")])

    whose, each = terms.addends[: len(others)], zip(terms.addends[len(others) :], own, strict=True)
    return np.array([over_subsets(part, terms.start, person, whose, value, theirs) for person, value in each])
