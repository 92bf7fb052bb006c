"""What people use today, on the same people: none of these audits anybody or keeps anything fair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def river_logistic(X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    """River's logistic regression, one person at a time: predict, then learn."""
    from river import linear_model

    people = [dict(enumerate(row)) for row in X.tolist()]
    labels = [bool(label) for label in y]

    def run() -> object:
        model = linear_model.LogisticRegression()
        for person, label in zip(people, labels, strict=True):
            model.predict_proba_one(person)
            model.learn_one(person, label)
        return model

    return run


def vowpal_wabbit(X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    """Vowpal Wabbit's Python interface on text lines."""
    from vowpalwabbit import Workspace

    lines = [
        f"{1 if label else -1} | " + " ".join(f"f{j}:{value:.5f}" for j, value in enumerate(row))
        for row, label in zip(X, y, strict=True)
    ]

    def run() -> object:
        model = Workspace("--loss_function logistic --quiet")
        for line in lines:
            model.learn(line)
        model.finish()
        return model

    return run


def sgd_batches(X: np.ndarray, y: np.ndarray, k: int) -> Callable[[], object]:
    """scikit-learn's SGD, one ``partial_fit`` per batch."""
    from sklearn.linear_model import SGDClassifier

    def run() -> object:
        model = SGDClassifier(loss="log_loss")
        for start in range(0, len(X), k):
            model.partial_fit(X[start : start + k], y[start : start + k], classes=[0, 1])
        return model

    return run


def ftpl_numpy(losses_of, table: np.ndarray, scale: float, E: int, rng: np.random.Generator) -> np.ndarray:
    """One round of Context-FTPL over a listed class, vectorised in plain NumPy: E draws at once.

    ``table`` is (points, N): what every hypothesis says of every point of the separator.
    """
    noise = scale * rng.laplace(size=(E, len(table)))
    leaders = (losses_of + noise @ table).argmin(axis=1)
    return np.bincount(leaders, minlength=table.shape[1]) / E


def ftpl_literal(
    history: list[tuple[np.ndarray, np.ndarray]], contexts: np.ndarray, omega: float, width: int,
    rng: np.random.Generator,
) -> int:  # fmt: skip
    """One draw of the paper's text taken literally: every padded context, every coordinate, one oracle call.

    ``history`` holds (predictions, weights) of every copied person of every round; ``contexts`` is (points, N).
    """
    total = np.zeros(contexts.shape[1])
    for predictions, weights in history:
        total += weights @ predictions
    for point in contexts:
        for coordinate in range(width):
            total += rng.laplace(scale=1 / omega) * (point if coordinate == 0 else contexts[0])
    return int(total.argmin())


def linprog_hindsight(t: Any, distance: Callable[[np.ndarray], np.ndarray], alpha: float) -> float:
    """The least error of a fair policy by SciPy's linprog: one sparse row for every pair of every round."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    says = csr_array(t.hypotheses.predict_rows(t.rows).T.astype(float))
    costs = t.y.sum() + says.T @ (1 - 2 * t.y)
    high, low, allowed = [], [], []
    for i in range(t.rounds):
        start, stop = int(t.starts[i]), int(t.starts[i + 1])
        d = distance(t.view_of(i)) + alpha
        first, second = np.nonzero(~np.eye(stop - start, dtype=bool) & (d < 1))
        high.append(start + first)
        low.append(start + second)
        allowed.append(d[first, second])
    rows = says[np.concatenate(high)] - says[np.concatenate(low)]
    found = linprog(costs, rows, np.concatenate(allowed), np.ones((1, len(costs))), [1.0], method="highs")
    return float(found.fun)


def double_loop_fairness(
    chances: np.ndarray, view: np.ndarray, between: Callable[[np.ndarray, np.ndarray], np.ndarray], alpha: float,
    block: int = 1000,
) -> int:  # fmt: skip
    """Violating pairs by the obvious double loop over blocks of people."""
    count = 0
    for a in range(0, len(chances), block):
        for b in range(a, len(chances), block):
            d = between(view[a : a + block], view[b : b + block])
            bad = np.abs(chances[a : a + block, None] - chances[b : b + block]) - d > alpha
            count += int(np.triu(bad, 1).sum() if a == b else bad.sum())
    return count
