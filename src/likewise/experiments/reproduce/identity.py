"""Experiment 1: the identity of the reduction, and the theorem that links its regret to error and violations.

    Err(f, R_C(z)) = L_C(f, z) + C                                                        for every f, every round
    ε Σ C + (Σ Err(π^t) − Σ Err(π*)) ≤ Σ L(π^t) − Σ L(π*) ≤ LagrangianRegret              for every π* ∈ Q_{α−ε}

Thousands of small plays with random classes, distances, auditors, learners and adversaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise import learners
from likewise.auditors import DriftingAuditor
from likewise.drawing import COLOURS, canvas
from likewise.environments import Adversary, Moment
from likewise.experiments.games import Answers
from likewise.experiments.reproduce.result import Assumed, Check, Experiment, Picture, Table, check
from likewise.experiments.reproduce.work import Workers
from likewise.game import Transcript, play
from likewise.hindsight import frontier
from likewise.hypotheses import FiniteClass
from likewise.protocol import Batch, Floats, Learner
from likewise.reduction import error, literal, signed_weights

TITLE = "The reduction and its theorem"
EXACT = 1e-9
"""Above this, a discrepancy of the identity counts as a failure."""


@dataclass(frozen=True)
class Size:
    """How many plays."""

    plays: int
    block: int = 100


SIZES = {"tiny": Size(40, 20), "quick": Size(2000), "full": Size(4000)}


class RandomPlay(NamedTuple):
    """One random play: the identity's largest discrepancy, and (ε/α, left, middle, right) of the theorem."""

    learner: str
    identities: int
    discrepancy: float
    violations: int
    links: list[tuple[float, float, float, float]]


def run(size: Size, workers: Workers) -> Experiment:
    """Play, check, draw."""
    blocks = [(seed, min(size.block, size.plays - seed)) for seed in range(0, size.plays, size.block)]
    plays = [checked for block in workers.map(block_of_plays, blocks) for checked in block]
    links = np.array([link for checked in plays for link in checked.links])
    return Experiment(
        number=1,
        title=TITLE,
        question=(
            "The paper turns fairness with an auditor into plain classification: each report becomes C copies of two "
            "labelled people. Does the error on that data equal the Lagrangian loss plus C, and does its regret pay "
            "for errors and violations at once, as the theorem says?"
        ),
        pictures=[_picture(plays, links)],
        tables=[_table(plays)],
        bounds=[
            Assumed("Err(f, R_C(z)) = L_C(f, z) + C", "the paper's Lemma reduction_regret", "C a whole number"),
            Assumed(
                "ε ΣC + error regret against π* ≤ difference of Lagrangian losses ≤ Lagrangian regret",
                "the paper's Theorem fair-misclass-lagr",
                "truthful reports, π* ∈ Q_{α−ε}, ε ∈ [0, α]; any learner, any environment",
            ),
        ],
        checks=_checks(plays, links),
    )


def block_of_plays(first: int, count: int) -> list[RandomPlay]:
    """A block of random plays, by their seeds."""
    return [one_play(seed) for seed in range(first, first + count)]


def one_play(seed: int) -> RandomPlay:
    """One random play, checked."""
    rng = np.random.default_rng([seed, 1])
    m, k, T = int(rng.integers(3, 8)), int(rng.integers(2, 5)), int(rng.integers(10, 30))
    F = FiniteClass([Answers(row) for row in _different(rng, m, int(rng.integers(1, 7)))])
    alpha = float(rng.uniform(0.05, 0.6))
    distances = rng.random((2, m, m)) * rng.uniform(0, 1.2)
    distances = np.maximum(distances, distances.transpose(0, 2, 1))

    def distance(view: Any, t: int) -> Floats:
        numbers = view[:, 0].astype(int)
        return np.asarray(distances[t % 2][np.ix_(numbers, numbers)])  # no metric, and another one every other round

    auditor = DriftingAuditor(distance, alpha, choose=str(rng.choice(["worst", "first", "random"])))
    learner = _learner(rng, F, T, k, alpha)
    t = play(learner, _people(F, m, k, rng), auditor, T, seed=seed)
    count, worst = _identity(t, rng)
    return RandomPlay(type(learner).__name__, count, worst, int(t.violations.sum()), _links(t, distance, alpha))


def _different(rng: np.random.Generator, m: int, count: int) -> Floats:
    """Different hypotheses, none of them constant."""
    numbers = rng.choice(2**m - 2, size=min(count, 2**m - 2), replace=False) + 1
    return np.asarray((numbers[:, None] >> np.arange(m)) & 1)


def _learner(rng: np.random.Generator, F: FiniteClass, T: int, k: int, alpha: float) -> Learner:
    C = float(rng.integers(1, 12))
    options: list[Any] = [
        learners.ExponentialWeights(F, T=T, k=k),
        learners.Hedge(F, T=T, k=k, penalty=C),
        learners.FollowTheLeader(F, k=k, T=T, penalty=C),
        learners.AdaHedge(F, T=T, k=k, penalty=C),
        learners.AdaHedge(F, T=T, k=k, alpha=alpha),
        learners.AdaHedge(F, k=k, alpha=alpha),
    ]
    chosen: Learner = options[rng.integers(len(options))]
    return chosen


def _people(F: FiniteClass, m: int, k: int, rng: np.random.Generator) -> Adversary:
    """Random people; with some probability labelled against π^t, which this adversary sees."""
    numbers = np.arange(float(m))[:, None]
    rows, hostile = F.encode(numbers), float(rng.random())

    def choose(moment: Moment) -> Batch:
        assert moment.policy is not None
        draw = moment.key.generator()
        people = draw.integers(m, size=k)
        y = draw.integers(2, size=k).astype(float)
        if draw.random() < hostile:
            y = (moment.policy.at(rows[people]) < 0.5).astype(float)
        return Batch(rows[people], y, numbers[people])

    return Adversary(choose, k=k, sees_policy=True)


