"""Appending to the log: what a write holds, and how many of them become few statements."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Dialect, Table, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from likewise.errors import LikewiseError
from likewise.service.canonical import Answer, spelt
from likewise.service.log import tables
from likewise.service.log.chain import Sealed
from likewise.service.log.responses import KeyedHash
from likewise.service.log.responses import sealed as seal_of_answer
from likewise.service.log.writer import Statement
from likewise.service.refusals import SequenceConflict
from likewise.service.stream.events import Aside
from likewise.transparency.merkle import Frontier

Part = TypeVar("Part")
REFERENCE = re.compile(r"\b[0-9a-f]{32}\b")
STRETCH = 1000
"""Rounds that are kept together for certificates."""
CHUNK = 400
"""References looked up at once; databases limit the parameters of a query."""
AT_ONCE = 32
"""Rows of one statement."""


class KeyTaken(LikewiseError):
    """Somebody else answered under this idempotency key first."""


class Idempotency(NamedTuple):
    """A key under which a request is answered once: whose key it is, the key, and a hash of what is asked."""

    scope: str
    key: str
    request: str


@dataclass(frozen=True)
class Append:
    """One write to the log: everything in it happens, or nothing.

    Attributes
    ----------
    sealed
        The events, in their places.
    at
        Seconds; when the response was made.
    key, response
        What to answer, also if the same request comes again.
    before
        The Merkle tree of the stream before the events, until the answer has the receipt that it has a place for.
    erase
        References whose content goes for ever; what was answered about ``erase_rounds`` goes with them, and so does the
        stream's snapshot if it holds one of them.
    snapshot
        A row that takes the place of the stream's snapshot.
    secret
        Of a stream that is created: what its decisions are derived from.
    """

    sealed: Sequence[Sealed]
    at: float = 0.0
    key: Idempotency | None = None
    response: Mapping[str, Any] | None = None
    before: Frontier | None = None
    erase: Sequence[str] = ()
    erase_rounds: Sequence[int] = ()
    secret: str | None = None
    snapshot: dict[str, Any] | None = None

    def answered(self, receipt: dict[str, Any] | None) -> Append:
        """The same, with the answer as it is given and kept."""
        answer = Answer(self.response or {})
        if "receipt" in answer:
            answer["receipt"] = receipt
        return replace(self, response=answer, before=None)


Receipts = Callable[[Frontier, Sequence[Sealed]], list[dict[str, Any]]]
"""From a tree and the events that follow it to a receipt for each of them."""
Work = Append | Callable[[Connection], Any]
"""What the writer is handed: an append, or any other write."""


def carry_out(
    connection: Connection, works: Sequence[Work], keyed_hash: KeyedHash, receipts: Receipts | None = None
) -> list[Any]:
    """Carry out works in their order, appends that stand together in the same statements; the result of each.

    That of an append is its answer. Answers are sealed with ``keyed_hash``.
    """
    results: list[Any] = []
    for appends, some in itertools.groupby(answered(works, receipts), lambda work: isinstance(work, Append)):
        if appends:
            batch = [work for work in some if isinstance(work, Append)]
            _append(connection, batch, keyed_hash)
            results += [append.response for append in batch]
        else:
            results += [work(connection) for work in some if not isinstance(work, Append)]
    return results


def are_one_statement(works: Sequence[Work]) -> bool:
    """Whether PostgreSQL gets all of these works in a single statement."""
    return all(isinstance(work, Append) and not work.erase for work in works)


def answered(works: Sequence[Work], receipts: Receipts | None) -> list[Work]:
    """The same works, each append with its answer; those of one stream share a signature, as that takes a while.

    What is signed is the log with all of them: the answers hold only if all of them become durable together.
    """
    ready, waiting = list(works), dict[str, list[int]]()
    for i, work in enumerate(works):
        if isinstance(work, Append) and work.before is not None:
            waiting.setdefault(work.sealed[0].stream, []).append(i)
    for places in waiting.values():
        for i, append in zip(places, _with_receipts([ready[i] for i in places], receipts), strict=True):
            ready[i] = append
    return ready


def _with_receipts(appends: Sequence[Any], receipts: Receipts | None) -> list[Append]:
    """Appends to one stream; the answers that have a place for a receipt get that of their append's last event."""
    sealed = [sealed for append in appends for sealed in append.sealed]
    made: list[dict[str, Any]] = []
    if receipts is not None and any("receipt" in append.response for append in appends):
        for before, after in itertools.pairwise(sealed):
            if after.prev != before.hash:  # what it was to follow was refused: nothing is signed that isn't in the log
                raise _out_of_place(after)
        made = receipts(appends[0].before, sealed)
    ends = itertools.accumulate(len(append.sealed) for append in appends)
    return [append.answered(made[end - 1] if made else None) for append, end in zip(appends, ends, strict=True)]


