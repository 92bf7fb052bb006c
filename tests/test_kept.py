"""Kept reports: prices against brute force, Lemma 3 and its corollaries on plays that try to break them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq, linprog, minimize_scalar
from scipy.special import logsumexp

import likewise as lw
from games import EveryPair, Town, alike, best_fair, two_people, two_people_class
from likewise import kernels, theory
from likewise.errors import InvalidParameter
from likewise.learners.adahedge import SHARED, TOLERANCE
from likewise.learners.kept import MIRRORED, KeptReports, regret_limit

SLACK = 1e-6
TOWN = Town(k=3)
CUTS = lw.Thresholds.quantiles(TOWN.X, cuts=3)
LISTED = lw.FiniteClass([lambda X, c=c, j=j: X[:, j] > c for c in (0.25, 0.5, 0.75) for j in (0, 1)])
GRID = lw.Cells.grid(TOWN.X, bins=2)
CLASSES = {"thresholds": CUTS, "listed": LISTED, "cells": GRID}
ALPHA = 0.12


# One price, by brute force -----------------------------------------------------------------------------------


def conjugate(m, slope, start, steep):
    """h*(m) of h(v) = C (v − a)₊ + (C̄ − C)(v − b)₊, for m within [0, C̄]."""
    return min(m, slope) * start + max(0.0, m - slope) * steep


@pytest.mark.parametrize("seed", range(60))
def test_a_price_is_where_the_dual_value_is_largest(seed):
    rng = np.random.default_rng(seed)
    P, Z, M = rng.dirichlet([1, 1, 1]) if seed % 3 else rng.dirichlet([1, 30, 0.1])
    eta, price = rng.uniform(0.05, 3), rng.uniform(0, 6)
    slope, cap = rng.uniform(0, 5), 0.0
    cap = slope * rng.uniform(1, 4)
    start = rng.uniform(0.02, 0.4)
    steep = start + rng.uniform(0, 0.4)
    price = min(price, cap)

    def dual(m):
        x = eta * (m - price)
        energy = -math.log(P * math.exp(-x) + Z + M * math.exp(x)) / eta
        return conjugate(m, slope, start, steep) - energy

    best = minimize_scalar(dual, bounds=(0, cap), method="bounded", options={"xatol": 1e-10})
    found = kernels.best_price(price, P, Z, M, slope, cap, start, steep, eta)
    assert 0 <= found <= cap
    assert dual(found) <= best.fun + 1e-9


def test_a_pair_that_nobody_favours_costs_nothing_and_one_that_all_favour_costs_the_cap():
    assert kernels.best_price(2.0, 0.0, 0.6, 0.4, 1.0, 3.0, 0.1, 0.2, 0.5) == 0.0
    assert kernels.best_price(2.0, 1.0, 0.0, 0.0, 1.0, 3.0, 0.1, 0.2, 0.5) == 3.0


# The whole round, a second time ------------------------------------------------------------------------------


class Twin:
    """The learner over listed hypotheses a second time, straight from its definition: sums, logarithms, bisection."""

    def __init__(self, learner):
        self.learner, self.rule, self.w, self.rho = learner, learner.rule, learner.start.weights, learner.start.rho
        self.L, self.delta, self.rows, self.t = np.zeros(len(self.w)), learner.init().delta, [], 0

    def weights(self):
        if self.delta == 0:
            return self.w
        X = self.L + sum((row.price * row.D for row in self.rows), np.zeros(len(self.L)))
        z = np.log(self.w) - self.rho / self.delta * X
        return np.exp(z - logsumexp(z))

    def gap(self, row, price=None):
        p = self.weights()
        if price is not None:
            x = -self.rho / self.delta * (price - row.price) * row.D
            p = p * np.exp(x - x.max())
        return p @ row.D / p.sum()

    def where(self, row, target, low, high):
        """The price that puts p·D at the target: p·D falls as the price rises."""
        return brentq(lambda price: self.gap(row, price) - target, low, high, xtol=1e-10)

    def set_price(self, row):
        if self.gap(row, 0.0) <= row.a:
            row.price = 0.0
        elif self.gap(row, row.C) <= row.a:
            row.price = self.where(row, row.a, 0.0, row.C)
        elif self.gap(row, row.C) <= row.b:
            row.price = row.C
        else:
            row.price = row.cap if self.gap(row, row.cap) >= row.b else self.where(row, row.b, row.C, row.cap)

    def off(self, row):
        v, tau = self.gap(row), TOLERANCE * self.rule.epsilon
        rise = row.price < row.cap and v > (row.a if row.price < row.C else row.b) + tau
        return rise or (row.price > 0 and v < (row.a if row.price <= row.C else row.b) - tau)

    def penalty(self):
        rule, rounds_with_one = self.rule.penalty, len({row.t for row in self.rows})
        if isinstance(rule, lw.Scheduled):
            return rule.first * math.exp(rule.growth * rounds_with_one)
        return max(rule.floor * self.learner.weight * math.sqrt(self.t / self.rho), rule.c * self.delta / self.rho)

    def learn(self, losses, pairs):
        """A round with every hypothesis's loss, and the D and gap of each reported pair."""
        self.t += 1
        p, before, C = self.weights(), self.delta, self.penalty()
        charged = losses + sum((C / len(pairs) * D for D, _ in pairs), np.zeros(len(losses)))
        eta = self.rho / self.delta if self.delta > 0 else math.inf
        mix = charged.min() if math.isinf(eta) else -logsumexp(-eta * charged, b=p) / eta
        self.L, rows = self.L + losses, []
        for D, gap in pairs:
            again = max((row.again + 1 for row in [*self.rows, *rows] if (row.D == D).all()), default=0)
            slope, b = C / len(pairs), gap - self.rule.epsilon
            cap = self.rule.cap * slope * 2**again
            rows.append(SimpleNamespace(D=D, price=0.0, C=slope, cap=cap, a=min(ALPHA, b), b=b, again=again, t=self.t))
        self.rows += rows
        self.delta = before + p @ charged - mix
        if rows and self.rule.horizonless:
            self.delta = max(self.delta, before * (1 + self.rule.penalty.c**2 / (2 * self.rho)))
        for row in rows:
            self.set_price(row)
        for _ in range(3 if rows else 1 if self.upkeep_is_due() else 0):
            for row in self.rows:
                if self.off(row):
                    self.set_price(row)
        self.forget()

    def upkeep_is_due(self):
        """Whether the rounds up to the next turn could move a gap by 2ε, at ηk/2 each; every fourth at least."""
        drift = self.rho / self.delta * self.learner.k / 2
        return self.t % next(m for m in (4, 3, 2, 1) if m == 1 or m * drift <= 2 * self.rule.epsilon) == 0

    def forget(self):
        sigma, X = self.learner.share(self.t), sum((row.price * row.D for row in self.rows), np.zeros(len(self.L)))
        self.L = -np.log((1 - sigma) * self.weights() / self.w + sigma) * self.delta / self.rho - X


