"""The scorecard: what each column of the file adds to the probability, in the units of the file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.drawing import COLOURS, GREY, canvas, captioned
from likewise.errors import require_whole
from likewise.policies import DeployablePolicy
from likewise.reading import Scorecard, Steps
from likewise.wording import joined, plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 3
"""Panels side by side."""
TITLE = 20
"""Longer names of columns are cut short."""
LEVELS = 7
"""At most this many levels of a category are drawn, the ones that add most and least."""
LETTER = 0.037
"""A letter of a level's name, as a share of a panel's height."""
HARDLY = 0.01
"""A column that can add less than this share of what the first can add is not drawn."""


def scorecard(policy: DeployablePolicy, *, top: int = 6, title: str = "") -> Figure:
    """What each column adds to the probability, for a policy of cut-offs on columns.

    A mixture of cut-offs is a sum: what everybody gets, and a step function of each column. Find a person's value in
    each panel, add up the heights and what everybody gets, and you have their probability, exactly. A step says where
    the policy begins to treat people differently, and its height by how much. All panels have the same scale, so a flat
    panel is a column that hardly matters.

    Parameters
    ----------
    policy
        A policy over ``Thresholds`` on columns; a ``FinishedPolicy`` with an encoder is drawn in the units of its file.
    top
        How many columns, those that can add most first.
    """
    require_whole(top, "top")
    card = policy.scorecard()
    drawn = _matter(card)[:top]
    highest = max((steps.highest for steps in drawn), default=1.0) * 1.15
    wide = max(1, min(WIDE, len(drawn)))
    rows = max(1, math.ceil(len(drawn) / wide))
    with canvas(max(6.6, 3.1 * wide), 0.9 + 2.5 * rows) as figure:
        panels = figure.subplots(rows, wide, squeeze=False, sharey=True).ravel()
        for axes, steps in zip(panels, drawn, strict=False):
            axes.set_ylim(0, highest)
            (_levels if steps.levels else _numbers)(axes, steps)
            _heading(axes, steps)
        for axes in panels[len(drawn) :]:
            axes.set_axis_off()
        for axes in panels[: len(drawn) : wide]:
            axes.set_ylabel("adds")
        heading = title or f"Probability = {card.base:.3f} for everybody + what each column adds"
        figure.suptitle(heading, x=0.01, ha="left", fontsize=13)
    return captioned(figure, _caption(card, drawn))


def _matter(card: Scorecard) -> list[Steps]:
    """The columns that can add something worth a look, the most first."""
    ranked = sorted(card.columns, key=lambda steps: -steps.highest)
    return [steps for steps in ranked if steps.highest > max(1e-9, HARDLY * ranked[0].highest)]


def _heading(axes: Any, steps: Steps) -> None:
    name = steps.column if len(steps.column) <= TITLE else f"{steps.column[: TITLE - 1]}…"
    axes.set_title(name, fontweight="bold")
    axes.set_title(f"up to {steps.highest:.2f}", loc="right", color=GREY, fontsize=11)
    axes.locator_params(axis="y", nbins=4)
    axes.grid(axis="x", visible=False)


def _numbers(axes: Any, steps: Steps) -> None:
    """A step function, a little beyond its first and last cut."""
    cuts = np.array([float(cut.value) for cut in steps.cuts])
    margin = 0.18 * (np.ptp(cuts) if len(cuts) > 1 and np.ptp(cuts) > 0 else 1.0)
    edges = np.concatenate([[cuts[0] - margin], cuts, [cuts[-1] + margin]])
    axes.stairs(steps.amounts, edges, fill=True, color=COLOURS[0], alpha=0.18)
    axes.stairs(steps.amounts, edges, baseline=None, color=COLOURS[0], linewidth=2.2)
    axes.set_xlim(edges[0], edges[-1])
    axes.locator_params(axis="x", nbins=4)
    whole = bool((cuts == np.round(cuts)).all())
    if whole:
        axes.xaxis.get_major_locator().set_params(integer=True)
    if np.abs(edges).max() >= 10_000:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}".replace("-", "−"))
    if steps.missing is not None:
        _missing(axes, steps, steps.missing)


def _missing(axes: Any, steps: Steps, amount: float) -> None:
    """What a missing value adds, named where the steps are furthest from it."""
    axes.axhline(amount, color=COLOURS[1], linestyle="--", linewidth=1.4)
    right = abs(steps.amounts[-1] - amount) > abs(steps.amounts[0] - amount)
    below = amount > 0.85 * axes.get_ylim()[1]
    axes.annotate(
        "missing", (0.98 if right else 0.02, amount), xycoords=("axes fraction", "data"), color=COLOURS[1],
        xytext=(0, -3 if below else 3), textcoords="offset points", fontsize=10,
        ha="right" if right else "left", va="top" if below else "bottom",
    )  # fmt: skip


def _levels(axes: Any, steps: Steps) -> None:
    """A bar for each level; where there are many, those that add most and those that add least."""
    bars = [*zip(steps.levels, steps.amounts.tolist(), strict=True)][:-1]  # "another" is nobody's level yet
    if steps.missing is not None:
        bars.append(("missing", steps.missing))
    bars.sort(key=lambda bar: -bar[1])
    if len(bars) > LEVELS:
        few = LEVELS // 2
        bars = [*bars[: LEVELS - few], ("…", 0.0), *bars[-few:]]
    for place, (level, amount) in enumerate(bars):
        colour = COLOURS[1] if level == "missing" else COLOURS[0]
        axes.bar(place, amount, color=colour, alpha=0.75, width=0.7)
        _level_name(axes, place, level, amount)
    axes.set_xticks([])
    axes.set_xlim(-0.6, max(len(bars), 3) - 0.4)


def _level_name(axes: Any, place: int, level: str, amount: float) -> None:
    """A level's name, upright: above its bar or inside a tall one, and no longer than the room there."""
    height = amount / axes.get_ylim()[1]
    tall = height > 0.5
    room = int((max(height, 1 - height) - 0.04) / LETTER)
    name = level if len(level) <= room else f"{level[: room - 1]}…"
    axes.annotate(
        name, (place, 0 if tall else amount), xytext=(0, 4), textcoords="offset points",
        rotation=0 if name == "…" else 90, ha="center", va="bottom", fontsize=10, color="white" if tall else "#222222",
    )  # fmt: skip


def _caption(card: Scorecard, drawn: Sequence[Steps]) -> str:
    if not drawn:
        return f"No column changes the probability: everybody gets {card.base:.3f}."
    most = joined([f"{steps.column} (up to {steps.highest:.2f})" for steps in drawn[:3]])
    shown = {steps.column for steps in drawn}
    others = [steps for steps in card.columns if steps.column not in shown and steps.highest > 0]
    rest = ""
    if others:
        together = sum(steps.highest for steps in others)
        rest = f" {plural(len(others), 'other column')} can add at most {together:.3f} together."
    return (
        f"Everybody gets {card.base:.3f}; each column adds what its panel shows at the person's value, and the sum is "
        f"the probability. Most comes from {most}.{rest}"
    )
