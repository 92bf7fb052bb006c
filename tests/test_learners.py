"""Learners against their closed forms, at their limits, and at sizes that nobody would list."""

from __future__ import annotations

import cProfile
import math
import pstats
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logsumexp, softmax
from sklearn.linear_model import LogisticRegression

import likewise as lw
from games import Town, alike, count, drive, shifting_losses, two_people, two_people_class
from likewise.errors import InvalidParameter, NotSupported
from likewise.reduction import literal, signed_weights

TOWN = Town()
KEY = lw.Key(0, lw.Role.LEARNER, 1)

# Closed forms ------------------------------------------------------------------------------------------------

BY_HAND = [lambda X: X[:, 0] > 0.5, lambda X: X[:, 1] > 0.5, lambda X: X.sum(axis=1) > 1.2]
LISTED = lw.FiniteClass(BY_HAND)
AUDITOR = lw.MetricAuditor(TOWN.near, 0.2)
COSTS = [(1.0, 1.0), (0.5, 2.0)]


def answers_by_hand(X):
    """(5, people): both constants and the three hypotheses, without the library."""
    return np.array([np.zeros(len(X)), np.ones(len(X)), *(f(X) for f in BY_HAND)], dtype=float)


def fold(learner, t):
    """The learner's weights and state before every round of a transcript."""
    state = learner.init()
    for seen in t:
        yield learner.act(state, KEY).weights, state
        state = learner.update(state, seen)


@pytest.mark.parametrize("costs", COSTS)
def test_exponential_weights_are_the_product_of_1_minus_gamma_m_over_b_over_literal_copies(costs):
    learner = lw.ExponentialWeights(LISTED, T=300, k=3, costs=costs)
    t = lw.play(learner, TOWN.tempter(), AUDITOR)
    B, gamma = 3 * max(costs) + 2 * learner.C, math.sqrt(math.log(5) / 300)
    product = np.ones(5)
    for (weights, _), seen in zip(fold(learner, t), t, strict=True):
        assert weights == pytest.approx(product / product.sum(), abs=1e-9)
        X, y = literal(seen.batch.view, seen.batch.y, seen.reports, int(learner.C), filler=seen.batch.view[0])
        # A copy costs 1 whatever the costs of errors are: C is in units of the Lagrangian.
        price = np.where(y == 1, costs[1], costs[0])
        price[3:] = 1.0
        product *= 1 - gamma * (np.abs(answers_by_hand(X) - y) @ price) / B
    assert t.reported.sum() > 10


@pytest.mark.parametrize("costs", COSTS)
def test_hedge_is_the_softmax_of_cumulative_lagrangian_losses(costs):
    learner = lw.Hedge(LISTED, T=300, k=3, costs=costs)
    t = lw.play(learner, TOWN.tempter(), AUDITOR)
    eta = math.sqrt(8 * math.log(5) / 300) / (3 * max(costs) + 2 * learner.C)
    losses = count(t, answers_by_hand(t.view)).losses
    for i, (weights, _) in enumerate(fold(learner, t)):
        assert weights == pytest.approx(softmax(-eta * losses[:i].sum(axis=0)), abs=1e-9)


ADAHEDGE_RULES = [0.0, 7.0, lw.Scheduled(4.0, 0.01), lw.Tilted(0.1), lw.Tilted(0.1, floor=0.5)]


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("rule", ADAHEDGE_RULES, ids=str)
def test_adahedge_is_the_softmax_at_the_rate_that_its_own_mix_gaps_set(rule, costs):
    learner = lw.AdaHedge(LISTED, k=3, penalty=rule, costs=costs)
    t = lw.play(learner, TOWN.tempter(), AUDITOR, 300)
    losses = count(t, answers_by_hand(t.view)).losses
    n, k = math.log(5), 3 * max(costs)
    delta, reports = (k if isinstance(rule, lw.Tilted) else 0.0), 0
    for i, (weights, state) in enumerate(fold(learner, t)):
        total = losses[:i].sum(axis=0)
        p = softmax(-n / delta * total) if delta > 0 else leaders(total)
        assert weights == pytest.approx(p, abs=1e-9)
        assert state.delta == pytest.approx(delta, rel=1e-9, abs=1e-9)
        raised = delta
        if t.reported[i]:
            assert t.penalties[i] == pytest.approx(penalty_by_hand(rule, i + 1, reports, delta, k, n))
            reports += 1
            raised = delta * (1 + rule.c**2 / (2 * n)) if isinstance(rule, lw.Tilted) else delta
        mix = -logsumexp(-n / delta * losses[i], b=p) * delta / n if delta > 0 else losses[i][p > 0].min()
        delta = max(delta + p @ losses[i] - mix, raised)
    assert reports > 10


