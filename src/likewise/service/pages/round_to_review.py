"""A claimed round as a reviewer sees it: people by probability, on an axis, with hints where to look first.

Where reviewers see decisions, people stand there by yes and no, in the order of the batch, without an axis. Nothing on
the page then depends on their probabilities, except which pairs can be reported.

A reviewer never sees sensitive features, on a page or over HTTP: what must not justify a difference should not be on
view when differences are judged.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from likewise.service.stream.settings import Feature, Settings
from likewise.wording import plural

LANE = 0.07
"""How far apart on the axis two dots must be to stand at one height."""
LANES = 4
"""Dots above each other at most; where more would be needed, neighbours share a mark."""
HINTS = 2
"""Pairs of each kind that are offered."""


class Person(NamedTuple):
    """Somebody in a round: their number from 1, and what is shown of them.

    Numbers go by probability, or by decision where reviewers see those; the other one is None.
    """

    number: int
    id: str
    probability: float | None
    features: list[Any]
    decision: int | None = None


class Mark(NamedTuple):
    """A dot on the axis, at a height, for the person of a number; or one for several neighbours."""

    first: int
    last: int
    probability: float
    lane: int

    @property
    def x(self) -> str:
        """Where it is on the axis, as a share of its width."""
        return place(self.probability)

    @property
    def name(self) -> str:
        """What stands in it: a number, or the first and the last of several."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


class Hint(NamedTuple):
    """Two people worth a look, and why; their gap where reviewers see probabilities."""

    first: int
    second: int
    gap: float | None
    why: str


class RoundToReview(NamedTuple):
    """Everything on the page about one round."""

    t: int
    opened_at: str
    until: str
    columns: list[Feature]
    people: list[Person]
    hints: list[Hint]
    possible: bool
    marks: Sequence[Mark] = ()
    pairs: list[tuple[int, int]] | None = None
    """Where reviewers see decisions: which pairs of numbers can be reported."""
    asked: tuple[int, ...] = ()
    """Where only an opinion on a pair is asked, which somebody else has named: the two numbers."""
    yours: bool = False
    """Whether nobody else is asked this, so that it never goes to others."""

    @property
    def lanes(self) -> int:
        """How many dots stand above each other at most."""
        return 1 + max((mark.lane for mark in self.marks), default=0)

    @property
    def said(self) -> str:
        """What a screen reader says when the round comes up."""
        shown = [person.probability for person in self.people if person.probability is not None]
        between = f", with probabilities from {min(shown):.2f} to {max(shown):.2f}" if shown else ""
        none = "" if self.possible else " No pair here can be a violation."
        return f"Round {self.t}: {plural(len(self.people), 'person', 'people')}{between}.{none}"


def place(probability: float) -> str:
    """A probability on the axis, which leaves room for a dot at both ends.

    Examples
    --------
    >>> place(0.0), place(1.0)
    ('4%', '96%')
    """
    return f"{4 + 92 * probability:.4g}%"


def round_to_review(claimed: Mapping[str, Any], settings: Settings) -> RoundToReview:
    """The page's view of a round that the engine handed to an auditor."""
    by_decisions = settings.audits == "decisions"
    shown = (_by_decisions if by_decisions else _by_probabilities)(claimed, visible(settings), settings)
    asked = claimed.get("pair", ()) if claimed.get("asks") == "opinion" else ()
    numbers = tuple(person.number for person in shown.people if person.id in asked)
    return shown._replace(asked=numbers, yours=bool(claimed.get("yours")))


def _by_probabilities(claimed: Mapping[str, Any], columns: list[Feature], settings: Settings) -> RoundToReview:
    """People by probability, with an axis."""
    ranked = sorted(claimed["people"], key=lambda person: -person["probability"])  # as `protocol.numbered` counts
    people = [
        Person(i + 1, each["id"], each["probability"], [each["features"][column.name] for column in columns])
        for i, each in enumerate(ranked)
    ]
    far = ranked[0]["probability"] - ranked[-1]["probability"] if ranked else 0.0
    return RoundToReview(
        t=claimed["t"],
        opened_at=claimed["opened_at"],
        until=claimed["until"],
        columns=columns,
        people=people,
        hints=hints(people, columns, settings),
        possible=far > settings.level,
        marks=marks([each["probability"] for each in ranked]),
    )


