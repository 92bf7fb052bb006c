"""What deciders ask of the engine: a stream, decisions about people, and to take their labels."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, cast

import anyio.to_thread
import numpy as np

from likewise.policies import thresholds_of
from likewise.service.asides import people_asides
from likewise.service.engine.core import EngineCore
from likewise.service.live.stream import LiveStream, Outcome, Task
from likewise.service.log import Idempotency
from likewise.service.refusals import Conflict
from likewise.service.stream import answers, commands
from likewise.service.stream.events import LabelsBooked, LabelsLate, Learned, RoundOpened
from likewise.service.stream.lots import Lot, commitment, review_secret
from likewise.service.stream.replacing import replace
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import State
from likewise.service.stream.status import made_of

SMALL_BATCH = 50
"""So many people get their decisions in a moment; more would hold up an event loop."""


class ForDeciders(EngineCore):
    """Creates streams, opens rounds, takes labels."""

    def create(
        self, settings: Settings, by: str, key: Idempotency | None = None, scores: dict[str, Any] | None = None
    ) -> answers.StreamCreated:
        """Begin a stream; ``scores`` are those whose hash the settings hold (``likewise.service.stream.sample``)."""
        secret = secrets.token_bytes(32)
        digest = hashlib.sha256(secret).hexdigest()
        lot = commitment(secret, settings.name, 1) if settings.lot == "round" else None
        review = commitment(review_secret(secret), settings.name, 1)

        def reply(outcome: Outcome) -> answers.StreamCreated:
            made = made_of(outcome.after.stream)
            return {"stream": settings.name, "settings": settings.to_dict(), "made_of": made, "receipt": None}

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
        if _keeps_record(live):
            self.reads.know(live)  # what has to be read for it is read before others have to wait
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
        likely = live.latest.state.opened + 1  # unless somebody is faster
        asides = people_asides(people, settings, likely)
        ids = [aside.content["id"] for aside in asides]
        thresholds = thresholds_of(ids, secret) if ids else np.empty(0)

        def command(state: State) -> commands.RequestDecisions:
            t = state.opened + 1
            placed = asides if t == likely else [replace(aside, t=t) for aside in asides]
            lot = Lot.of(secret, live.name, t) if settings.lot == "round" else None
            record = self.reads.record(live, ids) if settings.keeps_record else {}
            drawn = state.stream.settings.review.by_lot
            review = Lot.of(review_secret(secret), live.name, state.drawing.lots + 1) if drawn else None
            return commands.RequestDecisions(placed, thresholds, by, lot, record, review)

        def reply(outcome: Outcome) -> answers.RoundOpened:
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
            return {"t": event.t, "version": event.version, "decisions": decisions, "receipt": None}

        return Task(command, self._with_own_key(reply), key)

    def label(
        self, stream: str, t: int, labels: Mapping[str, int], by: str, key: Idempotency | None = None
    ) -> answers.LabelsTaken:
        """Take labels, 0 or 1 by the ids of people."""
        live = self.streams.get(stream)

        def command(state: State) -> commands.ReceiveLabels:
            past = self.reads.past(live, state, t)
            learned = past is not None and any(isinstance(event, Learned) for event in self.reads.events_of(stream, t))
            return commands.ReceiveLabels(t, labels, by, past, learned)

        def reply(outcome: Outcome) -> answers.LabelsTaken:
            return {"t": t, "disposition": _disposition(outcome, t), "receipt": None}

        return self._do(live, command, reply, key)


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
