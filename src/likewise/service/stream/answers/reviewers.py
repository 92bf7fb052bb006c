"""How good reviewers are: what is counted of each of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from likewise.service.stream.answers.claims import Agreement, KnownAnswers
from likewise.service.stream.answers.fields import RoundNumber


class Share(TypedDict):
    """A share with its limits, and how many rounds it rests on."""

    rounds: int
    share: Annotated[float | None, Field(description="null where it rests on too few rounds to say.")]
    least: float
    most: float


class ReviewerFigures(TypedDict):
    """What one reviewer answered in rounds that are over. Nobody is ranked by any of it."""

    name: str
    verdicts: int
    reported: int
    cleared: int
    skipped: int
    judged_twice: Annotated[int, Field(description="Rounds that somebody else judged, too, as a lot had said.")]
    confirmed: Annotated[
        Share, Field(description="Of rounds that one of the two reported: the share of reports that the other made.")
    ]
    confirmed_with_hints: Annotated[Share, Field(description="Of those, where one of the two had asked why.")]
    confirmed_without_hints: Annotated[Share, Field(description="All others.")]
    upheld: Annotated[Share, Field(description="Of their reports in rounds judged twice: the share that counted.")]
    finds: Annotated[
        Share,
        Field(
            description="Of what the other found and was upheld: the share that they found, too. It is too large where "
            "rounds differ in how easy they are."
        ),
    ]
    finds_known: Annotated[Share, Field(description="Of known rounds with a violation: the share that they found.")]
    false_known: Annotated[Share, Field(description="Of known rounds without one: the share that they reported.")]
    seconds: Annotated[
        float | None, Field(description="The median of their newest looks, as far as it is known; null with too few.")
    ]
    misses_more: Annotated[
        bool,
        Field(
            description="Whether they miss more known rounds than one in ten. On average it is said wrongly once in "
            "200 known rounds at most."
        ),
    ]
    became_faster: Annotated[
        bool, Field(description="Whether they look for a much shorter time than at first: a reason for a talk.")
    ]


class ByFeature(TypedDict):
    """How reviewers agree on reports of two people who differ in a feature."""

    feature: str
    confirmed: Share


class MarkedRound(TypedDict):
    """A round whose answer is known."""

    t: RoundNumber
    use: Literal["gold", "practice"]
    violating: bool


class Reviewers(TypedDict):
    """Everybody who judged a round of a stream, by name, and how they agree."""

    stream: str
    least: Annotated[int, Field(description="Rounds from which on a share is told.")]
    confidence: float
    reviewers: list[ReviewerFigures]
    features: Annotated[list[ByFeature], Field(description="By the newest reports.")]
    agreement: Annotated[Agreement | None, Field(description="Of all together; null while no round was judged twice.")]
    known: Annotated[KnownAnswers | None, Field(description="Of all together; null while none was answered.")]
    marked: Annotated[list[MarkedRound], Field(description="The known rounds, and what they are used for.")]
