"""The routes of version 1. Each says who is asking, hands over to the engine, and returns its answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from likewise.errors import require
from likewise.service.accounts.access import ADMIN, AUDITOR, PERSON, ROUND, STREAM
from likewise.service.api import models
from likewise.service.api.creation import settings_of
from likewise.service.api.problems import DOCUMENTED, problem
from likewise.service.api.reading import KEYED, Call, StrictRoute
from likewise.service.canonical import dumps
from likewise.service.engine import Engine
from likewise.service.stream.settings import plain_text

# Answers are made here: the models document them, tests compare the two, and nobody waits for a second check.
router = APIRouter(route_class=StrictRoute, responses=DOCUMENTED, default_response_class=JSONResponse)


Stream = Annotated[str, Path(description="The name of a stream.")]
Number = Annotated[int, Path(description="The number of a round.", ge=1, le=2**53)]
Limit = Annotated[int, Query(ge=1, le=2**53, description="How many at most; the service has a limit of its own.")]
Person = Annotated[str, Path(description="The id of a person.", min_length=1, max_length=200)]


@router.post("/v1/streams", status_code=201, response_model=models.StreamCreated, openapi_extra=KEYED, tags=["streams"])
def create_stream(body: models.StreamBody, call: Call) -> Response:
    """Create a stream: what people look like, what may be learned, and how long anybody waits."""
    settings = settings_of(body, call.service.configuration)
    return JSONResponse(call.service.engine.create(settings, call.by, call.key), 201)


def _page(limit: int, call: Call) -> None:
    most = call.service.configuration.max_page
    require(limit <= most, "limit", f"be at most {most}", limit)


@router.get("/v1/streams", response_model=models.StreamPage, tags=["streams"])
def list_streams(
    call: Call,
    after: Annotated[str, Query(max_length=63)] = "",
    limit: Limit = 100,
) -> Response:
    """The streams that this token is for, by name."""
    _page(limit, call)
    mine = [name for name in call.service.engine.streams.names() if name > after and call.identity.reaches(name)]
    page = mine[:limit]
    return JSONResponse({"streams": page, "next": page[-1] if len(mine) > limit else None})


@router.get(STREAM, response_model=models.StreamStanding | models.StreamView, tags=["streams"])
def get_stream(stream: Stream, call: Call) -> Response:
    """Settings, counts of rounds, how many are outstanding, the delay, and what can be said of the regret."""
    found = call.service.engine.stream(stream)
    if call.identity.role == AUDITOR:
        found = {name: found[name] for name in models.StreamView.model_fields}
    return JSONResponse(found)


@router.patch(STREAM, response_model=models.WaitsChanged, openapi_extra=KEYED, tags=["streams"])
def change_stream(stream: Stream, body: models.StreamChange, call: Call) -> Response:
    """Change how long rounds wait, from now on; recorded as an event."""
    return JSONResponse(
        call.service.engine.change_waits(stream, body.waits.model_dump(exclude_unset=True), call.by, call.key)
    )


@router.post(STREAM + "/stop", response_model=models.Stopped, openapi_extra=KEYED, tags=["streams"])
def stop(stream: Stream, body: models.StopBody, call: Call) -> Response:
    """No decisions from now on: they get 503 with the reason, until the stream is resumed."""
    return JSONResponse(call.service.engine.stop(stream, body.reason, call.by, call.key))


@router.post(STREAM + "/resume", response_model=models.Stopped, openapi_extra=KEYED, tags=["streams"])
def resume(stream: Stream, call: Call) -> Response:
    """Decide again."""
    return JSONResponse(call.service.engine.resume(stream, call.by, call.key))


@router.post(
    STREAM + "/rounds", status_code=201, response_model=models.RoundOpened, openapi_extra=KEYED, tags=["decisions"]
)
async def open_round(stream: Stream, body: models.RoundBody, call: Call) -> Response:
    """Decide about a batch of people."""
    most = call.service.configuration.max_batch
    require(len(body.people) <= most, "people", f"be at most {most}", len(body.people))
    people = [{"id": person.id, "features": person.features} for person in body.people]
    return JSONResponse(await call.service.engine.decide_soon(stream, people, call.by, call.key), 201)


@router.put(ROUND + "/labels", response_model=models.LabelsTaken, openapi_extra=KEYED, tags=["decisions"])
def put_labels(stream: Stream, t: Number, body: models.LabelsBody, call: Call) -> Response:
    """Say how it turned out. A different value for a label that is known is refused with 409."""
    return JSONResponse(call.service.engine.label(stream, t, body.labels, call.by, call.key))


@router.post(
    STREAM + "/audits/claim",
    response_model=models.Claimed,
    responses={204: {"description": "No round waits for an audit."}},
    tags=["audits"],
)
def claim(stream: Stream, call: Call) -> Response:
    """The oldest round that waits for an audit, for this auditor alone until the lease ends."""
    found = call.service.engine.claim(stream, call.by, call.service.configuration.lease)
    return Response(status_code=204) if found is None else JSONResponse(found)


@router.post(ROUND + "/audit/renew", response_model=models.Lease, tags=["audits"])
def renew(stream: Stream, t: Number, call: Call) -> Response:
    """Keep a claimed round for longer."""
    return JSONResponse(call.service.engine.renew(stream, t, call.by, call.service.configuration.lease))


@router.post(ROUND + "/audit/release", status_code=204, tags=["audits"])
def release(stream: Stream, t: Number, call: Call) -> Response:
    """Give a claimed round back."""
    call.service.engine.streams.get(stream)
    call.service.engine.leases.release(stream, t, call.by)
    return Response(status_code=204)


@router.put(ROUND + "/audit", response_model=models.VerdictTaken, openapi_extra=KEYED, tags=["audits"])
def put_audit(stream: Stream, t: Number, body: models.VerdictBody, call: Call) -> Response:
    """A verdict: a pair, none, or skip. A pair that can't be a violation is refused with 422 and the reason."""
    found = call.service.engine.audit(
        stream, t, body.verdict, call.by, pair=body.pair, reason=body.reason, note=body.note, key=call.key
    )
    return JSONResponse(found)


