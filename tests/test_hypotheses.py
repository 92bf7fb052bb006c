"""Classes of hypotheses: every oracle equals brute force over the listed class."""

import functools
import itertools
import json
import math

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import likewise as lw
from likewise.errors import InvalidParameter, ModelMismatch, NotSupported
from likewise.hypotheses import Cube, Simplex, enumerable, fingerprint, from_dict
from likewise.hypotheses.base import FEW_ROWS, binned_sums


def made_up():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(40, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)


X, Y = made_up()
NAMED = pd.DataFrame(X, columns=["age", "hours", "debt"])
LOGISTIC = LogisticRegression().fit(X, Y)
PERCEPTRON = Perceptron(random_state=0).fit(X, Y)
TREE = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0).fit(X, Y)


def first_positive(X):
    return np.asarray(X)[:, 0] > 0


def second_negative(X):
    return (np.asarray(X)[:, 1] < 0).astype(float)


def passes(X, cut):
    return np.asarray(X)[:, 0] >= cut


def sign_pattern(X):
    """One of eight cells: the signs of three features."""
    return (np.asarray(X)[:, :3] > 0) @ np.array([1, 2, 4])


def cut_table(columns, cuts):
    """Constants, then 1[x >= c] by column and cut, then 1[x < c]: the definition, hypothesis by hypothesis."""
    above = [values >= c for values, column in zip(columns, cuts, strict=True) for c in column]
    people = len(columns[0])
    return np.array([np.zeros(people), np.ones(people), *above, *[~row for row in above]], dtype=int)


def cell_table(cells, m):
    """Every labelling of m cells; the c-th bit of h is what hypothesis h says of cell c."""
    return np.array([[(h >> int(c)) & 1 for c in cells] for h in range(2**m)])


def listed(*rows):
    return np.array([np.asarray(row, dtype=int) for row in rows])


def thresholds_case(cuts):
    return lw.Thresholds(cuts), X, cut_table(X.T, cuts)


def quantiles_case():
    F = lw.Thresholds.quantiles(X, cuts=4)
    return F, X, cut_table(X.T, F.cuts)


def scores_case():
    F = lw.Thresholds.scores([LOGISTIC, PERCEPTRON, lambda X: X[:, 2]], X, cuts=3)
    scores = [LOGISTIC.predict_proba(X)[:, 1], PERCEPTRON.decision_function(X), X[:, 2]]
    return F, X, cut_table(scores, F.cuts)


def reordered_case():
    F = lw.Thresholds.quantiles(NAMED, cuts=3)
    return F, NAMED.assign(town="x")[["debt", "town", "hours", "age"]], cut_table(X.T, F.cuts)


def grid_case(table):
    F = lw.Cells.grid(table, bins=[2, 4], features=list(pd.DataFrame(table).columns[[2, 0]]))
    debt, age = F.assign.cuts
    cells = [(v[2] >= debt).sum() * (len(age) + 1) + (v[0] >= age).sum() for v in X]
    return F, table, cell_table(cells, 8)


def tree_case():
    leaves = TREE.apply(X)
    return lw.Cells.tree(TREE), X, cell_table([sorted(set(leaves)).index(leaf) for leaf in leaves], 5)


CASES = {
    "finite, callables": lambda: (
        lw.FiniteClass([first_positive, second_negative]),
        X,
        listed(np.zeros(40), np.ones(40), X[:, 0] > 0, X[:, 1] < 0),
    ),
    "finite, one constant and a model": lambda: (
        lw.FiniteClass([LOGISTIC, first_positive], constants=[1]),
        X,
        listed(np.ones(40), LOGISTIC.predict(X), X[:, 0] > 0),
    ),
    "thresholds at quantiles": quantiles_case,
    "thresholds on scores": scores_case,
    "thresholds, unequal counts of cuts": lambda: thresholds_case([[0.0], [-1.0, 0.2, 0.9], [-0.3, 0.3]]),
    "thresholds, a column without cuts": lambda: thresholds_case([[-0.5, 0.5], [], [0.1]]),
    "thresholds, no cuts at all": lambda: thresholds_case([[], [], []]),
    "thresholds, cuts that are values of people": lambda: thresholds_case([np.sort(X[:5, 0]), [], [X[3, 2]]]),
    "thresholds, columns in another order": reordered_case,
    "cells of a grid": lambda: grid_case(X),
    "cells of a grid with names": lambda: grid_case(NAMED),
    "cells of a tree": tree_case,
    "cells of a rule": lambda: (lw.Cells(sign_pattern, m=8), X, cell_table(sign_pattern(X), 8)),
}


