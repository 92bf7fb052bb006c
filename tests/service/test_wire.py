"""On PostgreSQL an event loop sends statements itself; whatever becomes of them, everybody hears the truth."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import threading
import time
from contextlib import contextmanager

import pytest
import uvloop
from serving import until
from sqlalchemy import NullPool, create_engine, text

from likewise.service.log import Append, Store
from likewise.service.log.chain import seal
from likewise.service.log.signing import Signer
from likewise.service.log.tree import grown
from likewise.service.log.wire import Wire
from likewise.service.proof.standalone import GENESIS
from likewise.service.refusals import SequenceConflict, Unavailable
from likewise.service.stream.events import Stopped, stamp
from likewise.transparency.merkle import Frontier
from likewise.transparency.notes import checkpoint_of, read_proof


@pytest.fixture
def database(new_database):
    """PostgreSQL: on SQLite nothing is sent."""
    return new_database("postgresql")


def note(reason=""):
    return Stopped(at=stamp(0), reason=str(reason), by="root")


def row(stream, number):
    """So many appends of an event each, one after the other."""
    sealed = seal(stream, 0, GENESIS, [note(i) for i in range(number)])
    return [Append([each]) for each in sealed]


def hand_in(store, appends):
    """On an event loop, as requests that came together are."""
    store.wake_soon(asyncio.get_running_loop())
    return [store.submit(append, wake=False) for append in appends]


async def ended(futures):
    """What has become of each: its answer, or its error."""
    return await asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True)


async def warm(store):
    """Hand in until the event loop itself sends, which it doesn't while the thread is at it."""
    sent, send = [], Wire.send
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Wire, "send", lambda *call: sent.append(call) or send(*call))
        for number in itertools.count():
            assert number < 50, "the event loop would never send anything"
            await ended(hand_in(store, row(f"{time.monotonic()}-{number}", 1)))
            if sent:
                break
    for _ in range(2):  # the thread may have been woken for nothing, and be about to take its turn
        while store._writer._woken.is_set() or store._writer._turn.locked():
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.005)


@contextmanager
def locked(database):
    """Keep the table of events from everybody else for a while; a function that lets it go."""
    engine = create_engine(database, poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text("LOCK TABLE events IN ACCESS EXCLUSIVE MODE"))
        yield connection.rollback


def held(store):
    """The server's processes that wait for a lock: what is under way is really there."""
    query = text("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%json_to_recordset%'")
    with store.read() as connection:
        return list(connection.scalars(query))


async def on_its_way(store):
    while not held(store):
        await asyncio.sleep(0.01)


def hashes(store, stream):
    return [each.hash for each in store.events(stream)]


def test_an_event_loop_sends_what_it_gathered_and_leaves_the_thread_alone(store, monkeypatch):
    async def main():
        await warm(store)
        monkeypatch.setattr(store._writer, "_transaction", None)
        for name in ("a", "b"):
            assert await ended(hand_in(store, row(name, 5))) == [None] * 5

    asyncio.run(main())
    assert [len(hashes(store, name)) for name in "ab"] == [5, 5]


def test_what_comes_while_a_statement_is_under_way_goes_next(store, database):
    async def main():
        await warm(store)
        first, *others = row("a", 9)
        with locked(database) as let_go:
            futures = hand_in(store, [first])
            await on_its_way(store)
            for other in others:
                futures += hand_in(store, [other])
                await asyncio.sleep(0)
            let_go()
            assert await ended(futures) == [None] * 9

    asyncio.run(main())
    assert len(hashes(store, "a")) == 9


def test_works_of_threads_wait_their_turn_and_are_not_overtaken(store, database):
    async def main():
        await warm(store)
        appends = row("a", 6)
        with locked(database) as let_go:
            futures = hand_in(store, appends[:1])
            await on_its_way(store)
            futures += hand_in(store, appends[1:2])
            futures += [await asyncio.to_thread(store.submit, appends[2])]
            futures += hand_in(store, appends[3:5])
            futures += [store.submit(appends[5])]
            let_go()
            assert await ended(futures) == [None] * 6

    asyncio.run(main())
    assert len(hashes(store, "a")) == 6


@pytest.mark.parametrize("loop_ends", [False, True])
def test_a_statement_that_is_too_long_for_one_packet_is_sent_on_and_on(store, loop_ends):
    words = "x" * 2_000_000
    appends = [Append([each]) for each in seal("a", 0, GENESIS, [note(words) for _ in range(10)])]

    async def main():
        await warm(store)
        futures = hand_in(store, appends)
        assert store._writer._wire._sending, "the server has not read all of it at once"
        if not loop_ends:
            await ended(futures)
        return futures

    futures = asyncio.run(main())
    store.append(Append(seal("b", 0, GENESIS, [note()])))  # the thread comes after it, and does the rest if need be
    assert [future.result(0) for future in futures] == [None] * 10
    assert all(each.event.reason == words for each in store.events("a"))


def test_a_work_that_is_refused_takes_no_other_down(store):
    async def main():
        await warm(store)
        good, bad, other = row("a", 1) + row("b", 1) + row("c", 1)
        store.append(Append(bad.sealed))
        return await ended(hand_in(store, [good, bad, other]))

    one, refused, third = asyncio.run(main())
    assert (one, third) == (None, None)
    assert isinstance(refused, SequenceConflict)
    assert [len(hashes(store, name)) for name in "abc"] == [1, 1, 1]


def test_after_a_refusal_the_event_loop_sends_again(store, monkeypatch):
    async def main():
        await warm(store)
        for _ in range(2):
            await ended(hand_in(store, row("a", 1)))
        await warm(store)
        monkeypatch.setattr(store._writer, "_transaction", None)
        return await ended(hand_in(store, row("b", 2)))

    assert asyncio.run(main()) == [None, None]


