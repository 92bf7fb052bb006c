"""Long-term constraints: a multiplier λ that rises when the auditor reports, and AdaHedge on error + λ · gap.

    λ_1 = 0,   λ ← [λ (1 − decay) + step · (gap − α)]_+   after each round with a report

Mahdavi, Jin and Yang (2012) introduced the method, Jenatton, Huang and Archambeau (2016) the decay, Yu and Neely (2017)
and Sun, Dey and Kapoor (2017) sharpened it, and Cao and Liu (2018) need only the value of the constraint, as here.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from likewise.baselines.base import Baseline
from likewise.errors import require_number
from likewise.policies import Mixture
from likewise.protocol import Floats, Key, Round


class DualState(NamedTuple):
    """AdaHedge's cumulative losses, Δ and weights, and the multiplier λ."""

    rounds: int
    reports: int
    losses: Floats
    delta: float
    weights: Floats
    multiplier: float


@dataclass(frozen=True)
class PrimalDual(Baseline):
    """AdaHedge on error + λ · gap, with a multiplier λ that follows the reported gaps.

    It hears the same pairs as our learners. Its papers bound the *sum* of a known constraint function over rounds. Here
    nobody can write that function down, so nothing is proved.

    Parameters
    ----------
    step
        How much λ rises per unit of gap beyond α; k by default.
    decay
        The share of λ that a report first takes away (Jenatton et al.).

    Examples
    --------
    >>> import likewise as lw
    >>> learner = lw.baselines.PrimalDual(lw.Thresholds([[0.5]]), k=2, alpha=0.1)
    >>> people = lw.Batch(learner.hypotheses.encode([[0.0], [1.0]]), np.array([0.0, 1.0]), np.zeros((2, 1)))
    >>> round_ = lw.Round(people, np.array([0.2, 0.8]), (lw.Report(1, 0),))
    >>> state = learner.update(learner.init(), round_)
    >>> learner.told, round(learner.penalty_at(state), 6), learner.bound(0.1)
    ('pairs', 1.0, None)
    """

    _: KW_ONLY
    step: float | None = None
    decay: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number(self.alpha, "alpha", 0, 1)
        require_number(self.rise, "step", 0)
        require_number(self.decay, "decay", 0, 1)

    @property
    def rise(self) -> float:
        """The step: the one given, or k."""
        return float(self.people if self.step is None else self.step)

    @property
    def knows(self) -> str:
        """At most one pair a round, as our learners are."""
        return "pairs"

    @property
    def told(self) -> str:
        """The same."""
        return self.knows

    def answers(self, state: DualState) -> int:
        """A verdict a round."""
        return state.rounds

    def init(self) -> DualState:
        """No losses, and λ = 0."""
        losses = np.zeros(self.hypotheses.geometry.dim)
        return DualState(0, 0, losses, 0.0, self._weights(losses, 0.0), 0.0)

    def act(self, state: DualState, key: Key) -> Mixture:
        """The weights of the state."""
        return Mixture(self.hypotheses, state.weights)

    def update(self, state: DualState, round: Round) -> DualState:
        """AdaHedge's round with penalty λ; then the next λ."""
        F, rows = self.hypotheses, round.batch.rows
        s = self._signed(round, state.multiplier)
        losses, delta = F.added(state.losses, rows, s), state.delta
        if F.log_size > 0:
            eta = F.log_size / delta if delta > 0 else math.inf
            delta += F.mix_gap(state.weights, state.losses, losses, rows, s, round.probabilities, eta)
        weights, reported = self._weights(losses, delta), bool(round.reports)
        multiplier = self.raised(state.multiplier, round.gap) if reported else state.multiplier
        return DualState(state.rounds + 1, state.reports + reported, losses, delta, weights, multiplier)

    def raised(self, multiplier: float, gap: float) -> float:
        """The next λ after a report with this gap."""
        return max(0.0, multiplier * (1.0 - self.decay) + self.rise * (gap - self.level))

    def penalty_at(self, state: DualState) -> float:
        """λ."""
        return state.multiplier

    def _weights(self, losses: Floats, delta: float) -> Floats:
        geometry = self.hypotheses.geometry
        weights: Floats = geometry.gibbs(losses, geometry.log_size / delta) if delta > 0 else geometry.leaders(losses)
        return weights
