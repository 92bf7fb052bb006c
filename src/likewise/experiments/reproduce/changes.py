"""What may go wrong in a play: reviewers who err, labels that change, reviewers who become lenient; and plays of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likewise.auditors import MetricAuditor, NoisyAuditor
from likewise.datasets import Dataset
from likewise.environments import IID
from likewise.experiments import demo
from likewise.game import Transcript, play
from likewise.hypotheses import EnumerableClass
from likewise.learners import AdaHedge
from likewise.learners.kept import KeptState
from likewise.protocol import Answer, Auditor, Batch, Distance, Floats, Key, Report

ALPHA, K = 0.1, 6
LOOSER = 4.0
"""What a lenient reviewer multiplies distances by."""
DEFAULT, NOTHING, LAST, FIRST = "default", "forget = 0", "rows_last = T/4", "release 1"
LEARNERS = (DEFAULT, NOTHING, LAST, FIRST)


class Accusing:
    """A reviewer who, in some of the rounds without a violation, reports the two people who are furthest apart.

    Worse than a random pair: the learner can't ignore a gap above α, and this is the one that it learned on purpose.
    """

    marks_false = True

    def __init__(self, auditor: Auditor, share: float) -> None:
        self.auditor, self.share = auditor, share
        self.alpha, self.margin = auditor.alpha, auditor.margin
        self.facts = NoisyAuditor(auditor, false_reports=share).facts

    def audit(self, batch: Batch, probabilities: Floats, key: Key) -> Answer:
        """The other auditor's answer; if there is none, sometimes the widest pair."""
        answer = self.auditor.audit(batch, probabilities, key)
        high, low = int(probabilities.argmax()), int(probabilities.argmin())
        possible = probabilities[high] - probabilities[low] > self.alpha
        if answer is not None or not possible or key.stream(1).random() >= self.share:
            return answer
        return Report(high, low, violates=False, false=True)


# What changes -----------------------------------------------------------------------------------------------------


class Change(NamedTuple):
    """What happens in a play.

    Attributes
    ----------
    words
        For tables and pictures.
    at
        The share of the rounds before it happens.
    before, after
        The labels of either part, from the true labels and the view.
    looser
        What distances are multiplied by afterwards.
    reviewer
        Who reviews, from the truthful auditor.
    """

    words: str
    at: float = 0.5
    before: Callable[[Floats, Floats], Floats] = lambda y, view: y
    after: Callable[[Floats, Floats], Floats] = lambda y, view: y
    looser: float = 1.0
    reviewer: Callable[[Auditor], Auditor] = lambda auditor: auditor


def flipped(y: Floats, view: Floats) -> Floats:
    """Every label turns into the other."""
    return 1 - y


def half_flipped(y: Floats, view: Floats) -> Floats:
    """The labels of people above the median of the reviewer's first column."""
    return np.where(view[:, 0] > np.median(view[:, 0]), 1 - y, y)


def all_bad(y: Floats, view: Floats) -> Floats:
    """Nobody has a label of 1."""
    return np.zeros_like(y)


CHANGES = {
    "none": Change("nothing changes"),
    "false 5": Change("5% false reports: any pair", reviewer=lambda a: NoisyAuditor(a, false_reports=0.05)),
    "false 20": Change("20% false reports: any pair", reviewer=lambda a: NoisyAuditor(a, false_reports=0.2)),
    "widest 5": Change("5% false reports: the widest gap", reviewer=lambda a: Accusing(a, 0.05)),
    "widest 20": Change("20% false reports: the widest gap", reviewer=lambda a: Accusing(a, 0.2)),
    "flip": Change("labels flip at T/2", after=flipped),
    "half": Change("half of the people flip at T/2", after=half_flipped),
    "bad": Change("everybody bad in the first tenth", at=0.1, before=all_bad),
    "lenient": Change("reviewer lenient from T/2 on", looser=LOOSER),
}


# Plays ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class People:
    """Who plays: as the class takes them, their labels, and what a reviewer compares by."""

    name: str
    hypotheses: EnumerableClass
    X: Floats
    y: Floats
    view: Floats
    distance: Distance | str

    @classmethod
    def of(cls, data: Dataset, kind: str = "suggested") -> People:
        """A class of this kind, fitted on a quarter of the people, and another quarter who play."""
        setting = demo.prepare(data, k=K, alpha=ALPHA, hypotheses=kind)
        crowd = setting.environment
        return cls(data.name, setting.hypotheses, crowd.X, crowd.y, crowd.view, setting.data.metric)

    def drawn(self, labels: Callable[[Floats, Floats], Floats], looser: float) -> IID:
        """Rounds of these people, with other labels and looser distances (the view is scaled to them)."""
        people = IID(self.X, labels(self.y, self.view), K, view=self.view * looser, order="passes")
        return people.encoded(self.hypotheses.encode)


