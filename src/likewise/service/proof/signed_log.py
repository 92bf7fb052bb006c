"""Merkle trees, signed notes and Ed25519 a second time, for the standalone checker: the standard library is enough.

Where the package ``cryptography`` is installed, signatures are checked by it, which is much faster.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Any

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    Ed25519PublicKey = None  # type: ignore[assignment, misc]

# Merkle trees (RFC 6962) ------------------------------------------------------------------------------------------

EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(entry: bytes) -> bytes:
    """The hash of an entry of a tree."""
    return hashlib.sha256(b"\0" + entry).digest()


def _pair(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def root_of(leaves: list[bytes]) -> bytes:
    """The root of a tree of a few entries, by their hashes."""
    if len(leaves) < 2:
        return leaves[0] if leaves else EMPTY_ROOT
    middle = 1 << ((len(leaves) - 1).bit_length() - 1)
    return _pair(root_of(leaves[:middle]), root_of(leaves[middle:]))


BLOCK = 6
"""The lowest level above the entries whose hashes are kept: those below it are computed again from 64 entries."""


class Tree:
    """The hashes of a tree, level by level: 33 bytes for each entry.

    It may begin after some entries that are not known, with the roots of the complete subtrees that they make up, the
    largest first.
    """

    def __init__(self, leaves: Iterable[bytes] = (), after: int = 0, edge: Iterable[bytes] = ()) -> None:
        self.size = self.after = after
        self._levels = [bytearray() for _ in range(max(1, after.bit_length()))]
        places = [level for level in range(after.bit_length() - 1, -1, -1) if after >> level & 1]
        for level, node in zip(places, edge, strict=True):
            self._levels[level] += node
        for leaf in leaves:
            self.add(leaf)

    def _first(self, level: int) -> int:
        """The number of the first hash that is kept of a level: the left one of a pair."""
        return 2 * (self.after >> (level + 1))

    def edge(self) -> list[bytes]:
        """The roots of the complete subtrees that the tree is made of, the largest first."""
        levels = [level for level in range(self.size.bit_length() - 1, -1, -1) if self.size >> level & 1]
        return [bytes(self._levels[level][-32:]) for level in levels]

    def add(self, leaf: bytes) -> None:
        """One more entry, by its hash."""
        self.size += 1
        level, number = 0, self.size
        self._levels[0] += leaf
        while number % 2 == 0:
            leaf = _pair(bytes(self._levels[level][-64:-32]), leaf)
            if 0 < level < BLOCK and self._again(self.size - 1):
                del self._levels[level][-64:]
            level, number = level + 1, number // 2
            if level == len(self._levels):
                self._levels.append(bytearray())
            self._levels[level] += leaf

    def _range(self, start: int, end: int) -> bytes:
        """The root of a part of the tree that is a subtree."""
        size = end - start
        level = size.bit_length() - 1
        if size == 1 << level and not (0 < level < BLOCK and self._again(start)):
            at = 32 * ((start >> level) - self._first(level))
            return bytes(self._levels[level][at : at + 32])
        middle = start + (1 << (size - 1).bit_length() - 1)
        return _pair(self._range(start, middle), self._range(middle, end))

    def _again(self, index: int) -> bool:
        """Whether low hashes over an entry are computed again: all entries beside it are known."""
        return index >> BLOCK > self.after >> BLOCK

    def leaf(self, index: int) -> bytes:
        """The hash of an entry, from 0."""
        at = 32 * (index - self._first(0))
        return bytes(self._levels[0][at : at + 32])

    def root(self, size: int) -> bytes:
        """What the root was when there were so many entries, from those on that are known."""
        return self._range(0, size) if size else EMPTY_ROOT

    def consistency(self, old: int, new: int) -> list[bytes]:
        """The proof that the tree of the old size is the beginning of that of the new size."""

        def parts(start: int, end: int) -> list[bytes]:
            if old >= end:
                return [] if start == 0 else [self._range(start, end)]
            middle = start + (1 << ((end - start - 1).bit_length() - 1))
            if old <= middle:
                return [*parts(start, middle), self._range(middle, end)]
            return [*parts(middle, end), self._range(start, middle)]

        return parts(0, new) if 0 < old < new else []


def included(leaf: bytes, index: int, size: int, root: bytes, proof: list[bytes]) -> bool:
    """Whether an entry with this hash is at this place of a tree (RFC 9162, 2.1.3.2)."""
    fn, sn, r = index, size - 1, leaf
    if not 0 <= index < size:
        return False
    for p in proof:
        if sn == 0:
            return False
        if fn % 2 == 1 or fn == sn:
            r = _pair(p, r)
            while fn % 2 == 0 and fn != 0:
                fn, sn = fn // 2, sn // 2
        else:
            r = _pair(r, p)
        fn, sn = fn // 2, sn // 2
    return sn == 0 and r == root


def consistent(old: int, new: int, old_root: bytes, new_root: bytes, proof: list[bytes]) -> bool:
    """Whether one tree is the beginning of another (RFC 9162, 2.1.4.2)."""
    if old == 0:
        return not proof and old_root == EMPTY_ROOT
    if old == new:
        return not proof and old_root == new_root
    if old > new or not proof:
        return False
    path = list(proof)
    if old & (old - 1) == 0:
        path.insert(0, old_root)
    fn, sn = old - 1, new - 1
    while fn % 2 == 1:
        fn, sn = fn // 2, sn // 2
    fr = sr = path[0]
    for c in path[1:]:
        if sn == 0:
            return False
        if fn % 2 == 1 or fn == sn:
            fr, sr = _pair(c, fr), _pair(c, sr)
            while fn % 2 == 0 and fn != 0:
                fn, sn = fn // 2, sn // 2
        else:
            sr = _pair(sr, c)
        fn, sn = fn // 2, sn // 2
    return sn == 0 and fr == old_root and sr == new_root


# Signed notes (C2SP) ----------------------------------------------------------------------------------------------

PROOF_LINE = "c2sp.org/tlog-proof@v1"
Note = tuple[str, list[tuple[str, bytes]]]
"""A text that ends with a line feed, and its signatures: name, and the bytes behind it."""


def unbase64(text: str) -> bytes:
    """The bytes of base64 in its one spelling; ValueError for any other."""
    data = base64.b64decode(text.encode("ascii"), validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("a number is not spelt as base64 spells it")
    return data


def _digits(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or str(int(text)) != text:
        raise ValueError("a size or an index of a checkpoint or a proof is not a number")
    return int(text)


def read_note(text: str) -> Note:
    """A signed note; ValueError if it is none."""
    body, blank, lines = text.rpartition("\n\n")
    signatures = []
    if not blank or not lines.endswith("\n") or any(c < " " and c != "\n" for c in text) or not body:
        raise ValueError("this is not a signed note")
    for line in lines[:-1].split("\n"):
        dash, name, data = line.split(" ") if line.count(" ") == 2 else ("", "", "")
        if dash != "\N{EM DASH}" or not name or "+" in name:
            raise ValueError("a line of a signed note is not a signature")
        try:
            signatures.append((name, unbase64(data)))
        except ValueError:
            raise ValueError("a signature of a note is not base64") from None
    return body + "\n", signatures


def note_text(note: Note) -> str:
    """A note as it is written."""
    lines = (f"\N{EM DASH} {name} {base64.b64encode(data).decode()}\n" for name, data in note[1])
    return f"{note[0]}\n{''.join(lines)}"


def checkpoint_of(note: Note) -> tuple[str, int, bytes]:
    """Origin, size and root; ValueError if the note holds no checkpoint."""
    lines = note[0].split("\n")
    if len(lines) != 4 or lines[3] or not lines[0]:
        raise ValueError("this is not a checkpoint")
    try:
        root = unbase64(lines[2])
        size = _digits(lines[1])
    except ValueError:
        raise ValueError("this is not a checkpoint") from None
    if len(root) != 32:
        raise ValueError("this is not a checkpoint: its root is not a hash")
    return lines[0], size, root


def read_proof(text: str) -> tuple[int, list[bytes], Note]:
    """Index, inclusion proof and note; ValueError if it is no such proof."""
    head, _, note = text.partition("\n\n")
    lines = head.split("\n")
    if lines[0] != PROOF_LINE or len(lines) < 2 or not lines[1].startswith("index "):
        raise ValueError("this is not a proof")
    try:
        path = [unbase64(line) for line in lines[2:]]
    except ValueError:
        raise ValueError("a proof holds something that is not a hash") from None
    if any(len(part) != 32 for part in path):
        raise ValueError("a proof holds something that is not a hash")
    return _digits(lines[1][6:]), path, read_note(note)


def key_id(name: str, kind: int, public_key: bytes) -> bytes:
    """The four bytes by which a note names a key: of a log (1) or of a witness (4)."""
    return hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + public_key).digest()[:4]


def signed_by(note: Note, name: str, public_key: bytes) -> bool:
    """Whether a log's key signed a note, and no line under its name and id is forged."""
    wanted = name, key_id(name, 1, public_key)
    found = [data[4:] for who, data in note[1] if (who, data[:4]) == wanted]
    return bool(found) and all(genuine(public_key, signature, note[0].encode()) for signature in found)


