"""What the pictures are drawn from: one row for each round, told from the log, and samples of regret along the way.

Both are caches beside the log. :func:`follow` reads the log on from where it stopped, so a page costs what is new, and
bins are added up by the database. What the log alone doesn't tell, regret and the gaps of reported pairs under later
policies, is sampled from the live state: after every round at first, then after every hundredth part of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, case, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from likewise.reduction import error
from likewise.service.engine import Engine
from likewise.service.events import Event, dumps, loads
from likewise.service.problems import SequenceConflict
from likewise.service.standing import regret
from likewise.service.state import State
from likewise.service.store import Store
from likewise.service.store.tables import events, followed, gaps, samples, summaries

PAGE = 2000
"""Events read at once."""
CHUNK = 400
"""Rounds named in one query; databases limit the parameters."""
BINS = 50
"""Points of a curve."""
PAIRS = 100
"""The reported pairs that are followed under later policies: the newest."""
SHOWN = 60
"""The newest rounds that are drawn person by person."""


def follow(engine: Engine, stream: str) -> None:
    """Bring the summaries of a stream up to the head of its log."""
    state = engine.streams.get(stream).current()
    read_on(engine.store, stream)
    _sample(engine.store, stream, state)


class Follower:
    """Follows every stream of an engine; asked often, it costs only what is new."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._seen: dict[str, int] = {}

    def __call__(self) -> None:
        """Bring all summaries up to the heads of their logs."""
        for live in self._engine.streams.loaded():
            head = live.durable.seq
            if head > self._seen.get(live.name, 0):
                follow(self._engine, live.name)
                self._seen[live.name] = head


# The log, round by round ------------------------------------------------------------------------------------------


def read_on(store: Store, stream: str) -> None:
    """Fold what the log has gained into the rows of its rounds."""
    log = events.c
    while True:
        with store.read() as connection:
            here = connection.scalar(select(followed.c.seq).where(followed.c.stream == stream)) or 0
            wanted = select(log.seq, log.kind, log.at, log.data).where(log.stream == stream, log.seq > here)
            page = connection.execute(wanted.order_by(log.seq).limit(PAGE)).all()
        if not page:
            return
        read = [Event(kind, loads(data), at) for _, kind, at, data in page]
        rows = _rows(store, stream, {event.round for event in read if event.round is not None})
        for event in read:
            _fold(rows, event)
        try:
            store.write(lambda connection: _keep(connection, stream, here, page[-1].seq, rows))  # noqa: B023
        except (SequenceConflict, IntegrityError):
            return  # another process reads on, too


def _keep(connection: Connection, stream: str, here: int, last: int, rows: dict[int, dict[str, Any]]) -> None:
    mine = update(followed).where(followed.c.stream == stream, followed.c.seq == here)
    if here == 0:
        connection.execute(delete(followed).where(followed.c.stream == stream, followed.c.seq == 0))
        connection.execute(insert(followed), [{"stream": stream, "seq": last}])
    elif connection.execute(mine.values(seq=last)).rowcount != 1:
        raise SequenceConflict("Another process has read on meanwhile.")
    for some in _chunks(list(rows)):
        connection.execute(delete(summaries).where(summaries.c.stream == stream, summaries.c.round.in_(some)))
    if rows:
        connection.execute(insert(summaries), [row | {"stream": stream} for row in rows.values()])


def _rows(store: Store, stream: str, rounds: Iterable[int]) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    with store.read() as connection:
        for some in _chunks(sorted(rounds)):
            wanted = select(summaries).where(summaries.c.stream == stream, summaries.c.round.in_(some))
            found |= {row.round: dict(row._mapping) for row in connection.execute(wanted)}
    return found


