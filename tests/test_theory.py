"""The theory's functions, each evaluated a second way: other algebra, numeric search, exact sums, simulation."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq, minimize_scalar

from likewise import theory
from likewise.errors import InvalidParameter

# The average policy: exact shares of pairs of a small population ----------------------------------------------------


def share_beyond(chances, d, alpha):
    """The chance that two independent people of a uniform population differ by more than d + α."""
    gaps = np.abs(chances[:, None] - chances)
    return float((gaps - d > alpha + 1e-12).mean())


def random_policies(rng, T, people):
    """T policies: soft ones, hard ones, and hard ones that mostly repeat each other."""
    kind = rng.integers(3)
    if kind == 0:
        return rng.random((T, people))
    hard = rng.integers(2, size=(T, people)).astype(float)
    return hard if kind == 1 else np.where(rng.random((T, people)) < 0.8, hard[0], hard)


@pytest.mark.parametrize("sharp", [False, True])
def test_the_average_of_policies_is_as_fair_as_the_interpolation_lemma_says_at_every_q(sharp):
    rng = np.random.default_rng(0)
    slacks, stronger = [], []
    for _ in range(400):
        T, people, alpha = int(rng.integers(1, 9)), 6, float(rng.choice([0.0, 0.1, 0.5]))
        policies = random_policies(rng, T, people)
        d = np.abs(np.subtract.outer(*[rng.random(people)] * 2)) * rng.choice([0.0, 1.0])
        total = sum(share_beyond(policy, d, alpha) for policy in policies)
        for q in range(1, T + 1):
            promised = theory.interpolated(total, alpha, q, T, sharp=sharp)
            beta = share_beyond(policies.mean(axis=0), d, promised.alpha)
            slacks.append(promised.beta - beta)
            stronger.append(total / (q + 1 if sharp else q + 2) - beta)
    assert min(slacks) >= -1e-12
    assert min(stronger) < -0.01  # a lemma that asks for more policies would be wrong here


def test_the_sharper_threshold_of_the_lemma_can_not_be_lowered():
    """q − 1 policies with a gap of 1 and the rest at exactly α put the average on the threshold."""
    T, q, alpha = 10, 4, 0.2
    policies = np.array([[1.0, 0.0]] * (q - 1) + [[alpha, 0.0]] * (T - q + 1))
    total = sum(share_beyond(policy, 0.0, alpha) for policy in policies)
    promised = theory.interpolated(total, alpha, q, T)
    average = policies.mean(axis=0)
    assert average[0] == pytest.approx(promised.alpha)
    assert share_beyond(average, 0.0, promised.alpha - 1e-6) > promised.beta


def test_the_naive_sum_is_tight_on_the_papers_three_points():
    """Counted in fractions: 2/9 for each policy and 4/9 for their average, not the 1/8 and 1/4 in print."""
    d = {(0, 1): 0, (1, 2): 0, (2, 0): 1}
    alpha = Fraction(1, 10)

    def beta(policy):
        pairs = itertools.product(range(3), repeat=2)
        distances = {(a, b): d.get((a, b), d.get((b, a), 0)) for a, b in pairs}
        return Fraction(sum(abs(policy[a] - policy[b]) - far > alpha for (a, b), far in distances.items()), 9)

    h1, h2 = (1, 0, 0), (1, 1, 0)
    average = tuple(Fraction(a + b, 2) for a, b in zip(h1, h2, strict=True))
    assert (beta(h1), beta(h2), beta(average)) == (Fraction(2, 9), Fraction(2, 9), Fraction(4, 9))
    assert theory.naive_sum([2 / 9, 2 / 9], 0.1) == theory.Fairness(0.1, 4 / 9)


def test_the_average_is_never_less_fair_than_the_naive_sum():
    rng = np.random.default_rng(1)
    for _ in range(300):
        policies = random_policies(rng, int(rng.integers(1, 6)), 5)
        d = rng.random((5, 5)) / 2
        d = d + d.T
        betas = [share_beyond(policy, d, 0.1) for policy in policies]
        assert share_beyond(policies.mean(axis=0), d, 0.1) <= theory.naive_sum(betas, 0.1).beta + 1e-12


@pytest.mark.parametrize("sharp", [False, True])
def test_the_curve_holds_the_lemmas_points_for_every_q(sharp):
    alphas, betas = theory.interpolation_curve(7.5, 0.3, 40, sharp=sharp)
    points = [theory.interpolated(7.5, 0.3, q, 40, sharp=sharp) for q in range(1, 41)]
    assert alphas == pytest.approx([p.alpha for p in points])
    assert betas == pytest.approx([p.beta for p in points])
    assert betas[0] == 1.0
    assert betas[-1] < 0.2
    assert alphas.max() <= 1.0


@pytest.mark.parametrize("sharp", [False, True])
def test_the_best_point_of_the_lemma_is_the_one_found_by_trying_every_q(sharp):
    rng = np.random.default_rng(3)
    for _ in range(600):
        T = int(rng.integers(1, 60))
        alpha = float(rng.choice([0.0, 0.1, 0.5, 0.9, 1.0, rng.random()]))
        total = float(rng.choice([0.0, T, rng.random(), T * rng.random(), T * rng.random() ** 3]))
        q, found = theory.best_interpolation(total, alpha, T, sharp=sharp)
        alphas, betas = theory.interpolation_curve(total, alpha, T, sharp=sharp)
        values = np.maximum(alphas - alpha, betas)
        assert found == theory.interpolated(total, alpha, q, T, sharp=sharp)
        assert max(found.alpha - alpha, found.beta) == pytest.approx(values.min(), abs=1e-15)
        assert values[q - 1] == pytest.approx(values.min(), abs=1e-15)


@pytest.mark.parametrize("T", [10**9, 10**15])
def test_the_best_point_of_a_play_too_long_for_a_curve_is_better_than_its_neighbours(T):
    for sharp in (False, True):
        q, found = theory.best_interpolation(T**0.75, 0.1, T, sharp=sharp)
        value = max(found.alpha - 0.1, found.beta)
        for other in (q - 3, q - 1, q + 1, q + 3, q // 2, 2 * q):
            beside = theory.interpolated(T**0.75, 0.1, other, T, sharp=sharp)
            assert max(beside.alpha - 0.1, beside.beta) >= value
        assert value == pytest.approx(math.sqrt(T**0.75 / T * (0.9 if sharp else 1)), rel=1e-3)


def test_a_curve_of_some_points_lies_on_the_whole_one_and_ends_where_it_ends():
    whole = np.column_stack(theory.interpolation_curve(30.0, 0.1, 5000))
    some = np.column_stack(theory.interpolation_curve(30.0, 0.1, 5000, points=200))
    assert 100 < len(some) <= 200
    assert {tuple(point) for point in some} <= {tuple(point) for point in whole}
    assert (some[[0, -1]] == whole[[0, -1]]).all()
    assert len(theory.interpolation_curve(30.0, 0.1, 50, points=200)[0]) == 50
    alphas, betas = theory.interpolation_curve(1e6, 0.0, 10**12, sharp=False, points=2000)
    assert len(alphas) <= 2000
    assert (betas[0], alphas[-1], betas[-1]) == (1.0, 1.0, 1e-6)


# Sums of betas: inverted tails, exact expectations, and adaptive coins ----------------------------------------------


@pytest.mark.parametrize(("T", "delta"), [(100, 0.05), (2000, 0.3)])
def test_deviations_are_where_the_tail_bounds_equal_delta(T, delta):
    sharp = theory.sum_of_betas(3, T, delta) - 3
    paper = theory.sum_of_betas_paper(3, T, delta) - 3
    assert math.exp(-2 * sharp**2 / T) == pytest.approx(delta)
    assert 4 * math.exp(-(paper**2) / (2 * T)) == pytest.approx(delta)
    lemma = theory.sum_of_betas_lemma(3, T, delta) - 3
    assert lemma == pytest.approx(brentq(lambda x: theory.azuma_probability(x, T) - delta, 0, 10 * math.sqrt(T)))
    assert theory.azuma_deviation(T, delta) == pytest.approx(lemma)
    assert theory.sum_of_betas_lemma(3, T, delta / 2) == theory.sum_of_betas_paper(3, T, delta)
    assert theory.azuma_probability(0.0, T) == 1.0
    assert theory.sum_of_betas(T, T, delta) == T
    observed = theory.accuracy_observed(0.2, T, delta) - 0.2
    assert math.exp(-2 * T * observed**2) == pytest.approx(delta)
    live = theory.accuracy_observed(0.2, T, delta, anytime=True) - 0.2
    assert T * (T + 1) * math.exp(-2 * T * live**2) == pytest.approx(delta)
    # Over all T at once, the chances δ/(T(T+1)) sum up to δ.
    assert sum(delta / (t * (t + 1)) for t in range(1, 10**5)) == pytest.approx(delta, rel=1e-4)


@pytest.mark.parametrize(("violations", "limit"), [(0, 5.99), (10, 25.3), (100, 139.05), (1000, 1114.8)])
def test_the_anytime_limit_is_the_one_in_print_and_close_to_the_best_rate(violations, limit):
    found = theory.sum_of_betas_anytime(violations, 0.05)
    assert found == pytest.approx(limit, abs=0.011)

    def at(log_rate):
        rate = math.exp(log_rate)
        return (rate * violations + math.log(20 / 0.05)) / (1 - math.exp(-rate))

    best = minimize_scalar(at, bounds=(-8, 3), method="bounded").fun
    assert best <= found * (1 + 1e-9)
    assert found <= 1.02 * best


def test_the_anytime_limit_rests_on_a_supermartingale_for_every_rate_and_chance():
    p = np.linspace(0, 1, 1001)
    for rate in 8 * 2.0 ** (-0.6 * np.arange(20)):
        grown = np.exp((1 - np.exp(-rate)) * p)
        expected = grown * (p * np.exp(-rate) + 1 - p)
        assert expected.max() <= 1 + 1e-12


def test_adaptive_coins_break_the_limits_no_more_often_than_delta_allows():
    """p_t looks at the past: bold after quiet rounds, timid after reports; 20,000 sequences of 80 rounds."""
    rng, delta, T, runs = np.random.default_rng(2), 0.2, 80, 20_000
    V, total, quiet = np.zeros(runs, dtype=int), np.zeros(runs), np.zeros(runs)
    ever = np.zeros(runs, dtype=bool)
    anytime = np.array([theory.sum_of_betas_anytime(v, delta) for v in range(T + 1)])
    for _ in range(T):
        p = np.minimum(0.9, 0.02 + 0.1 * quiet)
        heads = rng.random(runs) < p
        V, total, quiet = V + heads, total + p, np.where(heads, 0, quiet + 1)
        ever |= total > anytime[V]
    allowed = stats.binom.ppf(0.9999, runs, delta) / runs
    fixed = np.array([theory.sum_of_betas(v, T, delta) for v in range(T + 1)])
    paper = np.array([theory.sum_of_betas_paper(v, T, delta) for v in range(T + 1)])
    assert ever.mean() <= allowed
    assert (total > fixed[V]).mean() <= allowed
    assert (total > paper[V]).mean() <= (total > fixed[V]).mean()
    assert (total > V).mean() > 2 * delta  # the reports alone are no limit
    assert (total > V + 0.3 * (fixed[V] - V)).mean() > 0.01


def test_azumas_chance_is_no_smaller_than_the_exact_tail_of_fair_coins():
    for T, gamma in [(20, 5), (100, 12), (400, 50)]:
        reports = stats.binom(T, 0.5)
        exact = reports.cdf(T / 2 - gamma) + reports.sf(T / 2 + gamma - 1)
        assert exact <= theory.azuma_probability(gamma, T)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_a_batch_shows_a_violation_at_least_as_often_as_its_disjoint_pairs_would(k):
    """Every batch of k from four people, counted: all pairs can report, so the chance is at least the lemma's."""
    chances, d = np.array([0.0, 0.3, 0.4, 1.0]), np.array([0.0, 0.2, 0.9])
    batches = list(itertools.product(range(4), repeat=k))
    for level in d:
        violates = np.abs(chances[:, None] - chances) > level + 0.05
        beta = float(violates.mean())
        seen = np.mean([any(violates[a, b] for a, b in itertools.combinations(batch, 2)) for batch in batches])
        apart = np.mean([any(violates[batch[i], batch[i + 1]] for i in range(0, k - 1, 2)) for batch in batches])
        found = theory.report_probability(beta, k)
        assert found == pytest.approx(apart)
        assert seen >= found - 1e-12 >= beta - 2e-12
    assert theory.report_probability(1.0, k) == 1.0
    assert theory.report_probability(0.0, k) == 0.0


