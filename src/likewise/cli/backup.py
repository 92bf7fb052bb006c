"""``likewise backup`` and ``likewise restore``: everything a service knows, in one file, while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.output import AsJson, console, print_json
from likewise.cli.service import Config, Database, service_part

EXAMPLES = """
Examples:

    likewise backup loans.backup --database loans.db

    likewise restore loans.backup --database postgresql://localhost/loans --erasures loans.erasures
"""
Keys = Annotated[Path | None, typer.Option("--key", help="The file of the signing key; beside the database.")]
Checkpoints = Annotated[Path | None, typer.Option(help="The file of the checkpoints; beside the database.")]
Erasures = Annotated[
    Path | None, typer.Option(help="The file that lists what was erased since the backup; beside the database.")
]


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist yet.")],
    database: Database = None,
    key: Keys = None,
    checkpoints: Checkpoints = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Write everything a service knows to one file, while it runs: log, people, tokens' digests, key, checkpoints."""
    with service_part():
        from likewise.service.configuration import configured
        from likewise.service.run.backup import backup as write
    rows = write(configured(config, database=database, key=key, checkpoints=checkpoints), file)
    if as_json:
        print_json({"file": str(file), "streams": rows["streams"], "events": rows["events"], "rows": rows})
        return
    _say(f"Everything is in {file}: {_counted(rows)}. It holds people's features and the signing key.")


def restore(
    file: Annotated[Path, typer.Argument(help="What `likewise backup` wrote.")],
    database: Database = None,
    key: Keys = None,
    checkpoints: Checkpoints = None,
    erasures: Erasures = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into a database without streams, all or nothing; people erased since then stay erased."""
    with service_part():
        from likewise.service.configuration import configured
        from likewise.service.run.backup import restore as read
    settings = configured(config, database=database, key=key, checkpoints=checkpoints, erasures=erasures)
    restored = read(settings, file)
    listed = str(settings.erasure_file) if restored.listed else None
    if as_json:
        counts = {"streams": restored.rows["streams"], "events": restored.rows["events"], "rows": restored.rows}
        about = {"newest_event": restored.newest, "list_of_erasures": listed, "erased_again": restored.erased}
        print_json({"file": str(file)} | counts | about)
        return
    _say(f"Everything was put back: {_counted(restored.rows)}.")
    if restored.listed:
        _say(f"Rows about people that were erased again, as {listed} lists them: {restored.erased:,}.")
    elif restored.newest is not None:
        _say(
            f"There is no list of erasures at {settings.erasure_file}: whoever was erased after {restored.newest}, the "
            "time of the backup's newest event, is back. Erase them again, or restore again with --erasures."
        )


def _say(text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _counted(rows: dict[str, int]) -> str:
    return f"streams {rows['streams']:,}, events {rows['events']:,}"
