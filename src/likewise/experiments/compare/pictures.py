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


def draw(done: Comparison, name: str, *, exact: bool = False) -> list[Path]:
    """One picture for each α, as violations of one level can't be held against those of another.

    ``exact`` adds what fixed policies could have reached in hindsight, for the people of the first seed.
    """
    found = []
    for alpha in done.sweep.alphas:
        best = price(done.arena(), done.sweep.rounds, alpha, done.sweep.seeds[0]) if exact else ()
        lines = [line for line in done.lines if line.alpha == alpha]
        for part in _parts(lines):
            dots = {label: _point(line) for label, line in zip(_labels(part), part, strict=True)}
            shared = _shared(part, lines)
            title = ", ".join([name, f"α = {alpha:g}", *shared]) + ": error per person"
            ending = "-".join([f"alpha-{alpha:g}", *(word.replace(" ", "-").replace(":", "-") for word in shared)])
            path = done.folder / (f"plane-{ending}.png" if len(part) < len(done.lines) else "plane.png")
            found.append(save(plane(dots, best, title=title), path))
    return found


def price(arena: Arena, rounds: int, alpha: float, seed: int) -> tuple[Point, ...]:
    """The exact frontier on the people of one seed: they are the same for every learner, so any play will do."""
    deaf = Unconstrained(arena.hypotheses, k=arena.environment.k, T=rounds)
    t = play(deaf, arena.environment, MetricAuditor(arena.distance, alpha), rounds, seed=seed)
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
    return [", ".join([line.learner, *_said(line, [v for v in varying if v != "learner"])]) for line in lines]


def _shared(part: Sequence[Line], lines: Sequence[Line]) -> list[str]:
    """What tells this part of the lines from the others."""
    return _said(part[0], [name for name in _varying(lines) if name not in _varying(part)])


def _said(line: Line, names: Sequence[str]) -> list[str]:
    words = {"margin": f"margin {line.margin:g}", "C": "own C" if line.C is None else f"C = {line.C:g}"}
    known = [name for name in names if name != "C" or LEARNERS[line.learner].has_penalty]
    return [words.get(name, str(getattr(line, name))) for name in known]


def _point(line: Line) -> Point:
    share, spread = line.violations.value / line.rounds, (line.violations.error or 0.0) / line.rounds
    return Point(share, line.error.value, spread, line.error.error or 0.0)
