"""Experiment 5: fairness to people who were not in the play, promised and true; and why the naive sum is tight."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from likewise.auditors import MetricAuditor
from likewise.certificates import Certificate, certify, evaluate_fairness
from likewise.drawing import COLOURS, canvas
from likewise.experiments.games import Town
from likewise.experiments.reproduce.measure import STYLES, outside_legend, plain_ticks
from likewise.experiments.reproduce.result import Assumed, Check, Experiment, Picture, Table, check
from likewise.experiments.reproduce.work import Workers
from likewise.game import play
from likewise.learners import AdaHedge
from likewise.protocol import Floats

TITLE = "Fairness to new people"
ALPHA, BEYOND, DELTA = 0.2, 0.1, 0.05
TOWN = Town(k=2)
ASSUMES = (
    "people independent and from one population, within and across rounds; k ≥ 2; the auditor reports whenever it can, "
    "by one fixed distance"
)


@dataclass(frozen=True)
class Size:
    """Horizons, and how many new people the truth is measured on."""

    horizons: tuple[int, ...]
    newcomers: int


SIZES = {
    "tiny": Size((100, 300), 200),
    "quick": Size((500, 1000, 2000, 4000, 8000), 1000),
    "full": Size((1000, 2000, 4000, 8000, 16_000, 32_000), 2000),
}


class Promise(NamedTuple):
    """At one horizon: what each theorem says of the share beyond α + 0.1, and the measured shares."""

    T: int
    violations: int
    limits: dict[str, float]
    beyond: tuple[float, float]
    """Share of pairs beyond α + 0.1 among new people, and the lower end of its confidence interval."""
    at_alpha: float
    curves: dict[str, tuple[Floats, Floats]]
    true: tuple[Floats, Floats]


def run(size: Size, workers: Workers) -> Experiment:
    """Play, certify, and look at new people."""
    longest = max(size.horizons)
    calls = [(T, size.newcomers, longest == T) for T in reversed(size.horizons)]
    promises = sorted(workers.map(one_play, calls), key=lambda p: p.T)
    betas = tightness()
    return Experiment(
        number=5,
        title=TITLE,
        question=(
            "Few violations in the play promise that the average policy is (α', β)-fair: two random new people are "
            "treated more than α' beyond their distance with probability at most β. How far is the promise from the "
            "truth?"
        ),
        pictures=[_picture(promises, size)],
        tables=[_table(promises), _tight(betas)],
        bounds=[
            Assumed(
                "T fixed in advance, the paper's",
                "Theorem gen: (α + q/T, (V + √(2T ln(4/δ)))/q)",
                f"{ASSUMES}; T fixed",
            ),
            Assumed(
                "T fixed in advance, sharpened",
                "√(T ln(1/δ)/2), and threshold α + (q−1)(1−α)/T",
                f"{ASSUMES}; T fixed in advance",
            ),
            Assumed("at any time", "Ville's inequality over twenty rates", f"{ASSUMES}; for all T at once"),
        ],
        checks=[_kept(promises), _exact(betas)],
        notes=[
            "The naive sum Σβ cannot be improved at α itself: three people, α = 1/10, d(x1,x2) = d(x2,x3) = 0, "
            "d(x3,x1) = 1, and the policies (1,0,0) and (1,1,0) in turn. Counted over all nine pairs, each policy "
            f"violates with probability {betas[0]} and {betas[1]}, their average with {betas[2]}. The paper prints 1/8 "
            "and 1/4."
        ],
    )


def one_play(T: int, newcomers: int, with_curve: bool) -> Promise:
    """One play with its certificate; ``with_curve`` measures the true curve too."""
    learner = AdaHedge(TOWN.hypotheses, T=T, k=TOWN.k, alpha=ALPHA, penalty="growing")
    t = play(learner, TOWN.newcomers(seed=T), MetricAuditor(TOWN.near, ALPHA))
    certificate, policy = certify(t, delta=DELTA), t.average_policy.mixture()
    X, _ = TOWN.sample(newcomers, np.random.default_rng([T, 2]))
    levels = np.array([ALPHA, ALPHA + BEYOND, *(np.linspace(0.0, 0.7, 15) if with_curve else [])])
    measured = [evaluate_fairness(policy, X, TOWN.near, float(level), delta=DELTA) for level in levels]
    beyond = measured[1]
    true = levels[2:], np.array([f.share for f in measured[2:]])
    drawn = {f.theorem: certificate.curve(f) for f in certificate.fairness} if with_curve else {}
    return Promise(
        T, certificate.violations, _limits(certificate), (beyond.share, beyond.lower), measured[0].share, drawn, true
    )  # fmt: skip


def _limits(certificate: Certificate) -> dict[str, float]:
    """What each theorem says at α + 0.1: the smallest β of its curve with α' no larger."""
    limits = {}
    for f in certificate.fairness:
        alphas, betas = certificate.curve(f)
        near = betas[alphas <= ALPHA + BEYOND + 1e-12]
        limits[f.theorem] = float(near.min()) if len(near) else 1.0
    return limits


