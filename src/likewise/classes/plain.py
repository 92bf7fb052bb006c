"""Fitted models as plain numbers: what each says of people, computed from JSON values with NumPy alone.

Only operations that IEEE 754 rounds in one way are used, in a fixed order: sums go from left to right, and the
exponential is made of products and sums. So the same people get the same bits on every machine, in a batch of any size.

    linear    logistic(b + Σ_j w_j x_j)
    trees     b + Σ of the leaves that somebody falls into; a tree is a number, or [column, cut, if <= cut, if above]
    radial    b + Σ_c w_c exp(−γ |x − c|²)
    smoother  Σ_c n_c v_c exp(−d(x, c)/h) / Σ_c n_c exp(−d(x, c)/h), with d the cityblock distance
    curves    logistic(b + Σ of a cubic spline per column)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from likewise.protocol import Floats

LARGEST = 680.0
"""Exponents are kept within this, where e^x is neither zero nor infinite."""
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
TAYLOR = tuple(1 / math.factorial(n) for n in range(13, -1, -1))
"""1/13!, …, 1/1!, 1/0!."""
DEGREE = 3


def exponential(x: Any) -> Floats:
    """e^x, within two units in the last place and with the same bits on every machine; x is kept within ±680.

    x = n ln 2 + r with |r| ≤ ½ ln 2, and e^r by its Taylor polynomial of degree 13.

    Examples
    --------
    >>> exponential([0.0, 0.5, -1e9]).round(12).tolist()
    [1.0, 1.6487212707, 0.0]
    """
    kept = np.clip(np.asarray(x, dtype=float), -LARGEST, LARGEST)
    n = np.rint(kept * 1.4426950408889634)
    r = (kept - n * LN2_HIGH) - n * LN2_LOW
    total = np.full_like(r, TAYLOR[0])
    for coefficient in TAYLOR[1:]:
        total = total * r + coefficient
    return np.asarray(np.ldexp(total, n.astype(np.intc)))


def logistic(x: Any) -> Floats:
    """1/(1 + e^−x)."""
    return np.asarray(1.0 / (1.0 + exponential(-np.asarray(x, dtype=float))))


def total(terms: Floats) -> Floats:
    """Sums along the last axis, from left to right: NumPy's own sum adds in an order that depends on the shape."""
    return np.asarray(np.add.accumulate(terms, axis=-1)[..., -1])


class Looks:
    """What the scores of one view see of some people: numbers, and distances from points, each computed once.

    Parameters
    ----------
    V
        One row per person.
    tables
        Tables of points, to which models refer by their position.
    """

    def __init__(self, V: Floats, tables: Sequence[Floats]) -> None:
        self.V = V
        self._tables = tables
        self._apart: dict[tuple[int, bool], Floats] = {}

    def distances(self, table: int, *, squared: bool = False) -> Floats:
        """(people, points): Σ_j |x_j − c_j|, or the sum of squares."""
        key = (table, squared)
        if key not in self._apart:
            points = self._tables[table]
            apart = np.zeros((len(self.V), len(points)))
            for j in range(self.V.shape[1]):
                step = self.V[:, j, None] - points[:, j]
                apart += step * step if squared else np.abs(step)
            self._apart[key] = apart
        return self._apart[key]


Model = Callable[[Looks], Floats]
"""From what is seen of people to their scores."""


def model(data: Mapping[str, Any]) -> Model:
    """A model from its plain numbers; ``kind`` says which.

    Examples
    --------
    >>> step = model({"kind": "trees", "start": 0.5, "trees": [[0, 2.0, -0.25, 0.25]], "logistic": False})
    >>> step(Looks(np.array([[1.0], [2.0], [3.0]]), ())).tolist()
    [0.25, 0.25, 0.75]
    """
    return KINDS[data["kind"]](data)


def _linear(data: Mapping[str, Any]) -> Model:
    weights, start = _floats(data["weights"]), float(data["start"])

    def linear(looks: Looks) -> Floats:
        return logistic(total(looks.V * weights) + start)

    return linear


