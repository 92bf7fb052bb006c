"""A small linear program whose rows may come later: min c·x over x ∈ [low, 1]^n with rows·x ≤ allowed.

HiGHS goes on from its last basis when rows are added.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.errors import NotSupported
from likewise.protocol import Floats

FEASIBLE = 1e-9
"""A row that is exceeded by less than this is kept."""
ROOM = 1e-7
"""A solution lies on its limits; with this much room rounding doesn't carry it over one."""


class Program:
    """The program, and the solver behind it.

    Examples
    --------
    >>> program = Program(np.array([-1.0, 1.0]))
    >>> program.add(np.array([[1.0, -1.0]]), np.array([0.25]))
    >>> program.solve().round(6).tolist()
    [0.25, 0.0]
    """

    def __init__(self, costs: Floats, *, low: Floats | None = None, distribution: bool = False) -> None:
        import highspy

        n, scale = len(costs), max(1.0, float(np.abs(costs).max(initial=0.0)))
        self.distribution = distribution
        self.solver: Any = highspy.Highs()
        for option, value in (
            ("output_flag", False), ("threads", 1),
            ("primal_feasibility_tolerance", FEASIBLE), ("dual_feasibility_tolerance", FEASIBLE),
        ):  # fmt: skip
            self.solver.setOptionValue(option, value)
        columns = np.arange(n, dtype=np.int32)
        self.solver.addVars(n, np.zeros(n) if low is None else low, np.ones(n))
        self.solver.changeColsCost(n, columns, costs / scale)
        if distribution:
            self.solver.addRow(1.0, 1.0, n, columns, np.ones(n))

    def add(self, rows: Floats, allowed: Floats) -> None:
        """More rows: rows·x ≤ allowed, with a little room for rounding."""
        where, columns = np.nonzero(rows)
        starts = np.searchsorted(where, np.arange(len(rows))).astype(np.int32)
        limits = np.maximum(0.0, allowed - ROOM)
        none = np.full(len(rows), -np.inf)
        values = rows[where, columns]
        self.solver.addRows(len(rows), none, limits, len(values), starts, columns.astype(np.int32), values)

    def solve(self) -> Floats:
        """The minimiser."""
        from highspy import HighsModelStatus

        self.solver.run()
        status = self.solver.getModelStatus()
        if status != HighsModelStatus.kOptimal:
            raise NotSupported(f"The linear program could not be solved: {self.solver.modelStatusToString(status)}.")
        x = np.clip(self.solver.getSolution().col_value, 0.0, 1.0)
        return np.asarray(x / x.sum() if self.distribution else x)
