"""Exponentials and logarithms of our own: branch-free, so that loops over them vectorise; the same on every machine.

A library's ``exp`` and ``log`` promise no last bit: they differ by version and by processor. These are sums, products
and quotients alone, each rounded as IEEE 754 says, in an order that is written here. A product and a sum are rounded
once where ``fma`` is written and twice everywhere else: nothing here or in the loops around has fast-math.
``likewise.theory.elementary`` has ``exp``, ``log`` and ``log1p`` in plain Python, bit by bit, for the numbers that a
learner is set up with. Weights take ``power`` and ``expm1``, whose steps are fused: a third faster.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from likewise.kernels.lanes import fma


@njit(error_model="numpy")
def _parts(x):
    """(q, 2^n) with e^x = 2^n (1 + q), for −680 ≤ x ≤ 680.

    x = n ln 2 + r with |r| ≤ ½ ln 2, and q = e^r − 1 = r + r²/2 + r³ g(r). g has degree 9 and is exact at Chebyshev's
    points: what is left out is below 2^−59.
    """
    # Adding 1.5 · 2^52 rounds to a whole number and leaves it in the lowest bits, here as the exponent of 2^n.
    shifted = x * 1.4426950408889634 + (6755399441055744.0 + 1023.0)
    n = shifted - (6755399441055744.0 + 1023.0)
    r = x - n * 0.693147180369123816490
    r = r - n * 1.90821492927058770002e-10
    # In pairs, by Estrin, as a chain of twelve products would leave the processor waiting.
    r2 = r * r
    r4 = r2 * r2
    low = (0.16666666666666669 + 0.041666666666666664 * r) + (0.008333333333330063 + 0.0013888888888886554 * r) * r2
    mid = (0.00019841269863042963 + 2.4801587317136892e-05 * r) + (
        2.7557268476553695e-06 + 2.75572829813734e-07 * r
    ) * r2
    high = 2.5100377619606372e-08 + 2.091123100592285e-09 * r
    g = low + (mid + high * r4) * r4
    q = r + (0.5 * r2 + (r * r2) * g)
    bits = np.float64(shifted).view(np.int64) << np.int64(52)
    return q, np.int64(bits).view(np.float64)


@njit(error_model="numpy")
def exp(x):
    """e^x for −680 ≤ x ≤ 680, within a unit in the last place."""
    q, scale = _parts(x)
    return (q + 1.0) * scale


@njit(error_model="numpy")
def _fused_parts(x):
    """As ``_parts``, with fused steps."""
    shifted = fma(x, 1.4426950408889634, 6755399441055744.0 + 1023.0)
    n = shifted - (6755399441055744.0 + 1023.0)
    r = fma(n, -1.90821492927058770002e-10, fma(n, -0.693147180369123816490, x))
    r2 = r * r
    r4 = r2 * r2
    low = fma(
        fma(0.0013888888888886554, r, 0.008333333333330063), r2, fma(0.041666666666666664, r, 0.16666666666666669)
    )
    mid = fma(
        fma(2.75572829813734e-07, r, 2.7557268476553695e-06), r2, fma(2.4801587317136892e-05, r, 0.00019841269863042963)
    )
    high = fma(2.091123100592285e-09, r, 2.5100377619606372e-08)
    g = fma(fma(high, r4, mid), r4, low)
    q = r + fma(r * r2, g, 0.5 * r2)
    bits = np.float64(shifted).view(np.int64) << np.int64(52)
    return q, np.int64(bits).view(np.float64)


@njit(error_model="numpy")
def power(x):
    """e^x for −680 ≤ x ≤ 680, within a unit in the last place: the exponential of weights."""
    q, scale = _fused_parts(x)
    return (q + 1.0) * scale


@njit(error_model="numpy")
def expm1(x):
    """e^x − 1 for −680 ≤ x ≤ 680, with all its digits also where it is close to 0."""
    q, scale = _fused_parts(x)
    return fma(q, scale, scale - 1.0)


@njit(error_model="numpy")
def log(x):
    """ln x of a positive normal number, within a unit in the last place.

    x = 2^n (1 + f) with √½ ≤ 1 + f < √2; ln(1 + f) by an odd polynomial in f/(2 + f), as in fdlibm.
    """
    bits = np.float64(x).view(np.int64) - np.int64(0x3FE6A09E00000000)
    whole = bits >> np.int64(52)
    mantissa = (bits & np.int64(0x000FFFFFFFFFFFFF)) + np.int64(0x3FE6A09E00000000)
    f = np.int64(mantissa).view(np.float64) - 1.0
    # A whole number in the lowest bits of 1.5 · 2^52, as processors are slow to turn integers into floats.
    n = np.int64(whole + np.int64(0x4338000000000000)).view(np.float64) - 6755399441055744.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = z * (
        0.6666666666666735130 + w * (0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591))
    )
    even = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332))
    half = 0.5 * f * f
    return n * 6.93147180369123816490e-01 - ((half - (s * (half + (odd + even)) + n * 1.90821492927058770002e-10)) - f)


@njit(error_model="numpy")
def log1p(x):
    """ln(1 + x) for x > −1 with 1 + x a normal number, with all its digits also where it is close to 0."""
    whole = 1.0 + x
    return log(whole) + (x - (whole - 1.0)) / whole  # what 1 + x has lost, to first order
