"""The appendix of a certificate's letter: every limit, what each rests on, what the reviewer's answers say, and who
was reported.

Limits are rounded away from what they claim: what is "at most" is rounded up, what is "at least" down.
"""

from __future__ import annotations

import math
import textwrap

from likewise.certificates.assumptions import ABOUT_NEW_PEOPLE, HORIZON, Claim, Status
from likewise.certificates.brackets import Bracket
from likewise.certificates.certificate import Certificate, Generalisation, Redraw
from likewise.certificates.choice import Candidate, Choice
from likewise.certificates.held_out_people import counted
from likewise.certificates.letter import ON_AVERAGE, WIDTH, erred
from likewise.certificates.reviews import Reviews
from likewise.certificates.shown import ShownPeople
from likewise.wording import at_least, at_most, plural

PAIRS = 5
"""Reported pairs that are written out, the closest first."""


def appendix(c: Certificate, people: ShownPeople | None = None) -> str:
    """Everything behind the letter."""
    parts = [
        _head(c),
        _happened(c),
        _every_round(c),
        _compared(c),
        _new_fairness(c),
        _new_errors(c),
        _redrawn(c),
        _reviewer(c),
    ]
    paragraphs = [textwrap.fill(part, WIDTH) for part in parts if part]
    chosen = [] if c.choice is None else [_candidates(c, c.choice)]
    return "\n\n".join([*paragraphs[:2], *chosen, *paragraphs[2:], *_pairs(c, people), _assumptions(c)])


def _head(c: Certificate) -> str:
    return (
        f"Appendix: a play of {plural(c.rounds, 'round')}. In each round a policy gave every person of a batch a "
        "probability, and a reviewer could point at two people treated too differently. Too differently means: further "
        "apart than their distance (how unlike they are, in the reviewer's eyes) plus a tolerance, here "
        f"α = {c.alpha:g}. Each claim from the play about people who were not in it holds with {1 - c.delta:.0%} "
        "confidence by itself."
    )


def _candidates(c: Certificate, choice: Choice) -> str:
    """What was chosen from, on held-out people."""
    learned = [_candidate(c, candidate) for candidate in choice.candidates]
    what = "errors" if c.counts_errors else "cost of errors"
    constant = f"one answer for everybody: {what} {_amount(choice.constant_error, choice.constant_error_limit)}"
    lines = [f"{i}. {line}" for i, line in enumerate([*learned, constant], start=1)]
    limits = (
        f" In brackets are limits for new people, which hold all at once with {1 - choice.delta:.0%} confidence, "
        "provided that new people come as these did."
        if choice.claims_made
        else ""
    )
    on = f"{counted(choice.people, choice.same_rows)} who were held out"
    unit = "Errors" if c.counts_errors else "Costs of errors"
    text = f"What was chosen from, on {on}.{limits} {unit} are per person."
    filled = [textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="     ") for line in lines]
    return "\n".join([textwrap.fill(text, WIDTH), *filled])


def _candidate(c: Certificate, candidate: Candidate) -> str:
    what = "errors" if c.counts_errors else "cost of errors"
    pairs = "" if candidate.unfair is None else f"; unfair pairs {100 * candidate.unfair:.2f}%"
    if candidate.unfair_limit is not None:
        pairs += f" (at most {at_most(100 * candidate.unfair_limit, 1)}%)"
    better = "; shown to be better than one answer for everybody" if candidate.beats_constants else ""
    return f"{candidate.name}: {what} {_amount(candidate.error, candidate.error_limit)}{pairs}{better}"


def _amount(value: float, limit: float | None) -> str:
    return f"{value:.3f}" if limit is None else f"{value:.3f} (at most {at_most(limit, 3)})"


def _happened(c: Certificate) -> str:
    unseen = f" {plural(c.unseen, 'round')} showed nothing: not reviewed, or only one person." if c.unseen else ""
    at = f" at the reviewer's α = {c.audited_alpha:g}" if c.audited_alpha != c.alpha else ""
    return (
        f"What happened. {erred(c)} The reviewer "
        f"reported a pair in {plural(c.reports, 'round')}; {c.violations:,} count as violations{at}, "
        f"{c.late_violations:,} of them in the last quarter.{unseen}{_hidden(c)}"
    )


