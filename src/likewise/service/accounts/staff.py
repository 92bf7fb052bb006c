"""Names of staff that can be erased: the log holds a commitment in place of the name, and the name is kept beside it.

    alias = "~" ‖ SHA-256(salt ‖ {"name": name})

For everything but what is shown the alias is the name: it stands in the log, in leases and in sessions. Pages, and
answers over HTTP about rounds and reviewers, show the name. Whoever has the salt can show whose it is; once name and
salt are erased, nobody can.
"""

from __future__ import annotations

import html
import json
import re
import secrets
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from likewise.service.canonical import commitment, dumps
from likewise.service.log import Store
from likewise.service.log.tables import staff
from likewise.service.refusals import BrokenLog

ALIAS = re.compile("~[0-9a-f]{64}")
ERASED = "somebody whose name was erased"
LISTED = "~staff"
"""Under this, where no stream can be, the list of erasures has the aliases whose names were erased."""


def alias_of(name: str, salt: str) -> str:
    """What stands in the log for a name.

    Examples
    --------
    >>> alias_of("ann", "00" * 32)[:9]
    '~cf7eb613'
    """
    return "~" + commitment(salt, dumps({"name": name}))


class Staff:
    """The names behind aliases."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def names(self) -> dict[str, str]:
        """Every name that is still there and that its alias commits to, by alias."""
        with self._store.read() as connection:
            rows = connection.execute(select(staff)).all()
        return {row.alias: row.name for row in rows if alias_of(row.name, row.salt) == row.alias}

    def find(self, name: str) -> str | None:
        """The alias of a name; None if it has none. Refused if somebody has changed whose an alias is."""
        with self._store.read() as connection:
            rows = connection.execute(select(staff)).all()
        if any(alias_of(row.name, row.salt) != row.alias for row in rows):
            raise BrokenLog("An alias of the staff is not that of the name beside it: somebody changed the database.")
        return next((str(row.alias) for row in rows if row.name == name), None)

    def known_as(self, name: str) -> str:
        """What everything but what is shown knows somebody by: an alias, or the name itself."""
        return self.find(name) or name

    def alias(self, name: str) -> str:
        """The alias of a name, a new one if it has none."""
        known = self.find(name)
        if known is not None:
            return known
        salt = secrets.token_hex(32)
        row = {"alias": alias_of(name, salt), "name": name, "salt": salt}
        try:
            self._store.write(lambda connection: connection.execute(insert(staff), [row]) and None)
        except IntegrityError:  # somebody else was faster
            return self.alias(name)
        return row["alias"]

    def erase(self, alias: str) -> bool:
        """Forget whose an alias is; whether there was anybody."""

        def write(connection: Connection) -> bool:
            return connection.execute(delete(staff).where(staff.c.alias == alias)).rowcount > 0

        erased = self._store.write(write)
        self._store.scrub(again=True)
        return erased

    def told(self, text: str, spell: Callable[[str], str] = html.escape) -> str:
        """A text with names in place of aliases, each spelt as the text needs it: a page, if nothing else is said."""
        if ALIAS.search(text) is None:
            return text
        names = {alias: spell(name) for alias, name in self.names().items()}
        return ALIAS.sub(lambda found: names.get(found[0], ERASED), text)

    def named(self, answer: object) -> Any:
        """The same of an answer that is sent as JSON."""
        return json.loads(self.told(json.dumps(answer), lambda name: json.dumps(name)[1:-1]))
