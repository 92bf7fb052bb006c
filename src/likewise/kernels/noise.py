"""Perturbed leaders: the minimisers over thresholds for many draws of noise at once, and that noise itself.

Thresholds are laid out as in ``likewise.kernels.thresholds``. Only here is fast-math allowed: noise has no
last bit to keep.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

LANES = 128
"""Draws that are worked on together: the innermost loops run over them, so that the compiler can vectorise.

Arrays of several numbers per lane are flat, number r of lane i at r · LANES + i: only then does the compiler see that
they don't overlap.
"""


@njit(forceinline=True)
def _philox(block, draw, key):
    """Four random words of a draw, a function of (key, draw, block) alone: Philox4x32-10 (Salmon et al. 2011)."""
    c0, c1, c2, c3 = np.uint32(block), np.uint32(draw), key[0], key[1]
    a, b = key[2], key[3]
    for _ in range(10):
        p0 = np.uint64(c0) * np.uint64(0xD2511F53)
        p1 = np.uint64(c2) * np.uint64(0xCD9E8D57)
        c0 = np.uint32(np.uint32(p1 >> np.uint64(32)) ^ c1 ^ a)
        c2 = np.uint32(np.uint32(p0 >> np.uint64(32)) ^ c3 ^ b)
        c1, c3 = np.uint32(p1), np.uint32(p0)
        a, b = np.uint32(a + np.uint32(0x9E3779B9)), np.uint32(b + np.uint32(0xBB67AE85))
    return c0, c1, c2, c3


@njit(cache=True)
def philox_key(seed, t):
    """The words of (t, seed) that name the noise of a round."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    t, seed = np.uint64(t), np.uint64(seed)
    return np.uint32(t & low), np.uint32(t >> half), np.uint32(seed & low), np.uint32(seed >> half)


@njit(forceinline=True)
def _rotated(x, k):
    return np.uint32(np.uint32(x << np.uint32(k)) | np.uint32(x >> np.uint32(32 - k)))


@njit
def _seeded(state, start, key):
    """Every lane at the start of its own stream: block 0 of its draw."""
    for i in range(LANES):
        a, b, c, d = _philox(0, start + i, key)
        state[i], state[LANES + i], state[2 * LANES + i], state[3 * LANES + i] = a, b, c, d


@njit
def _next_words(state, words):
    """One more random word per lane: xoshiro128++ (Blackman and Vigna 2021), a third of the cost of Philox."""
    for i in range(LANES):
        a, b, c, d = state[i], state[LANES + i], state[2 * LANES + i], state[3 * LANES + i]
        words[i] = np.uint32(_rotated(np.uint32(a + d), 7) + a)
        shifted = np.uint32(b << np.uint32(9))
        c, d = np.uint32(c ^ a), np.uint32(d ^ b)
        b, a = np.uint32(b ^ c), np.uint32(a ^ d)
        state[i], state[LANES + i] = a, b
        state[2 * LANES + i], state[3 * LANES + i] = np.uint32(c ^ shifted), _rotated(d, 11)


@njit(forceinline=True)
def _unit(word):
    """In (0, 1], from the upper 31 bits."""
    return np.float32(np.int32((word >> np.uint32(1)) | np.uint32(1))) * np.float32(2.0**-31)


# The noise may be reassociated: it is random in the last bits anyhow, and the same on any number of threads.
@njit(forceinline=True, fastmath=True, error_model="numpy")
def _log(u):
    """ln u in single precision: u = m 2^e with m in [2/3, 4/3), and a polynomial in m − 1 that is off by under 5e−8."""
    bits = np.float32(u).view(np.int32)
    e = np.int32(np.int32(bits - np.int32(0x3F2AAAAB)) & np.int32(-0x800000))
    x = np.int32(bits - e).view(np.float32) - np.float32(1.0)
    y = np.float32(-0.15918615)
    y = y * x + np.float32(0.1719431)
    y = y * x + np.float32(-0.16307451)
    y = y * x + np.float32(0.19784345)
    y = y * x + np.float32(-0.2501434)
    y = y * x + np.float32(0.33338043)
    y = y * x + np.float32(-0.49999833)
    return y * x * x + x + np.float32(e) * np.float32(8.262958405176314e-08)  # ln 2 / 2^23