def _hidden(c: Certificate) -> str:
    """Rounds that the lot may have kept out of sight."""
    if c.hidden is None:
        return ""
    estimate, limit, persistence, _ = c.hidden
    looks = "" if persistence == 1 else f", if the reviewer goes on after a refusal with probability {persistence:g}"
    return (
        f" They saw decisions only. So a pair comes to light only if it was decided differently: an estimate of all "
        f"rounds that held one is {estimate:.1f}, right or too high on average, and with {1 - c.delta:.0%} confidence "
        f"there are at most {at_most(limit)}{looks}."
    )


def _every_round(c: Certificate) -> str:
    """What reviews by lot say of all rounds."""
    r = c.reviews
    if r is None:
        return ""
    waiting = f" {plural(r.waiting, 'later round waits', 'later rounds wait')} for an answer." if r.waiting else ""
    lower = "" if r.lower is None else f" and at least {r.lower:,}, if no report is false"
    return (
        f"All rounds, reviewed or not. Of {plural(r.rounds, 'round')} {r.cleared:,} can't hold a violation, as no gap "
        f"in them{_apart(r)} is above {c.level:g}. Of the others {r.drawn:,} were drawn, each with a known "
        f"probability; {r.reported:,} were reported and {r.unanswered:,} not answered, which count as reported."
        f"{waiting} With {1 - c.delta:.0%} confidence at most {r.limit:,} rounds{_felt(r)} held a pair that the "
        f"reviewer would have reported{lower}; the estimate is {r.estimate:,.1f}. This holds at whatever time it is "
        f"read, whatever the learner or the people did.{_overlooked(r)}{_measured(r)}{_provided(c, Claim.VIOLATIONS)}"
    )


def _overlooked(r: Reviews) -> str:
    """What the limit is for reviewers who overlook things, by assumption."""
    shares = [f"{limit:,} if they find {share:.0%}" for share, limit in r.assumed if share < 1]
    text = f" Rounds that reviewers would overlook are not counted; with those it is at most {', '.join(shares)}."
    found = r.detection
    if found is None or found.agreement is None:
        return text
    return (
        f"{text} Two reviewers judged {plural(found.twice, 'round')} without knowing of each other, and "
        f"{found.agreement:.0%} (between {found.agreement_from:.0%} and {found.agreement_to:.0%}) of reports were "
        "confirmed by the other."
    )


def _apart(r: Reviews) -> str:
    return " of two people decided differently" if r.felt else ""


def _felt(r: Reviews) -> str:
    return " in which it was felt (the two were decided differently)" if r.felt else ""


def _measured(r: Reviews) -> str:
    if r.detection is None or r.corrected is None:
        return ""
    how = (
        f"{r.detection.missed} of {plural(r.detection.known, 'round')} with a known violation were missed"
        if r.detection.known
        else "by the rounds that two judged"
    )
    return (
        f" As measured ({how}) reviewers find at least {at_least(r.detection.least, 3)} of what is there, and at most "
        f"{r.corrected:,} rounds violate: both at once, with the same confidence."
    )


def _compared(c: Certificate) -> str:
    if c.regret[0].best == math.inf and c.rests_on(Claim.REGRET, Status.BROKEN):
        names = "; ".join(a.name for a in c.rests_on(Claim.REGRET, Status.BROKEN))
        return f"Compared with fair policies. Nothing can be claimed, because this does not hold: {names}."
    if c.regret[0].best == math.inf:
        return "Compared with fair policies. Nothing is proved: the class can only be reached by fitting."
    same = _against(c, c.regret[0].best, f"within its distance plus α = {c.alpha:g}")
    strict = _against(c, c.regret[-1].best, "within its distance exactly")
    which = f"with errors by estimates that {ON_AVERAGE}" if c.estimated else "even chosen in hindsight"
    return (
        f"Compared with fair policies. Take any fixed mixture of the class's {c.hypotheses:,} hypotheses, {which}. "
        f"{same} {strict}{_surely(c)}{_provided(c, Claim.REGRET)}"
    )


