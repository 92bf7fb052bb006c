"""``likewise key``: the key that a service signs with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.output import AsJson, console, print_json
from likewise.cli.service import Config, Database, service_part
from likewise.wording import plural

if TYPE_CHECKING:
    from likewise.service.run.rotation import Rotated

EXAMPLES = """
Examples:

    likewise key rotate --database loans.db

    likewise key rotate --config likewise.toml --to new-key.pem
"""
NEW = """
Example:

    likewise key new --database loans.db
"""
File = Annotated[Path | None, typer.Option("--key", help="The file of the signing key; beside the database.")]
Checkpoints = Annotated[Path | None, typer.Option(help="The file of the checkpoints; beside the database.")]
key = typer.Typer(no_args_is_help=True, help="The key that a service signs with: change it, or make another one.")


@key.command(epilog=NEW)
def new(
    database: Database = None,
    file: File = None,
    checkpoints: Checkpoints = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make a key where the last one is lost for good. A service makes its first one by itself."""
    with service_part():
        from likewise.service.configuration import configured
        from likewise.service.log.checkpoints import CheckpointFile
        from likewise.service.log.keys import new_key
    configuration = configured(config, database=database, key=file, checkpoints=checkpoints)
    public = new_key(configuration.key_file, CheckpointFile(configuration.checkpoint_file))
    if as_json:
        print_json({"new": public, "key": str(configuration.key_file)})
        return
    for sentence in (
        f"There is a new key in {configuration.key_file}. Its public key is {public}: publish it.",
        "No log says that it is yours. Whoever holds receipts or checkpoints of the last key can't check what follows.",
    ):
        console.print(sentence, markup=False, highlight=False, soft_wrap=True)


@key.command(epilog=EXAMPLES)
def rotate(
    database: Database = None,
    file: File = None,
    checkpoints: Checkpoints = None,
    to: Annotated[
        Path | None, typer.Option(help="Where the new key goes, if the key is a setting or printed by a command.")
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Change the key that a service signs with: the old key signs the new one in every log. Then start it again."""
    with service_part():
        from likewise.service.configuration import configured
        from likewise.service.run.rotation import heard
        from likewise.service.run.rotation import rotate as change
    configuration = configured(config, database=database, key=file, checkpoints=checkpoints)
    done = change(configuration, to)
    if as_json:
        plain = {"old": done.old, "new": done.new, "streams": done.streams, "key": str(done.key)}
        print_json(plain | {"done_before": done.before})
    else:
        _say(done)
    sys.stdout.flush()
    heard(configuration)


def _say(done: Rotated) -> None:
    sentences = [
        f"The public key is now {done.new}. It was {done.old}.",
        f"The new key is in {done.key}; {plural(len(done.streams), 'log')} say so. Start the service again.",
    ]
    if done.before:
        sentences.append("This had been done before, and nobody was told. For another key, run it once more.")
    for sentence in sentences:
        console.print(sentence, markup=False, highlight=False, soft_wrap=True)
