"""Labels of a round: received in time, expired with some of them missing, late, or late and booked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from likewise.protocol import Estimate, Floats, Rows
from likewise.service.stream.answers import Labelled, RoundRecord
from likewise.service.stream.events.event import IN_MEMORY, RoundEvent, each, kind
from likewise.service.stream.events.rounds import ESTIMATE, SLACK
from likewise.service.stream.events.sums import late_sums
from likewise.service.stream.memory import Memory
from likewise.service.stream.replacing import replace
from likewise.service.stream.state import State

__all__ = ["LabelsBooked", "LabelsExpired", "LabelsLate", "LabelsReceived"]

Labels = tuple[tuple[int, int], ...]
"""(position in the batch, 0 or 1) of each label."""
LABELS = {"read": lambda labels: tuple([(position, label) for position, label in labels])}


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsReceived(RoundEvent):
    """Labels came while their round was waiting for them."""

    kind: ClassVar[str] = "labels_received"
    labels: Labels = field(metadata=LABELS)
    by: str

    def evolve(self, state: State) -> State:
        """The round knows them."""
        round_ = self.round(state)
        labels = round_.labels.copy()
        for position, label in self.labels:
            labels[position] = label
        return state.with_round(replace(round_, labels=labels))

    def sum_up(self, row: dict[str, Any]) -> None:
        """The labels."""
        _label(row, self.labels)

    def tell(self, view: RoundRecord) -> None:
        """The labels of its people."""
        for position, label in self.labels:
            view["people"][position]["label"] = label
        awaited = [person for person in view["people"] if not (person["returning"] or person["unseen"])]
        if all(person["label"] is not None for person in awaited):
            view["labels"] = "complete"

    def objection(self, state: State, memory: Memory) -> str:
        """Only a round whose labels are not settled takes them."""
        round_ = self.round(state)
        if round_.closed or (round_.labels_expired and round_.estimate is None):
            return "adds labels to a round whose labels are already settled"
        return _not_new(self.labels, round_.labels, round_.erased | round_.unlabelled)


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsExpired(RoundEvent):
    """The wait for labels ended: some came ("partial") or none ("expired"), and how many are missing."""

    kind: ClassVar[str] = "labels_expired"
    outcome: Labelled
    missing: int

    def evolve(self, state: State) -> State:
        """The round waits for labels no longer."""
        return state.with_round(replace(self.round(state), labels_expired=True))

    def tell(self, view: RoundRecord) -> None:
        """How the labels were settled."""
        view["labels"] = self.outcome

    def objection(self, state: State, memory: Memory) -> str:
        """The wait must be over, and what is missing be missing."""
        round_ = self.round(state)
        if round_.labels_due(state.waits) > self.time + SLACK:
            return "ends the wait for labels too early"
        outcome, missing = replace(round_, labels_expired=True).labelled, round_.missing
        same = (self.outcome, self.missing) == (outcome, missing)
        return "" if same else f"should say {outcome!r}, with {missing} labels missing"


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsLate(RoundEvent):
    """Labels came after the labels of their round were settled: recorded, never learned."""

    kind: ClassVar[str] = "labels_late"
    labels: Labels = field(metadata=LABELS)
    by: str

    def evolve(self, state: State) -> State:
        """They are counted; an open round remembers them, so that they can't be changed."""
        round_ = state.rounds.get(self.t)
        if round_ is not None:
            state = state.with_round(replace(round_, late=round_.late + self.labels))
        return state.counted(late=len(self.labels))

    def tell(self, view: RoundRecord) -> None:
        """The late labels of its people."""
        for position, label in self.labels:
            view["people"][position]["late_label"] = label

    def objection(self, state: State, memory: Memory) -> str:
        """Labels are late only once their round is settled without them."""
        round_ = state.rounds.get(self.t)
        if round_ is not None:
            if not round_.labels_expired or round_.estimate is not None:
                return "calls labels late while their round still waits for them"
            return _not_new(self.labels, round_.known, round_.erased | round_.unlabelled)
        past = memory.rounds[self.t]
        if past.estimate is not None and past.learned:
            return "leaves late labels of accepted people unlearned"
        return _remembered(self.t, self.labels, memory)


