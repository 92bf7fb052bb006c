"""Theorem L: closed forms, a second way to compute, and coverage where people, rates and plans react."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from likewise import errors
from likewise.theory import (
    ReviewCount,
    add_round,
    count_rounds,
    daily_share,
    detection_by_gold,
    fixed_plan_share,
    hidden_by_review,
    place_bets,
    review_count,
    review_floor,
    review_limit,
    review_lower_limit,
    review_plan,
    review_probability,
    share_needed,
    sum_of_betas_anytime,
    sum_of_betas_by_lot,
    violations_by_lot,
)
from likewise.theory.review import BET_WEIGHTS, BETS

MANY = 10**7


def equal_lots(q: float, found: int, undrawn: int = MANY) -> ReviewCount:
    return count_rounds(q, [(q, "reported")] * found)._replace(undrawn=undrawn)


# Closed forms ----------------------------------------------------------------------------------------------

TABLE = {
    0.01: [334, 716, 917, 1484, 2348, 3862, 7857],
    0.05: [65, 140, 180, 292, 463, 764, 1559],
    0.1: [31, 69, 88, 143, 227, 376, 771],
    0.2: [15, 33, 42, 68, 109, 183, 377],
    0.5: [4, 11, 14, 23, 38, 65, 140],
}
"""Anytime 95 % limits by share and number found, computed by another program."""


@pytest.mark.parametrize("q", TABLE)
def test_the_limit_is_that_of_an_independent_program(q):
    assert [review_limit(equal_lots(q, found)) for found in (0, 1, 2, 5, 10, 20, 50)] == TABLE[q]


def test_none_found_is_close_to_the_exact_limit_of_a_fixed_plan():
    for q in (0.01, 0.1, 0.5, 0.9):
        exact = math.log(0.05) / math.log(1 - q)
        assert exact - 1 < review_limit(equal_lots(q, 0)) < 1.35 * exact + 1


def test_all_reviewed_the_violations_are_the_reports():
    rounds = [(1.0, "reported"), (1.0, "clean"), (0.0, "cleared"), (1.0, "reported"), (1.0, "unanswered")]
    for floor in (0.01, 0.5, 1.0):
        count = count_rounds(floor, rounds)
        assert review_limit(count) == 3
        assert review_lower_limit(count) == 2


def test_every_drawn_round_clean_leaves_only_the_undrawn():
    assert review_limit(count_rounds(0.5, [(0.5, "clean")] * 50)) == 0
    assert review_limit(count_rounds(0.5, [(0.5, "clean")] * 50 + [(0.5, "undrawn")] * 3)) == 3


def test_rounds_that_cannot_be_drawn_count_one_each_and_cleared_ones_none():
    count = equal_lots(0.1, 3)
    more = count
    for _ in range(7):
        more = add_round(add_round(more, 0.0, "undrawn"), 0.0, "cleared")
    assert review_limit(more) == review_limit(count) + 7


def test_unanswered_rounds_count_as_found_above_and_not_below():
    found, unanswered = count_rounds(0.1, [(0.1, "reported")] * 30), count_rounds(0.1, [(0.1, "unanswered")] * 30)
    found, unanswered = found._replace(undrawn=1000), unanswered._replace(undrawn=1000)
    assert review_limit(found) == review_limit(unanswered)
    assert review_lower_limit(unanswered) == 0 < 30 < review_lower_limit(found)


def by_hand(rounds, floor, delta, detection=1.0):
    """Theorem L as the page states it, with one loop over V and one over bets."""
    known = sum(q == 1 and o in ("reported", "unanswered") for q, o in rounds) if detection == 1 else 0
    never = sum(q == 0 and o == "undrawn" for q, o in rounds)
    live = [(q, o) for q, o in rounds if o != "cleared" and q > 0 and not (q == 1 and detection == 1)]
    may = [(q, o) for q, o in live if o != "clean" or detection < 1]
    V = 0
    while len(may) > V:
        wealth = 0.0
        for bet, weight in zip(BETS, BET_WEIGHTS, strict=True):
            mu = detection * floor * bet
            free = sum(detection * q <= mu for q, o in may)
            theta = sum(
                -math.log(1 - mu / (detection * q))
                for q, o in live
                if o in ("reported", "unanswered") and detection * q > mu
            )
            wealth += weight * math.exp(-math.log(1 - mu) * max(0, V + 1 - free) - theta)
        if wealth >= 1 / delta:
            break
        V += 1
    return V + known + never


def test_the_fold_is_the_theorem_computed_by_hand():
    rng = np.random.default_rng(5)
    outcomes = ["undrawn", "clean", "reported", "unanswered"]
    for _ in range(60):
        rounds = []
        for _ in range(int(rng.integers(1, 120))):
            q = float(rng.choice([0.0, 0.004, 0.03, 0.1, 0.35, 1.0]))
            allowed = (
                ["undrawn", "cleared"] if q == 0 else outcomes[1:] if q == 1 else [*outcomes, "undrawn", "undrawn"]
            )
            rounds.append((q, str(rng.choice(allowed))))
        floor, delta = float(rng.choice([0.01, 0.1, 0.3])), float(rng.choice([0.01, 0.05, 0.3]))
        for detection in (1.0, 0.7):
            assert review_limit(count_rounds(floor, rounds), delta, detection) == by_hand(
                rounds, floor, delta, detection
            )


def test_the_state_is_plain_numbers():
    count = count_rounds(0.1, [(0.03, "reported"), (0.5, "unanswered"), (0.02, "clean"), (0.1, "undrawn")])
    flat = itertools.chain.from_iterable(part if isinstance(part, tuple) else (part,) for part in count)
    assert {type(number) for number in flat} == {int, float}


def test_a_larger_detection_never_makes_the_limit_larger():
    rng = np.random.default_rng(2)
    for _ in range(40):
        q = rng.choice([0.02, 0.05, 0.2, 1.0], size=60)
        found, drawn = rng.random(60) < 0.1, rng.random(60) < q
        said = np.where(drawn, np.where(found, "reported", "clean"), "undrawn")
        count = count_rounds(0.05, zip(q.tolist(), said.tolist(), strict=True))
        limits = [review_limit(count, 0.05, r) for r in np.linspace(0.3, 1.0, 29)]
        assert all(a >= b for a, b in itertools.pairwise(limits))


def judged_twice(q, outcomes, floor=0.1):
    count = review_count(floor)
    for outcome in outcomes:
        count = add_round(count, q, outcome, twice=True)
    return count


def test_a_round_judged_by_two_is_charged_as_if_each_found_more():
    rounds = ["undrawn"] * 400 + ["clean"] * 80 + ["reported"] * 20
    for q, r in ((0.2, 0.9), (0.2, 0.7), (1.0, 0.8)):
        said = [outcome for outcome in rounds if q < 1 or outcome != "undrawn"]
        twice, once = judged_twice(q, said), count_rounds(0.1, [(q, outcome) for outcome in said])
        exact = exactly_twice(q, said, 0.1, r)
        assert exact <= review_limit(twice, detection=r) < review_limit(once, detection=r)
        assert review_limit(twice, detection=r) <= 1.02 * exact
        assert review_limit(twice) == review_limit(once)


def exactly_twice(q, outcomes, floor, r, delta=0.05):
    """Theorem L with (1 − (1 − r)²)·q in the place of q for what was found, and r·q for the bets."""
    found, V, both = outcomes.count("reported"), 0, 1 - (1 - r) ** 2
    while len(outcomes) > V:
        bets = [(weight, r * floor * bet) for bet, weight in zip(BETS, BET_WEIGHTS, strict=True)]
        wealth = sum(w * math.exp(-math.log(1 - mu) * (V + 1)) * (1 - mu / (both * q)) ** found for w, mu in bets)
        if wealth >= 1 / delta:
            break
        V += 1
    return V


def test_where_two_judged_the_limit_still_falls_with_detection():
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, count = rng.choice([0.05, 0.2, 1.0], size=80), review_count(0.05)
        for each in q:
            drawn, violates = rng.random() < each, rng.random() < 0.3
            outcome = ("reported" if violates else "clean") if drawn else "undrawn"
            count = add_round(count, float(each), outcome, twice=bool(rng.random() < 0.7))
        limits = [review_limit(count, 0.05, r) for r in np.linspace(0.3, 0.999, 29)]
        assert all(a >= b for a, b in itertools.pairwise(limits))


def test_the_corrected_limit_covers_the_truth_where_some_rounds_are_judged_twice():
    """Reviewers find 70 %, a third of the drawn rounds gets a second verdict, and the share of lots drifts."""
    rng, runs, failed, without = np.random.default_rng(8), 200, 0, 0
    for _ in range(runs):
        count, violating = review_count(0.6), 0
        for t in range(250):
            q, violates = (0.6, 0.8, 1.0)[t % 3], rng.random() < (0.7 if t < 150 else 0.3)
            drawn, second = rng.random() < q, rng.random() < 1 / 3
            seen = violates and (rng.random() < 0.7 or (second and rng.random() < 0.7))
            violating += violates
            said = ("reported" if seen else "clean") if drawn else "undrawn"
            count = add_round(count, q, said, twice=bool(drawn and second))
        failed += review_limit(count, 0.05, 0.7) < violating
        without += review_limit(count, 0.05) < violating
    assert failed <= 0.05 * runs + 3 * math.sqrt(0.05 * 0.95 * runs)
    assert without > 0.2 * runs, "what reviewers overlook matters here"


def test_with_detection_measured_by_known_rounds_the_limit_covers_the_truth():
    """Half of δ pays for the lower limit of r, from forty known rounds, and half for the theorem; a quarter twice."""
    rng, runs, r, failed = np.random.default_rng(9), 200, 0.7, 0
    for _ in range(runs):
        missed = int(rng.binomial(40, 1 - r))
        count, violating = review_count(0.5), 0
        for _ in range(200):
            violates, drawn, second = rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.25
            seen = violates and (rng.random() < r or (second and rng.random() < r))
            violating += violates
            said = ("reported" if seen else "clean") if drawn else "undrawn"
            count = add_round(count, 0.5, said, twice=bool(drawn and second))
        failed += review_limit(count, 0.025, detection_by_gold(missed, 40, 0.025)) < violating
    assert failed <= 0.05 * runs + 3 * math.sqrt(0.05 * 0.95 * runs)


def test_none_found_by_reviewers_who_overlook_things_is_the_same_as_a_smaller_share():
    for q, r in ((0.1, 0.8), (0.5, 0.9)):
        assert review_limit(equal_lots(q, 0), detection=r) == review_limit(equal_lots(r * q, 0))


def test_bets_may_be_placed_anew_while_everything_is_known():
    before = count_rounds(1.0, [(1.0, "clean")] * 5 + [(1.0, "reported")] * 2 + [(0.0, "cleared")])
    moved = place_bets(before, 0.1)
    rest = [(0.1, "undrawn")] * 200
    for q, outcome in rest:
        moved = add_round(moved, q, outcome)
    assert review_limit(moved) == 2 + review_limit(count_rounds(0.1, rest))
    for q, outcome in ((0.5, "clean"), (0.5, "undrawn"), (0.5, "reported")):
        with pytest.raises(errors.InvalidParameter, match="before the first round drawn"):
            place_bets(add_round(before, q, outcome), 0.1)


def test_impossible_rounds_are_refused():
    count = review_count(0.1)
    with pytest.raises(errors.InvalidParameter, match="`outcome`"):
        add_round(count, 0.5, "fine")
    with pytest.raises(errors.InvalidParameter, match="where the probability is 0"):
        add_round(count, 0.0, "reported")
    with pytest.raises(errors.InvalidParameter, match="where the probability is 1"):
        add_round(count, 1.0, "undrawn")
    with pytest.raises(errors.InvalidParameter, match="`q` must be in"):
        add_round(count, 1.5, "clean")


# The martingale --------------------------------------------------------------------------------------------


def test_one_violating_round_leaves_the_wealth_of_every_bet_where_it_was_on_average():
    floor = 0.2
    for q in (0.2, 0.35, 0.9):
        drawn, undrawn = (count_rounds(floor, [(q, o)]) for o in ("reported", "undrawn"))
        rates = -np.log1p(-floor * BETS)
        mean = np.exp(rates) * (q * np.exp(-np.array(drawn.spent)) + (1 - q) * np.exp(-np.array(undrawn.spent)))
        assert np.allclose(mean, 1.0)
        below = np.exp(-rates) * (q * np.exp(np.array(drawn.gained)) + (1 - q))
        assert np.allclose(below, 1.0)


def crossings(play, runs, seed, delta=0.05):
    """How often the limit is below the truth in some round, and how often the lower one above."""
    rng, above, below = np.random.default_rng(seed), 0, 0
    for _ in range(runs):
        missed = play(rng, delta)
        above, below = above + missed[0], below + missed[1]
    return above / runs, below / runs


def coverage_play(react, T, floor, detection=1.0, assumed=1.0):
    """Rounds whose rate and share ``react(found, violating, t, rng)`` sets; limits are checked where they may fail."""

    def play(rng, delta):
        count, violating = review_count(floor), 0
        over = under = False
        for t in range(T):
            rate, q = react(count.reported, violating, t, rng)
            v = bool(rng.random() < rate)
            violating += v
            drawn = bool(rng.random() < q)
            seen = v and bool(rng.random() < detection)
            count = add_round(count, q, ("reported" if seen else "clean") if drawn else "undrawn")
            if v and not (drawn and seen):  # only then the limit can be passed
                over = over or review_limit(count, delta, assumed) < violating
            if drawn and seen:
                under = under or review_lower_limit(count, delta) > violating
        return over, under

    return play


def lucky(found, violating, t, rng):
    """Violates until something is found, and stops where the silence was longest."""
    return (0.0 if found or violating > 35 else 1.0), 0.1


def drifting(found, violating, t, rng):
    return t / 400, 0.1 + 0.4 * (found % 2)


def answering(found, violating, t, rng):
    """Rates that rise when nothing is found, and a plan that reviews more after a report."""
    return (0.3 if found < 2 else 0.02), float(rng.choice([0.1, 0.3])) if found else 0.1


@pytest.mark.parametrize("react", [lucky, drifting, answering])
def test_the_limits_hold_at_all_times_whatever_reacts(react):
    above, below = crossings(coverage_play(react, T=120, floor=0.1), runs=250, seed=11)
    assert above <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 250)
    assert below <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 250)


def fixed_limit(found: int, q: float) -> int:
    """The largest V with Pr[Binomial(V, q) ≤ found] ≥ 0.05: exact where V is fixed beforehand."""
    V = found
    while sum(math.comb(V, i) * q**i * (1 - q) ** (V - i) for i in range(found + 1)) >= 0.05:
        V += 1
    return V - 1


def test_an_environment_that_stops_when_lucky_fools_the_fixed_limit_and_not_ours():
    """It violates for up to 200 rounds, and stops for good as soon as the limit is below the truth."""
    q, runs, rng = 0.1, 300, np.random.default_rng(8)
    fixed = [fixed_limit(found, q) for found in range(60)]
    ours = [review_limit(equal_lots(q, found)) for found in range(60)]
    found = np.cumsum(rng.random((runs, 200)) < q, axis=1)
    violating = np.arange(1, 201)
    fooled = {name: (violating > np.array(limits)[found]).any(axis=1).mean() for name, limits in
              (("fixed", fixed), ("ours", ours))}  # fmt: skip
    assert fooled["fixed"] > 0.1
    assert fooled["ours"] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def worst_probability(shares: tuple[float, float], most: int, detection: float = 1.0, assumed: float = 1.0) -> float:
    """The largest probability, over all environments and plans that see every lot, that the limit is ever too low.

    Backwards over (violating rounds, found at either share): each round violates, at whichever share is worse; who has
    fooled the limit stops. Rounds that don't violate change nothing.
    """
    found = [(a, b) for a in range(most + 1) for b in range(most + 1 - a)]
    one, other = (count_rounds(min(shares), [(share, "reported")]) for share in shares)
    limit = np.full((most + 2, most + 2), most + 1)
    for a, b in found:
        spent = tuple(a * x + b * y for x, y in zip(one.spent, other.spent, strict=True))
        limit[a, b] = review_limit(ReviewCount(min(shares), undrawn=MANY, spent=spent), 0.05, assumed)
    fooled = np.zeros((most + 2, most + 2))
    for violating in range(most, -1, -1):
        later, seen = fooled, [share * detection for share in shares]
        first = seen[0] * np.roll(later, -1, axis=0) + (1 - seen[0]) * later
        second = seen[1] * np.roll(later, -1, axis=1) + (1 - seen[1]) * later
        fooled = np.where(violating > limit, 1.0, np.maximum(first, second))
        fooled[-1, :] = fooled[:, -1] = 0.0
    return float(fooled[0, 0])


def test_no_environment_and_no_plan_whatsoever_fools_the_limit_more_often_than_it_says():
    """Exactly, by backward induction over up to 150 violating rounds; and the best of them comes close."""
    assert 0.02 < worst_probability((0.1, 0.3), 150) <= 0.05
    assert 0.02 < worst_probability((0.25, 0.25), 100) <= 0.05
    assert worst_probability((0.1, 0.3), 100, detection=0.7, assumed=0.7) <= 0.05
    assert worst_probability((0.1, 0.3), 100, detection=0.5) > 0.2  # overlooking half, and not saying so


def test_reviewers_who_miss_half_are_covered_only_if_that_is_said():
    for assumed, holds in ((0.5, True), (1.0, False)):
        play = coverage_play(lambda *_: (0.25, 0.5), T=150, floor=0.5, detection=0.5, assumed=assumed)
        above, _ = crossings(play, runs=150, seed=4)
        assert (above <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150)) is holds


@pytest.mark.slow
@pytest.mark.parametrize("react", [lucky, drifting, answering])
def test_the_limits_hold_in_many_long_plays(react):
    above, below = crossings(coverage_play(react, T=400, floor=0.1), runs=3000, seed=1)
    assert above <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 3000)
    assert below <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 3000)


# What follows from it --------------------------------------------------------------------------------------


def test_with_one_bet_new_people_are_the_known_theorem_at_full_review():
    """(L + nθ(1))/μ with μ = 1 − e^−λ is (λn + L)/(1 − e^−λ); sum_of_betas_anytime has the best of twenty."""
    for n in (0, 5, 50, 500):
        mixed, known = sum_of_betas_by_lot([1.0] * n, 1.0, 0.05), sum_of_betas_anytime(n, 0.05)
        rate = 0.5
        one = (rate * n + math.log(1 / 0.05)) / -math.expm1(-rate)
        assert mixed > n
        assert abs(mixed - known) < 0.35 * known + 3
        assert mixed < one + math.log(1 / BET_WEIGHTS.min()) / -math.expm1(-rate) + 0.2 * n


def test_new_people_by_lot_are_covered():
    rng, missed, runs = np.random.default_rng(3), 0, 200
    for _ in range(runs):
        total, found, over = 0.0, [], False
        for _ in range(100):
            p, q = (0.3 if len(found) < 3 else 0.05), float(rng.choice([0.2, 0.6]))
            total += p
            if rng.random() < p and rng.random() < q:  # the limit moves only here, so it is checked just before
                over = over or total - p > sum_of_betas_by_lot(found, 0.2, 0.05)
                found.append(q)
        missed += over or total > sum_of_betas_by_lot(found, 0.2, 0.05)
    assert missed / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_the_corollary_is_never_below_theorem_L_at_its_own_bet():
    for B, q, delta in ((0, 0.1, 0.05), (3, 0.2, 0.1), (50, 0.05, 0.01), (1000, 0.5, 0.05)):
        evidence = math.log(1 / delta)
        x = min(0.5, math.sqrt(evidence / B)) if B else 0.5
        direct = (evidence - B * math.log(1 - x)) / -math.log(1 - q * x)
        assert direct <= violations_by_lot(B, q, delta)
        assert violations_by_lot(B, q) == B / q


def test_proposition_w_is_theorem_L_with_the_gap_in_the_place_of_the_share():
    gaps = [0.3, 0.5, 0.5, 0.9]
    count = count_rounds(0.05, [(0.5 * gap, "reported") for gap in gaps])._replace(undrawn=MANY)
    assert hidden_by_review([0.5 * gap for gap in gaps], least=0.05, delta=0.05) == review_limit(count)


# Plans -----------------------------------------------------------------------------------------------------


def test_the_rule_of_299_by_share_of_rounds():
    reviews = {
        0.001: (777, 2385, 2989),
        0.005: (394, 571, 599),
        0.01: (239, 293, 300),
        0.02: (133, 148, 150),
        0.05: (58, 60, 60),
    }
    for p, row in reviews.items():
        planned = [math.ceil(T * fixed_plan_share(round(p * T)) - 1e-9) for T in (1000, 10_000, 10**6)]
        assert planned == list(row)
    anytime = [math.ceil(10**6 * share_needed(round(p * 10**6))) for p in reviews]
    assert anytime == pytest.approx([3352, 672, 336, 168, 68], abs=1)


def test_the_share_needed_is_the_least_that_proves_it():
    for x in (0, 3, 10, 100):
        q = share_needed(x)
        if q < 1:
            assert review_limit(equal_lots(q * (1 + 1e-9), 0)) == x
            assert review_limit(equal_lots(q * (1 - 1e-6), 0)) > x
    assert share_needed(10, detection=0.5) == 2 * share_needed(10)


def test_an_hour_a_day_buys_what_the_page_says():
    for D, q, none, half, two in (
        (200, 0.5, 4, 0.0095, 0.029),
        (1000, 0.1, 31, 0.0114, 0.032),
        (5000, 0.02, 166, 0.0117, 0.033),
        (20_000, 0.005, 670, 0.0118, 0.033),
    ):
        plan = review_plan(rounds=20 * D, reviews=2000)
        assert plan.share == q
        assert plan.prospects[0].limit == none
        assert [p.found for p in plan.prospects] == [0, 10, 40]
        assert plan.prospects[1].share == pytest.approx(half, abs=5e-5)
        assert plan.prospects[2].share == pytest.approx(two, abs=5.1e-4)


def test_a_plan_of_full_review_knows_what_it_found():
    plan = review_plan(rounds=1000, reviews=5000)
    assert plan.share == 1
    assert [p.limit for p in plan.prospects] == [p.found for p in plan.prospects] == [0, 5, 20]


def test_the_share_is_kept_and_the_floor_too():
    rng = np.random.default_rng(0)
    for by in ("gap", "largest", "equal"):
        for share in (0.03, 0.1, 0.3):
            gaps = (0.1 + 0.9 * rng.beta(1, 4, size=3000)).tolist()
            q = np.array([review_probability(gap, gaps[:i], share, by) for i, gap in enumerate(gaps)])
            assert q.min() >= review_floor(share, by)
            assert q.max() <= 1
            assert q.mean() == pytest.approx(share, rel=0.12)


def test_a_review_in_proportion_to_the_gap():
    assert review_probability(0.4, [0.2] * 299, 0.3) == pytest.approx(0.3 * 0.4 / (0.2 * 299 / 300 + 0.4 / 300))
    assert review_probability(0.2, [0.9] * 5 + [0.2] * 299, 0.3) == pytest.approx(0.3)  # older gaps are forgotten
    assert review_probability(0.01, [0.9] * 299, 0.3) == review_floor(0.3)
    assert review_probability(0.9, [0.02] * 299, 0.3) == 1.0
    assert review_probability(0.5, [], 1.0) == 1.0


def test_ties_do_not_break_the_share_of_the_largest():
    for n in (0, 20, 400):
        assert review_probability(0.3, [0.3] * n, 0.3, "largest") == pytest.approx(0.3)


def test_the_largest_of_a_window_together_use_the_share():
    rng = np.random.default_rng(2)
    for gaps in (rng.random(37), rng.choice([0.2, 0.5, 0.9], size=37), np.full(37, 0.4)):
        others = [np.delete(gaps, i).tolist() for i in range(37)]
        q = [review_probability(gap, rest, 0.3, "largest") for gap, rest in zip(gaps.tolist(), others, strict=True)]
        assert np.mean(q) == pytest.approx(0.3)
        assert (np.diff(np.array(q)[np.argsort(gaps)]) >= -1e-12).all()


def test_the_largest_gaps_keep_the_share_in_any_order_and_draw_more_while_gaps_grow():
    gaps = np.random.default_rng(4).uniform(0.1, 0.9, 900).tolist()

    def drawn(order):
        later = range(300, len(order))
        return float(np.mean([review_probability(order[t], order[:t], 0.2, "largest") for t in later]))

    assert drawn(gaps) == pytest.approx(0.2, abs=0.03)
    assert drawn(sorted(gaps)) == 1.0, "each is the largest so far"
    assert drawn(sorted(gaps, reverse=True)) == pytest.approx(0.2 / 3), "none is"


def test_a_budget_a_day():
    assert daily_share(50, 100) == 0.5
    assert daily_share(50, 10) == 1.0
