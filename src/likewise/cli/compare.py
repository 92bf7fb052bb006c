"""``likewise compare``: a sweep over learners and everything that can be chosen for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from likewise.cli import options
from likewise.cli.output import AsJson, bar, print_json, scoreboard_table, words
from likewise.errors import InvalidParameter

if TYPE_CHECKING:
    from rich.console import Console

    from likewise.datasets import Dataset
    from likewise.experiments.compare import Board, Comparison, Line, Mean, Recipe, Sweep

EXAMPLES = """
Examples:

    likewise compare synthetic --seeds 3

    likewise compare adult --class models --learners adahedge,primal-dual,fair-leader,batchwise,submetric

    likewise compare adult --class models --learners adahedge --C default,7,21,70,210 --frontier

    likewise compare people.csv --label approved --compare-by income,debt --alpha 0.05,0.1 --auditors worst,noisy:0.1

    likewise compare adult --backend dask --address tcp://scheduler:8786
"""
WHERE = "Where it runs"
NO_PICTURE = "No picture: pip install matplotlib."


def compare(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(help="A CSV, parquet or JSON-lines file of people, or a built-in data set: adult, …")
    ],
    learners: Annotated[
        str,
        typer.Option(
            help="adahedge, scheduled, tilted, hedge, weights, ftpl, leader, unconstrained; baselines: primal-dual, "
            "fair-leader, fair-leader-asked, fair-leader-told, batchwise, batchwise-floor, submetric, mahalanobis, "
            "meritocratic."
        ),
    ] = "unconstrained,weights,hedge,adahedge",
    penalties: Annotated[
        str, typer.Option("--C", help="What a report weighs: default,10,100; default is the learner's own.")
    ] = "default",
    alpha: Annotated[str, typer.Option(help="How much more than their distance two people may differ.")] = "0.1",
    margin: Annotated[str, typer.Option(help="Report pairs this much before they count as violations.")] = "0",
    auditors: Annotated[
        str, typer.Option(help="worst, first, random, noisy:RATE, misses:RATE, false:RATE, panel:any|majority|all.")
    ] = "worst",
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds; error bars are over them.")] = 5,
    rounds: Annotated[int, typer.Option(min=1, help="How many rounds each play has (T).")] = 2000,
    people: options.People = 6,
    draws: Annotated[int, typer.Option(min=1, help="Draws a round of ftpl; its theorem needs more.")] = 300,
    encoding: options.Encoding = "",
    label: options.Label = None,
    positive: options.Positive = None,
    compare_by: options.CompareBy = "",
    sensitive: options.Sensitive = "",
    drop: options.Drop = "",
    categories: options.Categories = "",
    units: options.Units = "",
    id: options.Id = None,
    today: options.Today = None,
    split: options.SplitShares = options.DEFAULT_SPLIT,
    hypotheses: options.Class = "suggested",
    cuts: options.Cuts = None,
    small: options.Small = False,
    anchors: options.Anchors = "people",
    bins: options.Bins = 4,
    features: options.Features = "",
    frontier: Annotated[
        bool, typer.Option("--frontier", help="Also draw the exact best policies in hindsight, for the first seed.")
    ] = False,
    jobs: Annotated[int, typer.Option(rich_help_panel=WHERE, help="Processes here; -1 for all cores.")] = -1,
    backend: Annotated[str, typer.Option(rich_help_panel=WHERE, help="loky (this machine), dask or ray.")] = "loky",
    address: Annotated[
        str | None, typer.Option(rich_help_panel=WHERE, help="Where the cluster's scheduler listens.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder of the results, people-compared for people.csv; a stopped sweep continues in it."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try learners, penalties, margins, levels, auditors and seeds on the same people.

    Each line of the table is one combination, with its mean over seeds and the standard error of that mean. Results
    are written as they come: stop with Ctrl-C whenever you like; the same command continues where it stopped.
    """
    from likewise.experiments import compare as sweeps

    console = words(as_json)
    sweep, recipe = _asked(context.params)
    sweeps.check_place(backend, address)
    with options.reading(console):
        data = _people(context.params)
    folder = out or Path(f"{Path(source).stem}-compared")
    console.print(f"[bold]{escape(data.name)}.[/] {escape(data.described)} {escape(data.distance_described)}")
    if not data.named:
        console.print(f"Note: {data.datasheet.problems[-1]}", markup=False)
    with _stoppable(console, folder), bar("Playing", console, hidden=as_json, stays=True) as tell:
        comparison = sweeps.compare(sweep, data, folder, recipe=recipe, jobs=jobs, backend=backend, address=address,
                              progress=tell, fitting=partial(tell, title=options.FITTING))  # fmt: skip
    table = sweeps.write_table(comparison.lines, folder / "table.csv")
    with console.status("Drawing, and looking at the people who were held out…"):
        pictures = _drawn(comparison, data.name, frontier)
        board = sweeps.judged(comparison)
    if as_json:
        files = {"results": str(folder / "results.jsonl"), "table": str(table), "pictures": [str(p) for p in pictures]}
        lines = [line.record() for line in comparison.lines]
        trials = {"trials": len(comparison.results), "played": comparison.played, "lines": lines}
        print_json({"data": data.name} | trials | _held_out(board) | files)
        return
    _show(console, comparison)
    _show_board(console, board)
    console.print(f"Results: {folder / 'results.jsonl'} and {table}", markup=False, soft_wrap=True)
    drawn = f"Picture: {', '.join(map(str, pictures))}" if pictures else NO_PICTURE
    console.print(drawn, markup=False, soft_wrap=True)