TIMES = {"horizon": {"T": 70}, "any time": {}}
AUDITORS = {"worst": lw.MetricAuditor(TOWN.near, ALPHA), "every pair": EveryPair(TOWN.near, ALPHA)}


@pytest.mark.parametrize("forget", [0.0, 5.0 / 9])
@pytest.mark.parametrize("auditor", AUDITORS)
@pytest.mark.parametrize("when", TIMES)
@pytest.mark.parametrize("name", ["thresholds", "listed"])
def test_the_learner_is_its_definition(name, when, auditor, forget):
    F = CLASSES[name]
    learner = lw.AdaHedge(F, k=3, alpha=ALPHA, forget=forget, **TIMES[when])
    t = lw.play(learner, TOWN.tempter(), AUDITORS[auditor], 40)
    twin, state = Twin(learner), learner.init()
    for seen in t:
        assert state.weights == pytest.approx(twin.weights(), abs=2e-6)
        answers = F.predict_rows(seen.batch.rows).astype(float)
        losses = answers @ (1 - 2 * seen.batch.y)
        pairs = [(answers[:, r.favoured] - answers[:, r.disfavoured], r) for r in seen.reports]
        p = seen.probabilities
        pairs.sort(key=lambda pair: p[pair[1].disfavoured] - p[pair[1].favoured])
        twin.learn(losses, [(D, p[r.favoured] - p[r.disfavoured]) for D, r in pairs])
        state = learner.update(state, seen)
        assert state.delta == pytest.approx(twin.delta, rel=1e-6)
        assert state.terms[:, 2] == pytest.approx([row.cap for row in twin.rows], rel=1e-6)
    assert state.terms[:, 0] == pytest.approx([row.price for row in twin.rows], rel=1e-3, abs=1e-3)
    assert len(state.gaps) >= 2


# Lemma 3 and its corollaries ---------------------------------------------------------------------------------


