"""Retention: people go when their stream says so, never earlier than they are needed, and never by a wrong clock."""

from __future__ import annotations

import json

import pytest
from forging import rechained, write
from loans import Clock, drawn, loans
from numpy.random import default_rng
from test_erasure import begun, configured

from likewise.errors import InvalidParameter
from likewise.service import running
from likewise.service.log import tables
from likewise.service.log.erasure import ErasureFile
from likewise.service.proof.replay import verify
from likewise.service.run.backup import backup, restore
from likewise.service.running import ClockThread
from likewise.service.stream.settings import Waits

DAY = 86_400.0


def round_(engine, clock, prefix, *, verdict="none", note="", label=True):
    """A round a day; closed if it has a verdict and labels."""
    asked = drawn(default_rng(len(prefix)), k=2, prefix=prefix)
    opened = engine.decide("loans", asked, "decider")
    if label:
        new = [one["id"] for one in opened["decisions"] if not one["returning"]]
        if new:
            engine.label("loans", opened["t"], dict.fromkeys(new, 1), "decider")
    if verdict:
        engine.audit("loans", opened["t"], verdict, "ann", note=note)
    engine.tick()
    clock.forward(DAY)
    engine.sign_heads(always=True)
    return opened["t"]


def there(engine, t):
    return [person["id"] for person in engine.round("loans", t)["people"] if person["id"] is not None]


def lived(engine, clock, days=6, **waits):
    engine.create(loans(waits=Waits(**{"grace": 0, "keep": 3} | waits)), "root")
    return [round_(engine, clock, f"{day}.", note="as the Oracle said") for day in range(days)]


def exported(engine, path):
    return write(path, engine.export("loans"))


def test_people_go_when_they_were_kept_for_as_long_as_the_stream_says(engine, clock, tmp_path, start, database):
    rounds = lived(engine, clock)
    head = engine.streams.get("loans").durable.state.totals.learned
    assert head == 6
    assert engine.retain() == 4, "rounds that were opened three days ago or earlier"
    assert [len(there(engine, t)) for t in rounds] == [0, 0, 0, 0, 2, 2]
    assert engine.store.remarks("loans", rounds[:4]) == []
    assert engine.retain() == 0, "and once only"
    (erased,) = [line for line in engine.events("loans", 0, 1000) if line["kind"] == "person_erased"]
    assert (erased["data"]["by"], erased["data"]["rounds"]) == ("clock", rounds[:4])
    found = verify(exported(engine, tmp_path / "export.jsonl"), key=engine.signer.public_key)
    assert found.first is None, found.first
    assert found.findings.erased == 4 * 2 + 4
    assert (found.exit_code, set(found.replay.lost) >= set(rounds[:4])) == (3, True)
    assert engine.certificate("loans")["letter"]
    later = round_(engine, clock, "later.")
    replay = verify(exported(engine, tmp_path / "later.jsonl")).replay
    assert later not in replay.lost, "the learner was written down before"
    assert replay.share == replay.rounds / 7 > 0
    again = start(database)
    assert again.retain() == 1
    assert [len(there(again, t)) for t in rounds] == [0, 0, 0, 0, 0, 2]


def test_without_the_setting_nobody_goes_and_with_it_the_next_look_finds_them(engine, clock):
    rounds = lived(engine, clock, keep=None)
    assert engine.retain() == 0
    engine.change_waits("loans", {"keep": 5}, "root")
    engine.sign_heads(always=True)
    assert engine.retain() == 2
    engine.change_waits("loans", {"keep": None}, "root")
    clock.forward(100 * DAY)
    assert engine.retain() == 0
    assert len(there(engine, rounds[2])) == 2


def test_the_service_may_have_a_floor_below_which_no_stream_goes(engine, clock):
    lived(engine, clock)
    assert engine.retain(at_least=100) == 0
    assert engine.retain(at_least=6) == 1
    assert engine.retain(at_least=1) == 3


