"""Follow the leader: the single best hypothesis so far. A baseline; it has no regret bound.

It is what ContextFTPL becomes without noise.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from likewise.hypotheses import enumerable
from likewise.learners.base import BaseLearner, fixed_penalty
from likewise.learners.weights import Losses
from likewise.policies import Mixture
from likewise.protocol import Key, Round


@dataclass(frozen=True)
class FollowTheLeader(BaseLearner):
    """All weight on the first hypothesis with the smallest cumulative Lagrangian loss.

    Parameters
    ----------
    penalty
        C, the weight of a report.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.FollowTheLeader(lw.Thresholds([[0.5]]), penalty=3.0).bound(alpha=0.1) is None
    True
    """

    _: KW_ONLY
    penalty: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        enumerable(self.hypotheses, "FollowTheLeader")
        fixed_penalty(self.penalty)

    def init(self) -> Losses:
        """No losses yet."""
        return Losses(0, 0, np.zeros(self.hypotheses.geometry.dim))

    def act(self, state: Losses, key: Key) -> Mixture:
        """The first leader."""
        return Mixture(self.hypotheses, self.hypotheses.geometry.leader(state.losses))

    def update(self, state: Losses, round: Round) -> Losses:
        """Add the round's Lagrangian losses."""
        losses = self.hypotheses.added(state.losses, round.batch.rows, self._signed(round, self.penalty))
        return Losses(state.rounds + 1, state.reports + bool(round.reports), losses)

    def penalty_at(self, state: Losses) -> float:
        """C, the same in every round."""
        return self.penalty

    def bound(self, alpha: float, T: int | None = None) -> None:
        """None: an adversary makes the leader wrong in every round."""
