"""Verdicts on the drawn pairs of ``likewise audit``: from worksheets, at the terminal, or from a service."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

from likewise.cli.options import listed
from likewise.errors import InvalidParameter, require

if TYPE_CHECKING:
    from rich.console import Console

    from likewise.client import Client
    from likewise.file_review import Assignment, Review

ANYBODY = ""
"""Whose verdicts they are where no reviewers are named."""
TOKEN = "LIKEWISE_TOKEN"
Verdicts = dict[str, dict[tuple[int, int], bool | None]]


def assignment(review: Review, kept: Mapping[str, Any]) -> Assignment | None:
    """Who is asked about which pair; None where anybody judges all of them."""
    from likewise.file_review import Assignment

    names = listed(kept.get("reviewers", ""))
    if not names:
        return None
    return Assignment.by_lot(review.drawn, names, kept["second"], review.seed)


def gathered(folder: Path, review: Review, asked: Assignment | None, paths: Sequence[Path]) -> Verdicts:
    """What is in the folder already, and in files that came back."""
    from likewise.file_review import read_answers, read_verdicts

    before = folder / "answered.csv"
    how = (review.people, review.drawn, review.seed)
    if asked is None:
        require(len(paths) <= 1, "answers", "be one file, where no --reviewers are named", [str(p) for p in paths])
        path = paths[0] if paths else before
        return {ANYBODY: read_answers(path, *how)} if paths or before.exists() else {}
    files = [*([before] if before.exists() else []), *paths]
    verdicts: Verdicts = {}
    for path in files:  # an empty cell is no verdict: most pairs of the common table were never shown to a reviewer
        for name, given in read_verdicts(path, *how, asked.names).items():
            verdicts.setdefault(name, {}).update({pair: said for pair, said in given.items() if said is not None})
    asked.answers(verdicts)  # refuses verdicts on pairs that were not theirs
    return verdicts


def keep(folder: Path, review: Review, asked: Assignment | None, verdicts: Verdicts) -> None:
    """All verdicts so far, in the folder."""
    from likewise.file_review import write_verdicts, write_worksheet

    how = (review.people, review.drawn, review.seed)
    if asked is None:
        write_worksheet(folder / "answered.csv", *how, verdicts[ANYBODY])
    else:
        everybody = {name: verdicts.get(name, {}) for name in asked.names}
        write_verdicts(folder / "answered.csv", *how, everybody)


# At the terminal --------------------------------------------------------------------------------------------------


def asked_here(
    console: Console, folder: Path, review: Review, asked: Assignment | None, verdicts: Verdicts, name: str
) -> Verdicts:
    """Ask about every pair that is still open for a reviewer; each answer is on disk before the next question."""
    from likewise.file_review.worksheet import sides

    if asked is not None and not name:
        raise InvalidParameter(f"`as` must say who judges, one of {', '.join(asked.names)}, got nothing.")
    require(asked is not None or not name, "as", "be left out where no --reviewers are named", name)
    theirs = set(review.drawn.pairs) if asked is None else set(asked.of(name))
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = {**verdicts, name: dict(verdicts.get(name, {}))}
    for number, (pair, both) in enumerate(zip(review.drawn.pairs, sides(review.drawn, review.seed), strict=True), 1):
        if pair not in theirs or verdicts[name].get(pair) is not None:
            continue
        console.print(_pair(review, number, both))
        answer = _question(console)
        if answer == "q":
            break
        verdicts[name][pair] = {"y": True, "n": False}.get(answer)
        keep(folder, review, asked, verdicts)
    return verdicts


def _question(console: Console) -> str:
    while True:
        try:
            typed = console.input("Treated too differently? y, Enter: no, s: can't say, q: stop? ").strip().lower()
        except EOFError:
            return "q"
        if typed in ("", "y", "yes", "n", "no", "s", "q"):
            return typed[:1] or "n"
        console.print("Please type y, s or q, or just Enter.")


def _pair(review: Review, number: int, both: tuple[int, int]) -> Table:
    title = f"Pair {number:,} of {len(review.drawn.pairs):,}"
    rows = [f"row {review.people.rows[place]:,}" for place in both]
    return beside(title, rows, ["score", *review.people.shown],
                  [(review.people.given[place], *review.people.person(place)) for place in both])  # fmt: skip


def beside(title: str, heads: list[str], names: list[str], people: list[tuple[str, ...]]) -> Table:
    """People side by side; what differs is bold."""
    table = Table(title=title, box=box.SIMPLE_HEAD)
    for head in ["", *heads]:
        table.add_column(head, justify="right" if head else "left")
    for name, *values in zip(names, *people, strict=True):
        strong = "bold" if len(set(values)) > 1 else None
        table.add_row(escape(name), *(escape(value) for value in values), style=strong)
    return table


# On a service -----------------------------------------------------------------------------------------------------


def sent(folder: Path, review: Review, asked: Assignment | None, url: str, stream: str) -> str:
    """Put the drawn pairs on a service, going on where an earlier try ended; a sentence about it."""
    from likewise.file_review.live import create, open_rounds

    require(asked is None, "to", "be left out with --reviewers: the service shares rounds out itself", url)
    note = folder / "service.json"
    before = _noted(folder) if note.exists() else None
    if before is not None:
        require(before == {"url": url, "stream": stream}, "to", f"be {before['url']}, where this audit is already", url)
    folder.mkdir(parents=True, exist_ok=True)
    with _client(url) as client:
        if before is None:
            create(client, stream, review)
            note.write_text(json.dumps({"url": url, "stream": stream}) + "\n", encoding="utf-8")
        rounds = open_rounds(client, stream, review)
    return f"{rounds:,} pairs are on {url}, in the stream {stream}. Their verdicts: likewise audit {folder} --fetch"


def fetched(folder: Path, review: Review) -> Verdicts:
    """The verdicts that reviewers have given on the service so far."""
    from likewise.file_review.live import received

    require((folder / "service.json").exists(), "fetch", "follow an audit that was sent with --to", str(folder))
    where = _noted(folder)
    with _client(where["url"]) as client:
        return {ANYBODY: received(client, where["stream"], review)}


def _noted(folder: Path) -> dict[str, str]:
    return dict(json.loads((folder / "service.json").read_text(encoding="utf-8")))


def _client(url: str) -> Client:
    from likewise.client import Client

    token = os.environ.get(TOKEN, "")
    if not token:
        raise InvalidParameter(f"`{TOKEN}` must be set in the environment to an administrator's token, got nothing.")
    require(url.startswith(("http://", "https://")), "to", "be an address like https://likewise.example.org", url)
    return Client(url, token=token)
