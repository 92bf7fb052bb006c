"""People in three parts: nobody in two of them, as many as asked for, the same ones for the same seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from likewise import datasets
from likewise.datasets import split_people
from likewise.errors import InvalidParameter

SHARES = [(25, 25, 50), (50, 0, 50), (0, 50, 50), (100, 0, 0), (33.3, 33.3, 33.4), (1, 98, 1)]


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("people", [1, 2, 3, 7, 32, 1000])
def test_everybody_is_in_one_part_and_each_part_is_as_large_as_asked(people, shares):
    split = split_people(people, shares)
    assert sorted(itertools.chain(*split[:3])) == list(range(people))
    assert tuple(map(len, split[:3])) == split.people
    for size, share in zip(split.people, shares, strict=True):
        assert abs(size - people * share / 100) < 1
        assert size == 0 or share > 0


def test_shares_that_divide_are_met_exactly():
    assert split_people(1000).people == (250, 250, 500)
    assert split_people(32).people == (8, 8, 16)
    assert str(split_people(1000)) == "1,000 people: 250 to fit, 250 to play, 500 held out"
    assert str(split_people(1, (100, 0, 0))) == "1 person: 1 to fit, 0 to play, 0 held out"


@pytest.mark.parametrize("seed", range(5))
def test_all_rows_of_a_person_are_in_one_part(seed):
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 60, 300).astype(str)
    split = split_people(ids, seed=seed)
    parts = [set(ids[rows]) for rows in split[:3]]
    assert all(not (a & b) for a, b in itertools.combinations(parts, 2))
    assert tuple(map(len, parts)) == split.people == split_people(len(set(ids))).people
    assert sum(map(len, split[:3])) == 300


def test_the_seed_decides_who_is_where():
    first, again, other = split_people(100, seed=3), split_people(100, seed=3), split_people(100, seed=4)
    assert all(np.array_equal(a, b) for a, b in zip(first[:3], again[:3], strict=True))
    assert not np.array_equal(first.held_out, other.held_out)


def test_everybody_is_as_likely_as_anybody_to_be_held_out():
    counts = np.zeros(20)
    for seed in range(2000):
        counts[split_people(20, seed=seed).held_out] += 1
    # Ten of twenty are held out each time, so counts vary less than those of independent draws: scale them up.
    assert chisquare(counts).statistic * 2 * 19 / 20 < 43.8  # 99.9 % of χ² with 19 degrees of freedom


@pytest.mark.parametrize(
    "shares", [(25, 25), (25, 25, 49), (-1, 51, 50), (25, 25, 50, 0), (101, -1, 0), (float("nan"), 50, 50)]
)
def test_bad_shares_are_refused_in_one_sentence(shares):
    with pytest.raises(InvalidParameter, match=r"`split` must be three shares from 0 to 100 that add up to 100, like"):
        split_people(10, shares)


@pytest.mark.parametrize("ids", [[], 0, ["ann", None]])
def test_nobody_and_somebody_unknown_are_refused(ids):
    with pytest.raises(InvalidParameter, match="`ids` must"):
        split_people(ids)


# A data set in parts ------------------------------------------------------------------------------------------------


def test_scales_and_levels_are_those_of_the_people_to_fit_on():
    data = datasets.synthetic(400)
    parted, split = data.parted(seed=2)
    fit = parted.features[split.fit]
    numbers = len(parted.encoder.numbers)
    np.testing.assert_allclose(fit[:, :numbers].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(fit[:, :numbers].std(axis=0), 1, atol=1e-12)
    assert abs(parted.features[split.held_out][:, :numbers].mean(axis=0)).max() > 1e-3
    assert parted.encoder.columns == data.encoder.columns


def test_who_is_held_out_changes_no_bit_of_the_encoder():
    data = datasets.synthetic(400)
    parted, split = data.parted(seed=2)
    changed = data.people.copy()
    changed.iloc[split.held_out] = changed.iloc[split.held_out[::-1]].to_numpy()
    other, same = datasets.Dataset(**vars(data) | {"people": changed}).parted(seed=2)
    assert np.array_equal(split.fit, same.fit)
    assert other.encoder.to_dict() == parted.encoder.to_dict()


def test_with_nobody_to_fit_on_there_is_no_encoder():
    with pytest.raises(InvalidParameter, match="`split` must leave somebody to fit cut-offs and scales on"):
        datasets.synthetic(20).parted((0, 50, 50))
