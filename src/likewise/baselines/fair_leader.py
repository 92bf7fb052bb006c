"""Follow the fair leader: the least error so far among policies that keep every cut, by linear program.

    min over π of Σ_t Err(π, z^t)   such that   π(x) − π(x') ≤ allowed   for every cut

A cut is what somebody said of a pair. Where cuts come from makes the method:

    Jung et al. (2019)         elicited pairs: reported, or ``asked`` of people in the first rounds (``cut="alike"``)
    Rothblum and Yona (2018)   all pairs of all rounds, with ``told`` the distance; ``commit`` after half of the rounds
    Kim, Reingold, Rothblum    ``asked`` distances, and rows over the means of pairs of ``groups``
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.auditors import named_metric
from likewise.baselines.base import Baseline
from likewise.baselines.programs import FEASIBLE, Program
from likewise.errors import InvalidParameter, require, require_number, require_whole
from likewise.hypotheses import Cube
from likewise.policies import Mixture
from likewise.protocol import Distance, Floats, Key, Round, Rows
from likewise.reduction import label_weights

Groups = Callable[[Any], NDArray[np.intp]]
"""From the view of some people to the number of each person's group, 0 to 65,535."""
MANY = 1 << 16
ROWS_AT_ONCE = 200
GROWN = 1.05
"""Labels alone call for a new leader only after this much growth of the play."""


class Cuts(NamedTuple):
    """Pairs with what they are allowed: people as flat encoded rows, the pair of groups (−1: none), and use.

    Flat, because the width of a row isn't known before the first round.
    """

    high: NDArray[Any]
    low: NDArray[Any]
    allowed: Floats
    group: NDArray[np.intp]
    active: NDArray[np.bool_]

    @classmethod
    def none(cls) -> Cuts:
        """No cuts."""
        empty = np.empty(0, dtype=np.intp)
        return cls(empty, empty, np.empty(0), empty, np.empty(0, dtype=bool))

    @classmethod
    def of(cls, high: Rows, low: Rows, allowed: Floats, group: NDArray[np.intp]) -> Cuts:
        """Cuts in an order that doesn't depend on the order of people."""
        flat = [part.reshape(len(part), -1) for part in (high, low)]
        order = np.lexsort([*np.concatenate(flat, axis=1).T, group, allowed])
        one, other = (part[order].ravel().astype(np.intp) for part in flat)
        return cls(one, other, allowed[order], group[order], np.zeros(len(order), dtype=bool))

    @property
    def pairs(self) -> int:
        """How many."""
        return len(self.allowed)

    def and_(self, more: Cuts) -> Cuts:
        """These and more."""
        return Cuts(*(np.concatenate(parts) for parts in zip(tuple(self), tuple(more), strict=True)))

    def people(self, like: Rows) -> tuple[Rows, Rows]:
        """The two sides, as rows of the class."""
        shape = (self.pairs, *like.shape[1:])
        return self.high.reshape(shape).astype(like.dtype), self.low.reshape(shape).astype(like.dtype)

    @property
    def rows(self) -> NDArray[np.intp]:
        """The row of the program that each pair belongs to: its own, or that of its two groups."""
        if self.pairs == 0 or self.group[0] < 0:
            return np.arange(self.pairs)
        return np.unique(self.group, return_inverse=True)[1].ravel()


class FairLeaderState(NamedTuple):
    """Labels' losses, the leader's weights, the round of the last program, and the cuts."""

    rounds: int
    reports: int
    losses: Floats
    weights: Floats
    solved: int
    asked: int
    high: NDArray[Any]
    low: NDArray[Any]
    allowed: Floats
    group: NDArray[np.intp]
    active: NDArray[np.bool_]

    @property
    def cuts(self) -> Cuts:
        """The cuts together."""
        return Cuts(self.high, self.low, self.allowed, self.group, self.active)


