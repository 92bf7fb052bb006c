"""Smoothed FTPL, for any estimator with ``fit(X, y, sample_weight)``: no separator, no enumeration.

Each of E draws a round fits the estimator to the weighted history plus Gaussian weights on fresh unlabelled people:
argmin_f Σ s f + (η/√n) Σ_i g_i f(Z_i)  (Block et al. 2022). Their theorem covers one person a round without an
auditor, so no bound is printed here.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise.errors import NotSupported, require_number, require_whole
from likewise.hypotheses import EstimatorClass
from likewise.learners.base import BaseLearner, fixed_penalty
from likewise.policies import Committee
from likewise.protocol import Floats, Key, Round


class History(NamedTuple):
    """State of ``SmoothedFTPL``: the weighted people of all rounds. The one state that grows."""

    rounds: int
    reports: int
    rows: Floats
    s: Floats


@dataclass(frozen=True)
class SmoothedFTPL(BaseLearner):
    """The uniform mixture of ``draws`` estimators, each fitted to the perturbed history.

    Its state is its history, so a round costs as much as fitting the estimator to all rounds before.

    Parameters
    ----------
    draws
        Oracle calls a round; they run in parallel through joblib (``n_jobs``, or the active joblib backend).
    penalty
        C; max(k, T^⅓) by default, or k without T.
    eta
        The size of the perturbation; k√t by default.
    perturbations
        How many people of the pool a draw perturbs.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.linear_model import LogisticRegression
    >>> F = lw.EstimatorClass(LogisticRegression(), pool=[[0.0], [1.0]])
    >>> lw.SmoothedFTPL(F, k=4, draws=8).bound(alpha=0.1) is None
    True
    """

    _: KW_ONLY
    draws: int = 8
    penalty: float | None = None
    eta: float | None = None
    perturbations: int = 100
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.hypotheses, EstimatorClass):
            raise NotSupported(f"SmoothedFTPL needs an EstimatorClass, got {type(self.hypotheses).__name__}.")
        require_whole(self.draws, "draws")
        require_whole(self.perturbations, "perturbations")
        if self.eta is not None:
            require_number(self.eta, "eta", 0)
        fixed_penalty(self.C)

    @property
    def C(self) -> float:
        """The penalty of a report."""
        return float(self.penalty if self.penalty is not None else max(self.weight, (self.T or 1) ** (1 / 3)))

    @property
    def needs_blind(self) -> bool:
        """Its draws must stay unseen until the batch is fixed."""
        return True

    def init(self) -> History:
        """No people yet."""
        width = self.hypotheses.pool.shape[1]
        return History(0, 0, np.empty((0, width)), np.empty(0))

    def act(self, state: History, key: Key) -> Committee:
        """Fit ``draws`` estimators to the history, each with noise of its own."""
        from joblib import Parallel, delayed

        F, rng = self.hypotheses, key.generator()
        eta = self.weight * math.sqrt(state.rounds + 1) if self.eta is None else self.eta
        fits = []
        for _ in range(self.draws):
            people = F.pool[rng.integers(len(F.pool), size=self.perturbations)]
            noise = eta / math.sqrt(self.perturbations) * rng.standard_normal(self.perturbations)
            seed = int(rng.integers(2**31))
            fits.append((np.concatenate([state.rows, people]), np.concatenate([state.s, noise]), seed))
        return Committee(F, Parallel(n_jobs=self.n_jobs)(delayed(F.fit)(*parts) for parts in fits))

    def update(self, state: History, round: Round) -> History:
        """Remember the round's people with their signed weights."""
        return History(
            state.rounds + 1,
            state.reports + bool(round.reports),
            np.concatenate([state.rows, round.batch.rows]),
            np.concatenate([state.s, self._signed(round, self.C)]),
        )

    def penalty_at(self, state: History) -> float:
        """C, the same in every round."""
        return self.C

    def bound(self, alpha: float, T: int | None = None) -> None:
        """None: no theorem covers batches with an auditor."""

    def parameters(self) -> dict[str, Any]:
        """Every parameter, and C."""
        return super().parameters() | {"C": self.C}
