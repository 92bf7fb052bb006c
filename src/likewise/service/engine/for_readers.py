"""What anybody with the right to may read: a stream, its rounds and people, its certificate, its log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

from likewise.service.canonical import loads
from likewise.service.engine.core import EngineCore
from likewise.service.log.export import export
from likewise.service.refusals import BrokenLog, Unknown
from likewise.service.stream import answers
from likewise.service.stream.claims import DAYS, prospect
from likewise.service.stream.readers import person_view, round_view
from likewise.service.stream.status import status
from likewise.service.stream.transcript import certificate, joined
from likewise.transparency.merkle import Frontier


class ForReaders(EngineCore):
    """Tells what is in the log; changes nothing."""

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
        numbers = [aside.t for aside in self.reads.asides_of(self.streams.get(stream), [person])]
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
        self._heads.require_own_key(live.current().key)
        state, seq, hash, tree = live.durable
        stretches = self._stretches.all(stream, state, seq, progress or (lambda share: None))
        claims = certificate(joined(stretches, state), state, delta)
        return self.proofs.signed_certificate(stream, hash, tree, claims)

    def events(self, stream: str, after: int = 0, limit: int = 1000) -> list[answers.LoggedEvent]:
        """Up to ``limit`` events after number ``after``, as exported."""
        return [cast(answers.LoggedEvent, each.to_dict()) for each in self.reads.in_a_row(stream, after, limit)]

    def export(self, stream: str, *, people: bool = True) -> Iterator[dict[str, Any]]:
        """The lines of an export, which ``likewise verify`` checks, as JSON values."""
        return map(loads, self.export_text(stream, people=people))

    def export_text(self, stream: str, *, people: bool = True, after: int = 0) -> Iterator[str]:
        """The lines themselves; those of the part after an event, if that is wanted."""
        live = self.streams.get(stream)
        start = self.proofs.start(stream, after) if after else None

        def head() -> Frontier:
            with suppress(BrokenLog):  # whoever is told to export a broken log can
                live.current()
            return live.durable.tree

        head()
        self._heads.require_own_key(live.durable.state.key)
        return export(self.store, stream, head, self.signer, self.checkpoints, people=people, start=start)
