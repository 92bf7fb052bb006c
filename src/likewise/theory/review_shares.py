"""Before the lot: with which probability a round is drawn for review, and what a number of reviews buys.

The limit of Theorem L depends on the probability q of a review, not on the number of rounds: none found proves "at most
x" at q ≥ 1 − δ^{1/(x+1)}. Horvitz and Thompson's estimate has variance Σ v_t (1/q_t − 1), least at q_t ∝ √Pr[v_t = 1]
(Neyman 1934), and the largest gap of a round stands in for that. A floor is needed, as the rounds that are reviewed
least set the limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from likewise.errors import require, require_number, require_whole
from likewise.theory.ranges import within
from likewise.theory.review import BET_WEIGHTS, BETS, ReviewCount, add_round, review_count, review_limit

WINDOW = 300
"""The mean gap is that of the last so many uncleared rounds, the present one included."""
FLOOR = 1 / 3
"""The least probability of a review, as a part of the share that is planned."""
BY = ("gap", "largest", "equal")
"""In proportion to the largest gap; the largest gaps for sure and the rest at the floor; all with the same one."""


def review_floor(share: float, by: str = "gap") -> float:
    """The least probability of a review that a plan gives to an uncleared round: a third of the share, or the share.

    Examples
    --------
    >>> round(review_floor(0.3), 6), review_floor(0.3, "equal"), review_floor(1.0)
    (0.1, 0.3, 1.0)
    """
    require_number(share, "share", 0, 1, open_at="low")
    require(by in BY, "by", f"be one of {', '.join(map(repr, BY))}", by)
    return float(share) if by == "equal" or share == 1 else share * FLOOR


def review_probability(gap: float, earlier: Sequence[float], share: float, by: str = "gap") -> float:
    """q_t of an uncleared round: clip(share · gap/mean gap, share/3, 1), the mean over the last 300 uncleared rounds.

    Parameters
    ----------
    gap
        The largest gap of this round, above the level of reporting. It may be anything known before the lot.
    earlier
        The gaps of the uncleared rounds before it; the last 299 are used.
    share
        b: which part of the uncleared rounds is to be reviewed. 1: every one.
    by
        ``"gap"``: in proportion to the gap. ``"largest"``: the largest gaps of the last 300 for sure, so many that the
        share is kept (the one at the border, and gaps as large as that, with what is left of it), and the others at the
        floor: it finds more and proves less. The share is kept on average if all orders of the gaps are equally likely;
        while gaps grow, each is among the largest so far and more is drawn, while they shrink, less. ``"equal"``: all
        the same.

    Examples
    --------
    >>> [round(review_probability(gap, [0.2, 0.4], share=0.3), 3) for gap in (0.1, 0.3, 0.9)]
    [0.129, 0.3, 0.54]
    >>> review_probability(0.9, [0.2] * 20, share=0.3, by="largest")
    1.0
    """
    floor = review_floor(share, by)
    require_number(gap, "gap", 0, 1, open_at="low")
    if floor == share:
        return floor
    recent = [*earlier[-(WINDOW - 1) :], gap]
    if by == "largest":
        surely = (share - floor) / (1 - floor) * len(recent)  # of n rounds: surely + (n − surely) · floor = n · share
        larger = sum(other > gap for other in recent)
        ties = sum(other == gap for other in recent)  # those at the border share what is left
        return floor + (1 - floor) * min(1.0, max(0.0, (surely - larger) / ties))
    mean = math.fsum(recent) / len(recent)
    return min(1.0, max(floor, share * gap / mean))


def daily_share(budget: float, uncleared: int) -> float:
    """The share that a budget of reviews a day affords: min(1, budget/uncleared rounds of the past day).

    Examples
    --------
    >>> daily_share(100, 1000), daily_share(100, 0)
    (0.1, 1.0)
    """
    require_number(budget, "budget", 0, open_at="low")
    require_whole(uncleared, "uncleared", 0)
    return 1.0 if uncleared == 0 else min(1.0, budget / uncleared)


# What it buys ----------------------------------------------------------------------------------------------


def fixed_plan_share(x: int, delta: float = 0.05) -> float:
    """q ≥ 1 − δ^{1/(x+1)}: none found then proves "at most x violating rounds", in a plan with a fixed end.

    Whoever looks earlier, or reacts to what is found, needs ``share_needed``.

    Examples
    --------
    >>> round(fixed_plan_share(10), 3), round(fixed_plan_share(100), 4)
    (0.238, 0.0292)
    """
    require_whole(x, "x", 0)
    within(delta=delta)
    return -math.expm1(math.log(delta) / (x + 1))


def share_needed(x: int, delta: float = 0.05, detection: float = 1.0) -> float:
    """The least q at which none found proves "at most x violating rounds" by Theorem L, at any time.

    It doesn't depend on the number of rounds: x = pT says "at most a share p of T". Reviewers who find a share
    ``detection`` need q/r. More than 1: it can't be proved so.

    Examples
    --------
    >>> round(share_needed(10), 3), round(share_needed(100), 4)
    (0.265, 0.0327)
    """
    require_whole(x, "x", 0)
    within(delta=delta)
    require_number(detection, "detection", 0, 1, open_at="low")
    low, high, evidence = 0.0, 1.0, math.log(1 / delta)
    for _ in range(60):
        q = (low + high) / 2
        wealth = np.logaddexp.reduce(np.log(BET_WEIGHTS) - (x + 1) * np.log1p(-q * BETS))
        low, high = (low, q) if wealth >= evidence else (q, high)
    return high / detection


class Prospect(NamedTuple):
    """What can be said at the end, if a share ``rate`` of the uncleared rounds violates.

    Attributes
    ----------
    rate
        The supposed share of violating rounds among the uncleared ones.
    found
        How many of them are then found, as many as a steady rate gives.
    limit
        At most so many rounds violate, with the plan's confidence.
    share
        The limit as a share of the uncleared rounds.
    """

    rate: float
    found: int
    limit: int
    share: float


class ReviewPlan(NamedTuple):
    """What a number of reviews buys.

    Attributes
    ----------
    rounds, reviews
        Uncleared rounds, and how many of them are reviewed on average.
    share
        q: the probability of a review.
    detection
        r: the share of violating rounds that reviewers find, as assumed.
    prospects
        What can be said at the end, by the supposed rate of violations.
    """

    rounds: int
    reviews: float
    share: float
    detection: float
    prospects: tuple[Prospect, ...]


def review_plan(
    rounds: int,
    reviews: float,
    delta: float = 0.05,
    detection: float = 1.0,
    rates: Sequence[float] = (0.0, 0.005, 0.02),
    by: str = "equal",
) -> ReviewPlan:
    """What a budget buys, in advance: Theorem L at several supposed rates of violating rounds.

    Parameters
    ----------
    rounds
        How many rounds there will be that arithmetic doesn't clear.
    reviews
        How many of them can be reviewed.
    delta
        One minus the confidence.
    detection
        r: a violating round that is reviewed is reported with this probability at least.
    rates
        Supposed shares of violating rounds.
    by
        How rounds are drawn, as ``review_probability`` has it. Unless all are drawn alike, a round may have a third of
        the share only, so that none found proves less. What is found is taken to come from rounds that were drawn with
        the share itself.

    Examples
    --------
    >>> plan = review_plan(rounds=20_000, reviews=2_000)
    >>> plan.share, [(p.found, p.limit) for p in plan.prospects]
    (0.1, [(0, 31), (10, 227), (40, 644)])
    >>> [p.limit for p in review_plan(20_000, 2_000, by="gap").prospects]
    [99, 217, 572]
    """
    require_whole(rounds, "rounds")
    require_number(reviews, "reviews", 0, open_at="low")
    for rate in rates:
        require_number(rate, "rates", 0, 1)
    share = min(1.0, reviews / rounds)
    floor = review_floor(share, by)
    prospects = []
    for rate in rates:
        found = round(rate * share * rounds * detection)
        limit = review_limit(_steady(rounds, share, found, floor), delta, detection)
        prospects.append(Prospect(rate, found, limit, limit / rounds))
    return ReviewPlan(rounds, share * rounds, share, detection, tuple(prospects))


def _steady(rounds: int, share: float, found: int, floor: float) -> ReviewCount:
    """The count of a plan in which so much was found, each with the probability of the mean."""
    reported = add_round(review_count(floor), share, "reported")
    clean = max(0, round(share * rounds) - found)
    return reported._replace(
        reported=found,
        known=found * reported.known,
        known_reported=found * reported.known,
        estimate=found * reported.estimate,
        spent=tuple(found * each for each in reported.spent),
        gained=tuple(found * each for each in reported.gained),
        clean=clean,
        undrawn=max(0, rounds - clean - found),
    )


def looks_per_review(second: float = 0.1, disagreements: float = 0.1, gold: float = 0.05) -> float:
    """How often somebody looks for each round drawn: 1 + q₂ (1 + disagreements) + gold share.

    Examples
    --------
    >>> round(looks_per_review(), 2), round(3600 / 30 / looks_per_review())  # a round, and an hour at 30 s a look
    (1.16, 103)
    """
    for name, value in (("second", second), ("disagreements", disagreements), ("gold", gold)):
        require_number(value, name, 0, 1)
    return 1 + second * (1 + disagreements) + gold
