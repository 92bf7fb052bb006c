"""An auditor who sees only who got a yes and who a no.

Different answers prove nothing by themselves: two people with close probabilities may well draw different ones. So she
names a pair of people whom she finds alike, and the *gap of their probabilities*, which she never sees, decides whether
the report is accepted: it must exceed a tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.auditors.pairwise import named_metric
from likewise.errors import InvalidParameter, require, require_number
from likewise.facts import AuditorFacts
from likewise.protocol import Batch, Distance, Floats, Key, Report

CHOICES = ("closest", "first", "random")


class DecisionAuditor:
    """Knows a distance, sees decisions, and names pairs that were decided differently.

    With ``theta`` she knows a *relation*: pairs within θ are alike. A report is accepted if the gap exceeds the
    tolerance τ = α + θ, so that every accepted one is a true α-violation. The level of the game is then τ: give it to
    the learner (``AdaHedge(..., alpha=auditor.alpha)``). Without ``theta`` she is *graded*: she states with each pair
    how far apart their probabilities may be, and the gap must exceed that by more than α.

    She is *persistent*: if a pair that could be accepted was decided differently, she ends up naming one. She never
    hears of violations of pairs that she doesn't find alike, nor of those that the lot did not bring to light.

    Parameters
    ----------
    distance
        From the view of k people to their (k, k) distances; or the name of a SciPy metric.
    alpha
        α: what a gap may exceed the distance by.
    theta
        θ: people within this distance are alike. None for a graded auditor.
    choose
        Which pair she names first: the ``"closest"``, the ``"first"`` or a ``"random"`` one.
    persistence
        For simulation: the probability, in a round, that she goes on after a refusal.
    screened
        Whether she is shown only pairs that could be accepted. Without that, and without going on, a pair that is
        refused can hide one that would be accepted, for ever.
    options
        Passed to the SciPy metric.

    Examples
    --------
    >>> from likewise.protocol import Role
    >>> auditor = DecisionAuditor("cityblock", alpha=0.1, theta=0.2)
    >>> round(auditor.alpha, 6)
    0.3
    >>> batch = Batch(np.empty((3, 0)), np.zeros(3), view=np.array([[0.0], [0.1], [5.0]]))
    >>> yes_no, pairs = np.array([1.0, 0.0, 0.0]), np.array([[0, 1], [0, 2]])
    >>> [report[:2] for report in auditor.audit(batch, yes_no, Key(0, Role.AUDITOR, 1), pairs)]
    [(0, 1)]
    """

    sees = "decisions"
    margin = 0.0

    def __init__(
        self,
        distance: Distance | str,
        alpha: float,
        theta: float | None = None,
        choose: str = "closest",
        persistence: float = 1.0,
        screened: bool = True,
        **options: Any,
    ) -> None:
        require_number(alpha, "alpha", 0, 1)
        require_number(persistence, "persistence", 0, 1, open_at="low")
        require(choose in CHOICES, "choose", f"be one of {CHOICES}", choose)
        if theta is not None:
            require_number(theta, "theta", 0, 1)
            require(alpha + theta < 1, "theta", "be below 1 − alpha: no gap exceeds a tolerance of 1", theta)
        self.name = distance if isinstance(distance, str) else getattr(distance, "__name__", type(distance).__name__)
        self.distance = named_metric(distance, **options) if isinstance(distance, str) else distance
        require(callable(self.distance), "distance", "be a callable or the name of a SciPy metric", distance)
        self.alpha = alpha if theta is None else alpha + theta
        """The level of the game: the tolerance τ of a relation, or what a gap may exceed a stated distance by."""
        self.theta, self.choose, self.persistence, self.screened = theta, choose, persistence, screened

    def audit(self, batch: Batch, decisions: Floats, key: Key, pairs: NDArray[np.intp]) -> tuple[Report, ...] | None:
        """The pairs that she names, in order, of those that were decided differently and that she is shown."""
        if len(pairs) == 0:
            return None
        apart = self._distances(batch)
        named = pairs[self._minded(apart)[pairs[:, 0], pairs[:, 1]]]
        if len(named) == 0:
            return None
        named = named[self._order(apart[named[:, 0], named[:, 1]], key)]
        if self.persistence < 1 and key.stream(1).random() >= self.persistence:
            named = named[:1]
        return tuple(self._report(int(high), int(low), apart) for high, low in named)

    def violating(self, batch: Batch, probabilities: Floats) -> float:
        """The largest gap of a pair that she would name, were it decided differently, and that could be accepted."""
        apart = self._distances(batch)
        gaps = probabilities[:, None] - probabilities
        acceptable = self._minded(apart) & (gaps > self.alpha + (apart if self.theta is None else 0.0))
        return float(gaps[acceptable].max(initial=0.0))

    def _minded(self, apart: Floats) -> NDArray[np.bool_]:
        """(k, k): pairs that she would name; one that is stated to be too far apart could never be accepted."""
        return np.asarray(apart < 1.0 - self.alpha if self.theta is None else apart <= self.theta)

    def _order(self, apart: Floats, key: Key) -> NDArray[np.intp]:
        if self.choose == "random":
            return key.generator().permutation(len(apart))
        return np.argsort(apart, kind="stable") if self.choose == "closest" else np.arange(len(apart))

    def _report(self, favoured: int, disfavoured: int, apart: Floats) -> Report:
        stated = float(apart[favoured, disfavoured]) if self.theta is None else None
        return Report(favoured, disfavoured, violates=True, stated=stated)

    def _distances(self, batch: Batch) -> Floats:
        apart = np.asarray(self.distance(batch.view), dtype=float)
        k = len(batch.y)
        if apart.shape != (k, k) or not apart.min() >= 0:
            raise InvalidParameter(f"`distance` must give {k} × {k} distances, at least 0, got shape {apart.shape}.")
        return apart

    def facts(self) -> AuditorFacts:
        """She reports whatever the lot brings to light of the pairs that she minds, by one fixed distance."""
        details = {"distance": self.name, "theta": self.theta, "choose": self.choose, "persistence": self.persistence}
        return AuditorFacts(
            "DecisionAuditor", truthful=True, exhaustive=False, fixed=True, details=details, sees="decisions"
        )
