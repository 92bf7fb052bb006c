"""Every compiled loop beside its plain NumPy twin, and the compiled play beside the readable one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

import likewise as lw
from likewise import kernels
from likewise.game import compiled
from likewise.hypotheses import EnumerableClass
from likewise.hypotheses.thresholds import BUSY
from likewise.learners.ftpl import sum_of_laplaces_cdf
from likewise.reduction import signed_weights


def made_up():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(400, 4))
    X[:, 3] = np.round(X[:, 3])
    return X, (X[:, 0] + 0.5 * rng.normal(size=400) > 0).astype(float)


X, Y = made_up()
F = lw.Thresholds.quantiles(X, cuts=9)
ROWS = F.encode(X)
UNEVEN = lw.Thresholds([[0.0, 0.5, 1.0], [], [-1.0]])


@pytest.fixture
def rng():
    """Every test draws the same, whichever ran before it."""
    return np.random.default_rng(12)


def batches(k=5, count=20):
    draw = np.random.default_rng(3)
    for _ in range(count):
        yield ROWS[draw.integers(400, size=k)], draw.normal(size=k) * 10.0 ** draw.integers(-2, 4)


# Weights ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [1e-9, 0.3, 50.0])
def test_gibbs_weights_and_free_energy_are_those_of_log_sum_exp(eta, rng):
    losses = rng.normal(size=300) * 100 + 1e6
    log_weights = -eta * losses - logsumexp(-eta * losses)
    assert np.allclose(kernels.gibbs(losses, eta), np.exp(log_weights), rtol=1e-7, atol=1e-300)
    energy = -(logsumexp(-eta * losses) - np.log(300)) / eta
    assert kernels.free_energy(losses, eta) == pytest.approx(energy, rel=1e-9)


def test_exponentials_are_numpys_within_a_unit_or_two_in_the_last_place():
    x = np.concatenate([np.linspace(-680, 680, 5001), -np.logspace(-300, 0, 500)])
    assert np.allclose([kernels.exp(value) for value in x], np.exp(x), rtol=3e-16, atol=0)
    assert np.allclose([kernels.expm1(value) for value in x], np.expm1(x), rtol=5e-16, atol=0)


def test_leaders_share_the_weight_equally():
    losses = np.array([3.0, 1.0, 2.0, 1.0])
    assert kernels.leaders(losses).tolist() == [0.0, 0.5, 0.0, 0.5]


def test_weights_are_accumulated_in_place(rng):
    total, weights = rng.normal(size=301), rng.normal(size=301)
    twin = total + weights
    kernels.accumulate(total, weights)
    assert np.array_equal(total, twin)


def test_log_weights_are_losses_at_a_rate_of_minus_one(rng):
    log_weights = rng.normal(size=300) * 100
    assert np.array_equal(kernels.gibbs(log_weights, -1.0), kernels.gibbs(-log_weights, 1.0))


# Thresholds -------------------------------------------------------------------------------------------------


def test_added_losses_are_the_predictions_times_the_signed_weights(rng):
    start = rng.normal(size=F.size)
    for rows, s in batches():
        twin = start + F.predict_rows(rows) @ s
        assert np.allclose(kernels.threshold_added(start, rows, s, F.first), twin, rtol=1e-12, atol=1e-10)


def test_added_losses_are_exact_for_whole_numbers():
    for rows, s in batches():
        whole = np.round(s)
        assert np.array_equal(kernels.threshold_added(np.zeros(F.size), rows, whole, F.first), F.losses(rows, whole))


def test_the_papers_update_takes_one_logarithm_per_step_and_gives_all_of_them(rng):
    start = rng.normal(size=F.size)
    for rows, s in batches():
        y, C = (s > 0).astype(float), 7.0
        m = (2.0 * y).sum() + C + F.predict_rows(rows) @ signed_weights(y, lw.Report(3, 1), C, (0.5, 2.0))
        found = kernels.threshold_log_updated(start, rows, y, 3, 1, C, 0.5, 2.0, 0.9 / m.max(), F.first)
        assert np.allclose(found, start + np.log1p(-0.9 * m / m.max()), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("cls", [F, UNEVEN], ids=["even", "uneven"])
def test_probabilities_are_the_mixture_of_predictions(cls, rng):
    people = X[:30, : len(cls.cuts)]
    weights = rng.dirichlet(np.ones(cls.size))
    rows = cls.encode(people)
    twin = weights @ cls.predict_rows(rows)
    assert np.allclose(kernels.threshold_probability(weights, rows, cls.first), twin, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("eta", [1e-6, 0.02, 1.0, 300.0, 1e5])
def test_the_mix_gap_is_its_definition_even_where_exponentials_underflow(eta, rng):
    for rows, s in batches(count=8):
        losses = rng.normal(size=F.size) * 5
        weights = kernels.gibbs(losses, eta)
        loss = F.predict_rows(rows) @ s
        p = weights @ F.predict_rows(rows)
        log_p = -eta * losses - logsumexp(-eta * losses)
        twin = weights @ loss + logsumexp(log_p - eta * loss) / eta
        found = kernels.threshold_mix_gap(weights, losses, rows, s, p, eta, F.first)
        rounding = 1e-8 * np.abs(s).sum() + 1e-15 / eta  # the second is the twin's own
        assert found == pytest.approx(max(0.0, twin), rel=1e-6, abs=rounding)


def test_while_everything_is_tied_the_mix_gap_is_the_mean_less_the_best():
    rows, s = next(batches())
    loss = F.predict_rows(rows) @ s
    weights = np.full(F.size, 1 / F.size)
    found = kernels.threshold_mix_gap(
        weights, np.zeros(F.size), rows, s, weights @ F.predict_rows(rows), np.inf, F.first
    )
    assert found == pytest.approx(loss.mean() - loss.min())


def test_a_step_of_adahedge_is_its_mix_gap_then_its_losses_then_its_weights(rng):
    losses = rng.normal(size=F.size)
    weights, log_size = kernels.gibbs(losses, np.log(F.size) / 2.0), np.log(F.size)
    for rows, s in batches():
        y = (s > 0).astype(float)
        p = kernels.threshold_probability(weights, rows, F.first)
        signed = signed_weights(y, lw.Report(0, 4), 9.0, (0.5, 2.0))
        gap = kernels.threshold_mix_gap(weights, losses, rows, signed, p, log_size / 2.0, F.first)
        for least, delta in ((0.0, 2.0 + gap), (50.0, 50.0)):
            found = kernels.threshold_adahedge(
                weights, losses, 2.0, rows, y, 0, 4, 9.0, 0.5, 2.0, p, log_size, least, F.first
            )
            after = losses + F.predict_rows(rows) @ signed
            assert np.allclose(found[0], after, rtol=1e-12, atol=1e-10)
            assert np.allclose(found[1], kernels.gibbs(after, log_size / delta), rtol=1e-9)
            assert found[2] == pytest.approx(delta)


# Auditing ---------------------------------------------------------------------------------------------------

METRICS = {
    "cityblock": {"w": [1.0, 0.0, 2.0, 0.5]},
    "euclidean": {"w": [1.0, 0.0, 2.0, 0.5]},
    "sqeuclidean": {},
    "chebyshev": {},
    "mahalanobis": {"VI": np.diag([1.0, 2.0, 0.5, 1.0]) + 0.1},
}


@pytest.mark.parametrize("name", METRICS)
def test_named_metrics_are_scipys(name):
    view = X[:12]
    found = lw.auditors.named_metric(name, **METRICS[name])(view)
    assert np.allclose(found, cdist(view, view, name, **METRICS[name]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("choose", ["worst", "first"])
@pytest.mark.parametrize("name", METRICS)
def test_the_compiled_audit_finds_what_comparing_every_pair_finds(name, choose):
    quick = lw.MetricAuditor(name, 0.2, choose=choose, margin=0.1, **METRICS[name])
    distance = quick.distance
    slow = lw.MetricAuditor(lambda view: distance(view), 0.2, choose=choose, margin=0.1)
    draw = np.random.default_rng(8)
    reports = 0
    for t in range(1, 200):
        batch = lw.Batch(np.empty((5, 0)), np.zeros(5), 0.1 * X[draw.integers(400, size=5)])
        p = draw.random(5)
        key = lw.Key(0, lw.Role.AUDITOR, t)
        answer = quick.audit(batch, p, key)
        assert answer == slow.audit(batch, p, key)
        reports += answer is not None
    assert reports > 50


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_the_compiled_count_of_violating_pairs_is_the_one_of_blocks(name, alpha, rng):
    metric = lw.auditors.named_metric(name, **METRICS[name])
    policy = lw.Mixture(F, rng.dirichlet(np.full(F.size, 0.02)))
    quick = lw.evaluate_fairness(policy, X, metric, alpha, view=0.1 * X)
    assert quick == lw.evaluate_fairness(policy, X, lambda view: metric(view), alpha, view=0.1 * X)
    assert 0 < quick.violating < quick.pairs


@pytest.mark.parametrize("pair", [(-1, -1), (2, 0)])
def test_signed_weights_are_those_of_the_reduction(pair):
    y = np.array([1.0, 0.0, np.nan, 1.0])
    report = None if pair[0] < 0 else lw.Report(*pair)
    twin = signed_weights(y, report, 3.7, (0.5, 2.0))
    assert np.array_equal(kernels.signed_weights(y, *pair, 3.7, 0.5, 2.0), twin)


# The compiled play ------------------------------------------------------------------------------------------

LEARNERS = {
    "exponential weights": lambda c: lw.ExponentialWeights(F, T=400, k=4, costs=c),
    "hedge": lambda c: lw.Hedge(F, T=400, k=4, costs=c),
    "adahedge, fixed": lambda c: lw.AdaHedge(F, T=400, k=4, penalty=9.0, costs=c),
    "adahedge, scheduled": lambda c: lw.AdaHedge(F, T=400, k=4, alpha=0.1, costs=c),
    "adahedge, tilted": lambda c: lw.AdaHedge(F, k=4, alpha=0.1, costs=c),
    "unconstrained": lambda c: lw.Unconstrained(F, costs=c),
}
PARTLY = np.where(np.arange(400) % 7 == 0, np.nan, Y)
PEOPLE = lw.IID(X, PARTLY, k=4)
AUDITOR = lw.MetricAuditor("cityblock", alpha=0.1, margin=0.04, w=[0.0, 0.1, 0.1, 0.0])


def same(a, b):
    arrays = ("rows", "y", "view", "chances", "starts", "pairs", "violates", "false", "reviewed", "penalties")
    assert all(np.array_equal(getattr(a, n), getattr(b, n), equal_nan=n == "y") for n in arrays)
    assert all(np.array_equal(u, v) for u, v in zip(a.state, b.state, strict=True))
    assert np.allclose(a.average_policy.total, b.average_policy.total, rtol=1e-13)
    assert a.facts == b.facts
    assert type(a.state) is type(b.state)


@pytest.mark.parametrize("costs", [(1.0, 1.0), (0.5, 2.0)], ids=["equal costs", "unequal costs"])
@pytest.mark.parametrize("name", LEARNERS)
def test_the_compiled_play_gives_the_identical_transcript(name, costs, monkeypatch):
    monkeypatch.setattr("likewise.game.loop.CHUNK", 64)
    learner = LEARNERS[name](costs)
    quick = lw.play(learner, PEOPLE, AUDITOR, T=400, seed=5)
    slow = lw.play(learner, PEOPLE, AUDITOR, T=400, seed=5, compiled=False)
    assert quick.reported.sum() > 5
    same(quick, slow)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_play_may_change_between_the_loops_midway(name):
    learner = LEARNERS[name]((1.0, 1.0))
    whole = lw.play(learner, PEOPLE, AUDITOR, T=400, seed=5)
    part = lw.play(learner, PEOPLE, AUDITOR, T=150, seed=5)
    same(whole, part + lw.play(learner, PEOPLE, AUDITOR, T=250, seed=5, state=part.state, compiled=False))


@pytest.mark.parametrize("choose", ["worst", "first"])
def test_the_compiled_play_chooses_the_pair_as_the_auditor_does(choose):
    auditor = lw.MetricAuditor("euclidean", alpha=0.1, choose=choose, w=[0.0, 0.1, 0.1, 0.0])
    learner = lw.Hedge(F, T=200, k=4)
    same(lw.play(learner, PEOPLE, auditor), lw.play(learner, PEOPLE, auditor, compiled=False))


@dataclass(frozen=True)
class Slower(lw.Hedge):
    """A learner of one's own, close to Hedge."""

    def update(self, state, round):
        return super().update(state, round)


