"""Simulated auditors who compare every pair of a batch: by one distance, by a drifting one, or by a panel's vote.

Each has an *excess* for every ordered pair, π(x_i) − π(x_j) − d(x_i, x_j): the pair is an α-violation iff its excess
is above α, and is reported already above α − margin. Distances are non-negative; they need not be metrics.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import kernels
from likewise.errors import InvalidParameter, require, require_number
from likewise.facts import AuditorFacts, all_known
from likewise.protocol import Batch, Distance, Floats, Key, Report

CHOICES = ("worst", "first", "random")


def checked_level(alpha: float, margin: float) -> float:
    """α − margin, the level of reporting, with both checked."""
    require_number(alpha, "alpha", 0, 1)
    require_number(margin, "margin", 0, float(alpha))
    return alpha - margin


class PairwiseAuditor(ABC):
    """An auditor with an excess for every pair. Subclasses supply ``excess`` and ``facts``."""

    def __init__(self, alpha: float, choose: str = "worst", margin: float = 0.0) -> None:
        self.level = checked_level(alpha, margin)
        require(choose in CHOICES, "choose", f"be one of {CHOICES}", choose)
        self.alpha = alpha
        self.margin = margin
        self.choose = choose
        self._choice = CHOICES.index(choose)

    @abstractmethod
    def excess(self, batch: Batch, probabilities: Floats, t: int) -> Floats:
        """(k, k): π(x_i) − π(x_j) − d(x_i, x_j) in round t."""

    @abstractmethod
    def facts(self) -> AuditorFacts:
        """What is known of this auditor."""

    def audit(self, batch: Batch, probabilities: Floats, key: Key) -> Report | None:
        """Point at one pair whose excess is above the level of reporting, or at none."""
        # d ≥ 0, so nobody needs to compare people whose probabilities are this close.
        if probabilities.max() - probabilities.min() <= self.level:
            return None
        return self._answer(self.excess(batch, probabilities, key.t), key)

    def _answer(self, excess: Floats, key: Key) -> Report | None:
        pair = self._chosen(excess, key)
        return None if pair is None else Report(*pair, violates=bool(excess[pair] > self.alpha))

    def _chosen(self, excess: Floats, key: Key) -> tuple[int, int] | None:
        if self.choose == "worst":
            flat = int(excess.argmax())
            pair = divmod(flat, excess.shape[1])
            return pair if excess[pair] > self.level else None
        pairs = np.argwhere(excess > self.level)
        if len(pairs) == 0:
            return None
        favoured, disfavoured = pairs[0 if self.choose == "first" else key.generator().integers(len(pairs))]
        return int(favoured), int(disfavoured)


def _shaped(distances: Any, k: int) -> Floats:
    matrix = np.ascontiguousarray(distances, dtype=float)
    if matrix.shape != (k, k):
        raise InvalidParameter(f"`distance` must give {k} × {k} distances, at least 0, got shape {matrix.shape}.")
    return matrix


def _refuse_negative(matrix: Floats) -> None:
    k = len(matrix)
    raise InvalidParameter(f"`distance` must give {k} × {k} distances, at least 0, got smallest entry {matrix.min()}.")


def _excess_under(distances: Any, probabilities: Floats) -> Floats:
    matrix = _shaped(distances, len(probabilities))
    if not matrix.min() >= 0:
        _refuse_negative(matrix)
    return np.asarray(probabilities[:, None] - probabilities - matrix)


METRICS: dict[str, tuple[str, ...]] = {
    "cityblock": ("w",),
    "euclidean": ("w",),
    "sqeuclidean": ("w",),
    "chebyshev": (),
    "mahalanobis": ("VI",),
}
"""Metrics with a compiled loop, in the order of the kernels, and the options of SciPy's that it takes."""