@pytest.fixture(params=CASES, scope="module")
def case(request):
    return CASES[request.param]()


def coordinates_of_hypotheses(geometry):
    """(N, dim): each hypothesis as a weight vector."""
    if isinstance(geometry, Simplex):
        return np.eye(geometry.dim)
    return np.array([[(h >> c) & 1 for c in range(geometry.dim)] for h in range(2**geometry.dim)], dtype=float)


def distribution(geometry, weights):
    """The probability of every listed hypothesis under a weight vector."""
    if isinstance(geometry, Simplex):
        return weights
    labels = coordinates_of_hypotheses(geometry)
    return np.where(labels == 1, weights, 1 - weights).prod(axis=1)


# Oracles against brute force ----------------------------------------------------------------------------------


def test_predictions_are_the_definition_hypothesis_by_hypothesis(case):
    F, people, table = case
    np.testing.assert_array_equal(F.predict(people), table)


def test_size_and_its_logarithm_count_the_listed_hypotheses(case):
    F, _, table = case
    assert F.size == len(table)
    assert F.log_size == pytest.approx(math.log(len(table)))


def test_declared_constants_are_in_the_class(case):
    F, _, table = case
    found = {tuple(row) for row in table.tolist()}
    assert F.constants
    assert all((value,) * table.shape[1] in found for value in F.constants)


def test_losses_are_the_weighted_sums_of_every_hypothesis(case):
    F, people, table = case
    s = np.random.default_rng(1).normal(size=len(people))
    losses = F.losses(F.encode(people), s)
    np.testing.assert_allclose(coordinates_of_hypotheses(F.geometry) @ losses, table @ s, atol=1e-12)


def test_losses_of_many_perturbations_are_those_of_each(case):
    F, people, table = case
    s = np.random.default_rng(2).normal(size=(6, len(people)))
    losses = F.losses(F.encode(people), s)
    assert losses.shape == (6, F.geometry.dim)
    np.testing.assert_allclose(losses @ coordinates_of_hypotheses(F.geometry).T, s @ table.T, atol=1e-12)


def test_probability_is_the_mixture_of_predictions(case):
    F, people, table = case
    rng = np.random.default_rng(3)
    simplex = isinstance(F.geometry, Simplex)
    weights = rng.dirichlet(np.ones(F.geometry.dim)) if simplex else rng.random(F.geometry.dim)
    expected = distribution(F.geometry, weights) @ table
    np.testing.assert_allclose(F.probability(weights, F.encode(people)), expected, atol=1e-12)


def test_minimisers_reach_the_smallest_perturbed_loss_and_are_the_first_that_do(case):
    F, people, table = case
    rng = np.random.default_rng(4)
    s = rng.integers(-2, 3, size=(30, len(people))).astype(float)  # whole numbers: ties happen, sums are exact
    losses = rng.integers(-2, 3, size=F.geometry.dim).astype(float)
    perturbed = coordinates_of_hypotheses(F.geometry) @ losses + s @ table.T
    found = F.minimisers(losses, F.encode(people), s)
    if isinstance(F.geometry, Cube):
        found = found @ (1 << np.arange(F.geometry.dim))
    np.testing.assert_array_equal(found, perturbed.argmin(axis=1))


