"""Experiment 8: every neighbour of the paper beside our default, on four data sets of real people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from likewise import datasets
from likewise.datasets import Dataset
from likewise.drawing import COLOURS, canvas
from likewise.errors import DataUnavailable
from likewise.experiments.compare.arena import Arena, Recipe, try_out
from likewise.experiments.compare.trials import Trial
from likewise.experiments.reproduce.measure import MARKERS
from likewise.experiments.reproduce.result import Experiment, Picture, Table, check
from likewise.experiments.reproduce.work import Workers

TITLE = "The neighbours, side by side"
ALPHA, K = 0.1, 6
RECIPE = Recipe("models", cuts=12)
DATA = ("adult", "compas", "german", "mortgage")
NAMES = {
    "unconstrained": "labels alone",
    "weights": "paper's weights",
    "adahedge": "AdaHedge (ours)",
    "primal-dual": "primal-dual",
    "fair-leader": "fair leader (Jung)",
    "fair-leader-asked": "fair leader, 1,000 asked",
    "fair-leader-told": "fair leader, told d (Rothblum)",
    "batchwise": "batchwise (Dwork)",
    "batchwise-floor": "batchwise, floor (Gupta)",
    "submetric": "submetric (Ilvento)",
    "mahalanobis": "learned form (Gillen)",
    "meritocratic": "meritocratic (Joseph)",
}


@dataclass(frozen=True)
class Size:
    """Rounds, seeds and data sets; ``small`` people are made up, so that it runs in seconds."""

    T: int
    seeds: int
    data: tuple[str, ...] = DATA
    small: bool = False


SIZES = {
    "tiny": Size(24, 1, ("synthetic",), small=True),
    "quick": Size(300, 1),
    "full": Size(2000, 3),
}


class Played(NamedTuple):
    """One learner on one data set: what was measured of it."""

    data: str
    learner: str
    measured: dict[str, Any]


def run(size: Size, workers: Workers) -> Experiment:
    """Play every learner on every data set that can be found."""
    arenas, missing = arenas_of(size, workers)
    calls = [(name, trial, arena) for name, arena in arenas.items() for trial in trials(size)]
    played = workers.map(one_play, calls)
    checks = [
        check("violations of a program that knows the distance ≤ 0",
              [(p.measured["violations"], 0.0) for p in played if p.learner.startswith("batchwise")],
              "none: it holds for every distance"),
        check("errors of AdaHedge above the best constant ≤ the limit proved by the play itself",
              [(p.measured["behind_constant"], p.measured["behind_at_most"]) for p in played
               if p.learner == "adahedge"],
              "none: whatever the reviewer reports"),
    ]  # fmt: skip
    return Experiment(
        number=8,
        title=TITLE,
        question=(
            f"What do the systems that the paper builds on do in the same game? {size.T:,} rounds of {K} people at "
            f"α = {ALPHA}, {size.seeds} seed{'s' if size.seeds > 1 else ''}; all choose among mixtures of six models' "
            f"cut-offs, or estimate labels from them. Each is told something different: see the table. {missing}"
        ),
        pictures=[_picture(played, list(arenas), size)],
        tables=[_table(played, size)],
        checks=checks,
        notes=[
            "Batchwise methods decide about each batch by itself: no violations, as these are counted within a round; "
            "“unfair across” counts pairs of people who came in different rounds of the last quarter. The share of the "
            "possible gain is that of people of the last quarter, under a model of the label; whoever is not fair can "
            "exceed 1. No theorem covers the neighbours in this game."
        ],
    )


def arenas_of(size: Size, workers: Workers) -> tuple[dict[str, Arena], str]:
    """The people of each data set, encoded, and a sentence about those that could not be found."""
    people, missing = [], []
    for name in size.data:
        try:
            people.append(datasets.synthetic(600) if size.small else datasets.load(name))
        except DataUnavailable:
            missing.append(name)
    if not people:
        people = [datasets.synthetic(4000)]
    arenas = workers.map(arena_of, [(data, K) for data in people])
    left_out = f"Not found, and left out: {', '.join(missing)}." if missing else ""
    return {data.name: arena for data, arena in zip(people, arenas, strict=True)}, left_out


def trials(size: Size) -> list[Trial]:
    """Each learner with each seed."""
    size_of = {"rounds": size.T, "people": K, "draws": 1}
    return [Trial(name, None, 0.0, ALPHA, "worst", seed, **size_of) for name in NAMES for seed in range(size.seeds)]


def arena_of(data: Dataset, k: int) -> Arena:
    """The class and the people, without which label is more common: all learners begin knowing the same."""
    return replace(RECIPE.prepare(data, k), ones=None)


def one_play(data: str, trial: Trial, arena: Arena) -> Played:
    """One learner on these people."""
    return Played(data, trial.learner, try_out(trial, arena))


def mean(played: list[Played], data: str, learner: str, measure: str) -> float:
    """The mean over seeds; NaN where one isn't known."""
    values = [p.measured[measure] for p in played if (p.data, p.learner) == (data, learner)]
    return float("nan") if None in values else float(np.mean(values))


