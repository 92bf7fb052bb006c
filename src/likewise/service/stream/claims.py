"""What is said of all rounds, reviewed or not: how many violate at most, and how sure that is.

Theorem L (``likewise.theory.review``) holds for all t at once, so the limit is stated up to the last round before which
every drawn one is answered or expired; the ones that wait are shown beside it. Reviewers who see decisions only report
what was felt, so the limit is then of rounds in which a violating pair was decided differently.
"""

from __future__ import annotations

from typing import NamedTuple

from likewise import theory
from likewise.service.stream.answers import Agreement, Agreements, KnownAnswers, PlanProspect, Prospect, ReviewClaim
from likewise.service.stream.counting import joined, one_more
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import State
from likewise.theory import Interval, Overlap, ReviewCount
from likewise.wording import plural

DELTA = 0.05
"""One minus the confidence of what is shown."""
LEAST_KNOWN = 14
"""Known rounds with a violation from which on the share found is told from them: none missed then proves 80 %."""
DAYS = 30
"""For which a plan is looked at in advance."""


class Counted(NamedTuple):
    """The counts up to a round, its number, and how many drawn rounds wait for an answer, there or later."""

    rounds: ReviewCount
    up_to: int
    waiting: int


def counted(state: State) -> Counted:
    """The counts up to the last round before which every drawn one is answered or expired."""
    count, waiting, up_to = state.counted_rounds, 0, state.opened
    for t, round_ in state.rounds.items():
        if round_.answer is None:
            up_to = t - 1 if waiting == 0 else up_to
            waiting += 1
        if waiting == 0 and round_.answer is not None:
            more = one_more(count, state.drawing.floor, round_.q, round_.answer, twice=round_.panel.twice)
            count = joined(more, round_.since)
    return Counted(theory.review_count(1.0) if count is None else count, up_to, waiting)


class Coverage(NamedTuple):
    """All rounds by the plan: cleared by arithmetic, not drawn, or drawn; of those judged, unanswered, or still due."""

    cleared: int
    undrawn: int
    judged: int
    unanswered: int
    due: int

    @property
    def drawn(self) -> int:
        """Rounds that somebody was, or is, to look at."""
        return self.judged + self.unanswered + self.due


def coverage(state: State) -> Coverage:
    """How far reviews have come, of all rounds that were opened."""
    count, due = state.counted_rounds, 0
    for round_ in state.rounds.values():
        if round_.answer is None:
            due += 1
        else:
            count = one_more(count, state.drawing.floor, round_.q, round_.answer)
        count = joined(count, round_.since)
    count = theory.review_count(1.0) if count is None else count
    return Coverage(count.cleared, count.undrawn, count.clean + count.reported, count.unanswered, due)


def claim(state: State, delta: float = DELTA) -> ReviewClaim:
    """What is proved of all rounds, in numbers and in a sentence."""
    count, up_to, waiting = counted(state)
    felt = state.stream.settings.audits == "decisions"
    return {
        "up_to": up_to,
        "cleared": count.cleared,
        "undrawn": count.undrawn,
        "drawn": count.drawn,
        "clean": count.clean,
        "reported": count.reported,
        "unanswered": count.unanswered,
        "waiting": waiting,
        "confidence": 1.0 - delta,
        "at_most": theory.review_limit(count, delta),
        "at_least": theory.review_lower_limit(count, delta),
        "estimate": count.estimate,
        "agreement": agreement(state, count, delta),
        "known": known_answers(state, count, delta),
        "felt": felt,
        "sentence": _in_words(count, up_to, waiting, delta, felt),
    }


def agreement(state: State, count: ReviewCount, delta: float = DELTA) -> Agreement | None:
    """How good reviewers are, and what that does to the limit (Theorem L with r·q for q); None if nobody can know."""
    overlap, upheld = state.overlap, state.upheld
    if overlap.rounds == 0:
        return None
    confirmed, finds = theory.positive_agreement(overlap, delta), theory.detection_by_overlap(upheld, delta)
    limit = theory.review_limit(count, delta / 2, finds.low) if finds.low > 0 else None
    corrected = None if enough_known(state) else limit  # known rounds say it better
    plain = Overlap(*(every - part for every, part in zip(overlap, state.hinted, strict=True)))
    return {
        **_agreements(overlap),
        "with_hints": _agreements(state.hinted),
        "without_hints": _agreements(plain),
        "confirmed": confirmed.estimate,
        "confirmed_from": confirmed.low,
        "confirmed_to": confirmed.high,
        "finds": finds.estimate,
        "finds_from": finds.low,
        "finds_to": finds.high,
        "at_most": limit,
        "sentence": _agreement_in_words(overlap.rounds, confirmed, finds, corrected, delta),
    }


def enough_known(state: State) -> bool:
    """Whether so many known rounds with a violation were answered that the share found is told from them."""
    gold = state.known.gold()
    return gold.found + gold.missed >= LEAST_KNOWN