def _asked(parameters: dict[str, Any]) -> tuple[Sweep, Recipe]:
    from likewise.experiments.compare import Recipe, Sweep

    sweep = Sweep(
        learners=options.listed(parameters["learners"]),
        penalties=_numbers(parameters["penalties"], "C", {"default": None}),
        margins=_numbers(parameters["margin"], "margin"),
        alphas=_numbers(parameters["alpha"], "alpha"),
        auditors=options.listed(parameters["auditors"]),
        seeds=tuple(range(parameters["seeds"])),
        **{name: parameters[name] for name in ("rounds", "people", "draws")},
    )
    recipe = {name: parameters[name] for name in ("hypotheses", "cuts", "small", "anchors", "bins")}
    split, features = options.shares(parameters["split"]), options.listed(parameters["features"])
    return sweep, Recipe(**recipe, split=split, features=features)


def _numbers(text: str, name: str, words: dict[str, Any] | None = None) -> tuple[Any, ...]:
    values = words or {}
    try:
        return tuple(values[word] if word in values else float(word) for word in options.listed(text))
    except ValueError:
        raise InvalidParameter(f"`{name}` must be numbers separated by commas, got {text!r}.") from None


def _people(parameters: dict[str, Any]) -> Dataset:
    from likewise.experiments.runs.population import read

    names = (
        "label",
        "encoding",
        "positive",
        "compare_by",
        "sensitive",
        "drop",
        "categories",
        "units",
        "id",
        "today",
        "split",
        "features",
        "rounds",
        "people",
    )
    _, data, _ = read(options.settings_from({name: parameters[name] for name in names}, parameters["source"]))
    return data


def _drawn(comparison: Comparison, name: str, exact: bool) -> list[Path]:
    from likewise.experiments.compare import draw

    return draw(comparison, name, exact=exact) if find_spec("matplotlib") is not None else []


