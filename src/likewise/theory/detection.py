"""How much of what is there do reviewers find? The probability r of detection, from overlap or from known rounds.

r goes into Theorem L in the place where it belongs, r·q for q (``review_limit(…, detection=r)``), as an assumption that
is printed, or as a lower limit at δ/2 with Theorem L at δ/2. Never multiply a finished limit by 1/r: that has no
confidence.

From overlap r is only as good as independence given that a round violates. What another found is easier than average,
so r comes out too large where rounds differ in how easy they are. Known ("gold") rounds don't have this fault; theirs
is that they may be easier than the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from likewise.errors import require, require_number, require_whole
from likewise.theory.agreement import Interval, Overlap, binomial_limits, positive_agreement
from likewise.theory.generalisation import holdout
from likewise.theory.ranges import within

ALLOWANCES = (1.0, 2.0, 4.0)
"""ω: how many times larger the odds are that the second sees what the first saw."""
USUAL_MISSES, BAD_MISSES = 0.1, 0.3
"""The miss rates that the alarm on gold rounds tells apart."""
GOLD_ALARM = math.log(200)
"""At least 200 gold rounds between false alarms on average."""
SECONDS_ALARM = 5.0
BASELINE = 100
"""A reviewer's first rounds, by which later ones are standardised."""


# From overlap ----------------------------------------------------------------------------------------------


def detection_by_overlap(overlap: Overlap, delta: float = 0.05) -> Interval:
    """r of two reviewers of equal skill: 2φ/(1 + φ) at Clopper and Pearson's limits φ of a out of a + b + c.

    Assumes that they find a violating round independently, each with probability r, and that no report is false: count
    only reports that were upheld. False reports make r too small, rounds of different ease too large.

    Examples
    --------
    >>> "{0:.2f}, from {1:.2f} to {2:.2f}".format(*detection_by_overlap(Overlap(30, 4, 3, 663)))
    '0.90, from 0.79 to 0.96'
    """
    return positive_agreement(overlap, delta)


def detection_of_first(overlap: Overlap, delta: float = 0.05) -> Interval:
    """r₁ of the first reviewer, whatever the second one's skill: exact limits of a out of a + c.

    Of what the second found, the first found so much; the same assumptions. Swap the two for the second's r₂.

    Examples
    --------
    >>> "{1:.2f} to {2:.2f}".format(*detection_of_first(Overlap(18, 9, 2, 671)))
    '0.68 to 0.99'
    """
    return binomial_limits(overlap.both, overlap.both + overlap.second, delta)


def chapman(overlap: Overlap) -> float:
    """Chapman 1951: (n₁ + 1)(n₂ + 1)/(a + 1) − 1 = a + b + c + bc/(a + 1) violating rounds among those judged twice.

    Examples
    --------
    >>> chapman(Overlap(9, 4, 5, 82))
    20.0
    """
    return overlap.reported + overlap.first * overlap.second / (overlap.both + 1)


def chapman_limits(overlap: Overlap, delta: float = 0.05) -> tuple[int, int]:
    """Exact limits of the violating rounds among those judged twice: all V with both hypergeometric tails above δ/2.

    Given n₁ = a + b and n₂ = a + c, what both found is Hypergeometric(V, n₁, n₂). At most the rounds judged twice.

    Examples
    --------
    >>> chapman_limits(Overlap(9, 4, 5, 82))
    (18, 31)
    """
    within(delta=delta)
    a, n1, n2 = overlap.both, overlap.both + overlap.first, overlap.both + overlap.second
    fits = [V for V in range(overlap.reported, overlap.rounds + 1) if min(_tails(a, V, n1, n2)) > delta / 2]
    return (fits[0], fits[-1]) if fits else (overlap.reported, overlap.rounds)


def _tails(a: int, V: int, n1: int, n2: int) -> tuple[float, float]:
    """Pr[X ≤ a] and Pr[X ≥ a] for X ~ Hypergeometric(V, n1, n2)."""
    low, high = max(0, n1 + n2 - V), min(n1, n2)
    logs = [_log_choose(n1, x) + _log_choose(V - n1, n2 - x) - _log_choose(V, n2) for x in range(low, high + 1)]
    every = np.exp(np.array(logs))
    return float(every[: a - low + 1].sum()), float(every[a - low :].sum())


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def unseen_by_both(overlap: Overlap, allowance: float = 1.0) -> float:
    """ω·bc/a: violating rounds that neither saw, if the odds that the second sees one are ω times larger where the
    first did. Infinite where nothing was found by both. To be shown at ω = 1, 2 and 4.

    Examples
    --------
    >>> [unseen_by_both(Overlap(10, 4, 5, 81), omega) for omega in ALLOWANCES]
    [2.0, 4.0, 8.0]
    """
    require_number(allowance, "allowance", 1)
    apart = overlap.first * overlap.second
    return (allowance * apart / overlap.both if overlap.both else math.inf) if apart else 0.0


# From known rounds -----------------------------------------------------------------------------------------


def detection_by_gold(missed: int, gold: int, delta: float = 0.05) -> float:
    """r is at least this, w.p. 1 − δ, from gold rounds with a violation of which so many were missed (exact binomial).

    Assumes that they are no easier than the others, and that reviewers can't tell them apart.

    Examples
    --------
    >>> [round(detection_by_gold(0, n), 2) for n in (14, 29, 59)], round(detection_by_gold(1, 46), 2)
    ([0.81, 0.9, 0.95], 0.9)
    """
    require_whole(gold, "gold", 0)
    require_whole(missed, "missed", 0)
    require(missed <= gold, "missed", f"be in 0 … gold = {gold}", missed)
    return 0.0 if gold == 0 else 1 - holdout(missed, gold, delta)


