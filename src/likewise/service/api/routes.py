"""The routes of version 1. Each says who is asking, hands over to the engine, and returns its answer."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from likewise.errors import require
from likewise.service.accounts.access import NOTICE, PERSON, RECEIPT, ROUND, STREAM
from likewise.service.accounts.tokens import ADMIN, AUDITOR
from likewise.service.api import bodies
from likewise.service.api.problems import DOCUMENTED, problem
from likewise.service.api.requests import KEYED, Call, StrictRoute
from likewise.service.canonical import Answer, spelt
from likewise.service.engine import Engine
from likewise.service.log.export import in_blocks
from likewise.service.notices import notice
from likewise.service.projections.reviewers import reviewers
from likewise.service.running import Service
from likewise.service.stream import answers
from likewise.service.stream.brief import Brief
from likewise.service.stream.declared import plain_text
from likewise.service.stream.sample import with_scores

SEEN_BY_AUDITORS = frozenset(answers.StreamSummary.__annotations__)
# The engine's answers are sent as they are: mypy has checked them, and nobody waits for a second check.
router, often = (
    APIRouter(route_class=StrictRoute, responses=DOCUMENTED, default_response_class=JSONResponse) for _ in range(2)
)

Stream = Annotated[str, Path(description="The name of a stream.")]
Number = Annotated[int, Path(description="The number of a round.", ge=1, le=2**53)]
Limit = Annotated[
    int, Query(ge=1, le=2**53, description="How many at most. The service has its own limit, `max_page`.")
]
Person = Annotated[str, Path(description="The id of a person.", min_length=1, max_length=200)]


@router.post(
    "/v1/streams", status_code=201, response_model=answers.StreamCreated, openapi_extra=KEYED, tags=["streams"]
)
async def create_stream(body: bodies.StreamBody, call: Call) -> Response:
    """Create a stream with its settings. A sample of people gives the cuts or, with a label, the whole class."""
    if body.label is None:
        return JSONResponse(await to_thread.run_sync(_create, body, call), 201)
    # Fitting takes seconds: whoever waits for it must not take the threads of others.
    return JSONResponse(await to_thread.run_sync(_create_fitted, body, call, limiter=call.service.long_requests), 201)


def _create(body: bodies.StreamBody, call: Call) -> answers.StreamCreated:
    return call.service.engine.create(body.settings(call.service.configuration), call.by, call.key)


def _create_fitted(body: bodies.StreamBody, call: Call) -> answers.StreamCreated:
    """Fit the class in a process of its own, unless the stream is there already."""
    engine, limits = call.service.engine, call.service.configuration
    choices, label = body.to_fit(limits)
    before = engine.created(choices.name, call.key)
    if before is not None:
        return before
    scores = call.service.subprocesses.fit(choices.features, body.sample, label)
    size = sum(len(score["cuts"]) for score in scores["scores"])
    require(size <= limits.max_size, "sample", f"give at most {limits.max_size} cuts", size)
    return engine.create(with_scores(choices, scores), call.by, call.key, scores)


def _page(limit: int, call: Call) -> None:
    most = call.service.configuration.max_page
    require(limit <= most, "limit", f"be at most {most}", limit)


@router.get("/v1/streams", response_model=answers.StreamPage, tags=["streams"])
def list_streams(
    call: Call,
    after: Annotated[str, Query(max_length=63)] = "",
    limit: Limit = 100,
) -> Response:
    """List the streams that the token is for, by name."""
    _page(limit, call)
    names = [name for name in call.service.engine.streams.names() if name > after and call.identity.reaches(name)]
    page: answers.StreamPage = {"streams": names[:limit], "next": names[limit - 1] if len(names) > limit else None}
    return JSONResponse(page)


@router.get(STREAM, response_model=answers.StreamStatus | answers.StreamSummary, tags=["streams"])
def get_stream(stream: Stream, call: Call) -> Response:
    """Read a stream's settings, its counts, its delay, and what can be said about its regret."""
    status = call.service.engine.stream(stream)
    if call.identity.role == AUDITOR:
        return JSONResponse({name: value for name, value in status.items() if name in SEEN_BY_AUDITORS})
    return JSONResponse(status)


