"""A round, and one person in it, told from the events about it: what readers see, open or closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from likewise.service.stream.events import AuditCorrected, Learned, RoundClosed
from likewise.service.stream.events.event import RoundEvent
from likewise.service.stream.state import OpenRound, State


def past_round(events: Sequence[RoundEvent], state: State) -> OpenRound:
    """A round that has left the state, as it would stand there, late labels included."""
    alone = State(model=state.model)
    for event in events:
        if not isinstance(event, RoundClosed | Learned | AuditCorrected):
            alone = event.evolve(alone)
    (round_,) = alone.rounds.values()
    return round_


def round_view(events: Sequence[RoundEvent]) -> dict[str, Any]:
    """Everything that is known of a round; people who were erased stand there without id and features."""
    view: dict[str, Any] = {}
    for event in events:
        event.tell(view)
    return view


def person_view(events: Sequence[RoundEvent], id: str) -> dict[str, Any] | None:
    """What a round was for one of its people: their probability, decision and label, and whether they were reported.

    None if they are not in it: they may have been erased a moment ago.
    """
    view = round_view(events)
    person = next((person for person in view["people"] if person["id"] == id), None)
    if person is None:
        return None
    audit = view["audit"]
    about = {name: view[name] for name in ("round", "opened_at", "status", "policy_version", "policy")}
    reported = bool(audit) and id in audit["pair"]
    place = ("favoured", "disfavoured")[audit["pair"].index(id)] if reported else None
    return {**about, **person, "audit": audit["verdict"] if audit else None, "reported_as": place}
