"""A whole play of a learner over thresholds that keeps reports: the same loops as the readable play, the same bits."""

from __future__ import annotations

import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from likewise.kernels import play, prices
from likewise.kernels.play import (
    accumulate,
    audit,
    prior_leaders,
    prior_masses,
    shared,
    signed_weights,
    threshold_added,
    threshold_mix_gap,
    threshold_probability,
)
from likewise.kernels.prices import CAP, PRICE, SLOPE, START, STEEP, seen_fine, threshold_prices, threshold_tilted
from likewise.theory import LOG_CEILING

CUTS_SCHEDULED, CUTS_TILTED, CUTS_ALONE = range(3)
(
    KIND,
    FIRST_KNOB,
    SECOND_KNOB,
    WEIGHT,
    EPSILON,
    CAP_FACTOR,
    MOST_ROWS,
    LEVEL,
    FORGET,
    HORIZON,
    RHO,
    TOLERANCE,
    SWEEPS,
) = range(13)
"""The places of a learner's parameters. C grows by (first, growth) or (c, floor); horizon 0 stands for none."""


@njit(error_model="numpy")
def _penalty(rule, reports, t, delta):
    """C of a report in round t."""
    if rule[KIND] == CUTS_SCHEDULED:
        return math.exp(min(rule[SECOND_KNOB] * reports + math.log(rule[FIRST_KNOB]), LOG_CEILING))
    if rule[KIND] == CUTS_TILTED:
        floor = rule[SECOND_KNOB] * rule[WEIGHT] * math.sqrt(t / rule[RHO])
        return max(floor, rule[FIRST_KNOB] * delta / rule[RHO])
    return 0.0


@njit(error_model="numpy")
def _raised(rule, delta):
    """The least that Δ becomes on a report."""
    if rule[KIND] == CUTS_SCHEDULED:
        return 0.0
    return min(delta * (1 + rule[FIRST_KNOB] ** 2 / (2 * rule[RHO])), math.exp(LOG_CEILING))


@njit(error_model="numpy")
def _row_of(one, other, first, row):
    """The contrast of two people: where either stands among the cuts, the same place in columns where both agree."""
    columns = len(one)
    for j in range(columns):
        at, apart = first[j] + j, one[j] != other[j]
        row[j], row[columns + j] = at + (one[j] if apart else 0), at + (other[j] if apart else 0)


@njit(error_model="numpy")
def _same(contrasts, count):
    """Which rows have the contrast of the one after the last."""
    same = np.zeros(count, np.bool_)
    for j in range(count):
        same[j] = True
        for c in range(contrasts.shape[1]):
            if contrasts[j, c] != contrasts[count, c]:
                same[j] = False
                break
    return same


@njit(error_model="numpy")
def _join(rule, count, t, delta, C, gap, contrasts, people, gaps, terms, passed, repeats, made):
    """Fill in the row after the last, whose contrast and people are there already."""
    again, contradicted = 0, False
    same = _same(contrasts, count)
    for j in range(count):
        if same[j]:
            again = max(again, repeats[j] + 1)
        if people[j, 0] == people[count, 0] and people[j, 1] == people[count, 1] and passed[j] >= gap:
            contradicted = True
    base = rule[CAP_FACTOR] * C if rule[KIND] != CUTS_ALONE else rule[CAP_FACTOR] * rule[EPSILON] * delta / rule[RHO]
    gaps[count], passed[count], repeats[count], made[count] = gap, -math.inf, again, t
    terms[count, PRICE], terms[count, SLOPE] = 0.0, C
    terms[count, CAP] = C if contradicted else base * 2.0 ** min(again, 60)
    terms[count, STEEP] = gap - rule[EPSILON]
    terms[count, START] = min(rule[LEVEL], terms[count, STEEP])


@njit(error_model="numpy")
def _shorten(count, frozen, contrasts, people, gaps, terms, passed, repeats, made):
    """Drop the oldest idle row but the newest, or else freeze the oldest."""
    out = 0
    for j in range(count - 1):
        if terms[j, PRICE] == 0.0:
            out = j
            break
    frozen[0] += terms[out, PRICE] * 1.0
    frozen[1] += terms[out, PRICE] * gaps[out]
    for j in range(out, count - 1):
        contrasts[j], people[j], terms[j] = contrasts[j + 1], people[j + 1], terms[j + 1]
        gaps[j], passed[j], repeats[j], made[j] = gaps[j + 1], passed[j + 1], repeats[j + 1], made[j + 1]


