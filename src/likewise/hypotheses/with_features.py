"""A class of hypotheses to compare with, for a learner that decides by something else: rows hold both.

    row of a person = (their features, their row in F)

The learner reads the features. Losses, minima and hindsight read the rest, so that regret against F is measured
exactly, whoever decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidParameter
from likewise.hypotheses.base import EnumerableClass, columns_of
from likewise.hypotheses.finite import FiniteClass
from likewise.protocol import Floats, Rows


class WithFeatures(EnumerableClass):
    """A class, with people's features beside its own rows.

    Parameters
    ----------
    compared
        The class F that errors are compared with.

    Examples
    --------
    >>> from likewise.hypotheses import Thresholds
    >>> F = WithFeatures(Thresholds([[0.5, 1.5]]))
    >>> rows = F.encode([[1.0], [2.0]])
    >>> F.features(rows).tolist(), F.compared_rows(rows).tolist()
    ([[1.0], [2.0]], [[1], [2]])
    """

    def __init__(self, compared: EnumerableClass) -> None:
        self.compared = compared
        self.geometry, self.constants = compared.geometry, compared.constants
        separator = compared.separator
        if separator is None and not isinstance(compared, FiniteClass):
            raise InvalidParameter(
                f"`compared` must be Thresholds, Cells, a FiniteClass or a class with a separator, got "
                f"{type(compared).__name__}: nothing else says how long its rows are."
            )
        self._shape: tuple[int, ...] = (compared.size,) if separator is None else separator.shape[1:]
        self._width = self._shape[0] if self._shape else 1

    @property
    def _columns_described(self) -> str:
        return f"of {self.compared!r}, with the features beside them"

    @property
    def models(self) -> Sequence[Any] | None:
        """What loading the class needs again."""
        return getattr(self.compared, "models", None)

    def encode(self, X: Any) -> Floats:
        """(people, features and the columns of the other row), as floats."""
        other = np.asarray(self.compared.encode(X), dtype=float).reshape(len(X), -1)
        return np.hstack([columns_of(X)[0], other])

    def features(self, rows: Rows) -> Floats:
        """What a classifier reads."""
        return np.ascontiguousarray(rows[:, : -self._width], dtype=float)

    def compared_rows(self, rows: Rows) -> NDArray[np.int32]:
        """What the class F reads."""
        other = rows[:, -self._width :].astype(np.int32)
        return other if self._shape else other.ravel()

    def losses(self, rows: Rows, s: Floats) -> Floats:
        """Σ_i s_i f(x_i) for every f of F."""
        return self.compared.losses(self.compared_rows(rows), s)

    def probability(self, weights: Floats, rows: Rows) -> Floats:
        """π(x) of a mixture of F."""
        return self.compared.probability(weights, self.compared_rows(rows))

    def predict_rows(self, rows: Rows) -> NDArray[np.uint8]:
        """(N, people) of F."""
        return self.compared.predict_rows(self.compared_rows(rows))

    def to_dict(self) -> dict[str, Any]:
        """The class F."""
        return {"class": "WithFeatures", "compared": self.compared.to_dict()}
