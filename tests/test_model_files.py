"""Models of other libraries as columns of a class: scored, recognised again, and kept in their own formats."""

import importlib
import json
import zipfile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.errors import InvalidParameter, ModelMismatch, NotSupported
from likewise.hypotheses import fingerprint
from likewise.hypotheses.model_files import SCORES
from likewise.hypotheses.thresholds import score

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
Y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.3, size=400) > 0).astype(int)


def library(name):
    """The library, or a test that is left out visibly where it can't be loaded."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:  # LightGBM needs a system library
        pytest.skip(f"{name} is not installed here: {error}")


def lightgbm_classifier(**options):
    return library("lightgbm").LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1, **options).fit(X, Y)


def lightgbm_booster():
    return lightgbm_classifier().booster_


def lightgbm_regressor():
    return library("lightgbm").LGBMRegressor(n_estimators=5, n_jobs=1, verbose=-1).fit(X, Y)


def xgboost_classifier(**options):
    return library("xgboost").XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1, **options).fit(X, Y)


def xgboost_booster():
    return xgboost_classifier().get_booster()


def xgboost_regressor():
    return library("xgboost").XGBRegressor(n_estimators=5, max_depth=2, n_jobs=1).fit(X, Y)


def catboost_classifier(**options):
    options = {"iterations": 5, "depth": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1} | options
    return library("catboost").CatBoostClassifier(**options).fit(X, Y)


def catboost_regressor():
    return library("catboost").CatBoostRegressor(iterations=5, depth=2, verbose=0, allow_writing_files=False).fit(X, Y)


def onnx(zipmap=False, type_=np.float32):
    library("onnxruntime")
    to_onnx = library("skl2onnx").to_onnx
    model = to_onnx(LogisticRegression().fit(X, Y), X[:1].astype(type_), options={"zipmap": zipmap})
    return lw.OnnxModel(model.SerializeToString())


def onnx_with_named_classes():
    return onnx(zipmap=True)


def onnx_in_double_precision():
    return onnx(type_=np.float64)


def scaled(build):
    """The model behind a scaler, in a pipeline of scikit-learn."""

    def pipeline(**options):
        return make_pipeline(StandardScaler(), clone(build(**options))).fit(X, Y)

    pipeline.__name__ = f"scaled_{build.__name__}"
    return pipeline


scaled_lightgbm, scaled_xgboost = scaled(lightgbm_classifier), scaled(xgboost_classifier)
SMALL = [lightgbm_classifier, lightgbm_booster, lightgbm_regressor, scaled_lightgbm, scaled(lightgbm_regressor)]
LARGE = [
    scaled_xgboost, scaled(xgboost_regressor), scaled(catboost_classifier), scaled(catboost_regressor),
    xgboost_classifier, xgboost_booster, xgboost_regressor, catboost_classifier, catboost_regressor, onnx,
    onnx_with_named_classes, onnx_in_double_precision,
]  # fmt: skip
MODELS = [*SMALL, *(pytest.param(build, marks=pytest.mark.slow) for build in LARGE)]


@pytest.mark.parametrize("build", MODELS)
def test_a_play_on_a_models_scores_is_saved_and_comes_back_with_the_model(build, tmp_path):
    model = build()
    F = lw.Thresholds.scores([model], X, cuts=8)
    auditor, people = lw.MetricAuditor("euclidean", alpha=0.2), lw.IID(X, Y, k=4)
    learner = lw.AdaHedge(F, k=4, alpha=0.2, T=60)
    t = lw.play(learner, people, auditor, T=40, seed=3)
    t.save(tmp_path / "play.npz")
    lw.save_models(F.models, tmp_path / "models.zip")
    again = lw.Transcript.load(tmp_path / "play.npz", models=tmp_path / "models.zip")
    np.testing.assert_array_equal(again.hypotheses.encode(X), F.encode(X))
    np.testing.assert_array_equal(again.average_policy.probability(X), t.average_policy.probability(X))
    np.testing.assert_array_equal(score(again.hypotheses.models[0], X), score(model, X))
    # The play goes on with the model from the file as it would have with the one in memory.
    learner_again = lw.AdaHedge(again.hypotheses, k=4, alpha=0.2, T=60)
    rest, rest_again = lw.play(learner, people, auditor, state=t), lw.play(learner_again, people, auditor, state=again)
    np.testing.assert_array_equal(rest_again.shown, rest.shown)
    assert "pickle" not in zipfile.ZipFile(tmp_path / "models.zip").read("models.json").decode()


@pytest.mark.parametrize("build", MODELS)
def test_a_fingerprint_survives_the_file_twice(build, tmp_path):
    model = build()
    once = lw.open_models(lw.save_models([model], tmp_path / "once.zip"))[0]
    twice = lw.open_models(lw.save_models([once], tmp_path / "twice.zip"))[0]
    assert fingerprint(model) == fingerprint(once) == fingerprint(twice)
    assert fingerprint(model) == fingerprint(model)


@pytest.mark.parametrize(
    ("build", "options"),
    [
        (lightgbm_classifier, {"num_leaves": 3}),
        (scaled_lightgbm, {"num_leaves": 3}),
        pytest.param(scaled_xgboost, {"learning_rate": 0.05}, marks=pytest.mark.slow),
        pytest.param(xgboost_classifier, {"learning_rate": 0.05}, marks=pytest.mark.slow),
        pytest.param(catboost_classifier, {"learning_rate": 0.05}, marks=pytest.mark.slow),
    ],
)
def test_another_model_of_the_same_type_is_refused(build, options):
    F = lw.Thresholds.scores([build()], X, cuts=4)
    other = build(**options)
    assert fingerprint(other) != fingerprint(F.models[0])
    with pytest.raises(ModelMismatch, match=r"`models\[0\]` must be the model this was saved with"):
        lw.hypotheses.from_dict(F.to_dict(), [other])


@pytest.mark.parametrize(
    "build",
    [
        lightgbm_classifier,
        *(pytest.param(b, marks=pytest.mark.slow) for b in (xgboost_classifier, catboost_classifier)),
    ],
)
def test_a_classifier_from_a_file_answers_as_a_hypothesis(build, tmp_path):
    F = lw.FiniteClass([build()])
    lw.save_models(F.models, tmp_path / "models.zip")
    again = lw.hypotheses.from_dict(F.to_dict(), tmp_path / "models.zip")
    np.testing.assert_array_equal(again.predict(X), F.predict(X))


def test_models_of_several_libraries_share_a_file_and_those_of_scikit_learn_share_their_parts(tmp_path):
    scaler = StandardScaler().fit(X)
    pipes = [make_pipeline(scaler, LogisticRegression(C=C).fit(scaler.transform(X), Y)) for C in (0.1, 1.0)]
    models = [pipes[0], lightgbm_classifier(), X[:5], pipes[1]]
    path = lw.save_models(models, tmp_path / "models.zip")
    assert sorted(zipfile.ZipFile(path).namelist()) == ["1.txt", "2.npy", "models.json", "models.skops"]
    again = lw.open_models(path)
    assert [fingerprint(model) for model in again] == [fingerprint(model) for model in models]
    assert again[0].steps[0][1] is again[3].steps[0][1]


def test_each_entry_of_the_file_opens_with_its_own_library(tmp_path):
    model = lightgbm_classifier()
    path = lw.save_models([model], tmp_path / "models.zip")
    text = zipfile.ZipFile(path).read("0.txt").decode()
    alone = library("lightgbm").Booster(model_str=text)
    np.testing.assert_array_equal(alone.predict(X), model.predict_proba(X)[:, 1])


def credit_rule(people):
    return people[:, 0] + people[:, 1]


def test_each_step_of_a_pipeline_has_the_format_of_its_own_library(tmp_path):
    path = lw.save_models([scaled_lightgbm()], tmp_path / "models.zip")
    with zipfile.ZipFile(path) as archive:
        ((scaler, kept), (model, booster)) = json.loads(archive.read("models.json"))["models"][0]["pipeline"]
        assert (scaler, kept) == ("standardscaler", {"file": "models.skops", "place": 0})
        assert (model, booster) == ("lgbmclassifier", {"file": "0.1.txt", "kind": "LGBMClassifier"})
        assert library("lightgbm").Booster(model_str=archive.read("0.1.txt").decode()).num_trees() == 5
    (again,) = lw.open_models(path)
    np.testing.assert_array_equal(again[:-1].transform(X), StandardScaler().fit_transform(X))
    with pytest.raises(NotSupported, match="can't be fitted again"):
        again.fit(X, Y)


def test_a_function_is_named_after_itself_and_refused_by_the_file_in_one_sentence(tmp_path):
    F = lw.Thresholds.scores([credit_rule], X, cuts=4)
    assert F.names == ["credit_rule"]
    t = lw.play(lw.AdaHedge(F, k=2, alpha=0.1), lw.IID(X, Y, k=2), lw.MetricAuditor("euclidean", 0.1), T=5)
    t.save(tmp_path / "play.npz")
    again = lw.Transcript.load(tmp_path / "play.npz", models=[credit_rule])
    np.testing.assert_array_equal(again.hypotheses.encode(X), F.encode(X))
    with pytest.raises(NotSupported, match=r"`models\[0\]` is the function `credit_rule` .* keep its source"):
        lw.save_models(F.models, tmp_path / "models.zip")
    assert not (tmp_path / "models.zip").exists()


class Custom(LogisticRegression):
    """An estimator that a file can't be trusted to name."""


