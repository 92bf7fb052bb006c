"""A certificate as a letter of at most 200 words, for people who know neither the paper nor the code.

The conclusion comes first, then at most three claims, each with what it assumes. Everything else is in the appendix.
Limits are rounded away from what they claim: what is "at most" is rounded up, what is "at least" down.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from likewise.certificates.assumptions import HORIZON, NAMES, Claim, Status
from likewise.certificates.certificate import Certificate, Generalisation
from likewise.certificates.reviews import Reviews
from likewise.wording import at_least, at_most, plural

if TYPE_CHECKING:
    from likewise.certificates.choice import Candidate, Choice

WIDTH = 88
WORDS, CLAIMS = 200, 3
"""The most that the letter has of each."""
ON_AVERAGE = "are right on average for a mixture named before the play"
"""What is true of estimates from accepted people."""
DISTANCE = "their distance"
NOTHING = "Nothing is claimed about new people."


class Sentence(NamedTuple):
    """A claim in words, and what it assumes that the transcript can't show."""

    text: str
    assumes: tuple[str, ...] = ()


def letter(c: Certificate) -> str:
    """The whole letter; where three claims with all that they assume would take too many words, it makes fewer.

    Before it makes none, it says less of how rounds were drawn for review.
    """
    texts = [_written(c, most, brief) for brief in (False, True) for most in range(CLAIMS, 0, -1)]
    texts.append(_written(c, 0, True))
    return next((text for text in texts if len(text.split()) <= WORDS), texts[-1])


def _written(c: Certificate, most: int, brief: bool) -> str:
    """The letter with this many claims at most; those about new people come first."""
    chosen = c.choice is not None and c.choice.claims_made
    every = _every_round(c, brief)[:most]
    new = _held_out(c.choice) if c.choice is not None and chosen else [*_new_errors(c), *_new_pairs(c)]
    new = new[: most - len(every)]
    play = _about_the_play(c)[: most - len(every) - len(new)]
    claims = [
        _group("Proved about all rounds of this play, reviewed or not:", every, 1),
        _group(_introduced(c, new), new, 1 + len(every)),
        _group("Proved about this play:", play, 1 + len(every) + len(new)),
    ]
    end = "The appendix has every limit, what it rests on, and who was reported."
    parts = [_conclusion(c, new), *claims, _left_out(c, new), _made(c), end]
    return "\n\n".join(part if part.count("\n") else textwrap.fill(part, WIDTH) for part in parts if part)


# The conclusion ----------------------------------------------------------------------------------------------------


def _conclusion(c: Certificate, new: Sequence[Sentence]) -> str:
    """The first lines: what to deploy, where that was chosen; otherwise whether anything is known of new people."""
    if c.choice is None:
        return " ".join(filter(None, [_constant(c), "" if new else f"{NOTHING} {why_not(c)}{_on_the_rows(c)}"]))
    headline = c.choice.headline
    if c.choice.claims_made:
        return headline
    if new:
        return f"{headline.removeprefix(NOTHING).strip()} Too few people were held out to speak for new people."
    return f"{headline} {c.choice.about(c.choice.recommended).removeprefix(NOTHING).strip()}"


def _constant(c: Certificate) -> str:
    """That one answer for everybody would have been better in this play, where it would."""
    if c.error <= c.constant_error or not c.draws:
        return ""
    fewer = "made fewer errors" if c.counts_errors else "cost less"
    fewer = f"by estimate {fewer}" if c.estimated else fewer
    return (
        f"We advise against using this policy: giving everybody the same answer would have {fewer} in this play, "
        f"{c.constant_error / c.draws:.3f} instead of {c.error / c.draws:.3f} per {c.per}, and treats everybody alike."
    )


def why_not(c: Certificate) -> str:
    """Why nothing is claimed about new people."""
    broken = [
        a for a in c.assumptions if a.status == Status.BROKEN and {Claim.FAIRNESS, Claim.ERRORS} & {*a.needed_for}
    ]
    if not broken:
        return "The play was too short, or had too many reports."
    shared = [a for a in broken if {Claim.FAIRNESS, Claim.ERRORS} <= {*a.needed_for}] or broken
    detail = f" ({shared[0].detail})" if shared[0].detail else ""
    return f"This does not hold: {shared[0].name}{detail}."


def _on_the_rows(c: Certificate) -> str:
    if c.redraw is None or not c.redraw.exact or c.redraw.error is None:
        return ""
    amount = f"errs {c.redraw.error:.3f} times" if c.counts_errors else f"costs {c.redraw.error:.3f}"
    return f" On the {c.redraw.rows:,} rows of the file itself it {amount} per row; that says nothing of others."


