"""Answers about rounds and people: what an auditor is shown, and all that is known."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from likewise.service.stream.answers.fields import (
    Drawn,
    Gap,
    Hash,
    Labelled,
    Outcome,
    Plain,
    Probability,
    Returning,
    RoundNumber,
    Status,
    Time,
    Version,
)


class PersonShown(TypedDict):
    """A person as an auditor sees them."""

    id: str
    features: Annotated[Plain, Field(description="Those that auditors see.")]
    probability: NotRequired[Probability]
    decision: NotRequired[Annotated[int, Field(description="In place of the probability, if auditors see decisions.")]]


class RoundShown(TypedDict):
    """A round as an auditor sees it: no labels, no verdicts of others, and no decisions unless that is all they see."""

    t: RoundNumber
    opened_at: Time
    level: Annotated[float, Field(description="A pair can be reported if its gap is larger than this.")]
    people: list[PersonShown]
    shown: Annotated[str, Field(description="A hash of what is shown; the log has it beside the verdict.")]
    pairs: NotRequired[
        Annotated[
            list[list[str]],
            Field(description="If auditors see decisions: the pairs that can be reported, who got a yes first."),
        ]
    ]


class RoundClaimed(RoundShown):
    """A round that is this auditor's alone until the lease ends."""

    until: Time
    yours: Annotated[bool, Field(description="Whether nobody else is asked this: it stays also when the lease ends.")]
    asks: Annotated[
        Literal["verdict", "opinion"],
        Field(description="verdict: a look at the whole round. opinion: only whether `pair` is too different."),
    ]
    pair: NotRequired[Annotated[list[str], Field(description="The pair that somebody else named, if that is asked.")]]


class PracticeRound(RoundShown):
    """A round to practise with, as a reviewer would see it; what they say is never learned and never counted."""

    left: Annotated[int, Field(description="How many there are for this reviewer, with this one.")]


class Practised(TypedDict):
    """What somebody said of a practice round, and what the known answer is."""

    t: RoundNumber
    verdict: Outcome
    right: Annotated[bool | None, Field(description="Whether the two agree; null for a skip.")]
    known: Annotated[list[list[str]], Field(description="The pairs that were upheld; empty if there is none.")]


class Lease(TypedDict):
    """How long a round stays with its auditor."""

    t: RoundNumber
    until: Time


class GivenVerdict(TypedDict):
    """A verdict, and who gave it."""

    verdict: Outcome
    by: str | None
    at: Time
    pair: Annotated[list[str | None], Field(description="The favoured person first; null for a person who was erased.")]
    gap: Gap
    reason: str
    note: str
    hints: Annotated[
        bool | None,
        Field(description="Whether they had asked why; null if unknown, and for what several verdicts come to."),
    ]
    seconds: Annotated[float | None, Field(description="For which they looked at the round; null likewise.")]


class GivenOpinion(TypedDict):
    """What somebody answered when asked about a pair that somebody else had named."""

    by: str
    at: Time
    pair: list[str | None]
    objects: Annotated[bool | None, Field(description="Whether it is too different; null for a skip.")]
    hints: Annotated[bool | None, Field(description="Whether they had asked why; null if unknown.")]
    seconds: Annotated[float | None, Field(description="For which they looked at it; null if unknown.")]


class PersonDecided(TypedDict):
    """A person in a round; without id and features once they are erased."""

    id: str | None
    features: Plain | None
    probability: Probability
    decision: Drawn
    label: int | None
    late_label: Annotated[int | None, Field(description="A label that came after its round was settled.")]
    returning: Returning
    unseen: Annotated[bool, Field(description="Whether their label stays unseen, because they were refused.")]


class Learned(TypedDict):
    """How a round was learned."""

    version: Annotated[int, Field(description="Of the policy after it.")]
    penalty: Annotated[float, Field(description="What a report weighed.")]
    delay: Annotated[int, Field(description="Rounds learned between its opening and its own learning.")]
    outstanding: Annotated[int, Field(description="Rounds that were still outstanding.")]
    waited: Annotated[float, Field(description="Seconds since it was opened.")]
    dropped: Annotated[bool, Field(description="Whether a report was lost because a person was erased.")]
    at: Time


class Draw(TypedDict):
    """What the lot said of a round before anything of its outcome was known."""

    probability: Annotated[float, Field(description="With which the round was to be drawn for review.", gt=0, le=1)]
    drawn: bool
    second: Annotated[bool, Field(description="Whether somebody else gives a second verdict.")]


class RoundRecord(TypedDict):
    """Everything that is known of a round."""

    t: RoundNumber
    status: Status
    opened_at: Time
    by: str
    version: Version
    policy: Hash
    outstanding: Annotated[int, Field(description="Rounds that were outstanding when it was opened.")]
    people: list[PersonDecided]
    labels: Annotated[Labelled | None, Field(description="null while some are missing.")]
    review: Annotated[
        Draw | None, Field(description="null where no lot was drawn: every round is reviewed, or arithmetic clears it.")
    ]
    audit: Annotated[GivenVerdict | None, Field(description="What all verdicts come to; null while that is open.")]
    verdicts: Annotated[list[GivenVerdict], Field(description="All that were asked for, and not retracted.")]
    opinions: Annotated[list[GivenOpinion], Field(description="Answers about pairs that somebody else had named.")]
    late_verdicts: Annotated[
        list[GivenVerdict],
        Field(description="Given when the round did not wait for one any more; not learned, but counted as found."),
    ]
    retracted: Annotated[int, Field(description="Verdicts that were retracted.")]
    corrections: list[GivenVerdict]
    learned: Learned | None
    known: Annotated[
        Literal["gold", "practice"] | None, Field(description="Whether it is shown again, as its answer is known.")
    ]
    known_answers: Annotated[
        list[GivenVerdict], Field(description="What reviewers said of it then. Nothing is learned from that.")
    ]


class PersonRound(PersonDecided):
    """A round as it was for one person."""

    t: RoundNumber
    opened_at: Time
    status: Status
    version: Version
    policy: Hash
    audit: Annotated[Outcome | None, Field(description="As it was corrected, if it was; null if there is none yet.")]
    reported_as: Annotated[
        Literal["favoured", "disfavoured"] | None, Field(description="null if they were not in a reported pair.")
    ]


class PersonRecord(TypedDict):
    """All decisions about one person."""

    id: str
    rounds: list[PersonRound]


class NoticeReason(TypedDict):
    """What one feature adds to a person's probability, against the mean of others."""

    column: str
    value: str
    amount: float
    most: float | None


class NoticeChange(TypedDict):
    """A change of one feature that would have raised the probability."""

    column: str
    was: str
    becomes: str
    value: float | str
    probability: float
    difference: float
    nearest: bool


class PersonNotice(TypedDict):
    """What a person may be told about a decision; ``sentences`` has it in words."""

    about: str
    probability: float
    decision: bool | None
    lot: float | None
    base: float
    compared_with: Annotated[int, Field(description="How many others `base` is the mean of.")]
    reasons: list[NoticeReason]
    estimated: Annotated[bool, Field(description="Whether the split by feature is estimated; its sum never is.")]
    changes: list[NoticeChange]
    unexplained: str
    contact: str
    policy: str
    decided_at: str
    drawn: Annotated[float, Field(description="The probability that two draws for the same person differ.")]
    sentences: dict[str, str]