def as_statement(appends: Sequence[Any], keyed_hash: KeyedHash, dialect: Dialect) -> Statement:
    """Appends that have their answers, as a statement of PostgreSQL with numbered parameters."""
    rows = _rows(appends, keyed_hash)
    values = [spelt(some).encode() for some in rows.values()]
    return Statement(_numbered(tuple(rows), dialect), values, [append.response for append in appends])


def _append(connection: Connection, appends: Sequence[Append], keyed_hash: KeyedHash) -> None:
    """Add some appends, or fail; which of them was at fault is known only of one that stands alone."""
    try:
        _add_all(connection, _rows(appends, keyed_hash))
    except IntegrityError as refused:
        raise _conflict(refused, appends[0].sealed[0]) or refused from refused
    for append in appends:
        if append.erase:
            _erase(connection, append)


def _rows(appends: Sequence[Append], keyed_hash: KeyedHash) -> dict[Table, list[dict[str, Any]]]:
    """What is added to which table."""
    events = [sealed for append in appends for sealed in append.sealed]
    created = [(append.sealed[0].stream, append.secret) for append in appends if append.secret is not None]
    keyed = [(append, append.key) for append in appends if append.key is not None]
    rows = {
        tables.responses: [_response_row(append, key, keyed_hash) for append, key in keyed],
        tables.streams: [{"stream": stream, "secret": secret} for stream, secret in created],
        tables.events: [_row(sealed) for sealed in events],
        tables.asides: [_aside_row(sealed.stream, aside) for sealed in events for aside in sealed.event.asides],
    }
    return {table: some for table, some in rows.items() if some}


def _conflict(refused: IntegrityError, first: Sealed) -> KeyTaken | SequenceConflict | None:
    """What stood in the way of some appends: an idempotency key, or events in their place; None if neither."""
    said = getattr(refused.orig, "diag", None)
    where = str(refused.orig) if said is None else str(said.table_name)
    if tables.responses.name in where:
        return KeyTaken(f"An idempotency key in {first.stream!r} was used by somebody else meanwhile.")
    if tables.asides.name in where:
        return None
    return _out_of_place(first)


def _out_of_place(sealed: Sealed) -> SequenceConflict:
    return SequenceConflict(f"Event {sealed.seq} of {sealed.stream!r} does not follow the log's last one.")


def _add_all(connection: Connection, rows: Mapping[Table, list[dict[str, Any]]]) -> None:
    """Insert rows into some tables; on PostgreSQL in one statement, as each costs a way to the server and back."""
    if connection.dialect.name != "postgresql":
        for table, some in rows.items():
            add(connection, table, some)
        return
    values = tuple([spelt(some) for some in rows.values()])
    connection.exec_driver_sql(_together(tuple(rows), connection.dialect), values)


