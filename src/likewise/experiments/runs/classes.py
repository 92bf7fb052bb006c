"""The class of hypotheses of a run, over the encoded columns of a data set."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from likewise.datasets import Encoder
from likewise.errors import InvalidParameter
from likewise.experiments.models import model_pool
from likewise.hypotheses import Cells, Thresholds
from likewise.hypotheses.base import quantile_cuts
from likewise.hypotheses.cells import Grid
from likewise.protocol import Floats

MOST_CELLS = 2**16
"""A grid with more cells than this holds next to nobody in each."""


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
