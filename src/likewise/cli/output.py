"""What every command shares: where words go, and the option ``--json``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

console = Console()
problems = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object; words and progress go to standard error.")]


def words(as_json: bool) -> Console:
    """Where a command talks: standard output belongs to the JSON object if one was asked for."""
    return problems if as_json else console


def in_words_of(text: str, options: Iterable[str]) -> str:
    """A sentence of the library in the words of the command: `label` is --label, and `path` the file.

    Examples
    --------
    >>> in_words_of("`positive` must be one of …; name it in `categories`.", ["--positive", "--categories"])
    '`--positive` must be one of …; name it in `--categories`.'
    >>> in_words_of("`path` must be a CSV file.", [])
    'The file must be a CSV file.'
    >>> in_words_of("`source` must be a folder.", []), in_words_of("`source` must be a folder.", ["--source"])
    ('The first argument must be a folder.', '`--source` must be a folder.')
    """
    by_name = {option.lstrip("-").replace("-", "_"): option for option in options}
    if "id" in by_name:  # the library takes a list of ids, or a column that has them
        by_name.setdefault("ids", by_name["id"])
    text = re.sub("^`(path|frame|file)`", "The file", text)
    text = re.sub("^`source`", "The first argument", text) if "source" not in by_name else text
    return re.sub(r"`([\w-]+)`", lambda found: f"`{by_name.get(found[1].replace('-', '_'), found[1])}`", text)


def print_json(result: dict[str, Any]) -> None:
    """One JSON object on standard output, and nothing else."""
    typer.echo(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False))


def scoreboard_table(board: dict[str, Any], width: int) -> Group:
    """The scoreboard, from its plain values: the table, and the sentences below it."""
    places = range(len(board["header"]))
    least_first = (*places[:-3:-1], *places[2:-2])  # what it was told, what a lot decides, and the rest
    table = _narrow(board["header"], _cells(board), [row["bold"] for row in board["table"]], width, least_first)
    return Group(table, Text(f"{board['gain']}\n"), *map(Text, board["notes"]))


def groups_table(groups: dict[str, Any], width: int) -> Group:
    """How groups fare, from plain values: a table for each column, its sentence, and the notes below."""
    parts: list[Table | Text] = [Text("\nGroups, beside individual fairness and never instead of it:", style="bold")]
    for table in groups["tables"]:
        if table["cells"]:
            least_first = range(len(table["header"]) - 1, 0, -1)
            parts.append(_narrow(table["header"], table["cells"], [False] * len(table["cells"]), width, least_first))
        parts.append(Text(table["sentence"]))
    return Group(*parts, Text(""), *map(Text, groups["notes"]))


def _narrow(
    header: list[str], cells: list[list[str]], bold: list[bool], width: int, least_first: Iterable[int]
) -> Table:
    """A table that fits into 80 columns: an interval goes below its number, and what is listed below each other."""
    rows = [[first, *(re.sub(r" (?=\()|(?<=,) ", "\n", cell) for cell in others)] for first, *others in cells]
    headings = [heading.replace(" ", "\n", 1) if place else heading for place, heading in enumerate(header)]
    shown = _that_fit([headings, *rows], width, least_first)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for place in shown:
        table.add_column(Text(headings[place]), justify="right" if place else "left", no_wrap=place > 0)
    for row, strong in zip(rows, bold, strict=True):
        table.add_row(*(Text(row[place]) for place in shown), style="bold" if strong else None)
    return table


def _cells(board: dict[str, Any]) -> list[list[str]]:
    return [row["cells"] for row in board["table"]]


def _that_fit(table: list[list[str]], width: int, least_first: Iterable[int]) -> list[int]:
    """Which columns a window has room for: a number that is cut off would be another one."""
    widest = [max(len(part) for cell in column for part in cell.split("\n")) for column in zip(*table, strict=True)]
    # Names may be broken between words.
    widest[0] = max(len(word) for cell, *_ in table for word in cell.split() or [""])
    shown = list(range(len(widest)))
    for least in least_first:
        if sum(widest[place] + 2 for place in shown) > width:
            shown.remove(least)
    return shown


Tell = Callable[..., None]
"""Called with what is done, of how much, and another ``title`` if the work has changed."""


@contextmanager
def bar(title: str, console: Console, *, hidden: bool, stays: bool = False) -> Iterator[Tell]:
    """A progress bar, updated with what is done and of how much; it disappears at the end unless it ``stays``."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, disable=hidden or not (stays or console.is_terminal), transient=not stays
    ) as progress:
        task = progress.add_task(title, total=None)

        def tell(done: int, total: int | None, title: str = title) -> None:
            progress.update(task, description=title, completed=done, total=total)

        yield tell
