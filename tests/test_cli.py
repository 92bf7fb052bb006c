"""The command on a stranger's file: it works, it says what is wrong in one sentence, and its exit codes are kept."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise import cli
from likewise.errors import LikewiseError
from likewise.experiments.runs import Run, RunFolder
from likewise.experiments.runs.deployed import deployed

Command = Callable[..., tuple[int, str, str]]
COMMANDS = ("certify", "compare", "data", "demo", "frontier", "play", "reproduce", "score")


def strangers(n: int) -> pd.DataFrame:
    """Mixed kinds, accents, gaps, ids, dates, a column that never changes and one that is never known."""
    rng = np.random.default_rng(1)
    income = rng.lognormal(10.3, 0.5, n).round(2)
    debt = (income * rng.beta(2, 5, n)).round(2)
    group = rng.integers(0, 2, n)
    granted = np.log(income) - 10.3 - 2 * (debt / income - 0.28) + 0.6 * group + 0.4 * rng.normal(size=n) > 0
    table = pd.DataFrame(
        {
            "application_id": [f"A-{i:07d}" for i in range(n)],
            "received": pd.date_range("2020-01-01", periods=n, freq="15min").strftime("%Y-%m-%d"),
            "age": rng.integers(18, 90, n).astype(float),
            "income": income,
            "debt": debt,
            "région": rng.choice(["Zürich", "Genève", "São Paulo, BR", ""], n),
            "owner": rng.choice([True, False], n),
            "group": np.where(group == 1, "α", "β"),
            "country": "CH",
            "comment": "",
            "approved": np.where(granted, "yes", "no"),
        }
    )
    table.loc[rng.random(n) < 0.07, "income"] = np.nan
    table.loc[rng.random(n) < 0.02, "age"] = np.nan
    return table


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder with a stranger's small file in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    strangers(600).to_csv("people.csv", index=False)
    return tmp_path


@pytest.fixture
def run(capsys) -> Command:
    """Run the command: exit code, standard output, standard error."""

    def command(*words: str) -> tuple[int, str, str]:
        try:
            cli.main([str(word) for word in words])
            code = 0
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


PEOPLE = ("people.csv", "--label", "approved", "--compare-by", "income,debt")
SHORT = (*PEOPLE, "--rounds", "60", "--class", "thresholds", "--cuts", "6", "--no-pictures")


@pytest.mark.parametrize("people", [3000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_a_strangers_people_are_played_and_everything_is_written(people, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    strangers(people).to_csv("people.csv", index=False)
    code, said, _ = run("play", *PEOPLE)
    assert code == 0, said
    files = {path.name for path in Path("people-run").iterdir()}
    assert {"settings.json", "transcript.npz", "certificate.json", "certificate.txt", "policy.json"} <= files
    assert {"figures", "report.html", "result.json"} <= files
    assert not any(name.startswith("unfinished") or name == "parts" for name in files)
    result = json.loads(Path("people-run/result.json").read_text())
    assert result["rounds"] == 2000
    # The stranger's group decides a part of the label, so fairness by income and debt costs something.
    assert result["best_error_per_person"] < result["best_fair_error_per_person"] < 0.45
    assert result["violations_in_the_last_quarter"] < result["violations"] < 400
    assert "1 means that approved is yes" in said
    for column in ("application_id", "received", "country", "comment"):
        assert f"The column {column} is not used" in said
    page = Path("people-run/report.html").read_text(encoding="utf-8")
    assert "likewise play --again people-run" in page
    assert len(list(Path("people-run/figures").glob("*.png"))) >= 5


def test_a_run_repeated_is_the_same_and_a_changed_one_is_noticed(here, run):
    assert run("play", *SHORT, "--seed", "3")[0] == 0
    code, said, _ = run("play", "--again", "people-run", "--no-pictures")
    assert code == 0
    assert "Identical to people-run, bit for bit" in said
    for name in ("transcript.npz", "certificate.json", "policy.json", "result.json"):
        assert Path("people-run", name).read_bytes() == Path("people-run-again", name).read_bytes(), name
    t = lw.Transcript.load("people-run/transcript.npz")
    t.shown[6 * 30] += 1e-15
    t.save("people-run/transcript.npz")
    code, said, words = run("play", "--again", "people-run", "--no-pictures", "--json")
    assert code == 1
    told = json.loads(said)
    assert told["identical"] is False
    assert "round 31" in told["difference"]
    assert "round 31" in words


def test_a_run_is_stopped_and_goes_on(here, run, monkeypatch):
    assert run("play", *SHORT, "--out", "whole")[0] == 0
    kept = RunFolder.add_part

    def pressed(folder, part):
        kept(folder, part)
        raise KeyboardInterrupt

    monkeypatch.setattr("likewise.experiments.runs.settings.rounds_in_a_part", lambda learner, T: 16)
    monkeypatch.setattr("likewise.experiments.runs.rounds_in_a_part", lambda learner, T: 16)
    assert run("play", *SHORT, "--out", "parts")[0] == 0
    monkeypatch.setattr(RunFolder, "add_part", pressed)
    code, said, _ = run("play", *SHORT, "--out", "stopped")
    assert code == 130
    assert "16 rounds are safe in stopped; continue with: likewise play --resume stopped" in said
    code, said, _ = run("play", "--resume", "stopped", "--no-pictures", "--json")
    assert code == 130
    assert json.loads(said) == {
        "folder": "stopped", "finished": False, "rounds": 32, "resume": "likewise play --resume stopped",
    }  # fmt: skip
    assert "appendix: a play of 32 rounds" in run("certify", "stopped")[1].lower()
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert run("play", "--resume", "stopped", "--no-pictures")[0] == 0
    assert Path("stopped/transcript.npz").read_bytes() == Path("parts/transcript.npz").read_bytes()
    assert Path("stopped/result.json").read_bytes() == Path("parts/result.json").read_bytes()
    code, said, _ = run("play", "--resume", "stopped", "--no-pictures", "--json")
    assert code == 0
    assert json.loads(said)["finished"] is True


def test_ctrl_c_before_the_first_round_leaves_nothing(here, run, monkeypatch):
    def pressed(path, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("likewise.datasets.read_people", pressed)
    code, said, _ = run("play", *SHORT)
    assert code == 130
    assert "Nothing had been played yet" in said
    assert not Path("people-run").exists()


# A person at the terminal ------------------------------------------------------------------------------------------


def test_a_person_is_asked_and_may_stop_and_go_on(here, run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("2 2\n1 6\n\ns\nq\n"))
    # With a fixed penalty the first rounds already have gaps; the default learner starts fair, and would ask nobody.
    asked = ("--rounds", "8", "--penalty", "5", "--ask", "--show", "région", "--out", "asked")
    code, said, _ = run("play", *SHORT, "--pictures", *asked)
    assert code == 0, said
    # The column of rows is wide: its name may be broken into two lines.
    assert re.search(r"probability ┃\s+(row of )?people\.csv ┃\s+income ┃\s+debt ┃\s+région", said)
    assert "Please name two different people" in said
    assert "Stopped for now; continue with: likewise play --resume asked" in said
    answers = [json.loads(line)["answer"] for line in Path("asked/answers.jsonl").read_text().splitlines()]
    # Rounds in which nobody is further apart than the level are not asked about, and answer None.
    pair, *_, last = [answer for answer in answers if answer is not None]
    assert (len(pair), last, None in answers) == (2, "skipped", True)
    assert Path("asked/report.html").exists()
    # The input ends: as if the person had stopped.
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    code, said, _ = run("play", "--resume", "asked", "--no-pictures", "--json")
    assert code == 0
    assert json.loads(said)["rounds"] == len(answers) + 1
    monkeypatch.setattr("sys.stdin", io.StringIO("\n" * 8))
    code, said, _ = run("play", "--resume", "asked", "--no-pictures", "--json")
    assert code == 0
    assert json.loads(said)["finished"] is True
    assert json.loads(said)["not_reviewed"] == 1
    code, said, _ = run("play", "--again", "asked", "--no-pictures", "--json")
    assert (code, json.loads(said)["identical"]) == (0, True)
    code, said, _ = run("frontier", "asked", "--alphas", "0.1")
    assert code == 0
    assert "a person, whose distance nobody knows" in said


def test_ctrl_c_at_the_question_loses_no_answer(here, run, monkeypatch):
    class Pressed(io.StringIO):
        def readline(self, *_: Any) -> str:
            line = super().readline()
            if not line:
                raise KeyboardInterrupt
            return line

    monkeypatch.setattr("sys.stdin", Pressed("\n\n"))
    code, said, _ = run("play", *SHORT, "--ask", "--out", "asked")
    assert code == 130
    lines = Path("asked/answers.jsonl").read_text().splitlines()
    assert len(lines) >= 2
    assert f"{len(lines)} rounds are safe in asked" in said


# Certificates and frontiers ----------------------------------------------------------------------------------------


def test_the_certificate_of_a_run_is_the_librarys(here, run):
    run("play", *SHORT)
    code, said, _ = run("certify", "people-run", "--delta", "0.01")
    t = lw.Transcript.load("people-run/transcript.npz")
    assert code == 0
    expected = lw.certify(t, delta=0.01)
    assert said.strip() == f"{expected}\n\n\n{expected.appendix()}"
    code, said, _ = run("certify", "people-run/transcript.npz", "--json")
    assert json.loads(said) == lw.certify(t).to_dict()
    code, said, _ = run("certify", "people-run", "--json")
    assert json.loads(said) == json.loads(Path("people-run/certificate.json").read_text())
    assert json.loads(said)["choice"]["people"] == 300
    _, said, _ = run("certify", "people-run")
    letter, _, appendix = Path("people-run/certificate.txt").read_text().partition("\n\n\n")
    assert said.startswith(letter)
    assert "Reported pairs, the closest first" in appendix


def test_a_run_of_models_is_certified_without_its_people_and_without_its_models(here, run):
    assert run("play", *SHORT, "--class", "models", "--rounds", "20")[0] == 0
    expected = json.loads(Path("people-run/certificate.json").read_text())
    Path("people.csv").rename("away.csv")
    code, said, _ = run("certify", "people-run", "--json")
    assert code == 0
    assert json.loads(said) == expected
    Path("people-run/models.zip").unlink()
    code, said, _ = run("certify", "people-run", "--json")
    assert code == 0
    assert json.loads(said) == expected


@pytest.mark.parametrize("hypotheses", ["suggested", "thresholds", "cells", "models"])
def test_the_policy_that_was_chosen_scores_the_file_that_it_was_learned_on(hypotheses, here, run):
    assert run("play", *SHORT, "--class", hypotheses, "--rounds", "20")[0] == 0
    code, _, problem = run("score", "people-run/policy.json", "people.csv", "--out", "scores.csv")
    assert code == 0, problem
    played = Run.resume(Path("people-run"))
    t = played.transcript()
    assert t is not None
    expected = deployed(played.setup, t).policy.probability(played.setup.built.X)
    np.testing.assert_allclose(pd.read_csv("scores.csv")["probability"], expected, atol=1e-12)


def test_a_small_class_that_holds_centres_can_be_asked_for(here, run):
    """The library makes the same one, also after the command has gone."""
    code, _, problem = run("play", *SHORT, "--class", "suggested", "--rounds", "20", "--small", "--anchors", "centres")
    assert code == 0, problem
    said = Path("people-run/class.txt").read_text()
    assert "no single person: averages over five people or more" in said
    assert "smooth labels" not in said
    table = pd.read_csv("people.csv")
    names = {"label": "approved", "positive": "yes", "compare_by": ["income", "debt"]}
    fitted = lw.fit(table, **names, rounds=20, cuts=6, small=True, anchors="centres")
    assert fitted.hypotheses.to_dict() == Run.resume(Path("people-run")).setup.built.deployed.to_dict()


def test_while_a_class_is_fitted_a_bar_takes_the_place_of_the_status():
    from rich.console import Console

    from likewise.cli.options import FITTING, reading

    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with reading(console) as fitting:
        for done in (1, 2):
            fitting(done, 17)
    drawn = console.file.getvalue()
    assert drawn.index("Reading the people") < drawn.index(FITTING) < drawn.index("2/17")


def test_the_frontier_of_a_file_is_the_one_of_a_run_on_it_and_falls(here, run):
    run("play", *SHORT)
    code, said, _ = run("frontier", "people-run", "--alphas", "0,0.1,0.3", "--json")
    assert code == 0
    found = json.loads(said)
    errors = [point["error"] for point in found["points"]]
    assert errors == sorted(errors, reverse=True)
    assert all(p["lower_limit"] <= p["error"] + 1e-6 for p in found["points"])
    assert found["best_error"] <= errors[-1] + 1e-9
    assert Path(found["picture"]).read_bytes().startswith(b"\x89PNG")
    result = json.loads(Path("people-run/result.json").read_text())
    assert found["points"][1]["error_per_person"] == pytest.approx(result["best_fair_error_per_person"])
    code, said, _ = run("frontier", *SHORT[:-1], "--alphas", "0,0.1,0.3", "--json")
    assert code == 0
    assert [point["error"] for point in json.loads(said)["points"]] == pytest.approx(errors)
    code, said, _ = run("frontier", "people-run")
    assert "per person" in said
    assert "people-run/figures/frontier.png" in said


# One sentence ------------------------------------------------------------------------------------------------------


def written(name: str, content: bytes) -> None:
    Path(name).write_bytes(content)


BAD = {
    "a label that is nearly there": ("play people.csv --label aproved --compare-by debt", "did you mean 'approved'?"),
    "a label that is nowhere": ("play people.csv --label zzz --compare-by debt", "the columns are application_id"),
    "no label": ("play people.csv --compare-by debt", "`--label` must name the column"),
    "a label of four values": ("play people.csv --label région --compare-by debt", "with two values"),
    "a label of numbers": ("play people.csv --label debt --compare-by income", "with two values"),
    "nothing to compare by": ("play people.csv --label approved", "`--compare-by` must name the columns"),
    "no such label, nothing to compare by": (
        "play people.csv --label nope",
        "`--label` must be a column of people.csv",
    ),
    "nearly a column": ("play people.csv --label approved --compare-by Income,dept", "did you mean 'income'?"),
    "a yes in several spellings": ("play spelled.csv --label a --compare-by b", "`--label` must have one spelling"),
    "ids to compare by": ("play people.csv --label approved --compare-by application_id", "free text or an id"),
    "the label to compare by": ("play people.csv --label approved --compare-by approved", "not hold the label"),
    "an unknown positive": ("play OURS --positive maybe", "`--positive` must be one of"),
    "no such file": ("play nobody.csv --label a --compare-by b", "got 'nobody.csv', which is neither"),
    "nothing at all": ("play", "The first argument must be a file"),
    "an empty file": ("play empty.csv --label a --compare-by b", "at least one person"),
    "only a head": ("play head.csv --label a --compare-by b", "at least one person"),
    "not UTF-8": ("play latin.csv --label a --compare-by b", "UTF-8"),
    "another kind of file": ("play people.ods --label a --compare-by b", "The file must end in one of"),
    "an Excel file that is none": ("play people.xlsx --label a --compare-by b", "must be an Excel file"),
    "too few people": (
        "play few.csv --label a --compare-by b",
        "at least k = 6 people to play, got '3 people: 1 to fit, 1 to play, 1 held out'",
    ),
    "an unknown class": ("play OURS --class forest", "`--class` must be one of"),
    "an unknown learner": ("play OURS --learner sgd", "`--learner` must be one of"),
    "alpha of zero": ("play OURS --alpha 0", "`--alpha` must be in (0, 1]"),
    "a margin beyond alpha": ("play OURS --margin 0.3", "`--margin` must be in [0, 0.1]"),
    "costs in words": ("play OURS --costs one,two", "`--costs` must be two numbers"),
    "units in words": ("play OURS --units income:3", "`--units` must look like"),
    "unknown units": ("play OURS --units incom=3", "did you mean 'income'?"),
    "showing the label": ("play OURS --ask --show approved", "neither the label nor dropped"),
    "noise and a person": ("play OURS --ask --misses 0.1", "`--ask` must be left out"),
    "a label for a built-in": ("play synthetic --label x", "left out with a built-in data set"),
    "no run to resume": ("play --resume nowhere", "has no settings.json"),
    "a change on resume": ("play --resume nowhere --rounds 9", "`--rounds` must be left out with --resume"),
    "a change on again": ("play --again nowhere --alpha 0.2", "`--alpha` must be left out with --again"),
    "a folder inside a file": ("play OURS --out people.csv/run", "`--out` must be a folder that can be written"),
    "no run to certify": ("certify nowhere", "has no settings.json"),
    "no transcript to certify": ("certify people.csv", "must be a saved transcript"),
    "levels in words": ("frontier synthetic --alphas low", "`--alphas` must be numbers"),
    "a level beyond one": ("frontier synthetic --alphas 2 --rounds 5", "numbers from 0 to 1"),
}


@pytest.mark.parametrize(("words", "says"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_sentence_that_says_what_to_do(words, says, here, run):
    written("empty.csv", b"")
    written("head.csv", b"a,b\n")
    written("latin.csv", "a,b\n1,Z\xfcrich\n".encode("latin-1"))
    written("people.xlsx", b"PK")
    written("people.ods", b"PK")
    written("spelled.csv", b"a,b\nyes,3\nYes,4\nno,5\n")
    written("few.csv", b"a,b\n1,3\n0,4\n1,5\n")
    code, said, problem = run(*words.replace("OURS", " ".join(PEOPLE)).split())
    assert code == 2, said
    assert says in problem
    assert problem.count("\n") == 1, problem
    assert problem.rstrip().endswith((".", "?"))
    assert not any(path.is_dir() for path in here.iterdir()), "nothing is left behind"


def test_debug_shows_the_whole_traceback(here):
    with pytest.raises(LikewiseError):
        cli.main(["play", "nobody.csv", "--debug"])


def test_a_disk_that_fails_is_one_sentence_too(here, run, monkeypatch):
    def full(folder, part):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunFolder, "add_part", full)
    code, _, problem = run("play", *SHORT)
    assert code == 2
    assert "No space left on device" in problem
    assert problem.count("\n") == 1


# Promises of the command -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_whose_options_exist(command, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    code, said, _ = run(command, "--help")
    assert code == 0
    body, _, examples = said.partition("Examples:")
    assert examples.count(f"likewise {command}") >= 2
    assert "--json" in body
    for option in set(re.findall(r"--[a-z-]+", examples)):
        assert option in body, option


def test_with_json_standard_output_is_one_object_and_nothing_else(here, run):
    code, said, words = run("play", *SHORT, "--json")
    assert code == 0
    assert json.loads(said)["folder"] == "people-run"
    assert "people; 1 means" in words


def test_runs_get_folders_of_their_own(here, run):
    assert [json.loads(run("play", *SHORT, "--json")[1])["folder"] for _ in range(2)] == ["people-run", "people-run-2"]


def test_without_matplotlib_a_run_still_ends_and_says_what_is_missing(here, run, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "matplotlib" else found(name))
    code, said, _ = run("play", *SHORT, "--pictures")
    assert code == 0
    assert "pip install matplotlib" in " ".join(said.split())
    assert Path("people-run/certificate.txt").exists()
    assert not Path("people-run/report.html").exists()


def test_the_command_answers_help_without_loading_the_library():
    code = "import sys; from likewise import cli; sys.exit('pandas' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["german", "mortgage", "compas", "adult", "renters", "resumes", "synthetic"])
def test_every_built_in_data_set_can_be_played(name, tmp_path, run, monkeypatch):
    from likewise.errors import DataUnavailable

    monkeypatch.chdir(tmp_path)
    try:
        lw.datasets.load(name)
    except DataUnavailable as error:
        pytest.skip(str(error))
    # The class that is suggested takes most of the time: once is enough.
    quick = () if name == "german" else ("--class", "thresholds")
    code, said, problem = run("play", name, "--rounds", "20", "--no-pictures", "--json", *quick)
    assert code == 0, problem
    assert json.loads(said)["rounds"] == 20


def test_a_bar_is_drawn_for_people_and_not_into_files():
    from rich.console import Console

    from likewise.cli.output import bar

    def drawn(terminal, **how):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=80)
        with bar("Checking", console, **how) as told:
            told(3, 10)
        return console.file.getvalue()

    assert "3/10" in drawn(True, hidden=False)
    assert "3/10" in drawn(False, hidden=False, stays=True)
    assert drawn(False, hidden=False) == ""
    assert drawn(True, hidden=True) == ""