def test_a_type_that_nobody_vouches_for_is_neither_written_nor_read(tmp_path):
    with pytest.raises(NotSupported, match=r"can't hold .*Custom.* give them again on loading"):
        lw.save_models([Custom().fit(X, Y)], tmp_path / "models.zip")
    around = VotingClassifier([("one", library("lightgbm").LGBMClassifier(n_estimators=2, verbose=-1))]).fit(X, Y)
    with pytest.raises(NotSupported, match="whole model of"):
        lw.save_models([around], tmp_path / "models.zip")
    assert fingerprint(around) == fingerprint(around)
    path = lw.save_models([lightgbm_classifier()], tmp_path / "models.zip")
    with zipfile.ZipFile(path) as archive:
        content = archive.read("0.txt")
    with zipfile.ZipFile(tmp_path / "forged.zip", "w") as archive:
        archive.writestr("0.txt", content)
        archive.writestr("models.json", json.dumps({"format": 1, "models": [{"file": "0.txt", "kind": "Dataset"}]}))
    with pytest.raises(InvalidParameter, match="of a known type"):
        lw.open_models(tmp_path / "forged.zip")


@pytest.mark.parametrize("content", [b"", b"nothing"])
def test_a_file_that_holds_no_models_is_refused(content, tmp_path):
    (tmp_path / "models.zip").write_bytes(content)
    with pytest.raises(ModelMismatch, match="`models` must be a file of models"):
        lw.open_models(tmp_path / "models.zip")
    with pytest.raises(ModelMismatch, match="`models` must be a file of models"):
        lw.open_models(tmp_path / "nowhere.zip")