def test_working_in_small_blocks_changes_nothing(case, monkeypatch):
    F, people, _ = case
    rows, s = F.encode(people), np.random.default_rng(5).normal(size=(9, len(people)))
    zero = np.zeros(F.geometry.dim)
    losses, found = F.losses(rows, s), F.minimisers(zero, rows, s)
    monkeypatch.setattr("likewise.hypotheses.base.BLOCK_ENTRIES", 100)
    monkeypatch.setattr("likewise.hypotheses.finite.BLOCK_ENTRIES", 16)
    np.testing.assert_array_equal(F.minimisers(zero, rows, s), found)
    np.testing.assert_allclose(F.losses(rows, s), losses, atol=1e-12)


def test_any_two_hypotheses_differ_on_the_separator(case):
    F, _, table = case
    if isinstance(F, lw.FiniteClass):
        F = lw.FiniteClass(F.hypotheses, constants=F.constants, pool=X)
    on_separator = F.predict_rows(F.separator)
    assert len(np.unique(on_separator, axis=0)) == len(table)


# Geometry -----------------------------------------------------------------------------------------------------

GEOMETRIES = [Simplex(1), Simplex(7), Cube(1), Cube(4)]


@pytest.fixture(params=GEOMETRIES, ids=str)
def game(request):
    """A geometry, whole-numbered coordinate losses with ties, and the loss of every hypothesis."""
    geometry = request.param
    losses = np.random.default_rng(geometry.dim).integers(-1, 2, size=geometry.dim).astype(float)
    return geometry, losses, coordinates_of_hypotheses(geometry) @ losses


def test_minimum_and_span_are_those_of_the_listed_hypotheses(game):
    geometry, losses, every = game
    assert geometry.minimum(losses) == every.min()
    assert geometry.span(losses) == (every.min(), every.max())


def test_the_leader_is_the_first_minimiser(game):
    geometry, losses, every = game
    expected = np.eye(len(every))[every.argmin()]
    np.testing.assert_array_equal(distribution(geometry, geometry.leader(losses)), expected)


def test_the_leaders_share_the_weight_equally(game):
    geometry, losses, every = game
    best = every == every.min()
    np.testing.assert_allclose(distribution(geometry, geometry.leaders(losses)), best / best.sum())


@pytest.mark.parametrize("eta", [1e-3, 0.7, 20.0])
def test_gibbs_weights_are_exponential_in_every_hypothesis_loss(game, eta):
    geometry, losses, every = game
    weights = np.exp(-eta * every) / np.exp(-eta * every).sum()
    np.testing.assert_allclose(distribution(geometry, geometry.gibbs(losses, eta)), weights, atol=1e-14)


@pytest.mark.parametrize("eta", [1e-3, 0.7, 20.0])
def test_free_energy_is_the_log_of_the_mean_exponential(game, eta):
    geometry, losses, every = game
    assert geometry.free_energy(losses, eta) == pytest.approx(-np.log(np.exp(-eta * every).mean()) / eta)


def test_free_energy_at_an_infinite_rate_is_the_minimum(game):
    geometry, losses, every = game
    assert geometry.free_energy(losses, math.inf) == every.min()


def test_the_mixture_of_minimisers_counts_each(game):
    geometry, losses, _ = game
    perturbed = losses + np.random.default_rng(0).normal(size=(50, geometry.dim))
    each = [geometry.leader(row) for row in perturbed]
    np.testing.assert_allclose(geometry.mixture(geometry.minimisers(perturbed)), np.mean(each, axis=0))


@pytest.mark.parametrize("geometry", [Simplex(3), Cube(3)], ids=str)
def test_enormous_losses_neither_overflow_nor_lose_the_leader(geometry):
    losses = np.array([1e300, -1e6, 0.0])
    np.testing.assert_array_equal(geometry.gibbs(losses, 1.0)[:2], [0.0, 1.0])
    assert geometry.free_energy(losses, 1.0) == pytest.approx(-1e6, rel=1e-5)


# Thresholds, cells and their building ---------------------------------------------------------------------------


def test_a_separator_of_thresholds_has_one_point_and_one_more_per_cut():
    assert len(lw.Thresholds([[0.0], [1.0, 2.0, 3.0], []]).separator) == 1 + 4


