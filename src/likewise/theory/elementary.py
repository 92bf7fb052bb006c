"""Exponentials and logarithms that are the same on every machine, for the few numbers that a learner is set up with.

A library's ``exp`` and ``log`` promise no last bit: they differ by version and by processor. These are the functions of
``likewise.kernels.elementary`` in plain Python, bit by bit. The loops there explain the numbers.
"""

from __future__ import annotations

import math
from functools import lru_cache

WHOLE = 6755399441055744.0
"""Adding 1.5 · 2^52 and taking it away again rounds to a whole number."""
HIGH, LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""ln 2 in two parts, the first with few digits so that its small multiples are exact."""


@lru_cache(maxsize=64)
def exp(x: float) -> float:
    """e^x for −680 ≤ x ≤ 680, within a unit in the last place.

    Examples
    --------
    >>> round(exp(1.0), 12)
    2.718281828459
    """
    n = (x * 1.4426950408889634 + (WHOLE + 1023.0)) - (WHOLE + 1023.0)
    r = (x - n * HIGH) - n * LOW
    r2 = r * r
    r4 = r2 * r2
    low = (0.16666666666666669 + 0.041666666666666664 * r) + (0.008333333333330063 + 0.0013888888888886554 * r) * r2
    mid = (0.00019841269863042963 + 2.4801587317136892e-05 * r) + (
        2.7557268476553695e-06 + 2.75572829813734e-07 * r
    ) * r2
    high = 2.5100377619606372e-08 + 2.091123100592285e-09 * r
    q = r + (0.5 * r2 + (r * r2) * (low + (mid + high * r4) * r4))
    return math.ldexp(q + 1.0, int(n))


@lru_cache(maxsize=64)
def log(x: float) -> float:
    """ln x of a positive normal number, within a unit in the last place.

    Examples
    --------
    >>> log(10.0)
    2.302585092994046
    """
    mantissa, n = math.frexp(x)
    if mantissa < 0.7071065902709961:  # √½ to the digits that the loops look at
        mantissa, n = 2.0 * mantissa, n - 1
    f = mantissa - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = z * (
        0.6666666666666735130 + w * (0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591))
    )
    even = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332))
    half = 0.5 * f * f
    return n * HIGH - ((half - (s * (half + (odd + even)) + n * LOW)) - f)


def log1p(x: float) -> float:
    """ln(1 + x) for x > −1, with all its digits also where it is close to 0."""
    whole = 1.0 + x
    return log(whole) + (x - (whole - 1.0)) / whole


def log_of_whole(N: int) -> float:
    """ln N of a whole number, however large.

    Examples
    --------
    >>> round(log_of_whole(2**64), 9), round(log_of_whole(2**6400), 9)
    (44.361419556, 4436.141955584)
    """
    beyond = max(0, N.bit_length() - 1000)
    return log(float(N >> beyond)) + beyond * log(2.0)