@contextmanager
def _stoppable(console: Console, folder: Path) -> Iterator[None]:
    """Ctrl-C ends with a sentence that says how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        text = f"Stopped. What was played is in {folder / 'results.jsonl'}; the same command continues from there."
        console.print(text, markup=False, soft_wrap=True)
        raise typer.Exit(130) from None


TRIED = {"learner": "learner", "C": "C", "alpha": "α", "margin": "margin", "auditor": "auditor"}


MEASURED = {
    "error": ("error", 3),
    "violations": ("violations", 0),
    "late_violations": ("last quarter", 0),
    "unfair_across": ("across", 3),
    "share_of_gain": ("share of gain", 2),
    "lottery": ("lottery", 3),
    "answers": ("answers", 0),
    "reports": ("reports", 0),
    "regret": ("regret", 0),
}
"""Measured columns: their heads and digits."""
LEAST_FIRST = ("regret", "reports", "lottery", "answers", "told", "share_of_gain", "unfair_across", "late_violations")
"""Which columns go first in a narrow window; wrapped or cut off, a number would be none."""


def _show(console: Console, comparison: Comparison) -> None:
    lines = comparison.lines
    tried = [name for name in TRIED if name == "learner" or len({getattr(line, name) for line in lines}) > 1]
    columns = {name: [TRIED[name], *(_cell(line, name) for line in lines)] for name in tried}
    if len({line.told for line in lines}) > 1:
        columns["told"] = ["told", *(line.told for line in lines)]
    for name, (head, digits) in MEASURED.items():
        columns[name] = [head, *(_mean(getattr(line, name), digits) for line in lines)]
    for name in LEAST_FIRST:
        if sum(max(map(len, cells)) + 2 for cells in columns.values()) <= console.width:
            break
        columns.pop(name, None)
    table = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for name, (head, *_) in columns.items():
        table.add_column(head, no_wrap=True, justify="left" if name in ("learner", "auditor", "told") else "right")
    for row in zip(*(cells[1:] for cells in columns.values()), strict=True):
        table.add_row(*row)
    console.print(table)
    _explain(console, lines, set(columns))


def _mean(mean: Mean | None, digits: int) -> str:
    return "–" if mean is None else mean.text(digits)


EXPLAINED = {
    "told": "Told: beside people and labels of the play; a share of labels is that of the people on whom the class was "
    "fitted.",
    "late_violations": "Last quarter: violations in the last quarter of the rounds.",
    "unfair_across": "Across: of two random people of different rounds of the last quarter, the share whose "
    "probabilities differ by more than their distance + α.",
    "share_of_gain": "Share of gain: of what any fair policy could gain over one answer for all, on people of the last "
    "quarter, by a model of the label; a learner that isn't fair can exceed 1.",
    "lottery": "Lottery: how likely two equal people of the last quarter get different answers.",
    "answers": "Answers: verdicts or distances that people gave; – where the learner holds the distance itself.",
    "regret": "Regret counts errors and penalties together.",
}


def _explain(console: Console, lines: list[Line], shown: set[str]) -> None:
    seeds = f"Means over {lines[0].seeds} seeds ± their standard errors" if lines[0].seeds > 1 else "One seed"
    console.print(
        f"{seeds}; {lines[0].rounds:,} rounds a play. Errors are per person. Violations are rounds in which two people "
        "differ by more than their distance + α, whether or not the auditor reports it. "
        f"{' '.join(words for name, words in EXPLAINED.items() if name in shown)} Seeds choose the order in which "
        "people come; who plays, and the class of hypotheses, are "
        "the same for all. Errors in this table are those of the plays, in which people may have come again.\n"
    )


def _held_out(board: Board | None) -> dict[str, Any]:
    """What held-out people say, as plain JSON values."""
    from likewise.experiments.runs.deployed import plain

    if board is None:
        return {"choice": None, "scoreboard": None}
    about = {"learner": board.trial.learner, "alpha": board.trial.alpha, "seed": board.trial.seed}
    return {"choice": board.choice.to_dict() | about, "scoreboard": plain(board.scoreboard)}


def _show_board(console: Console, board: Board | None) -> None:
    if board is None:
        console.print("Nobody was held out, so nothing is claimed about new people.\n", highlight=False)
        return
    trial = board.trial
    console.print(
        f"On people whom no trial has seen, what {trial.learner} learned with seed {trial.seed} at α = {trial.alpha:g} "
        f"from the auditor {trial.auditor}. {board.choice.headline}",
        markup=False,
        highlight=False,
    )
    console.print(scoreboard_table(_held_out(board)["scoreboard"], console.width))


def _cell(line: Line, name: str) -> str:
    from likewise.experiments.compare import LEARNERS

    value = getattr(line, name)
    if value is None:
        return "default" if LEARNERS[line.learner].has_penalty else "–"
    return value if isinstance(value, str) else f"{value:g}"