def test_nobody_knows_what_became_of_a_statement_whose_connection_broke(store, database):
    async def main():
        await warm(store)
        with locked(database) as let_go:
            futures = hand_in(store, row("a", 2))
            await on_its_way(store)
            with store.read() as connection:
                connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": held(store)[0]})
            results = await ended(futures)
            let_go()
        assert await ended(hand_in(store, row("b", 2))) == [None, None]
        await warm(store)
        return results

    results = asyncio.run(main())
    assert all(isinstance(result, Unavailable | SequenceConflict) or result is None for result in results)
    assert len(hashes(store, "a")) == sum(result is None for result in results)
    assert len(hashes(store, "b")) == 2


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_connection_that_breaks_while_a_long_statement_is_sent_keeps_nobody_waiting(store, new_loop, caplog):
    words = "x" * 2_000_000
    appends = [Append([each]) for each in seal("a", 0, GENESIS, [note(words) for _ in range(10)])]

    async def main():
        await warm(store)
        wire = store._writer._wire
        futures = hand_in(store, appends)
        assert wire._sending
        with store.read() as connection:
            connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": wire._server.backend_pid})
        results = await ended(futures)
        assert await ended(hand_in(store, row("b", 2))) == [None, None]
        await warm(store)
        return results

    with contextlib.closing(new_loop()) as loop:
        results = loop.run_until_complete(asyncio.wait_for(main(), 60))
    assert isinstance(results[0], Unavailable)
    assert all(isinstance(result, Unavailable | SequenceConflict) for result in results), "the others were to follow it"
    assert (hashes(store, "a"), len(hashes(store, "b"))) == ([], 2)
    assert "Traceback" not in caplog.text


def test_no_descriptor_stays_open_for_a_connection_that_broke(store):
    async def main():
        for _ in range(3):
            await warm(store)
            with store.read() as connection:
                pid = store._writer._wire._server.backend_pid
                connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
            await asyncio.to_thread(until, lambda: not store._writer._wire.quiet)
            await ended(hand_in(store, row(f"{pid}", 1)))
            opened.append(len(os.listdir("/proc/self/fd")))

    opened = []
    asyncio.run(main())
    assert opened[0] == opened[-1]


def test_a_server_that_went_away_between_two_statements_costs_nobody_anything(store, database):
    async def main():
        await warm(store)
        pid = store._writer._wire._server.backend_pid
        with store.read() as connection:
            connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
        await asyncio.to_thread(until, lambda: not store._writer._wire.quiet)
        return await ended(hand_in(store, row("a", 3)))

    assert asyncio.run(main()) == [None] * 3


def test_the_thread_waits_for_a_statement_whose_loop_has_ended(store, database):
    asyncio.run(warm(store))

    async def main():
        futures = hand_in(store, row("a", 2))
        await on_its_way(store)
        return futures

    with locked(database) as let_go:
        futures = asyncio.run(main())
        assert not any(future.done() for future in futures)
        threading.Timer(0.2, let_go).start()
        store.append(Append(seal("b", 0, GENESIS, [note()])))
    assert [future.result(0) for future in futures] == [None, None]


def test_closing_waits_for_what_is_under_way(database):
    with Store(database) as store:
        store.migrate()

        async def main():
            await warm(store)
            with locked(database) as let_go:
                futures = hand_in(store, row("a", 2))
                await on_its_way(store)
                threading.Timer(0.2, let_go).start()
                store.close()  # on the loop itself, which can't hear of anything meanwhile
            return [future.result(0) for future in futures]

        assert asyncio.run(main()) == [None, None]


@pytest.mark.parametrize("sizes", [[1, 1, 1], [2, 1, 3], [1]])
def test_receipts_of_a_group_share_a_signature_and_hold(store, sizes):
    signer = Signer.generate()
    store.receipts = signer.receipts
    sealed = seal("a", 0, GENESIS, [note(i) for i in range(sum(sizes))])

    async def main():
        await warm(store)
        appends, start = [], 0
        for size in sizes:
            before = grown(Frontier(), sealed[:start])
            some = sealed[start : start + size]
            appends.append(Append(some, response={"receipt": None, "t": start}, before=before))
            start += size
        return await ended(hand_in(store, appends))

    answers = asyncio.run(main())
    tree, ends = grown(Frontier(), sealed), [sum(sizes[: i + 1]) for i in range(len(sizes))]
    for answer, end in zip(answers, ends, strict=True):
        proof = read_proof(answer["receipt"]["proof"])
        point = checkpoint_of(proof.note)
        assert (answer["receipt"]["seq"], proof.index) == (end, end - 1)
        assert (point.size, point.root) == (tree.size, tree.root)
        assert proof.holds(bytes.fromhex(sealed[end - 1].hash))


def test_nothing_is_signed_that_did_not_become_durable(store):
    """The first was to share a signature with the second, which another process's event keeps out of the log."""
    signer = Signer.generate()
    store.receipts = signer.receipts
    first, second = seal("a", 0, GENESIS, [note(1), note(2)])
    other = seal("a", 1, first.hash, [note(3)])

    async def main():
        await warm(store)
        early = [Append([first], response={"receipt": None}, before=Frontier())]
        (answer,) = await ended(hand_in(store, early))
        store.append(Append(other))
        late = [Append([second], response={"receipt": None}, before=grown(Frontier(), [first]))]
        third = [Append(seal("b", 0, GENESIS, [note(4)]), response={"receipt": None}, before=Frontier())]
        return answer, *await ended(hand_in(store, third + late))

    _, kept, refused = asyncio.run(main())
    assert isinstance(refused, SequenceConflict)
    assert checkpoint_of(read_proof(kept["receipt"]["proof"]).note).size == 1
