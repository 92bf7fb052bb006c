"""Experiment 10: noise and drift. What false reports and changes do to the default learner, and what helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise import datasets
from likewise.drawing import COLOURS, GREY, LINES, canvas
from likewise.errors import DataUnavailable
from likewise.experiments.reproduce.changes import (
    ALPHA,
    CHANGES,
    DEFAULT,
    FIRST,
    LAST,
    LEARNERS,
    LOOSER,
    NOTHING,
    K,
    People,
    Played,
    one_play,
)
from likewise.experiments.reproduce.result import Experiment, Picture, Table, check
from likewise.experiments.reproduce.work import Workers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Noise and drift"
DATA = ("adult", "compas", "german", "mortgage")
STYLES = dict(zip(LEARNERS, zip(COLOURS, LINES, strict=False), strict=False))


@dataclass(frozen=True)
class Size:
    """Rounds, seeds and data sets; ``small`` people are made up, so that it runs in seconds."""

    T: int
    seeds: int
    data: tuple[str, ...] = DATA
    small: bool = False


SIZES = {
    "tiny": Size(60, 1, ("synthetic",), small=True),
    "quick": Size(600, 1, ("compas", "german")),
    "full": Size(2000, 5),
}


def run(size: Size, workers: Workers) -> Experiment:
    """Every learner through every change."""
    crowds, missing = crowds_of(size, workers)
    calls = [(people, name, change, size.T, seed) for people in crowds for change in CHANGES for name in LEARNERS
             for seed in range(size.seeds)]  # fmt: skip
    played = workers.map(one_play, calls)
    names = ", ".join(people.name for people in crowds)
    seeds = f"{size.seeds} seeds each" if size.seeds > 1 else "one seed each"
    return Experiment(
        number=10,
        title=TITLE,
        question=(
            f"What do false reports, labels that change and reviewers who become lenient do to the default learner? "
            f"{names}: {size.T:,} rounds of {K} people at α = {ALPHA}, {seeds}, with the suggested class. {missing}"
        ),
        pictures=[
            Picture("changes", bars(played, size), _bars_caption(played)),
            Picture("flip", flip(played), _flip_caption(played)),
        ],
        tables=[_table(played, size)],
        checks=checks(played),
        notes=[
            "False reports come in this share of the rounds without a violation. “Any pair” is a random pair; where "
            "its gap is at most α, a learner that keeps reports ignores it. “The widest gap” is the pair furthest "
            "apart, if that is more than α. “Half of the people” are those above the median of the reviewer's first "
            f"column. A lenient reviewer finds two people {LOOSER:g} times as far apart as before. Violations count "
            "true ones only, by the distance of the day.",
        ],
    )


def crowds_of(size: Size, workers: Workers) -> tuple[list[People], str]:
    """The people of each data set with their class, and a sentence about those that could not be found."""
    loaded, missing = [], []
    for name in size.data:
        try:
            loaded.append(datasets.synthetic(600) if size.small else datasets.load(name))
        except DataUnavailable:
            missing.append(name)
    kind = "thresholds" if size.small else "suggested"
    crowds = workers.map(People.of, [(data, kind) for data in loaded or [datasets.synthetic(4000)]])
    return crowds, f"Not found, and left out: {', '.join(missing)}." if missing else ""


def checks(played: list[Played]) -> list[Any]:
    """What is proved whatever reviewers report and however labels change."""
    whole = [(p.behind, p.behind_at_most) for p in played if p.behind_at_most is not None]
    after = [(p.recovered, p.recovered_at_most) for p in played if p.recovered_at_most is not None]
    return [
        check("errors above the best constant ≤ the limit proved by the play itself", whole,
              "none: whatever is reported, and however labels change"),
        check("errors above the best constant of the rounds after the change ≤ the limit proved by the play itself",
              after, "none: a little of the first weights is mixed in every round (forget > 0)"),
    ]  # fmt: skip


def mean(played: list[Played], change: str, learner: str, measure: str) -> float:
    """The mean over data sets and seeds."""
    values = [_value(p, measure) for p in played if (p.change, p.learner) == (change, learner)]
    return float(np.mean(values))


def _value(p: Played, measure: str) -> float:
    return float(p.violations.sum()) if measure == "violations" else float(getattr(p, measure))


MEASURES = {
    "error": "error per person",
    "late_error": "error in the last quarter",
    "violations": "violations",
    "late_violations": "violations in the last quarter",
    "constant": "error of the best constant",
    "late_constant": "best constant in the last quarter",
}


def _table(played: list[Played], size: Size) -> Table:
    rows = [
        (change.words, learner, *(mean(played, key, learner, measure) for measure in MEASURES))
        for key, change in CHANGES.items()
        for learner in LEARNERS
    ]
    title = f"Means over data sets and seeds, {size.T:,} rounds"
    return Table("changes", title, ("what happens", "learner", *MEASURES.values()), rows)


FURTHEST = 0.08
"""Errors further above the best constant are cut off in the picture, and written beside the bar."""


def bars(played: list[Played], size: Size) -> Figure:
    """The error of the last quarter beside the best constant's, and the violations, for each change and learner."""
    with canvas(10, 8.4) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        places = np.arange(len(CHANGES))[::-1]
        for i, learner in enumerate(LEARNERS):
            style: dict[str, Any] = {"height": 0.18, "color": COLOURS[i]}
            where = places + 0.3 - 0.2 * i
            above = np.array([mean(played, key, learner, "late_above") for key in CHANGES])
            left.barh(where, np.minimum(above, FURTHEST), label=learner, **style)
            for place, value in zip(where, above, strict=True):
                if value > FURTHEST:
                    left.annotate(f"+{value:.2f}", (FURTHEST, place), (3, -4), textcoords="offset points", fontsize=9)
            right.barh(where, [1000 * mean(played, key, learner, "violations") / size.T for key in CHANGES], **style)
        left.axvline(0, color="#222222", linewidth=1.2)
        left.set_yticks(places, [change.words.replace(": ", ":\n") for change in CHANGES.values()])
        left.set(title="Error above the best constant,\nlast quarter", xlim=(None, FURTHEST * 1.25))
        right.set(title="Violations per 1,000 rounds")
        for ax in (left, right):
            ax.grid(axis="y", visible=False)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _bars_caption(played: list[Played]) -> str:
    def late(change: str, learner: str) -> str:
        return f"{mean(played, change, learner, 'late_error'):.3f}"

    return (
        f"After all labels flip, the default errs {late('flip', DEFAULT)} in the last quarter, without forgetting "
        f"{late('flip', NOTHING)}, release 1's default {late('flip', FIRST)}. With a fifth of false reports about the "
        f"widest gap the default errs {late('widest 20', DEFAULT)} (release 1: {late('widest 20', FIRST)}; best "
        f"constant {mean(played, 'widest 20', DEFAULT, 'late_constant'):.3f}). Under a reviewer who becomes lenient, "
        f"old reports go on binding: {late('lenient', DEFAULT)}, and {late('lenient', LAST)} if they last a quarter of "
        "the play."
    )


