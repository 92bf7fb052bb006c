"""The worksheet: drawn pairs side by side, one a row, with an empty column for the answer; and the answers back.

With several reviewers each has a worksheet of their own, with their name in every row and nothing of the others. What
came back is kept in one table with a column for each reviewer.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.datasets import read_people
from likewise.errors import InvalidParameter, NotSupported, require
from likewise.file_review.draws import Drawn
from likewise.file_review.reviewers import Assignment, Pair, Verdicts
from likewise.file_review.scored import ScoredPeople
from likewise.storage import whole_file

if TYPE_CHECKING:
    import pandas as pd

ANSWER = "too different?"
REVIEWER = "reviewer"
WORDS = {True: "yes", False: "no", None: ""}
YES, NO = ("yes", "y", "1", "true", "x"), ("no", "n", "0", "false")


def sides(drawn: Drawn, seed: int) -> list[tuple[int, int]]:
    """Each pair as it is shown: who stands on the left is drawn, so that nobody learns to look at one side."""
    flips = np.random.default_rng([seed, 1]).random(len(drawn.pairs)) < 0.5
    return [(j, i) if flip else (i, j) for (i, j), flip in zip(drawn.pairs, flips, strict=True)]


def worksheet(people: ScoredPeople, drawn: Drawn, seed: int) -> pd.DataFrame:
    """The table: a number, both rows of the file, both scores, what a reviewer sees of both, and the answer to come."""
    import pandas as pd

    lines = []
    for number, both in enumerate(sides(drawn, seed), start=1):
        line: dict[str, Any] = {"pair": number}
        line |= {f"row {side}": int(people.rows[i]) for side, i in zip("AB", both, strict=True)}
        line |= {f"score {side}": people.given[i] for side, i in zip("AB", both, strict=True)}
        for name, *values in zip(people.shown, *(people.person(i) for i in both), strict=True):
            line |= {f"{name} {side}": value for side, value in zip("AB", values, strict=True)}
        lines.append(line | {ANSWER: ""})
    names = ["pair", "row A", "row B", "score A", "score B"]
    names += [f"{name} {side}" for name in people.shown for side in "AB"]
    return pd.DataFrame(lines, columns=[*names, ANSWER])


def write_worksheet(
    path: str | Path, people: ScoredPeople, drawn: Drawn, seed: int, answers: Mapping[Pair, bool | None] | None = None
) -> Path:
    """Write it as CSV, or as Excel if the name ends in .xlsx; with the answers that are there already."""
    table = worksheet(people, drawn, seed)
    if answers:
        table[ANSWER] = [WORDS[answers.get(pair)] for pair in drawn.pairs]
    return _write(table, path)


def write_reviewers_worksheet(
    path: str | Path, people: ScoredPeople, drawn: Drawn, seed: int, asked: Assignment, name: str
) -> Path:
    """The worksheet of one reviewer: the pairs that they are asked about, with their name."""
    table, theirs = worksheet(people, drawn, seed), set(asked.of(name))
    table.insert(len(table.columns) - 1, REVIEWER, name)
    return _write(table[[pair in theirs for pair in drawn.pairs]], path)


def write_verdicts(path: str | Path, people: ScoredPeople, drawn: Drawn, seed: int, verdicts: Verdicts) -> Path:
    """All verdicts in one table, with a column for each reviewer."""
    table = worksheet(people, drawn, seed).drop(columns=ANSWER)
    for name, given in verdicts.items():
        table[f"{ANSWER} {name}"] = [WORDS[given.get(pair)] for pair in drawn.pairs]
    return _write(table, path)


def _write(table: pd.DataFrame, path: str | Path) -> Path:
    path = Path(path)
    require(path.suffix in (".csv", ".xlsx"), "worksheet", "end in .csv or .xlsx", path.name)
    with whole_file(path) as draft:
        if path.suffix == ".csv":
            table.to_csv(draft, index=False)
        else:
            require_excel()
            table.to_excel(draft, index=False, engine="openpyxl")
    return path


def require_excel() -> None:
    """Raise unless Excel files can be written."""
    if importlib.util.find_spec("openpyxl") is None:
        raise NotSupported("Excel files need openpyxl, which is not installed: pip install openpyxl.")


def read_answers(path: str | Path, people: ScoredPeople, drawn: Drawn, seed: int) -> dict[Pair, bool | None]:
    """The answers of a worksheet, by pair; an empty cell is no answer. A worksheet of other pairs is refused."""
    table = _read(path, [ANSWER])
    return _answers(table, ANSWER, people, drawn, seed)


def read_verdicts(
    path: str | Path, people: ScoredPeople, drawn: Drawn, seed: int, names: Collection[str]
) -> dict[str, dict[Pair, bool | None]]:
    """The verdicts of one reviewer's worksheet, or of the table of all; by reviewer and pair."""
    table = _read(path, [])
    if REVIEWER not in table.columns:
        known = [name for name in names if f"{ANSWER} {name}" in table.columns]
        require(
            bool(known),
            "answers",
            f"have a column {REVIEWER!r}, or {ANSWER!r} and a reviewer's name",
            list(table.columns),
        )
        return {name: _answers(table, f"{ANSWER} {name}", people, drawn, seed) for name in known}
    table = _read(path, [ANSWER])
    odd = [name for name in table[REVIEWER].unique() if name not in names]
    require(not odd, "answers", f"be of the reviewers {', '.join(names)}", odd)
    return {
        str(name): _answers(rows, ANSWER, people, drawn, seed) for name, rows in table.groupby(REVIEWER, sort=False)
    }


def _read(path: str | Path, wanted: list[str]) -> pd.DataFrame:
    table: pd.DataFrame = read_people(path)
    missing = [name for name in ("pair", "row A", "row B", *wanted) if name not in table.columns]
    require(not missing, "answers", "be the worksheet that was written, with its columns", f"none called {missing}")
    return table


def _answers(
    table: pd.DataFrame, column: str, people: ScoredPeople, drawn: Drawn, seed: int
) -> dict[Pair, bool | None]:
    expected = {tuple(int(people.rows[i]) for i in both): pair
                for both, pair in zip(sides(drawn, seed), drawn.pairs, strict=True)}  # fmt: skip
    answers: dict[Pair, bool | None] = {}
    for line, (a, b, said) in enumerate(table[["row A", "row B", column]].itertuples(index=False), start=1):
        pair = expected.get((_row(a, line), _row(b, line)))
        if pair is None:
            raise InvalidParameter(
                f"`answers` must be the worksheet of this draw, got another pair in line {line}: rows {a} and {b}."
            )
        require(pair not in answers, "answers", "have each pair once", f"rows {a} and {b} again in line {line}")
        answers[pair] = _answer(said, line)
    return answers


def _row(value: Any, line: int) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise InvalidParameter(f"`answers` must have whole numbers as rows, got {value!r} in line {line}.") from None


def _answer(value: Any, line: int) -> bool | None:
    text = "" if value is None or value != value else str(value).strip().lower().removesuffix(".0")
    if text in ("", "skip"):
        return None
    require(text in YES + NO, "answers", f"be yes, no or empty in {ANSWER!r}", f"{value!r} in line {line}")
    return text in YES
