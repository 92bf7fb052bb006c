"""Labels of accepted people only: estimates by enumeration of the lot, and what is proved of the plays they lead to."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

import likewise as lw
from games import EveryPair, Town, alike, two_people, two_people_class
from likewise.errors import InvalidParameter, NotSupported
from likewise.experiments import games
from likewise.game.rounds import World
from likewise.learners.one_sided import ALONE
from likewise.policies import Floored
from likewise.protocol import Estimate
from lottery import every_lot, fixed_lots, second_count
from test_kept import Twin

SLACK = 1e-6
ALPHA = 0.12
TOWN = Town(k=3)
CLASSES = {
    "thresholds": lw.Thresholds.quantiles(TOWN.X, cuts=3),
    "listed": lw.FiniteClass([lambda X, c=c, j=j: X[:, j] > c for c in (0.25, 0.5, 0.75) for j in (0, 1)]),
    "cells": lw.Cells.grid(TOWN.X, bins=2),
    "no yes": lw.FiniteClass([lambda X, c=c, j=j: X[:, j] > c for c in (0.3, 0.6) for j in (0, 1)], constants=(0,)),
}
CUTS = CLASSES["thresholds"]


# One round, by enumeration of the lot ------------------------------------------------------------------------

PEOPLE = 4
VARIANTS = {
    "IPS": {"doubt": 0.0},
    "a third": {"doubt": 1 / 3},
    "half": {"doubt": 0.5, "floor": 1.0},
    "good until proved bad": {"doubt": 1.0, "floor": 0.0},
    "good, with a floor": {"doubt": 1.0},
    "running": {},
}
COSTS = [(1.0, 1.0), (2.0, 0.5), (0.5, 3.0)]


def a_round(seed, variant, costs, weighed, missing=False):
    """A learner in the middle of a play, and a batch: any weights, any answers, any labels."""
    rng = np.random.default_rng(seed)
    answers = rng.integers(2, size=(6, PEOPLE)).astype(np.uint8)
    F = lw.FiniteClass([games.Answers(row) for row in answers], constants=())
    learner = lw.OneSided(lw.Unconstrained(F, T=20, k=8, costs=costs), **variant)
    weights = rng.dirichlet(np.full(F.size, rng.choice([0.05, 0.5, 3.0])))
    state = learner.init()._replace(weights=weights, delta=1.5, seen=11.0, worth=float(11.0 * rng.uniform(-4, 1)))
    X = np.arange(float(PEOPLE))[:, None]
    y = rng.integers(2, size=PEOPLE).astype(float)
    if missing:
        y[0] = np.nan
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], size=PEOPLE) if weighed else None
    return learner, state, lw.Batch(F.encode(X), y, X, None, weight), F.predict_rows(F.encode(X)).astype(float)


def by_every_lot(learner, state, batch, kind):
    """(probability, loss of every hypothesis) for every lot that makes a difference: what the learner really adds."""
    policy, estimate, auditor = learner.act(state, None), learner.estimate(state), lw.MetricAuditor(alike, 1.0)
    shown = policy.on(batch)
    for lots, probability in every_lot(shown, kind):
        seen = World(auditor, 0, fixed_lots(lots), "accepted").played(1, batch, shown, estimate).seen
        if probability > 1e-15:
            yield probability, learner.update(state, seen).losses - state.losses


@pytest.mark.parametrize("kind", ["round", "person"])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_estimates_are_right_on_average_over_the_lot_and_no_larger_than_proved(variant, costs, weighed, kind):
    for seed in range(4):
        learner, state, batch, answers = a_round(seed, VARIANTS[variant], costs, weighed)
        p, estimate = state.weights, learner.estimate(state)
        (fp, fn), beta = costs, -estimate.doubt / costs[1]
        people = PEOPLE if batch.weight is None else batch.weight.sum()
        s = (fp * (1 - batch.y) - fn * batch.y) * (1.0 if batch.weight is None else batch.weight)
        reached = learner.act(state, None).on(batch) > 0  # of who is never accepted nothing is ever learned
        mean, variance = np.zeros(len(p)), 0.0
        for probability, losses in by_every_lot(learner, state, batch, kind):
            expected = p @ losses
            assert expected >= -fn * people - 1e-9
            dear = (1 - beta) * fn / estimate.floor if beta < 1 else 0.0
            assert expected - losses.min() <= people * max(fp + beta * fn, beta * fn + dear) + 1e-9
            mean += probability * losses
            variance += probability * (p @ (losses - expected) ** 2)
        guess = np.where(reached, s, estimate.doubt * (1.0 if batch.weight is None else batch.weight))
        assert mean == pytest.approx(answers @ guess, abs=1e-9)
        kappa = max(fp + beta * fn, fn)
        assert variance <= kappa**2 * people**2 + 1e-9
        if kind == "person" and not weighed:
            assert variance <= max(fp, fn) ** 2 * PEOPLE**2 / 4 + kappa**2 * PEOPLE + 1e-9


@pytest.mark.parametrize("kind", ["round", "person"])
def test_slack_makes_estimates_too_small_by_exactly_its_share(kind):
    for seed in range(12):
        learner, state, batch, answers = a_round(seed, {"safe": True}, (1.0, 2.0), False)
        shown, slack = learner.act(state, None).on(batch), learner.estimate(state).slack
        mean = sum(probability * losses for probability, losses in by_every_lot(learner, state, batch, kind))
        guess = -2.0 + 3.0 * (1 - batch.y) * shown / (shown + slack)
        assert mean == pytest.approx(answers @ guess, abs=1e-9)
        for _, losses in by_every_lot(learner, state, batch, kind):
            assert state.weights @ losses - losses.min() <= 3.0 * PEOPLE + 1e-9


def test_an_accepted_person_whose_label_is_missing_counts_as_unseen():
    for seed, variant in enumerate(VARIANTS.values()):
        learner, state, batch, answers = a_round(seed, variant, (1.0, 1.0), False, missing=True)
        estimate = learner.estimate(state)
        mean = sum(probability * losses for probability, losses in by_every_lot(learner, state, batch, "round"))
        reached = learner.act(state, None).on(batch) > 0
        guess = np.where(np.isnan(batch.y) | ~reached, estimate.doubt, 1 - 2 * np.nan_to_num(batch.y))
        assert mean == pytest.approx(answers @ guess, abs=1e-9)


# The parameters of a round -----------------------------------------------------------------------------------


def test_the_floor_and_the_slack_are_as_printed():
    F, rho = CUTS, math.log(1 / (0.5 / (CUTS.size - 2)))
    for T in (4, 100, 5000):
        known = lw.OneSided(lw.AdaHedge(F, k=3, alpha=ALPHA, T=T))
        assert known.rho == pytest.approx(rho)
        for rounds in (0, T - 1):
            state = known.init()._replace(rounds=rounds)
            assert known.estimate(state).floor == pytest.approx(min(0.25, 0.3 * math.sqrt(rho / T)))
            safe = lw.OneSided(known.learner, safe=True).estimate(state)
            assert (safe.floor, safe.doubt) == (0.0, -1.0)
            assert safe.slack == pytest.approx(min(0.25, 0.1 * math.sqrt(rho / T)))
    for safe in (False, True):
        unknown = lw.OneSided(lw.AdaHedge(F, k=3, alpha=ALPHA), safe=safe)
        given = [unknown.estimate(unknown.init()._replace(rounds=t - 1)) for t in range(1, 300)]
        numbers = np.array([e.slack if safe else e.floor for e in given])
        scale = 0.1 if safe else 0.3
        assert numbers == pytest.approx(np.minimum(0.25, scale * np.sqrt(rho / np.arange(1, 300))))
        assert (np.diff(numbers) <= 0).all()


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("people", ["iid", "gappy", "tempter"])
def test_the_running_doubt_is_the_average_person_seen_so_far(people, costs):
    learner = lw.OneSided(lw.AdaHedge(CUTS, k=3, alpha=ALPHA, T=120, costs=costs))
    t = lw.play(learner, getattr(TOWN, people)(), lw.MetricAuditor(TOWN.near, ALPHA), seed=2)
    seen = worth = 0.0
    doubts = []
    for i in range(t.rounds):
        doubts.append(min(0.0, max(-costs[1], worth / (ALONE + seen))))
        for j in range(t.starts[i], t.starts[i + 1]):
            if t.decisions[j] and not np.isnan(t.y[j]):
                seen += 1 / t.shown[j]
                worth += (costs[0] * (1 - t.y[j]) - costs[1] * t.y[j]) / t.shown[j]
    assert t.estimates[:, 1] == pytest.approx(doubts, abs=1e-12)
    assert (t.state.seen, t.state.worth) == pytest.approx((seen, worth))
    assert len(set(doubts)) > 20 or costs != (0.5, 3.0)


def test_with_a_horizon_half_of_the_prior_is_on_the_constants():
    for F in CLASSES.values():
        inside = lw.OneSided(lw.AdaHedge(F, k=3, alpha=ALPHA)).learner
        constants = (
            [i for v in F.constants for i in np.flatnonzero(F.constant(v))] if not isinstance(F, lw.Cells) else []
        )
        if len(constants) == 2:
            assert inside.start.weights[constants].tolist() == [0.25, 0.25]
        else:
            assert inside.start.uniform
    three = two_people_class()
    even, fair = (lw.AdaHedge(three, k=2, alpha=0.3, prior=name).start for name in ("even", "fair"))
    np.testing.assert_array_equal(even.weights, fair.weights)
    assert lw.OneSided(lw.AdaHedge(CUTS, k=3, alpha=ALPHA, prior="uniform")).learner.start.uniform
    assert lw.OneSided(lw.AdaHedge(CUTS, k=3, penalty=2.0)).learner.start.uniform
    assert lw.AdaHedge(CUTS, k=3, alpha=0.7, prior="even").start.uniform


def test_labels_cannot_be_learned_where_nobody_drew():
    learner = lw.OneSided(lw.AdaHedge(CUTS, k=3, alpha=ALPHA))
    batch = lw.Batch(CUTS.encode(TOWN.X[:2]), TOWN.y[:2], TOWN.X[:2])
    with pytest.raises(InvalidParameter, match="`round` must hold decisions for a learner of one-sided labels"):
        learner.update(learner.init(), lw.Round(batch, np.array([0.5, 0.5])))


REFUSED = {
    "`safe` must be False where doubt is given, got True": {"safe": True, "doubt": 0.5},
    "`safe` must be False where doubt and floor are given, got True": {"safe": True, "doubt": 0.5, "floor": 0.1},
    "`floor` must be above 0 unless doubt is 1": {"floor": 0.0},
    r"`doubt` must be in \[0, 1\], got 1.5": {"doubt": 1.5},
    "`floor` must be": {"floor": -0.1},
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_parameters_that_do_not_fit_are_refused_in_one_sentence(sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        lw.OneSided(lw.AdaHedge(CUTS, k=3, alpha=ALPHA), **REFUSED[sentence])


@pytest.mark.parametrize("make", [
    lambda: lw.ContextFTPL(CUTS, T=9, k=3, alpha=0.1), lambda: lw.FollowTheLeader(CUTS, penalty=1.0),
    lambda: lw.ExponentialWeights(CUTS, T=90, k=3), lambda: lw.OneSided(lw.AdaHedge(CUTS, k=3, alpha=0.1)),
])  # fmt: skip
def test_learners_whose_theorem_has_no_place_for_estimates_are_refused(make):
    with pytest.raises(NotSupported, match=r"OneSided can't wrap \w+: unseen labels are estimated .* AnytimeHedge\."):
        lw.OneSided(make())


def test_limits_from_kept_reports_need_kept_reports():
    for inside in (lw.Hedge(CUTS, T=9, k=3), lw.AdaHedge(CUTS, k=3, penalty=2.0)):
        learner = lw.OneSided(inside)
        with pytest.raises(InvalidParameter, match="for a limit from kept reports, got"):
            learner.regret_limit(learner.init(), 0.0)
        assert learner.behind_constant(learner.init()) is None


# The whole round, a second time ------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", [{}, {"safe": True}])
@pytest.mark.parametrize(("when", "forget"), [({"T": 70}, 0.5), ({}, 0.0), ({}, 0.5)])
@pytest.mark.parametrize("sees", ["probabilities", "decisions"])
def test_the_learner_is_its_definition(sees, when, forget, variant):
    """Against the twin that test_kept.py writes down, fed with the estimates of a second count."""
    inside = lw.AdaHedge(CUTS, k=3, alpha=ALPHA, forget=forget, **when)
    learner = lw.OneSided(inside, **variant)
    auditor = (
        lw.DecisionAuditor(TOWN.near, 0.08, theta=0.04) if sees == "decisions" else lw.MetricAuditor(TOWN.near, ALPHA)
    )
    t = lw.play(learner, TOWN.tempter(), auditor, 40, seed=4)
    twin, (guesses, _) = Twin(learner.learner), second_count(t)
    for i, seen in enumerate(t):
        answers = CUTS.predict_rows(seen.batch.rows).astype(float)
        floor, p = t.estimates[i, 0], seen.probabilities
        assert p == pytest.approx(floor + (1 - floor) * (twin.weights() @ answers), abs=5e-6)
        pairs = [
            (answers[:, r.favoured] - answers[:, r.disfavoured], p[r.favoured] - p[r.disfavoured]) for r in seen.reports
        ]
        twin.learn(answers @ guesses[t.starts[i] : t.starts[i + 1]], pairs)
    assert t.state.delta == pytest.approx(twin.delta, rel=1e-5)
    assert t.state.terms[:, 0] == pytest.approx([row.price for row in twin.rows], rel=1e-3, abs=1e-3)
    assert len(t.state.gaps) >= 2


# The floor that is deployed ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSES)
def test_the_average_policy_has_the_average_of_the_floors(name):
    F = CLASSES[name]
    for learner in (lw.OneSided(lw.AdaHedge(F, k=3, alpha=ALPHA)), lw.OneSided(lw.Hedge(F, T=50, k=3))):
        t = lw.play(learner, TOWN.iid(), lw.MetricAuditor(TOWN.near, ALPHA), 50, seed=1)
        states = [learner.init()]
        for round_ in t:
            states.append(learner.update(states[-1], round_))
        everybody = F.encode(TOWN.X)
        policies = [learner.act(state, None) for state in states[:-1]]
        assert all(isinstance(policy, Floored) for policy in policies)
        mean = np.mean([policy.at(everybody) for policy in policies], axis=0)
        assert t.average_policy.at(everybody) == pytest.approx(mean, abs=1e-12)
        assert t.average_policy.probability(TOWN.X) == pytest.approx(mean, abs=1e-12)
        if 1 in F.constants:
            assert t.average_policy.mixture().at(everybody) == pytest.approx(mean, abs=1e-12)
        else:
            with pytest.raises(NotSupported, match="only if the class holds “always yes”"):
                t.average_policy.mixture()


@pytest.mark.parametrize("floor", [0.0, 0.1, 0.25])
def test_a_round_knows_the_probabilities_without_the_floor(floor):
    π = np.array([0.0, 1e-17, 0.3, 0.5, 1.0])
    shown = floor + (1 - floor) * π
    batch = lw.Batch(np.zeros((5, 1)), np.zeros(5), None)
    own = lw.Round(batch, shown, estimate=Estimate(floor)).own
    assert own == pytest.approx(π, abs=1e-15)
    assert (own[0], own[-1]) == (0.0, 1.0)
    assert lw.Round(batch, shown).own is shown


# Pathwise: limits of the estimated regret --------------------------------------------------------------------


def flipping(town, rng):
    def choose(moment):
        chosen = rng.integers(40, size=town.k)
        return town.X[chosen], ((town.X[chosen, 0] > 0.5) ^ (moment.t // 25 % 2 == 1)).astype(float)

    return lw.Adversary(choose, k=town.k, sees_policy=False)


def against(town, rng):
    """Everybody's label goes against the policy, in batches of different sizes, some labels missing, weighed."""

    def choose(moment):
        chosen = rng.integers(40, size=1 + rng.integers(town.k))
        y = (moment.policy.probability(town.X[chosen]) < 0.5).astype(float)
        y[rng.random(len(y)) < 0.1] = np.nan
        weight = rng.dirichlet(np.ones(len(y))) * town.k
        return lw.Batch(moment.policy.hypotheses.encode(town.X[chosen]), y, town.X[chosen], None, weight)

    return lw.Adversary(choose, k=town.k, sees_policy=True)


