"""What the pictures are drawn from: one row for each round, computed from the log.

It is a cache beside the log. :func:`read_on` reads the log on from where it stopped, so a page costs what is new. Every
row is checked when it is read (:mod:`likewise.service.projections.kept`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, delete, select
from sqlalchemy.exc import IntegrityError

from likewise.reduction import error
from likewise.service.canonical import dumps, loads
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.append import add, chunks
from likewise.service.log.chain import Sealed
from likewise.service.log.tables import followed, samples, summaries
from likewise.service.projections import bins as binned
from likewise.service.projections.bins import Bin
from likewise.service.projections.kept import Kept, reading, replace, rows_of
from likewise.service.projections.sheets import Sheets, altered, changed, entry, hash_of, load, write
from likewise.service.refusals import SequenceConflict
from likewise.service.stream.events import RoundOpened
from likewise.service.stream.events.event import RoundEvent

PAGE = 1000
"""Events read at once."""
REPORTED = 200
"""The newest rounds with a reported pair that are known by number."""
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


def read_on(engine: Engine, stream: str, until: float = math.inf) -> bool:
    """Fold what the log has gained into the rows of its rounds; whether all of it, when the time is up (monotonic)."""
    settings = engine.streams.get(stream).current().stream.settings
    while True:
        with reading(engine.store, stream) as (connection, kept):
            page = engine.reads.read_on(stream, kept.seq, PAGE)
            opened = {each.event.t for each in page if isinstance(each.event, RoundOpened)}
            about = {each.event.about for each in page if each.event.about is not None}
            old = _known(connection, stream, kept, about - opened)
            sheets = load(connection, stream, kept.root, about)
        if not page:
            return True
        rows = {t: {**row, "labels": loads(row["labels"])} for t, row in old.items()}
        for each in page:
            _fold(rows, each, one_sided=settings.labels == "accepted")
        new = [{**row, "stream": stream, "labels": dumps(row["labels"])} for row in rows.values()]
        change = _Change(kept, sheets, old, new).at(page[-1].seq, settings.alpha)
        try:
            engine.store.write(lambda connection: change.write(connection, engine.store, stream))  # noqa: B023
        except (SequenceConflict, IntegrityError):
            return False  # another process reads on, too
        if len(page) < PAGE:
            return True  # what came in meanwhile is for the next time: small pages cost more than they tell
        if time.monotonic() > until:
            return False


class _Change(NamedTuple):
    """``new`` rows in the place of ``old`` ones: what was kept before, and what is kept then."""

    before: Kept
    sheets: Sheets
    old: Mapping[int, Mapping[str, Any]]
    new: list[dict[str, Any]]
    after: Kept = Kept()

    def at(self, seq: int, alpha: float) -> _Change:
        """The same, with what is kept once the log was read up to an event."""
        kept = self.before
        width, sums = binned.added(kept.width, kept.bins, self.old.values(), self.new, alpha)
        found = {row["round"] for row in self.new if row["verdict"] == "reported" and row["favoured"] is not None}
        reported = sorted({*kept.reported} - {row["round"] for row in self.new} | found)[-REPORTED:]
        sheets, root = self.sheets, kept.root
        if self.new:
            sheets, root = changed(sheets, {row["round"]: hash_of(summaries, [row]) for row in self.new})
        after = kept._replace(seq=seq, root=root, width=width, bins=sums, reported=reported)
        return self._replace(sheets=sheets, after=after)

    def write(self, connection: Connection, store: Store, stream: str) -> None:
        """Write all of it, unless another process was faster."""
        replace(connection, store, stream, self.before, self.after)
        for some in chunks(list(self.old)):
            connection.execute(delete(summaries).where(summaries.c.stream == stream, summaries.c.round.in_(some)))
        add(connection, summaries, self.new)
        write(connection, stream, self.sheets)


def _known(connection: Connection, stream: str, kept: Kept, rounds: Iterable[int]) -> dict[int, Mapping[str, Any]]:
    """The rows of some rounds, as far as there are any."""
    known: dict[int, Mapping[str, Any]] = {}
    for some in chunks(sorted(rounds)):
        query = select(summaries).where(summaries.c.stream == stream, summaries.c.round.in_(some))
        known |= {row.round: row._asdict() for row in checked(connection, stream, kept, query)}
    return known


def checked(connection: Connection, stream: str, kept: Kept, query: Select[Any]) -> list[Any]:
    """Whole rows that a query finds; one that is not what was written is refused."""
    rows = list(connection.execute(query))
    sheets = load(connection, stream, kept.root, [row.round for row in rows]) if rows else {}
    for row in rows:
        if hash_of(summaries, [row._asdict()]) != entry(sheets, 0, row.round - 1):
            raise altered(stream)
    return rows


def _fold(rows: dict[int, dict[str, Any]], sealed: Sealed, *, one_sided: bool) -> None:
    """What one event changes about the row of its round: the event knows, but for what follows from its labels.

    Errors are estimated where labels are ``one_sided``, seen of accepted people only.
    """
    event = sealed.event
    if isinstance(event, RoundOpened):
        rows[event.t] = _opened(event) | {"events": 1, "seq": sealed.seq}
    elif isinstance(event, RoundEvent) and (row := rows.get(event.t)) is not None:
        event.sum_up(row)
        row |= {"events": row["events"] + 1, "seq": sealed.seq}
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


def bins(store: Store, stream: str) -> list[Bin]:
    """All rounds in a few bins."""
    with reading(store, stream) as (_, kept):
        return [binned.told(sums) for sums in kept.bins]


def recent_violations(store: Store, stream: str, alpha: float, rounds: int = 100) -> int:
    """Violations reported in the last so many rounds."""
    return sum(row.gap is not None and row.gap > alpha for row in newest(store, stream, rounds))


def newest(
    store: Store, stream: str, count: int = SHOWN, before: int | None = None, conditions: Sequence[Any] = ()
) -> list[Any]:
    """The newest rounds, or those before a round, in order; only those that meet the conditions."""
    kept = summaries.c
    query = select(summaries).where(kept.stream == stream, *conditions).order_by(kept.round.desc()).limit(count)
    if before is not None:
        query = query.where(kept.round < before)
    with reading(store, stream) as (connection, known):
        rows = checked(connection, stream, known, query)
    last = sum(binned.told(sums).rounds for sums in known.bins)
    end = last if before is None else min(last, before - 1)
    if not conditions and [row.round for row in rows] != list(range(end, max(0, end - count), -1)):
        raise altered(stream)  # one of them is gone
    return rows[::-1]


def of_rounds(connection: Connection, stream: str, kept: Kept, rounds: Sequence[int]) -> list[Any]:
    """The rows of some rounds, in order; all of them."""
    query = select(summaries).where(summaries.c.stream == stream, summaries.c.round.in_(rounds))
    rows = checked(connection, stream, kept, query.order_by(summaries.c.round))
    if len(rows) != len(rounds):
        raise altered(stream)
    return rows


def sampled(store: Store, stream: str) -> list[Sample]:
    """Regret along the way."""
    with reading(store, stream) as (connection, kept):
        rows = rows_of(connection, samples, stream, kept.samples)
    return [Sample(**row) for row in rows]


class Sample(NamedTuple):
    """How things stood after some of the rounds: a row of its table."""

    stream: str
    learned: int
    regret: float | None
    proved: float | None
    promised: float | None
    violations: float | None
    pairs: int | None
    closer: int | None
    within: int | None
