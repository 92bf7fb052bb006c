"""Cosigning: witnesses are asked to sign the checkpoints of a service, too, while it runs.

They are asked in a thread of their own, now and then, so that nobody waits for a witness that is away. What they sign
is added to the file of checkpoints, and so to every export.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import httpx

from likewise.errors import InvalidParameter, require
from likewise.service.engine import Engine
from likewise.service.live.stream import LiveStream
from likewise.service.log.checkpoints import point
from likewise.service.redaction import error_kind
from likewise.service.stream.events import stamp
from likewise.transparency.merkle import Frontier
from likewise.transparency.notes import COSIGNATURE, Note, hashes, read_signature, read_verifier_key

log = logging.getLogger(__name__)
EVERY = 10.0
"""Seconds between two checkpoints of a stream that witnesses are asked about."""
PATIENCE = 5.0
"""Seconds that a witness has to answer."""
Post = Callable[[str, str], tuple[int, str]]
"""From an address and a body to the status and the text of the answer."""


class WitnessAddress(NamedTuple):
    """Where a witness is, and the name and key by which its signatures are known."""

    url: str
    name: str
    key: bytes


def witnesses_of(setting: str) -> list[WitnessAddress]:
    """The witnesses in a setting: each an address, a space, and its key; separated by commas.

    Examples
    --------
    >>> witnesses_of("")
    []
    """
    found = []
    for one in filter(None, map(str.strip, setting.split(","))):
        url, _, key = one.partition(" ")
        name, kind, public = read_verifier_key(key.strip())
        require(kind == COSIGNATURE, "witnesses", "have keys of witnesses", key)
        found.append(WitnessAddress(url.rstrip("/"), name, public))
    return found


class Cosigning:
    """Asks witnesses about every stream that has moved on; called by the clock, which it doesn't keep waiting.

    Parameters
    ----------
    engine
        Whose logs they are.
    witnesses
        Who is asked.
    post
        Sends a request.
    """

    def __init__(self, engine: Engine, witnesses: Sequence[WitnessAddress], post: Post | None = None) -> None:
        self._engine, self._witnesses, self._post = engine, list(witnesses), post or _post
        self._asked: dict[str, tuple[int, float]] = {}
        self._known: dict[tuple[str, str], int] = {}
        self._thread: threading.Thread | None = None

    def __call__(self) -> None:
        """Ask about what is due, unless the last question is still on its way."""
        if not self._witnesses or (self._thread is not None and self._thread.is_alive()):
            return
        due = [live for live in self._engine.streams.loaded() if self._due(live)]
        if due:
            self._thread = threading.Thread(target=self.ask, args=(due,), name="likewise-witnesses", daemon=True)
            self._thread.start()

    def ask(self, streams: Sequence[LiveStream]) -> None:
        """Ask every witness about some streams, and keep what they signed."""
        for live in streams:
            tree = live.durable.tree
            note = self._engine.signer.checkpoint(live.name, tree)
            cosigned = note
            for witness in self._witnesses:
                try:
                    cosigned = self._cosigned(live, tree, note, cosigned, witness)
                except (httpx.HTTPError, OSError, InvalidParameter) as error:
                    log.warning("The witness %s did not cosign: %s", witness.name, error_kind(error))
            self._asked[live.name] = tree.size, time.monotonic()
            if cosigned != note:
                self._keep(live.name, cosigned)

    def _due(self, live: LiveStream) -> bool:
        size, at = self._asked.get(live.name, (0, -EVERY))
        return live.durable.seq > size and time.monotonic() - at >= EVERY

    def _cosigned(self, live: LiveStream, tree: Frontier, note: Note, so_far: Note, witness: WitnessAddress) -> Note:
        """The note with the signature of one witness more, if it gave one."""
        place = live.name, witness.name
        for _ in range(2):
            old = self._known.get(place, 0)
            proof = live.tree.consistency(old, tree.size, tree)[2] if 0 < old < tree.size else []
            lines = "".join(f"{part}\n" for part in hashes(proof))
            status, text = self._post(f"{witness.url}/add-checkpoint", f"old {old}\n{lines}\n{note}")
            if status == 409 and text.strip().isdecimal() and int(text) <= tree.size:
                self._known[place] = int(text)
                continue
            break
        if status != 200:
            log.warning("The witness %s did not cosign %r: it answered %d.", witness.name, live.name, status)
            return so_far
        self._known[place] = tree.size
        signatures = [read_signature(line) for line in text.splitlines()]
        genuine = [one for one in signatures if Note(note.text, (one,)).witnessed_by(witness.name, witness.key)]
        return Note(so_far.text, (*so_far.signatures, *genuine))

    def _keep(self, stream: str, note: Note) -> None:
        engine = self._engine
        engine.proofs.cosigned[stream] = str(note)
        if engine.checkpoints is not None:
            engine.checkpoints.write([point(stream, stamp(engine.clock()), engine.signer.public_key, note)])


def _post(url: str, body: str) -> tuple[int, str]:
    answer = httpx.post(url, content=body.encode(), timeout=PATIENCE)
    return answer.status_code, answer.text
