"""What a round costs: people per second for each learner, and whether rounds get slower as the play goes on.

Timings vary from minute to minute, so everything is a ratio of two sides measured in one run, interleaved.
"""

from __future__ import annotations

import platform
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import likewise as lw

K = 4
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 10))
y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(float)


def people_per_second(learner: lw.learners.AdaHedge, T: int) -> float:
    """Individuals decided about, audited and learned from in a second."""
    people = lw.IID(X, y, k=K).encoded(learner.hypotheses.encode)
    start = time.perf_counter()
    lw.play(learner, people, lw.MetricAuditor("cityblock", alpha=0.1), T)
    return T * K / (time.perf_counter() - start)


def growth(T: int) -> float:
    """Seconds per round in the last tenth over the first tenth of a play, which continues tenth by tenth."""
    learner = lw.AdaHedge(lw.Thresholds.quantiles(X, cuts=50), k=K, alpha=0.1)
    people = lw.IID(X, y, k=K).encoded(learner.hypotheses.encode)
    auditor, state, seconds = lw.MetricAuditor("cityblock", alpha=0.1), None, []
    for _ in range(10):
        start = time.perf_counter()
        state = lw.play(learner, people, auditor, T // 10, state=state).state
        seconds.append(time.perf_counter() - start)
    return seconds[-1] / seconds[0]


def main() -> None:
    """Print the table."""
    F, T = lw.Thresholds.quantiles(X, cuts=50), 2000
    cells = lw.Cells.grid(X, bins=8, features=[0, 1])
    learners = {
        "AdaHedge, 1,002 thresholds": lw.AdaHedge(F, k=K, alpha=0.1, T=T),
        "ExponentialWeights, the same": lw.ExponentialWeights(F, k=K, T=T),
        "Hedge, the same": lw.Hedge(F, k=K, T=T),
        "AdaHedge, 2^64 labellings of cells": lw.AdaHedge(cells, k=K, alpha=0.1, T=T),
    }
    runs = {name: [] for name in learners}
    for _ in range(3):
        for name, learner in learners.items():
            runs[name].append(people_per_second(learner, T))
    medians = {name: float(np.median(speeds)) for name, speeds in runs.items()}
    base = medians["AdaHedge, 1,002 thresholds"]
    table = Table("learner", "people per second", "beside AdaHedge on thresholds")
    for name, speed in medians.items():
        table.add_row(name, f"{speed:,.0f}", f"{speed / base:.2f} ×")
    console = Console()
    console.print(table)
    console.print(f"Seconds per round, last tenth over first tenth of 20,000 rounds: {growth(20_000):.2f}")
    console.print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")


if __name__ == "__main__":
    main()
