"""Whether two plays are the same, bit for bit; and where they diverge, if they do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.game import Transcript

ROUNDS = ("starts", "reviewed", "penalties")
PEOPLE = ("rows", "y", "shown")
REPORTS = ("report_rounds", "pairs", "violates", "false")


class Difference(NamedTuple):
    """Where two plays diverge.

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


def difference(left: Transcript, right: Transcript) -> Difference | None:
    """The first difference between two plays, to the last bit; None where there is none."""
    first, shared = left.first, min(left.rounds, right.rounds)
    differences = []
    for name in ROUNDS:
        differences += _places(name, getattr(left, name)[:shared], getattr(right, name)[:shared])
    people = int(left.starts[shared])
    for name in PEOPLE:
        places = _places(name, getattr(left, name)[:people], getattr(right, name)[:people])
        differences += [(int(np.searchsorted(left.starts, place, side="right")) - 1, what) for place, what in places]
    for name in REPORTS:
        lists = [getattr(play, name)[: int(play.report_starts[shared])] for play in (left, right)]
        places = _places(name, *lists)
        differences += [(_round_of_report(place, left, right), what) for place, what in places]
    if differences:
        place, what = min(differences)
        return Difference(first + place, what)
    if left.rounds != right.rounds:
        return Difference(first + shared, f"one of the plays has {left.rounds:,} rounds, the other {right.rounds:,}")
    return _after(left, right, first + shared - 1)


def _round_of_report(place: int, left: Transcript, right: Transcript) -> int:
    """The round that the report at this place belongs to; in the play that has it first, or has it at all."""
    return min(int(play.report_rounds[place]) for play in (left, right) if place < len(play.report_rounds))


def _after(left: Transcript, right: Transcript, last: int) -> Difference | None:
    """What is carried on beyond the last round: the learner's state, and the sum that the average policy is."""
    left_values, right_values = _carried(left), _carried(right)
    for name, value in left_values.items():
        if not _same(np.asarray(value), np.asarray(right_values.get(name))):
            return Difference(last, f"{name} after it")
    return None


def _carried(t: Transcript) -> dict[str, Any]:
    late = t.last_half_policy
    averages = {"average policy": t.average_policy.total, "last half's average": None if late is None else late.total}
    return dict(t.state._asdict()) | averages


def _places(name: str, left: NDArray[Any], right: NDArray[Any]) -> list[tuple[int, str]]:
    """The first place where two arrays differ, if there is one."""
    if left.dtype != right.dtype or left.shape[1:] != right.shape[1:]:
        return [(0, f"{name} are of another type or shape")]
    if _same(left, right):
        return []
    shared = min(len(left), len(right))
    differs = np.flatnonzero((_bytes(left[:shared]) != _bytes(right[:shared])).any(axis=1))
    return [(int(differs[0]) if len(differs) else shared, name)]


def _same(left: NDArray[Any], right: NDArray[Any]) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=np.uint8).reshape(len(array), -1)
