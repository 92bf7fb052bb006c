"""An audit of an existing scorer: what is measured by a written distance, ranked pairs, groups, and pairs to judge.

No learner is involved. The distance is a written guess at what may justify a difference; what it counts is counted
exactly. Whether a difference is unfair, people say: on pairs that were drawn at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.certificates.heldout import FairnessEvaluation, unfair_pairs
from likewise.certificates.shown import MostUnfair, most_unfair
from likewise.displays import short, text_html
from likewise.errors import require, require_number, require_whole
from likewise.file_review.answers import Claim, claimed
from likewise.file_review.draws import Drawn, OpenPairs, draw, needed
from likewise.file_review.scored import ScoredPeople, scored_people
from likewise.protocol import Floats
from likewise.scoreboard import Groups, groups
from likewise.wording import at_least, at_most, columns_for, percent, plural

RANKED = 12
"""Pairs that are listed."""
COMPARED = 3000
"""People among whom ranked pairs are looked for, at most: a random choice of a longer file."""
PAIRS = 60
"""Draws by default: none found supports a claim of 5 % even if every pair is open."""
Answers = Mapping[tuple[int, int], bool | None]


@dataclass(frozen=True)
class Comparator:
    """Somebody who was scored higher than a person, although they are close."""

    place: int
    row: int
    score: float
    distance: float
    excess: float


@dataclass(frozen=True, eq=False, repr=False)
class Review:
    """A comparative file review; ``likewise.audit`` makes one.

    Attributes
    ----------
    people
        With their scores.
    alpha, delta, seed
        How much more than their distance two people may differ, one minus the confidence, and the seed of all draws.
    drawn
        Random pairs for people to judge.
    groups
        How groups fare, where sensitive columns and labels, or the columns alone, are known.
    """

    people: ScoredPeople
    alpha: float
    delta: float
    seed: int
    drawn: Drawn
    groups: Groups | None

    # What is counted ------------------------------------------------------------------------------------------------

    @cached_property
    def open_pairs(self) -> OpenPairs:
        """Pairs whose scores differ by more than α."""
        return OpenPairs.of(self.people.scores, self.alpha)

    @cached_property
    def measured(self) -> FairnessEvaluation:
        """The pairs that differ by more than their distance + α, among all pairs of the file."""
        view, metric = self.people.view, self.people.comparison.metric
        return unfair_pairs(self.people.scores, view, metric, self.alpha, self.delta)

    @cached_property
    def ranked(self) -> MostUnfair:
        """The pairs furthest beyond their distance, and the people behind the most others."""
        places = self.compared
        return most_unfair(self.people.scores[places], self.people.distances(places), self.alpha, RANKED, places=places)

    @cached_property
    def compared(self) -> NDArray[np.intp]:
        """Among whom ranked pairs are looked for."""
        everybody = np.arange(len(self.people))
        if len(everybody) <= COMPARED:
            return everybody
        return np.sort(np.random.default_rng([self.seed, 2]).permutation(everybody)[:COMPARED])

    def compared_to_whom(self, row: int, top: int = 10) -> list[Comparator]:
        """Who was scored higher than the person of a row of the file, and how far beyond their distance; most first."""
        at = np.flatnonzero(self.people.rows == row)
        require(len(at) == 1, "person", "be the row of somebody in the file who has a score", row)
        i = int(at[0])
        higher = np.flatnonzero(self.people.scores > self.people.scores[i])
        distances = self.people.distance(i, higher)
        excess = self.people.scores[higher] - self.people.scores[i] - distances
        first = np.argsort(-excess, kind="stable")[:top]
        return [
            Comparator(
                int(higher[k]), int(self.people.rows[higher[k]]), float(self.people.scores[higher[k]]),
                float(distances[k]), float(excess[k]),
            )
            for k in first
        ]  # fmt: skip

    # What people say --------------------------------------------------------------------------------------------------

    def claim(self, answers: Answers) -> Claim:
        """What people's answers about the drawn pairs prove."""
        return claimed(self.drawn, answers, len(self.people), self.delta, self.alpha)

    @property
    def needed(self) -> dict[float, int]:
        """How many draws support each claim, if none of them is found too different; one-sided, each by itself."""
        share = self.open_pairs.share if self.drawn.about == "file" else 1.0
        return needed(share, self.delta / 2)

    # Sentences ------------------------------------------------------------------------------------------------------

    @property
    def headline(self) -> str:
        """What was found, in two sentences."""
        measured, every = self.measured, self.open_pairs
        if every.count == 0:
            return (
                f"No two of these {len(self.people):,} people have scores that differ by more than {self.alpha:g}: "
                "there is nothing to review."
            )
        return (
            f"{measured.violating:,} of {measured.pairs:,} pairs ({percent(measured.share)}) have scores further apart "
            f"than their written distance + {self.alpha:g}. That counts what the distance sees; whether a difference "
            "is unfair, people have to say."
        )

    @property
    def about_new_people(self) -> str:
        """What the written distance says of two new people, and on which assumption."""
        if not self.people.distinct:
            return "Nothing is said about new people: some rows are the same, and may be one person (--id)."
        low, high = at_least(100 * self.measured.lower, 2), at_most(100 * self.measured.upper, 2)
        return (
            f"For two new people this happens with a probability between {low}% and {high}% "
            f"({1 - self.delta:.0%} confidence), if these people are independent draws and the scorer was made without "
            "them."
        )

    @property
    def cleared(self) -> str:
        """How much nobody has to look at."""
        every = self.open_pairs
        return (
            f"In {every.every - every.count:,} of {every.every:,} pairs the scores differ by at most {self.alpha:g}; "
            f"nobody needs to judge those. {every.count:,} remain."
        )

    @property
    def sample(self) -> str:
        """What the drawn pairs can support."""
        if self.drawn.draws == 0:
            return "No pair was drawn."
        spotless = self.claim(dict.fromkeys(self.drawn.pairs, False)).upper
        enough = "; ".join(f"{beta:.0%}: {plural(count, 'draw')}" for beta, count in self.needed.items() if count)
        how = (
            "independently, all remaining pairs equally likely"
            if self.drawn.about == "file"
            else "as disjoint pairs of people in a random order"
        )
        return (
            f"{plural(self.drawn.draws, 'pair was', 'pairs were')} drawn {how}; {len(self.drawn.pairs):,} are to be "
            f"judged. If none is found too different, at most {at_most(100 * spotless, 2)}% of pairs are. The least "
            f"numbers of draws for a claim, if none is found: {enough or 'none, as too few pairs remain'}."
        )

    def __repr__(self) -> str:
        drawn = f"{plural(len(self.drawn.pairs), 'pair')} drawn to be judged"
        return short("Review", plural(len(self.people), "person", "people"), f"alpha {self.alpha:g}", drawn)

    def __str__(self) -> str:
        return "\n\n".join([self.headline, self.about_new_people, self.cleared, self.sample])

    def _repr_html_(self) -> str:
        return text_html(str(self))

    def to_dict(self) -> dict[str, Any]:
        """The numbers and sentences, as plain JSON values."""
        rows = self.people.rows
        return {
            "people": len(self.people),
            "score": self.people.described,
            "distance": self.people.comparison.described,
            "alpha": self.alpha,
            "delta": self.delta,
            "seed": self.seed,
            "notes": list(self.people.notes),
            "headline": self.headline,
            "measured": self.measured._asdict(),
            "about_new_people": self.about_new_people,
            "open_pairs": self.open_pairs.count,
            "all_pairs": self.open_pairs.every,
            "compared": len(self.compared),
            "ranked": [
                {"rows": [int(rows[p.favoured]), int(rows[p.disfavoured])], "scores": list(p.probabilities),
                 "distance": p.distance, "excess": p.excess}
                for p in self.ranked.pairs
            ],
            "drawn": {"about": self.drawn.about, "draws": self.drawn.draws, "share": self.drawn.share,
                      "rows": [[int(rows[i]), int(rows[j])] for i, j in self.drawn.pairs],
                      "times": list(self.drawn.times)},
            "needed": {f"{beta:g}": count for beta, count in self.needed.items()},
            "sample": self.sample,
            "groups": None if self.groups is None else self.groups.to_dict(),
        }  # fmt: skip


