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
from likewise.wording import joined

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

    def people(self, source: str) -> Any:
        """The file's people, with short lines filled up: they are among the findings."""
        from likewise.datasets import read_people

        return read_people(source, encoding=self.encoding, header=self.header, short_lines=True)

    def findings(self, source: str, people: Any, label: str | None) -> list[Finding]:
        """What there is to say about them."""
        from likewise.datasets.doctor import examined, of_file

        about_file = of_file(source, people, encoding=self.encoding, header=self.header)
        return about_file + examined(people, label=label, positive=self.positive)


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
    from likewise.datasets import doctor
    from likewise.errors import InvalidParameter

    if not Path(source).suffix and not Path(source).exists():
        raise InvalidParameter(f"`source` must be one of {', '.join(datasets.NAMES)}, or a file, got {source!r}.")
    people = look.people(source)
    columns = datasets.inspected(people)
    labels = doctor.possible_labels(columns)
    label = _chosen(look.label, labels, columns)
    findings = look.findings(source, people, label)
    copied = _fix(fix, people) if fix is not None else None
    if as_json:
        facts = {"file": source, "people": len(people), "columns": [column.to_dict() for column in columns]}
        facts |= {"possible_labels": [column.name for column in labels], "label": label}
        print_json(facts | {"findings": [finding.to_dict() for finding in findings], "fixed": copied})
        return
    console = words(as_json)
    console.print(f"{Path(source).name}: {len(people):,} people, {len(columns)} columns.", highlight=False)
    console.print(_columns(columns, {}))
    print_findings(console, findings)
    if findings:
        console.print("")
    if copied is not None:
        console.print(f"Written: {fix}{f', mended: {joined(copied)}' if copied else ''}.", markup=False, soft_wrap=True)
    elif command := mending(source, findings, look.encoding):
        console.print(f"To write a mended copy: {command}", markup=False, soft_wrap=True)
    if look.header:
        source, look = (source, look) if fix is None else (str(fix), dataclasses.replace(look, encoding=""))
        advice = _advice(source, look, label, labels, columns, findings)
        console.print(advice, markup=False, highlight=False, soft_wrap=True)


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
        frame.to_csv(draft, index=False) if copy.suffix == ".csv" else frame.to_parquet(draft)
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


def _advice(
    source: str, look: Look, label: str | None, labels: list[Column], columns: list[Column], findings: list[Finding]
) -> str:
    """What to do next: the command, with the columns that fit; which are right, only its user can say."""
    from likewise.datasets.doctor import protected

    if label is None:
        return "No column has exactly two values: --positive says which value of your label counts as 1."
    taken = {label, *(name for finding in findings for name in finding.values), *(column.name for column in labels)}
    by = [c.name for c in columns if c.kind == "number" and c.name not in taken and not protected(c)][:2]
    words = ["likewise", "play", source, *(["--encoding", look.encoding] if look.encoding else [])]
    command = f"{shlex.join([*words, '--label', label, *_positive(look, label, columns)])} --compare-by "
    command += shlex.quote(as_list(by)) if by else "…"
    # Whether each row is a person of its own, nobody can see from the file.
    settled = [finding for finding in findings if finding.kind != "people"]
    guessed = "" if look.label else f" Here it is taken to be {label}; --label names another."
    return (
        f"Columns with two values, one of which may be the label: {', '.join(c.name for c in labels)}.{guessed}\n"
        f"To play, for example: {command} {options_of(settled)}".rstrip()
    )


def _positive(look: Look, label: str, columns: list[Column]) -> list[str]:
    """The option that says which value is a yes, where the values don't say it."""
    from likewise.datasets.roles import OBVIOUS

    values = next(column.values for column in columns if column.name == label)
    by_lower = {value.strip().lower(): value for value in values}
    yes = next((by_lower[yes] for no, yes in OBVIOUS if set(by_lower) == {no, yes}), values[-1] if values else "")
    known = set(by_lower) in ({"0", "1"}, {"false", "true"})  # which of them is a yes, the play knows
    positive = look.positive or ("" if known else yes)
    return ["--positive", positive] if positive else []
