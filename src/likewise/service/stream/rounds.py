"""The life of a round, as two pure functions.

    decide(state, command, now) → events       what follows from a command, or a refusal; nothing happens yet
    evolve(state, event)        → state        what is the case after a fact; never refuses

A round is opened, then audited (reported | cleared | skipped | expired) and labelled (complete | partial | expired) in
either order, then closed, then learned. Rounds overlap freely and are learned in the order of the log. ``evolve`` hands
the learner the probabilities that were *shown* in the round, so its loss is charged to the weights that were deployed
for it, however many rounds were learned meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from likewise.errors import InvalidParameter, ReportRefused, require
from likewise.protocol import Batch, Floats, Report, Round
from likewise.reduction import error, signed_weights
from likewise.service.refusals import Conflict, Stopped, Unknown
from likewise.service.stream.commands import (
    Advance,
    Audit,
    ChangeWaits,
    Command,
    CorrectAudit,
    CreateStream,
    Erase,
    ReceiveLabels,
    RequestDecisions,
    Resume,
    RetractAudit,
    Stop,
)
from likewise.service.stream.events import Aside, Event, stamp
from likewise.service.stream.learner import Model
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import OpenRound, State, Totals, Verdict

VERDICTS = {"pair": "reported", "none": "cleared", "skip": "skipped"}
CLOCK = "clock"
"""Who acts when only time has passed."""


# Deciding ---------------------------------------------------------------------------------------------------------


def decide(state: State, command: Command, now: float) -> list[Event]:
    """The events that follow from a command at time ``now`` (seconds); an error, and no event, if it is refused."""
    if state.model is None and not isinstance(command, CreateStream):
        raise Unknown("There is no such stream.")
    found = _DECIDERS[type(command)](state, command, now)
    return [Event(kind, data, stamp(now), asides=asides) for kind, data, asides in found]


Fact = tuple[str, dict[str, Any], tuple[Aside, ...]]


def _fact(kind: str, asides: Sequence[Aside | None] = (), **data: Any) -> Fact:
    return kind, data, tuple(aside for aside in asides if aside is not None)


def _create(state: State, command: CreateStream, now: float) -> list[Fact]:
    if state.model is not None:
        raise Conflict(f"There is a stream named {command.settings.name!r} already.")
    Model(command.settings)  # refuses what no learner can play
    return [_fact("stream_created", settings=command.settings.to_dict(), secret=command.secret, by=command.by)]


def _request(state: State, command: RequestDecisions, now: float) -> list[Fact]:
    if state.stopped is not None:
        raise Stopped(f"The stream is stopped until an administrator resumes it: {state.stopped}")
    model, policy = state.stream, state.policy
    assert policy is not None, "a live stream knows its learner"
    k, ids = model.settings.k, [person.person for person in command.people]
    require(1 <= len(ids) <= k, "people", f"be 1 to {k}", len(ids))
    twice = sorted({str(name) for name in ids if ids.count(name) > 1})
    require(not twice, "people", "hold nobody more than once", twice[:3])
    chances = model.probabilities(policy, model.encode([person.content["features"] for person in command.people]))
    decisions = command.thresholds < chances
    people = [
        person.promise() | {"probability": float(chance), "decision": int(decision)}
        for person, chance, decision in zip(command.people, chances, decisions, strict=True)
    ]
    return [
        _fact(
            "round_opened",
            command.people,
            round=state.opened + 1,
            version=policy.version,
            policy=policy.hash,
            outstanding=state.outstanding,
            people=people,
            by=command.by,
        )
    ]


def _receive(state: State, command: ReceiveLabels, now: float) -> list[Fact]:
    one = state.rounds.get(command.round)
    ids, known = (command.ids, command.known) if one is None else (one.ids, one.known)
    if one is None:
        require_past(state, command.round)
    fresh = _fresh_labels(command.round, command.labels, ids, known)
    if not fresh:
        return []
    if one is None or one.labels_expired:
        return [_fact("labels_late", round=command.round, labels=fresh, by=command.by)]
    received = _fact("labels_received", round=one.t, labels=fresh, by=command.by)
    return [received, *_closing(state, _labelled(one, fresh), now)]


def _fresh_labels(
    t: int, labels: Mapping[str, int], ids: Sequence[str | None], known: Sequence[float] | Floats
) -> list[list[int]]:
    """[position, label] of the labels that say something new, in the order of the batch."""
    positions = {name: i for i, name in enumerate(ids) if name is not None}
    require(len(labels) > 0, "labels", "hold at least one label", dict(labels))
    unknown = sorted(set(labels) - set(positions))
    require(not unknown, "labels", f"be for people of round {t}", unknown[:3])
    fresh = []
    for name, label in labels.items():
        zero_or_one = isinstance(label, int) and not isinstance(label, bool) and label in (0, 1)
        require(zero_or_one, "labels", "be 0 or 1", label if len(repr(label)) < 40 else type(label).__name__)
        before = known[positions[name]]
        if math.isnan(before):
            fresh.append([positions[name], label])
        elif before != label:
            raise Conflict(f"The label of {name!r} in round {t} is known to be {before:.0f} and can't become {label}.")
    return sorted(fresh)


def _audit(state: State, command: Audit, now: float) -> list[Fact]:
    one = _open(state, command.round)
    if one.verdict is not None:
        late = one.verdict.outcome == "expired"
        how = "its audit has expired" if late else f"it was {one.verdict.outcome} by {one.verdict.by}"
        raise Conflict(f"Round {one.t} can't be audited: {how}; one verdict per round.")
    data = _verdict(command, one.ids, one.probabilities, state.stream.settings.level)
    fact = _fact("audited", [command.remark], round=one.t, **data, by=command.by)
    pair = tuple(data["pair"]) if "pair" in data else None
    after = replace(one, verdict=Verdict(data["verdict"], now, command.by, pair))
    return [fact, *_closing(state, after, now)]


def _verdict(
    command: Audit | CorrectAudit, ids: Sequence[str | None], chances: Sequence[float] | Floats, level: float
) -> dict[str, Any]:
    """The verdict as it is logged, the reported pair ordered by the probabilities that were shown."""
    require(command.verdict in VERDICTS, "verdict", f"be one of {list(VERDICTS)}", command.verdict)
    data: dict[str, Any] = {"verdict": VERDICTS[command.verdict]}
    if command.remark is not None:
        data["remark"] = command.remark.promise()
    if command.verdict != "pair":
        require(len(command.pair) == 0, "pair", f"be left out with the verdict {command.verdict!r}", command.pair)
        return data
    two = len(command.pair) == 2 and command.pair[0] != command.pair[1]
    require(
        two and set(command.pair) <= set(ids) - {None},
        "pair",
        f"name two people of round {command.round}",
        command.pair,
    )
    first, second = (ids.index(name) for name in command.pair)
    favoured, disfavoured = (first, second) if chances[first] >= chances[second] else (second, first)
    gap = float(chances[favoured] - chances[disfavoured])
    if gap <= level:
        raise ReportRefused(
            f"These two can't have been treated too differently: their probabilities differ by {gap:.4g}, and up to "
            f"α − margin = {level:g} is allowed to everybody."
        )
    return data | {"pair": [favoured, disfavoured], "gap": gap}


def _retract(state: State, command: RetractAudit, now: float) -> list[Fact]:
    one = _open(state, command.round)
    if one.verdict is None or one.verdict.outcome == "expired":
        raise Conflict(f"Round {one.t} has no verdict to take back.")
    if one.verdict.by != command.by and not command.anybodys:
        raise Conflict(f"The verdict on round {one.t} is another auditor's.")
    return [_fact("audit_retracted", round=one.t, by=command.by)]


def _correct(state: State, command: CorrectAudit, now: float) -> list[Fact]:
    one = state.rounds.get(command.round)
    if one is not None and (one.verdict is None or one.verdict.outcome != "expired"):
        raise Conflict(f"Round {command.round} is still open: audit it, or take its verdict back.")
    require_past(state, command.round)
    ids, chances = (command.ids, command.probabilities) if one is None else (one.ids, one.probabilities)
    data = _verdict(command, ids, chances, state.stream.settings.level)
    return [_fact("audit_corrected", [command.remark], round=command.round, **data, by=command.by)]


def _advance(state: State, command: Advance, now: float) -> list[Fact]:
    one = state.rounds.get(command.round)
    if one is None:
        return []
    facts = []
    if one.audit_due(state.waits) <= now:
        facts.append(_fact("audited", round=one.t, verdict="expired", by=CLOCK))
        one = replace(one, verdict=Verdict("expired", now, CLOCK))
    if one.labels_due(state.waits) <= now:
        one = replace(one, labels_expired=True)
        facts.append(_fact("labels_expired", round=one.t, outcome=one.labelled, missing=one.missing))
    return facts + _closing(state, one, now)


def _closing(state: State, one: OpenRound, now: float) -> list[Fact]:
    """What follows if a round, as it is now, may close: that it is closed, and what the learner makes of it."""
    if not one.may_close(state.waits, now):
        return []
    assert one.verdict is not None
    model, policy = state.stream, state.policy
    assert policy is not None, "a live stream knows its learner"
    learns = one.teaches(state.waits)
    closed = _fact("round_closed", round=one.t, audit=one.verdict.outcome, labels=one.labelled, learns=learns)
    if not learns:
        return [closed]
    learned = _fact(
        "learned",
        round=one.t,
        version=policy.version + 1,
        penalty=float(model.learner.penalty_at(state.learner)),
        delay=policy.version - one.version,
        outstanding=state.outstanding - 1,
        waited=round(now - one.opened_at, 6),
        dropped=dropped(one),
    )
    return [closed, learned]


def _change(state: State, command: ChangeWaits, now: float) -> list[Fact]:
    state.stream.settings.with_waits(command.changes)
    require(len(command.changes) > 0, "changes", "name at least one wait", dict(command.changes))
    return [_fact("settings_changed", changes=dict(command.changes), by=command.by)]


def _stop(state: State, command: Stop, now: float) -> list[Fact]:
    if state.stopped is not None:
        raise Conflict("The stream is stopped already.")
    return [_fact("stopped", reason=command.reason, by=command.by)]


def _resume(state: State, command: Resume, now: float) -> list[Fact]:
    if state.stopped is None:
        raise Conflict("The stream is not stopped.")
    return [_fact("resumed", by=command.by)]


def _erase(state: State, command: Erase, now: float) -> list[Fact]:
    """First the learner's state, from which the log can be read on once the person's features are gone."""
    if not command.refs:
        raise Unknown("There is no such person in this stream.")
    model, policy = state.stream, state.policy
    assert policy is not None, "a live stream knows its learner"
    average = [] if state.average is None else state.average.tolist()
    checkpoint = _fact(
        "learner_checkpointed",
        version=policy.version,
        learner=model.dump(state.learner),
        average=average,
    )
    return [
        checkpoint,
        _fact("person_erased", refs=list(command.refs), rounds=list(command.rounds), by=command.by),
    ]


def _open(state: State, t: int) -> OpenRound:
    """A round that is still open, or the reason why it isn't."""
    one = state.rounds.get(t)
    if one is None:
        require_past(state, t)
        raise Conflict(f"Round {t} is closed; what is said of it now is a correction.")
    return one


