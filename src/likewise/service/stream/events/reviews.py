"""Who looks at a round: nobody, where arithmetic clears it; whoever a lot says; and how the plan for that changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from likewise.errors import InvalidParameter
from likewise.service.stream.answers import GivenVerdict, Outcome, RoundRecord
from likewise.service.stream.brief import Brief
from likewise.service.stream.events.event import NUMBER, Event, RoundEvent, kind
from likewise.service.stream.events.rounds import LOT
from likewise.service.stream.learner import Model
from likewise.service.stream.lots import Lot
from likewise.service.stream.memory import Memory
from likewise.service.stream.panel import Panel
from likewise.service.stream.replacing import replace
from likewise.service.stream.state import CLOCK, OpenRound, State, Verdict

__all__ = ["BriefChanged", "ClearedByArithmetic", "PlanChanged", "ReviewDrawn"]

NEEDLESS: Final = "cleared"
"""What a round counts as that needs nobody, as no report of it could be accepted."""
UNDRAWN: Final = "undrawn"
"""What a round counts as that the lot did not choose for review."""


class _NobodyLooks(RoundEvent):
    """What a round counts as without anybody's verdict."""

    __slots__ = ()

    def settled(self, state: State, outcome: Outcome) -> OpenRound:
        """Its round, with a verdict that nobody gave and nobody can take back."""
        return replace(self.round(state), verdict=Verdict(outcome, self.time, CLOCK))

    def told(self, outcome: Outcome) -> GivenVerdict:
        """The same in plain values."""
        return {
            "verdict": outcome, "by": CLOCK, "at": self.at, "pair": [], "gap": None, "reason": "", "note": "",
            "hints": None, "seconds": None,
        }  # fmt: skip


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class ClearedByArithmetic(_NobodyLooks):
    """No two people of a round were far enough apart to be reported: it is clean, and nobody is asked."""

    kind: ClassVar[str] = "cleared_by_arithmetic"
    alone: ClassVar[bool] = False

    def evolve(self, state: State) -> State:
        """The round is clean, for good."""
        return state.with_round(self.settled(state, NEEDLESS))

    def tell(self, view: RoundRecord) -> None:
        """A verdict that nobody gave."""
        view["audit"] = self.told(NEEDLESS)

    def sum_up(self, row: dict[str, Any]) -> None:
        """The same."""
        row["verdict"] = NEEDLESS


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDrawn(_NobodyLooks):
    """A lot said whether a round is reviewed, and whether a second time, before anything of its outcome was known.

    Attributes
    ----------
    probability
        With which it was to be drawn: what the plan gives a round with its gap after those before it.
    drawn, second
        Whether somebody is to look, and somebody else a second time.
    lot
        The nonce behind both, and a commitment to the next one.
    rule
        What counts where several judge, if the plan has second verdicts.
    gold
        Whether a reviewer is to be shown a known round beside it; None if not.
    """

    kind: ClassVar[str] = "review_drawn"
    alone: ClassVar[bool] = False
    may_lack: ClassVar[tuple[str, ...]] = ("rule", "gold")
    probability: float = field(metadata=NUMBER)
    drawn: bool
    second: bool
    lot: Lot = field(metadata=LOT)
    rule: str | None = None
    gold: bool | None = None

    @classmethod
    def of(cls, state: State, t: int, lot: Lot, at: str) -> ReviewDrawn:
        """What the lot says of the round that was just opened."""
        review, round_ = state.stream.settings.review, state.rounds[t]
        name, shown = state.stream.settings.name, round_.probabilities.tolist()
        q = state.drawing.probability(review)
        drawn = lot.number(name, t, shown, "review") < q
        second = drawn and lot.number(name, t, shown, "second") < review.second
        gold = (drawn and lot.number(name, t, shown, "gold") < review.gold) or None
        rule = review.rule if review.second > 0 else None
        return cls(at=at, t=t, probability=q, drawn=drawn, second=second, lot=lot, rule=rule, gold=gold)

    def evolve(self, state: State) -> State:
        """The round waits for a reviewer, or for nobody."""
        drawing = state.drawing.drew(state.stream.settings.review, self.probability, self.lot.next)
        round_ = self.round(state) if self.drawn else self.settled(state, UNDRAWN)
        round_ = replace(round_, q=self.probability, panel=self.hear(round_.panel))
        known = state.known.drawn() if self.gold else state.known
        return replace(state.with_round(round_), drawing=drawing, known=known)

    def hear(self, panel: Panel) -> Panel:
        """Nothing was said yet, and so many are to be asked."""
        return Panel(wanted=2 if self.second else 1, rule=self.rule)

    def sum_up(self, row: dict[str, Any]) -> None:
        """That nobody looks if it wasn't drawn."""
        if not self.drawn:
            row["verdict"] = UNDRAWN

    def tell(self, view: RoundRecord) -> None:
        """With which probability it was drawn, and that nobody looks if it wasn't."""
        view["review"] = {"probability": self.probability, "drawn": self.drawn, "second": self.second}
        if not self.drawn:
            view["audit"] = self.told(UNDRAWN)

    def objection(self, state: State, memory: Memory) -> str:
        """The nonce is the one committed to, and everything follows from it."""
        if self.lot.committed != state.drawing.next:
            return "opens a nonce that is not the one committed to"
        due = ReviewDrawn.of(state, self.t, self.lot, self.at)
        if due != self:
            expected = f"{due.drawn}, {due.second} and {due.gold}"
            return f"should have the probability {due.probability} and say {expected}"
        return ""


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChanged(Event):
    """Rounds that are opened from now on are reviewed by another plan."""

    kind: ClassVar[str] = "plan_changed"
    changes: dict[str, Any]
    by: str

    def evolve(self, state: State) -> State:
        """The same stream with another plan."""
        model = state.stream
        return replace(state, model=Model(model.settings.with_review(self.changes), model.version, model.program))

    def objection(self, state: State, memory: Memory) -> str:
        """Lots need a nonce that was committed to."""
        settings = state.stream.settings.with_review(self.changes)
        return "plans lots without a nonce" if settings.review.by_lot and state.drawing.next is None else ""


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class BriefChanged(Event):
    """Reviewers are told something else before they judge, from now on.

    Attributes
    ----------
    version
        Of the brief; the first one is 1.
    brief
        All of it (``likewise.service.stream.brief``).
    """

    kind: ClassVar[str] = "brief_changed"
    version: int
    brief: dict[str, Any]
    by: str

    def evolve(self, state: State) -> State:
        """The same stream with another brief."""
        return replace(state, brief=Brief(**self.brief), brief_version=self.version)

    def objection(self, state: State, memory: Memory) -> str:
        """Versions are counted, and every part of a brief is one."""
        if self.version != state.brief_version + 1:
            return f"should have version {state.brief_version + 1}, not {self.version}"
        try:
            whole = Brief(**self.brief).model_dump(mode="json") == self.brief
        except InvalidParameter as wrong:
            return f"holds no brief: {wrong}"
        return "" if whole else "holds only a part of a brief"


def announced(state: State, t: int) -> tuple[str, int | None] | None:
    """What must directly follow the opening of a round, given the state after it."""
    settings = state.stream.settings
    if state.rounds[t].needs_nobody(settings):
        return ClearedByArithmetic.kind, t
    return (ReviewDrawn.kind, t) if settings.review.by_lot else None