@router.post(ROUND + "/audit/retract", response_model=models.RoundChanged, openapi_extra=KEYED, tags=["audits"])
def retract(stream: Stream, t: Number, call: Call) -> Response:
    """Take one's verdict back within its grace time; the learner never hears of it. Admins may take back any."""
    anybodys = call.identity.role == ADMIN
    return JSONResponse(call.service.engine.retract(stream, t, call.by, call.key, anybodys=anybodys))


@router.post(ROUND + "/audit/correct", response_model=models.Corrected, openapi_extra=KEYED, tags=["audits"])
def correct(stream: Stream, t: Number, body: models.VerdictBody, call: Call) -> Response:
    """Say of a closed round what its audit should have been: an event of its own, never silently unlearned."""
    found = call.service.engine.correct(
        stream, t, body.verdict, call.by, pair=body.pair, reason=body.reason, note=body.note, key=call.key
    )
    return JSONResponse(found)


@router.get(ROUND, response_model=models.RoundView, tags=["reading"])
def get_round(stream: Stream, t: Number, call: Call) -> Response:
    """Everything that is known of a round."""
    return JSONResponse(call.service.engine.round(stream, t))


@router.get(STREAM + "/events", response_model=models.EventPage, tags=["reading"])
def get_events(
    stream: Stream,
    call: Call,
    after: Annotated[int, Query(ge=0, le=2**53, description="The number of the last event already read.")] = 0,
    limit: Limit = 100,
) -> Response:
    """The log, in order."""
    _page(limit, call)
    found = call.service.engine.events(stream, after, limit)
    return JSONResponse({"events": found, "next": found[-1]["seq"] if len(found) == limit else None})


@router.get(STREAM + "/certificate", response_model=models.CertificateView, tags=["reading"])
async def get_certificate(stream: Stream, call: Call, delta: Annotated[float, Query(gt=0, lt=1)] = 0.05) -> Response:
    """What is proved of the stream's rounds, with every assumption, and its letter."""
    apart = call.service.apart
    # A long log takes minutes: whoever waits for one must not take the threads of others.
    limiter = call.service.patient if await to_thread.run_sync(apart.long, stream) else None
    work = partial(apart.run, Engine.certificate, stream, delta=delta)
    return JSONResponse(await to_thread.run_sync(work, limiter=limiter))


@router.get(
    STREAM + "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/jsonl": {}}, "description": "One JSON object per line."}},
    tags=["reading"],
)
def get_export(
    stream: Stream, call: Call,
    people: Annotated[bool, Query(description="With people's features, so that the learner can be run again.")] = True,
) -> StreamingResponse:  # fmt: skip
    """The whole log with signed checkpoints, for `likewise verify`."""
    lines = call.service.engine.export(stream, people=people)
    name = f'attachment; filename="{stream}.jsonl"'
    return StreamingResponse(_written(lines), media_type="application/jsonl", headers={"Content-Disposition": name})


def _written(lines: Iterator[dict[str, Any]]) -> Iterator[str]:
    for line in lines:
        yield dumps(line) + "\n"  # canonical: the checker compares bytes


@router.get(PERSON, response_model=models.PersonRecord, tags=["people"])
def get_person(stream: Stream, person: Person, call: Call) -> Response:
    """One person's decision record."""
    return JSONResponse(call.service.engine.person(stream, plain_text(person, "person")))


@router.delete(PERSON, response_model=models.Erased, openapi_extra=KEYED, tags=["people"])
def erase(stream: Stream, person: Person, call: Call) -> Response:
    """Erase a person: features, id and remarks go for ever, and the log still verifies."""
    return JSONResponse(call.service.engine.erase(stream, plain_text(person, "person"), call.by, call.key))


health = APIRouter()


@health.get("/livez", response_model=models.Status, tags=["health"])
async def livez() -> Response:
    """Whether the process answers."""
    return JSONResponse({"status": "alive"})


@health.get("/readyz", response_model=models.Status, tags=["health"], responses={503: DOCUMENTED[503]})
async def readyz(request: Request) -> Response:
    """Whether every log was read up to its head; 503 until then."""
    if not request.app.state.service.engine.ready:
        return problem(request.scope, 503, "The logs are being read.", headers={"Retry-After": "1"})
    return JSONResponse({"status": "ready"})


@health.get("/metrics", tags=["health"], response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Counts and times for Prometheus."""
    return Response(request.app.state.service.measurements(), media_type="text/plain; version=0.0.4")