def require_past(state: State, t: int) -> None:
    """Refuse a round that was never opened."""
    if not 1 <= t <= state.opened:
        raise Unknown(f"There is no round {t}; the last one is {state.opened}.")


_DECIDERS: dict[type, Callable[[State, Any, float], list[Fact]]] = {
    CreateStream: _create,
    RequestDecisions: _request,
    ReceiveLabels: _receive,
    Audit: _audit,
    RetractAudit: _retract,
    CorrectAudit: _correct,
    Advance: _advance,
    ChangeWaits: _change,
    Stop: _stop,
    Resume: _resume,
    Erase: _erase,
}


# Evolving ---------------------------------------------------------------------------------------------------------


def evolve(state: State, event: Event) -> State:
    """The state after one more fact."""
    try:
        return _EVOLVERS[event.kind](state, event)
    except KeyError as unknown:
        if unknown.args == (event.kind,):
            raise InvalidParameter(f"`kind` must be one of {sorted(_EVOLVERS)}, got {event.kind!r}.") from None
        raise


def _created(state: State, event: Event) -> State:
    model = Model(Settings.from_dict(event.data["settings"]))
    learner = model.learner.init()
    average = np.zeros(model.hypotheses.geometry.dim)
    return replace(state, model=model, learner=learner, policy=model.deploy(learner), average=average)


