"""Measuring two sides of one comparison so that a noisy machine can't favour either.

Both sides run again and again in turns; what counts is the median of the ratios within a turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Row:
    """One line of the table: a piece of work, beside something, with the ratio to reach."""

    work: str
    beside: str
    ours: str
    theirs: str
    ratio: float
    goal: str
    reached: bool
    note: str = ""


@dataclass
class Sides:
    """Seconds of each side, turn by turn."""

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """How many times longer the other side takes: the median over turns."""
        return float(np.median(np.array(self.theirs) / np.array(self.ours)))


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(ours: Callable[[], object], theirs: Callable[[], object], turns: int) -> Sides:
    """Both sides in turns, after one call of each to warm up."""
    ours()
    theirs()
    sides = Sides()
    for _ in range(turns):
        sides.ours.append(seconds(ours))
        sides.theirs.append(seconds(theirs))
    return sides


def shown(value: float) -> str:
    """Seconds for a reader."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} µs"
