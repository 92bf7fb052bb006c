"""How likely a person's label is 1: ridge regression on what every hypothesis says of them, round by round.

    q(x) = ½ + φ(x)·β,   β = V⁻¹ Σ φ(x_i)(y_i − ½),   V = I + Σ φ(x_i) φ(x_i)ᵀ,   width(x) = √(φ(x)ᵀ V⁻¹ φ(x))

φ(x) are the coordinates of a person: what each listed hypothesis says, or their cell. With cells this is each cell's
mean label, shrunk towards ½. It is exact after every round, and costs dim² numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise.errors import require
from likewise.hypotheses import EnumerableClass
from likewise.protocol import Floats, Rows

MOST = 4000
"""Coordinates of a class, at most: their products fill 128 MB."""


class Merit(NamedTuple):
    """V⁻¹ and Σ φ(y − ½): all that the regression needs.

    Examples
    --------
    >>> from likewise.hypotheses import Thresholds
    >>> F = Thresholds([[0.5]])
    >>> rows, merit = F.encode([[0.0], [1.0]]), Merit.of(F)
    >>> merit.estimates(F, rows)[0].tolist()
    [0.5, 0.5]
    >>> for _ in range(100):
    ...     merit = merit.after(F, rows, np.array([0.0, 1.0]))
    >>> merit.estimates(F, rows)[0].round(2).tolist()
    [0.0, 1.0]
    """

    inverse: Floats
    moments: Floats

    @classmethod
    def of(cls, F: EnumerableClass) -> Merit:
        """Nobody seen yet."""
        dim = F.geometry.dim
        require(dim <= MOST, "hypotheses", f"have at most {MOST:,} coordinates for a regression on them", dim)
        return cls(np.eye(dim), np.zeros(dim))

    def estimates(self, F: EnumerableClass, rows: Rows) -> tuple[Floats, Floats]:
        """q of each person, and the standard width of its interval."""
        phi = coordinates(F, rows)
        spread = np.einsum("ij,ij->i", phi @ self.inverse, phi)
        return np.clip(0.5 + phi @ (self.inverse @ self.moments), 0.0, 1.0), np.sqrt(np.maximum(0.0, spread))

    def after(self, F: EnumerableClass, rows: Rows, y: Floats) -> Merit:
        """With the labels of some more people; missing ones teach nothing."""
        known = np.isfinite(y)
        if not known.any():
            return self
        phi = coordinates(F, rows[known])
        reached = self.inverse @ phi.T
        # Woodbury: V grows by φφᵀ, so V⁻¹ loses a matrix of as many ranks as there are people.
        core = np.linalg.solve(np.eye(len(phi)) + phi @ reached, reached.T)
        return Merit(self.inverse - reached @ core, self.moments + phi.T @ (y[known] - 0.5))


def coordinates(F: Any, rows: Rows) -> Floats:
    """(people, dim): what each hypothesis says of each person, or an indicator of their cell."""
    table: Floats = F.losses(rows, np.eye(len(rows)))
    return table
