"""The service's key: signs checkpoints of its logs, and derives the keys of everything else.

A chain of hashes shows any change to the log, unless somebody recomputes it from the start. A checkpoint, signed with
Ed25519 and kept elsewhere (a file that is copied away, the receipt in a decider's hands, a witness), shows that too.
The key lives in a file of its own, made on the first start; its public half belongs with whoever will check.

Only checkpoints, certificates and a change of the key itself are signed with it. Cookies, caches and what was asked
under an idempotency key have keys of their own, derived from it (HKDF): none of them says anything about another.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from likewise.errors import InvalidParameter
from likewise.service.log.chain import Sealed
from likewise.storage import write_whole
from likewise.transparency.merkle import Frontier, leaf_hash
from likewise.transparency.notes import Checkpoint, Note, Proof

ORIGIN = "likewise"
"""What the names of logs begin with where nothing else is set."""


class Signer:
    """Signs with one Ed25519 key.

    Parameters
    ----------
    key
        The private key.
    name
        What the names of the service's logs begin with; the name of a stream follows.

    Examples
    --------
    >>> from likewise.transparency.merkle import leaf_hash
    >>> signer = Signer.generate()
    >>> note = signer.checkpoint("loans", Frontier().add(leaf_hash(b"an event")))
    >>> print(*note.text.splitlines()[:2])
    likewise/loans 1
    >>> note.signed_by("likewise/loans", bytes.fromhex(signer.public_key))
    True
    """

    def __init__(self, key: Ed25519PrivateKey, name: str = ORIGIN) -> None:
        self._key = key
        self.name = name
        self._public = key.public_key().public_bytes_raw()
        self.public_key = self._public.hex()
        """64 hexadecimal digits."""
        self.keyed_hash = self.hasher("caches")
        """Seals what the database holds and no hash of the log covers."""
        self.request_hash = self.hasher("requests")
        """A hash of a request that nobody without the key can compare a guess with."""

    @classmethod
    def generate(cls, name: str = ORIGIN) -> Signer:
        """A signer with a new key."""
        return cls(Ed25519PrivateKey.generate(), name)

    @classmethod
    def at(cls, path: str | Path, name: str = ORIGIN) -> Signer:
        """The signer whose key is in a file, which is made, for its owner's eyes only, if it isn't there."""
        path = Path(path)
        if not path.exists():
            with suppress(FileExistsError):  # if another worker was faster, its key stays
                write_whole(path, cls.generate().pem(), new=True, private=True)
        signer = cls.read(path.read_bytes(), name)
        if signer is None:
            raise InvalidParameter(f"`key` must be the file of an Ed25519 private key without password, got {path}.")
        return signer

    @classmethod
    def read(cls, pem: bytes, name: str = ORIGIN) -> Signer | None:
        """The signer of a key in PEM; None if it is not an Ed25519 private key without password."""
        try:
            key = load_pem_private_key(pem, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it has a password
            return None
        return cls(key, name) if isinstance(key, Ed25519PrivateKey) else None

    def pem(self) -> bytes:
        """The private key as a file holds it."""
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def origin(self, stream: str) -> str:
        """The name of a log for whoever checks it."""
        return f"{self.name}/{stream}"

    def sign(self, text: str, stream: str) -> Note:
        """A note in the name of a log."""
        return Note(text).signed(self.origin(stream), self._public, self._key.sign)

    def checkpoint(self, stream: str, tree: Frontier) -> Note:
        """The service's word that a log has this tree."""
        return self.sign(Checkpoint(self.origin(stream), tree.size, tree.root).text, stream)

    def receipts(self, before: Frontier, sealed: Sequence[Sealed]) -> list[dict[str, Any]]:
        """For those who caused some events in a row, that follow a tree: the proof of each, all with one signature."""
        leaves = [leaf_hash(bytes.fromhex(each.hash)) for each in sealed]
        note = self.checkpoint(sealed[0].stream, before.add_all(leaves))
        proofs = [Proof(before.size + i, tuple(path), note) for i, path in enumerate(before.paths_of_next(leaves))]
        return [
            {"stream": each.stream, "seq": each.seq, "hash": each.hash, "key": self.public_key, "proof": str(proof)}
            for each, proof in zip(sealed, proofs, strict=True)
        ]

    def cosign(self, note: Note, name: str, at: int) -> Note:
        """The note with this key's word as a witness."""
        return note.cosigned(name, self._public, self._key.sign, at)

    def derived(self, purpose: str) -> bytes:
        """A key of its own for a purpose, the same in all workers."""
        info = f"likewise {purpose} 1".encode()
        return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(self._key.private_bytes_raw())

    def hasher(self, purpose: str) -> Callable[[bytes], str]:
        """A hash with a key of its own."""
        keyed = hmac.new(self.derived(purpose), digestmod="sha256")

        def hashed(content: bytes) -> str:
            one = keyed.copy()  # `hmac.digest` would prepare the key again, and let other threads come between
            one.update(content)
            return one.hexdigest()

        return hashed
