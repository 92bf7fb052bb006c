"""Reports that are kept, over a class: their prices, and the weights that follow.

    p ∝ w exp(−η X),   X = L + Σ_j μ_j D_j,   then   p ← (1 − σ) p + σ w

``settled`` sets the prices μ of the kept reports and mixes a share σ of the prior into the weights. The losses X that
come back have both in them: they are all that the next round needs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise import kernels
from likewise.hypotheses.base import EnumerableClass
from likewise.hypotheses.geometry import Cube
from likewise.hypotheses.priors import Prior, prior_weights
from likewise.protocol import Floats

SWEEPS = 3
"""Passes over the rows in a round with a new one, at most. In any other one pass is enough to follow the losses."""


class Settled(NamedTuple):
    """Losses with prices and share in them, the weights they give, the table of terms with new prices, and ground.

    ``ground`` is what the share added to the losses of every hypothesis alike: coordinates of cells can't hold it.
    """

    losses: Floats
    weights: Floats
    terms: Floats
    ground: float


def settled(
    F: EnumerableClass,
    prior: Prior,
    losses: Floats,
    eta: float,
    contrasts: NDArray[np.integer],
    terms: Floats,
    fresh: int,
    tolerance: float,
    share: float,
) -> Settled:
    """Set the prices: the ``fresh`` newest rows first, then sweeps over all that are off by more than the tolerance.

    ``losses`` change in place, as every array of a large class takes longer to make than to fill.
    """
    terms = terms.copy()
    if math.isinf(eta):
        for j in range(len(terms) - fresh, len(terms)):
            terms[j, kernels.PRICE] = terms[j, kernels.SLOPE]  # what Δ was charged for; no rate, no better price
            losses = F.tilted(losses, contrasts[j], float(terms[j, kernels.SLOPE]))
        return Settled(losses, prior_weights(F, prior, losses, eta), terms, 0.0)
    if isinstance(F.geometry, Cube):
        return _cells(F.geometry, prior, losses, eta, contrasts, terms, fresh, tolerance, share)
    masses, sweeps = np.empty(len(losses)), SWEEPS if fresh else 1
    low = kernels.prior_masses(losses, prior.weights, eta, masses)
    if len(terms):
        low = F.prices(losses, masses, prior.weights, eta, low, contrasts, terms, fresh, sweeps, tolerance)
    kernels.shared(losses, masses, prior.weights, prior.inverse, eta, low, share)
    return Settled(losses, masses, terms, 0.0)


def _cells(
    geometry: Cube,
    prior: Prior,
    losses: Floats,
    eta: float,
    contrasts: NDArray[np.integer],
    terms: Floats,
    fresh: int,
    tolerance: float,
    share: float,
) -> Settled:
    """Every cell gets its own share: p'(f) ≥ (1 − σ)^m p(f), and the weights stay a product."""
    offset = np.zeros(geometry.dim) if prior.uniform else prior.offset
    if len(terms):
        kernels.cell_prices(losses, offset, eta, contrasts, terms, fresh, SWEEPS if fresh else 1, tolerance)
    ones = geometry.gibbs(losses - offset / eta, eta)
    if share == 0.0:
        return Settled(losses, ones, terms, 0.0)
    zeros = geometry.gibbs(offset / eta - losses, eta)
    ones, zeros = (1 - share) * ones + share * prior.weights, (1 - share) * zeros + share * (1 - prior.weights)
    mixed = (offset + np.log(zeros) - np.log(ones)) / eta
    energy = geometry.free_energy
    ground = energy(losses - offset / eta, eta) - energy(mixed - offset / eta, eta)
    return Settled(mixed, ones, terms, ground)
