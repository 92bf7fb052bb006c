"""A learner written down in the log, so that the log can be read on from there once people of earlier rounds are gone.

Numbers are packed: little-endian bytes, those of the same significance together (signs and exponents repeat), by zlib,
in base64. Every bit survives. Of a report that the learner keeps, the log holds who it was about, by reference, and
never who they are or where they lay between the cuts: that is read from what is kept beside the log, as long as it is
there.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import require
from likewise.protocol import Rows
from likewise.service.stream.learner import Model, person_number

EVERY = 25
"""Rounds learned between two checkpoints, at least: whoever is erased costs the replay of no more than that."""
BYTES_A_ROUND = 200
"""What checkpoints may add to the log for each round, on average; a round itself leaves about 2,000 bytes."""
ROWS_LAST = 2000
"""Rounds after which a checkpoint freezes a report: what a reported person costs the replay once they are erased."""
MOST = 2**28
"""Bytes of one part of a learner's state, unpacked."""


class KeptPair(NamedTuple):
    """A report that the learner keeps: the number of the lesson, its row in hexadecimal digits, and its two people.

    ``people`` are their numbers in the learner's state, which tell apart two pairs that lay alike between the cuts.
    """

    made: int
    row: str
    people: tuple[int, int]
    refs: tuple[str, str]


class LastCheckpoint(NamedTuple):
    """The newest learner checkpoint of a log.

    Attributes
    ----------
    version
        Rounds learned before it.
    size
        Its bytes in the log.
    since
        Of every round that was learned after it, and of every label booked after it, the number is at least this.
    """

    version: int = 0
    size: int = 0
    since: int = 1

    def due(self, learned: int) -> bool:
        """Whether it is time for the next one."""
        return learned - self.version >= max(EVERY, self.size // BYTES_A_ROUND)


def packed(numbers: NDArray[Any]) -> str:
    """Numbers as text.

    Examples
    --------
    >>> len(packed(np.zeros(1000))) < 100, unpacked(packed(np.arange(3.0)), np.empty(0)).tolist()
    (True, [0.0, 1.0, 2.0])
    """
    flat = np.ascontiguousarray(numbers, dtype=numbers.dtype.newbyteorder("<")).reshape(-1)
    by_significance = flat.view(np.uint8).reshape(flat.size, flat.itemsize).T
    return base64.b64encode(zlib.compress(by_significance.tobytes())).decode()


def unpacked(text: str, like: NDArray[Any]) -> NDArray[Any]:
    """The numbers again, as rows of the same type and length as another array has."""
    inflate = zlib.decompressobj()
    data = inflate.decompress(base64.b64decode(text, validate=True), MOST)
    require(inflate.eof, "learner", f"hold parts of at most {MOST} bytes, each packed as a whole", len(text))
    by_significance = np.frombuffer(data, dtype=np.uint8).reshape(like.dtype.itemsize, -1)
    flat = np.ascontiguousarray(by_significance.T).view(like.dtype.newbyteorder("<")).reshape(-1)
    return flat.astype(like.dtype).reshape(-1, *like.shape[1:])


def _beside(model: Model) -> set[str]:
    """What describes the people of kept reports, and so is no part of a state in the log."""
    return {"contrasts", "people"} if model.knows_people else {"contrasts"}


def written(model: Model, learner: Any) -> dict[str, Any]:
    """A learner's state as it stands in the log: all of it but what describes the people of its kept reports."""
    parts = {name: value for name, value in learner._asdict().items() if name not in _beside(model)}
    return {name: packed(value) if isinstance(value, np.ndarray) else value for name, value in parts.items()}


def read(model: Model, parts: Mapping[str, Any], rows: Sequence[Rows], ids: Sequence[Sequence[str | None]]) -> Any:
    """The learner's state again; ``rows`` are the encoded people of each kept report, and ``ids`` who they are."""
    start, beside = model.blank, _beside(model)
    values = {
        name: unpacked(parts[name], like) if isinstance(like, np.ndarray) else type(like)(parts[name])
        for name, like in start._asdict().items()
        if name not in beside
    }
    require(parts.keys() == values.keys(), "learner", "hold the parts of its state", sorted(parts))
    if model.keeps_reports:
        contrasts = [model.hypotheses.contrast(pair) for pair in rows]
        require(len(contrasts) == len(values["made"]), "pairs", "name the people of every kept report", len(contrasts))
        values["contrasts"] = np.array(contrasts, dtype=start.contrasts.dtype).reshape(-1, *start.contrasts.shape[1:])
    if model.knows_people:
        values["people"] = np.array([list(map(person_number, pair)) for pair in ids], dtype=np.int64).reshape(-1, 2)
    return type(start)(**values)


def pairs_of(learner: Any, known: Collection[KeptPair]) -> list[list[KeptPair]]:
    """Of each kept report of a learner, whom it was about.

    Several pairs, if they lay alike between the cuts and the learner doesn't know who they are.
    """
    by_row: dict[tuple[Any, ...], list[KeptPair]] = {}
    for pair in known:
        by_row.setdefault(pair[:3], []).append(pair)
    return [by_row.get(row, []) for row in kept_rows(learner)]


def kept_rows(learner: Any) -> list[tuple[int, str, tuple[int, int]]]:
    """What names each kept report of a learner, as a ``KeptPair`` does."""
    parts = zip(learner.made.tolist(), learner.contrasts, learner.people.tolist(), strict=True)
    return [(made, row.tobytes().hex(), (first, second)) for made, row, (first, second) in parts]


def to_freeze(learner: Any, pairs: Sequence[Sequence[KeptPair]], gone: Collection[str] = ()) -> NDArray[np.bool_]:
    """Which kept reports a checkpoint freezes: old ones, and those about somebody who is erased."""
    old = learner.made <= learner.rounds - ROWS_LAST
    about = [not row or any(ref in gone for pair in row for ref in pair.refs) for row in pairs]
    return np.asarray(old | np.array(about, dtype=bool), dtype=bool)
