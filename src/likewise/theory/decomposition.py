"""What fair policies look like, where the distance has the triangle inequality.

p is α-fair on some people iff p = L + α u, where L is a function of the view with values in [0, 1 − α] that changes by
at most 1 per unit of distance, and u, with values in [0, 1], is anything. So the best one is

    α · 1[η(x) ≥ ½] + (1 − α) · ℓ(v),   ℓ the best policy of the view with slope 1/(1 − α),

and the limit of any policy is α · Bayes + (1 − α) · Err(ℓ).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import require, require_number
from likewise.theory.ranges import within

Floats = NDArray[np.float64]


def fair_decomposition(probabilities: Any, distances: Any, alpha: float) -> tuple[Floats, Floats]:
    """L and u, both on the given people, with p = L + α u.

    L(v) = max(0, max over people x' of p(x') − α − d(v, v')): a maximum of functions of v that change by at most 1 per
    unit of distance. It is at most p because p is fair, and at least p − α because x' may be x itself.

    Parameters
    ----------
    probabilities
        p, one number per person.
    distances
        (people, people), with the triangle inequality.
    alpha
        The level at which p is fair: p_i − p_j ≤ d_ij + α for every pair.

    Examples
    --------
    >>> L, u = fair_decomposition([0.0, 0.3], [[0.0, 0.2], [0.2, 0.0]], alpha=0.1)
    >>> L.round(6).tolist(), u.round(6).tolist()
    ([0.0, 0.2], [0.0, 1.0])
    """
    p, d = np.asarray(probabilities, dtype=float), np.asarray(distances, dtype=float)
    within(alpha=alpha)
    require(d.shape == (len(p), len(p)), "distances", f"be a table for {len(p)} people", f"shape {d.shape}")
    excess = float((p[:, None] - p - d).max())
    require(excess <= alpha + 1e-9, "probabilities", f"be {alpha:g}-fair on every pair", f"an excess of {excess:g}")
    lower = np.maximum(0.0, (p - alpha - d).max(axis=1))
    return lower, np.clip((p - lower) / alpha, 0.0, 1.0)


def limit_of_any_policy(alpha: float, bayes: float, lipschitz: float) -> float:
    """α · Bayes + (1 − α) · Err(ℓ): the least error per person of any α-fair policy.

    Assumes that the distance has the triangle inequality.

    Parameters
    ----------
    alpha
        The level.
    bayes
        The least error per person without fairness.
    lipschitz
        The least error per person of a policy of the view that changes by at most 1/(1 − α) per unit of distance.

    Examples
    --------
    >>> round(limit_of_any_policy(0.1, 0.0, 0.4), 6)
    0.36
    """
    require_number(alpha, "alpha", 0, 1)
    for name, value in (("bayes", bayes), ("lipschitz", lipschitz)):
        require_number(value, name, 0, 1)
    return alpha * bayes + (1.0 - alpha) * lipschitz
