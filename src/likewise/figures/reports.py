"""Did the reports help? Every reported pair again, under the policies that came after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from likewise.drawing import COLOURS, GREY, canvas, captioned
from likewise.figures.replay import moments, states
from likewise.game import Transcript
from likewise.protocol import Floats, Key, Learner, Role

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = 60
"""Later policies under which the pairs are looked at again."""
PAIRS = 120
"""Reported pairs drawn; of more, so many evenly spread over the play."""


@dataclass(frozen=True)
class LaterGaps:
    """Gaps of reported pairs, when they were reported and under later policies.

    Attributes
    ----------
    rounds
        (pairs,) number of the round in which each was reported, from 1.
    first
        (pairs,) the gap that was reported.
    after
        (looks,) rounds that each later policy had learned from.
    later
        (pairs, looks) π(favoured) − π(disfavoured) under them; NaN up to the report.
    """

    rounds: NDArray[np.intp]
    first: Floats
    after: NDArray[np.intp]
    later: Floats

    @property
    def last(self) -> Floats:
        """(pairs,) the gap under the policy that learned from every round."""
        return np.asarray(self.later[:, -1])


def later_gaps(transcript: Transcript, learner: Learner, *, looks: int = LOOKS, pairs: int = PAIRS) -> LaterGaps:
    """The gap of each reported pair under the policies that came after, by playing the fold again."""
    t = transcript
    reported = np.flatnonzero(t.reported)
    if len(reported) > pairs:
        reported = reported[np.linspace(0, len(reported) - 1, pairs).round().astype(np.intp)]
    after = moments(t.rounds, looks)
    people = (t.starts[:-1, None] + t.pairs)[reported]
    rows = t.rows[people.ravel()]
    later = np.full((len(reported), len(after)), np.nan)
    for column, (moment, state) in enumerate(zip(after, states(t, learner, after), strict=True)):
        policy = learner.act(state, Key(int(t.facts["seed"]), Role.LEARNER, int(moment) + 1))
        known = reported < moment
        chances = policy.at(rows).reshape(-1, 2)
        later[known, column] = (chances[:, 0] - chances[:, 1])[known]
    return LaterGaps(reported + 1, t.gaps[reported], after, later)


def did_reports_help(transcript: Transcript, learner: Learner) -> Figure:
    """The gap of every reported pair, as reported (a dot) and under the policies that came after (a line).

    Lines that fall into the band say that the policies treat those two people alike now; a line that stays high says
    that the report did not help. Below 0 the other one of the two is favoured. The thick line is the median of the
    pairs reported so far.
    """
    found = later_gaps(transcript, learner)
    level = transcript.alpha - float(transcript.facts["margin"])
    with canvas(7, 4.2) as figure:
        axes = figure.subplots()
        axes.axhspan(-level, level, color=COLOURS[4], alpha=0.25, linewidth=0, label=f"within {level:g}")
        for start, gap, gaps in zip(found.rounds, found.first, found.later, strict=True):
            x, y = np.concatenate([[start], found.after]), np.concatenate([[gap], gaps])
            axes.plot(x, y, color=COLOURS[5], linewidth=0.8, alpha=0.5)
        if len(found.rounds):
            axes.plot(found.rounds, found.first, "o", color=COLOURS[1], markersize=5, label="gap as reported")
            some = np.isfinite(found.later).any(axis=0)
            median = np.nanmedian(found.later[:, some], axis=0)
            axes.plot(found.after[some], median, color=COLOURS[0], linewidth=2.6, label="median, later")
        else:
            axes.text(0.5, 0.5, "no pair was reported", ha="center", color=GREY, transform=axes.transAxes)
        axes.set(title="Gap of each reported pair", xlabel="round")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, handletextpad=0.4)
    return captioned(figure, _caption(found, int(transcript.reported.sum()), level))


def _caption(found: LaterGaps, reports: int, level: float) -> str:
    count = len(found.rounds)
    if not count:
        return "No pair was reported, so there is nothing to look at again."
    which = f"Of {count} reported pairs" if count == reports else f"Of {count} of the {reports:,} reported pairs"
    closer = int((np.abs(found.last) < found.first).sum())
    within = int((np.abs(found.last) <= level).sum())
    return (
        f"{which}, {closer} were closer together under the last policy than when they were reported, and {within} "
        f"within {level:g} of each other; the median gap went from {np.median(found.first):.2f} to "
        f"{np.median(found.last):.2f}."
    )
