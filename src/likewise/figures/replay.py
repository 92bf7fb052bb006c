"""Replaying the fold: a learner's states after some rounds of a finished play."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidParameter, require
from likewise.game import Transcript
from likewise.protocol import Learner


def moments(T: int, most: int) -> NDArray[np.intp]:
    """At most ``most`` round numbers from 1 to T, evenly spread, with both ends.

    Examples
    --------
    >>> moments(10, 4).tolist(), moments(2, 4).tolist()
    ([1, 4, 7, 10], [1, 2])
    """
    return np.unique(np.linspace(1, T, most).round().astype(np.intp))


def states(transcript: Transcript, learner: Learner, after: Sequence[int] | NDArray[np.intp]) -> Iterator[Any]:
    """The learner's state after each of these numbers of rounds, in rising order."""
    t = transcript
    recorded, parameters = t.facts.learner, learner.parameters()
    changed = [name for name, value in recorded.parameters.items() if value != parameters.get(name)]
    if changed:
        differs = " and ".join(changed)
        raise InvalidParameter(f"`learner` must be the play's own {recorded.name}, got one with a different {differs}.")
    require(t.first == 1, "transcript", "start at round 1 to be replayed", f"round {t.first}")
    state, learned = learner.init(), 0
    for moment in after:
        for i in range(learned, int(moment)):
            # The view is left out: a learner never sees it, and slicing a dataframe costs more than learning.
            state = learner.update(state, t.round(i, view=False))
        learned = int(moment)
        yield state
