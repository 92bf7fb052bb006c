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
    DecisionAuditor,
    DriftingAuditor,
    MetricAuditor,
    NoisyAuditor,
    Panel,
    ScriptedAuditor,
)
from likewise.certificates import Certificate, certify, choose, evaluate_fairness, holdout_certificate
from likewise.environments import IID, Adversary, Moment, Stream
from likewise.facts import AuditorFacts, EnvironmentFacts
from likewise.game import Transcript, play
from likewise.hindsight import best_in_hindsight, frontier
from likewise.hypotheses import Cells, EnumerableClass, EstimatorClass, FiniteClass, Thresholds
from likewise.learners import (
    AdaHedge,
    AnytimeHedge,
    ContextFTPL,
    Cuts,
    ExponentialWeights,
    FollowTheLeader,
    Hedge,
    OneSided,
    Scheduled,
    SmoothedFTPL,
    Tilted,
    Unconstrained,
)
from likewise.policies import AveragePolicy, Mixture
from likewise.protocol import SKIPPED, Batch, Key, Report, Role, Round
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
    "Panel",
    "Report",
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
    "play",
    "policies",
    "reduction",
    "report",
    "scoreboard",
    "scoring",
    "theory",
]


def __getattr__(name: str) -> Any:
    """``likewise.Client``, imported when it is first asked for: it needs packages that learning doesn't."""
    if name == "Client":
        return importlib.import_module("likewise.client").Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
