"""How cost grows with T, N and E, beside peers where they have such a thing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from measure import seconds
from peers import ftpl_numpy, river_logistic
from rows import K, population

import likewise as lw
from likewise.drawing import COLOURS, LINES, canvas, save


def _median(work, times: int = 3) -> float:
    work()
    return float(np.median([seconds(work) for _ in range(times)]))


def against_rounds() -> dict[str, tuple[list[int], list[float]]]:
    """Seconds of a play of T rounds."""
    X, y = population()
    F = lw.Thresholds.quantiles(X, cuts=50)
    people, auditor = lw.IID(X, y, k=K).encoded(F.encode), lw.MetricAuditor("cityblock", 0.1)
    sizes = [300, 1000, 3000, 10_000]
    found: dict[str, tuple[list[int], list[float]]] = {}
    for name, compiled in (("compiled play", True), ("readable loop", False)):
        found[name] = (
            sizes,
            [
                _median(
                    lambda T=T, c=compiled: lw.play(lw.AdaHedge(F, k=K, alpha=0.1, T=T), people, auditor, compiled=c)
                )
                for T in sizes
            ],
        )
    found["river"] = sizes, [_median(river_logistic(X[: T * K], y[: T * K]), 1) for T in [300, 1000, 3000, 5000]]
    found["river"] = [300, 1000, 3000, 5000], found["river"][1]
    return found


def against_hypotheses() -> dict[str, tuple[list[int], list[float]]]:
    """Seconds of one round over N hypotheses."""
    X, y = population(2000)
    rng = np.random.default_rng(0)
    auditor = lw.MetricAuditor("cityblock", 0.1)
    sizes, ours, passes = [], [], []
    for cuts in (5, 50, 500, 5000, 50_000):
        F = lw.Thresholds([np.sort(rng.normal(size=cuts)) for _ in range(10)])
        people = lw.IID(X, y, k=K).encoded(F.encode)
        learner = lw.AdaHedge(F, k=K, alpha=0.1)
        rounds = 200 if cuts < 5000 else 10
        exponents = -rng.random(F.size)
        sizes.append(F.size)
        ours.append(_median(lambda r=rounds, p=people, a=learner: lw.play(a, p, auditor, r)) / rounds)
        passes.append(_median(lambda e=exponents: np.exp(e)))
    return {"AdaHedge round": (sizes, ours), "one np.exp pass": (sizes, passes)}


def against_draws() -> dict[str, tuple[list[int], list[float]]]:
    """Seconds of one round of Context-FTPL with E draws."""
    X, y = population(2000, 6)
    F = lw.Thresholds.quantiles(X, cuts=8)
    people, auditor = lw.IID(X, y, k=K).encoded(F.encode), lw.MetricAuditor("cityblock", 0.1)
    table, rng = F.predict_rows(F.separator).T.astype(float), np.random.default_rng(0)
    sizes, ours, plain = [100, 1000, 10_000, 50_000], [], []
    for E in sizes:
        learner = lw.ContextFTPL(F, T=1000, k=K, draws=E)
        ours.append(_median(lambda a=learner: lw.play(a, people, auditor, 10)) / 10)
        plain.append(_median(lambda E=E, s=learner.scale: ftpl_numpy(np.zeros(F.size), table, s, E, rng)))
    return {"ContextFTPL round": (sizes, ours), "the same in NumPy": (sizes, plain)}


def draw(path: Path) -> None:
    """All three, side by side, on logarithmic axes."""
    panels = [
        ("rounds T", "seconds of a play", against_rounds()),
        ("hypotheses N", "seconds of a round", against_hypotheses()),
        ("draws E", "seconds of a round", against_draws()),
    ]
    with canvas(13, 4.2) as figure:
        for axes, (label, title, lines) in zip(figure.subplots(1, 3), panels, strict=True):
            for (name, (x, y)), colour, line in zip(lines.items(), COLOURS, LINES, strict=False):
                axes.loglog(x, y, "o", linestyle=line, color=colour, label=name)
            axes.set(xlabel=label, title=title)
            axes.legend()
    save(figure, path)
