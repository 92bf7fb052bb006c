"""What every class of hypotheses with coordinates shares: blocks of perturbations, and reading people.

An *enumerable* class knows its weights' geometry and answers, vectorised, what learners ask; it knows no learner:

    predict_rows(rows)            f(x) for every f
    probability(p, rows)          π(x) for a weight vector p
    losses(rows, s)               Σ_i s_i f(x_i) for every f at once
    added(L, rows, s)             L + Σ_i s_i f(x_i)
    mix_gap(p, before, after, …)  what p loses in a round beyond the mix loss
    shrunk(log w, rows, s, …)     log weights, each w_f multiplied by 1 − rate (base + Σ_i s_i f(x_i))
    minimisers(L, rows, s)        the minimisers of E perturbations at once
    contrast(rows)                f(x1) − f(x2) for every f, in the form in which the class keeps a reported pair
    tilted(L, contrast, amount)   L + amount · (f(x1) − f(x2))
    prices(L, …)                  the prices of the pairs that are kept

Subclasses supply ``encode``, ``losses``, ``probability`` and ``predict_rows``. The others follow from these; a class
that knows a faster way has its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import kernels
from likewise.displays import facts_html, short, some
from likewise.errors import InvalidParameter, require
from likewise.hypotheses.geometry import Cube, Geometry
from likewise.protocol import Floats, Key, Rows
from likewise.theory import ROUNDING
from likewise.wording import plural

BLOCK_ENTRIES = 4_000_000
"""Perturbed losses are minimised in blocks of about this many numbers (32 MB)."""
LISTABLE = 2**20
"""Classes larger than this are not written out hypothesis by hypothesis."""


UNIFORM: Floats = np.empty(0)
"""The offset of a uniform prior: there is none."""


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
    def size_described(self) -> str:
        """|F| in words, a power of two where it is too long to read."""
        large = isinstance(self.geometry, Cube) and self.geometry.dim > 20
        return f"2^{self.geometry.dim} hypotheses" if large else plural(self.size, "hypothesis", "hypotheses")

    def __repr__(self) -> str:
        return short(type(self).__name__, self.size_described, self._columns_described)

    @property
    def _columns_described(self) -> str:
        """What the hypotheses look at, in a few words."""
        names = getattr(self, "names", ())
        return f"on {plural(len(names), 'column')}: {some(names)}" if len(names) else ""

    def _repr_html_(self) -> str:
        return facts_html(
            type(self).__name__, [("hypotheses", self.size_described), ("people", self._columns_described)]
        )

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
        """δ = p·ℓ − (φ_η(after) − φ_η(before)) ≥ 0: the loss of a round less its mix loss; 0 if it is only rounding.

        ``before`` and ``after`` are the cumulative losses around the round and ``weights`` is p ∝ w exp(−η before).
        p·ℓ = Σ_i s_i π(x_i) is read off the probabilities. ``offset`` is that of the prior w; empty if it is uniform.
        """
        energy = self.geometry.free_energy
        if len(offset) and not math.isinf(eta):
            before, after = before - offset / eta, after - offset / eta
        return beyond_rounding(float(s @ probabilities) - (energy(after, eta) - energy(before, eta)), s)

    def contrast(self, rows: Rows) -> NDArray[np.integer]:
        """D(f) = f(x1) − f(x2) of two people, favoured first; pairs that every f treats alike have equal contrasts.

        A listed class keeps one number per hypothesis, cells the two cells that differ.
        """
        difference = self.losses(rows, np.array([1.0, -1.0]))
        if isinstance(self.geometry, Cube):
            return np.array([difference.argmax(), difference.argmin()], dtype=np.intp)
        return difference.astype(np.int8)

    @property
    def no_contrasts(self) -> NDArray[np.integer]:
        """An empty table of contrasts."""
        if isinstance(self.geometry, Cube):
            return np.empty((0, 2), dtype=np.intp)
        return np.empty((0, self.geometry.dim), dtype=np.int8)

    def tilted(self, losses: Floats, contrast: NDArray[np.integer], amount: float) -> Floats:
        """losses + amount · D."""
        if not isinstance(self.geometry, Cube):
            return losses + amount * contrast
        change = np.zeros(len(losses))
        np.add.at(change, contrast, [amount, -amount])
        return losses + change

    def prices(
        self,
        losses: Floats,
        weights: Floats,
        prior: Floats,
        eta: float,
        ground: float,
        contrasts: NDArray[np.integer],
        terms: Floats,
        fresh: int,
        sweeps: int,
        tolerance: float,
    ) -> float:
        """Set the prices of kept pairs over a listed class: losses, weights and terms change in place; returns low."""
        rest = (contrasts, terms, fresh, sweeps, tolerance)
        return float(kernels.listed_prices(losses, weights, prior, eta, ground, *rest))

    def shrunk(self, log_weights: Floats, rows: Rows, s: Floats, base: float, rate: float) -> Floats:
        """log w_f + ln(1 − rate (base + Σ_i s_i f(x_i))): every weight shrinks with the hypothesis's loss."""
        return log_weights + np.log1p(-rate * (base + self.losses(rows, s)))

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
            raise InvalidParameter(f"`separator` must be known to perturb leaders, got none in {type(self).__name__}.")
        return self.minimisers(losses, points, scale * laplace_noise(key, E, len(points), padding))

    def require_listable(self) -> None:
        """Refuse to write out a class that is too large to list."""
        if self.size > LISTABLE:
            raise InvalidParameter(
                f"This class holds 2^{self.size.bit_length() - 1} hypotheses or more and is never listed; "
                f"`predict` lists at most {LISTABLE}."
            )


