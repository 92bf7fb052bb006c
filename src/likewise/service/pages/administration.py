"""What administrators do: settings and STOP, export and verification, users and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import HTTPException, Query, Request
from fastapi.responses import RedirectResponse, StreamingResponse
from starlette.responses import Response

from likewise.errors import InvalidParameter
from likewise.service.accounts.access import STREAM_PAGE
from likewise.service.accounts.sessions import LINK
from likewise.service.accounts.tokens import ROLES
from likewise.service.jobs.kinds import begin
from likewise.service.log.export import in_blocks
from likewise.service.pages.forms import Entry, entries_of, labelled, plainly, sent_value
from likewise.service.pages.rendering import render, router
from likewise.service.pages.visits import Visit, Visitor
from likewise.service.refusals import Conflict
from likewise.service.stream.brief import Brief
from likewise.service.stream.settings import Review, Settings, Waits
from likewise.service.stream.status import made_of

pages = router()
CHANGE_MESSAGES = {"yes": "Saved, and recorded in the log.", "no": "Nothing changed: all values are as they were."}
"""What the page of settings says after somebody pressed the button."""
ELSEWHERE = {"name", "features", "cuts", "scores", "waits", "review"}
"""Settings that the page shows in other places than its table."""


def entries() -> list[Entry]:
    """The form of the waits, from their declaration."""
    return entries_of(Waits)


@pages.get(STREAM_PAGE + "/settings")
def settings_page(stream: str, visit: Visitor, changed: Annotated[str, Query(max_length=8)] = "") -> Response:
    """Every setting with what it does."""
    return _settings(visit, stream, message=CHANGE_MESSAGES.get(changed, ""))


def _settings(visit: Visit, stream: str, message: str = "", wrong: str = "", status: int = 200) -> Response:
    state = visit.service.engine.streams.get(stream).current()
    return render(
        "settings.html", visit, status, stream=stream, tab="settings", settings=state.stream.settings,
        used=state.stream.used, made_of=made_of(state.stream),
        entries=entries(), fixed={n: f for n, f in Settings.model_fields.items() if n not in ELSEWHERE},
        plan=Review.model_fields, brief=state.brief, brief_version=state.brief_version, brief_fields=Brief.model_fields,
        message=message, wrong=wrong, typed=dict(visit.sent) if wrong else {},
    )  # fmt: skip


@pages.post(STREAM_PAGE + "/settings")
def change(stream: str, visit: Visitor) -> Response:
    """Change the waits; an event records it."""
    waits = visit.service.engine.streams.get(stream).current().waits
    try:
        asked = {entry.name: sent_value(visit.sent.get(entry.name, ""), entry) for entry in entries()}
        changes = {name: value for name, value in asked.items() if value != getattr(waits, name)}
        if changes:
            visit.service.engine.change_waits(stream, changes, visit.identity.name)
    except InvalidParameter as error:
        return _settings(visit, stream, wrong=labelled(str(error), entries()), status=422)
    return RedirectResponse(f"/streams/{stream}/settings?changed={'yes' if changes else 'no'}", 303)


@pages.post(STREAM_PAGE + "/brief")
def change_brief(stream: str, visit: Visitor) -> Response:
    """Change what reviewers are told; an event records it."""
    sent = {name: str(visit.sent.get(name, "")).replace("\r\n", "\n").strip() for name in Brief.model_fields}
    reasons = [line.strip() for line in sent.pop("reasons").split("\n") if line.strip()]
    try:
        done = visit.service.engine.change_brief(stream, {**sent, "reasons": reasons}, visit.identity.name)
    except InvalidParameter as error:
        return _settings(visit, stream, wrong=str(error), status=422)
    return RedirectResponse(f"/streams/{stream}/settings?changed={'no' if done['receipt'] is None else 'yes'}", 303)


@pages.post(STREAM_PAGE + "/stop")
def stop(stream: str, visit: Visitor) -> Response:
    """No decisions from now on."""
    visit.service.engine.stop(stream, str(visit.sent.get("reason", "")), visit.identity.name)
    return RedirectResponse(f"/streams/{stream}", 303)


@pages.post(STREAM_PAGE + "/resume")
def resume(stream: str, visit: Visitor) -> Response:
    """Decide again."""
    visit.service.engine.resume(stream, visit.identity.name)
    return RedirectResponse(f"/streams/{stream}", 303)


# Export and verify ------------------------------------------------------------------------------------------------


@pages.get(STREAM_PAGE + "/export")
def export_page(stream: str, visit: Visitor, request: Request) -> Response:
    """What can be downloaded and checked, and what the last check found."""
    service, jobs = visit.service, request.app.state.jobs
    return render(
        "export.html", visit, stream=stream, tab="export", events=service.store.head(stream)[0],
        key=service.engine.signer.public_key, job=jobs.find(stream, "verify"),
    )  # fmt: skip


@pages.get(STREAM_PAGE + "/export/{name}")
def download(stream: str, name: str, visit: Visitor) -> Response:
    """The log as a file: with people, or without."""
    if name not in ("log.jsonl", "log-without-people.jsonl"):
        raise HTTPException(404, "There is no such export.")
    lines = visit.service.engine.export_text(stream, people=name == "log.jsonl")
    disposition = f'attachment; filename="{stream}-{name}"'
    return StreamingResponse(
        in_blocks(lines), media_type="application/jsonl", headers={"Content-Disposition": disposition}
    )


@pages.post(STREAM_PAGE + "/verify")
def check(stream: str, visit: Visitor, request: Request) -> Response:
    """Check the log as an outsider would, in the background; the page of exports says how far it is."""
    visit.service.engine.streams.get(stream)
    begin(request.app.state.jobs, "verify", visit.service.subprocesses, stream)
    return RedirectResponse(f"/streams/{stream}/export", 303)


# Users and tokens -------------------------------------------------------------------------------------------------


@pages.get("/users")
def users_page(visit: Visitor, stream: Annotated[str, Query(max_length=64)] = "") -> Response:
    """Every token there is; the tabs stay those of the stream that somebody came from."""
    visit.sent["stream"] = stream
    return _users(visit)


def _stream(visit: Visit) -> str | None:
    """The stream that somebody came from to the users, if there is one."""
    return next((name for name in visit.service.engine.streams.names() if name == visit.sent.get("stream")), None)


def _back(visit: Visit) -> str:
    stream = _stream(visit)
    return "/users" if stream is None else f"/users?stream={stream}"


def _users(visit: Visit, message: str = "", secret: str = "", wrong: str = "") -> Response:
    return render(
        "users.html", visit, 422 if wrong else 200, stream=_stream(visit), tab="users",
        tokens=visit.service.tokens.list(), roles=ROLES, message=message, secret=secret, wrong=wrong,
        now=visit.service.engine.clock(), typed=visit.sent if wrong else {},
    )  # fmt: skip


@pages.post("/users")
def add(visit: Visitor) -> Response:
    """A new token, shown once. A name that has a valid one is refused: whoever reloads the page gets no second."""
    name = str(visit.sent.get("name", "")).strip()
    streams = str(visit.sent.get("streams", "")).replace(",", " ").split() or None
    days = str(visit.sent.get("days", "")).strip()
    try:
        _require_new(visit, name, streams or ())
        token, _ = visit.service.tokens.add(name, str(visit.sent.get("role")), streams, _days(days), erasable=True)
    except InvalidParameter as error:
        return _users(visit, wrong=plainly(str(error).replace("`days`", "“Days it is valid”")))
    return _users(visit, f"The token of {name}. It is not shown again:", token)


def _days(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise InvalidParameter(f"“Days it is valid” must be a number, got “{text[:40]}”.") from None


def _require_new(visit: Visit, name: str, streams: Sequence[str]) -> None:
    """Refuse a name that has a token already, and streams that don't exist."""
    now, tokens = visit.service.engine.clock(), visit.service.tokens
    valid = (row for row in tokens.list() if not row["revoked_at"] and (row["expires_at"] or now + 1) > now)
    if any(row["name"] == name for row in valid):
        raise InvalidParameter(f"{name} has a token already. Revoke it first, or take another name.")
    if unknown := tokens.unknown(streams):
        raise InvalidParameter(f"There is no stream named {' or '.join(unknown)}.")


