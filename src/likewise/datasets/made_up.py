"""A made-up population with a known distance: no file, no network, any size."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.datasets.columns import needs
from likewise.datasets.comparison import cityblock
from likewise.datasets.dataset import Dataset, Datasheet
from likewise.errors import require
from likewise.protocol import Floats


def synthetic(n: int = 20_000, seed: int = 0) -> Dataset:
    """A made-up population: skill and effort earn the label, a group membership leaks into the features.

    Examples
    --------
    >>> data = synthetic(1000)
    >>> len(data), data.compare_by, data.view.shape
    (1000, ('skill', 'effort'), (1000, 2))
    """
    pd = needs("pandas")
    require(n >= 1, "n", "be at least 1", n)
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, size=n)
    skill, effort = rng.normal(size=(2, n))
    y = (skill + 0.5 * effort + (group - 0.5) + 0.5 * rng.normal(size=n) > 0).astype(float)
    people = pd.DataFrame(
        {
            "skill": skill,
            "effort": effort,
            "address": group + 0.4 * rng.normal(size=n),
            "hobby": rng.normal(size=n) - group,
            "group": group,
        }
    )
    return Dataset.ready(
        _datasheet(n, seed),
        people,
        y,
        compare_by=("skill", "effort"),
        sensitive=("group",),
        described=(
            f"{n:,} made-up people; the label depends on skill, effort and, unfairly, on a group that address and "
            "hobby give away. The hidden distance compares skill and effort, and nothing else."
        ),
        distance_described=(
            "Two people of the same skill and effort should get the same probability; one standard deviation of skill "
            "may make all the difference, one of effort half of it."
        ),
        units={"skill": 1.0, "effort": 1.0},
        weights={"skill": 1.0, "effort": 0.5},
    )


def synthetic_distance(view: Any) -> Floats:
    """The whole scale for one standard deviation of skill, half of it for one of effort; on the view of the data."""
    return cityblock(view)


def _datasheet(n: int, seed: int) -> Datasheet:
    return Datasheet(
        name="Synthetic",
        origin="Made up by Likewise from independent normal numbers; nobody in it exists.",
        rows=f"{n:,} people drawn with seed {seed}.",
        positive="1 means that skill, effort, luck and the group together were enough.",
        licence="That of Likewise.",
        problems=(
            "The label is unfair on purpose: members of group 1 reach it with less skill and effort.",
            "Real people differ in more than five independent ways; what works here may fail on them.",
        ),
        source="Computed on the spot.",
    )
