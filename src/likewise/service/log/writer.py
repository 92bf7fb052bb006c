"""One writer: a thread that runs everybody's writes in as few transactions as it can.

While one transaction is on its way to the disk, the writes of other threads queue up and share the next one: eight
clients pay for one sync, not for eight. Works of an event loop wait until a turn of it brings no more of them, as a
transaction costs more than a work does, also without a disk. A write that fails takes no other down: its transaction
is undone and each write of it is tried again alone. Only if a commit itself fails can nobody know whether it happened;
then all of its writes are told so, and whoever sent an idempotency key asks again.

What is one statement to the database is a transaction by itself: it needs no ways to the server and back to begin and
to end one. If the connection breaks meanwhile, that is a commit that failed.
"""

from __future__ import annotations

import asyncio
import logging
import select
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from likewise.service.redaction import error_kind
from likewise.service.refusals import Unavailable

log = logging.getLogger(__name__)
Work = TypeVar("Work")
TOGETHER = 256
"""At most so many writes share a transaction."""
GATHERED = 8
"""So many works of an event loop wait for no more."""


class Writer(Generic[Work]):
    """Runs writes in the order in which they were handed in; each is durable when its future is done.

    Parameters
    ----------
    engine
        Makes the connection.
    carry_out
        Does some works within a transaction, in their order, and says what each of them gave.
    one_statement
        Whether some works are a single statement.
    """

    def __init__(
        self,
        engine: Engine,
        carry_out: Callable[[Connection, Sequence[Work]], list[Any]],
        one_statement: Callable[[Sequence[Work]], bool] = lambda works: False,
    ) -> None:
        self._engine = engine
        self._carry_out = carry_out
        self._one_statement = one_statement
        self._jobs: deque[tuple[Work, Future[Any]]] = deque()
        self._woken = threading.Event()
        self._gathering: asyncio.AbstractEventLoop | None = None
        self._connections: dict[bool, Connection] = {}
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="likewise-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work, *, wake: bool = True) -> Future[Any]:
        """Hand in a work; without ``wake``, the caller will hand in more in a moment, and wakes the writer then."""
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise Unavailable("The store is closed.")
            self._jobs.append((work, future))
        if wake:
            self.wake()
        return future

    def wake(self) -> None:
        """Let the writer look for works."""
        if self._jobs:
            self._woken.set()

    def wake_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        """The same once a turn of this event loop brings no more works; said on the loop, before the works."""
        if self._gathering is not loop:
            self._gathering = loop
            loop.call_soon(self._gather, loop, len(self._jobs))

    def _gather(self, loop: asyncio.AbstractEventLoop, before: int) -> None:
        waiting = len(self._jobs)
        if before < waiting < GATHERED:
            loop.call_soon(self._gather, loop, waiting)
        else:
            self._gathering = None
            self.wake()

    def close(self) -> None:
        """Finish what was handed in, then stop."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._woken.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed or self._jobs:
            self._woken.wait()
            self._woken.clear()
            waiting = len(self._jobs)  # those that come meanwhile are gathered first
            for start in range(0, waiting, TOGETHER):
                self._write([self._jobs.popleft() for _ in range(min(TOGETHER, waiting - start))])
        self._disconnect()

    def _write(self, jobs: list[tuple[Work, Future[Any]]], *, again: bool = True) -> None:
        try:
            results = self._transaction([work for work, _ in jobs])
        except Unavailable as error:  # whether it was committed is not known: nobody may try again in their name
            for _, future in jobs:
                future.set_exception(error)
        except Exception as error:
            if len(jobs) > 1:
                for job in jobs:
                    self._write([job])
            elif again and _lost(error):
                self._write(jobs, again=False)
            else:
                jobs[0][1].set_exception(_named(error))
        else:
            for (_, future), result in zip(jobs, results, strict=True):
                future.set_result(result)

    def _transaction(self, works: list[Work]) -> list[Any]:
        """All or nothing, and on disk when it returns; an error of its own if that can't be known."""
        if not works:
            return []
        alone = self._one_statement(works)
        connection = self._connected(alone)
        try:
            transaction = connection.begin()
            try:
                results = self._carry_out(connection, works)
            except BaseException:
                transaction.rollback()
                raise
        except DBAPIError as error:
            if _lost(error):
                self._disconnect()
                if alone:
                    raise _unavailable(error) from error
            raise
        try:
            transaction.commit()
        except DBAPIError as error:
            self._disconnect()
            raise _unavailable(error) from error
        return results

    def _connected(self, alone: bool) -> Connection:
        """A connection for transactions, or one on which each statement is one."""
        if alone and alone in self._connections and _closed(self._connections[alone]):
            self._disconnect()  # now it is known that nothing was carried out
        if alone not in self._connections:
            connection = self._engine.connect()
            if alone:
                connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            self._connections[alone] = connection
        return self._connections[alone]

    def _disconnect(self) -> None:
        while self._connections:
            self._connections.popitem()[1].close()


def _closed(connection: Connection) -> bool:
    """Whether the server has something to say while nothing is asked: as a rule that it is going away."""
    waiting = select.poll()  # unlike `select.select`, for any number of open files
    waiting.register(connection.connection.dbapi_connection.fileno(), select.POLLIN)  # type: ignore[union-attr]
    return bool(waiting.poll(0))


def _lost(error: Exception) -> bool:
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _named(error: Exception) -> Exception:
    """A database that failed is unavailable; anything else is for the caller."""
    return _unavailable(error) if isinstance(error, (OperationalError, InterfaceError)) else error


def _unavailable(error: DBAPIError) -> Unavailable:
    log.error("A write failed: %s", error_kind(error))
    unavailable = Unavailable(f"The database did not accept the write: {type(error.orig).__name__}.")
    unavailable.__cause__ = error
    return unavailable
