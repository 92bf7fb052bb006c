"""Agreement and detection: closed forms, second ways to compute, and coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from likewise import errors
from likewise.theory import (
    Gold,
    Overlap,
    ac1,
    binomial_limits,
    chapman,
    chapman_limits,
    detection_by_gold,
    detection_by_overlap,
    detection_of_first,
    false_report_share,
    gold_cusum,
    gold_needed,
    pace,
    positive_agreement,
    same_pair_share,
    seconds_cusum,
    unseen_by_both,
)
from likewise.theory.agreement import _slopes, disagreement
from likewise.theory.detection import GOLD_ALARM


def panel(rng, rounds, rate, r1, r2, false=0.0):
    """Two reviewers who find a violating round with probabilities r1 and r2, independently."""
    violating = rng.random(rounds) < rate
    first, second = (
        (violating & (rng.random(rounds) < r)) | (~violating & (rng.random(rounds) < false)) for r in (r1, r2)
    )
    return violating, Overlap(
        int((first & second).sum()), int((first & ~second).sum()), int((~first & second).sum()),
        int((~first & ~second).sum()),
    )  # fmt: skip


# Agreement -------------------------------------------------------------------------------------------------


def test_exact_limits_are_those_of_the_binomial_tails():
    for count, n in ((0, 5), (3, 10), (10, 10), (40, 41)):
        _, low, high = binomial_limits(count, n, 0.1)
        if count > 0:
            assert stats.binom.sf(count - 1, n, low) == pytest.approx(0.05)
        if count < n:
            assert stats.binom.cdf(count, n, high) == pytest.approx(0.05)
    assert binomial_limits(0, 0) == (None, 0.0, 1.0)
    with pytest.raises(errors.InvalidParameter, match="`count`"):
        binomial_limits(4, 3)


def test_half_missed_shows_in_positive_agreement_and_hides_in_ac1():
    """2 % violating rounds, reviewers who find half: 0.99 and 0.50."""
    cells = np.array([0.25, 0.25, 0.25]) * 0.02
    expected = Overlap(*(np.append(cells, 1 - cells.sum()) * 400_000).astype(int).tolist())
    assert ac1(expected).estimate == pytest.approx(0.99, abs=0.001)
    assert positive_agreement(expected).estimate == pytest.approx(0.5)


def test_ac1_by_its_definition():
    a, b, c, d = 12, 5, 3, 180
    n, share = a + b + c + d, (2 * a + b + c) / 2 / (a + b + c + d)
    by_chance = 2 * share * (1 - share)
    assert ac1(Overlap(a, b, c, d)).estimate == pytest.approx(((a + d) / n - by_chance) / (1 - by_chance))
    assert ac1(Overlap(3, 0, 0, 20)).low == -1  # too few for an interval
    assert ac1(Overlap()).estimate is None


def test_the_slopes_of_ac1_are_its_derivatives():
    cells, step = np.array([0.1, 0.03, 0.06, 0.81]), 1e-6
    for i, slope in enumerate(_slopes(*cells)):
        ahead, back = cells.copy(), cells.copy()
        ahead[i] += step
        back[i] -= step
        assert slope == pytest.approx((disagreement(*ahead) - disagreement(*back)) / (2 * step), rel=1e-5)


def test_the_interval_of_ac1_covers_about_what_the_page_says():
    rng, n, inside = np.random.default_rng(1), 300, 0
    cells = np.array([0.09, 0.03, 0.03, 0.85])
    truth = 1 - disagreement(*cells)
    for _ in range(600):
        _, low, high = ac1(Overlap(*rng.multinomial(n, cells).tolist()))
        inside += low <= truth <= high
    assert 0.88 <= inside / 600 <= 0.98


def test_same_pair():
    assert same_pair_share(Overlap(10, 3, 2, 100, same_pair=8)) == binomial_limits(8, 10)


# Detection -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", [0.5, 0.8, 0.95])
def test_detection_from_overlap_covers(r):
    rng, inside = np.random.default_rng(7), 0
    for _ in range(300):
        _, both = panel(rng, 1500, 0.05, r, r)
        _, low, high = detection_by_overlap(both)
        inside += low <= r <= high
    assert inside / 300 >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 300)


def test_what_both_report_of_what_any_reports_is_binomial_with_r_over_2_minus_r():
    r = 0.7
    both, one = r * r, 2 * r * (1 - r)
    assert both / (both + one) == pytest.approx(r / (2 - r))
    phi = r / (2 - r)
    assert 2 * phi / (1 + phi) == pytest.approx(r)


def test_each_reviewer_has_a_detection_of_their_own():
    rng, inside = np.random.default_rng(9), 0
    for _ in range(300):
        _, both = panel(rng, 1500, 0.05, 0.6, 0.9)
        _, low, high = detection_of_first(both)
        inside += low <= 0.6 <= high
    assert inside / 300 >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 300)


def test_false_reports_make_detection_too_small():
    rng = np.random.default_rng(2)
    _, with_false = panel(rng, 400_000, 0.05, 0.8, 0.8, false=0.01)
    assert detection_by_overlap(with_false).estimate < 0.72


def test_gold_rounds_needed():
    assert [gold_needed(r) for r in (0.8, 0.9, 0.95)] == [14, 29, 59]
    assert [gold_needed(r, missed=1) for r in (0.8, 0.9, 0.95)] == [22, 46, 93]
    assert detection_by_gold(0, 14) == pytest.approx(0.05 ** (1 / 14))
    assert detection_by_gold(0, 0) == 0 == detection_by_gold(5, 5)


def test_gold_is_counted_by_what_was_there_and_what_was_said():
    gold = Gold().add(True, True).add(True, False).add(False, True).add(False, False).add(True, True)
    assert gold == Gold(found=2, missed=1, clean=1, false=1)
    assert gold.detection() == binomial_limits(2, 3)
    assert gold.false_reports() == binomial_limits(1, 2)
    assert false_report_share(upheld=7, adjudicated=10) == binomial_limits(3, 10)


# Chapman ---------------------------------------------------------------------------------------------------


def test_chapman_has_two_forms():
    both = Overlap(9, 4, 5, 82)
    assert chapman(both) == pytest.approx((13 + 1) * (14 + 1) / (9 + 1) - 1)


def test_the_limits_are_those_of_the_hypergeometric_tails():
    for cells in ((9, 4, 5, 82), (0, 3, 2, 40), (5, 0, 0, 30), (1, 1, 1, 5)):
        both = Overlap(*cells)
        n1, n2 = both.both + both.first, both.both + both.second
        fits = [
            V
            for V in range(both.reported, both.rounds + 1)
            if stats.hypergeom.sf(both.both - 1, V, n1, n2) > 0.025
            and stats.hypergeom.cdf(both.both, V, n1, n2) > 0.025
        ]
        assert chapman_limits(both) == (fits[0], fits[-1])


def test_the_limits_cover_the_violating_rounds_judged_twice():
    rng, inside = np.random.default_rng(4), 0
    for _ in range(100):
        violating, both = panel(rng, 300, 0.08, 0.7, 0.8)
        low, high = chapman_limits(both)
        inside += low <= violating.sum() <= high
    assert inside / 100 >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 100)


def test_what_neither_saw():
    assert unseen_by_both(Overlap(0, 0, 5, 20)) == 0
    assert unseen_by_both(Overlap(0, 2, 5, 20)) == math.inf
    r = 0.8  # in expectation, V = 100: a = 64, b = c = 16, and 4 are unseen
    assert unseen_by_both(Overlap(64, 16, 16, 904)) == pytest.approx(100 * (1 - r) ** 2)


# Drift -----------------------------------------------------------------------------------------------------


def run_length(rate, seed, most=4000):
    rng, level = np.random.default_rng(seed), 0.0
    for n in range(1, most):
        level = gold_cusum(level, bool(rng.random() < rate))
        if level >= GOLD_ALARM:
            return n
    return most


def test_alarms_are_rare_when_all_is_well_and_quick_when_it_is_not():
    assert np.mean([run_length(0.1, seed) for seed in range(40)]) >= 200
    assert np.mean([run_length(0.3, seed) for seed in range(200)]) == pytest.approx(32, rel=0.25)
    assert np.mean([run_length(0.5, seed) for seed in range(200)]) == pytest.approx(13, rel=0.25)


def test_the_sum_is_never_above_that_of_shiryaev_and_roberts():
    rng, level, total = np.random.default_rng(0), 0.0, 0.0
    for _ in range(500):
        missed = bool(rng.random() < 0.2)
        ratio = 3.0 if missed else 0.7 / 0.9
        level, total = gold_cusum(level, missed), (1 + total) * ratio
        assert level <= math.log(total) + 1e-9


def test_pace_is_the_line_through_ln_seconds():
    rng = np.random.default_rng(3)
    pairs = rng.integers(1, 9, size=100)
    seconds = 4.0 * (1 + pairs) ** 0.7 * np.exp(0.3 * rng.standard_normal(100))
    usual = pace(seconds.tolist(), pairs.tolist())
    slope, constant = np.polyfit(np.log1p(pairs), np.log(seconds), 1)
    assert (usual.slope, usual.constant) == pytest.approx((slope, constant))
    z = np.array([usual.standardised(s, p) for s, p in zip(seconds, pairs, strict=True)])
    assert z.mean() == pytest.approx(0, abs=1e-9)
    assert z.std() == pytest.approx(1)


def test_a_reviewer_who_gets_faster_rings_and_one_who_does_not_does_not():
    rng = np.random.default_rng(6)
    level = steady = 0.0
    rang = False
    for _ in range(40):
        level = seconds_cusum(level, -1.5 + rng.standard_normal())
        rang = rang or level >= 5
        steady = seconds_cusum(steady, 0.5 * rng.standard_normal())
        assert steady < 5
    assert rang
