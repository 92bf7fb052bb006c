"""Drawn pairs on the review page of a running service, each a round of two; and the reviewers' verdicts back.

The stream learns nothing (``learner="none"``): its probabilities are the scores, to a thousandth. Whoever speaks to the
service is given, a ``likewise.Client``.
"""

from __future__ import annotations

from typing import Any

from likewise.datasets.comparison import ByNumber
from likewise.errors import require
from likewise.file_review.review import Review

CUTS = 1000
"""Of the score: its probability is rounded down to a thousandth."""
VERDICTS = {"reported": True, "cleared": False}
"""What a verdict says of the pair; a round that was skipped, or that nobody reviewed in time, was not judged."""


def send(client: Any, stream: str, review: Review) -> int:
    """Create an audit-only stream and open a round for every drawn pair; how many rounds there are."""
    create(client, stream, review)
    return open_rounds(client, stream, review)


def create(client: Any, stream: str, review: Review) -> None:
    """Create the stream."""
    shown = [_feature(review, name) for name in review.people.shown]
    require("score" not in review.people.shown, "show", "not hold a column called score", "score")
    client.create_stream(
        stream,
        features=[{"name": "score", "shown": False}, *shown],
        cuts={"score": [i / CUTS for i in range(1, CUTS + 1)]},
        # Rounding must not bring a pair below the level that it was drawn above.
        alpha=max(review.alpha - 2 / CUTS, 1 / CUTS),
        learner="none",
        k=2,
    )


def open_rounds(client: Any, stream: str, review: Review) -> int:
    """Open a round for every drawn pair that has none yet; how many rounds there are."""
    for pair in review.drawn.pairs[client.stream(stream)["rounds"] :]:
        client.decide(stream, [_person(review, place) for place in pair])
    return len(review.drawn.pairs)


def received(client: Any, stream: str, review: Review) -> dict[tuple[int, int], bool | None]:
    """What reviewers have answered so far, by pair; None where nobody has judged."""
    answers: dict[tuple[int, int], bool | None] = {}
    for t, pair in enumerate(review.drawn.pairs, start=1):
        round_ = client.round(stream, t)
        ids = [person["id"] for person in round_["people"]]
        require(ids == [_id(review, place) for place in pair], "stream", "hold the pairs of this audit", stream)
        audit = round_["corrections"][-1] if round_["corrections"] else round_["audit"]
        answers[pair] = None if audit is None else VERDICTS.get(audit["verdict"])
    return answers


def _feature(review: Review, name: str) -> dict[str, Any]:
    compared = name in review.people.comparison.columns
    if _is_number(review, name):
        return {"name": name, "compare": compared}
    place = review.people.shown.index(name)
    levels = sorted({review.people.person(i)[place] for pair in review.drawn.pairs for i in pair})
    return {"name": name, "kind": "category", "levels": levels, "compare": compared}


def _is_number(review: Review, name: str) -> bool:
    """Whether a column is sent as numbers: one that is missing for somebody is sent as words."""
    numbers = [part.name for part in review.people.comparison.parts if isinstance(part, ByNumber)]
    return name in numbers and not bool(review.people.people[name].isna().any())


def _person(review: Review, place: int) -> dict[str, Any]:
    shown = dict(zip(review.people.shown, review.people.person(place), strict=True))
    values = review.people.people.iloc[place]
    known = {name: float(values[name]) if _is_number(review, name) else text for name, text in shown.items()}
    return {"id": _id(review, place), "features": {"score": float(review.people.scores[place]), **known}}


def _id(review: Review, place: int) -> str:
    return f"row {review.people.rows[place]}"
