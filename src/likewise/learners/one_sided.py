"""Labels seen only of accepted people: any learner with weights, fed with estimates that are right on average.

    π̃ = γ + (1 − γ) π,   accepted iff lot < π̃,   ŝ_i = u + 1[accepted] (s_i − u)/(π̃_i + γ′)

u is what a person counts as whose label nobody sees. By default it is a *running doubt*: the average person seen so
far, never worse than even. Given everything before the lot, E ŝ_i = s_i (γ′ = 0), so the learner's own proof, which is
pathwise in whatever losses it is fed, becomes one in expectation; violations stay limited surely, as the penalty part
needs no estimate (Theorems 6 to 8 of the theory's section on one lot).
"""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from likewise import kernels, theory
from likewise.errors import InvalidParameter, NotSupported, require, require_number
from likewise.learners.adahedge import AdaHedge, AdaHedgeState
from likewise.learners.kept import KeptState
from likewise.learners.penalties import Cuts, Scheduled, Tilted
from likewise.learners.weights import AnytimeHedge, Hedge, Losses
from likewise.policies import Floored, Mixture
from likewise.protocol import Estimate, Floats, Key, Round
from likewise.reduction import estimated_weights

FLOOR = 0.3
"""γ = min(¼, 0.3√(ρ/T)) by default."""
SLACK = 0.1
"""γ′ = min(¼, 0.1√(ρ/T)) where everybody counts as good until proved bad."""
LIKELY = 0.05
"""``safe`` states its bound with confidence 1 − δ at this δ."""
ALONE = 2.0
"""So many people who count nothing stand at the start of the running doubt."""

# The state of the learner inside, with the sums of the running doubt. Module-level names, so that they can be pickled;
# mypy can't read fields that are computed.
OneSidedKept = namedtuple("OneSidedKept", (*KeptState._fields, "seen", "worth"))  # type: ignore[misc]  # computed fields
OneSidedAdaHedge = namedtuple("OneSidedAdaHedge", (*AdaHedgeState._fields, "seen", "worth"))  # type: ignore[misc]  # computed fields
OneSidedLosses = namedtuple("OneSidedLosses", (*Losses._fields, "seen", "worth"))  # type: ignore[misc]  # computed fields
STATES: dict[type, Any] = {KeptState: OneSidedKept, AdaHedgeState: OneSidedAdaHedge, Losses: OneSidedLosses}


