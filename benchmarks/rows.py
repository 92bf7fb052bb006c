"""The rows of the benchmark table: each a piece of work, beside something, with a ratio to reach."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import Row, Turns, in_turns, seconds, shown
from peers import (
    double_loop_fairness,
    ftpl_literal,
    ftpl_numpy,
    linprog_hindsight,
    river_logistic,
    sgd_batches,
    vowpal_wabbit,
)
from scipy.spatial.distance import cdist

import likewise as lw

K = 4
LOOP, COMPILED = ": readable loop, Python distance", ": compiled play"
PLAIN = {"AdaHedge" + COMPILED: 5.0}
"""The goal of one learner beside river, where it is not that of all."""


def population(n: int = 20_000, features: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Made-up people: the first feature earns the label, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(float)


def python_distance(view: np.ndarray) -> np.ndarray:
    """A distance of one's own."""
    return cdist(view, view, "cityblock")


def plays(quick: bool) -> list[Row]:
    """Whole plays beside online learners that people use today, in individuals per second."""
    X, y = population()
    T = 2000 if quick else 10_000
    F = lw.Thresholds.quantiles(X, cuts=50)
    people = lw.IID(X, y, k=K).encoded(F.encode)
    named, own = lw.MetricAuditor("cityblock", 0.1), lw.MetricAuditor(python_distance, 0.1)
    drawn = people.draws(0, 1, T).ravel()
    few = drawn[: 500 * K]  # a slice is enough of a peer that does a few thousand people a second
    peers = {
        "river LogisticRegression": (
            river_logistic(X[drawn], y[drawn]),
            len(drawn),
            {LOOP: 0.7, COMPILED: 2.0} | PLAIN,
        ),
        "Vowpal Wabbit, Python on text": (vowpal_wabbit(X[drawn], y[drawn]), len(drawn), {COMPILED: 2.0}),
        "scikit-learn SGD partial_fit": (sgd_batches(X[few], y[few], K), len(few), {}),
    }
    learners = {
        "AdaHedge": lw.AdaHedge(F, k=K, alpha=0.1, T=T, penalty="growing"),
        "ExponentialWeights": lw.ExponentialWeights(F, k=K, T=T),
    }
    sides = {peer: run for peer, (run, _, _) in peers.items()}
    for name, learner in learners.items():
        sides[name + LOOP] = lambda learner=learner: lw.play(learner, people, own, T, compiled=False)
        sides[name + COMPILED] = lambda learner=learner: lw.play(learner, people, named, T)
    turns = in_turns(5 if quick else 15, sides)
    rows = []
    for name, learner in learners.items():
        same = _same(*(lw.play(learner, people, named, T, compiled=c) for c in (True, False)))
        for how in (LOOP, COMPILED):
            for peer, (_, count, goals) in peers.items():
                rows.append(
                    _beside(turns, name, how, peer, len(drawn), count, goals.get(name + how, goals.get(how)), same)
                )
    return rows


def _same(one: lw.Transcript, other: lw.Transcript) -> bool:
    """Whether two transcripts are identical, to the last bit."""
    names = ("shown", "report_rounds", "pairs", "violates", "penalties")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def _beside(
    turns: Turns, name: str, how: str, peer: str, ours: int, theirs: int, goal: float | None, same: bool
) -> Row:
    ratio = turns.ratio(name + how, peer) * ours / theirs
    note = f"the readable loop's transcript, {'bit by bit' if same else 'NOT the same'}" if how == COMPILED else ""
    return Row(
        work=f"{name}, 1,002 thresholds, every pair audited{how}",
        beside=peer,
        ours=f"{ours / turns.median(name + how):,.0f} people/s",
        theirs=f"{theirs / turns.median(peer):,.0f} people/s",
        ratio=ratio,
        goal="—" if goal is None else f"≥ {goal:g} ×",
        reached=goal is None or (ratio >= goal and (same or how == LOOP)),
        note=note,
    )


