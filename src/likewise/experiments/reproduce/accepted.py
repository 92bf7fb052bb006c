"""The plays of experiment 11: labels seen only of accepted people, auditors who see only decisions, and their lots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise import theory
from likewise.auditors import DecisionAuditor, MetricAuditor
from likewise.certificates.accounts import Accounts, hidden
from likewise.experiments import demo
from likewise.experiments.games import MOSTLY_GOOD, SECOND_TRAP, TRAP, alike, two_people, two_people_class
from likewise.experiments.reproduce.work import per_log
from likewise.game import Transcript, play
from likewise.hindsight import best_in_hindsight
from likewise.learners import AdaHedge, OneSided, Tilted
from likewise.protocol import Floats
from likewise.theory import Bound

ALPHA, K = 0.1, 6
FULL, NAIVE, IPS = "all labels seen", "unseen labels ignored", "no doubt (inverse propensity)"
HALF, RUNNING, SAFE = "half doubt", "running doubt (default)", "safe"
KINDS = (FULL, NAIVE, IPS, HALF, RUNNING, SAFE)
DOUBTS: dict[str, dict[str, Any]] = {IPS: {"doubt": 0.0}, HALF: {"doubt": 0.5}, RUNNING: {}, SAFE: {"safe": True}}
UNFORGETTING = " · nothing forgotten"
"""After the name of a kind: the learner never mixes its prior in again."""
TRAPS = {"first trap": TRAP, "second trap": SECOND_TRAP}
BAD_UNTIL = 0.4
"""For this part of the play everybody is bad."""
SURELY = 1e-6
"""Limits that hold with some confidence are checked at 1 − this."""


def learner_of(kind: str, F: Any, T: int | None, alpha: float = ALPHA) -> Any:
    """The default learner, fed in one of six ways."""
    name, _, never = kind.partition(UNFORGETTING[:3])
    inside = AdaHedge(F, k=K, T=T, alpha=alpha, forget=0.0 if never else None)
    return OneSided(inside, **DOUBTS[name]) if name in DOUBTS else inside


def labels_of(kind: str) -> str:
    """Which labels come to light."""
    return "all" if kind == FULL else "accepted"


# Traps ------------------------------------------------------------------------------------------------------------


class Trapped(NamedTuple):
    """One play of a trap: the error per person of each round, how many labels were seen, and what was proved."""

    game: str
    kind: str
    T: int
    seed: int
    errors: Floats
    seen: float
    above: float
    """Error of the last quarter less that of its better constant, per person; NaN without both constants."""
    behind: tuple[float, float]
    """The largest lead of the best constant, by what the learner was fed, and the limit that the play proves."""

    @property
    def error(self) -> float:
        """Per person."""
        return float(self.errors.mean())

    @property
    def stuck(self) -> bool:
        """Whether the last quarter errs clearly more than one answer for everybody."""
        return self.above > 0.05


def trapped(game: str, kind: str, T: int, seed: int) -> Trapped:
    """A trap, without anything to report: everybody is unlike everybody else."""
    trap = TRAPS[game]
    learner = learner_of(kind, trap.hypotheses, T)
    t = play(learner, trap.iid(seed), MetricAuditor("cityblock", ALPHA), T, seed=seed, labels=labels_of(kind))
    return _trapped(game, kind, learner, t, seed)


def bad_first(game: str, kind: str, T: int, seed: int) -> Trapped:
    """Everybody is bad in the first part of the play; then most people are good."""
    learner, people = learner_of(kind, MOSTLY_GOOD.hypotheses, T), MOSTLY_GOOD.bad_at_first(seed, int(BAD_UNTIL * T))
    t = play(learner, people, MetricAuditor("cityblock", ALPHA), T, seed=seed, labels=labels_of(kind))
    return _trapped(game, kind, learner, t, seed)


def _trapped(game: str, kind: str, learner: Any, t: Transcript, seed: int) -> Trapped:
    last = t.y[t.starts[-1 - t.rounds // 4] :]
    late = float(t.errors[-(t.rounds // 4) :].sum()) / len(last)
    above = late - min(last.mean(), 1 - last.mean()) if len(t.hypotheses.constants) == 2 else np.nan
    return Trapped(game, kind, t.rounds, seed, t.errors / K, _seen(t), float(above), proved(learner, t))


def _seen(t: Transcript) -> float:
    return 1.0 if t.unseen is None else float(1 - t.unseen.mean())


def proved(learner: Any, t: Transcript) -> tuple[float, float]:
    """By how much the error that the learner was fed exceeded the best constant's, and the limit that the play proves.

    0 and infinity where unseen labels were ignored: nothing is proved of errors there.
    """
    behind, limit = Accounts(t).behind_constant, learner.behind_constant(t.state)
    return (0.0, np.inf) if behind is None or limit is None else (behind, float(limit))


# Real people ------------------------------------------------------------------------------------------------------


class Real(NamedTuple):
    """One play with real people and an auditor who sees probabilities."""

    data: str
    kind: str
    seed: int
    error: float
    violations: int
    seen: float
    best: float
    """The exact least error of a fair mixture, in hindsight; NaN where it was not computed."""
    behind: tuple[float, float]
    bound: Bound | None


def real_play(kind: str, setting: demo.Setting, seed: int) -> Real:
    """One way to learn, on these people; the best fair policy is the same for all, so it is computed once a seed."""
    learner = learner_of(kind, setting.hypotheses, setting.T)
    t = play(learner, setting.environment, setting.auditor, setting.T, seed=seed, labels=labels_of(kind))
    best = best_in_hindsight(t, setting.data.distance, ALPHA).error / len(t.y) if kind == FULL else np.nan
    violations, bound = int(t.violations.sum()), learner.bound(ALPHA, setting.T)
    return Real(
        setting.data.name, kind, seed, t.error_per_person, violations, _seen(t), best, proved(learner, t), bound
    )


# The logarithm ----------------------------------------------------------------------------------------------------

TOLERANCE, SLACK = 0.5, 0.25
"""τ of the two-person game, and c of its tilted penalties."""
TILTED, DEFAULT = f"tilted, c = {SLACK}, doubt 1", "the default"


class Grown(NamedTuple):
    """Violations of one play of the two-person game after growing numbers of rounds."""

    rule: str
    T: tuple[int, ...]
    violations: tuple[int, ...]
    hidden: tuple[int, ...]
    """Violating rounds, whether the lot brought them to light or not."""
    limits: tuple[float, ...]
    hidden_limit: float


def two_person_game(rule: str, horizons: tuple[int, ...]) -> Grown:
    """Decisions only and labels of the accepted only, for a learner that knows no horizon: one play gives them all."""
    F = two_people_class()
    auditor = DecisionAuditor(alike, TOLERANCE, theta=0.0)
    if rule == TILTED:
        learner = OneSided(AdaHedge(F, k=2, penalty=Tilted(SLACK)), doubt=1.0, floor=0.0)
    else:
        learner = OneSided(AdaHedge(F, k=2, alpha=TOLERANCE))
    t = play(learner, two_people(F), auditor, max(horizons))
    violations, violating = np.cumsum(t.violations), np.cumsum(np.asarray(t.violating) > 0)
    V, W = (tuple(int(counted[T - 1]) for T in horizons) for counted in (violations, violating))
    bounds = [learner.bound(TOLERANCE, T) for T in horizons]
    limits = tuple(np.inf if bound is None else bound.violations for bound in bounds)
    unseen = hidden(t, SURELY)
    return Grown(rule, horizons, V, W, limits, np.inf if unseen is None else unseen.limit)


# One lot beside own lots ------------------------------------------------------------------------------------------

THETA = 0.1
"""People within this distance are alike for an auditor who sees decisions."""


class Desk(NamedTuple):
    """What lies on the desk of an auditor who sees decisions: pairs decided differently, over a whole play."""

    lot: str
    seed: int
    error: float
    violations: int
    violating: int
    limit: float
    """Violating rounds are at most so many, with confidence 1 − ``SURELY``."""
    acceptable: int
    within: int
    """Alike, but the gap of their probabilities is within the tolerance: the report would be refused."""
    unlike: int
    """Not alike: nobody minds."""
    accepted: tuple[int, ...]
    """In how many rounds 0, 1, …, k people were accepted."""
    variance: float
    exact: float
    """Variance of the number of acceptances in a round, given its probabilities: measured, and by the lot's law."""
    inverted: int
    """Pairs of which the one with the *lower* probability got the yes."""
    benign: tuple[float, float]
    """Pairs that could not be accepted and that are decided differently on average, given the probabilities of this
    play: with one lot, and with own lots."""

    @property
    def differently(self) -> int:
        """Pairs decided differently."""
        return self.acceptable + self.within + self.unlike


