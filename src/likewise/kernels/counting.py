"""Violating pairs among many people, counted."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from likewise.kernels.metrics import CHEBYSHEV, CITYBLOCK, EUCLIDEAN, MAHALANOBIS


@njit
def _distances_from(low, first, columns, metric, weights, inverse, distances):
    """Distances of person ``low`` to everybody from ``first`` on, column by column, so that the loops vectorise."""
    out = distances[: columns.shape[1] - first]
    out[:] = 0.0
    for u in range(len(columns)):
        ahead, own, weight = columns[u, first:], columns[u, low], weights[u]
        if metric == CITYBLOCK:
            for i in range(len(out)):
                out[i] += weight * abs(ahead[i] - own)
        elif metric == CHEBYSHEV:
            for i in range(len(out)):
                out[i] = max(out[i], abs(ahead[i] - own))
        elif metric == MAHALANOBIS:
            for v in range(len(columns)):
                across, own_across, factor = columns[v, first:], columns[v, low], inverse[u, v]
                for i in range(len(out)):
                    out[i] += factor * (ahead[i] - own) * (across[i] - own_across)
        else:
            for i in range(len(out)):
                out[i] += weight * (ahead[i] - own) * (ahead[i] - own)
    if metric in (EUCLIDEAN, MAHALANOBIS):
        for i in range(len(out)):
            out[i] = math.sqrt(max(0.0, out[i]))
    return out


@njit(cache=True, nogil=True)
def count_violations(probabilities, columns, metric, weights, inverse, alpha, start, stop):
    """Violating pairs whose less favoured person stands from ``start`` to ``stop``, in people sorted by probability.

    ``columns`` is (features, people): the view, column by column.
    """
    count = 0
    distances = np.empty(len(probabilities))
    first = start + 1
    for low in range(start, stop):
        first = max(first, low + 1)
        while first < len(probabilities) and probabilities[first] - probabilities[low] <= alpha:
            first += 1  # d ≥ 0, so nobody needs to compare people this close
        far = _distances_from(low, first, columns, metric, weights, inverse, distances)
        ahead, own = probabilities[first:], probabilities[low]
        for i in range(len(far)):
            count += ahead[i] - own - far[i] > alpha
    return count
