"""Where weights live: the simplex of N listed hypotheses, or the cube of m independently labelled cells.

A class of hypotheses has *coordinates*: Σ_i s_i π(x_i) is linear in the policy's weight vector, with the loss
vector of the round as coefficients. On the simplex a coordinate is a hypothesis and weights are a distribution
p; on the cube a coordinate is a cell and weights are the probabilities q_c with which each cell says 1. Every
learner is written once against this interface:

    minimum(L)          min over f of Σ s f, from cumulative coordinate losses L
    leader(L)           weights of the first minimiser          leaders(L)   of the uniform mix of all minimisers
    gibbs(L, η)         weights of p_f ∝ exp(−η Σ s f)
    free_energy(L, η)   φ_η(L) = −(1/η) ln( (1/N) Σ_f exp(−η Σ s f) ),  with φ_∞ = minimum
    span(ℓ)             (min, max) over f of one round's loss
    accumulate(Σ, p)    Σ += p, for the average policy

Losses add over cells, so on the cube each of them is a product over cells: 2^m hypotheses at the cost of m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from likewise import kernels, theory
from likewise.hypotheses.room import room
from likewise.protocol import Floats


@dataclass(frozen=True)
class Simplex:
    """Distributions over N listed hypotheses."""

    dim: int

    @cached_property
    def log_size(self) -> float:
        """ln N."""
        return theory.log_size(self.dim)

    def minimum(self, losses: Floats) -> float:
        """The smallest loss of any hypothesis."""
        return float(losses.min())

    def span(self, losses: Floats) -> tuple[float, float]:
        """The smallest and the largest loss of any hypothesis."""
        return float(losses.min()), float(losses.max())

    def leader(self, losses: Floats) -> Floats:
        """All weight on the first minimiser."""
        weights = np.zeros(self.dim)
        weights[losses.argmin()] = 1.0
        return weights

    def leaders(self, losses: Floats) -> Floats:
        """Equal weight on every minimiser."""
        weights = room(self.dim)
        kernels.leaders(losses, weights)
        return weights

    def gibbs(self, losses: Floats, eta: float) -> Floats:
        """p_f ∝ exp(−η L_f), shifted by the smallest loss so that nothing overflows. η may be negative."""
        weights = room(self.dim)
        kernels.gibbs(losses, eta, weights)
        return weights

    def free_energy(self, losses: Floats, eta: float) -> float:
        """φ_η(L) = −(1/η) ln mean exp(−η L)."""
        if math.isinf(eta):
            return float(losses.min())
        return float(kernels.free_energy(losses, eta))

    def accumulate(self, total: Floats, weights: Floats) -> None:
        """total += weights: in a long play, a good part of a round's work."""
        kernels.accumulate(total, weights)

    def minimisers(self, losses: Floats) -> NDArray[np.intp]:
        """The first minimiser for each row of (E, N) losses."""
        return np.asarray(losses.argmin(axis=1))

    def mixture(self, minimisers: NDArray[np.intp]) -> Floats:
        """Weights of the uniform mixture of E minimisers."""
        return np.bincount(minimisers, minlength=self.dim) / len(minimisers)


@dataclass(frozen=True)
class Cube:
    """Independent labels of m cells: 2^m hypotheses that are never listed."""

    dim: int

    @property
    def log_size(self) -> float:
        """ln 2^m."""
        return self.dim * theory.log_size(2)

    def minimum(self, losses: Floats) -> float:
        """Each cell says 1 where that lowers the loss."""
        return float(np.minimum(losses, 0.0).sum())

    def span(self, losses: Floats) -> tuple[float, float]:
        """The smallest and the largest loss of any labelling."""
        return float(np.minimum(losses, 0.0).sum()), float(np.maximum(losses, 0.0).sum())

    def leader(self, losses: Floats) -> Floats:
        """The first minimiser: a tied cell says 0."""
        return (losses < 0.0).astype(float)

    def leaders(self, losses: Floats) -> Floats:
        """Equal weight on every minimiser: a tied cell says 1 half of the time."""
        return np.where(losses == 0.0, 0.5, losses < 0.0).astype(float)

    def gibbs(self, losses: Floats, eta: float) -> Floats:
        """q_c = σ(−η S_c): the product form of the exponential weights over all labellings."""
        return np.exp(-np.logaddexp(0.0, eta * losses))

    def free_energy(self, losses: Floats, eta: float) -> float:
        """−(1/η) Σ_c ln((1 + exp(−η S_c)) / 2)."""
        if math.isinf(eta):
            return self.minimum(losses)
        return float(-(np.logaddexp(0.0, -eta * losses) - math.log(2.0)).sum() / eta)

    def accumulate(self, total: Floats, weights: Floats) -> None:
        """total += weights."""
        total += weights

    def minimisers(self, losses: Floats) -> NDArray[np.bool_]:
        """The first minimising labelling for each row of (E, m) losses."""
        return np.asarray(losses < 0.0)

    def mixture(self, minimisers: NDArray[np.bool_]) -> Floats:
        """Weights of the uniform mixture of E labellings."""
        return np.asarray(minimisers.mean(axis=0))


Geometry = Simplex | Cube
