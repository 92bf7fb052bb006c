"""AdaHedge, our default: learns its own rate, so it needs neither the scale of losses nor the horizon.

    Δ_0 = 0 (tilted: k),   η_t = ln N / Δ_{t−1},   p^t ∝ exp(−η_t L_{t−1})
    δ_t = p^t·ℓ_t − m_t,   m_t = φ_{η_t}(L_t) − φ_{η_t}(L_{t−1}),   Δ_t = Δ_{t−1} + δ_t

Every step of the proof is pathwise: the environment may see p^t, penalties may change by round, and
LagrangianRegret ≤ 2Δ_T is an *observed* number (Lemma 1; de Rooij et al. 2014).
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likewise import theory
from likewise.errors import InvalidParameter, require, require_number
from likewise.hypotheses import enumerable
from likewise.hypotheses.geometry import Geometry
from likewise.learners.base import BaseLearner, fixed_penalty
from likewise.learners.penalties import Scheduled, Tilted
from likewise.policies import Mixture
from likewise.protocol import Floats, Key, Round


class AdaHedgeState(NamedTuple):
    """Cumulative losses in the class's coordinates, Δ, and the weights they give: p ∝ exp(−η L), η = ln N/Δ."""

    rounds: int
    reports: int
    losses: Floats
    delta: float
    weights: Floats