@njit(error_model="numpy")
def _settle(rule, delta, share, prior, first, losses, weights, contrasts, terms, count, fresh):
    """Prices, share and weights after a round, in place; returns what the share cost a comparator."""
    if delta <= 0:
        for j in range(count - fresh, count):
            terms[j, PRICE] = terms[j, SLOPE]
            threshold_tilted(contrasts, j, first, losses, terms[j, SLOPE])
        prior_leaders(losses, prior, weights)
        return 0.0
    eta = rule[RHO] / delta
    low = prior_masses(losses, prior, eta, weights)
    low = threshold_prices(
        losses, weights, prior, eta, low, contrasts[:count], terms[:count], fresh, int(rule[SWEEPS]) if fresh else 1,
        rule[TOLERANCE], first,
    )  # fmt: skip
    shared(losses, weights, prior, eta, low, share)
    return -math.log1p(-share) / eta if share > 0 else 0.0


def _compiled(checksum: int) -> Any:
    """The loop. numba notices a change of this file, not of loops from others: it closes over their checksum."""

    @njit(cache=True, error_model="numpy")
    def play_kept(
        rule, costs, prior, offset, first, rows, y, view, person, draws, metric, metric_weights, inverse, alpha, level,
        choose, losses, weights, delta, reports, done, paid, frozen, count, contrasts, people, gaps, terms, passed,
        repeats, made, average, shown, pairs, violates, penalties,
    ):  # fmt: skip
        """Play ``len(draws)`` rounds on a stored population, into the arrays that are given.

        The first ``count`` rows of the tables are those that are kept; there is room for one more than the most.
        Returns Δ, rounds with a report that was kept, rounds, what forgetting has cost, and the number of rows.
        """
        _ = checksum
        k = draws.shape[1]
        batch, seen = np.empty((k, rows.shape[1]), rows.dtype), np.empty((k, view.shape[1]))
        labels, p, who = np.empty(k), np.empty(k), np.empty(k, np.int64)
        for r in range(len(draws)):
            for i in range(k):
                batch[i] = rows[draws[r, i]]
                seen[i] = view[draws[r, i]]
                labels[i] = y[draws[r, i]]
                who[i] = person[draws[r, i]]
            threshold_probability(weights, batch, first, p)
            high, low, excess = audit(seen, p, metric, metric_weights, inverse, level, choose)
            done += 1
            C = _penalty(rule, reports, done, delta)
            shown[r] = p
            pairs[r, 0], pairs[r, 1] = high, low
            violates[r] = -1 if high < 0 else (1 if excess > alpha else 0)
            penalties[r] = C
            accumulate(average, weights)
            gap = p[high] - p[low] if high >= 0 else 0.0
            kept = high >= 0 and gap > rule[LEVEL]
            eta = rule[RHO] / delta if delta > 0 else math.inf
            s = signed_weights(labels, high if kept else -1, low, C, costs[0], costs[1])
            least, before = _raised(rule, delta) if kept else 0.0, delta
            delta = max(delta + threshold_mix_gap(weights, losses, batch, s, p, eta, first, offset), least)
            if kept:
                s = signed_weights(labels, -1, -1, 0.0, costs[0], costs[1])
            threshold_added(losses, batch, s, first, losses)
            if high < 0:
                seen_fine(count, who, p, people, gaps, terms, passed)
            if kept:
                _row_of(batch[high], batch[low], first, contrasts[count])
                people[count, 0], people[count, 1] = who[high], who[low]
                _join(rule, count, done, before, C, gap, contrasts, people, gaps, terms, passed, repeats, made)
                count += 1
                reports += 1
                if count > max(1, int(rule[MOST_ROWS])):
                    _shorten(count, frozen, contrasts, people, gaps, terms, passed, repeats, made)
                    count -= 1
            share = rule[FORGET] / (rule[HORIZON] if rule[HORIZON] > 0 else done) if delta > 0 else 0.0
            paid += _settle(
                rule, delta, share, prior, first, losses, weights, contrasts, terms, count, 1 if kept else 0
            )
        return delta, reports, done, paid, count

    return play_kept


play_kept = _compiled(zlib.crc32(b"".join(Path(str(file.__file__)).read_bytes() for file in (play, prices))))
