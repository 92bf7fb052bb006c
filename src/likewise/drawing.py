"""One style for every picture: readable at half width, safe for colour-blind readers. matplotlib loads when drawing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours: told apart with any kind of colour vision; line styles tell them apart in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))
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


@contextmanager
def canvas(width: float, height: float) -> Iterator[Figure]:
    """An empty figure in our style, without touching anybody's global settings."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        yield Figure(figsize=(width, height))


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure to a file, in the format that its name ends with."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return path
