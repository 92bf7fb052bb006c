"""A certificate as a short letter that a person can follow who knows neither the paper nor the code."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from likewise.certificates.certificate import Certificate

WIDTH = 88
BROKEN, UNCHECKED = "broken", "not checkable"
REGRET, FAIRNESS, ERRORS = "errors compared with fair policies", "fairness to new people", "errors on new people"


def letter(c: Certificate) -> str:
    """The whole letter."""
    head = (
        f"Certificate of a play of {c.rounds:,} rounds, at α = {c.alpha:g}, "
        f"with {1 - c.delta:.0%} confidence for each claim about new people"
    )
    parts = [_happened(c), _compared(c), _new_fairness(c), _new_errors(c), _reviewer(c)]
    paragraphs = [textwrap.fill(part, WIDTH) for part in [head, *parts]]
    return "\n\n".join([*paragraphs, _assumptions(c)])


def _happened(c: Certificate) -> str:
    per_person = c.error / max(1, c.people)
    unseen = f" {c.unseen:,} rounds showed nothing: not reviewed, or only one person." if c.unseen else ""
    at = f" at the reviewer's α = {c.audited_alpha:g}" if c.audited_alpha != c.alpha else ""
    return (
        f"What happened. Over {c.people:,} people with a known label the policies made {per_person:.3f} errors per "
        f"person. The reviewer reported a pair in {c.reports:,} rounds; {c.violations:,} count as violations{at}, "
        f"{c.late_violations:,} of them in the last quarter.{unseen}"
    )


def _compared(c: Certificate) -> str:
    same, strict = c.regret[0], c.regret[-1]
    if same.best == float("inf"):
        return "Compared with fair policies. Nothing is proved: the class can only be reached by fitting."
    return (
        f"Compared with fair policies. {_against(same.best, c.people, f'within α = {c.alpha:g} of its distance')} "
        f"{_against(strict.best, c.people, 'within its distance exactly')}{_provided(c, REGRET)}"
    )


def _against(regret: float, people: int, how: str) -> str:
    share = abs(regret) / max(1, people)
    if regret >= 0:
        return (
            f"A fixed policy that keeps every pair of every batch {how}, even chosen in hindsight, would have made at "
            f"most {regret:,.0f} errors less ({share:.3f} per person)."
        )
    return (
        f"Any fixed policy that keeps every pair of every batch {how} would have made at least {-regret:,.0f} errors "
        f"more ({share:.3f} per person)."
    )


def _new_fairness(c: Certificate) -> str:
    broken = c.rests_on(FAIRNESS, BROKEN)
    any_time = [f for f in c.fairness if f.theorem == "at any time"]
    fixed = [a for a in broken if "at any time" in a.needed_for]
    usable = any_time if fixed else list(c.fairness)
    if len(broken) > len(fixed):
        names = "; ".join(a.name for a in broken if a not in fixed)
        return f"Fairness to new people. Nothing can be claimed, because this does not hold: {names}."
    best = usable[0]
    if best.beta >= 1 or best.alpha >= 1:
        return "Fairness to new people. The play was too short, or had too many violations, to claim anything."
    return (
        f"Fairness to new people. The average policy treats two random people more than {best.alpha:.3f} beyond their "
        f"distance with a chance of at most {best.beta:.1%} (by the limit “{best.theorem}”, q = {best.q:,})."
        f"{_provided(c, FAIRNESS)}"
    )


def _new_errors(c: Certificate) -> str:
    broken = c.rests_on(ERRORS, BROKEN)
    if c.error_on_new_people is None or broken:
        names = "; ".join(a.name for a in broken)
        return f"Errors on new people. Nothing can be claimed, because this does not hold: {names}."
    return (
        f"Errors on new people. The average policy errs on a new person with a chance of at most "
        f"{c.error_on_new_people:.3f}.{_provided(c, ERRORS)}"
    )


def _provided(c: Certificate, claim: str) -> str:
    """What the reader has to vouch for, as the transcript can't."""
    names = [a.name for a in c.rests_on(claim, UNCHECKED)]
    broken = [a.detail for a in c.rests_on(claim, BROKEN)]
    note = f" Mind: {'; '.join(broken)}." if broken else ""
    return f" This assumes, and can't check, that {' and that '.join(names)}.{note}" if names else note


def _reviewer(c: Certificate) -> str:
    count = len(c.contradictions)
    if not c.brackets:
        return "The reviewer. No report says anything about what they hold to be similar."
    if count == 0:
        return (
            f"The reviewer. Their answers bound the distance of {len(c.brackets):,} reported pairs from above and "
            "don't contradict each other."
        )
    first = c.contradictions[0]
    return (
        f"The reviewer. On {count} pairs their answers contradict each other: the pair reported in round {first.round} "
        f"was let pass in round {first.cleared} with a gap as large. They made a slip, or changed their mind."
    )


def _assumptions(c: Certificate) -> str:
    lines = ["What this rests on:"]
    for a in c.assumptions:
        detail = f": {a.detail}" if a.detail else ""
        lines.append(
            textwrap.fill(f"[{a.status}] {a.name}{detail}", WIDTH, initial_indent="  ", subsequent_indent="    ")
        )
    return "\n".join(lines)
