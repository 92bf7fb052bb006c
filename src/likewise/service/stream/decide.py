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

from likewise.errors import InvalidParameter, ReportRefused, require, require_number
from likewise.service.refusals import Conflict, StreamStopped, Unknown
from likewise.service.stream.answers import Labelled
from likewise.service.stream.brief import Brief
from likewise.service.stream.commands import (
    Advance,
    Audit,
    ChangeBrief,
    ChangePlan,
    ChangeWaits,
    Command,
    CorrectAudit,
    CreateStream,
    Erase,
    JudgePair,
    ReceiveLabels,
    RequestDecisions,
    Resume,
    RetractAudit,
    RotateKey,
    Stop,
)
from likewise.service.stream.events import (
    AuditCorrected,
    Audited,
    AuditRetracted,
    BriefChanged,
    ClearedByArithmetic,
    Decided,
    Event,
    KeyRotated,
    LabelsBooked,
    LabelsExpired,
    LabelsLate,
    LabelsReceived,
    Learned,
    LearnerCheckpointed,
    PairJudged,
    PersonErased,
    PlanChanged,
    Resumed,
    ReviewDrawn,
    RoundClosed,
    RoundOpened,
    SettingsChanged,
    Stopped,
    StreamCreated,
    VerdictLate,
    seconds,
    stamp,
)
from likewise.service.stream.events.audits import EXPIRED, OUTCOMES
from likewise.service.stream.events.labels import Booked
from likewise.service.stream.learner import LEARNER_VERSION, Deployed, Model
from likewise.service.stream.lots import drawn_from
from likewise.service.stream.settings import LONGEST, Settings
from likewise.service.stream.state import CLOCK, OpenRound, Pair, State
from likewise.verdicts import Opinion, Question

VERDICTS = dict(zip(("pair", "none", "skip"), OUTCOMES, strict=True))
"""What auditors answer, and what the log calls it."""


class Decision:
    """Events that follow from a command, and the state after them.

    Attributes
    ----------
    events
        In the order of the log.
    after
        The state after the last of them.
    at, now
        The time of the decision, as the log writes it and in seconds.
    """

    def __init__(self, state: State, now: float) -> None:
        self.events: list[Event] = []
        self.after = state
        self.at = stamp(now)
        # The log rounds times: what happens now must not lie before it.
        self.now = max(now, seconds(self.at))

    def add(self, event: Event) -> None:
        """One more event."""
        self.events.append(event)
        self.after = event.evolve(self.after)


def decide(state: State, command: Command, now: float) -> Decision:
    """The events that follow from a command at time ``now`` (seconds); an error, and no event, if it is refused."""
    if state.model is None and not isinstance(command, CreateStream):
        raise Unknown("There is no such stream.")
    decision = Decision(state, now)
    _DECIDERS[type(command)](decision, command)
    return decision


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
    model, policy, t = state.stream, _policy(state), state.opened + 1
    _require_batch([person.person for person in people], model.settings.k)
    rows = model.encode([person.content["features"] for person in people])
    answers = _drawn(command, model, t, model.probabilities(policy, rows).tolist())
    returning = tuple(i for i, person in enumerate(people) if person.person in command.record)
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
                Decided(person.ref, person.commitment, p, yes) for person, (p, yes) in zip(people, answers, strict=True)
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
    _close(decision, t)


def _drawn(command: RequestDecisions, model: Model, t: int, probabilities: list[float]) -> list[tuple[float, int]]:
    """Everybody's probability and decision: from the lot or their own number; from the record if they came before."""
    record, thresholds = [command.record.get(str(person.person)) for person in command.people], command.thresholds
    if command.lot is not None:
        fresh = [p for p, before in zip(probabilities, record, strict=True) if before is None]
        thresholds = np.full(len(record), command.lot.number(model.settings.name, t, fresh))
    drawn = [(p, int(threshold < p)) for p, threshold in zip(probabilities, thresholds.tolist(), strict=True)]
    return [new if before is None else before for new, before in zip(drawn, record, strict=True)]


def _require_batch(ids: Sequence[str | None], k: int) -> None:
    require(1 <= len(ids) <= k, "people", f"be 1 to {k}", len(ids))
    repeated = sorted({str(id) for id in ids if ids.count(id) > 1}) if len(set(ids)) < len(ids) else []
    require(not repeated, "people", "hold each person only once", repeated[:3])


