"""Looking people up: whoever is filed elsewhere in the database is missed by nobody, whatever index was kept."""

from __future__ import annotations

import numpy as np
import pytest
from forging import SIGNER
from loans import BANK, Clock, loans, people
from sqlalchemy import select, text

from likewise.service.engine import Engine
from likewise.service.live import people as index
from likewise.service.live import verified
from likewise.service.log import Store, append, tables, visits
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.refusals import BrokenLog, Unknown
from likewise.service.stream.settings import Waits

THOUSAND = 5
FILED_ELSEWHERE = {
    "under another id": ["UPDATE asides SET person = 'x', content = replace(content, '\"7.0\"', '\"x\"') {where}"],
    "only in the index": ["UPDATE asides SET person = 'x' {where}"],
    "in another round": ["UPDATE asides SET round = 3 {where}"],
    "in another stream": ["UPDATE asides SET stream = 'x' {where}"],
    "nowhere": ["DELETE FROM asides {where}"],
    "somebody else in their place": [
        "UPDATE asides SET person = 'x', content = replace(content, '\"7.0\"', '\"x\"') {where}",
        "UPDATE asides SET person = '7.0', content = replace(content, '\"7.1\"', '\"7.0\"') WHERE person = '7.1'",
    ],
}


@pytest.fixture(autouse=True)
def short_thousands(monkeypatch):
    for module in (index, verified, append, visits):
        monkeypatch.setattr(module, "STRETCH", THOUSAND)


@pytest.fixture
def bank(database, tmp_path):
    """A function that starts an engine on a bank's stream, which keeps a record of who was decided about."""
    engines = []

    def start():
        store = Store(database)
        store.migrate()
        engine = Engine(store, SIGNER, CheckpointFile(tmp_path / "checkpoints.jsonl"), clock)
        engine.start()
        engines.append(engine)
        return engine

    clock = Clock()
    start().create(loans(**BANK, waits=Waits(audit=60, label=90, grace=5)), "root")
    yield start
    for engine in engines:
        engine.store.close()


def ask(engine, *names):
    rng = np.random.default_rng(0)
    asked = [one | {"id": name} for one, name in zip(people(rng.random((len(names), 2))), names, strict=True)]
    return [person["returning"] for person in engine.decide("loans", asked, "decider")["decisions"]]


def do(engine, *statements):
    for statement in statements:
        engine.store.write(lambda connection, statement=statement: connection.execute(text(statement)) and None)


def thousands(engine):
    with engine.store.read() as connection:
        return sorted(connection.scalars(select(tables.visits.c.number)))


def index_of(engine):
    """Who was where, as the process of an engine knows it."""
    live = engine.streams.get("loans")
    opened = engine.reads.know(live)
    tags = {live.people.table.tag(name): name for name in {f"{i}.{j}" for i in range(99) for j in range(2)}}
    found = live.people.visits(tags.values(), opened)
    return {(tags[visit.tag], visit.round, visit.ref.hex()) for visit in found}


def filed(engine):
    """Who is where, as the database files them."""
    with engine.store.read() as connection:
        kept = tables.asides.c
        return {tuple(row) for row in connection.execute(select(kept.person, kept.round, kept.ref))}


@pytest.mark.parametrize("again", ["the same process", "from the log", "from the table"])
@pytest.mark.parametrize("change", FILED_ELSEWHERE)
def test_somebody_who_is_filed_elsewhere_is_neither_new_nor_shown_nor_erased(bank, change, again):
    engine = bank()
    for i in range(12):
        ask(engine, f"{i}.0", f"{i}.1")
    if again == "from the table":
        engine.tick()
        assert thousands(engine) == [0, 1]
    if again != "the same process":
        engine = bank()
    if again == "from the log":
        do(engine, "DELETE FROM snapshots", "DELETE FROM visits")
    do(engine, *(statement.format(where="WHERE person = '7.0'") for statement in FILED_ELSEWHERE[change]))
    looks = (
        lambda: ask(engine, "7.0"),
        lambda: engine.person("loans", "7.0"),
        lambda: engine.proofs.person("loans", "7.0"),
        lambda: engine.erase("loans", "7.0", "root"),
    )
    for look in looks:
        with pytest.raises(BrokenLog):
            look()
    assert engine.streams.get("loans").current().opened == 12
    assert ask(engine, "6.0", "new") == [True, False], "others are decided about"


def test_a_later_visit_that_is_filed_elsewhere_is_missed_on_the_page_and_by_an_erasure(bank):
    engine = bank()
    for _ in range(3):
        ask(engine, "7.0")
    do(engine, "UPDATE asides SET person = 'x', content = replace(content, '\"7.0\"', '\"x\"') WHERE round = 2")
    for look in (lambda: engine.person("loans", "7.0"), lambda: engine.erase("loans", "7.0", "root")):
        with pytest.raises(BrokenLog):
            look()


