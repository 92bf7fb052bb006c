"""A stream at a glance, its certificate, and its rounds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, cast

from fastapi import Query, Request
from starlette.responses import Response

from likewise.certificates.letter import compared
from likewise.errors import require
from likewise.service.accounts.access import STREAM_PAGE
from likewise.service.jobs.kinds import begin
from likewise.service.jobs.runner import Job
from likewise.service.log import tables
from likewise.service.pages import questions
from likewise.service.pages.figures import figures
from likewise.service.pages.filters import Filters
from likewise.service.pages.rendering import render, router
from likewise.service.pages.visits import Visit, Visitor
from likewise.service.projections import history, summaries
from likewise.service.projections.alarms import alarms
from likewise.service.projections.bins import Bin
from likewise.service.projections.follower import Follower
from likewise.service.projections.gathering import gathering
from likewise.service.stream.answers import Regret
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import State
from likewise.service.stream.status import status
from likewise.wording import plural

pages = router()
PATIENCE = 0.2
"""Seconds that a page spends on bringing its pictures up to the log."""
TIMES = 10
"""A certificate is computed again only after so many times what the last one took."""
LISTED = 50
"""Rounds on a page of them."""


@pages.get(STREAM_PAGE)
def overview(stream: str, visit: Visitor, request: Request) -> Response:
    """Counts, a certificate in words, and the pictures."""
    return _follower(request).checked(stream, lambda: _overview(stream, visit, request))


def _overview(stream: str, visit: Visit, request: Request) -> Response:
    engine = visit.service.engine
    behind = _follower(request).follow(stream, PATIENCE)
    past = _past(visit, request, stream) if not behind else None
    state = engine.streams.get(stream).current()
    settings = state.stream.settings
    bins = summaries.bins(engine.store, stream)
    return render(
        "overview.html",
        visit,
        stream=stream,
        behind=behind,
        past=past,
        events=engine.store.head(stream)[0],
        now=engine.clock(),
        tab="overview",
        counts=status(state),
        alarms=alarms(state, bins, engine.clock()),
        settings=settings,
        violations=sum(bin.violations for bin in bins),
        recent=summaries.recent_violations(engine.store, stream, settings.alpha),
        reviewed=sum(bin.reviewed for bin in bins),
        questions=_questions(visit, request, stream, bins),
        words=in_words(state, bins),
        pictures={figure.name: figure for figure in figures(engine.store, stream, state, bins)},
    )


def _questions(visit: Visit, request: Request, stream: str, bins: Sequence[Bin]) -> dict[str, Any]:
    """What a lead asks, answered."""
    store, state = visit.service.store, visit.service.engine.streams.get(stream).current()
    settings = state.stream.settings
    cost, found = questions.cost(state, bins), gathering(visit.service.engine.reads, store, stream, settings)
    return {
        "fair": questions.fair(bins, cast(dict[str, Any], status(state))),
        "helped": questions.helped(_follower(request).standing(stream), settings.alpha),
        "cost": cost,
        "cost_words": questions.cost_in_words(cost, settings),
        "looked": questions.looked(visit.service.engine.reads, stream),
        "gathering": found,
        "gathers": questions.gathers(found),
    }


def in_words(state: State, bins: Sequence[Bin]) -> list[str]:
    """What can be said of a stream at any moment, without reading its log again."""
    totals, regret = state.totals, status(state)["regret"]
    if not totals.learned:
        return [regret["sentence"]]
    seen, reports = sum(bin.reviewed for bin in bins), sum(bin.reports for bin in bins)
    needless = " or held nothing to report" if state.stream.settings.keeps_record else ""
    looked = f"{seen:,} of {plural(state.opened, 'round')}"
    sentences = [
        f"A reviewer looked at {looked} and reported a pair in {reports:,}. A round that nobody looked at may hold "
        "violations."
        if not needless
        else f"{looked} were reviewed{needless}, and a pair was reported in {reports:,}. Any other round may hold "
        "violations.",
        *_regret_in_words(regret, state.stream.settings),
        regret["sentence"],
        *_lots_in_words(state),
    ]
    if totals.missing and state.stream.settings.labels == "all":
        sentences.append(f"{plural(totals.missing, 'label')} never came; errors there are not counted.")
    if totals.corrected:
        sentences.append(f"Verdicts corrected later: {totals.corrected:,}. Nothing was unlearned.")
    return sentences


def _lots_in_words(state: State) -> list[str]:
    """What is known only of accepted people, or only by decisions."""
    totals, settings = state.totals, state.stream.settings
    sentences = []
    if settings.labels == "accepted":
        refused = f"{totals.refused:,} of {plural(totals.people, 'person', 'people')}"
        sentences.append(
            f"{refused} were refused, and nobody learns how it would have turned out for them. So errors are estimated "
            "from the people who were accepted."
        )
    if settings.labels == "accepted" and totals.missing:
        counted = "good" if settings.safe else "the average person seen before"
        sentences.append(f"Accepted, outcome unknown: {totals.missing:,}. The learner counts them as {counted}.")
    if totals.booked:
        sentences.append(f"Labels of accepted people that came late, and that the learner heard of: {totals.booked:,}.")
    if totals.returned:
        sentences.append(f"People who came again and got their first answer: {totals.returned:,}. They don't count.")
    if settings.audits == "decisions":
        sentences.append(
            "Reviewers see only who got a yes and who a no, so a violation can be reported only if the lot brings it "
            f"to light. Reports accepted: {totals.reported:,}. An estimate of all rounds with a violation, seen or "
            f"not, is {totals.unseen:,.0f}; on average it is not too low, if reviewers name such a pair whenever they "
            "see one."
        )
    return sentences


def _regret_in_words(regret: Regret, settings: Settings) -> list[str]:
    """Errors and penalised reports beside those of the best hypothesis; of a learner that keeps reports, errors."""
    observed, proved, estimated = regret["observed"], regret["proved"], settings.labels == "accepted"
    if observed is None:
        counted = "Here errors are estimated" if estimated else "This counts the people whose labels were learned"
        return [f"{_fair_in_words(regret, settings)}. {counted}, and it assumes that the reports are true."]
    words = (
        f"The observed Lagrangian regret is {observed:,.1f}: how much more the policies cost, in errors and "
        "penalised reports, than the best single hypothesis in hindsight."
    )
    limit = [] if proved is None else [f"It is proved to be at most {proved:,.1f}."]
    return [" ".join([words, *limit, *(["Here errors are estimated."] if estimated else [])])]


def _fair_in_words(regret: Regret, settings: Settings) -> str:
    distance = "its distance (how unlike the reviewers find the two)"
    level = f"{regret['fair_at']:g}"
    fair = f"fixed mixture of its rules that keeps every pair within {distance} plus {level} would have"
    return compared(fair, regret["proved"] or 0.0, settings.costs == (1.0, 1.0))


@pages.get(STREAM_PAGE + "/certificate")
def certificate(stream: str, visit: Visitor, request: Request) -> Response:
    """The whole certificate, computed from the log in the background where it is long."""
    engine, jobs = visit.service.engine, request.app.state.jobs
    require(engine.streams.get(stream).current().opened > 0, "stream", "have opened a round", 0)
    head, job = engine.store.head(stream)[0], jobs.find(stream, "certificate")
    if job.seq != head and not _fresh(job):
        job = begin(jobs, "certificate", visit.service.subprocesses, stream)
    return render("certificate.html", visit, stream=stream, tab="overview", job=job, events=head)


def _fresh(job: Job) -> bool:
    """Whether what was found is new enough, for what it would cost to find it again."""
    return job.at is not None and job.took is not None and time.time() - job.at < TIMES * job.took


def _past(visit: Visit, request: Request, stream: str) -> Job | None:
    """What happened before the service first looked is worked out once; how far that is."""
    job: Job = request.app.state.jobs.find(stream, "history")
    if job.result is None and not job.runs and history.first_look(visit.service.store, stream) > 1:
        job = begin(request.app.state.jobs, "history", visit.service.subprocesses, stream)
    return job if job.runs else None


def _follower(request: Request) -> Follower:
    follower: Follower = request.app.state.follower
    return follower


@pages.get(STREAM_PAGE + "/rounds")
def rounds(
    stream: str, visit: Visitor, request: Request, before: Annotated[int | None, Query(ge=1, lt=2**53)] = None
) -> Response:
    """Rounds, the newest first."""
    return _rounds(visit, request, stream, before, Filters())


@pages.post(STREAM_PAGE + "/rounds")
def filtered_rounds(stream: str, visit: Visitor, request: Request) -> Response:
    """The same, filtered by what a form holds."""
    sent = str(visit.sent.get("before", ""))
    before = int(sent) if sent.isdecimal() and len(sent) < 16 else None
    return _rounds(visit, request, stream, before, Filters.sent(visit.sent, visit.service.tokens.staff))


def _rounds(visit: Visit, request: Request, stream: str, before: int | None, filters: Filters) -> Response:
    engine = visit.service.engine
    behind = _follower(request).follow(stream, PATIENCE)
    kept, (since, until) = tables.summaries.c, filters.days
    conditions = filters.rounds(stream, kept.round)
    conditions += [kept.opened_at >= _seconds(since)] if since else []
    conditions += [kept.opened_at < _seconds(until)] if until else []
    newest: list[Any] = _follower(request).checked(
        stream, lambda: summaries.newest(engine.store, stream, LISTED, before, conditions)[::-1]
    )
    older = newest[-1].round if len(newest) == LISTED and newest[-1].round > 1 else None
    return render(
        "rounds.html", visit, stream=stream, tab="rounds", rounds=newest, older=older, before=before, behind=behind,
        events=engine.store.head(stream)[0], filters=filters,
    )  # fmt: skip


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()
