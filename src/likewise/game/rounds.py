"""One round: from a batch and its probabilities to what the learner may learn from.

Lots turn probabilities into decisions, the labels of refused people stay hidden where that is the world, and the
auditor answers. A report that can't be true is refused. An auditor who sees only decisions is shown the pairs that
could be accepted, as otherwise a pair of small gap can hide one of large gap for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import ReportRefused, require
from likewise.game.lots import Lots, Record
from likewise.game.transcript import of
from likewise.protocol import (
    SKIPPED,
    Answer,
    Batch,
    Estimate,
    Floats,
    Key,
    Report,
    ReviewLot,
    Role,
    Round,
    reports_of,
)

LABELS = ("all", "accepted")
RETURNING = ("new", "record")
AUDITOR, REVIEW = Role.AUDITOR, Role.REVIEW  # Python 3.11 is slow to look a member up


class Played(NamedTuple):
    """A round as the learner sees it, and what only a simulation knows of it.

    Attributes
    ----------
    seen
        What the learner may learn from.
    y
        All labels, those of refused people too.
    turned_down
        Reports that were named and not accepted.
    violating
        The largest gap of a pair that the auditor would have named, had it been decided differently, and that could
        have been accepted: 0 if there is none; None where nobody knows.
    """

    seen: Round
    y: Floats
    turned_down: int = 0
    violating: float | None = None


@dataclass(frozen=True)
class World:
    """How rounds are played: who looks, at what, and which labels come to light."""

    auditor: Any
    """An ``Auditor``, or an ``AuditorOfDecisions``."""
    seed: int
    lots: Lots | None = None
    labels: str = "all"
    record: Record | None = None

    @property
    def asked(self) -> Any:
        """Who looks at the rounds: the auditor, or the one inside where reviews are drawn by lot."""
        return self.auditor.auditor if hasattr(self.auditor, "lot") else self.auditor

    def _lot(self, t: int, gaps: Callable[[], Any]) -> ReviewLot | None:
        """How round t is drawn for review, by its largest gap; None where every round is reviewed."""
        draw = getattr(self.auditor, "lot", None)
        return None if draw is None else draw(Key(self.seed, REVIEW, t), float(gaps()))

    @property
    def plain(self) -> bool:
        """Whether nothing is drawn: the auditor sees probabilities, and every label is seen."""
        return self.lots is None

    @property
    def level(self) -> float:
        """A report of a gap that is not above this is refused."""
        return float(self.auditor.alpha - self.auditor.margin)

    def played(self, t: int, batch: Batch, probabilities: Floats, estimate: Estimate | None = None) -> Played:
        """What becomes of the people of round t."""
        key = Key(self.seed, AUDITOR, t)
        if self.lots is None:
            lot = self._lot(t, lambda: np.ptp(probabilities))
            if lot is not None and not lot.drawn:
                return Played(_not_asked(Round(batch, probabilities), lot), batch.y)
            answer = self.asked.audit(batch, probabilities, key)
            return Played(_round(batch, probabilities, answer, self, lot), batch.y)
        decisions = self.lots.of(t, len(probabilities)) < probabilities
        fresh = np.ones(len(decisions), dtype=bool)
        if self.record is not None:
            batch, probabilities, decisions, fresh = _served(self.record, batch, probabilities, decisions)
        drawn = Round(batch, probabilities, (), True, decisions, None, estimate)
        if self.labels == "accepted":
            hidden = np.where(decisions, batch.y, np.nan)
            drawn = drawn._replace(batch=batch._replace(y=hidden), unseen=~decisions)
        if getattr(self.auditor, "sees", "probabilities") == "decisions":
            return self._by_decisions(drawn, batch.y, fresh, key)
        return Played(self._by_probabilities(drawn, fresh, key), batch.y)

    def _by_probabilities(self, drawn: Round, fresh: NDArray[np.bool_], key: Key) -> Round:
        """The round with the answer of an auditor who is shown the probabilities of the people that are new."""
        places = np.flatnonzero(fresh)
        lot = self._lot(key.t, lambda: np.ptp(drawn.probabilities[places]) if len(places) else 0.0)
        drawn = drawn._replace(lot=lot, compared=None if fresh.all() else fresh)
        if not fresh.all() and len(places) < 2:  # there is no pair to look at
            return drawn._replace(reviewed=False)
        if lot is not None and not lot.drawn:
            return _not_asked(drawn, lot)
        if fresh.all():
            return _answered(drawn, self.asked.audit(drawn.batch, drawn.probabilities, key), self)
        answer = self.asked.audit(_some(drawn.batch, places), drawn.probabilities[places], key)
        if answer is SKIPPED or answer is None:
            return _answered(drawn, answer, self)
        return _answered(drawn, tuple(_placed(report, places) for report in reports_of(answer)), self)

    def _by_decisions(self, drawn: Round, y: Floats, fresh: NDArray[np.bool_], key: Key) -> Played:
        """The round with the first acceptable report of an auditor who is shown decisions."""
        p, yes = drawn.probabilities, np.asarray(drawn.decisions)
        different = (yes & fresh)[:, None] & (~yes & fresh)
        lot = self._lot(key.t, lambda: np.where(different, p[:, None] - p, 0.0).max(initial=0.0))
        drawn = drawn._replace(compared=np.zeros_like(fresh), lot=lot)
        violating = self._violating(drawn, fresh)
        if not fresh.all() and fresh.sum() < 2:  # there is no pair to look at
            return Played(drawn._replace(reviewed=False), y, 0, violating)
        if lot is not None and not lot.drawn:
            return Played(_not_asked(drawn, lot), y, 0, violating)
        screened = getattr(self.asked, "screened", True)
        pairs = np.argwhere(different & (p[:, None] - p > self.level) if screened else different)
        answer = self.asked.audit(drawn.batch, yes.astype(float), key, pairs)
        if answer is SKIPPED:
            return Played(drawn._replace(reviewed=False), y, 0, violating)
        named = () if answer is None else (answer,) if isinstance(answer, Report) else _distinct(answer)
        for report in named:
            _require_different(report, different)
        accepted = next((i for i, report in enumerate(named) if self._acceptable(report, p)), None)
        if accepted is None:
            return Played(drawn, y, len(named), violating)
        return Played(drawn._replace(reports=(named[accepted],)), y, accepted, violating)

    def _acceptable(self, report: Report, p: Floats) -> bool:
        """Whether the gap, which the auditor never saw, exceeds the level, and what they stated besides."""
        gap = p[report.favoured] - p[report.disfavoured]
        return bool(gap > self.level + (0.0 if report.stated is None else report.stated))

    def _violating(self, drawn: Round, fresh: NDArray[np.bool_]) -> float | None:
        """What a simulated auditor knows of the pairs that the lot did not bring to light."""
        knows = getattr(self.asked, "violating", None)
        if knows is None:
            return None
        people = np.flatnonzero(fresh)
        return float(knows(_some(drawn.batch, people), drawn.probabilities[people])) if len(people) > 1 else 0.0


def _served(
    record: Record, batch: Batch, probabilities: Floats, decisions: NDArray[np.bool_]
) -> tuple[Batch, Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """The batch with returning people served from the record; they weigh nothing. Also who is new."""
    returning = record.returning(batch.person)
    person = np.asarray(batch.person)
    record.keep(person[~returning], probabilities[~returning], decisions[~returning])
    if returning.any():
        probabilities, decisions = probabilities.copy(), decisions.copy()
        probabilities[returning], decisions[returning] = record.served(person[returning])
        weight = np.ones(len(person)) if batch.weight is None else batch.weight
        batch = batch._replace(weight=np.where(returning, 0.0, weight))
    return batch, probabilities, decisions, ~returning


def _some(batch: Batch, places: NDArray[np.intp]) -> Batch:
    """Some people of a batch."""
    view = batch.view.iloc[places] if hasattr(batch.view, "iloc") else batch.view[places]
    return Batch(batch.rows[places], batch.y[places], view, of(batch.person, places), of(batch.weight, places))


def _placed(report: Report, places: NDArray[np.intp]) -> Report:
    """A report about some of the people, with their places in the whole batch."""
    return report._replace(favoured=int(places[report.favoured]), disfavoured=int(places[report.disfavoured]))


def _round(batch: Batch, probabilities: Floats, answer: Answer, world: World, lot: ReviewLot | None) -> Round:
    """The round as it was seen, where no decision was drawn."""
    if answer is None and lot is None:
        return Round(batch, probabilities)
    return _answered(Round(batch, probabilities, lot=lot), answer, world)


def _not_asked(round_: Round, lot: ReviewLot) -> Round:
    """A round that was not drawn for review: proved clean if it was cleared, and otherwise not looked at."""
    return round_._replace(reviewed=lot.cleared, lot=lot)


def _answered(round_: Round, answer: Answer, world: World) -> Round:
    """The round with an answer; reports that can't be true are refused."""
    if answer is None:
        return round_
    if answer is SKIPPED:
        return round_._replace(reviewed=False)
    reports = (answer,) if isinstance(answer, Report) else _distinct(answer)
    for report in reports:
        _require_possible(report, round_.probabilities, world)
    return round_._replace(reports=reports)


