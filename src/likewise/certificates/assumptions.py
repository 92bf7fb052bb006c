"""What claims rest on: each assumption, which claims need it, and what the transcript shows of it.

A claim whose assumptions are broken is left out. Claims about new people need people who came once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from likewise.game import Transcript

LEAST_PEOPLE = 100
"""If fewer people of a file came once, nothing is claimed about new people."""


class Claim(StrEnum):
    """What a certificate claims."""

    REGRET = "errors compared with fair policies"
    FAIRNESS = "fairness to new people"
    ERRORS = "errors on new people"
    VIOLATIONS = "violations among all rounds"


class Status(StrEnum):
    """What the transcript shows of an assumption."""

    KEPT = "kept"
    BROKEN = "broken"
    UNCHECKED = "not checkable"

    @classmethod
    def of(cls, holds: bool | None) -> Status:
        """From True, False, or None for unknown."""
        return cls.UNCHECKED if holds is None else cls.KEPT if holds else cls.BROKEN


class Assumption(NamedTuple):
    """Something that claims rest on.

    Attributes
    ----------
    name
        What is assumed.
    needed_for
        Which claims rest on it.
    status
        Kept, broken or not checkable from this transcript.
    detail
        How we know, or why we can't.
    """

    name: str
    needed_for: tuple[Claim, ...]
    status: Status
    detail: str


HORIZON = "the number of rounds was fixed in advance"
ONCE = "everybody came once"
UNCLEAR = "some rows are the same as others, and no ids tell whether they are different people"
MADE = "the hypotheses were made without these people"
ENOUGH = f"at least {LEAST_PEOPLE} people came once"
REPORTS = "the reviewer reports whenever they can"
NAMES = "the reviewer names a pair that could be accepted whenever one was decided differently"
LOTS = "lots were drawn as recorded, and nobody could foresee them"
ANSWERS = "what a reviewer answers does not depend on the lot"
EASY = "rounds with a known answer are no easier than the others"
APART = "reviewers find violations independently of each other"
OVERLOOKED, WITHDRAWN = "overlooked", "withdrawn"
"""Among an auditor's details: cleared rounds that were corrected to a pair, and reports that were taken back."""
BLACK_BOX = "an online classifier decided, of which nothing was proved in advance"
ABOUT_NEW_PEOPLE = (ONCE, MADE, ENOUGH)
"""What claims about new people rest on, and those about another draw from the same rows don't."""


def drawn_from(t: Transcript) -> str | None:
    """How people may have come again; who draws from rows and says no more is taken to draw them again."""
    environment = t.facts.environment
    return "again" if environment.drawn is None and environment.population is not None else environment.drawn


def _black_box(t: Transcript) -> tuple[Assumption, ...]:
    """What the paper's theorem on a reduced classifier assumes: that its own regret is small. The play measures it."""
    if not t.facts.learner.parameters.get("black_box"):
        return ()
    measured = "the regret stated is the one that this play measured, against hypotheses that it didn't use"
    return (Assumption(BLACK_BOX, (Claim.REGRET,), Status.KEPT, measured),)


def both_ways(t: Transcript) -> bool:
    """Whether the learner takes a report for a fact about the two people in either order."""
    penalty = t.facts.learner.parameters.get("penalty")
    return isinstance(penalty, dict) and bool(penalty.get("both_ways"))


def _both_ways(t: Transcript) -> tuple[Assumption, ...]:
    """What such a learner assumes."""
    if not both_ways(t):
        return ()
    why = "the learner was told so (`both_ways`)"
    return (Assumption("the distance is the same both ways", (Claim.REGRET,), Status.UNCHECKED, why),)


