"""Violations and regret over the rounds of a play, each with its theorem's line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.drawing import COLOURS, GREY, LINES, canvas, captioned, legend_below
from likewise.errors import InvalidParameter
from likewise.figures.replay import moments, states
from likewise.game import Transcript
from likewise.hindsight import Hindsight
from likewise.hypotheses import EnumerableClass
from likewise.protocol import Floats, Learner
from likewise.reduction import base_error
from likewise.theory import Bound, violations_limit
from likewise.wording import at_most

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 200
"""Moments at which curves are computed and drawn."""
WIDE = 8.0
"""A limit this many times above what happened is drawn on a logarithmic axis."""
BEST_FAIR, PROMISED = "errors above the best fair policy", "promised for the end"


@dataclass(frozen=True)
class Course:
    """What was reached, and what was proved, after some numbers of rounds.

    Attributes
    ----------
    after
        Numbers of rounds.
    violations
        Rounds with a reported violation among them.
    regret
        The Lagrangian regret, exactly; None where the class can't be searched.
    limit
        What the learner's theorem proves of it from the rounds seen, for any people and any reports; None without
        such a theorem.
    violations_limit
        The most violations that ``limit`` allows; None where nothing follows.
    """

    after: NDArray[np.intp]
    violations: NDArray[np.intp]
    regret: Floats | None
    limit: Floats | None
    violations_limit: Floats | None


def course(transcript: Transcript, learner: Learner | None = None, points: int = POINTS) -> Course:
    """What was reached, and what was proved, along a play."""
    t, after = transcript, moments(transcript.rounds, points)
    limit = None if learner is None or t.first != 1 else _observed(t, learner, after)
    return Course(
        after=after,
        violations=np.cumsum(t.violations, dtype=np.intp)[after - 1],
        regret=_regret(t, after),
        limit=limit,
        violations_limit=None if limit is None else _violations_limit(t, after, limit),
    )


def _regret(t: Transcript, after: NDArray[np.intp]) -> Floats | None:
    """Σ L(π^s) − min_f Σ L(f) over the rounds up to each moment, by running sums of the losses."""
    F = t.hypotheses
    if not isinstance(F, EnumerableClass):
        return None
    s, paid, base = t.signed_weights, np.cumsum(t.lagrangian), 0.0
    losses = np.zeros(F.geometry.dim)
    regrets, start = [], 0
    for moment in after:
        stop = int(t.starts[moment])
        losses = losses + F.losses(t.rows[start:stop], s[start:stop])
        base += base_error(t.y[start:stop], t.costs, None if t.weight is None else t.weight[start:stop])
        regrets.append(float(paid[moment - 1]) - base - F.geometry.minimum(losses))
        start = stop
    return np.array(regrets)


def _observed(t: Transcript, learner: Learner, after: NDArray[np.intp]) -> Floats | None:
    """The learner's own limit; None where it is one of estimated errors, which is no limit of the true ones drawn."""
    if t.estimates is not None:
        return None
    limits = []
    for state in states(t, learner, after):
        limit = learner.observed_bound(state)
        if limit is None:
            return None
        limits.append(limit)
    return np.array(limits)


def _violations_limit(t: Transcript, after: NDArray[np.intp], limit: Floats) -> Floats | None:
    """The most rounds with a report that the limit of the regret leaves room for, after each of some rounds.

    Holds for any auditor whose reports have a gap above the level they report at, and needs a constant hypothesis.
    """
    constants = t.constant_errors
    if t.level <= 0 or constants is None or (t.penalties <= 0).any() or (t.gaps[t.reported] <= t.level).any():
        return None
    reports, paid = np.cumsum(t.reported), np.cumsum(np.where(t.reported, t.penalties, 0.0))
    # Before the first report: what one would have weighed.
    weight = np.where(reports > 0, paid / np.maximum(1, reports), t.penalties)[after - 1]
    most = violations_limit(limit, constants[after - 1], np.cumsum(t.errors)[after - 1], t.level, weight)
    return np.minimum(after, most)


def promise(transcript: Transcript, learner: Learner | None) -> Bound | None:
    """What the learner's theorem promised, before the first round, for a play of this length.

    None without a theorem, and where the play is not as long as the learner was set up for.
    """
    t = transcript
    if learner is None or t.first != 1 or learner.T not in (None, t.rounds):
        return None
    try:
        return learner.bound(t.level, t.rounds)
    except InvalidParameter:  # a level of 0, no constant hypothesis, no largest batch: the theorem has no number then
        return None


