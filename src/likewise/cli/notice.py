"""``likewise notice``: what people may be told about their decisions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.options import Encoding, listed, reading
from likewise.cli.output import AsJson, print_json, words
from likewise.cli.score import read_secret
from likewise.errors import require

if TYPE_CHECKING:
    from likewise.report import Notice

EXAMPLES = """
Examples:

    likewise notice people-run person.csv --contact "the loans desk, loans@example.org"

    likewise notice people-run people.csv --id name --secret-file secret.key --out notices.html
"""
MOST = 1000
"""People in one file of notices."""


def notice(
    folder: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    people: Annotated[Path, typer.Argument(help="A file of the people concerned, one a row, with the run's columns.")],
    id: Annotated[str | None, typer.Option(help="The column that names a person.")] = None,
    rows: Annotated[str, typer.Option(help="Which rows of the file, counted from 1: 3,17. Everybody by default.")] = "",
    secret_file: Annotated[
        Path | None,
        typer.Option(help="The secret that decided (likewise score --secret-file): tells the answer and the lot."),
    ] = None,
    contact: Annotated[str, typer.Option(help="Whom people may ask about the decision.")] = "",
    top: Annotated[int, typer.Option("--reasons", min=1, help="How many reasons to tell, of either kind.")] = 4,
    by: Annotated[
        float, typer.Option(min=0.001, max=1.0, help="Tell changes that raise the probability by at least this.")
    ] = 0.05,
    source: Annotated[
        str | None, typer.Option(help="Where the run's own file of people is now, if it was moved.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write a page to print, such as notices.html.")] = None,
    encoding: Encoding = "",
    as_json: AsJson = False,
) -> None:
    """Tell people why they have their probability, what the lot did, what would have changed it, and whom to ask."""
    from likewise import datasets
    from likewise.report import write_notices

    frame = datasets.read_people(people, encoding=encoding)
    frame = frame.set_axis(range(1, len(frame) + 1)).loc[_rows(rows, len(frame))]
    require(len(frame) <= MOST, "people", f"be a file of at most {MOST:,} people", len(frame))
    require(id is None or id in frame.columns, "id", f"be one of the columns {list(frame.columns)}", id)
    require(secret_file is None or id is not None, "id", "be given with --secret-file: the secret decides by id", id)
    with reading(words(as_json)):
        notices = _notices(folder, frame, source, id, secret_file, contact=contact, top=top, by=by, named=people.name)
    if out is not None:
        write_notices(out, notices)
    if as_json:
        print_json({"notices": [notice.to_dict() for notice in notices], "page": None if out is None else str(out)})
        return
    console = words(as_json)
    if out is not None:
        console.print(f"{len(notices):,} notices: {out}", markup=False, highlight=False, soft_wrap=True)
        return
    console.print("\n\n\n".join(map(str, notices)), markup=False, highlight=False, soft_wrap=True)


def _rows(text: str, most: int) -> list[int]:
    """Rows counted from 1; all of them for no text."""
    words = listed(text)
    fine = all(word.isdecimal() and 1 <= int(word) <= most for word in words)
    require(fine, "rows", f"be numbers from 1 to {most}, like 3,17", text)
    return [int(word) for word in words] or list(range(1, most + 1))


def _notices(
    folder: Path, frame: Any, source: str | None, id: str | None, secret_file: Path | None, *, named: str, **told: Any
) -> list[Notice]:
    from likewise.experiments.runs import RunFolder, compared_with, stored_settings
    from likewise.report import notice
    from likewise.scoring import FinishedPolicy, models_beside

    run = RunFolder.open(folder)
    policy = FinishedPolicy.load(folder / "policy.json", models_beside(folder / "policy.json"))
    others = compared_with(stored_settings(run, source))
    secret = None if secret_file is None else read_secret(secret_file)
    made = f"The policy with the fingerprint {policy.to_dict()['fingerprint'][:16]}, learned in the run {folder.name}."
    return [
        notice(
            policy, frame.iloc[[row]], compared_with=others, made_by=made, secret=secret, **told,
            id=None if id is None else str(frame[id].iloc[row]),
            about="" if id else f"row {frame.index[row]} of {named}",
        )
        for row in range(len(frame))
    ]  # fmt: skip
