"""The rows of the benchmark table: each a piece of work, beside something, with a ratio to reach."""

from __future__ import annotations

import subprocess
import sys
import tempfile

import numpy as np
from measure import Row, in_turns, seconds, shown
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
    drawn = people.draws(0, 1, T).ravel()
    peers = {
        "river LogisticRegression": (river_logistic(X[drawn], y[drawn]), 0.7, 2.0),
        "Vowpal Wabbit, Python on text": (vowpal_wabbit(X[drawn], y[drawn]), None, 2.0),
        "scikit-learn SGD partial_fit": (sgd_batches(X[drawn][: 4 * 500], y[drawn][: 4 * 500], K), None, None),
    }
    learners = {
        "AdaHedge": lw.AdaHedge(F, k=K, alpha=0.1, T=T),
        "ExponentialWeights": lw.ExponentialWeights(F, k=K, T=T),
    }
    auditors = {
        "readable loop, Python distance": (lw.MetricAuditor(python_distance, 0.1), False),
        "compiled play": (lw.MetricAuditor("cityblock", 0.1), True),
    }
    rows = []
    for name, learner in learners.items():
        for how, (auditor, compiled) in auditors.items():
            for peer, (run, loop_goal, compiled_goal) in peers.items():
                rows.append(
                    _beside(name, learner, how, auditor, compiled, peer, run, people, T, loop_goal, compiled_goal)
                )
    return rows


def _beside(name, learner, how, auditor, compiled, peer, run, people, T, loop_goal, compiled_goal) -> Row:
    sides = in_turns(lambda: lw.play(learner, people, auditor, T, compiled=compiled), run, turns=3)
    count = 2000 if "SGD" in peer else T * K
    ours, theirs = T * K / np.median(sides.ours), count / np.median(sides.theirs)
    ratio = sides.ratio * (T * K / count)
    goal = compiled_goal if compiled else loop_goal
    return Row(
        work=f"{name}, 1,002 thresholds, every pair audited: {how}",
        beside=peer,
        ours=f"{ours:,.0f} people/s",
        theirs=f"{theirs:,.0f} people/s",
        ratio=ratio,
        goal="—" if goal is None else f"≥ {goal:g} ×",
        reached=goal is None or ratio >= goal,
    )


def perturbed(quick: bool) -> list[Row]:
    """Context-FTPL with the paper's noise and E = T = 4,000, beside plain NumPy and the paper's text."""
    X, y = population(5000, 6)
    E, k = 4000, K
    F = lw.Thresholds.quantiles(X, cuts=8)
    learner = lw.ContextFTPL(F, T=E, k=k, noise="paper")
    people, auditor = lw.IID(X, y, k=k).encoded(F.encode), lw.MetricAuditor("cityblock", 0.1)
    rounds = 20 if quick else 100
    state = lw.play(learner, people, auditor, 20).state
    table = F.predict_rows(F.separator).T.astype(float)
    rng = np.random.default_rng(0)

    def numpy_rounds() -> None:
        for _ in range(rounds):
            padding = rng.gamma(learner._padding, size=E) - rng.gamma(learner._padding, size=E)
            losses = state.losses + learner.scale * padding[:, None] * table[0]
            ftpl_numpy(losses, table, learner.scale, E, rng)

    sides = in_turns(lambda: lw.play(learner, people, auditor, rounds, state=state), numpy_rounds, turns=3)
    ours = float(np.median(sides.ours)) / rounds * E
    what = f"ContextFTPL, the paper's noise, E = T = {E:,}, N = {F.size}, n = {len(F.separator)}"
    plain = Row(
        what, "the same in vectorised NumPy", shown(ours), shown(float(np.median(sides.theirs)) / rounds * E),
        sides.ratio, "≥ 10 ×", sides.ratio >= 10, "a whole play, from the time of some rounds",
    )  # fmt: skip
    wide = k + 2 * int(learner.C)
    history = [(F.predict_rows(F.encode(X[:wide])).T.astype(float), np.ones(wide) / (2 * wide)) for _ in range(50)]
    draws = 20
    each = seconds(lambda: [ftpl_literal(history, table, 0.1, wide, rng) for _ in range(draws)]) / draws
    whole = each * E * E * (E / 2 / 50)  # E draws in each of T = E rounds, with half the history on average
    literal = Row(
        what, "the paper's text taken literally", shown(ours), f"{whole / 86400:,.0f} days",
        whole / ours, "—", True, "copies, padded contexts, one oracle call a draw; extrapolated from a slice",
    )  # fmt: skip
    return [plain, literal]


