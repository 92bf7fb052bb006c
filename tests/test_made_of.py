"""What a policy is made of, in the units of the file: on the page, in the letter, and for two people."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import likewise as lw
from likewise.datasets import Encoder
from likewise.report.made_of import SHOWN, ReadPolicy, as_page, as_text, rules, sets_apart
from likewise.scoring import FinishedPolicy

PEOPLE = pd.DataFrame({"age": np.repeat(np.arange(20, 40), 2), "debt": np.tile([1.0, 2.0, 5.0, 9.0], 10)})
ENCODER = Encoder.fit(PEOPLE)
X = ENCODER.transform(PEOPLE)


def on_columns(weights=None):
    F = lw.Thresholds([X[[10, 20, 30], 0], X[[1, 2], 1]], names=ENCODER.names)
    w = np.full(F.geometry.dim, 1 / F.geometry.dim) if weights is None else weights
    return ReadPolicy(FinishedPolicy(lw.Mixture(F, w), ENCODER), PEOPLE)


def test_listed_rules_and_the_rest_weigh_one_and_are_cuts_of_the_file():
    read = on_columns()
    listed, rest = rules(read)
    everything = read.policy.rules(top=None)
    assert len(listed) == SHOWN < len(everything) == 12
    left = sum(rule.weight for rule in everything[SHOWN:])
    assert f"{len(everything) - SHOWN} lighter rules weigh {left:.3f} together." == rest
    assert {"age ≥ 25", "age < 35", "debt ≥ 5"} <= {rule.text for rule in everything}


def test_page_and_text_list_the_same_rules_and_the_page_draws_the_scorecard():
    read = on_columns()
    page, text = as_page(read), as_text(read)
    for rule in rules(read)[0]:
        assert rule.text in text
        assert rule.text.replace("<", "&lt;") in page
    assert "<img" in page


def test_the_columns_that_set_two_people_apart_add_up_to_the_gap():
    weights = np.zeros(12)
    weights[[2, 5]] = 0.75, 0.25  # age ≥ 25, debt ≥ 2
    read = on_columns(weights)
    pair = PEOPLE.iloc[[39, 0]]
    assert np.subtract(*read.policy.probability(pair)) == pytest.approx(1.0)
    assert sets_apart(read, pair) == "Of the gap come 0.75 from age and 0.25 from debt."
    assert sets_apart(read, PEOPLE.iloc[[5, 5]]) == ""


def test_a_policy_without_columns_to_name_is_left_out():
    F = lw.FiniteClass([lambda people: np.ones(len(people), dtype=bool)])
    read = ReadPolicy(lw.Mixture(F, np.full(F.geometry.dim, 1 / F.geometry.dim)), X)
    assert (as_page(read), as_text(read), sets_apart(read, X[:2])) == ("", "", "")


def test_cells_are_groups_with_probabilities():
    F = lw.Cells.grid(X, bins=2, features=[0])
    read = ReadPolicy(FinishedPolicy(lw.Mixture(F, np.array([0.25, 0.75])), ENCODER), PEOPLE)
    assert [rule.weight for rule in rules(read)[0]] == [0.75, 0.25]
    assert "Everybody in a group has the same probability." in as_text(read)
    assert "<img" not in as_page(read)


class OneColumn:
    """The score of a model that reads the age alone, falling or rising."""

    classes_ = np.array([0, 1])
    columns = (ENCODER.names[0],)

    def __init__(self, sign):
        self.sign = sign

    def predict_proba(self, features):
        p = 1 / (1 + np.exp(-self.sign * np.asarray(features)[:, 0]))
        return np.column_stack([1 - p, p])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_cut_of_the_score_of_one_column_is_written_as_a_cut_of_the_column_that_means_the_same_people(sign):
    F = lw.Thresholds.scores([OneColumn(sign)], X, cuts=3)
    policy = FinishedPolicy(lw.Mixture(F, np.full(F.geometry.dim, 1 / F.geometry.dim)), ENCODER)
    meant = np.zeros(len(PEOPLE))
    for rule in policy.rules(top=None, people=PEOPLE):
        assert "score" not in rule.text
        if rule.text != "always no":
            words = {"always yes": "age > 0"}.get(rule.text, rule.text).replace("≥", ">=").replace("≤", "<=")
            meant += rule.weight * PEOPLE.eval(words).to_numpy()
    assert meant == pytest.approx(policy.probability(PEOPLE))


def test_scores_of_several_columns_stay_scores():
    y = (PEOPLE["age"] > 30).astype(int)
    models = [LogisticRegression().fit(X, y), RandomForestClassifier(5, random_state=0).fit(X, y)]
    policy = FinishedPolicy(
        lw.Mixture(F := lw.Thresholds.scores(models, X, cuts=2), np.eye(F.geometry.dim)[2]), ENCODER
    )
    assert "logistic regression on age and debt" in policy.rules(people=PEOPLE)[0].text
