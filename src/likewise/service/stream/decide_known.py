"""What follows from commands about known rounds: marked, shown, answered, taken back. Nothing is ever learned."""

from __future__ import annotations

from likewise.errors import require
from likewise.service.refusals import Conflict
from likewise.service.stream.commands import AnswerKnown, MarkKnown, RetractKnown, ShowKnown
from likewise.service.stream.decision import Decision, require_past
from likewise.service.stream.events import KnownAnswered, KnownMarked, KnownRetracted, KnownShown
from likewise.service.stream.events.known import may_retract
from likewise.service.stream.judging import answer_of, looked
from likewise.service.stream.known import USES


def mark(decision: Decision, command: MarkKnown) -> None:
    """Only a closed round that two people judged alike, as long as nobody spoke against it; the same again is none."""
    state, t, past = decision.after, command.t, command.past
    require_past(state, t)
    before = state.known.mark(t)
    if command.use is None:
        if before is None:
            raise Conflict(f"Round {t} is not a known round.")
        decision.add(KnownMarked(at=decision.at, t=t, by=command.by))
        return
    require(command.use in USES, "use", f"be one of {list(USES)}", command.use)
    if t in state.rounds or past is None:
        raise Conflict(f"Round {t} is still open: its answer is not known yet.")
    pairs = None if command.overturned or None in past.ids else past.agreed
    if pairs is None:
        raise Conflict(
            f"Round {t} can't be a known round: at least two people must have judged it and agree, nobody may have "
            "spoken against it since, and nobody in it may be erased."
        )
    if before is None or before.use != command.use:
        judged = past.panel.everybody
        decision.add(
            KnownMarked(at=decision.at, t=t, by=command.by, use=command.use, pairs=pairs, judged=judged)
        )  # fmt: skip


def show(decision: Decision, command: ShowKnown) -> None:
    """As a lot asked for, and only what is new to them."""
    state, known = decision.after, decision.after.known
    new = command.t in [each.t for each in known.for_(command.by)]
    free = command.number not in state.rounds and known.under(command.number, command.by) is None
    if known.due < 1 or not new or not free:
        raise Conflict(f"Round {command.number} can't stand for a known round.")
    decision.add(KnownShown(at=decision.at, t=command.t, number=command.number, by=command.by))


def answer(decision: Decision, command: AnswerKnown) -> None:
    """Every answer is recorded; the first one counts, and the same said again is nothing."""
    state, t = decision.after, command.t
    known = state.known.practised(t, command.by) if command.use == "practice" else state.known
    look = known.look(t, command.by)
    if look is None or look.use != command.use:
        raise Conflict(f"You have not claimed round {command.number}; claim a round first.")
    said = answer_of(command, command.past, state.stream.settings)
    found = bool({pair.positions for pair in said["reports"]} & set(look.pairs or ()))
    if (look.outcome, look.found) == (said["verdict"], found):
        return
    shown = command.past.shown(state.stream.settings)
    decision.add(KnownAnswered(at=decision.at, t=t, use=command.use, shown=shown, **said, **looked(command)))


def take_back(decision: Decision, command: RetractKnown) -> None:
    """In the words of any round, so that nobody can tell."""
    look = decision.after.known.look(command.t, command.by)
    if look is None or look.outcome is None:
        raise Conflict(f"Round {command.number} has no verdict to retract.")
    if not may_retract(look, decision.now, decision.after.waits.grace):
        raise Conflict(f"Round {command.number} is closed; its verdict can only be corrected now.")
    decision.add(KnownRetracted(at=decision.at, t=command.t, by=command.by))