@router.patch(STREAM, response_model=answers.WaitsChanged, openapi_extra=KEYED, tags=["streams"])
def change_stream(stream: Stream, body: bodies.StreamChange, call: Call) -> Response:
    """Change how long rounds wait, from now on. An event records the change."""
    return JSONResponse(
        call.service.engine.change_waits(stream, body.waits.model_dump(exclude_unset=True), call.by, call.key)
    )


@router.patch(STREAM + "/plan", response_model=answers.PlanChanged, openapi_extra=KEYED, tags=["streams"])
def change_plan(stream: Stream, body: bodies.PlanChange, call: Call) -> Response:
    """Change which rounds are reviewed, from the next one on. An event records the change."""
    changes = body.review.model_dump(exclude_unset=True)
    return JSONResponse(call.service.engine.change_plan(stream, changes, call.by, call.key))


@router.get(STREAM + "/brief", response_model=answers.BriefTold, tags=["streams"])
def get_brief(stream: Stream, call: Call) -> Response:
    """Read what reviewers are told before they judge."""
    return JSONResponse(call.service.engine.brief(stream))


@router.put(STREAM + "/brief", response_model=answers.BriefChanged, openapi_extra=KEYED, tags=["streams"])
def put_brief(stream: Stream, body: Brief, call: Call) -> Response:
    """Replace what reviewers are told. An event records it for good, so it must name nobody."""
    brief = body.model_dump(mode="json")
    return JSONResponse(call.service.engine.change_brief(stream, brief, call.by, call.key))


@router.get(STREAM + "/reviewers", response_model=answers.Reviewers, tags=["reading"])
def get_reviewers(stream: Stream, call: Call, delta: Annotated[float, Query(gt=0, lt=1)] = 0.05) -> Response:
    """Read how good reviewers are: how they agree, what they find, with intervals. Nobody is ranked."""
    return JSONResponse(call.service.tokens.staff.named(reviewers(call.service.engine, stream, delta)))


@router.put(ROUND + "/known", response_model=answers.KnownMarked, openapi_extra=KEYED, tags=["audits"])
def put_known(stream: Stream, t: Number, body: bodies.KnownBody, call: Call) -> Response:
    """Mark a closed round, on whose answer two people agreed, as gold or practice; null if it isn't used any more."""
    return JSONResponse(call.service.engine.mark_known(stream, t, body.use, call.by, call.key))


@router.get(
    STREAM + "/practice",
    response_model=answers.PracticeRound,
    responses={204: {"description": "No practice round is left."}},
    tags=["audits"],
)
def get_practice(stream: Stream, call: Call) -> Response:
    """Read the next round to practise with. What is said of it is never learned and never counted."""
    shown = call.service.engine.practice(stream, call.by)
    return Response(status_code=204) if shown is None else JSONResponse(shown)


@router.put(ROUND + "/practice", response_model=answers.Practised, openapi_extra=KEYED, tags=["audits"])
def put_practice(stream: Stream, t: Number, body: bodies.PracticeBody, call: Call) -> Response:
    """Answer a practice round, and read what the known answer is."""
    return JSONResponse(call.service.engine.practise(stream, t, body.verdict, call.by, body.pair, call.key))


@router.get(STREAM + "/plan", response_model=answers.PlanProspect, tags=["streams"])
def get_plan(
    stream: Stream,
    call: Call,
    rounds_a_day: Annotated[
        float | None, Query(gt=0, le=1e9, description="Rounds that arithmetic does not clear; as of late without this.")
    ] = None,
    days: Annotated[float, Query(gt=0, le=1e4)] = 30,
    delta: Annotated[float, Query(gt=0, lt=1)] = 0.05,
) -> Response:
    """Read what the review plan buys, in advance: what can be claimed at the end, if so much is found."""
    return JSONResponse(call.service.engine.plan(stream, rounds_a_day, days, delta))


