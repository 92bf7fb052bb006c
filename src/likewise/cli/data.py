"""``likewise data``: what there is to play on, what is known of it, and what a file of yours would be taken for."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from likewise.cli.findings import mending, options_of, print_findings
from likewise.cli.options import Encoding, as_list
from likewise.cli.output import AsJson, in_words_of, print_json, words
from likewise.wording import joined, plural

if TYPE_CHECKING:
    from likewise.datasets import Column, Dataset
    from likewise.datasets.doctor import Finding

EXAMPLES = """
Examples:

    likewise data

    likewise data compas

    likewise data people.csv

    likewise data people.csv --label approved

    likewise data people.csv --encoding cp1252 --fix people-mended.csv

    likewise data people.parquet --json
"""
ROOM = 60
"""At most this many characters of levels are shown."""


def data(
    source: Annotated[
        str, typer.Argument(help="The name of a data set, or a file of people; without it, all data sets are listed.")
    ] = "",
    label: Annotated[
        str | None, typer.Option(help="The column of labels, to look for columns that give it away; the likeliest one.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="The value of the label that counts as a yes.")] = None,
    encoding: Encoding = "",
    header: Annotated[bool, typer.Option(help="Whether the first line of a file names its columns.")] = True,
    fix: Annotated[
        Path | None,
        typer.Option(
            help="Write a copy in UTF-8: plain numbers, one spelling a level, all columns named, lines of one length."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets; print the datasheet of one; or look at your own file as a careful colleague would."""
    from likewise import datasets

    if not source:
        _list(as_json)
    elif source in datasets.NAMES:
        _datasheet(source, as_json)
    else:
        _file(source, Look(label, positive, encoding, header), fix, as_json)


@dataclasses.dataclass(frozen=True)
class Look:
    """How to look at a file."""

    label: str | None
    positive: str | None
    encoding: str
    header: bool

    def seen(self, source: str) -> Seen:
        """The file's people, with short lines filled up: they are among the findings."""
        from likewise import datasets
        from likewise.datasets.doctor import examined, of_file, possible_labels

        people = datasets.read_people(source, encoding=self.encoding, header=self.header, short_lines=True)
        columns = datasets.inspected(people)
        labels = possible_labels(columns)
        label = _chosen(self.label, labels, columns)
        findings = of_file(source, people, encoding=self.encoding, header=self.header)
        findings += examined(people, label=label, positive=self.positive)
        return Seen(source, people, columns, labels, label, findings)


@dataclasses.dataclass(frozen=True)
class Seen:
    """What there is to say about a file; its label is the one that was named, or the likeliest one."""

    source: str
    people: Any
    columns: list[Column]
    labels: list[Column]
    label: str | None
    findings: list[Finding]


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


def _file(source: str, look: Look, fix: Path | None, as_json: bool) -> None:
    from likewise import datasets
    from likewise.errors import InvalidParameter

    if not Path(source).suffix and not Path(source).exists():
        raise InvalidParameter(f"`source` must be one of {', '.join(datasets.NAMES)}, or a file, got {source!r}.")
    seen = look.seen(source)
    copied = _fix(fix, seen.people) if fix is not None else None
    if as_json:
        facts = {"file": source, "people": len(seen.people), "columns": [column.to_dict() for column in seen.columns]}
        facts |= {"possible_labels": [column.name for column in seen.labels], "label": seen.label}
        print_json(facts | {"findings": [finding.to_dict() for finding in seen.findings], "fixed": copied})
        return
    console = words(as_json)
    counted = f"{plural(len(seen.people), 'person', 'people')}, {plural(len(seen.columns), 'column')}"
    console.print(f"{Path(source).name}: {counted}.", highlight=False)
    console.print(_columns(seen.columns, {}))
    print_findings(console, seen.findings)
    if seen.findings:
        console.print("")
    if copied is not None:
        console.print(f"Written: {fix}{f', mended: {joined(copied)}' if copied else ''}.", markup=False, soft_wrap=True)
        look = dataclasses.replace(look, encoding="", header=True)
        seen = look.seen(str(fix))
    elif command := mending(source, seen.findings, look.encoding):
        console.print(f"To write a mended copy: {command}", markup=False, soft_wrap=True)
    console.print(_advice(look, seen), markup=False, highlight=False, soft_wrap=True)


