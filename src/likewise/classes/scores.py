"""Scores: fixed functions of a person, on which a class puts its cut-offs.

A score reads some encoded columns of a person (``reads``). It is scored in blocks of people, so that memory stays
bounded, and on one thread, so that the same person gets the same number. Every score says in ``described`` what it is
and in ``columns`` which encoded columns it reads.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from likewise.classes.reads import Reads
from likewise.hypotheses.thresholds import score
from likewise.protocol import Floats

BLOCK = 4096
"""People scored at once."""
DISTANCES = 2**17
"""Distances computed at once: they stay in the processor's cache."""


@cache
def _libraries() -> Any:
    """The libraries with threads of their own, looked for once."""
    from threadpoolctl import ThreadpoolController

    importlib.import_module("sklearn.linear_model")  # a library can be limited only once it is loaded
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Numbers are added in one order: the same bits on another day, and no waiting for each other's threads."""
    with _libraries().limit(limits=1):
        yield


class Score(ABC):
    """A number for every person.

    Attributes
    ----------
    name
        A short name, for a table of hypotheses.
    described
        What the score is, as people would call it.
    reads
        What it reads of a person.
    """

    name: str
    described: str
    reads: Reads

    @property
    def columns(self) -> tuple[int, ...]:
        """The positions of the encoded columns that it reads."""
        return self.reads.columns

    def __call__(self, X: Any) -> Floats:
        """The score of each person, a row of ``X``."""
        return scored([self], X)[:, 0]

    @abstractmethod
    def of(self, V: Floats) -> Floats:
        """The score of some people, from what it reads of them."""


def scored(scores: Sequence[Score], X: Any) -> Floats:
    """(people, scores), in blocks of people and on one thread."""
    people = np.asarray(X, dtype=float)
    table = np.empty((len(people), len(scores)))
    with one_thread():
        for start in range(0, len(people), BLOCK):
            block = people[start : start + BLOCK]
            for j, part in enumerate(scores):
                table[start : start + BLOCK, j] = part.of(part.reads.of(block))
    return table


def distances(V: Floats, points: Floats) -> Iterator[tuple[slice, Floats]]:
    """The cityblock distances of people to some points, some people at a time."""
    from scipy.spatial.distance import cdist  # SciPy takes longer to load than the rest of the library

    rows = max(1, DISTANCES // len(points))
    for start in range(0, len(V), rows):
        block = slice(start, start + rows)
        yield block, cdist(V[block], points, "cityblock")


@dataclass(frozen=True, eq=False)
class Column(Score):
    """A column as it is.

    Examples
    --------
    >>> Column("income", "column income", Reads((1,)))([[7.0, 3.0], [8.0, 4.0]]).tolist()
    [3.0, 4.0]
    """

    name: str
    described: str
    reads: Reads

    def of(self, V: Floats) -> Floats:
        """The column."""
        return V[:, 0]


@dataclass(frozen=True, eq=False)
class Average(Score):
    """The mean of some models' scores, kept within [0, 1].

    Attributes
    ----------
    models
        Fitted on what this score reads.

    Examples
    --------
    >>> halves = Average("halves", "half of a column", Reads((0,)), (lambda V: V[:, 0], lambda V: 0 * V[:, 0]))
    >>> halves([[0.5, 7.0], [4.0, 7.0]]).tolist()
    [0.25, 1.0]
    """

    name: str
    described: str
    reads: Reads
    models: tuple[Any, ...] = field(repr=False)

    def of(self, V: Floats) -> Floats:
        """The models' mean."""
        total = np.zeros(len(V))
        for model in self.models:
            total += score(model, V)
        return np.asarray(np.clip(total / len(self.models), 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Smoother:
    """Nadaraya–Watson: a weighted mean of values at points, where a point at distance d counts exp(−d/bandwidth).

    Examples
    --------
    >>> near = Smoother(np.array([[0.0], [1.0]]), np.array([1.0, 1.0]), np.array([0.0, 1.0]), 0.5)
    >>> near(np.array([[0.0], [0.5], [100.0]])).round(3).tolist()
    [0.119, 0.5, 0.881]
    """

    points: Floats = field(repr=False)
    counts: Floats = field(repr=False)
    values: Floats = field(repr=False)
    bandwidth: float

    def __call__(self, V: Floats) -> Floats:
        """The smoothed value of each person."""
        means = np.empty(len(V))
        for block, apart in distances(V, self.points):
            # Less the distance to the nearest point, so that weights far from everybody don't all vanish.
            weights = np.exp((apart.min(axis=1, keepdims=True) - apart) / self.bandwidth) * self.counts
            means[block] = weights @ self.values / weights.sum(axis=1)
        return means


@dataclass(frozen=True, eq=False)
class Additive:
    """A logistic regression on one smooth curve per column: cubic splines between ``knots``, flat beyond them.

    A column without knots counts as it is, in units of its ``scales``.
    """

    knots: tuple[Floats | None, ...]
    scales: tuple[float, ...]
    model: Any = field(repr=False)

    @classmethod
    def fit(cls, V: Floats, y: Floats, knots: int = 5, few: int = 6) -> Additive:
        """Curves on columns of more than ``few`` values, with knots at quantiles."""
        from sklearn.linear_model import LogisticRegression

        levels = np.linspace(0.0, 1.0, knots)
        places = tuple(np.unique(np.quantile(v, levels)) if len(np.unique(v)) > few else None for v in V.T)
        draft = cls(places, tuple(float(v.std()) or 1.0 for v in V.T), None)
        model = LogisticRegression(max_iter=500, solver="newton-cholesky").fit(draft.basis(V), y)
        return cls(draft.knots, draft.scales, model)

    def basis(self, V: Floats) -> Floats:
        """The columns that the regression is fitted on."""
        parts = [
            v[:, None] / scale if knots is None else _splines(v, knots)
            for v, knots, scale in zip(V.T, self.knots, self.scales, strict=True)
        ]
        return np.hstack(parts)

    def __call__(self, V: Floats) -> Floats:
        """The probability of the label 1."""
        return np.asarray(self.model.predict_proba(self.basis(V))[:, 1])


def _splines(v: Floats, knots: Floats, degree: int = 3) -> Floats:
    """(people, knots + degree − 1): the B-splines of a column, constant beyond the outer knots."""
    from scipy.interpolate import BSpline

    padded = np.concatenate([[knots[0]] * degree, knots, [knots[-1]] * degree])
    inside = np.clip(v, knots[0], knots[-1])
    return np.asarray(BSpline.design_matrix(inside, padded, degree).toarray())
