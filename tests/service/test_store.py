"""The contract of the store: one class of tests, both databases."""

from __future__ import annotations

import asyncio
import itertools
import math
import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from likewise.errors import InvalidParameter
from likewise.service.log import Append, Idempotency, KeyTaken, Store, tables
from likewise.service.log.chain import seal
from likewise.service.log.leases import Leases
from likewise.service.log.signing import Signer
from likewise.service.log.snapshots import Snapshots
from likewise.service.log.tree import grown
from likewise.service.log.writer import GATHERED
from likewise.service.proof.standalone import GENESIS
from likewise.service.refusals import BrokenLog, SequenceConflict, Unavailable
from likewise.service.stream.events import (
    Aside,
    Decided,
    LearnerCheckpointed,
    PersonErased,
    RoundOpened,
    Stopped,
    stamp,
)
from likewise.transparency.merkle import Frontier
from likewise.transparency.notes import checkpoint_of, read_proof


def note(number=0, asides=()):
    """Any event will do for the store."""
    if not asides:
        return Stopped(at=stamp(number), reason=str(number), by="root")
    people = tuple(Decided(aside.ref, aside.commitment, 0.5, 1) for aside in asides)
    place = {"version": 0, "policy": "", "outstanding": 0, "by": "root"}
    return RoundOpened(at=stamp(number), t=number, people=people, asides=tuple(asides), **place)


def learner(numbers):
    """An event that holds numbers."""
    return LearnerCheckpointed(at=stamp(0), version=0, learner={"losses": numbers}, average="", pairs=(), erasing=False)


def person(ref, name="ada", round=1):
    return Aside(ref, "person", round, "ab" * 32, {"id": name, "features": {"score": 0.1}})


def held_up(store, gate):
    """Keep the writer busy until the gate opens, so that whatever is handed in from now on waits; its future."""
    begun = threading.Event()
    future = store._writer.submit(lambda connection: begun.set() or gate.wait(300))
    assert begun.wait(300)
    return future


def sealed(store, stream="loans", *events):
    """Events in the places after the head."""
    return seal(stream, *store.head(stream), list(events) or [note()])


