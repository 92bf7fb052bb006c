"""The compiled inner loops (numba), nothing else.

Every function here is plain arithmetic on arrays that somebody else owns and explains; each has a NumPy twin in the
tests. A loop called from Python and the same loop inside ``play_rounds`` give the same bits, because no sum may be
reassociated: that is why a compiled play and the readable loop agree exactly.

A file calls no loop of another one: numba's cache on disk notices a change of the file that a loop stands in, but not
of a loop that it calls from elsewhere.
"""

from likewise.kernels.counting import count_violations
from likewise.kernels.metrics import CHEBYSHEV, CITYBLOCK, EUCLIDEAN, MAHALANOBIS, SQEUCLIDEAN
from likewise.kernels.noise import LANES, laplace_noise, padding_noise, philox_key, threshold_perturbed_leaders
from likewise.kernels.play import (
    ADAHEDGE_FIXED,
    ADAHEDGE_SCHEDULED,
    ADAHEDGE_TILTED,
    EXPONENTIAL_WEIGHTS,
    FIRST,
    HEDGE,
    WORST,
    accumulate,
    audit,
    chosen_pair,
    distance,
    distances,
    exp,
    expm1,
    free_energy,
    gibbs,
    leaders,
    play_pairs,
    play_rounds,
    signed_weights,
    spread,
    threshold_adahedge,
    threshold_added,
    threshold_log_updated,
    threshold_mix_gap,
    threshold_probability,
)

__all__ = [
    "ADAHEDGE_FIXED",
    "ADAHEDGE_SCHEDULED",
    "ADAHEDGE_TILTED",
    "CHEBYSHEV",
    "CITYBLOCK",
    "EUCLIDEAN",
    "EXPONENTIAL_WEIGHTS",
    "FIRST",
    "HEDGE",
    "LANES",
    "MAHALANOBIS",
    "SQEUCLIDEAN",
    "WORST",
    "accumulate",
    "audit",
    "chosen_pair",
    "count_violations",
    "distance",
    "distances",
    "exp",
    "expm1",
    "free_energy",
    "gibbs",
    "laplace_noise",
    "leaders",
    "padding_noise",
    "philox_key",
    "play_pairs",
    "play_rounds",
    "signed_weights",
    "spread",
    "threshold_adahedge",
    "threshold_added",
    "threshold_log_updated",
    "threshold_mix_gap",
    "threshold_perturbed_leaders",
    "threshold_probability",
]