def flip(played: list[Played]) -> Figure:
    """The running error before and after all labels flip."""
    with canvas(10, 4.2) as figure:
        axes = figure.subplots()
        for learner, (colour, line) in STYLES.items():
            if learner == LAST:  # nothing of reports changes here
                continue
            errors = np.mean([p.errors for p in played if (p.change, p.learner) == ("flip", learner)], axis=0)
            window = max(1, len(errors) // 40)
            smooth = np.convolve(errors, np.full(window, 1 / window), mode="valid")
            axes.plot(np.arange(window, len(errors) + 1), smooth, color=colour, linestyle=line, label=learner)
        late = mean(played, "flip", DEFAULT, "late_constant")
        axes.hlines(
            late, len(errors) // 2, len(errors), color="#222222", linewidth=1.2, label="best constant afterwards"
        )
        axes.axvline(len(errors) // 2, color=GREY, linewidth=1.2)
        axes.annotate("labels flip", (len(errors) // 2, axes.get_ylim()[1]), (4, -12), textcoords="offset points")
        axes.set(xlabel="round", title="Error per person, over the last fortieth of the play")
        axes.legend(loc="center left")
    return figure


def _flip_caption(played: list[Played]) -> str:
    def rounds(learner: str) -> str:
        values = [back(p) for p in played if (p.change, p.learner) == ("flip", learner)]
        missed = sum(value is None for value in values)
        if missed:
            return f"not in {missed} of {len(values)} plays"
        return f"after {np.mean([value for value in values if value is not None]):,.0f} rounds on average"

    return (
        "All labels turn into the other at half of the play. How long until a fortieth of the play errs no more than "
        f"a coin: the default {rounds(DEFAULT)}, without forgetting {rounds(NOTHING)}, release 1's default "
        f"{rounds(FIRST)}."
    )


def back(p: Played) -> int | None:
    """Rounds after the flip until a fortieth of the play errs at most ½ a person; None if it never does."""
    after, window = p.errors[len(p.errors) // 2 :], max(1, len(p.errors) // 40)
    running = np.convolve(after, np.full(window, 1 / window), mode="valid")
    below = np.flatnonzero(running <= 0.5)
    return int(below[0]) + window if len(below) else None
