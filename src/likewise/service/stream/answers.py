"""What the service answers: each answer is declared here once.

The engine returns these values, mypy checks that it does, and the OpenAPI document shows them. Nothing is checked again
while a request waits.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema
from typing_extensions import TypedDict

from likewise.service.stream.brief import Brief
from likewise.service.stream.settings import Review, Settings, Waits


class SchemaOf:
    """Metadata of plain JSON values that are a declared model, written down; the document shows the model."""

    def __init__(self, model: type) -> None:
        self._model = model

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """That of the model."""
        return handler.generate_schema(self._model)


RoundNumber = Annotated[int, Field(description="The number of the round.", ge=1)]
Version = Annotated[int, Field(description="The policy's number: how many rounds were learned before it.", ge=0)]
Hash = Annotated[str, Field(description="A hash of the policy: its weights and its class of hypotheses.")]
Probability = Annotated[float, Field(description="The probability of a yes.", ge=0, le=1)]
Drawn = Annotated[int, Field(description="1 for yes, 0 for no. A person who is asked about again keeps the same lot.")]
Time = Annotated[str, Field(description="UTC, as ISO 8601 writes it.")]
Gap = Annotated[
    float | None,
    Field(
        description="The difference between the pair's probabilities; null without a pair, and to auditors who see "
        "only decisions."
    ),
]
Plain = dict[str, Any]
Key = Annotated[str, Field(description="The public key that checks the signature.")]


class Receipt(TypedDict):
    """The proof that an event is in the log: its place and hash, and how they lead to a signed checkpoint."""

    stream: str
    seq: Annotated[int, Field(description="The number of the event.")]
    hash: str
    key: Key
    proof: Annotated[str, Field(description="The inclusion proof with its checkpoint, as C2SP's tlog-proof writes it.")]


CheckpointNote = Annotated[str, Field(description="A checkpoint of the log: a signed note, as C2SP defines it.")]


class LogCheckpoint(TypedDict):
    """Where a log stands, signed; and what is needed to trust the key."""

    stream: str
    key: Key
    note: CheckpointNote
    cosigned: Annotated[
        str | None, Field(description="The newest checkpoint that witnesses have signed, too; null if there is none.")
    ]
    rotations: Annotated[
        list[str], Field(description="Every change of the key, the oldest first: notes, signed with the old key.")
    ]


class PersonReceipt(TypedDict):
    """The proof that one person's decision followed from their probability, for `likewise verify --person`."""

    key: Key
    opened: Annotated[Plain, Field(description="The event that opened the round, as it is hashed: without people.")]
    proof: Annotated[str, Field(description="That it is in the log.")]
    before: Annotated[Plain, Field(description="The event that committed to the lot, one round before.")]
    before_proof: Annotated[str, Field(description="That this one is in the log.")]
    position: Annotated[int, Field(description="The person's place in the round, from 0.")]
    person: Annotated[Plain, Field(description="What the log holds of the person.")]
    people_proof: Annotated[list[str], Field(description="That they are one of the round's people; base64.")]
    salt: str
    content: Annotated[Plain, Field(description="Their id and features, to which the log commits.")]


class Consistency(TypedDict):
    """The proof that a log only grew between two of its sizes."""

    stream: str
    key: Key
    root: Annotated[str, Field(description="The root of the tree at the old size, in base64.")]
    note: CheckpointNote
    proof: Annotated[list[str], Field(description="The hashes of the consistency proof (RFC 6962), in base64.")]


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


Returning = Annotated[
    bool,
    Field(
        description="Whether they already had a decision. Then they get their first probability and decision "
        "again, and this round teaches nothing about them. Always false where each person has a lasting number and all "
        "labels come."
    ),
]


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
    asks: Annotated[
        Literal["verdict", "opinion"],
        Field(description="verdict: a look at the whole round. opinion: only whether `pair` is too different."),
    ]
    pair: NotRequired[Annotated[list[str], Field(description="The pair that somebody else named, if that is asked.")]]


class Lease(TypedDict):
    """How long a round stays with its auditor."""

    t: RoundNumber
    until: Time


