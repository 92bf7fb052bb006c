"""Models whose scores a class cuts: their names in words, the columns they read, and sums over columns.

A model may say three things about itself; what it doesn't say is found out, or assumed of all columns:

    described    what people call it: "Lipschitz score of age and hours"
    columns      the encoded columns that it reads, by name or position
    additive     True if ``decision_function`` (or ``predict``) is a sum of one function per column, and the score is it
                 or its logistic function
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import require
from likewise.hypotheses.thresholds import score
from likewise.protocol import Floats
from likewise.reading.columns import Column
from likewise.wording import joined, plural

LINEAR = {
    "LogisticRegression", "LogisticRegressionCV", "SGDClassifier", "Perceptron", "LinearSVC", "RidgeClassifier",
    "RidgeClassifierCV", "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV",
    "LinearSVR", "GaussianNB",
}  # fmt: skip
"""scikit-learn's models whose decision value is a sum over columns."""
COLUMN_BY_COLUMN = {
    "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "QuantileTransformer", "PowerTransformer",
    "SplineTransformer", "KBinsDiscretizer", "SimpleImputer", "OneHotEncoder", "OrdinalEncoder",
}  # fmt: skip
"""scikit-learn's transformers that look at one column at a time."""
CALLED = {
    "GaussianNB": "naive Bayes",
    "KNeighborsClassifier": "nearest neighbours",
    "HistGradientBoostingClassifier": "gradient boosting",
    "GradientBoostingClassifier": "gradient boosting",
    "SVC": "support vector machine",
    "LinearSVC": "linear support vector machine",
    "MLPClassifier": "neural network",
    "SGDClassifier": "linear classifier",
    "Ridge": "linear regression",
    "function": "own score",
}
NAMED = 3
"""At most this many columns are named where a model reads more."""
TOLERANCE = 1e-9


class Terms(NamedTuple):
    """A score as a sum: the cuts on the scale of the sum, and every person's addends.

    Attributes
    ----------
    start
        The sum for the person that addends are counted from.
    addends
        (people, columns of the file).
    cuts
        The class's cuts of the score, on the scale of the sum.
    """

    start: float
    addends: Floats
    cuts: Floats


# Names ------------------------------------------------------------------------------------------------------------


def names_of(models: Sequence[Any]) -> list[str]:
    """What people call each of some models; a second one of a name says so.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> names_of([LogisticRegression(), LogisticRegression(C=0.1)])
    ['logistic regression', 'logistic regression (another, 2)']
    """
    names = [_called(model) for model in models]
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} (another, {seen[name]})")
    return unique


def _called(model: Any) -> str:
    described = getattr(model, "described", None)
    if isinstance(described, str) and described:
        return described
    steps = _steps(model)
    kind = type(steps[-1]).__name__
    own = getattr(model, "__name__", "").strip("<>").replace("_", " ")
    words = own if kind == "function" and own != "lambda" else CALLED.get(kind, _split(kind))
    return f"{words} with splines" if any(_has_splines(step) for step in steps[:-1]) else words


def _split(kind: str) -> str:
    """RandomForestClassifier is a random forest."""
    plain = re.sub(r"(Classifier|Regressor)(CV)?$|CV$", "", kind) or kind
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", plain)).lower()


def _has_splines(step: Any) -> bool:
    return type(step).__name__ == "SplineTransformer" or any(_has_splines(part) for part in _parts(step))


def columns_in_words(names: Sequence[str], of: int) -> str:
    """The columns that a model reads, out of ``of``.

    Examples
    --------
    >>> columns_in_words(["age", "hours"], 7), columns_in_words(list("abcdef"), 7), columns_in_words(list("abcd"), 4)
    ('age and hours', 'a, b, c and 3 other columns', 'all 4 columns')
    """
    if len(names) <= NAMED:
        return joined(names)
    if len(names) == of:
        return f"all {of} columns"
    return f"{', '.join(names[:NAMED])} and {plural(len(names) - NAMED, 'other column')}"


