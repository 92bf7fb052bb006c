"""Rounds reviewed by lot: how many of *all* rounds violate, at any time. Theorem L and more; ours, not refereed.

In round t people and probabilities are fixed first, then the probability q_t of a review, then the lot. Assumptions:

* **A1** the lot is fair and can't be foreseen: given all that and the verdict there would be, Pr[drawn] = q_t;
* **A2** the answer doesn't depend on having been drawn.

Nobody assumes independent people, one policy, one rate, or a learner that doesn't react. v_t = 1 if the reviewer would
report when asked; V counts those of *all* rounds. Rounds whose largest gap is at most the level are cleared: v_t = 0 by
arithmetic. Drawn rounds without an answer count as found, and rounds that can't be drawn (q_t = 0) as violating.

For a bet 0 < μ < q_t let λ = −ln(1 − μ) and θ(q) = −ln(1 − μ/q). Then exp(λV_t − Σ_found θ(q_s)) is a martingale: a
violating round multiplies it by e^λ (1 − q(1 − e^−θ)) = e^λ (1 − μ) = 1 on average. A ``ReviewCount`` keeps these sums
for sixteen bets that are fixed before the first round; it is a fold over rounds, made of plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import require, require_number
from likewise.theory.ranges import within

BETS = np.array([0.999, *(1 / (1 + 2.0 ** (0.75 * i)) for i in range(-3, 12))])
"""The sixteen bets, as shares of the least probability of a review."""
BET_WEIGHTS = 1 / (np.arange(1, len(BETS) + 1) * np.arange(2, len(BETS) + 2))
BET_WEIGHTS /= BET_WEIGHTS.sum()
NOTHING = (0.0,) * len(BETS)
NOBODY = (0,) * len(BETS)
TWICE = (1.1, 1.3, 2.0)
"""Where it is known what a bet is charged for a round that two people judged, as multiples 2 − r of q."""
UNSAVED = (0.0,) * len(TWICE) * len(BETS)
DETECTIONS = np.arange(1, 51) / 50
"""Values of r that are tried where some rounds were judged by two."""

OUTCOMES = ("cleared", "undrawn", "clean", "reported", "unanswered")
"""What became of a round: no pair can violate, not drawn, drawn and no pair named, drawn and reported, drawn and not
answered (skipped by everybody, or expired)."""


class ReviewCount(NamedTuple):
    """What Theorem L needs to know of the rounds so far. Start with ``review_count``, go on with ``add_round``.

    Attributes
    ----------
    floor
        The least probability of a review that is planned. It only places the bets, but before the first round.
    cleared, undrawn, clean, reported, unanswered
        How many rounds came out so.
    undrawable
        How many of the undrawn ones had probability 0.
    known, known_reported, known_clean
        How much was found, reported and found clean in rounds that were drawn with probability 1.
    estimate
        Σ 1/q over the reports (Horvitz and Thompson 1952).
    spent
        Σ θ(q) over what was found in rounds drawn with probability below 1, for each bet.
    gained
        Σ ln(1 + (e^λ − 1)/q) over the reports in such rounds, for each bet: the same for the limit from below.
    known_twice, saved
        Of what was reported and judged by two: how much was drawn with probability 1, and for the rest by how much
        less than Σ θ(q) it is charged if a reviewer finds a share r only, at 2 − r = 1.1, 1.3 and 2, for each bet.
    below, below_clean
        How many rounds had a probability no larger than the bet, for each bet: those that may violate, and those that
        were reviewed and found clean.
    """

    floor: float
    cleared: int = 0
    undrawn: int = 0
    clean: int = 0
    reported: int = 0
    unanswered: int = 0
    undrawable: int = 0
    known: int = 0
    known_reported: int = 0
    known_clean: int = 0
    estimate: float = 0.0
    spent: tuple[float, ...] = NOTHING
    gained: tuple[float, ...] = NOTHING
    below: tuple[int, ...] = NOBODY
    below_clean: tuple[int, ...] = NOBODY
    known_twice: int = 0
    saved: tuple[float, ...] = UNSAVED

    @property
    def rounds(self) -> int:
        """All rounds so far."""
        return self.cleared + self.uncleared

    @property
    def uncleared(self) -> int:
        """Rounds that may hold a violation as far as arithmetic goes."""
        return self.undrawn + self.clean + self.found

    @property
    def drawn(self) -> int:
        """Rounds drawn for review."""
        return self.clean + self.found

    @property
    def found(self) -> int:
        """What counts as found: reports, and drawn rounds without an answer."""
        return self.reported + self.unanswered


def review_count(floor: float) -> ReviewCount:
    """Theorem L before the first round: nothing is counted, and the bets are placed below ``floor``."""
    require_number(floor, "floor", 0, 1, open_at="low")
    return ReviewCount(float(floor))


def place_bets(count: ReviewCount, floor: float) -> ReviewCount:
    """The same count with bets below another floor, as long as every uncleared round so far was drawn for sure.

    What is known needs no bet, so a plan that begins after a time of full review may place them then. For ``detection``
    below 1 the floor must have been chosen without a look at what was found.
    """
    require_number(floor, "floor", 0, 1, open_at="low")
    certain = count.undrawn == 0 and count.found == count.known and count.known_clean == count.clean
    require(certain, "floor", "be placed before the first round drawn with a probability below 1", floor)
    return count._replace(floor=float(floor))


def add_round(count: ReviewCount, q: float, outcome: str, *, twice: bool = False) -> ReviewCount:
    """Theorem L, one round later. O(1), and O(bets) where something was found.

    Rounds must come in their order, and none that still waits for an answer: the limit holds for all t at once, so
    stop before the first of them and go on when it is answered.

    Parameters
    ----------
    count
        The rounds before.
    q
        The probability with which this round was drawn; ignored if it was cleared.
    outcome
        One of ``"cleared"``, ``"undrawn"``, ``"clean"``, ``"reported"`` and ``"unanswered"``.
    twice
        Whether two people judged it who didn't know of each other, as a lot had said whatever the first one's verdict.

    Examples
    --------
    >>> count = review_count(floor=0.1)
    >>> for outcome in ["undrawn"] * 18 + ["clean", "reported"]:
    ...     count = add_round(count, 0.1, outcome)
    >>> count.uncleared, count.found, count.estimate, review_limit(count)
    (20, 1, 10.0, 19)
    """
    require(outcome in OUTCOMES, "outcome", f"be one of {', '.join(map(repr, OUTCOMES))}", outcome)
    if outcome == "cleared":
        return count._replace(cleared=count.cleared + 1)
    require_number(q, "q", 0, 1)
    require(outcome == "undrawn" or q > 0, "outcome", "be 'undrawn' where the probability is 0", outcome)
    require(outcome != "undrawn" or q < 1, "outcome", "be something else where the probability is 1", outcome)
    count = _by_outcome(_where_small(count, q, outcome), q, outcome)
    return _judged_twice(count, q) if twice and outcome == "reported" else count


def _where_small(count: ReviewCount, q: float, outcome: str) -> ReviewCount:
    """Rounds with q ≤ μ are nothing that the bet μ can learn from: it counts them one each."""
    if q == 0 or q > BETS[0] * count.floor:
        return count
    counts = count.below_clean if outcome == "clean" else count.below
    more = tuple(n + int(q <= bet) for n, bet in zip(counts, _bets(count), strict=True))
    return count._replace(below_clean=more) if outcome == "clean" else count._replace(below=more)


def _by_outcome(count: ReviewCount, q: float, outcome: str) -> ReviewCount:
    if outcome == "undrawn":
        return count._replace(undrawn=count.undrawn + 1, undrawable=count.undrawable + (q == 0))
    if outcome == "clean":
        return count._replace(clean=count.clean + 1, known_clean=count.known_clean + (q == 1))
    reported = outcome == "reported"
    bets = _bets(count)
    if q == 1:
        count = count._replace(known=count.known + 1, known_reported=count.known_reported + reported)
    else:
        count = count._replace(spent=tuple((np.array(count.spent) + _charges(bets, q)).tolist()))
        if reported:
            count = count._replace(gained=tuple((np.array(count.gained) + _gains(bets, q)).tolist()))
    if not reported:
        return count._replace(unanswered=count.unanswered + 1)
    return count._replace(reported=count.reported + 1, estimate=count.estimate + 1 / q)


def _judged_twice(count: ReviewCount, q: float) -> ReviewCount:
    """Two find a violating round with probability r(2 − r): its bets are charged θ(q(2 − r)), which is less than θ(q).

    θ is convex in 2 − r, so a straight line between two of its values is never less than is due.
    """
    if q == 1:
        return count._replace(known_twice=count.known_twice + 1)
    return count._replace(saved=tuple((np.array(count.saved) + _savings(_bets(count), q).ravel()).tolist()))


def _savings(bets: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    """θ(q) − θ(q(2 − r)) for each of ``TWICE`` and each bet; 0 for the bets that are not below q."""
    below = np.where(bets < q, bets, 0.0)
    return np.array([_charges(below, q) - _charges(below, times * q) for times in TWICE])


def _bets(count: ReviewCount) -> NDArray[np.float64]:
    return np.asarray(count.floor * BETS)


def _charges(bets: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    """θ(q) for each bet; 0 for the bets that are not below q."""
    return np.asarray(-np.log1p(-np.where(bets < q, bets / q, 0.0)))


def _gains(bets: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    """ln(1 + (e^λ − 1)/q), where e^λ − 1 = μ/(1 − μ)."""
    return np.asarray(np.log1p(bets / (1 - bets) / q))


def count_rounds(floor: float, rounds: Iterable[tuple[float, str]]) -> ReviewCount:
    """``add_round`` for many: pairs (q, outcome) in their order.

    Examples
    --------
    >>> review_limit(count_rounds(0.5, [(1.0, "reported"), (1.0, "clean"), (0.0, "cleared")]))
    1
    """
    count = review_count(floor)
    for q, outcome in rounds:
        count = add_round(count, q, outcome)
    return count


# Limits ----------------------------------------------------------------------------------------------------


def review_limit(count: ReviewCount, delta: float = 0.05, detection: float = 1.0) -> int:
    """Theorem L: at most so many of **all** rounds violate, with probability 1 − δ for all t at once.

    The largest whole V with Σ_j w_j exp(λ_j (V − U_j)₊ − Σ_found θ_j(q_s)) < 1/δ, where U_j counts the rounds that bet
    j can't learn from; never more than the rounds that were neither cleared nor reviewed and found clean. What was
    found in rounds with q = 1 is known, and added. Assumes A1 and A2, whatever drifts or reacts.

    ``detection`` (the corollary for reviewers who overlook things): a violating round that is drawn is reported with
    probability r at least, whatever came before. Then the theorem holds with r·q for q: bets r·μ, and nothing is known
    for sure. Rounds that two people judged count with 1 − (1 − r)² for r, if the two find things independently and
    what one of them names is upheld. The limit falls with r, so a lower limit of r that holds with probability 1 − δ/2
    (from known rounds, say) may be put in, with δ/2 for ``delta``.

    Examples
    --------
    >>> none_found = count_rounds(0.1, [(0.1, "undrawn")] * 900 + [(0.1, "clean")] * 100)
    >>> review_limit(none_found), review_limit(none_found, detection=0.8)
    (31, 40)
    """
    within(delta=delta)
    require_number(detection, "detection", 0, 1, open_at="low")
    shares = _detections(count, detection)
    bets, below, spent = np.outer(shares, _bets(count)), np.array(count.below), np.array(count.spent)
    most, surely = count.undrawn - count.undrawable + count.found, count.undrawable
    if detection == 1:
        most, surely = most - count.known, surely + count.known
    else:  # a clean review proves nothing, and no count is known
        most += count.clean
        below = below + np.array(count.below_clean)
        spent = spent + count.known * _charges(_bets(count), 1.0)
        spent = np.array([spent - _saved(count, share) for share in shares])
    return surely + mixture_limit(-np.log1p(-bets), spent, below, delta, most)


def _detections(count: ReviewCount, detection: float) -> NDArray[np.float64]:
    """The values of r to try. One where nobody judged a round after somebody else: the limit falls with r by itself.

    Otherwise it need not, and a lower limit of r, which is random, may be put in only if it does. So all r of a grid
    are tried that are not below the one that was given, and the largest limit is taken: one of them is the last that
    is not above the true r, whichever that is.
    """
    if detection == 1 or not (count.known_twice or any(count.saved)):
        return np.array([detection])
    least = max((r for r in DETECTIONS.tolist() if r <= detection + 1e-12), default=0.0) or detection
    return np.array([least, *DETECTIONS[least < DETECTIONS]])


def _saved(count: ReviewCount, detection: float) -> NDArray[np.float64]:
    """By how much less each bet is charged, as some rounds were judged by two; 0 at r = 1."""
    saved = np.array(count.saved).reshape(len(TWICE), -1)
    if count.known_twice:
        saved = saved + count.known_twice * _savings(_bets(count), 1.0)
    knots = np.vstack([np.zeros(len(BETS)), saved])
    return np.array([np.interp(2 - detection, (1.0, *TWICE), each) for each in knots.T])


def mixture_limit(
    rates: NDArray[np.float64],
    spent: NDArray[np.float64],
    free: NDArray[np.int_] | int = 0,
    delta: float = 0.05,
    most: int | None = None,
) -> int:
    """The largest whole V ≤ ``most`` with Σ_j w_j exp(λ_j (V − free_j)₊ − spent_j) < 1/δ, over the sixteen bets.

    Rows of ``rates`` and ``spent`` are cases of which one is true: V must fit one of them.
    """
    evidence, weights = math.log(1 / delta), np.log(BET_WEIGHTS)

    def fits(V: int) -> bool:
        return bool((np.logaddexp.reduce(weights + rates * np.maximum(V - free, 0) - spent, axis=-1) < evidence).any())

    return last_that_fits(fits, most)


def last_that_fits(fits: Callable[[int], bool], most: int | None = None) -> int:
    """The largest whole number, from 0 on and up to ``most``, of those that fit; 0 fits, and whatever is below one."""
    low, high = 0, 1
    while (most is None or high <= most) and fits(high):
        low, high = high, 2 * high
    high = high if most is None else min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def review_lower_limit(count: ReviewCount, delta: float = 0.05) -> int:
    """Theorem L from below: at least so many of all rounds violate, with probability 1 − δ for all t at once.

    The least whole V with Σ_j w_j exp(−λ_j V + Σ_reported ln(1 + (e^λ_j − 1)/q_s)) < 1/δ, and at least the reports
    themselves. Assumes A1, A2, and that no report is false. Missed violations only make it too small.

    Examples
    --------
    >>> review_lower_limit(count_rounds(0.1, [(0.1, "undrawn")] * 900 + [(0.1, "reported")] * 100))
    725
    """
    within(delta=delta)
    rates, gained = -np.log1p(-_bets(count)), np.array(count.gained)
    evidence, weights = math.log(1 / delta), np.log(BET_WEIGHTS)

    def too_few(V: int) -> bool:
        return V == 0 or bool(np.logaddexp.reduce(weights - rates * (V - 1) + gained) >= evidence)

    return max(count.reported, count.known_reported + last_that_fits(too_few))


def violations_by_lot(violations: float, least: float, delta: float | None = None) -> float:
    """Corollary: a learner's sure bound B on the reports gives V ≤ (B + 2√(BL) + 2L)/q w.p. 1 − δ, and E V ≤ B/q.

    L = ln(1/δ), and q = ``least`` is at most the probability of a review in every uncleared round. B may be that of
    Theorem A, 1 or 2, or the observed one: they need only gaps above the level, so they hold for the reports found by
    lot. Error regret theorems hold unchanged. Without ``delta``: the expectation.

    Examples
    --------
    >>> violations_by_lot(50, 0.1), round(violations_by_lot(50, 0.1, 0.05), 1)
    (500.0, 804.7)
    """
    within(violations=violations)
    require_number(least, "least", 0, 1, open_at="low")
    if delta is None:
        return violations / least
    within(delta=delta)
    evidence = math.log(1 / delta)
    return (violations + 2 * math.sqrt(violations * evidence) + 2 * evidence) / least


def sum_of_betas_by_lot(found: Iterable[float], least: float, delta: float) -> float:
    """People not yet seen: Σβ is at most this w.p. 1 − δ, for all t at once, if rounds are drawn for review.

    The largest P with Σ_j w_j exp(μ_j P − Σ_found θ_j(q_s)) < 1/δ. Given the past, E exp(−θ(q_t) A_t v_t) = 1 − μ p_t,
    even where q_t depends on the batch; ``sum_of_betas_anytime`` is the case q = 1. Assumes A1, A2, people drawn
    independently, one fixed distance, k ≥ 2, and a reviewer who misses nothing in the rounds that were drawn.

    Parameters
    ----------
    found
        The probability of a review of each round that was found; a drawn round without an answer is one.
    least
        At most the probability of a review of any round, and in any batch that might have come.
    delta
        One minus the confidence.

    Examples
    --------
    >>> round(sum_of_betas_by_lot([], 0.1, 0.05), 1), round(sum_of_betas_by_lot([0.1] * 10, 0.1, 0.05), 1)
    (33.6, 235.6)
    """
    require_number(least, "least", 0, 1, open_at="low")
    within(delta=delta)
    bets, spent = least * BETS, np.zeros(len(BETS))
    for q in found:
        require(least <= q <= 1, "found", f"hold numbers in [{least:g}, 1]", q)
        spent = spent + _charges(bets, q)
    low, high = 0.0, float(((math.log(1 / delta) - np.log(BET_WEIGHTS) + spent) / bets).min())  # one bet alone
    for _ in range(100):
        middle = (low + high) / 2
        if np.logaddexp.reduce(np.log(BET_WEIGHTS) + bets * middle - spent) < math.log(1 / delta):
            low = middle
        else:
            high = middle
    return high
