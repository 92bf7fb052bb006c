"""The best fair policy of any kind: how well anybody could do who treats every pair of these people fairly.

    min over p: people → [0, 1] of Σ_i E|p_i − y_i|   such that   p_i − p_j ≤ d(x_i, x_j) + α   for every ordered pair

is a linear program with one variable per person. It needs no class of hypotheses, so no fair policy of any class errs
less on these people. Rows are generated only where they are violated (``program``). The answer comes with a lower limit
that is computed from the dual prices alone.

A label that happened can be fitted by anybody who may look at it, so the error is expected under a model of the label,
fitted without the person (``cross_fitted``). What it says holds as far as that model does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import require, require_number, require_whole
from likewise.hindsight.compared import pairwise_distances, probabilities_of_labels, taken
from likewise.hindsight.linear_program import FEASIBLE, PeopleProgram, Positions
from likewise.protocol import Distance, Floats
from likewise.reduction import EQUAL_COSTS

TOO_LITTLE = 0.01
"""Gains below this, in errors per person, are too small to take a share of."""


@dataclass(frozen=True, eq=False)
class AnyPolicy:
    """The best fair policy of any kind on some people.

    Attributes
    ----------
    alpha
        How much more than their distance two people may differ.
    error
        Its expected error per person (the expected cost, if costs are not equal).
    lower
        No policy that is fair on every pair of these people errs less, per person (proved by the dual prices).
    constant
        The expected error per person of the better constant.
    unconstrained
        The least expected error per person without fairness.
    probabilities
        What the policy gives each person.
    violation
        By how much it exceeds the allowance of any pair: 0, or rounding.
    people
        How many people.
    rows
        How many pairs the program had to look at.
    """

    alpha: float
    error: float
    lower: float
    constant: float
    unconstrained: float
    probabilities: Floats = field(repr=False)
    violation: float
    people: int
    rows: int

    @property
    def gap(self) -> float:
        """error − lower, per person: at most 1e-7 when solved."""
        return self.error - self.lower

    def __str__(self) -> str:
        return (
            f"No policy that is {self.alpha:g}-fair on every pair of these {self.people:,} people errs less than "
            f"{self.error:.3f} per person; a constant errs {self.constant:.3f}, and without fairness "
            f"{self.unconstrained:.3f} is possible. These are expected errors under the given label probabilities."
        )


def best_of_any(
    view: Any,
    label_probabilities: Any,
    distance: Distance | str,
    alpha: float,
    *,
    costs: tuple[float, float] = EQUAL_COSTS,
    seed: int = 0,
) -> AnyPolicy:
    """The least expected error of any policy that treats every ordered pair of people within d + α.

    Parameters
    ----------
    view
        What people are compared by, one row per person.
    label_probabilities
        For each person, the probability of the label 1; see ``cross_fitted``.
    distance
        From the view of k people to their (k, k) distances, or the name of a SciPy metric. It needs neither symmetry
        nor a triangle inequality; d[i, j] counts where i is favoured. It must compare two people by their rows alone.
    alpha
        How much more than their distance two people may differ.
    costs
        What a false positive and a false negative cost.
    seed
        For the people who are solved first; the least error doesn't depend on it.

    Examples
    --------
    >>> import likewise as lw
    >>> limit = lw.hindsight.best_of_any([[0.0], [0.2]], [0.0, 1.0], "cityblock", alpha=0.1)
    >>> round(limit.error, 6), limit.constant, limit.unconstrained
    (0.35, 0.5, 0.0)
    """
    q = probabilities_of_labels(label_probabilities, len(view))
    require_number(alpha, "alpha", 0, 1)
    for cost in costs:
        require_number(cost, "costs", 0)
    weights = costs[0] * (1.0 - q) - costs[1] * q
    kinds, first = _kinds(view, weights < 0)
    program = PeopleProgram(
        np.bincount(kinds, weights).astype(float), pairwise_distances(taken(view, first), distance) + alpha
    )
    p, violation = program.solve(np.random.default_rng(seed))
    n, base = len(q), costs[1] * float(q.sum())
    return AnyPolicy(
        alpha=alpha,
        error=(base + float(program.costs @ p)) / n,
        lower=(base + program.lower()) / n,
        constant=min(base, costs[0] * float((1.0 - q).sum())) / n,
        unconstrained=(base + float(np.minimum(0.0, weights).sum())) / n,
        probabilities=p[kinds],
        violation=violation,
        people=n,
        rows=len(program.rows),
    )


def _kinds(view: Any, wanted: NDArray[np.bool_]) -> tuple[Positions, Positions]:
    """People who look the same and whose likelier label is the same share a variable; the first of each kind.

    Raising all of them to the highest (or lowering all to the lowest) breaks no pair and costs nothing, so some best
    policy treats them the same.
    """
    looks = np.asarray(view).reshape(len(wanted), -1).tolist()
    numbers: dict[tuple[Any, ...], int] = {}
    kinds = [numbers.setdefault((wish, *look), len(numbers)) for wish, look in zip(wanted.tolist(), looks, strict=True)]
    return np.array(kinds), np.unique(kinds, return_index=True)[1]


def cross_fitted(features: Any, y: Any, folds: int = 5, seed: int = 0, *, groups: Any | None = None) -> Floats:
    """For each person the probability of the label 1, by a model that didn't see them.

    The model is a logistic regression on standardised features: nearly calibrated as it is, deterministic, and fast.
    People with a missing label are left out of the fitting and get a probability all the same.

    Parameters
    ----------
    features
        Numbers, one row per person.
    y
        Labels 0 or 1.
    folds
        Into how many parts the people are split.
    seed
        Shuffles them.
    groups
        Whose row it is: rows of the same person are kept in the same fold.

    Examples
    --------
    >>> X = np.arange(20.0)[:, None]
    >>> q = cross_fitted(X, X[:, 0] >= 10, folds=4)
    >>> bool(q[0] < 0.1), bool(q[-1] > 0.9)
    (True, True)
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    X, labels = np.asarray(features, dtype=float), np.asarray(y, dtype=float)
    require_whole(folds, "folds", 2)
    require(len(labels) == len(X), "y", f"hold a label for each of {len(X)} people", len(labels))
    known = np.isfinite(labels)
    require(bool(np.isin(labels[known], (0, 1)).all()), "y", "hold labels 0 and 1, or NaN", "others")
    fold = _folds(np.arange(len(X)) if groups is None else groups, folds, seed)
    q = np.empty(len(X))
    for number in range(folds):
        away = (fold != number) & known
        both = len(np.unique(labels[away])) == 2
        require(both, "y", "hold both labels outside of every fold", f"one kind outside of fold {number + 1}")
        with threadpool_limits(1):  # the same bits with any number of cores
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X[away], labels[away])
        if (fold == number).any():
            q[fold == number] = model.predict_proba(X[fold == number])[:, 1]
    return q


