"""How many of all rounds violate? The counts of Theorem L (``likewise.theory.review``), kept while rounds come and go.

A limit is stated up to the last round before which every drawn one is answered or expired. Rounds close in any order,
so the counts of closed rounds are kept in parts, each with the open round that they come after, and the first part by
itself. When a round leaves, its own outcome and its part join the part before it. So nothing grows but with the open
rounds, and nothing is counted twice.
"""

from __future__ import annotations

from typing import Any

from likewise.service.stream.answers import Outcome
from likewise.theory import ReviewCount, add_round, review_count

ANSWERS = {"undrawn": "undrawn", "reported": "reported", "cleared": "clean", "skipped": "unanswered"}
"""What the theorem calls an outcome; one that expired, or that somebody was erased from meanwhile, is unanswered."""


def answer(outcome: Outcome, *, by_nobody: bool, erased: bool) -> str:
    """What the theorem calls what became of a round."""
    if outcome == "cleared" and by_nobody:
        return "cleared"
    if outcome == "cleared" and erased:
        return "unanswered"  # whoever looked did not see everybody
    return ANSWERS.get(outcome, "unanswered")


def one_more(
    part: ReviewCount | None, floor: float | None, q: float, outcome: str, *, twice: bool = False
) -> ReviewCount:
    """A part with one more round. The floor places the bets of rounds with q < 1, before the first of them."""
    part = review_count(1.0) if part is None else part
    return add_round(part if floor is None else part._replace(floor=floor), q, outcome, twice=twice)


def joined(part: ReviewCount | None, after: ReviewCount | None) -> ReviewCount | None:
    """Two parts together; the floor is that of rounds with q < 1, and the same where both have some.

    Examples
    --------
    >>> a, b = one_more(None, None, 1.0, "clean"), one_more(None, 0.1, 0.2, "reported")
    >>> joined(a, b).uncleared, joined(a, b).floor, joined(b, a) == joined(a, b)
    (2, 0.1, True)
    """
    if part is None or after is None:
        return after if part is None else part
    sums = (_sum(one, other) for one, other in zip(part[1:], after[1:], strict=True))
    return ReviewCount(min(part.floor, after.floor), *sums)


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        return tuple(a + b for a, b in zip(one, other, strict=True))
    return one + other


def found_later(part: ReviewCount, q: float) -> ReviewCount:
    """A part in which a round that counted as clean was reported after all.

    Examples
    --------
    >>> clean = one_more(one_more(None, 0.1, 0.2, "clean"), 0.1, 0.05, "clean")
    >>> found_later(clean, 0.05) == one_more(one_more(None, 0.1, 0.2, "clean"), 0.1, 0.05, "reported")
    True
    """
    before = add_round(review_count(part.floor), q, "clean")
    less = [_sum(one, _less(other)) for one, other in zip(part[1:], before[1:], strict=True)]
    return add_round(ReviewCount(part.floor, *less), q, "reported")


def _less(value: Any) -> Any:
    return tuple(-each for each in value) if isinstance(value, tuple) else -value


def load(data: list[Any] | None) -> ReviewCount | None:
    """A part from plain JSON values."""
    if data is None:
        return None
    return ReviewCount._make(tuple(value) if isinstance(value, list) else value for value in data)