def came_once(t: Transcript) -> tuple[Status, str]:
    """Whether everybody came once, in the rounds that claims about new people rest on; and how we know."""
    drawn, draws = drawn_from(t), len(t.y)
    if drawn == "once":
        return Status.KEPT, ""
    if drawn == "passes":
        if t.facts.environment.people is None:
            return Status.BROKEN, UNCLEAR
        if not t.rounds_once:
            return Status.BROKEN, "the first pass over the people was over before these rounds"
        if t.rounds_once < t.rounds:
            if t.first_pass_policy is None:
                return Status.BROKEN, "the average policy of the first pass was not kept"
            return Status.KEPT, f"in the first pass over the people, {t.rounds_once:,} rounds; claims are about these"
        return Status.KEPT, ""
    distinct = None if t.person is None else len(np.unique(t.person))
    if distinct is not None and distinct < draws:
        verb = "came" if drawn is None else "were drawn"
        return Status.BROKEN, f"the same {distinct:,} people {verb} {draws:,} times"
    if distinct == draws and t.first == 1:
        return Status.KEPT, ""
    if drawn == "again":
        return Status.BROKEN, f"{draws:,} draws with replacement from {t.facts.environment.population:,} rows"
    return Status.UNCHECKED, "nothing in the transcript shows whether somebody came again"


def assumptions_of(t: Transcript, contradictions: int, measured: str | None = None) -> tuple[Assumption, ...]:
    """Every assumption, with what the transcript shows of it; ``contradictions`` counts pairs with clashing answers.

    ``measured``: detection was, from ``"gold"`` or from ``"overlap"``.
    """
    iid, auditor = t.facts.environment.iid, t.facts.auditor
    once, how = came_once(t)
    if drawn_from(t) == "again" and once == Status.KEPT:
        iid = None  # the draws are from the rows, and nobody knows where those are from
    return (
        Assumption("reports are truthful", (Claim.REGRET,), *_truth(t)),
        *_both_ways(t),
        *_labels(t),
        Assumption(
            "people are independent draws from one population",
            (Claim.FAIRNESS, Claim.ERRORS),
            Status.of(iid),
            "nothing in the transcript shows where they come from" if iid is None else "",
        ),
        _looks(t),
        Assumption(
            "the reviewer's sense of similarity stays the same",
            (Claim.FAIRNESS,),
            Status.BROKEN if contradictions else Status.of(auditor.fixed),
            f"answers contradict each other on {contradictions} pairs" if contradictions else "",
        ),
        _reviewed(t),
        *_black_box(t),
        Assumption(
            HORIZON,
            (),
            Status.of(fixed_horizon(t)),
            "" if fixed_horizon(t) else "so limits on new people that hold at any time are given as well, or alone",
        ),
        Assumption(ONCE, (Claim.FAIRNESS, Claim.ERRORS), once, how),
        Assumption(
            MADE,
            (Claim.FAIRNESS, Claim.ERRORS),
            Status.UNCHECKED,
            "cut-offs and models that were fitted to them have seen them before",
        ),
        *_few(t, once),
        *_by_lot(t, measured),
    )


def _reviewed(t: Transcript) -> Assumption:
    """What became of rounds that nobody reviewed."""
    unreviewed = int((~t.reviewed).sum())
    if t.drawn is not None:
        name = "rounds that were not drawn are accounted for by the lots of the others"
        return Assumption(
            name, (Claim.FAIRNESS,), Status.KEPT, f"{int((~t.drawn & ~t.cleared).sum()):,} were not drawn"
        )
    name = "rounds that nobody reviewed count as violations" if unreviewed else "every round was reviewed"
    return Assumption(name, (Claim.FAIRNESS,), Status.KEPT, f"there are {unreviewed} of them" if unreviewed else "")


def _by_lot(t: Transcript, measured: str | None) -> tuple[Assumption, ...]:
    """What a limit over all rounds rests on, where rounds are drawn for review or detection was measured."""
    claims, simulated = (Claim.VIOLATIONS,), t.facts.auditor.truthful is not None
    status = Status.KEPT if simulated else Status.UNCHECKED
    drawn = (
        "they follow from the seed" if simulated else "they follow from the seed, and whoever has it can foresee them"
    )
    by_lot = (
        Assumption(LOTS, claims, status, drawn),
        Assumption(ANSWERS, claims, status, "" if simulated else "drawn rounds without an answer count as reported"),
    )
    name = {"gold": EASY, "overlap": APART, None: ""}[measured]
    weak = (Assumption(name, claims, Status.UNCHECKED, "their detection was measured so"),) if name else ()
    return (*(() if t.drawn is None else by_lot), *weak)


