"""A play and its continuation as one transcript: arrays one after another, and policies that were averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import require
from likewise.game.transcript import LOTS, REVIEWS, Transcript
from likewise.policies import AveragePolicy


def joined(first: Transcript, later: Transcript) -> Transcript:
    """A play and its continuation as one transcript."""
    expected = first.first + first.rounds
    require(later.first == expected, "later", f"start at round {expected}", later.first)
    names = ("rows", "y", "shown", "pairs", "violates", "false", "reviewed", "penalties")
    arrays: Any = {name: np.concatenate([getattr(first, name), getattr(later, name)]) for name in names}
    arrays |= {name: _both(getattr(first, name), getattr(later, name)) for name in LOTS}
    arrays |= {name: _filled(first, later, name, "penalties", usual) for name, usual in REVIEWS.items()}
    return Transcript(
        **arrays,
        view=stacked([first.view, later.view]),
        starts=np.concatenate([first.starts, first.starts[-1] + later.starts[1:]]),
        report_rounds=np.concatenate([first.report_rounds, first.rounds + later.report_rounds]),
        average_policy=first.average_policy.joined(later.average_policy),
        hypotheses=first.hypotheses,
        state=later.state,
        facts=first.facts.then(later.facts),
        person=_both(first.person, later.person),
        first_pass=_first_pass(first, later),
        late=_late(first, later),
        weight=_filled(first, later, "weight", "y", 1.0),
        compared=_filled(first, later, "compared", "y", True),
        stated=_filled(first, later, "stated", "pairs", np.nan),
    )


def _filled(first: Transcript, later: Transcript, name: str, like: str, usual: Any) -> NDArray[Any] | None:
    """An array of both that None stands for where it is the usual one everywhere."""
    parts = [getattr(t, name) for t in (first, later)]
    if parts[0] is None and parts[1] is None:
        return None
    sizes = [len(getattr(t, like)) for t in (first, later)]
    return np.concatenate([np.full(n, usual) if part is None else part for n, part in zip(sizes, parts, strict=True)])


def _first_pass(first: Transcript, later: Transcript) -> AveragePolicy | None:
    """The average policy of the first pass over the people, as far as both played it."""
    before, after = first.first_pass_policy, later.first_pass_policy
    if before is None or (first.rounds_once == first.rounds and after is None and later.rounds_once):
        return None
    return before if after is None else before.joined(after)


def _late(first: Transcript, later: Transcript) -> AveragePolicy | None:
    """The average policy of the last half of both."""
    half = (first.facts.learner.T or later.first - 1 + later.rounds) // 2
    before, after = first.average_after(half), later.average_after(half)
    if before is None or after is None or half < first.first:
        return None
    return before.joined(after) if after.rounds else None


def _both(first: NDArray[Any] | None, second: NDArray[Any] | None) -> NDArray[Any] | None:
    return None if first is None or second is None else np.concatenate([first, second])


def stacked(views: list[Any]) -> Any:
    """Views of several rounds or plays, one after another."""
    if hasattr(views[0], "iloc"):
        import pandas as pd

        return pd.concat(views, ignore_index=True)
    return np.concatenate(views)