def test_nobody_is_erased_in_the_name_of_somebody_else(bank):
    engine = bank()
    ask(engine, "7.0", "7.1")
    do(
        engine,
        "UPDATE asides SET person = '7.0', content = replace(content, '\"7.1\"', '\"7.0\"') WHERE person = '7.1'",
    )
    with pytest.raises(BrokenLog):
        engine.erase("loans", "7.0", "root")


def test_what_was_kept_is_not_read_again(bank, monkeypatch):
    engine = bank()
    for i in range(12):
        ask(engine, f"{i}.0", f"{i}.1")
    engine.tick()
    known = index_of(engine)
    assert known == filed(engine)
    again, read = bank(), []
    opened = again.reads.opened
    monkeypatch.setattr(again.reads, "opened", lambda stream, rounds: read.extend(rounds) or opened(stream, rounds))
    assert index_of(again) == known
    assert min(read, default=11) > 10


def test_rounds_that_were_opened_before_there_was_a_table_are_kept_while_nothing_else_happens(bank):
    engine = bank()
    for i in range(17):
        ask(engine, f"{i}.0")
    engine = bank()
    do(engine, "DELETE FROM snapshots")
    engine = bank()
    for _ in range(6):
        engine.tick()
    assert thousands(engine) == [0, 1, 2]
    assert index_of(engine) == filed(engine)


@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE visits SET content = (SELECT content FROM visits WHERE number = 1) WHERE number = 0",
        "UPDATE visits SET content = ''",
        "UPDATE visits SET seal = 'ab'",
        "UPDATE visits SET number = number + 10",
        "UPDATE visits SET hash = 'ab'",
        "UPDATE visits SET stream = 'other'",
        "DELETE FROM visits",
    ],
)
def test_what_somebody_else_wrote_into_the_table_does_not_count(bank, forgery):
    engine = bank()
    for i in range(12):
        ask(engine, f"{i}.0", f"{i}.1")
    engine.tick()
    do(engine, forgery)
    again = bank()
    assert index_of(again) == filed(again)
    assert ask(again, "3.0", "8.1", "new") == [True, True, False]


def test_an_index_of_a_log_that_went_another_way_does_not_count(bank):
    """Somebody keeps its rows, a backup is restored, and other people come."""
    engine = bank()
    for i in range(6):
        ask(engine, f"{i}.0")
    engine.tick()
    table = engine.streams.get("loans").people.table
    (kept,) = table.load()
    table.save(kept._replace(hash="ab" * 32), since=0)  # sealed with the right key
    again = bank()
    assert again.reads._genuine(again.streams.get("loans"), table.load()) == []
    assert index_of(again) == filed(again)


def test_nothing_of_somebody_erased_stays_in_the_index(bank):
    first, second = bank(), bank()
    for i in range(11):
        ask((first, second)[i % 2], f"{i}.0", "50.1")
    first.tick(), second.tick()
    for engine in (first, second):
        index_of(engine)
    second.erase("loans", "50.1", "root")
    assert thousands(second) == []
    for engine in (first, second, bank()):
        for _ in range(4):
            engine.tick()
        assert index_of(engine) == filed(engine)
        with pytest.raises(Unknown):
            engine.person("loans", "50.1")
        table = engine.streams.get("loans").people.table
        assert table.tag("50.1") not in {int(tag) for kept in table.load() for tag in kept.visits["tag"]}
    assert thousands(first) == [0, 1]
    assert ask(first, "50.1", "4.0") == [False, True]


def test_a_thousand_is_not_kept_if_somebody_in_it_was_erased_meanwhile(bank):
    engine = bank()
    for i in range(6):
        ask(engine, f"{i}.0")
    live = engine.streams.get("loans")
    seq, hash = live.durable[1:3]
    engine.erase("loans", "3.0", "root")
    kept = visits.Kept(0, seq, hash, visits.as_array(()))
    assert not live.people.table.save(kept, since=seq)
    assert live.people.table.save(kept, since=live.durable.seq)


def test_whatever_happens_the_index_is_what_the_log_says(bank):
    """Two processes, of which now and then one starts again: visits, erasures, the clock."""
    engines, rng = [bank(), bank()], np.random.default_rng(1)
    for _ in range(120):
        i = int(rng.integers(2))
        what, name = int(rng.integers(12)), f"{rng.integers(9)}.{rng.integers(2)}"
        if what < 6:
            ask(engines[i], name, "20.0")
        elif what < 8:
            engines[i].tick()
        elif what == 8:
            engines[i] = bank()
        elif what == 9 and name in {person for person, *_ in filed(engines[i])}:
            engines[i].erase("loans", name, "root")
        elif what > 9:
            engines[i].streams.get("loans").current()
            assert index_of(engines[i]) >= filed(engines[i]), "perhaps somebody whom the other one has just erased"
            there = {person for person, *_ in filed(engines[i])}
            assert ask(engines[i], "30.0", name) == ["30.0" in there, name in there]
    for engine in engines:
        engine.streams.get("loans").current()
        assert index_of(engine) == filed(engine)
