"""Reasons add up to the probability, and each amount is what its definition says, by independent computation."""

from __future__ import annotations

import re
from itertools import permutations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import likewise as lw
from likewise.datasets import Encoder
from likewise.errors import InvalidParameter
from likewise.hypotheses.thresholds import score
from likewise.reading.models import is_additive, names_of
from likewise.reading.reasons import rounded_to_sum
from likewise.reading.scores import MOST_PEOPLE
from likewise.reading.shapley import over_orders, over_subsets
from likewise.scoring import FinishedPolicy


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    income = rng.normal(50, 20, n).round(1)
    income[rng.random(n) < 0.1] = np.nan
    home = rng.choice(["own", "rent", "other"], n).astype(object)
    home[rng.random(n) < 0.1] = None
    return pd.DataFrame(
        {"age": rng.integers(18, 80, n), "income": income, "home": home, "hours": rng.integers(0, 60, n)}
    )


PEOPLE = people()
ENCODER = Encoder.fit(PEOPLE)
X = ENCODER.transform(PEOPLE)
Y = (PEOPLE["age"] + PEOPLE["income"].fillna(0) + 10 * (PEOPLE["home"] == "own") > 100).to_numpy(dtype=int)
OWNER = np.array([0, 1, 1, 2, 3, 3, 3, 3])
"""Of the encoded columns: age, income and its indicator, hours, and home (missing and three levels)."""


def mixture(F, seed=0):
    rng = np.random.default_rng(seed)
    cube = isinstance(F, lw.Cells)
    return lw.Mixture(F, rng.random(F.geometry.dim) if cube else rng.dirichlet(np.full(F.geometry.dim, 0.5)))


def spline_model():
    parts = ColumnTransformer(
        [("curved", SplineTransformer(4), [0, 1, 3]), ("plain", StandardScaler(), [2, 4, 5, 6, 7])]
    )
    return make_pipeline(parts, LogisticRegression(max_iter=500))


class Reported:
    """A model that says what it reads: one encoded column."""

    columns = ("hours",)
    described = "hours a week"

    def predict(self, X):
        return np.asarray(X)[:, 3]


def models():
    fitted = [LogisticRegression(max_iter=500), spline_model(), GaussianNB(var_smoothing=0.01), Ridge()]
    others = [DecisionTreeClassifier(max_depth=4, random_state=0), KNeighborsClassifier(15)]
    return [model.fit(X, Y) for model in fitted + others] + [Reported()]


@pytest.fixture(scope="module")
def on_scores():
    return FinishedPolicy(mixture(lw.Thresholds.scores(models(), X, cuts=6)), ENCODER)


@pytest.fixture(scope="module")
def scored(on_scores):
    return on_scores.reasons(PEOPLE[:6], compared_with=PEOPLE[100:112])


# Cut-offs on columns ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("compared_with", [None, PEOPLE[:50]])
def test_amounts_of_cut_offs_add_up_to_the_probability(seed, compared_with):
    policy = FinishedPolicy(mixture(lw.Thresholds.quantiles(X, cuts=7), seed), ENCODER)
    for table in (PEOPLE, people(200, seed=5)):
        reasons = policy.reasons(table, compared_with=compared_with)
        np.testing.assert_allclose(reasons.probability, policy.probability(table), atol=1e-12, rtol=0)
        assert not reasons.estimated
    if compared_with is not None:
        assert reasons.base == pytest.approx(policy.probability(compared_with).mean(), abs=1e-12)
        mean = policy.reasons(compared_with, compared_with=compared_with).amounts.mean(axis=0)
        np.testing.assert_allclose(mean, 0, atol=1e-12)


def test_a_columns_amount_is_the_weight_of_its_rules_that_say_yes():
    """Hypothesis by hypothesis, from the matrix of answers: the independent second computation."""
    F = lw.Thresholds.quantiles(X, cuts=5)
    policy = mixture(F)
    reasons = FinishedPolicy(policy, ENCODER).reasons(PEOPLE, compared_with=PEOPLE)
    counts = [len(cuts) for cuts in F.cuts]
    column = OWNER[np.tile(np.repeat(np.arange(len(counts)), counts), 2)]
    yes = policy.weights[2:, None] * F.predict(X)[2:]
    for j in range(4):
        amounts = yes[column == j].sum(axis=0)
        np.testing.assert_allclose(reasons.amounts[:, j], amounts - amounts.mean(), atol=1e-12)


