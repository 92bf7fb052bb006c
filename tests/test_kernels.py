"""Every compiled loop beside its plain NumPy twin, and the compiled play beside the readable one."""

from __future__ import annotations

import ast
import hashlib
import importlib
import math
import re
import subprocess
import sys
import zlib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import pytest
from numba.core.caching import FunctionCache
from scipy import stats
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

import likewise as lw
from likewise import kernels
from likewise.game import compiled
from likewise.game.rounds import World
from likewise.hypotheses import EnumerableClass
from likewise.hypotheses.thresholds import BUSY, FEW
from likewise.kernels.caching import files_behind
from likewise.learners.ftpl import sum_of_laplaces_cdf
from likewise.theory import elementary


def town():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(400, 4))
    X[:, 3] = np.round(X[:, 3])
    return X, (X[:, 0] + 0.5 * rng.normal(size=400) > 0).astype(float)


X, Y = town()
F = lw.Thresholds.quantiles(X, cuts=9)
ROWS = F.encode(X)
UNEVEN = lw.Thresholds([[0.0, 0.5, 1.0], [], [-1.0]])


def filled(kernel, size, *given):
    """The array that a kernel writes its answer to."""
    out = np.full(size, np.nan)
    kernel(*given, out)
    return out


def gibbs(losses, eta):
    return filled(kernels.gibbs, len(losses), losses, eta)


def batches(k=5, count=20):
    draw = np.random.default_rng(3)
    for _ in range(count):
        yield ROWS[draw.integers(400, size=k)], draw.normal(size=k) * 10.0 ** draw.integers(-2, 4)


# Weights ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [1e-9, 0.3, 50.0])
def test_gibbs_weights_and_free_energy_are_those_of_log_sum_exp(eta):
    losses = np.random.default_rng(1).normal(size=300) * 100 + 1e6
    log_weights = -eta * losses - logsumexp(-eta * losses)
    assert np.allclose(gibbs(losses, eta), np.exp(log_weights), rtol=1e-7, atol=1e-300)
    energy = -(logsumexp(-eta * losses) - np.log(300)) / eta
    assert kernels.free_energy(losses, eta) == pytest.approx(energy, rel=1e-9)


def units_off(found, exact):
    """How far numbers are from extended precision, in units of the last place."""
    return np.abs(np.asarray(found) - exact) / np.spacing(np.abs(exact).astype(float))


DRAW = np.random.default_rng(0)
SMALL = np.logspace(-300, -1, 500)
ANY = np.concatenate([DRAW.uniform(-680, 680, 6000), DRAW.uniform(-1, 1, 4000), SMALL, -SMALL])
POSITIVE = np.concatenate([np.exp(DRAW.uniform(-680, 680, 4000)), 1 + DRAW.normal(size=3000) * 1e-3, [0.5, 2.0, 1e-12]])
ELEMENTARY = {  # where, and how many units in the last place a result may be off
    "exp": (ANY, 1.0),
    "power": (ANY, 1.0),
    "expm1": (ANY, 2.0),
    "log": (POSITIVE, 1.0),
    "log1p": (np.concatenate([DRAW.uniform(-1 + 1e-6, 9, 4000), SMALL, -SMALL]), 1.5),
}


@pytest.mark.parametrize("name", ELEMENTARY)
def test_exponentials_and_logarithms_are_within_a_unit_or_two_of_extended_precision(name):
    x, most = ELEMENTARY[name]
    exact = getattr(np, "exp" if name == "power" else name)(x.astype(np.longdouble))
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("no extended precision here to compare with")
    assert units_off([getattr(kernels, name)(value) for value in x], exact).max() <= most


def test_exponentials_and_logarithms_are_exact_where_they_can_be():
    assert kernels.exp(0.0) == kernels.exp(-0.0) == kernels.power(0.0) == 1.0
    assert kernels.log(1.0) == kernels.log1p(0.0) == kernels.expm1(0.0) == 0.0
    assert [kernels.exp(x) > 0 and np.isfinite(kernels.exp(x)) for x in (-680.0, 680.0)] == [True, True]