class Kinder(lw.MetricAuditor):
    """An auditor of one's own, close to MetricAuditor."""

    def audit(self, batch, probabilities, key):
        return None


NOT_COMPILED = {
    "a subclass of the learner": (Slower(F, T=9, k=4), PEOPLE, AUDITOR),
    "a subclass of the auditor": (lw.Hedge(F, T=9, k=4), PEOPLE, Kinder("euclidean", 0.1)),
    "a distance of one's own": (lw.Hedge(F, T=9, k=4), PEOPLE, lw.MetricAuditor(lambda v: cdist(v, v), 0.1)),
    "a random choice": (lw.Hedge(F, T=9, k=4), PEOPLE, lw.MetricAuditor("euclidean", 0.1, choose="random")),
    "a dataframe to look at": (lw.Hedge(F, T=9, k=4), lw.IID(X, Y, k=4, view=pd.DataFrame(X)), AUDITOR),
    "a listed class": (lw.Hedge(lw.FiniteClass([lambda X: X[:, 0] > 0]), T=9, k=4), PEOPLE, AUDITOR),
    "cells": (lw.Hedge(lw.Cells.grid(X, bins=2), T=9, k=4), PEOPLE, AUDITOR),
    "a large batch": (lw.Hedge(F, T=9, k=80), lw.IID(X, Y, k=80), AUDITOR),
}


