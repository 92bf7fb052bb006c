"""Records: one round, one person's decisions, and the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Path, Query
from fastapi.responses import RedirectResponse
from sqlalchemy import ColumnElement, false
from starlette.responses import Response

from likewise.errors import InvalidParameter
from likewise.service.accounts.access import STREAM_PAGE
from likewise.service.log.chain import Sealed
from likewise.service.log.tables import events
from likewise.service.pages.filters import Filters
from likewise.service.pages.forms import plainly
from likewise.service.pages.log_words import sentence
from likewise.service.pages.rendering import render, router
from likewise.service.pages.review import reasons_of
from likewise.service.pages.visits import Visit, Visitor
from likewise.service.refusals import Conflict, Unknown, status_of
from likewise.service.stream.answers import RoundRecord
from likewise.service.stream.declared import plain_text
from likewise.service.stream.events import KINDS, Event
from likewise.service.stream.events.lifecycle import REASON_ERASED
from likewise.service.stream.state import State
from likewise.wording import plural

pages = router()
Number = Annotated[int, Path(ge=1, lt=2**53)]
LINES = 100
"""Events on a page of the log."""


@pages.get(STREAM_PAGE + "/rounds/{t}")
def round_page(stream: str, t: Number, visit: Visitor) -> Response:
    """Everything that is known of a round."""
    record = visit.service.engine.round(stream, t)
    state = visit.service.engine.streams.get(stream).latest.state
    order = sorted(range(len(record["people"])), key=lambda i: -record["people"][i]["probability"])
    return render(
        "round.html", visit, stream=stream, tab="rounds", round=record, settings=state.stream.settings, order=order,
        now=gap_now(record, state), last=state.opened,
    )  # fmt: skip


def gap_now(record: RoundRecord, state: State) -> float | None:
    """The gap of a reported pair under the current policy, the favoured person first; None without a pair."""
    pair = record["audit"]["pair"] if record["audit"] else []
    known = {person["id"]: person["features"] for person in record["people"]}
    features = [content for id in pair if (content := known.get(id)) is not None]
    if len(features) != 2 or state.policy is None:
        return None
    favoured, disfavoured = state.stream.probabilities(state.policy, state.stream.encode(features))
    return float(favoured - disfavoured)


@pages.get(STREAM_PAGE + "/rounds/{t}/people/{position}")
def person_in_round(
    stream: str, t: Number, position: Annotated[int, Path(ge=0, lt=10_000)], visit: Visitor
) -> Response:
    """The record of somebody in a round, addressed by their place in it: no id stands in an address."""
    people = visit.service.engine.round(stream, t)["people"]
    id = people[position]["id"] if position < len(people) else None
    if id is None:
        raise Unknown("There is no such person in this round; they may have been erased.")
    return _record(visit, stream, id)


@pages.get(STREAM_PAGE + "/people")
def people(stream: str, visit: Visitor) -> Response:
    """A form for somebody's id."""
    return _people(visit, stream)


def _people(visit: Visit, stream: str, message: str = "", wrong: str = "", status: int = 200, id: str = "") -> Response:
    visit.service.engine.streams.get(stream)
    return render("people.html", visit, status, stream=stream, tab="people", message=message, wrong=wrong, id=id)


def _not_found(visit: Visit, stream: str, error: Unknown | InvalidParameter) -> Response:
    """The form again, with what was typed and what is wrong with it."""
    typed = str(visit.sent.get("id", ""))[:200]
    return _people(visit, stream, wrong=plainly(str(error)), status=status_of(error)[0], id=typed)


@pages.post(STREAM_PAGE + "/people")
def person(stream: str, visit: Visitor) -> Response:
    """One person's decision record; the id comes in the form, so that it stands in no address."""
    try:
        return _record(visit, stream, _id(visit))
    except (Unknown, InvalidParameter) as error:
        return _not_found(visit, stream, error)