def violations_and_regret(
    transcript: Transcript, learner: Learner | None = None, *, hindsight: Hindsight | None = None
) -> Figure:
    """Left, rounds with a reported violation so far; right, the regret so far; dashed, the theorem's lines.

    A line of violations that flattens has stopped treating similar people too differently. The regret on the right is
    the Lagrangian one: errors and penalties of the policies played, less those of the best single hypothesis in
    hindsight. The dashed lines hold after every round, whatever the people and the reports: they follow from what was
    seen up to then, and the left one assumes that every reported gap is above the level of reports. A promise that was
    made before the first round is about the end: it is a triangle there (drawn if it isn't far above everything else).

    Parameters
    ----------
    learner
        The play's learner; without it no theorem's line is drawn.
    hindsight
        The best fair policy: adds how many more errors the play made, at the end.
    """
    t, reached, bound = transcript, course(transcript, learner), promise(transcript, learner)
    with canvas(8, 4.4) as figure:
        left, right = figure.subplots(1, 2)
        rounds = reached.after + t.first - 1
        most = math.inf if bound is None or bound.violations >= t.rounds else bound.violations
        _panel(left, rounds, reached.violations, reached.violations_limit, most)
        if reached.regret is None:
            why = "not computed: the class\nis reached only by fitting"
            right.text(0.5, 0.5, why, ha="center", va="center", color=GREY, transform=right.transAxes)
            right.set(yticks=[], xlim=left.get_xlim())
        else:
            _panel(right, rounds, reached.regret, reached.limit, math.inf if bound is None else bound.lagrangian_regret)
            if hindsight is not None:
                above = _above(t, hindsight)
                right.plot(rounds[-1], above, "D", color=COLOURS[2], markersize=8, label=BEST_FAIR, clip_on=False)
        left.set(title="Rounds with a violation, so far", xlabel="round")
        right.set(title="Regret, so far", xlabel="round")
        for axes in (left, right):
            axes.locator_params(axis="x", nbins=4, integer=True)
            axes.set_ylim(1.08 * min(0.0, axes.dataLim.y0), None)
        legend_below(figure, left, right)
    return captioned(figure, _caption(t, reached, hindsight))


def _panel(axes: Any, rounds: Any, reached: Any, limit: Any, promised: float) -> None:
    """What was reached, the theorem's limit after every round, and its promise for the end."""
    dot = {"marker": "o" if len(rounds) == 1 else None}
    axes.plot(rounds, reached, color=COLOURS[0], label="this play", **dot)
    top = max(1.0, float(np.max(reached)))
    if limit is not None:
        axes.plot(rounds, limit, color=COLOURS[1], linestyle=LINES[1], label="theorem's limit, after each round", **dot)
    highest = top if limit is None else max(top, float(np.max(limit)))
    if math.isfinite(promised) and (limit is None or promised < 3 * highest):
        axes.plot(rounds[-1], promised, "v", color=COLOURS[3], markersize=9, label=PROMISED, clip_on=False)
        highest = max(highest, promised)
    if highest > WIDE * top:
        axes.set_yscale("symlog", linthresh=1.0)
    else:
        axes.locator_params(axis="y", integer=True)


def _above(t: Transcript, hindsight: Hindsight) -> float:
    return float(t.errors.sum()) - hindsight.error


def _caption(t: Transcript, reached: Course, hindsight: Hindsight | None) -> str:
    late = int(t.violations[3 * t.rounds // 4 :].sum())
    left = (
        f"Left, {int(reached.violations[-1]):,} of {t.rounds:,} rounds had a reported violation, {late:,} of them in "
        "the last quarter"
    )
    if reached.violations_limit is not None:
        most = float(reached.violations_limit[-1])
        says = (
            "the theorem would allow every round" if most >= t.rounds else f"the theorem allows at most {at_most(most)}"
        )
        left += f"; by what was seen, {says}"
    if reached.regret is None:
        return f"{left}."
    right = f"Right, errors and penalties ended {reached.regret[-1]:,.0f} above the best single rule in hindsight"
    if reached.limit is not None:
        right += f", where {at_most(float(reached.limit[-1]))} was proved to be the most"
    if hindsight is not None:
        above = _above(t, hindsight)
        amount = f"{abs(above):,.0f} {'fewer' if above > 0 else 'more'}"
        right += f"; the best policy that is fair to every pair made {amount} errors"
    return f"{left}. {right}."