def witnessed_by(note: Note, name: str, public_key: bytes) -> int | None:
    """When a witness cosigned a checkpoint, in seconds since 1970; None if it did not."""
    wanted = name, key_id(name, 4, public_key)
    for who, data in note[1]:
        at = int.from_bytes(data[4:12], "big")
        if (who, data[:4]) == wanted and genuine(
            public_key, data[12:], f"cosignature/v1\ntime {at}\n{note[0]}".encode()
        ):
            return at
    return None


def read_verifier_key(text: str) -> tuple[str, bytes]:
    """Name and key of a witness, written as name+id+key; ValueError if it is none."""
    name, id, data = text.split("+", 2)
    kind, key = unbase64(data)[:1], unbase64(data)[1:]
    if kind != b"\4" or len(key) != 32 or key_id(name, 4, key).hex() != id:
        raise ValueError(f"{text} is not the key of a witness")
    return name, key


# Proof of cheating ------------------------------------------------------------------------------------------------


def following_keys(key: bytes, origin: str, rotations: Iterable[str]) -> list[bytes]:
    """A key of a log, and those that it was changed to: each was signed with one before. Other notes change nothing."""
    keys = [key]
    for text in rotations:
        note = read_note(text)
        head, name, new, *rest = note[0].split("\n")
        told = (head, name, rest) == ("likewise key 1", origin, [""])
        if told and any(signed_by(note, origin, each) for each in keys):
            keys.append(bytes.fromhex(new))
    return keys


