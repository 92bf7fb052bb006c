"""Scoring a file of people, of any length, in bounded memory: batches in, batches out.

A batch is read with the columns that the policy needs and those that name people, scored, and written before the next
one is read. What is kept of a file of ten million rows is one batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likewise.datasets.columns import arrow, needs, opened
from likewise.datasets.delimited import SPACES, column_names, encoding_of, refuse_short_lines, separator
from likewise.datasets.files import file_kind, not_decoded, read_people
from likewise.datasets.written import plain
from likewise.errors import DataUnavailable, InvalidParameter, NotSupported, require, require_whole
from likewise.policies import thresholds_of
from likewise.protocol import Floats
from likewise.scoring.finished import FinishedPolicy
from likewise.storage import whole_file

ENTRIES, MOST_ROWS = 2_000_000, 50_000
"""At most this many encoded numbers (16 MB), and this many people, are in memory at once."""
ENDINGS = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
CSV_BLOCK = 1 << 20
"""Bytes of a CSV file that are parsed at once; some forty such blocks are read ahead."""


class Scored(NamedTuple):
    """The result of scoring a file.

    Attributes
    ----------
    path
        Where the scores are.
    rows
        How many people were scored.
    mean
        Their mean probability.
    yes
        How many decisions were yes; None without decisions.
    seconds
        How long it took.
    """

    path: Path
    rows: int
    mean: float
    yes: int | None
    seconds: float


def score_file(
    policy: FinishedPolicy,
    source: str | Path,
    destination: str | Path,
    *,
    ids: Sequence[str] = (),
    secret: bytes | None = None,
    reasons: int = 0,
    encoding: str = "",
    progress: Callable[[int, int | None], None] | None = None,
) -> Scored:
    """Give everybody in a file their probability, in the order of the file.

    Parameters
    ----------
    policy
        The policy.
    source
        Any file that ``likewise.datasets.read_people`` reads. Excel and JSON-lines files come into memory as a whole.
    destination
        A file that ends in .parquet, .csv or .tsv (or .csv.gz, .tsv.gz); it is written whole or not at all.
    ids
        Columns that name a person, copied beside the probability; without any, the row's number is written.
    secret
        At least 16 bytes: also write one stable decision per person, who must then be named by exactly one column.
    reasons
        Also write this many reasons in words beside each probability: what each column adds to what everybody gets, the
        most first; for a policy of cells, the cell. A policy on models' scores needs people to compare with: ask its
        ``reasons`` instead.
    encoding
        Of a file of text that is neither UTF-8 nor begins with a mark of its encoding.
    progress
        Called with the rows done and the rows in all (None where the file does not say).
    """
    _arrow()
    source, destination = Path(source), Path(destination)
    _check(policy, source, destination, ids, secret)
    _check_reasons(policy, ids, reasons)
    started, rows, total, yes = time.perf_counter(), 0, 0.0, 0
    with _written(destination) as write:
        for batch, expected in _read(source, policy, ids, encoding):
            scores, probabilities = _scored(policy, batch, ids, secret, rows)
            scores |= _reasons(policy, batch, reasons) if reasons else {}
            write(scores)
            rows += len(probabilities)
            total += float(probabilities.sum())
            yes += 0 if secret is None else int(scores["decision"].sum())
            if progress is not None:
                progress(rows, expected)
        require(rows > 0, "people", "hold at least one row", f"none in {str(source)!r}")
    seconds = time.perf_counter() - started
    return Scored(destination, rows, total / rows, None if secret is None else yes, seconds)


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise DataUnavailable("Scoring files needs PyArrow: pip install pyarrow.") from None
    return pyarrow


def _check(policy: FinishedPolicy, source: Path, destination: Path, ids: Sequence[str], secret: bytes | None) -> None:
    file_kind(source, "people")
    require(destination.name.endswith(ENDINGS), "out", f"end in {', '.join(ENDINGS)}", str(destination))
    require(source.is_file(), "people", "be a file", str(source))
    require(source.resolve() != destination.resolve(), "out", "be a different file from the people's", str(destination))
    if policy.columns is None:
        raise NotSupported(
            "This policy does not say which columns of a table it needs: it was saved without an encoder, over a class "
            "that numbers its columns or takes models. Save it with the encoder that read its people."
        )
    reserved = sorted({"probability", "decision", "row"} & set(ids))
    require(not reserved, "ids", "not name columns that scoring writes", reserved)
    if secret is not None:
        thresholds_of([], secret)  # refuses a short secret before the first row
        require(len(ids) == 1, "ids", "name people by exactly one column to decide about them", list(ids))


def _check_reasons(policy: FinishedPolicy, ids: Sequence[str], reasons: int) -> None:
    require_whole(reasons, "reasons", 0)
    if not reasons:
        return
    if policy.reading().on_scores:  # refuses what can't be read at all
        raise NotSupported(
            "Reasons for models' scores need people to compare with, and about a second for each person; ask "
            "`policy.reasons(X, compared_with=...)` instead."
        )
    taken = sorted(set(ids) & {f"reason {i + 1}" for i in range(reasons)})
    require(not taken, "ids", "not name columns that scoring writes", taken)


def _reasons(policy: FinishedPolicy, batch: Any, count: int) -> dict[str, list[str]]:
    """The columns "reason 1", "reason 2", … of a batch; empty where nothing more adds to the probability."""
    people = batch.select(policy.columns)
    reasons = policy.reasons(people if policy.encoder is not None else people.to_pandas())
    words = [reasons.listed(person, count) for person in range(len(reasons.amounts))]
    return {f"reason {i + 1}": [row[i] if i < len(row) else "" for row in words] for i in range(count)}


def _scored(
    policy: FinishedPolicy, batch: Any, ids: Sequence[str], secret: bytes | None, before: int
) -> tuple[dict[str, Any], Floats]:
    """The columns to write for a batch, and its probabilities."""
    people = batch.select(policy.columns)
    # The encoder reads Arrow itself; a class without one takes a dataframe of numbers.
    probabilities = policy.probability(people if policy.encoder is not None else people.to_pandas())
    scores: dict[str, Any] = {name: batch.column(name) for name in ids}
    if not ids:
        scores["row"] = np.arange(before, before + len(probabilities))
    for name in ids:
        require(batch.column(name).null_count == 0, "ids", "name everybody", f"no {name!r} in some row after {before}")
    scores["probability"] = probabilities
    if secret is not None:
        scores["decision"] = thresholds_of(batch.column(ids[0]).to_pylist(), secret) < probabilities
    return scores, probabilities


# Reading --------------------------------------------------------------------------------------------------------


def _read(source: Path, policy: FinishedPolicy, ids: Sequence[str], encoding: str) -> Iterator[tuple[Any, int | None]]:
    """Batches of people as Arrow tables of the columns needed, each with the number of all rows where that is known."""
    pa = _arrow()
    columns = list(dict.fromkeys([*(policy.columns or ()), *ids]))
    width = len(policy.encoder.names) if policy.encoder is not None else len(columns)
    rows = max(1, min(MOST_ROWS, ENTRIES // width))
    kind = file_kind(source)
    try:
        if kind == "parquet":
            yield from _parquet(source, columns, rows)
        elif kind == "CSV":
            yield from _csv(source, columns, rows, policy, encoding)
        else:
            yield from _whole(source, columns, rows, encoding)
    except UnicodeError:
        raise InvalidParameter(not_decoded("people", source, encoding)) from None
    except (pa.ArrowException, OSError) as error:
        if kind == "CSV":
            refuse_short_lines(source, encoding, "people")
        reason = str(error).splitlines()[0]
        raise InvalidParameter(f"`people` must be a whole CSV or Parquet file, got {str(source)!r}: {reason}") from None


def _parquet(source: Path, needed: list[str], rows: int) -> Iterator[tuple[Any, int | None]]:
    from pyarrow import Table, parquet

    # Read through a small buffer: a row group of a whole file must not come into memory at once.
    with parquet.ParquetFile(source, buffer_size=1 << 20, pre_buffer=False) as file:
        _require_columns(file.schema_arrow.names, needed)
        for batch in file.iter_batches(rows, columns=needed):
            yield Table.from_batches([batch]), file.metadata.num_rows


def _whole(source: Path, needed: list[str], rows: int, encoding: str) -> Iterator[tuple[Any, int | None]]:
    """A file that can't be read in parts."""
    from pyarrow import table

    people = opened(read_people(source, encoding=encoding))
    _require_columns(people.columns, needed)
    whole = table({name: arrow(people, name) for name in needed})
    for start in range(0, len(whole), rows):
        yield whole.slice(start, rows), len(whole)


