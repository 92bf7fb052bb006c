"""A client of the service: every route a method, with retries that are safe.

Each call that changes something carries an idempotency key of its own, the same over all its retries, so that what was
sent twice happens once. The receipt of each is checked: the event is in the log, and the log only grew.
"""

from __future__ import annotations

import json
import math
import os
import random
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from likewise.errors import InvalidParameter, LikewiseError, NotSupported, require
from likewise.transparency.kept import (
    Kept,
    KeptCheckpoints,
    LogContradicted,
    LogNotTrusted,
    evidence,
    following_keys,
    require_consistent,
    require_receipt,
)
from likewise.transparency.notes import read_note

try:
    import httpx
except ModuleNotFoundError:
    raise NotSupported("The client needs httpx, which is not installed: pip install httpx.") from None

PASSING = frozenset({429, 502, 503, 504})
"""Statuses that may pass in a moment."""
LONGEST_WAIT = 30.0
"""The most seconds between two tries, whatever the service asks for."""
FITTING_TIMEOUT = 300.0
"""Seconds to wait for a stream whose class is fitted to a sample."""
LONGEST_BACKOFF = 3.0
"""The most seconds between two tries where it asks for none."""


class ServiceRefused(LikewiseError):
    """The service refused; ``status`` is the HTTP status, ``problem`` its RFC 9457 problem."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(problem.get("detail") or f"The service answered {status}.")
        self.status = status
        self.problem = problem


class ServiceUnreachable(LikewiseError):
    """Nobody answered, however often it was tried."""


class Client:
    """A connection to a service; also a context manager.

    Parameters
    ----------
    url
        Where it is, as ``likewise serve`` says.
    token
        As ``likewise user add`` says.
    timeout
        Seconds to wait for one answer.
    retries
        How often to try again when nobody answers, or the service says that it will soon (429, 502, 503, 504). Waits
        double from a tenth of a second, with some randomness, unless the service names a time itself.
    key
        The public key that the service is known by. Without one, that of the first receipt is taken.
    kept
        A file in which the newest checkpoint of each stream is kept; without one, it is kept in memory.
    check_every
        Seconds after which a receipt is also checked for consistency with the checkpoint that is kept, which takes a
        request of its own.
    transport
        Another way to reach it, for tests.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8321", token="lw_…") as client:  # doctest: +SKIP
    ...     client.decide("loans", [{"id": "ann", "features": {"score": 0.7}}])["decisions"]
    [{'id': 'ann', 'probability': 0.5, 'decision': 1, 'returning': False}]
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 30.0,
        retries: int = 5,
        key: str | None = None,
        kept: str | Path | None = None,
        check_every: float = 10.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        sent = token.isascii() and token.isprintable() and token != ""
        require(
            sent, "token", "be as `likewise user add` showed it", f"{len(token)} characters"
        )  # never the token itself
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, transport=transport)
        self._retries = retries
        self._key = key
        self._kept = KeptCheckpoints(kept)
        self._check_every = check_every
        self._checked: dict[str, float] = {}

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Streams ------------------------------------------------------------------------------------------------------

    def create_stream(
        self, name: str, *, sample: Any = (), label: str | None = None, **settings: Any
    ) -> dict[str, Any]:
        """Create a stream: features, alpha, and whatever else ``likewise.service.stream.settings`` knows.

        Parameters
        ----------
        name
            Of the stream.
        sample
            People, as a list of mappings or a pandas, polars or pyarrow table: their features show where to cut.
        label
            The name of the label in the sample. With it, the class is fitted to the sample, which takes seconds. People
            whose label is missing are left out.
        settings
            All others, for example ``compare_by``.
        """
        body = {"name": name, "label": label, **settings}
        names = [feature["name"] for feature in settings.get("features", ())]
        body["sample"] = _sample(sample, names, label)
        timeout = None if label is None else FITTING_TIMEOUT
        return self._change("POST", "/v1/streams", body, name, timeout=timeout)

    def streams(self) -> Iterator[str]:
        """The names of the streams that the token is for."""
        after: str | None = ""
        while after is not None:
            page = self._ask("GET", "/v1/streams", params={"after": after})
            yield from page["streams"]
            after = page["next"]

    def stream(self, stream: str) -> dict[str, Any]:
        """Settings, counts, delay and regret of a stream."""
        return self._ask("GET", _at(stream))

    def change_waits(self, stream: str, **waits: Any) -> dict[str, Any]:
        """Change how long rounds wait, from now on."""
        return self._change("PATCH", _at(stream), {"waits": waits}, stream)

    def change_plan(self, stream: str, **review: Any) -> dict[str, Any]:
        """Change which rounds are reviewed, from the next one on: ``share``, ``budget``, ``choose``, ``second``, …"""
        return self._ask("PATCH", _at(stream, "plan"), {"review": review})

    def brief(self, stream: str) -> dict[str, Any]:
        """What reviewers are told before they judge, and its version."""
        return self._ask("GET", _at(stream, "brief"))

    def change_brief(self, stream: str, **brief: Any) -> dict[str, Any]:
        """Replace the brief: ``decided``, ``alike``, ``pairs``, ``non_pairs`` and ``reasons``; others are empty.

        It stays in the log for good, so it must name nobody.
        """
        return self._change("PUT", _at(stream, "brief"), brief, stream)

    def plan(self, stream: str, rounds_a_day: float | None = None, days: float = 30) -> dict[str, Any]:
        """What the review plan buys, in advance; without ``rounds_a_day``, if rounds come as in the past day."""
        asked = {} if rounds_a_day is None else {"rounds_a_day": rounds_a_day}
        return self._ask("GET", _at(stream, "plan"), params=asked | {"days": days})

    def stop(self, stream: str, reason: str = "") -> dict[str, Any]:
        """Decisions stop at once."""
        return self._change("POST", _at(stream, "stop"), {"reason": reason}, stream)

    def resume(self, stream: str) -> dict[str, Any]:
        """Decisions start again."""
        return self._change("POST", _at(stream, "resume"), None, stream)

    # Decisions and labels -----------------------------------------------------------------------------------------

    def decide(self, stream: str, people: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Decisions about people, each {id, features}: {t, version, decisions, receipt}."""
        return self._change("POST", _at(stream, "rounds"), {"people": list(people)}, stream)

    def label(self, stream: str, t: int, labels: Mapping[str, int]) -> dict[str, Any]:
        """How it turned out for each person, 0 or 1 by id: {t, disposition, receipt}."""
        return self._change("PUT", _at(stream, "rounds", t, "labels"), {"labels": dict(labels)}, stream)

    # Audits -------------------------------------------------------------------------------------------------------

    def claim(self, stream: str) -> dict[str, Any] | None:
        """The oldest round that waits for an audit, for this auditor alone for a while; None if there is none."""
        return self._ask("POST", _at(stream, "audits", "claim")) or None

    def renew(self, stream: str, t: int) -> dict[str, Any]:
        """Keep a claimed round for longer."""
        return self._ask("POST", _at(stream, "rounds", t, "audit", "renew"))

    def release(self, stream: str, t: int) -> None:
        """Give a claimed round back."""
        self._ask("POST", _at(stream, "rounds", t, "audit", "release"))

    def audit(
        self,
        stream: str,
        t: int,
        verdict: str,
        pair: Sequence[str] = (),
        *,
        reason: str = "",
        note: str = "",
        hints: bool | None = None,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """A verdict: "pair" with the ids of two people, "none" or "skip".

        ``hints`` says whether the auditor had asked why people got their probabilities, ``seconds`` how long they
        looked.
        """
        answer = {"verdict": verdict, "pair": list(pair), "reason": reason, "note": note}
        body = answer | {"hints": hints, "seconds": seconds}
        return self._change("PUT", _at(stream, "rounds", t, "audit"), body, stream)

    def reviewers(self, stream: str) -> dict[str, Any]:
        """How good reviewers are: how they agree and what they find, with intervals. Nobody is ranked."""
        return self._ask("GET", _at(stream, "reviewers"))

    def mark_known(self, stream: str, t: int, use: str | None) -> dict[str, Any]:
        """Mark a closed round, on whose answer two people agreed, as "gold" or "practice"; None: not any more."""
        return self._change("PUT", _at(stream, "rounds", t, "known"), {"use": use}, stream)

    def practice(self, stream: str) -> dict[str, Any] | None:
        """The next round to practise with; None if there is none left."""
        return self._ask("GET", _at(stream, "practice")) or None

    def practise(self, stream: str, t: int, verdict: str, pair: Sequence[str] = ()) -> dict[str, Any]:
        """An answer to a practice round; what comes back is the known one."""
        return self._ask("PUT", _at(stream, "rounds", t, "practice"), {"verdict": verdict, "pair": list(pair)})

    def judge_pair(
        self,
        stream: str,
        t: int,
        pair: Sequence[str],
        objects: bool | None,
        *,
        hints: bool | None = None,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """Whether a pair that somebody else named is too different, if this auditor is asked; None to skip."""
        body = {"pair": list(pair), "objects": objects, "hints": hints, "seconds": seconds}
        return self._ask("PUT", _at(stream, "rounds", t, "opinion"), body)

    def retract(self, stream: str, t: int) -> dict[str, Any]:
        """Take a verdict back within its grace time."""
        return self._change("POST", _at(stream, "rounds", t, "audit", "retract"), None, stream)

    def correct(
        self, stream: str, t: int, verdict: str, pair: Sequence[str] = (), *, reason: str = "", note: str = ""
    ) -> dict[str, Any]:
        """Say of a closed round what its audit should have been; recorded, never silently unlearned."""
        body = {"verdict": verdict, "pair": list(pair), "reason": reason, "note": note}
        return self._change("POST", _at(stream, "rounds", t, "audit", "correct"), body, stream)

    # Reading ------------------------------------------------------------------------------------------------------

    def round(self, stream: str, t: int) -> dict[str, Any]:
        """Everything that is known about a round."""
        return self._ask("GET", _at(stream, "rounds", t))

    def events(self, stream: str, after: int = 0, page: int = 500) -> Iterator[dict[str, Any]]:
        """The log from event ``after`` on, read in pages."""
        further: int | None = after
        while further is not None:
            answer = self._ask("GET", _at(stream, "events"), params={"after": further, "limit": page})
            yield from answer["events"]
            further = answer["next"]

    def certificate(self, stream: str, delta: float = 0.05) -> dict[str, Any]:
        """What is proved of the rounds so far, with every assumption."""
        return self._ask("GET", _at(stream, "certificate"), params={"delta": delta})

    def export(self, stream: str, path: str | Path, *, people: bool = True) -> None:
        """Write the whole log to a file, for ``likewise verify``; a new file is for its owner only."""
        try:
            with self._http.stream("GET", _at(stream, "export"), params={"people": people}) as answer:
                if answer.is_error:
                    answer.read()
                    raise _refusal(answer)
                with open(path, "wb", opener=_for_its_owner) as file:
                    for piece in answer.iter_bytes():
                        file.write(piece)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    def person(self, stream: str, person: str) -> dict[str, Any]:
        """One person's decision record."""
        return self._ask("GET", _at(stream, "people", person))

    def notice(self, stream: str, person: str, t: int | None = None) -> dict[str, Any]:
        """What a person may be told about their decision of round ``t``, or about their newest one."""
        return self._ask("GET", _at(stream, "notices", person), params={} if t is None else {"t": t})

    def receipt(self, stream: str, person: str, t: int | None = None) -> dict[str, Any]:
        """The proof of one person's decision in a round, the first by default; `likewise verify --person` checks it."""
        return self._ask("GET", _at(stream, "receipts", person), params=None if t is None else {"t": t})

    def erase(self, stream: str, person: str) -> dict[str, Any]:
        """Erase a person forever; the log still verifies."""
        return self._change("DELETE", _at(stream, "people", person), None, stream)

    def erase_reasons(self, stream: str) -> dict[str, Any]:
        """Erase the reasons of all stops so far; the log still verifies."""
        return self._change("DELETE", _at(stream, "reasons"), None, stream)

    # The log itself ----------------------------------------------------------------------------------------------

    def checkpoint(self, stream: str) -> dict[str, Any]:
        """Where the log of a stream stands, signed: {key, note, cosigned, rotations}."""
        return self._ask("GET", _at(stream, "checkpoint"))

    def proof(self, stream: str, seq: int) -> dict[str, Any]:
        """The receipt of an event against the newest checkpoint, checked."""
        receipt = self._ask("GET", _at(stream, "events", seq, "proof"))
        self._follow(stream, receipt, always=True)
        return receipt

    def check(self, stream: str) -> dict[str, Any]:
        """Check that the log of a stream only grew since the checkpoint that is kept; the checkpoint kept from now on.

        Raises ``LogContradicted`` with a proof if the service signed two pasts.
        """
        checkpoint = self.checkpoint(stream)
        newest = Kept(checkpoint["key"], read_note(checkpoint["note"]))
        if self._retired(stream, newest.key, newest.note.text.split("\n")[0], checkpoint):
            raise LogNotTrusted(
                f"The service signs its newest checkpoint with the key {newest.key}, which was changed."
            )
        self._consistent(stream, newest)
        return checkpoint

    def _change(self, method: str, path: str, body: Any, stream: str, timeout: float | None = None) -> dict[str, Any]:
        """Ask for a change, and check its receipt."""
        answer = self._ask(method, path, body, timeout=timeout)
        if answer.get("receipt") is not None:
            self._follow(stream, answer["receipt"])
        return answer

    def _follow(self, stream: str, receipt: Mapping[str, Any], *, always: bool = False) -> None:
        """Check a receipt; and now and then, or ``always``, that it belongs to the log that is known."""
        origin = receipt["proof"].partition("\n\n")[2].partition("\n")[0]
        retired = self._retired(stream, receipt["key"], origin)
        newer = Kept(receipt["key"], require_receipt(receipt, receipt["key"]))
        if retired:
            self._require_before(stream, newer)
        due = time.monotonic() >= self._checked.get(stream, -math.inf) + self._check_every
        if always or due or retired or self._kept.find(self._log(stream)) is None:
            self._consistent(stream, newer)

    def _retired(self, stream: str, key: str, origin: str, told: Mapping[str, Any] | None = None) -> bool:
        """Whether a key was changed to the one that is known; refused if neither follows from the other."""
        kept = self._kept.find(self._log(stream))
        known = kept.key if kept is not None else self._key
        if known is None or known == key:
            return False
        rotations = (told or self.checkpoint(stream))["rotations"]
        if key in following_keys(known, origin, rotations):
            return False
        if known in following_keys(key, origin, rotations):
            return True
        raise LogNotTrusted(f"The service signs with the key {key}, but it is known by {known}.")

    def _require_before(self, stream: str, older: Kept) -> None:
        """Refuse what a key has signed after it was changed: whoever stole it must not go on with the log.

        What it signed before is the beginning of what its successor signed, which ``_consistent`` then checks.
        """
        if self._kept.find(self._log(stream)) is None:
            self.check(stream)
        kept = self._kept.find(self._log(stream))
        if kept is None or older.checkpoint.size >= kept.checkpoint.size:
            raise LogNotTrusted(
                f"The key {older.key} signed a log of {older.checkpoint.size} events, but it was changed before that."
            )

    def _consistent(self, stream: str, newer: Kept) -> None:
        """Hold a checkpoint against the one that is kept, and keep it."""
        kept, log = self._kept.find(self._log(stream)), self._log(stream)
        if not newer.note.signed_by(newer.checkpoint.origin, bytes.fromhex(newer.key)):
            raise LogNotTrusted(f"The checkpoint of the log is not signed with the key {newer.key}.")
        if kept is not None and kept.note.text != newer.note.text:
            older, later = sorted((kept, newer), key=lambda one: one.checkpoint.size)
            rotations = self.checkpoint(stream)["rotations"] if older.key != later.key else []
            if older.checkpoint.size == later.checkpoint.size and older.checkpoint.origin == later.checkpoint.origin:
                raise LogContradicted(evidence(older, later, later.checkpoint.root, [], rotations))
            sizes = {"old": older.checkpoint.size, "new": later.checkpoint.size}
            answer = self._ask("GET", _at(stream, "consistency"), params=sizes)
            require_consistent(older, later, answer, rotations)
        self._kept.keep(log, newer)
        self._checked[stream] = time.monotonic()

    def _log(self, stream: str) -> str:
        return f"{self._http.base_url}{_at(stream)}".replace("//v1", "/v1")

    def ready(self) -> bool:
        """Whether the service has read its logs; asked once, without retries."""
        try:
            return self._http.get("/readyz").is_success
        except httpx.TransportError:
            return False

    # How ----------------------------------------------------------------------------------------------------------

    def _ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, str | int | float] | None = None,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        headers = {} if method == "GET" else {"Idempotency-Key": secrets.token_hex(16)}
        content = None
        if body is not None:
            headers["Content-Type"], content = "application/json", _written(body)
        request = self._http.build_request(
            method, path, content=content, params=params, headers=headers, timeout=timeout or self._http.timeout
        )
        for tried in range(self._retries + 1):
            last = tried == self._retries
            try:
                answer = self._http.send(request)
            except httpx.TransportError as error:
                if last:
                    raise self._unreachable(error) from error
                wait = _backoff(tried)
            else:
                if last or not _passes(answer):
                    return _answer(answer)
                wait = _asked_for(answer) or _backoff(tried)
            time.sleep(min(wait, LONGEST_WAIT))
        raise AssertionError("the last try returns or raises")

    def _unreachable(self, error: httpx.TransportError) -> ServiceUnreachable:
        reason = str(error).rstrip(".")
        return ServiceUnreachable(f"Nobody answers at {self._http.base_url}: {reason}.")


