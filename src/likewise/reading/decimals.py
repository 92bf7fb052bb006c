"""Numbers as people write them: the shortest decimal in an interval, and its spelling."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

GROUPED = 10_000
"""From here on thousands are grouped: 9500, but 12,000."""


def shortest(low: float, high: float, near: float) -> Decimal:
    """The decimal with the fewest places that reads as a float in [low, high]; of several, the nearest to ``near``.

    Examples
    --------
    >>> shortest(34.79, 34.81, 34.8), shortest(31.0, 36.5, 35.2), shortest(0.1, 0.1, 0.1)
    (Decimal('34.8'), Decimal('35'), Decimal('0.1'))
    """
    # A decimal reads as the nearest float: a little less than half of the way to the next one is still this one.
    lowest = Fraction(low) - (Fraction(low) - Fraction(math.nextafter(low, -math.inf))) * 49 / 100
    highest = Fraction(high) + (Fraction(math.nextafter(high, math.inf)) - Fraction(high)) * 49 / 100
    places = -len(str(int(abs(highest) + abs(lowest)))) - 1
    while True:
        unit = Fraction(10) ** places
        first, last = math.ceil(lowest * unit), math.floor(highest * unit)
        if first <= last:
            nearest = min(max(round(Fraction(near) * unit), first), last)
            return _plain(Decimal(nearest).scaleb(-places))
        places += 1


def as_decimal(value: float) -> Decimal:
    """A number from a file, with no more digits than it takes to tell it from its neighbours.

    A file of single precision holds 34.8 as 34.79999924; it is 34.8 all the same.

    Examples
    --------
    >>> as_decimal(34.79999923706055), as_decimal(0.1), as_decimal(40.0)
    (Decimal('34.8'), Decimal('0.1'), Decimal('40'))
    """
    # Above the largest single, the cast would only warn.
    single = abs(value) < 3e38 and float(np.float32(value)) == value
    return _plain(Decimal(str(np.float32(value)) if single else repr(float(value))))


def brief(value: float) -> str:
    """A person's own value: whole numbers in full, others with up to six digits.

    Examples
    --------
    >>> brief(0.29642285776231825), brief(48842.0), brief(34.8)
    ('0.296423', '48,842', '34.8')
    """
    return written(value if value == round(value) else Decimal(f"{value:.6g}"))


def digits(value: Decimal) -> int:
    """How many figures it takes to write a decimal.

    Examples
    --------
    >>> digits(Decimal("34.8")), digits(Decimal("25000")), digits(Decimal("-0.0012"))
    (3, 2, 2)
    """
    return len(value.normalize().as_tuple().digits)


def written(value: Decimal | float) -> str:
    """A decimal in full, with grouped thousands.

    Examples
    --------
    >>> written(Decimal("34.8")), written(1987.0), written(25000.0), written(-0.5)
    ('34.8', '1987', '25,000', '−0.5')
    """
    number = value if isinstance(value, Decimal) else as_decimal(value)
    text = f"{abs(number):,f}" if abs(number) >= GROUPED else f"{abs(number):f}"
    return f"−{text}" if number < 0 else text


def _plain(value: Decimal) -> Decimal:
    """Without trailing zeros or an exponent: 2E+4 is 20000."""
    whole = value == value.to_integral_value()
    return value.quantize(Decimal(1)) if whole and abs(value) < 10**27 else value.normalize()
