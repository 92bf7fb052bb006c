"""Experiment 12: rounds reviewed by lot. How many violate, what the limit says, and what fewer reviews cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from likewise import theory
from likewise.auditors import ByLot, MetricAuditor, NoisyAuditor
from likewise.drawing import COLOURS, canvas
from likewise.environments import IID
from likewise.experiments.reproduce.changes import ALPHA, K, People
from likewise.experiments.reproduce.drift import Size, crowds_of
from likewise.experiments.reproduce.result import Check, Experiment, Picture, Table, check
from likewise.experiments.reproduce.work import Workers
from likewise.game import play
from likewise.learners import AdaHedge
from likewise.protocol import Auditor, Key, Role

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Rounds reviewed by lot"
DELTA = 0.05
MISSES = 0.2
SIZES = {
    "tiny": Size(80, 1, ("synthetic",), small=True),
    "quick": Size(600, 1, ("compas", "german")),
    "full": Size(2000, 5, ("adult", "compas", "german", "mortgage")),
}


class Reviewing(NamedTuple):
    """How rounds are reviewed: which share, how it is spread, and how much reviewers overlook."""

    words: str
    share: float
    by: str = "gap"
    misses: float = 0.0


PLANS = (
    Reviewing("every round", 1.0),
    Reviewing("a half", 0.5),
    Reviewing("a quarter", 0.25),
    Reviewing("a tenth", 0.1),
    Reviewing("a twentieth", 0.05),
    Reviewing("a tenth, all alike", 0.1, by="equal"),
    Reviewing("a tenth, the largest gaps surely", 0.1, by="largest"),
    Reviewing("a quarter, a fifth overlooked", 0.25, misses=MISSES),
)


class Reviewed(NamedTuple):
    """One play.

    Attributes
    ----------
    data, plan
        Whose, and how it was reviewed.
    drawn, cleared, found, violating
        Rounds drawn, cleared and reported, and all that violate, looked at or not.
    estimate, limit
        What the certificate says of the latter; the limit allows for what is overlooked.
    error
        Per person.
    """

    data: str
    plan: Reviewing
    drawn: int
    cleared: int
    found: int
    violating: int
    estimate: float
    limit: int
    error: float


def one_play(people: People, plan: Reviewing, T: int, seed: int) -> Reviewed:
    """The default learner, reviewed by this plan."""
    truthful = MetricAuditor(people.distance, ALPHA)
    inside: Auditor = NoisyAuditor(truthful, misses=plan.misses) if plan.misses else truthful
    crowd = IID(people.X, people.y, K, view=people.view, order="passes").encoded(people.hypotheses.encode)
    learner = AdaHedge(people.hypotheses, k=K, alpha=ALPHA, T=T)
    t = play(learner, crowd, ByLot(inside, plan.share, plan.by), seed=seed)
    keys = (Key(seed, Role.AUDITOR, i + 1) for i in range(T))
    violating = sum(truthful.audit(r.batch, r.probabilities, key) is not None for r, key in zip(t, keys, strict=True))
    count = t.review_count
    limit = theory.review_limit(count, DELTA, 1 - plan.misses)
    return Reviewed(
        people.name, plan, count.drawn, count.cleared, count.reported, violating, count.estimate / (1 - plan.misses),
        limit, t.error_per_person,
    )  # fmt: skip


def run(size: Size, workers: Workers) -> Experiment:
    """Every plan on every data set."""
    crowds, missing = crowds_of(size, workers)
    calls = [(people, plan, size.T, seed) for people in crowds for plan in PLANS for seed in range(size.seeds)]
    played = workers.map(one_play, calls)
    names = ", ".join(people.name for people in crowds)
    seeds = f"{size.seeds} seeds each" if size.seeds > 1 else "one seed each"
    return Experiment(
        number=12,
        title=TITLE,
        question=(
            "If only some of the rounds are reviewed, drawn by lot, how many of all rounds violate, and what can be "
            f"claimed? {names}: {size.T:,} rounds of {K} people at α = {ALPHA}, {seeds}. {missing}"
        ),
        pictures=[Picture("shares", bars(played, size), _caption(played))],
        tables=[_table(played)],
        checks=checks(played),
        notes=[
            "Violating rounds are those in which a reviewer who overlooks nothing would report a pair: only a "
            "simulation knows them. Limits are by Theorem L with 95% confidence at any time. For the last plan "
            f"reviewers overlook {MISSES:.0%} of what is there, and the limit is told so.",
        ],
    )


def checks(played: list[Reviewed]) -> list[Check]:
    """What is sure, and how often the limit may fail."""
    missed = sum(p.violating > p.limit for p in played)
    return [
        check("rounds found ≤ violating rounds", [(p.found, p.violating) for p in played], "reports are true"),
        check("violating rounds ≤ rounds that arithmetic does not clear",
              [(p.violating, _rounds(p, played) - p.cleared) for p in played], "none"),
        check(f"plays whose violating rounds exceed the limit ≤ what 5% of {len(played)} allows",
              [(missed, allowed(len(played)))], "lots as recorded; answers that don't depend on the lot"),
    ]  # fmt: skip


def allowed(plays: int, delta: float = DELTA) -> int:
    """More than so many failures among independent plays would have a probability below 1 in 1,000.

    Examples
    --------
    >>> allowed(16), allowed(160)
    (4, 18)
    """
    from scipy import stats

    return int(stats.binom.isf(1e-3, plays, delta))


def _rounds(p: Reviewed, played: list[Reviewed]) -> int:
    """The rounds of a play: with every round reviewed, those drawn and those cleared."""
    whole = next(q for q in played if q.data == p.data and q.plan.share == 1)
    return whole.drawn + whole.cleared


def mean(played: list[Reviewed], plan: Reviewing, measure: str, data: str | None = None) -> float:
    """The mean over seeds, and over data sets unless one is named."""
    return float(np.mean([getattr(p, measure) for p in played if p.plan == plan and data in (None, p.data)]))


MEASURES = {
    "drawn": "rounds drawn",
    "cleared": "rounds cleared",
    "found": "rounds reported",
    "violating": "violating rounds",
    "estimate": "by estimate",
    "limit": "at most, 95%",
    "error": "error per person",
}


def _table(played: list[Reviewed]) -> Table:
    names = dict.fromkeys(p.data for p in played)
    rows = [(data, plan.words, *(mean(played, plan, m, data) for m in MEASURES)) for data in names for plan in PLANS]
    return Table("shares", "Means over seeds", ("data", "reviewed", *MEASURES.values()), rows)


def bars(played: list[Reviewed], size: Size) -> Figure:
    """Violating rounds, what was found of them, and the limit; and the error, by plan."""
    with canvas(10, 5.6) as figure:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
        places = np.arange(len(PLANS))[::-1]
        for i, (measure, words) in enumerate(
            (("found", "reported"), ("violating", "violating, looked at or not"), ("limit", "at most, 95%"))
        ):
            values = [1000 * mean(played, plan, measure) / size.T for plan in PLANS]
            left.barh(places + 0.27 - 0.27 * i, values, height=0.25, color=COLOURS[i], label=words)
        right.plot([mean(played, plan, "error") for plan in PLANS], places, "o", color=COLOURS[0])
        left.set_yticks(places, [plan.words for plan in PLANS])
        left.set(title="Rounds per 1,000")
        right.set(title="Error per person")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _caption(played: list[Reviewed]) -> str:
    every, tenth = PLANS[0], PLANS[3]

    def said(plan: Reviewing, measure: str) -> str:
        return f"{mean(played, plan, measure):,.0f}"

    missed = sum(p.violating > p.limit for p in played)
    return (
        f"With every round reviewed {said(every, 'violating')} rounds violate on average; with a tenth of them "
        f"{said(tenth, 'violating')}, of which {said(tenth, 'found')} are found, and the limit is "
        f"{said(tenth, 'limit')}. Errors per person: {mean(played, every, 'error'):.3f} and "
        f"{mean(played, tenth, 'error'):.3f}. The limit was below the truth in {missed} of {len(played)} plays."
    )
