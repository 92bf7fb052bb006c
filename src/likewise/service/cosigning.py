"""Cosigning: witnesses are asked to sign the checkpoints of a service, too, while it runs.

Each is asked in a thread of its own, now and then, so that nobody waits for a witness that is away: not the clock, not
the streams, not the other witnesses. What they sign is added to the file of checkpoints, and so to every export.
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
from likewise.service.refusals import BrokenLog
from likewise.service.stream.events import stamp
from likewise.transparency.merkle import Frontier
from likewise.transparency.notes import COSIGNATURE, Note, hashes, read_note, read_signature, read_verifier_key

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
    witnesses = []
    for entry in filter(None, map(str.strip, setting.split(","))):
        url, _, key = entry.partition(" ")
        name, kind, public = read_verifier_key(key.strip())
        require(kind == COSIGNATURE, "witnesses", "have keys of witnesses", key)
        witnesses.append(WitnessAddress(url.rstrip("/"), name, public))
    return witnesses


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
        self._asked: dict[tuple[str, str], tuple[int, float]] = {}
        self._known: dict[tuple[str, str], int] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._keeping = threading.Lock()

    def __call__(self) -> None:
        """Ask each witness about what is due, unless it has not answered the last question yet."""
        for witness in self._witnesses:
            asking = self._threads.get(witness.name)
            if asking is None or not asking.is_alive():
                self._begin(witness)

    def wait(self, seconds: float) -> None:
        """Until the questions on their way are answered, or so long."""
        for thread in self._threads.values():
            thread.join(seconds)

    def _begin(self, witness: WitnessAddress) -> None:
        due = [live for live in self._engine.streams.loaded() if self._due(live, witness)]
        if due:
            name = f"likewise-witness-{witness.name}"
            self._threads[witness.name] = threading.Thread(target=self.ask, args=(witness, due), name=name, daemon=True)
            self._threads[witness.name].start()

    def ask(self, witness: WitnessAddress, streams: Sequence[LiveStream]) -> None:
        """Ask a witness about some streams, and keep what it signed; once it is found away, the others wait."""
        for live in streams:
            tree = live.durable.tree
            note = self._engine.signer.checkpoint(live.name, tree)
            self._asked[live.name, witness.name] = tree.size, time.monotonic()
            try:
                cosigned = self._cosigned(live, tree, note, witness)
            except (httpx.HTTPError, OSError) as error:
                log.warning("The witness %s did not cosign: %s", witness.name, error_kind(error))
                return
            except (InvalidParameter, BrokenLog) as error:
                log.warning("The witness %s did not cosign %r: %s", witness.name, live.name, error_kind(error))
                continue
            if cosigned != note:
                self._keep(live.name, cosigned)

    def _due(self, live: LiveStream, witness: WitnessAddress) -> bool:
        size, at = self._asked.get((live.name, witness.name), (0, -EVERY))
        return live.durable.seq > size and time.monotonic() - at >= EVERY and self._engine.owns(live)

    def _cosigned(self, live: LiveStream, tree: Frontier, note: Note, witness: WitnessAddress) -> Note:
        """The note with the signature of a witness, if it gave one."""
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
            return note
        self._known[place] = tree.size
        signatures = [read_signature(line) for line in text.splitlines()]
        genuine = [one for one in signatures if Note(note.text, (one,)).witnessed_by(witness.name, witness.key)]
        return Note(note.text, (*note.signatures, *genuine))

    def _keep(self, stream: str, note: Note) -> None:
        """Keep what was signed, together with what others signed of the same checkpoint."""
        engine = self._engine
        with self._keeping:
            before = engine.proofs.cosigned.get(stream)
            if before is not None and (other := read_note(before)).text == note.text:
                new = [signature for signature in note.signatures if signature not in other.signatures]
                note = Note(note.text, (*other.signatures, *new))
            engine.proofs.cosigned[stream] = str(note)
        if engine.checkpoints is not None:
            engine.checkpoints.write([point(stream, stamp(engine.clock()), engine.signer.public_key, note)])


def _post(url: str, body: str) -> tuple[int, str]:
    answer = httpx.post(url, content=body.encode(), timeout=PATIENCE)
    return answer.status_code, answer.text
