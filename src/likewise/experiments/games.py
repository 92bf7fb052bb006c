"""Games with known answers: where the paper's theorems are put to the test.

    two people   a and b always come, a is positive and b is not, d = 0: one pair, the same in every round
    pairs        sixteen pairs that are alike; the adversary sees p^t and shows the most violating one, rewarded
    town         a finite population with a distance; i.i.d., or an adversary that sees π^t, or a blind one
    trap         two groups and rules that accept only one of them: who refuses a group never learns that it is good

Each game gives people, encoded once for its class, and the distance that its auditor knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from likewise.environments import IID, Adversary, Moment, Stream
from likewise.hypotheses import Cells, EnumerableClass, FiniteClass, Thresholds
from likewise.policies import Mixture
from likewise.protocol import Batch, Floats


def alike(view: Any, t: int = 0) -> Floats:
    """d = 0: everybody should be treated the same."""
    return np.zeros((len(view), len(view)))


# Two people ------------------------------------------------------------------------------------------------


def _is_a(X: Any) -> Any:
    return np.asarray(X)[:, 0] == 1.0


def two_people_class() -> FiniteClass:
    """F = {0, 1, 1[x = a]}; a = 1 and b = 0 are its separator."""
    return FiniteClass([_is_a], pool=[[1.0], [0.0]])


def two_people(F: EnumerableClass) -> Adversary:
    """The same batch in every round: y(a) = 1, y(b) = 0. A policy with gap g errs 1 − g, so Q_α errs 1 − α."""
    X = np.array([[1.0], [0.0]])
    batch = Batch(F.encode(X), np.array([1.0, 0.0]), X)
    return Adversary(lambda moment: batch, k=2, sees_policy=False)


# Sixteen pairs ---------------------------------------------------------------------------------------------


class Answers:
    """A hypothesis given by its answer for each numbered person."""

    def __init__(self, answers: Any) -> None:
        self.answers = np.asarray(answers, dtype=np.uint8)

    def __call__(self, X: Any) -> Any:
        """The answers for people who carry their number as the first feature."""
        return self.answers[np.asarray(X)[:, 0].astype(int)]


@dataclass(frozen=True)
class Pairs:
    """Pairs of people who are alike (d = 0), and hypotheses that treat most pairs differently.

    One hypothesis favours the first of every pair; the others favour the first of a pair with probability ``unfair``.
    Labels reward the first, so a policy with gap g on the pair shown errs 1 − g, and Q_α errs exactly 1 − α a round:
    weight α on the one hypothesis, the rest on a constant.
    """

    pairs: int = 16
    size: int = 64
    unfair: float = 0.7
    seed: int = 0

    @cached_property
    def hypotheses(self) -> FiniteClass:
        """Both constants, the one that favours every first, and random hypotheses."""
        rng = np.random.default_rng(self.seed)
        shape = (self.size - 2, self.pairs)
        same = rng.integers(2, size=shape)
        differs = rng.random(shape) < self.unfair
        differs[0] = True
        first, second = np.where(differs, 1, same), np.where(differs, 0, same)
        return FiniteClass([Answers(np.stack(both, axis=1).ravel()) for both in zip(first, second, strict=True)])

    def tempter(self) -> Adversary:
        """Sees p^t: shows the pair with the largest gap, and labels that reward it."""
        numbers = np.arange(2.0 * self.pairs)[:, None]
        rows = self.hypotheses.encode(numbers)
        batches = [Batch(rows[i : i + 2], np.array([1.0, 0.0]), numbers[i : i + 2]) for i in range(0, len(rows), 2)]
        gaps = rows[0::2].astype(float) - rows[1::2]

        def choose(moment: Moment) -> Batch:
            assert isinstance(moment.policy, Mixture)
            return batches[int((gaps @ moment.policy.weights).argmax())]

        return Adversary(choose, k=2, sees_policy=True)


# A town ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Town:
    """People with two features: merit decides the label, and only the second feature says who is alike."""

    k: int = 3
    people: int = 60
    cuts: int = 8
    seed: int = 5

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """n new people of the town."""
        X = rng.random((n, 2))
        return X, (X[:, 0] + 0.2 * rng.standard_normal(n) > 0.5).astype(float)

    @cached_property
    def population(self) -> tuple[Floats, Floats]:
        """The people who live here."""
        return self.sample(self.people, np.random.default_rng(self.seed))

    @cached_property
    def hypotheses(self) -> Thresholds:
        """Cut-offs on both features, in both directions."""
        return Thresholds.quantiles(self.population[0], cuts=self.cuts)

    @cached_property
    def cells(self) -> Cells:
        """All ways to label an 8 × 8 grid: 2^64 hypotheses."""
        corners = np.stack(np.meshgrid(*[np.arange(8.0)] * 2), axis=-1).reshape(-1, 2) / 8 + 1 / 16
        return Cells.grid(corners, bins=8)

    @staticmethod
    def near(view: Any, t: int = 0) -> Floats:
        """As far apart as in the second feature, halved."""
        return np.asarray(np.abs(view[:, 1, None] - view[:, 1]) / 2)

    @staticmethod
    def drifting(view: Any, t: int) -> Floats:
        """An auditor who changes their mind: the distance shrinks to nothing and doubles again, by round."""
        return np.asarray(Town.near(view) * (1 + np.sin(t / 20)))

    @staticmethod
    def broken(view: Any, t: int = 0) -> Floats:
        """No metric: neighbours are alike, everybody else is far apart; two small steps make a large one."""
        return np.asarray(np.abs(view[:, 1, None] - view[:, 1]) > 0.25, dtype=float)

    def iid(self) -> IID:
        """Independent draws from the population."""
        return IID(*self.population, k=self.k)

    def newcomers(self, seed: int) -> Stream:
        """Nobody comes twice: every round draws new people of the town."""

        def rounds() -> Iterator[tuple[Floats, Floats]]:
            rng = np.random.default_rng([self.seed, seed])
            while True:
                yield self.sample(self.k, rng)

        return Stream(rounds(), k=self.k, iid=True)

    def tempter(self, F: EnumerableClass) -> Adversary:
        """Sees π^t: the pair whose unfair treatment tempts most, rewarded, and others labelled against π^t."""
        X, _ = self.population
        rows, right = F.encode(X), X[:, 0] > 0.5
        tempting = np.where(right[:, None] & ~right, -self.near(X), -np.inf)

        def choose(moment: Moment) -> Batch:
            assert moment.policy is not None
            probabilities = moment.policy.at(rows)
            excess = tempting + probabilities[:, None] - probabilities
            pair = divmod(int(excess.argmax()), len(X))
            others = moment.key.generator().integers(len(X), size=self.k - 2)
            chosen = np.array([*pair, *others])
            y = np.concatenate([[1.0, 0.0], (probabilities[others] < 0.5).astype(float)])
            return Batch(rows[chosen], y, X[chosen])

        return Adversary(choose, k=self.k, sees_policy=True)

    def contrarian(self, F: EnumerableClass) -> Adversary:
        """Blind: two near people of different merit; what merit is flips after each report."""
        X, _ = self.population
        rows = F.encode(X)
        right, left = np.flatnonzero(X[:, 0] > 0.5), np.flatnonzero(X[:, 0] <= 0.5)
        nearest = right[np.abs(X[left, 1, None] - X[right, 1]).argmin(axis=1)]

        def choose(moment: Moment) -> Batch:
            rng = moment.key.generator()
            pair = int(rng.integers(len(left)))
            chosen = np.array([nearest[pair], left[pair], *rng.integers(len(X), size=self.k - 2)])
            reported = moment.previous is not None and bool(moment.previous.reports)
            return Batch(rows[chosen], np.asarray((X[chosen, 0] > 0.5) ^ reported, dtype=float), X[chosen])

        return Adversary(choose, k=self.k, sees_policy=False)


# Traps -----------------------------------------------------------------------------------------------------


class OnlyOf:
    """A hypothesis that accepts people of one group whose score is above a cut."""

    def __init__(self, group: int, score: int, cut: float) -> None:
        self.group, self.score, self.cut = group, score, cut

    def __call__(self, X: Any) -> Any:
        """The answers for people with their group in the first column and their scores in the others."""
        people = np.asarray(X)
        return (people[:, 0] == self.group) & (people[:, 1 + self.score] >= self.cut)


@dataclass(frozen=True)
class Trap:
    """Labels seen only of accepted people: where the rules accept only one group, the other one's labels stay unseen.

    People have a score z ~ N(0, 1), and are good with probability clip(``good`` of their group + 0.12 z, 0.02, 0.98).
    120 rules accept only group A, above 24 quantiles of five scores z + 0.35 v · noise, v = 0 … 4; 24 accept only group
    B, above the same quantiles of z. Everybody is unlike everybody else, so there is nothing to report.

    Parameters
    ----------
    good
        The probability of being good at z = 0, in A and in B.
    share
        The share of group A.
    constants
        Which constants the class holds besides the 144 rules.
    k
        People in a round.
    people
        How many people there are.
    """

    good: tuple[float, float] = (0.7, 0.9)
    share: float = 0.5
    constants: tuple[int, ...] = (0,)
    k: int = 6
    people: int = 12_000

    @cached_property
    def hypotheses(self) -> FiniteClass:
        """The 144 rules and the constants."""
        levels = np.linspace(0, 0.9, 24).tolist()
        only_a = [OnlyOf(0, v, _quantile(level, v)) for v in range(5) for level in levels]
        return FiniteClass(
            [*only_a, *(OnlyOf(1, 0, _quantile(level, 0)) for level in levels)], constants=self.constants
        )

    def population(self, seed: int) -> tuple[Floats, Floats]:
        """Group and scores of the people, and whether they are good."""
        rng = np.random.default_rng([15, seed])
        group = (rng.random(self.people) >= self.share).astype(float)
        z, noise = rng.standard_normal(self.people), rng.standard_normal((self.people, 4))
        probability = np.clip(np.asarray(self.good)[group.astype(int)] + 0.12 * z, 0.02, 0.98)
        scores = z[:, None] + 0.35 * np.arange(1, 5) * noise
        return np.column_stack([group, z, scores]), (rng.random(self.people) < probability).astype(float)

    def iid(self, seed: int) -> IID:
        """Independent draws from the population of this seed."""
        X, y = self.population(seed)
        return IID(X, y, k=self.k, view=np.arange(float(self.people))[:, None])

    def bad_at_first(self, seed: int, rounds: int) -> Adversary:
        """Everybody is bad in so many rounds, then people are as they are."""
        X, y = self.population(seed)
        rows, view = self.hypotheses.encode(X), np.arange(float(self.people))[:, None]

        def choose(moment: Moment) -> Batch:
            chosen = moment.key.generator().integers(self.people, size=self.k)
            return Batch(rows[chosen], y[chosen] * (moment.t > rounds), view[chosen])

        return Adversary(choose, k=self.k, sees_policy=False)


def _quantile(level: float, v: int) -> float:
    """A quantile of z + 0.35 v · noise."""
    return NormalDist(0, float(np.hypot(1, 0.35 * v))).inv_cdf(level) if level > 0 else -np.inf


TRAP = Trap()
"""No rule accepts everybody, and B is better."""
SECOND_TRAP = Trap((0.3, 0.85), share=0.6, constants=(0, 1))
"""Both constants are there, and both are bad; most people are A, and most of A are bad."""
RARE = Trap((0.05, 0.95), share=0.9, constants=(0, 1))
"""Hardly anybody is good, and nearly all who are, are B."""
MOSTLY_GOOD = Trap((0.8, 0.95), share=0.5, constants=(0, 1))
"""Accepting everybody is right; to be played with a bad start."""
