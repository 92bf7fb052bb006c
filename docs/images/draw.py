"""Draw the pictures of the documentation again, beside this file: ``make pictures``.

One play of the demo (Adult, or made-up people where Adult can't be found) gives most of them, and the README's table,
which is printed. The scorecard needs cut-offs on columns: German credit. ``reviewers`` is experiment 9 of ``likewise
reproduce`` with one seed, ``accepted`` and ``lots`` are from experiment 11.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import likewise as lw
from likewise import datasets, figures
from likewise.datasets import Dataset
from likewise.drawing import COLOURS, GREY, canvas
from likewise.experiments import demo
from likewise.experiments.reproduce import accepted, no_metric, one_lot, one_lot_drawn
from likewise.experiments.reproduce.work import Workers
from likewise.experiments.runs import classes
from likewise.scoreboard import Scoreboard
from likewise.scoring import FinishedPolicy

FOLDER = Path(__file__).parent
PLAIN = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
"""Behind numbers that a line would cross."""


def scorecard(data: Dataset) -> Figure:
    """The average policy of 2,000 rounds with cut-offs on the columns of a file.

    The learner is release 1's: the default starts fair, and on these columns it hardly leaves one answer for everybody.
    """
    F = classes.thresholds(data.features, data.encoder, cuts=8)
    people = lw.IID(data.features, data.y, k=6, view=data.view)
    t = lw.play(lw.AdaHedge(F, k=6, T=2000, alpha=0.1, penalty="growing"), people, lw.MetricAuditor(data.distance, 0.1))
    return figures.scorecard(FinishedPolicy.from_transcript(t, data.encoder))


def main() -> None:
    """Play the demo's learners once and save one picture for each concept."""
    data, _ = demo.data_or_synthetic()
    setting = demo.prepare(data)
    plays = demo.run(setting)
    ours, learner = plays["AdaHedge (default)"], setting.learners()["AdaHedge (default)"]
    frontier = lw.frontier(ours, data.distance, alphas=[0.0, 0.05, 0.1, 0.2, 0.4, 0.8])
    drawn = {
        "learning": figures.learning_curves(plays, title=f"{data.name}: three learners, the same people and auditor"),
        "curves": figures.violations_and_regret(ours, learner),
        "round": figures.one_round(ours),
        "helped": figures.did_reports_help(ours, learner, distance=data.distance),
        "plane": figures.plane(plays, figures.frontier_points(frontier, ours, data.distance)),
        "certificate": figures.certificate_curve(lw.certify(ours)),
        "scorecard": scorecard(datasets.german()),
    }
    drawn |= {"reviewers": reviewers(), "accepted": accepted_only(), "lots": lots(setting), "lottery": lottery()}
    _, board, _ = demo.judged(setting, plays)
    drawn["scoreboard"] = scoreboard(board, f"{data.name}, {board.people:,} people who took no part in learning")
    for name, figure in drawn.items():
        figures.save(figure, FOLDER / f"{name}.png")
    print(f"{setting.split}.\n\n{board.markdown()}")


def scoreboard(board: Scoreboard, title: str) -> Figure:
    """What is deployed, between one answer for everybody and the best that is possible: errors, and unfair pairs."""
    rows = [row for row in reversed(board.rows) if row.expected_error is not None and row.unfair is not None]
    with canvas(11, 0.5 * len(rows) + 1.6) as figure:
        errors, pairs = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        colours = [COLOURS[2] if row.bold else "#9ec9e2" if row.exact else "#bbbbbb" for row in rows]
        names = [row.name + (" (deployed)" if row.name == "this policy" else "") for row in rows]
        for ax, values, digits in (
            (errors, [row.expected_error or 0.0 for row in rows], "{:.3f}"),
            (pairs, [100 * (row.unfair or 0.0) for row in rows], "{:.2f} %"),
        ):
            ax.barh(names, values, color=colours, height=0.66)
            for place, value in enumerate(values):
                ax.text(value, place, f" {digits.format(value)}", va="center", bbox=PLAIN, zorder=5)
            ax.set_xlim(0, 1.25 * max(values))
            ax.grid(axis="y", visible=False)
        for row, words in ((board.rows[0], "one answer"), (board.rows[-1], "the limit")):
            errors.axvline(
                row.expected_error or 0.0, color=COLOURS[1] if row.exact else GREY, linestyle="--", linewidth=1.4
            )
            errors.text(
                row.expected_error or 0.0, len(rows) - 0.42, words, ha="left" if words == "one answer" else "right"
            )
        errors.set(xlabel="expected error per person")
        pairs.set(xlabel="pairs treated unfairly")
        figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    return figure


def reviewers() -> Figure:
    """What becomes of each method when the reviewer is no metric."""
    size = no_metric.Size(T=2000, seeds=1)
    name, played, _ = no_metric.measure(size, Workers())
    return no_metric.picture(played, size, name)


def accepted_only() -> Figure:
    """Who sees all outcomes, who ignores the unseen ones, and who estimates them."""
    kinds = (accepted.FULL, accepted.NAIVE, accepted.RUNNING)
    seeds, workers = range(20), Workers()
    traps = workers.map(accepted.trapped, [(g, kind, 2000, s) for g in accepted.TRAPS for kind in kinds for s in seeds])
    calls = [(one_lot.BAD_FIRST, kind, 500, seed) for kind in kinds for seed in seeds]
    return one_lot_drawn.errors_drawn(traps, workers.map(accepted.bad_first, calls), (kinds,)).figure


def lots(setting: demo.Setting) -> Figure:
    """One lot beside own lots, on the demo's people."""
    calls = [(lot, setting, seed) for seed in range(5) for lot in accepted.LOTS]
    return one_lot_drawn.lots_drawn(Workers().map(accepted.desk, calls)).figure


def lottery() -> Figure:
    """The same six people with one lot, and with a lot for each: who gets a yes."""
    people, own = (0.9, 0.75, 0.65, 0.5, 0.3, 0.1), (0.4, 0.83, 0.2, 0.7, 0.15, 0.5)
    with canvas(11, 3.6) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, drawn, title in zip(axes, ((0.57,) * 6, own), ("One lot for the round", "A lot for each"), strict=True):
            for place, (probability, lot) in enumerate(zip(people, drawn, strict=True)):
                yes = lot < probability
                ax.bar(place, probability, 0.62, color=COLOURS[2] if yes else "#cccccc", edgecolor="white")
                ax.text(
                    place, probability + 0.03, "yes" if yes else "no", ha="center", fontweight="bold" if yes else None
                )
                ax.plot([place - 0.42, place + 0.42], [lot, lot], color=COLOURS[1], linewidth=2.4,
                        label="lot" if place == 0 else None)  # fmt: skip
            ax.set_xticks(range(6), [f"{probability:g}" for probability in people])
            ax.set(title=title, xlabel="six people and their probabilities", ylim=(0, 1.08))
        axes[0].axhline(0.57, color=COLOURS[1], linewidth=1, linestyle=":")
        axes[0].legend(loc="upper right")
    return figure


if __name__ == "__main__":
    main()
