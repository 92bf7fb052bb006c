"""A round, and one person in it, told from the events about it: what readers see, open or closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from likewise.service.stream.answers import GivenVerdict, Learned, PersonDecided, PersonRound, RoundRecord
from likewise.service.stream.events import Event
from likewise.service.stream.rounds import evolve
from likewise.service.stream.state import OpenRound, State


def past_round(events: Sequence[Event], state: State) -> OpenRound:
    """A round that has left the state, as it would stand there, late labels included."""
    alone = State(model=state.model)
    for event in events:
        if event.kind not in ("round_closed", "learned", "audit_corrected"):
            alone = evolve(alone, event)
    return next(iter(alone.rounds.values()))


def round_view(events: Sequence[Event]) -> RoundRecord:
    """Everything that is known of a round; people who were erased stand there without id and features."""
    view = _opened(events[0])
    for event in events[1:]:
        _TELLERS[event.kind](view, event)
    return view


def person_view(events: Sequence[Event], person: str) -> PersonRound | None:
    """What a round was for one of its people: their probability, decision and label, and whether they were reported.

    None if they are not in it: they may have been erased a moment ago.
    """
    view = round_view(events)
    decided = next((one for one in view["people"] if one["id"] == person), None)
    if decided is None:
        return None
    audit = view["audit"]
    pair = audit["pair"] if audit else []
    return {
        **decided,
        "t": view["t"],
        "opened_at": view["opened_at"],
        "status": view["status"],
        "version": view["version"],
        "policy": view["policy"],
        "audit": audit["verdict"] if audit else None,
        "reported_as": None if person not in pair else "favoured" if pair[0] == person else "disfavoured",
    }


def _opened(event: Event) -> RoundRecord:
    data, found = event.data, {aside.ref: aside.content for aside in event.asides}
    people: list[PersonDecided] = [
        {
            "id": found.get(one["ref"], {}).get("id"),
            "features": found.get(one["ref"], {}).get("features"),
            "probability": one["probability"],
            "decision": one["decision"],
            "label": None,
            "late_label": None,
        }
        for one in data["people"]
    ]
    return {
        "t": data["round"],
        "status": "open",
        "opened_at": event.at,
        "by": data["by"],
        "version": data["version"],
        "policy": data["policy"],
        "outstanding": data["outstanding"],
        "people": people,
        "labels": None,
        "audit": None,
        "retracted": 0,
        "corrections": [],
        "learned": None,
    }


def _labels(view: RoundRecord, event: Event) -> None:
    for position, label in event.data["labels"]:
        if event.kind == "labels_late":
            view["people"][position]["late_label"] = label
        else:
            view["people"][position]["label"] = label
    if all(person["label"] is not None for person in view["people"]):
        view["labels"] = "complete"


def _labels_expired(view: RoundRecord, event: Event) -> None:
    view["labels"] = event.data["outcome"]


def _audit(view: RoundRecord, event: Event) -> None:
    view["audit"] = _told(view, event)


def _told(view: RoundRecord, event: Event) -> GivenVerdict:
    data = event.data
    words: dict[str, Any] = event.asides[0].content if event.asides else {}
    pair = [view["people"][position]["id"] for position in data.get("pair", ())]
    return {
        "verdict": data["verdict"],
        "by": data["by"],
        "at": event.at,
        "pair": pair,
        "gap": data.get("gap"),
        "reason": words.get("reason", ""),
        "note": words.get("note", ""),
    }


def _retracted(view: RoundRecord, event: Event) -> None:
    view["audit"] = None
    view["retracted"] += 1


def _corrected(view: RoundRecord, event: Event) -> None:
    view["corrections"].append(_told(view, event))


def _closed(view: RoundRecord, event: Event) -> None:
    view["status"] = "closed" if event.data["learns"] else "discarded"
    view["labels"] = event.data["labels"]


def _learned(view: RoundRecord, event: Event) -> None:
    view["status"] = "learned"
    names = ("version", "penalty", "delay", "outstanding", "waited", "dropped")
    view["learned"] = cast(Learned, {name: event.data[name] for name in names} | {"at": event.at})


_TELLERS = {
    "labels_received": _labels,
    "labels_late": _labels,
    "labels_expired": _labels_expired,
    "audited": _audit,
    "audit_retracted": _retracted,
    "audit_corrected": _corrected,
    "round_closed": _closed,
    "learned": _learned,
}
