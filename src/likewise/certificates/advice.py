"""What is said about a choice: the conclusion first, each claim with its assumption, and nothing where too few came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise.certificates.held_out_people import CONSTANTS, FEWEST, counted
from likewise.errors import require
from likewise.wording import at_most, number, plural

if TYPE_CHECKING:
    from likewise.certificates.choice import Candidate, Choice

TYPICAL_CLAIM = 0.05
"""The share of unfair pairs for which we say how many people it takes to claim it."""
NOTHING = "Nothing is claimed about new people"


def headline(choice: Choice) -> str:
    """What to deploy, and why."""
    use, err = f"We recommend “{choice.recommended}”", _err(choice)
    if choice.recommended not in CONSTANTS:
        return f"{use}: it was shown to {err} less than giving everybody the same answer."
    if not choice.claims_made:
        return f"{NOTHING}. {use}, as nothing was shown to be better."
    if choice.dominated:
        return f"{use}: no learned policy was shown to {err} less ({number(choice.constant_error, 3)} per person)."
    share = number(100 * (choice.tolerance or 0.0))
    return f"{use}: what was shown to {err} less was not shown to treat at most {share}% of pairs too differently."


def about(choice: Choice, name: str) -> str:
    """What is claimed about one policy; if it was not shown to beat a constant, the first sentence says so."""
    known = {candidate.name: candidate for candidate in choice.candidates}
    constant = CONSTANTS[choice.constant]
    require(name == constant or name in known, "name", f"be one of {[*known, constant]}", name)
    if name == constant:
        same = [_error_claim(choice, choice.constant_error_limit), "it treats any two people the same"]
        return f"{_who(choice)} {_joined(choice, same)}" if choice.claims_made else _too_few(choice)
    candidate = known[name]
    against = "" if candidate.beats_constants else f"{_against(choice)} "
    if not choice.claims_made:
        return against + _too_few(choice)
    seen = f"On them it {_err(choice)}s {number(candidate.error, 3)} per person, “{constant}” "
    proved = _joined(choice, _claims(choice, candidate))
    return f"{against}{_who(choice)} {seen}{number(choice.constant_error, 3)}. {proved}"


def letter(choice: Choice) -> str:
    """The headline, what is claimed about the recommended policy, and a line for each candidate."""
    proved = about(choice, choice.recommended).removeprefix(f"{NOTHING}. ")
    limits = " (in brackets: limits for new people, all at once)" if choice.claims_made else ""
    lines = [_line(choice, candidate) for candidate in choice.candidates]
    constant = f"  {CONSTANTS[choice.constant]}: {_err(choice)}s {number(choice.constant_error, 3)}, no pair unfair"
    return "\n".join([headline(choice), proved, f"On the {_people(choice)} held out{limits}:", *lines, constant])


def unclear(same_rows: int) -> str:
    """Why rows that are the same prove nothing.

    Examples
    --------
    >>> unclear(1)
    '1 row is the same as another, and no ids tell whether they are different people'
    """
    rows = plural(same_rows, "row is the same as another", "rows are the same as others")
    return f"{rows}, and no ids tell whether they are different people"


def _people(choice: Choice) -> str:
    return counted(choice.people, choice.same_rows)


def _err(choice: Choice) -> str:
    return "err" if choice.costs == (1.0, 1.0) else "cost"


def _claims(choice: Choice, candidate: Candidate) -> list[str]:
    claims = [_error_claim(choice, candidate.error_limit)]
    if candidate.unfair_limit is not None:
        claims.append(
            f"it treats two new people more than {number(choice.alpha)} beyond their distance with probability at most "
            f"{at_most(100 * candidate.unfair_limit, 1)}%"
        )
    if candidate.beats_constants:
        claims.append(f"it {_err(choice)}s less than giving everybody the same answer")
    return claims


def _error_claim(choice: Choice, limit: float | None) -> str:
    if _err(choice) == "err":
        return f"it errs on a new person with probability at most {at_most(limit or 0.0, 3)}"
    return f"its errors cost at most {at_most(limit or 0.0, 3)} per new person on average"


def _joined(choice: Choice, claims: list[str]) -> str:
    sure = f"With {number(100 * (1 - choice.delta))}% confidence all of these hold at once: "
    return f"{sure}{'; '.join(claims)}. Provided that new people come as these did."


def _against(choice: Choice) -> str:
    answer = CONSTANTS[choice.constant].replace("always", "always answering")
    known = f" ({number(choice.constant_error, 3)})" if choice.claims_made else ""
    return f"It was not shown to {_err(choice)} less than {answer}{known}. We advise against using it."


def _who(choice: Choice) -> str:
    missing = choice.people - choice.labelled
    unknown = f" The label of {number(missing)} of them is not known: errors are those of the others."
    return f"{_people(choice)} took no part in learning.{unknown if missing else ''}"


def _too_few(choice: Choice) -> str:
    if choice.same_rows:
        return f"{NOTHING}. {unclear(choice.same_rows)}."
    held = f"{NOTHING}. {plural(choice.people, 'person was', 'people were')} held out"
    if choice.people >= FEWEST:
        return f"{held}, {number(choice.labelled)} of them with a known label; it takes at least {FEWEST} of those."
    return (
        f"{held}; even if it had treated no two of them unfairly, up to {at_most(100 * choice.spotless_limit)}% of "
        f"pairs could be. For a claim of {number(100 * TYPICAL_CLAIM)}% hold out at least "
        f"{number(choice.people_needed(TYPICAL_CLAIM))}."
    )


def _line(choice: Choice, candidate: Candidate) -> str:
    limit, pairs = candidate.error_limit, ""
    if candidate.unfair is not None:
        most = candidate.unfair_limit
        pairs = f", {number(100 * candidate.unfair, 3)}% of pairs unfair"
        pairs += "" if most is None else f" (at most {at_most(100 * most, 1)}%)"
    proved = "" if limit is None else f" (at most {at_most(limit, 3)})"
    return f"  {candidate.name}: {_err(choice)}s {number(candidate.error, 3)}{proved}{pairs}"
