"""What every command shares: where words go, and the option ``--json``."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console

console = Console()
problems = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object; words and progress go to standard error.")]


def words(as_json: bool) -> Console:
    """Where a command talks: standard output belongs to the JSON object if one was asked for."""
    return problems if as_json else console


def print_json(found: dict[str, Any]) -> None:
    """One JSON object on standard output, and nothing else."""
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False))
