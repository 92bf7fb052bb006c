"""From rounds to a transcript: the one way, for the readable loop, the compiled one and the service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import require
from likewise.facts import AuditorFacts, EnvironmentFacts, LearnerFacts, PlayFacts
from likewise.game.joined import stacked
from likewise.game.rounds import World
from likewise.game.transcript import Transcript
from likewise.policies import AveragePolicy
from likewise.protocol import Batch, Environment, Estimate, Floats, Learner, Report, ReviewLot, Round, Rows


def learner_facts(learner: Learner) -> LearnerFacts:
    """What a learner is."""
    parameters = learner.parameters()
    false_positive, false_negative = learner.costs
    costs = (float(false_positive), float(false_negative))
    T = None if learner.T is None else int(learner.T)
    return LearnerFacts(parameters.get("name", type(learner).__name__), T, costs, parameters)


def play_facts(learner: Learner, environment: Environment, world: World, first: int) -> PlayFacts:
    """What is known of a play before its first round."""
    auditor = world.auditor
    people, reviewer = environment.facts(), auditor.facts()
    require(isinstance(people, EnvironmentFacts), "environment", "give EnvironmentFacts as its facts", people)
    require(isinstance(reviewer, AuditorFacts), "auditor", "give AuditorFacts as its facts", reviewer)
    if getattr(world.asked, "marks_false", False):
        reviewer = replace(reviewer, marks_false=True)
    alpha, margin = float(auditor.alpha), float(auditor.margin)
    lot, returning = None if world.lots is None else world.lots.kind, "new" if world.record is None else "record"
    roles = learner_facts(learner), people, reviewer
    return PlayFacts(*roles, alpha, margin, world.seed, first, lot, world.labels, returning)


class _Block(NamedTuple):
    """Some rounds in a row: an entry for each of them, and the table of their reports."""

    sizes: NDArray[np.intp]
    reviewed: NDArray[np.bool_]
    penalties: Floats
    reports: NDArray[np.intp]


class Drawn(NamedTuple):
    """What lots brought about in some rounds in a row: people one after another, then an entry for each round."""

    decisions: NDArray[np.bool_]
    unseen: NDArray[np.bool_]
    estimates: Floats
    turned_down: NDArray[np.intp]
    violating: Floats


class Part(NamedTuple):
    """Some rounds in a row as arrays, so that they can be kept and joined again; people one after another.

    ``reports`` has a row per report, whose first entry is the number of the round within the part.
    """

    rows: Rows
    y: Floats
    view: Any
    shown: Floats
    person: NDArray[Any] | None
    weight: Floats | None
    compared: NDArray[np.bool_] | None
    drawn: Drawn | None
    sizes: NDArray[np.intp]
    reviewed: NDArray[np.bool_]
    penalties: Floats
    reports: NDArray[np.intp]
    stated: Floats


class Recorder:
    """Collects the rounds of a play, and makes the transcript at its end.

    Examples
    --------
    >>> facts = PlayFacts(LearnerFacts("me", None, (1.0, 1.0), {}), EnvironmentFacts("you"), AuditorFacts("they"), 0.1)
    >>> record = Recorder(None, facts)
    >>> people = Batch(np.zeros((2, 1)), np.array([1.0, 0.0]), np.zeros((2, 1)))
    >>> record.add(Round(people, np.array([0.9, 0.2]), (Report(0, 1),)), penalty=5.0)
    >>> t = record.transcript(None, AveragePolicy())
    >>> t.errors.round(6).tolist(), t.gaps.round(6).tolist(), t.reports
    ([0.3], [0.7], [(Report(favoured=0, disfavoured=1, violates=None, false=False, stated=None),)])
    """

    def __init__(self, hypotheses: Any, facts: PlayFacts) -> None:
        self._hypotheses, self._facts = hypotheses, facts
        # Lists of arrays, not of rounds: the garbage collector would walk through those again and again.
        self._people: tuple[list[Rows], list[Floats], list[Any], list[Floats]] = ([], [], [], [])
        self._person: list[NDArray[np.intp] | None] = []
        self._weights: list[tuple[int, Floats | None]] = []
        self._compared: list[tuple[int, NDArray[np.bool_] | None]] = []
        self._drawn: list[Drawn] = []
        self._lots_of_review: list[tuple[int, ReviewLot | None]] = []
        self._blocks: list[_Block] = []
        self._before = 0
        """Rounds in the blocks; those added one by one since then are in the lists below."""
        self._reports: list[tuple[int, Report]] = []
        self._stated: list[float] = []
        self._sizes: list[int] = []
        self._reviewed: list[bool] = []
        self._penalties: list[float] = []

    @property
    def rounds(self) -> int:
        """How many rounds were recorded."""
        return self._before + len(self._penalties)

    def add(
        self,
        round_: Round,
        penalty: float,
        y: Floats | None = None,
        turned_down: int = 0,
        violating: float | None = None,
    ) -> None:
        """One more round, with what its reports weighed, or would have weighed.

        ``y`` are all labels, where a simulation knows more than the learner saw.
        """
        (people, probabilities, reports, reviewed, *_), (rows, labels, views, shown) = round_, self._people
        rows.append(people.rows)
        labels.append(people.y if y is None else y)
        views.append(people.view)
        shown.append(probabilities)
        self._person.append(people.person)
        self._weights.append((len(probabilities), people.weight))
        self._compared.append((len(probabilities), round_.compared))
        self._lots_of_review.append((1, round_.lot))
        if round_.decisions is not None:
            self._drawn.append(_drawn(round_, turned_down, violating))
        for report in reports:
            self._reports.append((self.rounds, report))
            self._stated.append(np.nan if report.stated is None else report.stated)
        self._sizes.append(len(probabilities))
        self._reviewed.append(reviewed)
        self._penalties.append(penalty)

    def add_many(
        self,
        people: Batch,
        shown: Floats,
        pairs: NDArray[np.intp],
        violates: NDArray[np.int8],
        penalties: Floats,
        drawn: Drawn | None = None,
    ) -> None:
        """Rounds of equal size, as the compiled loop leaves them: a pair for each round, −1 without a report.

        ``shown`` is (rounds, k); ``people`` holds the people of all rounds one after another.
        """
        self._weights.append((len(people.y), people.weight))
        self._compared.append((len(people.y), None))
        self._lots_of_review.append((len(shown), None))
        if drawn is not None:
            self._drawn.append(drawn)
        self._close_block()
        rounds, k = shown.shape
        for parts, part in zip(self._people, (*people[:3], shown.ravel()), strict=True):
            parts.append(part)
        self._person.append(people.person)
        reported = np.flatnonzero(pairs[:, 0] >= 0)
        table = np.zeros((len(reported), 5), dtype=np.intp)  # what a distance reports is never false
        table[:, 0], table[:, 1:3], table[:, 3] = self._before + reported, pairs[reported], violates[reported]
        self._blocks.append(_Block(np.full(rounds, k), np.ones(rounds, dtype=bool), penalties, table))
        self._before += rounds

    def part(self) -> Part:
        """Everything recorded so far as one part."""
        self._close_block()
        sizes, reviewed, penalties, reports = (np.concatenate(parts) for parts in zip(*self._blocks, strict=True))
        rows, y, views, shown = (self._whole(parts) for parts in self._people)
        drawn = Drawn(*(np.concatenate(column) for column in zip(*self._drawn, strict=True))) if self._drawn else None
        person = None if any(one is None for one in self._person) else self._whole(self._person)
        weight, compared = _filled(self._weights, 1.0), _filled(self._compared, True)
        stated = np.array(self._stated, dtype=float)
        return Part(
            rows, y, views, shown, person, weight, compared, drawn, sizes, reviewed, penalties, reports, stated
        )  # fmt: skip

    def join(self, part: Part) -> None:
        """The rounds of a part after those recorded so far."""
        self._close_block()
        for parts, joined in zip(self._people, part[:4], strict=True):
            parts.append(joined)
        self._person.append(part.person)
        self._weights.append((len(part.y), part.weight))
        self._compared.append((len(part.y), part.compared))
        if part.drawn is not None:
            self._drawn.append(part.drawn)
        reports = part.reports.copy()
        reports[:, 0] += self._before
        self._stated += part.stated.tolist()
        self._blocks.append(_Block(part.sizes, part.reviewed, part.penalties, reports))
        self._before += len(part.sizes)

    def _close_block(self) -> None:
        """Turn the rounds that were added one by one into a block."""
        if self._penalties:
            sizes, reviewed = np.array(self._sizes, dtype=np.intp), np.array(self._reviewed, dtype=bool)
            self._blocks.append(_Block(sizes, reviewed, np.array(self._penalties, dtype=float), _table(self._reports)))
            self._before = self.rounds
            self._sizes, self._reviewed, self._penalties, self._reports = [], [], [], []

    def transcript(
        self,
        state: Any,
        average_policy: AveragePolicy,
        first_pass: AveragePolicy | None = None,
        late: AveragePolicy | None = None,
    ) -> Transcript:
        """Everything recorded, stacked into arrays, with the learner's state after the last round.

        ``first_pass`` is the average over the rounds in which nobody had come before, if the play went on after them,
        and ``late`` the one over the rounds after the half, if the play began before it.
        """
        require(self.rounds > 0, "T", "give at least one round, from an environment with people in it", 0)
        rows, y, views, shown = self._people
        self._close_block()
        sizes, reviewed, penalties, reports = (np.concatenate(parts) for parts in zip(*self._blocks, strict=True))
        return Transcript(
            rows=self._whole(rows),
            y=self._whole(y),
            view=self._whole(views),
            shown=self._whole(shown),
            starts=np.concatenate([[0], np.cumsum(sizes)]),
            report_rounds=reports[:, 0].copy(),
            pairs=reports[:, 1:3].copy(),
            violates=reports[:, 3].astype(np.int8),
            false=reports[:, 4].astype(bool),
            reviewed=reviewed,
            penalties=penalties,
            average_policy=average_policy,
            hypotheses=self._hypotheses,
            state=state,
            facts=self._facts,
            person=None if any(part is None for part in self._person) else self._whole(self._person),
            first_pass=first_pass,
            late=late,
            weight=_filled(self._weights, 1.0),
            compared=_filled(self._compared, True),
            stated=None if np.isnan(self._stated).all() else np.array(self._stated),
            **self._lots(len(shown)),
            **_reviews(self._lots_of_review),
        )

    def _lots(self, parts: int) -> dict[str, Any]:
        """What lots brought about; a transcript without lots has none of it."""
        if not self._drawn:
            return {}
        require(len(self._drawn) == parts, "lot", "be drawn in every round or in none", len(self._drawn))
        whole = Drawn(*(np.concatenate(column) for column in zip(*self._drawn, strict=True)))
        estimated = not np.isnan(whole.estimates).any()
        known = not np.isnan(whole.violating).all()
        return {
            "decisions": whole.decisions,
            "unseen": whole.unseen if self._facts.labels == "accepted" else None,
            "estimates": whole.estimates if estimated else None,
            "turned_down": whole.turned_down,
            "violating": whole.violating if known else None,
        }

    def _whole(self, parts: list[Any]) -> Any:
        # Arrays of many rounds were made for the transcript; those of one round belong to its batch, and are copied.
        return parts[0] if len(parts) == 1 < self.rounds else stacked(parts)


def _table(reports: list[tuple[int, Report]]) -> NDArray[np.intp]:
    """One row per report: its round, the two people, whether it violates (−1 for unknown), whether it is false."""
    rows = [(i, r.favoured, r.disfavoured, -1 if r.violates is None else r.violates, r.false) for i, r in reports]
    return np.array(rows, dtype=np.intp).reshape(-1, 5)


UNKNOWN = Estimate(np.nan, np.nan, np.nan)


def _drawn(round_: Round, turned_down: int, violating: float | None) -> Drawn:
    """What the lot of one round brought about."""
    decisions = np.asarray(round_.decisions)
    unseen = np.zeros(len(decisions), dtype=bool) if round_.unseen is None else round_.unseen
    estimate = np.array([UNKNOWN if round_.estimate is None else round_.estimate])
    gap = np.nan if violating is None else violating
    return Drawn(decisions, unseen, estimate, np.array([turned_down]), np.array([gap]))


ALWAYS = ReviewLot(1.0, True, np.nan)
"""The lot of a round that was to be reviewed anyway."""


def _reviews(parts: Sequence[tuple[int, ReviewLot | None]]) -> dict[str, Any]:
    """How rounds were drawn for review; a transcript in which all were to be reviewed has none of it."""
    if all(lot is None for _, lot in parts):
        return {}
    lots = [ALWAYS if lot is None else lot for rounds, lot in parts for _ in range(rounds)]
    return {
        "review_probabilities": np.array([lot.probability for lot in lots]),
        "drawn": np.array([lot.drawn for lot in lots]),
        "largest_gaps": np.array([lot.gap for lot in lots]),
    }


def _filled(parts: Sequence[tuple[int, NDArray[Any] | None]], usual: Any) -> NDArray[Any] | None:
    """One entry for everybody, the usual one where nothing else was said; None if it is everybody's."""
    if all(part is None for _, part in parts):
        return None
    return np.concatenate([np.full(people, usual) if part is None else part for people, part in parts])
