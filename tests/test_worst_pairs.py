"""The compiled loop of experiment 4: plays as ``play`` does, by hand where it can be followed, and is never stale."""

from __future__ import annotations

import math
import zlib
from pathlib import Path

import numpy as np
import pytest

from likewise import kernels
from likewise.experiments.reproduce import penalties
from likewise.experiments.reproduce.worst_pairs import play_pairs
from likewise.kernels.caching import files_behind


@pytest.mark.parametrize("rule", penalties.RULES)
@pytest.mark.parametrize("game", [penalties.TWO, penalties.PAIRS])
def test_the_compiled_loop_plays_as_play_does(game, rule):
    twin = penalties.compared(game, rule, 1500)
    assert twin.fused == twin.violations > 0
    assert twin.fused_error == pytest.approx(twin.error, rel=1e-3)
    assert penalties.same([twin], 1500).holds
    assert not penalties.same([twin._replace(fused=2 * twin.fused)], 1500).holds


def test_exponential_weights_by_hand_on_one_pair():
    """F = {0, 1, 1[x = a]}: only the third has a gap, so the gap shown is its weight."""
    first, second = np.array([[0.0, 1.0, 1.0]]), np.array([[0.0, 1.0, 0.0]])
    rate, C, alpha, T = 0.05, 2.0, 0.3, 40
    gaps = np.empty(T)
    knobs = np.array([rate, C])
    reports = play_pairs(kernels.EXPONENTIAL_WEIGHTS, knobs, math.log(3), first, second, alpha, T, gaps)
    log_weights, expected = np.zeros(3), []
    for _ in range(T):
        weights = np.exp(log_weights) / np.exp(log_weights).sum()
        expected.append(weights[2])
        # Err(f, R_C) = Err(f) + C, and + C (f(a) − f(b)) on a report; the third errs nowhere, the others once.
        m = np.array([1.0, 1.0, 0.0]) + C + (C * np.array([0.0, 0.0, 1.0]) if weights[2] > alpha else 0.0)
        log_weights += np.log1p(-rate * m)
    assert gaps == pytest.approx(np.array(expected), rel=1e-12)
    assert reports == (np.array(expected) > alpha).sum() > 0


def test_the_adversary_shows_the_pair_with_the_largest_gap():
    first, second = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    gaps = np.empty(1)
    play_pairs(kernels.ADAHEDGE_FIXED, np.array([1.0]), math.log(3), first, second, 0.9, 1, gaps)
    assert gaps[0] == pytest.approx(2 / 3)  # against −1/3 of the other pair


def test_the_loop_on_disk_is_keyed_by_the_kernels_that_it_calls():
    files = {Path(file).stem: file for file in files_behind(play_pairs.py_func)}
    assert {"elementary", "lanes", "play", "weights"} <= files.keys()
    assert {file.stem for file in Path(kernels.__file__).parent.glob("*.py")} > files.keys()
    sources = b"".join(Path(file).read_bytes() for file in sorted(files.values()))
    assert play_pairs.py_func.__qualname__ == f"play_pairs-{zlib.crc32(sources):08x}"
