"""People from a file: CSV, parquet or JSON lines, with one sentence for whatever is wrong with it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from likewise.datasets.columns import needs
from likewise.datasets.written import with_numbers
from likewise.errors import DataUnavailable, InvalidParameter

if TYPE_CHECKING:
    import pandas as pd

KINDS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


def read_people(path: str | Path) -> pd.DataFrame:
    """People from a CSV (commas, semicolons or tabs), parquet or JSON-lines file, compressed with gzip or not.

    A row of a CSV file with too many fields is an error; one with too few has missing values at its end. Numbers may be
    written 3,713, or 12,5 between semicolons, where that can be read in only one way.
    """
    path = Path(path)
    pandas = needs("pandas")
    kind = file_kind(path)
    if not path.exists():
        raise DataUnavailable(f"`path` must be a file, got {str(path)!r}, which does not exist.")
    if not path.is_file():
        raise DataUnavailable(f"`path` must be a file, got {str(path)!r}, which is a folder.")
    try:
        people = _read(pandas, path, kind)
    except UnicodeDecodeError:
        raise InvalidParameter(
            f"`path` must be a file of UTF-8 text, got {path.name}, which is not; save it as UTF-8."
        ) from None
    except pandas.errors.EmptyDataError:
        people = pandas.DataFrame()
    except (ValueError, EOFError, gzip.BadGzipFile) as error:
        raise InvalidParameter(f"`path` must be a {kind} file, got {path.name}: {_reason(error)}.") from None
    except OSError as error:
        raise DataUnavailable(f"`path` must be a file that can be read, got {path.name}: {_reason(error)}.") from None
    if not isinstance(people.index, pandas.RangeIndex):
        # pandas takes what is left of the header's columns for the names of the rows.
        raise InvalidParameter(
            f"`path` must have a name for every column, got {path.name}, whose rows are longer than its header."
        )
    if people.empty:
        raise InvalidParameter(f"`path` must be a file with at least one person, got {path.name}, which has none.")
    return people


def file_kind(path: str | Path) -> str:
    """``"CSV"``, ``"parquet"`` or ``"JSON lines"``, by the end of a file's name."""
    name = Path(path).name.lower().removesuffix(".gz")
    kinds = {".csv": "CSV", ".tsv": "CSV", ".parquet": "parquet", ".jsonl": "JSON lines", ".ndjson": "JSON lines"}
    for end, kind in kinds.items():
        if name.endswith(end):
            return kind
    raise InvalidParameter(f"`path` must end in one of {', '.join(KINDS)}, got {Path(path).name!r}.")


def _read(pandas: Any, path: Path, kind: str) -> pd.DataFrame:
    people: pd.DataFrame
    if kind == "parquet":
        needs("pyarrow")
        people = pandas.read_parquet(path)
    elif kind == "JSON lines":
        people = pandas.DataFrame(_objects(path))
    else:
        # Without chunks a column has one type from the first row to the last; with them it may change half-way.
        comma = separator(path)
        people = with_numbers(pandas.read_csv(path, sep=comma, low_memory=False), comma)
    return people


def _objects(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file; empty lines are skipped."""
    objects = []
    with _text(path) as file:
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


def column_names(path: Path) -> list[str]:
    """The columns of a CSV file as :func:`read_people` names them, even where two share a name or one has none."""
    return [str(name) for name in needs("pandas").read_csv(path, sep=separator(path), nrows=0).columns]


def separator(path: Path) -> str:
    """What stands between the fields of the first line: a comma, unless there are more semicolons or tabs."""
    with _text(path) as file:
        first = file.readline()
    return max(",;\t", key=first.count)


def _text(path: Path) -> IO[str]:
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


def _reason(error: Exception) -> str:
    """What went wrong, as the end of a sentence."""
    text = str(error).removeprefix("Error tokenizing data. C error: ").strip().splitlines()
    return text[0].rstrip(".") if text else type(error).__name__
