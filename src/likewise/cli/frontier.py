"""``likewise frontier``: what fairness costs, exactly, in hindsight."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from likewise.cli import options
from likewise.cli.output import AsJson, Tell, print_json, words
from likewise.errors import InvalidParameter

if TYPE_CHECKING:
    from likewise.experiments.runs import Setup
    from likewise.game import Transcript
    from likewise.hindsight import Frontier

EXAMPLES = """
Examples:

    likewise frontier people-run

    likewise frontier people-run --alphas 0,0.02,0.05,0.1

    likewise frontier people.csv --label approved --compare-by income,debt --class models
"""


def frontier(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(help="The folder of a run, a file of people, or a built-in data set: adult, …")
    ],
    alphas: Annotated[
        str, typer.Option(help="Levels α, from 0 to 1: 0,0.05,0.1. By default six, up to twice the run's α.")
    ] = "",
    encoding: options.Encoding = "",
    label: options.Label = None,
    positive: options.Positive = None,
    compare_by: options.CompareBy = "",
    sensitive: options.Sensitive = "",
    drop: options.Drop = "",
    categories: options.Categories = "",
    units: options.Units = "",
    id: options.Id = None,
    split: options.SplitShares = options.DEFAULT_SPLIT,
    hypotheses: options.Class = "suggested",
    cuts: options.Cuts = None,
    small: options.Small = False,
    anchors: options.Anchors = "people",
    bins: options.Bins = 4,
    features: options.Features = "",
    rounds: options.Rounds = None,
    people: options.People = 6,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None, typer.Option(help="Where the picture goes: the run's folder, or people-frontier.png.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the least error of any fixed policy that treats every two people of a round alike enough, level by level.

    The distance is the data set's own, or the simulated reviewer's for a file of people. The answer is exact for the
    rounds that were played: a linear program, with a lower limit that does not trust its solver.
    """
    console = words(as_json)
    levels = _levels(alphas)
    folder = Path(source) if (Path(source) / "settings.json").exists() else None
    with options.reading(console) as fitting:
        if folder is not None:
            options.refuse_changes(context, {"source", "alphas", "out", "as_json"}, "the folder of a run")
            setup, transcript = _of_run(folder, fitting)
        else:
            setup, transcript = _of_people(context.params, fitting)
    with console.status("Solving…"):
        trade_off = _frontier(setup, transcript, levels)
    picture = _drawn(trade_off, out or _place(source, folder))
    if as_json:
        print_json(_plain(trade_off) | {"picture": picture and str(picture)})
        return
    if setup.settings.ask:
        console.print("The reviewer of this run is a person, whose distance nobody knows; this is the data set's own.")
    console.print(escape(setup.data.distance_described))
    console.print(_table(trade_off))
    console.print(f"Picture: {picture}" if picture else "No picture: pip install matplotlib.", markup=False)


def _levels(text: str) -> list[float] | None:
    try:
        levels = [float(word) for word in options.listed(text)]
    except ValueError:
        levels = [math.nan]
    if not all(0 <= level <= 1 for level in levels):
        raise InvalidParameter(f"`alphas` must be numbers from 0 to 1, separated by commas, got {text!r}.")
    return levels or None


def _of_run(folder: Path, fitting: Tell) -> tuple[Setup, Transcript]:
    """The people and the rounds of a run so far."""
    from likewise.experiments.runs import Run

    run = Run.resume(folder, progress=fitting)
    transcript = run.transcript()
    if transcript is None:
        raise InvalidParameter(f"`source` must be a run with at least one round, got {folder}.")
    return run.setup, transcript


def _of_people(parameters: dict[str, Any], fitting: Tell) -> tuple[Setup, Transcript]:
    """Rounds of people from a file. Who comes does not depend on who learns, so the fastest learner plays."""
    from likewise.experiments.runs import prepare
    from likewise.game import play

    asked = options.settings_from(parameters | {"learner": "unconstrained"}, parameters["source"])
    setup = prepare(asked, fitting)
    return setup, play(setup.learner, setup.people, setup.simulated(), setup.settings.T, seed=setup.settings.seed)


def _frontier(setup: Setup, transcript: Transcript, levels: list[float] | None) -> Frontier:
    from likewise.experiments.runs import tradeoff

    return tradeoff(setup, transcript, levels)


def _place(source: str, folder: Path | None) -> Path:
    return Path(f"{Path(source).stem}-frontier.png") if folder is None else folder / "figures" / "frontier.png"


def _drawn(trade_off: Frontier, path: Path) -> Path | None:
    from importlib.util import find_spec

    from likewise import figures

    return None if find_spec("matplotlib") is None else figures.save(trade_off.plot(), path)


def _plain(trade_off: Frontier) -> dict[str, Any]:
    people = max(1, trade_off.people)
    points = [
        {
            "alpha": point.alpha,
            "error": point.error,
            "error_per_person": point.error / people,
            "lower_limit": point.lower,
            "binding_pairs": len(point.pairs),
            "dearest_pair": point.pairs[0]._asdict() if point.pairs else None,
        }
        for point in trade_off.points
    ]
    return {"people": trade_off.people, "best_error": trade_off.points[0].unconstrained, "points": points}


def _table(trade_off: Frontier) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("α", "least error\nper person", "more than the best\nhypothesis", "pairs\nthat bind"):
        table.add_column(heading, justify="right")
    people = max(1, trade_off.people)
    for point in trade_off.points:
        more = (point.error - point.unconstrained) / people
        table.add_row(f"{point.alpha:g}", f"{point.error / people:.4f}", f"{more:+.4f}", f"{len(point.pairs):,}")
    return table
