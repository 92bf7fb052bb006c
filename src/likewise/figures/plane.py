"""The plane of errors and violations: what was reached, and what the best fixed policies in hindsight could."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise.auditors import named_metric
from likewise.drawing import COLOURS, MARKERS, canvas, captioned, legend_below, legend_columns
from likewise.errors import require
from likewise.figures.replay import moments
from likewise.game import Transcript
from likewise.hindsight import Frontier
from likewise.policies import Mixture
from likewise.protocol import Distance, Floats
from likewise.reduction import label_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRIED = 5000
"""The frontier's policies are tried on at most this many rounds, spread evenly over the play."""
BEST = "best in hindsight"
TOUCHING = 1e-7
"""A policy that is fair at α touches its limits: rounding must not count as a violation."""


class Point(NamedTuple):
    """A play, the mean of several, or a fixed policy, in the plane.

    Attributes
    ----------
    violations
        The share of rounds with a violation.
    error
        Errors (or their cost) per person.
    violations_spread, error_spread
        Half the length of an error bar; 0 for none.
    alpha
        For a policy of the frontier: the level at which it keeps every pair; None for the best of all, fair or not.
    """

    violations: float
    error: float
    violations_spread: float = 0.0
    error_spread: float = 0.0
    alpha: float | None = None

    @classmethod
    def of(cls, plays: Transcript | Sequence[Transcript]) -> Point:
        """One play; or the mean of several, with their standard deviation as spread."""
        several = [plays] if isinstance(plays, Transcript) else list(plays)
        shares = np.array([t.violations.mean() for t in several])
        errors = np.array([t.error_per_person for t in several])
        spread = [float(values.std(ddof=1)) if len(several) > 1 else 0.0 for values in (shares, errors)]
        return cls(float(shares.mean()), float(errors.mean()), *spread)


def frontier_points(frontier: Frontier, transcript: Transcript, distance: Distance | str) -> tuple[Point, ...]:
    """The frontier's policies in the plane, strictest first, then the best hypothesis, fair or not.

    Each has the least error of all policies that keep every pair within its distance plus α'; how often it violates the
    level α of the play is counted on the play's rounds, or on 5,000 of them.
    """
    t, F = transcript, transcript.hypotheses
    free = Mixture(F, F.geometry.leader(F.losses(t.rows, label_weights(t.y, t.costs, t.weight))))
    policies = [*(point.policy for point in frontier.points), free]
    shares = _violating(t, [policy.at(t.rows) for policy in policies], distance)
    errors = [*frontier.errors, frontier.points[0].unconstrained]
    levels = [*(float(alpha) for alpha in frontier.alphas), None]
    people = max(1, frontier.people)
    return tuple(
        Point(share, float(error) / people, alpha=alpha)
        for share, error, alpha in zip(shares, errors, levels, strict=True)
    )


def _violating(t: Transcript, policies: list[Floats], distance: Distance | str) -> list[float]:
    """The share of rounds in which each policy has a pair further apart than d + α."""
    compare = named_metric(distance) if isinstance(distance, str) else distance
    probabilities, tried = np.array(policies), moments(t.rounds, TRIED) - 1
    violating = np.zeros(len(policies))
    for i in tried:
        shown = probabilities[:, t.starts[i] : t.starts[i + 1]]
        gaps = shown[:, :, None] - shown[:, None, :]
        violating += (gaps - np.asarray(compare(t.view_of(i))) > t.alpha + TOUCHING).any(axis=(1, 2))
    return [float(share) for share in violating / len(tried)]


def plane(
    plays: Mapping[str, Transcript | Sequence[Transcript] | Point], frontier: Sequence[Point] = (), *, title: str = ""
) -> Figure:
    """Every play as a dot: further left is fairer, further down is more accurate.

    The line joins what fixed policies could have reached at best, in hindsight, with the distance known
    (``frontier_points``): from the left, ever more lenient, to the best of all, fair or not. A dot below the line
    is possible, as a learner's policies may change from round to round. Violations are on a logarithmic axis that
    begins with 0.

    Parameters
    ----------
    plays
        By name: a play, several plays to be averaged (bars show their standard deviation), or a point.
    frontier
        Points of the frontier.
    """
    require(len(plays) > 0, "plays", "hold at least one play", dict(plays))
    points = {name: play if isinstance(play, Point) else Point.of(play) for name, play in plays.items()}
    names = [*points, BEST] if frontier else list(points)
    rows = -(-len(names) // legend_columns(names, 8))
    with canvas(8, 4.1 + 0.28 * rows) as figure:
        axes = figure.subplots()
        if frontier:
            _frontier(axes, frontier)
        for i, (name, point) in enumerate(points.items()):
            look: Any = {"color": COLOURS[i % len(COLOURS)], "fmt": MARKERS[(i + i // len(COLOURS)) % len(MARKERS)]}
            bars: Any = {"xerr": point.violations_spread or None, "yerr": point.error_spread or None}
            axes.errorbar(
                point.violations, point.error, **look, **bars, markersize=9, mec="white", label=name, zorder=3
            )
        _violations_axis(axes, [*points.values(), *frontier])
        axes.set(title=title or "Error per person", xlabel="share of rounds with a violation")
        axes.margins(y=0.12)
        legend_below(figure, axes)
    return captioned(figure, _caption(points, frontier))


def _frontier(axes: Any, frontier: Sequence[Point]) -> None:
    """The line, with the most lenient of its policies that never violate, and its end, named."""
    x, y = [p.violations for p in frontier], [p.error for p in frontier]
    axes.plot(x, y, ".-", color="#222222", linewidth=1.4, markersize=8, label=BEST, zorder=2)
    # Names lie over dots, on a pale ground, so that they can be read wherever the dots are.
    style: Any = {"textcoords": "offset points", "fontsize": 10.5, "zorder": 4}
    style["bbox"] = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5}
    fair = [p for p in frontier if p.alpha is not None and p.violations == 0]
    if fair:
        axes.annotate(f"fair at {fair[-1].alpha:g}", (0.0, fair[-1].error), (12, 2), **style)
    if frontier[-1].alpha is None:
        axes.annotate("fair or not", (x[-1], y[-1]), (-9, -3), ha="right", **style)


def _violations_axis(axes: Any, points: Sequence[Point]) -> None:
    """Symmetric logarithmic, linear below the smallest share that is not 0, with 0 at its left end."""
    shares = [p.violations for p in points if p.violations > 0]
    smallest = 10.0 ** np.floor(np.log10(min(shares, default=0.1)))
    axes.set_xscale("symlog", linthresh=smallest, linscale=0.5)
    ticks = [0.0, *(10.0**power for power in range(round(np.log10(smallest)), 1))]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(-0.2 * smallest, 1.4)


def _caption(points: Mapping[str, Point], frontier: Sequence[Point]) -> str:
    plays = "; ".join(
        f"{name}: {p.error:.3f} errors per person, violations in {p.violations:.1%} of the rounds"
        for name, p in points.items()
    )
    free = [p for p in frontier if p.violations == 0]
    if not free:
        return f"{plays}."
    least = min(p.error for p in free)
    return (
        f"{plays}. The black line is what a fixed policy could have reached, chosen in hindsight by somebody who knows "
        f"the distance: {least:.3f} without any violation, {frontier[-1].error:.3f} with no thought of fairness."
    )