def _csv(
    source: Path, needed: list[str], rows: int, policy: FinishedPolicy, encoding: str
) -> Iterator[tuple[Any, int | None]]:
    comma, spelled = separator(source, encoding), encoding_of(source, encoding)
    plainly = comma != SPACES and spelled == "utf-8-sig"
    # Arrow is many times faster, and reads neither spaces between fields nor another encoding.
    tables = _by_arrow(source, needed, rows, comma) if plainly else _by_pandas(source, needed, rows, comma, spelled)
    for table in tables:
        yield _typed(table, policy, comma), None


def _by_pandas(source: Path, needed: list[str], rows: int, comma: str, encoding: str) -> Iterator[Any]:
    import pyarrow as pa

    refuse_short_lines(source, encoding, "people")
    names = column_names(source, encoding)
    _require_columns(names, needed)
    named = {"header": 0, "names": names, "usecols": needed}  # as they are called when a file is read as a whole
    with needs("pandas").read_csv(source, sep=comma, encoding=encoding, dtype=str, chunksize=rows, **named) as chunks:
        for chunk in chunks:
            yield pa.table({name: pa.array(chunk[name], pa.string(), from_pandas=True) for name in needed})


def _by_arrow(source: Path, needed: list[str], rows: int, comma: str) -> Iterator[Any]:
    from pyarrow import Table, csv, string

    reading = csv.ReadOptions(block_size=CSV_BLOCK)
    fields = csv.ParseOptions(delimiter=comma, newlines_in_values=True)
    with csv.open_csv(source, reading, fields) as header:
        names = header.schema.names
    if "" in names or len(set(names)) < len(names):
        names = column_names(source)
        reading = csv.ReadOptions(block_size=CSV_BLOCK, column_names=names, skip_rows=1)
    _require_columns(names, needed)
    # All as text: a type that is guessed from the first block may not fit the last one.
    missing = [*csv.ConvertOptions().null_values, "None", "<NA>"]
    texts = csv.ConvertOptions(
        include_columns=needed,
        column_types=dict.fromkeys(needed, string()),
        null_values=missing,
        strings_can_be_null=True,
    )
    with csv.open_csv(source, reading, fields, texts) as blocks:
        for block in blocks:
            for start in range(0, block.num_rows, rows):
                yield Table.from_batches([block.slice(start, rows)])


