"""A live stream: its state in memory, and the one way to add to its log.

A command is decided and its events are numbered under the stream's lock, where nothing waits for a disk; the state
moves on at once, and the caller is answered when the events are durable. So commands of one stream share the sync of
one transaction, and the learner never computes while anybody holds the database. If another process was faster, the
database refuses; then the state goes back to what is durable, reads on, and the command is decided again.

Locks, outermost first; whoever holds one takes only those below it:

1. ``LiveStream.lock``, one per stream, reentrant: the order of its log. Whoever holds it may read the database, and a
   command that looks into the log even waits for the writer. The event loop never waits for this lock.
2. The locks inside ``Positions``, the indexes, ``Answers`` and the store's ``Writer``: held for a moment, while
   nothing is waited for or called. No two of them are held at once.

The writer's thread calls ``_landed``, and takes only locks of the second sort: if it waited for a stream's lock, it
would wait for whoever holds that one, who may be waiting for the writer. The lock of ``Streams`` is held alone.
"""

from __future__ import annotations

import asyncio
import functools
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import anyio.to_thread

from likewise.errors import LikewiseError
from likewise.service.canonical import Answer
from likewise.service.live.idempotency import Answers
from likewise.service.live.landing import done
from likewise.service.live.people import PeopleIndex
from likewise.service.live.places import PlaceIndex
from likewise.service.live.position import START, Position, Positions
from likewise.service.live.timers import Timers
from likewise.service.log import Append, Idempotency, KeyTaken, Store
from likewise.service.log.chain import Head, Sealed, seal
from likewise.service.log.snapshots import StreamSnapshots
from likewise.service.log.tree import LogTree, grown
from likewise.service.refusals import SequenceConflict, Unavailable
from likewise.service.stream.commands import Advance, Command
from likewise.service.stream.decide import decide
from likewise.service.stream.events import Event, PersonErased
from likewise.service.stream.state import State

Kind = TypeVar("Kind", bound=Event)
ATTEMPTS = 200
"""How often a command is decided again when other processes keep being faster."""
TOGETHER = 50
"""Rounds that time moves on in one go."""
BOOKS = 30.0
"""Seconds for which a process leaves the books of a stream to another one that writes to it."""


