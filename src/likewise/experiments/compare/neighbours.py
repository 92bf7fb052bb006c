"""The baselines of a sweep by name: what the paper's neighbours do with the same people, class and auditor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.baselines import Batchwise, FairLeader, Known, Learned, Meritocratic, PrimalDual, Submetric
from likewise.hypotheses import EnumerableClass
from likewise.protocol import Distance, Learner

if TYPE_CHECKING:
    from likewise.experiments.compare.trials import Trial

ASKED = 1000
"""How many distances a neighbour asks for that asks for some."""


class Neighbour(NamedTuple):
    """A baseline that a sweep knows by name; it may be given the hidden distance."""

    make: Callable[[EnumerableClass, Trial, Distance | str], Learner]
    words: str


def _shared(trial: Trial) -> dict[str, Any]:
    return {"k": trial.people, "T": trial.rounds, "alpha": trial.level}


def _leader(**more: Any) -> Callable[[EnumerableClass, Trial, Distance | str], Learner]:
    return lambda F, trial, distance: FairLeader(F, **_shared(trial), **more)


def _asked(F: EnumerableClass, trial: Trial, distance: Distance | str) -> Learner:
    return FairLeader(F, **_shared(trial), told=distance, asked=ASKED)


def _told(F: EnumerableClass, trial: Trial, distance: Distance | str) -> Learner:
    return FairLeader(F, **_shared(trial), told=distance, commit=max(1, trial.rounds // 2))


def _batchwise(source: Callable[..., Any], **more: Any) -> Callable[[EnumerableClass, Trial, Distance | str], Learner]:
    return lambda F, trial, distance: Batchwise(F, **_shared(trial), distance=source(distance), **more)


NEIGHBOURS: Mapping[str, Neighbour] = {
    "primal-dual": Neighbour(
        lambda F, trial, distance: PrimalDual(F, **_shared(trial)), "long-term constraints (Mahdavi et al.)"
    ),
    "fair-leader": Neighbour(_leader(), "least error with every reported pair alike (Jung et al.)"),
    "fair-leader-asked": Neighbour(_asked, f"least error with {ASKED:,} distances asked for (Jung et al., Kim et al.)"),
    "fair-leader-told": Neighbour(_told, "is told the distance, commits after half (Rothblum and Yona)"),
    "batchwise": Neighbour(_batchwise(Known), "is told the distance, a program on each batch (Dwork et al.)"),
    "batchwise-floor": Neighbour(
        _batchwise(Known, floor=True), "the same, consistent with everybody before (Gupta and Kamble)"
    ),
    "submetric": Neighbour(_batchwise(Submetric), "a program on each batch, 8 distances a person (Ilvento)"),
    "mahalanobis": Neighbour(
        _batchwise(lambda distance: Learned()), "a program on each batch, a learned distance (Gillen et al.)"
    ),
    "meritocratic": Neighbour(
        lambda F, trial, distance: Meritocratic(F, **_shared(trial)), "chained intervals, labels only (Joseph et al.)"
    ),
}
