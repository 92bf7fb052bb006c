"""A policy is α-fair iff it is a 1-Lipschitz function of the view in [0, 1 − α] plus α times anything."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from likewise import theory
from likewise.errors import InvalidParameter
from likewise.hindsight import best_lipschitz, best_of_any, limit_by_lipschitz


def people(seed: int, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """A view with twins in it, and label probabilities that depend on more than the view."""
    rng = np.random.default_rng(seed)
    view = rng.random((n, 2)).round(1)
    return view, np.clip(view[:, 0] + rng.normal(scale=0.4, size=n), 0, 1)


@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.1, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("metric", ["cityblock", "euclidean", "chebyshev"])
def test_the_limit_by_the_proposition_is_the_limit_by_the_program_over_people(alpha, metric):
    for seed in range(3):
        view, q = people(seed)
        limit = best_of_any(view, q, metric, alpha)
        assert limit_by_lipschitz(view, q, metric, alpha) == pytest.approx(limit.error, abs=1e-7)


def test_the_limit_is_the_mixture_of_the_bayes_rule_and_the_best_lipschitz_policy():
    view, q = people(7)
    alpha, d = 0.2, cdist(view, view, "cityblock")
    gentle = best_lipschitz(1 - 2 * q, d, 1 / (1 - alpha))
    mixed = alpha * (q >= 0.5) + (1 - alpha) * gentle
    assert (mixed[:, None] - mixed <= d + alpha + 1e-8).all()
    assert np.mean(mixed * (1 - q) + (1 - mixed) * q) == pytest.approx(
        best_of_any(view, q, "cityblock", alpha).error, abs=1e-7
    )


@pytest.mark.parametrize("seed", range(5))
def test_every_fair_policy_splits_and_every_split_is_fair(seed):
    rng = np.random.default_rng(seed)
    view, _ = people(seed, 40)
    alpha, d = float(rng.uniform(0.02, 0.9)), cdist(view, view, "cityblock")
    # Any numbers become a fair policy by lowering whoever is more than d + α above somebody else.
    wild = rng.random(40)
    p = np.minimum(wild, (wild + d + alpha).min(axis=1))
    L, u = theory.fair_decomposition(p, d, alpha)
    np.testing.assert_allclose(L + alpha * u, p, atol=1e-12)
    assert (L >= 0).all()
    assert L.max() <= 1 - alpha + 1e-12
    assert ((u >= 0) & (u <= 1)).all()
    assert (np.abs(L[:, None] - L) <= d + 1e-12).all()
    anything = L + alpha * rng.random(40)
    assert (anything[:, None] - anything <= d + alpha + 1e-12).all()
    assert ((anything >= 0) & (anything <= 1)).all()


def test_without_the_triangle_inequality_the_limit_can_be_lower_than_the_proposition_says():
    # Squared distances: going in small steps is free, so no policy that is 1-Lipschitz in d could move at all.
    view, q = np.linspace(0, 1, 21)[:, None], np.linspace(0, 1, 21)
    limit = best_of_any(view, q, "sqeuclidean", 0.1).error
    assert limit_by_lipschitz(view, q, "sqeuclidean", 0.1) > limit + 0.01


def test_an_unfair_policy_does_not_split_and_is_refused():
    with pytest.raises(InvalidParameter, match=r"`probabilities` must be 0.1-fair on every pair, got 'an excess of 1'"):
        theory.fair_decomposition([0.0, 1.0], np.zeros((2, 2)), 0.1)
    with pytest.raises(InvalidParameter, match="`distances` must be a table for 2 people"):
        theory.fair_decomposition([0.0, 1.0], np.zeros((3, 3)), 0.1)
    with pytest.raises(InvalidParameter, match="`distances` must be a square table"):
        best_lipschitz([1.0], np.zeros((2, 2)), 1.0)
    with pytest.raises(InvalidParameter, match=r"`lipschitz` must be in \[0, 1\]"):
        theory.limit_of_any_policy(0.1, 0.2, 1.3)
