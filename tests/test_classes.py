"""Classes that can be fair: what the scores promise, that nobody is scored by a model that saw them, and edge cases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

import likewise as lw
from likewise.classes import recipe
from likewise.classes.anchors import FEWEST, Lipschitz, centres_as_anchors, people_as_anchors
from likewise.classes.reads import Reads
from likewise.classes.scores import Additive, Smoother
from likewise.classes.suggest import _fitter, _sample
from likewise.classes.suggestion import TOGETHER, _even, _quantiles
from likewise.errors import InvalidParameter
from likewise.scoring import FinishedPolicy


def people(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, a view of two of their columns, and labels that depend on three."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(2)
    X[:, 3] = X[:, 3] > 0
    y = (X[:, 0] + X[:, 1] + X[:, 2] + rng.normal(size=n) > 0).astype(float)
    return X, X[:, [0, 3]] / 3, y


@pytest.fixture(scope="module")
def suggested() -> lw.classes.Suggestion:
    X, view, y = people()
    return lw.classes.suggest_scores(X, y, view)


def gentle(suggestion: lw.classes.Suggestion) -> list[Lipschitz]:
    return [score for score in suggestion.hypotheses.models or () if isinstance(score, Lipschitz)]


# Scores ---------------------------------------------------------------------------------------------------------


def test_gentle_policies_change_by_at_most_their_slope_on_people_they_never_saw(suggested):
    X, view, _ = people(150, seed=1)
    view = view * 3  # also far outside of where they were fitted
    apart = cdist(view, view, "cityblock")
    assert len(gentle(suggested)) == 10
    for score in gentle(suggested):
        p = score(lw.classes.stacked(X, view))
        assert (p >= 0).all()
        assert (p <= 1).all()
        assert (np.abs(p[:, None] - p) <= score.slope * apart + 1e-9).all()


def test_both_extensions_give_the_anchors_what_the_program_gave_them_and_the_lower_one_is_below(suggested):
    X, view, _ = people(100, seed=2)
    low, high = gentle(suggested)[:2]
    at_anchors = np.zeros((len(low.family), 6))
    at_anchors[:, list(low.columns)] = low.family.points
    for score in (low, high):
        np.testing.assert_allclose(score(at_anchors), score.values, atol=1e-8)
    stacked = lw.classes.stacked(X, view)
    assert (low(stacked) <= high(stacked) + 1e-9).all()


def test_the_policy_at_the_anchors_is_the_optimum_of_the_whole_program():
    X, view, y = people(60)
    sample = _sample(X, y, view, None, 0)
    anchors = people_as_anchors(sample.V, sample.view, 0)
    eta = np.random.default_rng(0).random(60)
    score = recipe.gentle_policies(sample, eta, anchors, _fitter(1, None))[2]
    assert (score.slope, "from 0.5" in score.name) == (1.0, True)
    costs = np.bincount(anchors.nearest(sample.V), 0.5 - eta, len(anchors))
    i, j = np.nonzero(~np.eye(len(anchors), dtype=bool))
    rows = np.zeros((len(i), len(anchors)))
    rows[np.arange(len(i)), i], rows[np.arange(len(i)), j] = 1, -1
    apart = cdist(anchors.points, anchors.points, "cityblock")[i, j]
    best = linprog(costs, A_ub=rows, b_ub=apart, bounds=(0, 1))
    assert costs @ score.values == pytest.approx(best.fun, abs=1e-7)


def test_scores_that_share_anchors_say_the_same_together_as_alone(suggested):
    X, view, _ = people(80, seed=3)
    stacked = lw.classes.stacked(X, view)
    together = suggested.hypotheses.score_columns(stacked)
    for j, score in enumerate(suggested.hypotheses.models):
        np.testing.assert_allclose(score(stacked), together[:, j], rtol=0, atol=1e-12)


def test_people_alike_are_averaged_within_0_and_1_and_depend_on_the_view_alone(suggested):
    (alike,) = (score for score in suggested.hypotheses.models if score.name == "people alike")
    X, view, _ = people(100, seed=4)
    values = alike(lw.classes.stacked(X, 20 * view))
    assert values.min() >= 0
    assert values.max() <= 1
    np.testing.assert_array_equal(values, alike(lw.classes.stacked(-X, 20 * view)))


def test_nobody_is_scored_by_a_model_that_saw_their_label(monkeypatch):
    X, view, y = people(120)
    sample = _sample(X, y, view, None, 0)
    splits = list(recipe._splits(sample))
    assert sorted(np.concatenate([test for _, test in splits]).tolist()) == list(range(120))
    monkeypatch.setattr(recipe, "_splits", lambda sample: iter(splits))
    _, s = recipe.all_columns(sample, _fitter(1, None))
    train, test = splits[0]
    other = y.copy()
    other[test] = 1 - y[test]
    _, again = recipe.all_columns(_sample(X, other, view, None, 0), _fitter(1, None))
    np.testing.assert_array_equal(again[test], s[test])
    assert (again[train] != s[train]).any()


def test_a_smoother_is_the_weighted_mean_and_stays_one_far_from_everybody():
    rng = np.random.default_rng(0)
    points, counts, values = rng.random((7, 2)), rng.integers(1, 5, 7).astype(float), rng.random(7)
    smoother, V = Smoother(points, counts, values, 0.3), rng.random((5, 2))
    weights = np.exp(-cdist(V, points, "cityblock") / 0.3) * counts
    np.testing.assert_allclose(smoother(V), weights @ values / weights.sum(axis=1))
    far = smoother(np.array([[1e4, 1e4]]))
    assert values.min() <= far[0] <= values.max()


def test_curves_are_those_of_scikit_learn_and_flat_outside():
    from sklearn.preprocessing import SplineTransformer

    rng = np.random.default_rng(0)
    V = np.column_stack([rng.random(80), rng.integers(0, 3, 80)])
    additive = Additive.fit(V, (V[:, 0] > rng.random(80)).astype(float))
    splines = SplineTransformer(5, knots="quantile", extrapolation="constant").fit(V[:, :1])
    # The two bases differ in their outer knots, but span the same curves.
    basis, theirs = additive.basis(V)[:, :-1], splines.transform(V[:, :1])
    fit = np.linalg.lstsq(basis, theirs, rcond=None)[0]
    np.testing.assert_allclose(basis @ fit, theirs, atol=1e-9)
    edge, beyond = additive(np.array([[V[:, 0].max(), 1.0]])), additive(np.array([[9.0, 1.0]]))
    assert edge == beyond


# Anchors and cuts -----------------------------------------------------------------------------------------------


def test_centres_stand_for_five_people_or_more_and_are_nobodys_row():
    V = np.random.default_rng(0).normal(size=(300, 3))
    centres = centres_as_anchors(V, Reads((0, 1, 2)), 0)
    assert 1 < len(centres) <= 30
    assert cdist(V, centres.points).min() > 1e-6
    # Lloyd's last step may still move somebody who is half way between two centres.
    assert np.bincount(centres.nearest(V)).min() >= FEWEST - 2


def test_with_centres_no_row_of_the_view_is_in_the_class():
    X, view, y = people(200)
    suggestion = lw.classes.suggest_scores(X, y, view, anchors="centres")
    rows = {tuple(row) for row in view.tolist()}
    assert not any(tuple(point) in rows for point in gentle(suggestion)[0].family.points.tolist())
    assert "no single person" in suggestion.datasheet
    assert "of up to 2,000 people" in lw.classes.suggest_scores(X, y, view, small=True).datasheet


def test_even_cuts_mixed_equally_are_the_score_itself_up_to_a_step():
    values = np.random.default_rng(0).random(500)
    cuts = _even(values, 24)
    steps = (values[:, None] >= cuts).mean(axis=1)
    low, high = values.min(), values.max()
    assert np.abs(low + (high - low) * steps - values).max() <= (high - low) / 48 + 1e-12
    assert len(_even(np.ones(5), 24)) == 0


def test_no_cut_is_where_rounding_could_move_somebody_across_it():
    values = np.repeat(np.random.default_rng(0).random(60), 2)
    values[::2] += 1e-15
    cuts = _quantiles(values, 24)
    assert len(cuts) == 24
    assert np.abs(values[:, None] - cuts).min() > TOGETHER
    assert _quantiles(np.array([0.0] * 99 + [1.0]), 24).tolist() == [0.5]  # a rare indicator is cut all the same
    assert len(_quantiles(np.ones(9), 24)) == 0


# The whole class ------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_class_however_many_models_are_fitted_at_once():
    X, view, y = people()
    first, second = (lw.classes.suggest_scores(X, y, view, jobs=jobs).hypotheses for jobs in (1, 3))
    assert first.to_dict() == second.to_dict()
    stacked = lw.classes.stacked(X, view)
    np.testing.assert_array_equal(first.score_columns(stacked), second.score_columns(stacked))
    other = lw.classes.suggest_scores(X, y, view, seed=1).hypotheses
    assert other.to_dict()["models"][0] != first.to_dict()["models"][0]


def test_the_class_holds_a_policy_that_is_nearly_the_best_of_any_kind():
    X, view, y = people(400)
    suggestion = lw.classes.suggest_scores(X, y, view)
    environment = lw.IID(lw.classes.stacked(X, view), y, k=5, view=view)
    learner = lw.AdaHedge(suggestion.hypotheses, k=5, T=100, alpha=0.1)
    t = lw.play(learner, environment, lw.MetricAuditor("cityblock", 0.1), 100)
    six = lw.Thresholds.quantiles(lw.classes.stacked(X, view), cuts=24)
    columns = lw.play(lw.AdaHedge(six, k=5, T=100, alpha=0.1), environment, lw.MetricAuditor("cityblock", 0.1), 100)
    ours, theirs = (lw.best_in_hindsight(play, "cityblock", 0.1).error for play in (t, columns))
    assert ours < theirs


def test_contributions_are_least_errors_of_smaller_classes():
    X, view, y = people(200)
    suggestion = lw.classes.suggest_scores(X, y, view)
    environment = lw.IID(lw.classes.stacked(X, view), y, k=4, view=view)
    learner = lw.AdaHedge(suggestion.hypotheses, k=4, T=60, alpha=0.1)
    t = lw.play(learner, environment, lw.MetricAuditor("cityblock", 0.1), 60)
    table = lw.classes.contributions(t, suggestion, "cityblock", 0.1)
    whole = lw.best_in_hindsight(t, "cityblock", 0.1).error / len(t.y)
    assert table.lines[-1].so_far == pytest.approx(whole, abs=1e-7)
    assert table.lines[-1].hypotheses == suggestion.hypotheses.size
    assert table.constant == pytest.approx(min(t.y.mean(), 1 - t.y.mean()))
    so_far = [line.so_far for line in table.lines]
    assert so_far == sorted(so_far, reverse=True)
    for line in table.lines:
        assert whole - 1e-7 <= line.without <= table.constant + 1e-9
        assert line.so_far <= table.constant + 1e-9
    # A part left out is the class without it, built by hand.
    smaller = suggestion.without("gentle policies")
    play = lw.play(lw.AdaHedge(smaller, k=4, T=60, alpha=0.1), environment, lw.MetricAuditor("cityblock", 0.1), 60)
    np.testing.assert_array_equal(play.y, t.y)
    least = lw.best_in_hindsight(play, "cityblock", 0.1).error / len(t.y)
    (left_out,) = (line.without for line in table.lines if line.part == "gentle policies")
    assert left_out == pytest.approx(least, abs=1e-7)
    assert str(table).count("\n") == 6


def test_small_and_unknown_views_have_the_parts_they_promise():
    X, view, y = people()
    names = {
        "small": lw.classes.suggest_scores(X, y, view, small=True),
        "unknown": lw.classes.suggest_scores(X, y),
    }
    assert [part.name for part in names["small"].parts] == ["all columns", "gentle policies"]
    assert {score.slope for score in gentle(names["small"])} == {1.0}
    assert [part.name for part in names["unknown"].parts] == ["all columns", "similar columns", "single columns"]
    assert "Nobody said" in names["unknown"].datasheet
    assert "label of up to" in names["unknown"].datasheet
    assert "label of up to" in lw.classes.suggest_scores(X, y, small=True).datasheet, "its neighbours are people"
    without = lw.classes.suggest_scores(X, y, anchors="centres")
    assert "no row of any single person" in without.datasheet
    rows = {tuple(row) for row in X.tolist()}
    for score in without.hypotheses.models:
        for model in getattr(score, "models", ()):
            points = getattr(getattr(model, "steps", [(0, None)])[0][1], "components_", np.empty((0, 4)))
            assert not any(tuple(point) in rows for point in points.tolist())
    for suggestion in names.values():
        positions = [j for part in suggestion.parts for j in part.scores]
        assert positions == list(range(len(suggestion.hypotheses.cuts)))


def test_progress_counts_every_model_up_to_what_was_announced():
    X, view, y = people(100)
    for given, small in ((view, False), (view, True), (None, False)):
        counts: list[int] = []
        lw.classes.suggest_scores(X, y, given, small=small, progress=counts.append)
        assert counts == list(range(1, lw.classes.models_to_fit(given is not None, small) + 1))


# Saved ----------------------------------------------------------------------------------------------------------


def test_a_saved_policy_on_a_suggested_class_scores_new_people_as_before(tmp_path):
    from skops.io import dump

    data = lw.datasets.synthetic(700)
    suggestion = lw.classes.suggest_for(data, range(300))
    F = suggestion.hypotheses
    weights = np.random.default_rng(0).dirichlet(np.ones(F.size))
    policy = FinishedPolicy(lw.Mixture(F, weights), suggestion.encoder)
    policy.save(tmp_path / "policy.json")
    dump(list(F.models), tmp_path / "models.skops")
    loaded = FinishedPolicy.load(tmp_path / "policy.json", tmp_path / "models.skops")
    strangers = data.people.iloc[300:]
    np.testing.assert_array_equal(loaded.probability(strangers), policy.probability(strangers))
    np.testing.assert_array_equal(loaded.hypotheses.encode(data.features[300:]), suggestion.encode(strangers))
    rows = suggestion.encode(strangers)
    for start in range(0, 400, 50):  # a few or all at once: nobody is moved across a cut
        np.testing.assert_array_equal(suggestion.encode(strangers.iloc[start : start + 3]), rows[start : start + 3])
    for score, other in zip(F.models, loaded.hypotheses.models, strict=True):
        assert (score.name, score.described, score.columns) == (other.name, other.described, other.columns)


def test_a_file_of_models_may_hold_only_the_types_of_scores(tmp_path):
    from skops.io import dump

    dump([lw.classes.suggest], tmp_path / "models.skops")
    with pytest.raises(InvalidParameter, match="`models` must hold models of scikit-learn"):
        lw.open_models(tmp_path / "models.skops")


def test_a_saved_file_holds_no_label_of_an_anchor(tmp_path):
    X, view, y = people(120)
    sample = _sample(X, y, view, None, 0)
    anchors = people_as_anchors(sample.V, sample.view, 0)
    eta = np.full(120, 0.7)
    values = [score.values for score in recipe.gentle_policies(sample, eta, anchors, _fitter(1, None))]
    flipped = recipe.gentle_policies(_sample(X, 1 - y, view, None, 0), eta, anchors, _fitter(1, None))
    for value, score in zip(values, flipped, strict=True):
        np.testing.assert_array_equal(value, score.values)


# The view from encoded columns -----------------------------------------------------------------------------------


def mixed_people(n: int, seed: int, levels: str = "abcd") -> pd.DataFrame:
    """Numbers, one of them with missing values, and a category with missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(18, 70, n), "home": rng.choice(list(levels), n), "income": rng.random(n)})
    frame.loc[rng.random(n) < 0.2, "income"] = np.nan
    frame["home"] = frame["home"].where(rng.random(n) > 0.2, None)
    return frame


