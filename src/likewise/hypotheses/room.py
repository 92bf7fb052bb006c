"""Room for the numbers of a class: one per hypothesis, new in every round.

A state is never changed, so each round makes new losses and weights. Of a million hypotheses the system takes
longer to hand out that memory, page by page and wiped, than a round takes to fill it. Room that nobody holds any more
is therefore handed out again.
"""

from __future__ import annotations

import weakref

import numpy as np

from likewise.protocol import Floats

LARGE = 100_000
"""Smaller arrays are the allocator's own business, which keeps their memory by itself."""
SPARE = 4
"""Arrays kept at most: losses and weights, of two learners that take turns."""

_spare: list[Floats] = []


def room(size: int) -> Floats:
    """An array of numbers that mean nothing yet.

    Examples
    --------
    >>> room(3).shape
    (3,)
    """
    if size < LARGE:
        return np.empty(size)
    memory = _taken(size)
    # NumPy lets a view of a view hold on to the first owner of memory, and to no array in between. A memoryview stops
    # that: every view of this array holds the array itself, so that nothing is handed out while anybody looks at it.
    array = np.frombuffer(memory.data, dtype=np.float64)
    weakref.finalize(array, _given_back, memory).atexit = False
    return array


def _taken(size: int) -> Floats:
    """Room that is left over, or else new."""
    try:
        memory = _spare.pop()
    except IndexError:
        return np.empty(size)
    return memory if len(memory) == size else np.empty(size)


def _given_back(memory: Floats) -> None:
    """Keep some room for later."""
    if len(_spare) < SPARE:
        _spare.append(memory)
