"""Hindsight: what the best fair policy could have reached, exactly: among mixtures of a class, or of any kind."""

from likewise.hindsight.any import (
    AnyPolicy,
    PossibleGain,
    best_of_any,
    compare_with_any,
    cross_fitted,
    share_of_possible_gain,
)
from likewise.hindsight.fair_program import BindingPair, FairProgram, Hindsight, Losses, Pairs
from likewise.hindsight.lipschitz import best_lipschitz, limit_by_lipschitz
from likewise.hindsight.mixtures import Frontier, best_in_hindsight, best_mixture, frontier, searchable

__all__ = [
    "AnyPolicy",
    "BindingPair",
    "FairProgram",
    "Frontier",
    "Hindsight",
    "Losses",
    "Pairs",
    "PossibleGain",
    "best_in_hindsight",
    "best_lipschitz",
    "best_mixture",
    "best_of_any",
    "compare_with_any",
    "cross_fitted",
    "frontier",
    "limit_by_lipschitz",
    "searchable",
    "share_of_possible_gain",
]