@dataclass(frozen=True)
class AdaHedge(BaseLearner):
    """Hedge that tunes itself, with penalties that grow.

    Parameters
    ----------
    alpha
        The level at which the auditor counts violations; the default penalties need it.
    penalty
        A number (fixed C, Theorem A), ``Scheduled`` (Theorem 1) or ``Tilted`` (Theorem 2). By default
        ``Scheduled((k/3)√(T/ln N), α²/(8Λ))`` when T is given and ``Tilted(α/2, floor=1/2)`` when it isn't.

    Examples
    --------
    >>> import likewise as lw
    >>> F = lw.Thresholds([[0.2, 0.5, 0.8]])
    >>> lw.AdaHedge(F, k=4, alpha=0.1, T=1000).rule
    Scheduled(first=29.239..., growth=0.000277...)
    >>> lw.AdaHedge(F, k=4, alpha=0.1).rule
    Tilted(c=0.05, floor=0.5)
    """

    _: KW_ONLY
    alpha: float | None = None
    penalty: float | Scheduled | Tilted | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        enumerable(self.hypotheses, type(self).__name__)
        if self.alpha is not None:
            require_number(self.alpha, "alpha", 0, 1, open_at="low")
        if not isinstance(self.rule, (Scheduled, Tilted)):
            fixed_penalty(self.rule)
        if isinstance(self.rule, Tilted):
            fits = self.alpha is None or self.rule.c < self.alpha
            require(fits, "penalty", f"tilt by less than alpha = {self.alpha}", self.rule)
            require(self.k is not None, "k", "be given for tilted penalties, which start from Δ_0 = k", self.k)

    @cached_property
    def rule(self) -> float | Scheduled | Tilted:
        """How much a report weighs: the penalty given, or the default."""
        if self.penalty is not None:
            return self.penalty
        if self.alpha is None:
            raise InvalidParameter("`alpha` must be given to AdaHedge unless `penalty` is, got None.")
        if self.hypotheses.size == 1:
            return 0.0
        if self.T is None:
            return Tilted(self.alpha / 2, floor=0.5)
        N = self.hypotheses.size
        growth = theory.scheduled_growth(self.alpha / 2, N)
        return Scheduled(theory.scheduled_first(self.T, self.weight, N), growth)

    @cached_property
    def _log_size(self) -> float:
        return float(self.hypotheses.log_size)

    def init(self) -> AdaHedgeState:
        """No losses; Δ_0 = 0, or k for tilted penalties."""
        losses = np.zeros(self.hypotheses.geometry.dim)
        return AdaHedgeState(0, 0, losses, self._start, self._weights(losses, self._start))

    def act(self, state: AdaHedgeState, key: Key) -> Mixture:
        """The weights of the state."""
        return Mixture(self.hypotheses, state.weights)

    def update(self, state: AdaHedgeState, round: Round) -> AdaHedgeState:
        """Add the round's losses, and its mix gap to Δ; then the next weights."""
        F, rows, reported = self.hypotheses, round.batch.rows, bool(round.reports)
        s = self._signed(round, self.penalty_at(state) if reported else 0.0)
        losses, delta = F.added(state.losses, rows, s), state.delta
        if self._log_size > 0:
            eta = self._log_size / delta if delta > 0 else math.inf
            delta += F.mix_gap(state.weights, state.losses, losses, rows, s, round.probabilities, eta)
            if reported and isinstance(self.rule, Tilted):
                delta = max(delta, self.rule.raised(state.delta, self._log_size))
        return AdaHedgeState(state.rounds + 1, state.reports + reported, losses, delta, self._weights(losses, delta))

    def _weights(self, losses: Floats, delta: float) -> Floats:
        """p ∝ exp(−(ln N/Δ) L); while Δ = 0 everything is tied and the leaders share the weight."""
        geometry: Geometry = self.hypotheses.geometry
        return geometry.gibbs(losses, self._log_size / delta) if delta > 0 else geometry.leaders(losses)

    def compiled(self) -> tuple[str, tuple[float, ...]]:
        """Which compiled loop plays this learner, and its parameters."""
        if isinstance(self.rule, Scheduled):
            return "ADAHEDGE_SCHEDULED", (self.rule.first, self.rule.growth)
        if isinstance(self.rule, Tilted):
            return "ADAHEDGE_TILTED", (self.rule.c, self.rule.floor, self.weight)
        return "ADAHEDGE_FIXED", (float(self.rule),)

    def penalty_at(self, state: AdaHedgeState) -> float:
        """C_t, from the number of reports (scheduled) or from Δ (tilted)."""
        rule = self.rule
        if isinstance(rule, Scheduled):
            return rule.at(state.reports)
        if isinstance(rule, Tilted):
            if self._log_size == 0:
                return 0.0
            return rule.at(state.rounds + 1, state.delta, self.weight, self._log_size)
        return float(rule)

    @property
    def bound_survives_delay(self) -> bool:
        """True: 2Δ_T − Δ_0 counts what was deployed, whenever it is learned.

        The mix losses m_t are those of the weights in the order of learning, so Σ m_t ≤ min_f L_f + Δ_{T−1} whatever
        was deployed. Δ grows in each round by at least h_t − m_t, with h_t = Σ_i s_i π^t(x_i) of the policy that *was*
        deployed. Adding up, Σ h_t − min_f L_f ≤ 2Δ_T − Δ_0. How large Δ becomes under delay, nobody promises.
        """
        return True

    def bound(self, alpha: float, T: int | None = None) -> theory.Bound | None:
        """Theorem A, 1 or 2, by the kind of penalty. They hold at every number of rounds; k must be known."""
        require_number(alpha, "alpha", 0, 1, open_at="low")
        if (alone := self._bound_alone()) is not None:
            return alone
        T, k, N = self._rounds(T), self.weight, self.hypotheses.size
        if isinstance(self.rule, Scheduled):
            return theory.scheduled(T, k, self.rule.first, self.rule.growth, N, alpha, self.kappa)
        if isinstance(self.rule, Tilted):
            return theory.tilted(T, k, self.rule.c, self.rule.floor, N, alpha, self.kappa)
        return theory.adahedge_fixed(T, k, self.rule, N, alpha, self.kappa)

    def observed_bound(self, state: AdaHedgeState) -> float:
        """2Δ_T − Δ_0: proved for every play, whatever the other roles do."""
        return 2 * state.delta - self._start

    @property
    def _start(self) -> float:
        """Δ_0."""
        return self.weight if isinstance(self.rule, Tilted) else 0.0


@dataclass(frozen=True)
class Unconstrained(AdaHedge):
    """AdaHedge with C = 0: learns from labels alone and never hears the auditor. The baseline.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.Unconstrained(lw.Thresholds([[0.5]])).rule
    0.0
    """

    _: KW_ONLY
    penalty: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.penalty == 0, "penalty", "be 0: this learner never hears the auditor", self.penalty)
