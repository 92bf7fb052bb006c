"""Live streams: the state of each log in memory, and the one way to add to it.

A command is decided and its events are numbered under the stream's lock, where nothing waits for a disk; the state
moves on at once, and the caller is answered when the events are durable. So commands of one stream share the sync of
one transaction, and the learner never computes while anybody holds the database. If another process was faster, the
database refuses; then the state goes back to what is durable, reads on, and the command is decided again.
"""

from __future__ import annotations

import asyncio
import functools
import heapq
import logging
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import anyio.to_thread
from sqlalchemy.exc import IntegrityError

from likewise.errors import LikewiseError
from likewise.service.canonical import GENESIS
from likewise.service.log import Append, Idempotency, KeyTaken, Store
from likewise.service.log.chain import Sealed, seal
from likewise.service.log.snapshots import Snapshots
from likewise.service.redaction import kind
from likewise.service.refusals import BrokenLog, KeyReused, SequenceConflict, Unavailable, Unknown
from likewise.service.stream import snapshot
from likewise.service.stream.commands import Command
from likewise.service.stream.rounds import decide, evolve
from likewise.service.stream.state import State

log = logging.getLogger(__name__)
ATTEMPTS = 200
"""How often a command is decided again when other processes keep being faster."""
SNAPSHOT_EVERY = 2000
"""Events between two snapshots, at least."""
RECENT = 10_000
"""Keys remembered in memory, so that a request sent again doesn't send back all that were decided after it."""
PAGE = 1000
"""Events read at once."""


class Position(NamedTuple):
    """A state, and the place in the log that it belongs to."""

    state: State
    seq: int
    hash: str


START = Position(State(), 0, GENESIS)


class Outcome(NamedTuple):
    """What a command led to: the states before and after, and the events, already in their places."""

    before: State
    after: State
    sealed: Sequence[Sealed]


class Attempt(NamedTuple):
    """Events on their way to the disk, and the answer to give once they are there."""

    sealed: Sequence[Sealed]
    reply: dict[str, Any]
    after: Position
    generation: int
    key: Idempotency | None
    future: Future[None] | None = None


@dataclass(frozen=True)
class Task:
    """A command to be decided when its turn comes.

    Attributes
    ----------
    command
        From the state of that moment to the command.
    reply
        From its outcome to plain JSON values, for the caller and for whoever sends the same key again.
    key
        The idempotency key, if one was given.
    extra
        What else belongs into the ``likewise.service.log.Append``; asked after ``command``.
    """

    command: Callable[[State], Command]
    reply: Callable[[Outcome], dict[str, Any]]
    key: Idempotency | None = None
    extra: Callable[[], dict[str, Any]] = field(default=dict)


