"""Fairness on people who were not in the play: measured with a distance, or reviewed by people."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from likewise import kernels, theory
from likewise.auditors import NamedMetric, as_points, named_metric
from likewise.errors import require
from likewise.hindsight.compared import checked_distances, taken
from likewise.protocol import Distance, Floats
from likewise.wording import at_least, at_most

BLOCK = 1024
"""People compared at once: memory is bounded by a few arrays of (2 · BLOCK)² numbers."""


class FairnessEvaluation(NamedTuple):
    """How often a policy treats two random people too differently.

    Attributes
    ----------
    share
        The share of violating pairs among those looked at.
    violating, pairs
        How many of how many.
    lower, upper
        A confidence interval for the probability β that two random people of the population are such a pair. It is
        valid at any number of people: Clopper–Pearson for independent pairs, ``theory.all_pairs_limit`` from both sides
        for all pairs of n people, which are worth ⌊n/2⌋ independent ones.
    alpha, delta
        The level, and one minus the confidence.
    independent
        How many independent pairs the evidence is worth.
    """

    share: float
    violating: int
    pairs: int
    lower: float
    upper: float
    alpha: float
    delta: float
    independent: int

    def __str__(self) -> str:
        return (
            f"{self.violating:,} of {self.pairs:,} pairs ({self.share:.2%}) differ by more than their distance + "
            f"{self.alpha:g}; with {1 - self.delta:.0%} confidence the probability that two random people do is "
            f"between {at_least(100 * self.lower, 2)}% and {at_most(100 * self.upper, 2)}%, if these people were drawn "
            "independently from the population and the policy was learned without them."
        )


def evaluate_fairness(
    policy: Any,
    X: Any,
    distance: Distance | str,
    alpha: float,
    *,
    view: Any | None = None,
    pairs: int | None = None,
    delta: float = 0.05,
    seed: int = 0,
) -> FairnessEvaluation:
    """The share of violating pairs among held-out people.

    Parameters
    ----------
    policy
        Anything with ``probability(X)``.
    X
        People, an array or dataframe.
    distance
        From the view of k people to their (k, k) distances, or the name of a SciPy metric.
    view
        What to compare by; ``X`` itself by default.
    pairs
        Compare this many disjoint random pairs; by default all pairs, in blocks of bounded memory.

    Examples
    --------
    >>> import likewise as lw, numpy as np
    >>> policy = lw.Mixture(lw.Thresholds([[0.5]]), np.array([0.0, 0.0, 1.0, 0.0]))
    >>> evaluation = lw.evaluate_fairness(policy, [[0.0], [0.4], [0.6], [1.0]], "cityblock", alpha=0.1)
    >>> evaluation.violating, evaluation.pairs
    (3, 6)
    """
    require(0 <= alpha <= 1, "alpha", "be in [0, 1]", alpha)
    require(0 < delta < 1, "delta", "be in (0, 1)", delta)
    probabilities = np.asarray(policy.probability(X))
    compared = X if view is None else view
    require(len(probabilities) >= 2, "X", "hold at least two people", len(probabilities))
    require(
        len(compared) == len(probabilities),
        "view",
        f"have a row for each of {len(probabilities)} people",
        len(compared),
    )
    if pairs is None:
        return unfair_pairs(probabilities, compared, distance, alpha, delta)
    compare = named_metric(distance) if isinstance(distance, str) else distance
    return _sampled(probabilities, compared, compare, alpha, pairs, delta, seed)


def unfair_pairs(
    probabilities: Floats, view: Any, distance: Distance | str, alpha: float, delta: float
) -> FairnessEvaluation:
    """The violating ones among all pairs of these people, who were given these probabilities.

    Examples
    --------
    >>> unfair_pairs(np.array([0.0, 0.0, 1.0, 1.0]), [[0.0], [0.4], [0.6], [1.0]], "cityblock", 0.1, 0.05).violating
    3
    """
    compare = named_metric(distance) if isinstance(distance, str) else distance
    if isinstance(compare, NamedMetric):
        violating = sum(_all_pairs_compiled(probabilities, view, compare, alpha))
    else:
        violating = sum(_all_pairs(probabilities, view, compare, alpha))
    n = len(probabilities)
    count = n * (n - 1) // 2
    share = violating / count
    upper = theory.all_pairs_limit(share, n, delta / 2)
    lower = 1.0 - theory.all_pairs_limit((count - violating) / count, n, delta / 2)
    return FairnessEvaluation(share, violating, count, lower, upper, alpha, delta, n // 2)


def _all_pairs(probabilities: Floats, view: Any, distance: Distance, alpha: float) -> Iterator[int]:
    """Violating pairs, block by block in the order of probability: blocks closer than α hold none, as d ≥ 0."""
    order = np.argsort(probabilities, kind="stable")
    blocks = [order[start : start + BLOCK] for start in range(0, len(order), BLOCK)]
    for a, low in enumerate(blocks):
        for high in blocks[a:]:
            if probabilities[high[-1]] - probabilities[low[0]] <= alpha:
                continue
            # Only the direction from the favoured person can exceed α ≥ 0, so no pair is counted twice.
            if high is low:
                distances = checked_distances(distance, taken(view, low))
            else:
                distances = checked_distances(distance, taken(view, np.concatenate([low, high])))[
                    len(low) :, : len(low)
                ]
            yield int(np.count_nonzero(probabilities[high][:, None] - probabilities[low] - distances > alpha))


def _all_pairs_compiled(probabilities: Floats, view: Any, metric: NamedMetric, alpha: float) -> Iterator[int]:
    """Violating pairs by the metric's own loop, on every core, without any matrix."""
    order = np.argsort(probabilities, kind="stable")
    points = as_points(view)[order]
    number, weights, inverse = metric.parameters(points.shape[1])
    used = weights > 0
    columns = np.ascontiguousarray(points[:, used].T)
    arguments = probabilities[order], columns, number, weights[used], inverse, alpha
    cores = os.cpu_count() or 1
    # The first people are compared with the most others: many short stretches keep all cores busy to the end.
    starts = np.linspace(0, len(order), 16 * cores + 1).astype(int)
    with ThreadPoolExecutor(cores) as pool:
        yield from pool.map(lambda a, b: int(kernels.count_violations(*arguments, a, b)), starts[:-1], starts[1:])