class TestContract:
    def test_what_is_appended_is_read_again(self, store):
        written = sealed(store, "loans", note(1), note(2), note(3))
        store.append(Append(written))
        assert store.events("loans") == written
        assert store.head("loans") == (3, written[-1].hash)
        assert store.head("other") == (0, GENESIS)

    def test_floats_survive_bit_by_bit(self, store):
        values = [0.1, 1e-320, -0.0, 2**0.5, 1.7976931348623157e308, 3.0]
        store.append(Append(sealed(store, "loans", learner(values))))
        (read,) = store.events("loans")
        # Whole ones come back as ints, and the log doesn't tell -0.0 from 0: adding 0.0 changes that one alone.
        assert [float(value).hex() for value in read.event.learner["losses"]] == [
            (value + 0.0).hex() for value in values
        ]

    def test_text_of_every_kind_survives(self, store):
        words = "naïve 审计 \N{ZERO WIDTH JOINER} 🙂 \\u0000 ' \" \n"
        store.append(Append(sealed(store, "loans", Stopped(at=stamp(0), reason=words, by="root"))))
        assert store.events("loans")[0].event.reason == words

    def test_reading_goes_on_after_a_number(self, store):
        store.append(Append(sealed(store, "loans", *(note(i) for i in range(10)))))
        assert [one.seq for one in store.events("loans", after=4, limit=3)] == [5, 6, 7]

    def test_two_events_never_share_a_place(self, store):
        first, second = sealed(store, "loans", note(1)), sealed(store, "loans", note(2))
        store.append(Append(first))
        with pytest.raises(SequenceConflict, match="Event 1 of 'loans'"):
            store.append(Append(second))
        assert store.events("loans") == first

    def test_a_gap_is_refused_by_the_database(self, store):
        store.append(Append(sealed(store, "loans", note(1))))
        with pytest.raises(SequenceConflict):
            store.append(Append(seal("loans", 2, store.head("loans")[1], [note(3)])))
        with pytest.raises(SequenceConflict):
            store.append(Append(seal("new", 1, GENESIS, [note(3)])))

    def test_an_event_that_does_not_carry_the_hash_before_it_is_refused(self, store):
        store.append(Append(sealed(store, "loans", note(1))))
        with pytest.raises(SequenceConflict):
            store.append(Append(seal("loans", 1, "f" * 64, [note(2)])))

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE events SET data = '{}'",
            "DELETE FROM events",
            "DELETE FROM events WHERE seq = 1",
            "INSERT INTO events SELECT stream, seq, prev, hash, kind, version, at, round, '{}' FROM events "
            "WHERE seq = 1 ON CONFLICT (stream, seq) DO UPDATE SET data = '{}'",
        ],
    )
    def test_the_log_is_never_changed(self, store, statement):
        written = sealed(store, "loans", note(1), note(2))
        store.append(Append(written))
        with pytest.raises(IntegrityError, match="log"):
            store.write(lambda connection: connection.execute(text(statement)))
        assert store.events("loans") == written

    def test_all_of_an_append_happens_or_nothing(self, store):
        good = sealed(store, "loans", note(1, [person("a")]))
        bad = seal("loans", 7, GENESIS, [note(2, [person("b")])])
        with pytest.raises(SequenceConflict):
            store.append(Append([*good, *bad], key=Idempotency("me", "k", "r"), response={}))
        assert store.events("loans") == []
        assert store.asides("loans") == []
        assert store.response("me", "k") is None

    def test_a_failure_takes_no_other_write_down(self, store):
        """Writes that share a transaction with one that is refused."""
        gate = threading.Event()
        blocked = held_up(store, gate)
        good = [store.submit(Append(seal(name, 0, GENESIS, [note()]))) for name in ("a", "b")]
        bad = store.submit(Append(seal("c", 5, GENESIS, [note()])))
        more = store.submit(Append(seal("d", 0, GENESIS, [note()])))
        gate.set()
        for future in (blocked, *good, more):
            future.result()
        with pytest.raises(SequenceConflict):
            bad.result()
        assert [store.head(name)[0] for name in "abcd"] == [1, 1, 0, 1]

    def test_nobody_tries_again_what_may_have_been_committed(self, store, monkeypatch):
        """The commit went through, but the word of it was lost."""
        dialect = store._writers.dialect
        commit, gate = dialect.do_commit, threading.Event()

        def lose(connection):
            commit(connection)
            raise dialect.loaded_dbapi.OperationalError("the connection broke")

        blocked = held_up(store, gate)
        futures = [store.submit(Append(seal(name, 0, GENESIS, [note()]))) for name in ("a", "b")]
        with monkeypatch.context() as patch:
            patch.setattr(dialect, "do_commit", lose)
            gate.set()
            for future in (blocked, *futures):
                with pytest.raises(Unavailable):
                    future.result()
        assert store.head("a")[0] == 1
        store.append(Append(sealed(store, "a", note())))
        assert store.head("a")[0] == 2

    def test_waiting_writes_share_a_transaction(self, store):
        """Otherwise eight clients would pay for eight syncs."""
        gate, seen = threading.Event(), []
        held_up(store, gate)
        numbers = "SELECT pg_current_xact_id()::text" if store.dialect == "postgresql" else None

        def write(connection):
            seen.append(connection.scalar(text(numbers)) if numbers else id(connection.get_transaction()))

        futures = [store._writer.submit(write) for _ in range(8)]
        gate.set()
        for future in futures:
            future.result()
        assert len(seen) == 8
        assert len(set(seen)) == 1

    @pytest.mark.parametrize("refused", [False, True])
    def test_an_answer_proves_nothing_that_did_not_become_durable_with_it(self, store, refused):
        store.receipts, gate = Signer.generate().receipts, threading.Event()
        first, second = seal("a", 0, GENESIS, [note(1), note(2)])
        store.append(Append(seal("b", 0, GENESIS, [note(3)])))
        between = seal("b", 0, GENESIS, [note(4)]) if refused else sealed(store, "b", note(4))
        held_up(store, gate)
        appends = [
            Append([first], response={"receipt": None}, before=Frontier()),
            Append(between),
            Append([second], response={"receipt": None}, before=grown(Frontier(), [first])),
        ]
        one, other, two = [store.submit(append) for append in appends]
        gate.set()
        assert isinstance(other.exception(300), SequenceConflict) is refused
        proofs = [read_proof(future.result(300)["receipt"]["proof"]) for future in (one, two)]
        # Those of one transaction share what is signed; if that fails, each is tried alone.
        assert [checkpoint_of(proof.note).size for proof in proofs] == ([1, 2] if refused else [2, 2])
        pairs = zip(proofs, (first, second), strict=True)
        assert all(proof.holds(bytes.fromhex(each.hash)) for proof, each in pairs)

    def test_what_is_handed_in_without_waking_the_writer_waits_for_whoever_wakes_it(self, store):
        futures = [store.submit(Append(seal(name, 0, GENESIS, [note()])), wake=False) for name in ("a", "b")]
        assert not any(future.done() for future in futures)
        store.wake()
        assert [future.result(300) for future in futures] == [None, None]
        assert [store.head(name)[0] for name in "ab"] == [1, 1]

    def test_whoever_wakes_the_writer_wakes_it_for_everybody(self, store):
        waiting = store.submit(Append(seal("a", 0, GENESIS, [note()])), wake=False)
        store.append(Append(seal("b", 0, GENESIS, [note()])))
        assert waiting.result(300) is None

    def test_works_that_an_event_loop_hands_in_turn_by_turn_are_written_together(self, store, monkeypatch):
        monkeypatch.setattr("likewise.service.log.writer.SENT", math.inf)  # what the loop itself sends waits for less
        write, sizes = store._writer._transaction, []
        store._writer._transaction = lambda works: sizes.append(len(works)) or write(works)
        store._writer._teach = store._writer._unknown.clear

        async def main(number):
            def hand_in(name):
                store.wake_soon(loop)
                futures.append(store.submit(Append(seal(name, 0, GENESIS, [note()])), wake=False))

            loop, futures = asyncio.get_running_loop(), []
            for i in range(number):
                hand_in(f"{number}-{i}")
                await asyncio.sleep(0)
            await asyncio.gather(*map(asyncio.wrap_future, futures))

        for number in (1, 5, GATHERED + 3):  # each on a loop of its own
            asyncio.run(main(number))
        assert sizes[:2] == [1, 5]
        assert sum(sizes) == GATHERED + 9
        assert sizes[2] >= GATHERED, "so many are not kept waiting for more"

    def test_a_loop_that_ends_before_its_works_are_gathered_keeps_no_other_waiting(self, store):
        loop = asyncio.new_event_loop()
        store.wake_soon(loop)
        loop.close()

        async def main():
            store.wake_soon(asyncio.get_running_loop())
            return store.submit(Append(seal("a", 0, GENESIS, [note()])), wake=False)

        async def finished():
            return await asyncio.wrap_future(await main())

        assert asyncio.run(asyncio.wait_for(finished(), 60)) is None

    def test_closing_writes_what_nobody_was_woken_for(self, database):
        with Store(database) as store:
            store.migrate()
            waiting = store.submit(Append(seal("a", 0, GENESIS, [note()])), wake=False)
        assert waiting.result(0) is None

    def test_streams_are_found_by_a_kind_of_event_that_they_hold(self, store):
        erased = PersonErased(at=stamp(0), erased=("r",), rounds=(), by="root")
        for name, events in (("a", [note()]), ("b", [note(), erased]), ("c", [erased])):
            store.append(Append(seal(name, 0, GENESIS, events), secret="00"))
        assert store.streams(holding=PersonErased.kind) == ["b", "c"]
        assert store.streams() == ["a", "b", "c"]

    def test_a_key_is_answered_once(self, store):
        key = Idempotency("me", "k", "request")
        store.append(Append(sealed(store, "loans", note(1)), at=5.0, key=key, response={"round": 1}))
        with pytest.raises(KeyTaken):
            store.append(Append(sealed(store, "loans", note(2)), key=key, response={"round": 2}))
        assert store.response("me", "k") == ("request", {"round": 1})
        assert store.response("you", "k") is None
        assert store.head("loans")[0] == 1

    @pytest.mark.parametrize(
        "change",
        [
            """response = '{"round": 2}'""", "request = 'another'", "key = 'moved'", "round = 7",
            "stream = 'other'", '"at" = 99.0', "seal = NULL", "seal = (SELECT seal FROM responses WHERE key = 'other')",
        ],
    )  # fmt: skip
    def test_an_answer_that_somebody_changed_is_not_given_again(self, store, change):
        for key, round in (("k", 1), ("other", 3)):
            idempotency = Idempotency("me", key, "request")
            events = sealed(store, "loans", note(round))
            store.append(Append(events, at=5.25, key=idempotency, response={"round": round}))
        assert store.response("me", "k") == ("request", {"round": 1})
        forged = text(f"UPDATE responses SET {change} WHERE key = 'k'")
        store.write(lambda connection: connection.execute(forged) and None)
        with pytest.raises(BrokenLog, match="is not the one that was given"):
            store.response("me", "moved" if "moved" in change else "k")

    def test_answers_are_sealed_again_with_another_key(self, store):
        old, new = (Signer.generate().keyed_hash for _ in range(2))
        store.keyed_hash = old
        for number in range(3):
            key = Idempotency("me", f"{number}", "request")
            events = sealed(store, "loans", note(number))
            store.append(Append(events, at=0.5, key=key, response={"round": number}))
        forged = "UPDATE responses SET response = '{}' WHERE key = '1'"
        store.write(lambda connection: connection.execute(text(forged)) and None)
        for _ in range(2):  # one that was killed is done again
            store.seal_responses_again(old, new)
        store.keyed_hash = new
        assert [store.response("me", key)[1] for key in "02"] == [{"round": 0}, {"round": 2}]
        with pytest.raises(BrokenLog):
            store.response("me", "1")

    def test_old_keys_are_forgotten(self, store):
        for at in (5.0, 9.0):
            key = Idempotency("me", str(at), "request")
            store.append(Append(sealed(store, "loans", note()), at=at, key=key, response={}))
        store.forget_responses(before=6.0)
        assert store.response("me", "5.0") is None
        assert store.response("me", "9.0") is not None

    def test_what_is_beside_the_log_is_found_by_round_person_and_event(self, store):
        ada, bob = person("a", "ada"), person("b", "bob", round=2)
        store.append(Append(sealed(store, "loans", note(1, [ada]), note(2, [bob]))))
        assert store.asides("loans", round=1) == [ada]
        assert store.asides("loans", person="bob") == [bob]
        assert [one.event.asides for one in store.events("loans", asides=True)] == [(ada,), (bob,)]
        assert [one.event.asides for one in store.events("loans")] == [(), ()]
        assert [one.seq for one in store.events("loans", round=2)] == [2]
        assert list(store.asides_of(["b", "gone", "a"])) == [bob, ada]

    def test_erasing_leaves_the_log_and_nothing_else(self, store):
        key = Idempotency("me", "k", "request")
        ref = "ab" * 16
        store.append(Append(sealed(store, "loans", note(1, [person(ref)])), key=key, response={"id": "ada"}))
        Snapshots(store).save("loans", *store.head("loans"), 1, {"ids": ["ada"], "refs": [ref]})
        before = store.events("loans")
        store.append(Append(sealed(store, "loans", note(2)), erase=[ref], erase_rounds=[1]))
        assert store.asides("loans") == []
        assert store.response("me", "k") == ("", None)
        assert Snapshots(store).latest("loans", 1) is None
        assert store.events("loans")[:1] == before

    def test_a_snapshot_counts_only_on_its_own_chain(self, store):
        store.append(Append(sealed(store, "loans", note(1), note(2))))
        seq, hash = store.head("loans")
        snapshots = Snapshots(store)
        snapshots.save("loans", seq, hash, 1, {"x": 0.1})
        assert snapshots.latest("loans", 1) == (seq, hash, {"x": 0.1})
        assert snapshots.latest("loans", 2) is None
        snapshots.save("loans", seq, "f" * 64, 1, {"x": 0.2})
        assert snapshots.latest("loans", 1) is None

    @pytest.mark.parametrize("named", [True, False])
    def test_a_snapshot_from_before_an_erasure_is_kept_only_if_it_does_not_name_them(self, store, named):
        store.append(Append(sealed(store, "loans", note(1))))
        seq, hash = store.head("loans")
        gone, other = "ab" * 16, "cd" * 16
        erased = PersonErased(at=stamp(0), erased=(gone,), rounds=(1,), by="root")
        store.append(Append(sealed(store, "loans", erased)))
        Snapshots(store).save("loans", seq, hash, 1, {"refs": [gone if named else other]})
        assert (Snapshots(store).latest("loans", 1) is None) == named
        Snapshots(store).save("loans", seq, hash, 1, {"refs": [other]})
        store.append(Append(sealed(store, "loans", note(2)), erase=[other if named else gone]))
        assert (Snapshots(store).latest("loans", 1) is None) == named

    def test_a_snapshot_that_comes_with_an_erasure_takes_the_place_of_the_last_one(self, store):
        store.append(Append(sealed(store, "loans", note(1))))
        ref = "ab" * 16
        Snapshots(store).save("loans", *store.head("loans"), 1, {"refs": [ref]})
        after = sealed(store, "loans", note(2))
        row = Snapshots(store).row("loans", after[0].seq, after[0].hash, 1, {"refs": []})
        store.append(Append(after, erase=[ref], snapshot=row))
        assert Snapshots(store).latest("loans", 1) == (after[0].seq, after[0].hash, {"refs": []})

    def test_a_round_is_leased_to_one_until_a_time(self, store):
        leases = Leases(store)
        assert leases.take("loans", 1, "ann", now=0.0, until=10.0)
        assert not leases.take("loans", 1, "bob", now=5.0, until=15.0)
        assert leases.take("loans", 1, "ann", now=5.0, until=20.0)
        assert leases.current("loans", now=19.0)[1].holder == "ann"
        assert leases.take("loans", 1, "bob", now=20.0, until=30.0)
        leases.release("loans", 1, "ann")
        assert leases.current("loans", now=21.0)[1].holder == "bob"
        leases.release("loans", 1, "bob", until=29.0)  # said of a lease that was renewed since
        assert leases.current("loans", now=21.0)[1].holder == "bob"
        leases.release("loans", 1, "bob", until=30.0)
        assert leases.current("loans", now=21.0) == {}
        assert leases.take("loans", 1, "ann", now=21.0, until=30.0)
        leases.release("loans", 1, "ann")
        assert leases.current("loans", now=21.0) == {}

    def test_snapshots_and_answers_keep_even_the_sign_of_zero_and_what_was_a_float(self, store):
        values = [0.1, 1e-320, -0.0, 3.0, 2**60, "é"]
        (event,) = sealed(store, "loans", note())
        store.append(Append([event], key=Idempotency("ann", "key", "asked"), response=values))
        Snapshots(store).save("loans", 1, event.hash, 2, values)
        answered, kept = store.response("ann", "key")[1], Snapshots(store).latest("loans", 2)[2]
        assert list(map(repr, answered)) == list(map(repr, kept)) == list(map(repr, values))

    def test_a_secret_is_kept_with_its_stream(self, store):
        store.append(Append(sealed(store, "loans", note()), secret="0a0b"))
        assert store.secret("loans") == b"\n\x0b"
        assert store.secret("other") is None
        assert store.streams() == ["loans"]

    def test_a_closed_store_takes_nothing(self, database, open_store):
        store = open_store(database)
        store.close()
        with pytest.raises(Unavailable, match="closed"):
            store.append(Append(sealed(store, "loans", note())))

    def test_twenty_writers_leave_no_gap_no_loss_and_no_duplicate(self, database, open_store):
        """Each has a store of its own, as a process would, and all write to one stream."""
        open_store(database)
        stores = [Store(database) for _ in range(20)]
        wanted = {f"{writer}.{i}" for writer in range(20) for i in range(10)}
        failures = []

        def write(writer):
            store = stores[writer]
            try:
                for i in range(10):
                    event = Stopped(at=stamp(0), reason=f"{writer}.{i}", by="root")
                    while True:
                        try:
                            store.append(Append(sealed(store, "loans", event)))
                            break
                        except SequenceConflict:
                            continue
            except Exception as error:
                failures.append(error)

        together(write, range(20))
        read = stores[0].events("loans")
        for store in stores:
            store.close()
        assert failures == []
        assert [one.seq for one in read] == list(range(1, 201))
        assert sorted(one.event.reason for one in read) == sorted(wanted)
        assert all(later.prev == earlier.hash for earlier, later in itertools.pairwise(read))

    def test_twenty_auditors_never_get_the_same_round(self, database, open_store):
        open_store(database)
        stores = [Store(database) for _ in range(20)]
        won = []
        together(
            lambda i: won.extend(t for t in range(5) if Leases(stores[i]).take("loans", t, f"a{i}", 0.0, 9.0)),
            range(20),
        )
        for store in stores:
            store.close()
        assert sorted(won) == [0, 1, 2, 3, 4]