def test_amounts_depend_on_their_own_column_only():
    policy = FinishedPolicy(mixture(lw.Thresholds.quantiles(X, cuts=5)), ENCODER)
    before = policy.reasons(PEOPLE).amounts
    after = policy.reasons(PEOPLE.assign(age=people(seed=7)["age"])).amounts
    assert np.array_equal(before[:, 1:], after[:, 1:])
    assert not np.array_equal(before[:, 0], after[:, 0])


def test_without_comparison_amounts_count_from_the_least_that_anybody_can_have():
    policy = FinishedPolicy(mixture(lw.Thresholds.quantiles(X, cuts=5)), ENCODER)
    many = people(20_000, seed=3)
    reasons = policy.reasons(many)
    assert reasons.amounts.min() >= 0
    assert (reasons.amounts <= reasons.most + 1e-12).all()
    np.testing.assert_allclose(reasons.amounts.max(axis=0), reasons.most, atol=1e-12)
    assert reasons.base <= policy.probability(many).min() + 1e-12


def test_a_column_whose_rules_all_favour_more_of_it_never_takes_away_for_more_of_it():
    F = lw.Thresholds([[1.0, 2.0, 3.0]])
    policy = lw.Mixture(F, np.array([0.2, 0.1, 0.3, 0.3, 0.1, 0, 0, 0]))
    amounts = policy.reasons(np.arange(0, 4, 0.5)[:, None]).amounts[:, 0]
    assert (np.diff(amounts) >= 0).all()
    assert amounts[-1] == pytest.approx(0.7)


# Cells ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compared_with", [None, PEOPLE[:50]])
def test_cells_have_one_term(compared_with):
    policy = FinishedPolicy(mixture(lw.Cells.tree(DecisionTreeClassifier(max_leaf_nodes=6).fit(X, Y))), ENCODER)
    reasons = policy.reasons(PEOPLE, compared_with=compared_with)
    assert reasons.columns == ("cell",)
    np.testing.assert_allclose(reasons.probability, policy.probability(PEOPLE), atol=1e-12)
    named = {re.split(" [≥<≤>]| is", part)[0] for value in reasons.values for part in value[0].split(" and ")}
    assert any(name.endswith(("age", "income")) for name in named)


# Models' scores ---------------------------------------------------------------------------------------------------


def test_reasons_of_scores_add_up_however_they_are_split(on_scores, scored):
    np.testing.assert_allclose(scored.probability, on_scores.probability(PEOPLE[:6]), atol=1e-12)
    for part in scored.models:
        np.testing.assert_allclose(part.by_column.sum(axis=1), part.amounts, atol=1e-12)
    assert scored.base == pytest.approx(on_scores.probability(PEOPLE[100:112]).mean(), abs=1e-12)


def test_the_split_by_model_is_exact(on_scores, scored):
    F, weights = on_scores.hypotheses, on_scores.policy.weights
    counts = [len(cuts) for cuts in F.cuts]
    model = np.tile(np.repeat(np.arange(len(counts)), counts), 2)
    yes = weights[2:, None] * F.predict(X)[2:]
    for number, part in enumerate(scored.models):
        whole = yes[model == number].sum(axis=0)
        np.testing.assert_allclose(part.amounts, whole[:6] - whole[100:112].mean(), atol=1e-12)


def test_linear_spline_and_one_column_models_are_exact_and_others_say_that_they_are_estimated(scored):
    estimated = {part.name: part.estimated for part in scored.models}
    assert estimated == {
        "logistic regression": False,
        "logistic regression with splines": False,
        "naive Bayes": False,
        "linear regression": False,
        "decision tree": True,
        "nearest neighbours": True,
        "hours a week": False,
    }
    assert scored.estimated
    assert scored.text(0).endswith("(estimated)")
    assert "age (estimated)" in scored.frame().columns


