"""What every class of hypotheses with coordinates shares: blocks of perturbations, and reading people.

An *enumerable* class knows its weights' geometry and answers, vectorised, the four questions that learners ask:
predictions, π(x) for a weight vector, Σ_i s_i f(x_i) for all f at once, and the minimisers for E perturbations
at once. Subclasses supply ``encode``, ``losses``, ``probability`` and ``predict_rows``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidParameter, require
from likewise.hypotheses.geometry import Cube, Geometry
from likewise.protocol import Floats, Key, Round, Rows
from likewise.reduction import base_error, signed_weights
from likewise.theory import ROUNDING

BLOCK_ENTRIES = 4_000_000
"""Perturbed losses are minimised in blocks of about this many numbers (32 MB)."""
LISTABLE = 2**20
"""Classes larger than this are not written out hypothesis by hypothesis."""
Costs: TypeAlias = tuple[float, float]
"""What a false positive and a false negative cost."""


class EnumerableClass(ABC):
    """A class of hypotheses whose losses can all be computed at once."""

    geometry: Geometry
    constants: tuple[int, ...] = (0, 1)
    separator: Rows | None = None
    """Encoded people on which any two hypotheses differ somewhere; None where none is known."""

    @property
    def size(self) -> int:
        """|F|, exactly."""
        return 2**self.geometry.dim if isinstance(self.geometry, Cube) else self.geometry.dim

    @property
    def log_size(self) -> float:
        """ln |F|."""
        return self.geometry.log_size

    @abstractmethod
    def encode(self, X: Any) -> Rows:
        """People turned into what this class needs."""

    @abstractmethod
    def losses(self, rows: Rows, s: Floats) -> Floats:
        """Coordinates of Σ_i s_i f(x_i): shape (dim,), or (E, dim) for ``s`` of shape (E, people)."""

    @abstractmethod
    def probability(self, weights: Floats, rows: Rows) -> Floats:
        """π(x) of the policy with these weights, at encoded people."""

    @abstractmethod
    def predict_rows(self, rows: Rows) -> NDArray[np.uint8]:
        """The (N, people) matrix of f(x), 0 or 1, at encoded people."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The class as plain JSON values, models by fingerprint."""

    def constant(self, value: int) -> Floats:
        """The weights of a constant hypothesis; listed classes put their constants first."""
        require(value in self.constants, "value", f"be one of the class's constants {self.constants}", value)
        if isinstance(self.geometry, Cube):
            return np.full(self.geometry.dim, float(value))
        return np.eye(1, self.geometry.dim, self.constants.index(value)).ravel()

    def added(self, losses: Floats, rows: Rows, s: Floats) -> Floats:
        """losses + Σ_i s_i f(x_i)."""
        return losses + self.losses(rows, s)

    def log_updated(self, log_weights: Floats, round: Round, C: float, costs: Costs, rate: float) -> Floats:
        """log p_f + ln(1 − rate · m_f), m_f = Err(f, R_C(z)) of the round: the paper's update."""
        rows, y, _ = round.batch
        s = signed_weights(y, round.reports, C, costs)
        return log_weights + np.log1p(-rate * (base_error(y, costs) + C + self.losses(rows, s)))

    def adahedge(
        self, weights: Floats, losses: Floats, delta: float, round: Round, C: float, costs: Costs, least: float
    ) -> tuple[Floats, Floats, float]:
        """One step of AdaHedge: Δ grows by the round's mix gap, or to ``least``; then the new losses and weights."""
        s = signed_weights(round.batch.y, round.reports, C, costs)
        lost = self.losses(round.batch.rows, s)
        if self.log_size > 0:
            eta = self.log_size / delta if delta > 0 else math.inf
            delta = max(delta + self._mix_gap(weights, losses, lost, s, round.probabilities, eta), least)
        losses = losses + lost
        return losses, self.adahedge_weights(losses, delta), delta

    def adahedge_weights(self, losses: Floats, delta: float) -> Floats:
        """p ∝ exp(−(ln N/Δ) L); while Δ = 0 everything is tied and the leaders share the weight."""
        if delta > 0:
            return self.geometry.gibbs(losses, self.log_size / delta)
        return self.geometry.leaders(losses)

    def mix_gap(
        self, weights: Floats, losses: Floats, rows: Rows, s: Floats, probabilities: Floats, eta: float
    ) -> float:
        """δ ≥ 0: p·ℓ less the mix loss of the round, 0 where it is only rounding.

        ``losses`` are the cumulative ones before the round; p·ℓ = Σ_i s_i π(x_i) is read off the probabilities.
        """
        return self._mix_gap(weights, losses, self.losses(rows, s), s, probabilities, eta)

    def _mix_gap(
        self, weights: Floats, losses: Floats, lost: Floats, s: Floats, probabilities: Floats, eta: float
    ) -> float:
        """As ``mix_gap``, for a round whose losses are known."""
        gap = self.geometry.mix_gap(weights, losses, lost, float(s @ probabilities), eta)
        return gap if gap > ROUNDING * float(np.abs(s).sum()) else 0.0

    def predict(self, X: Any) -> NDArray[np.uint8]:
        """The (N, people) matrix of f(x), 0 or 1."""
        return self.predict_rows(self.encode(X))

    def minimisers(self, losses: Floats, rows: Rows, s: Floats) -> NDArray[Any]:
        """The minimisers of losses + Σ_i s_ei f(x_i), for E perturbations at once.

        Returns hypothesis indices (E,) for listed classes and labellings (E, m) for cells.
        """
        block = max(1, BLOCK_ENTRIES // (self.geometry.dim + s.shape[1]))
        parts = [
            self.geometry.minimisers(self.losses(rows, s[start : start + block]) + losses)
            for start in range(0, len(s), block)
        ]
        return np.concatenate(parts)

    def perturbed_leaders(
        self, losses: Floats, scale: float, E: int, key: Key, padding: float, threads: int | None = None
    ) -> NDArray[Any]:
        """Minimisers of losses + scale · Σ_{x ∈ S} ξ_x f(x), S the class's separator, for E draws of Laplace noise ξ.

        ``padding`` is how many more Laplace variables the first person of S bears.
        """
        points = self.separator
        if points is None:
            raise InvalidParameter(f"`separator` must be there to perturb leaders, got none in {type(self).__name__}.")
        return self.minimisers(losses, points, scale * laplace_noise(key, E, len(points), padding))

    def require_listable(self) -> None:
        """Refuse to write out a class that is too large to list."""
        if self.size > LISTABLE:
            raise InvalidParameter(
                f"This class holds 2^{self.size.bit_length() - 1} hypotheses or more and is never listed; "
                f"`predict` lists at most {LISTABLE}."
            )


def laplace_noise(key: Key, E: int, n: int, padding: float) -> Floats:
    """(E, n) independent Laplace variables, with a sum of ``padding`` more on the first of each row."""
    noise = key.generator().laplace(size=(E, n))
    if padding > 0:
        rng = key.stream(1)
        # A Laplace variable is √(2 · exponential) · normal, so a sum of them is √(2 · Gamma) · normal.
        noise[:, 0] += np.sqrt(2 * rng.gamma(padding, size=E)) * rng.standard_normal(E)
    return noise


def binned_sums(bins: NDArray[np.intp], s: Floats, size: int) -> Floats:
    """Σ of s over the people in each bin, for people that sit in several bins each.

    ``bins`` is (people, bins of a person); ``s`` is (people,) or (E, people). Cost: the entries of both, never
    people × size.
    """
    if s.ndim == 1:
        return np.asarray(np.bincount(bins.ravel(), np.repeat(s, bins.shape[1]), size), dtype=float)
    from scipy.sparse import csr_array

    starts = np.arange(0, bins.size + 1, bins.shape[1])
    membership = csr_array((np.ones(bins.size), bins.ravel(), starts), shape=(len(bins), size))
    return np.asarray(s @ membership)


def columns_of(X: Any, names: list[Any] | None = None) -> tuple[Floats, list[Any]]:
    """Numeric columns of an array or dataframe, and their names (positions for an array).

    With ``names``, columns are picked by name from a dataframe, or all taken in order from an array.
    """
    found = list(getattr(X, "columns", []))
    require(len(set(found)) == len(found), "X", "have columns of different names", found)
    if found and names is not None:
        missing = [name for name in names if name not in found]
        require(not missing, "X", f"have the columns {names}", f"none of the name {missing}")
        X = X[names]
        found = names
    try:
        values = np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"`X` must hold numbers only, got {error}; encode categories first.") from None
    require(values.ndim == 2, "X", "have two axes (people, features)", f"shape {values.shape}")
    if np.isnan(values).any():
        column = int(np.isnan(values).any(axis=0).argmax())
        raise InvalidParameter(f"`X` must have no missing values, got NaN in column {column}.")
    labels = found or list(range(values.shape[1]))
    if names is not None:
        require(len(labels) == len(names), "X", f"have {len(names)} columns", f"{len(labels)}")
    return values, labels


def quantile_cuts(values: Floats, cuts: int) -> Floats:
    """Up to ``cuts`` distinct observed values that split a column into parts of about equal weight.

    The smallest value is left out: 1[x >= smallest] is the constant 1 on this column.

    Examples
    --------
    >>> quantile_cuts(np.array([0.0, 1.0, 2.0, 3.0]), 3).tolist()
    [1.0, 2.0, 3.0]
    >>> quantile_cuts(np.array([5.0, 5.0, 5.0]), 3).tolist()
    []
    """
    require(len(values) > 0, "X", "hold at least one person", f"{len(values)} of them")
    levels = np.arange(1, cuts + 1) / (cuts + 1)
    picked = np.unique(np.quantile(values, levels, method="higher"))
    return np.asarray(picked[picked > values.min()])
