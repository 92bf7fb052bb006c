"""Small games with known answers, and a second count of a play: hypothesis by hypothesis, pair by pair."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

import likewise as lw

# The two-person game: a and b always come, a is positive and b is not, and they should be treated the same ---


def two_people_class():
    """F = {0, 1, 1[x = a]}, with a and b as its pool."""
    return lw.FiniteClass([lambda X: np.asarray(X)[:, 0] == 1.0], pool=[[1.0], [0.0]])


def two_people(F):
    """The same batch in every round, encoded once for F."""
    X = np.array([[1.0], [0.0]])
    batch = lw.Batch(F.encode(X), np.array([1.0, 0.0]), X)
    return lw.Adversary(lambda moment: batch, k=2, sees_policy=False)


def alike(view, t=0):
    """d = 0: everybody should be treated the same."""
    return np.zeros((len(view), len(view)))


class EveryPair(lw.MetricAuditor):
    """Points at every pair that it can; with ``lies``, often at one more, which is fine, and is marked as false."""

    marks_false = True

    def __init__(self, distance, alpha, margin=0.0, lies=0.0):
        super().__init__(distance, alpha, margin=margin)
        self.lies = lies

    def audit(self, batch, probabilities, key):
        excess, rng = self.excess(batch, probabilities, key.t), key.generator()
        found = [
            lw.Report(int(i), int(j), bool(excess[i, j] > self.alpha)) for i, j in np.argwhere(excess > self.level)
        ]
        if len(probabilities) > 1 and rng.random() < self.lies:
            low, high = sorted(rng.choice(len(probabilities), 2, replace=False).tolist(), key=probabilities.__getitem__)
            if all({high, low} != set(report[:2]) for report in found):
                found.append(lw.Report(high, low, violates=False, false=True))
        return tuple(found) or None

    def facts(self):
        return lw.AuditorFacts("EveryPair", truthful=self.lies == 0, exhaustive=True, fixed=True)


# A small town: a finite population, so that the best fair policy is a small linear program -------------------


class Town:
    """Forty people with two features; the label follows the first, and the second says who is alike."""

    def __init__(self, k=3, seed=5):
        rng = np.random.default_rng(seed)
        self.k = k
        self.X = rng.random((40, 2))
        self.y = (self.X[:, 0] + 0.3 * rng.standard_normal(40) > 0.5).astype(float)

    def near(self, view, t=0):
        """People are as far apart as in their second feature, halved."""
        return np.abs(view[:, 1, None] - view[:, 1]) / 2

    def drifting(self, view, t):
        """The distance shrinks and widens, as an auditor who changes their mind."""
        return self.near(view) * (1 + np.sin(t / 20))

    def iid(self):
        return lw.IID(self.X, self.y, k=self.k)

    def newcomers(self, seed=0):
        """Nobody comes twice: every round draws new people, as the forty were."""
        rng = np.random.default_rng([11, seed])

        def rounds():
            while True:
                X = rng.random((self.k, 2))
                yield X, (X[:, 0] + 0.3 * rng.standard_normal(self.k) > 0.5).astype(float)

        return lw.Stream(rounds(), k=self.k, iid=True)

    def gappy(self):
        """Batches of one to k people, every fifth label missing."""
        rng = np.random.default_rng(1)
        missing = np.where(rng.random(40) < 0.2, np.nan, self.y)
        chosen = (rng.integers(40, size=1 + rng.integers(self.k)) for _ in itertools.count())
        return lw.Stream(((self.X[c], missing[c]) for c in chosen), k=self.k)

    def tempter(self):
        """Sees π^t: shows the pair whose unfair treatment tempts most, rewarded, and others that π^t gets wrong."""
        right = self.X[:, 0] > 0.5

        def choose(moment):
            π = moment.policy.probability(self.X)
            excess = np.where(right[:, None] & ~right, π[:, None] - π - self.near(self.X), -np.inf)
            pair = np.unravel_index(excess.argmax(), excess.shape)
            others = moment.key.generator().integers(40, size=self.k - 2)
            return self._people([*pair, *others], [1.0, 0.0, *(π[others] < 0.5)])

        return lw.Adversary(choose, k=self.k, sees_policy=True)

    def brink(self, alpha):
        """Sees π^t: shows the pair that only just violates, and labels everybody against π^t."""

        def choose(moment):
            π = moment.policy.probability(self.X)
            excess = π[:, None] - π - self.near(self.X)
            just = np.where(excess > alpha, excess, np.inf)
            pair = np.unravel_index((just if np.isfinite(just).any() else -excess).argmin(), excess.shape)
            chosen = [*pair, *moment.key.generator().integers(40, size=self.k - 2)]
            return self._people(chosen, π[chosen] < 0.5)

        return lw.Adversary(choose, k=self.k, sees_policy=True)

    def contrarian(self):
        """Blind: two near people of different merit; what merit is flips every 200 rounds, and after each report."""
        right = np.flatnonzero(self.X[:, 0] > 0.5)
        left = np.flatnonzero(self.X[:, 0] <= 0.5)
        nearest = right[np.abs(self.X[left, 1, None] - self.X[right, 1]).argmin(axis=1)]

        def choose(moment):
            pair = moment.key.generator().integers(len(left))
            others = moment.key.generator().integers(40, size=self.k - 2)
            chosen = np.array([nearest[pair], left[pair], *others])
            reported = moment.previous is not None and bool(moment.previous.reports)
            return self._people(chosen, (self.X[chosen, 0] > 0.5) ^ (moment.t // 200 % 2 == 1) ^ reported)

        return lw.Adversary(choose, k=self.k, sees_policy=False)

    def _people(self, chosen, y):
        return self.X[chosen], np.asarray(y, dtype=float)


# A second count --------------------------------------------------------------------------------------------


class Count(NamedTuple):
    """A play counted again, straight from the definitions."""

    errors: np.ndarray
    """(T, N): Err(f, z^t)."""
    losses: np.ndarray
    """(T, N): L_{C_t}(f, z^t)."""
    error: float
    """Σ Err(π^t)."""
    lagrangian: float
    """Σ L_{C_t}(π^t)."""

    @property
    def regret(self):
        return self.lagrangian - self.losses.sum(axis=0).min()

    @property
    def squared_ranges(self):
        return float(np.square(np.ptp(self.losses, axis=1)).sum())


def count(t, answers):
    """Count transcript ``t`` again; ``answers`` is (N, people): what every hypothesis says of everybody who came."""
    everybody = np.vstack([answers, t.shown])
    fp, fn = t.costs
    cost = np.where(t.y == 1, fn * (1 - everybody), np.where(t.y == 0, fp * everybody, 0.0))
    errors = np.add.reduceat(cost, t.starts[:-1], axis=1).T
    losses = errors.copy()
    for i, reports in enumerate(t.reports):
        for report in reports:
            first, second = t.starts[i] + report.favoured, t.starts[i] + report.disfavoured
            losses[i] += t.penalties[i] / len(reports) * (everybody[:, first] - everybody[:, second])
    return Count(errors[:, :-1], losses[:, :-1], errors[:, -1].sum(), losses[:, -1].sum())


def best_fair_error(t, answers, distance, level):
    """min Σ Err(π) over π with |π(x) − π(x')| ≤ d_t(x, x') + level for all pairs of all rounds, by one LP."""
    return best_fair(t, answers, distance, level)[0]


def best_fair(t, answers, distance, level):
    """The same, and the weights of the policy that reaches it."""
    limits = {}
    for i in range(t.rounds):
        people = slice(t.starts[i], t.starts[i + 1])
        said, d = answers[:, people].T.astype(float), distance(t.view[people], t.first + i)
        for a, b in itertools.permutations(range(len(said)), 2):
            row = (said[a] - said[b]).tobytes()
            limits[row] = min(limits.get(row, np.inf), d[a, b] + level)
    N = len(answers)
    rows = np.array([np.frombuffer(row) for row in limits]) if limits else np.zeros((1, N))
    bounds = np.array(list(limits.values())) if limits else np.zeros(1)
    total = count(t, answers).errors.sum(axis=0)
    solved = linprog(total, A_ub=rows, b_ub=bounds, A_eq=np.ones((1, N)), b_eq=[1.0], method="highs")
    assert solved.status == 0, solved.message
    return solved.fun, solved.x


# Losses without a town: any hypotheses, any scale ------------------------------------------------------------


class Tally(NamedTuple):
    """What a driven learner met: running sums, so that a million rounds fit."""

    state: object
    regret: float
    squared_ranges: float
    scale: float
    """The largest cumulative loss of any hypothesis: what rounding is relative to."""


def drive(learner, choose, rounds, alpha=0.1, seed=0):
    """Fold a learner over rounds that ``choose`` makes with p^t in view; every p^t must be a distribution.

    ``choose(rng, t, weights)`` gives (people, N) answers and labels; None labels go against π^t. The pair with the
    largest gap is reported when the gap is above α.
    """
    rng, state = np.random.default_rng(seed), learner.init()
    fp, fn = learner.costs
    total, played, squares = np.zeros(learner.hypotheses.size), 0.0, 0.0
    for t in range(1, rounds + 1):
        policy = learner.act(state, lw.Key(seed, lw.Role.LEARNER, t))
        assert policy.weights.min() >= 0.0
        assert abs(policy.weights.sum() - 1.0) < 1e-9
        rows, y = choose(rng, t, policy.weights)
        π = policy.at(rows)
        y = (π < 0.5).astype(float) if y is None else y
        high, low = int(π.argmax()), int(π.argmin())
        reports = (lw.Report(high, low),) if π[high] - π[low] > alpha else ()
        loss = np.where(y == 1, fn, 0.0) @ (1.0 - rows) + np.where(y == 0, fp, 0.0) @ rows
        if reports:
            loss += learner.penalty_at(state) * (rows[high].astype(float) - rows[low])
        state = learner.update(state, lw.Round(lw.Batch(rows, y, None), π, reports))
        total += loss
        played += float(policy.weights @ loss)
        squares += float(np.ptp(loss)) ** 2
    return Tally(state, played - total.min(), squares, float(np.abs(total).max()))


def random_losses(rng, t, weights):
    """Random answers and labels."""
    return rng.integers(2, size=(2, len(weights)), dtype=np.uint8), rng.integers(2, size=2).astype(float)


def hostile_losses(rng, t, weights):
    """Whoever leads is made to lose: the heaviest hypothesis says 1 of a negative, alone."""
    rows = np.zeros((2, len(weights)), dtype=np.uint8)
    rows[0, weights.argmax()] = 1
    return rows, np.zeros(2)


def shifting_losses(rng, t, weights):
    """Long spells in which one hypothesis is right, then rounds against π^t, then noise; constants stay constant.

    Without a constant in the class nothing limits the reports, and penalties that grow with them may overflow.
    """
    spell, kind = divmod(t // 300, 3)
    rows, y = random_losses(rng, t, weights)
    if kind == 0:
        y = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])[spell % 4]
        rows[:, 2:] = [[1], [0]]
    rows[:, :2] = 0, 1
    return rows, None if kind == 1 else y
