"""How cost grows with T, N and E, beside peers where they have such a thing."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import Work, in_turns
from peers import ftpl_numpy, river_logistic, sgd_batches, vowpal_wabbit
from rows import K, listed, literal_draw, population, python_distance

import likewise as lw
from likewise.drawing import COLOURS, LINES, canvas, save

Lines = dict[str, tuple[list[int], list[float]]]


def _medians(times: int, sides: dict[str, Work]) -> list[float]:
    turns = in_turns(times, sides)
    return [turns.median(side) for side in sides]


def against_rounds() -> Lines:
    """Seconds of a play of T rounds; of peers, on the same people."""
    X, y = population()
    F = lw.Thresholds.quantiles(X, cuts=50)
    people = lw.IID(X, y, k=K).encoded(F.encode)
    named, own = lw.MetricAuditor("cityblock", 0.1), lw.MetricAuditor(python_distance, 0.1)
    lines: Lines = {}
    for T in (300, 1000, 3000, 10_000):
        drawn, learner = people.draws(0, 1, T).ravel(), lw.AdaHedge(F, k=K, alpha=0.1, T=T)
        sides = {
            "compiled play": partial(lw.play, learner, people, named),
            "readable loop": partial(lw.play, learner, people, own, compiled=False),
            "river": river_logistic(X[drawn], y[drawn]),
            "Vowpal Wabbit": vowpal_wabbit(X[drawn], y[drawn]),
        }
        if T <= 3000:  # it takes seconds more
            sides["scikit-learn SGD"] = sgd_batches(X[drawn], y[drawn], K)
        for name, taken in zip(sides, _medians(3, sides), strict=True):
            _add(lines, name, T, taken)
    return lines


def against_hypotheses() -> Lines:
    """Seconds of one round over N hypotheses: nested cut-offs; the same listed one by one; one pass of memory."""
    X, y = population(2000)
    rng = np.random.default_rng(0)
    auditor = lw.MetricAuditor("cityblock", 0.1)
    lines: Lines = {}
    for cuts in (5, 50, 500, 5000, 50_000):
        F = lw.Thresholds([np.sort(rng.normal(size=cuts)) for _ in range(10)])
        rounds = 200 if cuts < 500 else 10
        sides: dict[str, Work] = {"AdaHedge, thresholds": _rounds(F, X, y, auditor, rounds)}
        if cuts <= 500:  # a table of people × hypotheses
            sides["AdaHedge, listed one by one"] = _rounds(listed(F), X, y, auditor, rounds)
        exponents = -rng.random(F.size)
        sides["one np.exp pass"] = lambda e=exponents, r=rounds: [np.exp(e) for _ in range(r)]
        for name, taken in zip(sides, _medians(5, sides), strict=True):
            _add(lines, name, F.size, taken / rounds)
    return lines


def _rounds(F: Any, X: np.ndarray, y: np.ndarray, auditor: Any, rounds: int) -> Work:
    """Some rounds of AdaHedge in the readable loop, from a play already begun."""
    people, learner = lw.IID(X, y, k=K).encoded(F.encode), lw.AdaHedge(F, k=K, alpha=0.1)
    begun = lw.play(learner, people, auditor, 5).state
    return partial(lw.play, learner, people, auditor, rounds, state=begun, compiled=False)


def against_draws() -> Lines:
    """Seconds of one round of Context-FTPL with E draws."""
    X, y = population(2000, 6)
    F = lw.Thresholds.quantiles(X, cuts=8)
    people, auditor = lw.IID(X, y, k=K).encoded(F.encode), lw.MetricAuditor("cityblock", 0.1)
    table, rng = F.predict_rows(F.separator).T.astype(float), np.random.default_rng(0)
    nothing = np.zeros(F.size)
    lines: Lines = {}
    for E in (100, 1000, 10_000, 50_000):
        learner = lw.ContextFTPL(F, T=1000, k=K, draws=E)
        sides: dict[str, Work] = {
            "ContextFTPL": partial(lw.play, learner, people, auditor, 10),
            "the same in NumPy": lambda E=E, W=learner.scale: [
                ftpl_numpy(nothing, table, W, E, rng) for _ in range(10)
            ],
        }
        for name, taken in zip(sides, _medians(3, sides), strict=True):
            _add(lines, name, E, taken / 10)
        _add(lines, "the paper's text, extrapolated", E, E * literal_draw(learner, X, 100, rng))
    return lines


def _add(lines: Lines, name: str, x: int, y: float) -> None:
    sizes, taken = lines.setdefault(name, ([], []))
    sizes.append(x)
    taken.append(y)


def draw(path: Path) -> None:
    """All three, side by side, on logarithmic axes."""
    panels = [
        ("rounds T", "seconds of a play", against_rounds()),
        ("hypotheses N", "seconds of a round", against_hypotheses()),
        ("draws E", "seconds of a round", against_draws()),
    ]
    with canvas(13, 5.2) as figure:
        for axes, (label, title, lines) in zip(figure.subplots(1, 3), panels, strict=True):
            for (name, (x, y)), colour, line in zip(lines.items(), COLOURS, LINES, strict=False):
                axes.loglog(x, y, "o", linestyle=line, color=colour, label=name)
            axes.set(xlabel=label, title=title)
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), handlelength=3.2)
    save(figure, path)
