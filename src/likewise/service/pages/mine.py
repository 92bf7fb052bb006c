"""My reviews: what a reviewer answered, with search, what became of reports, and corrections. Only their own."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from fastapi import Path
from fastapi.responses import RedirectResponse
from sqlalchemy import select
from starlette.responses import Response

from likewise.errors import InvalidParameter
from likewise.service.accounts.access import REVIEW_PAGE
from likewise.service.canonical import dumps, loads
from likewise.service.log.tables import events
from likewise.service.pages.forms import plainly
from likewise.service.pages.records import corrected, gap_now
from likewise.service.pages.rendering import render, router
from likewise.service.pages.review import KNOWN, reasons_of
from likewise.service.pages.visits import Visit, Visitor
from likewise.service.projections.reviewers import LEAST, figures
from likewise.service.refusals import Conflict, Unknown, status_of
from likewise.service.stream.answers import RoundRecord
from likewise.service.stream.events.known import may_retract
from likewise.service.stream.known import Look
from likewise.service.stream.state import State

pages = router()
LISTED = 50
"""Rounds on a page of them."""
SEARCHED = 500
"""The newest verdicts that are searched."""
Number = Annotated[int, Path(ge=1, lt=2**53)]


class Mine(NamedTuple):
    """A round that somebody reviewed, as they may see it: their own verdict, and what became of their report."""

    t: int
    at: str
    verdict: str
    pair: list[str | None]
    gap: float | None
    reason: str
    note: str
    corrected: str | None
    became: str
    open: bool

    def holds(self, text: str) -> bool:
        """Whether a text is anywhere in it."""
        words = [str(self.t), self.verdict, self.reason, self.note, self.corrected or "", *map(str, self.pair)]
        return text.casefold() in " ".join(words).casefold()


@pages.get(REVIEW_PAGE + "/mine")
def mine(stream: str, visit: Visitor) -> Response:
    """The newest rounds that the visitor reviewed."""
    return _list(visit, stream)


@pages.post(REVIEW_PAGE + "/mine")
def search(stream: str, visit: Visitor) -> Response:
    """Those that hold a text, which is sent in a form: it may be somebody's id."""
    return _list(visit, stream, str(visit.sent.get("text", "")).strip()[:200])


def _list(visit: Visit, stream: str, text: str = "") -> Response:
    state = visit.service.engine.streams.get(stream).current()
    numbers = _reviewed(visit, stream, state, SEARCHED if text else LISTED)
    rounds = [each for t in numbers if (each := _own(visit, stream, t, state)) is not None]
    listed = [each for each in rounds if not text or each.holds(text)][:LISTED]
    return render(
        "mine.html", visit, stream=stream, tab="mine", rounds=listed, text=text, sees=state.stream.settings.audits,
        own=figures(state, visit.identity.name), least=LEAST,
        practice=len(state.known.for_(visit.identity.name, "practice")),
    )  # fmt: skip


def _reviewed(visit: Visit, stream: str, state: State, count: int) -> list[int]:
    """The newest rounds with a verdict of the visitor's, each once and under the number that they saw."""
    log, name = events.c, visit.identity.name
    kinds, by = ("audited", "verdict_late", KNOWN), f'"by":{dumps(name)}'
    query = select(log.round, log.kind, log.data).where(
        log.stream == stream, log.kind.in_(kinds), log.data.contains(by, autoescape=True)
    )
    with visit.service.store.read() as connection:
        rows = connection.execute(query.order_by(log.seq.desc()).limit(count)).all()
    own = [(row.kind, row.round) for row in rows if loads(row.data)["by"] == name]
    numbers = [_gold_number(state, t, name) if kind == KNOWN else t for kind, t in own]
    return list(dict.fromkeys(number for number in numbers if number is not None))


def _gold_number(state: State, t: int, name: str) -> int | None:
    """Under which number somebody met a gold round; practice is listed nowhere."""
    look = state.known.look(t, name)
    return look.number if look is not None and look.use == "gold" else None


