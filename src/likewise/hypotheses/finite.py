"""Any finite list of hypotheses: callables or fitted classifiers, and the two constants.

A person is encoded as their column of the prediction matrix, once for the whole data set, so that
Σ_i s_i f(x_i) and π(x) are two small matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidParameter, require
from likewise.hypotheses.base import BLOCK_ENTRIES, EnumerableClass
from likewise.hypotheses.fingerprint import check_models, fingerprint
from likewise.hypotheses.geometry import Simplex
from likewise.protocol import Floats, Rows


class FiniteClass(EnumerableClass):
    """A listed class of hypotheses.

    Parameters
    ----------
    hypotheses
        Callables from people to 0/1, or fitted classifiers with ``predict``.
    constants
        Which constant hypotheses to put before them. Fairness needs one: it is fair to everybody.
    pool
        People to choose a separator from, for ``likewise.ContextFTPL``: a greedy test cover.

    Examples
    --------
    >>> F = FiniteClass([lambda X: X[:, 0] > 0])
    >>> F.size, F.predict(np.array([[-1.0], [2.0]])).tolist()
    (3, [[0, 0], [1, 1], [0, 1]])
    """

    def __init__(
        self, hypotheses: Sequence[Any], *, constants: Sequence[int] = (0, 1), pool: Any | None = None
    ) -> None:
        require(set(constants) <= {0, 1}, "constants", "be among 0 and 1", tuple(constants))
        listed = isinstance(hypotheses, Sequence)
        require(listed, "hypotheses", "be a list of callables or fitted classifiers", type(hypotheses).__name__)
        self.hypotheses = tuple(hypotheses)
        self.constants = tuple(sorted(set(constants)))
        require(len(self.hypotheses) + len(self.constants) > 0, "hypotheses", "hold at least one", [])
        self.geometry = Simplex(len(self.constants) + len(self.hypotheses))
        if pool is not None:
            rows = self.encode(pool)
            self.separator = rows[greedy_cover(rows)]

    @property
    def models(self) -> tuple[Any, ...]:
        """What loading the class needs again: its hypotheses."""
        return self.hypotheses

    def encode(self, X: Any) -> NDArray[np.uint8]:
        """(people, N): what every hypothesis says of every person."""
        X = X if hasattr(X, "columns") else np.asarray(X)
        table = np.empty((len(X), self.size), dtype=np.uint8)
        table[:, : len(self.constants)] = self.constants
        for position, hypothesis in enumerate(self.hypotheses):
            table[:, len(self.constants) + position] = _answers(hypothesis, X, position)
        return table

    def losses(self, rows: Rows, s: Floats) -> Floats:
        """Σ_i s_i f(x_i) for every f, in blocks: the product turns the table's bytes into floats."""
        block = max(1, BLOCK_ENTRIES // self.size)
        if len(rows) <= block:
            return np.asarray(s @ rows)
        starts = range(0, len(rows), block)
        return np.asarray(sum(s[..., i : i + block] @ rows[i : i + block] for i in starts))

    def probability(self, weights: Floats, rows: Rows) -> Floats:
        """π(x) = Σ_f p_f f(x)."""
        return np.clip(rows @ weights, 0.0, 1.0)

    def predict_rows(self, rows: Rows) -> NDArray[np.uint8]:
        """(N, people)."""
        return rows.T

    def to_dict(self) -> dict[str, Any]:
        """Constants, and a fingerprint for each hypothesis."""
        prints = [fingerprint(hypothesis) for hypothesis in self.hypotheses]
        return {"class": "FiniteClass", "constants": list(self.constants), "models": prints}

    @classmethod
    def from_dict(cls, data: dict[str, Any], models: Sequence[Any]) -> FiniteClass:
        """Rebuild the class from its hypotheses."""
        check_models(models, data["models"])
        return cls(models, constants=data["constants"])


def _answers(hypothesis: Any, X: Any, position: int) -> NDArray[Any]:
    answers = np.asarray(hypothesis.predict(X) if hasattr(hypothesis, "predict") else hypothesis(X))
    if answers.shape != (len(X),) or not ((answers == 0) | (answers == 1)).all():
        raise InvalidParameter(
            f"`hypotheses[{position}]` must give 0 or 1 for each of {len(X)} people, "
            f"got shape {answers.shape} with values {np.unique(answers)[:5].tolist()}."
        )
    return answers


def distinct_on(rows: NDArray[Any]) -> tuple[int, int] | None:
    """Two hypotheses (columns) that agree on all the people; None if any two differ somewhere."""
    _, first, group = np.unique(rows, axis=1, return_index=True, return_inverse=True)
    twins = np.flatnonzero(first[group.ravel()] != np.arange(rows.shape[1]))
    return None if len(twins) == 0 else (int(first[group.ravel()[twins[0]]]), int(twins[0]))


def greedy_cover(rows: NDArray[Any]) -> NDArray[np.intp]:
    """Few people on which any two hypotheses differ, chosen greedily: each next one splits the most pairs.

    The greedy rule is within a factor 1 + 2 ln N of the smallest test cover.
    """
    twins = distinct_on(rows)
    if twins is not None:
        raise InvalidParameter(
            f"`pool` must tell any two hypotheses apart, got hypotheses {twins[0]} and {twins[1]} "
            "that agree on all of it; drop one of them or add people."
        )
    table = np.ascontiguousarray(rows.T, dtype=float)  # (N, people)
    group = np.zeros(len(table), dtype=np.intp)
    chosen: list[int] = []
    while group.max() < len(table) - 1:
        groups = np.eye(group.max() + 1)[group]
        ones = groups.T @ table
        chosen.append(int((ones * (groups.sum(axis=0)[:, None] - ones)).sum(axis=0).argmax()))
        group = np.unique(2 * group + table[:, chosen[-1]].astype(np.intp), return_inverse=True)[1]
    return np.array(chosen, dtype=np.intp)
