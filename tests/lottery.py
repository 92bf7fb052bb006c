"""Rounds with the lot of one's choice, and every lot that makes a difference."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np


def fixed_lots(lots):
    """Lots that are always these: a number for everybody, or one for each."""
    return SimpleNamespace(kind="fixed", of=lambda t, people: np.full(people, lots))


def every_lot(shown, kind):
    """All lots that make a difference, with their probabilities: one lot between its breakpoints, own lots in turn."""
    if kind == "round":
        cuts = np.unique([0.0, *shown, 1.0])
        return [(np.full(len(shown), low), high - low) for low, high in itertools.pairwise(cuts)]
    chances = itertools.product(*([(0.0, p), (p, 1.0 - p)] for p in shown.tolist()))
    return [(np.array([lot for lot, _ in each]), float(np.prod([p for _, p in each]))) for each in chances]


def second_count(t):
    """ŝ of everybody straight from its definition, and π without the floor: a loop over people, nothing shared."""
    guesses, own = np.empty(len(t.y)), np.empty(len(t.y))
    fp, fn = t.costs
    for i in range(t.rounds):
        floor, u, slack = t.estimates[i].tolist()
        for j in range(t.starts[i], t.starts[i + 1]):
            seen = t.decisions[j] and not np.isnan(t.y[j])
            s = fp * (1 - t.y[j]) - fn * t.y[j]
            guesses[j] = u + ((s - u) / (t.shown[j] + slack) if seen else 0.0)
            guesses[j] *= 1.0 if t.weight is None else t.weight[j]
            own[j] = (t.shown[j] - floor) / (1 - floor)
    return guesses, own