def _policy(state: State) -> Deployed:
    assert state.policy is not None, "a live stream knows its learner"
    return state.policy


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
        _close(decision, command.t)
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


# The audit ------------------------------------------------------------------------------------------------------------


def _audit(decision: Decision, command: Audit) -> None:
    """Every verdict is recorded: as one that the round waits for, or as late. The same thing said again is nothing."""
    state, round_ = decision.after, decision.after.rounds.get(command.t)
    of = round_ or command.past
    if of is None:
        require_past(state, command.t)
    assert of is not None, "whoever asks about a past round brings it"
    answer = _answer(command, of, state.stream.settings)
    if of.panel.knows(command.by, answer["verdict"], answer["reports"]):
        return
    question = of.panel.asks(command.by) if round_ is not None and of.verdict is None else None
    shown = of.shown(state.stream.settings)
    if question is not None and question.what == "verdict":
        decision.add(Audited(at=decision.at, t=command.t, shown=shown, **answer, **_looked(command)))
        _close(decision, command.t)
        return
    opinion = _as_opinion(command, of, answer, question)
    if opinion is not None:
        if opinion not in of.panel.opinions:
            said = opinion._asdict() | _looked(command)
            decision.add(PairJudged(at=decision.at, t=command.t, shown=shown, **said))
            _close(decision, command.t)
        return
    found = command.clean if answer["reports"] else None
    decision.add(VerdictLate(at=decision.at, t=command.t, shown=shown, found=found, **answer, **_looked(command)))


def _looked(command: Audit | JudgePair) -> dict[str, Any]:
    """How an answer came about, as far as that is known."""
    hints, took = command.hints, command.seconds
    require(hints is None or isinstance(hints, bool), "hints", "be true or false", type(hints).__name__)
    if took is not None:
        require_number(took, "seconds", 0, LONGEST)
    return {"hints": hints, "seconds": None if took is None else float(took)}


def _as_opinion(command: Audit, of: OpenRound, answer: Mapping[str, Any], question: Question | None) -> Opinion | None:
    """A third person's verdict as their answer about the pair in question: to name it is a yes, "none" a no.

    None if it answers no such question, asked now or answered before.
    """
    pairs = tuple(pair.positions for pair in answer["reports"])
    before = [opinion.pair for opinion in of.panel.opinions if opinion.by == command.by]
    about = before[-1] if question is None and before else None if question is None else question.pair
    if about is None or of.panel.of(command.by) is not None or (pairs and about not in pairs):
        return None
    opinion = Opinion(command.by, about, {"reported": True, "cleared": False}.get(answer["verdict"]))
    return opinion if question is not None or opinion in of.panel.opinions else None


def _judge(decision: Decision, command: JudgePair) -> None:
    round_ = _open_round(decision.after, command.t)
    ids, panel = round_.ids, round_.panel
    asked = [question for question in panel.questions if question.what == "opinion" and round_.verdict is None]
    about = [
        question
        for question in asked
        if question.pair is not None and {ids[i] for i in question.pair} == set(command.pair)
    ]
    due = [
        question
        for question in about
        if question.of == command.by or (question.of is None and command.by not in question.but)
    ]
    if not due or due[0].pair is None:
        raise Conflict(f"Nobody asks you about this pair of round {command.t}.")
    opinion = Opinion(command.by, due[0].pair, command.objects)._asdict()
    shown = round_.shown(decision.after.stream.settings)
    decision.add(PairJudged(at=decision.at, t=command.t, shown=shown, **opinion, **_looked(command)))
    _close(decision, command.t)


def _retract(decision: Decision, command: RetractAudit) -> None:
    round_ = _open_round(decision.after, command.t)
    verdicts, final = round_.panel.said, round_.verdict is not None and round_.verdict.final
    if not verdicts or final:
        raise Conflict(f"Round {command.t} has no verdict to retract.")
    whose = command.by if round_.panel.of(command.by) is not None else verdicts[-1].by
    if whose != command.by and not command.anybodys:
        raise Conflict(f"Somebody else gave the verdict on round {command.t}.")
    waits = decision.after.waits
    if waits.audit is not None and decision.now > round_.opened_at + waits.audit + waits.grace:
        # Each retraction gives the audit more time: without an end, two people could keep a round open for ever.
        raise Conflict(
            f"The verdict on round {command.t} can't be retracted any more: the time for its audit is over. Correct it "
            "once the round is closed."
        )
    of = None if whose == command.by else whose
    decision.add(AuditRetracted(at=decision.at, t=command.t, by=command.by, of=of))