def people_of(kind, rng):
    made = {"brink": lambda: TOWN.brink(ALPHA), "flipping": flipping, "against": against}
    if kind == "brink":
        return made[kind]()
    return made[kind](TOWN, rng) if kind in made else getattr(TOWN, kind)()


KINDS = ["iid", "tempter", "brink", "contrarian", "flipping", "against"]
TIMES = {"horizon": {"T": 70}, "any time": {}}
DOUBTS = [
    {},
    {"doubt": 0.5},
    {"safe": True},
    {"doubt": 0.0},
    {"doubt": 1.0, "floor": 0.0},
    {"doubt": 1.0, "floor": 2.0},
]
SEES = ["worst", "relation", "graded", "every pair", "drifting"]
PLAYS = list(itertools.islice(itertools.cycle(itertools.product(KINDS, CLASSES, TIMES)), 144))


def auditor_of(name, alpha):
    """The auditor, its distance, and the level that the learner is tuned for."""
    return {
        "worst": lambda: (lw.MetricAuditor(TOWN.near, alpha), TOWN.near),
        "every pair": lambda: (EveryPair(TOWN.near, alpha), TOWN.near),
        "drifting": lambda: (lw.DriftingAuditor(TOWN.drifting, alpha), TOWN.drifting),
        "graded": lambda: (lw.DecisionAuditor(TOWN.near, alpha), TOWN.near),
        # A relation with a tolerance is a game at that level in which all who are alike have the distance 0.
        "relation": lambda: (
            lw.DecisionAuditor(TOWN.near, alpha / 2, theta=alpha / 2),
            lambda view, t: np.where(TOWN.near(view) <= alpha / 2, 0.0, 1.0),
        ),
        "liar": lambda: (EveryPair(alike, alpha), alike),
        "lying by decisions": lambda: (lw.DecisionAuditor(alike, alpha / 2, theta=alpha / 2), alike),
    }[name]()  # fmt: skip


