"""``likewise archive``: the log of a stream in one file that verifies by itself, to be kept for long."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.output import AsJson, console, print_json
from likewise.cli.service import Config, Database, service_part

EXAMPLES = """
Examples:

    likewise archive loans-1.archive --stream loans --database loans.db

    likewise archive loans-2.archive --stream loans --database loans.db --after loans-1.archive

    likewise verify loans-1.archive loans-2.archive
"""


def archive(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist yet.")],
    stream: Annotated[str, typer.Option(help="The stream.")],
    after: Annotated[
        Path | None, typer.Option(help="An earlier archive: only what came after it is written. Else all events are.")
    ] = None,
    people: Annotated[
        bool, typer.Option("--people", help="With people and remarks, so that the learner can be run again.")
    ] = False,
    database: Database = None,
    key: Annotated[Path | None, typer.Option(help="The file of the signing key; beside the database.")] = None,
    checkpoints: Annotated[Path | None, typer.Option(help="The file of the checkpoints; beside the database.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Write the log of a stream up to a signed checkpoint to one file that verifies by itself, while services run.

    Nothing is removed from the database. Nobody can be erased from an archive, so people are left out by default.
    """
    with service_part():
        from likewise.service.configuration import configured
        from likewise.service.run.archive import archive as write
    settings = configured(config, database=database, key=key, checkpoints=checkpoints)
    done = write(settings, stream, file, after, people=people)
    if as_json:
        print_json({"file": str(file), "stream": stream, "first": done.first, "last": done.last, "key": done.key})
        return
    sentence = f"Events {done.first:,} to {done.last:,} of {stream!r} are in {file}, signed with the key {done.key}."
    beside = " It holds people: keep it as you keep the database." if people else ""
    console.print(sentence + beside, markup=False, highlight=False, soft_wrap=True)