def _left_out(c: Certificate, new: Sequence[Sentence]) -> str:
    """What is not claimed, beside what is."""
    if c.choice is not None:
        return ""
    untested = "This letter uses no held-out people: it can't say whether one answer for everybody would do better."
    if not new:
        return untested
    missing = [
        f"Nothing is claimed about {what} new people. {_missing(c, claim)}"
        for claim, what, claimed in (
            (Claim.ERRORS, "errors on", bool(_new_errors(c))),
            (Claim.FAIRNESS, "unfair pairs of", bool(_new_pairs(c))),
        )
        if not claimed
    ]
    return " ".join([*missing, untested])


def _missing(c: Certificate, claim: Claim) -> str:
    broken = c.rests_on(claim, Status.BROKEN)
    return f"This does not hold: {broken[0].name}." if broken else "The play was too short, or had too many reports."


# Claims --------------------------------------------------------------------------------------------------------------


def _held_out(choice: Choice) -> list[Sentence]:
    """What held-out people prove, about the recommended policy first."""
    learned = {candidate.name: candidate for candidate in choice.candidates}
    if choice.recommended in learned:
        return _about(choice, learned[choice.recommended], "It")[:CLAIMS]
    always = choice.recommended.replace("always", "Always answering")
    first = (
        [] if choice.constant_error_limit is None else [Sentence(_errs(choice, always, choice.constant_error_limit))]
    )
    best = min(choice.candidates, key=lambda candidate: candidate.error_limit or math.inf)
    return [*first, *_about(choice, best, f"The learned policy “{best.name}”")][:CLAIMS]


def _about(choice: Choice, candidate: Candidate, who: str) -> list[Sentence]:
    claims = []
    if candidate.error_limit is not None:
        claims.append(_errs(choice, who, candidate.error_limit))
    if candidate.unfair_limit is not None:
        claims.append(
            f"It treats two new people more than {choice.alpha:g} beyond their distance with probability at most "
            f"{at_most(100 * candidate.unfair_limit, 1)}%."
        )
    if candidate.beats_constants:
        less = "errs less" if choice.costs == (1.0, 1.0) else "costs less"
        claims.append(f"It {less} than giving everybody the same answer.")
    return [Sentence(claim) for claim in claims]


def _errs(choice: Choice, who: str, limit: float) -> str:
    if choice.costs == (1.0, 1.0):
        return f"{who} errs on a new person with probability at most {at_most(limit, 3)}."
    return f"{who} has an expected cost of errors of at most {at_most(limit, 3)} per new person."


def _new_errors(c: Certificate) -> list[Sentence]:
    """The first pass's limit for errors on new people, where it says anything."""
    limit = c.error_on_new_people
    if limit is None or limit >= max(c.costs):
        return []
    what = "errs on a new person with probability" if c.counts_errors else "has an expected cost per new person of"
    return [Sentence(f"{_whose(c)} {what} at most {at_most(limit, 3)}", _unchecked(c, Claim.ERRORS))]


def _new_pairs(c: Certificate) -> list[Sentence]:
    """The first pass's limit for unfair pairs of new people, where it says anything."""
    if not c.fairness or c.fairness[0].beta >= 1 or c.fairness[0].alpha >= 1:
        return []
    best = c.fairness[0]
    alike = c.hidden is not None and not c.hidden.stated
    apart = at_most(best.alpha, 3)
    whom = f"whom the reviewer finds alike more than {apart} apart" if alike else f"more than {apart} beyond {DISTANCE}"
    text = (
        f"{'It' if _new_errors(c) else _whose(c)} treats two new people {whom} with probability at most "
        f"{at_most(100 * best.beta, 1)}%"
    )
    return [Sentence(text, _unchecked(c, Claim.FAIRNESS, best))]


def _whose(c: Certificate) -> str:
    if c.rounds_once in (None, c.rounds):
        return "The average of all policies"
    return f"The average policy of the first {c.rounds_once:,} rounds, when everybody was new,"


def _every_round(c: Certificate, brief: bool = False) -> list[Sentence]:
    """How many of all rounds violate, where rounds were drawn for review or the reviewers were measured."""
    r = c.reviews
    if r is None or (r.drawn == r.rounds - r.cleared and r.corrected is None):
        return []
    felt = "decided differently " if r.felt else ""
    text = (
        f"Of all {r.rounds:,} rounds at most {r.limit:,} held a pair {felt}that the reviewer would have reported, "
        f"with {1 - c.delta:.0%} confidence{'' if brief else _drawn(c, r)}{_detected(r)}"
    )
    return [Sentence(text, _unchecked(c, Claim.VIOLATIONS))]


