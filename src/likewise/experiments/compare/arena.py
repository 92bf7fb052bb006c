"""The people of a sweep, encoded once for all its trials: arrays, a class of hypotheses, and the hidden distance."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from likewise.auditors import MetricAuditor
from likewise.datasets import SHARES, Dataset
from likewise.environments import IID
from likewise.errors import require, require_whole
from likewise.experiments.compare.trials import Trial, make_auditor, make_learner
from likewise.experiments.runs import CLASSES, classes
from likewise.experiments.runs.setup import HeldOutPeople, parted
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
        models.
    cuts
        Cut-offs per column or model.
    bins, features
        Intervals per column of the grid, and its columns; by default those to compare by.
    split, seed
        Shares of the people, in percent, to fit on, to play with and to hold out; and who is where.
    """

    hypotheses: str = "thresholds"
    cuts: int = 16
    bins: int = 4
    features: tuple[str, ...] = ()
    split: tuple[float, ...] = SHARES
    seed: int = 0

    def __post_init__(self) -> None:
        require(self.hypotheses in CLASSES, "hypotheses", f"be one of {CLASSES}", self.hypotheses)
        for name in ("cuts", "bins"):
            require_whole(getattr(self, name), name)

    def fingerprint(self, data: Dataset) -> str:
        """A name for the arena that this recipe makes of these people, without making it."""
        return fingerprint([self.__dict__, data.features, data.y, data.view, data.metric, data.person])

    def prepare(self, data: Dataset, k: int) -> Arena:
        """Fit the models if there are any, build the class, and encode everybody once."""
        data, split = parted(data, self.split, self.seed, k)
        features, view, fit, players = data.features, data.view, split.fit, split.play
        if self.hypotheses == "models":
            scored = classes.models(features[fit], data.y[fit], self.cuts)
            # Workers get the scores and not the models that gave them.
            F: EnumerableClass = Thresholds(scored.cuts, names=scored.names)
            columns = scored.score_columns(features)
        else:
            named, columns = self.features or data.compare_by, features
            grid = self.hypotheses == "cells"
            F = (classes.cells(features[fit], data.encoder, named, self.bins) if grid
                 else classes.thresholds(features[fit], data.encoder, self.cuts))  # fmt: skip
        people = IID(columns[players], data.y[players], k, view=view[players], ids=data.ids(players), order="passes")
        held_out = HeldOutPeople.of(data, split.held_out, columns)
        return Arena(F, people.encoded(F.encode), data.metric, held_out)


@dataclass(frozen=True, eq=False)
class Arena:
    """What every trial shares."""

    hypotheses: EnumerableClass
    environment: IID
    distance: Distance | str
    held_out: HeldOutPeople


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
