"""The audit of a round: verdicts, questions about pairs, what is retracted in time, late, or corrected later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Final

from likewise.service.stream.answers import GivenVerdict, Outcome, RoundRecord
from likewise.service.stream.disputes import Dispute
from likewise.service.stream.events.event import NO_PAIR, NUMBER, REMARK, TUPLE, Promise, RoundEvent, each, kind
from likewise.service.stream.events.rounds import SLACK
from likewise.service.stream.memory import Memory, PastRound
from likewise.service.stream.panel import Panel
from likewise.service.stream.replacing import replace
from likewise.service.stream.settings import LONGEST, Settings
from likewise.service.stream.state import CLOCK, OpenRound, Pair, State, Verdict, shown_hash
from likewise.verdicts import Opinion

__all__ = ["AuditCorrected", "AuditRetracted", "Audited", "PairJudged", "VerdictLate"]

OUTCOMES = ("reported", "cleared", "skipped")
"""What an auditor's answer is called in the log: a pair, none, skip."""
EXPIRED: Final = "expired"
"""What an audit is called that nobody made in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer(RoundEvent):
    """What somebody said of a round.

    Attributes
    ----------
    verdict
        reported, cleared, skipped, or expired if nobody looked in time.
    reports
        The pairs, favoured first, with their gaps; none unless the verdict is "reported".
    remark
        A promise of the auditor's reason and note, if there is one.
    """

    verdict: Outcome
    reports: tuple[Pair, ...] = field(metadata=each(Pair))
    remark: Promise | None = field(metadata=REMARK)
    by: str

    @property
    def refs(self) -> list[str]:
        """The reference of the remark."""
        return [] if self.remark is None else [self.remark.ref]

    @property
    def promised(self) -> Mapping[str, str]:
        """The commitment to the remark."""
        return {} if self.remark is None else {self.remark.ref: self.remark.commitment}

    def given_verdict(self, view: RoundRecord) -> GivenVerdict:
        """The answer in plain values, with the auditor's words where they are still there."""
        words: dict[str, Any] = self.asides[0].content if self.asides else {}
        people = view["people"]
        pair = [people[position]["id"] for report in self.reports[:1] for position in report.positions]
        return {
            "verdict": self.verdict,
            "by": self.by,
            "at": self.at,
            "pair": pair,
            "gap": self.reports[0].gap if self.reports else None,
            "reason": words.get("reason", ""),
            "note": words.get("note", ""),
            "hints": None,
            "seconds": None,
        }

    @property
    def first_pair(self) -> dict[str, Any]:
        """The first pair, for the row of its round."""
        return asdict(self.reports[0]) if self.reports else NO_PAIR

    def wrong(self, round_: OpenRound | PastRound, settings: Settings) -> str:
        """Pairs if and only if something is reported; each favoured first, and far enough apart."""
        if self.verdict not in OUTCOMES:
            return f"has an unknown verdict, {self.verdict!r}"
        if (self.verdict == "reported") != bool(self.reports):
            return f"has the verdict {self.verdict!r}, but reports {len(self.reports)} pairs"
        return next((why for pair in self.reports if (why := _wrong_pair(pair, round_, settings))), "")


def not_shown(shown: str | None, t: int, round_: OpenRound | PastRound, settings: Settings) -> str:
    """Whether an answer is about a round that looked different; earlier releases did not say what was shown."""
    same = shown in (None, shown_hash(t, round_, settings))
    return "" if same else "is about a round that was not shown so"


def _wrong_pair(pair: Pair, round_: OpenRound | PastRound, settings: Settings) -> str:
    probabilities, level, out = round_.probabilities, settings.level, round_.erased | round_.returning
    if not all(isinstance(i, int) and 0 <= i < len(probabilities) and i not in out for i in pair.positions):
        return "reports people who are not in its round, or already had a decision"
    if settings.audits == "decisions" and not round_.decisions[pair.favoured] > round_.decisions[pair.disfavoured]:
        return "reports two people who got the same answer"
    gap = float(probabilities[pair.favoured] - probabilities[pair.disfavoured])
    if gap != pair.gap:
        return f"reports a gap of {pair.gap}, but the gap was {gap}"
    return "" if gap > level else f"reports a gap of {gap}, which is allowed: up to {level} is"