def _drawn(c: Certificate, r: Reviews) -> str:
    """How the limit came about: cleared, drawn, reported and not answered."""
    missing = f" and {r.unanswered:,} not answered, which count as reported" if r.unanswered else ""
    rounds = plural(r.cleared, "round")
    if r.felt:
        cleared = f"In {rounds} no two people decided differently were more than {c.level:g} apart; of the others"
    else:
        cleared = f"No gap in {rounds} was above {c.level:g}; of the others"
    return (
        f"; our best guess is {r.estimate:,.0f}. {cleared if r.cleared else 'Of these'} {r.drawn:,} were drawn by lot "
        f"and reviewed, and {r.reported:,} reported{missing}"
    )


def _detected(r: Reviews) -> str:
    """The limit corrected for what reviewers overlook."""
    if r.detection is None or r.corrected is None:
        return ""
    how = f"{r.detection.missed} of {r.detection.known} known ones missed" if r.detection.known else "by double reviews"
    least = at_least(r.detection.least, 2)
    return f". As reviewers find at least {least} of all violations ({how}), at most {r.corrected:,} rounds violate"


def _about_the_play(c: Certificate) -> list[Sentence]:
    """What is certain: that no fair policy, and no one answer for everybody, would have been much better."""
    return [*_unseen_rounds(c), *_against_fair_policies(c), *_against_a_constant(c)]


def _unseen_rounds(c: Certificate) -> list[Sentence]:
    """How many rounds held a pair that could have been reported, where the lot must bring it to light."""
    if c.hidden is None or c.hidden.limit >= c.rounds or _every_round(c):  # for lots, felt rounds are sharper
        return []
    assumes = tuple(a.name for a in c.assumptions if a.name == NAMES and a.status == Status.UNCHECKED)
    text = f"At most {at_most(c.hidden.limit)} rounds held such a pair, seen or not (with {1 - c.delta:.0%} confidence)"
    return [Sentence(text, assumes)]


def _against_a_constant(c: Certificate) -> list[Sentence]:
    if c.behind_constant is None:
        return []
    by = ", by estimate" if c.estimated else ""
    if c.behind_constant <= 0:
        return [Sentence(f"From the first round to the last it was never behind one answer for everybody{by}")]
    most = _errors(at_most(c.behind_constant)) if c.counts_errors else at_most(c.behind_constant)
    return [Sentence(f"At the end of no round had it fallen behind one answer for everybody by more than {most}{by}")]


def _against_fair_policies(c: Certificate) -> list[Sentence]:
    regret = c.regret[0].best
    if regret == math.inf:
        return []
    rules = f"{c.hypotheses:,} rules" if c.hypotheses and c.hypotheses < 10**6 else "rules"
    whose = "the" if c.black_box else "its"
    fair = f"fixed mixture of {whose} {rules} that {_keeps(c)} would have"
    by = f" by estimates that {ON_AVERAGE}" if c.estimated else ""
    return [Sentence(f"{compared(fair, regret, c.counts_errors)}{by}{_known_false(c)}", _unchecked(c, Claim.REGRET))]


def _keeps(c: Certificate) -> str:
    """What a fair policy does."""
    if c.hidden is not None and not c.hidden.stated:
        return f"keeps all whom the reviewer finds alike within {c.alpha:g}"
    return f"keeps every pair within its distance plus {c.alpha:g}"


def compared(fair: str, regret: float, counts_errors: bool) -> str:
    """A limit of the error regret in words; ``fair`` says whom the errors, or their costs, are compared with.

    Examples
    --------
    >>> compared("fixed rule would have", 11.2, True)
    'No fixed rule would have saved more than 12 errors'
    """
    if regret <= 0 and at_least(-regret) == "0":
        return f"No {fair} {'made fewer errors' if counts_errors else 'cost less'}"
    if regret > 0:
        most = at_most(regret)
        return f"No {fair} {f'saved more than {_errors(most)}' if counts_errors else f'cost more than {most} less'}"
    more = "made at least {} more errors" if counts_errors else "cost at least {} more"
    return f"Every {fair} {more.format(at_least(-regret))}"


def _errors(count: str) -> str:
    return f"{count} {'error' if count == '1' else 'errors'}"


def _known_false(c: Certificate) -> str:
    broken = c.rests_on(Claim.REGRET, Status.BROKEN)
    return f" ({'; '.join(a.detail for a in broken)})" if broken else ""


