"""What people's answers about drawn pairs prove: an interval, and what it assumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from likewise import theory
from likewise.file_review.draws import Drawn
from likewise.wording import at_least, at_most, plural


@dataclass(frozen=True)
class Claim:
    """How many pairs reviewers find too different, from a random draw.

    Attributes
    ----------
    draws, found, unanswered
        Draws, those whose pair was found too different, and those whose pair nobody judged.
    lower, upper
        With confidence 1 − δ the share of pairs that the reviewers would find too different is between them: exact
        binomial limits, each at δ/2, times the share that a draw stands for. What nobody judged counts as too different
        for the upper limit and as fine for the lower one.
    delta
        One minus the confidence.
    about
        "file" or "new", as drawn.
    people
        In the file.
    alpha
        Pairs whose scores differ by at most this count as fine.
    """

    draws: int
    found: int
    unanswered: int
    lower: float
    upper: float
    delta: float
    about: str
    people: int
    alpha: float

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to be true for the claim."""
        judged = "Whoever judged a pair judged it as they would have judged any other, and not by how the audit goes."
        if self.about == "file":
            drawn = (
                "The pairs were drawn by this program with the seed that is written down, and nobody chose another one "
                "after seeing the pairs."
            )
            return drawn, "It is about these people and these scores, and says nothing of others.", judged, self._fine
        drawn = (
            f"The {self.people:,} people of the file are independent draws from those whom the claim is about, and the "
            "scorer was made without them."
        )
        return drawn, "The pairs were drawn with the seed that is written down.", judged, self._fine

    @property
    def _fine(self) -> str:
        return f"Two people whose scores differ by at most {self.alpha:g} count as treated alike."

    @property
    def sentence(self) -> str:
        """The claim."""
        whose = f"all pairs of these {self.people:,} people" if self.about == "file" else "pairs of new people"
        skipped = f" Nobody judged {plural(self.unanswered, 'draw')}; they count against it." if self.unanswered else ""
        return (
            f"{self.found:,} of {plural(self.draws, 'draw')} found too different. With {1 - self.delta:.0%} confidence "
            f"reviewers would find between {at_least(100 * self.lower, 2)}% and {at_most(100 * self.upper, 2)}% of "
            f"{whose} too different.{skipped}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Numbers and sentences, as plain JSON values."""
        return asdict(self) | {"sentence": self.sentence, "assumptions": list(self.assumptions)}


def claimed(
    drawn: Drawn, answers: Mapping[tuple[int, int], bool | None], people: int, delta: float, alpha: float
) -> Claim:
    """What the answers prove; a pair without an answer was not judged."""
    found = _times(drawn, answers, True)
    unanswered = _times(drawn, answers, None)
    if drawn.draws == 0:  # no pair is open, so none can be too different
        return Claim(0, 0, 0, 0.0, 0.0, delta, drawn.about, people, alpha)
    upper = drawn.share * theory.holdout(found + unanswered, drawn.draws, delta / 2)
    lower = drawn.share * (1.0 - theory.holdout(drawn.draws - found, drawn.draws, delta / 2))
    return Claim(drawn.draws, found, unanswered, lower, upper, delta, drawn.about, people, alpha)


def _times(drawn: Drawn, answers: Mapping[tuple[int, int], bool | None], answer: bool | None) -> int:
    pairs: Sequence[tuple[tuple[int, int], int]] = list(zip(drawn.pairs, drawn.times, strict=True))
    return sum(times for pair, times in pairs if answers.get(pair) is answer)
