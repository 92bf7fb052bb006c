"""What is said below the scoreboard: which people each number is on, and what it does not say."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.certificates.people import CONSTANTS, FEWEST, HeldOut, better_constant
from likewise.scoreboard.limits import Possible
from likewise.scoreboard.table import Row
from likewise.wording import number, plural


def of_whom(held: HeldOut, held_out: bool) -> str:
    """A sentence about the people."""
    people = plural(len(held), "person", "people")
    if held_out:
        return f"On {people} who took no part in learning."
    return f"On {people} who took part in learning: this says nothing of others."


def below(
    held: HeldOut,
    possible: Possible,
    rows: Sequence[Row],
    *,
    alpha: float,
    delta: float,
    costs: tuple[float, float],
    held_out: bool,
) -> tuple[str, ...]:
    """Sentences below the table."""
    told = [of_whom(held, held_out), _labels(held), _intervals(held, delta, held_out), _constant(held, costs)]
    told += [_words(rows, alpha), _costs(costs), _limits(held, possible), _unfair(possible, rows)]
    return tuple(sentence for sentence in told if sentence)


def _labels(held: HeldOut) -> str:
    missing = len(held) - held.labelled
    return f"The label of {number(missing)} of them is not known: errors are those of the others." if missing else ""


def _intervals(held: HeldOut, delta: float, held_out: bool) -> str:
    if not held_out:
        return ""
    if held.same_rows:
        rows = plural(held.same_rows, "row is", "rows are")
        return (
            f"Nothing is claimed about new people: {rows} the same as others. Give `ids`, if they are different people."
        )
    if held.labelled < FEWEST:
        return f"Nothing is claimed about new people: that takes at least {FEWEST} held-out people with a known label."
    sure = number(100 * (1 - delta))
    return f"In brackets: {sure}% intervals for new people, each by itself, provided that they come as these did."


def _constant(held: HeldOut, costs: tuple[float, float]) -> str:
    return f"One answer for everybody: {CONSTANTS[better_constant(held.y[held.known], costs)]}."


def _words(rows: Sequence[Row], alpha: float) -> str:
    lot = "Differs by lot: the probability that two draws for the same person differ."
    if all(row.unfair is None for row in rows[1:]):
        return f"No distance is known, so unfair pairs can't be counted. {lot}"
    return f"Unfair pairs: treated more than {number(alpha)} beyond their distance. {lot}"


def _costs(costs: tuple[float, float]) -> str:
    if costs == (1.0, 1.0):
        return ""
    return f"Errors are costs: {number(costs[0])} for a wrong yes, {number(costs[1])} for a wrong no, in every row."


def _limits(held: HeldOut, possible: Possible) -> str:
    """Which people the exact rows and the expected errors are on."""
    if len(possible.chosen) == 0:
        return f"What is possible is not shown: {possible.missing}."
    count = plural(len(possible.chosen), "person", "people")
    which = f"these {count}" if len(possible.chosen) == len(held) else f"{number(len(possible.chosen))} of them by lot"
    model = f"Expected errors are on {which}, under a model of the label that was fitted without the person."
    if possible.best is None:
        return f"{model} What is possible is not shown: {possible.missing}."
    return (
        f"{model} No policy that is fair to every pair of them has a smaller expected error than the last row; this "
        "limit changes with the number of people. The exact rows know these people, and are no policies for new ones."
    )


def _unfair(possible: Possible, rows: Sequence[Row]) -> str:
    if possible.best is None or not any(row.bold and row.unfair for row in rows):
        return ""
    return "This policy treats some pairs unfairly, which the exact rows may not: so it can err less than they do."