def _distinct(answer: Any) -> tuple[Report, ...]:
    """The reports of an answer with several."""
    several = isinstance(answer, tuple) and len(answer) > 0 and all(isinstance(report, Report) for report in answer)
    if not several:
        raise ReportRefused(f"An answer must be a report, a tuple of reports, None or SKIPPED, got {answer!r}.")
    if len({frozenset(report[:2]) for report in answer}) < len(answer):
        raise ReportRefused(f"The reports of a round must name different pairs, got {[r[:2] for r in answer]}.")
    return tuple(answer)


def _require_people(report: Report, k: int) -> None:
    if not (0 <= report.favoured < k and 0 <= report.disfavoured < k):
        raise ReportRefused(f"A report must name two of {k} people, got {report.favoured} and {report.disfavoured}.")


def _require_different(report: Report, different: NDArray[np.bool_]) -> None:
    _require_people(report, len(different))
    if not different[report.favoured, report.disfavoured]:
        raise ReportRefused(
            f"A report by decisions must name two new people, one who got a yes and one who got a no, got "
            f"{report.favoured} and {report.disfavoured} (favoured first)."
        )


def _require_possible(report: Report, probabilities: Floats, world: World) -> None:
    _require_people(report, len(probabilities))
    gap = probabilities[report.favoured] - probabilities[report.disfavoured]
    if gap <= world.level and not (report.false and getattr(world.asked, "marks_false", False)):
        raise ReportRefused(
            f"A reported gap must exceed α − margin = {world.level:g} to be a violation, got {gap:g} "
            f"for people {report.favoured} and {report.disfavoured} (favoured first)."
        )


def world_of(auditor: Any, seed: int, lot: str | None, labels: str | None, returning: str, learner: Any) -> World:
    """The world of a play; a refusal where its parts don't fit together."""
    estimates = hasattr(learner, "estimate")
    labels = ("accepted" if estimates else "all") if labels is None else labels
    require(labels in LABELS, "labels", f"be one of {LABELS}", labels)
    fits = labels == "accepted" or not estimates
    require(fits, "labels", "be “accepted” for a learner of one-sided labels", labels)
    require(returning in RETURNING, "returning", f"be one of {RETURNING}", returning)
    sees = getattr(auditor, "sees", "probabilities")
    require(sees in ("probabilities", "decisions"), "auditor", "see “probabilities” or “decisions”", sees)
    if lot is None and (labels == "accepted" or sees == "decisions"):
        lot = "round"
    draws = lot is not None or returning == "new"
    require(draws, "returning", "be “new” where nothing is drawn (`lot` is None)", returning)
    lots = None if lot is None else Lots(seed, lot)
    return World(auditor, seed, lots, labels, Record() if returning == "record" else None)
