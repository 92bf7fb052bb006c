"""The review plan: which rounds are reviewed, and, in advance, what can be claimed then."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from likewise.errors import InvalidParameter
from likewise.service.accounts.access import STREAM_PAGE
from likewise.service.pages.forms import Entry, entries_of, labelled, sent_value
from likewise.service.pages.rendering import render, router
from likewise.service.pages.visits import Visit, Visitor
from likewise.service.stream.claims import prospect
from likewise.service.stream.settings import Review

pages = router()
SAVED = {"yes": "Saved, and recorded in the log. It holds for rounds opened from now on.", "no": "Nothing changed."}
BUDGETS = (20.0, 60.0, 120.0, 300.0)
"""Reviews a week for which it is said in advance what they buy."""


def entries() -> list[Entry]:
    """The form of the plan, from its declaration."""
    return entries_of(Review)


@pages.get(STREAM_PAGE + "/plan")
def plan_page(
    stream: str,
    visit: Visitor,
    rounds_a_day: Annotated[str, Query(max_length=16)] = "",
    changed: Annotated[str, Query(max_length=8)] = "",
) -> Response:
    """The plan, what it buys, and what other budgets would buy."""
    return _plan(visit, stream, rounds_a_day, message=SAVED.get(changed, ""))


@pages.post(STREAM_PAGE + "/plan")
def change(stream: str, visit: Visitor) -> Response:
    """Change the plan; an event records it."""
    engine = visit.service.engine
    plan = engine.streams.get(stream).current().stream.settings.review
    try:
        asked = {entry.name: sent_value(visit.sent.get(entry.name, ""), entry) for entry in entries()}
        if asked.get("budget") is not None:
            asked["share"] = 1.0  # a budget takes the place of a share
        changes = {name: value for name, value in asked.items() if value != getattr(plan, name)}
        if changes:
            engine.change_plan(stream, changes, visit.identity.name)
    except InvalidParameter as error:
        return _plan(visit, stream, wrong=labelled(str(error), entries()), status=422)
    return RedirectResponse(f"/streams/{stream}/plan?changed={'yes' if changes else 'no'}", 303)


def _plan(
    visit: Visit, stream: str, rounds_a_day: str = "", message: str = "", wrong: str = "", status: int = 200
) -> Response:
    engine = visit.service.engine
    state = engine.streams.get(stream).current()
    settings, lately = state.stream.settings, sum(rounds for _, rounds in state.drawing.hours)
    a_day = _number(rounds_a_day) or float(max(1, lately))
    others = [
        prospect(settings.with_review({"share": 1.0, "budget": week / 7, "ask_all": False}), a_day)
        for week in BUDGETS
        if week / 7 < a_day
    ]
    typed: dict[str, Any] = dict(visit.sent) if wrong else {}
    return render(
        "plan.html", visit, status, stream=stream, tab="plan", plan=settings.review, entries=entries(), typed=typed,
        buys=prospect(settings, a_day), others=others, a_day=a_day, lately=lately, message=message, wrong=wrong,
    )  # fmt: skip


def _number(text: str) -> float | None:
    """A positive number that somebody typed; None if it is none."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if 0 < value <= 1e9 else None
