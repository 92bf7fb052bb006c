"""How good are the reviewers? Figures for each of them, and for each feature, with intervals; fair to people.

Where there are few rounds to tell from, nothing is told. Reviewers stand in the order of their names: nobody is ranked.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from sqlalchemy import select

from likewise import theory
from likewise.service.engine import Engine
from likewise.service.log.tables import events
from likewise.service.stream import answers
from likewise.service.stream.claims import claim
from likewise.service.stream.settings import Feature
from likewise.service.stream.state import State
from likewise.service.stream.team import NOBODY, Reviewer
from likewise.theory import Interval, Overlap
from likewise.theory.detection import GOLD_ALARM, SECONDS_ALARM

LEAST = 10
"""Rounds from which on a share, or a time, is told."""
NEWEST = 300
"""The newest reports by which features are compared."""
APART = 1 / 3
"""Two people differ in a number if it is so much of its range apart, among the people of these reports."""


def reviewers(engine: Engine, stream: str, delta: float = 0.05) -> answers.Reviewers:
    """Everybody who judged a round of a stream, and how they agree."""
    state = engine.streams.get(stream).current()
    names = sorted({*state.team.reviewers, *(look.by for look in state.known.looks if look.outcome is not None)})
    reviews = claim(state, delta)
    return {
        "stream": stream,
        "least": LEAST,
        "confidence": 1.0 - delta,
        "reviewers": [figures(state, name, delta) for name in names],
        "features": by_feature(reported_twice(engine, stream), state.stream.settings.features, delta),
        "agreement": reviews["agreement"],
        "known": reviews["known"],
        "marked": [{"t": each.t, "use": each.use, "violating": bool(each.pairs)} for each in state.known.rounds],
    }


def figures(state: State, name: str, delta: float = 0.05) -> answers.ReviewerFigures:
    """What is known of one reviewer."""
    own: Reviewer = state.team.reviewers.get(name, NOBODY)
    plain = Overlap(*(every - part for every, part in zip(own.overlap, own.hinted, strict=True)))
    gold = state.known.gold(name)
    named, upheld = own.overlap.both + own.overlap.first, own.upheld.both + own.upheld.first
    return {
        "name": name,
        "verdicts": own.verdicts,
        "reported": own.reported,
        "cleared": own.cleared,
        "skipped": own.skipped,
        "judged_twice": own.overlap.rounds,
        "confirmed": _confirmed(own.overlap, delta),
        "confirmed_with_hints": _confirmed(own.hinted, delta),
        "confirmed_without_hints": _confirmed(plain, delta),
        "upheld": _share(theory.binomial_limits(upheld, named, delta), named),
        "finds": _share(theory.detection_of_first(own.upheld, delta), own.upheld.both + own.upheld.second),
        "finds_known": _share(gold.detection(delta), gold.found + gold.missed),
        "false_known": _share(gold.false_reports(delta), gold.false + gold.clean),
        "seconds": statistics.median(own.seconds) if len(own.seconds) >= LEAST else None,
        "misses_more": drifted(state, name),
        "became_faster": own.level >= SECONDS_ALARM,
    }


def drifted(state: State, name: str) -> bool:
    """Whether Page's sum over the gold rounds of a reviewer has reached the alarm, and not come back."""
    misses = state.known.misses(name)
    return reduce(lambda level, missed: theory.gold_cusum(level, missed), misses, 0.0) >= GOLD_ALARM


def _confirmed(overlap: Overlap, delta: float) -> answers.Share:
    return _share(theory.positive_agreement(overlap, delta), overlap.reported)


def _share(interval: Interval, rounds: int) -> answers.Share:
    """A share with its interval; no share where it rests on too few rounds."""
    share = interval.estimate if rounds >= LEAST else None
    return {"rounds": rounds, "share": share, "least": interval.low, "most": interval.high}


# By feature -----------------------------------------------------------------------------------------------------------

Judged = tuple[bool, list[tuple[Mapping[str, Any], Mapping[str, Any]]]]
"""Of a round that two judged and one reported: whether both did, and the features of each pair that was named."""


def by_feature(rounds: Sequence[Judged], features: Sequence[Feature], delta: float = 0.05) -> list[answers.ByFeature]:
    """How reviewers agree on reports of two people who differ in a feature.

    Examples
    --------
    >>> pair = ({"job": "a"}, {"job": "b"})
    >>> rounds = [(True, [pair, pair])] * 9 + [(False, [pair])] * 3
    >>> found = by_feature(rounds, [Feature(name="job", kind="category", levels=["a", "b"])])
    >>> found[0]["feature"], found[0]["confirmed"]["rounds"], round(found[0]["confirmed"]["share"], 2)
    ('job', 12, 0.86)
    """
    rows: list[answers.ByFeature] = []
    for feature in features:
        values = [float(person[feature.name]) for _, pairs in rounds for pair in pairs for person in pair
                  if feature.kind == "number"]  # fmt: skip
        apart = APART * (max(values) - min(values)) if values else 0.0
        about = [both for both, pairs in rounds if any(_differ(pair, feature, apart) for pair in pairs)]
        overlap = Overlap(both=sum(about), first=len(about) - sum(about))
        rows.append({"feature": feature.name, "confirmed": _confirmed(overlap, delta)})
    return rows


def _differ(pair: tuple[Mapping[str, Any], Mapping[str, Any]], feature: Feature, apart: float) -> bool:
    first, second = (person[feature.name] for person in pair)
    return bool(first != second) if feature.kind == "category" else abs(first - second) > apart


def reported_twice(engine: Engine, stream: str, count: int = NEWEST) -> list[Judged]:
    """Of the newest rounds with a report, those that a lot gave to two, and whose pairs are all there."""
    log = events.c
    query = select(log.round).where(
        log.stream == stream, log.kind == "audited", log.data.contains('"verdict":"reported"', autoescape=True)
    )
    with engine.store.read() as connection:
        numbers = list(connection.scalars(query.order_by(log.seq.desc()).limit(count)))
    records = engine.rounds(stream, sorted(set(numbers)))
    return [judged for record in records if (judged := _judged(record)) is not None]


def _judged(record: answers.RoundRecord) -> Judged | None:
    blind = [verdict for verdict in record["verdicts"] if verdict["verdict"] in ("reported", "cleared")][:2]
    if record["review"] is None or not record["review"]["second"] or len(blind) < 2:
        return None
    features = {person["id"]: person["features"] for person in record["people"]}
    pairs = [verdict["pair"] for verdict in blind if verdict["pair"]]
    if not pairs or any(features.get(id) is None for pair in pairs for id in pair):
        return None
    return len(pairs) == 2, [(features[first] or {}, features[second] or {}) for first, second in pairs]
