"""Valid requests with something broken in them: none makes the service fail, and what is refused leaves no event."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote

import pytest
from serving import STREAM, people

from likewise.service.configuration import Configuration
from likewise.service.run import create_app

QUICK, LONG = 400, 20_000
LOANS = "/v1/streams/loans"
VALID = [
    ("POST", "/v1/streams", STREAM | {"name": "more"}),
    ("GET", "/v1/streams", None),
    ("GET", LOANS, None),
    ("PATCH", LOANS, {"waits": {"grace": 0}}),
    ("PATCH", f"{LOANS}/plan", {"review": {"ask_all": True}}),
    ("GET", f"{LOANS}/plan?share=0.5", None),
    ("PUT", f"{LOANS}/brief", {"decided": "Loans.", "alike": "Same debts.", "reasons": ["debts"]}),
    ("GET", f"{LOANS}/brief", None),
    ("POST", f"{LOANS}/stop", {"reason": "lunch"}),
    ("POST", f"{LOANS}/resume", {}),
    ("POST", f"{LOANS}/rounds", {"people": people(9)}),
    ("PUT", f"{LOANS}/rounds/1/labels", {"labels": {"1-0": 1, "1-1": 0}}),
    ("POST", f"{LOANS}/audits/claim", {}),
    ("POST", f"{LOANS}/rounds/2/audit/renew", {}),
    ("POST", f"{LOANS}/rounds/2/audit/release", {}),
    ("PUT", f"{LOANS}/rounds/2/audit", {"verdict": "pair", "pair": ["2-0", "2-2"], "reason": "alike", "note": "very"}),
    ("PUT", f"{LOANS}/rounds/3/audit", {"verdict": "none"}),
    ("PUT", f"{LOANS}/rounds/2/opinion", {"pair": ["2-0", "2-2"], "objects": True}),
    ("POST", f"{LOANS}/rounds/3/audit/retract", {}),
    ("POST", f"{LOANS}/rounds/1/audit/correct", {"verdict": "none"}),
    ("GET", f"{LOANS}/rounds/1", None),
    ("GET", f"{LOANS}/events?after=1&limit=5", None),
    ("GET", f"{LOANS}/checkpoint", None),
    ("GET", f"{LOANS}/consistency?old=1&new=2", None),
    ("GET", f"{LOANS}/events/1/proof", None),
    ("GET", f"{LOANS}/people/1-0", None),
    ("DELETE", f"{LOANS}/people/4-0", None),
    ("GET", f"{LOANS}/receipts/1-0", None),
]  # fmt: skip
ODD_VALUES = [
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, -(2**64), 10**400, 0.5, -0.0, 1e-320, 1e308, "", " ", "loans",
    "1-0", "\x00", "\u202e", "\ufeff", "e\u0301", "😀" * 9, "x" * 3000, "'; DROP TABLE events; --", "../..", "{{7*7}}",
    "NaN", [], {}, [[]], [None], {"": None}, [0] * 300, {"a": {"b": {"c": []}}},
]  # fmt: skip
ODD_PARTS = ["", ".", "..", "%", "%00", "%2f", "%ff", "%E2%80%AE", "0", "-1", "1e3", "1.0", "9" * 20, "null",
             "loans", "x" * 300, "a;b", "?", "?a=b", "?limit=-1&limit=x", "?after=%00", "?delta=nan", "#"]  # fmt: skip
ODD_HEADERS = [
    (b"content-type", b"text/plain"), (b"content-type", b"application/json; charset=utf-16"), (b"content-type", b""),
    (b"content-type", b"multipart/form-data; boundary=x"), (b"content-length", b"-1"), (b"content-length", b"1"),
    (b"content-length", b"x"), (b"content-length", b"9" * 30), (b"transfer-encoding", b"chunked"),
    (b"authorization", b""), (b"authorization", b"Bearer"), (b"authorization", b"Bearer lw_\xff"),
    (b"authorization", b"Basic YTpi"), (b"idempotency-key", b""), (b"idempotency-key", b"k" * 201),
    (b"idempotency-key", b"\xe9"), (b"idempotency-key", b"again"), (b"host", b"elsewhere:x"), (b"host", b"[::"),
    (b"cookie", b"likewise=x; likewise=\xff"), (b"accept-encoding", b"\xff"), (b"origin", b"null"),
    (b"traceparent", b"00-x"), (b"x-request-id", b"\n"), (b"x-forwarded-for", b"::ffff"), (b"range", b"bytes=9-1"),
]  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A request as it goes to the application."""

    method: str
    path: str
    body: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)

    def scope(self):
        path, _, query = self.path.partition("?")
        return {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": self.method, "scheme": "http",
            "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": list(self.headers.items()), "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {},
        }  # fmt: skip


def places(value, found=()):
    """Every place in a JSON value."""
    yield found
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield from places(part, (*found, name))


def changed_value(value, rng):
    """A JSON value with one place replaced, removed, renamed or doubled."""
    value, place = copy.deepcopy(value), rng.choice(list(places(value)))
    if not place:
        return rng.choice(ODD_VALUES)
    *before, last = place
    parent = value
    for name in before:
        parent = parent[name]
    kind, old = rng.randrange(4), parent[last]
    if kind == 0:
        parent[last] = rng.choice(ODD_VALUES)
    elif kind == 1:
        del parent[last]
    elif isinstance(parent, list):
        parent.insert(rng.randrange(len(parent) + 1), old if kind == 2 else rng.choice(ODD_VALUES))
    else:
        parent[rng.choice(["", "name", "extra", "__class__", str(last).upper()])] = old
    return value


