"""Several plays side by side: violations and errors over the rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.drawing import COLOURS, LINES, canvas
from likewise.game import Transcript

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def learning_curves(plays: Mapping[str, Transcript], title: str = "") -> Figure:
    """Cumulative violations, and error per person so far, of several plays side by side.

    Left, a line that flattens has stopped treating similar people too differently; right, lower is more accurate.
    """
    with canvas(10, 4.2) as figure:
        left, right = figure.subplots(1, 2)
        for (name, t), colour, line in zip(plays.items(), COLOURS, LINES, strict=False):
            rounds = np.arange(1, t.rounds + 1)
            style = {"color": colour, "linestyle": line, "label": name}
            left.plot(rounds, np.cumsum(t.violations), **style)
            labelled = np.maximum.accumulate(np.maximum(1, np.cumsum(_labelled(t))))
            # The first few rounds average over too few people to mean anything.
            right.plot(rounds[20:], (np.cumsum(t.errors) / labelled)[20:], **style)
        left.set(title="Rounds with a reported violation, so far", xlabel="round", ylim=(0, None))
        right.set(title="Error per person, so far", xlabel="round")
        for axes in (left, right):
            axes.locator_params(axis="x", nbins=5)
        left.legend(loc="upper left")
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    return figure


def _labelled(t: Transcript) -> Any:
    return np.add.reduceat(np.isfinite(t.y).astype(float), t.starts[:-1])
