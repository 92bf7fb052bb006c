"""Run a sweep: on this machine's cores, on a Dask or Ray cluster, or on any other backend that joblib knows."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from likewise.datasets import Dataset
from likewise.errors import InvalidParameter, NotSupported, require
from likewise.experiments.compare.arena import Arena, Recipe, try_out
from likewise.experiments.compare.results import Results
from likewise.experiments.compare.summary import Line, summarise
from likewise.experiments.compare.trials import Sweep, Trial, make_learner

BACKENDS = ("loky", "dask", "ray")
PATIENCE = 10.0
"""Seconds to wait for a scheduler to answer."""
Progress = Callable[[int, int], None]
"""Called with the trials done and their number."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of a sweep.

    Attributes
    ----------
    results
        One record per trial, in the order of the sweep.
    lines
        The table: one line for each learner, C, margin, α and auditor, averaged over seeds.
    played
        How many trials were played now; the others had been before.
    folder
        Where ``results.jsonl`` is.
    arena
        Gives the people, encoded; made only when somebody asks.
    """

    sweep: Sweep
    results: list[dict[str, Any]]
    lines: list[Line]
    played: int
    folder: Path
    arena: Callable[[], Arena]


def compare(
    sweep: Sweep,
    data: Dataset,
    out: str | Path,
    *,
    recipe: Recipe | None = None,
    jobs: int = -1,
    backend: str | None = None,
    address: str | None = None,
    progress: Progress | None = None,
    fitting: Progress | None = None,
) -> Comparison:
    """Play every trial that ``out/results.jsonl`` does not hold yet, and average over seeds.

    Parameters
    ----------
    sweep
        What to try.
    data
        On whom.
    out
        The folder of the results; the same folder continues a sweep that was stopped.
    recipe
        How people become columns and a class.
    jobs
        Processes on this machine; −1 for all cores. A cluster uses what it has.
    backend, address
        ``"dask"`` or ``"ray"`` and where its scheduler listens. Without a backend, whatever joblib was told by
        ``joblib.parallel_config``, or this machine's processes.
    progress
        Called with the trials done and their number.
    fitting
        Called with the models that were fitted for the class, and how many there are at most.
    """
    from likewise import __version__

    recipe, results = recipe or Recipe(), Results(Path(out) / "results.jsonl")
    people = recipe.fingerprint(data)
    trials = {trial.key(people, __version__): trial for trial in sweep.trials()}
    by_key = results.read()
    missing = {key: trial for key, trial in trials.items() if key not in by_key}
    arena = cache(lambda: recipe.prepare(data, sweep.people, fitting))
    tell = progress or (lambda done, total: None)
    if missing:
        arena()
    tell(len(trials) - len(missing), len(trials))
    if missing:
        for trial in missing.values():
            make_learner(
                arena().hypotheses, trial, arena().distance
            )  # what can't be played is refused before anything is
        with cluster(backend, address, arena()), closing(_played(missing, arena(), jobs)) as played:
            for number, (key, measured) in enumerate(played, start=len(trials) - len(missing) + 1):
                _same_version(measured["version"], __version__)
                by_key[key] = {"key": key, "data": data.name} | dataclasses.asdict(trials[key]) | measured
                results.add(by_key[key])
                tell(number, len(trials))
    records = [by_key[key] for key in trials]
    return Comparison(sweep, records, summarise(records), len(missing), Path(out), arena)


Played = Generator[tuple[str, dict[str, Any]], None, None]
"""Keys and what was measured, in the order in which they come."""


def _played(trials: Mapping[str, Trial], arena: Arena, jobs: int) -> Played:
    """Play the trials, one result at a time, or a few where joblib's backend can't hand over single ones."""
    from joblib import Parallel, delayed, effective_n_jobs

    work = [delayed(_named)(key, trial, arena) for key, trial in trials.items()]
    try:
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    except ValueError:
        # Such backends (Ray's) may have workers elsewhere, which can't open a memory map of ours: max_nbytes.
        parallel, size = Parallel(n_jobs=jobs, batch_size=1, max_nbytes=None), 2 * effective_n_jobs(jobs)
        for start in range(0, len(work), size):
            yield from parallel(work[start : start + size])
        return
    with warnings.catch_warnings():
        # Whoever stops a sweep knows that the trials under way are lost.
        warnings.filterwarnings("ignore", r"\d+ tasks")
        with closing(parallel(work)) as running:
            yield from running


def _named(key: str, trial: Trial, arena: Arena) -> tuple[str, dict[str, Any]]:
    return key, try_out(trial, arena)


def _same_version(elsewhere: str, local: str) -> None:
    if elsewhere != local:
        raise NotSupported(
            f"The workers have Likewise {elsewhere} and this machine has {local}; install the same version on both."
        )


# Clusters -------------------------------------------------------------------------------------------------------


def check_place(backend: str | None, address: str | None) -> None:
    """Raise unless work can be sent there; cheap, so that it can be asked before anything else is done."""
    require(backend in (None, *BACKENDS), "backend", f"be one of {', '.join(BACKENDS)}", backend)
    local = backend not in ("dask", "ray")
    require(address is None or not local, "address", "be left out on this machine", address)
    require(address is not None or backend != "dask", "address", "be given for Dask, like tcp://host:8786", address)


@contextmanager
def cluster(backend: str | None, address: str | None, arena: Any) -> Iterator[None]:
    """joblib set up for a backend, for as long as the work lasts; the arena goes to every worker once."""
    check_place(backend, address)
    if backend not in ("dask", "ray"):
        from joblib import parallel_config

        with ExitStack() as stack:
            if backend is not None:
                stack.enter_context(parallel_config(backend=backend))
            yield
        return
    with _dask(address, arena) if backend == "dask" else _ray(address):
        yield


@contextmanager
def _dask(address: str | None, arena: Any) -> Iterator[None]:
    distributed = _needed("distributed", "dask", "dask distributed")
    from joblib import parallel_config

    try:
        client = distributed.Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise InvalidParameter(f"`address` must be that of a Dask scheduler, got {address!r}: {error}") from None
    # Sent once to every worker; otherwise each trial would carry all the people.
    with client, parallel_config(backend="dask", scatter=[arena]):
        yield


@contextmanager
def _ray(address: str | None) -> Iterator[None]:
    ray, ray_joblib = _needed("ray", "ray", "ray"), _needed("ray.util.joblib", "ray", "ray")
    from joblib import parallel_config

    ray_joblib.register_ray()
    ray.init(address=address)
    try:
        with parallel_config(backend="ray"):
            yield
    finally:
        ray.shutdown()


def _needed(module: str, backend: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise NotSupported(
            f"The backend {backend} needs a package that is not installed: pip install {package}."
        ) from None