def reads(model: Any, columns: Sequence[Column], encoded: Sequence[str]) -> NDArray[np.bool_]:
    """(columns of the file,): which of them the model may read."""
    stated = getattr(model, "columns", None)
    if stated is None:
        return np.ones(len(columns), dtype=bool)
    known = {name: place for place, name in enumerate(encoded)}
    places = {known.get(name, name) for name in stated}
    width = sum(len(column.positions) for column in columns)
    inside = all(isinstance(place, (int, np.integer)) and 0 <= place < width for place in places)
    require(inside, "columns", f"name encoded columns of the people in {type(model).__name__}", list(stated))
    return np.array([bool(places & set(column.positions)) for column in columns])


# Sums over columns ------------------------------------------------------------------------------------------------


def is_additive(model: Any) -> bool:
    """Whether the model's decision value is a sum of one function per column, by what it says or is made of.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import SplineTransformer
    >>> is_additive(make_pipeline(SplineTransformer(), LogisticRegression())), is_additive(RandomForestClassifier())
    (True, False)
    """
    stated = getattr(model, "additive", None)
    if stated is not None:
        return bool(stated)
    steps = _steps(model)
    return _is(steps[-1], LINEAR) and all(_one_by_one(step) for step in steps[:-1])


def _steps(model: Any) -> list[Any]:
    """The steps of a pipeline; any other model is its only step."""
    listed = getattr(model, "steps", None)
    return [step for _, step in listed] if isinstance(listed, list) else [model]


def _parts(step: Any) -> list[Any]:
    """The transformers inside a step."""
    inside = getattr(step, "transformers_", None) or getattr(step, "steps", None)
    return [entry[1] for entry in inside] if isinstance(inside, list) else []


def _one_by_one(step: Any) -> bool:
    if step is None or isinstance(step, str):  # "passthrough" and "drop"
        return True
    if type(step).__name__ in ("ColumnTransformer", "Pipeline"):
        return all(_one_by_one(part) for part in _parts(step))
    return _is(step, COLUMN_BY_COLUMN)


def _is(step: Any, kinds: set[str]) -> bool:
    return type(step).__module__.startswith("sklearn.") and type(step).__name__ in kinds


def decision_value(model: Any, X: Any) -> Floats:
    """The number that is a sum over columns, for a model that is additive."""
    if hasattr(model, "predict_joint_log_proba"):  # naive Bayes: ln p(x, 1) − ln p(x, 0)
        joint = np.asarray(model.predict_joint_log_proba(X))
        return np.asarray(joint[:, 1] - joint[:, 0])
    value = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    return np.asarray(value, dtype=float)


def cuts_of_sum(cuts: Floats, scores: Floats, values: Floats) -> Floats | None:
    """Cuts of a score on the scale of its sum; None where the score is neither the sum nor its logistic function."""
    if np.allclose(scores, values, rtol=TOLERANCE, atol=TOLERANCE):
        return cuts
    if np.allclose(scores, 1.0 / (1.0 + np.exp(-np.clip(values, -500, 500))), rtol=0, atol=TOLERANCE):
        inside = np.clip(cuts, 1e-300, 1 - 1e-16)
        return np.asarray(np.log(inside) - np.log1p(-inside))
    return None


def terms_of(model: Any, features: Floats, cuts: Floats, owner: NDArray[np.intp], named: Any) -> Terms | None:
    """An additive model's score as a sum over columns of the file; None if it is not one.

    The addend of a column is what the model itself answers when only that column changes, from the first person's value
    to another's. That the addends add up to the model's own answers is checked for everybody.
    """
    if not is_additive(model):
        return None
    values = decision_value(model, named(features))
    scale = cuts_of_sum(cuts, score(model, named(features)), values)
    if scale is None:
        return None
    start, addends = float(values[0]), np.empty((len(features), int(owner.max()) + 1))
    for column in range(addends.shape[1]):
        changed = np.tile(features[0], (len(features), 1))
        changed[:, owner == column] = features[:, owner == column]
        addends[:, column] = decision_value(model, named(changed)) - start
    size = np.abs(values).max() + np.abs(addends).max()
    if np.abs(start + addends.sum(axis=1) - values).max() > TOLERANCE * (1 + size):
        return None
    return Terms(start, addends, scale)
