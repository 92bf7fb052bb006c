"""Several plays side by side: violations and errors over the rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from likewise.drawing import COLOURS, LINES, canvas, captioned, legend_below
from likewise.errors import require
from likewise.figures.replay import moments
from likewise.game import Transcript
from likewise.protocol import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 400
"""Moments at which a line is drawn."""


def learning_curves(plays: Mapping[str, Transcript], title: str = "") -> Figure:
    """Cumulative violations, and error per person so far, of several plays side by side.

    Left, a line that flattens has stopped treating similar people too differently; right, lower is more accurate.
    """
    require(len(plays) > 0, "plays", "hold at least one play", dict(plays))
    with canvas(8, 4.4) as figure:
        left, right = figure.subplots(1, 2)
        for i, (name, t) in enumerate(plays.items()):
            after = moments(t.rounds, POINTS)
            # The first few rounds average over too few people to mean anything.
            settled = after[after > min(20, t.rounds // 10)]
            # From the seventh play on, colours repeat with other line styles.
            line = LINES[(i + i // len(COLOURS)) % len(LINES)]
            style = {"color": COLOURS[i % len(COLOURS)], "linestyle": line, "label": name}
            style |= {"marker": "o"} if t.rounds == 1 else {}
            left.plot(after, np.cumsum(t.violations)[after - 1], **style)
            right.plot(settled, _error_so_far(t)[settled - 1], **style)
        left.set(title="Rounds with a violation, so far", xlabel="round", ylim=(0, None))
        right.set(title="Error per person, so far", xlabel="round")
        for axes in (left, right):
            axes.locator_params(axis="x", nbins=4)
        legend_below(figure, left)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    return captioned(figure, _caption(plays))


def _error_so_far(t: Transcript) -> Floats:
    labelled = np.cumsum(np.add.reduceat(np.isfinite(t.y).astype(float), t.starts[:-1]))
    return np.asarray(np.cumsum(t.errors) / np.maximum(1.0, labelled))


def _caption(plays: Mapping[str, Transcript]) -> str:
    parts = [
        f"{name}: {int(t.violations.sum()):,} of {t.rounds:,} rounds with a reported violation, "
        f"{t.error_per_person:.3f} errors per person"
        for name, t in plays.items()
    ]
    return "; ".join(parts) + "."
