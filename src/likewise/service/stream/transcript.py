"""The certificate of a stream: what ``likewise.certify`` proves of its rounds, with the delay beside it.

The transcript holds every round that was opened, by its number. A round that is not learned yet, or was discarded,
stands there with the labels that came, which are facts whatever becomes of it, but as not reviewed: for fairness to new
people it counts as a violation. Of a round that holds somebody who was erased since, nothing counts but that.

A round whose audit was corrected counts as its correction, and what the corrections refute is said to be broken: that
reports are true where one was taken back, that the reviewer reports whenever they can where one came later.

Who comes again is known by id. Claims about new people are made only if nobody did; of people who were erased, nobody
can know.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from likewise.certificates import Certificate, certify
from likewise.certificates.assumptions import OVERLOOKED, WITHDRAWN
from likewise.certificates.letter import WIDTH
from likewise.errors import require
from likewise.facts import AuditorFacts, EnvironmentFacts, PlayFacts
from likewise.game import Recorder, Transcript, learner_facts
from likewise.game.recorder import Part
from likewise.policies import AveragePolicy
from likewise.protocol import Report, Round
from likewise.service.stream.answers import StreamCertificate
from likewise.service.stream.claims import claim
from likewise.service.stream.events import (
    AuditCorrected,
    Event,
    LabelsBooked,
    Learned,
    LearnerCheckpointed,
    RoundClosed,
    RoundOpened,
    StreamCreated,
    VerdictLate,
)
from likewise.service.stream.learner import SEED, person_number
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import OpenRound, State
from likewise.service.stream.status import delay, regret

LOST = "lost"
"""What a round counts under whose people were erased after it was learned."""


def certificate(transcript: Transcript, state: State, delta: float = 0.05) -> StreamCertificate:
    """The certificate of a stream that has ``state``, as plain JSON values.

    With its letter, its delay and what stands of its bounds.
    """
    claims = certify(transcript, delta=delta)
    facts = {
        "stream": state.stream.settings.name,
        "outstanding": state.outstanding,
        "discarded": state.totals.discarded,
        "corrected": state.totals.corrected,
        "erased": state.totals.erased,
        "delay": delay(state),
        "regret_limits": regret(state),
        "reviews": claim(state, delta),
        "letter": letter(claims, state, delta),
    }
    return cast(StreamCertificate, claims.to_dict() | facts)


def letter(claims: Certificate, state: State, delta: float = 0.05) -> str:
    """The certificate's letter, what is particular about a live stream, and the appendix."""
    totals, reviews = state.totals, claim(state, delta)
    facts = [f"Delay and bounds. {regret(state)['sentence']}", f"All rounds. {reviews['sentence']}"]
    sentences = [part["sentence"] for part in (reviews["agreement"], reviews["known"]) if part is not None]
    facts += [f"Reviewers. {' '.join(sentences)}"] if sentences else []
    facts += [
        f"{what}: {count}."
        for count, what in (
            (totals.discarded, "Rounds discarded when their waits ended, which count as not reviewed"),
            (
                totals.corrected,
                "Audits corrected after their rounds were closed, which count as corrected; nothing was unlearned",
            ),
            (totals.late, "Labels that came too late and were not learned"),
            (totals.booked, "Late labels of accepted people, of which the learner heard after their rounds"),
            (totals.erased, "Erasures of people, whose rounds count as not reviewed"),
        )
        if count
    ]
    lines = "\n".join(textwrap.fill(fact, WIDTH) for fact in facts)
    return "\n\n".join([str(claims), lines, claims.appendix()])


def transcript(events: Iterable[Event], state: State) -> Transcript:
    """Every round that the events of a log opened, by its number; ``state`` is the one after the last of them."""
    return joined([stretch(events, state, range(1, state.opened + 1))], state)


class Stretch(NamedTuple):
    """Some rounds in a row, as far as the log has come: what they count as, and what is not as it was learned.

    ``part.person`` holds a number for each id, 0 for people who were erased. ``refuted`` counts rounds by what
    corrections refute, and by ``LOST``: somebody in them was erased since they were learned.
    """

    part: Part
    refuted: Counter[str]


def stretch(events: Iterable[Event], state: State, rounds: range) -> Stretch:
    """Some rounds, from all events about them and all erasures, in the order of the log."""
    record = Recorder(state.stream.hypotheses, _facts(state, Counter()))
    seen, penalties, refuted = _rounds(events, state, rounds)
    for round_, penalty in zip(seen, penalties, strict=True):
        record.add(round_, penalty)
    return Stretch(record.part(), refuted)


def joined(stretches: Sequence[Stretch], state: State) -> Transcript:
    """The transcript of all rounds, one stretch after another; ``state`` is the one after the last of them."""
    require(state.opened > 0, "stream", "have opened a round", state.opened)
    refuted = sum((each.refuted for each in stretches), Counter())
    model = state.stream
    record = Recorder(model.hypotheses, _facts(state, refuted))
    people = _numbered([np.asarray(each.part.person) for each in stretches])
    for each, person in zip(stretches, people, strict=True):
        record.join(each.part._replace(person=person))
    # What the learner knows says nothing about these rounds if it knows labels or reports that don't count any more.
    learner = None if refuted.keys() & {LOST, WITHDRAWN} else state.learner
    average = AveragePolicy.of(model.hypotheses, state.average, state.opened, state.floors)
    return record.transcript(learner, average)


