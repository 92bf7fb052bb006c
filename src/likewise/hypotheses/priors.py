"""Priors: what a learner that weighs hypotheses starts from.

A prior w costs a comparator q the relative entropy KL(q‖w) ≤ ρ = ln(1/min w) where the uniform one costs ln N, and
nothing else (Lemma 1′ of ``likewise.theory``). On the simplex of listed hypotheses it is a distribution. On the cube of
cells it is each cell's probability of saying 1, a product: only those keep exponential weights a product.

    p ∝ w exp(−η L)   is   p ∝ exp(−η (L − offset/η)),   offset = ln(N w) on the simplex, ln(w/(1 − w)) on the cube
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from likewise import kernels, theory
from likewise.errors import InvalidParameter, require
from likewise.hypotheses.base import EnumerableClass
from likewise.hypotheses.geometry import Cube
from likewise.protocol import Floats
from likewise.theory.elementary import log

LESS = 0.1
"""Where a fair start leans to one constant: what the other has of the two's weight."""


class Prior(NamedTuple):
    """A prior over a class, in its coordinates.

    Attributes
    ----------
    weights
        Of the hypotheses, or each cell's probability of saying 1.
    offset
        What it adds to −ηL; empty where it is uniform.
    rho
        ρ = ln(1/min w): no mixture is further from it in relative entropy.
    constants
        The largest relative entropy of a constant hypothesis; None if the class has none.
    inverse
        1/w.
    """

    weights: Floats
    offset: Floats
    rho: float
    constants: float | None
    inverse: Floats

    @property
    def uniform(self) -> bool:
        """Whether all hypotheses weigh the same."""
        return len(self.offset) == 0


def uniform_prior(F: EnumerableClass, alpha: float = 0.0) -> Prior:
    """Equal weight on every hypothesis; on cells, ½ everywhere, which treats everybody alike in the first round."""
    weights = np.full(F.geometry.dim, 0.5 if isinstance(F.geometry, Cube) else 1.0 / F.geometry.dim)
    rho = float(F.log_size)
    return Prior(weights, np.empty(0), rho, rho if F.constants else None, 1.0 / weights)


def fair_prior(F: EnumerableClass, alpha: float) -> Prior:
    """Theorem F: nothing can be reported before some hypothesis has beaten both constants.

    For a listed class of at least three hypotheses, both constants among them, and α ≤ ⅔; uniform for any other. The
    two constants are no product over cells, so cells have no such prior: they start with ½ for everybody instead.

    Examples
    --------
    >>> from likewise.hypotheses import Thresholds
    >>> fair_prior(Thresholds([[0.2, 0.8]]), alpha=0.1).weights.round(4).tolist()
    [0.4737, 0.4737, 0.0132, 0.0132, 0.0132, 0.0132]
    """
    if not _holds_both_constants(F) or F.size < 3 or alpha > 2 / 3:
        return uniform_prior(F)
    constant, other = theory.fair_start(alpha, F.size)
    return _constants(F, {0: constant, 1: constant}, other)


def _leaning(F: EnumerableClass, alpha: float, answer: int) -> Prior:
    """Theorem F with most of the constants' weight on one of them; uniform where there is no fair start."""
    if not _holds_both_constants(F) or F.size < 3 or alpha > 2 / 3 or alpha == 0:
        return uniform_prior(F)
    more, less, other = theory.leaning_start(alpha, F.size, LESS)
    return _constants(F, {answer: more, 1 - answer: less}, other)


def mostly_0_prior(F: EnumerableClass, alpha: float) -> Prior:
    """A fair start where most labels are known to be 0: the constant 0 has nine times the weight of the constant 1.

    As with ``fair_prior``, nothing can be reported before some hypothesis has beaten both constants. The first rounds
    err less where most labels are 0, and more where they aren't.

    Examples
    --------
    >>> from likewise.hypotheses import Thresholds
    >>> mostly_0_prior(Thresholds([[0.2, 0.8]]), alpha=0.1).weights.round(4).tolist()
    [0.8901, 0.0989, 0.0027, 0.0027, 0.0027, 0.0027]
    """
    return _leaning(F, alpha, 0)


def mostly_1_prior(F: EnumerableClass, alpha: float) -> Prior:
    """As ``mostly_0_prior``, where most labels are known to be 1."""
    return _leaning(F, alpha, 1)


