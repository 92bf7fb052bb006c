"""A run can be stopped anywhere, by anything, and goes on to the same bits; and it can be repeated."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.auditors.asked import Silent
from likewise.errors import InvalidParameter
from likewise.experiments import runs
from likewise.experiments.compare import Recipe
from likewise.experiments.runs import Run, RunFolder, Settings, Stopped, difference
from likewise.experiments.runs.classes import cuts_of


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> Path:
    """A small file of a stranger's people."""
    rng = np.random.default_rng(5)
    n = 400
    income, debt, group = rng.normal(50, 10, n).round(1), rng.normal(20, 5, n).round(1), rng.integers(0, 2, n)
    table = pd.DataFrame({"income": income, "debt": debt, "group": np.where(group == 1, "a", "b")})
    table["rare"] = np.where(np.arange(n) % 100 == 0, "seldom", "often")
    table["approved"] = (income - debt + 6 * group + rng.normal(0, 6, n) > 32).astype(int)
    table.loc[::50, "income"] = np.nan
    path = tmp_path_factory.mktemp("people") / "people.csv"
    table.to_csv(path, index=False)
    return path


def settings(people: Path, **changes) -> Settings:
    given = {
        "label": "approved",
        "compare_by": ("income", "debt"),
        "k": 4,
        "T": 60,
        "part": 16,
        "hypotheses": "thresholds",
        "cuts": 6,
        "alpha": 0.2,
    }
    return Settings(**runs.located(str(people)), **given | changes)


def finished(run: Run) -> lw.Transcript:
    assert run.play()
    found = run.transcript()
    assert found is not None
    return found


def stop_after(parts: int):
    calls = iter(range(10**6))
    return lambda: next(calls) >= parts


# Stopping and going on ---------------------------------------------------------------------------------------------

PLAYS = {
    "adahedge": {},
    "the paper's weights": {"learner": "weights"},
    "hedge over cells": {"learner": "hedge", "hypotheses": "cells", "bins": 3},
    "ftpl": {"learner": "ftpl", "T": 40},
    "leader": {"learner": "leader", "penalty": 3.0},
    "unconstrained": {"learner": "unconstrained"},
    "models": {"hypotheses": "models", "split": (20, 40, 40), "T": 20},
    "suggested": {"hypotheses": "suggested", "split": (20, 40, 40), "T": 20},
    "noise, and a random pair": {"misses": 0.3, "false_reports": 0.2, "choose": "random"},
    "margin and costs": {"margin": 0.05, "costs": (1.0, 2.0)},
    "labels of the accepted": {"labels": "accepted"},
    "reviews by lot": {"review_share": 0.4},
}


@pytest.mark.parametrize("changes", PLAYS.values(), ids=PLAYS.keys())
def test_a_run_that_was_stopped_after_any_part_ends_with_the_same_bits(changes, people, tmp_path):
    asked = settings(people, **changes)
    whole = Run.start(asked, tmp_path / "whole")
    expected = finished(whole)
    assert expected.rounds == asked.T
    stopped = Run.start(asked, tmp_path / "stopped")
    assert not stopped.play(stop=stop_after(1))
    assert stopped.folder.rounds_kept() == asked.part
    goes_on = Run.resume(tmp_path / "stopped")
    assert goes_on.play(stop=stop_after(1)) == (2 * asked.part >= asked.T)
    assert difference(expected, finished(Run.resume(tmp_path / "stopped"))) is None
    assert whole.folder.transcript_file.read_bytes() == stopped.folder.transcript_file.read_bytes()


def test_nothing_that_was_played_is_played_again(people, tmp_path):
    Run.start(settings(people), tmp_path / "run").play(stop=stop_after(2))
    part = tmp_path / "run" / "parts" / "000000001.npz"
    written = part.stat().st_mtime_ns
    seen: list[int] = []
    Run.resume(tmp_path / "run").play(stop=stop_after(1), progress=seen.append)
    assert seen == [32, 48]
    assert part.stat().st_mtime_ns == written


