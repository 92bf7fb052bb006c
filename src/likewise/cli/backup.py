"""``likewise backup`` and ``likewise restore``: everything a service knows, in one file, while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.output import console
from likewise.cli.service import Config, Database, service_part

EXAMPLES = """
Examples:

    likewise backup loans.backup --database loans.db

    likewise restore loans.backup --database postgresql://localhost/loans
"""
Keys = Annotated[Path | None, typer.Option("--key", help="The file of the signing key; beside the database.")]
Checkpoints = Annotated[Path | None, typer.Option(help="The file of the checkpoints; beside the database.")]


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write, which must not be there yet.")],
    database: Database = None,
    key: Keys = None,
    checkpoints: Checkpoints = None,
    config: Config = None,
) -> None:
    """Write everything a service knows to one file, while it runs: log, people, tokens' digests, key, checkpoints."""
    with service_part():
        from likewise.service.backup import backup as write
        from likewise.service.configuration import configured
    counts = write(configured(config, database=database, key=key, checkpoints=checkpoints), file)
    console.print(
        _told(counts, f"are in {file}. It holds people's features and the signing key."), markup=False, soft_wrap=True
    )


def restore(
    file: Annotated[Path, typer.Argument(help="What `likewise backup` wrote.")],
    database: Database = None,
    key: Keys = None,
    checkpoints: Checkpoints = None,
    config: Config = None,
) -> None:
    """Put a backup into a database without streams, all or nothing; services on other databases run on."""
    with service_part():
        from likewise.service.backup import restore as read
        from likewise.service.configuration import configured
    settings = configured(config, database=database, key=key, checkpoints=checkpoints)
    console.print(_told(read(settings, file), "were put back."), markup=False, soft_wrap=True)


def _told(counts: dict[str, int], what: str) -> str:
    return f"{counts['streams']:,} streams with {counts['events']:,} events {what}"
