"""A sweep gives the same numbers wherever it runs and however often it is killed; its table and picture are honest."""

from __future__ import annotations

import csv
import dataclasses
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from joblib._parallel_backends import ThreadingBackend
from typer.testing import CliRunner

from likewise import cli, datasets
from likewise.auditors import MetricAuditor, named_metric
from likewise.errors import InvalidParameter, LikewiseError, NotSupported
from likewise.experiments.compare import LEARNERS, Mean, Recipe, Results, Sweep, Trial, compare
from likewise.experiments.compare.arena import try_out
from likewise.experiments.compare.measures import lottery, share_of_gain, unfair_across, violating
from likewise.experiments.compare.run import _same_version
from likewise.game import play
from likewise.hindsight import best_of_any
from likewise.learners import Unconstrained

SMALL = Sweep(learners=("adahedge", "unconstrained"), penalties=(None, 20.0), seeds=(0, 1), rounds=60, people=4)
RECIPE = Recipe("thresholds", cuts=6)


@pytest.fixture(scope="module")
def data():
    return datasets.synthetic(1200)


@pytest.fixture(scope="module")
def arena(data):
    return RECIPE.prepare(data, 4)


@pytest.fixture(scope="module")
def expected(data, tmp_path_factory):
    """The small sweep, one trial after another in this process."""
    return numbers(compare(SMALL, data, tmp_path_factory.mktemp("here"), recipe=RECIPE, jobs=1).results)


def numbers(results):
    """What must be the same on every machine: everything but the seconds."""
    return [{name: value for name, value in result.items() if name != "seconds"} for result in results]


def trial(**changes) -> Trial:
    usual = {"learner": "adahedge", "C": None, "margin": 0.0, "alpha": 0.1, "auditor": "worst", "seed": 0}
    return Trial(**usual | {"rounds": 100, "people": 4, "draws": 50} | changes)


# What is tried --------------------------------------------------------------------------------------------------


def test_everything_is_tried_with_everything_and_a_learner_without_penalties_once():
    sweep = Sweep(learners=("hedge", "tilted"), penalties=(1.0, 2.0, None), margins=(0.0, 0.05), alphas=(0.1, 0.2),
                  auditors=("worst", "noisy:0.1"), seeds=(3, 4, 5))  # fmt: skip
    trials = sweep.trials()
    assert len(trials) == len(set(trials)) == (3 + 1) * 2 * 2 * 2 * 3
    assert {t.C for t in trials if t.learner == "tilted"} == {None}
    third = len(trials) // 3
    assert {t.seed for t in trials[:third]} == {3}, "one seed of everything comes first"


def test_a_key_names_a_trial_its_people_and_the_version():
    one = trial()
    others = [
        dataclasses.replace(one, **change) for change in ({"C": 2.0}, {"seed": 1}, {"alpha": 0.2}, {"rounds": 99})
    ]
    keys = {one.key("people", "1"), one.key("other people", "1"), one.key("people", "2")}
    assert len(keys | {other.key("people", "1") for other in others}) == 7
    assert one.key("people", "1") == trial().key("people", "1")


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("C", [None, 5.0])
def test_every_learner_plays_and_its_regret_is_below_what_the_play_proves(arena, learner, C):
    found = try_out(trial(learner=learner, C=C if LEARNERS[learner].has_penalty else None), arena)
    assert 0 < found["error"] < 0.6
    assert found["violations"] == found["reports"], "the worst pair is reported in every round that has one"
    if found["proved_below"] is not None:
        assert found["regret"] <= found["proved_below"] + 1e-6


def test_a_violation_counts_whether_or_not_it_is_reported(arena):
    t = play(Unconstrained(arena.hypotheses, k=4, T=100), arena.environment, MetricAuditor(arena.distance, 0.1), 100)
    np.testing.assert_array_equal(violating(t, arena.distance), t.violations)
    assert t.violations.any()
    silent = try_out(trial(learner="unconstrained", auditor="misses:1"), arena)
    assert (silent["reports"], silent["violations"]) == (0, t.violations.sum())


