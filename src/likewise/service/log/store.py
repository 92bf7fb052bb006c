"""The store: append to the log, and read it again."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    ScalarSelect,
    Select,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
)

from likewise.service.canonical import Answer, dumps, in_place_of_people, loads, people_root
from likewise.service.log import scrub, tables
from likewise.service.log.append import (
    Append,
    Receipts,
    Work,
    answered,
    are_one_statement,
    as_statement,
    carry_out,
    chunks,
)
from likewise.service.log.chain import NOTHING, Head, Sealed, hash_of
from likewise.service.log.connections import (
    address,
    explained,
    file_identity,
    lock_migrations,
    make_private,
    readers,
    room,
    writers,
)
from likewise.service.log.responses import KeyedHash, require_genuine, seal_again
from likewise.service.log.writer import Statement, Writer
from likewise.service.refusals import BrokenLog, Unavailable
from likewise.service.stream.events import (
    Aside,
    LabelsBooked,
    LearnerCheckpointed,
    PersonErased,
    RoundOpened,
    read_event,
    seconds,
)
from likewise.service.stream.events.event import VERSION, WrittenBefore

Result = TypeVar("Result")
PAGE = 1000
"""Events read at once."""
FEW = 20
"""References that the database looks for by itself."""

ANSWERED = select(tables.responses).where(
    tables.responses.c.scope == bindparam("scope"), tables.responses.c.key == bindparam("key")
)
"""Asked with every key, so built once."""


def _of_the_last(column: Column[Any]) -> ScalarSelect[Any]:
    """What the last event of a stream says: one step down an index.

    A subquery for each column, as no planner can take it for a join and read a whole log.
    """
    log = tables.events.c
    newest = select(column).where(log.stream == tables.streams.c.stream)
    return newest.order_by(log.seq.desc()).limit(1).scalar_subquery()


HEADS = select(tables.streams.c.stream, _of_the_last(tables.events.c.seq), _of_the_last(tables.events.c.hash)).order_by(
    tables.streams.c.stream
)
"""Asked at every look of the clock."""


class Store:
    """The log of every stream, and what is kept beside it.

    Parameters
    ----------
    database
        A path or ``sqlite:///…``; or ``postgresql://…``.
    """

    def __init__(self, database: str | Path) -> None:
        self.url = address(database)
        self.keyed_hash: KeyedHash = lambda content: hashlib.sha256(content).hexdigest()
        """What seals the caches; the engine puts a hash with the service's key in its place."""
        self.receipts: Receipts | None = None
        """What makes receipts for events; the engine puts its signer there."""
        self.failing = False
        """Whether the database did not accept the last events."""
        self._erased_before: str | None = None
        self._identity: tuple[int, int] | None = None
        self._readers = readers(self.url, self.require_same_file)
        self._writers = writers(self.url, self.require_same_file)
        self._writer: Writer[Work] = Writer(
            self._writers, self._carry_out, self._is_one_statement, self._prepared, self._as_statement
        )

    @property
    def dialect(self) -> str:
        """sqlite or postgresql."""
        return self._readers.dialect.name

    def migrate(self) -> None:
        """Bring the tables up to date; several processes may ask at once."""
        from likewise.service.log.migrations import upgrade

        make_private(self.url)
        with explained(self.url), self._writers.begin() as connection:
            lock_migrations(connection)
            upgrade(connection)
        self._identity = file_identity(self.url)

    def require_same_file(self) -> None:
        """Refuse to go on with a SQLite file that has no name any more: what is written there would be lost."""
        if self._identity is not None and file_identity(self.url) != self._identity:
            raise Unavailable(
                "The file of the database was removed or replaced while the service ran. Stop the service, and put the "
                "file back."
            )

    def close(self) -> None:
        """Finish what was handed in, and let go of the database."""
        self._writer.close()
        self._readers.dispose()
        self._writers.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing ------------------------------------------------------------------------------------------------------

    def submit(self, append: Append, *, wake: bool = True) -> Future[Answer | None]:
        """Hand in an append; it is on disk when the future is done, and what it answers has its receipt.

        Without ``wake``, that is begun with ``wake``.

        The future fails with ``SequenceConflict`` if its first event doesn't follow the log's last one, and with
        ``KeyTaken`` if its idempotency key was used meanwhile. Then nothing of it was written.
        """
        future = self._writer.submit(append, wake=wake)
        future.add_done_callback(self._heard)
        return future

    def _heard(self, appended: Future[Answer | None]) -> None:
        self.failing = isinstance(appended.exception(), Unavailable)

    def wake(self) -> None:
        """Begin with what was handed in."""
        self._writer.wake()

    def wake_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin once the event loop has nothing more to hand in."""
        self._writer.wake_soon(loop)

    def append(self, append: Append) -> None:
        """The same, waiting until it is on disk."""
        self.submit(append).result()

    def write(self, write: Callable[[Connection], Result]) -> Result:
        """Run any other write (tokens, leases, snapshots) on the writer, and wait until it is on disk."""
        return self.hand_in(write).result()

    def hand_in(self, write: Callable[[Connection], Result]) -> Future[Result]:
        """The same without waiting."""
        return self._writer.submit(write)

    def scrub(self, *, again: bool = False) -> bool:
        """Get what was erased out of the database's files; ``again`` if something was erased just now.

        False if somebody still reads the old pages. It doesn't wait for them, as nobody could write meanwhile.
        """
        if self.dialect == "sqlite":
            return scrub.sqlite(self._writers)
        if again or self._erased_before is None:
            self._erased_before = scrub.now(self._writers)
            return False  # whoever is reading at this moment shall finish first
        return scrub.postgresql(self._writers, self._erased_before)

    def room(self) -> float:
        """Bytes that are free on the disk of the database; infinite where only its server knows."""
        return room(self.url)

    def tidy(self) -> None:
        """Move what was written from SQLite's side file into the database, which nobody has to wait for.

        Left to itself, SQLite would do it within a commit now and then, and everybody waits for that one.
        """
        if self.dialect == "sqlite":
            with self.read() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    def forget_responses(self, before: float) -> None:
        """Drop what was answered under keys before a time (seconds): a key is good for a while, not for ever."""
        old = delete(tables.responses).where(tables.responses.c.at < before)
        self.write(lambda connection: connection.execute(old) and None)

    def seal_responses_again(self, old: KeyedHash, new: KeyedHash) -> None:
        """Seal what was answered under keys with another key of the service."""
        after: tuple[str, str] | None = ("", "")
        while after is not None:
            after = self.write(functools.partial(seal_again, old=old, new=new, after=after))

    def _carry_out(self, connection: Connection, works: Sequence[Work]) -> list[Any]:
        self.require_same_file()
        return carry_out(connection, works, self.keyed_hash, self.receipts)

    def _prepared(self, works: Sequence[Work]) -> Sequence[Work]:
        return answered(works, self.receipts)

    def _is_one_statement(self, works: Sequence[Work]) -> bool:
        return self.dialect == "postgresql" and are_one_statement(works)

    def _as_statement(self, works: Sequence[Work]) -> Statement:
        return as_statement(works, self.keyed_hash, self._writers.dialect)

    # Reading ------------------------------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for reading, at one moment of the log."""
        with self._readers.connect() as connection:
            yield connection

    def streams(self, holding: str | None = None) -> list[str]:
        """The names of all streams, in order; of those that have an event of a kind, if one is given."""
        log, named = tables.events.c, tables.streams.c
        query = select(named.stream).order_by(named.stream)
        if holding is not None:
            query = query.where(exists().where(log.stream == named.stream, log.kind == holding))
        with self.read() as connection:
            return list(connection.scalars(query))

    def heads(self) -> dict[str, Head]:
        """The last event of every stream, in one look: what waits for nothing must cost nothing."""
        with self.read() as connection:
            rows = connection.execute(HEADS)
            return {stream: NOTHING if seq is None else Head(seq, hash) for stream, seq, hash in rows}

    def newest_at(self) -> float:
        """The time of the newest event of all streams, in seconds; infinite if there is none."""
        last = select(_of_the_last(tables.events.c.at).label("at")).select_from(tables.streams).subquery()
        with self.read() as connection:
            at = connection.scalar(select(func.max(last.c.at)))
        return math.inf if at is None else seconds(at)

    def secret(self, stream: str) -> bytes | None:
        """What the decisions of a stream are derived from; None if there is no such stream."""
        query = select(tables.streams.c.secret).where(tables.streams.c.stream == stream)
        with self.read() as connection:
            secret = connection.scalar(query)
        return None if secret is None else bytes.fromhex(secret)

    def head(self, stream: str) -> Head:
        """The last event of a stream."""
        log = tables.events.c
        query = select(log.seq, log.hash).where(log.stream == stream).order_by(log.seq.desc()).limit(1)
        with self.read() as connection:
            row = connection.execute(query).first()
        return NOTHING if row is None else Head(row.seq, row.hash)

    def events(
        self,
        stream: str,
        after: int = 0,
        limit: int = 1000,
        *,
        round: int | None = None,
        kind: str | None = None,
        asides: bool = False,
    ) -> list[Sealed]:
        """Up to ``limit`` events after number ``after``, or all of one round or kind; with asides if asked."""
        log = tables.events.c
        query = _after(stream, after)
        # A round is read whole: without its last events a label that is known would be taken for a new one.
        if round is not None:
            query = query.where(log.round == round)
        if kind is not None:
            query = query.where(log.kind == kind)
        if round is None and kind is None:
            query = query.limit(limit)
        with self.read() as connection:
            events = [_sealed(row) for row in connection.execute(query).all()]
            if asides:
                beside = _beside(connection, events, stream)
                events = [sealed.beside(beside, _promised(connection, sealed, beside)) for sealed in events]
        return events

    def newest(self, stream: str, limit: int, *conditions: ColumnElement[bool]) -> list[Sealed]:
        """The last events that meet all of some conditions, the newest first."""
        query = select(tables.events).where(tables.events.c.stream == stream, *conditions)
        with self.read() as connection:
            rows = connection.execute(query.order_by(tables.events.c.seq.desc()).limit(limit))
            return [_sealed(row) for row in rows]

    def hashes(self, stream: str, after: int, until: int) -> list[str]:
        """The hashes of the events after number ``after`` up to number ``until``, as the log has them."""
        log = tables.events.c
        query = select(log.hash).where(log.stream == stream, log.seq > after, log.seq <= until).order_by(log.seq)
        with self.read() as connection:
            return list(connection.scalars(query))

    def unfiled(self, stream: str, after: int, until: int) -> list[Sealed]:
        """The events from ``after`` up to ``until`` that are about no round; one that is about a round is refused."""
        query = _after(stream, after).where(tables.events.c.round.is_(None), tables.events.c.seq <= until)
        with self.read() as connection:
            return [_sealed(row) for row in connection.execute(query).all()]

    def erasures_of(self, stream: str, refs: Collection[str]) -> list[Sealed]:
        """The erasures that name one of some references; all erasures, where these are many."""
        log = tables.events.c
        query = _after(stream, 0).where(log.kind == PersonErased.kind)
        if len(refs) <= FEW:  # the database looks through the text faster than we read it
            query = query.where(or_(*(log.data.contains(ref, autoescape=True) for ref in sorted(refs))))
        with self.read() as connection:
            return [_sealed(row) for row in connection.execute(query).all()]

    def numbered(self, stream: str, numbers: Sequence[int]) -> list[Sealed]:
        """Some events by their numbers, in the order of the log; those that are there."""
        found: list[Sealed] = []
        for some in chunks(sorted(numbers)):
            with self.read() as connection:
                rows = connection.execute(_after(stream, 0).where(tables.events.c.seq.in_(some)))
                found += [_sealed(row) for row in rows]
        return found

    def exported(self, stream: str, after: int = 0, limit: int = 1000) -> list[Exported]:
        """The same as lines of an export. What was written is one spelling already, so nothing is spelt again."""
        log = tables.events.c
        columns = select(log.seq, log.at, log.data, log.hash, log.kind, log.prev, log.version, log.round)
        query = columns.where(log.stream == stream, log.seq > after).order_by(log.seq).limit(limit)
        name = dumps(stream)
        with self.read() as connection:
            return [_exported(name, stream, *row) for row in connection.execute(query).all()]

    def exported_asides(self, refs: Sequence[str], stream: str) -> Iterator[tuple[str, str]]:
        """What is still there under some references, in their order, as lines of an export."""
        beside = tables.asides.c
        for some in chunks(refs):
            with self.read() as connection:
                rows = connection.execute(select(tables.asides).where(beside.ref.in_(some)))
                texts = {row.ref: _exported_aside(row, _aside(row, stream)) for row in rows}
            yield from ((ref, texts[ref]) for ref in some if ref in texts)

    def pages(self, stream: str, until: int) -> Iterator[list[Sealed]]:
        """All events up to number ``until``, with their asides, some at a time."""
        after = 0
        while after < until:
            page = self.events(stream, after, min(PAGE, until - after), asides=True)
            yield page
            after = page[-1].seq

    def rounds(self, stream: str, rounds: range, until: int) -> list[Sealed]:
        """All events about some rounds in a row, up to number ``until``, with their asides, in the order of the log."""
        log, beside, (first, last) = tables.events.c, tables.asides.c, (rounds[0], rounds[-1])
        query = _about(stream, log.round.between(first, last)).where(log.seq <= until)
        people = select(tables.asides).where(beside.stream == stream, beside.round.between(first, last))
        with self.read() as connection:
            events = _in_order(connection, query)
            asides = {row.ref: _aside(row, stream) for row in connection.execute(people)}
        return _with_people(events, asides)

    def by_round(self, stream: str, numbers: Sequence[int]) -> Iterator[tuple[int, list[Sealed]]]:
        """The events of each of some rounds, with their asides: few queries, however many rounds there are."""
        log, beside = tables.events.c, tables.asides.c
        for some in chunks(numbers):
            events = _about(stream, log.round.in_(some))
            people = select(tables.asides).where(beside.stream == stream, beside.round.in_(some))
            by_number: dict[int, list[Sealed]] = {t: [] for t in some}
            with self.read() as connection:
                asides = {row.ref: _aside(row, stream) for row in connection.execute(people)}
                for sealed in _in_order(connection, events):
                    by_number[sealed.event.about or 0].append(sealed)
            yield from ((t, _with_people(sealed, asides)) for t, sealed in by_number.items())

    def opened(self, stream: str, numbers: Sequence[int]) -> list[Sealed]:
        """The events that opened some rounds, with their people."""
        log, found = tables.events.c, []
        for some in chunks(numbers):
            query = _about(stream, log.round.in_(some), RoundOpened.kind)
            with self.read() as connection:
                events = _in_order(connection, query)
                beside = _asides(connection, [ref for sealed in events for ref in sealed.event.refs], stream)
            found += [sealed.beside(beside) for sealed in events]
        return found

    def rounds_with_people(self, stream: str, after: int, limit: int) -> list[int]:
        """The first rounds after round ``after`` beside which something is kept."""
        beside = tables.asides.c
        query = select(beside.round).where(beside.stream == stream, beside.round > after).distinct()
        with self.read() as connection:
            return list(connection.scalars(query.order_by(beside.round).limit(limit)))

    def asides_of(self, refs: Sequence[str], stream: str | None = None) -> Iterator[Aside]:
        """What is still there under some references, in their order; of one stream if that is said."""
        for some in chunks(refs):
            with self.read() as connection:
                asides = _asides(connection, some, stream)
            yield from (asides[ref] for ref in some if ref in asides)

    def asides(self, stream: str, *, round: int | None = None, person: str | None = None) -> list[Aside]:
        """What is kept beside one round, or about one person."""
        beside = tables.asides.c
        query = select(tables.asides).where(beside.stream == stream).order_by(beside.round, beside.ref)
        if round is not None:
            query = query.where(beside.round == round)
        if person is not None:
            query = query.where(beside.person == person)
        with self.read() as connection:
            return [_aside(row) for row in connection.execute(query).all()]

    def remarks(self, stream: str, rounds: Sequence[int]) -> list[Aside]:
        """What auditors said about some rounds."""
        beside, found = tables.asides.c, []
        query = select(tables.asides).where(beside.stream == stream, beside.kind == "remark")
        with self.read() as connection:
            for some in chunks(rounds):
                ordered = query.where(beside.round.in_(some)).order_by(beside.round, beside.ref)
                found += [_aside(row) for row in connection.execute(ordered)]
        return found

    def asides_of_people(self, stream: str, people: Sequence[str]) -> list[Aside]:
        """What is kept about some people, by their ids, the oldest first."""
        beside = tables.asides.c
        query = select(tables.asides).where(beside.stream == stream).order_by(beside.round, beside.ref)
        asides: list[Aside] = []
        with self.read() as connection:
            for some in chunks(people):
                asides += [_aside(row) for row in connection.execute(query.where(beside.person.in_(some)))]
        return asides

    def response(self, scope: str, key: str) -> tuple[str, Any] | None:
        """The request and the response under an idempotency key; the response is None if it was erased.

        An answer that this service did not give is refused.
        """
        with self.read() as connection:
            row = connection.execute(ANSWERED, {"scope": scope, "key": key}).first()
        if row is None:
            return None
        if row.response is None:
            return row.request, None
        require_genuine(row._asdict(), self.keyed_hash)
        return row.request, json.loads(row.response)