def _at(stream: str, *parts: str | int) -> str:
    for part in (stream, *parts):  # as part of an address these mean another place
        require(part not in ("", ".", ".."), "name", "be one that an address can hold", part)
    return "/".join(["/v1/streams", *(quote(str(part), safe="") for part in (stream, *parts))])


def _sample(sample: Any, features: Sequence[str], label: str | None) -> list[dict[str, Any]]:
    """The people of a list or a table, with their features and labels and nothing else."""
    wanted = [*features, *([] if label is None else [label])]
    people = [{name: person[name] for name in wanted if name in person} for person in _people(sample)]
    if label is None:
        return people
    known = [person for person in people if label not in person or not _is_missing(person[label])]
    return [person | ({label: _number(person[label])} if label in person else {}) for person in known]


def _people(sample: Any) -> list[Mapping[str, Any]]:
    """The rows of a list of mappings, or of a polars, pyarrow or pandas table."""
    for method, arguments in (("to_dicts", ()), ("to_pylist", ()), ("to_dict", ("records",))):
        if hasattr(sample, method):
            return list(getattr(sample, method)(*arguments))
    return list(sample)


def _is_missing(value: Any) -> bool:
    return value is None or bool(value != value)


def _number(label: Any) -> Any:
    """A label, True and False as 1 and 0."""
    value = label.item() if hasattr(label, "item") else label
    return int(value) if isinstance(value, bool) else value