def test_a_round_that_waits_keeps_its_people_however_old_it_is(engine, clock):
    """For its review, its labels, or the end of its grace time."""
    engine.create(loans(waits=Waits(grace=30 * DAY, keep=3)), "root")
    waits = [
        round_(engine, clock, "review.", verdict=None),
        round_(engine, clock, "label.", label=False),
        round_(engine, clock, "grace."),
    ]
    clock.forward(20 * DAY)
    engine.tick()
    engine.sign_heads(always=True)
    assert engine.retain() == 0
    assert [len(there(engine, t)) for t in waits] == [2, 2, 2]
    engine.audit("loans", waits[0], "none", "ann")
    clock.forward(30 * DAY)
    engine.tick()
    engine.sign_heads(always=True)
    assert engine.retain() == 2
    assert [len(there(engine, t)) for t in waits] == [0, 2, 0]


def test_what_no_checkpoint_covers_stays(engine, clock, monkeypatch):
    lived(engine, clock, days=2)
    monkeypatch.setattr(engine._heads, "sign", lambda *_, **__: None)
    clock.forward(10 * DAY)
    last = round_(engine, clock, "unsigned.")
    clock.forward(10 * DAY)
    assert engine.retain() == 2
    assert len(there(engine, last)) == 2
    monkeypatch.undo()
    engine.sign_heads(always=True)
    assert engine.retain() == 1


@pytest.mark.parametrize("hurried", [False, True])
def test_whoever_comes_again_stays_until_their_last_visit_is_over(engine, clock, tmp_path, monkeypatch, hurried):
    """Where people get their first answer again: without the first visit, the next one would look like a first."""
    monkeypatch.setattr("likewise.service.engine.retention.A_TICK", -1 if hurried else 60)
    engine.create(loans(lot="round", waits=Waits(grace=0, keep=3)), "root")
    first = round_(engine, clock, "often.")
    other = round_(engine, clock, "once.")
    clock.forward(2 * DAY)
    again = round_(engine, clock, "often.")
    assert all(person["returning"] for person in engine.round("loans", again)["people"])
    assert engine.retain() == 1
    assert [len(there(engine, t)) for t in (first, other, again)] == [2, 0, 2]
    assert verify(exported(engine, tmp_path / "one.jsonl")).first is None
    clock.forward(3 * DAY)
    while engine.retain():
        assert verify(exported(engine, tmp_path / "two.jsonl")).first is None
    assert [len(there(engine, t)) for t in (first, other, again)] == [0, 0, 0]


def test_a_remark_that_came_after_everybody_was_gone_goes_too(engine, clock):
    (t, *_) = lived(engine, clock, days=1)
    for person in there(engine, t):
        engine.erase("loans", person, "root")
    engine.audit("loans", t, "skip", "ben", note="it was Zebulon")
    engine.sign_heads(always=True)
    clock.forward(10 * DAY)
    assert engine.retain() == 1
    assert engine.store.remarks("loans", [t]) == []


def test_many_rounds_go_some_at_a_time_and_nobody_waits_for_all(engine, clock, monkeypatch):
    monkeypatch.setattr("likewise.service.engine.retention.TOGETHER", 3)
    monkeypatch.setattr("likewise.service.engine.retention.A_TICK", 0.0)
    rounds = lived(engine, clock, days=8)
    engine.decide("loans", drawn(default_rng(0), prefix="open."), "decider")
    clock.forward(10 * DAY)
    assert [engine.retain() for _ in range(4)] == [3, 3, 2, 0]
    assert [len(there(engine, t)) for t in rounds] == [0] * 8


def test_an_erasure_by_the_clock_that_came_too_early_is_named(start, new_database, clock, tmp_path):
    engine = start(new_database("sqlite"))
    lived(engine, clock)
    assert engine.retain() == 4
    lines = [line for line in engine.export("loans") if line["line"] != "checkpoint"]
    (place,) = [i for i, line in enumerate(lines) if line.get("kind") == "person_erased"]
    assert verify(write(tmp_path / "honest", lines)).first is None
    early = json.loads(json.dumps(lines))
    assert lines[place - 1]["kind"] == "learner_checkpointed"
    early[place]["at"] = early[place - 1]["at"] = lines[place - 2]["at"]
    created = json.loads(json.dumps(lines))
    created[1]["data"]["settings"]["waits"]["keep"] = None
    longer = json.loads(json.dumps(lines))
    longer[1]["data"]["settings"]["waits"]["keep"] = 4
    for forged in (early, created, longer):
        found = verify(write(tmp_path / "forged", rechained(forged)))
        assert found.first is not None
        assert "erases people whom the stream was to keep for longer" in found.first[1]
    by_hand = json.loads(json.dumps(early))
    by_hand[place]["data"]["by"] = "root"
    assert verify(write(tmp_path / "by_hand", rechained(by_hand))).first is None