def _folds(groups: Any, folds: int, seed: int) -> Positions:
    """Each person's fold: the groups in a random order, dealt out in turns."""
    _, group = np.unique(np.asarray(groups), return_inverse=True)
    count = int(group.max()) + 1
    require(count >= folds, "folds", f"be at most the number of people, {count}", folds)
    order = np.random.default_rng(seed).permutation(count)
    return np.asarray((order % folds)[group.ravel()])


def share_of_possible_gain(constant: float, policy: float, limit: float) -> float | None:
    """(constant − policy) / (constant − limit): 0 is no better than a constant, 1 is the best that is possible.

    None where even the best gains less than 0.01 per person: there is too little to win. All three errors must be of
    the same people, under the same label probabilities. A policy that is not fair itself can exceed 1.

    Examples
    --------
    >>> share_of_possible_gain(0.5, 0.375, 0.25), share_of_possible_gain(0.5, 0.5, 0.495)
    (0.5, None)
    """
    return None if constant - limit < TOO_LITTLE else (constant - policy) / (constant - limit)


@dataclass(frozen=True)
class PossibleGain:
    """How much of what is possible a policy gains over a constant.

    Attributes
    ----------
    constant, policy, limit
        Expected errors per person: of the better constant, of the policy, and of the best fair policy of any kind.
    share
        (constant − policy) / (constant − limit), or None where there is too little to win.
    people
        How many people these numbers are about.
    violation
        By how much the policy exceeds the allowance of any pair; above 0, it is not fair itself and may beat the limit.
    """

    alpha: float
    constant: float
    policy: float
    limit: float
    share: float | None
    people: int
    violation: float

    def __str__(self) -> str:
        unfair = "" if self.violation <= FEASIBLE else " The policy itself treats some pairs too differently."
        if self.share is None:
            gain = "there is too little to win: even the best fair policy gains less than 0.01 over a constant"
        else:
            gain = f"the policy gains {self.share:.0%} of what any fair policy could gain over a constant"
        return (
            f"On {self.people:,} people {gain}. Expected errors per person: constant {self.constant:.3f}, policy "
            f"{self.policy:.3f}, best fair policy of any kind {self.limit:.3f} (α = {self.alpha:g}).{unfair} This "
            "rests on a model of the label that was fitted without the person it speaks about."
        )


def compare_with_any(
    policy: Any,
    features: Any,
    view: Any,
    y: Any,
    distance: Distance | str,
    alpha: float,
    *,
    people: int = 2000,
    X: Any | None = None,
    costs: tuple[float, float] = EQUAL_COSTS,
    groups: Any | None = None,
    seed: int = 0,
) -> PossibleGain:
    """A policy beside a constant and beside the best fair policy of any kind, on the same people.

    Parameters
    ----------
    policy
        Anything with ``probability(X)``.
    features, y, groups
        What the model of the label is fitted on: all of these people, each judged by a model that didn't see them.
    view, distance, alpha
        What pairs are compared by, and the level.
    people
        Compare on at most this many, the first of a random order.
    X
        People as the policy takes them; ``features`` by default.
    """
    require_whole(people, "people", 1)
    q = cross_fitted(features, y, seed=seed, groups=groups)
    chosen = np.random.default_rng(seed).permutation(len(q))[:people]
    q, seen = q[chosen], taken(view, chosen)
    p = np.asarray(policy.probability(taken(features if X is None else X, chosen)), dtype=float)
    limit = best_of_any(seen, q, distance, alpha, costs=costs, seed=seed)
    error = float(np.mean(costs[0] * p * (1.0 - q) + costs[1] * (1.0 - p) * q))
    share = share_of_possible_gain(limit.constant, error, limit.error)
    excess = max(0.0, PeopleProgram(np.zeros(len(p)), pairwise_distances(seen, distance) + alpha).worst_excess(p))
    return PossibleGain(alpha, limit.constant, error, limit.error, share, len(p), excess)