def _correct(decision: Decision, command: CorrectAudit) -> None:
    state, round_ = decision.after, decision.after.rounds.get(command.t)
    if round_ is not None and (round_.verdict is None or not round_.verdict.final):
        raise Conflict(f"Round {command.t} is still open: audit it, or retract its verdict.")
    of = round_ or command.past
    if of is None:
        require_past(state, command.t)
    assert of is not None, "whoever asks about a past round brings it"
    answer = _answer(command, of, state.stream.settings)
    found = command.clean if answer["reports"] else None
    shown, counted = of.shown(state.stream.settings), command.counts_as
    decision.add(AuditCorrected(at=decision.at, t=command.t, replaces=counted, found=found, shown=shown, **answer))


def _answer(command: Audit | CorrectAudit, round_: OpenRound, settings: Settings) -> dict[str, Any]:
    """The fields of an event that holds an auditor's answer."""
    require(command.verdict in VERDICTS, "verdict", f"be one of {list(VERDICTS)}", command.verdict)
    reports: tuple[Pair, ...] = ()
    if command.verdict == "pair":
        reports = (_pair(command, round_, settings),)
    else:
        require(len(command.pair) == 0, "pair", f"be left out with the verdict {command.verdict!r}", command.pair)
    return {
        "verdict": VERDICTS[command.verdict],
        "reports": reports,
        "remark": None if command.remark is None else command.remark.promise(),
        "asides": () if command.remark is None else (command.remark,),
        "by": command.by,
    }


def _pair(command: Audit | CorrectAudit, round_: OpenRound, settings: Settings) -> Pair:
    """The reported pair, ordered by the probabilities that were shown, or by the decisions."""
    ids, probabilities, level = round_.ids, round_.probabilities, settings.level
    two = len(command.pair) == 2 and command.pair[0] != command.pair[1]
    known = two and set(command.pair) <= set(ids) - {None}
    require(known, "pair", f"name two people of round {command.t}", command.pair)
    first, second = (ids.index(id) for id in command.pair)
    _require_new(round_, first, second)
    decisions = settings.audits == "decisions"
    ranks = round_.decisions if decisions else probabilities
    if decisions and ranks[first] == ranks[second]:
        raise ReportRefused("These two got the same answer, so neither was favoured.")
    favoured, disfavoured = (first, second) if ranks[first] >= ranks[second] else (second, first)
    gap = float(probabilities[favoured] - probabilities[disfavoured])
    if gap <= level and decisions:
        raise ReportRefused("These two can't have been treated too differently: the gap is within the tolerance.")
    if gap <= level:
        # Without their gap: whoever has not claimed the round could read everybody's probabilities from refusals.
        raise ReportRefused(
            f"These two can't have been treated too differently: a gap of up to α − margin = {level:g} is allowed for "
            "any two people, and theirs is no larger."
        )
    return Pair(favoured, disfavoured, gap)


def _require_new(round_: OpenRound, *positions: int) -> None:
    if any(position in round_.returning for position in positions):
        raise ReportRefused(
            "One of these two already had a decision and got the same answer again, so they can't be reported for this "
            "round."
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
    _close(decision, t)


def _close(decision: Decision, t: int) -> None:
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
    version = _policy(state).version
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


def _open_round(state: State, t: int) -> OpenRound:
    """A round that is still open, or the reason why it isn't."""
    if t not in state.rounds:
        require_past(state, t)
        raise Conflict(f"Round {t} is closed; its verdict can only be corrected now.")
    return state.rounds[t]


def require_past(state: State, t: int) -> None:
    """Refuse a round that was never opened."""
    if not 1 <= t <= state.opened:
        raise Unknown(f"There is no round {t}; the last one is {state.opened}.")


_DECIDERS: dict[type, Callable[[Decision, Any], None]] = {
    CreateStream: _create,
    RequestDecisions: _request,
    ReceiveLabels: _receive,
    Audit: _audit,
    JudgePair: _judge,
    RetractAudit: _retract,
    CorrectAudit: _correct,
    Advance: _advance,
    ChangeWaits: _change,
    ChangePlan: _change_plan,
    ChangeBrief: _change_brief,
    RotateKey: _rotate_key,
    Stop: _stop,
    Resume: _resume,
    Erase: _erase,
}
