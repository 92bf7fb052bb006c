"""What errors are counted by: the labels, or estimates of them where only those of accepted people were seen.

    ŝ_i = u + 1[accepted] (s_i − u)/(π̃_i + γ′),   E Σ_i ŝ_i q(x_i) = Σ_i s_i q(x_i)   for every q fixed before the lot

What is proved of a play with estimates is proved of estimated errors, surely; of the true ones it is right on average
over the lots. Labels that a simulation knows and the learner didn't see are never used here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise import theory
from likewise.certificates.assumptions import fixed_horizon
from likewise.game import Transcript
from likewise.protocol import Estimate, Floats
from likewise.reduction import estimated_weights


@dataclass(frozen=True, eq=False)
class Accounts:
    """The errors of a play, as far as its labels were seen."""

    t: Transcript

    @property
    def one_sided(self) -> bool:
        """Whether only labels of accepted people were seen."""
        return self.t.unseen is not None

    @property
    def estimated(self) -> bool:
        """Whether the learner estimated the labels that it did not see."""
        return self.one_sided and self.t.estimates is not None

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Whose label came to light."""
        known = np.isfinite(self.t.y)
        return known if self.t.unseen is None else known & ~self.t.unseen

    @property
    def refused(self) -> int:
        """People whose labels are unseen because they were refused."""
        return 0 if self.t.unseen is None else int(self.t.unseen.sum())

    @property
    def unknown(self) -> int:
        """People without a label who were not refused."""
        return int((~self.seen).sum()) - self.refused

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Who stands in the errors: everybody with a label, or by estimate everybody who came for the first time."""
        if not self.estimated:
            return self.seen
        return np.ones(len(self.t.y), dtype=bool) if self.t.weight is None else self.t.weight > 0

    # Errors ---------------------------------------------------------------------------------------------------------

    @cached_property
    def error(self) -> float:
        """The cost of the errors of the probabilities that people had: by the labels, or estimated from those seen."""
        t = self.t
        if not self.one_sided:
            return float(t.errors.sum())
        y, p = t.y[self.seen], t.shown[self.seen]
        return float((np.where(y == 1.0, t.costs[1] * (1.0 - p), t.costs[0] * p) * self._stands_for).sum())

    @cached_property
    def constants(self) -> tuple[float, float]:
        """What always saying no, and always saying yes, would have cost."""
        y, each = self.t.y[self.seen], self._stands_for
        return float(self.t.costs[1] * each[y == 1.0].sum()), float(self.t.costs[0] * each[y == 0.0].sum())

    @property
    def _stands_for(self) -> Floats:
        """How many people each one stands for whose label was seen: 1, or by estimate in proportion to 1/π̃.

        The shares add up to everybody (a ratio estimate): rates then stay in [0, 1], and how many people happened to be
        accepted against the odds matters less.
        """
        t = self.t
        each = np.ones(len(t.y)) if t.weight is None else t.weight
        if not self.estimated or not self.seen.any():
            return np.asarray(each[self.seen])
        odds = each[self.seen] / t.shown[self.seen]
        return np.asarray(odds * (each.sum() / max(odds.sum(), np.finfo(float).tiny)))

    # What the learner was fed --------------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> Floats:
        """ŝ of everybody: what the learner was fed, without penalties."""
        t = self.t
        each: Any = np.repeat(np.asarray(t.estimates), t.sizes, axis=0).T
        y = np.where(np.asarray(t.unseen), np.nan, t.y)
        return estimated_weights(y, np.asarray(t.decisions), t.shown, Estimate(*each), t.costs, t.weight)

    @cached_property
    def own(self) -> Floats:
        """π of everybody without the floor."""
        floors = np.repeat(np.asarray(self.t.estimates)[:, 0], self.t.sizes)
        return np.asarray((self.t.shown - floors) / (1.0 - floors))

    @cached_property
    def paid(self) -> float:
        """Σ ŝ π of the learner's own probabilities: its estimated error, less that of always saying no."""
        return float(self.weights @ self.own)

    @property
    def lagrangian_regret(self) -> float:
        """Σ of estimated errors and penalties, less those of the best hypothesis."""
        t, s = self.t, self.weights.copy()
        favoured, disfavoured = t.pair_people.T
        np.add.at(s, favoured, t.pair_penalties)
        np.subtract.at(s, disfavoured, t.pair_penalties)
        return float(s @ self.own) - float(t.hypotheses.geometry.minimum(t.hypotheses.losses(t.rows, s)))

    @cached_property
    def behind_constant(self) -> float | None:
        """The largest lead that the best constant hypothesis has had at the end of a round, by estimate if need be."""
        t = self.t
        if not t.hypotheses.constants or (self.one_sided and not self.estimated):
            return None
        if not self.estimated:
            constant = t.constant_errors
            return None if constant is None else float((np.cumsum(t.errors) - constant).max())
        ours, ones = (
            np.cumsum(np.add.reduceat(values, t.starts[:-1])) for values in (self.weights * self.own, self.weights)
        )
        least = np.min([{0: np.zeros(t.rounds), 1: ones}[value] for value in t.hypotheses.constants], axis=0)
        return float((ours - least).max())

    def deviation(self, delta: float) -> float | None:
        """What to add to a limit of the estimated regret so that it holds of the true one w.p. 1 − δ; None if unproved.

        Theorem 7 with half of δ for each side: everybody counted as good until proved bad, with slack, and no floor.
        """
        t = self.t
        if not self.estimated or t.estimates is None:
            return None
        floors, doubts, slack = t.estimates.T
        safe = not floors.any() and bool((doubts == -t.costs[1]).all() and slack.all())
        if not safe or self.unknown or not fixed_horizon(t):
            return None
        return theory.safe_deviation(
            t.rounds, int(t.sizes.max()), float(t.hypotheses.log_size), float(slack[-1]), delta,
            sum_of_ix=float(slack.sum()), costs=t.costs,
        )  # fmt: skip