@pages.post("/users/link")
def link(visit: Visitor, request: Request) -> Response:
    """A link that logs somebody in once."""
    sessions = visit.service.sessions
    code = sessions.link(str(visit.sent.get("token", "")))
    address = f"{trusted_address(request)}/login/{code}"
    return _users(visit, f"A link that logs {sessions.known(code)} in, once, within {LINK / 3600:.0f} hours:", address)


def trusted_address(request: Request) -> str:
    """Where people reach the pages, as somebody who is trusted says; nothing if only the request says so.

    Whoever sends an administrator's request past a proxy may choose its Host header, and would be sent the code.
    """
    configuration, host = request.app.state.service.configuration, request.url.netloc
    if configuration.address:
        return str(configuration.address).rstrip("/")
    server = request.scope.get("server") or ("", None)
    own = {f"{name}:{server[1]}" for name in (server[0], "localhost")}
    named = (request.url.hostname or "").lower() in configuration.allowed_hosts
    return f"{request.url.scheme}://{host}" if named or host in own else ""


@pages.post("/users/revoke")
def revoke(visit: Visitor) -> Response:
    """Revoke a token, once somebody has confirmed it; its sessions end. The last administrator's is refused."""
    tokens, token = visit.service.tokens, str(visit.sent.get("token", ""))
    name = next((row["name"] for row in tokens.list() if row["token"] == token), "")
    if visit.sent.get("sure") != "yes":
        own = tokens.staff.known_as(name) == visit.identity.name
        sentences = [
            "This token has your own name." if own else f"This is the token of {name or 'nobody'}.",
            "Everybody who logged in with it is logged out at once, and can't log in with it again.",
        ]
        return render(
            "confirm.html", visit, stream=_stream(visit), tab="users",
            title="Revoke your own token?" if own else f"Revoke the token of {name}?",
            sentences=sentences, action="/users/revoke",
            fields={"token": token, "stream": _stream(visit) or ""}, button="Revoke it",
            back=_back(visit),
        )  # fmt: skip
    try:
        tokens.revoke(token)
    except Conflict as error:
        return _users(visit, wrong=str(error))
    return RedirectResponse(_back(visit), 303)


@pages.post("/users/logout")
def logout(visit: Visitor) -> Response:
    """End every session of a name; the page says so, unless it was their own."""
    name = str(visit.sent.get("name", ""))
    known_as = visit.service.tokens.staff.known_as(name)
    visit.service.sessions.end_all(known_as)
    if known_as == visit.identity.name:
        return RedirectResponse("/login", 303)
    return _users(visit, f"{name} is logged out everywhere.")
