"""Leases: an auditor has a round in front of them until a time, and nobody else gets it before that."""

from __future__ import annotations

import math
from concurrent.futures import Future
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from likewise.service.log.store import Store
from likewise.service.log.tables import leases, looks

REMEMBERED = 30 * 86_400.0
"""Seconds for which a verdict may come late, from a browser that was offline for example."""
PROBED = ("", 0)
"""A stream that can't be, and a round: what a look at the database writes to."""
LARGE = 2**16
"""Bytes that the database must take once it did not accept events: a small write may still fit on a full disk."""


class Lease(NamedTuple):
    """Who has a round, and until when (seconds)."""

    round: int
    holder: str
    until: float


class Leases:
    """The leases of every stream."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def current(self, stream: str, now: float) -> dict[int, Lease]:
        """The leases of a stream that still run, by round."""
        kept = leases.c
        query = select(kept.round, kept.holder, kept.until).where(kept.stream == stream, kept.until > now)
        with self._store.read() as connection:
            return {row.round: Lease(*row) for row in connection.execute(query)}

    def had(self, stream: str, round: int, holder: str) -> bool:
        """Whether a lease of a round was ever this holder's, also if it ran out and somebody else took it since."""
        kept = looks.c
        query = select(kept.round).where(kept.stream == stream, kept.round == round, kept.holder == holder)
        with self._store.read() as connection:
            return connection.execute(query).first() is not None

    def take(self, stream: str, round: int, holder: str, now: float, until: float) -> bool:
        """Lease a round, or renew a lease; False if somebody else has it."""

        def write(connection: Connection) -> bool:
            taken = _take(connection, stream, round, holder, now, until)
            if taken:
                _remember(connection, stream, round, holder, until)
            return taken

        return self._store.write(write)

    def renew(self, stream: str, round: int, holder: str, until: float) -> bool:
        """Prolong a lease, also one that ran out and that nobody else took; False if it isn't the holder's."""
        kept = leases.c
        own = update(leases).where(kept.stream == stream, kept.round == round, kept.holder == holder)
        return self._store.write(lambda connection: connection.execute(own.values(until=until)).rowcount == 1)

    def release(self, stream: str, round: int, holder: str, until: float = math.inf) -> None:
        """Give a round back; with ``until``, only a lease that ends by then: not one that was renewed since."""
        kept = leases.c
        own = delete(leases).where(kept.stream == stream, kept.round == round, kept.holder == holder)
        if until < math.inf:
            own = own.where(kept.until <= until + 1e-5)  # times are sent to the microsecond
        self._store.write(lambda connection: connection.execute(own) and None)

    def probe(self, now: float, size: int = 0) -> Future[bool]:
        """Write so many bytes that nobody needs: whether the database takes them is known once the future is done.

        On a full disk a few bytes still fit where others were.
        """
        holder = "readiness" + " " * size
        return self._store.hand_in(lambda connection: _probe(connection, holder, now))

    def sweep(self, before: float) -> None:
        """Forget leases that ran out before a time (seconds); whose they were is known for a month longer."""
        old = [delete(leases).where(leases.c.until < before), delete(looks).where(looks.c.until < before - REMEMBERED)]
        self._store.write(lambda connection: [connection.execute(each) for each in old] and None)


def _remember(connection: Connection, stream: str, round: int, holder: str, until: float) -> None:
    """That somebody had a round in front of them: their verdict is worth recording whoever has it now."""
    row = (looks.c.stream == stream, looks.c.round == round, looks.c.holder == holder)
    if connection.execute(update(looks).where(*row).values(until=until)).rowcount == 0:
        connection.execute(insert(looks), [{"stream": stream, "round": round, "holder": holder, "until": until}])


def _probe(connection: Connection, holder: str, now: float) -> bool:
    connection.execute(delete(leases).where(leases.c.stream == PROBED[0]))
    return _take(connection, *PROBED, holder, now, now)


def _take(connection: Connection, stream: str, round: int, holder: str, now: float, until: float) -> bool:
    kept = leases.c
    free = or_(kept.until <= now, kept.holder == holder)
    row = (kept.stream == stream, kept.round == round)
    taken = connection.execute(update(leases).where(*row, free).values(holder=holder, until=until))
    if taken.rowcount == 1:
        return True
    if connection.execute(select(kept.round).where(*row)).first() is not None:
        return False
    try:
        # Within a savepoint: on PostgreSQL a refused insert would otherwise spoil the whole transaction.
        with connection.begin_nested():
            connection.execute(insert(leases), [{"stream": stream, "round": round, "holder": holder, "until": until}])
    except IntegrityError:
        return False
    return True
