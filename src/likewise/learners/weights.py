"""Weights with a learning rate that is known in advance: the paper's ExponentialWeights, Hedge, and Hedge at any time.

All keep one number per hypothesis and play π^t = Σ_f p_f f. The paper's update is p_f ← p_f (1 − γ m_f / B);
Hedge's is p_f ← p_f exp(−η L_f). They may face an environment that sees π^t.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likewise import theory
from likewise.errors import NotSupported, require
from likewise.hypotheses import Simplex, enumerable
from likewise.learners.base import BaseLearner, fixed_penalty
from likewise.policies import Mixture
from likewise.protocol import Floats, Key, Round
from likewise.reduction import base_error, penalised


class LogWeights(NamedTuple):
    """State of ``ExponentialWeights``: Σ_t ln(1 − γ m_f / B)."""

    rounds: int
    reports: int
    log_weights: Floats


@dataclass(frozen=True)
class ExponentialWeights(BaseLearner):
    """The paper's learner, with its tuning: γ = √(ln N / T), C = ⌈max(T^¼, k)⌉.

    m_f = Err(f, R_C(z)) lies in [0, B], B = k + 2C. (The paper prints the update without /B; taken literally,
    weights go negative.) Theorem exp-guarantee: violations and error regret against Q_α are O(T^¾).

    Parameters
    ----------
    penalty
        C; the paper's by default.

    Examples
    --------
    >>> import likewise as lw
    >>> learner = lw.ExponentialWeights(lw.Thresholds([[0.2, 0.5, 0.8]]), T=1000, k=4)
    >>> learner.C, round(learner.bound(alpha=0.5).lagrangian_regret)
    (6.0, 1459)
    """

    _: KW_ONLY
    penalty: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        F = enumerable(self.hypotheses, "ExponentialWeights")
        if not isinstance(F.geometry, Simplex):
            raise NotSupported(
                f"ExponentialWeights can't play {type(F).__name__}: the paper's update 1 − γm/B doesn't factorise "
                "over cells. Use Hedge or AdaHedge, which do."
            )
        fixed_penalty(self.C)
        theory.exponential_weights_rate(self.horizon, F.size)

    @cached_property
    def C(self) -> float:
        """The penalty of a report."""
        chosen = theory.exponential_weights_penalty(self.horizon, self.weight)
        return float(chosen if self.penalty is None else self.penalty)

    @cached_property
    def gamma(self) -> float:
        """The learning rate γ = √(ln N / T)."""
        return theory.exponential_weights_rate(self.horizon, self.hypotheses.size)

    @cached_property
    def B(self) -> float:
        """The largest loss of a hypothesis in a round, k + 2C."""
        return self.weight + 2 * self.C

    def init(self) -> LogWeights:
        """Equal weights."""
        return LogWeights(0, 0, np.zeros(self.hypotheses.geometry.dim))

    def act(self, state: LogWeights, key: Key) -> Mixture:
        """π^t = Σ_f p_f f."""
        return Mixture(self.hypotheses, self.hypotheses.geometry.gibbs(state.log_weights, -1.0))

    def update(self, state: LogWeights, round: Round) -> LogWeights:
        """p_f ← p_f (1 − γ m_f / B), in log space, where nothing overflows or becomes 0/0."""
        weight = round.batch.weight
        if weight is not None:
            require(float(weight.sum()) <= self.people, "weight", f"add up to at most k = {self.k}", weight.tolist())
        s, base = self._signed(round, self.C), base_error(round.batch.y, self.costs, weight) + self.C
        log_weights = self.hypotheses.shrunk(state.log_weights, round.batch.rows, s, base, self.gamma / self.B)
        return LogWeights(state.rounds + 1, state.reports + bool(round.reports), log_weights)

    def compiled(self) -> tuple[str, tuple[float, ...]]:
        """Which compiled loop plays this learner, and its parameters."""
        return "EXPONENTIAL_WEIGHTS", (self.gamma / self.B, self.C)

    def penalty_at(self, state: LogWeights) -> float:
        """C, the same in every round."""
        return self.C

    def bound(self, alpha: float, T: int | None = None) -> theory.Bound:
        """Theorem exp-guarantee, explicitly; γ is tuned for the horizon, whose bound holds before it too."""
        N = self.hypotheses.size
        bound = theory.exponential_weights(self.horizon, self.weight, self.C, N, alpha, self.kappa)
        return self._for_rounds(bound, T)

    def observed_bound(self, state: LogWeights) -> float:
        """B (γt + ln N/γ), the theorem after t rounds."""
        if self.alone:
            return 0.0
        return self.B * (self.gamma * state.rounds + float(self.hypotheses.log_size) / self.gamma)


class Losses(NamedTuple):
    """State of learners that follow cumulative losses: Σ_t L_{C_t}(f), in the class's coordinates."""

    rounds: int
    reports: int
    losses: Floats