def _unchecked(c: Certificate, claim: Claim, limit: Generalisation | None = None) -> tuple[str, ...]:
    """What the reader has to vouch for, as the transcript can't."""
    names = [a.name for a in c.rests_on(claim, Status.UNCHECKED)]
    if limit is not None and not limit.anytime and limit.rounds == c.rounds:
        names += [a.name for a in c.assumptions if a.name == HORIZON and a.status == Status.UNCHECKED]
    return tuple(names)


# How they are written ------------------------------------------------------------------------------------------------


def _introduced(c: Certificate, new: Sequence[Sentence]) -> str:
    if c.choice is not None and c.choice.claims_made:
        return (
            f"{plural(c.choice.people, 'person', 'people')} took no part in learning. With {1 - c.choice.delta:.0%} "
            "confidence all of these hold at once, provided that new people come as these did:"
        )
    return f"Proved about new people, with {1 - c.delta:.0%} confidence each{_provided(_shared(new))}:"


def _shared(claims: Sequence[Sentence]) -> list[str]:
    """What every one of several claims assumes; one by itself says so itself."""
    if len(claims) < 2:
        return []
    return [name for name in claims[0].assumes if all(name in claim.assumes for claim in claims)]


def _group(intro: str, claims: Sequence[Sentence], first: int) -> str:
    """Numbered claims under what they have in common."""
    if not claims:
        return ""
    shared = _shared(claims)
    lines = [textwrap.fill(intro, WIDTH)]
    for i, claim in enumerate(claims, start=first):
        own = [name for name in claim.assumes if name not in shared]
        text = f"{i}. {claim.text.removesuffix('.')}{_provided(own, also=bool(shared))}."
        lines.append(textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="     "))
    return "\n".join(lines)


def _provided(names: Iterable[str], also: bool = False) -> str:
    *before, last = names or [""]
    listed = f"{', that '.join(before)} and that {last}" if before else last
    return f", provided{' also' if also else ''} that {listed}" if listed else ""


def _made(c: Certificate) -> str:
    """What was observed, and what the words mean."""
    unseen = f" {plural(c.unseen, 'round')} showed nothing." if c.unseen and not _every_round(c) else ""
    late = f"; {plural(c.late_violations, 'violation was', 'violations were')} in the last quarter"
    reported = f"did so in {plural(c.reports, 'round')}{late}" if c.reports else "never did"
    return f"In {plural(c.rounds, 'round')} {_reviewed(c)}. They {reported}.{unseen} {erred(c)}"


def _reviewed(c: Certificate) -> str:
    """What a reviewer could report."""
    if c.hidden is None:
        return (
            "a reviewer could report two people treated too differently: with probabilities further apart than their "
            f"distance (how unlike the reviewer finds them) plus {c.audited_alpha:g}"
        )
    more = "what the reviewer allows them plus " if c.hidden.stated else ""
    return (
        "a reviewer who saw only who got a yes and who a no could report two people whom they find alike; it counted "
        f"if their probabilities were more than {more}{c.audited_alpha:g} apart"
    )


def erred(c: Certificate) -> str:
    """What errors were made, and by whose labels that is known."""
    each = c.error / max(1, c.draws)
    amount = f"made {each:.3f} errors" if c.counts_errors else f"cost {each:.3f}"
    if c.estimated:
        return (
            f"Of {c.counted}, {c.refused:,} were refused and their labels are unseen; by estimate from the others the "
            f"policies {amount} per {c.per}."
        )
    refused = f" ({c.refused:,} others were refused: theirs are unseen)" if c.refused else ""
    return f"Over {c.counted} with a known label{refused} the policies {amount} per {c.per}."


def paragraphs(text: str) -> list[tuple[str, str, list[str]]]:
    """The paragraphs of a letter, whose lines were broken for a terminal: how each begins, the rest, and a list.

    Examples
    --------
    >>> paragraphs("What happened. Over 2 people\\nnothing.\\n\\nIt rests on:\\n  [kept] one\\n    thing")
    [('What happened.', 'Over 2 people nothing.', []), ('It rests on:', '', ['[kept] one thing'])]
    """
    parts = []
    for part in text.split("\n\n"):
        sentence, *items = re.split(r"\n +(?=\[|\d\. )", part)
        match = re.match(r"(?s)(.*?[.:])(?:\s+(.*))?$", sentence)
        lead, rest = match.groups(default="") if match else ("", sentence)
        parts.append((_line(lead), _line(rest), [_line(item) for item in items]))
    return parts


def _line(text: str) -> str:
    return " ".join(text.split())
