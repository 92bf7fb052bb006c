"""A witness: cosigns checkpoints of logs that it knows, if they are consistent with all that it cosigned before.

It speaks C2SP's tlog-witness, so it serves other logs than ours, and other witnesses can serve ours. It remembers one
checkpoint of each log, and signs as tlog-cosignature (cosignature/v1) says. Whoever trusts it knows that it cosigned
no other log of this name. If a log signs two checkpoints of one size, it keeps them: that is a proof of cheating.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from likewise.errors import InvalidParameter, require
from likewise.service.log.signing import Signer
from likewise.storage import write_whole
from likewise.transparency.kept import Kept, evidence
from likewise.transparency.merkle import EMPTY_ROOT, consistent
from likewise.transparency.notes import (
    COSIGNATURE,
    Checkpoint,
    Note,
    checkpoint_of,
    read_hashes,
    read_note,
    verifier_key,
)

log = logging.getLogger(__name__)
MOST_PROOF = 63
"""Lines of a consistency proof, at most."""
MOST_BYTES = 100_000
"""Of a request."""


class Answer(NamedTuple):
    """What a request is answered with."""

    status: int
    text: str = ""
    media_type: str = "text/plain"


class Witness:
    """Remembers and cosigns.

    Parameters
    ----------
    signer
        Its key.
    name
        Under which it signs.
    logs
        Public keys of logs, by their origin; or, ending with a slash, by what their origins begin with.
    folder
        Where the newest checkpoint of each log is kept.
    clock
        Seconds since 1970.
    """

    def __init__(
        self,
        signer: Signer,
        name: str,
        logs: Mapping[str, str],
        folder: Path,
        clock: Callable[[], float] = time.time,
    ) -> None:
        plain = bool(name) and "+" not in name and not any(char.isspace() for char in name)
        require(plain, "name", "be without spaces and plus signs", name)
        self._signer, self.name, self._logs, self._folder = signer, name, dict(logs), folder
        self._clock = clock
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def key(self) -> str:
        """What services and checkers are given, to know it by."""
        return verifier_key(self.name, COSIGNATURE, bytes.fromhex(self._signer.public_key))

    def add(self, body: str) -> Answer:
        """Answer add-checkpoint: signatures, or the reason for none, in the statuses of the protocol."""
        try:
            old, proof, note = _read(body)
            point = checkpoint_of(note)
        except InvalidParameter as error:
            return Answer(400, f"{error}\n")
        key = self._key_of(point.origin)
        if key is None:
            return Answer(404, "This witness does not know that log.\n")
        if not note.signed_by(point.origin, bytes.fromhex(key)):
            return Answer(403, "The checkpoint is not signed with the key of that log.\n")
        if old > point.size:
            return Answer(400, "The old size is larger than the new one.\n")
        with self._lock:  # what is looked up and what is kept belong together
            return self._cosigned(old, proof, note, point, key)

    def newest(self, digest: str) -> Answer:
        """The newest checkpoint that was cosigned, by the hash of its origin."""
        kept = self._kept(digest)
        return Answer(404, "No checkpoint of that log was cosigned.\n") if kept is None else Answer(200, str(kept))

    def _cosigned(self, old: int, proof: list[bytes], note: Note, point: Checkpoint, key: str) -> Answer:
        kept = self._kept(_digest(point.origin))
        known = Checkpoint(point.origin, 0, EMPTY_ROOT) if kept is None else checkpoint_of(kept)
        if old != known.size:
            return Answer(409, f"{known.size}\n", "text/x.tlog.size")
        if point.size == 0 and point.root != EMPTY_ROOT:
            return Answer(422, "An empty log has another root.\n")
        if not consistent(known.size, point.size, known.root, point.root, proof):
            if kept is not None and known.size == point.size:
                self._keep_evidence(Kept(key, kept), Kept(key, note), point)
            return Answer(422, "The checkpoint is not consistent with the one before it.\n")
        log_only = Note(note.text, tuple(line for line in note.signatures if line[0] == point.origin))
        signed = self._signer.cosign(log_only, self.name, int(self._clock()))
        write_whole(self._file(_digest(point.origin)), str(signed))
        return Answer(200, str(Note("", signed.signatures[-1:])).removeprefix("\n"))

    def _keep_evidence(self, older: Kept, newer: Kept, point: Checkpoint) -> None:
        path = self._folder / f"cheating-{_digest(point.origin)[:16]}-{point.size}.json"
        write_whole(path, json.dumps(evidence(older, newer, point.root, []), indent=2) + "\n")
        log.error("The log %s signed two checkpoints of %d events: %s proves it.", point.origin, point.size, path)

    def _key_of(self, origin: str) -> str | None:
        beginnings = (name for name in self._logs if name.endswith("/") and origin.startswith(name))
        return self._logs.get(origin) or next((self._logs[name] for name in beginnings), None)

    def _kept(self, digest: str) -> Note | None:
        file = self._file(digest)
        return read_note(file.read_text(encoding="utf-8")) if file.exists() else None

    def _file(self, digest: str) -> Path:
        require(len(digest) == 64 and digest.isalnum(), "origin", "be a hash", digest[:80])
        return self._folder / f"{digest}.note"


def _digest(origin: str) -> str:
    return hashlib.sha256(origin.encode()).hexdigest()


def _read(body: str) -> tuple[int, list[bytes], Note]:
    """Old size, consistency proof and checkpoint of a request."""
    head, _, note = body.partition("\n\n")
    first, *lines = head.split("\n")
    size = first.removeprefix("old ")
    plain = size.isascii() and size.isdecimal() and len(size) < 17 and first == f"old {int(size)}"
    require(plain, "old", "be a size, in a line of its own", first[:60])
    require(len(lines) <= MOST_PROOF, "proof", f"have at most {MOST_PROOF} lines", len(lines))
    return int(size), read_hashes(lines), read_note(note)


def witness_app(witness: Witness) -> Starlette:
    """The witness over HTTP."""

    async def add(request: Request) -> Response:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_BYTES:
                return Response("Too long.\n", 413)
        text = body.decode(errors="replace")
        return _response(await run_in_threadpool(witness.add, text))

    async def newest(request: Request) -> Response:
        try:
            return _response(await run_in_threadpool(witness.newest, request.path_params["digest"]))
        except InvalidParameter as error:
            return Response(f"{error}\n", 400)

    routes = [Route("/add-checkpoint", add, methods=["POST"]), Route("/{digest}/checkpoint", newest)]
    return Starlette(routes=routes)


def _response(answer: Answer) -> Response:
    return Response(answer.text, answer.status, headers={"Content-Type": answer.media_type})
