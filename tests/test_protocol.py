"""The words of the game: a key is its random numbers, and a round knows the gap of its report."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import likewise as lw
from likewise.protocol import Batch, Round


def drawn(generator):
    return tuple(generator.integers(2**63, size=4))


def test_a_key_is_its_stream_and_every_other_key_another_one():
    keys = [lw.Key(seed, role, t) for seed, role, t in itertools.product((0, 1), lw.Role, (0, 1, 2))]
    first, again = ([drawn(key.generator()) for key in keys] for _ in range(2))
    assert first == again
    assert len(set(first)) == len(keys) == 6 * len(lw.Role)


def test_the_streams_of_a_key_are_apart_and_the_first_one_is_its_generator():
    key = lw.Key(3, lw.Role.AUDITOR, 5)
    assert drawn(key.stream(0)) == drawn(key.generator())
    assert len({drawn(key.stream(number)) for number in range(5)}) == 5


def test_the_gap_of_a_round_is_that_of_its_report():
    batch = Batch(np.zeros((3, 1)), np.zeros(3), np.zeros((3, 1)))
    seen = Round(batch, np.array([0.2, 0.9, 0.4]), (lw.Report(favoured=1, disfavoured=0),))
    assert seen.gap == pytest.approx(0.7)
    assert seen._replace(reports=(*seen.reports, lw.Report(2, 0))).gap == pytest.approx(0.45), "their mean"
    assert seen._replace(reports=()).gap == 0
    assert seen.reviewed
