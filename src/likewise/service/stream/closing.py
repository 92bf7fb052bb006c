"""A round's end: it closes when audit and labels are settled, and the learner learns from it unless it is discarded."""

from __future__ import annotations

from likewise.service.stream.decision import Decision, policy_of
from likewise.service.stream.events import Learned, LearnerCheckpointed, RoundClosed
from likewise.service.stream.state import OpenRound, State


def close(decision: Decision, t: int) -> None:
    """Close a round if it may, and let the learner learn from it unless it is discarded."""
    state = decision.after
    round_, waits = state.rounds[t], state.waits
    if round_.verdict is None or round_.labelled is None or not round_.may_close(waits, decision.now):
        return
    audit, labels, learns = round_.verdict.outcome, round_.labelled, round_.teaches(waits)
    counts = round_.answer or "unanswered"
    decision.add(RoundClosed(at=decision.at, t=t, audit=audit, labels=labels, learns=learns, counts=counts))
    if learns:
        decision.add(_learned(state, round_, decision))
        if decision.after.checkpoint.due(decision.after.totals.learned):
            decision.add(LearnerCheckpointed.of(decision.after, decision.at))


def _learned(state: State, round_: OpenRound, decision: Decision) -> Learned:
    version = policy_of(state).version
    return Learned(
        at=decision.at,
        t=round_.t,
        version=version + 1,
        penalty=float(state.stream.learner.penalty_at(state.learner)),
        delay=version - round_.version,
        outstanding=state.outstanding - 1,
        waited=round(decision.now - round_.opened_at, 6),
        dropped=round_.reports_erased,
    )