def _trees(data: Mapping[str, Any]) -> Model:
    forest = _Forest()
    roots = np.array([forest.add(tree) for tree in data["trees"]], dtype=np.intp)
    column, cut, low, high, value = forest.arrays()
    start = float(data["start"])

    def trees(looks: Looks) -> Floats:
        people = np.arange(len(looks.V))[:, None]
        node = np.broadcast_to(roots, (len(looks.V), len(roots)))
        for _ in range(forest.depth):  # a leaf leads to itself
            node = np.where(looks.V[people, column[node]] <= cut[node], low[node], high[node])
        first = np.full((len(looks.V), 1), start)
        score = total(np.hstack([first, value[node]]))
        return logistic(score) if data["logistic"] else score

    return trees


class _Forest:
    """Trees laid out in arrays, one entry per node."""

    def __init__(self) -> None:
        self.nodes: list[list[float]] = []
        self.depth = 0

    def add(self, tree: Any, depth: int = 0) -> int:
        """The position of a tree's first node."""
        place = len(self.nodes)
        self.depth = max(self.depth, depth)
        if not isinstance(tree, list):
            self.nodes.append([0, 0.0, place, place, float(tree)])
            return place
        column, cut, below, above = tree
        self.nodes.append([column, cut, 0, 0, 0.0])
        self.nodes[place][2] = self.add(below, depth + 1)
        self.nodes[place][3] = self.add(above, depth + 1)
        return place

    def arrays(self) -> tuple[Any, Floats, Any, Any, Floats]:
        """Column, cut, next node below and above it, and value."""
        column, cut, low, high, value = _floats(self.nodes).T
        return column.astype(np.intp), cut, low.astype(np.intp), high.astype(np.intp), value


def _radial(data: Mapping[str, Any]) -> Model:
    table, rows = int(data["points"]), np.array(data["rows"], dtype=np.intp)
    weights, start, gamma = _floats(data["weights"]), float(data["start"]), float(data["gamma"])

    def radial(looks: Looks) -> Floats:
        apart = looks.distances(table, squared=True)[:, rows]
        return total(exponential(-gamma * apart) * weights) + start

    return radial


def _smoother(data: Mapping[str, Any]) -> Model:
    table, rows = int(data["points"]), np.array(data["rows"], dtype=np.intp)
    counts, values, bandwidth = _floats(data["counts"]), _floats(data["values"]), float(data["bandwidth"])

    def smoother(looks: Looks) -> Floats:
        apart = looks.distances(table)[:, rows]
        # Less the distance to the nearest point, so that weights far from everybody don't all vanish.
        weights = exponential((apart.min(axis=1, keepdims=True) - apart) / bandwidth) * counts
        return np.asarray(total(weights * values) / total(weights))

    return smoother


def _curves(data: Mapping[str, Any]) -> Model:
    columns = [
        (None if knots is None else _floats(knots), float(scale), _floats(weights))
        for knots, scale, weights in data["columns"]
    ]
    start = float(data["start"])

    def curves(looks: Looks) -> Floats:
        score = np.full(len(looks.V), start)
        for v, (knots, scale, weights) in zip(looks.V.T, columns, strict=True):
            score = score + (v / scale * weights[0] if knots is None else _spline(v, knots, weights))
        return logistic(score)

    return curves


def _spline(v: Floats, knots: Floats, weights: Floats) -> Floats:
    """Σ_r w_r B_r(v): a cubic spline, constant beyond the outer knots, by the recursion of Cox and de Boor."""
    padded = np.concatenate([[knots[0]] * DEGREE, knots, [knots[-1]] * DEGREE])
    inside = np.clip(v, knots[0], knots[-1])
    last = np.clip(np.searchsorted(padded, inside, side="right") - 1, DEGREE, len(padded) - DEGREE - 2)
    basis = [np.ones_like(inside)]
    for degree in range(1, DEGREE + 1):
        saved, raised = np.zeros_like(inside), []
        for r in range(degree):
            low, high = padded[last + r + 1 - degree], padded[last + r + 1]
            share = basis[r] / (high - low)
            raised.append(saved + (high - inside) * share)
            saved = (inside - low) * share
        basis = [*raised, saved]
    return total(np.stack([part * weights[last - DEGREE + r] for r, part in enumerate(basis)], axis=-1))


def _floats(values: Any) -> Floats:
    return np.array(values, dtype=float)


KINDS: dict[str, Callable[[Mapping[str, Any]], Model]] = {
    "linear": _linear,
    "trees": _trees,
    "radial": _radial,
    "smoother": _smoother,
    "curves": _curves,
}
"""How each kind of model is made of its numbers."""
