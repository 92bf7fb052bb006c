"""Work that reads a whole log, done in the background: a page says how far it is, and shows what was found.

One job of a kind runs for a stream at a time, whichever process was asked; what it found stays until the next one has
found something newer.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from likewise.errors import LikewiseError
from likewise.service.log import Store
from likewise.service.log.tables import jobs
from likewise.service.redaction import redacted

log = logging.getLogger(__name__)
NOTE_EVERY = 1.0
"""Seconds between two notes of how far a job is."""
SILENT = 60.0
"""Seconds after which a job that says nothing counts as gone, with the process that ran it."""
AT_ONCE = 0.5
"""Seconds that a page waits for a job to finish: most are done by then."""


class Job(NamedTuple):
    """The newest job of a kind: whether it still runs and how far it is, and the newest result with its place."""

    runs: bool
    share: float
    failed: str | None
    result: Any
    seq: int | None
    at: float | None
    took: float | None


NONE = Job(False, 0.0, None, None, None, None, None)


class Stopped(LikewiseError):
    """The service is being stopped."""


class Progress:
    """How far a job is: called with the share that is done, from 0 to 1; raises :class:`Stopped` if it is to end.

    Parameters
    ----------
    note
        Writes the share down; asked at most once a second.
    stopping
        Set when the service is being stopped.
    """

    def __init__(self, note: Callable[[float], None], stopping: threading.Event) -> None:
        self._note, self._stopping = note, stopping
        self._noted_at = 0.0

    def __call__(self, share: float) -> None:
        """So much is done."""
        if self._stopping.is_set():
            raise Stopped("The service was stopped before this was done; try again.")
        if time.monotonic() - self._noted_at >= NOTE_EVERY:
            self._noted_at = time.monotonic()
            self._note(min(share, 0.99))


Work = Callable[[Progress], Any]
"""What a job does; its result is a JSON value."""


class Jobs:
    """The jobs of a service.

    Parameters
    ----------
    store
        Where it is noted how far they are.
    clock
        Seconds since 1970.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._stopping = threading.Event()
        self._running: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def find(self, stream: str, kind: str) -> Job:
        """How the newest job of a kind stands."""
        with self._store.read() as connection:
            row = connection.execute(_of(stream, kind)).first()
        if row is None:
            return NONE
        result = None if row.result is None else self._opened(row)
        return Job(
            self._runs(row), row.share, row.failed, result, row.result_seq, row.result_at, row.took
        )  # fmt: skip

    def begin(self, stream: str, kind: str, seq: int, work: Work, wait: float | None = None) -> Job:
        """Begin a job about the log up to event ``seq``, unless one runs; how it stands a moment (``wait``) later."""
        id, now = secrets.token_hex(16), self._clock()
        began = {"id": id, "seq": seq, "begun_at": now, "heard_at": now, "share": 0.0, "failed": None}

        def write(connection: Connection) -> bool:
            row = connection.execute(_of(stream, kind)).first()
            if row is None:
                connection.execute(insert(jobs), [{"stream": stream, "kind": kind} | began])
                return True
            if self._runs(row):
                return False
            takeover = update(jobs).where(
                *_named(stream, kind), jobs.c.id == row.id
            )  # unless another process was faster
            return connection.execute(takeover.values(**began)).rowcount == 1

        try:
            first = self._store.write(write)
        except IntegrityError:
            first = False
        if first:
            progress = Progress(lambda share: self._note(stream, kind, id, share=share), self._stopping)
            arguments = (stream, kind, id, seq, work, progress)
            thread = threading.Thread(target=self._run, args=arguments, name=f"likewise-{kind}")
            with self._lock:
                self._running.add(thread)
            thread.start()
            thread.join(AT_ONCE if wait is None else wait)
        return self.find(stream, kind)

    def _opened(self, row: Any) -> Any:
        """A result, if it is what a job found: pages show it, so nobody else may have written it."""
        kept = json.loads(row.result)
        seal = self._seal(row.stream, row.kind, row.result_seq, kept.get("value")) if isinstance(kept, dict) else ""
        if not seal or not hmac.compare_digest(seal, str(kept.get("seal"))):
            log.error("The result of a %s of %r is not what was found; it is not shown.", row.kind, row.stream)
            return None
        return json.loads(kept["value"])

    def _seal(self, stream: str, kind: str, seq: int | None, value: Any) -> str:
        return self._store.keyed_hash(json.dumps(["job", stream, kind, seq, value]).encode())

    def stop(self) -> None:
        """End what runs; it begins again when somebody asks again."""
        self._stopping.set()
        with self._lock:
            running = list(self._running)
        for thread in running:
            thread.join()

    def _runs(self, row: Any) -> bool:
        return bool(row.share < 1 and row.failed is None and self._clock() - row.heard_at < SILENT)

    def _run(self, stream: str, kind: str, id: str, seq: int, work: Work, progress: Progress) -> None:
        began = self._clock()
        try:
            value = work(progress)
            now = self._clock()
            result = {
                "result": self._sealed(stream, kind, seq, value),
                "result_seq": seq,
                "result_at": now,
                "took": now - began,
            }
            self._note(stream, kind, id, share=1.0, **result)
        except LikewiseError as error:
            self._note(stream, kind, id, failed=str(error))
        except Exception as error:
            log.error("A %s of %r failed: %s", kind, stream, redacted(error))
            self._note(stream, kind, id, failed="Something went wrong. The service's own log says what.")
        finally:
            with self._lock:
                self._running.discard(threading.current_thread())

    def _sealed(self, stream: str, kind: str, seq: int, value: Any) -> str:
        text = json.dumps(value, allow_nan=False)
        return json.dumps({"value": text, "seal": self._seal(stream, kind, seq, text)})

    def _note(self, stream: str, kind: str, id: str, **values: Any) -> None:
        # By its id: a job that was taken for gone must not speak for the one that took its place.
        row = update(jobs).where(*_named(stream, kind), jobs.c.id == id).values(heard_at=self._clock(), **values)
        self._store.write(lambda connection: connection.execute(row) and None)


def _named(stream: str, kind: str) -> tuple[Any, Any]:
    return jobs.c.stream == stream, jobs.c.kind == kind


def _of(stream: str, kind: str) -> Any:
    return select(jobs).where(*_named(stream, kind))
