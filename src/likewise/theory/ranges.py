"""Where the theorems hold: one range per argument, so that what lies outside gets a sentence, not a wrong number."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

from likewise.errors import require, require_number, require_whole


def _share(value: Any, name: str) -> None:
    """A measured share may leave [0, 1] by rounding."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    require(number and -1e-9 <= value <= 1 + 1e-9, name, "be in [0, 1]", value)


def _draws(value: Any, name: str) -> None:
    """Infinitely many draws are the law itself."""
    if not (isinstance(value, float) and value == math.inf):
        require_whole(value, name)


def _limit(value: Any, name: str) -> None:
    """An upper limit may be infinite, where its theorem is silent."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    require(number and not math.isnan(value), name, "be a number", value)


_at_least_0 = partial(require_number, low=0)
_positive = partial(require_number, low=0, open_at="low")
_count = partial(require_whole, low=0)

RANGES: dict[str, Callable[[Any, str], None]] = {
    **dict.fromkeys(("T", "N", "n", "shown"), require_whole),
    **dict.fromkeys(("rounds", "reports", "flagged"), _count),
    **dict.fromkeys(("k", "c", "first", "omega", "rate", "rho"), _positive),
    **dict.fromkeys(("C", "eta", "floor", "growth", "kappa", "u", "gamma", "penalties_paid"), _at_least_0),
    **dict.fromkeys(("entropy", "start", "forgotten", "largest", "sum_of_squares"), _at_least_0),
    **dict.fromkeys(("violations", "sum_of_betas", "sum_of_squared_ranges", "sum_of_squared_norms"), _at_least_0),
    **dict.fromkeys(("lagrangian_regret", "regret", "reduced_regret", "normalised_regret"), _limit),
    **dict.fromkeys(("best", "error_per_person", "violating_share"), _share),
    "E": _draws,
    "alpha": partial(require_number, low=0, high=1, open_at="low"),
    "forget": partial(require_number, low=0, high=1, open_at="high"),
    "beta": partial(require_number, low=0, high=1),
    "delta": partial(require_number, low=0, high=1, open_at="low high"),
    "epsilon": partial(require_number, low=0, high=1),
}


def within(**arguments: Any) -> None:
    """Check each argument against the range of its name.

    Examples
    --------
    >>> within(T=2000, k=6, N=2**64, alpha=5)
    Traceback (most recent call last):
    ...
    likewise.errors.InvalidParameter: `alpha` must be in (0, 1], got 5.
    """
    for name, value in arguments.items():
        RANGES[name](value, name)


def two_hypotheses(N: Any) -> None:
    """With one hypothesis there is nothing to learn, and ln N = 0 is no rate: ``one_hypothesis()`` has its bound."""
    require_whole(N, "N", 2)
