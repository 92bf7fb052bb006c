"""What a run deploys is chosen on people who took no part in it, once, and a constant wins where nothing is proved."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.experiments import runs
from likewise.experiments.compare import Recipe, Sweep, compare, judged
from likewise.experiments.runs import Run, Settings, write_outputs
from likewise.experiments.runs.deployed import (
    AVERAGE,
    FINAL,
    GROUPS_NOT_DEPLOYED,
    LAST_HALF,
    NOBODY,
    candidates,
    deployed,
    told,
)
from likewise.protocol import Key, Role
from likewise.scoring import FinishedPolicy


def people(n: int, signal: float = 1.0, seed: int = 0) -> pd.DataFrame:
    """Income decides, as far as there is a signal; today's score knows a little of it."""
    rng = np.random.default_rng(seed)
    income, debt = rng.normal(50, 10, n).round(3), rng.normal(20, 5, n).round(3)
    label = (signal * (income - 50) / 10 + rng.normal(size=n) > 0).astype(int)
    return pd.DataFrame({"income": income, "debt": debt, "today": rng.random(n).round(3), "label": label})


def settings(table: pd.DataFrame, folder, **changes) -> Settings:
    table.to_csv(folder / "people.csv", index=False)
    given = {"label": "label", "compare_by": ("income",), "k": 4, "T": 200, "part": 64, "cuts": 6, "today": "today"}
    return Settings(**runs.located(str(folder / "people.csv")), **given | changes)


def finished(asked: Settings, out) -> tuple[Run, lw.Transcript]:
    run = Run.start(asked, out)
    assert run.play()
    return run, run.transcript()


