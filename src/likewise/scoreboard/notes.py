"""What is said below the scoreboard: which people each number is on, and what it does not say."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.certificates.advice import unclear
from likewise.certificates.held_out_people import CONSTANTS, FEWEST, HeldOut, better_constant
from likewise.reduction import EQUAL_COSTS
from likewise.scoreboard.limits import Possible
from likewise.scoreboard.table import Row
from likewise.wording import number


def unit(costs: tuple[float, float]) -> str:
    """What errors are called: costs, where the two kinds of error cost differently."""
    return "error" if costs == EQUAL_COSTS else "cost"


def of_whom(held: HeldOut, held_out: bool) -> str:
    """A sentence about the people."""
    if held_out:
        return f"On {held.counted} who took no part in learning."
    return f"On {held.counted} who took part in learning: this says nothing of others."


def below(
    held: HeldOut,
    possible: Possible,
    rows: Sequence[Row],
    *,
    alpha: float,
    delta: float,
    costs: tuple[float, float],
    held_out: bool,
    chosen_from: int,
) -> tuple[str, ...]:
    """Sentences below the table."""
    sentences = [of_whom(held, held_out), _labels(held), _intervals(held, delta, held_out)]
    sentences += [
        _chosen(held, rows, held_out, chosen_from),
        _constant(held, costs),
        _words(rows, alpha),
        _costs(costs),
    ]
    sentences += [_limits(held, possible, unit(costs)), _unfair(possible, rows, unit(costs))]
    return tuple(sentence for sentence in sentences if sentence)


def _labels(held: HeldOut) -> str:
    missing = len(held) - held.labelled
    return f"The label of {number(missing)} of them is not known: errors are those of the others." if missing else ""


def _intervals(held: HeldOut, delta: float, held_out: bool) -> str:
    if not held_out:
        return ""
    if held.same_rows:
        return f"Nothing is claimed about new people: {unclear(held.same_rows)}."
    if held.labelled < FEWEST:
        return f"Nothing is claimed about new people: that takes at least {FEWEST} held-out people with a known label."
    sure = number(100 * (1 - delta))
    return f"In brackets: {sure}% intervals for new people, each by itself, provided that they come as these did."


def _chosen(held: HeldOut, rows: Sequence[Row], held_out: bool, chosen_from: int) -> str:
    """A policy that was picked on these people looks better on them than it is, unless its intervals are wider."""
    if chosen_from == 1 or not (held_out and held.speak):
        return ""
    name = next(row.name for row in rows if row.bold)
    return f"“{name}” was chosen from {number(chosen_from)} policies on these people; its intervals allow for that."


def _constant(held: HeldOut, costs: tuple[float, float]) -> str:
    return f"One answer for everybody: {CONSTANTS[better_constant(held.y[held.known], costs)]}."


def _words(rows: Sequence[Row], alpha: float) -> str:
    lot = "Differs by lot: the probability that two draws for the same person differ."
    if all(row.unfair is None for row in rows[1:]):
        return f"No distance is known, so unfair pairs can't be counted. {lot}"
    return f"Unfair pairs: treated more than {number(alpha)} beyond their distance. {lot}"


def _costs(costs: tuple[float, float]) -> str:
    if costs == EQUAL_COSTS:
        return ""
    return f"Costs of errors: {number(costs[0])} for a wrong yes, {number(costs[1])} for a wrong no, in every row."


def _limits(held: HeldOut, possible: Possible, unit: str) -> str:
    """Which people the exact rows and the expected errors are on."""
    if len(possible.chosen) == 0:
        return f"What is possible is not shown: {possible.missing}."
    everybody = len(possible.chosen) == len(held)
    which = f"these {held.counted}" if everybody else f"{number(len(possible.chosen))} of them by lot"
    exact = "" if possible.best is None else " and the exact rows"
    model = f"Expected {unit}s{exact} are on {which}, under a model of the label that was fitted without the person."
    if possible.best is None:
        return f"{model} What is possible is not shown: {possible.missing}."
    return (
        f"{model} No policy that is fair to every pair of them has a smaller expected {unit} than the last row; this "
        "limit changes with the number of people. The exact rows know these people, and are no policies for new ones."
    )


def _unfair(possible: Possible, rows: Sequence[Row], unit: str) -> str:
    unfair = [row.name for row in rows if row.bold and row.unfair]
    if possible.best is None or not unfair:
        return ""
    less = "err less" if unit == "error" else "cost less"
    return f"“{unfair[0]}” is unfair to some pairs, which the exact rows may not be: so it can {less} than they do."
