"""People from a file: CSV, Excel, parquet or JSON lines, with one sentence for whatever is wrong with it."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.datasets.columns import needs
from likewise.datasets.delimited import open_text, read_delimited, with_names
from likewise.errors import DataUnavailable, InvalidParameter, NotSupported

if TYPE_CHECKING:
    import pandas as pd

KINDS = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".txt": "CSV",
    ".data": "CSV",
    ".parquet": "parquet",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".xlsx": "Excel",
}
"""What a file is, by how its name ends; text may also end in .gz."""


def read_people(
    path: str | Path, *, encoding: str = "", header: bool = True, short_lines: bool = False
) -> pd.DataFrame:
    """People from a CSV, Excel, parquet or JSON-lines file; text may be compressed with gzip.

    The fields of a CSV file are separated by commas, semicolons, tabs, bars or spaces. Numbers may be written 3,713, or
    12,5 between semicolons, where that can be read in only one way.

    Parameters
    ----------
    path
        The file. Of an Excel file the first sheet is read.
    encoding
        Of a file of text that is neither UTF-8 nor begins with a mark of its encoding: cp1252, latin-1, …
    header
        Whether the first line of a CSV or Excel file names the columns; without names they are column1, column2, …
    short_lines
        Whether a line of a CSV file may have too few fields, and has missing values at its end then. By default it is
        an error that names the line; one with too many always is.
    """
    path = Path(path)
    pandas = needs("pandas")
    kind = file_kind(path)
    if not path.exists():
        raise DataUnavailable(f"`path` must exist, got {str(path)!r}.")
    if not path.is_file():
        raise DataUnavailable(f"`path` must not be a folder, got {str(path)!r}.")
    try:
        people = _read(pandas, path, kind, encoding, header=header, short_lines=short_lines)
    except InvalidParameter:
        raise
    except UnicodeError:
        raise InvalidParameter(not_decoded("path", path, encoding)) from None
    except pandas.errors.EmptyDataError:
        people = pandas.DataFrame()
    except (ValueError, EOFError, KeyError, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise InvalidParameter(f"`path` must be {_a(kind)} file, got {path.name}: {_reason(error)}.") from None
    except OSError as error:
        raise DataUnavailable(f"`path` must be readable, got {path.name}: {_reason(error)}.") from None
    if not isinstance(people.index, pandas.RangeIndex):
        # pandas takes what is left of the header's columns for the names of the rows.
        raise InvalidParameter(
            f"`path` must have a name for every column, got {path.name}, whose rows are longer than its header."
        )
    if people.empty:
        raise InvalidParameter(f"`path` must hold at least one person, got {path.name}, which has none.")
    return people


def file_kind(path: str | Path, role: str = "path") -> str:
    """``"CSV"``, ``"Excel"``, ``"parquet"`` or ``"JSON lines"``, by the end of a file's name."""
    name = Path(path).name.lower()
    for end, kind in KINDS.items():
        if name.endswith(end) or (kind in ("CSV", "JSON lines") and name.endswith(f"{end}.gz")):
            return kind
    raise InvalidParameter(f"`{role}` must end in one of {', '.join(KINDS)}, got {Path(path).name!r}.")


def not_decoded(name: str, path: Path, encoding: str) -> str:
    """What to say of a file that is not in its encoding."""
    return (
        f"`{name}` must be text in {encoding or 'UTF-8'}, got {path.name}, which is not; name its `encoding` "
        "(cp1252 is common on Windows), or save it as UTF-8."
    )


def _read(pandas: Any, path: Path, kind: str, encoding: str, *, header: bool, short_lines: bool) -> pd.DataFrame:
    people: pd.DataFrame
    if kind == "parquet":
        needs("pyarrow")
        people = pandas.read_parquet(path)
    elif kind == "JSON lines":
        people = pandas.DataFrame(_objects(path, encoding))
    elif kind == "Excel":
        people = _sheet(pandas, path, header=header)
    else:
        people = read_delimited(path, encoding, header=header, short_lines=short_lines)
    return people


def _sheet(pandas: Any, path: Path, *, header: bool) -> pd.DataFrame:
    """The first sheet of an Excel file; rows and columns that are empty all over are no people and no columns."""
    try:
        import openpyxl  # noqa: F401  # pandas imports it; here only whether it is there
    except ImportError:
        raise NotSupported(
            "Excel files need openpyxl, which is not installed: pip install openpyxl, or save the sheet as CSV."
        ) from None
    people: pd.DataFrame = pandas.read_excel(path, header=0 if header else None, engine="openpyxl").dropna(how="all")
    named: pd.DataFrame = with_names(people.reset_index(drop=True), header=header)
    return named


def _objects(path: Path, encoding: str) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file; empty lines are skipped."""
    objects = []
    with open_text(path, encoding) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                objects.append(_object(line, number))
    return objects


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"line {number} is not a JSON object")
    return value


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "Excel" else f"a {kind}"


def _reason(error: Exception) -> str:
    """What went wrong, as the end of a sentence."""
    text = str(error).removeprefix("Error tokenizing data. C error: ").strip().splitlines()
    return text[0].rstrip(".") if text else type(error).__name__
