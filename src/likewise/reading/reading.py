"""A policy as it is read: a class of hypotheses, its weights, and the columns of the file behind its numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likewise.errors import NotSupported
from likewise.hypotheses import Cells, EnumerableClass, Thresholds
from likewise.hypotheses.base import columns_of
from likewise.hypotheses.cells import Grid, Leaves
from likewise.protocol import Floats
from likewise.reading.boxes import Box, in_words
from likewise.reading.columns import Column, Encoder, Interval, Split, columns_of_encoder, plain_columns
from likewise.reading.decimals import brief

NO_COLUMNS = (
    "This policy is made of {}, which can't be split by columns; reasons need cut-offs, models' scores, a grid or a "
    "tree (Thresholds or Cells)."
)


@dataclass(frozen=True)
class Reading:
    """A policy with the units of its file.

    Attributes
    ----------
    hypotheses, weights
        The class, and the policy's weights in it.
    columns
        The columns of the file, in the order of encoding.
    encoded
        The names of the encoded columns.
    features
        From people to encoded columns.
    shown
        From people to their own values in words, column by column.
    """

    hypotheses: EnumerableClass
    weights: Floats
    columns: tuple[Column, ...]
    encoded: tuple[str, ...]
    features: Callable[[Any], Floats]
    shown: Callable[[Any], list[list[str]]]

    @cached_property
    def owner(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """(encoded columns,): which column of the file each of them belongs to."""
        return np.repeat(np.arange(len(self.columns)), [len(column.positions) for column in self.columns])

    def probability(self, features: Floats) -> Floats:
        """π at people given by their encoded columns."""
        return self.hypotheses.probability(self.weights, self.rows(features))

    def rows(self, features: Floats) -> Any:
        """People as the class keeps them."""
        return self.hypotheses.encode(self.named(features))

    def named(self, features: Floats) -> Any:
        """Encoded columns with their names, where a model was fitted with names and would miss them."""
        for model in self.fitted:
            names = getattr(model, "feature_names_in_", None)
            if names is not None:
                import pandas as pd

                return pd.DataFrame(features, columns=names)
        return features

    @property
    def fitted(self) -> tuple[Any, ...]:
        """The fitted models inside the class."""
        return _fitted(self.hypotheses)

    @property
    def on_scores(self) -> bool:
        """Whether the class cuts models' scores, not columns."""
        return isinstance(self.hypotheses, Thresholds) and self.hypotheses.models is not None

    def box(self, cell: int) -> Box:
        """The limits of a cell."""
        assign = self.hypotheses.assign if isinstance(self.hypotheses, Cells) else None
        return grid_box(assign, cell) if isinstance(assign, Grid) else leaf_box(assign, cell)

    def cell_in_words(self, cell: int, features: Floats | None = None) -> str | None:
        """Whom a cell means; None if nobody can be in it."""
        words = in_words(self.columns, self.box(cell), features)
        return "everybody" if words == "" else words

    def splits(self) -> list[tuple[int, Split]]:
        """Every cut of every encoded column; none for a class on models' scores."""
        F = self.hypotheses
        if isinstance(F, Thresholds):
            return [(j, Split(float(cut))) for j, cuts in enumerate(F.cuts) for cut in cuts]
        assign = F.assign if isinstance(F, Cells) else None
        if isinstance(assign, Grid):
            pairs = zip(assign.where, assign.cuts, strict=True)
            return [(place, Split(float(cut))) for place, cuts in pairs for cut in cuts]
        nodes = assign.tree.tree_ if isinstance(assign, Leaves) else None
        inner = [] if nodes is None else np.flatnonzero(nodes.children_left != -1).tolist()
        return [] if nodes is None else [
            (int(nodes.feature[node]), Split(float(nodes.threshold[node]), single=True)) for node in inner
        ]  # fmt: skip


