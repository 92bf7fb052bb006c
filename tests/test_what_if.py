"""A change does what it says: applied to the person and asked again, and no nearer one does as much."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import likewise as lw
from likewise.datasets import Encoder
from likewise.errors import InvalidParameter
from likewise.scoring import FinishedPolicy


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    income = rng.normal(50, 20, n).round(1)
    income[rng.random(n) < 0.1] = np.nan
    home = rng.choice(["own", "rent", "other"], n).astype(object)
    home[rng.random(n) < 0.1] = None
    return pd.DataFrame({"age": rng.integers(18, 80, n).astype(float), "income": income, "home": home})


PEOPLE = people()
ENCODER = Encoder.fit(PEOPLE)
X = ENCODER.transform(PEOPLE)
TREE = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, PEOPLE["age"] + PEOPLE["income"].fillna(0) > 90)
CLASSES = {
    "cut-offs": lw.Thresholds.quantiles(X, cuts=6),
    "grid": lw.Cells.grid(X[:, :3], bins=4, features=[0, 1]),
    "tree": lw.Cells.tree(TREE),
    "scores": lw.Thresholds.scores([TREE], X, cuts=6),
}
GRID = lw.Cells.grid(X, bins=4, features=[0, 1])


def policy_over(name, seed=0):
    F = GRID if name == "grid" else CLASSES[name]
    rng = np.random.default_rng(seed)
    cube = isinstance(F, lw.Cells)
    weights = rng.random(F.geometry.dim) if cube else rng.dirichlet(np.full(F.geometry.dim, 0.3))
    return FinishedPolicy(lw.Mixture(F, weights), ENCODER)


def changed(person, change):
    return person.assign(**{change.column: [change.value]})


@pytest.mark.parametrize("name", CLASSES)
def test_a_change_does_what_it_says(name):
    policy, count = policy_over(name), 0
    for i in range(25):
        person = PEOPLE.iloc[[i]]
        now = policy.probability(person)[0]
        for change in policy.what_if(person, by=0.02, compared_with=PEOPLE):
            then = policy.probability(changed(person, change))[0]
            assert then == pytest.approx(change.probability, abs=1e-12)
            assert then - now == pytest.approx(change.difference, abs=1e-12)
            assert abs(change.difference) >= 0.02 - 1e-12
            assert change.nearest == (name != "scores")
            count += 1
    assert count > 20


@pytest.mark.parametrize("name", ["cut-offs", "grid", "tree"])
def test_no_nearer_value_does_as_much(name):
    """Every tenth of a unit between the person and the change is tried."""
    policy, count = policy_over(name), 0
    for i in range(25):
        person = PEOPLE.iloc[[i]]
        now = policy.probability(person)[0]
        for change in policy.what_if(person, by=0.03):
            value = person[change.column].iloc[0]
            if isinstance(change.value, str) or np.isnan(value):
                continue
            nearer = np.arange(min(value, change.value), max(value, change.value), 0.1)
            # A tree compares in single precision; the number just beside the cut is the change itself.
            nearer = nearer[(nearer > min(value, change.value) + 0.05) & (np.abs(nearer - change.value) > 1.001)]
            if not len(nearer):
                continue
            table = pd.concat([person] * len(nearer)).assign(**{change.column: nearer})
            moved = (policy.probability(table) - now) * np.sign(change.difference)
            assert moved.max() < 0.03 - 1e-13
            count += 1
    assert count > 5


def test_every_column_that_could_move_it_is_found():
    """Against a grid of all values: a column is listed in a direction if and only if some value of it does it."""
    policy = policy_over("cut-offs")
    values = {
        "age": np.arange(0, 120, 0.5),
        "income": np.arange(-50, 200, 0.05),
        "home": np.array(["own", "rent", "other"]),
    }
    for i in range(6):
        person = PEOPLE.iloc[[i]]
        now = policy.probability(person)[0]
        possible = set()
        for column, options in values.items():
            table = pd.concat([person] * len(options)).assign(**{column: options})
            moved = policy.probability(table) - now
            possible |= {(column, 1)} if moved.max() >= 0.03 else set()
            possible |= {(column, -1)} if moved.min() <= -0.03 else set()
            if column == "home":
                best = {1: moved.max(), -1: moved.min()}
        changes = policy.what_if(person, by=0.03)
        assert {(change.column, int(np.sign(change.difference))) for change in changes} == possible
        for change in changes:
            if change.column == "home":  # of the levels, the one that does most
                assert change.difference == pytest.approx(best[int(np.sign(change.difference))], abs=1e-12)


def test_changes_are_in_the_numbers_of_the_file_and_the_largest_moves_come_first():
    policy = policy_over("cut-offs")
    for i in range(20):
        changes = policy.what_if(PEOPLE.iloc[[i]], by=0.01)
        moves = [abs(change.difference) for change in changes]
        assert moves == sorted(moves, reverse=True)
        for change in changes:
            if change.column == "age":
                assert change.value == round(change.value)
            if change.column == "income":
                assert change.value == round(change.value, 1)


def test_a_sentence_says_what_becomes_of_what():
    policy = lw.Mixture(lw.Thresholds([[35.0]], names=["age"]), np.array([0.2, 0.2, 0.6, 0.0]))
    (change,) = policy.what_if([[30.0]])
    assert str(change) == "age ≥ 35 instead of 30: 0.800 (+0.600)"
    (change,) = policy.what_if([[40.0]])
    assert (str(change), change.value) == ("age < 35 instead of 40: 0.200 (−0.600)", 34)


def test_policies_on_scores_need_values_to_try():
    with pytest.raises(InvalidParameter, match="`compared_with` must be people"):
        policy_over("scores").what_if(PEOPLE.iloc[[0]])