class Played(NamedTuple):
    """One learner through one change.

    Attributes
    ----------
    data, change, learner
        Which play.
    errors, violations
        Of each round: expected errors per person, and whether some pair was too far apart.
    constant, late_constant
        Error per person of the best constant, over the play and over its last quarter.
    behind, behind_at_most
        Errors above the best constant, and the limit that the learner proves; None without one.
    recovered, recovered_at_most
        The same for the rounds after the change.
    """

    data: str
    change: str
    learner: str
    errors: Floats
    violations: Floats
    constant: float
    late_constant: float
    behind: float
    behind_at_most: float | None
    recovered: float
    recovered_at_most: float | None

    @property
    def error(self) -> float:
        """Per person."""
        return float(self.errors.mean())

    @property
    def late_error(self) -> float:
        """Per person, in the last quarter."""
        return float(self.errors[-quarter(len(self.errors)) :].mean())

    @property
    def late_above(self) -> float:
        """The same, above the best constant of the last quarter."""
        return self.late_error - self.late_constant

    @property
    def late_violations(self) -> float:
        """In the last quarter."""
        return float(self.violations[-quarter(len(self.violations)) :].sum())


def quarter(T: int) -> int:
    """How many rounds the last quarter has."""
    return max(1, T // 4)


def learner_of(name: str, F: EnumerableClass, T: int) -> AdaHedge:
    """A learner by its name in the table."""
    if name == FIRST:
        return AdaHedge(F, k=K, T=T, alpha=ALPHA, penalty="growing")
    forget, rows_last = 0.0 if name == NOTHING else None, max(1, T // 4) if name == LAST else None
    return AdaHedge(F, k=K, T=T, alpha=ALPHA, forget=forget, rows_last=rows_last)


def one_play(people: People, name: str, change: str, T: int, seed: int) -> Played:
    """Play to the change, and on from there."""
    what, learner = CHANGES[change], learner_of(name, people.hypotheses, T)
    auditor = what.reviewer(MetricAuditor(people.distance, ALPHA))
    first = play(learner, people.drawn(what.before, 1.0), auditor, round(what.at * T), seed=seed)
    rest = play(learner, people.drawn(what.after, what.looser), auditor, state=first, seed=seed)
    y, errors = np.concatenate([first.y, rest.y]), np.concatenate([first.errors, rest.errors])
    late = y[-K * quarter(T) :]
    return Played(
        people.name, change, name, errors / K, np.concatenate([first.violations, rest.violations]).astype(float),
        constant_error(y) / len(y), constant_error(late) / len(late), float(errors.sum()) - constant_error(y),
        learner.behind_constant(rest.state), float(rest.errors.sum()) - constant_error(rest.y),
        recovery(learner, first, rest),
    )  # fmt: skip


def constant_error(y: Floats) -> float:
    """Of the better constant, in all."""
    return float(min(y.sum(), len(y) - y.sum()))


def recovery(learner: AdaHedge, first: Transcript, rest: Transcript) -> float | None:
    """By how much the rest of a play can err more than its own best constant, whatever the auditor does.

        (Δ_T − Δ_r) + (Δ_T/ρ) [ln(1/σ) + KL(constant) + Σ_{t>r} ln(1/(1 − σ_t))] + Σ_j h_j*(μ_j at r)

    Fixed share makes a new start possible after every round r in which it is mixed in, σ being the share; the last term
    of the bracket counts the later shares. Prices that stand at that moment count against it.
    """
    before, after = first.state, rest.state
    entropy = learner.start.constants
    if not isinstance(after, KeptState) or entropy is None or learner.forgets == 0 or learner.rows_last is not None:
        return None
    sigma = learner.share(before.rounds)
    if sigma == 0.0:
        return None
    price, C, _, a, b = before.terms.T
    standing = np.minimum(price, C) @ a + np.maximum(price - C, 0.0) @ b
    later = (learner.share(t) for t in range(before.rounds + 1, after.rounds + 1))
    again = math.log(1 / sigma) + entropy - sum(math.log1p(-share) for share in later)
    return float(after.delta - before.delta + after.delta / learner.start.rho * again + standing)
