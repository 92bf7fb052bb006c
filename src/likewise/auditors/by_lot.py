"""Rounds drawn for review by lot, around any auditor.

Before the lot the round's largest gap fixes the probability q_t of a review, by this round and those before it. A round
in which no gap is above the level of reporting is cleared: no pair in it can violate, so nobody has to look. One that
is neither cleared nor drawn is not reviewed, which is not the same as finding nothing. ``certify`` then says how many
of *all* rounds violate (Theorem L, ``theory.review_limit``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import theory
from likewise.errors import require
from likewise.facts import AuditorFacts
from likewise.protocol import SKIPPED, Answer, Auditor, AuditorOfDecisions, Batch, Floats, Key, ReviewLot, Role
from likewise.theory.review_shares import WINDOW


class ByLot:
    """Another auditor who looks only at rounds that are drawn, each with a known probability.

    The lots are random numbers of a role of their own, (seed, review, t): they don't change with decisions, people or
    answers. ``play`` records the probability of each round, whether it was drawn, and whether it was cleared.

    Parameters
    ----------
    auditor
        Who looks: anybody, people and auditors of decisions included.
    share
        b: which part of the rounds that arithmetic doesn't clear is to be reviewed.
    by
        ``"gap"``: with a probability in proportion to the largest gap, a third of the share at least.
        ``"largest"``: the largest gaps for sure, and the others with a third of the share: it finds more and proves
        less. ``"equal"``: all with the same probability.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.synthetic(500)
    >>> F = lw.Thresholds.quantiles(data.people, cuts=8)
    >>> auditor = lw.ByLot(lw.MetricAuditor(data.distance, alpha=0.1), share=0.2)
    >>> people = lw.IID(data.people, data.y, k=4, view=data.view)
    >>> t = lw.play(lw.AdaHedge(F, k=4, alpha=0.1, T=300), people, auditor, seed=1)
    >>> count = t.review_count
    >>> count.cleared + count.uncleared, 0.1 < count.drawn / count.uncleared < 0.3
    (300, True)
    >>> count.reported <= lw.theory.review_limit(count) <= count.uncleared
    True
    """

    def __init__(self, auditor: Auditor | AuditorOfDecisions, share: float, by: str = "gap") -> None:
        require(callable(getattr(auditor, "audit", None)), "auditor", "have a method `audit`", type(auditor).__name__)
        require(not hasattr(auditor, "lot"), "auditor", "not be drawn by lot already", type(auditor).__name__)
        self.floor = theory.review_floor(share, by)
        self.auditor, self.share, self.by = auditor, share, by
        self.alpha, self.margin = auditor.alpha, auditor.margin
        self.sees = getattr(auditor, "sees", "probabilities")
        self._recent: deque[tuple[int, float]] = deque(maxlen=WINDOW)
        """Rounds that were not cleared, each with its largest gap, in their order."""

    def lot(self, key: Key, gap: float) -> ReviewLot:
        """How a round is drawn, by the largest gap of a pair that could be reported in it.

        The same key and gap, asked again after the same rounds before it, give the same lot.
        """
        if gap <= self.alpha - self.margin:
            return ReviewLot(0.0, False, gap, cleared=True)
        while self._recent and self._recent[-1][0] >= key.t:  # asked again, or another play has begun
            self._recent.pop()
        q = theory.review_probability(gap, [earlier for _, earlier in self._recent], self.share, self.by)
        self._recent.append((key.t, gap))
        return ReviewLot(q, bool(Key(key.seed, Role.REVIEW, key.t).generator().random() < q), gap)

    def recall(self, gaps: Iterable[tuple[int, float]]) -> None:
        """Remember the rounds of an earlier part of a play that were not cleared: their numbers and largest gaps."""
        self._recent.clear()
        self._recent.extend((int(t), float(gap)) for t, gap in gaps)

    def audit(self, batch: Batch, shown: Floats, key: Key, pairs: NDArray[np.intp] | None = None) -> Answer:
        """None if the round is cleared, SKIPPED if it isn't drawn, and otherwise the answer of the auditor inside.

        ``play`` draws by itself, so that it can record the lot.
        """
        lot = self.lot(key, float(np.ptp(shown)) if len(shown) else 0.0)
        if not lot.drawn:
            return None if lot.cleared else SKIPPED
        inside: Any = self.auditor  # one who sees decisions takes the pairs, too
        answer: Answer = inside.audit(batch, shown, key) if pairs is None else inside.audit(batch, shown, key, pairs)
        return answer

    def facts(self) -> AuditorFacts:
        """As the auditor inside, in the rounds that are drawn."""
        inner = self.auditor.facts()
        details = {**inner.details, "around": inner.name, "share": self.share, "by": self.by}
        return replace(inner, name="ByLot", details=details, review_floor=self.floor)