@pytest.mark.parametrize("T", [500, 10**5])
def test_the_papers_generalisation_theorems_are_their_two_steps(T):
    alpha, V, delta, q = 0.1, 40, 0.05, T // 3
    found = theory.fairness_generalisation(V, alpha, q, T, delta)
    deviation = brentq(lambda x: 4 * math.exp(-(x**2) / (2 * T)) - delta, 0, 10 * math.sqrt(T))
    assert found.alpha == pytest.approx(alpha + q / T)
    assert found.beta == pytest.approx(min(1, (V + deviation) / q))
    accuracy = theory.accuracy_generalisation(0.1, 0.02 * 6 * T, 6, T, delta)
    each_side = brentq(lambda x: 4 * math.exp(-T * x**2 / 8) - delta, 0, 10)
    assert accuracy == pytest.approx(0.1 + 0.02 + each_side)
    assert theory.accuracy_generalisation(0.9, 6 * T, 6, T, delta) == 1.0


# Judging pairs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.5])
@pytest.mark.parametrize(("flagged", "shown"), [(0, 1), (0, 299), (3, 40), (39, 40), (40, 40), (250, 1000)])
def test_the_holdout_limit_is_clopper_and_pearsons(flagged, shown, delta):
    found = theory.holdout(flagged, shown, delta)
    test = stats.binomtest(flagged, shown, alternative="less")
    assert found == pytest.approx(test.proportion_ci(1 - delta, method="exact").high, rel=1e-9)
    if flagged < shown:
        assert stats.binom.cdf(flagged, shown, found) == pytest.approx(delta)
    if flagged == 0:
        assert found == pytest.approx(1 - delta ** (1 / shown))


