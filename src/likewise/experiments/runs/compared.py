"""Whether two plays are the same, bit for bit; and where they part, if they do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.game import Transcript

ROUNDS = ("starts", "reviewed", "penalties")
PEOPLE = ("rows", "y", "shown")
REPORTS = ("report_rounds", "pairs", "violates", "false")


class Difference(NamedTuple):
    """Where two plays part.

    Attributes
    ----------
    round
        The first round that differs, counted as in the play.
    what
        What differs there.
    """

    round: int
    what: str

    def __str__(self) -> str:
        return f"the first difference is in round {self.round:,}: {self.what}"


def difference(one: Transcript, other: Transcript) -> Difference | None:
    """The first difference between two plays, to the last bit; None where there is none."""
    first, shared = one.first, min(one.rounds, other.rounds)
    found = []
    for name in ROUNDS:
        found += _places(name, getattr(one, name)[:shared], getattr(other, name)[:shared])
    people = int(one.starts[shared])
    for name in PEOPLE:
        places = _places(name, getattr(one, name)[:people], getattr(other, name)[:people])
        found += [(int(np.searchsorted(one.starts, place, side="right")) - 1, what) for place, what in places]
    for name in REPORTS:
        lists = [getattr(play, name)[: int(play.report_starts[shared])] for play in (one, other)]
        places = _places(name, *lists)
        found += [(_round_of_report(place, one, other), what) for place, what in places]
    if found:
        place, what = min(found)
        return Difference(first + place, what)
    if one.rounds != other.rounds:
        return Difference(first + shared, f"one of the plays has {one.rounds:,} rounds, the other {other.rounds:,}")
    return _after(one, other, first + shared - 1)


def _round_of_report(place: int, one: Transcript, other: Transcript) -> int:
    """The round that the report at this place belongs to; in the play that has it first, or has it at all."""
    return min(int(play.report_rounds[place]) for play in (one, other) if place < len(play.report_rounds))


def _after(one: Transcript, other: Transcript, last: int) -> Difference | None:
    """What is carried on beyond the last round: the learner's state, and the sum that the average policy is."""
    mine, others = dict(one.state._asdict()), dict(other.state._asdict())
    mine["average policy"], others["average policy"] = one.average_policy.total, other.average_policy.total
    for name, value in mine.items():
        if not _same(np.asarray(value), np.asarray(others.get(name))):
            return Difference(last, f"{name} after it")
    return None


def _places(name: str, one: NDArray[Any], other: NDArray[Any]) -> list[tuple[int, str]]:
    """The first place where two arrays differ, if there is one."""
    if one.dtype != other.dtype or one.shape[1:] != other.shape[1:]:
        return [(0, f"{name} are of another kind")]
    if _same(one, other):
        return []
    shared = min(len(one), len(other))
    differs = np.flatnonzero((_bytes(one[:shared]) != _bytes(other[:shared])).any(axis=1))
    return [(int(differs[0]) if len(differs) else shared, name)]


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=np.uint8).reshape(len(array), -1)
