"""The linear program over people: min Σ c_i p_i such that 0 ≤ p ≤ 1 and p_i − p_j ≤ a_ij for every ordered pair.

Rows are added where they are violated. Three observations keep them few:

* If a has the triangle inequality, only pairs of somebody who should be high (c ≤ 0) and somebody who should be low
  (c > 0) matter: the dual is a transport of weight from the former to the latter, and a detour never pays. A solution
  of that smaller program is made fair to all pairs at no cost: p_i = min(1, min_j p_j + a_ij) for the former, and then
  p_j = max(0, max_i p_i − a_ij) for the latter. Without the inequality it is a start, and all pairs follow.
* A third of the people, solved first and extended to everybody in the same way, shows which pairs are nearly tight.
* The solver goes on from its last basis.

Whatever was looked at first, the answer is checked on every pair.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import NotSupported
from likewise.protocol import Floats

log = logging.getLogger(__name__)

FEASIBLE = 1e-9
"""A pair that exceeds its allowance by less than this is not violated."""
FEW = 300
"""So many people are solved at once, without asking a third of them first."""
NEARLY_TIGHT = 4
"""Pairs per person that a first guess contributes."""
BLOCK = 256
"""People who are compared with all others at once."""

Positions = NDArray[np.intp]


class PeopleProgram:
    """The program, with the rows found so far.

    Examples
    --------
    >>> program = PeopleProgram(np.array([-1.0, 1.0]), np.array([[0.1, 0.3], [0.3, 0.1]]))
    >>> p, violation = program.solve(np.random.default_rng(0))
    >>> round(float(p[0] - p[1]), 9), round(program.lower(), 9)
    (0.3, -0.3)
    """

    def __init__(self, costs: Floats, allowed: Floats) -> None:
        self.costs, self.allowed = costs, allowed
        self.rows: Positions = np.empty(0, dtype=np.intp)
        self.wanted_high, self.wanted_low = np.flatnonzero(costs <= 0), np.flatnonzero(costs > 0)
        self.scale = max(1.0, float(np.abs(costs).max()))
        self.solver = _solver(costs / self.scale)

    def solve(self, rng: np.random.Generator) -> tuple[Floats, float]:
        """The best policy, and by how much it exceeds the allowance of any pair: rounding."""
        p = self._extended(self._between_the_two(rng))
        everybody = np.arange(len(p))
        excess = self.worst_excess(p)
        while excess > FEASIBLE:
            p = self._run()
            high, low, excess = self._worst(p, everybody, everybody)
            if self._add(high, low) == 0:
                break
        return p, max(0.0, excess)

    def worst_excess(self, p: Floats) -> float:
        """The largest p_i − p_j − a_ij."""
        return self._worst(p, np.arange(len(p)), np.arange(len(p)))[2]

    def _between_the_two(self, rng: np.random.Generator) -> Floats:
        """Solve for the pairs of somebody who should be high and somebody who should be low."""
        if len(self.costs) > FEW:
            self._add(*self._worst(self._guess(rng), self.wanted_high, self.wanted_low, NEARLY_TIGHT, -np.inf)[:2])
        while True:
            p = self._run()
            if self._add(*self._worst(p, self.wanted_high, self.wanted_low)[:2]) == 0:
                return p

    def _guess(self, rng: np.random.Generator) -> Floats:
        """The best policy for a third of the people, extended to all."""
        some = np.sort(rng.permutation(len(self.costs))[: len(self.costs) // 3])
        part = PeopleProgram(self.costs[some], self.allowed[np.ix_(some, some)])
        return self._extended(part._between_the_two(rng), some)

    def _extended(self, p: Floats, among: Positions | None = None) -> Floats:
        """As high as those who should be low allow, then as low as those who should be high need; p: of those among."""
        among = np.arange(len(self.costs)) if among is None else among
        whole = np.zeros(len(self.costs))
        whole[among] = p
        low = among[self.costs[among] > 0]
        raised = self.allowed[np.ix_(self.wanted_high, low)] + whole[low]
        whole[self.wanted_high] = raised.min(axis=1, initial=1.0)
        lowered = whole[self.wanted_high, None] - self.allowed[np.ix_(self.wanted_high, self.wanted_low)]
        whole[self.wanted_low] = lowered.max(axis=0, initial=0.0)
        return whole

    def _run(self) -> Floats:
        from highspy import HighsModelStatus

        self.solver.run()
        status = self.solver.getModelStatus()
        if status != HighsModelStatus.kOptimal:
            raise NotSupported(f"The linear program could not be solved: {self.solver.modelStatusToString(status)}.")
        return np.asarray(np.clip(self.solver.getSolution().col_value, 0.0, 1.0))

    def _worst(
        self, p: Floats, highs: Positions, lows: Positions, count: int = 1, least: float = FEASIBLE
    ) -> tuple[Positions, Positions, float]:
        """For each of either side, the pairs with the largest excess, if it is above ``least``; the largest of all."""
        high, low, worst = [], [], -np.inf
        for start in range(0, len(highs), BLOCK):
            own = highs[start : start + BLOCK]
            excess = p[own, None] - p[lows] - self.allowed[np.ix_(own, lows)]
            row, column, most = _largest(excess, own[:, None] == lows, count, least)
            high.append(own[row])
            low.append(lows[column])
            worst = max(worst, most)
        for start in range(0, len(lows), BLOCK):
            own = lows[start : start + BLOCK]
            excess = p[highs] - p[own, None] - self.allowed[np.ix_(highs, own)].T
            row, column, _ = _largest(excess, own[:, None] == highs, count, least)
            high.append(highs[column])
            low.append(own[row])
        nobody = np.empty(0, dtype=np.intp)
        return np.concatenate([nobody, *high]), np.concatenate([nobody, *low]), worst

    def _add(self, high: Positions, low: Positions) -> int:
        """Rows for these pairs, if they are new; how many were."""
        new = np.setdiff1d(high * len(self.costs) + low, self.rows)
        high, low = new // len(self.costs), new % len(self.costs)
        count, ends = len(new), np.stack([high, low], axis=1).ravel().astype(np.int32)
        starts, signs = np.arange(0, 2 * count, 2, dtype=np.int32), np.tile([1.0, -1.0], count)
        self.solver.addRows(
            count, np.full(count, -np.inf), self.allowed[high, low], 2 * count, starts, ends, signs
        )  # fmt: skip
        self.rows = np.concatenate([self.rows, new])
        log.debug("%d rows in the program over people.", len(self.rows))
        return count

    def lower(self) -> float:
        """Weak duality: Σ_i min(0, cost_i + prices where i is favoured − where not), less what the rows allow."""
        prices = np.maximum(0.0, -np.array(self.solver.getSolution().row_dual)) * self.scale
        n = len(self.costs)
        high, low = self.rows // n, self.rows % n
        priced = self.costs + np.bincount(high, prices, n) - np.bincount(low, prices, n)
        return float(np.minimum(0.0, priced).sum() - prices @ self.allowed[high, low])


def _largest(excess: Floats, same: Any, count: int, least: float) -> tuple[Positions, Positions, float]:
    """Where each row has its largest numbers above ``least``, nobody being compared with themselves."""
    excess[same] = -np.inf
    if excess.shape[1] == 0:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), -np.inf
    if count == 1:
        column = excess.argmax(axis=1)
    else:
        count = min(count, excess.shape[1])
        column = np.argpartition(-excess, count - 1, axis=1)[:, :count].ravel()
    row = np.repeat(np.arange(len(excess)), len(column) // len(excess))
    most = excess[row, column]
    above = most > least
    return row[above], column[above], float(most.max())


def _solver(costs: Floats) -> Any:
    import highspy

    solver = highspy.Highs()
    for option, value in (
        ("output_flag", False), ("threads", 1),
        ("primal_feasibility_tolerance", 1e-9), ("dual_feasibility_tolerance", 1e-9),
    ):  # fmt: skip
        solver.setOptionValue(option, value)
    solver.addVars(len(costs), np.zeros(len(costs)), np.ones(len(costs)))
    solver.changeColsCost(len(costs), np.arange(len(costs), dtype=np.int32), costs)
    return solver
