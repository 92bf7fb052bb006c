"""``likewise data``: what there is to play on, what is known of it, and what a file of yours would be taken for."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from likewise.cli.options import as_list
from likewise.cli.output import AsJson, print_json, words

if TYPE_CHECKING:
    from likewise.datasets import Column, Dataset

EXAMPLES = """
Examples:

    likewise data

    likewise data compas

    likewise data people.csv

    likewise data people.parquet --json
"""
ROOM = 60
"""At most this many characters of levels are shown."""


def data(
    source: Annotated[
        str, typer.Argument(help="The name of a data set, or a file of people; without it, all data sets are listed.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the data sets; print the datasheet of one; or say what the columns of your own file would be taken for."""
    from likewise import datasets

    if not source:
        _list(as_json)
    elif source in datasets.NAMES:
        _datasheet(source, as_json)
    else:
        _file(source, as_json)


def _list(as_json: bool) -> None:
    from likewise import datasets

    sentences = {name: datasets.about(name) for name in datasets.NAMES}
    if as_json:
        print_json({"datasets": [{"name": name, "about": about} for name, about in sentences.items()]})
        return
    table = _table("data set", "what it is")
    for name, about in sentences.items():
        table.add_row(name, about)
    words(as_json).print(table)
    words(as_json).print("The datasheet of one: likewise data adult. Your own file: likewise data people.csv.")


def _datasheet(name: str, as_json: bool) -> None:
    from likewise import datasets

    dataset = datasets.load(name)
    columns = datasets.inspected(dataset.people)
    roles = dict.fromkeys(dataset.compare_by, "compare by") | dict.fromkeys(dataset.sensitive, "sensitive")
    if as_json:
        print_json(
            _facts(name, dataset) | {"columns": [c.to_dict() | {"role": roles.get(c.name, "")} for c in columns]}
        )
        return
    console = words(as_json)
    console.print(dataset.datasheet.text(min(console.width, 100)), markup=False, highlight=False, soft_wrap=True)
    console.print(_columns(columns, roles))
    console.print(f"Label: 1 for {dataset.y.mean():.1%} of {len(dataset):,} people.")
    console.print(f"Hidden distance of a simulated reviewer: {dataset.distance_described}", markup=False)
    console.print(f"Encoded, a person is {len(dataset.encoder.names)} numbers.")


def _facts(name: str, dataset: Dataset) -> dict[str, Any]:
    return {
        "name": name,
        "people": len(dataset),
        "positive_rate": float(dataset.y.mean()),
        "compare_by": list(dataset.compare_by),
        "sensitive": list(dataset.sensitive),
        "distance": dataset.distance_described,
        "encoded_columns": len(dataset.encoder.names),
        "datasheet": dataset.datasheet.to_dict(),
    }


def _file(source: str, as_json: bool) -> None:
    from likewise import datasets
    from likewise.errors import InvalidParameter

    if not Path(source).suffix and not Path(source).exists():
        raise InvalidParameter(f"`source` must be one of {', '.join(datasets.NAMES)}, or a file, got {source!r}.")
    people = datasets.read_people(source)
    columns = datasets.inspected(people)
    labels = [column for column in columns if column.kind != "unusable" and column.different == 2]
    if as_json:
        facts = {"file": source, "people": len(people), "columns": [column.to_dict() for column in columns]}
        print_json(facts | {"possible_labels": [column.name for column in labels]})
        return
    console = words(as_json)
    console.print(f"{Path(source).name}: {len(people):,} people, {len(columns)} columns.", highlight=False)
    console.print(_columns(columns, {}))
    console.print(_advice(source, labels, columns), markup=False, soft_wrap=True)


def _columns(columns: list[Column], roles: dict[str, str]) -> Table:
    headings = ("column", "kind", "missing", "values", "role")
    table = _table(*headings if roles else headings[:-1], right=("missing",))
    for column in columns:
        levels = f" of {column.different:,}" if column.kind == "category" else ""
        cells = [column.name, column.kind + levels, f"{column.missing:,}", _values(column)]
        table.add_row(*map(escape, [*cells, *([roles.get(column.name, "")] if roles else [])]))
    return table


def _values(column: Column) -> str:
    if column.kind == "unusable":
        return f"not used: {column.reason}"
    if column.kind == "number":
        return " to ".join(column.values)
    ends = itertools.accumulate(map(len, column.values))
    shown = [level for end, level in zip(ends, column.values, strict=True) if end <= ROOM]
    return " | ".join([*shown, *(["…"] if column.different > len(shown) else [])])


def _table(*headings: str, right: tuple[str, ...] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", no_wrap=heading == headings[0])
    return table


def _advice(source: str, labels: list[Column], columns: list[Column]) -> str:
    """What to do next: the command, with the columns that fit; which are right, only its user can say."""
    if not labels:
        return "No column has exactly two values: --positive says which value of your label counts as 1."
    label = labels[-1]
    obvious = {value.lower() for value in label.values} in ({"0", "1"}, {"false", "true"})
    positive = "" if obvious else f" --positive {shlex.quote(label.values[-1])}"
    by = [column.name for column in columns if column.kind == "number" and column not in labels][:2]
    return (
        f"Columns with two values, one of which may be the label: {', '.join(column.name for column in labels)}.\n"
        f"To play, for example: likewise play {shlex.quote(source)} --label {shlex.quote(label.name)}{positive} "
        f"--compare-by {shlex.quote(as_list(by)) if by else '…'}"
    )
