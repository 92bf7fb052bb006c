"""How much of what any fair policy could gain the default learner gains, and whether its class or its learning binds.

    python benchmarks/share_of_gain.py [--data adult,compas] [--seeds 5] [--rounds 10000] [--cuts 24,48]

As in ``likewise play``, a quarter of the people are fitted on (the suggested class), a quarter play, and half are held
out. The gain is that over the best constant, per person:

    limit     the best fair policy of any kind, on up to 2,000 people held out, under a model of the label
    in class  the exact best fair policy of the class, on the people of the play, in hindsight
    default   what the learner made of it; "no T" without the horizon

A share divides by the limit. It can exceed 1, as a play only compares people of one round, and the limit any two.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import likewise as lw
from likewise.datasets import SHARES
from likewise.experiments.runs import classes
from likewise.experiments.runs.setup import parted

K, ALPHA, LIMIT_ON = 6, 0.1, 2000


def possible_gain(data: lw.datasets.Dataset, held_out: Any, seed: int) -> float:
    """What the best fair policy of any kind gains over a constant on people held out."""
    likely = lw.hindsight.cross_fitted(data.features[held_out], data.y[held_out], seed=seed)
    some = np.random.default_rng(seed).permutation(len(held_out))[:LIMIT_ON]
    best = lw.hindsight.best_of_any(data.view[held_out][some], likely[some], data.metric, ALPHA)
    return best.constant - best.error


def learners(F: Any, T: int) -> dict[str, lw.AdaHedge]:
    """The default with the horizon and without, and release 1's on the same class."""
    common: dict[str, Any] = {"k": K, "alpha": ALPHA}
    return {
        "default": lw.AdaHedge(F, T=T, **common),
        "default, no T": lw.AdaHedge(F, **common),
        "release 1": lw.AdaHedge(F, T=T, penalty="growing", **common),
    }


def measured(name: str, seed: int, T: int, cuts: int | None) -> dict[str, tuple[float, ...]]:
    """Share of the possible gain, error, violations and those of the last quarter, for everybody in the table."""
    data, split = parted(lw.datasets.load(name), SHARES, seed, K)
    built = classes.build("suggested", data, split.fit, cuts=cuts, bins=1, features=(), seed=seed)
    F, who = built.hypotheses, split.play
    people = lw.IID(built.X[who], data.y[who], k=K, view=data.view[who], order="passes").encoded(F.encode)
    limit, results = possible_gain(data, split.held_out, seed), {}
    for learner_name, learner in learners(F, T).items():
        t = lw.play(learner, people, lw.MetricAuditor(data.metric, ALPHA), T, seed=seed)
        constant, late = t.constant_errors[-1], float(t.violations[3 * T // 4 :].sum())
        if not results:
            best = lw.best_in_hindsight(t, data.metric, ALPHA).error
            results["in class"] = ((constant - best) / len(t.y) / limit, best / len(t.y), 0.0, 0.0)
        share = (constant - t.errors.sum()) / len(t.y) / limit
        results[learner_name] = (float(share), t.error_per_person, float(t.violations.sum()), late)
    return results | {"limit": (1.0, limit, 0.0, 0.0), "size": (0.0, float(F.size), 0.0, 0.0)}


def report(title: str, plays: list[dict[str, tuple[float, ...]]]) -> None:
    """Means over seeds, and every seed's share."""
    limit, size = (np.mean([play[part][1] for play in plays]) for part in ("limit", "size"))
    say(f"{title}: N = {size:,.0f}, possible gain {limit:.4f}")
    for who in ("in class", *learners(lw.Thresholds([[0.5]]), 1)):
        table = np.array([play[who] for play in plays])
        share, error, violations, late = table.mean(axis=0)
        each = " ".join(f"{value:.2f}" for value in table[:, 0])
        say(f"  {who:14} share {share:.3f} ({each})  error {error:.4f}  violations {violations:6.1f}, late {late:5.1f}")


def say(line: str) -> None:
    """A line, at once: plays take minutes."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """A table for each data set and number of cuts."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", default="adult,compas")
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--rounds", type=int, default=10_000)
    options.add_argument("--cuts", default="24", help="cut-offs on each score, one table each")
    asked = options.parse_args()
    for name in asked.data.split(","):
        for cuts in map(int, asked.cuts.split(",")):
            plays = [measured(name, seed, asked.rounds, cuts) for seed in range(asked.seeds)]
            report(f"{name}, {asked.seeds} seeds, {asked.rounds:,} rounds, {cuts} cuts", plays)


if __name__ == "__main__":
    main()
