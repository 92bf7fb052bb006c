"""From settings to the three roles: the people of a file, a class of hypotheses over them, a learner and an auditor."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.auditors import ByLot, MetricAuditor, NoisyAuditor
from likewise.datasets import Dataset, Split
from likewise.environments import IID
from likewise.errors import require
from likewise.experiments.runs import classes
from likewise.experiments.runs.classes import ClassOfRun, Progress
from likewise.experiments.runs.population import read
from likewise.experiments.runs.settings import LEARNERS, Settings
from likewise.game import Transcript
from likewise.hypotheses import EnumerableClass
from likewise.learners import AdaHedge, OneSided
from likewise.protocol import Auditor, Floats
from likewise.reading import columns_used
from likewise.scoring.scored_columns import ScoredColumns
from likewise.wording import joined, written

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class HeldOutPeople:
    """People who take no part in fitting or playing: one row each is looked at, once, when the play is over.

    Attributes
    ----------
    X, y, view
        What policies take, labels, and what the data set's distance compares.
    features
        All of their columns as numbers, for a model of the label.
    ids
        Who they are; None if some are the same in everything and nobody knows whether they are one person.
    today
        What today's rule or model gives them; None if it is not known.
    sensitive
        Their values in the columns that must not justify a difference; None where there are none.
    """

    X: Floats
    y: Floats
    view: Floats
    features: Floats
    ids: NDArray[np.intp] | None
    today: Floats | None
    sensitive: pd.DataFrame | None = None

    @classmethod
    def of(cls, data: Dataset, rows: NDArray[np.intp], X: Floats | None = None) -> HeldOutPeople:
        """The people of these rows; policies take their features, or else the rows of ``X``."""
        people = data.people.iloc[rows]
        features, today = data.encoder.transform(people), None if data.today is None else data.today[rows]
        taken = features if X is None else X[rows]
        sensitive = people[list(data.sensitive)] if data.sensitive else None
        return cls(taken, data.y[rows], data.viewer.transform(people), features, data.ids(rows), today, sensitive)


@dataclass(frozen=True)
class Setup:
    """A run that is ready to be played."""

    settings: Settings
    data: Dataset
    built: ClassOfRun
    """The class, and what is needed to deploy it."""
    learner: Any
    people: IID
    """The population, encoded for the learner's class."""
    view: Floats
    """The population as the data set's distance sees it, also where a person is shown something else."""
    digest: str
    """Of everybody as the game sees them: the same file may be read differently by another version."""
    split: Split
    """Who is fitted on, who plays, and who is held out."""
    held_out: HeldOutPeople
    somebody: bool = False
    """Whether somebody else than the simulated auditor reviews, by a measure that may be written down nowhere."""
    scorers: ScoredColumns | None = None
    """Models that filled some of the columns."""

    @property
    def asked(self) -> bool:
        """Whether the data set's distance is not that of whoever reviews."""
        return self.settings.ask or self.somebody

    @property
    def hypotheses(self) -> EnumerableClass:
        """The class."""
        hypotheses: EnumerableClass = self.learner.hypotheses
        return hypotheses

    def simulated(self) -> Auditor:
        """An auditor who knows the data set's distance."""
        s = self.settings
        auditor = MetricAuditor(self.data.metric, s.alpha, s.choose, s.margin)
        noisy = s.misses > 0 or s.false_reports > 0
        return self.by_lot(NoisyAuditor(auditor, s.misses, s.false_reports) if noisy else auditor)

    def by_lot(self, auditor: Auditor) -> Auditor:
        """The auditor, in rounds drawn by lot where only a share of them is reviewed."""
        share = self.settings.review_share
        return auditor if share == 1 else ByLot(auditor, share)

    def compared_people(self) -> IID:
        """The people of the play as the data set's distance sees them, also where a person is shown something else."""
        if not self.settings.ask:
            return self.people
        people = self.people
        twin = IID(people.X, people.y, people.k, view=self.view, ids=people.person, order="passes")
        return twin.encoded(self.hypotheses.encode)

    def measured(self, transcript: Transcript) -> Transcript:
        """The same play, seen through the data set's distance."""
        drawn = self.people.draws(self.settings.seed, transcript.first, transcript.rounds)
        return dataclasses.replace(transcript, view=self.view[drawn.ravel()])


