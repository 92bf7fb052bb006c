"""A verdict on a round as the state knows it: what somebody said, when, and about whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from likewise.service.stream.answers import Outcome

CLOCK = "clock"
"""Who acts when only time has passed, or where nobody is needed."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two people of a round who were reported: their positions in the batch, and how far apart they were shown."""

    favoured: int
    disfavoured: int
    gap: float

    @property
    def positions(self) -> tuple[int, int]:
        """Both, the favoured one first."""
        return self.favoured, self.disfavoured

    @property
    def plain(self) -> tuple[int, int, float]:
        """All three numbers."""
        return self.favoured, self.disfavoured, self.gap


class Verdict(NamedTuple):
    """What became of the audit of a round: reported, cleared, skipped, expired, or undrawn.

    ``hints`` says whether whoever gave it is known to have asked why people got their probabilities, ``seconds`` how
    long they looked, if that is known.
    """

    outcome: Outcome
    at: float
    by: str
    pairs: tuple[Pair, ...] = ()
    hints: bool = False
    seconds: float | None = None

    @property
    def reviewed(self) -> bool:
        """Whether somebody looked; a round that nobody looked at is not a round without violation."""
        return self.outcome in ("reported", "cleared")

    @property
    def final(self) -> bool:
        """Whether nobody gave it: time or a lot said so, or there was nothing to report. It can't be taken back."""
        return self.by == CLOCK
