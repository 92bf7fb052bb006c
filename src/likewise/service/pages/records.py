"""Records: one round, one person's decisions, and the log."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import Path, Query
from sqlalchemy import false, select
from starlette.responses import Response

from likewise.errors import InvalidParameter
from likewise.service.accounts.access import STREAM_PAGE
from likewise.service.canonical import dumps, loads
from likewise.service.log.tables import events
from likewise.service.pages.rendering import render, router, words
from likewise.service.pages.visits import Visit, Visitor
from likewise.service.refusals import Unknown, status_of
from likewise.service.stream.answers import RoundRecord
from likewise.service.stream.declared import plain_text
from likewise.service.stream.events import KINDS
from likewise.service.stream.state import State
from likewise.wording import number, plural

pages = router()
Number = Annotated[int, Path(ge=1, lt=2**53)]
HASH = re.compile(r"[0-9a-f]{32,}")
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
        now=_gap_now(record, state), last=state.opened,
    )  # fmt: skip


def _gap_now(record: RoundRecord, state: State) -> float | None:
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
    return _people(visit, stream, wrong=str(error), status=status_of(error)[0], id=typed)


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
        "What was learned stays learned, and the log can still be verified. But the rounds from this person's first "
        "one up to now can no longer be replayed.",
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
    rounds = [(theirs, engine.round(stream, theirs["t"])) for theirs in engine.person(stream, id)["rounds"]]
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
    visit.service.engine.streams.get(stream)
    log = events.c
    query = select(log.seq, log.kind, log.at, log.round, log.data).where(log.stream == stream)
    if kind in KINDS:
        query = query.where(log.kind == kind)
    if round := round.strip():
        query = query.where(log.round == int(round) if round.isdecimal() else false())
    if before is not None:
        query = query.where(log.seq < before)
    with visit.service.store.read() as connection:
        rows = connection.execute(query.order_by(log.seq.desc()).limit(LINES)).all()
    lines = [{**row._mapping, "data": _summary(loads(row.data))} for row in rows]
    older = rows[-1].seq if len(rows) == LINES else None
    return render(
        "log.html", visit, stream=stream, tab="log", lines=lines, kinds=KINDS, kind=kind, round=round, older=older
    )  # fmt: skip


def _summary(data: dict[str, Any]) -> str:
    """An event's data in a line to read; the export has it whole.

    Examples
    --------
    >>> _summary({"t": 3, "verdict": "reported", "reports": [{"favoured": 2, "disfavoured": 5, "gap": 0.31250001}]})
    'verdict reported · reports 2 and 5, 0.3125 apart'
    >>> _summary({"t": 3, "audit": "cleared", "labels": "complete", "learns": True})
    'audit cleared · labels complete · learns yes'
    """
    shown = {name: value for name, value in data.items() if name != "t" and value not in (None, [])}
    return " · ".join(f"{_name(name, value)} {_plain(value)}" for name, value in shown.items())


def _name(name: str, value: Any) -> str:
    return "labels by position" if name == "labels" and isinstance(value, list) else words(name)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        # A pair within a list is a position with its label.
        shown = ", ".join(": ".join(map(str, part)) if isinstance(part, list) else _plain(part) for part in value[:12])
        return shown + (" …" if len(value) > 12 else "")
    if isinstance(value, dict):
        if "decision" in value:  # a person of a round
            return f"{value['probability']:.3f} ({'yes' if value['decision'] else 'no'})"
        if "label" in value:  # a late label, by position
            return f"{value['position']}: {value['label']}"
        if "favoured" in value:  # a reported pair
            return f"{value['favoured']} and {value['disfavoured']}, {number(value['gap'])} apart"
        if "commitment" in value:
            return "kept beside the log"
        if "format" in value:  # the scores of a class
            return f"{len(value['scores'])}, fitted to a sample of {value['people']} people"
        text = dumps(value)
        return text if len(text) <= 160 else text[:160] + " …"
    if isinstance(value, str):
        return value[:12] + "…" if HASH.fullmatch(value) else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value)
