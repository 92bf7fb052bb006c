"""What each part of a class brings to the best fair policy in hindsight, exactly."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from likewise.classes.suggestion import Suggestion, columns_only
from likewise.game import Transcript
from likewise.hindsight import best_in_hindsight
from likewise.protocol import Distance
from likewise.wording import plural


class Contribution(NamedTuple):
    """What a part brings to the best fair policy of a play.

    Attributes
    ----------
    part
        Its name.
    scores, hypotheses
        How many scores it has, and how many hypotheses the class has with it and all parts before it.
    so_far
        The least error per person of a fair mixture of this part, all parts before it, and the constants.
    without
        The same, with all other parts but not this one.
    """

    part: str
    scores: int
    hypotheses: int
    so_far: float
    without: float

    def __str__(self) -> str:
        errors = f"{self.so_far:>9.4f}{self.without:>9.4f}"
        return f"{self.part:<18}{self.scores:>7}{self.hypotheses:>10,}{errors}"


@dataclass(frozen=True)
class Contributions:
    """A line for each part of a class; prints as a table.

    Attributes
    ----------
    lines
        The parts, in order.
    alpha
        The level.
    constant
        The error per person of the better constant.
    people
        How many labelled people the errors are over.
    """

    lines: tuple[Contribution, ...]
    alpha: float
    constant: float
    people: int

    def __str__(self) -> str:
        heading = (
            f"Least error per person of a mixture that is {self.alpha:g}-fair on every pair of every batch "
            f"({plural(self.people, 'labelled person', 'labelled people')}; the better constant: {self.constant:.4f})"
        )
        names = f"{'part':<18}{'scores':>7}{'N so far':>10}{'so far':>9}{'without':>9}"
        return "\n".join([heading, names, *map(str, self.lines)])


def contributions(
    transcript: Transcript, suggestion: Suggestion, distance: Distance | str, alpha: float
) -> Contributions:
    """For each part of a suggested class: the least fair error with it and the parts before it, and without it.

    Parameters
    ----------
    transcript
        A play over the suggested class: its people and batches are what fairness is asked on.
    suggestion
        The class, with its parts.
    distance
        From the view of k people to their (k, k) distances, or the name of a SciPy metric.
    alpha
        How much more than their distance two people of a batch may differ.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.synthetic()
    >>> fitted, X = lw.classes.suggest_for(data, range(400), small=True), lw.classes.stacked(data.features, data.view)
    >>> people = lw.IID(X[400:800], data.y[400:800], k=4, view=data.view[400:800])
    >>> learner = lw.AdaHedge(fitted.hypotheses, k=4, T=50, alpha=0.1)
    >>> t = lw.play(learner, people, lw.MetricAuditor("cityblock", 0.1), T=50)
    >>> table = lw.classes.contributions(t, fitted, "cityblock", alpha=0.1)
    >>> [line.part for line in table.lines], bool(table.lines[1].so_far <= table.lines[0].so_far)
    (['all columns', 'gentle policies'], True)
    """
    people = max(1, int(np.isfinite(transcript.y).sum()))
    constants = transcript.constant_errors
    constant = 0.0 if constants is None else float(constants[-1]) / people
    F, parts = suggestion.hypotheses, suggestion.parts

    @cache
    def least(kept: tuple[int, ...]) -> float:
        if not kept:
            return constant
        rows = transcript.rows[:, list(kept)]
        play = dataclasses.replace(transcript, rows=rows, hypotheses=columns_only(F, list(kept)))
        return best_in_hindsight(play, distance, alpha).error / people

    lines, before = [], tuple[int, ...]()
    for part in parts:
        before += part.scores
        others = tuple(j for other in parts if other is not part for j in other.scores)
        size = columns_only(F, list(before)).size
        lines.append(Contribution(part.name, len(part.scores), size, least(before), least(others)))
    return Contributions(tuple(lines), alpha, constant, people)
