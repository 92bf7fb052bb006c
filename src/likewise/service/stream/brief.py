"""The brief of a stream: what its reviewers are told before they judge, in the words of the team.

Its words stand in the log, where nothing can be erased: it names nobody.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator

from likewise.errors import require
from likewise.service.stream.declared import Checked, Declared, short

LONGEST_WORDS, LONGEST_REASON, MOST_REASONS = 2000, 40, 4
"""Characters of a part of the brief and of a reason; and how many reasons, each of which has a key."""


def words(value: Any, name: str) -> str:
    """A text of some lines, without other control characters or halves of characters."""
    fits = isinstance(value, str) and len(value) <= LONGEST_WORDS
    if not (fits and all(line.isprintable() for line in value.split("\n"))):
        require(False, name, f"be at most {LONGEST_WORDS} printable characters, in lines", short(value))
    return str(value)


def reason(value: Any, name: str) -> str:
    """A short text in one line."""
    fits = isinstance(value, str) and 0 < len(value) <= LONGEST_REASON and value.isprintable()
    require(fits, name, f"be of 1 to {LONGEST_REASON} printable characters each", short(value))
    return str(value)


Words = Annotated[str, Checked(words, {"type": "string", "maxLength": LONGEST_WORDS})]
Reason = Annotated[str, Checked(reason, {"type": "string", "minLength": 1, "maxLength": LONGEST_REASON})]


class Brief(Declared):
    """What reviewers of a stream are told before they judge.

    Examples
    --------
    >>> Brief(alike="Same income, same debts.").said
    True
    >>> Brief(reasons=["the same debts", "the same debts"])
    Traceback (most recent call last):
    ...
    likewise.errors.InvalidParameter: `reasons` must be at most 4 and all different, got 2.
    """

    decided: Words = Field(default="", title="What is decided", description="What a yes means, and for whom.")
    alike: Words = Field(
        default="", title="Who counts as alike", description="What should count between two people here, and what not."
    )
    pairs: Words = Field(
        default="", title="Pairs to report", description="Examples in words, with nobody who exists in them."
    )
    non_pairs: Words = Field(
        default="", title="No pairs to report", description="Examples of people whose answers may differ, and why."
    )
    reasons: tuple[Reason, ...] = Field(
        default=(),
        title="Reasons",
        description=f"Up to {MOST_REASONS} reasons for a report, which take the place of the usual ones.",
    )

    @field_validator("reasons")
    @classmethod
    def _few_and_different(cls, reasons: tuple[str, ...]) -> tuple[str, ...]:
        fits = len(reasons) <= MOST_REASONS and len(set(reasons)) == len(reasons)
        require(fits, "reasons", f"be at most {MOST_REASONS} and all different", len(reasons))
        return reasons

    @property
    def said(self) -> bool:
        """Whether there is anything to read."""
        return any((self.decided, self.alike, self.pairs, self.non_pairs))