@pytest.mark.parametrize("what", NOT_COMPILED)
def test_the_readable_loop_plays_whatever_has_no_compiled_form(what, monkeypatch):
    learner, people, auditor = NOT_COMPILED[what]
    monkeypatch.setattr(compiled.CompiledPlay, "play", lambda *a, **k: pytest.fail("compiled after all"))
    assert lw.play(learner, people, auditor).rounds == 9


def test_the_people_of_a_block_are_those_of_its_rounds():
    drawn = PEOPLE.draws(seed=7, first=250, rounds=20)
    for place, t in enumerate(range(250, 270)):
        batch = PEOPLE.batch(lw.Key(7, lw.Role.ENVIRONMENT, t), None, None)
        assert np.array_equal(batch.view, X[drawn[place]])


# Perturbed leaders ------------------------------------------------------------------------------------------

LOW = np.uint64(0xFFFFFFFF)


def philox(counter, key):
    """Philox4x32-10 by its definition, on arrays of counters."""
    c = [np.asarray(word, dtype=np.uint64) for word in counter]
    for i in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        k0, k1 = (
            np.uint64((word + i * step) % 2**32) for word, step in zip(key, (0x9E3779B9, 0xBB67AE85), strict=True)
        )
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ k0, p1 & LOW, (p0 >> np.uint64(32)) ^ c[3] ^ k1, p0 & LOW]
    return c


