"""A class as plain numbers: the scores of the fitted models, with the same bits in any batch, after any storage."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.special import expit

import likewise as lw
from likewise.classes import plain
from likewise.classes.program import FAR, ScoreProgram
from likewise.classes.writing import written
from likewise.errors import InvalidParameter, NotSupported

COLUMNS = [{"feature": f"x{j}", "centre": 0.0, "spread": 1.0} for j in range(5)]


def people(X):
    return [{f"x{j}": float(x) for j, x in enumerate(row)} for row in X]


def drawn(n, seed=0):
    """Numbers, one of them with few values, and labels that go with some of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 3] = rng.integers(0, 3, n)
    return X, (X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(float)


@pytest.fixture(scope="module", params=["view", "no view", "few people"])
def fitted(request):
    X, y = drawn(40 if request.param == "few people" else 400)
    reads = lw.classes.Reads((0, 3), (lw.classes.Term(0, 0, 0.3), lw.classes.Term(3, 1, 0.2)), np.array([0.1, 0.0]))
    view = None if request.param == "no view" else reads
    return lw.classes.suggest_scores(X, y, view, anchors="centres")


@pytest.fixture(scope="module")
def program(fitted):
    return ScoreProgram(json.loads(json.dumps(written(fitted, COLUMNS))))


def test_the_scores_are_those_of_the_fitted_models(fitted, program):
    """Also far from everybody, and at the people themselves, where trees and splines have their edges.

    Radial functions overlap, so their weights are large and cancel: there scikit-learn's own rounding is larger, but
    below what two scores that count as different are apart.
    """
    X = np.vstack([drawn(400)[0], drawn(300, seed=1)[0], 8 * drawn(50, seed=2)[0], np.zeros((1, 5))])
    models, numbers = fitted.hypotheses.score_columns(X), program.scores(people(X))
    radial = np.array(["radial" in str(score.get("models")) for score in program.data["scores"]])
    assert np.abs(models - numbers)[:, ~radial].max() <= 1e-12
    assert np.abs(models - numbers)[:, radial].max() <= 1e-9
    assert [len(cuts) for cuts in program.cuts] == [len(cuts) for cuts in fitted.hypotheses.cuts]


def test_every_kind_of_model_is_there():
    X, y = drawn(400)
    data = written(lw.classes.suggest_scores(X, y, lw.classes.Reads((0, 3)), anchors="centres"), COLUMNS)
    models = [model["kind"] for score in data["scores"] for model in score.get("models", ())]
    assert set(models) == set(plain.KINDS)
    assert {score["kind"] for score in data["scores"]} == {"average", "gentle", "column"}


def test_somebody_has_the_same_bits_alone_and_in_any_batch(program):
    everybody = people(drawn(64, seed=3)[0])
    together = program.scores(everybody)
    alone = np.vstack([program.scores([person]) for person in everybody])
    backwards = program.scores(everybody[::-1])[::-1]
    assert together.tobytes() == alone.tobytes() == np.ascontiguousarray(backwards).tobytes()


def test_a_suggestion_is_written_down_in_the_same_way_twice(fitted):
    assert json.dumps(written(fitted, COLUMNS)) == json.dumps(written(fitted, COLUMNS))


def test_no_row_of_anybody_is_in_it():
    """Columns of continuous values: a row, or a value of the view, would be recognised."""
    X, y = drawn(400)
    data = written(lw.classes.suggest_scores(X, y, lw.classes.Reads((0, 1)), anchors="centres"), COLUMNS)
    rows = {tuple(row) for row in X[:, [0, 1]].tolist()}
    held = [tuple(point) for table in data["points"] for point in table]
    assert held
    assert not rows & set(held)
    assert "no single person" in data["holds"][0]


def test_the_class_says_what_it_is_made_of(fitted, program):
    parts = program.made_of()
    assert [part.name for part in parts] == [part.name for part in fitted.parts]
    assert sum(part.cuts for part in parts) == sum(len(cuts) for cuts in fitted.hypotheses.cuts)
    by_name = {part.name: part.features for part in parts}
    assert by_name["all columns"] == [f"x{j}" for j in range(5)]
    assert by_name.get("gentle policies", ["x0", "x3"]) == ["x0", "x3"]


def test_categories_and_far_away_numbers():
    column = {"name": "a", "described": "a", "reads": 0, "cuts": [], "kind": "column"}
    columns = [{"feature": "pay", "centre": 1.0, "spread": 2.0}, {"feature": "home", "level": "own"}]
    data = {"format": 1, "columns": columns, "reads": [{"columns": [0]}, {"columns": [1]}], "points": []}
    data |= {"scores": [column, column | {"reads": 1}], "parts": []}
    scores = ScoreProgram(data).scores(
        [{"pay": 5.0, "home": "own"}, {"pay": 1e300, "home": "rent"}, {"pay": -1e300, "home": "boat"}]
    )
    assert scores.tolist() == [[2.0, 1.0], [FAR, 0.0], [-FAR, 0.0]]
    with pytest.raises(InvalidParameter, match="`scores` must have format 1, got 2"):
        ScoreProgram(data | {"format": 2})


def test_nearest_neighbours_hold_people_and_are_refused():
    X, y = drawn(80)
    with pytest.raises(NotSupported, match="KNeighborsRegressor can't be written as plain numbers"):
        written(lw.classes.suggest_scores(X, y), COLUMNS)


def test_the_exponential_is_right_to_two_units_in_the_last_place():
    x = np.concatenate([np.linspace(-680, 680, 20_001), np.linspace(-1, 1, 5001), [0.0, -0.0, 5e-324]])
    exact = np.array([math.exp(value) for value in x])
    assert (np.abs(plain.exponential(x) - exact) <= 2 * np.spacing(exact)).all()
    assert plain.exponential([-1e300, 1e300]).tolist() == plain.exponential([-680.0, 680.0]).tolist()
    assert np.allclose(plain.logistic(x), expit(x), rtol=0, atol=1e-15)


def test_sums_go_from_left_to_right_whatever_the_shape():
    """NumPy's own sum doesn't: it adds in pairs where a row is long."""
    terms = np.random.default_rng(0).normal(size=(3, 1000)) * 10.0 ** np.arange(3)[:, None]
    for row, total in zip(terms, plain.total(terms), strict=True):
        left = 0.0
        for term in row.tolist():
            left += term
        assert total == left == plain.total(row[None])[0]


# The same in Python's own floats: if every bit agrees, no bit depends on how NumPy was compiled ---------------------


def exponential(x):
    x = min(max(x, -680.0), 680.0)
    n = round(x * 1.4426950408889634)
    r = (x - n * plain.LN2_HIGH) - n * plain.LN2_LOW
    total = plain.TAYLOR[0]
    for coefficient in plain.TAYLOR[1:]:
        total = total * r + coefficient
    return math.ldexp(total, n)


def logistic(x):
    return 1.0 / (1.0 + exponential(-x))


def added(terms, start=None):
    """From left to right; Python's own sum makes up for rounding since 3.12."""
    total, *rest = terms if start is None else [start, *terms]
    for term in rest:
        total += term
    return total


def apart(v, c, squared=False):
    steps = [a - b for a, b in zip(v, c, strict=True)]
    return added([step * step if squared else abs(step) for step in steps], 0.0)


def leaf(tree, v):
    while isinstance(tree, list):
        tree = tree[2] if v[tree[0]] <= tree[1] else tree[3]
    return tree


def by_hand(model, v, points):
    """One person's score by a model; curves are left to SciPy, above."""
    near = [points[model["points"]][row] for row in model.get("rows", ())]
    if model["kind"] == "linear":
        return logistic(added([a * w for a, w in zip(v, model["weights"], strict=True)]) + model["start"])
    if model["kind"] == "trees":
        score = added([leaf(tree, v) for tree in model["trees"]], model["start"])
        return logistic(score) if model["logistic"] else score
    if model["kind"] == "radial":
        terms = [
            exponential(-model["gamma"] * apart(v, c, squared=True)) * w
            for c, w in zip(near, model["weights"], strict=True)
        ]
        return added(terms) + model["start"]
    far = [apart(v, c) for c in near]
    weights = [exponential((min(far) - d) / model["bandwidth"]) * n for d, n in zip(far, model["counts"], strict=True)]
    return added([w * value for w, value in zip(weights, model["values"], strict=True)]) / added(weights)


def test_every_bit_is_that_of_plain_arithmetic(program):
    data, everybody = program.data, people(drawn(20, seed=4)[0])
    X, scores = program.encoded(everybody), program.scores(everybody)
    compared = set()
    for j, score in enumerate(data["scores"]):
        models = score.get("models", ())
        if not models or models[0]["kind"] == "curves":
            continue
        for i, v in enumerate(program._reads[score["reads"]].of(X).tolist()):
            expected = added([by_hand(model, v, data["points"]) for model in models], 0.0) / len(models)
            assert scores[i, j] == min(max(expected, 0.0), 1.0), score["name"]
        compared |= {model["kind"] for model in models}
    assert {"linear", "radial"} <= compared
