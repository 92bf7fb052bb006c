"""The command ``likewise``: one file per command, gathered here.

Commands import what they need when they run, so that ``likewise --help`` answers at once.
"""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Annotated, Any

import typer

from likewise.cli.archive import archive
from likewise.cli.audit import audit
from likewise.cli.backup import backup, restore
from likewise.cli.card import card
from likewise.cli.certify import certify
from likewise.cli.compare import compare
from likewise.cli.data import data
from likewise.cli.demo import demo
from likewise.cli.doctor import doctor
from likewise.cli.frontier import frontier
from likewise.cli.key import key
from likewise.cli.notice import notice
from likewise.cli.output import console, in_words_of, problems
from likewise.cli.play import play
from likewise.cli.reproduce import reproduce
from likewise.cli.score import score
from likewise.cli.serve import serve
from likewise.cli.user import user
from likewise.cli.verify import verify
from likewise.cli.witness import witness
from likewise.errors import LikewiseError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"likewise {importlib.metadata.version('likewise')}")
        raise typer.Exit


@app.callback()
def likewise(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the whole traceback of an error; works after any command too.")
    ] = False,
) -> None:
    """Online decisions that learn individual fairness from a person who only points at unfair pairs."""


for command in (
    archive,
    audit,
    backup,
    card,
    certify,
    compare,
    data,
    demo,
    doctor,
    frontier,
    notice,
    play,
    reproduce,
    restore,
    score,
    serve,
    verify,
    witness,
):
    app.command(epilog=getattr(sys.modules[command.__module__], "EXAMPLES", None))(command)
app.add_typer(user, name="user")
app.add_typer(key, name="key")


def _options(typed: list[str]) -> list[str]:
    """The options of the command that was typed."""
    command: Any = typer.main.get_command(app)
    for word in typed:
        command = getattr(command, "commands", {}).get(word, command)
    return [name for parameter in getattr(command, "params", ()) for name in parameter.opts if name.startswith("--")]


def main(arguments: list[str] | None = None) -> None:
    """Run the command; our own errors are one sentence, not a traceback.

    Exit codes: 0 done, 1 done but a check failed, 2 bad input or a part that is missing, 130 stopped with Ctrl-C.
    """
    typed = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in typed
    try:
        app(args=[word for word in typed if word != "--debug"], prog_name="likewise")
    except (LikewiseError, OSError) as error:
        if debug:
            raise
        problems.print(
            in_words_of(str(error), _options(typed)), style="red", markup=False, highlight=False, soft_wrap=True
        )
        raise SystemExit(2) from None
