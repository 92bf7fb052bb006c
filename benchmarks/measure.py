"""Measuring the sides of one comparison so that a noisy machine can't favour any of them.

All sides run again and again in turns; what counts is the median of the ratios within a turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

Work = Callable[[], object]


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


@dataclass(frozen=True)
class Turns:
    """Seconds of every side, turn by turn."""

    seconds: dict[str, list[float]]

    def median(self, side: str) -> float:
        """What a side usually takes."""
        return float(np.median(self.seconds[side]))

    def ratio(self, ours: str, theirs: str) -> float:
        """How many times longer ``theirs`` takes than ``ours``: the median over turns."""
        return float(np.median(np.array(self.seconds[theirs]) / np.array(self.seconds[ours])))


def seconds(work: Work) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(turns: int, sides: Mapping[str, Work], *, warm: bool = True) -> Turns:
    """All sides in turns, every other turn in reverse, after one call of each to warm up."""
    if warm:
        for work in sides.values():
            work()
    taken: dict[str, list[float]] = {side: [] for side in sides}
    for turn in range(turns):
        for side in list(sides)[:: -1 if turn % 2 else 1]:
            taken[side].append(seconds(sides[side]))
    return Turns(taken)


def shown(value: float) -> str:
    """Seconds for a reader."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} µs"