def _after(stream: str, after: int) -> Select[Any]:
    log = tables.events.c
    return select(tables.events).where(log.stream == stream, log.seq > after).order_by(log.seq)


def _about(stream: str, rounds: ColumnElement[bool], kind: str | None = None) -> Select[Any]:
    """The events about some rounds, of one kind if it is given, in no order.

    They are to be found by their round. If they were asked for in the order of the log, or simply by their kind, SQLite
    would go through the whole log.
    """
    log = tables.events.c
    query = select(tables.events).where(log.stream == stream, rounds)
    return query if kind is None else query.where(func.coalesce(log.kind, "") == kind)


def _in_order(connection: Connection, query: Select[Any]) -> list[Sealed]:
    """Events in the order of the log, whatever order they come in."""
    return [_sealed(row) for row in sorted(connection.execute(query).all(), key=lambda row: int(row.seq))]


def _with_people(events: Sequence[Sealed], asides: Mapping[str, Aside]) -> list[Sealed]:
    """All events of some rounds with their asides; who is in a round was promised when it was opened."""
    opened = {each.event.t: each.event.promised for each in events if isinstance(each.event, RoundOpened)}
    booked = {each.seq: opened[each.event.t] for each in events if isinstance(each.event, LabelsBooked)}
    return [sealed.beside(asides, booked.get(sealed.seq)) for sealed in events]