def kept(quick: bool) -> list[Row]:
    """Rounds of the default learner once it keeps a hundred reports, beside release 1's, which keeps none."""
    X, y = population()
    F, rounds = lw.Thresholds.quantiles(X, cuts=50), 1000 if quick else 4000
    people, auditor = lw.IID(X, y, k=K).encoded(F.encode), lw.MetricAuditor("cityblock", 0.05, w=[0.05] * 10)
    learner = lw.AdaHedge(F, k=K, alpha=0.05, T=100_000)
    plain = lw.AdaHedge(F, k=K, alpha=0.05, T=100_000, penalty="growing")
    state = learner.init()
    while len(state.gaps) < 100:
        state = lw.play(learner, people, auditor, 500, state=state).state
    old = lw.play(plain, people, auditor, state.rounds).state
    drawn = people.draws(0, 1, rounds).ravel()
    sides = {
        "kept" + COMPILED: lambda: lw.play(learner, people, auditor, rounds, state=state),
        "kept" + LOOP: lambda: lw.play(learner, people, auditor, rounds, state=state, compiled=False),
        "plain": lambda: lw.play(plain, people, auditor, rounds, state=old),
        "river": river_logistic(X[drawn], y[drawn]),
    }
    turns = in_turns(5 if quick else 15, sides)
    speed = {name: f"{rounds * K / turns.median(name):,.0f} people/s" for name in sides}
    what = f"AdaHedge, 1,002 thresholds, {len(state.gaps)} reports kept"
    more = turns.ratio("plain", "kept" + COMPILED)
    rows = [
        Row(what + COMPILED, "release 1's default, compiled", speed["kept" + COMPILED], speed["plain"], more, "≤ 2 ×",
            more <= 2, "time per round beside time per round")
    ]  # fmt: skip
    for how, goal in ((COMPILED, 2.0), (": readable loop", 0.5)):
        side = "kept" + (COMPILED if how == COMPILED else LOOP)
        ratio = turns.ratio(side, "river")
        rows.append(
            Row(what + how, "river LogisticRegression", speed[side], speed["river"], ratio, f"≥ {goal:g} ×",
                ratio >= goal)
        )  # fmt: skip
    return rows


