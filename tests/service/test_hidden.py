"""Rows that somebody changes while they are read, and then puts back: nothing follows from what was read."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from forging import SIGNER, lived
from loans import Clock, drawn
from sqlalchemy import text
from test_retention import DAY
from test_retention import lived as kept_for_days

from likewise.service.accounts.staff import LISTED
from likewise.service.accounts.tokens import Tokens
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.erasure import ErasureFile
from likewise.service.projections import history, summaries
from likewise.service.projections.follower import Follower
from likewise.service.proof.spelling import canonical, event_hash, parsed
from likewise.service.refusals import BrokenLog


@pytest.fixture
def start(tmp_path):
    """A function that starts an engine on one database, as each process does."""
    engines = []

    def started(clock=None, **beside):
        store = Store(tmp_path / "log.db")
        engines.append(
            Engine(store, SIGNER, CheckpointFile(tmp_path / "checkpoints.jsonl"), clock or Clock(), **beside)
        )
        store.migrate()
        engines[-1].start()
        return engines[-1]

    yield started
    for engine in engines:
        engine.store.close()


@pytest.fixture
def engine(tmp_path):
    engine = lived(tmp_path)
    engine.resume("loans", "root")
    drop_triggers(engine)
    yield engine
    engine.store.close()


def drop_triggers(engine):
    for name in ("events_follow", "events_stay", "events_last", "events_once"):
        do(engine, f"DROP TRIGGER IF EXISTS {name}")


def do(engine, statement, **values):
    engine.store.write(lambda connection: connection.execute(text(statement), values) and None)


def rows(engine, query, **values):
    with engine.store.read() as connection:
        return connection.execute(text(query), values).fetchall()


@contextmanager
def changed(engine, table, statement, **values):
    """A table after a statement, and then as it was."""
    before = [row._asdict() for row in rows(engine, f"SELECT * FROM {table}")]
    do(engine, statement, **values)
    try:
        yield
    finally:
        do(engine, f"DELETE FROM {table}")
        for row in before:
            do(engine, f"INSERT INTO {table} VALUES ({', '.join(f':{name}' for name in row)})", **row)


def ask(engine, *ids):
    rng = np.random.default_rng(len(ids))
    people = drawn(rng, k=len(ids))
    for person, id in zip(people, ids, strict=True):
        person["id"] = id
        person["features"]["sex"] = 0.0
    return engine.decide("loans", people, "decider")["t"]


def test_a_person_filed_as_a_remark_is_neither_shown_nor_erased_without_that_round(engine):
    first, second = ask(engine, "eve", "x"), ask(engine, "eve", "y")
    with changed(engine, "asides", f"UPDATE asides SET kind = 'remark', person = NULL WHERE round = {first}"):
        for look in (engine.person, lambda stream, id: engine.erase(stream, id, "root")):
            with pytest.raises(BrokenLog, match="filed as a remark"):
                look("loans", "eve")
    assert engine.erase("loans", "eve", "root")["rounds"] == [first, second]


def test_a_remark_filed_as_something_else_is_not_left_behind(engine):
    t = ask(engine, "eve", "x")
    engine.audit("loans", t, "none", "ann", note="eve is my neighbour")
    with (
        changed(engine, "asides", "UPDATE asides SET kind = 'note' WHERE kind = 'remark'"),
        pytest.raises(BrokenLog, match="filed as a note"),
    ):
        engine.erase("loans", "eve", "root")
    engine.erase("loans", "eve", "root")
    assert engine.store.remarks("loans", [t]) == []


def test_the_clock_erases_no_round_that_a_person_is_filed_under_for_a_moment(start, monkeypatch):
    engine = start(clock := Clock())
    rounds = kept_for_days(engine, clock)
    ref, opened = rows(engine, "SELECT ref FROM asides WHERE round = 1 AND kind = 'person'")[0][0], engine.reads.opened

    def look(stream, numbers):
        with changed(engine, "asides", f"UPDATE asides SET round = {rounds[-1]} WHERE ref = '{ref}'"):
            return opened(stream, numbers)

    monkeypatch.setattr(engine.reads, "opened", look)
    assert engine.retain() == 0
    assert "loans" in engine.broken
    monkeypatch.undo()
    assert not [line for line in engine.events("loans", 0, 1000) if line["kind"] == "person_erased"]
    assert len(engine.store.remarks("loans", rounds)) == 6


def test_nobody_goes_before_all_about_their_round_is_signed_wherever_it_is_filed(start):
    engine = start(clock := Clock())
    kept_for_days(engine, clock)
    engine.correct("loans", 1, "none", "ann", note="not signed yet")
    live, before = engine.streams.get("loans"), clock() - 3 * DAY
    (last,) = rows(engine, "SELECT max(seq) FROM events WHERE round = 1")[0]
    assert last > engine._heads.signed(live)
    assert engine._over(live, 0, before) == [2, 3, 4]
    drop_triggers(engine)
    with changed(engine, "events", f"UPDATE events SET round = NULL WHERE seq = {last}"):
        assert engine._over(live, 0, before) == [2, 3, 4]
    engine.sign_heads(always=True)
    assert engine._over(live, 0, before) == [1, 2, 3, 4]


def test_what_a_restore_erases_again_is_refused_where_it_is_filed_under_another_round(engine):
    first, second = ask(engine, "eve", "x"), ask(engine, "y", "z")
    ref = rows(engine, "SELECT ref FROM asides WHERE person = 'eve'")[0][0]
    for t in (second, 999):
        with changed(engine, "asides", f"UPDATE asides SET round = {t} WHERE ref = '{ref}'"), pytest.raises(BrokenLog):
            engine.erase_again("loans", [ref], "root")
    assert engine.erase_again("loans", [ref], "root") == 1
    erased = [line["data"] for line in engine.events("loans", 0, 1000) if line["kind"] == "person_erased"]
    assert [(data["rounds"], data["erased"]) for data in erased] == [([first], [ref])]


def forged(engine, seq, **data):
    """A statement that gives an event other data, with the hash that fits them."""
    stream, prev, kind, version, at, text_ = rows(
        engine, "SELECT stream, prev, kind, version, at, data FROM events WHERE seq = :seq", seq=seq
    )[0]
    data = parsed(text_.encode()) | data
    line = {"stream": stream, "seq": seq, "prev": prev, "kind": kind, "version": version, "at": at, "data": data}
    values = {"data": canonical(data).decode(), "hash": event_hash(line), "seq": seq}
    return "UPDATE events SET data = :data, hash = :hash WHERE seq = :seq", values


def test_nobody_is_listed_as_erased_whom_the_log_did_not_erase(engine, start, tmp_path, caplog):
    engine.erase("loans", "4.1", "root")
    victim = rows(engine, "SELECT ref FROM asides WHERE person = '0.0'")[0][0]
    (seq,) = rows(engine, "SELECT seq FROM events WHERE kind = 'person_erased'")[0]
    file = ErasureFile(tmp_path / "erasures.jsonl")
    later = start(engine.clock)
    later.streams.get("loans")  # the log was read
    later.erasure_cleanup._file = file
    statement, values = forged(engine, seq, erased=[victim])
    with changed(engine, "events", statement, **values):
        later.erasure_cleanup.begin(["loans"])
        assert file.refs("loans") == []
        assert "can't go on" in caplog.text
    later.broken._since.clear()
    later.erasure_cleanup.retry()
    assert victim not in file.refs("loans") != []


@pytest.mark.parametrize("what", ["people", "a reason"])
def test_who_is_hidden_from_a_process_that_reads_along_is_not_taken_for_erased(engine, start, what):
    second = start(engine.clock)
    if what == "people":
        where = f"round = {ask(engine, 'eve', 'x', 'y')}"
    else:
        engine.stop("loans", "a long lunch", "root")
        where = "round = 0"
    live, seq = second.streams.get("loans"), second.streams.get("loans").durable.seq
    with changed(engine, "asides", f"DELETE FROM asides WHERE {where}"):
        for _ in range(2):
            with pytest.raises(BrokenLog, match="no event has erased it"):
                live.current()
        assert live.durable.seq == live.latest.seq == seq
        assert live.durable.hash == rows(engine, f"SELECT hash FROM events WHERE seq = {seq}")[0][0]
    assert live.current().stopped == (None if what == "people" else "a long lunch")
    if what == "people":
        opened = max(live.current().rounds)
        assert live.current().rounds[opened].ids == ("eve", "x", "y")
        assert [person["id"] for person in second.round("loans", opened)["people"]] == ["eve", "x", "y"]
        second.label("loans", opened, {"eve": 1, "x": 0, "y": 1}, "decider")
        assert [each["t"] for each in second.person("loans", "eve")["rounds"]] == [opened]
        engine.clock.forward(200)
        assert second.tick() > 0


def test_nobody_sees_a_state_without_people_who_were_hidden_for_a_moment(engine, start, monkeypatch):
    """Not even between two pages; and no snapshot keeps it."""
    second = start(engine.clock)
    t = ask(engine, "eve", "x", "y")
    engine.stop("loans", "lunch", "root")
    engine.resume("loans", "root")
    live, heads = second.streams.get("loans"), set()
    monkeypatch.setattr("likewise.service.live.position.PAGE", 2)
    events, before = second.store.events, live.durable[1:3]
    heard = len(live.people._heard), len(live.places._heard)

    def read(*given, **more):
        heads.update({live.durable[1:3], live.latest[1:3]})
        return events(*given, **more)

    monkeypatch.setattr(second.store, "events", read)
    with changed(engine, "asides", f"DELETE FROM asides WHERE round = {t}"):
        for _ in range(3):
            with pytest.raises(BrokenLog):
                live.current()
        assert heard == (len(live.people._heard), len(live.places._heard)), "nothing is kept of what was read in vain"
        second.sign_heads(always=True)
        live.save(always=True)
    assert heads == {before}
    assert start(engine.clock).streams.get("loans").current().rounds[t].ids == ("eve", "x", "y")
    assert live.current().rounds[t].ids == ("eve", "x", "y")


def test_a_start_that_could_not_read_a_log_to_its_end_keeps_nothing_of_it(engine, start):
    t = ask(engine, "eve", "x", "y")
    do(engine, "DELETE FROM snapshots")
    with changed(engine, "asides", f"DELETE FROM asides WHERE round = {t}"):
        later = start(engine.clock)
        assert "loans" in later.broken
        live = later.streams._live["loans"]
        heard = len(live.people._heard), len(live.places._heard)
        for _ in range(2):
            with pytest.raises(BrokenLog, match="no event has erased it"):
                later.streams.get("loans")
        assert (live.loaded, live.durable.seq) == (False, 0)
        assert heard == (len(live.people._heard), len(live.places._heard)), "each start hears it anew"
    assert later.streams.get("loans").current().rounds[t].ids == ("eve", "x", "y")
    assert [each["t"] for each in later.person("loans", "eve")["rounds"]] == [t]


def test_pictures_of_the_past_are_not_drawn_from_forged_labels(engine):
    Follower(engine).follow("loans")
    received = [line["seq"] for line in engine.events("loans", 0, 1000) if line["kind"] == "labels_received"]
    labels = engine.events("loans", received[0] - 1, 1)[0]["data"]["labels"]
    statement, values = forged(engine, received[0], labels=[[i, 1 - y] for i, y in labels])
    before = summaries.sampled(engine.store, "loans")
    with changed(engine, "events", statement, **values), pytest.raises(BrokenLog):
        history.fill_in(engine, "loans", lambda share: None)
    assert summaries.sampled(engine.store, "loans") == before
    assert history.fill_in(engine, "loans", lambda share: None) > 0
    assert len(summaries.sampled(engine.store, "loans")) > len(before)


def test_nobody_s_name_is_erased_for_another_s(start, tmp_path):
    engine = start()
    tokens, file = Tokens(engine.store), ErasureFile(tmp_path / "erasures.jsonl")
    for name in ("ann", "bob"):
        tokens.add(name, "auditor", erasable=True)
        tokens.revoke(name)
    tokens.add("dora", "auditor")
    names = tokens.staff.names()
    # The table keeps names unique, so they change places by way of a third one.
    with changed(engine, "staff", "UPDATE staff SET name = name || '?'"):
        for old, new in (("ann?", "bob"), ("bob?", "ann")):
            do(engine, f"UPDATE staff SET name = '{new}' WHERE name = '{old}'")
        for use in (
            lambda: tokens.erase_name("ann", file),
            lambda: tokens.add("ann", "auditor"),
            lambda: tokens.revoke("ann"),
            lambda: tokens.staff.alias("carol"),
        ):
            with pytest.raises(BrokenLog, match="alias"):
                use()
        assert tokens.revoke(tokens.list()[-1]["token"]) == 1, "by its digest, whatever became of names"
    assert tokens.staff.names() == names
    tokens.erase_name("ann", file)
    (left,) = tokens.staff.names().items()
    assert left[1] == "bob"
    assert file.refs(LISTED) == [alias for alias, name in names.items() if name == "ann"]


def test_erasures_that_can_not_be_listed_are_no_quiet_matter(engine, start, monkeypatch, tmp_path):
    engine.erase("loans", "4.1", "root")
    later = start(engine.clock)
    later.erasure_cleanup._file = file = ErasureFile(tmp_path / "erasures.jsonl")

    def full(facts):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(file, "write", full)
        with pytest.raises(OSError, match="no space"):
            later.erasure_cleanup.begin(["loans"])
        with pytest.raises(OSError, match="no space"):
            later.tick()
    later.tick()
    assert file.refs("loans") != []


def test_a_reason_is_not_said_to_be_erased_while_it_is_hidden(engine):
    engine.stop("loans", "a long lunch", "root")
    promised = [line["data"]["remark"]["ref"] for line in engine.events("loans", 0, 1000) if line["kind"] == "stopped"]
    with changed(engine, "asides", "DELETE FROM asides WHERE round = 0"), pytest.raises(BrokenLog):
        engine.reads.require_erased("loans", promised)
    engine.erase_reasons("loans", "root")
    engine.reads.require_erased("loans", promised)
