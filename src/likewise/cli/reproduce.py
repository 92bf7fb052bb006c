"""``likewise reproduce``: the paper's experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.output import AsJson, print_json, words
from likewise.errors import InvalidParameter

EXAMPLES = """
Examples:

    likewise reproduce --quick

    likewise reproduce --only 1,4 --out figures

    likewise reproduce --json
"""


def reproduce(
    quick: Annotated[bool, typer.Option("--quick", help="About one minute instead of about five.")] = False,
    out: Annotated[Path, typer.Option(help="Where the page, tables and figures go.")] = Path("reproduced"),
    only: Annotated[str, typer.Option(help="Which experiments to run, by number: 1,4. All seven by default.")] = "",
    as_json: AsJson = False,
) -> None:
    """Run the paper's seven experiments and write tables, figures and one page that holds them all."""
    from likewise.experiments.reproduce import reproduce as run

    parts = [part.strip() for part in only.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise InvalidParameter(f"`only` must be numbers from 1 to 7 with commas between, got {only!r}.")
    found = run(out, quick, {int(part) for part in parts} or None, progress=not as_json)
    if as_json:
        print_json({"page": str(found.page), "failures": found.failures})
    words(as_json).print(f"Page: {found.page}")
    if found.failures:
        words(as_json).print(f"[red]{found.failures} checks failed; the page shows which.[/]")
        raise typer.Exit(1)