def test_the_view_follows_from_the_encoded_columns():
    frame = mixed_people(60, 0)
    encoder, comparison = lw.datasets.Encoder.fit(frame), lw.datasets.Comparison.fit(frame, ["home", "income", "age"])
    reads = lw.classes.view_from(encoder, comparison)
    for people in (frame, mixed_people(40, 1)):
        np.testing.assert_allclose(reads.of(encoder.transform(people)), comparison.transform(people), atol=1e-12)
    two = reads.only([0, 3])
    np.testing.assert_array_equal(two.of(encoder.transform(frame)), reads.of(encoder.transform(frame))[:, [0, 3]])
    assert set(two.columns) < set(reads.columns)


def test_what_the_encoder_never_met_is_no_further_apart_than_by_the_comparison():
    everybody = pd.concat([mixed_people(50, 0), mixed_people(50, 1, "abcdefgh")], ignore_index=True)
    comparison = lw.datasets.Comparison.fit(everybody, ["home", "income", "age"])
    known = everybody.dropna().iloc[:20]  # without missing values, and with few levels
    encoder = lw.datasets.Encoder.fit(known)
    view = lw.classes.view_from(encoder, comparison).of(encoder.transform(everybody))
    assert (cdist(view, view, "cityblock") <= comparison(comparison.transform(everybody)) + 1e-9).all()