class Outcome(NamedTuple):
    """What a command led to: the states before and after, and the events in their places."""

    before: State
    after: State
    sealed: Sequence[Sealed]

    def event(self, kind: type[Kind]) -> Kind:
        """The first event, which is of this kind."""
        first = self.sealed[0].event
        assert isinstance(first, kind)
        return first


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
    secret
        Of a stream that is created: what its decisions are derived from.
    """

    command: Callable[[State], Command]
    reply: Callable[[Outcome], dict[str, Any]]
    key: Idempotency | None = None
    secret: str | None = None


class Attempt(NamedTuple):
    """A task that was decided: the reply, which gets its receipt with the events. No ``writing`` if there are none."""

    reply: dict[str, Any]
    after: Position
    generation: int
    key: Idempotency | None
    writing: Future[Answer | None] | None

    @property
    def answer(self) -> dict[str, Any]:
        """What to answer, once the events are durable."""
        answer = None if self.writing is None else self.writing.result()
        return Answer(self.reply) if answer is None else answer


class LiveStream:
    """One stream in memory.

    Parameters
    ----------
    name
        Of the stream.
    store
        Where its log is.
    check
        Hears of the stream once its log was read, and refuses one that is not what was signed.
    """

    def __init__(self, name: str, store: Store, check: Callable[[LiveStream], None]) -> None:
        self.name = name
        self.lock = threading.RLock()
        self._store = store
        self._check = check
        self._timers = Timers()
        self.people = PeopleIndex(store, name)
        self.places = PlaceIndex(store, name)
        self.positions = Positions(name, store, self.lock, self._timers, (self.people, self.places))
        self.answers = Answers(store)
        self.snapshots = StreamSnapshots(store, name)
        self.tree = LogTree(store, name)
        self.loaded = False
        """Whether its log was read, and is what was signed."""
        self._looked_at = -1
        self.elsewhere = False
        """Whether another process moves it on and this one doesn't; then the books (``watch``) are the other's."""
        self._watched = 0, 0
        self._kept_at = -math.inf

    # Reading ------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Read the log, once: from the newest snapshot on, or from the start."""
        if self.loaded:
            return
        with self.lock:
            if self.loaded:  # by whoever held the lock
                return
            snapshot = self.snapshots.latest()
            self.positions.begin(
                START if snapshot is None else Position(*snapshot, tree=self.tree.frontier(snapshot[1]))
            )
            if self.latest.seq > 0:
                self._check(self)
            self.loaded = True

    @property
    def latest(self) -> Position:
        """Where the stream stands, with what is on its way to the disk."""
        return self.positions.latest

    @property
    def durable(self) -> Position:
        """Where the stream stands on disk, as far as this process knows."""
        return self.positions.durable

    def current(self) -> State:
        """The durable state, with what other processes wrote."""
        return self.positions.current()

    def idle(self, head: Head, now: float) -> bool:
        """Whether nothing is new since the clock looked: ``head`` is still its last event, and no round is due."""
        known = self.loaded and self.latest.seq == self._looked_at and self.durable[1:3] == head
        return known and not self.positions.cut and self._timers.next() > now

    def look(self, head: Head) -> None:
        """Refuse to go on if the log ends earlier or otherwise than it did, as it was found out or ``head`` says.

        Events may have become durable since somebody asked for the head; so in doubt the log itself is asked.
        """
        seq, hash = self.durable[1:3]
        if self.positions.cut or head.seq < seq or (head.seq == seq and head.hash != hash):
            self.positions.require_there()

    def watch(self, seq: int, now: float) -> None:
        """Note who has moved it on since the last time, up to event ``seq``.

        What is kept beside the log (snapshots, summaries, roots of blocks) is kept by whoever writes to it: if every
        process did so, each would do the work of all. A process that only reads along does it once nobody writes, and
        now and then in case the other one doesn't.
        """
        (before, wrote), written = self._watched, self.positions.written
        recent = 0 <= now - self._kept_at < BOOKS
        self.elsewhere = seq > before and written == wrote and recent
        self._watched = seq, written
        if not self.elsewhere:
            self._kept_at = now

    def overdue(self, now: float) -> float:
        """For how many seconds something has been due that the clock has not done."""
        return self._timers.overdue(self.durable.state, now)

    def require(self, sealed: Sequence[Sealed]) -> None:
        """Refuse events that are not those in the Merkle tree in memory; what is on its way to the disk may be new."""
        if sealed and max(each.seq for each in sealed) > self.durable.seq:
            self.current()
        known = self.durable.tree
        self.tree.require([each for each in sealed if each.seq <= known.size], known)

    def save(self, *, always: bool = False) -> bool:
        """Take a snapshot if the last one is far behind; whether one was taken."""
        return self.snapshots.save(*self.durable[:3], always=always)

    # Writing ------------------------------------------------------------------------------------------------------

    def do(self, task: Task, now: float) -> dict[str, Any]:
        """Decide a command, make its events durable, and answer; an error, and no event, if it is refused."""
        for attempts in range(ATTEMPTS):
            # A key is new as a rule, and the database keeps keys unique: they are looked up only when in doubt.
            if attempts > 0 or self.answers.doubtful(task.key):
                answer = self.answers.find(task.key)
                if answer is not None:
                    return answer
            reply = self._tried(task, now)
            if reply is not None:
                return reply
        raise Unavailable(f"Too many others are writing to the stream {self.name!r} right now; try again.")

    async def do_soon(self, task: Task, now: float) -> dict[str, Any]:
        """The same on an event loop, where a thread of its own would cost a command more than deciding it.

        It is decided on the spot if the stream is free and nothing is in doubt, and only the disk is waited for;
        everything else is done the long way, in a thread.
        """
        # Requests that came together are decided first, so that they share a transaction.
        self._store.wake_soon(asyncio.get_running_loop())
        attempt = self._begun(task, now)
        if attempt is None or attempt.writing is None:
            return await anyio.to_thread.run_sync(self.do, task, now)
        await done(attempt.writing)
        if attempt.writing.exception() is None:
            return attempt.answer
        return await anyio.to_thread.run_sync(self._finish, attempt, task, now)

    def advance(self, now: float) -> int:
        """Do what time has made due, as far as the log was read; how many rounds that was."""
        self._looked_at = self.durable.seq
        with self.lock:
            due = self._timers.due(self.latest.state, now)
        try:
            for start in range(0, len(due), TOGETHER):
                self._advance(due[start : start + TOGETHER], now)
        except Exception:
            self._look_again()  # the rounds that were not reached are due as before
            raise
        return len(due)

    def _advance(self, rounds: Sequence[int], now: float) -> None:
        """Decide all of them first, then wait, so that they share the syncs of few transactions."""
        tasks = [_time_passed(t) for t in rounds]
        for task, attempt in [(task, self._decided(task, now)) for task in tasks]:
            if attempt is not None and attempt.writing is not None:
                self._finish(attempt, task, now)

    def _tried(self, task: Task, now: float) -> dict[str, Any] | None:
        """Decide a command once, and wait for the disk; None if it has to be decided again."""
        generation = self.positions.generation
        try:
            attempt = self._decided(task, now)
        except LikewiseError:
            if self._final(generation, task.key):
                raise
            return None
        if attempt is None:
            return None
        stands = self._final(generation, task.key) if attempt.writing is None else self._became_durable(attempt)
        return attempt.answer if stands else None

    def _final(self, generation: int, key: Idempotency | None) -> bool:
        """Whether a refusal, or that nothing changes, rests on durable facts.

        It may rest on events that never became durable, or on this very request sent twice, or miss events of another
        process.
        """
        self.positions.settle()
        if self.answers.find(key) is not None:
            return False
        with self.lock:
            return generation == self.positions.generation and not self.positions.catch_up()

    def _begun(self, task: Task, now: float) -> Attempt | None:
        """Decide without waiting for anybody; None if that can't be done, or leaves a doubt."""
        if not self.lock.acquire(blocking=False):
            return None
        try:
            return None if self.answers.doubtful(task.key) else self._decided(task, now, wake=False)
        except LikewiseError:
            return None  # whether the refusal stands is found out the long way
        finally:
            self.lock.release()

    def _decided(self, task: Task, now: float, *, wake: bool = True) -> Attempt | None:
        """Decide, and hand the events to the writer, in the order of the log.

        None if it has to be begun again: the same key is on its way, or what it was to follow did not become durable.
        """
        with self.lock:
            if self.answers.under_way(task.key):
                return None
            self.positions.require_uncut()
            before, generation = self.latest, self.positions.generation
            command = task.command(before.state)
            if self.latest is not before:  # it looked into the log, so it waited for the disk, which may have refused
                return None
            decision = decide(before.state, command, now)
            sealed = seal(self.name, before.seq, before.hash, decision.events)
            after = before.then(sealed, decision.after, grown(before.tree, sealed))
            reply = task.reply(Outcome(before.state, after.state, sealed))
            if not sealed:
                return Attempt(reply, after, generation, task.key, None)
            writing = self._store.submit(self._append(task, sealed, reply, now, before, after), wake=wake)
            self.positions.advance(after, sealed, writing)
            self.answers.begin(task.key, writing)
            # Not handed the attempt: a future that knows itself would stay, with its state, until garbage is collected.
            writing.add_done_callback(functools.partial(self._landed, after, task.key))
            return Attempt(reply, after, generation, task.key, writing)

    def _append(
        self, task: Task, sealed: Sequence[Sealed], reply: dict[str, Any], now: float, before: Position, after: Position
    ) -> Append:
        """The write that makes some events, the answer, and what follows from them durable together."""
        last = sealed[-1].event
        if isinstance(last, PersonErased):
            snapshot = self.snapshots.without(last.erased, *after[:3])
            return Append(
                sealed,
                now,
                task.key,
                reply,
                before.tree,
                erase=last.erased,
                erase_rounds=last.rounds,
                snapshot=snapshot,
            )
        return Append(sealed, now, task.key, reply, before.tree, secret=task.secret)

    def _landed(self, after: Position, key: Idempotency | None, writing: Future[Any]) -> None:
        """Note what has become of an attempt, even if nobody waits for it any more; a second time changes nothing."""
        if writing.exception() is None:
            self.positions.landed(after)
        self.answers.end(key, writing)

    def _finish(self, attempt: Attempt, task: Task, now: float) -> dict[str, Any]:
        return attempt.answer if self._became_durable(attempt) else self.do(task, now)

    def _became_durable(self, attempt: Attempt) -> bool:
        """Wait for the disk; False if the events were refused and the command has to be decided again."""
        assert attempt.writing is not None
        try:
            attempt.writing.result()
        except (SequenceConflict, KeyTaken):
            self.positions.undo(attempt.generation)
            return False
        except Exception:
            self.positions.undo(attempt.generation)
            self._look_again()
            raise
        # The writer says so too, but only after it has woken us.
        self._landed(attempt.after, attempt.key, attempt.writing)
        return True

    def _look_again(self) -> None:
        with self.lock:
            self._timers.look_again()


def _time_passed(t: int) -> Task:
    return Task(lambda state: Advance(t), lambda outcome: {})