def known_answers(state: State, count: ReviewCount, delta: float = DELTA) -> KnownAnswers | None:
    """How much reviewers find of what is known to be there, and what that does to the limit; None without answers."""
    gold = state.known.gold()
    if not any(gold):
        return None
    finds, violating = gold.detection(delta), gold.found + gold.missed
    least = theory.detection_by_gold(gold.missed, violating, delta / 2)
    limit = theory.review_limit(count, delta / 2, least) if enough_known(state) and least > 0 else None
    return {
        "violating": violating,
        "missed": gold.missed,
        "clean": gold.clean + gold.false,
        "false": gold.false,
        "finds": finds.estimate,
        "finds_from": least,
        "finds_to": finds.high,
        "at_most": limit,
        "sentence": _known_in_words(violating, gold.missed, least, limit, delta),
    }


def _known_in_words(violating: int, missed: int, least: float, limit: int | None, delta: float) -> str:
    known = plural(violating, "known round")
    answered = f"Of {known} with a violation, hidden among the others, reviewers missed {missed}."
    if limit is None:
        return f"{answered} That is too few to say how much they find: it takes {LEAST_KNOWN}."
    return (
        f"{answered} With {1 - delta / 2:.1%} confidence they find at least {least:.0%} of what is there. Taking that "
        f"into account, at most {limit} rounds held a violation. It would be more if known rounds are easier than "
        "others."
    )


def _agreements(overlap: Overlap) -> Agreements:
    return {
        "judged_twice": overlap.rounds,
        "both": overlap.both,
        "one": overlap.first + overlap.second,
        "same_pair": overlap.same_pair,
    }


def _agreement_in_words(rounds: int, confirmed: Interval, finds: Interval, limit: int | None, delta: float) -> str:
    judged = f"Two reviewers judged {rounds} rounds without knowing of each other."
    if confirmed.estimate is None or finds.estimate is None or finds.low == 0:
        return f"{judged} Too little was reported there to say how much they find."
    taken = f" Taking that into account, at most {limit} rounds held a violation." if limit is not None else ""
    return (
        f"{judged} {_share(confirmed, delta)} of reports were confirmed by the other. Reviewers find about "
        f"{_share(finds, delta)} of what is there, if the two find it independently.{taken}"
    )


def _share(interval: Interval, delta: float) -> str:
    return f"{interval.estimate:.0%} ({1 - delta:.0%}: {interval.low:.0%} to {interval.high:.0%})"


def _in_words(count: ReviewCount, up_to: int, waiting: int, delta: float, felt: bool) -> str:
    if up_to == 0:
        return f"Nothing is said yet: the first round that was drawn waits for an answer. Waiting: {waiting}."
    limit = theory.review_limit(count, delta)
    what = "a pair, decided differently, that" if felt else "a pair that"
    sentences = [
        f"Of rounds 1 to {up_to}, {count.cleared} cannot hold a violation, by arithmetic; of the others {count.drawn} "
        f"were drawn for review, and {count.reported} were reported.",
        f"With {1 - delta:.0%} confidence at most {limit} of the {up_to} rounds held {what} the reviewers would have "
        f"reported{'' if count.undrawn == 0 else f' (best guess: {count.estimate:.0f})'}.",
    ]
    if count.unanswered:
        left = plural(
            count.unanswered, "drawn round was not answered and counts", "drawn rounds were not answered and count"
        )
        sentences.append(f"{left} as reported.")
    if count.undrawn:
        sentences.append(
            "It holds whenever it is read, if the lots were drawn as recorded, which likewise verify checks."
        )
    if waiting:
        sentences.append(f"{waiting} drawn rounds still wait, all of them after round {up_to}.")
    return " ".join(sentences)


def prospect(settings: Settings, rounds_a_day: float, days: float = DAYS, delta: float = DELTA) -> PlanProspect:
    """What the plan of a stream buys, in advance, if so many rounds a day are not cleared by arithmetic.

    Where lots depend on the gap, the least probability counts: what is found least often sets the limit.
    """
    review = settings.review
    rounds = max(1, round(rounds_a_day * days))
    share = review.share if review.budget is None else min(1.0, review.budget / max(rounds_a_day, 1e-9))
    plan = theory.review_plan(rounds, share * rounds, delta, by=review.choose)
    prospects: list[Prospect] = [
        {"rate": each.rate, "found": each.found, "at_most": each.limit, "share": each.share} for each in plan.prospects
    ]
    looks = theory.looks_per_review(review.second, gold=review.gold)
    return {
        "days": days,
        "rounds": rounds,
        "reviews": plan.reviews,
        "looks": plan.reviews * looks,
        "confidence": 1.0 - delta,
        "prospects": prospects,
        "sentence": _plan_in_words(rounds, plan.reviews, days, delta, prospects[0]),
    }


def _plan_in_words(rounds: int, reviews: float, days: float, delta: float, first: Prospect) -> str:
    return (
        f"{reviews / days * 7:,.0f} reviews a week: after {days:g} days, if nothing is found, you can claim with "
        f"{1 - delta:.0%} confidence that at most {first['at_most']:,} of {rounds:,} rounds ({first['share']:.2%}) "
        "held a violation."
    )
