"""What follows from a command: events, or a refusal. Pure; nothing has happened yet.

    decide(state, command, now) → Decision(events, after)

A decision is a fold: each event is followed by what is true once it has happened (``event.evolve``), so nothing about a
round is computed twice, and whoever makes the events durable knows the state after them.

A round is opened, then audited (reported | cleared | skipped | expired) and labelled (complete | partial | expired) in
either order, then closed, then learned. Rounds overlap freely and are learned in the order of the log.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from likewise.errors import InvalidParameter, require
from likewise.service.refusals import Conflict, StreamStopped, Unknown
from likewise.service.stream.answers import Labelled
from likewise.service.stream.brief import Brief
from likewise.service.stream.closing import close
from likewise.service.stream.commands import (
    Advance,
    AnswerKnown,
    Audit,
    ChangeBrief,
    ChangePlan,
    ChangeWaits,
    Command,
    CorrectAudit,
    CreateStream,
    Erase,
    JudgePair,
    MarkKnown,
    ReceiveLabels,
    RequestDecisions,
    Resume,
    RetractAudit,
    RetractKnown,
    RotateKey,
    ShowKnown,
    Stop,
)
from likewise.service.stream.decide_known import answer, mark, show, take_back
from likewise.service.stream.decision import Decision, policy_of, require_past
from likewise.service.stream.events import (
    Audited,
    BriefChanged,
    ClearedByArithmetic,
    Decided,
    KeyRotated,
    LabelsBooked,
    LabelsExpired,
    LabelsLate,
    LabelsReceived,
    LearnerCheckpointed,
    PersonErased,
    PlanChanged,
    Resumed,
    ReviewDrawn,
    RoundOpened,
    SettingsChanged,
    Stopped,
    StreamCreated,
)
from likewise.service.stream.events.audits import EXPIRED
from likewise.service.stream.events.labels import Booked
from likewise.service.stream.judging import VERDICTS, audit, correct, judge, retract
from likewise.service.stream.learner import LEARNER_VERSION, Model
from likewise.service.stream.lots import drawn_from
from likewise.service.stream.state import CLOCK, OpenRound, State


def decide(state: State, command: Command, now: float) -> Decision:
    """The events that follow from a command at time ``now`` (seconds); an error, and no event, if it is refused."""
    if state.model is None and not isinstance(command, CreateStream):
        raise Unknown("There is no such stream.")
    decision = Decision(state, now)
    _DECIDERS[type(command)](decision, command)
    return decision


__all__ = ["VERDICTS", "Decision", "decide", "require_past"]


# The stream -----------------------------------------------------------------------------------------------------------


def _create(decision: Decision, command: CreateStream) -> None:
    if decision.after.model is not None:
        raise Conflict(f"There is already a stream named {command.settings.name!r}.")
    settings, version = command.settings.to_dict(), LEARNER_VERSION
    decision.add(
        StreamCreated(
            at=decision.at,
            settings=settings,
            learner_version=version,
            secret=command.secret,
            by=command.by,
            lot=command.lot,
            scores=command.scores,
            review=command.review,
        )
    )


def _change(decision: Decision, command: ChangeWaits) -> None:
    require(len(command.changes) > 0, "changes", "name at least one wait", dict(command.changes))
    decision.add(SettingsChanged(at=decision.at, changes=dict(command.changes), by=command.by))


def _change_plan(decision: Decision, command: ChangePlan) -> None:
    require(len(command.changes) > 0, "changes", "name at least one part of the plan", dict(command.changes))
    lots = decision.after.stream.settings.review.changed(command.changes).by_lot
    if lots and decision.after.drawing.next is None:
        raise Conflict("This stream can't draw lots: it was created without a commitment to them.")
    decision.add(PlanChanged(at=decision.at, changes=dict(command.changes), by=command.by))


def _change_brief(decision: Decision, command: ChangeBrief) -> None:
    """The same brief again is nothing: reviewers need not read it a second time."""
    state, brief = decision.after, Brief(**command.brief)
    if brief != state.brief:
        version, told = state.brief_version + 1, brief.model_dump(mode="json")
        decision.add(BriefChanged(at=decision.at, version=version, brief=told, by=command.by))


def _rotate_key(decision: Decision, command: RotateKey) -> None:
    if decision.after.key not in (None, command.old):
        raise Conflict("The key was changed already.")
    decision.add(KeyRotated(at=decision.at, old=command.old, new=command.new, note=command.note, by=command.by))


def _stop(decision: Decision, command: Stop) -> None:
    if decision.after.stopped is not None:
        raise Conflict("The stream is already stopped.")
    remark, asides = command.reason.promise(), (command.reason,)
    decision.add(Stopped(at=decision.at, remark=remark, asides=asides, by=command.by))


def _resume(decision: Decision, command: Resume) -> None:
    if decision.after.stopped is None:
        raise Conflict("The stream is not stopped.")
    decision.add(Resumed(at=decision.at, by=command.by))


def _erase(decision: Decision, command: Erase) -> None:
    """First the learner, unless it was written down since it met them: without their features it can't be known."""
    if not command.refs:
        raise Unknown("There is no such person in this stream.")
    if decision.after.needs_checkpoint(command.refs, command.rounds):
        decision.add(LearnerCheckpointed.of(decision.after, decision.at, command.refs))
    refs, rounds = tuple(command.refs), tuple(command.rounds)
    decision.add(PersonErased(at=decision.at, erased=refs, rounds=rounds, by=command.by))