def _by_decisions(claimed: Mapping[str, Any], columns: list[Feature], settings: Settings) -> RoundToReview:
    """The same where reviewers see decisions: who got a yes comes first."""
    ranked = sorted(claimed["people"], key=lambda person: -person["decision"])
    people = [
        Person(i + 1, each["id"], None, [each["features"][column.name] for column in columns], each["decision"])
        for i, each in enumerate(ranked)
    ]
    by_id = {person.id: person for person in people}
    pairs = [(by_id[yes], by_id[no]) for yes, no in claimed["pairs"]]
    scales, compared = _scales(people, columns, settings), _compared(columns)
    alike = sorted((_difference(a, b, columns, scales, compared), a.number, b.number) for a, b in pairs)
    return RoundToReview(
        t=claimed["t"],
        opened_at=claimed["opened_at"],
        until=claimed["until"],
        columns=columns,
        people=people,
        hints=[Hint(a, b, None, "alike") for _, a, b in alike[:HINTS]],
        possible=bool(pairs),
        pairs=sorted((a.number, b.number) for a, b in pairs),
    )


def visible(settings: Settings) -> list[Feature]:
    """The features that auditors see, those to compare by first."""
    shown = [feature for feature in settings.features if feature.visible]
    return sorted(shown, key=lambda feature: not feature.compare)


def hints(people: Sequence[Person], columns: Sequence[Feature], settings: Settings) -> list[Hint]:
    """The pairs with the largest gaps, and the most alike of those that are far enough apart to be reported."""
    scales, compared = _scales(people, columns, settings), _compared(columns)
    pairs = [
        (gap, _difference(a, b, columns, scales, compared), a.number, b.number)
        for a, b in itertools.combinations(people, 2)
        if (gap := (a.probability or 0.0) - (b.probability or 0.0)) > settings.level
    ]
    alike = [Hint(a, b, gap, "alike") for gap, _, a, b in sorted(pairs, key=lambda pair: (pair[1], -pair[0]))[:HINTS]]
    wide = [Hint(a, b, gap, "gap") for gap, _, a, b in sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:HINTS]]
    named = {(hint.first, hint.second) for hint in alike}
    return alike + [hint for hint in wide if (hint.first, hint.second) not in named]


def _compared(columns: Sequence[Feature]) -> list[int]:
    """What people are compared by: everything shown, where nothing is marked so."""
    return [j for j, column in enumerate(columns) if column.compare] or list(range(len(columns)))


def _scales(people: Sequence[Person], columns: Sequence[Feature], settings: Settings) -> list[float]:
    """What counts as far apart in each number: the range of its cuts, or of this round."""
    scales = []
    for j, column in enumerate(columns):
        values = list(settings.cuts.get(column.name) or ())
        if column.kind == "number" and len(values) < 2:
            values = [person.features[j] for person in people]
        scales.append(max(values) - min(values) if column.kind == "number" and values else 1.0)
    return scales


def _difference(
    a: Person, b: Person, columns: Sequence[Feature], scales: Sequence[float], compared: Sequence[int]
) -> float:
    """How different two people are: the mean over what is compared, each from 0 (the same) to 1."""
    total = 0.0
    for j in compared:
        if columns[j].kind == "category":
            total += a.features[j] != b.features[j]
        elif scales[j] > 0:
            total += min(1.0, abs(a.features[j] - b.features[j]) / scales[j])
    return total / max(1, len(compared))


def marks(probabilities: Sequence[float]) -> list[Mark]:
    """Dots for people ranked by probability, at heights where they don't cover each other.

    Many people at nearly one probability would build a tower: then those within half a dot share a mark.

    Examples
    --------
    >>> [mark.name for mark in marks([0.9, 0.5, 0.5])], [mark.name for mark in marks([0.9] + [0.5] * 7)]
    (['1', '2', '3'], ['1', '2–8'])
    """
    single = [(i, i, p) for i, p in enumerate(probabilities, 1)]
    if max(_lanes(probabilities, LANE), default=0) < LANES:
        return [Mark(*each, lane) for each, lane in zip(single, _lanes(probabilities, LANE), strict=True)]
    shared: list[tuple[int, int, float]] = []
    for i, p in enumerate(probabilities, 1):
        if shared and probabilities[shared[-1][0] - 1] - p < LANE / 2:
            first = shared.pop()[0]
            shared.append((first, i, sum(probabilities[first - 1 : i]) / (i - first + 1)))
        else:
            shared.append((i, i, p))
    # A mark of several is wider than a dot.
    lanes = _lanes([p for _, _, p in shared], 1.5 * LANE)
    return [Mark(*each, lane) for each, lane in zip(shared, lanes, strict=True)]


def _lanes(probabilities: Sequence[float], distance: float) -> list[int]:
    """Heights at which dots, so far apart on the axis, don't cover each other."""
    free: list[float] = []
    lanes = []
    for p in probabilities:
        lane = next((i for i, taken in enumerate(free) if taken - p >= distance), len(free))
        free[lane : lane + 1] = [p]
        lanes.append(lane)
    return lanes
