"""Certificates from stretches that were kept: the same as from the whole log, whatever has happened since."""

from __future__ import annotations

import json

import pytest
from forging import lived, often_written_down
from sqlalchemy import delete, select, text, update

from likewise.service.engine import Engine
from likewise.service.log import Store, tables
from likewise.service.log.signing import Signer
from likewise.service.log.stretches import BOOK, Book, Stretches
from likewise.service.refusals import BrokenLog
from likewise.service.stream.transcript import certificate, person_number, transcript


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Stretches of five rounds."""
    for module in ("append", "stretches"):
        monkeypatch.setattr(f"likewise.service.log.{module}.STRETCH", 5)


@pytest.fixture
def engine(tmp_path):
    engine = lived(tmp_path)
    yield engine
    engine.close()


def from_the_log(engine):
    """The certificate by reading everything."""
    live = engine.streams.get("loans")
    state, seq = live.durable[:2]
    events = [sealed.event for page in engine.store.pages("loans", seq) for sealed in page]
    return certificate(transcript(events, state), state)


def same(engine):
    """From the log, from whatever was kept, and from what is kept now."""
    first, second, whole = engine.certificate("loans"), engine.certificate("loans"), from_the_log(engine)
    unsigned = [{name: one[name] for name in whole} for one in (first, second)]
    assert json.dumps(unsigned[0]) == json.dumps(unsigned[1]) == json.dumps(whole)
    return unsigned[0]


def rows(engine):
    with engine.store.read() as connection:
        query = select(tables.stretches.c.number, tables.stretches.c.seq).order_by(tables.stretches.c.number)
        return {row.number: row.seq for row in connection.execute(query) if row.number != BOOK}


def test_whole_stretches_are_kept_and_give_the_same_certificate(engine):
    same(engine)
    assert list(rows(engine)) == [0, 1], "twelve rounds: the last two are not a whole stretch"


def test_they_follow_corrections_and_late_labels(engine):
    before, kept = same(engine), rows(engine)
    engine.correct("loans", 7, "none" if engine.round("loans", 7)["audit"]["verdict"] != "cleared" else "skip", "ann")
    assert same(engine) != before
    assert rows(engine)[0] == kept[0]
    assert rows(engine)[1] > kept[1]


def test_nobody_who_was_erased_stays_in_them(engine):
    same(engine)
    engine.erase("loans", "1.1", "root")
    assert list(rows(engine)) == [1], "the stretch of round 2 went with them"
    same(engine)
    assert list(rows(engine)) == [0, 1]


def test_a_stretch_that_was_made_before_an_erasure_is_not_kept_after_it(engine, monkeypatch):
    stretches, live = engine._stretches, engine.streams.get("loans")
    state, seq = live.durable[:2]
    one, *_ = stretches._looked("loans", state.opened, seq)[1]
    engine.erase("loans", "1.1", "root")
    stretches._made("loans", state, one, [])
    assert rows(engine) == {}


@pytest.mark.parametrize("column", ["content", "seal"])
def test_one_that_somebody_changed_is_made_again(engine, column):
    before = same(engine)
    content = engine.store.read
    with content() as connection:
        old = connection.scalar(select(tables.stretches.c[column]).where(tables.stretches.c.number == 0))
    changed = old.replace("a", "b", 1) if column == "seal" else json.dumps(json.loads(old) | {"refuted": {"lost": 3}})
    change = update(tables.stretches).where(tables.stretches.c.number == 0).values({column: changed})
    engine.store.write(lambda connection: connection.execute(change) and None)
    assert same(engine) == before


def do(engine, statement, **values):
    """What an insider does, behind the triggers' back."""
    engine.store.write(lambda connection: _do(connection, statement, values))


def _do(connection, statement, values):
    for name in connection.scalars(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).all():
        connection.execute(text(f"DROP TRIGGER {name}"))
    connection.execute(text(statement), values)


def test_only_what_came_since_the_last_certificate_is_checked_again(engine, monkeypatch):
    same(engine)
    read = []
    unfiled = engine.store.unfiled
    monkeypatch.setattr(engine.store, "unfiled", lambda *given: read.append(given) or unfiled(*given))
    head = engine.streams.get("loans").durable.seq
    engine.erase("loans", "1.1", "root")
    same(engine)
    assert read
    assert all(after >= head - 5 for _, after, _ in read), "STRETCH events at most are checked twice"