# A round's beginning --------------------------------------------------------------------------------------------------


def _request(decision: Decision, command: RequestDecisions) -> None:
    state, people = decision.after, command.people
    if state.stopped is not None:
        raise StreamStopped(f"The stream is stopped until an administrator resumes it: {state.stopped}")
    model, policy, t = state.stream, policy_of(state), state.opened + 1
    ids = [str(person.person) for person in people]
    _require_batch(ids, model.settings.k)
    rows = model.encode([person.content["features"] for person in people])
    answers = _drawn(command, ids, model, t, model.probabilities(policy, rows).tolist())
    returning = tuple(i for i, id in enumerate(ids) if id in command.record) if command.record else ()
    fresh = [p for i, (p, _) in enumerate(answers) if i not in returning]
    decision.add(
        RoundOpened(
            at=decision.at,
            asides=tuple(people),
            t=t,
            version=policy.version,
            policy=policy.hash,
            outstanding=state.outstanding,
            people=tuple(
                [Decided(each.ref, each.commitment, p, yes) for each, (p, yes) in zip(people, answers, strict=True)]
            ),
            by=command.by,
            returning=returning,
            estimate=policy.estimate,
            lot=command.lot,
            drawn_from=None if command.lot is None else drawn_from(fresh),
            rows=rows,
        )
    )
    if decision.after.rounds[t].needs_nobody(model.settings):
        decision.add(ClearedByArithmetic(at=decision.at, t=t))
    elif model.settings.review.by_lot:
        assert command.review is not None, "whoever asks for decisions brings the lot that the plan needs"
        decision.add(ReviewDrawn.of(decision.after, t, command.review, decision.at))
    close(decision, t)


def _drawn(
    command: RequestDecisions, ids: Sequence[str], model: Model, t: int, probabilities: list[float]
) -> list[tuple[float, int]]:
    """Everybody's probability and decision: from the lot or their own number; from the record if they came before."""
    record, thresholds = [command.record.get(id) for id in ids], command.thresholds
    if command.lot is not None:
        fresh = [p for p, before in zip(probabilities, record, strict=True) if before is None]
        thresholds = np.full(len(record), command.lot.number(model.settings.name, t, fresh))
    drawn = [(p, int(threshold < p)) for p, threshold in zip(probabilities, thresholds.tolist(), strict=True)]
    return [new if before is None else before for new, before in zip(drawn, record, strict=True)]


def _require_batch(ids: Sequence[str], k: int) -> None:
    require(1 <= len(ids) <= k, "people", f"be 1 to {k}", len(ids))
    repeated = sorted({id for id in ids if ids.count(id) > 1}) if len(set(ids)) < len(ids) else []
    require(not repeated, "people", "hold each person only once", repeated[:3])


# Labels ---------------------------------------------------------------------------------------------------------------