class NamedMetric:
    """A metric with a compiled loop of its own; weights and VI as SciPy has them.

    Examples
    --------
    >>> NamedMetric("mahalanobis", VI=np.eye(1))(np.array([[0.0], [2.0]])).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """

    def __init__(self, name: str, w: Any = None, VI: Any = None) -> None:
        self.__name__ = name
        self.number = list(METRICS).index(name)
        self.w = None if w is None else np.asarray(w, dtype=float)
        self._equal = np.ones(1)
        self.VI = np.zeros((0, 0)) if VI is None else np.ascontiguousarray(VI, dtype=float)
        fine = self.w is None or bool(self.w.ndim == 1 and np.isfinite(self.w).all() and (self.w >= 0).all())
        require(fine, "w", "be a list of weights, at least 0", w)
        square = self.VI.ndim == 2 and self.VI.shape[0] == self.VI.shape[1] and bool(np.isfinite(self.VI).all())
        require(square, "VI", "be a square matrix of numbers", f"shape {self.VI.shape}")

    def parameters(self, width: int) -> tuple[int, Floats, Floats]:
        """The metric's number, weights and inverse covariance, as the kernels take them."""
        columns = self.VI.shape[0] if self.__name__ == "mahalanobis" else width if self.w is None else len(self.w)
        if columns != width:
            raise InvalidParameter(f"`view` must have {columns} columns, as the metric's options do, got {width}.")
        if self.w is None and len(self._equal) != width:
            self._equal = np.ones(width)
        return self.number, self._equal if self.w is None else self.w, self.VI

    def __call__(self, view: Any) -> Floats:
        """(k, k) distances."""
        points = as_points(view)
        return np.asarray(kernels.distances(points, *self.parameters(points.shape[1])))


def as_points(view: Any) -> Floats:
    """A view as rows of numbers, for a metric; one column may come without its second axis."""
    try:
        points = np.ascontiguousarray(view, dtype=float)
    except (TypeError, ValueError):
        raise InvalidParameter("`view` must hold numbers only for a named metric, got text; use codes.") from None
    return points if points.ndim == 2 else points.reshape(len(points), -1)


def named_metric(name: str, **options: Any) -> Distance:
    """A metric by its SciPy name: one of ours if it has a compiled loop, otherwise SciPy's."""
    if name in METRICS and set(options) <= set(METRICS[name]):
        needs_more = name == "mahalanobis" and "VI" not in options
        require(not needs_more, "VI", "be given for the Mahalanobis distance", None)
        return NamedMetric(name, **options)

    def distance(view: Any) -> Floats:

        from scipy.spatial.distance import cdist

        points = np.asarray(view, dtype=float)
        return np.asarray(cdist(points, points, name, **options))

    try:
        width = max([1, *(len(option) for option in options.values() if np.ndim(option) > 0)])
        distance(np.zeros((2, width)))
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"`distance` must be a callable or the name of a SciPy metric, got {name!r}: {error}"
        ) from None
    return distance