def reading_of(hypotheses: Any, weights: Floats, encoder: Encoder | None = None) -> Reading:
    """A mixture over a class as it is read; with an encoder, in the units of its file.

    Examples
    --------
    >>> F = Thresholds([[0.5]], names=["income"])
    >>> [column.name for column in reading_of(F, np.array([0.0, 0.2, 0.8, 0.0])).columns]
    ['income']
    """
    assign = getattr(hypotheses, "assign", None)
    boxed = isinstance(hypotheses, Cells) and isinstance(assign, (Grid, Leaves))
    if not (isinstance(hypotheses, Thresholds) or boxed):
        made_of = "cells of a rule of its own" if isinstance(hypotheses, Cells) else "hypotheses that only answer"
        raise NotSupported(NO_COLUMNS.format(made_of))
    if encoder is not None:
        return Reading(
            hypotheses, weights, columns_of_encoder(encoder), tuple(encoder.names), encoder.transform, encoder.shown
        )
    names = _names(hypotheses)

    def features(X: Any) -> Floats:
        return _scattered(assign, X) if isinstance(assign, Grid) else columns_of(X, names)[0]

    def shown(X: Any) -> list[list[str]]:
        return [[brief(float(value)) for value in column] for column in features(X).T]

    return Reading(hypotheses, weights, plain_columns(names), tuple(map(str, names)), features, shown)


def _fitted(hypotheses: Any) -> tuple[Any, ...]:
    if isinstance(hypotheses, Thresholds):
        return hypotheses.models or ()
    assign = getattr(hypotheses, "assign", None)
    return (assign.tree,) if isinstance(assign, Leaves) else ()


def _names(hypotheses: Any) -> list[Any]:
    """The columns of a class without an encoder: its own names, or those that its models were fitted with."""
    assign = getattr(hypotheses, "assign", None)
    if isinstance(assign, Grid):
        names: list[Any] = list(range(assign.width))
        for place, feature in zip(assign.where, assign.features, strict=True):
            names[place] = feature
        return names
    models = _fitted(hypotheses)
    if not models:
        return list(hypotheses.names)
    for model in models:
        if hasattr(model, "feature_names_in_"):
            return list(model.feature_names_in_)
    for model in models:
        if hasattr(model, "n_features_in_"):
            return list(range(model.n_features_in_))
    raise NotSupported(
        "This policy does not know the columns that its models read; wrap it with their encoder: "
        "likewise.scoring.FinishedPolicy(policy, encoder)."
    )


def _scattered(grid: Grid, X: Any) -> Floats:
    """A grid's columns at their places; it never looks at the others of a dataframe."""
    if not hasattr(X, "columns"):
        return columns_of(X, list(range(grid.width)))[0]
    features = np.zeros((len(X), grid.width))
    features[:, grid.where] = columns_of(X, grid.features)[0]
    return features


def grid_box(grid: Any, cell: int) -> Box:
    """The limits of a box of a grid."""
    bins = np.unravel_index(cell, grid.shape)
    box = {}
    for place, cuts, bin_ in zip(grid.where, grid.cuts, bins, strict=True):
        low = Split(float(cuts[bin_ - 1])) if bin_ > 0 else None
        high = Split(float(cuts[bin_])) if bin_ < len(cuts) else None
        box[place] = Interval(low, high)
    return box


def leaf_box(leaves: Any, cell: int) -> Box:
    """The limits of a leaf: of the path to it, the tightest cut on each side of each column."""
    nodes = leaves.tree.tree_
    box: dict[int, Interval] = {}
    child = int(leaves.leaves[cell])
    while child != 0:
        parent = int(np.flatnonzero((nodes.children_left == child) | (nodes.children_right == child))[0])
        place, split = int(nodes.feature[parent]), Split(float(nodes.threshold[parent]), single=True)
        low, high = box.get(place, Interval())
        # From the leaf upwards the first limit on a side is the tightest.
        if nodes.children_right[parent] == child:
            box[place] = Interval(low or split, high)
        else:
            box[place] = Interval(low, high or split)
        child = parent
    return box