def _receive(decision: Decision, command: ReceiveLabels) -> None:
    round_, past = decision.after.rounds.get(command.t), command.past
    if round_ is None and past is None:
        require_past(decision.after, command.t)
    of = round_ or past
    assert of is not None, "whoever asks about a past round brings it"
    labels = _new_labels(of, command.labels)
    if not labels:
        return
    if round_ is not None and (of.estimate is not None or not round_.labels_expired):
        decision.add(LabelsReceived(at=decision.at, t=command.t, labels=labels, by=command.by))
        close(decision, command.t)
    elif of.estimate is not None and command.learned:
        decision.add(_booked(decision, command, of, labels))
    else:
        decision.add(LabelsLate(at=decision.at, t=command.t, labels=labels, by=command.by))


def _booked(
    decision: Decision, command: ReceiveLabels, past: OpenRound, labels: tuple[tuple[int, int], ...]
) -> LabelsBooked:
    """Late labels of accepted people, which the learner is told of after all."""
    assert past.estimate is not None, "only such rounds book labels"
    places = [position for position, _ in labels]
    booked = tuple(Booked(i, label, past.refs[i], float(past.probabilities[i])) for i, label in labels)
    rows = past.rows[places]
    return LabelsBooked(
        at=decision.at, t=command.t, booked=booked, estimate=past.estimate, by=command.by, rows=rows
    )  # fmt: skip


def _new_labels(round_: OpenRound, labels: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
    """(position, label) of the labels that say something new, in the order of the batch."""
    t, known = round_.t, round_.known
    positions = {id: i for i, id in enumerate(round_.ids) if id is not None}
    require(len(labels) > 0, "labels", "hold at least one label", dict(labels))
    unknown = sorted(set(labels) - set(positions))
    require(not unknown, "labels", f"be for people of round {t}", unknown[:3])
    new = []
    for id, label in labels.items():
        _require_awaited(round_, positions[id], id)
        zero_or_one = isinstance(label, int) and not isinstance(label, bool) and label in (0, 1)
        require(zero_or_one, "labels", "be 0 or 1", label if len(repr(label)) < 40 else type(label).__name__)
        before = known[positions[id]]
        if math.isnan(before):
            new.append((positions[id], label))
        elif before != label:
            raise Conflict(f"The label of {id!r} in round {t} is already {before:.0f} and can't be changed to {label}.")
    return tuple(sorted(new))


def _require_awaited(round_: OpenRound, position: int, id: str) -> None:
    """Refuse a label that nobody can have, or that belongs to an earlier round."""
    if position in round_.returning:
        raise InvalidParameter(
            f"The label of {id!r} does not count in round {round_.t}: they already had a decision, and got the same "
            "answer again. Send it for the first round they were in."
        )
    if position in round_.unlabelled:
        raise InvalidParameter(
            f"{id!r} was refused in round {round_.t}, so their label can't be known: in this stream only labels of "
            "accepted people come to light."
        )


# A round's end --------------------------------------------------------------------------------------------------------


def _advance(decision: Decision, command: Advance) -> None:
    """Time has passed: what was due expires, and the round closes if it may."""
    t, waits = command.t, decision.after.waits
    round_ = decision.after.rounds.get(t)
    if round_ is None:
        return
    if round_.audit_due(waits) <= decision.now:
        decision.add(Audited(at=decision.at, t=t, verdict=EXPIRED, reports=(), remark=None, by=CLOCK))
    if round_.labels_due(waits) <= decision.now:
        outcome: Labelled = "partial" if round_.any_label else "expired"
        decision.add(LabelsExpired(at=decision.at, t=t, outcome=outcome, missing=round_.missing))
    close(decision, t)


_DECIDERS: dict[type, Callable[[Decision, Any], None]] = {
    CreateStream: _create,
    RequestDecisions: _request,
    ReceiveLabels: _receive,
    Audit: audit,
    JudgePair: judge,
    RetractAudit: retract,
    CorrectAudit: correct,
    MarkKnown: mark,
    ShowKnown: show,
    AnswerKnown: answer,
    RetractKnown: take_back,
    Advance: _advance,
    ChangeWaits: _change,
    ChangePlan: _change_plan,
    ChangeBrief: _change_brief,
    RotateKey: _rotate_key,
    Stop: _stop,
    Resume: _resume,
    Erase: _erase,
}