def _gold(visit: Visit, stream: str, look: Look, state: State) -> Mine | None:
    """A gold round as any other: it is not said that it is one."""
    answers = visit.service.engine.round(stream, look.t)["known_answers"]
    given = [each for each in answers if each["by"] == look.by]
    if not given:
        return None
    first, hidden = given[0], state.stream.settings.audits == "decisions"
    now, grace = visit.service.engine.clock(), state.waits.grace
    return Mine(
        look.number, first["at"], first["verdict"], list(first["pair"]), None if hidden else first["gap"],
        first["reason"], first["note"], given[-1]["verdict"] if len(given) > 1 else None, "",
        may_retract(look, now, grace),
    )  # fmt: skip


def _own(visit: Visit, stream: str, t: int, state: State) -> Mine | None:
    """A round, if its verdict is the visitor's."""
    look = state.known.under(t, visit.identity.name)
    if look is not None:
        return _gold(visit, stream, look, state)
    record = visit.service.engine.round(stream, t)
    given = [each for each in (*record["verdicts"], *record["late_verdicts"]) if each["by"] == visit.identity.name]
    if not given:
        return None
    audit = given[-1]
    hidden = state.stream.settings.audits == "decisions"
    own = [each["verdict"] for each in record["corrections"] if each["by"] == visit.identity.name]
    return Mine(
        t, audit["at"], audit["verdict"], list(audit["pair"]), None if hidden else audit["gap"],
        audit["reason"], audit["note"], own[-1] if own else None,
        "" if hidden else _became(record, audit["verdict"], state), t in state.rounds,
    )  # fmt: skip


def _became(record: RoundRecord, verdict: str, state: State) -> str:
    """What became of a report, in words; nothing without one."""
    if verdict != "reported":
        return ""
    if record["audit"] is not None and record["audit"]["verdict"] != "reported":
        return "not upheld by the others"
    if record["learned"] is None:
        return "not learned yet" if record["status"] in ("open", "closed") else "not learned"
    now = gap_now(record, state)
    if now is None:
        return "can’t be followed: somebody was erased"
    if now < -state.stream.settings.alpha:
        return f"turned round: the other person is now {-now:.2f} ahead"
    within = ", which is within what is allowed" if abs(now) <= state.stream.settings.alpha else ""
    return f"{abs(now):.2f} apart today{within}"


@pages.get(REVIEW_PAGE + "/mine/{t}")
def correction(stream: str, t: Number, visit: Visitor) -> Response:
    """A form to correct one's own verdict."""
    return _correction(visit, stream, t)


def _correction(visit: Visit, stream: str, t: int, wrong: str = "", status: int = 200) -> Response:
    engine = visit.service.engine
    state = engine.streams.get(stream).current()
    own = _own(visit, stream, t, state)
    if own is None:
        raise Unknown(f"You have given no verdict on round {t}.")
    look = state.known.under(t, visit.identity.name)
    shown = engine.round(stream, t if look is None else look.t)["people"]
    people = [person["id"] for person in shown if person["id"] is not None]
    typed: dict[str, Any] = dict(visit.sent) if wrong else {}
    return render(
        "correction.html", visit, status, stream=stream, tab="mine", round=own, people=people,
        reasons=reasons_of(state.brief), wrong=wrong, typed=typed,
        action=f"/streams/{stream}/review/mine/{t}", back=f"/streams/{stream}/review/mine",
    )  # fmt: skip


@pages.post(REVIEW_PAGE + "/mine/{t}")
def correct(stream: str, t: Number, visit: Visitor) -> Response:
    """Correct one's own verdict; before its round is closed, it is taken back instead."""
    engine = visit.service.engine
    state = engine.streams.get(stream).current()
    if _own(visit, stream, t, state) is None:
        raise Unknown(f"You have given no verdict on round {t}.")
    try:
        if visit.sent.get("verdict") == "retract":
            engine.retract(stream, t, visit.identity.name)
        else:
            corrected(visit, stream, t)
    except (InvalidParameter, Conflict) as error:
        return _correction(visit, stream, t, plainly(str(error)), status_of(error)[0])
    return RedirectResponse(f"/streams/{stream}/review/mine", 303)
