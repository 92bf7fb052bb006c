"""Fills in the scoreboard: measures every policy on the same people, and computes what is possible there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from likewise.protocol import Distance
from likewise.reduction import EQUAL_COSTS
from likewise.scoreboard.table import Scoreboard

THIS, TODAY, LABELS, PAPER = "this policy", "today's rule", "labels alone", "the paper's learner"


@dataclass(frozen=True, eq=False)
class Entry:
    """A row to fill in.

    Attributes
    ----------
    policy
        Anything with ``probability(X)``, or a list with one probability per person of ``X``.
    told
        What it was told: "labels", "pairs", "everything", or "" where nobody knows.
    """

    policy: Any
    told: str = ""


def scoreboard(
    entries: Mapping[str, Entry],
    X: Any,
    y: Any,
    *,
    alpha: float,
    view: Any | None = None,
    distance: Distance | str | None = None,
    hypotheses: Any | None = None,
    features: Any | None = None,
    this: str = THIS,
    costs: tuple[float, float] = EQUAL_COSTS,
    delta: float = 0.05,
    most: int = 2000,
    seed: int = 0,
    ids: Any | None = None,
    held_out: bool = True,
) -> Scoreboard:
    """The scoreboard of some policies on these people.

    Parameters
    ----------
    entries
        Policies by name. "today's rule", "labels alone", "the paper's learner" and ``this`` come in this order.
    X, y
        Held-out people, and their labels 0, 1 or NaN.
    view, distance, alpha
        What pairs are compared by (``X`` by default), how far apart two people are (a callable, the name of a SciPy
        metric, or None where nobody knows), and how much more than that their probabilities may differ.
    hypotheses
        The class whose best fair mixture is shown; left out if it can't be searched exactly.
    features
        Numbers for the model of the label; ``X`` by default.
    this
        The name of the entry that the table is about.
    costs
        What a false positive and a false negative cost.
    delta
        One minus the confidence of each interval by itself.
    most
        People on whom the exact rows are computed, at most: the first of a random order.
    ids
        Who each row is; of rows with the same id the first one counts.
    held_out
        False if these people took part in learning: then nothing is claimed about others.
    """
    raise NotImplementedError