def other_value(asked, rng):
    value = json.loads(asked.body) if asked.body else {}
    return replace(asked, body=json.dumps(changed_value(value, rng), ensure_ascii=rng.random() < 0.5).encode())


def other_bytes(asked, rng):
    body = bytearray(asked.body or b"{}")
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(body) + 1)
        end = min(len(body), start + rng.randrange(6))
        new = rng.choice(
            [b"", rng.randbytes(2), b'"', b"{", b"]", b",", b"\\ud800", b"1e999", bytes(body[start:end]) * 2]
        )
        body[start:end] = new
    return replace(asked, body=bytes(body))


def other_path(asked, rng):
    parts = asked.path.split("/")
    place = rng.randrange(1, len(parts) + 1)
    parts[place : place + rng.randrange(2)] = [rng.choice([*ODD_PARTS, quote(chr(rng.randrange(1, 0xD7FF)))])]
    return replace(asked, path="/".join(parts))


def other_header(asked, rng):
    if rng.random() < 0.2:
        gone = rng.choice(list(asked.headers))
        return replace(asked, headers={name: value for name, value in asked.headers.items() if name != gone})
    return replace(asked, headers=asked.headers | dict([rng.choice(ODD_HEADERS)]))


def other_method(asked, rng):
    return replace(asked, method=rng.choice(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "X"]))


# In this order: what is broken as bytes has no values left to change.
CHANGES = [other_value] * 6 + [other_bytes] * 3 + [other_path] * 3 + [other_header] * 3 + [other_method]


def mutated(rng, token):
    """A valid request, changed once or twice; a round or person in it may exist or not."""
    method, path, body = rng.choice(VALID)
    headers = {
        b"host": b"127.0.0.1",
        b"authorization": f"Bearer {token}".encode(),
        b"content-type": b"application/json",
    }
    asked = Asked(method, path, b"" if body is None else json.dumps(body).encode(), headers)
    for change in sorted(rng.choices(CHANGES, k=rng.choice([1, 1, 2])), key=CHANGES.index):
        asked = change(asked, rng)
    return asked


async def status(app, asked):
    """What the application answers; 500 if it raises."""
    sent, answers, ended = False, [], asyncio.Event()

    async def receive():
        nonlocal sent
        if sent:
            await ended.wait()  # a client who stays
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": asked.body, "more_body": False}

    async def send(message):
        if message["type"] == "http.response.start":
            answers.append(message["status"])
        elif not message.get("more_body"):
            ended.set()

    try:
        await app(asked.scope(), receive, send)
    except Exception as error:  # whatever it is, a server would answer 500
        return f"500: {error!r}"
    (answer,) = answers
    return answer


def events(service):
    with service.store.read() as connection:
        return connection.exec_driver_sql("SELECT COUNT(*) FROM events").scalar()


async def ask_all(app, count, seed):
    """The answers to so many requests, counted; and those that should not have been given, with what was asked."""
    service, rng = app.state.service, random.Random(seed)
    answers, wrong = Counter(), []
    async with app.router.lifespan_context(app):
        token, _ = service.tokens.add("the admin", "admin")
        headers = {
            b"host": b"127.0.0.1",
            b"authorization": f"Bearer {token}".encode(),
            b"content-type": b"application/json",
        }
        for path, body in [("/v1/streams", STREAM), *((f"{LOANS}/rounds", {"people": people(t)}) for t in range(1, 6))]:
            assert await status(app, Asked("POST", path, json.dumps(body).encode(), headers)) in (200, 201)
        for _ in range(count):
            asked, before = mutated(rng, token), events(service)
            answer = await status(app, asked)
            left = events(service) - before
            if not isinstance(answer, int) or answer >= 500 or (answer >= 400 and left):
                wrong.append((answer, left, asked))
            answers[answer] += 1
            if left and asked.path.partition("?")[0].endswith("/stop"):
                service.engine.resume("loans", "the test")  # decisions are refused with 503 until then
    return answers, wrong


@pytest.mark.parametrize(("count", "seed"), [(QUICK, 0), pytest.param(LONG, 1, marks=pytest.mark.slow)])
def test_no_mutated_request_makes_the_service_fail_and_no_refused_one_leaves_an_event(
    tmp_path, count, seed, record_property
):
    limits = {"max_rate": 1e9, "max_anonymous_rate": 1e9, "tick": 3600, "max_size": 300, "max_body": 100_000}
    app = create_app(Configuration(database=str(tmp_path / "log.db"), **limits))
    answers, wrong = asyncio.run(ask_all(app, count, seed))
    if count == LONG:
        kinds = Counter({f"{code // 100}xx": 0 for code in (200, 400, 500)})
        kinds.update(f"{str(code)[0]}xx" for code in answers.elements())
        record_property("told", f"{count:,} mutated requests, by answer: {dict(kinds)}; wrong: {len(wrong)}")
    assert not wrong, f"{len(wrong)} of {count}, the first: {wrong[0]}"
    assert min(sum(n for code, n in answers.items() if code // 100 == kind) for kind in (2, 4)) > count / 10, answers
