"""Every picture, in one style: readable at half width, safe for colour-blind readers, with a caption that explains.

matplotlib loads only when a picture is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.game import Transcript

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours: told apart with any kind of colour vision; line styles tell them apart in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))
STYLE: Any = {
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "lines.linewidth": 2.2,
    "figure.constrained_layout.use": True,
}


def learning_curves(plays: Mapping[str, Transcript], title: str = "") -> Figure:
    """Cumulative violations, and error per person so far, of several plays side by side.

    Left, a line that flattens has stopped treating similar people too differently; right, lower is more accurate.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 4.2))
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


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure to a file, in the format that its name ends with."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return path
