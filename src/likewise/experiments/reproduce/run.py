"""``likewise reproduce``: run the experiments, write tables and figures, and one page that holds them all."""

from __future__ import annotations

import json
import logging
import platform
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from likewise.errors import require
from likewise.experiments.reproduce import (
    auditors,
    drift,
    generalisation,
    identity,
    neighbours,
    no_metric,
    one_lot,
    penalties,
    perturbed,
    real,
    reviewed,
    weights,
)
from likewise.experiments.reproduce.page import page
from likewise.experiments.reproduce.result import Check, Experiment
from likewise.experiments.reproduce.work import Stopwatch, Tell, Workers, shown

log = logging.getLogger(__name__)

EXPERIMENTS: dict[int, ModuleType] = {
    1: identity,
    2: weights,
    3: perturbed,
    4: penalties,
    5: generalisation,
    6: auditors,
    7: real,
    8: neighbours,
    9: no_metric,
    10: drift,
    11: one_lot,
    12: reviewed,
}


class Reproduction(NamedTuple):
    """What a run wrote, and how much of it failed; as text, the page's path.

    Attributes
    ----------
    page
        The page.
    failures
        Checks of theorems that failed; an experiment that broke counts as one.
    """

    page: Path
    failures: int

    def __str__(self) -> str:
        return str(self.page)


def reproduce(
    out: Path,
    quick: bool = False,
    only: Collection[int] | None = None,
    progress: Tell | bool = True,
    *,
    jobs: int = 2,
    mode: str | None = None,
) -> Reproduction:
    """Run the experiments and write ``index.html``, ``results.json``, tables (CSV, JSON) and figures (PNG, SVG).

    Parameters
    ----------
    out
        The folder; it is created if it doesn't exist.
    quick
        About a minute instead of about five.
    only
        The numbers of the experiments to run; all by default.
    progress
        Show bars, or call a function of (title, done, total).
    jobs
        How many processes play at once.
    mode
        ``"tiny"`` runs in seconds, to see that everything works; ``quick`` chooses between the other two.

    Returns
    -------
    The page, and the number of failures.
    """
    chosen = sorted(set(EXPERIMENTS if only is None else only))
    require(
        set(chosen) <= set(EXPERIMENTS) and chosen != [], "only", f"name experiments 1 to {len(EXPERIMENTS)}", chosen
    )
    size, watch = mode or ("quick" if quick else "full"), Stopwatch()
    require(size in ("tiny", "quick", "full"), "mode", "be tiny, quick or full", size)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    experiments = []
    with shown(progress) as tell:
        for number in chosen:
            experiments.append(_run(number, size, jobs, tell))
            experiments[-1].save(out)
    results = [experiment.to_dict() for experiment in experiments]
    (out / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    path = out / "index.html"
    path.write_text(page(experiments, _facts(size, watch), out), encoding="utf-8")
    return Reproduction(path, sum(c.failures for experiment in experiments for c in experiment.checks))


def _run(number: int, size: str, jobs: int, tell: Tell) -> Experiment:
    """One experiment; one that breaks becomes a failed row of the page, and the others still run."""
    module, watch = EXPERIMENTS[number], Stopwatch()
    try:
        experiment: Experiment = module.run(module.SIZES[size], Workers(jobs, tell, f"{number} {module.TITLE}"))
    except Exception as error:
        log.exception("Experiment %d did not run to its end.", number)
        broken = Check(f"the experiment runs to the end: {type(error).__name__}: {error}", 1, 1, float("nan"), "none")
        experiment = Experiment(number, module.TITLE, "This experiment did not run to its end.", checks=[broken])
    experiment.seconds = watch.seconds
    return experiment


def _facts(size: str, watch: Stopwatch) -> list[str]:
    from likewise import __version__

    return [
        f"Likewise {__version__}, Python {platform.python_version()} on {platform.machine()}; “{size}” run, "
        f"{watch.seconds:.0f} seconds.",
        "Tables (CSV, JSON) and figures (PNG, SVG) are beside this page.",
    ]
