"""A certificate as a short letter, for people who know neither the paper nor the code.

Limits are rounded away from what they claim: what is "at most" is rounded up, what is "at least" down.
"""

from __future__ import annotations

import math
import textwrap

from likewise.certificates.certificate import Certificate, Claim, Generalisation, Status
from likewise.wording import at_least, at_most, plural

WIDTH = 88


def letter(c: Certificate) -> str:
    """The whole letter."""
    parts = [_head(c), _happened(c), _compared(c), _new_fairness(c), _new_errors(c), _reviewer(c)]
    return "\n\n".join([*(textwrap.fill(paragraph, WIDTH) for paragraph in parts), _assumptions(c)])


def _unit(c: Certificate) -> str:
    return "errors" if c.costs == (1.0, 1.0) else "cost of errors"


def _head(c: Certificate) -> str:
    return (
        f"Certificate of a play of {plural(c.rounds, 'round')}. In each round a policy gave every person of a batch "
        "a probability, and a reviewer could point at two people treated too differently. Too differently means: "
        "further apart than their distance (how unlike they are, in the reviewer's eyes) plus a tolerance, here "
        f"α = {c.alpha:g}. Each claim about new people holds with {1 - c.delta:.0%} confidence."
    )


def _happened(c: Certificate) -> str:
    per_person = c.error / max(1, c.people)
    unseen = f" {plural(c.unseen, 'round')} showed nothing: not reviewed, or only one person." if c.unseen else ""
    at = f" at the reviewer's α = {c.audited_alpha:g}" if c.audited_alpha != c.alpha else ""
    amount = f"made {per_person:.3f} errors" if _unit(c) == "errors" else f"cost {per_person:.3f}"
    return (
        f"What happened. Over {c.people:,} people with a known label the policies {amount} per person. The reviewer "
        f"reported a pair in {plural(c.reports, 'round')}; {c.violations:,} count as violations{at}, "
        f"{c.late_violations:,} of them in the last quarter.{unseen}"
    )


def _compared(c: Certificate) -> str:
    if c.regret[0].best == math.inf:
        return "Compared with fair policies. Nothing is proved: the class can only be reached by fitting."
    same = _against(c, c.regret[0].best, f"within its distance plus α = {c.alpha:g}")
    strict = _against(c, c.regret[-1].best, "within its distance exactly")
    return (
        f"Compared with fair policies. Take any fixed mixture of the class's {c.hypotheses:,} hypotheses, even chosen "
        f"in hindsight. {same} {strict}{_provided(c, Claim.REGRET)}"
    )


def _against(c: Certificate, regret: float, how: str) -> str:
    people, unit = max(1, c.people), _unit(c)
    policy = f"One that keeps every pair of every batch {how}"
    per_person = at_most(regret / people, 3) if regret >= 0 else at_least(-regret / people, 3)
    if unit == "errors":
        difference = f"saved at most {at_most(regret)}" if regret >= 0 else f"made at least {at_least(-regret)} more"
        return f"{policy} would have {difference} errors ({per_person} per person)."
    difference = f"at most {at_most(regret)} less" if regret >= 0 else f"at least {at_least(-regret)} more"
    return f"{policy} would have cost {difference} ({per_person} per person)."


def _new_fairness(c: Certificate) -> str:
    if not c.fairness:
        names = "; ".join(a.name for a in c.rests_on(Claim.FAIRNESS, Status.BROKEN))
        return f"Fairness to new people. Nothing can be claimed, because this does not hold: {names}."
    best = c.fairness[0]
    if best.beta >= 1 or best.alpha >= 1:
        return "Fairness to new people. The play was too short, or had too many violations, to claim anything."
    return f"Fairness to new people. {_promise(best)}{_provided(c, Claim.FAIRNESS)}"


def _promise(best: Generalisation) -> str:
    return (
        "The average of all the policies played treats two random people more than "
        f"{at_most(best.alpha, 3)} beyond their distance with a probability of at most {at_most(100 * best.beta, 1)}% "
        f"(by the limit “{best.theorem}”, with q = {best.q:,})."
    )


def _new_errors(c: Certificate) -> str:
    if c.error_on_new_people is None:
        names = "; ".join(a.name for a in c.rests_on(Claim.ERRORS, Status.BROKEN))
        return f"Errors on new people. Nothing can be claimed, because this does not hold: {names}."
    errs = (
        "errs on a new person with a probability"
        if _unit(c) == "errors"
        else "has an expected cost of errors per person"
    )
    return (
        f"Errors on new people. The average policy {errs} of at most {at_most(c.error_on_new_people, 3)}."
        f"{_provided(c, Claim.ERRORS)}"
    )


def _provided(c: Certificate, claim: Claim) -> str:
    """What the reader has to vouch for, as the transcript can't."""
    names = [a.name for a in c.rests_on(claim, Status.UNCHECKED)]
    broken = [a.detail for a in c.rests_on(claim, Status.BROKEN)]
    note = f" Mind: {'; '.join(broken)}." if broken else ""
    return f" This assumes, and can't check, that {' and that '.join(names)}.{note}" if names else note


def _reviewer(c: Certificate) -> str:
    if not c.brackets:
        return "The reviewer. No report says anything about what they hold to be similar."
    if not c.contradictions:
        close = min(c.brackets, key=lambda bracket: bracket.upper)
        return (
            f"The reviewer. Their answers bound the distance of {plural(len(c.brackets), 'reported pair')} from "
            f"above and don't contradict each other. The closest: people {close.favoured} and {close.disfavoured} of "
            f"round {close.round} are less than {at_most(close.upper, 3)} apart, if the report is true."
        )
    first = c.contradictions[0]
    return (
        f"The reviewer. On {plural(len(c.contradictions), 'pair')} their answers contradict each other: the pair "
        f"reported in round {first.round} was let pass in round {first.cleared} with a gap as large. They made a "
        "slip, or changed their mind."
    )


def _assumptions(c: Certificate) -> str:
    lines = ["What this rests on:"]
    for a in c.assumptions:
        detail = f": {a.detail}" if a.detail else ""
        text = f"[{a.status}] {a.name}{detail}"
        lines.append(textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="    "))
    return "\n".join(lines)
