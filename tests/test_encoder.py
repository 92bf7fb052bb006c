"""The encoder: the same person gets the same numbers, whatever holds them and however often it is saved."""

import datetime
import json
import logging

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from likewise.datasets import Encoder, inspected
from likewise.errors import InvalidParameter, NotSupported

PEOPLE = {
    "income": [30.0, 90.0, None, 40.0],
    "children": [0, 2, 1, 1],
    "home": ["rent", "own", None, "rent"],
    "member": [True, False, None, True],
}


@pytest.fixture
def people():
    return pd.DataFrame(PEOPLE)


@pytest.fixture
def encoder(people):
    return Encoder.fit(people)


def column(encoder, frame, name):
    return encoder.transform(frame)[:, encoder.names.index(name)]


def test_numbers_are_scaled_and_the_median_stands_in_for_what_is_missing(encoder, people):
    filled = np.array([30.0, 90.0, 40.0, 40.0])
    np.testing.assert_allclose(column(encoder, people, "income"), (filled - filled.mean()) / filled.std())
    np.testing.assert_array_equal(column(encoder, people, "income is missing"), [0, 0, 1, 0])
    assert "children is missing" not in encoder.names


def test_categories_are_zero_and_one_and_missing_is_a_level(encoder, people):
    np.testing.assert_array_equal(column(encoder, people, "home = rent"), [1, 0, 0, 1])
    np.testing.assert_array_equal(column(encoder, people, "home = own"), [0, 1, 0, 0])
    np.testing.assert_array_equal(column(encoder, people, "home is missing"), [0, 0, 1, 0])


def test_a_level_that_nobody_had_at_fitting_is_zero_everywhere(encoder, people):
    people.loc[0, "home"] = "boat"
    levels = [name for name in encoder.names if name.startswith("home")]
    assert len(levels) > 1
    assert all(column(encoder, people, name)[0] == 0 for name in levels)


def test_what_was_never_missing_at_fitting_may_be_missing_later(encoder, people):
    fitted = Encoder.fit(people.drop(index=2))
    encoded = fitted.transform(people)
    assert np.isfinite(encoded).all()
    assert not any(name.endswith("is missing") for name in fitted.names)
    assert encoded[2, fitted.names.index("income")] == encoded[3, fitted.names.index("income")]  # 40 is the median


@pytest.mark.parametrize("kind", ["polars", "arrow", "object", "category", "nullable"])
def test_every_kind_of_frame_gives_the_same_numbers_bit_for_bit(encoder, people, kind):
    frames = {
        "polars": lambda: pl.DataFrame(PEOPLE),
        "arrow": lambda: pa.table(PEOPLE),
        "object": lambda: people.astype(object),
        "category": lambda: people.astype({"home": "category"}),
        "nullable": lambda: people.convert_dtypes(),
    }
    frame = frames[kind]()
    np.testing.assert_array_equal(encoder.transform(frame), encoder.transform(people))
    assert Encoder.fit(frame).to_dict() == encoder.to_dict()


def test_nan_in_polars_is_as_missing_as_null(encoder):
    frame = pl.DataFrame(PEOPLE | {"income": [30.0, 90.0, float("nan"), 40.0]})
    np.testing.assert_array_equal(encoder.transform(frame), encoder.transform(pl.DataFrame(PEOPLE)))


def test_saved_as_json_it_is_the_same_to_the_last_bit():
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"x": rng.normal(size=50) / 3, "y": rng.choice(["a", "b", "ü", None], size=50)})
    encoder = Encoder.fit(people)
    again = Encoder.from_dict(json.loads(json.dumps(encoder.to_dict(), allow_nan=False)))
    assert again == encoder
    np.testing.assert_array_equal(again.transform(people), encoder.transform(people))


def test_people_are_encoded_one_by_one_as_together(encoder, people):
    apart = [encoder.transform(people.iloc[[i]]) for i in range(len(people))]
    np.testing.assert_array_equal(np.concatenate(apart), encoder.transform(people))
    assert encoder.transform(people.iloc[:0]).shape == (0, len(encoder.names))


def test_order_of_columns_and_further_ones_do_not_matter(encoder, people):
    other = people[["member", "home", "children", "income"]].assign(name="Ada")
    np.testing.assert_array_equal(encoder.transform(other), encoder.transform(people))


def test_a_number_may_be_declared_a_category_and_its_writing_does_not_matter(people):
    encoder = Encoder.fit(people, categories=["children"])
    for written in ([0, 2, 1, 1], [0.0, 2.0, 1.0, 1.0], ["0", "2", "1", "1"]):
        again = encoder.transform(people.assign(children=written))
        np.testing.assert_array_equal(again, encoder.transform(people))
    assert [name for name in encoder.names if name.startswith("children")] == [
        "children = 0", "children = 1", "children = 2",
    ]  # fmt: skip


def test_a_category_with_very_many_levels_is_one_if_it_is_said():
    frame = many([f"ward {i}" for i in range(300)])
    assert len(Encoder.fit(frame, categories=["odd"]).names) == 301


def test_numbers_written_as_text_are_read(encoder, people):
    written = people.assign(children=people["children"].astype(str))
    np.testing.assert_array_equal(encoder.transform(written), encoder.transform(people))


