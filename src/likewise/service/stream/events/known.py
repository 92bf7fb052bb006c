"""Known rounds: marked by a lead, shown again, answered, and taken back. Nothing is learned from any of it.

All are filed under the known round itself, ``t``; a gold round is shown under the ``number`` of another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from likewise.service.stream.answers import RoundRecord
from likewise.service.stream.events.audits import Looked, not_shown
from likewise.service.stream.events.event import PAIRS, TUPLE, RoundEvent, kind
from likewise.service.stream.events.rounds import SLACK
from likewise.service.stream.known import USES, KnownRound, Look, Use
from likewise.service.stream.memory import Memory
from likewise.service.stream.replacing import replace
from likewise.service.stream.state import State

__all__ = ["KnownAnswered", "KnownMarked", "KnownRetracted", "KnownShown"]


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMarked(RoundEvent):
    """A lead marked a closed round as known, or said that it is not any more.

    Attributes
    ----------
    use
        "gold" or "practice"; None if it isn't used any more.
    pairs
        The known answer: the pairs that two people at least stand behind, the favoured person first; none if two found
        no violation.
    judged
        Who judged it, and is never shown it.
    """

    kind: ClassVar[str] = "known_marked"
    may_lack: ClassVar[tuple[str, ...]] = ("use", "pairs", "judged")
    by: str
    use: Use | None = None
    pairs: tuple[tuple[int, int], ...] = field(default=(), metadata=PAIRS)
    judged: tuple[str, ...] = field(default=(), metadata=TUPLE)

    def evolve(self, state: State) -> State:
        """It is one of the known rounds, or none any more."""
        if self.use is None:
            return replace(state, known=state.known.unmarked(self.t))
        knows = (*self.judged, self.by)  # whoever marks it has seen its answer
        return replace(state, known=state.known.marked(KnownRound(self.t, self.use, self.pairs, knows)))

    def tell(self, view: RoundRecord) -> None:
        """What it is used for."""
        view["known"] = self.use

    def objection(self, state: State, memory: Memory) -> str:
        """Its answer is what two people at least said, and nobody overturned it."""
        if self.use is None:
            return "" if state.known.mark(self.t) is not None else "unmarks a round that is not known"
        past = memory.rounds.get(self.t)
        if self.use not in USES or past is None or past.agreed is None:
            return "marks a round whose answer is not known"
        held = (self.pairs, self.judged)
        return "" if held == (past.agreed, past.judged) else f"should know {past.agreed} by {past.judged}, not {held}"


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class KnownShown(RoundEvent):
    """A gold round was shown to a reviewer, as a lot had asked for one.

    Attributes
    ----------
    number
        Of the round under which it was shown, which waits for nobody.
    """

    kind: ClassVar[str] = "known_shown"
    number: int
    by: str

    def evolve(self, state: State) -> State:
        """The reviewer has it in front of them."""
        return replace(state, known=state.known.shown(self.t, self.number, self.by))

    def tell(self, view: RoundRecord) -> None:
        """Nothing: what counts is the answer."""

    def objection(self, state: State, memory: Memory) -> str:
        """A lot asked for it, it is new to them, and nobody is asked about the round whose number it has."""
        known = state.known
        if known.due < 1 or self.t not in [each.t for each in known.for_(self.by)]:
            return "shows a known round that nobody was to be shown"
        free = self.number in memory.rounds and known.under(self.number, self.by) is None
        return "" if free else f"shows a known round under the number {self.number}, which is not free"


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAnswered(Looked):
    """A reviewer answered a known round, gold or practice. Their first answer counts, of how much they find.

    Attributes
    ----------
    use
        "gold" or "practice".
    shown
        A hash of what they saw of it, whatever its number was.
    """

    kind: ClassVar[str] = "known_answered"
    may_lack: ClassVar[tuple[str, ...]] = ("hints", "seconds")
    use: Use
    shown: str

    def evolve(self, state: State) -> State:
        """What they said of it."""
        known = state.known.practised(self.t, self.by) if self.use == "practice" else state.known
        named = tuple(pair.positions for pair in self.reports)
        return replace(state, known=known.answered(self.t, self.by, self.verdict, named, self.time))

    def tell(self, view: RoundRecord) -> None:
        """One more answer."""
        view["known_answers"].append(self.given_verdict(view))

    def objection(self, state: State, memory: Memory) -> str:
        """They had it in front of them, or practise with it."""
        practised = state.known.practised(self.t, self.by) if self.use == "practice" else state.known
        look = practised.look(self.t, self.by)
        if look is None or look.use != self.use:
            return "answers a known round that they were not shown"
        past, settings = memory.rounds[self.t], state.stream.settings
        return self.wrong(past, settings) or not_shown(self.shown, self.t, past, settings)


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRetracted(RoundEvent):
    """A reviewer took the answer to a gold round back, in the time that any verdict can be taken back."""

    kind: ClassVar[str] = "known_retracted"
    by: str

    def evolve(self, state: State) -> State:
        """It waits for an answer again."""
        return replace(state, known=state.known.retracted(self.t, self.by))

    def tell(self, view: RoundRecord) -> None:
        """That there is no such answer any more."""
        view["known_answers"] = [one for one in view["known_answers"] if one["by"] != self.by]

    def objection(self, state: State, memory: Memory) -> str:
        """There must be an answer, and it must be new."""
        look = state.known.look(self.t, self.by)
        fits = look is not None and may_retract(look, self.time - SLACK, state.waits.grace)
        return "" if fits else "retracts an answer that is not there, or is final"


def may_retract(look: Look, now: float, grace: float) -> bool:
    """Whether an answer to a gold round can still be taken back."""
    return look.use == "gold" and look.outcome is not None and now <= look.at + grace
