"""Weights: exponential ones, those of leaders, with a prior and without, and what they are the weights of."""

from __future__ import annotations

from numba import njit

from likewise.kernels.caching import cached
from likewise.kernels.elementary import log, power
from likewise.kernels.lanes import minimum, total_of


@njit
def _maximum(values):
    """The largest."""
    high = values[0]
    for i in range(1, len(values)):
        high = max(high, values[i])
    return high


@cached
def gibbs(losses, eta, weights):
    """p_f ∝ exp(−η L_f), shifted by the smallest η L_f so that nothing overflows; log weights are losses at η = −1."""
    low = minimum(losses) if eta >= 0 else _maximum(losses)
    for i in range(len(losses)):
        exponent = -eta * (losses[i] - low)
        # Hopeless hypotheses get no weight at all: numbers near 1e-308 would slow every later pass down.
        weight = power(max(exponent, -680.0))
        weights[i] = weight if exponent > -680.0 else 0.0
    share = 1.0 / total_of(weights)
    for i in range(len(losses)):
        weights[i] *= share


@njit(cache=True)
def accumulate(total, weights):
    """total += weights."""
    for i in range(len(total)):
        total[i] += weights[i]


@cached
def free_energy(losses, eta):
    """−(1/η) ln mean exp(−η L)."""
    low = minimum(losses)
    total = 0.0
    for i in range(len(losses)):
        total += power(max(-eta * (losses[i] - low), -680.0))
    return low - log(total / len(losses)) / eta


@cached
def leaders(losses, weights):
    """Equal weight on every minimiser."""
    low = minimum(losses)
    count = 0
    for i in range(len(losses)):
        if losses[i] == low:
            count += 1
    for i in range(len(losses)):
        weights[i] = 1.0 / count if losses[i] == low else 0.0


@cached
def prior_gibbs(losses, prior, eta, weights):
    """p_f = w_f exp(−η (L_f − φ)), into ``weights``; returns φ, for which they add up to 1."""
    low = minimum(losses)
    for i in range(len(losses)):
        exponent = -eta * (losses[i] - low)
        mass = prior[i] * power(max(exponent, -680.0))
        weights[i] = mass if exponent > -680.0 else 0.0
    total = total_of(weights)
    share = 1.0 / total
    for i in range(len(weights)):
        weights[i] *= share
    return low - log(total) / eta


@cached
def shared(losses, weights, prior, inverse, eta, ground, share):
    """p ← (1 − σ) p + σ w, and the losses that these are the exponential weights of; in place.

    ``weights`` are w_f exp(−η (L_f − ground)), which add up to 1 before and after; ``inverse`` is 1/w.
    """
    kept, scale = 1.0 - share, 1.0 / eta
    for i in range(len(weights)):
        mixed = kept * (weights[i] * inverse[i]) + share
        weights[i] = prior[i] * mixed
        losses[i] = ground - log(mixed) * scale


@cached
def prior_leaders(losses, prior, weights):
    """The prior, restricted to the minimisers."""
    low = minimum(losses)
    total = 0.0
    for i in range(len(losses)):
        weights[i] = prior[i] if losses[i] == low else 0.0
        total += weights[i]
    for i in range(len(losses)):
        weights[i] /= total
