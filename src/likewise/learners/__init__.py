"""Learners: frozen parameters plus pure functions, each with the bound of its theorem."""

from likewise.learners.adahedge import AdaHedge, Unconstrained
from likewise.learners.ftpl import ContextFTPL
from likewise.learners.leader import FollowTheLeader
from likewise.learners.one_sided import OneSided
from likewise.learners.online_classifier import OnlineClassifier
from likewise.learners.penalties import Cuts, Scheduled, Tilted
from likewise.learners.smoothed import SmoothedFTPL
from likewise.learners.weights import AnytimeHedge, ExponentialWeights, Hedge

__all__ = [
    "AdaHedge",
    "AnytimeHedge",
    "ContextFTPL",
    "Cuts",
    "ExponentialWeights",
    "FollowTheLeader",
    "Hedge",
    "OneSided",
    "OnlineClassifier",
    "Scheduled",
    "SmoothedFTPL",
    "Tilted",
    "Unconstrained",
]
