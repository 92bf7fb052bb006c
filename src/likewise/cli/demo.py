"""``likewise demo``: three learners on the same people."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from likewise.cli.output import AsJson, bar, print_json, scoreboard_table, words
from likewise.wording import at_most

if TYPE_CHECKING:
    from likewise.experiments.demo import Line

EXAMPLES = """
Examples:

    likewise demo

    likewise demo --synthetic --rounds 500

    likewise demo --alpha 0.05 --seed 1 --json
"""


def demo(
    rounds: Annotated[int, typer.Option(min=100, help="How many rounds to play (T).")] = 2000,
    people: Annotated[int, typer.Option(min=2, help="How many people to decide about in a round (k).")] = 6,
    alpha: Annotated[
        float, typer.Option(min=0.001, max=1.0, help="How much more than their distance two people may differ.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Determines every random number of the demo.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("demo"),
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="Play on the built-in population, without any download.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Play three learners on the same people (Adult) against the same hidden distance, and compare them."""
    from likewise import datasets, figures
    from likewise.experiments import demo as demonstration
    from likewise.experiments.runs.deployed import plain

    data, missing = (datasets.synthetic(), "") if synthetic else demonstration.data_or_synthetic()
    console = words(as_json)
    if missing:
        console.print(f"[yellow]No Adult data here: {missing} Playing on made-up people instead.[/]")
    console.print(f"[bold]{data.name}.[/] {data.described}")
    with bar("Fitting scores on a quarter of the people", console, hidden=as_json) as fitting:
        setting = demonstration.prepare(data, rounds, people, alpha, seed, progress=fitting)
    console.print(f"{setting.split}.", highlight=False)
    console.print(
        f"{rounds:,} rounds of {people} people; policies are mixtures of {setting.hypotheses.size} hypotheses: "
        "cut-offs on scores of all columns and of what reviewers compare by.\n"
        "The simulated reviewer reports one pair whose probabilities differ by more than their distance + "
        f"{alpha:g}.\n"
    )
    plays = demonstration.run(setting, seed, progress=not as_json)
    lines = demonstration.table(plays)
    with console.status("Looking at the people who were held out…"):
        choice, board, groups = demonstration.judged(setting, plays)
    drawn = figures.learning_curves(plays, title=f"{data.name}: three learners, the same people, the same reviewer")
    picture = figures.save(drawn, out / "learning.png")
    if as_json:
        learners = [dataclasses.asdict(line) for line in lines]
        held_out: dict[str, Any] = {"choice": choice.to_dict(), "scoreboard": plain(board)}
        held_out |= {"groups": None if groups is None else groups.to_dict()}
        print_json({"data": data.name, "picture": str(picture), "learners": learners} | held_out)
        return
    console.print(f"{choice.headline}\n", highlight=False)
    console.print(scoreboard_table(plain(board), console.width))
    for sentence in () if groups is None else [table.sentence for table in groups.tables]:
        console.print(sentence, highlight=False, markup=False)
    console.print("\nHow the three learned, on the people who played:", highlight=False)
    console.print(_demo_table(lines))
    console.print(
        "A violation is a round in which the reviewer pointed at two people whose probabilities differ more than the "
        "people do; fewer is fairer. The last column is proved from the reports: no mixture of these hypotheses that "
        "is fair to every pair of a round would have saved more errors, even chosen in hindsight. Below 0, each would "
        "have made that many more.\n",
    )
    console.print(f"Picture: {picture}")


def _demo_table(lines: list[Line]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("learner", no_wrap=True)
    headings = ("violations", "in the last\nquarter", "a fair policy would have\nsaved, in errors, at most")
    for heading in headings:
        table.add_column(heading, justify="right")
    for line in lines:
        counts = f"{line.violations:,}", f"{line.late_violations:,}"
        table.add_row(line.name, *counts, at_most(line.regret))
    return table
