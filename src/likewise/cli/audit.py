"""``likewise audit``: a comparative file review of a scorer that is there already. Nothing is learned."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from likewise.cli.audit_verdicts import (
    ANYBODY,
    TOKEN,
    Verdicts,
    asked_here,
    assignment,
    beside,
    fetched,
    gathered,
    keep,
    sent,
)
from likewise.cli.options import Encoding, free_folder, listed, measured, reading, refuse_changes
from likewise.cli.output import AsJson, groups_table, print_json, words
from likewise.errors import InvalidParameter, require

if TYPE_CHECKING:
    from rich.console import Console

    from likewise.file_review import Assignment, Review

EXAMPLES = """
Examples:

    likewise audit scores.csv --score model_score --compare-by income,debt

    likewise audit scores.csv --score points --between 300,850 --compare-by income,debt --sensitive sex --person 17

    likewise audit scores-audit --ask

    likewise audit scores-audit --answers answers.csv

    likewise audit scores.csv --score model_score --compare-by income,debt --reviewers ann,bob --xlsx

    likewise audit scores-audit --to https://likewise.example.org
"""
KEPT = ("score", "compare_by", "show", "sensitive", "label", "positive", "units", "categories", "id", "between",
        "scale", "alpha", "pairs", "about", "delta", "seed", "encoding", "reviewers", "second")  # fmt: skip
"""Options that are written into the folder, and hold there."""
LATER = {"source", "ask", "as_", "answers", "person", "as_json", "xlsx", "to", "stream", "fetch"}
"""Options that a folder takes, too."""


def audit(
    context: typer.Context,
    source: Annotated[
        Path, typer.Argument(help="A file of people with their scores, one a row; or the folder of an audit.")
    ],
    score: Annotated[
        str | None, typer.Option(help="The column with the score from 0 to 1, or with the decision.")
    ] = None,
    compare_by: Annotated[str, typer.Option(help="Columns that may justify a difference: income,debt.")] = "",
    show: Annotated[str, typer.Option(help="Columns that reviewers see beside them.")] = "",
    sensitive: Annotated[str, typer.Option(help="Columns whose groups are compared; reviewers don't see them.")] = "",
    label: Annotated[str | None, typer.Option(help="The column of what turned out right: for error rates.")] = None,
    positive: Annotated[str | None, typer.Option(help="The value that counts as a yes.")] = None,
    between: Annotated[str, typer.Option(help="The least and the largest score there can be: 300,850.")] = "",
    scale: Annotated[str, typer.Option(help="as-is, or rank: compare the shares of people with a lower score.")] = (
        "as-is"
    ),
    units: Annotated[str, typer.Option(help="How far apart in a number counts fully: income=20000.")] = "",
    categories: Annotated[str, typer.Option(help="Columns of numbers that are categories.")] = "",
    id: Annotated[
        str | None, typer.Option(help="The column that says who each row is; each-row if each is new.")
    ] = None,
    alpha: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="How much more than their distance two people may differ (α).")
    ] = 0.1,
    pairs: Annotated[int, typer.Option(min=1, help="How many pairs to draw for people to judge.")] = 60,
    about: Annotated[str, typer.Option(help="What to claim: file (all pairs of these people) or new (people).")] = (
        "file"
    ),
    delta: Annotated[float, typer.Option(help="One minus the confidence of each claim.")] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="Determines which pairs are drawn.")] = 0,
    person: Annotated[int | None, typer.Option(help="Show with whom the person of this row is compared.")] = None,
    reviewers: Annotated[
        str, typer.Option(help="Who judges, if there are several: ann,bob. Each has a worksheet.")
    ] = "",
    second: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="The share of pairs that two of them judge, not knowing each other.")
    ] = 0.25,
    ask: Annotated[bool, typer.Option("--ask", help="Judge the drawn pairs here in the terminal.")] = False,
    as_: Annotated[str, typer.Option("--as", help="Who judges here: one of the reviewers.")] = "",
    answers: Annotated[
        list[Path] | None,
        typer.Option(help="A worksheet that was filled in, or answers.csv of review.html; one for each reviewer."),
    ] = None,
    xlsx: Annotated[bool, typer.Option("--xlsx", help="Write worksheets as Excel files, too.")] = False,
    to: Annotated[str, typer.Option(help=f"Send the drawn pairs to a service; its token is in {TOKEN}.")] = "",
    stream: Annotated[str, typer.Option(help="The stream that the service makes of them; the folder's name.")] = "",
    fetch: Annotated[bool, typer.Option("--fetch", help="Read the verdicts from that service.")] = False,
    out: Annotated[Path | None, typer.Option(help="A new folder; scores-audit for scores.csv.")] = None,
    encoding: Encoding = "",
    as_json: AsJson = False,
) -> None:
    """Compare people who were scored by any model or rule, pair by pair, and let people judge a random draw of pairs.

    Nothing is learned. The folder gets `audit.html` (ranked pairs side by side), `worksheet.csv` and `review.html` (the
    drawn pairs, to be judged), and `audit.json`. Give the folder instead of the file to continue: `--ask` judges the
    pairs here, `--answers` reads what was judged elsewhere. Either gives an interval, with what it assumes. Several
    `--reviewers` share the pairs; some are judged twice, and how far the two agree is said, too. `--to` puts the pairs
    on the page of a service instead.
    """
    console = words(as_json)
    if xlsx:  # before anything is written
        from likewise.file_review.worksheet import require_excel

        require_excel()
    if source.is_dir():
        refuse_changes(context, LATER, "the folder of an audit")
        folder, kept = source, _kept(source)
    else:
        folder, kept = _begun(context.params, source, out)
    with reading(console):
        review = _review(kept)
    asked = assignment(review, kept)
    verdicts = fetched(folder, review) if fetch else gathered(folder, review, asked, answers or ())
    if ask or as_:
        verdicts = asked_here(console, folder, review, asked, verdicts, as_)
    result = _write(folder, review, kept, asked, verdicts, xlsx)
    if to:
        result["sent"] = sent(folder, review, asked, to.rstrip("/"), stream or folder.name)
    if person is not None:
        result["compared_to_whom"] = [vars(one) for one in review.compared_to_whom(person)]
    if as_json:
        print_json({"folder": str(folder), **result})
        return
    _say(console, folder, review, result)
    if person is not None:
        console.print(_comparators(review, person))


def _begun(parameters: dict[str, Any], source: Path, out: Path | None) -> tuple[Path, dict[str, Any]]:
    """A new audit: its folder and what it was asked to do."""
    from likewise.experiments.runs import RunFolder, located

    require(source.is_file(), "source", "be a file of people, or the folder of an audit", str(source))
    require(parameters["score"] is not None, "score", "name the column with the score", None)
    require(bool(parameters["compare_by"]), "compare-by", "name the columns that may justify a difference", "none")
    folder = free_folder(f"{source.name.split('.')[0]}-audit") if out is None else out
    RunFolder.require_new(folder)
    return folder, {name: parameters[name] for name in KEPT} | located(str(source))


def _kept(folder: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / "settings.json").read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise InvalidParameter(f"`source` must be the folder of an audit, got {folder}: {error}.") from None


def _review(kept: dict[str, Any]) -> Review:
    from likewise import datasets
    from likewise.experiments.runs.population import file_digest
    from likewise.file_review import audit as review

    path = Path(kept["source"])
    require(path.is_file(), "source", "still be where the audit found it", str(path))
    require(file_digest(path) == kept["sha256"], "source", "be the file that was audited; it has changed", str(path))
    frame = datasets.read_people(path, encoding=kept["encoding"])
    ends = listed(kept["between"])
    try:
        between = (float(ends[0]), float(ends[1])) if ends else None
    except (ValueError, IndexError):
        raise InvalidParameter(f"`between` must be two numbers like 300,850, got {kept['between']!r}.") from None
    lists: dict[str, Any] = {name: listed(kept[name]) for name in ("compare_by", "show", "sensitive", "categories")}
    plain = {name: kept[name] for name in ("label", "positive", "alpha", "pairs", "about", "delta", "seed", "scale")}
    units = measured(kept["units"], "units") or None
    return review(frame, kept["score"], units=units, between=between, ids=kept["id"], **lists, **plain)


# What is left behind ----------------------------------------------------------------------------------------------


def _write(
    folder: Path, review: Review, kept: dict[str, Any], asked: Assignment | None, verdicts: Verdicts, xlsx: bool
) -> dict[str, Any]:
    from likewise.experiments.runs import RunFolder
    from likewise.file_review.page import audit_page

    folder.mkdir(parents=True, exist_ok=True)
    files, name = RunFolder(folder), Path(kept["source"]).name
    given = verdicts.get(ANYBODY, {}) if asked is None else asked.answers(verdicts)
    claim = review.claim(given) if any(verdicts.values()) else None
    agreement = asked.agreement(verdicts, review.delta) if asked is not None and claim is not None else None
    again = f"likewise audit {shlex.quote(str(folder))}"
    page = audit_page(review, f"Audit of {kept['score']} in {name}", claim, again, agreement)
    files.write_text("audit.html", page)
    _to_judge(folder, review, asked, f"Pairs of {name} to judge", xlsx)
    if claim is not None:
        keep(folder, review, asked, verdicts)
    files.write_json("settings.json", kept)
    result = review.to_dict() | {"claim": None if claim is None else claim.to_dict()}
    result["reviewers"] = [] if asked is None else list(asked.names)
    result["agreement"] = None if agreement is None else agreement.to_dict()
    files.write_json("audit.json", result)
    return result


def _to_judge(folder: Path, review: Review, asked: Assignment | None, title: str, xlsx: bool) -> None:
    """A page and worksheets with the pairs to judge: for everybody, or for each reviewer theirs."""
    from likewise.experiments.runs import RunFolder
    from likewise.file_review import write_reviewers_worksheet, write_worksheet
    from likewise.file_review.page import review_page

    how = (review.people, review.drawn, review.seed)
    for name in (ANYBODY,) if asked is None else asked.names:
        ending = f"-{name}" if name else ""
        pairs = None if asked is None else asked.of(name)
        RunFolder(folder).write_text(f"review{ending}.html", review_page(review, title, pairs, name))
        for form in (".csv", ".xlsx") if xlsx else (".csv",):
            path = folder / f"worksheet{ending}{form}"
            if path.exists():  # somebody may have begun to fill it in
                continue
            if asked is None:
                write_worksheet(path, *how)
            else:
                write_reviewers_worksheet(path, *how, asked, name)


def _say(console: Console, folder: Path, review: Review, result: dict[str, Any]) -> None:
    for note in review.people.notes:
        console.print(f"Note: {note}", markup=False, highlight=False)
    texts = [review.headline, review.about_new_people, review.people.comparison.described, review.cleared]
    if result["claim"] is None:
        texts.append(review.sample)
    else:
        listed_ = "\n".join(f"  - {line}" for line in result["claim"]["assumptions"])
        texts.append(f"{result['claim']['sentence']}\nThis assumes:\n{listed_}")
    if result["agreement"] is not None:
        texts.append(result["agreement"]["sentence"])
    for text in texts:
        console.print(f"{text}\n", markup=False, highlight=False)
    for pair in review.ranked.pairs[:3]:
        both = (pair.favoured, pair.disfavoured)
        title = f"{pair.excess:.2f} beyond their distance of {pair.distance:.2f}"
        rows = [f"row {review.people.rows[place]:,}" for place in both]
        people = [(review.people.given[place], *review.people.person(place)) for place in both]
        console.print(beside(title, rows, ["score", *review.people.shown], people))
    if result["groups"] is not None:
        console.print(groups_table(result["groups"], console.width))
    console.print(f"\nRead:  {folder / 'audit.html'}", markup=False, soft_wrap=True)
    if result["claim"] is None and review.drawn.pairs:
        judge = f"likewise audit {shlex.quote(str(folder))} --ask"
        ending, as_ = ("-NAME", " --as NAME") if result["reviewers"] else ("", "")
        where = f"{folder / f'review{ending}.html'}, {folder / f'worksheet{ending}.csv'}"
        console.print(f"Judge: {where}, or {judge}{as_}", markup=False, soft_wrap=True)
    if "sent" in result:
        console.print(result["sent"], markup=False, soft_wrap=True)


def _comparators(review: Review, person: int) -> Table:
    table = Table(title=f"Compared to whom? Row {person:,}", box=box.SIMPLE_HEAD)
    for head in ("row", "score", "distance", "beyond", *review.people.shown):
        table.add_column(escape(head), justify="right")
    place = int((review.people.rows == person).argmax())
    table.add_row(f"{person:,}", review.people.given[place], "", "", *map(escape, review.people.person(place)),
                  style="bold")  # fmt: skip
    for other in review.compared_to_whom(person):
        cells = (f"{other.distance:.2f}", f"{other.excess:.2f}")
        table.add_row(f"{other.row:,}", review.people.given[other.place], *cells,
                      *map(escape, review.people.person(other.place)))  # fmt: skip
    return table
