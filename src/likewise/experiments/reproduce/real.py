"""Experiment 7: real people. Adult, every learner as a dot, and the exact price of fairness as a curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise import datasets
from likewise.auditors import MetricAuditor
from likewise.drawing import COLOURS, canvas
from likewise.experiments import demo
from likewise.experiments.model_pool import model_pool
from likewise.experiments.reproduce.measure import MARKERS
from likewise.experiments.reproduce.result import Experiment, Picture, Table, assumed, check
from likewise.experiments.reproduce.work import Workers
from likewise.game import play
from likewise.hindsight import Frontier, frontier
from likewise.hypotheses import EnumerableClass, EstimatorClass
from likewise.learners import (
    AdaHedge,
    AnytimeHedge,
    ContextFTPL,
    ExponentialWeights,
    FollowTheLeader,
    Hedge,
    OneSided,
    SmoothedFTPL,
    Unconstrained,
)
from likewise.policies import Mixture
from likewise.protocol import Floats, Key, Role, Rows
from likewise.reduction import label_weights
from likewise.theory import Bound

TITLE = "Real people: Adult"
ALPHA, K = 0.1, 6
FIXED = (7.0, 21.0, 70.0, 210.0)


@dataclass(frozen=True)
class Size:
    """Rounds, levels of the frontier, draws of FTPL and of SmoothedFTPL; ``synthetic`` plays on made-up people."""

    T: int
    alphas: tuple[float, ...]
    draws: int
    fits: int
    synthetic: bool = False


ALPHAS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
SIZES = {
    "tiny": Size(60, (0.0, 0.1, 0.3), 20, 8, synthetic=True),
    "quick": Size(1000, (0.0, 0.05, 0.15, 0.3, 0.6), 100, 16),
    "full": Size(4000, ALPHAS, 300, 16),
}


class Price(NamedTuple):
    """The exact frontier, and the share of rounds in which each of its policies has a violation at ``ALPHA``."""

    frontier: Frontier
    shares: list[float]
    free: float
    """That share for the best hypothesis, fair or not."""


class Dot(NamedTuple):
    """One learner: error per person, violations per round, and its regrets."""

    learner: str
    error: float
    violations: int
    regret: float
    observed: float | None
    bound: Bound | None


def run(size: Size, workers: Workers) -> Experiment:
    """Fit the models, play every learner on the same people, and solve the frontier."""
    from threadpoolctl import threadpool_limits

    model_pool()  # loads the libraries whose threads are limited below
    data, missing = (datasets.synthetic(4000), "") if size.synthetic else demo.data_or_synthetic()
    # On a busy machine the models' threads wait for each other longer than one thread takes.
    with threadpool_limits(1):
        setting = demo.prepare(data, size.T, K, ALPHA)
        people = setting.environment.encoded(setting.hypotheses.encode)
        everyone = learners(setting, size)
    longest_first = sorted(everyone, key=lambda name: not isinstance(everyone[name], SmoothedFTPL))
    played = workers.map(one_play, [(name, everyone[name], people, setting) for name in longest_first])
    dots = sorted(played, key=lambda dot: list(everyone).index(dot.learner))
    (prices,) = workers.map(price, [(people, setting, size.alphas)])
    best = prices.frontier
    note = f"Adult could not be found ({missing}), so this is the built-in population." if missing else ""
    return Experiment(
        number=7,
        title=TITLE if data.name == "Adult" else f"{data.name} people",
        question=(
            f"{data.described} {size.T:,} rounds of {K} people at α = {ALPHA}; policies are mixtures of "
            f"{setting.hypotheses.size} hypotheses, cut-offs on suggested scores. {note}"
        ),
        pictures=[_picture(dots, prices, size)],
        tables=[_table(dots, best, size), _prices(prices)],
        bounds=[assumed(dot.bound, dot.learner) for dot in dots if dot.bound is not None and "C =" not in dot.learner],
        checks=[
            check("Lagrangian regret ≤ the limit proved by the play itself",
                  [(d.regret, d.observed) for d in dots if d.observed is not None], "none: it always holds"),
            check("violations ≤ the theorem's limit",
                  [(d.violations, d.bound.violations) for d in dots if d.bound is not None],
                  "reports have a gap above α"),
        ],
        notes=[_note(dots, size)],
    )  # fmt: skip


def learners(setting: demo.Setting, size: Size) -> dict[str, Any]:
    """Every learner, and AdaHedge with a few fixed penalties."""
    F, T = setting.hypotheses, size.T
    smoothed = Searched(F, pool=setting.X[setting.split.fit])
    named = {
        "Unconstrained": Unconstrained(F, k=K, T=T),
        "Follow the leader": FollowTheLeader(F, k=K, T=T, penalty=T ** (1 / 3)),
        "Paper's weights": ExponentialWeights(F, k=K, T=T),
        "Hedge": Hedge(F, k=K, T=T),
        "Hedge (anytime)": AnytimeHedge(F, k=K, penalty=Hedge(F, k=K, T=T).C),
        "AdaHedge (default)": AdaHedge(F, k=K, T=T, alpha=ALPHA),
        "AdaHedge (anytime)": AdaHedge(F, k=K, alpha=ALPHA),
        "AdaHedge, labels of accepted": OneSided(AdaHedge(F, k=K, T=T, alpha=ALPHA)),
        "FTPL, paper's": ContextFTPL(F, k=K, T=T, noise="paper", draws=size.draws),
        "FTPL, scalar": ContextFTPL(F, k=K, T=T, alpha=ALPHA, draws=size.draws),
        "FTPL, growing": ContextFTPL(F, k=K, T=T, alpha=ALPHA, noise="growing", draws=size.draws),
        "FTPL, tenth of the noise": ContextFTPL(F, k=K, T=T, alpha=ALPHA, draws=size.draws, noise_scale=0.1),
        "Smoothed FTPL": SmoothedFTPL(smoothed, k=K, T=T, draws=size.fits),
    }
    return named | {f"AdaHedge, C = {C:g}": AdaHedge(F, k=K, T=T, penalty=C) for C in FIXED}


class BestCutOff:
    """The oracle of F as an estimator, for people encoded by F: fits the hypothesis of the least weighted error."""

    def __init__(self, F: EnumerableClass) -> None:
        self.F = F

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Nothing to set."""
        return {}

    def __sklearn_clone__(self) -> BestCutOff:
        return BestCutOff(self.F)  # a clone as scikit-learn makes it would copy F for each fit

    def fit(self, X: Floats, y: NDArray[Any], sample_weight: Floats) -> BestCutOff:
        """Minimise Σ_i w_i 1[f(x_i) ≠ y_i] exactly."""
        self.weights = self.F.geometry.leader(self.F.losses(X.astype(np.int32), sample_weight * (1 - 2 * y)))
        return self

    def predict(self, X: Rows) -> Floats:
        """What the fitted hypothesis says of each person."""
        return self.F.probability(self.weights, X)