def million(quick: bool) -> list[Row]:
    """One AdaHedge round over a million thresholds beside one pass of np.exp over the weights."""
    X, y = population(20_000)
    rng = np.random.default_rng(1)
    F = lw.Thresholds([np.sort(rng.normal(size=50_000)) for _ in range(10)])
    learner = lw.AdaHedge(F, k=K, alpha=0.1, T=10_000)
    people, auditor = lw.IID(X, y, k=K).encoded(F.encode), lw.MetricAuditor("cityblock", 0.1)
    state = lw.play(learner, people, auditor, 5).state
    exponents, rounds = -rng.random(F.size), 10
    sides = in_turns(
        lambda: lw.play(learner, people, auditor, rounds, state=state, compiled=False),
        lambda: [np.exp(exponents) for _ in range(rounds)],
        turns=5 if quick else 15,
    )
    ours, theirs = np.median(sides.ours) / rounds, np.median(sides.theirs) / rounds
    ratio = 1 / sides.ratio
    return [
        Row(f"one AdaHedge round, N = {F.size:,} thresholds, k = 4", "np.exp of 10⁶ doubles", shown(ours),
            shown(theirs), ratio, "≤ 3 ×", ratio <= 3)
    ]  # fmt: skip


def cells(quick: bool) -> list[Row]:
    """2^64 labellings of cells beside a thousand listed hypotheses."""
    X, y = population()
    T = 1000 if quick else 5000
    grid = lw.Cells.grid(X, bins=8, features=[0, 1])
    cuts = lw.Thresholds.quantiles(X, cuts=50)
    listed = lw.FiniteClass([lambda X, j=j, c=c: X[:, j] >= c for j, column in enumerate(cuts.cuts) for c in column])
    auditor = lw.MetricAuditor("cityblock", 0.1)
    sides = []
    for F in (grid, listed):
        people = lw.IID(X, y, k=K).encoded(F.encode)
        sides.append(lambda F=F, people=people: lw.play(lw.AdaHedge(F, k=K, alpha=0.1, T=T), people, auditor))
    found = in_turns(*sides, turns=3)
    speeds = [f"{T * K / np.median(side):,.0f} people/s" for side in (found.ours, found.theirs)]
    return [
        Row("AdaHedge over Cells, m = 64 (2⁶⁴ hypotheses)", f"AdaHedge over {listed.size} listed hypotheses", *speeds,
            found.ratio, "≥ 1 ×", found.ratio >= 1)
    ]  # fmt: skip


def hindsight(quick: bool) -> list[Row]:
    """The exact program with generated rows beside linprog on all of them, and alone at a size linprog can't reach."""
    T = 1000 if quick else 5000
    t, near = _audited(T, cuts=25)
    ours = float(np.median([seconds(lambda: lw.best_in_hindsight(t, near, 0.1)) for _ in range(3)]))
    found: list[float] = []
    theirs = seconds(lambda: found.append(linprog_hindsight(t, near, 0.1)))
    best = lw.best_in_hindsight(t, near, 0.1).error
    ratio, size = theirs / ours, f"T = {T:,}, k = 6, N = {t.hypotheses.size}"
    rows = [
        Row(f"best policy in hindsight, {size}", "SciPy linprog on all rows", shown(ours), shown(theirs), ratio,
            "—" if quick else "≥ 20 ×", quick or ratio >= 20, f"the same optimum to {abs(best - found[0]) / best:.0e}")
    ]  # fmt: skip
    if not quick:
        long, near = _audited(20_000, cuts=50)
        alone = seconds(lambda: lw.best_in_hindsight(long, near, 0.1))
        rows.append(
            Row(f"best policy in hindsight, T = 20,000, k = 6, N = {long.hypotheses.size:,}", "five seconds",
                shown(alone), "5 s", 5 / alone, "≥ 1 ×", alone <= 5)
        )  # fmt: skip
    return rows


def _audited(T: int, cuts: int):
    """A play of T rounds of six people to look back at, and its distance."""
    X, y = population(T * 6)
    F = lw.Thresholds.quantiles(X, cuts=cuts)
    people = ((X[i * 6 : i * 6 + 6], y[i * 6 : i * 6 + 6]) for i in range(T))

    def near(view: np.ndarray) -> np.ndarray:
        return 0.3 * cdist(view[:, :3], view[:, :3], "cityblock")

    return lw.play(lw.Unconstrained(F), lw.Stream(people, k=6), lw.MetricAuditor("cityblock", 0.1), T), near