def one_play(number, sees=None, penalty=None, T=60):
    kind, name, when = PLAYS[number]
    rng = np.random.default_rng(number)
    F, alpha = CLASSES[name], float(rng.choice([0.08, ALPHA, 0.3]))
    costs = COSTS[number % 3]
    made = lw.AdaHedge(F, k=3, alpha=alpha, costs=costs, penalty=penalty, **TIMES[when])
    if penalty is None:
        rule = dataclasses.replace(made.rule, rows=3 if number % 4 == 0 else 200)
        made = dataclasses.replace(made, penalty=rule, forget=float(rng.choice([0.0, 0.01, 0.5])))
    learner = lw.OneSided(made, **DOUBTS[number % len(DOUBTS)])
    auditor, distance = auditor_of(sees or SEES[number % len(SEES)], alpha)
    lot = "person" if number % 7 == 0 else "round"
    t = lw.play(learner, people_of(kind, rng), auditor, T, seed=number, lot=lot)
    return learner, t, distance


def estimated(t):
    """L̂ of every hypothesis, and Σ ŝ·π of the learner's own probabilities."""
    s, own = second_count(t)
    return t.hypotheses.predict_rows(t.rows).astype(float) @ s, float(s @ own)


def least_fair(t, losses, distance, level):
    """min q·L̂ over policies that are fair at this level on every pair of every round."""
    limits, answers = {}, t.hypotheses.predict_rows(t.rows).astype(float)
    for i in range(t.rounds):
        people = slice(t.starts[i], t.starts[i + 1])
        said, d = answers[:, people].T, distance(t.view[people], t.first + i)
        for a, b in itertools.permutations(range(len(said)), 2):
            row = (said[a] - said[b]).tobytes()
            limits[row] = min(limits.get(row, np.inf), d[a, b] + level)
    rows = np.array([np.frombuffer(row) for row in limits])
    solved = linprog(losses, rows, list(limits.values()), np.ones((1, len(losses))), [1.0], method="highs")
    assert solved.status == 0
    return solved.fun


