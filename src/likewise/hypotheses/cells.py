"""All 2^m ways to label m cells, exactly, without ever listing them.

Split people into m cells: a grid, the leaves of a fitted tree, any rule. Losses add over cells, so the
exponential weights over all labellings factorise into one coin per cell, and so does the perturbed leader:
m = 64 is a class of 18 quintillion hypotheses at the cost of a table look-up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidParameter, require
from likewise.hypotheses.base import UNIFORM, EnumerableClass, beyond_rounding, binned_sums, columns_of, quantile_cuts
from likewise.hypotheses.fingerprint import check_models, fingerprint
from likewise.hypotheses.geometry import Cube
from likewise.protocol import Floats, Rows


class Cells(EnumerableClass):
    """All labellings of m cells. Build one with ``grid`` or ``tree``, or from any rule.

    Parameters
    ----------
    assign
        From people to cell numbers 0 … m − 1.
    m
        The number of cells.

    Examples
    --------
    >>> F = Cells(lambda X: (X[:, 0] > 0).astype(int), m=2)
    >>> F.size, F.predict(np.array([[-1.0], [2.0]])).tolist()
    (4, [[0, 0], [1, 0], [0, 1], [1, 1]])
    """

    def __init__(self, assign: Any, m: int) -> None:
        require(isinstance(m, Integral) and m >= 1, "m", "be a whole number, at least 1", m)
        self.assign = assign
        self.geometry = Cube(m)
        self.separator = np.arange(m)

    @classmethod
    def grid(cls, X: Any, bins: int | Sequence[int] = 8, features: Sequence[Any] | None = None) -> Cells:
        """Boxes between quantiles: up to ``bins`` intervals of each of ``features`` (all, by default)."""
        names = list(X.columns) if hasattr(X, "columns") else list(range(np.shape(X)[1]))
        chosen = names if features is None else list(features)
        unknown = [name for name in chosen if name not in names]
        require(not unknown, "features", f"be among {names}", unknown)
        positions = [names.index(name) for name in chosen]
        values = columns_of(X[chosen] if hasattr(X, "columns") else np.asarray(X)[:, positions])[0]
        counts = [int(bins)] * len(chosen) if isinstance(bins, Integral) else list(cast("Sequence[int]", bins))
        require(len(counts) == len(chosen), "bins", f"be one number or {len(chosen)} of them", bins)
        require(min(counts) >= 1, "bins", "be at least 1", bins)
        cuts = [
            quantile_cuts(column, count - 1) if count > 1 else np.empty(0)
            for column, count in zip(values.T, counts, strict=True)
        ]
        grid = Grid(cuts, chosen, positions, width=len(names))
        return cls(grid, grid.cells)

    @classmethod
    def tree(cls, tree: Any) -> Cells:
        """The leaves of a fitted scikit-learn decision tree."""
        require(hasattr(tree, "tree_"), "tree", "be a fitted decision tree", type(tree).__name__)
        leaves = Leaves(tree)
        return cls(leaves, leaves.cells)

    def encode(self, X: Any) -> NDArray[np.intp]:
        """(people,): each person's cell."""
        cells = np.asarray(self.assign(X))
        integers = np.issubdtype(cells.dtype, np.number) and bool((cells == np.floor(cells)).all())
        inside = integers and bool((cells >= 0).all() and (cells < self.geometry.dim).all())
        if cells.shape != (len(X),) or not inside:
            raise InvalidParameter(
                f"`assign` must give each of {len(X)} people a cell, a whole number in 0 … {self.geometry.dim - 1}, "
                f"got shape {cells.shape} with values like {cells.ravel()[:3].tolist()}."
            )
        return cells.astype(np.intp)

    def losses(self, rows: Rows, s: Floats) -> Floats:
        """The signed weight in every cell."""
        if s.ndim == 1:
            return np.asarray(np.bincount(rows, s, self.geometry.dim), dtype=float)
        return binned_sums(rows[:, None], s, self.geometry.dim)

    def probability(self, weights: Floats, rows: Rows) -> Floats:
        """π(x): the probability of the person's cell."""
        return np.asarray(weights[rows])

    def mix_gap(
        self,
        weights: Floats,
        before: Floats,
        after: Floats,
        rows: Rows,
        s: Floats,
        probabilities: Floats,
        eta: float,
        offset: Floats = UNIFORM,
    ) -> float:
        """δ = Σ_c q_c S_c + (1/η) Σ_c ln(1 − q_c + q_c exp(−η S_c)): only cells with people in the round count."""
        lost, mean = self.losses(rows, s), float(s @ probabilities)
        if math.isinf(eta):
            return beyond_rounding(mean - self.geometry.minimum(lost), s)
        used = np.flatnonzero(lost)
        S, q = lost[used], weights[used]
        # Written for the label that the round asks for, so that exponents are never positive.
        shrunk = np.where(S > 0, q, 1.0 - q) * np.expm1(-eta * np.abs(S))
        if shrunk.min(initial=0.0) <= -1.0 + 1e-9:  # a cell loses all of its weight, and the logarithm its digits
            return super().mix_gap(weights, before, after, rows, s, probabilities, eta, offset)
        return beyond_rounding(mean - float(np.minimum(S, 0.0).sum()) + float(np.log1p(shrunk).sum()) / eta, s)

    def predict_rows(self, rows: Rows) -> NDArray[np.uint8]:
        """(2^m, people); hypothesis h labels cell c with the c-th bit of h."""
        self.require_listable()
        return ((np.arange(self.size)[:, None] >> rows) & 1).astype(np.uint8)

    def to_dict(self) -> dict[str, Any]:
        """Cuts of a grid, or the fingerprint of a tree or rule."""
        if isinstance(self.assign, Grid):
            return {"class": "Cells", "grid": self.assign.to_dict(), "models": None}
        model = self.assign.tree if isinstance(self.assign, Leaves) else self.assign
        source = "tree" if isinstance(self.assign, Leaves) else "rule"
        return {"class": "Cells", source: self.geometry.dim, "models": [fingerprint(model)]}

    @classmethod
    def from_dict(cls, data: dict[str, Any], models: Sequence[Any]) -> Cells:
        """Rebuild the class; cells of a tree or a rule need it again."""
        if "grid" in data:
            grid = Grid(**data["grid"])
            return cls(grid, grid.cells)
        check_models(models, data["models"])
        return cls.tree(models[0]) if "tree" in data else cls(models[0], data["rule"])