Outcome = Annotated[
    Literal["reported", "cleared", "skipped", "expired", "undrawn"],
    Field(
        description="reported: a pair was named. cleared: there is none, by a reviewer or by arithmetic. skipped, "
        "expired: nobody judged it. undrawn: the lot did not choose it for review."
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


class WaitsChanged(Answer):
    """All waits, as they are from now on."""

    stream: str
    waits: Annotated[Plain, SchemaOf(Waits)]


class PlanChanged(Answer):
    """The whole review plan, as it is for rounds that are opened from now on."""

    stream: str
    review: Annotated[Plain, SchemaOf(Review)]


class BriefTold(TypedDict):
    """What reviewers are told before they judge."""

    stream: str
    version: Annotated[int, Field(description="Counts the changes; 0 if there was none.", ge=0)]
    brief: Annotated[Plain, SchemaOf(Brief)]


class BriefChanged(Answer):
    """The whole brief, as it is from now on."""

    stream: str
    version: Annotated[int, Field(description="Counts the changes; the same as before if this was none.", ge=0)]
    brief: Annotated[Plain, SchemaOf(Brief)]


class StreamStopped(Answer):
    """Whether a stream is stopped, and why."""

    stream: str
    stopped: Annotated[str | None, Field(description="The reason; null if the stream is running.")]


class PersonErased(Answer):
    """The rounds in which somebody was erased."""

    stream: str
    rounds: list[int]


class StreamPage(TypedDict):
    """Names of streams, in order."""

    streams: list[str]
    next: Annotated[str | None, Field(description="What to send as `after` for the next page; null on the last.")]


class LoggedEvent(TypedDict):
    """An event as an export has it, without what is kept beside the log."""

    stream: str
    seq: int
    prev: Annotated[str, Field(description="The hash of the event before.")]
    hash: str
    kind: str
    version: Annotated[int, Field(description="Of the layout of events.")]
    at: Time
    data: Plain


class EventPage(TypedDict):
    """Events, in order."""

    events: list[LoggedEvent]
    next: Annotated[int | None, Field(description="What to send as `after` for the next page; null on the last.")]


class Delay(TypedDict):
    """Of the rounds learned: how many others were learned between a round's opening and its own learning."""

    largest: int
    mean: float


class Promise(TypedDict):
    """A theorem's upper limits before the first round; null where it says nothing."""

    rounds: Annotated[int, Field(description="How many rounds they are about.")]
    lagrangian_regret: float | None
    violations: float | None
    error_regret: float | None
    epsilon: float | None
    theorem: str


class Regret(TypedDict):
    """The observed Lagrangian regret and its bounds; of a learner that keeps reports, the limit of its errors."""

    observed: Annotated[
        float | None, Field(description="The Lagrangian regret; null where reports are kept, as their prices change.")
    ]
    promised: Annotated[Promise | None, Field(description="Proved before the first round; null where delay voids it.")]
    proved: Annotated[float | None, Field(description="A limit proved from what happened; null if there is none.")]
    fair_at: Annotated[
        float | None,
        Field(
            description="Where reports are kept: `proved` is the most by which errors cost more than those of any "
            "policy that keeps every pair within its distance plus this number, if the reports are true."
        ),
    ]
    sentence: Annotated[str, Field(description="The same in words.")]


class ReviewClaim(TypedDict):
    """What is proved of all rounds up to one of them, reviewed or not."""

    up_to: Annotated[
        int, Field(description="The last round before which every drawn one is answered or expired; 0 if none is.")
    ]
    cleared: Annotated[int, Field(description="Rounds that can't hold a violation, by arithmetic.")]
    undrawn: Annotated[int, Field(description="Rounds that the lot did not choose for review.")]
    drawn: Annotated[int, Field(description="Rounds that were to be reviewed: clean, reported and unanswered ones.")]
    clean: int
    reported: int
    unanswered: Annotated[int, Field(description="Drawn, and skipped or expired: they count as reported.")]
    waiting: Annotated[int, Field(description="Drawn rounds that still wait for an answer; none is before `up_to`.")]
    confidence: float
    at_most: Annotated[
        int,
        Field(
            description="At most so many of the rounds hold a violation that the reviewers would report. It holds for "
            "all rounds at once with this confidence, if lots are fair and nobody's answer depends on the lot."
        ),
    ]
    at_least: Annotated[int, Field(description="The same from below, if no report is false.")]
    estimate: Annotated[float, Field(description="The best guess: each report counts 1 divided by its probability.")]
    agreement: Annotated[Agreement | None, Field(description="null while no round was judged twice.")]
    felt: Annotated[
        bool, Field(description="Whether it is only of violations that were felt, as auditors see decisions only.")
    ]
    sentence: Annotated[str, Field(description="The same in words.")]


class Agreements(TypedDict):
    """How two verdicts on the same rounds compare, given without knowing of each other."""

    judged_twice: Annotated[int, Field(description="Closed rounds that were drawn for two verdicts and got them.")]
    both: Annotated[int, Field(description="Of those: both named a pair.")]
    one: Annotated[int, Field(description="Only one of the two did.")]
    same_pair: Annotated[int, Field(description="Both named the same pair.")]


class Agreement(Agreements):
    """How good reviewers are, by rounds that two of them judged without knowing of each other."""

    with_hints: Annotated[
        Agreements,
        Field(description="Of those, where one of the two is known to have asked why, which may anchor them."),
    ]
    without_hints: Annotated[Agreements, Field(description="All others.")]
    confirmed: Annotated[
        float | None, Field(description="The share of reports that the other reviewer confirms; null without any.")
    ]
    confirmed_from: float
    confirmed_to: float
    finds: Annotated[
        float | None,
        Field(
            description="The share of what is there that a reviewer finds, from reports that were upheld. It assumes "
            "that two find a violating round independently: it is too large where rounds differ in how easy they are."
        ),
    ]
    finds_from: float
    finds_to: float
    at_most: Annotated[
        int | None,
        Field(
            description="`at_most` for reviewers who overlook things: with the lower limit of `finds`, each at half of "
            "one minus the confidence. null while nothing is known of what they find."
        ),
    ]
    sentence: str


class Prospect(TypedDict):
    """What can be said at the end of a plan, if a share `rate` of the rounds violates."""

    rate: float
    found: int
    at_most: int
    share: Annotated[float, Field(description="`at_most` as a share of the rounds.")]


class PlanProspect(TypedDict):
    """What a review plan buys, in advance."""

    days: float
    rounds: Annotated[int, Field(description="Rounds that arithmetic does not clear.")]
    reviews: Annotated[float, Field(description="How many of them are drawn, on average.")]
    looks: Annotated[float, Field(description="How often somebody looks, with second verdicts and disagreements.")]
    confidence: float
    prospects: list[Prospect]
    sentence: Annotated[str, Field(description="The first of them in words.")]


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


Status = Literal["open", "closed", "learned", "discarded"]
Labelled = Literal["complete", "partial", "expired"]


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


class Head(TypedDict):
    """The last event of a log, and the root of the Merkle tree up to it."""

    seq: int
    hash: str
    root: str


class StreamCertificate(TypedDict):
    """What is proved of the rounds so far, with its assumptions; beside it, all fields of a certificate."""

    stream: str
    letter: Annotated[str, Field(description="The certificate in sentences.")]
    delay: Delay
    regret_limits: Annotated[
        Regret, Field(description="As `regret` in the answer about the stream: what is observed, promised and proved.")
    ]
    reviews: Annotated[ReviewClaim, Field(description="What is proved of all rounds, at this confidence.")]
    assumptions: list[dict[str, Any]]
    outstanding: int
    discarded: int
    corrected: int
    erased: int
    origin: NotRequired[str]
    head: Annotated[NotRequired[Head], Field(description="Where the log stood: what the certificate rests on.")]
    key: NotRequired[Key]
    note: Annotated[NotRequired[str], Field(description="A signed note of SHA-256 of all the rest but `key`.")]


class Health(TypedDict):
    """How the service is."""

    status: str
