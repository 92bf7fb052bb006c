"""Did the reports help? Every reported pair again, under the policies that came after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.auditors import named_metric
from likewise.drawing import COLOURS, GREY, canvas, captioned, legend_below
from likewise.figures.replay import moments, states
from likewise.game import Transcript
from likewise.hypotheses import EnumerableClass
from likewise.protocol import Distance, Floats, Key, Learner, Role

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS, FITTED_LOOKS = 60, 12
"""Later policies under which the pairs are looked at again; fewer where each of them has to be fitted."""
PAIRS = 120
"""At most this many reported pairs are drawn, spread evenly over the play."""


@dataclass(frozen=True)
class LaterGaps:
    """Gaps of reported pairs, when they were reported and under later policies.

    Attributes
    ----------
    reports
        (pairs,) which reports of the transcript they are.
    rounds
        (pairs,) number of the round in which each was reported, from 1.
    first
        (pairs,) the gap that was reported.
    after
        (looks,) rounds that each later policy had learned from.
    later
        (pairs, looks) π(favoured) − π(disfavoured) under them; NaN up to the report.
    """

    reports: NDArray[np.intp]
    rounds: NDArray[np.intp]
    first: Floats
    after: NDArray[np.intp]
    later: Floats

    @property
    def last(self) -> Floats:
        """(pairs,) the gap under the policy that learned from every round."""
        return np.asarray(self.later[:, -1])


def later_gaps(transcript: Transcript, learner: Learner, *, looks: int | None = None, pairs: int = PAIRS) -> LaterGaps:
    """The gap of each reported pair under the policies that came after, by playing the fold again."""
    t = transcript
    reports = np.arange(len(t.pairs))
    if len(reports) > pairs:
        reports = np.linspace(0, len(reports) - 1, pairs).round().astype(np.intp)
    rounds = t.report_rounds[reports]
    usual = LOOKS if isinstance(t.hypotheses, EnumerableClass) else FITTED_LOOKS
    after = moments(t.rounds, usual if looks is None else looks)
    rows = t.rows[t.pair_people[reports].ravel()]
    later = np.full((len(reports), len(after)), np.nan)
    for column, (moment, state) in enumerate(zip(after, states(t, learner, after), strict=True)):
        policy = learner.act(state, Key(t.seed, Role.LEARNER, int(moment) + 1))
        reported = rounds < moment
        if reported.any():
            favoured, disfavoured = policy.at(rows).reshape(-1, 2)[reported].T
            later[reported, column] = favoured - disfavoured
    return LaterGaps(reports, rounds + 1, t.pair_gaps[reports], after, later)


def did_reports_help(transcript: Transcript, learner: Learner, *, distance: Distance | str | None = None) -> Figure:
    """The gap of every reported pair, as reported (a dot) and under the policies that came after (a line).

    A line that falls says that later policies treat those two people more alike; one that stays as high as its dot says
    that the report did not help. Inside the band, the two can no longer be reported, whoever they are; outside, that
    depends on how unlike they are. Below 0 the other one of the two is favoured. The thick line is the median of the
    pairs reported so far.

    Parameters
    ----------
    learner
        The play's own learner: its policies are computed again from the transcript.
    distance
        The reviewer's distance, where one is written: the caption then says how many pairs are still violations.
    """
    later, level = later_gaps(transcript, learner), transcript.level
    with canvas(8, 4.4) as figure:
        axes = figure.subplots()
        axes.axhspan(-level, level, color=COLOURS[4], alpha=0.25, linewidth=0, label=f"within {level:g}")
        if len(later.rounds):
            _lines(axes, later)
        else:
            axes.text(0.5, 0.7, "no pair was reported", ha="center", color=GREY, transform=axes.transAxes)
            axes.set(xlim=(0, transcript.rounds + 1), ylim=(-1, 1))
        axes.set(title="Gap between the probabilities of each reported pair", xlabel="round")
        axes.locator_params(axis="x", nbins=5, integer=True)
        legend_below(figure, axes)
    violating = None if distance is None else _violating(transcript, later, distance)
    return captioned(figure, _caption(later, len(transcript.pairs), level, violating))


def _lines(axes: Any, later: LaterGaps) -> None:
    for start, gap, gaps in zip(later.rounds, later.first, later.later, strict=True):
        computed = np.isfinite(gaps)
        x, y = np.append(start, later.after[computed]), np.append(gap, gaps[computed])
        axes.plot(x, y, color=COLOURS[5], linewidth=0.9, alpha=0.6, label="later")
    axes.plot(later.rounds, later.first, "o", color=COLOURS[1], markersize=5, label="as reported")
    looked_at = np.isfinite(later.later).any(axis=0)
    middle = np.nanmedian(later.later[:, looked_at], axis=0)
    axes.plot(later.after[looked_at], middle, color=COLOURS[0], linewidth=2.8, label="median of all so far, later")


def _violating(t: Transcript, later: LaterGaps, distance: Distance | str) -> int:
    """How many of the pairs are violations under the last policy, whichever of the two it favours."""
    compare = named_metric(distance) if isinstance(distance, str) else distance
    count = 0
    for report, i, gap in zip(later.reports, later.rounds - 1, later.last, strict=True):
        high, low = t.pairs[report] if gap > 0 else t.pairs[report][::-1]
        count += bool(abs(gap) > float(np.asarray(compare(t.view_of(int(i))))[high, low]) + t.alpha)
    return count


def _caption(later: LaterGaps, reports: int, level: float, violating: int | None) -> str:
    count = len(later.rounds)
    if not count:
        return "No pair was reported, so there is nothing to look at again."
    which = f"Of {count} reported pairs" if count == reports else f"Of {count} of the {reports:,} reported pairs"
    closer = int((np.abs(later.last) < later.first).sum())
    end = f"{int((np.abs(later.last) <= level).sum())} were within {level:g} of each other"
    if violating is not None:
        end = f"{violating} were still violations"
    return (
        f"{which}, {closer} were closer together under the last policy than when they were reported, and {end}; the "
        f"median gap went from {np.median(later.first):.2f} to {np.round(np.median(later.last), 2) + 0.0:.2f}."
    )
