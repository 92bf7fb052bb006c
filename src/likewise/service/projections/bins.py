"""Bins: neighbouring rounds, added up as they are read, so that no picture costs more the longer a stream runs.

All have the same width, a power of two. Where there would be too many, every two become one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

BINS = 50
"""The most points of a curve."""
Row = Mapping[str, Any]
MAXIMA = (0, 15)
"""Places of the sums where there is a largest instead: the last round, and the longest delay (-1 for none)."""


class Bin(NamedTuple):
    """Neighbouring rounds, added up: ``last`` is the number of the last of them.

    ``by_lot`` is Σ 2π(1 − π) over everybody who got a decision: how many would get another answer by another lot.
    """

    last: int
    rounds: int
    learned: int
    violations: int
    reports: int
    reviewed: int
    decided: int
    by_lot: float
    people: int
    labelled: int
    error: float
    delay: float | None
    delay_max: int | None
    waited: float | None


def told(sums: Sequence[Any]) -> Bin:
    """A bin as pictures want it, from its sums.

    Examples
    --------
    >>> round_ = {"round": 3, "people": 2, "by_lot": 0.5, "status": "learned", "verdict": "reported", "gap": 0.4}
    >>> round_ |= {"labelled": 2, "error": 1.0, "delay": 4, "waited": None}
    >>> told(shares(round_, alpha=0.1)).delay, told(shares(round_, alpha=0.5)).violations
    (4.0, 0)
    """
    delay, delays, waited, waits, longest = sums[11:]
    means = [total / many if many else None for total, many in ((delay, delays), (waited, waits))]
    return Bin._make([*sums[:11], means[0], None if longest < 0 else longest, means[1]])


def shares(row: Row, alpha: float) -> list[Any]:
    """What one round adds to its bin."""
    done, delay, waited = row["status"] == "learned", row["delay"], row["waited"]
    return [
        row["round"],
        1,
        int(done),
        int(row["gap"] is not None and row["gap"] > alpha),
        int(row["verdict"] == "reported"),
        int(row["verdict"] in ("reported", "cleared")),
        row["people"],
        float(row["by_lot"]),
        row["people"] if done else 0,
        row["labelled"] if done else 0,
        float(row["error"] or 0.0) if done else 0.0,
        delay or 0,
        int(delay is not None),
        float(waited or 0.0),
        int(waited is not None),
        -1 if delay is None else delay,
    ]


NONE = [0] * 15 + [-1]
"""The sums of no rounds."""


def added(width: int, bins: Sequence[Sequence[Any]], old: Iterable[Row], new: Iterable[Row], alpha: float) -> Any:
    """(width, bins) once ``new`` rows are in the place of ``old`` ones."""
    after = [list(sums) for sums in bins]
    for row in old:  # neither the last round nor the longest delay ever becomes less
        _add(after[(row["round"] - 1) // width], shares(row, alpha), -1)
    for row in new:
        place = (row["round"] - 1) // width
        after += [list(NONE) for _ in range(len(after), place + 1)]
        _add(after[place], shares(row, alpha), 1)
    while len(after) > BINS:
        width, after = 2 * width, _halved(after)
    return width, after


def _add(sums: list[Any], more: Sequence[Any], sign: int) -> None:
    for i, value in enumerate(more):
        sums[i] = max(sums[i], value) if i in MAXIMA else sums[i] + sign * value


def _halved(bins: list[list[Any]]) -> list[list[Any]]:
    """Every two bins as one."""
    for first, second in zip(bins[::2], bins[1::2], strict=False):
        _add(first, second, 1)
    return bins[::2]
