"""The compiled inner loops (numba), nothing else.

Every function here is plain arithmetic on arrays that somebody else owns and explains; each has a NumPy twin in the
tests. Where weights, losses or probabilities are the answer, the caller gives the array for them: making one costs
numba more than the work of a round. A loop called from Python and the same loop inside ``play_rounds`` give the same
bits, because no sum may be reassociated: that is why a compiled play and the readable loop agree exactly.

``likewise.kernels`` itself imports no numba, which would take most of the time of ``import likewise``: a loop's file is
loaded when the first of its names is asked for (PEP 562), and its names are plain attributes from then on.

numba's cache on disk notices a change of the file that a loop stands in, but not of a loop that it calls from
elsewhere. So a loop that calls those of other files is cached only under a key that holds a checksum of those files:
``likewise.kernels.caching`` sees to it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from likewise.kernels.metrics import CHEBYSHEV, CITYBLOCK, EUCLIDEAN, MAHALANOBIS, SQEUCLIDEAN
from likewise.kernels.terms import CAP, PRICE, SLOPE, START, STEEP

FILES = {
    "auditing": ("FIRST", "WORST", "audit", "chosen_pair", "distance", "distances", "spread"),
    "counting": ("count_violations",),
    "elementary": ("exp", "expm1", "log", "log1p", "power"),
    "lanes": ("minimum", "total_of"),
    "kept": ("CUTS_ALONE", "CUTS_SCHEDULED", "CUTS_TILTED", "play_kept"),
    "lots": ("ACCEPTED", "ALL", "ESTIMATED", "draw", "estimate_at", "label_part", "penalised", "with_floor"),
    "mix_gap": ("threshold_mix_gap",),
    "noise": ("LANES", "laplace_noise", "padding_noise", "philox_key", "threshold_perturbed_leaders"),
    "play": (
        "ADAHEDGE_FIXED",
        "ADAHEDGE_SCHEDULED",
        "ADAHEDGE_TILTED",
        "EXPONENTIAL_WEIGHTS",
        "HEDGE",
        "penalty",
        "play_rounds",
        "raised",
    ),
    "prices": (
        "best_price",
        "cell_prices",
        "listed_prices",
        "met",
        "seen_fine",
        "threshold_prices",
        "threshold_tilted",
    ),
    "thresholds": ("LONG", "threshold_add", "threshold_added", "threshold_probability", "threshold_shrunk"),
    "weights": ("accumulate", "free_energy", "gibbs", "leaders", "prior_gibbs", "prior_leaders", "shared"),
}
"""What each file offers."""
_FILE_OF = {name: file for file, names in FILES.items() for name in names}
__all__ = [
    "CAP",
    "CHEBYSHEV",
    "CITYBLOCK",
    "EUCLIDEAN",
    "MAHALANOBIS",
    "PRICE",
    "SLOPE",
    "SQEUCLIDEAN",
    "START",
    "STEEP",
    *_FILE_OF,
]
at_first: Callable[[], None] | None = None
"""Is called once, before the first loop is loaded: ``lean`` has numba start with less."""


def __getattr__(name: str) -> Any:
    """A loop, or a constant beside it; loads its file, compiled before or now, with all that the file offers."""
    if name not in _FILE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    global at_first
    if at_first is not None:
        start, at_first = at_first, None  # it calls a loop itself
        start()
    file = import_module(f"{__name__}.{_FILE_OF[name]}")
    globals().update({offered: getattr(file, offered) for offered in FILES[_FILE_OF[name]]})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
