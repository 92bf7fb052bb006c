"""The class of hypotheses of a run: over scores of people, over their encoded columns, or a grid of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.classes import Suggestion, models_to_fit, suggest_for
from likewise.datasets import Dataset, Encoder
from likewise.errors import InvalidParameter
from likewise.experiments.model_pool import model_pool
from likewise.hypotheses import Cells, EnumerableClass, Thresholds
from likewise.hypotheses.base import quantile_cuts
from likewise.hypotheses.cells import Grid
from likewise.protocol import Floats

MOST_CELLS = 2**16
"""A grid with more cells than this holds next to nobody in each."""
CUTS = 16
"""Cut-offs per column or model; a suggested class has its own number."""

Progress = Callable[[int, int], None]
"""Called with the models fitted, and how many there are at most."""


@dataclass(frozen=True, eq=False)
class ClassOfRun:
    """A class, and everybody as it takes them.

    Attributes
    ----------
    hypotheses
        The class of the play. One on models' scores takes the scores, which are computed once for everybody.
    X
        Everybody, as that class takes them.
    deployed
        The same class over encoded people, for people as they come.
    suggestion
        The parts of a suggested class, and what its files hold; None for other classes.
    """

    hypotheses: EnumerableClass
    X: Floats
    deployed: EnumerableClass
    suggestion: Suggestion | None = None

    @classmethod
    def on_scores(cls, scores: Thresholds, features: Floats, suggestion: Suggestion | None = None) -> ClassOfRun:
        """A class on models' scores, with everybody scored once: scoring takes longer than playing."""
        columns = scores.score_columns(features)
        return cls(Thresholds(scores.cuts, names=scores.names), columns, scores, suggestion)

    @property
    def models(self) -> tuple[Any, ...]:
        """The fitted models that the deployed class needs."""
        return getattr(self.deployed, "models", None) or ()


def build(
    kind: str,
    data: Dataset,
    fit: Any,
    *,
    cuts: int | None,
    bins: int,
    features: Sequence[str],
    seed: int,
    small: bool = False,
    anchors: str = "people",
    progress: Progress | None = None,
) -> ClassOfRun:
    """The class of this kind, fitted on the people at the rows ``fit``; ``suggest_scores`` says more of the options."""
    X = data.features
    if kind == "suggested":
        suggestion = suggest_for(
            data, fit, small=small, cuts=cuts, anchors=anchors, seed=seed, progress=_counted(progress, small)
        )
        return ClassOfRun.on_scores(suggestion.hypotheses, X, suggestion)
    cuts = CUTS if cuts is None else cuts
    if kind == "models":
        return ClassOfRun.on_scores(models(X[fit], data.y[fit], cuts), X)
    if kind == "cells":
        F: EnumerableClass = cells(X[fit], data.encoder, features or data.compare_by, bins)
    else:
        F = thresholds(X[fit], data.encoder, cuts)
    return ClassOfRun(F, X, F)


def _counted(progress: Progress | None, small: bool) -> Callable[[int], None] | None:
    """Called with the models fitted so far."""
    return None if progress is None else lambda done: progress(done, models_to_fit(view=True, small=small))


def thresholds(features: Floats, encoder: Encoder, cuts: int) -> Thresholds:
    """Cut-offs on every encoded column."""
    return Thresholds([cuts_of(column, cuts) for column in features.T], names=encoder.names)


def cuts_of(column: Floats, cuts: int) -> Floats:
    """Quantiles of a number; between 0 and 1 of an indicator, however rare its ones are."""
    indicator = bool(((column == 0) | (column == 1)).all())
    return np.array([0.5]) if indicator else quantile_cuts(column, cuts)


def cells(features: Floats, encoder: Encoder, columns: Sequence[str], bins: int) -> Cells:
    """All labellings of a grid over some columns, each number cut into ``bins`` intervals, each level in two."""
    names = list(encoder.names)
    positions = [names.index(name) for name in _encoded(encoder, columns)]
    cuts = [cuts_of(features[:, i], bins - 1) if bins > 1 else np.empty(0) for i in positions]
    count = math.prod(len(column) + 1 for column in cuts)
    if count > MOST_CELLS:
        raise InvalidParameter(
            f"`features` must be few enough for {MOST_CELLS:,} cells at most, got {count:,} cells from "
            f"{list(columns)} with {bins} bins; name fewer columns, or fewer bins."
        )
    grid = Grid(cuts, [names[i] for i in positions], positions, width=len(names))
    return Cells(grid, grid.cells)


def _encoded(encoder: Encoder, columns: Sequence[str]) -> list[str]:
    """The names of the encoded columns of some columns."""
    parts = {number.name: number.names for number in encoder.numbers}
    parts |= {category.name: category.names for category in encoder.categories}
    unknown = [name for name in columns if name not in parts]
    if unknown:
        raise InvalidParameter(f"`features` must be among the columns in use, {sorted(parts)}, got {unknown}.")
    return [name for column in columns for name in parts[column]]


def models(features: Floats, y: Floats, cuts: int) -> Thresholds:
    """Cut-offs on the scores of six models, fitted on people who will neither play nor be held out."""
    from threadpoolctl import threadpool_limits

    labelled = np.isfinite(y)
    if len(np.unique(y[labelled])) < 2:
        raise InvalidParameter(
            f"`split` must leave people of both labels to fit models on, got {len(y)} people of one."
        )
    pool = model_pool()  # before the limit, which only holds for libraries that are loaded
    # One thread adds numbers in one order: on another day the same models come out, to the last bit.
    with threadpool_limits(1):
        fitted = [model.fit(features[labelled], y[labelled]) for model in pool]
        return Thresholds.scores(fitted, features, cuts)
