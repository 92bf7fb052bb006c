"""The Merkle tree over the events of a stream: entry ``seq − 1`` is the 32 bytes of an event's hash.

Adding an event needs only the tree's right edge (``likewise.transparency.merkle.Frontier``), which a live stream keeps
in memory. Proofs need more of the tree: the roots of complete blocks of 256 events, which are kept in the database,
sealed with the service's key, and the hashes of a few blocks' events. So nobody reads a long log for one proof.
"""

from __future__ import annotations

import hmac
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from sqlalchemy import Connection, delete, select
from sqlalchemy.exc import IntegrityError

from likewise.service.log import tables
from likewise.service.log.append import add
from likewise.service.log.chain import Sealed
from likewise.service.log.store import Store
from likewise.service.refusals import BrokenLog
from likewise.transparency.merkle import (
    Frontier,
    Nodes,
    consistency_proof,
    frontier_of,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root_of,
    subtree,
)

Result = TypeVar("Result")
LEVEL = 8
BLOCK = 1 << LEVEL
"""Events whose root is kept together."""
READ = 64 * BLOCK
"""Events whose hashes are read at once."""


def leaves(hashes: Iterable[str]) -> list[bytes]:
    """The hashes of entries, from those of events."""
    return [leaf_hash(bytes.fromhex(hash)) for hash in hashes]


def grown(tree: Frontier, sealed: Sequence[Sealed]) -> Frontier:
    """A tree with some more events."""
    return tree.add_all(leaves(each.hash for each in sealed))


class LogTree:
    """The tree of one stream, as far as it was asked for. Any thread may ask.

    Parameters
    ----------
    store
        Where the log is.
    stream
        Its name.
    """

    def __init__(self, store: Store, stream: str) -> None:
        self._store = store
        self._stream = stream
        self._lock = threading.Lock()
        self._kept: dict[tuple[int, int], bytes] = {}
        """Roots of complete blocks, and of what they make up, by level and number."""
        self._blocks = 0
        self._saved = 0

    def frontier(self, size: int) -> Frontier:
        """The right edge when there were so many events, as the database has it."""
        with self._lock:
            return frontier_of(self._nodes(size), size)

    def inclusion(self, seq: int, tree: Frontier) -> list[bytes]:
        """The proof that event ``seq`` is in a tree that is known."""
        return self._proved(tree, lambda nodes: inclusion_proof(nodes, seq - 1, tree.size))

    def consistency(self, old: int, new: int, tree: Frontier) -> tuple[Frontier, Frontier, list[bytes]]:
        """Two trees on the way to one that is known, and the proof that the newer goes on from the older."""

        def prove(nodes: Nodes) -> tuple[Frontier, Frontier, list[bytes]]:
            return frontier_of(nodes, old), frontier_of(nodes, new), consistency_proof(nodes, old, new)

        return self._proved(tree, prove)

    def require(self, events: Sequence[Sealed], tree: Frontier) -> None:
        """Refuse events that are not those of a tree that is known, whatever the database says of them now."""
        found = leaves(each.hash for each in events)

        def same(nodes: Nodes) -> bool:
            return all(nodes(0, each.seq - 1) == leaf for each, leaf in zip(events, found, strict=True))

        if not self._proved(tree, same):
            raise self._changed()

    def keep(self, size: int) -> None:
        """Write down the roots of blocks that are new, up to a size; nobody has to wait for this."""
        if size // BLOCK <= self._saved:
            return
        with self._lock:
            self._extend(size // BLOCK)
            new = [(number, self._kept[LEVEL, number]) for number in range(self._saved, self._blocks)]
        if not new:
            return
        rows = [
            {"stream": self._stream, "number": number, "root": root.hex(), "seal": self._seal(number, root.hex())}
            for number, root in new
        ]
        kept = tables.blocks.c

        def write(connection: Connection) -> None:
            there = kept.number.between(new[0][0], new[-1][0])
            connection.execute(delete(tables.blocks).where(kept.stream == self._stream, there))
            add(connection, tables.blocks, rows)

        try:
            self._store.write(write)
        except IntegrityError:  # it is a cache, and another process has just written the same roots
            return
        self._saved = new[-1][0] + 1

    def _proved(self, tree: Frontier, prove: Callable[[Nodes], Result]) -> Result:
        """What follows from the nodes of a tree, once they are known to be its own."""
        with self._lock:
            nodes = self._nodes(tree.size)
            if frontier_of(nodes, tree.size) != tree:
                self._kept.clear()
                self._blocks = 0
                raise self._changed()
            return prove(nodes)

    def _changed(self) -> BrokenLog:
        return BrokenLog(
            f"The log of {self._stream!r} is not what was written: somebody changed the database. Export it and run "
            "`likewise verify` for the details."
        )

    def _nodes(self, size: int) -> Nodes:
        """Every complete subtree of a tree of this size; hashes of events are read once, and forgotten afterwards."""
        self._extend(size // BLOCK)
        read: dict[int, list[bytes]] = {}

        def node(level: int, number: int) -> bytes:
            if level >= LEVEL:
                return self._root(level, number)
            block = number >> (LEVEL - level)
            if block not in read:
                read[block] = self._leaves(block, size)
            start = (number << level) - block * BLOCK
            part = read[block][start : start + (1 << level)]
            if len(part) != 1 << level:
                raise BrokenLog(f"The log of {self._stream!r} ends before event {size}.")
            return root_of(part)

        return node

    def _leaves(self, block: int, size: int) -> list[bytes]:
        """The hashes of a block's entries, as they are in the database; a whole block must have its known root."""
        start = block * BLOCK
        found = leaves(self._store.hashes(self._stream, start, min(start + BLOCK, size)))
        if len(found) == BLOCK and root_of(found) != self._kept[LEVEL, block]:
            raise self._changed()
        return found

    def _root(self, level: int, number: int) -> bytes:
        if (level, number) not in self._kept:
            start = number << level
            middle = start + (1 << (level - 1))
            left, right = (subtree(self._root, at, at + (1 << (level - 1))) for at in (start, middle))
            self._kept[level, number] = node_hash(left, right)
        return self._kept[level, number]

    def _extend(self, blocks: int) -> None:
        """Know the roots of so many blocks: from where they are kept, else from the hashes of their events."""
        if self._blocks == 0 and blocks > 0:
            self._load(blocks)
        while self._blocks < blocks:
            start, end = self._blocks * BLOCK, min(blocks * BLOCK, self._blocks * BLOCK + READ)
            hashes = leaves(self._store.hashes(self._stream, start, end))
            if len(hashes) != end - start:
                raise BrokenLog(f"The log of {self._stream!r} ends before event {end}.")
            for place in range(0, len(hashes), BLOCK):
                self._kept[LEVEL, self._blocks] = root_of(hashes[place : place + BLOCK])
                self._blocks += 1

    def _load(self, blocks: int) -> None:
        kept = tables.blocks.c
        query = select(kept.number, kept.root, kept.seal).where(kept.stream == self._stream, kept.number < blocks)
        with self._store.read() as connection:
            rows = connection.execute(query.order_by(kept.number)).all()
        for row in rows:
            if row.number != self._blocks or not hmac.compare_digest(row.seal, self._seal(row.number, row.root)):
                break  # somebody's own, or of another key: computed again
            self._kept[LEVEL, self._blocks] = bytes.fromhex(row.root)
            self._blocks += 1
        self._saved = self._blocks

    def _seal(self, number: int, root: str) -> str:
        return self._store.keyed_hash(json.dumps(["block", self._stream, number, root]).encode())
