"""A picture of one round: who got which probability, and the pairs that were pointed at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.drawing import COLOURS, GREY, canvas, captioned, legend_below
from likewise.errors import require
from likewise.game import Transcript
from likewise.protocol import Report, Round, numbered
from likewise.wording import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = (
    (1.0, "label 1", {"marker": "o", "facecolor": COLOURS[0], "edgecolor": COLOURS[0]}),
    (0.0, "label 0", {"marker": "o", "facecolor": "white", "edgecolor": COLOURS[0]}),
    (None, "label unknown", {"marker": "s", "facecolor": "#bbbbbb", "edgecolor": GREY}),
)


def telling_round(transcript: Transcript) -> int:
    """The round worth looking at: the reported pair with the widest gap, or the last round without any report."""
    if len(transcript.pairs) == 0:
        return transcript.rounds - 1
    return int(transcript.report_rounds[np.argmax(transcript.pair_gaps)])


def one_round(transcript: Transcript, i: int | None = None) -> Figure:
    """The people of a round by their number, each a dot at the probability they got; each reported pair is joined.

    The band begins at the disfavoured person of the pair and is α − margin high: two people within a band may differ
    even if they are the same in the reviewer's eyes, so the favoured person of a report always lies above it. Without
    a report the band begins at the lowest dot; with several, at the lowest disfavoured person.

    Parameters
    ----------
    i
        The round, counted from 0 as in ``transcript.round(i)``; by default the one with the widest reported gap.
    """
    t = transcript
    i = telling_round(t) if i is None else i
    require(-t.rounds <= i < t.rounds, "i", f"be the position of one of {t.rounds} rounds", i)
    round_, number = t.round(i), t.first + i % t.rounds
    numbers, level = numbered(round_.probabilities), t.level
    with canvas(8, 4.4) as figure:
        axes = figure.subplots()
        disfavoured = [report.disfavoured for report in round_.reports] or [int(np.argmin(round_.probabilities))]
        low = float(round_.probabilities[disfavoured].min())
        axes.axhspan(low, low + level, color=COLOURS[4], alpha=0.25, linewidth=0, label=f"tolerance of {level:g}")
        for value, name, style in LABELS:
            _dots(axes, numbers, round_.probabilities, _having(round_.batch.y, value), name, style)
        for report in round_.reports:
            _joined(axes, numbers, round_.probabilities, report)
        axes.set(
            title=f"Round {number:,}: probability of each person",
            xlabel="number of the person, highest probability first",
            ylim=(-0.04, 1.04),
            xlim=(0.4, len(numbers) + 0.6),
        )
        axes.set_xticks(np.unique(np.linspace(1, len(numbers), min(len(numbers), 12)).round()))
        legend_below(figure, axes)
    return captioned(figure, _caption(round_, number, level))


def _having(y: Any, value: float | None) -> Any:
    return ~np.isfinite(y) if value is None else y == value


def _dots(axes: Any, numbers: Any, probabilities: Any, chosen: Any, name: str, style: Any) -> None:
    if chosen.any():
        axes.scatter(numbers[chosen], probabilities[chosen], s=70, linewidth=1.8, label=name, zorder=3, **style)


def _joined(axes: Any, numbers: Any, probabilities: Any, report: Report) -> None:
    """A reported pair: a line from the one to the other, and a ring around each."""
    pair = [report.disfavoured, report.favoured]
    x, y = numbers[pair], probabilities[pair]
    axes.plot(x, y, color=COLOURS[1], zorder=2, label="reported pair")
    axes.scatter(x, y, s=190, facecolor="none", edgecolor=COLOURS[1], linewidth=1.8, zorder=4)


def _caption(round_: Round, number: int, level: float) -> str:
    k = len(round_.probabilities)
    people = f"Round {number:,}, with {plural(k, 'person', 'people')}"
    if not round_.reviewed:
        return f"{people}: nobody reviewed it."
    if not round_.reports:
        return f"{people}: the reviewer pointed at no pair. Two people within the band differ by less than {level:g}."
    allowed = f"is {level:g} high: even two people who are alike in every respect may differ by that much."
    if len(round_.reports) > 1:
        return (
            f"{people}: the reviewer pointed at the {len(round_.reports)} ringed pairs, whose probabilities differ by "
            f"{round_.gap:.2f} on average. The band above the lowest of these people {allowed}"
        )
    favoured, disfavoured, *_ = round_.reports[0]
    high, low = (float(round_.probabilities[j]) for j in (favoured, disfavoured))
    numbers = numbered(round_.probabilities)
    return (
        f"{people}: the reviewer pointed at the ringed pair, numbers {numbers[favoured]} and {numbers[disfavoured]}, "
        f"with probabilities of {high:.2f} and {low:.2f}. The band above the lower of the two {allowed}"
    )