def _chosen(label: str | None, labels: list[Column], columns: list[Column]) -> str | None:
    """The label that was named, or the likeliest one."""
    from likewise.errors import require

    if label is None:
        return labels[-1].name if labels else None
    names = [column.name for column in columns]
    require(label in names, "label", f"be one of the columns {', '.join(names[:15])}{', …' * (len(names) > 15)}", label)
    return label


def _fix(copy: Path, people: Any) -> list[str]:
    """Write the copy; the names of the columns that changed in it."""
    from likewise.datasets.doctor import mended
    from likewise.errors import require
    from likewise.storage import whole_file

    require(copy.suffix in (".csv", ".parquet"), "fix", "end in .csv or .parquet", str(copy))
    require(not copy.exists(), "fix", "be a new file", str(copy))
    frame, changed = mended(people)
    with whole_file(copy) as draft:
        # Between commas a comma in a number that is left would mean thousands, which between semicolons nobody knows.
        comma = ";" if people.attrs.get("separator") == ";" else ","
        frame.to_csv(draft, index=False, sep=comma) if copy.suffix == ".csv" else frame.to_parquet(draft)
    return changed


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
        return in_words_of(f"not used: {column.reason}", ["--categories"])
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


def _advice(look: Look, seen: Seen) -> str:
    """What to do next: the command, with the columns that fit; which are right, only its user can say."""
    if not look.header or any(finding.kind == "file" and finding.option for finding in seen.findings):
        return "To play, write a mended copy with --fix first: play can't read this file."
    if seen.label is None:
        return "No column has exactly two values: --positive says which value of your label counts as a yes."
    about = next(column for column in seen.columns if column.name == seen.label)
    if about.different < 2:
        return f"{about.name} is the same for everybody: there is nothing to learn. --label names another."
    positive, guessed = _positive(look, about)
    words = ["likewise", "play", seen.source, *(["--encoding", look.encoding] if look.encoding else [])]
    command = shlex.join([*words, "--label", about.name, *(["--positive", positive] if positive else [])])
    # Whether each row is a person of its own, nobody can see from the file.
    settled = [finding for finding in seen.findings if finding.kind != "people"]
    chosen = "" if look.label else f" Here it is taken to be {about.name}; --label names another."
    chosen += f" A yes is taken to be {positive}; --positive names another." if guessed else ""
    names = ", ".join(column.name for column in seen.labels) or "none"
    return (
        f"Columns with two values, one of which may be the label: {names}.{chosen}\n"
        f"To play, for example: {command} --compare-by {_compared(seen)} {options_of(settled)}".rstrip()
    )


def _compared(seen: Seen) -> str:
    """Two columns that may justify a difference: rather numbers than categories, and nothing that an option names."""
    from likewise.datasets.doctor import protected

    taken = {seen.label, *(name for finding in seen.findings for name in finding.values)}
    taken |= {column.name for column in seen.labels}
    fitting = [column for column in seen.columns if column.name not in taken and not protected(column)]
    for kind in ("number", "category"):
        by = [column.name for column in fitting if column.kind == kind][:2]
        if by:
            return shlex.quote(as_list(by))
    return "…"


def _positive(look: Look, label: Column) -> tuple[str, bool]:
    """Which value is a yes, where the play doesn't know it; and whether that is only guessed."""
    from likewise.datasets.doctor import likely_yes

    if look.positive:
        return look.positive, False
    yes, obvious = likely_yes(label.values)
    return ("" if yes.strip().lower() in ("1", "true") and obvious else yes), not obvious
