"""Reviewers, for leads: how they agree and what they find, and known rounds; and practice, for reviewers."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Query
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from likewise.errors import InvalidParameter
from likewise.service.accounts.access import REVIEW_PAGE, STREAM_PAGE
from likewise.service.pages.forms import plainly
from likewise.service.pages.rendering import render, router
from likewise.service.pages.round_to_review import visible
from likewise.service.pages.visits import Visit, Visitor
from likewise.service.projections.reviewers import reviewers
from likewise.service.refusals import Conflict, Unknown, status_of

pages = router()
USES = {"gold": "gold", "practice": "practice", "none": None}
"""What a form says a round is used for."""


@pages.get(STREAM_PAGE + "/reviewers")
def team(stream: str, visit: Visitor) -> Response:
    """Figures for each reviewer and each feature, and the known rounds."""
    return _team(visit, stream)


def _team(visit: Visit, stream: str, wrong: str = "", status: int = 200) -> Response:
    engine = visit.service.engine
    state = engine.streams.get(stream).current()
    return render(
        "reviewers.html", visit, status, stream=stream, tab="reviewers", told=reviewers(engine, stream), wrong=wrong,
        plan=state.stream.settings.review, due=state.known.due, typed=dict(visit.sent) if wrong else {},
    )  # fmt: skip


@pages.post(STREAM_PAGE + "/reviewers")
def mark(stream: str, visit: Visitor) -> Response:
    """Mark a round as known, for a use, or for none any more."""
    t, use = str(visit.sent.get("t", "")).strip(), str(visit.sent.get("use", ""))
    number = t.isdecimal() and 0 < len(t) < 16
    if not number or use not in USES:
        return _team(visit, stream, "Give the number of a round, and what it is for.", 422)
    try:
        visit.service.engine.mark_known(stream, int(t), cast(Any, USES[use]), visit.identity.name)
    except (Conflict, Unknown) as error:
        return _team(visit, stream, str(error), status_of(error)[0])
    return RedirectResponse(f"/streams/{stream}/reviewers#known", 303)


# Practice -------------------------------------------------------------------------------------------------------------


@pages.get(REVIEW_PAGE + "/practice")
def practice(stream: str, visit: Visitor, answered: Annotated[int | None, Query(ge=1, lt=2**53)] = None) -> Response:
    """The next round to practise with, after what is known of the one that was just answered."""
    return _practice(visit, stream, answered)


@pages.post(REVIEW_PAGE + "/practice")
def practised(stream: str, visit: Visitor) -> Response:
    """An answer to a practice round. It is recorded, never learned, and counts nowhere."""
    sent, t = visit.sent, str(visit.sent.get("t", ""))
    number = int(t) if t.isdecimal() and len(t) < 16 else 0
    pair = [str(sent.get(name, "")) for name in ("first", "second")] if sent.get("verdict") == "pair" else []
    try:
        visit.service.engine.practise(stream, number, str(sent.get("verdict", "")), visit.identity.name, pair)
    except (InvalidParameter, Conflict, Unknown) as error:
        return _practice(visit, stream, wrong=plainly(str(error)), status=status_of(error)[0])
    return RedirectResponse(f"/streams/{stream}/review/practice?answered={number}", 303)


def _practice(visit: Visit, stream: str, answered: int | None = None, wrong: str = "", status: int = 200) -> Response:
    engine, name = visit.service.engine, visit.identity.name
    settings = engine.streams.get(stream).current().stream.settings
    told = None if answered is None else engine.practised(stream, answered, name)
    shown = engine.practice(stream, name)
    order = "decision" if settings.audits == "decisions" else "probability"
    people = [] if shown is None else sorted(cast(list[Any], shown["people"]), key=lambda person: -person[order])
    return render(
        "practice.html", visit, status, stream=stream, tab="mine", told=told, shown=shown, people=people,
        columns=visible(settings), sees=settings.audits, level=settings.level, wrong=wrong,
        typed=dict(visit.sent) if wrong else {},
    )  # fmt: skip