def behind(t, losses, error):
    """By how much the estimated error exceeds that of the better constant of the class."""
    sums = {0: 0.0, 1: float(second_count(t)[0].sum())}
    return error - min(sums[value] for value in t.hypotheses.constants)


@pytest.mark.parametrize("number", range(144))
def test_limits_of_the_estimated_regret_hold_on_random_and_hostile_plays(number):
    learner, t, distance = one_play(number)
    state, (losses, error) = t.state, estimated(t)
    epsilon = learner.learner.rule.epsilon
    limit = learner.regret_limit(state, error)
    assert error - least_fair(t, losses, distance, learner.alpha - epsilon) <= limit + SLACK
    assert limit <= 2 * state.delta - learner.init().delta + state.shared + SLACK
    assert behind(t, losses, error) <= learner.behind_constant(state) + SLACK


def test_the_plays_above_have_reports_frozen_rows_and_refused_people():
    plays = [one_play(number)[1] for number in range(0, 144, 12)]
    assert sum(t.reported.sum() for t in plays) > 40
    assert sum(t.state.frozen[0] > 0 for t in plays) >= 2
    assert all(0.02 < t.unseen.mean() < 0.98 for t in plays)


@pytest.mark.parametrize("number", range(0, 144, 6))
@pytest.mark.parametrize("liar", ["liar", "lying by decisions"])
def test_whatever_a_liar_reports_the_better_constant_is_not_far_ahead(number, liar):
    learner, t, _ = one_play(number, sees=liar)
    losses, error = estimated(t)
    assert behind(t, losses, error) <= learner.behind_constant(t.state) + SLACK