def _holds_both_constants(F: EnumerableClass) -> bool:
    """Whether the two constants are listed; over cells they are no product."""
    return len(F.constants) == 2 and not isinstance(F.geometry, Cube)


def _constants(F: EnumerableClass, constants: Mapping[int, float], other: float) -> Prior:
    """A weight for each constant, another for each other hypothesis."""
    weights = np.full(F.size, other)
    for value in F.constants:
        weights[F.constant(value) == 1.0] = constants[value]
    return _listed(F, weights)


def even_prior(F: EnumerableClass, alpha: float = 0.0) -> Prior:
    """Half of the weight on the two constants, half on all others: for labels that are seen of accepted people only.

    A fair start accepts or refuses whole batches at first, so that labels come in clumps. For a listed class of at
    least four hypotheses, both constants among them, and α ≤ ⅔; Theorem F's prior for three of them, uniform for any
    other.

    Examples
    --------
    >>> from likewise.hypotheses import Thresholds
    >>> even_prior(Thresholds([[0.2, 0.8]])).weights.tolist()
    [0.25, 0.25, 0.125, 0.125, 0.125, 0.125]
    """
    if not _holds_both_constants(F) or alpha > 2 / 3:
        return uniform_prior(F)
    if F.size < 4:
        return fair_prior(F, alpha) if alpha > 0 else uniform_prior(F)
    return _constants(F, {0: 0.25, 1: 0.25}, 0.5 / (F.size - 2))


def given_prior(F: EnumerableClass, weights: Sequence[float]) -> Prior:
    """A prior of one's own: a weight for each hypothesis, or for each cell the probability of saying 1.

    Examples
    --------
    >>> from likewise.hypotheses import Cells
    >>> round(given_prior(Cells(lambda X: X[:, 0], m=2), [0.5, 0.2]).rho, 4)
    2.3026
    """
    w = np.asarray(weights, dtype=float)
    require(w.shape == (F.geometry.dim,), "prior", f"have {F.geometry.dim} entries", w.shape)
    if isinstance(F.geometry, Cube):
        require(bool(((w > 0) & (w < 1)).all()), "prior", "give each cell a probability in (0, 1)", w.tolist())
        ones, zeros = _logs(w), _logs(1.0 - w)
        entropies = {1: -float(ones.sum()), 0: -float(zeros.sum())}
        rho = -float(np.minimum(ones, zeros).sum())
        return Prior(w, ones - zeros, rho, max(entropies[value] for value in F.constants), 1.0 / w)
    if not ((w > 0).all() and abs(w.sum() - 1) < 1e-9):
        raise InvalidParameter(f"`prior` must be positive and add up to 1, got a sum of {w.sum():g}.")
    return _listed(F, w)


def _listed(F: EnumerableClass, weights: Floats) -> Prior:
    entropies = [-log(float(weights[F.constant(value) == 1.0][0])) for value in F.constants]
    offset = _logs(weights * len(weights))
    return Prior(weights, offset, -log(float(weights.min())), max(entropies) if entropies else None, 1.0 / weights)


def _logs(values: Floats) -> Floats:
    """ln of each, of the few different ones once, and the same on every machine."""
    different, places = np.unique(values, return_inverse=True)
    return np.array([log(float(value)) for value in different])[places]


PRIORS = {
    "fair": fair_prior,
    "uniform": uniform_prior,
    "even": even_prior,
    "mostly 0": mostly_0_prior,
    "mostly 1": mostly_1_prior,
}
"""Priors by name; each is made from the class and the level α."""


def prior_weights(F: EnumerableClass, prior: Prior, losses: Floats, eta: float) -> Floats:
    """p ∝ w exp(−η L); at an infinite rate the prior restricted to the leaders."""
    geometry = F.geometry
    if prior.uniform:
        return geometry.leaders(losses) if math.isinf(eta) else geometry.gibbs(losses, eta)
    if not math.isinf(eta):
        return geometry.gibbs(losses - prior.offset / eta, eta)
    if isinstance(geometry, Cube):
        return np.where(losses == 0.0, prior.weights, losses < 0.0).astype(float)
    weights = np.empty(geometry.dim)
    kernels.prior_leaders(losses, prior.weights, weights)
    return weights
