"""Whether an event may follow those before it, as an outsider can tell from the log alone.

``decide`` lets only such events happen; somebody who has the service's key could still chain and sign others: a second
verdict in place of the first, a label that changes, a report whose round is closed and not learned, a learner that
begins again. ``evolve`` never refuses, so they are refused here, in one sentence each: what all events have in common
below, and what is particular to a kind in its ``objection``.
"""

from __future__ import annotations

from likewise.service.stream.events import Event, RoundOpened, StreamCreated
from likewise.service.stream.events.reviews import announced
from likewise.service.stream.memory import Memory
from likewise.service.stream.state import State


class Rules:
    """Takes the events of a log in their order, each with the state before it.

    Parameters
    ----------
    memory
        What is remembered of those before; nothing yet, if it isn't given.
    """

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = Memory() if memory is None else memory
        self._opened: tuple[Event, State] | None = None
        self._known: tuple[Event, Event] | None = None
        """The event that was looked at last, without and with what its objection found out about it."""

    def objection(self, state: State, event: Event) -> str:
        """Why an event can't follow; "" if it can."""
        if (state.model is None) != (type(event) is StreamCreated):
            first = state.model is None
            return "is the first event but does not create the stream" if first else "creates the stream a second time"
        awaited, self._memory.announced = self._memory.announced, event.announces
        if awaited is not None and awaited != (event.kind, event.about):
            return f"is out of order: {awaited[0]} must directly follow the event before it"
        if awaited is None and not event.alone:
            return "is out of order: the event before it does not announce it"
        self._memory.expected = awaited is not None
        self._memory.known = {}
        wrong = event.objection(state, self._memory)
        known = event.knowing(self._memory.known) if self._memory.known else event
        self._known = event, known
        if not wrong and type(event) is RoundOpened:
            self._opened = event, known.evolve(state)
            self._memory.announced = announced(self._opened[1], event.t)
        return wrong

    def after(self, state: State, event: Event) -> State:
        """The state after an event that there was no objection to; of a round that it opens, it is known already."""
        if self._opened is not None and self._opened[0] is event:
            return self._opened[1]
        known = self._known[1] if self._known is not None and self._known[0] is event else event
        return known.evolve(state)