@pytest.mark.parametrize("number", range(0, 144, 11))
@pytest.mark.parametrize("penalty", [3.0, lw.Scheduled(4.0, 1e-3), lw.Tilted(0.04, floor=0.5), "growing"])
def test_the_estimated_lagrangian_regret_is_at_most_what_was_observed(number, penalty):
    learner, t, _ = one_play(number, penalty=penalty)
    (s, own), answers = second_count(t), t.hypotheses.predict_rows(t.rows).astype(float)
    first, second = t.pair_people.T
    np.add.at(s, first, t.pair_penalties)
    np.subtract.at(s, second, t.pair_penalties)
    regret = s @ own - (answers @ s).min()
    assert regret <= learner.observed_bound(t.state) + SLACK


# Surely: how many violations ---------------------------------------------------------------------------------


class AfterTheLot:
    """Sees probabilities and decisions, and chooses after the lot whether and what to report; it need not be true."""

    margin, sees, screened = 0.0, "decisions", True

    def __init__(self, alpha, when):
        self.alpha, self.when = alpha, when

    def audit(self, batch, decisions, key, pairs):
        if len(pairs) == 0 or not self.when(key.t, batch.y):
            return None
        return tuple(lw.Report(int(i), int(j)) for i, j in pairs[:: -1 if key.t % 2 else 1])

    def facts(self):
        return lw.AuditorFacts("AfterTheLot", sees="decisions")


