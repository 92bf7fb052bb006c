"""Answers about what is proved: of regret, of rounds that nobody reviewed, of reviewers, and before a plan begins."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from likewise.service.stream.answers.fields import Key
from likewise.service.stream.answers.proofs import Head


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


class KnownAnswers(TypedDict):
    """How reviewers answered known rounds that were hidden among the others."""

    violating: Annotated[int, Field(description="Known rounds with a violation that were answered, not skipped.")]
    missed: Annotated[int, Field(description="Of those: another answer was given than a pair that had been upheld.")]
    clean: Annotated[int, Field(description="Known rounds without a violation that were answered.")]
    false: Annotated[int, Field(description="Of those: a pair was named.")]
    finds: Annotated[float | None, Field(description="The share of violations found; null without any.")]
    finds_from: float
    finds_to: float
    at_most: Annotated[
        int | None,
        Field(
            description="`at_most` for reviewers who overlook things, with the lower limit of `finds`, each at half of "
            "one minus the confidence. null with fewer than 14 known rounds that hold a violation. It is too low if "
            "known rounds are easier than the others."
        ),
    ]
    sentence: str


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
    known: Annotated[KnownAnswers | None, Field(description="null while no known round was answered.")]
    felt: Annotated[
        bool, Field(description="Whether it is only of violations that were felt, as auditors see decisions only.")
    ]
    sentence: Annotated[str, Field(description="The same in words.")]


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
