"""What every learner shares: its class, the largest batch, the horizon and the costs of errors.

A learner is frozen parameters plus pure functions. Subclasses supply ``init``, ``act``, ``update``, ``penalty_at`` and
``bound``; nothing here or there keeps anything between calls.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

import numpy as np

from likewise.errors import InvalidParameter, require, require_number, require_whole
from likewise.protocol import Floats, Round
from likewise.reduction import EQUAL_COSTS, label_weights, penalised
from likewise.theory import Bound, one_hypothesis


@dataclass(frozen=True)
class BaseLearner:
    """Parameters that every learner has.

    Parameters
    ----------
    hypotheses
        The class that policies are mixtures of.
    k
        The largest batch.
    T
        The horizon; None for learners that work at any number of rounds.
    costs
        What a false positive and a false negative cost.
    """

    hypotheses: Any
    _: KW_ONLY
    k: int | None = None
    T: int | None = None
    costs: tuple[float, float] = EQUAL_COSTS

    def __post_init__(self) -> None:
        for name, value in (("k", self.k), ("T", self.T)):
            if value is not None:
                require_whole(value, name)
        two = isinstance(self.costs, (tuple, list)) and len(self.costs) == 2
        fine = two and all(isinstance(c, Real) and math.isfinite(c) and float(c) >= 0 for c in self.costs)
        require(fine and max(self.costs) > 0, "costs", "be two numbers, at least 0 and not both 0", self.costs)

    @property
    def needs_blind(self) -> bool:
        """Whether the theorem fails when the environment sees π^t before choosing the batch."""
        return False

    @property
    def bound_survives_delay(self) -> bool:
        """Whether ``observed_bound`` also holds when rounds are learned late; False where nobody has proved it."""
        return False

    def observed_bound(self, state: Any) -> float | None:
        """An upper limit of this play's Lagrangian regret, proved from what was observed, if there is one."""
        return None

    def parameters(self) -> dict[str, Any]:
        """Every parameter as plain JSON values, with the name of the learner."""
        names = [f.name for f in dataclasses.fields(self) if f.name != "hypotheses"]
        return {"name": type(self).__name__} | {name: _plain(getattr(self, name)) for name in names}

    @property
    def weight(self) -> float:
        """The most that the errors of one round can cost: k times the larger cost."""
        return self.people * max(self.costs)

    @property
    def people(self) -> int:
        """k, where a formula can't do without it."""
        if self.k is None:
            raise InvalidParameter(f"`k` must be given to {type(self).__name__} for this, got None.")
        return self.k

    @property
    def horizon(self) -> int:
        """T, where a formula can't do without it."""
        if self.T is None:
            raise InvalidParameter(f"`T` must be given to {type(self).__name__} for this, got None.")
        return self.T

    def _rounds(self, T: int | None) -> int:
        """For how many rounds a bound is asked: T, at most the learner's own horizon; by default the horizon."""
        if T is None:
            return self.horizon
        require_whole(T, "T")
        if self.T is not None:
            require(T <= self.T, "T", f"be at most the learner's {self.T} rounds", T)
        return int(T)

    def _for_rounds(self, bound: Bound, T: int | None) -> Bound:
        """The bound of the horizon that a learner is tuned for, after T of its rounds.

        A play that ends early has the regrets of one whose other rounds bring neither labels nor reports: such rounds
        cost nobody anything. So the horizon's bound holds for it too. It has no more violations than rounds.
        """
        return bound if T is None else bound._replace(violations=min(bound.violations, float(self._rounds(T))))

    @property
    def kappa(self) -> float:
        """κ: the most that the best constant policy can lose in a round."""
        false_positive, false_negative = self.costs
        constants = self.hypotheses.constants
        if not constants:
            raise InvalidParameter("`hypotheses` must hold a constant hypothesis for any bound, got none.")
        if len(constants) == 2:
            # Say 1 with the probability that makes both errors cost the same.
            return self.people * false_positive * false_negative / (false_positive + false_negative)
        return self.people * (false_positive if constants == (1,) else false_negative)

    @property
    def alone(self) -> bool:
        """Whether the class holds one hypothesis, so that there is nothing to learn."""
        return bool(self.hypotheses.size == 1)

    def _bound_alone(self) -> Bound | None:
        """The bound of a class with one hypothesis, which must be a constant; None for any other class."""
        return one_hypothesis() if self.alone and self.kappa >= 0 else None

    def _labels(self, round: Round) -> Floats:
        """The label part of a round's signed weights."""
        return label_weights(round.batch.y, self.costs, round.batch.weight)

    def _signed(self, round: Round, C: float) -> Floats:
        return penalised(self._labels(round), round.reports, C)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {"name": type(value).__name__} | dataclasses.asdict(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def fixed_penalty(penalty: Any) -> None:
    """Check a penalty C that stays the same."""
    require_number(penalty, "penalty", 0)
