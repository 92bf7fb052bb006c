"""Where the time of the three main plays goes, by pyinstrument: samples of the stack, so little is added to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measure import seconds, shown
from rows import K, population

import likewise as lw
from likewise import kernels

OURS = str(Path(lw.__file__).parent)
KERNEL = "compiled"
PARTS = {
    KERNEL: "compiled loops",
    "kernels": "compiled loops",
    "game": "the loop and its transcript",
    "learners": "the learner",
    "hypotheses": "the class of hypotheses",
    "auditors": "the auditor",
    "environments": "the environment",
    "policies": "policies and their average",
    "protocol": "keys, batches and rounds",
    "reduction": "the reduction",
}


def where_time_goes() -> str:
    """For each play what its round takes, which part of it takes how much, and the functions that take the most."""
    X, y = population()
    F, few = lw.Thresholds.quantiles(X, cuts=50), lw.Thresholds.quantiles(X[:, :6], cuts=8)
    grid = lw.Cells.grid(X, bins=8, features=[0, 1])
    plays = {
        f"AdaHedge over {F.size:,} thresholds, readable loop": (lw.AdaHedge(F, k=K, alpha=0.1, T=10_000), X, 10_000),
        "AdaHedge over 2⁶⁴ labellings of 64 cells": (lw.AdaHedge(grid, k=K, alpha=0.1, T=10_000), X, 10_000),
        f"ContextFTPL, the paper's noise, E = 4,000, N = {few.size}, on one thread": (
            lw.ContextFTPL(few, T=4000, k=K, noise="paper", threads=1), X[:, :6], 500,
        ),
    }  # fmt: skip
    return "\n\n".join([INTRODUCTION, *(_section(name, *parts, y) for name, parts in plays.items())])


INTRODUCTION = """\
pyinstrument looks at the stack every millisecond. A sample counts for the innermost function of ours, so the time of
NumPy counts for its caller; compiled loops (numba) stand on their own. One thread, because a profiler sees only
the thread that it runs on."""


def _section(name: str, learner: Any, X: np.ndarray, T: int, y: np.ndarray) -> str:
    people = lw.IID(X, y, k=K).encoded(learner.hypotheses.encode)
    auditor = lw.MetricAuditor("cityblock", 0.1)

    def play() -> None:
        lw.play(learner, people, auditor, T, compiled=False)

    play()
    each = float(np.median([seconds(play) for _ in range(3)])) / T
    functions = sampled(play)
    parts: Counter[str] = Counter()
    for (_, part), share in functions.items():
        parts[PARTS.get(part, part)] += share
    told = ", ".join(f"{part} {share:.0%}" for part, share in parts.most_common(6))
    lines = [f"**{name}.** A round takes {shown(each)}. Of the time of {T:,} rounds: {told}."]
    lines += ["", "| function | part | share of the time |", "|---|---|---|"]
    for (function, part), share in functions.most_common(7):
        lines.append(f"| `{function}` | {PARTS.get(part, part)} | {share:.0%} |")
    return "\n".join(lines)


def sampled(work: Any) -> Counter[tuple[str, str]]:
    """The share of time of each function of ours and its part."""
    from pyinstrument import Profiler

    # A thread keeps the time: asking the clock at every call is dear on a virtual machine.
    profiler = Profiler(interval=0.001, async_mode="disabled", use_timing_thread=True)
    with visible_kernels():
        profiler.start()
        work()
        session = profiler.stop()
    found: Counter[tuple[str, str]] = Counter()
    for stack, taken in session.frame_records:
        found[_innermost(stack)] += taken
    whole = sum(found.values())
    return Counter({function: taken / whole for function, taken in found.items()})


@contextmanager
def visible_kernels() -> Iterator[None]:
    """Each kernel behind a Python function of the same name: the profiler sees no machine code."""
    from numba.core.dispatcher import Dispatcher

    offered = {name: getattr(kernels, name) for name in kernels.__all__}
    kept = {name: kernel for name, kernel in offered.items() if isinstance(kernel, Dispatcher)}
    try:
        for name, kernel in kept.items():
            setattr(kernels, name, _behind(name, kernel))
        yield
    finally:
        for name, kernel in kept.items():
            setattr(kernels, name, kernel)


def _behind(name: str, kernel: Any) -> Any:
    def call(*arguments: Any) -> Any:
        return kernel(*arguments)

    call.__code__ = call.__code__.replace(co_name=name, co_filename=kernels.__file__)
    return call


def _innermost(stack: list[str]) -> tuple[str, str]:
    """The innermost function of ours on a stack, with its class, and the part that it belongs to."""
    from pyinstrument.frame_info import parse_frame_info

    for frame in reversed(stack):
        named, marks = parse_frame_info(frame)
        function, file, _ = named.split("\0")
        if file == kernels.__file__:
            return function, KERNEL
        if file.startswith(OURS):
            owner = next((f"{mark[1:]}." for mark in marks if mark.startswith("c")), "")
            return owner + function, Path(file).relative_to(OURS).parts[0].removesuffix(".py")
    # numba shows the profiler a call of a kernel, but not who makes it.
    return "calling a compiled loop", KERNEL