def _surely(c: Certificate) -> str:
    """What holds of the true errors, against every policy at once."""
    if c.regret_likely is None:
        return ""
    return (
        f" With {1 - c.delta:.0%} confidence none of them, even chosen in hindsight, would truly have saved more than "
        f"{at_most(c.regret_likely)}."
    )


def _against(c: Certificate, regret: float, how: str) -> str:
    draws = max(1, c.draws)
    who = f"One that keeps every pair of every batch {how}"
    each = at_most(regret / draws, 3) if regret >= 0 else at_least(-regret / draws, 3)
    if c.counts_errors:
        difference = f"saved at most {at_most(regret)}" if regret >= 0 else f"made at least {at_least(-regret)} more"
        return f"{who} would have {difference} errors ({each} per {c.per})."
    difference = f"at most {at_most(regret)} less" if regret >= 0 else f"at least {at_least(-regret)} more"
    return f"{who} would have cost {difference} ({each} per {c.per})."


def _new_fairness(c: Certificate) -> str:
    if not c.fairness:
        return f"Fairness to new people. {_nothing(c, Claim.FAIRNESS)}"
    best = c.fairness[0]
    if best.beta >= 1 or best.alpha >= 1:
        return "Fairness to new people. The play was too short, or had too many violations, to claim anything."
    return f"Fairness to new people. {_promise(c, best, 'people')}{_provided(c, Claim.FAIRNESS, best)}"


def _nothing(c: Certificate, claim: Claim) -> str:
    """Why a claim is left out."""
    broken = [f"{a.name} ({a.detail})" if a.detail else a.name for a in c.rests_on(claim, Status.BROKEN)]
    return f"Nothing can be claimed, because this does not hold: {'; '.join(broken)}."


def _average(c: Certificate, rounds: int | None) -> str:
    """Which policy is meant."""
    if rounds == c.rounds:
        return "The average of all the policies played"
    return f"The average policy of the first {rounds:,} rounds, in which everybody came for the first time,"


def _promise(c: Certificate, best: Generalisation, who: str) -> str:
    return (
        f"{_average(c, best.rounds)} treats two random {who} more than "
        f"{at_most(best.alpha, 3)} beyond their distance with a probability of at most {at_most(100 * best.beta, 1)}% "
        f"(by the limit “{best.theorem}”, with q = {best.q:,})."
    )


def _new_errors(c: Certificate) -> str:
    if c.error_on_new_people is None:
        return f"Errors on new people. {_nothing(c, Claim.ERRORS)}"
    if c.error_on_new_people >= max(c.costs):
        return "Errors on new people. The play was too short to claim anything."
    what = "errs on a new person with a probability" if c.counts_errors else "has an expected cost of errors per person"
    whose = "The average policy" if c.rounds_once in (None, c.rounds) else _average(c, c.rounds_once)
    return (
        f"Errors on new people. {whose} {what} of at most {at_most(c.error_on_new_people, 3)}."
        f"{_provided(c, Claim.ERRORS)}"
    )


def _redrawn(c: Certificate) -> str:
    """What draws with replacement prove."""
    sentences = [] if c.redraw is None else [*_redrawn_fairness(c, c.redraw), *_redrawn_errors(c, c.redraw)]
    if c.redraw is None or not sentences:
        return ""
    return f"Another draw from these {c.redraw.rows:,} rows. {' '.join(sentences)} This says nothing of anybody else."


def _redrawn_fairness(c: Certificate, redraw: Redraw) -> list[str]:
    if not redraw.fairness or redraw.fairness[0].beta >= 1 or redraw.fairness[0].alpha >= 1:
        return []
    best = redraw.fairness[0]
    return [f"{_promise(c, best, 'draws')}{_provided(c, Claim.FAIRNESS, best, new=False)}"]


