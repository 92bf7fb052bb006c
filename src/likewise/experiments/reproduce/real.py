"""Experiment 7: real people. Adult, every learner as a dot, and the exact price of fairness as a curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from likewise import datasets
from likewise.drawing import COLOURS, canvas
from likewise.experiments import demo
from likewise.experiments.reproduce.measure import MARKERS
from likewise.experiments.reproduce.result import Experiment, Picture, Table, assumed, check
from likewise.experiments.reproduce.work import Workers
from likewise.game import play
from likewise.hindsight import Frontier, frontier
from likewise.learners import AdaHedge, ContextFTPL, ExponentialWeights, FollowTheLeader, Hedge, Unconstrained
from likewise.theory import Bound

TITLE = "Real people: Adult"
ALPHA, K = 0.1, 6
FIXED = (7.0, 21.0, 70.0, 210.0)


@dataclass(frozen=True)
class Size:
    """Rounds, levels of the frontier, draws of FTPL; ``synthetic`` plays on made-up people."""

    T: int
    alphas: tuple[float, ...]
    draws: int
    synthetic: bool = False


ALPHAS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
SIZES = {
    "tiny": Size(60, (0.1, 0.3), 20, synthetic=True),
    "quick": Size(1000, ALPHAS[1::2], 100),
    "full": Size(4000, ALPHAS, 300),
}


class Dot(NamedTuple):
    """One learner: error per person, violations per round, and its regrets."""

    learner: str
    error: float
    violations: int
    regret: float
    observed: float | None
    bound: Bound | None
    draws: int | None


def run(size: Size, workers: Workers) -> Experiment:
    """Fit the models, play every learner on the same people, and solve the frontier."""
    data, missing = (datasets.synthetic(4000), "") if size.synthetic else demo.data_or_synthetic()
    setting = demo.prepare(data, size.T, K, ALPHA)
    people = setting.environment.encoded(setting.hypotheses.encode)
    calls: list[tuple[Any, ...]] = [
        (name, learner, people, setting) for name, learner in learners(setting, size).items()
    ]
    dots = workers.map(one, calls)
    (best,) = workers.map(price, [(people, setting, size.alphas)])
    told = f"Adult could not be had ({missing}), so this is the built-in population." if missing else ""
    return Experiment(
        number=7,
        title=TITLE if data.name == "Adult" else f"{data.name} people",
        question=(
            f"{data.described} {size.T:,} rounds of {K} people at α = {ALPHA}; policies are mixtures of "
            f"{setting.hypotheses.size} hypotheses, six models' scores × cut-offs. {told}"
        ),
        pictures=[_picture(dots, best, size)],
        tables=[_table(dots, best, size), _prices(best)],
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
    named = {
        "Unconstrained": Unconstrained(F, k=K, T=T),
        "Follow the leader": FollowTheLeader(F, k=K, T=T, penalty=T ** (1 / 3)),
        "Paper's weights": ExponentialWeights(F, k=K, T=T),
        "Hedge": Hedge(F, k=K, T=T),
        "AdaHedge (default)": AdaHedge(F, k=K, T=T, alpha=ALPHA),
        "AdaHedge (anytime)": AdaHedge(F, k=K, alpha=ALPHA),
        "FTPL, paper's": ContextFTPL(F, k=K, T=T, noise="paper", draws=size.draws),
        "FTPL, scalar": ContextFTPL(F, k=K, T=T, alpha=ALPHA, draws=size.draws),
        "FTPL, tenth of the noise": ContextFTPL(F, k=K, T=T, alpha=ALPHA, draws=size.draws, noise_scale=0.1),
    }
    return named | {f"AdaHedge, C = {C:g}": AdaHedge(F, k=K, T=T, penalty=C) for C in FIXED}


def one(name: str, learner: Any, people: Any, setting: demo.Setting) -> Dot:
    """One learner on these people."""
    t = play(learner, people, setting.auditor, setting.T)
    bound = learner.bound(ALPHA) if learner.T is not None else None
    observed = learner.observed_bound(t.state)
    draws = learner.E if isinstance(learner, ContextFTPL) else None
    return Dot(name, t.error_per_person, int(t.violations.sum()), t.lagrangian_regret, observed, bound, draws)


def price(people: Any, setting: demo.Setting, alphas: tuple[float, ...]) -> Frontier:
    """The exact least error at each level; the people are the same for every learner, so any play will do."""
    t = play(Unconstrained(setting.hypotheses, k=K, T=setting.T), people, setting.auditor, setting.T)
    return frontier(t, setting.data.distance, sorted({*alphas, ALPHA}))


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


def _prices(best: Frontier) -> Table:
    rows: list[tuple[Any, ...]] = [(p.alpha, p.error / best.people, len(p.pairs), p.gap) for p in best.points]
    rows.append(("any hypothesis, fair or not", best.points[0].unconstrained / best.people, 0, 0.0))
    columns = ("α", "least error per person", "binding pairs", "relative gap of the solution")
    return Table("frontier", "The exact price of fairness in hindsight", columns, rows)


def _note(dots: list[Dot], size: Size) -> str:
    idle = [d.learner for d in dots if d.bound is not None and d.bound.violations >= size.T]
    silent = f"Limits on violations that are the trivial T here: {'; '.join(idle)}. " if idle else ""
    draws = next(d.draws for d in dots if d.draws is not None)
    return (
        f"{silent}FTPL plays {draws:,} draws a round, far fewer than its theorem wants (the paper's E = T), so that "
        "the experiment ends in minutes; its limits are those of the draws that were played."
    )


def _picture(dots: list[Dot], best: Frontier, size: Size) -> Picture:
    with canvas(10, 5) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
        fixed = [d for d in dots if "C =" in d.learner]
        left.plot([max(0.5, d.violations) / size.T for d in fixed], [d.error for d in fixed], "-", color="#999999",
                  marker=".", linewidth=1.2, label="AdaHedge, fixed C")  # fmt: skip
        named = [d for d in dots if "C =" not in d.learner]
        for i, d in enumerate(named):
            left.scatter(max(0.5, d.violations) / size.T, d.error, s=60, color=COLOURS[i % 6], zorder=3,
                         marker=(*MARKERS, "X", "p", "*")[i % 9], label=d.learner)  # fmt: skip
        left.axhline(_best(best), color="#222222", linestyle="--", linewidth=1.2, label="best fair policy")
        left.set(xscale="log", xlabel="violations per round", title="Error per person")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=10.5)
        right.plot(best.alphas, best.errors / best.people, "o-", color=COLOURS[0])
        right.axhline(best.points[0].unconstrained / best.people, color=COLOURS[1], linestyle="--")
        right.annotate("best hypothesis, fair or not", (1, best.points[0].unconstrained / best.people), (0, 5),
                       xycoords=("axes fraction", "data"), textcoords="offset points", ha="right",
                       fontsize=10.5)  # fmt: skip
        right.plot([ALPHA], [_best(best)], "o", markersize=11, fillstyle="none", color="#222222")
        right.set(xlabel="α: allowed beyond the distance", title="Least error, fair at α")
    named_dots = {d.learner: d for d in dots}
    ours, paper = named_dots["AdaHedge (default)"], named_dots["Paper's weights"]
    caption = (
        f"Left, lower and further left is better: our default errs {ours.error:.3f} with {ours.violations:,} "
        f"violations in {size.T:,} rounds, the paper's weights {paper.error:.3f} with {paper.violations:,}, the exact "
        f"best fair policy {_best(best):.3f}; right, the price of fairness, where the ring marks α = {ALPHA}."
    )
    return Picture("learners", figure, caption)
