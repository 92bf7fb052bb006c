"""Draw the pictures of the documentation anew, beside this file: ``make pictures``.

One play of the demo (Adult, or made-up people where Adult can't be found) gives most of them, and the README's table,
which is printed; ``reviewers`` is experiment 9 of ``likewise reproduce`` with one seed.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import likewise as lw
from likewise import figures
from likewise.experiments import demo
from likewise.experiments.reproduce import no_metric
from likewise.experiments.reproduce.work import Workers

FOLDER = Path(__file__).parent


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
        "helped": figures.did_reports_help(ours, learner),
        "plane": figures.plane(plays, figures.frontier_points(frontier, ours, data.distance)),
        "certificate": figures.certificate_curve(lw.certify(ours)),
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