def _wrong_look(hints: Any, took: Any) -> str:
    """What can't be known or measured of how an answer came about."""
    if not (hints is None or isinstance(hints, bool)):
        return "says neither yes nor no of hints"
    return "" if took is None or 0 <= took <= LONGEST else f"took {took} seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked(_Answer):
    """What somebody said who had the round in front of them.

    Attributes
    ----------
    hints
        Whether they had asked why people got their probabilities; None where nobody can say.
    seconds
        How long they looked at the round; None where nobody measured it.
    """

    hints: bool | None = None
    seconds: float | None = field(default=None, metadata=NUMBER)

    def given_verdict(self, view: RoundRecord) -> GivenVerdict:
        """The answer, and how it came about."""
        return {**_Answer.given_verdict(self, view), "hints": self.hints, "seconds": self.seconds}

    def wrong(self, round_: OpenRound | PastRound, settings: Settings) -> str:
        """What can't be measured; otherwise as in any answer."""
        return _wrong_look(self.hints, self.seconds) or _Answer.wrong(self, round_, settings)


def _settled(round_: OpenRound, panel: Panel) -> OpenRound:
    """A round of which this was said, and what that comes to."""
    return replace(round_, panel=panel, verdict=panel.settled())


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class Audited(Looked):
    """An auditor looked at an open round and answered; or its wait ended and nobody had.

    Attributes
    ----------
    shown
        A hash of what the auditor saw; None if nobody looked.
    """

    kind: ClassVar[str] = "audited"
    may_lack: ClassVar[tuple[str, ...]] = ("shown", "hints", "seconds")
    shown: str | None = None

    def evolve(self, state: State) -> State:
        """The round has one more verdict; when the wait is over, those that it has must do."""
        round_ = self.round(state)
        if self.verdict == EXPIRED:
            return state.with_round(replace(round_, verdict=round_.panel.ended(self.time)))
        return state.with_round(_settled(round_, self.hear(round_.panel)))

    def hear(self, panel: Panel) -> Panel:
        """One more verdict, unless it is only that nobody gave one."""
        verdict = Verdict(self.verdict, self.time, self.by, self.reports, self.hints is True, self.seconds)
        return panel if self.verdict == EXPIRED else panel.with_verdict(verdict)

    def sum_up(self, row: dict[str, Any]) -> None:
        """The verdict; of several, one that names a pair."""
        if self.reports or row["verdict"] != "reported":
            row |= {"verdict": self.verdict, **self.first_pair}

    def tell(self, view: RoundRecord) -> None:
        """The verdict."""
        view["audit"] = self.given_verdict(view)
        if self.verdict != EXPIRED:
            view["verdicts"].append(self.given_verdict(view))

    def objection(self, state: State, memory: Memory) -> str:
        """By somebody who was to be asked, or by the clock once the wait is over."""
        round_ = self.round(state)
        if round_.verdict is not None or round_.closed:
            return "is a second verdict on its round"
        if self.verdict == EXPIRED:
            due = round_.audit_due(state.waits) <= self.time + SLACK and self.by == CLOCK
            nobody = not self.reports and self.hints is None and self.seconds is None
            return "" if due and nobody else "ends the wait for an audit too early"
        question = round_.panel.asks(self.by)
        if self.by == CLOCK or question is None or question.what != "verdict":
            return "is a verdict by nobody who was to be asked"
        settings = state.stream.settings
        seen = self.shown == round_.shown(settings)
        return self.wrong(round_, settings) or ("" if seen else "is about a round that was not shown so")


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictLate(Looked):
    """A verdict on a round that did not wait for it any more: recorded, counted among all rounds, and never learned.

    Attributes
    ----------
    found
        The probability with which the round was drawn, if it was found clean and now counts as found.
    shown
        A hash of what auditors see of the round when this is said.
    """

    kind: ClassVar[str] = "verdict_late"
    may_lack: ClassVar[tuple[str, ...]] = ("found", "hints", "seconds", "shown")
    found: float | None = field(default=None, metadata=NUMBER)
    shown: str | None = None

    def evolve(self, state: State) -> State:
        """An open round remembers it; one that is closed counts as found if a pair was named."""
        round_ = state.rounds.get(self.t)
        if round_ is not None:
            late = (*round_.panel.late, (self.by, self.verdict, self.reports))
            return state.with_round(replace(round_, panel=round_.panel._replace(late=late)))
        state = replace(state, known=state.known.overturned(self.t)) if self.reports else state
        return state if self.found is None else state.found_later(self.t, self.found)

    def tell(self, view: RoundRecord) -> None:
        """One more late verdict."""
        view["late_verdicts"].append(self.given_verdict(view))

    def objection(self, state: State, memory: Memory) -> str:
        """The round must not be waiting for it."""
        round_ = state.rounds.get(self.t)
        if round_ is None:
            past = memory.rounds[self.t]
            found = past.clean if self.reports else None
            if self.found != found:
                return f"should count a round drawn with the probability {found} as found, not {self.found}"
            if self.reports:
                memory.rounds[self.t] = past._replace(clean=None, agreed=None)
            settings = state.stream.settings
            return self.wrong(past, settings) or not_shown(self.shown, self.t, past, settings)
        question = None if round_.verdict is not None else round_.panel.asks(self.by)
        if question is not None and question.what == "verdict":
            return "calls a verdict late for which its round waits"
        settings = state.stream.settings
        wrong = self.wrong(round_, settings) or not_shown(self.shown, self.t, round_, settings)
        return wrong or ("" if self.found is None else "is of an open round")


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class PairJudged(RoundEvent):
    """Somebody was asked about a pair that somebody else had named: too different, not, or no answer (null).

    Attributes
    ----------
    pair
        Positions in the batch, the favoured person first.
    hints, seconds
        As in a verdict: whether they had asked why, and how long they looked; None where nobody can say.
    shown
        A hash of what they saw.
    """

    kind: ClassVar[str] = "pair_judged"
    may_lack: ClassVar[tuple[str, ...]] = ("hints", "seconds", "shown")
    pair: tuple[int, int] = field(metadata=TUPLE)
    objects: bool | None
    by: str
    hints: bool | None = None
    seconds: float | None = field(default=None, metadata=NUMBER)
    shown: str | None = None

    def evolve(self, state: State) -> State:
        """One more opinion; of a round that was closed before, it may end the dispute."""
        dispute = state.dispute(self.t)
        if dispute is not None:
            dispute = dispute._replace(panel=self.hear(dispute.panel))
            return state.with_dispute(self.t, dispute if dispute.settled is None else None)
        round_ = self.round(state)
        if round_.verdict is not None:  # it was settled without this, and read again
            return state.with_round(replace(round_, panel=self.hear(round_.panel)))
        round_ = _settled(round_, self.hear(round_.panel))
        if round_.verdict is not None:  # the time to take it back begins with the last word
            round_ = replace(round_, verdict=round_.verdict._replace(at=self.time))
        return state.with_round(round_)

    def hear(self, panel: Panel) -> Panel:
        """One more opinion."""
        return panel._replace(opinions=(*panel.opinions, Opinion(self.by, self.pair, self.objects)))

    def tell(self, view: RoundRecord) -> None:
        """One more opinion."""
        pair = [view["people"][position]["id"] for position in self.pair]
        view["opinions"].append(
            {"by": self.by, "at": self.at, "pair": pair, "objects": self.objects,
             "hints": self.hints, "seconds": self.seconds}
        )  # fmt: skip

    def objection(self, state: State, memory: Memory) -> str:
        """Only who is to be asked about this pair, and only while it matters."""
        dispute = state.dispute(self.t)
        if dispute is not None:
            return self._later(dispute, state, memory)
        if self.t not in state.rounds:
            return "judges a pair about which nobody was to be asked"
        panel = self.round(state).panel
        asked = [one for one in panel.questions if one.pair == self.pair]
        due = any(one.of == self.by or (one.of is None and self.by not in one.but) for one in asked)
        open_ = self.round(state).verdict is None
        if not (due and open_):
            return "judges a pair about which nobody was to be asked"
        wrong = _wrong_look(self.hints, self.seconds)
        return wrong or not_shown(self.shown, self.t, self.round(state), state.stream.settings)

    def _later(self, dispute: Dispute, state: State, memory: Memory) -> str:
        """Of a closed round; if it overturns what was learned, a correction must follow."""
        if dispute.question(self.by, self.pair) is None:
            return "judges a pair about which nobody was to be asked"
        memory.adjudicated = dispute._replace(panel=self.hear(dispute.panel)).overturned
        if memory.adjudicated is not None:
            memory.announced = AuditCorrected.kind, self.t
        past = memory.rounds[self.t]
        return _wrong_look(self.hints, self.seconds) or not_shown(self.shown, self.t, past, state.stream.settings)


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRetracted(RoundEvent):
    """Somebody took a verdict back before its round was closed.

    Attributes
    ----------
    of
        Whose it was, if somebody else took it back.
    """

    kind: ClassVar[str] = "audit_retracted"
    may_lack: ClassVar[tuple[str, ...]] = ("of",)
    by: str
    of: str | None = None

    def evolve(self, state: State) -> State:
        """The round waits for a verdict again."""
        round_ = self.round(state)
        round_ = _settled(round_, self.hear(round_.panel))
        return state.with_round(replace(round_, retracted_at=self.time, retractions=round_.retractions + 1))

    def hear(self, panel: Panel) -> Panel:
        """Without that verdict."""
        return panel.without(self.of or self.by)

    def sum_up(self, row: dict[str, Any]) -> None:
        """No verdict any more."""
        row |= {"verdict": None, **NO_PAIR}

    def tell(self, view: RoundRecord) -> None:
        """That there is no such verdict any more."""
        view["audit"] = None
        view["verdicts"] = [one for one in view["verdicts"] if one["by"] != (self.of or self.by)]
        view["retracted"] += 1

    def objection(self, state: State, memory: Memory) -> str:
        """There must be a verdict, and time must not have made it final."""
        round_ = self.round(state)
        final = round_.verdict is not None and round_.verdict.final
        there = round_.panel.of(self.of or self.by) is not None
        return "" if there and not final else "retracts a verdict, but the round has none"


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCorrected(_Answer):
    """What somebody says later that an audit should have been: recorded, never silently unlearned.

    Attributes
    ----------
    replaces
        What the round counted as until now among the rounds learned; None if it was not learned, or not yet.
    found
        The probability with which the round was drawn, if it was found clean and now counts as found.
    shown
        A hash of what auditors see of the round when this is said.
    """

    kind: ClassVar[str] = "audit_corrected"
    may_lack: ClassVar[tuple[str, ...]] = ("replaces", "found", "shown")
    replaces: Outcome | None = None
    found: float | None = field(default=None, metadata=NUMBER)
    shown: str | None = None

    def evolve(self, state: State) -> State:
        """From now on the round counts as this, also one that is still to be learned; the learner doesn't hear."""
        if self.t in state.rounds:
            state = state.with_round(replace(self.round(state), correction=self.verdict))
        if self.found is not None:
            state = state.found_later(self.t, self.found)
        known, state = state.known.overturned(self.t), state.with_dispute(self.t, None)
        return replace(state, known=known, totals=state.totals.corrected_to(self.verdict, self.replaces))

    def sum_up(self, row: dict[str, Any]) -> None:
        """The correction in place of the verdict."""
        row |= {"verdict": self.verdict, **self.first_pair}

    def tell(self, view: RoundRecord) -> None:
        """One more correction."""
        view["corrections"].append(self.given_verdict(view))

    def objection(self, state: State, memory: Memory) -> str:
        """A round that can still be audited isn't corrected."""
        if self._by_clock(memory):
            return "corrects a round in nobody's name, against what was said of it"
        round_, settings = state.rounds.get(self.t), state.stream.settings
        counted = None if round_ is not None else memory.rounds[self.t].outcome
        if self.replaces != counted:
            return f"should replace {counted!r}, not {self.replaces!r}"
        found = memory.rounds[self.t].clean if round_ is None and self.verdict == "reported" else None
        if self.found != found:
            return f"should count a round drawn with the probability {found} as found, not {self.found}"
        if round_ is None:
            past = memory.rounds[self.t]
            clean = None if self.verdict == "reported" else past.clean
            counts = self.verdict if past.learned else None
            memory.rounds[self.t] = past._replace(outcome=counts, clean=clean, agreed=None)
            return self.wrong(past, settings) or not_shown(self.shown, self.t, past, settings)
        if round_.verdict is None or not round_.verdict.final:
            return "corrects a round that can still be audited"
        return self.wrong(round_, settings) or not_shown(self.shown, self.t, round_, settings)

    def _by_clock(self, memory: Memory) -> bool:
        """Whether it says that others decided something which they did not."""
        due, memory.adjudicated = memory.adjudicated, None
        if self.by != CLOCK:
            return memory.expected
        return not memory.expected or due is None or (due.outcome, due.pairs) != (self.verdict, self.reports)
