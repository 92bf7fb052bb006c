"""Draw the pictures of the documentation again, beside this file: ``make pictures``.

One play of the demo (Adult, or made-up people where Adult can't be found) gives most of them, and the README's table,
which is printed. The scorecard needs cut-offs on columns: German credit. ``reviewers`` is experiment 9 of ``likewise
reproduce`` with one seed.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import likewise as lw
from likewise import datasets, figures
from likewise.datasets import Dataset
from likewise.experiments import demo
from likewise.experiments.reproduce import no_metric
from likewise.experiments.reproduce.work import Workers
from likewise.experiments.runs import classes
from likewise.scoring import FinishedPolicy

FOLDER = Path(__file__).parent


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
    for name, figure in (drawn | {"reviewers": reviewers()}).items():
        figures.save(figure, FOLDER / f"{name}.png")
    _, board = demo.judged(setting, plays)
    print(f"{setting.split}.\n\n{board.markdown()}")


def reviewers() -> Figure:
    """What becomes of each method when the reviewer is no metric."""
    size = no_metric.Size(T=2000, seeds=1)
    name, played, _ = no_metric.measure(size, Workers())
    return no_metric.picture(played, size, name)


if __name__ == "__main__":
    main()
