"""A whole play of a learner over thresholds that keeps reports: the same loops as the readable play, the same bits."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from likewise.kernels.auditing import audit
from likewise.kernels.caching import cached
from likewise.kernels.elementary import exp, log, log1p
from likewise.kernels.lots import accumulate_floored, draw, estimate_at, label_part, penalised, with_floor
from likewise.kernels.mix_gap import masses_of_losses, mix_gap_from
from likewise.kernels.prices import seen_fine, settle_thresholds, threshold_tilted
from likewise.kernels.terms import CAP, PRICE, SLOPE, START, STEEP
from likewise.kernels.thresholds import all_before, places, probability_from, threshold_add
from likewise.kernels.weights import prior_gibbs, prior_leaders, shared
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
    UPKEEP,
    SHARED,
    STILL,
) = range(16)
"""The places of a learner's parameters. C grows by (first, growth) or (c, floor); horizon 0 stands for none."""


@njit(error_model="numpy")
def _penalty(rule, reports, t, delta):
    """C of a report in round t."""
    if rule[KIND] == CUTS_SCHEDULED:
        return exp(min(rule[SECOND_KNOB] * reports + log(rule[FIRST_KNOB]), LOG_CEILING))
    if rule[KIND] == CUTS_TILTED:
        floor = rule[SECOND_KNOB] * rule[WEIGHT] * math.sqrt(t / rule[RHO])
        return max(floor, rule[FIRST_KNOB] * delta / rule[RHO])
    return 0.0


@njit(error_model="numpy")
def _raised(rule, delta):
    """The least that Δ becomes on a report."""
    if rule[KIND] == CUTS_SCHEDULED:
        return 0.0
    return min(delta * (1 + rule[FIRST_KNOB] ** 2 / (2 * rule[RHO])), exp(LOG_CEILING))


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
def _upkeep(rule, delta):
    """Prices are set every so many rounds."""
    return max(1, int(min(rule[UPKEEP], rule[STILL] / (rule[RHO] / delta)))) if delta > 0 else 1


@njit(error_model="numpy")
def _settle(rule, sweeps, delta, share, prior, inverse, first, losses, weights, contrasts, terms, count, fresh, work):
    """Prices, share, weights and their sums after a round, in place; returns what the share cost a comparator."""
    if delta <= 0:
        for j in range(count - fresh, count):
            terms[j, PRICE] = terms[j, SLOPE]
            threshold_tilted(contrasts, j, first, losses, terms[j, SLOPE])
        prior_leaders(losses, prior, weights)
    else:
        eta = rule[RHO] / delta
        ground = prior_gibbs(losses, prior, eta, weights)
        if count > 0 and sweeps > 0:
            ground = settle_thresholds(
                losses,
                weights,
                prior,
                eta,
                ground,
                contrasts,
                terms,
                count,
                fresh,
                sweeps,
                rule[TOLERANCE],
                first,
                work,
            )
        if share > 0:
            shared(losses, weights, prior, inverse, eta, ground, share)
    if delta <= 0 or count == 0 or sweeps == 0 or share > 0:
        all_before(weights, first, work[0], work[1])
    return -log1p(-share) / (rule[RHO] / delta) if share > 0 else 0.0


@cached
def play_kept(
    rule, costs, side, prior, inverse, offset, first, k, rows, y, view, person, weight, metric, metric_weights,
    metric_inverse, alpha, level, choose, losses, weights, delta, reports, done, paid, frozen, count, contrasts, people,
    gaps, terms, passed, repeats, made, sums, average, lots, shown, pairs, violates, penalties, decisions, estimates,
):  # fmt: skip
    """Play rounds on people who come k by k, into the arrays that are given.

    The first ``count`` rows of the tables are those that are kept; there is room for one more than the most. Returns Δ,
    rounds with a report that was kept, rounds, what forgetting has cost, and the number of rows. ``side`` says whose
    labels are seen (``likewise.kernels.lots``), ``sums`` belong to its running doubt and are changed in place.
    """
    size, own, keys, part = places(first), np.empty(k), np.empty(k, np.int64), np.empty(k)
    over, under, different = np.empty(size), np.empty(size), 2 + 2 * (len(first) - 1) * (k + 1)
    mass, lost, work = np.empty(different), np.empty(different), (over, under, np.empty(size), np.zeros(size))
    all_before(weights, first, over, under)
    for r in range(len(y) // k):
        start, stop = r * k, (r + 1) * k
        batch, labels, seen, who = rows[start:stop], y[start:stop], view[start:stop], person[start:stop]
        estimate, p = estimates[r], shown[r]
        done += 1
        estimate_at(side, done, costs[1], sums, estimate)
        probability_from(weights, over, under, batch, first, own)
        with_floor(own, estimate[0], p)
        draw(lots[r], p, decisions[r])
        high, low, excess = audit(seen, p, metric, metric_weights, metric_inverse, level, choose)
        C = _penalty(rule, reports, done, delta)
        pairs[r, 0], pairs[r, 1] = high, low
        violates[r] = -1 if high < 0 else (1 if excess > alpha else 0)
        penalties[r] = C
        gap = p[high] - p[low] if high >= 0 else 0.0
        kept = high >= 0 and gap > rule[LEVEL]
        eta = rule[RHO] / delta if delta > 0 else math.inf
        label_part(labels, weight[start:stop], costs[0], costs[1], side, estimate, p, decisions[r], sums, part)
        s = penalised(part, high if kept else -1, low, C)
        least, before = _raised(rule, delta) if kept else 0.0, delta
        masses_of_losses(over, under, weights, batch, s, first, keys, mass, lost)
        accumulate_floored(average, weights, estimate[0])
        charge = mix_gap_from(mass, lost, losses, batch, s, own, eta, first, offset)
        delta = max(delta + charge, least)
        threshold_add(losses, batch, part, first)
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
        share = 0.0
        if delta > 0 and done % int(rule[SHARED]) == 0:
            share = rule[SHARED] * rule[FORGET] / (rule[HORIZON] if rule[HORIZON] > 0 else done)
        sweeps = int(rule[SWEEPS]) if kept else 1 if done % _upkeep(rule, delta) == 0 else 0
        paid += _settle(
            rule, sweeps, delta, share, prior, inverse, first, losses, weights, contrasts, terms, count,
            1 if kept else 0, work,
        )  # fmt: skip
    return delta, reports, done, paid, count
