"""What a terminal and a notebook show of a thing: one line, a small table, and nothing that isn't so."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import likewise as lw
from likewise.policies import Committee, Floored
from likewise.scoring import FinishedPolicy

DATA = lw.datasets.synthetic(1200)
F = lw.Thresholds.quantiles(DATA.people, cuts=6)
T = lw.play(
    lw.AdaHedge(F, k=4, alpha=0.1, T=120),
    lw.IID(DATA.people, DATA.y, k=4, view=DATA.view),
    lw.MetricAuditor(DATA.distance, alpha=0.1),
    seed=0,
)
MODEL = LogisticRegression().fit(DATA.features, DATA.y)
SCORES = lw.Thresholds.scores([MODEL, lambda X: X[:, 0]], DATA.features, cuts=4)
ESTIMATORS = lw.EstimatorClass(DecisionTreeClassifier(), pool=DATA.features)
MIXTURE = T.average_policy.mixture()


def anonymous(X):
    return X[:, 0] > 0


THINGS = {
    "transcript": T,
    "thresholds": F,
    "scores": SCORES,
    "cells": lw.Cells.grid(DATA.features, bins=4, features=[0, 1, 2]),
    "listed": lw.FiniteClass([anonymous]),
    "estimators": ESTIMATORS,
    "mixture": MIXTURE,
    "cells' policy": lw.Mixture(cells := lw.Cells.grid(DATA.features, bins=2, features=[0]), cells.constant(1)),
    "floored": Floored(MIXTURE, 0.1),
    "committee": Committee(ESTIMATORS, [1, 0]),
    "average": T.average_policy,
    "empty average": lw.AveragePolicy(),
    "finished": FinishedPolicy(MIXTURE),
    "certificate": lw.certify(T),
    "groups": lw.groups(T.average_policy, DATA.people, DATA.y, ["group"]),
    "data": DATA,
    "audit": lw.audit(DATA.people.assign(score=T.average_policy.probability(DATA.people)), "score", ["skill"], pairs=9),
}


@pytest.mark.parametrize("name", THINGS)
def test_a_thing_shows_itself_in_one_short_line(name):
    shown = repr(THINGS[name])
    assert "\n" not in shown
    assert len(shown) < 400, shown
    assert " at 0x" not in shown, "no bare address"
    assert type(THINGS[name]).__name__ in shown


@pytest.mark.parametrize("name", [name for name in THINGS if name != "estimators"])
def test_a_notebook_shows_a_small_balanced_page(name):
    shown = THINGS[name]._repr_html_()
    assert len(shown) < 8000
    assert "<script" not in shown
    opened = re.findall(r"<(\w+)[ >]", shown)
    closed = re.findall(r"</(\w+)>", shown)
    assert sorted(opened) == sorted(closed)


def test_numbers_shown_are_those_of_the_play():
    shown = repr(T)
    assert f"{T.error_per_person:.3f} per person" in shown
    assert f"in {int(T.violations.sum())} rounds" in shown
    assert "120 rounds of up to 4 people" in shown
    assert f"{F.size} hypotheses" in T._repr_html_()


def test_a_policy_shows_the_rules_that_weigh_most():
    heaviest = MIXTURE.rules(1)[0]
    assert f"{heaviest.weight:.3f}" in MIXTURE._repr_html_()
    assert f"{int((MIXTURE.weights > 1e-6).sum())} with weight" in repr(MIXTURE)


def test_what_comes_from_a_file_is_escaped():
    frame = pd.DataFrame({"<b>income": np.arange(40.0) // 4, "label": [0, 1] * 20})
    data = lw.datasets.from_frame(frame, label="label", compare_by=["<b>income"], ids="each-row")
    assert "<b>" not in data._repr_html_()
    policy = lw.Mixture(lw.Thresholds([[1.0]], names=["<b>income"]), np.array([0.0, 0.2, 0.8, 0.0]))
    assert "<b>" not in policy._repr_html_()


def test_a_large_class_is_not_written_out():
    large = lw.Cells(lambda X: np.zeros(len(X), int), m=500)
    assert repr(large) == "Cells(2^500 hypotheses)"