def test_parts_are_the_rounds_of_one_play(people, tmp_path):
    run = Run.start(settings(people), tmp_path / "run")
    found, s = finished(run), run.setup
    expected = lw.play(s.learner, s.people, s.simulated(), s.settings.T, seed=0)
    for name in ("rows", "y", "shown", "starts", "report_rounds", "pairs", "violates", "penalties"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
    np.testing.assert_allclose(found.average_policy.total, expected.average_policy.total)


def test_another_seed_is_another_run(people, tmp_path):
    one, other = (finished(Run.start(settings(people, seed=seed), tmp_path / str(seed))) for seed in (0, 1))
    found = difference(one, other)
    assert found is not None
    assert found.round == 1


def interrupt(folder: Path, how: signal.Signals, rng: np.random.Generator) -> int:
    """Go on with a run in a process of its own, and interrupt it a moment after its next part; its exit code."""
    before = len(list((folder / "parts").glob("*.npz")))
    command = [sys.executable, "-m", "likewise", "play", "--resume", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        if len(list((folder / "parts").glob("[0-9]*.npz"))) > before:
            time.sleep(float(rng.uniform(0, 0.05)))
            os.kill(process.pid, how)
            break
        time.sleep(0.005)
    return process.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("times", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_ctrl_c_and_a_crash_at_random_moments_change_no_bit(people, tmp_path, times):
    """Once each on every change, and four times in ``make test-all``."""
    # The readable loop is slow enough to be caught in the middle.
    asked = settings(people, T=1600, part=16, choose="random")
    expected = finished(Run.start(asked, tmp_path / "whole"))
    Run.start(asked, tmp_path / "hurt")
    rng = np.random.default_rng(11)
    for _ in range(times):
        assert interrupt(tmp_path / "hurt", signal.SIGKILL, rng) == -signal.SIGKILL
        assert interrupt(tmp_path / "hurt", signal.SIGINT, rng) == 130
    kept = RunFolder(tmp_path / "hurt").rounds_kept()
    assert 2 * times * 16 <= kept < 1600
    assert difference(expected, finished(Run.resume(tmp_path / "hurt"))) is None


# Files -------------------------------------------------------------------------------------------------------------


def test_a_file_that_was_not_written_to_its_end_is_not_there(tmp_path):
    folder = RunFolder.create(tmp_path / "run")
    folder.write_json("result.json", {"rounds": 1})

    def torn(path: Path) -> None:
        path.write_text('{"rounds"')
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        folder.write("result.json", torn)
    assert folder.read_json("result.json") == {"rounds": 1}
    assert [path.name for path in folder.path.iterdir()] == ["result.json"]


def test_a_run_never_begins_in_a_folder_that_holds_something(people, tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(InvalidParameter, match="new or an empty folder"):
        Run.start(settings(people), tmp_path)
    Run.start(settings(people), tmp_path / "run")
    with pytest.raises(InvalidParameter, match="--resume"):
        Run.start(settings(people), tmp_path / "run")


def test_nothing_is_left_behind_when_the_people_can_not_be_read(people, tmp_path):
    with pytest.raises(InvalidParameter, match="did you mean 'approved'"):
        Run.start(settings(people, label="aproved"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_settings_come_back_as_they_were_and_nothing_may_be_missing(people):
    asked = settings(people, units={"income": 20.0}, penalty=7.5, costs=(1.0, 3.0), show=("group",))
    stored = json.loads(json.dumps(asked.to_dict()))
    assert Settings.from_dict(stored) == asked
    del stored["seed"]
    with pytest.raises(InvalidParameter, match="seed"):
        Settings.from_dict(stored)


def test_every_parameter_of_a_run_is_in_its_folder(people, tmp_path):
    run = Run.start(settings(people), tmp_path / "run")
    noted = run.folder.read_json("settings.json")
    assert set(noted["settings"]) == {field.name for field in dataclasses.fields(Settings)}
    assert noted["learner"] == run.setup.learner.parameters()
    assert {"likewise", "numpy", "python"} <= set(noted["versions"])


def test_a_file_that_has_changed_is_refused_and_one_that_has_moved_may_be_named(people, tmp_path):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(people.read_bytes())
    run = Run.start(settings(copy), tmp_path / "run")
    expected = finished(run)
    moved = copy.rename(tmp_path / "moved.csv")
    with pytest.raises(InvalidParameter, match="got nothing at"):
        Run.resume(tmp_path / "run")
    again = Run.again(tmp_path / "run", tmp_path / "again", source=str(moved))
    assert difference(expected, finished(again)) is None
    moved.write_text(moved.read_text().replace("seldom", "ever"))
    with pytest.raises(InvalidParameter, match="other content"):
        Run.resume(tmp_path / "run", source=str(moved))


def test_people_that_are_read_differently_today_are_refused(people, tmp_path, monkeypatch):
    Run.start(settings(people), tmp_path / "run")
    monkeypatch.setattr("likewise.datasets.Dataset.view", property(lambda data: data.viewer.transform(data.people) + 1))
    with pytest.raises(InvalidParameter, match="the people that it was started with"):
        Run.resume(tmp_path / "run")


def test_a_run_is_not_continued_by_another_learner(people, tmp_path):
    Run.start(settings(people), tmp_path / "run")
    path = tmp_path / "run" / "settings.json"
    kept = json.loads(path.read_text())
    assert kept["learner"]["prior"] is not None, "the default of today leans"
    path.write_text(json.dumps(kept | {"learner": kept["learner"] | {"prior": None}}))
    with pytest.raises(InvalidParameter, match="the learner that it was started with"):
        Run.resume(tmp_path / "run")


# A person's answers ------------------------------------------------------------------------------------------------


def person(answers: list[str], asked: list[int] | None = None) -> lw.AskAuditor:
    """Answers in turn and then has had enough."""
    left = iter(answers)

    def ask(prompt: str) -> str:
        if asked is not None:
            asked.append(1)
        answer = next(left, None)
        if answer is None:
            raise Stopped("Enough.")
        return answer

    return lw.AskAuditor(0.2, ask=ask, console=Silent())


ANSWERS = ["1 4", "", "s", "1 4", "", "1 4", "1 4", "", "s", "1 4", *[""] * 100]


def test_a_person_can_stop_after_any_answer_and_goes_on_where_they_were(people, tmp_path):
    asked = settings(people, ask=True, T=20, part=8)
    expected = finished(Run.start(asked, tmp_path / "whole", person(ANSWERS)))
    assert expected.reported.sum() > 0
    assert not expected.reviewed.all()
    run = Run.start(asked, tmp_path / "run", person([]))
    given = 0
    while True:
        run = Run.resume(tmp_path / "run", person(ANSWERS[given : given + 3]))
        try:
            run.play()
            break
        except Stopped:
            given += 3
            kept = run.folder.rounds_kept()
            so_far = run.transcript()
            assert so_far is not None
            assert so_far.rounds == kept
    assert given >= 6
    found = run.transcript()
    assert found is not None
    assert difference(expected, found) is None


def test_a_repeated_run_takes_a_persons_answers_from_the_first_and_asks_nobody(people, tmp_path):
    asked = settings(people, ask=True, T=20, part=8)
    run = Run.start(asked, tmp_path / "run", person(ANSWERS[:6]))
    with pytest.raises(Stopped):
        run.play()
    again = Run.again(tmp_path / "run", tmp_path / "again")
    with pytest.raises(Stopped, match="Nobody"):
        again.play()
    one, other = run.transcript(), again.transcript()
    assert one is not None
    assert other is not None
    assert one.rounds >= 6
    assert difference(one, other) is None


def test_nobody_is_asked_about_people_who_are_treated_alike(people, tmp_path):
    asked: list[int] = []
    run = Run.start(settings(people, ask=True, T=1), tmp_path / "run", person(["s"], asked))
    found = finished(run)
    assert np.ptp(found.shown) <= 0.2
    assert asked == []
    assert found.reviewed.all()


def test_half_a_line_is_no_answer(people, tmp_path):
    run = Run.start(settings(people, ask=True), tmp_path / "run", person([]))
    folder = run.folder
    folder.add_answer(1, None)
    folder.add_answer(2, lw.Report(3, 1))
    with folder.answers_file.open("a") as file:
        file.write('{"round": 3, "ans')
    assert folder.answers() == {1: None, 2: lw.Report(3, 1)}
    (folder.path / "unfinished-77-report.html").write_text("<html>")
    Run.resume(tmp_path / "run", person([]))
    assert not list(folder.path.glob("unfinished*"))
    folder.add_answer(3, lw.SKIPPED)
    assert folder.answers() == {1: None, 2: lw.Report(3, 1), 3: lw.SKIPPED}


# The same, or not --------------------------------------------------------------------------------------------------


def test_a_difference_is_found_to_the_last_bit_and_in_its_round(people, tmp_path):
    t = finished(Run.start(settings(people), tmp_path / "run"))
    assert difference(t, t) is None
    shown = t.shown.copy()
    shown[4 * 41 + 2] = np.nextafter(shown[4 * 41 + 2], 2.0)
    found = difference(t, dataclasses.replace(t, shown=shown))
    assert found is not None
    assert (found.round, found.what) == (42, "shown")
    pairs = t.pairs.copy()
    pairs[3] = pairs[3][::-1]
    found = difference(t, dataclasses.replace(t, pairs=pairs))
    assert found is not None
    assert (found.round, found.what) == (t.report_rounds[3] + 1, "pairs")
    state = t.state._replace(delta=t.state.delta + 1e-9)
    found = difference(t, dataclasses.replace(t, state=state))
    assert found is not None
    assert "delta" in found.what


def test_minus_zero_is_another_bit(people, tmp_path):
    t = finished(Run.start(settings(people), tmp_path / "run"))
    y = np.where(t.y == 0, -0.0, t.y)
    assert (y == t.y).all()
    assert difference(t, dataclasses.replace(t, y=y)) is not None


# Classes and people ------------------------------------------------------------------------------------------------


def test_a_rare_level_has_a_cut_of_its_own():
    rare = np.zeros(1000)
    rare[0] = 1.0
    assert cuts_of(rare, 16).tolist() == [0.5]
    assert lw.Thresholds.quantiles(rare[:, None]).size == 2  # quantiles alone would never see it


def test_the_class_uses_no_column_that_was_dropped(people, tmp_path):
    all_of_them = runs.prepare(settings(people)).hypotheses.names
    without = runs.prepare(settings(people, drop=("group", "rare"))).hypotheses.names
    assert "group = a" in all_of_them
    assert not any(name.startswith(("group", "rare")) for name in without)
    built_in = Settings(**runs.located("synthetic"), drop=("group", "hobby"), hypotheses="thresholds")
    assert set(runs.prepare(built_in).hypotheses.names) == {"skill", "effort", "address"}


def test_too_many_cells_are_refused_with_their_number(people):
    with pytest.raises(InvalidParameter, match=r"at most, got 8\d,\d{3} cells"):
        runs.prepare(settings(people, hypotheses="cells", bins=1000, split=(98, 1, 1)))


def test_by_default_the_class_is_the_suggested_one_and_the_run_says_what_it_is_made_of(people, tmp_path):
    assert Settings(source="synthetic").hypotheses == "suggested"
    run = Run.start(settings(people, hypotheses="suggested", T=32), tmp_path / "run")
    runs.write_outputs(run, finished(run), pictures=False)
    said = (tmp_path / "run" / "class.txt").read_text()
    suggestion = run.setup.built.suggestion
    assert suggestion is not None
    assert suggestion.datasheet in said
    assert "fitted on 100 people" in said
    for part in suggestion.parts:
        assert said.count(f"\n{part.name} ") == 1, "a line of the table"
    # The class of the play takes scores, the one that is deployed takes encoded people; they are the same.
    t = run.setup.people
    np.testing.assert_array_equal(
        run.setup.built.deployed.encode(run.setup.data.features[run.setup.split.play]), run.setup.hypotheses.encode(t.X)
    )


@pytest.mark.parametrize("anchors", ["people", "centres"])
def test_a_small_class_has_two_parts_and_with_centres_it_holds_nobodys_view(people, tmp_path, anchors):
    counted = []
    asked = settings(people, hypotheses="suggested", T=16, small=True, anchors=anchors)
    run = Run.start(asked, tmp_path / "run", progress=lambda done, most: counted.append((done, most)))
    data, built = run.setup.data, run.setup.built
    assert [part.name for part in built.suggestion.parts] == ["all columns", "gentle policies"]
    seen = {row.tobytes() for row in data.view[run.setup.split.fit]}
    points = next(score.family.points for score in built.models if hasattr(score, "family"))
    assert any(row.tobytes() in seen for row in points) == (anchors == "people")
    assert [done for done, _ in counted] == list(range(1, len(counted) + 1))
    assert {most for _, most in counted} == {len(counted)}
    assert Run.resume(tmp_path / "run").setup.settings == asked


@pytest.mark.parametrize("changes", [{"small": True}, {"anchors": "centres"}])
def test_what_only_a_suggested_class_has_is_refused_for_others(people, changes):
    with pytest.raises(InvalidParameter, match="must be left out unless the class is suggested, got 'thresholds'"):
        settings(people, **changes)
    with pytest.raises(InvalidParameter, match="must be left out unless the class is suggested, got 'cells'"):
        Recipe("cells", **changes)
    with pytest.raises(InvalidParameter, match=r"`anchors` must be one of \('people', 'centres'\), got 'nobody'"):
        settings(people, hypotheses="suggested", anchors="nobody")


def test_a_run_from_before_anchors_could_be_chosen_goes_on(people, tmp_path):
    asked = settings(people, hypotheses="suggested", T=16)
    before = {name: value for name, value in asked.to_dict().items() if name not in ("small", "anchors")}
    assert Settings.from_dict(before) == asked


def test_the_default_leans_to_the_label_that_most_people_have_on_whom_the_class_was_fitted(people):
    setup = runs.prepare(settings(people))
    ones = setup.data.y[setup.split.fit].mean()
    assert ones != 0.5
    assert setup.learner.prior == ("mostly 1" if ones > 0.5 else "mostly 0")
    dear = runs.prepare(settings(people, costs=(1.0, 100.0)))
    assert dear.learner.prior == "mostly 1", "a wrong no costs a hundred times as much"
    assert runs.prepare(settings(people, labels="accepted")).learner.learner.prior == "even"


def test_models_never_play_with_the_people_they_were_fitted_on(people):
    setup = runs.prepare(settings(people, hypotheses="models"))
    assert len(setup.people.y) == len(setup.view) == 100
    assert len(setup.held_out.y) == 200


def test_spaces_after_the_commas_of_a_file_hide_no_column(people, tmp_path):
    file = tmp_path / "spaced.csv"
    table = pd.read_csv(people)
    table["approved"] = np.where(table["approved"] == 1, " Yes", " No")
    table.to_csv(file, index=False)
    file.write_text(file.read_text().replace("debt,group,rare,approved", " debt , group, rare, approved", 1))
    setup = runs.prepare(settings(file, units={"debt": 5.0}))
    assert setup.settings.compare_by == ("income", " debt ")
    assert setup.data.y.mean() == table["approved"].eq(" Yes").mean()


def test_what_a_person_is_shown_reads_as_one_would_write_it():
    from likewise.wording import written

    table = pd.DataFrame({"a": [28221.67, np.nan], "b": [1_000_000, 3], "c": ["x", None], "d": [True, False]})
    words = [[written(value) for value in row] for row in table.astype(object).to_numpy()]
    assert words == [["28,221.67", "1,000,000", "x", "True"], ["–", "3", "–", "False"]]


def test_the_play_is_measured_by_the_distance_that_the_reviewer_knew(people, tmp_path):
    simulated = Run.start(settings(people), tmp_path / "run")
    t = finished(simulated)
    assert simulated.setup.measured(t).view.tobytes() == t.view.tobytes()
    asked = Run.start(settings(people, ask=True), tmp_path / "asked", person([""] * 60))
    seen = finished(asked)
    assert list(seen.view.columns) == ["income", "debt"]
    assert asked.setup.measured(seen).view.tobytes() == t.view.tobytes()


def test_a_folder_of_another_format_is_refused_and_its_format_named(people, tmp_path):
    run = Run.start(settings(people), tmp_path / "run")
    run.folder.write_json("settings.json", run.folder.read_json("settings.json") | {"format": 2})
    for begin in (Run.resume, lambda path: Run.again(path, tmp_path / "again")):
        with pytest.raises(
            InvalidParameter, match=r"must hold a run of format 4, got .*run of format 2 \(an older run"
        ):
            begin(tmp_path / "run")