COLUMNS = {
    "error": "error per person",
    "violations": "violations",
    "late_violations": "in the last quarter",
    "unfair_across": "unfair across",
    "lottery": "lottery",
    "share_of_gain": "share of the possible gain",
    "answers": "answers asked of people",
}


def _table(played: list[Played], size: Size) -> Table:
    rows = []
    for data in dict.fromkeys(p.data for p in played):
        for name, words in NAMES.items():
            told = next(p.measured["told"] for p in played if p.learner == name)
            rows.append((data, words, told, *(mean(played, data, name, measure) for measure in COLUMNS)))
    return Table("neighbours", f"Everybody on the same people, {size.T:,} rounds",
                 ("data", "learner", "told", *COLUMNS.values()), rows)  # fmt: skip


STYLES = {name: (COLOURS[i % 6], (*MARKERS, "X", "p", "*", "P", "h")[i % 11]) for i, name in enumerate(NAMES)}
FURTHEST = 1.5
"""Shares of the possible gain beyond this, of methods that are not fair, are cut off in the picture."""


def _picture(played: list[Played], names: list[str], size: Size) -> Picture:
    with canvas(10, 1.6 + 3.4 * len(names)) as figure:
        grid = figure.subplots(len(names), 2, squeeze=False, width_ratios=(1.5, 1))
        for (left, right), data in zip(grid, names, strict=True):
            _plane(left, played, data, size)
            _shares(right, played, data)
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=10)
    return Picture("neighbours", figure, _caption(played, names[0], size))


def _plane(axes: Any, played: list[Played], data: str, size: Size) -> None:
    for name, (colour, marker) in STYLES.items():
        x, y = mean(played, data, name, "violations") / size.T, mean(played, data, name, "error")
        axes.scatter(x, y, s=70, color=colour, marker=marker, zorder=3, label=NAMES[name])
    axes.set_xscale("symlog", linthresh=0.001, linscale=0.5)
    axes.set_xticks([0, 0.001, 0.01, 0.1, 1], ["0", "0.001", "0.01", "0.1", "1"])
    axes.set_xticks([], minor=True)
    axes.set(xlabel="violations per round", title=f"{data}: error per person", xlim=(-0.0003, 1.3))


def _shares(axes: Any, played: list[Played], data: str) -> None:
    shares = {name: mean(played, data, name, "share_of_gain") for name in reversed(NAMES)}
    widths = np.clip(list(shares.values()), -FURTHEST / 3, FURTHEST)
    axes.barh(np.arange(len(shares)), np.nan_to_num(widths), color=[STYLES[name][0] for name in shares])
    axes.axvline(1.0, color="#222222", linewidth=1.2, linestyle="--")
    axes.set_yticks(np.arange(len(shares)), [NAMES[name] for name in shares], fontsize=8.5)
    axes.set(xlabel="1: the best fair policy of any kind", title="Share of the possible gain")


def _caption(played: list[Played], data: str, size: Size) -> str:
    ours, batch = ((mean(played, data, name, "error"), mean(played, data, name, "violations"),
                    mean(played, data, name, "unfair_across")) for name in ("adahedge", "batchwise"))  # fmt: skip
    return (
        f"Each method on the same people: error against violations per round, and the share of what any fair policy "
        f"could gain over one answer for all (cut off at {FURTHEST:g}; only who isn't fair exceeds 1 by much). "
        f"On {data}, AdaHedge errs {ours[0]:.3f} with {ours[1]:,.0f} violations in {size.T:,} rounds and "
        f"{ours[2]:.1%} unfair pairs across rounds; the program that is told the distance errs {batch[0]:.3f} with "
        f"{batch[1]:,.0f}, but {batch[2]:.1%} of pairs across rounds are unfair."
    )
