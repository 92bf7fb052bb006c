"""How often somebody may ask: ten seconds' worth at once, then as much as time brings, each for themselves."""

from __future__ import annotations

import pytest

from likewise.service.accounts.rates import Rates


class Time:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def time():
    return Time()


def test_ten_seconds_worth_may_come_at_once_and_then_it_is_told_how_long_to_wait(time):
    rates = Rates(time)
    assert [rates.wait("ann", 60) for _ in range(10)] == [0.0] * 10
    assert rates.wait("ann", 60) == pytest.approx(1.0)
    time.now += 0.25
    assert rates.wait("ann", 60) == pytest.approx(0.75)
    time.now += 0.75
    assert rates.wait("ann", 60) == 0.0
    assert rates.wait("ann", 60) > 0


def test_whoever_asks_less_has_no_more_than_a_full_bucket_and_nobody_pays_for_others(time):
    rates = Rates(time)
    time.now += 10_000
    assert sum(rates.wait("ann", 60) == 0 for _ in range(50)) == 10
    assert rates.wait("bob", 60) == 0


def test_a_small_rate_still_lets_one_pass(time):
    rates = Rates(time)
    assert rates.wait("ann", 1) == 0
    assert rates.wait("ann", 1) == pytest.approx(60)


def test_those_who_are_silent_are_forgotten_before_there_are_too_many(time):
    rates = Rates(time)
    for i in range(10_000):
        rates.wait(str(i), 60)
    time.now += 61
    rates.wait("new", 60)
    assert list(rates._buckets) == ["new"]
