"""The compiled loop of experiment 4: an adversary that sees p^t and shows the worst of some pairs of people.

A million rounds of it take minutes in Python. The loop is made of the library's kernels, and the experiment checks it
against ``play``.
"""

from __future__ import annotations

import math

import numpy as np

from likewise.kernels.caching import cached
from likewise.kernels.elementary import log1p
from likewise.kernels.lanes import minimum
from likewise.kernels.play import ADAHEDGE_TILTED, EXPONENTIAL_WEIGHTS, penalty, raised
from likewise.kernels.weights import free_energy, gibbs, leaders
from likewise.theory import ROUNDING


@cached
def play_pairs(kind, knobs, log_size, first, second, alpha, T, gaps):
    """T rounds of a listed class against an adversary that shows, of some pairs of people who are alike, the worst.

    Each pair is labelled (1, 0). ``first`` and ``second`` are (pairs, N): what each hypothesis says of either
    person. ``gaps`` takes π(first) − π(second) of the pair shown; a gap beyond ±α is reported. Returns the number
    of reports.
    """
    pairs, N = first.shape
    losses, lost, after = np.zeros(N), np.empty(N), np.empty(N)  # log weights, negated, for exponential weights
    weights = np.empty(N)
    delta = knobs[2] if kind == ADAHEDGE_TILTED else 0.0
    reports = 0
    for t in range(T):
        if kind == EXPONENTIAL_WEIGHTS:
            gibbs(losses, 1.0, weights)
        elif delta > 0:
            gibbs(losses, log_size / delta, weights)
        else:
            leaders(losses, weights)
        shown, gap = 0, -math.inf
        for i in range(pairs):
            tempting = 0.0
            for f in range(N):
                tempting += (first[i, f] - second[i, f]) * weights[f]
            if tempting > gap:
                shown, gap = i, tempting
        gaps[t] = gap
        reported = abs(gap) > alpha
        C = penalty(kind, knobs, reports, t + 1, delta, log_size)
        weight = -1.0  # of π(first) in the Lagrangian loss; π(second) has the opposite
        if reported:
            reports += 1
            weight += C if gap > 0 else -C
        for f in range(N):
            lost[f] = weight * (first[shown, f] - second[shown, f])
            after[f] = losses[f] + lost[f]
        if kind == EXPONENTIAL_WEIGHTS:
            for f in range(N):
                losses[f] -= log1p(-knobs[0] * (1.0 + C + lost[f]))
            continue
        if delta > 0:
            mixed = free_energy(after, log_size / delta) - free_energy(losses, log_size / delta)
        else:
            mixed = minimum(after) - minimum(losses)
        grown = weight * gap - mixed
        least = raised(kind, knobs, delta, log_size) if reported else 0.0
        delta = max(delta + (grown if grown > ROUNDING * 2 * abs(weight) else 0.0), least)
        losses[:] = after
    return reports
