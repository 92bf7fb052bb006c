"""Timestamping: an authority outside stamps the checkpoints of a service, while it runs.

It is asked in a thread of its own, once an hour for each stream that has moved on, so nobody waits for it. Its answer
is kept in the file of checkpoints, beside the checkpoint; ``likewise.service.proof.stamps`` checks it.
"""

from __future__ import annotations

import base64
import logging
import threading
import time
from collections.abc import Callable, Sequence

import httpx

from likewise.errors import InvalidParameter
from likewise.service.engine import Engine
from likewise.service.live.stream import LiveStream
from likewise.service.log.checkpoints import point
from likewise.service.redaction import error_kind
from likewise.service.stream.events import stamp
from likewise.transparency.timestamps import Question

log = logging.getLogger(__name__)
EVERY = 3600.0
"""Seconds between two stamps of a stream."""
PATIENCE = 20.0
"""Seconds that the authority has to answer."""
Post = Callable[[str, bytes], bytes]
"""From an address and a question to the answer."""


class Timestamping:
    """Has checkpoints stamped; called by the clock, which it doesn't keep waiting.

    Parameters
    ----------
    engine
        Whose logs they are.
    url
        Where the authority is; nobody is asked if it is empty.
    post
        Sends a request.
    """

    def __init__(self, engine: Engine, url: str, post: Post | None = None) -> None:
        self._engine, self._url, self._post = engine, url, post or _post
        self._asked: dict[str, tuple[int, float]] = {}
        self._thread: threading.Thread | None = None
        if url:
            Question("whether the package is there")

    def __call__(self) -> None:
        """Ask about what is due, unless the last question has not been answered yet."""
        if not self._url or self._engine.checkpoints is None or (self._thread and self._thread.is_alive()):
            return
        due = [live for live in self._engine.streams.loaded() if self._due(live)]
        if due:
            self._thread = threading.Thread(target=self.ask, args=(due,), name="likewise-timestamps", daemon=True)
            self._thread.start()

    def ask(self, streams: Sequence[LiveStream]) -> None:
        """Have some streams stamped, one after another; if the authority is away, the others wait."""
        for live in streams:
            tree = live.durable.tree
            self._asked[live.name] = tree.size, time.monotonic()
            note = self._engine.signer.checkpoint(live.name, tree)
            question = Question(note.text)
            try:
                answer = self._post(self._url, question.to_bytes())
                question.require_answered(answer)
            except (httpx.HTTPError, OSError) as error:
                log.warning("The authority for timestamps did not answer: %s", error_kind(error))
                return
            except InvalidParameter as error:
                log.warning("The authority for timestamps did not stamp %r: %s", live.name, error)
                continue
            fact = point(live.name, stamp(self._engine.clock()), self._engine.signer.public_key, note)
            assert self._engine.checkpoints is not None, "nobody is asked without a place for the answer"
            self._engine.checkpoints.write([fact | {"timestamp": base64.b64encode(answer).decode()}])

    def _due(self, live: LiveStream) -> bool:
        size, at = self._asked.get(live.name, (0, -EVERY))
        return live.durable.seq > size and time.monotonic() - at >= EVERY and self._engine.owns(live)


def _post(url: str, question: bytes) -> bytes:
    answer = httpx.post(
        url, content=question, headers={"content-type": "application/timestamp-query"}, timeout=PATIENCE
    )
    return answer.raise_for_status().content