class MetricAuditor(PairwiseAuditor):
    """Knows a distance and reports a pair whose gap exceeds it by more than α − margin.

    Parameters
    ----------
    distance
        From the view of k people to their (k, k) distances; or the name of a SciPy metric.
    alpha
        Violations are counted at this level.
    choose
        Which pair to report if there are several: the ``"worst"``, the ``"first"`` or a ``"random"`` one.
    margin
        Report already at ``alpha - margin``.
    options
        Passed to the SciPy metric: ``VI=`` for ``"mahalanobis"``, ``w=`` for weights, ``p=`` for ``"minkowski"``.

    Examples
    --------
    >>> from likewise.protocol import Role
    >>> auditor = MetricAuditor("cityblock", alpha=0.1)
    >>> batch = Batch(np.empty((3, 0)), np.zeros(3), view=np.array([[0.0], [0.2], [5.0]]))
    >>> auditor.audit(batch, np.array([0.9, 0.3, 0.0]), Key(0, Role.AUDITOR, 1))
    Report(favoured=0, disfavoured=1, violates=True, false=False, stated=None)
    """

    def __init__(
        self,
        distance: Distance | str,
        alpha: float,
        choose: str = "worst",
        margin: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(alpha, choose, margin)
        self.name = distance if isinstance(distance, str) else getattr(distance, "__name__", type(distance).__name__)
        self.distance = named_metric(distance, **options) if isinstance(distance, str) else distance
        require(callable(self.distance), "distance", "be a callable or the name of a SciPy metric", distance)
        unused = not isinstance(distance, str) and options
        require(not unused, "options", "be left out with a distance of your own", sorted(options))

    def audit(self, batch: Batch, probabilities: Floats, key: Key) -> Report | None:
        """As any auditor that compares every pair; a metric with a compiled loop compares only where it must."""
        distance = self.distance
        if self.choose == "random":
            return super().audit(batch, probabilities, key)
        if isinstance(distance, NamedMetric):
            view = as_points(batch.view)
            metric = distance.parameters(view.shape[1])
            favoured, disfavoured, excess = kernels.audit(view, probabilities, *metric, self.level, self._choice)
            if favoured == -2:
                raise InvalidParameter("`view` must have no missing values for a named metric, got NaN.")
        else:
            if kernels.spread(probabilities) <= self.level:
                return None
            matrix = _shaped(distance(batch.view), len(probabilities))
            favoured, disfavoured, excess = kernels.chosen_pair(matrix, probabilities, self.level, self._choice)
            if favoured == -2:
                _refuse_negative(matrix)
        return None if favoured < 0 else Report(favoured, disfavoured, violates=excess > self.alpha)

    def compiled(self, width: int) -> tuple[Any, ...] | None:
        """Metric, levels and choice as the kernels take them; None for a distance of one's own, or a random choice."""
        if not isinstance(self.distance, NamedMetric) or self.choose == "random":
            return None
        return self.distance.parameters(width), self.alpha, self.level, self._choice

    def excess(self, batch: Batch, probabilities: Floats, t: int) -> Floats:
        """(k, k): gap less distance."""
        return _excess_under(self.distance(batch.view), probabilities)

    def facts(self) -> AuditorFacts:
        """Reports whenever it can, by one fixed distance."""
        details = {"distance": self.name, "choose": self.choose}
        return AuditorFacts("MetricAuditor", truthful=True, exhaustive=True, fixed=True, details=details)


class DriftingAuditor(PairwiseAuditor):
    """Knows a distance that changes by round.

    Parameters
    ----------
    distance
        From the view of k people and the round t to their (k, k) distances.

    Examples
    --------
    >>> def stricter(view, t):
    ...     return np.abs(view - view.T) / t
    >>> DriftingAuditor(stricter, alpha=0.1).facts().fixed
    False
    """

    def __init__(
        self, distance: Callable[[Any, int], Floats], alpha: float, choose: str = "worst", margin: float = 0.0
    ) -> None:
        super().__init__(alpha, choose, margin)
        require(callable(distance), "distance", "be a callable of view and round", distance)
        self.distance = distance

    def excess(self, batch: Batch, probabilities: Floats, t: int) -> Floats:
        """(k, k): gap less the distance of round t."""
        return _excess_under(self.distance(batch.view, t), probabilities)

    def facts(self) -> AuditorFacts:
        """Reports whenever it can, by a distance that changes."""
        details = {"choose": self.choose}
        return AuditorFacts("DriftingAuditor", truthful=True, exhaustive=True, fixed=False, details=details)


VoteRule = Callable[[NDArray[np.bool_]], NDArray[np.bool_]]
"""From (members, …) votes to the panel's verdict, elementwise over the other axes; more votes never undo one."""


def quota(share: float) -> VoteRule:
    """At least this share of the members must object."""
    require(0 < share <= 1, "share", "be in (0, 1]", share)
    # The tolerance keeps 0.6 of 5 members at 3 of them, whatever 0.6 is in binary.
    return lambda votes: np.asarray(votes.mean(axis=0) >= share - 1e-12)


def weighted(weights: Sequence[float], threshold: float) -> VoteRule:
    """The weights of those who object must reach the threshold."""
    require(min(weights) >= 0, "weights", "be at least 0", list(weights))
    return lambda votes: np.asarray(np.tensordot(weights, votes.astype(float), axes=1) >= threshold - 1e-12)


def veto(members: Sequence[int], rule: VoteRule) -> VoteRule:
    """Like ``rule``, but only if each of these members objects too: any one of them can block a report."""
    return lambda votes: np.asarray(rule(votes) & votes[list(members)].all(axis=0))


RULES: dict[str, VoteRule] = {
    "any": lambda votes: np.asarray(votes.any(axis=0)),
    "all": lambda votes: np.asarray(votes.all(axis=0)),
    "majority": lambda votes: np.asarray(votes.mean(axis=0) > 0.5),
}


class Panel(PairwiseAuditor):
    """Several auditors who each compare every pair; a monotone rule turns their votes into one answer.

    A monotone vote over pairs is again an auditor with one distance: the excess of the panel is the highest level
    at which the rule still objects.

    Parameters
    ----------
    members
        Auditors that compare every pair, all with the same alpha and margin.
    rule
        ``"any"``, ``"all"``, ``"majority"``, ``quota``, ``weighted``, ``veto``, or your own.

    Attributes
    ----------
    votes
        For each round of the last play, (members, k, k): who objected to which pair.

    Examples
    --------
    >>> strict, lenient = MetricAuditor("cityblock", 0.1), MetricAuditor("cityblock", 0.1, w=[9.0])
    >>> Panel([strict, lenient], rule=quota(0.5)).facts().details
    {'members': 2}
    """

    def __init__(
        self, members: Sequence[PairwiseAuditor], rule: str | VoteRule = "majority", choose: str = "worst"
    ) -> None:
        pairwise = isinstance(members, Sequence) and all(isinstance(m, PairwiseAuditor) for m in members)
        require(pairwise and len(members) > 0, "members", "be a list of auditors that compare every pair", members)
        levels = {(member.alpha, member.margin) for member in members}
        require(len(levels) == 1, "members", "have the same alpha and margin", sorted(levels))
        super().__init__(members[0].alpha, choose, members[0].margin)
        if isinstance(rule, str):
            require(rule in RULES, "rule", f"be one of {sorted(RULES)} or a vote rule", rule)
        self.members = list(members)
        self.rule = RULES[rule] if isinstance(rule, str) else rule
        self.votes: dict[int, NDArray[np.bool_]] = {}
        _require_monotone(self.rule, len(members))

    def audit(self, batch: Batch, probabilities: Floats, key: Key) -> Report | None:
        """Collect every vote, then answer as one auditor."""
        if key.t in self.votes:
            self.votes.clear()  # another play has begun
        excesses = self._excesses(batch, probabilities, key.t)
        self.votes[key.t] = excesses > self.level
        return self._answer(self._together(excesses), key)

    def excess(self, batch: Batch, probabilities: Floats, t: int) -> Floats:
        """(k, k): the highest level at which the panel still objects."""
        return self._together(self._excesses(batch, probabilities, t))

    def _together(self, levels: Floats) -> Floats:
        objects = np.array([self.rule(levels >= level) for level in levels])
        return np.asarray(np.where(objects, levels, -np.inf).max(axis=0))

    def facts(self) -> AuditorFacts:
        """As the members, together."""
        facts = [member.facts() for member in self.members]
        return AuditorFacts(
            "Panel",
            truthful=all_known([fact.truthful for fact in facts]),
            exhaustive=all_known([fact.exhaustive for fact in facts]),
            fixed=all_known([fact.fixed for fact in facts]),
            details={"members": len(facts)},
        )

    def _excesses(self, batch: Batch, probabilities: Floats, t: int) -> Floats:
        return np.array([member.excess(batch, probabilities, t) for member in self.members])


def _require_monotone(rule: VoteRule, members: int) -> None:
    """Try every set of votes (for up to ten members): one more vote must never undo an objection."""
    if members > 10:
        return
    sets = np.array(list(itertools.product([False, True], repeat=members))).T
    try:
        verdict = rule(sets)
    except (IndexError, ValueError) as error:
        raise InvalidParameter(
            f"`rule` must fit a panel of {members} members (as many weights, no veto beyond them), got: {error}."
        ) from None
    for member in range(members):
        more = sets.copy()
        more[member] = True
        if (verdict & ~rule(more)).any():
            raise InvalidParameter(f"`rule` must be monotone, got one that a vote of member {member} can undo.")