def flipping(town, rng):
    """People at random; what a label means flips now and then."""

    def choose(moment):
        chosen = rng.integers(40, size=town.k)
        return town.X[chosen], ((town.X[chosen, 0] > 0.5) ^ (moment.t // 25 % 2 == 1)).astype(float)

    return lw.Adversary(choose, k=town.k, sees_policy=False)


def people_of(kind, rng):
    made = {"brink": lambda: TOWN.brink(ALPHA), "flipping": lambda: flipping(TOWN, rng)}
    return made[kind]() if kind in made else getattr(TOWN, kind)()


KINDS = ["iid", "tempter", "brink", "contrarian", "flipping"]
PLAYS = list(itertools.islice(itertools.cycle(itertools.product(KINDS, CLASSES, TIMES)), 200))


def one_play(number, liar=False, both_ways=False):
    """Play number i: its environment, class, horizon, how many rows are kept and how much is forgotten."""
    kind, name, when = PLAYS[number]
    rng = np.random.default_rng(number)
    F, alpha = CLASSES[name], float(rng.choice([0.08, ALPHA, 0.3]))
    made = lw.AdaHedge(F, k=3, alpha=alpha, **TIMES[when])
    rule = dataclasses.replace(made.rule, rows=3 if number % 4 == 0 else 200, both_ways=both_ways)
    learner = dataclasses.replace(made, penalty=rule, forget=float(rng.choice([0.0, 0.01, 0.5])))
    distance = alike if liar else TOWN.drifting if number % 3 == 0 else TOWN.near
    auditor = EveryPair(distance, alpha) if distance == TOWN.near and number % 5 == 0 else None
    auditor = lw.DriftingAuditor(distance, alpha) if auditor is None else auditor
    t = lw.play(learner, people_of(kind, rng), auditor, 60, seed=number)
    return learner, t, distance


def behind(t):
    """The learner's error less the better constant's."""
    labels = [(t.y == 0).sum(), (t.y == 1).sum()]
    return t.errors.sum() - min(labels)


def dual_value(learner, t):
    """G_η = φ_η(X) − Σ h*(μ) over listed hypotheses, from the state alone; without frozen rows."""
    state = t.state
    eta = learner.start.rho / state.delta
    energy = -logsumexp(-eta * state.losses, b=learner.start.weights) / eta
    return energy - sum(conjugate(m, C, a, b) for m, C, _, a, b in state.terms)


@pytest.mark.parametrize("number", range(200))
def test_limits_hold_on_random_and_hostile_plays(number):
    learner, t, distance = one_play(number)
    rule, F, state = learner.rule, learner.hypotheses, t.state
    error = t.errors.sum() - t.base_error
    limit, charged = learner.regret_limit(state, error), 2 * state.delta - learner.init().delta + state.shared
    answers = F.predict_rows(t.rows).astype(float)
    fair, q = best_fair(t, answers, distance, learner.alpha - rule.epsilon)
    assert t.errors.sum() - fair <= limit + SLACK
    assert limit <= charged + SLACK
    assert behind(t) <= learner.behind_constant(state) + SLACK
    shown, (first, second) = q @ answers, t.pair_people.T
    assert (shown[first] - shown[second] <= t.pair_gaps - rule.epsilon + SLACK).all()
    if not isinstance(F, lw.Cells) and state.frozen[0] == 0 and state.delta > 0:
        terms = state.terms
        slack = (np.minimum(terms[:, 0], terms[:, 1]) * (terms[:, 4] - terms[:, 3])).sum()
        printed = error - dual_value(learner, t) + slack + state.delta + state.shared
        assert limit <= printed + SLACK <= charged + 2 * SLACK


def test_the_plays_above_have_reports_and_frozen_rows():
    plays = [one_play(number)[1] for number in range(0, 40, 4)]
    assert sum(t.reported.sum() for t in plays) > 40
    assert sum(t.state.frozen[0] > 0 for t in plays) >= 3


@pytest.mark.parametrize("number", range(40))
def test_limits_hold_where_a_report_binds_both_ways(number):
    learner, t, distance = one_play(number, both_ways=True)
    F, state, epsilon = learner.hypotheses, t.state, learner.rule.epsilon
    fair, _ = best_fair(t, F.predict_rows(t.rows).astype(float), distance, learner.alpha - epsilon)
    assert t.errors.sum() - fair <= learner.regret_limit(state, t.errors.sum() - t.base_error) + SLACK
    assert behind(t) <= learner.behind_constant(state) + SLACK


def test_a_report_that_binds_both_ways_keeps_the_other_from_being_favoured():
    """With y = (1, 0), then (0, 1): only a row for either order keeps the second half within the gap."""
    X, alpha = np.array([[0.0], [1.0]]), 0.2
    F = lw.FiniteClass([lambda X: X[:, 0] == 1, lambda X: X[:, 0] == 0], pool=X)
    rule = lw.Cuts(alpha / 2, lw.Tilted(alpha / 4, floor=0.7))
    shown = {}
    for both_ways in (False, True):
        learner = lw.AdaHedge(F, k=2, alpha=alpha, penalty=dataclasses.replace(rule, both_ways=both_ways))
        state, rows = learner.init(), F.encode(X)
        for t in range(120):
            p = learner.act(state, lw.Key(0, lw.Role.LEARNER, t + 1)).at(rows)
            batch = lw.Batch(rows, np.array([0.0, 1.0]) if t < 40 else np.array([1.0, 0.0]), X)
            report = lw.Report(1, 0) if t < 40 and p[1] - p[0] > alpha else None
            state = learner.update(state, lw.Round(batch, p, () if report is None else (report,)))
        shown[both_ways] = p[0] - p[1]
        least = state.gaps.min() - rule.epsilon
    assert shown[True] <= least + TOLERANCE * rule.epsilon < shown[False]


def test_an_answer_about_the_other_order_contradicts_a_report_that_binds_both_ways():
    reports = [(0.5, [(0, 1)]), (-0.6, []), (0.55, [(0, 1)])]
    _, one_way = rounds_of_two(reports)
    _, states = rounds_of_two(reports, both_ways=True)
    assert (one_way[-1].terms[:, 2] > one_way[-1].terms[:, 1]).all()
    assert states[1].repeats.tolist() == [0, MIRRORED]
    assert len(states[-1].gaps) == 3, "the second report has no row for the other order"
    assert states[-1].terms[2, 2] == states[-1].terms[2, 1], "and no cut"


def test_a_first_report_of_the_other_order_is_no_repeat():
    _, states = rounds_of_two([(0.5, [(0, 1)]), (-0.5, [(1, 0)]), (0.4, [(0, 1)])], both_ways=True)
    assert states[-1].repeats.tolist() == [0, MIRRORED, 0, MIRRORED, 1, MIRRORED]


@pytest.mark.parametrize("number", range(0, 40, 3))
def test_rows_of_a_certificate_prove_at_least_as_much_as_prices_that_bind_both_ways(number):
    _, t, _ = one_play(number, both_ways=True)
    for limit in lw.certify(t, 0.3).regret:
        if limit.by_reports is not None and limit.by_prices is not None:
            assert limit.by_reports <= limit.by_prices + SLACK


def test_a_certificate_says_when_a_report_was_taken_to_bind_both_ways():
    _, t, _ = one_play(0, both_ways=True)
    assert "the distance is the same both ways" in {a.name for a in lw.certify(t, 0.3).assumptions}
    assert "the distance is the same both ways" not in {a.name for a in lw.certify(one_play(0)[1], 0.3).assumptions}


@pytest.mark.parametrize("number", range(200))
def test_whatever_a_liar_reports_the_better_constant_is_not_far_ahead(number):
    learner, t, _ = one_play(number, liar=True)
    assert behind(t) <= learner.behind_constant(t.state) + SLACK


@pytest.mark.parametrize("delay", [0, 1, 5, 20, 40])
@pytest.mark.parametrize("name", CLASSES)
def test_the_observed_limit_stands_when_rounds_are_learned_late(name, delay):
    F = CLASSES[name]
    learner, rng = lw.AdaHedge(F, k=3, alpha=ALPHA), np.random.default_rng(delay)
    states, error, rounds, total = [learner.init()], 0.0, [], np.zeros(F.geometry.dim)
    for i in range(120):
        chosen = rng.integers(40, size=3)
        rows, view, y = F.encode(TOWN.X[chosen]), TOWN.X[chosen], TOWN.y[chosen]
        p = learner.act(states[max(0, i - delay)], lw.Key(0, lw.Role.LEARNER, i + 1)).at(rows)
        answer = lw.MetricAuditor(TOWN.near, ALPHA).audit(lw.Batch(rows, y, view), p, lw.Key(0, lw.Role.AUDITOR, i + 1))
        seen = lw.Round(lw.Batch(rows, y, view), p, () if answer is None else (answer,))
        error += float((1 - 2 * y) @ p)
        total = F.added(total, rows, 1 - 2 * y)
        states.append(learner.update(states[-1], seen))
        rounds.append(seen)
    fair = least_fair(F, rounds, total, ALPHA - learner.rule.epsilon)
    assert states[-1].reports > 3
    assert error - fair <= learner.regret_limit(states[-1], error) + SLACK


def least_fair(F, rounds, total, level):
    """min q·L over policies that are fair at this level on every pair of every round, over listed hypotheses."""
    limits = {}
    for seen in rounds:
        said, d = F.predict_rows(seen.batch.rows).T.astype(float), TOWN.near(seen.batch.view)
        for a, b in itertools.permutations(range(3), 2):
            row = (said[a] - said[b]).tobytes()
            limits[row] = min(limits.get(row, math.inf), d[a, b] + level)
    N = F.size
    losses = F.predict_rows(np.arange(4)).astype(float) @ total if isinstance(F, lw.Cells) else total
    rows = np.array([np.frombuffer(row) for row in limits])
    solved = linprog(losses, rows, list(limits.values()), np.ones((1, N)), [1.0], method="highs")
    return solved.fun


@pytest.mark.parametrize("name", CLASSES)
def test_a_certificate_uses_the_prices_and_counts_how_far_the_best_constant_was_ahead(name):
    learner = lw.AdaHedge(CLASSES[name], k=3, alpha=ALPHA, T=200)
    t = lw.play(learner, TOWN.tempter(), AUDITORS["worst"])
    certificate = lw.certify(t)
    answers = learner.hypotheses.predict_rows(t.rows).astype(float)
    for r in certificate.regret[::5]:
        fair = best_fair(t, answers, TOWN.near, ALPHA - r.epsilon)[0]
        assert t.errors.sum() - fair <= r.by_reports + SLACK <= r.by_prices + 2 * SLACK
        assert r.by_prices < r.by_lagrangian
    ahead, constants = -math.inf, np.array([(t.y == label).astype(float) for label in (0, 1)])
    for i in range(1, t.rounds + 1):
        people = slice(0, t.starts[i])
        ahead = max(ahead, t.errors[:i].sum() - constants[:, people].sum(axis=1).min())
    assert certificate.behind_constant == pytest.approx(ahead)
    assert certificate.to_dict()["behind_constant"] == certificate.behind_constant
    assert ahead <= learner.behind_constant(t.state) + SLACK


def test_a_certificate_of_the_later_part_of_a_play_leaves_the_prices_of_earlier_reports_alone():
    learner = lw.AdaHedge(CUTS, k=3, alpha=ALPHA, T=60)
    half = lw.play(learner, TOWN.iid(), AUDITORS["worst"], 30)
    rest = lw.play(learner, TOWN.iid(), AUDITORS["worst"], 30, state=half.state)
    assert {r.by_prices for r in lw.certify(rest).regret} == {None}
    assert None not in {r.by_prices for r in lw.certify(half + rest).regret}


# The fold ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", TIMES)
@pytest.mark.parametrize("name", CLASSES)
def test_without_a_share_nothing_is_forgotten_and_a_share_of_nothing_changes_no_bit(name, when):
    learner = lw.AdaHedge(CLASSES[name], k=3, alpha=ALPHA, forget=0, **TIMES[when])
    t = lw.play(learner, TOWN.iid(), AUDITORS["worst"], 70)
    assert t.state.shared == 0.0
    # A share so small that 1 − σ is 1 in floats moves no weight but those that are nearly 0.
    almost = lw.AdaHedge(CLASSES[name], k=3, alpha=ALPHA, forget=1e-30, **TIMES[when])
    again = lw.play(almost, TOWN.iid(), AUDITORS["worst"], 70)
    assert again.shown == pytest.approx(t.shown, abs=1e-9)


@pytest.mark.parametrize("when", TIMES)
@pytest.mark.parametrize("name", CLASSES)
def test_a_play_goes_on_from_a_stored_state_to_the_last_bit(name, when, tmp_path):
    learner = lw.AdaHedge(CLASSES[name], k=3, alpha=ALPHA, **TIMES[when])
    whole = lw.play(learner, TOWN.iid(), AUDITORS["worst"], 70)
    half = lw.play(learner, TOWN.iid(), AUDITORS["worst"], 30)
    half.save(tmp_path / "half.npz")
    stored = lw.Transcript.load(tmp_path / "half.npz", hypotheses=learner.hypotheses).state
    rest = lw.play(learner, TOWN.iid(), AUDITORS["worst"], 40, state=stored)
    assert np.array_equal((half + rest).shown, whole.shown)
    assert all(np.array_equal(a, b) for a, b in zip(rest.state, whole.state, strict=True))
    assert len(whole.state.gaps) > 3


def test_over_cells_the_weights_are_those_of_all_labellings():
    """Fixed share apart, which gives every cell its own."""
    listed = lw.FiniteClass([lambda X, h=h: (h >> GRID.encode(X)) & 1 for h in range(16)], constants=())
    plays = [
        lw.play(lw.AdaHedge(F, k=3, alpha=ALPHA, T=90, forget=0), TOWN.iid(), AUDITORS["worst"]) for F in (GRID, listed)
    ]
    assert plays[0].reported.sum() > 5
    assert plays[0].shown == pytest.approx(plays[1].shown, abs=1e-9)


def test_a_share_over_cells_keeps_the_dual_value_and_costs_at_most_its_logarithm_per_cell():
    learner = lw.AdaHedge(GRID, k=3, alpha=ALPHA, T=50, forget=0.5, prior=[0.5, 0.3, 0.5, 0.8])
    state, labels = learner.init(), GRID.predict_rows(np.arange(4)).astype(float)
    w = np.prod(np.where(labels == 1, learner.start.weights, 1 - learner.start.weights), axis=1)
    plain, sigma = dataclasses.replace(learner, forget=0), SHARED * 0.5 / 50
    for t, seen in enumerate(lw.play(learner, TOWN.iid(), AUDITORS["worst"], 50), start=1):
        kept, shared = plain.update(state, seen), learner.update(state, seen)
        assert learner.share(t) == (sigma if t % SHARED == 0 else 0.0)
        if t % SHARED:
            assert all(np.array_equal(a, b) for a, b in zip(kept, shared, strict=True))
            state = shared
            continue
        eta = learner.start.rho / shared.delta
        before, after = (s.ground + labels @ s.losses for s in (kept, shared))
        energies = [-logsumexp(-eta * X, b=w) / eta for X in (before, after)]
        assert energies[1] == pytest.approx(energies[0], abs=1e-9)
        assert (after <= before + 4 * -math.log1p(-sigma) / eta + 1e-9).all()
        assert shared.weights == pytest.approx((1 - sigma) * kept.weights + sigma * learner.start.weights)
        state = shared


# Rows --------------------------------------------------------------------------------------------------------


def test_two_people_who_tempt_for_ever_are_reported_about_as_often_as_the_logarithm_of_time():
    F, found = two_people_class(), []
    for T in (1000, 8000):
        t = lw.play(lw.AdaHedge(F, k=2, alpha=0.1, T=T), two_people(F), lw.MetricAuditor(alike, 0.1))
        found.append(int(t.violations.sum()))
        old = lw.AdaHedge(F, k=2, alpha=0.1, T=T, penalty="growing") if T == 1000 else None
        assert old is None or lw.play(old, two_people(F), lw.MetricAuditor(alike, 0.1)).violations.sum() > 40
    assert found[0] <= 10
    assert found[1] <= 12


def test_two_people_are_reported_at_most_fifteen_times_in_64_000_rounds():
    """Compiled: cut-offs between the two, who both come in every round; nobody looks at anything."""
    people = lw.IID([[1.0], [0.0]], [1.0, 0.0], k=2, view=np.zeros((2, 1)), order="passes")
    learner = lw.AdaHedge(lw.Thresholds([[0.5]]), k=2, alpha=0.1, T=64_000)
    t = lw.play(learner, people, lw.MetricAuditor("cityblock", 0.1))
    assert (t.sizes == 2).all()
    assert 2 <= t.violations.sum() <= 15


@pytest.mark.slow
def test_two_people_among_listed_hypotheses_too():
    F = two_people_class()
    t = lw.play(lw.AdaHedge(F, k=2, alpha=0.1, T=64_000), two_people(F), lw.MetricAuditor(alike, 0.1))
    assert t.violations.sum() <= 15


def rounds_of_two(answers, both_ways=False):
    """A learner over two people, a script of answers, and the state after each of them."""
    F = two_people_class()
    learner, rows = lw.AdaHedge(F, k=2, alpha=0.1, T=100, prior="uniform"), F.encode([[1.0], [0.0]])
    learner = dataclasses.replace(learner, penalty=dataclasses.replace(learner.rule, both_ways=both_ways))
    batch, states = lw.Batch(rows, np.array([1.0, 0.0]), rows, np.array([7, 8])), [learner.init()]
    for gap, reports in answers:
        p = np.array([0.5 + gap / 2, 0.5 - gap / 2])
        states.append(learner.update(states[-1], lw.Round(batch, p, tuple(lw.Report(*r) for r in reports))))
    return learner, states


def test_the_same_row_again_doubles_the_cap():
    learner, states = rounds_of_two([(0.5, [(0, 1)]), (0.4, [(0, 1)]), (0.3, [(0, 1)])])
    slopes, caps = states[-1].terms[:, 1], states[-1].terms[:, 2]
    assert caps == pytest.approx(slopes * learner.rule.cap * [1, 2, 4])
    assert states[-1].terms[:, 4] == pytest.approx(np.array([0.5, 0.4, 0.3]) - learner.rule.epsilon)


def test_a_report_that_contradicts_an_earlier_answer_gets_no_cut():
    _, states = rounds_of_two([(0.5, [(0, 1)]), (0.6, []), (0.55, [(0, 1)]), (0.7, [(0, 1)])])
    assert states[2].passed == pytest.approx([0.6])
    assert states[2].terms[0, 2] == max(states[1].terms[0, 0], states[1].terms[0, 1])
    assert states[-1].terms[1, 2] == states[-1].terms[1, 1]
    assert states[-1].terms[2, 2] > states[-1].terms[2, 1]


def test_answers_that_agree_leave_every_cut():
    _, states = rounds_of_two([(0.5, [(0, 1)]), (0.3, []), (0.45, [(0, 1)])])
    assert (states[-1].terms[:, 2] > states[-1].terms[:, 1]).all()


def test_a_gap_within_alpha_is_no_report():
    _, states = rounds_of_two([(0.09, [(0, 1)]), (-0.4, [(0, 1)])])
    assert states[-1].reports == 0
    assert len(states[-1].gaps) == 0


def test_idle_rows_are_dropped_before_the_oldest_is_frozen():
    kept = KeptReports.none(LISTED)
    for t, price in enumerate((2.0, 0.0, 3.0, 0.0), start=1):
        kept = kept.joined(np.full(LISTED.size, t % 2), (1, 2), 0.1 * t, (price, 1.0, 3.0, 0.05, 0.06), t)
    shorter, frozen = kept.shortened(3, fresh=1)
    assert (shorter.made.tolist(), frozen.tolist()) == ([1, 3, 4], [0.0, 0.0])
    shorter, frozen = kept.shortened(2, fresh=1)
    assert shorter.made.tolist() == [3, 4]
    assert frozen == pytest.approx([2.0, 0.2])


def test_freezing_keeps_the_limit_that_the_row_gave():
    learner, t, _ = one_play(4)
    state = t.state
    assert state.frozen[0] > 0
    tight = regret_limit(learner.hypotheses, state, 0.0, 0.0)
    assert tight - regret_limit(learner.hypotheses, state, 0.0, 0.1) == pytest.approx(
        0.1 * (state.frozen[0] + state.terms[:, 0].sum())
    )


def test_rows_that_do_not_last_lose_their_prices_and_keep_the_observed_limit():
    learner = lw.AdaHedge(CUTS, k=3, alpha=ALPHA, T=300, rows_last=40)
    t = lw.play(learner, TOWN.tempter(), AUDITORS["worst"])
    lasting = lw.play(dataclasses.replace(learner, rows_last=None), TOWN.tempter(), AUDITORS["worst"])
    old = t.state.made < 100
    assert old.any()
    assert (
        t.state.terms[old, 2] <= learner.rule.cap * learner.rule.penalty.first * 2.0 ** (t.state.repeats[old] - 4)
    ).all()
    assert t.violations.sum() >= lasting.violations.sum()
    best = lw.best_in_hindsight(t, TOWN.near, ALPHA - learner.rule.epsilon)
    assert t.errors.sum() - best.error <= learner.regret_limit(t.state, t.errors.sum() - t.base_error) + SLACK
    assert learner.bound(ALPHA) is None


def test_after_labels_flip_a_rule_that_was_given_up_comes_back():
    X = np.random.default_rng(0).random((2000, 1))
    F = lw.Thresholds([np.linspace(0.1, 0.9, 9)])
    batches = [(X[3 * i : 3 * i + 3], ((X[3 * i : 3 * i + 3, 0] > 0.5) ^ (i >= 300)).astype(float)) for i in range(600)]
    late = {}
    for forget in (0.0, 0.01):
        learner = lw.AdaHedge(F, k=3, alpha=0.4, T=600, forget=forget)
        t = lw.play(learner, lw.Stream(batches, k=3), lw.ScriptedAuditor([None] * 600, alpha=0.4))
        late[forget] = t.errors[450:].mean()
    assert late[0.01] < 0.5 * late[0.0]


# The start ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("alpha", [0.05, 0.3, 2 / 3])
@pytest.mark.parametrize("prior", ["fair", "mostly 0", "mostly 1"])
def test_no_gap_exceeds_alpha_before_a_hypothesis_has_beaten_both_constants(seed, alpha, prior):
    learner, rng = lw.AdaHedge(CUTS, k=3, alpha=alpha, prior=prior, forget=0), np.random.default_rng(seed)
    state, labels = learner.init(), rng.random(40) < rng.random()
    for _ in range(40):
        weights = state.weights
        off = weights[2:].sum()
        ahead = state.losses[2:].min() < min(state.losses[:2])
        assert ahead or off <= alpha + 1e-9
        chosen = rng.integers(40, size=3)
        rows = CUTS.encode(TOWN.X[chosen])
        p = learner.act(state, lw.Key(0, lw.Role.LEARNER, 1)).at(rows)
        state = learner.update(state, lw.Round(lw.Batch(rows, labels[chosen].astype(float), None), p))


def test_with_a_larger_share_off_the_constants_the_first_policies_could_be_reported():
    share = 0.1 / 1.9
    assert theory.fair_start(0.1, 12) == pytest.approx(((1 - share) / 2, share / 10))
    # One constant has lost everything: those that tie with the other have α′/(α′ + (1 − α′)/2) = α, and no more.
    assert share / (share + (1 - share) / 2) == pytest.approx(0.1)


@pytest.mark.parametrize(("name", "answer"), [("mostly 0", 0), ("mostly 1", 1)])
def test_a_start_that_leans_to_an_answer_begins_near_it_and_is_as_safe_on_paper(name, answer):
    learner = lw.AdaHedge(CUTS, k=3, alpha=ALPHA, T=60, prior=name)
    more, less, other = theory.leaning_start(ALPHA, CUTS.size, 0.1)
    assert learner.start.weights[answer] == more == pytest.approx(9 * less)
    assert learner.start.constants == pytest.approx(-math.log(less))
    # The worse constant has lost everything: those that tie with the other have α′/(α′ + (1 − α′) less) = α, no more.
    off = other * (CUTS.size - 2)
    assert off / (off + less) == pytest.approx(ALPHA)
    first = learner.act(learner.init(), lw.Key(0, lw.Role.LEARNER, 1)).at(CUTS.encode(TOWN.X[:5]))
    assert np.abs(first - answer).max() < 0.15
    t = lw.play(learner, TOWN.iid(), lw.MetricAuditor(TOWN.near, ALPHA))
    assert t.errors.sum() - t.constant_errors[-1] <= learner.behind_constant(t.state)


def test_a_start_that_leans_to_the_right_answer_errs_less_in_the_first_round():
    X = np.linspace(0, 1, 40)[:, None]
    people = lw.IID(X, np.ones(40), k=4, view=X)
    errors = {}
    for name in ("fair", "mostly 0", "mostly 1"):
        learner = lw.AdaHedge(lw.Thresholds([[0.5]]), k=4, alpha=0.1, T=20, prior=name)
        errors[name] = lw.play(learner, people, lw.ScriptedAuditor([None] * 20, alpha=0.1)).errors[0]
    assert errors["mostly 1"] < 0.25 * errors["fair"] < errors["fair"] < errors["mostly 0"]


@pytest.mark.parametrize(
    ("ones", "costs", "prior"),
    [(0.7, (1, 1), "mostly 1"), (0.3, (1, 1), "mostly 0"), (0.5, (1, 1), None), (0.7, (5, 1), "mostly 0")],
)
def test_whoever_saw_labels_leans_to_the_constant_that_costs_less(ones, costs, prior):
    learner = lw.AdaHedge(CUTS, k=3, alpha=ALPHA, T=60, costs=costs)
    assert learner.leaning(ones) == (learner if prior is None else dataclasses.replace(learner, prior=prior))


@pytest.mark.parametrize("chosen", [{"prior": "even"}, {"prior": "fair"}, {"penalty": "growing"}, {"penalty": 5.0}])
def test_a_start_that_was_chosen_stays(chosen):
    learner = lw.AdaHedge(CUTS, k=3, alpha=ALPHA, T=60, **chosen)
    assert learner.leaning(0.9) is learner


@pytest.mark.parametrize("ones", [-0.1, 1.5, float("nan")])
def test_no_share_of_labels_is_outside_0_and_1(ones):
    with pytest.raises(InvalidParameter, match="`ones` must be in"):
        lw.AdaHedge(CUTS, k=3, alpha=ALPHA).leaning(ones)


def test_rho_is_the_logarithm_of_the_smallest_weight_and_no_mixture_is_further_away():
    rng = np.random.default_rng(0)
    for F in (CUTS, LISTED):
        start = lw.AdaHedge(F, k=3, alpha=ALPHA).start
        assert start.weights.sum() == pytest.approx(1)
        for _ in range(50):
            q = rng.dirichlet(np.full(F.size, 0.1)) + 1e-300
            assert (q * np.log(q / start.weights)).sum() <= start.rho + 1e-9
        assert start.constants == pytest.approx(math.log(2 / (1 - ALPHA / (2 - ALPHA))))


UNFAIR = {
    "two hypotheses": (lw.FiniteClass([]), 0.1),
    "one constant": (lw.FiniteClass([lambda X: X[:, 0] > 0.5, lambda X: X[:, 1] > 0.5], constants=[0]), 0.1),
    "a wide level": (CUTS, 0.7),
    "cells": (GRID, 0.1),
}


@pytest.mark.parametrize("case", UNFAIR)
def test_where_there_is_no_fair_start_all_hypotheses_weigh_the_same(case):
    F, alpha = UNFAIR[case]
    learner = lw.AdaHedge(F, k=3, alpha=alpha, T=50)
    assert learner.start.uniform
    assert learner.start.rho == pytest.approx(F.log_size)
    t = lw.play(learner, TOWN.iid(), lw.MetricAuditor(TOWN.near, alpha))
    assert np.isfinite(t.shown).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"alpha": 0.0}, r"`alpha` must be in \(0, 1\], got 0.0\."),
        ({"alpha": 2e-309}, r"`alpha` must be in \[1e-09, 1\], got 2e-309\."),
        ({"alpha": 0.1, "penalty": lw.Cuts(0.1)}, r"`epsilon` must be below alpha = 0.1, got 0.1\."),
        ({"penalty": lw.Cuts(0.1)}, r"`alpha` must be given to a learner that keeps reports, got None\."),
        ({"alpha": 0.1, "penalty": "cuts"}, r'`penalty` must be a number, a rule or "growing", got .cuts.\.'),
        (
            {"alpha": 0.1, "prior": "flat"},
            r'`prior` must be "fair", "uniform", "even", "mostly 0", "mostly 1" or a weight for each, got .flat.\.',
        ),
        ({"alpha": 0.1, "prior": [1.0]}, r"`prior` must have 14 entries, got \(1,\)\."),
        ({"alpha": 0.1, "forget": 1.0}, r"`forget` must be in \[0, 1\), got 1.0\."),
        ({"alpha": 0.1, "penalty": 3.0, "forget": 0.1}, r"`forget` must be 0 unless reports are kept"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(arguments, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        lw.AdaHedge(CUTS, k=3, T=50, **arguments)


# The default's slack ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("T", [None, 200])
@pytest.mark.parametrize(("alpha", "slack"), [(0.02, 0.01), (0.1, 0.05), (0.4, 0.05)])
def test_the_default_gives_half_of_alpha_but_no_more_slack_than_a_twentieth(alpha, slack, T):
    default = lw.AdaHedge(CUTS, k=3, alpha=alpha, T=T)
    assert default.rule.epsilon == slack
    assert default.with_slack(slack).rule == default.rule
    wider = default.with_slack(0.9 * alpha)
    assert wider.rule.epsilon == 0.9 * alpha
    assert (wider.start.rho, wider.forgets, wider.T) == (default.start.rho, default.forgets, T)


def test_slack_is_less_than_alpha_and_needs_one():
    learner = lw.AdaHedge(CUTS, k=3, alpha=0.4)
    for epsilon in (0, 0.4, -0.1, "a little"):
        with pytest.raises(InvalidParameter, match="`epsilon` must be in"):
            learner.with_slack(epsilon)
    with pytest.raises(InvalidParameter, match="`alpha` must be given"):
        lw.AdaHedge(CUTS, k=3, penalty=3.0).with_slack(0.1)