def _labels(t: Transcript) -> tuple[Assumption, ...]:
    """What is known of the labels; where refused people's are unseen, whether they were estimated."""
    missing = ~np.isfinite(t.y)
    if t.unseen is None:
        lost = f"{missing.sum()} of {len(t.y)} are missing; errors are over the others" if missing.any() else ""
        return (Assumption("every label is known", (Claim.REGRET, Claim.ERRORS), Status.of(not missing.any()), lost),)
    refused, unknown = int(t.unseen.sum()), int((missing & ~t.unseen).sum())
    hidden = f"those of {refused:,} refused people are unseen"
    if t.estimates is None:
        why = f"{hidden}, and the learner took no account of it"
        return (Assumption("every label is known", (Claim.REGRET, Claim.ERRORS), Status.BROKEN, why),)
    most = (t.costs[0] + t.costs[1]) * unknown
    return (
        Assumption("every label is known", (Claim.ERRORS,), Status.of(refused + unknown == 0), hidden),
        Assumption(
            "no label depends on a lot, and nobody can foresee one",
            (Claim.REGRET,),
            Status.UNCHECKED,
            f"{hidden}; estimates from the others are right on average only then",
        ),
        Assumption(
            "the outcome of every accepted person is known",
            (Claim.REGRET,),
            Status.of(unknown == 0),
            f"{unknown:,} are not: they count as unseen, which may hide a regret of up to {most:g}" if unknown else "",
        ),
    )


def _looks(t: Transcript) -> Assumption:
    """Whether the auditor reports what there is to report."""
    auditor = t.facts.auditor
    if overlooked := auditor.details.get(OVERLOOKED):
        name = NAMES if auditor.sees == "decisions" else REPORTS
        return Assumption(name, (Claim.FAIRNESS,), Status.BROKEN, f"{overlooked:,} cleared rounds had a pair after all")
    if auditor.sees != "decisions":
        detail = "a person may overlook a pair" if auditor.exhaustive is None else ""
        return Assumption(REPORTS, (Claim.FAIRNESS,), Status.of(auditor.exhaustive), detail)
    persistence = auditor.details.get("persistence")
    detail = "a person may overlook a pair" if persistence is None else f"with probability {persistence:g}"
    status = Status.UNCHECKED if persistence is None else Status.KEPT
    return Assumption(NAMES, (Claim.FAIRNESS,), status, "" if persistence == 1 else detail)


def _few(t: Transcript, once: Status) -> tuple[Assumption, ...]:
    """That enough people of a file came once; said only where they didn't."""
    if t.facts.environment.population is None or once != Status.KEPT:
        return ()
    came = int(t.starts[new_rounds(t)])
    claims = (Claim.FAIRNESS, Claim.ERRORS)
    return (Assumption(ENOUGH, claims, Status.BROKEN, f"only {came}"),) if came < LEAST_PEOPLE else ()


def _truth(t: Transcript) -> tuple[Status, str]:
    """Whether reports are true, and how we know."""
    lies, auditor = int(t.false.sum()), t.facts.auditor
    if lies:
        return Status.BROKEN, f"{lies} reports are known to be false; their rows are left out and their penalties added"
    if withdrawn := auditor.details.get(WITHDRAWN):
        return Status.BROKEN, f"{withdrawn:,} reports were taken back after they were learned; they don't count"
    if auditor.truthful:
        return Status.KEPT, "the auditor has a written distance"
    if auditor.truthful is None:
        return Status.UNCHECKED, "only the reviewer knows"
    if auditor.marks_false:
        return Status.KEPT, "the auditor marks its false reports, and there are none"
    return Status.BROKEN, "the auditor is known to report what is not true, and does not say where"


def new_rounds(t: Transcript) -> int:
    """The rounds that speak for new people: all of them, or those of the first pass over a file."""
    return t.rounds if t.rounds_once is None else t.rounds_once


def fixed_horizon(t: Transcript, rounds: int | None = None) -> bool | None:
    """Whether the play was as long as its learner was set up for; None if that learner needs no horizon.

    The first pass over a file is as long as the file, whatever the play: known in advance if the play outlived it.
    """
    if rounds is not None and rounds < t.rounds:
        return True
    horizon = t.facts.learner.T
    return None if horizon is None else bool(horizon == t.first - 1 + t.rounds)
