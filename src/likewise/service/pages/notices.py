"""The page of a person's notice, to print and hand over."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from starlette.responses import Response

from likewise.service.accounts.access import STREAM_PAGE
from likewise.service.notices import notice
from likewise.service.pages.records import Number
from likewise.service.pages.rendering import render, router
from likewise.service.pages.visits import Visitor
from likewise.service.refusals import Unknown

pages = router()


@pages.get(STREAM_PAGE + "/rounds/{t}/people/{position}/notice")
def notice_page(stream: str, t: Number, position: Annotated[int, Path(ge=0, lt=10_000)], visit: Visitor) -> Response:
    """What somebody may be told, addressed by their place in a round: no id stands in an address."""
    engine, contact = visit.service.engine, visit.service.configuration.contact
    people = engine.round(stream, t)["people"]
    id = people[position]["id"] if position < len(people) else None
    if id is None:
        raise Unknown("There is no such person in this round; they may have been erased.")
    written = notice(engine, stream, id, t, contact, visit.service.subprocesses.run)
    return render("notice.html", visit, stream=stream, tab="people", notice=written, parts=written.parts())
