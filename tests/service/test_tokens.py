"""Tokens: who may revoke whom, also when several processes do so at once."""

from __future__ import annotations

import threading
import time

import pytest
from sqlalchemy import create_engine, text, update

from likewise.errors import InvalidParameter
from likewise.service.accounts.tokens import Tokens
from likewise.service.log import tables
from likewise.service.refusals import Conflict


def test_the_last_administrator_stays(store):
    tokens = Tokens(store)
    for name in ("ann", "bob"):
        tokens.add(name, "admin")
    tokens.add("cid", "admin", days=1e-9)  # expired by now
    assert tokens.revoke("ann") == 1
    with pytest.raises(Conflict, match="last administrator"):
        tokens.revoke("bob")


def test_of_two_administrators_who_revoke_each_other_at_once_one_stays(new_database, open_store):
    database = new_database("postgresql")
    tokens = Tokens(open_store(database))
    for name in ("ann", "bob"):
        tokens.add(name, "admin")
    said = []

    def revoke():
        try:
            said.append(tokens.revoke("ann"))
        except Conflict as refused:
            said.append(str(refused))

    engine = create_engine(database)
    with engine.begin() as other:  # another process that has revoked Bob, and has not said so to the disk yet
        other.execute(update(tables.tokens).where(tables.tokens.c.name == "bob").values(revoked_at=1.0))
        thread = threading.Thread(target=revoke)
        thread.start()
        waits = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        until = time.monotonic() + 300
        with engine.connect() as looking:
            while thread.is_alive() and not looking.scalar(waits) and time.monotonic() < until:
                looking.rollback()
    thread.join()
    engine.dispose()
    assert said == ["This is the last administrator. Add another one first."]


def test_nobody_is_called_like_the_clock(open_store, new_database):
    """The log takes a verdict by the clock for one that nobody gave."""
    with pytest.raises(InvalidParameter, match="where nobody acts"):
        Tokens(open_store(new_database("sqlite"))).add("clock", "auditor")
