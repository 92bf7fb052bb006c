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
from likewise.errors import DataUnavailable


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
        "`source` must be one of adult, compas, german, mortgage, synthetic, or a file, got 'titanic'."
    )
    assert "which does not exist" in in_one_sentence(monkeypatch, capsys, tmp_path / "people.csv")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    assert "Expected 2 fields in line 3" in in_one_sentence(monkeypatch, capsys, tmp_path / "ragged.csv")


def test_data_that_can_not_be_had_is_one_sentence(monkeypatch, capsys):
    def unavailable(name):
        raise DataUnavailable("loanapp.csv.bz2 could not be found: no network.")

    monkeypatch.setattr(datasets, "load", unavailable)
    assert in_one_sentence(monkeypatch, capsys, "mortgage") == "loanapp.csv.bz2 could not be found: no network."
