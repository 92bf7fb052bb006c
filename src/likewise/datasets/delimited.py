"""Files of text, one person a line: which encoding, what stands between the fields, and lines that are too short."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from likewise.datasets.columns import needs
from likewise.datasets.written import with_numbers
from likewise.errors import InvalidParameter

SPACES = r"\s+"
"""The separator of a file whose fields stand apart by any number of spaces or tabs."""
SNIFFED = 5
"""How many lines must agree that spaces separate their fields."""
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
"""What a file begins with, if it says its encoding by itself."""


class ShortLine(NamedTuple):
    """A line with fewer fields than the first."""

    line: int
    fields: int
    expected: int

    def __str__(self) -> str:
        return f"line {self.line:,} has {self.fields} of {self.expected} fields"


def read_text(text: str) -> Any:
    """The people of a CSV file that came as text, as :func:`read_delimited` reads them; a short line is an error.

    Examples
    --------
    >>> read_text("income;debt\\n3000;12,5\\n2000;8,25\\n")["debt"].tolist()
    [12.5, 8.25]
    """
    comma = separator_of(io.StringIO(text))
    short = next(_short(io.StringIO(text), comma), None)
    if short is not None:
        raise InvalidParameter(f"`file` must have as many fields in every line as in the first, but {short}.")
    return _with_what_is_known(needs("pandas").read_csv(io.StringIO(text), sep=comma, low_memory=False), comma)


def _with_what_is_known(people: Any, comma: str, *, header: bool = True) -> Any:
    """A dataframe as pandas read it, with names for all columns and numbers where that is certain."""
    people = with_numbers(with_names(people, header=header), comma)
    people.attrs["separator"] = comma  # what a comma inside a number may mean depends on it
    return people


def read_delimited(path: Path, encoding: str = "", *, header: bool = True, short_lines: bool = False) -> Any:
    """The people of a CSV file as a pandas dataframe; a short line is an error, unless its end is to be missing.

    Without a header columns are called column1, column2, …
    """
    comma, encoding = separator(path, encoding), encoding_of(path, encoding)
    pandas = needs("pandas")
    # Without chunks a column has one type from the first row to the last; with them it may change half-way.
    first = "infer" if header else None
    people = pandas.read_csv(path, sep=comma, low_memory=False, encoding=encoding, header=first)
    # A short line lacks its last field; only then is it worth reading all of them once more.
    if not short_lines and len(people.columns) > 1 and people[people.columns[-1]].isna().any():
        refuse_short_lines(path, encoding)
    return _with_what_is_known(people, comma, header=header)


def refuse_short_lines(path: Path, encoding: str = "", name: str = "path") -> None:
    """Raise if a line has fewer fields than the first: which of them are missing, nobody can know."""
    short = next(short_lines_of(path, encoding), None)
    if short is not None:
        raise InvalidParameter(
            f"`{name}` must have as many fields in every line as in the first, got {path.name}, where {short}."
        )


def short_lines_of(path: Path, encoding: str = "") -> Iterator[ShortLine]:
    """The lines that have fewer fields than the first; empty lines don't count."""
    comma = separator(path, encoding)
    with open_text(path, encoding) as file:
        yield from _short(file, comma)


def _short(file: IO[str], comma: str) -> Iterator[ShortLine]:
    expected = 0
    for number, fields in _records(file, comma):
        expected = expected or len(fields)
        if 0 < len(fields) < expected:
            yield ShortLine(number, len(fields), expected)


def _records(file: IO[str], comma: str) -> Iterator[tuple[int, list[str]]]:
    """Each line's number and its fields; a quoted field may hold several lines, and the last of them counts."""
    if comma == SPACES:
        yield from ((number, _words(line)) for number, line in enumerate(file, 1))
        return
    reader = csv.reader(file, delimiter=comma)
    try:
        for fields in reader:
            yield reader.line_num, fields
    except csv.Error as error:
        raise InvalidParameter(f"`file` must be lines of text, got line {reader.line_num + 1}: {error}.") from None


def _words(line: str) -> list[str]:
    """The fields of a line that are separated by spaces; one in quotes may hold some.

    Examples
    --------
    >>> _words(' 47.4   "family, friends" 2\\n')
    ['47.4', 'family, friends', '2']
    """
    return next(csv.reader([" ".join(line.split())], delimiter=" "), [])


def column_names(path: Path, encoding: str = "") -> list[str]:
    """The columns of a CSV file as :func:`read_delimited` names them, even where two share a name or one has none."""
    comma, encoding = separator(path, encoding), encoding_of(path, encoding)
    return list(with_names(needs("pandas").read_csv(path, sep=comma, nrows=0, encoding=encoding)).columns)


def with_names(people: Any, *, header: bool = True) -> Any:
    """A dataframe as pandas read it from a file, where a column without a name is called by its place.

    Without a header that is every column. Its ``attrs`` say which names a header lacked.

    Examples
    --------
    >>> import pandas as pd
    >>> read = with_names(pd.DataFrame([[1, 2, 3]], columns=["Unnamed: 0", "income", "Unnamed: 2"]))
    >>> list(read.columns), read.attrs["nameless"]
    (['column1', 'income', 'column3'], ['column1', 'column3'])
    """
    before = [str(name) for name in people.columns]
    places = [f"column{place}" for place in range(1, len(before) + 1)]
    names = [
        place if not header or (name == f"Unnamed: {i}" and place not in before) else name
        for i, (name, place) in enumerate(zip(before, places, strict=True))
    ]
    people = people.set_axis(names, axis="columns")
    people.attrs["nameless"] = [name for name in names if header and name not in before]
    return people


def separator(path: Path, encoding: str = "") -> str:
    """What stands between the fields of a file."""
    with open_text(path, encoding) as file:
        return separator_of(file)


def separator_of(file: IO[str]) -> str:
    """What stands between the fields of the first line: the most frequent of comma, semicolon, tab and bar, or spaces.

    Spaces only if there is none of the others, and the first lines have the same number of words, two or more.
    """
    lines = [line for line in islice(file, SNIFFED) if line.strip()]
    first = lines[0] if lines else ""
    comma = max(",;\t|", key=first.count)
    words = {len(_words(line)) for line in lines}
    by_spaces = comma not in first and len(lines) > 1 and len(words) == 1 and min(words) > 1
    return SPACES if by_spaces else comma


def encoding_of(path: Path, encoding: str = "") -> str:
    """The encoding of a file: the one given, the one that the file itself begins with, or UTF-8."""
    if encoding:
        try:
            "".encode(encoding)
        except LookupError:
            raise InvalidParameter(
                f"`encoding` must be one that Python knows, like cp1252 or latin-1, got {encoding!r}."
            ) from None
        return encoding
    with gzip.open(path, "rb") if _compressed(path) else path.open("rb") as file:
        return _MARKS.get(file.read(2), "utf-8-sig")


def open_text(path: Path, encoding: str = "") -> IO[str]:
    """A file of text, compressed with gzip or not."""
    encoding = encoding_of(path, encoding)
    if _compressed(path):
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return path.open(encoding=encoding, newline="")


def _compressed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")
