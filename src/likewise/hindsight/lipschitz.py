"""The best policy of what people are compared by that changes by at most ``slope`` per unit of distance.

    min over p: people → [0, 1] of Σ_i cost_i p_i   such that   |p_i − p_j| ≤ slope · d(i, j)   for every pair

Where d has the triangle inequality, every α-fair policy is (1 − α) times such a policy with slope 1/(1 − α), plus α
times anything (``likewise.theory.fair_decomposition``). So this program also gives the limit of any policy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from likewise.errors import require, require_number
from likewise.hindsight.compared import pairwise_distances, probabilities_of_labels
from likewise.hindsight.linear_program import PeopleProgram
from likewise.protocol import Distance, Floats
from likewise.theory import limit_of_any_policy


def best_lipschitz(costs: Any, distances: Any, slope: float) -> Floats:
    """What the best Lipschitz policy gives each person.

    Parameters
    ----------
    costs
        What a probability of 1 costs for each person, beyond a probability of 0.
    distances
        (people, people), symmetric.
    slope
        How much the probability may change per unit of distance.

    Examples
    --------
    >>> best_lipschitz([1.0, -2.0], [[0.0, 0.25], [0.25, 0.0]], slope=2.0).tolist()
    [0.5, 1.0]
    """
    wanted, apart = np.asarray(costs, dtype=float), np.asarray(distances, dtype=float)
    require_number(slope, "slope", 0)
    fits = wanted.ndim == 1 and len(wanted) > 0 and apart.shape == (len(wanted), len(wanted))
    require(fits, "distances", f"be a square table for {wanted.shape} costs", f"shape {apart.shape}")
    p, _ = PeopleProgram(wanted, slope * apart).solve(np.random.default_rng(0))
    return p


def limit_by_lipschitz(view: Any, label_probabilities: Any, distance: Distance | str, alpha: float) -> float:
    """The least expected error per person of any α-fair policy, for a distance with the triangle inequality.

    The same number as ``best_of_any(…).error``, by the decomposition of fair policies: α · Bayes + (1 − α) · the error
    of the best policy of the view with slope 1/(1 − α). Costs are equal.

    Examples
    --------
    >>> limit = limit_by_lipschitz([[0.0], [0.2]], [0.0, 1.0], "cityblock", alpha=0.1)
    >>> round(limit, 6)
    0.35
    """
    q = probabilities_of_labels(label_probabilities, len(view))
    require_number(alpha, "alpha", 0, 1)
    bayes = float(np.minimum(q, 1.0 - q).mean())
    if math.isclose(alpha, 1.0):
        return bayes
    rows = np.asarray(view, dtype=float).reshape(len(q), -1)
    looks, kinds = np.unique(rows, axis=0, return_inverse=True)
    costs = np.bincount(kinds.ravel(), 1.0 - 2.0 * q)
    p = best_lipschitz(costs, pairwise_distances(looks, distance), 1.0 / (1.0 - alpha))
    return limit_of_any_policy(alpha, bayes, float(q.mean() + costs @ p / len(q)))