@dataclass(frozen=True, slots=True)
class Booked:
    """A late label of somebody who was accepted: their place in the batch, their reference and their probability."""

    position: int
    label: int
    ref: str
    probability: float


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsBooked(RoundEvent):
    """Labels of accepted people came after their round was learned without them, and the learner heard of them.

    The round counted each of them as u. Now (s − u)/(π̃ + γ′) is added for them, with the round's own u, π̃ and γ′.

    Attributes
    ----------
    booked
        The labels, with what the learner needs of their people.
    estimate
        The round's.
    rows
        The people as the class needs them, where whoever made the event knows.
    """

    kind: ClassVar[str] = "labels_booked"
    names: ClassVar[Literal["person", "remark"]] = "person"
    booked: tuple[Booked, ...] = field(metadata=each(Booked))
    estimate: Estimate = field(metadata=ESTIMATE)
    by: str
    rows: Rows | None = field(default=None, compare=False, metadata=IN_MEMORY)

    @property
    def refs(self) -> list[str]:
        """The references of the people, to whom the round's opening committed."""
        return [booked.ref for booked in self.booked]

    @property
    def labels(self) -> Labels:
        """(position, label) of each."""
        return tuple((booked.position, booked.label) for booked in self.booked)

    def evolve(self, state: State) -> State:
        """The learner has heard of them; one whose people were erased since is known from its next checkpoint on."""
        round_, model = state.rounds.get(self.t), state.stream
        if round_ is not None:  # a past round that is read on its own
            return state.with_round(replace(round_, late=round_.late + self.labels))
        y = np.array([booked.label for booked in self.booked], dtype=float)
        shown = np.array([booked.probability for booked in self.booked], dtype=float)
        weighed = late_sums(y, shown, self.estimate, model.settings.costs)
        ones = int(y.sum())
        state = state.counted(booked=len(y), missing=-len(y), ones=ones, **weighed)
        last = state.checkpoint
        state = replace(state, checkpoint=last._replace(since=min(last.since, self.t)))
        rows = self._encoded(state) if self.rows is None else self.rows
        if state.learner is None or rows is None:
            return replace(state, learner=None, policy=None)
        learner = model.booked(state.learner, rows, y, shown, self.estimate)
        return replace(state, learner=learner, policy=model.deploy(learner))

    def sum_up(self, row: dict[str, Any]) -> None:
        """The labels, although they came late: the learner heard of them."""
        _label(row, self.labels)

    def _encoded(self, state: State) -> Rows | None:
        """The people, as long as all of them are there."""
        features = {aside.ref: aside.content["features"] for aside in self.asides}
        known = all(ref in features for ref in self.refs)
        return state.stream.encode([features[ref] for ref in self.refs]) if known else None

    def tell(self, view: RoundRecord) -> None:
        """The late labels of its people."""
        for position, label in self.labels:
            view["people"][position]["late_label"] = label

    def objection(self, state: State, memory: Memory) -> str:
        """Only of accepted people, of a round that was learned, as that round's opening says."""
        past = memory.rounds.get(self.t)
        if past is None or past.estimate is None or not past.learned:
            return "books labels of a round that was not learned without them"
        out = past.returning | {i for i, decision in enumerate(past.decisions) if not decision}
        wrong = _not_new(self.labels, past.labels, past.erased | out)
        if wrong:
            return wrong
        same = all(
            (booked.ref, booked.probability) == (past.refs[booked.position], past.probabilities[booked.position])
            for booked in self.booked
        )
        if not same or self.estimate != past.estimate:
            return "books labels of other people, or with another estimate, than its round's"
        return _remembered(self.t, self.labels, memory)


def _remembered(t: int, labels: Labels, memory: Memory) -> str:
    """Why labels of a past round can't be new; "" if they can, and then they are known from now on."""
    past = memory.rounds[t]
    wrong = _not_new(labels, past.labels, past.erased)
    if not wrong:
        known = past.labels.copy()
        known[[position for position, _ in labels]] = [label for _, label in labels]
        memory.rounds[t] = past._replace(labels=known)
    return wrong


def _not_new(labels: Sequence[Sequence[int]], known: Floats, erased: frozenset[int]) -> str:
    """Labels are 0 or 1, of people of the round, and never change."""
    positions = [position for position, _ in labels]
    there = all(isinstance(i, int) and 0 <= i < len(known) and i not in erased for i in positions)
    if not there or len(set(positions)) != len(positions) or not positions:
        return "has labels of people who are not in its round"
    if any(isinstance(label, bool) or label not in (0, 1) for _, label in labels):
        return "has labels other than 0 and 1"
    before = known.tolist()
    return "" if all(math.isnan(before[i]) for i in positions) else "changes labels that are already known"


def _label(row: dict[str, Any], labels: Labels) -> None:
    for position, label in labels:
        row["labels"][position] = label
