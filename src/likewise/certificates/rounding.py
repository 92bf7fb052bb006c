"""Rounding a limit away from what it claims, so that the printed number is proved too."""

from __future__ import annotations

import math


def at_most(value: float, digits: int = 0) -> str:
    """A number rounded up.

    Examples
    --------
    >>> at_most(0.0738, 3), at_most(12.01)
    ('0.074', '13')
    """
    return f"{math.ceil(round(value * 10**digits, 9)) / 10**digits:,.{digits}f}"


def at_least(value: float, digits: int = 0) -> str:
    """A number rounded down."""
    return f"{math.floor(round(value * 10**digits, 9)) / 10**digits:,.{digits}f}"
