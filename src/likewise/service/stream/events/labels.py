"""Labels of a round: received in time, expired with some of them missing, or late."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from likewise.protocol import Floats
from likewise.service.stream.answers import Labelled, RoundRecord
from likewise.service.stream.events.event import RoundEvent, kind
from likewise.service.stream.events.rounds import SLACK
from likewise.service.stream.memory import Memory
from likewise.service.stream.state import State

Labels = tuple[tuple[int, int], ...]
"""(position in the batch, 0 or 1) of each label."""
LABELS = {"read": lambda labels: tuple((position, label) for position, label in labels)}


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

    def tell(self, view: RoundRecord) -> None:
        """The labels of its people."""
        for position, label in self.labels:
            view["people"][position]["label"] = label
        if all(person["label"] is not None for person in view["people"]):
            view["labels"] = "complete"

    def objection(self, state: State, memory: Memory) -> str:
        """Only a round whose labels are not settled takes them."""
        round_ = self.round(state)
        if round_.closed or round_.labels_expired:
            return "adds labels to a round whose labels are already settled"
        return _not_new(self.labels, round_.labels, round_.erased)


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
            if not round_.labels_expired:
                return "calls labels late while their round still waits for them"
            return _not_new(self.labels, round_.known, round_.erased)
        known = memory.rounds[self.t].labels
        wrong = _not_new(self.labels, known, frozenset())
        if not wrong:
            for position, label in self.labels:
                known[position] = label
        return wrong


def _not_new(labels: Sequence[Sequence[int]], known: Floats, erased: frozenset[int]) -> str:
    """Labels are 0 or 1, of people of the round, and never change."""
    positions = [position for position, _ in labels]
    there = all(isinstance(i, int) and 0 <= i < len(known) and i not in erased for i in positions)
    if not there or len(set(positions)) != len(positions) or not positions:
        return "has labels of people who are not in its round"
    if any(isinstance(label, bool) or label not in (0, 1) for _, label in labels):
        return "has labels other than 0 and 1"
    return "" if all(math.isnan(known[i]) for i in positions) else "changes labels that are already known"
