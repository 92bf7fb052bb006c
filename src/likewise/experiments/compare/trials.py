"""What a sweep tries: every learner × C × margin × α × auditor × seed, each a trial of its own.

A trial is plain values, so it can be sent to another machine, written to a line of a file, and recognised again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from likewise.auditors import MetricAuditor, NoisyAuditor, Panel, named_metric
from likewise.auditors.pairwise import RULES
from likewise.errors import InvalidParameter, require, require_number, require_whole
from likewise.experiments.compare.neighbours import NEIGHBOURS
from likewise.hypotheses import EnumerableClass
from likewise.learners import (
    AdaHedge,
    ContextFTPL,
    ExponentialWeights,
    FollowTheLeader,
    Hedge,
    Scheduled,
    Tilted,
    Unconstrained,
)
from likewise.protocol import Auditor, Distance, Floats, Learner

LABELS = "labels only"
"""What a learner is told that never hears the auditor."""
STRETCH = (0.5, 1.0, 2.0)
"""The members of a panel: one twice as strict as the hidden distance, one who shares it, one half as strict."""


@dataclass(frozen=True)
class Trial:
    """One play of a sweep.

    Attributes
    ----------
    learner, auditor
        Their names.
    C
        The penalty of a report; None for the learner's own.
    margin, alpha
        Violations count at α, and are reported at α − margin.
    seed
        Determines every random number of the play.
    rounds, people
        T and k.
    draws
        Draws a round of a learner that draws.
    """

    learner: str
    C: float | None
    margin: float
    alpha: float
    auditor: str
    seed: int
    rounds: int
    people: int
    draws: int

    @property
    def level(self) -> float:
        """α − margin, where reports begin; the theorems read it for α."""
        return self.alpha - self.margin

    def key(self, arena: str, version: str) -> str:
        """A name for this trial on these people with this version, the same in every process."""
        text = json.dumps([asdict(self), arena, version], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Sweep:
    """All that is to be tried.

    Examples
    --------
    >>> sweep = Sweep(learners=("adahedge", "tilted"), penalties=(None, 40.0), seeds=(0, 1))
    >>> [(t.learner, t.C, t.seed) for t in sweep.trials()][:3], len(sweep.trials())
    ([('adahedge', None, 0), ('adahedge', 40.0, 0), ('tilted', None, 0)], 6)
    """

    learners: tuple[str, ...] = ("unconstrained", "weights", "hedge", "adahedge")
    penalties: tuple[float | None, ...] = (None,)
    margins: tuple[float, ...] = (0.0,)
    alphas: tuple[float, ...] = (0.1,)
    auditors: tuple[str, ...] = ("worst",)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    rounds: int = 2000
    people: int = 6
    draws: int = 300

    def __post_init__(self) -> None:
        for name in ("learners", "penalties", "margins", "alphas", "auditors", "seeds"):
            values = getattr(self, name)
            require(len(values) > 0, name, "hold at least one", values)
            require(len(set(values)) == len(values), name, "hold each only once", values)
        for learner in self.learners:
            require(learner in LEARNERS, "learners", f"be among {', '.join(LEARNERS)}", learner)
        for C in self.penalties:
            if C is not None:
                require_number(C, "C", 0)
        for alpha in self.alphas:
            require_number(alpha, "alpha", 0, 1, open_at="low")
        for margin in self.margins:
            # At a level of 0 everybody who isn't treated exactly alike is reported, and no bound is left.
            require_number(margin, "margin", 0, min(self.alphas), open_at="high")
        for auditor in self.auditors:
            make_auditor(auditor, "cityblock", self.alphas[0], 0.0)
        for name, low in (("rounds", 1), ("people", 2), ("draws", 1)):
            require_whole(getattr(self, name), name, low)
        for seed in self.seeds:
            require_whole(seed, "seeds", 0)

    def trials(self) -> list[Trial]:
        """Every trial, seed by seed, so that a sweep that is stopped early has tried everything a little.

        A learner without a penalty of its own to choose is tried once, whatever the penalties.
        """
        size = {"rounds": self.rounds, "people": self.people, "draws": self.draws}
        combinations = itertools.product(self.seeds, self.alphas, self.margins, self.auditors, self.learners)
        return [
            Trial(learner, C, margin, alpha, auditor, seed, **size)
            for seed, alpha, margin, auditor, learner in combinations
            for C in (self.penalties if LEARNERS[learner].has_penalty else (None,))
        ]


# Learners -------------------------------------------------------------------------------------------------------


class KnownLearner(NamedTuple):
    """A learner that a sweep knows by name."""

    make: Callable[[EnumerableClass, Trial], Learner] | None
    has_penalty: bool
    words: str
    told: str = "pairs"


def _adahedge(F: EnumerableClass, trial: Trial) -> Learner:
    return AdaHedge(F, k=trial.people, T=trial.rounds, alpha=trial.level, penalty=trial.C)


def _scheduled(F: EnumerableClass, trial: Trial) -> Learner:
    """The default schedule; C is the first penalty."""
    default = AdaHedge(F, k=trial.people, T=trial.rounds, alpha=trial.level, penalty="growing")
    if trial.C is None or not isinstance(default.rule, Scheduled):
        return default
    rule = Scheduled(trial.C, default.rule.growth)
    return AdaHedge(F, k=trial.people, T=trial.rounds, alpha=trial.level, penalty=rule)


def _tilted(F: EnumerableClass, trial: Trial) -> Learner:
    return AdaHedge(F, k=trial.people, alpha=trial.level, penalty=Tilted(trial.level / 2, floor=0.5))


def _hedge(F: EnumerableClass, trial: Trial) -> Learner:
    return Hedge(F, k=trial.people, T=trial.rounds, penalty=trial.C)


def _weights(F: EnumerableClass, trial: Trial) -> Learner:
    return ExponentialWeights(F, k=trial.people, T=trial.rounds, penalty=trial.C)


def _ftpl(F: EnumerableClass, trial: Trial) -> Learner:
    # One thread: the sweep itself keeps the cores busy.
    tuning: dict[str, Any] = {"alpha": trial.level, "draws": trial.draws, "threads": 1}
    return ContextFTPL(F, k=trial.people, T=trial.rounds, penalty=trial.C, **tuning)


def _leader(F: EnumerableClass, trial: Trial) -> Learner:
    C = float(trial.rounds) ** (1 / 3) if trial.C is None else trial.C
    return FollowTheLeader(F, k=trial.people, T=trial.rounds, penalty=C)


def _unconstrained(F: EnumerableClass, trial: Trial) -> Learner:
    return Unconstrained(F, k=trial.people, T=trial.rounds)


LEARNERS: Mapping[str, KnownLearner] = {
    "adahedge": KnownLearner(_adahedge, True, "AdaHedge; keeps reports without C, a fixed penalty with one"),
    "scheduled": KnownLearner(_scheduled, True, "AdaHedge with growing penalties, the first of which is C"),
    "tilted": KnownLearner(_tilted, False, "AdaHedge without a horizon"),
    "hedge": KnownLearner(_hedge, True, "Hedge with a fixed rate"),
    "weights": KnownLearner(_weights, True, "the paper's exponential weights"),
    "ftpl": KnownLearner(_ftpl, True, "Context-FTPL with scalar noise and few draws"),
    "leader": KnownLearner(_leader, True, "follow the leader, T^⅓ a report without C"),
    "unconstrained": KnownLearner(_unconstrained, False, "never hears the auditor", LABELS),
} | {name: KnownLearner(None, False, neighbour.words) for name, neighbour in NEIGHBOURS.items()}


def make_learner(F: EnumerableClass, trial: Trial, distance: Distance | str, ones: float | None = None) -> Learner:
    """The learner of a trial; some baselines are told the hidden distance.

    ``ones`` is the share of labels 1 among the people that the class was fitted on, if there were any.
    """
    make = LEARNERS[trial.learner].make
    learner = NEIGHBOURS[trial.learner].make(F, trial, distance) if make is None else make(F, trial)
    return learner if ones is None or not isinstance(learner, AdaHedge) else learner.leaning(ones)


# Auditors -------------------------------------------------------------------------------------------------------

AUDITORS = {
    "worst": "reports the worst pair",
    "first": "reports the first pair it finds",
    "random": "reports a random pair of those that violate",
    "noisy:RATE": "worst, but misses this share of reports and, as often, reports a pair that is fine",
    "misses:RATE": "worst, but misses this share of reports",
    "false:RATE": "worst, but reports a random pair in this share of the rounds without a violation",
    "panel:any, panel:majority, panel:all": "three who compare by half, once and twice the distance, and vote",
}
NOISE = {"noisy": ("misses", "false_reports"), "misses": ("misses",), "false": ("false_reports",)}


def make_auditor(name: str, distance: Distance | str, alpha: float, margin: float) -> Auditor:
    """An auditor by name, who knows the hidden distance.

    Examples
    --------
    >>> make_auditor("noisy:0.2", "cityblock", alpha=0.1, margin=0.0).misses
    0.2
    """
    behaviour, _, detail = name.partition(":")
    if behaviour in ("worst", "first", "random") and not detail:
        return MetricAuditor(distance, alpha, choose=behaviour, margin=margin)
    if behaviour in NOISE and _is_number(detail) and 0 <= float(detail) <= 1:
        return NoisyAuditor(
            MetricAuditor(distance, alpha, margin=margin), **dict.fromkeys(NOISE[behaviour], float(detail))
        )
    if behaviour == "panel" and detail in RULES:
        members = [MetricAuditor(Stretched(distance, by), alpha, margin=margin) for by in STRETCH]
        return Panel(members, rule=detail)
    raise InvalidParameter(f"`auditors` must be among {'; '.join(AUDITORS)}, RATE in [0, 1], got {name!r}.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class Stretched:
    """A distance times a number."""

    def __init__(self, distance: Distance | str, by: float) -> None:
        self.distance = named_metric(distance) if isinstance(distance, str) else distance
        self.by = by

    def __call__(self, view: Any) -> Floats:
        """(k, k) distances."""
        return self.by * self.distance(view)
