"""People in three parts: to fit models and cut-offs on, to play with, and to hold out.

A claim about new people needs people who took no part in learning, and a person with several rows takes part with each
of them: people are split, never rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import require
from likewise.wording import plural

SHARES = (25.0, 25.0, 50.0)
"""Fit, play and hold out, in percent: half of what one knows goes into knowing how good it is."""
PARTS = ("to fit", "to play", "held out")


class Split(NamedTuple):
    """The rows of each part, in the order of the file, and how many people they are.

    Attributes
    ----------
    fit, play, held_out
        Positions of rows.
    people
        How many distinct people each of the three parts has.
    """

    fit: NDArray[np.intp]
    play: NDArray[np.intp]
    held_out: NDArray[np.intp]
    people: tuple[int, int, int]

    def __str__(self) -> str:
        parts = ", ".join(f"{count:,} {part}" for count, part in zip(self.people, PARTS, strict=True))
        return f"{plural(sum(self.people), 'person', 'people')}: {parts}"


def split_people(ids: Any, shares: Sequence[float] = SHARES, seed: int = 0) -> Split:
    """Split people at random into those to fit on, those to play with and those held out.

    Parameters
    ----------
    ids
        Who each row is; rows with the same id are one person. A whole number n is n rows of as many people.
    shares
        What each part gets, in percent; 0 for a part that nobody is in.
    seed
        Determines who is where.

    Examples
    --------
    >>> print(split_people(1000))
    1,000 people: 250 to fit, 250 to play, 500 held out
    >>> split = split_people(["ann", "bob", "ann", "cy"], (50, 50, 0))
    >>> split.people, sorted([*split.fit.tolist(), *split.play.tolist()])
    ((2, 1, 0), [0, 1, 2, 3])
    """
    fine = len(shares) == 3 and all(0 <= share <= 100 for share in shares) and abs(sum(shares) - 100) < 1e-9
    require(fine, "split", "be three shares from 0 to 100 that add up to 100, like 25,25,50", _listed(shares))
    person = np.arange(ids) if isinstance(ids, (int, np.integer)) else _numbered(ids)
    people = int(person.max(initial=-1)) + 1
    require(people > 0, "ids", "name at least one person", people)
    sizes = _sizes(people, shares)
    part_of = np.empty(people, dtype=np.intp)
    part_of[np.random.default_rng(seed).permutation(people)] = np.repeat(np.arange(3), sizes)
    fit, play, held_out = (np.flatnonzero(part_of[person] == part) for part in range(3))
    return Split(fit, play, held_out, sizes)


def _numbered(ids: Any) -> NDArray[np.intp]:
    """0, 1, 2, … for each id, the same for the same one."""
    import pandas as pd

    codes: NDArray[np.intp] = pd.factorize(np.asarray(ids).ravel())[0].astype(np.intp)
    require(bool((codes >= 0).all()), "ids", "be known for every row", f"{int((codes < 0).sum())} missing")
    return codes


def _sizes(people: int, shares: Sequence[float]) -> tuple[int, int, int]:
    """Whole numbers of people as near to the shares as can be; whoever is left over goes to the largest remainders."""
    exact = np.array(shares, dtype=float) * people / 100
    sizes = np.floor(exact + 1e-9).astype(int)
    for part in np.argsort(sizes - exact, kind="stable")[: people - int(sizes.sum())]:
        sizes[part] += 1
    fit, play, held_out = sizes.tolist()
    return fit, play, held_out


def _listed(shares: Sequence[float]) -> str:
    return ",".join(f"{share:g}" for share in shares)
