"""The Merkle tree of a stream: proofs from a few rows of a long log, and what somebody with the database can't do."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from likewise.service.canonical import GENESIS
from likewise.service.log import Append, Store
from likewise.service.log import tree as log_tree
from likewise.service.log.append import add
from likewise.service.log.chain import seal
from likewise.service.log.tree import BLOCK, LogTree, grown, leaves
from likewise.service.refusals import BrokenLog
from likewise.service.stream.events import Resumed, stamp
from likewise.transparency import merkle

SIZE = 2 * BLOCK + 90
SEALED = seal("loans", 0, GENESIS, [Resumed(at=stamp(i), by="ann") for i in range(SIZE)])
TREE = grown(merkle.Frontier(), SEALED)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "log.db") as store:
        store.migrate()
        store.append(Append(SEALED))
        yield store


@pytest.fixture
def tree(store):
    return LogTree(store, "loans")


def change(store, statement):
    for trigger in ("events_follow", "events_stay", "events_last"):
        store.write(lambda connection, name=trigger: connection.execute(text(f"DROP TRIGGER {name}")))
    store.write(lambda connection: connection.execute(text(statement)))


def test_the_right_edge_is_found_at_every_size(tree):
    assert tree.frontier(SIZE) == TREE
    for size in (0, 1, 2, 255, 256, 257, 511, 512, 513):
        assert tree.frontier(size) == grown(merkle.Frontier(), SEALED[:size])


def test_proofs_hold_wherever_they_begin(tree):
    for seq in (1, 2, 200, 256, 257, 300, 512, 513, SIZE):
        leaf = leaves([SEALED[seq - 1].hash])[0]
        assert merkle.included(leaf, seq - 1, SIZE, TREE.root, tree.inclusion(seq, TREE))
        for new in {seq, min(seq + 9, SIZE), SIZE}:
            older, newer, proof = tree.consistency(seq, new, TREE)
            assert [older, newer] == [grown(merkle.Frontier(), SEALED[:size]) for size in (seq, new)]
            assert merkle.consistent(seq, new, older.root, newer.root, proof)


def test_a_long_log_is_not_read_for_one_proof(store, tree, monkeypatch):
    tree.keep(SIZE)
    again, read = LogTree(store, "loans"), []
    hashes = store.hashes
    monkeypatch.setattr(
        store, "hashes", lambda stream, after, until: read.append(until - after) or hashes(stream, after, until)
    )
    again.inclusion(3, TREE)
    assert sum(read) == BLOCK + SIZE % BLOCK, "its own block, and the right edge"
    read.clear()
    assert again.frontier(2 * BLOCK).root == grown(merkle.Frontier(), SEALED[: 2 * BLOCK]).root
    assert read == []


def test_blocks_that_somebody_wrote_are_computed_again(store, tree):
    store.keyed_hash = lambda content: "sealed " + content.decode()
    tree.keep(SIZE)
    assert LogTree(store, "loans").frontier(SIZE) == TREE
    change(store, f"UPDATE blocks SET root = '{'ab' * 32}' WHERE number = 1")
    assert LogTree(store, "loans").frontier(SIZE) == TREE
    again = LogTree(store, "loans")
    again.keep(SIZE)
    assert again.frontier(SIZE) == TREE


def kept(connection):
    return connection.execute(text("SELECT count(*) FROM blocks")).scalar()


def test_two_processes_that_keep_the_same_blocks_stop_nothing(store, tree, monkeypatch):
    """As if another one had written between the delete and the insert."""
    with monkeypatch.context() as both:
        both.setattr(log_tree, "add", lambda connection, table, rows: add(connection, table, rows + rows))
        tree.keep(SIZE)
    assert store.write(kept) == 0
    tree.keep(SIZE)
    assert store.write(kept) == SIZE // BLOCK


@pytest.mark.parametrize("seq", [3, 300, SIZE])
def test_events_that_were_changed_with_their_hashes_are_refused(store, tree, seq):
    tree.require([SEALED[seq - 1]], TREE)
    forged = SEALED[seq - 1]._replace(hash="cd" * 32)
    with pytest.raises(BrokenLog, match="somebody changed the database"):
        tree.require([forged], TREE)
    change(store, f"UPDATE events SET hash = '{'cd' * 32}' WHERE seq = {seq}")
    for asked in (forged, SEALED[seq - 1]):
        with pytest.raises(BrokenLog, match="somebody changed the database"):
            tree.require([asked], TREE)
    with pytest.raises(BrokenLog):
        tree.inclusion(seq, TREE)


def test_a_log_that_was_cut_has_no_tree(store, tree):
    change(store, f"DELETE FROM events WHERE seq > {BLOCK + 3}")
    with pytest.raises(BrokenLog, match="ends before event"):
        tree.frontier(SIZE)


def test_blocks_are_kept_on_every_database(database, open_store):
    store = open_store(database)
    store.append(Append(SEALED))
    for _ in range(2):  # a second process keeps the same
        LogTree(store, "loans").keep(SIZE)
    with store.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM blocks")) == SIZE // BLOCK
    assert LogTree(store, "loans").frontier(SIZE) == TREE