@pages.post(STREAM_PAGE + "/people/erase")
def erase(stream: str, visit: Visitor) -> Response:
    """Erase a person, once somebody has confirmed it."""
    engine = visit.service.engine
    try:
        id = _id(visit)
        if visit.sent.get("sure") == "yes":
            gone = engine.erase(stream, id, visit.identity.name)["rounds"]
            return _people(visit, stream, f"{id} was erased from {plural(len(gone), 'round')}.")
        rounds = engine.person(stream, id)["rounds"]
    except (Unknown, InvalidParameter) as error:
        return _not_found(visit, stream, error)
    sentences = [
        f"This deletes the id and the features of {id} in {plural(len(rounds), 'round')}, and every remark about "
        f"{'that round' if len(rounds) == 1 else 'those rounds'}. It can't be undone.",
        "What was learned stays learned, and the log can still be verified. But each of these rounds, and some after "
        "it, can no longer be replayed.",
        "Older backups and exports still hold this person.",
    ]
    return render(
        "confirm.html", visit, stream=stream, tab="people", title=f"Erase {id}?", sentences=sentences,
        action=f"/streams/{stream}/people/erase", fields={"id": id}, button="Erase for ever",
        back=f"/streams/{stream}/people",
    )  # fmt: skip


def _id(visit: Visit) -> str:
    return plain_text(str(visit.sent.get("id", "")).strip(), "id")


def _record(visit: Visit, stream: str, id: str) -> Response:
    engine = visit.service.engine
    record = engine.person(stream, id)["rounds"]
    rounds = list(zip(record, engine.rounds(stream, [theirs["t"] for theirs in record]), strict=True))
    records = [
        {
            **theirs,
            "corrections": whole["corrections"],
            "learned": whole["learned"],
            **_first_verdict(whole, id),
            "position": next((i for i, each in enumerate(whole["people"]) if each["id"] == id), None),
        }
        for theirs, whole in rounds
    ]
    model = engine.streams.get(stream).latest.state.stream
    used = [feature for feature in model.settings.features if feature.name in model.used]
    kept = [feature for feature in model.settings.features if feature.name not in model.used]
    return render(
        "person.html",
        visit,
        stream=stream,
        tab="people",
        id=id,
        rounds=records,
        used=used,
        kept=kept,
        settings=model.settings,
        now=engine.clock(),
    )


def _first_verdict(whole: RoundRecord, id: str) -> dict[str, Any]:
    """The verdict as it was given; the page tells its corrections below it."""
    audit = whole["audit"]
    if audit is None or id not in audit["pair"]:
        return {"audit": None if audit is None else audit["verdict"], "report": None}
    side = "favoured" if audit["pair"][0] == id else "disfavoured"
    return {"audit": audit["verdict"], "report": audit, "reported_as": side}


@pages.get(STREAM_PAGE + "/log")
def log_page(
    stream: str,
    visit: Visitor,
    kind: Annotated[str, Query(max_length=40)] = "",
    round: Annotated[str, Query(max_length=16)] = "",
    before: Annotated[int | None, Query(ge=1, lt=2**53)] = None,
) -> Response:
    """The log, newest first, of one kind or round if wanted."""
    return _log(visit, stream, kind, round.strip(), before, Filters())


@pages.post(STREAM_PAGE + "/log")
def filtered_log(stream: str, visit: Visitor) -> Response:
    """The same, filtered by what a form holds."""
    sent = {name: str(visit.sent.get(name, ""))[:40].strip() for name in ("kind", "round", "before")}
    before = int(sent["before"]) if sent["before"].isdecimal() and len(sent["before"]) < 16 else None
    return _log(
        visit, stream, sent["kind"], sent["round"][:16], before, Filters.sent(visit.sent, visit.service.tokens.staff)
    )


