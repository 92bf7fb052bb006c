"""Context-FTPL: follow the leader of perturbed losses, for classes that are reached through an oracle.

π^t is the uniform mixture of E minimisers of L_{t−1}(f) + W Σ_{x ∈ S} ξ_x f(x), ξ Laplace(1), where S separates the
class. Fresh noise every round and every draw; the environment must not see the draws before it fixes the batch.

    noise="paper"    W = 2k'/ω, and the padding of the paper's contexts (x, v, …, v) adds f(v) · W · ζ, ζ the sum of
                     n(k'−1) Laplace variables, drawn in O(1) from one Gamma and one normal variable
    noise="scalar"   W = 1/ε, noise on the separator only (Theorem B); the default
    noise="growing"  W grows with every report, C_t = cW_t/(4n): √T error regret and O(log T) violations

Over ``likewise.Cells`` the law of one draw has a closed form, so it is played itself: no draws at all.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from likewise import theory
from likewise.errors import InvalidParameter, require, require_number, require_whole
from likewise.hypotheses import Cube, EnumerableClass, enumerable
from likewise.hypotheses.base import laplace_noise
from likewise.hypotheses.finite import distinct_on
from likewise.learners.base import BaseLearner, fixed_penalty
from likewise.learners.weights import Losses
from likewise.policies import Mixture
from likewise.protocol import Floats, Key, Round, Rows

NOISES = ("scalar", "paper", "growing")


@dataclass(frozen=True)
class ContextFTPL(BaseLearner):
    """The paper's oracle-efficient learner, and our two sharper forms of it.

    Parameters
    ----------
    noise
        ``"scalar"``, ``"paper"`` or ``"growing"``.
    alpha
        The level of violations: sharpens the tuning of scalar noise, and is needed for growing noise.
    penalty
        C; by default ⌈max(k, T^{2/9})⌉ for the paper's noise and max(k, T^⅓) for scalar noise.
    draws
        E, oracle calls a round; by default T for the paper's noise or without alpha, and otherwise
        ⌈(8/α²) ln(2kT/δ)⌉, which keeps sampling errors within α/4.
    omega
        For the paper's noise: ``"corrected"``, ``"printed"`` (whose error bound is linear in T) or a number.
    noise_scale
        Multiplies the noise. The theorems need 1; less learns faster without them.
    separator
        People on which any two hypotheses differ; by default the class's own separator.
    transductive
        ``separator`` holds everybody who will ever come, so hypotheses that agree on them count as one.
    c
        For growing noise: the part of alpha that the growth absorbs; more is fewer violations and more errors. By
        default half of what the sampling leaves of alpha.
    threads
        How many threads share the draws of a round; all cores by default. The answer doesn't depend on it.

    Examples
    --------
    >>> import likewise as lw
    >>> learner = lw.ContextFTPL(lw.Thresholds([[0.2, 0.5, 0.8]]), T=1000, k=4, alpha=0.5)
    >>> round(learner.C), learner.E
    (10, 384)
    """

    _: KW_ONLY
    noise: str = "scalar"
    alpha: float | None = None
    penalty: float | None = None
    draws: int | None = None
    omega: str | float = "corrected"
    delta: float = 0.05
    noise_scale: float = 1.0
    separator: Any = None
    transductive: bool = False
    threads: int | None = None
    c: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        enumerable(self.hypotheses, "ContextFTPL")
        require(self.noise in NOISES, "noise", f"be one of {NOISES}", self.noise)
        if self.alpha is not None:
            require_number(self.alpha, "alpha", 0, 1, open_at="low")
        require_number(self.delta, "delta", 0, 1, open_at="low high")
        require_number(self.noise_scale, "noise_scale", 0)
        if self.c is not None:
            require_number(self.c, "c", 0, 1, open_at="low high")
        for name, value in (("draws", self.draws), ("threads", self.threads)):
            if value is not None:
                require_whole(value, name)
        if self.noise == "growing":
            require(self.alpha is not None, "alpha", "be given for growing noise", self.alpha)
            require(self.penalty is None, "penalty", "be left out: growing noise sets its own", self.penalty)
        named = self.omega in ("printed", "corrected")
        fine = named or (isinstance(self.omega, Real) and float(self.omega) > 0)
        require(fine, "omega", "be 'printed', 'corrected' or a positive number", self.omega)
        fixed_penalty(self.C)
        _ = self.points, self.scale  # finds and checks the separator and the noise before the first round

    @cached_property
    def F(self) -> EnumerableClass:
        """The class."""
        return enumerable(self.hypotheses, "ContextFTPL")

    @cached_property
    def points(self) -> Rows:
        """The separator S, encoded and checked."""
        if self.separator is None:
            if self.F.separator is None:
                raise InvalidParameter(
                    "`separator` must be given for a class without one, got None; "
                    "FiniteClass(..., pool=people) looks for one."
                )
            return self.F.separator
        rows = self.F.encode(self.separator)
        if not self.transductive and not isinstance(self.F.geometry, Cube):
            twins = distinct_on(self.F.predict_rows(rows).T)
            if twins is not None:
                raise InvalidParameter(
                    f"`separator` must tell any two hypotheses apart, got hypotheses {twins[0]} and {twins[1]} that "
                    "agree on all of it; add people, or pass transductive=True if nobody else will ever come."
                )
        if isinstance(self.F.geometry, Cube):
            if not self.transductive:
                covered = len(np.unique(rows)) == self.F.geometry.dim
                require(covered, "separator", f"have a person in each of {self.F.geometry.dim} cells", len(rows))
            rows = np.unique(rows)
        return rows

    @property
    def n(self) -> int:
        """The size of the separator."""
        return len(self.points)

    @cached_property
    def C(self) -> float:
        """The penalty of a report (the first one's, for growing noise)."""
        if self.penalty is not None:
            return float(self.penalty)
        if self.alone:
            return 0.0
        if self.noise == "paper":
            return float(theory.ftpl_paper_penalty(self.horizon, self.weight))
        if self.noise == "scalar":
            return max(self.weight, math.pow(self.horizon, 1 / 3))
        return self.absorbs * self.scale / (4 * self.n)

    @property
    def absorbs(self) -> float:
        """c: half of what the sampling of the draws leaves of α, at least α/4 (where the theorem may say nothing)."""
        alpha = self.alpha or 0.0
        return max(alpha - 2 * self.u, alpha / 2) / 2 if self.c is None else float(self.c)

    @cached_property
    def E(self) -> int:
        """Draws in a round."""
        if self.draws is not None:
            return int(self.draws)
        if self.noise == "paper" or self.alpha is None:
            return self.horizon
        return theory.draws_needed(self.horizon, self.people, self.delta, self.alpha)

    @property
    def exact(self) -> bool:
        """Whether the law of a draw is played itself, instead of a sample of it."""
        return isinstance(self.F.geometry, Cube)

    @property
    def needs_blind(self) -> bool:
        """Sampled draws must stay unseen until the batch is fixed; an exact law has none."""
        return not self.exact and self.noise_scale > 0

    @property
    def u(self) -> float:
        """How far sampled probabilities may be from their law, w.p. 1 − δ."""
        return 0.0 if self.exact else theory.sampling_error(self.horizon, self.people, self.E, self.delta)

    @cached_property
    def scale(self) -> float:
        """W: the scale of the noise (before the first report, if it grows), without ``noise_scale``."""
        T, k, N = self.horizon, self.weight, self.F.size
        if self.alone:
            return 0.0
        if self.noise == "growing":
            return theory.ftpl_growing_start(T, k, N, self.n)
        if self.noise == "scalar":
            return 1 / theory.ftpl_scalar_rate(T, k, self.C, N, self.n, self.kappa, self.alpha, self.u)
        return 2 * (k + 2 * self.C) / self._omega

    @property
    def _omega(self) -> float:
        if not isinstance(self.omega, str):
            return float(self.omega)
        return theory.ftpl_paper_omega(self.horizon, self.weight, self.C, self.F.size, self.n, self.omega)

    @cached_property
    def _padding(self) -> float:
        """How many Laplace variables the padded contexts put on f(v): n (k' − 1); v is the first point of S."""
        return self.n * (self.weight + 2 * self.C - 1) if self.noise == "paper" else 0.0

    def _scale_at(self, state: Losses) -> float:
        if self.noise != "growing" or self.alone:
            return self.scale
        return self.scale * (1 + theory.ftpl_growing_growth(self.absorbs, self.F.size, self.n)) ** state.reports

    def init(self) -> Losses:
        """No losses yet."""
        return Losses(0, 0, np.zeros(self.F.geometry.dim))

    def act(self, state: Losses, key: Key) -> Mixture:
        """The mixture of E perturbed leaders; their exact law over cells."""
        scale = self.noise_scale * self._scale_at(state)
        if scale == 0:
            return Mixture(self.F, self.F.geometry.leader(state.losses))
        if self.exact:
            return Mixture(self.F, self._law(state.losses / scale))
        if self.separator is None:
            leaders = self.F.perturbed_leaders(state.losses, scale, self.E, key, self._padding, self.threads)
        else:
            noise = scale * laplace_noise(key, self.E, self.n, self._padding)
            leaders = self.F.minimisers(state.losses, self.points, noise)
        return Mixture(self.F, self.F.geometry.mixture(leaders))

    def update(self, state: Losses, round: Round) -> Losses:
        """Add the round's Lagrangian losses."""
        losses = self.F.added(state.losses, round.batch.rows, self._signed(round, self.penalty_at(state)))
        return Losses(state.rounds + 1, state.reports + bool(round.reports), losses)

    def penalty_at(self, state: Losses) -> float:
        """C, or cW_t/(4n) for growing noise."""
        if self.noise != "growing" or self.alone:
            return self.C
        return self.absorbs * self._scale_at(state) / (4 * self.n)

    def bound(self, alpha: float, T: int | None = None) -> theory.Bound | None:
        """The theorem of this kind of noise; None for a ``noise_scale`` or a transductive S that it doesn't cover.

        The noise is tuned for the horizon, whose bound also holds for a play of fewer rounds.
        """
        require_number(alpha, "alpha", 0, 1, open_at="low")
        if self.noise_scale != 1 or self.transductive:
            return None
        if (alone := self._bound_alone()) is not None:
            return alone
        return self._for_rounds(self._theorem(alpha), T)

    def _theorem(self, alpha: float) -> theory.Bound:
        T, k, N, n = self.horizon, self.weight, self.F.size, self.n
        E = math.inf if self.exact else self.E
        if self.noise == "paper":
            return theory.ftpl_paper(
                T, k, self.C, N, n, self._omega, E, self.delta, alpha, self.kappa, people=self.people
            )
        if self.noise == "scalar":
            return theory.ftpl_scalar(T, k, self.C, N, n, 1 / self.scale, alpha, self.kappa, self.u, E, self.delta)
        return theory.ftpl_growing(T, k, self.absorbs, N, n, alpha, self.kappa, self.u, E, self.delta)

    def parameters(self) -> dict[str, Any]:
        """Every parameter, with the separator by its size and what was derived."""
        derived = {"separator": self.n, "C": self.C, "E": None if self.exact else self.E, "scale": self.scale}
        return super().parameters() | derived

    def _law(self, losses: Floats) -> Floats:
        """Pr[cell says 1] = Pr[S_c/W + ξ_c < 0], cell by cell; cells without a point of S just lead."""
        weights = self.F.geometry.leader(losses)
        weights[self.points] = laplace_cdf(-losses[self.points])
        if self._padding > 0:
            first = self.points[0]
            weights[first] = sum_of_laplaces_cdf(-losses[first], round(self._padding) + 1)
        return weights


def laplace_cdf(x: Floats) -> Floats:
    """Pr[ξ ≤ x] for a standard Laplace variable."""
    tail = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0, tail, 1.0 - tail)


def sum_of_laplaces_cdf(x: float, count: int) -> float:
    """Pr[ξ_1 + … + ξ_count ≤ x] for independent Laplace(1) variables, in closed form.

    The sum is a difference of two Gamma(count) waiting times, so for x ≤ 0 it is a Poisson(|x|) number of events
    against a negative binomial one.

    Examples
    --------
    >>> round(sum_of_laplaces_cdf(-1.0, 1), 6), round(0.5 * math.exp(-1), 6)
    (0.18394, 0.18394)
    """
    from scipy import special  # half of our import time, and hardly ever needed

    if x > 0:
        return 1.0 - sum_of_laplaces_cdf(-x, count)
    events = np.arange(count)
    poisson = np.exp(special.xlogy(events, -x) + x - special.gammaln(events + 1))
    negative_binomial = special.betainc(count, count - events, 0.5)
    return float(poisson @ negative_binomial)
