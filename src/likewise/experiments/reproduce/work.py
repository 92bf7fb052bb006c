"""Many independent plays at once, with progress; and straight lines through what they measured."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

import numpy as np

T = TypeVar("T")
Tell: TypeAlias = Callable[[str, int, int], None]
"""Called with an experiment's title, the plays done and their number."""


def silent(title: str, done: int, total: int) -> None:
    """Tell nobody."""


class Workers:
    """Runs independent calls on a few processes, and reports progress.

    Examples
    --------
    >>> Workers(jobs=1).map(abs, [(-1,), (2,)])
    [1, 2]
    """

    def __init__(self, jobs: int = 2, tell: Tell = silent, title: str = "") -> None:
        self.jobs = jobs
        self.tell = tell
        self.title = title
        self._done = self._total = 0

    def map(self, call: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T]:
        """``call`` with each tuple of arguments, in order; put long calls first, so that no process waits."""
        from joblib import Parallel, delayed

        self._total += len(calls)
        self.tell(self.title, self._done, self._total)
        running = Parallel(n_jobs=self.jobs, return_as="generator")(delayed(call)(*arguments) for arguments in calls)
        results = []
        for result in running:
            results.append(result)
            self._done += 1
            self.tell(self.title, self._done, self._total)
        return results


@contextmanager
def shown(progress: Tell | bool) -> Iterator[Tell]:
    """Where progress goes: nowhere, to a rich progress bar, or to the caller's own function."""
    if callable(progress):
        yield progress
    elif not progress:
        yield silent
    else:
        with _bars() as tell:
            yield tell


@contextmanager
def _bars() -> Iterator[Tell]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(12), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        tasks: dict[str, Any] = {}

        def tell(title: str, done: int, total: int) -> None:
            if title not in tasks:
                tasks[title] = progress.add_task(title, total=total)
            progress.update(tasks[title], completed=done, total=total)

        yield tell


def exponent(T: Sequence[float], values: Sequence[float], fewest: float = 0.0) -> float:
    """The slope on log–log axes, by least squares; NaN unless all values are positive and the largest ≥ ``fewest``.

    Examples
    --------
    >>> round(exponent([10, 100, 1000], [1, 10, 100]), 6)
    1.0
    """
    if len(values) < 2 or min(values) <= 0 or max(values) < fewest:
        return float("nan")
    return float(np.polyfit(np.log(T), np.log(values), 1)[0])


def power(fit: float) -> str:
    """An exponent as a power of T; a dash where there was nothing to fit.

    Examples
    --------
    >>> power(0.754), power(float("nan"))
    ('T^0.75', '–')
    """
    return "–" if math.isnan(fit) else f"T^{fit:.2f}"


def per_log(T: Sequence[float], values: Sequence[float]) -> float:
    """The slope against ln T, by least squares.

    Examples
    --------
    >>> round(per_log([1, np.e], [3, 5]), 6)
    2.0
    """
    return float(np.polyfit(np.log(T), values, 1)[0]) if len(values) > 1 else float("nan")


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self.start