@router.post(STREAM + "/stop", response_model=answers.StreamStopped, openapi_extra=KEYED, tags=["streams"])
def stop(stream: Stream, body: bodies.StopBody, call: Call) -> Response:
    """Stop all decisions at once. Until the stream is resumed, requests for decisions get 503 and the reason."""
    return JSONResponse(call.service.engine.stop(stream, body.reason, call.by, call.key))


@router.post(STREAM + "/resume", response_model=answers.StreamStopped, openapi_extra=KEYED, tags=["streams"])
def resume(stream: Stream, call: Call) -> Response:
    """Allow decisions again."""
    return JSONResponse(call.service.engine.resume(stream, call.by, call.key))


@often.post(
    STREAM + "/rounds", status_code=201, response_model=answers.RoundOpened, openapi_extra=KEYED, tags=["decisions"]
)
async def open_round(stream: Stream, body: bodies.RoundBody, call: Call) -> Response:
    """Decide about a batch of people: this opens a round."""
    most = call.service.configuration.max_batch
    require(len(body.people) <= most, "people", f"be at most {most}", len(body.people))
    people = [{"id": person.id, "features": person.features} for person in body.people]
    opened = await call.service.engine.decide_soon(stream, people, call.by, call.key)
    text = opened.text if isinstance(opened, Answer) else spelt(opened)
    return Response(text, 201, media_type=JSONResponse.media_type)


router.routes[:0] = often.routes  # in front: a request is held against one route after the other


@router.put(ROUND + "/labels", response_model=answers.LabelsTaken, openapi_extra=KEYED, tags=["decisions"])
def put_labels(stream: Stream, t: Number, body: bodies.LabelsBody, call: Call) -> Response:
    """Send labels: how it turned out. Another value for a known label is refused with 409."""
    return JSONResponse(call.service.engine.label(stream, t, body.labels, call.by, call.key))


@router.post(
    STREAM + "/audits/claim",
    response_model=answers.RoundClaimed,
    responses={204: {"description": "No round waits for an audit."}},
    tags=["audits"],
)
def claim(stream: Stream, call: Call) -> Response:
    """Claim the oldest round that waits for an audit. Until the lease ends, nobody else gets it."""
    claimed = call.service.engine.claim(stream, call.by, call.service.configuration.lease)
    return Response(status_code=204) if claimed is None else JSONResponse(claimed)


@router.post(ROUND + "/audit/renew", response_model=answers.Lease, tags=["audits"])
def renew(stream: Stream, t: Number, call: Call) -> Response:
    """Keep a claimed round for longer."""
    return JSONResponse(call.service.engine.renew(stream, t, call.by, call.service.configuration.lease))


@router.post(ROUND + "/audit/release", status_code=204, tags=["audits"])
def release(stream: Stream, t: Number, call: Call) -> Response:
    """Give a claimed round back."""
    call.service.engine.streams.get(stream)
    call.service.engine.leases.release(stream, t, call.by)
    return Response(status_code=204)


@router.put(ROUND + "/audit", response_model=answers.VerdictTaken, openapi_extra=KEYED, tags=["audits"])
def put_audit(stream: Stream, t: Number, body: bodies.AuditBody, call: Call) -> Response:
    """Give a verdict: pair, none or skip; a late one is recorded too. Too small a gap is refused with 422."""
    if call.identity.role == AUDITOR:
        call.service.engine.require_claimed(stream, t, call.by)
    given = body.model_dump(exclude={"verdict"})
    answer = call.service.engine.audit(stream, t, body.verdict, call.by, **given, key=call.key)
    return JSONResponse(answer)


@router.put(ROUND + "/opinion", response_model=answers.OpinionTaken, openapi_extra=KEYED, tags=["audits"])
def put_opinion(stream: Stream, t: Number, body: bodies.OpinionBody, call: Call) -> Response:
    """Answer whether a pair that somebody else named is too different, if you are asked about it."""
    answer = call.service.engine.judge_pair(
        stream, t, body.pair, body.objects, call.by, call.key, hints=body.hints, seconds=body.seconds
    )
    return JSONResponse(answer)