@pytest.mark.parametrize("hidden", ["NULL", "1"])
def test_an_event_that_is_hidden_after_it_was_checked_leads_to_no_certificate(engine, hidden):
    honest = same(engine)
    last = engine.store.events("loans", round=7)[-1].seq
    do(engine, f"UPDATE events SET round = {hidden} WHERE seq = :seq", seq=last)
    with pytest.raises(BrokenLog, match="filed"):
        engine.certificate("loans")
    do(engine, "UPDATE events SET round = 7 WHERE seq = :seq", seq=last)
    assert same(engine) == honest


def test_a_stretch_that_was_made_while_an_event_was_hidden_does_not_count(engine):
    honest, stretches = same(engine), engine._stretches
    state, seq = engine.streams.get("loans").durable[:2]
    one = stretches._looked("loans", state.opened, seq)[1][1]
    last = engine.store.events("loans", round=7)[-1].seq
    do(engine, "UPDATE events SET round = NULL WHERE seq = :seq", seq=last)
    with pytest.raises(BrokenLog, match="filed"):
        stretches._made("loans", state, one, ())
    stretches._made("loans", state, one._replace(events=one.events - 1), ())  # as if it had been counted so
    do(engine, "UPDATE events SET round = 7 WHERE seq = :seq", seq=last)
    assert stretches._kept("loans", one) is None
    assert same(engine) == honest


@pytest.mark.parametrize("column", ["content", "seal"])
def test_whoever_changes_what_was_checked_has_everything_checked_again(engine, column):
    honest = same(engine)
    seq = engine.streams.get("loans").durable.seq
    assert engine._stretches._book("loans", seq) != Book()
    do(engine, f"UPDATE stretches SET {column} = {column} || ' ' WHERE number = {BOOK}")
    assert engine._stretches._book("loans", seq) == Book()
    assert same(engine) == honest


def test_they_are_filled_in_one_at_a_time(engine):
    live = engine.streams.get("loans")
    state, seq = live.durable[:2]
    engine.store.write(lambda connection: connection.execute(delete(tables.stretches)) and None)
    fresh = Stretches(engine.store, engine.reads.require)
    assert [fresh.catch_up("loans", state, seq) for _ in range(4)] == [True, True, False, False]
    assert list(rows(engine)) == [0, 1]
    same(engine)


def test_a_quiet_stream_gets_them_from_the_clock(engine):
    for _ in range(3):
        engine.tick()
    assert list(rows(engine)) == [0, 1]


def test_a_stream_that_keeps_a_record_has_the_same_certificate(tmp_path):
    (tmp_path / "bank").mkdir()
    engine = lived(tmp_path / "bank", lot="round")
    same(engine)
    assert len(rows(engine)) == 2
    engine.close()


def test_a_learner_that_was_written_down_with_reports_that_it_keeps_is_no_missing_person(tmp_path):
    with often_written_down():
        engine = lived(tmp_path)
    written = engine.store.events("loans", kind="learner_checkpointed")
    assert any(each.event.pairs for each in written)
    same(engine)
    assert engine.round("loans", 1)["t"] == 1
    engine.close()


def test_a_person_has_one_number():
    assert person_number(None) == 0 < person_number("ada") == person_number("ada") != person_number("bob")
    numbers = {person_number(str(i)) for i in range(10_000)}
    assert len(numbers) == 10_000
    assert max(numbers) < 2**53, "as JSON has them exactly"


def test_the_key_of_another_service_opens_none(tmp_path):
    engine = lived(tmp_path)
    same(engine)
    engine.close()
    with Store(tmp_path / "log.db") as store:
        other = Engine(store, Signer.generate())
        state, seq = other.streams.get("loans").durable[:2]
        assert other._stretches._book("loans", seq) == Book()
        one, *_ = other._stretches._looked("loans", state.opened, seq)[1]
        assert other._stretches._kept("loans", one) is None
