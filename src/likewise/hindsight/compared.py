"""People of a program: who they are compared with, how far apart they are, and how likely their labels are."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.auditors import NamedMetric, named_metric
from likewise.errors import InvalidParameter, require
from likewise.protocol import Distance, Floats

BLOCK = 1024
"""People whose distances are asked for at once."""
MOST = 20_000
"""Distinct people whose distances are kept: 3.2 GB of numbers."""


def probabilities_of_labels(given: Any, people: int) -> Floats:
    """One number in [0, 1] per person, or a refusal."""
    q = np.asarray(given, dtype=float)
    require(people > 0, "view", "hold at least one person", people)
    require(q.shape == (people,), "label_probabilities", f"hold one number for each of {people} people", q.shape)
    fine = bool(((q >= 0) & (q <= 1)).all())
    require(fine, "label_probabilities", "be in [0, 1]", None if fine else float(q[~((q >= 0) & (q <= 1))][0]))
    return q


def taken(table: Any, positions: Any) -> Any:
    """Rows of a dataframe or an array by their positions."""
    return table.iloc[positions] if hasattr(table, "iloc") else np.asarray(table)[positions]


def pairwise_distances(view: Any, distance: Distance | str) -> Floats:
    """All distances, asked for block by block."""
    compare = named_metric(distance) if isinstance(distance, str) else distance
    require(callable(compare), "distance", "be a callable or the name of a SciPy metric", distance)
    n = len(view)
    require(n <= MOST, "view", f"hold at most {MOST:,} distinct people", n)
    if isinstance(compare, NamedMetric):
        return checked_distances(compare, view)
    apart = np.empty((n, n))
    blocks = [np.arange(start, min(n, start + BLOCK)) for start in range(0, n, BLOCK)]
    for number, one in enumerate(blocks):
        apart[np.ix_(one, one)] = checked_distances(compare, taken(view, one))
        for other in blocks[:number]:
            both = checked_distances(compare, taken(view, np.concatenate([one, other])))
            apart[np.ix_(one, other)] = both[: len(one), len(one) :]
            apart[np.ix_(other, one)] = both[len(one) :, : len(one)]
    return apart


def checked_distances(distance: Distance, view: Any) -> Floats:
    """The (k, k) distances of a view, or a refusal."""
    apart, k = np.asarray(distance(view), dtype=float), len(view)
    if apart.shape != (k, k) or not apart.min() >= 0:
        got = f"shape {apart.shape}" if apart.shape != (k, k) else f"smallest entry {apart.min()}"
        raise InvalidParameter(f"`distance` must give {k} × {k} distances, at least 0, got {got}.")
    return apart
