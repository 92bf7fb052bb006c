"""Experiment 2: the paper's exponential weights, measured against their theorem over growing horizons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from likewise.auditors import MetricAuditor
from likewise.drawing import canvas
from likewise.experiments.games import Town, alike, two_people, two_people_class
from likewise.experiments.reproduce.measure import (
    Curve,
    Outcome,
    curve_table,
    curves,
    draw_curves,
    idle_limits,
    mathtext,
    not_drawn,
    outcome,
    outside_legend,
    theorem_checks,
)
from likewise.experiments.reproduce.result import Experiment, Picture, assumed
from likewise.experiments.reproduce.work import Workers, power
from likewise.learners import ExponentialWeights

TITLE = "Exponential weights, the paper's learner"
ALPHA = 0.5
TOWN = Town(k=2)
IID, TEMPTER, TWO = "i.i.d. people", "adversary that sees π^t", "two people"


@dataclass(frozen=True)
class Size:
    """Horizons, and seeds of the i.i.d. game."""

    horizons: tuple[int, ...]
    seeds: int


SIZES = {
    "tiny": Size((100, 200), 1),
    "quick": Size((500, 1000, 2000, 4000, 8000), 1),
    "full": Size((1000, 2000, 4000, 8000, 16_000, 32_000), 2),
}


def run(size: Size, workers: Workers) -> Experiment:
    """Play every horizon in every game."""
    calls = [(game, T, seed) for T in reversed(size.horizons) for game in (TEMPTER, IID, TWO)
             for seed in range(size.seeds if game == IID else 1)]  # fmt: skip
    outcomes = workers.map(one_play, calls)
    all_curves = curves(sorted(outcomes, key=lambda o: (IID, TEMPTER, TWO).index(o.game)))
    fits = {c.game: c.exponents for c in all_curves}
    return Experiment(
        number=2,
        title=TITLE,
        question=(
            "Theorem exp-guarantee promises violations and error regret of order T^¾, even when the environment sees "
            "π^t. How do both grow, against the exact best α-fair policy in hindsight?"
        ),
        pictures=[_picture(all_curves)],
        tables=[curve_table("exponential-weights", "Measured beside promised", all_curves)],
        bounds=[assumed(all_curves[0].bounds[-1], "violations, error regret (dotted)")],
        checks=theorem_checks(outcomes),
        notes=[
            f"Powers of T fitted over the last three horizons, {game}: violations {power(v)}, error regret {power(r)}; "
            "the theorem allows T^0.75 in the end (a dash: fewer than 30, no fit)."
            for game, (v, r) in fits.items()
        ],
    )


def one_play(game: str, T: int, seed: int) -> Outcome:
    """One play of one game."""
    F: Any = two_people_class() if game == TWO else TOWN.hypotheses
    people: Any = two_people(F) if game == TWO else TOWN.iid() if game == IID else TOWN.tempter(F)
    distance = alike if game == TWO else TOWN.near
    learner = ExponentialWeights(F, T=T, k=2)
    return outcome((game, "exponential weights"), learner, people, MetricAuditor(distance, ALPHA), seed, distance)


def _kept(all_curves: list[Curve]) -> str:
    pairs = [pair for c in all_curves for b, *values in zip(c.bounds, c.violations, c.regret, strict=True)
             if b is not None for pair in zip(values, (b.violations, b.error_regret), strict=True)]  # fmt: skip
    return f"{sum(value <= limit for value, limit in pairs)} of {len(pairs)} measured values"


def _picture(all_curves: list[Curve]) -> Picture:
    with canvas(10, 4.6) as figure:
        axes = figure.subplots(1, 2)
        draw_curves(axes, all_curves, lambda curve: mathtext(curve.game))
        axes[0].set(title="Violations (dotted: the theorem's limit)")
        axes[1].set(title=mathtext("Error regret against Q_α (dotted: its limit)"))
        outside_legend(figure, axes[0])
    slopes = "; ".join(f"{c.game} {c.fit}" for c in all_curves)
    caption = (
        f"By their last three horizons, violations of exponential weights (α = {ALPHA}) grow like: {slopes}; "
        f"{_kept(all_curves)} of violations and error regret are below the theorem's dotted limits, "
        f"and {idle_limits(all_curves, 2)}{not_drawn(all_curves)}."
    )
    return Picture("exponential-weights", figure, caption)
