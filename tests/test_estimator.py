"""The classifier is an estimator like any other of scikit-learn: its checks pass, and its tools can use it."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import likewise as lw
from likewise.errors import InvalidParameter

DATA = lw.datasets.synthetic(800)
QUICK = {"rounds": 60, "hypotheses": "thresholds"}

LEFT_OUT = {
    "check_array_api_input": "skipped by scikit-learn itself unless SCIPY_ARRAY_API is set; a play is in NumPy",
}
"""Checks that don't run, each with its reason. None is expected to fail."""


@pytest.mark.parametrize(
    "classifier",
    [
        lw.LikewiseClassifier(**QUICK),
        lw.LikewiseClassifier(**QUICK, deploy="learned"),
        pytest.param(lw.LikewiseClassifier(rounds=60), marks=pytest.mark.slow),
        pytest.param(lw.LikewiseClassifier(), marks=pytest.mark.slow),
    ],
    ids=["chosen", "learned", "suggested class", "as it comes"],
)
def test_scikit_learns_own_checks_pass(classifier):
    results = check_estimator(classifier, on_skip=None, on_fail=None)
    assert len(results) > 40
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed == {}
    assert {result["check_name"] for result in results if result["status"] != "passed"} <= set(LEFT_OUT)


def test_it_is_the_run_of_fit():
    model = lw.LikewiseClassifier(compare_by=["skill", "effort"], sensitive=["group"], random_state=3, **QUICK)
    model.fit(DATA.people, DATA.y)
    frame = DATA.people.assign(good=DATA.y.astype(int))
    run = lw.fit(
        frame, label="good", compare_by=["skill", "effort"], sensitive=["group"], ids="each-row", seed=3, **QUICK
    )
    np.testing.assert_array_equal(model.predict_proba(DATA.people), run.predict_proba(DATA.people))
    assert str(model.certificate_) == str(run.certificate)


def test_dataframes_with_words_and_missing_values_need_no_preparation():
    people = DATA.people.copy()
    people.loc[::7, "skill"] = np.nan
    people["home"] = np.where(np.arange(len(people)) % 3, "own", "rent")
    model = lw.LikewiseClassifier(compare_by=["skill"], **QUICK).fit(people, np.where(DATA.y == 1, "good", "bad"))
    assert model.classes_.tolist() == ["bad", "good"]
    assert set(model.predict(people)) <= {"bad", "good"}
    polars = pl.from_pandas(people)
    again = clone(model).fit(polars, np.where(DATA.y == 1, "good", "bad"))
    np.testing.assert_array_equal(again.predict_proba(polars), model.predict_proba(people))


def test_columns_of_an_array_are_named_by_position():
    X, y = DATA.features[:, :3], DATA.y
    by_position = lw.LikewiseClassifier(compare_by=[0, -1], **QUICK).fit(X, y)
    assert by_position.run_.settings.compare_by == ("x0", "x2")
    with pytest.raises(InvalidParameter, match="`compare_by` must hold columns of 3, got 7"):
        lw.LikewiseClassifier(compare_by=[7], **QUICK).fit(X, y)


def test_what_was_not_shown_to_be_better_than_one_answer_is_not_deployed():
    noise = np.random.default_rng(99).integers(0, 2, len(DATA.y))
    chosen = lw.LikewiseClassifier(**QUICK).fit(DATA.features, noise)
    assert len(np.unique(chosen.predict_proba(DATA.features)[:, 1])) == 1
    learned = clone(chosen).set_params(deploy="learned").fit(DATA.features, noise)
    assert len(np.unique(learned.predict_proba(DATA.features)[:, 1])) > 1
    np.testing.assert_allclose(
        learned.predict_proba(DATA.features)[:, 1],
        learned.run_.transcript.average_policy.probability(learned.run_.setup.data.features),
    )


def test_the_tools_of_scikit_learn_can_use_it():
    X, y = DATA.features, DATA.y
    model = make_pipeline(StandardScaler(), lw.LikewiseClassifier(deploy="learned", **QUICK))
    scores = cross_val_score(model, X, y, cv=2, error_score="raise")
    constant = max(y.mean(), 1 - y.mean())
    assert scores.mean() > constant


@pytest.mark.parametrize(
    ("changes", "y", "sentence"),
    [
        ({"deploy": "best"}, DATA.y, "`deploy` must be chosen or learned"),
        ({"alpha": 2}, DATA.y, "`alpha` must be in"),
        ({}, np.zeros(len(DATA.y)), "`y` must have two classes, got one class"),
        ({}, np.arange(len(DATA.y)) % 3, "Only binary classification is supported"),
    ],
)
def test_bad_input_gets_one_sentence(changes, y, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        lw.LikewiseClassifier(**QUICK | changes).fit(DATA.features, y)