@pytest.mark.parametrize("flagged", [0, 1, 3, 10])
@pytest.mark.parametrize(("beta", "delta"), [(0.01, 0.05), (0.05, 0.01), (0.3, 0.2), (0.9, 0.5)])
def test_the_pairs_needed_are_the_fewest_found_by_counting_up(beta, delta, flagged):
    fewest = next(m for m in itertools.count(flagged + 1) if stats.binom.cdf(flagged, m, beta) <= delta)
    assert theory.pairs_needed(beta, delta, flagged) == fewest
    assert theory.pairs_needed(0.01) == 299


# Learners: minima and fixed points found by search ----------------------------------------------------------------


def smallest(of, low, high):
    """The minimum of a unimodal function, searched on a logarithmic scale."""
    return minimize_scalar(lambda x: of(math.exp(x)), bounds=(math.log(low), math.log(high)), options={"xatol": 1e-10})


SIZES = [(2000, 6, 7.0, 146), (500, 2, 3.0, 3), (10**6, 4, 100.0, 2**64)]


@pytest.mark.parametrize(("T", "k", "C", "N"), SIZES)
def test_learning_rates_are_the_minimisers_of_their_proofs(T, k, C, N):
    n, B = math.log(N), k + 2 * C
    arora = smallest(lambda g: B * (g * T + n / g), 1e-6, 0.5)
    assert theory.exponential_weights_regret(T, k, C, N) == pytest.approx(arora.fun)
    assert theory.exponential_weights_rate(T, N) == pytest.approx(math.exp(arora.x), rel=1e-4)
    hedge = smallest(lambda eta: n / eta + eta / 8 * T * B**2, 1e-9, 10)
    assert theory.hedge_regret(T, k, C, N) == pytest.approx(hedge.fun)
    assert theory.hedge_rate(T, k, C, N) == pytest.approx(math.exp(hedge.x), rel=1e-4)
    assert theory.hedge_observed_regret(math.exp(hedge.x), T, T, k, C, N) == pytest.approx(hedge.fun)
    # A report that never came saves what its round would have cost.
    spared = theory.hedge_observed_regret(0.01, T, T, k, C, N) - theory.hedge_observed_regret(0.01, T, T - 5, k, C, N)
    assert spared == pytest.approx(5 * 0.01 / 8 * (B**2 - k**2))


@pytest.mark.parametrize(("k", "C", "N"), [(1, 1.0, 2), (4, 6.0, 146), (4, 0.0, 2**64)])
def test_anytime_hedge_adds_up_the_terms_of_its_proof(k, C, N):
    """ln N/η_T + Σ_t η_t B²/8 at the rates that are played: at most the formula, and close to it for long plays."""
    B = k + 2 * C
    for T in (1, 10, 20_000):
        rates = np.array([theory.hedge_rate(t, k, C, N) for t in range(1, T + 1)])
        terms = math.log(N) / rates[-1] + (rates * B**2 / 8).sum()
        assert terms <= theory.anytime_hedge_regret(T, k, C, N) * (1 + 1e-12)
    assert terms == pytest.approx(theory.anytime_hedge_regret(T, k, C, N), rel=0.01)
    bound = theory.anytime_hedge(T, k, C, N, alpha=0.5, kappa=k / 2)
    assert bound.lagrangian_regret == bound.error_regret == theory.anytime_hedge_regret(T, k, C, N)
    assert bound.violations == theory.violations_from_regret(bound.lagrangian_regret, T, C, 0.5, k / 2)


@pytest.mark.parametrize(("T", "k", "C", "N"), SIZES)
def test_noise_rates_are_the_minimisers_of_their_proofs(T, k, C, N):
    n, kappa, alpha, wide = 9, k / 2, 0.4, k + 2 * C
    logs = math.log(N)
    M = 2 * math.sqrt(n * logs) + logs
    V = min(T, 2 * kappa * T / (C * (alpha - 0.1)))
    scalar = smallest(lambda e: e * n / 2 * (k**2 * T + 4 * C * (k + C) * V) + M / e, 1e-9, 10)
    assert theory.ftpl_scalar_rate(T, k, C, N, n, kappa, alpha, u=0.05) == pytest.approx(math.exp(scalar.x), rel=1e-4)
    everywhere = smallest(lambda e: e * n / 2 * (k + 2 * C) ** 2 * T + M / e, 1e-9, 10)
    assert theory.ftpl_scalar_rate(T, k, C, N, n, kappa) == pytest.approx(math.exp(everywhere.x), rel=1e-4)
    paper = smallest(lambda w: 2 * wide * (w * n * T + 10 * math.sqrt(n * wide) * logs / w), 1e-9, 1e3)
    omega = theory.ftpl_paper_omega(T, k, C, N, n)
    assert omega == pytest.approx(math.exp(paper.x), rel=1e-4)
    exact = theory.ftpl_paper(T, k, C, N, n, omega, math.inf, 0.05, alpha, kappa)
    assert exact.lagrangian_regret == pytest.approx(paper.fun)
    start = smallest(lambda W: n / 2 * k**2 * T / W + W * M, 1e-3, 1e9)
    assert theory.ftpl_growing_start(T, k, N, n) == pytest.approx(math.exp(start.x), rel=1e-4)


