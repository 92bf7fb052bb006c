"""``likewise score``: a finished policy, and a file of people of any length."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.options import Encoding, listed
from likewise.cli.output import AsJson, bar, print_json, words
from likewise.errors import InvalidParameter

EXAMPLES = """
Examples:

    likewise score people-run people.parquet

    likewise score policy.json people.csv --id person --out scores.csv

    likewise score policy.json people.csv --id person --secret-file secret.key

    likewise score policy.json people.csv --reasons 3 --out reasons.csv
"""


def score(
    policy: Annotated[Path, typer.Argument(help="The folder of a run, or a policy: its policy.json.")],
    people: Annotated[Path, typer.Argument(help="A CSV, Excel, parquet or JSON-lines file, one person a row.")],
    out: Annotated[Path | None, typer.Option(help="Where the scores go; people-scores.parquet by default.")] = None,
    id: Annotated[
        str, typer.Option(help="The column that names a person, or several: copied beside the probability.")
    ] = "",
    secret_file: Annotated[
        Path | None,
        typer.Option(help="A file of at least 16 secret bytes: also decide, the same way whenever a person is asked."),
    ] = None,
    reasons: Annotated[
        int, typer.Option(help="How many reasons to write in words beside each probability.", min=0)
    ] = 0,
    models: Annotated[
        Path | None,
        typer.Option(help="The file of models of a policy on their scores; models.zip beside the policy by default."),
    ] = None,
    encoding: Encoding = "",
    as_json: AsJson = False,
) -> None:
    """Give everybody in a file their probability, in the order of the file and in bounded memory."""
    from likewise.scoring import FinishedPolicy, models_beside, score_file

    file = policy / "policy.json" if policy.is_dir() else policy
    finished = FinishedPolicy.load(file, models or models_beside(file))
    destination = out or people.with_name(f"{people.name.split('.')[0]}-scores.parquet")
    secret = None if secret_file is None else read_secret(secret_file)
    console = words(as_json)
    with bar("Scoring", console, hidden=as_json) as progress:
        scored = score_file(
            finished,
            people,
            destination,
            ids=listed(id),
            secret=secret,
            reasons=reasons,
            encoding=encoding,
            progress=progress,
        )
    if as_json:
        print_json(scored._asdict() | {"path": str(scored.path)})
        return
    decided = "" if scored.yes is None else f" {scored.yes:,} of the decisions are yes."
    console.print(
        f"{scored.rows:,} rows in {scored.seconds:.1f} s; their mean probability is {scored.mean:.3f}.{decided}"
    )
    console.print(f"Scores: {scored.path}", markup=False, soft_wrap=True)


def read_secret(path: Path) -> bytes:
    """The bytes of a secret's file."""
    try:
        return path.read_bytes().strip()
    except OSError as error:
        raise InvalidParameter(f"`secret_file` must be a file that can be read, got {str(path)!r}: {error}.") from None
