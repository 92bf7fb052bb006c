"""The pictures of a stream, from what the database added up, each with a caption that says how to read it."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from likewise.service.pages import summaries
from likewise.service.pages.drawing import Plot
from likewise.service.pages.summaries import Bin
from likewise.service.settings import Settings
from likewise.service.state import State
from likewise.service.store import Store


class Figure(NamedTuple):
    """A picture, its heading, and how to read it."""

    name: str
    title: str
    svg: Markup | None
    caption: str


def figures(store: Store, stream: str, state: State, found: Sequence[Bin]) -> list[Figure]:
    """All pictures of a stream: from the bins, and from one more query each where those don't tell."""
    settings = state.stream.settings
    return [
        violations(found, state),
        regret(summaries.sampled(store, stream), state),
        errors(found),
        helped(summaries.later_gaps(store, stream), settings),
        ranked(summaries.newest(store, stream), settings),
        coverage(found),
        delay(found),
    ]


def violations(found: Sequence[Bin], state: State) -> Figure:
    """How many violations there were so far, under what is promised of them."""
    title, settings = "Violations so far", state.stream.settings
    total = list(itertools.accumulate(one.violations for one in found))
    if not total:
        return _nothing("violations", title)
    promised = [] if state.totals.delay_max else _promised(state, found)
    top = max(1.0, 1.15 * total[-1], *(y for _, y in promised if y <= 4 * max(total[-1], 5)))
    plot = Plot((0, found[-1].last), (0, top), "rounds", "violations, added up", title)
    plot.line([(x, y) for x, y in promised if y <= top], "bound", "promised limit")
    plot.line([(0.0, 0.0), *((one.last, float(y)) for one, y in zip(found, total, strict=True))], "main", "reported")
    said = "Read the slope: where the curve flattens, the policy has learned what the reviewers object to. "
    if state.totals.delay_max:
        said += "No limit is drawn: rounds were learned late, and what the learner promises assumes that none is."
    elif not promised or min(y for _, y in promised) > top:
        said += f"The promised limit, {_last(promised)} by now, lies above the picture." if promised else ""
    else:
        said += "The dashed line is the most that the learner's theorem allows."
    return Figure("violations", title, plot.svg(), f"Reported pairs further apart than α = {settings.alpha:g}. {said}")


def _promised(state: State, found: Sequence[Bin]) -> list[tuple[float, float]]:
    learner: Any = state.stream.learner
    settings = state.stream.settings
    if settings.horizon is not None:
        return []
    limits = [(float(one.last), learner.bound(settings.level, T=one.last)) for one in found]
    return [(x, bound.violations) for x, bound in limits if bound is not None and math.isfinite(bound.violations)]


def _last(points: Sequence[tuple[float, float]]) -> str:
    return f"{points[-1][1]:,.0f}"


def regret(sampled: Sequence[Any], state: State) -> Figure:
    """Lagrangian regret along the way, under its limits."""
    title = "Lagrangian regret"
    if not sampled:
        return _nothing("regret", title)
    limits = [row.proved for row in sampled if row.proved is not None]
    promised = [(row.learned, row.promised) for row in sampled if row.promised is not None]
    values = [row.regret for row in sampled]
    top = max(1.0, *values, *limits) * 1.1
    seen = [(x, y) for x, y in promised if y <= top * 1.5]
    top = max([top, *(y for _, y in seen)])
    plot = Plot((0, sampled[-1].learned), (min(0.0, *values), top), "rounds learned", "regret", title)
    plot.line(seen, "bound", "promised")
    plot.line([(row.learned, row.proved) for row in sampled if row.proved is not None], "limit", "proved limit")
    plot.line([(row.learned, row.regret) for row in sampled], "main", "observed")
    caption = (
        "What the policies cost so far, errors and penalised reports together, beyond the best single hypothesis "
        "looking back. The observed curve stays under the dashed limit that is proved from what happened"
        + (", and under the promise made before the first round" if seen else "")
        + "; both growing ever more slowly is the learning. Sampled while the service ran."
    )
    return Figure("regret", title, plot.svg(), caption)


def errors(found: Sequence[Bin]) -> Figure:
    """Errors among people whose label came."""
    title = "Error"
    points = [(one.last, one.error / one.labelled) for one in found if one.labelled]
    if not points:
        return _nothing("error", title)
    total, labelled = sum(one.error for one in found), sum(one.labelled for one in found)
    plot = Plot((0, found[-1].last), (0, max(0.5, *(y for _, y in points))), "rounds", "error per person", title)
    plot.level(total / labelled, "bound", "mean of all")
    plot.line(points, "main", "error")
    caption = (
        f"The expected share of wrong decisions among the {labelled:,} people whose label came, in neighbouring rounds "
        "together. People without a label are not counted, and nothing is weighed: each mistake counts once."
    )
    return Figure("error", title, plot.svg(), caption)


