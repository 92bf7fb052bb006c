"""Values that mean another than they are: numbers like 999 in the place of nothing, and one level in several spellings.

A code for a missing value is a number of nines far above all others, or the only negative number and one of nines. A
level is spelled in several ways if its texts differ in case or spaces only. Both are questions. ``likewise data FILE
--fix COPY`` mends both: codes become missing, and of several spellings the most frequent one is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise.datasets.columns import Column, numbers
from likewise.datasets.doctor.finding import Finding, several
from likewise.protocol import Floats
from likewise.wording import joined, plural, written

_NINES = re.compile(r"9{3,}|-9{2,}|-9")
FEWEST = 5
"""Other numbers that a column must have to hold a code like 999: of a few, each stands apart."""
APART = 3
"""How many times wider than everything else its gap is. The top code 99,999 of Adult's capital gains has 1.4."""


def code_for_missing(floats: Floats) -> float | None:
    """The number that seems to stand for "missing", if there is one.

    Examples
    --------
    >>> code_for_missing(np.array([*range(18, 60), 999.0])), code_for_missing(np.arange(900.0, 1000.0))
    (999.0, None)
    >>> code_for_missing(np.array([*range(30), -99.0])), code_for_missing(np.array([*range(-50, 50), -99.0]))
    (-99.0, None)
    """
    present = np.unique(floats[~np.isnan(floats)])
    if len(present) < 3:
        return None
    lowest, highest = present[0], present[-1]
    if _is_nines(lowest) and lowest < 0 <= present[1]:
        return float(lowest)
    apart = highest - present[-2] > APART * (present[-2] - lowest) and len(present) > FEWEST
    return float(highest) if _is_nines(highest) and apart else None


def _is_nines(value: float) -> bool:
    return _NINES.fullmatch(f"{np.trunc(value):.0f}") is not None


def of_codes(columns: Sequence[tuple[Column, Any]], rows: int) -> list[Finding]:
    """Columns of numbers with a code for missing values."""
    findings = []
    for column, values in columns:
        floats = numbers(values, column.name) if column.kind == "number" else np.empty(0)
        code = code_for_missing(floats)
        if code is None:
            continue
        others = floats[(floats != code) & ~np.isnan(floats)]
        count = plural(int((floats == code).sum()), "row")
        between = f"from {written(others.min())} to {written(others.max())}"
        sentence = (
            f"{column.name} is {written(code)} in {count} of {rows:,} and else {between}: that looks like a code for "
            "missing values, but it is read as a number."
        )
        findings.append(Finding("written", (column.name,), sentence, "--fix"))
    return findings


def one_spelling(values: Any) -> dict[str, str]:
    """Each text of a column that is another in case or spaces only, and the most frequent spelling of the two.

    Examples
    --------
    >>> import pyarrow as pa
    >>> one_spelling(pa.array(["Boston", "boston ", "Boston", "Rome"]))
    {'boston ': 'Boston'}
    """
    counts = Counter(text for text in values.to_pylist() if text is not None)
    together: dict[str, list[str]] = {}
    for text, _ in counts.most_common():  # the most frequent first, so it is the one that is kept
        together.setdefault(" ".join(text.casefold().split()), []).append(text)
    return {other: first for first, *others in together.values() for other in others}


def of_spellings(columns: Sequence[tuple[Column, Any]]) -> list[Finding]:
    """Categories with levels in several spellings."""
    findings = []
    for column, values in columns:
        if column.kind != "category" or str(values.type) != "large_string":
            continue
        kept = one_spelling(values)
        if kept:
            shown = [joined([repr(first), *(repr(text) for text in kept if kept[text] == first)])
                     for first in dict.fromkeys(kept.values())]  # fmt: skip
            sentence = (
                f"{column.name} has {several(tuple(shown), 2)}, which differ only in case or spaces: they are read as "
                "different levels."
            )
            findings.append(Finding("written", (column.name,), sentence, "--fix"))
    return findings


def in_one_spelling(kind: str, values: Any) -> list[Any] | None:
    """The values of a column of this kind as a copy of the file would have them; None if nothing changes."""
    if kind == "category" and str(values.type) == "large_string":
        kept = one_spelling(values)
        return [kept.get(text, text) for text in values.to_pylist()] if kept else None
    floats = numbers(values, "column") if kind == "number" else np.empty(0)
    code = code_for_missing(floats)
    return None if code is None else np.where(floats == code, np.nan, floats).tolist()
