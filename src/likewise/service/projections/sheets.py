"""A tree of hashes over the summaries of a stream: any of them can be checked, at the same cost however many there are.

A sheet holds the hashes of 64 summaries, or of 64 sheets of the level below. Who knows the hash of the topmost one, the
root, knows whether a summary is the one that was written last, and not one of somebody else's or of an earlier moment.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import BigInteger, Connection, Double, Table, and_, delete, insert, or_, select

from likewise.service.log import tables
from likewise.service.log.append import chunks
from likewise.service.refusals import AlteredRows

WIDTH = 64
"""Hashes on a sheet."""
LEVELS = 5
"""64⁵ rounds, a thousand million, are enough."""
DIGITS = 32
EMPTY = "0" * DIGITS
"""The hash of nothing."""
BLANK = EMPTY * WIDTH
Sheets = dict[tuple[int, int], str]
"""What some sheets hold, by level and number."""


def altered(stream: str) -> AlteredRows:
    """The refusal of rows that somebody else wrote."""
    return AlteredRows(
        f"The rows that the pictures of {stream!r} are drawn from are not those that this service wrote: somebody "
        "changed the database, or the key is another one. They are computed again from the log."
    )


def hash_of(table: Table, rows: Iterable[Mapping[str, Any]]) -> str:
    """A hash of some rows of a table, in this order."""
    kinds = _kinds(table)
    plain = [[None if (value := row[name]) is None else spelt(value) for name, spelt in kinds] for row in rows]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:DIGITS]


@functools.cache
def _kinds(table: Table) -> list[tuple[str, Any]]:
    """The columns of a table but the first, and how each is spelt."""
    return [(column.name, _spelling(column.type)) for column in table.columns if column.name != "stream"]


def _spelling(kind: Any) -> Any:
    """Values as they come back from a database: SQLite knows no minus zero."""
    if isinstance(kind, Double):
        return lambda value: float(value) + 0.0
    return int if isinstance(kind, BigInteger) else str


def load(connection: Connection, stream: str, root: str, rounds: Collection[int]) -> Sheets:
    """The sheets on the way from a known root to some rounds; one that isn't what was written is refused."""
    numbers = [{(t - 1) // WIDTH ** (level + 1) for t in rounds} for level in range(LEVELS)]
    sheets: Sheets = {(level, number): BLANK for level in range(LEVELS) for number in numbers[level]}
    kept = tables.sheets.c
    some = or_(*(and_(kept.level == level, kept.number.in_(numbers[level])) for level in range(LEVELS)))
    query = select(kept.level, kept.number, kept.content).where(kept.stream == stream, some)
    sheets |= {(level, number): content for level, number, content in connection.execute(query)}
    for (level, number), content in sheets.items():
        above = root if level == LEVELS - 1 else entry(sheets, level + 1, number)
        if _digest(content) != above:
            raise altered(stream)
    return sheets


def entry(sheets: Sheets, level: int, place: int) -> str:
    """The hash of a summary (level 0, round − 1), or of a sheet of the level below."""
    number, i = divmod(place, WIDTH)
    return sheets[level, number][i * DIGITS : (i + 1) * DIGITS]


def changed(sheets: Sheets, hashes: Mapping[int, str]) -> tuple[Sheets, str]:
    """The sheets with new hashes of some rounds, and their root."""
    after, entries = dict(sheets), {t - 1: hash for t, hash in hashes.items()}
    for level in range(LEVELS):
        for place, hash in entries.items():
            number, i = divmod(place, WIDTH)
            text = after[level, number]
            after[level, number] = text[: i * DIGITS] + hash + text[(i + 1) * DIGITS :]
        entries = {number: _digest(after[level, number]) for number in {place // WIDTH for place in entries}}
    return after, entries[0]


def write(connection: Connection, stream: str, sheets: Sheets) -> None:
    """Put sheets into the place of what was there."""
    kept = tables.sheets.c
    for level in range(LEVELS):
        for some in chunks(sorted(number for at, number in sheets if at == level)):
            where = (kept.stream == stream, kept.level == level, kept.number.in_(some))
            connection.execute(delete(tables.sheets).where(*where))
            rows = [{"level": level, "number": number, "content": sheets[level, number]} for number in some]
            connection.execute(insert(tables.sheets), [{"stream": stream, **row} for row in rows])


def _digest(content: str) -> str:
    return EMPTY if content == BLANK else hashlib.sha256(content.encode()).hexdigest()[:DIGITS]
