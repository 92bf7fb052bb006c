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


@dataclass(frozen=True)
class Helped:
    """Reported pairs under later policies, and by how much each is treated too differently.

    Attributes
    ----------
    later
        Their gaps.
    allowed
        (pairs, 2): the distance that counts where the favoured person of the report is ahead, and where the other one
        is; None if no distance is written.
    alpha, level, rounds, reports
        Of the play: the levels at which violations count and reports are made, how many rounds and reports there were.
    """

    later: LaterGaps
    allowed: Floats | None
    alpha: float
    level: float
    rounds: int
    reports: int

    @property
    def limit(self) -> float:
        """Up to here a pair is treated alike enough, in the units of ``first`` and ``after``."""
        return self.level if self.allowed is None else self.alpha

    @property
    def first(self) -> Floats:
        """(pairs,) the gap as reported, less the distance where one is written."""
        return self.later.first if self.allowed is None else self.later.first - self.allowed[:, 0]

    @property
    def after(self) -> Floats:
        """(pairs, looks) the same under later policies, whoever of the two is ahead."""
        gaps = self.later.later
        return gaps if self.allowed is None else np.abs(gaps) - np.where(gaps > 0, *self.allowed.T[:, :, None])

    @property
    def settled(self) -> int:
        """How many pairs are within the limit under the last policy; without a distance, closer than when reported."""
        if self.allowed is None:
            return int((np.abs(self.later.last) < self.later.first).sum())
        return int((self.after[:, -1] <= self.limit).sum())

    @property
    def answer(self) -> str:
        """Whether the reports helped, in a sentence."""
        count, settled = len(self.later.rounds), self.settled
        if not count:
            return "No pair was reported, so there is nothing to look at again."
        which = f"{count}" if count == self.reports else f"{count} of the {self.reports:,}"
        share = "Yes" if settled == count else "Mostly" if 2 * settled > count else "Only partly" if settled else "No"
        end = "closer together than when they were reported"
        if self.allowed is not None:
            end = f"within their distance plus {self.alpha:g}"
        return f"{share}: of {which} reported pairs, the last policy keeps {settled:,} {end}."


def reports_helped(transcript: Transcript, learner: Learner, distance: Distance | str | None = None) -> Helped:
    """Every reported pair (at most ``PAIRS``) under the policies that came after.

    Parameters
    ----------
    learner
        The play's own learner: its policies are computed again from the transcript.
    distance
        The reviewer's distance, where one is written.
    """
    t, later = transcript, later_gaps(transcript, learner)
    allowed = None if distance is None else _allowed(t, later, distance)
    return Helped(later, allowed, t.alpha, t.level, t.rounds, len(t.pairs))


def _allowed(t: Transcript, later: LaterGaps, distance: Distance | str) -> Floats:
    compare = named_metric(distance) if isinstance(distance, str) else distance
    allowed = np.empty((len(later.reports), 2))
    for row, (report, i) in enumerate(zip(later.reports, later.rounds - 1, strict=True)):
        distances, (high, low) = np.asarray(compare(t.view_of(int(i)))), t.pairs[report]
        allowed[row] = distances[high, low], distances[low, high]
    return allowed


def did_reports_help(transcript: Transcript, learner: Learner, *, distance: Distance | str | None = None) -> Figure:
    """Every reported pair, as reported (a dot) and under the policies that came after (a line).

    With a distance it shows how much further apart the two are than their distance: inside the band, within the
    tolerance, they are treated alike enough. Without one it shows the gap: inside the band the two can't be reported,
    whoever they are; outside, that depends on how unlike they are. A line that falls says that later policies treat
    those two people more alike; one that stays as high as its dot says that the report did not help. The thick line is
    the median of the pairs reported so far.

    Parameters
    ----------
    learner
        The play's own learner: its policies are computed again from the transcript.
    distance
        The reviewer's distance, where one is written.
    """
    return helped_figure(reports_helped(transcript, learner, distance))


def helped_figure(helped: Helped) -> Figure:
    """The picture of ``did_reports_help``."""
    known = helped.allowed is not None
    with canvas(8, 4.4) as figure:
        axes = figure.subplots()
        low, name = (-1.0, "within the tolerance") if known else (-helped.limit, f"within {helped.limit:g}")
        axes.axhspan(low, helped.limit, color=COLOURS[4], alpha=0.25, linewidth=0, label=name)
        if len(helped.later.rounds):
            _lines(axes, helped)
        else:
            axes.text(0.5, 0.7, "no pair was reported", ha="center", color=GREY, transform=axes.transAxes)
            axes.set(xlim=(0, helped.rounds + 1), ylim=(-1, 1))
        what = "Gap minus distance" if known else "Gap between the probabilities"
        axes.set(title=f"{what} of each reported pair", xlabel="round")
        axes.locator_params(axis="x", nbins=5, integer=True)
        legend_below(figure, axes)
    return captioned(figure, _caption(helped))


def _lines(axes: Any, helped: Helped) -> None:
    later, values = helped.later, helped.after
    for start, first, line in zip(later.rounds, helped.first, values, strict=True):
        computed = np.isfinite(line)
        x, y = np.append(start, later.after[computed]), np.append(first, line[computed])
        axes.plot(x, y, color=COLOURS[5], linewidth=0.9, alpha=0.6, label="later")
    axes.plot(later.rounds, helped.first, "o", color=COLOURS[1], markersize=5, label="as reported")
    looked_at = np.isfinite(values).any(axis=0)
    middle = np.nanmedian(values[:, looked_at], axis=0)
    axes.plot(later.after[looked_at], middle, color=COLOURS[0], linewidth=2.8, label="median of all so far, later")
    axes.set(
        ylim=(min(-0.04, float(np.nanmin(values)) - 0.04), max(float(helped.first.max()), np.nanmax(values)) + 0.04)
    )


def _caption(helped: Helped) -> str:
    if not len(helped.later.rounds):
        return helped.answer
    first, last = np.median(helped.first), np.median(helped.after[:, -1])
    what = "median gap" if helped.allowed is None else "median of gap minus distance"
    return f"{helped.answer} The {what} went from {_rounded(first)} to {_rounded(last)}."


def _rounded(value: Any) -> str:
    return f"{np.round(value, 2) + 0.0:.2f}"