@dataclass(frozen=True)
class _FixedPenaltyHedge(BaseLearner, ABC):
    """p_f ∝ exp(−η_t Σ L(f)), with a fixed penalty."""

    def __post_init__(self) -> None:
        super().__post_init__()
        enumerable(self.hypotheses, type(self).__name__)
        fixed_penalty(self.C)

    @property
    @abstractmethod
    def C(self) -> float:
        """The penalty of a report."""

    @abstractmethod
    def rate(self, t: int) -> float:
        """η_t, the learning rate of round t."""

    def init(self) -> Losses:
        """No losses yet."""
        return Losses(0, 0, np.zeros(self.hypotheses.geometry.dim))

    def act(self, state: Losses, key: Key) -> Mixture:
        """π^t = Σ_f p_f f."""
        return Mixture(self.hypotheses, self.hypotheses.geometry.gibbs(state.losses, self.rate(state.rounds + 1)))

    def update(self, state: Losses, round: Round) -> Losses:
        """Add the round's Lagrangian losses."""
        return self.learn(state, round, self._labels(round))

    def learn(self, state: Losses, round: Round, labels: Floats) -> Losses:
        """As ``update``, with the label part of the signed weights given: that of the labels, or an estimate of it."""
        losses = self.hypotheses.added(state.losses, round.batch.rows, penalised(labels, round.reports, self.C))
        return Losses(state.rounds + 1, state.reports + bool(round.reports), losses)

    def penalty_at(self, state: Losses) -> float:
        """C, the same in every round."""
        return self.C


@dataclass(frozen=True)
class Hedge(_FixedPenaltyHedge):
    """p_f ∝ exp(−η Σ L(f)), η = √(8 ln N / T)/(k + 2C): the paper's guarantee with a constant 2.8 times smaller.

    Plays ``likewise.Cells`` exactly, in factorised form.

    Parameters
    ----------
    penalty
        C; the paper's max(T^¼, k) by default.

    Examples
    --------
    >>> import likewise as lw
    >>> learner = lw.Hedge(lw.Thresholds([[0.2, 0.5, 0.8]]), T=1000, k=4)
    >>> round(learner.bound(alpha=0.5).lagrangian_regret)
    516
    """

    _: KW_ONLY
    penalty: float | None = None

    @cached_property
    def C(self) -> float:
        """The penalty of a report."""
        chosen = theory.exponential_weights_penalty(self.horizon, self.weight)
        return float(chosen if self.penalty is None else self.penalty)

    @cached_property
    def eta(self) -> float:
        """The learning rate."""
        return theory.hedge_rate(self.horizon, self.weight, self.C, self.hypotheses.size)

    def rate(self, t: int) -> float:
        """η, the same in every round."""
        return self.eta

    def compiled(self) -> tuple[str, tuple[float, ...]]:
        """Which compiled loop plays this learner, and its parameters."""
        return "HEDGE", (self.eta, self.C)

    def bound(self, alpha: float, T: int | None = None) -> theory.Bound:
        """(k + 2C)√(T ln N/2) and what follows from it; η is tuned for the horizon, whose bound holds before it too."""
        bound = theory.hedge(self.horizon, self.weight, self.C, self.hypotheses.size, alpha, self.kappa)
        return self._for_rounds(bound, T)

    def observed_bound(self, state: Losses) -> float:
        """The second-order bound for the number of reports seen."""
        if self.alone:
            return 0.0
        return theory.hedge_observed_regret(
            self.eta, state.rounds, state.reports, self.weight, self.C, self.hypotheses.size
        )


@dataclass(frozen=True)
class AnytimeHedge(_FixedPenaltyHedge):
    """Hedge that needs no horizon: round t uses the rate that Hedge would have if t were the last.

    Its regret is at most 1.5 times that of Hedge with a known horizon: ``likewise.theory.anytime_hedge_regret``. Plays
    ``likewise.Cells`` exactly, in factorised form.

    Parameters
    ----------
    penalty
        C; without a horizon there is no default to tune.

    Examples
    --------
    >>> import likewise as lw
    >>> learner = lw.AnytimeHedge(lw.Thresholds([[0.5]]), k=4, penalty=6.0)
    >>> round(learner.bound(alpha=0.5, T=1000).lagrangian_regret)
    632
    """

    _: KW_ONLY
    penalty: float

    @cached_property
    def C(self) -> float:
        """The penalty of a report."""
        fixed_penalty(self.penalty)
        return float(self.penalty)

    def rate(self, t: int) -> float:
        """η_t = √(8 ln N / t)/(k + 2C)."""
        return theory.hedge_rate(t, self.weight, self.C, self.hypotheses.size)

    def bound(self, alpha: float, T: int | None = None) -> theory.Bound:
        """(3/2)(k + 2C)√(T ln N/2), and what follows from it, at every number of rounds."""
        N = self.hypotheses.size
        return theory.anytime_hedge(self._rounds(T), self.weight, self.C, N, alpha, self.kappa)

    def observed_bound(self, state: Losses) -> float:
        """The same after the rounds that were learned."""
        if self.alone or state.rounds == 0:
            return 0.0
        return theory.anytime_hedge_regret(state.rounds, self.weight, self.C, self.hypotheses.size)
