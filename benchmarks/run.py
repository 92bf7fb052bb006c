"""``make bench``: every row of the table, a figure of how cost grows, and docs/benchmarks.md written from them."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np
from growth_figure import draw
from isolation import isolation
from long_rows import long_logs
from measure import Row
from profiles import where_time_goes
from rich.console import Console
from rich.table import Table
from rows import ALL

from service import service

console = Console(width=140)
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def machine() -> str:
    """What this was measured on."""
    packages = ("numpy", "scipy", "numba", "highspy", "scikit-learn", "river", "vowpalwabbit")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores ({processor()}), {memory:.0f} GiB of memory, {platform.system()}, "
        f"Python {platform.python_version()}, likewise {importlib.metadata.version('likewise')}, {versions}"
    )


def processor() -> str:
    """The processor's name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def table_of(rows: list[Row]) -> Table:
    """The rows, for a terminal."""
    table = Table("work", "beside", "ours", "theirs", "ratio", "goal", "")
    for row in rows:
        mark = "" if row.goal == "—" else "[green]reached[/]" if row.reached else "[red]missed[/]"
        table.add_row(row.work, row.beside, row.ours, row.theirs, f"{row.ratio:.3g} ×", row.goal, mark)
    return table


def page(rows: list[Row], profiles: str) -> str:
    """docs/benchmarks.md."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench` (about ten minutes; `make bench-quick` prints the same table in about one, from",
        "smaller work, and writes nothing). Both sides of a row run in turns on the same machine, three to fifteen",
        "times unless the row says once; times are medians, and the ratio is the median of the ratios within a turn.",
        "Times on another machine will differ; ratios should not by much.",
        "",
        f"Measured on {machine()}.",
        "",
        "| work | beside | ours | theirs | ratio | goal | |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        mark = "" if row.goal == "—" else "reached" if row.reached else "**missed**"
        beside = f"{row.beside} ({row.note})" if row.note else row.beside
        lines.append(f"| {row.work} | {beside} | {row.ours} | {row.theirs} | {row.ratio:.3g} × | {row.goal} | {mark} |")
    lines += [
        "",
        "None of the online learners beside ours audits anybody: they learn from labels alone and stand here for",
        "scale. How far linprog gets was found by `python benchmarks/linprog_sizes.py`.",
        "",
        "In the rows of rounds over HTTP, the clients, the service and PostgreSQL share the cores of the machine. On",
        "two cores a second worker takes time from all of them, so its rows say little about machines with more.",
        "",
        "## How cost grows",
        "",
        "![Seconds against T, N and E on logarithmic axes](images/growth.png)",
        "",
        "Seconds of a whole play against the number of rounds T, of one round against the number of hypotheses N,",
        "and of one round of Context-FTPL against the number of draws E. A slope of one is proportional growth. The",
        "paper's text taken literally is extrapolated from the time of twenty draws in round 100.",
        "",
        "## Where the time goes",
        "",
        profiles,
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and (unless quick) write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller work, about a minute, writes nothing")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some measures by name (service, …); writes nothing")
    chosen = parser.parse_args()
    quick = chosen.quick
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    rows: list[Row] = []
    start = time.perf_counter()
    for measure in (*ALL, service, long_logs, isolation):
        if chosen.only is not None and measure.__name__ not in chosen.only:
            continue
        with console.status(f"Measuring {measure.__name__} …"):
            rows += measure(quick)
    console.print(table_of(rows))
    if chosen.only is None:
        console.print(machine())
    if not quick and chosen.only is None:
        with console.status("Drawing and profiling …"):
            draw(PAGE.parent / "images" / "growth.png")
            PAGE.write_text(page(rows, where_time_goes()))
        console.print(f"Wrote {PAGE.name} and images/growth.png.")
    console.print(f"Took {(time.perf_counter() - start) / 60:.1f} minutes.")
    if missed := [row.work for row in rows if not row.reached]:
        console.print(f"[red]Missed: {len(missed)} goals.[/]")


if __name__ == "__main__":
    main()
