"""Numbers as people write them in CSV files: 3,713 and 12,5, read only where it is certain what is meant.

Between commas or tabs a comma inside a number groups thousands: 3,713 is 3713. Between semicolons it may be either, as
files of many countries write 12,5 for twelve and a half; a column settles it by one number that can be read in only
one way, like 12,5 or 1,234,567. A column where nothing is certain stays text: a number that is wrong by a
factor of a thousand would be worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_THOUSANDS = re.compile(r"[-+]?([1-9]\d{0,2}(,\d{3})+|\d+)(\.\d+)?")
_DECIMALS = re.compile(r"[-+]?([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d+)?")


def plain(texts: Iterable[str], separator: str) -> dict[str, str] | None:
    """Each text as a plain number, for texts of one column of a file; None if it isn't certain that all are numbers.

    Examples
    --------
    >>> plain(["3,713", "950"], ",")
    {'3,713': '3713', '950': '950'}
    >>> plain(["3,713", "950,5"], ";")
    {'3,713': '3.713', '950,5': '950.5'}
    >>> plain(["3,713", "950"], ";") is None
    True
    """
    stripped = {text: text.strip() for text in texts}
    thousands = [_THOUSANDS.fullmatch(text) is not None for text in stripped.values()]
    decimals = [_DECIMALS.fullmatch(text) is not None for text in stripped.values()]
    if all(thousands) and (separator != ";" or not all(decimals)):
        return {text: number.replace(",", "") for text, number in stripped.items()}
    if separator == ";" and all(decimals) and not all(thousands):
        return {text: number.replace(".", "").replace(",", ".") for text, number in stripped.items()}
    return None


def with_numbers(people: Any, separator: str) -> Any:
    """A pandas dataframe of a CSV file, with numbers where a column of text holds nothing but numbers with commas."""
    from pandas.api.types import infer_dtype

    for name in people.columns:
        column = people[name]
        texts = column.dropna().unique() if infer_dtype(column, skipna=True) == "string" else ()
        if any("," in text for text in texts) and (numbers := plain(texts, separator)) is not None:
            people[name] = column.map(numbers).astype(float)
    return people
