"""A policy that never changes, played as if it were learned: to have it reviewed, not to learn."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from likewise.errors import require
from likewise.hypotheses import Thresholds, enumerable
from likewise.learners.base import BaseLearner
from likewise.learners.weights import Losses
from likewise.policies import Mixture
from likewise.protocol import Floats, Key, Round


@dataclass(frozen=True)
class FixedPolicy(BaseLearner):
    """Plays one mixture in every round. Losses are counted, so that its regret can be seen; nothing follows from them.

    Parameters
    ----------
    weights
        Of the mixture.

    Examples
    --------
    >>> F = Thresholds([[0.25, 0.5, 0.75, 1.0]], names=["score"])
    >>> learner = FixedPolicy(F, weights=tuple(score_as_it_is(F)))
    >>> learner.act(learner.init(), None).probability([[0.1], [0.6], [1.0]]).tolist()
    [0.0, 0.5, 1.0]
    """

    _: KW_ONLY
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        enumerable(self.hypotheses, "FixedPolicy")
        dim = self.hypotheses.geometry.dim
        require(len(self.weights) == dim, "weights", f"have {dim} entries", len(self.weights))

    def init(self) -> Losses:
        """No losses yet."""
        return Losses(0, 0, np.zeros(self.hypotheses.geometry.dim))

    def act(self, state: Losses, key: Key) -> Mixture:
        """The mixture."""
        return Mixture(self.hypotheses, np.array(self.weights))

    def update(self, state: Losses, round: Round) -> Losses:
        """Count the round's errors; reports weigh nothing."""
        losses = self.hypotheses.added(state.losses, round.batch.rows, self._labels(round))
        return Losses(state.rounds + 1, state.reports + bool(round.reports), losses)

    def penalty_at(self, state: Losses) -> float:
        """Nothing."""
        return 0.0

    def bound(self, alpha: float, T: int | None = None) -> None:
        """None: nothing is learned, so nothing is promised."""


def score_as_it_is(F: Thresholds) -> Floats:
    """Weights with which a class of cut-offs on one score gives the share of cuts at or below it.

    With cuts at i/n that is the score itself, rounded down to a whole number of n-ths.
    """
    require(len(F.cuts) == 1, "cuts", "be of one score", len(F.cuts))
    weights = np.zeros(F.geometry.dim)
    # Both constants come first, then x ≥ c for every cut.
    weights[2 : 2 + len(F.cuts[0])] = 1 / len(F.cuts[0])
    return weights