class Hidden(NamedTuple):
    """Violating rounds of an auditor who sees decisions only, whether the lot brought them to light or not.

    Attributes
    ----------
    estimate
        Ŵ = Σ 1/gap over the accepted reports: on average at least as many as there are.
    limit
        With confidence 1 − δ there are no more, at the end of any round (Lemma 6).
    persistence
        The probability with which the auditor is taken to name a pair that could be accepted and was decided
        differently.
    stated
        Whether they said with each pair how far apart the two may be; otherwise they name people whom they find alike.
    """

    estimate: float
    limit: float
    persistence: float
    stated: bool


def hidden(t: Transcript, delta: float) -> Hidden | None:
    """How many rounds held a pair that could have been reported; None where the auditor sees probabilities."""
    if t.facts.auditor.sees != "decisions":
        return None
    persistence = float(t.facts.auditor.details.get("persistence", 1.0))
    if t.drawn is not None:
        return _hidden_by_lot(t, delta, persistence)
    estimate = theory.hidden_estimate(t.pair_gaps.tolist()) / persistence
    limit = theory.hidden_limit(estimate * persistence, t.level, delta, persistence)
    unlooked = int((~t.reviewed).sum())
    return Hidden(estimate, min(float(t.rounds), limit + unlooked), persistence, t.stated is not None)


def _hidden_by_lot(t: Transcript, delta: float, persistence: float) -> Hidden:
    """As ``hidden``, where rounds are drawn for review: Σ 1/(q · gap), and Proposition W, which is loose."""
    q, least = np.asarray(t.review_probabilities), t.level * (t.facts.auditor.review_floor or 0.0) * persistence
    seen_gaps = q[t.report_rounds] * t.pair_gaps * persistence
    unanswered = np.asarray(t.drawn) & ~t.reviewed
    counted = [*seen_gaps.tolist(), *(q[unanswered] * t.level * persistence).tolist()]
    few = least <= min(counted, default=1.0) and least > 0
    limit = theory.hidden_by_review(counted, least, delta) if few else t.rounds
    return Hidden(float((1 / seen_gaps).sum()), float(min(t.rounds, limit)), persistence, t.stated is not None)
