"""The engine on both databases: idempotency, leases, several processes, erasure, receipts, stable decisions."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import weakref
from concurrent.futures import Future

import numpy as np
import pytest
from loans import COLUMNS, drawn, far_apart, fingerprint, loans, people
from serving import until
from sqlalchemy import text

from likewise.errors import InvalidParameter, ReportRefused
from likewise.service.engine import Engine
from likewise.service.live.heads import EVERY_SECONDS
from likewise.service.live.stream import LiveStream
from likewise.service.log import Idempotency, Store
from likewise.service.proof.standalone import check
from likewise.service.refusals import (
    BrokenLog,
    Conflict,
    KeyReused,
    SequenceConflict,
    StreamStopped,
    Unavailable,
    Unknown,
    status_of,
)
from likewise.service.stream.settings import Waits
from likewise.transparency.notes import checkpoint_of, read_note, read_proof

X = np.array([[0.05, 0.5], [0.95, 0.5], [0.5, 0.05]])


def key(name="k", request="r"):
    return Idempotency("token", name, request)


def together(work, count):
    """Run ``work(0)`` … ``work(count - 1)`` at once; their results, or the errors they raised."""
    results = [None] * count

    def run(i):
        try:
            results[i] = work(i)
        except Exception as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def whole_round(engine, batch=X, labels=(0, 1, 0)):
    found = engine.decide("loans", people(batch), "decider")
    engine.audit("loans", found["t"], "none", "ann")
    engine.label("loans", found["t"], {str(i): label for i, label in enumerate(labels)}, "decider")
    return found


@pytest.fixture
def loans_engine(engine):
    engine.create(loans(), "root")
    return engine


class TestRounds:
    def test_a_round_from_request_to_learning(self, loans_engine):
        engine = loans_engine
        found = engine.decide("loans", people(X), "decider")
        assert (found["t"], found["version"]) == (1, 0)
        assert [person["id"] for person in found["decisions"]] == ["0", "1", "2"]
        assert engine.label("loans", 1, {"0": 1}, "decider")["disposition"] == "pending"
        assert engine.label("loans", 1, {"0": 1}, "decider")["disposition"] == "duplicate"
        assert engine.label("loans", 1, {"1": 1, "2": 0}, "decider")["disposition"] == "joined"
        assert engine.round("loans", 1)["status"] == "open"
        assert engine.audit("loans", 1, "none", "ann")["verdict"] == "cleared"
        view = engine.round("loans", 1)
        assert (view["status"], view["labels"], view["audit"]["by"]) == ("learned", "complete", "ann")
        assert engine.label("loans", 1, {"0": 1}, "decider")["disposition"] == "duplicate"
        with pytest.raises(Conflict, match="can't be changed to 0"):
            engine.label("loans", 1, {"0": 0}, "decider")

    def test_late_labels_are_told_from_known_ones_after_the_round_has_left_the_state(self, engine, clock):
        engine.create(loans(waits=Waits(label=5, grace=0)), "root")
        engine.decide("loans", people(X), "decider")
        engine.audit("loans", 1, "none", "ann")
        engine.label("loans", 1, {"0": 1}, "decider")
        clock.forward(6)
        assert engine.tick() == 1
        assert engine.round("loans", 1)["labels"] == "partial"
        assert engine.label("loans", 1, {"1": 1}, "decider")["disposition"] == "late"
        assert engine.label("loans", 1, {"1": 1, "0": 1}, "decider")["disposition"] == "duplicate"
        with pytest.raises(Conflict):
            engine.label("loans", 1, {"1": 0}, "decider")
        assert [person["late_label"] for person in engine.round("loans", 1)["people"]] == [None, 1, None]

    def test_time_alone_closes_a_round_after_its_grace(self, engine, clock):
        engine.create(loans(waits=Waits(grace=10)), "root")
        whole_round(engine)
        assert engine.tick() == 0
        assert engine.stream("loans")["outstanding"] == 1
        clock.forward(10)
        assert engine.tick() == 1
        assert engine.stream("loans")["learned"] == 1
        assert engine.tick() == 0

    def test_waits_that_change_reach_rounds_that_are_open(self, engine, clock):
        engine.create(loans(), "root")
        engine.decide("loans", people(X), "decider")
        clock.forward(100)
        assert engine.tick() == 0
        assert engine.change_waits("loans", {"audit": 30.0, "label": 30.0}, "root")["waits"]["audit"] == 30.0
        assert engine.tick() == 1
        assert engine.stream("loans")["audits"]["expired"] == 1

    def test_a_person_gets_the_same_answer_however_often_they_ask(self, loans_engine):
        """And a rising probability never turns a yes into a no."""
        history = {}
        for _ in range(30):
            for person in whole_round(loans_engine)["decisions"]:
                history.setdefault(person["id"], []).append((person["probability"], person["decision"]))
        for answers in history.values():
            decided = [decision for _, decision in sorted(answers)]
            assert decided == sorted(decided)
            by_probability = {}
            for probability, decision in answers:
                assert by_probability.setdefault(probability, decision) == decision

    def test_decisions_are_made_with_the_streams_own_secret_which_the_log_commits_to(self, loans_engine):
        import hashlib

        from likewise.policies import thresholds_of

        secret = loans_engine.store.secret("loans")
        (created,) = loans_engine.events("loans", limit=1)
        assert created["data"]["secret"] == hashlib.sha256(secret).hexdigest()
        assert secret.hex() not in json.dumps(loans_engine.events("loans"))
        found = loans_engine.decide("loans", people(X), "decider")["decisions"]
        expected = thresholds_of(["0", "1", "2"], secret) < [person["probability"] for person in found]
        assert [person["decision"] for person in found] == expected.astype(int).tolist()

    def test_refusals_write_nothing(self, loans_engine):
        engine = loans_engine
        engine.decide("loans", people(X), "decider")
        before = engine.events("loans")
        refused = [
            (lambda: engine.decide("loans", [], "d"), InvalidParameter),
            (lambda: engine.decide("loans", [{"id": "a"}], "d"), InvalidParameter),
            (lambda: engine.decide("loans", [{"id": "", "features": {}}], "d"), InvalidParameter),
            (lambda: engine.decide("loans", [{"id": "a\0", "features": {}}], "d"), InvalidParameter),
            (lambda: engine.decide("loans", people(X, ("score", "height")), "d"), InvalidParameter),
            (lambda: engine.decide("loans", people(np.full((1, 2), np.nan)), "d"), InvalidParameter),
            (lambda: engine.decide("other", people(X), "d"), Unknown),
            (lambda: engine.label("loans", 1, {"zoe": 1}, "d"), InvalidParameter),
            (lambda: engine.label("loans", 7, {"0": 1}, "d"), Unknown),
            (lambda: engine.audit("loans", 1, "pair", "ann", pair=["0", "1"]), ReportRefused),
            (lambda: engine.audit("loans", 1, "maybe", "ann"), InvalidParameter),
            (lambda: engine.audit("loans", 1, "none", "ann", note="\ud800"), InvalidParameter),
            (lambda: engine.retract("loans", 1, "ann"), Conflict),
            (lambda: engine.resume("loans", "root"), Conflict),
            (lambda: engine.create(loans(), "root"), Conflict),
            (lambda: engine.erase("loans", "nobody", "root"), Unknown),
        ]
        for ask, error in refused:
            with pytest.raises(error) as raised:
                ask()
            assert 400 <= status_of(raised.value)[0] < 500
        assert engine.events("loans") == before
        engine.stop("loans", "lunch", "root")
        with pytest.raises(StreamStopped, match="lunch"):
            engine.decide("loans", people(X), "d")

    def test_an_auditor_sees_only_what_is_shown_and_no_weights(self, engine):
        from likewise.service.stream.settings import Feature

        features = (
            Feature(name="score"),
            Feature(name="age", shown=False),
            Feature(name="sex", shown=True, sensitive=True),
        )
        cuts = dict.fromkeys(COLUMNS, (0.5,))
        engine.create(loans(features=features, cuts=cuts), "root")
        asked = [one | {"features": one["features"] | {"sex": 1.0}} for one in people(X)]
        engine.decide("loans", asked, "decider")
        claimed = engine.claim("loans", "ann")
        assert set(claimed["people"][0]["features"]) == {"score"}
        assert set(claimed) == {"t", "opened_at", "level", "people", "shown", "until", "asks", "yours"}
        assert "weights" not in json.dumps([engine.stream("loans"), engine.round("loans", 1), claimed])

    def test_a_persons_record_tells_what_happened_to_them(self, loans_engine):
        engine = loans_engine
        for _ in range(30):
            whole_round(engine)
        found = engine.decide("loans", people(X), "decider")
        t, chances = found["t"], [person["probability"] for person in found["decisions"]]
        high, low = far_apart(chances)
        engine.audit("loans", t, "pair", "ann", pair=[str(low), str(high)], reason="same job", note="look again")
        record = engine.person("loans", str(high))["rounds"]
        assert len(record) == 31
        assert record[-1]["reported_as"] == "favoured"
        assert record[-1]["features"] == dict(zip(COLUMNS, X[high], strict=True))
        assert engine.round("loans", t)["audit"]["reason"] == "same job"
        assert "same job" not in json.dumps(engine.events("loans"))
        with pytest.raises(Unknown):
            engine.person("loans", "zoe")


class TestIdempotency:
    def test_a_request_sent_five_times_at_once_gives_one_event(self, loans_engine):
        replies = together(lambda i: loans_engine.decide("loans", people(X), "decider", key()), 5)
        assert all(reply == replies[0] for reply in replies), replies
        assert [event["kind"] for event in loans_engine.events("loans")] == ["stream_created", "round_opened"]

    def test_and_so_it_does_when_five_processes_get_it(self, database, start):
        engines = [start(database) for _ in range(5)]
        engines[0].create(loans(), "root")
        replies = together(lambda i: engines[i].decide("loans", people(X), "decider", key()), 5)
        assert all(reply == replies[0] for reply in replies), replies
        assert len(engines[0].events("loans")) == 2

    def test_a_stream_is_created_once(self, engine):
        replies = together(lambda i: engine.create(loans(), "root", key()), 5)
        assert all(reply == replies[0] for reply in replies), replies
        assert len(engine.events("loans")) == 1

    def test_the_same_key_for_another_request_is_refused(self, loans_engine):
        loans_engine.decide("loans", people(X), "decider", key())
        with pytest.raises(KeyReused):
            loans_engine.decide("loans", people(X[:1]), "decider", key(request="other"))

    def test_a_refused_request_leaves_its_key_free(self, loans_engine):
        with pytest.raises(InvalidParameter):
            loans_engine.decide("loans", [], "decider", key())
        assert loans_engine.decide("loans", people(X), "decider", key())["t"] == 1

    def test_keys_are_forgotten_after_a_day(self, loans_engine, clock):
        loans_engine.decide("loans", people(X), "decider", key())
        clock.forward(86_399)
        loans_engine.sweep()
        assert loans_engine.decide("loans", people(X), "decider", key())["t"] == 1
        clock.forward(2)
        loans_engine.sweep()
        assert loans_engine.decide("loans", people(X), "decider", key())["t"] == 2

    def test_labels_sent_again_under_their_key_get_their_first_answer(self, loans_engine):
        loans_engine.decide("loans", people(X), "decider")
        labels = {"0": 1, "1": 0, "2": 1}
        for _ in range(2):
            assert loans_engine.label("loans", 1, labels, "decider", key())["disposition"] == "joined"
        assert loans_engine.label("loans", 1, labels, "decider", key("other"))["disposition"] == "duplicate"

    def test_a_key_of_an_earlier_process_is_answered_again_and_spares_who_came_after(self, database, start):
        before = start(database)
        before.create(loans(), "root")
        first = before.decide("loans", people(X), "decider", key())
        after = start(database)
        replies = together(lambda i: after.decide("loans", people(X), "decider", key() if i == 0 else None), 8)
        assert replies[0] == first
        assert sorted(reply["t"] for reply in replies) == list(range(1, 9))


class TestOnAnEventLoop:
    """Decisions that are made on the event loop itself, and everything that sends them to a thread instead."""

    async def many(self, engine, keys):
        engine.decide("loans", people(X), "decider")  # the stream and its secret are in memory from now on
        return await asyncio.gather(*(engine.decide_soon("loans", people(X), "decider", one) for one in keys))

    def test_it_is_the_same_as_in_a_thread(self, loans_engine, monkeypatch):
        loans_engine.decide("loans", people(X), "decider")
        monkeypatch.setattr(LiveStream, "do", None)  # the long way is not taken
        soon = asyncio.run(loans_engine.decide_soon("loans", people(X), "decider", key()))
        monkeypatch.undo()
        assert soon == loans_engine.decide("loans", people(X), "decider", key())
        assert loans_engine.stream("loans")["rounds"] == 2

    def test_many_at_once_are_many_rounds_and_one_key_is_one(self, loans_engine):
        replies = asyncio.run(self.many(loans_engine, [None, key(), None, key(), None, key()]))
        assert replies[1] == replies[3] == replies[5]
        assert sorted({reply["t"] for reply in replies}) == [2, 3, 4, 5]
        assert len(loans_engine.events("loans")) == 1 + 5

    def test_a_key_answered_before_is_answered_again(self, database, start):
        engine = start(database)
        engine.create(loans(), "root")
        (first,) = asyncio.run(self.many(engine, [key()]))
        assert asyncio.run(engine.decide_soon("loans", people(X), "decider", key())) == first
        with pytest.raises(KeyReused):
            asyncio.run(engine.decide_soon("loans", people(X), "decider", key(request="other")))
        fresh = start(database)
        assert asyncio.run(self.many(fresh, [key()])) == [first]

    def test_a_stream_that_somebody_holds_does_not_hold_up_the_loop(self, loans_engine):
        held, release = threading.Event(), threading.Event()

        def hold():
            with loans_engine.streams.get("loans").lock:
                held.set()
                release.wait()

        async def ask():
            decision = asyncio.create_task(loans_engine.decide_soon("loans", people(X), "decider"))
            await asyncio.sleep(0.05)
            assert not decision.done()
            release.set()
            return await decision

        loans_engine.decide("loans", people(X), "decider")
        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        assert asyncio.run(ask())["t"] == 2
        holder.join()

    def test_what_another_process_wrote_first_is_decided_again(self, database, start):
        one, two = start(database), start(database)
        one.create(loans(), "root")
        for engine in (one, two, one):
            asyncio.run(self.many(engine, [None, None]))
        assert [event["data"]["t"] for event in one.events("loans")[1:]] == list(range(1, 10))

    def test_who_stops_waiting_leaves_nothing_behind(self, loans_engine):
        async def leave():
            task = asyncio.create_task(loans_engine.decide_soon("loans", people(X), "decider", key()))
            await asyncio.sleep(0)
            task.cancel()

        loans_engine.decide("loans", people(X), "decider")
        asyncio.run(leave())
        live = loans_engine.streams.get("loans")
        live.positions.settle()
        assert loans_engine.decide("loans", people(X), "decider", key())["t"] == 2
        until(lambda: live.latest == live.durable)  # the writer says so after it has woken who waits

    def test_refusals_and_large_batches_go_the_long_way(self, engine):
        engine.create(loans(k=60), "root")
        with pytest.raises(Unknown):
            asyncio.run(engine.decide_soon("nowhere", people(X), "decider"))
        found = asyncio.run(self.many(engine, [None]))
        assert found[0]["t"] == 2
        crowd = people(np.full((60, 2), 0.5))
        assert len(asyncio.run(engine.decide_soon("loans", crowd, "decider"))["decisions"]) == 60
        engine.stop("loans", "lunch", "root")
        with pytest.raises(StreamStopped, match="lunch"):
            asyncio.run(engine.decide_soon("loans", people(X), "decider"))

    def test_a_key_of_an_earlier_process_fills_no_log_and_is_remembered(self, database, start, caplog):
        start(database).create(loans(), "root")
        before = start(database)
        first = before.decide("loans", people(X), "decider", key())
        after = start(database)
        after.decide("loans", people(X), "decider")
        assert asyncio.run(after.decide_soon("loans", people(X), "decider", key())) == first
        gc.collect()
        assert "never retrieved" not in caplog.text
        assert after.streams.get("loans").answers.doubtful(key())

    def test_nothing_keeps_the_states_of_the_past(self, loans_engine):
        loans_engine.decide("loans", people(X), "decider")
        gc.collect()
        gc.disable()
        try:
            old = weakref.ref(loans_engine.streams.get("loans").durable.state)
            asyncio.run(self.many(loans_engine, [None, key()]))
            assert old() is None
        finally:
            gc.enable()


class TestLeases:
    def test_the_oldest_round_first_and_never_to_two(self, loans_engine, clock):
        engine = loans_engine
        for _ in range(3):
            engine.decide("loans", people(X), "decider")
        assert [engine.claim("loans", name)["t"] for name in ("ann", "bob", "ann")] == [1, 2, 1]
        engine.audit("loans", 1, "none", "ann")
        assert engine.claim("loans", "ann")["t"] == 3
        assert engine.claim("loans", "cid") is None
        clock.forward(601)
        assert engine.claim("loans", "cid")["t"] == 2

    def test_a_lease_can_be_renewed_by_its_holder_only(self, loans_engine, clock):
        engine = loans_engine
        engine.decide("loans", people(X), "decider")
        engine.claim("loans", "ann", seconds=60)
        clock.forward(50)
        engine.renew("loans", 1, "ann", seconds=60)
        clock.forward(50)
        with pytest.raises(Conflict, match="Somebody else"):
            engine.renew("loans", 1, "bob")
        with pytest.raises(Conflict, match="Somebody else"):
            engine.audit("loans", 1, "none", "bob")
        engine.audit("loans", 1, "none", "ann")

    def test_a_lease_that_ran_out_is_still_its_holder_s_to_renew_until_somebody_else_claims(self, loans_engine, clock):
        engine = loans_engine
        engine.decide("loans", people(X), "decider")
        engine.claim("loans", "ann", seconds=60)
        clock.forward(3600)
        engine.sweep()
        engine.renew("loans", 1, "ann", seconds=60)
        assert engine.claim("loans", "bob") is None
        clock.forward(3600)
        assert engine.claim("loans", "bob")["t"] == 1
        with pytest.raises(Conflict, match="Somebody else"):
            engine.renew("loans", 1, "ann")

    def test_twenty_auditors_at_once_get_twenty_rounds(self, loans_engine):
        for _ in range(20):
            loans_engine.decide("loans", people(X), "decider")
        claimed = together(lambda i: loans_engine.claim("loans", f"auditor {i}"), 20)
        assert sorted(view["t"] for view in claimed) == list(range(1, 21))


class TestProcesses:
    def test_twenty_writers_through_four_engines_lose_nothing(self, database, start):
        engines = [start(database) for _ in range(4)]
        engines[0].create(loans(), "root")
        replies = together(
            lambda i: [engines[i % 4].decide("loans", drawn(np.random.default_rng(i)), "d")["t"] for _ in range(3)],
            20,
        )
        assert sorted(t for reply in replies for t in reply) == list(range(1, 61)), replies
        states = {fingerprint(engine.streams.get("loans").current()) for engine in engines}
        assert len(states) == 1
        assert check(engines[0].export("loans")).problems == []

    def test_one_engine_hears_what_another_did(self, database, start):
        first, second = start(database), start(database)
        first.create(loans(), "root")
        first.decide("loans", people(X), "decider")
        second.label("loans", 1, {"0": 0, "1": 1, "2": 0}, "decider")
        first.audit("loans", 1, "none", "ann")
        assert second.stream("loans")["learned"] == 1
        assert second.decide("loans", people(X), "decider")["version"] == 1
        assert second.audit("loans", 1, "none", "bob")["disposition"] == "late"

    @pytest.mark.parametrize("ask", ["label", "correct", "erase"])
    def test_what_looks_into_the_log_follows_it_and_not_what_was_refused_meanwhile(
        self, database, start, monkeypatch, ask
    ):
        """Another process was faster, and whoever asked for what was refused has gone: nobody has noticed it yet."""
        one, two = start(database), start(database)
        one.create(loans(waits=Waits(label=0, grace=0)), "root")
        one.decide("loans", people(X), "decider")
        one.audit("loans", 1, "none", "ann")
        one.tick()
        one.decide("loans", people(X), "decider")

        async def leave():
            task = asyncio.create_task(one.decide_soon("loans", people(X), "decider"))
            await asyncio.sleep(0)
            task.cancel()

        two.decide("loans", people(X), "decider")
        asyncio.run(leave())
        submit = one.store.submit

        def checked(append, *, wake):
            assert append.sealed[0].prev == two.store.head("loans")[1]
            return submit(append, wake=wake)

        monkeypatch.setattr(one.store, "submit", checked)
        asked = {
            "label": lambda: one.label("loans", 1, {"0": 1}, "decider"),
            "correct": lambda: one.correct("loans", 1, "skip", "ann"),
            "erase": lambda: one.erase("loans", "0", "root"),
        }
        asked[ask]()
        assert check(two.export("loans")).problems == []

    def test_what_is_ahead_in_vain_is_left_for_what_is_durable_also_at_the_same_place(self, database, start):
        one, two = start(database), start(database)
        one.create(loans(), "root")
        live = one.streams.get("loans")
        # As if it had been refused, and another taken in its place.
        live.positions.latest = live.durable._replace(hash="f" * 64)
        two.decide("loans", people(X), "decider")
        assert live.current().opened == 1

    def test_a_stream_starts_where_it_stood(self, database, start, clock):
        engine = start(database)
        engine.create(loans(waits=Waits(audit=30, grace=0)), "root")
        for _ in range(5):
            whole_round(engine)
        engine.decide("loans", people(X), "decider")
        before = fingerprint(engine.streams.get("loans").current())
        engine.close()
        again = start(database)
        assert again.ready
        assert again.streams.get("loans").snapshots.seq > 0
        assert fingerprint(again.streams.get("loans").current()) == before
        clock.forward(31)
        assert again.tick() == 1

    @pytest.mark.parametrize("spoilt", ["hash = 'x'", "state = '{}'", "state = 'null'", "format = 0"])
    def test_a_snapshot_that_is_spoilt_costs_only_time(self, database, start, spoilt):
        engine = start(database)
        engine.create(loans(), "root")
        whole_round(engine)
        before = fingerprint(engine.streams.get("loans").current())
        engine.streams.get("loans").save(always=True)
        engine.store.write(lambda connection: connection.execute(text(f"UPDATE snapshots SET {spoilt}")))
        assert fingerprint(start(database).streams.get("loans").current()) == before

    def test_a_log_that_somebody_has_been_at_is_not_read_on(self, new_database, start):
        database = new_database("sqlite")
        engine = start(database)
        engine.create(loans(), "root")
        for _ in range(3):
            whole_round(engine)
        engine.store.write(lambda connection: connection.execute(text("DROP TRIGGER events_last")))
        engine.store.write(lambda connection: connection.execute(text("DELETE FROM events WHERE seq = 4")))
        again = start(database)
        assert "loans" in again.broken
        with pytest.raises(BrokenLog, match="broken before event 5"):
            whole_round(again)

    def test_a_write_that_fails_is_undone_in_memory_too(self, loans_engine, monkeypatch):
        engine, live = loans_engine, loans_engine.streams.get("loans")
        before = fingerprint(live.current())

        def fail(append, *, wake):
            future = Future()
            future.set_exception(Unavailable("The disk is full."))
            return future

        with monkeypatch.context() as patch:
            patch.setattr(engine.store, "submit", fail)
            with pytest.raises(Unavailable, match="full"):
                engine.decide("loans", people(X), "decider")
        assert fingerprint(live.current()) == before
        assert engine.decide("loans", people(X), "decider")["t"] == 1

    def test_a_commit_whose_answer_was_lost_is_not_done_twice(self, loans_engine, monkeypatch):
        """The database took it, but the connection broke before it could say so."""
        engine, submit = loans_engine, loans_engine.store.submit

        def forget(append, *, wake):
            submit(append).result()
            future = Future()
            future.set_exception(Unavailable("The connection broke."))
            return future

        with monkeypatch.context() as patch:
            patch.setattr(engine.store, "submit", forget)
            with pytest.raises(Unavailable):
                engine.decide("loans", people(X), "decider", key())
        assert engine.decide("loans", people(X), "decider", key())["t"] == 1
        assert [event["kind"] for event in engine.events("loans")] == ["stream_created", "round_opened"]
        assert engine.decide("loans", people(X), "decider")["t"] == 2

    def test_two_processes_that_say_the_very_same_at_the_same_time_are_two(self, database, start):
        """Their events would have one hash, so the hash is no proof of who wrote them."""
        first, second = start(database), start(database)
        first.create(loans(), "root")
        second.stream("loans")
        first.stop("loans", "lunch", "root")
        first.resume("loans", "root")
        second.stop("loans", "lunch", "root")
        assert first.stream("loans")["stopped"] == "lunch"

    def test_what_was_decided_on_top_of_lost_events_is_decided_again(self, database, start, monkeypatch):
        """Two rounds of one process are on their way to the disk while another process writes two of its own."""
        first, second = start(database), start(database)
        first.create(loans(), "root")
        live, held, submit = first.streams.get("loans"), [], first.store.submit

        def hold(append, *, wake):
            held.append((append, Future()))
            return held[-1][1]

        with monkeypatch.context() as patch:
            patch.setattr(first.store, "submit", hold)
            replies = []
            threads = [
                threading.Thread(target=lambda: replies.append(first.decide("loans", people(X), "decider")))
                for _ in range(2)
            ]
            for thread in threads:
                thread.start()
            while len(held) < 2:
                pass
        for _ in range(3):
            second.decide("loans", people(X), "decider")
        with live.lock:  # the second has let go of it, so its state has moved on
            assert live.latest.seq == 3
        live.positions.catch_up()
        assert live.latest.seq == 4
        for append, future in held:
            with pytest.raises(SequenceConflict) as refused:
                submit(append).result()
            future.set_exception(refused.value)
        for thread in threads:
            thread.join()
        assert sorted(reply["t"] for reply in replies) == [4, 5]
        assert fingerprint(live.current()) == fingerprint(second.streams.get("loans").current())
        assert check(second.export("loans")).problems == []

    def test_what_is_not_durable_yet_is_not_shown(self, loans_engine):
        engine, live = loans_engine, loans_engine.streams.get("loans")
        gate = threading.Event()
        blocked = engine.store._writer.submit(lambda connection: gate.wait(300))
        replies = []
        writer = threading.Thread(target=lambda: replies.append(engine.decide("loans", people(X), "decider")))
        writer.start()
        while live.latest.seq == 1:
            pass
        assert engine.stream("loans")["rounds"] == 0
        assert replies == []
        gate.set()
        writer.join()
        blocked.result()
        assert engine.stream("loans")["rounds"] == 1

    def test_the_database_is_let_go_of_whatever_fails_at_the_end(self, loans_engine, monkeypatch):
        monkeypatch.setattr(loans_engine, "sign_heads", lambda **_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            loans_engine.close()
        with pytest.raises(Unavailable, match="closed"):
            loans_engine.store.write(lambda connection: None)


class TestErasure:
    def test_a_person_is_gone_and_everything_still_verifies(self, loans_engine):
        engine = loans_engine
        for _ in range(30):
            whole_round(engine)
        found = engine.decide("loans", people(X), "decider", key())
        chances = [person["probability"] for person in found["decisions"]]
        pair = [str(position) for position in far_apart(chances)]
        engine.audit("loans", 31, "pair", "ann", pair=pair, note="Zebulon again")
        erased = engine.erase("loans", "1", "root")
        assert erased["rounds"] == list(range(1, 32))
        with pytest.raises(Unknown):
            engine.person("loans", "1")
        told = json.dumps([engine.round("loans", t) for t in range(1, 32)])
        assert "Zebulon" not in told
        assert str(X[1, 0]) not in told
        assert engine.round("loans", 31)["people"][1]["id"] is None
        with pytest.raises(Unknown, match="erased"):
            engine.decide("loans", people(X), "decider", key())
        assert check(engine.export("loans")).problems == []
        assert engine.person("loans", "0")["id"] == "0"

    def test_another_process_and_a_fresh_one_agree_afterwards(self, database, start):
        first, second = start(database), start(database)
        first.create(loans(), "root")
        for _ in range(5):
            whole_round(first)
        first.decide("loans", people(X), "decider")
        first.erase("loans", "1", "root")
        whole_round(first)
        first.label("loans", 6, {"0": 0, "2": 0}, "decider")
        first.audit("loans", 6, "none", "ann")
        states = [engine.streams.get("loans").current() for engine in (first, second, start(database))]
        assert len({fingerprint(state) for state in states}) == 1
        assert states[0].totals.learned == 7


def test_receipts_are_signed_checkpoints_of_what_was_just_done(loans_engine, signer):
    receipt = loans_engine.decide("loans", people(X), "decider")["receipt"]
    head = loans_engine.store.head("loans")
    assert (receipt["seq"], receipt["hash"]) == head
    proof = read_proof(receipt["proof"])
    assert proof.holds(bytes.fromhex(receipt["hash"]))
    assert proof.note.signed_by("likewise/loans", bytes.fromhex(signer.public_key))
    assert checkpoint_of(proof.note) == ("likewise/loans", head[0], loans_engine.streams.get("loans").durable.tree.root)


def test_ticks_write_a_checkpoint_of_every_stream_that_moved_now_and_then(loans_engine, checkpoints, clock):
    def sizes():
        return [checkpoint_of(read_note(point["note"])).size for point in checkpoints.read("loans")]

    loans_engine.tick()
    loans_engine.tick()
    assert sizes() == [1]
    loans_engine.decide("loans", people(X), "decider")
    loans_engine.tick()
    assert sizes() == [1], "one was written a moment ago"
    clock.forward(EVERY_SECONDS)
    loans_engine.tick()
    assert sizes() == [1, 2]
    loans_engine.decide("loans", people(X), "decider")
    loans_engine.sign_heads(always=True)
    assert sizes() == [1, 2, 3]


def test_the_learner_never_computes_while_the_database_is_held(loans_engine, monkeypatch):
    """No write on the writer's thread ever reaches the pure functions, and no lock of ours waits for the disk."""
    from likewise.service.stream import decide
    from likewise.service.stream.learner import Model

    threads = set()
    for owner, name in ((decide.Decision, "add"), (Model, "deploy")):
        original = getattr(owner, name)

        def watched(*arguments, original=original):
            threads.add(threading.current_thread().name)
            return original(*arguments)

        monkeypatch.setattr(owner, name, watched)
    whole_round(loans_engine)
    assert threads == {threading.current_thread().name}
    gate = threading.Event()
    blocked = loans_engine.store._writer.submit(lambda connection: gate.wait(300))
    waiting = threading.Thread(target=lambda: loans_engine.decide("loans", people(X), "decider"))
    waiting.start()
    live: LiveStream = loans_engine.streams.get("loans")
    while live.latest.state.opened < 2:
        pass
    assert live.lock.acquire(timeout=300)
    live.lock.release()
    gate.set()
    waiting.join()
    blocked.result()