@njit(forceinline=True, fastmath=True, error_model="numpy")
def _laplace(word):
    """A standard Laplace variable from 32 random bits: the lowest is the sign, the others give −ln u."""
    bits = np.float32(-_log(_unit(word))).view(np.int32)
    return np.int32(bits ^ np.int32(word << np.uint32(31))).view(np.float32)


@njit(forceinline=True, fastmath=True, error_model="numpy")
def _normals(a, b):
    """Two normal variables from two words, by Box and Muller: an angle in a quarter circle, and two signs."""
    radius = np.sqrt(np.float32(-2.0) * _log(_unit(a)))
    angle = np.float32(np.int32(b >> np.uint32(2))) * np.float32(math.pi / 2**31)
    z = angle * angle
    sine = np.float32(-1 / 39916800)
    sine = sine * z + np.float32(1 / 362880)
    sine = sine * z + np.float32(-1 / 5040)
    sine = sine * z + np.float32(1 / 120)
    sine = sine * z + np.float32(-1 / 6)
    sine = (sine * z + np.float32(1.0)) * angle
    cosine = np.float32(1 / 479001600)
    cosine = cosine * z + np.float32(-1 / 3628800)
    cosine = cosine * z + np.float32(1 / 40320)
    cosine = cosine * z + np.float32(-1 / 720)
    cosine = cosine * z + np.float32(1 / 24)
    cosine = cosine * z + np.float32(-1 / 2)
    cosine = cosine * z + np.float32(1.0)
    x = radius * cosine
    y = radius * sine
    return (x if b & np.uint32(1) else -x), (y if b & np.uint32(2) else -y)


@njit
def _sum_of_laplaces(count, draw, key):
    """Σ of ``count`` Laplace variables, which is √(2 Gamma(count)) · normal; any count > 0, whole or not.

    Gamma by Marsaglia and Tsang (2000): d (1 + w)³ for w = normal/√(9d), accepted with probability
    exp(3d (ln(1 + w) − w + w²/2 − w³/3)); below 1 by Gamma(count) = Gamma(count + 1) u^(1/count).
    """
    d = count + (1.0 if count < 1 else 0.0) - 1 / 3
    block = 0
    while True:
        block += 1
        a, b, c, e = _philox(block, draw, key)
        x, y = _normals(a, b)
        w = x / math.sqrt(9 * d)
        if w > -1 and math.log(_unit(c)) < 3 * d * (math.log1p(w) - w + w * w / 2 - w * w * w / 3):
            gamma = d * (1 + w) ** 3 * (_unit(e) ** (1 / count) if count < 1 else 1.0)
            return math.sqrt(2 * gamma) * y


@njit(fastmath=True, error_model="numpy")
def _sums_of_laplaces(out, sure, count, start, key):
    """One sum of ``count`` Laplace variables per lane.

    ln(1 + w) − w + w²/2 − w³/3 ≥ −w⁴/(4 (1 − |w|)), so nearly all of the first proposals are accepted without its
    logarithm, in a loop that vectorises; the others are left to the loop that can go on.
    """
    d = np.float32(count - 1 / 3)
    rate = np.float32(1 / math.sqrt(9 * max(count - 1 / 3, 0.01)))
    for i in range(LANES):
        a, b, c, _ = _philox(1, start + i, key)
        x, y = _normals(a, b)
        w = rate * x
        out[i] = np.sqrt(np.float32(2.0) * d * abs((np.float32(1.0) + w) ** 3)) * y
        far = np.float32(0.75) * d * w * w * w * w
        sure[i] = np.int32((np.float32(1.0) - _unit(c)) * (np.float32(1.0) - abs(w)) > far)
    for i in range(LANES):
        if count < 1 or not sure[i]:
            out[i] = _sum_of_laplaces(count, start + i, key)