def one_sided(quick: bool) -> list[Row]:
    """Labels of accepted people only, beside all labels: lots, estimates and a floor in every round."""
    X, y = population()
    F = lw.Thresholds.quantiles(X, cuts=50)
    rounds = 2_000 if quick else 8_000
    people, auditor = lw.IID(X, y, k=K).encoded(F.encode), lw.MetricAuditor("cityblock", 0.1, w=[0.05] * 10)
    rows = []
    for name, penalty in (("keeps reports", None), ("release 1's default", "growing")):
        learner = lw.AdaHedge(F, k=K, alpha=0.1, T=rounds, penalty=penalty)
        sided = lw.OneSided(learner)
        for how, compiled, played in ((COMPILED, True, rounds), (LOOP, False, rounds // 4)):
            sides = {
                "all": partial(lw.play, learner, people, auditor, played, compiled=compiled),
                "accepted": partial(lw.play, sided, people, auditor, played, compiled=compiled),
            }
            turns = in_turns(5 if quick else 11, sides)
            speed = {side: f"{played * K / turns.median(side):,.0f} people/s" for side in sides}
            more = turns.ratio("all", "accepted")
            rows.append(
                Row(f"AdaHedge, {name}, labels of accepted people only{how}", "all labels", speed["accepted"],
                    speed["all"], more, "≤ 1.3 ×" if compiled else "—", not compiled or more <= 1.3,
                    "time per round beside time per round")
            )  # fmt: skip
    return rows


def perturbed(quick: bool) -> list[Row]:
    """Context-FTPL with the paper's noise and E = T = 4,000, beside plain NumPy and the paper's text."""
    X, y = population(5000, 6)
    E, k = 4000, K
    F = lw.Thresholds.quantiles(X, cuts=8)
    learner = lw.ContextFTPL(F, T=E, k=k, noise="paper")
    people, auditor = lw.IID(X, y, k=k).encoded(F.encode), lw.MetricAuditor("cityblock", 0.1)
    rounds = 20 if quick else 200
    state = lw.play(learner, people, auditor, 20).state
    table = F.predict_rows(F.separator).T.astype(float)
    rng = np.random.default_rng(0)

    def numpy_rounds() -> None:
        for _ in range(rounds):
            padding = rng.gamma(learner._padding, size=E) - rng.gamma(learner._padding, size=E)
            losses = state.losses + learner.scale * padding[:, None] * table[0]
            ftpl_numpy(losses, table, learner.scale, E, rng)

    sides = {"ours": lambda: lw.play(learner, people, auditor, rounds, state=state), "NumPy": numpy_rounds}
    turns = in_turns(5 if quick else 7, sides)
    ours, theirs = (turns.median(side) / rounds * E for side in sides)
    ratio = turns.ratio("ours", "NumPy")
    what = f"ContextFTPL, the paper's noise, E = T = {E:,}, N = {F.size}, n = {len(F.separator)}"
    plain = Row(
        what, "the same in vectorised NumPy", shown(ours), shown(theirs), ratio, "≥ 10 ×", ratio >= 10,
        f"a whole play, from the time of {rounds} rounds",
    )  # fmt: skip
    # A draw costs a + b · (rounds so far): two histories give both, and a play has half of its rounds on average.
    short, long = (literal_draw(learner, X, rounds, rng) for rounds in (100, 400))
    each = short + (E / 2 - 100) * (long - short) / 300
    whole = each * E * E  # E draws in each of T = E rounds
    literal = Row(
        what, "the paper's text taken literally", shown(ours), f"{whole / 3600:,.0f} hours",
        whole / ours, "—", True,
        "copies, padded contexts, one oracle call a draw; extrapolated from rounds 100 and 400",
    )  # fmt: skip
    return [plain, literal]


def literal_draw(learner: lw.ContextFTPL, X: np.ndarray, rounds: int, rng: np.random.Generator) -> float:
    """Seconds of one draw by the paper's text after some rounds: the median of twenty."""
    F, wide = learner.hypotheses, int(learner.weight + 2 * learner.C)
    table = F.predict_rows(F.separator).T.astype(float)
    seen = F.predict_rows(F.encode(X[:wide])).T.astype(float)
    history = [(seen.copy(), np.ones(wide) / (2 * wide)) for _ in range(rounds)]
    return float(np.median([seconds(lambda: ftpl_literal(history, table, 0.1, wide, rng)) for _ in range(20)]))


def million(quick: bool) -> list[Row]:
    """One AdaHedge round over a million thresholds beside one pass of np.exp over the weights."""
    X, y = population(20_000)
    rng = np.random.default_rng(1)
    F = lw.Thresholds([np.sort(rng.normal(size=50_000)) for _ in range(10)])
    learner = lw.AdaHedge(F, k=K, alpha=0.1, T=10_000)
    people, auditor = lw.IID(X, y, k=K).encoded(F.encode), lw.MetricAuditor("cityblock", 0.1)
    state = lw.play(learner, people, auditor, 5).state
    exponents, rounds = -rng.random(F.size), 10
    sides = {
        "round": lambda: lw.play(learner, people, auditor, rounds, state=state, compiled=False),
        "pass": lambda: [np.exp(exponents) for _ in range(rounds)],
    }
    turns = in_turns(5 if quick else 15, sides)
    ours, theirs, ratio = turns.median("round") / rounds, turns.median("pass") / rounds, turns.ratio("pass", "round")
    return [
        Row(f"one AdaHedge round, N = {F.size:,} thresholds, k = 4", "np.exp of 10⁶ doubles", shown(ours),
            shown(theirs), ratio, "≤ 2 ×", ratio <= 2)
    ]  # fmt: skip


def cells(quick: bool) -> list[Row]:
    """2^64 labellings of cells beside the 1,002 cut-offs, listed one by one and as the nested class they are."""
    X, y = population()
    T, auditor = 1000 if quick else 5000, lw.MetricAuditor("cityblock", 0.1)
    grid, nested = lw.Cells.grid(X, bins=8, features=[0, 1]), lw.Thresholds.quantiles(X, cuts=50)
    classes = {
        "2⁶⁴": (grid, True),
        f"AdaHedge over {nested.size:,} listed hypotheses (FiniteClass)": (listed(nested), True),
        f"AdaHedge over the same {nested.size:,} as nested Thresholds, readable loop": (nested, False),
    }
    sides = {}
    for name, (F, compiled) in classes.items():
        people, learner = lw.IID(X, y, k=K).encoded(F.encode), lw.AdaHedge(F, k=K, alpha=0.1, T=T)
        sides[name] = partial(lw.play, learner, people, auditor, compiled=compiled)
    turns = in_turns(7 if quick else 15, sides)
    ours, *others = ((name, f"{T * K / turns.median(name):,.0f} people/s") for name in sides)
    rows = []
    for other, speed in others:
        ratio, goal = turns.ratio(ours[0], other), "FiniteClass" in other
        rows.append(
            Row("AdaHedge over Cells, m = 64 (2⁶⁴ hypotheses)", other, ours[1], speed, ratio,
                "≥ 1 ×" if goal else "—", not goal or ratio >= 1)
        )  # fmt: skip
    return rows


def listed(nested: lw.Thresholds) -> lw.FiniteClass:
    """The same cut-offs, each a hypothesis of its own."""
    return lw.FiniteClass(
        [partial(passes, j, c, above) for above in (True, False) for j, cuts in enumerate(nested.cuts) for c in cuts]
    )


def passes(j: int, cut: float, above: bool, X: np.ndarray) -> np.ndarray:
    """One cut-off of one feature, as a hypothesis of its own."""
    return (X[:, j] >= cut) == above


def hindsight(quick: bool) -> list[Row]:
    """The exact program with generated rows beside linprog on all of them, up to where linprog ends, and beyond."""
    if quick:
        return [_beside_linprog(1000, cuts=25, turns=3)]
    found = json.loads((Path(__file__).parent / "linprog_sizes.json").read_text())
    largest = [size for size in found["sizes"] if size["managed"]][-1]
    long, near = audited(20_000, cuts=50)
    alone = float(np.median([seconds(lambda: lw.best_in_hindsight(long, near, 0.1)) for _ in range(3)]))
    return [
        _beside_linprog(5000, cuts=25, turns=3, goal=20),
        _beside_linprog(largest["T"], found["cuts"], turns=1, note=_how_far(found)),
        Row(f"best policy in hindsight, T = 20,000, k = 6, N = {long.hypotheses.size:,}", "five seconds",
            shown(alone), "5 s", 5 / alone, "≥ 1 ×", alone <= 5),
    ]  # fmt: skip


def _beside_linprog(T: int, cuts: int, turns: int, goal: float | None = None, note: str = "") -> Row:
    t, near = audited(T, cuts)
    best, found = lw.best_in_hindsight(t, near, 0.1).error, []
    sides = {
        "ours": lambda: lw.best_in_hindsight(t, near, 0.1),
        "linprog": lambda: found.append(linprog_hindsight(t, near, 0.1)),
    }
    taken = in_turns(turns, sides, warm=False)
    ratio, size = taken.ratio("ours", "linprog"), f"T = {T:,}, k = 6, N = {t.hypotheses.size:,}"
    same = f"the same optimum to {abs(best - found[0]) / best:.0e}"
    return Row(
        f"best policy in hindsight, {size}", "SciPy linprog on all rows", shown(taken.median("ours")),
        shown(taken.median("linprog")), ratio, "—" if goal is None else f"≥ {goal:g} ×",
        goal is None or ratio >= goal, f"{same}; {note}" if note else same,
    )  # fmt: skip


def _how_far(found: dict[str, Any]) -> str:
    """What the search for linprog's largest size tried, in words."""
    tried, last = ", ".join(f"{size['T']:,}" for size in found["sizes"]), found["sizes"][-1]
    limits = f"{found['seconds']} processor seconds and {found['gib']} GiB"
    words = f"run once: of T = {tried} the largest that linprog solves within {limits}"
    if last["managed"]:
        return words
    if "seconds" not in last:
        return f"{words}; at T = {last['T']:,} it did not end"
    return f"{words}; T = {last['T']:,} took {last['seconds']} s and {last['gib']} GiB"


def audited(T: int, cuts: int) -> tuple[lw.Transcript, Callable[[np.ndarray], np.ndarray]]:
    """A play of T rounds of six people to look back at, and its distance."""
    X, y = population(T * 6)
    F = lw.Thresholds.quantiles(X, cuts=cuts)
    people = ((X[i * 6 : i * 6 + 6], y[i * 6 : i * 6 + 6]) for i in range(T))
    stream, auditor = lw.Stream(people, k=6), lw.MetricAuditor("cityblock", 0.1)
    return lw.play(lw.Unconstrained(F), stream, auditor, T), near


def near(view: np.ndarray) -> np.ndarray:
    """A distance by three features, for people of one batch."""
    return between(view, view)


def between(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The same distance, between two groups of people."""
    return 0.3 * cdist(one[:, :3], other[:, :3], "cityblock")


def of_any_kind(quick: bool) -> list[Row]:
    """The best fair policy of any kind, in a process of its own, so that its peak memory is its own too."""
    n = 2000 if quick else 5000
    done = subprocess.run([sys.executable, "-c", ANY, str(n)], check=True, capture_output=True, text=True)
    taken, peak = (float(word) for word in done.stdout.split())
    return [
        Row(f"best fair policy of any kind, {n:,} people, all pairs", "30 seconds and 2 GB", shown(taken), "30 s",
            30 / taken, "≥ 1 ×", taken <= 30 and peak <= 2, f"at most {peak:.2f} GB of memory, with the imports")
    ]  # fmt: skip


ANY = """
import pathlib, sys, time
import likewise as lw, numpy as np
X = np.random.default_rng(0).normal(size=(int(sys.argv[1]), 3))
start = time.perf_counter()
lw.hindsight.best_of_any(0.3 * X, 1 / (1 + np.exp(-2 * X[:, 0])), "cityblock", 0.1)
# Not from getrusage: its peak is that of the process that started this one, if that was larger.
peak = next(line.split()[1] for line in pathlib.Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(time.perf_counter() - start, int(peak) / 1e6)
"""


def held_out(quick: bool) -> list[Row]:
    """All pairs of ten thousand people."""
    n = 4000 if quick else 10_000
    X, y = population(n)
    F = lw.Thresholds.quantiles(X, cuts=20)
    t = lw.play(lw.AdaHedge(F, k=K, alpha=0.1, T=1000), lw.IID(X, y, k=K), lw.MetricAuditor("cityblock", 0.1))
    policy = t.average_policy
    chances = policy.probability(X)

    by_name = lw.auditors.named_metric("cityblock", w=[0.3] * 3 + [0.0] * 7)
    loop = "double loop over NumPy blocks"
    sides = {
        "named metric": lambda: lw.evaluate_fairness(policy, X, by_name, 0.1),
        "Python distance": lambda: lw.evaluate_fairness(policy, X, near, 0.1),
        loop: lambda: double_loop_fairness(chances, X, between, 0.1),
    }
    turns = in_turns(5 if quick else 15, sides)
    count = double_loop_fairness(chances, X, between, 0.1)
    rows = []
    for how, goal in (("named metric", 5.0), ("Python distance", None)):
        ratio, same = turns.ratio(how, loop), sides[how]().violating == count
        rows.append(
            Row(f"fairness of {n:,} held-out people, all pairs, {how}", loop, shown(turns.median(how)),
                shown(turns.median(loop)), ratio, "—" if goal is None else f"≥ {goal:g} ×",
                goal is None or (ratio >= goal and same),
                "the same number of violating pairs" if same else "NOT the same number of violating pairs")
        )  # fmt: skip
    return rows


class Stopwatch(lw.MetricAuditor):
    """An auditor who notes the processor's time at every tenth of a play: other programs don't count."""

    def __init__(self, T: int) -> None:
        super().__init__("cityblock", 0.1)
        self.tenth = T // 10
        self.times: list[float] = []

    def audit(self, batch: Any, probabilities: np.ndarray, key: Any) -> Any:
        """Audit, and look at the clock now and then."""
        if key.t % self.tenth in (0, 1):
            self.times.append(time.process_time())
        return super().audit(batch, probabilities, key)


def growth(quick: bool) -> list[Row]:
    """Seconds per round in the last tenth of a long play beside its first tenth: the median of some whole plays."""
    X, y = population()
    T = 20_000 if quick else 100_000
    F = lw.Thresholds.quantiles(X, cuts=50)
    learner, people = lw.AdaHedge(F, k=K, alpha=0.1, T=T), lw.IID(X, y, k=K).encoded(F.encode)
    lw.play(learner, people, Stopwatch(T), 1000, compiled=False)
    tenths = []
    for _ in range(5 if quick else 7):
        watch = Stopwatch(T)
        lw.play(learner, people, watch, compiled=False)
        tenths.append(np.diff(watch.times)[[0, -1]] / watch.tenth)
    first, last = np.median(tenths, axis=0)
    ratio = float(np.median([after / before for before, after in tenths]))
    return [
        Row(f"seconds per round, last tenth of {T:,} rounds", "first tenth", shown(last), shown(first), ratio,
            "≤ 1.2 ×", ratio <= 1.2)
    ]  # fmt: skip


def first_call(quick: bool) -> list[Row]:
    """Importing, and the first play with compiling and without."""

    def python(code: str, **environment: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | environment)

    def compiling() -> None:
        with tempfile.TemporaryDirectory() as empty:
            python(PLAY, NUMBA_CACHE_DIR=empty)

    imports = {name: partial(python, code) for name, code in IMPORTS.items()}
    turns = in_turns(5 if quick else 9, imports)
    ours, numba, cells = (turns.median(name) - turns.median("nothing") for name in ("likewise", "numba", "cells"))
    with tempfile.TemporaryDirectory() as cache:
        compiled = partial(python, PLAY, NUMBA_CACHE_DIR=cache)
        compiled()
        plays = {"compiling": compiling, "compiled before": compiled}
        first = in_turns(1 if quick else 3, plays, warm=False)
    return [
        Row("import likewise", "import numba (+ 0.2 s)", shown(ours), shown(numba), ours / numba,
            f"≤ {numba + 0.2:.2f} s", ours <= numba + 0.2),
        Row("first play after install, compiling", "the same, compiled before", shown(first.median("compiling")),
            shown(first.median("compiled before")), first.ratio("compiled before", "compiling"), "—", True,
            f"with starting Python; a play over Cells, compiled before: {shown(cells)} with its imports"),
    ]  # fmt: skip


PEOPLE = "import likewise as lw, numpy as np; X = np.random.default_rng(0).normal(size=(100, 2)); "
PLAY = PEOPLE + (
    "lw.play(lw.AdaHedge(lw.Thresholds.quantiles(X), k=4, alpha=.1, T=10), lw.IID(X, X[:, 0] > 0, k=4), "
    "lw.MetricAuditor('cityblock', .1))"
)
IMPORTS = {
    "nothing": "pass",
    "likewise": "import likewise, sys; assert 'numba' not in sys.modules",
    "numba": "import numba",
    "cells": PEOPLE + "lw.play(lw.AdaHedge(lw.Cells.grid(X), k=4, alpha=.1, T=10), lw.IID(X, X[:, 0] > 0, k=4), "
    "lw.MetricAuditor(lambda v: abs(v[:, :1] - v[:, 0]), .1))",
}


ALL = (plays, kept, one_sided, perturbed, million, cells, hindsight, of_any_kind, held_out, growth, first_call)
