"""The reviewer's page: a round at a time, and what its script asks for in between."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

from fastapi import HTTPException, Request
from fastapi.responses import JSONResponse
from sqlalchemy import select
from starlette.responses import Response

from likewise.errors import LikewiseError, require
from likewise.service.accounts.access import REVIEW_PAGE
from likewise.service.accounts.tokens import AUDITOR
from likewise.service.canonical import dumps
from likewise.service.log import Idempotency
from likewise.service.log.tables import events
from likewise.service.pages.rendering import render, router
from likewise.service.pages.round_to_review import round_to_review
from likewise.service.pages.visits import Visit, Visitor
from likewise.service.refusals import Conflict
from likewise.service.stream.answers import OpinionTaken, Receipt, VerdictRetracted, VerdictTaken
from likewise.service.stream.brief import Brief
from likewise.service.stream.state import OpenRound, State
from likewise.transparency.kept import require_receipt
from likewise.verdicts import Question

pages = router()
REASONS = (
    ("q", "same qualifications"),
    ("i", "irrelevant attribute"),
    ("d", "data error"),
    ("o", "other"),
)
"""Why a pair is reported, each with its key."""
KEYS = (
    ("none", "n", "no violation"),
    ("skip", "s", "skip: you can’t say"),
    ("undo", "u", "take the last verdict back"),
    ("why", "w", "why these probabilities, once a pair is selected"),
    ("note", "t", "write a note"),
    ("hints", "h", "hints on or off: pairs worth a look, by arithmetic alone"),
    ("help", "?", "help"),
)
"""What letters do, with the letter at first; reviewers can change them. Reasons have letters, too."""
LEAST = 0.7
"""Seconds that a round must have been on screen before it can be answered: a second `n` is not about a new round."""
TRIES = 5
"""Rounds that are tried one by one before any is good enough: others may be faster."""
PRACTICE = '"use":"practice"'
"""What stands in the event of an answer that is no review."""
PAGE = 500
"""Audits read at once when today's are counted."""
KNOWN = "known_answered"
"""An answer to a known round: for its reviewer a verdict as any other."""


def reasons_of(brief: Brief) -> list[tuple[str, str]]:
    """Why a pair is reported, each with its key: the team's own reasons, if it has some.

    Examples
    --------
    >>> reasons_of(Brief(reasons=["the same debts"])), len(reasons_of(Brief()))
    ([('q', 'the same debts')], 4)
    """
    own = [(key, reason) for (key, _), reason in zip(REASONS, brief.reasons, strict=False)]
    return own or list(REASONS)


@pages.get(REVIEW_PAGE)
def review(stream: str, visit: Visitor) -> Response:
    """The page itself; its script claims the first round."""
    service = visit.service
    state = service.engine.streams.get(stream).current()
    waits, reasons = state.stream.settings.waits, reasons_of(state.brief)
    return render(
        "review.html",
        visit,
        stream=stream,
        tab="review",
        brief=state.brief,
        brief_version=state.brief_version,
        parts=Brief.model_fields,
        reasons=reasons,
        actions=[*KEYS, *((f"reason {i}", key, f"reason: {reason}") for i, (key, reason) in enumerate(reasons, 1))],
        least=LEAST,
        level=state.stream.settings.level,
        sees=state.stream.settings.audits,
        grace=waits.grace,
        lease=service.configuration.lease,
        today=today(visit, stream),
        waiting=waiting(visit, stream),
    )


@pages.post(REVIEW_PAGE + "/claim")
def claim(stream: str, visit: Visitor) -> Response:
    """A round that waits, as a part of the page; 204 if there is none.

    One that was begun comes first, then one that the visitor still holds; the others in random order, so that tired
    eyes at the end of a day don't always meet the newest.
    """
    beside, engine, name = _rounds(visit, "beside"), visit.service.engine, visit.identity.name
    rounds, taken = engine.streams.get(stream).current().rounds, engine.leases.current(stream, engine.clock())
    asked = questions(visit, stream)
    held = [t for t, lease in taken.items() if lease.holder == name]
    free = some_of([t for t in asked if t not in beside and (t not in taken or asked[t].of is not None)])
    wanted = [t for t in (*_rounds(visit, "begun"), *held, *free) if t in asked and t not in beside]
    tries = (*({*rounds, *beside} - {t} for t in wanted[:TRIES]), beside)
    lease = visit.service.configuration.lease
    claims = (engine.claim(stream, name, lease, out) for out in tries)
    claimed = next((found for found in claims if found is not None), None)
    if claimed is None:
        return Response(status_code=204, headers=_waiting(visit, stream))
    settings = engine.streams.get(stream).latest.state.stream.settings
    page = render(
        "round_to_review.html", visit, stream=stream, round=round_to_review(claimed, settings), level=settings.level
    )
    page.headers.update(_waiting(visit, stream))
    return page


def some_of(rounds: Sequence[int]) -> list[int]:
    """A few of some rounds, in random order."""
    return random.SystemRandom().sample(rounds, min(TRIES, len(rounds)))


