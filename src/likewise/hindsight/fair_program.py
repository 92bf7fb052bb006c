"""The linear program of the best fair mixture over a class: its pairs and losses, the program, and what it answers.

Rows are generated only where they are violated, and the solver continues from its last basis. The lower limit is
computed from the dual prices alone, without trusting the solver.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidParameter, NotSupported
from likewise.game import Transcript
from likewise.hypotheses import Cube, EnumerableClass
from likewise.policies import Mixture
from likewise.protocol import Floats, numbered
from likewise.reduction import label_weights

log = logging.getLogger(__name__)

ROWS_AT_ONCE = 200
FEASIBLE = 1e-9
"""A pair that exceeds its allowance by less than this is not violated."""


class BindingPair(NamedTuple):
    """A pair that limits the best fair policy.

    Attributes
    ----------
    round
        The round, counted as in the play.
    favoured, disfavoured
        Positions in its batch.
    numbers
        Their numbers in that round, as people read them: from 1, the highest probability of the play first.
    price
        How many errors the whole play would save per unit of difference that this pair were allowed more.
    """

    round: int
    favoured: int
    disfavoured: int
    numbers: tuple[int, int]
    price: float


@dataclass(frozen=True, eq=False)
class Hindsight:
    """The best fair policy in hindsight.

    Attributes
    ----------
    error
        Its total error over the play, as in ``sum(transcript.errors)``.
    policy
        The policy itself.
    lower
        No fair policy errs less than this (proved by the dual prices).
    gap
        (error − lower) relative to the error: at most 1e-7 when solved.
    violation
        By how much the policy exceeds the allowance of any pair: 0, or rounding where the allowance itself is 0.
    unconstrained
        The total error of the best single hypothesis, fair or not.
    pairs
        The pairs that bind, most expensive first.
    rows
        How many pairs the program had to look at.
    """

    alpha: float
    error: float
    policy: Mixture
    lower: float
    gap: float
    violation: float
    unconstrained: float
    pairs: tuple[BindingPair, ...]
    rows: int

    def __str__(self) -> str:
        cost = self.error - self.unconstrained
        costliest = ""
        if self.pairs:
            first = self.pairs[0]
            costliest = (
                f" The most expensive pair (round {first.round}, people {first.numbers[0]} and {first.numbers[1]}) "
                f"costs {first.price * 0.01:.2g} errors per 0.01 of allowance."
            )
        return (
            f"The best policy that is {self.alpha:g}-fair on every pair makes {self.error:.1f} errors, "
            f"{cost:.1f} more than the best without fairness; {len(self.pairs)} pairs bind.{costliest}"
        )


class Pairs(NamedTuple):
    """Pairs of people of the same round that α could keep together: positions in the transcript, and distances.

    ``up`` is the distance that counts where the first person is favoured, ``down`` where the second one is; for a
    symmetric distance they are the same.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    up: Floats
    down: Floats

    def gaps(self, probabilities: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """The gap of each pair, the distance that counts, and whether the first person is favoured."""
        difference = probabilities[self.first] - probabilities[self.second]
        favoured = difference > 0
        return np.abs(difference), np.where(favoured, self.up, self.down), favoured


class Losses(NamedTuple):
    """What there is to lose: the error of π is base + Σ_i weight_i π(x_i).

    ``rows`` are people as the class encodes them; ``starts`` are where rounds begin, and ``first`` is the first round.
    ``shown`` are the probabilities that people are numbered by; None where nobody was shown one.
    """

    rows: Any
    weights: Floats
    base: float
    starts: Any
    first: int
    shown: Floats | None = None

    @classmethod
    def of(cls, transcript: Transcript) -> Losses:
        """Of the people of a play, under the labels that came."""
        t = transcript
        weights = label_weights(t.y, t.costs, t.weight)
        return cls(t.rows, weights, t.base_error, t.starts, t.first, t.shown)


class FairProgram:
    """The linear program over the class's weights, with the rows found so far."""

    def __init__(self, F: EnumerableClass, losses: Losses, pairs: Pairs) -> None:
        self.F = F
        self.rows = losses.rows
        self.pairs = pairs
        self.starts = losses.starts
        self.begins = losses.first
        self.shown = losses.shown
        self.base = losses.base
        self.costs = F.losses(self.rows, losses.weights)
        self.kept = _distinct(F, self.rows)
        self.scale = max(1.0, float(np.abs(self.costs).max()))
        self.high: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self.low: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self.allowed = np.empty(0)
        self.solver = _solver(self.costs[self.kept] / self.scale, isinstance(F.geometry, Cube))

    def solve(self, alpha: float) -> Hindsight:
        """Add violated rows until there are none."""
        self._allow(alpha)
        while True:
            weights = self._run()
            probabilities = self.F.probability(weights, self.rows)
            if not self._add_violated(probabilities, alpha):
                return self._answer(weights, probabilities, alpha)

    def _allow(self, alpha: float) -> None:
        for row, d in enumerate(self.allowed, start=self._simplex_rows):
            self.solver.changeRowBounds(row, -np.inf, float(d + alpha))

    @property
    def _simplex_rows(self) -> int:
        return 0 if isinstance(self.F.geometry, Cube) else 1

    def _run(self) -> Floats:
        from highspy import HighsModelStatus

        self.solver.run()
        status = self.solver.getModelStatus()
        if status == HighsModelStatus.kInfeasible:
            raise InvalidParameter(
                "`hypotheses` must hold a constant hypothesis, or some mixture that is fair on every pair, got a "
                f"{type(self.F).__name__} with constants {self.F.constants}; a constant is fair to everybody."
            )
        if status != HighsModelStatus.kOptimal:
            raise NotSupported(f"The linear program could not be solved: {self.solver.modelStatusToString(status)}.")
        weights = np.zeros(self.F.geometry.dim)
        weights[self.kept] = np.clip(self.solver.getSolution().col_value, 0.0, 1.0)
        return weights if isinstance(self.F.geometry, Cube) else weights / weights.sum()

    def _add_violated(self, probabilities: Floats, alpha: float) -> int:
        gaps, distances, favoured = self.pairs.gaps(probabilities)
        excess = gaps - distances
        bad = np.flatnonzero(excess > alpha + FEASIBLE)
        if len(bad) == 0:
            return 0
        worst = bad[np.argsort(-excess[bad], kind="stable")[: 5 * ROWS_AT_ONCE]]
        first, second, up = self.pairs.first[worst], self.pairs.second[worst], favoured[worst]
        high, low = np.where(up, first, second), np.where(up, second, first)
        allowed = distances[worst]
        # Pairs that look the same to the class give the same row: keep the strictest of each.
        strict = np.argsort(allowed, kind="stable")
        looks = np.concatenate([_flat(self.rows[high]), _flat(self.rows[low])], axis=1)[strict]
        new = np.sort(strict[np.unique(looks, axis=0, return_index=True)[1]])[:ROWS_AT_ONCE]
        self._add(high[new], low[new], allowed[new], alpha)
        return len(new)

    def _add(self, high: NDArray[np.intp], low: NDArray[np.intp], distance: Floats, alpha: float) -> None:
        signs, count = np.array([1.0, -1.0]), len(high)
        rows = [self.F.losses(self.rows[[h, g]], signs)[self.kept] for h, g in zip(high, low, strict=True)]
        used = [np.flatnonzero(row) for row in rows]
        starts = np.cumsum([0, *map(len, used)], dtype=np.int32)
        columns = np.concatenate(used, dtype=np.int32, casting="same_kind")
        values = np.concatenate([row[where] for row, where in zip(rows, used, strict=True)])
        # All at once: each call would look at everything that is there already.
        none = np.full(count, -np.inf)
        self.solver.addRows(count, none, distance + alpha, len(values), starts[:-1], columns, values)
        self.high = np.concatenate([self.high, high])
        self.low = np.concatenate([self.low, low])
        self.allowed = np.concatenate([self.allowed, distance])
        log.debug("%d rows in the hindsight program.", len(self.allowed))

    def _answer(self, weights: Floats, probabilities: Floats, alpha: float) -> Hindsight:
        prices = np.maximum(0.0, -np.array(self.solver.getSolution().row_dual)[self._simplex_rows :]) * self.scale
        lower = self.base + self._lower(prices, alpha)
        weights, violation = self._repaired(weights, probabilities, alpha)
        error = self.base + float(self.costs @ weights)
        if error - lower > 1e-7 * max(1.0, abs(error)):
            log.warning("The program in hindsight was solved only to %.1e of its optimum.", (error - lower) / error)
        order = [int(i) for i in np.argsort(-prices) if prices[i] > 1e-9 * self.scale]
        return Hindsight(
            alpha=alpha,
            error=error,
            policy=Mixture(self.F, weights),
            lower=lower,
            gap=(error - lower) / max(1.0, abs(error)),
            violation=violation,
            unconstrained=self.base + self.F.geometry.minimum(self.costs),
            pairs=tuple(self._binding(i, float(prices[i])) for i in order),
            rows=len(self.allowed),
        )

    def _lower(self, prices: Floats, alpha: float) -> float:
        """Weak duality: min over *all* hypotheses of cost + Σ price (f(x) − f(x')), less what the rows allow."""
        if len(prices) == 0:
            return self.F.geometry.minimum(self.costs)
        people = np.concatenate([self.high, self.low])
        priced = self.costs + self.F.losses(self.rows[people], np.concatenate([prices, -prices]))
        return self.F.geometry.minimum(priced) - float(prices @ (self.allowed + alpha))

    def _repaired(self, weights: Floats, probabilities: Floats, alpha: float) -> tuple[Floats, float]:
        """Mix in just enough of a constant that no pair exceeds its allowance by rounding."""
        gaps, distances, _ = self.pairs.gaps(probabilities)
        allowed = distances + alpha
        over = (gaps > allowed) & (allowed > 1e-3)
        if self.F.constants and over.any():
            mixed = float((1.0 - allowed[over] / gaps[over]).max()) + 1e-15
            constants = [self.F.constant(value) for value in self.F.constants]
            weights = (1.0 - mixed) * weights + mixed * min(constants, key=lambda c: float(self.costs @ c))
            gaps = gaps * (1.0 - mixed)
        return weights, float(np.maximum(0.0, gaps - allowed).max(initial=0.0))

    def _binding(self, i: int, price: float) -> BindingPair:
        place = int(np.searchsorted(self.starts, self.high[i], side="right")) - 1
        start, end = int(self.starts[place]), int(self.starts[place + 1])
        high, low = int(self.high[i]) - start, int(self.low[i]) - start
        numbers = np.arange(1, end - start + 1) if self.shown is None else numbered(self.shown[start:end])
        return BindingPair(self.begins + place, high, low, (int(numbers[high]), int(numbers[low])), price)


def _flat(rows: NDArray[Any]) -> NDArray[Any]:
    return rows.reshape(len(rows), -1)


def _distinct(F: EnumerableClass, rows: Any) -> NDArray[np.intp]:
    """The first of each set of hypotheses that agree on all the data; all cells, for cells.

    Hypotheses are told apart by three sums of random whole numbers over the people they say 1 to: such sums are exact
    in floating point, so twins agree to the last bit, and others agree by coincidence less than once in 2^60 pairs.
    """
    if isinstance(F.geometry, Cube):
        return np.arange(F.geometry.dim)
    marks = np.random.default_rng(0).integers(0, 2**24, size=(3, len(rows))).astype(float)
    return np.sort(np.unique(F.losses(rows, marks), axis=1, return_index=True)[1])


def _solver(costs: Floats, cube: bool) -> Any:
    """A HiGHS model with the objective and, on the simplex, Σ p = 1."""
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("primal_feasibility_tolerance", 1e-9)
    solver.setOptionValue("dual_feasibility_tolerance", 1e-9)
    columns = np.arange(len(costs), dtype=np.int32)
    solver.addVars(len(costs), np.zeros(len(costs)), np.ones(len(costs)))
    solver.changeColsCost(len(costs), columns, costs)
    if not cube:
        solver.addRow(1.0, 1.0, len(costs), columns, np.ones(len(costs)))
    return solver