class Live:
    """One stream in memory. ``latest`` may be ahead of the disk by what is on its way there; ``durable`` is not."""

    def __init__(self, name: str, store: Store, check: Callable[[str], None]) -> None:
        self.name = name
        self._check = check
        self.lock = threading.RLock()
        self.latest = START
        self.durable = START
        self._store = store
        self._generation = 0
        self._under_way: dict[tuple[str, str], Future[None]] = {}
        self._recent: dict[tuple[str, str], None] = {}
        self._last: Future[None] | None = None
        self._due: list[tuple[float, int]] = []
        self._look_again = False
        self._marking = threading.Lock()
        self._saved = 0
        self._loaded = False

    # Reading ------------------------------------------------------------------------------------------------------

    @property
    def loaded(self) -> bool:
        """Whether its log was read, and is what was signed."""
        return self._loaded

    def load(self) -> None:
        """Read the log, once: from the newest snapshot on, or from the start."""
        if self._loaded:
            return
        with self.lock:
            if self._loaded:  # by who held the lock
                return
            self._from_snapshot()
            self.catch_up()
            if self.latest.seq > 0:
                self._check(self.name)
            self._loaded = True
            self._schedule_all(self.latest.state)

    def _from_snapshot(self) -> None:
        found = Snapshots(self._store).latest(self.name, snapshot.FORMAT)
        if found is None:
            return
        seq, hash, data = found
        try:
            self.durable = self.latest = Position(snapshot.load(data), seq, hash)
            self._saved = seq
        except (KeyError, TypeError, ValueError, IndexError) as error:
            log.warning("The snapshot of %r is unreadable (%s): its log is read anew.", self.name, kind(error))

    def catch_up(self) -> bool:
        """Read what other processes wrote; whether there was anything."""
        with self.lock:
            before = self.latest.hash
            while page := self._store.events(self.name, self.latest.seq, PAGE, asides=True):
                if page[0].prev != self.latest.hash and self.latest.hash != self.durable.hash:
                    self._go_back()
                    continue
                _require_chain(self.latest, page)
                self.latest = self._followed(self.latest, page)
                with self._marking:
                    self.durable = self.latest
            return self.latest.hash != before

    def settle(self) -> None:
        """Wait until everything on its way is durable, or has failed."""
        with self.lock:
            last = self._last
        if last is not None and last.exception() is not None:
            with self.lock:
                # Whoever waited for it may not have come to it yet, or be gone.
                if self._last is last and self.latest.hash != self.durable.hash:
                    self._go_back()
                    self.catch_up()

    def current(self) -> State:
        """The durable state, with what other processes wrote."""
        with self.lock:
            if self.latest.seq == self.durable.seq:
                self.catch_up()
            return self.durable.state

    # Writing ------------------------------------------------------------------------------------------------------

    def do(self, task: Task, now: float) -> dict[str, Any]:
        """Decide a command, make its events durable, and answer; an error, and no event, if it is refused."""
        for attempts in range(ATTEMPTS):
            # A key is new as a rule, and the database keeps keys unique: they are looked up only when in doubt.
            doubtful = attempts > 0 or (task.key is not None and task.key[:2] in self._recent)
            if doubtful and (known := self._answered(task.key)) is not None:
                return known
            generation = self._generation
            try:
                attempt = self._decided(task, now)
            except LikewiseError:
                # The refusal may rest on events that never became durable, or on this very request sent twice, or
                # miss events of another process.
                self.settle()
                if (known := self._answered(task.key)) is not None:
                    return known
                with self.lock:
                    if generation == self._generation and not self.catch_up():
                        raise
                continue
            if attempt is None:
                continue
            if attempt.future is None:
                # It changes nothing, which may rest on events that are not durable yet.
                self.settle()
                if (known := self._answered(task.key)) is not None:
                    return known
                if generation == self._generation:
                    return attempt.reply
                continue
            if self._became_durable(attempt):
                return attempt.reply
        raise Unavailable(f"Too many others are writing to the stream {self.name!r}; try again.")

    def do_all(self, tasks: Sequence[Task], now: float) -> None:
        """Some commands that nobody refuses, sharing the syncs of few transactions."""
        begun = [(task, self._decided(task, now)) for task in tasks]
        for task, attempt in begun:
            if attempt is not None and attempt.future is not None and not self._became_durable(attempt):
                self.do(task, now)

    async def do_soon(self, task: Task, now: float) -> dict[str, Any]:
        """The same on an event loop, where a thread of its own would cost a command more than deciding it.

        It is decided on the spot if the stream is free and nothing is in doubt, and only the disk is waited for;
        everything else is done the long way, in a thread.
        """
        attempt = self._begun(task, now)
        if attempt is None or attempt.future is None:
            return await anyio.to_thread.run_sync(self.do, task, now)
        await _done(attempt.future)
        if attempt.future.exception() is None:
            return attempt.reply
        return await anyio.to_thread.run_sync(self._done_again, attempt, task, now)

    def _begun(self, task: Task, now: float) -> Attempt | None:
        if not self.lock.acquire(blocking=False):
            return None
        try:
            # In this order: a key is put among the recent ones before it stops being under way.
            known = task.key is not None and (task.key[:2] in self._under_way or task.key[:2] in self._recent)
            return None if known else self._decided(task, now)
        except LikewiseError:
            return None  # whether the refusal stands is found out the long way
        finally:
            self.lock.release()

    def _done_again(self, attempt: Attempt, task: Task, now: float) -> dict[str, Any]:
        return attempt.reply if self._became_durable(attempt) else self.do(task, now)

    def _answered(self, key: Idempotency | None) -> dict[str, Any] | None:
        """What was answered under this key, waiting for an answer that is on its way."""
        if key is None:
            return None
        future = self._under_way.get(key[:2])
        if future is not None:
            future.exception()
        found = self._store.response(key.scope, key.key)
        if found is None:
            return None
        request, response = found
        with self._marking:
            self._remember(key)
        if response is None:
            raise Unknown(f"What was answered under the key {key.key!r} has been erased.")
        if request != key.request:
            raise KeyReused(f"The idempotency key {key.key!r} was used for a different request; give this one its own.")
        return dict(response)

    def _decided(self, task: Task, now: float) -> Attempt | None:
        """Decide, and hand the events to the writer, in the order of the log.

        None if it has to be begun again: the same key is on its way, or what it was to follow did not become durable.
        """
        with self.lock:
            if task.key is not None and task.key[:2] in self._under_way:
                return None
            before = self.latest
            command = task.command(before.state)
            if self.latest is not before:  # it looked into the log, so it waited for the disk, which may have refused
                return None
            sealed = seal(self.name, before.seq, before.hash, decide(before.state, command, now))
            after = self._followed(before, sealed)
            reply = task.reply(Outcome(before.state, after.state, sealed))
            if not sealed:
                return Attempt(sealed, reply, after, self._generation, task.key)
            future = self._store.submit(Append(sealed, now, task.key, reply, **task.extra()))
            self.latest, self._last = after, future
            attempt = Attempt(sealed, reply, after, self._generation, task.key, future)
            if task.key is not None:
                self._under_way[task.key[:2]] = future
            future.add_done_callback(functools.partial(self._landed, after, task.key))
            return attempt

    def _landed(self, after: Position, key: Idempotency | None, future: Future[None]) -> None:
        """Note what has become of an attempt, even if nobody waits for it any more; a second time changes nothing."""
        # Not handed the attempt: a future that knows itself would stay, with its state, until garbage is looked for.
        with self._marking:
            if future.exception() is None:
                if after.seq > self.durable.seq:
                    self.durable = after
                if key is not None:
                    self._remember(key)
            if key is not None and self._under_way.get(key[:2]) is future:
                del self._under_way[key[:2]]

    def _remember(self, key: Idempotency) -> None:
        self._recent[key[:2]] = None
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]

    def _became_durable(self, attempt: Attempt) -> bool:
        """Wait for the disk; False if the events were refused and the command has to be decided again."""
        assert attempt.future is not None
        try:
            attempt.future.result()
        except (SequenceConflict, KeyTaken):
            self._failed(attempt)
            return False
        except Exception:
            self.look_again()
            self._failed(attempt)
            raise
        # The writer says so too, but only after it has woken us.
        self._landed(attempt.after, attempt.key, attempt.future)
        return True

    def _failed(self, attempt: Attempt) -> None:
        """Go back, once, for all that was decided on top of events that were refused; then read on."""
        with self.lock:
            if attempt.generation == self._generation:
                self._go_back()
                self.catch_up()

    def _go_back(self) -> None:
        """Forget what did not become durable."""
        self._generation += 1
        self.latest = self.durable

    def _followed(self, position: Position, sealed: Sequence[Sealed]) -> Position:
        state = position.state
        for one in sealed:
            state = evolve(state, one.event)
            if self._loaded:
                self._schedule(state, one)
        return Position(state, sealed[-1].seq, sealed[-1].hash) if sealed else position

    # Time ---------------------------------------------------------------------------------------------------------

    def _schedule(self, state: State, sealed: Sealed) -> None:
        """Remember when time alone will change a round that an event was about."""
        if sealed.event.kind == "settings_changed":
            self._schedule_all(state)
        for t in sealed.event.data.get("rounds", [sealed.event.round]):
            self._push(state, t)

    def _push(self, state: State, t: int | None) -> None:
        one = state.rounds.get(t) if t is not None else None
        if one is not None and math.isfinite(due := one.due(state.waits)):
            heapq.heappush(self._due, (due, one.t))

    def _schedule_all(self, state: State) -> None:
        self._due = []
        for t in state.rounds:
            self._push(state, t)

    def look_again(self) -> None:
        """Something that was due, or taken for done, did not become durable: time has to change it once more."""
        self._look_again = True

    def due(self, now: float) -> list[int]:
        """The rounds that time has changed something about, those due first in front."""
        with self.lock:
            if self._look_again:
                self._look_again = False
                self._schedule_all(self.latest.state)
            found: list[int] = []
            while self._due and self._due[0][0] <= now:
                _, t = heapq.heappop(self._due)
                one = self.latest.state.rounds.get(t)
                if one is not None and t not in found:
                    if one.due(self.latest.state.waits) <= now:
                        found.append(t)
                    else:
                        self._push(self.latest.state, t)
            return found

    def save(self, *, always: bool = False) -> bool:
        """Take a snapshot if the last one is far behind; whether one was taken."""
        state, seq, hash = self.durable
        far = seq - self._saved >= max(SNAPSHOT_EVERY, 2 * state.outstanding)  # it holds every open round
        if state.learner is None or seq == self._saved or not (always or far):
            return False
        try:
            Snapshots(self._store).save(self.name, seq, hash, snapshot.FORMAT, snapshot.dump(state))
        except (IntegrityError, Unavailable) as error:  # it is a cache, and another process may be saving its own
            log.warning("No snapshot of %r was taken: %s", self.name, kind(error))
            return False
        self._saved = seq
        return True


