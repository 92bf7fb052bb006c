"""What all checks have in common: a promise holds, or ``CheckFailed`` names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from likewise.errors import CheckFailed

SEED = 20200205


def expect(holds: Any, promise: str) -> bool:
    """True, or ``CheckFailed`` with the promise that is broken."""
    if not holds:
        raise CheckFailed(f"Broken promise: {promise}.")
    return True


def close(a: Any, b: Any) -> bool:
    """The same numbers up to rounding."""
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True))


def passed(checks: list[tuple[str, Callable[[], bool]]]) -> list[str]:
    """The names of the checks that ran: a check says whether there was anything to check."""
    return [name for name, check in checks if check()]


def same(a: Any, b: Any) -> bool:
    """Two states (NamedTuples or mappings of arrays and numbers) hold the same numbers, bit for bit."""
    first, second = (dict(s) if isinstance(s, dict) else s._asdict() for s in (a, b))
    return first.keys() == second.keys() and all(np.array_equal(first[n], second[n]) for n in first)


def is_json(data: Any) -> bool:
    """Plain JSON values, which come back as they were."""
    try:
        return bool(json.loads(json.dumps(data)) == data)
    except TypeError:
        return False