def brute_force(model, cuts, steps, person, others):
    """Shapley values by all orders, asking the model itself about every exchanged person."""

    def value(members):
        mixed = others.copy()
        mixed[:, np.isin(OWNER, list(members))] = person[np.isin(OWNER, list(members))]
        return steps[np.searchsorted(cuts, score(model, mixed), side="right")].mean()

    worth = {frozenset(order[:i]): 0.0 for order in permutations(range(4)) for i in range(5)}
    worth = {members: value(members) for members in worth}
    shares = np.zeros(4)
    for order in permutations(range(4)):
        for i, j in enumerate(order):
            shares[j] += worth[frozenset(order[: i + 1])] - worth[frozenset(order[:i])]
    return shares / factorial(4)


def steps_of(policy, number):
    F, half = policy.hypotheses, int(policy.hypotheses.first[-1])
    inside = slice(F.first[number], F.first[number + 1])
    above, below = policy.policy.weights[2:][:half][inside], policy.policy.weights[2 + half :][inside]
    return np.array([above[:i].sum() + below[i:].sum() for i in range(len(above) + 1)])


@pytest.mark.parametrize("number", range(7))
def test_exact_splits_are_the_shapley_values_by_brute_force_and_estimates_are_near_them(on_scores, scored, number):
    F, part = on_scores.hypotheses, scored.models[number]
    for i in range(6):
        truth = brute_force(F.models[number], F.cuts[number], steps_of(on_scores, number), X[i], X[100:112])
        tolerance = 0.05 if part.estimated else 1e-9
        np.testing.assert_allclose(part.by_column[i], truth, atol=tolerance)


def test_more_columns_than_all_subsets_can_be_gone_through_are_estimated():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(200, 16))
    model = LogisticRegression().fit(wide, wide[:, 0] > 0)
    policy = mixture(lw.Thresholds.scores([model], wide, cuts=5))
    reasons = policy.reasons(wide[:2], compared_with=wide[100:110])
    assert reasons.estimated
    np.testing.assert_allclose(reasons.probability, policy.probability(wide[:2]), atol=1e-12)


def test_a_column_that_no_model_uses_has_no_part():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 3))
    forest = RandomForestClassifier(5, random_state=0).fit(np.c_[table[:, :2], np.zeros(200)], table[:, 0] > 0)
    linear = LogisticRegression().fit(np.c_[table[:, :2], np.zeros(200)], table[:, 0] > 0)
    reasons = mixture(lw.Thresholds.scores([forest, linear], table, cuts=5)).reasons(
        table[:5], compared_with=table[50:]
    )
    np.testing.assert_allclose(reasons.amounts[:, 2], 0, atol=1e-12)
    assert reasons.compared_with == MOST_PEOPLE


def test_the_same_question_gets_the_same_answer(on_scores, scored):
    again = on_scores.reasons(PEOPLE[:6], compared_with=PEOPLE[100:112])
    assert np.array_equal(again.amounts, scored.amounts)


def test_scores_need_people_to_compare_with(on_scores):
    with pytest.raises(InvalidParameter, match="`compared_with` must be people"):
        on_scores.reasons(PEOPLE[:1])


def test_models_fitted_with_names_are_asked_with_names():
    table = pd.DataFrame(X[:, [0, 3]], columns=["age", "hours"])
    model = DecisionTreeClassifier(max_depth=3).fit(table, Y)
    policy = mixture(lw.Thresholds.scores([model], table, cuts=4))
    reasons = policy.reasons(table[:3], compared_with=table[50:60])
    np.testing.assert_allclose(reasons.probability, policy.probability(table[:3]), atol=1e-12)
    assert reasons.columns == ("age", "hours")


def test_a_model_that_names_columns_that_nobody_has_is_refused():
    class Wrong(Reported):
        columns = ("height",)

    policy = FinishedPolicy(mixture(lw.Thresholds.scores([Wrong()], X, cuts=3)), ENCODER)
    with pytest.raises(InvalidParameter, match="`columns` must name encoded columns"):
        policy.reasons(PEOPLE[:1], compared_with=PEOPLE[:5])


