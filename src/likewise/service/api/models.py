"""The bodies of requests and responses, as the OpenAPI document shows them.

They say what JSON must look like; what it must mean (which features there are, which pair can be a violation) is
checked by the engine, whose sentences know the stream.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

Text = Annotated[StrictStr, Field(min_length=1, max_length=200)]
Number = StrictFloat | StrictInt
Value = Annotated[Number | StrictStr, Field(description="A number, or a level of a category.")]
Words = Annotated[StrictStr, Field(max_length=2000)]


class Body(BaseModel):
    """A request body: nothing that isn't named here."""

    model_config = ConfigDict(extra="forbid")


class FeatureBody(Body):
    """One thing known of every person."""

    name: Text
    kind: Literal["number", "category"] = "number"
    levels: list[Text] = []
    shown: bool = Field(True, description="Whether auditors see it, unless it is sensitive.")
    sensitive: bool = Field(False, description="Whether it must not justify a difference; auditors never see it.")
    compare: bool = Field(False, description="Whether auditors should compare people by it: they see it first.")


class WaitsBody(Body):
    """How long a round waits, in seconds, and what happens then."""

    audit: Number | None = Field(
        default=None, description="From its opening until its audit expires; null waits for ever."
    )
    label: Number | None = Field(
        default=None, description="From its opening until missing labels expire; null for ever."
    )
    audit_end: Literal["learn", "discard"] = Field(
        default="learn", description="What becomes of a round not audited in time."
    )
    label_end: Literal["learn", "discard"] = Field(
        default="learn", description="What becomes of one not labelled in time."
    )
    grace: Number = Field(
        default=10.0, description="After a verdict, in which it can be taken back, before it may close."
    )


class StreamBody(Body):
    """A new stream. Cuts are given per feature, or taken from a sample of people."""

    name: Text = Field(description="As in its address: up to 63 small letters, digits, - and _.")
    features: list[FeatureBody] = Field(min_length=1, description="What is known of every person.")
    alpha: Number = Field(description="In (0, 1]: people who are alike may be up to so far apart.")
    kind: Literal["thresholds", "cells"] = Field("thresholds", description="The class of hypotheses.")
    cuts: dict[Text, list[Number] | StrictInt | None] | None = Field(
        None,
        description="By feature: ascending numbers, or how many to take from the sample; null for a category. "
        "All features that are not sensitive, from the sample, if not given.",
    )
    sample: list[dict[str, Value]] = Field([], description="People from whose quantiles cuts are taken; not kept.")
    learner: Literal["adahedge", "hedge"] = Field("adahedge", description="Neither needs a horizon.")
    penalty: Number | dict[str, Number] | None = Field(
        None,
        description="What a report weighs: a number, {first, growth} or {c, floor}; the learner's own if null, which "
        "hedge has only with a horizon.",
    )
    horizon: StrictInt | None = Field(None, description="How many rounds there will be, where that is known.")
    margin: Number = Field(0.0, description="Pairs are reported beyond alpha - margin; violations count beyond alpha.")
    costs: list[Number] = Field(
        [1.0, 1.0], min_length=2, max_length=2, description="Of a false positive and of a false negative."
    )
    largest_batch: StrictInt = Field(32, description="The most people in a round.")
    waits: WaitsBody = WaitsBody()
    seed: StrictInt = Field(0, description="Names every random number of the learner.")


class PersonBody(Body):
    """Somebody to decide about."""

    id: Text
    features: dict[str, Value]


class RoundBody(Body):
    """A batch to decide about."""

    people: list[PersonBody] = Field(min_length=1)


class LabelsBody(Body):
    """Labels by person: 1 if it turned out well."""

    labels: dict[str, StrictInt] = Field(min_length=1)


class VerdictBody(Body):
    """What an auditor says of a round."""

    verdict: Literal["pair", "none", "skip"]
    pair: list[Text] = Field([], description="The two ids, in any order, if the verdict is pair.")
    reason: Words = ""
    note: Words = ""


class WaitsChange(Body):
    """Waits that are different from now on; those not named stay."""

    audit: Number | None = None
    label: Number | None = None
    audit_end: Literal["learn", "discard"] | None = None
    label_end: Literal["learn", "discard"] | None = None
    grace: Number | None = None


class StreamChange(Body):
    """The only settings that can change are the waits."""

    waits: WaitsChange


class StopBody(Body):
    """Why a stream is stopped."""

    reason: Words = ""


class Receipt(BaseModel):
    """A signed checkpoint: the service's word that the log stood at this event with this hash."""

    stream: str
    seq: int
    hash: str
    at: str
    key: str
    signature: str