def test_whoever_went_in_time_stays_erased_when_an_old_backup_is_put_back(tmp_path):
    clock = Clock()
    here = configured(tmp_path, tmp_path / "here.db", "here")
    engine = begun(here, clock)
    rounds = lived(engine, clock)
    backup(here, tmp_path / "old")
    assert engine.retain() == 4
    engine.close()
    assert len(ErasureFile(here.erasure_file).refs("loans")) == 12
    there_ = configured(tmp_path, tmp_path / "there.db", "there", erasures=here.erasure_file)
    assert restore(there_, tmp_path / "old").erased == 12
    again = begun(there_, clock)
    assert [len(there(again, t)) for t in rounds] == [0, 0, 0, 0, 2, 2]
    again.close()


def test_two_processes_erase_everybody_once(database, start, clock):
    one, two = start(database), start(database)
    lived(one, clock)
    two.tick()
    two._heads._sizes["loans"] = 10**6
    assert {one.retain(), two.retain()} == {4, 0}
    assert len(one.store.events("loans", kind="person_erased")) == 1
    with one.store.read() as connection:
        left = connection.execute(tables.asides.select().where(tables.asides.c.round <= 4)).all()
    assert left == []


class Ticking:
    """The clock's thread by hand: what it sees of the day, and the seconds that really pass."""

    def __init__(self, engine, clock, monkeypatch):
        self.engine, self.day, self.real = engine, clock, 0.0
        self.thread = ClockThread(engine, 1.0, (), lambda: None, time_of_day=clock)
        self.thread._monotonic = lambda: self.real
        monkeypatch.setattr(running.time, "monotonic", lambda: self.real)

    def passes(self, seconds, step=30.0):
        for _ in range(int(seconds // step)):
            self.real += step
            self.day.forward(step)
            self.thread._look()


def test_a_clock_that_jumps_ahead_erases_nobody(start, new_database, clock, monkeypatch):
    """Neither for a moment nor for half an hour; and not if it is wrong from the start and soon put right."""
    engine = start(new_database("sqlite"))
    rounds = lived(engine, clock, days=2)  # they may go in a day and more
    ticking = Ticking(engine, clock, monkeypatch)
    clock.forward(-3600.0)
    clock.now += 25 * 3600 * 10  # wrong when the service starts
    ticking.passes(1800)
    clock.now -= 25 * 3600 * 10
    ticking.passes(5400)
    for lasts in (1.0, 1800.0):
        clock.now += 25 * 3600
        ticking.passes(lasts, step=min(lasts, 30.0))
        clock.now -= 25 * 3600
        ticking.passes(600)
    assert [len(there(engine, t)) for t in rounds] == [2, 2]
    ticking.passes(2 * DAY, step=50.0)
    assert [len(there(engine, t)) for t in rounds] == [0, 0], "when their time is over, they go"


def test_nobody_goes_in_the_first_hour_of_a_service(start, new_database, clock, monkeypatch):
    engine = start(new_database("sqlite"))
    rounds = lived(engine, clock)
    ticking = Ticking(engine, clock, monkeypatch)
    ticking.passes(3600)
    assert len(there(engine, rounds[0])) == 2
    ticking.passes(60)
    assert there(engine, rounds[0]) == []


@pytest.mark.parametrize("days", [0, 0.5, -1, 40_000, "3", True])
def test_a_time_that_makes_no_sense_is_refused(days):
    with pytest.raises(InvalidParameter, match="`keep` must be"):
        Waits(keep=days)