def helped(paths: dict[int, list[tuple[int, float]]], settings: Settings) -> Figure:
    """Whether reports helped: the gap of each reported pair under the policies after it."""
    title = "Did the report help?"
    followed = {t: _thinned(path) for t, path in paths.items() if len(path) > 1}
    if not followed:
        return _nothing("helped", title)
    far = max(path[-1][0] for path in followed.values())
    plot = Plot((0, far), (min(0.0, *(g for p in followed.values() for _, g in p)), 1.0),
                "rounds learned since the report", "gap of the pair", title)  # fmt: skip
    for path in followed.values():
        plot.line(path, "faint")
    plot.level(settings.alpha, "bound", f"α = {settings.alpha:g}")
    middle = _middle(followed.values(), far)
    plot.line(middle, "main", "middle pair")
    closer = sum(path[-1][1] <= settings.alpha for path in followed.values())
    caption = (
        f"Each thin line is one of the newest {len(followed)} reported pairs: how far apart the same two people would "
        f"be under each later policy. The thick line is the middle one of them. Now {closer} of {len(followed)} are "
        "within α."
    )
    return Figure("helped", title, plot.svg(), caption)


def _thinned(path: Sequence[tuple[int, float]], most: int = 60) -> list[tuple[float, float]]:
    step = -(-len(path) // most)
    return [*((float(x), y) for x, y in path[:-1:step]), (float(path[-1][0]), path[-1][1])]


def _middle(paths: Any, far: float, points: int = 40) -> list[tuple[float, float]]:
    """The median gap after so many rounds, over the pairs that are old enough; at least half of them."""
    kept = list(paths)
    found = []
    for x in np.linspace(0, far, points):
        here = [np.interp(x, [a for a, _ in path], [b for _, b in path]) for path in kept if path[-1][0] >= x]
        if 2 * len(here) >= len(kept):
            found.append((float(x), float(np.median(here))))
    return found


def ranked(rows: Sequence[Any], settings: Settings) -> Figure:
    """The newest rounds, person by person, reported pairs joined."""
    title = "The newest rounds"
    if not rows:
        return _nothing("ranked", title)
    chances = {row.round: json.loads(row.chances) for row in rows}
    plot = Plot((rows[0].round - 1, rows[-1].round + 1), (0, 1), "round", "probability", title, width=1300.0)
    joined = [
        ((row.round, chances[row.round][row.favoured]), (row.round, chances[row.round][row.disfavoured]))
        for row in rows
        if row.verdict == "reported"
    ]
    plot.segments(joined, "joint")
    plot.dots(((t, p) for t, ps in chances.items() for p in ps), "dots")
    plot.dots((end for pair in joined for end in pair), "dots-joined")
    caption = (
        f"Every dot is a person, at the probability given to them, in the newest {len(rows)} rounds. A line joins the "
        f"two people of a reported pair; reports need a gap above {settings.level:g}."
    )
    return Figure("ranked", title, plot.svg(), caption)


def coverage(found: Sequence[Bin]) -> Figure:
    """Which share of rounds somebody looked at."""
    title = "Review coverage"
    if not found:
        return _nothing("coverage", title)
    plot = Plot((0, found[-1].last), (0, 100), "rounds", "per cent of rounds", title)
    starts = [0, *(one.last for one in found)]
    shares = [100 * one.reviewed / one.rounds for one in found]
    plot.bars(zip(starts, starts[1:], shares, strict=False), "bar")
    reviewed, rounds = sum(one.reviewed for one in found), sum(one.rounds for one in found)
    plot.level(100 * reviewed / rounds, "bound", "mean of all")
    caption = (
        f"The share of rounds that a reviewer cleared or reported: {reviewed:,} of {rounds:,}. Rounds that were "
        "skipped, expired or still wait are the rest; a round that nobody looked at is not a round without violation."
    )
    return Figure("coverage", title, plot.svg(), caption)


def delay(found: Sequence[Bin]) -> Figure:
    """How late rounds were learned."""
    title = "Delay"
    points = [(one.last, one.delay) for one in found if one.delay is not None]
    if not points:
        return _nothing("delay", title)
    worst = [(one.last, float(one.delay_max)) for one in found if one.delay_max is not None]
    waits = [one.waited for one in found if one.waited is not None]
    plot = Plot((0, found[-1].last), (0, 1.1 * max(1.0, *(y for _, y in worst))), "rounds", "delay in rounds", title)
    plot.line(worst, "limit", "longest")
    plot.line([(x, float(y)) for x, y in points], "main", "mean")
    caption = (
        "How many other rounds were learned between a round's decisions and its own learning. A reviewer who keeps up "
        f"keeps this low. From decision to learning it took {_duration(float(np.mean(waits)))} on average."
    )
    return Figure("delay", title, plot.svg(), caption)


def _duration(seconds: float) -> str:
    """Seconds in words.

    Examples
    --------
    >>> _duration(42.0), _duration(150.0), _duration(7200.0), _duration(200_000.0)
    ('42 seconds', '2.5 minutes', '2.0 hours', '2.3 days')
    """
    for unit, size, until in (("seconds", 1.0, 90.0), ("minutes", 60.0, 5400.0), ("hours", 3600.0, 129_600.0)):
        if seconds < until:
            return f"{seconds / size:.{0 if size == 1 else 1}f} {unit}"
    return f"{seconds / 86_400:.1f} days"


def _nothing(name: str, title: str) -> Figure:
    return Figure(name, title, None, "There is nothing to draw yet.")