def _sealed(row: Row[Any]) -> Sealed:
    if row.version != VERSION:
        raise BrokenLog(f"Event {row.seq} of {row.stream!r} has layout {row.version}; this version reads {VERSION}.")
    try:
        data = loads(row.data)
        event = read_event(row.kind, data, row.at)
    except WrittenBefore as error:
        raise BrokenLog(f"The log of {row.stream!r} can't be read. {error}") from error
    except (TypeError, ValueError) as error:
        raise BrokenLog(f"Event {row.seq} of {row.stream!r} can't be read: {type(error).__name__}.") from error
    hashed = _hashed(row.data, event) if isinstance(event, RoundOpened) else row.data
    if hash_of(row.stream, row.seq, row.prev, row.kind, row.at, hashed) != row.hash:
        raise BrokenLog(f"Event {row.seq} of {row.stream!r} was changed: its content does not match its hash.")
    _require_filed(row, event.about)
    return Sealed(row.stream, row.seq, row.prev, row.hash, event)


def _hashed(data: str, event: RoundOpened) -> str:
    """Data as they are hashed: with the root of a tree in place of people."""
    spelt = [person.text for person in event.people]
    return data.replace(f'"people":[{",".join(spelt)}]', in_place_of_people(people_root(spelt)), 1)


class Exported(NamedTuple):
    """An event as a line of an export, and what it says."""

    seq: int
    text: str
    data: dict[str, Any]


