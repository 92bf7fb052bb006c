"""Answers that were given under idempotency keys, sealed: a request that is sent again gets the first one or none.

No hash of the log covers them, and whoever has the database could put other decisions beside a genuine receipt. So each
is sealed with the service's key, with everything that it is found and erased by.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, or_, select, update

from likewise.service.canonical import spelt
from likewise.service.log.tables import responses
from likewise.service.refusals import BrokenLog

KeyedHash = Callable[[bytes], str]
SEALED = ("scope", "key", "request", "stream", "round", "at")
"""What is sealed together with the text of an answer."""
PAGE = 1000
"""Answers that are sealed again in one transaction."""


def sealed(row: Mapping[str, Any], keyed_hash: KeyedHash) -> str:
    """The seal of an answer; its text is taken as it is, not spelt again."""
    return keyed_hash(f"{spelt(['answer', *(row[name] for name in SEALED)])}{row['response']}".encode())


def require_genuine(row: Mapping[str, Any], keyed_hash: KeyedHash) -> None:
    """Refuse an answer that this service did not give."""
    if not _genuine(row, keyed_hash):
        raise BrokenLog(
            f"The answer that is kept under the idempotency key {row['key']!r} is not the one that was given: somebody "
            "changed the database, or the answer is older than the last upgrade. It is not given again; the log says "
            "what was decided."
        )


def _genuine(row: Mapping[str, Any], keyed_hash: KeyedHash) -> bool:
    return hmac.compare_digest(row["seal"] or "", sealed(row, keyed_hash))


def seal_again(
    connection: Connection, old: KeyedHash, new: KeyedHash, after: tuple[str, str]
) -> tuple[str, str] | None:
    """Seal the next answers with another key, those that were genuine; the last of them, or None at the end.

    A request that is sent again after a change of the key is answered as before, not decided a second time.
    """
    scope, key = responses.c.scope, responses.c.key
    later = or_(scope > after[0], (scope == after[0]) & (key > after[1]))
    query = select(responses).where(responses.c.response.is_not(None), later).order_by(scope, key).limit(PAGE)
    rows = [row._asdict() for row in connection.execute(query)]
    for row in rows:
        if _genuine(row, old):
            same = (scope == row["scope"]) & (key == row["key"])
            connection.execute(update(responses).where(same).values(seal=sealed(row, new)))
    return (rows[-1]["scope"], rows[-1]["key"]) if rows else None
