"""People who took no part in learning: each once, with what is known of them, and the losses of a policy on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import theory
from likewise.environments import as_labels, people_numbers, same_rows
from likewise.errors import require, require_number
from likewise.hindsight.compared import taken
from likewise.protocol import Floats
from likewise.reduction import EQUAL_COSTS
from likewise.wording import plural

FEWEST = 100
"""Held-out people below which nothing is claimed about new people."""
CONSTANTS = ("always no", "always yes")
"""The two policies that give everybody the same answer, 0 and 1."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Distinct people, as tables with a row for each.

    Attributes
    ----------
    X, y, view
        As a policy takes them, their labels (NaN where missing), and what they are compared by.
    rows
        Which rows of the tables that were given.
    same_rows
        Rows that equal an earlier one, where no ids tell whether they are one person.

    Examples
    --------
    >>> people = HeldOut.of([[1.0], [2.0], [2.0]], [0, 1, 1], ids=["Ada", "Bo", "Bo"])
    >>> people.rows.tolist(), people.labelled, people.same_rows
    ([0, 1], 2, 0)
    """

    X: Any
    y: Floats
    view: Any
    rows: NDArray[np.intp]
    same_rows: int

    @classmethod
    def of(cls, X: Any, y: Any, view: Any | None = None, ids: Any | None = None) -> HeldOut:
        """Of rows with the same id the first one counts; without ids every row is a person."""
        people = X if hasattr(X, "iloc") else np.asarray(X)
        labels = as_labels(y, len(people))
        seen = people if view is None else view if hasattr(view, "iloc") else np.asarray(view)
        require(len(seen) == len(people) > 0, "view", f"have a row for each of {len(people)} people", len(seen))
        rows = np.sort(np.unique(people_numbers(ids, len(people)), return_index=True)[1])
        again = same_rows(people, labels, *([] if view is None else [seen])) if ids is None else 0
        return cls(people, labels, seen, np.arange(len(people)), again).take(rows)

    def take(self, positions: Any) -> HeldOut:
        """Some of them."""
        rows = self.rows[positions]
        return replace(
            self, X=taken(self.X, positions), y=self.y[positions], view=taken(self.view, positions), rows=rows
        )

    def __len__(self) -> int:
        return len(self.y)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whose label is known."""
        return np.isfinite(self.y)

    @property
    def labelled(self) -> int:
        """Of how many the label is known."""
        return int(self.known.sum())

    @property
    def speak(self) -> bool:
        """Whether claims about new people can rest on them: enough, and surely distinct."""
        return self.labelled >= FEWEST and not self.same_rows

    @property
    def counted(self) -> str:
        """How many there are, in words: rows, where nobody knows which of them are one person."""
        return counted(len(self), self.same_rows)

    def probabilities(self, policy: Any) -> Floats:
        """What a policy gives each of them."""
        given = np.asarray(policy.probability(self.X), dtype=float)
        return checked_probabilities(given, len(self))


def counted(people: int, same_rows: int) -> str:
    """How many people there are; rows of people, where some are the same and nobody knows which are one person.

    Examples
    --------
    >>> counted(100, 0), counted(500, 400)
    ('100 people', '500 rows of people')
    """
    return plural(people, "row of people", "rows of people") if same_rows else plural(people, "person", "people")


def checked_probabilities(given: Any, people: int) -> Floats:
    """One number in [0, 1] per person, or a refusal."""
    p = np.asarray(given, dtype=float)
    require(p.shape == (people,), "probability", f"give one number for each of {people} people", f"shape {p.shape}")
    # Sums of weights may exceed 1 by rounding.
    fine = bool(((p >= -1e-9) & (p <= 1 + 1e-9)).all())
    require(fine, "probability", "give numbers in [0, 1]", None if fine else f"{p.min()} … {p.max()}")
    return np.asarray(np.clip(p, 0.0, 1.0))


def checked_costs(costs: tuple[float, float]) -> tuple[float, float]:
    """What a false positive and a false negative cost, not both nothing."""
    for cost in costs:
        require_number(cost, "costs", 0)
    require(max(costs) > 0, "costs", "hold a positive number", costs)
    return float(costs[0]), float(costs[1])


def losses(p: Floats, y: Floats, costs: tuple[float, float] = EQUAL_COSTS) -> Floats:
    """ℓ(p, y) = c_fp p (1 − y) + c_fn (1 − p) y: what each decision is expected to cost. Labels may be probabilities.

    Examples
    --------
    >>> losses(np.array([0.25, 0.25]), np.array([0.0, 1.0]), costs=(1.0, 2.0)).tolist()
    [0.25, 1.5]
    """
    return np.asarray(costs[0] * p * (1.0 - y) + costs[1] * (1.0 - p) * y)


def loss_limit(p: Floats, y: Floats, costs: tuple[float, float], delta: float) -> float:
    """The expected loss of a new person is at most this; losses are scaled to [0, 1] by the larger cost."""
    largest = max(costs)
    return largest * theory.error_limit(losses(p, y, costs) / largest, delta)


def loss_floor(p: Floats, y: Floats, costs: tuple[float, float], delta: float) -> float:
    """The expected loss of a new person is at least this."""
    largest = max(costs)
    return largest * (1.0 - theory.error_limit(1.0 - losses(p, y, costs) / largest, delta))


def better_constant(y: Floats, costs: tuple[float, float] = EQUAL_COSTS) -> int:
    """The answer that costs less if everybody gets it.

    Examples
    --------
    >>> y = np.array([0.0, 0.0, 1.0])
    >>> better_constant(y), better_constant(y, costs=(1.0, 3.0))
    (0, 1)
    """
    return int(costs[0] * float((1.0 - y).sum()) < costs[1] * float(y.sum()))


def constant_loss_interval(answer: int, y: Floats, costs: tuple[float, float], delta: float) -> tuple[float, float]:
    """Between what and what a new person's expected loss lies, if everybody gets this answer.

    Its losses can only be 0 or one cost, so both sides are exact binomial limits, each at δ/2.
    """
    wrong, n = int((y != answer).sum()), len(y)
    cost = costs[1 - answer]
    return cost * (1.0 - theory.holdout(n - wrong, n, delta / 2)), cost * theory.holdout(wrong, n, delta / 2)