def _exported(
    name: str, stream: str, seq: int, at: str, data: str, hash: str, kind: str, prev: str, version: int, round: int
) -> Exported:
    says = json.loads(data)
    if round != says.get("t"):
        raise _misfiled(seq, stream, round, says.get("t"))
    text = (
        f'{{"at":"{at}","data":{data},"hash":"{hash}","kind":"{kind}","line":"event","prev":"{prev}","seq":{seq},'
        f'"stream":{name},"version":{version}}}\n'
    )
    return Exported(seq, text, says)


def _exported_aside(row: Row[Any], aside: Aside) -> str:
    place = f'"kind":"{aside.kind}","line":"aside","ref":"{aside.ref}","salt":"{aside.salt}","t":{aside.t}'
    return f'{{"content":{row.content},{place}}}\n'


def _require_filed(row: Row[Any], t: int | None) -> None:
    """Rounds are found by a column that no hash covers: somebody could make an event disappear from its round."""
    if row.round != t:
        raise _misfiled(row.seq, row.stream, row.round, t)


def _misfiled(seq: int, stream: str, round: int | None, t: Any) -> BrokenLog:
    return BrokenLog(f"Event {seq} of {stream!r} is filed under round {round}, but it is about round {t}.")


def _aside(row: Row[Any], stream: str | None = None) -> Aside:
    aside = Aside.read(row.ref, row.kind, row.round, row.salt, row.content, loads(row.content))
    # People are found by these columns: somebody who is filed elsewhere could not be erased.
    if row.person != aside.person or (stream or row.stream) != row.stream:
        raise BrokenLog(f"The content under {row.ref} in {stream or row.stream!r} is filed in the wrong place.")
    return aside