def _fold(rows: dict[int, dict[str, Any]], event: Event) -> None:
    """What one event changes about the row of its round."""
    data, kind = event.data, event.kind
    if kind == "round_opened":
        rows[data["round"]] = _opened(event)
        return
    row = rows.get(event.round or 0)
    if row is None:
        return
    if kind == "labels_received":
        labels = json.loads(row["labels"])
        for position, label in data["labels"]:
            labels[position] = label
        row |= {"labels": dumps(labels), "labelled": sum(label is not None for label in labels)}
    elif kind in ("audited", "audit_retracted"):
        favoured, disfavoured = data.get("pair", (None, None))
        row |= {"verdict": data.get("verdict"), "gap": data.get("gap")}
        row |= {"favoured": favoured, "disfavoured": disfavoured}
    elif kind == "round_closed":
        row["status"] = "closed" if data["learns"] else "discarded"
    elif kind == "learned":
        labels = np.array([np.nan if one is None else one for one in json.loads(row["labels"])], dtype=float)
        row |= {"status": "learned", "learned": data["version"], "delay": data["delay"], "waited": data["waited"]}
        row["error"] = error(np.array(json.loads(row["chances"])), labels)


def _opened(event: Event) -> dict[str, Any]:
    people = event.data["people"]
    names = ("verdict", "favoured", "disfavoured", "gap", "error", "learned", "delay", "waited")
    return dict.fromkeys(names) | {
        "round": event.data["round"],
        "opened_at": event.time,
        "people": len(people),
        "chances": dumps([person["probability"] for person in people]),
        "labels": dumps([None] * len(people)),
        "status": "open",
        "labelled": 0,
    }


# Samples of the live state ----------------------------------------------------------------------------------------