def test_a_separator_of_cells_has_one_person_per_cell():
    np.testing.assert_array_equal(np.sort(lw.Cells(sign_pattern, m=8).separator), np.arange(8))


def test_the_test_cover_is_made_of_people_of_the_pool_and_wastes_none():
    cuts = np.quantile(X[:, 0], np.linspace(0.1, 0.9, 9))
    F = lw.FiniteClass([functools.partial(passes, cut=cut) for cut in cuts], pool=X)
    pool = {tuple(row) for row in F.encode(X).tolist()}
    assert all(tuple(row) in pool for row in F.separator.tolist())
    assert math.log2(F.size) <= len(F.separator) <= F.size - 1


def test_a_pool_that_cannot_tell_two_hypotheses_apart_is_refused_by_their_numbers():
    twins = [first_positive, second_negative, lambda X: X[:, 0] > 0]
    with pytest.raises(InvalidParameter, match=r"`pool` must .* hypotheses 2 and 4 that agree"):
        lw.FiniteClass(twins, pool=X)


def test_quantile_cuts_split_people_into_about_equal_parts():
    F = lw.Thresholds.quantiles(np.arange(1000.0)[:, None], cuts=3)
    sizes = np.diff([0, *np.searchsorted(np.arange(1000.0), F.cuts[0]), 1000])
    assert F.size == 2 + 2 * 3
    assert np.abs(sizes - 250).max() <= 2


def test_a_constant_column_has_no_cuts():
    F = lw.Thresholds.quantiles(np.column_stack([np.ones(10), np.arange(10.0)]), cuts=4)
    assert [len(column) for column in F.cuts] == [0, 4]


@pytest.mark.parametrize("cuts", [[[0.0], [], [-1.0, 1.0]], [[0.5]]])
def test_the_words_of_a_cut_off_say_what_it_predicts(cuts):
    F = lw.Thresholds(cuts, names=["age", "hours", "debt"][: len(cuts)])
    people = NAMED[F.names]
    for hypothesis, row in enumerate(F.predict(people)):
        words = F.describe(hypothesis)
        said = people.eval(words) if hypothesis > 1 else np.full(len(people), words == "always 1")
        np.testing.assert_array_equal(row, said.astype(int))


def test_an_array_is_read_in_the_order_of_the_named_columns():
    for F in (lw.Thresholds.quantiles(NAMED, cuts=3), lw.Cells.grid(NAMED, bins=2)):
        np.testing.assert_array_equal(F.encode(X), F.encode(NAMED))


def test_a_grid_reads_only_the_features_it_is_made_of():
    F = lw.Cells.grid(NAMED, bins=3, features=["debt"])
    others = NAMED.assign(age="unknown", hours=np.nan)
    np.testing.assert_array_equal(F.encode(others), F.encode(NAMED))


def test_sixty_four_cells_are_counted_exactly_and_never_listed():
    F = lw.Cells(lambda X: np.zeros(len(X), dtype=int), m=64)
    assert F.size == 2**64
    with pytest.raises(InvalidParameter, match=r"2\^64 hypotheses .* never listed"):
        F.predict(X)


def test_nobody_has_no_predictions():
    assert lw.Thresholds([[0.5]]).predict(np.empty((0, 1))).shape == (4, 0)
    assert lw.Cells(lambda X: np.zeros(len(X), dtype=int), m=2).predict(np.empty((0, 1))).shape == (4, 0)


