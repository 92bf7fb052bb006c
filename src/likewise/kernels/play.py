"""A whole play of a learner with weights over thresholds, made of the loops of the other files."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from likewise.kernels.auditing import audit
from likewise.kernels.caching import cached
from likewise.kernels.elementary import exp, log
from likewise.kernels.lots import (
    ALL,
    LABELS,
    accumulate_floored,
    draw,
    estimate_at,
    label_part,
    penalised,
    with_floor,
)
from likewise.kernels.mix_gap import masses_of_losses, mix_gap_from
from likewise.kernels.thresholds import all_before, places, probability_from, threshold_add, threshold_shrunk
from likewise.kernels.weights import gibbs, leaders
from likewise.theory import LOG_CEILING

# How a learner turns losses into weights, and how much a report weighs.
EXPONENTIAL_WEIGHTS, HEDGE, ADAHEDGE_FIXED, ADAHEDGE_SCHEDULED, ADAHEDGE_TILTED = range(5)
UNIFORM = np.empty(0)
"""The offset of a uniform prior: there is none."""


@njit
def penalty(kind, knobs, reports, t, delta, log_size):
    """C_t, by the learner's rule."""
    if kind == ADAHEDGE_SCHEDULED:
        return exp(min(knobs[1] * reports + log(knobs[0]), LOG_CEILING))
    if kind == ADAHEDGE_TILTED:
        return max(knobs[1] * knobs[2] * math.sqrt(t / log_size), knobs[0] * delta / log_size)
    return knobs[0] if kind == ADAHEDGE_FIXED else knobs[1]


@njit
def raised(kind, knobs, delta, log_size):
    """The least that Δ becomes on a report."""
    if kind != ADAHEDGE_TILTED:
        return 0.0
    return min(delta * (1 + knobs[0] ** 2 / (2 * log_size)), exp(LOG_CEILING))


@njit
def _ones(y, decisions, side):
    """How many of the labels that are seen are 1."""
    count = 0.0
    for i in range(len(y)):
        if y[i] == 1.0 and (side[LABELS] == ALL or decisions[i]):
            count += 1.0
    return count


@cached
def play_rounds(
    kind, knobs, costs, side, log_size, first, k, rows, y, view, weight, metric, metric_weights, inverse, alpha, level,
    choose, losses, weights, delta, reports, done, sums, average, lots, shown, pairs, violates, penalties, decisions,
    estimates,
):  # fmt: skip
    """Play rounds of a threshold class on people who come k by k, into the arrays that are given.

    ``losses`` are the learner's numbers (log-weights for exponential weights), ``knobs`` its parameters: (γ/B, C),
    (η, C), (C), (first, growth) or (c, floor, k). ``losses`` and ``weights`` are changed in place; returns Δ, the
    number of reports and that of rounds after the last round. ``side`` says whose labels are seen
    (``likewise.kernels.lots``), ``sums`` belong to its running doubt and are changed in place.
    """
    columns, own, keys, part = len(first) - 1, np.empty(k), np.empty(k, np.int64), np.empty(k)
    over, under = np.empty(places(first)), np.empty(places(first))
    mass, lost = np.empty(2 + 2 * columns * (k + 1)), np.empty(2 + 2 * columns * (k + 1))
    for r in range(len(y) // k):
        batch, labels, seen = rows[r * k : (r + 1) * k], y[r * k : (r + 1) * k], view[r * k : (r + 1) * k]
        estimate, p = estimates[r], shown[r]
        estimate_at(side, done + 1, costs[1], sums, estimate)
        all_before(weights, first, over, under)
        probability_from(weights, over, under, batch, first, own)
        with_floor(own, estimate[0], p)
        draw(lots[r], p, decisions[r])
        high, low, excess = audit(seen, p, metric, metric_weights, inverse, level, choose)
        C = penalty(kind, knobs, reports, done + 1, delta, log_size)
        pairs[r, 0], pairs[r, 1] = high, low
        violates[r] = -1 if high < 0 else (1 if excess > alpha else 0)
        penalties[r] = C
        label_part(labels, weight[r * k : (r + 1) * k], costs[0], costs[1], side, estimate, p, decisions[r], sums, part)
        s = penalised(part, high, low, C)
        if kind != EXPONENTIAL_WEIGHTS and kind != HEDGE:
            masses_of_losses(over, under, weights, batch, s, first, keys, mass, lost)
        accumulate_floored(average, weights, estimate[0])
        if kind == EXPONENTIAL_WEIGHTS:
            base = costs[1] * _ones(labels, decisions[r], side) + C
            threshold_shrunk(losses, batch, s, base, knobs[0], first, losses)
            gibbs(losses, -1.0, weights)
        elif kind == HEDGE:
            threshold_add(losses, batch, s, first)
            gibbs(losses, knobs[0], weights)
        else:
            eta = log_size / delta if delta > 0 else math.inf
            least = raised(kind, knobs, delta, log_size) if high >= 0 else 0.0
            gap = mix_gap_from(mass, lost, losses, batch, s, own, eta, first, UNIFORM)
            delta = max(delta + gap, least)
            threshold_add(losses, batch, s, first)
            if delta > 0:
                gibbs(losses, log_size / delta, weights)
            else:
                leaders(losses, weights)
        reports += high >= 0
        done += 1
    return delta, reports, done
