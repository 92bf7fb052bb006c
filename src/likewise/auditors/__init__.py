"""Auditors: simulated ones with a distance, noisy and scripted ones, panels, and a person at the terminal."""

from likewise.auditors.asked import AskAuditor, NoisyAuditor, ScriptedAuditor
from likewise.auditors.by_lot import ByLot
from likewise.auditors.decisions import DecisionAuditor
from likewise.auditors.pairwise import (
    DriftingAuditor,
    MetricAuditor,
    NamedMetric,
    PairwiseAuditor,
    Panel,
    as_points,
    named_metric,
    quota,
    veto,
    weighted,
)
from likewise.auditors.reviewers import Reviewers

__all__ = [
    "AskAuditor",
    "ByLot",
    "DecisionAuditor",
    "DriftingAuditor",
    "MetricAuditor",
    "NamedMetric",
    "NoisyAuditor",
    "PairwiseAuditor",
    "Panel",
    "Reviewers",
    "ScriptedAuditor",
    "as_points",
    "named_metric",
    "quota",
    "veto",
    "weighted",
]
