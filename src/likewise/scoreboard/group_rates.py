"""Rates of groups of people, with intervals: how often a group is selected, beside the group that is selected most.

A rate is of probabilities, not of drawn decisions. The selection rate of a group is E[π(X) | group]: the share of yeses
that the lots give on average. Error rates are E[π | group, label 0] and E[1 − π | group, label 1]. Each interval holds
with probability 1 − δ by itself, if the people are independent draws and the policy was fixed before they were looked
at: both limits of a mean are those of ``theory.error_limit``, a bettor's, each at δ/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import theory
from likewise.protocol import Floats
from likewise.wording import written

FEWEST_SHOWN = 30
"""People below which a rate of theirs is not shown: it would say little about the group, and much about each."""
MOST_LEVELS = 8
"""A column of numbers with more different values than this is compared in quarters."""


@dataclass(frozen=True)
class Rate:
    """A rate and its interval: None where it can't be computed, or where nothing is claimed about new people.

    Examples
    --------
    >>> str(Rate(0.25, 0.2, 0.31)), str(Rate(0.25)), str(Rate(None))
    ('0.250 (0.200–0.310)', '0.250', '–')
    """

    value: float | None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        between = "" if self.low is None or self.high is None else f" ({self.low:.3f}–{self.high:.3f})"
        return "–" if self.value is None else f"{self.value:.3f}{between}"


def limits(x: Any, delta: float) -> tuple[float, float]:
    """Limits for a mean from values in [0, 1], each side at δ; values that can only be 0 or 1 come as whole numbers.

    Examples
    --------
    >>> low, high = limits(np.array([0, 1, 1, 1]), 0.025)
    >>> round(low, 3), round(high, 3)
    (0.194, 0.994)
    """
    return 1.0 - theory.error_limit(1 - np.asarray(x), delta), theory.error_limit(x, delta)


def rate(x: Any, delta: float | None) -> Rate:
    """A mean with its interval; with δ None the mean alone, and nothing for fewer than 30 people."""
    if len(x) < FEWEST_SHOWN:
        return Rate(None)
    mean = float(np.mean(x))
    return Rate(mean) if delta is None else Rate(mean, *limits(x, delta / 2))


def impact_ratios(by_group: Sequence[Any], delta: float | None) -> list[Rate]:
    """The selection rate of each group over the largest of any group, μ_g / max_h μ_h, with intervals.

    For one h, [L_g/U_h, U_g/L_h] from limits at δ/4 each holds μ_g/μ_h on either side with probability 1 − δ/2. The
    largest is that of some h, whichever it is: so the least of the lower limits is one for the ratio. The ratio is the
    least of all μ_g/μ_h: so, with δ shared by the G − 1 others, the least of the upper limits is one as well, and 1 is
    always one. Nobody has to know which group is selected most.

    Examples
    --------
    >>> [rate.value for rate in impact_ratios([np.full(40, 0.2), np.full(40, 0.4)], None)]
    [0.5, 1.0]
    """
    means = [float(np.mean(x)) for x in by_group]
    largest = max(means, default=0.0)
    if largest == 0 or len(means) < 2:
        return [Rate(None)] * len(means)
    if delta is None:
        return [Rate(mean / largest) for mean in means]
    wide = [limits(x, delta / 4) for x in by_group]
    others = len(means) - 1
    shared = wide if others == 1 else [limits(x, delta / 4 / others) for x in by_group]
    return [
        Rate(mean / largest, *_between(g, wide, shared)) for g, mean in enumerate(means)
    ]  # fmt: skip


def _between(g: int, wide: Sequence[tuple[float, float]], shared: Sequence[tuple[float, float]]) -> tuple[float, float]:
    others = [h for h in range(len(wide)) if h != g]
    low = min(wide[g][0] / wide[h][1] for h in others)
    high = min(shared[g][1] / shared[h][0] if shared[h][0] > 0 else 1.0 for h in others)
    return min(1.0, low), min(1.0, high)


def members(values: Any) -> dict[str, NDArray[np.intp]]:
    """Who is in which group: by level, the largest group first; numbers with many values in quarters, the lowest first.

    Examples
    --------
    >>> {name: rows.tolist() for name, rows in members(["a", None, "b", "b"]).items()}
    {'b': [2, 3], 'a': [0], 'missing': [1]}
    >>> list(members(np.arange(20.0)))
    ['below 4.75', '4.75 to below 9.5', '9.5 to below 14.25', '14.25 or more']
    """
    import pandas as pd

    column = pd.Series(values).reset_index(drop=True)
    if pd.api.types.is_numeric_dtype(column.dtype) and column.nunique() > MOST_LEVELS:
        return _quarters(column.to_numpy(dtype=float, na_value=np.nan))
    names = column.astype(object).map(lambda value: "missing" if pd.isna(value) else written(value)).to_numpy()
    levels, counts = np.unique(names.astype(str), return_counts=True)
    return {str(levels[i]): np.flatnonzero(names == levels[i]) for i in np.argsort(-counts, kind="stable")}


def _quarters(values: Floats) -> dict[str, NDArray[np.intp]]:
    cuts = np.unique(np.nanquantile(values, [0.25, 0.5, 0.75]))
    cuts = cuts[cuts > np.nanmin(values)]
    place = np.where(np.isnan(values), len(cuts) + 1, np.searchsorted(cuts, values, side="right"))
    edges = [written(cut) for cut in cuts]
    inside = [f"{low} to below {high}" for low, high in pairwise(edges)]
    names = [f"below {edges[0]}", *inside, f"{edges[-1]} or more", "missing"] if edges else ["everybody", "missing"]
    groups = {name: np.flatnonzero(place == i) for i, name in enumerate(names)}
    return {name: rows for name, rows in groups.items() if len(rows)}