@pytest.mark.parametrize("name", ["exp", "log", "log1p"])
def test_plain_python_has_the_loops_exponentials_and_logarithms_to_the_last_bit(name):
    x = ELEMENTARY[name][0]
    plain = [getattr(elementary, name)(float(value)) for value in x]
    assert plain == [getattr(kernels, name)(value) for value in x]


def fused_step(a, b, c):
    """a · b + c rounded once, by exact fractions."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def parts_of_power(x):
    """(q, 2^n) with e^x = 2^n (1 + q), a second time: fused steps by fractions, and Horner's order nowhere."""
    whole = 6755399441055744.0 + 1023.0
    n = fused_step(x, 1.4426950408889634, whole) - whole
    r = fused_step(n, -elementary.LOW, fused_step(n, -elementary.HIGH, x))
    r2, f = r * r, fused_step
    low = f(f(0.0013888888888886554, r, 0.008333333333330063), r2, f(0.041666666666666664, r, 0.16666666666666669))
    mid = f(
        f(2.75572829813734e-07, r, 2.7557268476553695e-06), r2, f(2.4801587317136892e-05, r, 0.00019841269863042963)
    )
    g = f(f(f(2.091123100592285e-09, r, 2.5100377619606372e-08), r2 * r2, mid), r2 * r2, low)
    return r + f(r * r2, g, 0.5 * r2), 2.0**n


def test_fused_steps_are_rounded_once_as_exact_fractions_are():
    x = [float(value) for value in np.random.default_rng(3).uniform(-680, 680, 500)]
    parts = [parts_of_power(value) for value in x]
    assert [kernels.power(value) for value in x] == [(q + 1.0) * scale for q, scale in parts]
    assert [kernels.expm1(value) for value in x] == [fused_step(q, scale, scale - 1.0) for q, scale in parts]


# The beginning of the sha256 of 20,000 values as little-endian doubles: the same on every machine, in every version.
KNOWN_BITS = {
    "exp": "1d454fb435c85c06",
    "power": "109b7d86451b17de",
    "expm1": "d0c0da83f0fd8662",
    "log": "287016d1795a1bf8",
    "log1p": "050cbc20587795eb",
}


@pytest.mark.parametrize("name", KNOWN_BITS)
def test_exponentials_and_logarithms_have_the_same_bits_on_every_machine(name):
    x = np.arange(1, 20_001) / 1024.0 - (10.0 if name in ("exp", "power", "expm1") else 0.0)
    values = np.array([getattr(kernels, name)(value) for value in x], dtype="<f8")
    assert hashlib.sha256(values.tobytes()).hexdigest()[:16] == KNOWN_BITS[name]


# The same bits everywhere -----------------------------------------------------------------------------------

DECIDING = ("auditing", "elementary", "kept", "lanes", "mix_gap", "play", "prices", "thresholds", "weights")
"""The files whose loops decide weights, losses and probabilities."""
EXACT = {"sqrt", "isinf", "inf"}
"""What IEEE 754 fixes to the last bit."""
SOURCE = Path(kernels.__file__).parent


@pytest.mark.parametrize("file", DECIDING)
def test_no_loop_that_decides_asks_a_library_for_a_last_bit(file):
    tree = ast.parse((SOURCE / f"{file}.py").read_text())
    used = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "math"}
    assert used <= EXACT
    arrays = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "np"}
    assert arrays <= {"empty", "zeros", "int64", "uint64", "float64", "bool_"}


@pytest.mark.parametrize("file", DECIDING)
def test_no_loop_that_decides_may_reorder_or_fuse_what_is_written(file):
    module = importlib.import_module(f"likewise.kernels.{file}")
    loops = [loop for loop in vars(module).values() if hasattr(loop, "targetoptions")]
    assert len(loops) >= 2
    assert [loop.py_func.__name__ for loop in loops if loop.targetoptions.get("fastmath")] == []


def called_from_other_files(loop, seen=()):
    """The files of all loops that a loop calls, and that these call, beside its own."""
    names = loop.py_func.__code__.co_names
    called = [value for name, value in loop.py_func.__globals__.items() if name in names and hasattr(value, "py_func")]
    files = {inner.py_func.__code__.co_filename for inner in called}
    for inner in called:
        if inner not in seen:
            files |= called_from_other_files(inner, (*seen, inner))
    return files - {loop.py_func.__code__.co_filename}