def _opened(state: State, event: Event) -> State:
    model, data = state.stream, event.data
    refs = tuple(person["ref"] for person in data["people"])
    found = {aside.ref: aside for aside in event.asides}
    here = [i for i, ref in enumerate(refs) if ref in found]
    rows = model.neutral(len(refs))
    if here:
        rows[here] = model.encode([found[refs[i]].content["features"] for i in here])
    one = OpenRound(
        t=data["round"],
        opened_at=event.time,
        version=data["version"],
        refs=refs,
        ids=tuple(found[ref].person if ref in found else None for ref in refs),
        rows=rows,
        probabilities=np.array([person["probability"] for person in data["people"]], dtype=float),
        labels=np.full(len(refs), np.nan),
        lost=frozenset(range(len(refs))) - frozenset(here),
    )
    average = None
    if state.average is not None and state.policy is not None:
        average = state.average + state.policy.weights
    return replace(state.with_round(one), opened=one.t, average=average)


def _labelled(one: OpenRound, labels: Sequence[Sequence[int]]) -> OpenRound:
    known = one.labels.copy()
    for position, label in labels:
        known[position] = label
    return replace(one, labels=known)


def _received(state: State, event: Event) -> State:
    return state.with_round(_labelled(state.rounds[event.data["round"]], event.data["labels"]))


