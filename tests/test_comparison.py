"""Comparisons: the distance in words is the cityblock distance of the view, saved or not, for people old and new."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import likewise as lw
from likewise.datasets import Codes, Comparison
from likewise.errors import InvalidParameter

BY = ["income", "debt", "town", "job"]


def town(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.lognormal(3, 1, n),
            "debt": np.where(rng.random(n) < 0.2, np.nan, rng.random(n)),
            "town": rng.choice([f"town {i}" for i in range(9)], n),
            "job": rng.choice(["clerk", "cook", None], n),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def by_hand(people, comparison):
    """The formula of the module, with loops."""
    d = np.zeros((len(people), len(people)))
    for part in comparison.parts:
        values = people[part.name]
        for i, a in enumerate(values):
            for j, b in enumerate(values):
                if hasattr(part, "levels"):
                    d[i, j] += part.weight * (not (a == b or (pd.isna(a) and pd.isna(b))))
                else:
                    x, y = (part.median if pd.isna(value) else value for value in (a, b))
                    d[i, j] += part.weight * (abs(x - y) / part.unit + (pd.isna(a) != pd.isna(b)))
    return d


def test_the_distance_of_the_view_is_the_distance_of_the_formula():
    people = town(40)
    comparison = Comparison.fit(people, BY)
    view = comparison.transform(people)
    np.testing.assert_allclose(comparison(view), by_hand(people, comparison), atol=1e-12)


def test_it_is_a_metric_on_views():
    view = Comparison.fit(town(), BY).transform(town(60, seed=1))
    d = Comparison.fit(town(), BY)(view)
    np.testing.assert_array_equal(d, d.T)
    assert (np.diag(d) == 0).all()
    assert (d >= 0).all()
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-12).all()


def test_new_and_missing_levels_differ_from_all_others_and_agree_with_themselves():
    comparison = Comparison.fit(town(), ["town"])
    people = pd.DataFrame({"town": [*(f"town {i}" for i in range(9)), None, None, "new", "newer"]})
    d = comparison(comparison.transform(people))
    alike = np.eye(13)
    alike[9, 10] = alike[10, 9] = alike[11, 12] = alike[12, 11] = 1
    np.testing.assert_array_equal(d, 1 - alike)


def test_one_interquartile_range_counts_one_share():
    people = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0, 4.0], "y": [0, 0, 0, 0, 7]})
    comparison = Comparison.fit(people, ["x", "y"])
    assert comparison.parts[0].unit == 2
    view = comparison.transform(pd.DataFrame({"x": [0.0, 2.0], "y": [0, 0]}))
    np.testing.assert_allclose(comparison(view), [[0, 0.5], [0.5, 0]])


@pytest.mark.parametrize(
    ("values", "unit"),
    [([0] * 80 + [1] * 19 + [99], 1.0), ([0] * 99 + [8], 8.0), ([5] * 100, 1.0)],
    ids=["5%", "all", "flat"],
)
def test_where_the_middle_half_is_one_point_a_wider_part_is_taken(values, unit):
    assert Comparison.fit(pd.DataFrame({"x": values}), ["x"]).parts[0].unit == pytest.approx(unit)


def test_units_and_weights_may_be_given():
    people = pd.DataFrame({"x": [0.0, 10.0], "town": ["a", "b"]})
    comparison = Comparison.fit(people, ["x", "town"], units={"x": 20}, weights={"x": 1.0, "town": 0.25})
    np.testing.assert_allclose(comparison(comparison.transform(people)), [[0, 0.75], [0.75, 0]])


def test_a_number_may_be_compared_as_a_category():
    people = pd.DataFrame({"district": [1, 2, 9]})
    comparison = Comparison.fit(people, ["district"], categories=["district"])
    np.testing.assert_array_equal(comparison(comparison.transform(people)), 1 - np.eye(3))


def test_polars_and_pandas_are_viewed_alike():
    people = town()
    comparison = Comparison.fit(pl.from_pandas(people), BY)
    assert comparison == Comparison.fit(people, BY)
    np.testing.assert_array_equal(comparison.transform(pl.from_pandas(people)), comparison.transform(people))


@pytest.mark.parametrize("viewer", [Comparison, Codes])
def test_saved_as_json_it_is_the_same_to_the_last_bit(viewer):
    people = town()
    fitted = viewer.fit(people, BY)
    again = viewer.from_dict(json.loads(json.dumps(fitted.to_dict(), allow_nan=False)))
    assert again == fitted
    assert again.columns == tuple(BY)
    np.testing.assert_array_equal(again.transform(town(seed=1)), fitted.transform(town(seed=1)))


def test_the_name_of_the_metric_plays_the_same_game_as_the_comparison_itself():
    people, rng = town(500), np.random.default_rng(1)
    comparison = Comparison.fit(people, ["income", "town"])
    view, y = comparison.transform(people), (rng.random(500) < 0.5).astype(float)
    X = np.column_stack([people["income"], people["sex"] == "f"])
    F = lw.Thresholds.quantiles(X, cuts=6)
    learner = lw.AdaHedge(F, T=200, k=4, alpha=0.1)
    plays = [
        lw.play(learner, lw.IID(X, y, k=4, view=view), lw.MetricAuditor(metric, 0.1), seed=0)
        for metric in (comparison, comparison.metric)
    ]
    assert plays[0].violations.sum() > 0
    assert plays[0].reports == plays[1].reports
    np.testing.assert_allclose(plays[0].probabilities, plays[1].probabilities, atol=1e-12)


def test_the_words_name_every_column_once():
    text = Comparison.fit(town(), BY, units={"income": 12_345, "debt": 0.5}).described
    assert text == (
        "Two people are alike if they have about the same income and debt and the same town and job; 12,345 of income, "
        "0.5 of debt, another town or another job each count 1/4, and two people who are 1 apart may be treated "
        "entirely differently."
    )
    assert "1 of x counts" in Comparison.fit(pd.DataFrame({"x": [0, 1]}), ["x"], units={"x": 1}).described


# Views for a distance of one's own -------------------------------------------------------------------------------


def test_codes_are_the_numbers_as_they_are_and_the_places_of_the_levels():
    people = pd.DataFrame({"x": [3.5, None], "town": ["b", "a"]})
    codes = Codes.fit(people, ["town", "x"])
    np.testing.assert_array_equal(codes.transform(people), [[1, 3.5], [0, np.nan]])
    np.testing.assert_array_equal(codes.transform(pd.DataFrame({"x": [0, 0], "town": [None, "c"]})), [[-1, 0], [-2, 0]])


# Wrong input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compare_by", "options", "said"),
    [
        ([], {}, "`compare_by` must name at least one column"),
        (["wealth"], {}, r"`compare_by` must be among the columns .*, got \['wealth'\]"),
        (["town", "town"], {}, "`compare_by` must name each column once"),
        (["town"], {"units": {"town": 2}}, "`units` must be for numbers"),
        (["town"], {"units": {"income": 2}}, "`units` must be for columns of `compare_by`"),
        (["income"], {"units": {"income": 0}}, r"`units\[income\]` must be positive, got 0"),
        (["income"], {"weights": {"income": -1}}, r"`weights\[income\]` must be positive"),
        (["name"], {}, "numbers or categories, got 'name': it is free text or an id, with 200 different values"),
    ],
)
def test_wrong_input_is_one_sentence(compare_by, options, said):
    people = town().assign(name=[f"person {i}" for i in range(200)])
    with pytest.raises(InvalidParameter, match=said):
        Comparison.fit(people, compare_by, **options)


def test_one_column_may_be_named_without_a_list():
    assert Comparison.fit(town(), "town").columns == ("town",)


@pytest.mark.parametrize("viewer", [Comparison, Codes])
@pytest.mark.parametrize("data", [{}, {"kind": "Encoder"}, {"kind": "Comparison", "parts": [{}]}])
def test_something_else_than_a_saved_view_is_refused(viewer, data):
    with pytest.raises(InvalidParameter, match="`data` must be"):
        viewer.from_dict(data)
