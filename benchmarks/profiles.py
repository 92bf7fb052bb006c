"""Where the time of the three main plays goes, by the profiler of the standard library."""

from __future__ import annotations

import cProfile
import pstats

from rows import K, population

import likewise as lw


def where_time_goes() -> str:
    """One table per play: the functions that take the most time of their own."""
    X = population()[0]
    F, few = lw.Thresholds.quantiles(X, cuts=50), lw.Thresholds.quantiles(X[:, :6], cuts=8)
    grid = lw.Cells.grid(X, bins=8, features=[0, 1])
    plays = {
        "AdaHedge over 1,002 thresholds, readable loop": (lw.AdaHedge(F, k=K, alpha=0.1, T=4000), X, 4000),
        "AdaHedge over 2⁶⁴ labellings of cells": (lw.AdaHedge(grid, k=K, alpha=0.1, T=4000), X, 4000),
        "ContextFTPL, E = 4,000": (lw.ContextFTPL(few, T=4000, k=K, noise="paper"), X[:, :6], 60),
    }
    return "\n\n".join(_profile(name, *parts) for name, parts in plays.items())


def _profile(name: str, learner, X, T: int) -> str:
    y = population()[1]
    people = lw.IID(X, y, k=K).encoded(learner.hypotheses.encode)
    auditor = lw.MetricAuditor("cityblock", 0.1)
    lw.play(learner, people, auditor, 10, compiled=False)
    profiler = cProfile.Profile()
    profiler.enable()
    lw.play(learner, people, auditor, T, compiled=False)
    profiler.disable()
    stats = pstats.Stats(profiler)
    whole = stats.total_tt
    top = sorted(stats.stats.items(), key=lambda item: -item[1][2])[:7]
    lines = [f"**{name}** ({T:,} rounds, profiled)", "", "| function | share of the time |", "|---|---|"]
    for (file, _, function), numbers in top:
        where = file.rsplit("/", 1)[-1] if file != "~" else "built in"
        lines.append(f"| `{function}` ({where}) | {numbers[2] / whole:.0%} |")
    return "\n".join(lines)
