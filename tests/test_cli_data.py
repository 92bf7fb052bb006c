"""The command ``likewise data``: as a stranger would use it."""

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from likewise import cli, datasets
from likewise.cli.options import listed
from likewise.errors import DataUnavailable, NotSupported


def run(*arguments):
    return CliRunner(env={"COLUMNS": "100"}).invoke(cli.app, ["data", *map(str, arguments)])


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "name": [f"Person Number {i}" for i in range(300)],
            "income": np.where(rng.random(300) < 0.1, np.nan, rng.normal(50, 9, 300)),
            "town": rng.choice(["[red]", "Bonn"], 300),
            "approved": rng.integers(0, 2, 300),
        }
    )
    people.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv", people


def test_without_a_name_all_data_sets_are_listed_and_none_is_loaded(monkeypatch):
    monkeypatch.setattr(datasets, "load", None)
    done = run()
    assert done.exit_code == 0
    assert all(name in done.output for name in datasets.NAMES)
    assert [row["name"] for row in json.loads(run("--json").output)["datasets"]] == list(datasets.NAMES)


def test_a_name_prints_the_datasheet_the_columns_and_the_distance():
    done = run("synthetic")
    data = datasets.synthetic()
    said = " ".join(done.output.split())
    for words in (*data.datasheet.problems, data.distance_described, data.datasheet.licence, data.datasheet.source):
        assert " ".join(words.split()) in said
    assert "1 for 50.0% of 20,000 people" in said
    assert all(name in said for name in data.people.columns)
    assert "compare by" in said
    assert "sensitive" in said


def test_json_has_the_same_facts():
    found = json.loads(run("synthetic", "--json").output)
    data = datasets.synthetic()
    assert found["positive_rate"] == data.y.mean()
    assert found["datasheet"] == data.datasheet.to_dict()
    assert {row["name"]: row["role"] for row in found["columns"]} == {
        "skill": "compare by", "effort": "compare by", "address": "", "hobby": "", "group": "sensitive",
    }  # fmt: skip


def test_a_file_prints_what_its_columns_would_be_taken_for(file):
    path, people = file
    done = run(path)
    assert done.exit_code == 0, done.output
    assert "300 people, 4 columns" in done.output
    assert "not used: it is free text or an id" in " ".join(done.output.split())
    assert "Bonn | [red]" in done.output, "values are printed as they are, not read as colours"
    assert "Person Number" not in done.output, "values of columns that may be names are not shown"
    assert f"{people['income'].isna().sum()}" in done.output
    assert "--label approved --compare-by income" in " ".join(done.output.split())


def test_a_file_as_json(file):
    path, people = file
    found = json.loads(run(path, "--json").output)
    assert found["people"] == 300
    assert found["possible_labels"] == ["town", "approved"]
    assert [row["kind"] for row in found["columns"]] == ["unusable", "number", "category", "number"]
    assert found["columns"][1]["missing"] == people["income"].isna().sum()


def test_the_command_to_try_names_a_positive_value_where_one_is_needed(tmp_path):
    (tmp_path / "two.csv").write_text("x,granted loan\n1,no\n2,yes\n5,no\n")
    assert "--label 'granted loan' --positive yes --compare-by x" in " ".join(run(tmp_path / "two.csv").output.split())


def test_a_yes_is_a_yes_with_capitals_and_spaces_too(tmp_path):
    (tmp_path / "two.csv").write_text("x,granted\n1,no \n2,Yes\n5,no \n")
    assert "--label granted --positive Yes --compare-by x" in " ".join(run(tmp_path / "two.csv").output.split())


def test_the_command_to_try_plays_the_mended_copy(tmp_path):
    (tmp_path / "two.csv").write_bytes("x,granted\n£1,0\n£2,1\n£5,0\n".encode("cp1252"))
    copy = tmp_path / "mended.csv"
    said = "".join(run(tmp_path / "two.csv", "--encoding", "cp1252", "--fix", copy).output.split())
    assert f"likewiseplay{copy}--labelgranted" in said


def test_the_ends_of_whole_and_other_numbers_are_written_alike(tmp_path):
    (tmp_path / "two.csv").write_text("whole,other,granted\n5,5.5,0\n81000,41667.25,1\n6,7.5,0\n")
    said = run(tmp_path / "two.csv").output
    assert "5 to 81,000" in said
    assert "5.5 to 41,667.2" in said


def test_the_command_to_try_works_where_names_have_commas(tmp_path):
    (tmp_path / "two.csv").write_text('"x, yearly","y",granted\n1,2,0\n2,7,1\n5,3,0\n')
    said = " ".join(run(tmp_path / "two.csv").output.split())
    (command,) = re.findall("(likewise play .*)$", said)
    assert listed(shlex.split(command)[-1]) == ("x, yearly", "y")


def test_a_file_without_a_column_of_two_values_says_what_to_do(tmp_path):
    (tmp_path / "few.csv").write_text("x\n1\n2\n3\n")
    assert "--positive" in run(tmp_path / "few.csv").output