def leaders(total):
    """Equal weight on every minimiser."""
    best = np.isclose(total, total.min())
    return best / best.sum()


def penalty_by_hand(rule, t, reports, delta, k, n):
    """C_t as THEORY §3b defines it."""
    if isinstance(rule, lw.Scheduled):
        return rule.first * math.exp(rule.growth * reports)
    if isinstance(rule, lw.Tilted):
        return max(rule.floor * k * math.sqrt(t / n), rule.c * delta / n)
    return rule


def test_the_default_penalties_are_those_of_the_design():
    known, anytime = (lw.AdaHedge(LISTED, k=6, alpha=0.1, T=T).rule for T in (900, None))
    rho = math.log(3 / (0.1 / 1.9))
    assert known.penalty.first == pytest.approx(6 / 3 * math.sqrt(900 / rho))
    assert known.penalty.growth == pytest.approx(0.025**2 / (2 * 4.5))
    assert anytime == lw.Cuts(0.05, lw.Tilted(0.025, floor=0.7), cap=3.0, rows=200)
    assert (known.epsilon, known.cap) == (0.05, 3.0)


def test_release_1_is_one_argument_away():
    known, anytime = (lw.AdaHedge(LISTED, k=6, alpha=0.1, T=T, penalty="growing") for T in (900, None))
    assert known.rule.first == pytest.approx(6 / 3 * math.sqrt(900 / math.log(5)))
    assert known.rule.growth == pytest.approx(0.1**2 / (8 * 4.5))
    assert anytime.rule == lw.Tilted(0.05, floor=0.5)
    assert known.start.uniform
    assert known.forgets == 0


# A million rounds, losses up to a million --------------------------------------------------------------------

THREE = two_people_class()
MILLION = 10**6
HUGE = {
    "exponential weights": lambda T: lw.ExponentialWeights(THREE, T=T, k=2, penalty=MILLION),
    "exponential weights, costs": lambda T: lw.ExponentialWeights(THREE, T=T, k=2, costs=(MILLION, 1.0)),
    "hedge": lambda T: lw.Hedge(THREE, T=T, k=2, penalty=MILLION),
    "hedge, anytime": lambda T: lw.AnytimeHedge(THREE, k=2, penalty=MILLION),
    "adahedge, fixed": lambda T: lw.AdaHedge(THREE, k=2, penalty=MILLION, costs=(MILLION, MILLION)),
    "adahedge, default": lambda T: lw.AdaHedge(THREE, k=2, T=T, alpha=0.1, costs=(MILLION, MILLION)),
    "adahedge, anytime": lambda T: lw.AdaHedge(THREE, k=2, alpha=0.1, costs=(MILLION, MILLION)),
    "adahedge, scheduled": lambda T: lw.AdaHedge(
        THREE, k=2, T=T, alpha=0.1, costs=(MILLION, MILLION), penalty="growing"
    ),
    "adahedge, tilted": lambda T: lw.AdaHedge(THREE, k=2, alpha=0.1, costs=(MILLION, MILLION), penalty="growing"),
}


def stay_sane(name, rounds):
    """Drive the learner; ``drive`` itself asserts a distribution in every round."""
    learner = HUGE[name](rounds)
    met = drive(learner, shifting_losses, rounds)
    assert met.state.reports > 0
    assert met.scale > rounds
    limit = learner.observed_bound(met.state)
    assert limit is None or met.regret <= limit + 1e-9 * met.scale