def audit(
    frame: Any,
    score: str,
    compare_by: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    label: str | None = None,
    alpha: float = 0.1,
    pairs: int = PAIRS,
    about: str = "file",
    delta: float = 0.05,
    seed: int = 0,
    positive: Any = None,
    **reading: Any,
) -> Review:
    """A comparative file review of any scorer or rule: ranked pairs, groups, and a random draw of pairs to judge.

    Parameters
    ----------
    frame
        People with their scores: a pandas or polars dataframe, or a pyarrow table.
    score
        The column of scores in [0, 1], or of decisions.
    compare_by
        The columns that may justify a difference.
    sensitive
        Columns whose groups are compared; never shown to a reviewer.
    label
        The column of what turned out to be right, if it is known: for error rates of groups.
    alpha
        How much more than their distance two people may differ.
    pairs
        How many pairs to draw for people to judge.
    about
        What a claim is about: ``"file"``, all pairs of these people, or ``"new"``, two new people like them.
    delta
        One minus the confidence.
    seed
        Of every random number.
    positive
        The value of the label (and of a score in words) that counts as a yes.
    reading
        ``show``, ``scale``, ``between``, ``units``, ``categories`` and ``ids``, as ``scored_people`` takes them.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"income": [30, 31, 60, 61], "score": [0.2, 0.9, 0.8, 0.8]})
    >>> review = audit(people, "score", ["income"], pairs=5)
    >>> review.measured.violating, [(p.favoured, p.disfavoured) for p in review.ranked.pairs]
    (1, [(1, 0)])
    >>> review.claim({pair: False for pair in review.drawn.pairs}).found
    0
    """
    require_number(alpha, "alpha", 0, 1)
    require_number(delta, "delta", 0, 1, open_at="low high")
    require_whole(seed, "seed", 0)
    hidden = [name for name in sensitive if name in (*compare_by, *reading.get("show", ()))]
    require(not hidden, "sensitive", "hold no column to compare by or to show", hidden)
    people = scored_people(frame, score, compare_by, positive=positive, **reading)
    drawn = draw(people.scores, OpenPairs.of(people.scores, alpha), alpha, pairs, about, seed)
    return Review(people, alpha, delta, seed, drawn, _groups(people, sensitive, label, positive, delta))


def _groups(
    people: ScoredPeople, sensitive: Sequence[str], label: str | None, positive: Any, delta: float
) -> Groups | None:
    if not sensitive:
        return None
    y: Floats = np.full(len(people), np.nan)
    if label is not None:
        from likewise.datasets.columns import arrow, opened
        from likewise.datasets.frames import labels

        table = opened(people.people)
        require(label in table.columns, "label", f"be one of the {columns_for([label], list(table.columns))}", label)
        y = labels(arrow(table, label), label, positive)[0]
    ids = people.ids if people.distinct else None
    given = people.scores.astype(int) if people.decisions else people.scores
    return groups(given, people.people, y, list(sensitive), delta=delta, ids=ids, drawn=False)