def gold_needed(detection: float, missed: int = 0, delta: float = 0.05) -> int:
    """How many gold rounds with a violation prove detection r, if at most so many of them are missed.

    Examples
    --------
    >>> [gold_needed(r) for r in (0.8, 0.9, 0.95)], [gold_needed(r, missed=1) for r in (0.8, 0.9, 0.95)]
    ([14, 29, 59], [22, 46, 93])
    """
    require_number(detection, "detection", 0, 1, open_at="low high")
    require_whole(missed, "missed", 0)
    gold = missed + 1
    while detection_by_gold(missed, gold, delta) < detection:
        gold += 1
    return gold


class Gold(NamedTuple):
    """A reviewer's answers to known rounds. They are no rounds of the stream: never learned from, never counted there.

    Attributes
    ----------
    found, missed
        Of the rounds that hold a violation. Another upheld pair than the one on record is found, too.
    clean, false
        Of the rounds that hold none: "none" was said, or a pair was named.
    """

    found: int = 0
    missed: int = 0
    clean: int = 0
    false: int = 0

    def add(self, violating: bool, reported: bool) -> Gold:
        """One more known round."""
        name = ("found" if reported else "missed") if violating else ("false" if reported else "clean")
        return self._replace(**{name: getattr(self, name) + 1})

    def detection(self, delta: float = 0.05) -> Interval:
        """The share of violations found, with exact limits.

        Examples
        --------
        >>> "{1:.2f} to {2:.2f}".format(*Gold(found=19, missed=1).detection())
        '0.75 to 1.00'
        """
        return binomial_limits(self.found, self.found + self.missed, delta)

    def false_reports(self, delta: float = 0.05) -> Interval:
        """The share of clean rounds that were reported, with exact limits."""
        return binomial_limits(self.false, self.false + self.clean, delta)


def false_report_share(upheld: int, adjudicated: int, delta: float = 0.05) -> Interval:
    """The share of reports that were not upheld, of those that a third reviewer was asked about, with exact limits."""
    return binomial_limits(adjudicated - upheld, adjudicated, delta)


# Drift -----------------------------------------------------------------------------------------------------


def gold_cusum(level: float, missed: bool, usual: float = USUAL_MISSES, bad: float = BAD_MISSES) -> float:
    """Page's sum after one more gold round with a violation: max(0, S) + ln(p₁(x)/p₀(x)). Ring at ``GOLD_ALARM``.

    As long as the miss rate is p₀ or less, at least 200 gold rounds pass between alarms on average: the sum is at most
    the logarithm of the Shiryaev–Roberts sum, which grows by 1 a round on average.

    Examples
    --------
    >>> level, rounds = 0.0, 0
    >>> while level < GOLD_ALARM:
    ...     level, rounds = gold_cusum(level, missed=True), rounds + 1
    >>> rounds
    5
    """
    require(0 < usual < bad < 1, "bad", "exceed the usual miss rate, both in (0, 1)", bad)
    return max(0.0, level) + (math.log(bad / usual) if missed else math.log((1 - bad) / (1 - usual)))


class Pace(NamedTuple):
    """How long a reviewer took at first: ln seconds ≈ constant + slope · ln(1 + pairs), give or take ``spread``."""

    constant: float
    slope: float
    spread: float

    def standardised(self, seconds: float, pairs: int) -> float:
        """z: how far ln seconds lies above what this reviewer needed at first, in spreads."""
        require_number(seconds, "seconds", 0, open_at="low")
        return (math.log(seconds) - self.constant - self.slope * math.log1p(pairs)) / self.spread


def pace(seconds: Sequence[float], pairs: Sequence[int]) -> Pace:
    """The pace of a reviewer's first 100 rounds, by least squares; ``pairs`` counts the pairs above the level in each.

    Examples
    --------
    >>> slow = pace([8.0, 16.0, 9.0, 15.0], [1, 3, 1, 3])
    >>> slow.standardised(2.0, 3) < -5
    True
    """
    require(len(seconds) == len(pairs) >= 2, "seconds", "be as many as pairs, two at least", len(seconds))
    y, x = np.log(np.asarray(seconds, dtype=float))[:BASELINE], np.log1p(np.asarray(pairs, dtype=float))[:BASELINE]
    deviation = x - x.mean()
    slope = float(deviation @ y / (deviation @ deviation)) if deviation.any() else 0.0
    constant = float(y.mean() - slope * x.mean())
    return Pace(constant, slope, max(1e-6, float((y - constant - slope * x).std())))


def seconds_cusum(level: float, z: float) -> float:
    """Page's sum of (−z − ½) after one more round; ring at ``SECONDS_ALARM``. A signal for a talk, never for a claim.

    Examples
    --------
    >>> seconds_cusum(0.0, -2.0), seconds_cusum(-0.5, 1.0)
    (1.5, -1.5)
    """
    return max(0.0, level) - z - 0.5


def hurried(seconds: float, pairs: int) -> bool:
    """Whether a look was shorter than 1 s and ½ s for each pair above the level.

    Examples
    --------
    >>> hurried(1.2, 1), hurried(1.6, 1)
    (True, False)
    """
    return seconds < 1 + 0.5 * pairs
