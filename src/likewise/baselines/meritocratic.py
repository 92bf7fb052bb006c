"""Meritocratic fairness: nobody is favoured over a person who may be better (Joseph, Kearns, Morgenstern, Roth 2016).

Everybody in a batch has an interval for the probability of their label. People whose intervals are chained together by
overlaps get the same answer; of two chains, the higher one never gets less. The method never hears the auditor.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.baselines.base import Baseline
from likewise.baselines.merit import Merit
from likewise.errors import require_number
from likewise.hypotheses import EnumerableClass
from likewise.policies import DeployablePolicy
from likewise.protocol import Floats, Key, Round, Rows


class MeritState(NamedTuple):
    """The regression of labels, see ``Merit``."""

    rounds: int
    reports: int
    inverse: Floats
    moments: Floats


@dataclass(frozen=True)
class Meritocratic(Baseline):
    """Chained confidence intervals of merit, by ridge regression on the hypotheses' answers.

    Parameters
    ----------
    width
        Half the width of an interval is this many times √(φᵀV⁻¹φ). 1 is narrow; the paper's proof needs more.

    Examples
    --------
    >>> import likewise as lw
    >>> learner = lw.baselines.Meritocratic(lw.Thresholds([[0.5]]))
    >>> learner.told, learner.answers(learner.init()), learner.bound(alpha=0.1)
    ('labels only', 0, None)
    """

    _: KW_ONLY
    width: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number(self.width, "width", 0)

    @property
    def knows(self) -> str:
        """Nothing but labels."""
        return "labels only"

    @property
    def told(self) -> str:
        """The same."""
        return self.knows

    def answers(self, state: MeritState) -> int:
        """None are asked for."""
        return 0

    def init(self) -> MeritState:
        """Nobody seen yet."""
        return MeritState(0, 0, *Merit.of(self.hypotheses))

    def act(self, state: MeritState, key: Key) -> Chained:
        """Chains by the intervals so far."""
        false_positive, false_negative = self.costs
        enough = false_positive / (false_positive + false_negative)
        return Chained(self.hypotheses, Merit(state.inverse, state.moments), self.width, enough)

    def update(self, state: MeritState, round: Round) -> MeritState:
        """Learn from labels alone."""
        merit = Merit(state.inverse, state.moments).after(self.hypotheses, round.batch.rows, round.batch.y)
        return MeritState(state.rounds + 1, state.reports + bool(round.reports), *merit)


class Chained(DeployablePolicy):
    """One answer for each chain of a batch: yes where its mean merit makes a yes the smaller expected error."""

    compares_a_batch = True

    def __init__(self, hypotheses: EnumerableClass, merit: Merit, width: float, enough: float) -> None:
        self.hypotheses, self.merit, self.width, self.enough = hypotheses, merit, width, enough

    def at(self, rows: Rows) -> Floats:
        """These people, taken as one batch."""
        merit, spread = self.merit.estimates(self.hypotheses, rows)
        chain = chains(merit - self.width * spread, merit + self.width * spread)
        means = np.bincount(chain, weights=merit) / np.bincount(chain)
        return (means > self.enough).astype(float)[chain]


def chains(low: Floats, high: Floats) -> NDArray[np.intp]:
    """The number of each interval's chain, from the lowest up: intervals that overlap share a chain.

    Examples
    --------
    >>> chains(np.array([0.0, 0.8, 0.2, 0.9]), np.array([0.3, 0.95, 0.6, 1.0])).tolist()
    [0, 1, 0, 1]
    """
    order = np.argsort(low, kind="stable")
    reached = np.maximum.accumulate(high[order])
    starts = low[order][1:] > reached[:-1]
    numbers = np.empty(len(low), dtype=np.intp)
    numbers[order] = np.concatenate([[0], np.cumsum(starts)])
    return numbers
