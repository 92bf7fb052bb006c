"""Answers about a whole stream: its settings, what its policies are made of, how it is doing."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from likewise.service.stream.answers.claims import Delay, Regret, ReviewClaim
from likewise.service.stream.answers.fields import Plain, SchemaOf
from likewise.service.stream.brief import Brief
from likewise.service.stream.settings import Settings


class StreamPage(TypedDict):
    """Names of streams, in order."""

    streams: list[str]
    next: Annotated[str | None, Field(description="What to send as `after` for the next page; null on the last.")]


class ClassPart(TypedDict):
    """Some scores of a stream's class that have the same purpose."""

    name: str
    described: Annotated[str, Field(description="What they are for, in a sentence.")]
    scores: Annotated[list[str], Field(description="Their names; none where features are cut themselves.")]
    features: Annotated[list[str], Field(description="The features that they read.")]
    cuts: Annotated[int, Field(description="How many cut-offs they have together.")]


class MadeOf(TypedDict):
    """What policies are mixed from."""

    parts: list[ClassPart]
    people: Annotated[int | None, Field(description="How many people of a sample it was fitted to; null without one.")]
    notes: Annotated[list[str], Field(description="What was left out or done differently, and why.")]
    holds: Annotated[list[str], Field(description="What the log holds of the people of the sample.")]


class StreamSummary(TypedDict):
    """What everybody who works with a stream may know of it."""

    stream: str
    settings: Annotated[Plain, SchemaOf(Settings)]
    stopped: Annotated[str | None, Field(description="The reason, while it is stopped.")]
    rounds: Annotated[int, Field(description="Rounds opened so far.")]
    outstanding: Annotated[int, Field(description="Rounds opened and not yet learned or discarded.")]


class StreamStatus(StreamSummary):
    """A stream with everything that is counted. Auditors don't see this: some counts reveal labels and verdicts."""

    learned: int
    discarded: int
    delay: Delay
    audits: Annotated[dict[str, int], Field(description="Rounds learned, by the outcome of their audits.")]
    people: int
    labels_missing: int
    labels_late: int
    labels_booked: Annotated[int, Field(description="Late labels of accepted people that the learner heard of.")]
    corrected: int
    erased: int
    refused: Annotated[int, Field(description="People in the rounds learned who got a no.")]
    returned: Annotated[int, Field(description="People in the rounds learned who already had a decision.")]
    outcome_unknown: Annotated[
        int | None,
        Field(description="Accepted people whose label never came; null where labels don't depend on decisions."),
    ]
    unseen_violations: Annotated[
        float | None,
        Field(
            description="Where auditors see decisions: an estimate of the rounds with a violation that they would have "
            "named, seen or not, as the sum over accepted reports of one divided by the pair's gap. null elsewhere."
        ),
    ]
    errors: Annotated[
        float,
        Field(description="What errors cost. An estimate where only labels of accepted people come."),
    ]
    better_constant: Annotated[
        float,
        Field(description="The same of one answer for everybody, the better one, on the same people."),
    ]
    estimated: Annotated[bool, Field(description="Whether the two are estimates.")]
    penalties: float
    regret: Regret
    reviews: ReviewClaim
    made_of: MadeOf


class BriefTold(TypedDict):
    """What reviewers are told before they judge."""

    stream: str
    version: Annotated[int, Field(description="Counts the changes; 0 if there was none.", ge=0)]
    brief: Annotated[Plain, SchemaOf(Brief)]


class Health(TypedDict):
    """How the service is."""

    status: str
