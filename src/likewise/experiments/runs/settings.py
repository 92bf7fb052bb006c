"""Every parameter of a run, in one frozen object that is written to ``settings.json`` and read from there."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import platform
from dataclasses import dataclass, field
from typing import Any

from likewise.datasets import SHARES
from likewise.errors import InvalidParameter, require, require_number, require_whole
from likewise.game.rounds import LABELS
from likewise.learners import AdaHedge, ContextFTPL, ExponentialWeights, FollowTheLeader, Hedge, Unconstrained

LEARNERS: dict[str, Any] = {
    "adahedge": AdaHedge,
    "hedge": Hedge,
    "weights": ExponentialWeights,
    "ftpl": ContextFTPL,
    "leader": FollowTheLeader,
    "unconstrained": Unconstrained,
}
"""Learners by their name in the command; ``weights`` and ``ftpl`` are the paper's."""
CLASSES = ("suggested", "thresholds", "cells", "models")
ANCHORS = ("people", "centres")
CHOICES = ("worst", "first", "random")
ROUNDS, ROUNDS_ASKED = 2000, 30
"""How many rounds a run has by default: with a simulated auditor, and with a person who has an evening to spare."""
FORMAT = 4
"""Of a run's folder: 4 since labels may be seen of accepted people only."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a run was asked to do; ``None`` and empty mean the default of the part they are handed to.

    Attributes
    ----------
    source, sha256
        The file of people and its digest, or the name of a built-in data set and no digest.
    encoding
        Of a file of text that is not UTF-8.
    label, positive, compare_by, sensitive, drop, categories, units
        As ``likewise.datasets.from_frame`` takes them. Built-in data sets have their own.
    models
        Files of models by the names of the columns that they fill, as ``likewise.fit`` takes models.
    id, today
        The column that says who each row is, and the one with the answer that people get today.
    split
        Shares of the people, in percent: to fit models, cut-offs and scales on, to play with, and to hold out.
    hypotheses, cuts, bins, features
        The class: ``suggested``, with this many ``cuts`` on each of its scores; ``thresholds`` on the encoded columns;
        ``cells``, a grid over ``features`` (the columns to compare by, if none are named) with this many ``bins`` each;
        or ``models``.
    small, anchors
        Of a suggested class: without its insurance against reviewers who compare in another way than the public guess;
        and whether it holds the view of ``people``, or ``centres``: averages of at least five of them.
    learner, penalty, costs
        Who learns, what a report weighs (C), and what a false positive and a false negative cost.
    labels
        ``all``, or ``accepted``: decisions are drawn with one lot a round, and the learner sees the labels of accepted
        people only.
    alpha, margin, choose, misses, false_reports
        The simulated auditor: levels, which pair it points at, and its noise.
    review_share
        Which part of the rounds that can hold a violation is reviewed, drawn by lot; 1 for every round.
    ask, show
        Ask the person at the terminal instead, and show them these columns after the ones to compare by.
    k, T, seed
        People in a round, rounds, and the seed of every random number.
    delta
        One minus the confidence of the certificate's claims about new people.
    part
        Rounds that are kept on disk together: the most that a crash can lose. Sums are formed part by part, so this
        is a parameter like any other.
    """

    source: str
    sha256: str = ""
    encoding: str = ""
    label: str | None = None
    positive: str | None = None
    compare_by: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    units: dict[str, float] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    id: str | None = None
    today: str | None = None
    split: tuple[float, ...] = SHARES
    hypotheses: str = "suggested"
    cuts: int | None = None
    bins: int = 4
    features: tuple[str, ...] = ()
    small: bool = False
    anchors: str = "people"
    learner: str = "adahedge"
    penalty: float | None = None
    costs: tuple[float, float] = (1.0, 1.0)
    labels: str = "all"
    alpha: float = 0.1
    margin: float = 0.0
    choose: str = "worst"
    misses: float = 0.0
    false_reports: float = 0.0
    review_share: float = 1.0
    ask: bool = False
    show: tuple[str, ...] = ()
    k: int = 6
    T: int = ROUNDS
    seed: int = 0
    delta: float = 0.05
    part: int = 256

    def __post_init__(self) -> None:
        require(self.hypotheses in CLASSES, "class", f"be one of {CLASSES}", self.hypotheses)
        check_suggested(self.hypotheses, self.small, self.anchors)
        require(self.learner in LEARNERS, "learner", f"be one of {tuple(LEARNERS)}", self.learner)
        require(self.labels in LABELS, "labels", f"be one of {LABELS}", self.labels)
        require(self.choose in CHOICES, "choose", f"be one of {CHOICES}", self.choose)
        if self.cuts is not None:
            require_whole(self.cuts, "cuts")
        for name in ("bins", "T", "part"):
            require_whole(getattr(self, name), name)
        require_whole(self.k, "k", 2)
        require_whole(self.seed, "seed", 0)
        require_number(self.alpha, "alpha", 0, 1, open_at="low")
        require_number(self.margin, "margin", 0, self.alpha)
        require_number(self.delta, "delta", 0, 1, open_at="low high")
        require_number(self.review_share, "review_share", 0, 1, open_at="low")
        require(len(self.costs) == 2, "costs", "be two numbers", self.costs)
        noisy = self.misses > 0 or self.false_reports > 0
        require(not (self.ask and noisy), "ask", "be left out with simulated noise (misses, false reports)", True)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Settings:
        """The settings from ``to_dict``; an unknown or missing name is an error, as the run would not be the same."""
        names = {parameter.name for parameter in dataclasses.fields(cls)}
        # Runs from before these could be chosen have none.
        data = {"encoding": "", "review_share": 1.0, "models": {}, "small": False, "anchors": "people"} | data
        if set(data) != names:
            odd = sorted(set(data) ^ names)
            raise InvalidParameter(
                f"`settings` must hold {len(names)} parameters of this version, got {odd} missing or unknown."
            )
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
        return cls(**values)


def check_suggested(hypotheses: str, small: bool, anchors: str) -> None:
    """Refuse for other classes what only a suggested one has: who asks for centres must know that there are none."""
    require(anchors in ANCHORS, "anchors", f"be one of {ANCHORS}", anchors)
    for name, asked in {"small": small, "anchors": anchors != "people"}.items():
        require(not asked or hypotheses == "suggested", name, "be left out unless the class is suggested", hypotheses)


def rounds_in_a_part(learner: str, T: int) -> int:
    """About a fortieth of the play, in whole blocks of draws; fewer for a learner whose rounds take long.

    Examples
    --------
    >>> rounds_in_a_part("adahedge", 2000), rounds_in_a_part("adahedge", 100_000), rounds_in_a_part("ftpl", 2000)
    (256, 2560, 16)
    """
    return 16 if learner == "ftpl" else 256 * max(1, round(T / 40 / 256))


def versions() -> dict[str, str]:
    """What may change the last bit of a number."""
    names = ("likewise", "numpy", "scipy", "numba", "scikit-learn", "highspy")
    installed = {name: importlib.metadata.version(name) for name in names}
    return installed | {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
