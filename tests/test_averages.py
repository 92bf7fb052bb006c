"""The averages that a play keeps are means of the policies shown, in either loop and however it was stopped."""

from __future__ import annotations

import numpy as np
import pytest

import likewise as lw

TWENTY = np.arange(20.0)[:, None]
CUTS = [[3.5, 7.5, 12.5]]


def played(parts=(30,), T=30, compiled=True, order="passes", store=lambda t: t):
    learner = lw.AdaHedge(lw.Thresholds(CUTS), k=3, alpha=0.1, T=T)
    people = lw.IID(TWENTY, np.arange(20) % 2, k=3, order=order)
    whole = None
    for rounds in parts:
        auditor = (
            lw.MetricAuditor(lambda view: np.zeros((3, 3)), 0.1) if not compiled else lw.MetricAuditor("cityblock", 0.1)
        )
        part = store(lw.play(learner, people, auditor, rounds, state=whole, compiled=compiled))
        whole = part if whole is None else whole + part
    return whole


def means(learner, t, first, last):
    """The mean policy of rounds first + 1 … last at everybody, by folding the learner over the rounds again."""
    state, total = learner.init(), 0.0
    for i, round_ in enumerate(t):
        if first <= i < last:
            total = total + learner.act(state, lw.Key(t.seed, lw.Role.LEARNER, i + 1)).probability(TWENTY)
        state = learner.update(state, round_)
    return total / (last - first)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("order", ["draws", "passes"])
@pytest.mark.parametrize("rounds", [2, 3, 11, 12, 13, 30, 31])
def test_the_last_half_is_the_mean_of_its_policies(compiled, order, rounds):
    t = played((rounds,), rounds, compiled, order)
    learner = lw.AdaHedge(lw.Thresholds(CUTS), k=3, alpha=0.1, T=rounds)
    half = rounds // 2
    np.testing.assert_allclose(t.last_half_policy.probability(TWENTY), means(learner, t, half, rounds), atol=1e-12)
    assert t.last_half_policy.rounds == rounds - half
    np.testing.assert_allclose(t.average_policy.probability(TWENTY), means(learner, t, 0, rounds), atol=1e-12)
    if order == "passes" and rounds > 6:
        np.testing.assert_allclose(t.first_pass_policy.probability(TWENTY), means(learner, t, 0, 6), atol=1e-12)


@pytest.mark.parametrize("parts", [(4, 26), (6, 24), (15, 15), (14, 16), (16, 14), (10, 10, 10), (1, 1, 28), (29, 1)])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("saved", [False, True])
def test_a_play_that_was_stopped_has_the_same_averages(parts, compiled, saved, tmp_path):
    def store(t):
        t.save(tmp_path / "part.npz")
        return lw.Transcript.load(tmp_path / "part.npz")

    whole, joined = played(compiled=compiled), played(parts, compiled=compiled, store=store if saved else lambda t: t)
    for name in ("average_policy", "last_half_policy", "first_pass_policy"):
        one, other = getattr(whole, name), getattr(joined, name)
        assert one.rounds == other.rounds, name
        np.testing.assert_allclose(one.total, other.total, rtol=1e-13, atol=1e-13, err_msg=name)


def test_both_loops_keep_the_same_bits():
    learner = lw.AdaHedge(lw.Thresholds(CUTS), k=3, alpha=0.1, T=40)
    people = lw.IID(TWENTY, np.arange(20) % 2, k=3, order="passes")
    auditor = lw.MetricAuditor("cityblock", 0.1)
    slow, fast = (lw.play(learner, people, auditor, compiled=compiled) for compiled in (False, True))
    for name in ("average_policy", "last_half_policy", "first_pass_policy"):
        assert getattr(slow, name).total.tobytes() == getattr(fast, name).total.tobytes(), name


def test_weights_of_the_last_half_are_never_below_zero():
    t = played((3000,), 3000)
    assert t.last_half_policy.mixture().weights.min() >= 0
    assert t.last_half_policy.mixture().weights.sum() == pytest.approx(1)


def test_there_is_no_last_half_before_the_half():
    assert played((10,), 30).last_half_policy is None
    assert played((15,), 30).last_half_policy is None
    assert played((16,), 30).last_half_policy.rounds == 1


def test_without_a_horizon_the_half_is_that_of_the_rounds_so_far():
    assert played((20,), None).last_half_policy.rounds == 10
    assert played((10, 10), None).last_half_policy.rounds == 10
    assert played((10, 7), None).last_half_policy is None, "its first rounds were not kept apart"


def test_a_play_that_ends_early_does_not_call_a_quarter_a_half():
    rounds = [(TWENTY[:3], [0, 1, 0])] * 6
    learner = lw.AdaHedge(lw.Thresholds(CUTS), k=3, alpha=0.1)
    t = lw.play(learner, lw.Stream(rounds, k=3), lw.MetricAuditor("cityblock", 0.1), 10)
    assert t.rounds == 6
    assert t.last_half_policy is None
