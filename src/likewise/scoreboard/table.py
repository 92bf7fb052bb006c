"""The scoreboard: how good a policy is, beside what anybody could do with no skill and with all of it.

One table, the same everywhere. It computes nothing: ``scoreboard`` fills it in. Renderers need ``header`` and ``cells``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """A policy's numbers.

    Attributes
    ----------
    name
        What it is called.
    error
        Mean loss under the labels that happened; None where no label is known.
    error_low, error_high
        An interval for a new person's expected loss; None where nothing is claimed about new people.
    expected_error
        Mean loss expected under the cross-fitted label probabilities, on ``Scoreboard.limit_people`` people; None where
        no such probabilities could be fitted.
    unfair
        The share of pairs apart by more than their distance + α; None where no distance is known.
    unfair_low, unfair_high
        An interval for two new people; None where nothing is claimed about new people.
    lot
        Mean 2π(1 − π): the probability that two draws for the same person differ.
    told
        What it was told: "labels", "pairs", "everything", or "" where nobody knows.
    bold
        Whether this is the policy that the table is about.
    exact
        Whether it is a limit, computed on these very people, and no policy for new ones.
    """

    name: str
    error: float | None
    error_low: float | None
    error_high: float | None
    expected_error: float | None
    unfair: float | None
    unfair_low: float | None
    unfair_high: float | None
    lot: float
    told: str
    bold: bool = False
    exact: bool = False


@dataclass(frozen=True)
class Scoreboard:
    """The table, and what is said below it.

    Attributes
    ----------
    rows
        Policies, in the order in which they are shown.
    people
        How many distinct people the errors, unfair pairs and lots are on.
    of_whom
        A sentence about them.
    alpha, delta
        The level, and one minus the confidence of each interval by itself.
    share_of_gain
        (constant − this policy) / (constant − best of any kind), all three expected errors on the same people; None
        where ``no_share`` says why.
    no_share
        Why there is no share: "too little to win", or what is missing; "" where there is one.
    limit_people
        How many people the exact rows and the expected errors are on; 0 where there are none.
    notes
        Sentences that belong below the table.
    """

    rows: tuple[Row, ...]
    people: int
    of_whom: str
    alpha: float
    delta: float
    share_of_gain: float | None
    no_share: str
    limit_people: int
    notes: tuple[str, ...] = ()

    def header(self) -> tuple[str, ...]:
        """Titles of the columns, as plain text."""
        raise NotImplementedError

    def cells(self) -> tuple[tuple[str, ...], ...]:
        """What stands in each row, as plain text, in the order of ``header``."""
        raise NotImplementedError

    def markdown(self) -> str:
        """The table and its notes in Markdown; this policy's row is bold."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The numbers, as plain JSON values."""
        raise NotImplementedError