@pytest.mark.parametrize("file", kernels.FILES)
def test_a_loop_on_disk_has_a_name_that_changes_with_every_file_that_it_is_made_of(file):
    """Otherwise one that was made of an older file would be taken from disk, and nobody would notice."""
    module, on_disk = importlib.import_module(f"likewise.kernels.{file}"), 0
    for loop in vars(module).values():
        if not isinstance(getattr(loop, "_cache", None), FunctionCache) or loop.py_func.__module__ != module.__name__:
            continue
        on_disk += 1
        if others := called_from_other_files(loop):
            files = files_behind(loop.py_func)
            assert others <= set(files)
            checksum = zlib.crc32(b"".join(Path(path).read_bytes() for path in files))
            assert loop.py_func.__qualname__ == f"{loop.py_func.__name__}-{checksum:08x}"
    assert on_disk > 0 or file in ("elementary", "lanes")


def test_files_behind_a_loop_reach_through_other_files():
    files = {Path(path).stem for path in files_behind(kernels.play_rounds.py_func)}
    assert files == {"auditing", "elementary", "lanes", "lots", "mix_gap", "thresholds", "weights"}


def machine_code(loop, *given, **options):
    """What LLVM makes of a loop, compiled here and now: one from the cache on disk can't be looked into."""
    fresh = numba.njit(error_model="numpy", **options)(loop.py_func)
    fresh(*given)
    return "".join(fresh.inspect_asm().values()), "".join(fresh.inspect_llvm().values())


def fused(assembler):
    return re.findall(r"\bv?fn?m(?:add|sub|la|ls)\w*", assembler)


def loosened(llvm):
    return re.findall(r"\bf(?:add|sub|mul|div) (?:fast|contract|reassoc)", llvm)


def asks_a_library(llvm):
    """Calls whose last bit is a library's or the compiler's choice; llvm.fma is rounded once by definition."""
    return re.findall(r"call[^\n]*@(?:llvm\.)?(?:exp|exp2|expm1|log|log2|log1p|pow|fmuladd)\b", llvm)


def fuses_only_what_is_written(assembler, llvm):
    return not fused(assembler) or bool(re.findall(r"@llvm\.fma\.(?:v\d+)?f64", llvm))


def test_the_machine_code_of_weights_fuses_only_what_is_written_and_calls_no_library():
    losses, weights = np.linspace(0.0, 5.0, 40), np.full(40, 1 / 40)
    loops = {
        kernels.gibbs: (losses, 0.3, weights),
        kernels.prior_gibbs: (losses, weights.copy(), 0.3, weights),
        kernels.shared: (losses, weights, weights.copy(), 1 / weights, 0.3, 0.0, 0.01),
    }
    for loop, given in loops.items():
        assembler, llvm = machine_code(loop, *given)
        assert fuses_only_what_is_written(assembler, llvm)
        assert (loosened(llvm), asks_a_library(llvm)) == ([], [])
    assert fused(assembler) == []  # of the last one, which mixes in a share: no step is written as fused there


@pytest.mark.slow
@pytest.mark.parametrize(("name", "learner"), [("play_kept", "kept"), ("play_rounds", "adahedge, tilted")])
def test_the_machine_code_of_a_whole_play_fuses_only_what_is_written_and_calls_no_library(name, learner, monkeypatch):
    loop, given = getattr(kernels, name), []

    def spied(*arguments):
        given.append(arguments)
        return loop(*arguments)

    monkeypatch.setattr(kernels, name, spied)
    lw.play(LEARNERS[learner]((1.0, 1.0)), PEOPLE, AUDITOR, T=10)
    assembler, llvm = machine_code(loop, *given[0])
    assert fuses_only_what_is_written(assembler, llvm)
    assert (loosened(llvm), asks_a_library(llvm)) == ([], [])


def test_the_look_at_machine_code_would_find_a_library_call_and_a_fused_step():
    @numba.njit
    def loose(x):
        total = 0.0
        for i in range(len(x)):
            total += x[i] * 0.3 + 0.1
        return total + math.exp(total)

    _, llvm = machine_code(loose, np.ones(8), fastmath={"contract"})
    assert asks_a_library(llvm)
    assert loosened(llvm)


