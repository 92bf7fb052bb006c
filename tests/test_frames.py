"""Your own people: from a frame or a file, with labels as they come."""

import gzip
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from likewise import datasets
from likewise.errors import DataUnavailable, InvalidParameter, NotSupported

ROWS = 60


@pytest.fixture
def applicants():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(ROWS)],
            "income": rng.normal(50, 10, ROWS),
            "debt": np.where(rng.random(ROWS) < 0.2, np.nan, rng.random(ROWS)),
            "town": rng.choice(["A", "B", None], ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "approved": rng.integers(0, 2, ROWS),
        }
    )


def load(frame, **options):
    return datasets.from_frame(frame, **{"label": "approved", "compare_by": ["income", "debt"]} | options)


def test_a_frame_becomes_people_labels_features_and_a_view(applicants):
    data = load(applicants, sensitive=["sex"])
    np.testing.assert_array_equal(data.y, applicants["approved"])
    assert list(data.people.columns) == ["name", "income", "debt", "town", "sex"]
    assert data.encoder.columns == ("income", "debt", "town", "sex")
    assert np.isfinite(data.features).all()
    assert np.isfinite(data.view).all()
    assert (data.compare_by, data.sensitive, len(data)) == (("income", "debt"), ("sex",), ROWS)
    assert data.metric == "cityblock"
    assert "income and debt" in data.distance_described


def test_polars_gives_the_same_data_set(applicants):
    one, other = load(applicants), load(pl.from_pandas(applicants))
    np.testing.assert_array_equal(one.features, other.features)
    np.testing.assert_array_equal(one.view, other.view)
    np.testing.assert_array_equal(one.y, other.y)
    assert one.datasheet == other.datasheet
    assert isinstance(other.people, pd.DataFrame)


def test_rows_are_kept_in_order_whatever_the_index(applicants):
    shuffled = applicants.sample(frac=1, random_state=1)
    data = load(shuffled)
    np.testing.assert_array_equal(data.people["income"], shuffled["income"])
    np.testing.assert_array_equal(data.y, shuffled["approved"])
    assert data.people.index.tolist() == list(range(ROWS))


def test_rows_without_a_label_are_left_out_and_said(applicants, caplog):
    applicants["approved"] = applicants["approved"].where(applicants.index >= 7)
    data = load(applicants)
    assert len(data) == len(data.people) == ROWS - 7
    assert data.people["name"][0] == "person 7"
    assert "7 rows have no label in 'approved' and are left out." in caplog.text
    assert any("7 rows have no label" in problem for problem in data.datasheet.problems)


def test_columns_left_out_are_in_the_datasheet(applicants):
    assert "The column name is not used: it is free text or an id" in "".join(load(applicants).datasheet.problems)


def test_dropped_columns_are_nowhere(applicants):
    data = load(applicants, drop=["name", "sex"])
    assert list(data.people.columns) == ["income", "debt", "town"]


def test_a_distance_of_ones_own_sees_the_columns_as_plain_numbers(applicants):
    def same_town(view):
        return np.abs(view[:, 0, None] - view[:, 0]) / 100 + (view[:, 1, None] != view[:, 1])

    data = load(applicants, compare_by=["income", "town"], distance=same_town)
    np.testing.assert_array_equal(data.view[:, 0], applicants["income"])
    assert set(data.view[:, 1]) == {0, 1, -1}
    assert data.metric is data.distance is same_town
    assert "same_town" in data.distance_described


# Labels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("no", "yes", "positive"),
    [
        (0, 1, None), (0.0, 1.0, None), (False, True, None), ("0", "1", None), ("False", "True", None),
        ("denied", "granted", "granted"), ("b", "a", "a"), (2, 1, 1), (2, 1, "1"), (True, False, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.from_pandas])
def test_two_values_are_a_label(applicants, as_frame, no, yes, positive):
    written = applicants.assign(approved=[yes if y else no for y in applicants["approved"]])
    data = load(as_frame(written), positive=positive)
    np.testing.assert_array_equal(data.y, applicants["approved"])


