"""Violations and regret over the rounds of a play, each with its theorem's line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.drawing import COLOURS, GREY, LINES, canvas, captioned
from likewise.errors import InvalidParameter
from likewise.figures.replay import moments, states
from likewise.game import Transcript
from likewise.hindsight import Hindsight
from likewise.hypotheses import EnumerableClass
from likewise.protocol import Floats, Learner
from likewise.reduction import base_error
from likewise.theory import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 200
"""Moments at which curves are computed and drawn."""
WIDE = 8.0
"""A limit this many times above what happened is drawn on a logarithmic axis."""


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
    limit = None if learner is None or t.facts["first"] != 1 else _observed(t, learner, after)
    return Course(
        after=after,
        violations=np.cumsum(t.violations, dtype=np.intp)[after - 1],
        regret=_regret(t, after),
        limit=limit,
        violations_limit=None if limit is None else _violations_limit(t, after, limit),
    )


def _regret(t: Transcript, after: NDArray[np.intp]) -> Floats | None:
    """Σ L(π^s) − min_f Σ L(f) over the first so many rounds, by sums of losses that go on from moment to moment."""
    F = t.hypotheses
    if not isinstance(F, EnumerableClass):
        return None
    s, paid, base = t.signed_weights, np.cumsum(t.lagrangian), 0.0
    losses = np.zeros(F.geometry.dim)
    found, start = [], 0
    for moment in after:
        stop = int(t.starts[moment])
        losses = losses + F.losses(t.rows[start:stop], s[start:stop])
        base += base_error(t.y[start:stop], t.costs)
        found.append(float(paid[moment - 1]) - base - F.geometry.minimum(losses))
        start = stop
    return np.array(found)


def _observed(t: Transcript, learner: Learner, after: NDArray[np.intp]) -> Floats | None:
    found = []
    for state in states(t, learner, after):
        limit = learner.observed_bound(state)
        if limit is None:
            return None
        found.append(limit)
    return np.array(found)


def _violations_limit(t: Transcript, after: NDArray[np.intp], limit: Floats) -> Floats | None:
    """level · Σ_{reports} C ≤ Σ C gap ≤ regret + error of the best constant − error; divided by what a report weighed.

    Holds for any auditor whose reports have a gap above the level they report at, and needs a constant hypothesis.
    """
    level = t.alpha - float(t.facts["margin"])
    constants = _constant_errors(t)
    if level <= 0 or constants is None or (t.penalties <= 0).any() or (t.gaps[t.reported] <= level).any():
        return None
    reports, paid = np.cumsum(t.reported), np.cumsum(np.where(t.reported, t.penalties, 0.0))
    # Before the first report: what one would have weighed.
    weight = np.where(reports > 0, paid / np.maximum(1, reports), t.penalties)[after - 1]
    room = limit + (constants - np.cumsum(t.errors))[after - 1]
    return np.minimum(after, np.maximum(0.0, room) / (level * weight))


def _constant_errors(t: Transcript) -> Floats | None:
    """The error of the best constant hypothesis so far, after every round."""
    false_positive, false_negative = t.costs
    errs = {0: false_negative * (t.y == 1), 1: false_positive * (t.y == 0)}
    sums = [np.cumsum(np.add.reduceat(errs[value], t.starts[:-1])) for value in t.hypotheses.constants]
    return np.min(sums, axis=0) if sums else None


def promise(transcript: Transcript, learner: Learner | None) -> Bound | None:
    """What the learner's theorem promised before the first round, where it has one for this play."""
    t = transcript
    if learner is None or t.facts["first"] != 1:
        return None
    level = t.alpha - float(t.facts["margin"])
    try:
        return learner.bound(level)
    except InvalidParameter:  # no horizon, no largest batch, or a level of 0: the theorem has no number then
        return None


def violations_and_regret(
    transcript: Transcript, learner: Learner | None = None, *, hindsight: Hindsight | None = None
) -> Figure:
    """Left, rounds with a reported violation so far; right, the regret so far; dashed, the theorem's lines.

    A line of violations that flattens has stopped treating similar people too differently. The regret on the right is
    the Lagrangian one: the errors and penalties of the policies played, less those of the best single hypothesis in
    hindsight. The dashed lines hold after every round, whatever the people and the reports; the left one assumes only
    that every reported gap is above the level of reports. They are drawn where the learner's theorem speaks about
    every round; a promise that was made for the end alone is a mark at the end.

    Parameters
    ----------
    learner
        The play's learner; without it no theorem's line is drawn.
    hindsight
        The best fair policy: adds the error regret against it, at the end.
    """
    t, found, bound = transcript, course(transcript, learner), promise(transcript, learner)
    with canvas(8, 4.2) as figure:
        left, right = figure.subplots(1, 2)
        left.plot(found.after, found.violations, color=COLOURS[0], label="this play")
        _limit(left, found.after, found.violations, found.violations_limit)
        left.set(title="Rounds with a violation, so far", xlabel="round")
        if found.regret is None:
            right.text(0.5, 0.5, "can't be computed:\nthe class is reached\nonly by fitting", ha="center", va="center",
                       color=GREY, transform=right.transAxes)  # fmt: skip
        else:
            right.plot(found.after, found.regret, color=COLOURS[0])
            _limit(right, found.after, found.regret, found.limit)
            if hindsight is not None:
                above = float(t.errors.sum()) - hindsight.error
                name = "errors above the best fair policy"
                right.plot(t.rounds, above, "D", color=COLOURS[2], markersize=8, label=name, clip_on=False)
        right.set(title="Regret, so far", xlabel="round")
        for axes in (left, right):
            axes.locator_params(axis="x", nbins=4)
        handles = {
            label: h for axes in (left, right) for h, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
    return captioned(figure, _caption(t, found, bound, hindsight))


def _limit(axes: Any, after: Any, reached: Any, limit: Any) -> None:
    if limit is None:
        return
    axes.plot(after, limit, color=COLOURS[1], linestyle=LINES[1], label="theorem's limit")
    if limit[-1] > WIDE * max(1.0, reached[-1]):
        axes.set_yscale("symlog", linthresh=1.0)


def _caption(t: Transcript, found: Course, bound: Bound | None, hindsight: Hindsight | None) -> str:
    late = int(t.violations[3 * t.rounds // 4 :].sum())
    left = f"Left, {int(found.violations[-1]):,} of {t.rounds:,} rounds had a reported violation, {late:,} of them late"
    if found.violations_limit is not None:
        left += f"; the theorem allows {found.violations_limit[-1]:,.0f}, from what was seen"
    if found.regret is None:
        return f"{left}."
    right = f"Right, errors and penalties ended {found.regret[-1]:,.0f} above the best single hypothesis in hindsight"
    if found.limit is not None:
        right += f", where {found.limit[-1]:,.0f} was proved to be the most"
    return f"{left}. {right}."