@pages.post(REVIEW_PAGE + "/renew")
def renew(stream: str, visit: Visitor) -> Response:
    """Keep a round for longer."""
    engine, t = visit.service.engine, _round(visit)
    try:
        lease = engine.renew(stream, t, visit.identity.name, visit.service.configuration.lease)
    except Conflict as refused:
        needed = t in questions(visit, stream)
        why = "has gone to another reviewer" if needed else "needs nothing more from you"
        raise Conflict(f"Round {t} {why}.") from refused
    round_ = _in_front(visit, stream, t)
    return JSONResponse({**lease, "people": 0 if round_ is None else len(round_.fresh)})


def _in_front(visit: Visit, stream: str, t: int) -> OpenRound | None:
    """The round that the visitor sees under a number; None if it is closed."""
    engine = visit.service.engine
    gold = engine.gold_round(stream, t, visit.identity.name)
    live = engine.streams.get(stream)
    state = live.current()
    if gold is None and state.dispute(t) is not None:
        return engine.reads.past(live, state, t)
    return state.rounds.get(t) if gold is None else gold


@pages.post(REVIEW_PAGE + "/why")
def why(stream: str, visit: Visitor) -> Response:
    """Why two people have their probabilities, as a part of the page."""
    t, pair = _round(visit), _pair(visit)
    explained = visit.service.engine.explain(stream, t, visit.identity.name, pair)
    settings, round_ = visit.service.engine.streams.get(stream).current().stream.settings, _in_front(visit, stream, t)
    if round_ is None:
        raise Conflict(f"Round {t} is closed.")
    ranked = sorted(round_.fresh, key=lambda i: -round_.probabilities[i])  # as the page numbers them
    numbers = [ranked.index(i) + 1 for i in ranked if round_.ids[i] in pair]
    return render("why.html", visit, stream=stream, why=explained, numbers=numbers, settings=settings)


@pages.post(REVIEW_PAGE + "/release")
def release(stream: str, visit: Visitor) -> Response:
    """Give rounds back, sent as a form: a page that is being left can send nothing else.

    Each comes with the end of its lease: once reloaded, the page may have renewed it before this arrives.
    """
    visit.service.engine.streams.get(stream)
    for lease in str(visit.sent.get("rounds", "")).split(",")[:100]:
        t, _, until = lease.partition("@")
        if t.isdecimal() and len(t) < 16:
            visit.service.engine.leases.release(stream, int(t), visit.identity.name, _time(until))
    return Response(status_code=204)


def _time(text: str) -> float:
    """Seconds of a time as the log writes it; infinite where there is none.

    Examples
    --------
    >>> _time("1970-01-01T00:01:00+00:00"), _time("")
    (60.0, inf)
    """
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return math.inf


@pages.post(REVIEW_PAGE + "/verdict")
def verdict(stream: str, visit: Visitor, request: Request) -> Response:
    """A verdict, answered with the number of its event once that is on disk."""
    sent, engine = visit.sent, visit.service.engine
    t, pair = _round(visit), _pair(visit)
    if visit.identity.role == AUDITOR:
        engine.require_claimed(stream, t, visit.identity.name)
    round_ = engine.streams.get(stream).current().rounds.get(t)
    if round_ is not None and round_.erased and not set(pair) <= set(round_.ids):
        raise Conflict("Somebody of this pair was erased while you looked at it. Reload the page to see who is left.")
    try:
        done = engine.audit(
            stream,
            t,
            str(sent.get("verdict")),
            visit.identity.name,
            pair=pair,
            reason=sent.get("reason", ""),
            note=sent.get("note", ""),
            hints=sent.get("hints"),
            seconds=sent.get("seconds"),
            key=_key(visit, request),
        )
    except Conflict as refused:
        if not _answered(visit, stream, t):
            raise
        # So the script knows that no verdict was lost.
        return JSONResponse({"detail": str(refused), "needless": True}, 409)
    return _recorded(visit, stream, done)


@pages.post(REVIEW_PAGE + "/opinion")
def opinion(stream: str, visit: Visitor, request: Request) -> Response:
    """Whether a pair that somebody else named is too different: yes, no, or nothing for a skip."""
    objects = visit.sent.get("objects")
    require(objects is None or isinstance(objects, bool), "objects", "be yes, no or nothing", type(objects).__name__)
    t, pair, engine = _round(visit), _pair(visit), visit.service.engine
    how = {"hints": visit.sent.get("hints"), "seconds": visit.sent.get("seconds")}
    done = engine.judge_pair(stream, t, pair, objects, visit.identity.name, _key(visit, request), **how)
    return _recorded(visit, stream, done)


def _answered(visit: Visit, stream: str, t: int) -> bool:
    """Whether an open round has somebody's verdict."""
    round_ = visit.service.engine.streams.get(stream).current().rounds.get(t)
    return round_ is not None and round_.verdict is not None and round_.verdict.outcome != "expired"


