"""Cut-offs: 1[x_j >= c] and 1[x_j < c] for every column j and cut c, and both constants.

A column is a feature, or the score of a fitted model: "our models × our cut-offs". A person is encoded as the
number of cuts at or below their value in each column. Hypotheses are nested along a column, so one pass of
suffix sums over its cuts gives Σ_i s_i f(x_i) for all of them, and one of prefix sums gives π: the cost of a
round is people × columns + N, never people × N.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import kernels
from likewise.displays import some
from likewise.errors import InvalidParameter, require, require_whole
from likewise.hypotheses.base import UNIFORM, EnumerableClass, binned_sums, columns_of, quantile_cuts
from likewise.hypotheses.fingerprint import check_models, fingerprint
from likewise.hypotheses.geometry import Simplex
from likewise.hypotheses.model_files import named
from likewise.hypotheses.room import room
from likewise.protocol import Floats, Key, Rows
from likewise.wording import plural

BUSY = 400_000
"""From this many random numbers a round on, threads pay off."""
FEW = 64
"""A batch of up to this many people goes through the compiled loops, which sort it by insertion."""


class Thresholds(EnumerableClass):
    """All cut-offs on some columns, in both directions, with both constants.

    The order of hypotheses is: the constant 0, the constant 1, 1[x_j >= c] by column and cut, then 1[x_j < c].

    Parameters
    ----------
    cuts
        One ascending array of cuts per column.
    names
        The columns' names in a dataframe; positions by default.
    models
        Fitted models whose scores are the columns; None when the columns are features.

    Examples
    --------
    >>> F = Thresholds([[0.5, 1.5]])
    >>> F.size, F.predict(np.array([[0.0], [1.0], [2.0]])).tolist()
    (6, [[0, 0, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1], [1, 0, 0], [1, 1, 0]])
    """

    def __init__(
        self,
        cuts: Sequence[Any],
        *,
        names: Sequence[Any] | None = None,
        models: Sequence[Any] | None = None,
    ) -> None:
        self.cuts = tuple(np.asarray(column, dtype=float) for column in cuts)
        columns = all(column.ndim == 1 for column in self.cuts)
        require(columns, "cuts", "hold one list of cuts per column", cuts)
        self.models = None if models is None else tuple(models)
        self.names = list(range(len(self.cuts))) if names is None else list(names)
        require(len(self.cuts) > 0, "cuts", "hold at least one column", list(cuts))
        require(len(self.names) == len(self.cuts), "names", f"name {len(self.cuts)} columns", self.names)
        for name, column in zip(self.names, self.cuts, strict=True):
            ascending = bool(np.isfinite(column).all() and (np.diff(column) > 0).all())
            require(ascending, "cuts", "be finite and strictly ascending in each column", f"column {name!r}")
        counts = np.array([len(column) for column in self.cuts])
        # Columns are padded to the same number of cuts, so that a round is a few whole-array operations.
        self._width = int(counts.max()) + 1
        self._real = np.flatnonzero((np.arange(self._width - 1) < counts[:, None]).ravel())
        self._shift = np.arange(len(counts)) * self._width
        self.first = np.concatenate([[0], np.cumsum(counts)])
        """Where each column's cuts start, counted through all columns: the layout that the kernels know."""
        self.geometry = Simplex(2 + 2 * int(counts.sum()))
        self.separator = self._staircase(counts)

    @classmethod
    def quantiles(cls, X: Any, cuts: int = 16) -> Thresholds:
        """Up to ``cuts`` cuts per feature, at the quantiles of ``X``."""
        require_whole(cuts, "cuts")
        values, names = columns_of(X)
        return cls([quantile_cuts(column, cuts) for column in values.T], names=names)

    @classmethod
    def scores(cls, models: Sequence[Any], X: Any, cuts: int = 32) -> Thresholds:
        """Up to ``cuts`` cuts per model, at the quantiles of its scores on ``X``."""
        listed = isinstance(models, Sequence) and len(models) > 0
        require(listed, "models", "be a list of at least one fitted model", type(models).__name__)
        require_whole(cuts, "cuts")
        columns = [quantile_cuts(score(model, X), cuts) for model in models]
        return cls(columns, names=[named(model) for model in models], models=models)

    def encode(self, X: Any) -> NDArray[np.int32]:
        """(people, columns): how many cuts each person has passed."""
        values = columns_of(X, self.names)[0] if self.models is None else self.score_columns(X)
        rows = np.empty(values.shape, dtype=np.int32)
        for j, cuts in enumerate(self.cuts):
            rows[:, j] = np.searchsorted(cuts, values[:, j], side="right")
        return rows

    def score_columns(self, X: Any) -> Floats:
        """(people, models): the models' scores; models of one ``family`` share their work."""
        models = self.models or ()
        families = [getattr(model, "family", model) for model in models]
        columns = np.empty((len(X), len(models)))
        for family in {id(family): family for family in families}.values():
            members = [j for j, other in enumerate(families) if other is family]
            together = models[members[0]] is not family
            columns[:, members] = (
                family.scores([models[j] for j in members], X) if together else score(family, X)[:, None]
            )
        return columns

    @property
    def _columns_described(self) -> str:
        what = "column" if self.models is None else "model's score" if len(self.models) == 1 else "models' score"
        return f"cut-offs on {plural(len(self.cuts), what)}: {some(self.names)}"

    def compiled(self) -> NDArray[np.intp] | None:
        """The layout of the cuts, as the kernels know it; None where the weights of a column are added up by people.

        A compiled play adds them up cut by cut, which gives other last bits. So large a class gains nothing by it.
        """
        return None if int(np.diff(self.first).max()) > kernels.LONG else self.first

    def added(self, losses: Floats, rows: Rows, s: Floats) -> Floats:
        """losses + Σ_i s_i f(x_i), in one pass."""
        if len(rows) > FEW:
            return super().added(losses, rows, s)
        after = room(len(losses))
        kernels.threshold_added(losses, rows, s, self.first, after)
        return after

    def shrunk(self, log_weights: Floats, rows: Rows, s: Floats, base: float, rate: float) -> Floats:
        """log w_f + ln(1 − rate (base + Σ_i s_i f(x_i))), with one logarithm per step between the people."""
        if len(rows) > FEW:
            return super().shrunk(log_weights, rows, s, base, rate)
        after = room(len(log_weights))
        kernels.threshold_shrunk(log_weights, rows, s, base, rate, self.first, after)
        return after

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
        """δ, with one exponential per step between the people."""
        if len(rows) > FEW:
            return super().mix_gap(weights, before, after, rows, s, probabilities, eta, offset)
        gap: float = kernels.threshold_mix_gap(weights, before, rows, s, probabilities, eta, self.first, offset)
        return gap

    def contrast(self, rows: Rows) -> NDArray[np.uint32]:
        """Where either person stands among the cuts, first one person and then the other; 0 cuts where both agree.

        Places are counted through all columns, each of which has one more than cuts: the layout that the kernels know.
        """
        places = self.first[:-1] + np.arange(len(self.cuts))
        return (places + np.where(rows[0] == rows[1], 0, rows)).astype(np.uint32).ravel()

    @property
    def no_contrasts(self) -> NDArray[np.uint32]:
        """An empty table of contrasts."""
        return np.empty((0, 2 * len(self.cuts)), dtype=np.uint32)

    def tilted(self, losses: Floats, contrast: NDArray[np.integer], amount: float) -> Floats:
        """losses + amount · D."""
        losses = losses.copy()
        kernels.threshold_tilted(contrast[None], 0, self.first, losses, amount)
        return losses

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
        """Set the prices of kept pairs: the gap of each is a few sums along the cuts."""
        rest = (contrasts, terms, fresh, sweeps, tolerance, self.first)
        return float(kernels.threshold_prices(losses, weights, prior, eta, ground, *rest))

    def perturbed_leaders(
        self, losses: Floats, scale: float, E: int, key: Key, padding: float, threads: int | None = None
    ) -> NDArray[np.intp]:
        """Minimisers of E draws of Laplace noise on the class's own separator, compiled and on several threads.

        The noise is in single precision: hypotheses whose perturbed losses are within 10^−5 noise scales of each other
        may change places.
        """
        leaders, lanes = np.empty(E, dtype=np.intp), kernels.LANES
        threads = (os.cpu_count() or 1) if threads is None else threads
        if E * len(self._real) < BUSY:
            threads = 1
        width = lanes * math.ceil(E / threads / lanes)

        def draw(start: int) -> None:
            kernels.threshold_perturbed_leaders(
                losses, scale, np.uint64(key.seed), key.t, padding, self.first, start, leaders[start : start + width]
            )

        futures = [_pool(threads).submit(draw, start) for start in range(width, E, width)]
        draw(0)  # this thread does its share: it would only wait
        for future in futures:
            future.result()
        return leaders

    def losses(self, rows: Rows, s: Floats) -> Floats:
        """Σ_i s_i f(x_i) for every f, by suffix sums along the cuts."""
        columns = len(self.cuts)
        sums = binned_sums(rows + self._shift, s, columns * self._width)
        shape = (*s.shape[:-1], columns, self._width)
        passed = sums.reshape(shape)[..., :0:-1].cumsum(axis=-1)[..., ::-1]
        above = passed.reshape(*s.shape[:-1], -1)[..., self._real]
        total = s.sum(axis=-1, keepdims=True)
        return np.concatenate([np.zeros_like(total), total, above, total - above], axis=-1)

    def probability(self, weights: Floats, rows: Rows) -> Floats:
        """π(x), by prefix sums of the weights along the cuts."""
        if len(rows) <= FEW:
            probabilities = np.empty(len(rows))
            kernels.threshold_probability(weights, rows, self.first, probabilities)
            return probabilities
        half = len(self._real)
        step = np.zeros((2, len(self.cuts) * (self._width - 1)))
        step[:, self._real] = weights[2:].reshape(2, half)
        # Passing a cut gains the weight of 1[x >= c] and loses that of 1[x < c].
        gained = (step[0] - step[1]).reshape(len(self.cuts), -1).cumsum(axis=1)
        steps = np.concatenate([np.zeros((len(self.cuts), 1)), gained], axis=1).ravel()
        start = weights[1] + weights[2 + half :].sum()
        return np.asarray(np.clip(start + steps[rows + self._shift].sum(axis=1), 0.0, 1.0))

    def predict_rows(self, rows: Rows) -> NDArray[np.uint8]:
        """(N, people)."""
        self.require_listable()
        passed = [rows[:, j] > cut for j, column in enumerate(self.cuts) for cut in range(len(column))]
        above = np.array(passed, dtype=np.uint8).reshape(len(passed), len(rows))
        zero = np.zeros((1, len(rows)), dtype=np.uint8)
        return np.concatenate([zero, 1 - zero, above, 1 - above])

    def describe(self, hypothesis: int) -> str:
        """A hypothesis in words.

        Examples
        --------
        >>> Thresholds([[0.5]], names=["income"]).describe(3)
        'income < 0.5'
        """
        if hypothesis < 2:
            return f"always {hypothesis}"
        half = len(self._real)
        below, position = divmod(hypothesis - 2, half)
        column, cut = divmod(int(self._real[position]), self._width - 1)
        return f"{self.names[column]} {'<' if below else '>='} {self.cuts[column][cut]:g}"

    def to_dict(self) -> dict[str, Any]:
        """Names and cuts, and a fingerprint for each model."""
        return {
            "class": "Thresholds",
            "names": [str(name) if not isinstance(name, int) else name for name in self.names],
            "cuts": [column.tolist() for column in self.cuts],
            "models": None if self.models is None else [fingerprint(model) for model in self.models],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], models: Sequence[Any]) -> Thresholds:
        """Rebuild the class; one on scores needs its models."""
        if data["models"] is None:
            return cls(data["cuts"], names=data["names"])
        check_models(models, data["models"])
        return cls(data["cuts"], names=data["names"], models=models)

    def _staircase(self, counts: NDArray[np.intp]) -> NDArray[np.int32]:
        """1 + Σ cuts people: one below every cut, then one column raised step by step.

        1[x_j >= c_i] first says 1 at step i + 1 of column j, so no two hypotheses agree on all of them.
        """
        rows = np.zeros((1 + int(counts.sum()), len(counts)), dtype=np.int32)
        column = np.repeat(np.arange(len(counts)), counts)
        rows[np.arange(1, len(rows)), column] = np.concatenate([np.arange(1, c + 1) for c in counts])
        return rows


def score(model: Any, X: Any) -> Floats:
    """A model's score of each person: probability of 1, decision value, prediction, or the callable's number."""
    if hasattr(model, "predict_proba"):
        table = np.asarray(model.predict_proba(X))
        require(table.ndim == 2 and table.shape[1] == 2, "models", "know two classes, 0 and 1", f"shape {table.shape}")
        values = table[:, 1]
    elif hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X))
    elif hasattr(model, "inplace_predict"):  # XGBoost's booster, whose `predict` takes no plain people
        values = np.asarray(model.inplace_predict(X))
    else:
        values = np.asarray(model.predict(X) if hasattr(model, "predict") else model(X))
    values = values.astype(float)
    if values.shape != (len(X),) or np.isnan(values).any():
        raise InvalidParameter(
            f"`models` must give one number for each of {len(X)} people, "
            f"got shape {values.shape} from {type(model).__name__}{' with NaN' if np.isnan(values).any() else ''}."
        )
    return values


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)
