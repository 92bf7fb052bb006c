"""The people of a sweep, encoded once for all its trials: arrays, a class of hypotheses, and the hidden distance."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from likewise.auditors import MetricAuditor
from likewise.datasets import Dataset, split
from likewise.environments import IID
from likewise.errors import require, require_whole
from likewise.experiments.compare.trials import Trial, make_auditor, make_learner
from likewise.experiments.runs import CLASSES, classes
from likewise.game import Transcript, play
from likewise.hypotheses import EnumerableClass, Thresholds, fingerprint
from likewise.protocol import Distance, Key, Role


@dataclass(frozen=True)
class Recipe:
    """How people become an arena.

    Attributes
    ----------
    hypotheses
        ``"thresholds"`` on the encoded columns, ``"cells"`` of a grid, or ``"models"``: cut-offs on the scores of six
        models, fitted on people whom no trial sees again.
    cuts
        Cut-offs per column or model.
    bins, features
        Intervals per column of the grid, and its columns; by default those to compare by.
    warm_up, seed
        How many people the models are fitted on, at most half of all, and who they are.
    """

    hypotheses: str = "thresholds"
    cuts: int = 16
    bins: int = 4
    features: tuple[str, ...] = ()
    warm_up: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        require(self.hypotheses in CLASSES, "hypotheses", f"be one of {CLASSES}", self.hypotheses)
        for name in ("cuts", "bins", "warm_up"):
            require_whole(getattr(self, name), name)

    def fingerprint(self, data: Dataset) -> str:
        """A name for the arena that this recipe makes of these people, without making it."""
        return fingerprint([self.__dict__, data.features, data.y, data.view, data.metric])

    def prepare(self, data: Dataset, k: int) -> Arena:
        """Fit the models if there are any, build the class, and encode everybody once."""
        require(len(data) >= 2 * k, "data", f"hold at least 2 · k = {2 * k} people", len(data))
        features, view = data.features, data.view
        if self.hypotheses == "models":
            warm, others = split(data, min(self.warm_up, len(data) // 2), self.seed)
            scored = classes.models(features[warm], data.y[warm], self.cuts)
            # Workers get the scores and not the models that gave them.
            F: EnumerableClass = Thresholds(scored.cuts, names=scored.names)
            people = IID(scored.score_columns(features[others]), data.y[others], k, view=view[others])
        else:
            columns = self.features or data.compare_by
            grid = self.hypotheses == "cells"
            F = (classes.cells(features, data.encoder, columns, self.bins) if grid
                 else classes.thresholds(features, data.encoder, self.cuts))  # fmt: skip
            people = IID(features, data.y, k, view=view)
        return Arena(F, people.encoded(F.encode), data.metric)


@dataclass(frozen=True, eq=False)
class Arena:
    """What every trial shares."""

    hypotheses: EnumerableClass
    environment: IID
    distance: Distance | str


def try_out(trial: Trial, arena: Arena) -> dict[str, Any]:
    """Play one trial and measure it: plain JSON values, the same on every machine but for the seconds."""
    from likewise import __version__

    learner = make_learner(arena.hypotheses, trial)
    learner.init()  # loads the compiled loops, once per process: not part of the play
    started = time.perf_counter()
    auditor = make_auditor(trial.auditor, arena.distance, trial.alpha, trial.margin)
    t = play(learner, arena.environment, auditor, trial.rounds, seed=trial.seed)
    return {
        "error": t.error_per_person,
        "violations": violating_rounds(t, arena.distance),
        "reports": int(t.reported.sum()),
        "regret": t.lagrangian_regret,
        "proved_below": learner.observed_bound(t.state),
        "seconds": time.perf_counter() - started,
        "version": __version__,
    }


def violating_rounds(t: Transcript, distance: Distance | str) -> int:
    """Rounds in which some pair differs by more than its distance + α, whether or not anybody reported it.

    An auditor who misses pairs, or compares differently, would make a learner look fairer than it was: all learners
    and auditors are measured by the same hidden distance.
    """
    auditor, key = MetricAuditor(distance, t.alpha), Key(0, Role.AUDITOR, 1)
    return sum(auditor.audit(round_.batch, round_.probabilities, key) is not None for round_ in t)
