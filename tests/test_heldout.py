"""Fairness on held-out people: against all pairs, against SciPy's binomial test, and coverage on a known population."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import likewise as lw
from likewise import theory
from likewise.certificates import heldout
from likewise.errors import InvalidParameter


def made_up():
    rng = np.random.default_rng(8)
    X = rng.random((60, 3))
    return X, lw.Mixture(lw.Thresholds.quantiles(X, cuts=4), rng.dirichlet(np.full(26, 0.2)))


X, POLICY = made_up()


class Spy:
    """A distance that remembers how many people it was shown at once."""

    def __init__(self):
        self.sizes = []

    def __call__(self, view):
        self.sizes.append(len(view))
        values = np.asarray(view, dtype=float)
        return np.abs(values[:, None] - values).sum(axis=-1) / 3


def counted(chances, view, distance, alpha):
    d = distance(view)
    pairs = itertools.combinations(range(len(chances)), 2)
    return sum(abs(chances[a] - chances[b]) - d[a, b] > alpha for a, b in pairs)


# All pairs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("n", [2, 6, 7, 8, 13, 14, 15, 50])
def test_every_violating_pair_is_counted_once_whatever_the_blocks(monkeypatch, n, alpha):
    monkeypatch.setattr(heldout, "BLOCK", 7)
    spy = Spy()
    found = lw.evaluate_fairness(POLICY, X[:n], spy, alpha)
    assert found.violating == counted(POLICY.probability(X[:n]), X[:n], Spy(), alpha)
    assert found.pairs == n * (n - 1) // 2
    assert found.share == found.violating / found.pairs
    assert found.independent == n // 2
    assert max(spy.sizes, default=0) <= 14


def test_some_pairs_violate_and_some_do_not():
    shares = [lw.evaluate_fairness(POLICY, X, Spy(), alpha).share for alpha in (0.0, 0.1, 0.6)]
    assert 0.3 > shares[0] > shares[1] > 0.02 > shares[2]


@pytest.mark.parametrize("pairs", [None, 25])
def test_people_may_be_an_array_or_a_dataframe_and_be_compared_by_other_columns(monkeypatch, pairs):
    monkeypatch.setattr(heldout, "BLOCK", 7)
    named = pd.DataFrame(X, columns=["a", "b", "c"], index=np.random.default_rng(9).permutation(60))
    policy = lw.Mixture(lw.Thresholds.quantiles(named, cuts=4), POLICY.weights)
    plain = lw.evaluate_fairness(POLICY, X, Spy(), 0.1, pairs=pairs)
    assert lw.evaluate_fairness(policy, named, Spy(), 0.1, pairs=pairs) == plain
    by_age = lw.evaluate_fairness(POLICY, X, "cityblock", 0.1, view=X[:, :1], pairs=pairs)
    assert lw.evaluate_fairness(policy, named, "cityblock", 0.1, view=named[["a"]], pairs=pairs) == by_age
    assert by_age.violating > plain.violating / 2


@pytest.mark.parametrize("metric", ["cityblock", "euclidean", "chebyshev"])
def test_a_named_metric_is_scipys(metric):
    found = lw.evaluate_fairness(POLICY, X, metric, 0.05, view=X / 2)
    norm = {"cityblock": 1, "euclidean": 2, "chebyshev": math.inf}[metric]

    def distance(view):
        return np.linalg.norm(view[:, None] - view, ord=norm, axis=-1)

    assert found.violating == counted(POLICY.probability(X), X / 2, distance, 0.05) > 0


def test_no_distance_between_all_people_is_ever_asked_for():
    many = np.random.default_rng(0).random((3000, 3))
    for pairs in (None, 1500):
        spy = Spy()
        found = lw.evaluate_fairness(POLICY, many, spy, 0.1, pairs=pairs)
        assert found.pairs == (3000 * 2999 // 2 if pairs is None else 1500)
        assert max(spy.sizes) <= 2 * heldout.BLOCK < 3000


def test_the_interval_of_all_pairs_is_that_of_proposition_u_from_both_sides_and_within_hoeffdings():
    """On a grid: no β is in it that ⌊n/2⌋ kl(share ‖ β) ≤ ln(2/δ) rules out."""
    betas = np.linspace(1e-6, 1 - 1e-6, 200_001)
    for alpha, n in [(0.0, 60), (0.05, 31), (0.6, 60)]:
        found = lw.evaluate_fairness(POLICY, X[:n], Spy(), alpha, delta=0.1)
        p = found.share
        assert found.upper == theory.all_pairs_limit(p, n, 0.05)
        assert found.lower == pytest.approx(1 - theory.all_pairs_limit(1 - p, n, 0.05), abs=1e-12)
        kl = stats.entropy(np.array([[p], [1 - p]]), np.array([betas, 1 - betas]), axis=0)
        inside = betas[n // 2 * kl <= math.log(20)]
        assert inside[0] - 1e-5 <= found.lower <= p <= found.upper <= inside[-1] + 1e-5


@pytest.mark.parametrize(("weights", "share"), [([1.0, 0.0, 0.0, 0.0], 0.0), ([0.0, 0.0, 1.0, 0.0], 1.0)])
def test_limits_stay_in_the_unit_interval_when_no_pair_or_every_pair_violates(weights, share):
    policy = lw.Mixture(lw.Thresholds([[0.5]]), np.array(weights))
    two = lw.evaluate_fairness(policy, [[0.0], [1.0]], lambda view: np.zeros((len(view), len(view))), 0.1)
    assert two.share == share
    assert (two.lower, two.upper) == pytest.approx((0.0, 0.975) if share == 0 else (0.025, 1.0))
    assert 0.0 <= two.lower <= two.upper <= 1.0


# Sampled pairs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.9])
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_sampled_pairs_are_disjoint_and_their_limits_clopper_and_pearsons(monkeypatch, alpha, delta):
    monkeypatch.setattr(heldout, "BLOCK", 4)
    shown = []

    def distance(view):
        half = len(view) // 2
        shown.extend(zip(view[:half, 0].tolist(), view[half:, 0].tolist(), strict=True))
        return Spy()(view)

    found = lw.evaluate_fairness(POLICY, X, distance, alpha, pairs=30, delta=delta, seed=3)
    assert len({person for pair in shown for person in pair}) == 60
    expected = stats.binomtest(found.violating, 30).proportion_ci(1 - delta, method="exact")
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high))
    place = {value: i for i, value in enumerate(X[:, 0])}
    chances, d = POLICY.probability(X), Spy()(X)
    pairs = [(place[a], place[b]) for a, b in shown]
    assert found.violating == sum(abs(chances[a] - chances[b]) - d[a, b] > alpha for a, b in pairs)
    again = lw.evaluate_fairness(POLICY, X, Spy(), alpha, pairs=30, delta=delta, seed=3)
    assert again == found


def test_another_seed_shows_other_pairs():
    found = {lw.evaluate_fairness(POLICY, X, Spy(), 0.0, pairs=10, seed=seed).violating for seed in range(8)}
    assert len(found) > 1


class Table:
    """A policy over types of people: the probability is looked up."""

    def __init__(self, chances):
        self.chances = chances

    def probability(self, X):
        return self.chances[X[:, 0]]


@pytest.mark.parametrize("pairs", [None, 20])
def test_the_interval_misses_the_true_chance_no_more_often_than_delta_allows(pairs):
    """Fifteen types, drawn uniformly: the chance that two people are treated too differently is known exactly."""
    rng, delta, plays = np.random.default_rng(4), 0.2, 1500
    policy, d = Table(rng.random(15)), rng.random((15, 15)) / 2
    d = d + d.T
    np.fill_diagonal(d, 0.0)
    gaps = np.abs(policy.chances[:, None] - policy.chances)
    beta = float((gaps - d > 0.1).mean())
    assert 0.05 < beta < 0.4

    def distance(view):
        return d[view[:, 0][:, None], view[:, 0]]

    found = [
        lw.evaluate_fairness(policy, rng.integers(15, size=(40, 1)), distance, 0.1, pairs=pairs, delta=delta, seed=i)
        for i in range(plays)
    ]
    misses = sum(not f.lower <= beta <= f.upper for f in found)
    assert misses <= stats.binom.ppf(0.999, plays, delta)
    assert np.mean([f.upper - f.lower for f in found]) < 0.45
    # A quarter of the interval would not do: the draws move the estimate by more.
    quarter = [((3 * f.share + f.lower) / 4, (3 * f.share + f.upper) / 4) for f in found]
    assert sum(not low <= beta <= high for low, high in quarter) > delta * plays


# Judging by hand, and what is refused ------------------------------------------------------------------------------


def test_299_clean_pairs_certify_one_percent_and_298_do_not():
    assert lw.holdout_certificate(0, 299).beta <= 0.01 < lw.holdout_certificate(0, 298).beta
    assert lw.holdout_certificate(1, 299).beta > 0.01
    said = str(lw.holdout_certificate(0, 299))
    assert "0 of 299 random pairs" in said
    assert "95% confidence at most 1.00%" in said
    assert "assumes independent" in said


def test_the_evaluation_reads_as_a_sentence_with_its_numbers_and_its_assumption():
    found = lw.evaluate_fairness(POLICY, X, Spy(), 0.1)
    said = str(found)
    assert f"{found.violating:,} of 1,770 pairs ({found.share:.2%})" in said
    assert f"{math.floor(1e4 * found.lower) / 100:.2f}% and {math.ceil(1e4 * found.upper) / 100:.2f}%" in said
    assert "drawn independently" in said


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("alpha", {"alpha": 1.5}),
        ("delta", {"delta": 0.0}),
        ("pairs", {"pairs": 31}),
        ("pairs", {"pairs": 0}),
        ("view", {"view": X[:10]}),
        ("X", {"X": X[:1]}),
        ("distance", {"distance": "no such metric"}),
    ],
)
def test_bad_input_is_refused_by_the_name_of_the_argument(name, options):
    arguments = {"X": X, "distance": Spy(), "alpha": 0.1} | options
    with pytest.raises(InvalidParameter, match=f"`{name}` must"):
        lw.evaluate_fairness(POLICY, **arguments)


@pytest.mark.parametrize(("name", "flagged", "shown"), [("shown", 0, 0), ("flagged", -1, 3), ("flagged", 4, 3)])
def test_judgements_that_can_not_be_are_refused(name, flagged, shown):
    with pytest.raises(InvalidParameter, match=f"`{name}` must"):
        lw.holdout_certificate(flagged, shown)


@pytest.mark.parametrize("block", [7, 1024])
@pytest.mark.parametrize("pairs", [None, 30])
def test_a_distance_that_is_not_symmetric_is_read_from_the_favoured_person_as_the_auditor_reads_it(
    monkeypatch, block, pairs
):
    monkeypatch.setattr(heldout, "BLOCK", block)
    chances = Table(np.linspace(0, 1, 60))

    def lenient(view):
        """Only who has the higher number may not be favoured: d = 0 in that direction, 1 in the other."""
        return np.where(view > view.T, 0.0, 1.0)

    people = np.arange(60)[:, None]
    forbidden = lw.evaluate_fairness(chances, people, lenient, 0.1, pairs=pairs)
    allowed = lw.evaluate_fairness(chances, people, lambda view: lenient(view).T, 0.1, pairs=pairs)
    same = lw.evaluate_fairness(chances, people, lambda view: np.zeros((len(view),) * 2), 0.1, pairs=pairs)
    assert (forbidden.violating, allowed.violating) == (same.violating, 0)