class Searched(EstimatorClass):
    """F once more, now reached only through its oracle, as ``SmoothedFTPL`` asks for it."""

    def __init__(self, F: EnumerableClass, pool: Any) -> None:
        super().__init__(BestCutOff(F), F.encode(pool))
        self.F = F

    @property
    def encode(self) -> Callable[[Any], Rows]:
        """F's own encoding, so that everybody is scored once for all learners."""
        return self.F.encode


def one_play(name: str, learner: Any, people: Any, setting: demo.Setting) -> Dot:
    """One learner on these people."""
    t = play(learner, people, setting.auditor, setting.T)
    bound = learner.bound(ALPHA, setting.T)
    observed = learner.observed_bound(t.state)
    if isinstance(t.hypotheses, Searched):
        t = replace(t, hypotheses=t.hypotheses.F)  # its regret is against the same F as everybody's
    return Dot(name, t.error_per_person, int(t.violations.sum()), t.lagrangian_regret, observed, bound)


def price(people: Any, setting: demo.Setting, alphas: tuple[float, ...]) -> Price:
    """The exact least error at each level; the people are the same for every learner, so any play will do."""
    t = play(Unconstrained(setting.hypotheses, k=K, T=setting.T), people, setting.auditor, setting.T)
    best = frontier(t, setting.data.distance, sorted({*alphas, ALPHA}))
    # A policy that is fair at ALPHA itself touches its limits: rounding must not count as a violation.
    auditor = MetricAuditor(setting.data.distance, ALPHA + 1e-7)
    batches = [round_.batch for round_ in t]

    def share(policy: Mixture) -> float:
        probabilities = np.split(policy.at(t.rows), t.starts[1:-1])
        answers = [
            auditor.audit(batch, shown, Key(0, Role.AUDITOR, 1))
            for batch, shown in zip(batches, probabilities, strict=True)
        ]
        return sum(report is not None for report in answers) / t.rounds

    F = setting.hypotheses
    losses = F.losses(t.rows, label_weights(t.y))
    free = Mixture(F, F.geometry.leader(losses))
    return Price(best, [share(point.policy) for point in best.points], share(free))


def _best(best: Frontier) -> float:
    return float(next(p.error for p in best.points if p.alpha == ALPHA)) / best.people