def _sample(store: Store, stream: str, state: State) -> None:
    """Regret and reported gaps as they stand now, if it is time for a sample."""
    learned = state.totals.learned
    with store.read() as connection:
        last = connection.scalar(select(func.max(samples.c.learned)).where(samples.c.stream == stream)) or 0
    if state.learner is None or learned < last + max(1, learned // 100):
        return
    said = regret(state)
    promised = said["promised"]
    row = {"stream": stream, "learned": learned, "regret": said["observed"], "proved": said["proved"]}
    row["promised"] = None if promised is None else promised["lagrangian_regret"]
    now = [{"stream": stream, "learned": learned} | one for one in _later_gaps(store, stream, state)]

    def write(connection: Connection) -> None:
        for table in (samples, gaps):
            connection.execute(delete(table).where(table.c.stream == stream, table.c.learned == learned))
        connection.execute(insert(samples), [row])
        if now:
            connection.execute(insert(gaps), now)

    store.write(write)


def _later_gaps(store: Store, stream: str, state: State) -> list[dict[str, Any]]:
    """How far apart the newest reported pairs are under the policy that is deployed now."""
    model, kept = state.stream, summaries.c
    newest = select(kept.round, kept.favoured, kept.disfavoured).where(
        kept.stream == stream, kept.verdict == "reported"
    )
    with store.read() as connection:
        pairs = connection.execute(
            newest.where(kept.learned.is_not(None)).order_by(kept.round.desc()).limit(PAIRS)
        ).all()
    refs = _refs(store, stream, {t: pair for t, *pair in pairs})
    found = {
        aside.ref: aside.content["features"] for aside in store.asides_of([r for two in refs.values() for r in two])
    }
    # Otherwise somebody was erased.
    rounds = [t for t, two in refs.items() if all(ref in found for ref in two)]
    features = [found[ref] for t in rounds for ref in refs[t]]
    if not rounds or state.policy is None:
        return []
    chances = model.probabilities(state.policy, model.encode(features))
    return [{"round": t, "gap": float(a - b)} for t, a, b in zip(rounds, chances[::2], chances[1::2], strict=True)]


def _refs(store: Store, stream: str, pairs: Mapping[int, Sequence[int]]) -> dict[int, list[str]]:
    """The references of the two people of some reported pairs, by round."""
    log = events.c
    wanted = select(log.data).where(log.stream == stream, log.round.in_(list(pairs)), log.kind == "round_opened")
    with store.read() as connection:
        opened = [loads(data) for data in connection.scalars(wanted)]
    return {one["round"]: [one["people"][i]["ref"] for i in pairs[one["round"]]] for one in opened}


# What figures ask -------------------------------------------------------------------------------------------------


class Bin(NamedTuple):
    """Neighbouring rounds, added up: ``last`` is the number of the last of them."""

    last: int
    rounds: int
    learned: int
    violations: int
    reports: int
    reviewed: int
    people: int
    labelled: int
    error: float
    delay: float | None
    delay_max: int | None
    waited: float | None


def bins(store: Store, stream: str, opened: int, alpha: float, count: int = BINS) -> list[Bin]:
    """All rounds in at most ``count`` bins, added up by the database."""
    kept, width = summaries.c, max(1, -(-opened // count))
    done = kept.status == "learned"
    of_learned = [
        func.sum(case((done, column), else_=0))
        for column in (kept.people, kept.labelled, func.coalesce(kept.error, 0.0))
    ]
    wanted = (
        select(
            func.max(kept.round),
            func.count(),
            func.sum(case((done, 1), else_=0)),
            func.sum(case((kept.gap > alpha, 1), else_=0)),
            func.sum(case((kept.verdict == "reported", 1), else_=0)),
            func.sum(case((kept.verdict.in_(("reported", "cleared")), 1), else_=0)),
            *of_learned,
            func.avg(kept.delay),
            func.max(kept.delay),
            func.avg(kept.waited),
        )
        .where(kept.stream == stream)
        .group_by((kept.round - 1) // width)
        .order_by((kept.round - 1) // width)
    )
    with store.read() as connection:
        return [Bin._make(_plain(value) for value in row) for row in connection.execute(wanted)]


def _plain(value: Any) -> Any:
    """PostgreSQL's averages are decimals."""
    return value if value is None or isinstance(value, int) else float(value)


def recent_violations(store: Store, stream: str, opened: int, alpha: float, rounds: int = 100) -> int:
    """Violations reported in the last so many rounds."""
    kept = summaries.c
    wanted = select(func.count()).where(kept.stream == stream, kept.round > opened - rounds, kept.gap > alpha)
    with store.read() as connection:
        return int(connection.scalar(wanted) or 0)


def newest(store: Store, stream: str, count: int = SHOWN, before: int | None = None) -> list[Any]:
    """The newest rounds, or those before a round, in order."""
    kept = summaries.c
    wanted = select(summaries).where(kept.stream == stream).order_by(kept.round.desc()).limit(count)
    if before is not None:
        wanted = wanted.where(kept.round < before)
    with store.read() as connection:
        return list(reversed(connection.execute(wanted).all()))


def sampled(store: Store, stream: str) -> list[Any]:
    """Regret along the way."""
    wanted = select(samples).where(samples.c.stream == stream).order_by(samples.c.learned)
    with store.read() as connection:
        return list(connection.execute(wanted).all())


def later_gaps(store: Store, stream: str, pairs: int = PAIRS) -> dict[int, list[tuple[int, float]]]:
    """For the newest reported pairs: (rounds learned since the report was, gap then), from the report on."""
    kept, mine = summaries.c, gaps.c
    wanted = select(kept.round, kept.learned, kept.gap).where(kept.stream == stream, kept.verdict == "reported")
    with store.read() as connection:
        reports = connection.execute(
            wanted.where(kept.learned.is_not(None)).order_by(kept.round.desc()).limit(pairs)
        ).all()
        if not reports:
            return {}
        found = {row.round: [(0, row.gap)] for row in reports}
        start = {row.round: row.learned for row in reports}
        later = select(mine.round, mine.learned, mine.gap).where(mine.stream == stream, mine.round >= min(found))
        for row in connection.execute(later.order_by(mine.learned)):
            if row.round in found and row.learned >= start[row.round]:
                found[row.round].append((row.learned - start[row.round] + 1, row.gap))
    return found


def _chunks(values: Sequence[int]) -> Iterable[Sequence[int]]:
    return (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))
