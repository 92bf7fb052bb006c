"""Experiment 9: the reviewer who is no metric. Methods that infer distances break; learning from pairs doesn't."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise.auditors import named_metric
from likewise.drawing import COLOURS, canvas
from likewise.experiments import demo
from likewise.experiments.compare.arena import Arena, try_out
from likewise.experiments.compare.trials import Trial
from likewise.experiments.reproduce.neighbours import arena_of
from likewise.experiments.reproduce.result import Experiment, Picture, Table, check
from likewise.experiments.reproduce.work import Workers
from likewise.protocol import Distance, Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "The reviewer who is no metric"
ALPHA, K = 0.1, 6
TOLERANCE = 0.3
METRIC, TOLERANT = "a metric", "no metric"
METHODS = {
    "adahedge": "AdaHedge (ours)",
    "primal-dual": "primal-dual",
    "fair-leader": "fair leader",
    "mahalanobis": "learned form",
    "submetric": "submetric",
    "batchwise": "told the distance",
}


class Tolerant:
    """A reviewer who overlooks small differences and counts larger ones in full: two small steps make a large one.

    Examples
    --------
    >>> Tolerant("cityblock", 0.3)(np.array([[0.0], [0.2], [0.4]])).tolist()
    [[0.0, 0.0, 0.4], [0.0, 0.0, 0.0], [0.4, 0.0, 0.0]]
    """

    def __init__(self, distance: Distance | str, tolerance: float = TOLERANCE) -> None:
        self.distance = named_metric(distance) if isinstance(distance, str) else distance
        self.tolerance = tolerance

    def __call__(self, view: Any) -> Floats:
        """(k, k) distances."""
        d = np.asarray(self.distance(view), dtype=float)
        return np.where(d <= self.tolerance, 0.0, d)


@dataclass(frozen=True)
class Size:
    """Rounds and seeds; ``small`` people are made up, so that it runs in seconds."""

    T: int
    seeds: int
    small: bool = False


SIZES = {"tiny": Size(60, 1, small=True), "quick": Size(500, 1), "full": Size(2000, 3)}


class Played(NamedTuple):
    """One method under one reviewer: what was measured of it."""

    reviewer: str
    learner: str
    measured: dict[str, Any]


def run(size: Size, workers: Workers) -> Experiment:
    """Every method under both reviewers, on the same people."""
    name, played, arena = measure(size, workers)
    known = [(p.measured["violations"], 0.0) for p in played if p.learner == "batchwise"]
    ours = [(p.measured["behind_constant"], p.measured["behind_at_most"]) for p in played if p.learner == "adahedge"]
    share = broken_triangles(arena)
    return Experiment(
        number=9,
        title=TITLE,
        question=(
            f"{name}, {size.T:,} rounds of {K} people at α = {ALPHA}. One reviewer compares by a metric. The other "
            f"overlooks differences up to {TOLERANCE:g} and counts larger ones in full, as people do: "
            f"{share:.0%} of random triples then break the triangle inequality. What does each method do?"
        ),
        pictures=[Picture("reviewers", picture(played, size, name), _caption(played, size))],
        tables=[_table(played, size)],
        checks=[
            check("violations of a program that is told the distance ≤ 0", known, "none: it holds for every distance"),
            check("errors of AdaHedge above the best constant ≤ the limit proved by the play itself", ours,
                  "none: whatever the reviewer reports"),
        ],
        notes=[
            "The submetric compares everybody with eight representatives, and the triangle inequality is what turns "
            "these answers into distances between others. The learned form is a Mahalanobis distance, a metric by "
            "construction; it only becomes stricter, so what a reviewer who is no metric costs it is error."
        ],
    )  # fmt: skip


def measure(size: Size, workers: Workers) -> tuple[str, list[Played], Arena]:
    """Adult, or the built-in population where it can't be found; every method under both reviewers."""
    from likewise import datasets

    data = datasets.synthetic(1200) if size.small else demo.data_or_synthetic()[0]
    (arena,) = workers.map(arena_of, [(data, K)])
    arenas = {METRIC: arena, TOLERANT: replace(arena, distance=Tolerant(arena.distance))}
    calls = [
        (reviewer, Trial(method, None, 0.0, ALPHA, "worst", seed, size.T, K, 1), people)
        for reviewer, people in arenas.items()
        for method in reversed(METHODS)
        for seed in range(size.seeds)
    ]
    return data.name, workers.map(one_play, calls), arena