def _sampled(
    probabilities: Floats, view: Any, distance: Distance, alpha: float, pairs: int, delta: float, seed: int
) -> FairnessEvaluation:
    """Disjoint random pairs are independent, so the interval is the exact binomial one."""
    most = len(probabilities) // 2
    require(1 <= pairs <= most, "pairs", f"be in 1 … {most}, disjoint pairs of {len(probabilities)} people", pairs)
    order = np.random.default_rng(seed).permutation(len(probabilities))[: 2 * pairs]
    violating = 0
    for start in range(0, pairs, BLOCK):
        first, second = order[:pairs][start : start + BLOCK], order[pairs:][start : start + BLOCK]
        ahead = probabilities[first] >= probabilities[second]
        high, low = np.where(ahead, first, second), np.where(ahead, second, first)
        distances = checked_distances(distance, taken(view, np.concatenate([high, low])))[
            : len(high), len(high) :
        ].diagonal()
        violating += int(np.count_nonzero(probabilities[high] - probabilities[low] - distances > alpha))
    upper = theory.holdout(violating, pairs, delta / 2)
    lower = 1.0 - theory.holdout(pairs - violating, pairs, delta / 2)
    return FairnessEvaluation(violating / pairs, violating, pairs, lower, upper, alpha, delta, pairs)


class HoldoutCertificate(NamedTuple):
    """What reviewing random pairs by hand proves.

    Attributes
    ----------
    beta
        With confidence 1 − δ, two random people are treated too differently with at most this probability.
    """

    flagged: int
    shown: int
    delta: float
    beta: float

    def __str__(self) -> str:
        return (
            f"{self.flagged} of {self.shown} random pairs were found to be treated too differently: with "
            f"{1 - self.delta:.0%} confidence at most {at_most(100 * self.beta, 2)}% of all pairs are. This assumes "
            "independent random pairs of people, one policy for all of them, and a reviewer who answers as in the play."
        )


def holdout_certificate(flagged: int, shown: int, delta: float = 0.05) -> HoldoutCertificate:
    """The exact binomial limit for pairs reviewed by people.

    Examples
    --------
    >>> round(holdout_certificate(0, 299).beta, 5)
    0.00997
    """
    return HoldoutCertificate(flagged, shown, delta, theory.holdout(flagged, shown, delta))
