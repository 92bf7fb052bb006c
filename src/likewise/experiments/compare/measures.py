"""What is measured of a play besides its errors and reports: what it took, and what it did to people beyond a round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from likewise import hindsight
from likewise.auditors import MetricAuditor, named_metric
from likewise.errors import InvalidParameter
from likewise.game import Transcript
from likewise.protocol import Distance, Floats, Key, Learner, Role

if TYPE_CHECKING:
    from likewise.experiments.compare.arena import Arena

PAIRS, AT_ONCE = 20_000, 200
"""Pairs of people of different rounds that are looked at; in so many draws of people at a time."""
SHARED = 500
"""People on whom a play is put beside the best fair policy of any kind."""


def last_quarter(t: Transcript) -> slice:
    """Where the people of the last quarter of the rounds are."""
    return slice(int(t.starts[t.rounds - max(1, t.rounds // 4)]), int(t.starts[-1]))


def violating(t: Transcript, distance: Distance | str) -> Any:
    """For each round, whether some pair differs by more than its distance + α, whether or not anybody reported it.

    An auditor who misses pairs, or compares differently, would make a learner look fairer than it was: all learners
    and auditors are measured by the same hidden distance.
    """
    auditor, key = MetricAuditor(distance, t.alpha), Key(0, Role.AUDITOR, 1)
    return np.array([auditor.audit(round_.batch, round_.probabilities, key) is not None for round_ in t])


def unfair_across(t: Transcript, distance: Distance | str, pairs: int = PAIRS) -> float | None:
    """Of two random people of different rounds of the last quarter, how often their probabilities are too far apart.

    None if the last quarter is one round. A method that is fair on each batch by itself shows here what it does to
    people who came on different days.
    """
    people = last_quarter(t)
    where = np.arange(people.start, people.stop)
    rounds = np.searchsorted(t.starts, where, side="right")
    if rounds[0] == rounds[-1]:
        return None
    compare = named_metric(distance) if isinstance(distance, str) else distance
    rng, unfair, seen = np.random.default_rng(0), 0, 0
    while seen < pairs:
        chosen = rng.choice(len(where), size=min(AT_ONCE, len(where)), replace=False)
        some, when = where[chosen], rounds[chosen]
        view = t.view.iloc[some] if hasattr(t.view, "iloc") else t.view[some]
        p = t.shown[some]
        over = p[:, None] - p - np.asarray(compare(view)) > t.alpha
        apart = when[:, None] != when
        unfair += int(((over | over.T) & apart).sum()) // 2
        seen += int(apart.sum()) // 2
    return unfair / seen


def lottery(t: Transcript) -> float:
    """Mean of 2π(1 − π) in the last quarter: how likely two equal people get different answers."""
    p = t.shown[last_quarter(t)]
    return float(np.mean(2 * p * (1 - p)))


def answers(learner: Learner, t: Transcript) -> int | None:
    """How many verdicts or distances people gave; None where the learner holds the distance itself."""
    count = getattr(learner, "answers", None)
    return int(t.reviewed.sum()) if count is None else count(t.state)


def label_probabilities(features: Floats, y: Floats, groups: Any) -> Floats | None:
    """For each person who plays, how likely their label is, by a model without them; None if labels are too few."""
    try:
        return hindsight.cross_fitted(features, y, groups=groups)
    except InvalidParameter:
        return None


def share_of_gain(t: Transcript, arena: Arena) -> float | None:
    """The share of the possible gain over a constant that the play reached on some people of its last quarter.

    They are the same people for every learner, and get what they were shown. None where there is too little to win, or
    too few labels for a model of the label.
    """
    q = arena.label_probabilities
    if q is None:
        return None
    rows = arena.environment.draws(t.seed, t.first, t.rounds).ravel()
    people = last_quarter(t)
    first = np.unique(rows[people], return_index=True)[1]  # nobody twice
    chosen = people.start + np.sort(first)[:SHARED]
    likely, p = q[rows[chosen]], t.shown[chosen]
    false_positive, false_negative = t.costs
    error = float(np.mean(false_positive * p * (1 - likely) + false_negative * (1 - p) * likely))
    best = hindsight.best_of_any(t.view[chosen], likely, arena.distance, t.alpha, costs=t.costs)
    return hindsight.share_of_possible_gain(best.constant, error, best.error)