def beyond_rounding(gap: float, s: Floats) -> float:
    """A mix gap, or 0 where it is no more than rounding of the round's weight."""
    return gap if gap > ROUNDING * float(np.abs(s).sum()) else 0.0


def laplace_noise(key: Key, E: int, n: int, padding: float) -> Floats:
    """(E, n) independent Laplace variables, with a sum of ``padding`` more on the first of each row."""
    noise = key.generator().laplace(size=(E, n))
    if padding > 0:
        rng = key.stream(1)
        # A Laplace variable is √(2 · exponential) · normal, so a sum of them is √(2 · Gamma) · normal.
        noise[:, 0] += np.sqrt(2 * rng.gamma(padding, size=E)) * rng.standard_normal(E)
    return noise


FEW_ROWS = 8
"""Up to so many rows are summed one by one, in the same order, without SciPy."""


def binned_sums(bins: NDArray[np.intp], s: Floats, size: int) -> Floats:
    """Σ of s over the people in each bin, for people that sit in several bins each.

    ``bins`` is (people, bins of a person); ``s`` is (people,) or (E, people). Cost: the entries of both, never
    people × size.
    """
    if s.ndim == 1:
        return np.asarray(np.bincount(bins.ravel(), np.repeat(s, bins.shape[1]), size), dtype=float)
    if len(s) <= FEW_ROWS:
        return np.array([binned_sums(bins, row, size) for row in s]).reshape(len(s), size)
    from scipy.sparse import csr_array  # takes longer to load than a certificate to compute

    starts = np.arange(0, bins.size + 1, bins.shape[1])
    membership = csr_array((np.ones(bins.size), bins.ravel(), starts), shape=(len(bins), size))
    return np.asarray(s @ membership)


def columns_of(X: Any, names: list[Any] | None = None) -> tuple[Floats, list[Any]]:
    """Numeric columns of an array or dataframe, and their names (positions for an array).

    With ``names``, columns are picked by name from a dataframe, or all taken in order from an array.
    """
    columns = list(getattr(X, "columns", []))
    require(len(set(columns)) == len(columns), "X", "have columns of different names", columns)
    if columns and names is not None:
        missing = [name for name in names if name not in columns]
        if missing:
            raise InvalidParameter(f"`X` must have the columns {names}, got no {missing}.")
        X = X[names]
        columns = names
    try:
        values = np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"`X` must hold numbers only, got {error}; encode categories first.") from None
    require(values.ndim == 2, "X", "have two axes (people, features)", f"shape {values.shape}")
    if np.isnan(values).any():
        column = int(np.isnan(values).any(axis=0).argmax())
        raise InvalidParameter(f"`X` must have no missing values, got NaN in column {column}.")
    labels = columns or list(range(values.shape[1]))
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
