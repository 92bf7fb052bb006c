"""The reduction: fairness with an auditor, turned into plain online classification.

    L_C(π, z) = Σ_i ℓ(π(x_i), y_i) + C · mean over ρ ∈ P of (π(x_ρ1) − π(x_ρ2)) = constant + Σ_i s_i π(x_i)
    s_i = w_i (c_fp (1 − y_i) − c_fn y_i) + Σ_{ρ ∈ P} (C/|P|) (1[i = ρ1] − 1[i = ρ2])

P are the pairs reported in the round, hardly ever more than one: they share the penalty evenly, so that Σ|s| ≤ k + 2C
however many there are. The sign of s_i is the label that the round asks for, its size is the weight; w_i is what a
person counts, mostly 1. A missing label contributes nothing. C may be any real number and may change by round.
``literal`` is the paper's R_C with its copies, for people who bring their own online classifier; Err(π, R_C(z)) =
L_C(π, z) + C for every π.

Where only the labels of accepted people are seen, ``estimated_weights`` are right on average over the lot:

    ŝ_i = w_i (u + 1[accepted] (c_fp (1 − y_i) − c_fn y_i − u)/(π̃_i + γ′)),   E ŝ_i = s_i where γ′ = 0
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import require
from likewise.protocol import Estimate, Floats, Report

EQUAL_COSTS = (1.0, 1.0)
FEW = 16
"""Up to this many people a list is faster than NumPy; both give the same numbers."""


def label_weights(y: Floats, costs: tuple[float, float] = EQUAL_COSTS, weight: Floats | None = None) -> Floats:
    """The label part of the signed weights: c_fp where y = 0, −c_fn where y = 1, 0 where y is missing."""
    false_positive, both = costs[0], costs[0] + costs[1]
    if len(y) <= FEW:
        s = np.array([false_positive - both * label if label == label else 0.0 for label in y.tolist()], float)
    else:
        s = false_positive - both * y
        if math.isnan(s.dot(s)):  # some label is missing; this test costs next to nothing
            s[np.isnan(s)] = 0.0
    return s if weight is None else s * weight


def penalised(labels: Floats, reports: Sequence[Report], C: float) -> Floats:
    """Signed weights from their label part: the pairs reported share the penalty evenly."""
    if not reports:
        return labels
    s, each = labels.copy(), C / len(reports)
    for report in reports:
        s[report.favoured] += each
        s[report.disfavoured] -= each
    return s


def signed_weights(
    y: Floats,
    reports: Sequence[Report],
    C: float,
    costs: tuple[float, float] = EQUAL_COSTS,
    weight: Floats | None = None,
) -> Floats:
    """s such that L_C(π, z) = constant + Σ_i s_i π(x_i).

    Examples
    --------
    >>> y = np.array([1.0, 0.0, np.nan])
    >>> signed_weights(y, [Report(0, 2)], C=5.0).tolist()
    [4.0, 1.0, -5.0]
    >>> signed_weights(y, [Report(0, 2), Report(1, 2)], C=5.0).tolist()
    [1.5, 3.5, -5.0]
    """
    return penalised(label_weights(y, costs, weight), reports, C)


def estimated_weights(
    y: Floats,
    accepted: NDArray[np.bool_],
    shown: Floats,
    estimate: Estimate,
    costs: tuple[float, float] = EQUAL_COSTS,
    weight: Floats | None = None,
) -> Floats:
    """ŝ: the label part of the signed weights, right on average over the lot, from the labels of accepted people.

    An accepted person whose label isn't known (yet) counts as unseen. ``shown`` are the probabilities π̃ that people
    were accepted with.

    Examples
    --------
    >>> y, accepted = np.array([1.0, 0.0, 1.0]), np.array([True, True, False])
    >>> estimated_weights(y, accepted, np.array([0.5, 0.5, 0.5]), Estimate(doubt=-0.5)).tolist()
    [-1.5, 2.5, -0.5]
    """
    s, slack = np.empty(len(y)), np.empty(len(y))
    s[:], slack[:] = estimate.doubt, estimate.slack  # of many rounds at once, each may be a number for everybody
    seen = accepted & (y == y)
    s[seen] += (costs[0] - (costs[0] + costs[1]) * y[seen] - s[seen]) / (shown[seen] + slack[seen])
    return s if weight is None else s * weight


def error(
    probabilities: Floats, y: Floats, costs: tuple[float, float] = EQUAL_COSTS, weight: Floats | None = None
) -> float:
    """Err(π, z) = Σ_i w_i ℓ(π(x_i), y_i), with ℓ(p, y) = |p − y| at equal costs; missing labels count nothing."""
    return base_error(y, costs, weight) + float(label_weights(y, costs, weight) @ probabilities)


def base_error(y: Floats, costs: tuple[float, float] = EQUAL_COSTS, weight: Floats | None = None) -> float:
    """The error of always saying 0: the constant of the reduction."""
    if weight is not None:
        return float(costs[1] * weight[y == 1.0].sum())
    return float(costs[1] * y.tolist().count(1.0))  # faster than NumPy for the few people of a round


def literal(X: Any, y: Any, reports: Sequence[Report], C: int, filler: Any) -> tuple[Any, Any]:
    """The paper's R_C: C copies of (x_ρ1, 0) and of (x_ρ2, 1); without a report, of (filler, 0) and (filler, 1).

    Several pairs get C/|P| copies each, so that Err(π, R_C(z)) = L_C(π, z) + C for any number of them.

    Parameters
    ----------
    X, y
        The people of the round (an array with one row per person) and their labels.
    reports
        The reported pairs.
    C
        How many copies, a whole number; a multiple of the number of pairs, as half a person can't be copied.
    filler
        The arbitrary instance v of the paper: one person, shaped like a row of ``X``.

    Examples
    --------
    >>> X, y = literal(np.array([[1.0], [2.0]]), np.array([1, 1]), [Report(0, 1)], C=2, filler=[0.0])
    >>> X.ravel().tolist(), y.tolist()
    ([1.0, 2.0, 1.0, 1.0, 2.0, 2.0], [1, 1, 0, 0, 1, 1])
    """
    require(C >= 0 and math.floor(C) == C, "C", "be a whole number of copies, at least 0", C)
    pairs = max(1, len(reports))
    require(C % pairs == 0, "C", f"be a multiple of the {pairs} pairs reported", C)
    X, y, each = np.asarray(X), np.asarray(y), int(C) // pairs
    people = X[[person for report in reports for person in report[:2]]] if reports else np.asarray([filler, filler])
    copies = np.repeat(people, each, axis=0)
    labels = np.repeat(np.array([0, 1] * pairs, dtype=y.dtype), each)
    return np.concatenate([X, copies]), np.concatenate([y, labels])