WHENS = {
    "always": lambda t, y: True,
    "by turns": lambda t, y: t // 7 % 2 == 1,
    "good news": lambda t, y: bool((y[~np.isnan(y)] == 1).all()),
}
GAMES = {
    "two people": (two_people_class(), lambda: two_people(two_people_class()), 2),
    "pairs": (games.Pairs(pairs=4, size=8).hypotheses, lambda: seeing_pairs(games.Pairs(pairs=4, size=8)), 2),
}  # fmt: skip


def seeing_pairs(pairs):
    """Sees the policy with its floor: the pair with the largest gap, rewarded."""
    numbers = np.arange(2.0 * pairs.pairs)[:, None]
    rows = pairs.hypotheses.encode(numbers)

    def choose(moment):
        p = moment.policy.at(rows)
        i = 2 * int((p[0::2] - p[1::2]).argmax())
        return lw.Batch(rows[i : i + 2], np.array([1.0, 0.0]), numbers[i : i + 2])

    return lw.Adversary(choose, k=2, sees_policy=True)


@pytest.mark.parametrize("variant", [{"doubt": 1.0, "floor": 0.0}, {"safe": True}, {}, {"doubt": 0.5}])
@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("game", GAMES)
def test_violations_stay_below_the_sure_bound_of_theorem_6_whatever_is_reported_after_the_lot(game, when, variant):
    F, people, k = GAMES[game]
    alpha, T = 0.5, 500
    c, L = alpha / 2, math.log(F.size)
    learner = lw.OneSided(lw.AdaHedge(F, k=k, alpha=alpha, penalty=lw.Tilted(c)), **variant)
    t = lw.play(learner, people(), AfterTheLot(alpha, WHENS[when]), T, seed=3)
    V = int(t.reported.sum())
    if variant.get("safe") or variant.get("doubt") == 1.0:
        assert (8 * L / alpha**2 + 0.5) * math.log(4.5 * T + 1.5) >= V
        most = 2 * k
    else:
        most = k * max(2.0, 1 / t.estimates[-1, 0])
    largest = k + T * most + c / 2 * (k * T + 2 * T * most + k) / (alpha - c)
    bound = (2 * L / c**2 + 0.5) * math.log(largest / k)
    assert 0 < V <= bound
    if when == "always":
        assert bound / 6 < V  # an adversary that does try
    assert learner.bound(alpha, T).violations <= min(T, math.ceil(bound) + 1)


