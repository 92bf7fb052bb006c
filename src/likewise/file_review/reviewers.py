"""Several reviewers: who is asked about which pair, second verdicts that know nothing of the first, and agreement.

Each drawn pair goes to one reviewer, by lot and evenly. Some of all pairs, drawn by lot whatever the first one says, go
to a second. The first verdict counts; the second measures agreement, and stands in where the first reviewer could not
say. Agreement is that of ``likewise.theory``: the share of "too different" that the other confirms, and Gwet's AC1
beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import theory
from likewise.errors import require, require_number
from likewise.file_review.draws import Drawn
from likewise.theory.agreement import LEAST_DOUBLE, Overlap
from likewise.wording import at_least, at_most, plural

_NAME = re.compile(r"[\w@.-][\w@. -]*")
Pair = tuple[int, int]
Verdicts = Mapping[str, Mapping[Pair, bool | None]]
"""What each reviewer answered, by pair; None, or nothing, where they could not say."""
SECOND = 0.25
"""Of all pairs, by default: these are judged twice."""


@dataclass(frozen=True)
class Agreement:
    """How far two reviewers who don't know of each other agree.

    Attributes
    ----------
    overlap
        Pairs judged twice: how often both found them too different, one of the two, neither.
    delta
        One minus the confidence of each interval by itself.
    """

    overlap: Overlap
    delta: float

    @property
    def confirmed(self) -> theory.Interval:
        """The share of "too different" that the other confirms, with exact limits."""
        return theory.positive_agreement(self.overlap, self.delta)

    @property
    def ac1(self) -> theory.Interval:
        """Gwet's AC1; an interval from 100 pairs judged twice on."""
        return theory.ac1(self.overlap, self.delta)

    @property
    def sentence(self) -> str:
        """Both, in words."""
        twice = f"{plural(self.overlap.rounds, 'pair was', 'pairs were')} judged by two who don't know of each other"
        if self.overlap.rounds == 0:
            return "No pair was judged twice, so nothing is known about how far reviewers agree."
        confirmed, ac1 = self.confirmed, self.ac1
        if confirmed.estimate is None:
            return f"{twice}; neither found any of them too different."
        few = "" if self.overlap.rounds >= LEAST_DOUBLE else f"; an interval takes {LEAST_DOUBLE} such pairs"
        between = few or f", from {ac1.low:.2f} to {ac1.high:.2f}"
        return (
            f"{twice}. Of what one of them found too different, the other confirmed {confirmed.estimate:.0%} (between "
            f"{at_least(100 * confirmed.low)}% and {at_most(100 * confirmed.high)}% with {1 - self.delta:.0%} "
            f"confidence). Gwet's AC1 is {ac1.estimate:.2f}{between}; it is close to 1 wherever few pairs are found."
        )

    def to_dict(self) -> dict[str, Any]:
        """The numbers and the sentence, as plain JSON values."""
        intervals = {"confirmed": self.confirmed._asdict(), "ac1": self.ac1._asdict()}
        return {"overlap": self.overlap._asdict(), "delta": self.delta, **intervals, "sentence": self.sentence}


@dataclass(frozen=True)
class Assignment:
    """Who is asked about which pair.

    Attributes
    ----------
    names
        Of the reviewers.
    asked
        For each drawn pair, in order, who is asked: one reviewer, or two.

    Examples
    --------
    >>> from likewise.file_review.draws import Drawn
    >>> drawn = Drawn("file", ((3, 1), (2, 0), (4, 0), (5, 1)), (1, 1, 1, 1), 4, 0.5)
    >>> asked = Assignment.by_lot(drawn, ["ann", "bob"], second=0.5, seed=1)
    >>> [len(names) for names in asked.asked.values()], sum(len(asked.of(name)) for name in asked.names)
    ([1, 1, 2, 2], 6)
    >>> verdicts = {name: {pair: pair[1] == 1 for pair in asked.of(name)} for name in asked.names}
    >>> sum(asked.answers(verdicts).values()), asked.agreement(verdicts).overlap.rounds
    (2, 2)
    """

    names: tuple[str, ...]
    asked: Mapping[Pair, tuple[str, ...]]

    @classmethod
    def by_lot(cls, drawn: Drawn, names: Sequence[str], second: float = SECOND, seed: int = 0) -> Assignment:
        """First reviewers evenly, and second ones for this share of all pairs; both in a random order."""
        require(len(set(names)) == len(names) >= 2, "reviewers", "be two different names at least", list(names))
        odd = [name for name in names if not _NAME.fullmatch(name)]
        require(not odd, "reviewers", "be names of letters, digits, spaces, dots and dashes: files have them", odd)
        require_number(second, "second", 0, 1)
        rng = np.random.default_rng([seed, 3])
        count = len(drawn.pairs)
        first = rng.permutation(np.arange(count) % len(names))
        others = (first + rng.integers(1, len(names), size=count)) % len(names)
        twice = set(rng.permutation(count)[: round(second * count)].tolist())
        asked = {
            pair: (names[first[k]], names[others[k]]) if k in twice else (names[first[k]],)
            for k, pair in enumerate(drawn.pairs)
        }
        return cls(tuple(names), asked)

    def of(self, name: str) -> list[Pair]:
        """The pairs that a reviewer is asked about, in the order in which they were drawn."""
        require(name in self.names, "reviewer", f"be one of {', '.join(self.names)}", name)
        return [pair for pair, asked in self.asked.items() if name in asked]

    def answers(self, verdicts: Verdicts) -> dict[Pair, bool | None]:
        """What counts, by pair: the first one's verdict, or the second's where the first could not say."""
        self._check(verdicts)
        return {pair: _first(_said(verdicts, pair, asked)) for pair, asked in self.asked.items()}

    def agreement(self, verdicts: Verdicts, delta: float = 0.05) -> Agreement:
        """How far those agree who were asked about the same pair."""
        self._check(verdicts)
        overlap = Overlap()
        for pair, asked in self.asked.items():
            opinions = _said(verdicts, pair, asked)
            if len(opinions) == 2 and None not in opinions:
                overlap = overlap.add(*(pair if verdict else None for verdict in opinions))
        return Agreement(overlap, delta)

    def _check(self, verdicts: Verdicts) -> None:
        for name, given in verdicts.items():
            other = sorted(set(given) - set(self.of(name)))
            require(not other, "answers", f"hold what {name} was asked about and nothing else", other[:3])


def _said(verdicts: Verdicts, pair: Pair, asked: Iterable[str]) -> list[bool | None]:
    return [verdicts.get(name, {}).get(pair) for name in asked]


def _first(said: Sequence[bool | None]) -> bool | None:
    return next((verdict for verdict in said if verdict is not None), None)
