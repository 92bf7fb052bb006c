"""How well the default learner plays four data sets, beside release 1's: errors, violations, and the best constant.

    python benchmarks/learning.py [seeds] [rounds] [suggested | models] [first seed]

Five seeds of Adult, COMPAS, German and mortgage, each with its own warm-up split for the class, T = 2,000 rounds of six
people, α = .1, the library's distances. A play's people are drawn with replacement from the rest. The class is the
suggested one, as in ``likewise play``, or cut-offs on the scores of six models.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

import likewise as lw
from likewise.datasets import split
from likewise.experiments.runs import classes

NAMES = ("adult", "compas", "german", "mortgage")
K, ALPHA = 6, 0.1


def learners(F: lw.Thresholds, T: int, ones: float) -> dict[str, lw.AdaHedge]:
    """Release 1's default and today's, with the horizon and without, and what can be chosen beside it."""
    default = lw.AdaHedge(F, k=K, alpha=ALPHA, T=T)
    return {
        "release 1": lw.AdaHedge(F, k=K, alpha=ALPHA, T=T, penalty="growing"),
        "release 1, no T": lw.AdaHedge(F, k=K, alpha=ALPHA, penalty="growing"),
        "default": default,
        "default, no T": lw.AdaHedge(F, k=K, alpha=ALPHA),
        "default, leaning": default.leaning(ones),
        "default, both ways": replace(default, penalty=replace(default.rule, both_ways=True)),
        "nothing forgotten": lw.AdaHedge(F, k=K, alpha=ALPHA, T=T, forget=0),
    }


def measured(name: str, seed: int, T: int, kind: str) -> dict[str, tuple[float, ...]]:
    """For each learner: error per person, violations, those of the last quarter, and error above the best constant."""
    data = lw.datasets.load(name)
    warm_up, rest = split(data, min(2000, len(data) // 3), seed)
    cuts = 12 if kind == "models" else None
    built = classes.build(kind, data, warm_up, cuts=cuts, bins=1, features=(), seed=seed)
    F = built.hypotheses
    people = lw.IID(built.X[rest], data.y[rest], k=K, view=data.view[rest]).encoded(F.encode)
    auditor, results = lw.MetricAuditor(data.metric, ALPHA), {}
    for who, learner in learners(F, T, float(data.y[warm_up].mean())).items():
        t = lw.play(learner, people, auditor, T, seed=seed)
        above = (t.errors.sum() - t.constant_errors[-1]) / len(t.y)
        late = t.violations[3 * T // 4 :].sum()
        results[who] = (t.error_per_person, float(t.violations.sum()), float(late), float(above))
    return results


def main(seeds: int = 5, T: int = 2000, kind: str = "suggested", first: int = 0) -> None:
    """Print a table per data set and one over all."""
    everything: dict[str, list[tuple[float, ...]]] = {}
    for name in NAMES:
        plays = [measured(name, seed, T, kind) for seed in range(first, first + seeds)]
        say(f"{name}: T = {T}, {seeds} seeds, class {kind}")
        for who in plays[0]:
            table = np.array([play[who] for play in plays])
            everything.setdefault(who, []).extend(map(tuple, table))
            show(who, table)
    say("all")
    for who, rows in everything.items():
        show(who, np.array(rows))


def show(who: str, table: np.ndarray) -> None:
    """One line: means over plays, and the worst distance from the best constant."""
    error, violations, late, above = table.mean(axis=0)
    worst = table[:, 3].max()
    say(
        f"  {who:18} error {error:.4f}  violations {violations:6.1f}  last quarter {late:5.1f}  "
        f"above the best constant {above:+.4f}, at worst {worst:+.4f}"
    )


def say(line: str) -> None:
    """A line, at once: plays take minutes."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*(int(word) if word.isdecimal() else word for word in sys.argv[1:]))
