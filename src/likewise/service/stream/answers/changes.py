"""What a change answers: what became of it, and a receipt."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from likewise.service.stream.answers.fields import (
    Drawn,
    Gap,
    Outcome,
    Plain,
    Probability,
    Returning,
    RoundNumber,
    SchemaOf,
    Time,
    Version,
)
from likewise.service.stream.answers.proofs import Receipt
from likewise.service.stream.answers.streams import MadeOf
from likewise.service.stream.brief import Brief
from likewise.service.stream.settings import Review, Settings, Waits


class Answer(TypedDict):
    """What every change answers."""

    receipt: Annotated[
        Receipt | None, Field(description="For the event that was recorded; null if there was nothing new to record.")
    ]


class StreamCreated(Answer):
    """The new stream, with every setting as it was resolved."""

    stream: str
    settings: Annotated[Plain, SchemaOf(Settings)]
    made_of: MadeOf


class Decision(TypedDict):
    """The decision about one person."""

    id: str
    probability: Probability
    decision: Drawn
    returning: Returning


class RoundOpened(Answer):
    """The decisions of a new round."""

    t: RoundNumber
    version: Version
    decisions: Annotated[list[Decision], Field(description="In the order in which people were sent.")]


Disposition = Literal["joined", "pending", "late", "booked", "duplicate"]


class LabelsTaken(Answer):
    """What became of labels."""

    t: RoundNumber
    disposition: Annotated[
        Disposition,
        Field(
            description="joined: the round now has all its labels. pending: others are still missing. duplicate: all "
            "of them were known. late: the round was settled without them; they are recorded and not learned. booked: "
            "the same, but they are of accepted people in a stream that sees no other labels, and the learner hears of "
            "them."
        ),
    ]


class VerdictTaken(Answer):
    """A verdict as it was recorded."""

    t: RoundNumber
    verdict: Outcome
    pair: Annotated[list[str], Field(description="The ids of the pair, the favoured person first.")]
    gap: Gap
    final_at: Annotated[Time, Field(description="Until then the verdict can be retracted.")]
    disposition: Annotated[
        Literal["taken", "late", "duplicate"],
        Field(
            description="taken: the round waited for it. late: it did not any more; it is recorded, not learned, and "
            "counts among all rounds. duplicate: you said this very thing before."
        ),
    ]


class OpinionTaken(Answer):
    """An answer about a pair that somebody else had named."""

    t: RoundNumber
    objects: bool | None


class VerdictRetracted(Answer):
    """The round whose verdict was retracted."""

    t: RoundNumber


class VerdictCorrected(Answer):
    """A later correction. It is recorded; nothing is unlearned."""

    t: RoundNumber
    verdict: Outcome


class KnownMarked(Answer):
    """A round whose answer is known, and what it is shown again for."""

    t: RoundNumber
    use: Annotated[Literal["gold", "practice"] | None, Field(description="null if it isn't used any more.")]


class WaitsChanged(Answer):
    """All waits, as they are from now on."""

    stream: str
    waits: Annotated[Plain, SchemaOf(Waits)]


class PlanChanged(Answer):
    """The whole review plan, as it is for rounds that are opened from now on."""

    stream: str
    review: Annotated[Plain, SchemaOf(Review)]


class BriefChanged(Answer):
    """The whole brief, as it is from now on."""

    stream: str
    version: Annotated[int, Field(description="Counts the changes; the same as before if this was none.", ge=0)]
    brief: Annotated[Plain, SchemaOf(Brief)]


class StreamStopped(Answer):
    """Whether a stream is stopped, and why."""

    stream: str
    stopped: Annotated[str | None, Field(description="The reason; null if the stream is running.")]


class ReasonsErased(Answer):
    """How many reasons of stops were erased."""

    stream: str
    erased: int


class PersonErased(Answer):
    """The rounds in which somebody was erased."""

    stream: str
    rounds: list[int]