def test_a_column_that_the_encoder_left_out_is_the_same_for_everybody():
    frame = mixed_people(30, 0).assign(flat=1.0, only="x")
    encoder = lw.datasets.Encoder.fit(frame)
    comparison = lw.datasets.Comparison.fit(frame, ["flat", "only", "age"])
    view = lw.classes.view_from(encoder, comparison).of(encoder.transform(frame))
    np.testing.assert_allclose(view, comparison.transform(frame), atol=1e-12)


@pytest.mark.parametrize("where", ["encoder", "comparison"])
def test_a_column_must_be_of_one_kind_to_both(where):
    frame = mixed_people(30, 0)
    categories = {"encoder": (), "comparison": (), where: ["age"]}
    encoder = lw.datasets.Encoder.fit(frame, categories=categories["encoder"])
    comparison = lw.datasets.Comparison.fit(frame, ["age"], categories=categories["comparison"])
    with pytest.raises(InvalidParameter, match="`encoder` must take 'age' for a"):
        lw.classes.view_from(encoder, comparison)


# Edge cases -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [6, 30, 60, 150])
def test_few_people_get_a_class_and_a_note(n):
    X, view, y = people(n)
    y[:3], y[3:6] = 0, 1
    suggestion = lw.classes.suggest_scores(X, y, view)
    assert suggestion.hypotheses.size > 2
    assert "too few to hold some out" in suggestion.datasheet if n < 50 else "are few" in suggestion.datasheet
    rows = suggestion.hypotheses.encode(lw.classes.stacked(X, view))
    assert rows.shape == (n, len(suggestion.hypotheses.cuts))


