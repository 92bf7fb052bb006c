"""An auditor who sees only decisions: masking, tolerances, persistence, and how often she must speak."""

from __future__ import annotations

import math

import numpy as np
import pytest

import likewise as lw
from games import Town, alike, two_people, two_people_class
from likewise.errors import InvalidParameter
from likewise.game.rounds import World
from likewise.protocol import Role
from lottery import every_lot, fixed_lots

TOWN = Town(k=4)
F = lw.Thresholds.quantiles(TOWN.X, cuts=3)


def key(t=1, seed=0):
    return lw.Key(seed, Role.AUDITOR, t)


def one_round(auditor, p, lot, view=None, t=1):
    view = np.arange(len(p))[:, None] / 10 if view is None else view
    batch = lw.Batch(np.zeros((len(p), 1)), np.zeros(len(p)), view)
    return World(auditor, 0, fixed_lots(lot)).played(t, batch, np.asarray(p, dtype=float))


# Masking -----------------------------------------------------------------------------------------------------


SELDOM = 1e-12
"""Practically never."""


def masking(screened, persistence):
    """All three are alike, and those in between are closer; τ = 0.6."""
    return lw.DecisionAuditor("cityblock", 0.3, theta=0.3, screened=screened, persistence=persistence)


def test_a_pair_of_small_gap_can_hide_one_of_large_gap_for_ever():
    """π = (1, ½, 0): the first and the last always differ, and so does a closer pair, which is refused."""
    p = np.array([1.0, 0.5, 0.0])
    accepted = {}
    for screened, persistence in ((False, SELDOM), (False, 1.0), (True, SELDOM), (True, 1.0)):
        played = [one_round(masking(screened, persistence), p, lots) for lots, _ in every_lot(p, "round")]
        accepted[screened, persistence] = [[r[:2] for r in each.seen.reports] for each in played]
        assert all(each.violating == 1.0 for each in played)
        if (screened, persistence) == (False, SELDOM):
            assert [each.turned_down for each in played] == [1, 1]
    nothing, always = [[], []], [[(0, 2)], [(0, 2)]]
    assert accepted == {
        (False, SELDOM): nothing, (False, 1.0): always, (True, SELDOM): always, (True, 1.0): always,
    }  # fmt: skip


def test_persistence_is_how_often_she_goes_on():
    p, auditor, rounds = np.array([1.0, 0.5, 0.0]), masking(screened=False, persistence=0.3), 3000
    found = np.mean([bool(one_round(auditor, p, 0.2, t=t).seen.reports) for t in range(1, rounds + 1)])
    assert abs(found - 0.3) < 5 * math.sqrt(0.21 / rounds)


# Relation and grades -----------------------------------------------------------------------------------------


def test_a_relation_names_pairs_within_theta_and_accepts_gaps_above_alpha_plus_theta():
    view = np.array([[0.0], [0.15], [0.2], [0.21]])
    auditor = lw.DecisionAuditor("cityblock", 0.1, theta=0.2)
    assert auditor.alpha == pytest.approx(0.3)
    named = auditor.audit(lw.Batch(np.zeros((4, 1)), np.zeros(4), view), np.array([1.0, 0, 0, 0]), key(),
                          np.array([[0, 1], [0, 2], [0, 3]]))  # fmt: skip
    assert [r[:2] for r in named] == [(0, 1), (0, 2)]
    assert all(r.stated is None and r.violates for r in named)
    for gap, accepted in ((0.29, False), (0.31, True)):
        played = one_round(auditor, [0.5 + gap, 0.5], 0.6, view[:2])
        assert bool(played.seen.reports) == accepted
        assert (played.violating > 0) == accepted


def test_a_graded_auditor_states_the_distance_and_the_gap_must_exceed_it_by_more_than_alpha():
    view = np.array([[0.0], [0.2]])
    for gap, accepted in ((0.29, False), (0.31, True)):
        auditor = lw.DecisionAuditor("cityblock", 0.1)
        assert auditor.alpha == 0.1
        played = one_round(auditor, [0.5 + gap, 0.5], 0.6, view)
        assert played.turned_down == (not accepted)
        assert [r.stated for r in played.seen.reports] == ([pytest.approx(0.2)] if accepted else [])
        assert played.violating == pytest.approx(gap if accepted else 0.0)