@pages.post(REVIEW_PAGE + "/retract")
def retract(stream: str, visit: Visitor, request: Request) -> Response:
    """Take a verdict back within the grace time; only their own."""
    t, key = _round(visit), _key(visit, request)
    return _recorded(visit, stream, visit.service.engine.retract(stream, t, visit.identity.name, key))


def _recorded(visit: Visit, stream: str, done: VerdictTaken | VerdictRetracted | OpinionTaken) -> Response:
    """What the page says of an event: its number, and whether it came too late and is proved to be in the log.

    There is no number, and nothing to prove, if the same was said before.
    """
    receipt, late = done["receipt"], done.get("disposition") == "late"
    event = None if receipt is None else receipt["seq"]
    proved = None if receipt is None else _proved(visit, stream, receipt)
    answer = {"t": done["t"], "event": event, "late": late, "proved": proved}
    return JSONResponse(answer, headers=_waiting(visit, stream))


def _proved(visit: Visit, stream: str, receipt: Receipt) -> bool:
    """Whether a receipt proves its event, and the same event leads to the log's newest checkpoint."""
    engine = visit.service.engine
    try:
        require_receipt(receipt, receipt["key"])
        newest = engine.proofs.inclusion(stream, receipt["seq"])
        # The key may have changed since a receipt that is sent again.
        require_receipt(newest, engine.signer.public_key)
    except (LikewiseError, KeyError):
        return False
    return newest["hash"] == receipt["hash"]


def _pair(visit: Visit) -> list[str]:
    pair = visit.sent.get("pair") or []
    ids = isinstance(pair, list) and all(isinstance(i, str) for i in pair)
    require(ids, "pair", "be ids of people", type(pair).__name__)
    return cast(list[str], pair)


def _rounds(visit: Visit, name: str) -> list[int]:
    """Numbers of rounds that the script sent."""
    rounds = visit.sent.get(name, [])
    require(isinstance(rounds, list) and len(rounds) <= 100, name, "be a list of rounds", type(rounds).__name__)
    return [t for t in rounds if isinstance(t, int)]


def _round(visit: Visit) -> int:
    t = visit.sent.get("t")
    whole = isinstance(t, int) and not isinstance(t, bool) and 1 <= t < 2**53
    require(whole, "t", "be the number of a round", str(t)[:20])
    return cast(int, t)


def _key(visit: Visit, request: Request) -> Idempotency:
    """The key under which the script sends this until it is answered."""
    key = request.headers.get("idempotency-key", "")
    if not 16 <= len(key) <= 200:
        raise HTTPException(400, "A verdict needs an Idempotency-Key.")
    asked = f"{request.url.path}\n{json.dumps(visit.sent, sort_keys=True)}"
    return Idempotency(f"page {visit.identity.name}", key, visit.service.engine.signer.request_hash(asked.encode()))


def _waiting(visit: Visit, stream: str) -> dict[str, str]:
    """Rounds that wait, and after which event: answers overtake each other on their way to the page."""
    live = visit.service.engine.streams.get(stream)
    live.current()
    state, seq = live.durable[:2]
    return {"X-Waiting": f"{len(_questions(state, visit.identity.name))} {seq}"}


def waiting(visit: Visit, stream: str) -> int:
    """Rounds that wait for this reviewer, or for anybody."""
    return len(questions(visit, stream))


def questions(visit: Visit, stream: str) -> dict[int, Question]:
    """What this reviewer may be asked, by round: not what only a colleague can answer."""
    return _questions(visit.service.engine.streams.get(stream).current(), visit.identity.name)


def _questions(state: State, name: str) -> dict[int, Question]:
    asked = {t: round_.asks(name) for t, round_ in state.rounds.items()}
    return {t: question for t, question in asked.items() if question is not None}


def today(visit: Visit, stream: str) -> int:
    """Verdicts that somebody gave today (UTC) and did not take back."""
    start = datetime.now(UTC).strftime("%Y-%m-%d")
    by = f'"by":{dumps(visit.identity.name)}'
    given = _since(visit, stream, "audited", by, start) + _since(visit, stream, KNOWN, by, start)
    return (
        given
        - _since(visit, stream, "audit_retracted", by, start)
        - _since(visit, stream, "known_retracted", by, start)
    )


def _since(visit: Visit, stream: str, kind: str, by: str, start: str) -> int:
    """Events of a kind by somebody since a time, read backwards from the newest."""
    log, count, before = events.c, 0, 2**62
    while True:
        newest = select(log.seq, log.at, log.data).where(log.stream == stream, log.kind == kind, log.seq < before)
        with visit.service.store.read() as connection:
            rows = connection.execute(newest.order_by(log.seq.desc()).limit(PAGE)).all()
        # The log is canonical JSON: a name stands there in one way only.
        count += sum(by in row.data and PRACTICE not in row.data for row in rows if row.at >= start)
        if len(rows) < PAGE or rows[-1].at < start:
            return count
        before = rows[-1].seq