def cheating(evidence: dict[str, Any]) -> str:
    """What two signed checkpoints of one log prove: a sentence if they contradict each other, else ValueError.

    ``root`` is what the newer tree says that the root was at the older size; ``proof`` shows that it does say so.
    """
    key = bytes.fromhex(evidence["key"])
    older, newer = read_note(evidence["older"]), read_note(evidence["newer"])
    (origin, old, old_root), (other, new, new_root) = checkpoint_of(older), checkpoint_of(newer)
    if origin != other:
        raise ValueError(f"The checkpoints are of two logs, {origin} and {other}.")
    keys = following_keys(key, origin, evidence.get("rotations", ()))
    if not all(any(signed_by(note, origin, each) for each in keys) for note in (older, newer)):
        raise ValueError(f"The checkpoints are not both signed with the key {evidence['key']}.")
    told = unbase64(evidence["root"])
    if not consistent(old, new, told, new_root, [unbase64(part) for part in evidence["proof"]]):
        raise ValueError("The proof does not show what the newer log says about the older one.")
    if told == old_root:
        raise ValueError("The checkpoints are consistent: nothing is wrong with them.")
    signer = f"The key {evidence['key']}{', or one that follows from it,' if len(keys) > 1 else ''}"
    return (
        f"{signer} signed two logs named {origin}. One of them had the root {old_root.hex()} at event "
        f"{old}. The other, which has {new} events, had the root {told.hex()} there. No honest log can have both."
    )


# Ed25519 (RFC 8032), verification only, in plain integers ---------------------------------------------------------

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)
Point = tuple[int, int, int, int]
NEUTRAL: Point = (0, 1, 1, 0)


def _add(a: Point, b: Point) -> Point:
    """The sum of two points of the curve in extended coordinates."""
    A, B = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    C, E = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = B - A, E - C, E + C, B + A
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(scalar: int, point: Point) -> Point:
    total = NEUTRAL
    while scalar:
        if scalar & 1:
            total = _add(total, point)
        point, scalar = _add(point, point), scalar >> 1
    return total


def _point(data: bytes) -> Point | None:
    """The point that 32 bytes stand for, or None if they stand for none."""
    number = int.from_bytes(data, "little")
    y, sign = number & (2**255 - 1), number >> 255
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = _point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def verify_signature(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether an Ed25519 signature is one of this message by this key."""
    if len(key) != 32 or len(signature) != 64 or BASE is None:
        return False
    A, R, s = _point(key), _point(signature[:32]), int.from_bytes(signature[32:], "little")
    if A is None or R is None or s >= ORDER:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    left, right = _times(s, BASE), _add(R, _times(h, A))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


def genuine(key: bytes, signature: bytes, message: bytes) -> bool:
    """The same, by ``cryptography`` where it is installed."""
    if Ed25519PublicKey is None or len(key) != 32:
        return verify_signature(key, signature, message)
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