class Grid:
    """From people to boxes between cuts; features are found by name in a dataframe, by position in an array."""

    def __init__(self, cuts: Sequence[Any], features: Sequence[Any], where: Sequence[int], width: int) -> None:
        self.cuts = [np.asarray(column, dtype=float) for column in cuts]
        self.features = list(features)
        self.where = list(where)
        self.width = width
        self.shape = tuple(len(column) + 1 for column in self.cuts)
        self.cells = int(np.prod(self.shape))

    def __call__(self, X: Any) -> NDArray[np.intp]:
        """Each person's box, numbered in row-major order."""
        if hasattr(X, "columns"):
            values = columns_of(X, self.features)[0]
        else:
            values = columns_of(X, list(range(self.width)))[0][:, self.where]
        bins = [np.searchsorted(cuts, column, side="right") for cuts, column in zip(self.cuts, values.T, strict=True)]
        return np.asarray(np.ravel_multi_index(bins, self.shape))

    def to_dict(self) -> dict[str, Any]:
        """Cuts and the names of features."""
        names = [name if isinstance(name, int) else str(name) for name in self.features]
        cuts = [column.tolist() for column in self.cuts]
        return {"cuts": cuts, "features": names, "where": self.where, "width": self.width}


class Leaves:
    """From people to the leaves of a fitted tree."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        self.leaves = np.flatnonzero(tree.tree_.children_left == -1)
        self.cells = len(self.leaves)

    def __call__(self, X: Any) -> NDArray[np.intp]:
        """Each person's leaf, numbered from 0."""
        return np.asarray(np.searchsorted(self.leaves, self.tree.apply(X)))
