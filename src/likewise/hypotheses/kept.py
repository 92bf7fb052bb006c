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
from likewise.hypotheses.room import room
from likewise.protocol import Floats

SWEEPS = 3
"""Passes over the rows in a round with a new one, at most. In a round of upkeep one is enough to follow the losses."""


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
    sweeps: int,
    tolerance: float,
    share: float,
) -> Settled:
    """Set the prices: the ``fresh`` newest rows first, then sweeps over all that are off by more than the tolerance.

    With no sweeps and no fresh rows prices stay as they are.

    ``losses`` change in place, as every array of a large class takes longer to make than to fill.
    """
    terms = terms.copy() if fresh or sweeps else terms
    if math.isinf(eta):
        for j in range(len(terms) - fresh, len(terms)):
            terms[j, kernels.PRICE] = terms[j, kernels.SLOPE]  # what Δ was charged for; no rate, no better price
            losses = F.tilted(losses, contrasts[j], float(terms[j, kernels.SLOPE]))
        return Settled(losses, prior_weights(F, prior, losses, eta), terms, 0.0)
    if isinstance(F.geometry, Cube):
        return _cells(F.geometry, prior, losses, eta, contrasts, terms, fresh, sweeps, tolerance, share)
    weights = room(len(losses))
    ground = kernels.prior_gibbs(losses, prior.weights, eta, weights)
    if len(terms) and sweeps:
        ground = F.prices(losses, weights, prior.weights, eta, ground, contrasts, terms, fresh, sweeps, tolerance)
    if share > 0:
        kernels.shared(losses, weights, prior.weights, prior.inverse, eta, ground, share)
    return Settled(losses, weights, terms, 0.0)


def _cells(
    geometry: Cube,
    prior: Prior,
    losses: Floats,
    eta: float,
    contrasts: NDArray[np.integer],
    terms: Floats,
    fresh: int,
    sweeps: int,
    tolerance: float,
    share: float,
) -> Settled:
    """Every cell gets its own share: p'(f) ≥ (1 − σ)^m p(f), and the weights stay a product."""
    offset = np.zeros(geometry.dim) if prior.uniform else prior.offset
    if len(terms) and sweeps:
        kernels.cell_prices(losses, offset, eta, contrasts, terms, fresh, sweeps, tolerance)
    ones = geometry.gibbs(losses - offset / eta, eta)
    if share == 0.0:
        return Settled(losses, ones, terms, 0.0)
    zeros = geometry.gibbs(offset / eta - losses, eta)
    ones, zeros = (1 - share) * ones + share * prior.weights, (1 - share) * zeros + share * (1 - prior.weights)
    mixed = (offset + np.log(zeros) - np.log(ones)) / eta
    energy = geometry.free_energy
    ground = energy(losses - offset / eta, eta) - energy(mixed - offset / eta, eta)
    return Settled(mixed, ones, terms, ground)
