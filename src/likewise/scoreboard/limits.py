"""What is possible on some people: the exact rows of the scoreboard, and the share of the possible gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import hindsight
from likewise.certificates.held_out_people import HeldOut, losses
from likewise.errors import InvalidParameter
from likewise.hypotheses import EnumerableClass
from likewise.protocol import Distance, Floats

MIXTURE, ANY = "best fair mixture of these hypotheses (exact)", "best fair policy of any kind (exact)"
TOO_LITTLE = "too little to win"


@dataclass(frozen=True, eq=False)
class Possible:
    """What is possible on some of the people, under label probabilities that were fitted without each of them.

    Attributes
    ----------
    chosen
        Positions of the people; nobody where no label probabilities could be fitted.
    label_probabilities
        For each of them, the probability of the label 1.
    policies
        The exact rows by name: what each gives the chosen people.
    best
        The best fair policy of any kind; None where no distance is known.
    missing
        Why something is missing, as a phrase; "" where nothing is.
    """

    chosen: NDArray[np.intp]
    label_probabilities: Floats
    policies: Mapping[str, Floats]
    best: hindsight.AnyPolicy | None
    costs: tuple[float, float]
    missing: str

    def expected_error(self, p: Floats) -> float:
        """Mean expected loss of the chosen people."""
        return float(losses(p, self.label_probabilities, self.costs).mean())

    def share_of_gain(self, p: Floats | None) -> tuple[float | None, str]:
        """The share of the possible gain that a policy reaches (p: of all people), or None and why there is none."""
        if p is None or self.best is None:
            return None, self.missing or "not computed"
        error = self.expected_error(p[self.chosen])
        share = hindsight.share_of_possible_gain(self.best.constant, error, self.best.error)
        return share, TOO_LITTLE if share is None else ""


def possible(
    held: HeldOut,
    features: Any,
    distance: Distance | str | None,
    alpha: float,
    *,
    hypotheses: Any | None,
    costs: tuple[float, float],
    most: int,
    seed: int,
) -> Possible:
    """What is possible on at most ``most`` of the people, the first of a random order."""
    chosen = np.sort(np.random.default_rng(seed).permutation(len(held))[:most])
    nobody, nothing = chosen[:0], np.empty(0)
    numbers = _numbers(features, len(held))
    try:
        q = hindsight.cross_fitted(numbers, held.y, seed=seed)[chosen]
    except InvalidParameter:
        return Possible(nobody, nothing, {}, None, costs, "too few labels of both kinds to fit a model of the label")
    some = held.take(chosen)
    if distance is None:
        return Possible(chosen, q, {}, None, costs, "no distance is known, so nobody can say what is fair")
    policies = {}
    if isinstance(hypotheses, EnumerableClass) and hypotheses.constants:
        mixture = hindsight.best_mixture(hypotheses, some.X, q, distance, alpha, view=some.view, costs=costs)
        policies[MIXTURE] = mixture.policy.probability(some.X)
    best = hindsight.best_of_any(some.view, q, distance, alpha, costs=costs, seed=seed)
    return Possible(chosen, q, {**policies, ANY: best.probabilities}, best, costs, "")


def _numbers(features: Any, people: int) -> Floats:
    """What the model of the label takes: finite numbers, one row per person."""
    try:
        numbers = np.asarray(features, dtype=float).reshape(people, -1)
    except (TypeError, ValueError):
        raise InvalidParameter("`features` must hold numbers only, one row per person, got others.") from None
    if not np.isfinite(numbers).all():
        raise InvalidParameter("`features` must hold no missing numbers, got some.")
    return numbers