def test_unfair_pairs_across_rounds_are_those_of_people_who_came_on_different_days(arena):
    t = play(Unconstrained(arena.hypotheses, k=4, T=100), arena.environment, MetricAuditor(arena.distance, 0.1), 100)
    people, p = np.arange(300, 400), t.shown[300:]
    apart = np.abs(p[:, None] - p) - named_metric(arena.distance)(t.view[people]) > 0.1
    elsewhere = (people[:, None] // 4) != (people // 4)
    assert unfair_across(t, arena.distance) == pytest.approx((apart & elsewhere).sum() / elsewhere.sum())
    assert unfair_across(dataclasses.replace(t, shown=np.full(400, 0.3)), arena.distance) == 0
    assert lottery(dataclasses.replace(t, shown=np.full(400, 0.25))) == pytest.approx(2 * 0.25 * 0.75)
    assert lottery(dataclasses.replace(t, shown=np.round(t.shown))) == 0


def test_the_share_of_gain_is_0_for_a_constant_and_1_for_the_best_of_any(arena):
    t = play(Unconstrained(arena.hypotheses, k=4, T=100), arena.environment, MetricAuditor(arena.distance, 0.1), 100)
    rows = arena.environment.draws(0, 1, 100).ravel()
    q = arena.label_probabilities[rows]
    last = np.arange(300, 400)
    chosen = last[np.sort(np.unique(rows[last], return_index=True)[1])]
    best = best_of_any(t.view[chosen], q[chosen], arena.distance, 0.1)
    shown = np.zeros(400)
    shown[chosen] = best.probabilities
    assert share_of_gain(dataclasses.replace(t, shown=shown), arena) == pytest.approx(1)
    constant = np.full(400, float(q[chosen].mean() > 0.5))
    assert share_of_gain(dataclasses.replace(t, shown=constant), arena) == pytest.approx(0, abs=1e-9)


def test_methods_that_go_batch_by_batch_are_fair_in_each_and_not_across():
    data = datasets.synthetic(1500)
    arena = RECIPE.prepare(data, 4)
    found = try_out(trial(learner="batchwise", rounds=200), arena)
    assert found["violations"] == 0
    assert found["unfair_across"] > 0.01
    assert (found["told"], found["answers"]) == ("the distance", None)
    deaf, heard = (try_out(trial(learner=name), arena) for name in ("unconstrained", "adahedge"))
    assert [(d["told"], d["answers"]) for d in (deaf, heard)] == [("labels only", 0), ("pairs, share of labels", 100)]
    assert heard["late_violations"] <= heard["violations"]
    assert try_out(trial(learner="adahedge", C=20.0), arena)["told"] == "pairs", "a fixed penalty leans to no answer"


def test_a_panel_of_nested_distances_votes_as_its_median_member(arena):
    """d/2, d and 2d: whoever is in the majority is there with d, so the panel is the auditor who knows d."""
    worst, panel = (try_out(trial(auditor=name), arena) for name in ("worst", "panel:majority"))
    assert numbers([worst]) == numbers([panel])
    strict, lenient = (try_out(trial(auditor=f"panel:{rule}"), arena) for rule in ("any", "all"))
    assert strict["reports"] > worst["reports"] > lenient["reports"]


def test_a_margin_makes_reports_of_pairs_that_do_not_violate(arena):
    found = try_out(trial(margin=0.08), arena)
    assert found["reports"] > found["violations"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"learners": ("perceptron",)}, "`learners` must be among"),
        ({"learners": ()}, "`learners` must hold at least one"),
        ({"alphas": (0.1, 0.1)}, "`alphas` must hold each only once"),
        ({"alphas": (1.5,)}, "`alpha` must be in"),
        ({"margins": (0.1,)}, "`margin` must be in"),
        ({"penalties": (-1.0,)}, "`C` must be at least 0"),
        ({"auditors": ("kind",)}, "`auditors` must be among"),
        ({"auditors": ("noisy:often",)}, "`auditors` must be among"),
        ({"auditors": ("misses:2",)}, "RATE in"),
        ({"auditors": ("panel:most",)}, "`auditors` must be among"),
        ({"people": 1}, "`people` must be a whole number, at least 2"),
    ],
)
def test_what_can_not_be_tried_is_refused_in_one_sentence(change, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        dataclasses.replace(SMALL, **change)


def test_a_learner_that_can_not_play_the_class_is_refused_before_anything_is_played(data, tmp_path):
    sweep = dataclasses.replace(SMALL, learners=("adahedge", "weights"))
    with pytest.raises(NotSupported, match="ExponentialWeights can't play Cells"):
        compare(sweep, data, tmp_path, recipe=Recipe("cells"))
    assert list(tmp_path.iterdir()) == []


def test_models_are_fitted_on_people_whom_no_trial_sees(data):
    arena = Recipe("models", cuts=3).prepare(data, 4)
    assert arena.environment.X.shape == (300, 6)
    assert arena.held_out.X.shape == (600, 6)
    assert arena.hypotheses.models is None, "workers get scores, not models"
    assert Recipe().hypotheses == "suggested"
    suggested = Recipe(cuts=3).prepare(data, 4)
    assert suggested.hypotheses.models is None
    assert suggested.environment.X.shape == (300, len(suggested.hypotheses.cuts))


# Where it runs --------------------------------------------------------------------------------------------------


def test_processes_give_the_same_numbers(data, expected, tmp_path):
    told = []
    done = compare(SMALL, data, tmp_path, recipe=RECIPE, jobs=2, progress=lambda *counts: told.append(counts))
    assert numbers(done.results) == expected
    assert told == [(i, 6) for i in range(7)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_dask_cluster_gives_the_same_numbers(data, expected, tmp_path, processes):
    """Over TCP in any case; with workers in processes of their own in ``make test-all``."""
    from distributed import LocalCluster

    where = {"processes": processes, "protocol": "tcp", "dashboard_address": None}
    with LocalCluster(n_workers=2, threads_per_worker=1, **where) as cluster:
        at = cluster.scheduler_address
        done = compare(SMALL, data, tmp_path, recipe=RECIPE, backend="dask", address=at)
        with cluster.get_client() as client:
            scheduler = client.scheduler_info()
    assert len(scheduler["workers"]) == 2
    assert numbers(done.results) == expected
    assert len(Results(tmp_path / "results.jsonl").read()) == 6


class NoGenerators(ThreadingBackend):
    """Like the backend of Ray, and joblib's own multiprocessing: results come all together."""

    supports_return_generator = False


def test_any_backend_of_joblib_gives_the_same_numbers_also_one_that_can_not_stream(data, expected, tmp_path):
    joblib.register_parallel_backend("no-generators", NoGenerators)
    with joblib.parallel_config(backend="no-generators", n_jobs=2):
        told = []
        done = compare(SMALL, data, tmp_path, recipe=RECIPE, jobs=2, progress=lambda *counts: told.append(counts))
    assert numbers(done.results) == expected
    assert [count for count, _ in told] == list(range(7))


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ({"backend": "spark"}, "`backend` must be one of"),
        ({"backend": "dask"}, "`address` must be given for Dask"),
        ({"backend": "loky", "address": "tcp://127.0.0.1:1"}, "`address` must be left out"),
        ({"backend": "ray"}, "pip install ray"),
    ],
)
def test_a_place_that_is_not_there_is_one_sentence(data, tmp_path, where, sentence):
    if where["backend"] == "ray":
        try:
            import ray  # noqa: F401
        except ImportError:
            pass
        else:
            pytest.skip("Ray is here")
    with pytest.raises(LikewiseError, match=sentence):
        compare(SMALL, data, tmp_path, recipe=RECIPE, **where)


