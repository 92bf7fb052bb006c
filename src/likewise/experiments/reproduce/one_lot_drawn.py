"""The pictures of experiment 11, each with a caption from its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise.drawing import COLOURS, canvas
from likewise.experiments.reproduce.accepted import (
    ALPHA,
    BAD_UNTIL,
    DEFAULT,
    FULL,
    HALF,
    IPS,
    KINDS,
    LOTS,
    NAIVE,
    RUNNING,
    SAFE,
    THETA,
    TILTED,
    TRAPS,
    Desk,
    Grown,
    Real,
    Trapped,
    having,
    mean,
    predicted,
    slope,
)
from likewise.experiments.reproduce.measure import MARKERS, STYLES, outside_legend
from likewise.experiments.reproduce.result import Picture

ROWS = ((FULL, NAIVE, RUNNING), (FULL, IPS, HALF, SAFE))
"""All six bands in one row would hide each other."""
HUES = {kind: COLOURS[i] for kind, i in zip(KINDS, (0, 1, 4, 3, 2, 5), strict=True)}


def errors_drawn(traps: list[Trapped], bad: list[Trapped], rows: Sequence[Sequence[str]] = ROWS) -> Picture:
    """The error of some ways to learn, round by round; a row of panels for each group of them."""
    shortest, T = min(p.T for p in bad), traps[0].T
    plays = len(having(bad, kind=FULL, T=shortest))
    with canvas(12, 1.4 + 3.7 * len(rows)) as figure:
        grid = figure.subplots(len(rows), 3, sharex="col", sharey="col", squeeze=False)
        for axes, kinds in zip(grid, rows, strict=True):
            for kind in kinds:
                _curves(axes, kind, having(traps, kind=kind), having(bad, kind=kind, T=shortest))
            axes[2].axvline(BAD_UNTIL * shortest, color="#555555", linewidth=1, linestyle=":")
        for ax, title in zip(grid[0], (*TRAPS, "everybody bad at first"), strict=True):
            ax.set(title=f"{title.capitalize()}: error {'now' if title not in TRAPS else 'so far'}")
        for ax in grid[-1]:
            ax.set(xlabel="round")
        for ax in grid[0][:2]:
            ax.set(xscale="log", xlim=(10, T))
        labelled = {name: line for ax in grid[:, 0] for line, name in zip(*ax.get_legend_handles_labels(), strict=True)}
        figure.legend(labelled.values(), labelled.keys(), loc="outside lower center", ncols=3)
    means = {
        (game, kind): mean(p.error for p in having(traps, game=game, kind=kind)) for game in TRAPS for kind in ROWS[0]
    }
    first, second = TRAPS
    stuck = {kind: sum(p.stuck for p in having(bad, kind=kind, T=shortest)) for kind in (NAIVE, RUNNING)}
    return Picture("errors", figure, (
        f"Error per person; lines are means over {plays} plays, bands reach from the best to the worst. In the "
        f"first trap {means[first, NAIVE]:.3f} where unseen labels are ignored, {means[first, RUNNING]:.3f} with the "
        f"default, {means[first, FULL]:.3f} with all labels (T = {T:,}); in the second {means[second, NAIVE]:.3f}, "
        f"{means[second, RUNNING]:.3f} and {means[second, FULL]:.3f}. Right, everybody is bad until the dotted line: "
        f"of {plays} plays of {shortest:,} rounds {stuck[NAIVE]} stay stuck on refusing where unseen labels are "
        f"ignored, {stuck[RUNNING]} with the default."
    ))  # fmt: skip


def _curves(axes: Any, kind: str, traps: list[Trapped], bad: list[Trapped]) -> None:
    """One way to learn, in the three panels of a row."""
    for ax, game in zip(axes, TRAPS, strict=False):
        _band(ax, kind, [_so_far(p.errors) for p in having(traps, game=game)])
    window = max(1, bad[0].T // 25)
    blocks = [p.errors.reshape(-1, window).mean(axis=1) for p in bad]
    _band(axes[2], kind, blocks, np.arange(len(blocks[0])) * window + window / 2)


def _so_far(errors: Any) -> Any:
    return np.cumsum(errors) / np.arange(1, len(errors) + 1)


def _band(ax: Any, kind: str, curves: list[Any], x: Any = None) -> None:
    i, table = KINDS.index(kind), np.array(curves)
    x = np.arange(1, table.shape[1] + 1) if x is None else x
    ax.fill_between(x, table.min(axis=0), table.max(axis=0), color=HUES[kind], alpha=0.12, linewidth=0)
    ax.plot(x, table.mean(axis=0), color=HUES[kind], linestyle=STYLES[i], linewidth=1.8, label=kind)


def real_drawn(plays: list[Real]) -> Picture:
    """Errors and violations with real people."""
    names = list(dict.fromkeys(p.data for p in plays))
    sentences = []
    with canvas(5 * max(2, len(names)), 4.8) as figure:
        axes = np.atleast_1d(figure.subplots(1, len(names)))
        for ax, data in zip(axes, names, strict=True):
            best = mean(p.best for p in having(plays, data=data, kind=FULL))
            ax.axhline(best, color="#222222", linewidth=1.2, linestyle="--", label="best fair policy, in hindsight")
            for i, kind in enumerate(KINDS):
                same = having(plays, data=data, kind=kind)
                ax.scatter([p.violations for p in same], [p.error for p in same], color=HUES[kind], marker=MARKERS[i],
                           s=42, label=kind)  # fmt: skip
            ax.set(title=f"{data}: error per person", xlabel="violations", xlim=(0, None))
            means = [mean(p.error for p in having(plays, data=data, kind=kind)) for kind in (FULL, RUNNING, NAIVE)]
            sentences.append("{}: {:.4f}, {:.4f} and {:.4f}, best fair {:.4f}".format(data, *means, best))
        outside_legend(figure, axes[0])
    return Picture("real", figure, (
        f"A mark is a play. Mean error with all labels, with the default that sees outcomes of the accepted only, and "
        f"where unseen ones are ignored: {'; '.join(sentences)}."
    ))  # fmt: skip


def logarithm_drawn(growth: list[Grown]) -> Picture:
    """Violations against ln T."""
    by_rule = {g.rule: g for g in growth}
    tilted, default = by_rule[TILTED], by_rule[DEFAULT]
    with canvas(8, 4.4) as figure:
        ax = figure.subplots()
        for i, g in enumerate((tilted, default)):
            ax.plot(g.T, g.violations, color=COLOURS[i], marker=MARKERS[i], linestyle=STYLES[i], label=g.rule)
        line = [tilted.violations[-1] + predicted() * math.log(T / tilted.T[-1]) for T in tilted.T]
        ax.plot(tilted.T, line, color="#333333", linewidth=1, label="predicted slope, 2 ln N/c²")
        ax.set(xscale="log", xlabel="rounds T", title="Two people, decisions only: violations", ylim=(0, None))
        outside_legend(figure, ax)
    return Picture("logarithm", figure, (
        f"An auditor who sees decisions, and outcomes of the accepted only: tilted penalties have {slope(tilted):.1f} "
        f"violations per ln T, beside a thin line of the predicted slope, {predicted():.1f}; the default has "
        f"{default.violations[-1]} in {default.T[-1]:,} rounds where the tilted rule has {tilted.violations[-1]}. "
        f"Violating rounds, whether the lot brought them to light or not: {tilted.hidden[-1]} and "
        f"{default.hidden[-1]}."
    ))  # fmt: skip


SORTS = {
    "acceptable": "alike, could\nbe accepted",
    "within": "alike, gap within\nthe tolerance",
    "unlike": "not alike:\nnobody minds",
    "inverted": "lower probability\ngot the yes",
}
"""Pairs decided differently: the first three are all of them, the last may be any."""


def lots_drawn(desks: list[Desk]) -> Picture:
    """What an auditor of decisions has on the desk, and how many are accepted in a round."""
    rounds = sum(desks[0].accepted)
    with canvas(12, 4.6) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
        for place, lot in enumerate(LOTS):
            same, shift = having(desks, lot=lot), 0.4 * place - 0.2
            style = {"color": COLOURS[(2, 4)[place]], "hatch": ("", "//")[place], "edgecolor": "white"}
            counts = [mean(getattr(d, name) for d in same) for name in SORTS]
            left.bar(np.arange(len(counts)) + shift, np.maximum(counts, 0.5), 0.4, label=LOTS[lot], **style)
            for x, count in enumerate(counts):
                left.text(x + shift, max(count, 0.5) * 1.15, f"{count:,.0f}", ha="center", fontsize=10)
            shares = np.mean([d.accepted for d in same], axis=0) / rounds
            right.bar(np.arange(len(shares)) + shift, shares, 0.4, **style)
        left.set_xticks(range(len(SORTS)), list(SORTS.values()), fontsize=10)
        left.set(title=f"Pairs decided differently in {rounds:,} rounds", yscale="log", ylim=(0.5, 40_000))
        right.set(title="Share of rounds, by number of acceptances", xlabel="people accepted in a round")
        outside_legend(figure, left)
    one, own = (having(desks, lot=lot) for lot in LOTS)
    benign = [mean(d.benign[i] for d in one) for i in (0, 1)]
    return Picture("lots", figure, (
        f"An auditor who finds people within {THETA} alike, tolerance τ = {ALPHA + THETA:g}; means over {len(one)} "
        f"plays of {rounds:,} rounds with each lot. Given the probabilities of the plays with one lot, "
        f"{benign[0]:,.0f} pairs are decided differently without a reason to complain, on average; own lots would "
        f"make that {benign[1]:,.0f}. With own lots the person of lower probability got the yes in "
        f"{mean(d.inverted for d in own):,.0f} pairs, with one lot in {mean(d.inverted for d in one):,.0f}. Right, "
        f"the price: the number of acceptances in a round varies more, {mean(d.variance for d in one):.2f} to "
        f"{mean(d.variance for d in own):.2f} (variance, given the probabilities)."
    ))  # fmt: skip
