"""Signed notes, and the checkpoints of a log in them: the formats of C2SP (signed-note, tlog-checkpoint, tlog-proof).

    likewise/loans                                          the origin: which log it is
    42                                                      how many entries it has
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=            the root of its Merkle tree

    — likewise/loans Az3grlgtzPICa5OS8npVmf1Myq/5IZni…      4 bytes that name the key, then an Ed25519 signature

Witnesses add lines of their own (tlog-cosignature): each says that, at some time, this was the largest tree of this
log that it had seen, and consistent with all before.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from likewise.errors import InvalidParameter
from likewise.transparency.merkle import included, leaf_hash

ED25519 = 1
"""The type of a signature by a log."""
COSIGNATURE = 4
"""The type of a signature by a witness, which has a time."""
PROOF = "c2sp.org/tlog-proof@v1"
"""The first line of an inclusion proof with its checkpoint."""
MOST_SIGNATURES = 100
"""Of one note."""
DASH = "\N{EM DASH} "
Sign = Callable[[bytes], bytes]
"""An Ed25519 signature of some bytes."""


class Note(NamedTuple):
    """A text, and who signed it: names, and the bytes behind each."""

    text: str
    signatures: tuple[tuple[str, bytes], ...] = ()

    def __str__(self) -> str:
        return self.text + "\n" + "".join(f"{DASH}{name} {_base64(data)}\n" for name, data in self.signatures)

    def signed(self, name: str, public_key: bytes, sign: Sign) -> Note:
        """The note with one more signature."""
        signature = key_id(name, ED25519, public_key) + sign(self.text.encode())
        return Note(self.text, (*self.signatures, (name, signature)))

    def cosigned(self, name: str, public_key: bytes, sign: Sign, at: int) -> Note:
        """The note with one more signature, by a witness at a time (seconds since 1970)."""
        signature = at.to_bytes(8, "big") + sign(_cosigned(self.text, at))
        return Note(self.text, (*self.signatures, (name, key_id(name, COSIGNATURE, public_key) + signature)))

    def signed_by(self, name: str, public_key: bytes) -> bool:
        """Whether this key signed it under this name; a line of this key that is not genuine spoils the note."""
        signatures = [
            data[4:] for who, data in self.signatures if (who, data[:4]) == (name, key_id(name, ED25519, public_key))
        ]
        return bool(signatures) and all(genuine(public_key, data, self.text.encode()) for data in signatures)

    def witnessed_by(self, name: str, public_key: bytes) -> int | None:
        """When a witness cosigned it (seconds since 1970); None if it did not."""
        wanted = name, key_id(name, COSIGNATURE, public_key)
        for who, data in self.signatures:
            at = int.from_bytes(data[4:12], "big")
            if (who, data[:4]) == wanted and genuine(public_key, data[12:], _cosigned(self.text, at)):
                return at
        return None


class Checkpoint(NamedTuple):
    """What a log says of itself: how many entries it has, and the root of its tree.

    Examples
    --------
    >>> print(Checkpoint("likewise/loans", 0, hashlib.sha256(b"").digest()).text, end="")
    likewise/loans
    0
    47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
    """

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """What is signed."""
        return f"{self.origin}\n{self.size}\n{_base64(self.root)}\n"


@dataclass(frozen=True)
class Proof:
    """That an entry is in a log: its place, from 0, the inclusion proof, and the checkpoint that it leads to."""

    index: int
    path: tuple[bytes, ...]
    note: Note

    def __str__(self) -> str:
        return f"{PROOF}\nindex {self.index}\n" + "".join(f"{_base64(part)}\n" for part in self.path) + f"\n{self.note}"

    def holds(self, entry: bytes) -> bool:
        """Whether it shows that an entry is in the tree of its checkpoint; who signed that is another question."""
        checkpoint = checkpoint_of(self.note)
        return included(leaf_hash(entry), self.index, checkpoint.size, checkpoint.root, self.path)


@functools.lru_cache(maxsize=1024)
def key_id(name: str, kind: int, public_key: bytes) -> bytes:
    """The four bytes by which a note names a key."""
    return hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + public_key).digest()[:4]


def verifier_key(name: str, kind: int, public_key: bytes) -> str:
    """A public key as C2SP writes it: name, id, and type with key.

    Examples
    --------
    >>> verifier_key("likewise/loans", ED25519, bytes(32))
    'likewise/loans+e9125e70+AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    """
    return f"{name}+{key_id(name, kind, public_key).hex()}+{_base64(bytes([kind]) + public_key)}"


