"""Tokens: 256 random bits that say who somebody is. The database keeps only their SHA-256."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from likewise.errors import InvalidParameter, require, require_number
from likewise.service.accounts.staff import ALIAS, ERASED, LISTED, Staff
from likewise.service.log import Store
from likewise.service.log.checkpoints import LineFile
from likewise.service.log.tables import tokens
from likewise.service.refusals import BrokenLog, Conflict
from likewise.service.stream.declared import plain_text
from likewise.service.stream.settings import NAME
from likewise.service.stream.state import CLOCK

ADMIN, DECIDER, AUDITOR, VIEWER = ROLES = ("admin", "decider", "auditor", "viewer")
MOST_DAYS = 36_500
"""A hundred years: a calendar has an end, and the list of tokens shows dates."""
PREFIX = "lw_"
"""So that a token that strayed into a text can be recognised."""


class Identity(NamedTuple):
    """Who is asking: a name, a role, and the streams it is for (None for all)."""

    name: str
    role: str
    streams: tuple[str, ...] | None = None

    def reaches(self, stream: str) -> bool:
        """Whether this identity is for a stream."""
        return self.streams is None or stream in self.streams


class Tokens:
    """The tokens of a service.

    Several tokens may have one name, so that one can take over from another; names are what the log records.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.staff = Staff(store)

    def add(
        self,
        name: str,
        role: str,
        streams: Sequence[str] | None = None,
        days: float | None = None,
        *,
        erasable: bool = False,
    ) -> tuple[str, float | None]:
        """A new token, which is never shown again, and when it expires (seconds since 1970).

        If the name is to be ``erasable``, the log gets a commitment in its place; unless somebody of this name had a
        token before, as they would become two people.
        """
        plain_text(name, "name")
        require(ALIAS.fullmatch(name) is None, "name", "be a name, not what stands for one in the log", name)
        require(name != CLOCK, "name", "be another one: the log writes it where nobody acts", name)
        require(role in ROLES, "role", f"be one of {list(ROLES)}", role)
        for stream in streams or ():
            require(NAME.fullmatch(stream) is not None, "streams", "be names of streams", stream)
        if role == ADMIN and streams is not None:
            raise InvalidParameter("`streams` must be left out for an admin, whose role covers the whole service.")
        if days is not None:
            require_number(days, "days", 0, MOST_DAYS, open_at="low")
        token, now = PREFIX + secrets.token_hex(32), time.time()
        expires = None if days is None else now + 86_400 * days
        alias = self.staff.alias(name) if erasable and not self._in_log(name) else self.staff.find(name)
        row = {
            "digest": _digest(token),
            "name": alias or name,
            "role": role,
            "streams": None if streams is None else json.dumps(sorted(set(streams))),
            "created_at": now,
            "expires_at": expires,
        }
        self._store.write(lambda connection: connection.execute(insert(tokens), [row]) and None)
        return token, expires

    def _in_log(self, name: str) -> bool:
        """Whether the log may hold the name itself: a token has it."""
        with self._store.read() as connection:
            return connection.scalar(select(tokens.c.digest).where(tokens.c.name == name).limit(1)) is not None

    def unknown(self, streams: Sequence[str]) -> Sequence[str]:
        """Of some names of streams: those of which there is no stream yet."""
        known = self._store.streams()
        return [stream for stream in streams if stream not in known]

    def first(self) -> str | None:
        """An admin's token if there never was one; None otherwise."""
        with self._store.read() as connection:
            if connection.scalar(select(func.count()).select_from(tokens).where(tokens.c.role == ADMIN)):
                return None
        return self.add("admin", ADMIN)[0]

    def find(self, token: str, now: float) -> Identity | None:
        """Whose token it is; None if it is nobody's, was revoked or has expired."""
        query = select(tokens).where(tokens.c.digest == _digest(token))
        with self._store.read() as connection:
            row = connection.execute(query).first()
        if row is None or row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now):
            return None
        return Identity(row.name, row.role, None if row.streams is None else tuple(json.loads(row.streams)))

    def list(self) -> list[dict[str, Any]]:
        """Every token there was, oldest first, by the start of its digest; never the token itself."""
        with self._store.read() as connection:
            rows = connection.execute(select(tokens).order_by(tokens.c.created_at, tokens.c.digest)).all()
        names = self.staff.names()
        return [
            {
                "token": row.digest[:12],
                "name": names.get(row.name, ERASED if ALIAS.fullmatch(row.name) else row.name),
                "role": row.role,
                "streams": None if row.streams is None else json.loads(row.streams),
                "created_at": row.created_at,
                "expires_at": row.expires_at,
                "revoked_at": row.revoked_at,
            }
            for row in rows
        ]

    def revoke(self, who: str) -> int:
        """Revoke every token of a name, or the one whose digest starts so; how many there were.

        The last administrator's is refused: nobody could add another from afar.
        """
        now, alias = time.time(), self._alias(who)
        match = tokens.c.name.in_([who, alias or who]) | (
            tokens.c.digest.startswith(who, autoescape=True) if _starts(who) else False
        )
        valid = tokens.c.revoked_at.is_(None), (tokens.c.expires_at.is_(None) | (tokens.c.expires_at > now))
        # Locked, so that of two who revoke each other at the same time one waits, and then sees that they are the last.
        admins = select(tokens.c.digest).where(tokens.c.role == ADMIN, *valid)
        admins = admins.order_by(tokens.c.digest).with_for_update()
        change = update(tokens).where(match, tokens.c.revoked_at.is_(None)).values(revoked_at=now)

        def write(connection: Connection) -> int:
            before = connection.execute(admins).all()
            count = connection.execute(change).rowcount
            if before and not connection.execute(admins).all():
                raise Conflict("This is the last administrator. Add another one first.")
            return int(count)

        return self._store.write(write)

    def _alias(self, who: str) -> str | None:
        try:
            return self.staff.find(who)
        except BrokenLog:  # whatever names are changed, a token can be revoked by its digest
            if _starts(who):
                return None
            raise

    def erase_name(self, name: str, erasures: LineFile | None = None) -> None:
        """Forget a name that stands in the log as a commitment; refused while it has a valid token.

        What is in the list of ``erasures`` is erased again when an older backup is restored.
        """
        alias = self.staff.find(name)
        if alias is None:
            raise InvalidParameter(f"`name` must be one that can be erased, got {name!r}.")
        valid = tokens.c.revoked_at.is_(None), (tokens.c.expires_at.is_(None) | (tokens.c.expires_at > time.time()))
        with self._store.read() as connection:
            if connection.execute(select(tokens.c.digest).where(tokens.c.name == alias, *valid)).first():
                raise Conflict("This name still has a valid token. Revoke it first.")
        if erasures is not None:  # first: whoever is killed after this can run it again
            erasures.write([{"stream": LISTED, "hash": alias[1:], "refs": [alias]}])
        self.staff.erase(alias)


def _starts(who: str) -> bool:
    """Whether it can be the start of a digest: as long as the list shows, and hexadecimal."""
    return len(who) >= 12 and set(who) <= set("0123456789abcdef")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