def test_weights_from_a_prior_are_the_softmax_with_its_logarithms():
    draw = np.random.default_rng(1)
    losses, prior, masses = draw.normal(size=300) * 10, draw.dirichlet(np.ones(300)), np.empty(300)
    ground = kernels.prior_gibbs(losses, prior, 0.7, masses)
    z = np.log(prior) - 0.7 * losses
    assert np.allclose(masses, np.exp(z - logsumexp(z)), rtol=1e-9, atol=1e-300)
    assert ground == pytest.approx(-logsumexp(z) / 0.7, abs=1e-12)


def test_a_share_of_the_prior_is_mixed_in_and_the_losses_follow():
    draw = np.random.default_rng(2)
    losses, prior, masses = draw.normal(size=300) * 10, draw.dirichlet(np.ones(300)), np.empty(300)
    before, eta, share = losses.copy(), 0.7, 0.03
    ground = kernels.prior_gibbs(losses, prior, eta, masses)
    p = masses / masses.sum()
    kernels.shared(losses, masses, prior, 1 / prior, eta, ground, share)
    assert np.allclose(masses, (1 - share) * p + share * prior, rtol=1e-12)
    energies = [-logsumexp(-eta * X, b=prior) / eta for X in (before, losses)]
    assert energies[1] == pytest.approx(energies[0], abs=1e-9)
    z = np.log(prior) - eta * losses
    assert np.allclose(masses, np.exp(z - logsumexp(z)), rtol=1e-9)


def test_leaders_share_the_weight_equally():
    losses = np.array([3.0, 1.0, 2.0, 1.0])
    assert filled(kernels.leaders, 4, losses).tolist() == [0.0, 0.5, 0.0, 0.5]


def test_weights_are_accumulated_in_place():
    total, weights = np.random.default_rng(2).normal(size=(2, 301))
    twin = total + weights
    kernels.accumulate(total, weights)
    assert np.array_equal(total, twin)


def test_log_weights_are_losses_at_a_rate_of_minus_one():
    log_weights = np.random.default_rng(3).normal(size=300) * 100
    assert np.array_equal(gibbs(log_weights, -1.0), gibbs(-log_weights, 1.0))


# Thresholds -------------------------------------------------------------------------------------------------


def test_added_losses_are_the_predictions_times_the_signed_weights():
    start = np.random.default_rng(4).normal(size=F.size)
    for rows, s in batches():
        twin = start + F.predict_rows(rows) @ s
        after = filled(kernels.threshold_added, F.size, start, rows, s, F.first)
        assert np.allclose(after, twin, rtol=1e-12, atol=1e-10)
        in_place = start.copy()
        kernels.threshold_add(in_place, rows, s, F.first)
        assert np.array_equal(in_place, after)


def test_added_losses_are_exact_for_whole_numbers():
    for rows, s in batches():
        whole = np.round(s)
        after = filled(kernels.threshold_added, F.size, np.zeros(F.size), rows, whole, F.first)
        assert np.array_equal(after, F.losses(rows, whole))


def test_shrunk_weights_take_one_logarithm_per_step_and_have_all_of_them():
    start = np.random.default_rng(4).normal(size=F.size)
    for rows, s in batches():
        base = 1.0 + np.abs(s).sum()
        m = base + F.predict_rows(rows) @ s
        shrunk = filled(kernels.threshold_shrunk, F.size, start, rows, s, base, 0.9 / m.max(), F.first)
        assert np.allclose(shrunk, start + np.log1p(-0.9 * m / m.max()), rtol=1e-12, atol=1e-12)
        in_place = start.copy()
        kernels.threshold_shrunk(in_place, rows, s, base, 0.9 / m.max(), F.first, in_place)
        assert np.array_equal(in_place, shrunk)


