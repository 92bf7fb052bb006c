"""A finished policy gives the same probabilities wherever it is taken: to disk, to a long file, to scikit-learn."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from typer.testing import CliRunner

import likewise as lw
from likewise import cli, datasets
from likewise.errors import InvalidParameter, LikewiseError, ModelMismatch, NotSupported
from likewise.scoring import FinishedPolicy, PolicyClassifier, files, score_file

SECRET = b"sixteen bytes or more"


def applicants(n: int, seed: int = 0) -> pd.DataFrame:
    """People with a number, a category, both sometimes missing, and a branch that is a number but means a category."""
    rng = np.random.default_rng(seed)
    income = np.round(rng.normal(50, 20, n), 2)
    income[rng.random(n) < 0.05] = np.nan
    home = rng.choice(["own", "rent", "family, friends"], n).astype(object)
    home[rng.random(n) < 0.05] = None
    frame = pd.DataFrame({"person": [f"{i:07}" for i in range(n)], "income": income, "home": home})
    return frame.assign(branch=rng.choice([1.0, 2.0, 10.0], n), member=rng.random(n) < 0.5)


@pytest.fixture(scope="module")
def policy() -> FinishedPolicy:
    people = applicants(3000, seed=1)
    y = (people["income"].fillna(50) > 50).to_numpy(dtype=float)
    encoder = datasets.Encoder.fit(people, categories=["branch"], drop=["person"])
    X = encoder.transform(people)
    F = lw.Thresholds.quantiles(X, cuts=8)
    t = lw.play(lw.AdaHedge(F, k=4, T=300, alpha=0.1), lw.IID(X, y, k=4), lw.MetricAuditor("cityblock", 0.1))
    return FinishedPolicy.from_transcript(t, encoder)


def test_a_finished_policy_is_the_average_policy_of_its_play():
    data = datasets.synthetic(2000)
    F = lw.Thresholds.quantiles(data.features, cuts=8)
    people = lw.IID(data.features, data.y, k=4, view=data.view)
    t = lw.play(lw.AdaHedge(F, k=4, T=100, alpha=0.1), people, lw.MetricAuditor(data.distance, 0.1))
    finished = FinishedPolicy.from_transcript(t, data.encoder)
    np.testing.assert_allclose(finished.probability(data.people), t.average_policy.probability(data.features))
    assert finished.columns == list(data.people.columns)
    assert finished.facts["rounds"] == 100


def test_a_saved_policy_gives_the_same_probabilities_to_the_last_bit(policy, tmp_path):
    again = FinishedPolicy.load(policy.save(tmp_path / "deep" / "policy.json"))
    people = applicants(500)
    assert np.array_equal(again.probability(people), policy.probability(people))
    assert again.to_dict() == policy.to_dict()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["policy.json"]


def test_pandas_polars_arrow_and_arrays_get_the_same_probabilities(policy):
    people = applicants(500)[policy.columns]
    expected = policy.probability(people)
    assert np.ptp(expected) > 0.1
    assert np.array_equal(policy.probability(pl.from_pandas(people)), expected)
    assert np.array_equal(policy.probability(pa.Table.from_pandas(people)), expected)
    assert np.array_equal(policy.probability(people.to_numpy(dtype=object)), expected)


@pytest.mark.parametrize("damage", ["weights", "facts", "cut short", "another format", "no policy"])
def test_a_damaged_file_is_refused_in_one_sentence(policy, tmp_path, damage):
    path = policy.save(tmp_path / "policy.json")
    data = json.loads(path.read_text())
    if damage == "weights":
        data["policy"]["weights"][:2] = data["policy"]["weights"][1::-1]
    elif damage == "facts":
        data["facts"]["alpha"] = 0.01
    elif damage == "another format":
        data["format"] = 99
    text = json.dumps({"x": 1} if damage == "no policy" else data)
    path.write_text(text[:-20] if damage == "cut short" else text)
    with pytest.raises(InvalidParameter, match="`policy` must be"):
        FinishedPolicy.load(path)


def test_a_policy_on_models_takes_them_again_and_refuses_others(tmp_path):
    from sklearn.linear_model import LogisticRegression

    data = datasets.synthetic(500)
    model = LogisticRegression().fit(data.features, data.y)
    other = LogisticRegression(C=0.01).fit(data.features, data.y)
    F = lw.Thresholds.scores([model], data.features, cuts=4)
    finished = FinishedPolicy(lw.Mixture(F, np.full(F.size, 1 / F.size)), data.encoder)
    path = finished.save(tmp_path / "policy.json")
    again = FinishedPolicy.load(path, models=[model])
    assert np.array_equal(again.probability(data.people), finished.probability(data.people))
    with pytest.raises(ModelMismatch, match="models"):
        FinishedPolicy.load(path, models=[other])


def test_models_are_read_from_a_skops_file_if_they_are_scikit_learns_and_the_saved_ones(tmp_path):
    from skops.io import dump

    from likewise.experiments.runs.classes import models

    data = datasets.synthetic(400)
    F = models(data.features, data.y, cuts=4)
    finished = FinishedPolicy(lw.Mixture(F, np.full(F.size, 1 / F.size)), data.encoder)
    path = finished.save(tmp_path / "policy.json")
    dump(list(F.models), tmp_path / "models.skops")
    again = FinishedPolicy.load(path, models=tmp_path / "models.skops")
    assert np.array_equal(again.probability(data.people), finished.probability(data.people))
    dump(list(F.models)[::-1], tmp_path / "other.skops")
    with pytest.raises(ModelMismatch, match="must be the model this was saved with"):
        FinishedPolicy.load(path, models=tmp_path / "other.skops")
    dump([partial(print)], tmp_path / "strange.skops")
    with pytest.raises(InvalidParameter, match="`models` must hold models of scikit-learn"):
        FinishedPolicy.load(path, models=tmp_path / "strange.skops")
    (tmp_path / "broken.skops").write_bytes(b"nothing")
    with pytest.raises(ModelMismatch, match="must be a file of models"):
        FinishedPolicy.load(path, models=tmp_path / "broken.skops")


def test_a_decision_is_stable_and_follows_the_probability(policy):
    people = applicants(400)
    ids = people["person"].tolist()
    decided = policy.decide(people, ids, SECRET)
    backwards = policy.decide(people[::-1], ids[::-1], SECRET)
    assert np.array_equal(decided, backwards[::-1])
    assert abs(decided.mean() - policy.probability(people).mean()) < 0.08


# Files ----------------------------------------------------------------------------------------------------------


def written(people: pd.DataFrame, path: Path) -> Path:
    """People in a file, in the format that its name ends with."""
    table = pa.Table.from_pandas(people, preserve_index=False)
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=700)
    else:
        people.to_csv(path, index=False, sep="\t" if ".tsv" in path.suffixes else ",")
    return path


def scores(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype={"person": str}, sep=None,
                                                                               engine="python")  # fmt: skip


def test_a_csv_file_is_scored_as_it_was_read(policy, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "CSV_BLOCK", 4000)
    people = applicants(400).assign(income=lambda p: (100 * p["income"].abs()).round())
    texts = [f"{x:,.0f}" if x == x else "" for x in people["income"]]
    strange = people.assign(income=texts, note='two\nlines, "quoted", ' + "x" * 300)
    # Two columns of one name, and one without any.
    strange.columns = [*strange.columns[:-1], strange.columns[0]]
    strange.insert(0, "", range(400))
    strange.to_csv(tmp_path / "people.csv", index=False)
    read = datasets.read_people(tmp_path / "people.csv")
    assert read["income"].max() > 1000
    assert any("," in text for text in texts)
    found = scores(score_file(policy, tmp_path / "people.csv", tmp_path / "scores.csv").path)
    np.testing.assert_allclose(found["probability"], policy.probability(people), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(policy.probability(read), policy.probability(people))


def test_text_that_is_not_utf_8_is_one_sentence_until_its_encoding_is_named(policy, tmp_path):
    people = applicants(9).assign(person="Zoë")
    people.to_csv(tmp_path / "people.csv", index=False, encoding="latin-1")
    with pytest.raises(InvalidParameter, match="must be text in UTF-8"):
        score_file(policy, tmp_path / "people.csv", tmp_path / "scores.csv")
    done = score_file(policy, tmp_path / "people.csv", tmp_path / "scores.csv", ids=["person"], encoding="latin-1")
    assert scores(done.path)["person"].tolist() == ["Zoë"] * 9
    people.to_csv(tmp_path / "marked.csv", index=False, encoding="utf-16")
    marked = scores(score_file(policy, tmp_path / "marked.csv", tmp_path / "scores.csv").path)
    np.testing.assert_allclose(marked["probability"], policy.probability(people), rtol=0, atol=1e-15)


OTHER_KINDS = {
    "people.jsonl": lambda people, path: people.to_json(path, orient="records", lines=True),
    "people.xlsx": lambda people, path: people.to_excel(path, index=False),
    "people.txt": lambda people, path: people.to_csv(path, index=False, sep=" ", na_rep="NA"),
    "bars.csv": lambda people, path: people.to_csv(path, index=False, sep="|"),
}


@pytest.mark.parametrize("name", OTHER_KINDS)
def test_every_kind_of_file_that_can_be_played_can_be_scored(policy, tmp_path, monkeypatch, name):
    monkeypatch.setattr(files, "MOST_ROWS", 30)
    people = applicants(100)
    OTHER_KINDS[name](people, tmp_path / name)
    done = score_file(policy, tmp_path / name, tmp_path / "scores.parquet", ids=["person"])
    found = scores(done.path)
    read = datasets.read_people(tmp_path / name)
    np.testing.assert_allclose(found["probability"], policy.probability(read), rtol=0, atol=1e-15)
    np.testing.assert_allclose(found["probability"], policy.probability(people), rtol=0, atol=1e-9)


@pytest.mark.parametrize("separator", [",", " "])
def test_a_short_line_is_refused_with_its_number_as_play_refuses_it(policy, tmp_path, separator):
    lines = applicants(50).to_csv(index=False, sep=separator, na_rep="NA").splitlines()
    lines[17] = separator.join(lines[17].split(separator)[:2])
    (tmp_path / "people.csv").write_text("\n".join(lines))
    width = lines[0].count(separator) + 1
    for read in (datasets.read_people, lambda path: score_file(policy, path, tmp_path / "scores.csv")):
        with pytest.raises(InvalidParameter, match=f"people.csv, where line 18 has 2 of {width} fields"):
            read(tmp_path / "people.csv")


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "tsv"])
def test_a_scored_file_holds_what_the_policy_says_in_the_order_of_the_people(policy, tmp_path, monkeypatch, ending):
    monkeypatch.setattr(files, "MOST_ROWS", 300)
    people = applicants(2000)
    source = written(people, tmp_path / f"people.{ending}")
    told = []
    done = score_file(
        policy, source, tmp_path / f"scores.{ending}", ids=["person"], secret=SECRET, progress=lambda *a: told.append(a)
    )
    found = scores(done.path)
    assert list(found.columns) == ["person", "probability", "decision"]
    assert found["person"].tolist() == people["person"].tolist()
    expected = policy.probability(people)
    np.testing.assert_allclose(found["probability"], expected, rtol=0, atol=1e-15)
    assert found["decision"].astype(bool).tolist() == policy.decide(people, people["person"], SECRET).tolist()
    assert (done.rows, done.yes) == (2000, int(found["decision"].sum()))
    assert done.mean == pytest.approx(expected.mean())
    assert len(told) > 5
    assert told[-1] == (2000, 2000 if ending == "parquet" else None)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"people.{ending}", f"scores.{ending}"]


def test_without_ids_rows_are_numbered_through_all_batches(policy, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_ROWS", 64)
    source = written(applicants(200), tmp_path / "people.csv")
    found = scores(score_file(policy, source, tmp_path / "scores.csv").path)
    assert found["row"].tolist() == list(range(200))


def test_a_csv_file_may_change_its_mind_about_a_column_half_way(policy, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "CSV_BLOCK", 2000)
    people = applicants(400).assign(income=lambda p: p["income"].round())
    source = tmp_path / "people.csv"
    whole = people.assign(
        income=[str(int(x)) if x == x else "" for x in people["income"]], branch=people["branch"].astype(int)
    )
    text = whole.to_csv(index=False).splitlines()
    text[300:] = [line.replace(",1,", ",1.0,").replace("True", "true") for line in text[300:]]
    source.write_text("\n".join(text) + "\n")
    found = scores(score_file(policy, source, tmp_path / "scores.csv", ids=["person"]).path)
    np.testing.assert_allclose(found["probability"], policy.probability(people), rtol=0, atol=1e-15)


def _allocated(kept: list[int], *_: object) -> None:
    kept.append(pa.total_allocated_bytes())


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_memory_does_not_grow_with_the_rows(policy, tmp_path, monkeypatch, ending):
    # Small batches and blocks, so that a file need not be long to be much longer than what is kept of it.
    monkeypatch.setattr(files, "ENTRIES", 50_000)
    monkeypatch.setattr(files, "CSV_BLOCK", 1 << 15)
    rng = np.random.default_rng(0)
    people = pa.Table.from_pandas(applicants(50_000).assign(income=rng.random(50_000)), preserve_index=False)
    most = []
    for times in (2, 10):
        source = tmp_path / f"people-{times}.{ending}"
        with (parquet.ParquetWriter if ending == "parquet" else csv.CSVWriter)(source, people.schema) as file:
            for _ in range(times):
                file.write_table(people, 5000)
        kept = [before := pa.total_allocated_bytes()]
        done = score_file(policy, source, tmp_path / f"scores.{ending}", progress=partial(_allocated, kept))
        assert done.rows == times * 50_000
        most.append(max(kept) - before)
    assert source.stat().st_size > 2 * most[0], "the file is longer than what was kept of it"
    assert most[1] < 1.3 * most[0]


def test_no_batch_holds_more_people_than_fit(policy, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ENTRIES", 1000)
    sizes: list[int] = []
    monkeypatch.setattr(policy, "probability", lambda X: sizes.append(len(X)) or np.zeros(len(X)))
    score_file(policy, written(applicants(500), tmp_path / "people.parquet"), tmp_path / "scores.parquet")
    assert sum(sizes) == 500
    assert max(sizes) * len(policy.encoder.names) <= 1000


def test_a_failure_half_way_leaves_no_file(policy, tmp_path):
    source = tmp_path / "people.csv"
    text = applicants(400).to_csv(index=False).splitlines()
    text[-1] = text[-1].replace(",", ",a lot of ", 1)
    source.write_text("\n".join(text))
    with pytest.raises(InvalidParameter, match="`income` must be a column of numbers"):
        score_file(policy, source, tmp_path / "scores.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"source": "people.ods"}, "`people` must end in"),
        ({"source": "nowhere.csv"}, "`people` must be a file"),
        ({"destination": "scores.txt"}, "`out` must end in"),
        ({"destination": "people.csv"}, "`out` must be a different file"),
        ({"ids": ["passport"]}, r"`people` must have the columns .* got \"no \['passport'\]\""),
        ({"ids": ["person", "income"], "secret": SECRET}, "`ids` must name people by exactly one column"),
        ({"secret": SECRET}, "`ids` must name people by exactly one column"),
        ({"ids": ["person"], "secret": b"short"}, "`secret` must be at least 16 bytes"),
        ({"ids": ["probability"]}, "`ids` must not name columns"),
        ({"ids": ["home"]}, "`ids` must name everybody"),
    ],
)
def test_bad_input_is_one_sentence(policy, tmp_path, change, sentence):
    written(applicants(50), tmp_path / "people.csv")
    asked = {"source": "people.csv", "destination": "scores.csv"} | change
    asked |= {name: tmp_path / asked[name] for name in ("source", "destination")}
    with pytest.raises(LikewiseError, match=sentence):
        score_file(policy, **asked)
    assert not (tmp_path / "scores.csv").exists()


def test_an_empty_file_and_a_broken_one_are_named(policy, tmp_path):
    empty = written(applicants(1).iloc[:0], tmp_path / "empty.csv")
    with pytest.raises(InvalidParameter, match="at least one row"):
        score_file(policy, empty, tmp_path / "scores.csv")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 this is none")
    with pytest.raises(InvalidParameter, match="whole CSV or Parquet file"):
        score_file(policy, broken, tmp_path / "scores.csv")


def test_a_class_on_named_columns_needs_no_encoder_and_one_on_numbered_ones_says_so(tmp_path):
    people = pd.DataFrame({"income": [1.0, 2.0, 3.0], "debt": [3, 2, 1]})
    F = lw.Thresholds.quantiles(people, cuts=2)
    named = FinishedPolicy(lw.Mixture(F, np.full(F.size, 1 / F.size)))
    source = written(people, tmp_path / "people.csv")
    found = scores(score_file(named, source, tmp_path / "scores.csv").path)
    np.testing.assert_allclose(found["probability"], named.probability(people))
    F = lw.Thresholds.quantiles(people.to_numpy(), cuts=2)
    numbered = FinishedPolicy(lw.Mixture(F, np.full(F.size, 1 / F.size)))
    with pytest.raises(NotSupported, match="which columns"):
        score_file(numbered, source, tmp_path / "scores.csv")


# scikit-learn ---------------------------------------------------------------------------------------------------


def test_the_classifier_gives_the_policys_probabilities_to_the_tools_of_scikit_learn(policy):
    from sklearn.base import clone, is_classifier
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.inspection import permutation_importance
    from sklearn.metrics import log_loss, roc_auc_score
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.utils.validation import check_is_fitted

    people = applicants(600)[policy.columns]
    y = (people["income"].fillna(50) > 50).to_numpy(dtype=int)
    chances, classifier = policy.probability(people), policy.classifier()
    check_is_fitted(classifier)
    assert is_classifier(classifier)
    assert clone(classifier).policy is policy
    assert clone(classifier).set_params(threshold=0.9) is not classifier
    assert classifier.threshold == 0.5
    assert classifier.n_features_in_ == 4
    assert classifier.feature_names_in_.tolist() == policy.columns
    assert np.array_equal(classifier.fit(people, y).predict_proba(people)[:, 1], chances)
    assert np.array_equal(classifier.predict(people), chances >= 0.5)
    assert PolicyClassifier(policy, threshold=0.3).predict(people).sum() >= classifier.predict(people).sum()

    folds = cross_val_score(classifier, people, y, cv=3, scoring="roc_auc")
    assert folds.mean() == pytest.approx(roc_auc_score(y, chances), abs=0.1)
    assert make_pipeline("passthrough", classifier).fit(people, y).score(people, y) == np.mean((chances >= 0.5) == y)
    importance = permutation_importance(classifier, people, y, n_repeats=2, random_state=0, scoring="roc_auc")
    assert importance.importances_mean.argmax() == policy.columns.index("income")
    calibrated = CalibratedClassifierCV(classifier, method="isotonic", cv=3).fit(people, y)
    assert log_loss(y, calibrated.predict_proba(people)) < log_loss(y, classifier.predict_proba(people))


OF_FITTING = {
    "check_classifiers_classes", "check_classifiers_one_label", "check_classifiers_regression_target",
    "check_classifiers_train", "check_complex_data", "check_estimator_sparse_array", "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag", "check_estimators_empty_data_messages", "check_estimators_nan_inf",
    "check_estimators_unfitted", "check_fit1d", "check_fit_check_is_fitted", "check_n_features_in",
    "check_n_features_in_after_fitting", "check_supervised_y_2d", "check_supervised_y_no_nan",
}  # fmt: skip
"""Checks of what happens in ``fit``, where nothing happens."""
OF_OTHER_WIDTHS = {
    "check_classifier_data_not_an_array", "check_dtype_object", "check_estimators_dtypes", "check_fit2d_predict1d",
    "check_fit_idempotent",
}  # fmt: skip
"""Checks on people with another number of columns than three, or none at all."""


def test_the_classifier_passes_the_checks_of_scikit_learn_that_mean_something_to_a_policy_that_learns_no_more():
    from sklearn.utils.estimator_checks import check_estimator

    F = lw.Thresholds([[0.0, 0.5], [0.0], [0.25]])
    classifier = FinishedPolicy(lw.Mixture(F, np.full(F.size, 1 / F.size))).classifier()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's own, about what it skips
        results = check_estimator(classifier, on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert {name: said for name, said in failed.items() if name not in OF_FITTING | OF_OTHER_WIDTHS} == {}
    assert len(results) - len(failed) > 25


def test_bad_input_to_the_classifier_is_one_sentence(policy):
    with pytest.raises(InvalidParameter, match="columns"):
        policy.classifier().predict_proba(np.zeros((3, 7)))
    with pytest.raises(InvalidParameter, match="columns"):
        policy.classifier().predict_proba(pd.DataFrame({"income": [1.0]}))
    with pytest.raises(InvalidParameter, match="`threshold` must be in"):
        policy.classifier(threshold=3).predict(applicants(2))


def test_scoring_a_file_loads_no_scikit_learn(policy, tmp_path):
    policy.save(tmp_path / "policy.json")
    written(applicants(10), tmp_path / "people.parquet")
    code = (
        "import sys; from likewise.scoring import FinishedPolicy, score_file; "
        "score_file(FinishedPolicy.load('policy.json'), 'people.parquet', 'scores.parquet'); "
        "sys.exit('sklearn' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


# The command ----------------------------------------------------------------------------------------------------


def test_the_command_scores_a_file(policy, tmp_path):
    policy.save(tmp_path / "policy.json")
    people = applicants(300)
    source = written(people, tmp_path / "people.parquet")
    (tmp_path / "key").write_bytes(SECRET)
    options = ["--id", "person", "--secret-file", str(tmp_path / "key")]
    done = CliRunner().invoke(cli.app, ["score", str(tmp_path / "policy.json"), str(source), *options, "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    found = scores(tmp_path / "people-scores.parquet")
    assert said["rows"] == len(found) == 300
    assert said["yes"] == found["decision"].sum()
    assert said["path"] == str(tmp_path / "people-scores.parquet")
    assert found["probability"].tolist() == policy.probability(people).tolist()


# Reasons -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_reasons_are_written_beside_the_probability(policy, tmp_path, ending, monkeypatch):
    monkeypatch.setattr(files, "MOST_ROWS", 70)
    people = applicants(200)
    source, out = tmp_path / "people.csv", tmp_path / f"scores{ending}"
    people.to_csv(source, index=False)
    score_file(policy, source, out, ids=["person"], reasons=2)
    scores = pd.read_csv(out, keep_default_na=False) if ending == ".csv" else pd.read_parquet(out)
    expected = policy.reasons(people)
    assert list(scores.columns) == ["person", "probability", "reason 1", "reason 2"]
    for person in range(200):
        listed = [*expected.listed(person, 2), "", ""][:2]
        assert [scores["reason 1"][person], scores["reason 2"][person]] == listed
    assert scores["reason 1"].str.contains("income").any()


def test_reasons_that_can_not_be_given_row_by_row_are_refused(policy, tmp_path):
    from sklearn.linear_model import LogisticRegression

    data = datasets.synthetic(300)
    model = LogisticRegression().fit(data.features, data.y)
    F = lw.Thresholds.scores([model], data.features, cuts=4)
    scores = FinishedPolicy(lw.Mixture(F, np.full(F.size, 1 / F.size)), data.encoder)
    data.people.to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(NotSupported, match="people to compare with"):
        score_file(scores, tmp_path / "people.csv", tmp_path / "out.csv", reasons=1)
    with pytest.raises(InvalidParameter, match="`reasons` must be"):
        score_file(policy, tmp_path / "people.csv", tmp_path / "out.csv", reasons=-1)
    assert not (tmp_path / "out.csv").exists()
