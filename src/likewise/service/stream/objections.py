"""Whether an event may follow those before it, as an outsider can tell from the log alone.

``decide`` lets only such events happen; somebody who has the service's key could still chain and sign others: a second
verdict in place of the first, a label that changes, a report whose round is closed and not learned, a learner that
begins again. ``evolve`` never refuses, so they are refused here, in one sentence each: what all events have in common
below, and what is particular to a kind in its ``objection``.
"""

from __future__ import annotations

from likewise.service.stream.events import Event, StreamCreated
from likewise.service.stream.memory import Memory
from likewise.service.stream.state import State


class Rules:
    """Takes the events of a log in their order, each with the state before it."""

    def __init__(self) -> None:
        self._memory = Memory()

    def objection(self, state: State, event: Event) -> str:
        """Why an event can't follow; "" if it can."""
        if (state.model is None) != isinstance(event, StreamCreated):
            first = state.model is None
            return "is the first event but does not create the stream" if first else "creates the stream a second time"
        announced, self._memory.announced = self._memory.announced, event.announces
        if announced is not None and announced != (event.kind, event.about):
            return f"is out of order: {announced[0]} must directly follow the event before it"
        if announced is None and not event.alone:
            return "is out of order: the event before it does not announce it"
        return event.objection(state, self._memory)