@njit(fastmath=True, error_model="numpy")
def _pass_cut(words, passed, best, since, up, down, step):
    """Add the noise of one person to what the people from here on bear, and compare the two hypotheses at their cut.

    ``since`` is the last step at which ``best`` fell. Steps only grow, so the larger of two is the later.
    """
    for i in range(LANES):
        passed[i] += _laplace(words[i])
    for i in range(LANES):
        value, least = up + passed[i], best[i]
        since[i] = max(since[i], step if value < least else np.int32(0))
        best[i] = min(value, least)
        value, least = down - passed[i], best[LANES + i]
        since[LANES + i] = max(since[LANES + i], step if value < least else np.int32(0))
        best[LANES + i] = min(value, least)


@njit(cache=True, nogil=True)
def threshold_perturbed_leaders(losses, scale, seed, t, padding, first, start, leaders):
    """The minimiser of L_f/scale + Σ_{x ∈ S} ξ_x f(x) for the draws ``start``, ``start + 1``, …, into ``leaders``.

    S is the staircase, ξ Laplace noise. Person 0 of it passed no cut and bears the sum of ``padding`` more Laplace
    variables; person 1 + c passed the cuts of c's column up to c, and none of the others. The noise is a function of
    (seed, t, draw, person) alone, so draws may be split among threads at multiples of LANES: the answer stays the same.

    One walk down the cuts of each column: ``passed`` is the noise of all who passed it. So 1[x >= c] bears it and
    1[x < c] bears what is left of the total, which is known in the end: it is the same for all of them.
    """
    low = losses.min()
    relative = np.empty(len(losses), np.float32)
    for f in range(len(losses)):
        relative[f] = np.float32(min((losses[f] - low) / scale, 1e30))
    key, M = philox_key(seed, t), first[-1]
    state, words = np.empty(4 * LANES, np.uint32), np.empty(LANES, np.uint32)
    total, passed, best = np.empty(LANES, np.float32), np.empty(LANES, np.float32), np.empty(2 * LANES, np.float32)
    since = np.empty(2 * LANES, np.int32)
    for begin in range(0, len(leaders), LANES):
        _seeded(state, start + begin, key)
        total[:] = np.float32(0.0)
        if padding > 0:
            _sums_of_laplaces(total, since, padding, start + begin, key)
        best[:LANES], best[LANES:], since[:] = relative[0], relative[1], 0  # the constants, at no step
        for j in range(len(first) - 2, -1, -1):
            passed[:] = np.float32(0.0)
            for cut in range(first[j + 1] - 1, first[j] - 1, -1):
                _next_words(state, words)
                _pass_cut(words, passed, best, since, relative[2 + cut], relative[2 + M + cut], np.int32(M - cut))
            for i in range(LANES):
                total[i] += passed[i]
        _next_words(state, words)
        for i in range(min(LANES, len(leaders) - begin)):
            if best[i] <= best[LANES + i] + (total[i] + _laplace(words[i])):
                leaders[begin + i] = 2 + M - since[i] if since[i] > 0 else 0
            else:
                leaders[begin + i] = 2 + 2 * M - since[LANES + i] if since[LANES + i] > 0 else 1


@njit(cache=True)
def laplace_noise(points, draws, seed, t):
    """(points, draws) of the very noise that perturbed leaders get; for the tests, and for whoever wants to see it."""
    key = philox_key(seed, t)
    state, words = np.empty(4 * LANES, np.uint32), np.empty(LANES, np.uint32)
    out = np.empty((points, LANES * ((draws + LANES - 1) // LANES)), np.float32)
    for start in range(0, draws, LANES):
        _seeded(state, start, key)
        for point in range(points - 1, -1, -1):  # the walk ends at person 0
            _next_words(state, words)
            for i in range(LANES):
                out[point, start + i] = _laplace(words[i])
    return out[:, :draws]


@njit(cache=True)
def padding_noise(count, draws, seed, t):
    """The padding of the first draws: sums of ``count`` Laplace variables."""
    key, sure = philox_key(seed, t), np.empty(LANES, np.int32)
    out = np.empty(LANES * ((draws + LANES - 1) // LANES), np.float32)
    for start in range(0, draws, LANES):
        _sums_of_laplaces(out[start : start + LANES], sure, count, start, key)
    return out[:draws]
