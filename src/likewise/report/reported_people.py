"""The people of a report, side by side: whom the reviewer pointed at, and whom the policy treats most unfairly."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import zip_longest

import numpy as np

from likewise.certificates.shown import MostUnfair, ShownPeople, ShownPerson, UnfairPair
from likewise.figures.reports import Helped
from likewise.game import Transcript
from likewise.report.html import wrapped
from likewise.wording import plural

CARDS = 6
"""Reported pairs that are shown, the widest gap first."""


def reported(t: Transcript, people: ShownPeople, helped: Helped | None) -> str:
    """The reported pairs with the widest gaps; ``helped`` knows what became of them."""
    cards = []
    for j in np.argsort(-t.pair_gaps, kind="stable")[:CARDS].tolist():
        pair = [people.person(int(people.came[place])) for place in t.pair_people[j]]
        first, second = t.numbers_of(j)
        title = f"Round {t.first + int(t.report_rounds[j]):,}, people {first} and {second}"
        given = [f"{value:.2f}" for value in t.shown[t.pair_people[j]]]
        note = f"Their probabilities were {t.pair_gaps[j]:.2f} apart.{_since(j, helped)}"
        cards.append(card(title, note, people.columns, pair, given))
    return deck(cards)


def _since(j: int, helped: Helped | None) -> str:
    """How far apart the two may be, where a distance says so, and what became of them, where it was computed."""
    at = [] if helped is None else np.flatnonzero(helped.later.reports == j).tolist()
    if helped is None or not at:
        return ""
    allowed = "" if helped.allowed is None else f" Their distance is {helped.allowed[at[0], 0]:.2f}."
    last = abs(float(helped.later.last[at[0]]))
    return allowed + ("" if np.isnan(last) else f" Under the last policy they are {last:.2f} apart.")


def unfair_pairs(unfair: MostUnfair, people: ShownPeople, because: Sequence[str] = ()) -> str:
    """The held-out pairs that are furthest beyond their distance, and what sets each of them apart."""
    pairs = zip_longest(unfair.pairs, because, fillvalue="")
    return deck([_unfair_card(pair, people, why) for pair, why in pairs if isinstance(pair, UnfairPair)])


def _unfair_card(pair: UnfairPair, people: ShownPeople, why: str) -> str:
    both = [people.person(place) for place in (pair.favoured, pair.disfavoured)]
    high, low = pair.probabilities
    note = f"Their probabilities are {high - low:.2f} apart. Their distance is {pair.distance:.2f}. {why}".rstrip()
    title = f"{pair.excess:.2f} beyond their distance"
    return card(title, note, people.columns, both, [f"{high:.2f}", f"{low:.2f}"])


def unfair_people(unfair: MostUnfair, people: ShownPeople) -> str:
    """Whoever is behind the most others, one a row."""
    names = ["", "probability", "behind", *people.columns]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = []
    for treated in unfair.people:
        person = people.person(treated.person)
        cells = [
            _name(person, 0),
            f"{treated.probability:.2f}",
            f"{treated.behind:,} of {unfair.compared - 1:,}",
            *person.values,
        ]
        rows.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    return wrapped(head, "".join(rows))


def counted(reports: int) -> str:
    """How many of the reported pairs are shown."""
    if reports <= CARDS:
        return f"{plural(reports, 'pair was', 'pairs were')} reported."
    return f"{reports:,} pairs were reported. These are the {CARDS} whose probabilities were furthest apart."


def _name(person: ShownPerson, i: int) -> str:
    return f"row {person.row:,}" if person.row is not None else ("the favoured", "the other")[i]


def deck(cards: Sequence[str]) -> str:
    """Cards beside each other."""
    return f'<div class="deck">{"".join(cards)}</div>'


def card(
    title: str, note: str, columns: Sequence[str], people: Sequence[ShownPerson], probabilities: Sequence[str]
) -> str:
    """Two people, column by column; what differs is marked."""
    head = "".join(f"<th>{escape(_name(person, i))}</th>" for i, person in enumerate(people))
    lines = [_line("probability", probabilities, "given")]
    for name, *values in zip(columns, *(person.values for person in people), strict=True):
        lines.append(_line(name, values, "same" if values[0] == values[1] else "differs"))
    return (
        f"<section class='card'><h3>{escape(title)}</h3><table class='pair'><thead><tr><th></th>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table><p class='note'>{escape(note)}</p></section>"
    )


def _line(name: str, values: Sequence[str], kind: str) -> str:
    cells = "".join(f"<td>{escape(value)}</td>" for value in values)
    return f"<tr class='{kind}'><th>{escape(name)}</th>{cells}</tr>"