def test_a_constant_view_is_ignored_and_the_class_says_so():
    X, view, y = people(100)
    suggestion = lw.classes.suggest_scores(X, y, np.ones((100, 2)))
    assert "looks the same" in suggestion.datasheet
    assert gentle(suggestion) == []
    assert suggestion.hypotheses.encode(lw.classes.stacked(X, np.ones((100, 2)))).shape[0] == 100
    one_column = lw.classes.suggest_scores(X, y, np.column_stack([np.ones(100), view[:, 0]]))
    assert {score.columns for score in gentle(one_column)} == {(5,)}


def test_one_label_only_leaves_the_single_columns():
    X, view, y = people(100)
    suggestion = lw.classes.suggest_scores(X, np.ones(100), view)
    assert [part.name for part in suggestion.parts] == ["single columns"]
    (note,) = suggestion.notes
    assert "the same label" in note
    lonely = y * 0
    lonely[5] = 1  # one person alone can't be in two folds
    (rough, few) = lw.classes.suggest_scores(X, lonely, view).notes
    assert rough.startswith("Of 100 people only one has the label 1, and ")
    assert "too few" not in rough
    assert few.startswith("100 people are few")
    assert "only one has the label 0" in lw.classes.suggest_scores(X, 1 - lonely, view).datasheet


