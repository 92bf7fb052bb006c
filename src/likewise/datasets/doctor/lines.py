"""The file itself: a first line that is a person, and lines that are too short."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from likewise.datasets.columns import arrow, levels, opened
from likewise.datasets.delimited import short_lines_of
from likewise.datasets.doctor.finding import Finding, several
from likewise.datasets.files import file_kind
from likewise.wording import joined, plural

YEARS = (1900, 2100)
"""Numbers in this range may well name a column: sales of 2019."""


def of_file(path: str | Path, frame: Any, *, encoding: str = "", header: bool = True) -> list[Finding]:
    """What there is to say about how a file was read; ``frame`` is what came out, with short lines filled up."""
    findings = of_header(frame) + of_nameless(frame) if header and file_kind(path) in ("CSV", "Excel") else []
    # A short line lacks its last field; only then is it worth reading all of them once more.
    may_be_short = file_kind(path) == "CSV" and frame.iloc[:, -1].isna().any()
    short = list(islice(short_lines_of(Path(path), encoding), 1000)) if may_be_short else []
    if short:
        count = "At least 1,000 lines are" if len(short) == 1000 else plural(len(short), "line is", "lines are")
        where = joined([str(line) for line in short[:3]])
        copy = "In a mended copy the fields at their end are missing"
        sentence = f"{count} too short, and refused by play and score: {where}. {copy}."
        findings.append(Finding("file", (), sentence, "--fix"))
    return findings


def of_nameless(frame: Any) -> list[Finding]:
    """Columns that the first line of a file has no name for."""
    nameless = frame.attrs.get("nameless", [])
    if not nameless:
        return []
    verb = "has no name in the file and is" if len(nameless) == 1 else "have no name in the file and are"
    which = plural(len(nameless), "column")
    return [Finding("file", tuple(nameless), f"{which} {verb} called {several(tuple(nameless))} by place.")]


def of_header(frame: Any) -> list[Finding]:
    """Whether the names of most columns are values that their columns could hold.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"A11": ["A12", "A11", "A12"], "6": [48, 12, 42], "1169": [5951, 2096, 7882]})
    >>> of_header(people)[0].sentence
    'The first line seems to be a person, not names: A11, 6, 1169.'
    """
    table = opened(frame)
    fitting = tuple(name for name in table.columns if _fits(name, arrow(table, name)))
    if 2 * len(fitting) <= len(table.columns):
        return []
    names = tuple(table.columns)
    sentence = f"The first line seems to be a person, not names: {several(names)}."
    return [Finding("file", (), sentence, "--no-header")]


def _fits(name: str, values: Any) -> bool:
    try:
        number = float(name)
    except ValueError:
        return str(values.type) == "large_string" and name.strip() in {level.strip() for level in levels(values)}
    return str(values.type) != "large_string" and not YEARS[0] <= number <= YEARS[1]
