"""Somebody who was erased stays erased: while others read, on the disk, and when an old backup is put back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forging import write
from loans import Clock, drawn, loans, people
from numpy.random import default_rng
from serving import until
from sqlalchemy import create_engine, event, select, text
from typer.testing import CliRunner

from likewise.cli import app
from likewise.errors import InvalidParameter
from likewise.service.canonical import dumps
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.live.verified import UNREAD
from likewise.service.log import Append, Idempotency, Store, scrub, tables
from likewise.service.log import store as log_store
from likewise.service.log.chain import seal
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.connections import address
from likewise.service.log.erasure import ErasureFile
from likewise.service.log.signing import Signer
from likewise.service.proof.replay import verify
from likewise.service.refusals import StreamStopped, Unknown
from likewise.service.run.backup import backup, restore
from likewise.service.stream.events import Stopped, stamp

X = default_rng(1).random((2, 2))


def test_a_record_that_is_read_while_its_person_is_erased_is_there_or_not_there(engine, monkeypatch):
    """The reader has seen in which rounds they were, and finds them gone when it looks there."""
    engine.create(loans(), "root")
    for _ in range(3):
        engine.decide("loans", people(X), "decider")
    by_round = engine.store.by_round

    def erased_meanwhile(stream, numbers):
        first = list(by_round(stream, numbers[:1]))
        monkeypatch.undo()
        engine.erase("loans", "1", "root")
        yield from [*first, *by_round(stream, numbers[1:])]

    monkeypatch.setattr(engine.store, "by_round", erased_meanwhile)
    assert [one["t"] for one in engine.person("loans", "1")["rounds"]] == [1]
    with pytest.raises(Unknown):
        engine.person("loans", "1")


def test_a_record_whose_person_is_erased_before_its_first_round_is_read_is_not_there(engine, monkeypatch):
    engine.create(loans(), "root")
    engine.decide("loans", drawn(default_rng(0)), "decider")
    asides = engine.store.asides_of_people

    def found_just_before(stream, people):
        found = asides(stream, people)
        monkeypatch.undo()
        engine.erase("loans", "1", "root")
        return found

    monkeypatch.setattr(engine.store, "asides_of_people", found_just_before)
    with pytest.raises(Unknown):
        engine.person("loans", "1")


def test_somebody_in_many_rounds_is_shown_and_erased_with_few_questions_to_the_database(engine):
    """As many as for somebody in a few: no more than one for every few hundred rounds."""
    engine.create(loans(k=2), "root")
    for t in range(1, 61):
        engine.decide("loans", people(X), "decider")
        engine.label("loans", t, {"0": 1, "1": 0}, "decider")
        engine.audit("loans", t, "none", "ann", note="as the Oracle said" if t % 20 == 0 else "")
    asked = []
    for database in (engine.store._readers, engine.store._writers):
        event.listen(database, "before_cursor_execute", lambda *given: asked.append(given[2]))
    assert [one["t"] for one in engine.person("loans", "1")["rounds"]] == list(range(1, 61))
    assert len(asked) < 20
    asked.clear()
    assert engine.erase("loans", "1", "root")["rounds"] == list(range(1, 61))
    assert len(asked) < 40, asked
    assert engine.store.remarks("loans", list(range(1, 61))) == []


def test_whoever_reads_events_while_somebody_is_erased_finds_both_or_neither(engine, monkeypatch):
    engine.create(loans(k=2), "root")
    engine.decide("loans", people(X), "decider")
    beside = log_store._beside

    def erased_just_before(*given):
        monkeypatch.undo()
        engine.erase("loans", "1", "root")
        return beside(*given)

    monkeypatch.setattr(log_store, "_beside", erased_just_before)
    sealed = engine.store.events("loans", asides=True)
    assert all(len(each.event.asides) == len(each.event.refs) for each in sealed)
    assert engine.store.head("loans").seq > sealed[-1].seq


def test_whoever_reads_rounds_while_an_auditor_speaks_finds_both_or_neither(engine, monkeypatch):
    engine.create(loans(k=2), "root")
    engine.decide("loans", people(X), "decider")
    aside = log_store._aside

    def spoken_just_after(*given):
        monkeypatch.undo()
        engine.audit("loans", 1, "none", "ann", note="a friend")
        return aside(*given)

    monkeypatch.setattr(log_store, "_aside", spoken_just_after)
    ((_, sealed),) = engine.store.by_round("loans", [1])
    assert all(len(each.event.asides) == len(each.event.refs) for each in sealed)
    assert engine.store.head("loans").seq > sealed[-1].seq


def test_what_auditors_said_is_read_again_only_where_it_has_changed(engine, monkeypatch):
    engine.create(loans(k=2), "root")
    for t in range(1, 7):
        engine.decide("loans", people(X, prefix="" if t % 2 else "other."), "decider")
        engine.audit("loans", t, "none", "ann", note=f"note {t}")
    live, read, by_round = engine.streams.get("loans"), [], engine.reads.by_round
    monkeypatch.setattr(engine.reads, "by_round", lambda stream, some: read.extend(some) or by_round(stream, some))

    def notes(known=UNREAD):
        read.clear()
        said = engine.reads.remarks(live, range(1, 6), known)
        assert said.seq == live.durable.seq
        return said, [aside.content["note"] for aside in said.asides]

    known, said = notes()
    assert (read, said) == ([1, 2, 3, 4, 5], [f"note {t}" for t in range(1, 6)])
    assert (notes(known)[1], read) == (said, [])
    engine.retract("loans", 2, "ann")
    engine.audit("loans", 2, "none", "ann", note="I looked again")
    known, said = notes(known)
    assert (read, said) == ([2], ["note 1", "note 2", "I looked again", "note 3", "note 4", "note 5"])
    engine.erase("loans", "0", "root")
    known, said = notes(known)
    assert (read, said) == ([1, 3, 5], ["note 2", "I looked again", "note 4"])
    assert (notes(known)[1], read) == (said, [])


def test_an_auditor_who_speaks_while_a_person_is_looked_up_is_heard(engine, monkeypatch):
    engine.create(loans(k=2), "root")
    for _ in range(2):
        engine.decide("loans", people(X), "decider")
    engine.audit("loans", 1, "none", "ann", note="one")
    asides, looks = engine.reads.asides_of, []

    def found_just_before(live, ids):
        found = asides(live, ids)
        if len(looks) == 1:  # the rounds were read already
            engine.audit("loans", 2, "none", "ann", note="two")
        looks.append(ids)
        return found

    monkeypatch.setattr(engine.reads, "asides_of", found_just_before)
    engine.erase("loans", "1", "root")
    assert len(looks) > 1
    assert engine.store.remarks("loans", [1, 2]) == []


# Reasons of stops -------------------------------------------------------------------------------------------------


def test_the_reason_of_a_stop_is_not_in_the_log_and_can_be_erased(engine, start, database, tmp_path):
    engine.create(loans(), "root")
    engine.stop("loans", "Zebulon was rude", "root")
    engine.resume("loans", "root")
    engine.stop("loans", "Zebulon again", "root", Idempotency("root", "key", "hash"))
    export = write(tmp_path / "before.jsonl", engine.export("loans"))
    assert verify(export, key=engine.signer.public_key).first is None
    assert not any("Zebulon" in dumps(line) for line in engine.events("loans"))
    engine.streams.get("loans").save(always=True)
    assert engine.stream("loans")["stopped"] == "Zebulon again"
    assert start(database).stream("loans")["stopped"] == "Zebulon again"
    with pytest.raises(StreamStopped, match="Zebulon again"):
        engine.decide("loans", people(X), "decider")
    assert engine.erase_reasons("loans", "root")["erased"] == 2
    assert "Zebulon" not in everything(database), "nor in a snapshot, nor in an answer that was kept"
    assert engine.stream("loans")["stopped"] == "the reason was erased"
    again = start(database)
    assert again.stream("loans")["stopped"] == "the reason was erased"
    with pytest.raises(StreamStopped, match="the reason was erased"):
        again.decide("loans", people(X), "decider")
    with pytest.raises(Unknown):
        engine.erase_reasons("loans", "root")
    found = verify(write(tmp_path / "after.jsonl", engine.export("loans")), key=engine.signer.public_key)
    assert (found.first, found.findings.erased) == (None, 2)
    engine.resume("loans", "root")
    engine.decide("loans", people(X), "decider")


def test_a_stop_of_an_earlier_release_is_read_with_its_reason(engine, tmp_path):
    engine.create(loans(), "root")
    live = engine.streams.get("loans")
    old = Stopped(at=stamp(engine.clock()), reason="lunch", by="root")
    engine.store.append(Append(seal("loans", live.durable.seq, live.durable.hash, [old])))
    assert engine.stream("loans")["stopped"] == "lunch"
    assert verify(write(tmp_path / "old.jsonl", engine.export("loans"))).first is None
    assert engine.events("loans")[-1]["data"] == {"reason": "lunch", "by": "root"}


def test_an_old_backup_does_not_bring_back_the_reason_of_a_stop(tmp_path):
    here = configured(tmp_path, tmp_path / "here.db", "here")
    engine = begun(here, Clock())
    engine.create(loans(), "root")
    engine.stop("loans", "Zebulon was rude", "root")
    backup(here, tmp_path / "old")
    engine.erase_reasons("loans", "root")
    engine.close()
    there = configured(tmp_path, tmp_path / "there.db", "there", erasures=here.erasure_file)
    assert restore(there, tmp_path / "old").erased == 1
    assert "Zebulon" not in everything(there.database)


# Old backups ------------------------------------------------------------------------------------------------------


def configured(folder, database, name, **more):
    beside = {"key": folder / f"{name}.key", "checkpoints": folder / f"{name}.points"}
    return Configuration(database=str(database), **beside, **{"erasures": folder / f"{name}.erasures"} | more)


def begun(configuration, clock):
    """An engine as a service starts it."""
    store = Store(configuration.database)
    store.migrate()
    files = CheckpointFile(configuration.checkpoint_file), clock, ErasureFile(configuration.erasure_file)
    engine = Engine(store, Signer.at(configuration.key_file), *files)
    engine.start()
    return engine


def everything(database):
    """All that a database holds."""
    with Store(database) as store, store.read() as connection:
        return str([connection.execute(select(table)).all() for table in tables.metadata.sorted_tables])


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
def test_an_old_backup_does_not_bring_back_whoever_was_erased_since(database, target, new_database, tmp_path):
    clock = Clock()
    here = configured(tmp_path, database, "here")
    engine = begun(here, clock)
    engine.create(loans(), "root")
    for t in (1, 2, 3):
        engine.decide("loans", people(X, prefix="zeb-"), "decider")
        engine.label("loans", t, {"zeb-0": 1, "zeb-1": 0}, "decider")
        if t < 3:
            engine.audit("loans", t, "none", "ann", note="as the Oracle said")
    backup(here, tmp_path / "old")
    clock.forward(60)
    engine.erase("loans", "zeb-1", "root")
    engine.close()
    assert "zeb" not in here.erasure_file.read_text(), "the list names nobody"
    there = configured(tmp_path, new_database(target), "there", erasures=here.erasure_file)
    done = restore(there, tmp_path / "old")
    assert (done.listed, done.erased) == (True, 5), "three times a person, and two remarks"
    found = everything(there.database)
    assert "zeb-0" in found
    assert not [word for word in ("zeb-1", "Oracle", dumps(people(X)[1]["features"])) if word in found]
    again = begun(there, clock)
    with pytest.raises(Unknown):
        again.person("loans", "zeb-1")
    assert again.person("loans", "zeb-0")["rounds"][0]["label"] == 1
    again.decide("loans", people(X), "decider")
    again.sign_heads()
    lines = list(again.export("loans"))
    erasures = [line for line in lines if line.get("kind") == "person_erased"]
    assert [line["data"]["by"] for line in erasures] == ["restore"]
    export = tmp_path / "export.jsonl"
    export.write_text("".join(dumps(line) + "\n" for line in lines))
    assert verify(export, key=again.signer.public_key, checkpoints=there.checkpoint_file).first is None
    assert len(list(ErasureFile(there.erasure_file).read("loans"))) == 2, (
        "the erasure in the restored log is listed too"
    )
    again.close()


def test_a_backup_without_a_list_says_who_may_be_back(tmp_path):
    clock = Clock()
    here = configured(tmp_path, tmp_path / "here.db", "here")
    engine = begun(here, clock)
    engine.create(loans(), "root")
    backup(here, tmp_path / "old")
    engine.close()

    def restored(name, *options):
        where = ["--database", tmp_path / name / "log.db"]
        (tmp_path / name).mkdir()
        found = CliRunner().invoke(app, [str(one) for one in ("restore", tmp_path / "old", *where, *options)])
        assert found.exit_code == 0, found.output
        return found.output

    said = " ".join(restored("one").split())
    assert "There is no list of erasures at" in said
    assert "whoever was erased after 2023-11-14" in said
    told = json.loads(restored("two", "--json"))
    assert (told["list_of_erasures"], told["erased_again"], told["streams"]) == (None, 0, 1)
    listed = json.loads(restored("three", "--json", "--erasures", here.erasure_file))
    assert listed["list_of_erasures"] == str(here.erasure_file), "an empty list says that nobody was erased"
    with pytest.raises(InvalidParameter, match="erasures"):
        restore(configured(tmp_path, tmp_path / "four.db", "four"), tmp_path / "old")


def test_an_erasure_is_listed_even_if_the_service_dies_before_it_does_so(tmp_path, monkeypatch):
    here = configured(tmp_path, tmp_path / "here.db", "here")
    engine = begun(here, Clock())
    engine.create(loans(), "root")
    engine.decide("loans", people(X), "decider")

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(ErasureFile, "write", full)
    assert engine.erase("loans", "1", "root")["rounds"] == [1]
    monkeypatch.undo()
    assert ErasureFile(here.erasure_file).refs("loans") == []
    engine.store.close()
    again = begun(here, Clock())
    assert len(ErasureFile(here.erasure_file).refs("loans")) == 1
    again.tick()
    again.close()
    assert len(ErasureFile(here.erasure_file).refs("loans")) == 1, "and only once"


# The database's own files -----------------------------------------------------------------------------------------


def administer(database, statement):
    """Run a statement as the database's owner; its first value, if it has one."""
    engine = create_engine(address(database), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        found = connection.execute(text(statement))
        value = found.scalar() if found.returns_rows else None
    engine.dispose()
    return value


def on_disk(database, word):
    """The files of a PostgreSQL server, without its journal, that hold a word."""
    administer(database, "CHECKPOINT")
    folder = Path(administer(database, "SHOW data_directory"))
    return [path for path in (folder / "base").rglob("*") if path.is_file() and word.encode() in content(path)]


def content(path):
    """What is in a file; nothing if the server has removed it meanwhile."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def scrubbed(engine):
    """Let the clock look until it has nothing left to scrub."""

    def done():
        engine.tick()
        return not engine.erasure_cleanup.unscrubbed

    until(done)


@pytest.fixture
def zebulon(new_database, start):
    """A stream on PostgreSQL with somebody of a rare name in it."""
    database = new_database("postgresql")
    engine = start(database)
    engine.create(loans(), "root")
    for i in range(30):
        engine.decide("loans", people(X, prefix=f"zebulon{i % 3}-"), "decider", Idempotency("d", str(i), "h"))
    return database, engine


def test_whoever_is_erased_leaves_the_files_of_postgresql(zebulon):
    database, engine = zebulon
    assert on_disk(database, "zebulon1-1")
    engine.erase("loans", "zebulon1-1", "root")
    scrubbed(engine)
    assert on_disk(database, "zebulon1-1") == []
    assert on_disk(database, "zebulon1-0"), "nobody else does"
    assert len(engine.person("loans", "zebulon2-1")["rounds"]) == 10


def test_a_service_that_died_before_it_scrubbed_does_so_when_it_starts_again(zebulon, start):
    database, engine = zebulon
    engine.erase("loans", "zebulon1-1", "root")
    engine.store.close()
    again = start(database)
    assert on_disk(database, "zebulon1-1")
    scrubbed(again)
    assert on_disk(database, "zebulon1-1") == []


def test_nobody_is_scrubbed_away_under_a_reader_and_writers_do_not_wait_for_it(zebulon):
    """A backup, say, that began before the erasure."""
    database, engine = zebulon
    reading = create_engine(address(database), isolation_level="REPEATABLE READ")
    with reading.connect() as connection:
        connection.execute(text("SELECT count(*) FROM streams"))  # its moment begins; it has not touched people yet
        engine.erase("loans", "zebulon1-1", "root")
        for _ in range(3):
            engine.tick()
            assert engine.erasure_cleanup.unscrubbed
            engine.decide("loans", people(X), "decider")
        assert connection.scalar(text("SELECT count(*) FROM asides WHERE person = 'zebulon1-1'")) == 10
    reading.dispose()
    scrubbed(engine)
    assert on_disk(database, "zebulon1-1") == []


def test_a_table_that_is_too_large_is_not_rewritten_and_that_is_said(zebulon, monkeypatch, caplog):
    _, engine = zebulon
    monkeypatch.setattr(scrub, "REWRITTEN", 0)
    engine.erase("loans", "zebulon1-1", "root")
    scrubbed(engine)
    assert "VACUUM FULL asides" in caplog.text


def test_the_planners_samples_hold_nobody(zebulon):
    database, _ = zebulon
    administer(database, "ANALYZE")
    schema = administer(database, "SELECT current_schema()")
    samples = f"SELECT string_agg(CAST(s AS text), ' ') FROM pg_stats s WHERE schemaname = '{schema}'"
    assert "loans" in administer(database, samples)
    assert "zebulon" not in administer(database, samples)