def _expired(state: State, event: Event) -> State:
    return state.with_round(replace(state.rounds[event.data["round"]], labels_expired=True))


def _late(state: State, event: Event) -> State:
    one, labels = state.rounds.get(event.data["round"]), event.data["labels"]
    if one is not None:
        state = state.with_round(replace(one, late=one.late + tuple((i, label) for i, label in labels)))
    return _counted(state, late=len(labels))


def _audited(state: State, event: Event) -> State:
    data = event.data
    pair = tuple(data["pair"]) if "pair" in data else None
    verdict = Verdict(data["verdict"], event.time, data["by"], pair)
    return state.with_round(replace(state.rounds[data["round"]], verdict=verdict))


def _retracted(state: State, event: Event) -> State:
    return state.with_round(replace(state.rounds[event.data["round"]], verdict=None, retracted_at=event.time))


def _corrected(state: State, event: Event) -> State:
    return _counted(state, corrected=1)


def _closed(state: State, event: Event) -> State:
    t = event.data["round"]
    if event.data["learns"]:
        return state.with_round(replace(state.rounds[t], closed=True))
    return _counted(replace(state, rounds=state.rounds.without(t)), discarded=1)


def seen(one: OpenRound) -> Round:
    """A closed round as the learner sees it: erased people without label, and without a report about them."""
    labels = one.labels
    if one.erased:
        labels = labels.copy()
        labels[list(one.erased)] = np.nan
    verdict = one.verdict
    if verdict is None or not verdict.reviewed or dropped(one):
        return Round(Batch(one.rows, labels, None), one.probabilities, None, reviewed=False)
    report = None if verdict.pair is None else Report(*verdict.pair)
    return Round(Batch(one.rows, labels, None), one.probabilities, report)