def test_people_without_a_label_are_left_out():
    X, view, y = people(150)
    y[::3] = np.nan
    known = np.isfinite(y)
    whole = lw.classes.suggest_scores(X, y, view)
    part = lw.classes.suggest_scores(X[known], y[known], view[known])
    assert whole.people == 100
    assert whole.hypotheses.to_dict() == part.hypotheses.to_dict()


def test_categories_and_missing_values_in_the_view():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": rng.normal(size=120).round(1), "home": rng.choice(["own", "rent", "boat"], 120)})
    frame.loc[::7, "income"] = np.nan
    y = (frame["home"] == "own").to_numpy(dtype=float)
    suggestion = lw.classes.suggest(frame, y, compare_by=["home", "income"])
    strangers = pd.DataFrame({"home": ["tent", None], "income": [99.0, np.nan]})
    probabilities = suggestion.hypotheses.probability(
        np.full(suggestion.hypotheses.size, 1 / suggestion.hypotheses.size), suggestion.encode(strangers)
    )
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    unknown = lw.classes.suggest(frame, y)
    assert unknown.encode(strangers).shape == (2, len(unknown.hypotheses.cuts))


def test_a_data_set_with_a_distance_of_its_own_is_compared_by_its_columns_as_a_guess():
    frame = lw.datasets.synthetic(200).people.assign(label=lw.datasets.synthetic(200).y)
    by = list(lw.datasets.synthetic(200).compare_by)
    data = lw.datasets.from_frame(
        frame, label="label", compare_by=by, distance=lambda view: np.zeros((len(view), len(view)))
    )
    suggestion = lw.classes.suggest_for(data, small=True)
    read = {data.encoder.names[j].split(" = ")[0] for j in gentle(suggestion)[0].columns}
    assert read == set(data.compare_by)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"y": np.full(50, np.nan)}, "`y` must hold at least one label, got 'none'"),
        ({"y": np.full(50, 2.0)}, "`y` must hold labels 0 and 1, or NaN"),
        ({"y": np.ones(3)}, "`y` must hold a label for each of 50 people"),
        ({"view": np.ones((3, 1))}, "`view` must have a row for each of 50 people"),
        ({"anchors": "trees"}, '`anchors` must be "people" or "centres"'),
        ({"cuts": 0}, "`cuts` must be a whole number"),
        ({"jobs": 0}, "`jobs` must be a whole number"),
        ({"names": ["a"]}, "`names` must name 4 columns"),
    ],
)
def test_bad_arguments_get_one_sentence(arguments, sentence):
    X, view, y = people(50)
    with pytest.raises(InvalidParameter, match=sentence):
        lw.classes.suggest_scores(**{"features": X, "y": y, "view": view} | arguments)


def test_a_class_for_arrays_encodes_no_table_and_has_no_unknown_parts(suggested):
    with pytest.raises(InvalidParameter, match="`people` must be encoded by whoever"):
        suggested.encode(pd.DataFrame())
    with pytest.raises(InvalidParameter, match="`names` must be among the parts"):
        suggested.without("trees")
    with pytest.raises(InvalidParameter, match="`names` must leave at least one part"):
        suggested.without(*(part.name for part in suggested.parts))


def test_anchors_are_capped_and_everybody_counts_at_the_nearest(monkeypatch):
    monkeypatch.setattr("likewise.classes.anchors.MOST_ANCHORS", 40)
    V = np.random.default_rng(0).random((200, 2))
    anchors = people_as_anchors(V, Reads((0, 1)), 0)
    assert len(anchors) == 40
    np.testing.assert_array_equal(anchors.nearest(V), cdist(V, anchors.points, "cityblock").argmin(axis=1))
