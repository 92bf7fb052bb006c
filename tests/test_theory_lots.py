"""Decisions by lot: two people by enumeration, unseen violations by simulation against adversaries that react."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar
from scipy.stats import binom

from likewise import theory
from likewise.errors import InvalidParameter

PROBABILITIES = (0.0, 0.2, 0.5, 0.7, 1.0)


def most_misses(plays, delta):
    """More misses than this have probability 1e-6 if each play misses with probability δ."""
    return int(binom.ppf(1 - 1e-6, plays, delta))


# Two people --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), list(itertools.product(PROBABILITIES, repeat=2)))
def test_the_range_of_lemma_5_is_the_linear_program_over_all_joint_laws(first, second):
    """Unknowns: the probabilities of (1,1), (1,0), (0,1), (0,0)."""
    A, b = [[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]], [first, second, 1]
    least, most = (sign * linprog([0, sign, 0, 0], A_eq=A, b_eq=b).fun for sign in (1, -1))
    low, high = theory.difference_range(first, second)
    assert (low, high) == pytest.approx((least, most), abs=1e-9)
    one, own = (theory.difference_probability(first, second, lot) for lot in ("round", "person"))
    assert one == low
    assert own == pytest.approx(first * (1 - second))
    assert low - 1e-12 <= own <= high + 1e-12
    if first >= second:
        assert own == pytest.approx(first - second + second * (1 - first))
    if second == 0 or first == 1:
        assert low == pytest.approx(high)


def test_one_lot_decides_differently_with_exactly_the_gap():
    lots = (np.arange(1000) + 0.5) / 1000
    for first, second in itertools.product((0.0, 0.25, 0.5, 1.0), repeat=2):
        different = np.mean((lots < first) & ~(lots < second))
        assert different == pytest.approx(theory.difference_probability(first, second))


@pytest.mark.parametrize("tolerance", [0.1, 0.5])
def test_a_split_policy_has_the_same_mean_and_the_second_half_is_just_fair(tolerance):
    for first, second in ((0.9, 0.1), (1.0, 0.3), (0.7, 0.0), (1.0, 0.0)):
        q, (high, low) = theory.split_policy(first, second, tolerance)
        assert 0 <= low <= high <= 1
        assert 0 < q <= 1
        assert (q + (1 - q) * high, (1 - q) * low) == pytest.approx((first, second))
        assert high - low == pytest.approx(tolerance if q < 1 else 1.0)
    with pytest.raises(InvalidParameter, match=r"exceed disfavoured by more than the tolerance, got 0\.4"):
        theory.split_policy(0.4, 0.3, 0.2)


# Counting the unseen: formulas -------------------------------------------------------------------------------


@pytest.mark.parametrize("violations", [0.01, 1, 30, 5000])
@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-9])
def test_the_best_rate_is_the_best_and_the_closed_form_lies_above(violations, delta):
    rate = theory.hidden_rate(violations, delta)
    least = theory.hidden_gaps(violations, delta, rate)
    search = minimize_scalar(lambda x: theory.hidden_gaps(violations, delta, math.exp(x)), bounds=(-9, 4))
    assert least == pytest.approx(search.fun, rel=1e-6)
    assert rate == pytest.approx(math.log(least / violations))
    assert least - violations - violations * math.log(least / violations) == pytest.approx(math.log(1 / delta))
    assert least <= theory.hidden_gaps(violations, delta)


def test_nothing_seen_leaves_ln_of_one_over_delta():
    assert theory.hidden_rate(0, 0.05) == math.inf
    assert theory.hidden_gaps(0, 0.05, math.inf) == pytest.approx(math.log(20))


def test_an_auditor_who_misses_a_share_divides_every_count():
    arguments = (40.0, 0.25, 0.05)
    for count in (theory.hidden_bound, theory.hidden_limit):
        assert count(*arguments, 0.5) == pytest.approx(2 * count(*arguments))
        assert count(*arguments, 1.0) == count(*arguments)
    bound = theory.tilted(10**5, 2, 0.1, 0.0, 3, 0.2, 1.0)
    seldom = theory.decisions_only(bound, 0.2, 0.05, 0.25)
    assert seldom.violations == bound.violations
    assert seldom.expected == pytest.approx(bound.violations / 0.05)
    assert seldom.likely == pytest.approx(theory.hidden_bound(bound.violations, 0.05, 0.05))


def test_the_live_limit_is_never_above_what_the_count_alone_gives():
    gaps = np.random.default_rng(0).uniform(0.3, 1, 200)
    for rate in (0.1, 1.0):
        live = theory.hidden_limit(theory.hidden_estimate(gaps), 0.3, 0.05, rate=rate)
        assert live <= theory.hidden_gaps(200, 0.05, rate) / 0.3
    assert theory.hidden_estimate([1.0] * 7) == 7
    whole = theory.hidden_limit(7.0, 1.0, 0.05)
    assert whole == pytest.approx(theory.sum_of_betas_anytime(7, 0.05))  # the same supermartingale


@pytest.mark.parametrize("T", [10**3, 10**6])
@pytest.mark.parametrize("tau", [0.1, 0.5])
def test_theorem_5_stays_below_its_display(T, tau):
    k, N = 6, 146
    wide = theory.stretched_log(N)
    found = theory.decisions_only(theory.tilted(T, k, tau / 2, 0.0, N, tau, kappa=k), tau, 0.05)
    V = (8 * math.log(N) / tau**2 + 0.5) * math.log(T + math.sqrt(wide * T) + 2)
    assert found.violations <= min(T, V)
    assert found.expected == pytest.approx(found.violations / tau)
    assert found.epsilon == tau / 2
    assert found.error_regret <= k * math.sqrt(wide * T) + k + tau * k * found.violations / 2


@pytest.mark.parametrize("lot", ["round", "person"])
def test_realised_errors_stay_near_those_of_the_probabilities(lot):
    rng = np.random.default_rng(2)
    plays, T, k, delta = 4000, 40, 4, 0.1
    lots = rng.random((plays, T, 1 if lot == "round" else k))
    errors = (lots < np.full(k, 0.5)).sum(axis=(1, 2)) - T * k / 2  # everybody is bad, and accepted half of the time
    limit = theory.realised_errors(T, k, delta, lot)
    assert np.sum(errors > limit) <= most_misses(plays, delta)
    assert np.sum(errors > limit / 3) > most_misses(plays, delta)


# Counting the unseen: adversaries that react -----------------------------------------------------------------

TAU = 0.3
PLAYS, ROUNDS, DELTA = 4000, 300, 0.1


def reacting_play(rng, q=1.0, persistence=1.0):
    """Each play violates while it is lucky: the largest gap, and a smaller violating pair inside it, by the past.

    Yields after each round, for all plays at once: whether it violated, the largest gap, and the gap seen (or 0).
    """
    seen, since = np.zeros(PLAYS), np.zeros(PLAYS)
    for t in range(ROUNDS):
        greedy = since > rng.integers(2, 20)  # after a long silence it dares more, after many reports it stops
        gap = np.where(greedy, 0.95, 0.35 + 0.1 * (t % 3))
        inner = np.where(seen % 2 == 0, TAU + 0.01, gap)
        violates = (seen < 12) & (since < 80)
        lot = rng.random(PLAYS)
        reviewed = (rng.random(PLAYS) < q) & (rng.random(PLAYS) < persistence)
        found = np.where(lot < inner, inner, np.where(lot < gap, gap, 0.0)) * violates * reviewed
        seen, since = seen + (found > 0), np.where(found > 0, 0, since + 1)
        yield violates, gap, found


@pytest.mark.parametrize("persistence", [1.0, 0.5])
def test_lemma_6_misses_no_more_often_than_it_may_in_any_round(persistence):
    rng, rate = np.random.default_rng(11), theory.hidden_rate(12, DELTA)
    W, mass, V, estimate = (np.zeros(PLAYS) for _ in range(4))
    missed = {name: np.zeros(PLAYS, bool) for name in ("gaps", "live", "mixed", "bold")}
    for violates, gap, found in reacting_play(rng, persistence=persistence):
        W, mass, V = W + violates, mass + gap * violates, V + (found > 0)
        estimate += np.divide(1.0, found, out=np.zeros(PLAYS), where=found > 0)
        by_count = np.array([theory.hidden_gaps(v, DELTA, rate) for v in range(13)])[V.astype(int)]
        missed["gaps"] |= mass > by_count / persistence + 1e-9
        live = (rate * TAU * estimate + math.log(1 / DELTA)) / (TAU * persistence * -math.expm1(-rate))
        missed["live"] |= live + 1e-9 < W
        missed["bold"] |= estimate / persistence + 1e-9 < W
    index = int(rng.integers(PLAYS))
    assert live[index] == pytest.approx(theory.hidden_limit(estimate[index], TAU, DELTA, persistence, rate))
    missed["mixed"] = np.array([theory.hidden_limit(x, TAU, DELTA, persistence) for x in estimate]) < W
    for name in ("gaps", "live", "mixed"):
        assert missed[name].sum() <= most_misses(PLAYS, DELTA), name
    assert missed["gaps"].sum() > 0.005 * PLAYS  # the adversary does reach it
    assert missed["bold"].sum() > most_misses(PLAYS, DELTA)  # an estimate alone is no limit
    sure = [theory.hidden_bound(12, TAU, DELTA, persistence)] * PLAYS
    assert (sure < W).sum() <= most_misses(PLAYS, DELTA)


def test_the_estimate_of_hidden_rounds_is_not_too_low_on_average():
    rng = np.random.default_rng(12)
    W, estimate, mass, V = (np.zeros(PLAYS) for _ in range(4))
    for violates, gap, found in reacting_play(rng):
        W, mass, V = W + violates, mass + gap * violates, V + (found > 0)
        estimate += np.divide(1.0, found, out=np.zeros(PLAYS), where=found > 0)
    for low, high in ((W, estimate), (mass, V), (TAU * W, V)):
        assert (low - high).mean() <= 5 * (low - high).std() / math.sqrt(PLAYS)


@pytest.mark.parametrize(("largest", "inner"), [(0.8, 0.8), (0.8, 0.4), (1.0, 0.31)])
@pytest.mark.parametrize("share", [1.0, 0.4])
def test_the_factor_of_proposition_w_has_mean_at_most_one_by_enumeration(largest, inner, share):
    """One violating round: the lot is below the inner gap, below the largest, or above both; then a review lot."""
    for bet in (0.999 * share * TAU, 0.3 * share * TAU):
        rate = -math.log1p(-bet)
        ends = ((inner, inner), (largest - inner, largest))
        found = sum(width * share * (1 - bet / (share * gap)) for width, gap in ends)
        mean = math.exp(rate) * (found + 1 - share * largest)
        assert mean <= 1 + 1e-12
        assert sum(width / gap for width, gap in ends) >= 1 - 1e-12  # E[1[seen]/gap] ≥ 1


def test_review_by_lot_on_top_misses_no_more_often_than_it_may():
    rng, q = np.random.default_rng(13), 0.5
    W, estimate = np.zeros(PLAYS), np.zeros(PLAYS)
    found = [[] for _ in range(PLAYS)]
    for violates, _, gaps in reacting_play(rng, q=q):
        W += violates
        estimate += np.divide(1.0, q * gaps, out=np.zeros(PLAYS), where=gaps > 0)
        for play in np.flatnonzero(gaps):
            found[play].append(q * gaps[play])
    limits = np.array([theory.hidden_by_review(products, q * TAU, DELTA) for products in found])
    assert np.sum(limits < W) <= most_misses(PLAYS, DELTA)
    assert (W - estimate).mean() <= 5 * (W - estimate).std() / math.sqrt(PLAYS)


def test_proposition_w_with_one_probability_is_the_limit_of_a_sample():
    """None found at q: the best bet alone gives ln δ / ln(1 − q); sixteen of them a little more."""
    for q in (0.05, 0.5):
        exact = math.floor(math.log(0.05) / math.log1p(-q))
        assert exact <= theory.hidden_by_review([], q, 0.05) <= 1.2 * exact + 1
    counts = [theory.hidden_by_review([0.1] * found, 0.1, 0.05) for found in (0, 1, 2, 5, 10, 20, 50)]
    assert counts == [31, 69, 88, 143, 227, 376, 771]
    with pytest.raises(InvalidParameter, match=r"`found` must hold numbers in \[0.2, 1\], got 0.1"):
        theory.hidden_by_review([0.1], 0.2, 0.05)
