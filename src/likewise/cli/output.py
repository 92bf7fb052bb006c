"""What every command shares: where words go, and the option ``--json``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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


def print_json(result: dict[str, Any]) -> None:
    """One JSON object on standard output, and nothing else."""
    typer.echo(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False))


def scoreboard_table(board: dict[str, Any]) -> Group:
    """The scoreboard, from its plain values: the table, and the sentences below it."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for place, heading in enumerate(board["header"]):
        lines = heading.replace(" ", "\n", 1)
        table.add_column(Text(lines), justify="right" if place else "left", no_wrap=place > 0)
    for row in board["table"]:
        # An interval goes below its number: the table must fit into 80 columns.
        cells = [Text(cell.replace(" (", "\n(") if place else cell) for place, cell in enumerate(row["cells"])]
        table.add_row(*cells, style="bold" if row["bold"] else None)
    return Group(table, Text(f"{board['gain']}\n"), *map(Text, board["notes"]))


@contextmanager
def bar(
    title: str, console: Console, *, hidden: bool, stays: bool = False
) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar, updated with what is done and of how much; it disappears at the end unless it ``stays``."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(title), BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, disable=hidden or not (stays or console.is_terminal), transient=not stays
    ) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
