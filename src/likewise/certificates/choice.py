"""What to deploy, chosen on people who took no part in learning.

Each of J learned policies gets three claims (its error, its share of unfair pairs, that it errs less than one answer
for everybody), each with confidence 1 − δ/(3J + 1); the constant's error shares the last part. By the union bound all
of them are true at once with confidence 1 − δ, so any policy may be picked afterwards. A learned policy is
recommended only if it is *proved* to err less than both constants: a constant treats everybody alike, so a policy
that is no better in errors is worse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from likewise.protocol import Distance, Floats
from likewise.reduction import EQUAL_COSTS

FEWEST = 100
"""Held-out people below which nothing is claimed about new people."""
CONSTANTS = ("always no", "always yes")
"""The two policies that give everybody the same answer."""
TYPICAL_CLAIM = 0.05
"""The share of unfair pairs for which a letter says how many people it would take."""


class Constant(NamedTuple):
    """One answer for everybody: fair to any two people, and the least that a policy must beat.

    Examples
    --------
    >>> str(Constant(0)), Constant(1).probability([[3.0], [4.0]]).tolist()
    ('always no', [1.0, 1.0])
    """

    answer: int

    def probability(self, X: Any) -> Floats:
        """The same for everybody."""
        return np.full(len(X), float(self.answer))

    def __str__(self) -> str:
        return CONSTANTS[self.answer]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A learned policy on held-out people.

    Attributes
    ----------
    name, policy
        What it is called, and the policy itself.
    error
        Its mean loss on the held-out people whose label is known.
    error_limit
        Its expected loss on a new person is at most this; None where nothing is claimed.
    unfair
        The share of pairs of held-out people that it treats too differently; None without a distance.
    unfair_limit
        The probability that it treats two new people too differently is at most this; None where nothing is claimed.
    beats_constants
        Proved to err less than either answer for everybody.
    """

    name: str
    policy: Any = field(repr=False)
    error: float
    error_limit: float | None
    unfair: float | None
    unfair_limit: float | None
    beats_constants: bool

    def to_dict(self) -> dict[str, Any]:
        """The numbers, as plain JSON values."""
        return {name: value for name, value in vars(self).items() if name != "policy"}


@dataclass(frozen=True, eq=False)
class Choice:
    """What to deploy, and what is proved about it and about every other candidate, all at once.

    Attributes
    ----------
    recommended, policy
        The name of what to deploy, and the policy. It is a constant ("always no", "always yes") when no learned policy
        is proved better.
    candidates
        Every learned policy, in the order given.
    constant
        The better answer for everybody, 0 or 1.
    constant_error, constant_error_limit
        Its mean loss on the held-out people, and the limit for a new person (None where nothing is claimed).
    people, labelled
        How many distinct people were held out, and of how many of them the label is known.
    alpha, delta
        The level, and one minus the confidence of all claims together.
    tolerance
        The largest share of unfair pairs that was allowed; None for any.
    costs
        What a false positive and a false negative cost.
    same_rows
        Rows that equal an earlier one, where no ids tell whether they are one person.
    """

    recommended: str
    policy: Any = field(repr=False)
    candidates: tuple[Candidate, ...]
    constant: int
    constant_error: float
    constant_error_limit: float | None
    people: int
    labelled: int
    alpha: float
    delta: float
    tolerance: float | None
    costs: tuple[float, float]
    same_rows: int

    @property
    def claims_made(self) -> bool:
        """False below a hundred held-out people with a label, and where rows may be one person."""
        return self.labelled >= FEWEST and not self.same_rows

    @property
    def dominated(self) -> bool:
        """No learned policy was shown to err less than one answer for everybody."""
        return not any(candidate.beats_constants for candidate in self.candidates)

    @property
    def headline(self) -> str:
        """The first line: what to deploy, and why."""
        raise NotImplementedError

    def about(self, name: str) -> str:
        """What is claimed about one candidate; if it was not shown to beat a constant, its first sentence says so."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The choice as plain JSON values."""
        raise NotImplementedError


def choose(
    candidates: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    alpha: float,
    view: Any | None = None,
    distance: Distance | str | None = None,
    delta: float = 0.05,
    tolerance: float | None = None,
    costs: tuple[float, float] = EQUAL_COSTS,
    ids: Any | None = None,
) -> Choice:
    """What to deploy: the candidate with the least error limit among those proved better than both constants."""
    raise NotImplementedError
