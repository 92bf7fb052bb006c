"""A suggested class as plain JSON values, and the scores of people from them: no model, no pickle, no scikit-learn.

Whoever has these values gets exactly the same scores of the same people, on any machine (``likewise.classes.plain``).
``likewise.classes.writing`` makes them of a suggestion. A service stores them in its log, hashed.

==========  ============================================================================================
name        value
==========  ============================================================================================
format      1
columns     what each encoded column is: {feature, centre, spread} for a number, {feature, level} for a level
reads       what scores read: {columns}, or {columns, terms: [[source, target, factor], …], offset}
points      tables of points, to which models refer
scores      {name, described, reads, cuts, kind, …}, one for each column of the class
parts       {name, described, scores}: positions of the scores that have the same purpose
people      how many people it was fitted on
compare_by  the features that these people are compared by
notes       what was left out or done differently, and why
holds       what these values hold of the people
==========  ============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.classes.plain import Looks, model
from likewise.classes.reads import Reads, Term
from likewise.errors import require
from likewise.protocol import Floats

FORMAT = 1
FAR = 1e6
"""Spreads from the mean beyond which a number counts as this far away, so that no score overflows."""


class PartOfClass(NamedTuple):
    """Some scores of a class that have the same purpose, in words.

    Attributes
    ----------
    name, described
        A short name, and a sentence.
    scores
        The scores' names.
    features
        The features that they read.
    cuts
        How many cut-offs they have together.
    """

    name: str
    described: str
    scores: list[str]
    features: list[str]
    cuts: int


class ScoreProgram:
    """Scores of people, from plain numbers.

    Parameters
    ----------
    data
        As ``likewise.classes.writing.written`` gives it.

    Examples
    --------
    >>> column = {"name": "income", "described": "column income", "reads": 0, "cuts": [0.5], "kind": "column"}
    >>> data = {"format": 1, "columns": [{"feature": "income", "centre": 30.0, "spread": 10.0}], "points": []}
    >>> data |= {"reads": [{"columns": [0]}], "scores": [column], "people": 80, "compare_by": [], "notes": []}
    >>> data |= {"parts": [{"name": "single columns", "described": "A column.", "scores": [0]}], "holds": []}
    >>> program = ScoreProgram(data)
    >>> program.scores([{"income": 30.0}, {"income": 45.0}]).tolist()
    [[0.0], [1.5]]
    >>> program.made_of()[0].features
    ['income']
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        require(data["format"] == FORMAT, "scores", f"have format {FORMAT}", data["format"])
        self.data = data
        self.names = [str(score["name"]) for score in data["scores"]]
        self.cuts = [[float(cut) for cut in score["cuts"]] for score in data["scores"]]
        self._columns = _encoders(data["columns"])
        self._reads = [_reads(part) for part in data["reads"]]
        self._points = [np.array(table, dtype=float) for table in data["points"]]
        self._scores = [(int(score["reads"]), _score(score)) for score in data["scores"]]

    @property
    def ones(self) -> float | None:
        """The share of labels 1 among the people that the scores were fitted on; None where it was not written."""
        return self.data.get("ones")

    @property
    def features(self) -> list[str]:
        """The features that people must have."""
        return list(dict.fromkeys(column["feature"] for column in self.data["columns"]))

    def encoded(self, people: Sequence[Mapping[str, Any]]) -> Floats:
        """People, each a mapping of features, as numbers: one column for a number, one for each level of a category."""
        table = [[column(person) for column in self._columns] for person in people]
        X = np.array(table, dtype=float).reshape(len(people), len(self._columns))
        return np.asarray(np.clip(X, -FAR, FAR))

    def scores(self, people: Sequence[Mapping[str, Any]]) -> Floats:
        """(people, scores)."""
        X = self.encoded(people)
        looks = [Looks(reads.of(X), self._points) for reads in self._reads]
        table = np.empty((len(people), len(self._scores)))
        for j, (place, score) in enumerate(self._scores):
            table[:, j] = score(looks[place])
        return table

    def made_of(self) -> list[PartOfClass]:
        """What the class is made of, part by part."""
        return [
            PartOfClass(part["name"], part["described"], [self.names[j] for j in part["scores"]],
                        self._features_of(part["scores"]), sum(len(self.cuts[j]) for j in part["scores"]))
            for part in self.data["parts"]
        ]  # fmt: skip

    def _features_of(self, scores: Sequence[int]) -> list[str]:
        used = {column for j in scores for column in self._reads[self._scores[j][0]].columns}
        return list(dict.fromkeys(self.data["columns"][column]["feature"] for column in sorted(used)))


Encode = Callable[[Mapping[str, Any]], float]
Scored = Callable[[Looks], Floats]


def _encoders(columns: Sequence[Mapping[str, Any]]) -> list[Encode]:
    return [_level(column) if "level" in column else _number(column) for column in columns]


def _level(column: Mapping[str, Any]) -> Encode:
    name, level = column["feature"], column["level"]
    return lambda person: 1.0 if person[name] == level else 0.0


def _number(column: Mapping[str, Any]) -> Encode:
    name, centre, spread = column["feature"], float(column["centre"]), float(column["spread"])
    return lambda person: (person[name] - centre) / spread


def _reads(part: Mapping[str, Any]) -> Reads:
    if "offset" not in part:
        return Reads(tuple(part["columns"]))
    terms = tuple(Term(int(source), int(target), float(factor)) for source, target, factor in part["terms"])
    return Reads(tuple(part["columns"]), terms, np.array(part["offset"], dtype=float))


def _score(data: Mapping[str, Any]) -> Scored:
    if data["kind"] == "column":
        return lambda looks: looks.V[:, 0]
    return _gentle(data) if data["kind"] == "gentle" else _average(data)


def _average(data: Mapping[str, Any]) -> Scored:
    models = [model(part) for part in data["models"]]

    def average(looks: Looks) -> Floats:
        scores = np.zeros(len(looks.V))
        for part in models:
            scores = scores + part(looks)
        return np.asarray(np.clip(scores / len(models), 0.0, 1.0))

    return average


def _gentle(data: Mapping[str, Any]) -> Scored:
    table, rows = int(data["points"]), np.array(data["rows"], dtype=np.intp)
    slope, values = float(data["slope"]), np.array(data["values"], dtype=float)

    def gentle(looks: Looks) -> Floats:
        apart = slope * looks.distances(table)[:, rows]
        extended = (values + apart).min(axis=1) if data["upper"] else (values - apart).max(axis=1)
        return np.asarray(np.clip(extended, 0.0, 1.0))

    return gentle
