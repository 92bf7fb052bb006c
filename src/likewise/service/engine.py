"""The engine: everything that can be asked of the service, in Python. Routes and pages only translate.

Every method answers with plain JSON values, or raises an error that knows its HTTP status
(``likewise.service.refusals.status_of``). What was asked is durable when a method returns.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, TypeVar, cast

import anyio.to_thread
import numpy as np

from likewise.errors import require, require_number
from likewise.policies import thresholds_of
from likewise.service.asides import free_text, person_aside, remark_aside
from likewise.service.canonical import loads
from likewise.service.live.broken import BrokenStreams
from likewise.service.live.heads import Heads
from likewise.service.live.health import health
from likewise.service.live.proofs import Proofs
from likewise.service.live.stream import LiveStream, Outcome, Task
from likewise.service.live.streams import Streams
from likewise.service.live.verified import VerifiedReads
from likewise.service.log import Idempotency, Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.erasure import ErasureCleanup, ErasureFile
from likewise.service.log.export import export
from likewise.service.log.leases import Leases
from likewise.service.log.signing import Signer
from likewise.service.log.stretches import Stretches
from likewise.service.monitoring import StreamHealth
from likewise.service.refusals import BrokenLog, Conflict, Unknown
from likewise.service.stream import answers, commands
from likewise.service.stream.claims import DAYS, prospect
from likewise.service.stream.decide import VERDICTS, require_past
from likewise.service.stream.events import (
    Aside,
    AuditCorrected,
    Audited,
    LabelsBooked,
    LabelsLate,
    Learned,
    PairJudged,
    RoundOpened,
    VerdictLate,
    stamp,
)
from likewise.service.stream.explanation import Explanation, explain
from likewise.service.stream.lots import Lot, commitment, review_secret
from likewise.service.stream.readers import audit_view, clean_probability, counts_as, person_view, round_view
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import OpenRound, State
from likewise.service.stream.status import made_of, status
from likewise.service.stream.transcript import certificate, joined
from likewise.transparency.merkle import Frontier
from likewise.verdicts import Question

SMALL_BATCH = 50
"""So many people get their decisions in a moment; more would hold up an event loop."""
KEPT = 86_400.0
"""Seconds for which an idempotency key, and a lease that ran out, is remembered, at least."""

A = TypeVar("A", bound=Mapping[str, Any])
"""An answer: one of ``likewise.service.stream.answers``."""
Reply = Callable[[Outcome, answers.Receipt | None], A]
"""From what a command led to, and the receipt for it, to its answer."""


class Engine:
    """Streams behind a store.

    Parameters
    ----------
    store
        Where the logs are; migrated.
    signer
        Signs receipts and checkpoints.
    checkpoints, erasures
        The files that checkpoints and erasures go to, if any.
    clock
        Seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        signer: Signer,
        checkpoints: CheckpointFile | None = None,
        clock: Callable[[], float] = time.time,
        erasures: ErasureFile | None = None,
    ) -> None:
        self.store = store
        self.signer = signer
        store.keyed_hash = signer.keyed_hash
        self.checkpoints = checkpoints
        self.clock = clock
        self.ready = False
        """Whether every log was read up to its head."""
        self._heads = Heads(signer, checkpoints)
        self.streams = Streams(store, self._heads.require_signed)
        self.reads = VerifiedReads(store, self.streams)
        self.proofs = Proofs(store, self.streams, signer)
        self.leases = Leases(store)
        self.broken = BrokenStreams()
        self.erasure_cleanup = ErasureCleanup(store, erasures, clock)
        self._stretches = Stretches(store, lambda stream, sealed: self.reads.require_whole(stream, sealed))

    def start(self) -> None:
        """Read every log up to its head, and refuse one that is not what was signed; the others go on without it."""
        names = self.streams.names()
        self._heads.require_all(names)
        for name in names:
            self.broken.guard(name, lambda: self.streams.get(name))  # noqa: B023
        self.erasure_cleanup.begin(name for name in names if name not in self.broken)
        self.ready = True

    def close(self) -> None:
        """Sign and save where every stream stands, and let go of the store."""
        try:
            self.sign_heads(always=True)
            for live in self.streams.loaded():
                live.save(always=True)
        finally:
            self.store.close()

    # What deciders ask --------------------------------------------------------------------------------------------

    def create(
        self, settings: Settings, by: str, key: Idempotency | None = None, scores: dict[str, Any] | None = None
    ) -> answers.StreamCreated:
        """Begin a stream; ``scores`` are those whose hash the settings hold (``likewise.service.stream.sample``)."""
        secret = secrets.token_bytes(32)
        digest = hashlib.sha256(secret).hexdigest()
        lot = commitment(secret, settings.name, 1) if settings.lot == "round" else None
        review = commitment(review_secret(secret), settings.name, 1)

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.StreamCreated:
            made = made_of(outcome.after.stream)
            return {"stream": settings.name, "settings": settings.to_dict(), "made_of": made, "receipt": receipt}

        return self._do(
            self.streams.get(settings.name, create=True),
            lambda state: commands.CreateStream(settings, by, digest, lot, scores, review),
            reply,
            key,
            secret.hex(),
        )

    def created(self, stream: str, key: Idempotency | None = None) -> answers.StreamCreated | None:
        """What was answered under this key when the stream was created; None if there is no such stream yet.

        Whoever has to work long before a stream can be created asks this first.
        """
        if stream not in self.streams.names():
            return None
        answer = self.streams.get(stream).answers.find(key)
        if answer is None:
            raise Conflict(f"There is already a stream named {stream!r}.")
        return cast(answers.StreamCreated, answer)

    def decide(
        self, stream: str, people: Sequence[Mapping[str, Any]], by: str, key: Idempotency | None = None
    ) -> answers.RoundOpened:
        """Open a round for ``people``, each {id, features}."""
        live = self.streams.get(stream)
        opened = live.do(self._decision(live, people, self.reads.secret(stream), by, key), self.clock())
        return cast(answers.RoundOpened, opened)

    async def decide_soon(
        self, stream: str, people: Sequence[Mapping[str, Any]], by: str, key: Idempotency | None = None
    ) -> answers.RoundOpened:
        """The same on an event loop, which a small batch for a stream in memory doesn't leave for a thread."""
        live, secret = self.streams.known(stream), self.reads.secrets.get(stream)
        if live is None or secret is None or len(people) > SMALL_BATCH or _keeps_record(live):
            return await anyio.to_thread.run_sync(self.decide, stream, people, by, key)
        opened = await live.do_soon(self._decision(live, people, secret, by, key), self.clock())
        return cast(answers.RoundOpened, opened)

    def _decision(
        self, live: LiveStream, people: Sequence[Mapping[str, Any]], secret: bytes, by: str, key: Idempotency | None
    ) -> Task:
        settings = live.latest.state.stream.settings
        asides = [person_aside(person, settings) for person in people]
        ids = [aside.content["id"] for aside in asides]
        thresholds = thresholds_of(ids, secret) if ids else np.empty(0)

        def command(state: State) -> commands.RequestDecisions:
            t = state.opened + 1
            placed = [replace(aside, t=t) for aside in asides]
            lot = Lot.of(secret, live.name, t) if settings.lot == "round" else None
            record = self.reads.record(live, ids) if settings.keeps_record else {}
            drawn = state.stream.settings.review.by_lot
            review = Lot.of(review_secret(secret), live.name, state.drawing.lots + 1) if drawn else None
            return commands.RequestDecisions(placed, thresholds, by, lot, record, review)

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.RoundOpened:
            event = outcome.event(RoundOpened)
            decisions: list[answers.Decision] = [
                {
                    "id": id,
                    "probability": person.probability,
                    "decision": person.decision,
                    "returning": i in event.returning,
                }
                for i, (id, person) in enumerate(zip(ids, event.people, strict=True))
            ]
            return {"t": event.t, "version": event.version, "decisions": decisions, "receipt": receipt}

        return Task(command, self._with_receipt(reply), key)

    def label(
        self, stream: str, t: int, labels: Mapping[str, int], by: str, key: Idempotency | None = None
    ) -> answers.LabelsTaken:
        """Take labels, 0 or 1 by the ids of people."""
        live = self.streams.get(stream)

        def command(state: State) -> commands.ReceiveLabels:
            past = self.reads.past(live, state, t)
            learned = past is not None and any(isinstance(event, Learned) for event in self.reads.events_of(stream, t))
            return commands.ReceiveLabels(t, labels, by, past, learned)

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.LabelsTaken:
            return {"t": t, "disposition": _disposition(outcome, t), "receipt": receipt}

        return self._do(live, command, reply, key)

    # What auditors ask --------------------------------------------------------------------------------------------

    def claim(
        self,
        stream: str,
        auditor: str,
        seconds: float = 600.0,
        beside: Collection[int] = (),
        *,
        opinions: bool = True,
    ) -> answers.RoundClaimed | None:
        """The oldest round that waits for an audit, leased to ``auditor``; None if there is none.

        An auditor who holds a lease gets the same round again, with the lease renewed; but none of the rounds
        ``beside`` which another is wanted, so that the next one can be fetched while one is looked at. Without
        ``opinions``, nobody is asked about a pair of a round that they have judged already.
        """
        require_number(seconds, "seconds", 0, open_at="low")
        live, now = self.streams.get(stream), self.clock()
        state = live.current()
        taken = self.leases.current(stream, now)
        held = (t for t, lease in sorted(taken.items()) if lease.holder == auditor and t in state.rounds)
        free = (t for t in state.rounds if t not in taken)
        for round_ in (state.rounds[t] for t in itertools.chain(held, free) if t not in beside):
            waits = round_.verdict is None and round_.audit_due(state.waits) > now
            question = round_.panel.asks(auditor) if waits else None
            about = question is not None and question.of is not None and not opinions
            if question is not None and not about and self.leases.take(stream, round_.t, auditor, now, now + seconds):
                return self._claimed(stream, round_, question, now + seconds)
        return None

    def _claimed(self, stream: str, round_: OpenRound, question: Question, until: float) -> answers.RoundClaimed:
        """A round as somebody sees it, and what they are asked about it."""
        asks: Literal["verdict", "opinion"] = "verdict" if question.pair is None else "opinion"
        shown = self.audit_view(stream, round_)
        if question.pair is None:
            return cast(answers.RoundClaimed, {**shown, "until": stamp(until), "asks": asks})
        pair = [str(round_.ids[position]) for position in question.pair]
        return cast(answers.RoundClaimed, {**shown, "until": stamp(until), "asks": asks, "pair": pair})

    def renew(self, stream: str, t: int, auditor: str, seconds: float = 600.0) -> answers.Lease:
        """Keep a leased round for longer; a round that was never claimed is refused."""
        require_number(seconds, "seconds", 0, open_at="low")
        now, state = self.clock(), self.streams.get(stream).current()
        if t not in state.rounds:
            require_past(state, t)
            raise Conflict(f"Round {t} is closed.")
        if not self.leases.renew(stream, t, auditor, now + seconds):
            if t in self.leases.current(stream, now):
                raise Conflict(f"Somebody else is auditing round {t}.")
            raise Conflict(f"You have not claimed round {t}; claim a round first.")
        return {"t": t, "until": stamp(now + seconds)}

    def require_claimed(self, stream: str, t: int, auditor: str) -> None:
        """Refuse an auditor who never had a round in front of them: they can't have looked at it."""
        round_ = self.streams.get(stream).latest.state.rounds.get(t)
        said = round_ is not None and round_.panel.of(auditor) is not None
        if round_ is not None and not said and not self.leases.had(stream, t, auditor):
            raise Conflict(f"You have not claimed round {t}; claim a round first.")

    def audit_view(self, stream: str, round_: OpenRound) -> answers.RoundShown:
        """A round as its auditor sees it."""
        settings = self.streams.get(stream).latest.state.stream.settings
        return audit_view(round_, self.reads.contents_of(stream, round_.t), settings)

    def explain(self, stream: str, t: int, auditor: str, pair: Sequence[str]) -> Explanation:
        """Why two people of a claimed round have their probabilities, whoever is ahead first, and what a report does.

        Refused where auditors see decisions only.
        """
        self.require_claimed(stream, t, auditor)
        state = self.streams.get(stream).current()
        round_ = state.rounds.get(t)
        if round_ is None:
            raise Conflict(f"Round {t} is closed.")
        if state.stream.settings.audits == "decisions":
            raise Conflict("Reviewers of this stream see decisions only, so no probability is explained to them.")
        kept = {ref: content["features"] for ref, content in self.reads.contents_of(stream, t).items()}
        people = {i: kept[round_.refs[i]] for i in round_.fresh if round_.refs[i] in kept}
        places = [i for i in people if round_.ids[i] in pair]
        require(len(places) == 2 == len(pair), "pair", f"name two people of round {t} who are still there", len(places))
        ahead, behind = sorted(places, key=lambda i: -round_.probabilities[i])
        return explain(state, round_, people, (ahead, behind))

    def audit(
        self,
        stream: str,
        t: int,
        verdict: str,
        by: str,
        *,
        pair: Sequence[str] = (),
        reason: str = "",
        note: str = "",
        hints: bool | None = None,
        seconds: float | None = None,
        key: Idempotency | None = None,
    ) -> answers.VerdictTaken:
        """Take a verdict: "pair", "none" or "skip". None is dropped: one that comes too late is recorded as late."""
        live, now = self.streams.get(stream), self.clock()
        lease = self.leases.current(stream, now).get(t)
        if lease is not None and lease.holder != by and not self.leases.had(stream, t, by):
            raise Conflict(f"Somebody else is auditing round {t}.")
        remark = remark_aside(t, reason, note)

        def command(state: State) -> commands.Audit:
            past = self.reads.past(live, state, t)
            events = [] if past is None else self.reads.events_of(stream, t)
            return commands.Audit(t, verdict, by, pair, remark, past, clean_probability(events), hints, seconds)

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.VerdictTaken:
            event = outcome.sealed[0].event if outcome.sealed else None
            reports = event.reports if isinstance(event, Audited | VerdictLate) else ()
            hidden = outcome.before.stream.settings.audits == "decisions"
            round_ = outcome.before.rounds.get(t)
            ids = () if round_ is None else round_.ids
            named = [str(ids[position]) for report in reports for position in report.positions] if ids else list(pair)
            taken, late = isinstance(event, Audited | PairJudged), isinstance(event, VerdictLate)
            return {
                "t": t,
                "verdict": cast(answers.Outcome, VERDICTS[verdict]),
                "pair": named if reports else list(pair),
                "gap": reports[0].gap if reports and not hidden else None,
                "final_at": stamp(now + outcome.before.waits.grace),
                "disposition": "taken" if taken else "late" if late else "duplicate",
                "receipt": receipt,
            }

        answer = self._do(live, command, reply, key)
        self._hand_on(live, t, by)
        return answer

    def judge_pair(
        self,
        stream: str,
        t: int,
        pair: Sequence[str],
        objects: bool | None,
        by: str,
        key: Idempotency | None = None,
        *,
        hints: bool | None = None,
        seconds: float | None = None,
    ) -> answers.OpinionTaken:
        """Take an answer about a pair that somebody else named: too different, not, or None for a skip."""
        live = self.streams.get(stream)

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.OpinionTaken:
            return {"t": t, "objects": objects, "receipt": receipt}

        judge = commands.JudgePair(t, pair, objects, by, hints, seconds)
        answer = self._do(live, lambda state: judge, reply, key)
        self._hand_on(live, t, by)
        return answer

    def _hand_on(self, live: LiveStream, t: int, by: str) -> None:
        """Let a colleague have a round that still has a question, now that this auditor has answered."""
        round_ = live.latest.state.rounds.get(t)
        if round_ is not None and round_.verdict is None and round_.panel.said:
            self.leases.release(live.name, t, by)

    def retract(
        self, stream: str, t: int, by: str, key: Idempotency | None = None, *, anybodys: bool = False
    ) -> answers.VerdictRetracted:
        """Retract a verdict before its round is closed. The learner never hears of it."""

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.VerdictRetracted:
            return {"t": t, "receipt": receipt}

        return self._do(self.streams.get(stream), lambda state: commands.RetractAudit(t, by, anybodys), reply, key)

    def correct(
        self,
        stream: str,
        t: int,
        verdict: str,
        by: str,
        *,
        pair: Sequence[str] = (),
        reason: str = "",
        note: str = "",
        key: Idempotency | None = None,
    ) -> answers.VerdictCorrected:
        """Correct the verdict of a closed round. It is recorded; nothing is unlearned."""
        live = self.streams.get(stream)
        remark = remark_aside(t, reason, note)

        def command(state: State) -> commands.CorrectAudit:
            past = self.reads.past(live, state, t)
            events = [] if past is None else self.reads.events_of(stream, t)
            counted = counts_as(events) if events else None
            return commands.CorrectAudit(t, verdict, by, pair, remark, past, counted, clean_probability(events))

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.VerdictCorrected:
            return {"t": t, "verdict": outcome.event(AuditCorrected).verdict, "receipt": receipt}

        return self._do(live, command, reply, key)

    # What administrators ask --------------------------------------------------------------------------------------

    def change_waits(
        self, stream: str, changes: Mapping[str, Any], by: str, key: Idempotency | None = None
    ) -> answers.WaitsChanged:
        """Change how long rounds wait and what happens then."""

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.WaitsChanged:
            return {"stream": stream, "waits": outcome.after.waits.model_dump(), "receipt": receipt}

        return self._do(self.streams.get(stream), lambda state: commands.ChangeWaits(changes, by), reply, key)

    def change_plan(
        self, stream: str, changes: Mapping[str, Any], by: str, key: Idempotency | None = None
    ) -> answers.PlanChanged:
        """Change which rounds are reviewed, from the next one on."""

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.PlanChanged:
            plan = outcome.after.stream.settings.review
            return {"stream": stream, "review": plan.model_dump(), "receipt": receipt}

        return self._do(self.streams.get(stream), lambda state: commands.ChangePlan(changes, by), reply, key)

    def brief(self, stream: str) -> answers.BriefTold:
        """What reviewers are told before they judge."""
        state = self.streams.get(stream).current()
        return {"stream": stream, "version": state.brief_version, "brief": state.brief.model_dump(mode="json")}

    def change_brief(
        self, stream: str, brief: Mapping[str, Any], by: str, key: Idempotency | None = None
    ) -> answers.BriefChanged:
        """Tell reviewers something else from now on. It stays in the log for good: it must name nobody."""

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.BriefChanged:
            after, told = outcome.after, outcome.after.brief.model_dump(mode="json")
            return {"stream": stream, "version": after.brief_version, "brief": told, "receipt": receipt}

        return self._do(self.streams.get(stream), lambda state: commands.ChangeBrief(brief, by), reply, key)

    def rotate_key(self, stream: str, new: Signer, by: str) -> None:
        """Sign a log with another key from now on, which this one signs; nothing if that was done before."""
        live, old = self.streams.get(stream), self.signer
        if live.current().key == new.public_key:
            return
        note = old.sign(f"likewise key 1\n{old.origin(stream)}\n{new.public_key}\n", stream)
        rotate = commands.RotateKey(old.public_key, new.public_key, str(note), by)
        live.do(Task(lambda state: rotate, lambda outcome: {}), self.clock())

    def stop(self, stream: str, reason: str, by: str, key: Idempotency | None = None) -> answers.StreamStopped:
        """Stop all decisions at once."""
        live, why = self.streams.get(stream), free_text(reason, "reason") or "no reason was given"

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.StreamStopped:
            return {"stream": stream, "stopped": why, "receipt": receipt}

        return self._do(live, lambda state: commands.Stop(why, by), reply, key)

    def resume(self, stream: str, by: str, key: Idempotency | None = None) -> answers.StreamStopped:
        """Decide again."""

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.StreamStopped:
            return {"stream": stream, "stopped": None, "receipt": receipt}

        return self._do(self.streams.get(stream), lambda state: commands.Resume(by), reply, key)

    def erase(self, stream: str, person: str, by: str, key: Idempotency | None = None) -> answers.PersonErased:
        """Erase a person. Their features, id and every remark about their rounds are gone."""
        return self._erase(stream, lambda: self.store.asides(stream, person=person), by, key)

    def erase_again(self, stream: str, refs: Sequence[str], by: str) -> int:
        """Erase what is there under references that were erased elsewhere; how many were there."""
        kept = list(self.store.asides_of(refs, stream))
        people = [aside for aside in kept if aside.kind == "person"]
        if people:
            self._erase(stream, lambda: people, by)
        return len(kept)

    def _erase(
        self, stream: str, find: Callable[[], list[Aside]], by: str, key: Idempotency | None = None
    ) -> answers.PersonErased:
        live = self.streams.get(stream)

        def command(state: State) -> commands.Erase:
            live.positions.settle()
            people = find()
            rounds = sorted({aside.t for aside in people})
            remarks = self.store.remarks(stream, rounds)
            return commands.Erase([aside.ref for aside in [*people, *remarks]], rounds, by)

        def reply(outcome: Outcome, receipt: answers.Receipt | None) -> answers.PersonErased:
            return {"stream": stream, "rounds": list(outcome.sealed[-1].event.touches), "receipt": receipt}

        erased = self._do(live, command, reply, key)
        self.erasure_cleanup.erased(stream)
        return erased

    # What anybody with the right to may read ----------------------------------------------------------------------

    def stream(self, stream: str) -> answers.StreamStatus:
        """Settings, counts, delay, and what can be said of regret."""
        return status(self.streams.get(stream).current())

    def plan(
        self, stream: str, rounds_a_day: float | None = None, days: float = DAYS, delta: float = 0.05
    ) -> answers.PlanProspect:
        """What the review plan buys, in advance; without ``rounds_a_day``, if rounds come as in the past day."""
        state = self.streams.get(stream).current()
        lately = sum(rounds for _, rounds in state.drawing.hours)
        return prospect(state.stream.settings, rounds_a_day or max(1, lately), days, delta)

    def round(self, stream: str, t: int) -> answers.RoundRecord:
        """Everything that is known of a round, open or closed."""
        self.streams.get(stream)
        events = self.reads.events_of(stream, t)
        if not events:
            raise Unknown(f"There is no round {t} in the stream {stream!r}.")
        return round_view(events)

    def rounds(self, stream: str, numbers: Sequence[int]) -> list[answers.RoundRecord]:
        """The same of several rounds, which are there."""
        return [round_view(events) for events in self.reads.by_round(stream, numbers)]

    def person(self, stream: str, person: str) -> answers.PersonRecord:
        """One person's decision record: every round they were in."""
        self.streams.get(stream)
        numbers = [aside.t for aside in self.store.asides(stream, person=person)]
        views = (person_view(events, person) for events in self.reads.by_round(stream, numbers))
        rounds = [view for view in views if view is not None]
        if not rounds:  # nobody of that id, or erased while this was read
            raise Unknown(f"There is no such person in the stream {stream!r}.")
        return {"id": person, "rounds": rounds}

    def certificate(
        self, stream: str, delta: float = 0.05, progress: Callable[[float], None] | None = None
    ) -> answers.StreamCertificate:
        """What is proved of the rounds so far, with the delay beside it; ``progress`` hears how much was read."""
        live = self.streams.get(stream)
        live.current()
        state, seq, hash, tree = live.durable
        stretches = self._stretches.all(stream, state, seq, progress or (lambda share: None))
        claims = certificate(joined(stretches, state), state, delta)
        return self.proofs.signed_certificate(stream, hash, tree, claims)

    def events(self, stream: str, after: int = 0, limit: int = 1000) -> list[answers.LoggedEvent]:
        """Up to ``limit`` events after number ``after``, as exported."""
        self.streams.get(stream)
        return cast(list[answers.LoggedEvent], self.store.lines(stream, after, limit))

    def export(self, stream: str, *, people: bool = True) -> Iterator[dict[str, Any]]:
        """The lines of an export, which ``likewise verify`` checks, as JSON values."""
        return map(loads, self.export_text(stream, people=people))

    def export_text(self, stream: str, *, people: bool = True) -> Iterator[str]:
        """The lines themselves."""
        live = self.streams.get(stream)

        def head() -> Frontier:
            with suppress(BrokenLog):  # whoever is told to export a broken log can
                live.current()
            return live.durable.tree

        return export(self.store, stream, head, self.signer, self.checkpoints, people=people)

    # Time ---------------------------------------------------------------------------------------------------------

    def tick(self) -> int:
        """Do what time has made due in every stream, take snapshots, sign heads, tidy up; how many rounds it moved."""
        now, moved = self.clock(), 0
        self.store.require_same_file()
        self.erasure_cleanup.retry()
        for name, head in self.store.heads().items():
            if not self.streams.idle(name, head, now):
                moved += self.broken.guard(name, lambda: self._advance(name, now)) or 0  # noqa: B023
            elif moved == 0:
                moved += self.broken.guard(name, lambda: self._prepare(name)) or 0  # noqa: B023
        self.sign_heads()
        self.store.tidy()
        return moved

    def _advance(self, name: str, now: float) -> int:
        live = self.streams.get(name)
        if not self._heads.owns(live.current().key):
            return 0
        moved = live.advance(now)
        live.save()
        live.tree.keep(live.durable.seq)
        return moved

    def _prepare(self, name: str) -> int:
        """Make the next stretch of a quiet stream for its certificate, so that nobody has to wait for it."""
        state, seq = self.streams.get(name).durable[:2]
        self._stretches.catch_up(name, state, seq)
        return 0

    def sweep(self) -> None:
        """Forget leases and idempotency keys that are too old to matter."""
        before = self.clock() - KEPT
        self.leases.sweep(before)
        self.store.forget_responses(before)

    def sign_heads(self, *, always: bool = False) -> None:
        """Write a signed checkpoint of every stream that has moved since the last one, now and then or ``always``."""
        self._heads.sign(self.streams.loaded(), self.clock(), always=always)

    def health(self) -> Iterator[StreamHealth]:
        """How each stream is doing, for those who watch."""
        return health(self.streams, self._heads, self.broken, self.clock())

    # How ----------------------------------------------------------------------------------------------------------

    def _do(
        self,
        live: LiveStream,
        command: Callable[[State], commands.Command],
        reply: Reply[A],
        key: Idempotency | None = None,
        secret: str | None = None,
    ) -> A:
        # A request sent again gets what was stored: JSON values of the same form.
        return cast(A, live.do(Task(command, self._with_receipt(reply), key, secret), self.clock()))

    def _with_receipt(self, reply: Reply[A]) -> Callable[[Outcome], dict[str, Any]]:
        def answer(outcome: Outcome) -> dict[str, Any]:
            self._heads.require_own_key(outcome.after.key)
            signed = self.signer.receipt(outcome.sealed, outcome.tree) if outcome.sealed else None
            return cast(dict[str, Any], reply(outcome, cast(answers.Receipt | None, signed)))

        return answer


def _keeps_record(live: LiveStream) -> bool:
    """Whether whoever asks about people has to look them up first."""
    return live.latest.state.stream.settings.keeps_record


def _disposition(outcome: Outcome, t: int) -> answers.Disposition:
    if not outcome.sealed:
        return "duplicate"
    if isinstance(outcome.sealed[0].event, LabelsBooked):
        return "booked"
    if isinstance(outcome.sealed[0].event, LabelsLate):
        return "late"
    round_ = outcome.after.rounds.get(t)
    return "joined" if round_ is None or round_.missing == 0 else "pending"
