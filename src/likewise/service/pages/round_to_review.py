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

LANE = 0.07
"""How far apart on the axis two dots must be to stand at one height."""
HINTS = 2
"""Pairs of each kind that are offered."""


class Person(NamedTuple):
    """Somebody in a round: their number from 1, their lane on the axis, and what is shown of them.

    Numbers go by probability, or by decision where reviewers see those; the other one is None.
    """

    number: int
    id: str
    probability: float | None
    lane: int
    features: list[Any]
    decision: int | None = None

    @property
    def x(self) -> str:
        """Where they stand on the axis, as a share of its width."""
        return place(self.probability or 0.0)


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
    pairs: list[tuple[int, int]] | None = None
    """Where reviewers see decisions: which pairs of numbers can be reported."""

    @property
    def lanes(self) -> int:
        """How many dots stand above each other at most."""
        return 1 + max((person.lane for person in self.people), default=0)


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
    columns = visible(settings)
    if settings.audits == "decisions":
        return _by_decisions(claimed, columns, settings)
    ranked = sorted(claimed["people"], key=lambda person: -person["probability"])  # as `protocol.numbered` counts
    lanes = _lanes([person["probability"] for person in ranked])
    people = [
        Person(i + 1, each["id"], each["probability"], lane, [each["features"][column.name] for column in columns])
        for i, (each, lane) in enumerate(zip(ranked, lanes, strict=True))
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
    )


def _by_decisions(claimed: Mapping[str, Any], columns: list[Feature], settings: Settings) -> RoundToReview:
    """The same where reviewers see decisions: who got a yes comes first."""
    ranked = sorted(claimed["people"], key=lambda person: -person["decision"])
    people = [
        Person(i + 1, each["id"], None, 0, [each["features"][column.name] for column in columns], each["decision"])
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


def _lanes(probabilities: Sequence[float]) -> list[int]:
    """Heights at which dots don't cover each other."""
    free: list[float] = []
    lanes = []
    for p in probabilities:
        lane = next((i for i, taken in enumerate(free) if taken - p >= LANE), len(free))
        free[lane : lane + 1] = [p]
        lanes.append(lane)
    return lanes