def test_the_scores_that_a_file_may_hold_are_those_of_suggested_classes():
    kinds = (lw.classes.Additive, lw.classes.Average, lw.classes.Column, lw.classes.Smoother)
    kinds += (lw.classes.Anchors, lw.classes.Lipschitz, lw.classes.Reads, lw.classes.Term)
    assert {f"{kind.__module__}.{kind.__qualname__}" for kind in kinds} == SCORES


@pytest.mark.slow
def test_an_onnx_model_gives_the_probabilities_of_the_model_it_was_made_from():
    expected = LogisticRegression().fit(X, Y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(score(onnx(), X), expected, atol=1e-6)
    np.testing.assert_allclose(score(onnx(zipmap=True), X), expected, atol=1e-6)
    np.testing.assert_allclose(score(onnx(type_=np.float64), X), expected, atol=1e-6)


@pytest.mark.slow
def test_a_model_of_xgboost_stops_where_its_early_stopping_said(tmp_path):
    xgboost = library("xgboost")
    model = xgboost.XGBClassifier(n_estimators=60, early_stopping_rounds=2, n_jobs=1, learning_rate=0.9)
    model.fit(X[:300], Y[:300], eval_set=[(X[300:], Y[300:])], verbose=False)
    assert model.best_iteration < 50
    again = lw.open_models(lw.save_models([model], tmp_path / "models.zip"))[0]
    np.testing.assert_array_equal(score(again, X), score(model, X))
