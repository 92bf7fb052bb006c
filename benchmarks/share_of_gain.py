"""How much of what any fair policy could gain the default learner gains, and whether its class or its learning binds.

    python benchmarks/share_of_gain.py [--data adult,compas] [--seeds 5] [--rounds 10000] [--cuts 24,48] [--people 2000]
                                       [--fit 400] [--model logistic | class]

As in ``likewise play``, a quarter of the people are fitted on (the suggested class), a quarter play, and half are not
used. With ``--fit``, so many are fitted on, and all others play: for small files. Everything is measured on the same
people of the play, 2,000 of them or as many as asked for, as a gain over the best constant:

    of any kind   the best fair policy of any kind under a model of the label that didn't see the person
    in class      the exact best fair policy of the class in hindsight
    default       the average policy of the play; "no T" without the horizon

A share divides by the first one's gain. Few people overstate that gain: the fewer they are, the fewer are near each
other, so fewer pairs bind. It rests on the model of the label: the library's, a logistic regression, or with ``--model
class`` that of the suggested class, its mean with boosted trees. The last column takes labels instead: those of the
same people in the first row, and those of the whole play in the others. In the play people are only compared within a
round, so a share can exceed 1.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, NamedTuple

import numpy as np

import likewise as lw
from likewise.classes import recipe
from likewise.classes.reads import Reads
from likewise.classes.scores import one_thread
from likewise.datasets import SHARES, split
from likewise.experiments.runs import classes
from likewise.experiments.runs.setup import parted

K, ALPHA = 6, 0.1
ANY, IN_CLASS = "of any kind", "in class"


class Row(NamedTuple):
    """What a policy gains over the best constant per person, by the model of the label and by labels; violations."""

    gain: float
    by_label: float
    violations: float = 0.0
    late: float = 0.0


def learners(F: Any, T: int, ones: float) -> dict[str, lw.AdaHedge]:
    """The default of a run with the horizon and without, and release 1's on the same class."""
    common: dict[str, Any] = {"k": K, "alpha": ALPHA}
    return {
        "default": lw.AdaHedge(F, T=T, **common).leaning(ones),
        "default, no T": lw.AdaHedge(F, **common).leaning(ones),
        "release 1": lw.AdaHedge(F, T=T, penalty="growing", **common),
    }


def gain(probabilities: Any, likely: Any) -> float:
    """Of a policy over the better constant, where labels have these probabilities."""
    error = np.mean(probabilities * (1 - likely) + (1 - probabilities) * likely)
    return float(min(likely.mean(), 1 - likely.mean()) - error)


def fitted_and_playing(name: str, seed: int, fit: int | None) -> tuple[lw.datasets.Dataset, Any, Any]:
    """The people, and the rows of those that are fitted on and of those that play."""
    data = lw.datasets.load(name)
    if fit is not None:
        return data, *split(data, fit, seed)
    data, parts = parted(data, SHARES, seed, K)
    return data, parts.fit, parts.play


def by_the_class(X: Any, y: Any, seed: int) -> Any:
    """For each person the probability of the label 1 by the suggested class's model, which didn't see them."""
    reads, names = Reads(tuple(range(X.shape[1]))), tuple(map(str, range(X.shape[1])))
    with one_thread():
        _, likely = recipe.all_columns(recipe.Sample(X, y, reads, None, names, seed), lambda fits: [f() for f in fits])
    return likely


MODELS = {"logistic": lambda X, y, seed: lw.hindsight.cross_fitted(X, y, seed=seed), "class": by_the_class}


def measured(
    name: str, seed: int, T: int, cuts: int, count: int, fit: int | None, model: str
) -> tuple[int, dict[str, Row]]:
    """The size of the class, and everybody's row."""
    data, fitted, who = fitted_and_playing(name, seed, fit)
    built = classes.build("suggested", data, fitted, cuts=cuts, bins=1, features=(), seed=seed)
    F = built.hypotheses
    X, y, view = built.X[who], data.y[who], data.view[who]
    people = lw.IID(X, y, k=K, view=view, order="passes").encoded(F.encode)
    some = np.random.default_rng(seed).permutation(len(who))[:count]
    likely = MODELS[model](data.features[who], y, seed)[some]

    best = lw.hindsight.best_of_any(view[some], likely, data.metric, ALPHA)
    rows = {ANY: Row(gain(best.probabilities, likely), gain(best.probabilities, y[some]))}
    for learner_name, learner in learners(F, T, float(data.y[fitted].mean())).items():
        t = lw.play(learner, people, lw.MetricAuditor(data.metric, ALPHA), T, seed=seed)
        constant, decided = t.constant_errors[-1], len(t.y)
        if IN_CLASS not in rows:  # the same people come, whoever plays
            fair = lw.best_in_hindsight(t, data.metric, ALPHA)
            rows[IN_CLASS] = Row(gain(fair.policy.probability(X[some]), likely), (constant - fair.error) / decided)
        by_label, late = (constant - t.errors.sum()) / decided, float(t.violations[3 * T // 4 :].sum())
        expected = gain(t.average_policy.probability(X[some]), likely)
        rows[learner_name] = Row(expected, by_label, float(t.violations.sum()), late)
    return int(F.size), rows


def report(title: str, plays: list[tuple[int, dict[str, Row]]]) -> None:
    """Means over seeds, and every seed's share."""
    say(f"{title}: N = {np.mean([size for size, _ in plays]):,.0f}")
    possible = np.array([rows[ANY].gain for _, rows in plays])
    for who in plays[0][1]:
        table = np.array([rows[who] for _, rows in plays])
        shares, by_label = table[:, 0] / possible, table[:, 1] / possible
        each = " ".join(f"{share:.2f}" for share in shares)
        violations, late = table[:, 2:].mean(axis=0)
        say(
            f"  {who:14} share {shares.mean():.3f} ({each})  gain {table[:, 0].mean():.4f}  "
            f"violations {violations:6.1f}, late {late:5.1f}  share by labels {by_label.mean():.3f}"
        )


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
    options.add_argument("--people", type=int, default=2000, help="at most so many people of the play are measured on")
    options.add_argument("--cuts", default="24", help="cut-offs on each score, one table each")
    options.add_argument("--fit", type=int, help="fit on so many people, and let all others play")
    options.add_argument("--model", choices=list(MODELS), default="logistic", help="of the label")
    asked = options.parse_args()
    for name in asked.data.split(","):
        for cuts in map(int, asked.cuts.split(",")):
            rest = (asked.rounds, cuts, asked.people, asked.fit, asked.model)
            plays = [measured(name, seed, *rest) for seed in range(asked.seeds)]
            words = f"{asked.seeds} seeds, {asked.rounds:,} rounds, {cuts} cuts, at most {asked.people:,} people"
            report(f"{name}, {words}", plays)


if __name__ == "__main__":
    main()