@pytest.mark.parametrize("name", HUGE)
def test_weights_stay_a_distribution_under_losses_of_a_million(name):
    stay_sane(name, 4_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", HUGE)
def test_weights_stay_a_distribution_after_a_million_rounds(name):
    stay_sane(name, MILLION)


# Cells are the class of all their labellings -----------------------------------------------------------------


def cell_of(X, m):
    """m stripes of the first feature."""
    return np.minimum((np.asarray(X)[:, 0] * m).astype(int), m - 1)


def stripes(m):
    return lw.Cells(lambda X: cell_of(X, m), m)


def listed_stripes(m):
    """All 2^m labellings, one by one: hypothesis h labels cell c with the c-th bit of h."""
    return lw.FiniteClass([lambda X, h=h: (h >> cell_of(X, m)) & 1 for h in range(2**m)], constants=())


OVER_CELLS = {
    "hedge": lambda F: lw.Hedge(F, T=120, k=3),
    "hedge, anytime": lambda F: lw.AnytimeHedge(F, k=3, penalty=5.0),
    "adahedge, fixed": lambda F: lw.AdaHedge(F, k=3, penalty=5.0),
    "adahedge, default": lambda F: lw.AdaHedge(F, k=3, T=120, alpha=0.2, penalty="growing"),
    "adahedge, anytime": lambda F: lw.AdaHedge(F, k=3, alpha=0.2, penalty="growing"),
    "adahedge, tilted": lambda F: lw.AdaHedge(F, k=3, penalty=lw.Tilted(0.1)),
    "adahedge, costs": lambda F: lw.AdaHedge(F, k=3, T=120, alpha=0.2, costs=(0.5, 2.0), penalty="growing"),
    "unconstrained": lambda F: lw.Unconstrained(F),
    "leader": lambda F: lw.FollowTheLeader(F, penalty=3.0),
}


@pytest.mark.parametrize("m", [1, 4, 10])
@pytest.mark.parametrize("name", OVER_CELLS)
def test_cells_play_exactly_as_the_list_of_all_their_labellings(name, m):
    cells, listed = (lw.play(OVER_CELLS[name](F), TOWN.iid(), AUDITOR, 120) for F in (stripes(m), listed_stripes(m)))
    assert cells.shown == pytest.approx(listed.shown, abs=1e-9)
    assert cells.penalties == pytest.approx(listed.penalties, rel=1e-9)
    assert (cells.reported == listed.reported).all()
    assert cells.lagrangian_regret == pytest.approx(listed.lagrangian_regret, abs=1e-9)
    if hasattr(cells.state, "delta"):
        assert cells.state.delta == pytest.approx(listed.state.delta, rel=1e-9)
    assert m == 1 or cells.reported.any()


@pytest.mark.parametrize("name", ["hedge", "adahedge, fixed", "adahedge, default", "adahedge, costs"])
def test_64_cells_play_one_coin_per_cell_at_the_rate_of_18_quintillion_hypotheses(name):
    """π(x) = σ(−η S_cell), and the mix loss of a round is −(1/η) Σ_c ln(1 − q_c + q_c exp(−η s_c))."""
    learner, n = OVER_CELLS[name](stripes(64)), 64 * math.log(2)
    t = lw.play(learner, TOWN.iid(), AUDITOR, 120)
    S, delta, cells, s = np.zeros(64), 0.0, cell_of(t.view, 64), t.signed_weights
    for i in range(t.rounds):
        people = slice(t.starts[i], t.starts[i + 1])
        eta = learner.eta if name == "hedge" else n / max(delta, 1e-300)
        q = expit(-eta * S)
        assert t.shown[people] == pytest.approx(q[cells[people]], abs=1e-9)
        round_sums = np.bincount(cells[people], s[people], 64)
        delta += q @ round_sums - mix_loss_of_cells(S, round_sums, eta)
        S += round_sums
    assert t.hypotheses.size == 2**64
    assert t.reported.any()
    assert name == "hedge" or t.state.delta == pytest.approx(delta, rel=1e-9)


def mix_loss_of_cells(S, s, eta):
    """−(1/η) Σ_c ln(1 − q_c + q_c exp(−η s_c)); at an infinite rate, what the best of the leaders loses."""
    if eta > 1e200:
        return np.where(S == 0, np.minimum(s, 0.0), np.where(S < 0, s, 0.0)).sum()
    log_no, log_yes = -np.logaddexp(0, -eta * S), -np.logaddexp(0, eta * S)
    return -np.logaddexp(log_no, log_yes - eta * s).sum() / eta


def test_the_papers_update_refuses_cells_by_name():
    with pytest.raises(NotSupported, match=r"ExponentialWeights can't play Cells.*Use Hedge or AdaHedge"):
        lw.ExponentialWeights(stripes(4), T=100, k=3)


# Limits ------------------------------------------------------------------------------------------------------

ENUMERABLE = {
    "exponential weights": lambda F, k: lw.ExponentialWeights(F, T=60, k=k),
    "hedge": lambda F, k: lw.Hedge(F, T=60, k=k),
    "hedge, anytime": lambda F, k: lw.AnytimeHedge(F, T=60, k=k, penalty=5.0),
    "adahedge, fixed": lambda F, k: lw.AdaHedge(F, T=60, k=k, penalty=5.0),
    "adahedge, default": lambda F, k: lw.AdaHedge(F, T=60, k=k, alpha=0.2),
    "adahedge, growing": lambda F, k: lw.AdaHedge(F, T=60, k=k, alpha=0.2, penalty="growing"),
    "adahedge, tilted": lambda F, k: lw.AdaHedge(F, T=60, k=k, penalty=lw.Tilted(0.1, floor=0.5)),
    "unconstrained": lambda F, k: lw.Unconstrained(F, T=60, k=k),
    "leader": lambda F, k: lw.FollowTheLeader(F, T=60, k=k, penalty=3.0),
    "ftpl, scalar": lambda F, k: lw.ContextFTPL(F, T=60, k=k, alpha=0.2),
    "ftpl, paper": lambda F, k: lw.ContextFTPL(F, T=60, k=k, noise="paper"),
    "ftpl, growing": lambda F, k: lw.ContextFTPL(F, T=60, k=k, noise="growing", alpha=0.2),
}
CUTS = lw.Thresholds.quantiles(TOWN.X, cuts=2)


@pytest.mark.parametrize(
    "name",
    ENUMERABLE,
)
def test_a_single_hypothesis_is_always_played_with_no_regret_and_a_bound_that_says_so(name):
    learner = ENUMERABLE[name](lw.FiniteClass([], constants=(0,), pool=[[0.0]]), 3)
    t = lw.play(learner, TOWN.iid(), AUDITOR)
    assert (t.shown == 0).all()
    assert t.lagrangian_regret == 0
    bound, observed = learner.bound(0.2), learner.observed_bound(t.state)
    assert bound is None or bound.lagrangian_regret >= 0
    assert observed is None or observed >= 0


@pytest.mark.parametrize("name", ENUMERABLE)
def test_one_person_a_round_can_not_be_treated_differently_from_anybody(name):
    learner = ENUMERABLE[name](CUTS, 1)
    t = lw.play(learner, lw.IID(TOWN.X, TOWN.y, k=1), lw.MetricAuditor(alike, 0.2))
    assert not t.reported.any()
    assert t.lagrangian.sum() == pytest.approx(t.errors.sum())


@pytest.mark.parametrize("name", ["exponential weights", "hedge", "adahedge, fixed", "adahedge, default", "leader"])
def test_without_any_label_nothing_is_learned_but_the_reports(name):
    learner = ENUMERABLE[name](CUTS, 3)
    nobody_knows = lw.IID(TOWN.X, np.full(40, np.nan), k=3)
    t = lw.play(learner, nobody_knows, lw.MetricAuditor(alike, 0.2))
    assert (t.errors == 0).all()
    start = learner.act(learner.init(), KEY).probability(TOWN.X)
    end = learner.act(t.state, KEY).probability(TOWN.X)
    assert t.reported.any() or end == pytest.approx(start)
    assert np.ptp(end) <= max(0.2, np.ptp(start)) + 1e-9


@pytest.mark.parametrize("name", ENUMERABLE)
def test_rounds_that_nobody_reviewed_teach_their_labels_only(name):
    learner = ENUMERABLE[name](CUTS, 3)
    skipped = lw.play(learner, TOWN.iid(), lw.ScriptedAuditor([], alpha=0.2))
    content = lw.play(learner, TOWN.iid(), lw.ScriptedAuditor([None] * 60, alpha=0.2))
    assert not skipped.reviewed.any()
    assert content.reviewed.all()
    assert (skipped.shown == content.shown).all()
    assert skipped.state.reports == 0


def test_an_unheard_auditor_leaves_adahedge_unconstrained():
    unheard = lw.play(lw.AdaHedge(CUTS, k=3, penalty=50.0), TOWN.iid(), lw.ScriptedAuditor([], alpha=0.2), 100)
    free = lw.play(lw.Unconstrained(CUTS), TOWN.iid(), AUDITOR, 100)
    assert free.reported.any()
    assert (unheard.shown == free.shown).all()


@pytest.mark.parametrize("name", ["exponential weights", "hedge", "adahedge, fixed"])
def test_multiplying_costs_and_penalty_multiplies_every_regret_and_changes_no_policy(name):
    kinds = {
        "exponential weights": lambda C, costs: lw.ExponentialWeights(CUTS, T=60, k=3, penalty=C, costs=costs),
        "hedge": lambda C, costs: lw.Hedge(CUTS, T=60, k=3, penalty=C, costs=costs),
        "adahedge, fixed": lambda C, costs: lw.AdaHedge(CUTS, T=60, k=3, penalty=C, costs=costs),
    }
    once, thrice = kinds[name](4.0, (0.5, 2.0)), kinds[name](12.0, (1.5, 6.0))
    a, b = (lw.play(learner, TOWN.iid(), AUDITOR) for learner in (once, thrice))
    assert a.shown == pytest.approx(b.shown, abs=1e-9)
    assert 3 * a.lagrangian_regret == pytest.approx(b.lagrangian_regret)
    assert 3 * once.bound(0.2).lagrangian_regret == pytest.approx(thrice.bound(0.2).lagrangian_regret)
    assert once.bound(0.2).violations == pytest.approx(thrice.bound(0.2).violations)


def test_costs_decide_what_the_best_constant_loses_at_most():
    fp, fn = 0.5, 2.0
    both = lw.Hedge(CUTS, T=60, k=4, costs=(fp, fn))
    ones = np.linspace(0, 1, 10_001)
    worst = np.maximum(fp * ones, fn * (1 - ones)).min()  # the mixture of constants that labels can hurt least
    assert both.kappa == pytest.approx(4 * worst, rel=1e-3)
    for constant, loss in ((0, fn), (1, fp)):
        F = lw.FiniteClass([lambda X: X[:, 0] > 0.5], constants=[constant])
        assert lw.Hedge(F, T=60, k=4, costs=(fp, fn)).kappa == 4 * loss


# Hedge at any time -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("T", [10, 100, 1000])
@pytest.mark.parametrize("F", [CUTS, stripes(9)], ids=["thresholds", "cells"])
def test_anytime_hedge_stays_under_its_bound_at_every_time_against_labels_that_contradict_it(F, T):
    def hostile(moment):
        people = TOWN.X[moment.key.generator().integers(len(TOWN.X), size=3)]
        return people, (moment.policy.probability(people) < 0.5).astype(float)

    learner = lw.AnytimeHedge(F, k=3, penalty=4.0)
    t = lw.play(learner, lw.Adversary(hostile, k=3, sees_policy=True), lw.MetricAuditor(alike, alpha=0.05), T)
    bound = learner.bound(0.05, T).lagrangian_regret
    assert 0 < t.lagrangian_regret <= bound == learner.observed_bound(t.state)
    assert bound == pytest.approx(1.5 * lw.Hedge(F, T=T, k=3, penalty=4.0).bound(0.05).lagrangian_regret)


def test_in_its_last_round_anytime_hedge_plays_as_hedge_would():
    anytime, hedge = lw.AnytimeHedge(LISTED, k=1, penalty=1.0), lw.Hedge(LISTED, T=8, k=1, penalty=1.0)
    losses = np.random.default_rng(2).normal(size=LISTED.size)
    state = hedge.init()._replace(rounds=7, losses=losses)
    np.testing.assert_array_equal(anytime.act(state, KEY).weights, hedge.act(state, KEY).weights)
    earlier = state._replace(rounds=3)
    assert anytime.rate(4) > hedge.eta
    np.testing.assert_allclose(anytime.act(earlier, KEY).weights, softmax(-anytime.rate(4) * losses))


# Bounds: for how many rounds, and under delay -----------------------------------------------------------------


@pytest.mark.parametrize("name", ENUMERABLE)
def test_a_bound_is_for_the_rounds_asked_for_and_never_beyond_the_horizon(name):
    learner = ENUMERABLE[name](CUTS, 3)
    whole = learner.bound(0.2)
    if whole is None:
        assert learner.bound(0.2, 30) is None
        return
    assert learner.bound(0.2, 60) == whole
    half = learner.bound(0.2, T=30)
    assert half.violations <= min(30, whole.violations)
    assert half.lagrangian_regret <= whole.lagrangian_regret
    with pytest.raises(InvalidParameter, match="`T` must be at most the learner's 60 rounds, got 61"):
        learner.bound(0.2, 61)


def test_without_a_horizon_a_bound_needs_the_number_of_rounds():
    for learner in (lw.AdaHedge(CUTS, k=3, alpha=0.2), lw.AnytimeHedge(CUTS, k=3, penalty=5.0)):
        assert learner.bound(0.2, 100).error_regret < learner.bound(0.2, 10**6).error_regret
        with pytest.raises(InvalidParameter, match="`T` must be given"):
            learner.bound(0.2)


def test_only_adahedge_s_observed_bound_survives_delay():
    survives = {name for name in ENUMERABLE if ENUMERABLE[name](CUTS, 3).bound_survives_delay}
    assert survives == {"adahedge, fixed", "adahedge, growing", "adahedge, tilted", "unconstrained"}


@pytest.mark.parametrize("delay", [1, 7, 60])
@pytest.mark.parametrize("name", ["adahedge, fixed", "adahedge, growing", "adahedge, tilted"])
def test_adahedge_s_observed_bound_holds_for_policies_that_are_late(name, delay):
    """Regret charged to the policies that were deployed; everybody alike, labels that contradict what was shown."""
    learner, rng = ENUMERABLE[name](CUTS, 3), np.random.default_rng(delay)
    states, charged, total = [learner.init()], 0.0, np.zeros(CUTS.size)
    for t in range(60):
        rows = CUTS.encode(TOWN.X[rng.integers(len(TOWN.X), size=3)])
        p = learner.act(states[max(0, t - delay)], KEY).at(rows)
        high, low = int(p.argmax()), int(p.argmin())
        reports = (lw.Report(high, low),) if p[high] - p[low] > 0.2 else ()
        batch = lw.Batch(rows, (p < 0.5).astype(float), rows)
        s = signed_weights(batch.y, reports, learner.penalty_at(states[-1]))
        charged, total = charged + s @ p, total + CUTS.predict_rows(rows) @ s
        states.append(learner.update(states[-1], lw.Round(batch, p, reports)))
    assert 0 < charged - total.min() <= learner.observed_bound(states[-1]) + 1e-9


# Refusals ----------------------------------------------------------------------------------------------------

REFUSED = {
    "`T` must be at least 4 ln N": lambda: lw.ExponentialWeights(CUTS, T=8, k=3),
    "`T` must be given": lambda: lw.Hedge(CUTS, k=3),
    "`T` must be a whole number": lambda: lw.Hedge(CUTS, T=0, k=3),
    "`k` must be a whole number": lambda: lw.Hedge(CUTS, T=10, k=0),
    "`k` must be given": lambda: lw.AdaHedge(CUTS, alpha=0.1),
    "`alpha` must be in (0, 1], got 1.7": lambda: lw.AdaHedge(CUTS, k=3, alpha=1.7),
    "`alpha` must be in (0, 1], got 0.0": lambda: lw.Hedge(CUTS, T=10, k=3).bound(alpha=0.0),
    "`alpha` must be given": lambda: lw.AdaHedge(CUTS, k=3),
    "`penalty` must be at least 0, got -1.0": lambda: lw.Hedge(CUTS, T=10, k=3, penalty=-1.0),
    "`penalty` must be at least 0, got inf": lambda: lw.AdaHedge(CUTS, k=3, penalty=math.inf),
    "`costs` must be two numbers": lambda: lw.Hedge(CUTS, T=10, k=3, costs=(0.0, 0.0)),
    "`c` must be in (0, 1)": lambda: lw.Tilted(1.0),
    "`floor` must be at least 0": lambda: lw.Tilted(0.1, floor=-1.0),
    "`first` must be positive": lambda: lw.Scheduled(0.0, 0.1),
    "`growth` must be at least 0": lambda: lw.Scheduled(1.0, -0.1),
    "`hypotheses` must hold a constant": lambda: lw.Hedge(listed_stripes(2), T=10, k=3).bound(0.1),
}


@pytest.mark.parametrize("beginning", REFUSED)
def test_a_bad_parameter_gets_one_sentence_that_names_it(beginning):
    with pytest.raises(InvalidParameter) as refusal:
        REFUSED[beginning]()
    message = str(refusal.value)
    assert message.startswith(beginning)
    assert ", got " in message
    assert message.endswith(".")


def test_an_estimator_class_is_sent_to_the_learner_that_plays_it():
    F = lw.EstimatorClass(LogisticRegression(), pool=TOWN.X)
    with pytest.raises(NotSupported, match=r"AdaHedge needs.*SmoothedFTPL"):
        lw.AdaHedge(F, k=3, alpha=0.1)
    with pytest.raises(NotSupported, match="SmoothedFTPL needs an EstimatorClass, got Thresholds"):
        lw.SmoothedFTPL(CUTS, k=3)


def test_a_schedule_without_growth_has_a_bound_like_a_fixed_penalty():
    bound = lw.AdaHedge(CUTS, T=60, k=3, penalty=lw.Scheduled(5.0, 0.0)).bound(0.2)
    assert bound.violations <= 60


def test_false_reports_can_not_make_tilted_penalties_overflow():
    liar = lw.NoisyAuditor(lw.MetricAuditor(alike, 0.95), false_reports=1.0)
    t = lw.play(lw.AdaHedge(THREE, k=2, penalty=lw.Tilted(0.9)), two_people(THREE), liar, 3000)
    assert np.isfinite(t.shown).all()


# Size --------------------------------------------------------------------------------------------------------


def calls(learner, state, rounds=50):
    """How many functions a stretch of the readable loop calls, when nobody looks."""
    profiler = cProfile.Profile()
    profiler.enable()
    lw.play(learner, TOWN.iid(), lw.ScriptedAuditor({}, 0.2), rounds, state=state, compiled=False)
    profiler.disable()
    return pstats.Stats(profiler).total_calls


@pytest.mark.parametrize("name", ENUMERABLE)
def test_a_late_round_calls_no_more_functions_than_an_early_one(name):
    """With states of constant size this is what a flat cost per round means, without a clock."""
    learner = replace(ENUMERABLE[name](CUTS, 3), T=400)
    early = lw.play(learner, TOWN.iid(), AUDITOR, 50).state
    late = lw.play(learner, TOWN.iid(), AUDITOR, 300, state=early).state
    calls(learner, early)
    first, last = calls(learner, early), calls(learner, late)
    assert last == pytest.approx(first, rel=0.02)


def bytes_of(state):
    return sum(np.asarray(part).nbytes for part in state)


BY_CLASS = [(name, F) for name in ENUMERABLE for F in (CUTS, stripes(8))]


@pytest.mark.parametrize(
    ("name", "F"), [pair for pair in BY_CLASS if pair[0] != "exponential weights" or pair[1] is CUTS]
)
def test_what_a_learner_remembers_does_not_grow_with_the_rounds(name, F):
    learner = ENUMERABLE[name](F, 3)
    early = lw.play(learner, TOWN.iid(), AUDITOR, 2)
    late = lw.play(learner, TOWN.iid(), AUDITOR, 58, state=early.state)
    assert late.state.rounds == 60
    kept = [0 if name != "adahedge, default" else len(state.gaps) for state in (late.state, early.state)]
    a_row = bytes_of(F.no_contrasts.dtype.type(0) for _ in range(F.no_contrasts.shape[1])) + 8 * (2 + 1 + 5 + 1 + 1 + 1)
    assert bytes_of(late.state) - a_row * kept[0] == bytes_of(early.state) - a_row * kept[1] == bytes_of(learner.init())


def test_a_million_thresholds_are_playable():
    rng = np.random.default_rng(0)
    F = lw.Thresholds([np.sort(rng.random(50_000)) for _ in range(10)])
    learner = lw.AdaHedge(F, k=4, alpha=0.2, T=1000)
    X = rng.random((100, 10))
    t = lw.play(learner, lw.IID(X, X[:, 0] > 0.5, k=4), lw.MetricAuditor(alike, 0.2), 8)
    assert F.size == 1_000_002
    assert ((t.shown >= 0) & (t.shown <= 1)).all()
    assert learner.act(t.state, KEY).weights.sum() == pytest.approx(1.0)
    assert t.errors.sum() - t.constant_errors[-1] <= learner.behind_constant(t.state)