@pytest.mark.parametrize("cls", [F, UNEVEN], ids=["even", "uneven"])
def test_probabilities_are_the_mixture_of_predictions(cls):
    people = X[:30, : len(cls.cuts)]
    weights = np.random.default_rng(5).dirichlet(np.ones(cls.size))
    rows = cls.encode(people)
    twin = weights @ cls.predict_rows(rows)
    p = filled(kernels.threshold_probability, len(rows), weights, rows, cls.first)
    assert np.allclose(p, twin, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("eta", [1e-6, 0.02, 1.0, 300.0, 1e5])
def test_the_mix_gap_is_its_definition_even_where_exponentials_underflow(eta):
    draw = np.random.default_rng(6)
    for rows, s in batches(count=8):
        losses = draw.normal(size=F.size) * 5
        weights = gibbs(losses, eta)
        loss = F.predict_rows(rows) @ s
        p = weights @ F.predict_rows(rows)
        log_p = -eta * losses - logsumexp(-eta * losses)
        twin = weights @ loss + logsumexp(log_p - eta * loss) / eta
        found = kernels.threshold_mix_gap(weights, losses, rows, s, p, eta, F.first, np.empty(0))
        rounding = 1e-8 * np.abs(s).sum() + 1e-15 / eta  # the second is the twin's own
        assert found == pytest.approx(max(0.0, twin), rel=1e-6, abs=rounding)


def test_very_long_columns_are_added_up_between_the_people():
    rng = np.random.default_rng(8)
    cuts = [np.arange(kernels.LONG + extra, dtype=float) for extra in (1, 300)]
    F = lw.Thresholds([*cuts, np.arange(5.0)])
    weights = rng.dirichlet(np.ones(F.size))
    losses, s = rng.normal(size=F.size), np.array([0.5, -0.5, 0.25, -1.0, 0.5])
    places = rng.integers(kernels.LONG + 1, size=(5, 2))
    places[0], places[1], places[2] = 0, kernels.LONG + 1, places[3]
    rows = np.column_stack([places, rng.integers(6, size=5)]).astype(np.int32)
    says = F.predict_rows(rows).astype(float)
    p = F.probability(weights, rows)
    np.testing.assert_allclose(p, weights @ says, atol=1e-13)
    gap = F.mix_gap(weights, losses, losses + says @ s, rows, s, p, 0.7)
    np.testing.assert_allclose(gap, s @ p + np.log(weights @ np.exp(-0.7 * (says @ s))) / 0.7, atol=1e-12)
    assert F.compiled() is None, "a compiled play adds up in another order"


def test_while_everything_is_tied_the_mix_gap_is_the_mean_less_the_best():
    rows, s = next(batches())
    loss = F.predict_rows(rows) @ s
    weights = np.full(F.size, 1 / F.size)
    found = kernels.threshold_mix_gap(
        weights, np.zeros(F.size), rows, s, weights @ F.predict_rows(rows), np.inf, F.first, np.empty(0)
    )
    assert found == pytest.approx(loss.mean() - loss.min())


def test_penalties_and_the_least_delta_are_those_of_the_learners_rules():
    scheduled, tilted = lw.Scheduled(3.0, 0.2), lw.Tilted(0.05, floor=0.5)
    first, tilt = np.array([3.0, 0.2]), np.array([0.05, 0.5, 4.0])
    for reports, t, delta in ((0, 1, 4.0), (7, 30, 90.0), (2000, 5000, 1e9)):
        given = reports, t, delta, 3.0
        assert kernels.penalty(kernels.ADAHEDGE_SCHEDULED, first, *given) == scheduled.at(reports)
        assert kernels.penalty(kernels.ADAHEDGE_TILTED, tilt, *given) == tilted.at(t, delta, 4.0, 3.0)
        assert kernels.penalty(kernels.ADAHEDGE_FIXED, np.array([9.0]), *given) == 9.0
        assert kernels.penalty(kernels.HEDGE, np.array([0.1, 9.0]), *given) == 9.0
        assert kernels.raised(kernels.ADAHEDGE_TILTED, tilt, delta, 3.0) == tilted.raised(delta, 3.0)
        assert kernels.raised(kernels.ADAHEDGE_SCHEDULED, first, delta, 3.0) == 0.0


def in_lanes(values):
    """Σ in sixteen interleaved parts, then in pairs of parts, then one by one what is left over."""
    whole = len(values) // 16 * 16
    parts = [sum(values[lane:whole:16].tolist(), 0.0) for lane in range(16)]
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [parts[i] + parts[half + i] for i in range(half)]
    return sum(values[whole:].tolist(), parts[0])


@pytest.mark.parametrize("size", [1, 3, 15, 16, 17, 31, 32, 1002])
def test_sums_and_minima_in_lanes_are_sums_in_the_order_that_is_said_and_minima(size):
    for seed in range(20):
        values = np.random.default_rng(seed).normal(size=size)
        assert kernels.minimum(values) == values.min()
        assert kernels.total_of(values) == in_lanes(values)


def test_lanes_take_numbers_that_do_not_lie_side_by_side_and_refuse_what_is_no_double():
    values = np.random.default_rng(0).normal(size=(100, 3))[::-1, 1]
    assert kernels.total_of(values) == in_lanes(values)
    assert kernels.minimum(values) == values.min()
    with pytest.raises(numba.TypingError, match="Lanes take doubles"):
        kernels.total_of(np.ones(40, dtype=np.float32))


# Loading ----------------------------------------------------------------------------------------------------


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_importing_likewise_and_its_kernels_loads_no_numba_until_a_loop_is_asked_for():
    code = (
        "import sys, likewise, likewise.kernels as k; print('numba' in sys.modules, 'gibbs' in dir(k)); "
        "k.CITYBLOCK; print('numba' in sys.modules); "
        "k.gibbs; print('numba' in sys.modules, 'gibbs' in vars(k), 'likewise.kernels.noise' in sys.modules)"
    )
    assert run(code) == ["False", "True", "False", "True", "True", "False"]


def test_every_name_that_the_kernels_offer_is_there_and_no_other():
    assert all(getattr(kernels, name) is not None for name in kernels.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'threshold_adahedge'"):
        _ = kernels.threshold_adahedge


def test_a_distance_of_ones_own_takes_one_path_whoever_has_loaded_numba():
    code = (
        "import sys, numpy as np, likewise as lw; {}; X = np.random.default_rng(0).random((50, 2)); "
        "F = lw.Cells.grid(X, bins=3); a = lw.MetricAuditor(lambda v: abs(v[:, :1] - v[:, 0]) / 3, 0.05); "
        "t = lw.play(lw.AdaHedge(F, k=4, alpha=.05, T=60), lw.IID(X, X[:, 0] > .5, k=4), a); "
        "print(int(t.violations.sum()), t.shown.sum().hex(), 'numba' in sys.modules)"
    )
    alone, loaded = run(code.format("pass")), run(code.format("import numba"))
    assert alone == loaded
    assert int(alone[0]) > 0


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
def test_the_compiled_count_of_violating_pairs_is_the_one_of_blocks(name, alpha):
    metric = lw.auditors.named_metric(name, **METRICS[name])
    policy = lw.Mixture(F, np.random.default_rng(7).dirichlet(np.full(F.size, 0.02)))
    quick = lw.evaluate_fairness(policy, X, metric, alpha, view=0.1 * X)
    assert quick == lw.evaluate_fairness(policy, X, lambda view: metric(view), alpha, view=0.1 * X)
    assert 0 < quick.violating < quick.pairs


# The compiled play ------------------------------------------------------------------------------------------

LEARNERS = {
    "exponential weights": lambda c: lw.ExponentialWeights(F, T=400, k=4, costs=c),
    "hedge": lambda c: lw.Hedge(F, T=400, k=4, costs=c),
    "adahedge, fixed": lambda c: lw.AdaHedge(F, T=400, k=4, penalty=9.0, costs=c),
    "adahedge, scheduled": lambda c: lw.AdaHedge(F, T=400, k=4, alpha=0.1, costs=c, penalty="growing"),
    "adahedge, tilted": lambda c: lw.AdaHedge(F, k=4, alpha=0.1, costs=c, penalty="growing"),
    "kept": lambda c: lw.AdaHedge(F, T=400, k=4, alpha=0.06, costs=c),
    "kept, no horizon": lambda c: lw.AdaHedge(F, k=4, alpha=0.06, costs=c),
    "kept, nothing forgotten": lambda c: lw.AdaHedge(F, T=400, k=4, alpha=0.1, costs=c, forget=0),
    "kept, five rows": lambda c: lw.AdaHedge(
        F, k=4, alpha=0.06, costs=c, penalty=lw.Cuts(0.02, lw.Tilted(0.01, floor=0.7), rows=5)
    ),
    "kept, cuts alone": lambda c: lw.AdaHedge(F, k=4, alpha=0.06, costs=c, penalty=lw.Cuts(0.02)),
    "kept, a prior": lambda c: lw.AdaHedge(
        F, T=400, k=4, alpha=0.06, costs=c, prior=np.arange(1.0, F.size + 1) / (F.size * (F.size + 1) / 2)
    ),
    "unconstrained": lambda c: lw.Unconstrained(F, costs=c),
}
PARTLY = np.where(np.arange(400) % 7 == 0, np.nan, Y)
PEOPLE = lw.IID(X, PARTLY, k=4)
AUDITOR = lw.MetricAuditor("cityblock", alpha=0.1, margin=0.04, w=[0.0, 0.1, 0.1, 0.0])


def same(a, b):
    arrays = ("rows", "y", "view", "shown", "starts", "report_rounds", "pairs", "violates", "false", "reviewed")
    assert all(np.array_equal(getattr(a, n), getattr(b, n), equal_nan=n == "y") for n in (*arrays, "penalties"))
    assert all(getattr(a, n).dtype == getattr(b, n).dtype for n in (*arrays, "penalties"))
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
    assert quick.reported.sum() >= 5
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
    "a large batch": (lw.Hedge(F, T=9, k=FEW + 1), lw.IID(X, Y, k=FEW + 1), AUDITOR),
    "a rate that falls": (lw.AnytimeHedge(F, T=9, k=4, penalty=5.0), PEOPLE, AUDITOR),
}


@pytest.mark.parametrize("what", NOT_COMPILED)
def test_the_readable_loop_plays_whatever_has_no_compiled_form(what, monkeypatch):
    learner, people, auditor = NOT_COMPILED[what]
    monkeypatch.setattr(compiled.CompiledPlay, "play", lambda *a, **k: pytest.fail("compiled after all"))
    assert lw.play(learner, people, auditor).rounds == 9


def test_the_largest_batch_with_a_compiled_play_has_the_identical_transcript():
    learner, people = lw.AdaHedge(F, T=40, k=FEW, alpha=0.1), lw.IID(X, PARTLY, k=FEW)
    assert compiled.CompiledPlay.of(learner, people.encoded(F.encode), World(AUDITOR, 0)) is not None
    same(lw.play(learner, people, AUDITOR), lw.play(learner, people, AUDITOR, compiled=False))


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
def test_perturbed_leaders_minimise_the_perturbed_losses(cls, padding):
    losses = np.random.default_rng(9).normal(size=cls.size) * 5 + 1e6
    key, E = lw.Key(3, lw.Role.LEARNER, 4), 3000
    noise = kernels.laplace_noise(len(cls.separator), E, np.uint64(3), 4).T.astype(float)
    if padding > 0:
        noise[:, 0] += kernels.padding_noise(padding, E, np.uint64(3), 4)
    found = cls.perturbed_leaders(losses, 2.5, E, key, padding)
    values = losses / 2.5 + noise @ cls.predict_rows(cls.separator).T
    assert np.abs(values[np.arange(E), found] - values.min(axis=1)).max() < (5e-5 if padding else 5e-6)
    assert len(np.unique(found)) > 5


@pytest.mark.parametrize("padding", [0.0, 0.4, 800.0])
def test_perturbed_leaders_have_the_law_that_numpy_draws(padding):
    losses, key, E = np.random.default_rng(10).normal(size=F.size) * 3, lw.Key(3, lw.Role.LEARNER, 4), 100_000
    ours = np.bincount(F.perturbed_leaders(losses, 2.0, E, key, padding), minlength=F.size)
    plain = EnumerableClass.perturbed_leaders(F, losses, 2.0, E, key, padding)
    both = np.array([ours, np.bincount(plain, minlength=F.size)])
    seen = both[:, both.sum(axis=0) > 10]
    assert len(seen.T) > 20
    assert stats.chi2_contingency(seen).pvalue > 1e-3


def test_the_number_of_threads_changes_nothing():
    losses, key, E = np.random.default_rng(10).normal(size=F.size), lw.Key(1, lw.Role.LEARNER, 2), 15_000
    assert E * len(F.separator) > BUSY  # or there would be one thread in any case
    alone, many = (F.perturbed_leaders(losses, 3.0, E, key, 70.0, threads) for threads in (1, 3))
    assert np.array_equal(alone, many)