def _require_columns(names: Sequence[str], needed: Sequence[str]) -> None:
    absent = [name for name in needed if name not in names]
    require(not absent, "people", f"have the columns {list(needed)}", f"no {absent}")


def _typed(table: Any, policy: FinishedPolicy, comma: str) -> Any:
    """Text from a CSV file as what the policy learned from: numbers, and levels spelled as the encoder spells them."""
    encoder = policy.encoder
    numbers = policy.columns if encoder is None else [column.name for column in encoder.numbers]
    levels = {} if encoder is None else {column.name: set(column.levels) for column in encoder.categories}
    for place, name in enumerate(table.column_names):
        if name in (numbers or ()):
            table = table.set_column(place, name, _numbers(table.column(name), name, comma))
        elif name in levels:
            table = table.set_column(place, name, _spelled(table.column(name), levels[name]))
    return table


def _numbers(texts: Any, name: str, comma: str) -> Any:
    """Text as numbers; true is 1, and 3,713 what it was when the policy learned from such a file."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_trim_whitespace(texts)
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    booleans = {"true": "1", "false": "0"}
    written = plain(texts.unique().drop_null().to_pylist(), comma) or {}
    texts = _mapped(texts, lambda text: written.get(text, booleans.get(text.lower(), text)))
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid as error:
        raise InvalidParameter(
            f"`{name}` must be a column of numbers, got text: {error}; write numbers plainly, like 3713.5."
        ) from None


def _spelled(texts: Any, levels: set[str]) -> Any:
    """1 and 1.0 are one level of a column of numbers that was declared a category."""

    def known(text: str) -> str:
        try:
            return text if text in levels else f"{float(text):.15g}"
        except ValueError:
            return text

    return _mapped(texts, known)


def _mapped(texts: Any, change: Callable[[str], str]) -> Any:
    """Each text changed; a column has few different ones, so they are changed once each."""
    import pyarrow as pa

    coded = texts.combine_chunks().dictionary_encode()
    changed = pa.array([change(text) for text in coded.dictionary.to_pylist()], pa.string())
    return changed.take(coded.indices)


# Writing --------------------------------------------------------------------------------------------------------


@contextmanager
def _written(destination: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that writes columns; the file gets its name when all of them are in it."""
    import pyarrow as pa

    with whole_file(destination) as draft, ExitStack() as opened:
        writers: list[Any] = []

        def write(columns: dict[str, Any]) -> None:
            table = pa.table(columns)
            if not writers:
                writers.append(_writer(draft, table.schema, opened))
            writers[0].write_table(table)

        yield write


def _writer(path: Path, schema: Any, opened: ExitStack) -> Any:
    from pyarrow import CompressedOutputStream, OSFile, csv, parquet

    if path.name.endswith(".parquet"):
        return opened.enter_context(parquet.ParquetWriter(path, schema, compression="zstd"))
    file = opened.enter_context(OSFile(str(path), "wb"))
    if path.name.endswith(".gz"):
        file = opened.enter_context(CompressedOutputStream(file, "gzip"))
    comma = "\t" if ".tsv" in path.suffixes else ","
    return opened.enter_context(csv.CSVWriter(file, schema, write_options=csv.WriteOptions(delimiter=comma)))
