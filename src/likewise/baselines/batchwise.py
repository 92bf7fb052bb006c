"""Dwork et al.'s linear program on each batch: the least expected error, with any two people of it within d + α.

    min Σ_i E|p_i − y_i|   such that   p_i − p_j ≤ d(x_i, x_j) + α   for every ordered pair of the batch

How likely each label is comes from a regression on what the class's hypotheses say (``Merit``). Nothing ties people of
different batches to each other, unless ``floor`` does: Gupta and Kamble (2019) let nobody get less than what everybody
decided before implies, and are therefore cautious: they go by the lower end of each interval.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise.auditors import as_points
from likewise.baselines.base import Baseline
from likewise.baselines.distances import Source
from likewise.baselines.merit import Merit
from likewise.baselines.programs import ROOM, Program
from likewise.errors import NotSupported, require, require_number
from likewise.policies import DeployablePolicy
from likewise.protocol import Batch, Floats, Key, Round, Rows

CHUNK = 48
"""People decided before who are compared with a batch at once."""


class BatchwiseState(NamedTuple):
    """The regression of labels, the memory of the distance, and, for floors, everybody whose decision binds others."""

    rounds: int
    reports: int
    people: int
    inverse: Floats
    moments: Floats
    memory: Floats
    views: Floats
    given: Floats


@dataclass(frozen=True)
class Batchwise(Baseline):
    """The best fair decisions for each batch by itself, by linear program.

    With ``floor`` its state keeps everybody who got more than α, so it grows, and so does the cost of a round.

    Parameters
    ----------
    distance
        ``Known(d)``, ``Submetric(d, representatives=8)`` or ``Learned(form)``.
    floor
        Give nobody less than p' − d − α of anybody who got p' in an earlier round.

    Examples
    --------
    >>> import likewise as lw
    >>> b = lw.baselines
    >>> learner = b.Batchwise(lw.Thresholds([[0.5]]), alpha=0.1, distance=b.Known("cityblock"))
    >>> X, y = np.array([[0.0], [0.2], [0.8]]), np.array([0, 0, 1])
    >>> t = lw.play(learner, lw.IID(X, y, k=3), lw.MetricAuditor("cityblock", alpha=0.1), T=20)
    >>> learner.told, int(t.violations.sum()), learner.bound(0.1)
    ('the distance', 0, None)
    """

    _: KW_ONLY
    distance: Source
    floor: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number(self.alpha, "alpha", 0, 1)
        fits = callable(getattr(self.distance, "between", None))
        require(fits, "distance", "be Known(d), Submetric(d) or Learned()", type(self.distance).__name__)

    @property
    def knows(self) -> str:
        """As much as its distance does."""
        return self.distance.knows

    @property
    def told(self) -> str:
        """The same."""
        return self.knows

    def answers(self, state: BatchwiseState) -> int | None:
        """As many as its distance needs."""
        return self.distance.answers(state.rounds, state.people)

    def parameters(self) -> dict[str, Any]:
        """Every parameter; a distance by name."""
        own = {name: _plain(value) for name, value in vars(self.distance).items()}
        return super().parameters() | {"distance": {"name": type(self.distance).__name__} | own}

    def init(self) -> BatchwiseState:
        """Nobody seen yet."""
        return BatchwiseState(0, 0, 0, *Merit.of(self.hypotheses), np.empty(0), np.empty(0), np.empty(0))

    def act(self, state: BatchwiseState, key: Key) -> FairBatch:
        """The program, ready for whoever comes."""
        return FairBatch(self, state)

    def update(self, state: BatchwiseState, round: Round) -> BatchwiseState:
        """Learn from labels, and from reports if the distance does; remember whose decisions bind others."""
        batch, views, given = round.batch, state.views, state.given
        merit = Merit(state.inverse, state.moments).after(self.hypotheses, batch.rows, batch.y)
        memory = self.distance.after(state.memory, round, self.level)
        if self.floor:
            binds = round.probabilities > self.level  # d ≥ 0, so others get no floor from the rest
            views = np.concatenate([views, as_points(batch.view)[binds].ravel()])
            given = np.concatenate([given, round.probabilities[binds]])
        counts = (state.rounds + 1, state.reports + bool(round.reports), state.people + len(batch.y))
        return BatchwiseState(*counts, *merit, memory, views, given)


class FairBatch(DeployablePolicy):
    """The program on a batch. People who look the same in every way get the same."""

    compares_a_batch = True

    def __init__(self, learner: Batchwise, state: BatchwiseState) -> None:
        self.learner, self.state, self.hypotheses = learner, state, learner.hypotheses

    def at(self, rows: Rows) -> Floats:
        """Refused: whom a person may be compared with is not in their row."""
        raise NotSupported("This policy compares the people of a batch; ask `on(batch)` instead of `at(rows)`.")

    def on(self, batch: Batch) -> Floats:
        """The least expected error on these people that is fair to every pair of them."""
        kinds, first, count = _kinds(batch)
        rows, view = batch.rows[first], _take(batch.view, first)
        q, (false_positive, false_negative) = self._merit(rows), self.learner.costs
        program = Program(count * (false_positive * (1.0 - q) - false_negative * q), low=self._floors(view))
        allowed = self._between(view) + self.learner.level
        high, low = np.nonzero((allowed < 1.0 + ROOM) & ~np.eye(len(q), dtype=bool))
        if len(high):
            signs = np.eye(len(q))
            program.add(signs[high] - signs[low], allowed[high, low])
        return np.asarray(program.solve()[kinds])

    def _merit(self, rows: Rows) -> Floats:
        """How likely each label is; with floors, the lower end of its interval: what is given can't be taken back."""
        q, spread = Merit(self.state.inverse, self.state.moments).estimates(self.hypotheses, rows)
        return np.maximum(0.0, q - spread) if self.learner.floor else q

    def _between(self, view: Any) -> Floats:
        return self.learner.distance.between(self.state.memory, view)

    def _floors(self, view: Any) -> Floats:
        """The least that each person may get, by what others got before: max over them of p' − d − α."""
        floors, given = np.zeros(len(view)), self.state.given
        if not self.learner.floor or len(given) == 0:
            return floors
        people = as_points(view)
        before = self.state.views.reshape(len(given), -1)
        for start in range(0, len(given), CHUNK):
            some = slice(start, start + CHUNK)
            chunk = before[some]
            apart = self._between(np.concatenate([chunk, people]))[: len(chunk), len(chunk) :]
            floors = np.maximum(floors, (given[some, None] - apart).max(axis=0) - self.learner.level)
        return np.asarray(np.minimum(1.0, np.where(floors > 0, floors + ROOM, 0.0)))


def _kinds(batch: Batch) -> tuple[Any, Any, Any]:
    """People who look the same share a variable, and the order of people doesn't matter."""
    looks = np.concatenate([batch.rows.reshape(len(batch.y), -1), as_points(batch.view)], axis=1)
    _, first, kinds, count = np.unique(looks, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return kinds.ravel(), first, count


def _take(view: Any, positions: Any) -> Any:
    return view.iloc[positions] if hasattr(view, "iloc") else np.asarray(view)[positions]


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float)) else getattr(value, "__name__", type(value).__name__)
