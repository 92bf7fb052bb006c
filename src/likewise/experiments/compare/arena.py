"""The people of a sweep, encoded once for all its trials: arrays, a class of hypotheses, and the hidden distance."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from likewise.datasets import SHARES, Dataset
from likewise.environments import IID
from likewise.errors import require, require_whole
from likewise.experiments.compare import measures
from likewise.experiments.compare.trials import LABELS, LEARNERS, Trial, make_auditor, make_learner
from likewise.experiments.runs import CLASSES, classes
from likewise.experiments.runs.classes import Progress
from likewise.experiments.runs.deployed import SHARE, leans
from likewise.experiments.runs.settings import check_suggested
from likewise.experiments.runs.setup import HeldOutPeople, parted
from likewise.game import Transcript, play
from likewise.hypotheses import EnumerableClass, fingerprint
from likewise.protocol import Distance, Floats


@dataclass(frozen=True)
class Recipe:
    """How people become an arena.

    Attributes
    ----------
    hypotheses
        ``"suggested"``: cut-offs on scores made for these people and what they are compared by; ``"thresholds"`` on the
        encoded columns; ``"cells"`` of a grid; or ``"models"``: cut-offs on the scores of six models.
    cuts
        Cut-offs per score, column or model; the class's own number by default.
    bins, features
        Intervals per column of the grid, and its columns; by default those to compare by.
    small, anchors
        Of a suggested class, as ``likewise.classes.suggest_scores`` takes them.
    split, seed
        Shares of the people, in percent, to fit on, to play with and to hold out; and who is where.
    """

    hypotheses: str = "suggested"
    cuts: int | None = None
    bins: int = 4
    features: tuple[str, ...] = ()
    small: bool = False
    anchors: str = "people"
    split: tuple[float, ...] = SHARES
    seed: int = 0

    def __post_init__(self) -> None:
        require(self.hypotheses in CLASSES, "hypotheses", f"be one of {CLASSES}", self.hypotheses)
        check_suggested(self.hypotheses, self.small, self.anchors)
        if self.cuts is not None:
            require_whole(self.cuts, "cuts")
        require_whole(self.bins, "bins")

    def fingerprint(self, data: Dataset) -> str:
        """A name for the arena that this recipe makes of these people, without making it."""
        return fingerprint([self.__dict__, data.features, data.y, data.view, data.metric, data.person])

    def prepare(self, data: Dataset, k: int, progress: Progress | None = None) -> Arena:
        """Fit the models if there are any, build the class, and encode everybody once."""
        data, split = parted(data, self.split, self.seed, k)
        # Workers get the scores and not the models that gave them.
        built = classes.build(
            self.hypotheses, data, split.fit, cuts=self.cuts, bins=self.bins, features=self.features, seed=self.seed,
            small=self.small, anchors=self.anchors, progress=progress,
        )  # fmt: skip
        F, columns, view, players = built.hypotheses, built.X, data.view, split.play
        people = IID(columns[players], data.y[players], k, view=view[players], ids=data.ids(players), order="passes")
        held_out = HeldOutPeople.of(data, split.held_out, columns)
        likely = measures.label_probabilities(data.features[players], data.y[players], data.ids(players))
        ones = float(data.y[split.fit].mean())
        return Arena(F, people.encoded(F.encode), data.metric, held_out, likely, ones)


@dataclass(frozen=True, eq=False)
class Arena:
    """What every trial shares.

    ``label_probabilities`` are those of the people who play, by a model without them; ``ones`` is the share of labels 1
    among the people that the class was fitted on.
    """

    hypotheses: EnumerableClass
    environment: IID
    distance: Distance | str
    held_out: HeldOutPeople
    label_probabilities: Floats | None = None
    ones: float | None = None


def try_out(trial: Trial, arena: Arena) -> dict[str, Any]:
    """Play one trial and measure it: plain JSON values, the same on every machine but for the seconds."""
    from likewise import __version__

    learner = make_learner(arena.hypotheses, trial, arena.distance, arena.ones)
    learner.init()  # loads the compiled loops, once per process: not part of the play
    started = time.perf_counter()
    auditor = make_auditor(trial.auditor, arena.distance, trial.alpha, trial.margin)
    t = play(learner, arena.environment, auditor, trial.rounds, seed=trial.seed)
    seconds, violating = time.perf_counter() - started, measures.violating(t, arena.distance)
    return {
        "error": t.error_per_person,
        "violations": int(violating.sum()),
        "late_violations": int(violating[-max(1, t.rounds // 4) :].sum()),
        "unfair_across": measures.unfair_across(t, arena.distance),
        "lottery": measures.lottery(t),
        "share_of_gain": measures.share_of_gain(t, arena),
        "told": _told(learner, trial),
        "answers": measures.answers(learner, t) if LEARNERS[trial.learner].told != LABELS else 0,
        "reports": int(t.reported.sum()),
        "regret": t.lagrangian_regret,
        "proved_below": learner.observed_bound(t.state),
        **_safety(learner, t),
        "seconds": seconds,
        "version": __version__,
    }


def _told(learner: Any, trial: Trial) -> str:
    """What the learner is told besides people and labels, in words."""
    words = str(getattr(learner, "knows", LEARNERS[trial.learner].told))
    return f"{words}, {SHARE}" if leans(learner) else words


def _safety(learner: Any, t: Transcript) -> dict[str, float | None]:
    """By how much the play erred more than the best constant, and the limit of it that the learner proves, if any."""
    constant, proves = t.constant_errors, getattr(learner, "behind_constant", None)
    behind = None if constant is None else float(t.errors.sum() - constant[-1])
    return {"behind_constant": behind, "behind_at_most": None if proves is None else proves(t.state)}
