"""A decision: the events that follow from a command, and the state after them. What deciders share."""

from __future__ import annotations

from likewise.service.refusals import Unknown
from likewise.service.stream.events import Event, seconds, stamp
from likewise.service.stream.learner import Deployed
from likewise.service.stream.state import State


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


def policy_of(state: State) -> Deployed:
    """What is deployed for the next round."""
    assert state.policy is not None, "a live stream knows its learner"
    return state.policy


def require_past(state: State, t: int) -> None:
    """Refuse a round that was never opened."""
    if not 1 <= t <= state.opened:
        raise Unknown(f"There is no round {t}; the last one is {state.opened}.")