def _written(body: Any) -> bytes:
    """A body as JSON; the numbers of NumPy, which models give, as plain ones."""
    try:
        return json.dumps(body, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"What is sent must be plain text and finite numbers: {error}.") from None


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"got a {type(value).__name__}")


def _for_its_owner(path: str, flags: int) -> int:
    """Open a file that, if it is new, only its owner can read: an export holds people's features."""
    return os.open(path, flags, 0o600)


def _backoff(tried: int) -> float:
    """Twice as long each time, with some randomness, so that many clients don't come back at once."""
    return min(random.uniform(0.05, 0.1) * float(2**tried), LONGEST_BACKOFF)


def _asked_for(answer: httpx.Response) -> float | None:
    """Seconds after which the service wants to be asked again, if it says so as a number."""
    seconds = answer.headers.get("retry-after", "")
    return float(seconds) if seconds.isdecimal() else None


def _passes(answer: httpx.Response) -> bool:
    """Whether it may be different in a moment; a stream that somebody stopped won't be."""
    return answer.status_code in PASSING and _problem(answer).get("title") != "Stopped"


def _answer(answer: httpx.Response) -> dict[str, Any]:
    if not answer.is_success:
        raise _refusal(answer)
    content = _object(answer) if answer.content else {}
    if content is None:
        raise ServiceUnreachable(f"Something other than the service answers at {answer.url.copy_with(path='/')}.")
    return content


def _refusal(answer: httpx.Response) -> ServiceRefused:
    return ServiceRefused(answer.status_code, _problem(answer))


def _problem(answer: httpx.Response) -> dict[str, Any]:
    """The problem in an answer; something in between may have answered in its own words."""
    return _object(answer) or {}


def _object(answer: httpx.Response) -> dict[str, Any] | None:
    """The JSON object in an answer, if there is one."""
    try:
        value = answer.json()
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
