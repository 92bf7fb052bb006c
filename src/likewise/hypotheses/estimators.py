"""Classes reached only through an oracle: any scikit-learn estimator with ``fit(X, y, sample_weight)``.

The weighted ERM oracle minimises Σ_i s_i f(x_i): label 1[s_i < 0], weight |s_i|, people with s_i = 0 dropped.
A real estimator minimises it only approximately; whatever relies on it says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.displays import short
from likewise.errors import require
from likewise.hypotheses.base import columns_of
from likewise.hypotheses.fingerprint import check_models, fingerprint
from likewise.protocol import Floats
from likewise.wording import plural


class EstimatorClass:
    """What an estimator can express, reached only by fitting it.

    Parameters
    ----------
    estimator
        An unfitted scikit-learn classifier that takes ``sample_weight``.
    pool
        Unlabelled people, for the perturbations of ``likewise.SmoothedFTPL``.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> F = EstimatorClass(DecisionTreeClassifier(max_depth=1, random_state=0), pool=[[0.0], [1.0]])
    >>> model = F.fit(F.encode([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, -1.0]))
    >>> F.answers(model, F.encode([[0.2], [1.9]])).tolist()
    [0.0, 1.0]
    """

    constants = (0, 1)
    size = None
    separator = None

    def __init__(self, estimator: Any, pool: Any) -> None:
        from sklearn.utils.validation import has_fit_parameter

        takes = hasattr(estimator, "fit") and has_fit_parameter(estimator, "sample_weight")
        require(takes, "estimator", "have fit(X, y, sample_weight)", type(estimator).__name__)
        self.estimator = estimator
        self.pool, self.names = columns_of(pool)
        require(len(self.pool) > 0, "pool", "hold at least one person", self.pool.shape)

    def __repr__(self) -> str:
        kind = type(self.estimator).__name__
        return short(
            "EstimatorClass", f"what {kind} can express", f"{plural(len(self.pool), 'person', 'people')} in the pool"
        )

    @property
    def models(self) -> tuple[Any, ...]:
        """What loading the class needs again: its estimator and its pool."""
        return self.estimator, self.pool

    def encode(self, X: Any) -> Floats:
        """People as rows of numbers."""
        return columns_of(X, self.names)[0]

    def fit(self, rows: Floats, s: Floats, seed: int = 0) -> Any:
        """The oracle: an estimator fitted to make Σ_i s_i f(x_i) small; a constant where only one label is left.

        An estimator that draws, and was given no ``random_state`` of its own, draws from ``seed``.
        """
        from sklearn.base import clone

        used = s != 0.0
        labels = (s[used] < 0.0).astype(int)
        if len(labels) == 0 or labels.min() == labels.max():
            return int(labels[0]) if len(labels) else 0
        fresh = clone(self.estimator)
        if fresh.get_params().get("random_state", 0) is None:
            fresh.set_params(random_state=seed)
        return fresh.fit(rows[used], labels, sample_weight=np.abs(s[used]))

    def answers(self, model: Any, rows: Floats) -> Floats:
        """f(x) of one fitted hypothesis, or of a constant."""
        if isinstance(model, int):
            return np.full(len(rows), float(model))
        answers: NDArray[Any] = np.asarray(model.predict(rows))
        return answers.astype(float)

    def to_dict(self) -> dict[str, Any]:
        """The fingerprint of the estimator; the pool is not stored."""
        return {"class": "EstimatorClass", "models": [fingerprint(self.estimator), fingerprint(self.pool)]}

    @classmethod
    def from_dict(cls, data: dict[str, Any], models: Sequence[Any]) -> EstimatorClass:
        """Rebuild the class from its estimator and its pool."""
        check_models(models, data["models"])
        return cls(models[0], models[1])