@pytest.fixture(scope="module")
def strong(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strong")
    return finished(settings(people(1200, 3.0), folder), folder / "run")


@pytest.fixture(scope="module")
def outcome(strong):
    """What is deployed after it."""
    run, t = strong
    return deployed(run.setup, t)


def test_the_candidates_are_the_average_the_last_half_and_the_final_policy(strong):
    run, t = strong
    given = candidates(run.setup.learner, t)
    assert list(given) == [AVERAGE, LAST_HALF, FINAL]
    X = run.setup.held_out.X
    np.testing.assert_allclose(given[AVERAGE].probability(X), t.average_policy.probability(X))
    np.testing.assert_allclose(given[LAST_HALF].probability(X), t.last_half_policy.probability(X))
    learner, state = run.setup.learner, run.setup.learner.init()
    for round_ in t:
        state = learner.update(state, round_)
    expected = learner.act(state, Key(t.seed, Role.LEARNER, t.rounds + 1)).probability(X)
    np.testing.assert_allclose(given[FINAL].probability(X), expected, atol=1e-9)


def test_a_learned_policy_that_is_proved_better_is_deployed(strong, outcome):
    run, _ = strong
    assert outcome.choice.recommended in (AVERAGE, LAST_HALF, FINAL)
    assert outcome.headline == outcome.choice.headline
    names = [row.name for row in outcome.scoreboard.rows]
    assert names[:4] == ["one answer for everybody", "today's rule", "labels alone", "this policy"]
    held = run.setup.held_out
    assert outcome.scoreboard.row("today's rule").error == pytest.approx(np.abs(held.today - held.y).mean())
    given = outcome.policy.probability(held.X)
    assert outcome.scoreboard.row("this policy").error == pytest.approx(np.abs(given - held.y).mean())


def test_the_table_says_what_the_learner_was_told(strong, outcome):
    F = strong[0].setup.hypotheses
    assert strong[0].setup.learner.prior in ("mostly 0", "mostly 1")
    assert [row.told for row in outcome.scoreboard.rows if row.bold] == ["pairs, share of labels"]
    default = lw.AdaHedge(F, k=4, alpha=0.1)
    learners = (default, default.leaning(0.9), lw.OneSided(default), lw.Unconstrained(F))
    words = ["pairs", "pairs, share of labels", "pairs", "labels"]
    assert [told(learner) for learner in learners] == words


def test_who_is_held_out_is_nobody_who_was_fitted_on_or_played(strong):
    run, t = strong
    split = run.setup.split
    assert split.people == (300, 300, 600)
    assert not set(split.held_out) & (set(split.fit) | set(split.play))
    np.testing.assert_array_equal(run.setup.held_out.y, run.setup.data.y[split.held_out])
    np.testing.assert_array_equal(t.y, run.setup.data.y[split.play][t.person])
    assert "today" not in run.setup.data.encoder.columns


def test_labels_and_looks_of_the_held_out_change_nothing_that_is_learned(strong, tmp_path):
    run, t = strong
    table = people(1200, 3.0)
    table.loc[run.setup.split.held_out, ["debt", "label"]] = [1000.0, 0]
    other, again = finished(settings(table, tmp_path), tmp_path / "run")
    assert np.array_equal(other.setup.split.play, run.setup.split.play)
    assert again.shown.tobytes() == t.shown.tobytes()
    assert again.last_half_policy.total.tobytes() == t.last_half_policy.total.tobytes()


def test_on_noise_a_constant_is_deployed_and_the_first_line_says_so(tmp_path):
    table = people(1200, 0.0).assign(sex=np.tile(["f", "m"], 600))
    run, t = finished(settings(table, tmp_path, sensitive=("sex",)), tmp_path / "run")
    outcome = deployed(run.setup, t)
    assert outcome.groups.notes[0] == GROUPS_NOT_DEPLOYED
    assert outcome.choice.recommended in ("always no", "always yes")
    assert outcome.choice.recommended in outcome.headline
    assert "what was learned (not deployed)" in [row.name for row in outcome.scoreboard.rows]
    assert np.ptp(outcome.policy.probability(run.setup.held_out.X)) == 0
    result = write_outputs(run, t, pictures=False)
    assert result["headline"] == outcome.headline
    policy = json.loads((tmp_path / "run" / "policy.json").read_text())
    assert policy["facts"]["chosen"] == outcome.choice.recommended
    loaded = FinishedPolicy.load(tmp_path / "run" / "policy.json")
    assert np.ptp(loaded.probability(run.setup.data.people)) == 0


def test_a_file_of_thirty_two_people_is_played_and_nothing_is_claimed(tmp_path):
    run, t = finished(settings(people(32, 3.0), tmp_path, T=40), tmp_path / "run")
    assert run.setup.split.people == (8, 8, 16)
    outcome = deployed(run.setup, t)
    assert not outcome.choice.claims_made
    assert outcome.headline.startswith("Nothing is claimed about new people.")
    assert all(row.error_low is None for row in outcome.scoreboard.rows)


def test_with_nobody_held_out_nothing_is_chosen(tmp_path):
    run, t = finished(settings(people(100), tmp_path, split=(50, 50, 0)), tmp_path / "run")
    outcome = deployed(run.setup, t)
    assert (outcome.choice, outcome.scoreboard, outcome.headline) == (None, None, NOBODY)
    np.testing.assert_array_equal(outcome.policy.weights, t.average_policy.mixture().weights)


def test_nobody_looks_at_the_held_out_before_the_play_is_over(tmp_path):
    run = Run.start(settings(people(200), tmp_path), tmp_path / "run")
    parts = iter([False, True])
    assert not run.play(stop=lambda: next(parts))
    outcome = deployed(run.setup, run.transcript())
    assert outcome.choice is None
    assert "not over" in outcome.headline


def test_a_run_that_was_stopped_chooses_the_same(strong, outcome, tmp_path):
    run, _ = strong
    again = Run.start(run.setup.settings, tmp_path / "run")
    parts = iter([False, True])
    again.play(stop=lambda: next(parts))
    resumed = Run.resume(tmp_path / "run")
    assert resumed.play()
    other = deployed(resumed.setup, resumed.transcript())
    assert outcome.choice.to_dict() == other.choice.to_dict()
    assert outcome.policy.weights.tobytes() == other.policy.weights.tobytes()


def test_a_person_is_not_said_to_share_the_measure_of_the_file(tmp_path):
    answers = lw.ScriptedAuditor([None] * 20, alpha=0.1)
    run = Run.start(settings(people(300, 3.0), tmp_path, T=20, ask=True), tmp_path / "run", answers)
    assert run.play()
    outcome = deployed(run.setup, run.transcript())
    assert all(candidate.unfair is None for candidate in outcome.choice.candidates)
    assert any("not by the reviewer's" in note for note in outcome.scoreboard.notes)


# A sweep ------------------------------------------------------------------------------------------------------------


def test_a_sweep_is_judged_on_people_whom_no_trial_has_seen(tmp_path):
    data, sweep = lw.datasets.synthetic(800), Sweep(learners=("weights", "adahedge"), seeds=(3,), rounds=100)
    board = judged(compare(sweep, data, tmp_path, recipe=Recipe(cuts=4), jobs=1))
    assert (board.trial.learner, board.trial.seed) == ("adahedge", 3)
    assert board.choice.people == board.scoreboard.people == 400
    names = [row.name for row in board.scoreboard.rows]
    assert names[:3] == ["one answer for everybody", "labels alone", "the paper's learner"]


def test_a_sweep_with_nobody_held_out_has_no_scoreboard(tmp_path):
    data, sweep = lw.datasets.synthetic(200), Sweep(learners=("hedge",), seeds=(0,), rounds=20)
    assert judged(compare(sweep, data, tmp_path, recipe=Recipe(cuts=4, split=(50, 50, 0)), jobs=1)) is None