def _with_reason(visit: Visit, stream: str, data: dict[str, Any]) -> dict[str, Any]:
    """What an event says, with the reason of a stop if it is still there and the one that was committed to."""
    promise = data.get("remark")
    if not promise or "t" in data:
        return data
    kept = (aside for aside in visit.service.store.asides_of([promise["ref"]], stream))
    reasons = [aside.content["reason"] for aside in kept if aside.commitment == promise["commitment"]]
    visit.service.engine.reads.require_erased(stream, [] if reasons else [promise["ref"]])
    return data | {"reason": (reasons or [REASON_ERASED])[0]}


def _said(visit: Visit, stream: str, event: Event) -> str:
    return sentence(event.kind, _with_reason(visit, stream, event.data()))


def _newest(
    visit: Visit, stream: str, before: int | None, conditions: Sequence[ColumnElement[bool]]
) -> Sequence[Sealed]:
    """A page of events, the newest first; without conditions, none of them is left out."""
    engine = visit.service.engine
    live = engine.streams.get(stream)
    live.current()
    last = live.durable.seq + 1
    end = last if before is None else min(max(before, 1), last)
    if conditions:
        return engine.reads.newest(stream, LINES, events.c.seq < end, *conditions)
    after = max(0, end - 1 - LINES)
    return engine.reads.in_a_row(stream, after, end - 1 - after)[::-1]


def _log(visit: Visit, stream: str, kind: str, round: str, before: int | None, filters: Filters) -> Response:
    conditions = filters.events(stream)
    if kind in KINDS:
        conditions.append(events.c.kind == kind)
    if round:
        conditions.append(events.c.round == int(round) if round.isdecimal() else false())
    found = _newest(visit, stream, before, conditions)
    lines = [each.line() | {"round": each.event.about, "said": _said(visit, stream, each.event)} for each in found]
    older = found[-1].seq if len(found) == LINES else None
    return render(
        "log.html", visit, stream=stream, tab="log", lines=lines, kinds=KINDS, kind=kind, round=round, older=older,
        filters=filters,
    )  # fmt: skip


@pages.get(STREAM_PAGE + "/rounds/{t}/correct")
def correction(stream: str, t: Number, visit: Visitor) -> Response:
    """A form to correct the verdict of a closed round."""
    return _correction(visit, stream, t)


def _correction(visit: Visit, stream: str, t: int, wrong: str = "", status: int = 200) -> Response:
    record = visit.service.engine.round(stream, t)
    people = [person["id"] for person in record["people"] if person["id"] is not None]
    state = visit.service.engine.streams.get(stream).current()
    if t in state.rounds:
        raise Conflict(f"Round {t} is not closed yet, so there is nothing to correct.")
    audit = [record["audit"], *record["corrections"]][-1] or {"verdict": "", "pair": []}
    before = {"t": t, "open": False, "verdict": audit["verdict"], "pair": audit["pair"], "corrected": None}
    return render(
        "correction.html", visit, status, stream=stream, tab="rounds", round=before, people=people,
        reasons=reasons_of(state.brief), wrong=wrong, typed=dict(visit.sent) if wrong else {},
        action=f"/streams/{stream}/rounds/{t}/correct", back=f"/streams/{stream}/rounds/{t}",
    )  # fmt: skip


@pages.post(STREAM_PAGE + "/rounds/{t}/correct")
def correct(stream: str, t: Number, visit: Visitor) -> Response:
    """Correct the verdict of a closed round, whoever gave it."""
    try:
        corrected(visit, stream, t)
    except (InvalidParameter, Conflict) as error:
        return _correction(visit, stream, t, plainly(str(error)), status_of(error)[0])
    return RedirectResponse(f"/streams/{stream}/rounds/{t}", 303)


def corrected(visit: Visit, stream: str, t: int) -> None:
    """Record the correction that a form holds."""
    sent = visit.sent
    pair = [str(sent.get(name, "")) for name in ("first", "second")] if sent.get("verdict") == "pair" else []
    visit.service.engine.correct(
        stream, t, str(sent.get("verdict", "")), visit.identity.name, pair=pair,
        reason=str(sent.get("reason", "")), note=str(sent.get("note", "")),
    )  # fmt: skip
