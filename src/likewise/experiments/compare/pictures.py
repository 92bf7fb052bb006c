"""The error–violations plane of a sweep: a dot for each line of the table, with error bars over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from likewise.auditors import MetricAuditor
from likewise.experiments.compare.arena import Arena
from likewise.experiments.compare.run import Comparison
from likewise.experiments.compare.summary import TRIED, Line
from likewise.experiments.compare.trials import LEARNERS
from likewise.figures import Point, frontier_points, plane, save
from likewise.game import play
from likewise.hindsight import frontier
from likewise.learners import Unconstrained

LEVELS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
"""Where the exact frontier is computed, besides the level of the picture itself."""
CROWDED = 12
"""A picture with more dots than this is split by auditor and margin."""


def draw(comparison: Comparison, name: str, *, exact: bool = False) -> list[Path]:
    """One picture for each α, as violations at different levels can't be compared.

    ``exact`` adds what fixed policies could have reached in hindsight, for the people of the first seed.
    """
    paths = []
    for alpha in comparison.sweep.alphas:
        best = price(comparison.arena(), comparison.sweep.rounds, alpha, comparison.sweep.seeds[0]) if exact else ()
        lines = [line for line in comparison.lines if line.alpha == alpha]
        for group in _parts(lines):
            dots = {label: _point(line) for label, line in zip(_labels(group), group, strict=True)}
            shared = _shared(group, lines)
            title = ", ".join([name, f"α = {alpha:g}", *shared]) + ": error per person"
            ending = "-".join([f"alpha-{alpha:g}", *(word.replace(" ", "-").replace(":", "-") for word in shared)])
            path = comparison.folder / (f"plane-{ending}.png" if len(group) < len(comparison.lines) else "plane.png")
            paths.append(save(plane(dots, best, title=title), path))
    return paths


def price(arena: Arena, rounds: int, alpha: float, seed: int) -> tuple[Point, ...]:
    """The exact frontier on the people of one seed: they are the same for every learner, so any play will do."""
    learner = Unconstrained(arena.hypotheses, k=arena.environment.k, T=rounds)
    t = play(learner, arena.environment, MetricAuditor(arena.distance, alpha), rounds, seed=seed)
    return frontier_points(frontier(t, arena.distance, sorted({*LEVELS, alpha})), t, arena.distance)


def _parts(lines: Sequence[Line]) -> list[list[Line]]:
    if len(lines) <= CROWDED:
        return [list(lines)]
    parts: dict[tuple[str, float], list[Line]] = {}
    for line in lines:
        parts.setdefault((line.auditor, line.margin), []).append(line)
    return list(parts.values())


def _varying(lines: Sequence[Line]) -> list[str]:
    return [name for name in TRIED if len({getattr(line, name) for line in lines}) > 1]


def _labels(lines: Sequence[Line]) -> list[str]:
    """The learner, and what else tells the lines apart."""
    varying = _varying(lines)
    return [", ".join([line.learner, *_described(line, [v for v in varying if v != "learner"])]) for line in lines]


def _shared(group: Sequence[Line], lines: Sequence[Line]) -> list[str]:
    """What tells this group of lines from the others."""
    return _described(group[0], [name for name in _varying(lines) if name not in _varying(group)])


def _described(line: Line, names: Sequence[str]) -> list[str]:
    texts = {"margin": f"margin {line.margin:g}", "C": "own C" if line.C is None else f"C = {line.C:g}"}
    shown = [name for name in names if name != "C" or LEARNERS[line.learner].has_penalty]
    return [texts.get(name, str(getattr(line, name))) for name in shown]


def _point(line: Line) -> Point:
    share, spread = line.violations.value / line.rounds, (line.violations.error or 0.0) / line.rounds
    return Point(share, line.error.value, spread, line.error.error or 0.0)
