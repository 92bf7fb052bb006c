"""The command ``likewise``."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from likewise import figures
from likewise.errors import InvalidParameter, LikewiseError
from likewise.experiments import demo as demonstration

app = typer.Typer(
    help="Online decisions that learn individual fairness from a person who only points at unfair pairs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console()


def _version(asked: bool) -> None:
    if asked:
        console.print(f"likewise {importlib.metadata.version('likewise')}")
        raise typer.Exit


@app.callback()
def likewise(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Online decisions that learn individual fairness from a person who only points at unfair pairs."""


@app.command()
def demo(
    rounds: Annotated[int, typer.Option(min=100, help="How many rounds to play (T).")] = 2000,
    people: Annotated[int, typer.Option(min=2, help="How many people to decide about in a round (k).")] = 6,
    alpha: Annotated[
        float, typer.Option(min=0.001, max=1.0, help="How much more than their distance two people may differ.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Names every random number of the demo.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("demo"),
    synthetic: Annotated[bool, typer.Option(help="Play on the built-in population, without any download.")] = False,
) -> None:
    """Play three learners on the same people (Adult) against the same hidden distance, and compare them."""
    from likewise import datasets

    data, missing = (datasets.synthetic(), "") if synthetic else demonstration.data_or_synthetic()
    if missing:
        console.print(f"[yellow]No Adult data here: {missing} Playing on made-up people instead.[/]")
    console.print(f"[bold]{data.name}.[/] {data.described}")
    with console.status(f"Fitting six models on {demonstration.WARM_UP:,} people that the game will not see…"):
        setting = demonstration.prepare(data, rounds, people, alpha, seed)
    console.print(
        f"{rounds:,} rounds of {people} people; policies are mixtures of {setting.hypotheses.size} hypotheses: "
        "six models' scores × cut-offs.\n"
        f"The auditor reports one pair whose probabilities differ by more than their distance + {alpha:g}.\n"
    )
    plays = demonstration.run(setting, seed, progress=True)
    console.print(_demo_table(demonstration.table(setting, plays)))
    console.print(
        "How to read it: a violation is a round in which the auditor pointed at two people whose probabilities "
        "differ more than the people do (fewer is fairer, at the price of the accuracy that came from such "
        "differences), and regret is what hindsight would have saved, errors and penalties together.\n",
    )
    drawn = figures.learning_curves(plays, title=f"{data.name}: three learners, the same people, the same auditor")
    console.print(f"Picture: {figures.save(drawn, out / 'learning.png')}")


@app.command()
def reproduce(
    quick: Annotated[bool, typer.Option("--quick", help="About one minute instead of about five.")] = False,
    out: Annotated[Path, typer.Option(help="Where the page, tables and figures go.")] = Path("reproduced"),
    only: Annotated[str, typer.Option(help="Which experiments to run, by number: 1,4. All seven by default.")] = "",
) -> None:
    """Run the paper's seven experiments and write tables, figures and one page that holds them all."""
    from likewise.experiments.reproduce import reproduce as run

    parts = [part.strip() for part in only.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise InvalidParameter(f"`only` must be numbers from 1 to 7 with commas between, got {only!r}.")
    found = run(out, quick, {int(part) for part in parts} or None, progress=True)
    console.print(f"Page: {found.page}")
    if found.failures:
        console.print(f"[red]{found.failures} checks failed; the page shows which.[/]")
        raise typer.Exit(1)


def _demo_table(lines: list[demonstration.Line]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("learner", no_wrap=True)
    headings = (
        "error per\nperson", "violations", "in the last\nquarter", "Lagrangian\nregret", "proved\nbelow",
    )  # fmt: skip
    for heading in headings:
        table.add_column(heading, justify="right")
    for line in lines:
        counts = f"{line.violations:,}", f"{line.late_violations:,}"
        table.add_row(line.name, f"{line.error:.3f}", *counts, f"{line.regret:,.0f}", f"{line.bound:,.0f}")
    return table


def main() -> None:
    """Run the command; our own errors are one sentence, not a traceback."""
    try:
        app()
    except LikewiseError as error:
        console.print(f"[red]{error}[/]")
        raise SystemExit(2) from None
