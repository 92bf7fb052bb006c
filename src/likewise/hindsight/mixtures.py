"""Hindsight: the best fixed policy that is fair on every pair of every batch, exactly.

    min over π of Σ_t Err(π, z^t)   such that   |π(x) − π(x')| ≤ d(x, x') + α   for every pair of every round

is a linear program in the policy's weights, with one row per pair. Rows are generated only where they are violated and
the solver continues from its last basis, so a hundred thousand rounds need a few hundred rows. The answer comes with a
lower limit that is computed from the dual prices alone, without trusting the solver: the gap between the two is what
"exactly" means here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.auditors import named_metric
from likewise.drawing import COLOURS, canvas
from likewise.errors import InvalidParameter, NotSupported, require, require_number
from likewise.game import Transcript
from likewise.hindsight.compared import pairwise_distances, probabilities_of_labels
from likewise.hindsight.fair_program import FairProgram, Hindsight, Losses, Pairs
from likewise.hypotheses import EnumerableClass
from likewise.protocol import Distance, Floats
from likewise.reduction import EQUAL_COSTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def best_in_hindsight(
    transcript: Transcript, distance: Distance | str, alpha: float, *, drifting: bool = False
) -> Hindsight:
    """The exact best policy of Q_α over a play.

    Parameters
    ----------
    transcript
        The play.
    distance
        From the view of k people to their (k, k) distances, or the name of a SciPy metric.
    alpha
        How much more than their distance two people of a batch may differ.
    drifting
        ``distance`` takes the round as a second argument.

    Examples
    --------
    >>> import likewise as lw, numpy as np
    >>> people = lw.Adversary(lambda moment: ([[0.0], [1.0]], [0, 1]), k=2, sees_policy=True)
    >>> def alike(view):
    ...     return np.zeros((len(view), len(view)))
    >>> t = lw.play(lw.AdaHedge(lw.Thresholds([[0.5]]), k=2, alpha=0.1, T=100), people, lw.MetricAuditor(alike, 0.1))
    >>> best = lw.best_in_hindsight(t, alike, alpha=0.1)
    >>> round(best.error, 6), round(best.unconstrained, 6)
    (90.0, 0.0)
    """
    return frontier(transcript, distance, [alpha], drifting=drifting).points[0]


@dataclass(frozen=True, eq=False)
class Frontier:
    """What fairness costs: the exact least error for each level α, strictest first.

    Attributes
    ----------
    points
        One ``Hindsight`` per level.
    people
        How many labelled people the errors are over.
    """

    points: tuple[Hindsight, ...]
    people: int

    @property
    def alphas(self) -> Floats:
        """The levels."""
        return np.array([point.alpha for point in self.points])

    @property
    def errors(self) -> Floats:
        """The least total error at each level."""
        return np.array([point.error for point in self.points])

    def plot(self) -> Figure:
        """Error per person against α, down to what is possible without fairness."""
        with canvas(6, 4) as figure:
            axes = figure.subplots()
            people = max(1, self.people)
            axes.plot(self.alphas, self.errors / people, "o-", color=COLOURS[0], label="best fair policy")
            free = self.points[0].unconstrained / people
            axes.axhline(free, color=COLOURS[1], linestyle="--", label="best hypothesis, fair or not")
            axes.set(xlabel="α: allowed beyond the distance", title="Least error per person, in hindsight")
            axes.legend()
        return figure


def frontier(
    transcript: Transcript, distance: Distance | str, alphas: Sequence[float], *, drifting: bool = False
) -> Frontier:
    """The exact trade-off between error and fairness: one linear program, tightened from level to level."""
    F = searchable(transcript.hypotheses)
    require(len(alphas) > 0, "alphas", "hold at least one level", list(alphas))
    for alpha in alphas:
        require(0 <= alpha <= 1, "alpha", "be in [0, 1]", alpha)
    pairs = _pairs(transcript, _by_round(distance, drifting), min(alphas))
    program = FairProgram(F, Losses.of(transcript), pairs)
    # From loose to strict, so that every basis stays dual feasible and rows found once are never looked for again.
    points = [program.solve(alpha) for alpha in sorted(alphas, reverse=True)]
    return Frontier(tuple(reversed(points)), int(np.isfinite(transcript.y).sum()))


def best_mixture(
    hypotheses: EnumerableClass,
    X: Any,
    label_probabilities: Any,
    distance: Distance | str,
    alpha: float,
    *,
    view: Any | None = None,
    costs: tuple[float, float] = EQUAL_COSTS,
) -> Hindsight:
    """The mixture of a class with the least expected error that treats every pair of these people within d + α.

    Parameters
    ----------
    hypotheses
        The class; it must be one that can be searched exactly.
    X, view
        People, as the class takes them, and what they are compared by (``X`` by default).
    label_probabilities
        For each person, the probability of the label 1; see ``cross_fitted``. Labels 0 and 1 will do.
    distance
        From the view of k people to their (k, k) distances, or the name of a SciPy metric.
    alpha
        How much more than their distance two people may differ.
    costs
        What a false positive and a false negative cost.

    Returns
    -------
    Hindsight
        With errors added up over these people, who count as the batch of one round.

    Examples
    --------
    >>> import likewise as lw
    >>> best = best_mixture(lw.Thresholds([[0.1]]), [[0.0], [0.2]], [0.0, 1.0], "cityblock", alpha=0.1)
    >>> round(best.error, 6), round(best.unconstrained, 6)
    (0.7, 0.0)
    """
    F, q = searchable(hypotheses), probabilities_of_labels(label_probabilities, len(X))
    require_number(alpha, "alpha", 0, 1)
    weights, base = costs[0] * (1.0 - q) - costs[1] * q, costs[1] * float(q.sum())
    seen = X if view is None else view
    require(len(seen) == len(q), "view", f"have a row for each of {len(q)} people", len(seen))
    pairs = _close(pairwise_distances(seen, distance), alpha)
    return FairProgram(F, Losses(F.encode(X), weights, base, np.array([0, len(q)]), 1), pairs).solve(alpha)


def searchable(hypotheses: Any) -> EnumerableClass:
    """The class, if a linear program over it can be exact; otherwise a refusal."""
    if not isinstance(hypotheses, EnumerableClass):
        raise NotSupported(
            f"The best policy in hindsight needs a class that can be searched exactly, got "
            f"{type(hypotheses).__name__}, which is reached only by fitting."
        )
    return hypotheses


def _by_round(distance: Any, drifting: bool) -> Callable[[Any, int], Floats]:
    if isinstance(distance, str):
        distance = named_metric(distance)
    require(callable(distance), "distance", "be a callable or the name of a SciPy metric", distance)
    if drifting:
        return lambda view, t: np.asarray(distance(view, t), dtype=float)
    return lambda view, t: np.asarray(distance(view), dtype=float)


def _pairs(transcript: Transcript, distance: Callable[[Any, int], Floats], alpha: float) -> Pairs:
    parts = []
    corners = {int(k): np.triu_indices(int(k), 1) for k in np.unique(transcript.sizes)}
    begins = transcript.first
    for i in range(transcript.rounds):
        start, stop = int(transcript.starts[i]), int(transcript.starts[i + 1])
        rows, columns = corners[stop - start]
        d = distance(transcript.view_of(i), begins + i)
        if d.shape != (stop - start, stop - start) or not d.min(initial=0.0) >= 0:
            raise InvalidParameter(
                f"`distance` must give {stop - start} × {stop - start} distances, at least 0, got shape {d.shape}."
            )
        up, down = d[rows, columns], d[columns, rows]
        near = np.minimum(up, down) + alpha < 1.0
        parts.append((start + rows[near], start + columns[near], up[near], down[near]))
    return Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _close(d: Floats, alpha: float) -> Pairs:
    """The pairs of some people that α could keep together."""
    first, second = np.nonzero(np.triu(np.minimum(d, d.T) + alpha < 1.0, 1))
    return Pairs(first, second, d[first, second], d[second, first])