@router.post(ROUND + "/audit/retract", response_model=answers.VerdictRetracted, openapi_extra=KEYED, tags=["audits"])
def retract(stream: Stream, t: Number, call: Call) -> Response:
    """Retract your verdict within the grace time. The learner never hears of it. Admins may retract any verdict."""
    anybodys = call.identity.role == ADMIN
    return JSONResponse(call.service.engine.retract(stream, t, call.by, call.key, anybodys=anybodys))


@router.post(ROUND + "/audit/correct", response_model=answers.VerdictCorrected, openapi_extra=KEYED, tags=["audits"])
def correct(stream: Stream, t: Number, body: bodies.VerdictBody, call: Call) -> Response:
    """Correct the verdict of a closed round. The correction is recorded as an event; nothing is unlearned."""
    if call.identity.role == AUDITOR:
        call.service.engine.require_claimed(stream, t, call.by)
    answer = call.service.engine.correct(
        stream, t, body.verdict, call.by, pair=body.pair, reason=body.reason, note=body.note, key=call.key
    )
    return JSONResponse(answer)


@router.get(ROUND, response_model=answers.RoundRecord, tags=["reading"])
def get_round(stream: Stream, t: Number, call: Call) -> Response:
    """Read everything that is known about a round."""
    return JSONResponse(call.service.tokens.staff.named(call.service.engine.round(stream, t)))


@router.get(STREAM + "/events", response_model=answers.EventPage, tags=["reading"])
def get_events(
    stream: Stream,
    call: Call,
    after: Annotated[int, Query(ge=0, le=2**53, description="The number of the last event already read.")] = 0,
    limit: Limit = 100,
) -> Response:
    """Read the log, in order."""
    _page(limit, call)
    events = call.service.engine.events(stream, after, limit)
    page: answers.EventPage = {"events": events, "next": events[-1]["seq"] if len(events) == limit else None}
    return JSONResponse(page)


@router.get(STREAM + "/checkpoint", response_model=answers.LogCheckpoint, tags=["log"])
def get_checkpoint(stream: Stream, call: Call) -> Response:
    """Read where the log stands: a signed checkpoint of its Merkle tree, and every change of the key that signs."""
    return JSONResponse(call.service.engine.proofs.checkpoint(stream))


@router.get(STREAM + "/consistency", response_model=answers.Consistency, tags=["log"])
def get_consistency(
    stream: Stream,
    call: Call,
    old: Annotated[int, Query(ge=0, le=2**53, description="How many events there were.")] = 0,
    new: Annotated[int | None, Query(ge=0, le=2**53, description="How many there were later; now by default.")] = None,
) -> Response:
    """Read the proof that the log only grew since it had `old` events."""
    return JSONResponse(call.service.engine.proofs.consistency(stream, old, new))


@router.get(STREAM + "/events/{seq}/proof", response_model=answers.Receipt, tags=["log"])
def get_proof(
    stream: Stream, seq: Annotated[int, Path(description="The number of an event.", ge=1, le=2**53)], call: Call
) -> Response:
    """Read the proof that an event is in the log: its hash, and how that leads to a signed checkpoint."""
    return JSONResponse(call.service.engine.proofs.inclusion(stream, seq))


@router.get(STREAM + "/certificate", response_model=answers.StreamCertificate, tags=["reading"])
async def get_certificate(stream: Stream, call: Call, delta: Annotated[float, Query(gt=0, lt=1)] = 0.05) -> Response:
    """Read what is proved about the stream's rounds, with every assumption, in numbers and as a letter."""
    shared, key = call.service.shared_work, (stream, delta)
    # One is made here in a moment. A crowd would keep this process from deciding, so the next ones are made elsewhere.
    work = partial(_certificate, call.service, stream, delta, crowd=shared.running(key))
    return Response(await shared.result(key, work), media_type=JSONResponse.media_type)


async def _certificate(service: Service, stream: str, delta: float, *, crowd: bool) -> bytes:
    """A certificate as it is sent: made and spelt once for everybody who waits, and never on the event loop."""
    subprocesses = service.subprocesses
    apart = crowd or await to_thread.run_sync(subprocesses.is_long, stream)
    # A long log takes minutes: whoever waits for one must not take the threads of others.
    limiter = service.long_requests if apart else None
    work = partial(subprocesses.run, Engine.certificate, stream, apart=apart, delta=delta)
    return await to_thread.run_sync(lambda: spelt(work()).encode(), limiter=limiter)


