"""What every baseline shares: it says what it is told, counts the answers that people gave it, and has no bound."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

from likewise.errors import require_number
from likewise.hypotheses import enumerable
from likewise.learners.base import BaseLearner


@dataclass(frozen=True)
class Baseline(BaseLearner, ABC):
    """A neighbour of the paper, as a learner of the same game.

    Parameters
    ----------
    alpha
        How much more than their distance two people may differ.
    """

    _: KW_ONLY
    alpha: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        enumerable(self.hypotheses, type(self).__name__)
        if self.alpha is not None:
            require_number(self.alpha, "alpha", 0, 1)

    @property
    @abstractmethod
    def knows(self) -> str:
        """What it is told besides people and labels, in words."""

    @abstractmethod
    def answers(self, state: Any) -> int | None:
        """How many verdicts or distances people gave it so far; None where it holds the distance itself."""

    @property
    def level(self) -> float:
        """α, where a rule can't do without it."""
        require_number(self.alpha, "alpha", 0, 1)
        return float(self.alpha or 0.0)

    def penalty_at(self, state: Any) -> float:
        """0: a report weighs nothing by itself."""
        return 0.0

    def bound(self, alpha: float, T: int | None = None) -> None:
        """None: its paper proves nothing about this game."""
