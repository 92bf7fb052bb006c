"""Games with known answers: where the paper's theorems are put to the test.

    two people   a and b always come, a is positive and b is not, d = 0: one pair, the same in every round
    pairs        sixteen pairs that are alike; the adversary sees p^t and shows the most violating one, rewarded
    town         a finite population with a distance; i.i.d., or an adversary that sees π^t, or a blind one
    traps        two groups and hypotheses that accept only one of them, for labels seen only of accepted people

Each game gives people, encoded once for its class, and the distance that its auditor knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likewise.environments import IID, Adversary, Moment, Stream
from likewise.hypotheses import Cells, EnumerableClass, FiniteClass, Thresholds
from likewise.policies import Mixture
from likewise.protocol import Batch, Floats


def alike(view: Any, t: int = 0) -> Floats:
    """d = 0: everybody should be treated the same."""
    return np.zeros((len(view), len(view)))


def strangers(view: Any) -> Floats:
    """d = 1: any two people may be treated differently, so there is never a violation."""
    return np.ones((len(view), len(view)))


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


# Traps for labels that are seen only of accepted people ----------------------------------------------------------


@dataclass(frozen=True)
class Above:
    """Accepts people of one group whose score is at least a cut-off, and nobody of the other group.

    The first feature of a person is the group, 0 for A and 1 for B; the others are scores.
    """

    group: int
    score: int
    cut: float

    def __call__(self, X: Any) -> Any:
        """1 for those whom it accepts."""
        X = np.asarray(X)
        return (X[:, 0] == self.group) & (X[:, 1 + self.score] >= self.cut)


@dataclass(frozen=True)
class Trap:
    """Two groups, and hypotheses that accept only one of them: whoever ignores unseen labels never tries the other.

    120 rules accept A alone and 24 accept B alone. B is better, but a learner that starts with most of its weight on
    the many rules for A sees nobody of B. Five scores are z with more and more noise; rules for A use all of them,
    rules for B the first.

    Parameters
    ----------
    first
        The share of A.
    good
        The probability that a person of A, and of B, is good, where z is 0.
    constants
        Which constant hypotheses the class holds.
    """

    first: float = 0.5
    good: tuple[float, float] = (0.7, 0.9)
    constants: tuple[int, ...] = (0,)
    k: int = 6
    people: int = 20_000
    seed: int = 0

    @cached_property
    def population(self) -> tuple[Floats, Floats]:
        """Groups and scores, and who is good."""
        rng = np.random.default_rng(self.seed)
        group = (rng.random(self.people) >= self.first).astype(float)
        z = rng.standard_normal(self.people)
        noise = 0.35 * np.arange(5) * rng.standard_normal((self.people, 5))
        good = np.clip(np.where(group == 0, *self.good) + 0.12 * z, 0.02, 0.98)
        return np.column_stack([group, z[:, None] + noise]), (rng.random(self.people) < good).astype(float)

    @cached_property
    def hypotheses(self) -> FiniteClass:
        """120 rules for A, 24 for B, and the constants."""
        scores = self.population[0][:, 1:]
        cuts = np.quantile(scores, np.linspace(0, 0.9, 24), axis=0)
        rules = [Above(0, j, cut) for j in range(5) for cut in cuts[:, j]] + [Above(1, 0, cut) for cut in cuts[:, 0]]
        return FiniteClass(rules, constants=self.constants)

    def iid(self, all_bad: bool = False) -> IID:
        """Independent draws of the people; ``all_bad`` makes everybody bad, whoever they are."""
        X, y = self.population
        return IID(X, np.zeros(len(y)) if all_bad else y, k=self.k)


SECOND_TRAP = Trap(first=0.6, good=(0.3, 0.85), constants=(0, 1))
"""A trap whose class has both constants, so that a fair start is tested too."""
LOANS = Trap(good=(0.85, 0.9), constants=(0, 1))
"""People most of whom pay back, whatever their group: who refuses everybody errs most."""