def together(work, items):
    """Run ``work`` on each item in a thread of its own."""
    threads = [threading.Thread(target=work, args=(item,)) for item in items]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class TestSQLite:
    @pytest.fixture
    def store(self, new_database, open_store):
        return open_store(new_database("sqlite"))

    def test_an_event_is_not_replaced_either(self, tmp_path, open_store):
        store = open_store(tmp_path / "log.db")
        written = sealed(store, "loans", note(1), note(2))
        store.append(Append(written))
        columns = "stream, seq, prev, hash, kind, version, at, round, '{}'"
        replaced = text(f"INSERT OR REPLACE INTO events SELECT {columns} FROM events WHERE seq = 1")
        with pytest.raises(IntegrityError, match="never changed"):
            store.write(lambda connection: connection.execute(replaced))
        assert store.events("loans") == written

    def test_it_writes_ahead_and_waits_for_the_disk(self, store):
        for connect in (store.read, store._writers.connect):
            with connect() as connection:
                assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
                assert connection.scalar(text("PRAGMA synchronous")) == 2  # FULL
                assert connection.scalar(text("PRAGMA secure_delete")) == 1

    def test_readers_do_not_wait_for_a_writer(self, store):
        store.append(Append(sealed(store, "loans", note())))
        gate, writing = threading.Event(), threading.Event()

        def slow(connection):
            connection.execute(tables.streams.insert(), [{"stream": "x", "secret": "00"}])
            writing.set()
            gate.wait(300)

        future = store._writer.submit(slow)
        assert writing.wait(300)
        assert store.head("loans")[0] == 1
        assert store.streams() == []
        gate.set()
        future.result()
        assert store.streams() == ["x"]

    def test_what_was_erased_is_gone_from_the_file(self, store):
        secret = "zyxwvutsrqponmlkjihgfedcba"
        store.append(Append(sealed(store, "loans", note(1, [person("a", name=secret)]))))
        files = [Path(f"{store.url.database}{end}") for end in ("", "-wal")]
        assert any(secret.encode() in file.read_bytes() for file in files)
        store.append(Append(sealed(store, "loans", note(2)), erase=["a"], erase_rounds=[1]))
        store.scrub()
        assert not any(secret.encode() in file.read_bytes() for file in files)

    @pytest.mark.parametrize("address", [":memory:", "sqlite://", "mysql://localhost/x"])
    def test_what_can_not_keep_a_log_is_refused(self, address):
        with pytest.raises(InvalidParameter, match="database"):
            Store(address)


