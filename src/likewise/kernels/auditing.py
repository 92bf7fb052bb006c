"""Auditing: distances of people by a named metric, and the pair of a round to report."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from likewise.kernels.metrics import CHEBYSHEV, CITYBLOCK, EUCLIDEAN, MAHALANOBIS

WORST, FIRST = range(2)


@njit(cache=True)
def distance(a, b, metric, weights, inverse):
    """The named metric between two people; ``weights`` and ``inverse`` (VI) where the metric takes them."""
    total = 0.0
    if metric == MAHALANOBIS:
        for u in range(len(a)):
            part = 0.0
            for v in range(len(a)):
                part += inverse[u, v] * (a[v] - b[v])
            total += (a[u] - b[u]) * part
        return math.sqrt(max(0.0, total))
    for u in range(len(a)):
        apart = abs(a[u] - b[u])
        if metric == CITYBLOCK:
            total += weights[u] * apart
        elif metric == CHEBYSHEV:
            if weights[u] > 0:
                total = max(total, weights[u] * apart)
        else:
            total += weights[u] * apart * apart
    return math.sqrt(total) if metric == EUCLIDEAN else total


@njit(cache=True)
def distances(view, metric, weights, inverse):
    """(k, k) distances of the people of a view."""
    k = len(view)
    out = np.zeros((k, k))
    for i in range(k):
        for j in range(i + 1, k):
            out[i, j] = distance(view[i], view[j], metric, weights, inverse)
            out[j, i] = out[i, j]
    return out


@njit(cache=True)
def chosen_pair(apart, probabilities, level, choose):
    """As ``audit``, for distances that are given; (−2, −2, 0) if one of them is negative or not a number."""
    k = len(probabilities)
    best, high, low = level, -1, -1
    for i in range(k):
        for j in range(k):
            if not apart[i, j] >= 0.0:
                return -2, -2, 0.0
            excess = probabilities[i] - probabilities[j] - apart[i, j]
            if excess > best and (choose == WORST or high < 0):
                best, high, low = excess, i, j
    return high, low, (best if high >= 0 else 0.0)


@njit(cache=True)
def spread(probabilities):
    """The largest gap of any pair."""
    low, high = probabilities[0], probabilities[0]
    for i in range(1, len(probabilities)):
        low, high = min(low, probabilities[i]), max(high, probabilities[i])
    return high - low


@njit(cache=True)
def audit(view, probabilities, metric, weights, inverse, level, choose):
    """The pair to report, favoured first, and its excess; (−1, −1, 0) for none. Pairs within the level need no look."""
    k = len(probabilities)
    best, high, low = level, -1, -1
    for i in range(k):
        for j in range(k):
            gap = probabilities[i] - probabilities[j]
            if gap <= best:
                continue
            excess = gap - distance(view[i], view[j], metric, weights, inverse)
            if excess != excess:
                return -2, -2, 0.0  # a missing value can't be compared
            if excess > best:
                if choose == FIRST:
                    return i, j, excess
                best, high, low = excess, i, j
    return high, low, (best if high >= 0 else 0.0)
