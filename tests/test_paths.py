"""Every path of the library and the command: no number about new people from people who came more than once."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import likewise as lw
from likewise import cli, datasets

ROUNDS = "60"
NEW = re.compile(r"new (people|person)", re.IGNORECASE)
PLAY = ("--label", "label", "--compare-by", "a,b", "--rounds", ROUNDS, "--cuts", "4")
PATHS = ("play", "resume", "again", "certify", "frontier", "frontier of people", "compare", "report", "certificate",
         "result", "policy", "library")  # fmt: skip


def noise(rows: int, times: int = 1) -> pd.DataFrame:
    """Three numbers and a coin for a label, everybody so many times."""
    rng = np.random.default_rng(rows)
    table = pd.DataFrame(rng.random((rows, 3)).round(6), columns=["a", "b", "c"]).assign(label=rng.integers(0, 2, rows))
    return pd.concat([table.assign(who=np.arange(rows))] * times, ignore_index=True)


def said(*words: str) -> str:
    done = CliRunner().invoke(cli.app, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def every_path(table: pd.DataFrame, *options: str) -> dict[str, str]:
    """What a person can read on each path, from a file of these people in the folder that we are in."""
    with_ids = "--id" in options
    (table if with_ids else table.drop(columns="who")).to_csv("people.csv", index=False)
    given = ("people.csv", *PLAY, *options)
    texts = {"play": said("play", *given), "resume": said("play", "--resume", "people-run")}
    texts |= {"again": said("play", "--again", "people-run", "--no-pictures"), "certify": said("certify", "people-run")}
    texts["frontier"] = said("frontier", "people-run")
    texts["frontier of people"] = said("frontier", *given)
    texts["compare"] = said("compare", *given, "--seeds", "1", "--jobs", "1")
    texts["report"] = read("people-run/report.html")
    texts["certificate"] = read("people-run/certificate.txt")
    texts["result"], texts["policy"] = read("people-run/result.json"), read("people-run/policy.json")
    texts["library"] = str(lw.certify(library_play(table)))
    return texts


def library_play(table: pd.DataFrame, order: str = "draws") -> lw.Transcript:
    X = table[["a", "b", "c"]].to_numpy()
    learner = lw.AdaHedge(lw.Thresholds.quantiles(X, cuts=4), k=6, alpha=0.1, T=500)
    people = lw.IID(X, table["label"], k=6, ids=table["who"], order=order)
    return lw.play(learner, people, lw.MetricAuditor("cityblock", 0.1))


def sentences(text: str) -> list[str]:
    """What a person reads, sentence by sentence; a table's cell, a JSON value and a line of their own are sentences."""
    if text.lstrip().startswith("<!doctype"):
        text = html.unescape(re.sub(r"<[^>]*>", "\n\n", re.sub(r'src="data:[^"]*"', "", text)))
    elif text.lstrip().startswith("{"):
        text = re.sub(r'[{}\[\],]\s*"|"\s*[:,]', "\n\n", text)
    text = re.sub(r"[^\n]*(━|Playing)[^\n]*", "\n", text)  # progress bars
    lines = re.sub(r"(?<!\n)\n(?!\n)", " ", text)
    return [" ".join(part.split()) for part in re.split(r"\n\n+|(?<=[.?!:;]) +", lines)]


def numbered(text: str) -> list[str]:
    """Sentences about new people with a number in them."""
    return [sentence for sentence in sentences(text) if NEW.search(sentence) and re.search(r"\d", sentence)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "100")
        yield lambda name: patch.chdir(tmp_path_factory.mktemp(name))


FILES = {
    "forty people": (noise(40), ()),
    "forty people ten times, with ids": (noise(40, 10), ("--id", "who")),
    "forty people ten times, without": (noise(40, 10), ()),
}


@pytest.fixture(
    scope="module",
    params=[name if "with ids" not in name else pytest.param(name, marks=pytest.mark.slow) for name in FILES],
)
def texts(request, folder):
    table, options = FILES[request.param]
    folder("few")
    return every_path(table, *options)


@pytest.mark.parametrize("path", PATHS)
def test_no_path_gives_a_number_about_new_people_from_forty_people(path, texts):
    assert numbered(texts[path]) == []


def test_no_stored_number_is_about_new_people(texts):
    result = json.loads(texts["result"])
    assert result["error_on_new_people"] is None
    assert result["fair_to_new_people"] is None
    choice = result["choice"]
    assert not choice["claims_made"]
    assert choice["recommended"] in ("always no", "always yes"), "nothing was shown to be better"
    assert choice["constant_error_limit"] is None
    assert all(one["error_limit"] is None and one["unfair_limit"] is None for one in choice["candidates"])
    for row in result["scoreboard"]["rows"]:
        assert [row[name] for name in ("error_low", "error_high", "unfair_low", "unfair_high")] == [None] * 4


def test_the_first_line_says_that_nothing_is_claimed(texts):
    assert "Nothing is claimed about new people" in " ".join(texts["play"].split())


@pytest.fixture(scope="module")
def enough(folder):
    folder("enough")
    return every_path(noise(400), "--id", "who")


@pytest.mark.parametrize("path", ["play", "resume", "again", "compare"])
def test_enough_people_held_out_speak_for_new_ones(path, enough):
    """So that the tests above are about something: the same words, from a file of four hundred."""
    assert numbered(enough[path])


def test_what_four_hundred_people_say_rests_on_those_held_out(enough):
    result = json.loads(enough["result"])
    assert result["people"] == {"to_fit": 100, "to_play": 100, "held_out": 200}
    assert result["choice"]["people"] == result["scoreboard"]["people"] == 200
    assert result["choice"]["claims_made"]
    assert result["error_on_new_people"] is None, "of the play's hundred people 96 came in the first pass"


@pytest.mark.parametrize("order", ["draws", "passes"])
@pytest.mark.parametrize("rows", [40, 90])
def test_the_library_claims_nothing_from_people_who_came_again(rows, order):
    assert numbered(str(lw.certify(library_play(noise(rows), order)))) == []


def test_the_demo_on_few_people_claims_nothing(folder, monkeypatch):
    folder("demo")
    few = datasets.synthetic(180)
    monkeypatch.setattr(datasets, "synthetic", lambda: few)
    text = said("demo", "--synthetic", "--rounds", "100", "--out", "demo")
    assert numbered(text) == []
    assert "Nothing is claimed about new people" in " ".join(text.split())