@dataclass(frozen=True)
class OneSided:
    """A learner that sees the labels of accepted people only.

    Parameters
    ----------
    learner
        ``AdaHedge``, ``Hedge`` or ``AnytimeHedge``, with any penalty and over any class that they play. An ``AdaHedge``
        that keeps reports and has no prior of its own gets the "even" one.
    safe
        Everybody counts as good until proved bad (u = −c_fn), without a floor, with γ′: regret with high probability
        against every policy at once (Theorem 7). For labels that come late, or only as bad news. Errs more at first.
    doubt
        For researchers: a fixed β in [0, 1] in place of the running doubt, u = −β c_fn.
    floor
        For researchers: x in γ = min(¼, x√(ρ/T)), 0.3 by default; t stands for T in a learner without a horizon.

    Examples
    --------
    >>> import likewise as lw
    >>> learner = lw.OneSided(lw.AdaHedge(lw.Thresholds([[0.2, 0.5, 0.8]]), k=4, alpha=0.1, T=1000))
    >>> learner.estimate(learner.init())
    Estimate(floor=0.0149..., doubt=0.0, slack=0.0)
    >>> X, y = [[0.1], [0.4], [0.9]], [0, 1, 1]
    >>> t = lw.play(learner, lw.IID(X, y, k=2), lw.MetricAuditor("cityblock", alpha=0.1), T=100)
    >>> bool((t.unseen == ~t.decisions).all())
    True
    """

    learner: Any
    _: KW_ONLY
    safe: bool = False
    doubt: float | None = None
    floor: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.learner, (AdaHedge, Hedge, AnytimeHedge)):
            raise NotSupported(
                f"OneSided can't wrap {type(self.learner).__name__}: unseen labels are estimated from this round's own "
                "probabilities, and its theorem has no place for such losses. Use AdaHedge, Hedge or AnytimeHedge."
            )
        if self.doubt is not None:
            require_number(self.doubt, "doubt", 0, 1)
        if self.floor is not None:
            require_number(self.floor, "floor", 0)
        given = [name for name in ("doubt", "floor") if getattr(self, name) is not None]
        verb = "is" if len(given) == 1 else "are"
        require(not (self.safe and given), "safe", f"be False where {' and '.join(given)} {verb} given", self.safe)
        bare = self.floor == 0 and self.doubt != 1
        require(not bare, "floor", "be above 0 unless doubt is 1: an estimate divides by it", self.floor)
        if isinstance(self.learner, AdaHedge) and self.learner.prior is None and isinstance(self.learner.rule, Cuts):
            object.__setattr__(self, "learner", replace(self.learner, prior="even"))

    # What it shares with the learner inside -----------------------------------------------------------------------

    @property
    def hypotheses(self) -> Any:
        """The class that policies are mixtures of."""
        return self.learner.hypotheses

    @property
    def k(self) -> int | None:
        """The largest batch."""
        largest: int | None = self.learner.k
        return largest

    @property
    def T(self) -> int | None:
        """The horizon."""
        return self.learner.T  # type: ignore[no-any-return]

    @property
    def costs(self) -> tuple[float, float]:
        """What a false positive and a false negative cost."""
        return self.learner.costs  # type: ignore[no-any-return]

    @property
    def alpha(self) -> float | None:
        """The level at which the auditor reports, where the learner inside is tuned for one."""
        return getattr(self.learner, "alpha", None)

    @property
    def least_gap(self) -> float:
        """A report of a gap that is not above this teaches nothing."""
        return float(getattr(self.learner, "least_gap", 0.0))

    @property
    def needs_blind(self) -> bool:
        """False: the batch may depend on the policy, though not on the coming lot."""
        return bool(self.learner.needs_blind)

    @property
    def bound_survives_delay(self) -> bool:
        """False: an estimate must be of the policy that was deployed, and nobody has proved what delay costs."""
        return False

    def parameters(self) -> dict[str, Any]:
        """Every parameter, those of the learner inside among them, as plain JSON values."""
        inside: dict[str, Any] = self.learner.parameters()
        own = {"safe": self.safe, "doubt": self.doubt, "floor": self.floor}
        return inside | {"name": f"OneSided({inside['name']})"} | own

    # The fold -----------------------------------------------------------------------------------------------------

    @cached_property
    def rho(self) -> float:
        """ρ = ln(1/min w) of the prior."""
        if isinstance(self.learner, AdaHedge):
            return self.learner.start.rho
        return float(self.hypotheses.log_size)

    def estimate(self, state: Any) -> Estimate:
        """Floor, doubt and slack of the coming round."""
        floor, slack = self._divisors(state.rounds + 1) if self.T is None else self._fixed
        cost = float(self.costs[1])
        if self.safe:
            return Estimate(0.0, -cost, slack)
        return Estimate(floor, self._running(state) if self.doubt is None else -self.doubt * cost)

    def _divisors(self, T: int) -> tuple[float, float]:
        """γ and γ′ for a horizon of T rounds; one hypothesis has nothing to explore."""
        if self.rho == 0.0:
            return 0.0, 0.0
        return theory.label_floor(T, self.rho, self._scale), theory.ix_rate(T, self.rho)

    @cached_property
    def _fixed(self) -> tuple[float, float]:
        """γ and γ′ of a learner with a horizon, the same in every round."""
        return self._divisors(self.T or 1)

    @property
    def _scale(self) -> float:
        """x in γ = min(¼, x√(ρ/T))."""
        return FLOOR if self.floor is None else float(self.floor)

    def _running(self, state: Any) -> float:
        """What the average person seen so far was worth, between −c_fn and 0."""
        return min(0.0, max(-float(self.costs[1]), float(state.worth) / (ALONE + float(state.seen))))

    @cached_property
    def _kind(self) -> type:
        """The type of the state of the learner inside."""
        return type(self.learner.init())

    def init(self) -> Any:
        """The state of the learner inside, and nobody seen."""
        return STATES[self._kind](*self.learner.init(), 0.0, 0.0)

    def inside(self, state: Any) -> Any:
        """The state of the learner inside; of a state that was loaded from a file, too."""
        return self._kind(*state[:-2])

    def act(self, state: Any, key: Key) -> Mixture | Floored:
        """The policy of the learner inside, with the floor."""
        policy, floor = self.learner.act(self.inside(state), key), self.estimate(state).floor
        return Floored(policy, floor) if floor > 0 else policy

    def update(self, state: Any, round: Round) -> Any:
        """Learn from the estimate that was fixed before the lot, and add the people seen to the running doubt."""
        if round.decisions is None:
            raise InvalidParameter("`round` must hold decisions for a learner of one-sided labels, got none.")
        estimate = self.estimate(state) if round.estimate is None else round.estimate
        batch, decisions, round = round.batch, round.decisions, round._replace(estimate=estimate)
        s = estimated_weights(batch.y, decisions, round.probabilities, estimate, self.costs, batch.weight)
        after = self.learner.learn(self.inside(state), round, s)
        seen, worth = self._seen(round)
        return STATES[self._kind](*after, state.seen + seen, state.worth + worth)

    def _seen(self, round: Round) -> tuple[float, float]:
        """Σ 1/π̃ and Σ s/π̃ of the people of a round whose labels were seen."""
        y, batch = round.batch.y, round.batch
        known = np.asarray(round.decisions) & (y == y)
        each = 1.0 / round.probabilities[known]
        if batch.weight is not None:
            each = each * batch.weight[known]
        s = self.costs[0] - (self.costs[0] + self.costs[1]) * y[known]
        return _total(each), _total(s * each)

    def compiled(self) -> tuple[Any, Floats]:
        """The learner inside, and how labels are estimated as ``likewise.kernels.lots`` takes it."""
        doubt = 1.0 if self.safe else -1.0 if self.doubt is None else float(self.doubt)
        scales = (0.0, SLACK) if self.safe else (self._scale, 0.0)  # with ρ = 0 either is 0
        return self.learner, np.array([kernels.ESTIMATED, doubt, *scales, self.rho, self.T or 0], dtype=float)

    def penalty_at(self, state: Any) -> float:
        """C_t of the learner inside."""
        return float(self.learner.penalty_at(self.inside(state)))

    # What is proved -----------------------------------------------------------------------------------------------

    def bound(self, alpha: float, T: int | None = None) -> theory.Bound | None:
        """Theorem 6: violations surely, errors in expectation against a policy fixed before the play.

        For ``safe``, errors by Theorem 7 with 95 % confidence against every policy at once. None for ``Hedge``, and for
        kept reports without penalties. Labels must come in time: a late one breaks the bound on errors, and violations
        have another (``theory.late_estimate``).
        """
        learner = self.learner
        if not isinstance(learner, AdaHedge) or self.rho == 0 or learner.people < 1:
            return None
        constants = self.hypotheses.constants
        require(0 in constants, "hypotheses", "hold the constant 0 for any bound with one-sided labels", constants)
        rounds = learner._rounds(T)
        cuts = learner.rule if isinstance(learner.rule, Cuts) else None
        if learner.rows_last is not None or (cuts is not None and (cuts.penalty is None or alpha < (self.alpha or 0))):
            return None
        rule, level = (learner.rule, alpha) if cuts is None else (cuts.penalty, cuts.epsilon)
        bound = self._theorem(rule, rounds, level)
        return self._likely(bound, rule, rounds) if self.safe else bound

    def _theorem(self, rule: Any, T: int, alpha: float) -> theory.Bound:
        labels, rho, k = self._limits(T), self.rho, self.learner.people
        horizon, known = (T, False) if self.T is None else (self.T, True)
        explored = 0.0 if self.safe else theory.sum_of_floors(T, rho, known=known, scale=self._scale)
        explored *= self.costs[0] * k
        forgotten = theory.forgotten_share(horizon, self.learner.forgets, known=known)
        if isinstance(rule, Scheduled):
            return theory.one_sided_scheduled(
                T, labels, rule.first, rule.growth, rho, alpha, explored=explored, forgotten=forgotten
            )
        if isinstance(rule, Tilted):
            weight = self.learner.weight
            highest = rule.floor * weight * math.sqrt(T / rho)
            return theory.one_sided_tilted(
                T, labels, rule.c, weight, rho, alpha, highest=highest, explored=explored, forgotten=forgotten
            )
        return theory.one_sided_fixed(T, labels, float(rule), rho, alpha, explored=explored)

    def _limits(self, T: int) -> theory.LabelLimits:
        """What the estimated losses of a round can be, by the last floor of T rounds."""
        k, costs = self.learner.people, self.costs
        if self.safe:
            return theory.label_estimate(k, 1.0, 0.0, costs)
        floor = theory.label_floor(T if self.T is None else self.T, self.rho, self._scale)
        if self.doubt is None:
            return theory.changing_estimate(k, floor, costs)
        return theory.label_estimate(k, self.doubt, floor, costs)

    def _likely(self, bound: theory.Bound, rule: Any, T: int) -> theory.Bound:
        """With Theorem 7's error regret: slack makes estimates too small, so there is none in expectation."""
        learner, known = self.learner, self.T is not None
        regret = theory.safe_regret(
            T,
            learner.people,
            bound.violations,
            self.rho,
            theory.ix_rate(T if self.T is None else self.T, self.rho),
            LIKELY,
            sum_of_ix=theory.sum_of_floors(T, self.rho, known=known, scale=0.1),
            start=learner._start,
            absorbed=self._absorbed(rule, bound.violations, T),
            forgotten=theory.forgotten_share(self.T or T, learner.forgets, known=known),
            costs=self.costs,
        )
        theorem = f"{bound.theorem}; errors by Theorem 7, with 95 % confidence against every policy at once"
        return bound._replace(error_regret=regret, theorem=theorem)

    def _absorbed(self, rule: Any, violations: float, T: int) -> float:
        """What penalties add to the regret beyond ε times their sum, as in Theorem 6."""
        wide = theory.stretched(self.rho)
        if isinstance(rule, Scheduled):
            return 2 * wide * rule.first / math.sqrt(2 * wide * rule.growth)
        if isinstance(rule, Tilted):
            highest = rule.floor * self.learner.weight * math.sqrt(T / self.rho)
            largest = theory.label_estimate(self.learner.people, 1.0, 0.0, self.costs).largest
            return 2 * self.rho * highest / rule.c + 2 * largest + 4 * highest if highest > 0 else 0.0
        return 2 * float(rule) * math.sqrt(wide * violations)

    def observed_bound(self, state: Any) -> float | None:
        """A limit of the *estimated* Lagrangian regret, proved from what was observed."""
        limit = self.learner.observed_bound(self.inside(state)) if isinstance(self.learner, AdaHedge) else None
        return None if limit is None else float(limit)

    def regret_limit(self, state: Any, error: float) -> float:
        """The most by which an *estimated* error exceeds that of any policy of Q_{α−ε}; see ``AdaHedge``."""
        if not isinstance(self.learner, AdaHedge):
            name = type(self.learner).__name__
            raise InvalidParameter(f"`learner` must be AdaHedge for a limit from kept reports, got {name}.")
        return float(self.learner.regret_limit(self.inside(state), error))

    def behind_constant(self, state: Any) -> float | None:
        """The most by which the *estimated* error exceeds the best constant's, whatever the auditor does."""
        if not isinstance(self.learner, AdaHedge):
            return None
        return self.learner.behind_constant(self.inside(state))


def _total(values: Floats) -> float:
    """Σ from left to right, as the compiled loop adds."""
    total = 0.0
    for value in values.tolist():
        total += value
    return total