def tightness() -> tuple[Fraction, Fraction, Fraction]:
    """Probabilities of a violation for h1, h2 and their average, over all pairs of three people, in exact fractions.

    Examples
    --------
    >>> [str(beta) for beta in tightness()]
    ['2/9', '2/9', '4/9']
    """
    h1, h2 = (1, 0, 0), (1, 1, 0)
    average = tuple(Fraction(a + b, 2) for a, b in zip(h1, h2, strict=True))
    return _violating(h1), _violating(h2), _violating(average)


def _violating(policy: Any) -> Fraction:
    distances = {frozenset((0, 2)): 1}
    pairs = list(product(range(3), repeat=2))
    unfair = [
        abs(Fraction(policy[i]) - policy[j]) > distances.get(frozenset((i, j)), 0) + Fraction(1, 10) for i, j in pairs
    ]
    return Fraction(sum(unfair), len(pairs))


def _kept(promises: list[Promise]) -> Check:
    pairs = [(p.beyond[1], limit) for p in promises for limit in p.limits.values()]
    return check(f"lower end of the true β at α + {BEYOND} ≤ each theorem's limit", pairs,
                 f"{ASSUMES}; each with confidence {1 - DELTA:.0%}, so one in twenty may fail")  # fmt: skip


def _exact(betas: tuple[Fraction, Fraction, Fraction]) -> Check:
    expected = (Fraction(2, 9), Fraction(2, 9), Fraction(4, 9))
    failures = sum(a != b for a, b in zip(betas, expected, strict=True))
    return Check("β = 2/9, 2/9 and 4/9 in the tightness example", 3, failures, 0.0, "none: enumerated in fractions")


def _table(promises: list[Promise]) -> Table:
    names = tuple(promises[0].limits)
    columns = ("T", "violations", "true share beyond α", f"true share beyond α + {BEYOND}",
               *(f"limit of it, {name}" for name in names))  # fmt: skip
    rows = [(p.T, p.violations, p.at_alpha, p.beyond[0], *(p.limits[name] for name in names)) for p in promises]
    return Table("new-people", f"α = {ALPHA}, δ = {DELTA}; a limit of 1 says nothing", columns, rows)


def _tight(betas: tuple[Fraction, Fraction, Fraction]) -> Table:
    names = ("h1 = (1,0,0)", "h2 = (1,1,0)", "their average")
    rows = [(name, str(beta), float(beta)) for name, beta in zip(names, betas, strict=True)]
    return Table(
        "tightness", "The naive sum is tight: β of each policy at α = 1/10", ("policy", "exact", "decimal"), rows
    )


def _picture(promises: list[Promise], size: Size) -> Picture:
    last = promises[-1]
    with canvas(10, 4.8) as figure:
        left, right = figure.subplots(1, 2)
        for i, (name, (alphas, betas)) in enumerate(last.curves.items()):
            left.plot(alphas, betas, color=COLOURS[i], linestyle=STYLES[i + 1], linewidth=1.4, label=f"limit: {name}")
        left.plot(*last.true, color="#222222", marker="o", label="true, on new people")
        left.set(xlabel="α'", title=f"Share of pairs beyond α', T = {last.T:,}", xlim=(-0.02, 0.72))
        left.axvline(ALPHA, color="#999999", linewidth=1)
        left.annotate("α", (ALPHA - 0.01, 0.93), ha="right")
        T = [p.T for p in promises]
        for i, name in enumerate(last.limits):
            values = [p.limits[name] for p in promises]
            right.plot(T, values, color=COLOURS[i], linestyle=STYLES[i + 1], linewidth=1.4)
        right.plot(T, [p.beyond[0] for p in promises], color="#222222", marker="o")
        right.set(xscale="log", xlabel="rounds T", title=f"Share beyond α' = α + {BEYOND}")
        plain_ticks(right, T)
        for ax in (left, right):
            ax.set(ylim=(-0.02, 1.04))
        outside_legend(figure, left, columns=2)
    idle = sum(limit >= 1 for p in promises for limit in p.limits.values())
    sharp = min(last.limits.values())
    caption = (
        f"The average policy of AdaHedge (α = {ALPHA}) on {size.newcomers:,} new people: at T = {last.T:,} its true "
        f"share of pairs beyond α + {BEYOND} is {last.beyond[0]:.4f} (beyond α itself "
        f"{last.at_alpha:.4f}), the best limit {sharp:.3f}; {idle} of "
        f"{len(promises) * len(last.limits)} limits on the right are the trivial 1."
    )
    return Picture("new-people", figure, caption)