def _identity(t: Transcript, rng: np.random.Generator) -> tuple[int, float]:
    """Err(f, R_C(z)) − L_C(f, z) − C, literally with copies, for every hypothesis and for π^t; the largest size."""
    worst = 0.0
    for round_ in t:
        C = int(rng.integers(0, 12))
        everybody = np.column_stack([round_.batch.rows, round_.probabilities])  # one column per policy
        filler = rng.random(everybody.shape[1])
        people, labels = literal(everybody, round_.batch.y, round_.reports, C, filler)
        reduced = np.abs(people - labels[:, None]).sum(axis=0)
        s = signed_weights(round_.batch.y, round_.reports, C)
        lagrangian = error(np.zeros(len(s)), round_.batch.y) + s @ everybody
        worst = max(worst, float(np.abs(reduced - lagrangian - C).max()))
    return t.rounds * (t.hypotheses.size + 1), worst


def _links(t: Transcript, distance: Any, alpha: float) -> list[tuple[float, float, float, float]]:
    """Both sides of the theorem at ε = 0, α/2, α, against the exact best of Q_{α−ε}."""
    shares = (0.0, 0.5, 1.0)
    best = frontier(t, distance, [alpha * (1 - share) for share in shares], drifting=True).points[::-1]
    links = []
    for share, point in zip(shares, best, strict=True):
        probabilities = point.policy.at(t.rows)
        comparator = t.base_error + float(t.signed_weights @ probabilities)
        left = share * alpha * t.penalty_paid + float(t.errors.sum()) - point.error
        links.append((share, left, float(t.lagrangian.sum()) - comparator, t.lagrangian_regret))
    return links


def _checks(plays: list[RandomPlay], links: Floats) -> list[Check]:
    discrepancy = max(checked.discrepancy for checked in plays)
    failed = sum(checked.discrepancy > EXACT for checked in plays)
    count = sum(checked.identities for checked in plays)
    truthful = "truthful reports; π* is the exact best of Q_{α−ε}"
    return [
        Check(f"Err(f, R_C(z)) = L_C(f, z) + C (largest discrepancy {discrepancy:.1e})", count, failed,
              -discrepancy, "C a whole number of copies; both sides within 10⁻⁹"),
        check("ε ΣC + error regret ≤ ΣL(π^t) − ΣL(π*)", [(a, b) for _, a, b, _ in links.tolist()], truthful),
        check("ΣL(π^t) − ΣL(π*) ≤ Lagrangian regret", [(b, c) for _, _, b, c in links.tolist()], "none"),
    ]  # fmt: skip


def _table(plays: list[RandomPlay]) -> Table:
    columns = (
        "learner", "plays", "with a violation", "identities checked", "largest discrepancy",
        "smallest slack of the theorem", "largest slack",
    )  # fmt: skip
    rows: list[tuple[Any, ...]] = []
    for name in sorted({checked.learner for checked in plays}):
        of_learner = [checked for checked in plays if checked.learner == name]
        slack = [middle - left for checked in of_learner for _, left, middle, _ in checked.links]
        violated = sum(checked.violations > 0 for checked in of_learner)
        rows.append((name, len(of_learner), violated, sum(checked.identities for checked in of_learner),
                     max(checked.discrepancy for checked in of_learner), min(slack), max(slack)))  # fmt: skip
    return Table("random-plays", "Random plays, by learner", columns, rows)


def _picture(plays: list[RandomPlay], links: Floats) -> Picture:
    with canvas(10, 4.2) as figure:
        left, right = figure.subplots(1, 2)
        sizes = np.log10(np.maximum([checked.discrepancy for checked in plays], 1e-17))
        left.hist(sizes, bins=np.arange(-17.0, -6.9, 0.25).tolist(), color=COLOURS[0])
        left.axvline(np.log10(EXACT), color=COLOURS[1], linestyle="--")
        left.annotate(
            "failure from\nhere on", (np.log10(EXACT) - 0.2, 0.8), xycoords=("data", "axes fraction"), ha="right"
        )
        left.set(title="Largest discrepancy of the identity, by play", xlabel="log₁₀ |Err − L − C|", ylabel="plays")
        for share, colour, marker in ((0.0, COLOURS[0], "o"), (0.5, COLOURS[1], "s"), (1.0, COLOURS[2], "^")):
            points = links[links[:, 0] == share]
            name = {0.0: "ε = 0", 0.5: "ε = α/2", 1.0: "ε = α"}[share]
            right.scatter(points[:, 2], points[:, 1], s=10, color=colour, marker=marker, label=name, alpha=0.35,
                          linewidths=0, rasterized=True)  # fmt: skip
        ends = [min(right.get_xlim()[0], right.get_ylim()[0]), right.get_xlim()[1]]
        right.plot(ends, ends, color="#333333", linewidth=1)
        right.set(xlabel="difference of Lagrangian losses", title="ε ΣC + error regret: below the diagonal")
        legend = right.legend(markerscale=2.5)
        for handle in legend.legend_handles:
            handle.set_alpha(1.0)
    worst = max(checked.discrepancy for checked in plays)
    failures = _checks(plays, links)[1].failures
    slack = float((links[:, 2] - links[:, 1]).min())
    caption = (
        f"{len(plays):,} random plays: the identity of the reduction is off by at most {worst:.0e} (left), and "
        f"{failures} points of the Lagrangian theorem lie above its diagonal by more than rounding (right, smallest "
        f"slack {slack:.0e})."
    )
    return Picture("identity", figure, caption)