async def _done(future: Future[None]) -> None:
    """Wait for the writer, whatever comes of it.

    Not ``asyncio.wrap_future``: leaving would cancel what the writer is about to do, and an error that nobody waits for
    any more would be logged with its words, which may name somebody.
    """
    loop = asyncio.get_running_loop()
    woken = loop.create_future()

    def wake() -> None:
        if not woken.done():
            woken.set_result(None)

    def landed(_: Future[None]) -> None:
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            loop.call_soon_threadsafe(wake)

    future.add_done_callback(landed)
    await woken


def _require_chain(position: Position, page: Sequence[Sealed]) -> None:
    """Refuse to go on from a log that somebody has been at."""
    hash = position.hash
    for sealed in page:
        if sealed.prev != hash:
            raise BrokenLog(
                f"The log of {sealed.stream!r} is broken before event {sealed.seq}: it is not what was written. "
                "`likewise verify` on an export says more."
            )
        hash = sealed.hash


class Streams:
    """The live streams of a store, each read when it is first asked for."""

    def __init__(self, store: Store, check: Callable[[str], None] = lambda name: None) -> None:
        self._store = store
        self._check = check
        self._lock = threading.Lock()
        self._live: dict[str, Live] = {}

    def names(self) -> list[str]:
        """The streams there are."""
        return self._store.streams()

    def loaded(self) -> list[Live]:
        """The streams that were asked for so far."""
        with self._lock:
            return [live for live in self._live.values() if live.loaded]

    def known(self, name: str) -> Live | None:
        """A stream that was read before; None says nothing about whether there is one."""
        live = self._live.get(name)
        return live if live is not None and live.loaded and live.latest.seq > 0 else None

    def get(self, name: str, *, create: bool = False) -> Live:
        """A stream, read up to the head of its log; a new one only if ``create``."""
        with self._lock:
            live = self._live.setdefault(name, Live(name, self._store, self._check))
        live.load()
        if not create and live.latest.seq == 0 and not live.catch_up():
            with self._lock:
                self._live.pop(name, None)
            raise Unknown(f"There is no stream named {name!r}.")
        return live