@pytest.mark.parametrize("N", [4, 64])
def test_the_noise_is_no_larger_than_its_mean_allows(N):
    """E max_f of −ζ·f over classes of N labellings of n points: all of them, nested ones, and disjoint ones."""
    n = 6
    every = np.array(list(itertools.product([0, 1], repeat=n)))[:: 64 // N]
    nested = np.tri(n + 1, n, -1)[:N]
    zeta = np.random.default_rng(0).laplace(size=(40_000, n))
    for labels in (every, nested, np.eye(n)[:N]):
        assert (-zeta @ labels.T).max(axis=1).mean() <= theory.noise_mean(len(labels), n)
    # For all labellings the mean is n E max(0, ζ) = n/2: the bound is not wildly loose.
    assert theory.noise_mean(2**n, n) <= 8 * n / 2


@pytest.mark.parametrize(("T", "k", "E"), [(1000, 4, 500), (50, 2, 10)])
def test_sampling_errors_are_where_hoeffdings_tail_over_all_events_equals_delta(T, k, E):
    u = theory.sampling_error(T, k, E, 0.05)
    assert k * T * 2 * math.exp(-2 * E * u**2) == pytest.approx(0.05)
    lemma = theory.ftpl_sampling(T, k, E, 0.05)
    assert T * (k**2 + 1) * 2 * math.exp(-2 * E * lemma**2) == pytest.approx(0.05)


@pytest.mark.parametrize("regret", [0.0, 350.0])
def test_violations_are_the_most_whose_penalties_the_regret_and_a_constant_can_pay(regret):
    T, C, alpha, kappa = 400, 9.0, 0.25, 1.5
    most = max(v for v in range(T + 1) if C * alpha * v <= regret + kappa * T)
    assert math.floor(theory.violations_from_regret(regret, T, C, alpha, kappa)) == most
    assert theory.violations_from_regret(regret, T, 0.0, alpha, kappa) == T
    assert theory.lagrangian_theorem(regret, 80.0, 0.25) == regret - 20.0
    assert theory.reduction_lemma(regret) == regret


@pytest.mark.parametrize("alpha", [0.3, 0.8])
@pytest.mark.parametrize(("T", "k", "first", "N"), [(5000, 4, 20.0, 146), (10**6, 2, 5.0, 3)])
def test_scheduled_violations_are_as_many_as_growing_penalties_fit_into_their_largest_sum(T, k, first, N, alpha):
    growth, kappa, stretched = theory.scheduled_growth(alpha / 2, N), k / 2, max(math.log(N), 4.5)
    z = alpha / 4
    right = k * math.sqrt(stretched * T) + 4 * stretched * first / alpha + stretched * k / z
    largest = (kappa * T + right) / (alpha - alpha / 2 - z)
    penalties = first * np.exp(growth * np.arange(500 / growth))
    fitting = int(np.searchsorted(np.cumsum(penalties), largest, side="right"))
    bound = theory.scheduled(T, k, first, growth, N, alpha, kappa, z=z)
    assert math.floor(bound.violations) == min(T, fitting)
    assert bound.error_regret == pytest.approx(right)
    assert bound.epsilon == pytest.approx(alpha / 2 + z)


@pytest.mark.parametrize("floor", [0.0, 0.5])
@pytest.mark.parametrize(("T", "N", "alpha"), [(10**5, 3, 0.5), (10**7, 146, 0.3)])
def test_tilted_violations_solve_the_two_inequalities_of_theorem_2(T, N, alpha, floor):
    k, c, kappa = 4, alpha / 2, 2.0
    n, stretched = math.log(N), max(math.log(N), 4.5)
    A = 0.5 * math.sqrt(4 * k**2 + stretched * k**2 * T)
    F = floor * k * math.sqrt(T / n)
    extra = 2 * n * F / c + 2 * k + 4 * F if floor else 0.0

    def too_many(V):
        S = (kappa * T + 2 * A + c * k * V - k + extra) / (alpha - c)
        return V - (2 * n / c**2 + 0.5) * math.log((A + c / 2 * (S + k * V) + extra / 2) / k)

    V = brentq(too_many, 1, T)
    bound = theory.tilted(T, k, c, floor, N, alpha, kappa)
    assert bound.violations == pytest.approx(V, rel=1e-9)
    assert bound.error_regret == pytest.approx(2 * A - k + c * k * V + extra)
    assert bound.epsilon == c


def test_growing_noise_solves_its_two_inequalities():
    T, k, c, N, n, alpha, kappa = 10**7, 4, 0.2, 50, 9, 0.5, 2.0
    M = 2 * math.sqrt(n * math.log(N)) + math.log(N)
    W = k * math.sqrt(n * T / (2 * M))
    g, first, base = c**2 / (8 * n * M), c * W / (4 * n), k * math.sqrt(2 * n * M * T)

    def too_many(V):
        S = (kappa * T + base + c * k * V / 2) / (alpha - c)
        return V - (1 / g + 0.5) * math.log(1 + g * S / first)

    bound = theory.ftpl_growing(T, k, c, N, n, alpha, kappa)
    assert bound.violations == pytest.approx(brentq(too_many, 1, T), rel=1e-9)
    assert bound.error_regret == pytest.approx(base + c * k * bound.violations / 2)


def test_scalar_noise_combines_its_two_inequalities():
    """R ≤ a + bV and C(α − 2u)V ≤ R + κT: the V where they meet."""
    T, k, C, N, n, alpha, kappa, rate, u = 10**6, 4, 100.0, 50, 9, 0.5, 2.0, 4e-5, 0.05
    M = 2 * math.sqrt(n * math.log(N)) + math.log(N)

    def regret(V):
        return rate * n / 2 * (k**2 * T + V * 4 * C * (k + C)) + M / rate

    V = brentq(lambda V: C * (alpha - 2 * u) * V - regret(V) - kappa * T, 0, T)
    bound = theory.ftpl_scalar(T, k, C, N, n, rate, alpha, kappa, u, E=400, delta=0.05)
    assert bound.violations == pytest.approx(V, rel=1e-9)
    luck = k * math.sqrt(T * math.log(20) / 800) + 2 * C * u * V
    assert bound.error_regret == pytest.approx(regret(V) + luck)


def test_lemma_1_uses_the_larger_of_the_logarithm_and_nine_halves():
    assert theory.adahedge_regret(16.0, 2) == pytest.approx(math.sqrt(4.5 * 16))
    assert theory.adahedge_regret(16.0, 10**6) == pytest.approx(math.sqrt(6 * math.log(10) * 16))
    assert theory.stretched_log(90) == 4.5 < theory.stretched_log(91)
    assert theory.log_size(2**5000) == pytest.approx(5000 * math.log(2))


def test_the_printed_guarantee_of_exponential_weights_holds_where_it_is_given():
    """It may be looser than the exact form, with the library's own C and one constant, never tighter."""
    for T, k, N in [(10**4, 10, 146), (10**6, 20, 3), (4096, 8, 50)]:
        violations, error = theory.exponential_weights_printed(T, k, N, 0.3)
        exact = theory.exponential_weights(T, k, theory.exponential_weights_penalty(T, k), N, 0.3, kappa=k)
        assert exact.error_regret <= error * (1 + 1e-12)
        assert exact.violations <= violations * (1 + 1e-12)


def test_the_printed_guarantee_is_refused_exactly_where_it_would_be_tighter_than_the_exact_one():
    refused = 0
    for T, k in itertools.product([20, 81, 82, 1000, 2000, 2401, 10**4, 10**4 + 1], range(1, 12)):
        C = theory.exponential_weights_penalty(T, k)
        exact = theory.exponential_weights_regret(T, k, C, 3)
        if exact <= 6 * math.sqrt(math.log(3)) * T**0.75 * (1 + 1e-12):
            assert theory.exponential_weights_printed(T, k, 3, 0.3)[1] >= exact * (1 - 1e-12)
        else:
            refused += 1
            with pytest.raises(InvalidParameter, match=r"^`k` must"):
                theory.exponential_weights_printed(T, k, 3, 0.3)
    assert 20 < refused < 80


@pytest.mark.parametrize("omega", [0.01, 1.0])
def test_the_papers_noise_theorem_is_no_better_than_the_explicit_one_built_on_it(omega):
    """Losses of at most ½ on batches of k' people, times 2k': 2k'(ωk'nT + 10√(nk') ln N/ω)."""
    T, k, C, N, n = 10**4, 4, 6.0, 50, 9
    wide = k + 2 * C
    normalised = theory.context_ftpl_regret(omega, wide, n, N, sum_of_squared_norms=T * 0.5**2)
    printed = theory.ftpl_reduction_lemma(normalised, k, C)
    assert printed == pytest.approx(2 * wide * (omega * wide * n * T + 10 / omega * math.sqrt(n * wide) * math.log(N)))
    explicit = theory.ftpl_paper(T, k, C, N, n, omega, math.inf, 0.05, 0.5, 2.0).lagrangian_regret
    assert printed - explicit == pytest.approx(2 * wide * omega * (wide - 1) * n * T)


def test_the_reduced_loss_of_ftpl_times_twice_the_batch_is_the_error_of_the_reduced_batch():
    """All labellings of a batch of four, any two hypotheses: the factor of Lemma fptl-reduction-loss."""
    k, C = 2, 1
    for y in itertools.product([0, 1], repeat=k + 2 * C):
        weights = (1 - 2 * np.array(y)) / (2 * len(y))
        for f, g in itertools.product(itertools.product([0, 1], repeat=len(y)), repeat=2):
            reduced = float(weights @ np.subtract(f, g))
            errors = np.abs(np.subtract(f, y)).sum() - np.abs(np.subtract(g, y)).sum()
            assert theory.ftpl_reduction_lemma(reduced, k, C) == pytest.approx(errors)


def test_one_hypothesis_leaves_nothing_to_learn_and_no_rate():
    assert theory.log_size(1) == 0.0
    assert theory.stretched_log(1) == 4.5
    assert theory.exponential_weights_rate(10, 1) == 0.0
    assert theory.hedge_rate(10, 2, 3.0, 1) == 0.0
    assert theory.hedge_observed_regret(0.0, 10, 4, 2, 3.0, 1) == 0.0
    assert theory.noise_mean(1, 5) == 0.0


def test_the_bound_of_pure_tilting_is_sharper_than_the_display_in_print():
    printed = (8 * math.log(146) / 0.1**2 + 0.5) * math.log(10**5 + math.sqrt(math.log(146) * 10**5) + 2)
    assert printed == pytest.approx(45_935, abs=1)
    assert 0.9 * printed < theory.tilted(10**5, 6, 0.05, 0.0, 146, 0.1, kappa=6).violations < printed


def test_the_defaults_bound_says_something_only_from_some_seven_thousand_rounds():
    def share(T):
        growth = theory.scheduled_growth(0.05, 146)
        bound = theory.scheduled(T, 6, theory.scheduled_first(T, 6, 146), growth, 146, 0.1, kappa=6, z=0.01)
        return bound.violations / T

    assert share(6000) == 1.0
    assert share(8000) < 1.0


# Corollaries and the lower bound ------------------------------------------------------------------------------------


@pytest.mark.parametrize("T", [10**4, 10**6])
def test_the_corollary_of_exponential_weights_is_both_theorems_at_the_best_q(T):
    k, N, alpha, delta = 4, 50, 0.5, 0.1
    C = math.ceil(max(T**0.25, k))
    regret = 2 * (k + 2 * C) * math.sqrt(T * math.log(N))
    V = min(T, (regret + k * T) / (C * alpha))
    total = min(T, V + math.sqrt(2 * T * math.log(8 / delta)))
    corollary = theory.exponential_weights_corollary(T, k, N, alpha, delta)
    q = np.arange(1, T + 1)
    assert corollary.fairness == pytest.approx(min(1.0, np.maximum(q / T, total / q).min()))
    assert corollary.fairness == pytest.approx(min(1.0, math.sqrt(total / T)), abs=1 / math.sqrt(T))
    assert corollary.accuracy == pytest.approx(min(1.0, regret / (k * T) + math.sqrt(8 * math.log(8 / delta) / T)))


def test_the_corollary_of_a_billion_rounds_is_found_without_trying_them_all():
    T, k, N, alpha, delta = 10**9, 4, 50, 0.5, 0.1
    corollary = theory.exponential_weights_corollary(T, k, N, alpha, delta)
    V = theory.exponential_weights(T, k, theory.exponential_weights_penalty(T, k), N, alpha, k).violations
    total = V + brentq(lambda x: 8 * math.exp(-(x**2) / (2 * T)) - delta, 0, 1e6)
    assert corollary.fairness == pytest.approx(math.sqrt(total / T), rel=1e-6)
    assert corollary.q == pytest.approx(math.sqrt(total * T), rel=1e-6)


def test_the_corollary_of_ftpl_spends_a_third_of_delta_on_each_of_its_parts():
    T, k, N, n, alpha, delta = 10**6, 2, 4, 2, 0.9, 0.15
    C, third = math.ceil(T ** (2 / 9)), delta / 3
    wide = k + 2 * C
    sampling = math.sqrt(math.log(2 * T * (k**2 + 1) / third) / (2 * T))
    noise = 2 * math.sqrt(10 * math.sqrt(n * wide) * math.log(N) * n * T)
    regret = 2 * wide * (noise + T * sampling)
    total = min(T, (regret + k * T) / (C * alpha) + math.sqrt(2 * T * math.log(4 / third)))
    corollary = theory.ftpl_corollary(T, k, N, n, alpha, delta)
    assert corollary.accuracy == pytest.approx(min(1, regret / (k * T) + math.sqrt(8 * math.log(4 / third) / T)))
    assert corollary.fairness == pytest.approx(math.sqrt(total / T), rel=1e-3)
    assert corollary.fairness < 1


def test_no_learner_does_with_fewer_violations_than_the_lower_bound_and_ours_does_with_more():
    N, epsilon, alpha = 10**18, 0.05, 0.2
    n = int(18 * math.log(10) / 67 * 400)
    assert theory.violations_needed(N, epsilon, alpha) == n / 17
    upper = theory.tilted(10**9, 4, epsilon, 0.0, N, alpha, 2.0)
    assert upper.violations > theory.violations_needed(N, epsilon, alpha)


@pytest.mark.parametrize("violations", [0, 3, 40.5, 2000])
def test_the_regret_needed_for_few_violations_is_the_best_that_theorem_4_gives_over_all_slacks(violations):
    T, N, alpha = 10**7, 10**40, 0.2
    logs = 40 * math.log(10)
    needed = theory.error_regret_needed(violations, T, N, alpha)
    best = 0.0
    for epsilon in np.geomspace(1e-3, alpha / 3, 4000):
        if theory.violations_needed(N, float(epsilon), alpha) > violations:
            best = max(best, epsilon / 2 * (T - math.floor(logs / (67 * epsilon**2))))
    assert best <= needed * (1 + 1e-9)
    assert needed <= best * 1.002


def test_violations_times_the_squared_regret_are_of_the_order_of_the_squared_rounds():
    T, N = 10**9, 10**40
    products = [V * theory.error_regret_needed(V, T, N, 0.25) ** 2 for V in (100, 1000, 10_000)]
    assert products == pytest.approx([T**2 * 40 * math.log(10) / 4556] * 3, rel=0.01)
    assert theory.error_regret_needed(100, 1000, N, 0.25) == 0.0
    # What Theorem A promises is above what no learner can beat.
    upper = theory.adahedge_fixed(T, 4, 1e6, N, 0.25, 2.0)
    assert upper.violations < 1e-4 * T
    assert upper.error_regret >= theory.error_regret_needed(upper.violations, T, N, 0.25) > 1e5


# What is refused, by name -------------------------------------------------------------------------------------------

REFUSED = {
    "N too small for ε": ("N", lambda: theory.violations_needed(10**15, 0.05, 0.2)),
    "ε above α/3": ("epsilon", lambda: theory.violations_needed(10**30, 0.08, 0.2)),
    "ε = 0": ("epsilon", lambda: theory.violations_needed(10**30, 0.0, 0.2)),
    "α above ¼": ("alpha", lambda: theory.violations_needed(10**30, 0.05, 0.3)),
    "no hypothesis": ("N", lambda: theory.log_size(0)),
    "negative slack": ("epsilon", lambda: theory.lagrangian_theorem(1.0, 1.0, -0.1)),
    "negative penalties": ("penalties_paid", lambda: theory.lagrangian_theorem(1.0, -1.0, 0.1)),
    "α = 0": ("alpha", lambda: theory.violations_from_regret(1.0, 10, 1.0, 0.0, 1.0)),
    "α = 0 in theorem A": ("alpha", lambda: theory.adahedge_fixed(10, 2, 1.0, 3, 0.0, 1.0)),
    "too few rounds for γ": ("T", lambda: theory.exponential_weights_regret(10, 2, 2.0, 50)),
    "k too large for the printed form": ("k", lambda: theory.exponential_weights_printed(10**4, 11, 3, 0.1)),
    "α of the printed form": ("alpha", lambda: theory.exponential_weights_printed(10**4, 2, 3, 1.1)),
    "z beyond α − c": ("z", lambda: theory.scheduled(100, 2, 1.0, 1e-4, 3, 0.1, 1.0, z=0.1)),
    "c = 0": ("c", lambda: theory.tilted(100, 2, 0.0, 0.0, 3, 0.1, 1.0)),
    "unknown ω": ("omega", lambda: theory.ftpl_paper_omega(100, 2, 2.0, 3, 3, "best")),
    "δ = 1 in sampling": ("delta", lambda: theory.ftpl_sampling(100, 2, 5, 1.0)),
    "no draws": ("E", lambda: theory.ftpl_sampling(100, 2, 0, 0.1)),
    "q = 0": ("q", lambda: theory.interpolated(1.0, 0.1, 0, 10)),
    "q above T": ("q", lambda: theory.interpolated(1.0, 0.1, 11, 10)),
    "δ = 0": ("delta", lambda: theory.sum_of_betas(1, 10, 0.0)),
    "δ = 0, paper": ("delta", lambda: theory.sum_of_betas_paper(1, 10, 0.0)),
    "δ = 1, anytime": ("delta", lambda: theory.sum_of_betas_anytime(1, 1.0)),
    "δ < 0": ("delta", lambda: theory.accuracy_observed(0.1, 10, -0.5)),
    "δ > 1": ("delta", lambda: theory.accuracy_generalisation(0.1, 1.0, 2, 10, 1.5)),
    "δ of a corollary": ("delta", lambda: theory.exponential_weights_corollary(10**4, 2, 3, 0.1, 0.0)),
    "δ of the other": ("delta", lambda: theory.ftpl_corollary(10**4, 2, 3, 2, 0.1, 1.0)),
    "nothing shown": ("shown", lambda: theory.holdout(0, 0, 0.05)),
    "more flagged than shown": ("flagged", lambda: theory.holdout(5, 4, 0.05)),
    "β = 0": ("beta", lambda: theory.pairs_needed(0.0)),
    "negative flags": ("flagged", lambda: theory.pairs_needed(0.1, flagged=-1)),
    "δ of pairs": ("delta", lambda: theory.pairs_needed(0.1, delta=0.0)),
    "plan, α": ("alpha", lambda: theory.plan(0.0, 2, 3, target_error=0.1)),
    "plan, violations": ("target_violations", lambda: theory.plan(0.1, 2, 3, target_violations=0.0)),
    "plan, error": ("target_error", lambda: theory.plan(0.1, 2, 3, target_error=1.5)),
    "plan, slack": ("epsilon", lambda: theory.plan(0.1, 2, 3, target_error=0.1, epsilon=0.2)),
    "plan, N": ("N", lambda: theory.plan(0.1, 2, 1, target_error=0.1)),
    "plan, half a hypothesis": ("N", lambda: theory.plan(0.1, 2, 146.5, target_error=0.1)),
    "plan, k": ("k", lambda: theory.plan(0.1, 0, 3, target_error=0.1)),
    "plan, κ": ("kappa", lambda: theory.plan(0.1, 2, 3, target_error=0.1, kappa=-1.0)),
    "negative violations": ("violations", lambda: theory.sum_of_betas_anytime(-5, 0.05)),
    "negative violations at T": ("violations", lambda: theory.sum_of_betas(-5, 10, 0.05)),
    "negative violations, lemma": ("violations", lambda: theory.sum_of_betas_lemma(-5, 10, 0.05)),
    "no number": ("sum_of_betas", lambda: theory.interpolated(math.nan, 0.1, 1, 10)),
    "no number on a curve": ("sum_of_betas", lambda: theory.interpolation_curve(math.nan, 0.1, 10)),
    "one point": ("points", lambda: theory.interpolation_curve(1.0, 0.1, 10, points=1)),
    "no number for the best": ("sum_of_betas", lambda: theory.best_interpolation(math.nan, 0.1, 10)),
    "q = 1.5": ("q", lambda: theory.interpolated(1.0, 0.1, 1.5, 10)),
    "α above 1 on average": ("alpha", lambda: theory.interpolated(1.0, 1.5, 1, 10)),
    "negative β": ("betas", lambda: theory.naive_sum([-1, 2], 0.1)),
    "negative γ": ("gamma", lambda: theory.azuma_probability(-1.0, 10)),
    "δ of Azuma": ("delta", lambda: theory.azuma_deviation(10, 2.0)),
    "half a round": ("T", lambda: theory.azuma_probability(1.0, 10.5)),
    "one person": ("k", lambda: theory.report_probability(0.1, 1)),
    "β above 1": ("beta", lambda: theory.report_probability(1.1, 2)),
    "one person in a corollary": ("k", lambda: theory.exponential_weights_corollary(10**4, 1, 3, 0.1, 0.05)),
    "one person in the other": ("k", lambda: theory.ftpl_corollary(10**4, 1, 3, 2, 0.1, 0.05)),
    "no rounds of errors": ("T", lambda: theory.accuracy_observed(0.1, 0, 0.05)),
    "an error of 2": ("error_per_person", lambda: theory.accuracy_observed(2.0, 10, 0.05)),
    "nobody": ("k", lambda: theory.accuracy_generalisation(0.1, 1.0, 0, 10, 0.05)),
    "regret that is no number": ("regret", lambda: theory.accuracy_generalisation(0.1, math.nan, 2, 10, 0.05)),
    "half a flag": ("flagged", lambda: theory.holdout(1.5, 10, 0.05)),
    "half a flag, planned": ("flagged", lambda: theory.pairs_needed(0.1, flagged=1.5)),
    "slack above 1": ("epsilon", lambda: theory.lagrangian_theorem(1.0, 1.0, 1.5)),
    "no reduced regret": ("reduced_regret", lambda: theory.reduction_lemma(math.nan)),
    "κ < 0": ("kappa", lambda: theory.hedge(10, 2, 1.0, 3, 0.1, -1.0)),
    "κ < 0 for the paper": ("kappa", lambda: theory.exponential_weights(100, 2, 1.0, 3, 0.1, -1.0)),
    "C < 0": ("C", lambda: theory.adahedge_fixed(10, 2, -1, 3, 0.1, 1.0)),
    "one hypothesis": ("N", lambda: theory.adahedge_fixed(10, 2, 1.0, 1, 0.1, 1.0)),
    "negative ranges": ("sum_of_squared_ranges", lambda: theory.adahedge_regret(-1.0, 3)),
    "no rounds for η": ("T", lambda: theory.hedge_rate(0, 2, 1.0, 3)),
    "no rounds for γ": ("T", lambda: theory.exponential_weights_rate(0, 3)),
    "rounds below 0": ("T", lambda: theory.hedge_regret(-5, 2, 1.0, 3)),
    "η = 0": ("eta", lambda: theory.hedge_observed_regret(0.0, 10, 2, 2, 1.0, 3)),
    "more reports than rounds": ("reports", lambda: theory.hedge_observed_regret(0.1, 10, 11, 2, 1.0, 3)),
    "nobody's penalty": ("k", lambda: theory.exponential_weights_penalty(100, 0)),
    "nobody's other penalty": ("k", lambda: theory.ftpl_paper_penalty(100, -1)),
    "shrinking penalties": ("growth", lambda: theory.scheduled(100, 2, 1.0, -0.1, 3, 0.1, 1.0)),
    "first penalty 0": ("first", lambda: theory.scheduled(100, 2, 0.0, 1e-4, 3, 0.1, 1.0)),
    "α = 5, scheduled": ("alpha", lambda: theory.scheduled(100, 2, 1.0, 1e-4, 3, 5, 1.0)),
    "z < 0": ("z", lambda: theory.scheduled(100, 2, 1.0, 1e-4, 3, 0.1, 1.0, z=-0.1)),
    "one hypothesis, scheduled": ("N", lambda: theory.scheduled_first(100, 2, 1)),
    "c < 0": ("c", lambda: theory.scheduled_growth(-0.1, 3)),
    "α = 5, tilted": ("alpha", lambda: theory.tilted(100, 2, 0.1, 0.0, 3, 5, 1.0)),
    "one hypothesis, tilted": ("N", lambda: theory.tilted(100, 2, 0.1, 0.0, 1, 0.5, 1.0)),
    "floor < 0": ("floor", lambda: theory.tilted(100, 2, 0.1, -1.0, 3, 0.5, 1.0)),
    "ω < 0": ("omega", lambda: theory.ftpl_paper(100, 2, 2.0, 3, 3, -1.0, 5, 0.1, 0.5, 1.0)),
    "ω = 0": ("omega", lambda: theory.context_ftpl_regret(0.0, 2, 3, 3, 1.0)),
    "squares < 0": ("sum_of_squared_norms", lambda: theory.context_ftpl_regret(1.0, 2, 3, 3, -1.0)),
    "no reduced batch": ("normalised_regret", lambda: theory.ftpl_reduction_lemma(math.nan, 2, 1.0)),
    "rate < 0": ("rate", lambda: theory.ftpl_scalar(100, 2, 2.0, 3, 3, -1.0, 0.5, 1.0)),
    "half a draw": ("E", lambda: theory.ftpl_scalar(100, 2, 2.0, 3, 3, 1.0, 0.5, 1.0, 0.0, 0.5)),
    "α = 0, scalar": ("alpha", lambda: theory.ftpl_scalar_rate(100, 2, 2.0, 3, 3, 1.0, 0.0)),
    "no separator": ("n", lambda: theory.noise_mean(3, 0)),
    "c = 0, growing": ("c", lambda: theory.ftpl_growing(100, 2, 0.0, 3, 3, 0.5, 1.0)),
    "one hypothesis, growing": ("N", lambda: theory.ftpl_growing(100, 2, 0.1, 1, 3, 0.5, 1.0)),
    "u < 0": ("u", lambda: theory.ftpl_growing(100, 2, 0.1, 3, 3, 0.5, 1.0, u=-0.1)),
    "α = 0, draws": ("alpha", lambda: theory.draws_needed(100, 2, 0.05, 0.0)),
    "δ = 10⁹": ("delta", lambda: theory.sampling_error(100, 2, 5, 1e9)),
    "half a person": ("k", lambda: theory.sampling_error(100, 0.5, 5, 0.05)),
    "N too small for few violations": ("N", lambda: theory.error_regret_needed(10**6, 10**9, 10**20, 0.2)),
    "one hypothesis to choose from": ("N", lambda: theory.error_regret_needed(10, 10**9, 1, 0.2)),
    "α above ¼ for few violations": ("alpha", lambda: theory.error_regret_needed(10, 10**9, 10**20, 0.3)),
    "a word": ("alpha", lambda: theory.hedge(10, 2, 1.0, 3, "0.1", 1.0)),
    "a truth value": ("T", lambda: theory.hedge_regret(True, 2, 1.0, 3)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_out_of_a_theorems_range_is_refused_by_the_name_of_the_argument(case):
    name, call = REFUSED[case]
    with pytest.raises(InvalidParameter, match=f"^`{name}` must .*, got"):
        call()


# Planning -----------------------------------------------------------------------------------------------------------

TARGETS = [
    {"target_violations": 0.2, "target_error": 0.2},
    {"target_violations": 0.02},
    {"target_violations": 0.1, "target_error": 0.05, "epsilon": 0.3},
    {"target_violations": 0.1, "target_error": 0.1, "kappa": 4.0},
]


def promised(T, penalty, growth, epsilon, kappa, alpha=0.5, k=4, N=50):
    """What the theorem's own function says of a plan."""
    if growth == 0:
        return theory.adahedge_fixed(T, k, penalty, N, alpha, kappa)
    c = math.sqrt(2 * theory.stretched_log(N) * growth)
    return theory.scheduled(T, k, penalty, growth, N, alpha, kappa, z=0.999 * (epsilon - c))


@pytest.mark.parametrize("targets", TARGETS, ids=str)
def test_a_plan_keeps_its_targets_by_the_theorem_and_half_of_its_rounds_could_not(targets):
    alpha, k, N = 0.5, 4, 50
    plan = theory.plan(alpha, k, N, **targets)
    epsilon, kappa = targets.get("epsilon", 0.0), targets.get("kappa", k / 2)
    share, error = targets.get("target_violations", math.inf), targets.get("target_error", math.inf)

    def kept(bound, T):
        return bound.violations <= share * T and bound.error_regret <= error * k * T and bound.epsilon <= epsilon

    again = promised(plan.T, plan.penalty, plan.growth, epsilon, kappa)
    assert again.violations == pytest.approx(plan.bound.violations)
    assert min(again.error_regret, k * plan.T) == pytest.approx(plan.bound.error_regret)
    assert kept(again, plan.T)
    for T in (plan.T // 2, int(0.99 * plan.T)):
        # No fixed penalty and none that grows, on a grid finer than the plan's own.
        for penalty in np.geomspace(0.1, k * T, 150):
            assert not kept(promised(T, penalty, 0.0, epsilon, kappa), 0.97 * T)
            for c in np.array([0.25, 0.5, 0.75]) * epsilon:
                if c > 0:
                    growth = theory.scheduled_growth(c, N)
                    assert not kept(promised(T, penalty, growth, epsilon, kappa), 0.97 * T)


def test_a_plan_for_the_error_alone_is_no_longer_than_a_play_without_penalties():
    """Any share of violations will do, so C → 0 is allowed, and needs k√(ΛT) ≤ 0.01 kT: Λ/0.01² = 45,000 rounds."""
    plan = theory.plan(0.5, 4, 50, target_error=0.01)
    enough = math.ceil(4.5 / 0.01**2)
    assert promised(enough, 1e-3, 0.0, 0.0, 2.0).error_regret <= 1.01 * 0.01 * 4 * enough
    assert 1.1 * enough >= plan.T


def test_a_target_that_is_left_out_does_not_bind():
    """Violations in at most 2 % of rounds: the largest penalty is the best, and the error may be anything."""
    alone = theory.plan(0.5, 4, 50, target_violations=0.02)
    both = theory.plan(0.5, 4, 50, target_violations=0.02, target_error=0.1)
    assert alone.T < 0.1 * both.T
    assert alone.bound.error_regret == 4 * alone.T  # the trivial limit, no more
    assert theory.plan(0.5, 4, 50, target_violations=0.02, target_error=1.0) == alone
    with pytest.raises(InvalidParameter, match=r"^`target_violations` or `target_error` must be given, got neither"):
        theory.plan(0.5, 4, 50)


def test_slack_makes_a_shorter_play_enough():
    strict = theory.plan(0.5, 4, 50, target_violations=0.02, target_error=0.02)
    slack = theory.plan(0.5, 4, 50, target_violations=0.02, target_error=0.02, epsilon=0.4)
    assert slack.T < 0.5 * strict.T
    assert slack.growth > 0 == strict.growth


def test_targets_that_no_theorem_promises_are_refused():
    with pytest.raises(InvalidParameter, match="can't be promised"):
        theory.plan(0.001, 10, 10**6, target_violations=1e-5, target_error=1e-5)
