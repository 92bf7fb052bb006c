"""Merkle trees over a list that only grows, as RFC 6962 and RFC 9162 define them (SHA-256).

    MTH(∅) = H()      MTH(d) = H(0x00 ‖ d)      MTH(D[0:n]) = H(0x01 ‖ MTH(D[0:k]) ‖ MTH(D[k:n])),  k = 2^⌈log₂ n⌉⁻¹

A root of 32 bytes stands for the whole list. An inclusion proof shows that an entry is in it, a consistency proof that
an earlier list is the beginning of a later one; both are ⌈log₂ n⌉ hashes, or about twice as many.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

EMPTY_ROOT = hashlib.sha256(b"").digest()
"""Of a tree without entries."""
Nodes = Callable[[int, int], bytes]
"""From a level and a number to the root of the entries number · 2^level up to (number + 1) · 2^level."""


def leaf_hash(entry: bytes) -> bytes:
    """The hash of one entry."""
    return hashlib.sha256(b"\0" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees that stand side by side."""
    return hashlib.sha256(b"\1" + left + right).digest()


class Frontier(NamedTuple):
    """The right edge of a tree: enough to add entries and to know the root, in O(log n).

    Attributes
    ----------
    size
        How many entries there are.
    nodes
        Roots of the complete subtrees that the size is made of in binary, the largest first.

    Examples
    --------
    >>> tree = Frontier().add(leaf_hash(b"one")).add(leaf_hash(b"two"))
    >>> tree.size, tree.root == node_hash(leaf_hash(b"one"), leaf_hash(b"two"))
    (2, True)
    """

    size: int = 0
    nodes: tuple[bytes, ...] = ()

    def add(self, leaf: bytes) -> Frontier:
        """The tree with one more entry, given by its hash."""
        nodes, size = self.nodes, self.size
        while size & 1:
            leaf, nodes, size = node_hash(nodes[-1], leaf), nodes[:-1], size >> 1
        return Frontier(self.size + 1, (*nodes, leaf))

    def add_all(self, leaves: Iterable[bytes]) -> Frontier:
        """The same with some more."""
        tree = self
        for leaf in leaves:
            tree = tree.add(leaf)
        return tree

    @property
    def root(self) -> bytes:
        """The hash of the whole tree."""
        if not self.nodes:
            return EMPTY_ROOT
        root = self.nodes[-1]
        for node in self.nodes[-2::-1]:
            root = node_hash(node, root)
        return root

    def paths_of_next(self, leaves: Sequence[bytes]) -> list[list[bytes]]:
        """The inclusion proofs of the entries that are added next, in the tree that ends with the last of them.

        Level by level: each new node has its neighbour among the new ones, or on the right edge, or none yet. Once
        there is only one new node, what is left of the edge is the same for all.

        Examples
        --------
        >>> one, two = leaf_hash(b"one"), leaf_hash(b"two")
        >>> Frontier().add(one).paths_of_next([two]) == [[one]]
        True
        """
        edge, row, place = list(self.nodes), list(leaves), self.size
        paths: list[list[bytes]] = [[] for _ in row]
        places = list(range(len(row)))
        while len(row) > 1:
            if place & 1:
                row.insert(0, edge.pop())
                places = [each + 1 for each in places]
            for path, each in zip(paths, places, strict=True):
                path += row[each ^ 1 : (each ^ 1) + 1]
            row = _parents(row)
            places, place = [each >> 1 for each in places], place >> 1
        return [path + edge[::-1] for path in paths]


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root of a tree whose entries have these hashes: level by level, a last one without a neighbour goes up."""
    level = list(leaves)
    while len(level) > 1:
        level = _parents(level)
    return level[0] if level else EMPTY_ROOT


def _parents(level: Sequence[bytes]) -> list[bytes]:
    pairs = [node_hash(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
    return pairs if len(level) % 2 == 0 else [*pairs, level[-1]]


def _split(size: int) -> int:
    """The largest power of two that is smaller than ``size``."""
    return 1 << (size - 1).bit_length() - 1


def nodes_of(leaves: Sequence[bytes]) -> Nodes:
    """The nodes of a small tree, whose entries have these hashes; each is computed when it is asked for."""
    return lambda level, number: root_of(leaves[number << level : (number + 1) << level])


def subtree(nodes: Nodes, start: int, end: int) -> bytes:
    """The root of the entries ``start`` up to ``end``, where that is a subtree of the whole."""
    size = end - start
    if size & (size - 1) == 0:
        level = size.bit_length() - 1
        return nodes(level, start >> level)
    middle = start + _split(size)
    return node_hash(subtree(nodes, start, middle), subtree(nodes, middle, end))


def frontier_of(nodes: Nodes, size: int) -> Frontier:
    """The right edge of a tree of this size."""
    edge, start = [], 0
    for level in range(size.bit_length() - 1, -1, -1):
        if size >> level & 1:
            edge.append(nodes(level, start >> level))
            start += 1 << level
    return Frontier(size, tuple(edge))


def inclusion_proof(nodes: Nodes, index: int, size: int) -> list[bytes]:
    """The proof that entry ``index``, from 0, is in the tree of this size: PATH of RFC 6962."""
    path, start, end = [], 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(subtree(nodes, middle, end))
            end = middle
        else:
            path.append(subtree(nodes, start, middle))
            start = middle
    return path[::-1]


def consistency_proof(nodes: Nodes, old: int, new: int) -> list[bytes]:
    """The proof that the tree of the old size is the beginning of that of the new one: PROOF of RFC 6962."""
    proof, start, end = [], 0, new
    while 0 < old < end:
        middle = start + _split(end - start)
        if old <= middle:
            proof.append(subtree(nodes, middle, end))
            end = middle
        else:
            proof.append(subtree(nodes, start, middle))
            start = middle
    if start > 0:
        proof.append(subtree(nodes, start, end))
    return proof[::-1]


def root_by_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes | None:
    """The root that an inclusion proof leads to; None if it has not the length that such a proof has (RFC 9162)."""
    if not 0 <= index < size:
        return None
    last, root = size - 1, leaf
    for part in proof:
        if last == 0:
            return None
        if index & 1 or index == last:
            root = node_hash(part, root)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            root = node_hash(root, part)
        index, last = index >> 1, last >> 1
    return root if last == 0 else None


def included(leaf: bytes, index: int, size: int, root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a proof shows that an entry with this hash is in the tree."""
    return root_by_inclusion(leaf, index, size, proof) == root


def consistent(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether a proof shows that one tree is the beginning of another (RFC 9162)."""
    if old == 0 or old == new:
        return not proof and old_root == (EMPTY_ROOT if old == 0 else new_root)
    if not 0 < old < new or not proof:
        return False
    path = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    first, last = old - 1, new - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    older = newer = path[0]
    for part in path[1:]:
        if last == 0:
            return False
        if first & 1 or first == last:
            older, newer = node_hash(part, older), node_hash(part, newer)
            while not first & 1 and first:
                first, last = first >> 1, last >> 1
        else:
            newer = node_hash(newer, part)
        first, last = first >> 1, last >> 1
    return last == 0 and older == old_root and newer == new_root