def one_play(reviewer: str, trial: Trial, arena: Arena) -> Played:
    """One method under one reviewer."""
    return Played(reviewer, trial.learner, try_out(trial, arena))


def broken_triangles(arena: Arena, triples: int = 5000) -> float:
    """The share of random triples with d(a, c) > d(a, b) + d(b, c), for the reviewer who is tolerant."""
    rng, view, reviewer = np.random.default_rng(0), arena.environment.view, Tolerant(arena.distance)
    broken = 0
    for _ in range(triples):
        d = reviewer(view[rng.choice(len(view), 3, replace=False)])
        broken += bool(d[0, 2] > d[0, 1] + d[1, 2] + 1e-12)
    return broken / triples


def mean(played: list[Played], reviewer: str, learner: str, measure: str) -> float:
    """The mean over seeds; NaN where one isn't known."""
    values = [p.measured[measure] for p in played if (p.reviewer, p.learner) == (reviewer, learner)]
    return float("nan") if None in values else float(np.mean(values))


def _table(played: list[Played], size: Size) -> Table:
    columns = ("error", "violations", "late_violations", "unfair_across", "share_of_gain", "answers")
    rows = []
    for method, words in METHODS.items():
        told = next(p.measured["told"] for p in played if p.learner == method)
        for reviewer in (METRIC, TOLERANT):
            rows.append((words, told, reviewer, *(mean(played, reviewer, method, name) for name in columns)))
    heads = ("method", "told", "reviewer", "error per person", "violations", "in the last quarter", "unfair across",
             "share of the possible gain", "answers asked of people")  # fmt: skip
    return Table("reviewers", f"Both reviewers on the same people, {size.T:,} rounds", heads, rows)


def picture(played: list[Played], size: Size, name: str) -> Figure:
    """Violations per thousand rounds under both reviewers, for each method."""
    with canvas(9, 4.4) as figure:
        axes = figure.subplots()
        shown = [method for method in METHODS if method != "batchwise"]
        words = {METRIC: "reviewer compares by a metric", TOLERANT: "reviewer overlooks small differences: no metric"}
        for i, (reviewer, colour) in enumerate(((METRIC, COLOURS[0]), (TOLERANT, COLOURS[1]))):
            heights = [1000 * mean(played, reviewer, method, "violations") / size.T for method in shown]
            bars = axes.bar(np.arange(len(shown)) + (i - 0.5) * 0.38, heights, 0.36, color=colour,
                            label=words[reviewer])  # fmt: skip
            axes.bar_label(bars, [f"{height:.0f}" for height in heights], fontsize=11, padding=2)
        told = {p.learner: p.measured["told"] for p in played}
        ticks = [f"{METHODS[method]}\ntold {told[method]}" for method in shown]
        axes.set_xticks(np.arange(len(shown)), ticks, fontsize=10.5)
        axes.set(title=f"{name}: violations per 1,000 rounds")
        axes.margins(y=0.12)
        axes.legend(loc="upper left")
    return figure


def _caption(played: list[Played], size: Size) -> str:
    def both(method: str) -> str:
        before, after = (mean(played, reviewer, method, "violations") for reviewer in (METRIC, TOLERANT))
        errors = [mean(played, reviewer, method, "error") for reviewer in (METRIC, TOLERANT)]
        return f"from {before:,.0f} to {after:,.0f} (error {errors[0]:.3f} and {errors[1]:.3f})"

    return (
        f"Violations in {size.T:,} rounds when the reviewer stops being a metric: the submetric goes "
        f"{both('submetric')}, the learned form {both('mahalanobis')}, AdaHedge, which only hears pairs, "
        f"{both('adahedge')}."
    )