class Answered(BaseModel):
    """What every change answers: a receipt for the event, or null where nothing new was recorded."""

    receipt: Receipt | None


class StreamCreated(Answered):
    """The stream, as it was set up."""

    stream: str
    settings: dict[str, Any]


class Decision(BaseModel):
    """One person's probability, and the lasting decision drawn from it."""

    id: str
    probability: float
    decision: int


class RoundOpened(Answered):
    """The decisions of a round."""

    round: int
    policy_version: int
    decisions: list[Decision]


class LabelsTaken(Answered):
    """What became of labels."""

    round: int
    disposition: Literal["joined", "pending", "late", "duplicate"]


class Shown(BaseModel):
    """A person as an auditor sees them."""

    id: str
    features: dict[str, Any]
    probability: float


class Claimed(BaseModel):
    """A round in front of an auditor until ``until``; pairs up to ``level`` apart can't be violations."""

    round: int
    opened_at: str
    level: float
    people: list[Shown]
    until: str


class Lease(BaseModel):
    """How long a round stays with its auditor."""

    round: int
    until: str


class VerdictTaken(Answered):
    """A verdict as recorded, the favoured person first; it can be taken back until ``final_at``."""

    round: int
    verdict: str
    pair: list[str]
    gap: float | None
    final_at: str


class RoundChanged(Answered):
    """The round that was changed."""

    round: int


class Corrected(RoundChanged):
    """A later correction, recorded and never silently unlearned."""

    verdict: str


class WaitsChanged(Answered):
    """The waits from now on."""

    stream: str
    waits: dict[str, Any]


class Stopped(Answered):
    """Whether a stream is stopped, and why."""

    stream: str
    stopped: str | None


class Erased(Answered):
    """The rounds that somebody was erased from."""

    stream: str
    rounds: list[int]


class StreamPage(BaseModel):
    """Streams by name; ``next`` is what to ask for as ``after``, null at the end."""

    streams: list[str]
    next: str | None


class EventPage(BaseModel):
    """Events in order; ``next`` is what to ask for as ``after``, null at the end."""

    events: list[dict[str, Any]]
    next: int | None


class Delay(BaseModel):
    """Rounds learned between a round's opening and its own learning."""

    largest: int
    mean: float


class Regret(BaseModel):
    """The observed Lagrangian regret, and the bounds that still hold beside it; null where one doesn't."""

    observed: float
    promised: dict[str, Any] | None
    proved: float | None
    said: str


class StreamView(BaseModel):
    """A stream as everybody sees it who has to do with it."""

    stream: str
    settings: dict[str, Any]
    stopped: str | None = Field(description="The reason, while it is stopped.")
    rounds: int
    outstanding: int = Field(description="Rounds opened and not yet learned or discarded.")


class StreamStanding(StreamView):
    """A stream with everything that is counted; auditors don't see this, as some counts tell of labels and votes."""

    learned: int
    discarded: int
    delay: Delay
    audits: dict[str, int]
    people: int
    labels_missing: int
    labels_late: int
    corrected: int
    erased: int
    errors: float
    penalties: float
    regret: Regret


class Told(BaseModel):
    """A verdict, and who gave it; no pair and no words where somebody was erased."""

    verdict: str
    by: str | None
    at: str
    pair: list[str | None]
    gap: float | None
    reason: str
    note: str


class Decided(BaseModel):
    """Somebody in a round; without id and features once they were erased."""

    id: str | None
    features: dict[str, Any] | None
    probability: float
    decision: int
    label: int | None
    late_label: int | None


class RoundView(BaseModel):
    """Everything that is known of a round."""

    round: int
    status: Literal["open", "closed", "learned", "discarded"]
    opened_at: str
    by: str
    policy_version: int
    policy: str = Field(description="A hash of the deployed policy.")
    outstanding: int
    people: list[Decided]
    labels: str | None
    audit: Told | None
    retracted: int
    corrections: list[Told]
    learned: dict[str, Any] | None


class PersonRound(Decided):
    """A round as it was for one person."""

    round: int
    opened_at: str
    status: str
    policy_version: int
    policy: str
    audit: str | None
    reported_as: Literal["favoured", "disfavoured"] | None


class PersonRecord(BaseModel):
    """One person's decision record."""

    id: str
    rounds: list[PersonRound]


class CertificateView(BaseModel):
    """What is proved of the rounds so far, with its assumptions; ``letter`` says it in sentences."""

    model_config = ConfigDict(extra="allow")

    stream: str
    letter: str
    delay: Delay
    lagrangian_regret: Regret
    assumptions: list[dict[str, Any]]
    outstanding: int
    discarded: int
    corrected: int
    erased: int


class Status(BaseModel):
    """How the service is."""

    status: str
