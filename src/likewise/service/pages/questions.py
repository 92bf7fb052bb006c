"""What a lead asks of a stream, answered in words: are we fair, do reports help, what does it cost, who looked?

Each answer begins with the conclusion; the pictures below it are in ``likewise.service.pages.figures``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from likewise.service.live.verified import VerifiedReads
from likewise.service.log.tables import events
from likewise.service.projections.bins import Bin
from likewise.service.projections.gathering import Gathering
from likewise.service.projections.pairs import Standing
from likewise.service.stream.events import Audited
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import CLOCK, State
from likewise.service.stream.status import constant_error, fair_at, regret
from likewise.theory.agreement import binomial_limits
from likewise.wording import at_least, plural

VERDICTS = 1000
"""The newest verdicts, of which it is counted who gave them."""


# Are we fair? ---------------------------------------------------------------------------------------------------------


def fair(bins: Sequence[Bin], status: Mapping[str, Any]) -> list[str]:
    """How often reviewers report, and what that says of all rounds."""
    claim = status.get("reviews")
    reviewed, reports = sum(bin.reviewed for bin in bins), sum(bin.reports for bin in bins)
    if claim is not None:  # it tells rounds that somebody looked at from those that arithmetic cleared
        reviewed, reports = claim["clean"] + claim["reported"], claim["reported"]
    if not reviewed:
        return ["Nobody has reviewed a round yet, so nothing can be said."]
    _, low, high = binomial_limits(reports, reviewed)
    rate = f"{_per_hundred(reports / reviewed)} per 100 (95 %: {_per_hundred(low)} to {_per_hundred(high)})"
    sentences = [f"Reviewers reported a pair in {reports:,} of {plural(reviewed, 'reviewed round')}: {rate}."]
    if claim is not None:
        return [*sentences, claim["sentence"]]
    unseen = status["rounds"] - reviewed
    if unseen > 0:
        sentences.append(
            f"Of {plural(unseen, 'round')} that nobody has reviewed it says nothing: each may hold a violation."
        )
    return sentences


def _per_hundred(share: float) -> str:
    """A share as so many of a hundred.

    Examples
    --------
    >>> _per_hundred(0.031), _per_hundred(0.2), _per_hundred(0.0)
    ('3.1', '20', '0')
    """
    return f"{100 * share:.1f}" if 0 < share < 0.1 else f"{100 * share:.0f}"


# Do reports help? -----------------------------------------------------------------------------------------------------


def helped(standing: Standing | None, alpha: float) -> list[str]:
    """How the reported pairs stand today.

    Examples
    --------
    >>> helped(Standing(pairs=220, within=18, closer=150, wider=40, flipped=12), 0.1)[0]
    '18 of 220 reported pairs are within α = 0.1 today.'
    """
    if standing is None or not standing.pairs:
        return ["No reported pair has been learned yet."]
    are = "is" if standing.within == 1 else "are"
    sentences = [
        f"{standing.within:,} of {plural(standing.pairs, 'reported pair')} {are} within α = {alpha:g} today.",
        f"Closer than when they were reported, but not within α: {standing.closer:,}. No closer: {standing.wider:,}.",
    ]
    if standing.flipped:
        sentences.append(
            f"Turned round, so that the other person is now ahead by more than α: {standing.flipped:,}. Each is a new "
            "gap, not a smaller one."
        )
    return sentences


# What does it cost? ---------------------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """Errors of the stream's policies beside one answer for everybody, and beside what no fair policy could beat.

    Attributes
    ----------
    people
        Those whose label was learned; where only labels of accepted people come, all in the rounds learned.
    error, constant, fair
        The cost of errors per 100 people: errors, if both kinds cost 1. Of the policies, of the better answer for
        everybody, and at least of every fixed policy that is fair at ``fair_at``; None where no such limit is proved.
    reported
        The share of reviewed rounds with a report; None before the first review.
    by_lot
        The mean of 2π(1 − π) over everybody who got a decision: what a lottery decides.
    """

    people: int
    error: float
    constant: float
    reported: float | None
    by_lot: float
    fair: float | None = None
    fair_at: float | None = None

    @property
    def behind(self) -> bool:
        """Whether one answer for everybody would have erred less."""
        return self.constant < self.error


def cost(state: State, bins: Sequence[Bin]) -> Cost | None:
    """What errors cost, on the same people and in the same unit; None before the first label was learned."""
    totals, estimated = state.totals, state.stream.settings.labels == "accepted"
    people = totals.people - (0 if estimated else totals.missing)
    if people <= 0 or (estimated and not totals.zeros_weighed + totals.ones_weighed):
        return None
    reviewed, decided = sum(bin.reviewed for bin in bins), sum(bin.decided for bin in bins)
    reported = sum(bin.reports for bin in bins) / reviewed if reviewed else None
    by_lot = sum(bin.by_lot for bin in bins) / decided if decided else 0.0
    error, constant = 100 * totals.errors / people, 100 * constant_error(state) / people
    proved = regret(state)["proved"] if state.stream.keeps_reports else None
    if proved is None:
        return Cost(people, error, constant, reported, by_lot)
    return Cost(people, error, constant, reported, by_lot, max(0.0, error - 100 * proved / people), fair_at(state))


def cost_in_words(cost: Cost | None, settings: Settings) -> list[str]:
    """The comparison in sentences, the conclusion first."""
    if cost is None:
        return ["No label has been learned yet."]
    weighed = settings.costs != (1.0, 1.0)
    verb = "costs" if weighed else "errs on"
    conclusion = (
        f"So far one answer for everybody would have {'cost' if weighed else 'erred'} less"
        if cost.behind
        else f"The policies {'cost less' if weighed else 'err less'} than one answer for everybody"
    )
    unit = "per 100 people" if weighed else "of 100 people"
    sentences = [f"{conclusion}: {cost.error:.1f} against {cost.constant:.1f} {unit}."]
    if cost.fair is not None:
        sentences.append(
            f"No fixed policy that keeps every pair within its distance plus {cost.fair_at:g} {verb} less than "
            f"{at_least(cost.fair, 1)} {unit}, if the reports are true: that is the limit of what could be gained."
        )
    return sentences


# Who looked? ----------------------------------------------------------------------------------------------------------


class Reviewed(NamedTuple):
    """What a reviewer answered, of the newest verdicts."""

    name: str
    verdicts: int
    reported: int
    cleared: int
    skipped: int


def looked(reads: VerifiedReads, stream: str, count: int = VERDICTS) -> list[Reviewed]:
    """Who gave the newest verdicts, by name."""
    verdicts = (each.event for each in reads.newest(stream, count, events.c.kind == Audited.kind))
    by: Counter[tuple[str, str]] = Counter(
        (each.by, each.verdict) for each in verdicts if isinstance(each, Audited) and each.by != CLOCK
    )
    names = sorted({name for name, _ in by})
    outcomes = ("reported", "cleared", "skipped")
    return [
        Reviewed(
            name, sum(n for (who, _), n in by.items() if who == name), *(by[name, outcome] for outcome in outcomes)
        )
        for name in names
    ]


# Where do reports gather? ---------------------------------------------------------------------------------------------


def gathers(found: Gathering) -> list[str]:
    """Where reports gather, the clearest place first."""
    if not found.pairs:
        return ["No pair has been reported yet."]
    if not found.regions:
        return [f"{plural(found.pairs, 'reported pair')}: too few, or too evenly spread, to name a place."]
    first = found.regions[0]
    return [
        f"Most above average: {first.name.replace('_', ' ')} {first.where}, with {100 * first.share:.0f} % of the "
        f"people in reported pairs, but {100 * first.of_all:.0f} % of everybody in the same rounds.",
        "What people have in common need not be why they were reported.",
    ]