def test_numbers_in_single_precision_are_written_as_people_write_them(applicants):
    label = np.where(np.arange(len(applicants)) % 2 == 0, 10.4, 2.6).astype("float32")
    frame = applicants.drop(columns="approved").assign(score=label)
    with pytest.raises(InvalidParameter, match=r"'10\.4' or '2\.6', got None"):
        datasets.from_frame(frame, label="score", compare_by=["income"])
    for positive in (10.4, "10.4", np.float32(10.4)):
        assert datasets.from_frame(frame, label="score", compare_by=["income"], positive=positive).y[:2].tolist() == [
            1,
            0,
        ]


def test_with_a_positive_value_all_others_count_as_zero(applicants):
    applicants["approved"] = ["yes", "no", "withdrawn"] * (ROWS // 3)
    data = load(applicants, positive="yes")
    np.testing.assert_array_equal(data.y, [1, 0, 0] * (ROWS // 3))
    assert data.datasheet.positive == "1 means that approved is yes."


@pytest.mark.parametrize(
    ("values", "positive", "said"),
    [
        (["yes", "no"], None, "`positive` must say which value of 'approved' counts as 1, 'no' or 'yes', got None"),
        ([1, 2], None, "`positive` must say which value of 'approved' counts as 1, '1' or '2', got None"),
        (["yes", "no"], "maybe", r"`positive` must be one of the values \['no', 'yes'\] of 'approved', got 'maybe'"),
        ([1, 1], None, r"`label` must have two values, got only \['1'\] in the column 'approved'"),
        ([None, None], None, r"`label` must have two values, got only \[\]"),
        (["a", "b", "c"], None, "two values, got 'approved' with 3: a, b, c.*say with `positive`"),
    ],
)
def test_labels_that_say_too_little_are_one_sentence(applicants, values, positive, said):
    applicants["approved"] = (values * ROWS)[:ROWS]
    with pytest.raises(InvalidParameter, match=said):
        load(applicants, positive=positive)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"label": "granted"}, "`label` must be one of the columns"),
        ({"compare_by": ["wealth"]}, "`compare_by` must be among the columns"),
        ({"compare_by": ["approved"]}, "`compare_by` must not hold the label"),
        ({"compare_by": ["name"]}, "`compare_by` must name columns of numbers or categories, got 'name'"),
        ({"sensitive": ["income"]}, r"`sensitive` must not hold columns to compare by, got \['income'\]"),
        ({"sensitive": ["race"]}, r"`sensitive` must be among the columns .* got \['race'\]"),
        ({"sensitive": "sex"}, "`sensitive` must be a list of columns"),
        ({"drop": ["debt"]}, "`drop` must not hold columns to compare by"),
        ({"drop": ["approved"]}, "`drop` must not hold the label"),
        ({"distance": "euclidean"}, "`distance` must be a callable"),
        ({"distance": len, "units": {"income": 1}}, "`units` must be left out with a distance of your own"),
    ],
)
def test_contradicting_roles_are_one_sentence(applicants, options, said):
    with pytest.raises(InvalidParameter, match=said):
        load(applicants, **options)


def test_a_sensitive_column_that_is_dropped_is_kept_for_groups_and_never_encoded(applicants):
    data = load(applicants, drop=["sex"], sensitive=["sex"])
    assert "sex" in data.people.columns
    assert "sex" not in data.encoder.columns
    assert "sex" not in data.parted()[0].encoder.columns


# Files -----------------------------------------------------------------------------------------------------------


def lines(frame):
    return "\n".join(json.dumps(row) for row in frame.to_dict("records")) + "\n"


