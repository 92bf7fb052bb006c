"""What administrators do: settings and STOP, export and verification, users and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from fastapi import HTTPException, Query, Request
from fastapi.responses import RedirectResponse, StreamingResponse
from starlette.responses import Response

from likewise.errors import InvalidParameter
from likewise.service.accounts.sessions import LINK, Sessions
from likewise.service.accounts.tokens import ROLES
from likewise.service.canonical import dumps
from likewise.service.jobs.kinds import begin
from likewise.service.pages.rendering import render, router
from likewise.service.pages.visits import STREAM, Visit, Visitor
from likewise.service.refusals import Conflict

pages = router()
WAITS = (
    ("audit", "Wait for a review (seconds)", "An audit that nobody made by then counts as expired; empty: for ever."),
    ("label", "Wait for labels (seconds)", "Labels that didn't come by then count as expired; empty: for ever."),
    ("grace", "Time to take a verdict back (seconds)", "A round is learned only when this is over."),
)
ENDS = (
    ("audit_end", "When a review doesn't come", "Learn from the round without a verdict, or discard it."),
    ("label_end", "When labels don't come", "Learn from those that came, or discard the round."),
)
SAID = {"yes": "Changed; recorded in the log.", "no": "Nothing was changed: all values are as they were."}
"""What the settings say after somebody pressed the button."""
FIXED = (
    ("kind", "The class of hypotheses that policies mix: thresholds on single features, or cells of a grid."),
    ("learner", "How the mixture learns."),
    ("alpha", "α: a gap beyond this, between people who are alike enough, counts as a violation."),
    ("margin", "Pairs may be reported from α minus this on."),
    ("penalty", "What a report weighs against errors; by default the learner's own choice."),
    ("costs", "What a false positive and a false negative cost."),
    ("largest_batch", "The most people in a round."),
    ("horizon", "How many rounds there will be, where that is known."),
    ("seed", "Every random number of the learner follows from it, so that its rounds can be run again."),
)


@pages.get(STREAM + "/settings")
def settings_page(stream: str, visit: Visitor, changed: Annotated[str, Query(max_length=8)] = "") -> Response:
    """Every setting with what it does."""
    return _settings(visit, stream, said=SAID.get(changed, ""))


def _settings(visit: Visit, stream: str, said: str = "", wrong: str = "", status: int = 200) -> Response:
    state = visit.service.engine.streams.get(stream).current()
    return render(
        "settings.html", visit, status, stream=stream, here="settings", settings=state.stream.settings,
        waits=WAITS, ends=ENDS, fixed=FIXED, said=said, wrong=wrong,
    )  # fmt: skip


@pages.post(STREAM + "/settings")
def change(stream: str, visit: Visitor) -> Response:
    """Change the waits; an event records it."""
    here = visit.service.engine.streams.get(stream).current().waits
    try:
        asked: dict[str, Any] = {name: _seconds(visit.sent.get(name, ""), name) for name, _, _ in WAITS}
        asked |= {name: visit.sent.get(name) for name, _, _ in ENDS}
        changes = {name: value for name, value in asked.items() if value != getattr(here, name)}
        if changes:
            visit.service.engine.change_waits(stream, changes, visit.identity.name)
    except InvalidParameter as error:
        return _settings(visit, stream, wrong=_labelled(str(error)), status=422)
    return RedirectResponse(f"/streams/{stream}/settings?changed={'yes' if changes else 'no'}", 303)


def _labelled(error: str) -> str:
    """An error in the words of the form.

    Examples
    --------
    >>> _labelled("`grace` must be in [0, ∞), got -1.")
    '“Time to take a verdict back (seconds)” must be in [0, ∞), got -1.'
    """
    for name, label, _ in WAITS + ENDS:
        error = error.replace(f"`{name}`", f"“{label}”")
    return error


def _seconds(text: Any, name: str) -> float | None:
    if not str(text).strip() and name != "grace":
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidParameter(f"`{name}` must be a number, got {str(text)[:40]!r}.") from None


@pages.post(STREAM + "/stop")
def stop(stream: str, visit: Visitor) -> Response:
    """No decisions from now on."""
    visit.service.engine.stop(stream, str(visit.sent.get("reason", "")), visit.identity.name)
    return RedirectResponse(f"/streams/{stream}", 303)


@pages.post(STREAM + "/resume")
def resume(stream: str, visit: Visitor) -> Response:
    """Decide again."""
    visit.service.engine.resume(stream, visit.identity.name)
    return RedirectResponse(f"/streams/{stream}", 303)


# Export and verify ------------------------------------------------------------------------------------------------


@pages.get(STREAM + "/export")
def export_page(stream: str, visit: Visitor, request: Request) -> Response:
    """What can be downloaded and checked, and what the last check found."""
    service, jobs = visit.service, request.app.state.jobs
    return render(
        "export.html", visit, stream=stream, here="export", events=service.store.head(stream)[0],
        key=service.engine.signer.public_key, job=jobs.find(stream, "verify"),
    )  # fmt: skip


@pages.get(STREAM + "/export/{name}")
def download(stream: str, name: str, visit: Visitor) -> Response:
    """The log as a file: with people, or without."""
    if name not in ("log.jsonl", "log-without-people.jsonl"):
        raise HTTPException(404, "There is no such export.")
    lines = visit.service.engine.export(stream, people=name == "log.jsonl")
    said = f'attachment; filename="{stream}-{name}"'
    return StreamingResponse(_written(lines), media_type="application/jsonl", headers={"Content-Disposition": said})


@pages.post(STREAM + "/verify")
def check(stream: str, visit: Visitor, request: Request) -> Response:
    """Check the log as an outsider would, in the background; the page of exports says how far it is."""
    visit.service.engine.streams.get(stream)
    begin(request.app.state.jobs, "verify", visit.service, stream)
    return RedirectResponse(f"/streams/{stream}/export", 303)


def _written(lines: Iterable[dict[str, Any]]) -> Iterator[str]:
    return (dumps(line) + "\n" for line in lines)


# Users and tokens -------------------------------------------------------------------------------------------------


@pages.get("/users")
def users_page(visit: Visitor, stream: Annotated[str, Query(max_length=64)] = "") -> Response:
    """Every token there is; the tabs stay those of the stream that one comes from."""
    visit.sent["stream"] = stream
    return _users(visit)


def _stream(visit: Visit) -> str | None:
    """The stream that somebody came from to the users, if there is one."""
    return next((name for name in visit.service.engine.streams.names() if name == visit.sent.get("stream")), None)


def _back(visit: Visit) -> str:
    stream = _stream(visit)
    return "/users" if stream is None else f"/users?stream={stream}"


def _users(visit: Visit, said: str = "", secret: str = "", wrong: str = "") -> Response:
    return render(
        "users.html", visit, 422 if wrong else 200, stream=_stream(visit), here="users",
        tokens=visit.service.tokens.list(), roles=ROLES, said=said, secret=secret, wrong=wrong,
        now=visit.service.engine.clock(),
    )  # fmt: skip


@pages.post("/users")
def add(visit: Visitor) -> Response:
    """A new token, shown once."""
    name = str(visit.sent.get("name", "")).strip()
    streams = [one for one in str(visit.sent.get("streams", "")).replace(",", " ").split() if one] or None
    try:
        days = float(visit.sent["days"]) if str(visit.sent.get("days", "")).strip() else None
        token, _ = visit.service.tokens.add(name, str(visit.sent.get("role")), streams, days)
    except ValueError as error:
        return _users(visit, wrong=str(error))
    return _users(visit, f"The token of {name}, shown only now:", token)


@pages.post("/users/link")
def link(visit: Visitor, request: Request) -> Response:
    """A link that logs somebody in once."""
    sessions: Sessions = request.app.state.sessions
    code = sessions.link(str(visit.sent.get("token", "")))
    address = f"{request.url.scheme}://{request.url.netloc}/login/{code}"
    return _users(visit, f"A link that lets {sessions.known(code)} in once, within {LINK / 3600:.0f} hours:", address)


@pages.post("/users/revoke")
def revoke(visit: Visitor) -> Response:
    """Revoke a token; its sessions end. One's own is asked about once more, and the last administrator's is refused."""
    tokens, token = visit.service.tokens, str(visit.sent.get("token", ""))
    mine = any(one["token"] == token and one["name"] == visit.identity.name for one in tokens.list())
    if mine and visit.sent.get("sure") != "yes":
        said = [
            "This token bears your own name.",
            "Whoever logged in with it is logged out at once, and can't come back.",
        ]
        return render(
            "confirm.html", visit, stream=_stream(visit), here="users", title="Revoke your own token?", said=said,
            action="/users/revoke", fields={"token": token, "stream": _stream(visit) or ""}, button="Revoke it",
            back=_back(visit),
        )  # fmt: skip
    try:
        tokens.revoke(token)
    except Conflict as error:
        return _users(visit, wrong=str(error))
    return RedirectResponse(_back(visit), 303)


@pages.post("/users/logout")
def logout(visit: Visitor, request: Request) -> Response:
    """End every session of a name; the page says so, unless it was one's own."""
    sessions: Sessions = request.app.state.sessions
    name = str(visit.sent.get("name", ""))
    sessions.end_all(name)
    if name == visit.identity.name:
        return RedirectResponse("/login", 303)
    return _users(visit, f"{name} is logged out everywhere.")