# Estimators -----------------------------------------------------------------------------------------------------


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers what it was fitted to."""

    def fit(self, X, y, sample_weight=None):
        self.seen_ = (X, y, sample_weight)
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def test_the_oracle_asks_for_one_where_the_weight_is_negative_and_drops_zeros():
    rows, s = X[:5], np.array([2.0, -3.0, 0.0, -0.5, 0.0])
    fitted = lw.EstimatorClass(Spy(), pool=X).fit(rows, s)
    people, labels, weights = fitted.seen_
    np.testing.assert_array_equal(people, rows[[0, 1, 3]])
    np.testing.assert_array_equal(labels, [0, 1, 1])
    np.testing.assert_array_equal(weights, [2.0, 3.0, 0.5])


@pytest.mark.parametrize(("s", "constant"), [([-1.0, -2.0, 0.0], 1.0), ([1.0, 0.0, 4.0], 0.0), ([0.0, 0.0, 0.0], 0.0)])
def test_one_label_left_makes_a_constant(s, constant):
    F = lw.EstimatorClass(Spy(), pool=X)
    model = F.fit(X[:3], np.array(s))
    np.testing.assert_array_equal(F.answers(model, X), np.full(len(X), constant))


def test_fitting_leaves_the_estimator_itself_alone():
    estimator = Spy()
    F = lw.EstimatorClass(estimator, pool=X)
    model = F.fit(X[:2], np.array([1.0, -1.0]))
    assert not hasattr(estimator, "seen_")
    np.testing.assert_array_equal(F.answers(model, X), X[:, 0] > 0)


def test_a_deep_tree_as_oracle_reaches_the_smallest_weighted_loss():
    F = lw.EstimatorClass(DecisionTreeClassifier(random_state=0), pool=X)
    s = np.random.default_rng(0).normal(size=len(X))
    assert s @ F.answers(F.fit(X, s), X) == pytest.approx(np.minimum(s, 0).sum())


def test_a_class_reached_through_an_oracle_is_not_enumerable():
    with pytest.raises(NotSupported, match=r"Hedge needs .* got EstimatorClass"):
        enumerable(lw.EstimatorClass(Spy(), pool=X), "Hedge")


# Saving ---------------------------------------------------------------------------------------------------------

SAVED = {
    "thresholds": (lambda: lw.Thresholds.quantiles(NAMED, cuts=3), None, NAMED),
    "scores": (lambda: lw.Thresholds.scores([LOGISTIC, TREE], X, cuts=4), [LOGISTIC, TREE], X),
    "grid": (lambda: lw.Cells.grid(NAMED, bins=[2, 3], features=["debt", "age"]), None, NAMED),
    "grid of an array": (lambda: lw.Cells.grid(X, bins=2), None, X),
    "tree": (lambda: lw.Cells.tree(TREE), [TREE], X),
    "rule": (lambda: lw.Cells(sign_pattern, m=8), [sign_pattern], X),
    "finite": (lambda: lw.FiniteClass([TREE, first_positive], constants=(0,)), [TREE, first_positive], X),
}


def through_json(F, models=None):
    return from_dict(json.loads(json.dumps(F.to_dict())), models)


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_class_predicts_the_same(name):
    build, models, people = SAVED[name]
    F = build()
    again = through_json(F, models)
    assert type(again) is type(F)
    assert again.constants == F.constants
    np.testing.assert_array_equal(again.predict(people), F.predict(people))


@pytest.mark.parametrize("name", [name for name in SAVED if SAVED[name][1]])
def test_a_class_on_models_is_refused_without_them(name):
    build, models, _ = SAVED[name]
    with pytest.raises(ModelMismatch, match=rf"`models` must hold the {len(models)} models .* got 0"):
        through_json(build())


@pytest.mark.parametrize("name", [name for name in SAVED if SAVED[name][1]])
def test_a_class_on_models_refuses_another_model(name):
    build, models, _ = SAVED[name]
    with pytest.raises(ModelMismatch, match=r"`models\[0\]` must be the model this was saved with"):
        through_json(build(), [PERCEPTRON, *models[1:]])


def test_an_estimator_class_takes_its_estimator_and_pool_again():
    F = lw.EstimatorClass(DecisionTreeClassifier(max_depth=2), pool=X)
    again = through_json(F, [DecisionTreeClassifier(max_depth=2), X])
    np.testing.assert_array_equal(again.pool, F.pool)
    with pytest.raises(ModelMismatch, match=r"`models\[0\]`"):
        through_json(F, [DecisionTreeClassifier(max_depth=3), X])


def test_models_may_come_in_a_skops_file(tmp_path):
    from skops import io

    models = [LOGISTIC, make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)]
    io.dump(models, tmp_path / "models.skops")
    F = lw.Thresholds.scores(models, X, cuts=4)
    again = through_json(F, tmp_path / "models.skops")
    np.testing.assert_array_equal(again.predict(X), F.predict(X))


def test_an_unknown_class_is_refused_by_name():
    with pytest.raises(InvalidParameter, match=r"`class` must be one of .* got 'Forest'"):
        from_dict({"class": "Forest"})


MODELS = [
    LogisticRegression(),
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(3, random_state=0),
    HistGradientBoostingClassifier(max_iter=3),
    GaussianNB(),
    KNeighborsClassifier(),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_fingerprint_survives_storage_and_use_but_not_other_data(model, tmp_path):
    model.fit(X, Y)
    before = fingerprint(model)
    joblib.dump(model, tmp_path / "model")
    assert fingerprint(joblib.load(tmp_path / "model")) == before
    model.predict(X)
    assert fingerprint(model) == before
    assert fingerprint(model.fit(X + 0.1, Y)) != before


def above(cut):
    return lambda X: X[:, 0] > cut


FUNCTIONS = {
    "a constant": (lambda X: X[:, 0] > 1, lambda X: X[:, 0] > 2),
    "an operation": (lambda X: X[:, 0] > 1, lambda X: X[:, 0] < 1),
    "a closure": (above(1), above(2)),
    "a default argument": (lambda X, c=1: X[:, 0] > c, lambda X, c=2: X[:, 0] > c),
    "a keyword default": (lambda X, *, c=1: X[:, 0] > c, lambda X, *, c=2: X[:, 0] > c),
    "a function inside": (lambda X: (lambda v: v > 1)(X[:, 0]), lambda X: (lambda v: v > 2)(X[:, 0])),
    "a partial": (functools.partial(passes, cut=1), functools.partial(passes, cut=2)),
}


@pytest.mark.parametrize("difference", FUNCTIONS)
def test_functions_that_differ_in_anything_have_other_fingerprints(difference):
    one, other = FUNCTIONS[difference]
    assert fingerprint(one) == fingerprint(one)
    assert fingerprint(one) != fingerprint(other)


def test_an_object_that_holds_itself_has_a_fingerprint():
    loop = [1]
    loop.append(loop)
    assert fingerprint(loop) != fingerprint([1])


# Bad input ------------------------------------------------------------------------------------------------------

TWICE = pd.DataFrame(X[:, :2], columns=["age", "age"])
F_THRESHOLDS = lw.Thresholds.quantiles(NAMED, cuts=2)
F_GRID = lw.Cells.grid(NAMED, bins=2, features=["age", "debt"])
MISSING = NAMED.assign(hours=np.nan)
BAD = {
    "NaN": (lambda: F_THRESHOLDS.encode(MISSING), "`X` must have no missing values, got NaN in column 1"),
    "NaN in an array": (lambda: F_GRID.encode(np.full((2, 3), np.nan)), "`X` must have no missing values"),
    "strings": (lambda: F_THRESHOLDS.encode(NAMED.assign(debt="much")), "`X` must hold numbers only"),
    "too few columns": (lambda: F_THRESHOLDS.encode(X[:, :2]), "`X` must have 3 columns, got '2'"),
    "too few columns of a grid": (lambda: F_GRID.encode(X[:, :2]), "`X` must have 3 columns"),
    "a missing column": (lambda: F_THRESHOLDS.encode(NAMED[["age", "debt"]]), r"`X` must have the columns .*hours"),
    "a missing feature": (lambda: F_GRID.encode(NAMED[["age"]]), r"`X` must have the columns .*debt"),
    "two columns of one name": (lambda: lw.Thresholds.quantiles(TWICE, cuts=2).encode(TWICE), "`(X|names)` must"),
    "one axis": (lambda: F_THRESHOLDS.encode(X[0]), r"`X` must have two axes \(people, features\)"),
    "probabilities": (
        lambda: lw.FiniteClass([lambda X: X[:, 0]]).predict(X),
        r"`hypotheses\[0\]` must give 0 or 1 for each of 40 people",
    ),
    "too few answers": (lambda: lw.FiniteClass([lambda X: [1]]).predict(X), r"`hypotheses\[0\]` .* got shape \(1,\)"),
    "no hypotheses": (lambda: lw.FiniteClass([], constants=()), "`hypotheses` must hold at least one"),
    "a constant of two": (lambda: lw.FiniteClass([], constants=(2,)), "`constants` must be among 0 and 1"),
    "falling cuts": (lambda: lw.Thresholds([[1.0, 0.0]]), "`cuts` must be finite and strictly ascending"),
    "infinite cuts": (lambda: lw.Thresholds([[0.0, np.inf]]), "`cuts` must be finite and strictly ascending"),
    "no columns": (lambda: lw.Thresholds([]), "`cuts` must hold at least one column"),
    "too few names": (lambda: lw.Thresholds([[0.0], [0.0]], names=["a"]), "`names` must name 2 columns"),
    "no cuts wanted": (lambda: lw.Thresholds.quantiles(X, cuts=0), "`cuts` must be a whole number, at least 1, got 0"),
    "no models": (lambda: lw.Thresholds.scores([], X), "`models` must be a list of at least one fitted model"),
    "two scores": (lambda: lw.Thresholds.scores([lambda X: X], X), "`models` must give one number for each of 40"),
    "a NaN score": (lambda: lw.Thresholds.scores([lambda X: X[:, 0] * np.nan], X), "`models` must .* with NaN"),
    "no cells": (lambda: lw.Cells(sign_pattern, m=0), "`m` must be a whole number, at least 1, got 0"),
    "an unknown feature": (lambda: lw.Cells.grid(NAMED, features=["tax"]), "`features` must be among .*tax"),
    "bins for others": (lambda: lw.Cells.grid(X, bins=[2, 2]), "`bins` must be one number or 3 of them"),
    "no bins": (lambda: lw.Cells.grid(X, bins=0), "`bins` must be at least 1"),
    "an unfitted tree": (lambda: lw.Cells.tree(DecisionTreeClassifier()), "`tree` must be a fitted decision tree"),
    "a cell too high": (lambda: lw.Cells(sign_pattern, m=3).encode(X), "`assign` must give each of 40 people a cell"),
    "half a cell": (lambda: lw.Cells(lambda X: X[:, 0] * 0 + 0.5, m=3).encode(X), "`assign` must give each of 40"),
    "a named cell": (lambda: lw.Cells(lambda X: np.array(["a"] * len(X)), m=3).encode(X), "`assign` must give each"),
    "a weightless estimator": (
        lambda: lw.EstimatorClass(KNeighborsClassifier(), pool=X),
        r"`estimator` must have fit\(X, y, sample_weight\)",
    ),
    "an empty pool": (lambda: lw.EstimatorClass(Spy(), pool=np.empty((0, 2))), "`pool` must hold at least one person"),
    "a wider person": (lambda: lw.EstimatorClass(Spy(), pool=X).encode(X[:, :2]), "`X` must have 3 columns"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_gets_one_sentence_that_names_the_argument(what):
    provoke, sentence = BAD[what]
    with pytest.raises(InvalidParameter, match=sentence) as caught:
        provoke()
    assert str(caught.value).endswith(".")


def test_every_pair_of_a_small_grid_of_cuts_is_separated():
    for counts in itertools.product(range(3), repeat=2):
        F = lw.Thresholds([np.arange(float(n)) for n in counts])
        assert len(np.unique(F.predict_rows(F.separator), axis=0)) == F.size


def test_a_few_rows_of_weights_are_summed_to_the_same_bits_as_many():
    rng = np.random.default_rng(0)
    bins, s = rng.integers(0, 40, size=(500, 3)), rng.normal(size=(2 * FEW_ROWS, 500))
    few = [binned_sums(bins, part, 40) for part in (s[:FEW_ROWS], s[FEW_ROWS:])]
    assert np.array_equal(np.concatenate(few), binned_sums(bins, s, 40))
    assert binned_sums(bins, s[:0], 40).shape == (0, 40)
