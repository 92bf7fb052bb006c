"""A round, and one person in it, read from the events about it: what readers see, open or closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from likewise.service.stream.answers import GivenVerdict, Outcome, PersonRound, PersonShown, RoundRecord, RoundShown
from likewise.service.stream.events import AuditCorrected, Audited, Learned, RoundClosed, stamp
from likewise.service.stream.events.audits import EXPIRED
from likewise.service.stream.events.event import RoundEvent
from likewise.service.stream.panel import Panel
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import OpenRound, State, Verdict


def past_round(events: Sequence[RoundEvent], state: State) -> OpenRound:
    """A round that has left the state, as it would stand there, late labels included, without whoever was erased."""
    alone = State(model=state.model)
    for event in events:
        if not isinstance(event, RoundClosed | Learned | AuditCorrected):
            alone = event.evolve(alone)
    (round_,) = alone.rounds.values()
    return replace(round_, erased=round_.lost)


def counts_as(events: Sequence[RoundEvent]) -> Outcome | None:
    """What a round counts as among those learned: its newest correction, else its verdict; None if it isn't learned."""
    learned = next((event for event in events if isinstance(event, Learned)), None)
    corrections = [event.verdict for event in events if isinstance(event, AuditCorrected)]
    if learned is None or corrections:
        return None if learned is None else corrections[-1]
    closed = next(event for event in events if isinstance(event, RoundClosed))
    return "skipped" if learned.dropped else closed.audit


def clean_probability(events: Sequence[RoundEvent]) -> float | None:
    """With which probability a closed round was drawn, if it counts as reviewed and found clean; None otherwise."""
    closed = next((event for event in events if isinstance(event, RoundClosed)), None)
    if closed is None or closed.counts != "clean":
        return None
    view = round_view(events)
    if any(later["verdict"] == "reported" for later in (*view["corrections"], *view["late_verdicts"])):
        return None
    return 1.0 if view["review"] is None else view["review"]["probability"]


def round_view(events: Sequence[RoundEvent]) -> RoundRecord:
    """Everything that is known of a round; people who were erased stand there without id and features."""
    view = cast(RoundRecord, {})  # the first event, which opens the round, fills it in
    panel, over = Panel(), False
    for event in events:
        event.tell(view)
        over |= isinstance(event, Audited) and event.verdict == EXPIRED
        panel = panel if over else event.hear(panel)  # what was said later is a correction, if anything
    if panel.rule is not None and panel.said:
        _tell_outcome(view, panel.ended(0.0) if over else panel.settled())
    return view


def _tell_outcome(view: RoundRecord, settled: Verdict | None) -> None:
    """What several verdicts come to, with the words of whoever named the first pair that counts."""
    if settled is None:
        view["audit"] = None
        return
    people, pair = view["people"], settled.pairs[0] if settled.pairs else None
    ids = [] if pair is None else [people[position]["id"] for position in pair.positions]
    words = next((one for one in view["verdicts"] if one["pair"] == ids), view["verdicts"][-1])
    gap = None if pair is None else pair.gap
    by = ", ".join(str(one["by"]) for one in view["verdicts"] if one["verdict"] in ("reported", "cleared"))
    outcome: GivenVerdict = {**words, "verdict": settled.outcome, "by": by or words["by"], "pair": ids, "gap": gap}
    view["audit"] = {**outcome, "hints": None, "seconds": None}  # each verdict has its own


def person_view(events: Sequence[RoundEvent], id: str) -> PersonRound | None:
    """What a round was for one of its people: their probability, decision and label, and whether they were reported.

    None if they are not in it: they may have been erased a moment ago.
    """
    view = round_view(events)
    decided = next((person for person in view["people"] if person["id"] == id), None)
    if decided is None:
        return None
    audit = view["corrections"][-1] if view["corrections"] else view["audit"]
    pair = audit["pair"] if audit else []
    return {
        **decided,
        "t": view["t"],
        "opened_at": view["opened_at"],
        "status": view["status"],
        "version": view["version"],
        "policy": view["policy"],
        "audit": audit["verdict"] if audit else None,
        "reported_as": None if id not in pair else "favoured" if pair[0] == id else "disfavoured",
    }


def audit_view(round_: OpenRound, kept: Mapping[str, Any], settings: Settings) -> RoundShown:
    """A round as its auditor sees it: the visible features, and probabilities or decisions; no weights.

    People who already had a decision are left out: they can't be reported for this round. ``kept`` are id and features
    of those who are still there, by reference.
    """
    shown = [feature.name for feature in settings.features if feature.visible]
    places = [i for i in round_.fresh if round_.refs[i] in kept]  # not erased
    people: list[PersonShown] = []
    for i in places:
        content = kept[round_.refs[i]]
        person: PersonShown = {
            "id": content["id"],
            "features": {name: content["features"][name] for name in shown},
        }
        if settings.audits == "decisions":
            person["decision"] = round_.decisions[i]
        else:
            person["probability"] = float(round_.probabilities[i])
        people.append(person)
    view: RoundShown = {
        "t": round_.t,
        "opened_at": stamp(round_.opened_at),
        "level": settings.level,
        "people": people,
        "shown": round_.shown(settings),
    }
    if settings.audits == "decisions":
        ids = {i: person["id"] for i, person in zip(places, people, strict=True)}
        pairs = round_.reportable(settings.level)
        view["pairs"] = [[ids[i], ids[j]] for i, j in pairs if i in ids and j in ids]
    return view
