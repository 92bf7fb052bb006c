"""Likewise: online decisions that learn individual fairness from a person who only points at unfair pairs."""

import importlib
from typing import Any

from likewise import (
    auditors,
    baselines,
    certificates,
    checks,
    classes,
    datasets,
    environments,
    errors,
    figures,
    hindsight,
    hypotheses,
    learners,
    policies,
    reduction,
    report,
    scoreboard,
    scoring,
    theory,
)
from likewise.auditors import (
    AskAuditor,
    ByLot,
    DecisionAuditor,
    DriftingAuditor,
    MetricAuditor,
    NoisyAuditor,
    Panel,
    Reviewers,
    ScriptedAuditor,
)
from likewise.certificates import Certificate, certify, choose, evaluate_fairness, holdout_certificate
from likewise.environments import IID, Adversary, Moment, Stream
from likewise.facts import AuditorFacts, EnvironmentFacts
from likewise.file_review import audit
from likewise.game import Transcript, play
from likewise.hindsight import best_in_hindsight, frontier
from likewise.hypotheses import (
    Cells,
    EnumerableClass,
    EstimatorClass,
    FiniteClass,
    OnnxModel,
    Thresholds,
    open_models,
    save_models,
)
from likewise.learners import (
    AdaHedge,
    AnytimeHedge,
    ContextFTPL,
    Cuts,
    ExponentialWeights,
    FollowTheLeader,
    Hedge,
    OneSided,
    OnlineClassifier,
    Scheduled,
    SmoothedFTPL,
    Tilted,
    Unconstrained,
)
from likewise.policies import AveragePolicy, Mixture
from likewise.protocol import SKIPPED, Batch, Key, Report, Role, Round
from likewise.report import notice
from likewise.scoreboard import groups

__version__ = "0.1.0"

__all__ = [
    "IID",
    "SKIPPED",
    "AdaHedge",
    "Adversary",
    "AnytimeHedge",
    "AskAuditor",
    "AuditorFacts",
    "AveragePolicy",
    "Batch",
    "ByLot",
    "Cells",
    "Certificate",
    "ContextFTPL",
    "Cuts",
    "DecisionAuditor",
    "DriftingAuditor",
    "EnumerableClass",
    "EnvironmentFacts",
    "EstimatorClass",
    "ExponentialWeights",
    "FiniteClass",
    "FollowTheLeader",
    "Hedge",
    "Key",
    "MetricAuditor",
    "Mixture",
    "Moment",
    "NoisyAuditor",
    "OneSided",
    "OnlineClassifier",
    "OnnxModel",
    "Panel",
    "Report",
    "Reviewers",
    "Role",
    "Round",
    "Scheduled",
    "ScriptedAuditor",
    "SmoothedFTPL",
    "Stream",
    "Thresholds",
    "Tilted",
    "Transcript",
    "Unconstrained",
    "audit",
    "auditors",
    "baselines",
    "best_in_hindsight",
    "certificates",
    "certify",
    "checks",
    "choose",
    "classes",
    "datasets",
    "environments",
    "errors",
    "evaluate_fairness",
    "figures",
    "frontier",
    "groups",
    "hindsight",
    "holdout_certificate",
    "hypotheses",
    "learners",
    "notice",
    "open_models",
    "play",
    "policies",
    "reduction",
    "report",
    "save_models",
    "scoreboard",
    "scoring",
    "theory",
]


_LATER = {
    "Client": "likewise.client",
    "FinishedRun": "likewise.experiments.runs",
    "LikewiseClassifier": "likewise.experiments.runs.estimator",
    "fit": "likewise.experiments.runs",
    "load_run": "likewise.experiments.runs",
}


def __getattr__(name: str) -> Any:
    """What needs packages that learning doesn't, imported when it is first asked for."""
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