def desk(lot: str, setting: demo.Setting, seed: int) -> Desk:
    """Labels of the accepted only, and an auditor who sees decisions."""
    auditor = DecisionAuditor(setting.data.distance, ALPHA, THETA)
    learner = learner_of(RUNNING, setting.hypotheses, setting.T, auditor.alpha)
    t = play(learner, setting.environment, auditor, setting.T, seed=seed, lot=lot)
    table = np.array([_on_the_desk(round_, auditor) for round_ in t])
    acceptable, within, unlike, inverted = (int(count) for count in table[:, :4].sum(axis=0))
    yes, expected, law = table[:, 4], table[:, 5], table[:, 6 if lot == "round" else 7]
    benign = (float(table[:, 8].sum()), float(table[:, 9].sum()))
    unseen = hidden(t, SURELY)
    assert unseen is not None
    assert t.violating is not None
    return Desk(
        lot, seed, t.error_per_person, int(t.violations.sum()), int((t.violating > 0).sum()), unseen.limit,
        acceptable, within, unlike, tuple(np.bincount(yes.astype(int), minlength=K + 1).tolist()),
        float(((yes - expected) ** 2).mean()), float(law.mean()), inverted, benign,
    )  # fmt: skip


def _on_the_desk(round_: Any, auditor: Any) -> tuple[float, ...]:
    """Pairs of a round decided differently, of each sort; the number of acceptances with its mean and variances; and
    benign pairs on average, with one lot and with own lots."""
    p, yes = round_.probabilities, np.asarray(round_.decisions)
    gaps, different, others = p[:, None] - p, yes[:, None] & ~yes, ~np.eye(len(p), dtype=bool)
    similar = np.asarray(auditor.distance(round_.batch.view)) <= THETA
    acceptable = similar & (gaps > auditor.alpha)
    sorts = (different & acceptable, different & similar & ~acceptable, different & ~similar, different & (gaps < 0))
    one, own = np.minimum(p[:, None], p).sum() - p.sum() ** 2, (p * (1 - p)).sum()
    benign = (np.maximum(0, gaps)[~acceptable].sum(), (p[:, None] * (1 - p))[~acceptable & others].sum())
    numbers = (yes.sum(), p.sum(), one, own, *benign)
    return (*(float(sort.sum()) for sort in sorts), *(float(number) for number in numbers))


# Reading many plays ------------------------------------------------------------------------------------------------


def having(plays: Sequence[Any], **wanted: Any) -> list[Any]:
    """The plays with these attributes."""
    return [p for p in plays if all(getattr(p, name) == value for name, value in wanted.items())]


def mean(values: Any) -> float:
    """The mean of whatever can be counted through."""
    return float(np.mean(list(values)))


LOTS = {"round": "one lot for the round", "person": "a lot for each person"}


def predicted() -> float:
    """2 ln N/c²: the most violations per ln T of tilted penalties."""
    return 2 * theory.log_size(3) / SLACK**2


def slope(g: Grown) -> float:
    """Violations per ln T, fitted over the last three horizons."""
    return per_log(g.T[-3:], [float(v) for v in g.violations[-3:]])