def _table(dots: list[Dot], best: Frontier, size: Size) -> Table:
    columns = ("learner", "error per person", "above the best fair policy", "violations", "violations per round",
               "limit of violations", "Lagrangian regret", "proved below")  # fmt: skip
    rows = []
    for d in dots:
        limit = float("nan") if d.bound is None else d.bound.violations
        proved = float("nan") if d.observed is None else d.observed
        measured = (d.learner, d.error, d.error - _best(best), d.violations, d.violations / size.T)
        rows.append((*measured, limit, d.regret, proved))
    return Table("learners", "Every learner on the same people", columns, rows)


def _prices(prices: Price) -> Table:
    best = prices.frontier
    rows: list[tuple[Any, ...]] = [
        (f"{p.alpha:g}", p.error / best.people, share, len(p.pairs), p.gap)
        for p, share in zip(best.points, prices.shares, strict=True)
    ]
    rows.append(("any hypothesis, fair or not", best.points[0].unconstrained / best.people, prices.free, 0, 0.0))
    columns = ("fair at", "least error per person", f"rounds with a violation at α = {ALPHA}", "binding pairs",
               "relative gap of the solution")  # fmt: skip
    return Table("frontier", "The exact price of fairness in hindsight", columns, rows)


def _note(dots: list[Dot], size: Size) -> str:
    idle = [d.learner for d in dots if d.bound is not None and d.bound.violations >= size.T]
    silent = f"Limits on violations that are the trivial T here: {'; '.join(idle)}. " if idle else ""
    return (
        f"{silent}FTPL plays {size.draws:,} draws a round, far fewer than its theorem wants (the paper's E = T), so "
        "that the experiment ends in minutes; its limits are those of the draws that were played. Smoothed FTPL "
        f"reaches the same hypotheses through their oracle alone, {size.fits} times a round on everybody so far; no "
        "theorem covers it."
    )


def _picture(dots: list[Dot], prices: Price, size: Size) -> Picture:
    best = prices.frontier
    free = best.points[0].unconstrained / best.people
    with canvas(10, 5.6) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
        plane = [*zip(prices.shares, best.errors / best.people, strict=True), (prices.free, free)]
        left.plot(*zip(*plane, strict=True), "-", color="#222222", linewidth=1.4, marker=".", markersize=7, zorder=2,
                  label="exact frontier")  # fmt: skip
        for x, y, alpha in zip(prices.shares, best.errors / best.people, best.alphas, strict=True):
            if alpha in (0.0, ALPHA, 0.3, 0.6):
                place = (6, 4) if alpha == 0 else (6, -13) if x == 0 else (-34, -14)
                left.annotate(f"α′ = {alpha:g}", (x, y), place, textcoords="offset points", fontsize=9.5)
        fixed = [d for d in dots if "C =" in d.learner]
        left.plot([d.violations / size.T for d in fixed], [d.error for d in fixed], "--", color="#999999",
                  marker="x", linewidth=1.2, label="AdaHedge, fixed C")  # fmt: skip
        named = [d for d in dots if "C =" not in d.learner]
        for i, d in enumerate(named):
            left.scatter(d.violations / size.T, d.error, s=60, color=COLOURS[i % 6], zorder=3,
                         marker=(*MARKERS, "X", "p", "*")[i % 9], label=d.learner)  # fmt: skip
        left.set_xscale("symlog", linthresh=0.001, linscale=0.5)
        left.set_xticks([0, 0.001, 0.01, 0.1, 1], ["0", "0.001", "0.01", "0.1", "1"])
        left.set_xticks([], minor=True)
        left.set(
            xlabel=f"share of rounds with a violation at α = {ALPHA}", title="Error per person", xlim=(-0.0002, 1.3)
        )
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=10.5)
        right.plot(best.alphas, best.errors / best.people, "o-", color="#222222")
        right.axhline(free, color=COLOURS[1], linestyle="--")
        right.annotate("best hypothesis, fair or not", (1, free), (0, -5), xycoords=("axes fraction", "data"),
                       textcoords="offset points", ha="right", va="top", fontsize=10.5)  # fmt: skip
        right.margins(y=0.12)
        right.plot([ALPHA], [_best(best)], "o", markersize=11, fillstyle="none", color="#222222")
        right.set(xlabel="α′: allowed beyond the distance", title="Least error, fair at α′")
    named_dots = {d.learner: d for d in dots}
    default, paper = named_dots["AdaHedge (default)"], named_dots["Paper's weights"]
    caption = (
        f"Left, one plane for the exact frontier (the best policies in hindsight that are fair at α′, and the share of "
        f"rounds in which they violate α = {ALPHA}) and for every learner as a dot: our default errs "
        f"{default.error:.3f} with {default.violations:,} violations in {size.T:,} rounds, the paper's weights "
        f"{paper.error:.3f} with {paper.violations:,}, the best policy that is fair at α itself {_best(best):.3f} with "
        f"none; right, the frontier by α′, where the ring marks α′ = {ALPHA}."
    )
    return Picture("learners", figure, caption)
