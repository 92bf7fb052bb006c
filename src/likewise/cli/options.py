"""Options that several commands share: where the people are, which class plays, and how lists are written."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.output import Tell, bar
from likewise.errors import InvalidParameter

if TYPE_CHECKING:
    from rich.console import Console

    from likewise.experiments.runs import Settings

FITTING = "Fitting the class"
PEOPLE, CLASS, PLAY = "The people", "The class of hypotheses", "The play"

Encoding = Annotated[
    str,
    typer.Option(
        rich_help_panel=PEOPLE, help="How a file of text is encoded, if not in UTF-8: cp1252, latin-1, utf-16, …"
    ),
]
Label = Annotated[
    str | None, typer.Option(rich_help_panel=PEOPLE, help="The column that holds the right answer, of two values.")
]
Positive = Annotated[
    str | None, typer.Option(rich_help_panel=PEOPLE, help="The value of the label that counts as a yes.")
]
CompareBy = Annotated[
    str, typer.Option(rich_help_panel=PEOPLE, help="Columns that may justify a difference: income,debt.")
]
Sensitive = Annotated[
    str,
    typer.Option(
        rich_help_panel=PEOPLE,
        help="Columns that must not justify one. The class may still use them; name them in --drop as well to forbid "
        "that. How groups fare is shown for each.",
    ),
]
Drop = Annotated[str, typer.Option(rich_help_panel=PEOPLE, help="Columns that nobody may use.")]
Categories = Annotated[
    str, typer.Option(rich_help_panel=PEOPLE, help="Columns of numbers that are categories: postcode,branch.")
]
Units = Annotated[
    str,
    typer.Option(
        rich_help_panel=PEOPLE,
        help="How far apart in a number counts fully for the simulated distance: income=20000,debt=5. By default the "
        "range of the middle half of the people.",
    ),
]
Class = Annotated[
    str,
    typer.Option(
        "--class",
        rich_help_panel=CLASS,
        help="What policies are mixtures of: suggested (cut-offs on scores made for these people and for what they are "
        "compared by), thresholds (cut-offs on every column but the label and the dropped ones), cells (all ways to "
        "label a grid) or models (cut-offs on the scores of six scikit-learn models).",
    ),
]
Cuts = Annotated[
    int | None,
    typer.Option(
        min=1, rich_help_panel=CLASS, help="Cut-offs per score, column or model, at most; 24 of suggested, else 16."
    ),
]
Small = Annotated[
    bool,
    typer.Option(
        "--small",
        rich_help_panel=CLASS,
        help="A smaller suggested class: only what a fair policy needs by the written measure, without the insurance "
        "against reviewers who compare in another way.",
    ),
]
Anchors = Annotated[
    str,
    typer.Option(
        rich_help_panel=CLASS,
        help="What a suggested class holds of the people whom it is fitted on: people (the columns to compare by of up "
        "to 2,000 of them) or centres (averages of five or more instead).",
    ),
]
Bins = Annotated[int, typer.Option(min=1, rich_help_panel=CLASS, help="Intervals per column of the grid of cells.")]
Features = Annotated[
    str, typer.Option(rich_help_panel=CLASS, help="Columns of the grid of cells; those to compare by, by default.")
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        rich_help_panel=PEOPLE,
        help="The column that says who each row is; each-row if every row is a person of its own.",
    ),
]
Today = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=PEOPLE, help="The column of what is decided today, yes or no or a probability, to compare with."
    ),
]
SplitShares = Annotated[
    str,
    typer.Option(
        "--split",
        rich_help_panel=PEOPLE,
        help="Shares of the people, in percent: to fit models and cut-offs on, to play with, and to hold out until the "
        "end.",
    ),
]
DEFAULT_SPLIT = "25,25,50"
Alpha = Annotated[
    float,
    typer.Option(
        min=0.0, max=1.0, rich_help_panel=PLAY, help="How much more than their distance two people may differ (α)."
    ),
]
Rounds = Annotated[int | None, typer.Option(min=1, rich_help_panel=PLAY, help="How many rounds to play (T).")]
People = Annotated[
    int, typer.Option(min=2, rich_help_panel=PLAY, help="How many people to decide about in a round (k).")
]
Seed = Annotated[int, typer.Option(min=0, rich_help_panel=PLAY, help="Determines every random number of the play.")]

_WORD = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]+))')
LISTS = ("compare_by", "sensitive", "drop", "categories", "features", "show")


def listed(text: str) -> tuple[str, ...]:
    """Words separated by commas; one that has a comma itself, or spaces at its ends, goes in quotes, as in a CSV file.

    Examples
    --------
    >>> listed('income, "debt, in thousands"," age "')
    ('income', 'debt, in thousands', ' age ')
    """
    words = (quoted.replace('""', '"') or plain.strip() for quoted, plain in _WORD.findall(text))
    return tuple(word for word in words if word)


def as_list(words: Iterable[str]) -> str:
    """Words as :func:`listed` takes them.

    Examples
    --------
    >>> as_list(["income", "debt, in thousands", " age "])
    'income,"debt, in thousands"," age "'
    """
    return ",".join('"' + word.replace('"', '""') + '"' if _needs_quotes(word) else word for word in words)


def _needs_quotes(word: str) -> bool:
    return word != word.strip() or "," in word or word.startswith('"')


def shares(text: str) -> tuple[float, ...]:
    """Three shares in percent.

    Examples
    --------
    >>> shares("25,25,50")
    (25.0, 25.0, 50.0)
    """
    try:
        return tuple(float(word) for word in listed(text))
    except ValueError:
        raise InvalidParameter(f"`split` must look like 25,25,50, got {text!r}.") from None


def measured(text: str, name: str) -> dict[str, float]:
    """Names and numbers.

    Examples
    --------
    >>> measured("income=20000, debt=5", "units")
    {'income': 20000.0, 'debt': 5.0}
    """
    pairs = [word.rpartition("=") for word in listed(text)]
    try:
        return {column.strip(): float(value) for column, _, value in pairs}
    except ValueError:
        raise InvalidParameter(f"`{name}` must look like income=20000,debt=5, got {text!r}.") from None


def files_of(text: str) -> dict[str, str]:
    """Columns, and the files of the models that fill them, by their whole paths.

    Examples
    --------
    >>> list(files_of("risk=credit.onnx, rule=models/rule.zip"))
    ['risk', 'rule']
    """
    pairs = [word.partition("=") for word in listed(text)]
    if not all(column.strip() and file.strip() for column, _, file in pairs):
        raise InvalidParameter(f"`models` must look like risk=models.zip, got {text!r}.")
    return {column.strip(): str(Path(file.strip()).absolute()) for column, _, file in pairs}


def settings_from(parameters: dict[str, Any], source: str) -> Settings:
    """The settings that a command line asks for; a name that is not a file must be a built-in data set."""
    from likewise.experiments import runs

    names = {field.name for field in dataclasses.fields(runs.Settings)} & set(parameters)
    chosen = {name: parameters[name] for name in names}
    chosen |= {name: listed(parameters[name]) for name in LISTS if name in names}
    chosen["units"] = measured(parameters["units"], "units")
    chosen["models"] = files_of(parameters.get("models", ""))
    chosen["split"] = shares(parameters["split"])
    chosen |= runs.located(source)
    T = parameters["rounds"] or (runs.ROUNDS_ASKED if parameters.get("ask") else runs.ROUNDS)
    part = runs.rounds_in_a_part(parameters.get("learner", "adahedge"), T)
    return runs.Settings(**chosen, k=parameters["people"], T=T, part=part)


def refuse_changes(context: typer.Context, allowed: set[str], why: str) -> None:
    """Raise if an option was given that a run's folder has settled already."""
    changed = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in allowed and _typed(context, parameter.name or "")
    ]
    if changed:
        raise InvalidParameter(f"`{changed[0]}` must be left out with {why}: the folder's settings hold.")


def _typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


@contextmanager
def reading(console: Console) -> Iterator[Tell]:
    """While people are read, and a class is fitted to them, which the caller tells of.

    The command itself says what is left out, once, so the log need not.
    """
    log = logging.getLogger("likewise.datasets")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with ExitStack() as shown:
            status = shown.enter_context(console.status("Reading the people…"))

            @cache
            def fitting() -> Tell:
                status.stop()  # no two of them at once
                return shown.enter_context(bar(FITTING, console, hidden=False))

            yield lambda done, total: fitting()(done, total)
    finally:
        log.setLevel(before)


def free_folder(name: str) -> Path:
    """A folder that doesn't exist yet: name, name-2, name-3, …"""
    path, number = Path(name), 2
    while path.exists():
        path, number = Path(f"{name}-{number}"), number + 1
    return path