def test_engines_can_be_made_without_a_file_of_checkpoints(new_database, signer):
    store = Store(new_database("sqlite"))
    store.migrate()
    engine = Engine(store, signer)
    engine.start()
    engine.create(loans(), "root")
    assert engine.tick() == 0
    engine.close()


class TestWhatStaysTrueAtTheEdges:
    def test_an_auditor_takes_back_only_their_own_verdict(self, loans_engine):
        opened = loans_engine.decide("loans", people(X), "decider")
        loans_engine.audit("loans", opened["t"], "none", "ann")
        with pytest.raises(Conflict, match="Somebody else"):
            loans_engine.retract("loans", opened["t"], "bob")
        assert loans_engine.retract("loans", opened["t"], "root", anybodys=True)["t"] == opened["t"]

    def test_what_was_erased_is_overwritten_as_soon_as_nobody_reads_it_any_more(self, loans_engine):
        store = loans_engine.store
        if store.dialect != "sqlite":
            pytest.skip("PostgreSQL overwrites when it vacuums")
        whole_round(loans_engine)
        with store.read() as reading:
            reading.exec_driver_sql("SELECT count(*) FROM events").scalar()
            loans_engine.erase("loans", "0", "root")
            assert not store.scrub()
        loans_engine.tick()
        assert store.scrub()

    def test_a_round_is_told_whole_however_much_was_said_of_it(self, loans_engine):
        whole_round(loans_engine)
        assert len(loans_engine.store.events("loans", limit=1, round=1)) == 5

    def test_not_even_a_hash_of_what_was_asked_about_an_erased_person_is_kept(self, loans_engine):
        engine = loans_engine
        engine.decide("loans", people(X), "decider", key(request="hash of the body"))
        engine.erase("loans", "0", "root")
        assert engine.store.response("token", "k") == ("", None)
        with pytest.raises(Unknown, match="erased"):
            engine.decide("loans", people(X), "decider", key(request="hash of the body"))