def held_out(quick: bool) -> list[Row]:
    """All pairs of ten thousand people."""
    n = 4000 if quick else 10_000
    X, y = population(n)
    F = lw.Thresholds.quantiles(X, cuts=20)
    t = lw.play(lw.AdaHedge(F, k=K, alpha=0.1, T=1000), lw.IID(X, y, k=K), lw.MetricAuditor("cityblock", 0.1))
    policy = t.average_policy
    chances = policy.probability(X)

    def near(view: np.ndarray) -> np.ndarray:
        return 0.3 * cdist(view[:, :3], view[:, :3], "cityblock")

    named = lw.auditors.named_metric("cityblock", w=[0.3] * 3 + [0.0] * 7)
    rows = []
    for how, distance in (("named metric", named), ("Python distance", near)):
        sides = in_turns(
            lambda distance=distance: lw.evaluate_fairness(policy, X, distance, 0.1),
            lambda: double_loop_fairness(chances, X, near, 0.1),
            turns=3,
        )
        ours, theirs = shown(float(np.median(sides.ours))), shown(float(np.median(sides.theirs)))
        goal = 5.0 if how == "named metric" else None
        rows.append(
            Row(f"fairness of {n:,} held-out people, all pairs, {how}", "double loop over NumPy blocks", ours, theirs,
                sides.ratio, "—" if goal is None else "≥ 5 ×", goal is None or sides.ratio >= goal)
        )  # fmt: skip
    return rows


def growth(quick: bool) -> list[Row]:
    """Seconds per round in the last tenth of a long play beside the first tenth, measured in turns."""
    X, y = population()
    T = 20_000 if quick else 100_000
    F = lw.Thresholds.quantiles(X, cuts=50)
    learner, people = lw.AdaHedge(F, k=K, alpha=0.1), lw.IID(X, y, k=K).encoded(F.encode)
    auditor, rounds = lw.MetricAuditor("cityblock", 0.1), 1000
    early = lw.play(learner, people, auditor, T // 20).state
    late = lw.play(learner, people, auditor, 9 * T // 10, state=early).state
    both = [
        lambda begun=begun: lw.play(learner, people, auditor, rounds, state=begun, compiled=False)
        for begun in (early, late)
    ]
    sides = in_turns(*both, turns=7)
    first, last = (shown(float(np.median(side)) / rounds) for side in (sides.ours, sides.theirs))
    return [
        Row(f"seconds per round, last tenth of {T:,} rounds", "first tenth", last, first, sides.ratio, "≤ 1.2 ×",
            sides.ratio <= 1.2)
    ]  # fmt: skip


def first_call(quick: bool) -> list[Row]:
    """Importing, and the first play with compiling and without."""

    def python(code: str, **environment: str) -> float:
        import os

        env = os.environ | environment
        return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True, env=env))

    bare = np.median([python("pass") for _ in range(5)])
    ours = np.median([python("import likewise") for _ in range(5)]) - bare
    numba = np.median([python("import numba") for _ in range(5)]) - bare
    play = (
        "import likewise as lw, numpy as np; X = np.random.default_rng(0).normal(size=(100, 2)); "
        "lw.play(lw.AdaHedge(lw.Thresholds.quantiles(X), k=4, alpha=.1, T=10), lw.IID(X, X[:, 0] > 0, k=4), "
        "lw.MetricAuditor('cityblock', .1))"
    )
    with tempfile.TemporaryDirectory() as cache:
        compiling = python(play, NUMBA_CACHE_DIR=cache) - bare
        cached = python(play, NUMBA_CACHE_DIR=cache) - bare
    quiet = python(
        "import likewise as lw, numpy as np, sys; X = np.random.default_rng(0).normal(size=(100, 2)); "
        "lw.play(lw.AdaHedge(lw.Cells.grid(X), k=4, alpha=.1, T=10), lw.IID(X, X[:, 0] > 0, k=4), "
        "lw.MetricAuditor(lambda v: abs(v[:, :1] - v[:, 0]), .1)); assert 'numba' not in sys.modules"
    )
    return [
        Row("import likewise", "import numba (+ 0.2 s)", shown(ours), shown(numba), ours / numba,
            f"≤ {numba + 0.2:.2f} s", ours <= numba + 0.2),
        Row("first play after install, compiling", "the same, compiled before", shown(compiling), shown(cached),
            compiling / cached, "—", True, f"a play over Cells imports no numba ({shown(quiet - bare)})"),
    ]  # fmt: skip


ALL = (plays, perturbed, million, cells, hindsight, held_out, growth, first_call)