def words_of(block, draws, seed, t):
    """The block of each draw in round t."""
    draw = np.arange(draws)
    halves = [number >> 32 for number in (t, seed)], [number % 2**32 for number in (t, seed)]
    (t_high, seed_high), (t_low, seed_low) = halves
    return philox((np.full(draws, block), draw, np.full(draws, t_low), np.full(draws, t_high)), (seed_low, seed_high))


def rotated(x, k):
    return ((x << np.uint64(k)) | (x >> np.uint64(32 - k))) & LOW


def laplace_twin(points, draws, seed, t):
    """xoshiro128++ from Philox's words, one stream per draw, and −ln u with a sign, in double precision."""
    a, b, c, d = words_of(0, draws, seed, t)
    noise = []
    for _ in range(points):
        word = (rotated((a + d) & LOW, 7) + a) & LOW
        noise.append(-np.log(units(word)) * np.where(word % 2, -1, 1))
        shifted = (b << np.uint64(9)) & LOW
        c, d = c ^ a, d ^ b
        b, a = b ^ c, a ^ d
        c, d = c ^ shifted, rotated(d, 11)
    return np.array(noise[::-1])


def units(words):
    return ((words >> np.uint64(1)) | np.uint64(1)) / 2.0**31


def sums_of_laplaces_twin(count, draws, seed, t):
    """√(2 Gamma) · normal: Box and Muller's normals, and Marsaglia and Tsang's Gamma, in double precision."""
    out = np.full(draws, np.nan)
    d = count - 1 / 3 + (count < 1)
    for block in range(1, 100):
        a, b, c, e = words_of(block, draws, seed, t)
        angle = (b >> np.uint64(2)) * (np.pi / 2**31)
        radius = np.sqrt(-2 * np.log(units(a)))
        x, y = radius * np.cos(angle) * np.where(b & 1, 1, -1), radius * np.sin(angle) * np.where(b & 2, 1, -1)
        v = np.maximum(1 + x / np.sqrt(9 * d), 1e-90) ** 3
        accepted = np.isnan(out) & (np.log(units(c)) < x**2 / 2 + d * (1 - v + np.log(v)))
        boost = units(e) ** (1 / count) if count < 1 else 1.0
        out[accepted] = (np.sqrt(2 * d * v * boost) * y)[accepted]
        if not np.isnan(out).any():
            return out
    raise AssertionError("no Gamma variable accepted")


