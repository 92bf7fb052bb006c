"""Columns that are no features: who each row is, and what is decided today."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from likewise import datasets
from likewise.errors import InvalidParameter

N = 60


def table(**columns) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"income": rng.normal(50, 10, N).round(3), "label": np.arange(N) % 2})
    return people.assign(**columns)


def opened(frame, **options):
    return datasets.from_frame(frame, label="label", compare_by=["income"], **options)


def test_ids_say_who_each_row_is_and_are_no_feature():
    who = np.arange(N) // 3
    data = opened(table(who=[f"P{i}" for i in who]), ids="who")
    assert data.person.tolist() == who.tolist()
    assert data.named
    assert "who" not in data.people.columns
    assert data.ids(np.array([0, 1, 5])).tolist() == [0, 0, 1]


def test_rows_without_a_label_take_their_ids_with_them():
    labels = np.where(np.arange(N) < 10, None, (np.arange(N) % 2).astype(str))
    data = opened(table(label=labels, who=np.arange(N)), ids="who")
    assert len(data) == len(data.person) == N - 10


@pytest.mark.parametrize("twice", [0, 1, 4])
def test_rows_that_are_the_same_may_be_one_person(twice, caplog):
    frame = pd.concat([table(), table().iloc[:twice]], ignore_index=True)
    data = opened(frame)
    assert data.named == (twice == 0)
    assert len(np.unique(data.person)) == N
    assert ("may be one person" in caplog.text) == (twice > 0)
    assert any("may be one person" in problem for problem in data.datasheet.problems) == (twice > 0)
    everybody, first = np.arange(len(frame)), np.arange(N)
    assert (data.ids(everybody) is None) == (twice > 0)
    assert data.ids(first) is not None, "nobody of them comes twice"


def test_rows_that_differ_only_in_what_nobody_may_use_are_different_people():
    frame = pd.concat([table(), table()], ignore_index=True).assign(name=[f"n{i}" for i in range(2 * N)])
    assert opened(frame).named
    assert opened(frame, drop=["name"]).named


def test_each_row_may_be_said_to_be_a_person_of_its_own():
    frame = pd.concat([table(), table()], ignore_index=True)
    data = opened(frame, ids=datasets.EACH_ROW)
    assert data.named
    assert len(np.unique(data.person)) == 2 * N


TODAY = {
    "numbers": (np.linspace(0, 1, N), np.linspace(0, 1, N)),
    "yes and no": (np.where(np.arange(N) % 3 == 0, "yes", "no"), np.arange(N) % 3 == 0),
    "true and false": (np.arange(N) % 3 == 0, np.arange(N) % 3 == 0),
    "always yes": (np.full(N, "yes"), np.ones(N)),
}


@pytest.mark.parametrize(("column", "expected"), TODAY.values(), ids=TODAY.keys())
def test_what_is_decided_today_is_probabilities_and_no_feature(column, expected):
    data = opened(table(today=column), today="today")
    np.testing.assert_array_equal(data.today, np.asarray(expected, dtype=float))
    assert "today" not in data.people.columns


def test_the_labels_own_values_say_what_a_yes_is():
    words = np.where(np.arange(N) % 2 == 1, "granted", "refused")
    data = opened(table(label=words, today=words), today="today", positive="granted")
    np.testing.assert_array_equal(data.today, data.y)


def test_today_is_a_feature_only_if_people_are_compared_by_it():
    frame = table(score=np.linspace(0, 1, N))
    assert "score" in datasets.from_frame(frame, label="label", compare_by=["score"], today="score").people.columns


BAD = {
    "unknown id": ({"ids": "nobody"}, "`id` must be one of the columns"),
    "the label as id": ({"ids": "label"}, "`id` must not be the label"),
    "gaps in ids": ({"ids": "gaps"}, "`id` must be a column without gaps, 'gaps' is not, got '1 missing'"),
    "compared by id": ({"ids": "income"}, "`compare_by` must not hold the column of ids"),
    "unknown today": ({"today": "tomorrow"}, "`today` must be one of the columns"),
    "the label as today": ({"today": "label"}, "`today` must be neither the label nor"),
    "words": ({"today": "words"}, "`today` must be a column of yes and no, .* got 'words' with a, b, c"),
    "too large": ({"today": "large"}, "`today` must hold yes and no, or numbers from 0 to 1"),
    "gaps in today": ({"today": "holes"}, "`today` must be a column without gaps"),
}


@pytest.mark.parametrize(("options", "sentence"), BAD.values(), ids=BAD.keys())
def test_bad_columns_get_one_sentence(options, sentence):
    frame = table(
        gaps=[None, *range(1, N)],
        words=np.array(list("abc"))[np.arange(N) % 3],
        large=np.arange(N),
        holes=[None, *[0.5] * (N - 1)],
    )
    with pytest.raises(InvalidParameter, match=sentence):
        opened(frame, **options)