# What can't be used ----------------------------------------------------------------------------------------------


def many(values):
    """A frame with a usable column, and one with these values."""
    return pd.DataFrame({"x": np.arange(len(values)) % 7, "odd": values})


UNUSABLE = {
    "free text or an id, with 300 different values in 300 rows": [f"person {i}" for i in range(300)],
    "free text or an id, with 30 different values in 30 rows": [f"person {i}" for i in range(30)],
    "an id, a different number in every row": list(range(100, 400)),
    "the same for everybody": ["DE"] * 30,
    "always missing": [None] * 30,
    "holds dates": [f"2020-01-{1 + i % 28:02}" for i in range(300)],
    "numbers as text, and 'n/a' among them": [*(f"{i * 1.5}" for i in range(299)), "n/a"],
    "neither numbers nor text": [[1, 2]] * 30,
}


@pytest.mark.parametrize(("reason", "values"), UNUSABLE.items(), ids=range(len(UNUSABLE)))
def test_a_column_that_can_not_be_used_is_left_out_aloud(reason, values, caplog):
    with caplog.at_level(logging.WARNING):
        encoder = Encoder.fit(many(values))
    assert encoder.columns == ("x",)
    assert reason in encoder.left_out["odd"]
    assert f"Column 'odd' is left out: {encoder.left_out['odd']}." in caplog.text


def test_true_dates_and_times_are_dates_too():
    frame = many([datetime.datetime(2020, 1, 1 + i % 28) for i in range(60)])
    assert "holds dates" in Encoder.fit(frame).left_out["odd"]
    assert "holds dates" in Encoder.fit(pl.from_pandas(frame)).left_out["odd"]


def test_numbers_that_only_look_like_ids_are_kept():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": rng.choice(90_000, 300, replace=False), "rank": np.arange(300) % 150})
    assert Encoder.fit(frame).columns == ("income", "rank")
    assert Encoder.fit(frame.rename(columns={"income": "customer_id"})).columns == ("rank",)


def test_few_people_with_different_texts_are_still_a_category():
    assert Encoder.fit(many([f"town {i}" for i in range(20)])).left_out == {}


def test_the_values_of_an_unusable_column_are_not_shown():
    (_, found) = inspected(many([f"Ada Lovelace {i}" for i in range(300)]))
    assert found.kind == "unusable"
    assert "Ada" not in str(found.to_dict())


def test_a_column_may_be_dropped(people):
    assert Encoder.fit(people, drop=["home"]).columns == ("income", "children", "member")


# Wrong input -----------------------------------------------------------------------------------------------------


def test_a_missing_column_is_named(encoder, people):
    with pytest.raises(InvalidParameter, match=r"`frame` must have the columns .* got no \['home'\]"):
        encoder.transform(people.drop(columns="home"))


def test_text_among_numbers_is_named_with_its_column(encoder, people):
    with pytest.raises(InvalidParameter, match="`children` must be a column of numbers, got 'two'"):
        encoder.transform(people.assign(children=["0", "two", "1", "1"]))
    with pytest.raises(InvalidParameter, match="`children` must be a column of numbers, got 'two'"):
        encoder.transform(people.assign(children=[0, "two", 1, 1]))


def test_an_infinite_number_is_named_with_its_column(encoder, people):
    with pytest.raises(InvalidParameter, match="`children` must be a column of finite numbers"):
        encoder.transform(people.assign(children=[0, np.inf, 1, 1]))


@pytest.mark.parametrize(
    ("frame", "got"),
    [
        (np.eye(2), "dataframe or a pyarrow table, got numpy.ndarray"),
        (pl.LazyFrame(PEOPLE), "dataframe or a pyarrow table, got polars.LazyFrame"),
        (pd.DataFrame(np.eye(2), columns=["a", "a"]), r"different names for its columns, got \['a'\]"),
        (pa.Table.from_arrays([[1, 2], [3, 4]], names=["a", "a"]), r"different names for its columns, got \['a'\]"),
    ],
    ids=["array", "lazy", "twice", "arrow"],
)
def test_what_is_no_frame_is_refused(frame, got):
    with pytest.raises(InvalidParameter, match=got):
        Encoder.fit(frame)


def test_columns_without_names_are_refused():
    with pytest.raises(InvalidParameter, match="must name its columns with text"):
        Encoder.fit(pd.DataFrame(np.eye(2)))


def test_nobody_and_nothing_usable_are_refused(people):
    with pytest.raises(InvalidParameter, match="at least one row"):
        Encoder.fit(people.iloc[:0])
    with pytest.raises(
        InvalidParameter, match="must have a column of numbers or categories, got 'odd': it is free text"
    ):
        Encoder.fit(many([f"person {i}" for i in range(300)])[["odd"]])


@pytest.mark.parametrize("data", [{}, {"kind": "Comparison"}, {"kind": "Encoder", "numbers": [1]}])
def test_something_else_than_a_saved_encoder_is_refused(data):
    with pytest.raises(InvalidParameter, match="`data` must be"):
        Encoder.from_dict(data)


def test_without_narwhals_a_sentence_says_how_to_get_it(people, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "narwhals", None)
    with pytest.raises(NotSupported, match="pip install pandas pyarrow narwhals"):
        Encoder.fit(people)