def in_one_sentence(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["likewise", "data", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    return " ".join(capsys.readouterr().err.split())


def test_wrong_names_and_files_are_one_sentence(monkeypatch, capsys, tmp_path):
    assert in_one_sentence(monkeypatch, capsys, "titanic") == (
        "The first argument must be one of adult, compas, german, mortgage, renters, resumes, synthetic, or a file, "
        "got 'titanic'."
    )
    assert "The file must exist, got" in in_one_sentence(monkeypatch, capsys, tmp_path / "people.csv")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    assert "Expected 2 fields in line 3" in in_one_sentence(monkeypatch, capsys, tmp_path / "ragged.csv")


def test_data_that_can_not_be_had_is_one_sentence(monkeypatch, capsys):
    def unavailable(name):
        raise DataUnavailable("loanapp.csv.bz2 could not be found: no network.")

    monkeypatch.setattr(datasets, "load", unavailable)
    assert in_one_sentence(monkeypatch, capsys, "mortgage") == "loanapp.csv.bz2 could not be found: no network."


# The look at a file ------------------------------------------------------------------------------------------------


@pytest.fixture
def leaky(tmp_path, monkeypatch):
    """Applicants with a column that was written down after the outcome, and one of their sex."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    income = rng.normal(50, 9, 600)
    people = pd.DataFrame({"income": income, "debt": rng.normal(9, 2, 600), "sex": rng.choice(["f", "m"], 600)})
    people["approved"] = (income + rng.normal(0, 9, 600) > 50).astype(int)
    people["letter sent"] = np.where(people["approved"] == 1, "welcome", "sorry")
    people.to_csv("people.csv", index=False)
    return "people.csv"


def test_the_look_names_each_mend_and_a_command_with_all_of_them(leaky):
    said = " ".join(run(leaky).output.split())
    assert "letter sent is approved itself, in every row. [--drop 'letter sent']" in said
    assert "sex looks protected" in said
    assert "Here it is taken to be approved; --label names another." in said
    assert said.endswith("--label approved --compare-by income,debt --drop 'letter sent' --sensitive sex")


def test_a_label_that_is_named_is_looked_at_and_a_wrong_name_is_one_sentence(leaky, monkeypatch, capsys):
    findings = json.loads(run(leaky, "--label", "sex", "--json").output)["findings"]
    assert [finding["kind"] for finding in findings] == ["protected", "twins"]
    assert "The label sex looks like a person's sex" in findings[0]["sentence"]
    assert in_one_sentence(monkeypatch, capsys, leaky, "--label", "aproved").startswith("`--label` must be one of")


def test_the_start_of_a_play_says_the_same_and_the_options_to_copy_silence_it(leaky, monkeypatch):
    def play(*more):
        words = ["play", leaky, "--label", "approved", "--compare-by", "income,debt", "--rounds", "6", "--no-pictures"]
        done = CliRunner(env={"COLUMNS": "100"}).invoke(
            cli.app, [*words, "--class", "thresholds", "--cuts", "3", *more]
        )
        assert done.exit_code == 0, done.output
        return done.output

    assert "letter sent is approved itself, in every row. [--drop 'letter sent']" in play()
    silent = play("--drop", "letter sent", "--sensitive", "sex")
    assert "approved itself" not in silent
    assert "protected" not in silent


def test_a_play_reads_another_encoding_and_keeps_it_in_its_settings(leaky):
    frame = pd.read_csv(leaky).rename(columns={"income": "Einkünfte"}).drop(columns="letter sent")
    frame.to_csv("latin.csv", index=False, encoding="latin-1")
    words = ["play", "latin.csv", "--encoding", "latin-1", "--label", "approved", "--compare-by", "Einkünfte"]
    short = ["--rounds", "6", "--no-pictures", "--class", "thresholds", "--cuts", "3"]
    assert CliRunner().invoke(cli.app, [*words, *short]).exit_code == 0
    again = CliRunner().invoke(cli.app, ["play", "--again", "latin-run", "--no-pictures"])
    assert "Identical to latin-run, bit for bit." in again.output
    scored = ["score", "latin-run/policy.json", "latin.csv", "--encoding", "latin-1", "--out", "scores.csv"]
    assert CliRunner().invoke(cli.app, scored).exit_code == 0


def test_runs_from_before_encodings_are_in_utf_8():
    from likewise.experiments.runs import Settings

    kept = Settings(source="people.csv").to_dict()
    del kept["encoding"]
    assert Settings.from_dict(kept).encoding == ""


def test_without_openpyxl_a_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    (tmp_path / "people.xlsx").write_bytes(b"PK")
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(NotSupported, match="pip install openpyxl"):
        datasets.read_people(tmp_path / "people.xlsx")


def test_numbers_are_shown_as_people_write_them(tmp_path):
    frame = pd.DataFrame({"height": np.float32([34.8, 1234567.5, 0.1])})
    frame.to_parquet(tmp_path / "people.parquet")
    assert "0.1 to 1,234,568" in " ".join(run(tmp_path / "people.parquet").output.split())
