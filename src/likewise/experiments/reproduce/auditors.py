"""Experiment 6: how little the auditor needs. Any one pair will do; the distance may drift and need be no metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.auditors import DriftingAuditor, MetricAuditor
from likewise.drawing import COLOURS, canvas
from likewise.experiments.games import Town
from likewise.experiments.reproduce.measure import Outcome, against, mathtext, outcome, outside_legend, theorem_checks
from likewise.experiments.reproduce.result import Experiment, Picture, Table, assumed
from likewise.experiments.reproduce.work import Workers
from likewise.learners import AdaHedge, ExponentialWeights
from likewise.protocol import Floats

TITLE = "The auditor's weakness"
ALPHA = 0.3
TOWN = Town(k=4)
KINDS = ("worst pair", "first pair", "random pair", "drifting distance", "no metric")
LEARNERS = ("exponential weights", "AdaHedge (default)")
IID, TEMPTER = "i.i.d. people", "adversary that sees π^t"


@dataclass(frozen=True)
class Size:
    """The horizon, and how many seeds are averaged in the i.i.d. game."""

    T: int
    seeds: int


SIZES = {"tiny": Size(100, 1), "quick": Size(1000, 1), "full": Size(4000, 3)}


def run(size: Size, workers: Workers) -> Experiment:
    """Every kind of auditor with both learners."""
    calls = [(kind, name, game, size.T, seed) for kind in KINDS for name in LEARNERS for game in (IID, TEMPTER)
             for seed in range(size.seeds if game == IID else 1)]  # fmt: skip
    outcomes = workers.map(one_play, calls)
    first = {o.learner.split(": ")[1]: o.bound for o in outcomes}
    return Experiment(
        number=6,
        title=TITLE,
        question=(
            "The auditor needs to point at one violating pair, any one, and may compare by a distance that changes or "
            "breaks the triangle inequality. What does each weakness cost?"
        ),
        pictures=[_picture(outcomes, size)],
        tables=[_table(outcomes)],
        bounds=[assumed(first[name], name) for name in LEARNERS],
        checks=theorem_checks(outcomes),
        notes=[
            f"The distance that is no metric breaks the triangle inequality in {broken_triangles():.1%} of all triples "
            f"of the population, the fixed one in {broken_triangles(TOWN.near):.1%}. The theorems don't ask for it: "
            "the same limits hold in every row.",
        ],
    )


def one_play(kind: str, name: str, game: str, T: int, seed: int) -> Outcome:
    """One learner before one kind of auditor."""
    F, drifts = TOWN.hypotheses, kind == "drifting distance"
    distance: Callable[..., Floats] = TOWN.drifting if drifts else TOWN.broken if kind == "no metric" else TOWN.near
    choose = kind.split()[0] if kind.endswith("pair") else "worst"
    auditor: Any = DriftingAuditor(distance, ALPHA) if drifts else MetricAuditor(distance, ALPHA, choose)
    learner: Any = (
        ExponentialWeights(F, T=T, k=TOWN.k)
        if name == LEARNERS[0]
        else AdaHedge(F, T=T, k=TOWN.k, alpha=ALPHA, penalty="growing")
    )
    people = TOWN.iid() if game == IID else TOWN.tempter(F)
    return outcome((game, f"{kind}: {name}"), learner, people, auditor, seed, distance, drifting=drifts)


def broken_triangles(distance: Callable[[Any], Floats] = Town.broken) -> float:
    """The share of triples of the population with d(a, c) > d(a, b) + d(b, c)."""
    d = distance(TOWN.population[0])
    return float((d[:, None, :] > d[:, :, None] + d[None, :, :] + 1e-12).mean())


def _mean(outcomes: list[Outcome], kind: str, name: str, game: str, measure: str) -> float:
    values = [getattr(o, measure) for o in outcomes if o.game == game and o.learner == f"{kind}: {name}"]
    return float(np.mean(values))


def _table(outcomes: list[Outcome]) -> Table:
    columns = ("auditor", "learner", "game", "violations", "limit", "error regret against Q_α",
               "limit of the error regret", "which is against")  # fmt: skip
    rows = []
    bounds = {o.learner: o.bound for o in outcomes}
    for kind in KINDS:
        for name in LEARNERS:
            bound = bounds[f"{kind}: {name}"]
            assert bound is not None
            for game in (IID, TEMPTER):
                measured = [_mean(outcomes, kind, name, game, measure) for measure in ("violations", "error_regret")]
                limits = (bound.error_regret, against(bound))
                rows.append((kind, name, game, measured[0], bound.violations, measured[1], *limits))
    return Table("auditors", "Five auditors, two learners, two games", columns, rows)


def _picture(outcomes: list[Outcome], size: Size) -> Picture:
    with canvas(10, 5.2) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        places = np.arange(len(KINDS))[::-1]
        bars = [(name, game) for name in LEARNERS for game in (IID, TEMPTER)]
        for ax, measure, title in zip(
            axes, ("violations", "error_regret"), ("Violations", "Error regret against Q_α"), strict=True
        ):
            for i, (name, game) in enumerate(bars):
                values = [_mean(outcomes, kind, name, game, measure) for kind in KINDS]
                style = {"color": COLOURS[i // 2], "hatch": "" if i % 2 == 0 else "//", "edgecolor": "white"}
                ax.barh(places + 0.3 - 0.2 * i, values, height=0.18, label=mathtext(f"{name}, {game}"), **style)
            ax.axvline(0, color="#555555", linewidth=1)
            ax.set(title=mathtext(title))
            ax.grid(axis="y", visible=False)
        axes[0].set_yticks(places, KINDS)
        outside_legend(figure, axes[0], columns=2)
    caption = (
        f"T = {size.T:,}, α = {ALPHA}: whichever pair the auditor points at, and by whatever distance, AdaHedge has "
        f"{_range(outcomes, LEARNERS[1])} violations on i.i.d. people and exponential weights "
        f"{_range(outcomes, LEARNERS[0])}."
    )
    return Picture("auditors", figure, caption)


def _range(outcomes: list[Outcome], name: str) -> str:
    values = [_mean(outcomes, kind, name, IID, "violations") for kind in KINDS]
    return f"{min(values):,.0f} to {max(values):,.0f}"
