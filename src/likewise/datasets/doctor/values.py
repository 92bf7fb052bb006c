"""How values are written: numbers with a unit or with a stray word among them, and dates.

One ``abc`` among thousands of ages turns the ages into a category, and with it the distance of a simulated reviewer.
What can be read in only one way can be mended in a copy of the file (``likewise data FILE --fix COPY``): percentages,
money and thousands become plain numbers, and a stray word becomes a missing value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.datasets.columns import FEW, Column, are_dates, arrow, infinite, inspect, levels, opened, texts
from likewise.datasets.doctor.finding import Finding, several
from likewise.datasets.doctor.spellings import in_one_spelling
from likewise.wording import joined, plural

STRAY = 3
"""A column of numbers has at most this many different words among them; with more they may be codes, like V57."""
RARE = 0.1
"""At most this part of the rows of a column of numbers holds something else."""
_AMOUNT = re.compile(
    r"(?P<open>\()?(?P<sign>[-+−])?\s*(?P<before>[$€£¥]|USD|EUR|GBP|CHF)?\s*(?P<inner>[-+−])?"
    r"(?P<digits>[1-9]\d{0,2}(?:(?P<group>[,' ’\u00a0\u202f])\d{3})(?:(?P=group)\d{3})*(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"\s*(?P<after>[$€£¥%kK]|USD|EUR|GBP|CHF)?(?P<close>\))?"
)


_COMMAS = str.maketrans(".,", ",.")


@dataclass(frozen=True)
class Amounts:
    """A column of text that is a column of numbers.

    Attributes
    ----------
    numbers
        Each text that is a number, and which; the number of a percentage is in percent.
    stray
        The texts that are none, and how many rows have each.
    forms
        How numbers are written other than plainly: ``"percentages"``, ``"money"``, ``"thousands"``; each with the first
        example.
    first
        The first row, from 1, with a stray text.
    """

    numbers: dict[str, float]
    stray: dict[str, int]
    forms: dict[str, str]
    first: int = 0


def amount(text: str) -> tuple[float, str] | None:
    """A number as people write it, and its form; nothing if it can't be one or may be read in two ways.

    Examples
    --------
    >>> amount("$3,713.50"), amount("12 %"), amount("(250)"), amount("-7"), amount("abc"), amount("12k")
    ((3713.5, 'money'), (12.0, 'percentages'), (-250.0, 'money'), (-7.0, ''), None, (12000.0, 'thousands'))
    """
    parts = _AMOUNT.fullmatch(text.strip())
    if parts is None or bool(parts["open"]) != bool(parts["close"]) or (parts["before"] and parts["after"]):
        return None
    group, unit = parts["group"], parts["before"] or parts["after"] or ""
    number = float(parts["digits"].replace(group, "") if group else parts["digits"])
    minus = parts["open"] or {parts["sign"], parts["inner"]} & {"-", "−"}
    form = "percentages" if unit == "%" else "thousands" if unit in ("k", "K") else "money" if unit else ""
    number *= 1000 if form == "thousands" else 1
    return (-number if minus else number), form or ("money" if parts["open"] else "thousands" if group else "")


def _read(listed: list[str], separator: str = "") -> dict[str, tuple[float, str] | None]:
    """Each text as a number, if it is one: all with a decimal point, or all with a decimal comma if more are so read.

    Between semicolons a comma may be either, so that nothing is a number if both readings fit equally well.

    Examples
    --------
    >>> _read(["1.250,50 €", "980,25 €"])
    {'1.250,50 €': (1250.5, 'money'), '980,25 €': (980.25, 'money')}
    >>> _read(["1,250 €"]), _read(["1,250 €"], ";")
    ({'1,250 €': (1250.0, 'money')}, {'1,250 €': None})
    """
    points = {text: amount(text) for text in listed}
    commas = {text: amount(text.translate(_COMMAS)) for text in listed}
    more = [sum(found is not None for found in read.values()) for read in (points, commas)]
    if separator == ";" and more[0] == more[1] and points != commas:
        return dict.fromkeys(listed)
    return points if more[0] >= more[1] else commas


def amounts(values: Any, separator: str = "") -> Amounts | None:
    """The numbers of a column of text, if it holds nothing else but a few stray words."""
    listed = texts(values).to_pylist()
    counts = Counter(text for text in listed if text is not None)
    read = _read(list(counts), separator)
    numbers = {text: found[0] for text, found in read.items() if found is not None}
    stray = {text: counts[text] for text, found in read.items() if found is None}
    forms: dict[str, str] = {}
    for text, found in read.items():
        if found is not None and found[1]:
            forms.setdefault(found[1], text)
    rare = sum(stray.values()) <= sum(counts.values()) * (RARE if len(numbers) > FEW else 0.01)
    if len(numbers) < 3 or len(stray) > STRAY or not rare or {"percentages", "money"} <= set(forms):
        return None
    first = next((row for row, text in enumerate(listed, 1) if text in stray), 0)
    return Amounts(numbers, stray, forms, first) if stray or forms else None


def of_values(columns: Sequence[tuple[Column, Any]], rows: int, separator: str = "") -> list[Finding]:
    """Columns of text that are numbers or dates; the separator is that of the fields of their file."""
    findings, dates = [], []
    for column, values in columns:
        if not _is_text(values):
            findings += _of_infinite(column, values, rows)
            continue
        numbers = amounts(values, separator)
        if numbers is not None:
            findings.append(Finding("written", (column.name,), _sentence(column, numbers, rows), "--fix"))
        elif are_dates(levels(values)):
            dates.append(column.name)
    if dates:
        verb = "holds dates and is" if len(dates) == 1 else "hold dates and are"
        advice = "turn them into numbers (an age, a number of days) to use them"
        findings.append(
            Finding("written", tuple(dates), f"{several(tuple(dates))} {verb} not used; {advice}.", noted=True)
        )
    return findings


def _of_infinite(column: Column, values: Any, rows: int) -> list[Finding]:
    """Infinite numbers, if they are the exception: a few make the whole column unusable."""
    places = infinite(values)
    if not 0 < len(places) <= RARE * len(values):
        return []
    count = f"{plural(len(places), 'row')} of {rows:,} (the first is row {places[0] + 1:,})"
    return [Finding("written", (column.name,), f"{column.name} is infinite in {count}, so it is not used.", "--fix")]


def _is_text(values: Any) -> bool:
    return str(values.type) == "large_string"


def _sentence(column: Column, numbers: Amounts, rows: int) -> str:
    read = "a category" if column.kind == "category" else "text, which is not used"
    parts = []
    if numbers.forms:
        parts.append(joined([f"{form} like {example!r}" for form, example in numbers.forms.items()]))
    if numbers.stray:
        stray = joined([repr(text) for text in numbers.stray])
        count = f"{plural(sum(numbers.stray.values()), 'row')} of {rows:,} (the first is row {numbers.first:,})"
        parts.append(f"{'numbers and ' if not numbers.forms else ''}{stray} in {count}")
    return f"{column.name} holds {' and '.join(parts)}, so it is read as {read}."


def mended(frame: Any) -> tuple[Any, list[str]]:
    """A copy of a pandas dataframe with plain numbers and one spelling in such columns, and the names of those changed.

    Examples
    --------
    >>> import pandas as pd
    >>> frame, names = mended(pd.DataFrame({"age": [*range(20, 60), *range(20, 60), "abc"], "home": "own"}))
    >>> names, frame["age"].tolist()[-2:]
    (['age'], [59.0, nan])
    """
    table, changed = opened(frame), []
    copy = frame.copy()
    for name in table.columns:
        plain = _plain(table, name, separator_of(frame))
        if plain is not None:
            copy[name] = plain
            changed.append(name)
    return copy, changed


def separator_of(frame: Any) -> str:
    """What separated the fields of the file that a dataframe was read from; empty if nobody knows."""
    return str(getattr(frame, "attrs", {}).get("separator", ""))


def _plain(table: Any, name: str, separator: str) -> list[Any] | None:
    """The values of a column as a copy of the file would have them; None if nothing changes."""
    values = arrow(table, name)
    if _is_text(values):
        numbers = amounts(values, separator)
        if numbers is not None:
            return [numbers.numbers.get(text, float("nan")) for text in texts(values).to_pylist()]
    elif 0 < len(infinite(values)) <= RARE * len(values):
        floats = np.array(values.to_numpy(zero_copy_only=False), dtype=float)
        return list(np.where(np.isinf(floats), np.nan, floats))
    return in_one_spelling(inspect(table, name).kind, values)