@dataclass(frozen=True)
class FairLeader(Baseline):
    """The least error so far, subject to cuts.

    Its ``update`` solves a linear program: after a cut that the current policy breaks, and when the play has grown by a
    twentieth. A round costs as much as its cuts: with pairs reported or asked they are few; with ``told`` alone the
    state keeps every pair of every round, and grows.

    Parameters
    ----------
    cut
        What a report is taken to say: ``"alike"``, the two may differ by α at most; or ε, they may differ by ε less
        than they did (by α where that is more).
    commit
        Learn nothing more after this many rounds.
    told
        A distance, or the name of a SciPy metric. The learner then needs no reports.
    asked
        With ``told``: only the first so many pairs of people are compared.
    groups
        With ``told``: one row for each two groups, on the means over their pairs. It takes the view of people.

    Examples
    --------
    >>> import likewise as lw
    >>> X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    >>> learner = lw.baselines.FairLeader(lw.Thresholds([[0.5]]), alpha=0.1)
    >>> auditor = lw.MetricAuditor("cityblock", alpha=0.1, w=[0.0])
    >>> t = lw.play(learner, lw.IID(X, y, k=2, order="passes"), auditor, T=9)
    >>> learner.knows, t.violations.sum(), t.shown[-2:].max() - t.shown[-2:].min() <= 0.1
    ('pairs', np.int64(1), np.True_)
    """

    _: KW_ONLY
    cut: str | float = "alike"
    commit: int | None = None
    told: Distance | str | None = None
    asked: int | None = None
    groups: Groups | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number(self.alpha, "alpha", 0, 1)
        if self.cut != "alike":
            fits = isinstance(self.cut, (int, float)) and self.cut > 0
            require(fits, "cut", 'be "alike" or a positive number', self.cut)
        for name, value in (("commit", self.commit), ("asked", self.asked)):
            if value is not None:
                require_whole(value, name)
        if not self.hypotheses.constants:
            raise InvalidParameter("`hypotheses` must hold a constant, which keeps every cut, got none.")
        for name, needs in (("asked", self.asked), ("groups", self.groups)):
            require(needs is None or self.told is not None, name, "be left out unless `told` is a distance", needs)

    @property
    def knows(self) -> str:
        """Pairs, the distance, or some distances."""
        if self.told is None:
            return "pairs"
        return "the distance" if self.asked is None else f"{self.asked:,} distances"

    def answers(self, state: FairLeaderState) -> int | None:
        """A verdict a round until it commits; or the distances that were asked for."""
        if self.told is not None:
            return None if self.asked is None else state.asked
        return state.rounds if self.commit is None else min(state.rounds, self.commit)

    def parameters(self) -> dict[str, Any]:
        """Every parameter; a distance or groups by name."""
        named = {name: getattr(self, name) for name in ("told", "groups")}
        words = {name: getattr(value, "__name__", type(value).__name__) for name, value in named.items()}
        return super().parameters() | {n: v if v is None or isinstance(v, str) else words[n] for n, v in named.items()}

    def init(self) -> FairLeaderState:
        """No losses and no cuts; a constant leads."""
        F = self.hypotheses
        return FairLeaderState(0, 0, np.zeros(F.geometry.dim), F.constant(F.constants[0]), 0, 0, *Cuts.none())

    def act(self, state: FairLeaderState, key: Key) -> Mixture:
        """The leader."""
        return Mixture(self.hypotheses, state.weights)

    def update(self, state: FairLeaderState, round: Round) -> FairLeaderState:
        """Add the labels' losses and the round's cuts; a new leader if one is due."""
        state = state._replace(rounds=state.rounds + 1, reports=state.reports + bool(round.reports))
        if self.commit is not None and state.rounds > self.commit:
            return state
        rows, labels = round.batch.rows, label_weights(round.batch.y, self.costs, round.batch.weight)
        losses = self.hypotheses.added(state.losses, rows, labels)
        new = self._told_cuts(round, state.asked) if self.told is not None else self._reported_cuts(round)
        cuts, weights, solved = state.cuts.and_(new), state.weights, state.solved
        if state.rounds >= GROWN * solved or state.rounds == self.commit or self._broken(weights, cuts, rows).size:
            weights, active = self._leader(losses, cuts, rows)
            cuts, solved = cuts._replace(active=active), state.rounds
        asked = state.asked + (new.pairs // 2 if self.told is not None else 0)
        return FairLeaderState(state.rounds, state.reports, losses, weights, solved, asked, *cuts)

    # Cuts ---------------------------------------------------------------------------------------------------------

    def _reported_cuts(self, round: Round) -> Cuts:
        if not round.reports:
            return Cuts.none()
        high, low = (np.array(side) for side in zip(*(report[:2] for report in round.reports), strict=True))
        gaps = round.probabilities[high] - round.probabilities[low]
        alike = isinstance(self.cut, str)
        allowed = np.full(len(gaps), self.level) if alike else np.maximum(self.level, gaps - float(self.cut))
        rows = round.batch.rows
        return Cuts.of(rows[high], rows[low], allowed, np.full(len(gaps), -1))

    def _told_cuts(self, round: Round, asked: int) -> Cuts:
        """Both directions of each pair of the round, or of as many as may still be asked about."""
        rows, k = round.batch.rows, len(round.batch.y)
        # By rows, so that who is asked about doesn't depend on the order of people.
        order = np.lexsort(rows.reshape(k, -1).T)
        pairs = np.array([order[side] for side in np.triu_indices(k, 1)])
        if self.asked is not None:
            pairs = pairs[:, : max(0, self.asked - asked)]
        if pairs.size == 0:
            return Cuts.none()
        high, low = np.concatenate([pairs, pairs[::-1]], axis=1)
        allowed = self._distances(round.batch.view)[high, low] + self.level
        group = np.full(k, -1) if self.groups is None else np.asarray(self.groups(round.batch.view), dtype=np.intp)
        return Cuts.of(rows[high], rows[low], allowed, self._both(group[high], group[low]))

    def _both(self, high: NDArray[np.intp], low: NDArray[np.intp]) -> NDArray[np.intp]:
        return high if self.groups is None else high * MANY + low

    def _distances(self, view: Any) -> Floats:
        distance = named_metric(self.told) if isinstance(self.told, str) else self.told
        assert distance is not None
        return np.asarray(distance(view), dtype=float)

    # The program --------------------------------------------------------------------------------------------------

    def _excess(self, weights: Floats, cuts: Cuts, like: Rows) -> Floats:
        """By how much each row of the program is exceeded: means over its pairs."""
        if cuts.pairs == 0:
            return np.empty(0)
        high, low = (self.hypotheses.probability(weights, side) for side in cuts.people(like))
        rows = cuts.rows
        return np.asarray(np.bincount(rows, high - low - cuts.allowed) / np.bincount(rows))

    def _broken(self, weights: Floats, cuts: Cuts, like: Rows) -> NDArray[np.intp]:
        """Rows that these weights break, the worst first."""
        excess = self._excess(weights, cuts, like)
        broken = np.flatnonzero(excess > FEASIBLE)
        return broken[np.argsort(-excess[broken], kind="stable")]

    def _leader(self, losses: Floats, cuts: Cuts, like: Rows) -> tuple[Floats, NDArray[np.bool_]]:
        """The least error with every cut; and which cuts the program has looked at, which the next one starts from."""
        F, rows = self.hypotheses, cuts.rows
        program = Program(losses, distribution=not isinstance(F.geometry, Cube))
        used = np.zeros(int(rows.max(initial=-1)) + 1, dtype=bool)
        new = np.unique(rows[cuts.active])
        while True:
            if new.size:
                used[new] = True
                program.add(*self._rows(new, cuts, like))
            weights = program.solve()
            broken = self._broken(weights, cuts, like)
            new = broken[~used[broken]][:ROWS_AT_ONCE]
            if new.size == 0:
                return weights, used[rows]

    def _rows(self, numbers: NDArray[np.intp], cuts: Cuts, like: Rows) -> tuple[Floats, Floats]:
        """Some rows of the program: the mean of π(x) − π(x') over each row's pairs, and its mean allowance."""
        (high, low), rows = cuts.people(like), cuts.rows
        coefficients, allowed = [], []
        for number in numbers:
            members = np.flatnonzero(rows == number)
            signs = np.repeat([1.0, -1.0], len(members)) / len(members)
            coefficients.append(self.hypotheses.losses(np.concatenate([high[members], low[members]]), signs))
            allowed.append(float(cuts.allowed[members].mean()))
        return np.array(coefficients), np.array(allowed)