def test_she_hears_nothing_of_pairs_that_were_decided_alike():
    auditor = lw.DecisionAuditor(alike, 0.1, theta=0.0)
    for lot, seen in ((0.1, False), (0.3, True), (0.69, True), (0.7, False)):
        played = one_round(auditor, [0.7, 0.3], lot)
        assert bool(played.seen.reports) == seen
        assert played.violating == pytest.approx(0.4)


@pytest.mark.parametrize("choose", ["closest", "first", "random"])
def test_which_pair_she_names_first(choose):
    view = np.array([[0.0], [0.3], [0.1], [0.2]])
    auditor = lw.DecisionAuditor("cityblock", 0.1, theta=0.4, choose=choose)
    batch, pairs = lw.Batch(np.zeros((4, 1)), np.zeros(4), view), np.array([[0, 1], [0, 2], [0, 3]])
    named = [tuple(r[1] for r in auditor.audit(batch, np.array([1.0, 0, 0, 0]), key(t), pairs)) for t in range(40)]
    if choose == "random":
        assert len(set(named)) == 6
    else:
        assert set(named) == {(2, 3, 1) if choose == "closest" else (1, 2, 3)}


def test_she_is_silent_where_there_is_nothing_to_show():
    auditor = lw.DecisionAuditor("cityblock", 0.1, theta=0.1)
    batch = lw.Batch(np.zeros((2, 1)), np.zeros(2), np.array([[0.0], [5.0]]))
    assert auditor.audit(batch, np.array([1.0, 1.0]), key(), np.empty((0, 2), dtype=int)) is None
    assert auditor.audit(batch, np.array([1.0, 0.0]), key(), np.array([[0, 1]])) is None


