"""The errors that Likewise raises on purpose: one base, a handful of names.

Every message is one sentence that names the argument, what it must be, and what it got.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any


class LikewiseError(Exception):
    """Base of every error that Likewise raises on purpose."""


class InvalidParameter(LikewiseError, ValueError):
    """An argument is out of its range."""


class NotSupported(LikewiseError, TypeError):
    """Two parts that can't work together, by a theorem or by construction."""


class ReportRefused(LikewiseError, ValueError):
    """A report that can't be true: its gap is no larger than the level reported at."""


class ModelMismatch(LikewiseError, ValueError):
    """The models given on loading are not the ones that were saved."""


class DataUnavailable(LikewiseError, OSError):
    """A data set could not be found, downloaded or verified."""


class CheckFailed(LikewiseError, AssertionError):
    """A conformance check found a broken promise."""


def require(holds: bool, name: str, must: str, got: Any) -> None:
    """Raise the one-sentence error unless ``holds``.

    Examples
    --------
    >>> require(1.7 <= 1, "alpha", "be in [0, 1]", 1.7)
    Traceback (most recent call last):
    ...
    likewise.errors.InvalidParameter: `alpha` must be in [0, 1], got 1.7.
    """
    if not holds:
        raise InvalidParameter(f"`{name}` must {must}, got {got!r}.")


def require_number(value: Any, name: str, low: float, high: float = math.inf, *, open_at: str = "") -> None:
    """Raise unless ``value`` is a finite number from ``low`` to ``high``; ``open_at`` leaves out "low", "high" or both.

    Examples
    --------
    >>> require_number("0.1", "alpha", 0, 1, open_at="low")
    Traceback (most recent call last):
    ...
    likewise.errors.InvalidParameter: `alpha` must be in (0, 1], got '0.1'.
    """
    above, below = "low" in open_at, "high" in open_at
    number = isinstance(value, Real) and not isinstance(value, bool) and _finite(value)
    enough = number and (low < value if above else low <= value)
    if enough and (value < high if below else value <= high):
        return  # the words take longer than the check
    if math.isinf(high):
        must = "be positive" if above and low == 0 else f"be at least {low:g}"
    else:
        must = f"be in {'(' if above else '['}{low:g}, {high:g}{')' if below else ']'}"
    require(False, name, must, value)


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def require_whole(value: Any, name: str, low: int = 1) -> None:
    """Raise unless ``value`` is a whole number, at least ``low``."""
    fits = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= low
    require(fits, name, f"be a whole number, at least {low}", value)
