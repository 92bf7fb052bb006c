"""The six models whose scores a class may cut."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.experiments.model_pool import model_pool


def test_six_models_of_different_kinds_fit_and_score():
    pool = model_pool()
    assert len({type(model) for model in pool}) == len(pool) == 6
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    for model in pool:
        scores = model.fit(X, y).predict_proba(X)[:, 1]
        assert np.mean((scores > 0.5) == y) > 0.9, type(model).__name__


@pytest.mark.parametrize("place", range(6))
def test_a_pool_is_made_new_each_time(place):
    assert model_pool()[place] is not model_pool()[place]
