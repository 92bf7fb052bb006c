"""Who is looking at the pages: one-time login links, and signed cookies that end.

A session stands for a token. Its cookie holds the token's digest, a number and an end, signed with a key derived from
the service's own; nothing about it is stored until it is logged out. Revoking the token ends its sessions, and so does
logging out everywhere, which changes the number that cookies of a name must hold.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from itsdangerous import BadData, URLSafeSerializer
from itsdangerous import Signer as Mac
from sqlalchemy import Connection, delete, insert, select, update

from likewise.errors import InvalidParameter
from likewise.service.accounts.tokens import Identity
from likewise.service.log import Store
from likewise.service.log.signing import Signer
from likewise.service.log.tables import logins, sessions, tokens

SESSION = 12 * 3600.0
"""Seconds until a session ends."""
LINK = 24 * 3600.0
"""Seconds for which a login link may be used, once."""
HASHED: dict[str, Any] = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
"""How cookies are signed; left to itself, the library would take SHA-1."""


class Session(NamedTuple):
    """Somebody who is logged in, and until when (seconds)."""

    identity: Identity
    id: str
    until: float


class Sessions:
    """Login links and cookies of a service.

    Parameters
    ----------
    store
        Where tokens, links and the numbers of sessions are.
    signer
        Its key signs cookies too, by way of a key derived from it.
    clock
        Seconds since 1970.
    """

    def __init__(self, store: Store, signer: Signer, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        key = signer.derived("cookies")
        self._cookies = URLSafeSerializer(key, salt="cookie", signer_kwargs=HASHED)
        self._forms = Mac(key, salt="form", **HASHED)

    def link(self, who: str, seconds: float = LINK) -> str:
        """A code that logs its bearer in, once, as the newest valid token of a name, or of a digest's start."""
        now = self._clock()
        match = (tokens.c.name == who) | (tokens.c.digest.startswith(who, autoescape=True) if len(who) >= 12 else False)
        query = select(tokens).where(match, tokens.c.revoked_at.is_(None)).order_by(tokens.c.created_at.desc())
        with self._store.read() as connection:
            valid = [row.digest for row in connection.execute(query) if _runs(row, now)]
        if not valid:
            raise InvalidParameter(f"`who` must be the name of somebody with a valid token, got {who!r}.")
        code = secrets.token_urlsafe(32)
        row = {"digest": _digest(code), "token": valid[0], "expires_at": now + seconds}

        def write(connection: Connection) -> None:
            connection.execute(delete(logins).where(logins.c.expires_at <= now))
            connection.execute(insert(logins), [row])

        self._store.write(write)
        return code

    def known(self, code: str) -> str | None:
        """The name that a code would log in; None if it can't be used (any more)."""
        query = select(tokens.c.name).join_from(logins, tokens, logins.c.token == tokens.c.digest)
        usable = (logins.c.digest == _digest(code), logins.c.used_at.is_(None), logins.c.expires_at > self._clock())
        with self._store.read() as connection:
            return connection.scalar(query.where(*usable, tokens.c.revoked_at.is_(None)))

    def redeem(self, code: str) -> str | None:
        """Use a code up: the cookie of the session it begins, or None."""
        now = self._clock()
        usable = (logins.c.digest == _digest(code), logins.c.used_at.is_(None), logins.c.expires_at > now)

        def write(connection: Connection) -> str | None:
            # The update decides: of two that come at once, one finds the code used.
            if connection.execute(update(logins).where(*usable).values(used_at=now)).rowcount != 1:
                return None
            return connection.scalar(select(logins.c.token).where(logins.c.digest == _digest(code)))

        digest = self._store.write(write)
        return None if digest is None else self._begin(digest)

    def login(self, token: str) -> str | None:
        """The cookie of a session that begins with a token, or None if it isn't valid."""
        return self._begin(hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest())

    def find(self, cookie: str) -> Session | None:
        """The session of a cookie; None if it is forged, has ended, or its token is no longer valid."""
        try:
            content = self._cookies.loads(cookie.encode(errors="replace"))
        except BadData:
            return None
        # The end stands in the cookie, and not only how old it may grow: the clock is the service's own.
        holder = self._looked_up(content["token"]) if content["until"] > self._clock() else None
        if holder is None or holder[1] != content["version"] or self._ended(content["id"]):
            return None
        return Session(holder[0], content["id"], content["until"])

    def end(self, cookie: str) -> None:
        """Log one browser out: its cookie is worth nothing from now on, also a copy of it."""
        try:
            content = self._cookies.loads(cookie.encode(errors="replace"))
        except BadData:
            return
        now = self._clock()
        # Kept beside the links, as long as the cookie would have lasted; nobody has the code of such a row.
        row = {"digest": _of_session(content["id"]), "token": content["token"], "expires_at": content["until"]}

        def write(connection: Connection) -> None:
            connection.execute(delete(logins).where(logins.c.expires_at <= now))
            connection.execute(delete(logins).where(logins.c.digest == row["digest"]))
            connection.execute(insert(logins), [row | {"used_at": now}])

        self._store.write(write)

    def _ended(self, id: str) -> bool:
        with self._store.read() as connection:
            query = select(logins.c.digest).where(logins.c.digest == _of_session(id))
            return connection.scalar(query) is not None

    def end_all(self, name: str) -> None:
        """Log somebody out everywhere."""

        def write(connection: Connection) -> None:
            own_row = sessions.c.name == name
            if connection.execute(update(sessions).where(own_row).values(version=sessions.c.version + 1)).rowcount == 0:
                connection.execute(insert(sessions), [{"name": name, "version": 1}])

        self._store.write(write)

    def csrf(self, session: Session) -> str:
        """What a form of this session must bring along."""
        return self._forms.get_signature(session.id).decode()

    def _begin(self, digest: str) -> str | None:
        holder = self._looked_up(digest)
        if holder is None:
            return None
        until = self._clock() + SESSION
        content = {"token": digest, "version": holder[1], "until": until, "id": secrets.token_hex(16)}
        return str(self._cookies.dumps(content))

    def _looked_up(self, digest: str) -> tuple[Identity, int] | None:
        """Whose token it is, and the number that their cookies must hold."""
        both = select(tokens, sessions.c.version).outerjoin(sessions, sessions.c.name == tokens.c.name)
        with self._store.read() as connection:
            row = connection.execute(both.where(tokens.c.digest == digest)).first()
        if row is None or row.revoked_at is not None or not _runs(row, self._clock()):
            return None
        streams = None if row.streams is None else tuple(json.loads(row.streams))
        return Identity(row.name, row.role, streams), row.version or 0


def _runs(row: Any, now: float) -> bool:
    return row.expires_at is None or row.expires_at > now


def _of_session(id: str) -> str:
    return hashlib.sha256(b"session " + id.encode()).hexdigest()


def _digest(code: str) -> str:
    return hashlib.sha256(b"login " + code.encode(errors="surrogatepass")).hexdigest()