def _beside(connection: Connection, events: Sequence[Sealed], stream: str) -> dict[str, Aside]:
    """What is still there of what some events in a row name.

    That of rounds that were opened, which are numbered in a row too, is asked for by their numbers, which is one
    statement however many people they have; only what isn't found there by its reference.
    """
    named = {ref for sealed in events for ref in sealed.event.refs}
    opened = [sealed.event.t for sealed in events if isinstance(sealed.event, RoundOpened)]
    if not opened:
        return _asides(connection, list(named), stream)
    beside = tables.asides.c
    query = select(tables.asides).where(beside.stream == stream, beside.round.between(opened[0], opened[-1]))
    asides = {row.ref: _aside(row, stream) for row in connection.execute(query).all() if row.ref in named}
    return asides | _asides(connection, list(named - asides.keys()), stream)


def _promised(connection: Connection, sealed: Sealed, asides: Mapping[str, Aside]) -> dict[str, str] | None:
    """The commitments to people that an event rests on, if others made them: those that opened their rounds."""
    if not isinstance(sealed.event, LabelsBooked | LearnerCheckpointed):
        return None
    log, promised = tables.events.c, dict[str, str]()
    for rounds in chunks(sorted({asides[ref].t for ref in sealed.event.refs if ref in asides})):
        for opened in _in_order(connection, _about(sealed.stream, log.round.in_(rounds), RoundOpened.kind)):
            promised |= opened.event.promised
    return promised


def _asides(connection: Connection, refs: Sequence[str], stream: str | None = None) -> dict[str, Aside]:
    asides: dict[str, Aside] = {}
    for some in chunks(refs):
        query = select(tables.asides).where(tables.asides.c.ref.in_(some))
        asides |= {row.ref: _aside(row, stream) for row in connection.execute(query).all()}
    return asides