def _redrawn_errors(c: Certificate, redraw: Redraw) -> list[str]:
    if redraw.error is None or (redraw.error >= max(c.costs) and not redraw.exact):
        return []
    amount = f"{redraw.error:.3f}, exactly" if redraw.exact else f"at most {at_most(redraw.error, 3)}"
    what = "errs on such a draw with a probability" if c.counts_errors else "has an expected cost of errors per draw"
    return [f"The average policy {what} of {amount}."]


def _provided(c: Certificate, claim: Claim, limit: Generalisation | None = None, new: bool = True) -> str:
    """What the reader has to vouch for, as the transcript can't; ``new``: in a claim about new people."""
    unchecked = c.rests_on(claim, Status.UNCHECKED)
    names = [a.name for a in unchecked if new or a.name not in ABOUT_NEW_PEOPLE]
    if limit is not None and not limit.anytime and limit.rounds == c.rounds:
        names += [a.name for a in c.assumptions if a.name == HORIZON and a.status == Status.UNCHECKED]
    broken = [a.detail for a in c.rests_on(claim, Status.BROKEN) if new or a.name not in ABOUT_NEW_PEOPLE]
    note = f" Mind: {'; '.join(broken)}." if broken else ""
    return f" This assumes, and can't check, that {' and that '.join(names)}.{note}" if names else note


def _reviewer(c: Certificate) -> str:
    if not c.brackets:
        return "The reviewer. No report says anything about what they hold to be similar."
    if not c.contradictions:
        close = min(c.brackets, key=lambda bracket: bracket.upper)
        return (
            f"The reviewer. Their answers bound the distance of {plural(len(c.brackets), 'reported pair')} from "
            f"above and don't contradict each other. The closest: people {close.numbers[0]} and {close.numbers[1]} of "
            f"round {close.round} are less than {at_most(close.upper, 3)} apart, if the report is true. (People of a "
            "round are numbered from 1, highest probability first.)"
        )
    first = c.contradictions[0]
    return (
        f"The reviewer. On {plural(len(c.contradictions), 'pair')} their answers contradict each other: the pair "
        f"reported in round {first.round} was let pass in round {first.cleared} with a gap as large. They made a "
        "slip, or changed their mind."
    )


def _pairs(c: Certificate, people: ShownPeople | None) -> list[str]:
    """The closest reported pairs, column by column."""
    if people is None or not c.brackets:
        return []
    closest = sorted(c.brackets, key=lambda bracket: bracket.upper)[:PAIRS]
    which = f"{len(closest)} of {len(c.brackets)}" if len(closest) < len(c.brackets) else "all"
    title = f"Reported pairs, the closest first ({which}). A star marks what differs. {people.where}".strip()
    return [textwrap.fill(title, WIDTH), *(_side_by_side(c, bracket, people) for bracket in closest)]


def _side_by_side(c: Certificate, bracket: Bracket, people: ShownPeople) -> str:
    first, second = (people.of_round(bracket.round, place) for place in (bracket.favoured, bracket.disfavoured))
    names = [f"person {number}" for number in bracket.numbers]
    if first.row is not None and second.row is not None:
        names = [f"row {first.row:,}", f"row {second.row:,}"]
    wide = max([0, *map(len, people.columns)])
    gap = bracket.upper + c.level
    lines = [
        f"  Round {bracket.round:,}, people {bracket.numbers[0]} and {bracket.numbers[1]}: "
        f"probabilities {gap:.2f} apart",
        f"    {'':{wide}}  {names[0]:>20.20}  {names[1]:>20.20}",
    ]
    for name, left, right in zip(people.columns, first.values, second.values, strict=True):
        lines.append(f"  {' ' if left == right else '*'} {name:{wide}}  {left:>20.20}  {right:>20.20}")
    return "\n".join(line.rstrip() for line in lines)


def _assumptions(c: Certificate) -> str:
    lines = ["What this rests on:"]
    for a in c.assumptions:
        detail = f": {a.detail}" if a.detail else ""
        text = f"[{a.status}] {a.name}{detail}"
        lines.append(textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="    "))
    return "\n".join(lines)