def test_without_the_constant_that_refuses_everybody_no_bound_is_stated():
    """One rule and its opposite, and the auditor reports every gap: there is nothing to fall back on."""
    for constants in ((), (1,)):
        F = lw.FiniteClass([lambda X: X[:, 0] > 0.5, lambda X: X[:, 0] <= 0.5], constants=constants)
        learner = lw.OneSided(lw.AdaHedge(F, k=2, alpha=0.5, penalty=lw.Tilted(0.25)), doubt=1.0, floor=0.0)
        with pytest.raises(
            InvalidParameter, match="`hypotheses` must hold the constant 0 for any bound with one-sided"
        ):
            learner.bound(0.5, 1000)


# Small ends --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("N", [1, 2, 3])
def test_the_smallest_classes_and_batches_play(N, k):
    rules = [lambda X: X[:, 0] > 0.5][: max(0, N - 2)]
    F = lw.FiniteClass(rules, constants=(0, 1)[: min(2, N)])
    for inside in (
        lw.AdaHedge(F, k=k, alpha=0.1, T=30), lw.AdaHedge(F, k=k, alpha=0.1), lw.Hedge(F, T=30, k=k, penalty=1.0),
        lw.AnytimeHedge(F, k=k, penalty=1.0), lw.Unconstrained(F),
    ):  # fmt: skip
        for variant in ({}, {"safe": True}, {"doubt": 0.5}):
            learner = lw.OneSided(inside, **variant)
            for auditor in (lw.MetricAuditor(TOWN.near, 0.1), lw.DecisionAuditor(TOWN.near, 0.1)):
                t = lw.play(learner, lw.IID(TOWN.X, TOWN.y, k=k), auditor, 30)
                assert np.isfinite(t.shown).all()
                assert ((t.shown >= 0) & (t.shown <= 1)).all()
                if N == 1:
                    assert (t.shown == 0).all()
                    assert t.unseen.all()


def test_a_certain_policy_is_estimated_without_dividing_by_nothing():
    F = lw.FiniteClass([lambda X: X[:, 0] > 0.5], constants=())
    t = lw.play(lw.OneSided(lw.AdaHedge(F, k=3, alpha=0.1, T=20), safe=True), TOWN.iid(), lw.MetricAuditor(alike, 0.1))
    assert set(t.shown.tolist()) == {0.0, 1.0}
    np.testing.assert_array_equal(t.decisions, t.shown == 1.0)


@pytest.mark.parametrize("kind", ["fixed", "Cuts", "any time", "Hedge"])
def test_where_everybody_is_accepted_estimates_are_the_labels(kind):
    """β = 1 without a floor, and a class that only says yes or yes: π̃ = 1, so ŝ = s, and the play is the full one."""
    F = lw.FiniteClass([lambda X: X[:, 0] > -1, lambda X: X[:, 1] > -1], constants=(1,))
    inside = {
        "fixed": lw.AdaHedge(F, k=3, penalty=2.0), "Cuts": lw.AdaHedge(F, k=3, alpha=0.1, T=40, prior="uniform"),
        "any time": lw.AdaHedge(F, k=3, alpha=0.1, prior="uniform"), "Hedge": lw.Hedge(F, T=40, k=3, penalty=1.0),
    }[kind]  # fmt: skip
    auditor = lw.MetricAuditor(TOWN.near, 0.1)
    one = lw.play(lw.OneSided(inside, doubt=1.0, floor=0.0), TOWN.iid(), auditor, 40)
    full = lw.play(inside, TOWN.iid(), auditor, 40)
    assert one.decisions.all()
    for name, part in full.state._asdict().items():
        np.testing.assert_allclose(getattr(one.state, name), part, atol=1e-12, err_msg=name)
