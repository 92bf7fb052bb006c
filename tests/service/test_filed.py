"""Events that are filed under another round: missed on its page and in decisions about it, whatever index was kept."""

from __future__ import annotations

import numpy as np
import pytest
from forging import SIGNER
from loans import Clock, drawn, loans
from sqlalchemy import select, text

from likewise.service.engine import Engine
from likewise.service.live import places as index
from likewise.service.live import verified
from likewise.service.log import Store, places, tables
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.refusals import BrokenLog, Unknown
from likewise.service.stream.settings import Waits

THOUSAND = 7


@pytest.fixture(autouse=True)
def short_thousands(monkeypatch):
    for module in (index, places, verified):
        monkeypatch.setattr(module, "TOGETHER", THOUSAND)


@pytest.fixture
def start(database, tmp_path):
    """A function that starts an engine on a stream, whose rounds it moves on by a clock."""
    engines, clock = [], Clock()

    def started():
        store = Store(database)
        store.migrate()
        engine = Engine(store, SIGNER, CheckpointFile(tmp_path / "checkpoints.jsonl"), clock)
        engine.start()
        engines.append(engine)
        return engine

    started().create(loans(waits=Waits(audit=60, label=90, grace=5)), "root")
    yield started
    for engine in engines:
        engine.store.close()


def live(engine, rounds=10, first=0):
    rng = np.random.default_rng(first)
    for i in range(first, first + rounds):
        asked = drawn(rng, k=2, prefix=f"{i}.")
        t = engine.decide("loans", asked, "decider")["t"]
        if i % 3:
            engine.label("loans", t, {person["id"]: 1 for person in asked}, "decider")
        engine.audit("loans", t, "none", "ann")
        engine.clock.forward(40)
        engine.tick()


def do(engine, statement, **values):
    def write(connection):
        if connection.dialect.name == "sqlite":
            connection.execute(text("DROP TRIGGER IF EXISTS events_stay"))
        else:
            connection.execute(text("DROP TRIGGER IF EXISTS events_stay ON events"))
        connection.execute(text(statement), values)

    engine.store.write(write)


def kept(engine):
    with engine.store.read() as connection:
        return sorted(connection.scalars(select(tables.places.c.number)))


def require_index(engine):
    """The index is what the events say."""
    seq = engine.reads.place("loans")
    about = {}
    for each in engine.store.events("loans"):
        about.setdefault(each.event.about, set()).add(each.seq)
    assert sum(map(len, about.values())) == seq
    for t in filter(None, about):
        for after in (0, min(about[t]) - 1, min(about[t])):
            known = engine.streams.get("loans").places.about([t], after, seq)
            assert known == {place for place in about[t] if place > after}


@pytest.mark.parametrize("again", ["the same process", "from the log", "from the table"])
@pytest.mark.parametrize("elsewhere", ["7", "NULL", "999"])
def test_an_event_that_is_filed_under_another_round_is_missed(start, elsewhere, again):
    engine = start()
    live(engine)
    if again == "from the log":
        do(engine, "DELETE FROM snapshots")
        do(engine, "DELETE FROM places")
    engine = engine if again == "the same process" else start()
    audited = next(each for each in engine.store.events("loans", round=4) if each.event.kind == "audited")
    do(engine, f"UPDATE events SET round = {elsewhere} WHERE seq = :seq", seq=audited.seq)
    looks = (
        lambda: engine.round("loans", 4),
        lambda: engine.rounds("loans", [3, 4, 5]),
        lambda: engine.person("loans", engine.round("loans", 4)["people"][0]["id"]),
        lambda: engine.label("loans", 4, {"3.0": 1}, "decider"),
        lambda: engine.correct("loans", 4, "skip", "root"),
    )
    for look in looks:
        with pytest.raises(BrokenLog):
            look()
    assert engine.round("loans", 3)["t"] == 3
    do(engine, "UPDATE events SET round = 4 WHERE seq = :seq", seq=audited.seq)
    assert engine.round("loans", 4)["audit"] is not None


def test_a_round_that_is_gone_is_not_unknown(start):
    engine = start()
    live(engine, 5)
    do(engine, "UPDATE events SET round = 5 WHERE round = 4")
    with pytest.raises(BrokenLog):
        engine.round("loans", 4)
    with pytest.raises(Unknown):
        engine.round("loans", 6)


@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE places SET content = (SELECT content FROM places WHERE number = 1) WHERE number = 0",
        "UPDATE places SET seal = 'ab'",
        "UPDATE places SET number = number + 10",
        "UPDATE places SET hash = 'ab'",
        "DELETE FROM places WHERE number = 1",
    ],
)
def test_what_somebody_else_wrote_into_the_table_does_not_count(start, forgery):
    engine = start()
    live(engine)
    assert kept(engine) == list(range(engine.streams.get("loans").durable.seq // THOUSAND))
    do(engine, forgery)
    require_index(start())


def test_what_was_kept_is_not_read_again(start, monkeypatch):
    engine = start()
    live(engine)
    require_index(engine)
    again, read = start(), []
    in_a_row = again.reads.in_a_row
    monkeypatch.setattr(again.reads, "in_a_row", lambda *span: read.append(span) or in_a_row(*span))
    require_index(again)
    assert len(read) <= 1


def test_events_from_before_there_was_a_table_are_kept_while_nothing_else_happens(start):
    engine = start()
    live(engine)
    engine.close()
    engine = start()
    do(engine, "DELETE FROM places")
    for _ in range(20):
        engine.tick()
    assert kept(engine) == list(range(engine.streams.get("loans").durable.seq // THOUSAND))


def test_two_processes_and_restarts_lead_to_the_same_index(start):
    engines, rng = [start(), start()], np.random.default_rng(2)
    for i in range(25):
        one = int(rng.integers(2))
        live(engines[one], 1, first=i)
        if rng.random() < 0.2:
            engines[one] = start()
        if rng.random() < 0.5:
            engines[1 - one].streams.get("loans").current()
            require_index(engines[1 - one])
    for engine in engines:
        engine.streams.get("loans").current()
        require_index(engine)


def test_whoever_reads_along_skips_what_no_event_names(start):
    engine = start()
    live(engine)
    expected = engine.store.events("loans", asides=True)
    columns = "ref, stream, round, kind, person, salt, content"
    do(engine, f"INSERT INTO asides ({columns}) VALUES ('ab', 'loans', 5, 'person', 'ada', '', 'no JSON')")
    found = engine.store.events("loans", asides=True)
    assert [each.event.asides for each in found] == [each.event.asides for each in expected]
    assert any(each.event.asides for each in found)


@pytest.mark.parametrize("elsewhere", ["round = 3", "round = 999", "kind = 'remark', person = NULL"])
def test_whoever_reads_along_refuses_people_who_are_filed_as_something_else(start, elsewhere):
    engine = start()
    live(engine)
    do(engine, f"UPDATE asides SET {elsewhere} WHERE round = 5")
    with pytest.raises(BrokenLog, match="but it belongs to event"):
        engine.store.events("loans", asides=True)


def test_whoever_reads_along_takes_nobody_for_somebody_else(start):
    engine = start()
    live(engine)
    engine.store.events("loans", asides=True)
    do(engine, "UPDATE asides SET person = 'ada' WHERE round = 5")
    with pytest.raises(BrokenLog, match="filed in the wrong place"):
        engine.store.events("loans", asides=True)
