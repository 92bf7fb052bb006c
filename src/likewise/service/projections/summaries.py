"""What the pictures are drawn from: one row for each round, computed from the log.

It is a cache beside the log. :func:`read_on` reads the log on from where it stopped, so a page costs what is new, and
bins are added up by the database.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, case, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from likewise.reduction import error
from likewise.service.canonical import dumps, loads
from likewise.service.log import Store
from likewise.service.log.append import add, chunks
from likewise.service.log.tables import events, followed, samples, summaries
from likewise.service.refusals import SequenceConflict
from likewise.service.stream.events import Event, RoundOpened, read_event
from likewise.service.stream.events.event import RoundEvent

PAGE = 1000
"""Events read at once."""
BINS = 50
"""Points of a curve."""
SHOWN = 60
"""The newest rounds that are drawn person by person."""


# The log, round by round ------------------------------------------------------------------------------------------


def read_so_far(store: Store) -> dict[str, int]:
    """For each stream the last event that the summaries have read."""
    with store.read() as connection:
        return {row.stream: row.seq for row in connection.execute(select(followed.c.stream, followed.c.seq))}


def behind(store: Store, stream: str) -> int:
    """Events that the summaries have not read yet."""
    with store.read() as connection:
        seen = connection.scalar(select(followed.c.seq).where(followed.c.stream == stream)) or 0
    return store.head(stream)[0] - seen


def read_on(store: Store, stream: str, until: float = math.inf, *, one_sided: bool = False) -> bool:
    """Fold what the log has gained into the rows of its rounds; whether all of it, when the time is up (monotonic).

    Errors are estimated where labels are ``one_sided``, seen of accepted people only.
    """
    log = events.c
    while True:
        with store.read() as connection:
            seen = connection.scalar(select(followed.c.seq).where(followed.c.stream == stream)) or 0
            query = select(log.seq, log.kind, log.at, log.data).where(log.stream == stream, log.seq > seen)
            page = connection.execute(query.order_by(log.seq).limit(PAGE)).all()
        if not page:
            return True
        read = [read_event(kind, loads(data), at) for _, kind, at, data in page]
        new = {event.t for event in read if isinstance(event, RoundOpened)}
        rows = _rows(store, stream, {event.about for event in read if event.about is not None} - new)
        old = list(rows)
        for event in read:
            _fold(rows, event, one_sided)
        try:
            store.write(lambda connection: _keep(connection, stream, (seen, page[-1].seq), old, rows))  # noqa: B023
        except (SequenceConflict, IntegrityError):
            return False  # another process reads on, too
        if len(page) < PAGE:
            return True  # what came in meanwhile is for the next time: small pages cost more than they tell
        if time.monotonic() > until:
            return False


def _keep(
    connection: Connection, stream: str, read: tuple[int, int], old: list[int], rows: dict[int, dict[str, Any]]
) -> None:
    """Put ``rows`` into the place of those of ``old`` rounds, the log having been ``read`` from there to there."""
    first, last = read
    row = update(followed).where(followed.c.stream == stream, followed.c.seq == first)
    if first == 0:
        connection.execute(delete(followed).where(followed.c.stream == stream, followed.c.seq == 0))
        connection.execute(insert(followed), [{"stream": stream, "seq": last}])
    elif connection.execute(row.values(seq=last)).rowcount != 1:
        raise SequenceConflict("Another process was faster.")
    for some in chunks(old):
        connection.execute(delete(summaries).where(summaries.c.stream == stream, summaries.c.round.in_(some)))
    add(connection, summaries, [{**row, "stream": stream, "labels": dumps(row["labels"])} for row in rows.values()])


def _rows(store: Store, stream: str, rounds: Iterable[int]) -> dict[int, dict[str, Any]]:
    known: dict[int, dict[str, Any]] = {}
    with store.read() as connection:
        for some in chunks(sorted(rounds)):
            query = select(summaries).where(summaries.c.stream == stream, summaries.c.round.in_(some))
            known |= {row.round: {**row._mapping, "labels": loads(row.labels)} for row in connection.execute(query)}
    return known


def _fold(rows: dict[int, dict[str, Any]], event: Event, one_sided: bool) -> None:
    """What one event changes about the row of its round: the event knows, but for what follows from its labels."""
    if isinstance(event, RoundOpened):
        rows[event.t] = _opened(event)
    elif isinstance(event, RoundEvent) and (row := rows.get(event.t)) is not None:
        event.sum_up(row)
        row["labelled"] = sum(label is not None for label in row["labels"])
        if row["status"] == "learned":
            row["error"] = _error(row, one_sided)


def _error(row: dict[str, Any], one_sided: bool) -> float:
    """The errors of a round, each counted once; estimated where labels are seen of accepted people only."""
    labels = np.array([np.nan if label is None else label for label in row["labels"]], dtype=float)
    p = np.array(loads(row["probabilities"]), dtype=float)
    if not one_sided:
        return error(p, labels)
    known = ~np.isnan(labels)
    return float((np.abs(p - labels)[known] / p[known]).sum())


def _opened(event: RoundOpened) -> dict[str, Any]:
    """A new round. Who came before and got the same again is not counted a second time."""
    new = [person.probability for i, person in enumerate(event.people) if i not in event.returning]
    names = ("verdict", "favoured", "disfavoured", "gap", "error", "learned", "delay", "waited")
    return dict.fromkeys(names) | {
        "round": event.t,
        "opened_at": event.time,
        "people": len(new),
        "by_lot": sum(2 * probability * (1 - probability) for probability in new),
        "probabilities": dumps([person.probability for person in event.people]),
        "labels": [None] * len(event.people),
        "status": "open",
        "labelled": 0,
    }


# What figures ask -------------------------------------------------------------------------------------------------


class Bin(NamedTuple):
    """Neighbouring rounds, added up: ``last`` is the number of the last of them.

    ``by_lot`` is Σ 2π(1 − π) over everybody who got a decision: how many would get another answer by another lot.
    """

    last: int
    rounds: int
    learned: int
    violations: int
    reports: int
    reviewed: int
    decided: int
    by_lot: float
    people: int
    labelled: int
    error: float
    delay: float | None
    delay_max: int | None
    waited: float | None


def bins(store: Store, stream: str, opened: int, alpha: float, count: int = BINS) -> list[Bin]:
    """All rounds in at most ``count`` bins, added up by the database."""
    width = max(1, -(-opened // count))
    # The bin is a column of its own: PostgreSQL takes two spellings of an expression for two expressions.
    kept = select(summaries, ((summaries.c.round - 1) // width).label("bin")).where(summaries.c.stream == stream)
    row = kept.subquery().c
    done = row.status == "learned"
    of_learned = [
        func.sum(case((done, column), else_=0)) for column in (row.people, row.labelled, func.coalesce(row.error, 0.0))
    ]
    query = (
        select(
            func.max(row.round),
            func.count(),
            func.sum(case((done, 1), else_=0)),
            func.sum(case((row.gap > alpha, 1), else_=0)),
            func.sum(case((row.verdict == "reported", 1), else_=0)),
            func.sum(case((row.verdict.in_(("reported", "cleared")), 1), else_=0)),
            func.sum(row.people),
            func.sum(row.by_lot),
            *of_learned,
            func.avg(row.delay),
            func.max(row.delay),
            func.avg(row.waited),
        )
        .group_by(row.bin)
        .order_by(row.bin)
    )
    with store.read() as connection:
        return [Bin._make(_plain(value) for value in row) for row in connection.execute(query)]


def _plain(value: Any) -> Any:
    """PostgreSQL's averages are decimals."""
    return value if value is None or isinstance(value, int) else float(value)


def recent_violations(store: Store, stream: str, opened: int, alpha: float, rounds: int = 100) -> int:
    """Violations reported in the last so many rounds."""
    kept = summaries.c
    query = select(func.count()).where(kept.stream == stream, kept.round > opened - rounds, kept.gap > alpha)
    with store.read() as connection:
        return int(connection.scalar(query) or 0)


def newest(
    store: Store, stream: str, count: int = SHOWN, before: int | None = None, conditions: Sequence[Any] = ()
) -> list[Any]:
    """The newest rounds, or those before a round, in order; only those that meet the conditions."""
    kept = summaries.c
    query = select(summaries).where(kept.stream == stream, *conditions).order_by(kept.round.desc()).limit(count)
    if before is not None:
        query = query.where(kept.round < before)
    with store.read() as connection:
        return list(reversed(connection.execute(query).all()))


def sampled(store: Store, stream: str) -> list[Any]:
    """Regret along the way."""
    query = select(samples).where(samples.c.stream == stream).order_by(samples.c.learned)
    with store.read() as connection:
        return list(connection.execute(query).all())
