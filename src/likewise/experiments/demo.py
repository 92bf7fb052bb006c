"""The demo: three learners on the same people, with the same hidden distance, side by side.

The class is "our models × our cut-offs": thresholds on the scores of six scikit-learn models, fitted on a warm-up
split that the game never sees again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from likewise import datasets
from likewise.auditors import MetricAuditor
from likewise.datasets import Dataset
from likewise.environments import IID
from likewise.errors import DataUnavailable
from likewise.game import Transcript, play
from likewise.hypotheses import Thresholds
from likewise.learners import AdaHedge, ExponentialWeights, Unconstrained

WARM_UP = 2000
CUTS = 12


@dataclass(frozen=True)
class Setting:
    """Everything that a demo play needs but the learner."""

    data: Dataset
    hypotheses: Thresholds
    environment: IID
    auditor: MetricAuditor
    T: int
    k: int
    alpha: float

    def learners(self) -> dict[str, Any]:
        """The three learners of the demo, by the name in its table."""
        F, T, k = self.hypotheses, self.T, self.k
        return {
            "Unconstrained": Unconstrained(F, k=k, T=T),
            "Paper's weights": ExponentialWeights(F, T=T, k=k),
            "AdaHedge (default)": AdaHedge(F, T=T, k=k, alpha=self.alpha),
        }


def data_or_synthetic() -> tuple[Dataset, str]:
    """Adult; or, where it can't be found, the built-in population and the reason."""
    try:
        return datasets.adult(), ""
    except DataUnavailable as error:
        return datasets.synthetic(), str(error)


def model_pool() -> list[Any]:
    """Six unfitted classifiers of different kinds."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    return [
        LogisticRegression(max_iter=500),
        GaussianNB(var_smoothing=1e-2),
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(50, max_depth=8, random_state=0),
        HistGradientBoostingClassifier(max_iter=60, random_state=0),
        KNeighborsClassifier(25),
    ]


def prepare(data: Dataset, T: int = 2000, k: int = 6, alpha: float = 0.1, seed: int = 0) -> Setting:
    """Fit the models on the warm-up split; the game is played on everybody else."""
    from threadpoolctl import threadpool_limits

    auditor = MetricAuditor(data.distance, alpha)
    features, view = data.features, data.view
    warm, others = datasets.split(data, WARM_UP, seed)
    pool = model_pool()
    # On a busy machine the models' threads wait for each other longer than one thread takes.
    with threadpool_limits(1):
        models = [model.fit(features[warm], data.y[warm]) for model in pool]
    F = Thresholds.scores(models, features[warm], cuts=CUTS)
    environment = IID(features[others], data.y[others], k=k, view=view[others])
    return Setting(data, F, environment, auditor, T, k, alpha)


def run(setting: Setting, seed: int = 0, progress: bool = False) -> dict[str, Transcript]:
    """Play all learners on the same people."""
    # Scoring everybody with six models takes longer than playing: do it once for all learners.
    people = setting.environment.encoded(setting.hypotheses.encode)
    plays = {}
    for name, learner in setting.learners().items():
        title = f"{name:<18}" if progress else False
        plays[name] = play(learner, people, setting.auditor, setting.T, seed=seed, progress=title)
    return plays


@dataclass(frozen=True)
class Line:
    """One learner's line of the demo's table."""

    name: str
    error: float
    violations: int
    late_violations: int
    regret: float
    bound: float


def table(setting: Setting, plays: dict[str, Transcript]) -> list[Line]:
    """What each learner reached, and what was proved of it."""
    lines = []
    for name, learner in setting.learners().items():
        t = plays[name]
        late = t.violations[3 * t.rounds // 4 :]
        bound = learner.observed_bound(t.state)
        counts = int(t.violations.sum()), int(late.sum())
        # A learner that keeps reports has no limit of its Lagrangian regret: its prices change.
        limit = math.inf if bound is None else bound
        lines.append(Line(name, t.error_per_person, *counts, t.lagrangian_regret, limit))
    return lines
