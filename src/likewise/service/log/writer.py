"""One writer for everybody: a thread, which runs writes in as few transactions as it can, or an event loop itself.

While one transaction is on its way to the disk, the writes of other threads queue up and share the next one: eight
clients pay for one sync, not for eight. Works of an event loop wait until a turn of it brings no more of them, as a
transaction costs more than a work does, also without a disk. A write that fails takes no other down: its transaction
is undone and each write of it is tried again alone. Only if a commit itself fails can nobody know whether it happened;
then all of its writes are told so, and whoever sent an idempotency key asks again.

What is one statement to the database is a transaction by itself: it needs no ways to the server and back to begin and
to end one. If the connection breaks meanwhile, that is a commit that failed. An event loop can send such a statement
itself (``wire``), if nothing else waits; the thread does the rest. Only one of the two uses a connection at a time.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from likewise.service.redaction import error_kind
from likewise.service.refusals import Unavailable

if TYPE_CHECKING:
    from likewise.service.log.wire import End, Wire

log = logging.getLogger(__name__)
Work = TypeVar("Work")
TOGETHER = 256
"""At most so many writes share a transaction, or one group of them."""
GATHERED = 8
"""So many works of an event loop wait for no more."""
SENT = 3
"""So many works are sent at once where the event loop itself sends them: then it decides while the server works."""


class Statement(NamedTuple):
    """Works as a single statement of PostgreSQL: its text, what stands for its parameters, and what each work gives."""

    text: str
    values: list[bytes]
    results: list[Any]


class Group(Generic[Work]):
    """Works that were handed in together, and what comes of each.

    Attributes
    ----------
    jobs
        Each work, with what will be known of it.
    ready
        The same works with what could be computed before their turn, if it was; good only if all of them become
        durable together.
    statement
        As one statement, if the event loop may send them.
    """

    def __init__(self, *jobs: tuple[Work, Future[Any]]) -> None:
        self.jobs = list(jobs)
        self.ready: Sequence[Work] | None = None
        self.statement: Statement | None = None

    @property
    def works(self) -> Sequence[Work]:
        """What is to be carried out."""
        ready = self.ready  # looked at once: the event loop may be getting it ready at this moment
        return [work for work, _ in self.jobs] if ready is None else ready


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
    prepare
        Computes for some works what needs no transaction: on the event loop that hands them in, as the lock of Python
        then stays with one thread. ``carry_out`` does it for works that were not prepared.
    statement
        Spells works that are prepared, and a single statement, for PostgreSQL.
    """

    def __init__(
        self,
        engine: Engine,
        carry_out: Callable[[Connection, Sequence[Work]], list[Any]],
        one_statement: Callable[[Sequence[Work]], bool] = lambda works: False,
        prepare: Callable[[Sequence[Work]], Sequence[Work]] = lambda works: works,
        statement: Callable[[Sequence[Work]], Statement | None] = lambda works: None,
    ) -> None:
        self._engine = engine
        self._carry_out = carry_out
        self._one_statement = one_statement
        self._prepare = prepare
        self._statement = statement
        self._groups: deque[Group[Work]] = deque()
        self._open: Group[Work] | None = None
        """The last group, while the event loop adds to it."""
        self._woken = threading.Event()
        self._gathering: asyncio.AbstractEventLoop | None = None
        self._turn = threading.Lock()
        """Held by whoever uses the connections: the thread, or the event loop while it has a statement under way."""
        self._connections: dict[bool, Connection] = {}
        self._wire: Wire | None = None
        self._unknown: set[str] = set()
        """Statements that the event loop could not send, as the server doesn't know them yet."""
        self._under_way: Group[Work] | None = None
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
            if wake or self._open is None:
                self._open = Group()
                self._groups.append(self._open)
            self._open.jobs.append((work, future))
            if wake:
                self._open = None
        if wake:
            self.wake()
        elif self._gathering is not None and self._gathered() >= SENT and self._wire is not None:
            self._hand_over(self._gathering)
        return future

    def wake(self) -> None:
        """Let the writer look for works."""
        if self._groups:
            self._woken.set()

    def wake_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        """The same once a turn of this event loop brings no more works; said on the loop, before the works."""
        if self._gathering is not loop:
            self._gathering = loop
            loop.call_soon(self._gather, loop, self._gathered())

    def _gathered(self) -> int:
        group = self._open
        return 0 if group is None else len(group.jobs)

    def _gather(self, loop: asyncio.AbstractEventLoop, before: int) -> None:
        waiting = self._gathered()
        if before < waiting < GATHERED:
            loop.call_soon(self._gather, loop, waiting)
        else:
            self._gathering = None
            self._hand_over(loop)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have what was gathered written: by this loop itself if it can, else by the thread."""
        if self._under_way is not None:
            return  # once that is over
        with self._lock:
            group, self._open = self._open, None
        if group is not None:
            self._make_ready(group)
            if not self._sent(loop, group):
                self.wake()

    def _make_ready(self, group: Group[Work]) -> None:
        """Prepare works while nobody adds to them; the thread may take them meanwhile, as they were."""
        with suppress(Exception):  # the thread fails in the same way, and tells whoever waits
            ready = self._prepare([work for work, _ in group.jobs])
            if self._wire is not None and self._one_statement(ready):
                group.statement = self._statement(ready)
            group.ready = ready

    def _sent(self, loop: asyncio.AbstractEventLoop, group: Group[Work]) -> bool:
        """Send a group from the loop itself; not if anything is in doubt, or others wait too."""
        statement = group.statement
        if statement is None or self._closed or not self._turn.acquire(blocking=False):
            return False
        wire = self._wire
        if wire is not None and wire.quiet:
            if not wire.knows(statement.text):
                self._unknown.add(statement.text)
            elif self._taken(group):
                self._under_way = group
                wire.send(loop, statement.text, statement.values, functools.partial(self._ended, loop, statement))
                return True
        self._turn.release()
        return False

    def _taken(self, group: Group[Work]) -> bool:
        """Take a group, unless others wait too: then the thread writes all of them, in their order."""
        with self._lock:
            if len(self._groups) != 1 or self._groups[0] is not group:
                return False
            self._groups.popleft()
            return True

    def _ended(self, loop: asyncio.AbstractEventLoop, statement: Statement, end: End) -> None:
        """What the loop had under way is over. If it was refused, the thread tries again, and finds out why."""
        group, self._under_way = self._under_way, None
        assert group is not None, "it was under way"
        try:
            if end == "refused":
                with self._lock:
                    self._groups.appendleft(Group(*group.jobs))
            elif end == "unknown":
                self._disconnect(broken=True)
        finally:
            self._turn.release()
        if end == "refused":
            self.wake()
        elif end == "unknown":
            log.error("A write failed: the connection to the database was lost.")
            lost = Unavailable("The database did not accept the write: the connection was lost.")
            for _, future in group.jobs:
                future.set_exception(lost)
        else:
            for (_, future), result in zip(group.jobs, statement.results, strict=True):
                future.set_result(result)
        if self._gathering is None and loop.is_running():
            self._hand_over(loop)

    def close(self) -> None:
        """Finish what was handed in, then stop."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        with suppress(RuntimeError):  # there is no loop here
            wire = self._wire
            if wire is not None and wire.looked_after(asyncio.get_running_loop()):
                wire.wait()  # the loop can't hear of it while it waits for us
        self._woken.set()
        self._thread.join()

    def _run(self) -> None:
        over = False
        while not over:
            self._woken.wait()
            self._woken.clear()
            self._take_turn()
            try:
                self._write_waiting()
                self._teach()
                over = self._closed
                if over:
                    self._finish()
            finally:
                self._turn.release()

    def _take_turn(self) -> None:
        """Wait until no statement of the event loop is under way, or for the statement if its loop has ended."""
        while not self._turn.acquire(timeout=1.0):
            wire = self._wire
            if wire is not None and wire.abandoned:
                wire.wait()

    def _write_waiting(self) -> None:
        with self._lock:  # those that come from here on are gathered first
            groups, self._open = list(self._groups), None
            self._groups.clear()
        for some in _shared(groups):
            self._write(some)

    def _teach(self) -> None:
        """Have the server read the statements that the event loop is going to send."""
        while self._unknown:
            statement = self._unknown.pop()
            if self._wire is not None:
                self._wire.learn(statement)

    def _finish(self) -> None:
        """Nobody hands in anything any more."""
        while self._groups:
            self._write_waiting()
        self._disconnect()

    def _write(self, groups: Sequence[Group[Work]], *, again: bool = True) -> None:
        jobs = [job for group in groups for job in group.jobs]
        try:
            results = self._transaction([work for group in groups for work in group.works])
        except Unavailable as error:  # whether it was committed is not known: nobody may try again in their name
            for _, future in jobs:
                future.set_exception(error)
        except Exception as error:
            if len(jobs) > 1:
                for job in jobs:
                    self._write([Group(job)])
            elif again and _lost(error):
                self._write(groups, again=False)
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
        if alone and self._wire is not None and not self._wire.quiet:
            self._disconnect(broken=True)  # now it is known that nothing was carried out
        if alone not in self._connections:
            connection = self._engine.connect()
            if alone:
                connection = connection.execution_options(isolation_level="AUTOCOMMIT")
                self._wire = _wire(connection)
            self._connections[alone] = connection
        return self._connections[alone]

    def _disconnect(self, *, broken: bool = False) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()
        while self._connections:
            connection = self._connections.popitem()[1]
            if broken:
                connection.invalidate()  # or what the driver says of it would be logged
            connection.close()


def _shared(groups: Iterable[Group[Work]]) -> Iterator[list[Group[Work]]]:
    """Groups that share a transaction each."""
    some: list[Group[Work]] = []
    works = 0
    for group in groups:
        if some and works + len(group.jobs) > TOGETHER:
            yield some
            some, works = [], 0
        some.append(group)
        works += len(group.jobs)
    if some:
        yield some


def _wire(connection: Connection) -> Wire:
    from likewise.service.log.wire import Wire  # with the driver of PostgreSQL, which SQLite needs nothing of

    driver: Any = connection.connection.dbapi_connection
    return Wire(driver)


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
