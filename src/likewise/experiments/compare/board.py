"""The scoreboard of a sweep: what one of its learners reached on held-out people, beside what else could be done.

A sweep is averaged over seeds; the scoreboard is about one play, that of the first seed, level, margin and auditor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from likewise.certificates.choice import Choice
from likewise.experiments.compare.arena import Arena
from likewise.experiments.compare.neighbours import NEIGHBOURS
from likewise.experiments.compare.run import Comparison
from likewise.experiments.compare.trials import Trial, make_auditor, make_learner
from likewise.experiments.runs.deployed import Judged, candidates, labels_alone, this_entry, told
from likewise.game import Transcript, play
from likewise.protocol import Learner
from likewise.scoreboard import Entry, Scoreboard


class Board(NamedTuple):
    """Which play it is about, what would be deployed of it, and the table."""

    trial: Trial
    choice: Choice
    scoreboard: Scoreboard


def judged(comparison: Comparison) -> Board | None:
    """AdaHedge, or the last learner if it is ours, on people whom no trial has seen; None if nobody was held out."""
    arena = comparison.arena()
    if len(arena.held_out.y) == 0:
        return None
    first = {trial.learner: trial for trial in reversed(comparison.sweep.trials())}
    trial = first.get("adahedge", first[comparison.sweep.learners[-1]])
    if trial.learner in NEIGHBOURS:  # what some of them learn can't be deployed
        trial = replace(trial, learner="adahedge")
    learner, t = _played(arena, trial)
    judge = Judged(arena.held_out, arena.distance, trial.alpha)
    choice = judge.choice(candidates(learner, t))
    name, learned = this_entry(choice, told(learner))
    auditor = make_auditor("worst", arena.distance, trial.alpha, trial.margin)
    alone = labels_alone(arena.hypotheses, arena.environment, auditor, trial.rounds, trial.seed)
    entries = {"labels alone": Entry(alone, "labels"), name: learned}
    if "weights" in first and trial.learner != "weights":
        entries["the paper's learner"] = Entry(_played(arena, first["weights"])[1].average_policy, "pairs")
    if arena.held_out.today is not None:
        entries["today's rule"] = Entry(arena.held_out.today)
    return Board(trial, choice, judge.board(entries, arena.hypotheses, name))


def _played(arena: Arena, trial: Trial) -> tuple[Learner, Transcript]:
    learner = make_learner(arena.hypotheses, trial, arena.distance, arena.ones)
    auditor = make_auditor(trial.auditor, arena.distance, trial.alpha, trial.margin)
    return learner, play(learner, arena.environment, auditor, trial.rounds, seed=trial.seed)