def _facts(state: State, refuted: Counter[str]) -> PlayFacts:
    """What is known of the stream, and what its corrections refute."""
    settings = state.stream.settings
    details = {name: refuted[name] for name in (OVERLOOKED, WITHDRAWN) if refuted[name]}
    people, reviewers = EnvironmentFacts("live stream"), AuditorFacts("people", sees=settings.audits, details=details)
    alpha, margin = float(settings.alpha), float(settings.margin)
    facts = PlayFacts(learner_facts(state.stream.learner), people, reviewers, alpha, margin, SEED)
    if settings.keeps_record:
        facts = replace(facts, lot=settings.lot, labels=settings.labels, returning="record")
    return facts


def _rounds(events: Iterable[Event], until: State, numbers: range) -> tuple[list[Round], list[float], Counter[str]]:
    """Some rounds as they count, their penalties, and what is not as it was learned; the learner doesn't run."""
    state = State(model=until.model)
    seen: dict[int, Round] = {}
    penalties = dict.fromkeys(numbers, 0.0)
    views: dict[int, Any] = {}
    ids: dict[int, list[str | None]] = {}
    lost: set[int] = set()
    corrections: dict[int, AuditCorrected | VerdictLate] = {}
    late: dict[int, VerdictLate] = {}
    for event in events:
        if isinstance(event, RoundOpened):
            views[event.t], ids[event.t] = _view(event, until.stream.settings), _ids(event)
        elif isinstance(event, Learned):
            round_ = event.round(state)
            seen[event.t] = _unseen(round_) if round_.lost else round_.seen()
            lost |= {event.t} if round_.lost else set()
            penalties[event.t] = event.penalty
        elif isinstance(event, RoundClosed) and not event.learns:
            seen[event.t] = _unseen(event.round(state))
        elif isinstance(event, LabelsBooked) and event.t not in lost:
            seen[event.t] = _with_late(seen[event.t], event)
        elif isinstance(event, AuditCorrected):
            corrections[event.t] = event
        elif isinstance(event, VerdictLate) and event.reports:
            late.setdefault(event.t, event)
        if not isinstance(event, StreamCreated | LearnerCheckpointed | LabelsBooked):
            state = event.evolve(state)
    seen |= {t: _unseen(round_) for t, round_ in state.rounds.items()}
    # A report that came late shows what was overlooked in a round that was found clean, unless a correction said more.
    corrections |= {t: event for t, event in late.items() if t not in corrections and _clean(seen[t])}
    there = {t: event for t, event in corrections.items() if None not in ids[t]}
    refuted = Counter({LOST: len(lost)}) + Counter(_refuted(seen[t], event) for t, event in there.items())
    seen |= {t: _corrected(seen[t], event) for t, event in there.items()}
    people = {t: np.array([person_number(id) for id in of_round], dtype=np.intp) for t, of_round in ids.items()}
    rounds = [seen[t]._replace(batch=seen[t].batch._replace(view=views[t], person=people[t])) for t in penalties]
    return rounds, list(penalties.values()), refuted


def _clean(seen: Round) -> bool:
    return seen.reviewed and not seen.reports


def _corrected(seen: Round, event: AuditCorrected | VerdictLate) -> Round:
    """A round with its audit as it should have been."""
    reports = tuple(Report(*pair.positions) for pair in event.reports)
    return seen._replace(reports=reports, reviewed=event.verdict in ("reported", "cleared"))


def _refuted(seen: Round, event: AuditCorrected | VerdictLate) -> str:
    """Which assumption a correction refutes, if any: a report was taken back, or a pair had been overlooked."""
    before, after = {report[:2] for report in seen.reports}, {pair.positions for pair in event.reports}
    if before - after:
        return WITHDRAWN
    return OVERLOOKED if seen.reviewed and after - before else "nothing"


def _unseen(round_: OpenRound) -> Round:
    """A round that was opened and is not known to be fair: labels count, unless a person of theirs is gone."""
    labels = np.full(len(round_.labels), np.nan) if round_.lost else round_.known
    return round_.with_lots(labels)._replace(reviewed=False)


def _with_late(seen: Round, event: LabelsBooked) -> Round:
    """A round with late labels of which the learner heard."""
    y = seen.batch.y.copy()
    for position, label in event.labels:
        y[position] = label
    return seen._replace(batch=seen.batch._replace(y=y))


def _ids(event: RoundOpened) -> list[str | None]:
    """Who the people of a round are; None for those who were erased."""
    ids = {aside.ref: aside.person for aside in event.asides}
    return [ids.get(ref) for ref in event.refs]


def _numbered(people: Sequence[NDArray[np.intp]]) -> list[NDArray[np.intp] | None]:
    """A number for everybody, stretch by stretch: the same number is the same person, the first comers first.

    Nobody can know whether the erased came again. That matters only where nobody else did: then nothing is known.
    """
    everybody = np.concatenate(people)
    known = everybody[everybody != 0]
    if len(known) < len(everybody) and len(np.unique(known)) == len(known):
        return [None] * len(people)
    _, first, of = np.unique(everybody, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    numbers = rank[of]
    gone = everybody == 0
    numbers[gone] = len(everybody) + np.arange(int(gone.sum()))
    ends = np.cumsum([len(part) for part in people])
    return list(np.split(numbers, ends[:-1]))


def _view(event: RoundOpened, settings: Settings) -> Any:
    """What the auditor saw, as numbers: a category by the place of its level, an erased person as NaN."""
    shown = [feature for feature in settings.features if feature.visible]
    contents = {aside.ref: aside.content["features"] for aside in event.asides}
    table = np.full((len(event.people), max(1, len(shown))), np.nan)
    for i, person in enumerate(event.people):
        for j, feature in enumerate(shown if person.ref in contents else ()):
            value = contents[person.ref][feature.name]
            table[i, j] = feature.levels.index(value) if feature.kind == "category" else value
    return table
