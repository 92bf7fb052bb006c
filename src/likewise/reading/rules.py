"""Rules: what a policy is made of, in the units of the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import require_whole
from likewise.hypotheses import Thresholds
from likewise.protocol import Floats
from likewise.reading.boxes import Box, in_words
from likewise.reading.columns import Interval, NumberColumn, Split
from likewise.reading.models import columns_in_words
from likewise.reading.reading import Reading
from likewise.reading.scores import WeighedModel, models_of


class Rule(NamedTuple):
    """A hypothesis in words, and its weight in the policy.

    Attributes
    ----------
    text
        Whom it says yes to: "age ≥ 35". For a cell, who is in it.
    weight
        What it adds to the probability of everybody it says yes to. For a cell, the probability of everybody in it.
    """

    text: str
    weight: float

    def __str__(self) -> str:
        """The weight and the words."""
        return f"{self.weight:.3f}  {self.text}"


def rules_of(reading: Reading, top: int | None = 10, people: Any = None) -> list[Rule]:
    """The rules of a policy that weigh most; all of them for ``top=None``."""
    if top is not None:
        require_whole(top, "top")
    features = None if people is None else reading.features(people)
    if not isinstance(reading.hypotheses, Thresholds):
        rules = _cells(reading, features)
    else:
        listed = _scores(reading, features) if reading.on_scores else _columns(reading, features)
        rules = _merged([*_constants(reading), *listed])
    return sorted(rules, key=lambda rule: -rule.weight)[:top]


def _merged(rules: list[Rule]) -> list[Rule]:
    """Rules with the same words are one rule."""
    weights: dict[str, float] = {}
    for text, weight in rules:
        weights[text] = weights.get(text, 0.0) + weight
    return [Rule(text, weight) for text, weight in weights.items()]


def _constants(reading: Reading) -> list[Rule]:
    always = zip(("always no", "always yes"), reading.weights[:2].tolist(), strict=True)
    return [Rule(text, weight) for text, weight in always if weight > 0]


def _weighed(F: Thresholds, weights: Floats) -> Iterator[tuple[int, Split, bool, float]]:
    """Column, cut, whether it is below the cut, and weight, of every cut-off that has weight."""
    half = int(F.first[-1])
    for number in np.flatnonzero(weights[2:] > 0).tolist():
        below, place = divmod(number, half)
        column = int(np.searchsorted(F.first, place, side="right")) - 1
        cut = float(F.cuts[column][place - F.first[column]])
        yield column, Split(cut), bool(below), float(weights[2 + number])


def _columns(reading: Reading, features: Floats | None) -> list[Rule]:
    F = reading.hypotheses
    assert isinstance(F, Thresholds)
    rules = []
    for column, split, below, weight in _weighed(F, reading.weights):
        box: Box = {column: Interval(high=split) if below else Interval(low=split)}
        words = in_words(reading.columns, box, features)
        rules.append(Rule("always no" if words is None else words or "always yes", weight))
    return rules


def _scores(reading: Reading, features: Floats | None) -> list[Rule]:
    F = reading.hypotheses
    assert isinstance(F, Thresholds)
    scores = None if features is None else F.score_columns(reading.named(features))
    # Sorted once, the scores of a whole file are searched quickly for each of hundreds of cuts.
    distinct = None if scores is None else [np.unique(column) for column in scores.T]
    models = models_of(reading)
    rules = []
    for number, split, below, weight in _weighed(F, reading.weights):
        model, given = models[number], None if scores is None else scores[:, number]
        cut = NumberColumn("score", 0).cut(split, None if distinct is None else distinct[number])
        words = f"{_score_of(model)} {cut.below if below else cut.above}"
        if features is not None and given is not None:
            words = _in_units(model, features, (given >= split.cut) != below) or words
        rules.append(Rule(words, weight))
    return rules


def _in_units(model: WeighedModel, features: Floats, yes: NDArray[np.bool_]) -> str | None:
    """A rule on a model that reads one number, as a cut of that number; None where none separates the same people."""
    column = model.reading.columns[model.read[0]] if len(model.read) == 1 else None
    if not isinstance(column, NumberColumn) or column.missing or yes.all() or not yes.any():
        return None
    values = features[:, column.first]
    for above, passed in ((True, yes), (False, ~yes)):
        if values[~passed].max() < (least := float(values[passed].min())):
            cut = column.cut(Split(least), values)
            return f"{column.name} {cut.above if above else cut.below}"
    return None


def _score_of(model: WeighedModel) -> str:
    names = [model.reading.columns[i].name for i in model.read]
    return f"score of the {model.name} on {columns_in_words(names, len(model.reading.columns))}"


def _cells(reading: Reading, features: Floats | None) -> list[Rule]:
    words = [reading.cell_in_words(cell, features) for cell in range(len(reading.weights))]
    pairs = zip(words, reading.weights.tolist(), strict=True)
    return [Rule(text, weight) for text, weight in pairs if text is not None]