@router.get(
    STREAM + "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/jsonl": {}}, "description": "One JSON object per line."}},
    tags=["reading"],
)
def get_export(
    stream: Stream,
    call: Call,
    people: Annotated[
        bool, Query(description="Include people's features; without them the learner can't be run again.")
    ] = True,
) -> StreamingResponse:
    """Download the whole log with signed checkpoints, for `likewise verify`."""
    lines = call.service.engine.export_text(stream, people=people)
    name = f'attachment; filename="{stream}.jsonl"'
    return StreamingResponse(in_blocks(lines), media_type="application/jsonl", headers={"Content-Disposition": name})


@router.get(PERSON, response_model=answers.PersonRecord, tags=["people"])
def get_person(stream: Stream, person: Person, call: Call) -> Response:
    """Read all decisions about one person."""
    return JSONResponse(call.service.engine.person(stream, plain_text(person, "person")))


@router.delete(PERSON, response_model=answers.PersonErased, openapi_extra=KEYED, tags=["people"])
def erase(stream: Stream, person: Person, call: Call) -> Response:
    """Erase a person: features, id and remarks are deleted for ever. The log can still be verified."""
    return JSONResponse(call.service.engine.erase(stream, plain_text(person, "person"), call.by, call.key))


@router.delete(STREAM + "/reasons", response_model=answers.ReasonsErased, openapi_extra=KEYED, tags=["streams"])
def erase_reasons(stream: Stream, call: Call) -> Response:
    """Erase the reasons of all stops so far. That there were stops stays in the log, which can still be verified."""
    return JSONResponse(call.service.engine.erase_reasons(stream, call.by, call.key))


@router.get(NOTICE, response_model=answers.PersonNotice, tags=["people"])
async def get_notice(
    stream: Stream,
    person: Person,
    call: Call,
    t: Annotated[int | None, Query(ge=1, le=2**53, description="A round; the newest one by default.")] = None,
) -> Response:
    """Read what a person may be told: reasons, the lottery, what would have changed it, whom to ask."""
    subprocesses = call.service.subprocesses
    # The policy of long ago is found by reading the log again: whoever waits must not take the threads of others.
    limiter = call.service.long_requests if await to_thread.run_sync(subprocesses.is_long, stream) else None
    whom, contact = plain_text(person, "person"), call.service.configuration.contact
    work = partial(notice, call.service.engine, stream, whom, t, contact, subprocesses.run)
    return JSONResponse((await to_thread.run_sync(work, limiter=limiter)).to_dict())


@router.get(RECEIPT, response_model=answers.PersonReceipt, tags=["people"])
def get_receipt(
    stream: Stream,
    person: Person,
    call: Call,
    t: Annotated[int | None, Query(ge=1, le=2**53, description="A round; the first one by default.")] = None,
) -> Response:
    """Read the proof of one person's decision, for the person: it shows nobody else, and anybody can check it."""
    return JSONResponse(call.service.engine.proofs.person(stream, plain_text(person, "person"), t))


health = APIRouter()


@health.get("/livez", response_model=answers.Health, tags=["health"])
async def livez() -> Response:
    """Whether the process answers."""
    return JSONResponse({"status": "alive"})


@health.get("/readyz", response_model=answers.Health, tags=["health"], responses={503: DOCUMENTED[503]})
async def readyz(request: Request) -> Response:
    """Whether every log has been read to its end, and the database takes a write; 503 if not."""
    why = await request.app.state.service.readiness.problem()
    if why:
        return problem(request.scope, 503, why, headers={"Retry-After": "1"})
    return JSONResponse({"status": "ready"})


@health.get("/metrics", tags=["health"], response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Counts and times for Prometheus."""
    return Response(request.app.state.service.measurements(), media_type="text/plain; version=0.0.4")