def read_verifier_key(text: str) -> tuple[str, int, bytes]:
    """Name, type and key of what ``verifier_key`` wrote; refused in a sentence if it is anything else."""
    name, _, rest = text.partition("+")
    id, _, data = rest.partition("+")
    try:
        kind, *key = _bytes(data)
    except ValueError:
        kind, key = 0, []
    if len(key) != 32 or not _name(name) or key_id(name, kind, bytes(key)).hex() != id:
        raise InvalidParameter(f"`key` must be a verifier key, name+id+key, got {text!r}.")
    return name, kind, bytes(key)


def read_note(text: str) -> Note:
    """A note as it is written; refused in a sentence if it is none."""
    body, blank, lines = text.rpartition("\n\n")
    signatures = lines.removesuffix("\n").split("\n")
    whole = bool(blank) and lines.endswith("\n") and not any(char < " " and char != "\n" for char in text)
    if not whole or not body or len(signatures) > MOST_SIGNATURES:
        raise InvalidParameter(f"`note` must be a signed note, got {text[:60]!r}.")
    return Note(body + "\n", tuple(map(read_signature, signatures)))


def read_signature(line: str) -> tuple[str, bytes]:
    """Name and bytes of a signature's line."""
    name, _, data = line.removeprefix(DASH).partition(" ")
    try:
        signature = _bytes(data)
    except ValueError:
        signature = b""
    if not line.startswith(DASH) or not _name(name) or len(signature) < 5:
        raise InvalidParameter(f"`note` must have lines of signatures at its end, got {line[:60]!r}.")
    return name, signature


def checkpoint_of(note: Note) -> Checkpoint:
    """The checkpoint in a note, whoever signed it."""
    origin, _, rest = note.text.partition("\n")
    size, _, rest = rest.partition("\n")
    root, _, more = rest.partition("\n")
    try:
        hash = _bytes(root)
    except ValueError:
        hash = b""
    plain = size.isascii() and size.isdecimal() and len(size) < 17 and str(int(size)) == size
    if not origin or not plain or len(hash) != 32 or more:  # no more lines: nobody could check what they say
        raise InvalidParameter(f"`note` must hold a checkpoint, got {note.text[:60]!r}.")
    return Checkpoint(origin, int(size), hash)


def read_proof(text: str) -> Proof:
    """An inclusion proof with its checkpoint; refused in a sentence if it is none."""
    head, _, note = text.partition("\n\n")
    lines = head.split("\n")
    index = lines[1].removeprefix("index ") if len(lines) > 1 else ""
    try:
        path = tuple(map(_bytes, lines[2:]))
    except ValueError:
        path = (b"",)
    plain = index.isascii() and index.isdecimal() and len(index) < 17 and lines[1] == f"index {int(index)}"
    if lines[0] != PROOF or not plain or any(len(part) != 32 for part in path):
        raise InvalidParameter(f"`proof` must be a {PROOF}, got {text[:60]!r}.")
    return Proof(int(index), path, read_note(note))


def genuine(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether an Ed25519 signature is one of this message by this key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def hashes(parts: Sequence[bytes]) -> list[str]:
    """Hashes as text, base64."""
    return list(map(_base64, parts))


def read_hashes(parts: Sequence[str]) -> list[bytes]:
    """Hashes from text; refused in a sentence if they are none."""
    try:
        read = list(map(_bytes, parts))
    except (ValueError, TypeError):
        read = [b""]
    if any(len(part) != 32 for part in read):
        raise InvalidParameter("`proof` must be a list of hashes, 32 bytes each in base64.")
    return read


def _cosigned(text: str, at: int) -> bytes:
    return f"cosignature/v1\ntime {at}\n{text}".encode()


def _base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def _bytes(text: str) -> bytes:
    """The bytes of base64 in its one spelling; ValueError for anything else."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("not base64") from None
    if _base64(data) != text:
        raise ValueError("not the one spelling of base64")
    return data


def _name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(char.isspace() for char in name)
