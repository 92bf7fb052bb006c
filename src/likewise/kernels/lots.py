"""Decisions drawn by lot, and the label part of signed weights: by all labels, or estimated from those of the accepted.

π̃ = γ + (1 − γ) π,   accepted iff lot < π̃,   ŝ_i = u + 1[accepted] (s_i − u)/(π̃_i + γ′)
"""

from __future__ import annotations

import math

from numba import njit

LABELS, DOUBT, FLOOR, SLACK, RHO, ROUNDS = range(6)
"""The places of what a play knows of its labels: which are seen; β, below 0 for a running doubt; x and x′ in
γ = min(¼, x√(ρ/T)) and γ′ = min(¼, x′√(ρ/T)); ρ; and T, 0 for none."""
ALL, ACCEPTED, ESTIMATED = range(3)
"""All labels are seen; those of accepted people; those, with estimates for the others."""
ALONE = 2.0
"""So many people who count nothing stand at the start of the running doubt."""


@njit(cache=True, error_model="numpy")
def estimate_at(side, t, cost, sums, estimate):
    """Floor, doubt and slack of round t, in place; ``sums`` are Σ 1/π̃ and Σ s/π̃ of the people seen."""
    if side[LABELS] != ESTIMATED:
        estimate[0], estimate[1], estimate[2] = 0.0, 0.0, 0.0
        return
    root = math.sqrt(side[RHO] / (side[ROUNDS] if side[ROUNDS] > 0 else t))
    estimate[0], estimate[2] = min(0.25, side[FLOOR] * root), min(0.25, side[SLACK] * root)
    if side[DOUBT] < 0:
        estimate[1] = min(0.0, max(-cost, sums[1] / (ALONE + sums[0])))
    else:
        estimate[1] = -side[DOUBT] * cost


@njit(cache=True, error_model="numpy")
def with_floor(own, floor, shown):
    """From the learner's own probabilities to those deployed, and back again as the learner will be charged."""
    for i in range(len(own)):
        shown[i] = floor + (1.0 - floor) * own[i] if floor > 0 else own[i]
        if floor > 0:
            own[i] = (shown[i] - floor) / (1.0 - floor)


@njit(cache=True, error_model="numpy")
def draw(lots, shown, decisions):
    """Who is accepted."""
    for i in range(len(shown)):
        decisions[i] = lots[i] < shown[i]


@njit(cache=True, error_model="numpy")
def label_part(labels, weight, false_positive, false_negative, side, estimate, shown, decisions, sums, s):
    """The label part of signed weights, into ``s``; adds the people seen to the sums of a running doubt."""
    both, seen, worth = false_positive + false_negative, 0.0, 0.0
    for i in range(len(labels)):
        known = labels[i] == labels[i] and (side[LABELS] == ALL or decisions[i])
        if side[LABELS] != ESTIMATED:
            s[i] = false_positive - both * labels[i] if known else 0.0
        else:
            s[i] = estimate[1]
            if known:
                s[i] += (false_positive - both * labels[i] - s[i]) / (shown[i] + estimate[2])
                each = 1.0 / shown[i] * weight[i]
                seen += each
                worth += (false_positive - both * labels[i]) * each
        s[i] *= weight[i]
    sums[0] += seen
    sums[1] += worth


@njit(cache=True, error_model="numpy")
def penalised(labels, favoured, disfavoured, C):
    """Signed weights: their label part, with the penalty of a reported pair, if there is one."""
    s = labels.copy()
    if favoured >= 0:
        s[favoured] += C
        s[disfavoured] -= C
    return s


@njit(cache=True, error_model="numpy")
def accumulate_floored(total, weights, floor):
    """total += (1 − γ) weights."""
    for i in range(len(total)):
        total[i] += (1.0 - floor) * weights[i] if floor > 0 else weights[i]