def test_workers_of_another_version_are_refused():
    _same_version("1.0", "1.0")
    with pytest.raises(NotSupported, match=r"workers have Likewise 0.9 and this machine has 1.0"):
        _same_version("0.9", "1.0")


# Going on -------------------------------------------------------------------------------------------------------

KILLED = """
import sys
import time
from likewise import datasets
from likewise.experiments.compare import Recipe, Sweep, compare
if __name__ == "__main__":
    tried = {"learners": ("adahedge", "unconstrained"), "penalties": (None, 20.0), "seeds": tuple(range(12))}
    sweep = Sweep(**tried, rounds=60, people=4)
    # After a while it goes no further, so that it can't come to its end before it is killed.
    hang = lambda done, _: time.sleep(600 * (done >= 20))
    compare(sweep, datasets.synthetic(1200), sys.argv[1], recipe=Recipe("thresholds", cuts=6), jobs=2, progress=hang)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills by POSIX signals")
def test_a_killed_sweep_goes_on_where_it_was(data, expected, tmp_path):
    (tmp_path / "run.py").write_text(KILLED)
    path = tmp_path / "results.jsonl"
    command = [sys.executable, str(tmp_path / "run.py"), str(tmp_path)]
    running = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    while not path.exists() or path.read_bytes().count(b"\n") < 8:
        assert running.poll() is None, "the sweep ended before it could be killed"
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    with path.open("a") as file:
        file.write('{"key": "torn off in the mid')
    sweep = dataclasses.replace(SMALL, seeds=tuple(range(12)))
    before = len(Results(path).read())
    assert 8 <= before < 36
    done = compare(sweep, data, tmp_path, recipe=RECIPE, jobs=1)
    assert done.played == 36 - before
    assert numbers(done.results)[:6] == expected
    assert compare(sweep, data, tmp_path, recipe=RECIPE).played == 0


def test_other_people_are_other_results(data, tmp_path):
    assert compare(SMALL, data, tmp_path, recipe=RECIPE, jobs=1).played == 6
    other = dataclasses.replace(data, y=1.0 - data.y)
    assert compare(SMALL, other, tmp_path, recipe=RECIPE, jobs=1).played == 6
    wider = dataclasses.replace(SMALL, seeds=(0, 1, 2))
    assert compare(wider, data, tmp_path, recipe=RECIPE, jobs=1).played == 3


# Table and picture ----------------------------------------------------------------------------------------------


def test_a_line_is_the_mean_over_seeds_and_its_standard_error(data, tmp_path):
    done = compare(dataclasses.replace(SMALL, seeds=(0, 1, 2)), data, tmp_path, recipe=RECIPE, jobs=1)
    assert [(line.learner, line.C, line.seeds) for line in done.lines] == [
        ("adahedge", None, 3), ("adahedge", 20.0, 3), ("unconstrained", None, 3),
    ]  # fmt: skip
    errors = [r["error"] for r in done.results if (r["learner"], r["C"]) == ("adahedge", 20.0)]
    assert done.lines[1].error.value == pytest.approx(np.mean(errors))
    assert done.lines[1].error.error == pytest.approx(np.std(errors, ddof=1) / np.sqrt(3))
    assert Mean.of([0.25]).text(2) == "0.25"
    assert Mean.of([1.0, 3.0]).text(1) == "2.0 ± 1.0"


def asked(folder: Path, *more: str) -> list[str]:
    asks = "--learners adahedge,unconstrained --C default,20 --seeds 2 --rounds 60 --class thresholds --cuts 4 --jobs 1"
    return ["compare", "synthetic", *asks.split(), "--out", str(folder), *more]


def test_the_command_prints_a_table_and_draws_the_plane(tmp_path):
    done = CliRunner().invoke(cli.app, asked(tmp_path, "--frontier"))
    assert done.exit_code == 0, done.output
    for word in ("adahedge", "unconstrained", "violations", "Means over 2 seeds", "±"):
        assert word in done.output
    assert (tmp_path / "plane.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "table.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["learner"] for row in table] == ["adahedge", "adahedge", "unconstrained"]
    again = CliRunner().invoke(cli.app, asked(tmp_path, "--json"))
    said = json.loads(again.stdout)
    assert (said["trials"], said["played"]) == (6, 0)
    assert said["lines"][0]["error"] == float(table[0]["error"])
    assert said["pictures"] == [str(tmp_path / "plane.png")]


def test_the_command_fits_a_small_class_and_counts_its_models(tmp_path):
    counted = []
    options = ["--class", "suggested", "--small", "--anchors", "centres", "--learners", "unconstrained", "--seeds", "1"]
    done = CliRunner().invoke(cli.app, asked(tmp_path, *options, "--C", "default", "--json"))
    assert done.exit_code == 0, done.output
    sweep = Sweep(learners=("unconstrained",), seeds=(0,), rounds=60)
    recipe = Recipe("suggested", cuts=4, small=True, anchors="centres")
    people = datasets.synthetic()
    again = compare(sweep, people, tmp_path, recipe=recipe, fitting=lambda done, most: counted.append((done, most)))
    assert (again.played, counted) == (0, [])
    assert again.arena().hypotheses.size < 400
    assert counted[-1] == (17, 17)


def test_each_level_has_a_picture_of_its_own(tmp_path):
    done = CliRunner().invoke(cli.app, asked(tmp_path, "--alpha", "0.1,0.2", "--json"))
    assert done.exit_code == 0, done.output
    assert {path.name for path in tmp_path.glob("*.png")} == {"plane-alpha-0.1.png", "plane-alpha-0.2.png"}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--C", "much"], "`--C` must be numbers separated by commas"),
        (["--backend", "dask", "--address", "tcp://127.0.0.1:9"], "`--address` must be that of a Dask scheduler"),
        (["--label", "approved"], "`--label` must be left out with a built-in data set"),
    ],
)
def test_the_command_says_what_is_wrong_in_one_sentence(tmp_path, capsys, monkeypatch, more, sentence):
    monkeypatch.setattr("likewise.experiments.compare.run.PATIENCE", 0.5)
    with pytest.raises(SystemExit) as stopped:
        cli.main(asked(tmp_path, *more))
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert sentence in " ".join(said.split())
    assert "Traceback" not in said


# The example ----------------------------------------------------------------------------------------------------

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def example():
    """``examples/side_by_side.py`` as a module."""
    spec = importlib.util.spec_from_file_location("side_by_side", ROOT / "examples" / "side_by_side.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["side_by_side"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["side_by_side"]


def test_the_example_judges_a_policy_by_its_meaning(example):
    """Four people who are alike, two of each group: who is a yes for one group only is as unfair as can be."""
    people = example.People(np.zeros((4, 1)), np.array([0.0, 1, 0, 1]), np.zeros((4, 1)), np.array([0, 0, 1, 1]))
    data = dataclasses.replace(datasets.synthetic(4))
    by_group = example.judged(lambda X: np.array([1.0, 1.0, 0.0, 0.0]), people, data)
    assert by_group == {"error": 0.5, "unfair pairs": 4 / 6, "parity gap": 1.0, "odds gap": 1.0}
    perfect = example.judged(lambda X: people.y, people, data)
    assert perfect == {"error": 0.0, "unfair pairs": 4 / 6, "parity gap": 0.0, "odds gap": 0.0}


def test_the_example_names_everybody_who_does_better_and_writes_only_the_measured_part(example, tmp_path, monkeypatch):
    ours = {column: [0.3, 0.31, 0.32] for column in example.COLUMNS}
    better = ours | {"error": [0.1, 0.11, 0.12]}
    luckier = ours | {"error": [0.1, 0.5, 0.2]}
    table = {"model": better, "lucky": luckier, "AdaHedge": ours}
    said = example.lost(table)
    assert said[0] == "* **error**, 0.310 for AdaHedge: less for model (0.110)."
    assert said[1].endswith("nobody has less.")
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- measured -->\nold numbers\n<!-- end -->\n\nAfter.\n")
    monkeypatch.setattr(example, "measured", lambda *_: table)
    monkeypatch.setattr(sys, "argv", ["side_by_side.py", "--write", str(page), "--repeats", "3"])
    example.main()
    text = page.read_text()
    assert text.startswith("Before.")
    assert text.endswith("After.\n")
    assert "old numbers" not in text
    assert "| model | 0.110 ± 0.006 | 31.00 ± 0.58 % |" in text


def test_the_page_holds_a_measured_row_for_every_method_on_both_data_sets(example, data):
    page = (ROOT / "docs" / "side_by_side.md").read_text()
    measured = page.split("<!-- measured -->")[1].split("<!-- end -->")[0]
    people = example.everybody(data)
    names = list(example.methods(people, data, example.SIZES["Synthetic"], seed=0))
    for name in ("Adult", "COMPAS"):
        part = measured.split(f"### {name}\n")[1].split("### ")[0]
        rows = [line.split("|")[1].strip() for line in part.splitlines() if line.startswith("| ")][1:]
        assert rows == names


def test_the_page_holds_a_measured_row_for_every_rival(example, data):
    page = (ROOT / "docs" / "side_by_side.md").read_text()
    measured = page.split("<!-- infairness -->")[1].split("<!-- end -->")[0]
    rows = [line.strip("| ").split(" | ") for line in measured.splitlines() if line.startswith("| ")][1:]
    names = list(example.rivals(example.everybody(data), data, example.SIZES["Synthetic"], seed=0))
    assert [row[0] for row in rows] == names
    assert sum("EXPLORE" in name for name in names) == sum("SenSeI" in name for name in names) == 3
    for _, error, pairs, _, _ in rows:
        share, low, high = (float(number) for number in re.findall(r"[\d.]+(?= %)", pairs))
        assert low <= share <= high
        assert 0 < float(error) < 0.5
    assert "inFairness 0.2.3" in measured


def test_the_rivals_of_ours_are_measured_without_inFairness(example, data):
    """Our rows need no package of others: a policy over both parts of people, and how much was told to learn it."""
    size = example.SMALL
    train, held_out = example.parted(data, size, 0)
    rows = example.rivals(train, data, size, 0)
    policy, told = rows["AdaHedge, suggested class"]()
    chances = example.given(policy, held_out)
    assert chances.shape == (size.judged,)
    assert 0 <= chances.min() < chances.max() <= 1
    assert re.fullmatch(r"labels, columns to compare by; \d+ pairs reported in 60 rounds", told)
    alike = example.Answered.about(train, data, size, 0)
    compare = named_metric(data.metric) if isinstance(data.metric, str) else data.metric
    distances = compare(train.view)
    np.testing.assert_array_equal(alike.answers, distances[alike.one, alike.other] <= example.COMPARABLE)
