"""Numbers in sentences: as people write them, with their nouns, and limits rounded so that they stay true."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from numbers import Real
from typing import Any


def number(value: float | str | None, digits: int = 4) -> str:
    """A number as people write it; any other value as it is.

    Examples
    --------
    >>> number(40.0), number(0.123456), number(48842), number("Sales"), number(None)
    ('40', '0.1235', '48,842', 'Sales', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    return f"{value:,.{digits}g}" if abs(value) < 1e4 else f"{value:,.0f}"


def plural(count: float, noun: str, nouns: str = "") -> str:
    """A count with its noun.

    Examples
    --------
    >>> plural(1, "round"), plural(2000, "round"), plural(2, "person", "people")
    ('1 round', '2,000 rounds', '2 people')
    """
    return f"{number(count)} {noun if count == 1 else nouns or noun + 's'}"


def percent(share: float) -> str:
    """A share in percent, with two digits; a tiny one is not called none.

    Examples
    --------
    >>> percent(0.1783), percent(1e-6), percent(0.0)
    ('17.83%', '<0.01%', '0')
    """
    return "0" if share == 0 else "<0.01%" if share < 5e-5 else f"{100 * share:.2f}%"


def at_most(value: float, digits: int = 0) -> str:
    """An upper limit, rounded up so that the printed number is still proved.

    Examples
    --------
    >>> at_most(0.0738, 3), at_most(12.01)
    ('0.074', '13')
    """
    return f"{math.ceil(round(value * 10**digits, 9)) / 10**digits:,.{digits}f}"


def at_least(value: float, digits: int = 0) -> str:
    """A lower limit, rounded down.

    Examples
    --------
    >>> at_least(0.0738, 3), at_least(12.99)
    ('0.073', '12')
    """
    return f"{math.floor(round(value * 10**digits, 9)) / 10**digits:,.{digits}f}"


def written(value: Any, digits: int = 10) -> str:
    """A value of a file as one would write it down: whole numbers in full, a dash for what is missing.

    Examples
    --------
    >>> written(1234.5), written(-0.4104467197, 6), written(1e6), written(float("nan")), written("own"), written(True)
    ('1,234.5', '-0.410447', '1,000,000', '–', 'own', 'True')
    """
    if value is None or value != value:
        return "–"
    if not isinstance(value, Real) or isinstance(value, bool):
        return str(value)
    whole = math.isfinite(value) and float(value).is_integer()
    return f"{float(value):,.0f}" if whole or abs(value) >= 10**digits else f"{float(value):,.{digits}g}"


def columns_for(named: Sequence[Any], columns: Sequence[Any], most: int = 15) -> str:
    """The columns there are, for whoever named one that isn't among them: all of a few, of many the most alike.

    Examples
    --------
    >>> columns_for(["aprove"], ["approve", "income"])
    "columns ['approve', 'income']"
    >>> columns_for(["aprove"], ["approve", *(f"x{place}" for place in range(40))])
    "41 columns (the most alike: 'approve')"
    """
    if len(columns) <= most:
        return f"columns {list(columns)}"
    by_lower = {str(column).lower(): column for column in columns}
    alike = [by_lower[near] for name in named for near in difflib.get_close_matches(str(name).lower(), by_lower, n=1)]
    some = ", ".join(map(repr, alike or columns[:most]))
    return f"{len(columns)} columns ({f'the most alike: {some}' if alike else f'{some}, …'})"


def joined(words: Sequence[str], last: str = "and") -> str:
    """Words in a row.

    Examples
    --------
    >>> joined(["age"]), joined(["age", "hours"]), joined(["own", "rent", "family"], "or")
    ('age', 'age and hours', 'own, rent or family')
    """
    return f" {last} ".join(part for part in (", ".join(words[:-1]), words[-1] if words else "") if part)
