"""``likewise key``: the key that a service signs with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.output import AsJson, console, print_json
from likewise.cli.service import Config, Database, service_part
from likewise.wording import plural

EXAMPLES = """
Examples:

    likewise key rotate --database loans.db

    likewise key rotate --config likewise.toml --to new-key.pem
"""
key = typer.Typer(no_args_is_help=True, help="The key that a service signs with: change it.")


@key.callback()
def _key() -> None:
    """One command for now; the others will stand beside it."""


@key.command(epilog=EXAMPLES)
def rotate(
    database: Database = None,
    file: Annotated[
        Path | None, typer.Option("--key", help="The file of the signing key; beside the database.")
    ] = None,
    checkpoints: Annotated[Path | None, typer.Option(help="The file of the checkpoints; beside the database.")] = None,
    to: Annotated[
        Path | None, typer.Option(help="Where the new key goes, if the key is a setting or printed by a command.")
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Change the key that a service signs with: the old key signs the new one in every log. Then start it again."""
    with service_part():
        from likewise.service.configuration import configured
        from likewise.service.run.rotation import rotate as change
    done = change(configured(config, database=database, key=file, checkpoints=checkpoints), to)
    if as_json:
        print_json({"old": done.old, "new": done.new, "streams": done.streams, "key": str(done.key)})
        return
    for sentence in (
        f"The public key is now {done.new}. It was {done.old}.",
        f"The new key is in {done.key}; {plural(len(done.streams), 'log')} say so. Start the service again.",
    ):
        console.print(sentence, markup=False, highlight=False, soft_wrap=True)
