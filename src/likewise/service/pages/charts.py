"""Light pictures: an SVG with axes, lines, bars and dots, written down directly. Colours come from the style sheet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup, escape

WIDTH, HEIGHT = 640.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 132.0, 14.0, 46.0
Points = Sequence[tuple[float, float]]


class Plot:
    """A picture with two axes; what is added is drawn in that order.

    Parameters
    ----------
    x, y
        The first and last value of each axis.
    across, up
        What the axes show, in words.
    title
        What a screen reader says of the picture.
    width
        Of the picture.
    tens
        Axes, of "x" and "y", on which each step is ten times the one before, beginning at 0.
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        across: str,
        up: str,
        title: str,
        width: float = WIDTH,
        tens: str = "",
    ) -> None:
        self._width = width
        self._tens = tens
        self._x, self._y = _wide(x), _wide(y)
        self._title = title
        self._parts: list[str] = []
        self._labels: list[tuple[float, str, str, float]] = []
        self._axes(across, up)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the data is in the picture."""
        return self._across(x), self._up(y)

    def _across(self, x: float) -> float:
        return LEFT + (self._width - LEFT - RIGHT) * self._share(x, self._x, "x")

    def _up(self, y: float) -> float:
        low, high = self._y
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * self._share(min(high, max(low, y)), self._y, "y")

    def _share(self, value: float, ends: tuple[float, float], axis: str) -> float:
        """Where a value lies between the ends of its axis."""
        low, place, high = (
            (_tenfold(number) if axis in self._tens else number) for number in (ends[0], value, ends[1])
        )
        return (place - low) / (high - low)

    def _ticks(self, ends: tuple[float, float], axis: str) -> list[float]:
        # What goes across is rounds, of which there is no half.
        return powers(ends[1]) if axis in self._tens else ticks(*ends, whole=axis == "x")

    def _axes(self, across: str, up: str) -> None:
        bottom, right = HEIGHT - BOTTOM, self._width - RIGHT
        for value in self._ticks(self._y, "y"):
            y = self._up(value)
            self._add(f'<path class="grid" d="M{LEFT:.0f} {y:.1f}H{right:.0f}"/>')
            self._text(LEFT - 6, y + 4, short(value), "end")
        places = self._ticks(self._x, "x")
        for value in places:
            # Neighbouring rounds of a long stream need all their digits.
            near = len(places) > 1 and "x" not in self._tens and places[1] - places[0] < 1000 <= value
            self._text(self._across(value), bottom + 19, f"{value:,.0f}" if near else short(value), "middle")
        self._add(f'<path class="axis-line" d="M{LEFT:.0f} {bottom:.0f}H{right:.0f}"/>')
        self._text((LEFT + right) / 2, HEIGHT - 6, across, "middle", "name")
        self._add(
            f'<text class="name" x="13" y="{(TOP + bottom) / 2:.0f}" text-anchor="middle" '
            f'transform="rotate(-90 13 {(TOP + bottom) / 2:.0f})">{escape(up)}</text>'
        )

    def line(self, points: Points, kind: str, label: str = "") -> None:
        """A curve, with its name at its end."""
        if not points:
            return
        self._add(f'<path class="{kind}" d="{_path(self.at(*point) for point in points)}"/>')
        if label:
            self._labels.append((self._up(points[-1][1]), label, kind, self._across(points[-1][0])))

    def level(self, y: float, kind: str, label: str = "") -> None:
        """A horizontal line across."""
        self.line([(self._x[0], y), (self._x[1], y)], kind, label)

    def area(self, low: Points, high: Points, kind: str) -> None:
        """Everything between two curves."""
        if low and high:
            self._add(f'<path class="{kind}" d="{_path(self.at(*point) for point in [*high, *reversed(low)])}Z"/>')

    def bars(self, bars: Iterable[tuple[float, float, float]], kind: str, label: str = "") -> None:
        """Bars (from, to, height), drawn as one shape."""
        shapes, last = [], 0.0
        for start, end, height in bars:
            a, b, y = self._across(start), self._across(end), self._up(height)
            shapes.append(f"M{a:.1f} {HEIGHT - BOTTOM:.0f}V{y:.1f}H{b:.1f}V{HEIGHT - BOTTOM:.0f}Z")
            last = height
        self._add(f'<path class="{kind}" d="{"".join(shapes)}"/>')
        if label and shapes:
            self._labels.append((self._up(last), label, kind, self._width - RIGHT))

    def dots(self, points: Iterable[tuple[float, float]], kind: str) -> None:
        """Dots, as a path of strokes without length: a tenth of the bytes of circles."""
        steps = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in (self.at(*point) for point in points))
        if steps:
            self._add(f'<path class="{kind}" d="{steps}"/>')

    def segments(self, pairs: Iterable[tuple[tuple[float, float], tuple[float, float]]], kind: str) -> None:
        """Straight lines between pairs of points."""
        steps = "".join(_path([self.at(*a), self.at(*b)]) for a, b in pairs)
        if steps:
            self._add(f'<path class="{kind}" d="{steps}"/>')

    def svg(self) -> Markup:
        """The picture."""
        for y, label, kind, x in _spread(self._labels):
            self._text(x + 6, y + 4, label, "start", f"label {kind}-label")
        opening = f'<svg class="figure" viewBox="0 0 {self._width:.0f} {HEIGHT:.0f}" role="img" aria-label="'
        return Markup(f'{opening}{escape(self._title)}">{"".join(self._parts)}</svg>')  # escaped above, part by part

    def _add(self, part: str) -> None:
        self._parts.append(part)

    def _text(self, x: float, y: float, text: str, anchor: str, kind: str = "") -> None:
        names = f' class="{kind}"' if kind else ""
        self._add(f'<text{names} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>')


def rows_across(rows: Sequence[tuple[str, int]], title: str) -> Markup:
    """A bar for each of some counts, one below the other, with its name and number."""
    step, names = 38.0, 210.0
    height, most = step * len(rows) + 8, max(1, *(count for _, count in rows))
    parts = []
    for i, (name, count) in enumerate(rows):
        y, width = 6 + step * i, max(1.0, (WIDTH - names - 90) * count / most)
        parts.append(f'<text x="{names - 10:.0f}" y="{y + 20:.1f}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<path class="share" d="M{names:.0f} {y + 3:.1f}h{width:.1f}v24h-{width:.1f}Z"/>')
        parts.append(f'<text x="{names + width + 8:.1f}" y="{y + 20:.1f}">{count:,}</text>')
    opening = f'<svg class="figure" viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" aria-label="{escape(title)}">'
    return Markup(f"{opening}{''.join(parts)}</svg>")  # escaped above, part by part


def ticks(low: float, high: float, about: int = 5, *, whole: bool = False) -> list[float]:
    """Round numbers from ``low`` to ``high``; only ``whole`` ones if wanted.

    Examples
    --------
    >>> ticks(0, 312)
    [0.0, 100.0, 200.0, 300.0]
    >>> ticks(0, 2), ticks(0, 2, whole=True)
    ([0.0, 0.5, 1.0, 1.5, 2.0], [0.0, 1.0, 2.0])
    """
    rough = max(1.0, (high - low) / about) if whole else (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    steps = [power * many for many in (1, 2, 2.5, 5, 10) if not whole or (power * many).is_integer()]
    step = next(size for size in steps if size >= rough)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 10) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def powers(high: float) -> list[float]:
    """0, and the powers of ten up to ``high``.

    Examples
    --------
    >>> powers(300)
    [0.0, 1.0, 10.0, 100.0]
    """
    return [0.0, *(10.0**i for i in range(math.floor(math.log10(max(1.0, high)) + 1e-9) + 1))]


def _tenfold(value: float) -> float:
    """0 at 0, and one more for about every tenfold."""
    return math.log10(1.0 + max(0.0, value))


def short(value: float) -> str:
    """A number for an axis.

    Examples
    --------
    >>> short(100000.0), short(2500.0), short(0.25), short(40.0)
    ('100k', '2.5k', '0.25', '40')
    """
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"


def _wide(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = ends
    return (low, high) if high > low else (low, low + 1.0)


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))


def _spread(labels: Iterable[Any], distance: float = 20.0) -> list[Any]:
    """Labels moved down until none covers another, and up again where they would leave the picture."""
    placed: list[Any] = []
    for y, *rest in sorted(labels):
        placed.append((max(y, placed[-1][0] + distance) if placed else y, *rest))
    over = placed[-1][0] - (HEIGHT - BOTTOM) if placed else 0.0
    return [(y - max(0.0, over), *rest) for y, *rest in placed]
