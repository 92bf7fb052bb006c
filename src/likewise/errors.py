"""The errors that Likewise raises on purpose: one base, a handful of names.

Every message is one sentence that names the argument, what it must be, and what it got.
"""

from __future__ import annotations

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
