"""The class and the learner that settings stand for."""

from __future__ import annotations

import numpy as np
import pytest
from loans import loans

import likewise as lw
from likewise.service.stream.learner import Deployed, Model
from likewise.service.stream.settings import Feature

JOBS = (Feature(name="score"), Feature(name="job", kind="category", levels=("nurse", "cook", "pilot")))
PEOPLE = [{"score": 0.2, "job": "nurse"}, {"score": 0.8, "job": "pilot"}]


def test_each_level_of_a_category_is_a_hypothesis_of_its_own():
    model = Model(loans(features=JOBS, cuts={"score": (0.5,), "job": None}))
    assert model.hypotheses.size == 2 + 2 * (1 + 3)
    answers = {tuple(row) for row in model.hypotheses.predict_rows(model.encode(PEOPLE)).tolist()}
    assert answers == {(0, 0), (1, 1), (0, 1), (1, 0)}


def test_each_level_of_a_category_is_a_row_of_cells():
    model = Model(loans(features=JOBS, cuts={"score": (0.5,), "job": None}, hypotheses="cells"))
    assert model.hypotheses.size == 2 ** (2 * 3)
    everybody = [{"score": s, "job": job} for s in (0.2, 0.8) for job in JOBS[1].levels]
    assert sorted(model.encode(everybody).tolist()) == list(range(6))


def test_a_class_over_numbers_is_the_librarys_own():
    X = np.random.default_rng(0).random((50, 2))
    for kind, F in (("thresholds", lw.Thresholds.quantiles(X, cuts=4)), ("cells", lw.Cells.grid(X, bins=3))):
        cuts = F.cuts if kind == "thresholds" else F.assign.cuts
        named = {name: tuple(column.tolist()) for name, column in zip(("score", "age"), cuts, strict=True)}
        model = Model(loans(cuts=named, hypotheses=kind))
        rows = model.encode([{"score": a, "age": b} for a, b in X.tolist()])
        np.testing.assert_array_equal(rows, F.encode(X))
        assert model.hypotheses.to_dict() == F.to_dict()


def test_features_without_cuts_are_not_decided_by():
    model = Model(loans(cuts={"score": (0.5,)}))
    one, other = model.encode([{"score": 0.7, "age": 0.0}]), model.encode([{"score": 0.7, "age": 1.0}])
    np.testing.assert_array_equal(one, other)


def test_a_hash_names_the_weights_to_the_last_bit_and_the_class():
    model, other = Model(loans()), Model(loans(cuts={"score": (0.5,), "age": (0.4,)}))
    state = model.learner.init()
    again = model.deploy(state)
    assert again.hash == model.deploy(state).hash != other.deploy(other.learner.init()).hash
    weights = state.weights.copy()
    weights[0] = np.nextafter(weights[0], 1.0)
    assert model.deploy(state._replace(weights=weights)).hash != again.hash


@pytest.mark.parametrize("changes", [{}, {"hypotheses": "cells"}, {"learner": "hedge", "penalty": 2.0}])
def test_a_learners_state_survives_json_bit_by_bit(changes):
    model = Model(loans(**changes))
    state = model.learner.init()
    rows = model.encode([{"score": 0.1, "age": 0.9}, {"score": 0.77, "age": 0.3}])
    for i in range(20):
        shown = model.probabilities(model.deploy(state), rows)
        state = model.learner.update(state, lw.Round(lw.Batch(rows, np.array([i % 2, 1.0]), None), shown))
    again = model.load(model.dump(state))
    assert type(again) is type(state)
    for a, b in zip(again, state, strict=True):
        np.testing.assert_array_equal(a, b)


def test_versions_count_the_rounds_learned():
    model = Model(loans())
    deployed = model.deploy(model.learner.init())
    assert isinstance(deployed, Deployed)
    assert deployed.version == 0


def test_people_are_encoded_as_the_class_encodes_them():
    rng = np.random.default_rng(0)
    model = Model(loans(cuts={"score": (0.2, 0.5, 0.5000001, 0.9), "age": (-1.0, 0.0)}))
    values = np.concatenate([rng.normal(size=(200, 2)), [[0.2, -1.0], [0.5, 0.0], [0.9, -0.0], [1e308, -1e308]]])
    rows = model.encode([{"score": float(score), "age": float(age)} for score, age in values])
    theirs = model.hypotheses.encode(values)
    assert rows.dtype == theirs.dtype
    np.testing.assert_array_equal(rows, theirs)
