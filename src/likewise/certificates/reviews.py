"""How many of *all* rounds violate, where rounds were drawn for review by lot: Theorem L for a certificate.

The limit is about rounds that the reviewer would have reported. Corrected for detection, the share r of violating
rounds that reviewers find, it is about violating rounds: r is printed as an assumption (1, 0.9, 0.8), or its lower
limit is measured on known rounds or by overlap, with half of δ for r and half for Theorem L.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise import theory
from likewise.game import Transcript
from likewise.theory import Gold, Overlap, ReviewCount

ASSUMED = (1.0, 0.9, 0.8)
"""Detection, where it is assumed and not measured."""


class Detection(NamedTuple):
    """A lower limit of the share of violating rounds that reviewers find, with confidence 1 − δ/2.

    Attributes
    ----------
    least
        The limit.
    known, missed
        Rounds with a known violation that were put before them, and how many they missed.
    twice, agreement, agreement_from, agreement_to
        Rounds that two judged without knowing of each other, and the share of reports that the other confirmed, with
        its limits at confidence 1 − δ.
    """

    least: float
    known: int = 0
    missed: int = 0
    twice: int = 0
    agreement: float | None = None
    agreement_from: float = 0.0
    agreement_to: float = 1.0


class Reviews(NamedTuple):
    """What reviews by lot say of all rounds.

    Attributes
    ----------
    rounds, cleared, drawn, reported, unanswered
        How many rounds the limit is about, in how many no pair can violate, how many of the others were drawn, how many
        of those were reported, and how many had no answer, which count as reported.
    waiting
        Later rounds that the limit leaves out, as one of them still waits for an answer.
    estimate
        The best guess: Σ 1/q over the reports.
    limit, lower
        At most, and at least, so many rounds held a pair that the reviewer would have reported, each with confidence
        1 − δ at any time. ``lower`` is None where reports are known to be false.
    assumed
        The limit of violating rounds, if reviewers find a share r of them: pairs (r, limit).
    detection, corrected
        What was measured of that share, and the limit corrected for it, both together with confidence 1 − δ.
    felt
        The auditor sees decisions: rounds count in which the pair was decided differently.
    """

    rounds: int
    cleared: int
    drawn: int
    reported: int
    unanswered: int
    waiting: int
    estimate: float
    limit: int
    lower: int | None
    assumed: tuple[tuple[float, int], ...]
    detection: Detection | None
    corrected: int | None
    felt: bool

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return self._asdict() | {"detection": None if self.detection is None else self.detection._asdict()}


def measured(gold: Gold | None, overlap: Overlap | None, delta: float) -> Detection | None:
    """Detection from known rounds, or else from overlap, at δ/2; None if there is neither.

    Examples
    --------
    >>> round(measured(Gold(found=45, missed=1), None, 0.05).least, 3)
    0.885
    """
    if gold is None and overlap is None:
        return None
    agreed = () if overlap is None else (overlap.rounds, *theory.positive_agreement(overlap, delta))
    if gold is not None:
        known = gold.found + gold.missed
        return Detection(theory.detection_by_gold(gold.missed, known, delta / 2), known, gold.missed, *agreed)
    assert overlap is not None
    return Detection(theory.detection_by_overlap(overlap, delta).low, 0, 0, *agreed)


def reviews(
    t: Transcript,
    delta: float,
    gold: Gold | None = None,
    overlap: Overlap | None = None,
    count: ReviewCount | None = None,
    waiting: int = 0,
) -> Reviews | None:
    """What the reviews of a play say of all its rounds; None if nothing was drawn and nothing measured."""
    detection = measured(gold, overlap, delta)
    if t.drawn is None and count is None and detection is None:
        return None
    count = t.review_count if count is None else count
    auditor = t.facts.auditor
    truthful = auditor.truthful is not False and not t.false.any()
    return Reviews(
        count.rounds,
        count.cleared,
        count.drawn,
        count.reported,
        count.unanswered,
        waiting,
        count.estimate,
        theory.review_limit(count, delta),
        theory.review_lower_limit(count, delta) if truthful else None,
        tuple((r, theory.review_limit(count, delta, r)) for r in ASSUMED),
        detection,
        None if not detection or not detection.least else theory.review_limit(count, delta / 2, detection.least),
        auditor.sees == "decisions",
    )


def sum_of_betas(t: Transcript, T: int, delta: float) -> float | None:
    """A limit of Σβ over the first T rounds, where they were drawn by lot; None if they were not, or without a floor.

    Drawn rounds without an answer, and rounds with one person, count as found.
    """
    floor = t.facts.auditor.review_floor
    if t.drawn is None or t.review_probabilities is None or floor is None:
        return None
    q, uncleared = t.review_probabilities[:T], ~t.cleared[:T]
    alone = t.sizes[:T] < 2
    found = t.drawn[:T] & uncleared & ~alone & (t.reported | ~t.reviewed)[:T]
    if (q[uncleared] < floor * (1 - 1e-12)).any():
        return None
    by_lot = theory.sum_of_betas_by_lot(np.maximum(q[found], floor).tolist(), floor, delta)
    return by_lot + int(np.count_nonzero(alone))