class TestPostgreSQL:
    @pytest.fixture
    def store(self, new_database, open_store):
        return open_store(new_database("postgresql"))

    def test_it_waits_for_the_disk_even_where_the_server_is_set_up_not_to(self, store):
        url = store.url
        hasty = url.update_query_dict({"options": f"{url.query['options']} -csynchronous_commit=off"})
        again = Store(hasty.render_as_string(hide_password=False))
        assert again.write(lambda connection: connection.scalar(text("SHOW synchronous_commit"))) == "on"
        again.close()

    def test_the_log_is_not_truncated_either(self, store):
        store.append(Append(sealed(store, "loans", note())))
        with pytest.raises(IntegrityError, match="never changed"):
            store.write(lambda connection: connection.execute(text("TRUNCATE events")))

    def test_a_connection_that_was_lost_is_opened_again(self, store):
        store.append(Append(sealed(store, "loans", note(1))))
        mine = store.write(lambda connection: connection.scalar(text("SELECT pg_backend_pid()")))
        engine = create_engine(store.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            # It waits until the connection is gone: asked for alone, that may be in the middle of the next write.
            assert connection.scalar(text("SELECT pg_terminate_backend(:pid, 30000)"), {"pid": mine})
        engine.dispose()
        store.append(Append(sealed(store, "loans", note(2))))
        with store.read() as connection:
            assert connection.scalar(select(func.count()).select_from(tables.events)) == 2


def test_commits_leave_the_moving_over_of_pages_to_who_tidies(tmp_path):
    file = tmp_path / "log.db"
    with Store(file) as store:
        store.migrate()
        store.tidy()
        before = file.stat().st_size
        for seq in range(1, 1500):
            row = {"stream": f"s{seq}", "secret": "x" * 4000}
            store.write(lambda connection, row=row: connection.execute(insert(tables.streams), [row]) and None)
        assert file.stat().st_size == before, "no commit moved anything"
        store.tidy()
        assert file.stat().st_size > before + 1400 * 4000