WRITERS = {
    "people.csv": lambda frame, path: frame.to_csv(path, index=False),
    "people.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "people.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "semicolons.csv": lambda frame, path: frame.to_csv(path, index=False, sep=";"),
    "marked.csv": lambda frame, path: frame.to_csv(path, index=False, encoding="utf-8-sig"),
    "people.parquet": lambda frame, path: frame.to_parquet(path),
    "people.jsonl": lambda frame, path: path.write_text(lines(frame)),
    "people.ndjson.gz": lambda frame, path: path.write_bytes(gzip.compress(lines(frame).encode())),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_holds_the_same_people(tmp_path, name):
    people = pd.DataFrame({"income": [1.5, 2.25], "town": ["Köln", "Łódź"], "approved": [0, 1]})
    WRITERS[name](people, tmp_path / name)
    pd.testing.assert_frame_equal(datasets.read_people(tmp_path / name), people, check_dtype=False)


@pytest.mark.parametrize(
    ("separator", "written", "meant"),
    [
        (",", ["3,713", "950", "1,234,567.5", ""], [3713, 950, 1234567.5, None]),
        ("\t", ["-3,713", "+950"], [-3713, 950]),
        (";", ["3,713", "950,5"], [3.713, 950.5]),
        (";", ["1.234,5", "950"], [1234.5, 950]),
        (";", ["3,713", "1,234,567"], [3713, 1234567]),
    ],
)
def test_numbers_with_commas_are_read_as_they_are_meant(tmp_path, separator, written, meant):
    path = tmp_path / "people.csv"
    pd.DataFrame({"income": written, "town": "a, b"}).to_csv(path, index=False, sep=separator)
    found = datasets.read_people(path)
    assert found["income"].astype(object).where(found["income"].notna(), None).tolist() == meant
    assert found["town"].tolist() == ["a, b"] * len(written)


@pytest.mark.parametrize(
    ("separator", "written"),
    [(";", ["3,713", "950"]), (",", ["12,5", "3"]), (",", ["0,713", "1"]), (",", ["3,713", "unknown"])],
)
def test_a_comma_that_may_mean_either_stays_text(tmp_path, separator, written):
    path = tmp_path / "people.csv"
    pd.DataFrame({"income": written, "town": "here"}).to_csv(path, index=False, sep=separator)
    assert datasets.read_people(path)["income"].tolist() == written


@pytest.mark.parametrize("form", ["${:,}", "{:,} €", "{}%", "{:,}"])
def test_numbers_written_with_signs_get_a_word_on_how_to_write_them(form):
    (column,) = datasets.inspected(pd.DataFrame({"income": [form.format(number) for number in range(1000, 1300)]}))
    assert column.kind == "unusable"
    assert "write them plainly" in column.reason


def test_infinite_numbers_are_left_out_and_the_rest_is_used(applicants):
    data = datasets.from_frame(applicants.assign(ratio=np.inf), label="approved", compare_by=["income"])
    assert data.encoder.left_out["ratio"] == "it holds infinite numbers"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", b"", "`path` must hold at least one person, got empty.csv, which has none"),
        ("header.csv", b"a,b\n", "at least one person, got header.csv"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "must be a CSV file, got ragged.csv: Expected 2 fields in line 3, saw 3"),
        ("longer.csv", b"a,b\n1,2,3\n1,2,3\n", "must have a name for every column, got longer.csv"),
        ("latin.csv", "a,b\nKöln,1\n".encode("latin-1"), "must be text in UTF-8, got latin.csv"),
        ("people.ods", b"", "must end in one of .csv, .* got 'people.ods'"),
        ("people.xlsx", b"", "must be an Excel file, got people.xlsx"),
        ("broken.parquet", b"PAR1", "must be a parquet file, got broken.parquet"),
        ("broken.jsonl", b"{a", "must be a JSON lines file, got broken.jsonl: line 1 is not a JSON object"),
        ("empty.jsonl", b"", "at least one person, got empty.jsonl"),
        ("broken.csv.gz", b"a,b\n1,2\n", "must be a CSV file, got broken.csv.gz"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidParameter, match=said) as caught:
        datasets.read_people(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_and_a_folder_are_one_sentence(tmp_path):
    with pytest.raises(DataUnavailable, match="`path` must exist, got"):
        datasets.read_people(tmp_path / "people.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataUnavailable, match="`path` must not be a folder"):
        datasets.read_people(tmp_path / "folder.csv")


def test_without_pandas_a_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(NotSupported, match="pip install pandas pyarrow narwhals"):
        datasets.read_people(tmp_path / "people.csv")
    with pytest.raises(NotSupported, match="need pandas"):
        datasets.synthetic(10)


def test_a_label_whose_yes_has_several_spellings_is_refused():
    """Otherwise all but one of them would count as a no, and nobody would notice."""
    frame = pd.DataFrame({"income": range(6), "granted": ["yes", "YES", "Yes ", "no", "No ", "no"]})
    with pytest.raises(InvalidParameter, match="`label` must have one spelling of its yes, got 'YES' and 'Yes ' and"):
        datasets.from_frame(frame, label="granted", positive="yes", compare_by=["income"])
