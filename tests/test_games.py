"""The games with known answers are what their definitions say."""

from __future__ import annotations

import numpy as np
import pytest

import likewise as lw
from likewise.experiments import games


def test_of_two_people_a_policy_with_gap_g_errs_one_minus_g():
    F = games.two_people_class()
    assert F.size == 3
    batch = games.two_people(F).batch(lw.Key(0, lw.Role.ENVIRONMENT, 1), None, None)
    for weights in ([0.5, 0.2, 0.3], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]):
        chances = lw.Mixture(F, np.array(weights)).at(batch.rows)
        gap = chances[0] - chances[1]
        assert np.abs(chances - batch.y).sum() == pytest.approx(1 - gap)


def test_the_distances_of_the_town_are_metrics_but_for_the_broken_one():
    view = games.Town().sample(40, np.random.default_rng(0))[0]

    def broken_triangles(d):
        return (d[:, None, :] > d[:, :, None] + d[None, :, :].transpose(0, 2, 1) + 1e-12).sum()

    near, broken = games.Town.near(view), games.Town.broken(view)
    assert near == pytest.approx(near.T)
    assert (np.diag(near) == 0).all()
    assert broken_triangles(near) == 0
    assert broken_triangles(broken) > 0


def test_everybody_is_alike_in_the_games_of_pairs():
    assert (games.alike(np.zeros((5, 2))) == np.zeros((5, 5))).all()
