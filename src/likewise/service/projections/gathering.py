"""Where reports gather: the people of reported pairs beside everybody in the same rounds, feature by feature."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.service.live.verified import VerifiedReads
from likewise.service.log import Store
from likewise.service.projections.kept import reading
from likewise.service.projections.summaries import REPORTED, of_rounds
from likewise.service.stream.settings import Feature, Settings
from likewise.wording import number

PARTS = 3
"""Parts that the values of a number are divided into."""
FEW = 5
"""People in reported pairs that a part must hold to be named."""
SHOWN = 8
"""Parts that are named."""
Reported = tuple[list[Mapping[str, Any]], tuple[int, int]]
"""The features of everybody in a round who is still there, and where the reported pair is among them."""


class Region(NamedTuple):
    """People with a value in a part of a feature: their share of reported pairs, and of everybody in those rounds."""

    name: str
    where: str
    reported: int
    share: float
    of_all: float


class Gathering(NamedTuple):
    """The newest reported pairs: how many, in how many of them the two differ in each feature, and where people are."""

    pairs: int
    differ: list[tuple[str, int]]
    regions: list[Region]


def gathering(reads: VerifiedReads, store: Store, stream: str, settings: Settings, count: int = REPORTED) -> Gathering:
    """Where the newest reports gather."""
    return gathered(_reported(reads, store, stream, count), settings.features)


def gathered(rounds: Sequence[Reported], features: Sequence[Feature]) -> Gathering:
    """The same, from what is known of the rounds.

    Examples
    --------
    >>> rounds = [([{"age": 20.0}, {"age": 50.0}, {"age": 60.0}], (0, 1))] * 5
    >>> found = gathered(rounds, [Feature(name="age")])
    >>> found.differ, [(part.where, part.share, round(part.of_all, 2)) for part in found.regions]
    ([('age', 5)], [('above 20, up to 50', 0.5, 0.33), ('up to 20', 0.5, 0.33)])
    """
    everybody = [person for people, _ in rounds for person in people]
    reported = [people[i] for people, pair in rounds for i in pair]
    differ = [
        (feature.name, sum(people[i][feature.name] != people[j][feature.name] for people, (i, j) in rounds))
        for feature in features
    ]
    regions = [region for feature in features for region in _regions(feature, reported, everybody)] if rounds else []
    large = [region for region in regions if region.reported >= FEW and region.share > region.of_all]
    return Gathering(
        len(rounds),
        sorted(differ, key=lambda each: -each[1]),
        sorted(large, key=lambda region: region.of_all - region.share)[:SHOWN],
    )


def _regions(feature: Feature, reported: Sequence[Mapping[str, Any]], everybody: Sequence[Mapping[str, Any]]) -> Any:
    of_reported, of_all = ([person[feature.name] for person in people] for people in (reported, everybody))
    if feature.kind == "category":
        parts = [
            (level, [value == level for value in of_reported], [value == level for value in of_all])
            for level in set(of_all)
        ]
    else:
        parts = _parts(np.array(of_reported, dtype=float), np.array(of_all, dtype=float))
    for where, own, theirs in sorted(parts, key=lambda part: part[0]):
        count = int(np.sum(own))
        yield Region(feature.name, where, count, count / len(of_reported), float(np.mean(theirs)))


def _parts(mine: Any, all_: Any) -> list[tuple[str, Any, Any]]:
    """Values in thirds, by those of everybody."""
    cuts = np.unique(np.quantile(all_, np.arange(1, PARTS) / PARTS, method="lower"))
    cuts = cuts[cuts < all_.max()]
    ends = [-np.inf, *cuts.tolist(), np.inf]
    parts = []
    for low, high in itertools.pairwise(ends):
        above = "" if low == -np.inf else f"above {number(low)}"
        up_to = "" if high == np.inf else f"up to {number(high)}"
        where = ", ".join(words for words in (above, up_to) if words) or "all values"
        parts.append((where, (mine > low) & (mine <= high), (all_ > low) & (all_ <= high)))
    return parts if len(parts) > 1 else []


def _reported(reads: VerifiedReads, store: Store, stream: str, count: int) -> list[Reported]:
    """Of the newest reported rounds, those whose pair is still there."""
    with reading(store, stream) as (connection, kept):
        pairs = {row.round: row for row in of_rounds(connection, stream, kept, kept.reported[-count:])}
    rounds: list[Reported] = []
    for t, event in reads.opened(stream, sorted(pairs)).items():
        features = {aside.ref: aside.content["features"] for aside in event.asides}
        there = [ref for ref in event.refs if ref in features]
        pair = [event.refs[pairs[t].favoured], event.refs[pairs[t].disfavoured]]
        if all(ref in features for ref in pair):
            rounds.append(([features[ref] for ref in there], (there.index(pair[0]), there.index(pair[1]))))
    return rounds