def prepare(settings: Settings, progress: Progress | None = None) -> Setup:
    """Read the people, build the class and the learner; ``progress`` hears of models that are fitted for the class."""
    s, data, scorers = read(settings)
    return dataclasses.replace(assemble(s, data, progress), scorers=scorers)


def assemble(s: Settings, data: Dataset, progress: Progress | None = None) -> Setup:
    """The roles of a run over these people."""
    data, split = parted(data, s.split, s.seed, s.k)
    built = classes.build(
        s.hypotheses, data, split.fit, cuts=s.cuts, bins=s.bins, features=s.features, seed=s.seed, small=s.small,
        anchors=s.anchors, progress=progress,
    )  # fmt: skip
    F, X, view, players = built.hypotheses, built.X, data.view, split.play
    shown = _asked_about(s, data, players) if s.ask else view[players]
    people = IID(X[players], data.y[players], s.k, view=shown, ids=data.ids(players), order="passes")
    held_out = HeldOutPeople.of(data, split.held_out, X)
    digest, ones = _digest(data.features, view, data.y), float(data.y[split.fit].mean())
    return Setup(s, data, built, _learner(s, F, ones), people.encoded(F.encode), view[players], digest, split, held_out)


def parted(data: Dataset, shares: Sequence[float], seed: int, k: int) -> tuple[Dataset, Split]:
    """People split by person, with enough of them to play, and an encoder fitted on the first part alone."""
    data, split = data.parted(shares, seed)
    require(split.people[1] >= k, "split", f"leave at least k = {k} people to play", str(split))
    return data, split


def shown_columns(s: Settings, data: Dataset) -> list[str]:
    """What a person is shown: the columns to compare by, then others that they asked for."""
    unknown = [name for name in s.show if name not in data.people.columns]
    require(not unknown, "show", "be columns that are neither the label nor dropped", unknown)
    return list(dict.fromkeys([*data.compare_by, *s.show]))


def sensitive_columns(setup: Setup) -> str:
    """Whether rules may use the sensitive columns, in a sentence; empty where none is named."""
    sensitive = setup.data.sensitive
    if not sensitive:
        return ""
    used = [name for name in columns_used(setup.built.deployed, setup.data.encoder) if name in sensitive]
    unused = [name for name in sensitive if name not in used]
    if not used:
        return f"Rules may not use the sensitive {_columns(unused)}. Groups are compared by them all the same."
    rest = f", but not {joined(unused)}" if unused else ""
    return f"Rules may use the sensitive {_columns(used)}{rest}; to forbid it, use --drop as well."


def _columns(names: Sequence[str]) -> str:
    return f"{'columns' if len(names) > 1 else 'column'} {joined(names)}"


def source_name(s: Settings) -> str:
    """What the people's file is called; a built-in data set by its name."""
    return Path(s.source).name


def _asked_about(s: Settings, data: Dataset, rows: NDArray[np.intp]) -> pd.DataFrame:
    """What a person is shown of these rows, as one would write it down; the index says which row of the file it is."""
    people = data.people[shown_columns(s, data)].iloc[rows].astype(object).map(written)
    people.index = data.row_numbers[rows]
    return people.rename_axis(f"row of {source_name(s)}")


def _digest(*arrays: Floats) -> str:
    sha256 = hashlib.sha256()
    for array in arrays:
        sha256.update(np.ascontiguousarray(array).tobytes())
    return sha256.hexdigest()


def _learner(s: Settings, F: EnumerableClass, ones: float) -> Any:
    """The learner; the default knows the share of labels 1 among the people that the class was fitted on."""
    options: dict[str, Any] = {"k": s.k, "T": s.T, "costs": s.costs}
    if s.learner in ("adahedge", "ftpl"):
        options["alpha"] = s.alpha
    if s.penalty is not None:
        options["penalty"] = s.penalty
    learner = LEARNERS[s.learner](F, **options)
    if s.labels == "accepted":
        return OneSided(learner)
    return learner.leaning(ones) if isinstance(learner, AdaHedge) else learner