def add(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Insert rows, in their order.

    The statement is spelt out once and handed to the driver: there are only texts and numbers in it, and looking at
    each of them again, as SQLAlchemy does, takes longer than the database itself. PostgreSQL gets all rows as one
    JSON value, as a message for each row would take longer still. SQLite gets many rows in one statement: for each
    statement its driver lets other threads go on, and then has to wait for its turn.
    """
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_spelt(table, connection.dialect), (spelt(rows),))
        return
    names = table.columns.keys()
    for start in range(0, len(rows), AT_ONCE):  # any number up to that: the driver keeps a statement for each ready
        some = rows[start : start + AT_ONCE]
        values = tuple([row.get(name) for row in some for name in names])
        connection.exec_driver_sql(_spelt(table, connection.dialect, len(some)), values)


@functools.cache
def _spelt(table: Table, dialect: Dialect, rows: int = 1) -> str:
    """An INSERT of all columns, as a driver reads it."""
    quoted = dialect.identifier_preparer.format_column
    named = ", ".join(map(quoted, table.columns))
    if dialect.name == "postgresql":
        typed = ", ".join(f"{quoted(column)} {column.type.compile(dialect)}" for column in table.columns)
        return f"INSERT INTO {table.name} ({named}) SELECT * FROM json_to_recordset(%s::json) AS row ({typed})"
    row = f"({', '.join('?' * len(table.columns))})"
    # OR FAIL: whoever writes undoes a whole transaction that failed, so SQLite need not be ready to undo a part of it.
    return f"INSERT OR FAIL INTO {table.name} ({named}) VALUES {', '.join([row] * rows)}"


@functools.cache
def _together(several: tuple[Table, ...], dialect: Dialect) -> str:
    """INSERTs into several tables as one statement of PostgreSQL."""
    *others, last = [_spelt(table, dialect) for table in several]
    named = ", ".join(f"part{i} AS ({statement})" for i, statement in enumerate(others))
    return f"WITH {named} {last}" if others else last


@functools.cache
def _numbered(several: tuple[Table, ...], dialect: Dialect) -> str:
    """The same with numbers for what is given to it, as PostgreSQL itself reads it."""
    numbers = itertools.count(1)
    return re.sub("%s", lambda _: f"${next(numbers)}", _together(several, dialect))


def _erase(connection: Connection, append: Append) -> None:
    """Everything outside the log that says who somebody was."""
    stream, kept = append.sealed[0].stream, tables.responses.c
    for refs in chunks(append.erase):
        connection.execute(delete(tables.asides).where(tables.asides.c.ref.in_(refs)))
    for rounds in chunks(append.erase_rounds):
        answers = update(tables.responses).where(kept.stream == stream, kept.round.in_(rounds))
        # The hash of the request goes too: it has no salt, and whoever guesses an id could confirm it.
        connection.execute(answers.values(request="", response=None, seal=None))
    touched = sorted({(t - 1) // STRETCH for t in append.erase_rounds})
    for numbers in chunks(touched):
        of_rounds = tables.stretches.c.number.in_(numbers)
        connection.execute(delete(tables.stretches).where(tables.stretches.c.stream == stream, of_rounds))
        about = tables.visits.c.stream == stream, tables.visits.c.number.in_(numbers)
        connection.execute(delete(tables.visits).where(*about))
    of_stream = tables.snapshots.c.stream == stream
    if append.snapshot is not None:
        connection.execute(delete(tables.snapshots).where(of_stream))
        connection.execute(insert(tables.snapshots), [append.snapshot])
    kept_state = connection.scalar(select(tables.snapshots.c.state).where(of_stream))
    # Another process may have taken it: whoever is named in it would be known for as long as it is kept.
    if kept_state is not None and not references(kept_state).isdisjoint(append.erase):
        connection.execute(delete(tables.snapshots).where(of_stream))


def references(text: str) -> set[str]:
    """Everything in a text that may be a reference to something beside the log.

    Examples
    --------
    >>> references('{"refs": ["00112233445566778899aabbccddeeff"]}')
    {'00112233445566778899aabbccddeeff'}
    """
    return set(REFERENCE.findall(text))


def _row(sealed: Sealed) -> dict[str, Any]:
    return sealed.line() | {"data": sealed.event.text, "round": sealed.event.about}


def _response_row(append: Append, key: Idempotency, keyed_hash: KeyedHash) -> dict[str, Any]:
    first = append.sealed[0]
    # What was answered about a stop holds its reason, which is kept as round 0.
    t = 0 if first.event.about is None and first.event.refs else first.event.about
    # Not canonical JSON: a repeated answer is the first one to the letter, 1.0 and not 1.
    text = append.response.text if isinstance(append.response, Answer) else spelt(append.response)
    row = key._asdict() | {"stream": first.stream, "round": t, "at": float(append.at), "response": text}
    return row | {"seal": seal_of_answer(row, keyed_hash)}


def _aside_row(stream: str, aside: Aside) -> dict[str, Any]:
    return {
        "ref": aside.ref,
        "stream": stream,
        "round": aside.t,
        "kind": aside.kind,
        "person": aside.person,
        "salt": aside.salt,
        "content": aside.text,
    }


def chunks(values: Sequence[Part]) -> Iterator[Sequence[Part]]:
    """Some values at a time."""
    return (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))