REFUSED = {
    r"`alpha` must be in \[0, 1\], got 1.2": {"alpha": 1.2},
    "`theta` must be below 1 − alpha: no gap exceeds a tolerance of 1, got 0.9": {"theta": 0.9},
    r"`persistence` must be in \(0, 1\], got 0": {"persistence": 0},
    "`choose` must be one of": {"choose": "last"},
    "`distance` must be a callable or the name of a SciPy metric": {"distance": 3},
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_she_cannot_be_is_refused_in_one_sentence(sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        lw.DecisionAuditor(**{"distance": "cityblock", "alpha": 0.1, **REFUSED[sentence]})


def test_a_distance_that_is_none_is_refused():
    for wrong in (lambda view: np.zeros((1, 1)), lambda view: -np.ones((len(view), len(view)))):
        with pytest.raises(InvalidParameter, match="`distance` must give 2 × 2 distances, at least 0"):
            one_round(lw.DecisionAuditor(wrong, 0.1), [0.9, 0.1], 0.5)


# Counting ----------------------------------------------------------------------------------------------------


def violating_by_hand(t, distance, tolerance):
    """The largest gap of a violating pair in each round, pair by pair."""
    largest = []
    for i in range(t.rounds):
        p, d = t.shown[t.starts[i] : t.starts[i + 1]], distance(t.view[t.starts[i] : t.starts[i + 1]])
        gaps = [a - b for i, a in enumerate(p) for j, b in enumerate(p) if a - b > tolerance(d[i, j])]
        largest.append(max(gaps, default=0.0))
    return np.array(largest)


KINDS = {
    "relation": (lw.DecisionAuditor(TOWN.near, 0.08, theta=0.04), lambda d: 0.12 if d <= 0.04 else np.inf),
    "graded": (lw.DecisionAuditor(TOWN.near, 0.12), lambda d: 0.12 + d),
}


@pytest.mark.parametrize("lot", ["round", "person"])
@pytest.mark.parametrize("kind", KINDS)
def test_violations_are_the_accepted_reports_and_a_simulation_knows_the_unseen_ones(kind, lot):
    auditor, tolerance = KINDS[kind]
    t = lw.play(lw.AdaHedge(F, T=300, k=4, alpha=0.12), TOWN.iid(), auditor, seed=5, lot=lot)
    assert t.violating == pytest.approx(violating_by_hand(t, TOWN.near, tolerance))
    seen, violating = t.reported, t.violating > 0
    np.testing.assert_array_equal(t.violations, seen)
    assert 3 < seen.sum() < violating.sum()
    assert not (seen & ~violating).any()  # every accepted report is of a violating round
    for i in range(t.rounds):
        people = slice(t.starts[i], t.starts[i + 1])
        p, yes, d = t.shown[people], t.decisions[people], TOWN.near(t.view[people])
        felt = any(
            yes[a] and not yes[b] and p[a] - p[b] > tolerance(d[a, b]) for a in range(len(p)) for b in range(len(p))
        )
        assert felt == seen[i]  # she is persistent: whatever was felt is heard of
    for reports in t.reports:
        assert all(r.violates for r in reports)
    firsts, seconds = t.pair_people.T
    assert (t.decisions[firsts] & ~t.decisions[seconds]).all()


def test_accepted_reports_estimate_the_violating_rounds():
    """Lemma 6: E Σ g_t over violating rounds ≤ E V, and E W ≤ E Σ 1/gap; here a fixed policy, so a plain average."""
    p, view, rounds = np.array([0.9, 0.7, 0.5, 0.2]), np.zeros((4, 1)), 4000
    auditor, lots = lw.DecisionAuditor(alike, 0.1, theta=0.2, choose="random"), np.random.default_rng(1).random(rounds)
    gaps = [r[0] for r in (
        [p[r.favoured] - p[r.disfavoured] for r in one_round(auditor, p, lot, view, t).seen.reports]
        for t, lot in enumerate(lots, 1)) if r]  # fmt: skip
    largest = 0.7
    assert abs(len(gaps) / rounds - largest) < 5 * math.sqrt(largest * (1 - largest) / rounds)
    inverse = np.array(gaps) ** -1.0
    assert inverse.sum() / rounds > 1 - 5 * inverse.std() / math.sqrt(rounds)


def test_facts_say_that_silence_proves_nothing():
    facts = KINDS["relation"][0].facts()
    assert (facts.sees, facts.truthful, facts.exhaustive, facts.fixed) == ("decisions", True, False, True)
    t = lw.play(lw.AdaHedge(F, T=30, k=4, alpha=0.12), TOWN.iid(), KINDS["relation"][0])
    assert t.facts.auditor.sees == "decisions"
    assert lw.certify(t).fairness == ()


@pytest.mark.parametrize("persistence", [0.25, 1.0])
def test_a_certificate_limits_what_stays_hidden(persistence):
    auditor = lw.DecisionAuditor(TOWN.near, 0.08, theta=0.04, persistence=persistence)
    t = lw.play(lw.AdaHedge(F, T=100, k=4, alpha=0.12), TOWN.iid(), auditor)
    hidden = lw.certify(t).hidden
    assert hidden.estimate == pytest.approx((1 / t.pair_gaps).sum() / persistence)
    assert hidden.limit <= t.rounds


# The two-person game -----------------------------------------------------------------------------------------

TAU = 0.5


def reports_after(learner, rounds, seed):
    """How many reports there were after each of these numbers of rounds."""
    people = two_people(learner.hypotheses)
    t = lw.play(learner, people, lw.DecisionAuditor(alike, TAU / 2, theta=TAU / 2), rounds[-1], seed=seed)
    total = np.cumsum(t.reported)
    return np.array([total[T - 1] for T in rounds])


def tilted(one_sided, c=TAU / 2):
    learner = lw.AdaHedge(two_people_class(), k=2, alpha=TAU, penalty=lw.Tilted(c))
    return lw.OneSided(learner, doubt=1.0, floor=0.0) if one_sided else learner


def slope(T, one_sided):
    """The rise of V per ln T from a thousand rounds on, as a share of 2 ln N/c²."""
    rounds = np.geomspace(1000, T, 6).astype(int)
    V = reports_after(tilted(one_sided), rounds, seed=0)
    assert np.corrcoef(np.log(rounds), V)[0, 1] > 0.999
    return np.polyfit(np.log(rounds), V, 1)[0] / (2 * math.log(3) / (TAU / 2) ** 2)


@pytest.mark.parametrize("one_sided", [False, True])
def test_reports_rise_with_the_logarithm_as_predicted(one_sided):
    assert slope(10_000, one_sided) == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("one_sided", [False, True])
def test_reports_rise_with_the_logarithm_up_to_a_million_rounds(one_sided):
    assert slope(1_000_000, one_sided) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("one_sided", [False, True])
def test_the_default_stays_below_that_line(one_sided):
    rounds = np.array([300, 1000, 3000])
    learner = lw.AdaHedge(two_people_class(), k=2, alpha=TAU)
    V = reports_after(lw.OneSided(learner) if one_sided else learner, rounds, seed=0)
    assert (2 * math.log(3) / (TAU / 2) ** 2 * np.log(rounds) >= V).all()
    assert (reports_after(tilted(one_sided), rounds, seed=0) >= V).all()
