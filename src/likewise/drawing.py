"""One style for every picture: readable at half width, safe for colour-blind readers. matplotlib loads when drawing.

A figure carries its caption with it, as its label: ``caption`` reads it, ``save`` writes it into the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.errors import NotSupported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours: told apart with any kind of colour vision; line styles tell them apart in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")
GREY = "#555555"
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
    # Text as outlines looks the same on every machine and on paper; a fixed salt makes the same play the same file.
    "svg.fonttype": "path",
    "svg.hashsalt": "likewise",
}


@contextmanager
def canvas(width: float, height: float) -> Iterator[Figure]:
    """An empty figure in our style, without touching anybody's global settings."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise NotSupported("Pictures need matplotlib: pip install matplotlib.") from None

    with mpl.rc_context(STYLE):
        yield Figure(figsize=(width, height))


def legend_columns(names: Iterable[str], width: float) -> int:
    """How many entries of a legend fit side by side under a figure ``width`` inches wide.

    Examples
    --------
    >>> legend_columns(["a", "b", "c"], width=8), legend_columns(["a long name of a learner"] * 6, width=8)
    (3, 2)
    """
    # Eleven letters take an inch at our size, and a line with its spaces as much as seven letters.
    inches = [(len(name) + 7) / 11 for name in names]
    return len(inches) if sum(inches) <= width else max(1, int(width / max(inches)))


def legend_below(figure: Figure, *panels: Any) -> None:
    """One legend for all panels, under them, where it can't cover anything."""
    entries = [entry for axes in panels for entry in zip(*axes.get_legend_handles_labels(), strict=True)]
    handles = {label: handle for handle, label in reversed(entries)}
    names = list(dict.fromkeys(label for _, label in entries))
    if names:
        columns = legend_columns(names, figure.get_figwidth())
        figure.legend([handles[name] for name in names], names, loc="outside lower center", ncols=columns)


def captioned(figure: Figure, text: str) -> Figure:
    """The figure, with its caption."""
    figure.set_label(text)
    return figure


def caption(figure: Figure) -> str:
    """What the figure shows, in a sentence or two with the play's own numbers.

    Examples
    --------
    >>> with canvas(4, 3) as figure:
    ...     pass
    >>> caption(captioned(figure, "Nothing yet."))
    'Nothing yet.'
    """
    return str(figure.get_label())


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure to a file, in the format that its name ends with; PNG and SVG carry its caption."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(figure, path, path.suffix.lower().removeprefix("."))
    return path


def svg(figure: Figure) -> bytes:
    """The figure as an SVG file: the same bytes for the same figure."""
    file = BytesIO()
    _write(figure, file, "svg")
    return file.getvalue()


def _write(figure: Figure, target: Any, ending: str) -> None:
    import matplotlib as mpl

    metadata: dict[str, Any] = {"Description": caption(figure)} if ending in ("png", "svg") else {}
    if ending == "svg":
        metadata["Date"] = None
    with mpl.rc_context(STYLE):
        figure.savefig(target, dpi=150, format=ending or None, metadata=metadata or None)