def test_a_model_that_wrongly_says_that_it_is_a_sum_is_found_out():
    class Product:
        additive = True

        def predict(self, X):
            return np.asarray(X)[:, 0] * np.asarray(X)[:, 3]

    policy = FinishedPolicy(mixture(lw.Thresholds.scores([Product()], X, cuts=3)), ENCODER)
    assert policy.reasons(PEOPLE[:2], compared_with=PEOPLE[:9]).estimated


# Shapley values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5, 8])
def test_shapley_values_of_a_sum_are_its_addends(d):
    rng = np.random.default_rng(d)
    person, others = rng.normal(size=d), rng.normal(size=(7, d))
    values = over_subsets(lambda s: s, 1.0, person, others, 1 + person.sum(), 1 + others.sum(axis=1))
    np.testing.assert_allclose(values, person - others.mean(axis=0), atol=1e-12)


def test_walked_orders_come_to_the_values_of_all_subsets():
    rng = np.random.default_rng(1)
    person, others = rng.normal(size=5), rng.normal(size=(100, 5))

    def part(sums):
        return (sums >= 0.3).astype(float)

    ends = float(part(person.sum())), part(others.sum(axis=1))
    exact = over_subsets(part, 0.0, person, others, *ends)
    walked = over_orders(lambda rows: part(rows.sum(axis=1)), np.arange(5), person, others, *ends)
    np.testing.assert_allclose(walked, exact, atol=0.08)
    assert walked.sum() == pytest.approx(exact.sum(), abs=1e-12)


def test_sums_over_columns_are_recognised_by_what_they_are_made_of():
    assert is_additive(make_pipeline(StandardScaler(), SplineTransformer(), LogisticRegression()))
    assert is_additive(spline_model().fit(X, Y))
    assert not is_additive(make_pipeline(PolynomialFeatures(), LogisticRegression()))
    assert not is_additive(RandomForestClassifier())
    assert not is_additive(len)


def test_models_have_names_that_people_know():
    assert names_of(
        [RandomForestClassifier(), KNeighborsClassifier(), GaussianNB(), Reported(), people, lambda X: X]
    ) == [
        "random forest",
        "nearest neighbours",
        "naive Bayes",
        "hours a week",
        "people",
        "own score",
    ]


# Words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("top", [1, 2, 9])
@pytest.mark.parametrize("compared_with", [None, PEOPLE[:40]])
def test_the_printed_numbers_of_a_sentence_add_up(top, compared_with):
    policy = FinishedPolicy(mixture(lw.Thresholds.quantiles(X, cuts=6)), ENCODER)
    reasons = policy.reasons(PEOPLE[:40], compared_with=compared_with)
    for person in range(40):
        total, terms = reasons.text(person, top).split(" = ")
        amounts = re.findall(r"(?:^|([+−]) )(\d\.\d{3})", terms)
        added = sum(-float(number) if sign == "−" else float(number) for sign, number in amounts)
        assert added == pytest.approx(float(total), abs=1e-9)


def test_sentences_name_columns_and_the_persons_own_values():
    policy = FinishedPolicy(mixture(lw.Thresholds.quantiles(X, cuts=6)), ENCODER)
    assert any("age" in policy.reasons(PEOPLE).text(person, top=4) for person in range(20))
    for person in range(20):
        text, row = policy.reasons(PEOPLE).text(person, top=4), PEOPLE.iloc[person]
        assert f"age {row['age']}" in text or "age" not in text
        if "home" in text:
            assert f"home {row['home'] if isinstance(row['home'], str) else 'missing'}" in text
        if "income" in text:
            assert ("income missing" in text) == bool(np.isnan(row["income"]))


def test_rounded_parts_add_up_to_the_rounded_total():
    rng = np.random.default_rng(2)
    for _ in range(200):
        parts = rng.normal(size=rng.integers(1, 9))
        rounded = rounded_to_sum(parts, parts.sum(), 3)
        assert sum(rounded) == pytest.approx(round(parts.sum(), 3), abs=1e-9)
        assert np.abs(np.array(rounded) - parts).max() < 1e-3 + 1e-9