PI = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0]
KNOWN = [  # (counter, key, words), from the tests of Salmon et al.'s Random123
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([2**32 - 1] * 4, [2**32 - 1] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (PI[:4], PI[4:], [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN, ids=["zeros", "ones", "pi"])
def test_the_random_words_are_those_of_philox(counter, key, words):
    assert [int(word) for word in philox(counter, key)] == words


@pytest.mark.parametrize(("seed", "t"), [(0, 1), (2**63 + 5, 9), (2**33, 2**40 + 1)])
def test_the_noise_is_the_twins_to_single_precision(seed, t):
    noise = kernels.laplace_noise(50, 300, np.uint64(seed), t)
    np.testing.assert_allclose(noise, laplace_twin(50, 300, seed, t), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("count", [0.3, 1.0, 2.5, 800.0, 1e5])
def test_the_padding_is_the_twins_to_single_precision(count):
    padding = kernels.padding_noise(count, 3000, np.uint64(2**35 + 1), 6)
    twin = sums_of_laplaces_twin(count, 3000, 2**35 + 1, 6)
    np.testing.assert_allclose(padding / np.sqrt(2 * count), twin / np.sqrt(2 * count), rtol=1e-5, atol=1e-5)


def test_the_noise_is_laplace():
    noise = kernels.laplace_noise(50, 20_000, np.uint64(2**63 + 5), 9)
    assert stats.kstest(noise.ravel(), "laplace").pvalue > 1e-3
    assert abs(np.corrcoef(noise)[np.triu_indices(50, 1)]).max() < 5 / np.sqrt(20_000)
    assert abs(np.corrcoef(np.abs(noise))[np.triu_indices(50, 1)]).max() < 5 / np.sqrt(20_000)


@pytest.mark.parametrize("count", [1, 2, 40, 800])
def test_the_padding_is_a_sum_of_so_many_laplace_variables(count):
    padding = np.sort(kernels.padding_noise(float(count), 50_000, np.uint64(8), 3))
    # The closed form is slow for many variables, so it is asked at every 500th of the sorted numbers.
    law = [sum_of_laplaces_cdf(float(x), count) for x in padding[::500]]
    assert np.abs(law - np.arange(0, 50_000, 500) / 50_000).max() < stats.kstwobign.isf(1e-3) / np.sqrt(50_000)
    first = kernels.laplace_noise(3, 50_000, np.uint64(8), 3)
    unsorted = kernels.padding_noise(float(count), 50_000, np.uint64(8), 3)
    assert abs(np.corrcoef([unsorted, *first])[0, 1:]).max() < 5 / np.sqrt(50_000)


def test_noise_of_other_rounds_seeds_and_draws_is_other_noise():
    first = kernels.laplace_noise(8, 100, np.uint64(1), 1)
    for other in (kernels.laplace_noise(8, 100, np.uint64(1), 2), kernels.laplace_noise(8, 100, np.uint64(2**33), 1)):
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 0.15
    assert len(np.unique(first)) == first.size


@pytest.mark.parametrize("padding", [0.0, 800.0])
@pytest.mark.parametrize("cls", [F, UNEVEN], ids=["even", "uneven"])
def test_perturbed_leaders_minimise_the_perturbed_losses(cls, padding, rng):
    losses = rng.normal(size=cls.size) * 5 + 1e6
    key, E = lw.Key(3, lw.Role.LEARNER, 4), 3000
    noise = kernels.laplace_noise(len(cls.separator), E, np.uint64(3), 4).T.astype(float)
    if padding > 0:
        noise[:, 0] += kernels.padding_noise(padding, E, np.uint64(3), 4)
    found = cls.perturbed_leaders(losses, 2.5, E, key, padding)
    values = losses / 2.5 + noise @ cls.predict_rows(cls.separator).T
    assert np.abs(values[np.arange(E), found] - values.min(axis=1)).max() < (5e-5 if padding else 5e-6)
    assert len(np.unique(found)) > 5


@pytest.mark.parametrize("padding", [0.0, 0.4, 800.0])
def test_perturbed_leaders_have_the_law_that_numpy_draws(padding, rng):
    losses, key, E = rng.normal(size=F.size) * 3, lw.Key(3, lw.Role.LEARNER, 4), 100_000
    ours = np.bincount(F.perturbed_leaders(losses, 2.0, E, key, padding), minlength=F.size)
    plain = EnumerableClass.perturbed_leaders(F, losses, 2.0, E, key, padding)
    both = np.array([ours, np.bincount(plain, minlength=F.size)])
    seen = both[:, both.sum(axis=0) > 10]
    assert len(seen.T) > 20
    assert stats.chi2_contingency(seen).pvalue > 1e-3


def test_the_number_of_threads_changes_nothing(rng):
    losses, key, E = rng.normal(size=F.size), lw.Key(1, lw.Role.LEARNER, 2), 15_000
    assert E * len(F.separator) > BUSY  # or there would be one thread in any case
    alone, many = (F.perturbed_leaders(losses, 3.0, E, key, 70.0, threads) for threads in (1, 3))
    assert np.array_equal(alone, many)
