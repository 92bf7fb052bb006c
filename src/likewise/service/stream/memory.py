"""What the rules remember: of rounds that have left the state, and of policies and people seen before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from likewise.protocol import Estimate, Floats
from likewise.service.stream.answers import Outcome
from likewise.service.stream.verdict import Verdict


class PastRound(NamedTuple):
    """What later events may still say something about, of a round that is closed."""

    probabilities: Floats
    labels: Floats
    refs: tuple[str, ...] = ()
    decisions: tuple[int, ...] = ()
    returning: frozenset[int] = frozenset()
    estimate: Estimate | None = None
    learned: bool = True
    erased: frozenset[int] = frozenset()
    outcome: Outcome | None = None
    """What it counts as among the rounds learned."""
    clean: float | None = None
    """The probability with which it was drawn, if it was reviewed and found clean."""
    agreed: tuple[tuple[int, int], ...] | None = None
    """The answer that two people stand behind, pairs or none of them; None if there is no such answer, or not now."""
    judged: tuple[str, ...] = ()
    """Who judged it."""
    opened_at: float = 0.0


@dataclass
class Memory:
    """What was seen so far in a log that is checked event by event.

    Attributes
    ----------
    rounds
        The closed rounds, by number.
    policies
        The hash of each policy that was deployed, by its version and the late labels that were booked before it.
    limits
        For each person the highest probability that was answered with no and the lowest that was answered with yes.
    record
        For each person their probability and decision, as they got them the first time.
    announced
        Kind and round of the event that must come next, where two are written together.
    expected
        Whether the event before announced the one that is looked at.
    adjudicated
        What the event before made of a round that was closed with another outcome.
    """

    rounds: dict[int, PastRound] = field(default_factory=dict)
    policies: dict[tuple[int, int], str] = field(default_factory=dict)
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)
    record: dict[str, tuple[float, int]] = field(default_factory=dict)
    announced: tuple[str, int | None] | None = None
    expected: bool = False
    adjudicated: Verdict | None = None

    def erase(self, refs: Collection[str], rounds: Sequence[int]) -> None:
        """Remember who is gone from rounds that are closed."""
        gone = set(refs)
        for t, past in ((t, self.rounds[t]) for t in rounds if t in self.rounds):
            erased = frozenset(i for i, ref in enumerate(past.refs) if ref in gone)
            self.rounds[t] = past._replace(erased=past.erased | erased, agreed=None)
