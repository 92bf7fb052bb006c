"""Draw the pictures of the documentation anew, beside this file: ``make pictures``.

One play of the demo (Adult, or made-up people where Adult can't be found) gives them all, and the README's table, which
is printed.
"""

from __future__ import annotations

from pathlib import Path

import likewise as lw
from likewise import figures
from likewise.experiments import demo

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
        "helped": figures.did_reports_help(ours, learner, distance=data.distance),
        "plane": figures.plane(plays, figures.frontier_points(frontier, ours, data.distance)),
        "certificate": figures.certificate_curve(lw.certify(ours)),
    }
    for name, figure in drawn.items():
        figures.save(figure, FOLDER / f"{name}.png")
    _, board = demo.judged(setting, plays)
    print(f"{setting.split}.\n\n{board.markdown()}")


if __name__ == "__main__":
    main()
