"""Baselines: what the paper's neighbours do, as learners of the same game. Each says what it is told; none has a bound.

=================  ==================================================================  =============================
learner            method                                                              told, besides labels
=================  ==================================================================  =============================
``PrimalDual``     long-term constraints: a multiplier that follows reported gaps      pairs
``FairLeader``     the least error with every cut kept, by linear program              pairs, distances, the distance
``Batchwise``      the fairest decisions for each batch by itself, by linear program   depends on its distance
``Meritocratic``   chained confidence intervals                                        labels only
=================  ==================================================================  =============================
"""

from likewise.baselines.base import Baseline
from likewise.baselines.batchwise import Batchwise
from likewise.baselines.distances import Known, Learned, Submetric
from likewise.baselines.fair_leader import FairLeader
from likewise.baselines.meritocratic import Meritocratic
from likewise.baselines.primal_dual import PrimalDual

__all__ = [
    "Baseline",
    "Batchwise",
    "FairLeader",
    "Known",
    "Learned",
    "Meritocratic",
    "PrimalDual",
    "Submetric",
]
