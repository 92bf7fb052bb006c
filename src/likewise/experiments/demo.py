"""The demo: three learners on the same people, with the same hidden distance, side by side.

The class is the suggested one: cut-offs on scores of all columns and of what reviewers compare by, fitted on a quarter
of the people. Another quarter plays, and half of all are held out until the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from likewise import datasets
from likewise.auditors import MetricAuditor
from likewise.certificates import certify
from likewise.certificates.choice import Choice
from likewise.datasets import SHARES, Dataset, Split
from likewise.environments import IID
from likewise.errors import DataUnavailable
from likewise.experiments.runs import classes
from likewise.experiments.runs.deployed import Judged, candidates, this_entry, told
from likewise.experiments.runs.setup import HeldOutPeople, parted
from likewise.game import Transcript, play
from likewise.hypotheses import EnumerableClass
from likewise.learners import AdaHedge, ExponentialWeights, Unconstrained
from likewise.protocol import Floats
from likewise.scoreboard import Entry, Groups, Scoreboard

LABELS, PAPER, DEFAULT = "Unconstrained", "Paper's weights", "AdaHedge (default)"
"""The three learners, by their names in the table."""


@dataclass(frozen=True)
class Setting:
    """Everything that a demo play needs but the learner."""

    data: Dataset
    hypotheses: EnumerableClass
    X: Floats
    """Everybody, as the class takes them."""
    environment: IID
    auditor: MetricAuditor
    T: int
    k: int
    alpha: float
    split: Split
    held_out: HeldOutPeople
    ones: float
    """The share of labels 1 among the people that the class was fitted on."""

    def learners(self) -> dict[str, Any]:
        """The three learners of the demo, by the name in its table."""
        F, T, k = self.hypotheses, self.T, self.k
        return {
            LABELS: Unconstrained(F, k=k, T=T),
            PAPER: ExponentialWeights(F, T=T, k=k),
            DEFAULT: AdaHedge(F, T=T, k=k, alpha=self.alpha).leaning(self.ones),
        }


def data_or_synthetic() -> tuple[Dataset, str]:
    """Adult; or, where it can't be found, the built-in population and the reason."""
    try:
        return datasets.adult(), ""
    except DataUnavailable as error:
        return datasets.synthetic(), str(error)


def prepare(
    data: Dataset,
    T: int = 2000,
    k: int = 6,
    alpha: float = 0.1,
    seed: int = 0,
    hypotheses: str = "suggested",
    progress: classes.Progress | None = None,
) -> Setting:
    """Fit scores on some people, play with others, and hold half of all back for the end."""
    auditor = MetricAuditor(data.distance, alpha)
    data, split = parted(data, SHARES, seed, k)
    built = classes.build(hypotheses, data, split.fit, cuts=None, bins=1, features=(), seed=seed, progress=progress)
    X, view, players = built.X, data.view, split.play
    environment = IID(X[players], data.y[players], k=k, view=view[players], ids=players, order="passes")
    held_out = HeldOutPeople.of(data, split.held_out, X)
    ones = float(data.y[split.fit].mean())
    return Setting(data, built.hypotheses, X, environment, auditor, T, k, alpha, split, held_out, ones)


def run(setting: Setting, seed: int = 0, progress: bool = False) -> dict[str, Transcript]:
    """Play all learners on the same people."""
    people = setting.environment.encoded(setting.hypotheses.encode)
    plays = {}
    for name, learner in setting.learners().items():
        title = f"{name:<18}" if progress else False
        plays[name] = play(learner, people, setting.auditor, setting.T, seed=seed, progress=title)
    return plays


@dataclass(frozen=True)
class Line:
    """One learner's line of the demo's table.

    ``regret`` is proved by the reports alone: no fair mixture of the hypotheses would have saved more errors.
    """

    name: str
    violations: int
    late_violations: int
    regret: float


def table(plays: dict[str, Transcript]) -> list[Line]:
    """What each learner reached, and what was proved of it."""
    lines = []
    for name, t in plays.items():
        certificate = certify(t)
        lines.append(Line(name, certificate.violations, certificate.late_violations, certificate.regret[0].best))
    return lines


def judged(setting: Setting, plays: dict[str, Transcript]) -> tuple[Choice, Scoreboard, Groups | None]:
    """What to deploy of what AdaHedge learned, chosen on the held-out people; the scoreboard of all; groups."""
    judge = Judged(setting.held_out, setting.data.metric, setting.alpha)
    learner = setting.learners()[DEFAULT]
    choice = judge.choice(candidates(learner, plays[DEFAULT]))
    name, learned = this_entry(choice, told(learner))
    alone = plays[LABELS].last_half_policy or plays[LABELS].average_policy
    entries = {
        "labels alone": Entry(alone, "labels"),
        "the paper's learner": Entry(plays[PAPER].average_policy, "pairs"),
        name: learned,
    }
    return choice, judge.board(entries, setting.hypotheses, name), judge.groups(entries, name)
