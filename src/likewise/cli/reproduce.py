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
    only: Annotated[str, typer.Option(help="Which experiments to run, by number: 1,4. All by default.")] = "",
    as_json: AsJson = False,
) -> None:
    """Run the experiments, the paper's and ours, and write tables, figures and one page that holds them all."""
    from likewise.experiments.reproduce import reproduce as run

    numbers = [number.strip() for number in only.split(",") if number.strip()]
    if not all(number.isdecimal() for number in numbers):
        raise InvalidParameter(f"`only` must be numbers of experiments, separated by commas, got {only!r}.")
    reproduction = run(out, quick, {int(number) for number in numbers} or None, progress=not as_json)
    if as_json:
        print_json({"page": str(reproduction.page), "failures": reproduction.failures})
    words(as_json).print(f"Page: {reproduction.page}")
    if reproduction.failures:
        words(as_json).print(f"[red]{reproduction.failures} checks failed; the page shows which.[/]")
        raise typer.Exit(1)