def dropped(one: OpenRound) -> bool:
    """Whether its report is about somebody who was erased since, and so can't be learned."""
    return one.verdict is not None and one.verdict.pair is not None and not one.erased.isdisjoint(one.verdict.pair)


def _learned(state: State, event: Event) -> State:
    one, model = state.rounds[event.data["round"]], state.stream
    round = seen(one)
    after = replace(
        state,
        rounds=state.rounds.without(one.t),
        totals=_with_round(state.totals, round, one, event.data, model.settings.costs),
    )
    if state.learner is None or one.lost:
        # Somebody was erased after this round was learned: the next checkpoint says what the learner knew.
        return replace(after, learner=None, policy=None)
    learner = model.learner.update(state.learner, round)
    return replace(after, learner=learner, policy=model.deploy(learner))


def _with_round(
    totals: Totals, round: Round, one: OpenRound, data: Mapping[str, Any], costs: tuple[float, float]
) -> Totals:
    y, C = round.batch.y, data["penalty"]
    s = signed_weights(y, round.report, C, costs)
    outcome = "skipped" if dropped(one) or one.verdict is None else one.verdict.outcome
    return totals._replace(
        learned=totals.learned + 1,
        people=totals.people + len(y),
        missing=totals.missing + int(np.isnan(y).sum()),
        errors=totals.errors + error(round.probabilities, y, costs),
        charged=totals.charged + float(s @ round.probabilities),
        penalties=totals.penalties + (C if round.report is not None else 0.0),
        delay_sum=totals.delay_sum + data["delay"],
        delay_max=max(totals.delay_max, data["delay"]),
        **{outcome: getattr(totals, outcome) + 1},
    )


def _changed(state: State, event: Event) -> State:
    return replace(state, model=Model(state.stream.settings.with_waits(event.data["changes"])))


def _stopped(state: State, event: Event) -> State:
    return replace(state, stopped=event.data["reason"])


def _resumed(state: State, event: Event) -> State:
    return replace(state, stopped=None)


def _checkpointed(state: State, event: Event) -> State:
    model = state.stream
    learner = model.load(event.data["learner"])
    average = np.array(event.data["average"], dtype=float)
    return replace(state, learner=learner, policy=model.deploy(learner), average=average)


def _erased(state: State, event: Event) -> State:
    gone = set(event.data["refs"])
    for t in event.data["rounds"]:
        one = state.rounds.get(t)
        if one is not None:
            state = state.with_round(_without(one, gone, state.stream))
    return _counted(state, erased=1)


def _without(one: OpenRound, gone: set[str], model: Model) -> OpenRound:
    erased = frozenset(i for i, ref in enumerate(one.refs) if ref in gone)
    rows = one.rows.copy()
    rows[list(erased)] = model.neutral(len(erased))
    ids = tuple(None if i in erased else name for i, name in enumerate(one.ids))
    return replace(one, rows=rows, ids=ids, erased=one.erased | erased, lost=one.lost - erased)


def _counted(state: State, **more: int) -> State:
    totals = state.totals
    return replace(state, totals=totals._replace(**{n: getattr(totals, n) + by for n, by in more.items()}))


_EVOLVERS: dict[str, Callable[[State, Event], State]] = {
    "stream_created": _created,
    "round_opened": _opened,
    "labels_received": _received,
    "labels_expired": _expired,
    "labels_late": _late,
    "audited": _audited,
    "audit_retracted": _retracted,
    "audit_corrected": _corrected,
    "round_closed": _closed,
    "learned": _learned,
    "settings_changed": _changed,
    "stopped": _stopped,
    "resumed": _resumed,
    "learner_checkpointed": _checkpointed,
    "person_erased": _erased,
}
KINDS = tuple(_EVOLVERS)
