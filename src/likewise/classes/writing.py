"""A suggestion written down as plain numbers, for ``likewise.classes.program``.

Only what the recipe fits is known here: logistic regressions, boosted trees, ridge regressions on radial functions,
smoothers, curves, gentle policies and columns. Nearest neighbours hold people's own rows, so they are never written;
``anchors="centres"`` leaves them out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likewise.classes.anchors import Lipschitz
from likewise.classes.program import FORMAT
from likewise.classes.reads import Reads
from likewise.classes.scores import Additive, Average, Column, Score, Smoother
from likewise.classes.suggestion import Suggestion
from likewise.errors import NotSupported
from likewise.protocol import Floats


def written(suggestion: Suggestion, columns: Sequence[Mapping[str, Any]], compare_by: Sequence[str] = ()) -> Any:
    """A suggested class as plain JSON values.

    Parameters
    ----------
    suggestion
        Fitted with ``anchors="centres"``.
    columns
        What each encoded column is: {feature, centre, spread} for a number, {feature, level} for a level.
    compare_by
        The features that people are compared by.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.classes.program import ScoreProgram
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 1))
    >>> fitted = lw.classes.suggest_scores(X, (X[:, 0] > 0).astype(float), anchors="centres", names=["income"])
    >>> program = ScoreProgram(written(fitted, [{"feature": "income", "centre": 0.0, "spread": 1.0}]))
    >>> people = [{"income": float(x)} for x in X[:, 0]]
    >>> bool(np.allclose(program.scores(people), fitted.hypotheses.score_columns(X), rtol=0, atol=1e-12))
    True
    """
    scores = suggestion.hypotheses.models or ()
    reads, points = _Shared(), _Points()
    for family in (score.family for score in scores if isinstance(score, Lipschitz)):
        points.place(family.points)  # first, so that models on some of these points share the table
    plain = [
        {"name": str(name), "described": score.described, "cuts": cuts.tolist(), "reads": reads.place(score.reads)}
        | _score(score, points)
        for name, score, cuts in zip(suggestion.hypotheses.names, scores, suggestion.hypotheses.cuts, strict=True)
    ]
    return {
        "format": FORMAT,
        "columns": [dict(column) for column in columns],
        "reads": reads.plain(),
        "points": [table.tolist() for table in points.tables],
        "scores": plain,
        "parts": [{"name": p.name, "described": p.described, "scores": list(p.scores)} for p in suggestion.parts],
        "people": suggestion.people,
        "compare_by": list(compare_by),
        "notes": list(suggestion.notes),
        "holds": list(suggestion.holds),
    }


class _Shared:
    """What scores read, each written once."""

    def __init__(self) -> None:
        self._reads: list[Reads] = []

    def place(self, reads: Reads) -> int:
        """Its position."""
        for position, known in enumerate(self._reads):
            if known is reads:
                return position
        self._reads.append(reads)
        return len(self._reads) - 1

    def plain(self) -> list[dict[str, Any]]:
        """All of them as JSON values."""
        return [_plain_reads(reads) for reads in self._reads]


def _plain_reads(reads: Reads) -> dict[str, Any]:
    columns = [int(column) for column in reads.columns]
    if reads.offset is None:
        return {"columns": columns}
    terms = [[int(source), int(target), float(factor)] for source, target, factor in reads.terms]
    return {"columns": columns, "terms": terms, "offset": reads.offset.tolist()}


class _Points:
    """Tables of points, each written once: models that rest on the same anchors refer to the same table."""

    def __init__(self) -> None:
        self.tables: list[Floats] = []
        self._rows: list[dict[bytes, int]] = []

    def place(self, points: Floats) -> dict[str, Any]:
        """The table that holds these points, and their rows in it."""
        keys = [row.tobytes() for row in np.ascontiguousarray(points, dtype=float)]
        for position, known in enumerate(self._rows):
            if all(key in known for key in keys):
                return {"points": position, "rows": [known[key] for key in keys]}
        self.tables.append(np.array(points, dtype=float))
        self._rows.append({key: row for row, key in reversed(list(enumerate(keys)))})
        return {"points": len(self.tables) - 1, "rows": list(range(len(keys)))}


def _score(score: Score, points: _Points) -> dict[str, Any]:
    if isinstance(score, Column):
        return {"kind": "column"}
    if isinstance(score, Lipschitz):
        numbers = {"values": score.values.tolist(), "slope": score.slope, "upper": score.upper}
        return {"kind": "gentle"} | points.place(score.family.points) | numbers
    if isinstance(score, Average):
        return {"kind": "average", "models": [_model(part, points) for part in score.models]}
    raise _unknown(score)


def _model(model: Any, points: _Points) -> dict[str, Any]:
    if isinstance(model, Smoother):
        numbers = {"counts": model.counts.tolist(), "values": model.values.tolist(), "bandwidth": model.bandwidth}
        return {"kind": "smoother"} | points.place(model.points) | numbers
    if isinstance(model, Additive):
        return _curves(model)
    writers = {"LogisticRegression": _linear, "Pipeline": _radial}
    writers |= dict.fromkeys(("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), _trees)
    if type(model).__name__ not in writers:
        raise _unknown(model)
    return writers[type(model).__name__](model, points)


def _unknown(model: Any) -> NotSupported:
    return NotSupported(f"A {type(model).__name__} can't be written as plain numbers; fit with anchors='centres'.")


def _linear(model: Any, points: _Points) -> dict[str, Any]:
    return {"kind": "linear", "weights": model.coef_[0].tolist(), "start": float(model.intercept_[0])}


def _radial(model: Any, points: _Points) -> dict[str, Any]:
    """Ridge on Nyström's features, which are K(x, c) times a matrix: one weight for each point c."""
    features, ridge = model[0], model[-1]
    weights = features.normalization_.T @ ridge.coef_
    numbers = {"gamma": float(features.gamma), "weights": weights.tolist(), "start": float(ridge.intercept_)}
    return {"kind": "radial"} | points.place(features.components_) | numbers


def _trees(model: Any, points: _Points) -> dict[str, Any]:
    start = float(np.ravel(model._baseline_prediction)[0])
    trees = [_tree(tree.nodes, 0) for (tree,) in model._predictors]
    return {"kind": "trees", "start": start, "trees": trees, "logistic": hasattr(model, "predict_proba")}


def _tree(nodes: Any, place: int) -> Any:
    """A leaf's number, or [column, cut, if <= cut, if above]."""
    node = nodes[place]
    if node["is_leaf"]:
        return float(node["value"])
    below, above = (_tree(nodes, int(node[side])) for side in ("left", "right"))
    return [int(node["feature_idx"]), float(node["num_threshold"]), below, above]


def _curves(curves: Additive) -> dict[str, Any]:
    """For each column its knots, its scale, and the weights of its part of the basis."""
    weights, first, columns = curves.model.coef_[0], 0, []
    for knots, scale in zip(curves.knots, curves.scales, strict=True):
        width = 1 if knots is None else len(knots) + 2
        columns.append([None if knots is None else knots.tolist(), scale, weights[first : first + width].tolist()])
        first += width
    return {"kind": "curves", "columns": columns, "start": float(curves.model.intercept_[0])}
